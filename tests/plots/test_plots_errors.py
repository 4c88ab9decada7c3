"""Plots of error patterns: what they draw is what the results say."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.patches import Rectangle
from scipy import stats

import alikely as al

BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example()


@pytest.fixture(scope="module")
def agreement(trials: al.Trials) -> al.Result:
    return al.misclassification_agreement(trials, **BARE)


@pytest.fixture(scope="module")
def similarity(trials: al.Trials) -> al.Result:
    return al.error_similarity(trials, by="dataset", **BARE)


def test_matrix_is_symmetric_and_holds_the_estimates(
    trials: al.Trials, similarity: al.Result
) -> None:
    ax = al.plot_matrix(similarity, observer_kinds=trials)
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert [name.split("_")[0] for name in names] == ["human"] * 4 + ["model"] * 6
    values = np.ma.filled(ax.images[0].get_array(), np.nan)
    np.testing.assert_array_equal(values, values.T)
    assert np.isnan(np.diag(values)).all()
    frame = similarity.summary()
    for _, row in frame.iterrows():
        i, j = names.index(row["observer_a"]), names.index(row["observer_b"])
        assert values[i, j] == row["estimate"]
    top = [child for child in ax.child_axes if child.get_xticklabels()]
    assert [tick.get_text() for tick in top[0].get_xticklabels()] == ["human", "model"]


def test_matrix_averages_groups_and_hatches_what_is_undefined(
    trials: al.Trials, agreement: al.Result
) -> None:
    ax = al.plot_matrix(agreement, observer_kinds=trials)
    frame = agreement.summary()
    pair = frame[(frame["observer_a"] == "human_1") & (frame["observer_b"] == "model_1")]
    values = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert values[0, 4] == pytest.approx(pair["estimate"].mean())
    assert "mean over 3 groups" in ax.get_title()
    own = al.misclassification_agreement(trials.select(condition="clean"), **BARE)
    clean = al.plot_matrix(own, observer_kinds=trials)
    undefined = frame[(frame["condition"] == "clean") & frame["estimate"].isna()]
    hatched = [p for p in clean.patches if isinstance(p, Rectangle) and p.get_hatch()]
    assert len(hatched) == 2 * len(undefined) > 0
    assert f"undefined ({len(undefined)} of 45 pairs)" in clean.get_xlabel()
    low, high = clean.images[0].get_clim()
    drawn = np.ma.filled(clean.images[0].get_array(), np.nan)
    assert (low, high) == (min(np.nanmin(drawn), 0), np.nanmax(drawn))


def test_metrics_are_matched_pair_by_pair(
    trials: al.Trials, agreement: al.Result, similarity: al.Result
) -> None:
    ec = al.error_consistency(trials, **BARE)
    ax = al.plot_metrics(
        [ec, agreement], ec.metric.name, agreement.metric.name, observer_kinds=trials
    )
    drawn = {
        c.get_label(): np.asarray(c.get_offsets())
        for c in ax.collections
        if isinstance(c, PathCollection)
    }
    assert list(drawn) == ["human-human", "human-model", "model-model"]
    both = np.column_stack(
        [ec.estimates["estimate"].values, agreement.estimates["estimate"].values]
    )
    both = both[np.isfinite(both).all(axis=1)]
    every = np.concatenate(list(drawn.values()))
    np.testing.assert_allclose(np.sort(every[:, 1]), np.sort(both[:, 1]))
    rho = stats.spearmanr(*both.T).statistic
    assert f"{rho:.2f} over {len(both)} pairs" in ax.get_title()
    assert f"{135 - len(both)} undefined, not drawn" in ax.get_title()


def test_classes_have_their_divergence_and_verdict(similarity: al.Result) -> None:
    pair = "human_1 x model_1"
    ax = al.plot_errors(similarity, "classes", pair=pair)
    entry = similarity.estimates.sel(pair=pair)
    names = [tick.get_text() for tick in ax.get_yticklabels()][::-1]
    classes = similarity.table["class"].values.tolist()
    bars = sorted(ax.patches, key=lambda bar: -bar.get_y())
    widths = [bar.get_width() for bar in bars]
    expected = [float(entry["class_divergence"][classes.index(name)]) for name in names]
    np.testing.assert_allclose(widths, [v for v in expected if np.isfinite(v)])
    assert expected == sorted(expected, reverse=True)
    for bar, name in zip(bars, names, strict=False):
        factor = float(entry["class_log_bayes_factor"][classes.index(name)])
        blue = mpl.colors.to_hex(bar.get_facecolor()) == "#0072b2"
        assert blue == (factor > 0) or factor == pytest.approx(0, abs=1e-9)


def test_shares_of_answers_are_drawn() -> None:
    counts = al.estimates.confusion_matrices(al.load_example(), "kind")
    axes = al.plot_errors(counts, "confusions")
    shown = axes[0].images[0].get_array()
    own = counts.sel(group="human").values
    np.testing.assert_allclose(shown, own / own.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="dims group, truth and response, got"):
        al.plot_errors(counts.transpose("truth", "group", "response"), "confusions")
    with pytest.raises(ValueError, match=r"at most 6 matrices .* got 10; select groups"):
        al.plot_errors(al.estimates.confusion_matrices(al.load_example()), "confusions")
