"""The subcommand `report`: pages of trials, of wide tables, of logs, of saved results."""

from __future__ import annotations

from pathlib import Path

import pytest

import alikely as al
from alikely.cli import main
from alikely.report import blocks

FEW = ["--n-resamples", "20", "--n-draws", "20", "--quiet"]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip figures, which have separate tests."""
    monkeypatch.setattr(blocks, "svg_of", lambda draw, label: "<svg></svg>")


def test_trials_with_humans_and_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = al.load_example().select(condition="noise")
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    page = tmp_path / "page.html"
    arguments = ["report", str(tmp_path / "trials.csv"), *FEW, "--title", "A & B"]
    assert main([*arguments, "--out", str(page)]) == 0
    printed = capsys.readouterr().out
    assert f"Written to {page}: 'A & B', 0." in " ".join(printed.split())
    assert "How the data were read:" in printed
    text = page.read_text("utf-8")
    assert "<h1>A &amp; B</h1>" in text
    assert "<h2>Ranks</h2>" in text
    assert "24 pairs" in text  # humans with models
    assert "percentile bootstrap, 20 replicates" in text


@pytest.mark.slow
def test_one_human_gives_no_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One human gives pairs, but no scores."""
    names = ["human_1", "model_1", "model_2"]
    trials = al.load_example().select(condition="noise", observer=names)
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "trials.csv"), *FEW, "--out", str(page)]) == 0
    assert "! No scores, ranks or noise ceilings: " in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "No scores, ranks or noise ceilings: " in text
    assert "<h2>Ranks</h2>" not in text
    assert "<h2>Means and differences</h2>" in text


@pytest.mark.slow
def test_saved_results_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = al.load_example().select(condition="noise")
    al.error_consistency(trials, n_resamples=0, n_draws=0).save(tmp_path / "r.nc")
    al.pairwise_matrix(trials, by=None).save(tmp_path / "m.nc")
    page, files = tmp_path / "page.html", [str(tmp_path / name) for name in ("r.nc", "m.nc")]
    assert main(["report", *files, "--out", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.count("How similar are the responses of 45 pairs of observers?") == 2
    assert text.count('<div class="lead">') == 2
    assert main(["report", *files, "x.csv", "--out", str(page)]) == 2
    assert "FILE must be trials or saved results (.nc), not both" in capsys.readouterr().err


@pytest.mark.slow
def test_readers_of_two_modalities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials, _ = al.simulate.reader_study(5, 80, rng=1)
    table, page = tmp_path / "readers.csv", tmp_path / "page.html"
    trials.to_table().to_csv(table, index=False)
    few = ["--n-resamples", "20", "--n-draws", "20", "--n-null", "20"]
    assert main(["report", str(table), *few, "--out", str(page)]) == 0
    study = al.benchmark.reader_study(trials, "AI")
    estimate = al.benchmark.differences(study)["estimate"].iloc[0]
    said = f"over readers in A minus that in B was {estimate:.2f}"
    assert said in page.read_text("utf-8")
