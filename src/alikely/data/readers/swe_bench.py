"""Reports of SWE-bench and of harnesses like it: lists of the instances that were resolved.

Items are instance ids. Instances in ``error_ids``, ``empty_patch_ids`` and ``incomplete_ids`` have
no response.
"""

from __future__ import annotations

from collections.abc import Sequence

from alikely.data.files import File
from alikely.data.readers import Log, Reader, has_columns

RESOLVED = ("resolved_ids", "resolved")
# Of these nobody has seen a patch that could be tested.
SILENT = ("error_ids", "empty_patch_ids", "incomplete_ids", "no_generation")


def recognizes(files: Sequence[File]) -> bool:
    """By the list of resolved instances."""
    first = files[0]
    return first.suffix == ".json" and any(
        has_columns([first], name, *alongside)
        for name, alongside in ((RESOLVED[0], ()), (RESOLVED[1], ("no_generation",)))
    )


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all instances of every report, each of one system."""
    log.notes.append("systems are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        lists = {
            name: list(map(str, ids))
            for name, ids in log.records(file)[0].items()
            if isinstance(ids, list) and (name.endswith("_ids") or name in (*RESOLVED, *SILENT))
        }
        resolved = next((set(lists[name]) for name in RESOLVED if name in lists), None)
        if resolved is None:
            raise ValueError(f"{file.name!r} has no list 'resolved_ids'; it is no such report")
        silent = {id_ for name in SILENT for id_ in lists.get(name, ())} - resolved
        name = file.base.removesuffix(".json").removesuffix(".report")
        every = dict.fromkeys(id_ for ids in lists.values() for id_ in ids)
        for _, id_ in log.samples(file, every):
            answered, correct = id_ not in silent, int(id_ in resolved)
            log.add(name, "swe-bench", id_, answered=answered, correct=correct)


READER = Reader("swe-bench", "reports of SWE-bench", recognizes, read)
