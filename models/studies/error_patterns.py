"""Studies of error similarity and of misclassification agreement [X25]_.

References
----------
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import distance

from alikely._base.arrays import Floats
from alikely._base.intervals import bound_names
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.errors.draws import UNBOUNDED
from alikely.errors.tables import equality
from alikely.estimates.contrasts import contrast, difference, mean
from alikely.estimates.pair_result import METHODS, Method
from alikely.estimates.pairs import error_similarity, misclassification_agreement
from alikely.estimates.result import Result
from alikely.inference.intervals import interval
from alikely.metrics import errors, get_metric
from studies.harness import Rows, Study, checked, short_counts, summarized
from studies.simulators.labels import (
    ErrorPopulation,
    label_trials,
    shared_errors,
    shared_label_agreement,
)

# Probability of an error on an item for an equally accurate system; probability that both share a
# draw.
WRONG, TOGETHER = 0.5, 0.5
# Mean Dirichlet parameter of rows suggested by items, and of kinds of items.
SUGGESTED, TINY = 0.5, 1e-12
CI_PROB, LEVEL = 0.95, 0.05
# Lower limit of a similarity of 1, and tolerance for draws in single precision.
AT_END, ROUNDING, ROUNDING_OF_SUMS = 0.001, 1.1e-5, 1e-6
INFINITE = np.inf


class ErrorDesign(NamedTuple):
    """Populations of systems, resampled for each data set.

    - ``n_errors``: errors of the first system on each true class
    - ``copying``: probability that both give the label suggested by an item, if both err
    - ``concentration``: mean Dirichlet parameter of each system's rows around common rows; infinite
      for equal systems
    - ``base``: mean Dirichlet parameter of the common rows
    - ``zipf``: the n-th label of a row is weighted by ``n**-zipf``
    - ``n_kinds``: number of kinds of items; if several, one half of the labels depend on the kind
    - ``fewer``: errors of the second system relative to the first
    - ``shared``: whether both respond to the same items
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


