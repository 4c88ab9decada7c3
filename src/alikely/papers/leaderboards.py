"""Intervals of scores and ranks for leaderboards that print only the scores.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [MRSW24] Mogstad, Romano, Shaikh, Wilhelm (2024). Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries.
   doi:10.1093/restud/rdad006
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import check_ranges, check_whole, of_type
from alikely._base.names import listed
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely.benchmark.ranking import significantly_greater
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.analysis import check_numbers
from alikely.metrics.bounds import accuracy_bounds
from alikely.metrics.consistency import accuracies, error_consistency

# Simulation schemes: separate trials for each pair, as in appendix E of [K25]_, or shared images.
SCHEMES: dict[str, tuple[str, str]] = {
    "pairs": ("middle", "pairs"),
    "pairs, optimistic": ("optimistic", "pairs"),
    "shared trials": ("middle", "shared"),
}
# Bytes per simulated mean of one model: stored, and while its variance is computed.
DRAW_BYTES = 16
KEYS = ["system", "dataset", "condition"]


class Place(NamedTuple):
    """Human accuracies, ceiling and number of trials of one condition."""

    accuracy: Floats
    ceiling: float
    n_trials: int


def reconstruct_leaderboard(
    table: pd.DataFrame,
    human_trials: Trials,
    *,
    humans: str = "human",
    n_samples: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Reconstruct the intervals and ranks of models on a leaderboard from published scores [K25]_.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per model and condition, with columns ``system, dataset, condition, score``. All
        models must have scores in the same conditions. ``condition`` can be omitted if each data
        set has only one condition. Scores are error consistencies divided by the human-human value
        for the condition.
    human_trials : Trials
        Responses of the humans that define the ceilings, in the conditions of `table`. Models are
        ignored.
    humans : str
        Observer kind to treat as human.
    n_samples : int
        Number of simulated experiments, at least 100.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per scheme and model, starting with the best model, with columns

        - ``scheme``: ``"pairs"`` (as published), ``"pairs, optimistic"`` or ``"shared trials"``
          (see Notes)
        - ``system``
        - ``estimate``: mean over conditions within data sets, then over data sets [G21]_
        - ``se`` and limits of the interval, for new images with these humans
        - ``rank``: rank of the model; tied models share the better rank
        - ``rank_lb``, ``rank_ub``: limits of the simultaneous confidence set [MRSW24]_
        - ``width_over_shared``: width of the interval divided by its width under ``"shared
          trials"``
        - ``infeasible``: number of conditions in which no accuracy is compatible with the published
          score for every human

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a column or a score is missing, or a model lacks a condition or has a condition twice.
    ValueError
        If a condition has no human responses, or any human is always or never correct.
    ValueError
        If a ceiling is not above 0, or if the error consistency implied by a score is not in
        [-1, 1].
    ValueError
        If `n_samples` is below 100.

    Notes
    -----
    ``"pairs"`` simulates separate trials for each human. The model's accuracy is assumed to be
    the middle of the range compatible with the scores or, with ``"pairs, optimistic"``, the lowest
    accuracy in this range. ``"shared trials"`` simulates the same model responses for all humans.

    If a model's responses are simulated separately for each human, the noise in these responses is
    averaged over humans, and intervals are too narrow. We compared all three simulation schemes for
    22 models on 6 data sets of the model-vs-human benchmark. Intervals that generalize to new
    images had a half-width of 0.0191 when computed from the actual trials instead of published
    scores. With the simulation schemes ``"pairs"``, ``"pairs, optimistic"`` and ``"shared
    trials"``, intervals had half-widths of 0.0119, 0.0081 and 0.0203, and coverage of 0.78, 0.59
    and 0.96, respectively (nominal 0.95).

    All three simulation schemes ignore the fact that all models saw the same images, so confidence
    sets of ranks treat the sampling errors of models as independent. If accuracies are near 1,
    replicates are biased, so intervals are centered on ``estimate``, which is computed from the
    published scores, rather than on the mean of the replicates.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition=["blur", "noise"])
    >>> table = pd.DataFrame({
    ...     "system": ["a", "a", "b", "b"], "dataset": "all",
    ...     "condition": ["blur", "noise"] * 2, "score": [0.9, 0.8, 0.4, 0.5],
    ... })
    >>> found = reconstruct_leaderboard(table, trials, n_samples=200, rng=1)
    >>> found[["scheme", "system"]].drop_duplicates("scheme").values.tolist()
    [['pairs', 'a'], ['pairs, optimistic', 'a'], ['shared trials', 'a']]
    """
    check_numbers(n_samples=n_samples)
    if n_samples < 100:
        raise ValueError(f"n_samples must be at least 100, got {n_samples}")
    printed = _printed(table)
    check_memory(
        DRAW_BYTES * n_samples * len(printed),
        f"{n_samples:,} experiments of {len(printed)} models",
        "choose fewer n_samples",
    )
    places = _places(human_trials, humans, list(printed.columns))
    consistency = printed.to_numpy() * np.array([place.ceiling for place in places])
    if (beyond := np.argwhere(np.abs(consistency) > 1 + 1e-9)).size:
        system, of = printed.index[beyond[0, 0]], " | ".join(printed.columns[beyond[0, 1]])
        raise ValueError(
            f"the score of {system!r} in {of}, {printed.to_numpy()[*beyond[0]]:g}, is an error "
            f"consistency of {consistency[*beyond[0]]:.3g}, beyond [-1, 1]; is it a percentage, or "
            "not divided by the ceiling?"
        )
    home = pd.Series([dataset for dataset, _ in printed.columns])
    weights = (1 / home.map(home.value_counts()) / home.nunique()).to_numpy()
    estimate = within(consistency @ weights, -1)
    frames, seeds = [], seed_sequence(rng).spawn(len(SCHEMES))
    for (scheme, how), seed in zip(SCHEMES.items(), seeds, strict=True):
        generator = np.random.default_rng(seed)
        found = [
            _mean_draws(generator, own, places, weights, *how, n_samples) for own in consistency
        ]
        se = np.nanstd([drawn for drawn, _, _ in found], axis=1, ddof=1)
        half = stats.norm.ppf(0.975) * se
        frame = pd.DataFrame({"scheme": scheme, "system": printed.index, "estimate": estimate})
        frame = frame.assign(se=se, ci95_lb=estimate - half, ci95_ub=estimate + half)
        frames.append(
            frame.assign(
                **_ranks(estimate, se, generator),
                width_over_shared=np.nan,
                infeasible=[impossible for _, _, impossible in found],
            )
        )
    for frame in frames:
        frame["width_over_shared"] = frame["se"] / frames[-1]["se"]
    return pd.concat([f.sort_values("rank", kind="stable") for f in frames], ignore_index=True)


