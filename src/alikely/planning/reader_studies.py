"""How many readers and cases a reader study needs.

References
----------
.. [H07] Hillis (2007). A comparison of denominator degrees of freedom methods for multiple observer
   ROC analysis. doi:10.1002/sim.2532
.. [HOB11] Hillis, Obuchowski, Berbaum (2011). Power estimation for multireader ROC methods: an
   updated and unified approach. doi:10.1016/j.acra.2010.09.007
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import special, stats

from alikely._base.arrays import Floats
from alikely._base.intervals import check_interval
from alikely._base.settings import resolve
from alikely.benchmark.readers import ReaderStudy, study_variance

__all__ = ["readers"]

# Of the variances over readers and over cases that a study will see, over which widths and power
# are averaged.
N_QUANTILES, N_OF_CASES = 100, 40


def readers(
    study: ReaderStudy,
    n_readers: ArrayLike,
    n_cases: ArrayLike,
    *,
    difference: float | None = None,
    ci_prob: float | None = None,
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
        interval, ``power`` to find the `difference`, and ``power_lb, power_ub``: power if readers
        are as unlike, or as alike, as the pilot's own interval of the variance over them allows.

    Raises
    ------
    TypeError
        If `study` is none.
    ValueError
        If a number is out of range.

    Notes
    -----
    ``V = V_readers / R + V_cases / N + V_both / (R N)`` [HOB11]_. Width and power are means over
    the variances that such a study may estimate, with the interval that
    `alikely.benchmark.reader_study` makes of each [H07]_. The pilot's own interval is that of one
    such estimate, and with few readers may be much narrower or wider. A small pilot says little
    about how much readers differ; ``power_lb, power_ub`` show how much.

    Examples
    --------
    >>> import alikely as al
    >>> trials, _ = al.simulate.reader_study(8, 200, rng=1)
    >>> pilot = al.benchmark.reader_study(trials, "AI")
    >>> table = al.planning.readers(pilot, [5, 10, 20], 200, difference=0.2)
    >>> bool((table["power"].diff().dropna() > 0).all())
    True
    """
    ci_prob = resolve("ci_prob", ci_prob)
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
        columns = {
            "modality": row["modality"],
            "other": row.get("other", ""),
            "n_readers": r,
            "n_cases": n,
        }
        se, half = _half_widths(row["of_readers"], row["of_cases"], row, r, n, ci_prob)
        columns |= {"se": se, "width": 2 * half.mean(axis=0)}
        if difference is not None:
            columns["power"] = _power(difference, se, half)
            ends = [
                _power(difference, *_half_widths(of_readers, of_cases, row, r, n, ci_prob))
                for of_readers, of_cases in _allowed(row, ci_prob)
            ]
            columns["power_lb"], columns["power_ub"] = np.sort(ends, axis=0)
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _half_widths(
    of_readers: float,
    of_cases: float,
    pilot: dict[str, float],
    r: NDArray[np.int64],
    n: NDArray[np.int64],
    ci_prob: float,
) -> tuple[Floats, Floats]:
    """Standard error (design,) and half widths (quantile, design): variances are estimated."""
    by_both = pilot["of_both"] / (r * n)
    by_readers, by_cases = of_readers / r + by_both, of_cases / n + by_both
    # Without an influence of any case degrees of freedom are unknown, and matter to nothing.
    df_cases = np.fmin(pilot["df_cases"] / max(pilot["n_cases"] - 1, 1), 1.0) * (n - 1)
    variance, df = study_variance(
        by_readers * _quantiles(r - 1, N_QUANTILES)[:, None],
        by_cases * _quantiles(df_cases, N_OF_CASES),
        by_both,
        r,
        df_cases,
    )
    half = special.stdtrit(df, (1 + ci_prob) / 2) * np.sqrt(variance)
    return np.sqrt(by_readers + by_cases - by_both), np.asarray(half.reshape(-1, len(r)))


def _quantiles(df: NDArray[Any], number: int) -> Floats:
    """Of an estimated variance over the true one, (quantile, design)."""
    middle = (np.arange(number) + 0.5) / number
    return np.asarray(stats.chi2.ppf(middle[:, None], df) / df)


def _power(difference: float, se: Floats, half: Floats) -> Floats:
    # Without any error every difference is found.
    with np.errstate(divide="ignore", invalid="ignore"):
        away = [stats.norm.cdf((sign * difference - half) / se) for sign in (1, -1)]
    return np.asarray(np.sum(away, axis=0).mean(axis=0))


def _allowed(row: dict[str, float], ci_prob: float) -> list[tuple[float, float]]:
    """Least and greatest variances of one reader and one case that a pilot allows."""
    n_readers, n_cases = row["n_readers"], max(row["n_cases"], 1)
    by_both = row["of_both"] / (n_readers * n_cases)
    df_cases = np.fmin(row["df_cases"], max(n_cases - 1, 1))
    seen = [
        (n_readers, row["se_readers"] ** 2, n_readers - 1),
        (n_cases, row["of_cases"] / n_cases + by_both, df_cases),
    ]
    tails = [(1 + ci_prob) / 2, (1 - ci_prob) / 2]
    ends = []
    for number, variance, df in seen:
        likely = variance * df / stats.chi2.ppf(tails, df)
        ends.append(number * np.maximum(likely - by_both, 0.0))
    return [(float(reader), float(case)) for reader, case in zip(*ends, strict=True)]
