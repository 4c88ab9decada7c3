"""The command line: tables, files, bad input, in 80 columns."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
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


def test_compare_prints_the_results_of_python(
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
def test_shown_rows_span_all_values(values: list[float], most: int) -> None:
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
    # It contains no Python code, and a text for each option.
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


NAMES = ["cat", "dog", "owl"]
MATRICES = {
    "human": [[80, 12, 8], [5, 90, 5], [9, 1, 90]],
    "resnet": [[70, 10, 20], [15, 80, 5], [9, 11, 80]],
}
FEW = ["--n-resamples", "100", "--n-draws", "100"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A csv file for each system, as written by pandas."""
    for name, counts in MATRICES.items():
        frame = pd.DataFrame(counts, index=NAMES, columns=NAMES)
        frame.to_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / f"{name}.csv") for name in MATRICES]


@pytest.mark.usefixtures("few_sweeps")
def test_matrices_agree_with_python(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    arguments = ["compare", "--confusions", *files, "--no-paired", *FEW, "--seed", "3"]
    assert main([*arguments, "--out", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("Written")) <= 80
    given = {name: pd.DataFrame(m, index=NAMES, columns=NAMES) for name, m in MATRICES.items()}
    wanted = al.error_similarity(given, paired=False, n_resamples=100, n_draws=100, rng=3).summary()
    written = pd.read_csv(folder / "error_similarity.csv")
    for name in ("estimate", "divergence", "posterior_eti95_lb", "posterior_eti95_ub"):
        assert written[name].iloc[0] == pytest.approx(wanted[name].iloc[0], rel=1e-12)
    assert (folder / "error_similarity.png").read_bytes().startswith(b"\x89PNG")


def printed_by(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["spectrum", *arguments]) == 0
    out = capsys.readouterr().out
    # Paths may be longer than a line.
    lines = [line for line in out.splitlines() if not line.startswith("Written to")]
    assert max(map(len, lines)) <= 80
    return out


def test_undefined_values_are_dashes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No two humans err on the same item, so the proportion of agreements below 0 is undefined."""
    number = np.arange(60)
    correct = [number % 4 != person for person in range(4)]
    correct[0] = correct[0] & (number % 20 != 5)
    trials = al.Trials.from_correct(
        np.array(correct),
        item=number,
        condition=np.repeat(["a", "b", "c"], 20),
        kind=["human"] * 3 + ["model"],
    )
    path = tmp_path / "one.csv"
    trials.to_table().to_csv(path, index=False)
    arguments = [str(path), "--reference", "a", "--n-resamples", "20", "--chance", "0.5"]
    printed = printed_by([*arguments, "--k", "1"], capsys)
    row = next(line for line in printed.splitlines() if line.startswith("EC "))
    assert row.rstrip(" !").split()[-4:-1] == ["observer_3", "-", "-"]
    assert "nan" not in printed