def _printed(table: pd.DataFrame) -> pd.DataFrame:
    """Scores by model (row) and condition (column)."""
    of_type(table, pd.DataFrame, "give one row per model and condition")
    table = table if "condition" in table else table.assign(condition="")
    missing = [name for name in (*KEYS, "score") if name not in table]
    if missing:
        raise ValueError(f"table has no column {missing[0]!r}; got {listed(map(str, table))}")
    if table.empty:
        raise ValueError("table has no rows; it needs one per model and condition")
    try:
        frame = table[[*KEYS, "score"]].astype(dict.fromkeys(KEYS, str) | {"score": float})
    except (TypeError, ValueError):
        raise ValueError("column 'score' of table must contain numbers") from None
    if (twice := frame.duplicated(KEYS)).any():
        place = " | ".join(frame[KEYS].to_numpy()[int(np.argmax(twice))])
        raise ValueError(f"{place} occurs twice in the table; keep one row")
    wide = frame.pivot(index="system", columns=KEYS[1:], values="score")
    if (holes := np.argwhere(~np.isfinite(wide.to_numpy()))).size:
        system, place = wide.index[holes[0, 0]], " | ".join(wide.columns[holes[0, 1]])
        raise ValueError(
            f"model {system!r} has no score in {place}; leave out this model or condition"
        )
    return wide


