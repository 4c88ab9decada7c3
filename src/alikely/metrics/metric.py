"""Metrics, and the open registry of metrics.

A `Metric` is all that the other rooms know of an estimand. Whoever writes a new one writes its
value and its influence, says what is true of it, and calls `register`: every school of inference,
every table and plot, benchmarks, files and the command line then work for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import nearest
from alikely.metrics.trust import TRUST, Trust

__all__ = [
    "Counts",
    "Metric",
    "Scale",
    "Trust",
    "find_metric",
    "get_metric",
    "metric_again",
    "metrics",
    "register",
]

Counts = Literal["correctness", "labels", "readings", "rows", "margins", "options", "probabilities"]
Scale = Literal["identity", "fisher", "logit"]
# Posteriors whose limits `inference` has without draws.
Limits = Literal["", "kappa", "options"]
NONE: Mapping[str, Any] = MappingProxyType({})


# What metrics count that take one answer of an observer to an item, if not said otherwise.
ONE_ANSWER = ("readings", "options", "probabilities")
# How posterior draws of an estimand come from its table, by what it counts; the others have a way
# of their own, or none.
BY_COUNTS: Any = None
# What a short table shows of the ground an estimate stands on: variable and heading.
RESTS_ON: Mapping[str, tuple[str, str]] = {
    "correctness": ("n_trials", "trials"),
    "labels": ("n_joint_errors", "joint"),
    "rows": ("n_errors", "errors"),
    "margins": ("n_trials", "items"),
    "readings": ("n_trials", "items"),
    "options": ("n_trials", "questions"),
    "probabilities": ("n_trials", "questions"),
}
# Methods of intervals, the best first: the posterior covers where errors are few.
RECOMMENDED = ("posterior", "bootstrap", "analytic")
DRAWS: Mapping[str, str] = {
    "correctness": "cells", "labels": "labels", "readings": "readings", "options": "options",
    "probabilities": "options",
}  # fmt: skip
# Dims and labels of the tables that hold a metric as a variable or a column.
TAKEN = (
    "pair", "chain", "draw", "resample", "trial", "dataset", "condition", "observer_a",
    "observer_b",
)  # fmt: skip
# What a result remembers of its making beside the options of its metric.
REMEMBERED = (
    "metric", "metric_module", "model", "model_reason", "sampler", "ci_prob", "ci_kind", "cluster",
    "prior", "seed", "n_null", "alikely_version", "format_version",
)  # fmt: skip
# What tells two metrics of one name apart.
SAME = (
    "counts", "value", "influence", "reason", "label", "short", "bounds", "independent",
    "symmetric", "scale", "draws", "limits", "crosses_repeats",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """An estimand that is a function of counts of trials.

    Attributes
    ----------
    name : str
        Name of the variable in a result, of the command line and of files.
    counts : str
        What it is a function of: the four cells of a pair (``"correctness"``); the label statistics
        of its joint errors (``"labels"``, `errors.label_statistics`); sums over items of all that
        readers said, right or wrong (``"readings"``, `readings.Readings`); the error rows of both
        observers, as lists (``"rows"``, `rows.row_divergence`); both systems' margins of each item
        (``"margins"``); or sums over questions (`options.OptionSums`) of answers among options
        (``"options"``) or of their ``"probabilities"``.
    value : callable
        Counts ``(..., K)`` to values ``(...)``; NaN where undefined. Of ``"correctness"`` and
        ``"labels"`` it is scale-free, so that counts, weights and probabilities give the same
        value. Of ``"readings"`` it takes a `readings.Readings`, of ``"options"`` and
        ``"probabilities"`` a `options.OptionSums`; of ``"rows"`` both observers'
        errors, their true classes and the number of classes; of ``"margins"`` both margins (item)
        and weights (draw, item).
    influence : callable
        Counts ``(..., K)`` to the influence of one trial in each cell ``(..., K)``; of
        ``"readings"``, ``"options"`` and ``"probabilities"`` the derivatives by all sums, as they
        are given; of ``"rows"`` both derivatives; of ``"margins"`` both margins to the influence of
        each item.
    reason : callable
        Counts ``(..., K)`` to strings ``(...)``: why the value is undefined, empty where it is not.
    label : str
        In plots and sentences; the name, with spaces, if not given.
    short : str
        In narrow tables, and a second name by which it is found; the label if not given.
    bounds : (float, float)
        Least and greatest possible value.
    independent : float or None
        Its value for observers that err independently; None where that depends on the observers.
    symmetric : bool
        Whether the order of the pair does not matter. If it does, the first observer is the
        reference, and means over pairs of one kind take both orders.
    scale : {"identity", "fisher", "logit"}
        Scale on which its analytic interval is taken.
    differences : float
        Standard deviation that differences of two systems are expected to have, without data:
        of the prior behind the probability that one is above the other.
    beside : tuple of str
        Variables of a result that its tables show beside the estimate, where they are there.
    derived : mapping of str to callable
        Columns that tables show beside the estimate, by name, made of the cells of correctness
        ``(..., 4)``; scores of benchmarks have their means.
    draws : str
        How posterior draws of it come from a table: ``"cells"`` (of correctness), ``"labels"`` (of
        the labels of joint errors), ``"readings"``, ``"options"``, ``"rows"`` (divergences of error
        rows), ``"margins"``, or ``""`` for no posterior. By `counts` if not given.
    limits : {"kappa", "options", ""}
        Which limits of the default posterior come from counts without draws: ``"kappa"`` those of
        Cohen's kappa, from the cells of correctness; ``"options"`` those of `kappa_p` of answers,
        in matrices, from what `all_pairs` says; none if empty.
    posterior_label : str
        Heading of posterior intervals in tables, where they are of another quantity.
    recommended : tuple of str
        Methods for the interval of an entry, the best first: tables and sentences show the first
        that a result has. Default: posterior, bootstrap, analytic, without the posterior if it
        describes another quantity.
    unreliable : mapping of str to str
        Methods, and columns of `beside`, that are known to be wrong, with the reason. Tables show
        them only if they are named, with the reason as a note.
    requested : tuple of str
        Columns of `beside` and `derived` that tables show only on request.
    rests_on : (str, str)
        Variable and heading of the count that tables show; by `counts` if not given.
    trust : Trust
        When its intervals are not to be trusted; by `counts` if not given.
    caution : callable, optional
        Counts ``(pair, K)`` of ``"correctness"`` to strings ``(pair,)``: where else its analytic
        interval misleads, empty where it does not.
    distinct : callable, optional
        Of ``"labels"``: label statistics of weighted joint errors and their sums of squared weights
        ``(..., 2)`` to its value over pairs of different joint errors, where products of margins
        pair each with itself (`distinct.distinct_agreement`).
    all_pairs : callable, optional
        Of metrics that are not of correctness: answers of many observers, as
        `alikely.data.tables.answers` has them, to matrices (observer, observer) of ``estimate``,
        ``se`` and what stands beside them, for `alikely.matrix`; ``n_used`` where they rest on
        fewer trials than both observers answered; ``why``, 0 where there is an estimate, else 1 and
        more of `whys`. With `limits` of ``"options"`` also ``chosen`` (pair, 5), counts as
        `alikely.inference.option_limits` takes them, and ``n_options`` (pair).
    all_influences : callable, optional
        Beside `all_pairs`: the same answers and weights (sum, observer, observer) of entries to
        the influence of each trial on weighted sums (sum, trial).
    whys : tuple of str
        Beside `all_pairs`: why entries have no estimate.
    crosses_repeats : bool
        Whether it is of single answers where items came back, every answer of one observer
        meeting every answer of the other. If not, items that come back are refused, and it lists
        answers as independent trials where a user asks for that. All but those of ``"readings"``,
        ``"options"`` and ``"probabilities"`` if not given.
    options : mapping
        Options that it was made with, which a file remembers.
    sources : tuple of str
        DOIs of what to cite for it, or keys of a report's bibliography.
    module : str
        Module to import before a file that holds it can be read; the one that makes it if not
        given.

    Examples
    --------
    >>> import alikely as al
    >>> al.metrics.get_metric("EC").label
    'error consistency'
    """

    name: str
    counts: Counts
    value: Callable[..., Floats]
    influence: Callable[..., Any]
    reason: Callable[..., NDArray[Any]]
    label: str = ""
    short: str = ""
    bounds: tuple[float, float] = (-1.0, 1.0)
    independent: float | None = None
    symmetric: bool = True
    scale: Scale = "identity"
    differences: float = 0.1
    beside: tuple[str, ...] = ()
    derived: Mapping[str, Callable[[Any], Floats]] = NONE
    draws: str = BY_COUNTS
    limits: Limits = ""
    posterior_label: str = "posterior"
    recommended: tuple[str, ...] = BY_COUNTS
    unreliable: Mapping[str, str] = NONE
    requested: tuple[str, ...] = ()
    rests_on: tuple[str, str] = BY_COUNTS
    trust: Trust = BY_COUNTS
    caution: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    distinct: Callable[..., Floats] | None = None
    all_pairs: Callable[..., Mapping[str, NDArray[Any]]] | None = None
    all_influences: Callable[..., Floats] | None = None
    whys: tuple[str, ...] = ()
    crosses_repeats: bool = BY_COUNTS
    options: Mapping[str, Any] = NONE
    sources: tuple[str, ...] = ()
    module: str = ""

    def __post_init__(self) -> None:
        if self.counts not in TRUST:
            raise ValueError(
                f"counts of a metric must be one of {', '.join(map(repr, TRUST))}; got "
                f"{self.counts!r}"
            )
        if self.scale not in ("identity", "fisher", "logit"):
            raise ValueError(
                f"scale of a metric must be 'identity', 'fisher' or 'logit', got {self.scale!r}"
            )
        _check_metric(self)
        label = self.label or self.name.replace("_", " ")
        defaults = {
            "label": label,
            "short": self.short or label,
            "draws": DRAWS.get(self.counts, "") if self.draws is BY_COUNTS else self.draws,
            "recommended": RECOMMENDED[self.posterior_label != "posterior" :]
            if self.recommended is BY_COUNTS
            else self.recommended,
            "rests_on": RESTS_ON[self.counts] if self.rests_on is BY_COUNTS else self.rests_on,
            "trust": TRUST[self.counts] if self.trust is BY_COUNTS else self.trust,
            "crosses_repeats": self.counts not in ONE_ANSWER
            if self.crosses_repeats is BY_COUNTS
            else self.crosses_repeats,
            "module": self.module or _maker(),
        }
        for field, value in defaults.items():
            object.__setattr__(self, field, value)

    @property
    def labels(self) -> bool | Literal["options"]:
        """What its tables hold beside correctness: nothing, answers, or options with them."""
        if self.counts in ("options", "probabilities"):
            return "options"
        return self.counts not in ("correctness", "margins")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"<Metric {self.name}{options}>"


def _maker() -> str:
    """Name of the module whose code makes a metric."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"] in (__name__, "dataclasses"):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _check_metric(metric: Metric) -> None:
    """Refuse what would fail later, far from here, or give no interval in silence."""
    if not metric.name.isidentifier() or metric.name in TAKEN:
        raise ValueError(
            f"name of a metric must be a word of letters, digits and underscores, and none of "
            f"{', '.join(TAKEN)}, which results use themselves; got {metric.name!r}"
        )
    low, high = metric.bounds
    if not low < high or (metric.scale == "logit" and not math.isfinite(high - low)):
        finite = "finite, for scale='logit', and " if metric.scale == "logit" else ""
        raise ValueError(
            f"bounds of a metric must be {finite}(least, greatest), got {metric.bounds!r}"
        )
    possible = ("", metric.counts, DRAWS.get(metric.counts, ""))
    if metric.draws is not BY_COUNTS and metric.draws not in possible:
        raise ValueError(
            f"draws of a metric of {metric.counts} must be "
            f"{' or '.join(map(repr, dict.fromkeys(possible)))}, got {metric.draws!r}"
        )
    of = {"kappa": "correctness", "options": "options"}
    if metric.limits and of.get(metric.limits) != metric.counts:
        raise ValueError(
            "limits of a metric must be 'kappa', of correctness, 'options', of options, or '' for "
            f"none; got {metric.limits!r} of {metric.counts}"
        )
    methods = (*RECOMMENDED, "bca")
    if metric.recommended is not BY_COUNTS and not set(metric.recommended) <= set(methods):
        raise ValueError(
            f"recommended of a metric must be of {', '.join(map(repr, methods))}, the best first; "
            f"got {metric.recommended!r}"
        )
    if metric.draws == "rows" and not {"alpha", "mixture", "base"} <= set(metric.options):
        raise ValueError(
            "draws='rows' are of class-level error similarity and its options alpha, mixture and "
            f"base, which {metric.name} has not; leave draws out, for no posterior"
        )
    for name, value in metric.options.items():
        if name in REMEMBERED:
            raise ValueError(
                f"options of a metric must have none of the names {', '.join(REMEMBERED)}, by "
                f"which a result remembers its making; got {name!r}"
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(
                f"options of a metric must be numbers or strings, which a file can hold; "
                f"{name} is {value!r}"
            )


# Both err at times, as often or not.
TABLES = np.array([[50.0, 20.0, 15.0, 15.0], [30.0, 25.0, 20.0, 25.0]])


def _check_functions(metric: Metric) -> None:
    """Refuse functions of cells whose intervals would be wrong, or fail far from here."""
    if metric.counts != "correctness":
        return
    influence = np.asarray(metric.influence(TABLES))
    for name, found, shape in (
        ("value", np.shape(metric.value(TABLES)), (2,)),
        ("influence", influence.shape, (2, 4)),
        ("reason", np.shape(metric.reason(TABLES)), (2,)),
    ):
        if found != shape:
            raise ValueError(
                f"{name} of the metric {metric.name!r} must make of cells of shape (2, 4) an array "
                f"of shape {shape}, got {found}"
            )
    means = (TABLES * influence).sum(axis=-1) / TABLES.sum(axis=-1)
    for cells, mean, own in zip(TABLES, means, influence, strict=True):
        if abs(mean) > 1e-6 * np.abs(own).max():
            raise ValueError(
                f"influence of the metric {metric.name!r} must have mean 0 over the trials, got "
                f"{mean:.3g} for the cells {cells.tolist()}; subtract it"
            )


_METRICS: dict[str, Metric] = {}
_MAKERS: dict[str, Callable[..., Metric]] = {}


def register(metric: Metric, make: Callable[..., Metric] | None = None) -> Metric:
    """Make a metric known by its name.

    Parameters
    ----------
    metric : Metric
        The estimand, with its default options.
    make : callable, optional
        Options to the same estimand with these, for one that has options.

    Returns
    -------
    Metric
        The same.

    Raises
    ------
    ValueError
        If another metric has the name already; if a function of the cells of correctness makes
        arrays of another shape than it must, or an influence whose mean is not 0.

    Examples
    --------
    >>> import alikely as al
    >>> al.metrics.register(al.metrics.ERROR_CONSISTENCY)
    <Metric error_consistency>
    """
    known = _METRICS.get(metric.name)
    # Running a notebook's cell again, or reloading a module, defines the same metric anew.
    again = known is not None and _origin(known) == _origin(metric) and not known.options
    if again and metric.module.startswith("alikely."):
        # The metrics of this package are fixed; from another process they come as copies.
        again = all(getattr(known, field) == getattr(metric, field) for field in SAME)
    if known is not None and known is not metric and not again:
        raise ValueError(
            f"a metric named {metric.name!r} is registered already (by {known.module}); give the "
            "new one another name"
        )
    for other in _METRICS.values():
        names = {other.name.casefold(), other.short.casefold()}
        if other.name != metric.name and names & {metric.name.casefold(), metric.short.casefold()}:
            raise ValueError(
                f"the names {metric.name!r} and {metric.short!r} must not be those of another "
                f"metric, and {other.name!r} ({other.short!r}) has one of them; give another "
                "name, or another short="
            )
    _check_functions(metric)
    _METRICS[metric.name] = metric
    if make is not None:
        _MAKERS[metric.name] = make
    return metric


def _origin(metric: Metric) -> tuple[str, str]:
    """Where a metric was made, and of which function."""
    return metric.module, str(getattr(metric.value, "__qualname__", type(metric.value).__name__))


def metrics() -> dict[str, Metric]:
    """All registered metrics.

    Returns
    -------
    dict of str to Metric
        By name, in the order in which they were registered.

    Examples
    --------
    >>> import alikely as al
    >>> list(al.metrics.metrics())[:2]
    ['error_consistency', 'copy_probability']
    """
    return dict(_METRICS)


def get_metric(metric: str | Metric, **options: Any) -> Metric:
    """Find a metric by its name or short name, or check one that is given.

    Parameters
    ----------
    metric : str or Metric
        Such as ``"misclassification_agreement"``, ``"MA"``, or a metric of your own, which becomes
        known by its name.
    **options
        Of metrics that have some, such as ``alpha`` of ``"error_similarity"``.

    Returns
    -------
    Metric

    Raises
    ------
    TypeError
        If it is neither.
    ValueError
        If no metric has that name, another one has the name of the one given, or it has no such
        option.

    Examples
    --------
    >>> import alikely as al
    >>> al.metrics.get_metric("error_similarity", mixture="pooled")
    <Metric error_similarity, alpha=0.5, mixture='pooled', base=2>
    """
    if isinstance(metric, Metric):
        # One made with other options stands for the registered one.
        if metric.name not in _MAKERS and _METRICS.get(metric.name) is not metric:
            register(metric)
        found = metric
    elif isinstance(metric, str):
        found = _named(metric)
    else:
        raise TypeError(
            f"metric must be the name of a metric or a Metric, got {type(metric).__name__}"
        )
    if not options:
        return found
    unknown = sorted(set(options) - set(found.options))
    if unknown:
        some = ", ".join(found.options) or "none"
        raise ValueError(f"{found.name} has no option {unknown[0]!r}; its options are: {some}")
    return _MAKERS[found.name](**{**found.options, **options})


def metric_again(name: str, module: str) -> Metric:
    """Find a metric in another process, where its module may not have been imported yet."""
    if name not in _METRICS and module not in ("", "__main__"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if name not in _METRICS:
        place = module or "the module that registers it"
        raise ValueError(f"the metric {name!r} is not registered; import {place} first")
    return _METRICS[name]


def _named(name: str) -> Metric:
    if name in _METRICS:
        return _METRICS[name]
    folded = name.casefold()
    for metric in _METRICS.values():
        if folded in (metric.short.casefold(), metric.name.casefold()):
            return metric
    raise ValueError(
        f"metric must be one of {', '.join(map(repr, _METRICS))}, or a Metric; got {name!r}"
        f"{nearest(name, _METRICS)}"
    )


def find_metric(text: str) -> Metric:
    """Find a metric by name, or by the module and the attribute that hold it."""
    module, _, attribute = text.partition(":")
    if not attribute:
        return get_metric(text)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"no metric at {text!r}: {error}") from None
    if not isinstance(found, Metric):
        raise ValueError(f"{text!r} is no Metric, but of type {type(found).__name__}")
    return get_metric(found)
