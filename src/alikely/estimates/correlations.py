"""Rank correlations between metrics.

References
----------
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [SB99] Snijders, Borgatti (1999). Non-parametric standard errors and tests for network
   statistics. Connections 22(2), 161-170.
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import entries
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely.data.repeats import nested_labels
from alikely.estimates.analysis import check_numbers
from alikely.estimates.pair_result import LABELS
from alikely.estimates.result import Result
from alikely.inference.intervals import interval

FEWEST_PAIRS = 3


type Values = Result | pd.DataFrame


def metric_correlations(
    results: Sequence[Values],
    *,
    n_resamples: int = 1_000,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute rank correlations between metrics across pairs of systems.

    The correlations are Spearman correlations [S04]_, as in [X25]_. Pairs that share a system are
    dependent. The bootstrap therefore resamples systems together with all their pairs [SB99]_.

    Parameters
    ----------
    results : sequence of Result or pandas.DataFrame
        At least two results for different metrics and the same trials. Estimates are matched by
        ``dataset``, ``condition``, ``observer_a`` and ``observer_b``. Tables of other pairwise
        measures are also
        accepted, for example from `alikely.papers.representation_similarity`. The columns of a
        table are ``observer_a`` and ``observer_b`` (a pair in either order), optionally ``dataset``
        and ``condition``, and one column of values, named after the measure. Without a
        ``dataset`` or ``condition`` column, the values apply to all data sets or all conditions.
    n_resamples : int
        Number of bootstrap replicates, at least 1.
    ci_prob : float
        Probability level of the intervals, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        Correlations between the values of two metrics. Each pair of metrics has one row per domain
        (data set and condition), and one row for the mean over domains (``"mean"``). The row
        ``"global"`` pools the pairs of observers of all domains. Columns: ``metric, other, domain,
        n_pairs, n_undefined, correlation``, the interval, and ``note``. Pairs for which either
        metric is undefined are excluded and counted in ``n_undefined``.

    Raises
    ------
    ValueError
        If fewer than two results are given, if two results have the same metric, or if the results
        contain different comparisons.
    ValueError
        If a table lacks a column or repeats a pair, or if a number is out of range.

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
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind: CiKind = resolve("ci_kind", None)
    check_interval(ci_prob, ci_kind)
    check_numbers(n_resamples=n_resamples)
    if n_resamples < 1:
        raise ValueError(f"n_resamples must be at least 1, got {n_resamples}")
    frame, names = matched(results)
    if frame.empty:
        raise ValueError("results have no pair of systems; give tables with at least 3 pairs")
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
    # A system that is resampled twice does not form a pair with itself.
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
                    else f"fewer than {FEWEST_PAIRS} pairs, or all values are equal",
                }
            )
    return pd.DataFrame(rows)


def matched(results: Sequence[Values]) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with one column of values per measure, and the names of measures."""
    results = entries("results", results, "[one, other]")
    if len(results) < 2:
        raise ValueError(f"results must be at least two, of different metrics; got {len(results)}")
    tables = [_table(result) for result in results]
    names = [name for _, name in tables]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise ValueError(f"two of the results have the metric {twice}; give each metric once")
    # Results first: they define the order of observers in a pair, and the domains.
    ordered = sorted(tables, key=lambda table: set(LABELS) - set(table[0]) != set())
    frame = ordered[0][0]
    if missing := [name for name in LABELS if name not in frame]:
        frame = frame.assign(**dict.fromkeys(missing, "all"))
    for own, name in ordered[1:]:
        frame = _joined(frame, own, name)
    return frame[[*LABELS, *names]], names


def _table(result: Values) -> tuple[pd.DataFrame, str]:
    """Labels and values of a measure, and its name."""
    if isinstance(result, Result):
        name = result.metric.name
        return result.pairs.assign(**{name: result.estimates["estimate"].values}), name
    if not isinstance(result, pd.DataFrame):
        raise TypeError(f"results must be Results or tables of pairs, got {type(result).__name__}")
    for column in LABELS[2:]:
        if column not in result:
            raise ValueError(
                f"a table of pairs has no column {column!r}; it has {listed([*map(str, result)])}"
            )
    values = [column for column in result if column not in LABELS]
    if len(values) != 1:
        raise ValueError(
            f"a table of pairs must have one column of values in addition to {', '.join(LABELS)}; "
            f"got {listed([*map(str, values)])}: select one, table[[..., {str(values[0])!r}]]"
            if values
            else "a table of pairs has no column of values, only labels"
        )
    name = str(values[0])
    table = result.rename(columns={values[0]: name}).reset_index(drop=True)
    keys = [column for column in LABELS if column in table]
    try:
        table = table.astype(dict.fromkeys(keys, str) | {name: float})
    except (TypeError, ValueError):
        raise ValueError(f"column {name!r} of a table of pairs must contain numbers") from None
    both = np.sort(table[LABELS[2:]].to_numpy(dtype=str), axis=1)
    key = table[keys].assign(observer_a=both[:, 0], observer_b=both[:, 1])
    if key.duplicated().any():
        a, b = both[int(np.argmax(key.duplicated()))].tolist()
        raise ValueError(f"the table of {name} has {a!r} and {b!r} twice; give each pair once")
    return table, name


def _joined(frame: pd.DataFrame, own: pd.DataFrame, name: str) -> pd.DataFrame:
    """Add a column of values; pairs of a table may be in the other order."""
    keys = [column for column in LABELS if column in own]
    first, second = LABELS[2:]
    turned = own.rename(columns={first: second, second: first})
    known = pd.MultiIndex.from_frame(frame[keys])
    fits = pd.MultiIndex.from_frame(own[keys]).isin(known)
    # Measures that are not symmetric have both orders, so none is reversed.
    back = ~fits & pd.MultiIndex.from_frame(turned[keys]).isin(known)
    own = pd.concat([own[~back], turned[back]])
    apart = frame.merge(own, on=keys, how="outer", indicator="found")
    apart = apart[apart["found"] != "both"]
    if len(apart):
        a, b = apart.iloc[0][[first, second]]
        raise ValueError(
            f"results must have the same entries; {a!r} and {b!r} are not in all of them: "
            "compare the same pairs, listed one by one if the order matters to one of the "
            "metrics, with the same by="
        )
    return frame.merge(own, on=keys)


def _correlations(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    defined: NDArray[np.bool_],
    counts: NDArray[np.int64],
    groups: list[NDArray[np.intp]],
) -> NDArray[np.float64]:
    """Correlation in each group, their mean, and over all pairs; NaN if undefined."""

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
