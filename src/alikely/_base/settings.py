"""Session defaults, which users set with `alikely.options`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, overload

import numpy as np

from alikely._base.checks import one_of
from alikely._base.intervals import CiKind, check_interval
from alikely._base.names import listed, nearest

DEFAULTS: Mapping[str, Any] = {
    "ci_prob": 0.95,
    "ci_kind": "eti",
    "n_draws": 4_000,
    "n_resamples": 10_000,
    "n_null": 10_000,
    "rng": None,
    "progressbar": None,
}
# Possible values of options with few.
CHOICES = {"progressbar": (None, True, False)}


def check_seed(rng: Any) -> None:
    """Raise an error for an invalid source of randomness."""
    if rng is None or isinstance(rng, np.random.Generator | np.random.SeedSequence):
        return
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer):
        raise TypeError(
            "rng must be None, a whole number, a numpy Generator or a SeedSequence, got "
            f"{type(rng).__name__}"
        )
    if rng < 0:
        raise ValueError(f"rng must not be negative, got {rng}")


class Settings:
    """Set defaults of all functions for a session, or within a ``with`` block.

    Functions use the session's defaults for arguments that are None. A function's own default takes
    precedence, such as fewer draws in planning functions. The defaults apply to all threads of the
    process.

    Attributes
    ----------
    ci_prob : float
        Probability level of intervals, in (0, 1). Default 0.95.
    ci_kind : {"eti", "hdi"}
        Kind of interval: equal-tailed or highest-density. Default ``"eti"``.
    n_draws : int
        Number of posterior draws. In some functions, 0 disables posterior draws. Default 4,000.
    n_resamples : int
        Number of bootstrap replicates. 0 disables them. Default 10,000.
    n_null : int
        Number of simulated or permuted data sets for the test of independence of each pair. Tests
        of equal error rows use at most 999 data sets. 0 disables the tests. Default 10,000.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. If `rng` is an integer, every call uses this integer as its seed.
        Default: a new seed for each call.
    progressbar : bool, optional
        Whether to show a progress bar. By default, progress bars are shown only in terminals and
        notebooks.

    Raises
    ------
    AttributeError
        If the option does not exist.
    TypeError
        If a value has the wrong type.
    ValueError
        If a value is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> with al.options(ci_prob=0.9, n_draws=1_000, rng=1):
    ...     result = al.error_consistency(al.load_example(), "human-human")
    >>> result
    <Result error_consistency: 18 pairs, 10000 bootstrap replicates, 1000 posterior draws (exact)>
    >>> al.options.ci_prob
    0.95
    """

    ci_prob: float
    ci_kind: CiKind
    n_draws: int
    n_resamples: int
    n_null: int
    rng: Any
    progressbar: bool | None

    def __init__(self) -> None:
        vars(self).update(DEFAULTS)

    @contextlib.contextmanager
    def __call__(self, **values: Any) -> Iterator[None]:
        """Set options within a ``with`` block."""
        before = {name: getattr(self, name) for name in DEFAULTS}
        try:
            for name, value in values.items():
                setattr(self, name, value)
            yield
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in DEFAULTS:
            raise AttributeError(
                f"no option {name!r}; choose from {listed(DEFAULTS)}{nearest(name, DEFAULTS)}"
            )
        if name == "ci_prob":
            check_interval(value, "eti")
        elif name == "ci_kind":
            check_interval(0.5, value)
        elif name == "rng":
            check_seed(value)
        elif name in CHOICES:
            one_of(name, value, CHOICES[name])
        elif not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"{name} must be a whole number, got {value!r}")
        elif value < 0:
            raise ValueError(f"{name} must be at least 0, got {value}")
        vars(self)[name] = value

    def __repr__(self) -> str:
        values = (f"{name}={getattr(self, name)!r}" for name in DEFAULTS)
        return f"options({', '.join(values)})"


options = Settings()


@overload
def resolve(name: Literal["ci_prob"], value: float | None) -> float: ...
@overload
def resolve(name: Literal["ci_kind"], value: CiKind | None) -> CiKind: ...
@overload
def resolve(name: Literal["n_draws", "n_resamples"], value: int | None) -> int: ...
@overload
def resolve(name: Literal["rng"], value: Any) -> Any: ...
def resolve(name: str, value: Any) -> Any:
    """Return the argument of a call or, if it is None, the session's default."""
    return getattr(options, name) if value is None else value
