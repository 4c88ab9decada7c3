"""Names, scores and draws of results of scores, at each level (a data set, or all of them)."""

from __future__ import annotations

from typing import Literal

import numpy as np
import xarray as xr

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely.benchmark.layout import CEILING, HUMAN, HUMANS, OVERALL
from alikely.estimates.result import Result

__all__ = [
    "BY",
    "SOURCES",
    "Method",
    "dataset_names",
    "human_kind",
    "is_analytic",
    "level_draws",
    "level_parts",
    "level_scores",
    "model_names",
    "require_analytic",
    "system_names",
]

Method = Literal["bootstrap", "posterior"]
BY = ("level", "system")
# Group of the draws of a method, and what they generalize to.
SOURCES = {
    "bootstrap": "pass n_resamples=10_000 to benchmark_scores",
    "posterior": "pass n_draws=4_000 to benchmark_scores",
}


def is_analytic(scores: Result) -> bool:
    """Whether scores have analytic intervals; those of trials have."""
    return "decomposition" in scores.data.children


def require_analytic(scores: Result, what: str) -> None:
    """Raise an error for scores that have only posterior draws of a result."""
    if not is_analytic(scores):
        raise ValueError(
            f"{what} need scores of trials, got posterior draws of a result; score trials with "
            "alikely.benchmark_scores"
        )


def system_names(scores: Result) -> list[str]:
    """Names of all rows of scores."""
    return [str(name) for name in scores.estimates["system"].values]


def model_names(scores: Result) -> list[str]:
    """Names of the models."""
    return [name for name in system_names(scores) if name not in (HUMANS, CEILING)]


def human_kind(scores: Result) -> str:
    """Kind of the observers that models are scored against."""
    return str(scores.data.attrs.get("humans", HUMAN))


def dataset_names(scores: Result) -> list[str]:
    """Names of the data sets."""
    return [str(name) for name in scores.estimates["level"].values if name != OVERALL]


def level_scores(scores: Result, level: str = OVERALL) -> Floats:
    """Scores of all systems at one level, shape (system,)."""
    one_of("level", level, (*dataset_names(scores), OVERALL))
    return np.asarray(scores.estimates["estimate"].sel(level=level).values, dtype=np.float64)


def level_parts(scores: Result, level: str = OVERALL) -> xr.Dataset:
    """Variance components of the analytic intervals at one level."""
    one_of("level", level, (*dataset_names(scores), OVERALL))
    require_analytic(scores, "analytic intervals")
    group = scores.data["decomposition"].to_dataset()
    here = group["image_level"].values == group["level"].values.tolist().index(level)
    group = group if "most_df" in group else group.assign(most_df=np.inf)
    return group.sel(level=level).isel(image=here)


def level_draws(
    scores: Result, method: str, variable: str = "score", level: str = OVERALL
) -> Floats:
    """Replicates (``images``, ``observers``, ``both``) or draws (``score``): (draw, system)."""
    if method not in scores.data.children or variable not in scores.data[method]:
        reason = SOURCES.get(method, "draws are of bootstrap or posterior")
        raise ValueError(f"these scores have no {method} draws of {variable!r}; {reason}")
    one_of("level", level, (*dataset_names(scores), OVERALL))
    values = scores.data[method].to_dataset()[variable].sel(level=level)
    return np.asarray(values.values, np.float64).reshape(-1, values.sizes["system"])
