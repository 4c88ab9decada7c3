"""Numbers of responses and accuracies of observers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.frames import ROWS, html_of
from alikely._base.names import number
from alikely.data.columns import ITEM_COLUMNS, NO_RESPONSE, NOT_SHOWN, NOTES

# The group of results that holds it.
DATA_SUMMARY = "data_summary"


# How missing responses, and a single one, are treated, and what else can be done.
TREATED = {
    "error": ("count as errors", "counts as an error"),
    "class": ("count as a class", "counts as a class"),
    "drop": ("are excluded", "is excluded"),
}


def missing_note(n_missing: int, n_responses: int, no_response: str) -> str:
    """Number of missing responses and their treatment, as text; empty if none is missing."""
    if not n_missing:
        return ""
    treated = TREATED[no_response][n_missing == 1]
    are, them = ("is", "it") if n_missing == 1 else ("are", "them")
    fix = "" if no_response == "drop" else f'. Pass no_response="drop" to exclude {them}'
    return f"{n_missing:,} of {n_responses:,} responses {are} missing and {treated}{fix}"


def missing_note_of(
    data: xr.Dataset, no_response: str, *kinds: str, observers: Sequence[str] | None = None
) -> str:
    """As `missing_note`, for some observers."""
    own = np.isin(data["kind"].values, kinds) if kinds else np.ones(data.sizes["observer"], bool)
    if observers is not None:
        own &= np.isin(data["observer"].values.astype(str), observers)
    correct = data["correct"].values[own]
    return missing_note(
        int((correct == NO_RESPONSE).sum()), int((correct != NOT_SHOWN).sum()), no_response
    )


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
    """Table of `Trials.summary`."""
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
    """Table of `alikely.Trials.to_table`."""
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
    """HTML of trials: notes and the first rows of the summary."""
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