EQUAL = ErrorDesign(concentration=INFINITE)
# The method was selected with the first twelve; the others were added later.
DESIGNS: dict[str, ErrorDesign] = {
    "8 classes, no copying": ErrorDesign(),
    "8 classes, copying .5": ErrorDesign(copying=0.5),
    "8 classes, copying .8": ErrorDesign(copying=0.8),
    "8 classes, copying .95": ErrorDesign(copying=0.95),
    "16 classes, 12 errors, .5": ErrorDesign(16, 12, 0.5),
    "8 classes, 250 errors, .5": ErrorDesign(8, 250, 0.5),
    "16 classes, 20 errors in all": ErrorDesign(16, 1.25, 0.5),
    "kinds of items": ErrorDesign(n_kinds=4),
    "separate, 25 errors": ErrorDesign(8, 25, shared=False),
    "separate, 16 classes, unrelated": ErrorDesign(16, 12, concentration=0.1, shared=False),
    "separate, 16 classes, 100 errors": ErrorDesign(16, 100, shared=False),
    "kinds of items, copying .5": ErrorDesign(copying=0.5, n_kinds=4),
    "kinds, 16 classes, 12 errors": ErrorDesign(16, 12, 0.3, n_kinds=3),
    "kinds, 250 errors": ErrorDesign(8, 250, 0.3, n_kinds=6),
    "Zipf": ErrorDesign(zipf=1.0, copying=0.5),
    "Zipf, steeper, 200 errors": ErrorDesign(8, 200, zipf=2.0, copying=0.3),
    "Zipf, 32 classes, 60 errors": ErrorDesign(32, 60, 0.5, zipf=1.0),
    "Zipf, 32 classes, 20 errors": ErrorDesign(32, 20, 0.2, zipf=1.0),
    "32 classes, 5 errors": ErrorDesign(32, 5, 0.5),
    "4 classes, 300 errors": ErrorDesign(4, 300, 0.5),
    "3 classes, 20 errors": ErrorDesign(3, 20, 0.5),
    "16 classes, 500 errors": ErrorDesign(16, 500, 0.5),
    "nearly equal": ErrorDesign(copying=0.5, concentration=20.0),
    "nearly equal, 250 errors": ErrorDesign(8, 250, 0.5, concentration=20.0),
    "few labels a row": ErrorDesign(16, 50, 0.5, base=0.2),
    "second with a fifth of errors": ErrorDesign(8, 60, 0.5, fewer=0.2),
    "second with a tenth, no copying": ErrorDesign(16, 60, concentration=2.0, fewer=0.1),
    "unrelated, no copying": ErrorDesign(8, 50, concentration=0.1),
    "equal, no copying": EQUAL,
    "equal, copying .8": EQUAL._replace(copying=0.8),
    "equal, 16 classes, 12 errors, .5": ErrorDesign(16, 12, 0.5, INFINITE),
    "equal, kinds of items": EQUAL._replace(n_kinds=4),
    "equal, separate": EQUAL._replace(shared=False),
    "equal, Zipf, 250 errors": ErrorDesign(8, 250, 0.3, INFINITE, zipf=1.0),
    "equal, second with a fifth": ErrorDesign(8, 60, 0.5, INFINITE, fewer=0.2),
    "equal, 16 classes, 20 errors in all": ErrorDesign(16, 1.25, 0.5, INFINITE),
    # Divergences are about 0.05 in these.
    ".05 apart, 250 errors": ErrorDesign(8, 250, 0.3, concentration=1.1),
    ".05 apart, 250 errors, separate": ErrorDesign(8, 250, concentration=5.3, shared=False),
    "200 classes, 12 errors, .5": ErrorDesign(200, 12, 0.5),
}
JOINT_DESIGNS: dict[str, ErrorDesign] = {
    "no copying": ErrorDesign(),
    "copying .5": ErrorDesign(copying=0.5),
    "copying .8": ErrorDesign(copying=0.8),
    "16 classes, 12 errors, .5": ErrorDesign(16, 12, 0.5),
    "kinds of items, copying .3": ErrorDesign(copying=0.3, n_kinds=4),
    "Zipf, copying .5": ErrorDesign(copying=0.5, zipf=1.0),
    "nearly equal, copying .5": ErrorDesign(copying=0.5, concentration=20.0),
    "equal, no copying": EQUAL,
    "equal, copying .8": EQUAL._replace(copying=0.8),
    "equal, 6 errors, .5": ErrorDesign(8, 6, 0.5, INFINITE),
    "6 errors, copying .5": ErrorDesign(8, 6, 0.5),
    "250 errors, copying .5": ErrorDesign(8, 250, 0.5),
}
# Eight with equal systems, for the level of the test, and some with others, for its power.
TESTED: dict[str, ErrorDesign] = {
    "equal, no copying": EQUAL,
    "equal, copying .5": EQUAL._replace(copying=0.5),
    "equal, copying .8": EQUAL._replace(copying=0.8),
    **{name: DESIGNS[name] for name in (
        "equal, 16 classes, 12 errors, .5", "equal, kinds of items", "equal, separate",
        "equal, Zipf, 250 errors", "equal, second with a fifth")},
    "nearly equal, 50 errors": DESIGNS["nearly equal"],
    "nearly equal, 250 errors": DESIGNS["nearly equal, 250 errors"],
    "different, 12 errors": ErrorDesign(8, 12, 0.5),
    "different, separate, 12 errors": ErrorDesign(8, 12, shared=False),
}  # fmt: skip


def population(
    design: ErrorDesign, rng: np.random.Generator, n_systems: int = 2
) -> ErrorPopulation:
    """Draw the error probabilities of systems of a design."""
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


def _around(common: Floats, concentration: float, rng: np.random.Generator) -> Floats:
    if np.isinf(concentration):
        return common
    drawn = rng.standard_gamma(concentration * common.shape[-1] * common) + TINY * common
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _with_truth(rows: Floats) -> Floats:
    """Rows over incorrect labels, extended to all labels."""
    k = rows.shape[-2]
    wide = np.zeros((*rows.shape[:-1], k))
    wide[..., ~np.eye(k, dtype=bool)] = rows.reshape(*rows.shape[:-2], -1)
    return wide


def answers(
    design: ErrorDesign, of: ErrorPopulation, rng: np.random.Generator
) -> tuple[np.ma.MaskedArray[Any, Any], NDArray[np.intp]]:
    """Simulate a data set: labels (system, item), and true classes."""
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
    """Similarity of rows for all pairs, (system, system), weighted by observed true classes."""
    rows, k = of.rows, of.rows.shape[-1]
    wrong = np.ma.filled(labels != truth, fill_value=False)
    n = np.stack([np.bincount(truth[errs], minlength=k) for errs in wrong])
    weight = (n[:, None] + n).astype(np.float64)
    weight /= np.maximum(weight.sum(axis=-1, keepdims=True), TINY)
    # Undefined without errors, where the weight is 0, and where rounding makes it negative.
    with np.errstate(invalid="ignore"):
        apart = np.nan_to_num(distance.jensenshannon(rows[:, None], rows, 2, axis=-1)) ** 2
    return errors.error_similarity((weight * apart).sum(axis=-1))


