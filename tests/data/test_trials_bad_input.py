"""Bad input: one clear line each, naming what, where and the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from alikely.data.trials import Trials


def table(**changes: Any) -> pd.DataFrame:
    columns = {
        "observer": ["a", "a", "b", "b"],
        "item": ["x", "y", "x", "y"],
        "truth": ["cat", "dog", "cat", "dog"],
        "response": ["cat", "cat", "dog", "dog"],
    }
    return pd.DataFrame({**columns, **changes})


@pytest.mark.parametrize(
    ("bad", "options", "message"),
    [
        (table(), {"observer": "subject"}, "no column 'subject'; the columns are observer, item"),
        (table(), {"condition": "level"}, "no column 'level'"),
        (table(), {"labels": ["family"]}, "no column 'family'"),
        (table().drop(columns="truth"), {}, "no column 'truth'"),
        (
            table(item=["x", "x", "x", "y"], truth=["cat", "cat", "cat", "dog"]),
            {},
            "observer 'a' has two rows for item 'x' .*: row 0 and row 1; number repeated trials",
        ),
        (
            table(truth=["cat", "dog", "dog", "dog"]),
            {},
            r"item 'x' has truth 'cat' for observer 'a' \(row 0\) but 'dog' for .* 'b' \(row 2\)",
        ),
        (
            table(response=["cat", "cot", "dog", "dog"]),
            {},
            r"'cot' \(column 'response', row 1\) is not among the 2 classes cat, dog; .*classes=",
        ),
        (
            table(),
            {"classes": ["cat", "bird"]},
            r"'dog' \(column 'truth', row 1\) is not among the 2 classes",
        ),
        (table(truth=["cat", None, "cat", "dog"]), {}, "column 'truth' has no value in row 1"),
        (table(observer=["a", "a", None, "b"]), {}, "column 'observer' has no value in row 2"),
        (table(item=["x", "y", "x", None]), {}, "column 'item' has no value in row 3"),
        (
            table(condition=["u", None, "u", "u"]),
            {},
            "column 'condition' has no value in row 1",
        ),
        (
            table(truth=[0, 1, 0, 1]),
            {},
            "column 'truth' holds numbers but column 'response' holds texts",
        ),
        (
            pd.DataFrame(table().assign(item=np.array(["x", 1, "x", 1], dtype=object))),
            {},
            "column 'item' mixes text and numbers",
        ),
        (
            table(kind=["human", "model", "model", "model"]),
            {},
            r"observer 'a' has kind 'human' and 'model' \(row 1\)",
        ),
        (
            table(family=["p", "p", "q", "r"]),
            {"labels": ["family"]},
            r"observer 'b' has family 'q' and 'r' \(row 3\)",
        ),
        (
            table(repeat=[0, 1.5, 0, 1]),
            {},
            "column 'repeat' must hold whole numbers .* '1.5' in row 1",
        ),
        (table(repeat=[0, -1, 0, 1]), {}, "column 'repeat' must hold whole numbers .* got '-1'"),
        (table().iloc[:0], {}, "the table is empty: it has no rows"),
        (
            table().drop(columns=["truth", "response"]).assign(correct=[1, 0, 2, 1]),
            {},
            "column 'correct' must hold 0, 1 or nothing, got '2' in row 2",
        ),
        (
            table().drop(columns=["truth", "response"]).assign(correct=[1, 0, 0.5, 1]),
            {},
            "column 'correct' must hold 0, 1 or nothing, got '0.5' in row 2",
        ),
        (
            table(item=[[1], [2], [1], [2]]),
            {},
            "column 'item' has type list.*expected text, whole numbers or categories",
        ),
    ],
)
def test_bad_tables(bad: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trials.from_table(bad, **options)


def test_labels_of_two_types_in_two_tables() -> None:
    one, other = table(item=["1", "2", "1", "2"]), table(item=[1, 2, 1, 2], observer=list("ccdd"))
    with pytest.raises(ValueError, match="'item' holds texts in one table and numbers in table 1"):
        Trials.from_table(one, other)


def test_a_column_that_only_one_table_has() -> None:
    with pytest.raises(ValueError, match="column 'kind' is missing in table 1"):
        Trials.from_table(table(kind="human"), table(observer=list("ccdd")))


def test_rows_are_named_by_table() -> None:
    other = table(observer=["c", "c", "d", "d"], truth=["cat", "dog", None, "dog"])
    with pytest.raises(ValueError, match="no value in row 2 of table 1"):
        Trials.from_table(table(), other)


def test_not_a_table() -> None:
    with pytest.raises(TypeError, match="expected a pandas, polars or pyarrow table, got list"):
        Trials.from_table([1, 2, 3])
    with pytest.raises(ValueError, match="no table was given"):
        Trials.from_table()


@pytest.mark.parametrize("row", [0, 123_456, 999_999])
def test_one_bad_row_in_a_million(row: int) -> None:
    n = 1_000_000
    response = np.zeros(n, dtype=np.int64)
    response[row] = 7
    big = pl.DataFrame(
        {
            "observer": np.repeat(np.arange(10), n // 10),
            "item": np.tile(np.arange(n // 10), 10),
            "truth": np.tile(np.arange(n // 10) % 2, 10),
            "response": response,
        }
    )
    with pytest.raises(ValueError, match=rf"'7' \(column 'response', row {row}\)"):
        Trials.from_table(big, classes=[0, 1])


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no file .*missing\.csv"):
        Trials.read(tmp_path / "missing.csv")
    empty = tmp_path / "empty.csv"
    empty.touch()
    with pytest.raises(ValueError, match="is an empty file"):
        Trials.read(empty)
    header = tmp_path / "header.csv"
    header.write_text("observer,item,truth,response\n")
    with pytest.raises(ValueError, match=r"header\.csv' is empty: it has no rows"):
        Trials.read(header)
    sheet = tmp_path / "table.xlsx"
    sheet.write_bytes(b"PK")
    with pytest.raises(
        ValueError, match=r"neither a .csv nor a .parquet file, .*; for other formats"
    ):
        Trials.read(sheet)
    bytes_above_0 = bytes(range(1, 256)) * 9
    for name, content, message in (
        ("x.parquet", b"no parquet at all", "cannot be read as a parquet file"),
        ("x.csv", bytes_above_0, "cannot be read as a csv file"),
        ("zero.csv", b"a,b\x00\n1,2\n", "holds zero bytes, which are no text"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}' {message}"):
            Trials.read(tmp_path / name)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Trials.from_correct([1, 0]), r"must have shape \(observer, trial\), got \(2,\)"),
        (
            lambda: Trials.from_correct([[1, 0], [2, 0]]),
            "must be 0, 1 or NaN, got 2 for observer 1, trial 0",
        ),
        (lambda: Trials.from_correct([[], []]), "no trials: got 2 observers and 0 trials"),
        (
            lambda: Trials.from_correct([[1, 0]], item=["x"]),
            "item must have one entry per trial: expected 2, got 1",
        ),
        (
            lambda: Trials.from_correct([[1, 0]], observers=["a", "b"]),
            "observers must have one entry per observer: expected 1, got 2",
        ),
        (
            lambda: Trials.from_correct([[1], [0]], observers=["a", "a"]),
            "observers must have different names",
        ),
        (
            lambda: Trials.from_correct([[1, 0]], item=["x", "x"]),
            "trial 1 repeats item 'x' in its condition",
        ),
        (
            lambda: Trials.from_correct([[1, 0]], repeat=[0, -1]),
            "repeat must be 2 whole numbers from 0 on",
        ),
        (
            lambda: Trials.from_correct([[1, 0]], condition=["u", None]),
            "condition has no value at position 1",
        ),
        (
            lambda: Trials.from_arrays([["cat", "dog"]], ["cat"]),
            r"shape \(observer, trial\) and truth shape \(trial,\), got \(1, 2\) and \(1,\)",
        ),
        (
            lambda: Trials.from_arrays([["cat", "dog"]], ["cat", None]),
            "truth has no value on trial 1",
        ),
        (
            lambda: Trials.from_arrays([["cat", "cow"]], ["cat", "dog"]),
            r"'cow' \(observer 0, trial 1\) is not among the 2 classes",
        ),
        (
            lambda: Trials.from_arrays([["cat", "cat"]], ["cat", "dog"], classes=["cat"]),
            r"'dog' \(truth of trial 1\) is not among the 1 classes",
        ),
        (
            lambda: Trials.from_correct([[1, 0]]).select(condition="fog"),
            "no condition 'fog'; there are: all",
        ),
        (
            lambda: Trials.from_correct(
                np.ma.masked_array([[1, 0], [1, 0]], mask=[[0, 1], [1, 0]]), condition=["u", "v"]
            ).select(condition="u", observer="observer_1"),
            "nothing is left",
        ),
    ],
)
def test_bad_arrays(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
