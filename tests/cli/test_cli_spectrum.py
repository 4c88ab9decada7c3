"""alikely spectrum: tables, files, bad input, in 80 columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.cli import main

REFERENCE = ",".join(f"distortion_{d}:reference" for d in range(4))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People alone, correctness only."""
    path = tmp_path_factory.mktemp("spectrum") / "people.csv"
    two = {"means": (-1.5, 2.0), "sds": (0.3, 0.3), "weights": (0.5, 0.5)}
    trials, _ = al.simulate.difficulty(6, 4, n_items=100, **two, rng=1)
    trials.to_table().to_csv(path, index=False)
    return path


def printed_by(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["spectrum", *arguments]) == 0
    out = capsys.readouterr().out
    # Paths are as long as they are.
    lines = [line for line in out.splitlines() if not line.startswith("Written to")]
    assert max(map(len, lines)) <= 80
    return out


@pytest.mark.slow
def test_people_alone(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(file), "--reference", REFERENCE, "--chance", "0.0625", "--k", "4"]
    printed = printed_by([*arguments, "--out", str(tmp_path), "--seed", "3"], capsys)
    spectrum = al.difficulty_spectrum(al.Trials.read(file), REFERENCE.split(","), chance=1 / 16)
    found = al.regimes(spectrum, 4, rng=3)
    table = pd.read_csv(tmp_path / "spectrum.csv").set_index("condition")
    np.testing.assert_allclose(table.loc[spectrum["condition"].values, "delta"], spectrum["delta"])
    assert (table.loc[found["condition"].values, "regime"] == found["label"].values).all()
    assert table["delta"].is_monotonic_decreasing
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "normality.csv", "regimes.csv", "regimes.png", "spectrum.csv", "spectrum.png",
    ]  # fmt: skip
    assert "Shown: 4 regimes" in printed
    assert "nearest model" not in printed
    assert printed.count("ref.") == 4


@pytest.mark.slow
def test_models_within_regimes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "example.parquet"
    al.load_example().to_table().to_parquet(path)
    arguments = [str(path), "--reference", "clean", "--correction", "0.5", "--k", "2"]
    printed = printed_by([*arguments, "--n-resamples", "100", "--out", str(tmp_path)], capsys)
    assert "nearest model" in printed
    models = pd.read_csv(tmp_path / "models.csv")
    assert set(models["metric"]) == {"error_consistency", "misclassification_agreement"}
    # Easiest first, as the conditions stand.
    assert models["regime"].drop_duplicates().tolist() == ["regime 2", "regime 1"]
    # A share of an agreement that cannot be told from 0 has no ends.
    assert " [-inf, inf] " in printed
    assert {"alignment.csv", "models.png", "distortions.png"} <= {
        p.name for p in tmp_path.iterdir()
    }


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
