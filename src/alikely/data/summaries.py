"""Summaries of trials: numbers of responses, accuracies, unmatched items, and a description."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.frames import ROWS, html_of
from alikely._base.names import counted, listed, number, shorten, visible
from alikely.data.columns import ITEM_COLUMNS, NO_RESPONSE, NOT_SHOWN, NOTES
from alikely.data.probabilities import PROBABILITY

# The group of results that holds a summary of data.
DATA_SUMMARY = "data_summary"
# Observers with a larger fraction of unshared trials do not match.
MOST_ALONE = 0.5
MOST_NAMED = 5
WIDTH, LABEL = 80, 12
MOST_OBSERVERS, MOST_CONDITIONS, NAME = 20, 8, 24
# A matrix of fewer observers has little structure.
FEWEST_OF_MATRIX = 8
# How missing responses, and a single one, are treated, and what else can be done.
TREATED = {
    "error": ("count as errors", "counts as an error"),
    "class": ("count as a class", "counts as a class"),
    "drop": ("are excluded", "is excluded"),
}


def missing_note_of(
    data: xr.Dataset, no_response: str, *kinds: str, observers: Sequence[str] | None = None
) -> str:
    """Report missing responses of some observers and their treatment; empty if none is missing."""
    own = np.isin(data["kind"].values, kinds) if kinds else np.ones(data.sizes["observer"], bool)
    if observers is not None:
        own &= np.isin(data["observer"].values.astype(str), observers)
    correct = data["correct"].values[own]
    n, n_responses = (int(x.sum()) for x in (correct == NO_RESPONSE, correct != NOT_SHOWN))
    if not n:
        return ""
    are, them = ("is", "it") if n == 1 else ("are", "them")
    fix = "" if no_response == "drop" else f'. Pass no_response="drop" to exclude {them}'
    treated = TREATED[no_response][n == 1]
    return f"{n:,} of {n_responses:,} responses {are} missing and {treated}{fix}"


def data_summary(data: xr.Dataset) -> xr.Dataset:
    """Count shown, answered and missing trials, for results."""
    correct, datasets = data["correct"].values, data["dataset"].values.astype(str)
    names = pd.unique(datasets)
    parts = [correct[:, datasets == name] for name in names]
    counts = {
        "n_shown": [(part != NOT_SHOWN).sum(axis=1) for part in parts],
        "n_correct": [(part == 1).sum(axis=1) for part in parts],
        "n_missing": [(part == NO_RESPONSE).sum(axis=1) for part in parts],
    }
    keys = ["dataset", "condition", "item"]
    repeats = pd.DataFrame({key: data[key].values.astype(str) for key in keys}).value_counts()
    conditions = repeats.index.droplevel("item").unique().get_level_values("dataset").value_counts()
    return xr.Dataset(
        {name: (("dataset", "observer"), np.array(found)) for name, found in counts.items()}
        | {
            "n_trials": ("dataset", [part.shape[1] for part in parts]),
            "n_conditions": ("dataset", conditions.loc[names].to_numpy()),
            "kind": ("observer", data["kind"].values.astype(str).astype(object)),
        },
        coords={
            "dataset": names.astype(object),
            "observer": data["observer"].values.astype(str).astype(object),
        },
        attrs={
            "n_classes": data.sizes.get("class", 0) if "response" in data else 0,
            "n_items": len(repeats),
            "without_truth": int("response" in data and "truth" not in data),
            "n_repeated": int((repeats > 1).sum()),
            "max_repeats": int(repeats.max()) if len(repeats) else 0,
            "notes": "\n".join(str(note) for note in data.attrs.get(NOTES, ())),
        },
    )


def summary_table(summary: xr.Dataset) -> pd.DataFrame:
    """Build the table of `Trials.summary`."""
    n_shown, n_correct, n_missing = (
        summary[name].values for name in ("n_shown", "n_correct", "n_missing")
    )
    d, i = np.nonzero(n_shown)
    shown = n_shown[d, i]
    return pd.DataFrame(
        {
            "dataset": summary["dataset"].values[d],
            "observer": summary["observer"].values[i],
            "kind": summary["kind"].values[i],
            "n_trials": shown,
            "accuracy": np.nan if summary.attrs.get("without_truth") else n_correct[d, i] / shown,
            "no_response": n_missing[d, i],
            "not_shown": summary["n_trials"].values[d] - shown,
        }
    )


def long_table_of(data: xr.Dataset) -> pd.DataFrame:
    """Build the table of `alikely.Trials.to_table`."""
    i, t = np.nonzero(data["correct"].values != NOT_SHOWN)
    of_observer = [name for name in data.coords if data[name].dims == ("observer",)]
    columns = {str(name): data[name].values[i] for name in of_observer}
    described = data.attrs.get(ITEM_COLUMNS, ())
    for name in ("dataset", "condition", "item", "repeat", *described):
        columns[name] = data[name].values[t]
    if "response" in data:
        # One place more, so that the code -1 of a missing response finds None.
        names = np.array([*map(str, data["class"].values), None], dtype=object)
        if "truth" in data:
            columns["truth"] = names[data["truth"].values[t]]
        columns["response"] = names[data["response"].values[i, t]]
    else:
        correct = data["correct"].values[i, t]
        columns["correct"] = np.where(correct == NO_RESPONSE, np.nan, correct)
    return pd.DataFrame(columns)


def html_summary(data: xr.Dataset, head: str, notes: Sequence[str]) -> str:
    """Format trials as HTML: notes and the first rows of the summary."""
    table = summary_table(data_summary(data))
    several = ["dataset"] if table["dataset"].nunique() > 1 else []
    numbers = ["n_trials", "accuracy", "no_response", "not_shown"]
    cells = table.head(ROWS)[[*several, "observer", "kind", *numbers]]
    cells = cells.assign(accuracy=[number(value, 3) for value in cells["accuracy"]])
    cells.columns = [name.removeprefix("n_").replace("_", " ") for name in cells]
    return html_of(
        head,
        cells.astype(str),
        numbers=["trials", "accuracy", "no response", "not shown"],
        n_rows=len(table),
        notes=list(notes),
        more="summary() has all",
    )


def matched(data: xr.Dataset, unmatched: str) -> str:
    """Return a note on trials of one observer or kind (`ValueError` if observers do not match)."""
    note = "; ".join(filter(None, [_unshared(data, by) for by in ("observer", "kind")]))
    n_trials, n_alone = (trials.sum(axis=1) for trials in _alone(data, "observer"))
    # Observers without any common trial raise an error when they are compared.
    odd = (n_alone > MOST_ALONE * n_trials) & (n_alone < n_trials)
    if odd.sum() > 1 and unmatched != "accept":
        raise ValueError(
            f"{note}; most items of these observers match no other observer's items: use the same "
            "item names, or read them unmatched with unmatched='accept'"
        )
    return note


def _alone(data: xr.Dataset, by: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Trials shown to each observer or kind, and to it alone, in conditions of several."""
    group, names = pd.factorize(data[by].values.astype(str))
    seen = data["correct"].values != NOT_SHOWN
    shown = np.stack([seen[group == i].any(axis=0) for i in range(len(names))])
    keys = pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})
    place = keys.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    present = np.zeros((place.max(initial=-1) + 1, len(names)), dtype=bool)
    np.logical_or.at(present, place, shown.T)
    shown &= (present.sum(axis=1) > 1)[place]
    return shown, shown & (shown.sum(axis=0) == 1)


