"""Plots: signatures, settings, fonts, and selection among many rows."""

from __future__ import annotations

import contextlib
import inspect
import io
import pickle
import re
from typing import Any

import gallery
import pytest

import alikely as al
from alikely.plots._style import kinds_of

COHORTS = {"plot_cohort fit", "plot_cohort groups"}


def test_every_kind_of_every_plot_is_in_the_gallery() -> None:
    expected = set()
    for name in al.plots.__all__:
        plot = getattr(al.plots, name)
        if name.startswith("plot_"):
            kinds = kinds_of(plot) if "kind" in inspect.signature(plot).parameters else ()
            expected |= {f"{name} {kind}" for kind in kinds} or {name}
    expected |= {name for name in al.papers.__all__ if name.startswith("plot_")}
    assert expected <= set(gallery.DRAWINGS) | COHORTS


@pytest.mark.slow
@pytest.mark.parametrize("column", [False, True])
def test_cohorts(cohort_tree: Any, family_tree: Any, column: bool) -> None:
    with al.plots.column() if column else contextlib.nullcontext():
        fit = al.plot_cohort(cohort_tree, rng=1)
        groups = al.plot_cohort(family_tree, "groups", covariate="family")
    for ax in (fit, groups):
        assert gallery.faults(ax.figure) == []


@pytest.mark.slow
def test_best_rows_are_drawn_with_the_total_number(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = gallery.scores(30)
    best = scores.summary("both").set_index("system").loc[scores.observers, "estimate"]
    best = best.sort_values(ascending=False).index.tolist()
    named = [text.get_text() for text in al.plot_benchmark(scores, top=3).get_yticklabels()]
    assert named == best[2::-1]
    for n, ax in (
        (4, al.plot_benchmark(scores, "ranks", rng=1, top=4)),
        (5, al.plot_benchmark(scores, "prob_greater", top=5)),
    ):
        assert ax.get_ylabel() == f"first {n} of 30 models"
        assert len(ax.get_yticks()) == n
    # A page with less height has fewer rows.
    monkeypatch.setattr("alikely.plots._style.PAGE", 3.0)
    with al.plots.column():
        ax = al.plot_benchmark(scores)
        with pytest.raises(ValueError, match="20 rows are too many for a page, the limit is 14"):
            al.plot_benchmark(scores, top=20)
    assert ax.get_ylabel() == "first 14 of 30 models"
    assert gallery.faults(ax.figure) == []
    for kind in ("scores", "prob_greater"):
        with pytest.raises(ValueError, match="top must be at least 1, got 0"):
            al.plot_benchmark(scores, kind, top=0)


def test_kinds_and_their_arguments_are_documented() -> None:
    kind_name = r'``"(\w+)"``'
    for name in al.plots.__all__:
        plot = getattr(al.plots, name)
        public = inspect.signature(plot).parameters
        if "kind" not in public:
            continue
        kinds, text = kinds_of(plot), inspect.getdoc(plot)
        assert set(re.findall(rf"^- {kind_name}", text, re.M)) == set(kinds)
        entries = re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n)+)", text, re.M)
        documented = {one: about for names, about in entries for one in names.split(", ")}
        used = {kind: list(inspect.signature(kinds[kind]).parameters)[1:] for kind in kinds}
        assert set().union(*used.values()) <= set(public)
        # The axes parameter is in every plot.
        for parameter in list(public)[1:]:
            if parameter in ("kind", "ax"):
                continue
            users = {kind for kind in kinds if parameter in used[kind]}
            start = re.match(rf" *For ((?:{kind_name}(?:, | and )?)+)", documented[parameter])
            named = set(re.findall(kind_name, start[1])) if start else set(kinds)
            assert named == users, (name, parameter)


@pytest.mark.slow
def test_fonts_are_embedded_as_fonts() -> None:
    figure = al.plot_intervals(gallery.consistency(2)).figure
    for made in (figure, pickle.loads(pickle.dumps(figure))):
        file = io.BytesIO()
        made.savefig(file, format="pdf", metadata={"CreationDate": None})
        # Type 42 is TrueType; publishers reject the outlines of Type 3.
        assert b"/FontFile2" in file.getvalue()
        assert b"/Type3" not in file.getvalue()
