"""alikely matrix: the numbers of Python in 80 columns, and bad input."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import alikely as al
from alikely.benchmark.trees import block_means
from alikely.cli import main


@pytest.fixture(scope="module")
def board() -> al.Trials:
    return al.simulate.leaderboard(16, 2, 400, shared=0.6, rng=1)


@pytest.fixture(scope="module")
def file(board: al.Trials, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrix") / "board.parquet"
    board.to_table().to_parquet(path)
    return path


def test_results_of_python_are_printed_and_written(
    board: al.Trials, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(file), "--by-family", "family", "--n-resamples", "5", "--out", str(tmp_path)]
    assert main(["matrix", *arguments]) == 0
    out = capsys.readouterr().out
    assert max(len(line) for line in out.splitlines() if not line.startswith("Written")) <= 80
    result = al.pairwise_matrix(board)
    best = result.summary(top=1).iloc[0]
    assert f"{best['estimate']:.2f}" in out.splitlines()[3]
    family = dict(zip(board.observers, board.data["family"].values.tolist(), strict=True))
    blocks = block_means(result, family)
    written = pd.read_csv(tmp_path / "blocks.csv")
    pd.testing.assert_frame_equal(written, blocks)
    tree = al.benchmark.families(result, n_resamples=5, rng=1)
    assert tree.sentence()[:60] in out
    assert len(pd.read_parquet(tmp_path / "pairs.parquet")) == 120
    assert (tmp_path / "families.png").stat().st_size > 10_000


@pytest.mark.slow
def test_options_of_questions(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = ["matrix", str(file), "--metric", "kappa_p_discrete", "--n-resamples", "0"]
    assert main(plain) == 2
    assert "with_options" in capsys.readouterr().err
    assert main([*plain, "--n-options", "4"]) == 0
    assert "kappa_p_discrete" in capsys.readouterr().out
    # Support of branches and group means need the responses again.
    known = ["matrix", str(file), "--metric", "kappa_p_discrete", "--n-options", "4"]
    assert main([*known, "--n-resamples", "5", "--by-family", "family"]) == 0
    out = capsys.readouterr().out
    assert "branches of the tree have bootstrap support of 0.95 or more" in out
    assert "Mean kappa_p of responses within groups" in out
    assert main([*plain, "--n-options", "four"]) == 2
    assert "--n-options must be a whole number or classes" in capsys.readouterr().err
