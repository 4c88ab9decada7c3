"""Benchmarks: scores of models, noise ceilings, and intervals for new images and new humans.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [NK14] Nili, Wingfield, Walther, Su, Marslen-Wilson, Kriegeskorte (2014). A toolbox for
   representational similarity analysis. doi:10.1371/journal.pcbi.1003553
.. [SS49] Stouffer, Suchman, DeVinney, Star, Williams (1949). The American soldier: adjustment
   during army life. Princeton University Press.
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

import alikely
from alikely._base.arrays import Floats, within
from alikely._base.checks import known_kind
from alikely._base.names import listed
from alikely._base.notes import note
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.benchmark import BY, CONSENSUS
from alikely.benchmark.decomposition import COMPONENTS, decompositions
from alikely.benchmark.layout import (
    CEILING,
    EXCLUDED,
    HUMAN_ROWS,
    HUMANS,
    OVERALL,
    Items,
    Layout,
    People,
    attributes,
    by_level,
    checked_labels,
    image_numbers,
    laid_out,
    metric_of_trials,
    refuse_own_names,
    refuse_repeats_for,
    require_balance,
    require_trials,
    system_labels,
    undefined_entries,
)
from alikely.data.blocks import LEFT_OUT, cluster_numbers
from alikely.data.columns import LEVELS
from alikely.data.inclusion import INCLUSION, SPEAKS
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.errors.draws import agreement_draws, mean_draws, paired_row_draws
from alikely.estimates.analysis import check_numbers, kept_prior, require_cells
from alikely.estimates.notes import require_clusters
from alikely.estimates.result import Result, of_kind
from alikely.inference.influence import estimate
from alikely.inference.process import process_draws
from alikely.inference.resampling import bootstrap, joint_draws
from alikely.metrics import Metric
from alikely.metrics.consistency import ACCURACY_COLUMNS, Prior, accuracies, cell_prior

N_CHAINS = 4
# Kinds of draws of pairs from which joint draws of scores are made.
DRAWN = ("cells", "labels", "ratings", "options", "trials", "rows")


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
    over conditions, then over humans, and then over data sets (or groups of conditions; see
    `alikely.Trials.with_levels`). The row ``human-human`` contains the mean error consistency over
    all pairs of humans.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : str or Metric
        Any metric computed from trials, as in `alikely.compare`. For directed metrics, humans are
        the reference for models, and the human-human mean averages both directions. Noise ceilings
        require a correctness metric. For error similarity, Gibbs sampling takes 0.05 to 0.1 s per
        pair and condition. For class-level error similarity (CLES),
        `alikely.errors.draws.mean_draws` computes posterior draws for each score, because averages
        of the pairs' draws give invalid limits.
    models, humans : str
        Kind of observer to score, and kind of observer to compare it with.
    human_ids : {"shared", "per_dataset"}, optional
        Whether a human's name identifies the same person in all data sets, or a different person in
        each data set. Required if a name occurs in several data sets, unless the loading function
        has set `human_ids`.
    item_scope : {"dataset", "label", "condition"}
        Whether the same item label denotes the same image within a data set, across all data sets,
        or only within a condition.
    no_response : {"error", "drop"}
        Whether to count an observer's missing response as an error, or to exclude the trial from
        the observer's pairs.
    cluster : str, optional
        Column that defines clusters of dependent items, such as ``"template"``. If `cluster` is
        given, clusters rather than items are the sampling units.
    n_resamples : int
        Number of bootstrap replicates of images, for
        `alikely.benchmark.score_correlations`. Default 0 (none).
    n_draws : int
        Number of posterior draws. 0 disables them.
    prior : mapping or sequence of four numbers, optional
        Prior for the cells of each pair, as in `joint_draws`, or, for rating metrics, the prior of
        `alikely.agreement`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object. To compute scores from a result, use
        `alikely.benchmark.scores_from_result`.
    ValueError
        If the metric is unknown or is computed from margins.
    ValueError
        If `human_ids` is required but not given.
    ValueError
        If a data set has fewer than two humans.
    ValueError
        If a data set has some of the models but lacks others.
    ValueError
        If a model, a data set or a label has a reserved name. See also
        `alikely.data.joint_correctness`.

    Notes
    -----
    Analytic intervals use the influence of each trial on the estimate for each pair. For intervals
    that generalize to new images, the variance of a score is the sum of the squared influences of
    the images in the study. The influence of an image is summed over all pairs and conditions in
    which the image occurs. For intervals that generalize to new humans, the variance of a score is
    a jackknife variance [ES81]_: each step omits one human from all data sets. For new images and
    new humans, only the part of the human variance that exceeds trial-level noise is added to the
    image variance, which already includes this noise [CGM11]_. Variances are computed separately
    for each contrast of scores.

    Quantiles are from Student's t distribution, with degrees of freedom computed from the variances
    for images and for humans (`alikely.benchmark.decomposition.crossed_degrees`).

    For correctness metrics, intervals are centered on ``interval_center``, the score after adding a
    pseudocount to the four cells of each pair's 2 x 2 table. The pseudocount
    (`alikely.benchmark.decomposition.added_count`) is 0.35 for one set of images and four humans,
    and 0.1 for scores averaged over many sets with different images. The mean of the data sets'
    interval centers therefore differs from the interval center for ``overall``. For label metrics,
    chance agreement in ``interval_center`` is computed over pairs of different trials on which both
    observers err. For metrics that use neither correctness nor labels, intervals are centered on
    the estimate, and the influence of each trial is scaled up if errors are few.

    All occurrences of an image, as identified by `item_scope`, are resampled together in the
    bootstrap. For correctness metrics, all occurrences also have the same weight in a posterior
    draw. For other metrics, the posterior treats repeated images as different images, and a note is
    added if images are repeated.

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
    bootstrap_seed, _, posterior_seed = seed.spawn(3)
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
        drawn = bootstrap(table, estimand, n_resamples, images=shown, rng=bootstrap_seed).values
        replicates = by_level(layout, drawn).astype(np.float32)
        groups["bootstrap"] = layout.dataset({"score": (("resample", *BY), replicates)})
    reason = ""
    if INCLUSION in table:
        reason = note("chosen-images", generalize_to=SPEAKS[table.attrs["generalize_to"]])
    if n_draws and estimand.draws in DRAWN and not reason:
        groups["posterior"] = _posterior(
            table, layout, estimand, n_draws, posterior_seed, shown, prior, cluster
        )
    tree, shared = xr.DataTree.from_dict(groups), len(np.unique(shown)) < len(shown)
    tree.attrs = {
        **attributes("model", estimand, no_response, cluster),
        "exclude": trials.data.attrs.get(EXCLUDED, ""),
        "missing_note": missing_note_of(trials.data, no_response, models, humans),
        "humans": humans,
        "human_ids": one_person,
        "item_scope": item_scope,
        "levels": "dataset" if levels is None else "conditions",
        "posterior_images": "apart" if shared and estimand.draws != "cells" else "as said",
        "posterior_reason": reason,
        "prior": kept_prior(estimand, prior),
        "seed": str(seed.entropy),
    }
    return Result(tree)


def _check_prior(trials: Trials, metric: Metric, prior: Prior | None, n_draws: int) -> None:
    """Raise an error for a prior that no posterior would use."""
    if prior is None:
        return
    require_cells(metric, prior)
    if metric.draws != "ratings":
        cell_prior(prior).patterns("the joint posterior of all pairs")
    if not n_draws or INCLUSION in trials.data:
        given = "for images chosen by a plan" if n_draws else "with n_draws=0"
        raise ValueError(
            f"prior= needs a posterior of the cells of each pair, which is not computed {given}; "
            "leave prior= out"
        )


def _estimates(
    trials: Trials,
    table: xr.Dataset,
    layout: Layout,
    metric: Metric,
    value: Floats,
    human_ids: People,
) -> xr.Dataset:
    """Scores with their numbers of humans and images, accuracies, and undefined pairs."""
    parts, every = layout.parts, layout.all_levels.values()
    homes = [part.dataset if human_ids == "per_dataset" else "" for part in parts]

    def n_people(chosen: Iterable[int]) -> int:
        return len({(homes[d], name) for d in chosen for name in parts[d].people})

    variables = {
        "estimate": (BY, by_level(layout, value[None])[0]),
        "n_humans": ("level", [n_people(own) for own in every]),
        # Some parts have only humans.
        "n_humans_paired": (
            "level",
            [n_people(d for d in own if len(parts[d].models)) for own in every],
        ),
        "fewest_humans": ("level", [min(parts[d].n_humans for d in own) for own in every]),
        "n_images": ("level", _images(trials, layout)),
        "undefined_entries": (BY, undefined_entries(layout, value)),
        **_behind(table["cells"].values, layout, metric),
    }
    labels = system_labels(trials, layout.systems, {*variables, *CONSENSUS, *BY})
    return layout.dataset(variables, **labels)


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
    means = {name: by_level(layout, values[None])[0] for name, values in entries.items()}
    # In human-human pairs the order is arbitrary, so both accuracies are averaged.
    alike = (means["accuracy"] + means["accuracy_humans"])[:, HUMAN_ROWS] / 2
    means["accuracy"][:, HUMAN_ROWS] = means["accuracy_humans"][:, HUMAN_ROWS] = alike
    means["accuracy_gap"] = means["accuracy_humans"] - means["accuracy"]
    return {name: (BY, values) for name, values in means.items()}


def _consensus(
    trials: Trials, layout: Layout, metric: Metric, humans: str, no_response: str, *, own: bool
) -> dict[str, tuple[str, Floats]]:
    """Noise ceilings by level; NaN if undefined, or if levels are not data sets."""
    # A majority over chosen images is not defined for all images.
    own = own and INCLUSION not in trials.data and metric.counts == "correctness"
    table = pd.DataFrame(columns=list(CONSENSUS), dtype=float)
    if own and min(part.n_humans for part in layout.parts) > 2:
        table = noise_ceilings(trials, metric, humans=humans, no_response=no_response)
    table = table.reindex(list(layout.all_levels))
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
    names = [name for name in COMPONENTS if name != "influence"]
    group = xr.concat([parts[names] for parts in levels], "level").assign_coords(
        level=list(layout.all_levels), **dims
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

    nested = functools.partial(by_level, layout)
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
    return layout.dataset({"score": (("chain", "draw", *BY), chained)})


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
    means = [float(np.mean([of_part[d] for d in own])) for own in layout.levels.values()]
    return [int(mean) for mean in (*means, sum(means))]


def noise_ceilings(
    trials: Trials, metric: Metric, *, humans: str = "human", no_response: str = "error"
) -> pd.DataFrame:
    """Compute bounds on the highest consistency with humans that a model could reach [NK14]_.

    The consensus is the majority of humans on a trial; a tie counts as half correct. A repeated
    item counts as one trial, on which a human's vote is the proportion correct. The upper bound is
    the mean consistency of humans with the consensus of all humans. The lower bound of the noise
    ceiling uses, for each human, the consensus of the other humans. Standard errors generalize to
    new images.
    """
    correct, labels = correctness_of_humans(trials, humans, no_response)
    found: dict[str, dict[str, float]] = {}
    for dataset, own in labels.groupby("dataset", sort=False):
        people = np.flatnonzero((correct[:, own.index] != LEFT_OUT).any(axis=1))
        if len(people) < 3:
            raise ValueError(
                f"noise ceilings need at least 3 humans in each data set, {dataset!r} has "
                f"{len(people)}; leave it out with trials.select(dataset=[...])"
            )
        blocks = [
            correct[np.ix_(people, part.index)] for _, part in own.groupby("condition", sort=False)
        ]
        row = found[str(dataset)] = {}
        for name, leave_out in (("lower", True), ("upper", False)):
            parts = [_with_consensus(block, leave_out, metric) for block in blocks]
            values = np.array([value for value, _ in parts])
            # Mean of each human over the conditions in which the consensus has a value.
            counts = np.isfinite(values).sum(axis=0)
            weight = np.isfinite(values) / np.maximum(counts, 1) / max((counts > 0).sum(), 1)
            row[name] = float(np.where(np.isfinite(values), weight * values, 0).sum())
            row[f"{name}_se"] = np.linalg.norm(
                [np.linalg.norm(w @ moved) for w, (_, moved) in zip(weight, parts, strict=True)]
            )
    frame = pd.DataFrame.from_dict(found, orient="index")
    of_all = frame.mean()
    for name in ("lower_se", "upper_se"):
        of_all[name] = np.linalg.norm(frame[name]) / len(frame)
    return pd.concat([frame, of_all.to_frame(OVERALL).T]).rename_axis("level")


def correctness_of_humans(
    trials: Trials, humans: str, no_response: str
) -> tuple[NDArray[Any], pd.DataFrame]:
    """Return the correctness of the humans, and the data set and condition, for each item."""
    data, items = trials.data, presented(trials.data)
    known_kind("humans", humans, data["kind"].values)
    answers = data["correct"].values[data["kind"].values == humans]
    correct: NDArray[Any] = correctness(answers, no_response)
    if items is not None:
        correct, data = items.shares(correct), data.isel(trial=items.first)
    return correct, pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})


def _with_consensus(
    correct: NDArray[Any], leave_out: bool, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Consistency of each human with the consensus, and the influence of each trial."""
    answered = correct != LEFT_OUT
    right, total = np.where(answered, correct, 0), answered.astype(np.float64)
    votes, voters = right.sum(axis=0)[None], total.sum(axis=0)[None]
    if leave_out:
        votes, voters = votes - right, voters - total
    # Without rounding, tied proportions of repeated items may differ slightly.
    margin = np.sign(np.round(2 * votes - voters, 9))
    consensus = np.broadcast_to((1 + margin) / 2, correct.shape)
    used = answered & (np.broadcast_to(voters, correct.shape) > 0)
    sides = [(a, b) for a in (right, 1 - right) for b in (consensus, 1 - consensus)]
    shares = np.stack([a * b for a, b in sides], axis=-1) * used[..., None]
    cells = shares.sum(axis=1)
    value = metric.value(cells)
    psi = np.where(np.isfinite(value)[:, None], metric.influence(cells), 0.0)
    influence = np.einsum("htc,hc->ht", shares, psi) / np.maximum(used.sum(axis=1), 1)[:, None]
    return value, influence


