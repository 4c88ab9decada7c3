"""Coverage where items come back: repeats of one observer, and the same items in two conditions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from alikely.data.trials import Trials
from alikely.estimates.comparison import difference
from alikely.estimates.pairs import error_consistency
from alikely.estimates.result import Result
from alikely.estimates.sentences import METHODS
from alikely.simulate.repeats import repeated_answers
from studies.harness import Rows, Study, checked

__all__ = ["ITEMS", "ItemDesign"]

N_ITEMS, ACCURACY, CORRELATION = 160, 0.75, 0.6
# Both observers' evidence in two modalities: alike by .6 in one and by .3 in the other, and each
# observer with itself by .7 between them.
MODALITIES = np.array(
    [[1, 0.6, 0.7, 0.35], [0.6, 1, 0.35, 0.7], [0.7, 0.35, 1, 0.3], [0.35, 0.7, 0.3, 1]]
)
UNITS = {"items": None, "trials": "trial"}


class ItemDesign(NamedTuple):
    """Repeats of one observer (share ``within`` of an answer's variance is anew), or modalities."""

    design: str
    n_repeats: int = 1
    within: float = 1.0


def _items(design: ItemDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    """Check intervals of error consistency where observers answer the same items again."""
    data, drawing = seed.spawn(2)
    seeds = data.spawn(len(numbers))
    if design.design == "repeats":
        n = (design.n_repeats, design.n_repeats)
        accuracy = (ACCURACY, ACCURACY)
        options: dict[str, Any] = {
            "accuracy": accuracy,
            "correlation": CORRELATION,
            "within": design.within,
        }
        made = [repeated_answers(N_ITEMS, n, **options, rng=each) for each in seeds]
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
        found = _of_pairs(result) if design.design == "repeats" else _of_differences(result)
        rows += [
            {**design._asdict(), "unit": unit, "method": method, "truth": truth}
            | {"lower": lower, "upper": upper, **checked(truth, lower, upper)}
            for method, lower, upper in found
        ]
    return rows


def _of_pairs(result: Result) -> list[tuple[Any, float, float]]:
    table = result.summary(intervals=["analytic", "bootstrap", "posterior"])
    return [
        (method, row[f"{method}_{kind}95_lb"], row[f"{method}_{kind}95_ub"])
        for _, row in table.iterrows()
        for method, kind in (("analytic", "ci"), ("bootstrap", "eti"), ("posterior", "eti"))
    ]


def _of_differences(result: Result) -> list[tuple[Any, float, float]]:
    return [
        (method, row["eti95_lb"], row["eti95_ub"])
        for dataset in result.pairs["dataset"].unique()
        for method, row in difference(
            result,
            *({"dataset": dataset, "condition": name} for name in ("one", "other")),
            intervals=METHODS,
        ).iterrows()
    ]


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


ITEMS = Study(
    "items",
    _items,
    {
        **{
            f"{n} answers, within {within:g}": ItemDesign("repeats", n, within)
            for n in (1, 2, 5)
            for within in (0.0, 0.5, 1.0)
        },
        "modalities": ItemDesign("modalities"),
    },
    ("unit", "method"),
    # Data sets of one call, each with items of its own.
    size=25,
    n_datasets=500,
    options={"n_draws": 1_000},
)
