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
from alikely.errors.draws import chained
from alikely.estimates.analysis import Design, Groups, Kind, sampling_unit
from alikely.estimates.contrasts import error_of_sum
from alikely.estimates.kinds import of_pairs
from alikely.estimates.result import Result
from alikely.inference.influence import estimate, of_items
from alikely.inference.process import four_chains
from alikely.inference.weighting import student_deviate
from alikely.margins.model_margins import decision_margins
from alikely.margins.posterior import CHECKED, MarginModel, entry_draws, entry_notes
from alikely.margins.reliability import split_half_reliability
from alikely.margins.tables import alternatives_of, answers_of_group, margin_table
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.margins import check_task

PLACE = ["dataset", "condition", "item"]
RELIABILITY = ("split_half", "reliability", "lower", "upper")
# Options of this kind of metric only.
DEFAULTS = {"margins": None, "group": "kind", "n_alternatives": None, "model": "moments"}


def _options(design: Design) -> dict[str, Any]:
    return DEFAULTS | dict(design.options)


def _count(trials: Any, metric: Metric, design: Design) -> xr.Dataset:
    of_type(trials, Trials, "make them with Trials.from_table")
    if design.sampler != "auto":
        raise ValueError(
            f"sampler={design.sampler!r} has no effect on decision margins, whose posterior "
            "depends on model= ('moments' needs no MCMC); leave sampler out"
        )
    asked = _options(design)
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
    model = asked["model"]
    if design.n_draws:
        one_of("model", model, get_args(MarginModel))
        if of_items(table, design.cluster) and model != "moments":
            raise ValueError(
                f"model={model!r} has no posterior for clusters of items, got "
                f"cluster={design.cluster!r}; use model='moments', or n_draws=0 for the analytic "
                "interval"
            )
    known = n_alternatives is not None or trials.has_classes
    if known or (design.n_draws and model != "moments"):
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
    model = _options(design)["model"]
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


def _reliabilities(table: xr.Dataset, ceilings: xr.Dataset) -> NDArray[np.float64]:
    """Reliability and its limits of both systems of each entry, (system, entry, 3)."""
    frame = ceilings.to_dataframe().set_index(["system", "trial_group"])[[*RELIABILITY[1:]]]
    ends = np.stack([table["first"].values, table["second"].values])
    group = table["pair_group"].values
    keys = [pd.MultiIndex.from_arrays([table["observer"].values[end], group]) for end in ends]
    # Responses of a model are deterministic.
    model = table["is_model"].values[ends][..., None]
    return np.where(model, 1.0, [frame.reindex(key).to_numpy(float) for key in keys])


def _corrected(
    table: xr.Dataset, ceilings: xr.Dataset, estimates: NDArray[np.float64]
) -> dict[str, Any]:
    """Product of both reliabilities, and the estimate divided by its square root."""
    reliability = _reliabilities(table, ceilings)[..., 0].prod(axis=0)
    root = np.sqrt(np.where(reliability > 0, reliability, np.nan))
    return {"reliability": reliability, "ceiling": root, "disattenuated": estimates / root}


MARGINS = Kind(
    _count,
    _alongside,
    _draw,
    lambda design: _options(design)["model"],
    DEFAULTS.keys(),
)


