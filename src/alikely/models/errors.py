"""Distributions of wrong labels, and wrong labels that are copied.

References
----------
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models.
   doi:10.1214/06-BA117A
.. [M62] Mosimann (1962). On the compound multinomial distribution, the multivariate beta
   distribution, and correlations among proportions. doi:10.1093/biomet/49.1-2.65
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely.metrics.rows import (
    ROW_DIMS,
    TABLE_DIMS,
    check_errors,
    drop_true,
    insert_true,
)
from alikely.models._given_priors import Priors, with_priors
from alikely.models._parts import TINY, informed_logits, spread

__all__ = ["class_coords", "class_copying", "error_distributions"]

# With so many rows around them base rows are known better than their spread; with fewer, deviates
# in units of the spread are the freer parameters.
MANY = 10
# Concentrations end at a million, where divergences are below a millionth of a bit: beyond, the
# log likelihood is a difference of log gamma functions too large to resolve it.
FLOOR = 1e-6
# Added to counts whose logarithm is taken.
HALF = 0.5
WRONG_DIMS = ("system", "true_class", "wrong_class")


def error_distributions(
    rows: ArrayLike | xr.DataArray, *, priors: Priors | None = None
) -> pm.Model:
    """Build a model of each system's distribution of errors over wrong labels, by true class.

    A system's errors on a true class are multinomial. Its row of probabilities has a Dirichlet
    distribution around a latent base row of the class, which all systems share. The concentration
    of rows around their base is estimated, with the rows integrated out [M62]_. Given base ``m``
    and concentration ``k``, a row of errors ``n`` has the posterior Dirichlet(``n + k (C - 1) m``)
    over the wrong labels, where ``C`` is the number of classes.

    Parameters
    ----------
    rows : array_like or xarray.DataArray, shape (system, true_class, response_class)
        Numbers of errors. The diagonal is ignored. Labels are taken from the coords.
    priors : mapping, optional
        Priors by name, such as ``{"spread": pm.HalfNormal.dist(1)}`` or ``{"spread": 1.0}``; see
        `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``system, true_class, response_class`` and ``wrong_class``, the classes without the
        true one, numbered in order. Data ``errors``; deterministics ``base``
        (true_class, response_class) and ``concentration`` (true_class), the mean Dirichlet
        parameter of a cell; likelihood ``observed_errors``.

    Raises
    ------
    ValueError
        If the counts are not square with at least 3 classes, not whole, negative, or without any
        error. For priors as in `alikely.models.with_priors`.

    Notes
    -----
    ``spread = concentration**-0.5`` measures how much systems differ. Its half-normal prior is
    finite at 0 [G06]_, so that equal systems can reach a divergence of 0; independent rows cannot.
    To reuse a compiled model, replace the data ``errors`` with dims
    ``system, true_class, wrong_class``.

    Examples
    --------
    >>> rows = [[[0, 5, 1], [2, 0, 2], [0, 3, 0]], [[0, 4, 2], [2, 0, 1], [1, 3, 0]]]
    >>> model = error_distributions(rows, priors={"spread": pm.HalfNormal.dist(1)})
    >>> sorted(variable.name for variable in model.deterministics)
    ['base', 'concentration']
    """
    counts, labels = check_errors(rows, ROW_DIMS)
    n_systems, n_classes = counts.shape[:2]
    with pm.Model(coords=class_coords(labels)) as model:
        errors = pm.Data("errors", drop_true(counts), dims=WRONG_DIMS)
        # Logits: Dirichlet base rows of small parameters crowd at the simplex's edges.
        sd = spread("base_sd", 1, n_classes)
        if n_systems >= MANY:
            logits = pm.ZeroSumNormal("base_logit", sd, dims=WRONG_DIMS[1:])
        else:
            logits = sd * pm.ZeroSumNormal("base_deviate", 1, dims=WRONG_DIMS[1:])
        share = pm.math.softmax(logits, axis=-1)
        pm.Deterministic(
            "base", insert_true(share, n_classes), dims=("true_class", "response_class")
        )
        level = 1 / (pm.HalfNormal("spread", 2) ** 2 + FLOOR)
        deviate = pm.Normal("class_deviate", 0, 1, dims="true_class")
        by_class = level * pt.exp(pm.HalfNormal("class_sd", 0.5) * deviate)
        concentration = pm.Deterministic("concentration", by_class, dims="true_class")[:, None]
        pm.DirichletMultinomial(
            "observed_errors",
            a=concentration * (n_classes - 1) * share,
            n=errors.sum(axis=-1),
            observed=errors,
            dims=WRONG_DIMS,
        )
    return with_priors(model, priors)


def class_coords(labels: dict[str, list[Any]]) -> dict[str, Any]:
    """Labels of classes, and numbers of wrong classes."""
    classes = labels["true_class"]
    return {**labels, "response_class": classes, "wrong_class": list(range(len(classes) - 1))}


def class_copying(counts: ArrayLike | xr.DataArray, *, priors: Priors | None = None) -> pm.Model:
    """Build a model of copied wrong labels on trials that both observers of a pair got wrong.

    On a joint error of true class ``t``, ``b`` gives ``a``'s wrong label with probability ``c``.
    Otherwise ``b`` draws a label from its own error distribution of that class:
    ``P(b = j | a = i, t) = c [i = j] + (1 - c) q_t(j)``.

    Parameters
    ----------
    counts : array_like or xarray.DataArray, shape (pair, true_class, label_a, label_b)
        Numbers of joint errors by the two labels. Entries in which a label is the true class are
        ignored. Labels are taken from the coords.
    priors : mapping, optional
        Priors by name, such as ``{"copy_probability": pm.Beta.dist(2, 2)}`` or
        ``{"row_sd": (2, 4)}``; see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``pair, true_class, response_class, wrong_class``, and

        - data ``errors_of_a``: joint errors by the label of ``a``; ``agreed``, ``differed``: by
          the label of ``b``, where both labels are the same and where they differ
        - ``copy_probability`` (pair), in [0, 1]
        - ``errors_a``, ``own_errors_b`` (pair, true_class, response_class): error distributions
        - ``misclassification_agreement`` (pair) of the implied joint distribution [X25]_
        - likelihoods ``observed_classes``, ``observed_errors_of_a``, and ``labels_of_b`` (pair,
          true_class, label_of_b): how often ``b`` gave each label where ``a`` gave the same label,
          then where ``a`` gave another

    Raises
    ------
    ValueError
        If the counts are not square with at least 3 classes, not whole, negative, or without any
        joint error. For priors as in `alikely.models.with_priors`.

    Notes
    -----
    Error distributions of ``a`` and ``b`` are logistic-normal around rows that all pairs share.
    With few errors of a true class, chance agreement depends on how peaked these distributions are,
    which is estimated from all pairs. The sampled variables are logits ``base_logit``, ``logit_a``
    and ``logit_b`` with spreads ``base_sd`` and ``row_sd``. Rows are their softmax, so a constant
    added to all logits of a row has no effect.

    Each likelihood is conditional on the data of the previous one, so draws of all three make a new
    table. The likelihood ``labels_of_b`` is one of single errors: it omits the multinomial
    coefficient of the counts, which does not depend on the parameters.

    Examples
    --------
    >>> counts = np.zeros((1, 3, 3, 3), dtype=int)
    >>> counts[0, 0] = [[0, 0, 0], [0, 5, 1], [0, 2, 3]]
    >>> model = class_copying(counts, priors={"copy_probability": pm.Beta.dist(2, 2)})
    >>> model["copy_probability"].eval().shape
    (1,)
    """
    tables, labels = check_errors(counts, TABLE_DIMS)
    n_classes = tables.shape[1]
    dims = ("pair", "true_class", "wrong_class")
    same = np.diagonal(tables, axis1=-2, axis2=-1)
    coords = class_coords(labels)
    coords["label_of_b"] = [f"{k} {j}" for k in ("same", "other") for j in coords["wrong_class"]]
    with pm.Model(coords=coords) as model:
        of_a = pm.Data("errors_of_a", drop_true(tables.sum(axis=-1)), dims=dims)
        agreed = pm.Data("agreed", drop_true(same), dims=dims)
        differed = pm.Data("differed", drop_true(tables.sum(axis=-2) - same), dims=dims)
        c = pm.Uniform("copy_probability", 0, 1, dims="pair")
        share = pm.Dirichlet("class_share", np.ones(n_classes), dims=dims[:2])
        r, q = _two_rows(of_a, agreed, differed, n_classes)
        full_r, full_q = (
            pm.Deterministic(name, insert_true(rows, n_classes), dims=(*dims[:2], "response_class"))
            for name, rows in (("errors_a", r), ("own_errors_b", q))
        )
        classes = pm.Multinomial(
            "observed_classes",
            n=of_a.sum(axis=(-2, -1)),
            p=share,
            observed=of_a.sum(axis=-1),
            dims=dims[:2],
        )
        given = pm.Multinomial("observed_errors_of_a", n=classes, p=r, observed=of_a, dims=dims)
        pm.CustomDist(
            "labels_of_b",
            c[:, None],
            q,
            # Once for each half of the counts, whose length it gives.
            pt.concatenate([given, given], axis=-1),
            logp=_log_labels,
            random=drawn_labels,
            signature="(),(label),(both)->(both)",
            dtype="int64",
            class_name="CopiedLabels",
            observed=pt.concatenate([agreed, differed], axis=-1),
            dims=(*dims[:2], "label_of_b"),
        )
        w = share[..., None]
        observed = c + (1 - c) * (w * full_r * full_q).sum(axis=(-2, -1))
        margin_a, margin_q = (w * full_r).sum(axis=-2), (w * full_q).sum(axis=-2)
        margin_b = c[:, None] * margin_a + (1 - c)[:, None] * margin_q
        expected = (margin_a * margin_b).sum(axis=-1)
        pm.Deterministic(
            "misclassification_agreement", (observed - expected) / (1 - expected), dims="pair"
        )
    return with_priors(model, priors)


def _two_rows(of_a: Any, agreed: Any, differed: Any, n_classes: int) -> list[Any]:
    """Error distributions of both observers of each pair around base rows."""
    base_sd, row_sd = spread("base_sd", 1, n_classes), spread("row_sd", 1, n_classes)
    seen, information = _seen_rows(of_a, agreed, differed)
    # What is seen of base rows, were rows as far apart as they are expected to be.
    surely = information / (1 + information)
    known = surely.sum(axis=(0, 1))
    together = (surely * seen).sum(axis=(0, 1)) / (known + TINY)
    base = informed_logits(
        "base_logit", pt.zeros_like(known), base_sd, together, known, WRONG_DIMS[1:]
    )
    dims = ("pair", *WRONG_DIMS[1:])
    around = base + pt.zeros_like(seen[0])
    return [
        pm.math.softmax(
            informed_logits(f"logit_{observer}", around, row_sd, seen[k], information[k], dims),
            axis=-1,
        )
        for k, observer in enumerate("ab")
    ]


def _seen_rows(of_a: Any, agreed: Any, differed: Any) -> tuple[Any, Any]:
    """Empirical logits of rows, (observer, pair, class, label), and their information."""
    pooled = (of_a + agreed + differed).sum(axis=0) + HALF
    pooled = pooled / pooled.sum(axis=-1, keepdims=True)
    errors = of_a.sum(axis=-1)
    number = errors.sum(axis=-1) + TINY
    chance = (errors * (pooled**2).sum(axis=-1)).sum(axis=-1) / number
    alike = agreed.sum(axis=(-2, -1)) / number
    c = pt.clip((alike - chance) / (1 - chance + TINY), 0, 1)[:, None, None]
    own = agreed * (1 - c) * pooled / (c + (1 - c) * pooled) + differed
    counts = pt.stack([pt.cast(of_a, "float64"), own])
    share = (counts + HALF) / (counts + HALF).sum(axis=-1, keepdims=True)
    information = counts.sum(axis=-1, keepdims=True) * share
    # All on one level; of a softmax none is given.
    known = information.sum(axis=-1, keepdims=True) + TINY
    level = (information * (pt.log(pooled) - pt.log(share))).sum(axis=-1, keepdims=True) / known
    return pt.log(share) + level, information


def _log_labels(value: Any, copying: Any, own: Any, given: Any) -> Any:
    """Log likelihood of b's labels, which depend on a's only by being the same or not."""
    n = own.shape[-1]
    agreed, differed, of_a = value[..., :n], value[..., n:], given[..., :n]
    alone = (1 - copying)[..., None] * own
    same = pt.log(copying[..., None] + alone)
    found = (agreed * same + differed * pt.log(alone)).sum(axis=-1)
    possible = pt.eq(value.sum(axis=-1), of_a.sum(axis=-1)) & pt.all(agreed <= of_a, axis=-1)
    return pt.switch(possible, found, -np.inf)


def drawn_labels(
    copying: NDArray[np.floating],
    own: NDArray[np.floating],
    given: NDArray[np.integer],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.int64]:
    """Labels of b: each error of a copied, or drawn independently."""
    n = own.shape[-1]
    batch = np.broadcast_shapes(copying.shape, own.shape[:-1], given.shape[:-1])
    shape = batch if size is None else tuple(size)
    of_a = np.broadcast_to(given[..., :n], (*shape, n))
    copied = rng.binomial(of_a, np.broadcast_to(copying[..., None], of_a.shape))
    # Rows that were worked out in floating numbers may sum to a little more than 1.
    share = own / own.sum(axis=-1, keepdims=True)
    alone = rng.multinomial(of_a - copied, np.broadcast_to(share[..., None, :], (*shape, n, n)))
    same = np.diagonal(alone, axis1=-2, axis2=-1)
    return np.concatenate([copied + same, alone.sum(axis=-2) - same], axis=-1)
