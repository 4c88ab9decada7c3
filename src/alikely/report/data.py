"""The data as they were read: who answered what, what is missing, what came back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.numbers import counted, number
from alikely.data import Trials
from alikely.data.columns import NO_RESPONSE, NOT_SHOWN
from alikely.data.summaries import summary_of
from alikely.estimates.matrix_result import MatrixResult
from alikely.estimates.result import Result
from alikely.estimates.tree import Tree
from alikely.report.blocks import Block, Items, Section, Text, table_of

__all__ = ["data_section"]

TAKEN = {
    "error": "A trial that was shown and not answered counts as an error.",
    "drop": "A trial that was shown and not answered is left out of the pairs of that observer.",
}
COUNTED = {
    "condition": "Each condition of each data set is counted by itself.",
    "dataset": "Each data set is counted by itself, over all of its conditions.",
}
POOLED = "All trials are counted together."
REPEATS = {
    "crossed": (
        "Every answer of one observer to an item meets every answer of the other, and the item "
        "counts once."
    ),
    "paired": "Repeats are paired in their order, and count as trials of their own.",
}
PEOPLE = {
    "label": "For scores, a label of a human is one and the same person in all data sets.",
    "dataset": "For scores, a label of a human is another person in each data set.",
}
IMAGES = {
    "dataset": "For scores, a label of an item is one image within a data set.",
    "label": "For scores, a label of an item is one image everywhere.",
    "condition": "For scores, a label of an item is another image in each condition.",
}
MOST_KINDS = 6


def data_section(results: list[Tree], trials: Trials | None) -> Section:
    """What was read, in words, by data set and by observer.

    Parameters
    ----------
    results : list of Result, Benchmark, DrawnScores or MatrixResult
        What was made of the data.
    trials : Trials or None
        The data, if they are at hand; else what the results keep of them.

    Returns
    -------
    Section
    """
    data = _answers(results) if trials is None else trials.data
    blocks: list[Block] = []
    if data is None:
        blocks.append(Text("This file keeps counts of trials, and not the trials themselves."))
        blocks += [Text(repr(result)[1:-1]) for result in results]
    else:
        blocks += _described(data, None if trials is None else trials)
    rules = list(dict.fromkeys(rule for result in results for rule in _rules(result)))
    if rules:
        blocks.append(Items(rules))
    if data is not None:
        blocks += _tables(data)
    return Section("Data as read", blocks)


def _answers(results: list[Tree]) -> xr.Dataset | None:
    """Right and wrong answers that a result keeps, in the form of trials; None if it has none."""
    for result in results:
        if isinstance(result, Result) and "correct" in result.table:
            table = result.table
            names = {"trial_dataset": "dataset", "trial_condition": "condition"}
            if not {"observer", "trial"} <= set(table["correct"].dims):
                continue
            own = ["correct", *(name for name in (*names, "item") if name in table.coords)]
            data = table[own].rename({old: new for old, new in names.items() if old in own})
            return data.assign_coords(kind=("observer", np.full(data.sizes["observer"], "")))
    return None


def _described(data: xr.Dataset, trials: Trials | None) -> list[Block]:
    """The size of the data in a sentence, and what stands out in them."""
    correct = data["correct"].values
    shown = correct != NOT_SHOWN
    n_answers, n_missing = int(shown.sum()), int((correct == NO_RESPONSE).sum())
    kinds = pd.Series(data["kind"].values).value_counts(sort=False)
    kinds = kinds[kinds.index != ""]
    who = counted(data.sizes["observer"], "observer")
    if len(kinds) and len(kinds) <= MOST_KINDS and list(kinds.index) != ["observer"]:
        who += f" ({', '.join(f'{n:,} of kind {kind}' for kind, n in kinds.items())})"
    places = [counted(len(np.unique(data["dataset"].values.astype(str))), "data set")]
    if "condition" in data.coords:
        pairs = pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})
        places.append(counted(len(pairs.drop_duplicates()), "condition"))
    text = f"{who}, {counted(data.sizes['trial'], 'trial')} in {' and '.join(places)}: "
    text += counted(n_answers, "answer")
    if trials is not None and trials.has_classes:
        text += f" among {counted(len(trials.classes), 'class', 'classes')}"
    elif trials is not None:
        text += ", of which only right or wrong is known"
    items = [
        f"Missing: {_share(n_missing, n_answers)} trials that were shown have no answer."
        if n_missing
        else "Missing: every trial that was shown has an answer.",
        _not_shown(shown),
        *_repeated(data),
    ]
    notes = [] if trials is None else trials.notes
    if notes:
        items += [f"Noted when reading: {note}." for note in notes]
    elif trials is not None:
        items.append("Nothing had to be guessed, left out or counted apart when reading.")
    else:
        items.append("Notes of the reading are kept with the trials, which this page had not.")
    return [Text(f"{text}."), Items(items)]


def _not_shown(shown: np.ndarray) -> str:
    lacking = int((~shown).sum())
    if not lacking:
        return "Every observer was shown every trial."
    return (
        f"Not every observer was shown every trial: {_share(lacking, shown.size)} combinations of "
        "observer and trial are not there. Pairs are compared on trials that both were shown."
    )


def _share(n: int, of: int) -> str:
    return f"{n:,} of {of:,} ({number(100 * n / of, 1, leading_zero=True)} %)"


def _repeated(data: xr.Dataset) -> list[str]:
    """How many items came back to the observers, if any did."""
    if "item" not in data.coords:
        return []
    keys = [name for name in ("dataset", "condition", "item") if name in data.coords]
    frame = pd.DataFrame({name: data[name].values for name in keys})
    sizes = frame.groupby(keys, sort=False).size()
    again = int((sizes > 1).sum())
    if not again:
        return ["Repeated: no item came back within a condition."]
    return [f"Repeated: {again:,} of {len(sizes):,} items came back, up to {sizes.max():,} times."]


def _rules(result: Tree) -> list[str]:
    """What was decided about the data, in words."""
    attrs = dict(result.data.attrs)
    if isinstance(result, Result):
        attrs |= result.table.attrs
    rules = [TAKEN[attrs["no_response"]]] if attrs.get("no_response") in TAKEN else []
    if isinstance(result, Result) and "by" in attrs:
        rules.append(COUNTED.get(str(attrs["by"]), POOLED))
    if isinstance(result, MatrixResult):
        rules.append(COUNTED.get(result.place, POOLED))
    if attrs.get("repeats") in REPEATS:
        rules.append(REPEATS[str(attrs["repeats"])])
    if attrs.get("cluster"):
        rules.append(f"Trials that share their {attrs['cluster']} are one unit of sampling.")
    if attrs.get("exclude"):
        rules.append(f"Left out of the scores: the conditions of {attrs['exclude']!r}.")
    if "people" in attrs:
        rules.append(PEOPLE[str(attrs["people"])])
        rules.append(IMAGES[str(attrs["items"])])
    return rules


def _tables(data: xr.Dataset) -> list[Block]:
    """Counts of each data set, and of each observer in it."""
    frame = summary_of(data)
    known = [kind for kind in frame["kind"].unique() if kind]
    blocks: list[Block] = []
    grouped = frame.groupby("dataset", sort=False)
    if len(grouped) > 1:
        rows = []
        for name, part in grouped:
            here = data["dataset"].values == name
            row: dict[str, object] = {"data set": name}
            if "condition" in data.coords:
                row["conditions"] = len(np.unique(data["condition"].values[here].astype(str)))
            row["trials"] = int(here.sum())
            if len(known) > 1 and len(known) <= MOST_KINDS:
                row |= {f"of kind {kind}": int((part["kind"] == kind).sum()) for kind in known}
            row |= {
                "observers": len(part),
                "answers": int(part["n_trials"].sum()),
                "no answer": int(part["no_response"].sum()),
                "lowest accuracy": part["accuracy"].min(),
                "median accuracy": part["accuracy"].median(),
                "highest accuracy": part["accuracy"].max(),
            }
            rows.append(row)
        blocks.append(table_of(pd.DataFrame(rows), "Data sets.", rows=60))
    else:
        frame = frame.drop(columns="dataset")
    if len(known) < 2:
        frame = frame.drop(columns="kind")
    names = {"n_trials": "trials shown", "no_response": "no answer", "not_shown": "not shown"}
    text = f"Observers{' in each data set' if 'dataset' in frame else ''}."
    blocks.append(table_of(frame, text, headings=names | {"dataset": "data set"}))
    return blocks


def kinds_of(trials: Trials | None) -> dict[str, str] | None:
    """Kind of each observer, where there are several kinds."""
    if trials is None:
        return None
    kinds = dict(zip(trials.observers, map(str, trials.data["kind"].values), strict=True))
    return kinds if len(set(kinds.values())) > 1 else None
