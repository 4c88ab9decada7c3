"""The data as they were read: who answered what, what is missing, what came back."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from alikely._base.names import counted, number
from alikely.data import Trials
from alikely.data.summaries import DATA_SUMMARY, data_summary, summary_table
from alikely.estimates.matrix_result import place_dim
from alikely.estimates.result import Result
from alikely.report.blocks import Block, Items, Section, Text, table_of

__all__ = ["data_section", "kinds_of", "summary_of"]

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
HUMAN_IDS = {
    "shared": "For scores, a label of a human is one and the same person in all data sets.",
    "per_dataset": "For scores, a label of a human is another person in each data set.",
}
IMAGES = {
    "dataset": "For scores, a label of an item is one image within a data set.",
    "label": "For scores, a label of an item is one image everywhere.",
    "condition": "For scores, a label of an item is another image in each condition.",
}
MOST_KINDS = 6
# Rows of observers that are unfolded at first.
FEW_ROWS = 8


def summary_of(results: Sequence[Result], trials: Trials | None) -> xr.Dataset | None:
    """The data as read: of the trials, else of the first result that keeps it."""
    found = _summaries(results, trials)
    return found[0][1] if found else None


def _summaries(
    results: Sequence[Result], trials: Trials | None
) -> list[tuple[Result | None, xr.Dataset]]:
    """What was read, once for results of the same data, with the first result of each."""
    if trials is not None:
        return [(None, data_summary(trials.data))]
    found: list[tuple[Result | None, xr.Dataset]] = []
    for result in results:
        if DATA_SUMMARY in result.data.children:
            own = result.data[DATA_SUMMARY].to_dataset()
            if not any(own.identical(other) for _, other in found):
                found.append((result, own))
    return found


def data_section(results: Sequence[Result], trials: Trials | None) -> Section:
    """What was read, in words, by data set and by observer."""
    found = _summaries(results, trials)
    blocks: list[Block] = []
    if not found:
        blocks.append(Text("This file keeps counts of trials, and not the trials themselves."))
        blocks += [Text(repr(result)[1:-1]) for result in results]
    for result, summary in found:
        if len(found) > 1:
            blocks.append(Text(f"Data of: {repr(result)[1:-1]}."))
        blocks += _described(summary)
    rules = list(dict.fromkeys(rule for result in results for rule in _rules(result)))
    if rules:
        blocks.append(Items(rules))
    for _, summary in found:
        blocks += _tables(summary)
    return Section("Data as read", blocks)


def _described(summary: xr.Dataset) -> list[Block]:
    """The size of the data in a sentence, and what stands out in them."""
    n_shown, n_missing = int(summary["n_shown"].sum()), int(summary["n_missing"].sum())
    n_trials, attrs = int(summary["n_trials"].sum()), summary.attrs
    kinds = pd.Series(summary["kind"].values).value_counts(sort=False)
    who = counted(summary.sizes["observer"], "observer")
    if len(kinds) <= MOST_KINDS and list(kinds.index) != ["observer"]:
        who += f" ({', '.join(f'{n:,} of kind {kind}' for kind, n in kinds.items())})"
    text = (
        f"{who}, {counted(n_trials, 'trial')} in {counted(summary.sizes['dataset'], 'data set')} "
        f"and {counted(int(summary['n_conditions'].sum()), 'condition')}: "
        f"{counted(n_shown - n_missing, 'response')}"
    )
    if n_classes := int(attrs["n_classes"]):
        text += f" among {counted(n_classes, 'class', 'classes')}"
    else:
        text += ", of which only right or wrong is known"
    lacking, possible = n_trials * summary.sizes["observer"] - n_shown, n_trials
    possible *= summary.sizes["observer"]
    items = [
        f"Missing: {_share(n_missing, n_shown)} trials that were shown have no response."
        if n_missing
        else "Missing: every trial that was shown has a response.",
        f"Not every observer was shown every trial: {_share(lacking, possible)} combinations of "
        "observer and trial are not there. Pairs are compared on trials that both were shown."
        if lacking
        else "Every observer was shown every trial.",
        f"Repeated: {attrs['n_repeated']:,} of {attrs['n_items']:,} items came back, up to "
        f"{attrs['max_repeats']:,} times."
        if attrs["n_repeated"]
        else "Repeated: no item came back within a condition.",
    ]
    notes = [note for note in str(attrs["notes"]).split("\n") if note]
    items += [f"Noted when reading: {note}." for note in notes]
    if not notes:
        items.append("Nothing had to be guessed, left out or counted apart when reading.")
    return [Text(f"{text}."), Items(items)]


def _share(n: int, of: int) -> str:
    return f"{n:,} of {of:,} ({number(100 * n / of, 1)}%)"


def _rules(result: Result) -> list[str]:
    """What was decided about the data, in words."""
    attrs = dict(result.data.attrs)
    if result.kind == "pair":
        attrs |= result.table.attrs
    rules = [TAKEN[attrs["no_response"]]] if attrs.get("no_response") in TAKEN else []
    if result.kind == "pair" and "by" in attrs:
        rules.append(COUNTED.get(str(attrs["by"]), POOLED))
    if result.kind == "matrix":
        rules.append(COUNTED.get(place_dim(result), POOLED))
    if attrs.get("repeats") in REPEATS:
        rules.append(REPEATS[str(attrs["repeats"])])
    if attrs.get("cluster"):
        rules.append(f"Trials that share their {attrs['cluster']} are one unit of sampling.")
    if attrs.get("exclude"):
        rules.append(f"Left out of the scores: the conditions of {attrs['exclude']!r}.")
    if "human_ids" in attrs:
        rules.append(HUMAN_IDS[str(attrs["human_ids"])])
        rules.append(IMAGES[str(attrs["item_scope"])])
    return rules


def _tables(summary: xr.Dataset) -> list[Block]:
    """Counts of each data set, and of each observer in it."""
    frame = summary_table(summary)
    known = list(frame["kind"].unique())
    blocks: list[Block] = []
    grouped = frame.groupby("dataset", sort=False)
    if len(grouped) > 1:
        accuracy = grouped["accuracy"]
        table = pd.DataFrame(
            {
                "conditions": summary["n_conditions"].to_series(),
                "trials": summary["n_trials"].to_series(),
                "observers": grouped.size(),
                "trials shown": grouped["n_trials"].sum(),
                "no response": grouped["no_response"].sum(),
                "lowest accuracy": accuracy.min(),
                "median accuracy": accuracy.median(),
                "highest accuracy": accuracy.max(),
            }
        )
        table = table.loc[list(grouped.groups)].rename_axis("data set").reset_index()
        if 1 < len(known) <= MOST_KINDS:
            kinds = pd.crosstab(frame["dataset"], frame["kind"])[known].loc[table["data set"]]
            for kind in reversed(known):
                table.insert(3, f"of kind {kind}", kinds[kind].to_numpy())
        blocks.append(table_of(table, "Data sets.", rows=60))
    else:
        frame = frame.drop(columns="dataset")
    if len(known) < 2:
        frame = frame.drop(columns="kind")
    names = {"n_trials": "trials shown", "no_response": "no response", "not_shown": "not shown"}
    text = f"Observers{' in each data set' if 'dataset' in frame else ''}."
    folded = len(frame) > FEW_ROWS
    blocks.append(table_of(frame, text, headings=names | {"dataset": "data set"}, folded=folded))
    return blocks


def kinds_of(summary: xr.Dataset | None) -> dict[str, str] | None:
    """Kind of each observer, where there are several kinds."""
    if summary is None:
        return None
    kinds = dict(zip(summary["observer"].values, map(str, summary["kind"].values), strict=True))
    # Groups of observers, as of margins, have the names of their kinds.
    names = {kind: kind for kind in kinds.values()}
    return names | kinds if len(names) > 1 else None
