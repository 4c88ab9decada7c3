"""A new metric needs one file; all functions support it without changes."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.cli import main
from alikely.metrics import metric as registry

mpl.use("Agg")

FILE = Path(__file__).with_name("phi_metric.py")
# In the third condition, some are always correct, so phi is undefined.
HARD = ["blur", "noise"]


@pytest.fixture(scope="module")
def module() -> Iterator[Any]:
    """The module of the new metrics, which registers them on import."""
    sys.path.insert(0, str(FILE.parent))
    with known():
        import phi_metric
    yield phi_metric
    sys.path.remove(str(FILE.parent))
    del sys.modules["phi_metric"]


@pytest.fixture(scope="module")
def phi(module: Any) -> Any:
    return module.PHI


@contextlib.contextmanager
def known(*metrics: Any) -> Iterator[None]:
    """Temporarily register these metrics in addition to those of the package."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        core = {k: m for k, m in registry.metrics().items() if m.module.startswith("alikely.")}
        monkeypatch.setattr(registry, "_METRICS", core)
        for metric in metrics:
            al.metrics.register(metric)
        yield


@pytest.fixture(autouse=True)
def registered(module: Any) -> Iterator[None]:
    with known(module.PHI, module.SAME_ERROR):
        yield


@pytest.fixture(scope="module")
def result(phi: Any) -> al.Result:
    with known(phi):
        return al.compare(al.load_example(), phi, ["human-human", "human-model"], rng=1)


def test_summary(result: al.Result) -> None:
    frame = result.summary(intervals="all")
    cells = result.table["cells"].values
    for row, counts in zip(frame.itertuples(), cells, strict=True):
        a, b = (np.repeat(right, counts) for right in ([1, 1, 0, 0], [1, 0, 1, 0]))
        if min(np.ptp(a), np.ptp(b)) == 0:
            assert "no value for these trials" in row.note
        else:
            assert row.estimate == pytest.approx(stats.pearsonr(a, b).statistic)
    draws = {method: result.draws(method) for method in ("bootstrap", "posterior")}
    # All three methods have the same spread, unless errors are rare.
    missing = r"[\d,]+ of [\d,]+ responses are missing[^;]*"
    enough = frame["note"].str.fullmatch(missing).to_numpy(dtype=bool)
    for values in draws.values():
        ratio = np.nanstd(values[:, enough], axis=0) / frame["se"].to_numpy()[enough]
        assert np.median(ratio) == pytest.approx(1, abs=0.05)
    # n phi squared is the chi-square statistic of independence; simulated p is at least 1e-4.
    p_value = stats.chi2(1).sf(cells.sum(axis=1) * frame["estimate"] ** 2)
    some = enough & (p_value > 0.01)
    error = 4 * np.sqrt(p_value * (1 - p_value) / 10_000)
    # The statistic is discrete, so the normal tail is that of tables within a step.
    assert (np.abs(frame["p_null"] - p_value)[some] < error[some] + 0.06).all()


def test_difference_and_mean(result: al.Result) -> None:
    methods = ["analytic", "bootstrap", "posterior"]
    entries = {"observer_b": "model_1"}, {"observer_b": "model_2"}
    table = al.difference(result, *entries, intervals=methods)
    assert list(table.index) == methods
    assert list(al.difference(result, *entries).index) == ["analytic"]
    # Near the ceiling, as in the clean condition, the bootstrap may have no spread.
    assert (table["se"] > 0).all()
    mean = al.mean(result, {"observer_b": "model_1"})
    values = result.summary().query("observer_b == 'model_1'")["estimate"]
    assert mean.loc["analytic", "estimate"] == pytest.approx(values.mean())


def test_benchmark_with_ranks(phi: Any, tmp_path: Path) -> None:
    scores = al.benchmark_scores(al.load_example(), metric=phi, n_resamples=500, n_draws=400, rng=1)
    ranks = al.benchmark.ranks(scores, rng=1)
    assert set(ranks["system"]) == set(scores.observers)
    assert {"bootstrap", "posterior"} <= set(scores.data.children)
    table = al.difference(scores, *scores.observers[:2])
    assert table.loc["analytic", "se"] > 0
    scores.save(tmp_path / "scores.nc")
    again = al.Result.load(tmp_path / "scores.nc")
    assert again.metric is phi
    pd.testing.assert_frame_equal(again.summary(), scores.summary())
    assert al.plot_benchmark(scores).get_xlabel().startswith("mean phi coefficient")


