"""Planning when the truth is not known but believed: assurance, from priors or from a pilot.

References
----------
.. [OSC05] O'Hagan, Stevens, Campbell (2005). Assurance in clinical trial design.
   doi:10.1002/pst.175
.. [JWB95] Joseph, Wolfson, du Berger (1995). Sample size calculations for binomial proportions via
   highest posterior density intervals. doi:10.2307/2348439
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
from alikely.metrics import bounds
from alikely.metrics.cell_priors import Prior
from alikely.planning.operating import Setting, estimates, intervals, one_pair, unit_variance
from alikely.planning.widths import check_accuracies, check_trials, check_width
from alikely.simulate import cell_probabilities
from alikely.stats.search import own_seed, smallest_number

__all__ = ["assurance", "plan_from"]

# If fewer prior draws can be, the priors contradict each other.
FEWEST_POSSIBLE = 0.01
# Studies, and draws for each, with which a number of trials is searched for; what is found is then
# described with as many as were asked for.
SEARCHED = (1_000, 400)


class Distribution(Protocol):
    """What a frozen distribution of `scipy.stats` offers."""

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        """Random variates."""


Belief = float | Distribution | ArrayLike


class _Goals(NamedTuple):
    width: float | None
    assurance: float
    against: float
    rope: tuple[float, float] | None
    ci_prob: float
    n_draws: int


def assurance(  # noqa: PLR0913
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
    n_draws: int = 1_000,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """What a number of trials may be expected to show, averaged over what is believed [OSC05]_.

    Each simulated study draws the truth from the priors, data from the truth, and takes the central
    posterior interval that `alikely.error_consistency` would give.

    Parameters
    ----------
    accuracy_a, accuracy_b, ec : float, frozen distribution or array_like
        What is believed of each: a value, a distribution such as ``scipy.stats.beta(30, 10)``, or
        draws of it. Independent of each other, but for what cannot exist together.
    n_trials : array_like of int, optional
        Numbers of trials, at least 2. If not given, the one at which `width` has the `assurance`.
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
    n_datasets, n_draws : int
        Simulated studies for each number of trials, and posterior draws for each; at least 100.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior on the cells in the planned analysis, as in `alikely.error_consistency`. It
        is separate from the assumed distribution of the true values.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same truths serve for all numbers of trials.

    Returns
    -------
    pandas.DataFrame
        One row per number of trials: ``expected_width`` of the interval, and ``assured_width``
        that the share `assurance` of studies stays below [JWB95]_; shares of studies: ``p_width``
        (not wider than `width`), ``p_excludes`` (`against`), ``p_outside_rope``,
        ``p_inside_rope``; ``coverage`` of the truth; ``undefined_share`` of the estimate;
        ``mc_error``, the largest Monte-Carlo error of a share; ``impossible_share`` of the prior
        draws, which were drawn again.

    Raises
    ------
    ValueError
        If a number is out of range, neither `n_trials` nor `width` is given, or hardly any prior
        draw can exist: the message gives the bounds at the mean accuracies.

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
    goals = _Goals(width, assurance, against, rope, ci_prob, n_draws)
    _check(goals, n_trials, n_datasets)
    priors, studies = seed_sequence(rng).spawn(2)
    beliefs = {"accuracy_a": accuracy_a, "accuracy_b": accuracy_b, "ec": ec}
    truths, impossible = _possible(beliefs, n_datasets, np.random.default_rng(priors))
    setting = one_pair(cell_probabilities(*truths), prior=prior)
    nothing = np.zeros(4, dtype=np.int64)
    table = _studied(setting, nothing, n_trials, goals, studies)
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
    n_draws: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """What more trials may be expected to show, from a pilot [OSC05]_.

    The truth is not fixed at the pilot's estimate but drawn from its posterior, so that what the
    pilot leaves open stays open.

    Parameters
    ----------
    result : Result
        The pilot, of any metric. For metrics of correctness, counts of whole studies are simulated
        under its prior; for others, the posterior draws and standard error of the pilot are used.
    n_trials : array_like of int, optional
        Numbers of new trials, at least 2. If not given, the one at which `width` has the
        `assurance`.
    width, assurance, against, rope, ci_prob, n_datasets, n_draws, rng
        As in `assurance`.
    keep_pilot : bool
        Whether the new trials are added to those of the pilot, or stand alone.

    Returns
    -------
    pandas.DataFrame
        One row per entry of the pilot and number of trials: its labels, ``pilot_trials``,
        ``pilot_estimate``, and the columns of `assurance`; ``method`` is ``simulated`` or
        ``normal``; ``note`` says why an entry has no plan.

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
    goals = _Goals(width, assurance, against, rope, ci_prob, n_draws)
    _check(goals, n_trials, n_datasets)
    of_type(result, Result, "make one with al.compare or another door")
    n_pilot = result.summary(intervals=())["n_trials"].to_numpy()
    value, se = (result.estimates[name].values for name in ("estimate", "se"))
    jobs = [
        (result, i, int(n_pilot[i]), value[i], se[i], n_trials, keep_pilot, goals, n_datasets, seed)
        for i, seed in enumerate(seed_sequence(rng).spawn(len(value)))
    ]
    plans = list(in_parallel(_entry, jobs))
    return pd.concat(plans, ignore_index=True)


def _entry(
    result: Result,
    entry: int,
    n_pilot: int,
    value: float,
    se: float,
    n_trials: ArrayLike | None,
    keep_pilot: bool,
    goals: _Goals,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Plan from one entry of a pilot."""
    if result.metric.counts == "correctness":
        plan = _from_counts(result, entry, n_trials, keep_pilot, goals, n_datasets, seed)
    else:
        draws = np.asarray(result.draws("posterior")[:, entry], dtype=np.float64)
        pilot = _Pilot(draws[np.isfinite(draws)], value, se, n_pilot)
        plan = _from_normal(pilot, n_trials, keep_pilot, goals, n_datasets, seed)
    own = result.pairs.iloc[[entry]].assign(pilot_trials=n_pilot, pilot_estimate=value)
    return own.merge(plan, how="cross")


