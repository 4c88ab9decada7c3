"""Alignment of models with humans by condition and by regime of difficulty.

References
----------
.. [O07] Owen (2007). The pigeonhole bootstrap. doi:10.1214/07-AOAS122
.. [X26] Xu, Luo, Dickens, Mok (2026). Do machines fail like humans? A human-centred
   out-of-distribution spectrum for mapping error alignment.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely._base.frames import Groups, groups_of, with_notes
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed, nearest
from alikely._base.notes import told
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.benchmark import few_notes
from alikely.benchmark.decomposition import decompositions, spread, student_bounds
from alikely.benchmark.layout import (
    HUMANS,
    Layout,
    kinds_of_observers,
    laid_out,
    layout_of,
    metric_of_trials,
    nested_scores,
    people_drawn,
    refuse_own_names,
    refuse_repeats_for,
    require_trials,
    system_labels,
    undefined_entries,
)
from alikely.benchmark.ranking import significantly_greater
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import missing_note_of
from alikely.data.trials import Trials
from alikely.inference.influence import estimate
from alikely.inference.intervals import OPEN, bounds, mean_of_defined, share_bounds, shares
from alikely.inference.resampling import bootstrap
from alikely.metrics import Metric, get_metric

ENTRY = ("condition", "system")


def condition_alignment(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    metrics: str | Metric | Sequence[str | Metric] = (
        "error_consistency",
        "misclassification_agreement",
    ),
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int = 1000,
    rng: RandomState = None,
) -> xr.Dataset:
    """Compute the alignment between the errors of models and humans in each condition.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Kind of observer to score, and kind of observer to compare it with.
    metrics : str, Metric, or sequence of these
        Any metrics computed from trials, as in `alikely.compare`; some require class labels. For
        directed metrics, humans are the reference for models, and the human-human mean averages
        both directions.
    no_response : {"error", "drop"}
        As in `alikely.data.joint_correctness`.
    n_resamples : int
        Number of bootstrap replicates. 0 disables them.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. The same seed gives the same numbers for any number of workers.

    Returns
    -------
    xarray.Dataset
        Dimensions are ``metric``, ``condition`` (``dataset:condition``, in the order of the data)
        and ``system`` (the models, then ``human-human``). The following variables are NaN if a
        model has no responses in a condition, or if the estimates for all its pairs with humans are
        undefined:

        - ``estimate``: mean of the metric over humans (for models) or over pairs of humans
        - ``se``, ``df``: standard error for new images and new humans, and degrees of freedom
        - ``interval_center``: center of the Student t interval, which is the estimate after adding
          a pseudocount to the cells of each pair (as in `alikely.benchmark_scores`)
        - ``undefined``: number of undefined pairs, which are excluded from the mean
        - ``replicates``: bootstrap replicates with the dimension ``resample``, as float32

        Coordinates are the range of each metric (``metric_min``, ``metric_max``), the ``dataset``,
        ``condition_name``, ``n_humans`` and ``n_images`` of each condition, and the labels of each
        system. The attributes are ``models``, ``humans``, ``no_response``, ``missing_note`` and
        ``seed``.

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If a metric is unknown, or a condition has fewer than two humans. See also
        `alikely.data.joint_correctness`.

    Notes
    -----
    Each replicate resamples the images of each condition; all pairs and metrics use the same
    resampled images. The humans of each data set are also resampled; all conditions of the data set
    use the same resampled humans. Pairs of two copies of the same resampled human are excluded. For
    a bootstrap sample that contains only one human, the human-human value is undefined. Bootstrap
    samples that contain only one human occur with probability 1/64 for 4 humans, and with
    probability 1/2 for 2 humans.

    If both images and humans are resampled, trial-level noise is counted more than once [O07]_.
    Resampling n humans reproduces only ``(n - 1) / n`` of the variance between humans. In
    individual conditions, bootstrap replicates vary too much because they count trial-level noise
    more than once, although they underestimate the variance between humans. For error
    consistency in the model-vs-human data (4 to 7 humans), the standard deviation across bootstrap
    replicates is 1.1 times `se` for models, and 1.3 times `se` for human-human values. For means
    over 8 conditions, the standard deviation across bootstrap replicates is 1.1 times `se` for
    models and their differences, and 0.9 to 1.5 times `se` for human-human values. `se` is computed
    as in `alikely.benchmark_scores`, with a condition in place of a data set, and is NaN with fewer
    than 3 humans. Bootstrap replicates are corrected neither for counting trial-level noise more
    than once, nor for underestimating the variance between humans.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> alignment["condition"].values.tolist()
    ['all:clean', 'all:blur', 'all:noise']
    """
    require_trials(trials)
    chosen = _metrics(metrics)
    refuse_repeats_for(trials, *chosen)
    if n_resamples < 0:
        raise ValueError(f"n_resamples must be at least 0, got {n_resamples}")
    if (n := int((trials.data["kind"].values == humans).sum())) == 1:
        raise ValueError(
            f"alignment needs at least 2 observers of kind {humans!r} in each condition, got {n}; "
            "add humans, or name their kind by humans="
        )
    table, layout = laid_out(
        trials,
        models=models,
        humans=humans,
        no_response=no_response,
        labels=any(metric.counts != "correctness" for metric in chosen),
        both_orders=not all(metric.symmetric for metric in chosen),
        level="condition",
    )
    refuse_own_names("model", layout.models, (HUMANS,))
    items, (names, number) = presented(trials.data), condition_labels(trials.data)
    known = {part.name: part for part in layout.parts}
    if lacking := [name for name in names if name not in known]:
        raise ValueError(
            f"alignment needs at least 2 observers of kind {humans!r} in each condition, "
            f"{lacking[0]!r} has fewer; leave it out with trials.select(...)"
        )
    seed = seed_sequence(rng)
    image_seed, human_seed = seed.spawn(2)
    people = people_drawn(layout.parts, n_resamples, human_seed)
    kind = kinds_of_observers(trials)
    found = [
        _of_metric(
            table,
            metric,
            layout_of(table, kind, humans, "condition", both_orders=not metric.symmetric),
            people,
            image_seed,
        )
        for metric in chosen
    ]
    places = np.array([name.split(":", 1) for name in names], dtype=object).T
    coords = {
        "metric": [metric.name for metric in chosen],
        "metric_min": ("metric", [float(metric.bounds[0]) for metric in chosen]),
        "metric_max": ("metric", [float(metric.bounds[1]) for metric in chosen]),
        "condition": np.array(names, dtype=object),
        "system": np.array([*layout.models, HUMANS], dtype=object),
        "dataset": ("condition", places[0]),
        "condition_name": ("condition", places[1]),
        "n_humans": ("condition", [known[name].n_humans for name in names]),
        "n_images": ("condition", np.bincount(number if items is None else number[items.first])),
    }
    labels = system_labels(trials, [*layout.models, HUMANS], {*coords, *found[0], "resample"})
    both = xr.concat(found, "metric").assign_coords({**coords, **labels})
    return both.assign_attrs(
        {
            "models": models,
            "humans": humans,
            "no_response": no_response,
            "missing_note": missing_note_of(trials.data, no_response, models, humans),
            "seed": str(seed.entropy),
        }
    )


def _of_metric(
    table: xr.Dataset,
    metric: Metric,
    layout: Layout,
    people: list[Floats],
    seed: np.random.SeedSequence,
) -> xr.Dataset:
    """Compute the variables of one metric, without the row of the ceiling."""
    value, n_resamples = estimate(table, metric)["estimate"].values, len(people[0])
    scores = nested_scores(layout, value[None])[0, :, :-1]
    both = np.empty((n_resamples, *scores.shape), dtype=np.float32)
    if n_resamples:
        images = bootstrap(table, metric, n_resamples, patterns=False, rng=seed).values
        both[:] = nested_scores(layout, images, people)[:, :, :-1]
    # Here each human is in one condition only, whatever the scope of labels.
    parts = decompositions(
        table, layout, metric, human_ids="per_dataset", item_scope="condition", overall=False
    )
    rows = np.eye(len(layout.systems))[:-1]
    spreads = [spread(part, rows, "both") for part in parts]
    centers = [part["interval_center"].values[:-1] for part in parts]
    return xr.Dataset(
        {
            "estimate": (ENTRY, scores),
            "interval_center": (ENTRY, np.stack(centers)),
            "se": (ENTRY, np.sqrt(np.stack([found.variance for found in spreads]))),
            "df": (ENTRY, np.stack([found.df for found in spreads])),
            "undefined": (ENTRY, undefined_entries(layout, value)[:-1, :-1]),
            "replicates": (("resample", *ENTRY), both),
        }
    )


def _metrics(metrics: str | Metric | Sequence[str | Metric]) -> list[Metric]:
    given = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    chosen = [metric_of_trials(metric) for metric in given]
    names = [metric.name for metric in chosen]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"metrics must name at least one metric, each once; got {names}")
    return chosen


def models_of(alignment: xr.Dataset) -> list[str]:
    """Names of the systems that are models."""
    needed = {"metric", "condition", "system"}
    if not isinstance(alignment, xr.Dataset) or not needed <= set(alignment.sizes):
        raise TypeError(
            "alignment must be returned by alikely.condition_alignment, with the dims metric, "
            "condition and system; select by lists, as in .sel(metric=[...])"
        )
    systems = alignment["system"].values.tolist()
    if HUMANS not in systems or len(systems) < 2:
        raise ValueError(f"alignment needs {HUMANS!r} and a model among its systems")
    return [name for name in systems if name != HUMANS]


def took_part(alignment: xr.Dataset) -> NDArray[np.bool_]:
    """Whether a system responded in a condition, even if its score there is undefined."""
    there = np.isfinite(alignment["estimate"].values) | (alignment["undefined"].values > 0)
    return np.asarray(there.any(axis=0))


def condition_groups(names: Iterable[str], labels: Groups) -> dict[str, str]:
    """Return the label of each given condition."""
    wanted = [str(name) for name in names]
    return dict(zip(wanted, groups_of(wanted, labels, "label"), strict=True))


def alignment_table(
    alignment: xr.Dataset,
    labels: Groups | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tabulate alignment by metric, condition and system.

    Parameters
    ----------
    alignment : xarray.Dataset
        Result of `condition_alignment`.
    labels : mapping, pandas.Series or xarray.DataArray, optional
        Regime of each condition, such as ``alikely.regimes(spectrum)["label"]``.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of bootstrap interval: equal-tailed or highest-density.

    Returns
    -------
    pandas.DataFrame
        One row per metric, condition and system with responses, with columns

        - ``metric``, ``condition``, ``dataset``, ``condition_name``, ``regime`` (with `labels`),
          ``system``
        - ``estimate``
        - ``interval_center``, ``se``, ``df`` and bounds of the analytic interval, such as
          ``analytic_ci95_lb``
        - bounds of the bootstrap interval, such as ``bootstrap_eti95_lb``
        - ``ratio``: estimate divided by the human-human value, not clipped; NaN if the human-human
          value is not above 0
        - bounds of the ratio, such as ``ratio_eti95_lb``, computed from the ratio in each
          replicate; infinite if the interval for ``human-human`` includes 0
        - ``undefined_replicates``: fraction of replicates in which the ratio (for ``human-human``:
          the value) is undefined; these replicates are excluded from the bounds
        - ``note``

    Raises
    ------
    TypeError
        If `alignment` has the wrong type.
    ValueError
        If a condition has no label, if `ci_prob` is not in (0, 1), or if `ci_kind` is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> table = al.spectrum.alignment_table(alignment, regime)
    >>> table.loc[table["system"] == "human-human", "regime"].tolist()[:3]
    ['easy', 'hard', 'hard']
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    models_of(alignment)
    names, systems = (alignment[name].values.tolist() for name in ("condition", "system"))
    regime = None if labels is None else condition_groups(names, labels)
    human, there = systems.index(HUMANS), took_part(alignment)
    labeled: dict[str, Any] = {"condition": np.array(names, dtype=object)}
    labeled |= {name: alignment[name].values.astype(str) for name in ("dataset", "condition_name")}
    if regime is not None:
        labeled["regime"] = np.array([regime[name] for name in names], dtype=object)
    place = {name: np.repeat(values, len(systems)) for name, values in labeled.items()}
    frames = []
    for metric in alignment["metric"].values.tolist():
        own = alignment.sel(metric=metric)
        value, center, se, df = (
            own[name].values for name in ("estimate", "interval_center", "se", "df")
        )
        draws = own["replicates"].values.astype(np.float64)
        limits = float(own["metric_min"]), float(own["metric_max"])
        student = student_bounds(center, se**2, df, ci_prob, limits)
        of_humans = value[:, [human]], draws[..., [human]]
        ratio, ratio_limits, reach = over_humans(value, draws, *of_humans, ci_prob, ci_kind)
        ratio[:, human] = ratio_limits[:, human] = np.nan
        resampled = bounds(_flat(draws), ci_prob, ci_kind)
        hole = np.isnan(draws) | np.isnan(draws[..., [human]])
        undefined = hole.mean(axis=0).ravel() if len(draws) else np.nan
        frame = pd.DataFrame(
            {
                "metric": metric,
                **place,
                "system": systems * len(names),
                "estimate": value.ravel(),
                "interval_center": center.ravel(),
                "se": se.ravel(),
                "df": df.ravel(),
                **bound_columns("analytic", "ci", ci_prob, student.reshape(-1, 2)),
                **bound_columns("bootstrap", ci_kind, ci_prob, resampled),
                "ratio": ratio.ravel(),
                **bound_columns("ratio", ci_kind, ci_prob, ratio_limits.reshape(-1, 2)),
                "undefined_replicates": undefined,
            }
        )
        frame["note"] = [
            note
            for c in range(len(names))
            for note in _notes(own.isel(condition=c), ratio[c], human, value[c, human], reach[c])
        ]
        frames.append(with_notes(frame, alignment.attrs.get("missing_note", ""))[there.ravel()])
    return pd.concat(frames, ignore_index=True)


def _flat(draws: Floats) -> Floats:
    """Draws of all systems and conditions: shape (draw, entry)."""
    return draws.reshape(len(draws), int(np.prod(draws.shape[1:])))


def over_humans(
    values: Floats,
    draws: Floats,
    ceiling: Floats,
    human_draws: Floats,
    ci_prob: float,
    ci_kind: CiKind,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Divide values (..., system) by the human-human value (..., 1), with limits.

    NaN if that value is not above 0. Limits are infinite if the interval of the human-human value
    includes 0; the function also returns whether it does.
    """
    reach = (bounds(_flat(human_draws), ci_prob, ci_kind)[:, 0] <= 0).reshape(ceiling.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(ceiling > 0, values / ceiling, np.nan)
    open_ended = np.broadcast_to(reach, values.shape).ravel()
    limits = share_bounds(_flat(shares(draws, human_draws)), open_ended, ci_prob, ci_kind)
    limits[np.isnan(found).ravel()] = np.nan
    return found, limits.reshape(*values.shape, 2), reach[..., 0]


def _notes(
    part: xr.Dataset, ratio: Floats, human: int, ceiling: float, reach: bool | np.bool_
) -> list[str]:
    """Return the note of each system in a condition."""
    n_humans = int(part["n_humans"])
    shared = "; ".join(told(text) for text in few_notes(n_humans, n_humans))
    no_share = OPEN if reach else ""
    if not ceiling > 0:
        known = "undefined" if np.isnan(ceiling) else "not above 0"
        no_share = f"the human-human value is {known}: no ratio"
    lost, value = part["undefined"].values, part["estimate"].values
    notes = []
    for s in range(len(value)):
        own = [shared, no_share if s != human else ""]
        if lost[s]:
            everywhere = np.isnan(value[s])
            own.append(
                f"undefined for all {lost[s]} pairs"
                if everywhere
                else f"{lost[s]} undefined pairs excluded"
            )
        if ratio[s] > 1 and not reach:
            own.append("ratio above 1: more consistent with humans than humans are with each other")
        notes.append("; ".join(filter(None, own)))
    return notes


def regime_alignment(
    alignment: xr.Dataset,
    labels: Groups,
    *,
    conditions: Conditions = "all",
    delta: Deltas | None = None,
    metrics: Sequence[str] | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute the alignment and the rank of each model within regimes of difficulty.

    Parameters
    ----------
    alignment : xarray.Dataset
        Result of `alikely.condition_alignment`, with replicates.
    labels : mapping, pandas.Series or xarray.DataArray
        Regime of each condition, such as ``alikely.regimes(spectrum)["label"]``.
    conditions : {"all", "representative"}
        Whether to use all conditions of a regime, or one condition per data set
        (`representative_conditions`).
    delta : mapping, pandas.Series, xarray.DataArray or xarray.Dataset, optional
        Difficulty of each condition, or a dataset returned by `alikely.difficulty_spectrum`.
        Required for ``"representative"``.
    metrics : sequence of str, optional
        Metrics in `alignment` to average into a single value for each system and condition. For
        example, models can be ranked by ``mean_ratio`` of the average of error consistency and
        misclassification agreement, as in equation 2 of [X26]_. By default, every metric is
        analyzed separately.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of bootstrap interval: equal-tailed or highest-density.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness for the confidence sets of ranks.

    Returns
    -------
    pandas.DataFrame
        One row per metric, regime (in order of first occurrence) and model, with columns

        - ``metric``, ``regime``, ``system``, ``n_conditions``
        - ``estimate``, ``ceiling``: means over conditions of model-human and human-human values
        - ``ratio_of_means``: ``estimate`` divided by ``ceiling``, not clipped
        - ``mean_ratio``: mean of the ratios in conditions with a human-human value above 0, not
          clipped
        - interval bounds, such as ``bootstrap_eti95_lb`` (of ``estimate``) and
          ``ceiling_eti95_lb``. The bounds in all columns are computed from the same bootstrap
          replicates. Bounds of a ratio are infinite if the interval for the human-human value
          includes 0 (for ``mean_ratio``: in any condition)
        - ``rank``: rank of the estimate within metric and regime, which equals the rank of
          ``ratio_of_means``
        - ``rank_lb``, ``rank_ub``: limits of the simultaneous confidence set, as in `rank_sets`
        - ``undefined_replicates``: fraction of replicates of conditions in which the model's value
          or the human-human value is undefined
        - ``note``: excluded conditions, with the reason

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If a condition has no regime in `labels`, or if a model lacks a condition that other models
        have.
    ValueError
        If there are no replicates, or if `delta` is missing.
    ValueError
        If `metrics` does not name at least two metrics in `alignment`, or if an option is out of
        range.

    Notes
    -----
    Conditions without models are ignored. Conditions in which any value is undefined are excluded
    for all models, so that all models are compared on the same conditions. Uncertainty in the
    regime labels is not propagated into the intervals.

    In some conditions, a replicate may contain only one human or no joint errors, so that its
    estimate is undefined. The deviation of a replicate from the estimate is averaged over those
    conditions in which the replicate is defined, and added to the mean estimate over all conditions
    (`alikely.spectrum.alignment.mean_draws`).

    A few hard conditions with little human-human agreement can dominate `mean_ratio`. The variance
    of `mean_ratio` is infinite if a human-human value can be 0.

    Examples
    --------
    >>> import alikely as al
    >>> alignment = al.condition_alignment(al.load_example(), n_resamples=200, rng=1)
    >>> regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}
    >>> table = al.spectrum.regime_alignment(alignment, regime, rng=1)
    >>> table[["regime", "n_conditions"]].drop_duplicates().values.tolist()
    [['easy', 1], ['hard', 2], ['easy', 0]]
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    if metrics is not None:
        alignment = _averaged(alignment, metrics)
    parts = regime_parts(alignment, labels, conditions, delta)
    frames = []
    for part, seed in zip(parts, seed_sequence(rng).spawn(len(parts)), strict=True):
        means, value, ceiling = part.means, part.value.mean(axis=0), part.human.mean()
        ceiling_limits = bounds(part.human_means[:, None], ci_prob, ci_kind)[0]
        ratio, ratio_limits, reach = part.over_humans(value, means, ci_prob, ci_kind)
        mean_ratio = np.full(len(part.models), np.nan)
        mean_limits = np.full((len(part.models), 2), np.nan)
        above = np.flatnonzero(part.human > 0)
        lowest = bounds(part.human_draws[:, above], ci_prob, ci_kind)[:, 0]
        if len(above):
            each = part.value[above] / part.human[above, None]
            mean_ratio = each.mean(axis=0)
            drawn = shares(part.draws[:, above], part.human_draws[:, above, None])
            any_reach = np.full(len(part.models), (lowest <= 0).any())
            mean_limits = share_bounds(mean_draws(drawn, each), any_reach, ci_prob, ci_kind)
        limits = bounds(means, ci_prob, ci_kind)
        frame = pd.DataFrame(
            {
                "metric": part.metric,
                "regime": part.regime,
                "system": part.models,
                "n_conditions": part.n_conditions,
                "estimate": value,
                **bound_columns("bootstrap", ci_kind, ci_prob, limits),
                "ceiling": ceiling,
                **bound_columns("ceiling", ci_kind, ci_prob, ceiling_limits),
                "ratio_of_means": ratio,
                **bound_columns("ratio_of_means", ci_kind, ci_prob, ratio_limits),
                "mean_ratio": mean_ratio,
                **bound_columns("mean_ratio", ci_kind, ci_prob, mean_limits),
            }
        )
        ranks, reason = _ranks(part, means, ci_prob, seed)
        hole = np.isnan(part.draws) | np.isnan(part.human_draws)[..., None]
        frame = frame.assign(**ranks, undefined_replicates=hole.mean(axis=(0, 1)))
        note = note_of_part(part, reach, ceiling, int((lowest <= 0).sum()))
        frames.append(frame.assign(note="; ".join(filter(None, [note, reason]))))
    return pd.concat(frames, ignore_index=True)


def _averaged(alignment: xr.Dataset, metrics: Sequence[str]) -> xr.Dataset:
    """Average several metrics of an alignment; undefined if one of them is."""
    names = [metrics] if isinstance(metrics, str) else [str(name) for name in metrics]
    known = alignment["metric"].values.tolist()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"the alignment has no metric {unknown[0]!r}; it has {listed(known)}"
            f"{nearest(unknown[0], known)}"
        )
    if len(names) < 2 or len(set(names)) < len(names):
        raise ValueError(f"metrics must name at least two metrics, each once; got {names}")
    chosen = alignment[["estimate", "undefined", "replicates"]].sel(metric=names)
    label = f"mean of {listed([get_metric(name).short or name for name in names])}"
    mean = chosen.mean("metric", skipna=False).assign(undefined=chosen["undefined"].sum("metric"))
    return mean.expand_dims(metric=[label]).assign_attrs(alignment.attrs)


