"""Stored tables of studies, and generated parts of pages, which are between named marks."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.files import write_figure, write_file
from alikely.calibration.coverage import Coverage, coverage_study
from studies.benchmarks import BENCHMARKS
from studies.cards import is_of
from studies.case import DEFAULT
from studies.cases import CASES
from studies.error_patterns import DESIGNS, EQUAL_ROWS, SIMILARITY, STATEMENTS
from studies.harness import PROMISED

DIGITS = 4
SETTINGS, BENCHMARK = "coverage.csv", "benchmarks.csv"
ERRORS = ("paired_errors/coverage.csv", "paired_errors/statements.csv", "paired_errors/tests.csv")
# Number of data sets of each design, and of additional ones where coverage is near nominal.
N_DATASETS, MORE = 200, 400
N_SETS, N_SETS_OF_DRAWS, N_REPLICATES = 600, 100, 1_000


def _of_settings(cache_dir: Path | None, seed: int) -> pd.DataFrame:
    return coverage_study(cache_dir=cache_dir, rng=seed)


def _of_similarity(cache_dir: Path | None, seed: int) -> pd.DataFrame:
    """Simulate data sets of each design, and more if coverage is near nominal."""
    first = SIMILARITY.run(N_DATASETS, cache_dir=cache_dir, rng=seed)
    auto = SIMILARITY.summary(first).query("method == 'auto'")
    near = auto["coverage"] + auto["unbounded"] < _doubtful(auto["n_datasets"])
    found = [first]
    for number, name in enumerate(DESIGNS):
        if name in auto["scenario"][near].tolist():
            # A separate folder and seed: its data sets do not depend on other designs.
            own = None if cache_dir is None else cache_dir.with_name(f"{cache_dir.name}-{number}")
            rng = np.random.SeedSequence([seed, N_DATASETS + number])
            found.append(SIMILARITY.run(MORE, [name], cache_dir=own, rng=rng))
    return SIMILARITY.summary(pd.concat(found))


def _doubtful(n: Any) -> Any:
    """Nominal coverage plus a Monte Carlo error of `n` data sets."""
    return PROMISED + np.sqrt(PROMISED * (1 - PROMISED) / n)


def _of_benchmarks(cache_dir: Path | None, seed: int) -> pd.DataFrame:
    """Analytic intervals in many benchmarks, and draws in fewer."""
    whole, drawn = (None if cache_dir is None else cache_dir / name for name in ("all", "draws"))
    most = BENCHMARKS.run(N_SETS, cache_dir=whole, rng=seed)
    rest = BENCHMARKS.run(N_SETS_OF_DRAWS, cache_dir=drawn, rng=seed + 1, n_replicates=N_REPLICATES)
    found = BENCHMARKS.summary(rest).query("method != 'analytic'")
    return pd.concat([BENCHMARKS.summary(most), found], ignore_index=True)


# Stored tables in the folder of all models, and how they are made: hours of one core each.
TABLES: Mapping[str, Callable[[Path | None, int], pd.DataFrame]] = {
    SETTINGS: _of_settings,
    BENCHMARK: _of_benchmarks,
    ERRORS[0]: _of_similarity,
    ERRORS[1]: lambda cache_dir, seed: STATEMENTS.summary(
        STATEMENTS.run(cache_dir=cache_dir, rng=seed)
    ),
    ERRORS[2]: lambda cache_dir, seed: EQUAL_ROWS.summary(
        EQUAL_ROWS.run(cache_dir=cache_dir, rng=seed)
    ),
}


def store(name: str, catalog: Path, cache_dir: Path | None = None, seed: int = 1) -> None:
    """Run the studies of a stored table, and write it."""
    table = TABLES[name](cache_dir, seed)
    digits: Any = DIGITS
    if name == SETTINGS:
        # Columns that describe a setting are not rounded.
        digits = dict.fromkeys(table.columns[6:], DIGITS + 1)
        from alikely.plots.calibration import plot_calibration

        figure = plot_calibration(table, "coverage").figure
        write_figure(figure, (catalog / name).with_suffix(".png"), dpi=110)
    write_file(catalog / name, table.round(digits).to_csv(index=False))


def lines(rows: Iterable[Iterable[Any]]) -> str:
    """Format rows as a Markdown table with a header."""
    head, *rest = (list(map(str, row)) for row in rows)
    text = "".join(f"| {' | '.join(row)} |\n" for row in (head, *rest))
    first, _, others = text.partition("\n")
    return f"{first}\n|{'---|' * len(head)}\n{others}"


def _models(catalog: Path, _: str) -> str:
    """Models, their questions, and whether they are calibrated."""
    rows: list[tuple[str, ...]] = [("model", "question", "when to use", "evidence")]
    for name in sorted(CASES):
        card, evidence = (_read(catalog / name / f"{x}.json") for x in ("model", "calibration"))
        status = "calibrated" if evidence["passed"] else "**not calibrated**, see its page"
        status = status if is_of(evidence, name) else "recalibrate"
        number = f"{evidence['n_simulations']:,} simulations"
        link = f"[{name}]({name}/README.md)"
        rows.append((link, card["question"], card["when"], f"{status}, {number}"))
    return lines(rows)


def _read(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text()))


FORM = (
    "ranks", "simulations", "warm-up, target acceptance", "simulations with divergences",
    "ranks without divergences",
)  # fmt: skip


def _branches(catalog: Path, _: str) -> str:
    """Calibrated forms of all models."""
    rows: list[tuple[str, ...]] = [("model", "branch", *FORM)]
    for name in sorted(CASES):
        rows += [(name, branch, *cells) for branch, cells in _forms(catalog, name).items()]
    return lines(rows)


def _forms(catalog: Path, name: str) -> dict[str, list[str]]:
    """Calibration of each form of a model, as in `FORM`."""
    evidence, case = _read(catalog / name / "calibration.json"), CASES[name]
    found = {DEFAULT: evidence, **evidence.get("branches", {})}
    rows = {branch: ["not run", *[""] * (len(FORM) - 1)] for branch in case.all_branches}
    for branch in [branch for branch in rows if branch in found]:
        of, asked = found[branch], case.of(branch)
        divergences, settings = of["divergences"], of["settings"]
        without = divergences["without"]
        ranks = _inside(of) if is_of(of, name, branch) else "recalibrate"
        if (settings["tune"], settings["target_accept"]) != (asked.tune, asked.target_accept):
            ranks += ", other settings"
        rows[branch] = [
            ranks,
            f"{of['n_simulations']:,}",
            f"{settings['tune']:,}, {settings['target_accept']:g}",
            f"{divergences['share']:.1%}",
            "not tested" if without is None else _inside(without),
        ]
    return rows


def _inside(found: dict[str, Any]) -> str:
    return "inside" if found["passed"] else "**outside**"


def _calibration(catalog: Path, name: str) -> str:
    """Text on the calibration of a model."""
    evidence = _read(catalog / name / "calibration.json")
    rows = pd.DataFrame(evidence["quantities"])
    posterior = rows[rows["method"] == "posterior"].set_index("quantity")
    verdict = "are" if evidence["passed"] else "**are not all**"
    text = (
        f"We simulated {evidence['n_simulations']:,} data sets from the prior with NumPy code that "
        "follows this page. The ranks of the true values among posterior draws "
        f"{verdict} inside simultaneous 95% bands (`calibration.json`). If the generative model "
        "and the sampler are correct, such bands contain the ranks of all "
        f"{len(posterior)} quantities in 95 of 100 studies."
    )
    outside = [f"`{q}` (p = {posterior.loc[q, 'p_value']:.3f})" for q in evidence["outside_alone"]]
    if outside:
        text += " The following ranks are outside the 95% band for a single quantity "
        text += "(expected for one quantity in twenty): "
        text += f"{', '.join(outside)}."
    cells: list[tuple[str, ...]] = [("branch", "design", *FORM)]
    case = CASES[name]
    cells += [(b, case.of(b).words, *form) for b, form in _forms(catalog, name).items()]
    return f"{text}\n\n{lines(cells)}"


def _methods(catalog: Path, _: str) -> str:
    """Methods of intervals over all settings."""
    summary = Coverage(pd.read_csv(catalog / SETTINGS)).summary()
    named = (
        "mean absolute error of coverage", "lowest coverage",
        "settings with coverage of at least 0.93", "mean width",
    )  # fmt: skip
    return lines([("method", *named)] + [
        (row.method, f"{row.mean_abs_error:.4f}", f"{row.least_coverage:.3f}",
         f"{row.n_close} of {row.n_settings}", f"{row.mean_width:.3f}")
        for row in summary.itertuples()
    ])  # fmt: skip


def _corners(catalog: Path, _: str) -> str:
    """Coverage by accuracy, in settings where methods differ."""
    study = pd.read_csv(catalog / SETTINGS)
    equal = (study["accuracy_a"] == study["accuracy_b"]) & (study["ec"] == 0.2)
    part = study[equal & (study["ci_prob"] == 0.95) & study["n_trials"].isin([40, 160, 640])]
    methods = ["posterior", "bootstrap", "bca", "wald"]
    wide = part.pivot_table("coverage", ["accuracy_a", "n_trials"], "method")[methods]
    rows = [(*at, *map("{:.3f}".format, row)) for at, row in wide.T.items()]
    return lines([("accuracy", "trials", *methods), *rows])


def _similarity(catalog: Path, _: str) -> str:
    rows = pd.read_csv(catalog / ERRORS[0])
    methods = ("auto", "model", "bootstrap", "bca", "analytic")
    shown = ("auto", "model", "bootstrap", "BCa", "analytic")
    of_auto = ("median width", "of model", "unbounded", "noted", "contains 1")
    out: list[tuple[Any, ...]] = [("design", "data sets", *shown, *of_auto)]
    for design, part in rows.groupby("scenario", sort=False):
        by = part.set_index("method")
        auto = by.loc["auto"]
        covered = (f"{by.loc[name, 'coverage']:.3f}" for name in methods)
        rest = (f"{auto[x]:.2f}" for x in ("relative_width", "unbounded", "noted", "at_end"))
        out.append((design, f"{auto['n_datasets']:.0f}", *covered, f"{auto['width']:.3f}", *rest))
    return lines(out)


def _statements(catalog: Path, _: str) -> str:
    keys, methods = ["scenario", "statement", "n_datasets"], ["posterior", "bootstrap", "analytic"]
    joint = pd.read_csv(catalog / ERRORS[1])
    wide = joint.pivot_table("coverage", keys, "method", sort=False)[methods]
    rows = [(*at, *map("{:.3f}".format, row)) for at, row in wide.T.items()]
    return lines([("design", "statement", "data sets", *methods), *rows])


def _equal_rows(catalog: Path, _: str) -> str:
    rows = [
        (row.scenario, row.n_datasets, f"{row.divergence:.3f}", f"{row.rejected:.3f}")
        for row in pd.read_csv(catalog / ERRORS[2]).itertuples()
    ]
    return lines([("design", "data sets", "divergence", "rejected"), *rows])


SHOWN = ("score", "human-human", "share", "differences", "ranks")
THESE = ("score, these people", "difference, these people")


def _of_designs(catalog: Path, head: tuple[str, ...], cells: list[tuple[str, str]]) -> str:
    """Coverage by statement and method, one row for each population."""
    table = pd.read_csv(catalog / BENCHMARK)
    keys: dict[str, Any] = {"index": "scenario", "columns": ["statement", "method"], "sort": False}
    wide, sets = (table.pivot_table(name, **keys) for name in ("coverage", "n_datasets"))
    rows = [("population", *head)]
    for design, by in wide.iterrows():
        row = []
        for cell in cells:
            text, n = _share(by.get(cell)), sets.loc[design].get(cell, 0)
            # A posterior is not always reported.
            most = sets.loc[design].get((cell[0], "bootstrap"), 0)
            less = cell[1] == "posterior" and 0 < n < most
            row.append(f"{text} of {n:.0f}" if less else text)
        rows.append((_scenario(str(design)), *row))
    return lines(rows)


def _scores(catalog: Path, _: str) -> str:
    head = tuple("ceiling-normalized" if name == "share" else name for name in SHOWN)
    return _of_designs(catalog, head, [(name, "analytic") for name in SHOWN])


def _these(catalog: Path, _: str) -> str:
    cells = [(THESE[0], "analytic"), (THESE[0], "posterior"), (THESE[1], "analytic")]
    return _of_designs(catalog, ("score", "posterior", "difference"), cells)


def _share(value: float | None) -> str:
    if value is None or pd.isna(value):
        return "-"
    text = f"{value:.3f}"
    return "1" if text == "1.000" else text


def _scenario(name: str) -> str:
    """Name of a population as written in pages."""
    return re.sub(r"(?<!\d)\.(\d)", r"0.\1", name).replace("people", "humans")


# Parts by name; each function takes the folder of all models, and that of the page.
PARTS: Mapping[str, Callable[[Path, str], str]] = {
    "models": _models,
    "branches": _branches,
    "calibration": _calibration,
    "methods of intervals": _methods,
    "coverage by accuracy": _corners,
    "similarity": _similarity,
    "statements": _statements,
    "equal rows": _equal_rows,
    "benchmark scores": _scores,
    "benchmark scores of these people": _these,
}
MARKED = re.compile(r"(<!-- made by code: (.+) -->\n)(?s:.*?)(<!-- end -->)")


def update(page: Path, catalog: Path) -> None:
    """Write the marked parts of a page from stored results."""

    def made(found: re.Match[str]) -> str:
        if found[2] not in PARTS:
            raise ValueError(f"{page} has an unknown part {found[2]!r}; use {', '.join(PARTS)}")
        return f"{found[1]}{PARTS[found[2]](catalog, page.parent.name)}{found[3]}"

    write_file(page, MARKED.sub(made, page.read_text()))
