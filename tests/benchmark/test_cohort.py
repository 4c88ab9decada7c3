"""Cohort copy model: closed forms, agreement with the pairwise posterior, comparison.

Parameters are recovered in the calibration of the catalog.
"""

from __future__ import annotations

import arviz_stats as azs
import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

import alikely as al
from alikely.benchmark import cohorts
from alikely.benchmark.cohorts import (
    cohort_check,
    cohort_draws,
    cohort_scores,
    layout_of,
    note_on_alike,
)
from alikely.data.cohorts import cohort_counts
from alikely.models.cohorts import _joint_probability

PROBABILITIES = st.floats(0.01, 0.99)
SYMBOLS = [pt.dscalar(name) for name in "pqr"]
joint_probability = pytensor.function(SYMBOLS, _joint_probability(*SYMBOLS), mode="FAST_COMPILE")


@given(PROBABILITIES, PROBABILITIES, st.floats(-9, 9))
def test_joint_probability_has_the_margins_and_the_odds_ratio(
    p: float, q: float, log: float
) -> None:
    both = float(joint_probability(p, q, np.exp(log)))
    neither = 1 - p - q + both
    assert max(0, p + q - 1) - 1e-9 <= both <= min(p, q) + 1e-9
    odds = np.exp(log)
    # Cross-multiplied, because a cell may underflow at such odds.
    np.testing.assert_allclose(both * neither, odds * (p - both) * (q - both), atol=1e-6)


def test_counts_by_hand() -> None:
    correct = np.ma.masked_invalid(np.array(
        [[1, 1, 0, 0, 1.0], [1, 0, 0, np.nan, 1], [1, 1, 0, 1, 0], [0, 1, 0, 1, 1]]
    ))  # fmt: skip
    correct[2, 4] = np.ma.masked
    trials = al.Trials.from_correct(
        correct, kind=["human", "human", "human", "model"], condition=["x", "x", "x", "y", "y"]
    )
    counts = cohort_counts(trials)
    found = {
        (c, h, s): (n, shown, right)
        for c, h, s, n, shown, right in zip(
            counts["stratum_condition"].values.tolist(), counts["n_humans"].values.tolist(),
            counts["n_right"].values.tolist(), counts["n_trials"].values.tolist(),
            counts["shown"].values[0].tolist(), counts["right"].values[0].tolist(), strict=True,
        )
        if n
    }  # fmt: skip
    assert found == {
        (0, 3, 3): (1, 1, 0),
        (0, 3, 2): (1, 1, 1),
        (0, 3, 0): (1, 1, 0),
        (1, 2, 1): (1, 1, 1),
        (1, 2, 2): (1, 1, 1),
    }
    assert counts["human_shown"].values.tolist() == [[3, 2], [3, 1], [3, 1]]


@pytest.mark.slow
def test_human_likelihood_is_beta_binomial_with_the_ec_of_pairs() -> None:
    """At one point, compare probabilities of s with quadrature, and EC with a new human by hand."""
    counts = cohort_counts(al.simulate.cohort([0.4, 0.1], [0.7, 0.5], 0.7, 0.4, rng=1))
    model = al.models.cohort(counts)
    rng = np.random.default_rng(1)
    point = {name: rng.normal(0, 0.7, np.shape(v)) for name, v in model.initial_point().items()}
    names = ["human_accuracy", "human_error_consistency", "accuracy", "copy_probability",
             "right_alone", "error_consistency", "row_probability"]  # fmt: skip
    values = model.compile_fn(
        model.replace_rvs_by_values([model[name] for name in names]),
        inputs=model.value_vars,
        on_unused_input="ignore",
    )(point)
    mu, ec, accuracy, c, alone, alike, rows = values
    phi = 1 / ec[0] - 1
    beta = stats.beta(mu[0] * phi, (1 - mu[0]) * phi)
    for m in range(2):
        right = integrate.quad(lambda p, m=m: p * (alone[m] + c[m] * p) * beta.pdf(p), 0, 1)[0]
        p11, h, a = right, mu[0], accuracy[m]
        by_cells = al.metrics.ERROR_CONSISTENCY.value(
            np.array([p11, h - p11, a - p11, 1 - h - a + p11])
        )
        # The density has a pole at either end.
        assert alike[m] == pytest.approx(float(by_cells), abs=2e-5)
        for s in range(5):
            posterior = stats.beta(mu[0] * phi + s, (1 - mu[0]) * phi + 4 - s)
            assert rows[5 * m + s] == pytest.approx(alone[m] + c[m] * posterior.mean())


