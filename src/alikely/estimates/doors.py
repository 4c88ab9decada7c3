"""The skeleton of a front door: validate, count, estimate, resample, draw, assemble.

The doors name what differs: how their kind of table is counted, what stands beside the estimate,
and how the posterior is drawn.
"""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.intervals import CiKind, check_interval
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import options, resolve
from alikely._base.size import FLOAT32, check_memory, check_total
from alikely._base.steps import LOG, LONG, duration, is_silent, step
from alikely.data.pairs import Pairs
from alikely.data.sizes import n_entries
from alikely.data.summaries import DATA_SUMMARY, data_summary, missing_note_of
from alikely.data.tables import By
from alikely.data.trials import Trials
from alikely.estimates.clusters import cluster_remarks
from alikely.estimates.remarks import joined
from alikely.estimates.result import Result, fit_groups
from alikely.inference.cell_limits import WITHOUT_DRAWS
from alikely.inference.influence import estimate, of_items
from alikely.inference.resampling import bootstrap
from alikely.inference.sampling import Sampler, check_sampler
from alikely.metrics import Metric
from alikely.metrics.cell_priors import Prior, check_prior, prior_text

__all__ = [
    "OF_CELLS",
    "Ask",
    "Drawn",
    "Found",
    "Kind",
    "analyse",
    "check_numbers",
    "kept_prior",
    "model_name",
    "require_cells",
]


# Of more pairs tables take minutes, and replicates gigabytes.
MANY = 20_000
MATRIX = (
    "{:,} pairs: al.matrix(trials) has estimates, errors, limits and tests of so many in seconds"
)
# What counts, labels and estimates of an entry take, and how often null draws are held at once.
BYTES_OF_ENTRY = 600
NULL_COPIES = 2
# Numbers to work out, from which on it is tried how long they take, and what an entry without any
# counts; on how many entries it is tried, and the seconds after which the first of these suffice.
MUCH, OF_ENTRY, TRIED, PLENTY = 50_000_000, 100, (20, 200), 2.0
# What draws are made of whose posterior has the prior on the cells of a pair.
OF_CELLS = ("cells", "options", "readings", "trials")
# A model that its user gave no name.
OWN = "own"


@dataclasses.dataclass(frozen=True)
class Ask:
    """What a user asks of a front door; see `alikely.compare`."""

    pairs: Pairs = "all"
    by: By = "condition"
    no_response: Literal["error", "drop"] = "error"
    n_resamples: int = dataclasses.field(default_factory=lambda: options.n_resamples)
    n_draws: int = dataclasses.field(default_factory=lambda: options.n_draws)
    n_null: int = 10_000
    bayes_factor: bool = True
    sampler: Sampler = "auto"
    prior: Prior | None = None
    cluster: str | None = None
    ci_prob: float = dataclasses.field(default_factory=lambda: options.ci_prob)
    ci_kind: CiKind = dataclasses.field(default_factory=lambda: options.ci_kind)
    rng: RandomState = None
    # Last: below it the name is the field's.
    options: dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_interval(self.ci_prob, self.ci_kind)
        check_numbers(n_resamples=self.n_resamples, n_draws=self.n_draws, n_null=self.n_null)
        check_sampler(self.sampler)
        check_prior(self.prior)
        if self.options.get("include"):
            from alikely.inference.complete import check_include

            check_include(self.options["include"])
        if (priors := self.options.get("priors")) is not None:
            # The models' room imports PyMC: only when needed.
            from alikely.models._given_priors import check_priors

            check_priors(priors)


def replicates_of(metric: Metric, n_resamples: int | None) -> int:
    """Number of bootstrap replicates: by default none where the bootstrap is known to be wrong."""
    if n_resamples is None and "bootstrap" in metric.unreliable:
        return 0
    return resolve("n_resamples", n_resamples)


class Found(NamedTuple):
    """What stands beside the estimates: variables of theirs, and groups of the result."""

    variables: Mapping[str, Any]
    groups: Mapping[str, xr.Dataset] = {}


class Drawn(NamedTuple):
    """Groups of the result that the posterior gives, and what its reader should know, by entry."""

    groups: Mapping[str, xr.Dataset]
    remarks: NDArray[Any] | None = None
    fits: Mapping[str, xr.DataTree] = {}
    variables: Mapping[str, Any] = {}
    model: str = ""


