"""Tables are aligned in chunks, whose size does not affect the result."""

from __future__ import annotations

import itertools
import re
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
from alikely.data import ingest

Change = Callable[[list[pd.DataFrame], np.random.Generator], None]


def _tables(rng: np.random.Generator) -> list[pd.DataFrame]:
    """Responses of some observers to some items, in three shuffled tables."""
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
    """Set one cell of one table."""

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


def _odd_repeat(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
    for table in tables:
        table["repeat"] = table["repeat"].astype(str)
    tables[1].loc[3, "repeat"] = "x"


def _correct(*values: object) -> Change:
    def change(tables: list[pd.DataFrame], rng: np.random.Generator) -> None:
        for k, table in enumerate(tables):
            right = (table.pop("truth") == table.pop("response")).astype(int)
            table["correct"] = right if k else right.astype(object)
        for value in values:
            tables[0].loc[int(rng.integers(len(tables[0]))), "correct"] = value

    return change


# The change, the options, and the error message, or "" if the tables are read.
CHANGES: dict[str, tuple[Change | None, dict[str, Any], str]] = {
    "labels": (None, {"labels": ["lab"]}, ""),
    "missing answer": (_set("response", None), {}, ""),
    "missing truth": (_set("truth", None), {}, "column 'truth' has no value in row"),
    "unknown class": (
        _set("response", "horse"), {"classes": ["cat", "dog", "cow"]},
        r"'horse' \(column 'response', row \d+ of .*\) is not among the 3 classes cat, dog, cow"),
    "never true": (_set("response", "horse"), {"classes": "seen"}, ""),
    "two truths": (
        _set("truth", "horse"), {"classes": "seen"},
        r"item 'i\d' has truth '\w+' for observer 'o\d' \(row \d+ of .*\) but .* has one truth"),
    "two kinds": (_set("kind", "robot"), {}, r"has kind '\w+' and 'robot' \(row \d+ of"),
    "empty label": (_set("item", " "), {}, r"a label must be text or a number, got ' '"),
    "no repeat": (_odd_repeat, {}, r"'repeat' must contain whole numbers from 0.* 'x' in row 3 of"),
    "an answer twice": (_twice, {}, r"two rows for item 'i\d' .*: row \d+ of .* and row \d+ of"),
    "numbers and texts": (
        _numbers("response"), {}, r"'truth' contains texts but .* 'response' contains numbers"),
    "correctness, missing": (_correct(None), {}, ""),
    "correctness, two": (_correct(2), {}, r"must contain 0, 1 or nothing, got '2' in row \d+ of"),
}  # fmt: skip


def _read(tables: list[Any], options: dict[str, Any], folder: Path) -> xr.Dataset | str:
    """The data of tables in files, or the error message."""
    try:
        files = [folder / f"{k}.parquet" for k in range(len(tables))]
        for file, table in zip(files, tables, strict=True):
            pq.write_table(pa.Table.from_pandas(table, preserve_index=False), file)
        return al.Trials.read(files, **options).data
    except (ValueError, TypeError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
        return str(error)


@pytest.mark.parametrize("name", CHANGES)
def test_chunks_of_any_size_give_equal_data(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, options, message = CHANGES[name]
    found = []
    for piece in (7, 1 << 20):
        rng = np.random.default_rng(1)
        tables = _tables(rng)
        if change is not None:
            change(tables, rng)
        monkeypatch.setattr(ingest, "PIECE", piece)
        found.append(_read(tables, options, tmp_path))
    small, whole = found
    if not message:
        assert isinstance(small, xr.Dataset), small
        xr.testing.assert_identical(small, whole)
        kinds = [{n: v.dtype for n, v in data.variables.items()} for data in found]
        assert kinds[0] == kinds[1]
    else:
        assert isinstance(small, str)
        assert small == whole
        assert re.search(message, small), small


@pytest.mark.parametrize("piece", [7, 1 << 20])
def test_rows_round_trip(piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "PIECE", piece)
    tables = _tables(np.random.default_rng(3))
    data = _read(tables, {"labels": ["lab"]}, tmp_path)
    assert isinstance(data, xr.Dataset)
    columns = list(tables[0])
    given, back = (
        table[columns].sort_values(columns, ignore_index=True)
        for table in (pd.concat(tables), al.Trials(data).to_table())
    )
    pd.testing.assert_frame_equal(back, given, check_dtype=False)
    # Trials are in the order in which their labels first appear, repeats by their numbers.
    at = {
        name: {text: i for i, text in enumerate(pd.concat(tables)[name].unique())}
        for name in ("condition", "item")
    }
    keys = [
        (at["condition"][c], at["item"][i], r)
        for c, i, r in zip(*(data[n].values for n in ("condition", "item", "repeat")), strict=True)
    ]
    assert keys == sorted(keys)


def test_whole_floats_are_integers_in_all_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal truths, items and responses in two notations, whichever comes first."""
    monkeypatch.setattr(ingest, "PIECE", 2)
    rows = ["a,1,2.0,2", "a,2.0,1,1", "b,1.0,2,2.0", "b,2,1.0,1.0"]
    for order in itertools.permutations(rows):
        text = "\n".join(["observer,item,truth,response", *order]) + "\n"
        (tmp_path / "t.csv").write_text(text)
        trials = al.Trials.read(tmp_path / "t.csv")
        assert (trials.data["correct"].values == 1).all()
        assert trials.n_trials == 2
        assert {note.split()[3] for note in trials.notes} == {"'item'", "'truth'", "'response'"}
    (tmp_path / "t.csv").write_text(text + "a,2,1,1\n")
    with pytest.raises(ValueError, match="observer 'a' has two rows for item '2'"):
        al.Trials.read(tmp_path / "t.csv")
    # If a later label is no integer, 1 and 1.0 are two labels.
    (tmp_path / "t.csv").write_text(text + "b,1.5,1,1\n")
    with pytest.raises(ValueError, match=r"no .* in common|has truth|is not among"):
        al.error_consistency(al.Trials.read(tmp_path / "t.csv", classes=["1", "2"]))


@pytest.mark.slow
def test_more_labels_than_small_integers_can_code() -> None:
    n = 40_000
    names = np.array([f"c{k}" for k in range(n)])
    table = pa.table(
        {
            "observer": np.repeat("a", n), "item": names, "truth": names, "response": names[::-1],
            "condition": names, "dataset": names, "repeat": np.arange(n)[::-1],
        }
    )  # fmt: skip
    found = al.Trials.from_table(table, classes="seen").data
    assert found["item"].values.tolist() == names.tolist()
    answers = found["class"].values[found["response"].values[0]]
    np.testing.assert_array_equal(answers, names[::-1])
    np.testing.assert_array_equal(found["repeat"], np.arange(n)[::-1])


def test_a_grid_larger_than_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIKELY_MEMORY", "1MB")
    n = 2_000
    table = pa.table({"observer": np.arange(n), "item": np.arange(n), "correct": np.ones(n, int)})
    with pytest.raises(MemoryError, match=r"answers of 2,000 observers on 2,000 trials"):
        al.Trials.from_table(table)
