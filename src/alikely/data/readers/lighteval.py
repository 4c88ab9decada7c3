"""Details of lighteval: ``details_{task}_{date}.parquet``, a row for each sample."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, among, field, has_columns, label, right

NAME = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
COLUMNS = ("doc", "model_response", "metric")


def recognizes(files: Sequence[File]) -> bool:
    """By the three columns, with or without underscores."""
    details = [file for file in files if file.suffix == ".parquet"]
    ways = (COLUMNS, [f"__{name}__" for name in COLUMNS])
    return bool(details) and any(has_columns(details, *names) for names in ways)


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all files; nested fields differ between tasks and are read file by file."""
    details = [file for file in files if file.suffix == ".parquet"]
    log.only(files, [f for f in files if f in details or f.base.startswith("results_")])
    runs = []
    for file in details:
        match = NAME.fullmatch(file.base)
        task, date = match.groups() if match else (file.base, "")
        runs.append(Run(_observer(file), task, {}, (date,), file.name, file))
    for observer, _, file in log.runs(runs):
        _add(log, file, observer)


def _observer(file: File) -> str:
    # {out}/details/{model_name}/{date}/file: the name of a model may be several folders.
    parts = file.parts[:-1]
    above = parts[parts.index("details") + 1 :] if "details" in parts else parts[-2:]
    return "/".join(above[:-1]) or above[-1]


def _add(log: Log, file: File, observer: str) -> None:
    place = repr(file.name)
    match = NAME.fullmatch(file.base)
    most = 1
    for where, raw in log.samples(file, log.arrow(file).to_pylist()):
        sample = {name.strip("_"): value for name, value in raw.items()}
        doc, response, scores = (field(sample, name, place=where) for name in COLUMNS)
        # Fields of other tasks are there, but null.
        scores = {name: value for name, value in scores.items() if value is not None}
        score = log.choose("metric", "score", scores, place)
        task = doc.get("task_name") or (match[1] if match else None)
        answer = _answer(doc, response)
        texts = [] if answer else (response or {}).get("text") or []
        log.add(
            observer,
            label({"doc.task_name": task}, "doc.task_name", place=where),
            str(log.place[1]),
            answered=not texts or any(str(text or "").strip() for text in texts),
            mark=doc.get("query"),
            correct=right(scores[score], f"{score} of {where}"),
            **answer,
        )
        # Of options each has a text of its own.
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


READER = Reader("lighteval", "details of lighteval", recognizes, read)
