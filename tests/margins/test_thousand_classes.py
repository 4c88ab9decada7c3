"""Scores of 1,000 classes to margins of 16 categories, on synthetic logits.

Real activations of 1,000 classes are in no public table of margins: these are made up.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from scipy import special

import alikely as al

N_CLASSES, N_CATEGORIES = 1_000, 16
IDENTIFIERS = [f"n{number:08d}" for number in range(N_CLASSES)]
CATEGORIES = [f"category {number}" for number in range(N_CATEGORIES)]


def mapping(seed: int = 1, n_mapped: int = 200) -> dict[str, str]:
    """Categories of a fifth of the classes, and of an identifier that is none of them."""
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(N_CLASSES)[:n_mapped]
    found = {IDENTIFIERS[c]: CATEGORIES[k % N_CATEGORIES] for k, c in enumerate(chosen)}
    return found | {"n99999999": CATEGORIES[0]}


def scores(n_models: int, n_items: int, seed: int = 2) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(0, 3, (n_models, n_items, N_CLASSES))


def table(values: np.ndarray[Any, Any], name: str = "logit") -> pd.DataFrame:
    n_models, n_items, _ = values.shape
    codes = np.unravel_index(np.arange(values.size), values.shape)
    return pd.DataFrame(
        {
            "observer": pd.Categorical.from_codes(codes[0], [f"net {k}" for k in range(n_models)]),
            "item": pd.Categorical.from_codes(codes[1], [f"image {k}" for k in range(n_items)]),
            "class": pd.Categorical.from_codes(codes[2], IDENTIFIERS),
            "truth": pd.Categorical.from_codes(codes[1] % N_CATEGORIES, CATEGORIES),
            name: values.ravel(),
        }
    )


def by_hand(values: np.ndarray[Any, Any], coarse: dict[str, str], how: str) -> np.ndarray[Any, Any]:
    """Margins of (model, item) by the two published rules."""
    p = special.softmax(values, axis=-1)
    each = {
        "mean": lambda own: values[..., own].mean(axis=-1),
        "mean_probability": lambda own: np.log(p[..., own].mean(axis=-1)),
    }
    members = [[IDENTIFIERS.index(i) for i in coarse if coarse[i] == c and i in IDENTIFIERS]
               for c in CATEGORIES]  # fmt: skip
    grouped = np.stack([each[how](own) for own in members], axis=-1)
    truth = np.arange(values.shape[1]) % N_CATEGORIES
    right = np.eye(N_CATEGORIES, dtype=bool)[truth]
    other = np.where(right, -np.inf, grouped).max(axis=-1)
    return np.asarray((grouped[:, right] - other) / np.sqrt(2))


@pytest.mark.parametrize("layout", ["logit", "probability"])
@pytest.mark.parametrize("how", ["mean", "mean_probability"])
def test_margins_of_categories_by_hand(
    layout: str, how: Literal["mean", "mean_probability"]
) -> None:
    values, coarse = scores(2, 16), mapping()
    given = values if layout == "logit" else special.softmax(values, axis=-1)
    found = al.margins.decision_margins(
        table(given, layout), coarse=coarse, how=how, unmapped="ignore"
    )
    # Logarithms of probabilities down to 1e-13 are right to 1e-12.
    np.testing.assert_allclose(
        found["margin"].to_numpy().reshape(2, 16), by_hand(values, coarse, how), atol=1e-11
    )
    assert set(found["note"]) == {"800 of 1000 classes without a category left out"}


def test_what_is_left_out_is_told_in_the_note() -> None:
    values, coarse = scores(2, 32), mapping()
    # The second model lacks one class: it is filled with zeros.
    flat = next(k for k, name in enumerate(IDENTIFIERS) if name in coarse)
    values[1, :, flat] = 0
    margins = al.margins.decision_margins(table(values), coarse=coarse, unmapped="ignore")
    left = "800 of 1000 classes without a category left out"
    same = f"same score for all items in 1 classes, the first is '{IDENTIFIERS[flat]}'"
    assert margins.groupby("observer")["note"].unique().map(list).tolist() == [
        [left],
        [f"{left}; {same}"],
    ]


@pytest.mark.parametrize("how", ["mean_probability", "mean"])
def test_probabilities_of_0_add_to_others_of_their_category(how: Any) -> None:
    """Stored with four digits, most probabilities of 1,000 classes are 0."""
    coarse = mapping()
    p = np.zeros((1, 16, N_CLASSES))
    first = [next(IDENTIFIERS.index(i) for i in coarse if coarse[i] == c) for c in CATEGORIES[1:]]
    first.append(IDENTIFIERS.index(next(i for i in coarse if coarse[i] == CATEGORIES[0])))
    p[..., first] = 1 / 16
    given = {"coarse": coarse, "how": how, "unmapped": "ignore"}
    if how == "mean":
        with pytest.raises(ValueError, match=r"a probability of .* item 'image 0' is 0"):
            al.margins.decision_margins(table(p, "probability"), **given)
        return
    found = al.margins.decision_margins(table(p, "probability"), **given)
    assert np.isfinite(found["margin"]).all()
    p[0, 3, first[0]], p[0, 3, first[1]] = 0, 2 / 16
    with pytest.raises(ValueError, match=r"all probabilities of a category of .*'image 3' are 0"):
        al.margins.decision_margins(table(p, "probability"), **given)
