"""Which form of the cohort model trials ask for, and what its scores are with."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import alikely as al
from alikely.benchmark.alike import form_of_cohort
from alikely.benchmark.cohorts import cohort_draws, cohort_scores, compare_cohorts


def observed(accuracy: list[float], n: int = 200, datasets: int = 1) -> al.Trials:
    """Humans of these accuracies, independent of one another, and a machine."""
    rng = np.random.default_rng(1)
    right = rng.random((len(accuracy) + 1, n)) < np.array([*accuracy, 0.7])[:, None]
    return al.Trials.from_correct(
        right.astype(int),
        kind=["human"] * len(accuracy) + ["model"],
        dataset=[f"d{k * datasets // n}" for k in range(n)],
    )


@pytest.mark.parametrize(
    ("accuracy", "plain", "form", "why"),
    [
        ([0.5, 0.7, 0.9], False, "drawn", "humans differ in accuracy; Cochran's Q"),
        ([0.7, 0.7, 0.7], False, False, "do not differ in accuracy more than by chance"),
        ([0.5, 0.7, 0.9], True, False, "beside other options"),
        ([0.7], False, False, "too few humans"),
    ],
)
def test_the_form_follows_cochrans_q(
    accuracy: list[float], plain: bool, form: object, why: str
) -> None:
    found, reason = form_of_cohort(observed(accuracy), "model", "human", "error", plain)
    assert found == form
    assert why in reason


def test_people_are_not_drawn_unasked_where_it_would_take_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = observed([0.5, 0.7, 0.9])
    # Eight patterns of three people, and one machine.
    for most, form in ((7, False), (8, "drawn")):
        monkeypatch.setattr("alikely.benchmark.alike.MOST_ROWS", most)
        found, why = form_of_cohort(trials, "model", "human", "error", False)
        assert found == form
        assert ("but 8 counts by who was right would take long: human_effects='drawn'" in why) == (
            most == 7
        )


def test_conditions_are_taken_together() -> None:
    """Of two data sets neither of which tells, both do."""
    trials = observed([0.63, 0.7, 0.77], 200, 2)
    table = al.benchmark.exchangeability(trials)
    together, _ = form_of_cohort(trials, "model", "human", "error", False)
    assert together == "drawn"
    assert table["p_value"].min() > 0.01


@pytest.mark.slow
def test_scores_with_new_humans_and_with_these(prior_chains: None) -> None:
    """Draws of the prior in the place of chains; nested means as of the other forms."""
    trials = observed([0.5, 0.7, 0.9], 80)
    tree = al.fit_cohort(trials, n_draws=400, rng=1)
    assert tree.attrs["human_effects"] == "drawn"
    assert "Cochran" in tree.attrs["human_effects_why"]
    draws, posterior = cohort_draws(tree).sel(level="overall"), tree["posterior"].to_dataset()
    for end in ("", "_these"):
        score = posterior[f"error_consistency{end}"].isel(entry=0).values
        human = posterior[f"human_error_consistency{end}"].isel(condition=0).values
        by_system = draws[f"error_consistency{end}"]
        np.testing.assert_allclose(by_system.isel(system=0), score)
        np.testing.assert_allclose(by_system.sel(system="human-human"), human)
        np.testing.assert_allclose(draws[f"ceiled{end}"].isel(system=0), score / human)
    table = cohort_scores(tree)
    assert (table["humans"] == "new").all()
    assert {"error_consistency_these_eti95_lb", "ceiled_these_eti95_ub"} < set(table)
    # What is checked and compared is made of rows, of which there is one for each pattern.
    check = al.benchmark.cohort_check(tree, rng=1)
    assert check["n_right"].tolist() == sorted(set(check["n_right"]))
    assert check["n_answers"].sum() == 80
    for effects, who in ((False, "alike"), (True, "these")):
        plain = al.fit_cohort(trials, human_effects=effects, n_draws=400, rng=1)
        assert (cohort_scores(plain)["humans"] == who).all()
        assert plain.attrs["human_effects_why"] == "asked for"
        assert "ceiled_these" not in cohort_scores(plain)
        with pytest.raises(ValueError, match="or one counts them by who was right"):
            compare_cohorts({"people": tree, "plain": plain})


@pytest.mark.slow
def test_a_model_of_ones_own_keeps_its_rows(prior_chains: None) -> None:
    trials = observed([0.5, 0.7, 0.9], 80)
    counts = al.data.cohort_counts(trials, who_was_right=True)
    model = al.models.cohort(counts, human_effects="drawn", priors={"ability_sd": 1.0})
    tree: xr.DataTree = al.fit_cohort(trials, model=model, n_draws=100, rng=1)
    assert tree.attrs["human_effects"] == "drawn"
    assert tree["posterior"].sizes["row"] == counts.sizes["stratum"]
