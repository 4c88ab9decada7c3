"""Tables of crowd-kit and Toloka: ``task, worker, label``, and ``task, label`` of true ones.

Items are tasks. Empty labels are missing responses.
"""

from __future__ import annotations

from collections.abc import Sequence

from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

ROLES = {"observer": "worker", "item": "task", "response": "label"}
TRUE = ("true_label", "label", "golden")


def recognizes(files: Sequence[File]) -> bool:
    """By the columns of one of the files."""
    return any(has_columns([file], *ROLES.values()) for file in files)


def read(files: Sequence[File], log: Log) -> None:
    """Tables of labels, and true ones where another file has them."""
    truths: dict[str, str] = {}
    tables = [(file, log.table(file)) for file in files]
    log.names = []
    for file, table in tables:
        if ROLES["observer"] in table:
            log.tables.append(table)
            log.names.append(file.name)
            continue
        one = next((name for name in TRUE if name in table), None)
        if one is None or ROLES["item"] not in table:
            raise ValueError(f"{file.name!r} has neither workers nor tasks with true labels")
        truths |= dict(zip(table[ROLES["item"]].astype(str), table[one], strict=True))
    log.by_file = len(log.tables) == len(files)
    log.columns = dict(ROLES)
    if truths:
        for name, table in zip(log.names, log.tables, strict=True):
            true = table[ROLES["item"]].astype(str).map(truths)
            if (lacks := true.isna()).any():
                raise ValueError(
                    f"{lacks.sum()} rows of {name!r} are of tasks without a true label, such as "
                    f"{table[ROLES['item']][lacks].iloc[0]!r}; add them to the other file"
                )
            table["truth"] = true
        log.notes.append(f"true labels of {len(truths)} tasks are from a separate file")


READER = Reader("crowd-kit", "labels of crowd-kit", recognizes, read)