def _places(trials: Trials, humans: str, wanted: list[Any]) -> list[Place]:
    """Accuracies and ceilings of the humans, by condition."""
    of_type(trials, Trials, "make them with Trials.read")
    table = joint_correctness(trials.select(kind=humans))
    cells = table["cells"].values
    names = ("dataset", "condition", "observer_a", "observer_b")
    frame = pd.DataFrame({name: table[name].values for name in names})
    first, second = accuracies(cells)
    frame = frame.assign(ec=error_consistency(cells), first=first, second=second)
    frame["n"] = cells.sum(axis=-1)
    found = []
    for dataset, condition in wanted:
        own = frame[frame["dataset"] == dataset]
        kinds = own["condition"].unique()
        if condition == "" and len(kinds) == 1:
            condition = kinds[0]
        own = own[own["condition"] == condition]
        place = " | ".join(filter(None, [dataset, condition]))
        if own.empty:
            raise ValueError(f"no humans in {place}; conditions with humans are {listed([*kinds])}")
        accuracy = dict(zip(own["observer_a"], own["first"], strict=True))
        accuracy |= dict(zip(own["observer_b"], own["second"], strict=True))
        values, ceiling = np.array([*accuracy.values()]), float(own["ec"].mean())
        if not (ceiling > 0 and (values > 0).all() and (values < 1).all()):
            raise ValueError(
                f"in {place}, humans are always or never correct, or agree at most by chance "
                f"(ceiling {ceiling:.3g}); leave it out"
            )
        found.append(Place(values, ceiling, int(own["n"].max())))
    return found


def _ranks(estimate: Floats, se: Floats, generator: np.random.Generator) -> dict[str, Any]:
    rank = stats.rankdata(-estimate, method="min").astype(int)
    if len(estimate) == 1:
        return {"rank": rank, "rank_lb": rank, "rank_ub": rank}
    greater = significantly_greater(estimate, np.diag(se**2), rng=generator)
    upper = len(estimate) - greater.sum(axis=1)
    return {"rank": rank, "rank_lb": 1 + greater.sum(axis=0), "rank_ub": upper}


class Reconstruction(NamedTuple):
    """Interval of a mean score whose trials are not known."""

    estimate: float
    lower: float
    upper: float
    accuracy: NDArray[np.float64]
    infeasible: int


def reconstruct_score(
    ceiling_normalized: ArrayLike,
    ceiling: ArrayLike,
    human_accuracy: ArrayLike,
    n_trials: ArrayLike,
    *,
    n_samples: int = 2_000,
    rng: RandomState = None,
) -> Reconstruction:
    """Reconstruct the interval for a model's mean error consistency from published scores [K25]_.

    Leaderboards report one score per condition, without trial-level data. The published scores and
    the accuracies of humans limit the range of possible accuracies of a model. We assume that the
    model's accuracy is in the middle of the range of possible accuracies. The model and the humans
    are simulated on the same images with the cohort copy model, as in the scheme ``"shared
    trials"`` of `reconstruct_leaderboard`.

    Parameters
    ----------
    ceiling_normalized : array_like, shape (condition,)
        Error consistency divided by human-human error consistency (`ceiling`). Leaderboards report
        the absolute value of ceiling-normalized scores, so the sign of a score near 0 is unknown.
    ceiling : array_like, shape (condition,)
        Human-human error consistency, in (0, 1).
    human_accuracy : array_like, shape (condition, human)
        Accuracy of each human, in (0, 1). NaN if a human has no trials in a condition.
    n_trials : array_like of int, scalar or shape (condition,)
        Number of trials in each condition.
    n_samples : int
        Number of simulated experiments, at least 100.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Reconstruction
        Estimate with an interval that generalizes to new images with the same humans.

    Raises
    ------
    ValueError
        If shapes do not match or an argument is out of range.

    Examples
    --------
    >>> result = reconstruct_score([0.5, 0.6], [0.4, 0.5], [[0.7, 0.8], [0.6, 0.7]], 160, rng=1)
    >>> round(result.estimate, 2), bool(result.lower < 0.25 < result.upper)
    (0.25, True)
    """
    score, top, people = (
        np.asarray(given, np.float64)
        for given in (
            np.atleast_1d(ceiling_normalized), np.atleast_1d(ceiling), np.atleast_2d(human_accuracy)
        )
    )  # fmt: skip
    if not (score.shape == top.shape == people.shape[:1]):
        raise ValueError(
            "ceiling_normalized, ceiling and human_accuracy must have one entry per condition, "
            f"got shapes {score.shape}, {top.shape} and {people.shape}"
        )
    trials = np.broadcast_to(np.asarray(n_trials), score.shape)
    check_ranges(
        ("ceiling_normalized", score, -np.inf, np.inf),
        ("ceiling", top, 0, 1),
        ("human_accuracy", people[~np.isnan(people)], 0, 1),
        ("n_samples", n_samples, 99, np.inf),
        strict=True,
    )
    check_whole(trials, "n_trials", 1)
    if (lacks := np.isnan(people).all(axis=1)).any():
        raise ValueError(f"human_accuracy has no human in condition {np.argmax(lacks)}")
    places = [
        Place(own[~np.isnan(own)], float(ceiling_of), int(n))
        for own, ceiling_of, n in zip(people, top, trials, strict=True)
    ]
    generator, weights = np.random.default_rng(seed_sequence(rng)), np.full(len(top), 1 / len(top))
    mean, accuracy, infeasible = _mean_draws(
        generator, score * top, places, weights, *SCHEMES["shared trials"], n_samples
    )
    lower, upper = map(float, np.nanquantile(mean, [0.025, 0.975]))
    return Reconstruction(float((score * top).mean()), lower, upper, accuracy, infeasible)


