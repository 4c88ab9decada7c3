"""Wide tables, with a column of answers for each observer, made long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import narwhals as nw

from alikely._base.names import listed, nearest
from alikely.data.ingest import frame_of

__all__ = ["Long", "long_tables"]

ROW = "row"


class Long(NamedTuple):
    """Tables with columns of the usual names, where each comes from, and what was found out."""

    tables: list[Any]
    names: list[str]
    notes: list[str]


def long_tables(
    tables: Sequence[Any],
    *,
    names: Sequence[str] | None = None,
    observers: Sequence[str] | None = None,
    truth: str = "truth",
    item: str = "item",
    condition: str = "condition",
    dataset: str = "dataset",
    repeat: str = "repeat",
    kind: Mapping[str, str] | None = None,
    item_columns: Sequence[str] = (),
) -> Long:
    """Make of each observer's column a long table."""
    roles = {"truth": truth, "item": item, "condition": condition, "dataset": dataset}
    roles["repeat"] = repeat
    if not isinstance(kind, Mapping | None):
        raise ValueError(f"kind must map observers to kinds in a wide table, got {kind!r}")
    made, places, found = [], [], dict[str, None]()
    notes: list[str] = []
    for number, table in enumerate(tables):
        frame = frame_of(table)
        of = dict(roles)
        if item == "item" and "item" not in frame.columns and "image" in frame.columns:
            of["item"] = "image"
        for role, name in of.items():
            if name != role and name not in frame.columns:
                raise ValueError(
                    f"no column {name!r} ({role}); the columns are {listed(frame.columns)}"
                    f"{nearest(name, frame.columns)}"
                )
        if of["item"] not in frame.columns:
            if ROW in frame.columns:
                raise ValueError("no column 'item'; name yours by item=")
            frame = frame.with_row_index(ROW)
            of["item"] = ROW
            notes.append("there is no column 'item': items are the rows, counted from 0")
        of = {role: name for role, name in of.items() if name in frame.columns}
        of |= {name: name for name in item_columns if name in frame.columns}
        people = _observers(frame.columns, observers, set(of.values()))
        found |= dict.fromkeys(people)
        answer = "response" if "truth" in of else "correct"
        for name in people:
            columns = [nw.col(column).alias(role) for role, column in of.items()]
            own = {"observer": nw.lit(name, dtype=nw.String)}
            if kind is not None:
                if name not in kind:
                    raise ValueError(
                        f"kind has no entry for observer {name!r}; it has {listed(kind)}"
                    )
                own["kind"] = nw.lit(kind[name], dtype=nw.String)
            made.append(frame.select(*columns, nw.col(name).alias(answer)).with_columns(**own))
            places.append(f"column {name}" + (f" of {names[number]}" if names else ""))
    if observers is None:
        notes.append(f"{len(found)} columns are observers: {listed(found, most=8)}")
    return Long(made, places, list(dict.fromkeys(notes)))


def _observers(
    columns: Sequence[str], observers: Sequence[str] | None, taken: set[str]
) -> list[str]:
    if isinstance(observers, str):
        raise ValueError(f"observers must be a list of columns, got {observers!r}")
    people = list(observers) if observers is not None else [c for c in columns if c not in taken]
    lacking = next((name for name in people if name not in columns), None)
    if lacking is not None:
        raise ValueError(
            f"no column {lacking!r} (an observer); the columns are {listed(columns)}"
            f"{nearest(lacking, columns)}"
        )
    if not people:
        raise ValueError(f"no column is left for an observer; the columns are {listed(columns)}")
    return people
