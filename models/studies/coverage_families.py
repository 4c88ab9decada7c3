"""Does the interval of the family effect hold: other families, other models, other questions.

References
----------
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark import agreement_regression
from alikely.estimates import matrix
from alikely.simulate.leaderboards import tree_answers
from studies.branches import true_consistency

__all__ = ["family_coverage", "family_coverage_summary"]

# Correlation of models with the difficulty of questions, least and greatest.
LOADINGS = (0.5, 0.8)
# Normal quantile of accuracies: mean, spread between and within families.
ABILITY, BETWEEN, WITHIN = 0.5, 0.5, 0.2
# Worlds over which the effect is averaged that intervals are to hold.
N_TRUE = 2_000


def family_coverage(
    n_worlds: int = 200,
    n_observers: int = 30,
    n_families: int = 6,
    n_trials: int = 2_000,
    *,
    shared: tuple[float, float] = (0.0, 0.6),
    confounded: bool = True,
    n_draws: int = 2_000,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Simulate leaderboards of new families, and see whether the interval has the mean effect."""
    of_truth, *seeds = seed_sequence(rng).spawn(n_worlds + 1)
    family = np.arange(n_observers) * n_families // n_observers
    generator = np.random.default_rng(of_truth)
    i, j = np.triu_indices(n_observers, k=1)
    same = family[i] == family[j]
    effects = []
    for _ in range(N_TRUE):
        accuracy, apart, together = _world(family, shared, confounded, generator)
        gain = true_consistency(together, accuracy) - true_consistency(apart, accuracy)
        effects.append(gain[same].mean())
    truth = float(np.mean(effects))
    names = [f"observer_{k}" for k in range(n_observers)]
    labels = {name: str(of) for name, of in zip(names, family, strict=True)}
    rows = []
    for seed in seeds:
        of_world, of_answers, of_draws = seed.spawn(3)
        accuracy, _, together = _world(family, shared, confounded, np.random.default_rng(of_world))
        correct = tree_answers(together, accuracy, n_trials, of_answers)
        pairs = matrix(
            xr.DataArray(correct, dims=("observer", "trial"), coords={"observer": names}),
            tests=False,
            intervals=(),
        )
        found = agreement_regression(pairs, labels=labels, n_draws=n_draws, rng=of_draws)
        posterior = found.data["posterior"].to_dataset()
        draws = posterior["b"].sel(predictor="same_family").values.ravel()
        lower, upper = np.quantile(draws, [0.025, 0.975])
        rows.append(
            {
                "estimate": draws.mean(),
                "sd": draws.std(),
                "lower": lower,
                "upper": upper,
                "truth": truth,
                "covered": bool(lower <= truth <= upper),
                "pareto_k": found.data.attrs["pareto_k"],
            }
        )
    return pd.DataFrame(rows)


def family_coverage_summary(worlds: pd.DataFrame) -> pd.Series:
    """Share of intervals that have the truth, bias, and width."""
    n, covered = len(worlds), worlds["covered"].mean()
    spread = worlds["estimate"].std(ddof=1)
    return pd.Series(
        {
            "n": n,
            "truth": worlds["truth"].iloc[0],
            "bias": (worlds["estimate"] - worlds["truth"]).mean(),
            "bias_mcse": spread / np.sqrt(n),
            "coverage": covered,
            "mcse": np.sqrt(covered * (1 - covered) / n),
            "width": (worlds["upper"] - worlds["lower"]).mean(),
            "sd": worlds["sd"].mean(),
            "spread": spread,
        }
    )


def _world(
    family: NDArray[np.intp],
    shared: tuple[float, float],
    confounded: bool,
    generator: np.random.Generator,
) -> tuple[Floats, Floats, Floats]:
    """Accuracies, and correlations without and with what families share."""
    n, n_families = len(family), int(family.max()) + 1
    between = generator.normal(0, BETWEEN, n_families)[family]
    if not confounded:
        between = generator.normal(0, BETWEEN, n)
    accuracy = special.ndtr(ABILITY + between + generator.normal(0, WITHIN, n))
    loading = generator.uniform(*LOADINGS, n)
    share = generator.uniform(*shared, n_families)[family]
    apart = np.outer(loading, loading)
    own = np.sqrt(1 - loading**2)
    together = apart + np.where(family[:, None] == family, share * np.outer(own, own), 0.0)
    np.fill_diagonal(apart, 1.0)
    np.fill_diagonal(together, 1.0)
    return accuracy, apart, together
