"""Decision margins: counts and draws of pairs, and their table with error consistency."""

from __future__ import annotations

import itertools
from typing import Any, cast, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import of_type, one_of
from alikely.data.blocks import cluster_numbers
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.tables import By, joint_correctness
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.errors.posteriors import chained
from alikely.estimates.analysis import Design, Groups, Kind, sampling_unit
from alikely.estimates.kinds import of_pairs
from alikely.estimates.result import Result
from alikely.inference.influence import covariance_of, estimate, of_items, of_sums
from alikely.inference.intervals import interval
from alikely.inference.process import four_chains
from alikely.inference.weighting import student_deviate
from alikely.margins.checks import entry_notes
from alikely.margins.model_margins import decision_margins
from alikely.margins.posterior import CHECKED, MarginModel, entry_draws
from alikely.margins.reliability import split_half_reliability
from alikely.margins.tables import alternatives_of, answers_of_group, margin_table
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.alternatives import check_task

PLACE = ["dataset", "condition", "item"]
RELIABILITY = ("split_half", "reliability", "lower", "upper")


def _count(trials: Any, metric: Metric, design: Design) -> xr.Dataset:
    of_type(trials, Trials, "make them with Trials.from_table")
    if design.sampler != "auto":
        raise ValueError(
            f"sampler={design.sampler!r} has no effect on decision margins, whose posterior "
            "depends on model= ('moments' needs no MCMC); leave sampler out"
        )
    asked = DEFAULTS | dict(design.options)
    n_alternatives = asked["n_alternatives"]
    check_task(2 if n_alternatives is None else n_alternatives)
    margins = asked["margins"]
    if margins is not None:
        several = margins if isinstance(margins, list | tuple) else [margins]
        margins = decision_margins(*several, trials=trials)
    table = margin_table(
        trials, margins, design.pairs, design.by, design.no_response,
        group=asked["group"], cluster=design.cluster,
    )  # fmt: skip
    if design.n_draws:
        model = asked["model"]
        one_of("model", model, get_args(MarginModel))
        if of_items(table, design.cluster) and model != "moments":
            raise ValueError(
                f"model={model!r} has no posterior for clusters of items, got "
                f"cluster={design.cluster!r}; use model='moments', or n_draws=0 for the analytic "
                "interval"
            )
        if model != "moments" or n_alternatives is not None or trials.has_classes:
            table.attrs["n_alternatives"] = alternatives_of(trials, n_alternatives)
    return table


def _alongside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    design: Design,
    seed: np.random.SeedSequence,
) -> Groups:
    """Reliability of the groups, and the disattenuated estimate."""
    ceilings = _ceilings(table, design, seed)
    variables: dict[str, Any] = {"note": entry_notes(table)}
    variables |= _corrected(table, ceilings, estimates["estimate"].values)
    return {"ceilings": ceilings} | of_pairs(variables)


def _draw(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    design: Design,
    seed: np.random.SeedSequence,
) -> Groups:
    model = (DEFAULTS | dict(design.options))["model"]
    found = entry_draws(
        table,
        four_chains(design.n_draws),
        model=model,
        n_alternatives=table.attrs.get("n_alternatives"),
        ci_prob=design.ci_prob,
        cluster=design.cluster,
        rng=seed,
    )
    groups = {"posterior": chained(found["draws"].values.astype(np.float32), table, metric, model)}
    if model == "strengths":
        groups["strengths"] = found[["mean", "sd"]]
    systems = np.stack([table["first"].values, table["second"].values])
    models = table["is_model"].values[systems].all(axis=0)
    variables: dict[str, Any] = {
        "scale": np.where(models, "margin", "share" if model == "moments" else "strength").astype(
            object
        ),
        "posterior_note": found["note"].values,
        **{name: found[name].values for name in CHECKED[model]},
    }
    return groups | of_pairs(variables)


