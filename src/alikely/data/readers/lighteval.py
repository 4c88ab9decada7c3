"""Details of lighteval: ``details_{task}_{date}.parquet``, a row for each sample."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet

from alikely.data.files import File
from alikely.data.readers import Log, Reader, among, field, has_columns, label, right

__all__ = ["READER"]

NAME = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
COLUMNS = ("doc", "model_response", "metric")


def recognises(files: Sequence[File]) -> bool:
    """By the three columns, with or without underscores."""
    details = [file for file in files if file.suffix == ".parquet"]
    ways = (COLUMNS, [f"__{name}__" for name in COLUMNS])
    return bool(details) and any(has_columns(details, *names) for names in ways)


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all files; nested fields differ between tasks and are read file by file."""
    details = [file for file in files if file.suffix == ".parquet"]
    log.note_unread(files, [f for f in files if f in details or f.base.startswith("results_")])
    for file in details:
        _add(log, file)
    log.finish(f"{len(details)} files of details")


def _add(log: Log, file: File) -> None:
    place = repr(file.name)
    match = NAME.fullmatch(file.base)
    # {out}/details/{model_name}/{date}/file: the name of a model may be several folders.
    parts = file.path.absolute().parent.parts
    above = parts[parts.index("details") + 1 :] if "details" in parts else parts[-2:]
    observer = "/".join(above[:-1]) or above[-1]
    most = 1
    for number, raw in enumerate(pyarrow.parquet.read_table(io.BytesIO(file.read())).to_pylist()):
        where = f"{place}, row {number}"
        sample = {name.strip("_"): value for name, value in raw.items()}
        doc, response, scores = (field(sample, name, place=where) for name in COLUMNS)
        # Fields of other tasks are there, but null.
        scores = {name: value for name, value in scores.items() if value is not None}
        score = log.choose("metric", "score", scores, place)
        task = doc.get("task_name") or (match[1] if match else None)
        answer = _answer(doc, response)
        log.add(
            observer,
            label({"doc.task_name": task}, "doc.task_name", place=where),
            str(number),
            place=place,
            mark=doc.get("query"),
            correct=right(scores[score], f"{score} of {where}"),
            **answer,
        )
        # Of options each has a text of its own.
        texts = [] if answer else (response or {}).get("text") or []
        most = max(most, len(texts))
    if most > 1:
        log.notes.append(
            f"{place} has up to {most} answers to a question: one score is of all of them"
        )


def _answer(doc: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """Position of the likeliest option and of the right one; nothing for generated text."""
    gold = doc.get("gold_index")
    gold = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    likelihood = response.get("logprobs") or []
    if not isinstance(gold, int) or len(likelihood) < 2 or len(likelihood) != len(doc["choices"]):
        return {}
    return among(gold, likelihood)


READER = Reader("lighteval", "details of lighteval", recognises, read)
