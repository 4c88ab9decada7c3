"""Plots: what they draw is what the result says."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

import alikely as al


@pytest.fixture(scope="module")
def clean() -> al.Result:
    return al.error_consistency(al.load_example().select(condition="clean"), "model-model", rng=1)


def test_intervals_stand_where_the_summary_puts_them(clean: al.Result) -> None:
    ax = al.plot_intervals(clean)
    summary = clean.summary(intervals="all")
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    for method, drawn in zip(("bootstrap", "posterior"), lines, strict=True):
        # The line of an undefined interval has no points left.
        ends = np.array([part[:, 0] for part in drawn.get_segments() if len(part) == 2])
        bounds = summary[[f"{method}_eti95_lb", f"{method}_eti95_ub"]].dropna().to_numpy()
        np.testing.assert_allclose(ends, bounds)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == clean.table["pair"].values.tolist()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["bootstrap, 95% ETI", "posterior, 95% ETI", "estimate undefined"]


def test_bounds_show_the_observed_pairs(clean: al.Result) -> None:
    left, right = al.plot_agreement(clean, "bounds")
    cells = clean.table["cells"].values
    expected = np.stack(al.metrics.consistency.accuracies(cells), axis=1)
    for ax in (left, right):
        np.testing.assert_allclose(ax.collections[-1].get_offsets(), expected)


def test_agreement_stands_between_its_bounds(clean: al.Result) -> None:
    left, right = al.plot_agreement(clean)
    cells = clean.table["cells"].values
    n11, n10, n01, n00 = cells.T
    n = cells.sum(axis=1)
    p_a, p_b = (n11 + n10) / n, (n11 + n01) / n
    expected = p_a * p_b + (1 - p_a) * (1 - p_b)
    for ax, value in ((left, (n11 + n00) / n), (right, clean.estimates["estimate"].values)):
        defined = np.isfinite(value)
        points = np.ma.filled(ax.collections[-1].get_offsets(), np.nan)[defined]
        np.testing.assert_allclose(points, np.stack([expected, value], axis=1)[defined])
        lower, upper = (np.interp(expected, *line.get_data()) for line in ax.lines[:2])
        # The bounds bend between two points of their line.
        assert (lower - 0.05 <= value)[defined].all()
        assert (value <= upper + 0.05)[defined].all()


def test_accuracies_have_their_limit(clean: al.Result) -> None:
    ax = al.plot_agreement(clean, "accuracy")
    p_a, p_b = al.metrics.consistency.accuracies(clean.table["cells"].values)
    points = np.ma.filled(ax.collections[0].get_offsets(), np.nan)
    value = clean.estimates["estimate"].values
    defined = np.isfinite(value)
    np.testing.assert_allclose(points[defined], np.stack([p_b, value], axis=1)[defined])
    (dashes,) = [line for line in ax.lines if line.get_marker() == "_"]
    limit = al.metrics.bounds.error_consistency_bounds(p_a, p_b)[1]
    np.testing.assert_allclose(dashes.get_ydata(), limit)
    assert (value <= limit + 1e-9)[defined].all()
    other = al.misclassification_agreement(al.load_example(), n_draws=0, n_resamples=0)
    with pytest.raises(ValueError, match="result must be of error_consistency, got misc"):
        al.plot_agreement(other)


@pytest.fixture(scope="module")
def scores() -> al.Result:
    return al.benchmark_scores(al.load_example().select(condition=["blur", "noise"]), rng=1)


def test_benchmark_stands_where_the_summary_puts_it(scores: al.Result) -> None:
    ax = al.plot_benchmark(scores, generalize_to="images")
    frame = scores.summary("images").set_index("system")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose(dots.get_xdata(), frame.loc[names, "estimate"])
    assert list(dots.get_xdata()) == sorted(dots.get_xdata())
    segments = ax.collections[0].get_segments()
    ends = np.array([part[:, 0] for part in segments])
    np.testing.assert_allclose(
        ends, frame.loc[names, ["analytic_ci95_lb", "analytic_ci95_ub"]].to_numpy()
    )


def test_ranks_are_those_of_the_table(scores: al.Result) -> None:
    ax = al.plot_benchmark(scores, "ranks", generalize_to="images", rng=1)
    table = al.benchmark.ranks(scores, "images", rng=1).set_index("system")
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    drawn = {
        names[round(y)]: tuple(part[:, 0])
        for c in ax.collections
        for part in c.get_segments()
        for y in part[:1, 1]
    }
    assert drawn == {n: (table.loc[n, "rank_lb"], table.loc[n, "rank_ub"]) for n in names}


def test_probability_map_is_ordered_by_score(scores: al.Result) -> None:
    ax = al.plot_benchmark(scores, "prob_greater")
    values = np.asarray(ax.images[0].get_array())
    upper = values[np.triu_indices(6, 1)]
    assert upper.mean() > 0.5
    assert np.isnan(np.diag(values)).all()
    off = ~np.eye(6, dtype=bool)
    # The scores are continuous: no draw ties two models.
    np.testing.assert_allclose((values + values.T)[off], 1)