def _ceilings(table: xr.Dataset, design: Design, seed: np.random.SeedSequence) -> xr.Dataset:
    """Reliability of every group of at least two observers, by group of trials."""
    groups, names = np.unique(table["member_group"].values), table["observer"].values
    trial_group, pair_group = table["trial_group"].values, table["pair_group"].values
    clusters = (
        cluster_numbers(table, str(design.cluster)) if of_items(table, design.cluster) else None
    )
    places = [(s, g) for g in np.unique(pair_group).tolist() for s in groups.tolist()]
    rows = []
    for (system, g), own in zip(places, seed.spawn(len(places)), strict=True):
        items = np.flatnonzero((trial_group == g) & (table["shown"].values[system] > 0))
        right, shown = answers_of_group(table, system, items)
        row: dict[str, Any] = dict.fromkeys(RELIABILITY, np.nan)
        row |= {"n_observers": len(right), "n_items": len(items), "undefined": "a single observer"}
        if len(right) > 1:
            share = np.divide(right, shown, out=np.zeros(right.shape), where=shown > 0)
            of_item = None if clusters is None else clusters[items]
            try:
                found = split_half_reliability(
                    share, shown, clusters=of_item, ci_prob=design.ci_prob, rng=own
                )
                row |= {name: getattr(found, name) for name in RELIABILITY}
                row["undefined"] = ""
            except ValueError as error:
                # The other entries may still have a reliability.
                row["undefined"] = str(error)
        pair = int(np.argmax(pair_group == g))
        label = {key: table[key].values[pair] for key in ("dataset", "condition")}
        rows.append(row | {"system": names[system], "trial_group": g} | label)
    texts = ["undefined", "system", "dataset", "condition"]
    columns = [*RELIABILITY, "n_observers", "n_items", "trial_group", *texts]
    frame = pd.DataFrame(rows, columns=columns)
    frame[texts] = frame[texts].astype(object)
    return xr.Dataset.from_dataframe(frame.rename_axis("ceiling"))


def _corrected(
    table: xr.Dataset, ceilings: xr.Dataset, estimates: NDArray[np.float64]
) -> dict[str, Any]:
    """Product of both reliabilities, and the estimate divided by its square root."""
    keys = ["system", "trial_group"]
    of = ceilings.to_dataframe().set_index(keys)["reliability"].to_dict()
    names, g = table["observer"].values, table["pair_group"].values
    ends = [names[table[end].values] for end in ("first", "second")]
    # Responses of a model are deterministic.
    reliability = np.prod(
        [[of.get(key, 1.0) for key in zip(end, g, strict=True)] for end in ends], axis=0
    )
    root = np.sqrt(np.where(reliability > 0, reliability, np.nan))
    return {"reliability": reliability, "ceiling": root, "disattenuated": estimates / root}


# Options of this kind of metric only.
DEFAULTS: dict[str, Any] = {
    "margins": None,
    "group": "kind",
    "n_alternatives": None,
    "model": "moments",
}
MARGINS = Kind(
    _count,
    _alongside,
    _draw,
    lambda design: (DEFAULTS | dict(design.options))["model"],
    DEFAULTS.keys(),
)


