"""Coverage with clusters of items, by their number, sizes and intraclass correlation."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special, stats

from alikely._base.arrays import Floats, normal_nodes
from alikely._base.settings import options
from alikely.benchmark.groups import group_scores
from alikely.benchmark.scores import benchmark_scores
from alikely.data.trials import Trials
from alikely.estimates.contrasts import difference
from alikely.estimates.matrices import pairwise_matrix
from alikely.estimates.pairs import agreement, decision_margin_consistency, error_consistency
from alikely.metrics.margins import m_afc_probability
from studies.harness import Rows, Study, checked

N_ITEMS, N_HUMANS, N_MODELS = 300, 4, 2
ITEMS = [f"i{k}" for k in range(N_ITEMS)]
KINDS = ["human"] * N_HUMANS + ["model"] * N_MODELS
# Correlations of evidence with the strength of items, and SD of thresholds between humans.
LOADING = np.where(np.array(KINDS) == "human", 0.8, 0.6)
LEVEL, SPREAD = special.ndtri(0.75), 0.3
# Margins: observers of one group, alternatives of the task, correlation with the strengths.
N_OBSERVERS, ALTERNATIVES, RHO = 10, 16, 0.6
# Parts of notes that call the interval of an estimate unreliable.
EXCUSES = "clusters of|do not vary|effective clusters"
# Observers whose pairs are examined together for a design effect, and by themselves.
POOLS = {"ten observers": 10, "two observers": 2}


class Clusters(NamedTuple):
    """Number and sizes of clusters, and the intraclass correlation of the strength of items."""

    n_clusters: int
    sizes: str
    icc: float

    def labels(self) -> np.ndarray:
        """Cluster of each item."""
        rank = np.arange(1, self.n_clusters + 1)
        weight = 1 / rank if self.sizes == "zipf" else np.ones(self.n_clusters)
        edges = np.round(N_ITEMS * np.cumsum(weight) / weight.sum())
        return np.searchsorted(edges, np.arange(N_ITEMS), side="right")

    def normal(self, rng: np.random.Generator, n: int = 1) -> Floats:
        """Standard normal numbers of items, correlated within clusters."""
        of_cluster = rng.normal(size=(n, self.n_clusters))[:, self.labels()]
        own = rng.normal(size=(n, N_ITEMS))
        return np.asarray(np.sqrt(self.icc) * of_cluster + np.sqrt(1 - self.icc) * own)


def consistency(a: Any, b: Any, correlation: float) -> Floats:
    """Error consistency of two thresholds of correlated normal evidence."""
    a, b = np.broadcast_arrays(a, b)
    normal = stats.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    both = normal.cdf(np.stack([a, b], axis=-1))
    p, q = special.ndtr(a), special.ndtr(b)
    chance = p * q + (1 - p) * (1 - q)
    return np.asarray((1 + 2 * both - p - q - chance) / (1 - chance))


def _true(kinds: str, spread: float) -> float:
    """Mean error consistency of a human with a model, or of two humans, over their thresholds."""
    node, weight = normal_nodes(15)
    at = LEVEL + spread * node
    if kinds == "model":
        return float(weight @ consistency(at, LEVEL, 0.48))
    return float(weight @ consistency(at[:, None], at, 0.64) @ weight)


def _true_margins() -> float:
    """Correlation of margins with proportions correct of these observers."""
    node, weight = normal_nodes(101)
    p = m_afc_probability(1.6 + 1.6 * node, ALTERNATIVES)
    noise = weight @ (p * (1 - p)) / N_OBSERVERS
    return float(RHO * (weight @ (p * node)) / np.sqrt(weight @ p**2 - (weight @ p) ** 2 + noise))


def _trials(design: Clusters, rng: np.random.Generator, spread: float) -> Trials:
    """Correctness of humans and models; all share the strength of items."""
    loading = LOADING[:, None]
    strength = design.normal(rng)
    evidence = loading * strength + np.sqrt(1 - loading**2) * rng.normal(size=(len(KINDS), N_ITEMS))
    level = np.full((len(KINDS), 1), LEVEL)
    level[:N_HUMANS] += spread * rng.normal(size=(N_HUMANS, 1))
    return _of(design, evidence < level, KINDS)


def _row(table: pd.DataFrame, quantity: str, truth: Any) -> dict[str, Any]:
    """Check the first row of a table, and whether its note calls the interval unreliable."""
    row = table.iloc[0]
    lower, upper = (row[table.filter(regex=f"95_{end}$").columns[0]] for end in ("lb", "ub"))
    noted = re.search(EXCUSES, str(row["note"])) is not None
    without = not np.isfinite(upper - lower)
    return {"quantity": quantity, "noted": float(noted or without), "without": float(without)} | (
        checked(truth, lower, upper) if not without else {"covered": 0.0, "width": np.nan}
    )


def _sets(simulated: Any, settings: Any, design: Clusters, numbers: range, seed: Any) -> Rows:
    with options(**settings):
        rows = [simulated(design, np.random.default_rng(own)) for own in seed.spawn(len(numbers))]
    return [design._asdict() | row for own in rows for row in own]


def _intervals(design: Clusters, rng: np.random.Generator) -> Rows:
    return [*_of_pairs(design, rng), *_of_groups(design, rng), *_of_margins(design, rng)]


def _of_pairs(design: Clusters, rng: np.random.Generator) -> Rows:
    """Check a pair, a difference, rater agreement and limits of a matrix."""
    trials = _trials(design, rng, 0.0)
    bare: dict[str, Any] = {"cluster": "unit", "n_resamples": 0, "n_draws": 0}
    result = error_consistency(
        trials, [("observer_0", "observer_4"), ("observer_0", "observer_5")], **bare
    )
    apart = difference(result, "observer_0 x observer_4", "observer_0 x observer_5")
    kappa = agreement(_ratings(design, trials), pairs=[("observer_0", "observer_1")], **bare)
    matrix = pairwise_matrix(trials, cluster="unit", intervals=["analytic"], tests=False)
    humans = matrix.summary().set_index(["observer_a", "observer_b"]).loc[["observer_0"]]
    return [
        _row(result.summary(), "EC", _true("model", 0.0)),
        _row(apart, "difference", 0.0),
        _row(kappa.summary(), "kappa", _true("human", 0.0)),
        _row(humans.loc[[("observer_0", "observer_1")]], "matrix", _true("human", 0.0)),
    ]


def _of_groups(design: Clusters, rng: np.random.Generator) -> Rows:
    """Check scores of a benchmark and of groups."""
    fixed = _trials(design, rng, 0.0)
    scores = benchmark_scores(fixed, cluster="unit", n_draws=0)
    found = group_scores(fixed, cluster="unit", n_resamples=0, n_draws=0).summary()
    drawn = benchmark_scores(_trials(design, rng, SPREAD), cluster="unit", n_draws=0)
    return [
        _row(scores.summary("images"), "score, new items", _true("model", 0.0)),
        _row(drawn.summary("both"), "score, new items and humans", _true("model", SPREAD)),
        _row(found, "within a group", _true("human", 0.0)),
    ]


def _of_margins(design: Clusters, rng: np.random.Generator) -> Rows:
    """Check decision margins and proportions correct; the strengths of both are clustered."""
    strength, other = design.normal(rng, 2)
    trials = _responses(design, strength, rng)
    margin = RHO * strength + np.sqrt(1 - RHO**2) * other
    table = pd.DataFrame({"observer": "net", "item": ITEMS, "margin": margin})
    result = decision_margin_consistency(trials, table, cluster="unit", n_resamples=0, n_draws=0)
    return [_row(result.summary(), "margins", _true_margins())]


CLUSTERS = Study(
    "clusters",
    functools.partial(_sets, _intervals, {"n_null": 0}),
    {
        f"{n} {sizes}, {icc:g}": Clusters(n, sizes, icc)
        for n, sizes, icc in itertools.product((5, 10, 25, 100), ("equal", "zipf"), (0.0, 0.3, 0.8))
    },
    ("quantity",),
    n_datasets=400,
    means=("noted", "without"),
)


def _independent(design: Clusters, rng: np.random.Generator) -> Rows:
    """Whether the test rejects for two observers whose items have unrelated strengths."""
    evidence = 0.8 * design.normal(rng, 2) + 0.6 * rng.normal(size=(2, N_ITEMS))
    result = error_consistency(_of(design, evidence < LEVEL), cluster="unit", rng=rng)
    return [{"quantity": "EC", "found": result.estimates["p_null"].item() < 0.05}]


def _unclustered(design: Clusters, rng: np.random.Generator) -> Rows:
    """Whether a note names the clusters, for each kind of metric and number of observers."""
    strength, rows = design.normal(rng), []
    for name, n in POOLS.items():
        evidence = 0.8 * strength + 0.6 * rng.normal(size=(n, N_ITEMS))
        trials = _of(design, evidence < LEVEL)
        margins = RHO * strength + np.sqrt(1 - RHO**2) * design.normal(rng, n - 1)
        table = pd.DataFrame(margins.T, columns=[f"net_{k}" for k in range(n - 1)])
        table = table.assign(item=ITEMS).melt("item", var_name="observer", value_name="margin")
        group = _responses(design, strength, rng)
        results = {
            "EC": error_consistency(trials), "kappa": agreement(_ratings(design, trials)),
            "margins": decision_margin_consistency(group, table),
        }  # fmt: skip
        rows += [
            {
                "quantity": f"{metric}, {name}",
                "found": float(result.summary()["note"].str.contains("correlated").any()),
                "estimate": float(result.estimates["estimate"].values.flat[0]),
            }
            for metric, result in results.items()
        ]
    return rows


def _of(design: Clusters, correct: np.ndarray, kinds: Sequence[str] | None = None) -> Trials:
    """Correctness of humans or observers of these kinds, with the cluster of each item."""
    return Trials.from_correct(
        correct.astype(int), kind=kinds or ["human"] * len(correct), item=ITEMS,
        item_columns={"unit": design.labels().tolist()},
    )  # fmt: skip


def _ratings(design: Clusters, trials: Trials) -> Trials:
    """Correctness as ratings of two classes."""
    return Trials.from_arrays(
        trials.data["correct"].values, np.ones(N_ITEMS, int), classes=[0, 1],
        item_columns={"unit": design.labels().tolist()},
    )  # fmt: skip


def _responses(design: Clusters, strength: Floats, rng: np.random.Generator) -> Trials:
    """Responses of a group of humans to items with these strengths."""
    p = m_afc_probability(1.6 + 1.6 * strength, ALTERNATIVES)
    return _of(design, rng.random((N_OBSERVERS, N_ITEMS)) < p)


def _rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Proportion of data sets with a rejection or a note, and the design effect of estimates."""
    by = rows.groupby(["quantity", "n_clusters", "sizes", "icc"], sort=False)
    table = by["found"].agg(["size", "mean"]).set_axis(["n_datasets", "found"], axis=1)
    if "estimate" in rows:
        variance = by["estimate"].var()
        # Without correlation, clusters change no variance: its mean over all of these cells.
        alone = variance[variance.index.get_level_values("icc") == 0].groupby("quantity").mean()
        effect = variance / alone.reindex(variance.index.get_level_values("quantity")).to_numpy()
        table = table.assign(design_effect=effect)
    return table.reset_index()


SEVERAL = {name: own for name, own in CLUSTERS.scenarios.items() if own.n_clusters > 5}
ANALYTIC = {"n_resamples": 0, "n_draws": 0}
INDEPENDENCE = Study(
    "independence", functools.partial(_sets, _independent, ANALYTIC), SEVERAL,
    n_datasets=400, table=_rates,
)  # fmt: skip
CLUSTER_NOTES = Study(
    "cluster notes", functools.partial(_sets, _unclustered, {**ANALYTIC, "n_null": 0}), SEVERAL,
    n_datasets=50, table=_rates,
)  # fmt: skip
