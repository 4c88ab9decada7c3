"""Coverage of the doors of error patterns and margins: counts, truths, resumption, messages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import stats

import alikely as al
from alikely.calibration import coverage_estimates
from alikely.calibration.coverage_estimates import STUDIES, estimate_coverage
from alikely.estimates import margins as margin_estimates
from alikely.margins.posterior import MarginDraws
from alikely.metrics.errors import (
    MISCLASSIFICATION_AGREEMENT,
    error_divergence,
    error_similarity,
    label_statistics,
    misclassification_agreement,
)
from alikely.metrics.margins import margin_consistency, margin_influence
from alikely.simulate.errors import joint_errors

AGREEMENT, SIMILARITY, MARGINS = DOORS = (
    "misclassification_agreement",
    "error_similarity",
    "decision_margin_consistency",
)


def study_of(metric: str) -> Any:
    return STUDIES[al.metrics.get_metric(metric).counts]


SETTINGS = {AGREEMENT: (0.4, 4, 25, 0.5), SIMILARITY: (2.0, 4, 40, 0.3), MARGINS: (0.6, 30, 4, 8)}


def one(metric: str, *setting: float) -> pd.DataFrame:
    return pd.DataFrame([setting or SETTINGS[metric]], columns=study_of(metric)[0])


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the doors were given and gave back, and the rows that errors were drawn from."""
    calls: list[Any] = []

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            out = function(*args, **options)
            calls.append((args, options, out))
            return out

        return call

    for name in ("compare", "error_rows"):
        monkeypatch.setattr(coverage_estimates, name, watched(getattr(coverage_estimates, name)))
    return calls


def implied_agreement(c: float, k: int, peakedness: float) -> float:
    """Kappa of both labels, summed over all true classes and labels one by one."""
    joint = np.zeros((k, k))
    for true in range(k):
        wrong = np.array([(1 - peakedness) ** j * (j != true) for j in range(k)])
        wrong /= wrong.sum()
        for a in range(k):
            for b in range(k):
                joint[a, b] += wrong[a] * (c * (a == b) + (1 - c) * wrong[b]) / k
    chance = float(joint.sum(axis=0) @ joint.sum(axis=1))
    return (float(np.trace(joint)) - chance) / (1 - chance)


def truths(metric: str, called: list[Any], n: int) -> np.ndarray:
    if metric == AGREEMENT:
        c, k, _, peakedness = SETTINGS[metric]
        return np.full(n, implied_agreement(c, k, peakedness))
    if metric == SIMILARITY:
        rows = called[0][2][1]
        # Counts so large that the smoothing of the estimate is nothing.
        return error_similarity(error_divergence(1e9 * rows[:n], 1e9 * rows[n:]))
    return np.full(n, coverage_estimates._attenuated(0.6, 4, 8))


@pytest.mark.slow
@pytest.mark.parametrize("metric", DOORS)
def test_counts_are_those_of_the_door(metric: str, called: list[Any]) -> None:
    """Analytic intervals data set by data set; replicates and draws by plain quantiles."""
    n = 10
    study = estimate_coverage(metric, one(metric), n_datasets=n, n_draws=200, rng=1)
    found = study.set_index(["method", "ci_prob"])
    args, options, result = called[-1]
    truth = truths(metric, called, n)
    assert result.pairs["condition"].tolist() == [str(i) for i in range(n)]
    door = getattr(al, metric)
    margins, m = options.get("margins"), options.get("m")
    alone = [
        door(
            args[0].select(condition=str(i)),
            *([] if margins is None else [margins[margins["condition"] == str(i)]]),
            **({} if m is None else {"m": m}),
            n_resamples=0,
            n_draws=0,
        )
        for i in range(n)
    ]
    draws = {"bootstrap": result.draws("bootstrap")}
    if metric != MARGINS:
        draws["posterior"] = result.draws("posterior")
    for p in (0.5, 0.8, 0.95):
        bounds = {
            "analytic": np.concatenate(
                [r.summary(p, intervals=["analytic"]).filter(like="analytic_ci") for r in alone]
            )
        }
        for school, values in draws.items():
            bounds[school] = np.nanquantile(values, [(1 - p) / 2, (1 + p) / 2], axis=0).T
        for method, (lower, upper) in ((name, both.T) for name, both in bounds.items()):
            row = found.loc[(method, p)]
            assert row["coverage"] == ((lower <= truth) & (truth <= upper)).mean()
            # Quantiles of single precision.
            assert row["width"] == pytest.approx((upper - lower).mean(), rel=1e-5)
    value = np.array([r.estimates["estimate"].values[0] for r in alone])
    assert found.loc[("bca", 0.8), "bias"] == pytest.approx((value - truth).mean())
    assert (found["undefined_share"] == 0).all()