def scores_from_result(result: Result) -> Result:
    """Score models against groups of humans, using the posterior draws of decision margins.

    Scores are averaged over conditions, then over groups of humans, and then over data sets.

    Parameters
    ----------
    result : Result
        As returned by `alikely.decision_margin_consistency`, with posterior draws. Comparisons
        between groups of humans form the row ``human-human``; pairs of models are excluded.

    Returns
    -------
    Result

    Raises
    ------
    TypeError
        If `result` does not come from an analysis of pairs. To score trials, use
        `alikely.benchmark_scores`.
    ValueError
        If the result has no posterior, or is not based on decision margins.
    ValueError
        If models are compared with different humans or in different conditions.

    Notes
    -----
    Means are unweighted and computed for each draw. For pairs that share items, posterior draws
    come from a joint distribution. Draws for pairs without common items, such as pairs in different
    data sets, are independent. Because no correlation exceeds 1, a mean of correlations is below 1
    in nearly all draws, even if all true correlations are 1. If a correlation of 1 has positive
    posterior probability for every pair, the normal deviates of these probabilities [SS49]_ are
    combined into the probability that the score is 1. The probability of a score of -1 is computed
    in the same way as that of a score of 1.

    Examples
    --------
    >>> import alikely as al
    >>> trials, margins = al.simulate.detection_experiment(8, 60, rho={"a": 0.9, "b": 0.1}, rng=1)
    >>> result = al.decision_margin_consistency(trials, margins, n_resamples=0, rng=1)
    >>> scores = al.benchmark.scores_from_result(result)
    >>> al.benchmark.ranks(scores)[["system", "rank_lb", "rank_ub"]].values.tolist()
    [['a', 1, 1], ['b', 2, 2]]
    """
    entries, names = _entries(result)
    systems = list(dict.fromkeys(entries.loc[entries["system"] != HUMANS, "system"]))
    refuse_own_names("model", systems, (HUMANS, CEILING))
    datasets = list(dict.fromkeys(entries["dataset"]))
    refuse_own_names("data set", datasets, (OVERALL,))
    if not systems:
        raise ValueError(
            "scores need pairs of a model with margins and a group of observers; this result has "
            f"pairs of groups only ({listed(names)}); add margins of models"
        )
    systems += [HUMANS] * bool((entries["system"] == HUMANS).any())
    _require_all(entries)
    draws = result.draws("posterior").astype(np.float64)
    lost, labels = np.isnan(draws).all(axis=0), result.table["pair"].values
    shape = (len(datasets) + 1, len(systems))
    score, rows = np.full((len(draws), *shape), np.nan), []
    for place in np.ndindex(shape):
        here = entries[entries["system"] == systems[place[1]]]
        if place[0] < len(datasets):
            here = here[here["dataset"] == datasets[place[0]]]
        at, reason = here.index.to_numpy(), ""
        # Means over conditions, then members, then data sets.
        by_member = here.groupby(["dataset", "member"])["system"].transform("size")
        members = here.groupby("dataset")["member"].transform("nunique")
        weights = (1 / (by_member * members * here["dataset"].nunique())).to_numpy(np.float64)
        if len(undefined := at[lost[at]]):
            example = str(labels[undefined[0]])
            reason = note("entries-without-posterior", n=len(undefined), example=example)
        row = {"n_entries": len(at), "n_missing": len(undefined), "reason": reason}
        row |= dict.fromkeys(("estimate", "ceiling"), np.nan)
        if len(at):
            score[:, *place] = _mean_of_draws(draws[:, at], weights)
            for name in ("estimate", "ceiling"):
                mean = result.estimates[name].values.astype(np.float64)[at] @ weights
                row[name] = float(within(mean, -1))
        rows.append(row)
    estimates = pd.DataFrame(rows)
    n_chains = int(result.data["posterior"].sizes["chain"])
    coords = {"level": [*datasets, OVERALL], "system": systems}
    chained = score.astype(np.float32).reshape(n_chains, -1, *shape)
    groups = {
        "estimates": xr.Dataset(
            {name: (BY, estimates[name].to_numpy().reshape(shape)) for name in estimates}, coords
        ),
        "posterior": xr.Dataset({"score": (("chain", "draw", *BY), chained)}, coords),
    }
    if DATA_SUMMARY in result.data.children:
        groups[DATA_SUMMARY] = result.data[DATA_SUMMARY].to_dataset()
    tree = xr.DataTree.from_dict(groups)
    made = (
        "metric", "metric_module", "model", "sampler", "cluster", "prior", "ci_prob", "ci_kind",
        "seed",
    )  # fmt: skip
    kept = (*made, *result.metric.options)
    known = {name: result.data.attrs[name] for name in kept if name in result.data.attrs}
    tree.attrs = {
        "kind": "model",
        **known,
        "reference": listed(names),
        "missing_note": result.missing_note,
        "alikely_version": alikely.__version__,
    }
    return Result(tree)


