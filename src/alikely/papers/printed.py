"""A whole leaderboard of which only scores are printed: how sure scores and ranks are.

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

from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from alikely._base.arrays import Floats, within
from alikely._base.names import listed
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely.benchmark.ranking import significantly_greater
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.analysis import check_numbers
from alikely.metrics.consistency import accuracies, error_consistency
from alikely.papers.reconstruction import condition_draws

__all__ = ["SCHEMES", "reconstruct_leaderboard"]

# How trials are made up: by pairs, as in [K25]_'s appendix E, and on shared images.
SCHEMES: dict[str, tuple[str, str]] = {
    "pairs": ("middle", "pairs"),
    "pairs, optimistic": ("optimistic", "pairs"),
    "shared trials": ("middle", "shared"),
}
# Of one mean of one machine: kept, and while its spread is taken.
DRAW_BYTES = 16
LABELS = ["system", "dataset", "condition", "score"]


class _Place(NamedTuple):
    """What people did in one condition."""

    accuracy: Floats
    ceiling: float
    n_trials: int


def reconstruct_leaderboard(
    table: pd.DataFrame,
    human_trials: Trials,
    *,
    scores: Literal["ceiled", "raw"] = "ceiled",
    humans: str = "human",
    n_samples: int = 1_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Intervals and ranks of all machines of a leaderboard from its printed scores [K25]_.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per machine and condition: ``system, dataset, condition, score``; every machine in
        the same conditions. Without ``condition`` where a data set has only one.
    human_trials : Trials
        The people behind the ceilings, in these conditions; machines in it are left aside.
    scores : {"ceiled", "raw"}
        Error consistency over that among the humans of the condition, or error consistency.
    humans : str
        Kind of the people.
    n_samples : int
        Simulated experiments, at least 100.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per scheme and machine, best first: ``scheme``: ``"pairs"``, the printed one, every
        human's pair on trials of its own and the machine's accuracy in the middle of what its
        scores allow; ``"pairs, optimistic"``, with the lowest accuracy allowed; ``"shared
        trials"``, all humans meeting the same answers of the machine. ``system, estimate`` (mean
        over conditions within data sets, then over data sets [G21]_), ``se`` and an interval about
        it (new images, the same people); ``rank`` (ties share the better one) with its joint
        confidence set ``rank_lb, rank_ub`` [MRSW24]_; ``width_over_shared``, the width of the
        interval over that of shared trials; ``infeasible``, conditions in which no accuracy allows
        the printed score with every human. The attribute ``note`` says how wide the schemes are.

    Raises
    ------
    TypeError
        If an argument is of another class.
    ValueError
        If a column is missing, a score is, a machine lacks a condition or has it twice, people have
        no such condition, or always or never err in one, or their ceiling is not above 0; or if a
        number, or the error consistency that a score stands for, is out of range.

    Notes
    -----
    With pairs that share no trial the noise of the machine's own answers is averaged away over
    humans as if it were theirs. On 22 machines of the model-vs-human data, 6 data sets: half widths
    of .0119 (pairs), .0081 (optimistic) and .0203 (shared) where the trials give .0191 for new
    images, so that 95 % intervals cover .78, .59 and .96. Neither scheme knows that all machines
    saw the same images: ranks take their errors as independent.

    Of a condition in which replicates are biased, near the ceiling, the interval is about the
    printed score and not about the mean of the replicates.

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
    if n_samples < 100:
        raise ValueError(f"n_samples must be at least 100, got {n_samples}")
    if scores not in ("ceiled", "raw"):
        raise ValueError(f"scores must be 'ceiled' or 'raw', got {scores!r}")
    check_numbers(n_samples=n_samples)
    printed = _printed(table)
    check_memory(
        DRAW_BYTES * n_samples * len(printed),
        f"{n_samples:,} experiments of {len(printed)} machines",
        "choose fewer n_samples",
    )
    places = _places(human_trials, humans, list(printed.columns))
    ceilings = np.array([place.ceiling for place in places])
    consistency = printed.to_numpy() * (ceilings if scores == "ceiled" else 1.0)
    if (beyond := np.argwhere(np.abs(consistency) > 1 + 1e-9)).size:
        system, of = printed.index[beyond[0, 0]], " | ".join(printed.columns[beyond[0, 1]])
        raise ValueError(
            f"the score of {system!r} in {of}, {printed.to_numpy()[*beyond[0]]:g}, is an error "
            f"consistency of {consistency[*beyond[0]]:.3g}, beyond [-1, 1]; is it a percentage, or "
            f"are scores not {scores!r}?"
        )
    weights = _nested_weights([dataset for dataset, _ in printed.columns])
    estimate = within(consistency @ weights, -1)
    reach = stats.norm.ppf(0.975)
    frames, seeds = [], seed_sequence(rng).spawn(len(SCHEMES))
    for (scheme, (assumption, simulation)), seed in zip(SCHEMES.items(), seeds, strict=True):
        generator = np.random.default_rng(seed)
        draws = np.zeros((n_samples, len(printed)))
        infeasible = np.zeros(len(printed), dtype=int)
        for m, own in enumerate(consistency):
            for weight, ec, place in zip(weights, own, places, strict=True):
                means, _, impossible = condition_draws(
                    generator,
                    float(ec),
                    place.ceiling,
                    place.accuracy,
                    place.n_trials,
                    assumption=assumption,
                    simulation=simulation,
                    n_samples=n_samples,
                )
                draws[:, m] += weight * means
                infeasible[m] += int(impossible)
        se = np.nanstd(draws, axis=0, ddof=1)
        frame = pd.DataFrame({"scheme": scheme, "system": printed.index, "estimate": estimate})
        frame = frame.assign(se=se, ci95_lb=estimate - reach * se, ci95_ub=estimate + reach * se)
        frame = frame.assign(**_ranks(estimate, se, generator), infeasible=infeasible)
        frames.append(frame)
    shared = frames[-1]["se"]
    for frame in frames:
        frame.insert(frame.columns.get_loc("infeasible"), "width_over_shared", frame["se"] / shared)
    found = pd.concat([f.sort_values("rank", kind="stable") for f in frames], ignore_index=True)
    found.attrs["note"] = _note(found)
    return found


def _printed(table: pd.DataFrame) -> pd.DataFrame:
    """Scores by machine (row) and condition (column)."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"table must be a DataFrame, got {type(table).__name__}")
    columns = [name for name in LABELS if name != "condition" or "condition" in table]
    missing = [name for name in columns if name not in table]
    if missing:
        raise ValueError(
            f"table has no column {missing[0]!r}; it needs {', '.join(LABELS)}, got "
            f"{listed([*map(str, table.columns)])}"
        )
    if table.empty:
        raise ValueError("table has no rows; it needs one per machine and condition")
    try:
        frame = table[columns].astype(dict.fromkeys(columns[:-1], str) | {"score": float})
    except (TypeError, ValueError):
        raise ValueError("column 'score' of table must hold numbers") from None
    if "condition" not in frame:
        frame.insert(2, "condition", "")
    keys = ["system", "dataset", "condition"]
    if (twice := frame.duplicated(keys)).any():
        place = " | ".join(frame[keys].to_numpy()[int(np.argmax(twice))])
        raise ValueError(f"{place} stands twice in the table")
    if len(odd := frame[~np.isfinite(frame["score"])]):
        system, *place_of = odd[keys].iloc[0]
        raise ValueError(
            f"machine {system!r} has no score in {' | '.join(place_of)}; leave out one of them"
        )
    wide = frame.pivot_table(
        "score", "system", ["dataset", "condition"], dropna=False, sort=False, observed=True
    ).dropna(axis=1, how="all")
    if (holes := np.argwhere(~np.isfinite(wide.to_numpy()))).size:
        system, place = wide.index[holes[0, 0]], " | ".join(wide.columns[holes[0, 1]])
        raise ValueError(f"machine {system!r} has no score in {place}; leave out one of them")
    return wide


