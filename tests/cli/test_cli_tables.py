"""Tables: the same cells in a pipe and on a terminal; names fit the width."""

from __future__ import annotations

import contextlib
import io
import re
import sys

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from alikely._base.names import shorten, told_apart
from alikely.cli._output import number, show
from alikely.cli._running import Printable

LONG = "a_name_that_is_far_too_long_for_narrow_column"
ESCAPES = re.compile(r"\x1b\[[\d;]*m")
COLUMNS = ["observer_a=one", "observer_b=other", "estimate=EC", "interval=bootstrap\n95%"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def frame(n: int = 2) -> pd.DataFrame:
    rows = [
        {"observer_a": f"human_{i + 1}", "observer_b": f"{LONG}{i}", "estimate": 0.25,
         "interval_lb": -0.1, "interval_ub": 0.4, "note": "few errors" * (i == 0),
         "dataset": "edge" if i < n // 2 else "noise"}
        for i in range(n)
    ]  # fmt: skip
    made = pd.DataFrame(rows)
    made.loc[1, ["estimate", "interval_lb"]] = np.nan
    return made


def on_terminal(
    made: pd.DataFrame, width: int, monkeypatch: pytest.MonkeyPatch, part: str = "", **settings: str
) -> str:
    """Output to a terminal with that many columns."""
    screen = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": str(width), **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", screen)
    with contextlib.redirect_stdout(Printable(screen)):  # type: ignore[type-var]
        show(made, COLUMNS, part=part)
    return screen.getvalue().partition("! few")[0]


def test_output_is_plain_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show(frame(), COLUMNS, "", "Pairs:", part="dataset")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[:3] == ["", "Pairs:", "-- edge"]
    assert [line.split() for line in lines[3:6]] == [
        ["bootstrap"], ["one", "other", "EC", "95%"],
        ["human_1", f"{LONG}0", "0.25", "[-0.10,", "0.40]", "!"],
    ]  # fmt: skip
    assert lines[6] == "-- noise"
    assert lines[-1] == "! few errors (1 row)"
    assert lines[-2].split() == ["human_2", f"{LONG}1", "-", "-"]


@pytest.mark.parametrize("n", [2, 30, 300])
@pytest.mark.parametrize("width", [50, 60, 80, 200])
def test_names_use_the_available_width(width: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ESCAPES.sub("", on_terminal(frame(n=n), width, monkeypatch)).splitlines()
    assert max(map(len, lines)) <= width
    rows = "\n".join(lines[2:]).split("human_")[1:]
    assert len(rows) == n
    # A name that does not fit continues below.
    number, name, *numbers = rows[0].split()
    assert [number, *numbers[:4]] == ["1", "0.25", "[-0.10,", "0.40]", "!"]
    assert name + "".join(numbers[4:]) == f"{LONG}0"
    assert (name == f"{LONG}0") == (width >= 80)


def test_a_terminal_shows_the_same_cells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show(frame(), COLUMNS)
    plain = capsys.readouterr().out.partition("! few")[0]
    seen = on_terminal(frame(), 80, monkeypatch)
    assert "\x1b[1m" in seen
    assert ESCAPES.sub("", seen) == plain


def test_numbers() -> None:
    assert [number(0.256), number(np.nan), number(1.5, 3)] == ["0.26", "-", "1.500"]


def test_letters_with_a_width_of_two_columns(capsys: pytest.CaptureFixture[str]) -> None:
    show(pd.DataFrame({"observer": ["模型", "a"], "x": [1.0, 2.0]}), ["observer=o", "x"])
    assert len({cell_len(line.rstrip()) for line in capsys.readouterr().out.splitlines()}) == 1
    assert cell_len(shorten("模型一二三四五", 7)) <= 7
    short = told_apart(["模型一二三四五", "模型一二三四六"], 7)
    assert len(set(short.values())) == 2
