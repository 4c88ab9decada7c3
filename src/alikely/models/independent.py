"""Independent observers: two accuracies and nothing shared.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import ArrayLike

from alikely.data.tables import check_counts
from alikely.metrics.cell_priors import check_accuracy_priors
from alikely.models._coords import pair_coords
from alikely.models._given_priors import Priors, with_priors

__all__ = ["independence"]


def independence(
    counts: ArrayLike, pairs: Sequence[str] | None = None, *, priors: Priors | None = None
) -> pm.Model:
    """Two observers that err independently: the null model of error consistency [K25]_.

    Parameters
    ----------
    counts : array_like of int, shape (4,) or (pair, 4)
        Cells ``n11, n10, n01, n00``.
    pairs : sequence of str, optional
        Labels of the ``pair`` dim.
    priors : mapping, optional
        Other priors of the accuracies, uniform by default, such as ``{"p_a": pm.Beta.dist(2, 2)}``
        or ``{"p_a": (2, 2)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``pair, cell``; data ``cells``; variables ``p_a, p_b``; likelihood
        ``observed_cells``, the same as in the copy model, so that the two can be compared.

    Raises
    ------
    ValueError
        If the counts are not whole and non-negative; for priors as in `alikely.models.with_priors`.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.independence([100, 20, 20, 20], priors={"p_a": pm.Beta.dist(2, 2)})
    >>> sorted(variable.name for variable in model.free_RVs)
    ['p_a', 'p_b']
    """
    cells = np.atleast_2d(check_counts(counts))
    default = check_accuracy_priors(None)
    with pm.Model(coords=pair_coords(len(cells), pairs)) as model:
        data = pm.Data("cells", cells, dims=("pair", "cell"))
        p_a, p_b = (pm.Beta(name, *beta, dims="pair") for name, beta in default.items())
        probabilities = pt.stack(
            [p_a * p_b, p_a * (1 - p_b), (1 - p_a) * p_b, (1 - p_a) * (1 - p_b)], axis=-1
        )
        pm.Multinomial(
            "observed_cells",
            n=data.sum(axis=-1),
            p=probabilities,
            observed=data,
            dims=("pair", "cell"),
        )
    return with_priors(model, priors)