def data_sets(
    design: ErrorDesign,
    n: int,
    rng: np.random.Generator,
    n_systems: int = 2,
    follows: tuple[float, float] = (1, 1),
) -> tuple[Trials, Floats]:
    """Simulate data sets of a design, each with a new population, as conditions."""
    labels, truths, values = [], [], []
    for _ in range(n):
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
        condition=np.repeat(np.arange(n), [len(truth) for truth in truths]).tolist(),
    )
    return trials, np.array(values)


def _bounds(result: Result, method: Method) -> Floats:
    """Bounds of all entries by a method, (entry, 2)."""
    kind = "ci" if method in ("analytic", "bca") else "eti"
    frame = result.summary(ci_prob=CI_PROB, ci_kind="eti", intervals=[method])
    return frame[list(bound_names(method, kind, CI_PROB))].to_numpy()


def _similarity(design: ErrorDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    data, drawing = seed.spawn(2)
    trials, values = data_sets(design, len(numbers), np.random.default_rng(data))
    result = error_similarity(trials, n_resamples=n_draws, n_draws=n_draws, rng=drawing)
    frame = result.summary(ci_prob=CI_PROB, columns="all")
    inner = result.data["rows"].to_dataset()["error_similarity"].values.reshape(-1, len(frame))
    ends = {"auto": _bounds(result, "posterior"), "model": interval(inner, CI_PROB, "eti")}
    ends |= {name: _bounds(result, name) for name in ("bootstrap", "bca", "analytic")}
    rows = []
    for method, bounds in ends.items():
        for i, number in enumerate(numbers):
            truth, (lower, upper), shown = values[i, 0, 1], bounds[i], frame.iloc[i]
            note = str(shown["note"]) if method == "auto" else ""
            found = checked(truth, lower, upper, shown["estimate"], rounding=ROUNDING)
            unbounded = UNBOUNDED in note
            rows.append(
                {"method": method, "dataset": number, "truth": truth}
                | {"lower": lower, "upper": upper, **found}
                | {
                    "covered": found["covered"] * (not unbounded),
                    "unbounded": unbounded,
                    "noted": unbounded or "have not converged" in note,
                    "at_end": upper > 1 - AT_END,
                    "rejected": shown["p_equal"] < 1 - CI_PROB,
                }
            )
    return rows


def _similarity_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarize `SIMILARITY`, with tests of coverage below the nominal level."""
    known = rows[rows["squared_error"].notna()]
    means = ("unbounded", "noted", "at_end", "rejected")
    table = summarized(known, ("scenario", "method"), means, short_counts)
    of_model = table[table["method"] == "model"].set_index("scenario")["width"]
    relative = table["width"] / table["scenario"].map(of_model)
    table.insert(table.columns.get_loc("width") + 1, "relative_width", relative)
    return table


SIMILARITY = Study(
    "similarity",
    _similarity,
    DESIGNS,
    ("method",),
    50,
    options={"n_draws": 1_000},
    table=_similarity_table,
)


def _equal_rows(design: ErrorDesign, numbers: range, seed: Any) -> Rows:
    data, drawing = seed.spawn(2)
    trials, values = data_sets(design, len(numbers), np.random.default_rng(data))
    table = joint_correctness(trials, labels=True, disjoint=not design.shared)
    found = equality(table, get_metric("error_similarity"), rng=drawing)
    return [
        {"truth": truth, "p_equal": p}
        for truth, p in zip(values[:, 0, 1], found["p_equal"], strict=True)
    ]


def _equal_rows_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarize `EQUAL_ROWS`: proportion of rejections of equal rows, at a level of 0.05."""
    rows = rows[rows["p_equal"].notna()]
    by = rows.assign(rejected=rows["p_equal"] < LEVEL).groupby("scenario", sort=False)
    table = pd.DataFrame({"n_datasets": by.size(), "divergence": 1 / by["truth"].median() - 1})
    table["rejected"] = by["rejected"].mean()
    error = np.sqrt(table["rejected"] * (1 - table["rejected"]) / table["n_datasets"])
    return table.assign(rejected_mcse=error).reset_index()


EQUAL_ROWS = Study(
    "equal_rows", _equal_rows, TESTED, size=50, n_datasets=1_000, table=_equal_rows_table
)


# Two models and four humans, as `Trials.from_arrays` names them.
SYSTEMS = [f"observer_{i}" for i in range(6)]
HUMANS = SYSTEMS[2:]
# Factors of copying, which differ between systems; equal systems have equal factors.
FOLLOWS, ALIKE = (0.6, 1.0), (1.0, 1.0)
# Number of data sets that are conditions of one experiment, each with separate populations.
CONDITIONS = 5
# Names, and the entries that are averaged; with two lists, the difference of their means.
OF_ONE: dict[str, list[tuple[Any, Any]]] = {
    "difference of two pairs": [(SYSTEMS[0], HUMANS[0]), (SYSTEMS[1], HUMANS[0])],
    "mean over humans": [(SYSTEMS[0], HUMANS)],
    "difference of means": [(SYSTEMS[0], HUMANS), (SYSTEMS[1], HUMANS)],
    "mean of human pairs": [(HUMANS, HUMANS)],
}
OVER_CONDITIONS: dict[str, list[tuple[Any, Any]]] = {
    "mean over conditions": [(SYSTEMS[0], HUMANS[0])],
    "mean over humans and conditions": OF_ONE["mean over humans"],
    "difference over conditions": OF_ONE["difference of two pairs"],
    "difference of means over conditions": OF_ONE["difference of means"],
}


def _statements(design: ErrorDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    follows = ALIKE if np.isinf(design.concentration) else FOLLOWS
    data, drawing = seed.spawn(2)
    rng = np.random.default_rng(data)
    trials, values = data_sets(design, len(numbers), rng, len(SYSTEMS), follows)
    result = error_similarity(
        trials, n_resamples=n_draws, n_draws=n_draws, ci_prob=CI_PROB, rng=drawing
    )
    return [
        {"dataset": numbers[first], "statement": statement} | row
        for statements, size in ((OF_ONE, 1), (OVER_CONDITIONS, CONDITIONS))
        for first in range(0, len(numbers), size)
        for statement, sides in statements.items()
        for row in _of_sides(result, sides, range(first, min(first + size, len(numbers))), values)
    ]


def _of_sides(
    result: Result, sides: list[tuple[Any, Any]], conditions: range, values: Floats
) -> Rows:
    value = pd.DataFrame(values[conditions].mean(axis=0), index=SYSTEMS, columns=SYSTEMS)
    at = [str(i) for i in conditions]
    entries = [{"condition": at, "observer_a": a, "observer_b": b} for a, b in sides]
    # Within one group each pair counts once, and occurs once.
    pairs = [
        {frozenset((i, j)) for i in np.atleast_1d(a) for j in np.atleast_1d(b) if i != j}
        for a, b in sides
    ]
    truths = [np.mean([value.loc[tuple(pair)] for pair in of]) for of in pairs]
    truth = truths[0] - truths[1] if len(sides) == 2 else truths[0]
    found = (difference if len(sides) == 2 else mean)(result, *entries, intervals=METHODS)
    rows = []
    for method, row in found.iterrows():
        held = checked(truth, row["eti95_lb"], row["eti95_ub"], rounding=ROUNDING_OF_SUMS)
        unbounded = UNBOUNDED in row["note"]
        held["covered"] *= not unbounded
        if not np.isnan(held["width"]):
            rows.append({"method": method, "truth": truth, **held, "unbounded": unbounded})
    return rows


STATEMENTS = Study(
    "statements",
    _statements,
    JOINT_DESIGNS,
    ("statement", "method"),
    50,
    options={"n_draws": 1_000},
    means=("unbounded",),
)

# Frequency of a label relative to the one before it, if preferences differ.
SKEWED = 0.6
# Mean Dirichlet parameter of labels in rows suggested by true classes, and its seed.
INVITED, INVITING = 0.4, 11
# Error probability of a system in trials that both may get right. One in four is a joint error.
ERRING = 0.5
N_OBSERVERS = 4
AGREEMENT_METHODS: tuple[Method, ...] = ("analytic", "bootstrap", "bca", "posterior")


def _wrong(liking: Floats) -> Floats:
    out = liking.copy()
    np.fill_diagonal(out, 0)
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _liked(k: int, step: int = 0) -> Floats:
    row = np.tile(SKEWED ** np.arange(k), (k, 1))
    return _wrong(np.roll(row, step * k // N_OBSERVERS, axis=1))


def _invited(k: int, n: int) -> list[Floats]:
    rng = np.random.default_rng(INVITING)
    return [_wrong(rng.gamma(INVITED, size=(k, k))) for _ in range(n)]


# Rows of incorrect labels of four systems, by the number of classes.
POPULATIONS: dict[str, Callable[[int], list[Floats]]] = {
    "uniform": lambda k: [_wrong(np.ones((k, k)))] * N_OBSERVERS,
    "skewed": lambda k: [_liked(k)] * N_OBSERVERS,
    "different": lambda k: [_liked(k, step) for step in range(N_OBSERVERS)],
    "invited": lambda k: _invited(k, 1) * N_OBSERVERS,
    "invited apart": lambda k: _invited(k, N_OBSERVERS),
}


class AgreementDesign(NamedTuple):
    """Systems that err on the same items, sometimes with one label for all."""

    population: str
    n_classes: int
    copy_probability: float
    n_joint_errors: int
    random: bool


def agreement_designs(
    n_joint_errors: Sequence[int] = (5, 10, 20, 40, 80),
    copy_probability: Sequence[float] = (0.0, 0.5, 0.8),
    n_classes: Sequence[int] = (4, 8, 16),
) -> dict[str, AgreementDesign]:
    """Scenarios of `AGREEMENT`: all populations, joint errors fixed and random."""
    values = (POPULATIONS, n_classes, copy_probability, n_joint_errors, (False, True))
    designs = itertools.starmap(AgreementDesign, itertools.product(*values))
    return {
        f"{d.population}, {d.n_classes} classes, copying {d.copy_probability:g}, "
        f"{d.n_joint_errors}{' or so' if d.random else ''}": d
        for d in designs
    }


def _agreement(
    design: AgreementDesign, numbers: range, seed: Any, n_observers: int, n_draws: int
) -> Rows:
    """Intervals of pairs of two systems, and of means and differences of pairs of four."""
    if n_observers not in (2, N_OBSERVERS):
        raise ValueError(f"n_observers must be 2 or {N_OBSERVERS}, got {n_observers}")
    data, drawing = seed.spawn(2)
    rows = POPULATIONS[design.population](design.n_classes)
    shared, chance = np.mean(rows, axis=0), ERRING if design.random else 1.0
    of = rows[:n_observers], shared, design.copy_probability
    n_items = round(design.n_joint_errors / chance**2)
    trials = label_trials(*of, n_items, error_probability=chance, n_datasets=len(numbers), rng=data)
    truth = shared_label_agreement(*of)[np.triu_indices(n_observers, 1)]
    result = misclassification_agreement(trials, n_draws=n_draws, n_resamples=n_draws, rng=drawing)
    unit = np.eye(len(truth))
    sums = {"pair": unit[0]}
    if n_observers > 2:
        sums = {"mean": unit.mean(axis=0), "difference": unit[0] - unit[1]}
    found: Rows = []
    for name, weights in sums.items():
        true = float(weights @ truth)
        summed = _summed(result, weights) if name != "pair" else {}
        for method in AGREEMENT_METHODS:
            if name == "pair":
                ends = _bounds(result, method)
            else:
                ends = summed.get(method, np.empty((0, 2)))
            found += [
                {"of": name, "method": method, **design._asdict(), **checked(true, *limits)}
                | {"truth": true, "below": true < limits[0], "above": true > limits[1]}
                for limits in ends[~np.isnan(ends[:, 0])].astype(float)
            ]
    return found


def _summed(result: Result, weights: Floats) -> dict[str, Floats]:
    """Bounds of a weighted sum of the pairs of each data set, (data set, 2), by method."""
    columns, parts = list(bound_names("", "eti", CI_PROB)), []
    size, n = len(weights), result.table.sizes["pair"]
    for start in range(0, n, size):
        every = np.zeros(n)
        every[start : start + size] = weights
        parts.append(contrast(result, every, intervals="all")[columns])
    return {
        str(method): np.stack([part.loc[method] for part in parts]) for method in parts[0].index
    }


AGREEMENT = Study(
    "agreement",
    _agreement,
    agreement_designs(),
    ("of", "method"),
    size=0,
    options={"n_observers": 2, "n_draws": 1_000},
    means=("truth", "below", "above"),
)
