"""Reports of SWE-bench and of harnesses like it: lists of the instances that were resolved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

__all__ = ["READER"]

RESOLVED = ("resolved_ids", "resolved")
# Of these nobody has seen a patch that could be tested.
SILENT = ("error_ids", "empty_patch_ids", "incomplete_ids", "no_generation")


def recognizes(files: Sequence[File]) -> bool:
    """By the list of resolved instances."""
    first = files[0]
    return first.suffix == ".json" and any(
        has_columns([first], name, *beside)
        for name, beside in ((RESOLVED[0], ()), (RESOLVED[1], ("no_generation",)))
    )


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all instances of every report, each of one system."""
    reports = [file for file in files if file.suffix == ".json"]
    log.note_unread(files, reports)
    log.notes.append("systems are named by their files")
    for file in reports:
        lists = {
            name: list(map(str, ids))
            for name, ids in log.records(file)[0].items()
            if isinstance(ids, list) and (name.endswith("_ids") or name in (*RESOLVED, *SILENT))
        }
        resolved = next((set(lists[name]) for name in RESOLVED if name in lists), None)
        if resolved is None:
            raise ValueError(f"{file.name!r} has no list 'resolved_ids'; it is no such report")
        silent = {id_ for name in SILENT for id_ in lists.get(name, ())} - resolved
        _add(log, file, lists, resolved, silent)
    log.finish(f"{len(reports)} reports")


def _add(log: Log, file: File, lists: dict[str, Any], resolved: set[str], silent: set[str]) -> None:
    name = file.base.removesuffix(".json").removesuffix(".report")
    for number, id_ in enumerate(dict.fromkeys(id_ for ids in lists.values() for id_ in ids)):
        log.add(
            name,
            "swe-bench",
            id_,
            place=repr(file.name),
            number=number,
            answered=id_ not in silent,
            correct=int(id_ in resolved),
        )


READER = Reader("swe-bench", "reports of SWE-bench", recognizes, read)
