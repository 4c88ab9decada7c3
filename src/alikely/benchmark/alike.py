"""Whether the humans of a benchmark are as accurate as each other.

References
----------
.. [C50] Cochran (1950). The comparison of percentages in matched samples.
   doi:10.1093/biomet/37.3-4.256
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import known_kind, of_type
from alikely.data.blocks import LEFT_OUT
from alikely.data.repeats import presented
from alikely.data.tables import MAKE, correctness
from alikely.data.trials import Trials

__all__ = ["exchangeability", "note_on_alike"]

# Level at which a note says that humans differ. Four people on 160 images reach it when their
# accuracies spread by some .2 logits.
ALPHA = 0.01
# Equal shares differ by rounding of their mean.
NO_SPREAD = 1e-12


def exchangeability(trials: Trials, *, humans: str = "human") -> pd.DataFrame:
    """Do the humans of a condition differ in accuracy? Cochran's Q test [C50]_.

    The cohort model with ``human_effects=False`` treats humans as exchangeable. If p is below 0.01
    over all conditions, the table of `alikely.benchmark.cohort_scores` has a note. The test is
    silent about humans who are equally accurate on different images.

    Parameters
    ----------
    trials : Trials
        Aligned responses; a missing response is an error. Trials that a human of the condition
        was not shown are left out, and counted in ``n_incomplete``. With repeated items, trials
        are items, and a human's answer to one is the share of right answers.
    humans : str
        Kind of the observers to test.

    Returns
    -------
    pandas.DataFrame
        One row per condition: ``dataset, condition, n_humans, n_trials, n_incomplete``, the lowest
        and highest ``accuracy_min, accuracy_max``, ``q`` and its ``p_value``, chi-square with
        ``n_humans - 1`` degrees of freedom; NaN where no trial divides the humans.

    Raises
    ------
    ValueError
        If no condition has two humans.

    Examples
    --------
    >>> import alikely as al
    >>> exchangeability(al.load_example())["n_humans"].tolist()
    [4, 4, 4]
    """
    data, items = trials.data, presented(trials.data)
    known_kind("humans", humans, data["kind"].values)
    answers = data["correct"].values[data["kind"].values == humans]
    right: NDArray[Any] = correctness(answers, "error")
    if items is not None:
        right, data = items.shares(right), data.isel(trial=items.first)
    labels = pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})
    rows = []
    for (dataset, condition), where in labels.groupby(
        ["dataset", "condition"], sort=False
    ).indices.items():
        here = right[:, where]
        here = here[(here != LEFT_OUT).any(axis=1)]
        complete = (here != LEFT_OUT).all(axis=0)
        if len(here) < 2:
            continue
        x = here[:, complete]
        per_human, k = x.sum(axis=1), len(x)
        # What a trial's answers differ by: of 0 and 1, right times wrong over k.
        divided = ((x - x.mean(axis=0)) ** 2).sum()
        between = ((per_human - per_human.mean()) ** 2).sum()
        q = (k - 1) * between / divided if divided > NO_SPREAD else np.nan
        share = per_human / max(complete.sum(), 1)
        rows.append(
            {
                "dataset": dataset,
                "condition": condition,
                "n_humans": k,
                "n_trials": int(complete.sum()),
                "n_incomplete": int((~complete).sum()),
                "accuracy_min": share.min(),
                "accuracy_max": share.max(),
                "q": q,
                "p_value": stats.chi2.sf(q, k - 1),
            }
        )
    if not rows:
        raise ValueError(
            f"no condition has two observers of kind {humans!r}; name another kind with humans="
        )
    return pd.DataFrame(rows)


def note_on_alike(trials: Trials, humans: str, instead: bool | str) -> str:
    """Note where Cochran's Q of all conditions contradicts a model of exchangeable humans."""
    try:
        table = exchangeability(of_type(trials, Trials, MAKE), humans=humans)
    except ValueError:
        # One human cannot differ from others.
        return ""
    table = table[table["q"].notna()]
    p = float(stats.chi2.sf(table["q"].sum(), (table["n_humans"] - 1).sum()))
    if p >= ALPHA or table.empty:
        return ""
    number = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return (
        f"Humans differ in accuracy (Cochran's Q, {number}): intervals for new humans are too "
        f"narrow. Use human_effects={instead!r}."
    )
