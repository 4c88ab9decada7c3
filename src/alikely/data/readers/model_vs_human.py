"""Answers as model-vs-human keeps them: ``{dataset}_{subject}_session_{n}.csv``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from alikely._base.names import listed
from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

# Number of the trial, experiment, subject, condition, category, two digits; then the image's name.
TRIAL_PREFIX = re.compile(r"\d{4}_[a-z]+_[a-z0-9]+_[^_]+_[a-z]+_\d+_")
NAME = re.compile(r"(?P<dataset>.+)_(?P<subject>[^_]+)_session_?\d+\.csv", re.IGNORECASE)
# Columns of the csv files, and what they are of trials.
RAW = {
    "subj": "observer", "object_response": "response", "category": "truth",
    "condition": "condition", "imagename": "imagename",
}  # fmt: skip


def recognizes(files: Sequence[File]) -> bool:
    """By the columns of the first file."""
    return has_columns(files, *RAW)


def read(files: Sequence[File], log: Log) -> None:
    """Tables whose items are images, not presentations of these; ``na`` is no answer."""
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
    """A csv file of the toolbox with the columns of trials; items are images."""
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
    """Conditions in one spelling."""
    names = column.to_pylist()
    known = {name: normalize_condition(name) for name in set(names)}
    return pa.array([known[name] for name in names], pa.string())


def normalize_condition(label: str | None) -> str:
    """One spelling for the conditions of the model-vs-human data, which vary between files."""
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
    """Name of the image itself: a prefix with trial, subject and condition comes off."""
    stem = name.rsplit(".", 1)[0]
    return stem.split("_", 6)[6] if TRIAL_PREFIX.match(stem) else stem


READERS = [Reader("model-vs-human", "answers of model-vs-human", recognizes, read)]
