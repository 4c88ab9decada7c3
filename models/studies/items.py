"""Coverage with repeated items: repeats of an observer, or the same items in two conditions."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from alikely._base.settings import options as session
from alikely.data.trials import Trials
from alikely.estimates.contrasts import difference
from alikely.estimates.pair_result import METHODS
from alikely.estimates.pairs import error_consistency
from alikely.estimates.result import Result
from alikely.simulate.simulators import repeated_answers
from studies.harness import Rows, Study, checked

N_ITEMS, ACCURACY, CORRELATION = 160, 0.75, 0.6
# Correlations of evidence in two modalities: between the observers 0.6 in one and 0.3 in the other,
# and 0.7 between modalities for each observer.
MODALITIES = np.array(
    [[1, 0.6, 0.7, 0.35], [0.6, 1, 0.35, 0.7], [0.7, 0.35, 1, 0.3], [0.35, 0.7, 0.3, 1]]
)
UNITS = {"items": None, "trials": "trial"}


class ItemDesign(NamedTuple):
    """Repeats (``within``: fraction of a response's variance due to the item), or modalities."""

    design: str
    n_repeats: int = 1
    within: float = 1.0


def _items(design: ItemDesign, numbers: range, seed: Any, n_draws: int) -> Rows:
    """Check intervals of error consistency for repeated items."""
    data, drawing = seed.spawn(2)
    repeats = design.design == "repeats"
    made = [_repeats(design, own) if repeats else _two_modalities(own)
            for own in data.spawn(len(numbers))]  # fmt: skip
    truth = made[0][1]
    tables = [table.assign(dataset=f"{i:02d}") for i, (table, _) in enumerate(made)]
    trials = Trials.from_table(pd.concat(tables))
    options: dict[str, Any] = {"n_resamples": n_draws, "n_draws": n_draws, "rng": drawing}
    rows = []
    for unit, cluster in UNITS.items():
        with session(n_null=0):
            result = error_consistency(trials, cluster=cluster, **options)
        rows += [
            {**design._asdict(), "unit": unit, "method": method, "truth": truth}
            | {"lower": lower, "upper": upper, **checked(truth, lower, upper)}
            for method, lower, upper in (_of_pairs if repeats else _of_differences)(result)
        ]
    return rows


def _repeats(design: ItemDesign, seed: np.random.SeedSequence) -> tuple[pd.DataFrame, float]:
    trials, truth = repeated_answers(
        N_ITEMS, (design.n_repeats, design.n_repeats), accuracy=(ACCURACY, ACCURACY),
        correlation=CORRELATION, within=design.within, rng=seed,
    )  # fmt: skip
    return trials.to_table(), truth


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


def _two_modalities(seed: np.random.SeedSequence) -> tuple[pd.DataFrame, float]:
    """Correctness in both modalities, and the true difference."""
    evidence = np.random.default_rng(seed).multivariate_normal(np.zeros(4), MODALITIES, N_ITEMS)
    right = (evidence < special.ndtri(ACCURACY)).astype(int)
    items = [str(item) for item in range(N_ITEMS)]
    parts = [
        pd.DataFrame({"observer": o, "condition": c, "item": items, "correct": right[:, k]})
        for k, (c, o) in enumerate(itertools.product(("one", "other"), "ab"))
    ]
    one, other = (
        repeated_answers(1, (1, 1), correlation=MODALITIES[i, i + 1], within=1.0, rng=0)[1]
        for i in (0, 2)
    )
    return pd.concat(parts), float(one - other)


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
    # Data sets of one call, with separate items.
    size=25,
    n_datasets=500,
    options={"n_draws": 1_000},
)
