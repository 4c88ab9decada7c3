"""Coverage of class-level error similarity on shared items, over populations of many kinds.

References
----------
.. [H79] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal
   of Statistics 6, 65-70.
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.intervals import bound_names
from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.data.trials import Trials
from alikely.errors.limits import UNBOUNDED
from alikely.estimates.error_kinds import NOT_MET
from alikely.estimates.errors import error_similarity
from alikely.estimates.result import Result, School
from alikely.metrics import errors
from alikely.stats.intervals import interval
from studies.simulators.shared import ErrorPopulation, shared_errors

__all__ = ["DESIGNS", "PROMISED", "RowDesign", "row_coverage", "row_coverage_summary"]

# Of an item, for a system that errs as often as the other.
WRONG = 0.5
# How often one draw decides whether both systems err on an item.
TOGETHER = 0.5
# Mean Dirichlet parameter of rows of what items suggest, and of kinds of items.
SUGGESTED = 0.5
# Data sets of a design that go through the door together.
BATCH = 50
CI_PROB = 0.95
# Coverage that no design may fall short of, and what counts as a similarity of 1.
PROMISED = 0.93
AT_END = 0.001


class RowDesign(NamedTuple):
    """Populations of two systems, drawn anew for each data set.

    Attributes
    ----------
    n_classes : int
    n_errors : float
        Expected errors of the first system on each true class.
    copying : float
        How often both give the label that an item suggests, where both err.
    concentration : float
        Mean Dirichlet parameter of own rows around a common one; infinite: equal systems.
    base : float
        Dirichlet parameter of common rows: small for rows with few labels.
    zipf : float
        The n-th label of a row is further ``n**-zipf`` times as likely.
    n_kinds : int
        Kinds of items; with more than one, half of what systems give on their own is due to the
        kind. The model of `alikely.errors.sweep` knows of no kinds.
    fewer : float
        Errors of the second system, as a share of those of the first.
    shared : bool
        Whether both answer the same items.
    """

    n_classes: int = 8
    n_errors: float = 50
    copying: float = 0.0
    concentration: float = 0.5
    base: float = 1.0
    zipf: float = 0.0
    n_kinds: int = 1
    fewer: float = 1.0
    shared: bool = True


# The first twelve are those of the table that the method was chosen by; the others came later.
DESIGNS: dict[str, RowDesign] = {
    "8 classes, no copying": RowDesign(),
    "8 classes, copying .5": RowDesign(copying=0.5),
    "8 classes, copying .8": RowDesign(copying=0.8),
    "8 classes, copying .95": RowDesign(copying=0.95),
    "16 classes, 12 errors, .5": RowDesign(16, 12, 0.5),
    "8 classes, 250 errors, .5": RowDesign(8, 250, 0.5),
    "16 classes, 20 errors in all": RowDesign(16, 1.25, 0.5),
    "kinds of items": RowDesign(n_kinds=4),
    "separate, 25 errors": RowDesign(8, 25, shared=False),
    "separate, 16 classes, unrelated": RowDesign(16, 12, concentration=0.1, shared=False),
    "separate, 16 classes, 100 errors": RowDesign(16, 100, shared=False),
    "kinds of items, copying .5": RowDesign(copying=0.5, n_kinds=4),
    "kinds, 16 classes, 12 errors": RowDesign(16, 12, 0.3, n_kinds=3),
    "kinds, 250 errors": RowDesign(8, 250, 0.3, n_kinds=6),
    "Zipf": RowDesign(zipf=1.0, copying=0.5),
    "Zipf, steeper, 200 errors": RowDesign(8, 200, zipf=2.0, copying=0.3),
    "Zipf, 32 classes, 60 errors": RowDesign(32, 60, 0.5, zipf=1.0),
    "Zipf, 32 classes, 20 errors": RowDesign(32, 20, 0.2, zipf=1.0),
    "32 classes, 5 errors": RowDesign(32, 5, 0.5),
    "4 classes, 300 errors": RowDesign(4, 300, 0.5),
    "3 classes, 20 errors": RowDesign(3, 20, 0.5),
    "16 classes, 500 errors": RowDesign(16, 500, 0.5),
    "nearly equal": RowDesign(copying=0.5, concentration=20.0),
    "nearly equal, 250 errors": RowDesign(8, 250, 0.5, concentration=20.0),
    "few labels a row": RowDesign(16, 50, 0.5, base=0.2),
    "second with a fifth of errors": RowDesign(8, 60, 0.5, fewer=0.2),
    "second with a tenth, no copying": RowDesign(16, 60, concentration=2.0, fewer=0.1),
    "unrelated, no copying": RowDesign(8, 50, concentration=0.1),
    "equal, no copying": RowDesign(concentration=np.inf),
    "equal, copying .8": RowDesign(copying=0.8, concentration=np.inf),
    "equal, 16 classes, 12 errors, .5": RowDesign(16, 12, 0.5, concentration=np.inf),
    "equal, kinds of items": RowDesign(concentration=np.inf, n_kinds=4),
    "equal, separate": RowDesign(concentration=np.inf, shared=False),
    "equal, Zipf, 250 errors": RowDesign(8, 250, 0.3, concentration=np.inf, zipf=1.0),
    "equal, second with a fifth": RowDesign(8, 60, 0.5, concentration=np.inf, fewer=0.2),
    "equal, 16 classes, 20 errors in all": RowDesign(16, 1.25, 0.5, concentration=np.inf),
    # Divergences are near .05 in these.
    ".05 apart, 250 errors": RowDesign(8, 250, 0.3, concentration=1.1),
    ".05 apart, 250 errors, separate": RowDesign(8, 250, concentration=5.3, shared=False),
    "200 classes, 12 errors, .5": RowDesign(200, 12, 0.5),
}  # fmt: skip


def population(design: RowDesign, rng: np.random.Generator, n_systems: int = 2) -> ErrorPopulation:
    """Draw how systems of a design err."""
    k = design.n_classes
    rank = np.argsort(rng.random((k, k - 1)), axis=-1) + 1.0
    liking = rng.standard_gamma(design.base, (k, k - 1)) * rank**-design.zipf + TINY
    common = liking / liking.sum(axis=-1, keepdims=True)
    own = np.stack([_around(common, design.concentration, rng) for _ in range(n_systems)])
    suggested = _around(common, SUGGESTED, rng)[None].repeat(design.n_kinds, axis=0)
    by_kind = own[:, None]
    if design.n_kinds > 1:
        kinds = np.stack([_around(common, SUGGESTED, rng) for _ in range(design.n_kinds)])
        by_kind = (own[:, None] + kinds) / 2
    follows = np.full(n_systems, np.sqrt(design.copying))
    return ErrorPopulation(_with_truth(suggested), _with_truth(by_kind), follows)


TINY = 1e-12


def _around(common: Floats, concentration: float, rng: np.random.Generator) -> Floats:
    if np.isinf(concentration):
        return common
    drawn = rng.standard_gamma(concentration * common.shape[-1] * common) + TINY * common
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _with_truth(rows: Floats) -> Floats:
    """Rows over wrong labels, laid out over all labels."""
    k = rows.shape[-2]
    wide = np.zeros((*rows.shape[:-1], k))
    wide[..., ~np.eye(k, dtype=bool)] = rows.reshape(*rows.shape[:-2], -1)
    return wide


def answers(
    design: RowDesign, of: ErrorPopulation, rng: np.random.Generator
) -> tuple[np.ma.MaskedArray[Any, Any], NDArray[np.intp]]:
    """Draw a data set: labels (system, item), and true classes."""
    n_systems = len(of.own)
    per_class = max(1, round(design.n_errors / WRONG)) * (1 if design.shared else n_systems)
    truth = np.repeat(np.arange(design.n_classes), per_class)
    alike = rng.random(len(truth)) < TOGETHER
    draw = np.where(alike, rng.random(len(truth)), rng.random((n_systems, len(truth))))
    rate = WRONG * np.where(np.arange(n_systems) == 1, design.fewer, 1)
    labels = shared_errors(of, truth, draw < rate[:, None], rng)
    seen = np.arange(len(truth)) % n_systems == np.arange(n_systems)[:, None]
    return np.ma.array(labels, mask=False if design.shared else ~seen), truth


def true_similarity(
    of: ErrorPopulation, labels: np.ma.MaskedArray[Any, Any], truth: NDArray[np.intp]
) -> Floats:
    """Similarity of rows of all pairs, (system, system), weighted by observed true classes."""
    rows, k = of.rows, of.rows.shape[-1]
    wrong = np.ma.filled(labels != truth, fill_value=False)
    n = np.stack([np.bincount(truth[errs], minlength=k) for errs in wrong])
    weight = (n[:, None] + n).astype(np.float64)
    weight /= np.maximum(weight.sum(axis=-1, keepdims=True), TINY)
    apart = errors.jensen_shannon_divergence(rows[:, None], rows)
    return errors.error_similarity((weight * apart).sum(axis=-1))


def row_coverage(
    designs: dict[str, RowDesign] | None = None,
    *,
    n_datasets: int = 200,
    n_draws: int = 1_000,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Intervals of class-level error similarity from data sets of known truth, one by one."""
    if n_draws < 100:
        raise ValueError(f"n_draws must be at least 100, got {n_draws}")
    cells = study_cells(DESIGNS if designs is None else designs, n_datasets, n_draws=n_draws)
    table = run_study(_batch, cells, folder, rng=rng)
    return table.drop(columns="n_draws")


