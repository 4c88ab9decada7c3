"""The printer of tables: the same cells in a pipe and on a terminal, names as there is room."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from typing import Any

import numpy as np
import pytest
from rich.cells import cell_len

import alikely as al
from alikely._base.names import shorten, told_apart
from alikely.cli import main
from alikely.cli._running import Printable
from alikely.cli._tables import Column, Table, number, span

LONG = "a_name_that_is_far_too_long_for_narrow_column"
ESCAPES = re.compile(r"\x1b\[[\d;]*m")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def table() -> Table:
    made = Table(
        [
            Column("one", 10, left=True, names="observer"),
            Column("other", 10, left=True, names="observer"),
            Column("EC", 5, strong=True),
            Column("95 %", 14, over="bootstrap"),
        ],
        ["", "Pairs:"],
    )
    made.row("human_1", LONG, number(0.25), span(0.1, 0.4), part="edge", mark="!")
    made.row("human_2", LONG[:-1] + "x", number(np.nan), span(np.nan, 0.4), part="noise")
    made.say("! few errors (1 row)")
    return made


def on_terminal(made: Table, width: int, monkeypatch: pytest.MonkeyPatch, **settings: str) -> str:
    """What a terminal of that many columns is sent."""
    screen = Terminal()
    for name, value in {"TERM": "xterm", "COLUMNS": str(width), **settings}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", screen)
    with contextlib.redirect_stdout(Printable(screen)):  # type: ignore[type-var]
        made.show()
    return screen.getvalue()


def test_plain_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
    table().show()
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Pairs:",
        "                                                                    bootstrap",
        "one        other                                            EC           95 %",
        "-- edge",
        f"human_1    {LONG}  0.25 [ 0.10,  0.40]!",
        "-- noise",
        f"human_2    {LONG[:-1]}x     -              -",
        "! few errors (1 row)",
    ]


def test_a_terminal_shows_the_same_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = on_terminal(table(), 90, monkeypatch)
    assert "\x1b[1m" in seen
    plain = [line.rstrip() for line in ESCAPES.sub("", seen).splitlines()]
    # A rule stands below the heads, a space before a mark.
    assert [line.replace(" !", "!") for line in plain if "\u2500" not in line] == [
        line.rstrip() for line in str(table()).splitlines()
    ]
    assert sum("\u2500" in line for line in plain) == 1


@pytest.mark.parametrize("width", [50, 60, 80, 200])
def test_names_have_the_room_there_is(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ESCAPES.sub("", on_terminal(table(), width, monkeypatch)).splitlines()
    assert max(map(len, lines)) <= width
    shown = [line.split()[1] for line in lines if line.startswith("human_")]
    assert len(set(shown)) == 2
    assert (shown[0] == LONG) == (width >= 80)
    assert "[ 0.10,  0.40]" in "".join(lines)


@pytest.mark.parametrize("settings", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_no_colour_where_none_is_wanted(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = on_terminal(table(), 80, monkeypatch, **settings)
    # NO_COLOR leaves weight alone.
    assert not re.search(r"\x1b\[[\d;]*3\d", seen)
    if "TERM" in settings:
        assert "\x1b" not in seen


def test_names_steer_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Table([Column("one", 10, names="observer", left=True), Column("x", 5)])
    made.row("\x1b[31mred\n", "\x1b[2J", part="[bold]\x1b[1m")
    made.row("[red]b[/red]", ":boom:", part="[bold]\x1b[1m")
    for width in (40, 80):
        seen = on_terminal(made, width, monkeypatch)
        assert "\x1b[31m" not in seen
        assert "\x1b[2J" not in seen
        plain = ESCAPES.sub("", seen)
        assert r"\x1b[31mred\n" in plain
        assert "-- [bold]\\x1b[1m" in plain
        # Neither markup nor names of pictures.
        assert re.search(r"\[red\]b\[/red\] +:boom:", plain)


def test_numbers_and_intervals() -> None:
    assert [number(0.256), number(np.nan), number(1.5, 3)] == ["0.26", "-", "1.500"]
    assert span(-0.1, 0.25) == "[-0.10,  0.25]"
    assert span(-0.1, 0.25, 3) == "[-0.100,  0.250]"
    assert span(np.nan, 0.25) == "-"
    assert span(-np.inf, np.inf) == "[-inf, inf]"
    assert span(0.5, np.inf) == "[0.50, inf]"


def test_letters_that_are_two_columns_wide() -> None:
    made = Table([Column("one", 6, left=True, names="observer"), Column("x", 3)])
    made.row("模型", "1")
    made.row("a", "2")
    lines = str(made).splitlines()
    assert {cell_len(line) for line in lines} == {10}
    assert cell_len(shorten("模型一二三四五", 7)) <= 7
    short = told_apart(["模型一二三四五", "模型一二三四六"], 7)
    assert len(set(short.values())) == 2


def test_every_row_has_all_cells() -> None:
    with pytest.raises(AssertionError, match="1 cells for 2 columns"):
        Table([Column("a"), Column("b")]).row("x")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["matrix", "benchmark"])
def test_tables_of_verbs_on_a_terminal(
    verb: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.csv"
    al.load_example().to_table().to_csv(path, index=False)
    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", screen)
    few = ["--resamples", "20"] + (["--draws", "20"] if verb == "benchmark" else [])
    assert main([verb, str(path), *few, "--quiet"]) == 0
    plain = ESCAPES.sub("", screen.getvalue())
    assert plain != screen.getvalue()
    assert max(map(cell_len, plain.splitlines())) <= 80


def test_where_room_is_short_heads_of_words_take_two_lines() -> None:
    made = Table(
        [
            Column("observer", 30, left=True, names="observer"),
            Column("coefficient of agreement"),
            *(Column("95 %", 20, over=school) for school in ("bootstrap", "posterior")),
        ]
    )
    made.row("human_1", ".5", "[ .1,  .9]", "[ .2,  .8]")
    over, heads, row = str(made).splitlines()
    assert max(map(cell_len, (over, heads, row))) < 80
    assert over.split() == ["coefficient", "of", "bootstrap", "posterior"]
    assert heads.split() == ["observer", "agreement", "95", "%", "95", "%"]
    assert "human_1" in row
    # Where there is room all stands on one line.
    assert "coefficient of agreement" in str(Table([made.columns[0], made.columns[1]]))
