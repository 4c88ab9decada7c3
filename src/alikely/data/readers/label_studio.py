"""Exports of Label Studio: tasks with annotations (JSON), or a row for each annotation.

Items are the ids of tasks. The response is in ``choices``, ``rating``, ``number`` or ``text`` of
one ``from_name`` (selected by ``filter=``), or in the label's column of a csv file. A task without
a result has no response.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

ROWS = ("annotator", "annotation_id", "id")
# Of a row what is no answer, but for the data of the task.
OTHER = {*ROWS, "created_at", "updated_at", "lead_time"}
KINDS = ("choices", "rating", "number", "taxonomy", "labels", "text")


def recognizes(files: Sequence[File]) -> bool:
    """By the annotations of a task, or the columns of a row."""
    return has_columns(files, "annotations", "data", "id") or has_columns(files, *ROWS)


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all annotations: annotators are observers, and nothing says what is true."""
    for file in files:
        whole = log.records(file) if file.is_json else None
        if whole is not None and any("annotations" in task for task in whole):
            rows = _of_tasks(log, whole)
            log.tables.append(pd.DataFrame(rows, columns=["observer", "item", "response"]))
        else:
            frame = log.table(file)
            log.columns = {"observer": "annotator", "item": "id", "response": _label(log, frame)}
            log.tables.append(frame)


def _of_tasks(log: Log, tasks: list[dict[str, Any]]) -> list[tuple[Any, Any, Any]]:
    found: list[tuple[str, str, str | None, str]] = []
    for task in tasks:
        for annotation in task.get("annotations") or []:
            who = annotation.get("completed_by")
            who = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
            results = [one for one in annotation.get("result") or [] if "from_name" in one]
            for one in results:
                value = one.get("value") or {}
                answer = next((value[kind] for kind in KINDS if kind in value), None)
                answer = answer if isinstance(answer, list) else [answer]
                text = ", ".join(sorted(map(str, answer)))
                found.append((str(who), str(task["id"]), text, str(one["from_name"])))
            if not results:
                found.append((str(who), str(task["id"]), None, ""))
    names = [name for *_, name in found if name]
    one = log.choose("label", "filter", names, repr(log.current))
    return [entry[:3] for entry in found if entry[3] in (one, "")]


def _label(log: Log, frame: pd.DataFrame) -> str:
    """The column of labels: the data of a task are the same for all who annotate it."""
    if (asked := log.renamed.get("response")) is not None:
        return str(asked)
    own = [name for name in frame if name not in OTHER]
    same = frame.astype(str).groupby("id").nunique().max()
    there = [name for name in own if same[name] > 1] or own[-1:]
    one = log.choose("label", "filter", there, repr(log.current))
    log.notes.append(f"labels are column {one!r} (or give response=)")
    return one


READER = Reader("label-studio", "export of Label Studio", recognizes, read)
