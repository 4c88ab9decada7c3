"""What cannot be planned is said in one line: argument, expected, got, fix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al

NAN, POINT = np.nan, {"n_resamples": 0, "n_draws": 0}
PAIR = {"accuracy_a": 0.75, "accuracy_b": 0.75, "ec": 0.5}
SAME = {
    "accuracy_human": 0.75, "accuracy_a": 0.75, "accuracy_b": 0.75, "ec_a": 0.5, "ec_b": 0.3,
    "ec_models": 0.4,
}  # fmt: skip
GIVEN: dict[str, dict[str, Any]] = {
    "trials_for_width": PAIR | {"width": 0.2},
    "trials_for_power": PAIR,
    "trials_for_difference": SAME,
    "plan_from": {"source": PAIR, "n_trials": [100]},
    "items_for_margins": {"dmc": 0.3},
    "items_for_agreement": {"value": 0.5, "width": 0.2},
    "choose_conditions": {},
    "best_design": {"budget": 100.0, "cost_per_trial": 0.8, "cost_per_observer": 10.0},
    "expected_errors": {"n_observers": 4, "n_images": 100},
}
BAD: list[tuple[str, dict[str, Any], str]] = [
    ("trials_for_width", {"accuracy_a": 0.9, "accuracy_b": 0.5}, r"in \[-0.2000, 0.2000\] for acc"),
    ("trials_for_width", {"accuracy_b": NAN}, "accuracy_b must lie strictly .* got nan"),
    ("trials_for_width", {"n_trials": 100}, "not both or neither"),
    ("trials_for_width", {"width": [0.2, 2.1]}, r"width must lie in \(0, 2\], .* got 2.1"),
    ("trials_for_width", {"assurance": 1}, "assurance must lie .* got 1; try 0.8, or leave it"),
    ("trials_for_power", {"against": NAN}, "against must be an error consistency .* got nan"),
    ("trials_for_power", {"ec": -0.2, "alternative": "greater"}, "must be greater than 0 for"),
    ("trials_for_difference", {"ec_a": 0.8, "ec_b": 0.1, "ec_models": 0.8}, "the two models must"),
    ("trials_for_difference", {"accuracy_human": 1}, "accuracy_human must lie strictly .* got 1"),
    ("plan_from", {"rope": (0.1, -0.1)}, "rope must be"),
    ("plan_from", {"source": PAIR | {"ec": [NAN]}}, "ec must be a number, a frozen"),
    ("plan_from", {"source": {"ec": 0.5}}, "must have the keys accuracy_a, accuracy_b, ec"),
    ("items_for_margins", {"dmc": [0.5] * 3, "against": [0.1, 0.2]}, r"against \(2,\), .*; to"),
    ("items_for_margins", {"power": 1}, "power must .* got 1; it cannot"),
    ("items_for_margins", {"n_observers": 5, "item_mean": 0.5, "item_sd": 0.6}, "and below 0.5"),
    ("items_for_agreement", {"value": 1.0}, "and below 1; got 1"),
    ("items_for_agreement", {"n_items": 50}, "not both or neither"),
    ("items_for_agreement", {"class_frequencies": (0.5, 0.6)}, r"the sum 1, got \(0.5, 0.6\)"),
    ("items_for_agreement", {"coefficient": "error_consistency"}, "trials_for_width"),
    ("best_design", {"budget": 10.0}, "budget must be at least 36, the cost of 2 humans with"),
    ("best_design", {"max_images": 3}, "max_images must be at least 10"),
    ("expected_errors", {"n_repeats": 2}, "n_repeats must be 1: the pilot has no repeats"),
]  # fmt: skip


@pytest.fixture(scope="module")
def first() -> dict[str, Any]:
    """What comes before the numbers: trials, or the components of a pilot of one condition."""
    trials = al.load_example()
    components = al.planning.variance_components(trials.select(condition="noise")).tail(1)
    return {
        "choose_conditions": trials, "best_design": components, "expected_errors": components
    }  # fmt: skip


@pytest.mark.parametrize(("function", "change", "message"), BAD)
def test_bad_input_gets_one_line(
    function: str, change: dict[str, Any], message: str, first: dict[str, Any]
) -> None:
    before = [first[function]] if function in first else []
    with pytest.raises(ValueError, match=message) as caught:
        getattr(al.planning, function)(*before, **GIVEN[function] | change)
    assert "\n" not in str(caught.value)


def test_bad_pilots() -> None:
    plans, trials = al.planning, al.load_example()
    with pytest.raises(ValueError, match="at least 4 humans in a data set, 'all' has 3"):
        plans.variance_components(al.simulate.observers(3, 1, 50, rng=1))
    components = plans.variance_components(trials)
    with pytest.raises(ValueError, match="components lacks the column 'images'"):
        plans.expected_errors(components.drop(columns="images"), 4, 10)
    uneven = al.Trials.from_correct(
        np.random.default_rng(1).integers(0, 2, (4, 5)), kind=["human"] * 4,
        item=[0, 0, 1, 1, 2], repeat=[0, 1, 0, 1, 0],
    )  # fmt: skip
    with pytest.raises(ValueError, match="shown equally often, got 1 to 2 times"):
        plans.variance_components(uneven)
    once = al.error_consistency(trials, **POINT)
    with pytest.raises(ValueError, match="the effect of repeats is unknown"):
        plans.plan_repeats(once)
    again = al.error_consistency(al.simulate.repeated_answers(30, (2, 2), rng=1)[0], **POINT)
    for given, match in (([0], "whole numbers of at least 1"), ([1.5], "got 1.5")):
        with pytest.raises(ValueError, match=match):
            plans.plan_repeats(again, given)
    with pytest.raises(ValueError, match="n_items must be whole numbers of at least 2"):
        plans.plan_repeats(again, n_items=1)
    with pytest.raises(ValueError, match="keep_pilot=False"):
        plans.plan_from(again, n_trials=[100], keep_pilot=True)
    with pytest.raises(TypeError, match="expected Result"):
        plans.plan_repeats(pd.DataFrame())  # type: ignore[arg-type]
