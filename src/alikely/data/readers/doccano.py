"""Exports of doccano: ``{annotator}.jsonl``, texts with a label each.

Items are the ids of texts. The response is in ``label`` or ``annotations.label``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alikely.data.files import LINES, File
from alikely.data.readers import Log, Reader, has_columns

LABELS = ("label", "labels")


def recognizes(files: Sequence[File]) -> bool:
    """By the fields of a text."""
    first = files[0]
    return first.suffix in LINES and any(
        has_columns([first], "id", "text", name) for name in (*LABELS, "annotations")
    )


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all texts: annotators are files, or the users of a text's annotations."""
    for file in files:
        rows: list[tuple[str, str, str | None]] = []
        for number, text in enumerate(log.records(file)):
            item, where = str(text.get("id", number)), f"{file.name!r}, entry {number}"
            if (many := text.get("annotations")) is not None:
                rows += [(str(one["user"]), item, _label([one["label"]], where)) for one in many]
            else:
                found: Any = next((text[name] for name in LABELS if name in text), [])
                rows.append((Path(file.base).stem, item, _label(found, where)))
        log.tables.append(pd.DataFrame(rows, columns=["observer", "item", "response"]))
    log.notes.append("annotators are named by their files, where texts do not name them")


def _label(found: Any, where: str) -> str | None:
    labels = found if isinstance(found, list) else [found]
    if any(isinstance(one, list | dict) for one in labels) or len(labels) > 1:
        raise ValueError(
            f"{where} has several labels, or labels of parts of the text; export a project of one "
            "label for each text"
        )
    return str(labels[0]) if labels else None


READER = Reader("doccano", "export of doccano", recognizes, read)
