"""Details of lighteval: ``details_{task}_{date}.parquet``, a row for each sample."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet

from alikely.data.files import File
from alikely.data.readers._reader import (
    Choice,
    Log,
    Questions,
    Reader,
    among,
    chosen,
    field,
    has_columns,
    label,
    log_of_rows,
    note_unread,
    right,
)

__all__ = ["READER"]

NAME = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")


def recognises(files: Sequence[File]) -> bool:
    """By the three columns, with or without underscores."""
    details = [file for file in files if file.suffix == ".parquet"]
    plain = ("doc", "model_response", "metric")
    return bool(details) and (
        has_columns(details, *plain) or has_columns(details, *(f"__{name}__" for name in plain))
    )


def read(files: Sequence[File], choice: Choice) -> Log:
    """Rows of all files; nested fields differ between tasks and are read file by file."""
    notes: list[str] = []
    details = [file for file in files if file.suffix == ".parquet"]
    results = [file for file in files if file.base.startswith("results_")]
    note_unread(files, [*details, *results], notes)
    asked = Questions()
    rows = [row for file in details for row in _rows(file, choice, asked, notes)]
    return log_of_rows(rows, f"{len(details)} files of details", notes)


def _rows(file: File, choice: Choice, asked: Questions, notes: list[str]) -> list[dict[str, Any]]:
    place = repr(file.name)
    match = NAME.fullmatch(file.base)
    # {out}/details/{model_name}/{date}/file: the name of a model may be several folders.
    parts = file.path.absolute().parent.parts
    above = parts[parts.index("details") + 1 :] if "details" in parts else parts[-2:]
    observer = "/".join(above[:-1]) or above[-1]
    rows, most = [], 1
    for number, raw in enumerate(pyarrow.parquet.read_table(io.BytesIO(file.read())).to_pylist()):
        where = f"{place}, row {number}"
        sample = {name.strip("_"): value for name, value in raw.items()}
        doc = field(sample, "doc", place=where)
        # Fields of other tasks are there, but null.
        scores = {k: v for k, v in field(sample, "metric", place=where).items() if v is not None}
        score = chosen("metric", "score", choice.score, scores, place)
        task = doc.get("task_name") or (match[1] if match else None)
        rows.append(
            {
                "observer": observer,
                "kind": "model",
                "dataset": label({"doc.task_name": task}, "doc.task_name", place=where),
                "item": str(number),
                "correct": right(scores[score], f"{score} of {where}"),
                **_answer(doc, field(sample, "model_response", place=where)),
            }
        )
        asked.check((rows[-1]["dataset"], rows[-1]["item"]), doc.get("query"), place)
        # Of options each has a text of its own.
        texts = [] if "truth" in rows[-1] else (sample["model_response"] or {}).get("text") or []
        most = max(most, len(texts))
    if most > 1:
        notes.append(f"{place} has up to {most} answers to a question: one score is of all of them")
    return rows


def _answer(doc: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """Position of the likeliest option and of the right one; nothing for generated text."""
    gold = doc.get("gold_index")
    gold = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    likelihood = response.get("logprobs") or []
    if not isinstance(gold, int) or len(likelihood) < 2 or len(likelihood) != len(doc["choices"]):
        return {}
    return among(str(gold), likelihood)


READER = Reader("lighteval", "details of lighteval", recognises, read)
