"""Conditions that a benchmark leaves out of its scores.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from alikely._base.names import listed, nearest
from alikely.data.readers.model_vs_human import normalise_condition
from alikely.data.trials import Trials

__all__ = ["EXCLUSIONS", "Exclusions", "exclude_conditions"]

Exclusions = Mapping[str, Sequence[str]]

# Conditions that the model-vs-human benchmark leaves out of its scores: undistorted ones, where
# humans make no errors to be consistent with, and those at chance [G21]_.
EXCLUSIONS: dict[str, Exclusions] = {
    "model-vs-human": {
        "colour": ["cr"],
        "contrast": ["c100", "c03", "c01"],
        "high-pass": ["inf", "0.55", "0.45", "0.4"],
        "low-pass": ["0", "15", "40"],
        "phase-scrambling": ["0", "150", "180"],
        "power-equalisation": ["0"],
        "false-colour": ["true"],
        "rotation": ["0"],
        "eidolonI": ["1-10-10", "64-10-10", "128-10-10"],
        "eidolonII": ["1-3-10", "32-3-10", "64-3-10", "128-3-10"],
        "eidolonIII": ["1-0-10", "16-0-10", "32-0-10", "64-0-10", "128-0-10"],
        "uniform-noise": ["0", "0.6", "0.9"],
    }
}


def exclude_conditions(trials: Trials, exclude: str | Exclusions) -> Trials:
    """Leave out conditions of data sets.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    exclude : str or mapping of str to sequence of str
        Name of a preset (``"model-vs-human"``), or conditions by data set. Labels are compared
        after `alikely.datasets.loaders.normalise_condition`, so that ``0.00`` is ``0``.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        If the preset is unknown, a data set of the trials lacks a condition that a mapping names
        for it, or nothing is left.

    Examples
    --------
    >>> import alikely as al
    >>> trials = exclude_conditions(al.load_example(), {"all": ["clean"]})
    >>> sorted(set(trials.data["condition"].values))
    ['blur', 'noise']
    """
    if isinstance(exclude, str) and exclude not in EXCLUSIONS:
        raise ValueError(
            f"exclude must be one of {listed(EXCLUSIONS)} or a mapping, got {exclude!r}"
            f"{nearest(exclude, EXCLUSIONS)}"
        )
    rules = EXCLUSIONS[exclude] if isinstance(exclude, str) else exclude
    datasets = trials.data["dataset"].values
    conditions = np.array([normalise_condition(c) for c in trials.data["condition"].values])
    drop = np.zeros(trials.n_trials, dtype=bool)
    for dataset, labels in rules.items():
        here = datasets == dataset
        wanted = {normalise_condition(label) for label in labels}
        missing = sorted(wanted - set(conditions[here])) if here.any() else []
        if missing and not isinstance(exclude, str):
            there = sorted(set(conditions[here]))
            raise ValueError(
                f"data set {dataset!r} has no condition {missing[0]!r} to exclude; there are: "
                f"{listed(there)}{nearest(missing[0], there)}"
            )
        drop |= here & np.isin(conditions, list(wanted))
    if drop.all():
        raise ValueError("nothing is left: every condition is excluded")
    kept = Trials(trials.data.isel(trial=~drop))
    return kept.select()