def test_truth_of_agreement_is_that_of_very_many_errors() -> None:
    wrong = coverage_estimates._wrong_rows(5, 0.4)
    counts = joint_errors(0.3, wrong, wrong, 100_000, rng=1)[0].sum(axis=0)
    slope = MISCLASSIFICATION_AGREEMENT.derivative(label_statistics(counts))
    psi = np.eye(5) * slope[0] + slope[1:6, None] + slope[6:]
    error = np.sqrt((counts * psi**2).sum())
    truth = coverage_estimates._implied_agreement(MISCLASSIFICATION_AGREEMENT, 0.3, wrong)
    assert truth == pytest.approx(implied_agreement(0.3, 5, 0.4), abs=1e-12)
    assert abs(misclassification_agreement(counts) - truth) <= 4 * error


@pytest.mark.parametrize(("rho", "n_answers", "m"), [(0.7, 3, 2), (-0.5, 10, 16), (1.0, 1, 4)])
def test_truth_of_margins_is_that_of_very_many_items(rho: float, n_answers: int, m: int) -> None:
    """The answers themselves: the largest of m normal evidences."""
    rng, n_items = np.random.default_rng(2), 10_000
    z, other = rng.standard_normal((2, n_items))
    evidence = rng.standard_normal((m, n_answers, n_items))
    evidence[0] += coverage_estimates.STRENGTH_MEAN + coverage_estimates.STRENGTH_SD * z
    share = (evidence.argmax(axis=0) == 0).mean(axis=0)
    margin = rho * z + np.sqrt(1 - rho**2) * other
    error = np.sqrt((margin_influence(share, margin) ** 2).sum()) / n_items
    truth = coverage_estimates._attenuated(rho, n_answers, m)
    assert abs(margin_consistency(share, margin) - truth) <= 4 * error


