"""The data as read: observers, trials, missing responses and repeated items."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import xarray as xr

from alikely._base.names import counted, number
from alikely.data.summaries import DATA_SUMMARY, summary_table
from alikely.estimates.matrices import place_dim
from alikely.estimates.result import Result
from alikely.report.blocks import Block, Items, Section, Text, table_of

TAKEN = {
    "error": "Missing responses count as errors.",
    "drop": "Trials without a response are excluded from the pairs of the observer who did not "
    "respond.",
}
COUNTED = {
    "condition": "Each condition of each data set is analyzed separately.",
    "dataset": "Each data set is analyzed separately; the trials of all its conditions are pooled.",
}
POOLED = "All trials are analyzed together."
REPEATS = {
    "crossed": (
        "Repeated items: each response of one observer is compared with each response of the "
        "other observer, and each item counts once."
    ),
    "paired": "Repeats are paired in their order, and count as separate trials.",
}
HUMAN_IDS = {
    "shared": "Each human label identifies the same person in all data sets.",
    "per_dataset": "Each human label identifies a different person in each data set.",
}
IMAGES = {
    "dataset": "Each item label identifies the same image within a data set.",
    "label": "Each item label identifies the same image in all data sets.",
    "condition": "Each item label identifies a different image in each condition.",
}
MOST_KINDS = 6
# Tables of at most so many observers are not folded.
FEW_ROWS = 8


def summaries(results: Sequence[Result]) -> list[tuple[Result, xr.Dataset]]:
    """Summaries of data, once for results of the same data, with the first result of each."""
    found: list[tuple[Result, xr.Dataset]] = []
    for result in results:
        if DATA_SUMMARY in result.data.children:
            own = result.data[DATA_SUMMARY].to_dataset()
            if not any(own.identical(other) for _, other in found):
                found.append((result, own))
    return found


def data_section(results: Sequence[Result]) -> Section:
    """Describe the data in words, by data set and by observer."""
    found = summaries(results)
    blocks: list[Block] = []
    if not found:
        blocks.append(Text("The results contain counts of trials, but not the trials themselves."))
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
    """The size of the data in a sentence, with missing responses and repeated items."""
    n_shown, n_missing = int(summary["n_shown"].sum()), int(summary["n_missing"].sum())
    n_trials, attrs = int(summary["n_trials"].sum()), summary.attrs
    kinds = pd.Series(summary["kind"].values).value_counts(sort=False)
    who = counted(summary.sizes["observer"], "observer")
    if len(kinds) <= MOST_KINDS and list(kinds.index) != ["observer"]:
        who += f" ({', '.join(f'{n:,} of kind {kind}' for kind, n in kinds.items())})"
    text = (
        f"The data contain {who}, {counted(n_trials, 'trial')} in "
        f"{counted(summary.sizes['dataset'], 'data set')} and "
        f"{counted(int(summary['n_conditions'].sum()), 'condition')}, and "
        f"{counted(n_shown - n_missing, 'response')}"
    )
    if n_classes := int(attrs["n_classes"]):
        text += f" among {counted(n_classes, 'class', 'classes')}"
    else:
        text += " (recorded only as correct or incorrect)"
    lacking, possible = n_trials * summary.sizes["observer"] - n_shown, n_trials
    possible *= summary.sizes["observer"]
    items = [
        f"Missing responses: {_share(n_missing, n_shown)}."
        if n_missing
        else "No response is missing.",
        f"Trials not shown: {_share(lacking, possible)} combinations of observer and trial. Pairs "
        "are compared on the trials that both observers were shown."
        if lacking
        else "Every observer was shown every trial.",
        f"Repeated items: {attrs['n_repeated']:,} of {attrs['n_items']:,}, up to "
        f"{attrs['max_repeats']:,} times within a condition."
        if attrs["n_repeated"]
        else "No item is repeated within a condition.",
    ]
    notes = [note for note in str(attrs["notes"]).split("\n") if note]
    items += [f"Note from reading the data: {note}." for note in notes]
    return [Text(f"{text}."), Items(items)]


def _share(n: int, of: int) -> str:
    return f"{n:,} of {of:,} ({number(100 * n / of, 1)}%)"


def _rules(result: Result) -> list[str]:
    """How the analysis treated the data, in words."""
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
        rules.append(
            f"The sampling unit is the cluster of trials with the same {attrs['cluster']}."
        )
    if attrs.get("exclude"):
        rules.append(f"Conditions excluded from the scores: {attrs['exclude']}.")
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


def kinds_of(result: Result) -> dict[str, str] | None:
    """Kind of each observer of the data of a result, where there are several kinds."""
    for _, summary in summaries([result]):
        kinds = dict(zip(summary["observer"].values, map(str, summary["kind"].values), strict=True))
        # Groups of observers, as of margins, have the names of their kinds.
        names = {kind: kind for kind in kinds.values()}
        return names | kinds if len(names) > 1 else None
    return None
