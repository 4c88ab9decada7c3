"""Response bias at the door: strengths freed of it, from trials, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.margins.tables import class_answers, margin_table

N_ITEMS, N_CLASSES, N_PEOPLE = 60, 5, 12
RHO = 0.8
BIAS = np.array([1.2, 0.4, 0.0, -0.6, -1.0])


def biased(seed: int = 1, n_lists: int = 1) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Answers of people who like some classes, and margins of a machine, as long tables."""
    rng = np.random.default_rng(seed)
    truth = np.arange(N_ITEMS) % N_CLASSES
    z = rng.normal(size=N_ITEMS)
    evidence = BIAS + rng.normal(size=(N_PEOPLE, N_ITEMS, N_CLASSES))
    evidence[:, np.arange(N_ITEMS), truth] += 1.5 + 1.2 * z
    answer = evidence.argmax(axis=-1)
    rows = [
        {"observer": f"p{o}", "kind": "human", "item": f"i{i}", "truth": f"c{truth[i]}",
         "response": f"c{answer[o, i]}"}
        for o in range(N_PEOPLE) for i in range(N_ITEMS) if i % n_lists == o % n_lists
    ]  # fmt: skip
    margin = RHO * z + np.sqrt(1 - RHO**2) * rng.normal(size=N_ITEMS)
    items = [f"i{i}" for i in range(N_ITEMS)]
    table = pd.DataFrame({"observer": "net", "item": items, "margin": margin})
    return pd.DataFrame(rows), al.margins.decision_margins(table)


def test_answers_are_counted_by_class() -> None:
    answers, margins = biased()
    answers.loc[[3, 7], "response"] = None
    trials = al.Trials.from_table(answers)
    # Items in another order than those of the trials, and one that nobody saw.
    more = pd.concat([margins.iloc[::-1], margins.iloc[:1].assign(item="unseen")])
    found = class_answers(trials, margin_table(trials, more))
    counted = answers.groupby(["item", "response"]).size()
    table = found["answers"].sel(observer="human").to_pandas()
    table.index = found["item"].values
    assert table.sum().sum() == len(answers) - 2
    for (item, response), n in counted.items():
        assert table.loc[item, response] == n
    assert int(found["n_silent"].sel(observer="human").sum()) == 2
    assert not found["answers"].sel(observer="net").values.any()


@pytest.mark.slow
def test_strengths_are_freed_of_bias(chains: bool, tmp_path: Path) -> None:
    answers, margins = biased()
    answers.loc[3, "response"] = None
    trials = al.Trials.from_table(answers)
    result = al.decision_margin_consistency(
        trials, margins, model="criteria", n_draws=1000, n_resamples=0, rng=1
    )
    row = result.summary().iloc[0]
    assert row["scale"] == "strength"
    assert result.data.attrs["model"] == "criteria"
    assert "1 trials without a response are in no class" in row["note"]
    criteria = result.data["criteria"].to_dataset()
    assert criteria["class"].values.tolist() == [f"c{k}" for k in range(N_CLASSES)]
    if chains:
        # Posterior standard deviations of a rho of .8 by 60 items are about .06.
        assert row["posterior_eti95_lb"] < RHO < row["posterior_eti95_ub"]
        z = (criteria["mean"].values[0] - (BIAS - BIAS.mean())) / criteria["sd"].values[0]
        # The largest of five normal numbers is above 4 once in 3,000 data sets.
        assert np.abs(z).max() < 4
    ax = al.plot_margins(result, "strengths")
    assert "human" in ax.get_xlabel()
    result.save(tmp_path / "r.nc")
    again = al.Result.load(tmp_path / "r.nc")
    np.testing.assert_array_equal(again.data["criteria"]["mean"], criteria["mean"])


def test_machines_have_no_bias_and_groups_no_model(prior_chains: None) -> None:
    answers, margins = biased()
    other = margins.assign(observer="other", margin=np.cos(np.arange(N_ITEMS)))
    answers["lab"] = np.where(answers["observer"].isin(["p0", "p1", "p2"]), "here", "there")
    trials = al.Trials.from_table(answers, labels=["lab"])
    result = al.decision_margin_consistency(
        trials, pd.concat([margins, other]), group="lab", model="criteria",
        pairs=[("net", "other"), ("here", "there"), ("there", "net")], n_draws=400,
        n_resamples=0, rng=1,
    )  # fmt: skip
    machines, groups, mixed = result.summary().itertuples(index=False)
    assert machines.scale == "margin"
    assert np.isfinite(machines.posterior_median)
    assert np.isnan(groups.posterior_median)
    assert "criteria are estimated for a machine and a group" in groups.note
    assert np.isfinite(mixed.posterior_median)
    known = np.isfinite(result.data["criteria"]["mean"].values).all(axis=1)
    assert known.tolist() == [False, False, True]
