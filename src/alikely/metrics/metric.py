"""Metrics, and the open registry of metrics.

A `Metric` is all that the rest of the package knows of an estimand: features of trials, and one
function of their sums. Intervals, tables, plots, benchmarks, files and the command line work for a
new one as for those of this package.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import math
import re
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import nearest
from alikely.metrics.answers import (
    all_label_influences,
    all_label_pairs,
    all_own_influences,
    all_own_pairs,
)
from alikely.metrics.gradients import (
    KINK,
    agree,
    central_differences,
    complex_step,
    complex_step_of,
    one_sided,
    supports_complex,
)
from alikely.metrics.trust import TRUST, Trust

# Coefficients of ordered classes.
ORDINAL = re.compile("weighted|quadratic|linear|ordinal|ac2|icc", re.IGNORECASE)
WEIGHTED = "; classes have no order here: none is weighted"

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

Counts = Literal[
    "correctness", "labels", "readings", "rows", "margins", "options", "probabilities", "trials"
]
Scale = Literal["identity", "fisher", "logit"]
# Posteriors whose limits `inference` has without draws.
Limits = Literal["", "kappa", "options"]
NONE: Mapping[str, Any] = MappingProxyType({})


# What metrics count that take one answer of an observer to an item, if not said otherwise.
ONE_ANSWER = ("readings", "options", "probabilities", "trials")
# How posterior draws of an estimand come from its table, by what it counts; the others have a way
# of their own, or none.
BY_COUNTS: Any = None
# What a short table shows of the ground an estimate stands on: variable and heading.
RESTS_ON: Mapping[str, tuple[str, str]] = {
    "correctness": ("n_trials", "trials"),
    "labels": ("n_joint_errors", "joint"),
    "rows": ("n_errors", "errors"),
    "margins": ("n_trials", "items"),
    "trials": ("n_trials", "trials"),
    "readings": ("n_trials", "items"),
    "options": ("n_trials", "questions"),
    "probabilities": ("n_trials", "questions"),
}
# Methods of intervals, the best first: the posterior covers where errors are few.
RECOMMENDED = ("posterior", "bootstrap", "analytic")
DRAWS: Mapping[str, str] = {
    "correctness": "cells", "labels": "labels", "readings": "readings", "options": "options",
    "probabilities": "options", "trials": "trials",
}  # fmt: skip
# Dims and labels of the tables that hold a metric as a variable or a column.
TAKEN = (
    "pair", "chain", "draw", "resample", "trial", "dataset", "condition", "observer_a",
    "observer_b",
)  # fmt: skip
# What a result remembers of its making beside the options of its metric.
REMEMBERED = (
    "metric", "metric_module", "model", "sampler", "ci_prob", "ci_kind", "cluster",
    "prior", "seed", "n_null", "alikely_version", "format_version",
)  # fmt: skip
# What tells two metrics of one name apart.
SAME = (
    "features", "value", "gradient", "reason", "label", "short", "bounds", "independent",
    "symmetric", "scale", "draws", "limits",
)  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """A function of sums over trials: its estimate, intervals, posterior and ranks follow.

    Attributes
    ----------
    name : str
        Name of the variable in a result, of the command line and of files.
    value : callable
        Sums ``(..., K)`` to values ``(...)``; NaN where undefined. It must not change with the
        scale of the sums: counts, weights and probabilities give the same value. Of the features
        ``"readings"`` it takes a `readings.Readings`, of ``"options"`` and ``"probabilities"`` a
        `options.OptionSums`, of ``"rows"`` both observers' errors, their true classes and the
        number of classes, of ``"margins"`` both margins (item) and weights (draw, item).
    features : str or callable
        What is summed over trials: ``"correctness"``, the four cells of a pair, ``n11, n10, n01,
        n00`` (both right, only the first, only the second, neither; the default); ``"labels"``,
        the label statistics of its joint errors (`errors.label_statistics`); ``"readings"``, all
        that readers said; ``"rows"``, error rows of both observers; ``"margins"``, both margins of
        each item; ``"options"`` or ``"probabilities"``, answers among options. Or a function of
        `alikely.metrics.Answers`, arrays (pair, trial), to features (pair, trial, K).
    gradient : callable, optional
        Sums to the derivative of the value by each sum; of ``"margins"`` the influence of each
        item. Without it the gradient is found by complex step, or by central differences where the
        value takes no complex numbers. A metric with a kink must have one.
    reason : callable, optional
        Sums to strings ``(...)``: why the value is undefined, empty where it is not.
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
        ``se`` and what stands beside them, for `alikely.pairwise_matrix`; ``n_used`` where they
        rest on fewer trials than both observers answered; ``why``, 0 where there is an estimate,
        else 1 and more of `whys`. With `limits` of ``"options"`` also ``chosen`` (pair, 5), counts
        as `alikely.inference.option_limits` takes them, and ``n_options`` (pair).
    all_influences : callable, optional
        Beside `all_pairs`: the same answers and weights (sum, observer, observer) of entries to
        the influence of each trial on weighted sums (sum, trial).
    whys : tuple of str
        Beside `all_pairs`: why entries have no estimate.
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
    value: Callable[..., Any]
    features: Counts | Callable[[Any], Floats] = "correctness"
    _: dataclasses.KW_ONLY
    gradient: Callable[..., Any] | None = None
    reason: Callable[..., NDArray[Any]] = BY_COUNTS
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
    unreliable: Mapping[str, str] = NONE
    requested: tuple[str, ...] = ()
    rests_on: tuple[str, str] = BY_COUNTS
    trust: Trust = BY_COUNTS
    caution: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    distinct: Callable[..., Floats] | None = None
    all_pairs: Callable[..., Mapping[str, NDArray[Any]]] | None = None
    all_influences: Callable[..., Floats] | None = None
    whys: tuple[str, ...] = ()
    options: Mapping[str, Any] = NONE
    sources: tuple[str, ...] = ()
    module: str = ""

    def __post_init__(self) -> None:
        if self.counts not in TRUST:
            raise ValueError(
                f"features of a metric must be one of {', '.join(map(repr, TRUST))}, or a function "
                f"of Answers; got {self.features!r}"
            )
        if self.scale not in ("identity", "fisher", "logit"):
            raise ValueError(
                f"scale of a metric must be 'identity', 'fisher' or 'logit', got {self.scale!r}"
            )
        _check_metric(self)
        label, module = self.label or self.name.replace("_", " "), self.module or _maker()
        foreign = not (module.startswith("alikely.") or isinstance(self.value, Quiet))
        value = Quiet(self.value) if foreign else self.value
        defaults: dict[str, Any] = {
            "value": value,
            "reason": NoValue(value) if self.reason is BY_COUNTS else self.reason,
            "label": label,
            "short": self.short or label,
            "draws": DRAWS.get(self.counts, "") if self.draws is BY_COUNTS else self.draws,
            "rests_on": RESTS_ON[self.counts] if self.rests_on is BY_COUNTS else self.rests_on,
            "trust": TRUST[self.counts] if self.trust is BY_COUNTS else self.trust,
            "module": module,
        }
        if callable(self.features):
            defaults["all_pairs"] = functools.partial(all_own_pairs, self)
            defaults["all_influences"] = functools.partial(all_own_influences, self)
            defaults["whys"] = ("no value for these trials",)
        elif self.counts == "labels":
            defaults["all_pairs"] = functools.partial(all_label_pairs, self)
            defaults["all_influences"] = functools.partial(all_label_influences, self)
            defaults["whys"] = self.whys or ("no joint error", "no value for these trials")
        for field, default in defaults.items():
            object.__setattr__(self, field, default)

    @property
    def counts(self) -> Counts:
        """What its features are; ``"trials"`` if they are a function of its own."""
        return "trials" if callable(self.features) else self.features

    @property
    def recommended(self) -> tuple[str, ...]:
        """Methods for the interval of an entry, the best first; tables show the first there is."""
        return RECOMMENDED[self.posterior_label != "posterior" :]

    @property
    def crosses_repeats(self) -> bool:
        """Whether all responses of one observer to a repeated item meet all of the other."""
        return self.counts not in ONE_ANSWER

    def derivative(self, sums: Any) -> Any:
        """Compute the derivative of the value by each sum: (..., K) to (..., K)."""
        if self.gradient is not None:
            return self.gradient(sums)
        if isinstance(sums, tuple):
            return complex_step_of(self.value, sums)
        array = np.asarray(sums, dtype=np.float64)
        way = complex_step if self._analytic(array.shape[-1]) else central_differences
        return way(self.value, array)

    def influence(self, sums: Any) -> Floats:
        """Compute the influence of a trial of each kind: the derivative times their number."""
        array = np.asarray(sums, dtype=np.float64)
        return np.asarray(array.sum(axis=-1, keepdims=True) * self.derivative(array))

    def _analytic(self, size: int) -> bool:
        """Whether the value takes complex numbers, found out once."""
        known = self.__dict__.get("_takes_complex")
        if known is None:
            known = supports_complex(self.value, typical_sums(size))
            object.__setattr__(self, "_takes_complex", known)
        return known

    @property
    def labels(self) -> bool | Literal["options", "any"]:
        """What its tables hold besides correctness: nothing, responses (if any), or options too."""
        if self.counts in ("options", "probabilities"):
            return "options"
        return "any" if self.counts == "trials" else self.counts not in ("correctness", "margins")

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


