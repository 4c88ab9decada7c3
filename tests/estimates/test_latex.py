"""Tables for LaTeX compile, and cells and names are unchanged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markup import spoken, tabular

import alikely as al
from alikely.estimates import latex_table

NASTY = r'_&%$#{}~^\<>"|--'
# Cells 40, 10, 10, 40: agreement is 0.8, and 0.5 for independent errors.
KAPPA = 0.6


@pytest.fixture(scope="module")
def pair() -> al.Result:
    table = al.data.from_counts([40, 10, 10, 40])
    return al.error_consistency(table, n_resamples=200, n_draws=200, rng=1)


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"])), min_size=1))
@settings(deadline=None, max_examples=25)
def test_any_text_is_typeset_unchanged(texts: list[str]) -> None:
    """Every cell has its text when read back, with spaces as in LaTeX."""
    rows = tabular(latex_table(pd.DataFrame({"name": texts, "value": 1})))
    assert [spoken(row[0]) for row in rows[1:]] == [" ".join(text.split()) for text in texts]


@pytest.mark.parametrize("name", [NASTY, "[1pt] x", "*", "a\nb", "---"])
def test_names_of_columns_and_rows_are_escaped(name: str) -> None:
    frame = pd.DataFrame({name: [name], "note": [f"see {name}"]})
    text = latex_table(frame)
    head, row = tabular(text)
    plain = " ".join(name.split())
    # Headers are words.
    assert spoken(head[0]) == " ".join(name.replace("_", " ").split())
    assert spoken(row[0].replace(r"\textsuperscript{a}", "")) == plain
    assert f"see {plain}" in spoken(text)


def test_bounds_follow_their_estimates() -> None:
    frame = pd.DataFrame({"estimate": [0.43, np.nan, -0.1], "n_trials": [10, 2_000, 3]})
    frame["p_value"] = [0.0001, np.nan, 0.25]
    frame["bootstrap_eti90_lb"] = [0.31, np.nan, -0.2]
    frame["bootstrap_eti90_ub"] = [0.55, np.nan, 0.001]
    rows = tabular(latex_table(frame, digits=2))
    assert rows == [
        [r"estimate [90\% bootstrap CI]", "trials", "p"],
        ["0.43 [0.31, 0.55]", "10", "$<$ 0.001"],
        ["--", "2000", "--"],
        ["$-$0.10 [$-$0.20, 0.00]", "3", "0.250"],
    ]


def test_the_table_of_a_pair(pair: al.Result) -> None:
    se = float(pair.summary()["se"].iloc[0])
    lower, upper = (KAPPA - 1.959964 * se, KAPPA + 1.959964 * se)
    text = pair.to_latex(interval="analytic", caption="One_pair", label="tab:one")
    shown = f"0.600 [{lower:.3f}, {upper:.3f}]"
    assert tabular(text)[1] == ["a", "b", "100", shown]
    assert r"\caption{One_pair}" in text
    assert r"\label{tab:one}" in text
    assert r"\begin{table}" in text


@pytest.mark.parametrize("caption", [None, "All"])
def test_notes_follow_the_table_and_all_rows_remain(caption: str | None) -> None:
    notes = [f"note {place % 30}" if place % 2 else "" for place in range(400)]
    frame = pd.DataFrame({"system": [f"m_{i}" for i in range(400)], "note": notes})
    text = latex_table(frame, caption=caption)
    rows = [row for row in tabular(text) if row != ["system"]]
    bodies = [row for row in rows if row[0].startswith(r"m\_")]
    assert len(bodies) == 400
    assert bodies[1] == [r"m\_1\textsuperscript{a}"]
    assert bodies[0] == [r"m\_0"]
    below = text[text.rindex(r"\bottomrule") :]
    assert all(f"note {place}" in below for place in range(1, 30, 2))
