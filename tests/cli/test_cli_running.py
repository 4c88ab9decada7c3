"""What the command line tells while it runs, and what completes it."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

import alikely as al
from alikely._base.parallel import at_most, in_parallel, workers
from alikely._base.steps import own_bar, step, watched_by
from alikely.cli import SUBCOMMANDS, main
from alikely.cli._app import application
from alikely.cli._running import Progress

QUICK = ["--n-resamples", "20", "--n-draws", "20", "--pairs", "human-human"]


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    trials = al.load_example().select(condition="noise", kind="human")
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    return tmp_path / "trials.csv"


def test_verbose_tells_what_is_done_and_its_seconds(
    noise: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(noise), *QUICK, "--verbose"]) == 0
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert all(line.startswith("alikely: ") for line in lines)
    assert f"alikely: reading {noise} ..." in lines
    assert any("20 bootstrap replicates: 0." in line and line.endswith(" s") for line in lines)
    # The same table, and nothing else, without it.
    assert main(["compare", str(noise), *QUICK, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (told.out, "")


def test_nobody_reads_on() -> None:
    """As with ``| head -1``: no complaint, but no success either."""
    code = "import sys; from alikely.cli import main; sys.exit(main(sys.argv[1:]))"
    given = ["compare", "--help"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate()
    assert (process.returncode, told) == (1, b"")


def test_bars_on_a_terminal_go_and_elsewhere_there_are_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    for silent in (False, True):
        with watched_by(Progress(silent)), step("resampling"):
            list(in_parallel(time.sleep, [(0.001,)] * 3))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", screen)
    with watched_by(Progress()), step("resampling of a thing with a long name"):
        list(in_parallel(time.sleep, [(0.001,)] * 10))
        time.sleep(0.2)
        seen = screen.getvalue()
        with own_bar(True):
            before = len(screen.getvalue())
            time.sleep(0.2)
            assert len(screen.getvalue()) == before
    assert re.search(r"0:00:0\d.*resampling", seen)
    # The last word is to take the line away.
    assert "resampling" not in screen.getvalue().rpartition("\x1b[2K")[2]


@pytest.mark.filterwarnings("default")
def test_warnings_are_one_line_of_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn(*_: object, **__: object) -> None:
        warnings.warn("ci_prob is\nhigh", UserWarning, stacklevel=1)
        raise KeyboardInterrupt

    monkeypatch.setattr(al, "load_example", warn)
    assert main(["demo", "--quiet", "--out", str(tmp_path)]) == 130
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "alikely: UserWarning: --ci-prob is high"


def test_an_error_ends_what_shows_progress() -> None:
    watcher = Progress()
    with pytest.raises(ValueError, match="no"), watched_by(watcher), step("resampling"):
        raise ValueError("no")
    assert watcher._bars is None


def test_workers_are_at_most_so_many() -> None:
    assert workers() == -1
    with at_most(1):
        assert workers() == 1
        assert list(in_parallel(abs, [(-1,), (2,)])) == [1, 2]
    assert workers() == -1
    with pytest.raises(ValueError, match="n_workers must be at least 1, got 0"), at_most(0):
        pass


def names_of(subcommand: str) -> list[str]:
    arguments = application()[subcommand].assemble_argument_collection()
    return [one.name for one in arguments if one.name.startswith("--")]


def test_completion_names_subcommands_and_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    missing = {
        name
        for subcommand in SUBCOMMANDS
        for name in (subcommand, *names_of(subcommand))
        if name.lstrip("-") not in script
    }
    assert missing == set()
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