@pytest.mark.slow
def test_one_human_agrees_with_the_pairwise_posterior() -> None:
    """With one human, the population is unknown, but not error consistency with that human."""
    trials = al.simulate.cohort([0.9], [0.7], 0.7, 0.6, n_humans=1, n_trials=2000, rng=3)
    # As wide as the prior of a pair, so that only the models differ.
    wide = {"log_odds_ratio_mean": (0, 4), "log_odds_ratio_sd": 1.0}
    model = al.models.cohort(cohort_counts(trials), priors=wide)
    tree = al.inference.nuts(model, n_draws=4000, rng=1, target_accept=0.99)
    cohort = tree["posterior"]["error_consistency"].values.ravel()
    exact = al.error_consistency(trials, "human-model", n_draws=8000, rng=1)
    pairwise = exact.data["posterior"]["error_consistency"].values.ravel()
    ess = float(azs.ess(tree["posterior"].to_dataset()["error_consistency"]).min())
    sd = pairwise.std()
    # Monte Carlo error, and a prior worth a few of 2,000 trials.
    assert abs(cohort.mean() - pairwise.mean()) < 4 * sd / np.sqrt(ess) + 0.1 * sd
    assert cohort.std() == pytest.approx(sd, rel=4 * np.sqrt(0.5 / ess) + 0.1)


@pytest.mark.slow
def test_draws_are_nested_means(cohort_tree: xr.DataTree) -> None:
    draws = cohort_draws(cohort_tree)
    posterior, layout = cohort_tree["posterior"], layout_of(cohort_tree)
    evaluated = draws["system"].values[0]
    own = np.flatnonzero(layout["model"].values == evaluated)
    expected = posterior["copy_probability"].values[..., own].mean(axis=-1)
    found = draws["copy_probability"].sel(level="overall", system=evaluated).values
    np.testing.assert_allclose(found, expected)
    humans = posterior["human_error_consistency"].values.mean(axis=-1)
    np.testing.assert_allclose(
        draws["error_consistency"].sel(level="overall", system="human-human").values, humans
    )
    ratio = posterior["error_consistency"].values[..., own].mean(axis=-1) / humans
    np.testing.assert_allclose(
        draws["ceiling_normalized"].sel(level="overall", system=evaluated).values, ratio
    )


@pytest.mark.slow
def test_check_accepts_data_of_the_model_and_rejects_others(cohort_fit: xr.DataTree) -> None:
    table = cohort_check(cohort_fit, rng=1)
    layout = layout_of(cohort_fit)
    assert table["n_answers"].sum() == layout["shown"].values.sum()
    first = layout["n_right"].values == 0
    observed = layout["right"].values[first].sum() / layout["shown"].values[first].sum()
    assert table["observed"][0] == pytest.approx(observed)
    assert cohort_check(cohort_fit, "model", rng=1)["group"].nunique() == 6
    # The same fit, with responses that depend on the number of correct humans.
    wrong = cohort_fit.copy(deep=True)
    wrong["constant_data"]["right"].values[:] = np.where(layout["n_right"] == 2, layout["shown"], 0)
    assert cohort_check(wrong, rng=1)["p_value"].max() < 0.01


