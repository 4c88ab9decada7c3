"""The signed copy model: ``b`` copies ``a`` with some probability, else responds independently.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike

from alikely.data.tables import check_counts, pair_coords
from alikely.metrics.consistency import DEFAULT_PRIOR, check_prior
from alikely.models._parts import tensor_within
from alikely.models._priors import Priors, building


def copying(
    counts: ArrayLike,
    pairs: Sequence[str] | None = None,
    *,
    independent: bool = False,
    priors: Priors | None = None,
) -> pm.Model:
    """Build the signed copy model for pairs of observers from their correctness tables [K25]_.

    Observer ``a`` is correct with probability ``p_a``. Observer ``b`` is correct with probability
    ``u`` if ``a`` is correct and ``v`` if ``a`` is not. ``u - v`` is the probability that ``b``
    copies ``a`` (or, if negative, inverts ``a``); ``own_accuracy`` is the accuracy of ``b`` when
    not copying.

    Parameters
    ----------
    counts : array_like of int, shape (4,) or (pair, 4)
        Counts ``n11, n10, n01, n00``, such as ``cells`` from `alikely.data.joint_correctness`.
    pairs : sequence of str, optional
        Labels of the dimension ``pair``.
    independent : bool
        Whether to model two independent observers with accuracies ``p_a`` and ``p_b``, which is the
        null model of error consistency. Default False.
    priors : mapping, optional
        Mapping from the names of free variables to priors with constant parameters. A prior is a
        PyMC distribution without a name, such as ``pm.Beta.dist(2, 2)``, or the parameters of the
        default distribution. Pass the parameters of a distribution as a tuple, in the order of the
        PyMC distribution. If a distribution has a single parameter, pass a number, or a list if
        this parameter is a vector. A scalar distribution applies to all elements; a distribution of
        the variable's shape applies elementwise. Default: ``{"p_a": (1, 1), "u": (0.5, 0.5), "v":
        (0.5, 0.5)}``, equivalent to a Dirichlet(1/2) on the four cells. For independent observers,
        the default priors of ``p_a`` and ``p_b`` are uniform.

    Returns
    -------
    pymc.Model
        Model with dims ``pair, cell``, data ``cells`` and likelihood ``observed_cells``. Variables
        are ``p_a, u, v``. Derived variables are ``copy_probability``, ``own_accuracy`` (accuracy of
        ``b`` if it does not copy), ``accuracy`` (of ``b`` overall) and ``error_consistency``. The
        model of independent observers has the variables ``p_a, p_b``. The copy model and the model
        of independent observers have the same observed variable, so they can be compared.

    Raises
    ------
    ValueError
        If the counts are invalid, or a variable in `priors` does not exist or depends on other
        variables.
    ValueError
        If a prior is not a continuous distribution with constant, valid parameters, has the wrong
        shape, or allows values outside the support of the default prior.

    Notes
    -----
    With a signed copy probability as a free variable instead of ``u`` and ``v``, the posterior
    would have a kink at 0 and a funnel near ceiling accuracy.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.copying([100, 20, 20, 20], priors={"p_a": pm.Beta.dist(2, 2)})
    >>> sorted(variable.name for variable in model.free_RVs)
    ['p_a', 'u', 'v']
    """
    cells = np.atleast_2d(check_counts(counts))
    beta = check_prior(None)
    if independent:
        beta = DEFAULT_PRIOR.accuracies("a model of both accuracies")
    with building(priors, pair_coords(len(cells), pairs)) as model:
        data = pm.Data("cells", cells, dims=("pair", "cell"))
        p_a, u, *v = (pm.Beta(name, *given, dims="pair") for name, given in beta.items())
        v = v[0] if v else u
        if not independent:
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
    pm.Deterministic("own_accuracy", _alone(u, v), dims="pair")
    p_b = pm.Deterministic("accuracy", p_a * u + (1 - p_a) * v, dims="pair")
    # EC = c f; the odds of disagreement by chance never vanish inside the unit cube.
    chance = p_a * (1 - p_b) + (1 - p_a) * p_b
    kappa = tensor_within(difference * 2 * p_a * (1 - p_a) / chance, -1)
    pm.Deterministic("error_consistency", kappa, dims="pair")


def _alone(u: Any, v: Any) -> Any:
    """Accuracy where nothing is copied, at most 1 after rounding."""
    right, wrong = pt.minimum(u, v), pt.minimum(1 - u, 1 - v)
    return right / (right + wrong)