def consistency_table(trials: Trials, result: Result) -> pd.DataFrame:
    """Tabulate error consistency, decision-margin consistency and the ceilings of both.

    Parameters
    ----------
    trials : Trials
        The trials of `result`.
    result : Result
        As returned by `alikely.decision_margin_consistency`.

    Returns
    -------
    pandas.DataFrame
        One row per entry of the result:

        - ``dataset, condition, observer_a, observer_b, n_trials, accuracy_a, accuracy_b``
        - ``n_models``: number of systems with margins, 0 to 2
        - ``group`` and ``model``: names of the group and of the model. For two models, ``model`` is
          the second model and ``group`` is empty. For two groups, ``group`` is the first group and
          ``model`` is empty.
        - ``accuracy_model``: accuracy of the model, or of the second of two groups
        - ``margin_consistency`` with its analytic interval (``_lb, _ub``)
        - ``noise_corrected``: posterior median of the noise-corrected correlation, with its
          interval
        - ``error_consistency``: mean over pairs of observers, one from each system, with an
          analytic interval that generalizes to new trials

        For each group, with intervals (NaN for two models):

        - ``group_error_consistency``: mean over pairs of group members, which is not a ceiling for
          a model without response noise
        - ``group_margin_consistency``: expected correlation with a similar group (split-half
          reliability; its interval generalizes to new observers and items)
        - ``margin_ceiling``: square root of the product of the reliabilities of both systems (1 for
          a model; negative values count as 0). The ceiling is the expected correlation if the
          noise-corrected correlation is 1.

        Means over all rows of the data set and condition with the same ``n_models``. The analytic
        intervals of these means generalize to new items with these models and observers:

        - ``mean_error_consistency`` and ``mean_margin_consistency``

        All intervals have the same probability level as those in the result.

    Raises
    ------
    ValueError
        If the result was computed with another metric.

    Notes
    -----
    A model without responses in the trials counts as correct if its margin is above 0.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise", kind="human")
    >>> places = {name: trials.data[name].values for name in ["dataset", "condition", "item"]}
    >>> margins = pd.DataFrame(places).assign(observer="net", margin=np.linspace(-1, 2, 160))
    >>> result = al.decision_margin_consistency(trials, margins, n_draws=0, rng=1)
    >>> len(consistency_table(trials, result))
    1
    """
    of_type(result, Result, "make one with al.decision_margin_consistency")
    if result.metric.counts != "margins":
        raise ValueError(
            f"expected a result of decision_margin_consistency, got {result.metric.name}"
        )
    table, ci_prob = result.table, float(result.data.attrs["ci_prob"])
    summary = result.summary(intervals=["analytic"])
    lower, upper = (name for name in summary if str(name).startswith("analytic_"))
    frame = summary[
        ["dataset", "condition", "observer_a", "observer_b", "n_trials", "accuracy_a", "accuracy_b"]
    ].assign(
        margin_consistency=summary["estimate"],
        margin_consistency_lb=summary[lower],
        margin_consistency_ub=summary[upper],
    )
    bounds = np.full((len(frame), 3), np.nan)
    if "posterior" in result.data.children:
        draws = result.draws("posterior")
        bounds[:, 0] = np.median(draws, axis=0)
        bounds[:, 1:] = interval(draws, ci_prob, result.data.attrs["ci_kind"])
    frame[["noise_corrected", "noise_corrected_lb", "noise_corrected_ub"]] = bounds
    names, model = table["observer"].values, table["is_model"].values
    ends = list(zip(table["first"].values, table["second"].values, strict=True))
    groups = np.array([next((s for s in pair if not model[s]), -1) for pair in ends])
    nets = np.array([next((s for s in pair[::-1] if model[s]), -1) for pair in ends])
    # A model may be the first of a pair.
    is_first = nets == table["first"].values
    frame["n_models"] = [int(model[list(pair)].sum()) for pair in ends]
    frame["group"] = [str(names[s]) if s >= 0 else "" for s in groups]
    frame["model"] = [str(names[s]) if s >= 0 else "" for s in nets]
    frame["accuracy_model"] = np.where(is_first, frame["accuracy_a"], frame["accuracy_b"])
    frame = frame.assign(**_of_groups(result, ends))
    every = _with_models(trials, table)
    across, within = {}, {}
    for entry, ((a, b), group) in enumerate(zip(ends, groups, strict=True)):
        across[entry] = list(itertools.product(_members(table, a), _members(table, b)))
        if group >= 0:
            within[entry] = list(itertools.combinations(_members(table, group), 2))
    alike = frame.groupby(["dataset", "condition", "n_models"], sort=False).ngroup().to_numpy()
    first = {kind: int(np.argmax(alike == kind)) for kind in np.unique(alike).tolist()}
    pooled = {
        entry: [pair for other in np.flatnonzero(alike == kind) for pair in across[int(other)]]
        for kind, entry in first.items()
    }
    cluster = str(result.data.attrs["cluster"])
    unit = cluster if of_items(table, cluster) else None
    of_margins = np.array([
        _mean(table.isel(pair=alike == kind), result.metric, unit) for kind in first
    ])[alike]  # fmt: skip
    of_kinds = _mean_of_pairs(every, table, pooled, unit)
    for name, found in {
        "error_consistency": _mean_of_pairs(every, table, across, unit),
        "group_error_consistency": _mean_of_pairs(every, table, within, unit),
        "mean_error_consistency": of_kinds[[first[kind] for kind in alike.tolist()]],
        "mean_margin_consistency": of_margins,
    }.items():
        value, se, df = found.T
        half = student_deviate(df, ci_prob) * se
        frame[name] = value
        frame[f"{name}_lb"], frame[f"{name}_ub"] = value - half, value + half
    return frame


