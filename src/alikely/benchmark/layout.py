"""Layout of a count table for scores: the pairs of each score, and nested means over the pairs.

A part is a data set or a condition, depending on the levels of the table of scores. Scores of data
sets and alignment by condition use the same layout, with means over conditions, then humans, then
data sets.

References
----------
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.arrays import Floats, within
from alikely._base.checks import known_kind, of_type, one_of, require_names
from alikely._base.frames import Groups, groups_of
from alikely._base.names import listed, nearest
from alikely._base.settings import options
from alikely.data.blocks import cluster_numbers
from alikely.data.columns import HUMAN_IDS
from alikely.data.readers.experiments import normalize_condition
from alikely.data.repeats import refuse_repeats
from alikely.data.tables import By, Repeats, joint_correctness
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.inference.intervals import mean_of_defined
from alikely.metrics import Metric, get_metric

# Populations that intervals generalize to: new images, new humans, or both.
Population = Literal["images", "observers", "both"]
POPULATIONS: tuple[Population, ...] = ("images", "observers", "both")
# Scope in which a label identifies one human.
People = Literal["shared", "per_dataset"]
# Rows that tables of scores add to models and to levels. Users select rows by these names, so
# models and data sets must not have them.
HUMANS, CEILING, OVERALL = "human-human", "ceiling", "overall"
HUMAN = "human"
# With fewer, the variance over humans is poorly estimated.
FEWEST_HUMANS = 4
# With fewer, intervals cannot generalize to new humans: leaving one out leaves no pair.
FEWEST_PEOPLE = 3
# Last rows of all arrays of scores, after the models, as in `Layout.systems`.
HUMAN_ROWS = HUMAN_ROW, CEILING_ROW = -2, -1
# Scope in which an item label identifies one image.
Items = Literal["dataset", "label", "condition"]
SAME_IMAGE: dict[Items, list[str]] = {
    "label": ["item"],
    "dataset": ["trial_dataset", "item"],
    "condition": ["trial_dataset", "trial_condition", "item"],
}
Exclusions = Mapping[str, Sequence[str]]
# Attribute of trials: the excluded conditions.
EXCLUDED = "excluded"

# Conditions that the model-vs-human benchmark excludes: undistorted ones, in which humans make too
# few errors, and those at chance [G21]_.
EXCLUSIONS: dict[str, Exclusions] = {
    "model-vs-human": {
        "colour": ["cr"],
        "contrast": ["c100", "c03", "c01"],
        "high-pass": ["inf", "0.55", "0.45", "0.4"],
        "low-pass": ["0", "15", "40"],
        "phase-scrambling": ["0", "150", "180"],
        "power-equalisation": ["0"],
        "false-colour": ["true"],
        "rotation": ["0"],
        "eidolonI": ["1-10-10", "64-10-10", "128-10-10"],
        "eidolonII": ["1-3-10", "32-3-10", "64-3-10", "128-3-10"],
        "eidolonIII": ["1-0-10", "16-0-10", "32-0-10", "64-0-10", "128-0-10"],
        "uniform-noise": ["0", "0.6", "0.9"],
    }
}

type Level = Literal["dataset", "condition"]
KEYS: dict[Level, list[str]] = {"dataset": ["dataset"], "condition": ["dataset", "condition"]}


class Part(NamedTuple):
    """Pairs of one data set or condition: positions on the ``pair`` dim, -1 if missing."""

    name: str
    dataset: str
    people: list[str]
    models: NDArray[np.intp]
    mixed: NDArray[np.intp]
    alike: NDArray[np.intp]
    i: NDArray[np.intp]
    j: NDArray[np.intp]

    @property
    def n_humans(self) -> int:
        """Number of humans who responded."""
        return len(self.people)


class Layout(NamedTuple):
    """All parts (data sets or conditions) of a count table."""

    parts: list[Part]
    models: list[str]
    part_of_entry: NDArray[np.intp]
    levels: dict[str, list[int]]

    @property
    def systems(self) -> list[str]:
        """Names of the rows of scores."""
        return [*self.models, HUMANS, CEILING]

    @property
    def all_levels(self) -> dict[str, list[int]]:
        """Positions of the parts of each level (such as a data set) and of the overall mean."""
        return {**self.levels, OVERALL: list(range(len(self.parts)))}

    def dataset(self, variables: Mapping[str, Any], **labels: Any) -> xr.Dataset:
        """Make a Dataset of variables with coordinates for levels and systems."""
        coords = {"level": list(self.all_levels), "system": self.systems}
        return xr.Dataset(variables, coords | labels)


def laid_out(
    trials: Trials,
    *,
    models: str | None,
    humans: str,
    grouping: By = "condition",
    no_response: Literal["error", "drop"] = "error",
    labels: bool | Literal["options", "any"] = False,
    both_orders: bool = False,
    level: Level = "dataset",
    groups: Groups | None = None,
    repeats: Repeats = "crossed",
) -> tuple[xr.Dataset, Layout]:
    """Count trials of human-human and human-model pairs, and assign the pairs to scores."""
    known = of_type(trials, Trials, "make them with Trials.from_table").data["kind"].values
    alone = ", or compare kinds without a reference by al.benchmark.group_scores"
    for option, asked in (("humans", humans), ("models", models)):
        if asked is not None:
            known_kind(option, asked, known, alone)
    kinds = [f"{humans}-{humans}"] + ([] if models is None else [f"{humans}-{models}"])
    table = joint_correctness(trials, kinds, grouping, no_response, labels=labels, repeats=repeats)
    kind = kinds_of_observers(trials)
    if both_orders:
        table = _in_both_orders(table, kind, humans)
    return table, layout_of(table, kind, humans, level, both_orders=both_orders, groups=groups)


def metric_of_trials(metric: str | Metric) -> Metric:
    """Return a metric, and check that it depends only on trials that two observers share."""
    found = get_metric(metric)
    if found.counts == "margins":
        raise ValueError(
            f"metric must be a metric of trials, got {found.name}, a metric of margins; use "
            "alikely.benchmark.scores_from_result(alikely.decision_margin_consistency(trials, "
            "margins))"
        )
    return found


def attributes(kind: str, metric: Metric, no_response: str, cluster: str | None) -> dict[str, Any]:
    """Return the attributes of a result that is computed from trials."""
    return {
        "kind": kind,
        "metric": metric.name,
        "metric_module": metric.module,
        "ci_prob": options.ci_prob,
        "ci_kind": options.ci_kind,
        "no_response": no_response,
        "cluster": cluster or "",
        "alikely_version": alikely.__version__,
        **metric.options,
    }


def refuse_repeats_for(trials: Trials, *metrics: Metric) -> None:
    """Raise an error for repeated items where a metric needs one response to each."""
    for metric in metrics:
        if not metric.crosses_repeats:
            refuse_repeats(trials.data, metric.label)


def require_trials(trials: object) -> None:
    """Raise an error if the argument is not a `Trials` object."""
    way_out = "make them with Trials.from_table"
    if hasattr(trials, "pairs"):
        way_out = "score a result with alikely.benchmark.scores_from_result"
    of_type(trials, Trials, way_out)


def kinds_of_observers(trials: Trials) -> dict[str, str]:
    """Kind of each observer by name."""
    return dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))


def _in_both_orders(table: xr.Dataset, kind: Mapping[str, str], humans: str) -> xr.Dataset:
    """Add each pair of humans with the second as the reference."""
    alike = [kind[name] == humans for name in table["observer_b"].values.tolist()]
    n_pairs, again = table.sizes["pair"], np.flatnonzero(alike)
    position = np.concatenate([np.arange(n_pairs), again])
    # Pairs of one group of trials are adjacent.
    order = np.argsort(table["pair_group"].values[position], kind="stable")
    turned = order >= n_pairs
    both = table.isel(pair=position[order])
    swapped: dict[str, Any] = {}
    for one, other in (("first", "second"), ("observer_a", "observer_b")):
        a, b = both[one].values, both[other].values
        swapped[one] = ("pair", np.where(turned, b, a))
        swapped[other] = ("pair", np.where(turned, a, b))
    cells = both["cells"].values
    swapped["cells"] = (("pair", "cell"), np.where(turned[:, None], cells[:, [0, 2, 1, 3]], cells))
    labels = both["pair"].values.astype(object)
    labels[turned] = [f"{label} (turned)" for label in labels[turned]]
    return both.assign(swapped).assign_coords(pair=labels)


def in_other_order(table: xr.Dataset) -> NDArray[np.intp]:
    """Return the position of each pair's reversed order, or its own if there is only one order."""
    columns = [table[name].values.tolist() for name in ("pair_group", "first", "second")]
    place = {key: position for position, key in enumerate(zip(*columns, strict=True))}
    return np.array([place.get((g, b, a), at) for (g, a, b), at in place.items()], dtype=np.intp)


