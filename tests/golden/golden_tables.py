"""Stored tables of seeded calls, and how a new table is compared with a stored one.

`python tests/golden/golden_tables.py` stores the tables of calls that have none yet; nothing that is
stored is ever written again. A column whose values come from random draws has a second column,
`<name>~mc`: the Monte Carlo standard error of one call, from calls with other seeds.
"""

from __future__ import annotations

import dataclasses
import io
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
TABLES = HERE / "tables"
NAMES = HERE / "names.csv"
CHANGES = HERE / "changes.csv"

N_SEEDS = 16
ERRORS = 6.0
RELATIVE = 1e-9
MC = "~mc"


@dataclasses.dataclass(frozen=True)
class Call:
    """A seeded call: what it covers (function or subcommand), and how to make its table."""

    name: str
    covers: tuple[str, ...]
    table: Callable[[int], pd.DataFrame]

    @property
    def path(self) -> Path:
        return TABLES / f"{self.name}.csv"


def prepared(table: pd.DataFrame) -> pd.DataFrame:
    """Plain columns of numbers and text; of a note only whether there is one."""
    out = {}
    for name, column in table.reset_index(drop=True).items():
        if str(name) == "note":
            out["note"] = column.fillna("").astype(str).str.strip().ne("").astype(float)
        elif pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
            out[str(name)] = column.astype(float)
        else:
            out[str(name)] = column.astype(object).where(column.notna(), "").map(str)
    return pd.DataFrame(out)


def run(call: Call, seed: int) -> pd.DataFrame:
    """The table of a call, without the warnings that its notes repeat."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return prepared(call.table(seed))


def stored(call: Call) -> pd.DataFrame:
    """A stored table as it was written: text where a column is text."""
    return _read(call.path.read_bytes())


def _read(content: bytes) -> pd.DataFrame:
    table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
    for name in table:
        numbers = pd.to_numeric(table[name].replace("", "nan"), errors="coerce")
        if (numbers.notna() | table[name].isin(["", "nan"])).all() and (table[name] != "").any():
            table[name] = numbers
    return table


def make(call: Call) -> pd.DataFrame:
    """The table to store: means over seeds where values are drawn, with their Monte Carlo error."""
    first, second = run(call, 1), run(call, 2)
    if first.equals(second):
        return first
    runs = [first, second, *(run(call, seed) for seed in range(3, N_SEEDS + 1))]
    table = {}
    for name in first:
        columns = [each[name] for each in runs]
        if all(column.equals(columns[0]) for column in columns):
            table[name] = columns[0]
            continue
        if any(column.dtype == object for column in columns):
            raise ValueError(f"{call.name}: text of {name} depends on the seed; leave it out")
        values = np.array(columns)
        undefined = np.isnan(values)
        if (undefined.any(axis=0) != undefined.all(axis=0)).any():
            raise ValueError(f"{call.name}: {name} is undefined for some seeds only; leave it out")
        table[name] = values.mean(axis=0)
        error = values.std(axis=0, ddof=1)
        # A value that no seed has moved yet may move by the least step that others have moved by.
        least = error[error > 0].min()
        table[name + MC] = np.where(undefined[0], np.nan, np.maximum(error, least))
    return pd.DataFrame(table)


def renamed(call: Call, table: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    """A stored table in today's names: `names.csv` has call (or `*`), what (column, value), old, new."""
    for row in names[names["call"].isin([call.name, "*"])].itertuples():
        if row.what == "column":
            table = table.rename(columns={row.old: row.new, row.old + MC: row.new + MC})
        elif row.what == "value":
            text = table.columns[[not pd.api.types.is_numeric_dtype(table[c]) for c in table]]
            table[text] = table[text].replace(row.old, row.new)
        else:
            raise ValueError(f"names.csv: what must be 'column' or 'value', got {row.what!r}")
    return table


def differences(
    call: Call, new: pd.DataFrame, old: pd.DataFrame, changes: pd.DataFrame
) -> list[str]:
    """What differs, each with function, row and column; `old` is in today's names."""
    if len(new) != len(old):
        return [f"{call.name}: {len(new)} rows, stored are {len(old)}"]
    found = []
    intended = {(row.row, row.column): row for row in changes.itertuples() if row.call == call.name}
    for name in old:
        if name.endswith(MC):
            continue
        if name not in new:
            found.append(f"{call.name}: column {name} is missing")
            continue
        expected = old[name].to_numpy()
        error = old[name + MC].to_numpy() if name + MC in old else np.zeros(len(old))
        for k, (value, before) in enumerate(zip(new[name], expected, strict=True)):
            change = intended.get((k, name))
            if change is not None and not _same(_typed(change.before, before), before, 0.0):
                found.append(f"{call.name}, row {k}, {name}: changes.csv says before = {change.before}, stored is {before}")  # fmt: skip
                continue
            target = before if change is None else _typed(change.after, before)
            if not _same(value, target, float(error[k])):
                label = ", ".join(str(v) for v in new.iloc[k] if isinstance(v, str) and v)[:80]
                found.append(f"{call.name}, row {k} ({label}), {name}: {value!r}, stored is {target!r}, Monte Carlo error {error[k]:.3g}")  # fmt: skip
    return found


def _typed(text: str, like: object) -> object:
    return str(text) if isinstance(like, str) else float(text or "nan")


def _same(value: object, expected: object, error: float) -> bool:
    if isinstance(value, str) or isinstance(expected, str):
        return ("" if value != value else str(value)) == ("" if expected != expected else expected)
    a, b = float(value), float(expected)
    if np.isnan(a) or np.isnan(b):
        return bool(np.isnan(a) and np.isnan(b))
    if error > 0:
        # The stored value is a mean over seeds, with an error of its own.
        return abs(a - b) <= ERRORS * error * np.sqrt(1 + 1 / N_SEEDS)
    return a == b or abs(a - b) <= RELATIVE * max(abs(a), abs(b), 1e-3)


def csv_of(path: Path, columns: str) -> pd.DataFrame:
    """`names.csv` or `changes.csv`, as text, with the columns that it must have."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    if list(table.columns) != columns.split():
        raise ValueError(f"{path.name} must have columns {columns}, got {' '.join(table.columns)}")
    if "row" in table:
        table["row"] = table["row"].astype(int)
    return table


def names() -> pd.DataFrame:
    return csv_of(NAMES, "call what old new")


def changes() -> pd.DataFrame:
    return csv_of(CHANGES, "call row column before after reason")


def first_version(path: Path) -> bytes | None:
    """A file as the commit that added it had it; None where nothing is committed yet."""
    git = ["git", "-C", str(path.parent)]
    added = subprocess.run(
        [*git, "log", "--diff-filter=A", "--format=%H", "--", path.name],
        capture_output=True, text=True, check=False,
    ).stdout.split()  # fmt: skip
    if not added:
        return None
    return subprocess.run(
        [*git, "show", f"{added[-1]}:./{path.name}"], capture_output=True, check=True
    ).stdout


def write(calls: list[Call]) -> None:
    """Store the tables of calls that have none."""
    TABLES.mkdir(exist_ok=True)
    for call in calls:
        if call.path.exists():
            continue
        table = make(call)
        table.to_csv(call.path, index=False, lineterminator="\n")
        drawn = [name for name in table if name.endswith(MC)]
        print(f"{call.name}: {len(table)} rows, {len(table.columns)} columns, {len(drawn)} drawn")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    from golden_calls import CALLS

    write(CALLS)