def _ranks(
    part: RegimePart, means: Floats, ci_prob: float, seed: np.random.SeedSequence
) -> tuple[dict[str, Any], str]:
    """Ranks with their joint confidence set, and the reason if it is NaN."""
    n, complete = len(part.models), means[~np.isnan(means).any(axis=1)]
    value = part.value.mean(axis=0)
    # Ties share the better rank.
    rank = np.where(np.isnan(value), np.nan, stats.rankdata(-value, method="min"))
    none = {"rank": rank, "rank_lb": np.nan, "rank_ub": np.nan}
    if not part.n_conditions:
        return none, ""
    if n == 1:
        return dict.fromkeys(none, 1), ""
    if len(complete) < 2:
        return none, "no rank sets: fewer than 2 replicates have all models defined"
    covariance = np.cov(complete, rowvar=False)
    own = np.diag(covariance)
    total = own[:, None] + own
    flat = np.argwhere(np.triu(total - 2 * covariance <= 1e-12 * total, k=1))
    if len(flat):
        one, other = (part.models[m] for m in flat[0])
        return none, f"no rank sets: {one!r} and {other!r} differ by the same in all replicates"
    greater = significantly_greater(value, covariance, ci_prob=ci_prob, rng=seed)
    sets = {"rank_lb": 1 + greater.sum(axis=0), "rank_ub": n - greater.sum(axis=1)}
    return {"rank": rank} | sets, ""