@pytest.mark.slow
def test_alignment_matrix_and_coverage(phi: Any, result: al.Result) -> None:
    alignment = al.condition_alignment(
        al.load_example().select(condition=HARD), metrics=["EC", phi], n_resamples=50, rng=1
    )
    assert alignment["metric"].values.tolist() == ["error_consistency", "phi"]
    assert np.isfinite(alignment["estimate"].sel(metric="phi")).all()
    other = al.compare(al.load_example(), pairs=["human-human", "human-model"], n_draws=0, rng=1)
    table = al.metric_correlations([result, other], n_resamples=50, rng=1)
    assert (table.query("domain == 'global'")["correlation"] > 0.9).all()


def test_planning(phi: Any) -> None:
    plan = al.trials_for_width(0.75, 0.75, 0.4, n_trials=[100, 400], metric=phi, rng=1)
    assert plan["width"][0] / plan["width"][1] == pytest.approx(2, abs=0.3)
    trials = al.load_example().select(condition=HARD)
    components = al.planning.variance_components(trials, metric=phi)
    assert np.isfinite(components["images"]).all()


@pytest.mark.slow
def test_command_line_in_the_folder_of_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--metric` finds metrics in files of the working folder, after installed packages."""
    text = FILE.read_text()
    for name in ('"phi"', '"phi coeff', '"same_error"'):
        text = text.replace(name, f'"my_{name[1:]}')
    (tmp_path / "measures_of_mine.py").write_text(text)
    al.load_example().select(condition=HARD).to_table().to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    few = ["--n-resamples", "50", "--n-draws", "50"]
    assert main(["compare", "t.csv", "--metric", "measures_of_mine:PHI", *few]) == 0
    assert "phi coefficient" in capsys.readouterr().out
    assert main(["compare", "t.csv", "--metric", "measures_of_mine:SAME_ERROR", *few]) == 0
    assert "my same error" in capsys.readouterr().out
    assert sys.path == path
    assert sys.modules["measures_of_mine"].__file__ == str(tmp_path / "measures_of_mine.py")
    del sys.modules["measures_of_mine"]


def test_optional_features_of_a_metric(module: Any, tmp_path: Path) -> None:
    """Compare a proportion of joint errors with a metric of the package for options."""
    trials = al.load_example()
    few = {"n_resamples": 400, "n_draws": 400, "rng": 1, "no_response": "drop"}
    result = al.compare(trials, "same_error", "human-human", **few)
    optional = trials.with_options("classes")
    known_one = al.compare(
        optional, "same_wrong_answer", "human-human", **few | {"n_resamples": 0, "n_draws": 0}
    )
    frame, core = result.summary(intervals="all"), known_one.summary()
    for name in ("estimate", "se"):
        np.testing.assert_allclose(frame[name], core[name], rtol=1e-9, atol=1e-12)
    many = (frame["se"].to_numpy() > 0) & (frame["se"].to_numpy() < 0.08)
    for method in ("bootstrap", "posterior"):
        spread = result.draws(method)[:, many].std(axis=0)
        assert np.median(spread / frame["se"].to_numpy()[many]) == pytest.approx(1, abs=0.1)
    result.save(tmp_path / "pairs.nc")
    again = al.Result.load(tmp_path / "pairs.nc")
    pd.testing.assert_frame_equal(again.summary(), result.summary())
    scores = al.benchmark_scores(trials, metric="same_error", n_resamples=100, n_draws=100, rng=1)
    assert set(al.benchmark.ranks(scores, rng=1)["system"]) == set(scores.observers)
    square = al.pairwise_matrix(trials.select(kind="human"), "same_error", no_response="drop")
    entries = square.summary()
    merged = entries.merge(frame, on=["condition", "observer_a", "observer_b"])
    assert len(merged) == len(frame)
    np.testing.assert_allclose(merged["estimate_x"], merged["estimate_y"], rtol=1e-6)
    np.testing.assert_allclose(merged["se_x"], merged["se_y"], rtol=1e-6)
    assert al.plot_matrix(result) is not None
