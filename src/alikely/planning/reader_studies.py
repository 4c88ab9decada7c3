"""How many readers and cases a reader study needs.

References
----------
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [HOB11] Hillis, Obuchowski, Berbaum (2011). Power estimation for multireader ROC methods: an
   updated and unified approach. doi:10.1016/j.acra.2010.09.007
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from alikely._base.arrays import Floats
from alikely.benchmark.readers import ReaderStudy
from alikely.stats.intervals import check_interval

__all__ = ["readers"]

# Of the variance over readers that a study will see, over which widths and power are averaged.
N_QUANTILES = 200
# With so many degrees of freedom Student's distribution is the normal one.
MANY = 1e6


def readers(
    study: ReaderStudy,
    n_readers: ArrayLike,
    n_cases: ArrayLike,
    *,
    difference: float | None = None,
    ci_prob: float = 0.95,
) -> pd.DataFrame:
    """Width of intervals and power of a reader study, from the variance components of a pilot.

    Parameters
    ----------
    study : ReaderStudy
        A pilot, from `alikely.benchmark.reader_study`.
    n_readers, n_cases : array_like of int
        At least 2; they are broadcast together.
    difference : float, optional
        True difference of two modalities that is to be found, or true mean of a pilot with one
        modality that is to be told from 0.
    ci_prob : float
        Of the interval, in (0, 1); the test is two-sided at the rest.

    Returns
    -------
    pandas.DataFrame
        One row per statement of the pilot (each two modalities; of one modality its mean) and
        design: ``modality, other, n_readers, n_cases``, ``se``, the expected ``width`` of the
        interval, and ``power`` to find the `difference`.

    Raises
    ------
    TypeError
        If `study` is none.
    ValueError
        If a number is out of range.

    Notes
    -----
    ``V = V_readers / R + V_cases / N + V_both / (R N)`` [HOB11]_. The study will estimate what
    readers bring with ``R - 1`` degrees of freedom, and take Student's quantile by those of its own
    estimate [H07]_: width and power are means over that. Components of a small pilot are rough: few
    readers say little of how unlike readers are.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.reader_study(8, 200, rng=1)
    >>> pilot = al.benchmark.reader_study(trials, "AI")
    >>> table = al.planning.readers(pilot, [5, 10, 20], 200, difference=0.2)
    >>> bool((table["power"].diff().dropna() > 0).all())
    True
    """
    if not isinstance(study, ReaderStudy):
        raise TypeError(
            f"expected a ReaderStudy, got {type(study).__name__}; make one with "
            "al.benchmark.reader_study"
        )
    check_interval(ci_prob, "eti")
    r, n = (np.ravel(x) for x in np.broadcast_arrays(n_readers, n_cases))
    if not all(x.dtype.kind in "iu" and x.min(initial=2) > 1 for x in (r, n)):
        raise ValueError(
            f"n_readers and n_cases must be whole numbers of at least 2, got {r.tolist()} and "
            f"{n.tolist()}"
        )
    pilot = study.differences if len(study.differences) else study.modalities
    tables = []
    for row in pilot.to_dict("records"):
        by_readers = row["of_readers"] / r + row["of_both"] / (r * n)
        by_cases = row["of_cases"] / n
        se = np.sqrt(by_readers + by_cases)
        half = _half_widths(by_readers, by_cases, r, ci_prob)
        columns = {
            "modality": row["modality"],
            "other": row.get("other", ""),
            "n_readers": r,
            "n_cases": n,
            "se": se,
            "width": 2 * half.mean(axis=0),
        }
        if difference is not None:
            away = [stats.norm.cdf((sign * difference - half) / se) for sign in (1, -1)]
            columns["power"] = np.sum(away, axis=0).mean(axis=0)
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _half_widths(
    by_readers: Floats, by_cases: Floats, r: NDArray[np.int64], ci_prob: float
) -> Floats:
    """Half widths of the interval, (quantile, design): the variance over readers is estimated."""
    middle = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES
    seen = by_readers * stats.chi2.ppf(middle[:, None], r - 1) / (r - 1)
    variance = seen + by_cases
    df = np.full(variance.shape, MANY)
    np.divide(variance**2, seen**2 / (r - 1), out=df, where=seen > variance / np.sqrt(MANY))
    return np.asarray(stats.t.ppf((1 + ci_prob) / 2, df) * np.sqrt(variance))
