"""Output of the command line during a run, and shell completion."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import alikely as al
from alikely.cli import SUBCOMMANDS, main
from alikely.cli._app import application

QUICK = ["--n-resamples", "20", "--n-draws", "20", "--pairs", "human-human"]


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    trials = al.load_example().select(condition="noise", kind="human")
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    return tmp_path / "trials.csv"


@pytest.mark.slow
def test_verbose_reports_steps_and_seconds(noise: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(noise), *QUICK, "--verbose"]) == 0
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert all(line.startswith("alikely: ") for line in lines)
    assert f"alikely: reading {noise} ..." in lines
    assert any("20 bootstrap replicates: 0." in line and line.endswith(" s") for line in lines)
    # Without the option, the output is the same table and nothing else.
    assert main(["compare", str(noise), *QUICK, "--quiet"]) == 0
    quiet = capsys.readouterr()
    assert (quiet.out, quiet.err) == (told.out, "")


@pytest.mark.slow
def test_closed_output_has_an_exit_status() -> None:
    """A closed pipe, as with ``| head -1``, gives no message, but an exit status."""
    code = "import sys; from alikely.cli import main; sys.exit(main(sys.argv[1:]))"
    given = ["compare", "--help"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    _, told = process.communicate()
    assert (process.returncode, told) == (1, b"")


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


def names_of(subcommand: str) -> list[str]:
    arguments = application()[subcommand].assemble_argument_collection()
    return [one.name for one in arguments if one.name.startswith("--")]


@pytest.mark.slow
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
