"""`alikely describe`: contents of a file, and what can be computed from it."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import Any

import alikely as al
from alikely.cli._app import Options, Reading, subcommand
from alikely.cli._running import worded
from alikely.data.columns import ROLES
from alikely.data.files import find_files
from alikely.data.summaries import described

# With more rows or columns, searching for groups of items takes too long.
MOST_RESPONSES, MOST_COLUMNS = 200_000, 12


@subcommand(file="some", out="", one_file=True)
def describe(o: Options) -> None:
    """Describe FILE: observers, items, missing responses, and what can be computed.

    It prints how FILE is read, observers with kinds and accuracies, items, conditions, missing
    responses, items without a match, clusters, and the command for each possible analysis.
    """
    o.reading.unmatched = "accept"
    trials = o.trials()
    o.notes = []  # part of the description
    names = [f"--{one.name.replace('_', '-')}" for one in fields(Reading)]

    def say(note: str) -> str:
        return worded(note, names, ROLES)

    print(described(trials.data, _arguments(o), _grouping(o, trials), say))


def _arguments(o: Options) -> str:
    """FILE and the options of reading, as they were given."""
    said = [shlex.quote(name) for name in o.file]
    for one in fields(Reading):
        value = getattr(o.reading, one.name)
        if one.name == "unmatched" or value in (None, False, [], "auto", "newest"):
            continue
        name = f"--{one.name.replace('_', '-')}"
        for entry in value if isinstance(value, list) else [value]:
            said.append(name if entry is True else f"{name} {shlex.quote(str(entry))}")
    return " ".join(said)


def _grouping(o: Options, trials: al.Trials) -> dict[str, Any]:
    """Columns of a table that are the same for all rows of an item, and group items."""
    data, reading = trials.data, o.reading
    if any(note.startswith("read as ") for note in trials.notes) or reading.wide:
        return {}
    if data["correct"].size > MOST_RESPONSES:
        return {}
    used = {part.partition("=")[2].strip() for part in (reading.columns or "").split(",")}
    path: Any = o.file if len(o.file) > 1 else o.file[0]
    columns = find_files(path)[0][0].columns()
    n_items = data["item"].to_series().nunique()
    found: dict[str, Any] = {}
    for name in [c for c in columns if c and c not in {*ROLES, *used, "image"}][:MOST_COLUMNS]:
        try:
            again = reading.read(o.file, item_columns=(name,)).data
        except (ValueError, KeyError):
            continue
        if 1 < again[name].to_series().nunique() < n_items:
            found[name] = again[name].values
    return found