def note_of_part(part: RegimePart, reach: bool, ceiling: float, n_reach: int | None = None) -> str:
    """Note on undefined or unbounded values; `n_reach` is set only for means of ratios."""
    notes = []
    if part.left_out:
        notes.append(f"{len(part.left_out)} undefined, excluded: {listed(part.left_out, most=5)}")
    if not part.n_conditions:
        return "; ".join([*notes, "no condition is left"])
    not_above = int((part.human <= 0).sum())
    if ceiling <= 0:
        notes.append("the human-human mean is not above 0: no ratio")
    elif reach:
        notes.append(OPEN)
    if not_above and n_reach is not None:
        notes.append(f"mean_ratio excludes {not_above} with human-human values not above 0")
    if n_reach:
        notes.append(f"mean_ratio is unbounded: human-human intervals of {n_reach} include 0")
    return "; ".join(notes)


type Deltas = Mapping[str, float] | pd.Series | xr.DataArray | xr.Dataset
type Conditions = Literal["all", "representative"]


class RegimePart(NamedTuple):
    """Values of one metric in one regime."""

    metric: str
    regime: str
    models: list[str]
    n_conditions: int
    value: Floats
    human: Floats
    draws: Floats
    human_draws: Floats
    left_out: list[str]

    @property
    def means(self) -> Floats:
        """Replicates of the means of models over conditions: (resample, model)."""
        return mean_draws(self.draws, self.value)

    @property
    def human_means(self) -> Floats:
        """Replicates of the human-human means over conditions: (resample,)."""
        return mean_draws(self.human_draws, self.human)

    def over_humans(
        self, values: Floats, draws: Floats, ci_prob: float, ci_kind: CiKind
    ) -> tuple[Floats, Floats, bool]:
        """Divide values by the human-human mean; return limits, and whether the mean may be 0."""
        known = self.human.mean(keepdims=True), self.human_means[:, None]
        found, limits, reach = over_humans(values, draws, *known, ci_prob, ci_kind)
        return found, limits, bool(reach)


