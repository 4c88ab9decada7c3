"""Weighted influence and the posterior over strata: brute force and closed forms."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from scipy import stats

import alikely as al
from alikely.data.blocks import blocks
from alikely.inference.evaluation import evaluator
from alikely.inference.influence import freedom_of
from alikely.inference.process import masses_of_strata, right_in_strata
from alikely.inference.weighting import (
    TOSSED,
    deviations,
    multiplicities,
    second_order_bias,
    student_deviate,
)
from alikely.planning.choosing import by_strata, by_weights


def test_simple_random_samples_have_their_textbook_variance() -> None:
    """Compare with (1 - n/N) s^2/n for a mean of n of N, and s^2/n for new images."""
    x, n, pool = np.array([1.0, 4.0, 2.0, 7.0]), 4, 10
    centered = (x - x.mean()) / n
    pi, shown = np.full(n, n / pool), np.ones(n, dtype=bool)
    for population, part in (("pool", 1 - n / pool), ("images", 1.0)):
        u = deviations(centered, pi, shown, population)
        assert (u**2).sum() == pytest.approx(part * x.var(ddof=1) / n, rel=1e-12)


def test_bootstrap_weights_have_the_variance_of_the_design() -> None:
    pi = np.array([1.0, 0.5, 0.25, 0.1, 0.3])
    y = np.array([0.2, -0.3, 0.5, 0.1, -0.5])
    for population in ("pool", "images"):
        drawn = multiplicities(pi, 40_000, population, np.random.default_rng(1))
        assert drawn.min() >= 0
        rest = 1 - pi if population == "pool" else np.ones(5)
        spread = np.sqrt(rest) * y
        expected = 5 / 4 * ((spread - spread.mean()) ** 2).sum()
        # Four times the relative error of a variance, sqrt(2/n).
        assert (drawn @ y).var() == pytest.approx(expected, rel=4 * np.sqrt(2 / 40_000) * 1.5)


def test_strata_of_one_human_are_beta_and_binomial() -> None:
    held, rng = np.array([10, 2]), np.random.default_rng(2)
    share = np.broadcast_to(held / held.sum(), (40_000, 2))
    number = np.array([0, 0, 0, 0, 1, 1])
    answers = np.array([1, 1, 1, 0, 0, 0.0])
    atoms, pieces = masses_of_strata(number, held, share, "pool", rng)
    np.testing.assert_allclose(atoms.sum(1) + pieces.sum((1, 2)), 1, rtol=1e-12)
    tossed = (pieces * rng.integers(0, 2, pieces.shape)).sum(axis=2)
    both = (atoms * answers)[:, :4].sum(axis=1) + tossed[:, 0]
    law = stats.betabinom(6, 3.5, 1.5)
    exact = [law.pmf(k) for k in range(7)]
    one = right_in_strata(number, answers, held, "pool", rng, 40_000)
    assert (one[:, 1] == 0).all()
    for drawn in (np.rint(10 * one[:, 0]) - 3, np.rint(12 * both) - 3):
        found = np.bincount(drawn.astype(int), minlength=7) / 40_000
        error = np.sqrt(np.array(exact) * (1 - np.array(exact)) / 40_000)
        # Five Monte Carlo errors, for seven proportions twice.
        assert (abs(found - exact) < 5 * error + 2e-4).all()
    # All images of the second stratum were shown.
    assert (pieces[:, 1] == 0).all()


def test_public_functions_agree_with_arrays() -> None:
    """Compare error_consistency and difference with the estimators of plans."""
    rng = np.random.default_rng(3)
    ease = rng.normal(size=300)
    models = ease + rng.normal(0, 0.8, (6, 300)) > -0.4
    people = ease + rng.normal(0, 0.8, (2, 300)) > -0.2
    names = [f"m{k}" for k in range(6)]
    everybody = al.Trials.from_correct(
        np.concatenate([people, models]).astype(float),
        observers=["p0", "p1", *names],
        kind=["human"] * 2 + ["model"] * 6,
    )
    chosen = al.planning.choose_images(everybody.select(kind="model"), 60, ("m0", "m1"), rng=4)
    table = everybody.to_table()
    seen = (table["kind"] == "model") | table["item"].isin(chosen.table["item"])
    trials = al.Trials.from_table(table[seen])
    contrast = np.array([[1.0, -1, 0, 0, 0, 0]])
    for population in ("pool", "images"):
        weighted = trials.with_inclusion(chosen, generalize_to=population)
        result = al.error_consistency(
            weighted, [(p, m) for p in ("p0", "p1") for m in ("m0", "m1")],
            n_resamples=4_000, n_draws=4_000, rng=5,
        )  # fmt: skip
        entries = {"observer_b": "m0"}, {"observer_b": "m1"}
        found = al.difference(result, *entries, intervals="all")
        at = weighted.data["item"].values.astype(str)
        at = np.char.replace(at, "trial_", "").astype(int)
        pi = weighted.data["inclusion"].values
        number, held = _strata(weighted)
        ours = by_weights(models[:, at], people[:, at], pi, contrast, population, stratum=number)
        row = found.loc["analytic"]
        assert row["estimate"] == pytest.approx(ours[0, 0], abs=1e-9)
        assert row["eti95_lb"] == pytest.approx(ours[1, 0], abs=1e-9)
        assert "selected with unequal probabilities" in result.summary()["note"].iloc[0]
        assert "p_null" not in result.summary()
        assert (
            "for means over several humans, the posterior interval may be too narrow"
            in found.loc["posterior", "note"]
        )
        # The bootstrap has a relative error of sqrt(1/2n) = 0.011, no pseudo-responses (4 of 64:
        # 3%, more if few images are informative), and nonlinear terms (1/60).
        assert found.loc["bootstrap", "se"] == pytest.approx(row["se"], rel=0.15)
        posterior = result.data["posterior"]
        assert posterior.attrs["joint"] == 1
        again = by_strata(
            models[:, at], people[:, at], number, held, contrast, 8_000, population,
            np.random.default_rng(6),
        )  # fmt: skip
        # Means of 4,000 and of 8,000 draws.
        error = found.loc["posterior", "se"] * np.sqrt(1 / 4_000 + 1 / 8_000)
        mean = result.draws("posterior").astype(float) @ [0.5, -0.5, 0.5, -0.5]
        assert abs(mean.mean() - again[0, 0]) < 5 * error


def _strata(trials: al.Trials) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    _, at, number = np.unique(
        trials.data["stratum"].values.astype(str), return_index=True, return_inverse=True
    )
    return number, trials.data["stratum_images"].values[at]


def test_bias_is_half_the_curvature_in_the_variance_of_the_weights() -> None:
    """Compare with second differences in all weights and the covariance of fixed-size samples."""
    rng = np.random.default_rng(8)
    cell = np.concatenate([np.arange(4), rng.integers(0, 4, 10)])
    n, group = len(cell), np.arange(14) % 2
    shares, pi = np.eye(4)[cell].T[None], rng.uniform(0.2, 0.9, n)
    w = 1 / pi / (1 / pi).sum()
    value = al.metrics.ERROR_CONSISTENCY.value
    step, unit = 1e-3, np.eye(n)

    def at(*moves: NDArray[np.float64]) -> float:
        return float(value(shares[0] @ (w * (1 + step * sum(moves)))))

    second = np.array(
        [
            [at(a, b) - at(a, -b) - at(-a, b) + at(-a, -b) for b in unit]
            for a in unit
        ]
    ) / (4 * step**2)  # fmt: skip
    for groups in ([np.ones(n, dtype=bool)], [group == 0, group == 1]):
        expected = 0.0
        for own in groups:
            rest, count = np.where(own, 1 - pi, 0), own.sum()
            spread = np.diag(rest) - np.outer(rest, rest) / rest.sum()
            expected += count / (count - 1) * (spread * second).sum() / 2
        psi = al.metrics.ERROR_CONSISTENCY.influence
        found = second_order_bias(psi, shares, w[None], pi, groups, "pool")
        assert found[0] == pytest.approx(expected, rel=1e-4)
        # The pool itself is a sample of independent images.
        more = second_order_bias(psi, shares, w[None], pi, groups, "images")[0] - found[0]
        assert more == pytest.approx((pi * np.diag(second)).sum() / 2, rel=1e-4)


def test_near_a_kink_no_bias_is_subtracted() -> None:
    """For equally accurate observers, normalized error consistency has a kink there."""
    correct = np.array([[1, 0, 1, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 1, 0, 1.0]])
    plan = pd.DataFrame({"item": list("stuvwxyz"), "inclusion": 0.5})
    trials = al.Trials.from_correct(correct, kind=["human", "model"], item=list("stuvwxyz"))
    weighted = trials.with_inclusion(plan, generalize_to="pool")
    for metric, moved in (("normalized_error_consistency", False), ("error_consistency", True)):
        found = al.compare(weighted, metric, n_resamples=0, n_draws=0).estimates
        assert (found["estimate"].item() != found["interval_center"].item()) is moved


def test_pseudoresponses_change_pairs_like_responses() -> None:
    """Compare with a metric of cells in which one response of one human is changed."""
    correct = np.array([[1, 0, 1, 1, 0, 1], [1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 1, 1.0]])
    plan = pd.DataFrame({"item": list("uvwxyz"), "inclusion": [0.2, 0.5, 0.9, 1, 0.4, 0.3]})
    trials = al.Trials.from_correct(
        correct, observers=["p", "q", "m"], kind=["human", "human", "model"], item=list("uvwxyz")
    ).with_inclusion(plan, generalize_to="pool")
    metric = al.metrics.ERROR_CONSISTENCY
    (block,) = blocks(al.data.joint_correctness(trials, [("p", "q"), ("p", "m"), ("q", "m")]))
    tossed = evaluator(block, metric).tossed
    assert tossed is not None
    w = 1 / block.inclusion / (1 / block.inclusion).sum()
    pairs, asked = list(zip(block.a, block.b, strict=True)), 0
    scale = np.sqrt(TOSSED / 6 * 6 / 5 * (1 - block.inclusion))
    for rows, moved in tossed():
        asked += 1
        (who,) = set(pairs[rows[0]]) & set(pairs[rows[1]])
        for row, found in zip(rows, moved, strict=True):
            for image in range(6):
                psi = []
                for answer in (1, 0):
                    c = block.correct.copy()
                    c[who, image] = answer
                    kind = 3 - 2 * c[block.a[row], image] - c[block.b[row], image]
                    cells = (block.shares()[row] * w).sum(axis=1)
                    psi.append(metric.influence(cells)[kind])
                expected = scale[image] * w[image] * (psi[0] - psi[1]) / 2
                assert found[image] == pytest.approx(expected, abs=1e-12)
    assert asked == 2


def test_observed_agreement_is_unbiased_over_all_samples() -> None:
    """The mean weighted difference over all samples of a small pool is that of the pool."""
    a, b = np.array([1, 1, 0, 0, 1, 0]), np.array([1, 0, 1, 0, 1, 1])
    r = np.array([1, 0, 1, 1, 0, 0])
    strata = {0: [0, 3, 4], 1: [1, 2, 5]}
    truth = ((a == r).mean() - (b == r).mean()).item()
    found = []
    for one, other in itertools.product(
        itertools.combinations(strata[0], 1), itertools.combinations(strata[1], 2)
    ):
        at = np.array([*one, *other])
        table = pd.DataFrame({"item": at.astype(str), "inclusion": [1 / 3, 2 / 3, 2 / 3]})
        correct = np.ma.masked_all((3, 6))
        correct[1], correct[2] = a, b
        correct[0, at] = r[at]
        trials = al.Trials.from_correct(
            correct, observers=["h", "a", "b"], kind=["human", "model", "model"],
            item=[str(i) for i in range(6)],
        ).with_inclusion(table, generalize_to="pool")  # fmt: skip
        cells = al.data.joint_correctness(trials, [("h", "a"), ("h", "b")])["cells"].values
        agreement = (cells[:, 0] + cells[:, 3]) / cells.sum(axis=1)
        found.append(agreement[0] - agreement[1])
    assert np.mean(found) == pytest.approx(truth, abs=1e-12)


def test_degrees_of_freedom_are_those_of_shown_images() -> None:
    """Function, contrast and plan have equal degrees of freedom, also with certain images."""
    rng = np.random.default_rng(12)
    x, person = rng.random((3, 30)) < 0.6, rng.random((1, 30)) < 0.6
    pi = np.where(np.arange(30) < 12, 1.0, 0.3)
    plan = pd.DataFrame({"item": [f"i{k}" for k in range(30)], "inclusion": pi})
    trials = al.Trials.from_correct(
        np.concatenate([person, x]).astype(float), observers=["p", "m0", "m1", "m2"],
        kind=["human"] + ["model"] * 3, item=plan["item"].tolist(),
    ).with_inclusion(plan, generalize_to="pool")  # fmt: skip
    result = al.error_consistency(trials, "human-model", n_resamples=0, n_draws=0)
    for weights in (np.array([1.0, -1, 0]), np.array([0.0, 0, 1])):
        (df,), _ = freedom_of(result.table, result.metric, weights[None])
        own = by_weights(x, person, pi, weights[None], "pool")
        center = float(weights @ result.estimates["interval_center"].values)
        row = al.contrast(result, weights).loc["analytic"]
        half = student_deviate(np.array(df), 0.95) * row["se"]
        assert own[2, 0] == pytest.approx(max(center + half, own[0, 0]), abs=1e-9)
    assert df == pytest.approx(result.estimates["df"].values[2])
