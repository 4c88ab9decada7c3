"""alikely plan: a sentence, then a table, in 80 columns."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import alikely as al
from alikely.cli import main
from alikely.planning import trials as plans


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "pilot.csv"
    al.load_example().select(condition=["blur", "noise"]).to_table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def three(pilot: Path) -> Path:
    """Use three humans, because every pair is simulated, and four have twice as many."""
    table = pd.read_csv(pilot)
    path = pilot.with_name("three.csv")
    table[table["observer"] != "human_4"].to_csv(path, index=False)
    return path


@pytest.fixture(autouse=True)
def few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate intervals in a tenth of the studies, because no test checks proportions of them."""
    every = plans.draw_tables

    def few(setting: Any, n_trials: Any, n_datasets: int, *rest: Any) -> Any:
        return every(setting, n_trials, n_datasets // 10, *rest)

    monkeypatch.setattr(plans, "draw_tables", few)


def printed_by(arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["plan", *arguments.split()]) == 0
    out = capsys.readouterr().out
    # Paths may be longer than a line.
    lines = [line for line in out.splitlines() if not line.startswith("Written to")]
    assert max(map(len, lines)) <= 80
    return " ".join(out.split())


@pytest.mark.slow
def test_a_pilot(three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = f"--pilot {three} --pairs human-human"
    printed = printed_by(f"{arguments} --n-trials 100 400 --out {tmp_path}", capsys)
    table = pd.read_csv(tmp_path / "plan.csv")
    assert len(table) == 12
    table = table[table["n_trials"] == 400]
    worst = table.loc[table["assured_width"].idxmax()]
    assert printed.startswith(
        f"With 400 trials, the 95% interval for {worst['observer_a']} and {worst['observer_b']} in "
        f"condition {worst['condition']}, the pair with the widest interval, will be no wider than "
        f"{worst['assured_width']:.2f} in 80% of studies."
    )
    one = three.with_name("one.csv")
    trials = al.Trials.read(three).select(observer=["human_1", "human_2"], condition=["noise"])
    trials.to_table().to_csv(one, index=False)
    printed = printed_by(f"--pilot {one} --width .2 --keep-pilot --assurance .9", capsys)
    assert "more trials. Then the 95% interval" in printed
    assert "in 90% of studies, even for human_1 and human_2 in condition noise" in printed


@pytest.mark.slow
def test_a_budget(pilot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = f"--pilot {pilot} --budget 2000 --cost-per-trial .05 --cost-per-observer 20"
    printed = printed_by(f"{arguments} --out {tmp_path}", capsys)
    table = pd.read_csv(tmp_path / "plan.csv")
    assert set(table["system"]) == {"6 models", "human-human"}
    best = table[table["system"] == "human-human"].iloc[0]
    assert printed.startswith(
        f"With a budget of 2000, test {best['n_observers']:.0f} observers with "
        f"{best['n_images']:,.0f} images per condition"
    )
    assert (tmp_path / "plan.png").stat().st_size > 10_000
    printed_by(f"{arguments} --max-images 30 --max-observers 20 --out {tmp_path}", capsys)
    fewer = pd.read_csv(tmp_path / "plan.csv")
    assert fewer["n_images"].max() <= 30 < table["n_images"].max()
    assert fewer["n_observers"].max() <= 20 < table["n_observers"].max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--accuracy .95 .5 --ec .5", "must lie in [-0.1000, 0.1000]"),
        ("--difference --accuracy .7 .7 .7 --ec .5 .3 --width .1", "leave out --width"),
        (
            "--accuracy .7 .7 --ec .5 --metric copying",
            "the number of trials for a test is planned only for error_consistency",
        ),
        (
            "--pilot {pilot} --width .2 --metric DMC",
            "is not supported here; use al.planning.items_for",
        ),
        ("--pilot {pilot} --width .2 --metric CLES", "--metric CLES is not supported; use"),
        ("--pilot {pilot} --width .2 --max-images 40", "--max-images needs --budget"),
        ("--pilot {pilot} --budget 3", "budget must be at least 40"),
    ],
)
def test_bad_input_is_one_line(
    pilot: Path, capsys: pytest.CaptureFixture[str], arguments: str, message: str
) -> None:
    assert main(["plan", *arguments.format(pilot=pilot).split()]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_numbers_of_trials_near_the_ceiling(capsys: pytest.CaptureFixture[str]) -> None:
    printed = printed_by("--accuracy .98 .95 --ec .3 --n-trials 40", capsys)
    assert printed.startswith("Show 40 trials to both observers. With accuracies of 98% and 95%")
    assert "! fewer than 10 trials expected in a cell: simulated" in printed
    assert "Nothing was written" in printed