def _entries(result: Result) -> tuple[pd.DataFrame, list[str]]:
    """Pairs with a group of humans, by position, and the names of these groups."""
    table = of_kind(result, "pair").table
    if "is_model" not in table:
        raise ValueError(
            f"scores need a result of decision margins, got a result of {result.metric.label}; "
            "score trials with alikely.benchmark_scores"
        )
    if "posterior" not in result.data.children:
        raise ValueError("scores need posterior draws, and this result has none; set n_draws=")
    models = table["observer"].values[table["is_model"].values.astype(bool)].tolist()
    pairs = result.pairs.astype(str)
    a, b = (pairs[f"observer_{side}"] for side in "ab")
    names = [name for name in dict.fromkeys(np.stack([a, b], axis=1).ravel()) if name not in models]
    one, other = a.isin(names), b.isin(names)
    pairs["system"] = np.where(one & other, HUMANS, np.where(one, b, a))
    pairs["member"] = np.where(one & other, a + " x " + b, np.where(one, a, b))
    return pairs[one | other], names


def _require_all(entries: pd.DataFrame) -> None:
    """Raise an error if a system lacks a pair that others have."""
    models = entries[entries["system"] != HUMANS]
    columns = ["dataset", "condition", "member"]
    wanted = models[columns].drop_duplicates()
    for system, own in models.groupby("system", sort=False):
        found = wanted.merge(own[columns], how="left", indicator=True)
        for row in found[found["_merge"] == "left_only"].itertuples():
            raise ValueError(
                f"{system!r} has no pair with {row.member!r} in {row.dataset}:{row.condition}, so "
                "its mean is not comparable with those of other systems; leave out this system or "
                "this condition"
            )


def _mean_of_draws(draws: Floats, weights: Floats) -> Floats:
    """Weighted mean of pairs for each draw, with the probability of scores at the bounds."""
    mean = within(draws @ weights, -1)
    if len(weights) == 1 or np.isnan(mean).any():
        return np.asarray(mean)
    order = np.argsort(mean, kind="stable")
    for bound, ranked in ((1.0, order[::-1]), (-1.0, order)):
        share = (draws == bound).mean(axis=0)
        if (share == 0).any():
            continue
        deviates: NDArray[np.float64] = special.ndtri(share)
        together = special.ndtr(deviates.sum() / np.sqrt(len(deviates)))
        mean[ranked[: round(together * len(mean))]] = bound
    return np.asarray(mean)
