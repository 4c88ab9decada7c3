"""Benchmarks: one score per model, its ceiling, and what new images and new humans would do.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping
from alikely._base.notes import note
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely.benchmark.decomposition import decompositions, joint_covariance
from alikely.benchmark.humans import noise_ceilings
from alikely.benchmark.layout import (
    CEILING,
    EXCLUDED,
    HUMAN_ROWS,
    HUMANS,
    OVERALL,
    POPULATIONS,
    Items,
    Layout,
    People,
    by_level,
    checked_labels,
    crowds,
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
from alikely.data.inclusion import INCLUSION, SPEAKS
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.trials import Trials
from alikely.errors.limits import mean_draws, paired_row_draws
from alikely.errors.posteriors import agreement_draws
from alikely.estimates.analysis import check_numbers, kept_prior, require_cells
from alikely.estimates.remarks import require_clusters
from alikely.estimates.result import Result
from alikely.inference.conjugate import joint_draws
from alikely.inference.influence import estimate
from alikely.inference.process import process_draws
from alikely.inference.resampling import bootstrap
from alikely.metrics import Metric
from alikely.metrics.cell_priors import Prior, cell_prior
from alikely.metrics.consistency import ACCURACY_COLUMNS, accuracies

__all__ = ["benchmark_scores"]

N_CHAINS = 4
# What entries are drawn of, for joint draws of scores.
DRAWN = ("cells", "labels", "readings", "options", "trials", "rows")


def benchmark_scores(  # noqa: PLR0913
    trials: Trials,
    *,
    metric: str | Metric = "error_consistency",
    models: str = "model",
    humans: str = "human",
    human_ids: People | None = None,
    item_scope: Items = "dataset",
    levels: Groups | None = None,
    no_response: Literal["error", "drop"] = "error",
    cluster: str | None = None,
    n_resamples: int = 0,
    n_draws: int | None = None,
    prior: Prior | None = None,
    rng: RandomState = None,
) -> Result:
    """Score models by how alike their errors and those of humans are, as benchmarks do [G21]_.

    Error consistency per human, model and condition; unweighted means over conditions, then
    humans, then data sets. The human row takes pairs of humans in place of human and model.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : str or Metric
        What is averaged: any metric of trials, see `alikely.metrics.metrics`. Where the order of a
        pair matters, humans are the reference of models, and the human row takes every pair of
        humans in both orders. noise ceilings are of metrics of correctness. Posterior draws of
        error similarity come of Gibbs sweeps for every pair and condition, some .05 to .1 s each;
        their quantiles are limits of the scores themselves (`alikely.errors.limits.mean_draws`),
        since those of pairs do not average.
    models, humans : str
        Kinds of the observers to score, and to score them against.
    human_ids : {"shared", "per_dataset"}, optional
        Is a label of a human the same person in all data sets, or another in each? To be said
        where a label recurs in several data sets, unless the loader of the trials has said it.
    item_scope : {"dataset", "label", "condition"}
        Is a label of an item one image within a data set, everywhere, or within a condition only?
    levels : mapping, pandas.Series or xarray.DataArray, optional
        Level of each condition (named ``dataset:condition``), such as
        ``alikely.regimes(spectrum)["label"]``: a score is then the mean over the conditions of its
        level, and the overall one that over levels. Without it, levels are the data sets.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    cluster : str, optional
        Column of items whose responses are dependent, such as ``"template"``: new clusters of items
        are drawn in place of new items.
    n_resamples : int
        Number of bootstrap replicates, for the stability of ranks, correlations of data sets and
        bootstrap intervals, which are too narrow near the ceiling. Default 0 (none).
    n_draws : int
        Number of posterior draws. 0 disables them.
    prior : mapping or sequence of four numbers, optional
        Prior on the cells of each pair, as in `joint_draws`; of metrics of
        readings as in `alikely.agreement`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        If `trials` is not of that class; a result is scored by
        `alikely.benchmark.scores_from_result`.
    ValueError
        If the metric is unknown or one of margins; if `human_ids` is to be said and is not; if
        there are fewer than two humans in a data set, a model is missing in a data set with models,
        or as in `alikely.data.joint_correctness`; if a model, a data set or a label bears a name
        that the scores use themselves.

    Notes
    -----
    Analytic intervals, all from one set of influences of trials on entries. Images: squares of the
    influence of each, over all entries and conditions that show it. Humans: the jackknife [ES81]_
    over people, over all data sets that they take part in. Both together, for each contrast of
    scores: images plus what humans add beyond the noise of their answers, which either counts
    [CGM11]_, if anything. Quantiles are Student's with the degrees of freedom of these parts
    (`alikely.benchmark.decomposition.crossed_degrees`). For metrics of correctness, intervals are
    centered on ``interval_center``, the score with a pseudocount in the four cells of each pair.
    The pseudocount (`alikely.benchmark.decomposition.added_count`) is 0.35 for one block and four
    humans and 0.1 for a mean over many. The centers of a mean of levels and of the level
    ``overall`` therefore differ. For metrics of labels, the center has chance agreement over
    different joint errors. For other metrics, it is the estimate, and influences are increased
    where errors are few. Bootstrap and posterior draw what `human_ids` and `item_scope` call one
    human or one image once for all places where it is; the posterior of errors by class, which
    cannot, has a note where it matters.

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
    one_person, one_image = checked_labels(trials, humans, human_ids, item_scope)
    as_read = data_summary(trials.data)
    table, layout = _laid_out(trials, estimand, models, humans, no_response, levels)
    seed = seed_sequence(rng)
    bootstrap_seed, human_seed, posterior_seed = seed.spawn(3)

    _check_cluster(table, cluster, estimand)
    value = estimate(table, estimand)["estimate"].values
    shown = image_numbers(table, one_image, cluster)
    estimates = _estimates(trials, table, layout, estimand, value, one_person)
    consensus = _consensus(trials, layout, estimand, humans, no_response, own=levels is None)
    groups = {
        DATA_SUMMARY: as_read,
        "estimates": estimates.assign(consensus),
        **_analytic(table, layout, estimand, one_person, one_image, cluster),
    }
    if n_resamples:
        images = bootstrap(table, estimand, n_resamples, images=shown, rng=bootstrap_seed).values
        drawn = people_drawn(layout.parts, n_resamples, human_seed, one_person)
        groups["bootstrap"] = _replicates(layout, value, images, drawn)
    withheld = ""
    if INCLUSION in table:
        withheld = note("chosen-images", generalize_to=SPEAKS[table.attrs["generalize_to"]])
    if n_draws and estimand.draws in DRAWN and not withheld:
        groups["posterior"] = _posterior(
            table, layout, estimand, n_draws, posterior_seed, shown, prior, cluster
        )
    tree = xr.DataTree.from_dict(groups)
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
        "item_scope": one_image,
        "cluster": cluster or "",
        "levels": "dataset" if levels is None else "conditions",
        **_dependence(table, layout, estimand, one_person, shown),
        "posterior_withheld": withheld,
        "prior": kept_prior(estimand, prior),
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
        **estimand.options,
    }
    return Result(tree)