def mean_draws(draws: Floats, estimate: Floats) -> Floats:
    """Replicates of means over conditions, some of which are undefined in some replicates."""
    with np.errstate(invalid="ignore"):  # infinite ratios on both sides: undefined
        return np.asarray(estimate.mean(axis=0) + mean_of_defined(draws - estimate, axis=1))


def regime_parts(
    alignment: xr.Dataset, labels: Groups, conditions: str, delta: Deltas | None
) -> list[RegimePart]:
    """Collect every metric and regime, with the conditions in which all values are defined."""
    one_of("conditions", conditions, ("all", "representative"))
    models = models_of(alignment)
    if alignment.sizes.get("resample", 0) < 2:
        raise ValueError(
            "regimes need replicates of the alignment; make them with condition_alignment and "
            "n_resamples=1000"
        )
    names = alignment["condition"].values.tolist()
    regime = condition_groups(names, labels)
    systems = alignment["system"].values.tolist()
    columns = [systems.index(name) for name in models]
    there = took_part(alignment)[:, columns]
    _require_all(there, names, models)
    kept = [name for c, name in enumerate(names) if there[c].any()]
    if conditions == "representative":
        if delta is None:
            raise ValueError("representative conditions need the difficulty of each; give delta=")
        home = dict(zip(names, alignment["dataset"].values.tolist(), strict=True))
        kept = representative_conditions(delta, regime, {name: home[name] for name in kept})
    human = systems.index(HUMANS)
    out = []
    for metric, label in itertools.product(
        alignment["metric"].values.tolist(), dict.fromkeys(regime[name] for name in kept)
    ):
        chosen = [name for name in kept if regime[name] == label]
        part = alignment.sel(metric=metric, condition=chosen)
        value = part["estimate"].transpose("condition", "system").values
        defined = np.isfinite(value).all(axis=1)
        draws = part["replicates"].transpose("resample", "condition", "system").values
        draws = draws[:, defined].astype(np.float64)
        left_out = [name for name, known in zip(chosen, defined, strict=True) if not known]
        value = value[defined]
        if not defined.any():
            draws = np.full((len(draws), 1, len(systems)), np.nan)
            value = np.full((1, len(systems)), np.nan)
        draws, human_draws = draws[..., columns], draws[..., human]
        of_models, of_humans, n_defined = value[:, columns], value[:, human], int(defined.sum())
        out.append(
            RegimePart(
                metric, label, models, n_defined, of_models, of_humans, draws, human_draws, left_out
            )
        )
    return out


