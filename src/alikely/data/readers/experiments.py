"""Data of jsPsych (csv, json, lines of JSON), PsychoPy (wide text) and model-vs-human (csv)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from alikely._base.names import listed
from alikely.data.files import File
from alikely.data.readers import Log, Reader, having

PEOPLE = (
    "subject", "participant", "subject_id", "participant_id", "prolific_pid", "prolific_id",
    "worker_id", "workerid", "subjectid", "participantid",
)  # fmt: skip
TRUTH = "correct_response"
# Columns that every plugin writes.
EVERY = ("trial_type", "trial_index", "time_elapsed")
# What stands for no answer, of keys also in numbers.
SILENT = ("", "null", "-1", -1)
NONE = pd.Series([None])
# Of PsychoPy: ends of columns of a component, and columns.
KEYS, RIGHT, TRUE, PERSON = ".keys", ".corr", "corrAns", "participant"


def jspsych(files: Sequence[File], log: Log) -> None:
    """Read tables of trials of one task or plugin; a column or the file name identifies people."""
    frames = {file: log.table(file).map(_flat) for file in files}
    by = "task" if all("task" in frame for frame in frames.values()) else "trial_type"
    _require(by, frames, "it is not a jsPsych file")
    there = [name for frame in frames.values() for name in frame[by].dropna().unique()]
    one = log.choose(by, "filter", there, "the experiment")
    kept = {file: frame[frame[by] == one] for file, frame in frames.items()}
    _note_left(frames, kept, f"rows whose {by} is not {one!r}", log)
    asked = log.renamed
    log.columns = {} if "item" in asked else {"item": "stimulus"}
    if "observer" not in asked:
        spelt = {name.lower(): name for name in frames[files[0]]}
        names = [spelt[name] for name in PEOPLE if name in spelt]
        names = [n for n in names if all(f.get(n, NONE).notna().all() for f in kept.values())]
        log.columns["observer"] = names[0] if names else "observer"
        if len(names) > 1:
            log.notes.append(f"observers are named by {names[0]!r} (or give observer=)")
        if not names:
            log.notes.append("observers are named by their files (or give observer=)")
            kept = _named("observer", kept)
    if "truth" not in asked and all(TRUTH in frame for frame in frames.values()):
        log.columns["truth"] = TRUTH
    elif not {"truth", "response"} & set(asked) and all("correct" in f for f in frames.values()):
        # Keys and positions of buttons, that were judged by the experiment.
        kept = {file: _by_correctness(frame) for file, frame in kept.items()}
        log.notes.append(f"there is no column {TRUTH!r}: correctness only (or give truth=)")
    log.tables, log.missing = [*kept.values()], ("null",)


def _require(name: str, frames: Mapping[File, pd.DataFrame], what: str) -> None:
    lacks = next((file.name for file, frame in frames.items() if name not in frame), None)
    if lacks is not None:
        raise ValueError(f"{lacks!r} has no column {name!r}: {what}")


def _note_left(
    frames: Mapping[File, pd.DataFrame], kept: Mapping[File, pd.DataFrame], what: str, log: Log
) -> None:
    if left := sum(map(len, frames.values())) - sum(map(len, kept.values())):
        log.notes.append(f"{left} {what} were left out")


def _named(column: str, frames: Mapping[File, pd.DataFrame]) -> dict[File, pd.DataFrame]:
    """Tables with observers named by their files."""
    return {file: f.assign(**{column: Path(file.base).stem}) for file, f in frames.items()}


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


def of_psychopy(files: Sequence[File]) -> bool:
    """Recognize PsychoPy files by the columns of loops and of the experiment."""
    columns = files[0].columns()
    return any(name.endswith(".thisN") for name in columns) and (
        "expName" in columns or "psychopyVersion" in columns
    )


def psychopy(files: Sequence[File], log: Log) -> None:
    """Tables of the trials at which one component collected a response."""
    frames = {file: log.table(file, odd_quotes=True) for file in files}
    names = [name for frame in frames.values() for name in frame if name.endswith(KEYS)]
    there = [name.removesuffix(KEYS) for name in names]
    part = log.choose("key component", "filter", there, "the experiment")
    answer, right = part + KEYS, part + RIGHT
    _require(answer, frames, "other files have it")
    if "item" not in log.renamed:
        raise ValueError(
            "PsychoPy files do not show which column contains the items; name it by item=, one of "
            f"{listed(name for name in frames[files[0]] if '.' not in name)}"
        )
    # Where nothing was asked both entries are empty; without an answer the first is None.
    kept = {}
    for file, frame in frames.items():
        asked = frame[[name for name in (answer, right) if name in frame]].notna().any(axis=1)
        kept[file] = _one_key(frame[asked], answer, log)
    _note_left(frames, kept, f"rows without an entry of {answer!r} or {right!r}", log)
    columns = {"item": log.renamed["item"], "response": answer}
    if "observer" not in log.renamed:
        columns["observer"] = PERSON
        if any(PERSON not in frame or frame[PERSON].isna().any() for frame in kept.values()):
            log.notes.append(f"{PERSON!r} is not always given: observers are named by their files")
            kept = _named(PERSON, kept)
    if "truth" not in log.renamed:
        if all(TRUE in frame for frame in kept.values()):
            columns["truth"] = TRUE
        elif all(right in frame for frame in kept.values()):
            columns |= {"correct": right, "response": "response"}
            for file, frame in kept.items():
                # Scored as wrong, but not answered.
                lost = (frame[answer].isna() | (frame[answer] == "None")) & (frame[right] != "1")
                kept[file] = frame.assign(**{right: frame[right].mask(lost, None)})
            log.notes.append(f"there is no column {TRUE!r}: correctness only (or give truth=)")
    log.tables, log.columns, log.missing = [*kept.values()], columns, ("None",)


def _one_key(frame: pd.DataFrame, answer: str, log: Log) -> pd.DataFrame:
    """Answers of one key, where all keys of a trial were kept in a list."""
    lists = frame[answer].astype(str).str.fullmatch(r"\[.*\]")
    if not lists.any():
        return frame
    which = log.asked["score"]
    if which not in ("first", "last"):
        raise ValueError(
            f"column {answer!r} of {log.current!r} contains lists of all keys of a trial; choose "
            "score='first' or score='last'"
        )
    keys = frame[answer].str.strip("[]").str.split(",").str[0 if which == "first" else -1]
    keys = keys.str.strip(" '\"").replace("", None)
    log.notes.append(f"of several keys of a trial the {which} is the response")
    return frame.assign(**{answer: keys.where(lists, frame[answer])})


# Number of the trial, experiment, subject, condition, category, two digits; then the image's name.
TRIAL_PREFIX = re.compile(r"\d{4}_[a-z]+_[a-z0-9]+_[^_]+_[a-z]+_\d+_")
NAME = re.compile(r"(?P<dataset>.+)_(?P<subject>[^_]+)_session_?\d+\.csv", re.IGNORECASE)
# Columns of the csv files, and what they are of trials.
RAW = {
    "subj": "observer", "object_response": "response", "category": "truth",
    "condition": "condition", "imagename": "imagename",
}  # fmt: skip


def model_vs_human(files: Sequence[File], log: Log) -> None:
    """Read tables whose items are images, not presentations; ``na`` is a missing response."""
    for file in files:
        match = NAME.fullmatch(file.base)
        dataset = match["dataset"] if match else file.path.absolute().parent.name
        table = log.arrow(file)
        log.tables.append(named_table(table, file, dataset))
    if "kind" not in log.renamed:
        log.notes.append(
            "kinds are guessed: observers called subject... are human, others model (or give "
            "kind={'NAME': 'human', ...})"
        )
    log.missing = ("na", "NA")


def named_table(table: pa.Table, file: File, dataset: str) -> pa.Table:
    """Convert a csv file of model-vs-human to the columns of trials; items are images."""
    table = table.rename_columns([name.lower() for name in table.column_names])
    lacking = [name for name in RAW if name not in table.column_names]
    if lacking:
        raise ValueError(
            f"{file.name!r} has no column {lacking[0]!r}; the csv files of model-vs-human have "
            f"{', '.join(RAW)}, and this one {listed(table.column_names)}"
        )
    images = [image_name(str(name)) for name in table["imagename"].to_pylist()]
    made = {role: table[name] for name, role in RAW.items()} | {
        "condition": normal_conditions(table["condition"]),
        "item": pa.array(images, pa.string()),
        "kind": pc.if_else(
            pc.starts_with(table["subj"].cast(pa.string()), "subject"), "human", "model"
        ),
    }
    if "dataset" not in table.column_names:
        made["dataset"] = pa.array([dataset] * len(table), pa.string())
    kept = [name for name in table.column_names if name not in made]
    return pa.table({name: table[name] for name in kept} | made)


def normal_conditions(column: pa.ChunkedArray) -> pa.Array:
    """Write all conditions of a column in the standard spelling."""
    names = column.to_pylist()
    known = {name: normalize_condition(name) for name in set(names)}
    return pa.array([known[name] for name in names], pa.string())


def normalize_condition(label: str | None) -> str:
    """Convert a condition to the standard spelling; spellings vary between model-vs-human files."""
    if label is None or label.lower() in ("", "nan"):
        return "0"
    text = label.strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    whole, dot, fraction = text.partition(".")
    if dot and whole.isdecimal() and fraction.isdecimal():
        return f"{whole}.{fraction.rstrip('0')}".rstrip(".")
    return text


def image_name(name: str) -> str:
    """Return the name of the image itself, without the prefix of trial, subject and condition."""
    stem = name.rsplit(".", 1)[0]
    return stem.split("_", 6)[6] if TRIAL_PREFIX.match(stem) else stem


READERS = [
    Reader("jspsych", "data of jsPsych", having(EVERY), jspsych),
    Reader("model-vs-human", "answers of model-vs-human", having(RAW), model_vs_human),
    Reader("psychopy", "data of PsychoPy", of_psychopy, psychopy),
]
