"""The signed copy model: ``b`` copies ``a`` with some probability, else responds independently.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike
from pymc.logprob.transforms import Transform

from alikely.data.tables import check_counts, pair_coords
from alikely.metrics.consistency import check_accuracy_priors, check_prior
from alikely.models._parts import tensor_within
from alikely.models._priors import Priors, building

__all__ = ["copying"]

# Derived quantities whose priors can replace those of u and v.
DIRECT = ("copy_probability", "own_accuracy")


def copying(
    counts: ArrayLike,
    pairs: Sequence[str] | None = None,
    *,
    independent: bool = False,
    priors: Priors | None = None,
) -> pm.Model:
    """Build the signed copy model for pairs of observers from their correctness cells [K25]_.

    Observer ``a`` is correct with probability ``p_a``. Observer ``b`` is correct with probability
    ``u`` if ``a`` is correct and ``v`` if ``a`` is not. ``u - v`` is the probability that ``b``
    copies ``a`` (or, if negative, inverts ``a``); ``own_accuracy`` is the accuracy of ``b`` when
    not copying.

    Parameters
    ----------
    counts : array_like of int, shape (4,) or (pair, 4)
        Cells ``n11, n10, n01, n00``, for example ``table["cells"]``.
    pairs : sequence of str, optional
        Labels of the ``pair`` dim.
    independent : bool
        Whether to model two independent observers with accuracies ``p_a`` and ``p_b``, which is the
        null model of error consistency. Default False.
    priors : mapping, optional
        Mapping from the names of free variables to priors with constant parameters. A prior is a
        PyMC distribution without a name, such as ``pm.Beta.dist(2, 2)``, or the parameters of the
        default family. Parameters are a tuple in PyMC's order, or a number or list if there is one
        parameter. A scalar distribution applies to all elements; a distribution of the variable's
        shape applies elementwise. Default: ``{"p_a": (1, 1), "u": (0.5, 0.5), "v": (0.5, 0.5)}``,
        equivalent to a Dirichlet(1/2) on the four cells. For independent observers, ``p_a`` and
        ``p_b`` are uniform by default. Instead of ``u`` and ``v``, you can specify the Beta
        parameters of ``"copy_probability": (a, b)``, with ``(1 + c)/2 ~ Beta(a, b)`` on [-1, 1],
        and of ``"own_accuracy"`` (default ``(1, 1)``). A prior on the copy probability is not
        conjugate.

    Returns
    -------
    pymc.Model
        Dims ``pair, cell``, data ``cells`` and likelihood ``observed_cells``. Variables are
        ``p_a, u, v``, with ``uv`` instead of ``u`` and ``v`` for a prior on the copy probability.
        Deterministics are ``copy_probability``, ``own_accuracy``, ``accuracy`` (of ``b``) and
        ``error_consistency``. The model of independent observers has the variables ``p_a, p_b`` and
        the same likelihood, so the two models can be compared.

    Raises
    ------
    ValueError
        If the counts are invalid, or a variable in `priors` does not exist or depends on other
        variables. If a prior is not a continuous distribution with constant, valid parameters. If a
        prior has the wrong shape, or allows values outside the support of the default.

    Notes
    -----
    The sampled variables are ``u, v`` even if the prior is on the copy probability. With a signed
    copy probability as a free variable, the posterior would have a kink at 0 and a funnel near
    ceiling accuracy.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.copying([100, 20, 20, 20], priors={"p_a": pm.Beta.dist(2, 2)})
    >>> sorted(variable.name for variable in model.free_RVs)
    ['p_a', 'u', 'v']
    """
    cells = np.atleast_2d(check_counts(counts))
    stated, given = ({}, priors) if independent else _parted(priors)
    beta, default = check_prior(stated), check_prior(None)
    with building(given, pair_coords(len(cells), pairs), () if independent else DIRECT) as model:
        data = pm.Data("cells", cells, dims=("pair", "cell"))
        if independent:
            p_a, u = (pm.Beta(n, *b, dims="pair") for n, b in check_accuracy_priors(None).items())
            v = u
        else:
            p_a = pm.Beta("p_a", *default["p_a"], dims="pair")
            if "copy_probability" in beta:
                model.add_coord("given", ["right", "wrong"])
                uv = pm.CustomDist(
                    "uv",
                    *beta["copy_probability"],
                    *beta["own_accuracy"],
                    logp=_direct_logp,
                    dist=_direct_dist,
                    support_point=lambda rv, *_: pt.full_like(rv, 0.5),  # nothing is copied
                    signature="(),(),(),()->(2)",
                    class_name="CopyProbabilityAndOwnAccuracy",
                    transform=_UnitSquare(),
                    dims=("pair", "given"),
                    shape=(len(cells), 2),
                )
                u, v = uv[..., 0], uv[..., 1]
            else:
                u, v = (pm.Beta(name, *default[name], dims="pair") for name in "uv")
            _report(p_a, u, v)
        probabilities = pt.stack(
            [p_a * u, p_a * (1 - u), (1 - p_a) * v, (1 - p_a) * (1 - v)], axis=-1
        )
        pm.Multinomial(
            "observed_cells",
            n=data.sum(axis=-1),
            p=probabilities,
            observed=data,
            dims=("pair", "cell"),
        )
    return model


def _report(p_a: Any, u: Any, v: Any) -> None:
    """Quantities that follow from the accuracies."""
    difference = pm.Deterministic("copy_probability", u - v, dims="pair")
    own, _ = _alone(u, v)
    pm.Deterministic("own_accuracy", own, dims="pair")
    p_b = pm.Deterministic("accuracy", p_a * u + (1 - p_a) * v, dims="pair")
    # EC = c f; the odds of disagreement by chance never vanish inside the unit cube.
    chance = p_a * (1 - p_b) + (1 - p_a) * p_b
    kappa = tensor_within(difference * 2 * p_a * (1 - p_a) / chance, -1)
    pm.Deterministic("error_consistency", kappa, dims="pair")


def _parted(priors: Priors | None) -> tuple[dict[str, Any], Priors | None]:
    """Split priors into those of derived quantities and those of variables."""
    if not isinstance(priors, Mapping):
        return {}, priors
    given = dict(priors)
    stated = {name: given.pop(name) for name in DIRECT if name in given}
    for name, parameters in stated.items():
        if not isinstance(parameters, (tuple, list, np.ndarray)):
            raise ValueError(
                f"the prior of {name!r} must be two Beta parameters, such as (2, 2), since it is "
                "not a variable of the model; u and v take distributions"
            )
    if "own_accuracy" in stated and "copy_probability" not in stated:
        raise ValueError("a prior of 'own_accuracy' also needs a prior of 'copy_probability'")
    return stated, given


def _alone(u: Any, v: Any) -> tuple[Any, Any]:
    """Accuracy where nothing is copied (at most 1 after rounding), and how often that is."""
    right, wrong = pt.minimum(u, v), pt.minimum(1 - u, 1 - v)
    return right / (right + wrong), right + wrong


class _UnitSquare(Transform):
    """Log odds of both coordinates: PyMC's own is for univariate distributions only."""

    name = "logodds"
    ndim_supp = 1

    def forward(self, value: Any, *inputs: Any) -> Any:
        """Unit square to plane."""
        return pt.log(value) - pt.log1p(-value)

    def backward(self, value: Any, *inputs: Any) -> Any:
        """Plane to unit square."""
        return pt.sigmoid(value)

    def log_jac_det(self, value: Any, *inputs: Any) -> Any:
        """Log derivative of `backward`, of both coordinates."""
        return (-pt.softplus(value) - pt.softplus(-value)).sum(axis=-1)


def _direct_logp(uv: Any, copy_a: Any, copy_b: Any, own_a: Any, own_b: Any) -> Any:
    """Log density of (u, v) when the copy probability and the own accuracy have Beta priors."""
    u, v = uv[..., 0], uv[..., 1]
    c = u - v
    own, rest = _alone(u, v)
    # |d(u, v)/d(c, q)| = 1 - |c|; the halved density comes of stretching [0, 1] to [-1, 1].
    return (
        pm.logp(pm.Beta.dist(copy_a, copy_b), (1 + c) / 2)
        - np.log(2)
        + pm.logp(pm.Beta.dist(own_a, own_b), own)
        - pt.log(rest)
    )


def _direct_dist(copy_a: Any, copy_b: Any, own_a: Any, own_b: Any, size: Any) -> Any:
    """(u, v) as random graph: copy or invert with probability |c|, else right with q."""
    c = 2 * pm.Beta.dist(copy_a, copy_b, size=size) - 1
    q = pm.Beta.dist(own_a, own_b, size=size)
    own = (1 - pt.abs(c)) * q
    return pt.stack([pt.maximum(c, 0) + own, pt.maximum(-c, 0) + own], axis=-1)
