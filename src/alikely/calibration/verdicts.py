"""Verdict on a model from the ranks of its calibration."""

from __future__ import annotations

from typing import Any

import pandas as pd

from alikely.calibration.ranks import sbc_summary

__all__ = ["verdict"]

# A band of fewer simulations says next to nothing.
FEWEST = 20
DIVERGENT = "divergent"


def verdict(ranks: pd.DataFrame) -> dict[str, Any]:
    """What ranks say of a model and its sampler: over all simulations, and without divergences.

    Whether chains diverge hangs on the data and on chance, not on the truth behind the data. If
    what is sampled is right, ranks are uniform with these simulations and without them.

    Parameters
    ----------
    ranks : pandas.DataFrame
        As from `alikely.calibration.sbc` or `kept_ranks`.

    Returns
    -------
    dict
        ``n_simulations``; ``passed``, whether all quantities stay inside the band that they stay
        inside together; ``outside_alone``, those outside the band of their own; and of
        ``divergences``: number of ``simulations`` with one and their ``share``; ``without``:
        ``n_simulations, passed, outside_alone`` of the others, None if these are fewer than 20.

    Raises
    ------
    ValueError
        If there are no ranks.

    Examples
    --------
    >>> verdict(ranks)["divergences"]["simulations"]  # ranks = al.calibration.sbc(model)
    0
    """
    divergent = ranks[DIVERGENT] > 0
    calm = ranks[~divergent]
    enough = calm["simulation"].nunique() >= FEWEST
    with_one = int(ranks.loc[divergent, "simulation"].nunique())
    found = _judged(ranks)
    return found | {
        "divergences": {
            "simulations": with_one,
            "share": with_one / found["n_simulations"],
            "without": _judged(calm) if enough else None,
        }
    }


def _judged(ranks: pd.DataFrame) -> dict[str, Any]:
    summary = sbc_summary(ranks)
    posterior = summary[summary["school"] == "posterior"]
    return {
        "n_simulations": int(ranks["simulation"].nunique()),
        "passed": bool(posterior["inside_all"].all()),
        "outside_alone": sorted(posterior.loc[~posterior["inside"], "quantity"]),
    }
