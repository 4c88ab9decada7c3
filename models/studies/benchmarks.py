"""Studies of benchmarks: populations of humans, models and images, and intervals of scores."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import optimize, special, stats

import alikely as al
from alikely._base.arrays import Floats, within
from alikely.benchmark.cohorts import fit_cohort
from alikely.benchmark.decomposition import largest_of_differences
from alikely.benchmark.layout import Population
from alikely.benchmark.scores import benchmark_scores
from alikely.data.trials import Trials
from alikely.inference.chains import SamplingWarning
from alikely.metrics import ERROR_CONSISTENCY, Metric, get_metric
from studies.harness import Rows, Study, checked, of_claims, short_shares, summarized

CI_PROB = 0.95
# Number of benchmarks in one cell of a study.
BATCH = 20
Family = Literal["probit", "guessing"]
LOADING = 0.8
GUESS = 1 / 16
# Midpoints of quantile intervals of the images, and of humans in ability and in loading.
N_IMAGES, N_PEOPLE = 400, 40


class BenchmarkDesign(NamedTuple):
    """Population of humans and images, and the size of a benchmark.

    - ``family``: "probit" has one normal difficulty factor, on which loadings differ;
      "guessing" is Rasch's model with guessing among 16 classes and exponential difficulty, which
      models follow in a proportion of trials
    - ``n_images``: number of images in each condition
    - ``n_conditions``: number of conditions in each data set
    - ``pool``: number of humans from whom those of each data set are drawn; 0: separate humans
    - ``more_humans``: number of additional humans in every second data set
    - ``same_images``: whether all conditions of a data set have the same images
    - ``spread``: standard deviation of abilities, on the scale of the link
    - ``accuracy``: accuracy of a human with average ability
    """

    family: Family = "probit"
    n_humans: int = 4
    n_datasets: int = 1
    n_conditions: int = 1
    n_images: int = 160
    pool: int = 0
    more_humans: int = 0
    same_images: bool = False
    spread: float = 0.3
    accuracy: float = 0.75


class Observers(NamedTuple):
    """Abilities minus the mean, and loadings (or proportions of trials that follow difficulty)."""

    ability: Floats
    follows: Floats


# The second and the last model have the same population score: a true tie.
FOUR_MACHINES = Observers(np.array([0.0, 0.2, -0.2, 0.2]), np.array([1.0, 0.7, 0.85, 0.7]))


class Scores(NamedTuple):
    """Scores of models and of pairs of humans, in a population of humans."""

    models: Floats
    human: float


def people_of(design: BenchmarkDesign, ability: Floats, load: Floats) -> Observers:
    """Humans from standard normal scores."""
    follows = np.clip(LOADING + design.spread / 3 * load, 0.0, 0.98)
    if design.family == "guessing":
        follows = np.ones_like(ability)
    return Observers(design.spread * ability, follows)


def _scaled(design: BenchmarkDesign, models: Observers) -> Observers:
    scale = 1.0 if design.family == "guessing" else LOADING
    return Observers(models.ability, scale * models.follows)


def right_answers(design: BenchmarkDesign, who: Observers, hardness: Floats) -> Floats:
    """Probabilities of correct responses: (observer, image)."""
    level = _level(design.family, design.accuracy)
    ability, follows = who.ability[:, None], who.follows[:, None]
    if design.family == "guessing":
        p = GUESS + (1 - GUESS) * special.expit(level + ability - hardness)
        return np.asarray(follows * p + (1 - follows) * design.accuracy)
    latent = level + ability - follows * hardness
    return np.asarray(special.ndtr(latent / np.sqrt(1 - follows**2)))


def hardness_at(design: BenchmarkDesign, share: Floats) -> Floats:
    """Difficulty of images at these quantiles."""
    if design.family == "guessing":
        return np.asarray(1.5 * stats.expon.ppf(share))
    return np.asarray(special.ndtri(share))


def _level(family: Family, accuracy: float) -> float:
    """Ability at which the average human has this accuracy."""
    if family == "probit":
        return float(special.ndtri(accuracy))
    hard = 1.5 * stats.expon.ppf(_midpoints(N_IMAGES))
    return float(
        optimize.brentq(
            lambda x: (GUESS + (1 - GUESS) * special.expit(x - hard)).mean() - accuracy, -20, 20
        )
    )


def _midpoints(n: int) -> Floats:
    return (np.arange(n) + 0.5) / n


@functools.cache
def _population(design: BenchmarkDesign, metric: Metric) -> tuple[Floats, float]:
    """Correctness of very many humans, (human, image), and the mean over their pairs."""
    grid = special.ndtri(_midpoints(N_PEOPLE))
    ability, load = (axis.ravel() for axis in np.meshgrid(grid, grid))
    crowd = _crowd(design, people_of(design, ability, load))
    return crowd, float(_expected(crowd, crowd, metric).mean())


def population_scores(
    design: BenchmarkDesign, models: Observers = FOUR_MACHINES, metric: Metric = ERROR_CONSISTENCY
) -> Scores:
    """Scores in the population of humans and images."""
    # They do not depend on the size of the benchmark.
    unseen = design._replace(n_humans=0, n_datasets=0, n_conditions=0, n_images=0)
    crowd, human = _population(unseen, metric)
    return Scores(_mixed(design, crowd, models, metric), human)


def scores_from_result(
    design: BenchmarkDesign,
    people: Observers,
    models: Observers = FOUR_MACHINES,
    metric: Metric = ERROR_CONSISTENCY,
) -> Scores:
    """Scores over all images, for these humans."""
    crowd = _crowd(design, people)
    alike, n = _expected(crowd, crowd, metric), len(crowd)
    human = (alike.sum() - np.trace(alike)) / (n * (n - 1))
    return Scores(_mixed(design, crowd, models, metric), float(human))


def _crowd(design: BenchmarkDesign, people: Observers) -> Floats:
    return right_answers(design, people, hardness_at(design, _midpoints(N_IMAGES)))


def _mixed(design: BenchmarkDesign, crowd: Floats, models: Observers, metric: Metric) -> Floats:
    hardness = hardness_at(design, _midpoints(N_IMAGES))
    own = right_answers(design, _scaled(design, models), hardness)
    return np.asarray(_expected(crowd, own, metric).mean(axis=0))


def _expected(first: Floats, second: Floats, metric: Metric) -> Floats:
    """Expected values of all pairs whose responses are independent given the image."""
    both = first @ second.T / first.shape[1]
    a, b = first.mean(axis=1)[:, None], second.mean(axis=1)[None]
    cells = np.stack([both, a - both, b - both, 1 - a - b + both], axis=-1)
    # Rounding error in an empty cell.
    return metric.value(within(cells))


def simulated_benchmark(
    design: BenchmarkDesign,
    generator: np.random.Generator,
    models: Observers = FOUR_MACHINES,
    metric: Metric = ERROR_CONSISTENCY,
) -> tuple[Trials, Scores]:
    """Simulate a benchmark."""
    d, c, n = design[2:5]
    crowds = _crowds(design, generator)
    n_humans = max(own.max() for own in crowds) + 1
    everyone = people_of(design, *generator.standard_normal((2, n_humans)))
    n_models, n_trials = len(models.ability), n * c
    right = np.ma.masked_all((n_humans + n_models, d * n_trials), dtype=int)
    item, truths = [], []
    for dataset, own in enumerate(crowds):
        people = Observers(everyone.ability[own], everyone.follows[own])
        truths.append(scores_from_result(design, people, models, metric))
        images = generator.random(n if design.same_images else n_trials)
        number = np.arange(n_trials) % n if design.same_images else np.arange(n_trials)
        hardness = hardness_at(design, images)[number]
        both = (people, _scaled(design, models))
        p = np.vstack([right_answers(design, who, hardness) for who in both])
        here = np.concatenate([own, n_humans + np.arange(n_models)])
        trials = dataset * n_trials + np.arange(n_trials)
        right[np.ix_(here, trials)] = generator.random(p.shape) < p
        item.append(number)
    made = Trials.from_correct(
        right,
        kind=["human"] * n_humans + ["model"] * n_models,
        dataset=np.repeat(np.arange(d), n_trials).astype(str).tolist(),
        condition=np.tile(np.repeat(np.arange(c), n), d).astype(str).tolist(),
        item=np.concatenate(item).astype(str).tolist(),
    )
    scores, human = (np.mean([t[i] for t in truths], axis=0) for i in (0, 1))
    return made, Scores(scores, float(human))


def _crowds(design: BenchmarkDesign, generator: np.random.Generator) -> list[NDArray[np.intp]]:
    """Indices of the humans in each data set; every index occurs."""
    sizes = [design.n_humans + design.more_humans * (d % 2) for d in range(design.n_datasets)]
    if not design.pool:
        ends = np.cumsum(sizes)
        return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]
    drawn = [generator.permutation(design.pool)[:size] for size in sizes]
    numbers = np.unique(np.concatenate(drawn))
    return [np.sort(np.searchsorted(numbers, own)) for own in drawn]


CEILING: dict[str, Any] = {"accuracy": 0.95, "n_images": 80}
DESIGNS: dict[str, dict[str, Any]] = {
    **{f"{n} humans": {"n_humans": n} for n in (3, 4, 6, 10, 40)},
    "3 humans, large spread": {"n_humans": 3, "n_images": 600, "spread": 0.6},
    "10 humans, large spread": {"n_humans": 10, "n_images": 600, "spread": 0.6},
    "same 3 people in 5 data sets": {"n_humans": 3, "n_datasets": 5, "pool": 3},
    "same 6 people in 5 data sets": {"n_humans": 6, "n_datasets": 5, "pool": 6},
    "other 6 people in 5 data sets": {"n_humans": 6, "n_datasets": 5},
    "6 of 10 people in each of 5 data sets": {"n_humans": 6, "n_datasets": 5, "pool": 10},
    "3 and 10 people in 4 data sets": {"n_humans": 3, "n_datasets": 4, "more_humans": 7},
    "same images in 5 conditions, 10 humans": {
        "n_humans": 10, "n_conditions": 5, "n_images": 100, "same_images": True,
    },
    "other images in 5 conditions, 4 humans": {"n_conditions": 5, "n_images": 100},
    "accuracy .95, 4 humans": {"accuracy": 0.95},
    "accuracy .95, 10 humans": {"n_humans": 10, **CEILING},
    "accuracy .95, 40 humans": {"n_humans": 40, **CEILING},
    "accuracy .95, 4 people in 5 x 4 blocks": {"n_datasets": 5, "n_conditions": 4, **CEILING},
    "accuracy .99, 10 humans": {"n_humans": 10, "n_images": 400, "accuracy": 0.99},
}  # fmt: skip
FAMILIES: tuple[Family, ...] = ("probit", "guessing")
THESE = ", these people"


def _benchmarks(
    design: BenchmarkDesign, numbers: range, seed: Any, metric: str, n_replicates: int
) -> Rows:
    """Intervals of agreement with humans, in simulated benchmarks of four models."""
    estimand = get_metric(metric)
    generator = np.random.default_rng(seed)
    truth = population_scores(design, metric=estimand)
    rows = []
    for number in numbers:
        trials, these = simulated_benchmark(design, generator, metric=estimand)
        n = n_replicates
        scores = benchmark_scores(
            trials, metric=estimand, human_ids="shared", n_resamples=n, n_draws=n, rng=generator
        )
        found = _checked_scores(scores, truth, these)
        rows += [{"set": number, **row} for row in found if row["statement"] != f"share{THESE}"]
    return rows


def _checked_scores(scores: al.Result, truth: Scores, these: Scores) -> Rows:
    """Check available intervals, for new humans and for these."""
    drawn = "bootstrap" in scores.data.children
    both: tuple[tuple[str, Population, Scores], ...] = (
        ("", "both", truth), (THESE, "images", these)
    )  # fmt: skip
    rows = []
    for who, population, own in both:
        parts = [
            scores.summary(population, level="overall", intervals=shown)
            for shown in ((None, "all") if drawn else (None,))
        ]
        table = pd.concat(parts, axis=1)
        table = table.loc[:, ~table.columns.duplicated()].set_index("system")
        if drawn and who:
            systems = scores.estimates["system"].values.tolist()
            replicates = pd.DataFrame(scores.draws("bootstrap"), columns=systems)
            ends = replicates[table.index].quantile([0.025, 0.975])
            table[["bootstrap_eti95_lb", "bootstrap_eti95_ub"]] = ends.T
        models = table.loc[scores.observers]
        named = {f"score{who}": (own.models, models)}
        if not who:
            named["human-human"] = (np.array([own.human]), table.loc[["human-human"]])
        for method, kind in (("analytic", "ci"), ("bootstrap", "eti"), ("posterior", "eti")):
            for name, (true, part) in named.items():
                if f"{method}_{kind}95_lb" in part and part[f"{method}_{kind}95_lb"].notna().all():
                    limits = _bounds(part, f"{method}_{kind}95")
                    rows.append(_row(name, true, limits, part["estimate"], method))
        shares = _bounds(models, "ceiling_normalized_ci95")
        rows.append(
            _row(f"share{who}", own.models / own.human, shares, models["ceiling_normalized"])
        )
        apart = al.benchmark.differences(scores, population, intervals="all")
        at = [[scores.observers.index(x) for x in apart[side]] for side in ("system", "other")]
        true, found = own.models[at[0]] - own.models[at[1]], apart["difference"]
        if who:
            rows.append(_row(f"difference{who}", true, _bounds(apart, "pointwise_ci95"), found))
        else:
            wide = _bounds(apart, "simultaneous_ci95")
            rows.append(_row("differences", true, wide, found, together=True))
            rows.append(_ranks(scores, scores.observers, own.models))
    return rows


def _bounds(table: pd.DataFrame, name: str) -> Floats:
    return table[[f"{name}_lb", f"{name}_ub"]].to_numpy(float)


def _row(
    statement: str, truth: Any, bounds: Floats, estimate: Any, method: str = "analytic",
    *, together: bool = False,
) -> dict[str, Any]:  # fmt: skip
    found = checked(truth, bounds[:, 0], bounds[:, 1], estimate, together=together)
    return {"method": method, "statement": statement, **found}


def _ranks(scores: Any, names: list[str], true: Floats) -> dict[str, Any]:
    """Check sets of ranks; tied models have several true ranks."""
    try:
        sets = al.benchmark.ranks(scores).set_index("system").loc[names]
    except ValueError:
        # Models with identical responses have no ranks.
        return {"method": "analytic", "statement": "ranks"}
    value = true.round(9)
    lowest = 1 + (value[None] > value[:, None]).sum(axis=1)
    highest = len(value) - (value[None] < value[:, None]).sum(axis=1)
    held = (sets["rank_lb"] <= lowest) & (sets["rank_ub"] >= highest)
    width = float((sets["rank_ub"] - sets["rank_lb"] + 1).mean())
    row = {"method": "analytic", "statement": "ranks"}
    return row | {"covered": float(held.all()), "width": width}


def _benchmark_table(rows: pd.DataFrame) -> pd.DataFrame:
    """Summarize `BENCHMARKS`, with widths relative to intervals from the true standard error."""
    named = ["scenario", "statement"]
    table = summarized(rows[rows["width"].notna()], [*named, "method"], p_short=short_shares)
    own = rows[rows["method"] == "analytic"].groupby(named)["squared_error"]
    error = pd.Series(np.sqrt(own.mean()), name="error")
    ideal = 2 * table["statement"].map(_deviates) * table.join(error, on=named)["error"]
    return table.assign(relative_width=table["width"] / ideal)


BENCHMARKS = Study(
    "benchmarks",
    _benchmarks,
    {
        f"{family}, {name}": BenchmarkDesign(family, **design)
        for family in FAMILIES
        for name, design in DESIGNS.items()
    },
    ("statement", "method"),
    BATCH,
    options={"metric": ERROR_CONSISTENCY.name, "n_replicates": 0},
    table=_benchmark_table,
)


def _deviates(statement: str) -> float:
    """Half the width of an interval from a known standard error, divided by that error."""
    if statement == "differences":
        known = np.array([np.inf])
        return float(largest_of_differences(known, len(FOUR_MACHINES.ability), CI_PROB)[0])
    return float(special.ndtri((1 + CI_PROB) / 2))


def _cohorts(design: BenchmarkDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    """Intervals of the cohort model with humans, and of the decomposition."""
    generator = np.random.default_rng(seed)
    truth = population_scores(design)
    rows = []
    for number in numbers:
        trials, these = simulated_benchmark(design, generator)
        scores = benchmark_scores(trials, human_ids="shared", n_resamples=0, n_draws=0)
        found = _checked_scores(scores, truth, these)
        kept = ("score", "share", "human-human")
        with warnings.catch_warnings():
            # Chains are short, so that some effective sample sizes are below the limit for a single
            # fit.
            warnings.simplefilter("ignore", SamplingWarning)
            tree = fit_cohort(trials, n_draws=n_draws, rng=generator)
        found = [row for row in found if row["statement"].startswith(kept)]
        rows += [{"set": number, **row} for row in _people(tree, truth, these) + found]
    return rows


def _people(tree: xr.DataTree, truth: Scores, these: Scores) -> Rows:
    """Means over the two conditions."""
    draws = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    rows = []
    for who, end, own in (("", "", truth), (THESE, "_these", these)):
        models = draws[f"error_consistency{end}"].transpose("sample", "entry").values
        models = models.reshape(len(models), len(truth.models), -1).mean(axis=-1)
        humans = draws[f"human_error_consistency{end}"].mean("condition").values[:, None]
        named = (
            ("score", own.models, models),
            ("human-human", own.human, humans),
            ("share", own.models / own.human, models / humans),
        )
        for what, true, values in named:
            bounds = np.quantile(values, [(1 - CI_PROB) / 2, (1 + CI_PROB) / 2], axis=0).T
            rows.append(_row(f"{what}{who}", true, bounds, np.median(values, axis=0), "people"))
    return rows


COHORTS = Study(
    "cohorts",
    _cohorts,
    {
        f"{family}, {n} humans, {named} spread": BenchmarkDesign(
            family, n_humans=n, n_conditions=2, n_images=80, spread=spread
        )
        for family in FAMILIES
        for named, spread in (("moderate", 0.3), ("large", 0.6))
        for n in (4, 10)
    },
    ("statement", "method"),
    BATCH,
    n_datasets=400,
    options={"n_draws": 800},
    means=("bias",),
)


# Kinds of models, resampled for each benchmark.
MODELS: Mapping[str, Callable[[np.random.Generator, int], Observers]] = {
    "varied": lambda g, n: Observers(g.normal(0, 0.3, n), g.uniform(0.4, 1, n)),
    "medium": lambda g, n: Observers(
        follows=np.clip(g.normal(0.75, 0.1, n), 0.1, 1), ability=g.normal(0, 0.2, n)
    ),
    "evenly spaced": lambda g, n: Observers(
        follows=g.permutation(np.linspace(0.3, 1, n)), ability=g.normal(0, 0.2, n)
    ),
    "nearly equal": lambda g, n: Observers(g.normal(0, 0.05, n), g.normal(0.8, 0.02, n)),
    "two kinds": lambda g, n: Observers(
        follows=np.where(np.arange(n) % 2, 0.55, 0.85) + g.normal(0, 0.03, n),
        ability=g.normal(0, 0.1, n),
    ),
    "one apart": lambda g, n: Observers(
        follows=np.append(1.0, g.normal(0.7, 0.02, n)[1:]), ability=g.normal(0, 0.3, n)
    ),
}
EDGES = (0.8, 0.9, 0.975, 1.0)


class OrderDesign(NamedTuple):
    """Kind and number of models, and numbers of images and humans."""

    models: str
    n: int
    design: BenchmarkDesign = BenchmarkDesign()


def order_designs(sizes: Mapping[str, tuple[int, BenchmarkDesign]]) -> dict[str, OrderDesign]:
    """Scenarios of `ORDERS`, for all kinds of models."""
    return {
        f"{kind}, {size}": OrderDesign(kind, *design)
        for kind in MODELS
        for size, design in sizes.items()
    }


def _orders(scenario: OrderDesign, numbers: range, seed: Any) -> Rows:
    """Probabilities that one model is above another, and the true order."""
    models, n, design = scenario
    generator = np.random.default_rng(seed)
    rows = []
    for number in numbers:
        own = MODELS[models](generator, n)
        trials, these = simulated_benchmark(design, generator, own)
        scores = benchmark_scores(trials, human_ids="shared", n_resamples=0, n_draws=0)
        populations: tuple[Population, ...] = ("images", "both")
        for name, true in zip(populations, (these, population_scores(design, own)), strict=True):
            table = al.benchmark.differences(scores, name)
            at = [[scores.observers.index(x) for x in table[side]] for side in ("system", "other")]
            above = true.models[at[0]] > true.models[at[1]]
            rows += [
                {"models": models, "n": n, "population": name, "set": number}
                | {"claimed": max(p, 1 - p), "right": float((p > 0.5) == order)}
                for p, order in zip(table["prob_positive"], above, strict=True)
                # Models with identical responses: no claim.
                if np.isfinite(p)
            ]
    return rows


ORDERS = Study(
    "orders",
    _orders,
    order_designs(
        {
            "2 models": (2, BenchmarkDesign()),
            "8 models": (8, BenchmarkDesign()),
            "20 models": (20, BenchmarkDesign(n_images=320)),
            "8 models, accuracy .95": (8, BenchmarkDesign(accuracy=0.95, n_humans=10)),
            "8 models, guessing": (8, BenchmarkDesign("guessing", n_humans=6)),
        }
    ),
    size=BATCH,
    n_datasets=100,
    table=functools.partial(of_claims, edges=EDGES),
)