def _dependence(
    table: xr.Dataset, layout: Layout, metric: Metric, human_ids: People, images: NDArray[np.intp]
) -> dict[str, str]:
    """Whether replicates of levels hang together, and whether the posterior knows of it."""
    level_of = {d: name for name, own in layout.levels.items() for d in own}
    group, level = table["trial_group"].values, table["pair_group"].values
    home = {g: level_of[layout.part_of_entry[i]] for i, g in enumerate(level.tolist())}
    seen = pd.DataFrame({"image": images, "level": [home.get(g, "") for g in group.tolist()]})
    linked_people = any(
        len({level_of[d] for d in own}) > 1 for own in crowds(layout.parts, human_ids)
    )
    linked_images = seen.groupby("image")["level"].nunique().max() > 1
    apart = metric.draws != "cells" and len(np.unique(images)) < len(images)
    return {
        "drawn": "together" if linked_people or linked_images else "apart",
        "posterior_images": "apart" if apart else "as said",
    }


def _laid_out(
    trials: Trials,
    metric: Metric,
    models: str,
    humans: str,
    no_response: Literal["error", "drop"],
    levels: Groups | None,
) -> tuple[xr.Dataset, Layout]:
    """Count pairs and lay them out, refusing what no benchmark can be made of."""
    refuse_repeats_for(trials, metric)
    table, layout = laid_out(
        trials,
        models=models,
        humans=humans,
        no_response=no_response,
        labels=metric.labels,
        both_orders=not metric.symmetric,
        level="dataset" if levels is None else "condition",
        groups=None if levels is None else group_mapping(levels),
    )
    refuse_own_names("model", layout.models, (HUMANS, CEILING))
    refuse_own_names("data set" if levels is None else "level", layout.levels, (OVERALL,))
    require_balance(layout)
    return table, layout


