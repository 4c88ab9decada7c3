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