def layout_of(
    table: xr.Dataset,
    kind: Mapping[str, str],
    humans: str,
    level: Level = "dataset",
    *,
    both_orders: bool = False,
    groups: Groups | None = None,
) -> Layout:
    """Arrange the pairs of a count table by part (data set or condition)."""
    frame = pd.DataFrame(
        {name: table[name].values for name in ("dataset", "condition", "observer_a", "observer_b")}
    )
    frame["alike"] = [kind[name] == humans for name in frame["observer_b"]]
    part_of_entry = frame.groupby(KEYS[level], sort=False).ngroup().to_numpy(dtype=np.intp)
    turned = frame["alike"].to_numpy() & (table["first"].values > table["second"].values)
    models: dict[str, int] = {}
    parts = []
    for key, part in frame[~turned | both_orders].groupby(KEYS[level], sort=False):
        for name in part.loc[~part["alike"], "observer_b"]:
            models.setdefault(name, len(models))
        parts.append(_part([str(label) for label in key], part, models, both_orders))
    labels = names = [part.name for part in parts]
    if groups is not None:
        labels = groups_of(names, groups, "level")
    # In order of first appearance.
    levels: dict[str, list[int]] = {}
    for number, label in enumerate(labels):
        levels.setdefault(str(label), []).append(number)
    return Layout(parts, list(models), part_of_entry, levels)


