"""Plots show the values of results and tables."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from scipy import stats

import alikely as al
from alikely.benchmark.layout import HUMANS
from alikely.plots._style import regime_colors

BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
REFERENCE = [f"distortion_{d}:reference" for d in range(4)]
REGIME = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}


@pytest.fixture(scope="module")
def clean() -> al.Result:
    return al.error_consistency(al.load_example().select(condition="clean"), "model-model", rng=1)


def test_intervals_are_drawn_as_in_the_summary(clean: al.Result) -> None:
    ax = al.plot_intervals(clean)
    summary = clean.summary(intervals="all")
    lines = [c for c in ax.collections if isinstance(c, LineCollection)]
    for method, drawn in zip(("bootstrap", "posterior"), lines, strict=True):
        # The line of an undefined interval has no points.
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


def test_benchmark_is_drawn_as_in_the_summary(scores: al.Result) -> None:
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


def test_ranks_agree_with_the_table(scores: al.Result) -> None:
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
    # The scores are continuous, so no draw has ties.
    np.testing.assert_allclose((values + values.T)[off], 1)


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example()


@pytest.fixture(scope="module")
def agreement(trials: al.Trials) -> al.Result:
    return al.misclassification_agreement(trials, **BARE)


@pytest.fixture(scope="module")
def similarity(trials: al.Trials) -> al.Result:
    return al.error_similarity(trials, by="dataset", **BARE)


def test_matrix_is_symmetric_and_shows_the_estimates(
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


def test_matrix_averages_groups_and_hatches_undefined_pairs(
    trials: al.Trials, agreement: al.Result
) -> None:
    ax = al.plot_matrix(agreement, observer_kinds=trials)
    frame = agreement.summary()
    pair = frame[(frame["observer_a"] == "human_1") & (frame["observer_b"] == "model_1")]
    values = np.ma.filled(ax.images[0].get_array(), np.nan)
    assert values[0, 4] == pytest.approx(pair["estimate"].mean())
    assert "mean over 3 conditions" in ax.get_title()
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


def test_classes_have_their_divergence_and_test(similarity: al.Result) -> None:
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


def test_response_proportions_are_drawn() -> None:
    counts = al.estimates.confusion_matrices(al.load_example(), "kind")
    axes = al.plot_errors(counts, "confusions")
    shown = axes[0].images[0].get_array()
    own = counts.sel(group="human").values
    np.testing.assert_allclose(shown, own / own.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match="dims group, truth and response, got"):
        al.plot_errors(counts.transpose("truth", "group", "response"), "confusions")
    with pytest.raises(ValueError, match=r"at most 6 matrices .* got 10; select groups"):
        al.plot_errors(al.estimates.confusion_matrices(al.load_example()), "confusions")


@pytest.fixture(scope="module")
def result() -> al.Result:
    """A result of models and humans with artificial draws."""
    trials, margins = al.simulate.detection_experiment(6, 30, 1, rho={"a": 0.8, "b": 0.1}, rng=1)
    found = al.decision_margin_consistency(trials, margins, n_draws=0, n_resamples=0, rng=1)
    rng = np.random.default_rng(2)
    tree = found.data.copy()
    shape = (4, 50, 3)
    names = found.table["pair"].values
    tree["posterior"] = xr.Dataset(
        {"decision_margin_consistency": (("chain", "draw", "pair"), rng.uniform(0.5, 0.9, shape))},
        coords={"pair": names},
        attrs={"sampler": "nuts", "joint": 0},
    )
    return al.Result(tree)


def legend(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def drawn(ax: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.column_stack(line.get_data()) for line in ax.lines])


def test_both_consistencies_against_accuracy(result: al.Result) -> None:
    trials, margins = al.simulate.detection_experiment(6, 30, 1, rho={"a": 0.8, "b": 0.1}, rng=1)
    del margins
    table = al.estimates.consistency_table(trials, result)
    upper, lower = al.plot_margins(table, "consistency")
    for ax, name in ((upper, "error"), (lower, "margin")):
        points, column = drawn(ax), f"{name}_consistency"
        for x, y in table[["accuracy_model", column]].to_numpy():
            assert np.isclose(points, [x, y]).all(axis=1).any()
        # Human-human values, and mean model-human values: lines with bands.
        for level in (f"group_{column}", f"mean_{column}"):
            assert np.isclose(points[:, 1], table[level][0]).any()
            low, high = table.loc[0, [f"{level}_lb", f"{level}_ub"]]
            assert any(
                np.isclose([box.get_y(), box.get_y() + box.get_height()], [low, high]).all()
                for box in ax.patches
            )
        assert f"models with human, mean: {table[f'mean_{column}'][0]:.2f} [" in " | ".join(
            legend(ax)
        )
    # The model ceiling is the square root of human reliability.
    assert np.isclose(drawn(lower)[:, 1], np.sqrt(table["group_margin_consistency"][0])).any()
    with pytest.raises(TypeError, match="ax must be 2 axes"):
        al.plot_margins(table, "consistency", ax=upper)
    with pytest.raises(ValueError, match="frame lacks the column 'margin_ceiling'"):
        al.plot_margins(table.drop(columns="margin_ceiling"), "consistency")


@pytest.fixture(scope="module")
def widths() -> pd.DataFrame:
    accuracy = np.array([[0.75], [0.95]])
    return al.trials_for_width(accuracy, accuracy, 0.5, n_trials=[50, 200, 800, 3200], rng=1)


def points(ax: object, hollow: bool) -> set[tuple[float, float]]:
    """Markers by fill."""
    lines = [line for line in ax.lines if line.get_marker() not in ("None", "")]
    chosen = [line for line in lines if (line.get_markerfacecolor() == "white") == hollow]
    return {(float(x), float(y)) for line in chosen for x, y in zip(*line.get_data(), strict=True)}


def test_widths_are_drawn_as_in_the_table(widths: pd.DataFrame) -> None:
    ax = al.plot_plan(widths, "width", references={"one condition": 160})
    for method, hollow in (("analytic", False), ("simulated", True)):
        part = widths[widths["method"] == method]
        expected = set(zip(part["n_trials"].astype(float), part["width"], strict=True))
        assert expected
        assert points(ax, hollow) == expected
    assert [text.get_text() for text in ax.texts] == ["one condition"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["0.75", "0.95", "simulated"]
    assert ax.get_xscale() == "log"


def test_power_of_items_is_drawn() -> None:
    table = al.planning.items_for_margins([[0.2], [0.4]], n_items=[20, 50, 100, 200])
    ax = al.plot_plan(table, "power", x="n_items", hue="dmc")
    drawn = points(ax, hollow=False)
    assert drawn == set(zip(table["n_items"].astype(float), table["power"], strict=True))
    assert any(np.allclose(line.get_ydata(), 0.8) for line in ax.lines)


def test_design_map_marks_the_best_design() -> None:
    pilot = al.planning.variance_components(al.load_example()).tail(1)
    grid = al.planning.expected_errors(pilot, [[2], [8], [32], [128]], [20, 200, 2000])
    designs = al.planning.best_design(pilot, 3000, 0.1, 10)
    ax = al.plot_plan(grid, "design", designs=designs)
    (star,) = (line for line in ax.lines if line.get_marker() == "*")
    assert star.get_xdata()[0] == designs["n_images"][0]
    assert star.get_ydata()[0] == designs["n_observers"][0]
    assert f"{designs['n_observers'][0]} observers" in ax.get_title()
    with pytest.raises(ValueError, match="full grid"):
        al.plot_plan(grid.drop(index=grid.index[0]), "design")
    with pytest.raises(ValueError, match="one row per number of observers and images"):
        al.plot_plan(pd.concat([grid, grid]), "design")


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
    """Positions and fills of all scatter points."""
    scattered = [c for c in ax.collections if type(c).__name__ == "PathCollection"]
    places = np.concatenate([np.asarray(c.get_offsets()) for c in scattered])
    return places, np.concatenate([c.get_facecolors()[:, :3] for c in scattered])


def test_each_condition_is_drawn_at_its_delta(spectrum: xr.Dataset, found: xr.Dataset) -> None:
    ax = al.plot_spectrum(spectrum, found)
    places, colors = dots(ax)
    assert sorted(places[:, 0]) == pytest.approx(sorted(spectrum["delta"].values))
    assert [t.get_text() for t in ax.get_yticklabels()] == [f"distortion_{d}" for d in range(4)]
    # Difficulty increases to the right.
    left, right = ax.get_xlim()
    assert left > right
    color = regime_colors(found["regime"].values.tolist())
    label = dict(zip(spectrum["delta"].values.round(9), found["label"].values, strict=True))
    for (x, _), drawn in zip(places, colors, strict=True):
        np.testing.assert_allclose(drawn, to_rgb(color[label[round(x, 9)]]), atol=1e-6)
    texts = {text.get_text() for text in ax.texts}
    assert {"regime 1", "regime 2", "reference"} <= texts
    assert legend(ax)[:2] == ["condition", "reference condition"]


def test_distortions_have_a_dot_for_each_condition(alignment: xr.Dataset) -> None:
    table = al.spectrum.alignment_table(alignment, REGIME)
    ax = al.plot_alignment(table, "distortions", metric="misclassification_agreement")
    chosen = table[(table["metric"] == "misclassification_agreement") & (table["system"] == HUMANS)]
    places, colors = dots(ax)
    known = chosen.dropna(subset="estimate")
    assert places[:, 0] == pytest.approx(known["estimate"].tolist())
    # Rows have the order of the table and the colors of their regimes.
    assert (np.diff(places[:, 1]) > 0).all()
    color = regime_colors(["easy", "hard"])
    np.testing.assert_allclose(colors, [to_rgb(color[name]) for name in known["regime"]], atol=1e-6)
    bars = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    ends = [segment[:, 0] for c in bars for segment in c.get_segments()]
    np.testing.assert_allclose(ends, known[["bootstrap_eti95_lb", "bootstrap_eti95_ub"]])
