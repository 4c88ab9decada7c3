"""Reports: content of pages, escaping, and missing parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import NAMES
from names_page import PACKAGE

import alikely as al
from alikely.report import blocks, pages
from alikely.report.methods import references

# Tags without an end tag.
VOID = {"meta", "link", "br", "img"}
RUNS = re.compile(r"\bon\w+$")


class Page(HTMLParser):
    """Tags, texts and tables of a page; tags must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)
            if {"td", "th"} & set(self.open):
                self.cells[-1] += data

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example().select(condition="noise")


@pytest.fixture(scope="module")
def result(trials: al.Trials) -> al.Result:
    return al.error_consistency(trials, "human-model", n_resamples=40, n_draws=40, rng=1)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip figures, which take a third of a second each and have separate tests."""
    monkeypatch.setattr(blocks, "svg_of", lambda draw, label: "<svg></svg>")


@pytest.mark.slow
def test_names_are_never_markup(hostile: al.report.pages.Report) -> None:
    page = Page(hostile.html)
    assert hostile.failures == ()
    tags = [tag for tag, _ in page.tags]
    assert {"b", "i", "s", "iframe", "object", "form", "base"}.isdisjoint(tags)
    # Images belong to the figures of the page.
    sources = [_address(attrs) for tag, attrs in page.tags if tag in ("img", "image")]
    assert all(source.startswith("data:image/png") for source in sources)
    assert not any(RUNS.match(name) for _, attrs in page.tags for name in attrs)
    scripts = [attrs for tag, attrs in page.tags if tag == "script"]
    assert [a for a in scripts if "type" not in a] == [{}]
    text = page.text
    assert "<b>bold</b>" in text
    assert "$x_1^2$ & $" in text
    assert "{{7*7}}{% raw %}" in text
    assert "49{%" not in text
    assert "</title><script>alert(0)</script>" in text
    assert NAMES[3] in page.cells


def _address(attrs: dict[str, str | None]) -> str:
    return attrs.get("href") or attrs.get("xlink:href") or attrs.get("src") or ""


@pytest.mark.slow
def test_a_page_loads_no_addresses(hostile: al.report.pages.Report) -> None:
    page = Page(hostile.html)
    policy = next(attrs["content"] for _, attrs in page.tags if "http-equiv" in attrs)
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag, attrs in page.tags:
        address = _address(attrs)
        if tag == "a":
            assert address.startswith(("#", "https://doi.org/"))
        else:
            assert address.startswith(("data:", "#")) or not address
    assert "url(http" not in hostile.html
    assert "@import" not in hostile.html


@pytest.mark.slow
def test_figures_show_names_unchanged(hostile: al.report.pages.Report) -> None:
    drawn = re.findall(r"<svg.*?</svg>", hostile.html, flags=re.DOTALL)
    assert len(drawn) == 7
    assert any("$x_1^2$ &amp; $" in svg for svg in drawn)
    assert any("&lt;b&gt;bold&lt;/b&gt;" in svg for svg in drawn)
    # Ids of parts differ between figures, because equal ids would be confused.
    named = [set(re.findall(r'id="([^"]+)"', svg)) for svg in drawn]
    assert sum(map(len, named)) == len(set().union(*named))


@pytest.mark.usefixtures("undrawn")
def test_results_without_draws_and_with_undefined_estimates() -> None:
    right = np.ones((4, 30))
    right[3], right[2, :5] = 0, 0
    trials = al.Trials.from_correct(right, observers=list("abcd"))
    result = al.error_consistency(trials, n_resamples=0, n_draws=0, rng=1)
    report = result.report()
    page = Page(report.html)
    assert report.failures == ()
    assert "1 of 6 estimates are undefined (-)" in page.text
    assert "both observers always correct" in page.text
    assert not {"nan", "NaN", "None", "<NA>"} & set(page.cells)
    assert "2 differences (Benjamini and Hochberg); intervals are not. 4 other" in page.text
    assert "Both observers always correct (1 of 6 rows in Pairs)." in page.text
    assert "4 observers, 30 trials in 1 data set and 1 condition, and 120 responses" in page.text


@pytest.mark.usefixtures("undrawn")
def test_captions_describe_only_columns_that_the_tables_have(trials: al.Trials) -> None:
    with al.options(n_null=50):
        result = al.error_consistency(trials, "human-model", n_resamples=0, n_draws=40, rng=1)
    text = Page(result.report().html).text
    assert "The column p (simulated) is based on 50 data sets simulated from" in text
    assert "independence of errors was tested with 50 data sets simulated from" in text
    with al.options(n_null=0):
        result = al.error_consistency(trials, "human-model", n_resamples=0, n_draws=40, rng=1)
    text = Page(result.report().html).text
    assert "The column p (Fisher)" in text
    assert "p (simulated)" not in text
    assert "simulated from independent observers" not in text
    few = trials.select(observer=["human_1", "human_2", "model_1", "model_2"])
    text = Page(al.benchmark_scores(few, metric="error_similarity").report().html).text
    assert "Scores, for new images and new humans" in text
    text = Page(al.benchmark_scores(few).report().html).text
    assert "new humans need at least 3 humans in each data set." in text


@pytest.mark.usefixtures("undrawn")
def test_notes_name_no_functions_or_arguments() -> None:
    scores = al.benchmark_scores(al.load_example(), n_resamples=0, rng=1)
    assert scores.summary()["note"].str.contains("generalize_to='images'").all()
    notes = Page(scores.report().html).text.split("What to keep in mind")[-1]
    notes = notes.split("How the numbers were computed")[0]
    assert "Only 4 humans: the interval is approximate (all 7 rows in Scores)." in notes
    assert "19 of 4,800 responses are missing and count as errors (all" in notes
    assert not re.search(r"\w=|\w_\w|\bal\.", notes)


@pytest.mark.usefixtures("undrawn")
def test_missing_and_repeated_responses_are_counted() -> None:
    table = pd.DataFrame(
        {
            "observer": list("aabbccaab"),
            "item": ["1", "2", "1", "2", "1", "2", "1", "2", "1"],
            "repeat": [0, 0, 0, 0, 0, 0, 1, 1, 1],
            "correct": [1, 0, 1, None, 0, 1, 1, 1, 0],
        }
    )
    trials = al.Trials.from_table(table)
    result = al.error_consistency(trials, n_resamples=20, n_draws=0, rng=1)
    text = Page(result.report().html).text
    assert "Missing responses: 1 of 9 (11.1%)." in text
    assert "Trials not shown: 3 of 12 (25.0%) combinations of observer and trial" in text
    assert "Repeated items: 2 of 2, up to 2 times within a condition." in text
    assert "each item counts once" in text


@pytest.fixture(scope="module")
def with_gaps() -> al.Trials:
    """Five observers of two kinds with missing responses, and 60 trials not shown to one."""
    names = ["human_1", "human_2", "human_3", "model_1", "model_2"]
    table = al.load_example().select(condition="noise", observer=names).to_table()
    table = table.drop(table.index[table["observer"] == "human_1"][-60:])
    table.loc[table.sample(30, random_state=1).index, "response"] = None
    return al.Trials.from_table(table)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("kind", "no_response"),
    [
        pytest.param("pairs", "error", marks=pytest.mark.slow),
        pytest.param("scores", "drop", marks=pytest.mark.slow),
        pytest.param("matrix", "drop", marks=pytest.mark.slow),
    ],
)
def test_a_page_from_a_file_is_equal(
    kind: str, no_response: Any, with_gaps: al.Trials, tmp_path: Path
) -> None:
    few: Any = {"no_response": no_response, "rng": 1, "n_resamples": 20, "n_draws": 20}
    make: dict[str, Callable[[], Any]] = {
        "pairs": lambda: al.error_consistency(with_gaps, **few),
        "scores": lambda: al.benchmark_scores(with_gaps, **few),
        "matrix": lambda: al.pairwise_matrix(with_gaps, by=None, no_response=no_response),
    }
    result = make[kind]()
    page = result.report()
    assert page.failures == ()
    result.save(tmp_path / "result.nc")
    assert al.Result.load(tmp_path / "result.nc").report().html == page.html
    counts = with_gaps.summary()
    missing, shown = counts["no_response"].sum(), counts["n_trials"].sum()
    assert missing > 0
    assert f"Missing responses: {missing} of {shown:,} (" in Page(page.html).text
    assert "No response is missing" not in page.html
    lacking = counts["not_shown"].sum()
    assert (f" {lacking} of " in page.html) == (lacking > 0)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_results_of_other_data_are_described_separately(with_gaps: al.Trials) -> None:
    few: Any = {"rng": 1, "n_resamples": 0, "n_draws": 0}
    gaps = al.error_consistency(with_gaps, **few)
    right = np.random.default_rng(1).integers(0, 2, (3, 40))
    whole = al.error_consistency(al.Trials.from_correct(right), **few)
    text = Page(pages.make_report(gaps, whole).html).text
    assert f"Missing responses: {with_gaps.summary()['no_response'].sum()} of " in text
    assert "No response is missing." in text
    assert "Data of: " in text


@pytest.mark.slow
def test_a_failed_figure_leaves_a_line(result: al.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    def svg(draw: object, label: str) -> str:
        if "of all pairs" in label:
            raise RuntimeError("no <ink>")
        return "<svg></svg>"

    monkeypatch.setattr(blocks, "svg_of", svg)
    report = result.report()
    assert len(report.failures) == 1
    assert report.failures[0].endswith("RuntimeError: no <ink>")
    page = Page(report.html)
    assert "Not shown: RuntimeError: no <ink>" in page.text
    assert "Tests of independence" in page.text
    assert "1 missing" in repr(report)


def test_rows_beyond_the_limit_are_omitted() -> None:
    frame = pd.DataFrame({"name": [f"<observer {k}>" for k in range(60_000)], "estimate": 0.5})
    table = blocks.table_of(frame, "All.")
    page = pages._page("t", [], [blocks.Section("s", [table])])
    assert "The first 10 of 60,000 rows." in page
    assert page.count("<tr>") == 2 + 10 + blocks.MOST_ROWS
    assert page.count("&lt;observer 999&gt;") == 1


def test_a_report_is_written_completely_or_not(result: al.Result, tmp_path: Path) -> None:
    report = pages.Report("<p>é</p>", "t")
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == "<p>é</p>"
    with pytest.raises(ValueError, match="is not a file"):
        report.save(tmp_path)


def test_sources_of_every_metric_are_in_the_bibliography() -> None:
    for metric in al.metrics.metric.metrics().values():
        if metric.module.startswith("alikely.") and metric.name != "raw_agreement":
            assert metric.sources, metric.name
            assert set(metric.sources) <= set(references()), metric.name


def test_bibliography_agrees_with_docstrings() -> None:
    """Check that DOI, year and first author are equal, because either may be copied wrongly."""
    text = " ".join(" ".join(file.read_text().split()) for file in sorted(PACKAGE.rglob("*.py")))
    found = re.findall(r"\.\. \[\w+\] ([^.\[]+?),? [^()]*?\((\d{4})\)\. [^\[]*?doi:(\S+)", text)
    said = {doi: (author.split(",")[0], year) for author, year, doi in found}
    checked = 0
    for entry in references().values():
        if entry.doi:
            author, year = said[entry.doi]
            assert entry.text.startswith(f"{author}"), entry.key
            assert f"({year})" in entry.text, entry.key
            checked += 1
    assert checked > 40  # each is listed by key and by DOI


@pytest.mark.slow
def test_a_reader_study_reports_differences_of_modalities(result: al.Result) -> None:
    trials, _ = al.simulate.reader_study(6, 150, rng=1)
    study = al.benchmark.reader_study(trials, "AI")
    row = al.benchmark.differences(study).iloc[0]
    report = pages.make_report(study)
    text = Page(report.html).text
    assert report.failures == ()
    said = f"over readers in A minus that in B was {row['estimate']:.2f}, 95% CI ["
    assert said in text
    assert (
        f"{row['analytic_ci95_lb']:.2f}, {row['analytic_ci95_ub']:.2f}], p = 0.001 (analytic; 6 "
        in text
    )
    assert "new readers and new cases" in text
    assert "Differences between conditions (reader study)" in text
    # A single modality has no differences, and the page mentions none.
    one = al.benchmark.reader_study(trials.select(condition="A"), "AI")
    assert "Difference between" not in Page(pages.make_report(one).html).text
    assert "treat readers and cases as random" in text


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_a_page_of_many_models_has_families_and_their_figure() -> None:
    board = al.simulate.leaderboard(60, 5, 600, rng=1)
    report = al.pairwise_matrix(board, tests=False, intervals=()).report()
    text = Page(report.html).text
    assert report.failures == ()
    assert report.html.count("<figure") == 1
    assert "groups of observers have at least two members (families of similar" in text
    assert "The adjusted Rand index between bootstrap replicates is " in text
    assert "The strip between the tree and the matrix shows the family of each observer" in text