def _part(
    key: list[str], frame: pd.DataFrame, models: Mapping[str, int], both_orders: bool
) -> Part:
    """Lay out the pairs in the rows of `frame`, whose index is their position."""
    alike = frame["alike"].to_numpy()
    people = list(pd.unique(pd.concat([frame["observer_a"], frame.loc[alike, "observer_b"]])))
    if len(people) < 2:
        raise ValueError(
            f"a benchmark needs at least 2 humans in each data set, {':'.join(key)!r} has "
            f"{len(people)}; leave it out with trials.select(dataset=[...])"
        )
    own = list(pd.unique(frame.loc[~alike, "observer_b"]))
    condition = pd.factorize(frame["condition"])[0]
    position = frame.index.to_numpy()
    number = {name: h for h, name in enumerate(people)}
    first = frame["observer_a"].map(number).to_numpy(dtype=np.intp)
    second = frame.loc[alike, "observer_b"].map(number).to_numpy(dtype=np.intp)
    column = frame.loc[~alike, "observer_b"].map(own.index).to_numpy(dtype=np.intp)
    pairs = np.stack([first[alike], second])
    if both_orders:
        i, j = np.nonzero(~np.eye(len(people), dtype=bool))
    else:
        i, j = np.triu_indices(len(people), k=1)
        pairs = np.sort(pairs, axis=0)
    place = np.zeros((len(people), len(people)), dtype=np.intp)
    place[i, j] = np.arange(len(i))
    n_conditions = condition.max() + 1
    mixed_at = np.full((n_conditions, len(people), len(own)), -1)
    mixed_at[condition[~alike], first[~alike], column] = position[~alike]
    alike_at = np.full((n_conditions, len(i)), -1)
    alike_at[condition[alike], place[pairs[0], pairs[1]]] = position[alike]
    took_part = np.array([models[name] for name in own], dtype=np.intp)
    return Part(":".join(key), key[0], people, took_part, mixed_at, alike_at, i, j)


