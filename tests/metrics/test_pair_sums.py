"""Sums of pair estimates over shared trials against the covariance matrix of all pairs."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al
from alikely.inference.influence import covariance_of
from alikely.metrics.answers import SLICE, combined_influence


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_the_variance_is_that_of_the_covariance_matrix(
    share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(5)
    correct = (rng.random((7, 300)) < rng.random(300)).astype(float)
    correct[rng.random(correct.shape) < share] = np.nan
    trials = al.Trials.from_correct(correct)
    table = al.data.joint_correctness(trials, by=None)
    weight = rng.normal(size=table.sizes["pair"])
    expected = covariance_of(table, al.metrics.ERROR_CONSISTENCY, None, weight[None]).item()
    cells = table["cells"].values.astype(float)
    slopes = al.metrics.ERROR_CONSISTENCY.influence(cells)
    slopes *= (weight / cells.sum(axis=1))[:, None]
    monkeypatch.setattr("alikely.metrics.answers.SLICE", SLICE // 100_000)
    influence = combined_influence(
        table["correct"].values, table["first"].values, table["second"].values, slopes
    )
    assert (influence**2).sum() == pytest.approx(expected, rel=1e-12)
