"""Analyses of pairs of observers: design, and steps from trials to a result."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
from collections.abc import Callable, Mapping, Set
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr

import alikely
from alikely._base.intervals import CiKind, check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options
from alikely._base.size import FLOAT32, check_memory, check_total
from alikely._base.steps import step
from alikely.data.repeats import recurring
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import By, Pairs, joint_correctness, n_entries
from alikely.data.trials import Trials
from alikely.estimates.notes import cluster_notes, joined, require_clusters, unmatched_notes
from alikely.estimates.pair_result import LABELS
from alikely.estimates.result import CHAINS, Result
from alikely.inference.cell_limits import WITHOUT_DRAWS
from alikely.inference.influence import estimate, of_items
from alikely.inference.resampling import bootstrap
from alikely.inference.sampling import Sampler, check_sampler
from alikely.margins.moments import FEWEST_CLASSES
from alikely.metrics import Metric
from alikely.metrics.consistency import Prior, check_prior, prior_text

# With more pairs, tables take minutes and replicates gigabytes.
MANY = 20_000
MATRIX = "{:,} pairs may take minutes; al.pairwise_matrix(trials) estimates all pairs in seconds"
# Bytes of counts, labels and estimates of an entry, and copies of null draws in memory.
BYTES_OF_ENTRY = 600
NULL_COPIES = 2
# Draws whose posterior uses the prior on the cells of a pair.
OF_CELLS = ("cells", "options", "ratings", "trials")
# Value of cluster: every response is a separate trial, even to a repeated item.
AS_TRIALS = "trial"
# Name of a custom generative model without a name.
OWN = "own"

# Groups of a result by name; variables of "estimates" are added to existing ones.
Groups = dict[str, xr.Dataset]


@dataclasses.dataclass(frozen=True)
class Design:
    """Options of an analysis; see `compare`."""

    pairs: Pairs
    by: By
    no_response: Literal["error", "drop"]
    n_resamples: int
    n_draws: int
    cluster: str | None
    ci_prob: float
    rng: RandomState
    # Options of the kind of metric.
    options: Mapping[str, Any]
    sampler: Sampler = "auto"
    prior: Prior | None = None
    n_null: int = dataclasses.field(default_factory=lambda: options.n_null)
    ci_kind: CiKind = dataclasses.field(default_factory=lambda: options.ci_kind)

    def __post_init__(self) -> None:
        check_interval(self.ci_prob, self.ci_kind)
        check_numbers(n_resamples=self.n_resamples, n_draws=self.n_draws)
        check_sampler(self.sampler)
        check_prior(self.prior)

    def unit(self, table: xr.Dataset) -> str | None:
        """Return the trial coordinate of the sampling unit."""
        return sampling_unit(table, self.cluster)


def sampling_unit(table: xr.Dataset, cluster: str | None) -> str | None:
    """Return the trial coordinate of the sampling unit: cluster, repeated items or classes."""
    if cluster is not None:
        return None if cluster == AS_TRIALS and "margins" not in table else cluster
    if "margins" in table:
        return _classes(table)
    if "inclusion" in table:
        # A plan samples the images of each condition separately.
        return None
    attrs = table.attrs
    again = attrs.get("recurring") == "one item" or attrs.get("repeats") == "crossed"
    return "item" if again else None


def _classes(table: xr.Dataset) -> str | None:
    """Classes as clusters, if all groups of trials have enough of them."""
    classes = pd.Series(table["true_class"].values)
    if (classes < 0).any():
        return None
    enough = classes.groupby(table["trial_group"].values).nunique() >= FEWEST_CLASSES
    return "true_class" if enough.all() else None


@dataclasses.dataclass(frozen=True)
class Kind:
    """Functions for metrics of one kind: counts, further columns and posterior draws."""

    count: Callable[[Any, Metric, Design], xr.Dataset]
    alongside: Callable[[xr.Dataset, Metric, xr.Dataset, Design, np.random.SeedSequence], Groups]
    draw: Callable[[xr.Dataset, Metric, xr.Dataset, Design, np.random.SeedSequence], Groups]
    model: Callable[[Design], str]
    options: Set[str] = frozenset()
    # Whether posterior limits of every pair can be computed from counts.
    closed: Callable[[xr.Dataset, Metric, Design], bool] = lambda *_: False


def analyze(trials: Any, metric: Metric, kind: Kind, design: Design) -> Result:
    """Estimate a metric for all pairs, with intervals by every method that it has."""
    seed = seed_sequence(design.rng)
    bootstrap_seed, posterior_seed, other_seed = seed.spawn(3)
    of = metric.label.lower()
    require_cells(metric, design.prior)
    if (n_pairs := _check_size(trials, metric, design)) > MANY:
        package = os.path.dirname(alikely.__file__)
        warnings.warn(MATRIX.format(n_pairs), stacklevel=2, skip_file_prefixes=(package,))
    with step(f"{of}: counts and estimates"):
        table = kind.count(trials, metric, design)
        cluster = design.unit(table)
        estimates = estimate(table, metric, cluster)
        if cluster is not None and of_items(table, cluster):
            require_clusters(table, cluster)
    groups = {"observed_data": table}
    attrs = {"model": kind.model(design), "cluster": cluster or ""}

    def add(found: Groups) -> None:
        nonlocal estimates
        variables = found.pop("estimates", xr.Dataset())
        estimates = estimates.assign(variables.data_vars)
        attrs.update(variables.attrs)
        groups.update({name: group for name, group in found.items() if name not in groups})

    with step(f"{of}: additional columns for {table.sizes['pair']:,} estimates"):
        add(kind.alongside(table, metric, estimates, design, other_seed))
    if isinstance(trials, Trials):
        groups[DATA_SUMMARY] = data_summary(trials.data)
        # Missing responses of the compared observers, or of all if rows are groups.
        compared = np.unique([table[f"observer_{side}"].values.astype(str) for side in "ab"])
        named = compared.tolist() if np.isin(compared, trials.observers).all() else None
        as_class = design.no_response == "error" and metric.counts == "ratings"
        treated = "class" if as_class else design.no_response
        attrs["missing_note"] = missing_note_of(trials.data, treated, observers=named)
    notes = [
        cluster_notes(table, metric, estimates, cluster),
        unmatched_notes(table, metric),
    ]
    if any(own.any() for own in notes):
        before = [estimates["note"].values] if "note" in estimates else []
        estimates["note"] = ("pair", np.array(joined([*before, *notes]), dtype=object))
    if design.n_resamples:
        with step(f"{of}: {design.n_resamples:,} bootstrap replicates"):
            replicates = bootstrap(
                table, metric, design.n_resamples, cluster=cluster, rng=bootstrap_seed
            )
        if "n_clusters" in estimates:
            # Resampling one cluster gives no variance.
            replicates = replicates.where(estimates["n_clusters"] > 1)
        groups["bootstrap"] = replicates.to_dataset()
    if design.n_draws and metric.draws:
        with step(f"{of}: {design.n_draws:,} posterior draws"):
            add(kind.draw(table, metric, estimates, design, posterior_seed))
        texts = [group.attrs["priors"] for group in groups.values() if "label" in group.attrs]
        if texts:
            attrs["priors"] = json.dumps(
                {k: v for text in texts for k, v in json.loads(text).items()}
            )
    if not design.n_draws and kind.closed(table, metric, design):
        attrs["posterior_limits"] = WITHOUT_DRAWS
    elif not design.n_draws and design.prior is not None:
        raise ValueError(
            "prior has no effect with n_draws=0, except on equal-tailed limits of error "
            "consistency with a Dirichlet prior and items shown once; give n_draws=4000"
        )
    labels = {name: ("pair", table[name].values) for name in LABELS}
    for name in {"bootstrap", "posterior"} & groups.keys():
        # For selection of entries by observer and condition in ArviZ.
        groups[name] = groups[name].assign_coords(labels)
    tree = xr.DataTree.from_dict({**groups, "estimates": estimates})
    tree.attrs = {
        "kind": "pair",
        "metric": metric.name,
        "metric_module": metric.module,
        "sampler": groups["posterior"].attrs["sampler"] if "posterior" in groups else "none",
        "ci_prob": design.ci_prob,
        "ci_kind": design.ci_kind,
        "seed": str(seed.entropy),
        "n_null": design.n_null,
        "prior": kept_prior(metric, design.prior),
        "alikely_version": alikely.__version__,
        **metric.options,
        **attrs,
    }
    return Result(tree)


def counted(
    trials: Any, metric: Metric, design: Design, *, once: bool = False, **how: Any
) -> xr.Dataset:
    """Count trials, or return a given table of counts; `once` counts one response per item."""
    if isinstance(trials, Trials):
        if design.cluster is None and (odd := recurring(trials.data)[2]):
            raise ValueError(
                f"{odd} has several truths, unlike most other labels; give it one truth, or "
                "cluster='trial' if labels denote different items in each condition"
            )
        table = joint_correctness(
            trials,
            design.pairs,
            design.by,
            design.no_response,
            directed=not metric.symmetric,
            repeats="paired" if once or design.cluster == AS_TRIALS else "crossed",
            **how,
        )
    elif isinstance(trials, xr.Dataset) and "cells" in trials:
        table = trials
    else:
        raise TypeError(
            f"expected Trials or a count table, got {type(trials).__name__}; make one with "
            "Trials.from_table, Trials.read or data.from_counts"
        )
    if once and table.attrs.get("repeats") == "paired" and design.cluster != AS_TRIALS:
        raise ValueError(
            f"items are repeated, and {metric.label} needs one response to an item; select one "
            "with trials.select(repeat=...), or give cluster='trial' to treat all as independent"
        )
    if how.get("labels") in (True, "ratings") and "response" not in table:
        raise ValueError(
            f"this table has correctness only, and {metric.label} compares classes; make it "
            "with joint_correctness(..., labels=True), or use error_consistency"
        )
    return table


def require_cells(metric: Metric, prior: Prior | None) -> None:
    """Check that the posterior uses a prior on cells (`ValueError`)."""
    if prior is not None and metric.draws not in OF_CELLS:
        raise ValueError(
            f"prior is for the four cells of a pair, but the posterior of {metric.name} has no "
            "such cells; leave it out"
        )


def _check_size(trials: Any, metric: Metric, design: Design) -> int:
    """Check that the analysis fits into memory, before anything is counted."""
    if not isinstance(trials, Trials) or metric.counts == "margins":
        return 0
    n = n_entries(trials, design.pairs, design.by)
    n_null = design.n_null if metric.counts == "correctness" else 0
    kept = design.n_resamples + design.n_draws * (2 if metric.counts == "correctness" else 1)
    most = max(kept, NULL_COPIES * n_null)
    check_memory(
        n * (BYTES_OF_ENTRY + FLOAT32 * most),
        f"{n:,} pairs x {most:,} replicates and draws",
        "choose fewer pairs with pairs=, set n_resamples=0 and n_draws=0 within "
        "al.options(n_null=0), or use al.pairwise_matrix",
    )
    return n


def model_name(model: Any) -> str:
    """Name of the generative model in a result."""
    return model if isinstance(model, str) else model.name or OWN


def check_numbers(**numbers: int) -> None:
    """Raise `ValueError` unless numbers of draws are non-negative integers."""
    for name, number in numbers.items():
        if not isinstance(number, int | np.integer) or isinstance(number, bool):
            raise ValueError(f"{name} must be a whole number, 0 for none; got {number!r}")
        if number < 0:
            raise ValueError(f"{name} must be at least 1, or 0 for none; got {number}")
    check_total(numbers)


def kept_prior(metric: Metric, prior: Prior | None) -> str:
    """The prior as saved in a result; empty if the posterior has a different kind of prior."""
    own = prior is not None or metric.draws in ("cells", "options")
    return prior_text(prior) if own else ""


def chain_groups(tree: xr.DataTree) -> Groups:
    """The MCMC fit of all pairs, as groups of a result."""
    place = f"{CHAINS}/fit_0"
    groups = {f"{place}/{name}": node.to_dataset() for name, node in tree.children.items()}
    return {place: xr.Dataset(attrs={**tree.attrs, "label": "all pairs"})} | groups