def people_drawn(
    parts: Sequence[Part], n_resamples: int, seed: np.random.SeedSequence
) -> list[Floats]:
    """Draw how often each human is resampled; the parts of a data set share one sample."""
    generator = np.random.default_rng(seed)
    people: dict[str, dict[str, None]] = {}
    for part in parts:
        people.setdefault(part.dataset, {}).update(dict.fromkeys(part.people))
    times = {}
    for dataset, names in people.items():
        n = len(names)
        drawn = generator.multinomial(n, np.full(n, 1 / n), n_resamples).astype(np.float64)
        times[dataset] = dict(zip(names, drawn.T, strict=True))
    return [np.stack([times[p.dataset][name] for name in p.people], axis=1) for p in parts]


def require_balance(layout: Layout) -> None:
    """Raise an error if a model is missing from a data set."""
    with_models = [part for part in layout.parts if len(part.models)]
    if not with_models:
        raise ValueError("no data set has a model to score; check the kinds of the observers")
    for part in with_models:
        absent = np.setdiff1d(np.arange(len(layout.models)), part.models)
        if len(absent):
            raise ValueError(
                f"model {layout.models[absent[0]]!r} is missing in data set {part.name!r}, so its "
                "mean is not comparable with those of other models; leave out this model or this "
                "data set"
            )


def refuse_own_names(what: str, names: Collection[str], own: Sequence[str]) -> None:
    """Raise an error if a model or data set has a name that tables use for an added row."""
    taken = [name for name in own if name in names]
    if taken:
        raise ValueError(
            f"no {what} may be called {taken[0]!r}, because tables of scores add rows with the "
            f"names {', '.join(own)}; rename the {what} before you read the data"
        )


def system_labels(
    trials: Trials, systems: Sequence[str], own: Collection[str]
) -> dict[str, tuple[str, NDArray[Any]]]:
    """Return the labels of the observers that are systems, as coordinates."""
    data = trials.data
    described = {"observer", "kind"}
    names = [str(c) for c in data.coords if data[c].dims == ("observer",) and c not in described]
    taken = [name for name in names if name in own]
    if taken:
        raise ValueError(
            f"label {taken[0]!r} of the observers has the name of a column of the result "
            f"({', '.join(sorted(own))}); rename it before you read the data, or leave it out"
        )
    position = {name: i for i, name in enumerate(trials.observers)}
    return {
        name: (
            "system",
            np.array([data[name].values[position[s]] if s in position else "" for s in systems]),
        )
        for name in names
    }


def checked_labels(trials: Trials, humans: str, human_ids: str | None, item_scope: Items) -> People:
    """Check the scopes of human and item labels; return that of humans."""
    one_of("item_scope", item_scope, tuple(SAME_IMAGE))
    if human_ids is not None:
        one_of("human_ids", human_ids, ("shared", "per_dataset"))
    _check_truths(trials, item_scope)
    said = human_ids or trials.data.attrs.get(HUMAN_IDS)
    data, own = trials.data, np.flatnonzero(trials.data["kind"].values == humans)
    number = pd.factorize(data["dataset"].values)[0]
    shown = data["correct"].values[own] != NOT_SHOWN
    places = [len(np.unique(number[row])) for row in shown]
    if said is None and max(places, default=0) > 1:
        name = str(data["observer"].values[own[np.argmax(places)]])
        raise ValueError(
            f"label {name!r} occurs in {max(places)} data sets and may be one person or several; "
            "set human_ids='shared' if a label identifies the same person in all data sets, or "
            "human_ids='per_dataset' if each data set has different people"
        )
    return cast("People", said or "shared")


def _check_truths(trials: Trials, item_scope: Items) -> None:
    """Raise an error if one image has several true classes, so that its label is ambiguous."""
    data = trials.data
    if "truth" not in data:
        return
    keys = [name.removeprefix("trial_") for name in SAME_IMAGE[item_scope]]
    frame = pd.DataFrame(
        {name: data[name].values for name in ("dataset", "condition", "item", "truth")}
    )
    several = frame.drop_duplicates([*keys, "truth"])
    odd = several[several.duplicated(keys, keep=False)]
    if odd.empty:
        return
    odd = odd[(odd[keys] == odd.iloc[0][keys]).all(axis=1)].head(2)
    said = [
        f"{data['class'].values[row.truth]!r} in condition {row.condition!r} of data set "
        f"{row.dataset!r}"
        for row in odd.itertuples()
    ]
    finer = "set item_scope='condition' if labels are reused, or "
    raise ValueError(
        f"item {odd['item'].iloc[0]!r} has the true class {', and '.join(said)}, but an image "
        f"has only one: {finer * (item_scope != 'condition')}give each image a unique label"
    )