def _mean(table: xr.Dataset, metric: Metric, unit: str | None) -> tuple[float, float, float]:
    """Mean of the estimates of a table, its standard error and degrees of freedom."""
    n = table.sizes["pair"]
    value, weights = float(estimate(table, metric)["estimate"].values.mean()), np.full(n, 1 / n)
    if unit is not None and of_items(table, unit):
        square, df, _ = of_sums(table, metric, unit, weights[None])[:, 0].tolist()
        return value, float(np.sqrt(square)), df
    return value, float(np.sqrt(covariance_of(table, metric, unit, weights[None])[0, 0])), np.inf


def _of_groups(result: Result, ends: list[tuple[int, int]]) -> dict[str, NDArray[np.float64]]:
    """Reliability of each entry's group, and the ceiling from those of both systems."""
    table = result.table
    names, model = table["observer"].values, table["is_model"].values
    ceilings = result.data["ceilings"].to_dataset().to_dataframe()
    ceilings = ceilings.set_index(["system", "trial_group"])[["reliability", "lower", "upper"]]
    own, roots = np.full((2, len(ends), 3), np.nan)
    for entry, (pair, g) in enumerate(zip(ends, table["pair_group"].values, strict=True)):
        both = [ceilings.loc[(names[s], int(g))].to_numpy(float) for s in pair if not model[s]]
        if both:
            # A ceiling is at least 0; limits of a reliability may be negative.
            own[entry], roots[entry] = both[0], np.sqrt(np.maximum(both, 0)).prod(axis=0)
    return {
        f"{name}{end}": values[:, k]
        for name, values in (("group_margin_consistency", own), ("margin_ceiling", roots))
        for k, end in enumerate(("", "_lb", "_ub"))
    }


def _with_models(trials: Trials, table: xr.Dataset) -> Trials:
    """Add correctness of models that have only margins."""
    data = trials.data
    absent = ~np.isin(table["observer"].values, trials.observers)
    missing = np.flatnonzero(table["is_model"].values & absent)
    if not len(missing):
        return trials
    places = pd.DataFrame(
        {key: table[key if key == "item" else f"trial_{key}"].values for key in PLACE}
    )
    own = pd.DataFrame({key: data[key].values.astype(object) for key in PLACE})
    at = places.reset_index().merge(own, how="right", on=PLACE)["index"].to_numpy()
    margins = table["margins"].values[missing][:, at]
    right = np.where(np.isnan(margins), NOT_SHOWN, margins > 0).astype(np.int8)
    added = xr.Dataset(
        {"correct": (("observer", "trial"), right)},
        coords={
            "observer": table["observer"].values[missing],
            "kind": ("observer", table["kind"].values[missing]),
        },
    )
    of_trial = (*PLACE, "repeat", *data.attrs.get(ITEM_COLUMNS, ()))
    kept = data[["correct", "kind", *of_trial]].drop_vars(
        [name for name in data.coords if name not in ("observer", "kind", *of_trial)],
        errors="ignore",
    )
    joined = xr.concat([kept, added.assign_coords({k: kept[k] for k in of_trial})], dim="observer")
    return Trials(joined)


def _members(table: xr.Dataset, system: int) -> list[str]:
    if table["is_model"].values[system]:
        return [str(table["observer"].values[system])]
    own = table["member_group"].values == system
    return [str(name) for name in table["member"].values[own]]


def _mean_of_pairs(
    trials: Trials, table: xr.Dataset, pairs: dict[int, list[tuple[str, str]]], unit: str | None
) -> NDArray[np.float64]:
    """Mean error consistency over pairs of each entry, standard error and degrees of freedom."""
    by = {"condition": "condition", "dataset": "dataset"}.get(str(table.attrs["by"]))
    names = list(dict.fromkeys(itertools.chain.from_iterable(pairs.values())))
    out = np.full((table.sizes["pair"], 3), np.nan)
    if not names:
        return out
    no_response = table.attrs["no_response"]
    # Humans of different data sets do not form pairs.
    counted = joint_correctness(
        trials, names, cast(By, by), no_response, disjoint=True, repeats="crossed"
    )
    unit = sampling_unit(counted, unit)
    keys = ["dataset", "condition", "observer_a", "observer_b"]
    place = {row: i for i, row in enumerate(zip(*(counted[k].values for k in keys), strict=True))}
    for entry, wanted in pairs.items():
        own = tuple(table[key].values[entry] for key in keys[:2])
        rows = [place[(*own, *pair)] for pair in wanted if (*own, *pair) in place]
        if rows:
            out[entry] = _mean(counted.isel(pair=rows), ERROR_CONSISTENCY, unit)
    return out
