"""What sentences and notes call items, readers as a group, and observers who never differ."""

from typing import Any

import numpy as np
import pytest

import alikely as al

NONE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "rng": 1}


def repeated(n_repeats: int = 2, **columns: Any) -> al.Trials:
    right = np.random.default_rng(1).random((2, 60)) < 0.7
    return al.Trials.from_correct(
        np.tile(right, n_repeats),
        item=[*range(60)] * n_repeats,
        repeat=np.repeat(np.arange(n_repeats), 60),
        **columns,
    )


def test_a_sentence_counts_items_where_these_are_the_unit() -> None:
    asked = {"n_null": 0, **NONE}
    result = al.error_consistency(repeated(), **asked)
    assert "over 60 items" in result.sentence()
    assert "60 trials" not in result.sentence()
    conditions = ["a"] * 60 + ["b"] * 60
    right = np.random.default_rng(1).random((2, 120)) < 0.7
    two = al.Trials.from_correct(right, item=[*range(60)] * 2, condition=conditions)
    both = al.error_consistency(two, **asked)
    assert "over 60 items each" in both.sentence()
    pair = both.data["estimates"]["pair"].values
    assert "over 60 items each" in al.estimates.contrast_sentence(both, pair[0], pair[1])
    # Pooled, an item counts for each condition; asked for, or told apart, trials are trials.
    pooled = al.error_consistency(two, by=None, **asked).sentence()
    assert "over 120 trials" in pooled
    alone = al.error_consistency(repeated(), cluster="trial", **asked).sentence()
    assert "over 120 trials" in alone


def test_all_readers_are_named_once() -> None:
    response = np.random.default_rng(3).integers(0, 3, (4, 80)).astype(str)
    columns: dict[str, Any] = {"condition": ["ct"] * 40 + ["mri"] * 40}
    trials = al.Trials.from_arrays(response, response[0], **columns)
    both = al.agreement(trials, readers="all", **NONE)
    assert "all readers" in both.sentence()
    assert "1 pair" not in both.sentence() + repr(both)
    assert "all readers and all readers" not in both.sentence()
    one = al.agreement(trials.select(condition="ct"), readers="all", **NONE)
    assert "of all readers" in one.sentence()
    assert "all readers and all readers" not in one.sentence()
    assert "entry of all readers" in repr(one)
    pairs = al.agreement(trials, **NONE)
    assert "6 pairs of observers" in pairs.sentence()


@pytest.mark.parametrize(
    ("n_errors", "other", "reason"),
    [
        (4, "same", "both err on the very same trials"),
        (30, "same", "both err on the very same trials"),
        (4, "never", "an observer never errs"),
        (30, "opposite", "where one errs the other is right"),
    ],
)
def test_a_standard_error_of_0_has_its_true_reason(n_errors: int, other: str, reason: str) -> None:
    right = np.arange(60) >= n_errors
    second = {"same": right, "never": np.ones(60, bool), "opposite": ~right}[other]
    result = al.error_consistency(al.Trials.from_correct([right, second]), n_null=0, **NONE)
    summary = result.summary(intervals=["analytic"])
    assert summary["se"].item() == 0
    assert reason in summary["note"].item()