def image_numbers(
    table: xr.Dataset, item_scope: Items, cluster: str | None = None
) -> NDArray[np.intp]:
    """Number the images of the trials of a table, or clusters of images within data sets."""
    if cluster is not None:
        return cluster_numbers(table, cluster)
    keys = {
        "item": table["item"].values,
        "trial_dataset": table["trial_dataset"].values,
        "trial_condition": table["trial_group"].values,
    }
    frame = pd.DataFrame({name: keys[name] for name in SAME_IMAGE[item_scope]})
    return np.asarray(frame.groupby(SAME_IMAGE[item_scope], sort=False).ngroup(), dtype=np.intp)


def nested_scores(
    layout: Layout,
    values: NDArray[np.floating],
    people: Sequence[NDArray[np.floating]] | None = None,
) -> Floats:
    """Compute the scores in all data sets or conditions from the values of all pairs."""
    if people is None and not np.isnan(values).any():
        return _plain_scores(layout, values)
    n_draws = max(len(values), 1 if people is None else len(people[0]))
    out = np.full((n_draws, len(layout.parts), len(layout.systems)), np.nan)
    for d, part in enumerate(layout.parts):
        times = np.ones((1, part.n_humans)) if people is None else people[d]
        per_pair = mean_of_defined(_take(values, part.alike), 1.0, axis=1)
        human_row = mean_of_defined(per_pair, times[:, part.i] * times[:, part.j], axis=1)
        out[:, d, HUMAN_ROW] = human_row
        if len(part.models):
            out[:, d, CEILING_ROW] = human_row
            per_human = mean_of_defined(_take(values, part.mixed), 1.0, axis=1)
            out[:, d, part.models] = mean_of_defined(per_human, times[:, :, None], axis=1)
    return out


def _plain_scores(layout: Layout, values: NDArray[np.floating]) -> Floats:
    """Scores if all values are defined: one matrix product, with equal weights in all draws."""
    out = np.full((len(values), len(layout.parts), len(layout.systems)), np.nan)
    for d, part in enumerate(layout.parts):
        entries = np.union1d(part.alike, part.mixed)
        entries = entries[entries >= 0]
        defined = np.ones(values.shape[1], dtype=bool)
        weights = _weights(layout, part, defined, np.ones(part.n_humans))[:, entries]
        there = weights.any(axis=1)
        used = values[:, entries]
        means = used @ weights[there].T.astype(values.dtype)
        # A mean lies within the range of its values, despite rounding of weights.
        out[:, d, there] = within(means, used.min(initial=np.inf), used.max(initial=-np.inf))
    return out


def _take(values: NDArray[np.floating], index: NDArray[np.intp]) -> NDArray[np.floating]:
    return np.where(index >= 0, values[:, index], np.nan)


def by_level(layout: Layout, values: NDArray[np.floating]) -> Floats:
    """Scores of all levels, each a mean over the level's parts, and the mean over levels."""
    scores = nested_scores(layout, values)
    levels = [
        scores[:, own[0]] if len(own) == 1 else _mean(scores[:, own])
        for own in layout.levels.values()
    ]
    return np.stack([*levels, _mean(np.stack(levels, axis=1))], axis=1)


def _mean(scores: Floats) -> Floats:
    """Mean over parts, (draw, part, system) to (draw, system)."""
    # A part without this system is skipped; one undefined replicate makes the mean undefined.
    there = ~np.isnan(scores).all(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(there, scores, 0.0).sum(axis=1) / there.sum(axis=0))


def undefined_entries(layout: Layout, value: Floats) -> NDArray[np.int64]:
    """Number of undefined pairs of each score."""
    every, counts = np.ones(len(value), dtype=bool), []
    for part in layout.parts:
        used = _weights(layout, part, every, np.ones(part.n_humans)) > 0
        counts.append((used & np.isnan(value)).sum(axis=1))
    of_part = np.stack(counts)
    return np.stack([of_part[own].sum(axis=0) for own in layout.all_levels.values()])


