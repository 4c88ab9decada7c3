"""Numbers printed in five papers, and ours to the printed digits: `docs/printed.csv`.

``uv run python tests/printed_numbers.py`` computes ours from the real data alongside the checkout
and writes the csv; ``tests/papers.py`` writes a summary on the page of the papers.
"""

from __future__ import annotations

import csv
import itertools
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

import alikely as al
from alikely.spectrum.difficulty import normality_checks

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "docs" / "printed.csv"
COLUMNS = ["paper", "item", "what", "printed", "ours", "matched"]
# Significant digits of ours beyond the printed ones.
MORE = 2
THREE = ("cue-conflict", "edge", "silhouette")
# Xu et al. (2025), doi:10.48550/arXiv.2409.13919, Table 1: EC and MA, EC and CLES, MA and CLES.
CORRELATIONS = {
    "colour": ".01 .40 .48",
    "contrast": ".52 .74 .80",
    "eidolonI": ".55 .38 .81",
    "eidolonII": ".73 .61 .78",
    "eidolonIII": ".73 .59 .82",
    "false-colour": ".36 .50 .45",
    "high-pass": ".66 .59 .79",
    "low-pass": ".58 .53 .80",
    "phase-scrambling": ".55 .24 .66",
    "power-equalisation": ".46 .76 .57",
    "rotation": ".42 .90 .56",
    "sketch": ".57 .67 .75",
    "stylized": ".50 .48 .82",
    "uniform-noise": ".67 .50 .78",
}
# Geirhos et al. (2020), supplement, doi:10.48550/arXiv.2006.16736, Table 1.
PEOPLE = {
    "cue-conflict": ".69 .76 .84 .62 .85 .82 .76 .78 .86 .77",
    "edge": ".89 .94 .93 .84 .89 .93 .81 .96 .61 .92",
    "silhouette": ".80 .66 .80 .78 .77 .72 .76 .64 .76 .85",
}
# Xu et al. (2026), Table 4.
NORMALITY = {"accuracy": ".004 .001 .021", "logit": ".194 .135 .192"}
# Alvarez and Konkle (2024), Figure 3: proportions of 10,000 simulated estimates with large errors.
OUTSIDE = {10: ".4731", 20: ".4461", 300: ".04"}


class Number(NamedTuple):
    """One number: its source, the printed value, and the value from the data."""

    paper: str
    item: str
    what: str
    printed: str
    ours: float

    def row(self) -> dict[str, str]:
        """A row of the csv."""
        ours = f"{self.ours:.{max(_digits(self.printed), 1) + MORE}g}"
        return {
            **dict(zip(COLUMNS[:4], self[:4], strict=True)),
            "ours": ours,
            "matched": "yes" if matched(self.printed, ours) else "no",
        }


def _digits(printed: str) -> int:
    """Number of printed significant digits."""
    return len(Decimal(printed).as_tuple().digits)


def matched(printed: str, ours: str) -> bool:
    """Whether our rounded number equals the printed number.

    Halves may be rounded either way; a printed probability of 0 matches a value below the smallest
    floating-point number.
    """
    number = Decimal(printed)
    if not number:
        return bool(float(ours) < np.finfo(float).tiny)
    return abs(Decimal(ours) - number) <= Decimal(1).scaleb(number.as_tuple().exponent) / 2


