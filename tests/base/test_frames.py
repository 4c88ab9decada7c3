"""Output tables: order, library, HTML."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markup import page

from alikely._base.frames import ROWS, given_as, html_of, ordered

TABLE = pd.DataFrame(
    {
        "system": ["m10", "m2", "m1", "m2"],
        "estimate": [0.1, np.nan, 0.3, 0.1],
        "-x": [4, 3, 2, 1],
        "note": ["", "few", "", ""],
    }
)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        (None, [0, 1, 2, 3]),
        ("system", [2, 1, 3, 0]),
        ("-estimate", [2, 0, 3, 1]),
        ("estimate", [0, 3, 2, 1]),
        (["estimate", "system"], [3, 0, 2, 1]),
        ("-x", [3, 2, 1, 0]),
    ],
)
def test_rows_are_sorted_with_missing_values_last(sort: Any, order: list[int]) -> None:
    assert ordered(TABLE, sort).index.tolist() == order


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8))
@settings(deadline=None, max_examples=25)
def test_numbers_in_names_are_sorted_by_size(numbers: list[int]) -> None:
    names = ordered(pd.DataFrame({"name": [f"net {n}b" for n in numbers]}), "name")["name"]
    assert names.tolist() == [f"net {n}b" for n in sorted(numbers)]


def test_unknown_columns_are_named() -> None:
    with pytest.raises(ValueError, match=r"sort must name columns .*got 'estimat'.*est"):
        ordered(TABLE, "estimat")


def test_tables_convert_to_other_libraries() -> None:
    assert given_as(TABLE, "pandas") is TABLE
    polars, arrow = given_as(TABLE, "polars"), given_as(TABLE, "pyarrow")
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    for table in (polars, arrow):
        pd.testing.assert_frame_equal(table.to_pandas(), TABLE, check_dtype=False)
    # Without an index, which would become an additional column.
    assert given_as(ordered(TABLE, "system"), "pyarrow").column_names == list(TABLE)


@pytest.mark.slow
@given(st.lists(st.text(min_size=1), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_text_is_escaped(texts: list[str]) -> None:
    title, cell, note = (f"<script>alert({text})</script>" for text in texts)
    cells = pd.DataFrame({"a & <b>": [cell]})
    written = html_of(title, cells, notes=[note], numbers=["a & <b>"])
    assert "<script" not in written
    around, rows = page(written)
    # Browsers do not accept carriage returns or null characters unchanged.
    if not {"\r", "\0"} & set("".join(texts)):
        assert title in around
        assert note in around
        assert rows == [["a & <b>"], [cell]]


@pytest.mark.parametrize(("n", "said"), [(ROWS, ""), (ROWS + 1, "1 more row"), (300, "290 more")])
def test_html_states_the_number_of_omitted_rows(n: int, said: str) -> None:
    cells = pd.DataFrame({"x": ["1"] * ROWS})
    around, rows = page(html_of("T", cells, n_rows=n, more="summary() has all"))
    assert len(rows) == ROWS + 1
    assert ("more row" in around) == bool(said)
    assert said in around