def _weights(layout: Layout, part: Part, defined: NDArray[np.bool_], times: Floats) -> Floats:
    """Weight of every pair in the scores of one part: shape (system, pair)."""
    weights = np.zeros((len(layout.systems), len(defined)))
    for index, people, rows in (
        (part.alike[:, :, None], times[part.i] * times[part.j], [HUMAN_ROW]),
        (part.mixed, times, part.models.tolist()),
    ):
        there = (index >= 0) & defined[index]
        conditions = there.sum(axis=0)
        share = np.where(conditions > 0, people[:, None], 0.0)
        total = share.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            weight = np.where(there, share / total / conditions, 0.0)
        for column, row in enumerate(rows):
            here = there[:, :, column]
            weights[row, index[:, :, column][here]] = weight[:, :, column][here]
    if len(part.models):
        weights[CEILING_ROW] = weights[HUMAN_ROW]
    return weights


def human_shifts(
    layout: Layout, part: Part, defined: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """Leave out each human of a data set or condition in turn [ES81]_.

    Returns weights of the pairs in the scores (system, pair), their changes without each human
    (human, system, pair), systems with too few humans, and who responded (human, system).
    """
    full = _weights(layout, part, defined, np.ones(part.n_humans))
    others = 1.0 - np.eye(part.n_humans)
    left = np.stack([_weights(layout, part, defined, times) - full for times in others])
    takes_part = (left != 0).any(axis=2)
    lost = np.isnan(left).any(axis=(0, 2)) | (part.n_humans < FEWEST_PEOPLE)
    left[:, lost] = 0.0
    n_humans = np.maximum(takes_part.sum(axis=0), 1)
    left *= np.sqrt((n_humans - 1) / n_humans)[:, None]
    return full, left, lost, takes_part


def exclude_conditions(trials: Trials, exclude: str | Exclusions) -> Trials:
    """Exclude conditions from data sets.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    exclude : str or mapping of str to sequence of str
        Name of a preset (``"model-vs-human"``), or a mapping from data sets to conditions. Labels
        are compared after normalization (`alikely.datasets.loaders.normalize_condition`), so that
        ``0.00`` matches ``0``.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        If the preset is unknown, or if all conditions would be excluded.
    ValueError
        If a data set lacks a condition named in the mapping.

    Examples
    --------
    >>> import alikely as al
    >>> trials = exclude_conditions(al.load_example(), {"all": ["clean"]})
    >>> sorted(set(trials.data["condition"].values))
    ['blur', 'noise']
    """
    if isinstance(exclude, str) and exclude not in EXCLUSIONS:
        raise ValueError(
            f"exclude must be one of {listed(EXCLUSIONS)} or a mapping, got {exclude!r}"
            f"{nearest(exclude, EXCLUSIONS)}"
        )
    rules = EXCLUSIONS[exclude] if isinstance(exclude, str) else exclude
    datasets = trials.data["dataset"].values
    conditions = np.array([normalize_condition(c) for c in trials.data["condition"].values])
    drop = np.zeros(trials.n_trials, dtype=bool)
    for dataset, labels in rules.items():
        here = datasets == dataset
        wanted = {normalize_condition(label) for label in labels}
        if here.any() and not isinstance(exclude, str):
            require_names(f"condition of data set {dataset!r}", sorted(wanted), {*conditions[here]})
        drop |= here & np.isin(conditions, list(wanted))
    if drop.all():
        raise ValueError("exclude removes every condition; keep at least one")
    kept = trials.data.isel(trial=~drop).assign_attrs({EXCLUDED: str(exclude)})
    return Trials(kept).select()


def in_kinds(text: str, kind: str) -> str:
    """Replace the word for humans in a text by the name of another kind of observer."""
    if kind == HUMAN:
        return text
    text = text.replace(f"{HUMAN}-{HUMAN}", f"{kind}-{kind}")
    # The kind itself may contain the word "human".
    word = r"(?<!of kind )(?<![-\w])human(s?)(?![-\w])"
    return re.sub(word, lambda found: f"observer{found[1]} of kind {kind}", text)
