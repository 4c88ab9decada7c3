"""Planning when the truth is not known but believed, or when a study stops once it is precise.

References
----------
.. [OSC05] O'Hagan, Stevens, Campbell (2005). Assurance in clinical trial design.
   doi:10.1002/pst.175
.. [JWB95] Joseph, Wolfson, du Berger (1995). Sample size calculations for binomial proportions via
   highest posterior density intervals. doi:10.2307/2348439
.. [K13] Kruschke (2013). Bayesian estimation supersedes the t test. doi:10.1037/a0029146
.. [R14] Rouder (2014). Optional stopping: no problem for Bayesians. doi:10.3758/s13423-014-0595-4
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import check_interval
from alikely._base.parallel import in_parallel
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.estimates.result import Result
from alikely.metrics import ERROR_CONSISTENCY, Metric, bounds
from alikely.metrics.cell_priors import Prior
from alikely.planning.grids import check_between, check_whole, check_width
from alikely.planning.operating import (
    N_DRAWS,
    Setting,
    estimates,
    intervals,
    one_pair,
    row_by_row,
    true_value,
    unit_variance,
)
from alikely.planning.trials import NO_ERRORS, stated_pairs
from alikely.simulate import cell_probabilities
from alikely.stats.search import number_for_width
from alikely.stats.variance import mean_of_defined

__all__ = ["assurance", "plan_from", "sequential_design"]

# If fewer prior draws can be, the priors contradict each other.
FEWEST_POSSIBLE = 0.01
# Studies, and draws for each, with which a number of trials is searched for; what is found is then
# described with as many as were asked for.
SEARCHED, SEARCHED_DRAWS = 1_000, 400


class Distribution(Protocol):
    """What a frozen distribution of `scipy.stats` offers."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Random variates."""


Belief = float | Distribution | ArrayLike


class _Goals(NamedTuple):
    """What a study is to show."""

    width: float | None
    assurance: float
    against: float
    rope: tuple[float, float] | None
    ci_prob: float

    def check(self, n_trials: ArrayLike | None, n_datasets: int) -> None:
        """Refuse what cannot be reached (`ValueError`)."""
        check_interval(self.ci_prob, "eti")
        if n_trials is not None:
            check_whole(n_trials, "n_trials")
        elif self.width is None:
            raise ValueError(
                "n_trials or width is needed: a number of trials, or what it should reach"
            )
        if self.width is not None:
            check_width(self.width)
        check_between(self.assurance, "assurance", "try 0.8")
        if self.rope is not None and not self.rope[0] < self.rope[1]:
            raise ValueError(f"rope must be (lower, upper) with lower < upper, got {self.rope}")
        check_whole(n_datasets, "n_datasets", 100)

    def trials(self, variance: Floats | float) -> Floats | float:
        """Trials for an interval of the width, by the variance of the estimate from one."""
        assert self.width is not None
        return (2 * special.ndtri((1 + self.ci_prob) / 2) / self.width) ** 2 * variance

    def shares(self, both: Floats, truth: Floats) -> dict[str, float]:
        """How wide intervals of simulated studies are, and how often they show what is wanted."""
        lower, upper = both.T
        found = {
            "expected_width": (upper - lower).mean(),
            "assured_width": np.quantile(upper - lower, self.assurance),
            "p_excludes": ((lower > self.against) | (upper < self.against)).mean(),
        }
        if self.width is not None:
            found["p_width"] = (upper - lower <= self.width).mean()
        if self.rope is not None:
            low, high = self.rope
            found["p_outside_rope"] = ((lower > high) | (upper < low)).mean()
            found["p_inside_rope"] = ((lower >= low) & (upper <= high)).mean()
        shares = np.array([value for name, value in found.items() if name.startswith("p_")])
        found["coverage"] = _covered(both, truth)
        found["mc_error"] = np.sqrt(shares * (1 - shares) / len(both)).max()
        return {name: float(value) for name, value in found.items()}


