"""Plots of the spectrum, its regimes and alignment within them: what is drawn, what is refused."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_rgb

import alikely as al
from alikely.benchmark.layout import HUMANS
from alikely.plots._style import regime_colors

REFERENCE = [f"distortion_{d}:reference" for d in range(4)]
REGIME = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}


@pytest.fixture(scope="module")
def spectrum() -> xr.Dataset:
    trials, _ = al.simulate.difficulty(4, 4, rng=1)
    return al.difficulty_spectrum(trials, REFERENCE, chance=1 / 16)


@pytest.fixture(scope="module")
def found(spectrum: xr.Dataset) -> xr.Dataset:
    return al.regimes(spectrum, 2, n_resamples=20, rng=1)


@pytest.fixture(scope="module")
def alignment() -> xr.Dataset:
    return al.condition_alignment(al.load_example(), n_resamples=100, rng=1)


def dots(ax: plt.Axes) -> tuple[np.ndarray, np.ndarray]:
    """Places and fillings of all scattered points."""
    scattered = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    places = np.concatenate([np.asarray(c.get_offsets()) for c in scattered])
    return places, np.concatenate([c.get_facecolors()[:, :3] for c in scattered])


def legend(ax: plt.Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_condition_stands_at_its_delta(spectrum: xr.Dataset, found: xr.Dataset) -> None:
    ax = al.plot_spectrum(spectrum, found)
    places, colors = dots(ax)
    assert sorted(places[:, 0]) == pytest.approx(sorted(spectrum["delta"].values))
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"distortion_{d}" for d in range(4)]
    # Harder to the right.
    left, right = ax.get_xlim()
    assert left > right
    color = regime_colors(found["regime"].values.tolist())
    label = dict(zip(spectrum["delta"].values.round(9), found["label"].values, strict=True))
    for (x, _), drawn in zip(places, colors, strict=True):
        np.testing.assert_allclose(drawn, to_rgb(color[label[round(x, 9)]]), atol=1e-6)
    texts = {text.get_text() for text in ax.texts}
    assert {"regime 1", "regime 2", "reference"} <= texts
    assert legend(ax)[:2] == ["condition", "reference condition"]


def test_levels_have_a_line_for_each_model(alignment: xr.Dataset) -> None:
    table = al.spectrum.alignment_table(alignment, REGIME)
    ax = al.plot_alignment(table, "levels", dataset="all")
    assert [t.get_text() for t in ax.get_xticklabels()] == ["clean", "blur", "noise"]
    own = table[table["metric"] == "error_consistency"]
    lines = {tuple(np.round(np.nan_to_num(np.asarray(line.get_ydata(), float), nan=9), 6))
             for line in ax.lines}  # fmt: skip
    for _, rows in own.groupby("system"):
        assert tuple(rows["estimate"].fillna(9).round(6)) in lines
    assert {"easy", "hard"} <= {text.get_text() for text in ax.texts}


def test_distortions_have_a_dot_for_each_condition(alignment: xr.Dataset) -> None:
    table = al.spectrum.alignment_table(alignment, REGIME)
    ax = al.plot_alignment(table, "distortions", metric="misclassification_agreement")
    chosen = table[(table["metric"] == "misclassification_agreement") & (table["system"] == HUMANS)]
    places, colors = dots(ax)
    known = chosen.dropna(subset="estimate")
    assert places[:, 0] == pytest.approx(known["estimate"].tolist())
    # From top to bottom as in the table, in colors of their regimes.
    assert (np.diff(places[:, 1]) > 0).all()
    color = regime_colors(["easy", "hard"])
    np.testing.assert_allclose(colors, [to_rgb(color[name]) for name in known["regime"]], atol=1e-6)
    bars = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    ends = [segment[:, 0] for c in bars for segment in c.get_segments()]
    np.testing.assert_allclose(ends, known[["bootstrap_eti95_lb", "bootstrap_eti95_ub"]])
