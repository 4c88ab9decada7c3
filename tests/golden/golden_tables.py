"""Stored tables of seeded calls, and their comparison with new tables.

`python tests/golden/golden_tables.py` stores the tables of calls that have none yet. Stored tables
are never rewritten: `names.csv` lists new names, `changes.csv` intended changes. A column whose
values come from random draws has a second column, `<name>~mc`: the Monte Carlo standard error of
one call, computed from calls with other seeds.
"""

from __future__ import annotations

import dataclasses
import io
import shutil
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
    """A seeded call: the functions or subcommands that it covers, and its table."""

    name: str
    covers: tuple[str, ...]
    table: Callable[[int], pd.DataFrame]

    @property
    def path(self) -> Path:
        return TABLES / f"{self.name}.csv"


def prepared(table: pd.DataFrame) -> pd.DataFrame:
    """Plain columns of numbers and text; notes become whether there is one."""
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
    """The table of a call, without warnings that repeat its notes."""
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
    """The table to store: means over seeds of random values, with their Monte Carlo error."""
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
        if not all(pd.api.types.is_numeric_dtype(column) for column in columns):
            raise ValueError(f"{call.name}: text of {name} depends on the seed; leave it out")
        values = np.array(columns)
        finite = np.isfinite(values)
        never, always = ~finite.any(axis=0), finite.all(axis=0)
        values[:, ~always] = 0.0
        error = values.std(axis=0, ddof=1)
        # A value that no seed changed may change by the smallest step of other values.
        error = np.maximum(error, error[error > 0].min(initial=np.inf))
        table[name] = np.where(never, columns[0], np.where(always, values.mean(axis=0), np.nan))
        # Infinite if draws decide whether a bound is finite; such values are not compared.
        table[name + MC] = np.where(never, np.nan, np.where(always, error, np.inf))
    return pd.DataFrame(table)


def renamed(call: Call, table: pd.DataFrame, names: pd.DataFrame) -> pd.DataFrame:
    """A stored table with current names: rows of `names.csv` apply to this call or to all (`*`)."""
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
    """Differences, with function, row and column; `old` has current names."""
    if len(new) != len(old):
        return [f"{call.name}: {len(new)} rows, stored are {len(old)}"]
    found = []
    intended = {(row.row, row.column): row for row in changes.itertuples() if row.call == call.name}
    for name in (name for name in old if not name.endswith(MC)):
        if name not in new:
            found.append(f"{call.name}: column {name} is missing")
            continue
        errors = old[name + MC] if name + MC in old else np.zeros(len(old))
        for k, (value, expected, error) in enumerate(
            zip(new[name], old[name], errors, strict=True)
        ):
            place = f"{call.name}, row {k} ({_label(new, k)}), {name}"
            change = intended.get((k, name))
            if change is not None:
                if not _same(_typed(change.before, expected), expected, 0.0):
                    found.append(f"{place}: changes.csv says before = {change.before}, "
                                 f"stored is {expected!r}")  # fmt: skip
                    continue
                expected = _typed(change.after, expected)
            if not _same(value, expected, error):
                found.append(f"{place}: {value!r}, stored is {expected!r}, "
                             f"Monte Carlo error {error:.3g}")  # fmt: skip
    return found


def _label(table: pd.DataFrame, row: int) -> str:
    """The text of a row, which identifies it."""
    return ", ".join(value for value in table.iloc[row] if isinstance(value, str) and value)[:80]


def _typed(text: str, like: object) -> object:
    return str(text) if isinstance(like, str) else float(text or "nan")


def _same(value: object, expected: object, error: float) -> bool:
    if isinstance(value, str) or isinstance(expected, str):
        return ("" if value != value else str(value)) == ("" if expected != expected else expected)
    a, b = float(value), float(expected)
    if error == np.inf:
        return True
    if not np.isfinite([a, b]).all():
        return str(a) == str(b)
    # Seeds may change values that are not random only by rounding.
    allowed = RELATIVE * max(abs(a), abs(b), 1e-3)
    if error > 0:
        # The stored value is a mean over seeds and has Monte Carlo error.
        allowed = max(allowed, ERRORS * error * np.sqrt(1 + 1 / N_SEEDS))
    return a == b or abs(a - b) <= allowed


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


def git(*arguments: str) -> bytes:
    """Output of git for the folder of tables; empty without git or outside a repository."""
    if shutil.which("git") is None:
        return b""
    command = ["git", "-C", str(TABLES), *arguments]
    return subprocess.run(command, capture_output=True, check=False).stdout


def first_versions() -> dict[str, bytes]:
    """First committed version of each table; none in a shallow clone."""
    # In a shallow clone, the oldest commit seems to add all current files.
    if git("rev-parse", "--is-shallow-repository").strip() != b"false":
        return {}
    commits: dict[str, str] = {}
    commit = ""
    listing = git(
        "log", "--diff-filter=A", "--no-renames", "--format=@%H", "--name-only", "--", "."
    )
    for line in listing.decode().splitlines():
        if line.startswith("@"):
            commit = line[1:]
        elif line.endswith(".csv"):
            # The oldest comes last.
            commits[Path(line).name] = commit
    return {name: git("show", f"{commit}:./{name}") for name, commit in commits.items()}


def write(calls: list[Call]) -> None:
    """Store the tables of calls that have none."""
    TABLES.mkdir(exist_ok=True)
    for call in calls:
        if call.path.exists():
            continue
        table = make(call)
        table.to_csv(call.path, index=False, lineterminator="\n")
        errors = table[[name for name in table if name.endswith(MC)]].to_numpy()
        print(
            f"{call.name}: {len(table)} rows, {len(table.columns) - errors.shape[1]} columns, "
            f"{errors.shape[1]} of them drawn, {np.isinf(errors).sum()} cells not comparable"
        )


if __name__ == "__main__":
    sys.path.insert(0, str(HERE))
    from golden_calls import CALLS, SLOW

    write([*CALLS, *SLOW])
