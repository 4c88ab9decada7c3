"""Multiverse analysis of a benchmark: scores and ranks across analysis choices made in papers.

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

from alikely._base.notes import note, told
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.benchmark import ACCURACIES, not_valid, ranks
from alikely.benchmark.layout import (
    CEILING,
    HUMANS,
    Exclusions,
    Population,
    by_level,
    exclude_conditions,
    laid_out,
    refuse_own_names,
    require_balance,
)
from alikely.benchmark.scores import benchmark_scores
from alikely.data.trials import Trials
from alikely.metrics import Metric, get_metric

# Metrics that adjust agreement for accuracies in different ways.
DEALT_WITH = ("error_consistency", "copy_probability", "normalized_error_consistency")
RANKED = ("system", "estimate", "se", "rank", "rank_lb", "rank_ub")
CHOICES = ["no_response", "conditions", "grouping", "both_perfect", "metric"]


def multiverse_analysis(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    exclude: str | Exclusions | None = None,
    metrics: Sequence[str | Metric] = DEALT_WITH,
    summary: bool = False,
) -> pd.DataFrame:
    """Compute benchmark scores under all combinations of analysis choices found in papers.

    The choices are

    - missing responses: counted as errors, or dropped
    - conditions: some excluded, or all included
    - pooling: error consistency computed per condition and averaged [G21]_, or computed over all
      conditions together
    - pairs without errors: error consistency defined as 1, or treated as undefined
    - metric: one of several metrics, which adjust for accuracy in different ways

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Kind of observer to score, and kind of observer to compare it with.
    exclude : str or mapping, optional
        Conditions to exclude, as in `alikely.exclude_conditions`. By default, all scores include
        all conditions.
    metrics : sequence of str or Metric
        Metrics computed from correctness, with the main metric first.
    summary : bool
        Whether to return one row per system, with the range of its scores and ranks, instead of one
        row per system and combination of choices.

    Returns
    -------
    pandas.DataFrame
        One row per system and combination of analysis choices. The first combination consists of
        the choices that `alikely.benchmark_scores` makes by default; it excludes the conditions in
        `exclude`. Columns:

        - ``no_response``, ``conditions``, ``grouping``, ``both_perfect``, ``metric``: the choices
        - ``system``, ``score``
        - ``ceiling_normalized``: score divided by the human-human score
        - ``rank``: rank of the model, 1 for the highest score

        With ``summary=True``, the table has one row per system, with columns

        - ``score``, ``rank``: values for the choices of `alikely.benchmark_scores`
        - ``lowest``, ``highest``: range of scores over combinations with the main metric
        - ``most_influential_choice``, ``largest_change``: the choice that changes the score most
          while the other choices are fixed, and the size of the change
        - ``best_rank``, ``worst_rank``: range over all metrics
        - ``most_influential_for_rank``: the choice that changes the rank most

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
            scores = by_level(layout, value[None])[0, -1]
            ranks = pd.Series(scores[: len(layout.models)]).rank(ascending=False, method="min")
            columns = {
                "no_response": no_response,
                "conditions": conditions,
                "grouping": f"per {grouping}",
                "both_perfect": both_perfect,
                "metric": metric.name,
                "system": layout.systems,
                "score": scores,
                "ceiling_normalized": scores / (scores[-1] or np.nan),
                "rank": ranks.reindex(range(len(scores))),
            }
            frames.append(pd.DataFrame(columns))
    table = pd.concat(frames, ignore_index=True)
    return _band(table) if summary else table


def _band(table: pd.DataFrame) -> pd.DataFrame:
    """Range of scores and ranks of each system over all choices."""
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
    """The choice that changes a column most, with the others fixed, and the change."""
    moves = {}
    for choice in CHOICES:
        groups = part.groupby([name for name in CHOICES if name != choice])[column]
        moves[choice] = float((groups.max() - groups.min()).max())
    best = max(moves, key=moves.__getitem__)
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

    Error consistency cannot reach 1 if accuracies differ, which lowers the scores of the most and
    the least accurate models. The copy probability is the probability that a model copies the
    human's response, adjusted for the model's accuracy [K25]_. Normalized error consistency is
    error consistency divided by its maximum given the accuracies.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metrics : sequence of str or Metric
        At least two metrics that are computed from trials.
    generalize_to : {"images", "observers", "both"}
        Population to which confidence sets for ranks generalize: new images, new humans, or both.
    ci_prob : float
        Probability, in (0, 1), that all confidence sets of ranks for a metric contain the true
        ranks.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **scoring
        Options of `alikely.benchmark_scores`: ``human_ids``, ``item_scope``, ``no_response``,
        ``models``, ``humans``.

    Returns
    -------
    pandas.DataFrame
        One row per metric and model, with columns

        - ``metric``, ``system``, ``estimate``, ``se``
        - ``rank``, ``rank_lb``, ``rank_ub``: as returned by `alikely.benchmark.ranking.rank_sets`
        - ``ceiling_normalized``, ``accuracy``, ``accuracy_humans``, ``accuracy_gap``,
          ``kappa_min``, ``kappa_max``: as in `alikely.Result.summary`
        - ``note``: names two metrics if their rank sets for the model do not overlap

    Raises
    ------
    ValueError
        If fewer than two metrics are given. See also `alikely.benchmark_scores` and
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
    if not 2 <= len(set(names)) == len(names):
        raise ValueError(f"metrics must name at least two metrics, each once; got {names}")
    frames = []
    for metric, seed in zip(chosen, seed_sequence(rng).spawn(len(chosen)), strict=True):
        with options(ci_prob=ci_prob):
            scores = benchmark_scores(trials, metric=metric, n_resamples=0, n_draws=0, **scoring)
        found = ranks(scores, generalize_to, rng=seed)[[*RANKED]]
        alongside = scores.summary(generalize_to, columns="all").set_index("system")
        found = found.join(alongside[["ceiling_normalized", *ACCURACIES]], on="system")
        found.insert(0, "metric", metric.name)
        frames.append(found.assign(note=not_valid(metric)))
    table = pd.concat(frames, ignore_index=True)
    labels = {metric.name: metric.label for metric in chosen}
    notes = {system: _apart(own, labels) for system, own in table.groupby("system", sort=False)}
    rows = zip(table["note"], table["system"].map(notes), strict=True)
    return table.assign(note=["; ".join(filter(None, parts)) for parts in rows])


def _apart(own: pd.DataFrame, labels: dict[str, str]) -> str:
    """Note on the two metrics that rank a model most differently, if their sets do not overlap."""
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