def rows() -> list[dict[str, str]]:
    """Rows of the csv."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def accuracies(folder: Path) -> list[Number]:
    """Accuracies of ten humans in three experiments."""
    trials = al.datasets.model_vs_human(folder / "model_vs_human", datasets=list(THREE))
    table = trials.summary().pivot(index="observer", columns="dataset", values="accuracy")
    return [
        Number("G20", "Table 1", f"accuracy of subject-{k:02d}, {dataset}", value,
               float(table.loc[f"subject-{k:02d}", dataset]))
        for dataset, line in PEOPLE.items()
        for k, value in enumerate(line.split(), start=1)
    ]  # fmt: skip


def correlations(folder: Path) -> list[Number]:
    """Correlations of metrics over pairs of networks, for each data set and all."""
    released = pd.read_parquet(folder / "model_vs_human" / "published_metrics.parquet")
    labels = ["dataset", "observer_a", "observer_b"]
    released = released.astype(dict.fromkeys(labels, str)).assign(cles=1 / (1 + released["cled"]))
    people = released["observer_a"].str.startswith("subject")
    networks = released[~people & ~released["observer_b"].str.startswith("subject")]
    names = ["ec", "ma", "cles"]
    tables = [networks[[*labels, name]] for name in names]
    found = al.metric_correlations(tables, n_resamples=1, rng=1)
    by = found.set_index(["metric", "other", "domain"])["correlation"]
    each = [
        Number("X25", "Table 1", f"r of {a.upper()} and {b.upper()}, {dataset}", value,
               float(by[a, b, f"{dataset} | all"]))
        for dataset, line in CORRELATIONS.items()
        for (a, b), value in zip(itertools.combinations(names, 2), line.split(), strict=True)
    ]  # fmt: skip
    whole = Number(
        "X25", "Figure 5", "r of EC and MA, all", "-.23", float(by["ec", "ma", "global"])
    )
    return [*each, whole]


def difficulty(folder: Path) -> list[Number]:
    """Tests of humans in every condition, and of normality without distortion."""
    left_out = {name: ["0"] for name in ("edge", "silhouette", "cue-conflict")}
    left_out |= {"colour": ["cr"], "false-colour": ["true", "false"]}
    trials = al.Trials.read(folder / "model_vs_human" / "trials.parquet")
    reference = [
        "contrast:c100", "high-pass:inf", "rotation:0", "low-pass:0", "colour:bw",
        "phase-scrambling:0", "power-equalisation:0",
    ]  # fmt: skip
    spectrum = al.difficulty_spectrum(
        al.exclude_conditions(trials, left_out), reference, correction=0.0
    )
    text = {"dtype": str, "keep_default_na": False}
    table = pd.read_csv(folder / "published" / "ood_spectrum_tables.csv", **text)
    out = []
    for column, item, what, own in (
        ("mann_whitney_p_raw", "Table 2 (appendix)", "p", "mann_whitney_p"),
        ("mann_whitney_p_adjusted", "Table 2 (appendix)", "adjusted p", "mann_whitney_p_bh"),
        ("binomial_p_adjusted", "Table 3", "adjusted p", "binomial_p_bh"),
    ):
        ours = spectrum[own].to_series()
        for record in table[table[column] != ""].to_dict("records"):
            name = record["condition"].replace("_", ":", 1)
            name = name if ":" in name else f"{name}:0"
            out.append(Number("X26", item, f"{what} of {name}", record[column], ours[name]))
    checks = normality_checks(spectrum)
    for scale, line in NORMALITY.items():
        own = checks[checks["scale"] == scale]
        for test, p, value in zip(own["test"], own["p_value"], line.split(), strict=True):
            out.append(Number("X26", "Table 4", f"p of {test}, {scale}", value, float(p)))
    return out


def margins(folder: Path) -> list[Number]:
    """Edge images: consistency between humans, and precision of the accuracy of an item."""
    edge = al.datasets.model_vs_human(folder / "model_vs_human", datasets="edge")
    people = al.error_consistency(edge.select(kind="human"), n_resamples=0, n_draws=0)
    ec = people.estimates["estimate"].values
    half = stats.t.ppf(0.975, len(ec) - 1) * ec.std(ddof=1) / np.sqrt(len(ec))
    of = "of EC of people, edges"
    out = [
        Number("AK24", "Figure 2", f"mean {of}", ".32", ec.mean()),
        Number("AK24", "Figure 2", f"lower limit {of}", ".28", ec.mean() - half),
        Number("AK24", "Figure 2", f"upper limit {of}", ".36", ec.mean() + half),
    ]
    for n, value in OUTSIDE.items():
        far = np.abs(np.arange(n + 1) / n - 0.75) > 0.05 + 1e-9
        share = float(stats.binom.pmf(np.arange(n + 1), n, 0.75)[far].sum())
        out.append(Number("AK24", "Figure 3", f"share outside at {n} answers", value, share))
    return out


def found(folder: Path) -> list[dict[str, str]]:
    """All rows, recomputed from the data."""
    of = (accuracies, correlations, difficulty, margins)
    return [number.row() for part in of for number in part(folder)]


def main() -> None:
    """Recompute our numbers and write the csv."""
    table = found(ROOT.parent / "shared" / "data")
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)


if __name__ == "__main__":
    main()
