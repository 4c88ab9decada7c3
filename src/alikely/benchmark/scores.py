"""Benchmarks: scores of models, noise ceilings, and intervals for new images and new humans.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.notes import note
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.decomposition import decompositions
from alikely.benchmark.humans import noise_ceilings
from alikely.benchmark.layout import (
    CEILING,
    EXCLUDED,
    HUMAN_ROWS,
    HUMANS,
    OVERALL,
    Items,
    Layout,
    People,
    by_level,
    checked_labels,
    image_numbers,
    laid_out,
    metric_of_trials,
    nested_scores,
    people_drawn,
    refuse_own_names,
    refuse_repeats_for,
    require_balance,
    require_trials,
    system_labels,
    undefined_entries,
)
from alikely.benchmark.tables import CONSENSUS
from alikely.data.blocks import cluster_numbers
from alikely.data.columns import LEVELS
from alikely.data.inclusion import INCLUSION, SPEAKS
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.trials import Trials
from alikely.errors.limits import mean_draws, paired_row_draws
from alikely.errors.posteriors import agreement_draws
from alikely.estimates.analysis import check_numbers, kept_prior, require_cells
from alikely.estimates.notes import require_clusters
from alikely.estimates.result import Result
from alikely.inference.influence import estimate
from alikely.inference.process import process_draws
from alikely.inference.resampling import bootstrap, joint_draws
from alikely.metrics import Metric
from alikely.metrics.consistency import ACCURACY_COLUMNS, Prior, accuracies, cell_prior

N_CHAINS = 4
# Kinds of draws of pairs from which joint draws of scores are made.
DRAWN = ("cells", "labels", "readings", "options", "trials", "rows")


def benchmark_scores(
    trials: Trials,
    *,
    metric: str | Metric = "error_consistency",
    models: str = "model",
    humans: str = "human",
    human_ids: People | None = None,
    item_scope: Items = "dataset",
    no_response: Literal["error", "drop"] = "error",
    cluster: str | None = None,
    n_resamples: int = 0,
    n_draws: int | None = None,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> Result:
    """Score models by the similarity of their errors to those of humans [G21]_.

    A score is the mean error consistency of a model with all humans. Unweighted means are computed
    over conditions, then over humans, and then over data sets (or levels of conditions; see
    `alikely.Trials.with_levels`). The row ``human-human`` is the mean over all pairs of humans.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : str or Metric
        Any metric computed from trials, as in `alikely.compare`. For directed metrics, humans are
        the reference for models, and the human-human mean averages both directions. Noise ceilings
        require a correctness metric. For error similarity, Gibbs sampling takes 0.05 to 0.1 s per
        pair and condition. Limits are computed for the scores themselves
        (`alikely.errors.limits.mean_draws`), because posterior draws for pairs cannot be averaged.
    models, humans : str
        Kind of observer to score, and kind of observer to compare it with.
    human_ids : {"shared", "per_dataset"}, optional
        Whether a human label identifies the same person in all data sets, or a different person in
        each. Required if a label occurs in several data sets, unless the loader of the trials has
        set it.
    item_scope : {"dataset", "label", "condition"}
        Whether an item label identifies one image within a data set, in all data sets, or within a
        condition.
    no_response : {"error", "drop"}
        Whether to count a missing response as an error, or to exclude the trial from that
        observer's pairs.
    cluster : str, optional
        Column that defines clusters of dependent items, such as ``"template"``. Clusters are then
        the sampling units instead of items.
    n_resamples : int
        Number of bootstrap replicates, which are used for the stability of ranks and for
        correlations between data sets. Default 0 (none).
    n_draws : int
        Number of posterior draws. 0 disables them.
    prior : mapping or sequence of four numbers, optional
        Prior for the cells of each pair, as in `joint_draws`. For metrics of ratings, as in
        `alikely.agreement`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object. To score a result, use
        `alikely.benchmark.scores_from_result`.
    ValueError
        If the metric is unknown or is computed from margins, or `human_ids` is required but not
        given. If a data set has fewer than two humans, or lacks a model although it has others. If
        a model, a data set or a label has a reserved name. Also as in
        `alikely.data.joint_correctness`.

    Notes
    -----
    Analytic intervals use the influence of each trial on each pair. The variance for new images is
    the sum of the squared influences of images. The influence of an image is summed over all pairs
    and conditions in which the image occurs. The variance for new humans is a jackknife variance
    [ES81]_: each step leaves out one human in all data sets. If both are new, only the part of the
    human variance that exceeds trial-level noise is added, because both components include this
    noise [CGM11]_. Variances are computed for each contrast of scores separately.

    Quantiles are from Student's t distribution, with degrees of freedom computed from these
    components (`alikely.benchmark.decomposition.crossed_degrees`).

    For correctness metrics, intervals are centered on ``interval_center``, the score after adding a
    pseudocount to the four cells of each pair. The pseudocount
    (`alikely.benchmark.decomposition.added_count`) is 0.35 for one block and four humans and 0.1
    for a mean over many blocks. A mean of the centers of levels therefore differs from the center
    of the level ``overall``. For label metrics, chance agreement in the center is computed over
    pairs of different joint errors. For other metrics, intervals are centered on the estimate, and
    the influence of each trial is scaled up if errors are few.

    The bootstrap and the posterior resample each human and each image, as identified by `human_ids`
    and `item_scope`, once for all its occurrences. The posterior for class-level errors treats
    repeated images as different images; if this matters, a note is added.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.exclude_conditions(al.load_example(), {"all": ["clean"]})
    >>> result = al.benchmark_scores(trials, rng=1)
    >>> table = result.summary("images")
    >>> table["system"].tolist()[-2:]
    ['human-human', 'ceiling']
    """
    n_draws = resolve("n_draws", n_draws)
    require_trials(trials)
    check_numbers(n_resamples=n_resamples, n_draws=n_draws)
    estimand = metric_of_trials(metric)
    _check_prior(trials, estimand, prior, n_draws)
    one_person = checked_labels(trials, humans, human_ids, item_scope)
    levels = trials.data.attrs.get(LEVELS)
    refuse_repeats_for(trials, estimand)
    table, layout = laid_out(
        trials, models=models, humans=humans, no_response=no_response, labels=estimand.labels,
        both_orders=not estimand.symmetric, level="dataset" if levels is None else "condition",
        groups=levels,
    )  # fmt: skip
    refuse_own_names("model", layout.models, (HUMANS, CEILING))
    refuse_own_names("data set" if levels is None else "level", layout.levels, (OVERALL,))
    require_balance(layout)
    _check_cluster(table, cluster, estimand)
    seed = seed_sequence(rng)
    bootstrap_seed, human_seed, posterior_seed = seed.spawn(3)
    value = estimate(table, estimand)["estimate"].values
    shown = image_numbers(table, item_scope, cluster)
    estimates = _estimates(trials, table, layout, estimand, value, one_person)
    consensus = _consensus(trials, layout, estimand, humans, no_response, own=levels is None)
    groups = {
        DATA_SUMMARY: data_summary(trials.data),
        "estimates": estimates.assign(consensus),
        "decomposition": _analytic(table, layout, estimand, one_person, item_scope, cluster),
    }
    if n_resamples:
        images = bootstrap(table, estimand, n_resamples, images=shown, rng=bootstrap_seed).values
        drawn = people_drawn(layout.parts, n_resamples, human_seed, one_person)
        groups["bootstrap"] = _replicates(layout, value, images, drawn)
    reason = ""
    if INCLUSION in table:
        reason = note("chosen-images", generalize_to=SPEAKS[table.attrs["generalize_to"]])
    if n_draws and estimand.draws in DRAWN and not reason:
        groups["posterior"] = _posterior(
            table, layout, estimand, n_draws, posterior_seed, shown, prior, cluster
        )
    tree, shared = xr.DataTree.from_dict(groups), len(np.unique(shown)) < len(shown)
    tree.attrs = {
        "kind": "model",
        "metric": estimand.name,
        "metric_module": estimand.module,
        "ci_prob": options.ci_prob,
        "ci_kind": options.ci_kind,
        "exclude": trials.data.attrs.get(EXCLUDED, ""),
        "no_response": no_response,
        "missing_note": missing_note_of(trials.data, no_response, models, humans),
        "humans": humans,
        "human_ids": one_person,
        "item_scope": item_scope,
        "cluster": cluster or "",
        "levels": "dataset" if levels is None else "conditions",
        "posterior_images": "apart" if shared and estimand.draws != "cells" else "as said",
        "posterior_reason": reason,
        "prior": kept_prior(estimand, prior),
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
        **estimand.options,
    }
    return Result(tree)


def _check_prior(trials: Trials, metric: Metric, prior: Prior | None, n_draws: int) -> None:
    """Raise an error for a prior that no posterior would use."""
    if prior is None:
        return
    require_cells(metric, prior)
    if metric.draws != "readings":
        cell_prior(prior).patterns("the joint posterior of all pairs")
    if not n_draws or INCLUSION in trials.data:
        given = "images chosen by a plan" if n_draws else "n_draws=0"
        raise ValueError(
            f"prior= needs a posterior of the cells of each pair, and {given} gives none; leave "
            "one of them out"
        )


def _levels(layout: Layout) -> list[str]:
    return [*layout.levels, OVERALL]


def _estimates(
    trials: Trials,
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    value: Floats,
    human_ids: People,
) -> xr.Dataset:
    """Scores with their numbers of humans and images, accuracies, and undefined pairs."""
    scores = by_level(layout, nested_scores(layout, value[None]))[0]
    parts, every = layout.parts, [*layout.levels.values(), list(range(len(layout.parts)))]
    homes = [part.dataset if human_ids == "per_dataset" else "" for part in parts]

    def n_people(chosen: Iterable[int]) -> int:
        return len({(homes[d], name) for d in chosen for name in parts[d].people})

    variables = {
        "estimate": (("level", "system"), scores),
        "n_humans": ("level", [n_people(own) for own in every]),
        # Some parts have only humans.
        "n_humans_paired": (
            "level",
            [n_people(d for d in own if len(parts[d].models)) for own in every],
        ),
        "fewest_humans": ("level", [min(parts[d].n_humans for d in own) for own in every]),
        "n_images": ("level", _images(trials, layout)),
        "undefined_entries": (("level", "system"), undefined_entries(layout, value)),
        **_behind(table["cells"].values, layout, metric),
    }
    own = {*variables, *CONSENSUS, "level", "system"}
    labels = system_labels(trials, layout.systems, own)
    return xr.Dataset(variables, {"level": _levels(layout), "system": layout.systems, **labels})


def _behind(
    cells: NDArray[np.number], layout: Layout, metric: Metric
) -> dict[str, tuple[tuple[str, str], Floats]]:
    """Means of accuracies and derived columns of the metric, over the pairs of each score."""
    human, model = accuracies(cells)
    entries = {"accuracy": model, "accuracy_humans": human}
    alongside = {**ACCURACY_COLUMNS, **metric.derived}
    entries |= {name: function(cells) for name, function in alongside.items()}
    if metric.trust.pooled[0]:
        wrong = {"n_errors_a": cells[:, 2] + cells[:, 3], "n_errors_b": cells[:, 1] + cells[:, 3]}
        rarest = metric.trust.rarest({"cells": cells, **wrong})
        entries["rarest"] = rarest.astype(np.float64)
    means = {
        name: by_level(layout, nested_scores(layout, values[None]))[0]
        for name, values in entries.items()
    }
    # In human-human pairs the order is arbitrary, so both accuracies are averaged.
    alike = (means["accuracy"] + means["accuracy_humans"])[:, HUMAN_ROWS] / 2
    means["accuracy"][:, HUMAN_ROWS] = means["accuracy_humans"][:, HUMAN_ROWS] = alike
    means["accuracy_gap"] = means["accuracy_humans"] - means["accuracy"]
    return {name: (("level", "system"), values) for name, values in means.items()}


def _consensus(
    trials: Trials,
    layout: Layout,
    metric: Metric,
    humans: str,
    no_response: str,
    *,
    own: bool,
) -> dict[str, tuple[str, Floats]]:
    """Noise ceilings by level; NaN if undefined, or if levels are not data sets."""
    # A majority over chosen images is not defined for all images.
    own = own and INCLUSION not in trials.data and metric.counts == "correctness"
    table = pd.DataFrame(np.nan, index=_levels(layout), columns=list(CONSENSUS))
    if own and min(part.n_humans for part in layout.parts) > 2:
        found = noise_ceilings(trials, metric, humans=humans, no_response=no_response)
        table = found.set_index("level").loc[table.index]
    return {name: ("level", table[name].to_numpy()) for name in CONSENSUS}


def _check_cluster(table: xr.Dataset, cluster: str | None, metric: Metric) -> None:
    """Raise an error for clusters that are not of items, or for methods that assume none."""
    if cluster is None:
        return
    require_clusters(table, cluster)
    if INCLUSION in table:
        raise ValueError(
            "images were chosen by a plan, whose variance assumes no clusters; leave cluster out"
        )
    if metric.draws == "rows":
        raise ValueError(
            f"the posterior of {metric.label} assumes independent items; leave out cluster, or "
            "give n_draws=0"
        )
    numbers = pd.Series(cluster_numbers(table, cluster))
    of_condition = numbers.groupby(table["trial_condition"].values, sort=False).nunique()
    for name in of_condition.index[of_condition < 2]:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters in each condition, and {name!r} "
            "has one; exclude this condition, or leave cluster out"
        )


def _analytic(
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    human_ids: People,
    item_scope: Items,
    cluster: str | None,
) -> xr.Dataset:
    """Variance components of all levels."""
    levels = decompositions(
        table, layout, metric, human_ids=human_ids, item_scope=item_scope, cluster=cluster
    )
    dims: dict[str, Any] = {"system": layout.systems, "system_other": layout.systems}
    sizes = [parts.sizes["image"] for parts in levels]
    names = ["interval_center", "pseudocount_variance", "humans", "shared", "df_humans"]
    group = xr.concat([parts[names] for parts in levels], "level").assign_coords(
        level=_levels(layout), **dims
    )
    group = group.assign(
        influence=(
            ("system", "image"),
            np.concatenate([parts["influence"].values for parts in levels], axis=1),
        ),
        image_level=("image", np.repeat(np.arange(len(sizes)), sizes)),
    )
    if cluster is None:
        return group
    most_df = [float(parts["most_df"]) for parts in levels]
    return group.assign(most_df=("level", most_df), n_clusters=("level", sizes))


def _replicates(
    layout: Layout, value: Floats, images: NDArray[np.floating], people: list[Floats]
) -> xr.Dataset:
    """Scores with images, humans, or both resampled."""
    samples: dict[str, Any] = {
        "images": (images,),
        "observers": (value[None], people),
        "both": (images, people),
    }
    drawn = {name: by_level(layout, nested_scores(layout, *own)) for name, own in samples.items()}
    dims = ("resample", "level", "system")
    return xr.Dataset(
        {name: (dims, values.astype(np.float32)) for name, values in drawn.items()},
        {"level": _levels(layout), "system": layout.systems},
    )


def _posterior(
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    n_draws: int,
    seed: np.random.SeedSequence,
    images: NDArray[np.intp],
    prior: Prior | None,
    cluster: str | None,
) -> xr.Dataset:
    """Scores from joint draws of all pairs."""
    per_chain = -(-n_draws // N_CHAINS)
    n = N_CHAINS * per_chain

    def nested(values: NDArray[np.floating]) -> Floats:
        return by_level(layout, nested_scores(layout, values))

    if metric.draws == "cells":
        scores = nested(joint_draws(table, n, [metric], seed, images, prior)[metric.name])
    elif metric.draws == "rows":
        # Limits of pairs cannot be averaged; these are of the scores themselves.
        drawn = paired_row_draws(table, n, metric, seed)
        scores = mean_draws(drawn.populations, nested)[0][:n]
    else:
        draw = agreement_draws if metric.draws == "labels" else process_draws
        given: dict[str, Any] = {} if prior is None else {"prior": prior}
        given |= {} if cluster is None else {"cluster": cluster}
        scores = nested(draw(table, n, metric, seed, **given))
    chained = scores.astype(np.float32).reshape(N_CHAINS, per_chain, *scores.shape[1:])
    return xr.Dataset(
        {"score": (("chain", "draw", "level", "system"), chained)},
        {"level": _levels(layout), "system": layout.systems},
    )


def _images(trials: Trials, layout: Layout) -> list[int]:
    """Mean number of trials per condition, by level; the last is over all levels."""
    items = presented(trials.data)
    data = trials.data if items is None else trials.data.isel(trial=items.first)
    names, number = condition_labels(data)
    count = pd.Series(np.bincount(number, minlength=len(names)), index=names)
    home = count.index.str.split(":", n=1).str[0]
    of_part = [
        count[part.name] if part.name in count.index else count[home == part.dataset].mean()
        for part in layout.parts
    ]
    means = [np.mean([of_part[d] for d in own]) for own in layout.levels.values()]
    return [*(int(mean) for mean in means), int(sum(means))]
