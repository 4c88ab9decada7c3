"""What analysis choices do to a benchmark: the same data, scored in every way that papers do.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.notes import note, told
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.benchmark import ranks
from alikely.benchmark.layout import (
    CEILING,
    HUMANS,
    Exclusions,
    Population,
    by_level,
    exclude_conditions,
    laid_out,
    nested_scores,
    refuse_own_names,
    require_balance,
)
from alikely.benchmark.scores import benchmark_scores
from alikely.benchmark.tables import ACCURACIES, not_valid
from alikely.data.trials import Trials
from alikely.estimates.result import Result
from alikely.metrics import Metric, get_metric

__all__ = ["DEALT_WITH", "multiverse_analysis", "multiverse_band", "rank_by_metric"]

# Ways to put agreement beside what accuracies allow.
DEALT_WITH = ("error_consistency", "copy_probability", "normalized_error_consistency")
CHOICES = ["no_response", "conditions", "grouping", "both_perfect", "metric"]


def multiverse_analysis(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    exclude: str | Exclusions | None = None,
    metrics: Sequence[str | Metric] = DEALT_WITH,
) -> pd.DataFrame:
    """Score a benchmark under all choices that papers make without saying so.

    A missing response is an error, or dropped; conditions are excluded, or all kept; error
    consistency is taken per condition and averaged, as [G21]_ does, or conditions are pooled; two
    observers without any error have error consistency 1, or none; and accuracies are dealt with in
    one way or another, by one metric or another.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Kinds of the observers.
    exclude : str or mapping, optional
        Conditions to leave out, see `alikely.exclude_conditions`; without it that choice falls
        away.
    metrics : sequence of str or Metric
        Metrics of correctness, that which is meant first.

    Returns
    -------
    pandas.DataFrame
        One row per combination of choices and system: ``no_response, conditions, grouping,
        both_perfect, metric, system, score, ceiling_normalized`` (score over ceiling) and ``rank``
        (of models; 1 for the highest score). The combination that `alikely.benchmark_scores` uses
        comes first.

    Raises
    ------
    ValueError
        As in `alikely.benchmark_scores`.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.benchmark.multiverse_analysis(al.load_example())
    >>> len(table[["no_response", "grouping", "both_perfect", "metric"]].drop_duplicates())
    24
    """
    chosen = [get_metric(metric) for metric in metrics]
    other = [metric.name for metric in chosen if metric.counts != "correctness"]
    if other or not chosen:
        raise ValueError(f"metrics must be metrics of correctness; got {other or 'none'}")
    variants = {"all": trials}
    if exclude is not None:
        variants = {"excluded": exclude_conditions(trials, exclude), **variants}
    groupings: tuple[Literal["condition", "dataset"], ...] = ("condition", "dataset")
    responses: tuple[Literal["error", "drop"], ...] = ("error", "drop")
    frames = []
    for no_response, (conditions, part), grouping in itertools.product(
        responses, variants.items(), groupings
    ):
        table, layout = laid_out(
            part,
            models=models,
            humans=humans,
            grouping=grouping,
            no_response=no_response,
            both_orders=not all(metric.symmetric for metric in chosen),
        )
        refuse_own_names("model", layout.models, (HUMANS, CEILING))
        require_balance(layout)
        cells = table["cells"].values
        perfect = (cells.sum(axis=1) > 0) & (cells[:, 0] == cells.sum(axis=1))
        for metric, both_perfect in itertools.product(chosen, ("undefined", "one")):
            value = metric.value(cells)
            value = np.where(perfect, 1.0, value) if both_perfect == "one" else value
            scores = by_level(layout, nested_scores(layout, value[None]))[0, -1]
            ceiling = scores[-1]
            frames.append(
                pd.DataFrame(
                    {
                        "no_response": no_response,
                        "conditions": conditions,
                        "grouping": f"per {grouping}",
                        "both_perfect": both_perfect,
                        "metric": metric.name,
                        "system": layout.systems,
                        "score": scores,
                        "ceiling_normalized": scores / ceiling
                        if ceiling
                        else np.full(len(scores), np.nan),
                        "rank": _ranks(scores, len(layout.models)),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def _ranks(scores: NDArray[np.float64], n_models: int) -> NDArray[np.float64]:
    ranks = np.full(len(scores), np.nan)
    ranks[:n_models] = pd.Series(scores[:n_models]).rank(ascending=False, method="min")
    return ranks


def multiverse_band(table: pd.DataFrame) -> pd.DataFrame:
    """Range of scores and ranks over all choices.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `sensitivity`.

    Returns
    -------
    pandas.DataFrame
        One row per system: ``score`` of the first combination, ``lowest, highest`` of the same
        metric, ``rank``; ``most_influential_choice``: the choice whose change moves that score
        most, the others held, with that ``largest_change``; over all metrics ``best_rank,
        worst_rank`` and ``most_influential_for_rank``, the choice whose change moves the rank most.

    Examples
    --------
    >>> import alikely as al
    >>> band = multiverse_band(al.benchmark.multiverse_analysis(al.load_example()))
    >>> bool((band["lowest"] <= band["score"]).all())
    True
    """
    rows = []
    for system, part in table.groupby("system", sort=False):
        first = part.iloc[0]
        own = part[part["metric"] == first["metric"]]
        decides, change = _largest_move(own, "score")
        ranked = part["rank"].notna().all() and part["rank"].nunique() > 1
        rows.append(
            {
                "system": system,
                "score": first["score"],
                "lowest": own["score"].min(),
                "highest": own["score"].max(),
                "rank": first["rank"],
                "best_rank": part["rank"].min(),
                "worst_rank": part["rank"].max(),
                "most_influential_choice": decides,
                "largest_change": change,
                "most_influential_for_rank": _largest_move(part, "rank")[0] if ranked else "",
            }
        )
    return pd.DataFrame(rows)


def _largest_move(part: pd.DataFrame, column: str) -> tuple[str, float]:
    """The choice that moves a column most, the others held, and by how much."""
    moves = {}
    for choice in CHOICES:
        others = [name for name in CHOICES if name != choice]
        spans = part.groupby(others)[column].agg(lambda x: x.max() - x.min())
        moves[choice] = float(spans.max())
    best = max(moves, key=lambda name: moves[name])
    return best, moves[best]


def rank_by_metric(
    trials: Trials,
    metrics: Sequence[str | Metric] = DEALT_WITH,
    *,
    generalize_to: Population = "both",
    ci_prob: float | None = None,
    rng: RandomState = None,
    **scoring: Any,
) -> pd.DataFrame:
    """Rank the models of a benchmark by several metrics.

    Error consistency cannot reach 1 where accuracies differ: the most and the least accurate
    models stand low because of their accuracy. The copy probability asks how often the model
    answers as the human does, its own accuracy aside [K25]_; normalized error consistency divides
    by the greatest value that both accuracies allow.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metrics : sequence of str or Metric
        Any metrics of trials.
    generalize_to : {"images", "observers", "both"}
        What is thought of as resampled.
    ci_prob : float
        Probability that all rank sets of a metric hold, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **scoring
        As in `alikely.benchmark_scores`: ``people``, ``items``, ``no_response``,
        ``models``, ``humans``.

    Returns
    -------
    pandas.DataFrame
        A row per metric and model, as from `rank_sets`: ``metric, system,
        estimate, se, rank, rank_lb, rank_ub``; ``ceiling_normalized``; ``accuracy, accuracy_humans,
        accuracy_gap, kappa_min, kappa_max`` as in `alikely.Result.summary`; ``note``:
        which two metrics give the model ranks whose sets have none in common.

    Raises
    ------
    ValueError
        If fewer than two metrics are named, or as in `alikely.benchmark_scores` and
        `alikely.benchmark.ranking.rank_sets`.

    Examples
    --------
    >>> import alikely as al
    >>> table = rank_by_metric(al.load_example(), rng=1)
    >>> table.groupby("metric", sort=False)["system"].first().tolist()
    ['model_3', 'model_1', 'model_3']
    """
    ci_prob = resolve("ci_prob", ci_prob)
    chosen = [get_metric(metric) for metric in metrics]
    names = [metric.name for metric in chosen]
    if len(set(names)) < 2 or len(set(names)) < len(names):
        raise ValueError(f"metrics must name at least two metrics, each once; got {names}")
    seeds = seed_sequence(rng).spawn(len(chosen))
    frames = []
    for metric, seed in zip(chosen, seeds, strict=True):
        with options(ci_prob=ci_prob):
            scores = benchmark_scores(trials, metric=metric, n_resamples=0, n_draws=0, **scoring)
        frames.append(_ranked(scores, generalize_to, seed))
    table = pd.concat(frames, ignore_index=True)
    labels = {metric.name: metric.label for metric in chosen}
    notes = {system: _apart(own, labels) for system, own in table.groupby("system", sort=False)}
    rows = zip(table["note"], table["system"].map(notes), strict=True)
    return table.assign(note=["; ".join(filter(None, parts)) for parts in rows])


def _ranked(scores: Result, generalize_to: Population, seed: RandomState) -> pd.DataFrame:
    found = ranks(scores, generalize_to, rng=seed)
    beside = scores.summary(generalize_to, columns="all").set_index("system").loc[found["system"]]
    columns = ["system", "estimate", "se", "rank", "rank_lb", "rank_ub"]
    frame = found[columns].assign(
        **{name: beside[name].to_numpy() for name in ("ceiling_normalized", *ACCURACIES)}
    )
    frame.insert(0, "metric", scores.metric.name)
    return frame.assign(note=not_valid(scores.metric))


def _apart(own: pd.DataFrame, labels: dict[str, str]) -> str:
    """Two metrics that put a model furthest apart, among those whose sets have no common rank."""
    rows = own.to_dict("records")
    disjoint = [
        (one, other)
        for one, other in itertools.combinations(rows, 2)
        if one["rank_ub"] < other["rank_lb"] or other["rank_ub"] < one["rank_lb"]
    ]
    if not disjoint:
        return ""
    pair = max(disjoint, key=lambda two: abs(two[0]["rank"] - two[1]["rank"]))
    ranks = (
        f"{row['rank']} ({row['rank_lb']} to {row['rank_ub']}) by {labels[row['metric']]}"
        for row in pair
    )
    return told(note("rank-depends", ranks=", ".join(ranks)))
