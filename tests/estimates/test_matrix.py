"""Matrices of all pairs, compared with functions for tables of pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.estimates.matrices import place_names, write_pairs

KEYS = ["condition", "observer_a", "observer_b"]
ALIKE = ["n_trials", "accuracy_a", "accuracy_b", "estimate", "se"]
ALIKE += ["analytic_ci95_lb", "analytic_ci95_ub", "note"]


@pytest.fixture(scope="module")
def trials() -> al.Trials:
    return al.load_example()


@pytest.fixture(scope="module")
def by_condition(trials: al.Trials) -> al.Result:
    return al.pairwise_matrix(trials)


def _by_pair(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.set_index(KEYS).sort_index()


@pytest.mark.parametrize("metric", ["error_consistency", "normalized"])
@pytest.mark.parametrize("by", ["condition", None])
def test_entries_equal_those_of_the_general_function(
    trials: al.Trials, metric: str, by: str | None
) -> None:
    found = _by_pair(al.pairwise_matrix(trials, metric, by).summary(intervals="all"))
    result = al.compare(trials, metric, by=by, n_resamples=0, n_draws=0)
    table = _by_pair(result.summary(intervals="all"))
    found = found.loc[table.index]
    pd.testing.assert_frame_equal(found[ALIKE], table[ALIKE], rtol=1e-12, atol=1e-14)
    p = 10 ** found["log10_p"]
    np.testing.assert_allclose(p, table["p_fisher"], rtol=1e-9)
    if metric == "error_consistency":
        # For single responses, tables have the same limits without draws.
        shown = ["posterior_eti95_lb", "posterior_eti95_ub"]
        pd.testing.assert_frame_equal(found[shown], table[shown])


@pytest.mark.parametrize("no_response", ["error", "drop"])
def test_wrong_labels(trials: al.Trials, no_response: str) -> None:
    result = al.pairwise_matrix(trials, "MA", no_response=no_response)
    found = _by_pair(result.summary(intervals="all"))
    table = al.misclassification_agreement(
        trials, no_response=no_response, n_resamples=0, n_draws=0
    ).summary(intervals="all")
    table = _by_pair(table)
    shown = ["estimate", "se", "n_joint_errors", "analytic_ci95_lb", "analytic_ci95_ub"]
    pd.testing.assert_frame_equal(found.loc[table.index, shown], table[shown], rtol=1e-9)
    assert al.estimates.square_matrix(result, "estimate").values[1, 0, 0] == 1
    assert len(al.estimates.nearest_observers(result, trials.observers[0], 3)) == 3
    with pytest.raises(TypeError, match="give Trials"):
        al.pairwise_matrix(trials.data["correct"], "MA")


def test_missing_responses_affect_only_their_pairs() -> None:
    rng = np.random.default_rng(2)
    correct = rng.integers(0, 2, (6, 200)).astype(float)
    correct[rng.random(correct.shape) < 0.3] = np.nan
    correct[0, :100] = correct[1, 100:] = np.nan
    trials = al.Trials.from_correct(correct)
    result = al.pairwise_matrix(trials, no_response="drop")
    others = trials.select(observer=trials.observers[1:])
    table = al.error_consistency(others, no_response="drop", n_resamples=0, n_draws=0).summary()
    found = (
        result.sel(observer=trials.observers[1:]).summary().set_index(["observer_a", "observer_b"])
    )
    table = table.set_index(["observer_a", "observer_b"])
    np.testing.assert_allclose(found.loc[table.index, "se"], table["se"], rtol=1e-12)
    apart = result.summary().iloc[-1]
    assert (apart["observer_a"], apart["observer_b"]) == tuple(trials.observers[:2])
    assert np.isnan(apart["estimate"])
    assert apart["n_trials"] == 0
    assert "no trial" in apart["note"] or "no common" in apart["note"]
    assert "1 entry undefined" in repr(result)


def board_of_options(missing: bool = False) -> al.Trials:
    """Eight models in two families, two conditions, three or four options."""
    rng = np.random.default_rng(1)
    n_options = np.tile([3, 4], 75)
    liked = rng.normal(size=(8, 150, 4)) + 1.5 * np.repeat(rng.normal(size=(2, 150, 4)), 4, axis=0)
    truth = rng.integers(0, n_options)
    liked[:, np.arange(150), truth] += 1
    liked[:, np.arange(4) >= n_options[:, None]] = -np.inf
    p = np.exp(liked) / np.exp(liked).sum(axis=2, keepdims=True)
    letters = np.array(list("ABCD"))
    chosen = letters[p.argmax(axis=2)].astype(object)
    if missing:
        chosen[0, :40] = chosen[1, 30:60] = None
        p[0, :40] = p[1, 30:60] = np.nan
    trials = al.Trials.from_arrays(
        chosen, letters[truth], classes=list("ABCD"), condition=np.repeat(["x", "y"], 75).tolist()
    )
    return trials.with_options(n_options).with_probabilities(p)


OPTIONS = ["kappa_p", "kappa_p_discrete", "option_correlation", "same_wrong_answer"]


@pytest.mark.parametrize(
    "metric",
    [*(pytest.param(m, marks=pytest.mark.slow) for m in OPTIONS), "misclassification_agreement"],
)
@pytest.mark.parametrize("by", ["condition", pytest.param(None, marks=pytest.mark.slow)])
def test_sums_of_other_metrics_agree_with_tables(
    metric: str, by: str | None, tmp_path: Path
) -> None:
    trials = board_of_options(missing=True)
    matrix = al.pairwise_matrix(trials, metric, by, no_response="drop")
    table = al.compare(trials, metric, by=by, no_response="drop", n_resamples=0, n_draws=0)
    names = trials.observers
    expected, found = al.mean(table).loc["analytic"], al.mean(matrix, names).loc["analytic"]
    for name in ("estimate", "se"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9)
    pairs = [{"observer_a": names[0], "observer_b": names[k]} for k in (1, 5)]
    expected = al.difference(table, *pairs).loc["analytic"]
    found = al.difference(matrix, (names[1], names[0]), (names[0], names[5])).loc["analytic"]
    for name in ("estimate", "se"):
        assert found[name] == pytest.approx(expected[name], rel=1e-9)
    # A file contains only correctness.
    matrix.save(tmp_path / "m.nc")
    again = al.Result.load(tmp_path / "m.nc")
    with pytest.raises(ValueError, match=r"add them with Result.load\(path, trials\)"):
        al.mean(again, names)
    labels = {"observer": names[::-2]} | ({by: place_names(matrix)[-1:]} if by else {})
    part = al.Result.load(tmp_path / "m.nc", trials).sel(**labels)
    other = matrix.sel(**labels)
    pd.testing.assert_frame_equal(al.mean(part, names[1::4]), al.mean(other, names[1::4]))
    turned = (trials.data["correct"].values[:, ::-1] == 1).astype(int)
    others = al.Trials.from_correct(turned, observers=names)
    with pytest.raises(ValueError, match="differs from that of the matrix"):
        al.Result.load(tmp_path / "m.nc", others)
    with pytest.raises(ValueError, match=r"got 'human_1'; give \{'observer': 'human_1'\} or"):
        al.mean(again, "human_1")
    with pytest.raises(ValueError, match="no observer of these trials is named"):
        al.Result.load(tmp_path / "m.nc", trials.select(observer=names[1:]))


@pytest.mark.parametrize("metric", ["error_consistency", "misclassification_agreement"])
def test_sums_of_some_conditions_agree_with_tables(metric: str) -> None:
    """Compare a mean of one condition, and differences within and between conditions."""
    trials = al.load_example()
    matrix = al.pairwise_matrix(trials, metric, "condition")
    table = al.compare(trials, metric, n_resamples=0, n_draws=0)
    blur, noise = {"condition": "blur"}, {"condition": "noise"}
    one, other = (noise | {"observer": name} for name in ("model_1", "model_2"))
    every = [[noise], [one, other]]
    if metric == "error_consistency":
        names = ["model_1", "model_2", "model_3"]
        among = {"observer_a": names, "observer_b": names}
        pairs = [{"observer_a": a, "observer_b": b} for a, b in (names[:2], names[::2])]
        every += [[blur], [blur, noise], [among], pairs]
        found = al.mean(matrix, names)
        pd.testing.assert_frame_equal(found, al.mean(matrix, among))
        assert found.loc["analytic", ["n_pairs", "n_places"]].tolist() == [3, 3]
        turned = al.difference(matrix, ("model_2", "model_1"), ("model_1", "model_3"))
        pd.testing.assert_frame_equal(turned, al.difference(matrix, *pairs))
        block = {"observer_a": names, "observer_b": ["human_1", "human_2"]}
        assert al.mean(matrix, block)["n_pairs"].item() == 6
    for sides in every:
        of = al.mean if len(sides) == 1 else al.difference
        expected, found = (of(result, *sides).loc["analytic"] for result in (table, matrix))
        assert found["estimate"] == pytest.approx(expected["estimate"], rel=1e-9)
        assert found["se"] == pytest.approx(expected["se"], rel=1e-6)
    if metric != "error_consistency":
        return
    # The clean condition has an undefined pair, so means use the others.
    clean = al.mean(matrix, {"condition": "clean"}).loc["analytic"]
    apart = al.difference(matrix, blur, {"condition": "clean"}).loc["analytic"]
    mean = al.mean(matrix, blur).loc["analytic"]
    assert apart["estimate"] == pytest.approx(mean["estimate"] - clean["estimate"])
    assert clean["n_pairs"] < mean["n_pairs"] == 45


@pytest.mark.parametrize("metric", [*OPTIONS, "misclassification_agreement"])
@pytest.mark.filterwarnings("error")
def test_models_with_other_questions_are_noted(metric: str) -> None:
    trials = board_of_options()
    codes, p = trials.data["response"].values.copy(), trials.data["probability"].values.copy()
    said = np.array(list("ABCD"), dtype=object)[codes]
    said[0, :75] = said[1, 75:] = None
    p[0, :75] = p[1, 75:] = np.nan
    truth = np.array(list("ABCD"))[trials.data["truth"].values]
    apart = al.Trials.from_arrays(said, truth, classes=list("ABCD"))
    apart = apart.with_options(np.tile([3, 4], 75)).with_probabilities(p)
    matrix = al.pairwise_matrix(apart, metric, no_response="drop")
    row = matrix.summary().iloc[-1]
    assert (row["observer_a"], row["observer_b"]) == tuple(apart.observers[:2])
    assert np.isnan(row["estimate"])
    assert (row["n_trials"], row["note"].split("; ")[0]) == (0, "no common trials")
    assert row.get("n_joint_errors", 0) == 0
    assert "1 entry undefined" in repr(matrix)
    mean = al.mean(matrix).loc["analytic"]
    assert (mean["n_pairs"], np.isfinite(mean["se"])) == (27, True)


def test_order_of_observers_does_not_matter(trials: al.Trials) -> None:
    names = ["model_3", "human_1", "model_1"]
    whole = al.pairwise_matrix(trials)
    part = whole.sel(observer=names)
    again = al.pairwise_matrix(trials.select(observer=names)).sel(observer=names)
    squares = [al.estimates.square_matrix(one, "estimate") for one in (part, again, whole)]
    xr.testing.assert_allclose(squares[0], squares[1])
    xr.testing.assert_equal(squares[0], squares[2].sel(observer=names, observer_other=names))
    pairs = ("model_3", "human_1"), ("human_1", "model_1")
    pd.testing.assert_frame_equal(al.difference(part, *pairs), al.difference(whole, *pairs))


def test_nearest_and_top(by_condition: al.Result) -> None:
    table = al.estimates.nearest_observers(by_condition, "model_1", 4)
    mean = (
        al.estimates.square_matrix(by_condition, "estimate")
        .mean("condition")
        .sel(observer="model_1")
    )
    expected = mean.drop_sel(observer_other="model_1").to_series().nlargest(4)
    np.testing.assert_allclose(table["estimate"], expected)
    assert table.index.tolist() == expected.index.tolist()
    for other, row in table.iterrows():
        mean = al.mean(by_condition, ("model_1", str(other))).loc["analytic"]
        assert row.tolist() == mean[["estimate", "se", "eti95_lb", "eti95_ub", "n_places"]].tolist()
    frame, top = by_condition.summary(), by_condition.summary(top=5)
    pd.testing.assert_frame_equal(frame.head(5), top)
    assert frame["estimate"].dropna().is_monotonic_decreasing
    assert by_condition.summary(lowest=True)["estimate"].dropna().is_monotonic_increasing


def test_files(by_condition: al.Result, tmp_path: Path) -> None:
    by_condition.save(tmp_path / "matrix.nc")
    again = al.Result.load(tmp_path / "matrix.nc")
    pd.testing.assert_frame_equal(again.summary(), by_condition.summary())
    pd.testing.assert_frame_equal(al.mean(again), al.mean(by_condition))
    write_pairs(by_condition, tmp_path / "matrix.parquet")
    rows = pd.read_parquet(tmp_path / "matrix.parquet").sort_values(KEYS, ignore_index=True)
    expected = by_condition.summary(intervals="all").sort_values(KEYS, ignore_index=True)
    pd.testing.assert_frame_equal(rows, expected, check_dtype=False)


def test_chunked_arrays_are_equal(trials: al.Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alikely.estimates.matrices.SLICE", 640)
    correct = trials.data["correct"].reset_coords(drop=True)
    # A table counts missing responses as errors.
    array = correct.where(correct != -1, 0).chunk(trial=100)
    of_trials = al.pairwise_matrix(trials, by=None).summary()
    of_trials["note"] = of_trials["note"].str.replace(
        r"(; )?\d+ of .* are missing .*", "", regex=True
    )
    pd.testing.assert_frame_equal(al.pairwise_matrix(array).summary(), of_trials)
    with pytest.raises(ValueError, match="got 7"):
        al.pairwise_matrix(array + 6)
    with pytest.raises(ValueError, match="dims"):
        al.pairwise_matrix(array.rename(trial="question"))


def test_blocks_cover_all_pairs(trials: al.Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = al.pairwise_matrix(trials).summary()
    monkeypatch.setattr("alikely.estimates.matrices.BLOCK", 7)
    pd.testing.assert_frame_equal(al.pairwise_matrix(trials).summary(), whole)
