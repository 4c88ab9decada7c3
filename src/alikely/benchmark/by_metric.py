"""The same machines ranked by several metrics: what hangs on how accuracy is dealt with.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pandas as pd

from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.decomposition import Population
from alikely.benchmark.scores import benchmark_scores
from alikely.benchmark.selection import not_valid
from alikely.benchmark.tables import ACCURACIES
from alikely.data.trials import Trials
from alikely.metrics import Metric, get_metric

__all__ = ["DEALT_WITH", "rank_by_metric"]

# Ways to put agreement beside what accuracies allow.
DEALT_WITH = ("error_consistency", "copy_probability", "normalised_error_consistency")


def rank_by_metric(
    trials: Trials,
    metrics: Sequence[str | Metric] = DEALT_WITH,
    *,
    population: Population = "crossed",
    ci_prob: float | None = None,
    rng: RandomState = None,
    **scoring: Any,
) -> pd.DataFrame:
    """Rank the machines of a benchmark by several metrics.

    Error consistency cannot reach 1 where accuracies differ: the most and the least accurate
    machines stand low because of their accuracy. The copy probability asks how often the machine
    answers as the human does, its own accuracy aside [K25]_; normalised error consistency divides
    by the greatest value that both accuracies allow.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metrics : sequence of str or Metric
        Any metrics of trials.
    population : {"images", "humans", "crossed"}
        What is thought of as drawn anew.
    ci_prob : float
        Probability that all rank sets of a metric hold, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **scoring
        As in `alikely.benchmark_scores`: ``people``, ``items``, ``exclude``, ``missing``,
        ``no_response``, ``models``, ``humans``.

    Returns
    -------
    pandas.DataFrame
        A row per metric and machine, as from `rank_sets`: ``metric, system,
        estimate, se, rank, rank_lb, rank_ub``; ``ceiled``; ``accuracy, accuracy_humans,
        accuracy_gap, kappa_min, kappa_max`` as in `alikely.benchmark.Benchmark.summary`; ``note``:
        which two metrics give the machine ranks whose sets have none in common.

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
        frames.append(_ranked(scores, population, seed))
    table = pd.concat(frames, ignore_index=True)
    labels = {metric.name: metric.label for metric in chosen}
    notes = {system: _apart(own, labels) for system, own in table.groupby("system", sort=False)}
    rows = zip(table["note"], table["system"].map(notes), strict=True)
    return table.assign(note=["; ".join(filter(None, parts)) for parts in rows])


def _ranked(scores: Benchmark, population: Population, seed: RandomState) -> pd.DataFrame:
    ranks = scores.ranks(population, rng=seed)
    beside = scores.summary(population, columns="all").set_index("system").loc[ranks["system"]]
    columns = ["system", "estimate", "se", "rank", "rank_lb", "rank_ub"]
    frame = ranks[columns].assign(
        **{name: beside[name].to_numpy() for name in ("ceiled", *ACCURACIES)}
    )
    frame.insert(0, "metric", scores.metric.name)
    return frame.assign(note=not_valid(scores.metric))


def _apart(own: pd.DataFrame, labels: dict[str, str]) -> str:
    """Two metrics that put a machine furthest apart, among those whose sets have no common rank."""
    rows = own.to_dict("records")
    disjoint = [
        (one, other)
        for one, other in itertools.combinations(rows, 2)
        if one["rank_ub"] < other["rank_lb"] or other["rank_ub"] < one["rank_lb"]
    ]
    if not disjoint:
        return ""
    pair = max(disjoint, key=lambda two: abs(two[0]["rank"] - two[1]["rank"]))
    said = (
        f"{row['rank']} ({row['rank_lb']} to {row['rank_ub']}) by {labels[row['metric']]}"
        for row in pair
    )
    return f"the rank hangs on the metric: {', '.join(said)}"
