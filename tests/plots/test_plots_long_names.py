"""Plots with names of 50 characters, and what they say of what they draw."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import alikely as al
from alikely.report import blocks

mpl.use("Agg")


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
