"""Alignment of models with humans within regimes of difficulty, with intervals and ranks.

References
----------
.. [X26] Xu, Luo, Dickens, Mok (2026). Do machines fail like humans? A human-centred
   out-of-distribution spectrum for mapping error alignment.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely._base.frames import Groups
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.benchmark.layout import HUMANS
from alikely.benchmark.ranking import significantly_greater
from alikely.inference.intervals import OPEN, bounds, mean_of_defined, share_bounds, shares
from alikely.metrics import get_metric
from alikely.spectrum.alignment import condition_groups, models_of, over_humans, took_part


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
        As returned by `alikely.condition_alignment`, with replicates.
    labels : mapping, pandas.Series or xarray.DataArray
        Regime of each condition, such as ``alikely.regimes(spectrum)["label"]``.
    conditions : {"all", "representative"}
        Whether to use all conditions of a regime, or one condition per data set
        (`representative_conditions`).
    delta : mapping, pandas.Series, xarray.DataArray or xarray.Dataset, optional
        Difficulty of each condition, or a spectrum. Required for ``"representative"``.
    metrics : sequence of str, optional
        Metrics in `alignment` to average in each condition, separately for models and humans. With
        error consistency and misclassification agreement, ``mean_ratio`` is the ratio on which
        [X26]_ base ranks (their equation 2). By default, every metric is analyzed separately.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    ci_kind : {"eti", "hdi"}
        Kind of the bootstrap interval: equal-tailed or highest-density.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness for the rank sets.

    Returns
    -------
    pandas.DataFrame
        One row per metric, regime (in order of first occurrence) and model, with columns

        - ``metric``, ``regime``, ``system``, ``n_conditions``
        - ``estimate``, ``ceiling``: means over conditions of model-human and human-human values
        - ``ratio_of_means``: ``estimate`` divided by ``ceiling``, not clipped
        - ``mean_ratio``: mean of the ratios in conditions with a human-human value above 0, not
          clipped
        - bounds of each of these quantities from joint replicates, such as ``bootstrap_eti95_lb``
          (of the estimate) and ``ceiling_eti95_lb``. Bounds of a ratio are infinite if the interval
          for the human-human value includes 0 (for ``mean_ratio``: in any condition)
        - ``rank``: rank of the estimate within metric and regime, which equals the rank of
          ``ratio_of_means``
        - ``rank_lb``, ``rank_ub``: limits of the simultaneous confidence set, as in `rank_sets`
        - ``undefined_replicates``: fraction of replicates of conditions in which the model's value
          or the human-human value is undefined
        - ``note``: excluded conditions, with the reason

    Raises
    ------
    TypeError, ValueError
        If a condition has no label, or a model lacks a condition that other models have. If there
        are no replicates, or `delta` is missing. If `metrics` does not name at least two metrics in
        `alignment`, or if an option is out of range.

    Notes
    -----
    Conditions without models are ignored. Conditions in which any value is undefined are excluded
    for all models, so that all models are compared on the same conditions. Uncertainty in the
    labels is not propagated into the intervals.

    If a condition's value is undefined in a replicate (one human or no joint error), the change in
    the mean is the mean change in the other conditions
    (`alikely.spectrum.regime_scores.mean_draws`).

    A few hard conditions with little human-human agreement dominate `mean_ratio`. The variance of
    `mean_ratio` is infinite if a human-human value can be 0.

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
    """Note on undefined or unbounded numbers; `n_reach` is for means of ratios."""
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
        """Divide values by the human-human mean, with limits, and whether that may be 0."""
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
            "comparable with those of other models; leave out one of them with alignment.sel(...)"
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
            f"condition {names[int(np.argmax(bad))]!r} has no finite delta ({int(bad.sum())} "
            "without); give it one, or choose conditions with alignment.sel(condition=[...])"
        )
    distance = (frame["delta"] - frame.groupby("regime")["delta"].transform("mean")).abs()
    # Distances that differ only by rounding are ties.
    frame["distance"] = distance.round(9)
    best = frame.sort_values(["distance", "delta"], ascending=[True, False], kind="stable")
    chosen = set(best.groupby(["dataset", "regime"]).head(1).index)
    return [name for name in names if name in chosen]
