"""Confusion matrices on the command line: what Python computes, and bad input in a line."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import alikely as al
from alikely.cli import main

NAMES = ["cat", "dog", "owl"]
MATRICES = {
    "human": [[80, 12, 8], [5, 90, 5], [9, 1, 90]],
    "resnet": [[70, 10, 20], [15, 80, 5], [9, 11, 80]],
}
FEW = ["--n-resamples", "100", "--n-draws", "100"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A csv file of each system, as pandas writes it."""
    for name, counts in MATRICES.items():
        frame = pd.DataFrame(counts, index=NAMES, columns=NAMES)
        frame.to_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / f"{name}.csv") for name in MATRICES]


def test_matrices_give_what_python_computes(
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


def test_of_the_same_items_there_is_the_estimate_alone(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", "--confusions", *files, "--paired", "--metric", "cles"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    assert "no interval without the trials" in printed
    assert "[" not in next(line for line in printed.splitlines() if "human" in line)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--confusions", "A", "B", "--no-paired", "--metric", "ec"], "that ec needs; give FILE"),
        (["--confusions", "A", "B", "--no-paired", "--metric", "all"], "that all needs; give FILE"),
        (["--confusions", "A", "B", "--no-paired", "--null"], "--null needs trials"),
        (["--confusions", "A", "A", "--no-paired"], "two files are named 'human'"),
        (["A", "--paired"], "--paired needs --confusions"),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: list[str],
    message: str,
    files: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    known = {"A": files[0], "B": files[1]}
    assert main(["compare", *(known.get(word, word) for word in arguments)]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
