"""Details of the first Open LLM Leaderboard: parquet files of ``details_{org}__{model}``.

Those of the second are samples of lm-evaluation-harness, which `lm_eval` reads.
"""

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
    log_of_rows,
    note_unread,
    right,
)

__all__ = ["READER"]

NAME = re.compile(r"details_(?:.*\|)?([^|]+)\|\d+_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
FOLDER = re.compile(r"details_(.+?)__(.+)")
MMLU = "hendrycksTest-"


def recognises(files: Sequence[File]) -> bool:
    """By the columns of likelihoods, of the right option, and of hashes."""
    details = [file for file in files if file.suffix == ".parquet"]
    return bool(details) and has_columns(details, "predictions", "gold", "hashes")


def read(files: Sequence[File], choice: Choice) -> Log:
    """Rows of the newest run of every task; subjects of MMLU are conditions."""
    notes: list[str] = []
    newest: dict[tuple[str, str], tuple[str, File]] = {}
    older = []
    for file in files:
        match = NAME.fullmatch(file.base)
        if file.suffix != ".parquet" or match is None:
            continue
        key, here = (_observer(file), match[1]), (match[2], file)
        if key in newest:
            older.append(min(newest[key], here, key=lambda entry: entry[0])[1].name)
        newest[key] = max(newest.get(key, here), here, key=lambda entry: entry[0])
    note_unread(files, [file for file in files if NAME.fullmatch(file.base)], notes)
    if older:
        notes.append(f"of several runs the newest was read; left out: {', '.join(older)}")
    asked = Questions()
    rows = [
        row
        for (observer, task), (_, file) in newest.items()
        for row in _rows(file, observer, task, choice, asked)
    ]
    return log_of_rows(rows, f"{len(newest)} files of details", notes)


def _observer(file: File) -> str:
    """Organisation and model, from the folder of the data set."""
    found = (FOLDER.fullmatch(part) for part in reversed(file.path.absolute().parts[:-1]))
    match = next((one for one in found if one), None)
    if match is None:
        raise ValueError(
            f"{file.name!r} is in no folder such as details_org__model, which names the model; "
            "give it that name"
        )
    return f"{match[1]}/{match[2]}"


def _rows(
    file: File, observer: str, task: str, choice: Choice, asked: Questions
) -> list[dict[str, Any]]:
    table = pyarrow.parquet.read_table(io.BytesIO(file.read()))
    place = repr(file.name)
    names = [name for name in table.column_names if name in ("acc", "acc_norm", "em", "mc1")]
    score = chosen("score", "score", choice.score, names, place)
    dataset, condition = ("mmlu", task[len(MMLU) :]) if task.startswith(MMLU) else (task, "all")
    rows = []
    for number, sample in enumerate(table.to_pylist()):
        where = f"{place}, row {number}"
        likelihood, gold = field(sample, "predictions", place=where), sample.get("gold")
        row = {
            "observer": observer,
            "kind": "model",
            "dataset": dataset,
            "condition": condition,
            "item": str(number),
            "correct": right(sample[score], f"{score} of {where}"),
        }
        mark = (sample.get("hashes") or {}).get("example")
        asked.check((dataset, condition, str(number)), mark, place)
        # Of acc_norm the lengths of options are not kept: no answer follows from likelihoods.
        options = score == "acc" and isinstance(gold, int) and len(likelihood) > 1
        answer = among(str(gold), likelihood) if options else {}
        rows.append(row | answer)
    return rows


READER = Reader("leaderboard", "details of the Open LLM Leaderboard", recognises, read)
