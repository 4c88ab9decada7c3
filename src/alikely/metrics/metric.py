"""Metrics, and the open registry of metrics.

A `Metric` defines an estimand: features of trials, and one function of their sums. The rest of the
package needs no other information about a metric. Intervals, tables, plots, benchmarks, files and
the command line work for custom metrics as for built-in ones.
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
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import nearest
from alikely._base.notes import note
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

# Coefficients of ordered classes.
ORDINAL = re.compile("weighted|quadratic|linear|ordinal|ac2|icc", re.IGNORECASE)
WEIGHTED = "; classes are treated as unordered, so no metric is weighted"

Counts = Literal[
    "correctness", "labels", "ratings", "rows", "margins", "options", "probabilities", "trials"
]
Scale = Literal["identity", "fisher", "logit"]
# Posteriors whose limits `inference` has without draws.
Limits = Literal["", "kappa", "options"]
NONE: Mapping[str, Any] = MappingProxyType({})


# Counts of metrics that take one response of an observer to an item.
ONE_ANSWER = ("ratings", "options", "probabilities", "trials")
# Default of an attribute: derived from what the metric counts.
BY_COUNTS: Any = None
# Count that short tables show with an estimate: variable and heading.
RESTS_ON: Mapping[str, tuple[str, str]] = {
    "correctness": ("n_trials", "trials"),
    "labels": ("n_joint_errors", "joint"),
    "rows": ("n_errors", "errors"),
    "margins": ("n_trials", "items"),
    "trials": ("n_trials", "trials"),
    "ratings": ("n_trials", "items"),
    "options": ("n_trials", "questions"),
    "probabilities": ("n_trials", "questions"),
}
# Methods of intervals, the best first: the posterior has nominal coverage with few errors.
RECOMMENDED = ("posterior", "bootstrap", "analytic")
DRAWS: Mapping[str, str] = {
    "correctness": "cells", "labels": "labels", "ratings": "ratings", "options": "options",
    "probabilities": "options", "trials": "trials",
}  # fmt: skip
# Dimensions and labels of tables that have metrics as variables or columns.
TAKEN = (
    "pair", "chain", "draw", "resample", "trial", "dataset", "condition", "observer_a",
    "observer_b",
)  # fmt: skip
# Attributes of a result in addition to the options of its metric.
REMEMBERED = (
    "metric", "metric_module", "model", "sampler", "ci_prob", "ci_kind", "cluster",
    "prior", "seed", "n_null", "alikely_version", "format_version",
)  # fmt: skip
# Attributes by which two metrics of one name differ.
SAME = (
    "features", "value", "gradient", "reason", "label", "short", "bounds", "independent",
    "symmetric", "scale", "draws", "limits",
)  # fmt: skip


class Trust(NamedTuple):
    """Conditions under which analytic and bootstrap intervals are unreliable.

    Tables that show only the posterior interval do not have notes on unreliable intervals.

    Attributes
    ----------
    rarest : callable
        Function of variables of a result (``cells`` (pair, 4), ``n_errors_a``, ``n_errors_b``,
        ``n_trials``, if the metric has them) that returns the count on which the reliability of
        intervals depends (pair,).
    least : int
        If the count of `rarest` is smaller than `least`, coverage is clearly below nominal.
    seldom : str
        Note that is added if the count is smaller than `least`.
    alone : str or callable
        Additional note if the standard error is 0, or a function of the same variables that returns
        the reasons for a standard error of 0 (pair,).
    pooled : (float, str)
        A threshold and a note. Intervals of means over many pairs are also too narrow, and the
        note is added, if the mean of `rarest` is below the threshold (infinite: always; 0: never).
    biased : bool
        Whether the estimate is also biased if errors are few. If True, tables of the metric always
        show the notes on few errors.
    """

    rarest: Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    least: int
    seldom: str
    alone: str | Callable[[Mapping[str, NDArray[Any]]], NDArray[Any]]
    pooled: tuple[float, str] = (0, "")
    biased: bool = False


def _rarest_answers(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Number of errors or correct responses of either observer, whichever is smallest."""
    cells = known["cells"]
    right = np.stack([cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]])
    return np.minimum(right, cells.sum(axis=1) - right).min(axis=0)


