"""Coverage studies: exact coverage, intervals of public functions, true values, resumption."""

from __future__ import annotations

import itertools
from math import lgamma
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

import alikely as al
from alikely.calibration import coverage
from alikely.calibration.coverage import SCENARIOS, Coverage, coverage_study
from alikely.inference.influence import estimate
from alikely.metrics.errors import (
    MISCLASSIFICATION_AGREEMENT,
    label_statistics,
    misclassification_agreement,
)
from alikely.metrics.options import KAPPA_P_DISCRETE, SAME_WRONG_ANSWER
from alikely.simulate import cell_probabilities

SETTING = (0.8, 0.7, 0.3)


def one_setting(n_trials: int) -> pd.DataFrame:
    return pd.DataFrame(
        [[*SETTING, n_trials]], columns=["accuracy_a", "accuracy_b", "ec", "n_trials"]
    )


def exact_coverage(n_trials: int, ci_prob: float) -> float:
    """Exact coverage of the Wald interval, summed over all possible tables."""
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
    # Undefined intervals (NaN) count as not covering.
    return float(np.exp(log_p)[away <= half].sum())


def test_wald_coverage_is_exact() -> None:
    study = coverage_study(one_setting(12), ["wald"], n_datasets=20_000, rng=1)
    for _, row in study.iterrows():
        exact = exact_coverage(12, row["ci_prob"])
        assert row["coverage_mcse"] == pytest.approx(np.sqrt(exact * (1 - exact) / 20_000), rel=0.1)
        assert abs(row["coverage"] - exact) <= 4 * row["coverage_mcse"]


@pytest.mark.slow
def test_every_method_agrees_with_the_public_function() -> None:
    """Compare widths and coverage in 300 data sets by the study and by `Result`."""
    n_sets = 300
    study = coverage_study(
        one_setting(60), n_datasets=n_sets, n_draws=1_000, ci_probs=[0.9], rng=2
    ).set_index("method")
    rng = np.random.default_rng(3)
    counts = rng.multinomial(60, cell_probabilities(*SETTING), n_sets)
    result = al.error_consistency(
        al.data.from_counts(counts), n_resamples=1_000, n_draws=1_000, rng=4
    )
    shown = {
        "posterior": ("eti", "posterior_eti90"), "posterior hdi": ("hdi", "posterior_hdi90"),
        "bootstrap": ("eti", "bootstrap_eti90"), "bca": ("eti", "bca_ci90"),
        "wald": ("eti", "analytic_ci90"),
    }  # fmt: skip
    for method, (kind, column) in shown.items():
        methods = ("analytic", "bootstrap", "bca", "posterior")
        table = result.summary(ci_prob=0.9, ci_kind=kind, intervals=methods)
        width = (table[f"{column}_ub"] - table[f"{column}_lb"]).to_numpy()
        # Two means of 300 widths each.
        slack = 4 * np.sqrt(2) * study.loc[method, "width_mcse"]
        assert abs(np.nanmean(width) - study.loc[method, "width"]) <= slack, method
        covered = (table[f"{column}_lb"] <= 0.3) & (table[f"{column}_ub"] >= 0.3)
        slack = 4 * np.sqrt(2 * 0.9 * 0.1 / n_sets)
        assert abs(covered.mean() - study.loc[method, "coverage"]) <= slack, method


def test_summary_agrees_with_the_study() -> None:
    study = pd.DataFrame(
        {
            "method": ["a", "a", "b", "b"],
            "ci_prob": [0.95] * 4,
            "coverage": [0.95, 0.90, 0.94, 0.97],
            "width": [0.1, 0.3, 0.2, 0.2],
        }
    )
    table = Coverage(study).summary().set_index("method")
    assert list(table.index) == ["b", "a"]
    assert table.loc["a", "worst_error"] == pytest.approx(-0.05)
    assert table.loc["b", "worst_error"] == pytest.approx(0.02)
    assert table["n_close"].tolist() == [2, 1]
    assert table.loc["a", "least_coverage"] == 0.90
    with pytest.raises(ValueError, match=r"ci_prob must be one of the study's, 0.95; got 0.8"):
        Coverage(study).summary(0.8)


def test_data_sets_without_intervals() -> None:
    grid = pd.DataFrame([[0.99, 0.99, 0.0, 2]], columns=[*one_setting(2)])
    study = coverage_study(grid, ["bca"], n_datasets=100, rng=3)
    assert (study["coverage"] == 0).all()
    assert (study["no_interval"] == 1).all()
    assert study[["width", "width_mcse"]].isna().all(axis=None)


AGREEMENT = "misclassification_agreement"
COLUMNS = [*SCENARIOS["labels"].ranges]


def one(*setting: float) -> pd.DataFrame:
    return pd.DataFrame([setting or (0.4, 4, 25, 0.5)], columns=COLUMNS)


def implied_agreement(c: float, k: int, peakedness: float) -> float:
    """Kappa of both labels, summed over all true classes and labels in loops."""
    joint = np.zeros((k, k))
    for true in range(k):
        wrong = np.array([(1 - peakedness) ** j * (j != true) for j in range(k)])
        wrong /= wrong.sum()
        for a in range(k):
            for b in range(k):
                joint[a, b] += wrong[a] * (c * (a == b) + (1 - c) * wrong[b]) / k
    chance = float(joint.sum(axis=0) @ joint.sum(axis=1))
    return (float(np.trace(joint)) - chance) / (1 - chance)


