"""The verb `report`: pages of trials, of wide tables, of logs, of saved results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import alikely as al
from alikely.cli import main
from alikely.report import blocks

FEW = ["--n-resamples", "20", "--n-draws", "20", "--quiet"]


@pytest.fixture(autouse=True)
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures have tests of their own."""
    monkeypatch.setattr(blocks, "svg_of", lambda draw, label: "<svg></svg>")


def harness(folder: Path, n_models: int = 4, n_items: int = 60) -> Path:
    """Logs of a harness for language models: a folder for each model, a line for each question."""
    rng = np.random.default_rng(3)
    target = rng.integers(0, 4, n_items)
    for k in range(n_models):
        own = folder / f"org__net-{k}"
        own.mkdir(parents=True)
        with (own / "samples_quiz_2026-01-02T03-04-05.678901.jsonl").open("w") as file:
            for item in range(n_items):
                likelihood = rng.normal(-3, 1, 4)
                likelihood[target[item]] += 1.0
                values = [f"{value:.4f}" for value in likelihood]
                options = {f"gen_args_{j}": {"arg_0": "?", "arg_1": f" {j}"} for j in range(4)}
                sample = {
                    "doc_id": item, "doc": {"question": "?"}, "target": str(target[item]),
                    "arguments": options, "resps": [[[value, "False"]] for value in values],
                    "filtered_resps": [[value, "False"] for value in values], "filter": "none",
                    "metrics": ["acc"], "doc_hash": f"{item:08d}",
                    "acc": float(likelihood.argmax() == target[item]),
                }  # fmt: skip
                file.write(json.dumps(sample) + "\n")
    return folder


def test_trials_with_humans_and_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = al.load_example().select(condition="noise")
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    page = tmp_path / "page.html"
    arguments = ["report", str(tmp_path / "trials.csv"), *FEW, "--title", "A & B"]
    assert main([*arguments, "--out", str(page)]) == 0
    printed = capsys.readouterr().out
    assert f"Written to {page}: 'A & B', 0." in " ".join(printed.split())
    assert "Reading:" in printed
    text = page.read_text("utf-8")
    assert "<h1>A &amp; B</h1>" in text
    assert "<h2>Ranks</h2>" in text
    assert "24 pairs" in text  # humans with models
    assert "percentile bootstrap, 20 replicates" in text


def test_scores_that_there_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One human makes pairs, but no scores."""
    names = ["human_1", "model_1", "model_2"]
    trials = al.load_example().select(condition="noise", observer=names)
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path / "trials.csv"), *FEW, "--out", str(page)]) == 0
    assert "! There are no scores, ranks and ceilings: " in capsys.readouterr().out
    text = page.read_text("utf-8")
    assert "There are no scores, ranks and ceilings: " in text
    assert "<h2>Ranks</h2>" not in text
    assert "<h2>Means and differences: error consistency</h2>" in text


def test_a_wide_table(tmp_path: Path) -> None:
    trials = al.load_example().select(condition="noise", kind="human")
    rows = trials.to_table().fillna({"response": "none"})
    wide = rows.pivot(index=["item", "truth"], columns="observer", values="response").reset_index()
    wide.to_csv(tmp_path / "wide.csv", index=False)
    page = tmp_path / "page.html"
    arguments = ["report", str(tmp_path / "wide.csv"), "--wide", "--classes", "seen", *FEW]
    assert main([*arguments, "--out", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "Over 6 pairs, error consistency ranged" in text
    assert "Noted when reading: " in text


def test_logs_of_a_harness(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    logs = harness(tmp_path / "logs")
    assert main(["report", str(logs), *FEW, "--out", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "read as samples of lm-evaluation-harness" in text
    assert "net-3" in text


@pytest.mark.slow
def test_saved_results_on_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = al.load_example().select(condition="noise")
    al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0).save(tmp_path / "r.nc")
    al.matrix(trials, by=None).save(tmp_path / "m.nc")
    page, files = tmp_path / "page.html", [str(tmp_path / name) for name in ("r.nc", "m.nc")]
    assert main(["report", *files, "--out", str(page)]) == 0
    text = page.read_text("utf-8")
    assert "Over 45 pairs, error consistency ranged" in text
    assert "Over 45 entries (45 pairs of 10 observers)" in text
    assert main(["report", *files, "x.csv", "--out", str(page)]) == 2
    assert "FILE is of trials or of saved results (.nc), not of both" in capsys.readouterr().err


def test_bad_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "none.csv", "--out", str(tmp_path)]) == 2
    assert "--out names a file, and " in capsys.readouterr().err


def test_conditions_that_are_left_out_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials = al.load_example().select(condition=["blur", "noise"], kind="human")
    rows = trials.to_table().replace({"condition": {"blur": "c100", "noise": "c30"}})
    rows.assign(dataset="contrast").to_csv(tmp_path / "trials.csv", index=False)
    arguments = ["report", str(tmp_path / "trials.csv"), "--exclude", "model-vs-human", *FEW]
    assert main([*arguments, "--out", str(tmp_path / "page.html")]) == 0
    told = "as 'model-vs-human' has it: 1 of 2 conditions, 160 of 320 trials."
    assert told in " ".join(capsys.readouterr().out.split())
    text = (tmp_path / "page.html").read_text("utf-8")
    assert told.replace("'", "&#39;") in text
    assert "4 observers (4 of kind human), 160 trials in 1 data set and 1 condition" in text


def test_readers_of_two_modalities(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials, _ = al.simulate.reader_study(5, 80, rng=1)
    table, page = tmp_path / "readers.csv", tmp_path / "page.html"
    trials.to_table().to_csv(table, index=False)
    few = ["--n-resamples", "20", "--n-draws", "20", "--n-null", "20"]
    assert main(["report", str(table), *few, "--out", str(page)]) == 0
    study = al.benchmark.reader_study(trials, "AI")
    estimate = study.differences["estimate"].iloc[0]
    said = f"Difference between A and B (means over readers): {estimate:.2f}"
    assert said in page.read_text("utf-8")
    # Readers of another kind, among themselves.
    own = trials.to_table().query("observer != 'AI'").assign(kind="reader")
    own.to_csv(table, index=False)
    assert main(["report", str(table), *few, "--out", str(page)]) == 0
    assert "Difference between A and B" in page.read_text("utf-8")