@dataclasses.dataclass(frozen=True)
class Kind:
    """What differs between tables of correctness, of labels, of rows and of margins."""

    count: Callable[[Any, Metric, Ask], xr.Dataset]
    beside: Callable[[xr.Dataset, Metric, xr.Dataset, Ask, np.random.SeedSequence], Found]
    draw: Callable[[xr.Dataset, Metric, xr.Dataset, Ask, np.random.SeedSequence], Drawn]
    model: Callable[[Metric, Ask], str]
    options: tuple[str, ...] = ()
    cluster: Callable[[xr.Dataset, Ask], str | None] = lambda _, ask: ask.cluster
    closed: Callable[[xr.Dataset, Metric, Ask], bool] = lambda *_: False


def analyse(trials: Any, metric: Metric, kind: Kind, ask: Ask) -> Result:
    """Estimates of all pairs by one metric, with intervals of every school that it has."""
    seed = seed_sequence(ask.rng)
    bootstrap_seed, posterior_seed, other_seed = seed.spawn(3)
    of = metric.label.lower()
    require_cells(metric, ask.prior)
    if (n_asked := _check_size(trials, metric, ask)) > MANY:
        warnings.warn(MATRIX.format(n_asked), stacklevel=3)
    with step(f"{of}: counts and estimates"):
        table = kind.count(trials, metric, ask)
        cluster = kind.cluster(table, ask)
        _foretell(table, metric, kind, ask, cluster)
        estimates = estimate(table, metric, cluster)
        _check_clusters(table, cluster)
    with step(f"{of}: what stands beside {table.sizes['pair']:,} estimates"):
        found = kind.beside(table, metric, estimates, ask, other_seed)
    groups = {"observed_data": table, **found.groups}
    told: dict[str, str] = {}
    if isinstance(trials, Trials):
        groups[DATA_SUMMARY] = data_summary(trials.data)
        told["missing_note"] = _missing_note(trials, table, metric, ask)
    estimates = estimates.assign(found.variables)
    remarks = cluster_remarks(table, metric, estimates, cluster)
    if remarks.any():
        before = [estimates["remark"].values] if "remark" in estimates else []
        estimates["remark"] = ("pair", np.array(joined([*before, remarks]), dtype=object))
    if ask.n_resamples:
        with step(f"{of}: {ask.n_resamples:,} bootstrap replicates"):
            replicates = bootstrap(
                table, metric, ask.n_resamples, cluster=cluster, rng=bootstrap_seed
            )
        groups["bootstrap"] = replicates.to_dataset()
    if ask.n_draws and metric.draws:
        with step(f"{of}: {ask.n_draws:,} posterior draws"):
            drawn = kind.draw(table, metric, estimates, ask, posterior_seed)
        groups |= {name: group for name, group in drawn.groups.items() if name not in groups}
        estimates = estimates.assign(drawn.variables)
        if drawn.remarks is not None:
            estimates["posterior_remark"] = ("pair", drawn.remarks)
        groups |= fit_groups(drawn.fits)
        if drawn.fits:
            told["priors"] = _priors(drawn.fits)
        if drawn.model:
            told["model"] = drawn.model
    if not ask.n_draws and kind.closed(table, metric, ask):
        told["posterior_limits"] = WITHOUT_DRAWS
    elif not ask.n_draws and ask.prior is not None:
        raise ValueError(
            "prior has no posterior to be of: n_draws=0 leaves equal-tailed limits of error "
            "consistency alone, under a Dirichlet prior and for items shown once; give n_draws=4000"
        )
    tree = xr.DataTree.from_dict({**groups, "estimates": estimates})
    told["cluster"] = cluster or ""
    tree.attrs = _attributes(tree, metric, kind.model(metric, ask), ask, seed) | told
    return Result(tree)


def _check_clusters(table: xr.Dataset, cluster: str | None) -> None:
    """Refuse clusters of which there is one (`ValueError`)."""
    if of_items(table, cluster) and len(set(table[cluster].values.tolist())) < 2:
        raise ValueError(
            f"cluster={cluster!r} needs at least two clusters, and all trials are of "
            f"{str(table[cluster].values[0])!r}; leave cluster out"
        )


def require_cells(metric: Metric, prior: Prior | None) -> None:
    """Refuse a prior on cells for a posterior that has none (`ValueError`)."""
    if prior is not None and metric.draws not in OF_CELLS:
        raise ValueError(
            f"prior is of the four cells of a pair, and the posterior of {metric.name} has none; "
            "leave it out"
        )


def _missing_note(trials: Trials, table: xr.Dataset, metric: Metric, ask: Ask) -> str:
    """Of missing responses of those who are compared; of all, where rows are of groups."""
    compared = np.unique([table[f"observer_{side}"].values.astype(str) for side in "ab"])
    named = compared.tolist() if np.isin(compared, trials.observers).all() else None
    as_class = ask.no_response == "error" and metric.counts == "readings"
    treated = "class" if as_class else ask.no_response
    return missing_note_of(trials.data, treated, observers=named)


