"""Figures and tables of five papers: each has a row, verdicts have numbers, pages agree."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import papers
import printed_numbers
import pytest
from papers import EXAMINED, FOLDER, NOT_YET, PAGE, PAPERS, VERDICTS

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


def test_table_and_page_agree_with_the_notebooks() -> None:
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
def test_rows_link_to_their_cells(file: Path) -> None:
    rows = papers.rows()
    assert file.read_text(encoding="utf-8") == papers.linked(file.stem, rows)
    places = papers.anchors(file.stem)
    without = ("no data here", "nothing to test")
    lost = [
        row["item"]
        for row in rows
        if row["notebook"] == file.stem and row["verdict"] not in without
        and row["item"] not in places
    ]  # fmt: skip
    assert lost == []


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_without_the_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It reports missing data, and repeats the results that need no data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("matplotlib.pyplot.show", lambda: plt.close("all"))
    names: dict[str, Any] = {"display": lambda *_, **__: None}
    for cell in json.loads((FOLDER / "klein2025.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert "shared/data/model_vs_human is not here: the example shows the steps" in (
        capsys.readouterr().out
    )
    found = {row["item"]: row for row in names["verdicts"]}
    assert set(found) == {"Figure 3", "Figure 5", "Figure 6", "Figure 7"}
    for row in papers.rows():
        if row["paper"] == "K25" and row["item"] in found:
            own = found[row["item"]]
            assert {name: row[name] for name in own} == own


def test_printed_numbers_are_compared_by_their_digits() -> None:
    rows = printed_numbers.rows()
    known = {(row["paper"], row["item"]) for row in papers.rows()}
    assert {(row["paper"], row["item"]) for row in rows} <= known
    assert len({(row["paper"], row["item"], row["what"]) for row in rows}) == len(rows) == 280
    for row in rows:
        said = printed_numbers.matched(row["printed"], row["ours"])
        assert row["matched"] == ("yes" if said else "no"), row
    of = Counter((row["paper"], row["item"]) for row in rows if row["matched"] == "no")
    assert set(of) <= set(papers.OTHERWISE)


@pytest.mark.parametrize(
    ("printed", "ours", "same"),
    [
        (".93", "0.925", True),
        (".92", "0.925", True),
        (".93", "0.9249", False),
        ("0", "1e-320", True),
        ("0", "1e-300", False),
        ("4.1e-24", "4.13e-24", True),
        ("4.1e-24", "4.2e-24", False),
    ],
)
def test_digits(printed: str, ours: str, same: bool) -> None:
    assert printed_numbers.matched(printed, ours) is same


@pytest.mark.slow
def test_our_numbers_agree_with_the_list(shared_data: Path) -> None:
    rows, found = printed_numbers.rows(), printed_numbers.found(shared_data)
    for kept, now in zip(rows, found, strict=True):
        assert {**kept, "ours": ""} == {**now, "ours": ""}
        assert float(kept["ours"]) == pytest.approx(float(now["ours"]), rel=1e-3)
