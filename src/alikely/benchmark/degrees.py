"""How surely variances of scores are known: degrees of freedom of people, of images, of both.

References
----------
.. [S46] Satterthwaite (1946). An approximate distribution of estimates of variance components.
   doi:10.2307/3002019
.. [H74] Howe (1974). Approximate confidence limits on the mean of X + Y where X and Y are two
   tabled independent random variables. J. Am. Stat. Assoc. 69, 789-794.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats

__all__ = ["NOISE", "crossed_degrees", "degrees_of_images", "degrees_of_people"]

# Quantile at which limits of two parts are made one.
AT = 0.975
# Of the noise of answers in the variance between people, the share that does not count as theirs
# when degrees of freedom are counted.
NOISE = 0.25


def degrees_of_people(crowds: Sequence[tuple[NDArray[np.intp], float]], n_people: int) -> float:
    """Degrees of freedom of a variance between people who take part in several data sets [S46]_."""
    matrix = np.zeros((n_people, n_people))
    for people, weight in crowds:
        n = len(people)
        if n < 2:
            return np.nan
        centre = np.eye(n) - 1 / n
        matrix[np.ix_(people, people)] += weight * centre / np.sqrt(n * (n - 1))
    squared = matrix @ matrix.T
    total = np.trace(squared)
    return float(round(total**2 / (squared**2).sum(), 9)) if total > 0 else np.nan


def degrees_of_images(influence: Floats) -> Floats:
    """Degrees of freedom of a sum of squared influences of images [S46]_."""
    square = influence**2
    total, n = square.sum(axis=-1), influence.shape[-1]
    excess = (square**2).sum(axis=-1) - total**2 / n
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 2 * total**2 / np.where(excess > 1e-12 * total**2 / n, excess, 0.0)
    return np.where(total > 0, found, np.nan)


def crossed_degrees(
    images: Floats, people: Floats, both: Floats, df_images: Floats, df_people: Floats
) -> Floats:
    """Degrees of freedom of a variance over new images and new people: the fewer of two."""
    # Without influence no image tells anything: people alone.
    known = np.nan_to_num(df_images, nan=np.inf)
    added = np.maximum(people - both, 0.0)
    # Noise makes the variance of people who do not differ uncertain, but it is hardly added then.
    counted = np.maximum(people - NOISE * both, 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rest = np.maximum(images - both, 0.0) ** 2 / known
        df = (images + added) ** 2 / (counted**2 / df_people + rest)
        limits = special.stdtrit(known, AT) ** 2 * images
        limits = limits + special.stdtrit(df_people, AT) ** 2 * added
        half = np.sqrt(limits / (images + added))
    # To rounding a normal limit, of which there is no inverse.
    normal = half < special.ndtri(AT) * (1 + 1e-9)
    howe = np.where(normal, np.inf, special.stdtridf(AT, np.where(normal, 2.0, half)))
    return np.maximum(np.minimum(df, howe), np.minimum(df_people, known))
