"""How probable it is that one score is above another.

References
----------
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models. Bayesian
   Analysis 1, 515-533. doi:10.1214/06-BA117A
.. [M83] Morris (1983). Parametric empirical Bayes inference: theory and applications.
   doi:10.1080/01621459.1983.10477920
.. [VRF11] Varin, Reid, Firth (2011). An overview of composite likelihood methods. Statistica Sinica
   21, 5-42.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special, stats

from alikely._base.arrays import Floats, within

__all__ = ["Scales", "probability_positive", "scales_of_differences"]

# Grid of scales, as multiples of the one that is expected.
LEAST, MOST, STEPS = 0.04, 8.0, 60
# Deviates beyond are as good as certain.
CERTAIN = 30.0


class Scales(NamedTuple):
    """Standard deviations that true differences may have, and how probable each is."""

    sd: Floats
    weight: Floats


def scales_of_differences(
    centre: Floats, variance: Floats, df: Floats, n_systems: int, expected: float
) -> Scales:
    """Learn the standard deviation of true differences from all estimated differences [M83]_."""
    multiple = np.geomspace(LEAST, MOST, STEPS)
    sd = expected * multiple
    # Half-Cauchy, on a grid whose steps grow with the scale.
    log_prior = np.log(multiple) - np.log1p(multiple**2)
    known = np.isfinite(variance)
    v = variance[known]
    d = _deviates(centre[known], v, df[known]) * np.sqrt(v)
    total = sd**2 + v[:, None]
    log_likelihood = -(d[:, None] ** 2 / total + np.log(total)).sum(axis=0) / n_systems
    return Scales(sd, special.softmax(log_prior + log_likelihood))


def probability_positive(centre: Floats, variance: Floats, df: Floats, scales: Scales) -> Floats:
    """Posterior probability that a difference is above 0, from normal priors about 0."""
    shrunk = np.sqrt(scales.sd**2 / (scales.sd**2 + np.asarray(variance)[..., None]))
    likely = special.ndtr(_deviates(centre, variance, df)[..., None] * shrunk)
    return within(likely @ scales.weight)


def _deviates(centre: Floats, variance: Floats, df: Floats) -> Floats:
    """Normal deviates as unlikely as Student's."""
    t = centre / np.sqrt(variance)
    deviate = -special.ndtri(stats.t.sf(np.abs(t), df))
    return np.asarray(np.sign(t) * np.minimum(deviate, CERTAIN))
