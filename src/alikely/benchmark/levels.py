"""Scores of results at each level (a data set, or all of them), for each population."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely._base.notes import note
from alikely.benchmark.decomposition import spread, weighted_sums
from alikely.benchmark.layout import (
    CEILING,
    FEWEST_HUMANS,
    FEWEST_PEOPLE,
    HUMAN,
    HUMANS,
    OVERALL,
    POPULATIONS,
    Population,
    in_kinds,
)
from alikely.estimates.result import Result
from alikely.metrics.cell_priors import cell_prior

BY = ("level", "system")
# How to get the draws of a method.
SOURCES = {
    "bootstrap": "pass n_resamples=10_000 to benchmark_scores",
    "posterior": "pass n_draws=4_000 to benchmark_scores",
}
# Up to this many humans, the variance over humans is estimated poorly.
FEW_HUMANS = 6


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


def levels_met(scores: Result) -> list[str]:
    """Levels with models; others have only humans."""
    names = dataset_names(scores)
    known = scores.estimates["estimate"].sel(level=names, system=model_names(scores))
    met = known.notnull().any("system").values
    return [name for name, there in zip(names, met, strict=True) if there]


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


def population_of(scores: Result, generalize_to: Population | None) -> Population:
    """Return the population that intervals generalize to. Default: new images and new humans."""
    if generalize_to is not None:
        one_of("generalize_to", generalize_to, POPULATIONS)
    if is_analytic(scores):
        return generalize_to or "both"
    if generalize_to is not None:
        raise ValueError(
            "generalize_to= cannot be set for scores made from a result, which determines what "
            "intervals generalize to; leave it out"
        )
    return "images"


class Level:
    """Weighted sums of the scores of one level by every method, for one population."""

    def __init__(
        self, scores: Result, generalize_to: Population | None = None, level: str = OVERALL
    ) -> None:
        self.population = population_of(scores, generalize_to)
        self.estimate = level_scores(scores, level)
        self.scores, self.level, self.analytic = scores, level, is_analytic(scores)
        self.at = scores.estimates.sel(level=level)
        self.systems, self.models = system_names(scores), model_names(scores)

    @functools.cached_property
    def parts(self) -> xr.Dataset:
        """Variance components of the analytic intervals."""
        return level_parts(self.scores, self.level)

    @property
    def has_posterior(self) -> bool:
        """Whether there are posterior draws that generalize to the population."""
        return self.population == "images" and "posterior" in self.scores.data.children

    def sums(self, weights: Floats) -> pd.DataFrame:
        """Estimates, centers and standard errors of weighted sums, with degrees of freedom."""
        found = spread(self.parts, weights, self.population)
        return pd.DataFrame(
            {
                "estimate": weighted_sums(self.estimate, weights),
                "interval_center": weighted_sums(self.parts["interval_center"].values, weights),
                "se": np.sqrt(found["variance"]),
                "df": found["df"],
                "alike": found["alike"],
            }
        )

    def draws(self, weights: Floats) -> Floats:
        """Weighted sums of scores in each posterior draw: (draw, sum)."""
        return weighted_sums(level_draws(self.scores, "posterior", level=self.level), weights)

    def prior_shift(self) -> Floats:
        """Shift of joint posterior means by the prior of single pairs, in posterior SDs."""
        scores, zero = self.scores, np.zeros(len(self.systems))
        drawn = "posterior" in scores.data.children and scores.metric.draws == "cells"
        # Priors set by the user are meant to have an effect.
        if not drawn or not self.analytic or scores.prior != cell_prior(None):
            return zero
        draws = level_draws(scores, "posterior", level=self.level)
        with np.errstate(invalid="ignore", divide="ignore"):
            shift = draws.mean(axis=0) - self.parts["interval_center"].values
            shift = shift / draws.std(axis=0)
        models = shift[: len(self.models)]
        if np.isfinite(models).any():
            models[:] = models[np.isfinite(models)].mean()
        return np.nan_to_num(shift)

    def fewest_humans(self, alone: bool = False) -> int:
        """Fewest humans of any level: every one needs enough for a mean over levels."""
        met = [] if alone or self.level != OVERALL else levels_met(self.scores)
        return int(self.scores.estimates["fewest_humans"].sel(level=met or [self.level]).min())

    def human_notes(self, *, alone: bool = False) -> list[str]:
        """Note if there are too few humans to generalize to other humans."""
        if self.population == "images":
            return []
        paired = not alone and self.level == OVERALL and levels_met(self.scores)
        n_humans = int(self.at["n_humans_paired" if paired else "n_humans"])
        return few_notes(self.fewest_humans(alone), n_humans)

    def too_few_humans(self) -> str:
        """Reason why scores have no variance for new humans, and the fix; else empty."""
        if not self.analytic or self.population == "images":
            return ""
        if (fewest := self.fewest_humans()) >= FEWEST_PEOPLE:
            return ""
        return in_kinds(
            f"only {fewest} humans: results for new humans need at least {FEWEST_PEOPLE} humans in "
            "each data set; pass generalize_to='images' to treat these humans as fixed",
            human_kind(self.scores),
        )


def few_notes(fewest: int, n_humans: int) -> list[str]:
    """Note on the effect of few humans; empty if there are enough."""
    if fewest < FEWEST_PEOPLE:
        return [note("too-few-humans", n=fewest)]
    n = fewest if fewest < FEWEST_HUMANS else n_humans
    return [note("few-humans", n=n)] if n <= FEW_HUMANS else []
