"""Rank correlations of scores of observers with external variables.

References
----------
.. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour of
   CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
.. [PS10] Phipson, Smyth (2010). Permutation p-values should never be zero.
   doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.intervals import bound_columns
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark.ranking import spearman
from alikely.estimates.analysis import check_numbers
from alikely.inference.intervals import adjusted_p_values, interval
from alikely.papers.families import unique_names

FEWEST = 4
CI_PROB = 0.95


def external_correlations(
    scores: pd.Series,
    variables: pd.DataFrame,
    *,
    n_resamples: int = 2_000,
    n_permutations: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compute rank correlations of observers' scores with external variables [G20]_.

    Figures SF.9 to SF.12 of [G20]_ show this analysis. Uncertainty in the scores is not propagated
    into the intervals.

    Parameters
    ----------
    scores : pandas.Series
        Score of each observer, such as ``benchmark.summary().set_index("system")["estimate"]``.
    variables : pandas.DataFrame
        External variables: one row per observer (index) and one column per variable, such as
        accuracy on other images, number of parameters, or similarity to neural recordings.
        Observers without a row or a value are excluded.
    n_resamples, n_permutations : int
        Number of bootstrap replicates, which resample observers, and number of permutations; each
        at least 1.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per column of `variables`, with columns

        - ``variable``: name of the variable
        - ``n``, ``n_missing``: numbers of observers that are used and excluded
        - ``correlation``: Spearman correlation, with a bootstrap interval that resamples observers
        - ``p_value``: p-value of a permutation test [PS10]_; adjusted in ``p_value_bh``
        - ``note``

    Raises
    ------
    TypeError
        If `scores` is not a Series or `variables` is not a DataFrame.
    ValueError
        If an observer has two rows, if a column does not contain numbers, or if a number is out of
        range.

    Examples
    --------
    >>> scores = pd.Series([0.1, 0.2, 0.3, 0.4, 0.5], list("abcde"))
    >>> variables = pd.DataFrame({"size": [1, 2, 4, 3, 9]}, index=list("abcde"))
    >>> table = external_correlations(scores, variables, n_resamples=100, n_permutations=100, rng=1)
    >>> table[["variable", "n", "correlation"]].round(2).values.tolist()
    [['size', 5, 0.9]]
    """
    check_numbers(n_resamples=n_resamples, n_permutations=n_permutations)
    if min(n_resamples, n_permutations) < 1:
        raise ValueError("n_resamples and n_permutations must be at least 1")
    of_type(variables, pd.DataFrame, "give one row per observer and one column per variable")
    of_type(scores, pd.Series, "for models, use scores.summary().set_index('system')['estimate']")
    own = scores.astype(float).set_axis(unique_names(scores.index, "scores"))
    table = variables.set_axis(unique_names(variables.index, "rows of variables"), axis=0)
    rows, seeds = [], seed_sequence(rng).spawn(max(table.shape[1], 1))
    for (column, given), seed in zip(table.items(), seeds, strict=False):
        try:
            values = given.astype(float).reindex(own.index)
        except (TypeError, ValueError):
            raise ValueError(f"column {column!r} of variables must contain numbers") from None
        both = np.isfinite(values) & np.isfinite(own)
        x, y = own[both].to_numpy(), values[both].to_numpy()
        row = {"variable": str(column), "n": len(x), "n_missing": int((~both).sum())}
        rows.append(row | _correlated(x, y, n_resamples, n_permutations, seed))
    found = pd.DataFrame(rows)
    return found.assign(p_value_bh=adjusted_p_values(found["p_value"])) if rows else found


def _correlated(
    x: Floats, y: Floats, n_resamples: int, n_permutations: int, seed: np.random.SeedSequence
) -> dict[str, object]:
    """Rank correlation with its interval, p-value and note."""
    value, p, limits = np.nan, np.nan, np.full(2, np.nan)
    note = f"fewer than {FEWEST} observers, or all values equal"
    if len(x) >= FEWEST and np.ptp(x) > 0 and np.ptp(y) > 0:
        generator, note = np.random.default_rng(seed), ""
        value = spearman(x[None], y[None])[0]
        drawn = generator.integers(0, len(x), (n_resamples, len(x)))
        limits = interval(spearman(x[drawn], y[drawn])[:, None], CI_PROB, "eti")[0]
        order = generator.permuted(np.tile(np.arange(len(x)), (n_permutations, 1)), axis=1)
        null = spearman(np.tile(x, (n_permutations, 1)), y[order])
        p = (1 + (np.abs(null) >= abs(value) - 1e-12).sum()) / (n_permutations + 1)
    columns = bound_columns("bootstrap", "eti", CI_PROB, limits)
    return {"correlation": value, **columns, "p_value": p, "note": note}
