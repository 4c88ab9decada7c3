"""Agreement of pairs: what both members bring, what their groups share, and what else is known.

References
----------
.. [BFB01] Browne, Goldstein, Rasbash (2001). Multiple membership multiple classification (MMMC)
   models. Statistical Modelling 1, 103-124. doi:10.1177/1471082X0100100202
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike

from alikely.models._given_priors import Priors, with_priors
from alikely.stats.mixed import PairDesign, pair_priors

__all__ = ["agreement_regression"]


def agreement_regression(
    estimate: ArrayLike,
    se: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    group: ArrayLike,
    x: ArrayLike | None = None,
    *,
    predictors: Sequence[str] | None = None,
    priors: Priors | None = None,
) -> pm.Model:
    """Agreement of pairs of observers, of the same group or not [BFB01]_.

    `alikely.benchmark.agreement_regression` draws from its posterior without chains.

    Parameters
    ----------
    estimate, se : array_like of float, shape (pair,)
        Agreement and its standard error, from 0.
    first, second : array_like of int, shape (pair,)
        Positions of both observers, from 0.
    group : array_like of int, shape (observer,)
        Number of the group of each observer, from 0.
    x : array_like of float, shape (pair, predictor), optional
        Other predictors, centred.
    predictors : sequence of str, optional
        Their names.
    priors : mapping, optional
        Other priors, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``pair, predictor, observer, group``; data ``estimate, se``; variables ``b`` (of
        ``intercept, same`` and the other predictors), ``tau, sigma, omega``, ``u_unit, v_unit``;
        deterministics ``u, v``; likelihood ``observed_estimate``. Priors are relative to the spread
        of `estimate`.

    Raises
    ------
    ValueError
        If shapes do not agree, all pairs or none are of one group, or estimates are all equal.

    Examples
    --------
    >>> import alikely as al
    >>> first, second = [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]
    >>> estimate = [0.5, 0.2, 0.3, 0.2, 0.1, 0.6]
    >>> model = al.models.agreement_regression(estimate, [0.05] * 6, first, second, [0, 0, 1, 1])
    >>> sorted(variable.name for variable in model.free_RVs)
    ['b', 'omega', 'sigma', 'tau', 'u_unit', 'v_unit']
    """
    value, error = np.asarray(estimate, dtype=np.float64), np.asarray(se, dtype=np.float64)
    i, j, of = (np.asarray(a, dtype=np.intp) for a in (first, second, group))
    shapes = {name: a.shape for name, a in (("se", error), ("first", i), ("second", j))}
    for name, shape in shapes.items():
        if value.ndim != 1 or shape != value.shape:
            raise ValueError(f"{name} must have the shape of estimate, {value.shape}; got {shape}")
    other = np.empty((len(value), 0)) if x is None else np.asarray(x, dtype=np.float64)
    titles = [f"x{k}" for k in range(other.shape[1])] if predictors is None else list(predictors)
    if other.shape != (len(value), len(titles)):
        raise ValueError(f"x must have shape ({len(value)}, {len(titles)}), got {other.shape}")
    if value.std() == 0:
        raise ValueError("estimates are all equal; nothing is to be explained")
    same = of[i] == of[j]
    if same.all() or not same.any():
        raise ValueError("some pairs must be of one group, and some of two; got only one kind")
    numbers = np.where(same, of[i], -1)
    columns = np.column_stack([np.ones(len(value)), same, other])
    n_groups = int(of.max()) + 1
    design = PairDesign(
        value, error, columns, i, j, numbers[None], np.zeros(n_groups, dtype=np.intp)
    )
    prior = pair_priors(design)
    coords = {
        "predictor": ["intercept", "same", *titles],
        "observer": np.arange(len(of)),
        "group": np.arange(n_groups),
    }
    with pm.Model(coords=coords) as model:
        data = pm.Data("estimate", value, dims="pair")
        errors = pm.Data("se", error, dims="pair")
        b = pm.Normal("b", prior.mean, prior.sd, dims="predictor")
        tau, sigma, omega = (
            pm.HalfNormal(name, float(scale))
            for name, scale in zip(("tau", "sigma", "omega"), prior.scales, strict=True)
        )
        u = pm.Deterministic("u", tau * pm.Normal("u_unit", 0, 1, dims="observer"), dims="observer")
        v = pm.Deterministic("v", omega * pm.Normal("v_unit", 0, 1, dims="group"), dims="group")
        mean = columns @ b + u[i] + u[j] + pt.where(same, v[numbers], 0.0)
        sd = pt.sqrt(errors**2 + sigma**2)
        pm.Normal("observed_estimate", mean, sd, observed=data, dims="pair")
    return with_priors(model, priors)
