"""Items that are easy for one group of observers and hard for another.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [F22] Fisher (1922). On the interpretation of chi-square from contingency tables, and the
   calculation of P. doi:10.2307/2340521
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.names import listed, nearest
from alikely.data.repeats import refuse_repeats
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.inference.intervals import adjusted_p_values

__all__ = ["ItemContrast", "item_contrast"]


class ItemContrast(NamedTuple):
    """Items by how easy they are for two groups."""

    items: pd.DataFrame
    counts: pd.DataFrame


def item_contrast(
    trials: Trials,
    one: str = "human",
    other: str = "model",
    *,
    easy: float = 0.8,
    hard: float = 0.2,
) -> ItemContrast:
    """Find the items that are easy for one group of observers and hard for another.

    That some items are easy for people and hard for machines shows nothing by itself: two groups
    whose difficulties are unrelated have many such items. How many is known, and is put beside the
    number that is found.

    Parameters
    ----------
    trials : Trials
        Aligned responses; no response is an error. Items count condition by condition.
    one, other : str
        Kinds of observers.
    easy, hard : float
        Least and greatest accuracy of an item that is easy and hard, ``0 <= hard < easy <= 1``.

    Returns
    -------
    ItemContrast

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If a group is unknown or both are one, thresholds are out of order, no item was shown to
        both groups, or items came back within a condition: tests and chance are of single answers.

    Notes
    -----
    Chance shuffles the items of one group within each condition: the number is a sum of
    hypergeometric ones, whose range and probabilities are exact. Fewer observed than expected says
    that both groups find the same items easy.

    Examples
    --------
    >>> import alikely as al
    >>> found = item_contrast(al.load_example().select(condition="noise"))
    >>> found.counts[["easy for", "observed"]].values.tolist()
    [['human', 2], ['model', 2]]
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"trials must be Trials, got {type(trials).__name__}")
    if not 0 <= hard < easy <= 1:
        raise ValueError(f"it must be 0 <= hard < easy <= 1, got hard={hard:g} and easy={easy:g}")
    refuse_repeats(trials.data, "a contrast of items")
    groups = trials.data["kind"].values.astype(str).tolist()
    if one == other:
        raise ValueError(f"one and other must be two groups, got {one!r} twice")
    known = sorted(set(groups))
    for name in (one, other):
        if name not in known:
            raise ValueError(
                f"no group {name!r} of observers; there are: {listed(known)}{nearest(name, known)}"
            )
    correct = trials.data["correct"].values
    right, seen = [], []
    for name in (one, other):
        own = correct[[group == name for group in groups]]
        seen.append((own != NOT_SHOWN).sum(axis=0))
        right.append((own == 1).sum(axis=0))
    kept = (seen[0] > 0) & (seen[1] > 0)
    if not kept.any():
        raise ValueError(f"no item was shown to both {one!r} and {other!r}")
    table = _items(trials, kept)
    n1, n2, k1, k2 = (values[kept] for values in (*seen, *right))
    table = table.assign(n_one=n1, n_other=n2, accuracy_one=k1 / n1, accuracy_other=k2 / n2)
    table["difference"] = table["accuracy_one"] - table["accuracy_other"]
    table["p_value"] = _fisher(n1, n2, k1, k2)
    table["p_value_bh"] = adjusted_p_values(table["p_value"])
    place = table.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    first, second = table["accuracy_one"].to_numpy(), table["accuracy_other"].to_numpy()
    rows = [
        {"easy for": name} | _by_chance(a >= easy, b <= hard, place)
        for name, a, b in ((one, first, second), (other, second, first))
    ]
    order = table["difference"].sort_values(ascending=False, kind="stable").index
    return ItemContrast(table.loc[order].reset_index(drop=True), pd.DataFrame(rows))


def _items(trials: Trials, kept: NDArray[np.bool_]) -> pd.DataFrame:
    data = trials.data
    names = ["dataset", "condition", "item"]
    table = pd.DataFrame({name: data[name].values[kept] for name in names})
    if trials.has_classes:
        table["truth"] = np.array(trials.classes, dtype=object)[data["truth"].values[kept]]
    return table


def _fisher(
    n1: NDArray[np.int64], n2: NDArray[np.int64], k1: NDArray[np.int64], k2: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Fisher's exact p of each item, once for each table."""
    cells = np.stack([k1, n1 - k1, k2, n2 - k2], axis=-1)
    different, where = np.unique(cells, axis=0, return_inverse=True)
    p = np.array([stats.fisher_exact(row.reshape(2, 2)).pvalue for row in different])
    return np.asarray(p[where.ravel()])


def _by_chance(
    easy: NDArray[np.bool_], hard: NDArray[np.bool_], place: NDArray[np.intp]
) -> dict[str, float]:
    """How many items are both, and how many would be if nothing connected the two."""
    chances, expected = np.ones(1), 0.0
    for number in np.unique(place):
        here = place == number
        n, a, b = int(here.sum()), int(easy[here].sum()), int(hard[here].sum())
        expected += a * b / n
        chances = np.convolve(chances, stats.hypergeom(n, a, b).pmf(np.arange(min(a, b) + 1)))
    observed, below = int((easy & hard).sum()), np.cumsum(chances)
    return {
        "observed": observed,
        "expected": expected,
        "chance_lb": int(np.searchsorted(below, 0.025)),
        "chance_ub": int(np.searchsorted(below, 0.975)),
        "p_fewer": float(min(below[observed], 1)),
        "p_more": float(min(chances[observed:].sum(), 1)),
    }
