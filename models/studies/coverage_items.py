"""Coverage where items come back: repeats of one observer, and the same items in two conditions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from alikely._base.random import RandomState
from alikely.calibration.studies import run_study
from alikely.data.trials import Trials
from alikely.estimates.comparison import difference
from alikely.estimates.consistency import error_consistency
from alikely.estimates.result import Result
from alikely.estimates.sentences import METHODS
from alikely.simulate.repeats import repeated_answers

__all__ = ["item_coverage", "item_coverage_summary"]

N_ITEMS, ACCURACY, CORRELATION = 160, 0.75, 0.6
REPEATS, WITHIN = (1, 2, 5), (0.0, 0.5, 1.0)
# Both observers' evidence in two modalities: alike by .6 in one and by .3 in the other, and each
# observer with itself by .7 between them.
MODALITIES = np.array(
    [[1, 0.6, 0.7, 0.35], [0.6, 1, 0.35, 0.7], [0.7, 0.35, 1, 0.3], [0.35, 0.7, 0.3, 1]]
)
# Data sets of one call, each with items of its own.
BATCH = 25
UNITS = {"items": None, "trials": "trial"}


def item_coverage(
    n_datasets: int = 500,
    *,
    n_draws: int = 1_000,
    folder: str | Path | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Intervals of error consistency where observers answer the same items again."""
    if n_datasets < BATCH or n_datasets % BATCH:
        raise ValueError(f"n_datasets must be a multiple of {BATCH}, got {n_datasets}")
    designs = [("repeats", n, within) for n in REPEATS for within in WITHIN]
    cells = [
        {"design": design, "n_repeats": n, "within": within, "batch": batch, "n_draws": n_draws}
        for design, n, within in [*designs, ("modalities", 1, 1.0)]
        for batch in range(n_datasets // BATCH)
    ]
    return run_study(_batch, cells, folder, rng=rng).drop(columns="n_draws")


def _batch(
    design: str, n_repeats: int, within: float, batch: int, n_draws: int, seed: Any
) -> list[dict[str, Any]]:
    data, drawing = seed.spawn(2)
    seeds = data.spawn(BATCH)
    if design == "repeats":
        made = [
            repeated_answers(
                N_ITEMS,
                (n_repeats, n_repeats),
                accuracy=(ACCURACY, ACCURACY),
                correlation=CORRELATION,
                within=within,
                rng=each,
            )
            for each in seeds
        ]
        tables, truth = [trials.to_table() for trials, _ in made], made[0][1]
    else:
        tables, truth = [_two_modalities(each) for each in seeds], _true_difference()
    trials = Trials.from_table(
        pd.concat([table.assign(dataset=f"{i:02d}") for i, table in enumerate(tables)])
    )
    rows = []
    for unit, cluster in UNITS.items():
        result = error_consistency(
            trials,
            n_resamples=n_draws,
            n_draws=n_draws,
            n_null=0,
            bayes_factor=False,
            cluster=cluster,
            rng=drawing,
        )
        found = _of_pairs(result) if design == "repeats" else _of_differences(result)
        rows += [{"unit": unit, "truth": truth, **row} for row in found]
    return rows


def _of_pairs(result: Result) -> list[dict[str, Any]]:
    table = result.summary(intervals=["analytic", "bootstrap", "posterior"])
    return [
        {
            "method": method,
            "lower": row[f"{method}_{kind}95_lb"],
            "upper": row[f"{method}_{kind}95_ub"],
        }
        for _, row in table.iterrows()
        for method, kind in (("analytic", "ci"), ("bootstrap", "eti"), ("posterior", "eti"))
    ]


def _of_differences(result: Result) -> list[dict[str, Any]]:
    rows = []
    for dataset in result.pairs["dataset"].unique():
        entries = [{"dataset": dataset, "condition": name} for name in ("one", "other")]
        for method, row in difference(result, *entries, intervals=METHODS).iterrows():
            rows.append({"method": method, "lower": row["eti95_lb"], "upper": row["eti95_ub"]})
    return rows


def _two_modalities(seed: np.random.SeedSequence) -> pd.DataFrame:
    evidence = np.random.default_rng(seed).multivariate_normal(np.zeros(4), MODALITIES, N_ITEMS)
    right = evidence < special.ndtri(ACCURACY)
    at = [(o, c) for c in range(2) for o in range(2)]
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "observer": "ab"[observer],
                    "condition": ("one", "other")[condition],
                    "item": [str(item) for item in range(N_ITEMS)],
                    "correct": right[:, 2 * condition + observer].astype(int),
                }
            )
            for observer, condition in at
        ]
    )


def _true_difference() -> float:
    values = [
        repeated_answers(1, (1, 1), correlation=MODALITIES[i, i + 1], within=1.0, rng=0)[1]
        for i in (0, 2)
    ]
    return float(values[0] - values[1])


def item_coverage_summary(study: pd.DataFrame) -> pd.DataFrame:
    """Coverage and median width by design, unit and method."""
    part = study.assign(
        coverage=study["truth"].between(study["lower"], study["upper"]),
        width=study["upper"] - study["lower"],
    )
    by = part.groupby(["design", "n_repeats", "within", "unit", "method"], sort=False)
    table = pd.DataFrame({"n_datasets": by.size(), "coverage": by["coverage"].mean()})
    error = np.sqrt(table["coverage"] * (1 - table["coverage"]) / table["n_datasets"])
    return table.assign(coverage_mcse=error, width=by["width"].median()).reset_index()