def consistency_table(trials: Trials, result: Result) -> pd.DataFrame:
    """Tabulate error consistency and decision-margin consistency between and within systems.

    Parameters
    ----------
    trials : Trials
        Trials from which `result` was computed.
    result : Result
        Result of `alikely.decision_margin_consistency`.

    Returns
    -------
    pandas.DataFrame
        One row per pair of systems and group of trials:

        - ``dataset, condition, observer_a, observer_b, n_trials, accuracy_a, accuracy_b``
        - ``n_models``: number of systems with margins, 0 to 2
        - ``group`` and ``model``: names of the group and of the model. For a pair of models,
          ``model`` is ``observer_b`` and ``group`` is empty. For a pair of groups, ``group`` is
          the first group and ``model`` is empty.
        - ``accuracy_model``: accuracy of the model, or of the second of two groups
        - ``margin_consistency`` with its analytic interval (``_lb, _ub``)
        - ``noise_corrected``: posterior median of the noise-corrected correlation, with its
          interval
        - ``error_consistency``: mean over pairs of observers, one from each system, with an
          analytic interval that generalizes to new trials

        The following columns also have intervals, and are NaN if both systems are models:

        - ``group_error_consistency``: mean over pairs of group members, which is not a ceiling for
          a model without response noise
        - ``group_margin_consistency``: expected correlation with a similar group (split-half
          reliability; its interval generalizes to new observers and items)
        - ``margin_ceiling``: square root of the product of the reliabilities of both systems (a
          model's reliability is 1; negative reliabilities count as 0). The ceiling is the expected
          correlation if the noise-corrected correlation is 1.

        Columns whose names begin with ``mean_`` are means over all rows with the same data set,
        condition and ``n_models``. The following means have analytic intervals, which generalize to
        new items with the same observers:

        - ``mean_error_consistency`` and ``mean_margin_consistency``

        All intervals have the same probability level as those in the result.

    Raises
    ------
    ValueError
        If the metric of the result is not decision-margin consistency.

    Notes
    -----
    A model that has margins but no responses counts as correct on each item with a margin above 0.

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
    stems = {"margin_consistency": "analytic"}
    if "posterior" in result.data.children:
        stems["noise_corrected"] = "posterior"
    summary = result.summary(intervals=[*stems.values()])
    frame = summary[
        ["dataset", "condition", "observer_a", "observer_b", "n_trials", "accuracy_a", "accuracy_b"]
    ].copy()
    for stem in ("margin_consistency", "noise_corrected"):
        bounds = summary.filter(regex=f"^{stems.get(stem)}_.*_[lu]b$").to_numpy()
        middle = "estimate" if stem == "margin_consistency" else "posterior_median"
        frame[stem] = summary.get(middle, np.nan)
        frame[[f"{stem}_lb", f"{stem}_ub"]] = bounds if stem in stems else np.nan
    names, model = table["observer"].values, table["is_model"].values
    first, second = table["first"].values, table["second"].values
    # A model may be the first of a pair.
    groups = np.where(~model[first], first, np.where(~model[second], second, -1))
    nets = np.where(model[second], second, np.where(model[first], first, -1))
    frame["n_models"] = model[first].astype(np.int64) + model[second]
    frame["group"] = np.where(groups >= 0, names[groups], "").astype(object)
    frame["model"] = np.where(nets >= 0, names[nets], "").astype(object)
    frame["accuracy_model"] = np.where(nets == first, frame["accuracy_a"], frame["accuracy_b"])
    known = _reliabilities(table, result.data["ceilings"].to_dataset())
    own = np.where((groups == first)[:, None], known[0], known[1])
    # A ceiling is at least 0; limits of a reliability may be negative.
    roots = np.sqrt(np.maximum(known, 0)).prod(axis=0)
    for stem, values in (("group_margin_consistency", own), ("margin_ceiling", roots)):
        columns = [stem, f"{stem}_lb", f"{stem}_ub"]
        frame[columns] = np.where((groups >= 0)[:, None], values, np.nan)
    every = _with_models(trials, table)
    members = [_members(table, system) for system in range(len(names))]
    across = {
        entry: [*itertools.product(members[a], members[b])]
        for entry, (a, b) in enumerate(zip(first, second, strict=True))
    }
    within = {
        entry: [*itertools.combinations(members[group], 2)]
        for entry, group in enumerate(groups)
        if group >= 0
    }
    alike = frame.groupby(["dataset", "condition", "n_models"], sort=False).ngroup().to_numpy()
    kinds, start, alike = np.unique(alike, return_index=True, return_inverse=True)
    pooled: dict[int, list[tuple[str, str]]] = {int(entry): [] for entry in start}
    for entry, kind in enumerate(alike):
        pooled[int(start[kind])] += across[entry]
    cluster = str(result.data.attrs["cluster"])
    unit = cluster if of_items(table, cluster) else None
    of_margins = [_mean(table.isel(pair=alike == kind), result.metric, unit) for kind in kinds]
    for name, found in {
        "error_consistency": _mean_of_pairs(every, table, across, unit),
        "group_error_consistency": _mean_of_pairs(every, table, within, unit),
        "mean_error_consistency": _mean_of_pairs(every, table, pooled, unit)[start[alike]],
        "mean_margin_consistency": np.array(of_margins)[alike],
    }.items():
        value, se, df = found.T
        half = student_deviate(df, ci_prob) * se
        frame[name] = value
        frame[f"{name}_lb"], frame[f"{name}_ub"] = value - half, value + half
    return frame


def _mean(table: xr.Dataset, metric: Metric, unit: str | None) -> tuple[float, float, float]:
    """Mean of the estimates of a table, its standard error and degrees of freedom."""
    weights = np.full(table.sizes["pair"], 1 / table.sizes["pair"])
    se, df, _ = error_of_sum(table, metric, unit or "", weights)
    return float(estimate(table, metric)["estimate"].values.mean()), se, df


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
