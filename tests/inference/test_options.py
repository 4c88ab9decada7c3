"""Agreement on options at weighted questions: matrices, conjugate posteriors, symmetries."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import alikely as al
from alikely.inference.cell_limits import option_limits
from alikely.inference.influence import estimate
from alikely.inference.process import process_draws
from alikely.inference.resampling import bootstrap
from alikely.metrics.metric import metrics
from alikely.metrics.options import KAPPA_P, KAPPA_P_DISCRETE, capa_matrices

CLASSES = list("ABCD")
KINDS = ("options", "probabilities")
METRICS = [m for m in metrics().values() if m.counts in KINDS]
SOFT = [m for m in METRICS if m.counts == "probabilities"]


def leaderboard(
    seed: int, n: int, n_questions: int, vary: bool = False, missing: float = 0.0
) -> tuple[al.Trials, Any, Any, Any]:
    """Trials with probabilities; also returns probabilities, truth and numbers of options."""
    rng = np.random.default_rng(seed)
    n_options = rng.integers(2, 5, n_questions) if vary else np.full(n_questions, 4)
    logits = 2 * rng.normal(size=(n, n_questions, 4)) + 2 * rng.normal(size=(1, n_questions, 4))
    logits[:, np.arange(4) >= n_options[:, None]] = -np.inf
    p = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    truth = np.array([rng.choice(4, p=q) for q in p.mean(axis=0)])
    gone = rng.random((n, n_questions)) < missing
    names = np.array(CLASSES, dtype=object)
    trials = al.Trials.from_arrays(
        np.ma.masked_array(names[p.argmax(axis=2)], gone), names[truth], classes=CLASSES
    )
    p[gone] = np.nan
    return trials.with_options(n_options).with_probabilities(p), p, truth, n_options


@pytest.mark.parametrize("vary", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_table_estimates_agree_with_matrices(missing: float, vary: bool) -> None:
    trials, p, truth, n_options = leaderboard(1, 4, 80, vary, missing)
    table = al.data.joint_correctness(trials, labels="options")
    a, b = table["first"].values, table["second"].values
    answers = np.where(np.isnan(p).all(axis=2), -1, np.nan_to_num(p, nan=-1.0).argmax(axis=2))
    soft, hard = capa_matrices(p, truth, n_options), capa_matrices(answers, truth, n_options)
    for metric, value, se in (
        ("kappa_p", soft.estimate, soft.se),
        ("option_correlation", soft.r_p, soft.r_p_se),
        ("kappa_p_discrete", hard.estimate, hard.se),
        ("same_wrong_answer", hard.same_wrong, None),
    ):
        found = estimate(table, al.metrics.get_metric(metric))
        np.testing.assert_allclose(found["estimate"], value[a, b], atol=1e-12)
        if se is not None:
            np.testing.assert_allclose(found["se"], se[a, b], atol=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=repr)
def test_standard_errors_agree_with_the_bootstrap(metric: al.Metric) -> None:
    """Compare standard errors for 400 questions with 2,000 replicates, up to terms in 1/n."""
    trials, *_ = leaderboard(2, 3, 400, vary=True)
    table = al.data.joint_correctness(trials, labels="options")
    se = estimate(table, metric)["se"].values
    spread = bootstrap(table, metric, 2_000, rng=1).std("resample").values
    np.testing.assert_allclose(spread / se, 1, atol=4 / np.sqrt(2 * 2_000) + 0.02)


def test_dependent_questions_are_clusters() -> None:
    """With each question twice and clusters, the error equals that of single questions."""
    trials, p, _, _ = leaderboard(3, 2, 60)
    answers = np.array(CLASSES, dtype=object)[p.argmax(axis=2)]
    truth = np.array(CLASSES, dtype=object)[trials.data["truth"].values]
    twice = al.Trials.from_arrays(
        np.tile(answers, 2), np.tile(truth, 2), classes=CLASSES, item=[*range(60)] * 2,
        condition=["c"] * 60 + ["d"] * 60,
    ).with_probabilities(np.tile(p, (1, 2, 1)))  # fmt: skip
    table = al.data.joint_correctness(twice, by=None, labels="options")
    once = estimate(al.data.joint_correctness(trials, labels="options"), KAPPA_P)
    found = estimate(table, KAPPA_P, cluster="item")
    np.testing.assert_allclose(found["estimate"], once["estimate"], atol=1e-12)
    np.testing.assert_allclose(found["se"], once["se"], atol=1e-12)
    assert al.compare(twice, "kappa_p", by=None, n_resamples=0, n_draws=0).data.attrs[
        "cluster"
    ] == ("item")


def test_draws_of_responses_are_those_of_five_cells() -> None:
    """Compare with a marginal Dirichlet: 1/2 per cell of correctness, the last split by chance."""
    trials, *_ = leaderboard(4, 3, 25)
    table = al.data.joint_correctness(trials, labels="options")
    n = 5_000
    found = process_draws(table, n, KAPPA_P_DISCRETE, rng=1)
    response, truth = trials.data["response"].values, trials.data["truth"].values
    rng = np.random.default_rng(2)
    for pair, (a, b) in enumerate(zip(table["first"].values, table["second"].values, strict=True)):
        right, same = response == truth, response[a] == response[b]
        cells = [
            right[a] & right[b], right[a] & ~right[b], ~right[a] & right[b],
            ~right[a] & ~right[b] & same, ~right[a] & ~right[b] & ~same,
        ]  # fmt: skip
        counts = np.array([cell.sum() for cell in cells])
        x = rng.dirichlet(counts + [0.5, 0.5, 0.5, 0.5 / 3, 1 / 3], n)
        of_a, of_b, agree = x[:, 0] + x[:, 1], x[:, 0] + x[:, 2], x[:, 0] + x[:, 3]
        expected = of_a * of_b + (1 - of_a) * (1 - of_b) / 3
        kappa = (agree - expected) / (1 - expected)
        # 4 Monte Carlo errors of tail probabilities, for quantiles of 5,000 draws on both sides.
        for q in (0.025, 0.25, 0.5, 0.75, 0.975):
            below = (found[:, pair] < np.quantile(kappa, q)).mean()
            assert below == pytest.approx(q, abs=4 * np.sqrt(2 * q * (1 - q) / n))


@pytest.mark.parametrize("metric", SOFT, ids=repr)
def test_draws_of_certain_probabilities_are_those_of_responses(metric: al.Metric) -> None:
    """Probabilities 0 and 1 are equivalent to responses, also in the prior."""
    trials, p, *_ = leaderboard(5, 2, 30)
    sharp = trials.with_probabilities(np.eye(4)[p.argmax(axis=2)])
    table = al.data.joint_correctness(sharp, labels="options")
    draws = process_draws(table, 400, metric, rng=1)
    if metric is KAPPA_P:
        hard = process_draws(table, 400, KAPPA_P_DISCRETE, rng=1)
        np.testing.assert_allclose(draws, hard, atol=1e-6)
    assert np.isfinite(draws).all()


def test_draws_without_a_common_question() -> None:
    answers = np.ma.masked_array([["A", "B", "A"], ["A", "B", "A"], ["B", "A", "B"]],
                                 [[0, 0, 1], [1, 1, 0], [0, 0, 0]])  # fmt: skip
    trials = al.Trials.from_arrays(answers, ["A", "B", "B"]).with_options(2)
    table = al.data.joint_correctness(trials, labels="options", disjoint=True)
    draws = process_draws(table, 8, KAPPA_P_DISCRETE, rng=1)
    empty = table["cells"].values.sum(axis=1) == 0
    assert empty.any()
    assert np.isnan(draws[:, empty]).all()
    assert np.isfinite(draws[:, ~empty]).all()


# Both correct, only the first, only the second, both incorrect and equal, or different; options.
TABLES = [
    ((300, 60, 50, 40, 30), 4),
    ((30, 9, 6, 5, 5), 4),
    ((30, 9, 6, 15, 0), 2),
    ((4_000, 1_500, 1_200, 2_100, 700), 10),
    ((12, 2, 0, 1, 3), 3),
]


@pytest.mark.parametrize(("cells", "n_options"), TABLES)
def test_limits_agree_with_draws(cells: tuple[int, ...], n_options: int) -> None:
    """Compare tail probabilities with 50,000 draws and the standard error stated on the page."""
    f, n, q = 1 / (n_options - 1), 50_000, np.array([0.025, 0.975])
    prior = np.array([0.5, 0.5, 0.5, f / 2, (1 - f) / 2])
    gamma = np.random.default_rng(1).standard_gamma(np.array(cells) + prior, size=(n, 5))
    x = gamma / gamma.sum(axis=1, keepdims=True)
    a, b, same = x[:, 0] + x[:, 1], x[:, 0] + x[:, 2], x[:, 0] + x[:, 3]
    expected = a * b + (1 - a) * (1 - b) * f
    kappa = (same - expected) / (1 - expected)
    limits = option_limits(cells, n_options, q)
    below = (kappa[:, None] < limits).mean(axis=0)
    np.testing.assert_allclose(below, q, atol=4 * np.sqrt(q[0] * q[1] * (1 / n + 1 / 40_000)))


def test_limits_of_matrices() -> None:
    """Compare limits of all pairs with those of single pairs, and of exchanged observers."""
    _, p, truth, _ = leaderboard(6, 4, 300)
    found = capa_matrices(p.argmax(axis=2), truth, 4)
    cells = found.cells_of(*np.indices(found.estimate.shape))
    assert (cells.sum(axis=2) == 300).all()
    assert (cells == np.rint(cells)).all()
    limits = option_limits(cells, 4)
    assert limits.shape == (4, 4, 3)
    np.testing.assert_allclose(option_limits(cells[0, 1], 4), limits[0, 1], atol=1e-12)
    a, b = np.triu_indices(4, 1)
    # The order of observers matters only by the error of the expansion.
    width = limits[a, b, 2] - limits[a, b, 0]
    assert (np.abs(limits[a, b] - limits[b, a]).max(axis=1) < 0.01 * width).all()
    assert (limits[a, b, 0] < found.estimate[a, b]).all()
    assert (found.estimate[a, b] < limits[a, b, 2]).all()