def _check_prior(trials: Trials, metric: Metric, prior: Prior | None, n_draws: int) -> None:
    """Refuse a prior that nothing would honor (`ValueError`)."""
    if prior is None:
        return
    require_cells(metric, prior)
    if metric.draws != "readings":
        cell_prior(prior).patterns("the joint posterior of all pairs")
    if not n_draws or INCLUSION in trials.data:
        given = "images chosen by a plan" if n_draws else "n_draws=0"
        raise ValueError(
            f"prior is of the four cells of a pair, which {given} makes no posterior of; leave out "
            "one of them"
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
    """Scores, and what stands behind them: humans, images, accuracies, undefined entries."""
    scores = by_level(layout, nested_scores(layout, value[None]))[0]
    every = [*layout.levels.values(), list(range(len(layout.parts)))]
    homes = [part.dataset if human_ids == "per_dataset" else "" for part in layout.parts]
    # All humans, and those whom a model was met by: some parts have humans alone.
    n_humans, n_met = (
        [len({(homes[d], name) for d in own for name in layout.parts[d].people}) for own in sets]
        for sets in (every, [[d for d in own if len(layout.parts[d].models)] for own in every])
    )
    together = crowds(layout.parts, human_ids)
    crowd = [
        min(
            len({name for d in set(own) & set(of) for name in layout.parts[d].people})
            for of in together
            if set(own) & set(of)
        )
        for own in every
    ]
    fewest = [min(layout.parts[d].n_humans for d in own) for own in layout.levels.values()]
    variables = {
        "estimate": (("level", "system"), scores),
        "n_humans": ("level", n_humans),
        "n_humans_paired": ("level", n_met),
        "fewest_humans": ("level", [*fewest, min(fewest)]),
        "min_resampled_humans": ("level", crowd),
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
    """Means of accuracies and of what the metric has beside it, over the entries of each score."""
    human, model = accuracies(cells)
    entries = {"accuracy": model, "accuracy_humans": human}
    beside = {**ACCURACY_COLUMNS, **metric.derived}
    entries |= {name: function(cells) for name, function in beside.items()}
    if metric.trust.pooled[0]:
        wrong = {"n_errors_a": cells[:, 2] + cells[:, 3], "n_errors_b": cells[:, 1] + cells[:, 3]}
        rarest = metric.trust.rarest({"cells": cells, **wrong})
        entries["rarest"] = rarest.astype(np.float64)
    means = {
        name: by_level(layout, nested_scores(layout, values[None]))[0]
        for name, values in entries.items()
    }
    # Among themselves humans are both sides, and which is first is no matter.
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
    """Noise ceilings by level; NaN where they are not defined, or levels are no data sets."""
    levels = _levels(layout)
    if INCLUSION in trials.data:
        # A majority over chosen images is one of these.
        own = False
    if own and metric.counts == "correctness" and min(part.n_humans for part in layout.parts) > 2:
        table = noise_ceilings(trials, metric, humans=humans, no_response=no_response)
        table = table.set_index("level").loc[levels]
    else:
        table = pd.DataFrame(np.nan, index=levels, columns=list(CONSENSUS))
    return {name: ("level", table[name].to_numpy()) for name in CONSENSUS}


def _check_cluster(table: xr.Dataset, cluster: str | None, metric: Metric) -> None:
    """Refuse clusters that are none of items, and what assumes independent items."""
    if cluster is None:
        return
    require_clusters(table, cluster)
    if INCLUSION in table:
        raise ValueError(
            "images were chosen by a plan, whose variance knows no clusters; leave cluster out"
        )
    if metric.draws == "rows":
        raise ValueError(
            f"the posterior of {metric.label} assumes independent items; leave out cluster, or "
            "give n_draws=0"
        )
    numbers, of_condition = cluster_numbers(table, cluster), table["trial_condition"].values
    for name in dict.fromkeys(of_condition.tolist()):
        if len(np.unique(numbers[of_condition == name])) < 2:
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
) -> dict[str, xr.Dataset]:
    """Decompositions of all levels, and the covariances that they make."""
    levels = decompositions(
        table, layout, metric, human_ids=human_ids, item_scope=item_scope, cluster=cluster
    )
    names: dict[str, Any] = {
        "level": _levels(layout),
        "system": layout.systems,
        "system_other": layout.systems,
    }
    sizes = [parts.sizes["image"] for parts in levels]
    stacked = {
        name: (("level", *levels[0][name].dims), np.stack([parts[name].values for parts in levels]))
        for name in ("interval_center", "pseudocount_variance", "humans", "shared", "df_humans")
    }
    influence = np.concatenate([parts["influence"].values for parts in levels], axis=1)
    group = xr.Dataset(stacked, names).assign(
        influence=(("system", "image"), influence),
        image_level=("image", np.repeat(np.arange(len(sizes)), sizes)),
    )
    if cluster is not None:
        group = group.assign(
            most_df=("level", [float(parts["most_df"]) for parts in levels]),
            n_clusters=("level", sizes),
        )
    matrices = [[joint_covariance(parts, name) for parts in levels] for name in POPULATIONS]
    dims = ("generalize_to", "level", "system", "system_other")
    covariance = xr.Dataset({"covariance": (dims, np.array(matrices))})
    return {
        "covariance": covariance.assign_coords(generalize_to=list(POPULATIONS), **names),
        "decomposition": group,
    }


def _replicates(
    layout: Layout, value: Floats, images: NDArray[np.floating], people: list[Floats]
) -> xr.Dataset:
    """Scores with images, humans, or both resampled."""
    samples = {
        "images": nested_scores(layout, images),
        "observers": nested_scores(layout, value[None], people),
        "both": nested_scores(layout, images, people),
    }
    dims = ("resample", "level", "system")
    return xr.Dataset(
        {
            name: (dims, by_level(layout, drawn).astype(np.float32))
            for name, drawn in samples.items()
        },
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
    """Scores of joint draws of all entries."""
    per_chain = -(-n_draws // N_CHAINS)
    n = N_CHAINS * per_chain

    def nested(values: NDArray[np.floating]) -> Floats:
        return by_level(layout, nested_scores(layout, values))

    if metric.draws == "cells":
        scores = nested(joint_draws(table, n, [metric], seed, images, prior)[metric.name])
    elif metric.draws == "rows":
        # Limits of entries do not average: these are of the scores themselves.
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
    """Trials of a condition, on average, by level; of all of them at the last level."""
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