def study_cells(
    designs: dict[str, RowDesign], n_datasets: int, **common: int
) -> list[dict[str, Any]]:
    """List the parts of a study of designs, 50 data sets each."""
    if n_datasets < BATCH or n_datasets % BATCH:
        raise ValueError(f"n_datasets must be a multiple of {BATCH}, got {n_datasets}")
    return [
        {"design": name, **design._asdict(), "batch": batch, **common}
        # JSON has no infinity.
        | {"concentration": str(design.concentration)}
        for name, design in designs.items()
        for batch in range(n_datasets // BATCH)
    ]


def _batch(
    design: str, batch: int, n_draws: int, concentration: str, seed: Any, **setting: Any
) -> list[dict[str, Any]]:
    """Some data sets of a design, as conditions of one call of the door."""
    world = RowDesign(concentration=float(concentration), **setting)
    data, drawing = seed.spawn(2)
    trials, values = data_sets(world, np.random.default_rng(data))
    result = error_similarity(trials, n_resamples=n_draws, n_draws=n_draws, rng=drawing)
    frame = result.summary(CI_PROB, columns="all")
    inner = result.data["rows"].to_dataset()["error_similarity"].values.reshape(-1, len(frame))
    ends = {"auto": _bounds(result, "posterior", "eti"), "model": interval(inner, CI_PROB, "eti")}
    ends |= {"bootstrap": _bounds(result, "bootstrap", "eti"), "bca": _bounds(result, "bca", "ci")}
    ends["analytic"] = _bounds(result, "analytic", "ci")
    note = frame["note"].fillna("").astype(str)
    return [
        {
            "method": method,
            "dataset": BATCH * batch + i,
            "truth": values[i, 0, 1],
            "estimate": frame["estimate"].iloc[i],
            "lower": bounds[i, 0],
            "upper": bounds[i, 1],
            "p_equal": frame["p_equal"].iloc[i],
            "noted": method == "auto" and (UNBOUNDED in note.iloc[i] or NOT_MET in note.iloc[i]),
            "unbounded": method == "auto" and UNBOUNDED in note.iloc[i],
        }
        for method, bounds in ends.items()
        for i in range(BATCH)
    ]


def data_sets(
    design: RowDesign,
    rng: np.random.Generator,
    n_systems: int = 2,
    follows: tuple[float, float] = (1, 1),
) -> tuple[Trials, Floats]:
    """Draw data sets of a design, each of a population of its own, as conditions."""
    labels, truths, values = [], [], []
    for _ in range(BATCH):
        of = population(design, rng, n_systems)
        of = of._replace(follows=of.follows * rng.uniform(*follows, n_systems))
        drawn, truth = answers(design, of, rng)
        labels.append(drawn)
        truths.append(truth)
        values.append(true_similarity(of, drawn, truth))
    trials = Trials.from_arrays(
        np.ma.concatenate(labels, axis=1),
        np.concatenate(truths),
        classes=range(design.n_classes),
        condition=np.repeat(np.arange(BATCH), [len(truth) for truth in truths]).tolist(),
    )
    return trials, np.array(values)


def _bounds(result: Result, school: School, shown: str) -> Floats:
    frame = result.summary(CI_PROB, "eti", [school])
    return frame[list(bound_names(school, shown, CI_PROB))].to_numpy()


def row_coverage_summary(study: pd.DataFrame) -> pd.DataFrame:
    """What the intervals of a study are worth, by design and method."""
    study = study[study["truth"].notna() & study["estimate"].notna()]
    inside = study["truth"].between(study["lower"], study["upper"])
    part = study.assign(
        # Of what is read off draws of 32 bits.
        covered=(inside | np.isclose(study["truth"], study["upper"], atol=1e-6))
        & ~study["unbounded"],
        width=study["upper"] - study["lower"],
        at_end=study["upper"] > 1 - AT_END,
        rejected=study["p_equal"] < 1 - CI_PROB,
    )
    by = part.groupby(["design", "method"], sort=False)
    table = by[["covered", "unbounded", "noted", "at_end", "rejected"]].mean()
    table = table.rename(columns={"covered": "coverage"})
    n = by.size()
    table.insert(0, "n_datasets", n)
    error = np.sqrt(table["coverage"] * (1 - table["coverage"]) / n)
    table.insert(2, "coverage_mcse", error)
    short = stats.binom.cdf(by["covered"].sum(), n, PROMISED)
    table.insert(3, "p_short", pd.Series(short, table.index).groupby("method").transform(adjusted))
    table.insert(4, "width", by["width"].median())
    of_model = table["width"].xs("model", level="method")
    table.insert(5, "relative_width", table["width"] / of_model.reindex(table.index, level=0))
    return table.reset_index()


def adjusted(p: pd.Series) -> pd.Series:
    """Adjusted for their number [H79]_."""
    # Imported here: nothing else of the package's start needs it.
    from statsmodels.stats.multitest import multipletests

    return pd.Series(multipletests(p, method="holm")[1], p.index)