def _without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Why the standard error of an estimate from four cells is 0."""
    n11, n10, n01, n00 = np.moveaxis(known["cells"], -1, 0)
    reasons = [
        (_rarest_answers(known) == 0, "An observer is always correct or always incorrect"),
        ((n10 == 0) & (n01 == 0), "Both observers err on the same trials"),
        ((n11 == 0) & (n00 == 0), "Where one observer errs, the other is correct"),
    ]
    found = np.select([is_so for is_so, _ in reasons], [text for _, text in reasons], STILL)
    return np.array([note("no-variation", why=text) for text in found], dtype=object)


def items_without_spread(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return why the standard error of a coefficient of agreement is 0."""
    return np.full(len(known["n_trials"]), note("no-variation", why=STILL), dtype=object)


# Default reason for a standard error of 0.
STILL = "Responses do not vary"
FEW = note("few-errors", least=10)
SPREADLESS = note("no-variation", why=STILL)
MARGINS = note("few-items-margins", least=20)


def _trials(known: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    return known["n_trials"]


TRUST: Mapping[str, Trust] = {
    "correctness": Trust(_rarest_answers, 10, FEW, _without_spread),
    # Measured (`calibration.coverage_study`): with fewer, bootstrap coverage is low if labels
    # agree often or rarely.
    "labels": Trust(
        lambda known: known["cells"][:, 3],
        40,
        note("few-joint-errors", least=40),
        note("no-variation", why="Fewer than 2 joint errors, or only identical ones"),
    ),
    "rows": Trust(
        lambda known: np.minimum(known["n_errors_a"], known["n_errors_b"]),
        10,
        note("few-errors-biased", least=10),
        note("no-variation", why="Fewer than 2 errors"),
        biased=True,
    ),
    "margins": Trust(_trials, 20, MARGINS, MARGINS),
    "trials": Trust(_trials, 20, note("few-trials", least=20), SPREADLESS),
    "ratings": Trust(_trials, 20, note("few-items", least=20), items_without_spread),
    "options": Trust(_rarest_answers, 10, FEW, SPREADLESS),
    "probabilities": Trust(_trials, 40, note("few-questions", least=40), SPREADLESS),
}


@dataclasses.dataclass(frozen=True, eq=False)
class Metric:
    """Define a metric as a function of sums over trials.

    To define a metric, choose K quantities that are computed for each trial of a pair of observers,
    and a function of their sums over trials. By default, the sums are the counts in the pair's 2 x
    2 table of correct and incorrect responses. The following attributes are useful for custom
    metrics. Comments in the source code describe the attributes set only by built-in metrics.

    Attributes
    ----------
    name : str
        Name in results, on the command line and in files.
    value : callable
        Function that computes the metric from an array of shape ``(..., K)``, the sums of the K
        quantities over trials. It returns an array of shape ``(...)``, with NaN for undefined
        values. The metric must not change if all K sums are multiplied by the same constant.
    features : str or callable
        The K quantities that are computed for each trial:

        - ``"correctness"`` (default): indicators of the four cells ``n11, n10, n01, n00`` (both
          correct, only the first, only the second, neither)
        - ``"margins"``: products of the two margins ``a`` and ``b``: ``1, a, b, a^2, b^2, a b``
        - a function that computes an array of shape (pair, trial, K) from the responses of pairs (a
          `metrics.answers.Answers` object)
        - ``"labels"``: label statistics of joint errors (`metrics.errors.label_statistics`)
        - ``"ratings"``, ``"rows"``, ``"options"``, ``"probabilities"``: as in the built-in metrics
          in `metrics.ratings`, `metrics.errors` and `metrics.options`, whose `value` takes other
          arguments
    gradient : callable, optional
        Function that returns the derivatives of the metric with respect to the K sums. Default:
        complex-step differentiation, or central differences if `value` does not accept complex
        numbers. Required if `value` is not differentiable everywhere.
    reason : callable, optional
        Function that returns, for each value of the metric, the reason why the value is undefined,
        or an empty string. `gradient` and `reason` take the same argument as `value`.
    label : str
        Label of the metric in plots and sentences. Default: the name of the metric, with
        underscores replaced by spaces.
    short : str
        Label in narrow tables, and alternative name of the metric. Default: the label.
    bounds : (float, float)
        Smallest and largest possible values of the metric.
    independent : float or None
        Value of the metric for observers that err independently; None if this value depends on the
        observers.
    symmetric : bool
        Whether the metric is the same for both orders of a pair. If False, the first observer is
        the reference, and means over pairs of the same kind (such as human-human) average both
        orders.
    scale : {"identity", "fisher", "logit"}
        Scale on which the analytic interval is computed.
    differences : float
        Prior standard deviation of the difference in the metric between two systems, used to
        compute the probability that one of them scores higher.
    options : mapping
        Options of the metric, which are saved with results.
    sources : tuple of str
        DOIs to cite, or keys in the bibliography of a report.
    module : str
        Module to import before a file with this metric can be loaded. Default: the module that
        calls `Metric`.

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
    options: Mapping[str, Any] = NONE
    sources: tuple[str, ...] = ()
    module: str = ""
    # Set by built-in metrics only. Variables that tables show next to the estimate, columns that
    # tables compute from the four cells, and those of both that tables show only on request.
    alongside: tuple[str, ...] = ()
    derived: Mapping[str, Callable[[Any], Floats]] = NONE
    requested: tuple[str, ...] = ()
    # Data of posterior draws ("cells", "labels", "rows", ..., "" without draws), method for limits
    # without draws, and heading of the posterior interval if it is not for the estimated quantity.
    draws: str = BY_COUNTS
    limits: Limits = ""
    posterior_label: str = "posterior"
    # Invalid interval methods and columns, with the reason. Tables show them only on request.
    unreliable: Mapping[str, str] = NONE
    # Variable with the count on which the estimate is based, and its heading in tables. Conditions
    # under which intervals are unreliable, and a function of each pair's cells that returns a
    # further reason, or an empty string.
    rests_on: tuple[str, str] = BY_COUNTS
    trust: Trust = BY_COUNTS
    caution: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    # Label metrics with chance agreement computed only from responses to different trials. The
    # second argument has the sums of squared weights of joint errors with identical labels, and of
    # all joint errors, shape (..., 2).
    distinct: Callable[..., Floats] | None = None
    # For `pairwise_matrix`, with metrics that do not depend on correctness alone. `all_pairs` takes
    # the responses of all observers (`data.tables.answers`), and returns matrices of shape
    # (observer, observer): "estimate", "se", "n_used" (trials used, if not all common trials), and
    # "why" (0, or the position in `whys` of the reason why an estimate is undefined, from 1). With
    # limits "options", it also returns "chosen" (pair, 5) and "n_options" (pair). `all_influences`
    # takes the responses and the weights of pairs in several sums of the metric, shape (sum,
    # observer, observer), and returns the influence of trials on these sums, shape (sum, trial).
    all_pairs: Callable[..., Mapping[str, NDArray[Any]]] | None = None
    all_influences: Callable[..., Floats] | None = None
    whys: tuple[str, ...] = ()

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
        foreign = not (module.startswith("alikely.") or isinstance(self.value, _Quiet))
        value = _Quiet(self.value) if foreign else self.value
        defaults: dict[str, Any] = {
            "value": value,
            "reason": _NoValue(value) if self.reason is BY_COUNTS else self.reason,
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
        """Name in `features`, or ``"trials"`` if `features` is a function."""
        return "trials" if callable(self.features) else self.features

    @property
    def recommended(self) -> tuple[str, ...]:
        """Interval methods in order of preference; tables show the first one that is available."""
        return RECOMMENDED[self.posterior_label != "posterior" :]

    @property
    def crosses_repeats(self) -> bool:
        """Whether the metric uses every pairing of two observers' responses to a repeated item."""
        return self.counts not in ONE_ANSWER

    def derivative(self, sums: Any) -> Any:
        """Compute the derivatives of `value` with respect to its argument."""
        if self.gradient is not None:
            return self.gradient(sums)
        if isinstance(sums, tuple):
            return complex_step_of(self.value, sums)
        array = np.asarray(sums, dtype=np.float64)
        way = complex_step if self._analytic(array.shape[-1]) else central_differences
        return way(self.value, array)

    def influence(self, sums: Any) -> Floats:
        """Compute the influence of one trial in each cell of a 2 x 2 table on the metric."""
        array = np.asarray(sums, dtype=np.float64)
        return np.asarray(array.sum(axis=-1, keepdims=True) * self.derivative(array))

    def _analytic(self, size: int) -> bool:
        """Whether the value accepts complex numbers; checked once."""
        known = self.__dict__.get("_takes_complex")
        if known is None:
            known = supports_complex(self.value, typical_sums(size))
            object.__setattr__(self, "_takes_complex", known)
        return known

    @property
    def labels(self) -> bool | Literal["options", "any"]:
        """Data other than correctness: none, labels, labels if available ("any"), or options."""
        if self.counts in ("options", "probabilities"):
            return "options"
        return "any" if self.counts == "trials" else self.counts not in ("correctness", "margins")

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"<Metric {self.name}{options}>"


def _maker() -> str:
    """Name of the module that creates a metric."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"] in (__name__, "dataclasses"):
        frame = frame.f_back
    return str(frame.f_globals["__name__"])


def _check_metric(metric: Metric) -> None:
    """Check attributes, so that invalid ones do not fail later or silently give no interval."""
    if not metric.name.isidentifier() or metric.name in TAKEN:
        raise ValueError(
            f"name of a metric must consist of letters, digits and underscores and not be one of "
            f"{', '.join(TAKEN)}, which results use; got {metric.name!r}"
        )
    low, high = metric.bounds
    if not low < high or (metric.scale == "logit" and not math.isfinite(high - low)):
        finite = "finite, for scale='logit', and " if metric.scale == "logit" else ""
        raise ValueError(
            f"bounds of a metric must be {finite}(smallest, largest), got {metric.bounds!r}"
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
            "limits of a metric must be 'kappa' (features 'correctness'), 'options' (features "
            f"'options') or ''; got {metric.limits!r} with features {metric.counts!r}"
        )
    if metric.draws == "rows" and not {"alpha", "mixture", "base"} <= set(metric.options):
        raise ValueError(
            "draws='rows' needs the options alpha, mixture and base of class-level error "
            f"similarity, which {metric.name} does not have; leave draws out, for no posterior"
        )
    for name, value in metric.options.items():
        if name in REMEMBERED:
            raise ValueError(
                f"options of a metric must not be named {', '.join(REMEMBERED)}, which are "
                f"attributes of results; got {name!r}"
            )
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError(
                f"options of a metric must be numbers or strings, so that files can store them; "
                f"{name} is {value!r}"
            )


@dataclasses.dataclass(frozen=True)
class _Quiet:
    """A value function that returns NaN instead of infinite values, without warnings."""

    function: Callable[..., Any]

    def __call__(self, *sums: Any) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.asarray(self.function(*sums))
            return np.where(np.isfinite(found), found, np.nan)


@dataclasses.dataclass(frozen=True)
class _NoValue:
    """Default reason of an undefined value."""

    value: Callable[..., Any]

    def __call__(self, *sums: Any) -> NDArray[Any]:
        return np.where(np.isfinite(self.value(*sums)), "", "no value for these trials")


def typical_sums(size: int) -> Floats:
    """Return three sets of sums; for four cells, the last two are at kinks of scaled EC."""
    if size == 4:
        return np.array(
            [[50.0, 20.0, 15.0, 15.0], [30.0, 25.0, 25.0, 20.0], [35.0, 20.0, 10.0, 35.0]]
        )
    return np.random.default_rng(size).uniform(10.0, 50.0, (3, size))


def _check_functions(metric: Metric) -> None:
    """Check functions of cells, so that invalid ones do not fail later or give wrong intervals."""
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
                f"{name} of the metric {metric.name!r} must return, for cells of shape (3, 4), an "
                f"array of shape {shape}, got {found.shape}"
            )
    if not np.isfinite(value).all():
        at = int(np.flatnonzero(~np.isfinite(value))[0])
        raise ValueError(
            f"value of the metric {metric.name!r} must be finite if both observers make some "
            f"errors, got {value[at]:g} for the cells {sums[at].tolist()}"
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
                f"gradient of the metric {metric.name!r} does not match finite differences of its "
                "value; correct it or leave it out"
            )
        return
    above, below = (one_sided(metric.value, sums, side) for side in (1, -1))
    if not agree(above, below, sums, KINK):
        raise ValueError(
            f"value of the metric {metric.name!r} has a kink, where it has no gradient; give "
            "gradient=, a function of the cells that returns its derivatives"
        )


_METRICS: dict[str, Metric] = {}
_MAKERS: dict[str, Callable[..., Metric]] = {}


def register(metric: Metric, make: Callable[..., Metric] | None = None) -> Metric:
    """Register a metric under its name.

    Parameters
    ----------
    metric : Metric
        Metric to register, with its default options.
    make : callable, optional
        Function that takes the options as arguments and returns the metric with these options.

    Returns
    -------
    Metric
        The registered metric.

    Raises
    ------
    ValueError
        If another metric already has this name.
    ValueError
        If one of a correctness metric's functions returns infinite values or an array of the wrong
        shape.
    ValueError
        If multiplying all cells by a constant changes the metric, or if the metric has a kink and
        no gradient is given.

    Examples
    --------
    >>> import alikely as al
    >>> al.metrics.register(al.metrics.get_metric("EC"))
    <Metric error_consistency>
    """
    known = _METRICS.get(metric.name)
    # Running a notebook's cell again, or reloading a module, defines the same metric again.
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
                f"the names {metric.name!r} and {metric.short!r} must be unique, and "
                f"{other.name!r} ({other.short!r}) has one of them; give another name, or another "
                "short="
            )
    _check_functions(metric)
    _METRICS[metric.name] = metric
    if make is not None:
        _MAKERS[metric.name] = make
    return metric


def _origin(metric: Metric) -> tuple[str, str]:
    """Module and function of a metric."""
    value = getattr(metric.value, "function", metric.value)
    return metric.module, str(getattr(value, "__qualname__", type(value).__name__))


def metrics() -> dict[str, Metric]:
    """Return all registered metrics by name, in the order of registration."""
    return dict(_METRICS)


def get_metric(metric: str | Metric, **options: Any) -> Metric:
    """Return the metric with a given name or short name, or check a custom metric.

    Parameters
    ----------
    metric : str or Metric
        A name such as ``"misclassification_agreement"`` or ``"MA"``, or a custom metric, which is
        then registered.
    **options
        Options of the metric, such as ``alpha`` for ``"error_similarity"``.

    Returns
    -------
    Metric
        Metric with the given options.

    Raises
    ------
    TypeError
        If `metric` is neither a string nor a Metric.
    ValueError
        If no metric has that name, if a custom metric has the name of another metric, or if the
        metric does not have the option.

    Examples
    --------
    >>> import alikely as al
    >>> al.metrics.get_metric("error_similarity", mixture="pooled")
    <Metric error_similarity, alpha=0.5, mixture='pooled', base=2>
    """
    if isinstance(metric, Metric):
        # A registered metric with other options is not registered again.
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
    """Find a metric in another process, importing its module if necessary."""
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
    """Find a metric by name, or by ``"module:attribute"``."""
    module, _, attribute = text.partition(":")
    if not attribute:
        return get_metric(text)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ValueError(f"no metric at {text!r}: {error}") from None
    if not isinstance(found, Metric):
        raise ValueError(f"{text!r} must be a Metric, got {type(found).__name__}")
    return get_metric(found)
