"""The humans of a benchmark: noise ceilings and a test of equal accuracy.

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

# Significance level of the note that humans differ in accuracy. Four humans on 160 images reach it
# if the standard deviation of their accuracies is about 0.2 logits.
ALPHA = 0.01
# Equal proportions differ from their mean by rounding.
NO_SPREAD = 1e-12


def noise_ceilings(
    trials: Trials, metric: Metric, *, humans: str = "human", no_response: str = "error"
) -> pd.DataFrame:
    """Compute bounds on the highest consistency with these humans that a model could reach [NK14]_.

    The consensus is the majority of humans on a trial; a tie counts as half correct. A repeated
    item counts as one trial, on which a human's vote is the proportion correct. The upper bound is
    the mean consistency of humans with the consensus of all humans. The lower bound uses, for each
    human, the consensus of the other humans. Standard errors generalize to new images.
    """
    correct, labels = _answers(trials, humans, no_response)
    datasets, conditions = labels["dataset"].to_numpy(), labels["condition"].to_numpy()
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
            # Mean of each human over the conditions in which the consensus has a value.
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
    of_all = pd.DataFrame([frame[["lower", "upper"]].mean()]).assign(level=OVERALL)
    for name in ("lower_se", "upper_se"):
        of_all[name] = np.sqrt((frame[name] ** 2).sum()) / len(frame)
    table = pd.concat([frame, of_all], ignore_index=True)
    return table.assign(note=missing_note_of(trials.data, no_response, humans))


def _answers(trials: Trials, humans: str, no_response: str) -> tuple[NDArray[Any], pd.DataFrame]:
    """Correctness of the humans, once for each item, and data set and condition of the items."""
    data, items = trials.data, presented(trials.data)
    known_kind("humans", humans, data["kind"].values)
    answers = data["correct"].values[data["kind"].values == humans]
    correct: NDArray[Any] = correctness(answers, no_response)
    if items is not None:
        correct, data = items.shares(correct), data.isel(trial=items.first)
    return correct, pd.DataFrame({name: data[name].values for name in ("dataset", "condition")})


def _with_consensus(
    correct: NDArray[Any], leave_out: bool, metric: Metric
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Consistency of each human with the consensus, and the influence of each trial."""
    answered = correct != LEFT_OUT
    right, total = np.where(answered, correct, 0), answered.astype(np.float64)
    votes, voters = right.sum(axis=0)[None], total.sum(axis=0)[None]
    if leave_out:
        votes, voters = votes - right, voters - total
    # Without rounding, tied proportions of repeated items may differ slightly.
    margin = np.sign(np.round(2 * votes - voters, 9))
    consensus = np.broadcast_to((1 + margin) / 2, correct.shape)
    used = answered & (np.broadcast_to(voters, correct.shape) > 0)
    sides = [(a, b) for a in (right, 1 - right) for b in (consensus, 1 - consensus)]
    shares = np.stack([a * b for a, b in sides], axis=-1) * used[..., None]
    cells = shares.sum(axis=1)
    value = metric.value(cells)
    psi = np.where(np.isfinite(value)[:, None], metric.influence(cells), 0.0)
    influence = np.einsum("htc,hc->ht", shares, psi) / np.maximum(used.sum(axis=1), 1)[:, None]
    return value, influence


def test_equal_accuracy(trials: Trials, *, humans: str = "human") -> pd.DataFrame:
    """Test whether the humans in each condition have the same accuracy (Cochran's Q [C50]_).

    Only trials that all humans of a condition were shown are used.
    """
    right, labels = _answers(trials, humans, "error")
    rows = []
    groups = labels.groupby(["dataset", "condition"], sort=False).indices
    for (dataset, condition), where in groups.items():
        here = right[:, where]
        here = here[(here != LEFT_OUT).any(axis=1)]
        complete = (here != LEFT_OUT).all(axis=0)
        if len(here) < 2:
            continue
        x = here[:, complete]
        per_human, k = x.sum(axis=1), len(x)
        # Variation of the responses to a trial: for 0 and 1, correct times incorrect over k.
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


def note_on_alike(trials: Trials, humans: str) -> str:
    """Return a note if Cochran's Q of all conditions contradicts exchangeable humans."""
    try:
        table = test_equal_accuracy(of_type(trials, Trials, MAKE), humans=humans)
    except ValueError:
        # A single human cannot differ from others.
        return ""
    table = table[table["q"].notna()]
    p = float(stats.chi2.sf(table["q"].sum(), (table["n_humans"] - 1).sum()))
    if p >= ALPHA or table.empty:
        return ""
    number = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return (
        f"Humans differ in accuracy (Cochran's Q, {number}): intervals for new humans are too "
        "narrow. Use human_effects='drawn'."
    )
