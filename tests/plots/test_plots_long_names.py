"""Plots with names of 50 characters, and what they say of what they draw."""

from __future__ import annotations

import contextlib
import itertools

import gallery
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.metrics import bounds
from alikely.report import blocks

mpl.use("Agg")


@pytest.mark.parametrize("n", [2, 30, 300])
@pytest.mark.parametrize("column", [False, True])
def test_ticks_of_an_image_choice_keep_apart(n: int, column: bool) -> None:
    with al.plots.column() if column else contextlib.nullcontext():
        axes = gallery.DRAWINGS["plot_plan images"](n)
    axes[1].figure.draw_without_rendering()
    labels = [text for text in axes[1].get_xticklabels() if text.get_text()]
    boxes = [text.get_window_extent() for text in labels]
    assert len(labels) >= 2
    assert all(right.x0 - left.x1 >= 4 for left, right in itertools.pairwise(boxes))
    # Numbers of images stay readable next to the strata.
    assert any(" of " in text.get_text() for text in axes[0].get_yticklabels())
    assert not any("~" in text.get_text() for text in axes[0].get_yticklabels())
    plt.close("all")


def _of_datasets() -> al.Result:
    """Six observers in five data sets, of which one has the highest estimates."""
    rng = np.random.default_rng(1)
    rows = []
    for d in range(5):
        shared = rng.random((1, 120)) < 0.6
        copied = rng.random((6, 120)) < (0.9 if d == 2 else 0.3)
        right = np.where(copied, shared, rng.random((6, 120)) < 0.6)
        rows += [
            {"dataset": f"set {d}", "observer": f"o{i}", "item": t, "correct": int(right[i, t])}
            for i in range(6)
            for t in range(120)
        ]
    trials = al.Trials.from_table(pd.DataFrame(rows))
    return al.error_consistency(trials, by="dataset", n_resamples=0, n_draws=0, n_null=0, rng=1)


def test_panels_of_the_highest_pairs_show_all_data_sets() -> None:
    result = _of_datasets()
    ax = al.plot_intervals(result, facet="dataset", sort="estimate", top=4)
    panels = ax.figure.axes
    assert [panel.get_title() for panel in panels] == [f"set {d}" for d in range(5)]
    frame = result.summary(intervals=())
    frame = frame.assign(pair=frame["observer_a"] + " x " + frame["observer_b"])
    means = frame.groupby("pair")["estimate"].mean().sort_values(ascending=False)
    assert [text.get_text() for text in ax.get_yticklabels()] == means.index[:4].tolist()
    for panel in panels:
        (points,) = (line for line in panel.lines if line.get_marker() == "o")
        assert sorted(points.get_ydata()) == [0, 1, 2, 3]
    assert ax.figure.get_suptitle() == "4 of 15, by mean estimate"
    plt.close("all")


def test_a_heatmap_uses_its_colors_and_hatching_is_said_where_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(blocks, "svg_of", lambda draw, label: "<svg></svg>")
    trials = al.load_example().select(condition="noise")
    result = al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0, rng=1)
    value = result.estimates["estimate"].values
    image = al.plot_matrix(result).images[0]
    low, high = image.get_clim()
    assert (low, high) == (min(value.min(), 0), value.max())
    # 0 is white, and both sides are equally strong.
    assert np.allclose(image.cmap(image.norm(0.0))[:3], mpl.colormaps["RdBu_r"](0.5)[:3], atol=0.02)
    assert np.allclose(image.cmap(image.norm(high)), mpl.colormaps["RdBu_r"](1.0))
    right = np.random.default_rng(1).integers(0, 2, (4, 60))
    right[:2] = 1
    undefined = al.error_consistency(
        al.Trials.from_correct(right), n_resamples=0, n_draws=0, n_null=0, rng=1
    )
    for one, hatched in ((result, False), (undefined, True)):
        assert bool(al.plot_matrix(one).patches) == hatched
        captions = [block.caption for block in _figures_of(one) if "of all pairs" in block.caption]
        assert len(captions) == 1
        assert ("Hatched: undefined" in captions[0]) == hatched
    plt.close("all")


def _figures_of(result: al.Result) -> list[blocks.Figure]:
    from alikely.report.results import pair_sections

    found = [block for section in pair_sections(result, None, None) for block in section.blocks]
    return [block for block in found if isinstance(block, blocks.Figure)]


@pytest.mark.parametrize("n", [2, 30, 300])
def test_every_limit_is_that_of_a_pair_that_is_drawn(n: int) -> None:
    result = gallery.consistency(n)
    ax = al.plot_agreement(result, "accuracy")
    (limits,) = (line for line in ax.lines if line.get_marker() == "_")
    frame = result.summary(intervals=())
    expected = bounds.error_consistency_bounds(frame["accuracy_a"], frame["accuracy_b"])[1]
    np.testing.assert_allclose(limits.get_ydata(), expected)
    np.testing.assert_allclose(limits.get_xdata(), frame["accuracy_b"])
    defined = frame["estimate"].notna()
    assert (frame["estimate"][defined] <= expected[defined] + 1e-12).all()
    # No line of other accuracies; the one at 0 is no limit.
    assert all(np.ptp(line.get_ydata()) == 0 for line in ax.lines if line is not limits)
    plt.close("all")


def test_colors_of_ranks_claim_no_order() -> None:
    """A system can differ from the highest while one of lower rank does not."""
    trials = al.load_example().select(condition="noise")
    ax = al.plot_benchmark(
        al.benchmark_scores(trials, n_resamples=0, n_draws=0, rng=1), "ranks", population="images"
    )
    said = {text.get_text() for text in ax.get_legend().get_texts()}
    assert said <= {"not significantly below the highest", "significantly below the highest"}
    assert said
    plt.close("all")
