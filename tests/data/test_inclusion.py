"""Trials with the plan by which their images were selected."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.data.blocks import blocks
from alikely.data.inclusion import refuse_inclusion
from alikely.inference.weighting import TOSSED

ITEMS = list("uvwxyz")


def trials(shown: str = "uvwx", **more: Any) -> al.Trials:
    correct = np.ma.masked_all((3, 6))
    correct[1:] = [[1, 1, 0, 0, 1, 1], [1, 0, 1, 0, 1, 0]]
    for item in shown:
        correct[0, ITEMS.index(item)] = item in "uw"
    kinds = ["human", "model", "model"]
    return al.Trials.from_correct(
        correct, observers=["anna", "A", "B"], kind=kinds, item=ITEMS, **more
    )


def plan(**more: Any) -> pd.DataFrame:
    table = pd.DataFrame({"item": list("uvwx"), "inclusion": [0.5, 0.5, 1.0, 0.8]})
    return table.assign(**more)


def test_cells_are_weighted_and_sum_to_the_trials() -> None:
    weighted = trials().with_inclusion(plan(), generalize_to="pool")
    table = al.data.joint_correctness(weighted, [("anna", "A")])
    w = 4 * np.array([2, 2, 1, 1.25]) / 6.25
    # anna is correct on u and w, A on u and v.
    np.testing.assert_allclose(table["cells"].values[0], [w[0], w[2], w[1], w[3]], rtol=1e-12)
    (block,) = blocks(table)
    assert block.chosen
    assert block.generalize_to == "pool"
    assert weighted.notes == ["2 images outside the plan, which models alone saw, are left out"]


def test_equal_inclusion_agrees_with_plain_trials() -> None:
    equal = plan(inclusion=0.4)
    weighted = trials().with_inclusion(equal, generalize_to="images")
    plain = al.Trials.from_table(weighted.to_table())
    ours, theirs = (
        al.error_consistency(t, [("anna", "A")], n_resamples=0, n_draws=0)
        for t in (weighted, plain)
    )
    assert ours.estimates["interval_center"].item() == pytest.approx(
        theirs.estimates["estimate"].item()
    )
    # Sampling variance for new images, with the small-sample factor, and pseudo-responses: each of
    # the four images once. Either response of anna, given A's, is 1 from its mean.
    n = 4
    variance = theirs.estimates["se"].item() ** 2 * n / (n - 1) + TOSSED / n * n / n**2 * n / (
        n - 1
    )
    assert ours.estimates["se"].item() == pytest.approx(np.sqrt(variance))


@pytest.mark.parametrize(
    ("table", "generalize_to", "humans", "message"),
    [
        (plan(), "all", "human", "generalize_to must be 'pool' .these images. or 'images'"),
        (plan(inclusion=[0.5, 0.5, 0, 1]), "pool", "human", "a probability in .0, 1., got 0"),
        (plan()[:3], "pool", "human", "'anna' saw 1 image outside the plan, such as 'x', with"),
        (plan(item=list("uuwx"), inclusion=[0.5, 0.6, 1, 1]), "pool", "human", "several probab"),
        (plan(), "pool", "person", "no observer is of kind 'person'; kinds are human, model"),
    ],
)
def test_plans_that_do_not_fit(
    table: pd.DataFrame, generalize_to: Any, humans: str, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        trials().with_inclusion(table, generalize_to=generalize_to, humans=humans)


def test_humans_of_separate_lists_are_not_compared() -> None:
    table = plan(list=[1, 1, 2, 2])
    correct = np.ma.masked_all((3, 6))
    correct[2] = 1
    correct[0, :2], correct[1, 2:4] = [1, 0], [0, 1]
    names = ["anna", "bea", "A"]
    kinds = ["human", "human", "model"]
    apart = al.Trials.from_correct(correct, observers=names, kind=kinds, item=ITEMS)
    weighted = apart.with_inclusion(table, generalize_to="pool")
    with pytest.raises(ValueError, match="saw separately sampled lists of images"):
        al.data.joint_correctness(weighted, [("anna", "bea")])
    assert al.data.joint_correctness(weighted, "human-model").sizes["pair"] == 2


def test_functions_without_weights_raise_an_error() -> None:
    weighted = trials().with_inclusion(plan(), generalize_to="pool")
    for func in (al.pairwise_matrix, lambda t: al.data.cohort_counts(t)):
        with pytest.raises(
            ValueError, match=r"were chosen by a plan, but .* treats all as equally"
        ):
            func(weighted)
    refuse_inclusion(trials().data, "anything")
    result = al.error_consistency(weighted, "human-model", n_resamples=0, n_draws=0)
    with pytest.raises(ValueError, match="were chosen by a plan"):
        al.test_copy_model(result)
