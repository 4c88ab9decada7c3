"""Options of a session: validated, used by every function, and put back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import alikely as al
from alikely._base.random import seed_sequence
from alikely._base.settings import DEFAULTS
from alikely._base.steps import quietly, shows_progress


def test_functions_use_them_and_calls_override_them() -> None:
    trials = al.load_example()
    with al.options(ci_prob=0.8, ci_kind="hdi", n_draws=40, n_resamples=30, n_null=0, rng=3):
        found = al.error_consistency(trials, "human-human")
        own = al.error_consistency(trials, "human-human", ci_prob=0.9, n_draws=8, rng=4)
    attrs = found.data.attrs
    assert (attrs["ci_prob"], attrs["ci_kind"], attrs["seed"]) == (0.8, "hdi", "3")
    assert found.data["posterior"].sizes["draw"] == 10
    assert "p_null" not in found.estimates
    assert found.data["bootstrap"].sizes["resample"] == 30
    assert "posterior_hdi80_lb" in found.summary(intervals=["posterior"])
    assert (own.data.attrs["ci_prob"], own.data.attrs["seed"]) == (0.9, "4")
    assert own.data["posterior"].sizes["draw"] == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: al.pairwise_matrix(al.load_example()).data.attrs,
        lambda: al.trials_for_width(0.8, 0.7, 0.4, n_trials=200, rng=1).to_string(),
        lambda: al.inference.null_percentiles(60, n_grid=12),
    ],
)
def test_other_functions_use_the_probability(call: Callable[[], Any]) -> None:
    def text() -> str:
        return re.sub(r"0x\w+", "", str(call()))

    before = text()
    with al.options(ci_prob=0.5):
        assert text() != before
    assert text() == before


def test_one_seed_for_all_calls() -> None:
    with al.options(rng=5):
        assert seed_sequence(None).entropy == 5
        assert seed_sequence(6).entropy == 6
    assert seed_sequence(None).entropy != 5


def test_assignment_lasts_and_a_block_ends() -> None:
    try:
        al.options.n_draws = 12
        with al.options(n_draws=13, progressbar=True):
            assert (al.options.n_draws, al.options.progressbar) == (13, True)
            assert shows_progress()
            with quietly():
                assert not shows_progress()
        assert repr(al.options).startswith("options(ci_prob=0.95, ci_kind='eti', n_draws=12, ")
        with pytest.raises(ValueError, match="ci_prob"), al.options(n_draws=14, ci_prob=2):
            pass  # pragma: no cover
        assert al.options.n_draws == 12
    finally:
        al.options.n_draws = 4_000
    assert {name: getattr(al.options, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ci_prob", 1, r"ci_prob must lie strictly between 0 and 1, got 1; try 0.95"),
        ("ci_prob", "a", "ci_prob must be a number between 0 and 1"),
        ("ci_kind", "bca", "ci_kind must be 'eti' or 'hdi', got 'bca'"),
        ("n_draws", 1.5, "n_draws must be a whole number, got 1.5"),
        ("n_resamples", -1, "n_resamples must be at least 0, got -1"),
        ("progressbar", "yes", "progressbar must be one of None, True, False; got 'yes'"),
        ("rng", -2, "rng must not be negative, got -2"),
        ("rng", "seed", "rng must be None, a whole number, .* got str"),
        ("rng", True, "got bool"),
        ("n_draw", 1, "no option 'n_draw'; choose from ci_prob, .*; did you mean 'n_draws'"),
    ],
)
def test_bad_values_are_refused(name: str, value: object, message: str) -> None:
    with pytest.raises((AttributeError, TypeError, ValueError), match=message):
        setattr(al.options, name, value)
    assert {name: getattr(al.options, name) for name in DEFAULTS} == DEFAULTS
