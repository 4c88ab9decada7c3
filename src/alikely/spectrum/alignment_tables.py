"""Tables of how alike machines and humans err, condition by condition."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.frames import Groups, group_mapping, with_notes
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.settings import resolve
from alikely.benchmark.decomposition import student_bounds
from alikely.benchmark.layout import HUMANS
from alikely.benchmark.tables import few_notes
from alikely.inference.intervals import OPEN, bounds, share_bounds, shares

__all__ = [
    "alignment_table",
    "condition_groups",
    "machines_of",
    "took_part",
]


def machines_of(alignment: xr.Dataset) -> list[str]:
    """Systems that are machines."""
    needed = {"metric", "condition", "system"}
    if not isinstance(alignment, xr.Dataset) or not needed <= set(alignment.sizes):
        raise TypeError(
            "alignment must be what alikely.condition_alignment returns, with the dims metric, "
            "condition and system; select by lists, as in .sel(metric=[...])"
        )
    systems = alignment["system"].values.tolist()
    if HUMANS not in systems or len(systems) < 2:
        raise ValueError(f"alignment needs {HUMANS!r} and a machine among its systems")
    return [name for name in systems if name != HUMANS]


def took_part(alignment: xr.Dataset) -> NDArray[np.bool_]:
    """Whether a system took part in a condition, also where its score is undefined."""
    there = np.isfinite(alignment["estimate"].values) | (alignment["undefined"].values > 0)
    return np.asarray(there.any(axis=0))


def condition_groups(names: Iterable[str], labels: Groups) -> dict[str, str]:
    """Label of each of some conditions."""
    given, wanted = group_mapping(labels), [str(name) for name in names]
    missing = [name for name in wanted if name not in given]
    if missing:
        raise ValueError(
            f"condition {missing[0]!r} has no label ({len(missing)} without); give it one, or "
            "choose conditions with alignment.sel(condition=[...])"
        )
    return {name: given[name] for name in wanted}


def alignment_table(
    alignment: xr.Dataset,
    labels: Groups | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tidy table of alignment, one row per metric, condition and system that took part.

    Parameters
    ----------
    alignment : xarray.Dataset
        As from `condition_alignment`.
    labels : mapping, pandas.Series or xarray.DataArray, optional
        Regime of each condition, such as ``alikely.regimes(spectrum)["label"]``.
    ci_prob : float
        In (0, 1).
    ci_kind : {"eti", "hdi"}
        Equal-tailed or highest-density interval of the replicates.

    Returns
    -------
    pandas.DataFrame
        ``metric, condition, dataset, level, regime`` (with `labels`), ``system, estimate``;
        ``centre, se, df`` of the analytic interval and its bounds, as ``analytic_ci95_lb``; those
        of the replicates, as ``bootstrap_eti95_lb``; ``ratio``: machine and human over human and
        human, neither clipped nor made absolute, NaN where the latter is not above 0, and its
        bounds, as ``ratio_eti95_lb``; ``undefined_replicates``: share of replicates without that
        ratio (of ``human-human``: without a value), left out of the bounds; ``note``. The ratio is
        taken in each replicate; its bounds are infinite where the interval of ``human-human``
        reaches 0.

    Raises
    ------
    TypeError, ValueError
        If a condition has no label, or an option is out of range.

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
    machines_of(alignment)
    names, systems = (alignment[name].values.tolist() for name in ("condition", "system"))
    regime = None if labels is None else condition_groups(names, labels)
    human, there = systems.index(HUMANS), took_part(alignment)
    frames = []
    for metric in alignment["metric"].values.tolist():
        own = alignment.sel(metric=metric)
        for c, name in enumerate(names):
            part = own.isel(condition=c)
            value, draws = part["estimate"].values, part["replicates"].values.astype(np.float64)
            limits = bounds(draws, ci_prob, ci_kind)
            student = student_bounds(
                part["centre"].values, part["se"].values ** 2, part["df"].values, ci_prob,
                (float(part["metric_min"]), float(part["metric_max"])),
            )  # fmt: skip
            ceiling, reach = value[human], bool(limits[human, 0] <= 0)
            ratio_draws = shares(draws, draws[:, [human]])
            ratio_limits = share_bounds(ratio_draws, np.full(len(systems), reach), ci_prob, ci_kind)
            ratio = value / ceiling if ceiling > 0 else np.full(len(systems), np.nan)
            ratio[human] = np.nan
            ratio_limits[~np.isfinite(ratio)] = np.nan
            place: dict[str, Any] = {
                "metric": metric,
                "condition": name,
                "dataset": str(part["dataset"].values),
                "level": str(part["level"].values),
            }
            if regime is not None:
                place["regime"] = regime[name]
            frame = pd.DataFrame(
                place
                | {
                    "system": systems,
                    "estimate": value,
                    "centre": part["centre"].values,
                    "se": part["se"].values,
                    "df": part["df"].values,
                    **bound_columns("analytic", "ci", ci_prob, student),
                    **bound_columns("bootstrap", ci_kind, ci_prob, limits),
                    "ratio": ratio,
                    **bound_columns("ratio", ci_kind, ci_prob, ratio_limits),
                    "undefined_replicates": np.isnan(ratio_draws).mean(axis=0)
                    if len(draws)
                    else np.nan,
                }
            )
            frame["note"] = _notes(part, ratio, human, ceiling, reach)
            frame = with_notes(frame, alignment.attrs.get("missing_note", ""))
            frames.append(frame[there[c]])
    return pd.concat(frames, ignore_index=True)


def _notes(part: xr.Dataset, ratio: Floats, human: int, ceiling: float, reach: bool) -> list[str]:
    n_humans = int(part["n_humans"])
    shared = few_notes(n_humans, n_humans)
    own = []
    if np.isnan(ceiling):
        own.append("the human-human value is undefined: no share of it")
    elif ceiling <= 0:
        own.append("the human-human value is not above 0: no share of it")
    elif reach:
        own.append(OPEN)
    notes = []
    for s, (value, undefined) in enumerate(
        zip(part["estimate"].values.tolist(), part["undefined"].values.tolist(), strict=True)
    ):
        note = list(shared) if s == human else shared + own
        if undefined and np.isnan(value):
            note.append(f"undefined in all {undefined} entries")
        elif undefined:
            note.append(f"{undefined} undefined entries left out")
        if ratio[s] > 1 and not reach:
            note.append("above 1: closer to the humans than they are to each other")
        notes.append("; ".join(note))
    return notes