def test_counts_agree_with_the_public_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with analytic intervals of each data set, and quantiles of replicates and draws."""
    n, calls = 10, []

    def watched(*args: Any, **options: Any) -> Any:
        calls.append((args, al.compare(*args, **options)))
        return calls[-1][1]

    monkeypatch.setattr(coverage, "compare", watched)
    study = coverage_study(one(), metric=AGREEMENT, n_datasets=n, n_draws=200, rng=1)
    found = study.set_index(["method", "ci_prob"])
    args, result = calls[-1]
    truth = np.full(n, implied_agreement(0.4, 4, 0.5))
    assert result.pairs["condition"].tolist() == [str(i) for i in range(n)]
    alone = [
        al.misclassification_agreement(args[0].select(condition=str(i)), n_resamples=0, n_draws=0)
        for i in range(n)
    ]
    draws = {method: result.draws(method) for method in ("bootstrap", "posterior")}
    for p in (0.5, 0.8, 0.95):
        bounds = {
            "analytic": np.concatenate(
                [
                    r.summary(ci_prob=p, intervals=["analytic"]).filter(like="analytic_ci")
                    for r in alone
                ]
            )
        }
        for method, values in draws.items():
            bounds[method] = np.nanquantile(values, [(1 - p) / 2, (1 + p) / 2], axis=0).T
        for method, (lower, upper) in ((name, both.T) for name, both in bounds.items()):
            row = found.loc[(method, p)]
            assert row["coverage"] == ((lower <= truth) & (truth <= upper)).mean()
            # Quantiles in single precision.
            assert row["width"] == pytest.approx((upper - lower).mean(), rel=1e-5)
    value = np.array([r.estimates["estimate"].values[0] for r in alone])
    assert found.loc[("bca", 0.8), "bias"] == pytest.approx((value - truth).mean())
    assert (found["frac_undefined"] == 0).all()


def test_true_agreement_is_that_of_many_errors() -> None:
    joint = coverage._joint_labels(0.3, coverage._wrong_rows(5, 0.4)) / 5
    drawn = np.random.default_rng(1).multinomial(500_000, joint.ravel())
    counts = drawn.reshape(5, 5, 5).sum(axis=0)
    slope = MISCLASSIFICATION_AGREEMENT.derivative(label_statistics(counts))
    psi = np.eye(5) * slope[0] + slope[1:6, None] + slope[6:]
    error = np.sqrt((counts * psi**2).sum())
    truth = implied_agreement(0.3, 5, 0.4)
    assert misclassification_agreement(joint.sum(axis=0)) == pytest.approx(truth, abs=1e-12)
    assert abs(misclassification_agreement(counts) - truth) <= 4 * error


@pytest.mark.slow
def test_a_wrong_true_value_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = one(0.3, 8, 100, 0)
    options: dict[str, Any] = {"metric": AGREEMENT, "n_datasets": 20, "n_draws": 100}
    options |= {"ci_probs": [0.95], "rng": 5}
    right = coverage_study(grid, **options).set_index("method")
    labels = SCENARIOS["labels"]
    mistaken = labels._replace(analyze=lambda *given: (labels.analyze(*given)[0], 0.9))
    monkeypatch.setitem(SCENARIOS, "labels", mistaken)
    wrong = coverage_study(grid, **options).set_index("method")
    # 95% of 20, minus four Monte Carlo errors.
    assert (right["coverage"] >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 20)).all()
    assert (wrong["coverage"] == 0).all()
    assert (wrong["width"] == right["width"]).all()


# Settings with so many items that the estimate is close to the true value.
MANY = {
    "ratings": (3, 4_000, 0.8, 0.7, 0.1, 4), "options": (4_000, 0.7, 5, 0.3, 0.4),
    "probabilities": (4_000, 4, 0.4, 1.5),
}  # fmt: skip


@pytest.mark.parametrize(
    "metric",
    [
        pytest.param(m, marks=[pytest.mark.slow] * (m.counts == "probabilities"))
        for m in al.metrics.metric.metrics().values()
        if m.counts in MANY
    ],
    ids=repr,
)
def test_the_true_value_is_that_of_many_items(metric: al.Metric) -> None:
    """The population has 125 times as many items, whose error adds half a percent."""
    options, rng = {"n_resamples": 0, "n_draws": 0}, np.random.default_rng(1)
    analyze, setting = SCENARIOS[metric.counts].analyze, MANY[metric.counts]
    result, truth = analyze(metric, setting, 1, rng, options)
    frame = result.summary()
    assert frame["estimate"][0] == pytest.approx(truth, abs=4 * frame["se"][0])
    assert frame["se"][0] < 0.02


def test_true_values_of_copies() -> None:
    """Full copying gives agreement 1; no copying with random errors gives chance agreement."""
    true = coverage._true_options
    assert true(KAPPA_P_DISCRETE, 0.6, 4, 1.0, 0.5) == pytest.approx(1)
    assert true(KAPPA_P_DISCRETE, 0.6, 4, 0.0, 0.0) == pytest.approx(0)
    assert true(SAME_WRONG_ANSWER, 0.6, 4, 0.0, 0.0) == pytest.approx(1 / 3)
