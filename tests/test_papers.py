"""Figures and tables of five papers: every one has a row, every verdict a number, pages agree."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from pathlib import Path

import pandas as pd
import papers
import pytest
from papers import EXAMINED, FOLDER, NOT_YET, PAGE, PAPERS, VERDICTS

import alikely as al

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_every_figure_and_table_has_a_row() -> None:
    rows = papers.rows()
    assert len(rows) == 76
    assert Counter(row["paper"] for row in rows) == {name: n for name, (n, _, _) in PAPERS.items()}
    assert len({(row["paper"], row["item"]) for row in rows}) == 76


def test_no_verdict_without_a_number() -> None:
    for row in papers.rows():
        where = f"{row['paper']} {row['item']}"
        assert row["claim"], where
        if row["state"] == NOT_YET:
            assert not row["verdict"], where
            assert not row["ours"], where
            continue
        assert row["state"] == EXAMINED, where
        assert row["verdict"] in VERDICTS, where
        assert row["rule"], where
        if row["verdict"] != "nothing to test":
            assert any(c.isdigit() for c in row["ours"]), where
            assert row["notebook"], where


def test_table_and_page_say_what_the_notebooks_found() -> None:
    rows = papers.rows()
    assert papers.merged(rows) == rows
    assert PAGE.read_text(encoding="utf-8") == papers.page(rows)
    found = set(papers.found())
    assert found == {
        (row["notebook"], row["item"])
        for row in rows
        if row["notebook"] and row["state"] == EXAMINED
    }


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebooks_are_executed_and_small(file: Path) -> None:
    assert file.stat().st_size < 1_000_000
    cells = [c for c in json.loads(file.read_text())["cells"] if c["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = {output["output_type"] for cell in cells for output in cell["outputs"]}
    assert "error" not in kinds


# Supplement of Geirhos, Meding, Wichmann (2020), doi:10.48550/arXiv.2006.16736, Table 1.
PEOPLE = {
    "cue-conflict": (0.69, 0.76, 0.84, 0.62, 0.85, 0.82, 0.76, 0.78, 0.86, 0.77),
    "edge": (0.89, 0.94, 0.93, 0.84, 0.89, 0.93, 0.81, 0.96, 0.61, 0.92),
    "silhouette": (0.80, 0.66, 0.80, 0.78, 0.77, 0.72, 0.76, 0.64, 0.76, 0.85),
}
# Xu et al. (2025), doi:10.48550/arXiv.2409.13919, Table 1: EC and MA, EC and CLES, MA and CLES.
CORRELATIONS = {
    "colour": (0.01, 0.40, 0.48),
    "contrast": (0.52, 0.74, 0.80),
    "eidolonI": (0.55, 0.38, 0.81),
    "eidolonII": (0.73, 0.61, 0.78),
    "eidolonIII": (0.73, 0.59, 0.82),
    "false-colour": (0.36, 0.50, 0.45),
    "high-pass": (0.66, 0.59, 0.79),
    "low-pass": (0.58, 0.53, 0.80),
    "phase-scrambling": (0.55, 0.24, 0.66),
    "power-equalisation": (0.46, 0.76, 0.57),
    "rotation": (0.42, 0.90, 0.56),
    "sketch": (0.57, 0.67, 0.75),
    "stylized": (0.50, 0.48, 0.82),
    "uniform-noise": (0.67, 0.50, 0.78),
}


def test_accuracies_of_people_as_printed(shared_data: Path) -> None:
    trials = al.datasets.model_vs_human(shared_data / "model_vs_human", datasets=[*PEOPLE])
    table = trials.summary().pivot(index="observer", columns="dataset", values="accuracy")
    names = [f"subject-{i:02d}" for i in range(1, 11)]
    for dataset, printed in PEOPLE.items():
        assert [round(float(p), 2) for p in table.loc[names, dataset]] == list(printed)


@pytest.mark.slow
def test_correlations_of_metrics_as_printed(shared_data: Path) -> None:
    released = pd.read_parquet(shared_data / "model_vs_human" / "published_metrics.parquet")
    labels = ["dataset", "observer_a", "observer_b"]
    released = released.astype(dict.fromkeys(labels, str)).assign(cles=1 / (1 + released["cled"]))
    people = released["observer_a"].str.startswith("subject")
    networks = released[~people & ~released["observer_b"].str.startswith("subject")]
    names = ["ec", "ma", "cles"]
    tables = [networks[[*labels, name]] for name in names]
    found = al.metric_correlations(tables, n_resamples=1, rng=1)
    by = found.set_index(["metric", "other", "domain"])["correlation"]
    for dataset, printed in CORRELATIONS.items():
        ours = [
            round(float(by[a, b, f"{dataset} | all"]), 2)
            for a, b in itertools.combinations(names, 2)
        ]
        assert ours == list(printed), dataset
    assert round(float(by["ec", "ma", "global"]), 2) == -0.23
