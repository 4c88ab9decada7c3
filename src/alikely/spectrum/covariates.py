"""What covariates of conditions and people do to difficulty and ability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import xarray as xr

from alikely._base.intervals import CiKind, check_interval
from alikely._base.settings import resolve
from alikely.benchmark.covariates import (
    chosen_values,
    contrast_table,
    covariate_values,
    effect_at,
)

__all__ = ["covariate_contrasts"]


def covariate_contrasts(
    tree: xr.DataTree,
    covariate: str,
    values: Sequence[Any] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tidy table of differences that a covariate makes to difficulty or ability.

    Parameters
    ----------
    tree : xarray.DataTree
        As from `alikely.fit_spectrum` with covariates.
    covariate : str
        Column of conditions or humans.
    values : sequence, optional
        Groups, or numbers for a numeric column; all groups if not given, or the highest and the
        lowest number of the table.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Intervals.

    Returns
    -------
    pandas.DataFrame
        One row per quantity and pair of values: ``quantity, value, other, difference`` (posterior
        mean of the first minus the other), its bounds, and ``p_positive``. The quantity is, of
        conditions, ``logit_accuracy`` of an average person, and ``delta``, the same in units of the
        reference (``reference_sd``); of humans ``ability``, log odds to be right.

    Raises
    ------
    ValueError
        If the fit has no such covariate, the covariate no such value, or an interval is unknown.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> table = pd.DataFrame({"strength": [0.0, 1.0, 3.0]}, index=spectrum["condition"].values)
    >>> tree = al.fit_spectrum(spectrum, 1, covariates={"condition": table}, rng=1)
    >>> covariate_contrasts(tree, "strength", [3, 0])["quantity"].tolist()
    ['logit_accuracy', 'delta']
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    column = covariate_values(tree, covariate)
    posterior = tree["posterior"].to_dataset()
    quantity = "logit_accuracy" if column.dims == ("condition",) else "ability"
    effect = posterior[f"{quantity}_{covariate}"]
    chosen = chosen_values(effect, column, values)
    draws = {quantity: effect_at(effect, column, chosen)}
    if quantity == "logit_accuracy":
        draws["delta"] = draws[quantity] / posterior["reference_sd"].values[..., None]
    dataset = xr.Dataset(
        {name: (("chain", "draw", covariate), values) for name, values in draws.items()},
        coords={covariate: chosen},
    )
    return contrast_table(dataset, covariate, ci_prob, ci_kind)
