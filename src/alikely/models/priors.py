"""What is known of priors without PyMC: Beta parameters of exact draws, and the form of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["DEFAULT_PRIOR", "Prior", "Priors", "check_prior", "check_priors"]

Prior = Mapping[str, tuple[float, float]]
# Names of variables to distributions of PyMC, or to parameters of the default's own family.
Priors = Mapping[str, Any]

DEFAULT_PRIOR: Prior = {"p_a": (1.0, 1.0), "u": (0.5, 0.5), "v": (0.5, 0.5)}
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
    for name, parameters in complete.items():
        numbers = np.asarray(parameters, dtype=np.float64)
        if numbers.shape != (2,) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise ValueError(
                f"prior of {name} must be two positive Beta parameters, got {parameters!r}"
            )
    return {name: (float(a), float(b)) for name, (a, b) in complete.items()}


def check_priors(priors: Priors | None) -> None:
    """Refuse what cannot be priors of a model, before there is one.

    Parameters
    ----------
    priors : mapping or None
        As in `alikely.models.with_priors`.

    Raises
    ------
    ValueError
        If it is no mapping of names to distributions or parameters.

    Examples
    --------
    >>> check_priors({"level_mean": (0, 1)})
    """
    named = isinstance(priors, Mapping) and all(isinstance(name, str) for name in priors)
    if priors is not None and not named:
        raise ValueError(
            "priors must map names of variables to distributions or parameters, such as "
            f'{{"level_mean": (0, 1)}}, got {priors!r}'
        )
    for name, given in (priors or {}).items():
        if given is None or callable(given) or isinstance(given, (str, Mapping)):
            raise ValueError(
                f"the prior of {name!r} must be a distribution without a name, such as "
                f"pm.Normal.dist(0, 1), or parameters of its default, got {given!r}"
            )
        if getattr(given, "name", None) is not None:
            raise ValueError(
                f"the prior of {name!r} is the variable {given.name!r} of a model; give a "
                "distribution without a name, such as pm.Normal.dist(0, 1)"
            )
