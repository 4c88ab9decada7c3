"""Repeats and shared items: intervals over items hold, those over answers do not."""

from collections.abc import Callable

import numpy as np
import pytest

from studies.coverage_items import item_coverage, item_coverage_summary


@pytest.mark.slow
def test_items_are_the_unit_that_holds(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    n_sets = sets(100, 50)
    table = item_coverage_summary(item_coverage(n_sets, n_draws=500, rng=2))
    for row in table.itertuples():
        name = f"{row.design}, {row.n_repeats} answers, within {row.within}, {row.unit}"
        figure(f"{name}, {row.method}: {row.coverage:.3f}")
    room = 4 * np.sqrt(0.95 * 0.05 / n_sets)
    items = table[table["unit"] == "items"]
    assert (items["coverage"] >= 0.95 - room).all()
    same = table[(table["unit"] == "trials") & (table["n_repeats"] == 5) & (table["within"] == 1)]
    # Intervals that are sqrt(5) too narrow: 2 Phi(1.96 / sqrt(5)) - 1 = .62.
    assert (np.abs(same["coverage"] - 0.62) < 4 * np.sqrt(0.62 * 0.38 / n_sets)).all()
    # Unlinked conditions make the difference less sure than it is.
    apart = table[table["design"] == "modalities"].set_index(["unit", "method"])["width"]
    assert (apart["trials"] > 1.05 * apart["items"]).all()


def test_bad_numbers() -> None:
    with pytest.raises(ValueError, match="n_datasets must be a multiple of 25, got 30"):
        item_coverage(30)
