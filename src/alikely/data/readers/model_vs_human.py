"""Answers as model-vs-human keeps them: ``{dataset}_{subject}_session_{n}.csv``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from alikely.data.files import File, read_table
from alikely.data.readers._reader import Choice, Log, Reader, has_columns

__all__ = ["READER", "image_name", "normalise_condition"]

# Number of the trial, experiment, subject, condition, category, two digits; then the image's name.
TRIAL_PREFIX = re.compile(r"\d{4}_[a-z]+_[a-z0-9]+_[^_]+_[a-z]+_\d+_")
NAME = re.compile(r"(?P<dataset>.+)_(?P<subject>[^_]+)_session_?\d+\.csv", re.IGNORECASE)
COLUMNS = ("subj", "object_response", "category", "condition", "imagename")


def recognises(files: Sequence[File]) -> bool:
    """By the columns of the first file."""
    return has_columns(files, *COLUMNS)


def read(files: Sequence[File], choice: Choice) -> Log:
    """Tables whose items are images, not presentations of these; ``na`` is no answer."""
    notes: list[str] = []
    tables = []
    for file in files:
        table = read_table(file, notes)
        table = table.rename_columns([name.lower() for name in table.column_names])
        lacks = [name for name in COLUMNS if name not in table.column_names]
        if lacks:
            raise ValueError(f"{file.name!r} has no column {lacks[0]!r}; all files must have it")
        images = [image_name(str(name)) for name in table["imagename"].to_pylist()]
        match = NAME.fullmatch(file.base)
        dataset = match["dataset"] if match else file.path.absolute().parent.name
        human = pc.starts_with(table["subj"], "subject")
        table = table.append_column("item", pa.array(images, pa.string()))
        table = table.append_column("kind", pc.if_else(human, "human", "model"))
        conditions = [normalise_condition(name) for name in table["condition"].to_pylist()]
        where = table.column_names.index("condition")
        table = table.set_column(where, "condition", pa.array(conditions, pa.string()))
        if "dataset" not in table.column_names:
            table = table.append_column("dataset", pa.array([dataset] * len(table), pa.string()))
        tables.append(table)
    columns = {"observer": "subj", "truth": "category", "response": "object_response"}
    return Log(tables, [file.name for file in files], columns, notes, missing=("na", "NA"))


def normalise_condition(label: str | None) -> str:
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


READER = Reader("model-vs-human", "answers of model-vs-human", recognises, read)
