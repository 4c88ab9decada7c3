"""alikely spectrum: tables, files, bad input, in 80 columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import alikely as al
from alikely.cli import main


def printed_by(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["spectrum", *arguments]) == 0
    out = capsys.readouterr().out
    # Paths are as long as they are.
    lines = [line for line in out.splitlines() if not line.startswith("Written to")]
    assert max(map(len, lines)) <= 80
    return out


def test_what_is_undefined_is_a_dash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No two people err on the same item: there is no share of an agreement below 0."""
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