@dataclasses.dataclass(frozen=True)
class Quiet:
    """A value that is NaN where it is no finite number, without warnings."""

    function: Callable[..., Any]

    def __call__(self, *sums: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(self.function(*sums))
            return np.where(np.isfinite(found), found, np.nan)


@dataclasses.dataclass(frozen=True)
class NoValue:
    """Why a metric is undefined that gives no reason of its own."""

    value: Callable[..., Any]

    def __call__(self, *sums: Any) -> NDArray[Any]:
        return np.where(np.isfinite(self.value(*sums)), "", "no value for these trials")


def typical_sums(size: int) -> Floats:
    """Three sets of sums; of four cells the last two have equal accuracies and equal agreement."""
    if size == 4:
        return np.array(
            [[50.0, 20.0, 15.0, 15.0], [30.0, 25.0, 25.0, 20.0], [35.0, 20.0, 10.0, 35.0]]
        )
    return np.random.default_rng(size).uniform(10.0, 50.0, (3, size))


def _check_functions(metric: Metric) -> None:
    """Refuse functions of cells whose intervals would be wrong, or fail far from here."""
    if metric.counts != "correctness":
        return
    sums = typical_sums(4)
    value = np.asarray(metric.value(sums))
    checked: list[tuple[str, NDArray[Any], tuple[int, ...]]] = [
        ("value", value, (3,)),
        ("reason", np.asarray(metric.reason(sums)), (3,)),
    ]
    if metric.gradient is not None:
        checked.append(("gradient", np.asarray(metric.gradient(sums)), (3, 4)))
    for name, found, shape in checked:
        if found.shape != shape:
            raise ValueError(
                f"{name} of the metric {metric.name!r} must make of cells of shape (3, 4) an array "
                f"of shape {shape}, got {found.shape}"
            )
    if not np.isfinite(value).all():
        at = int(np.flatnonzero(~np.isfinite(value))[0])
        raise ValueError(
            f"value of the metric {metric.name!r} must be finite where both observers err at "
            f"times, got {value[at]:g} for the cells {sums[at].tolist()}"
        )
    scaled = np.asarray(metric.value(3 * sums))
    if not np.allclose(scaled, value, rtol=1e-9, atol=1e-12):
        at = int(np.abs(scaled - value).argmax())
        raise ValueError(
            f"value of the metric {metric.name!r} must not change with the scale of the cells, got "
            f"{value[at]:.4g} and {scaled[at]:.4g} for three times as many; divide by their sum"
        )
    if metric.gradient is not None:
        if not agree(metric.gradient(sums), central_differences(metric.value, sums), sums, KINK):
            raise ValueError(
                f"gradient of the metric {metric.name!r} is not that of its value: differences of "
                "values are others; correct it or leave it out"
            )
        return
    above, below = (one_sided(metric.value, sums, side) for side in (1, -1))
    if not agree(above, below, sums, KINK):
        raise ValueError(
            f"value of the metric {metric.name!r} has a kink, where no gradient can be found; give "
            "gradient=, a function of the cells to its derivatives"
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
        arrays of another shape than it must, is not finite where both observers err at times,
        changes with the scale of the cells, or has a kink and no gradient.

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
    value = getattr(metric.value, "function", metric.value)
    return metric.module, str(getattr(value, "__qualname__", type(value).__name__))


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
    ['error_consistency', 'normalized_error_consistency']
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
        f"{nearest(name, _METRICS)}{WEIGHTED * bool(ORDINAL.search(name))}"
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
