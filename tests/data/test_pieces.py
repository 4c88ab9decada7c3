"""Tables aligned piece by piece, against the same tables whose columns are read as a whole."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr

import alikely as al
from alikely.data import aligned, ingest, parquet
from alikely.data.ingest import OddError, Source
from alikely.data.pieces import Aligned, Roles, in_pieces

Change = Callable[[list[pd.DataFrame], np.random.Generator], None]


def _tables(rng: np.random.Generator) -> list[pd.DataFrame]:
    """Answers of some observers on some items, in three tables that are shuffled."""
    observers = [f"o{k}" for k in rng.permutation(5)]
    grid = pd.MultiIndex.from_product(
        [observers, ["u", "v"], range(4), [0, 1]], names=["observer", "condition", "item", "repeat"]
    )
    table = grid.to_frame(index=False)
    table["item"] = table["item"].map(lambda k: f"i{k}")
    table["kind"] = np.where(table["observer"] < "o2", "human", "model")
    table["lab"] = "lab of " + table["observer"]
    truth = dict(zip(range(4), rng.choice(["cat", "dog", "cow"], 4), strict=True))
    table["truth"] = table["item"].str[1:].astype(int).map(truth)
    table["response"] = rng.choice(["cat", "dog", "cow"], len(table))
    table = table.iloc[rng.permutation(len(table))[:60]].reset_index(drop=True)
    table["response"] = np.where(
        np.isin(table["response"], table["truth"]), table["response"], table["truth"]
    )
    cuts = [0, *np.sort(rng.choice(np.arange(1, 59), 2, replace=False)).tolist(), 60]
    parts = [table.iloc[a:b] for a, b in itertools.pairwise(cuts)]
    return [part.reset_index(drop=True) for part in parts]


def _set(name: str, value: object) -> Change:
    """Put a value into one cell of one table."""

    def change(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
        k = int(rng.integers(3))
        column = tables[k][name].astype(object)
        column.iloc[int(rng.integers(len(column)))] = value
        tables[k][name] = column

    return change


def _numbers(*names: str) -> Change:
    def change(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
        code = {"cat": 0, "dog": 1, "cow": 2}
        for table in tables:
            for name in names:
                table[name] = table[name].map(code).astype(float if rng.random() < 0.5 else int)

    return change


def _twice(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
    one, other = rng.integers(3, size=2)
    row = tables[one].iloc[[int(rng.integers(len(tables[one])))]]
    tables[other] = pd.concat([tables[other], row], ignore_index=True)


def _correct(*values: object) -> Change:
    def change(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
        for k, table in enumerate(tables):
            right = (table.pop("truth") == table.pop("response")).astype(int)
            table["correct"] = right if k else right.astype(object)
        for value in values:
            tables[0].loc[int(rng.integers(len(tables[0]))), "correct"] = value

    return change


def _without(*names: str) -> Change:
    def change(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
        for k in range(3):
            tables[k] = tables[k].drop(columns=list(names))

    return change


def _halves(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
    for table in tables:
        code = table["response"].map({"cat": 0.5, "dog": 1.0, "cow": 2.0})
        table["response"] = code
        table["truth"] = table["truth"].map({"cat": 0.5, "dog": 1.0, "cow": 2.0})


CHANGES: dict[str, tuple[Change | None, dict[str, Any]]] = {
    "nothing": (None, {}),
    "labels": (None, {"labels": ["lab"]}),
    "missing answer": (_set("response", None), {}),
    "missing truth": (_set("truth", None), {}),
    "missing observer": (_set("observer", None), {}),
    "text that means missing": (_set("response", "NA"), {}),
    "text that means missing, listed": (
        _set("response", "NA"), {"classes": ["cat", "dog", "cow", "NA"]}),
    "observer called NA": (_set("observer", "NA"), {}),
    "unknown class": (_set("response", "horse"), {"classes": ["cat", "dog", "cow"]}),
    "unknown truth": (_set("truth", "horse"), {"classes": ["cat", "dog", "cow"]}),
    "never true": (_set("response", "horse"), {"classes": "seen"}),
    "never true, not asked for": (_set("response", "horse"), {}),
    "two truths": (_set("truth", "horse"), {"classes": "seen"}),
    "two kinds": (_set("kind", "robot"), {}),
    "two labs": (_set("lab", "elsewhere"), {"labels": ["lab"]}),
    "empty label": (_set("item", " "), {}),
    "no repeat": (_set("repeat", "x"), {}),
    "repeats without a column": (_without("repeat"), {}),
    "no kind": (_without("kind"), {}),
    "no item": (_without("item"), {}),
    "an answer twice": (_twice, {}),
    "numbers": (_numbers("truth", "response"), {}),
    "numbers and texts": (_numbers("response"), {}),
    "halves": (_halves, {}),
    "correctness": (_correct(), {}),
    "correctness, missing": (_correct(None), {}),
    "correctness, two": (_correct(2), {}),
    "a column elsewhere": (None, {"observer": "lab"}),
}  # fmt: skip


def _told(tables: list[Any], options: dict[str, Any], folder: Path | None) -> xr.Dataset | str:
    """The data of some tables, or what they are refused with."""
    try:
        if folder is None:
            return al.Trials.from_table(*tables, **options).data
        files = [folder / f"{k}.parquet" for k in range(len(tables))]
        for file, table in zip(files, tables, strict=True):
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
        return al.Trials.read(files, **options).data
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        return str(error)


@pytest.mark.parametrize("few_rows", [0, 1 << 20])
@pytest.mark.parametrize("files", [False, True], ids=["frames", "files"])
@pytest.mark.parametrize("name", CHANGES)
def test_pieces_say_what_whole_columns_say(
    name: str, files: bool, few_rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*args: object) -> None:
        raise OddError

    monkeypatch.setattr(aligned, "FEW_ROWS", few_rows)
    change, options = CHANGES[name]
    for seed, piece in enumerate((7, 1 << 20)):
        rng = np.random.default_rng(seed)
        tables = _tables(rng)
        if change is not None:
            change(tables, rng)
        monkeypatch.setattr(parquet, "PIECE", piece)
        monkeypatch.setattr(ingest, "PIECE", piece)
        monkeypatch.setattr(aligned, "in_pieces", in_pieces)
        found = _told(tables, options, tmp_path if files else None)
        monkeypatch.setattr(aligned, "in_pieces", never)
        expected = _told(tables, options, tmp_path if files else None)
        if name == "repeats without a column" and not few_rows:
            # Of many rows that stand twice either way may name another.
            assert "has two rows for item" in found
            assert "has two rows for item" in expected
        elif isinstance(expected, str) or isinstance(found, str):
            assert found == expected
        else:
            xr.testing.assert_identical(found, expected)
            kinds = [{n: v.dtype for n, v in data.variables.items()} for data in (found, expected)]
            assert kinds[0] == kinds[1]


def test_what_is_plain_is_never_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whole(*args: object) -> None:
        raise AssertionError("columns were read as a whole")

    monkeypatch.setattr(aligned, "_at_once", whole)
    for name in ("nothing", "labels", "missing answer", "text that means missing", "correctness"):
        change, options = CHANGES[name]
        rng = np.random.default_rng(1)
        tables = _tables(rng)
        if change is not None:
            change(tables, rng)
        assert isinstance(_told(tables, options, tmp_path), xr.Dataset)


def test_only_tables_that_are_odd_are_read_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    at_once = aligned._at_once

    def counted(source: Source, roles: Roles) -> Aligned:
        rows.append(source.n_rows)
        return at_once(source, roles)

    monkeypatch.setattr(aligned, "_at_once", counted)
    monkeypatch.setattr(aligned, "FEW_ROWS", 0)
    rng = np.random.default_rng(5)
    tables = _tables(rng)
    tables[2] = pd.concat([tables[2], tables[0].iloc[[3]]], ignore_index=True)
    told = _told(tables, {}, tmp_path)
    assert isinstance(told, str)
    for part in ("two rows", "0.parquet", "2.parquet"):
        assert part in told
    assert rows == [len(tables[0]) + len(tables[2])]


def test_many_labels_take_more_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alikely.data.pieces.TWO_BYTES", 100)
    n = 300
    names = np.array([f"c{k}" for k in range(n)])
    table = pa.table(
        {"observer": np.repeat("a", n), "item": names, "truth": names, "response": names[::-1]}
    )
    found = al.Trials.from_table(table, classes="seen").data
    answers = found["class"].values[found["response"].values[0]]
    np.testing.assert_array_equal(answers, names[::-1])


def test_a_grid_that_memory_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIKELY_MEMORY", "1MB")
    monkeypatch.setattr("alikely.data.pieces.BLOCK", 1000)
    n = 2_000
    table = pa.table({"observer": np.arange(n), "item": np.arange(n), "correct": np.ones(n, int)})
    with pytest.raises(MemoryError, match=r"answers of 2,000 observers on 2,000 trials"):
        al.Trials.from_table(table)