def _mean_draws(
    generator: np.random.Generator,
    consistency: Floats,
    places: list[Place],
    weights: Floats,
    assumption: str,
    simulation: str,
    n_samples: int,
) -> tuple[Floats, Floats, int]:
    """Simulated means over conditions, assumed accuracies, and number of infeasible conditions."""
    total, assumed, infeasible = np.zeros(n_samples), np.empty(len(places)), 0
    for d, (weight, ec, place) in enumerate(zip(weights, consistency, places, strict=True)):
        humans, n_trials = place.accuracy, place.n_trials
        simulate = _pairs
        if simulation == "shared":
            # Under copying of a random human: at most the ceiling, at the mean human accuracy.
            humans, simulate = humans.mean(keepdims=True), _shared
        least, most = _model_accuracy(humans, ec / place.ceiling if simulate is _shared else ec)
        infeasible += least > most
        q = (least + most) / 2 if assumption == "middle" or least > most else least
        assumed[d] = np.clip(q, 0.5 / n_trials, 1 - 0.5 / n_trials)
        with np.errstate(invalid="ignore"):
            each = error_consistency(simulate(generator, place, assumed[d], ec, n_samples))
        total += weight * np.nanmean(each, axis=0)
    return total, assumed, int(infeasible)


def _model_accuracy(humans: NDArray[np.float64], ec: float) -> tuple[float, float]:
    """Range of model accuracies that allow this consistency with all humans."""
    if ec <= 0:
        # Independence and disagreement do not bound the accuracy.
        return 0.0, 1.0
    if ec >= 1:
        return float(humans.max()), float(humans.min())
    low, high = accuracy_bounds(humans, ec)
    return float(np.max(low)), float(np.min(high))


def _cells(human: NDArray[np.bool_], model: NDArray[np.bool_]) -> NDArray[np.int64]:
    both = (human & model).sum(axis=-1)
    h, m = human.sum(axis=-1), model.sum(axis=-1)
    return np.stack([both, h - both, m - both, human.shape[-1] - h - m + both], axis=-1)


def _shared(
    rng: np.random.Generator, place: Place, q: float, ec: float, n_samples: int
) -> NDArray[np.int64]:
    """Cells (human, sample, 4) of one model with all humans on shared images."""
    mu, phi = float(place.accuracy.mean()), 1 / place.ceiling - 1
    copying = ec * (mu * (1 - q) + (1 - mu) * q) / (2 * place.ceiling * mu * (1 - mu))
    copying = float(
        np.clip(copying, -min(q / (1 - mu), (1 - q) / mu), min(q / mu, (1 - q) / (1 - mu)))
    )
    p = rng.beta(mu * phi, (1 - mu) * phi, (n_samples, place.n_trials))
    model = rng.random(p.shape) < q - copying * mu + copying * p
    return np.stack([_cells(rng.random(p.shape) < p, model) for _ in place.accuracy])


def _pairs(
    rng: np.random.Generator, place: Place, q: float, ec: float, n_samples: int
) -> NDArray[np.int64]:
    """Cells (human, sample, 4) of pairs without shared trials."""
    humans = place.accuracy
    covariance = ec * (humans * (1 - q) + (1 - humans) * q) / 2
    n11 = np.clip(humans * q + covariance, np.maximum(humans + q - 1, 0), np.minimum(humans, q))
    probabilities = np.stack([n11, humans - n11, q - n11, 1 - humans - q + n11], axis=-1)
    probabilities = within(probabilities)
    probabilities /= probabilities.sum(axis=-1, keepdims=True)
    return rng.multinomial(place.n_trials, probabilities[:, None, :], (len(humans), n_samples))
