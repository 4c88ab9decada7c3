"""What covariates do to copying: groups of machines or conditions compared at equal accuracy.

References
----------
.. [P65] Plackett (1965). A class of bivariate distributions.
   doi:10.1080/01621459.1965.10480807
.. [R86] Robins (1986). A new approach to causal inference in mortality studies with a sustained
   exposure period. doi:10.1016/0270-0255(86)90088-6
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats, within
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed, nearest
from alikely._base.settings import resolve
from alikely.benchmark.cohorts import layout_of
from alikely.data.ingest import label
from alikely.inference.intervals import interval

__all__ = [
    "chosen_values",
    "cohort_contrasts",
    "cohort_effects",
    "contrast_table",
    "covariate_values",
    "effect_at",
]


def cohort_effects(
    tree: xr.DataTree, covariate: str, values: Sequence[Any] | None = None
) -> xr.Dataset:
    """Draws of what a cohort would do if all its machines had one value of a covariate."""
    column = covariate_values(tree, covariate)
    posterior = tree["posterior"].to_dataset()
    of_humans = column.dims == ("person",)
    effect = posterior[f"{'human_effect' if of_humans else 'log_odds_ratio'}_{covariate}"]
    chosen = chosen_values(effect, column, values)
    if of_humans:
        found = {"human_effect": effect_at(effect, column, chosen)}
    else:
        found = _standardised(tree, posterior, column, chosen)
    return xr.Dataset(
        {name: (("chain", "draw", covariate), draws) for name, draws in found.items()},
        coords={"chain": posterior["chain"], "draw": posterior["draw"], covariate: chosen},
    )


def cohort_contrasts(
    tree: xr.DataTree,
    covariate: str,
    values: Sequence[Any] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tidy table of the differences that a covariate makes, such as transformers minus CNNs.

    Parameters
    ----------
    tree, covariate, values
        As in `cohort_effects`.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Intervals.

    Returns
    -------
    pandas.DataFrame
        One row per quantity of `cohort_effects` and pair of values: ``quantity, value, other``,
        ``difference`` (posterior mean of the first minus the other), its bounds, and
        ``p_positive``, the posterior probability that it lies above 0. Copying and error
        consistency are compared at equal accuracy.

    Raises
    ------
    ValueError
        As in `cohort_effects`, or if an interval is unknown.

    Examples
    --------
    >>> table = cohort_contrasts(tree, "family")  # tree = al.fit_cohort(trials, covariates=...)
    >>> table["quantity"].unique().tolist()
    ['log_odds_ratio', 'copy_probability', 'error_consistency', 'accuracy']
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    draws = cohort_effects(tree, covariate, values)
    return contrast_table(draws, covariate, ci_prob, ci_kind)


def contrast_table(
    draws: xr.Dataset, covariate: str, ci_prob: float, ci_kind: CiKind
) -> pd.DataFrame:
    """Differences between the values of a covariate, of each quantity."""
    chosen = draws[covariate].values.tolist()
    if len(chosen) < 2:
        raise ValueError(f"a contrast needs at least 2 values of {covariate!r}, got {chosen}")
    rows = []
    for name, quantity in draws.data_vars.items():
        flat = quantity.values.reshape(-1, len(chosen))
        for i, j in itertools.combinations(range(len(chosen)), 2):
            difference = flat[:, i] - flat[:, j]
            bounds = interval(difference[:, None], ci_prob, ci_kind)[0]
            rows.append(
                {
                    "quantity": name,
                    "value": chosen[i],
                    "other": chosen[j],
                    "difference": difference.mean(),
                    **bound_columns("", ci_kind, ci_prob, bounds),
                    "p_positive": np.mean(difference > 0),
                }
            )
    return pd.DataFrame(rows)


def covariate_values(tree: xr.DataTree, covariate: str) -> xr.DataArray:
    """Values of a covariate in a fit."""
    group = tree["covariates"].to_dataset() if "covariates" in tree.children else xr.Dataset()
    known = [str(name) for name in group.data_vars]
    if covariate not in known:
        given = f"it has {listed(known)}" if known else "fit it with covariates="
        raise ValueError(
            f"this fit has no covariate {covariate!r}; {given}{nearest(covariate, known)}"
        )
    return group[covariate]


def chosen_values(
    effect: xr.DataArray, column: xr.DataArray, values: Sequence[Any] | None
) -> list[Any]:
    """Values of a covariate to compare, by default all groups or the ends of its numbers."""
    name = str(column.name)
    if name in effect.dims:
        known = effect[name].values.tolist()
        chosen = known if values is None else [label(value) for value in values]
        unknown = [value for value in chosen if value not in known]
        if unknown:
            raise ValueError(
                f"{name!r} has the groups {listed(known)}; got {unknown[0]!r}"
                f"{nearest(unknown[0], known)}"
            )
        return chosen
    if values is None:
        return [float(column.max()), float(column.min())]
    numbers = pd.to_numeric(pd.Series(list(values), dtype=object), errors="coerce")
    if not np.isfinite(numbers.to_numpy(dtype=np.float64)).all():
        raise ValueError(f"{name!r} is numeric; values must be finite numbers, got {list(values)}")
    return [float(number) for number in numbers]


def effect_at(effect: xr.DataArray, column: xr.DataArray, values: Sequence[Any]) -> Floats:
    """Draws of what a covariate adds at some of its values."""
    name = str(column.name)
    if name in effect.dims:
        at = [effect[name].values.tolist().index(value) for value in values]
        return np.asarray(effect.transpose("chain", "draw", name).values[..., at])
    centred = np.asarray(values, dtype=np.float64) - float(column.mean())
    return np.asarray(effect.values[..., None] * centred)


def _standardised(
    tree: xr.DataTree, posterior: xr.Dataset, column: xr.DataArray, chosen: Sequence[Any]
) -> dict[str, Floats]:
    """Mean over machines if all had each of the chosen values: shape (chain, draw, value)."""
    layout = layout_of(tree)
    kind = column.dims[0]
    row = pd.Index(column[kind].values).get_indexer(layout[kind].values)
    weight = _nested_weights(layout)
    level, ratio = (posterior[f"{name}_{column.name}"] for name in ("level", "log_odds_ratio"))
    own = column.values[row]
    accuracy, odds = posterior["accuracy"].values, posterior["log_odds_ratio"].values
    bare = special.logit(accuracy) - effect_at(level, column, own)
    odds = odds - effect_at(ratio, column, own)
    mu = posterior["human_accuracy"].values[..., layout["condition_of_entry"].values]
    # Error consistency is proportional to copying, at given accuracies.
    per_copy = posterior["error_consistency"].values / posterior["copy_probability"].values
    found: dict[str, list[Floats]] = {}
    at_value = zip(
        np.moveaxis(effect_at(ratio, column, chosen), -1, 0),
        np.moveaxis(effect_at(level, column, chosen), -1, 0),
        strict=True,
    )
    for of_ratio, of_level in at_value:
        moved = odds + of_ratio[..., None]
        copying = _copy_probability(mu, accuracy, moved)
        for name, draws in (
            ("log_odds_ratio", moved),
            ("copy_probability", copying),
            ("error_consistency", copying * per_copy),
            ("accuracy", special.expit(bare + of_level[..., None])),
        ):
            found.setdefault(name, []).append(draws @ weight)
    return {name: np.stack(draws, axis=-1) for name, draws in found.items()}


def _copy_probability(mu: Floats, accuracy: Floats, log_odds_ratio: Floats) -> Floats:
    """Probability of copying a human, from both accuracies and the log odds ratio [P65]_."""
    followed = within(_joint_probability(mu, accuracy, log_odds_ratio) / mu)
    alone = within(_joint_probability(1 - mu, accuracy, -log_odds_ratio) / (1 - mu))
    return np.asarray(followed - alone)


def _joint_probability(p: Floats, q: Floats, log_odds_ratio: Floats) -> Floats:
    """As `alikely.models.cohorts._joint_probability`, in NumPy."""
    excess = np.expm1(log_odds_ratio)
    total, ways = 1 + (p + q) * excess, (excess + 1) * p * q
    # The discriminant, as a sum of what is not negative on either side of independence.
    below = total**2 - 4 * excess * ways
    above = 1 + 2 * excess * (p + q - 2 * p * q) + (excess * (p - q)) ** 2
    root = np.sqrt(np.where(excess < 0, below, above))
    # The two forms of the root of the quadratic; each is exact where the other cancels.
    positive = total > 0
    return np.where(
        positive,
        2 * ways / (np.where(positive, total, 1.0) + root),
        (total - root) / (2 * np.where(positive, -1.0, excess)),
    )


def _nested_weights(layout: xr.Dataset) -> NDArray[np.float64]:
    """Weights of entries: conditions of a data set alike, then data sets, then machines."""
    frame = layout[["machine", "dataset"]].to_dataframe()
    per_dataset = frame.groupby(["machine", "dataset"])["machine"].transform("size")
    n_datasets = frame.groupby("machine")["dataset"].transform("nunique")
    return np.asarray(1 / (per_dataset * n_datasets * frame["machine"].nunique()), dtype=np.float64)