@pytest.fixture
def exact_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Independent conjugate rows in place of the default."""
    compare = functools.partial(coverage_estimates.compare, sampler="exact")
    monkeypatch.setattr(coverage_estimates, "compare", compare)


@pytest.mark.slow
@pytest.mark.usefixtures("exact_rows")
def test_posterior_of_similarity_is_right_under_its_own_prior() -> None:
    """Rows from Dirichlet(1/2), the prior of exact rows: central intervals cover as promised."""
    study = estimate_coverage(SIMILARITY, one(SIMILARITY, 0.5, 4, 40, 0), n_datasets=100, rng=3)
    for _, row in study[study["method"] == "posterior"].iterrows():
        p = row["ci_prob"]
        assert abs(row["coverage"] - p) <= 4 * np.sqrt(p * (1 - p) / 100)


@pytest.mark.slow
def test_equal_systems_are_at_the_end_of_the_scale() -> None:
    study = estimate_coverage(SIMILARITY, one(SIMILARITY, np.inf, 4, 40, 0), n_datasets=10, rng=4)
    rows = study[study["ci_prob"] == 0.95].set_index("method")
    assert rows.loc["bootstrap", "coverage"] == 0
    # 95 % of 10, less four times the Monte-Carlo error: one end of the scale can be missed once.
    assert rows.loc["posterior", "coverage"] >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 10)
    assert (rows["bias"] < 0).all()


def test_a_wrong_truth_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = one(AGREEMENT, 0.3, 8, 100, 0)
    options: dict[str, Any] = {"n_datasets": 50, "n_draws": 200, "ci_probs": [0.95], "rng": 5}
    right = estimate_coverage(AGREEMENT, grid, **options).set_index("method")
    monkeypatch.setattr(coverage_estimates, "_implied_agreement", lambda *_: 0.9)
    wrong = estimate_coverage(AGREEMENT, grid, **options).set_index("method")
    # 95 % of 50, less four times the Monte-Carlo error.
    assert (right["coverage"] >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 50)).all()
    assert (wrong["coverage"] == 0).all()
    assert (wrong["width"] == right["width"]).all()


@pytest.mark.slow
def test_an_interrupted_study_ends_with_the_same_numbers(tmp_path: Path) -> None:
    grid = pd.concat([one(AGREEMENT, 0.5, 4, n, 0.5) for n in (5, 10, 20)])
    options: dict[str, Any] = {"n_datasets": 10, "n_draws": 100, "rng": 6}
    whole = estimate_coverage(AGREEMENT, grid, **options)
    estimate_coverage(AGREEMENT, grid, folder=tmp_path, **options)
    next(tmp_path.glob("000001-*.parquet")).unlink()
    pd.testing.assert_frame_equal(
        estimate_coverage(AGREEMENT, grid, folder=tmp_path, **options), whole, check_exact=True
    )


def test_columns_are_those_of_coverage_study() -> None:
    ours = estimate_coverage(AGREEMENT, one(AGREEMENT), n_datasets=10, n_draws=100, rng=7)
    theirs = al.calibration.coverage_study(
        al.calibration.default_grid().head(1), n_datasets=100, rng=7
    )
    assert [*ours][4:] == [*theirs][4:]
    assert [*ours][:4] == study_of(AGREEMENT)[0]
    assert len(al.calibration.coverage_summary(ours, 0.8)) == 5


def fake_chains(trees: Callable[[dict[str, Any]], xr.Dataset], seen: list[Any]) -> Any:
    def run(model: Any, data: Any, *_: Any) -> Iterator[xr.DataTree]:
        for values in data:
            seen.append(values)
            yield xr.DataTree.from_dict({"posterior": trees(values)})

    return run


@pytest.mark.usefixtures("exact_rows")
def test_chains_of_rows_go_the_way_of_the_door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform base and concentration 1/2 in every draw: the exact posterior of the door."""
    k, n, seen = 4, 10, []
    base = np.broadcast_to((1 - np.eye(k)) / (k - 1), (4, 500, k, k))
    fixed = xr.Dataset(
        {
            "base": (("chain", "draw", "true_class", "response_class"), base),
            "concentration": (("chain", "draw", "true_class"), np.full((4, 500, k), 0.5)),
        }
    )
    monkeypatch.setattr(coverage_estimates, "nuts_many", fake_chains(lambda _: fixed, seen))
    study = estimate_coverage(
        SIMILARITY, one(SIMILARITY), n_datasets=n, n_draws=1_000, nuts=True, rng=8
    ).set_index(["method", "ci_prob"])
    assert [values["errors"].sum() for values in seen] == [80] * n
    for method, exact in (("nuts", "posterior"), ("nuts hdi", "posterior hdi")):
        for p in (0.5, 0.8, 0.95):
            chains, door = study.loc[(method, p)], study.loc[(exact, p)]
            # From 1,000 draws the width of one data set is known to some 7 %.
            assert chains["width"] == pytest.approx(door["width"], rel=4 * 0.07 * np.sqrt(2 / n))
            assert chains["bias"] == pytest.approx(door["bias"], abs=0.005)