def assurance(
    accuracy_a: Belief,
    accuracy_b: Belief,
    ec: Belief,
    n_trials: ArrayLike | None = None,
    *,
    width: float | None = None,
    assurance: float = 0.8,
    against: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    n_datasets: int = 2_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate what a number of trials will show, averaged over what is believed [OSC05]_.

    Each simulated study draws the truth from the priors, data from the truth, and takes the central
    posterior interval that `alikely.error_consistency` would give.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : float, frozen distribution or array_like
        What is believed of each: a value, a distribution such as ``scipy.stats.beta(30, 10)``, or
        draws of it. Independent of each other, but for what cannot exist together.
    n_trials : array_like of int, optional
        Numbers of trials, at least 2. Default: the one at which `width` has the `assurance`.
    width : float, optional
        Interval width wanted, in (0, 2].
    assurance : float
        Share of studies that are to reach the width, in (0, 1).
    against : float
        Value that an interval should exclude.
    rope : (float, float), optional
        Region of practical equivalence.
    ci_prob : float
        In (0, 1).
    n_datasets : int
        Simulated studies for each number of trials, at least 100.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells in the planned analysis, as in `alikely.error_consistency`. It
        is separate from the assumed distribution of the true values.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same truths serve for all numbers of trials.

    Returns
    -------
    pandas.DataFrame
        One row per number of trials: ``expected_width`` of the interval; ``assured_width`` that the
        share `assurance` of studies stays below [JWB95]_; shares of studies: ``p_width`` (not wider
        than `width`), ``p_excludes`` (`against`), ``p_outside_rope``, ``p_inside_rope``;
        ``coverage``; ``undefined_share`` of the estimate; ``mc_error``, the largest Monte Carlo
        error of a share; ``impossible_share`` of the prior draws, which were drawn again.

    Raises
    ------
    ValueError
        If a number is out of range, neither `n_trials` nor `width` is given, or hardly any prior
        draw can exist.

    Examples
    --------
    >>> import alikely as al
    >>> from scipy import stats
    >>> accuracy = stats.beta(30, 10)
    >>> plan = al.planning.assurance(accuracy, accuracy, stats.norm(0.4, 0.1), [160, 640], rng=1)
    >>> plan["expected_width"].round(1).tolist()
    [0.3, 0.2]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    goals = _Goals(width, assurance, against, rope, ci_prob)
    goals.check(n_trials, n_datasets)
    priors, studies = seed_sequence(rng).spawn(2)
    beliefs = {"accuracy_a": accuracy_a, "accuracy_b": accuracy_b, "ec": ec}
    truths, impossible = _possible(beliefs, n_datasets, np.random.default_rng(priors))
    setting = one_pair(cell_probabilities(*truths), prior=prior)
    table = _simulated(setting, np.zeros(4, dtype=np.int64), n_trials, goals, studies)
    return table.assign(impossible_share=impossible)


def plan_from(
    result: Result,
    n_trials: ArrayLike | None = None,
    *,
    width: float | None = None,
    assurance: float = 0.8,
    keep_pilot: bool = False,
    against: float = 0.0,
    rope: tuple[float, float] | None = None,
    ci_prob: float | None = None,
    n_datasets: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate what more trials will show, from a pilot [OSC05]_.

    The truth is drawn from the posterior of the pilot, so that what the pilot leaves open stays
    open.

    Parameters
    ----------
    result : Result
        The pilot, of any metric. For metrics of correctness, counts of whole studies are simulated
        under its prior; for others, the posterior draws and standard error of the pilot are used.
    n_trials : array_like of int, optional
        Numbers of new trials, at least 2. Default: the one at which `width` has the `assurance`.
    width, assurance, against, rope, ci_prob, n_datasets, rng
        As in `assurance`.
    keep_pilot : bool
        Whether the new trials are added to those of the pilot.

    Returns
    -------
    pandas.DataFrame
        One row per entry of the pilot and number of trials: its labels, ``pilot_trials``,
        ``pilot_estimate``, and the columns of `assurance`; ``method`` is ``simulated`` or
        ``normal``; ``note`` gives the reason why an entry has no plan.

    Raises
    ------
    ValueError
        If a number is out of range, neither `n_trials` nor `width` is given, or the pilot has no
        posterior draws where they are needed.

    Examples
    --------
    >>> import alikely as al
    >>> pilot = al.error_consistency(al.load_example(), [("human_1", "human_2")], rng=1)
    >>> plan = al.planning.plan_from(pilot, [160, 640], keep_pilot=True, n_datasets=200, rng=1)
    >>> plan.groupby("n_trials")["expected_width"].mean().round(1).tolist()
    [0.3, 0.2]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    goals = _Goals(width, assurance, against, rope, ci_prob)
    goals.check(n_trials, n_datasets)
    of_type(result, Result, "make one with al.compare or another door")
    n_pilot = result.summary(intervals=())["n_trials"].to_numpy()
    seeds = seed_sequence(rng).spawn(len(n_pilot))
    jobs = [
        (result, i, int(n), n_trials, keep_pilot, goals, n_datasets, seed)
        for i, (n, seed) in enumerate(zip(n_pilot, seeds, strict=True))
    ]
    return pd.concat(list(in_parallel(_entry, jobs)), ignore_index=True)


def _entry(
    result: Result,
    entry: int,
    n_pilot: int,
    n_trials: ArrayLike | None,
    keep_pilot: bool,
    goals: _Goals,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Plan from one entry of a pilot."""
    value, se = (float(result.estimates[name].values[entry]) for name in ("estimate", "se"))
    if result.metric.counts == "correctness":
        plan = _from_counts(result, entry, n_trials, keep_pilot, goals, n_datasets, seed)
    else:
        draws = np.asarray(result.draws("posterior")[:, entry], dtype=np.float64)
        known = draws[np.isfinite(draws)], value, se, n_pilot
        plan = _from_normal(*known, n_trials, keep_pilot, goals, n_datasets, seed)
    own = result.pairs.iloc[[entry]].assign(pilot_trials=n_pilot, pilot_estimate=value)
    return own.merge(plan, how="cross")


def _possible(beliefs: dict[str, Belief], n: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draws of accuracies and error consistency that can exist, and the share that cannot."""
    kept = np.empty((3, 0))
    tried = 0
    while kept.shape[1] < n:
        drawn = np.stack([_believed(belief, name, n, rng) for name, belief in beliefs.items()])
        for name, values in zip(list(beliefs)[:2], drawn[:2], strict=True):
            check_between(values, name, NO_ERRORS)
        lower, upper = bounds.error_consistency_bounds(drawn[0], drawn[1])
        fits = (drawn[2] >= lower) & (drawn[2] <= upper)
        kept = np.concatenate([kept, drawn[:, fits]], axis=1)
        tried += n
        if kept.shape[1] < FEWEST_POSSIBLE * tried:
            a, b = drawn[:2].mean(axis=1)
            low, high = (float(bound) for bound in bounds.error_consistency_bounds(a, b))
            raise ValueError(
                f"ec must lie in [{low:.4f}, {high:.4f}] for mean accuracies {a:.3g} and {b:.3g}; "
                f"only {kept.shape[1]} of {tried} prior draws can exist"
            )
    return kept[:, :n], 1 - kept.shape[1] / tried


def _believed(belief: Belief, name: str, n: int, rng: np.random.Generator) -> Floats:
    if hasattr(belief, "rvs"):
        return np.asarray(belief.rvs(size=n, random_state=rng), dtype=np.float64)
    values = np.asarray(belief, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"{name} must be a number, a frozen distribution or finite draws of one, got {belief!r}"
        )
    return values[rng.integers(0, len(values), n)]


def _simulated(
    setting: Setting,
    pilot: NDArray[np.int64],
    n_trials: ArrayLike | None,
    goals: _Goals,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Simulate studies of each number of trials: a data set for each truth of the setting."""
    p = setting.probabilities / setting.probabilities.sum(axis=-1, keepdims=True)
    truth = estimates(p, setting)

    def study(n: int, few: int, n_draws: int, own: np.random.SeedSequence) -> dict[str, float]:
        rng = np.random.default_rng(own)
        counts = pilot + rng.multinomial(n, p[:few])
        both = intervals(counts, setting, "posterior", n_draws, goals.ci_prob, rng)
        undefined = float(np.isnan(estimates(counts, setting)).mean())
        return {"n_trials": n} | goals.shares(both, truth[:few]) | {"undefined_share": undefined}

    def width(n: int, own: np.random.SeedSequence) -> float:
        return study(n, SEARCHED, SEARCHED_DRAWS, own)["assured_width"]

    searching, describing = seed.spawn(2)
    if n_trials is None:
        # Truths at which nothing can vary, or hardly ever seen, have no variance to go by.
        variance = np.nan_to_num(unit_variance(setting)[:SEARCHED])
        needed = float(goals.trials(np.quantile(variance, goals.assurance)))
        start = max(needed - pilot.sum(), 2)
        n_trials = number_for_width(width, start, goals.width or 0.0, searching, 0.02, 2)
    numbers = np.atleast_1d(np.asarray(n_trials, dtype=np.int64)).ravel().tolist()
    seeds = describing.spawn(len(numbers))
    jobs = [(n, len(p), N_DRAWS, own) for n, own in zip(numbers, seeds, strict=True)]
    return pd.DataFrame(list(in_parallel(study, jobs))).assign(method="simulated")


def _covered(both: Floats, truth: Floats | float) -> float:
    return float(((both[:, 0] <= truth) & (truth <= both[:, 1])).mean())


def _from_counts(
    result: Result,
    entry: int,
    n_trials: ArrayLike | None,
    keep_pilot: bool,
    goals: _Goals,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Truths from the pilot's posterior, data sets from the truths."""
    # Items that came back count once, as shares of the cells.
    counts = result.table["cells"].values[entry]
    repeated = counts.dtype.kind == "f"
    if keep_pilot and repeated:
        raise ValueError(
            "keep_pilot adds new trials to those of the pilot, and its items came back: plan new "
            "items with keep_pilot=False, or more answers with al.planning.further_repeats"
        )
    drawing, studying = seed.spawn(2)
    known = counts + result.prior.cells("planning")
    truths = np.random.default_rng(drawing).dirichlet(known, size=n_datasets)
    setting = one_pair(truths, result.metric, result.prior)
    kept = counts if keep_pilot else np.zeros_like(counts)
    note = "of single answers: see further_repeats" if repeated else ""
    return _simulated(setting, kept, n_trials, goals, studying).assign(note=note)


def _from_normal(
    draws: Floats,
    estimate: float,
    se: float,
    n_pilot: int,
    n_trials: ArrayLike | None,
    keep_pilot: bool,
    goals: _Goals,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Truths from the posterior; estimates normal around them, as exact as the pilot's were."""
    if not (len(draws) and np.isfinite(estimate) and se > 0):
        note = "no plan: the pilot's estimate is undefined or has no standard error"
        return pd.DataFrame({"method": ["normal"], "note": [note]})
    kept, unit = n_pilot if keep_pilot else 0, se * np.sqrt(n_pilot)
    if n_trials is None:
        n_trials = max(2, int(np.ceil(goals.trials(unit**2))) - kept)
    rows = []
    numbers = np.atleast_1d(np.asarray(n_trials, dtype=np.int64)).ravel().tolist()
    for n, own in zip(numbers, seed.spawn(len(numbers)), strict=True):
        rng = np.random.default_rng(own)
        truth = rng.choice(draws, n_datasets)
        new = truth + unit / np.sqrt(n) * rng.standard_normal(n_datasets)
        value = (kept * estimate + n * new) / (kept + n)
        half = special.ndtri((1 + goals.ci_prob) / 2) * unit / np.sqrt(kept + n)
        both = np.stack([value - half, value + half], axis=1)
        rows.append({"n_trials": n} | goals.shares(both, truth))
    return pd.DataFrame(rows).assign(method="normal", note="")


def sequential_design(
    accuracy_a: ArrayLike,
    accuracy_b: ArrayLike,
    ec: ArrayLike,
    width: ArrayLike,
    *,
    batch: int = 100,
    most_trials: int = 10_000,
    ci_prob: float | None = None,
    metric: str | Metric = ERROR_CONSISTENCY,
    n_datasets: int = 2_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate studies that stop when the posterior interval is narrow enough.

    The posterior is right whenever one looks [R14]_, and precision is a fairer reason to stop than
    significance [K13]_; but for a fixed truth a study that may stop on a lucky look does not cover
    exactly as one of fixed size.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : array_like
        The truth, as in `interval_width`.
    width : array_like
        Interval width to stop at, in (0, 2]. All four broadcast.
    batch : int
        Trials between looks, at least 2.
    most_trials : int
        Trials at which a study ends in any case, at least one batch.
    ci_prob, metric, prior, rng
        As in `interval_width`.
    n_datasets : int
        Simulated studies, at least 100.

    Returns
    -------
    pandas.DataFrame
        One row per setting: the inputs (``target`` the width); ``expected_trials``,
        ``trials_q05``, ``trials_q95``; at stopping ``coverage`` of the interval, ``bias`` of the
        estimate, ``mean_width``; ``unfinished_share`` of studies that reached `most_trials` first;
        ``fixed_trials``, what a study of fixed size needs, and ``fixed_coverage`` there;
        ``mc_error`` of either coverage, if it is `ci_prob`.

    Raises
    ------
    ValueError
        If an input is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> plan = al.planning.sequential_design(0.75, 0.75, 0.5, 0.2, n_datasets=200, rng=1)
    >>> bool(350 < plan["expected_trials"][0] < 450)
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
    rows, setting = stated_pairs(metric, accuracy_a, accuracy_b, ec, prior, target=width)
    check_whole(batch, "batch")
    check_width(rows["target"])
    check_interval(ci_prob, "eti")
    check_whole(n_datasets, "n_datasets", 100)
    if most_trials < batch:
        raise ValueError(
            f"most_trials must be at least one batch of {batch} trials, got {most_trials}"
        )
    goals = rows["target"].to_numpy()
    study = (goals, batch, most_trials, ci_prob, n_datasets)
    return rows.join(pd.DataFrame(row_by_row(_stopped, setting, seed_sequence(rng), *study)))


def _stopped(
    setting: Setting,
    goal: float,
    batch: int,
    most_trials: int,
    ci_prob: float,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> dict[str, float]:
    """Run studies until each has stopped."""
    rng = np.random.default_rng(seed)
    p = setting.probabilities / setting.probabilities.sum()
    truth = float(true_value(setting))
    counts = np.zeros((n_datasets, 4), dtype=np.int64)
    bounds = np.full((n_datasets, 2), np.nan)
    running = np.arange(n_datasets)
    n = 0
    while len(running) and n < most_trials:
        step = min(batch, most_trials - n)
        n += step
        counts[running] += rng.multinomial(step, p, size=len(running))
        found = intervals(counts[running], setting, "posterior", N_DRAWS, ci_prob, rng)
        bounds[running] = found
        running = running[found[:, 1] - found[:, 0] > goal]
    n_trials, value = counts.sum(axis=1), estimates(counts, setting)
    z = special.ndtri((1 + ci_prob) / 2)
    fixed = max(2, int(np.ceil((2 * z / goal) ** 2 * unit_variance(setting))))
    same = rng.multinomial(fixed, p, size=n_datasets)
    fixed_bounds = intervals(same, setting, "posterior", N_DRAWS, ci_prob, rng)
    early, late = np.quantile(n_trials, [0.05, 0.95])
    return {
        "expected_trials": float(n_trials.mean()),
        "trials_q05": early,
        "trials_q95": late,
        "coverage": _covered(bounds, truth),
        "bias": float(mean_of_defined(value) - truth),
        "mean_width": float((bounds[:, 1] - bounds[:, 0]).mean()),
        "unfinished_share": len(running) / n_datasets,
        "fixed_trials": fixed,
        "fixed_coverage": _covered(fixed_bounds, truth),
        "mc_error": float(np.sqrt(ci_prob * (1 - ci_prob) / n_datasets)),
    }
