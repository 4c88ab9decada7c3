"""Coverage studies: against exact coverage, and against the package's own intervals."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import lgamma
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy import special

import alikely as al
from alikely._base.parallel import at_most
from alikely.calibration.coverage import METHODS
from alikely.inference.influence import estimate
from alikely.simulate import cell_probabilities

SETTING = (0.8, 0.7, 0.3)


def one_setting(n_trials: int) -> pd.DataFrame:
    return pd.DataFrame(
        [[*SETTING, n_trials]], columns=["accuracy_a", "accuracy_b", "ec", "n_trials"]
    )


def exact_coverage(n_trials: int, ci_prob: float) -> float:
    """Of the Wald interval: the sum over all tables that there can be."""
    tables = np.array(
        [
            (a, b, c, n_trials - a - b - c)
            for a, b, c in itertools.product(range(n_trials + 1), repeat=3)
            if a + b + c <= n_trials
        ]
    )
    log_factorial = np.array([lgamma(k + 1) for k in range(n_trials + 1)])
    log_p = log_factorial[n_trials] - log_factorial[tables].sum(axis=1)
    log_p += tables @ np.log(cell_probabilities(*SETTING))
    found = estimate(al.data.from_counts(tables))
    half = special.ndtri((1 + ci_prob) / 2) * found["se"].values
    away = np.abs(found["estimate"].values - SETTING[2])
    # NaN, where there is no interval, compares as missed.
    return float(np.exp(log_p)[away <= half].sum())


def test_wald_coverage_is_the_exact_one() -> None:
    study = al.calibration.coverage_study(one_setting(12), ["wald"], n_datasets=20_000, rng=1)
    for _, row in study.iterrows():
        exact = exact_coverage(12, row["ci_prob"])
        assert row["coverage_mcse"] == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.1)
        assert abs(row["coverage"] - exact) <= 4 * row["coverage_mcse"]


@pytest.mark.slow
def test_every_method_is_what_the_front_door_gives() -> None:
    """Widths and coverage of 300 data sets, by the study and through `Result`."""
    n_sets = 300
    study = al.calibration.coverage_study(
        one_setting(60), n_datasets=n_sets, n_draws=1_000, ci_probs=[0.9], rng=2
    ).set_index("method")
    rng = np.random.default_rng(3)
    counts = rng.multinomial(60, cell_probabilities(*SETTING), n_sets)
    result = al.error_consistency(
        al.data.from_counts(counts), n_resamples=1_000, n_draws=1_000, n_null=0, rng=4
    )
    shown = {
        "posterior": ("eti", "posterior_eti90"), "posterior hdi": ("hdi", "posterior_hdi90"),
        "bootstrap": ("eti", "bootstrap_eti90"), "bca": ("eti", "bca_ci90"),
        "wald": ("eti", "analytic_ci90"),
    }  # fmt: skip
    for method, (kind, column) in shown.items():
        schools = ("analytic", "bootstrap", "bca", "posterior")
        table = result.summary(ci_prob=0.9, ci_kind=kind, intervals=schools)
        width = (table[f"{column}_ub"] - table[f"{column}_lb"]).to_numpy()
        # Two means of 300 widths each.
        slack = 4 * np.sqrt(2) * study.loc[method, "width_mcse"]
        assert abs(np.nanmean(width) - study.loc[method, "width"]) <= slack, method
        covered = (table[f"{column}_lb"] <= 0.3) & (table[f"{column}_ub"] >= 0.3)
        slack = 4 * np.sqrt(2 * 0.9 * 0.1 / n_sets)
        assert abs(covered.mean() - study.loc[method, "coverage"]) <= slack, method


@pytest.mark.slow
def test_where_the_schools_part(figure: Callable[[str], None]) -> None:
    """The two settings named in the evidence behind the default: .36 and .27 by the bootstrap."""
    grid = al.calibration.default_grid().query("ec == 0.2")
    grid = grid.query(
        "(accuracy_a == .95 and n_trials == 40) or (accuracy_a == .99 and n_trials == 160)"
    )
    study = al.calibration.coverage_study(grid, ["posterior", "bootstrap"], ci_probs=[0.95], rng=5)
    found = study.pivot(index="accuracy_a", columns="method", values="coverage")
    # 2,000 data sets on either side.
    for accuracy, known in ((0.95, 0.36), (0.99, 0.27)):
        assert found.loc[accuracy, "bootstrap"] == pytest.approx(
            known, abs=4 * np.sqrt(2 * known * (1 - known) / 2_000)
        )
        bootstrap, posterior = found.loc[accuracy, "bootstrap"], found.loc[accuracy, "posterior"]
        assert posterior > 0.93
        figure(
            f"coverage at accuracy {accuracy}, EC .2: bootstrap {bootstrap:.3f}, posterior "
            f"{posterior:.3f}"
        )


def test_summary_counts_what_the_study_found() -> None:
    study = pd.DataFrame(
        {
            "method": ["a", "a", "b", "b"],
            "ci_prob": [0.95] * 4,
            "coverage": [0.95, 0.90, 0.94, 0.97],
            "width": [0.1, 0.3, 0.2, 0.2],
        }
    )
    table = al.calibration.coverage_summary(study).set_index("method")
    assert list(table.index) == ["b", "a"]
    assert table.loc["a", "worst_error"] == pytest.approx(-0.05)
    assert table.loc["b", "worst_error"] == pytest.approx(0.02)
    assert table["n_close"].tolist() == [2, 1]
    assert table.loc["a", "least_coverage"] == 0.90
    with pytest.raises(ValueError, match=r"ci_prob must be one of the study's, 0.95; got 0.8"):
        al.calibration.coverage_summary(study, 0.8)


def test_an_interrupted_study_ends_with_the_same_numbers(tmp_path: Path) -> None:
    grid = al.calibration.default_grid().iloc[::30]
    options = {"methods": ["posterior", "wald"], "n_datasets": 200, "n_draws": 200, "rng": 6}
    with joblib.parallel_config(backend="threading", n_jobs=2):
        whole = al.calibration.coverage_study(grid, **options)
        al.calibration.coverage_study(grid, folder=tmp_path, **options)
        next(tmp_path.glob("000001-*.parquet")).unlink()
        assert al.calibration.coverage_study(grid, folder=tmp_path, **options).equals(whole)
    with at_most(1):
        assert al.calibration.coverage_study(grid, **options).equals(whole)


def test_the_default_grid_can_exist() -> None:
    grid = al.calibration.default_grid()
    assert len(grid.drop_duplicates()) == 88
    p = cell_probabilities(grid["accuracy_a"], grid["accuracy_b"], grid["ec"])
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert set(METHODS) >= {"posterior", "bootstrap", "bca", "wald"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"methods": ["magic"]}, "methods must be among 'posterior', .*got"),
        ({"methods": []}, "methods must be among"),
        ({"n_datasets": 5}, "n_datasets and n_draws must be at least 100"),
        ({"ci_probs": [1.0]}, "ci_prob must lie strictly between 0 and 1"),
        ({"metric": "kappa"}, "metric must be one of 'error_consistency', 'copy_probability'"),
        ({"grid": pd.DataFrame({"ec": [0.1]})}, "grid must have rows and the columns"),
        ({"grid": one_setting(40).assign(ec=0.99)}, r"error_consistency must lie in \["),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        al.calibration.coverage_study(**options)


def test_where_no_data_set_has_an_interval() -> None:
    grid = pd.DataFrame([[0.99, 0.99, 0.0, 2]], columns=[*one_setting(2)])
    study = al.calibration.coverage_study(grid, ["bca"], n_datasets=100, rng=3)
    assert (study["coverage"] == 0).all()
    assert (study["no_interval"] == 1).all()
    assert study[["width", "width_mcse"]].isna().all(axis=None)
