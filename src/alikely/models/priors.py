"""Priors of the copy model, stated as Beta parameters; apart, because exact draws need no PyMC."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["DEFAULT_PRIOR", "Prior", "check_accuracy_prior", "check_prior"]

Prior = Mapping[str, tuple[float, float]]

DEFAULT_PRIOR: Prior = {"p_a": (1.0, 1.0), "u": (0.5, 0.5), "v": (0.5, 0.5)}
UNIFORM_PRIOR: Prior = {"p_a": (1.0, 1.0), "p_b": (1.0, 1.0)}
DIRECT_PRIOR: Prior = {"p_a": (1.0, 1.0), "own_accuracy": (1.0, 1.0)}


def check_prior(prior: Prior | None) -> dict[str, tuple[float, float]]:
    """Complete and validate a prior of the copy model.

    Parameters
    ----------
    prior : mapping or None
        Names to Beta parameters, see `copying`.

    Returns
    -------
    dict
        With keys ``p_a, u, v``, or ``p_a, copy_probability, own_accuracy``.

    Raises
    ------
    ValueError
        Unknown or mixed names, or parameters that are not two positive numbers.

    Examples
    --------
    >>> check_prior({"u": (1, 1), "v": (1, 1)})
    {'p_a': (1.0, 1.0), 'u': (1.0, 1.0), 'v': (1.0, 1.0)}
    """
    given = dict(prior or {})
    direct = "copy_probability" in given
    complete = {**(DIRECT_PRIOR if direct else DEFAULT_PRIOR), **given}
    known = {"p_a", "copy_probability", "own_accuracy"} if direct else {"p_a", "u", "v"}
    unknown = sorted(set(complete) - known)
    if unknown:
        raise ValueError(
            f"unknown name in prior: {', '.join(unknown)}; give Beta parameters for p_a, u and v, "
            "or for p_a, copy_probability and own_accuracy"
        )
    return _beta_parameters(complete)


def check_accuracy_prior(prior: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
    """Complete and validate a conjugate prior of both accuracies of independent observers.

    Parameters
    ----------
    prior : mapping or None
        Names to Beta parameters; uniform where not given.

    Returns
    -------
    dict
        With keys ``p_a, p_b``.

    Raises
    ------
    ValueError
        Unknown names, or parameters that are not two positive numbers.

    Examples
    --------
    >>> check_accuracy_prior({"p_b": (2, 1)})
    {'p_a': (1.0, 1.0), 'p_b': (2.0, 1.0)}
    """
    complete = {**UNIFORM_PRIOR, **(prior or {})}
    unknown = sorted(set(complete) - set(UNIFORM_PRIOR), key=str)
    if unknown:
        raise ValueError(
            f"unknown name in prior: {', '.join(map(str, unknown))}; give Beta parameters for p_a "
            "and p_b"
        )
    return _beta_parameters(complete)


def _beta_parameters(prior: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    for name, parameters in prior.items():
        try:
            numbers = np.asarray(parameters, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if numbers.shape != (2,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise ValueError(
                f"prior of {name} must be two positive Beta parameters, got {parameters!r}"
            )
    return {name: (float(a), float(b)) for name, (a, b) in prior.items()}