def _require_all(there: NDArray[np.bool_], names: list[str], models: list[str]) -> None:
    if not there.any():
        raise ValueError("no condition of the alignment has a model; select others")
    lacking = np.argwhere(there.any(axis=1)[:, None] & ~there)
    if len(lacking):
        c, m = lacking[0]
        raise ValueError(
            f"model {models[m]!r} is missing in condition {names[c]!r}, so its mean is not "
            "comparable with those of other models; leave out the model or the condition with "
            "alignment.sel(...)"
        )


def representative_conditions(
    delta: Deltas, labels: Groups, datasets: Mapping[str, str]
) -> list[str]:
    """Choose one condition per data set and regime."""
    names = list(datasets)
    regime = condition_groups(names, labels)
    values = delta["delta"] if isinstance(delta, xr.Dataset) else delta
    if isinstance(values, xr.DataArray):
        values = values.to_series()
    known = dict.fromkeys(names, np.nan)
    known |= {str(name): float(value) for name, value in values.items()}
    frame = pd.DataFrame({"delta": known, "regime": regime, "dataset": datasets}).loc[names]
    bad = ~np.isfinite(frame["delta"].to_numpy())
    if bad.any():
        raise ValueError(
            f"condition {names[int(np.argmax(bad))]!r} has no finite delta (conditions without: "
            f"{int(bad.sum())}); add the delta, or choose conditions with "
            "alignment.sel(condition=[...])"
        )
    distance = (frame["delta"] - frame.groupby("regime")["delta"].transform("mean")).abs()
    # Distances that differ only by rounding are ties.
    frame["distance"] = distance.round(9)
    best = frame.sort_values(["distance", "delta"], ascending=[True, False], kind="stable")
    chosen = set(best.groupby(["dataset", "regime"]).head(1).index)
    return [name for name in names if name in chosen]
