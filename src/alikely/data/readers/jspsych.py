"""Data of jsPsych: csv, json, or the lines of JSON of a server such as JATOS."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alikely.data.files import TEXT, File, read_table
from alikely.data.readers import Log, Reader, has_columns, objects

__all__ = ["READER"]

PEOPLE = ("subject", "participant")
TRUTH = "correct_response"


def recognises(files: Sequence[File]) -> bool:
    """By the columns that every plugin writes."""
    return has_columns(files, "trial_type", "trial_index", "time_elapsed")


def read(files: Sequence[File], log: Log) -> None:
    """Tables of the trials of one task (or plugin), people by a column or the file's name."""
    frames = [_frame(file, log.notes) for file in files]
    by = "task" if all("task" in frame for frame in frames) else "trial_type"
    lacks = [f.name for f, frame in zip(files, frames, strict=True) if by not in frame]
    if lacks:
        raise ValueError(f"{lacks[0]!r} has no column 'trial_type': it is not of jsPsych")
    there = [name for frame in frames for name in frame[by].dropna().unique()]
    one = log.choose(by, "filter", there, "the experiment")
    kept = [frame[frame[by] == one] for frame in frames]
    if left := sum(map(len, frames)) - sum(map(len, kept)):
        log.notes.append(f"{left} rows whose {by} is not {one!r} were left out")
    asked = log.renamed
    log.columns = {} if "item" in asked else {"item": "stimulus"}
    if "observer" not in asked:
        names = [name for name in PEOPLE if all(name in frame for frame in frames)]
        log.columns["observer"] = names[0] if names else "observer"
        if not names:
            log.notes.append("observers are named by their files (or give observer=)")
            kept = [f.assign(observer=Path(g.base).stem) for f, g in zip(kept, files, strict=True)]
    if "truth" not in asked and all(TRUTH in frame for frame in frames):
        log.columns["truth"] = TRUTH
    elif "truth" not in asked and "response" not in asked and all("correct" in f for f in frames):
        # Keys and positions of buttons, that were judged by the experiment.
        kept = [frame.drop(columns="response", errors="ignore") for frame in kept]
        log.notes.append(f"there is no column {TRUTH!r}: correctness only (or give truth=)")
    log.tables, log.missing = kept, ("null",)


def _frame(file: File, notes: list[str]) -> pd.DataFrame:
    if file.suffix in TEXT:
        return read_table(file, notes).to_pandas()
    rows = [{name: _flat(value) for name, value in row.items()} for row in objects(file, notes)]
    return pd.DataFrame(rows).astype(object).where(lambda frame: frame.notna(), None)


def _flat(value: Any) -> Any:
    """Text of lists and objects, such as the answers of a survey; labels are text throughout."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, bool) else str(value)


READER = Reader("jspsych", "data of jsPsych", recognises, read)
