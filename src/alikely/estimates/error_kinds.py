"""What differs between doors: tables of the labels of joint errors, and of rows of errors."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.notes import note
from alikely.data.columns import SILENT
from alikely.data.inclusion import INCLUSION
from alikely.errors.agreement import agreement_draws
from alikely.errors.chains import class_copying_draws, shared_base_draws
from alikely.errors.draws import chained, row_draws
from alikely.errors.equal_rows import N_PERMUTATIONS, equality
from alikely.errors.limits import UNBOUNDED
from alikely.errors.paired_chains import paired_chain_draws
from alikely.errors.paired_draws import paired_row_draws, single_answer_draws
from alikely.errors.tables import agreement_of_classes, class_comparison, error_counts
from alikely.estimates.chosen import design_draws, design_remarks
from alikely.estimates.consistency import counted, sampling_unit
from alikely.estimates.doors import Ask, Drawn, Found, Kind, model_name
from alikely.inference.intervals import interval
from alikely.inference.process import process_draws
from alikely.inference.sampling import Sampler
from alikely.metrics import Metric

__all__ = ["LABELS", "NOT_MET", "ROWS"]

# Options of the models that chains sample.
FOR_CHAINS = ("priors", "model", "include")
HELD = note("independent-rows")
# Joint errors of a pair below which no posterior holds, and below which the exact one does not.
TOO_FEW, FEW = 3, 20
# Where all trials are joint errors their number was chosen, and below this one the coverage of a
# share of so many swings down to .87 (exact, for Jeffreys' prior); over random numbers it does not.
CHOSEN = 40
# Models of rows that chains sample: of systems with common items, and of others.
PAIRED, SHARED_BASE = "paired_errors", "error_distributions"
# Above, chains of a pair may not have seen all of its posterior. Limits up to it held as often as
# others (card of `paired_errors`): two chains of 250 draws reach 1.1 by chance.
R_HAT = 1.2
NOT_MET = "chains differ"
# Draws beyond a limit, below which the outermost are not far enough out.
BEYOND = 2.5
FEW_DRAWS = note("few-limit-draws")


def _with_labels(trials: Any, metric: Metric, ask: Ask, *, disjoint: bool) -> xr.Dataset:
    given = [name for name in FOR_CHAINS if ask.options.get(name)]
    if given and ask.sampler != "nuts":
        raise ValueError(
            f"{given[0]} is of the model that chains sample, and sampler is {ask.sampler!r}: use "
            "sampler='nuts'"
        )
    table = counted(trials, metric, ask, labels=True, disjoint=disjoint)
    if _crossed(table) and (ask.sampler != "auto" or given):
        raise ValueError(
            f"items came back, and sampler={ask.sampler!r} takes one answer to each item; use "
            "sampler='auto', or give cluster='trial' to take all answers for independent"
        )
    if "response" not in table:
        raise ValueError(
            "this table holds correctness only, and wrong answers are compared by their class; "
            "count it with joint_correctness(..., labels=True), or use error_consistency"
        )
    # A missing response that counts as an error is no label.
    n_labels = int((table["class"].values != SILENT).sum())
    if n_labels < 3:
        raise ValueError(
            f"with {n_labels} classes a wrong answer can only be the other one: there "
            "is nothing to compare; use error_consistency"
        )
    return table


def _crossed(table: xr.Dataset) -> bool:
    """Whether items came back, and every answer of one meets every answer of the other."""
    return bool(table.attrs.get("repeats") == "crossed")


def _for_chains(ask: Ask) -> dict[str, Any]:
    return {name: value for name in FOR_CHAINS if (value := ask.options.get(name))}


def _beside_labels(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    found = agreement_of_classes(table)
    if INCLUSION in table:
        # What else stands beside it is of unweighted counts.
        remark = design_remarks(table, estimates)
        return Found({"n_joint_errors": found["n_joint_errors"], "remark": ("pair", remark)})
    return Found(
        {name: found[name] for name in ("n_joint_errors", *metric.beside) if name in found}
    )


def _draw_labels(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    if INCLUSION in table:
        return design_draws(table, metric, ask, seed)
    # The copy model takes every pair for itself.
    chains = ask.sampler == "nuts"
    fits: dict[str, xr.DataTree] = {}
    if chains:
        draws, fits = class_copying_draws(table, ask.n_draws, metric, seed, **_for_chains(ask))
    else:
        exact, unit = ask.sampler == "exact", sampling_unit(table, ask)
        draw = process_draws if exact else agreement_draws
        draws = draw(table, ask.n_draws, metric, seed, cluster=unit)
    posterior = chained(draws, table, metric, ask.sampler, joint=not chains, clustered=not chains)
    return Drawn({"posterior": posterior}, _few_joint_errors(table, ask.sampler), fits)


def _few_joint_errors(table: xr.Dataset, sampler: Sampler) -> NDArray[np.object_]:
    """What to know of posteriors of pairs with few joint errors."""
    cells = table["cells"].values
    number = cells[:, 3]
    remarks = np.full(len(number), "", dtype=object)
    chosen = (number == cells.sum(axis=1)) & (number < CHOSEN)
    remarks[chosen] = note("all-joint-errors", least=CHOSEN)
    if sampler == "exact":
        remarks[number < FEW] = note("few-joint-errors-exact", least=FEW)
    remarks[number < TOO_FEW] = note("too-few-joint-errors", least=TOO_FEW)
    remarks[number == 0] = ""
    return remarks


def _beside_rows(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    if _crossed(table):
        # The test of equal rows knows one answer to an item.
        return Found(error_counts(table))
    if "divergence" not in metric.beside:
        return Found(error_counts(table))
    found = class_comparison(table, **metric.options)
    told = equality(table, metric, ask.options.get("n_permutations", N_PERMUTATIONS), seed)
    by_class = ("pair", "class"), told.pop("class_log_bayes_factor")
    found |= {name: ("pair", values) for name, values in told.items()}
    excess = found["divergence"][1] - told["expected_divergence"]
    return Found(
        found | {"class_log_bayes_factor": by_class, "excess_divergence": ("pair", excess)}
    )


def _draw_rows(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    if ask.sampler == "auto":
        return _draw_paired(table, metric, ask, seed)
    if ask.sampler == "nuts":
        return _draw_chains(table, metric, ask, seed)
    draws = row_draws(table, ask.n_draws, rng=seed, **metric.options)
    low = np.quantile(draws, 0.975, axis=0) < estimates["estimate"].values
    remarks = np.where(low, HELD, "").astype(object)
    return Drawn({"posterior": chained(draws, table, metric, ask.sampler)}, remarks)


def _draw_chains(
    table: xr.Dataset, metric: Metric, ask: Ask, seed: np.random.SeedSequence
) -> Drawn:
    """Each group by the model asked for; else by that of its items, shared or not."""
    from alikely.models._asked import is_named

    asked = ask.options.get("model")
    own = asked is not None and not is_named(asked, (PAIRED, SHARED_BASE))
    group = table["pair_group"].values
    paired = np.isin(group, group[table["cells"].values[:, 3] > 0])
    if asked is not None:
        paired[:] = asked == PAIRED if isinstance(asked, str) else False
    options = {
        "n_draws": ask.n_draws,
        "mixture": metric.options["mixture"],
        "base": metric.options["base"],
        **{name: value for name, value in _for_chains(ask).items() if name != "model"},
    }
    draws = np.full((4 * -(-ask.n_draws // 4), len(group)), np.nan, dtype=np.float32)
    fits: dict[str, xr.DataTree] = {}
    for here, draw in (
        (paired, paired_chain_draws),
        (~paired, functools.partial(shared_base_draws, model=asked if own else SHARED_BASE)),
    ):
        if here.any():
            part = draw(table.isel(pair=np.flatnonzero(here)), rng=seed.spawn(1)[0], **options)
            draws[:, here] = part.values
            fits |= part.fits
    names = [
        name for name, some in ((PAIRED, paired.any()), (SHARED_BASE, not paired.all())) if some
    ]
    return Drawn(
        {"posterior": chained(draws, table, metric, ask.sampler)},
        fits=fits,
        model=model_name(asked) if own else " and ".join(names),
    )


def _draw_paired(
    table: xr.Dataset, metric: Metric, ask: Ask, seed: np.random.SeedSequence
) -> Drawn:
    # Four chains of equal length, as all results have.
    n_draws = 4 * -(-ask.n_draws // 4)
    draw = single_answer_draws if _crossed(table) else paired_row_draws
    drawn = draw(table, n_draws, metric, seed, sampling_unit(table, ask), ask.options.get("folder"))
    sides = interval(
        drawn.model[metric.name].values.reshape(-1, table.sizes["pair"]), ask.ci_prob, "eti"
    )
    remarks = [
        "; ".join(_remarks(r_hat, bounded, ask.ci_prob, n_draws))
        for r_hat, bounded in zip(drawn.r_hat, drawn.bounded, strict=True)
    ]
    copying = drawn.model["copy_probability"].mean(("chain", "draw")).values
    beside = {"model_low": sides[:, 0], "model_high": sides[:, 1], "copy_probability": copying}
    groups = {
        "posterior": chained(drawn.values, table, metric, "gibbs"),
        "rows": drawn.model,
        "populations": drawn.populations,
    }
    return Drawn(
        {name: group for name, group in groups.items() if len(group)},
        np.array(remarks, dtype=object),
        variables={name: ("pair", values) for name, values in beside.items()},
    )


def _remarks(r_hat: float, bounded: float, ci_prob: float, n_draws: int) -> list[str]:
    """What cannot be trusted about the interval of a pair."""
    found = [note("chains-apart", r_hat=r_hat)] if r_hat > R_HAT else []
    found += [FEW_DRAWS] if n_draws * (1 - ci_prob) / 2 < BEYOND else []
    return found + ([UNBOUNDED] if bounded < (1 + ci_prob) / 2 else [])


def _model_name(ask: Ask, of_chains: str, exact: str) -> str:
    return model_name(ask.options.get("model") or of_chains) if ask.sampler == "nuts" else exact


LABELS = Kind(
    lambda trials, metric, ask: _with_labels(trials, metric, ask, disjoint=False),
    _beside_labels,
    _draw_labels,
    lambda metric, ask: _model_name(
        ask, "class_copying", "labels" if ask.sampler == "exact" else "distinct_labels"
    ),
    FOR_CHAINS,
    sampling_unit,
)
ROWS = Kind(
    lambda trials, metric, ask: _with_labels(trials, metric, ask, disjoint=True),
    _beside_rows,
    _draw_rows,
    lambda metric, ask: "independent_rows" if ask.sampler == "exact" else PAIRED,
    (*FOR_CHAINS, "n_permutations", "folder", "paired"),
    sampling_unit,
)