@pytest.mark.slow
def test_exchangeability_is_cochrans_q() -> None:
    rng = np.random.default_rng(4)
    right = (rng.random((5, 80)) < np.array([0.5, 0.6, 0.7, 0.8, 0.9])[:, None]).astype(int)
    trials = al.Trials.from_correct(right, kind=["human"] * 5)
    row = cohorts.test_equal_accuracy(trials).iloc[0]
    g, per_trial, k = right.sum(axis=1), right.sum(axis=0), 5
    q = (k - 1) * (k * (g**2).sum() - g.sum() ** 2) / (k * per_trial.sum() - (per_trial**2).sum())
    assert row["q"] == pytest.approx(q)
    assert row["p_value"] == pytest.approx(stats.chi2.sf(q, 4))
    # With identical humans, the p-value is uniform (Kolmogorov-Smirnov at 1e-4).
    p = [
        cohorts.test_equal_accuracy(
            al.Trials.from_correct(rng.integers(0, 2, (4, 300)), kind=["human"] * 4)
        )["p_value"][0]
        for _ in range(200)
    ]
    assert stats.kstest(p, "uniform").pvalue > 1e-4


def observed(accuracy: list[float], n: int = 200, datasets: int = 1, models: int = 1) -> al.Trials:
    """Independent humans with these accuracies, and models."""
    rng = np.random.default_rng(1)
    every = np.array([*accuracy, *[0.7] * models])
    right = rng.random((len(every), n)) < every[:, None]
    return al.Trials.from_correct(
        right.astype(int),
        kind=["human"] * len(accuracy) + ["model"] * models,
        dataset=[f"d{k * datasets // n}" for k in range(n)],
    )


UNLIKE, ALIKE = [0.5, 0.7, 0.9], [0.7, 0.7, 0.7]


def test_a_note_where_cochrans_q_contradicts_the_model() -> None:
    note = note_on_alike(observed(UNLIKE), "human")
    assert note == (
        "Humans differ in accuracy (Cochran's Q, p < 0.001): intervals for new humans are too "
        "narrow. Use human_effects='drawn'."
    )
    assert note_on_alike(observed(ALIKE), "human") == ""
    assert note_on_alike(observed([0.7]), "human") == ""
    # The humans do not differ.
    assert note_on_alike(al.Trials.from_correct([[1, 1], [1, 1], [0, 1]]), "human") == ""


def test_conditions_are_tested_jointly() -> None:
    """Q and its df add over two data sets, which differ jointly but not separately."""
    trials = observed([0.63, 0.7, 0.77], 200, 2)
    table = cohorts.test_equal_accuracy(trials)
    assert table["p_value"].min() > 0.01
    p = stats.chi2.sf(table["q"].sum(), 4)
    assert f"p = {p:.3f})" in note_on_alike(trials, "human")


@pytest.mark.slow
def test_scores_with_new_humans_and_with_these(prior_chains: None) -> None:
    """Check nested means, as for the other forms of the model, with prior draws."""
    trials = observed([0.5, 0.7, 0.9], 80)
    tree = al.fit_cohort(trials, n_draws=400, rng=1)
    assert tree.attrs["human_effects"] == "drawn"
    assert (cohort_scores(tree)["note"] == "").all()
    draws, posterior = cohort_draws(tree).sel(level="overall"), tree["posterior"].to_dataset()
    for end in ("", "_these"):
        score = posterior[f"error_consistency{end}"].isel(entry=0).values
        human = posterior[f"human_error_consistency{end}"].isel(condition=0).values
        by_system = draws[f"error_consistency{end}"]
        np.testing.assert_allclose(by_system.isel(system=0), score)
        np.testing.assert_allclose(by_system.sel(system="human-human"), human)
        np.testing.assert_allclose(draws[f"ceiling_normalized{end}"].isel(system=0), score / human)
    table = cohort_scores(tree)
    assert (table["humans"] == "new").all()
    assert {"error_consistency_these_eti95_lb", "ceiling_normalized_these_eti95_ub"} < set(table)
    # The check and the comparison use rows, one for each pattern.
    check = cohort_check(tree, rng=1)
    assert check["n_right"].tolist() == sorted(set(check["n_right"]))
    assert check["n_answers"].sum() == 80
    plain = cohort_scores(al.fit_cohort(trials, human_effects=False, n_draws=400, rng=1))
    assert (plain["humans"] == "alike").all()
    assert plain["note"].str.startswith("Humans differ in accuracy (Cochran's").all()
    assert "ceiling_normalized_these" not in plain
