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


def test_agreement_needs_error_consistency() -> None:
    other = al.misclassification_agreement(al.load_example(), n_draws=0, n_resamples=0)
    with pytest.raises(ValueError, match="result must be of error_consistency, got misc"):
        al.plot_agreement(other)


def test_a_kind_names_the_arguments_that_it_does_not_use(clean: al.Result) -> None:
    with pytest.raises(TypeError, match="kind='bounds' does not use observer_kinds; it uses ax"):
        al.plot_agreement(clean, "bounds", observer_kinds={})
    with pytest.raises(TypeError, match="kind='classes' needs pair="):
        al.plot_errors(clean, "classes")


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
