"""Plots for papers: leaderboards, radar plots, maps of conditions."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.benchmark.layout import HUMANS
from alikely.papers import plots as maps

REFERENCE = [f"distortion_{d}:reference" for d in range(4)]
REGIME = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}


@pytest.fixture(scope="module")
def alignment() -> xr.Dataset:
    return al.condition_alignment(al.load_example(), n_resamples=100, rng=1)


def legend(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_radar_shows_means_over_families(alignment: xr.Dataset) -> None:
    table = al.spectrum.alignment_table(alignment)
    table["dataset"] = table["condition_name"]
    models = [name for name in table["system"].unique() if name != HUMANS]
    families = dict.fromkeys(models[:3], "one") | dict.fromkeys(models[3:], "other")
    ax = al.papers.plot_radar(table, families)
    own = table[table["metric"] == "error_consistency"]
    wide = own.pivot(index="condition", columns="system", values="estimate")
    wide = wide.loc[["all:clean", "all:blur", "all:noise"]]
    assert wide.notna().all(axis=None)
    drawn = [np.asarray(line.get_ydata()) for line in ax.lines]
    for members in (models[:3], models[3:], [HUMANS]):
        mean = wide[members].mean(axis=1).to_numpy()
        assert any(np.allclose(line, np.append(mean, mean[0])) for line in drawn if len(line) == 4)
    assert legend(ax) == ["human-human", "one (3 models)", "other (3 models)"]


def test_ranks_and_rank_sets_are_drawn_as_in_the_table(alignment: xr.Dataset) -> None:
    table = al.spectrum.regime_alignment(alignment, REGIME, rng=1)
    ax = al.plot_regimes(table)
    own = table[table["metric"] == "error_consistency"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["easy", "hard"]
    lines = {tuple(line.get_ydata()) for line in ax.lines}
    for _, rows in own.groupby("system"):
        assert tuple(rows["rank"]) in lines
    bars = {
        tuple(np.round(segment[:, 1], 6))
        for collection in ax.collections
        for segment in collection.get_segments()
        if len(segment)
    }
    for row in own[own["regime"] == "hard"].itertuples():
        assert (round(row.rank_lb - 0.2, 6), round(row.rank_ub + 0.2, 6)) in bars
    last = own[own["regime"] == "hard"].sort_values("rank")["system"].tolist()
    # The best is on top.
    assert [text.get_text() for text in ax.texts] == last
    assert ax.get_ylim()[0] > ax.get_ylim()[1]


def test_map_has_a_point_for_each_condition_in_its_group_color() -> None:
    names = ["a:1", "a:2", "b:1"]
    distances = pd.DataFrame([[0, 1, 9], [1, 0, 9], [9, 9, 0]], names, names, dtype=float)
    groups = {"a:1": "a", "a:2": "a", "b:1": "b"}
    ax = al.papers.plot_condition_map(distances, groups, perplexity=2, rng=1)
    at = maps.condition_map(distances, perplexity=2, rng=1).set_index("condition")
    for line, members in zip(ax.lines, (["a:1", "a:2"], ["b:1"]), strict=True):
        np.testing.assert_array_equal(line.get_xydata(), at.loc[members])
    assert len({line.get_color() for line in ax.lines}) == 2
    assert legend(ax) == ["a", "b"]
    with pytest.raises(ValueError, match="'b:1'"):
        al.papers.plot_condition_map(distances, {"a:1": "a", "a:2": "a"}, perplexity=2)