def _unshared(data: xr.Dataset, by: str) -> str:
    """Note on trials of only one observer or kind; empty without any."""
    shown, alone = _alone(data, by)
    if not alone.any():
        return ""
    names = pd.unique(data[by].values.astype(str))
    counts = [
        f"{own:,} of {n:,} of {name!r}"
        for name, own, n in zip(names.tolist(), alone.sum(axis=1), shown.sum(axis=1), strict=True)
        if own
    ]
    said = f"items that no other {by} has: {listed(counts, most=MOST_NAMED)}"
    items = data["item"].values.astype(str).tolist()
    first: dict[str, tuple[int, str]] = {}
    for trial in np.flatnonzero(alone.any(axis=0)):
        group, item = int(np.argmax(alone[:, trial])), items[trial]
        before, other = first.setdefault(_stem(item), (group, item))
        if before != group and other != item:
            return (
                f"{said}; names such as {other!r} and {item!r} may mean one item: make them equal"
            )
    return said


def _stem(item: str) -> str:
    """A name without folders and ending, in lower case."""
    base = item.replace("\\", "/").rsplit("/", 1)[-1].strip().lower()
    stem, _, ending = base.rpartition(".")
    return stem if stem and ending.isalnum() and not ending.isdecimal() else base


def described(
    data: xr.Dataset,
    file: str = "FILE",
    more: Mapping[str, np.ndarray] | None = None,
    say: Callable[[str], str] = str,
) -> str:
    """Write the text of `Trials.describe`, with commands for `file` and further clusters `more`."""
    shown = data["correct"].values != NOT_SHOWN
    missing = int((data["correct"].values == NO_RESPONSE).sum())
    names, kinds = data["observer"].values.astype(str), data["kind"].values.astype(str)
    who = [f"{n} ({k})" for n, k in zip(names, kinds, strict=True)]
    if len(names) > MOST_CONDITIONS:
        who = [f"{n} {k}" for k, n in pd.Series(kinds).value_counts().items()]
    items = data["item"].to_series().nunique()
    conditions = [f"{d}: {c}" if d != "all" else c for d, c in _conditions(data)]
    classes = "unknown; responses are only correct or wrong"
    if "class" in data:
        classes = f"{data.sizes['class']}: {listed(data['class'].values, most=MOST_CONDITIONS)}"
        classes += "" if "truth" in data else "; true classes are unknown"
    treated = " (count as errors; --no-response drop excludes them)" if missing else ""
    entries = {
        "Observers": f"{len(names)}: {listed(who)}",
        "Items": f"{items:,}; {counted(data.sizes['trial'], 'trial')} in all",
        "Conditions": f"{len(conditions)}: {listed(conditions, most=MOST_CONDITIONS)}",
        "Classes": classes,
        "Missing": f"{missing:,} of {int(shown.sum()):,} responses{treated}",
        "Matched": _matched(shown),
        "Clusters": _clusters(data, more or {}),
    }
    lines = []
    for name, text in entries.items():
        entry, indent = f"{name:<{LABEL}}{visible(text)}", " " * LABEL
        lines += textwrap.wrap(entry, WIDTH, subsequent_indent=indent, break_on_hyphens=False)
    lines += ["", *_table(data)]
    if notes := data.attrs.get(NOTES, ()):
        lines += ["", "How the data were read:"]
        for note in notes:
            text = visible(say(str(note)))
            lines += textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  ")
    lines += ["", "What can be computed:", *_commands(data, file)]
    return "\n".join(lines)


