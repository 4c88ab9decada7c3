"""Counts of trials by the number of correct humans, for cohort models."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.checks import known_kind, of_type
from alikely.data.blocks import LEFT_OUT
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import nested_labels, refuse_repeats
from alikely.data.tables import MAKE, correctness, groups_of_trials
from alikely.data.trials import Trials


def cohort_counts(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    no_response: Literal["error", "drop"] = "error",
    who_was_right: bool = False,
) -> xr.Dataset:
    """Count trials and each model's correct responses, by the number of humans who were correct.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Observer kinds to count as models and as humans.
    no_response : {"error", "drop"}
        As in `joint_correctness`. With ``"drop"``, ``n_humans`` counts only humans who responded to
        the trial.
    who_was_right : bool
        Whether to also record which humans were correct on each trial, as required by generative
        models in which humans have different accuracies.

    Returns
    -------
    xarray.Dataset
        A stratum contains the trials of a condition with given numbers of humans who responded
        (``n_humans``) and were correct (``n_right``).

        - ``n_trials`` (stratum)
        - ``shown``, ``right`` (model, stratum): numbers of trials shown to each model and of
          correct responses by this model
        - ``stratum_condition`` (stratum): position on the dim ``condition``, which has the labels
          ``dataset | condition`` and the coord ``dataset``
        - ``human_shown``, ``human_right`` (person, condition): numbers of trials and of correct
          responses of each human in each data set (``dataset | observer``)
        - ``answers`` (stratum, person), only with `who_was_right`: 1 (correct), 0 (incorrect), -1
          (no response). With `who_was_right`, strata also distinguish which humans were correct.
          All response patterns are included if all humans responded to the same trials and there
          are no more patterns than trials; otherwise, only observed patterns are included.

    Raises
    ------
    ValueError
        If an option is unknown, if the kind `models` or `humans` has no observers, or if a
        condition has no humans.
    ValueError
        If items are repeated, because responses to the same item are not independent trials.

    Examples
    --------
    >>> import alikely as al
    >>> counts = cohort_counts(al.load_example().select(condition="noise"))
    >>> counts["n_right"].values.tolist(), counts["n_trials"].values.tolist()
    ([0, 1, 2, 3, 4], [24, 23, 26, 31, 56])
    """
    data = of_type(trials, Trials, MAKE).data
    refuse_repeats(data, "the cohort model")
    refuse_inclusion(data, "the cohort model")
    kind = data["kind"].values
    for option, name in (("humans", humans), ("models", models)):
        known_kind(option, name, kind)
    correct = correctness(data["correct"].values, no_response)
    people, shown_models = correct[kind == humans], correct[kind == models]
    group, labels = groups_of_trials(data, "condition")
    answered, right = (people != LEFT_OUT).sum(axis=0), (people == 1).sum(axis=0)
    names = nested_labels(labels["dataset"], labels["condition"])
    alone = np.setdiff1d(np.arange(len(names)), group[answered > 0])
    if len(alone):
        raise ValueError(
            f"condition {names[alone[0]]!r} has no human; leave it out with trials.select(...)"
        )
    of_trial = data["dataset"].values
    persons = [
        (observer, dataset)
        for dataset in dict.fromkeys(of_trial.tolist())
        for observer in np.flatnonzero(kind == humans)
        if (correct[observer, of_trial == dataset] != LEFT_OUT).any()
    ]
    in_condition = group[:, None] == np.arange(len(names))
    answers = np.stack([np.where(of_trial == d, correct[o], LEFT_OUT) for o, d in persons])
    by_person = {}
    if who_was_right:
        keys = np.concatenate([group[:, None], answers.T], axis=1)
        rows = _patterns(keys)
        taken = rows[:, 1:] != LEFT_OUT, rows[:, 1:] == 1
        strata = np.stack([rows[:, 0], *(part.sum(axis=1) for part in taken)], axis=1)
        by_person = {"answers": (("stratum", "person"), rows[:, 1:])}
    else:
        keys = np.stack([group, answered, right], axis=1)
        kinds = np.unique(keys[:, :2], axis=0).tolist()
        rows = strata = np.array([(c, n, s) for c, n in kinds for s in range(n + 1)])
    index = pd.MultiIndex.from_arrays(list(rows.T))
    member = index.get_indexer(pd.MultiIndex.from_arrays(list(keys.T)))
    membership = np.zeros((len(group), len(strata)), dtype=np.int64)
    membership[np.arange(len(group)), member] = 1
    return xr.Dataset(
        {
            **by_person,
            "n_trials": ("stratum", membership.sum(axis=0)),
            **{
                prefix + name: (dims, chosen.astype(np.int64) @ of)
                for prefix, dims, responses, of in (
                    ("", ("model", "stratum"), shown_models, membership),
                    ("human_", ("person", "condition"), answers, in_condition),
                )
                for name, chosen in (("shown", responses != LEFT_OUT), ("right", responses == 1))
            },
        },
        coords={
            "model": data["observer"].values[kind == models].astype(object),
            "condition": names,
            "dataset": ("condition", labels["dataset"].to_numpy(object)),
            "person": nested_labels(
                (d for _, d in persons), (trials.observers[o] for o, _ in persons)
            ),
            "person_dataset": ("person", np.array([d for _, d in persons], object)),
            "stratum_condition": ("stratum", strata[:, 0]),
            "n_humans": ("stratum", strata[:, 1]),
            "n_right": ("stratum", strata[:, 2]),
        },
        attrs={"no_response": no_response},
    )


def _patterns(seen: NDArray[np.int64]) -> NDArray[np.int64]:
    """Strata by condition and response pattern: all patterns, or those that occurred."""
    # Humans who responded to the same trials, by condition.
    together, number = np.unique(
        np.concatenate([seen[:, :1], np.minimum(seen[:, 1:], 0)], axis=1),
        axis=0,
        return_inverse=True,
    )
    strata = []
    for k, row in enumerate(together):
        seats = np.flatnonzero(row[1:] != LEFT_OUT) + 1
        here = seen[number.ravel() == k]
        if 2 ** len(seats) <= len(here):
            rows = np.repeat(row[None], 2 ** len(seats), axis=0)
            rows[:, seats] = np.arange(len(rows))[:, None] >> np.arange(len(seats)) & 1
        else:
            rows = np.unique(here, axis=0)
        strata.append(rows)
    return np.concatenate(strata)