def _places(trials: Trials, humans: str, wanted: list[Any]) -> list[_Place]:
    """People's accuracies and ceilings, condition by condition."""
    if not isinstance(trials, Trials):
        raise TypeError(f"human_trials must be Trials, got {type(trials).__name__}")
    people = trials.select(kind=humans)
    table = joint_correctness(people)
    cells = table["cells"].values
    frame = pd.DataFrame({name: table[name].values for name in ("dataset", "condition")})
    frame["ec"] = error_consistency(cells)
    first, second = accuracies(cells)
    frame = frame.assign(a=table["observer_a"].values, b=table["observer_b"].values)
    frame = frame.assign(first=first, second=second, n=cells.sum(axis=-1))
    found = []
    for dataset, condition in wanted:
        own = frame[frame["dataset"] == dataset]
        kinds = own["condition"].unique()
        if condition == "" and len(kinds) == 1:
            condition = kinds[0]
        own = own[own["condition"] == condition]
        place = " | ".join(filter(None, [dataset, condition]))
        if own.empty:
            raise ValueError(f"no people in {place}; conditions there are {listed([*kinds])}")
        accuracy = dict(zip(own["a"], own["first"], strict=True))
        accuracy |= dict(zip(own["b"], own["second"], strict=True))
        values, ceiling = np.array([*accuracy.values()]), float(own["ec"].mean())
        if not (ceiling > 0 and (values > 0).all() and (values < 1).all()):
            raise ValueError(
                f"in {place} people never or always err, or agree no more than by chance (ceiling "
                f"{ceiling:.3g}): leave it out"
            )
        found.append(_Place(values, ceiling, int(own["n"].max())))
    return found


def _nested_weights(datasets: list[str]) -> Floats:
    counts = pd.Series(datasets).map(pd.Series(datasets).value_counts())
    return (1 / counts / len(set(datasets))).to_numpy()


def _ranks(estimate: Floats, se: Floats, generator: np.random.Generator) -> dict[str, Any]:
    rank = stats.rankdata(-estimate, method="min").astype(int)
    if len(estimate) == 1:
        return {"rank": rank, "rank_lb": rank, "rank_ub": rank}
    greater = significantly_greater(estimate, np.diag(se**2), rng=generator)
    upper = len(estimate) - greater.sum(axis=1)
    return {"rank": rank, "rank_lb": 1 + greater.sum(axis=0), "rank_ub": upper}


def _note(found: pd.DataFrame) -> str:
    width = found.groupby("scheme", sort=False)["se"].mean() * 1.96
    ratio = found.groupby("scheme", sort=False)["width_over_shared"].mean()
    said = [
        f"{name}: +-{width[name]:.4f} ({ratio[name]:.2f} of shared trials)" for name in width.index
    ]
    return (
        "mean half width of 95 % intervals: " + ", ".join(said) + "; independent pairs leave out "
        "that all humans meet the same answers of a machine"
    )