def _conditions(data: xr.Dataset) -> list[tuple[str, str]]:
    frame = pd.DataFrame({k: data[k].values.astype(str) for k in ("dataset", "condition")})
    return list(frame.drop_duplicates().itertuples(index=False, name=None))


def _matched(shown: np.ndarray) -> str:
    if len(shown) < 2:
        return "one observer only"
    n_observers = shown.sum(axis=0)
    every = int((n_observers == len(shown)).sum())
    if len(shown) == 2:
        return f"{every:,} trials were shown to both observers"
    two = int((n_observers > 1).sum())
    return f"{every:,} trials were shown to all observers, {two:,} to at least two"


def design_effect(data: xr.Dataset, cluster: np.ndarray) -> float:
    """Compute the design effect of clusters on accuracy, averaged over observers."""
    effects = []
    codes = pd.factorize(cluster)[0]
    for row in data["correct"].values:
        own = row > NO_RESPONSE
        x, of = row[own].astype(float), codes[own]
        residual = x - x.mean() if len(x) else x
        if (total := float((residual**2).sum())) > 0:
            effects.append(float((np.bincount(of, residual) ** 2).sum()) / total)
    return float(np.mean(effects)) if effects else np.nan


def _clusters(data: xr.Dataset, more: Mapping[str, np.ndarray]) -> str:
    found = {str(name): data[name].values for name in data.attrs.get(ITEM_COLUMNS, ())}
    if data["item"].to_series().duplicated().any():
        found = {"item": data["item"].values, **found}
    said = []
    for name, values in (found | dict(more)).items():
        labels = values.astype(str)
        n, effect = len(np.unique(labels)), design_effect(data, labels)
        known = "" if np.isnan(effect) else f", design effect {effect:.2f}"
        said.append(f"{name} ({n:,} clusters{known})")
    if more:
        said.append("use one with --cluster NAME")
    return "; ".join(said) or "none found (--cluster NAME for a column that groups items)"


