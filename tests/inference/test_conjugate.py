"""Exact posteriors: their distributions, their dependence, their coverage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import stats

from alikely import simulate
from alikely.data.tables import from_counts, joint_correctness
from alikely.data.trials import Trials
from alikely.inference import resampling
from alikely.inference.conjugate import independence_draws, joint_draws, pairwise_draws
from alikely.metrics import consistency, copying
from alikely.stats.intervals import interval

TABLES = [[100, 20, 20, 20], [30, 60, 50, 20], [150, 5, 4, 1], [158, 2, 0, 0], [160, 0, 0, 0]]
# Two samples of 20,000 from one distribution fall below this once in ten thousand tests.
TINY = 1e-4


def dirichlet(cells: np.ndarray, prior: float, n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.asarray(cells) + prior, size=n)


@pytest.mark.parametrize("cells", TABLES)
def test_default_prior_is_dirichlet_one_half(cells: list[int]) -> None:
    draws = pairwise_draws(cells, n_draws=20_000, rng=1)
    reference = dirichlet(np.array(cells), 0.5, 20_000, 2)
    for name, function in (
        ("error_consistency", consistency.error_consistency),
        ("copy_probability", copying.copy_probability),
    ):
        assert stats.ks_2samp(draws[name][:, 0], function(reference)).pvalue > TINY


def test_other_priors_are_conjugate_updates() -> None:
    prior = {"p_a": (2.0, 3.0), "u": (4.0, 1.0), "v": (1.0, 2.0)}
    draws = pairwise_draws([10, 5, 3, 12], prior, n_draws=20_000, rng=1)["copy_probability"][:, 0]
    u, v = stats.beta(14, 6), stats.beta(4, 14)
    noise = 4 * np.sqrt((u.var() + v.var()) / 20_000)
    assert draws.mean() == pytest.approx(u.mean() - v.mean(), abs=noise)
    rng = np.random.default_rng(3)
    reference = u.rvs(20_000, random_state=rng) - v.rvs(20_000, random_state=rng)
    assert stats.ks_2samp(draws, reference).pvalue > TINY


@pytest.mark.parametrize("cells", TABLES)
def test_joint_marginal_equals_the_pairwise_posterior(cells: list[int]) -> None:
    joint = joint_draws(from_counts(cells), 20_000, rng=3)
    pairwise = pairwise_draws(cells, n_draws=20_000, rng=4)
    for name in joint:
        assert stats.ks_2samp(joint[name][:, 0], pairwise[name][:, 0]).pvalue > TINY


def test_joint_marginals_among_many_observers_with_missing_trials() -> None:
    rng = np.random.default_rng(5)
    right = rng.standard_normal(120) + rng.standard_normal((12, 120)) > -1.5
    values = np.ma.masked_array(right.astype(float), mask=rng.random(right.shape) < 0.15)
    values[rng.random(right.shape) < 0.05] = np.nan
    table = joint_correctness(Trials.from_correct(values), no_response="drop")
    joint = joint_draws(table, 20_000, rng=6)["error_consistency"]
    pairwise = pairwise_draws(table["cells"].values, n_draws=20_000, rng=7)["error_consistency"]
    pairs = rng.choice(table.sizes["pair"], 15, replace=False)
    for pair in pairs:
        assert stats.ks_2samp(joint[:, pair], pairwise[:, pair]).pvalue > TINY


def test_joint_posterior_of_three_observers_is_a_dirichlet_over_patterns() -> None:
    rng = np.random.default_rng(8)
    right = (rng.standard_normal(60) + rng.standard_normal((3, 60)) > -1.2).astype(int)
    table = joint_correctness(Trials.from_correct(right))
    draws = joint_draws(table, 20_000, rng=9)["error_consistency"]
    counts = np.bincount(right.T @ [4, 2, 1], minlength=8)
    weights = dirichlet(counts, 2 / 8, 20_000, 10)
    pattern = np.array([[i >> 2 & 1, i >> 1 & 1, i & 1] for i in range(8)])
    kappas = []
    for a, b in ((0, 1), (0, 2), (1, 2)):
        code = 3 - 2 * pattern[:, a] - pattern[:, b]
        cells = np.stack([weights[:, code == c].sum(axis=1) for c in range(4)], axis=-1)
        kappas.append(consistency.error_consistency(cells))
    for i, j in ((0, 1), (0, 2), (1, 2)):
        ours, theirs = draws[:, i] - draws[:, j], kappas[i] - kappas[j]
        assert stats.ks_2samp(ours, theirs).pvalue > TINY


def test_pairs_without_common_trials_are_undefined_not_guessed() -> None:
    values = np.ma.masked_array(np.eye(2, 4), mask=[[0, 0, 0, 1], [0, 0, 1, 0]])
    table = joint_correctness(Trials.from_correct(values, condition=["u", "u", "v", "v"]))
    draws = joint_draws(table, 50, rng=1)["error_consistency"]
    assert np.isnan(draws).mean(axis=0).tolist() == [0, 1]


def test_independence_draws_are_beta() -> None:
    draws = independence_draws([[10, 5, 3, 12]], 20_000, rng=1)
    assert stats.kstest(draws["p_a"][:, 0], stats.beta(16, 16).cdf).pvalue > TINY
    assert stats.kstest(draws["p_b"][:, 0], stats.beta(14, 18).cdf).pvalue > TINY


@pytest.mark.slow
def test_same_seed_same_draws_whatever_the_workers() -> None:
    cells = np.random.default_rng(5).integers(1, 50, size=(3000, 4))
    trials = Trials.from_correct(np.eye(4, 30), condition=list("uvw") * 10)
    table = joint_correctness(trials)
    threads = pairwise_draws(cells, n_draws=1000, rng=6), joint_draws(table, 50, rng=6)
    with joblib.parallel_config(backend="sequential"):
        alone = pairwise_draws(cells, n_draws=1000, rng=6), joint_draws(table, 50, rng=6)
    for one, other in zip(threads, alone, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pairwise_draws([1, 2, 3, 4], n_draws=0), "draws must be at least 1, got 0"),
        (lambda: joint_draws(from_counts([1, 2, 3, 4]), 0), "draws must be at least 1, got 0"),
        (lambda: independence_draws([1, 2, 3, 4], 0), "draws must be at least 1, got 0"),
        (lambda: pairwise_draws([1, 2, -3, 4]), "must not be negative, got -3"),
        (
            lambda: pairwise_draws([1, 2, 3, 4], {"copy_probability": (1, 1)}),
            "a prior on the copy probability has no exact posterior; use sampler='nuts'",
        ),
        (lambda: pairwise_draws([1, 2, 3, 4], {"w": (1, 1)}), "unknown name in prior: w"),
        (
            lambda: pairwise_draws([1, 2, 3, 4], {"copy_probability": (1, 1), "u": (1, 1)}),
            "unknown name in prior: u",
        ),
        (
            lambda: pairwise_draws([1, 2, 3, 4], {"u": (0, 1)}),
            r"prior of u must be two positive Beta parameters, got \(0, 1\)",
        ),
    ],
)
def test_bad_arguments(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize(("accuracy", "ec", "n_trials"), [(0.95, 0.5, 160), (0.99, 0.2, 160)])
def test_coverage_of_the_default_interval(
    accuracy: float, ec: float, n_trials: int, figure: Callable[[str], None]
) -> None:
    n_sets = 500
    probabilities = simulate.cell_probabilities(accuracy, accuracy, ec)
    cells = simulate.correctness_cells(probabilities, n_trials, n_sets, rng=1)
    draws = pairwise_draws(cells, n_draws=4000, rng=2)["error_consistency"]
    replicates = resampling.bootstrap(from_counts(cells), n_resamples=4000, rng=3).values
    covered = {}
    for school, values in (("posterior", draws), ("bootstrap", replicates)):
        bounds = interval(values, 0.95, "eti")
        covered[school] = float(np.mean((bounds[:, 0] <= ec) & (ec <= bounds[:, 1])))
    figure(f"coverage at accuracy {accuracy}, EC {ec}, N {n_trials}: {covered}")
    assert covered["posterior"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_sets)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("accuracy", "n_trials", "design"),
    # The figure of each setting as measured when the joint posterior was designed.
    [(0.75, 160, 0.958), (0.95, 160, 0.903), (0.95, 640, 0.935), (0.99, 640, 0.920)],
)
def test_coverage_of_differences(
    accuracy: float,
    n_trials: int,
    design: float,
    figure: Callable[[str], None],
    sets: Callable[..., int],
) -> None:
    """Two models against one human, error consistency .5 and .3."""
    n_sets = sets(400)
    rng = np.random.default_rng(12)
    p = [simulate.cell_probabilities(accuracy, accuracy, ec) for ec in (0.5, 0.3)]
    answers = []
    for _ in range(n_sets):
        human = rng.random(n_trials) < accuracy
        right = [human]
        for cells in p:
            given_right, given_wrong = cells[0] / accuracy, cells[2] / (1 - accuracy)
            right.append(rng.random(n_trials) < np.where(human, given_right, given_wrong))
        answers.append(right)
    # Each set a condition of its own, drawn on its own.
    trials = Trials.from_correct(
        np.concatenate(answers, axis=1),
        condition=np.repeat(np.arange(n_sets), n_trials).astype(str),
    )
    pairs = [("observer_0", "observer_1"), ("observer_0", "observer_2")]
    table = joint_correctness(trials, pairs, "condition")
    schools = {
        "posterior": joint_draws(table, 2000, rng=rng)["error_consistency"],
        "bootstrap": resampling.bootstrap(table, n_resamples=2000, rng=rng).values,
    }
    first = table["observer_b"].values == "observer_1"
    covered = {}
    for school, values in schools.items():
        bounds = interval(values[:, first] - values[:, ~first], 0.95, "eti")
        assert len(bounds) == n_sets
        covered[school] = float(np.mean((bounds[:, 0] <= 0.2) & (bounds[:, 1] >= 0.2)))
    figure(f"coverage of a difference at {accuracy}, N {n_trials}: {covered}")
    assert covered["posterior"] >= design - 2 * np.sqrt(design * (1 - design) / n_sets)


def test_real_pairs_agree_with_their_pairwise_posterior(shared_data: Path) -> None:
    trials = Trials.read(shared_data / "model_vs_human" / "trials.parquet")
    table = joint_correctness(trials.select(dataset="edge"), "human-human")
    joint = joint_draws(table, 20_000, rng=1)["error_consistency"]
    pairwise = pairwise_draws(table["cells"].values, n_draws=20_000, rng=2)["error_consistency"]
    for pair in range(0, table.sizes["pair"], 5):
        assert stats.ks_2samp(joint[:, pair], pairwise[:, pair]).pvalue > TINY
