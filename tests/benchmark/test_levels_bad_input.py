"""Labels that cannot be what a benchmark takes them for: one clear line each."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al

ITEMS = [f"image_{k}" for k in range(30)]


def table(
    truths: tuple[str, str], datasets: tuple[str, str] = ("d", "d"), model: str = "model"
) -> pd.DataFrame:
    """Three people and a model in two conditions; the first image's true classes are given."""
    parts = []
    for condition, first, dataset in zip(("one", "two"), truths, datasets, strict=True):
        for number, observer in enumerate(["anna", "ben", "chris", model]):
            truth = np.array([first, *(["cat", "dog"] * 15)[:29]])
            response = truth.copy()
            response[number::5] = "car"
            parts.append(
                pd.DataFrame(
                    {
                        "observer": observer,
                        "kind": "human" if number < 3 else "model",
                        "dataset": dataset,
                        "condition": condition,
                        "item": ITEMS,
                        "truth": truth,
                        "response": response,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def scored(frame: pd.DataFrame, **options: Any) -> al.Result:
    trials = al.Trials.from_table(frame, classes=["cat", "dog", "car"])
    return al.benchmark_scores(trials, n_resamples=0, n_draws=0, **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scored(table(("cat", "dog"))), "item 'image_0' has the true class 'cat' in"),
        (
            lambda: scored(
                table(("cat", "dog"), ("d", "e")), item_scope="label", human_ids="shared"
            ),
            "in condition 'two' of data set 'e', but an image has one: pass item_scope='dataset'",
        ),
        (lambda: scored(table(("cat", "cat"), model="anna")), "observer 'anna' has kind 'human'"),
        (
            lambda: scored(pd.concat([table(("cat", "cat")), table(("cat", "cat")).iloc[[5]]])),
            (
                "observer 'anna' has two rows for item 'image_5' (dataset 'd', condition 'one', "
                "repeat 0): row 5 and row 240; number repeated trials"
            ),
        ),
    ],
)
def test_one_clear_line(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_labels_that_mean_what_they_say_are_scored() -> None:
    for truths, datasets, options in (
        (("cat", "cat"), ("d", "d"), {}),
        (("cat", "dog"), ("d", "d"), {"item_scope": "condition"}),
        (("cat", "dog"), ("d", "e"), {"human_ids": "shared"}),
    ):
        scores = scored(table(truths, datasets), **options)
        assert np.isfinite(scores.estimates["estimate"].values).all()
