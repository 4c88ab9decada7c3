"""Cues and items that separate groups of observers: shape bias, items easy for one group alone.

References
----------
.. [F22] Fisher (1922). On the interpretation of chi-square from contingency tables, and the
   calculation of P. doi:10.2307/2340521
.. [G19] Geirhos, Rubisch, Michaelis, Bethge, Wichmann, Brendel (2019). ImageNet-trained CNNs are
   biased towards texture. doi:10.48550/arXiv.1811.12231
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [W27] Wilson (1927). Probable inference, the law of succession, and statistical inference.
   doi:10.1080/01621459.1927.10502953
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely._base.intervals import Intervals, bound_columns, chosen_methods
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import refuse_repeats
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.estimates.analysis import check_numbers
from alikely.inference.intervals import adjusted_p_values, interval

__all__ = ["cue_bias", "item_contrast"]

# ``cat3-dog12``: the shape of a cat with the texture of a dog, as cue-conflict images are named.
CONFLICT = re.compile(r"^(?:.*_)?([A-Za-z]+)\d+-([A-Za-z]+)\d+(?:\.\w+)?$")


CI_PROB = 0.95


def cue_bias(
    trials: Trials,
    attribute: str | Mapping[str, str] = "texture",
    *,
    dataset: str | None = None,
    n_resamples: int = 2_000,
    intervals: Intervals = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Estimate how often each observer decides for a cue that competes with the truth.

    Of images with the shape of one class and the texture of another (the truth being the shape),
    the share of decisions for the texture among those for either is the texture bias; 1 less it is
    the shape bias [G19]_ [G20]_.

    Parameters
    ----------
    trials : Trials
        With classes.
    attribute : str or mapping of str to str
        What the competing cue says: ``"texture"`` reads it from names of items such as
        ``cat3-dog12`` (shape, then texture); the name of another coordinate of ``trial`` that holds
        it; or the class by item. Items without are left out.
    dataset : str, optional
        Data set to use. Default: all.
    n_resamples : int
        Bootstrap samples of the items and posterior draws, at least 2.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Intervals to show (Wilson [W27]_, resampled items, Beta posterior). Default: the posterior.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per observer: ``observer, kind``, ``estimate`` (share of decisions for the competing
        cue) and its intervals, ``n_decisions`` for either cue, ``n_items`` that the observer was
        shown, ``decided`` (the former over the latter), ``note``.

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If only correctness is known, items come back within a condition, the name of an item
        says another shape than its truth, a cue is no class, or no item has a cue that conflicts
        with its truth; or a number is out of range.

    Notes
    -----
    No response, or one for a third class, is no decision for either cue. Observers who were not
    shown an item have no decision there.

    Coverage of 95 % intervals of one observer in 400 simulated experiments (80 conflicts), Monte
    Carlo error .011: .955 (analytic), .938 (bootstrap), .955 (posterior).

    Examples
    --------
    >>> trials = Trials.from_arrays(
    ...     [["cat", "dog", "cat"], ["dog", "cat", "cat"]],
    ...     ["cat", "dog", "dog"],
    ...     item=["cat1-dog1", "dog1-cat1", "dog2-dog1"],
    ...     observers=["anna", "net"],
    ...     kind=["human", "model"],
    ... )
    >>> cue_bias(trials, rng=1)[["observer", "estimate", "n_decisions"]].values.tolist()
    [['anna', 0.0, 2], ['net', 1.0, 2]]
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"trials must be Trials, got {type(trials).__name__}")
    check_numbers(n_resamples=n_resamples)
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples}")
    if dataset is not None:
        trials = trials.select(dataset=dataset)
    classes, data = trials.classes, trials.data
    items = data["item"].values.astype(str)
    refuse_repeats(data, "the bias of decisions")
    truth = np.array(classes, dtype=object)[data["truth"].values]
    cue = _cues(trials, attribute, items, truth)
    numbers = {name: k for k, name in enumerate(classes)}
    odd = next((name for name in cue if name and name not in numbers), None)
    if odd is not None:
        raise ValueError(
            f"a cue says {odd!r}, which is no class of the trials: {listed(classes)}"
            f"{nearest(odd, classes)}"
        )
    conflict = np.array([bool(name) and name != own for name, own in zip(cue, truth, strict=True)])
    if not conflict.any():
        raise ValueError("no item has a cue that says another class than its truth")
    where = np.flatnonzero(conflict)
    response = data["response"].values[:, where]
    said = np.array([numbers[cue[t]] for t in where])
    table = pd.DataFrame({"observer": trials.observers, "kind": data["kind"].values.astype(str)})
    shown = (data["correct"].values[:, where] != NOT_SHOWN).sum(axis=1)
    right = response == data["truth"].values[where]
    return _shares(table, response == said, right, shown, n_resamples, intervals, rng)


def _shares(
    table: pd.DataFrame,
    competing: NDArray[np.bool_],
    true: NDArray[np.bool_],
    shown: NDArray[np.int64],
    n_resamples: int,
    intervals: Intervals,
    rng: RandomState,
) -> pd.DataFrame:
    """Add shares of decisions for the competing cue with intervals to a table of observers."""
    generator = np.random.default_rng(seed_sequence(rng))
    wrong, right = competing.sum(axis=1), true.sum(axis=1)
    n, n_items = wrong + right, competing.shape[1]
    times = generator.multinomial(n_items, np.full(n_items, 1 / n_items), n_resamples)
    draws = generator.beta(wrong + 0.5, right + 0.5, (n_resamples, len(n)))
    with np.errstate(invalid="ignore", divide="ignore"):
        table = table.assign(estimate=wrong / n)
        follows = times @ competing.T
        resampled = np.asarray(follows / (follows + times @ true.T))
        decided = n / shown
    bounds = {
        "analytic": _wilson(wrong, n),
        "bootstrap": interval(resampled, CI_PROB, "eti"),
        "posterior": interval(draws, CI_PROB, "eti"),
    }
    for method in chosen_methods(intervals, [*bounds], [*bounds], "posterior"):
        bounds[method][n == 0] = np.nan
        kind = "ci" if method == "analytic" else "eti"
        table = table.assign(**bound_columns(method, kind, CI_PROB, bounds[method]))
    return table.assign(
        n_decisions=n,
        n_items=shown,
        decided=decided,
        note=np.where(n == 0, "no decision for either cue", ""),
    )


def _cues(
    trials: Trials, attribute: str | Mapping[str, str], items: NDArray[Any], truth: NDArray[Any]
) -> list[str]:
    """What the competing cue says on each trial; empty where there is none."""
    if isinstance(attribute, Mapping):
        given = {str(item): str(cue) for item, cue in attribute.items()}
        return [given.get(item, "") for item in items]
    if not isinstance(attribute, str):
        raise TypeError(
            "attribute must be 'texture', a coordinate of the trials or a mapping of items to "
            f"classes, such as a dict, got {type(attribute).__name__}"
        )
    if attribute != "texture":
        known = [str(c) for c in trials.data.coords if trials.data[c].dims == ("trial",)]
        if attribute not in known:
            raise ValueError(
                f"attribute must be 'texture', a coordinate of the trials or a mapping of items to "
                f"classes, got {attribute!r}; coordinates are {listed(known)}"
            )
        return [str(cue) for cue in trials.data[attribute].values]
    cues = []
    for item, own in zip(items, truth, strict=True):
        found = CONFLICT.match(str(item))
        if found and found[1] != own:
            raise ValueError(
                f"item {item!r} is named after the shape {found[1]!r}, but its truth is {own!r}; "
                "give attribute= as a mapping of items to classes"
            )
        cues.append(found[2] if found else "")
    return cues


def _wilson(k: NDArray[np.int64], n: NDArray[np.int64]) -> Floats:
    z = stats.norm.ppf((1 + CI_PROB) / 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = k / n
        center = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.clip(np.stack([center - reach, center + reach], axis=-1), 0, 1)


def item_contrast(
    trials: Trials,
    one: str = "human",
    other: str = "model",
    *,
    easy: float = 0.8,
    hard: float = 0.2,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Find the items that are easy for one group of observers and hard for another.

    That some items are easy for people and hard for models shows nothing by itself: two groups
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
    items : pandas.DataFrame
        One row per item, the greatest difference first: ``n_one, n_other, accuracy_one,
        accuracy_other, difference``, and ``p_value`` of Fisher's exact test [F22]_, adjusted in
        ``p_value_bh``.
    counts : pandas.DataFrame
        One row per direction, ``easy for``: how many items were ``observed`` and are ``expected``
        by chance, 95% of chance ``chance_lb, chance_ub``, and the probabilities ``p_fewer`` and
        ``p_more``.

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
    >>> _, counts = item_contrast(al.load_example().select(condition="noise"))
    >>> counts[["easy for", "observed"]].values.tolist()
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
    return table.loc[order].reset_index(drop=True), pd.DataFrame(rows)


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
