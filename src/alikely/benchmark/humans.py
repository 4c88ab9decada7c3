"""The humans of a benchmark: noise ceilings, and whether all are equally accurate.

References
----------
.. [NK14] Nili, Wingfield, Walther, Su, Marslen-Wilson, Kriegeskorte (2014). A toolbox for
   representational similarity analysis. doi:10.1371/journal.pcbi.1003553
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
from alikely.benchmark.layout import OVERALL
from alikely.data.blocks import LEFT_OUT
from alikely.data.repeats import presented
from alikely.data.summaries import missing_note_of
from alikely.data.tables import MAKE, correctness
from alikely.data.trials import Trials
from alikely.metrics import Metric

__all__ = ["noise_ceilings", "note_on_alike", "test_equal_accuracy"]

# Level at which a note says that humans differ. Four people on 160 images reach it when their
# accuracies spread by some .2 logits.
ALPHA = 0.01
# Equal shares differ by rounding of their mean.
NO_SPREAD = 1e-12


def noise_ceilings(
    trials: Trials, metric: Metric, *, humans: str = "human", no_response: str = "error"
) -> pd.DataFrame:
    """Bounds on how consistent any model could be with these humans [NK14]_.

    The consensus is the majority of humans on a trial; where as many are right as wrong it is half
    right. Where items came back, an item is a trial, and a vote the share of a human's right
    answers. Its consistency with a human who took part in it is an upper bound, with a human left
    out of it a lower one: a model below the lower bound misses what humans share.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    metric : Metric
        Estimand of the cells ``n11, n10, n01, n00``, with its influence function.
    humans : str
        Kind of the observers.
    no_response : {"error", "drop"}
        As in `alikely.data.joint_correctness`.

    Returns
    -------
    pandas.DataFrame
        One row per data set, and ``overall``: ``level, lower, lower_se, upper, upper_se``, means
        over conditions, then humans, then data sets; errors generalizes to new images and these
        humans.

    Raises
    ------
    ValueError
        If a data set has fewer than three humans, of which two are left to agree.

    Examples
    --------
    >>> import alikely as al
    >>> table = noise_ceilings(al.load_example(), al.metrics.ERROR_CONSISTENCY)
    >>> bool((table["lower"] < table["upper"]).all())
    True
    """
    data, items = trials.data, presented(trials.data)
    known_kind("humans", humans, data["kind"].values)
    answers = data["correct"].values[data["kind"].values == humans]
    correct: NDArray[Any] = correctness(answers, no_response)
    if items is not None:
        correct, data = items.shares(correct), data.isel(trial=items.first)
    datasets, conditions = data["dataset"].values, data["condition"].values
    rows = []
    for dataset in dict.fromkeys(datasets.tolist()):
        here = datasets == dataset
        people = np.flatnonzero((correct[:, here] != LEFT_OUT).any(axis=1))
        if len(people) < 3:
            raise ValueError(
                f"noise ceilings need at least 3 humans in each data set, {dataset!r} has "
                f"{len(people)}; leave it out with trials.select(dataset=[...])"
            )
        row: dict[str, str | float] = {"level": dataset}
        for name, leave_out in (("lower", True), ("upper", False)):
            parts = []
            for condition in dict.fromkeys(conditions[here].tolist()):
                block = correct[np.ix_(people, np.flatnonzero(here & (conditions == condition)))]
                parts.append(_with_consensus(block, leave_out, metric))
            values = np.array([value for value, _ in parts])
            # Per human, the mean over conditions in which the consensus has a value.
            counts = np.isfinite(values).sum(axis=0)
            weight = np.isfinite(values) / np.maximum(counts, 1) / max((counts > 0).sum(), 1)
            row[name] = float(np.where(np.isfinite(values), weight * values, 0).sum())
            variance = sum(
                ((w[:, None] * influence).sum(axis=0) ** 2).sum()
                for w, (_, influence) in zip(weight, parts, strict=True)
            )
            row[f"{name}_se"] = float(np.sqrt(variance))
        rows.append(row)
    frame = pd.DataFrame(rows)
    overall: dict[str, str | float] = {"level": OVERALL}
    for name in ("lower", "upper"):
        overall[name] = frame[name].mean()
        overall[f"{name}_se"] = float(np.sqrt((frame[f"{name}_se"] ** 2).sum()) / len(frame))
    table = pd.concat([frame, pd.DataFrame([overall])], ignore_index=True)
    return table.assign(note=missing_note_of(trials.data, no_response, humans))


def _with_consensus(
    correct: NDArray[Any], leave_out: bool, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Consistency of each human with the consensus, and the influence of each trial on it."""
    answered = correct != LEFT_OUT
    right, total = np.where(answered, correct, 0), answered.astype(np.float64)
    votes, voters = right.sum(axis=0)[None], total.sum(axis=0)[None]
    if leave_out:
        votes, voters = votes - right, voters - total
    # Shares of items that came back are tied but for rounding.
    margin = np.sign(np.round(2 * votes - voters, 9))
    consensus = np.broadcast_to((1 + margin) / 2, correct.shape)
    used = answered & (np.broadcast_to(voters, correct.shape) > 0)
    shares = (
        np.stack(
            [
                right * consensus,
                right * (1 - consensus),
                (1 - right) * consensus,
                (1 - right) * (1 - consensus),
            ],
            axis=-1,
        )
        * used[..., None]
    )
    cells = shares.sum(axis=1)
    value = metric.value(cells)
    psi = np.where(np.isfinite(value)[:, None], metric.influence(cells), 0.0)
    influence = np.einsum("htc,hc->ht", shares, psi) / np.maximum(used.sum(axis=1), 1)[:, None]
    return value, influence


def test_equal_accuracy(trials: Trials, *, humans: str = "human") -> pd.DataFrame:
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
    >>> test_equal_accuracy(al.load_example())["n_humans"].tolist()
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
        table = test_equal_accuracy(of_type(trials, Trials, MAKE), humans=humans)
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
