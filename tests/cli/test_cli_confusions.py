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
