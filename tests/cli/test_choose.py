"""`alikely choose`."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import alikely as al
from alikely.cli import main


@pytest.mark.slow
def test_plan_goes_to_a_file_that_trials_take(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = al.load_example().select(condition="noise")
    file, out = tmp_path / "models.csv", tmp_path / "plan.csv"
    trials.select(kind="model").to_table().to_csv(file, index=False)
    line = ["choose", str(file), "--target", "model_1", "model_2", "--n", "40"]
    assert main([*line, "--out", str(out), "--quiet"]) == 0
    told = capsys.readouterr().out
    assert (
        "Show 40 of the 160 images. For the difference of model_1 and model_2 (error"
        in " ".join(told.split())
    )
    assert max(map(len, told.splitlines()[:-2])) <= 80
    plan = pd.read_csv(out)
    assert len(plan) == 40
    assert (tmp_path / "plan.png").is_file()
    table = trials.to_table()
    asked = table[(table["kind"] == "model") | table["item"].isin(plan["item"])]
    answers = al.Trials.from_table(asked).with_inclusion(plan, generalize_to="images")
    assert answers.n_trials == 40