@pytest.mark.slow
def test_chains_of_labels_are_thinned_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws whose quantiles are known, around the truth and beside it."""
    truth = implied_agreement(0.4, 4, 0.5)
    seen: list[Any] = []

    def tree(values: dict[str, Any]) -> xr.Dataset:
        # Every other data set is missed; every other draw is dropped.
        centre = truth if len(seen) % 2 else truth + 1
        kept = centre + 0.1 * stats.norm.ppf((np.arange(400) + 0.5) / 400)
        draws = np.stack([kept, np.full(400, 9.0)], axis=-1).reshape(4, 200, 1)
        return xr.Dataset({AGREEMENT: (("chain", "draw", "pair"), draws)})

    monkeypatch.setattr(coverage_estimates, "nuts_many", fake_chains(tree, seen))
    study = estimate_coverage(
        AGREEMENT, one(AGREEMENT), n_datasets=10, n_draws=200, nuts=True, rng=9
    )
    (row,) = study[(study["method"] == "nuts") & (study["ci_prob"] == 0.8)].to_dict("records")
    assert row["coverage"] == 0.5
    assert row["width"] == pytest.approx(0.1 * 2 * stats.norm.ppf(0.9), rel=0.02)
    assert row["bias"] == pytest.approx(0.5, abs=1e-6)
    for values in seen:
        assert values["errors_of_a"].sum() == 25
        assert values["agreed"].sum() + values["differed"].sum() == 25


def test_posterior_of_margins_is_held_against_rho(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws around the latent correlation, which the attenuated one lies outside of."""

    def drawn(table: xr.Dataset, n_draws: int, **_: Any) -> MarginDraws:
        n = table.sizes["pair"]
        values = np.linspace(0.55, 0.65, n_draws, dtype=np.float32)[:, None].repeat(n, axis=1)
        unknown = np.full((n, table.sizes["trial"]), np.nan)
        return MarginDraws(values, unknown, unknown, np.full(n, "", dtype=object), {})

    monkeypatch.setattr(margin_estimates, "margin_draws", drawn)
    study = estimate_coverage(
        MARGINS, one(MARGINS), n_datasets=10, n_draws=200, nuts=True, rng=10
    ).set_index("method")
    assert coverage_estimates._attenuated(0.6, 4, 8) < 0.55
    assert (study.loc[["posterior", "posterior hdi"], "coverage"] == 1).all()
    assert study.loc["posterior", "bias"].tolist() == pytest.approx([0] * 3, abs=1e-6)


@pytest.mark.parametrize("metric", DOORS)
def test_default_grids_are_in_range(metric: str) -> None:
    columns, settings, _ = study_of(metric)
    assert len(set(settings)) == 10
    listed = coverage_estimates._settings(al.metrics.get_metric(metric), None)
    assert [tuple(setting.values()) for setting in listed] == settings
    assert [*listed[0]] == columns


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("kappa", {}, "metric must be one of 'error_consistency', .*got 'kappa'"),
        (AGREEMENT, {"ci_probs": ()}, "ci_probs must name at least one probability, got none"),
        (AGREEMENT, {"ci_probs": [1.0]}, "ci_prob must lie strictly between 0 and 1, got 1"),
        (AGREEMENT, {"n_datasets": 5}, "n_datasets must be at least 10 .* got 5 and 1000"),
        (AGREEMENT, {"n_draws": 50}, "n_draws at least 100, got 200 and 50"),
        (MARGINS, {"grid": one(AGREEMENT)}, "the columns rho, n_items, n_answers, m; got 1 rows"),
        (MARGINS, {"grid": pd.DataFrame()}, "got 0 rows and no columns"),
        (MARGINS, {"grid": one(MARGINS, 1.5, 20, 2, 2)}, "rho must be a number from -1 to 1"),
        (SIMILARITY, {"grid": one(SIMILARITY, 1, 2, 20, 0)}, "n_classes must be a whole number"),
        (AGREEMENT, {"grid": one(AGREEMENT, 0.5, 4, 2.5, 0)}, "n_joint_errors must be a whole"),
        (AGREEMENT, {"grid": one(AGREEMENT).assign(peakedness="x")}, "peakedness .* got 'x'"),
    ],
)
def test_bad_input(metric: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        estimate_coverage(metric, **options)
