"""Data of jsPsych: csv, json, or the lines of JSON of a server such as JATOS."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

PEOPLE = (
    "subject", "participant", "subject_id", "participant_id", "prolific_pid", "prolific_id",
    "worker_id", "workerid", "subjectid", "participantid",
)  # fmt: skip
TRUTH = "correct_response"
# What stands for no answer, of keys also in numbers.
SILENT = ("", "null", "-1", -1)
NONE = pd.Series([None])


def recognizes(files: Sequence[File]) -> bool:
    """By the columns that every plugin writes."""
    return has_columns(files, "trial_type", "trial_index", "time_elapsed")


def read(files: Sequence[File], log: Log) -> None:
    """Tables of the trials of one task (or plugin), people by a column or the file's name."""
    frames = [log.table(file).map(_flat) for file in files]
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
        spelt = {name.lower(): name for name in frames[0]}
        names = [spelt[name] for name in PEOPLE if name in spelt]
        names = [name for name in names if all(f.get(name, NONE).notna().all() for f in kept)]
        log.columns["observer"] = names[0] if names else "observer"
        if len(names) > 1:
            log.notes.append(f"observers are named by {names[0]!r} (or give observer=)")
        if not names:
            log.notes.append("observers are named by their files (or give observer=)")
            kept = [f.assign(observer=Path(g.base).stem) for f, g in zip(kept, files, strict=True)]
    if "truth" not in asked and all(TRUTH in frame for frame in frames):
        log.columns["truth"] = TRUTH
    elif "truth" not in asked and "response" not in asked and all("correct" in f for f in frames):
        # Keys and positions of buttons, that were judged by the experiment.
        kept = [_by_correctness(frame) for frame in kept]
        log.notes.append(f"there is no column {TRUTH!r}: correctness only (or give truth=)")
    log.tables, log.missing = kept, ("null",)


def _by_correctness(frame: pd.DataFrame) -> pd.DataFrame:
    """Correctness alone, missing where no key was pressed: that was scored as wrong."""
    answers = [name for name in ("response", "key_press") if name in frame]
    given = pd.DataFrame({n: frame[n].notna() & ~frame[n].isin(SILENT) for n in answers})
    wrong = frame["correct"].astype(str).str.lower().isin(("false", "0"))
    lost = wrong & ~given.any(axis=1) if answers else wrong & False
    return frame.drop(columns=answers).assign(correct=frame["correct"].mask(lost, None))


def _flat(value: Any) -> Any:
    """Text of lists and objects, such as the answers of a survey; labels are text throughout."""
    if isinstance(value, list | dict):
        return json.dumps(value)
    return value if value is None or isinstance(value, bool) else str(value)


READER = Reader("jspsych", "data of jsPsych", recognizes, read)
