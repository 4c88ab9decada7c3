"""Partial pooling of the copy model over humans, machines and conditions.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from alikely.models._given_priors import Priors, with_priors
from alikely.models._populations import spread
from alikely.models._ranges import tensor_within

__all__ = ["pooled_pairs"]


def pooled_pairs(table: xr.Dataset, *, priors: Priors | None = None) -> pm.Model:
    """Copy model of all pairs of a reference and another observer, with effects they share [K25]_.

    The log odds ratio of a pair's correctness is the sum of an effect of the reference (a human),
    one of the other observer (a machine), one of the condition, and a small deviation. Where pairs
    are many and trials few this steadies their estimates.

    A machine's trials are used once for each human: the posterior of a single pair is sound, that
    of a mean over humans is too narrow. For means use `alikely.models.cohort`.

    Parameters
    ----------
    table : xarray.Dataset
        As from `alikely.data.joint_correctness`, of human-model pairs by condition.
    priors : mapping, optional
        Other priors by name, such as ``{"delta_mean": pm.Normal.dist(0, 1)}`` or
        ``{"delta_mean": (0, 1)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``pair, cell, reference, other, condition``. Deterministics ``copy_probability`` and
        ``error_consistency`` (pair); effects ``reference_effect, other_effect,
        condition_effect``; likelihood ``observed_cells``.

    Raises
    ------
    ValueError
        If an observer is a reference in one pair and the other in another; for priors as in
        `alikely.models.with_priors`.

    Notes
    -----
    ``logit u`` and ``logit v``, the probabilities that the other observer is right where the
    reference is right and wrong, are ``eta + delta/2`` and ``eta - delta/2``. Effects sum to zero:
    they speak of these observers, not of new ones.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.data.joint_correctness(al.load_example(), "human-model", "condition")
    >>> model = al.models.pooled_pairs(table, priors={"delta_mean": pm.Normal.dist(0, 1)})
    >>> sorted(v.name for v in model.deterministics)[:3]
    ['condition_effect', 'copy_probability', 'error_consistency']
    """
    names = {
        "reference": table["observer_a"].values.tolist(),
        "other": table["observer_b"].values.tolist(),
        "condition": [
            f"{d} | {c}"
            for d, c in zip(table["dataset"].values, table["condition"].values, strict=True)
        ],
    }
    both = sorted(set(names["reference"]) & set(names["other"]))
    if both:
        raise ValueError(
            f"{both[0]!r} is a reference in one pair and the other observer in another; take pairs "
            "of two kinds, such as 'human-model'"
        )
    coords = {dim: list(dict.fromkeys(labels)) for dim, labels in names.items()}
    at = {
        dim: np.array([coords[dim].index(label) for label in labels])
        for dim, labels in names.items()
    }
    coords |= {"pair": table["pair"].values.tolist(), "cell": table["cell"].values.tolist()}
    with pm.Model(coords=coords) as model:
        cells = pm.Data("cells", table["cells"].values, dims=("pair", "cell"))
        p_a = pm.Beta("p_a", 1, 1, dims="pair")
        eta = pm.Normal("eta", 0, 2, dims="pair")
        delta = pm.Normal("delta_mean", 0, 2) + pm.HalfNormal("delta_sd", 0.5) * pm.Normal(
            "delta_deviate", 0, 1, dims="pair"
        )
        for dim in names:
            delta += _effect(dim, len(coords[dim]))[at[dim]]
        u, v = pm.math.invlogit(eta + delta / 2), pm.math.invlogit(eta - delta / 2)
        copying = pm.Deterministic("copy_probability", u - v, dims="pair")
        p_b = p_a * u + (1 - p_a) * v
        chance = p_a * (1 - p_b) + (1 - p_a) * p_b
        kappa = tensor_within(copying * 2 * p_a * (1 - p_a) / chance, -1)
        pm.Deterministic("error_consistency", kappa, dims="pair")
        pm.Multinomial(
            "observed_cells",
            n=cells.sum(axis=-1),
            p=pm.math.stack([p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1),
            observed=cells,
            dims=("pair", "cell"),
        )
    return with_priors(model, priors)


def _effect(dim: str, n: int) -> Any:
    """Effects of one dim, in units of their spread: they are few, or have little behind them."""
    if n == 1:
        return np.zeros(1)
    deviate = pm.ZeroSumNormal(f"{dim}_deviate", 1, dims=dim)
    return pm.Deterministic(f"{dim}_effect", spread(f"{dim}_sd", 1, n) * deviate, dims=dim)
