"""Law of strengths, and the likelihood of an item with its strength integrated out.

References
----------
.. [GW69] Golub, Welsch (1969). Calculation of Gauss quadrature rules.
   doi:10.1090/S0025-5718-69-99647-1
.. [JP09] Jones, Pewsey (2009). Sinh-arcsinh distributions. doi:10.1093/biomet/asp053
.. [NS82] Naylor, Smith (1982). Applications of a method for the efficient computation of posterior
   distributions. doi:10.2307/2347995
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from alikely._base.arrays import Floats
from alikely._base.quadrature import normal_nodes
from alikely.margins.likelihoods import ItemLikelihoods, log_likelihood

__all__ = [
    "LAW",
    "Nodes",
    "law_bounds",
    "log_law_prior",
    "matched",
    "paired",
    "placed",
    "strength_of",
]

# Columns of a law's parameters; repeated answers add the logarithm of the stable spread.
LAW = ("mean", "log_sd", "skewness", "log_tail", "log_stable")
NODES = 11
OUTER_NODES = 9
# Nodes are laid a little wider than the normal approximation: tails of items with few answers.
WIDER = 1.15
_LOW = (-8.0, np.log(0.02), -1.5, -0.9)
_HIGH = (12.0, np.log(12.0), 1.5, 1.2)


class Nodes(NamedTuple):
    """Items at the nodes of their quadrature."""

    log_likelihood: Floats
    score: Floats
    weight: Floats


def log_law_prior(law: Floats) -> Floats:
    """Log prior density of a law's parameters, up to a constant."""
    mean, log_sd, skewness, log_tail = law[:, :4].T
    out = -((mean - 1) ** 2) / 8 + 2 * log_sd - 4 / 3 * np.exp(log_sd)
    out = out - skewness**2 / (2 * 0.4**2) - log_tail**2 / (2 * 0.3**2)
    if law.shape[1] > 4:
        out = out + law[:, 4] - np.exp(2 * law[:, 4]) / 8
    return np.asarray(out)


def law_bounds(found: ItemLikelihoods) -> tuple[Floats, Floats]:
    """Limits of a law's parameters: far out under their priors, and where there are tables."""
    if not found.stable[1]:
        return np.array(_LOW), np.array(_HIGH)
    low, high = np.log(found.stable)
    return np.array([*_LOW, low]), np.array([*_HIGH, high])


def placed(
    law: Floats, eta: Floats, scores: Floats, found: ItemLikelihoods, n_nodes: int = NODES
) -> Nodes:
    """Likelihood of items given the other system's normal scores of them."""
    x, weights = normal_nodes(n_nodes)
    log_weights = np.log(weights) + x**2 / 2
    rho, apart = (f(eta)[:, None, None] for f in (np.tanh, lambda e: 1 / np.cosh(e)))
    at, information = _site(law, found)
    precision = information[:, :, None] + 1 / apart**2
    expected = rho * scores
    centre = (information * at)[:, :, None] + expected / apart**2
    centre = centre / precision
    width = WIDER / np.sqrt(precision)
    u = centre[..., None] + width[..., None] * x
    strength = strength_of(law, u)
    shape = strength.shape
    stable = np.exp(law[:, 4]) if law.shape[1] > 4 else np.zeros(len(law))
    log_p = log_likelihood(found, strength.reshape(shape[0], shape[1], -1), stable).reshape(shape)
    log_p -= ((u - expected[..., None]) / apart[..., None]) ** 2 / 2
    log_p += log_weights
    most = log_p.max(axis=-1, keepdims=True)
    np.exp(log_p - most, out=log_p)
    total = log_p.sum(axis=-1, keepdims=True)
    log_p /= total
    value = np.log(total[..., 0]) + most[..., 0] + np.log(width / apart)
    return Nodes(value, u, log_p)


def paired(law: Floats, eta: Floats, found: tuple[ItemLikelihoods, ItemLikelihoods]) -> Floats:
    """Log likelihood of items for two groups, with both strengths integrated out."""
    n_first = 5 if found[0].stable[1] else 4
    one, other = law[:, :n_first], law[:, n_first:]
    x, weights = normal_nodes(OUTER_NODES)
    log_weights = np.log(weights) + x**2 / 2
    rho, apart = np.tanh(eta)[:, None], 1 / np.cosh(eta)[:, None]
    (at, own), (at_other, of_other) = _site(one, found[0]), _site(other, found[1])
    through = of_other / (1 + of_other * apart**2)
    precision = 1 + own + rho**2 * through
    centre = (own * at + rho * through * at_other) / precision
    width = WIDER / np.sqrt(precision)
    u = centre[..., None] + width[..., None] * x
    stable = np.exp(one[:, 4]) if n_first > 4 else np.zeros(len(one))
    log_p = log_likelihood(found[0], strength_of(one, u), stable) - u**2 / 2 + log_weights
    log_p = log_p + placed(other, eta, u, found[1], OUTER_NODES).log_likelihood
    most = log_p.max(axis=-1)
    total = np.exp(log_p - most[..., None]).sum(axis=-1)
    return np.asarray(np.log(total) + most + np.log(width))


def matched(law: Floats, found: ItemLikelihoods) -> tuple[ItemLikelihoods, Floats, Floats]:
    """Lay nodes where items' posteriors are, and what these are."""
    row = law[None]
    n_items = len(found.seen)
    nodes = placed(row, np.zeros(1), np.zeros((1, n_items, 1)), found, 25)
    weight, u = nodes.weight[0, :, 0], nodes.score[0, :, 0]
    mean = (weight * u).sum(axis=1)
    variance = (weight * (u - mean[:, None]) ** 2).sum(axis=1)
    own = np.maximum(1 / variance - 1, 0.02)
    at = np.clip(mean / variance / own, -5, 5)
    slope = _slope(row, at[None])[0]
    strength = strength_of(row, at[None, :, None])[0, :, 0]
    return found._replace(seen=strength, information=own / slope**2), mean, variance


def _shape(law: Floats, n_dims: int) -> tuple[Floats, ...]:
    """Parameters with axes to be used on arrays of so many."""
    columns = law[:, :4].T.reshape(4, len(law), *(1,) * (n_dims - 1))
    mean, log_sd, skewness, log_tail = columns
    power = np.exp(-log_tail)
    middle = np.sinh(skewness * power)
    one = np.arcsinh(1.0)
    unit = 2 / (np.sinh((one + skewness) * power) - np.sinh((skewness - one) * power))
    return mean, np.exp(log_sd) * unit, skewness, power, middle


def strength_of(law: Floats, u: Floats) -> Floats:
    """Strengths of normal scores [JP09]_."""
    mean, scale, skewness, power, middle = _shape(law, u.ndim)
    return np.asarray(mean + scale * (np.sinh((np.arcsinh(u) + skewness) * power) - middle))


def _slope(law: Floats, u: Floats) -> Floats:
    """Derivative of `strength_of`."""
    _, scale, skewness, power, _ = _shape(law, u.ndim)
    return np.asarray(
        scale * power * np.cosh((np.arcsinh(u) + skewness) * power) / np.sqrt(1 + u**2)
    )


def _site(law: Floats, found: ItemLikelihoods) -> tuple[Floats, Floats]:
    """Normal score at which answers put each item, and their information about it."""
    mean, scale, skewness, power, middle = _shape(law, 2)
    inside = np.arcsinh((found.seen - mean) / scale + middle) / power - skewness
    at = np.clip(np.sinh(np.clip(inside, -3, 3)), -5, 5)
    return at, found.information * _slope(law, at) ** 2
