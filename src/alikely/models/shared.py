"""Which errors a group of systems makes on items that they share, around one base.

References
----------
.. [G06] Gelman (2006). Prior distributions for variance parameters in hierarchical models.
   doi:10.1214/06-BA117A
.. [X25] Xu, Bikakis, Onah, Vlachidis, Dickens (2025). Measuring error alignment for
   decision-making systems. doi:10.48550/arXiv.2409.13919
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely.metrics.dense_rows import insert_true
from alikely.models._given_priors import Priors, with_priors
from alikely.models._ranges import tensor_within
from alikely.models._shares import base_draws, log_shares
from alikely.models.paired import COPIED, FLOOR, SURE_OF, TINY

__all__ = ["shared_errors"]

ROW_DIMS = ("true_class", "wrong_class")
OWN_DIMS = ("true_class", "system", "wrong_class")
NOBODY = -1


def shared_errors(
    labels: ArrayLike | xr.DataArray,
    truth: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    priors: Priors | None = None,
) -> pm.Model:
    """Wrong labels of a group of systems on items that they share, rows around one base.

    Each item suggests a wrong label, drawn from a row of its true class. A system that errs on it
    gives this label with a probability of its own, ``f``, else one of its own row:
    ``P(labels) = sum_i s(i) prod_o (f_o [l_o = i] + (1 - f_o) p_o(l_o))``. What was suggested is
    summed over. Own rows of all systems lie around one base, and each system counts once for it,
    however many others it is compared with.

    Parameters
    ----------
    labels : array_like of int, shape (system, item), or xarray.DataArray of these dims
        Numbers of classes, from 0; -1 or masked where a system did not answer. Names of systems
        are taken from the coords. Items on which nobody errs say nothing of errors: they are left
        out, and ``item`` numbers the others by their places.
    truth : array_like of int, shape (item,)
        True classes, in the order of the items of `labels`.
    classes : sequence, optional
        Names of the classes, at least 3; numbers up to the largest if not given.
    priors : mapping, optional
        Other priors by name, such as ``{"spread": pm.HalfNormal.dist(1)}`` or
        ``{"follow_mean": (0.2, 0.9)}``, see `alikely.models.with_priors`.

    Returns
    -------
    pymc.Model
        Dims ``system, item, true_class, response_class``, ``wrong_class``, the classes without the
        true one, numbered in order, and ``other_system``. Data ``wrong_labels`` (item, system;
        numbers of wrong classes, -1 where a system does not err) and ``truth`` (item).
        Deterministics ``base`` and ``suggested_rows`` (true_class, response_class), ``own_rows``
        and ``error_rows`` (system, true_class, response_class), the latter of all errors, suggested
        or not; ``concentration``, the mean Dirichlet parameter of a label (true_class);
        ``follow_probability`` (system); ``error_divergence`` (system, other_system; bits, in
        [0, 1]) of ``error_rows``, true classes weighted by errors of both [X25]_. Likelihood
        ``observed_labels`` (item, system), of which each item is a piece.

    Raises
    ------
    ValueError
        If labels are of fewer than 2 systems, of another number of items than truth, no whole
        numbers or out of range; for fewer than 3 classes, names that come twice, or if a system
        never errs; for priors as in `alikely.models.with_priors`.

    See Also
    --------
    alikely.models.paired_errors : Each pair for itself, from counts.
    alikely.simulate.shared_errors : Data of this story.

    Notes
    -----
    ``spread``, how far systems are apart, is half-normal: finite at 0 [G06]_, so that equal systems
    reach a divergence of 0. That an item misleads two systems, and that one of them copies the
    other, cannot be told apart: `alikely.models.paired_errors` calls copying what two agree beyond
    their own rows, which is the follow probability of one where the other always follows.

    Sampled are coordinates, whose meaning hangs on the labels: for predictions with other data take
    rows and follow probabilities, not the coordinates of a fit.

    Examples
    --------
    >>> labels = [[0, 1, 2, 2, 0], [1, 1, 2, 0, 0], [1, 2, 2, 0, 0]]
    >>> model = shared_errors(labels, [0, 0, 1, 2, 0], priors={"spread": (1,)})
    >>> model["error_rows"].eval().shape
    (3, 3, 3)
    """
    wrong, true, names = _checked(labels, truth, classes)
    n_classes = len(names["true_class"])
    with pm.Model(coords=_coords(names)) as model:
        told = pm.Data("wrong_labels", wrong, dims=("item", "system"))
        of_item = pm.Data("truth", true, dims="item")
        of_class = pt.eq(of_item[:, None], np.arange(n_classes)).astype("float64")
        parts = _rows(_seen(told, of_class, n_classes), n_classes)
        pm.CustomDist(
            "observed_labels",
            parts.own[of_item],
            parts.suggested[of_item],
            parts.follow,
            # Who errs.
            told,
            logp=_log_item,
            random=drawn_labels,
            signature="(system,label),(label),(system,two),(system)->(system)",
            dtype="int64",
            class_name="SharedLabels",
            observed=told,
            dims=("item", "system"),
        )
        _reported(parts, told, of_class, n_classes)
    return with_priors(model, priors)


class _Parts(NamedTuple):
    """Logarithms of rows over wrong classes, and of the shares of followed and of own labels."""

    own: Any  # (true_class, system, wrong_class)
    suggested: Any  # (true_class, wrong_class)
    follow: Any  # (system, 2)


class _Seen(NamedTuple):
    """Numbers of labels, by true and wrong class."""

    given: Any  # (true_class, system, wrong_class)
    # Of these, such as another system gave to the same item.
    together: Any  # (true_class, system, wrong_class)
    # Items to which two systems and more gave the label.
    items: Any  # (true_class, wrong_class)
    # Items on which others err too, and none gives the same.
    apart: Any  # (system,)


def _checked(
    labels: ArrayLike | xr.DataArray, truth: ArrayLike, classes: Sequence[Any] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], dict[str, list[Any]]]:
    """Numbers of wrong classes (item, system) and true classes of items with errors; names."""
    systems = None
    if isinstance(labels, xr.DataArray):
        if sorted(map(str, labels.dims)) != ["item", "system"]:
            raise ValueError(f"labels must have the dims system and item, got {labels.dims}")
        labels = labels.transpose("system", "item")
        systems = labels["system"].values.tolist() if "system" in labels.coords else None
        labels = labels.values
    masked, true = np.ma.asarray(labels), np.asarray(truth)
    if np.ma.is_masked(truth):
        raise ValueError("truth must have a class for each item, got masked ones; leave them out")
    if masked.ndim != 2 or len(masked) < 2 or not masked.size:
        raise ValueError(
            f"labels must be of at least 2 systems and an item, (system, item), got the shape "
            f"{masked.shape}"
        )
    if true.shape != masked.shape[1:]:
        raise ValueError(
            f"truth must have a class for each of {masked.shape[1]} items, got the shape "
            f"{true.shape}"
        )
    for name, numbers in (("labels", masked), ("truth", true)):
        if not np.issubdtype(numbers.dtype, np.integer):
            raise ValueError(
                f"{name} must be whole numbers of classes, from 0, and labels -1 or masked where "
                f"there is no answer; got {numbers.dtype}"
            )
    given, true = np.ma.filled(masked.astype(np.int64), NOBODY), true.astype(np.int64)
    known = list(range(int(max(given.max(), true.max(), 0)) + 1)) if classes is None else [*classes]
    if len(known) < 3:
        raise ValueError(
            f"classes must be at least 3, got {len(known)}: with two there is one wrong label"
        )
    for name, numbers, least in (("labels", given, NOBODY), ("truth", true, 0)):
        if not least <= numbers.min() <= numbers.max() < len(known):
            raise ValueError(
                f"{name} must lie from {least} to {len(known) - 1}, got {numbers.min()} to "
                f"{numbers.max()}"
            )
    systems = list(range(len(given))) if systems is None else systems
    for name, listed in (("classes", known), ("systems", systems)):
        if len(set(listed)) < len(listed):
            raise ValueError(f"names of {name} must differ, got {listed}")
    errs = (given != NOBODY) & (given != true)
    if not errs.any():
        raise ValueError("labels must hold at least one error, got none")
    if not errs.any(axis=1).all():
        never = systems[int(np.argmin(errs.any(axis=1)))]
        raise ValueError(f"each system must err, and {never!r} never does; leave it out")
    some = np.flatnonzero(errs.any(axis=0))
    wrong = np.where(errs, given - (given > true), NOBODY)[:, some].T
    names = {"system": systems, "item": some.tolist(), "true_class": known}
    return np.asarray(wrong), true[some], names


def _coords(names: dict[str, list[Any]]) -> dict[str, Any]:
    classes = names["true_class"]
    return {
        **names,
        "other_system": names["system"],
        "response_class": classes,
        "wrong_class": list(range(len(classes) - 1)),
        "followed_or_own": ["followed", "own"],
    }


def _seen(told: Any, of_class: Any, n_classes: int) -> _Seen:
    """Of the data that the model has: coordinates follow when these are replaced."""
    gave = pt.eq(told[..., None], np.arange(n_classes - 1))
    together = gave & pt.gt(gave.sum(axis=1, keepdims=True), 1)
    errs = pt.ge(told, 0)
    apart = errs & pt.gt(errs.sum(axis=1, keepdims=True), 1) & pt.invert(together.any(axis=-1))

    def by_class(part: Any) -> Any:
        summed = of_class.T @ part.astype("float64").flatten(2)
        return summed.reshape((n_classes, -1, n_classes - 1))

    items = by_class(together.any(axis=1))[:, 0]
    return _Seen(by_class(gave), by_class(together), items, apart.sum(axis=0))


def _rows(seen: _Seen, n_classes: int) -> _Parts:
    """All that is drawn from the prior."""
    k = n_classes - 1
    spread = pm.HalfNormal("spread", 2)
    deviate = pm.Normal("class_deviate", 0, 0.15, dims="true_class")
    apart = spread * pt.exp(deviate)
    concentration = pm.Deterministic("concentration", 1 / (apart**2 + FLOOR), dims="true_class")
    log_base = pm.Normal("log_base_parameter", 0, 1.5)
    mean = pm.Uniform("follow_mean", 0, 1)
    log_sureness = pm.Normal("log_sureness", np.log(SURE_OF), 1.5)

    shares = pt.exp(log_sureness) * pt.stack([mean, 1 - mean])
    # As of pairs: labels that only may be suggested would make the coordinate too short for a share
    # that goes to 0 by powers.
    counted = pt.stack([pt.zeros_like(seen.apart), seen.apart], axis=-1) / 4
    follow = log_shares(
        "follow_coordinate",
        shares + pt.zeros_like(counted),
        counted,
        ("system", "followed_or_own"),
    )

    # What labels say of rows: of those that two gave, most were suggested where they are rare, of
    # others as many as the system follows.
    pooled = seen.given.sum(axis=1) + 0.5
    pooled = (pooled / pooled.sum(axis=-1, keepdims=True))[:, None]
    f = pt.exp(follow[:, 0])[:, None]
    part = f / (f + (1 - f) * pooled)
    single = seen.given - seen.together
    own = single * (1 - f) + seen.together * (1 - part)
    suggested = seen.items * part.mean(axis=1) + (single * f).sum(axis=1)
    pooled = pooled[:, 0]
    prior = concentration[:, None] * k * pooled
    told = base_draws(own, prior[:, None]).sum(axis=1) + base_draws(suggested, COPIED * k * pooled)

    log_rows = log_shares("base_coordinate", pt.exp(log_base) + pt.zeros_like(told), told, ROW_DIMS)
    base = pt.exp(log_rows)
    pm.Deterministic("base", insert_true(base, n_classes), dims=("true_class", "response_class"))
    around = (concentration[:, None] * k * base)[:, None] + pt.zeros_like(own)
    log_own = log_shares("own_coordinate", around, own, OWN_DIMS)
    log_suggested = log_shares("suggested_coordinate", COPIED * k * base, suggested, ROW_DIMS)
    return _Parts(log_own, log_suggested, follow)


def _log_item(value: Any, own: Any, suggested: Any, follow: Any, like: Any) -> Any:
    """Of the labels of all who err on an item, whatever it suggested."""
    errs = pt.ge(like, 0)
    k = suggested.shape[-1]
    chosen = pt.eq(value[..., None], pt.arange(k))
    by_own = (chosen * own).sum(axis=-1) + follow[..., 1]
    # How much more probable labels are where the item suggests them.
    gain = pt.switch(errs, pt.softplus(follow[..., 0] - by_own), 0.0)
    each = suggested + (chosen * gain[..., None]).sum(axis=-2)
    found = pt.switch(errs, by_own, 0.0).sum(axis=-1) + pt.logsumexp(each, axis=-1)
    possible = pt.eq(pt.ge(value, 0), errs) & pt.lt(value, k)
    return pt.switch(pt.all(possible, axis=-1), found, -np.inf)


def drawn_labels(
    own: NDArray[np.floating],
    suggested: NDArray[np.floating],
    follow: NDArray[np.floating],
    like: NDArray[np.integer],
    rng: np.random.Generator,
    size: Any = None,
) -> NDArray[np.int64]:
    """Wrong labels of those who err: what the item suggests, or of their own rows."""
    batch = np.broadcast_shapes(
        own.shape[:-2], suggested.shape[:-1], follow.shape[:-2], like.shape[:-1]
    )
    batch = batch if size is None else tuple(size)
    n_systems = like.shape[-1]
    told = _chosen(suggested, batch, rng)[..., None]
    alone = _chosen(own, (*batch, n_systems), rng)
    follows = rng.random((*batch, n_systems)) < np.exp(follow[..., 0])
    return np.where(like >= 0, np.where(follows, told, alone), NOBODY)


def _chosen(
    logs: NDArray[np.floating], batch: tuple[int, ...], rng: np.random.Generator
) -> NDArray[np.intp]:
    """A label of each row: the largest of their logarithms with Gumbel noise."""
    return np.asarray((logs + rng.gumbel(size=(*batch, logs.shape[-1]))).argmax(axis=-1))


def _reported(parts: _Parts, told: Any, of_class: Any, n_classes: int) -> None:
    """What users want to know, of rows with all classes."""
    row_dims = ("true_class", "response_class")
    suggested = pt.exp(parts.suggested)
    own = pt.exp(parts.own).dimshuffle(1, 0, 2)
    pm.Deterministic("suggested_rows", insert_true(suggested, n_classes), dims=row_dims)
    pm.Deterministic("own_rows", insert_true(own, n_classes), dims=("system", *row_dims))
    follow = pm.Deterministic("follow_probability", pt.exp(parts.follow[:, 0]), dims="system")
    share = follow[:, None, None]
    rows = share * suggested + (1 - share) * own
    pm.Deterministic("error_rows", insert_true(rows, n_classes), dims=("system", *row_dims))
    number = pt.ge(told, 0).astype("float64").T @ of_class
    weight = number[:, None] + number
    middle = (rows[:, None] + rows) / 2
    # A share may underflow to 0, and adds nothing then.
    ratio = pt.log(pt.maximum(rows[:, None], TINY) / pt.maximum(middle, TINY)) / np.log(2)
    half = (rows[:, None] * ratio).sum(axis=-1)
    by_class = (half + half.dimshuffle(1, 0, 2)) / 2
    total = pt.maximum(weight.sum(axis=-1), 1)
    pm.Deterministic(
        "error_divergence",
        tensor_within((weight * by_class).sum(axis=-1) / total),
        dims=("system", "other_system"),
    )
