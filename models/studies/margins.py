"""Study of decision-margin consistency: intervals of models and groups, and model checks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from alikely.data.trials import Trials
from alikely.estimates.contrasts import difference
from alikely.estimates.pairs import decision_margin_consistency
from alikely.margins.posterior import SAYS
from studies.harness import Rows, Study, checked, summarized
from studies.simulators.margins import (
    MARGIN_WORLDS,
    MarginWorld,
    margin_data,
    true_group_consistency,
    true_margin_consistency,
    true_strength_consistency,
)

LEVEL = 0.05
# Checks refer to the first model and the first group.
PAIRS = [("first", "one"), ("first", "other"), ("first", "second")]
CHECKS = tuple(
    f"p_{name}"
    for name in ("nonlinearity", "within", "skew", "repeats", "classes", "modes", "linearity")
)


def _margins(
    world: MarginWorld, numbers: range, seed: Any, strengths: bool, ci_prob: float
) -> Rows:
    """Limits for each data set by scope, and p-values of the checks."""
    truth_seed, data_seed = seed.spawn(2)
    truths = _truths(world, truth_seed)
    generator = np.random.default_rng(data_seed)
    trials, margins = _data_sets(world, len(numbers), generator)
    options: dict[str, Any] = {"group": "group", "n_resamples": 0, "rng": generator}
    options["n_alternatives"] = world.n_alternatives
    result = decision_margin_consistency(trials, margins, PAIRS, **options)
    frame = result.summary(ci_prob=ci_prob, columns="all").set_index(["observer_a", "observer_b"])
    frame = frame.assign(condition=frame["condition"].astype(int)).sort_values("condition")
    ends = [f"posterior_eti{100 * ci_prob:g}_{end}" for end in ("lb", "ub")]
    of_pairs = ["posterior_median", *ends]
    found = {
        "total": frame.loc[PAIRS[0], of_pairs],
        "within": frame.loc[PAIRS[0], ["r_within_class", "r_within_class_lb", "r_within_class_ub"]],
        "groups": frame.loc[PAIRS[2], of_pairs],
    }
    notes = {"total": frame.loc[PAIRS[0], "note"]}
    apart = [
        difference(
            result,
            *({"condition": str(k), "observer_b": name} for name in ("one", "other")),
            intervals=["posterior"], ci_prob=ci_prob,
        ).iloc[0]
        for k in range(len(numbers))
    ]  # fmt: skip
    bounds = [f"eti{100 * ci_prob:g}_{end}" for end in ("lb", "ub")]
    found["difference"] = pd.DataFrame(apart)[["estimate", *bounds]]
    if strengths:
        truths["strengths"] = true_strength_consistency(world, truth_seed.spawn(1)[0])
        own = decision_margin_consistency(
            trials, margins, PAIRS[:1], model="strengths", **options
        ).summary(ci_prob=ci_prob, columns="all")
        own = own.assign(condition=own["condition"].astype(int)).sort_values("condition")
        found["strengths"], notes["strengths"] = own[of_pairs], own["note"]
    checks = _checks(result)
    rows = []
    for scope, truth in truths.items():
        widest = 2 if scope == "difference" else 1
        for k, (value, low, high) in enumerate(found[scope].to_numpy(float)):
            undefined = np.isnan(low)
            low, high = (-widest, widest) if undefined else (low, high)
            own = checks.iloc[k].to_dict() if scope in ("total", "within", "strengths") else {}
            texts = (
                SAYS["moments" if scope == "total" else scope].values() if scope in notes else ()
            )
            noted = any(x in notes[scope].iloc[k] for x in texts) if texts else np.nan
            rows.append(
                {"set": numbers[k], "scope": scope, "truth": truth, "value": value, "noted": noted}
                | checked(truth, low, high)
                | {"below": high < truth, "above": low > truth, "undefined": undefined}
                | {"open_ended": low == -widest and high == widest, **own}
            )
    return rows


def _checks(result: Any) -> pd.DataFrame:
    """P-values of the checks of the first model and group, by data set."""
    estimates = result.estimates
    table = pd.DataFrame({name: estimates[name].values for name in CHECKS if name in estimates})
    table = table.assign(condition=estimates["condition"].values.astype(int))
    first = (estimates["observer_a"].values == "first") & (estimates["observer_b"].values == "one")
    return table[first].sort_values("condition").drop(columns="condition")


def _data_sets(
    world: MarginWorld, n: int, generator: np.random.Generator
) -> tuple[Trials, pd.DataFrame]:
    """Data sets as conditions: responses of both groups in each repeat, and margins."""
    parts, margins = [], []
    for number in range(n):
        data = margin_data(world, generator)
        right = np.concatenate([data.right, data.other_right])
        shown = np.concatenate([data.shown, data.other_shown])
        items = [f"{number}_{i}" for i in range(world.n_items)]
        for repeat in range(world.n_repeats):
            label = np.where(right > repeat, data.classes, (data.classes + 1) % world.n_classes)
            keys = {"condition": str(number), "item": items, "repeat": repeat}
            parts.append((np.ma.array(label, mask=shown <= repeat), data.classes, keys))
        for name, own in (("one", data.margins), ("other", data.other_margins)):
            table = pd.DataFrame({"observer": name, "dataset": "all", "condition": str(number)},
                                 index=range(world.n_items))  # fmt: skip
            margins.append(table.assign(item=items, margin=own))
    groups = np.repeat(["first", "second"], world.n_observers)
    given = pd.concat([pd.DataFrame(keys) for _, _, keys in parts])
    trials = Trials.from_arrays(
        np.ma.concatenate([labels for labels, _, _ in parts], axis=1),
        np.concatenate([classes for _, classes, _ in parts]),
        classes=range(max(world.n_classes, 2)),
        kind=["human"] * len(groups),
        labels={"group": groups.tolist()},
        **{name: given[name].tolist() for name in given},
    )
    return trials, pd.concat(margins)


def _margin_table(rows: pd.DataFrame, ci_prob: float = 0.95) -> pd.DataFrame:
    """Summarize `MARGINS`, with relative widths, bias, and rejection rates of the checks."""
    keys = ["scenario", "scope"]
    means = ("truth", "below", "above", "undefined", "noted")
    table = summarized(rows, keys, means).set_index(keys)
    by, bounded = rows.groupby(keys, sort=False), rows[~rows["open_ended"]].groupby(keys)
    deviate = float(special.ndtri((1 + ci_prob) / 2))
    ideal = 2 * deviate * bounded["value"].std(ddof=0)
    unbounded = (rows["open_ended"] & ~rows["undefined"]).groupby([rows[k] for k in keys])
    table["width_ratio"] = bounded["width"].median() / ideal
    table["unbounded"] = unbounded.mean()
    table["bias"] = by["value"].median() - table["truth"]
    for name in [name for name in rows if name.startswith("p_")]:
        p = rows[name].dropna()
        table[name] = (p < LEVEL).groupby([rows[k] for k in keys]).mean()
    return table.drop(columns="width").reset_index()


MARGINS = Study(
    "margins",
    _margins,
    MARGIN_WORLDS,
    ("scope",),
    size=0,
    n_datasets=400,
    options={"strengths": False, "ci_prob": 0.95},
    table=_margin_table,
)


def _truths(world: MarginWorld, seed: np.random.SeedSequence) -> dict[str, float]:
    first, second = (int(k) for k in seed.generate_state(2))
    total, within = true_margin_consistency(world, first)
    other, _ = true_margin_consistency(dataclasses.replace(world, rho=world.other_rho), first)
    return {
        "total": total,
        "within": within,
        "difference": total - other,
        "groups": true_group_consistency(world, second),
    }
