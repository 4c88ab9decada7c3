"""Bad input: one clear line each, naming what, where and the way out."""

from __future__ import annotations

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
        (table(truth=["cat", "dog", "dog", "dog"]), {}, "item 'x' has truth 'cat' for observer"),
        (table(response=["cat", "cot", "dog", "dog"]), {}, r"'cot' \(column 'response', row 1\)"),
        (table(), {"classes": ["cat", "bird"]}, r"'dog' \(column 'truth', row 1\) is not among"),
        (table(truth=["cat", None, "cat", "dog"]), {}, "column 'truth' has no value in row 1"),
        (table(observer=["a", "a", None, "b"]), {}, "column 'observer' has no value in row 2"),
        (table(item=["x", "y", "x", None]), {}, "column 'item' has no value in row 3"),
        (table(condition=["u", None, "u", "u"]), {}, "column 'condition' has no value in row 1"),
        (table(truth=[0, 1, 0, 1]), {}, "column 'truth' holds numbers but column 'response' holds"),
        (
            pd.DataFrame(table().assign(item=np.array(["x", 1, "x", 1], dtype=object))),
            {},
            "column 'item' mixes text and numbers",
        ),
        (table(kind=["human", "model", "model", "model"]), {}, "observer 'a' has kind 'human' and"),
        (table(family=["p", "p", "q", "r"]), {"labels": ["family"]}, "observer 'b' has family 'q'"),
        (table(repeat=[0, 1.5, 0, 1]), {}, "column 'repeat' must hold whole numbers .* '1.5' in"),
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
        (table(item=[[1], [2], [1], [2]]), {}, "column 'item' has type list.*expected text, whole"),
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
