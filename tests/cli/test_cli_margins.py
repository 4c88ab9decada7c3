"""alikely margins: table, ceilings, files, bad input, in 80 columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.cli import main
from alikely.cli._output import save_plot


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("margins")
    rho = {"a_model_with_a_long_name": 0.8, "other": 0.3}
    trials, margins = al.simulate.detection_experiment(8, 60, 1, rho=rho, rng=1)
    trials.to_table().to_csv(folder / "trials.csv", index=False)
    margins.to_parquet(folder / "margins.parquet")
    return folder / "trials.csv", folder / "margins.parquet"


@pytest.mark.slow
def test_results_of_python_are_printed_and_written(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["margins", str(files[0]), "--margins", str(files[1]), "--out", str(tmp_path)]
    assert main([*arguments, "--n-draws", "200", "--n-resamples", "50", "--seed", "2"]) == 0
    printed = capsys.readouterr().out
    # Paths may be longer than a line.
    lines = [line for line in printed.splitlines() if not line.startswith("Written to")]
    assert max(map(len, lines)) <= 80
    expected = al.Result.load(tmp_path / "decision_margin_consistency.nc")
    row = expected.summary().iloc[0]
    line = next(line for line in printed.splitlines() if "a_model" in line)
    assert line.split()[1] == "human"
    assert f"{row['estimate']:.2f}" in line
    assert f"[{row['posterior_eti95_lb']:.2f}, {row['posterior_eti95_ub']:.2f}]" in line
    ceiling = expected.data["ceilings"]["reliability"].values[0]
    assert f"{ceiling:.2f} [" in printed.split("Reliability")[1]
    assert "noise-corrected" in printed
    for name in ("consistency.png", "decision_margin_consistency.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert expected.table.sizes["pair"] == 3
    assert len(expected.draws("posterior")) == 200


@pytest.mark.slow
def test_means_of_models_are_printed_and_written(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["margins", str(files[0]), "--margins", str(files[1]), "--scores"]
    arguments += ["--n-resamples", "0", "--n-draws", "400", "--seed", "2", "--out", str(tmp_path)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    result = al.Result.load(tmp_path / "decision_margin_consistency.nc")
    scores = al.benchmark.scores_from_result(result)
    table = printed.split("Noise-corrected means over conditions")[1]
    assert max(map(len, table.split("Written to")[0].splitlines())) <= 80
    row = scores.summary().sort_values("posterior_median").iloc[-1]
    assert f"[{row['posterior_eti95_lb']:.3f}, {row['posterior_eti95_ub']:.3f}]" in table
    assert table.splitlines()[2].startswith(row["system"][:20])
    kept = pd.read_csv(tmp_path / "scores.csv")
    np.testing.assert_allclose(
        kept["posterior_median"], scores.summary()["posterior_median"], rtol=1e-12
    )
    assert (tmp_path / "scores.png").read_bytes().startswith(b"\x89PNG")


def test_missing_letters_of_a_font_give_one_warning(tmp_path: Path) -> None:
    """Some plots are laid out during drawing, before anything is written."""
    import matplotlib.pyplot as plt

    def laid_out(name: str) -> None:
        figure, ax = plt.subplots()
        ax.set_title(name)
        figure.canvas.draw()

    with pytest.warns(UserWarning, match="letters") as told:
        save_plot(lambda: laid_out("模型"), tmp_path / "x.png")
    (one,) = told
    assert "x.png': the font lacks letters" in str(one.message)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert not plt.get_fignums()


@pytest.mark.parametrize(("model", "scale"), [("moments", "share"), ("strengths", "strength")])
def test_scales_are_printed(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], model: str, scale: str
) -> None:
    arguments = ["margins", str(files[0]), "--margins", str(files[1]), "--n-resamples", "0"]
    assert main([*arguments, "--model", model, "--n-draws", "8"]) == 0
    assert f"(scale {scale})" in " ".join(capsys.readouterr().out.split())
