"""Measures beside agreement: families of observers by several metrics, scores from outside.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [M67] Mantel (1967). The detection of disease clustering and a generalized regression approach.
   Cancer Research 27(2), 209-220.
.. [PS10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
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

from alikely._base.arrays import Floats, within
from alikely._base.frames import Groups, group_mapping
from alikely._base.intervals import bound_columns
from alikely._base.names import listed
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import nested_labels
from alikely.estimates.analysis import check_numbers
from alikely.estimates.correlations import Values, matched
from alikely.inference.intervals import adjusted_p_values, interval
from alikely.papers.groupings import group_codes, unique_names

__all__ = ["family_scores", "outside_correlations"]

FEWEST = 4
CI_PROB = 0.95


def family_scores(
    results: Sequence[Values],
    families: Groups,
    *,
    within_domain: bool = True,
    n_permutations: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """How alike members of two families are, by several metrics on one scale.

    Every metric is standardised over its pairs, so that metrics can stand side by side as in
    [X25]_, figures 6 and 7. Pairs share observers, so that their spread says little: beside the
    means stands a test that shuffles the families of the observers [M67]_.

    Parameters
    ----------
    results : sequence of Result or pandas.DataFrame
        As in `alikely.metric_correlations`, at least two.
    families : mapping, pandas.Series or xarray.DataArray
        Family of each observer of the pairs.
    within_domain : bool
        Standardise within each data set and condition; [X25]_ do it over all of them at once, where
        differences between data sets hide those between families.
    n_permutations : int
        At least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per metric and two families (or one with itself): ``metric, family, other``;
        ``n_pairs`` of observers, ``n_entries`` (pairs in all domains) and ``n_undefined``, which
        are left out; ``z``, the mean of the standardised values, and their ``sd``; ``p_value``,
        two-sided, that shuffled families are as far from 0, in ``[1 / (n_permutations + 1), 1]``;
        ``p_value_bh``, adjusted over all rows.

    Raises
    ------
    TypeError, ValueError
        As in `alikely.metric_correlations`; if an observer has no family, a family is of an unknown
        one, there is only one family, or `n_permutations` is below 1.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example()
    >>> both = [
    ...     al.error_consistency(trials, n_resamples=0, n_draws=0, n_null=0),
    ...     al.misclassification_agreement(trials, n_resamples=0, n_draws=0),
    ... ]
    >>> table = al.papers.family_scores(both, trials.data["family"], rng=1)
    >>> table.loc[0, ["metric", "family", "other"]].tolist()
    ['error_consistency', 'human', 'human']
    """
    check_numbers(n_permutations=n_permutations)
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations}")
    frame, metrics = matched(results)
    names = pd.unique(pd.concat([frame["observer_a"], frame["observer_b"]])).tolist()
    codes = group_codes(names, families, "family")
    given = group_mapping(families)
    labels = list(dict.fromkeys(given[name] for name in names))
    if len(labels) < 2:
        raise ValueError(f"a comparison of families needs at least two, got {listed(labels)}")
    position = {name: at for at, name in enumerate(names)}
    a, b = (frame[side].map(position).to_numpy() for side in ("observer_a", "observer_b"))
    domain = np.array(nested_labels(frame["dataset"], frame["condition"]))
    generator = np.random.default_rng(seed_sequence(rng))
    shuffled = [codes, *(generator.permutation(codes) for _ in range(n_permutations))]
    # Of two families, whichever comes first, one number.
    size = len(labels)
    cells = np.stack([np.minimum(c[a], c[b]) * size + np.maximum(c[a], c[b]) for c in shuffled])
    rows = []
    for metric in metrics:
        z = _standardised(frame[metric].to_numpy(), domain if within_domain else None)
        means = _cell_means(z, cells, size**2)
        for i, j in itertools.combinations_with_replacement(range(size), 2):
            here = cells[0] == i * size + j
            if not here.any():
                continue
            row = {"metric": metric, "family": labels[i], "other": labels[j]}
            row["n_pairs"] = pd.MultiIndex.from_arrays([a[here], b[here]]).nunique()
            rows.append(row | _family_row(z[here], means[:, i * size + j]))
    table = pd.DataFrame(rows)
    return table.assign(p_value_bh=adjusted_p_values(table["p_value"]))


def _cell_means(values: Floats, cells: NDArray[np.intp], size: int) -> Floats:
    """Mean of the defined values of each cell, row by row; NaN in cells without."""
    known = np.isfinite(values)
    counts = np.stack([np.bincount(row[known], minlength=size) for row in cells])
    sums = np.stack([np.bincount(row[known], values[known], minlength=size) for row in cells])
    out = np.full(counts.shape, np.nan)
    np.divide(sums, counts, out=out, where=counts > 0)
    return out


def _family_row(z: Floats, means: Floats) -> dict[str, object]:
    """What is said of two families: their values, and the mean in shuffled families."""
    known = z[np.isfinite(z)]
    row: dict[str, object] = {"n_entries": len(z), "n_undefined": len(z) - len(known)}
    if not len(known):
        return row | {"z": np.nan, "sd": np.nan, "p_value": np.nan}
    as_far = np.abs(means[1:]) >= abs(means[0]) - 1e-12
    spread = float(known.std(ddof=1)) if len(known) > 1 else np.nan
    return row | {"z": means[0], "sd": spread, "p_value": (1 + as_far.sum()) / len(means)}


def _standardised(values: Floats, domain: NDArray[np.str_] | None) -> Floats:
    """Values less their mean over their standard deviation; NaN where all are alike."""
    series = pd.Series(values)
    groups = series.groupby(np.zeros(len(values), dtype=int) if domain is None else domain)
    spread = groups.transform("std")
    return ((series - groups.transform("mean")) / spread.where(spread > 0)).to_numpy()


def outside_correlations(
    scores: pd.Series,
    outside: pd.DataFrame,
    *,
    n_resamples: int = 2_000,
    n_permutations: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Rank correlations of a score of observers with scores from outside, as in [G20]_ SF.9-12.

    Parameters
    ----------
    scores : pandas.Series
        Score by observer, such as ``benchmark.summary().set_index("system")["estimate"]``.
    outside : pandas.DataFrame
        One row per observer (index), one column per score from outside: accuracy on other images,
        number of parameters, similarity to recordings. Observers that are missing, or have no
        value, take no part.
    n_resamples, n_permutations : int
        Bootstrap samples of the observers, and permutations; at least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per column of `outside`: ``outside, n, n_missing, correlation`` (Spearman's), the
        interval of the bootstrap of observers, ``p_value`` of the permutation test [PS10]_ and
        ``p_value_bh``; ``note``. The scores are taken as they are: how sure each is is in no
        interval.

    Raises
    ------
    TypeError
        If `scores` is no Series or `outside` no table.
    ValueError
        If observers have two rows, a column holds no numbers, or a number is out of range.

    Examples
    --------
    >>> scores = pd.Series([0.1, 0.2, 0.3, 0.4, 0.5], list("abcde"))
    >>> outside = pd.DataFrame({"size": [1, 2, 4, 3, 9]}, index=list("abcde"))
    >>> table = outside_correlations(scores, outside, n_resamples=100, n_permutations=100, rng=1)
    >>> table[["outside", "n", "correlation"]].round(2).values.tolist()
    [['size', 5, 0.9]]
    """
    check_numbers(n_resamples=n_resamples, n_permutations=n_permutations)
    for name, value in (("n_resamples", n_resamples), ("n_permutations", n_permutations)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not isinstance(outside, pd.DataFrame):
        raise TypeError(f"outside must be a DataFrame, got {type(outside).__name__}")
    if not isinstance(scores, pd.Series):
        raise TypeError(
            f"scores must be a Series by observer, got {type(scores).__name__}; of scores of "
            "machines: scores.summary().set_index('system')['estimate']"
        )
    try:
        values = scores.to_numpy(dtype=float, na_value=np.nan)
    except (TypeError, ValueError):
        raise ValueError("scores must be numbers") from None
    own = pd.Series(values, unique_names(scores.index, "scores"))
    table = outside.set_axis(unique_names(outside.index, "rows of outside"), axis=0)
    rows, seeds = [], seed_sequence(rng).spawn(max(table.shape[1], 1))
    for (column, given), seed in zip(table.items(), seeds, strict=False):
        try:
            values = given.astype(float).reindex(own.index)
        except (TypeError, ValueError):
            raise ValueError(f"column {column!r} of outside must hold numbers") from None
        both = np.isfinite(values) & np.isfinite(own)
        x, y = own[both].to_numpy(), values[both].to_numpy()
        row = {"outside": str(column), "n": len(x), "n_missing": int((~both).sum())}
        rows.append(row | _correlated(x, y, n_resamples, n_permutations, seed))
    found = pd.DataFrame(rows)
    return found.assign(p_value_bh=adjusted_p_values(found["p_value"])) if rows else found


def _correlated(
    x: Floats, y: Floats, n_resamples: int, n_permutations: int,
    seed: np.random.SeedSequence,
) -> dict[str, object]:  # fmt: skip
    nothing = bound_columns("bootstrap", "eti", CI_PROB, np.full(2, np.nan))
    if len(x) < FEWEST or np.ptp(x) == 0 or np.ptp(y) == 0:
        note = f"fewer than {FEWEST} observers, or all of them alike"
        return {"correlation": np.nan, **nothing, "p_value": np.nan, "note": note}
    generator = np.random.default_rng(seed)
    value = _spearman(x[None], y[None])[0]
    drawn = generator.integers(0, len(x), (n_resamples, len(x)))
    bounds = interval(_spearman(x[drawn], y[drawn])[:, None], CI_PROB, "eti")[0]
    order = generator.permuted(np.tile(np.arange(len(x)), (n_permutations, 1)), axis=1)
    null = _spearman(np.tile(x, (n_permutations, 1)), y[order])
    p = (1 + (np.abs(null) >= abs(value) - 1e-12).sum()) / (n_permutations + 1)
    limits = bound_columns("bootstrap", "eti", CI_PROB, bounds)
    return {"correlation": value, **limits, "p_value": p, "note": ""}


def _spearman(x: Floats, y: Floats) -> Floats:
    """Rank correlation of each row; NaN where all of a row are alike."""
    a, b = (stats.rankdata(values, axis=1) for values in (x, y))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    out = np.full(len(x), np.nan)
    np.divide((a * b).sum(axis=1), scale, out=out, where=scale > 0)
    return within(out, -1)