def _table(data: xr.Dataset) -> list[str]:
    correct, n = data["correct"].values[:MOST_OBSERVERS], data.sizes["observer"]
    shown = (correct != NOT_SHOWN).sum(axis=1)
    known = (shown > 0) & ("response" not in data or "truth" in data)
    accuracy = (correct == 1).sum(axis=1) / np.maximum(shown, 1)
    columns = {
        "observer": [shorten(visible(name), NAME) for name in data["observer"].values.astype(str)],
        "kind": [shorten(name, LABEL) for name in data["kind"].values.astype(str)],
        "trials": [f"{number:,}" for number in shown],
        "accuracy": [f"{a:.3f}" if k else "-" for a, k in zip(accuracy, known, strict=True)],
        "missing": (correct == NO_RESPONSE).sum(axis=1).astype(str),
        "unmatched": _alone(data, "observer")[1].sum(axis=1).astype(str),
    }
    padded = []
    for name, texts in columns.items():
        cells = [name, *texts[:MOST_OBSERVERS]]
        width, side = max(map(len, cells)), "<" if name in ("observer", "kind") else ">"
        padded.append([f"{text:{side}{width}}" for text in cells])
    lines = ["  ".join(row).rstrip() for row in zip(*padded, strict=True)]
    return lines + [f"... ({n} in all)"] * (n > MOST_OBSERVERS)


def _commands(data: xr.Dataset, file: str) -> list[str]:
    kinds = set(data["kind"].values.astype(str))
    n, labels = data.sizes["observer"], "response" in data
    judged, both = not labels or "truth" in data, {"human", "model"} <= kinds
    if n < 2:
        return ["  nothing yet: a comparison needs at least two observers"]
    pairs = " --pairs human-model" if both else ""
    wrong = judged and data.sizes.get("class", 0) > 2
    several = both and len(_conditions(data)) > 1
    found = [
        (what, command)
        for asked, what, command in (
            (judged, "error consistency of pairs", f"compare {file}{pairs}"),
            (labels and wrong, "agreement of wrong responses",
             f"compare {file} --metric ma{pairs}"),
            (labels, "agreement of two", f"compare {file} --metric cohen"),
            (labels and n > 2, "agreement of all", f"compare {file} --metric alpha --readers all"),
            (judged and PROBABILITY in data, "agreement of probabilities",
             f"compare {file} --metric kappa_p"),
            (judged and both, "scores of models, ceilings", f"benchmark {file}"),
            (judged and n >= FEWEST_OF_MATRIX, "all pairs and families", f"matrix {file}"),
            (judged and several, "difficulty of conditions", f"spectrum {file}"),
            (judged, "one page of everything", f"report {file}"),
        )
        if asked
    ]  # fmt: skip
    wide = max(len(what) for what, _ in found) + 2
    lines = [f"  {what:<{wide}}alikely {command}" for what, command in found]
    if max(map(len, lines)) <= WIDTH:
        return lines
    # A command stays on one line for copying.
    return [line for what, command in found for line in (f"  {what}:", f"    alikely {command}")]
