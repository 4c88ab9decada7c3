"""Studies of families and judges: branches, effects of families, and self-preference of judges."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special
from scipy.cluster import hierarchy

from alikely._base.arrays import Floats
from alikely.benchmark import agreement_regression, families, judge_agreement
from alikely.benchmark.agreement import partial_correlation
from alikely.benchmark.trees import branch_members, branches
from alikely.data.trials import Trials
from alikely.estimates import pairwise_matrix
from studies.harness import Rows, Study, checked, of_claims
from studies.simulators.trees import random_tree, tree_answers, true_consistency

# Limits of classes of support.
BINS = (0.0, 0.5, 0.8, 0.95, np.inf)


class TreeDesign(NamedTuple):
    """Random trees of observers, with one number of observers or questions after the other."""

    n_observers: tuple[int, int] = (10, 30)
    n_trials: tuple[int, ...] = (200, 1_000, 5_000)
    accuracy: tuple[float, float] = (0.5, 0.9)


def _branches(design: TreeDesign, numbers: range, seed: Any, n_resamples: int) -> Rows:
    """Find families in simulated responses, and compare every branch with the true tree."""
    (number,) = numbers
    shape, answers, resampling, other = seed.spawn(4)
    generator = np.random.default_rng(other)
    least, most = design.n_observers
    n = int(generator.integers(least, most + 1))
    correlation = random_tree(n, shape)
    accuracies = generator.uniform(*design.accuracy, n)
    n_trials = design.n_trials[number % len(design.n_trials)]
    correct = tree_answers(correlation, accuracies, n_trials, answers)
    found = families(_pairs(correct), n_resamples=n_resamples, rng=resampling)
    truth = hierarchy.linkage(1 - true_consistency(correlation, accuracies), "average")
    real = {frozenset(found.observers[k] for k in members) for members in branch_members(truth)}
    return [
        {"set": number, "n_observers": n, "n_trials": n_trials, "size": branch.n}
        | {"claimed": branch.support, "right": float(frozenset(branch.members) in real)}
        for branch in branches(found).rename(columns={"size": "n"}).itertuples()
    ]


BRANCHES = Study(
    "branches",
    _branches,
    {"random trees": TreeDesign()},
    n_datasets=60,
    options={"n_resamples": 200},
    table=functools.partial(of_claims, edges=BINS),
)


def _pairs(correct: NDArray[np.int8], names: list[str] | None = None) -> Any:
    coords = None if names is None else {"observer": names}
    answers = xr.DataArray(correct, dims=("observer", "trial"), coords=coords)
    return pairwise_matrix(answers, tests=False, intervals=())


# Range of the correlation of models with the difficulty of questions.
LOADINGS = (0.5, 0.8)
# Normal quantile of accuracies: mean, standard deviation between and within families.
ABILITY, BETWEEN, WITHIN = 0.5, 0.5, 0.2
# Number of leaderboards over which the true effect is averaged.
N_TRUE = 2_000


class FamilyDesign(NamedTuple):
    """Leaderboards of new families, which share some errors and may differ in accuracy."""

    n_observers: int = 30
    n_families: int = 6
    n_trials: int = 2_000
    shared: tuple[float, float] = (0.0, 0.6)
    confounded: bool = True


def _families(design: FamilyDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    """Check whether the interval of `agreement_regression` contains the mean effect."""
    family, truth = _members(design), _true_effect(design)
    names = [f"observer_{k}" for k in range(design.n_observers)]
    labels = {name: str(of) for name, of in zip(names, family, strict=True)}
    of_world, of_answers, of_draws = seed.spawn(3)
    accuracy, _, together = _leaderboard(design, np.random.default_rng(of_world))
    correct = tree_answers(together, accuracy, design.n_trials, of_answers)
    found = agreement_regression(
        _pairs(correct, names), labels=labels, n_draws=n_draws, rng=of_draws
    )
    posterior = found.data["posterior"].to_dataset()
    draws = posterior["b"].sel(predictor="same_family").values.ravel()
    lower, upper = np.quantile(draws, [0.025, 0.975])
    limits = checked(truth, lower, upper, draws.mean())
    estimate = {"estimate": draws.mean(), "sd": draws.std(), "truth": truth}
    return [estimate | limits | {"pareto_k": found.data.attrs["pareto_k"]}]


def _members(design: FamilyDesign) -> NDArray[np.intp]:
    return np.arange(design.n_observers) * design.n_families // design.n_observers


@functools.cache
def _true_effect(design: FamilyDesign) -> float:
    """Mean effect of shared errors on pairs of one family, over many leaderboards."""
    family, generator, effects = _members(design), np.random.default_rng(0), []
    i, j = np.triu_indices(len(family), k=1)
    same = family[i] == family[j]
    for _ in range(N_TRUE):
        accuracy, apart, together = _leaderboard(design, generator)
        gain = true_consistency(together, accuracy) - true_consistency(apart, accuracy)
        effects.append(gain[same].mean())
    return float(np.mean(effects))


def _leaderboard(
    design: FamilyDesign, generator: np.random.Generator
) -> tuple[Floats, Floats, Floats]:
    """Accuracies, and correlations with and without the shared part of families."""
    family, n, n_families = _members(design), design.n_observers, design.n_families
    between = generator.normal(0, BETWEEN, n_families)[family]
    if not design.confounded:
        between = generator.normal(0, BETWEEN, n)
    accuracy = special.ndtr(ABILITY + between + generator.normal(0, WITHIN, n))
    loading = generator.uniform(*LOADINGS, n)
    share = generator.uniform(*design.shared, n_families)[family]
    apart = np.outer(loading, loading)
    own = np.sqrt(1 - loading**2)
    together = apart + np.where(family[:, None] == family, share * np.outer(own, own), 0.0)
    np.fill_diagonal(apart, 1.0)
    np.fill_diagonal(together, 1.0)
    return accuracy, apart, together


FAMILIES = Study(
    "families",
    _families,
    {
        "similar errors, other accuracy": FamilyDesign(),
        "similar errors, same accuracy": FamilyDesign(confounded=False),
        "other accuracy alone": FamilyDesign(shared=(0.0, 0.0)),
    },
    options={"n_draws": 2_000},
    means=("truth", "bias", "sd"),
)

# Accuracy of the judge, and number of options of a question.
JUDGE, N_OPTIONS = 0.7, 4


class JudgeDesign(NamedTuple):
    """Candidates that sometimes copy a judge, who may prefer candidates that agree with it."""

    liking: float
    n: int = 40
    n_questions: int = 400


def _candidates(rng: np.random.Generator, n: int, liking: float) -> tuple[Floats, ...]:
    """Accuracy without copying, copying rate, accuracy, kappa with the judge, and scores."""
    own = rng.uniform(0.4, 0.8, n)
    copied = np.clip(rng.beta(2, 4, n) + 0.3 * (own - 0.6), 0, 0.95)
    accuracy = copied * JUDGE + (1 - copied) * own
    same = copied + (1 - copied) * (own * JUDGE + (1 - own) * (1 - JUDGE) / 3)
    chance = accuracy * JUDGE + (1 - accuracy) * (1 - JUDGE) / 3
    kappa = (same - chance) / (1 - chance)
    return own, copied, accuracy, kappa, accuracy + liking * kappa + rng.normal(0, 0.03, n)


def _judges(design: JudgeDesign, numbers: range, seed: Any) -> Rows:
    """Check intervals of the partial correlation of scores with kappa_p."""
    of_truth, *seeds = seed.spawn(len(numbers) + 1)
    _, _, accuracy, kappa, score = _candidates(
        np.random.default_rng(of_truth), 400_000, design.liking
    )
    truth = partial_correlation(kappa, score, accuracy)[0]
    rows: Rows = []
    for own_seed in seeds:
        rng = np.random.default_rng(own_seed)
        own, copied, _, _, score = _candidates(rng, design.n, design.liking)
        right = rng.integers(0, N_OPTIONS, design.n_questions)
        shape = (design.n + 1, design.n_questions)
        wrong = (right + rng.integers(1, N_OPTIONS, shape)) % N_OPTIONS
        able = np.array([JUDGE, *own])[:, None]
        chosen = np.where(rng.random(shape) < able, right, wrong)
        chosen[1:] = np.where(rng.random(chosen[1:].shape) < copied[:, None], chosen[0], chosen[1:])
        board = Trials.from_arrays(chosen, right, classes=range(N_OPTIONS))
        found = pairwise_matrix(board.with_options(N_OPTIONS), "kappa_p_discrete", intervals=())
        scores = {f"observer_{k + 1}": float(given) for k, given in enumerate(score)}
        row = judge_agreement(found, {"observer_0": scores}).iloc[0]
        limits = row["analytic_ci95_lb"], row["analytic_ci95_ub"]
        rows.append(
            {"truth": truth, "error_with_noise": row["partial_raw"] - truth}
            | checked(truth, *limits)
        )
    return rows


JUDGES = Study(
    "judges",
    _judges,
    {"a fair judge": JudgeDesign(0.0), "a judge that likes its like": JudgeDesign(0.3)},
    size=0,
    n_datasets=150,
    means=("truth", "error_with_noise"),
)
