"""Cues and items that separate groups of observers: shape bias, items easy for one group only.

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
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import known_kind, of_type
from alikely._base.intervals import Intervals, bound_columns, chosen_methods
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import refuse_repeats
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.estimates.analysis import check_numbers
from alikely.inference.intervals import adjusted_p_values, interval
from alikely.inference.null import fisher_exact

# ``cat3-dog12``: the shape of a cat with the texture of a dog, as cue-conflict images are named.
CONFLICT = re.compile(r"^(?:.*_)?([A-Za-z]+)\d+-([A-Za-z]+)\d+(?:\.\w+)?$")


CI_PROB = 0.95


def cue_bias(
    trials: Trials,
    *,
    dataset: str | None = None,
    n_resamples: int = 2_000,
    intervals: Intervals = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Estimate how often responses match a cue that conflicts with the true class.

    Cue-conflict images have the shape of one class (the truth) and the texture of another. The
    texture bias is the proportion of texture decisions among all shape and texture decisions. The
    shape bias is 1 minus the texture bias [G19]_ [G20]_.

    Parameters
    ----------
    trials : Trials
        Responses with classes. Item names consist of the name of a shape and the name of a texture,
        as in ``cat3-dog12``. Items whose names do not consist of a shape and a texture are
        excluded.
    dataset : str, optional
        Data set to use. Default: all.
    n_resamples : int
        Number of bootstrap replicates and of posterior draws, at least 2. The bootstrap resamples
        items.
    intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
        Intervals to show: analytic (Wilson [W27]_), bootstrap over items, or posterior (Beta).
        Default: posterior.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per observer, with columns

        - ``observer``, ``kind``
        - ``estimate``: proportion of decisions for the competing cue, with its intervals
        - ``n_decisions``: number of decisions for either cue
        - ``n_items``: number of items that the observer was shown
        - ``decided``: ``n_decisions / n_items``
        - ``note``

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If only correctness is known, or items are repeated within a condition.
    ValueError
        If the shape in an item name is not the true class, or the texture is not a known class.
    ValueError
        If no item has a cue that conflicts with its true class, or `n_resamples` is below 2.

    Notes
    -----
    Missing responses and responses that match neither cue do not count as decisions. Items that an
    observer was not shown are excluded for that observer.

    In 400 simulated experiments with 80 cue-conflict items, coverage for one observer was 0.955
    (analytic), 0.938 (bootstrap) and 0.955 (posterior; nominal 0.95, SE 0.011).

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
    of_type(trials, Trials, "make them with Trials.read")
    check_numbers(n_resamples=n_resamples)
    if n_resamples < 2:
        raise ValueError(f"n_resamples must be at least 2, got {n_resamples}")
    if dataset is not None:
        trials = trials.select(dataset=dataset)
    classes, data = trials.classes, trials.data
    refuse_repeats(data, "the bias of decisions")
    truth = np.array(classes, dtype=object)[data["truth"].values]
    cue = np.array(_textures(trials, truth), dtype=object)
    if odd := [name for name in cue if name and name not in classes]:
        raise ValueError(
            f"the cue {odd[0]!r} is not a class of the trials; classes are {listed(classes)}"
            f"{nearest(odd[0], classes)}"
        )
    where = np.flatnonzero((cue != "") & (cue != truth))
    if not len(where):
        raise ValueError(
            "no item has a cue that conflicts with its truth; name items like cat3-dog12"
        )
    response = data["response"].values[:, where]
    competing = response == [classes.index(name) for name in cue[where]]
    true = response == data["truth"].values[where]
    shown = (data["correct"].values[:, where] != NOT_SHOWN).sum(axis=1)
    generator, n_items = np.random.default_rng(seed_sequence(rng)), len(where)
    wrong, right = competing.sum(axis=1), true.sum(axis=1)
    n = wrong + right
    times = generator.multinomial(n_items, np.full(n_items, 1 / n_items), n_resamples)
    draws = generator.beta(wrong + 0.5, right + 0.5, (n_resamples, len(n)))
    with np.errstate(invalid="ignore", divide="ignore"):
        estimate, decided, follows = wrong / n, n / shown, times @ competing.T
        resampled = np.asarray(follows / (follows + times @ true.T))
    pairs = zip(wrong.tolist(), np.maximum(n, 1).tolist(), strict=True)
    wilson = [[*stats.binomtest(*one).proportion_ci(CI_PROB, "wilson")] for one in pairs]
    bounds = {
        "analytic": np.array(wilson),
        "bootstrap": interval(resampled, CI_PROB, "eti"),
        "posterior": interval(draws, CI_PROB, "eti"),
    }
    table = pd.DataFrame({"observer": trials.observers, "kind": data["kind"].values.astype(str)})
    table["estimate"] = estimate
    for method in chosen_methods(intervals, [*bounds], [*bounds], "posterior"):
        bounds[method][n == 0] = np.nan
        kind = "ci" if method == "analytic" else "eti"
        table = table.assign(**bound_columns(method, kind, CI_PROB, bounds[method]))
    note = np.where(n == 0, "no decision for either cue", "")
    return table.assign(n_decisions=n, n_items=shown, decided=decided, note=note)


def _textures(trials: Trials, truth: NDArray[Any]) -> list[str]:
    """Class of the texture on each trial; empty if the name of the item does not state it."""
    cues = []
    for item, own in zip(trials.data["item"].values.astype(str), truth, strict=True):
        found = CONFLICT.match(item)
        if found and found[1] != own:
            raise ValueError(
                f"item {item!r} is named after the shape {found[1]!r}, but its truth is {own!r}; "
                "correct one of them"
            )
        cues.append(found[2] if found else "")
    return cues


def item_contrast(
    trials: Trials,
    kind_a: str = "human",
    kind_b: str = "model",
    *,
    easy: float = 0.8,
    hard: float = 0.2,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Find items that are easy for one group of observers and hard for another.

    If item difficulty for one group is unrelated to item difficulty for the other, many items are
    easy for one group and hard for the other by chance alone. Items that are easy for humans and
    hard for models are therefore not by themselves evidence of a difference between the groups. The
    function compares the number of items that are easy for one group and hard for the other with
    the number expected by chance.

    Parameters
    ----------
    trials : Trials
        Aligned responses. Missing responses count as errors. An item that occurs in several
        conditions counts once in each condition.
    kind_a, kind_b : str
        Kinds of observers.
    easy, hard : float
        Minimum accuracy on easy items and maximum accuracy on hard items, ``0 <= hard < easy <=
        1``.

    Returns
    -------
    items : pandas.DataFrame
        One row per item, the largest difference first, with columns

        - ``n_a``, ``n_b``, ``accuracy_a``, ``accuracy_b``, ``difference``
        - ``p_value``: p-value of Fisher's exact test [F22]_; adjusted in ``p_value_bh``
    counts : pandas.DataFrame
        One row per direction, with columns

        - ``easy for``: the group for which the items are easy
        - ``observed``, ``expected``: observed number of items, and number expected by chance
        - ``chance_lb``, ``chance_ub``: central 95% range of the number of items expected by chance
        - ``p_fewer``, ``p_more``: probabilities that at most, or at least, the observed number of
          items occurs by chance

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If a group is unknown, if both groups are the same, or if ``0 <= hard < easy <= 1`` is
        false.
    ValueError
        If no item was shown to both groups, or if items are repeated within a condition.

    Notes
    -----
    The expected number of items is the mean over all permutations of one group's items within each
    condition. Under random permutation, the number of items that are easy for one group and hard
    for the other is a sum of hypergeometric variables, whose distribution is computed exactly. If
    fewer items than expected are easy for one group and hard for the other, both groups tend to
    find the same items easy.

    Examples
    --------
    >>> import alikely as al
    >>> _, counts = item_contrast(al.load_example().select(condition="noise"))
    >>> counts[["easy for", "observed"]].values.tolist()
    [['human', 2], ['model', 2]]
    """
    of_type(trials, Trials, "make them with Trials.read")
    if not 0 <= hard < easy <= 1:
        raise ValueError(f"thresholds must be 0 <= hard < easy <= 1, got {hard=:g}, {easy=:g}")
    data = trials.data
    refuse_repeats(data, "a contrast of items")
    if kind_a == kind_b:
        raise ValueError(f"kind_a and kind_b must be two groups, got {kind_a!r} twice")
    kinds, counts = data["kind"].values.astype(str), []
    for option, name in (("kind_a", kind_a), ("kind_b", kind_b)):
        known_kind(option, name, kinds)
        own = data["correct"].values[kinds == name]
        counts += [(own != NOT_SHOWN).sum(axis=0), (own == 1).sum(axis=0)]
    kept = (counts[0] > 0) & (counts[2] > 0)
    if not kept.any():
        raise ValueError(f"no item was shown to both {kind_a!r} and {kind_b!r}")
    n1, k1, n2, k2 = (values[kept] for values in counts)
    table = pd.DataFrame(
        {name: data[name].values[kept] for name in ("dataset", "condition", "item")}
    )
    if trials.has_classes:
        table["truth"] = np.array(trials.classes, dtype=object)[data["truth"].values[kept]]
    table = table.assign(n_a=n1, n_b=n2, accuracy_a=k1 / n1, accuracy_b=k2 / n2)
    table["difference"] = table["accuracy_a"] - table["accuracy_b"]
    table["p_value"] = fisher_exact(np.stack([k1, n1 - k1, k2, n2 - k2], axis=-1))
    table["p_value_bh"] = adjusted_p_values(table["p_value"])
    place = table.groupby(["dataset", "condition"], sort=False).ngroup().to_numpy()
    first, second = table["accuracy_a"].to_numpy(), table["accuracy_b"].to_numpy()
    rows = [
        {"easy for": name} | _by_chance(a >= easy, b <= hard, place)
        for name, a, b in ((kind_a, first, second), (kind_b, second, first))
    ]
    table = table.sort_values("difference", ascending=False, kind="stable", ignore_index=True)
    return table, pd.DataFrame(rows)


def _by_chance(
    easy: NDArray[np.bool_], hard: NDArray[np.bool_], place: NDArray[np.intp]
) -> dict[str, float]:
    """Number of items that are easy and hard, and its distribution under chance."""
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
