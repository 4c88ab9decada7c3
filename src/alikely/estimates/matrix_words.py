"""All pairs of many observers in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from alikely._base.intervals import percent
from alikely._base.names import counted, number, span
from alikely.estimates.sentences import (
    bounds_of,
    is_wide,
    pair_words,
    place_words,
    population_words,
)

if TYPE_CHECKING:
    import pandas as pd

    from alikely.estimates.matrix_result import MatrixResult

__all__ = ["matrix_sentence"]

PLACES = ("dataset", "condition")


def matrix_sentence(matrix: MatrixResult, digits: int = 2) -> str:
    """Say the extremes of a matrix, for whom its intervals speak, and its tests."""
    prob, kind = matrix.interval_options(None, None)
    metric, values = matrix.metric, matrix.estimates["estimate"].values
    zero, label = is_wide(metric), metric.label
    n, n_pairs = len(matrix.observers), len(matrix.observers) * (len(matrix.observers) - 1) // 2
    where = f", {len(matrix.places):,} {matrix.place}s" if matrix.place else ""
    over = f"{values.size:,} entries ({counted(n_pairs, 'pair')} of {n:,} observers{where})"
    defined = np.isfinite(values)
    if not defined.any():
        return f"Of {over}, none has a defined {label}."
    school = "posterior" if "posterior_lower" in matrix.estimates else "analytic"
    lower, upper = bounds_of(school, kind, prob)
    name = f"{percent(prob)} {'credible interval' if school == 'posterior' else 'CI'}"

    def extreme(row: pd.Series) -> str:
        ends = span(row[lower], row[upper], digits, zero)
        who = f"{pair_words(row, metric)}{place_words(row, PLACES)}"
        return f"{number(row['estimate'], digits, zero)} ({who}; {name} {ends})"

    least, most = (matrix.to_frame(top=1, lowest=low).iloc[0] for low in (True, False))
    text = (
        f"Over {over}, {label} ranged from {extreme(least)} to {extreme(most)}; the median was "
        f"{number(float(np.median(values[defined])), digits, zero)}."
    )
    if lost := int((~defined).sum()):
        text += f" Undefined: {lost:,}."
    how = "posterior, from the counts alone" if school == "posterior" else "analytic"
    text += (
        f" The intervals ({how}) speak for {population_words(metric, school, matrix.data.attrs)}; "
        "each holds alone, unadjusted for their number."
    )
    if "p_adjusted" in matrix.estimates:
        p = matrix.estimates["p_adjusted"].values
        told, all_of = int((p < 1 - prob).sum()), int(np.isfinite(p).sum())
        text += (
            " With p values of Fisher's exact test adjusted for their number (Benjamini and "
            f"Hochberg), {told:,} of {all_of:,} {'differs' if told == 1 else 'differ'} from "
            f"independent observers at the level {f'{1 - prob:.3g}'.lstrip('0')}."
        )
    return text
