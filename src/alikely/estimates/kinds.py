"""Kinds of metrics: correctness, incorrect labels, error rows, ratings, options and trials."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.names import listed
from alikely._base.notes import note
from alikely.data.blocks import LEFT_OUT, blocks, cluster_numbers
from alikely.data.columns import SILENT
from alikely.data.tables import confusion_trials, pair_labels
from alikely.errors.draws import UNBOUNDED, agreement_draws, chained, paired_row_draws
from alikely.errors.tables import (
    N_PERMUTATIONS,
    agreement_of_classes,
    class_comparison,
    equality,
    error_counts,
)
from alikely.estimates.analysis import (
    Design,
    Groups,
    Kind,
    analyze,
    chain_groups,
    counted,
    model_name,
)
from alikely.estimates.notes import design_notes, joined_notes
from alikely.estimates.result import Result
from alikely.inference import null
from alikely.inference.evaluation import option_features
from alikely.inference.independence import permutation_p, sign_flip_p
from alikely.inference.influence import estimate, of_items
from alikely.inference.intervals import interval
from alikely.inference.process import four_chains, process_draws, strata_draws
from alikely.inference.sampling import posterior
from alikely.metrics import Metric, consistency
from alikely.metrics.cells import divide
from alikely.metrics.options import (
    OPTION_CORRELATION,
    SAME_WRONG_ANSWER,
    chance_agreement,
    same_wrong,
)

Seed = np.random.SeedSequence

# Variables of MCMC fits of correctness in a result; others are in the trees of the fits.
SHOWN = ("error_consistency", "copy_probability")
# Fewest joint errors of a pair for nominal coverage of the posterior.
TOO_FEW = 3
# If all trials are joint errors, their number is fixed by design. Below this number, coverage of a
# proportion drops to 0.87 (exact, for Jeffreys' prior); over random numbers it does not.
CHOSEN = 40
# Above, chains of a pair may not have converged. Coverage up to this value is as with others (model
# page of `paired_errors`): two chains of 250 draws reach 1.1 by chance.
R_HAT = 1.2
# Fewest draws beyond a limit for accurate tail quantiles.
BEYOND = 2.5
# Label of an entry of all readers.
ALL = "all readers"
LOST = "systems answered the same items: no interval without the trials"
# Variables that cannot be computed from confusion matrices of systems with the same items.
OF_PAIRING = (
    "se",
    "n_joint_errors",
    "expected_divergence",
    "excess_divergence",
    "log_bayes_factor",
    "class_log_bayes_factor",
)


def of_pairs(found: Mapping[str, Any], **attrs: str) -> Groups:
    """Variables of the estimates, one value per entry unless dimensions are given."""
    variables = {
        name: values if isinstance(values, tuple | xr.DataArray) else ("pair", values)
        for name, values in found.items()
    }
    return {"estimates": xr.Dataset(variables, attrs=attrs)}


def _texts(n: int) -> NDArray[np.object_]:
    return np.full(n, "", dtype=object)


def draw_process(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    """Draw the posterior of all entries from one Dirichlet process, with its clusters."""
    draws = process_draws(table, design.n_draws, metric, seed, design.prior, design.unit(table))
    return {"posterior": chained(draws, table, metric, design.sampler, clustered=True)}


def count_exact(trials: Any, metric: Metric, design: Design, **how: Any) -> xr.Dataset:
    """Count trials for a metric that has only exact draws."""
    if design.sampler == "nuts":
        raise ValueError(f"{metric.name} has exact draws only; use sampler='auto'")
    return counted(trials, metric, design, **how)


# Images sampled by a plan.


def draw_strata(table: xr.Dataset, metric: Metric, design: Design, seed: Seed) -> Groups:
    """Draw the posterior over strata, if the plan has any."""
    asked = design.options.get("model", "copying") != "copying"
    if design.sampler == "nuts" or design.prior is not None or asked:
        raise ValueError(
            "sampler, prior and model have no effect for images sampled by a plan, whose posterior "
            "is over strata; leave them out"
        )
    # All images of a stratum must have the same inclusion probability.
    known = table["stratum"].values if "stratum" in table else np.zeros(0)
    equal = len(known) and all(
        np.ptp(block.inclusion[known[block.trials] == name]) <= 1e-9
        for block in blocks(table)
        for name in set(known[block.trials].tolist())
    )
    if not equal or metric.counts != "correctness":
        return {}
    drawn = strata_draws(table, four_chains(design.n_draws), [metric], seed)[metric.name]
    # Pairs of a group have the same images, or lists that were sampled independently.
    joint = table.attrs["lists"] > 1 or all(
        len(np.unique(block.shown(), axis=0)) == 1 for block in blocks(table)
    )
    group = chained(drawn, table, metric, "exact", joint=joint, clustered=True)
    return {"posterior": group} | of_pairs({}, model="posterior over strata")


# Correctness.


def _recurs(table: xr.Dataset, unit: str | None) -> NDArray[np.bool_]:
    """Entries in which an item is repeated for either observer, within its group of trials."""
    out = np.zeros(table.sizes["pair"], dtype=bool)
    if unit is None:
        return out
    numbers = cluster_numbers(table, unit)
    again = table["answers"].values > 1 if "answers" in table else None
    for block in blocks(table):
        if len(np.unique(numbers[block.trials])) < len(block.trials):
            out[block.rows] = True
        elif again is not None:
            of_observer = again[:, block.trials].any(axis=1)
            first, second = (table[name].values[block.rows] for name in ("first", "second"))
            out[block.rows] = of_observer[first] | of_observer[second]
    return out


def _alongside_cells(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    """Tests of independence of every pair, and further columns of the metric."""
    cells, value = table["cells"].values, estimates["estimate"].values
    found: dict[str, NDArray[Any]] = {}
    derived = {name: function(cells) for name, function in metric.derived.items()}
    if "inclusion" in table:
        # Tests of independence need counts; weighted counts are not counts.
        return of_pairs({"note": design_notes(table, estimates)} | derived)
    unit = design.unit(table)
    # Two-sided, around the value of independent observers, if that is one number.
    middle = metric.independent if design.n_null else None
    recurs = _recurs(table, unit)
    if not recurs.all():
        # Responses to one item are dependent: Fisher's test and the Bayes factor are invalid.
        once = np.rint(cells[~recurs]).astype(np.int64)
        tests = {"p_fisher": null.fisher_exact(once)}
        with contextlib.suppress(ValueError):  # other priors have no Bayes factor
            own = null.bayes_factor_prior(design.prior)
            tests["log_bf10"] = null.log_bayes_factor(once, prior=own)
        for name, values in tests.items():
            found[name] = np.full(len(cells), np.nan)
            found[name][~recurs] = values
    if middle is not None and unit is not None and of_items(table, unit):
        # Clusters of different sizes are not exchangeable; few clusters have too few signs.
        away = np.abs(divide(value - middle, estimates["se"].values))
        by_student = 2 * stats.t.sf(away, estimates["df"].values)
        by_signs = sign_flip_p(table, metric, design.n_null, unit, seed)
        found["p_null"] = np.where(np.isfinite(by_signs), by_signs, by_student)
    elif middle is not None and recurs.any():
        found["p_null"] = permutation_p(table, metric, design.n_null, unit, seed)
    elif middle is not None:
        draws = null.null_draws(cells, design.n_null, metric, seed)
        found["p_null"] = null.p_value(value - middle, draws - middle)
    if recurs.any() and not recurs.all():
        found["note"] = np.where(recurs, note("repeats-no-tests"), "").astype(object)
    return of_pairs(found | derived)


def _closed(table: xr.Dataset, metric: Metric, design: Design) -> bool:
    if "inclusion" in table or not metric.limits:
        return False
    dirichlet = consistency.cell_prior(design.prior).is_dirichlet
    plain = design.options.get("model", "copying") == "copying"
    once = not _recurs(table, design.unit(table)).any()
    return design.sampler != "nuts" and design.ci_kind == "eti" and dirichlet and plain and once


def _draw_cells(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    if "inclusion" in table:
        return draw_strata(table, metric, design, seed)
    tree = posterior(
        table,
        design.sampler,
        design.prior,
        design.n_draws,
        seed,
        metric=metric,
        cluster=design.unit(table),
        **design.options,
    )
    draws = tree["posterior"].to_dataset()
    if draws.attrs["sampler"] == "exact":
        return {name: tree[name].to_dataset() for name in tree.children}
    estimands = [name for name in dict.fromkeys((*SHOWN, metric.name)) if name in draws]
    own = draws[estimands].reset_coords(drop=True)
    return {"posterior": own} | chain_groups(tree)


# Incorrect labels.


def _count_labels(
    trials: Any, metric: Metric, design: Design, *, disjoint: bool = False
) -> xr.Dataset:
    _require_auto(metric, design)
    table = counted(trials, metric, design, labels=True, disjoint=disjoint)
    # A missing response that counts as an error is not a label.
    n_labels = int((table["class"].values != SILENT).sum())
    if n_labels < 3:
        raise ValueError(
            f"with {n_labels} classes an incorrect response can only be the other class, so "
            "labels carry no information; use error_consistency"
        )
    return table


def _alongside_labels(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    found = agreement_of_classes(table)
    if "inclusion" in table:
        # Other columns describe unweighted counts.
        notes = design_notes(table, estimates)
        return of_pairs({"n_joint_errors": found["n_joint_errors"], "note": notes})
    return of_pairs({k: found[k] for k in ("n_joint_errors", *metric.alongside) if k in found})


def _draw_labels(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    if "inclusion" in table:
        return draw_strata(table, metric, design, seed)
    draws = agreement_draws(table, design.n_draws, metric, seed, cluster=design.unit(table))
    own = chained(draws, table, metric, design.sampler, clustered=True)
    number, total = table["cells"].values[:, 3], table["cells"].values.sum(axis=1)
    notes = _texts(len(number))
    notes[(number == total) & (number < CHOSEN)] = note("all-joint-errors", least=CHOSEN)
    notes[number < TOO_FEW] = note("too-few-joint-errors", least=TOO_FEW)
    notes[number == 0] = ""
    return {"posterior": own} | of_pairs({"posterior_note": notes})


def _require_auto(metric: Metric, design: Design) -> None:
    """Check that no sampler was requested (`ValueError`)."""
    if design.sampler != "auto":
        raise ValueError(
            f"sampler must be 'auto' for {metric.name}, which has one sampler, got "
            f"{design.sampler!r}; leave it out"
        )


# Rows of errors.


def analyse_rows(trials: Any, metric: Metric, design: Design) -> Result:
    """Compare error rows of trials, or of confusion matrices alone."""
    options = design.options
    cache_dir, paired = options.get("cache_dir"), options.get("paired")
    _require_auto(metric, design)
    if cache_dir is not None and design.rng is None:
        raise ValueError(
            "cache_dir saves the draws of a seed, and rng is None; give a seed, such as rng=1, or "
            "leave cache_dir out"
        )
    if not isinstance(trials, Mapping) or isinstance(trials, xr.Dataset):
        if paired is not None:
            raise ValueError(
                "paired is an option for confusion matrices; common items of trials are known, so "
                "leave it out"
            )
        return analyze(trials, metric, ROWS, design)
    if paired is None:
        raise ValueError(
            "confusion matrices do not show whether systems answered the same items; give "
            "paired=False if they did not, or paired=True if they did (then there is no interval; "
            "compare trials to get one)"
        )
    if not paired:
        return analyze(confusion_trials(trials), metric, ROWS, design)
    design = dataclasses.replace(design, n_resamples=0, n_draws=0, n_null=0)
    found = analyze(confusion_trials(trials), metric, ROWS, design).data.copy()
    # Only the estimate: everything else depends on the common items.
    estimates = found["estimates"].to_dataset()
    for name in OF_PAIRING:
        estimates[name] = xr.full_like(estimates[name], np.nan, dtype=np.float64)
    notes = np.full(estimates.sizes["pair"], LOST, dtype=object)
    found["estimates"] = xr.DataTree(estimates.assign(note=("pair", notes)))
    found.attrs["pairing"] = "lost"
    return Result(found)


def _alongside_rows(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    # The test of equal rows requires one response to an item.
    if table.attrs.get("repeats") == "crossed" or "divergence" not in metric.alongside:
        return of_pairs(error_counts(table))
    found: dict[str, Any] = class_comparison(table, **metric.options)
    n_permutations = min(design.n_null, N_PERMUTATIONS)
    tests: dict[str, Any] = equality(table, metric, n_permutations, seed)
    by_class = ("pair", "class"), tests.pop("class_log_bayes_factor")
    excess = found["divergence"][1] - tests["expected_divergence"]
    more = {"class_log_bayes_factor": by_class, "excess_divergence": excess}
    return of_pairs(found | tests | more)


def _draw_rows(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    n_draws, prob = four_chains(design.n_draws), design.ci_prob
    unit, cache_dir = design.unit(table), design.options.get("cache_dir")
    drawn = paired_row_draws(table, n_draws, metric, seed, unit, cache_dir)
    model = drawn.model
    sides = interval(model[metric.name].values.reshape(-1, table.sizes["pair"]), prob, "eti")
    found = {
        "model_low": sides[:, 0],
        "model_high": sides[:, 1],
        "copy_probability": model["copy_probability"].mean(("chain", "draw")).values,
    }
    few = note("few-limit-draws") if n_draws * (1 - prob) / 2 < BEYOND else ""
    notes = _texts(table.sizes["pair"])
    for k, (r_hat, bounded) in enumerate(zip(drawn.r_hat, drawn.bounded, strict=True)):
        apart = note("chains-apart", r_hat=r_hat) if r_hat > R_HAT else ""
        open_ = UNBOUNDED if bounded < (1 + prob) / 2 else ""
        notes[k] = joined_notes(apart, few, open_)
    groups = {
        "posterior": chained(drawn.values, table, metric, "gibbs"),
        "rows": model,
        "populations": drawn.populations,
    }
    groups = {name: group for name, group in groups.items() if len(group)}
    return groups | of_pairs({"posterior_note": notes} | found)


# Ratings.


def _count_readings(trials: Any, metric: Metric, design: Design) -> xr.Dataset:
    """Count ratings of pairs, or of all readers of these pairs."""
    table = count_exact(trials, metric, design, once=True, labels="ratings")
    _require_common_codes(table)
    return _of_all(table) if design.options.get("readers") == "all" else table


def _require_common_codes(table: xr.Dataset) -> None:
    """Check that readers use the same codes, not ``yes`` and ``1`` (`ValueError`)."""
    names, response = table["class"].values, table["response"].values
    true = np.zeros(len(names), dtype=bool)
    true[table["truth"].values] = True
    said = np.zeros((len(response), len(names)), dtype=bool)
    reader, trial = np.nonzero(response != LEFT_OUT)
    said[reader, response[reader, trial]] = True
    said &= names != SILENT
    a, b = table["first"].values, table["second"].values
    foreign = said.any(axis=1) & ~(said & true).any(axis=1)
    apart = ~(said[a] & said[b]).any(axis=1) & (foreign[a] | foreign[b])
    if apart.any():
        pair = int(np.flatnonzero(apart)[0])
        one, other = (
            f"{table['observer'].values[i]!r} ({listed(names[said[i]])})"
            for i in (a[pair], b[pair])
        )
        raise ValueError(
            f"readers {one} and {other} have no code in common; use the same codes, "
            "such as table['response'].replace({'1': 'yes', '0': 'no'})"
        )


def _of_all(table: xr.Dataset) -> xr.Dataset:
    """Make one entry per group of trials, of all readers with ratings there."""
    group, names = table["pair_group"].values, table["observer"].values
    every, starts = np.unique(group, return_index=True)
    response, correct = table["response"].values, table["correct"].values
    of_pair = consistency.error_consistency(table["cells"].values)
    rows, readers = [], []
    for number in every:
        pairs, trials = group == number, table["trial_group"].values == number
        own = np.zeros(len(names), dtype=bool)
        own[table["first"].values[pairs]] = own[table["second"].values[pairs]] = True
        read = response[:, trials] != LEFT_OUT
        reading = own & read.any(axis=1)
        lost = own & ~reading if reading.sum() > 1 else np.zeros(len(own), dtype=bool)
        # Readers without ratings are excluded, unless fewer than two would remain.
        own = reading if reading.sum() > 1 else own
        right, answered = (correct[:, trials] == 1).sum(axis=1), read.sum(axis=1)
        known = reading.any() and not table.attrs.get("without_truth")
        accuracy = (right[reading] / answered[reading]).mean() if known else np.nan
        n, some = int(pairs.sum()), of_pair[pairs & np.isfinite(of_pair)]
        readers.append(own)
        rows.append({
            "absent": listed(names[lost]) if lost.any() else "",
            "n_trials": (read[own].sum(axis=0) > 1).sum(),
            "accuracy_a": accuracy,
            "accuracy_b": accuracy,
            "error_consistency": some.mean() if len(some) else np.nan,
            "ec_undefined": f"defined for {len(some):,} of {n:,} pairs" if len(some) < n else "",
        })  # fmt: skip
    ends = np.stack([np.flatnonzero(own)[:2] for own in readers])
    label = np.full(len(every), ALL, dtype=object)
    groups = pd.DataFrame({name: table[name].values[starts] for name in ("dataset", "condition")})
    found = pd.DataFrame(rows).astype({"absent": object, "ec_undefined": object})
    here = table.drop_dims("pair").assign(
        {name: ("pair", found[name].to_numpy()) for name in found}
        | {
            "first": ("pair", ends[:, 0]),
            "second": ("pair", ends[:, 1]),
            "pair_group": ("pair", every),
            "n_classes": ("pair", np.maximum.reduceat(table["n_classes"].values, starts)),
            "readers": (("pair", "observer"), np.array(readers)),
        }
    )
    labels: dict[Any, Any] = {name: groups[name].to_numpy(object) for name in groups}
    labels |= {"observer_a": label, "observer_b": label}
    labels["pair"] = pair_labels(label, label, groups, np.arange(len(every)))
    return here.assign_coords({name: ("pair", own) for name, own in labels.items()})


def _alongside_readings(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    """Error consistency of the same readers, numbers of missing ratings, and notes."""
    together = "readers" in table
    if together:
        of_errors, unlike = table["error_consistency"].values, table["ec_undefined"].values
    else:
        of_errors = consistency.error_consistency(table["cells"].values)
        unlike = consistency.undefined_reason(table["cells"].values)
    if table.attrs.get("without_truth"):
        of_errors, unlike = np.full(len(of_errors), np.nan), _texts(len(of_errors))
    missing = np.zeros(table.sizes["pair"], dtype=np.int64)
    rare, notes = np.zeros(len(missing)), _texts(len(missing))
    names, response = table["observer"].values, table["response"].values
    one = np.eye(len(names), dtype=bool)
    pairs = one[table["first"].values] | one[table["second"].values]
    readers = table["readers"].values if together else pairs
    group = table["pair_group"].values
    trials = {g: table["trial_group"].values == g for g in np.unique(group)}
    for entry, g in enumerate(group):
        said = response[readers[entry]][:, trials[g]]
        number = (said != LEFT_OUT).sum(axis=0)
        possible = len(said) * int((number > 0).sum())
        n = missing[entry] = possible - number.sum()
        many = said[:, number > 1]
        times = np.unique(many[many != LEFT_OUT], return_counts=True)[1]
        rare[entry] = many.shape[1] * (1 - times.max() / times.sum()) if len(times) else 0
        alone = [
            str(name)
            for name, row in zip(names[readers[entry]], said if together else many, strict=True)
            if len(np.unique(row[row != LEFT_OUT])) == 1
        ]
        absent = str(table["absent"].values[entry]) if together else ""
        code = "missing-ratings" if together else "missing-items"
        why = str(unlike[entry]) if number.max(initial=0) > 1 else ""
        notes[entry] = joined_notes(
            note(code, n=int(n), total=possible) if n else "",
            note("no-ratings", who=absent) if absent else "",
            note("one-class", who=listed(alone)) if alone else "",
            note("ec-undefined", why=why) if why else "",
        )
    known_of = {"error_consistency": of_errors, "n_missing": missing, "n_minority_ratings": rare}
    if together:
        known_of["n_readers"] = table["readers"].values.sum(axis=1)
    return of_pairs(known_of | {"note": notes})


# Options.


def _alongside_options(
    table: xr.Dataset, metric: Metric, estimates: xr.Dataset, design: Design, seed: Seed
) -> Groups:
    """Agreement, chance agreement, ``r_p``, and joint errors with the same response."""
    soft = metric.counts == "probabilities"
    names = ("agreement", "chance_agreement", "same_wrong", "same_wrong_chance")
    found: dict[str, Any] = {name: np.full(table.sizes["pair"], np.nan) for name in names}
    notes = _texts(table.sizes["pair"])
    for block in blocks(table):
        ready = option_features(block, soft)
        sums = ready.sums(np.ones((1, ready.design.shape[1])))
        lacking = table["cells"].values[block.rows].sum(axis=1) - sums.number[0].astype(np.int64)
        notes[block.rows] = [note("no-probabilities", n=int(n)) if n else "" for n in lacking]
        mean = [divide(part, sums.number)[0] for part in sums]
        found["agreement"][block.rows] = mean[1]
        found["chance_agreement"][block.rows] = chance_agreement(mean[2], mean[3], mean[6])
        found["same_wrong"][block.rows] = same_wrong(sums)[0]
        one, _, right_a, right_b, _, _, f, both = np.moveaxis(ready.each, 1, 0)
        wrong = one - right_a - right_b + both
        found["same_wrong_chance"][block.rows] = divide((f * wrong).sum(axis=1), wrong.sum(axis=1))
    unit = design.unit(table)
    of_itself = dataclasses.replace(OPTION_CORRELATION, features=metric.features)
    r_p = estimate(table, of_itself, unit)
    of_errors = dataclasses.replace(SAME_WRONG_ANSWER, features=metric.features)
    found["same_wrong_se"] = estimate(table, of_errors, unit)["se"].values
    found |= {"r_p": r_p["estimate"].values, "r_p_se": r_p["se"].values, "note": notes}
    if not soft:
        found["n_joint_errors"] = table["cells"].values[:, 3]
    return of_pairs(found)


CORRECTNESS = Kind(
    counted,
    _alongside_cells,
    _draw_cells,
    lambda design: model_name(design.options.get("model", "copying")),
    {"model"},
    _closed,
)
LABELS = Kind(_count_labels, _alongside_labels, _draw_labels, lambda _: "distinct_labels")
ROWS = Kind(
    functools.partial(_count_labels, disjoint=True),
    _alongside_rows,
    _draw_rows,
    lambda _: "paired_errors",
    {"cache_dir", "paired"},
)
READINGS = Kind(
    _count_readings, _alongside_readings, draw_process, lambda _: "ratings", {"readers"}
)
OPTIONS = Kind(
    functools.partial(count_exact, once=True, labels="options"),
    _alongside_options,
    draw_process,
    lambda _: "options",
)
TRIALS = Kind(
    lambda trials, metric, design: count_exact(trials, metric, design, labels=metric.labels),
    lambda *_: {},
    draw_process,
    lambda _: "trials",
)
