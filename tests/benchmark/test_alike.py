"""How the humans of a cohort model differ, and what its scores are with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import alikely as al
from alikely.benchmark import cohorts
from alikely.benchmark.cohorts import cohort_check, cohort_draws, cohort_scores, note_on_alike


def observed(accuracy: list[float], n: int = 200, datasets: int = 1, models: int = 1) -> al.Trials:
    """Humans of these accuracies, independent of one another, and models."""
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
    # Nothing divides the humans.
    assert note_on_alike(al.Trials.from_correct([[1, 1], [1, 1], [0, 1]]), "human") == ""


def test_conditions_are_taken_together() -> None:
    """Of two data sets neither of which tells, both do: Q and its degrees of freedom add up."""
    trials = observed([0.63, 0.7, 0.77], 200, 2)
    table = cohorts.test_equal_accuracy(trials)
    assert table["p_value"].min() > 0.01
    p = stats.chi2.sf(table["q"].sum(), 4)
    assert f"p = {p:.3f})" in note_on_alike(trials, "human")


@pytest.mark.slow
def test_scores_with_new_humans_and_with_these(prior_chains: None) -> None:
    """Draws of the prior in the place of chains; nested means as of the other forms."""
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
    # What is checked and compared is made of rows, of which there is one for each pattern.
    check = cohort_check(tree, rng=1)
    assert check["n_right"].tolist() == sorted(set(check["n_right"]))
    assert check["n_answers"].sum() == 80
    plain = cohort_scores(al.fit_cohort(trials, human_effects=False, n_draws=400, rng=1))
    assert (plain["humans"] == "alike").all()
    assert plain["note"].str.startswith("Humans differ in accuracy (Cochran's").all()
    assert "ceiling_normalized_these" not in plain