def _check(goals: _Goals, n_trials: ArrayLike | None, n_datasets: int) -> None:
    check_interval(goals.ci_prob, "eti")
    if n_trials is not None:
        check_trials(n_trials)
    elif goals.width is None:
        raise ValueError("n_trials or width is needed: a number of trials, or what it should reach")
    if goals.width is not None:
        check_width(goals.width)
    if not 0 < goals.assurance < 1:
        raise ValueError(f"assurance must lie strictly between 0 and 1, got {goals.assurance:g}")
    if goals.rope is not None and not goals.rope[0] < goals.rope[1]:
        raise ValueError(f"rope must be (lower, upper) with lower < upper, got {goals.rope}")
    if min(n_datasets, goals.n_draws) < 100:
        raise ValueError(
            f"n_datasets and n_draws must be at least 100, got {n_datasets} and {goals.n_draws}"
        )


def _possible(beliefs: dict[str, Belief], n: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Draws of accuracies and error consistency that can exist, and the share that cannot."""
    kept = np.empty((3, 0))
    tried = 0
    while kept.shape[1] < n:
        drawn = np.stack([_believed(belief, name, n, rng) for name, belief in beliefs.items()])
        for name, values in zip(list(beliefs)[:2], drawn[:2], strict=True):
            check_accuracies(values, name)
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


def _studied(
    setting: Setting,
    pilot: NDArray[np.int64],
    n_trials: ArrayLike | None,
    goals: _Goals,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Simulate studies of each number of trials, their truths in the setting."""
    searching, describing = seed.spawn(2)
    if n_trials is None:
        n_trials = _number(setting, pilot, goals, searching)
    numbers = np.atleast_1d(np.asarray(n_trials, dtype=np.int64)).ravel()
    jobs = [
        (setting, pilot, n, goals, own)
        for n, own in zip(numbers.tolist(), describing.spawn(len(numbers)), strict=True)
    ]
    return pd.DataFrame(list(in_parallel(_study, jobs))).assign(method="simulated")


def _number(
    setting: Setting, pilot: NDArray[np.int64], goals: _Goals, seed: np.random.SeedSequence
) -> int:
    """Number of trials at which the width is assured."""
    few = setting._replace(probabilities=setting.probabilities[: SEARCHED[0]])
    coarse = goals._replace(n_draws=SEARCHED[1])

    def narrowness(n: int) -> float:
        return -float(np.log(_study(few, pilot, n, coarse, own_seed(seed, n))["assured_width"]))

    assert goals.width is not None
    z = special.ndtri((1 + goals.ci_prob) / 2)
    # Truths at which nothing can vary, or hardly ever seen, have no variance to go by.
    variance = np.nan_to_num(unit_variance(few))
    needed = (2 * z / goals.width) ** 2 * np.quantile(variance, goals.assurance)
    return smallest_number(
        narrowness,
        max(needed - pilot.sum(), 2),
        -np.log(goals.width),
        np.log,
        np.exp,
        slack=0.02,
        rounds=2,
    )


def _study(
    setting: Setting,
    pilot: NDArray[np.int64],
    n_trials: int,
    goals: _Goals,
    seed: np.random.SeedSequence,
) -> dict[str, float]:
    """Studies of one size: one data set for each truth."""
    rng = np.random.default_rng(seed)
    p = setting.probabilities / setting.probabilities.sum(axis=-1, keepdims=True)
    counts = pilot + rng.multinomial(n_trials, p)
    both = intervals(counts, setting, "posterior", goals.n_draws, goals.ci_prob, rng)
    found = {"n_trials": n_trials} | _shares(both, estimates(p, setting), goals)
    return found | {"undefined_share": float(np.isnan(estimates(counts, setting)).mean())}


def _shares(both: Floats, truth: Floats, goals: _Goals) -> dict[str, float]:
    """How wide the intervals of simulated studies are, and how often they show what is wanted."""
    lower, upper = both.T
    width = upper - lower
    found = {
        "expected_width": float(width.mean()),
        "assured_width": float(np.quantile(width, goals.assurance)),
        "p_excludes": float(((lower > goals.against) | (upper < goals.against)).mean()),
    }
    if goals.width is not None:
        found["p_width"] = float((width <= goals.width).mean())
    if goals.rope is not None:
        low, high = goals.rope
        found["p_outside_rope"] = float(((lower > high) | (upper < low)).mean())
        found["p_inside_rope"] = float(((lower >= low) & (upper <= high)).mean())
    shares = np.array([value for name, value in found.items() if name.startswith("p_")])
    return found | {
        "coverage": float(((lower <= truth) & (truth <= upper)).mean()),
        "mc_error": float(np.sqrt(shares * (1 - shares) / len(width)).max()),
    }


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
    if keep_pilot and counts.dtype.kind == "f":
        raise ValueError(
            "keep_pilot adds new trials to those of the pilot, and its items came back: plan new "
            "items with keep_pilot=False, or more answers with al.planning.further_repeats"
        )
    drawing, studying = seed.spawn(2)
    prior = result.prior
    known = counts + prior.cells("planning")
    truths = np.random.default_rng(drawing).dirichlet(known, size=n_datasets)
    setting = one_pair(truths, result.metric, prior)
    kept = counts if keep_pilot else np.zeros_like(counts)
    note = "of single answers: see further_repeats" if counts.dtype.kind == "f" else ""
    return _studied(setting, kept, n_trials, goals, studying).assign(note=note)


class _Pilot(NamedTuple):
    draws: Floats
    estimate: float
    se: float
    n_trials: int


def _from_normal(
    pilot: _Pilot,
    n_trials: ArrayLike | None,
    keep_pilot: bool,
    goals: _Goals,
    n_datasets: int,
    seed: np.random.SeedSequence,
) -> pd.DataFrame:
    """Truths from the posterior; estimates normal around them, as exact as the pilot's were."""
    if not (len(pilot.draws) and np.isfinite(pilot.estimate) and pilot.se > 0):
        note = "no plan: the pilot's estimate is undefined or has no standard error"
        return pd.DataFrame({"method": ["normal"], "note": [note]})
    z = special.ndtri((1 + goals.ci_prob) / 2)
    kept = pilot.n_trials if keep_pilot else 0
    unit = pilot.se * np.sqrt(pilot.n_trials)
    if n_trials is None:
        assert goals.width is not None
        n_trials = max(2, int(np.ceil((2 * z * unit / goals.width) ** 2)) - kept)
    rows = []
    numbers = np.atleast_1d(np.asarray(n_trials, dtype=np.int64)).ravel().tolist()
    for n, own in zip(numbers, seed.spawn(len(numbers)), strict=True):
        rng = np.random.default_rng(own)
        truth = rng.choice(pilot.draws, n_datasets)
        new = truth + unit / np.sqrt(n) * rng.standard_normal(n_datasets)
        value = (kept * pilot.estimate + n * new) / (kept + n)
        half = z * unit / np.sqrt(kept + n)
        both = np.stack([value - half, value + half], axis=1)
        rows.append({"n_trials": n} | _shares(both, truth, goals))
    return pd.DataFrame(rows).assign(method="normal", note="")
