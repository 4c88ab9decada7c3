"""Wrong labels of pairs of systems on shared items and on others.

References
----------
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models.
   doi:10.1214/06-BA117A
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

from alikely.metrics.errors import drop_true
from alikely.models._parts import tensor_within
from alikely.models._priors import Priors, building

KINDS = ("agreed", "apart_a", "apart_b", "alone_a", "alone_b")
PAIR_DIMS = ("pair", "true_class", "response_class")
WRONG_DIMS = ("pair", "true_class", "wrong_class")
SIDE_DIMS = ("pair", "side", "true_class", "wrong_class")
# All as in `alikely.errors.pairs`, whose Gibbs sampler draws from the same posterior.
COPIED = 0.5
SURE_OF = 8.0
FLOOR = 1e-6
TINY = 1e-300
# Parameters of less are of this size: such a label has next to no share in either case.
LEAST = 1e-8
# Chosen so that the log density of a coordinate bends at most 2.4 times as much as that of a normal
# variable of its standard deviation, for gamma variables of any parameter from 1e-4 to 100; with
# the mean and variance of a logarithm in their place, up to 90 times: chains diverge there.
CENTER, WIDTH = 0.2, 8.0
# Newton's steps to a coordinate; each but the last few goes about 1 further, over log(1 / LEAST).
N_STEPS = 60


def paired_errors(
    agreed: ArrayLike | xr.DataArray,
    apart_a: ArrayLike | xr.DataArray,
    apart_b: ArrayLike | xr.DataArray,
    alone_a: ArrayLike | xr.DataArray,
    alone_b: ArrayLike | xr.DataArray,
    *,
    priors: Priors | None = None,
) -> pm.Model:
    """Build a model of the incorrect labels that pairs of systems give to items, shared or not.

    For each true class, each system of a pair has a row of probabilities of the incorrect labels,
    which varies around a base row. On an item that both systems get wrong, they give a common label
    (copied, or caused by the item) with probability ``c``. Otherwise, the two labels are
    independent: ``P(i, j) = c s(i) [i = j] + (1 - c) p_a(i) p_b(j)``. The likelihood sums over
    whether each common label was copied.

    Parameters
    ----------
    agreed : array_like or xarray.DataArray, shape (pair, true_class, response_class)
        Numbers of items on which both systems erred and gave the same label, by this label. The
        diagonal is ignored. The first axis may be omitted for one pair. Class labels are taken from
        the coords.
    apart_a, apart_b : array_like or xarray.DataArray, shape (pair, true_class, response_class)
        Numbers of items on which both systems erred with different labels, by the label of `a` or
        of `b`.
    alone_a, alone_b : array_like or xarray.DataArray, shape (pair, true_class, response_class)
        Numbers of errors on items that the other system did not see or to which it responded
        correctly.
    priors : mapping, optional
        Priors by name, such as ``{"spread": pm.HalfNormal.dist(1)}`` or
        ``{"copying_mean": (0.2, 0.9)}``; see `alikely.models.copying`.

    Returns
    -------
    pymc.Model
        Dims ``pair, side`` (a, b), ``true_class, response_class`` and ``wrong_class`` (the classes
        without the true one, numbered in order), and

        - data with the names of the arguments (pair, true_class, wrong_class)
        - ``base``, ``copied_rows`` (pair, true_class, response_class)
        - ``own_rows``, ``error_rows`` (pair, side, true_class, response_class): distributions of
          errors that are not copied, and of all errors
        - ``concentration`` (pair, true_class): mean Dirichlet parameter of a label
        - ``copy_probability`` (pair, true_class)
        - ``error_divergence`` (pair), in bits, from 0 to 1: divergence of ``error_rows``, with true
          classes weighted by their errors [X25]_
        - likelihoods ``labels_of_both`` (pair, true_class, label_of_both) and ``labels_alone``
          (pair, side, true_class, wrong_class)

    Raises
    ------
    ValueError
        If the counts are not square tables with at least 3 classes, or are not non-negative whole
        numbers. If they differ in shape or labels, or contain no errors. If `apart_a` and `apart_b`
        have different totals. If a prior is invalid, as in `alikely.models.copying`.

    Notes
    -----
    Pairs have no common parameters, so a model of several pairs is equivalent to separate models.

    ``error_rows`` are mixtures of copied errors and other errors. These mixtures assume that new
    items are shared as often as the observed items. The proportion of copies among a system's
    errors is ``copy_probability`` times the proportion of its errors on items that both got wrong.
    `alikely.error_similarity` also propagates the uncertainty in the latter proportion.

    ``spread`` measures how much systems differ. The half-normal prior for ``spread`` is finite at 0
    [G06]_, so that the divergence between identical systems can be 0. Likelihoods are computed for
    single errors, so they omit multinomial coefficients, which do not depend on the parameters.
    """
    given = (agreed, apart_a, apart_b, alone_a, alone_b)
    counts, labels = _checked(dict(zip(KINDS, given, strict=True)))
    n_classes = counts["agreed"].shape[-1]
    wrong = range(n_classes - 1)
    coords = {
        **labels,
        "side": ["a", "b"],
        "response_class": labels["true_class"],
        "wrong_class": list(wrong),
        "copied_or_own": ["copied", "own"],
        "label_of_both": [f"{k} {j}" for k in ("same", "of a", "of b") for j in wrong],
    }
    with building(priors, coords) as model:
        data = {k: pm.Data(k, drop_true(v), dims=WRONG_DIMS) for k, v in counts.items()}
        logs = _rows(data, n_classes)
        _likelihoods(data, *logs)
        _reported(data, *logs)
    return model


def _checked(
    given: dict[str, ArrayLike | xr.DataArray],
) -> tuple[dict[str, NDArray[np.int64]], dict[str, list[Any]]]:
    """Counts of one shape without their diagonals, and the labels of pairs and classes."""
    arrays: dict[str, xr.DataArray] = {}
    for name, counts in given.items():
        if not isinstance(counts, xr.DataArray):
            values = np.asarray(counts)
            counts = xr.DataArray(values, dims=PAIR_DIMS[-values.ndim :])
        array = counts if "pair" in counts.dims else counts.expand_dims("pair")
        if set(array.dims) != set(PAIR_DIMS):
            raise ValueError(f"{name} must have the dims {PAIR_DIMS}, got {counts.dims}")
        arrays[name] = array.transpose(*PAIR_DIMS)
    like = arrays["agreed"]
    pairs, classes, responses = (like.get_index(dim) for dim in PAIR_DIMS)
    for name, array in arrays.items():
        if array.shape != like.shape:
            raise ValueError(
                f"all counts must have the same shape; agreed has {like.shape}, {name} "
                f"{array.shape}"
            )
        if not all(array.get_index(dim).equals(like.get_index(dim)) for dim in PAIR_DIMS):
            raise ValueError(
                f"agreed and {name} must have the same pairs and classes in the same order; "
                "reindex them"
            )
    if len(classes) < 3 or not classes.equals(responses):
        raise ValueError(
            f"counts must have the axes {PAIR_DIMS}, square in at least 3 classes in the same "
            f"order, got shape {like.shape}; reindex them"
        )
    counts = np.stack([array.values for array in arrays.values()]).astype(np.float64)
    bad = counts[~((counts >= 0) & (counts == np.floor(counts)) & np.isfinite(counts))]
    if bad.size:
        raise ValueError(f"counts must be whole numbers of at least 0, got {bad[0]:g}")
    counts = np.where(np.eye(len(classes), dtype=bool), 0, counts).astype(np.int64)
    if not counts.any():
        raise ValueError("counts must contain at least one error off the diagonal, got none")
    n_a, n_b = counts[1:3].sum(axis=-1)
    if (n_a != n_b).any():
        pair, true = np.argwhere(n_a != n_b)[0]
        raise ValueError(
            "apart_a and apart_b must have the same totals, one label per item; apart_a has "
            f"{n_a[pair, true]} and apart_b {n_b[pair, true]} in pair {pair}, true class {true}"
        )
    labels = {"pair": pairs.tolist(), "true_class": classes.tolist()}
    return dict(zip(arrays, counts, strict=True)), labels


def _rows(data: dict[str, Any], n_classes: int) -> tuple[Any, Any, Any]:
    """Draw from the prior: logs of own and copied rows, and of the probability of a copy or not.

    Shapes are (pair, side, true_class, wrong_class), (pair, true_class, wrong_class) and
    (pair, true_class, 2).
    """
    k = n_classes - 1
    spread = pm.HalfNormal("spread", 2, dims="pair")
    deviate = pm.Normal("class_deviate", 0, 0.15, dims=WRONG_DIMS[:2])
    apart = spread[:, None] * pt.exp(deviate)
    concentration = pm.Deterministic("concentration", 1 / (apart**2 + FLOOR), dims=WRONG_DIMS[:2])
    log_base = pm.Normal("log_base_parameter", 0, 1.5, dims="pair")
    mean = pm.Uniform("copying_mean", 0, 1, dims="pair")
    log_sureness = pm.Normal("log_sureness", np.log(SURE_OF), 1.5, dims="pair")

    # What counts say of rows, if an agreement was copied as often as its label is rare.
    of_a = data["agreed"] + data["apart_a"] + data["alone_a"]
    of_b = data["agreed"] + data["apart_b"] + data["alone_b"]
    pooled = of_a + of_b + 0.5
    pooled = pooled / pooled.sum(axis=-1, keepdims=True)
    m = mean[:, None, None]
    copies = data["agreed"] * m / (m + (1 - m) * pooled)
    own = pt.stack([of_a - copies, of_b - copies], axis=1)
    prior = (concentration[..., None] * k * pooled)[:, None]
    told = _base_draws(own, prior).sum(axis=1) + _base_draws(copies, COPIED * k * pooled)

    base_parameters = pt.exp(log_base)[:, None, None] + pt.zeros_like(pooled)
    log_rows = _log_shares("base_coordinate", base_parameters, told, WRONG_DIMS)
    base = pt.exp(log_rows)
    pm.Deterministic("base", insert_true(base, n_classes), dims=PAIR_DIMS)
    parameters = (concentration[..., None] * k * base)[:, None] + pt.zeros_like(own)
    of_own = _log_shares("own_coordinate", parameters, own, SIDE_DIMS)
    of_copied = _log_shares("copied_coordinate", COPIED * k * base, copies, WRONG_DIMS)
    both = (data["agreed"] + data["apart_a"]).sum(axis=-1)
    n_copies = copies.sum(axis=-1)
    shares = (pt.exp(log_sureness)[:, None] * pt.stack([mean, 1 - mean], axis=-1))[:, None]
    # Where nothing is copied the share of copies goes to 0 by powers: copies that only may be there
    # would make its coordinate too short for that, and all of the others too long.
    seen = pt.stack([pt.zeros_like(n_copies), both - n_copies], axis=-1) / 4
    copying = _log_shares(
        "copying_coordinate",
        shares + pt.zeros_like(seen),
        seen,
        (*WRONG_DIMS[:2], "copied_or_own"),
    )
    return of_own, of_copied, copying


def _likelihoods(data: dict[str, Any], own: Any, copied: Any, copying: Any) -> None:
    """Add the likelihoods of labels where both err, and where one does."""
    both = pt.concatenate([data[name] for name in KINDS[:3]], axis=-1)
    alone = pt.stack([data[name] for name in KINDS[3:]], axis=1)
    pm.CustomDist(
        "labels_of_both",
        copying,
        copied,
        own[:, 0],
        own[:, 1],
        # For its length, and the number of items.
        both,
        logp=_log_both,
        random=drawn_both,
        signature="(two),(label),(label),(label),(both)->(both)",
        dtype="int64",
        class_name="LabelsOfBoth",
        observed=both,
        dims=(*WRONG_DIMS[:2], "label_of_both"),
    )
    pm.CustomDist(
        "labels_alone",
        own,
        alone.sum(axis=-1),
        logp=lambda value, rows, n: pt.switch(
            pt.eq(value.sum(axis=-1), n), (value * rows).sum(axis=-1), -np.inf
        ),
        random=drawn_alone,
        signature="(label),()->(label)",
        dtype="int64",
        class_name="LabelsAlone",
        observed=alone,
        dims=SIDE_DIMS,
    )


def _log_both(value: Any, copying: Any, copied: Any, own_a: Any, own_b: Any, like: Any) -> Any:
    """Log likelihood of single items; labels that differ count separately for each system."""
    k = copied.shape[-1]
    agreed, of_a, of_b = value[..., :k], value[..., k : 2 * k], value[..., 2 * k :]
    by_copy, by_chance = copying[..., 0], copying[..., 1]
    same = pt.logaddexp(by_copy[..., None] + copied, by_chance[..., None] + own_a + own_b)
    found = (agreed * same + of_a * own_a + of_b * own_b).sum(axis=-1)
    apart = of_a.sum(axis=-1)
    n = like[..., : 2 * k].sum(axis=-1)
    possible = pt.eq(agreed.sum(axis=-1) + apart, n) & pt.eq(apart, of_b.sum(axis=-1))
    return pt.switch(possible, found + apart * by_chance, -np.inf)


def drawn_both(
    copying: NDArray[np.floating],
    copied: NDArray[np.floating],
    own_a: NDArray[np.floating],
    own_b: NDArray[np.floating],
    like: NDArray[np.integer],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.int64]:
    """Labels of items on which both err: copied, or drawn by each system."""
    k = copied.shape[-1]
    rows = (copying, copied, own_a, own_b, like)
    batch = np.broadcast_shapes(*(row.shape[:-1] for row in rows)) if size is None else tuple(size)
    n = like[..., : 2 * k].sum(axis=-1)
    share = np.broadcast_to(_whole(copying)[..., 0], batch)
    copies = rng.binomial(np.broadcast_to(n, batch), share)
    same = rng.multinomial(copies, np.broadcast_to(_whole(copied), (*batch, k)))
    of_a = rng.multinomial(n - copies, np.broadcast_to(_whole(own_a), (*batch, k)))
    table = rng.multinomial(of_a, np.broadcast_to(_whole(own_b)[..., None, :], (*batch, k, k)))
    by_chance = np.diagonal(table, axis1=-2, axis2=-1)
    apart_b = table.sum(axis=-2) - by_chance
    return np.concatenate([same + by_chance, of_a - by_chance, apart_b], axis=-1)


def drawn_alone(
    rows: NDArray[np.floating],
    n: NDArray[np.integer],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.int64]:
    """Labels of errors on items that the other system answered correctly or did not see."""
    batch = np.broadcast_shapes(rows.shape[:-1], np.shape(n)) if size is None else tuple(size)
    return rng.multinomial(
        np.broadcast_to(n, batch), np.broadcast_to(_whole(rows), (*batch, rows.shape[-1]))
    )


def _whole(logs: NDArray[np.floating]) -> NDArray[np.floating]:
    """Probabilities that sum to 1 up to rounding, as multinomial draws require."""
    shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=-1, keepdims=True))


def _reported(data: dict[str, Any], log_own: Any, log_copied: Any, log_copying: Any) -> None:
    """Reported quantities, from rows with all classes."""
    side_dims = ("pair", "side", *PAIR_DIMS[1:])
    copied, own = pt.exp(log_copied), pt.exp(log_own)
    n_classes = len(pm.modelcontext(None).coords["true_class"])
    pm.Deterministic("copied_rows", insert_true(copied, n_classes), dims=PAIR_DIMS)
    pm.Deterministic("own_rows", insert_true(own, n_classes), dims=side_dims)
    copying = pm.Deterministic("copy_probability", pt.exp(log_copying[..., 0]), dims=PAIR_DIMS[:2])
    both = (data["agreed"] + data["apart_a"]).sum(axis=-1)[:, None]
    alone = pt.stack([data["alone_a"].sum(axis=-1), data["alone_b"].sum(axis=-1)], axis=1)
    part = (copying[:, None] * both / pt.maximum(both + alone, 1))[..., None]
    rows = part * copied[:, None] + (1 - part) * own
    pm.Deterministic("error_rows", insert_true(rows, n_classes), dims=side_dims)
    middle = rows.mean(axis=1, keepdims=True)
    # A share may underflow to 0, and adds nothing then.
    ratio = pt.log(pt.maximum(rows, TINY) / pt.maximum(middle, TINY)) / np.log(2)
    by_class = (rows * ratio).sum(axis=(1, 3)) / 2
    weight = (both + alone).sum(axis=1)
    total = pt.maximum(weight.sum(axis=-1), 1)
    divergence = tensor_within((weight * by_class).sum(axis=-1) / total)
    pm.Deterministic("error_divergence", divergence, dims="pair")


def _log_shares(name: str, parameters: Any, seen: Any, dims: tuple[str, ...]) -> Any:
    """Logarithms of Dirichlet rows, in coordinates shaped by the counts."""
    above = parameters + LEAST
    coordinate = pm.CustomDist(
        name,
        above,
        seen,
        logp=_coordinate_density,
        random=_random_coordinates,
        support_point=lambda rv, *_: pt.zeros_like(rv),
        signature="(label),(label)->(label)",
        class_name="DirichletCoordinate",
        dims=dims,
    )
    return pt.special.log_softmax(_place(coordinate, above + seen), axis=-1)


def _base_draws(counts: Any, parameters: Any) -> Any:
    """Approximate number of independent draws from a base, given counts of rows around it."""
    return parameters * pt.log1p(counts / parameters)


def _place(coordinate: Any, shape: Any, of: Any = pt) -> Any:
    """Logarithm of a gamma variable from its coordinate."""
    softplus = pt.softplus(-coordinate) if of is pt else np.logaddexp(0, -coordinate)
    return of.log(shape + CENTER) + coordinate / of.sqrt(shape + WIDTH) - softplus / shape


def _coordinate_density(value: Any, parameters: Any, seen: Any) -> Any:
    """Density of coordinates: a Dirichlet row, and the free sum of its gamma variables."""
    shape = parameters + seen
    place = _place(value, shape)
    slope = 1 / pt.sqrt(shape + WIDTH) + pt.sigmoid(-value) / shape
    log_sum = pt.logsumexp(place, axis=-1)
    total, number = parameters.sum(axis=-1), seen.sum(axis=-1)
    each = parameters * place + pt.log(slope) - pt.gammaln(parameters)
    constant = pt.gammaln(total) - pt.gammaln(total + number)
    return each.sum(axis=-1) + number * log_sum - pt.exp(log_sum) + constant


def _random_coordinates(
    parameters: NDArray[np.floating],
    seen: NDArray[np.floating],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.float64]:
    """Draw a row, the sum of its gamma variables, and find the coordinates."""
    whole = np.broadcast_shapes(parameters.shape, seen.shape)
    if size is not None:
        whole = (*size, whole[-1])
    parameters, seen = np.broadcast_to(parameters, whole), np.broadcast_to(seen, whole)
    logs = np.log(rng.standard_gamma(parameters + 1))
    logs -= rng.standard_exponential(whole) / parameters
    logs -= np.logaddexp.reduce(logs, axis=-1, keepdims=True)
    sums = rng.standard_gamma((parameters + seen).sum(axis=-1, keepdims=True))
    return _coordinate(logs + np.log(np.maximum(sums, np.finfo(float).tiny)), parameters + seen)


def _coordinate(place: NDArray[np.floating], shape: NDArray[np.floating]) -> NDArray[np.float64]:
    """Inverse of `_place`, by Newton's steps from below, which never overshoot: it is concave."""
    slope = 1 / np.sqrt(shape + WIDTH)
    beyond = place - np.log(shape + CENTER)
    at = np.where(beyond > 0, beyond / slope, beyond / (slope + 1 / shape))
    for _ in range(N_STEPS):
        # 1 / (1 + exp(at)), also where the exponential would overflow.
        below = np.exp(-np.logaddexp(0, at))
        at = at + (place - _place(at, shape, np)) / (slope + below / shape)
    return np.asarray(at)


def insert_true(values: Any, n_classes: int) -> Any:
    """Insert a 0 at the true class; inverse of `drop_true`, for arrays and tensors."""
    j, t = np.arange(n_classes), np.arange(n_classes)[:, None]
    at = np.clip(j - (j > t), 0, n_classes - 2)
    return values[..., t, at] * (j != t)
