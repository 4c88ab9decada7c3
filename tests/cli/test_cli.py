"""The command line: tables, files, bad input, in 80 columns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import alikely as al
from alikely.cli import SUBCOMMANDS, main
from alikely.cli._output import spread


@pytest.fixture
def example(tmp_path: Path) -> Path:
    path = tmp_path / "trials.csv"
    al.load_example().to_table().to_csv(path, index=False)
    return path


def test_compare_prints_what_python_computes(
    example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["compare", str(example), "--pairs", "human-human", "--seed", "3"]
    assert main([*arguments, "--ci-prob", "0.9", "--by", "dataset", "--no-response", "drop"]) == 0
    printed = capsys.readouterr().out
    result = al.error_consistency(
        al.Trials.read(example), "human-human", "dataset", no_response="drop", ci_prob=0.9, rng=3
    )
    row = result.summary().iloc[0]
    line = next(line for line in printed.splitlines() if "human_1" in line)
    assert line.split()[1:5] == [
        "human_1",
        "human_2",
        str(row["n_trials"]),
        f"{row['estimate']:.2f}",
    ]
    assert f"[{row['posterior_eti90_lb']:.2f}, {row['posterior_eti90_ub']:.2f}]" in line
    assert "90%" in printed
    assert "Nothing was written" in printed


@given(st.lists(st.floats(-1, 1) | st.just(np.nan), min_size=1, max_size=60), st.integers(2, 50))
@settings(deadline=None, max_examples=50)
def test_what_is_shown_spreads_over_all(values: list[float], most: int) -> None:
    rows = spread(values, most)
    assert len(rows) == min(len(values), most)
    assert (np.diff(rows) > 0).all()
    shown, defined = np.array(values)[rows], [value for value in values if value == value]
    if defined:
        assert np.nanmin(shown) == min(defined)
        assert np.nanmax(shown) == max(defined)
    assert np.isfinite(shown).sum() == min(len(defined), most)


@pytest.mark.parametrize("subcommand", ["", *SUBCOMMANDS])
def test_help_fits(subcommand: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([subcommand, "--help"] if subcommand else ["--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    # No code of Python in it, and a text for each option.
    assert not re.search(r"`|\balikely\.|\bal\.|:doi:|\[\w+\]_", text)
    assert not re.search(r"│ +--(?!no-bayes)[\w-]+ (?:[A-Z.]+)? +(?:[(\[]|│)", text)


def test_the_installed_command_runs() -> None:
    command = Path(sys.executable).with_name("alikely")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[0] == f"alikely {al.__version__}"
    assert f"numpy {np.__version__}" in lines
    assert {"pymc", "nutpie", "arviz", "xarray"} <= {line.split()[0] for line in lines[2:]}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_versions_and_help_import_nothing_heavy(option: str) -> None:
    heavy = ("pymc", "matplotlib", "numpy", "pandas", "scipy", "arviz", "rich", "cyclopts")
    code = (
        f"import sys\nfrom alikely.cli import main\nmain([{option!r}])\n"
        f"print('loaded', [name for name in {heavy!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"
