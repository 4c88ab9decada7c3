"""Intervals in tables: which are shown, invalid ones are not, and all are in range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.metrics.metric import metrics

LIGHT: dict[str, Any] = {"n_resamples": 60, "n_draws": 60, "rng": 1}
METHODS = ["analytic", "bootstrap", "bca", "posterior"]
SUMS = ["analytic", "bootstrap", "posterior"]


def _near_ceiling(errors: int, n_trials: int = 24) -> al.Trials:
    """Four observers with few errors of three kinds, two of whom make the same errors."""
    rng = np.random.default_rng(errors)
    letters = np.array(list("abc"))
    truth = rng.integers(0, 3, n_trials)
    said = np.tile(truth, (4, 1))
    for observer in range(1, 4):
        wrong = rng.choice(n_trials, errors, replace=False)
        said[observer, wrong] = (truth[wrong] + 1 + observer % 2) % 3
    said[2] = said[1]
    trials = al.Trials.from_arrays(
        letters[said], letters[truth], classes=list("abc"), condition=["x", "y"] * (n_trials // 2)
    )
    p = np.full((4, n_trials, 3), 0.02)
    np.put_along_axis(p, said[..., None], 0.96, axis=2)
    return trials.with_options(3).with_probabilities(p, scale="probabilities")


def _bounds(frame: pd.DataFrame) -> tuple[Any, Any]:
    ends = [[name for name in frame if str(name).endswith(end)] for end in ("_lb", "_ub")]
    return tuple(frame[names].to_numpy(float) for names in ends)


@pytest.mark.usefixtures("few_sweeps")
@pytest.mark.parametrize("errors", [1, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "name", [name for name, metric in metrics().items() if metric.counts != "margins"]
)
def test_bounds_stay_within_the_range_of_the_metric(name: str, errors: int) -> None:
    """Analytic bounds of error consistency exceeded 1; those of error similarity reached 1.018."""
    trials = _near_ceiling(errors)
    result = al.compare(trials, name, **LIGHT)
    low, high = result.metric.bounds
    for ci_prob in (0.95, 0.999):
        frame = result.summary(ci_prob=ci_prob, intervals=METHODS)
        lower, upper = _bounds(frame.drop(columns=[c for c in frame if "within" in str(c)]))
        assert np.nanmin(lower) >= low
        assert np.nanmax(upper) <= high
        assert not (lower > upper).any()
        lower, upper = _bounds(al.mean(result, ci_prob=ci_prob, intervals=SUMS))
        assert not (lower < low).any()
        assert not (upper > high).any()
        entries = result.table["pair"].values[:2].tolist()
        lower, upper = _bounds(al.difference(result, *entries, ci_prob=ci_prob, intervals=SUMS))
        assert not (lower < low - high).any()
        assert not (upper > high - low).any()


@pytest.mark.parametrize("name", ["error_consistency", "kappa_p", "MA"])
def test_bounds_of_matrices_stay_within_the_range(name: str) -> None:
    matrix = al.pairwise_matrix(_near_ceiling(2), name, ci_prob=0.999)
    others = ["observer_1", "observer_2", "observer_3"]
    nearest = al.estimates.nearest_observers(matrix, "observer_1")
    for frame in (matrix.summary(intervals="all"), nearest, al.mean(matrix, others)):
        lower, upper = _bounds(frame)
        assert not (lower < -1).any()
        assert not (upper > 1).any()


@pytest.mark.parametrize("name", ["error_consistency", "MA", "gwet_ac1"])
def test_notes_on_intervals_that_are_not_shown(name: str) -> None:
    """Tables with only the posterior interval do not advise to report it."""
    trials = _near_ceiling(2) if name == "gwet_ac1" else al.load_example()
    result = al.compare(trials, name, "human-human" if name == "MA" else "all", **LIGHT)
    for shown, noted in (
        (None, False), (["posterior"], False), ("all", True), (["analytic"], True),
        (["bootstrap"], True), (["analytic", "posterior"], True),
    ):  # fmt: skip
        notes = result.summary(intervals=shown)["note"]
        assert notes.str.contains("Report the posterior interval").any() == noted, shown


@pytest.fixture(scope="module")
def similarity() -> al.Result:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("alikely.errors.draws.WARM_UP", 10)
        patch.setattr("alikely.errors.draws.SWEEPS", 50)
        trials = al.load_example().select(condition="noise")
        return al.error_similarity(trials, "human-human", n_draws=60, rng=1)


def test_invalid_intervals_are_neither_computed_nor_shown(similarity: al.Result) -> None:
    """Uncalibrated limits are shown only if requested by name, and then with a note."""
    assert "bootstrap" not in similarity.data.children
    for frame in (similarity.summary(), similarity.summary(intervals="all")):
        assert [name for name in frame if name.endswith("_lb")] == ["posterior_eti95_lb"]
        assert "log_bayes_factor" not in frame
        assert not frame["note"].str.contains("coverage").any()
    named = similarity.summary(intervals=["analytic"])
    assert {"analytic_ci95_lb", "analytic_ci95_ub"} <= set(named)
    assert named["note"].str.contains("coverage was 0 to 0.96, .*Report the posterior").all()
    factor = similarity.summary(columns=["log_bayes_factor"])
    assert factor["note"].str.contains("0.74 of unequal data sets. Use p_equal_adjusted").all()
    assert al.mean(similarity, intervals="all").index.tolist() == ["posterior"]
    row = al.mean(similarity, intervals=["analytic"]).loc["analytic"]
    assert "Report the posterior interval" in row["note"]


def test_sums_of_pairs_with_few_errors_omit_invalid_intervals() -> None:
    cells = [[46, 2, 1, 1]] * 6 + [[47, 1, 2, 0]] * 6
    result = al.error_consistency(al.data.from_counts(cells), **LIGHT)
    assert al.mean(result).index.tolist() == ["analytic"]
    assert al.mean(result, intervals="all").index.tolist() == ["analytic"]
    named = al.mean(result, intervals=["bootstrap", "posterior"])
    assert named.loc["bootstrap", "note"].startswith(
        "few expected disagreements (about 5 in each of 12"
    )
    assert named["note"].str.endswith("Report the analytic interval").all()
    # Notes have at most 20 words.
    assert named["note"].str.split().str.len().max() <= 20
    many = al.error_consistency(
        al.data.from_counts([[400, 200, 200, 200], [380, 210, 190, 220]]), **LIGHT
    )
    assert al.mean(many, intervals="all").index.tolist() == SUMS
    assert al.mean(many, rope=(-0.1, 0.1)).index.tolist() == ["analytic", "posterior"]
    one = al.mean(many, many.table["pair"].values[0])
    assert one.index.tolist() == ["posterior"]


def test_draws_are_selected_by_observer_and_condition(tmp_path: Path) -> None:
    """Check exact draws, before and after they are saved."""
    made = al.error_consistency(al.load_example(), "human-model", **LIGHT)
    made.save(tmp_path / "result.nc")
    for result in (made, al.Result.load(tmp_path / "result.nc")):
        posterior = result.data["posterior"].to_dataset()
        of_one = posterior.isel(pair=np.flatnonzero(posterior["observer_a"] == "human_1"))
        assert of_one.sizes["pair"] == 18
        assert set(of_one["condition"].values) == set(result.pairs["condition"])
