"""Alignment of models with humans by condition, with joint replicates of all conditions.

References
----------
.. [O07] Owen (2007). The pigeonhole bootstrap. doi:10.1214/07-AOAS122
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, groups_of, with_notes
from alikely._base.intervals import CiKind, bound_columns, check_interval
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
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import missing_note_of
from alikely.data.trials import Trials
from alikely.inference.influence import estimate
from alikely.inference.intervals import OPEN, bounds, share_bounds, shares
from alikely.inference.resampling import bootstrap
from alikely.metrics import Metric

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
        and ``system`` (the models, then ``human-human``). Variables are NaN if a model has no
        responses in a condition, or all its pairs are undefined:

        - ``estimate``: mean of the metric over humans (for models) or over pairs of humans
        - ``se``, ``df``: standard error for new images and new humans, and degrees of freedom
        - ``interval_center``: center of the Student t interval, which is the estimate after adding
          a pseudocount to the cells of each pair (as in `alikely.benchmark_scores`)
        - ``undefined``: number of undefined pairs, which are excluded from the mean
        - ``replicates``: bootstrap replicates with the dimension ``resample``, as float32

        Coordinates are ``metric_min`` and ``metric_max`` (range of each metric); ``dataset``,
        ``level``, ``n_humans`` and ``n_images`` (of each condition); and labels of observers (of
        each system). Attributes are ``models``, ``humans``, ``no_response``, ``missing_note`` and
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
    Each replicate resamples the images of each condition, in the same way for all pairs and
    metrics. The humans of each data set are also resampled, in the same way for all conditions of
    the data set. Pairs of a human with a duplicate of the same human are excluded. A sample that
    contains only one human has no human-human value. Samples with only one human occur with
    probability 1/64 for 4 humans, and with probability 1/2 for 2 humans.

    If both images and humans are resampled, trial-level noise is counted more than once [O07]_. In
    contrast, resampling n humans reproduces only ``(n - 1) / n`` of the variance between humans. In
    individual conditions, the multiple counting of noise has the larger effect. For error
    consistency in the model-vs-human data (4 to 7 humans), the standard deviation of replicates is
    1.1 times `se` for models, and 1.3 times `se` for human-human values. In means over the 8
    conditions of a data set, the factor is 1.1 for models and their differences, and 0.9 to 1.5 for
    human-human values. `se` is computed as in `alikely.benchmark_scores`, with a condition in place
    of a data set, and is NaN with fewer than 3 humans. Replicates are corrected neither for the
    multiple counting of noise nor for the missing variance between humans.

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
        "level": ("condition", places[1]),
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
    """Whether a system responded in a condition, also where its score is undefined."""
    there = np.isfinite(alignment["estimate"].values) | (alignment["undefined"].values > 0)
    return np.asarray(there.any(axis=0))


def condition_groups(names: Iterable[str], labels: Groups) -> dict[str, str]:
    """Label of each of some conditions."""
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
        As returned by `condition_alignment`.
    labels : mapping, pandas.Series or xarray.DataArray, optional
        Regime of each condition, such as ``alikely.regimes(spectrum)["label"]``.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of the bootstrap interval: equal-tailed or highest-density.

    Returns
    -------
    pandas.DataFrame
        One row per metric, condition and system with responses, with columns

        - ``metric``, ``condition``, ``dataset``, ``level``, ``regime`` (with `labels`), ``system``
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
    labeled |= {name: alignment[name].values.astype(str) for name in ("dataset", "level")}
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

    NaN if that value is not above 0. Limits are infinite if its interval includes 0, which is
    returned too.
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