def _check_size(trials: Any, metric: Metric, ask: Ask) -> int:
    """Refuse more than memory holds before anything is counted; other tables are checked later."""
    if not isinstance(trials, Trials) or metric.counts == "margins":
        return 0
    n = n_entries(trials, ask.pairs, ask.by)
    n_null = ask.n_null if metric.counts == "correctness" else 0
    kept = ask.n_resamples + ask.n_draws * (2 if metric.counts == "correctness" else 1)
    most = max(kept, NULL_COPIES * n_null)
    check_memory(
        n * (BYTES_OF_ENTRY + FLOAT32 * most),
        f"{n:,} pairs x {most:,} replicates and draws",
        "choose pairs=, n_resamples=0, n_draws=0 and n_null=0, or al.matrix",
    )
    return n


def _foretell(table: xr.Dataset, metric: Metric, kind: Kind, ask: Ask, cluster: str | None) -> None:
    """Tell the log how long the work will take, where that is minutes: by a few of the entries."""
    n = table.sizes["pair"]
    numbers = OF_ENTRY + ask.n_resamples + ask.n_draws + ask.n_null
    in_pieces = ask.sampler == "nuts" or metric.counts == "margins" or "folder" in kind.options
    if in_pieces or is_silent() or n * numbers < MUCH or n < 2 * TRIED[-1]:
        return
    tried, spent, each = 0, 0.0, 0.0
    for size in TRIED:
        part = table.isel(pair=np.linspace(0, n - 1, size).astype(int))
        seconds = _tried(part, metric, kind, ask, cluster)
        # What all entries share, such as the drawing of trials, is in both.
        each = max(seconds - spent, 0.0) / (size - tried)
        tried, spent = size, seconds
        if seconds > PLENTY:
            break
    if (whole := spent + each * (n - tried)) > LONG:
        LOG.warning("%s: %s pairs, about %s", metric.label, f"{n:,}", duration(whole))


def _tried(table: xr.Dataset, metric: Metric, kind: Kind, ask: Ask, cluster: str | None) -> float:
    """Seconds that a table takes."""
    seed = np.random.SeedSequence(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they come when it is done in earnest
        began = time.perf_counter()
        estimates = estimate(table, metric, cluster)
        kind.beside(table, metric, estimates, ask, seed)
        if ask.n_resamples:
            bootstrap(table, metric, ask.n_resamples, cluster=cluster, rng=seed)
        if ask.n_draws and metric.draws:
            kind.draw(table, metric, estimates, ask, seed)
        return time.perf_counter() - began


def model_name(model: Any) -> str:
    """How a result calls the model behind its posterior."""
    return model if isinstance(model, str) else model.name or OWN


def _priors(fits: Mapping[str, xr.DataTree]) -> str:
    """Texts of the priors of all models that were fitted."""
    texts: dict[str, str] = {}
    for tree in fits.values():
        texts |= json.loads(tree.attrs["priors"])
    return json.dumps(texts)


def check_numbers(**numbers: int) -> None:
    """Refuse numbers of draws that are negative or no whole numbers (`ValueError`)."""
    for name, number in numbers.items():
        if not isinstance(number, int | np.integer) or isinstance(number, bool):
            raise ValueError(f"{name} must be a whole number, 0 for none; got {number!r}")
        if number < 0:
            raise ValueError(f"{name} must be at least 1, or 0 for none; got {number}")
    check_total(numbers)


def kept_prior(metric: Metric, prior: Prior | None) -> str:
    """The prior as a result keeps it; empty where the posterior has one of another kind."""
    own = prior is not None or metric.draws in ("cells", "options")
    return prior_text(prior) if own else ""


def _attributes(
    tree: xr.DataTree, metric: Metric, model: str, ask: Ask, seed: np.random.SeedSequence
) -> dict[str, Any]:
    """What a result remembers of its making."""
    drawn = "posterior" in tree.children
    return {
        "metric": metric.name,
        "metric_module": metric.module,
        "model": model,
        "sampler": tree["posterior"].attrs["sampler"] if drawn else "none",
        "ci_prob": ask.ci_prob,
        "ci_kind": ask.ci_kind,
        "seed": str(seed.entropy),
        "n_null": ask.n_null,
        "prior": kept_prior(metric, ask.prior),
        "alikely_version": alikely.__version__,
        **metric.options,
    }
