"""Tables: the same cells in a pipe and on a terminal, names as there is room."""

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
from alikely.cli._output import number, show, span
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
    """What a terminal of that many columns is sent."""
    screen = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": str(width), **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", screen)
    with contextlib.redirect_stdout(Printable(screen)):  # type: ignore[type-var]
        show(made, COLUMNS, part=part)
    return screen.getvalue().partition("! few")[0]


def test_plain_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
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
def test_names_have_the_room_there_is(width: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ESCAPES.sub("", on_terminal(frame(n=n), width, monkeypatch)).splitlines()
    assert len(lines) == n + 2
    assert max(map(len, lines)) <= width
    shown = [line.split()[1] for line in lines[2:]]
    assert len(set(shown)) == n
    assert (shown[0] == f"{LONG}0") == (width >= 80)
    assert "[-0.10, 0.40]" in lines[2]


def test_a_terminal_shows_the_same_cells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    show(frame(), COLUMNS)
    plain = capsys.readouterr().out.partition("! few")[0]
    seen = on_terminal(frame(), 80, monkeypatch)
    assert "\x1b[1m" in seen
    assert ESCAPES.sub("", seen) == plain


@pytest.mark.parametrize("settings", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_no_color_where_none_is_wanted(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = on_terminal(frame(), 80, monkeypatch, **settings)
    # NO_COLOR leaves weight alone.
    assert not re.search(r"\x1b\[[\d;]*3\d", seen)
    if "TERM" in settings:
        assert "\x1b" not in seen


def test_names_steer_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = frame().assign(observer_a=["\x1b[31mred\n", "[red]b[/red]"])
    made["observer_b"] = ["\x1b[2J", ":boom:"]
    made["dataset"] = ["[bold]\x1b[1m", "x"]
    for width in (60, 80):
        seen = on_terminal(made, width, monkeypatch, part="dataset")
        assert "\x1b[31m" not in seen
        assert "\x1b[2J" not in seen
        plain = ESCAPES.sub("", seen)
        assert r"\x1b[31mred\n" in plain
        assert "-- [bold]\\x1b[1m" in plain
        # Neither markup nor names of pictures.
        assert re.search(r"\[red\]b\[/red\] +:boom:", plain)


def test_numbers_and_intervals() -> None:
    assert [number(0.256), number(np.nan), number(1.5, 3)] == ["0.26", "-", "1.500"]
    assert span(-0.1, 0.25) == "[-0.10, 0.25]"
    assert span(-0.1, 0.25, 3) == "[-0.100, 0.250]"
    assert span(np.nan, 0.25) == "-"
    assert span(-np.inf, np.inf) == "[-inf, inf]"
    assert span(0.5, np.inf) == "[0.50, inf]"


def test_formats_and_headings(capsys: pytest.CaptureFixture[str]) -> None:
    """Text that is missing, as of a merged table, is a dash like a number."""
    made = pd.DataFrame({"n_trials": [1200, 5], "share_found": [0.5, np.nan], "best": ["x", None]})
    show(made, ["n_trials", "share_found:%", "best:s=to best", "width"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[-2:] == [["1,200", "50.0%", "x", "-"], ["5", "-", "-", "-"]]
    assert lines[0] == ["share"]


def test_letters_that_are_two_columns_wide(capsys: pytest.CaptureFixture[str]) -> None:
    show(pd.DataFrame({"observer": ["模型", "a"], "x": [1.0, 2.0]}), ["observer=o", "x"])
    assert len({cell_len(line.rstrip()) for line in capsys.readouterr().out.splitlines()}) == 1
    assert cell_len(shorten("模型一二三四五", 7)) <= 7
    short = told_apart(["模型一二三四五", "模型一二三四六"], 7)
    assert len(set(short.values())) == 2
