"""Whether the support of branches keeps its promise: trees of known shape, families found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from scipy import special
from scipy.cluster import hierarchy

from alikely._base.arrays import Floats
from alikely._base.random import RandomState, seed_sequence
from alikely.benchmark import Families, families
from alikely.estimates import matrix
from alikely.metrics import ERROR_CONSISTENCY
from alikely.simulate.leaderboards import random_tree, tree_answers
from studies.simulators.judges import normal_consistency

__all__ = ["BINS", "branch_calibration", "branch_table", "true_consistency"]

# Lower ends of classes of support.
BINS = (0.0, 0.5, 0.8, 0.95)


def branch_calibration(
    n_trees: int = 60,
    n_observers: tuple[int, int] = (10, 30),
    n_trials: Sequence[int] = (200, 1_000, 5_000),
    *,
    accuracy: tuple[float, float] = (0.5, 0.9),
    n_resamples: int = 200,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Find families in simulated answers, and compare every branch with the true tree."""
    rows = []
    for k, seed in enumerate(seed_sequence(rng).spawn(n_trees)):
        shape, answers, resampling, other = seed.spawn(4)
        generator = np.random.default_rng(other)
        n = int(generator.integers(n_observers[0], n_observers[1] + 1))
        correlation = random_tree(n, shape)
        accuracies = generator.uniform(*accuracy, n)
        correct = tree_answers(correlation, accuracies, n_trials[k % len(n_trials)], answers)
        found = families(
            matrix(xr.DataArray(correct, dims=("observer", "trial")), tests=False, intervals=()),
            n_resamples=n_resamples,
            rng=resampling,
        )
        consistency = true_consistency(correlation, accuracies)
        truth = Families(
            hierarchy.linkage(1 - consistency, "average"), found.observers,
            found.support, ERROR_CONSISTENCY, 0,
        )  # fmt: skip
        real = {frozenset(members) for members in truth.branches["members"]}
        rows += [
            {
                "tree": k,
                "n_observers": n,
                "n_trials": correct.shape[1],
                "size": branch.n,
                "support": branch.support,
                "right": frozenset(branch.members) in real,
            }
            for branch in found.branches.rename(columns={"size": "n"}).itertuples()
        ]
    return pd.DataFrame(rows)


def branch_table(branches: pd.DataFrame) -> pd.DataFrame:
    """How often branches are right, by their support."""
    classes = np.searchsorted(BINS, branches["support"], side="right") - 1
    ends = [*BINS[1:], 1.0]
    names = [f"{low:g} to {high:g}" for low, high in zip(BINS, ends, strict=True)]
    table = branches.groupby(np.array(names, dtype=object)[classes]).agg(
        n=("right", "size"), support=("support", "mean"), right=("right", "mean")
    )
    table.index.name = "class"
    return table.assign(mcse=np.sqrt(table["right"] * (1 - table["right"]) / table["n"]))


def true_consistency(correlation: Floats, accuracy: Floats) -> Floats:
    """Error consistency of all pairs with infinitely many trials."""
    i, j = np.triu_indices(len(accuracy), k=1)
    ability = special.ndtri(accuracy)
    return normal_consistency(correlation[i, j], ability[i], ability[j])
