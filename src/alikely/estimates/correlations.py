"""Do two metrics order pairs of systems alike? Rank correlations between metrics.

References
----------
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [SB99] Snijders, Borgatti (1999). Non-parametric standard errors and tests for network
   statistics. Connections 22(2), 161-170.
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.1609/aaai.v39i26.34974
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import of_type
from alikely._base.random import RandomState, seed_sequence
from alikely.data.conditions import nested_labels
from alikely.estimates.result import LABELS, Result
from alikely.stats.intervals import CiKind, bound_columns, check_interval, interval

__all__ = ["metric_correlations"]

FEWEST_PAIRS = 3


def metric_correlations(
    results: Sequence[Result],
    *,
    n_resamples: int = 1_000,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
) -> pd.DataFrame:
    """Rank correlations [S04]_ between metrics over pairs of systems, as in [X25]_.

    Pairs that share a system are not independent; the intervals therefore resample systems, and
    with them all their pairs [SB99]_.

    Parameters
    ----------
    results : sequence of Result
        At least two, of different metrics and of the same trials; entries are matched by
        ``dataset, condition, observer_a, observer_b``.
    n_resamples : int
        Number of times the systems are drawn anew, at least 1.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Probability, in (0, 1), and kind of the intervals.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        For each two metrics one row per domain (data set and condition), one for their mean over
        domains (``domain`` is ``"mean"``) and one over all pairs together (``"global"``):
        ``metric, other, domain, n_pairs, correlation``, the interval, and ``note``. Pairs with an
        undefined value in one of the two take no part; ``n_undefined`` counts them.

    Raises
    ------
    ValueError
        If there are fewer than two results, two are of one metric, their entries differ, or a
        number is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> options = {"n_resamples": 0, "n_draws": 0}
    >>> trials = al.load_example()
    >>> both = [
    ...     al.error_consistency(trials, **options),
    ...     al.misclassification_agreement(trials, **options),
    ... ]
    >>> metric_correlations(both, n_resamples=200, rng=1)["domain"].tolist()
    ['all | clean', 'all | blur', 'all | noise', 'mean', 'global']
    """
    check_interval(ci_prob, ci_kind)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    frame = _matched(results)
    names = [result.metric.name for result in results]
    domains = np.array(nested_labels(frame["dataset"], frame["condition"]))
    groups = [np.flatnonzero(domains == name) for name in dict.fromkeys(domains)]
    labels = [*dict.fromkeys(domains), "mean", "global"]

    systems = pd.unique(pd.concat([frame["observer_a"], frame["observer_b"]])).tolist()
    position = {name: i for i, name in enumerate(systems)}
    first, second = (
        frame[name].map(position).to_numpy(dtype=np.intp) for name in ("observer_a", "observer_b")
    )
    generator = np.random.default_rng(seed_sequence(rng))
    times = generator.multinomial(
        len(systems), np.full(len(systems), 1 / len(systems)), n_resamples
    )
    # A system drawn twice is no pair with itself.
    drawn = times[:, first] * times[:, second]

    rows = []
    for one, other in itertools.combinations(names, 2):
        x, y = frame[one].to_numpy(), frame[other].to_numpy()
        defined = np.isfinite(x) & np.isfinite(y)
        estimate = _correlations(x, y, defined, np.ones(len(x), dtype=int), groups)
        replicates = np.stack([_correlations(x, y, defined, counts, groups) for counts in drawn])
        bounds = interval(replicates, ci_prob, ci_kind)
        members = [*groups, np.concatenate(groups), np.concatenate(groups)]
        for k, label in enumerate(labels):
            n = int(defined[members[k]].sum())
            rows.append(
                {
                    "metric": one,
                    "other": other,
                    "domain": label,
                    "n_pairs": n,
                    "n_undefined": len(members[k]) - n,
                    "correlation": estimate[k],
                    **bound_columns("bootstrap", ci_kind, ci_prob, bounds[k]),
                    "note": ""
                    if np.isfinite(estimate[k])
                    else f"fewer than {FEWEST_PAIRS} pairs, or all of them alike",
                }
            )
    return pd.DataFrame(rows)


def _matched(results: Sequence[Result]) -> pd.DataFrame:
    """Estimates of all results side by side."""
    if len(results) < 2:
        raise ValueError(f"results must be at least two, of different metrics; got {len(results)}")
    for result in results:
        of_type(result, Result, "make one with al.compare")
    frame = results[0].pairs
    for result in results:
        name = result.metric.name
        if name in frame:
            raise ValueError(f"two of the results are of {name}; give each metric once")
        own = result.pairs.assign(**{name: result.estimates["estimate"].values})
        apart = frame.merge(own, on=LABELS, how="outer", indicator="found")
        apart = apart[apart["found"] != "both"]
        if len(apart):
            a, b = apart.iloc[0][["observer_a", "observer_b"]]
            raise ValueError(
                f"results must have the same entries; {a!r} and {b!r} are not in all of them: "
                "compare the same pairs, listed one by one if the order matters to one of the "
                "metrics, with the same by="
            )
        frame = frame.merge(own, on=LABELS)
    return frame


def _correlations(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    defined: NDArray[np.bool_],
    counts: NDArray[np.int64],
    groups: list[NDArray[np.intp]],
) -> NDArray[np.float64]:
    """Correlation in each group, their mean, and over all; NaN where there is none."""

    def one(members: NDArray[np.intp]) -> float:
        here = members[defined[members] & (counts[members] > 0)]
        pairs = np.repeat(here, counts[here])
        if len(here) < FEWEST_PAIRS or np.ptp(x[here]) == 0 or np.ptp(y[here]) == 0:
            return np.nan
        return float(np.corrcoef(stats.rankdata(x[pairs]), stats.rankdata(y[pairs]))[0, 1])

    by_group = np.array([one(members) for members in groups])
    some = by_group[np.isfinite(by_group)]
    mean = some.mean() if len(some) else np.nan
    return np.array([*by_group, mean, one(np.concatenate(groups))])
