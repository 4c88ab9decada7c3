"""Difficulty of conditions on one scale, relative to undistorted reference conditions.

References
----------
.. [G76] Glass (1976). Primary, secondary, and meta-analysis of research.
   doi:10.3102/0013189X005010003
.. [MW47] Mann, Whitney (1947). On a test of whether one of two random variables is stochastically
   larger than the other. doi:10.1214/aoms/1177730491
.. [A56] Anscombe (1956). On estimating binomial response relations. doi:10.1093/biomet/43.3-4.461
.. [SW65] Shapiro, Wilk (1965). An analysis of variance test for normality.
   doi:10.1093/biomet/52.3-4.591
.. [DP73] D'Agostino, Pearson (1973). Tests for departure from normality.
   doi:10.1093/biomet/60.3.613
.. [L67] Lilliefors (1967). On the Kolmogorov-Smirnov test for normality with mean and variance
   unknown. doi:10.1080/01621459.1967.10482916
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.checks import known_kind, of_type
from alikely._base.names import listed, nearest
from alikely.data.blocks import LEFT_OUT
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import condition_labels, presented
from alikely.data.summaries import missing_note_of
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.inference.intervals import adjusted_p_values

FEWEST_REFERENCE_VALUES = 3
LEVEL = 0.05
# Equal values may differ by rounding of the logarithm.
NO_SPREAD = 1e-12
ROUNDING = 1e-9


def difficulty_spectrum(
    trials: Trials,
    reference: str | Sequence[str],
    *,
    chance: float | None = None,
    kind: str = "human",
    no_response: str = "error",
    correction: float = 0.0,
) -> xr.Dataset:
    """Compute the difficulty of each condition for humans (Glass's delta of logit accuracies).

    Parameters
    ----------
    trials : Trials
        Responses of humans; observers of other kinds are ignored. If items are repeated, all
        responses of an observer to an item count as one response, the proportion correct.
    reference : str or sequence of str
        Conditions without distortion, named ``dataset:condition``. The name of a condition or of a
        data set alone is sufficient if it identifies a single condition.
    chance : float, optional
        Accuracy expected from guessing, in (0, 1). Default: 1 divided by the number of classes.
    kind : str
        Kind of observer whose accuracy defines difficulty.
    no_response : {"error", "drop"}
        Whether to count an observer's missing response as an error, or to exclude the trial for
        this observer.
    correction : float
        Number added to the counts of correct and of incorrect responses before the logit is
        computed. With a correction of 0.5 [A56]_, the logit is finite even if the accuracy is 0
        or 1.

    Returns
    -------
    xarray.Dataset
        Dimensions are ``condition`` (``dataset:condition``, in the order of the data) and
        ``observer``. Variables for each condition and observer:

        - ``right``, ``shown``: numbers of correct responses and of trials; for repeated items, sums
          of proportions and numbers of items
        - ``logit_accuracy``: NaN if an observer has no responses

        Variables by condition:

        - ``dataset``, ``condition_name``, ``is_reference``, ``n_humans``
        - ``accuracy``, ``logit_mean``: means over humans
        - ``delta``: Glass's delta [G76]_, the difference from the mean of the reference in units of
          the reference's standard deviation (ddof 1); negative values indicate more difficult
          conditions
        - ``mann_whitney_p``: p-value of the Mann-Whitney test against the reference values [MW47]_
          (normal approximation with corrections for ties and continuity)
        - ``binomial_p``: p-value of the one-sided binomial test of the pooled responses against
          chance
        - ``mann_whitney_p_bh``, ``binomial_p_bh``: p-values adjusted over all conditions except the
          reference (Benjamini-Hochberg)
        - ``above_chance``: whether the adjusted binomial p-value is below 0.05; true for the
          reference
        - ``reason``: the reason if a delta is undefined

        The attributes are ``reference_mean``, ``reference_sd``, ``n_reference``, ``chance``,
        ``kind``, ``no_response``, ``correction``, ``repeats`` (``"crossed"`` if items are repeated,
        else empty) and ``missing_note`` (text about missing responses).

    Raises
    ------
    ValueError
        If a reference condition does not exist or is ambiguous.
    ValueError
        If there are fewer than 3 reference values, if a reference value is infinite, or if all
        reference values are equal.
    ValueError
        If a condition has fewer than two observers of kind `kind`.
    ValueError
        If `chance` is not in (0, 1), or is not given and the trials contain only correctness.

    Notes
    -----
    The binomial test assumes independent responses, but responses of several humans to one image
    are correlated. If items are repeated, the binomial test uses the sum of the proportions
    correct, rounded down to a whole number.

    The standard deviation of logit accuracy across reference conditions includes binomial noise.
    Because of binomial noise, Glass's delta depends on the number of trials, even for the same
    humans. `alikely.fit_spectrum` separates difficulty from binomial noise, but requires that each
    human responds to each item only once.

    Examples
    --------
    >>> import alikely as al
    >>> spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    >>> spectrum["delta"].values.round(1).tolist()
    [0.0, -5.4, -7.8]
    """
    of_type(trials, Trials, "make them with Trials.from_table")
    if chance is None:
        if not trials.has_classes:
            raise ValueError(
                "these trials contain correctness only: give the accuracy of guessing, chance=..."
            )
        chance = 1 / len(trials.classes)
    if not 0 < chance < 1:
        raise ValueError(f"chance must lie strictly between 0 and 1, got {chance}; try 1/16")
    if not 0 <= correction < np.inf:
        raise ValueError(f"correction must be finite, not negative, got {correction}; try 0.5")
    names, right, shown = _counts(trials, kind, no_response)
    chosen = _resolve(reference, names)
    with np.errstate(divide="ignore", invalid="ignore"):
        logit = np.log((right + correction) / (shown - right + correction))
        accuracy = np.where(shown > 0, right / shown, np.nan)
    logit[shown == 0] = np.nan
    sample = logit[chosen][~np.isnan(logit[chosen])]
    mean, sd = _reference_scale(sample)
    tested = np.setdiff1d(np.arange(len(names)), chosen)
    finite = np.array([np.isfinite(row[~np.isnan(row)]).all() for row in logit])
    logit_mean = np.full(len(names), np.nan)
    logit_mean[finite] = np.nanmean(logit[finite], axis=1)
    mann_whitney, binomial = np.full((2, len(names)), np.nan)
    for c in tested:
        own = logit[c][~np.isnan(logit[c])]
        mann_whitney[c] = stats.mannwhitneyu(own, sample, method="asymptotic").pvalue
        # Sums of proportions may differ from a whole number by rounding.
        n_right, n_shown = int(right[c].sum() + ROUNDING), int(shown[c].sum())
        binomial[c] = stats.binomtest(n_right, n_shown, chance, alternative="greater").pvalue
    adjusted = adjusted_p_values(binomial)
    places = np.array([name.split(":", 1) for name in names], dtype=object).T
    by_condition: dict[str, Any] = {
        "is_reference": np.isin(np.arange(len(names)), chosen),
        "n_humans": (shown > 0).sum(axis=1),
        "accuracy": np.nanmean(accuracy, axis=1),
        "logit_mean": logit_mean,
        "delta": (logit_mean - mean) / sd,
        "mann_whitney_p": mann_whitney,
        "mann_whitney_p_bh": adjusted_p_values(mann_whitney),
        "binomial_p": binomial,
        "binomial_p_bh": adjusted,
        "above_chance": np.isnan(adjusted) | (adjusted < LEVEL),
        "reason": np.where(finite, "", "a human is always or never correct: infinite logit"),
    }
    spectrum = xr.Dataset(
        {
            "right": (("condition", "observer"), right),
            "shown": (("condition", "observer"), shown),
            "logit_accuracy": (("condition", "observer"), logit),
            **{name: ("condition", value) for name, value in by_condition.items()},
        },
        coords={
            "condition": np.array(names, dtype=object),
            "dataset": ("condition", places[0]),
            "condition_name": ("condition", places[1]),
            "observer": trials.data["observer"].values[trials.data["kind"].values == kind],
        },
    )
    spectrum.attrs = {
        "reference_mean": mean,
        "reference_sd": sd,
        "n_reference": len(sample),
        "chance": float(chance),
        "kind": kind,
        "no_response": no_response,
        "missing_note": missing_note_of(trials.data, no_response, kind),
        "correction": float(correction),
        "repeats": "" if right.dtype.kind == "i" else "crossed",
    }
    return spectrum


def reference_values(spectrum: xr.Dataset) -> NDArray[np.float64]:
    """Logit accuracies of the reference, one per condition and human."""
    values = spectrum["logit_accuracy"].values[spectrum["is_reference"].values]
    return np.asarray(values[~np.isnan(values)])


def normality_checks(spectrum: xr.Dataset) -> pd.DataFrame:
    """Test normality of reference accuracies and of their logits [SW65]_ [DP73]_ [L67]_."""
    here = spectrum["is_reference"].values
    right, shown = (spectrum[name].values[here] for name in ("right", "shown"))
    part = shown > 0
    scales = {"accuracy": right[part] / shown[part], "logit": reference_values(spectrum)}
    # Minimum sample sizes of D'Agostino and Pearson's kurtosis and of Lilliefors' table.
    tests = {
        "Shapiro-Wilk": (stats.shapiro, 3),
        "D'Agostino-Pearson": (stats.normaltest, 8),
        "Lilliefors": (_lilliefors, 4),
    }
    rows = []
    for scale, values in scales.items():
        for name, (test, fewest) in tests.items():
            note = "" if len(values) >= fewest else f"needs at least {fewest} values"
            if np.ptp(values) < NO_SPREAD:
                note = "all values are equal"
            statistic, p = (np.nan, np.nan) if note else test(values)
            rows.append((scale, name, len(values), float(statistic), float(p), note))
    return pd.DataFrame(rows, columns=["scale", "test", "n", "statistic", "p_value", "note"])


def _lilliefors(values: NDArray[np.float64]) -> tuple[float, float]:
    """Kolmogorov-Smirnov statistic for a normal with estimated parameters, and its p-value."""
    found = stats.goodness_of_fit(
        stats.norm, values, statistic="ks", n_mc_samples=99_999, rng=np.random.default_rng(0)
    )
    return found.statistic, found.pvalue


def _counts(
    trials: Trials, kind: str, no_response: str
) -> tuple[list[str], NDArray[Any], NDArray[np.int64]]:
    """Names of the conditions; numbers of correct and all responses (condition, observer)."""
    items = presented(trials.data)
    data = trials.data if items is None else trials.data.isel(trial=items.first)
    names, number = condition_labels(data)
    known_kind("kind", kind, trials.data["kind"].values)
    people = trials.data["kind"].values == kind
    refuse_inclusion(trials.data, "the spectrum of difficulty")
    correct: NDArray[Any] = correctness(trials.data["correct"].values[people], no_response)
    if items is not None:
        correct = items.shares(correct)
    answered = correct != LEFT_OUT
    right, shown = (
        np.stack([np.bincount(number, weights, len(names)) for weights in mask], axis=1)
        for mask in (np.where(answered, correct, 0).astype(float), answered.astype(float))
    )
    n_humans = (shown > 0).sum(axis=1)
    if (n_humans < 2).any():
        bad = int(np.argmax(n_humans < 2))
        raise ValueError(
            f"difficulty needs at least 2 observers of kind {kind!r} in each condition, "
            f"{names[bad]!r} has {n_humans[bad]}; leave it out with trials.select(...)"
        )
    shown = shown.astype(np.int64)
    return names, right.astype(np.int64) if items is None else right, shown


def _resolve(reference: str | Sequence[str], names: list[str]) -> list[int]:
    """Positions of the reference conditions."""
    wanted = [reference] if isinstance(reference, str) else list(reference)
    if not wanted:
        raise ValueError("reference is empty; give at least one condition, as dataset:condition")
    chosen = []
    for name in wanted:
        # Condition names may contain colons, so full names are tried first.
        found = [i for i, full in enumerate(names) if name == full] or [
            i for i, full in enumerate(names) if name in full.split(":", 1)
        ]
        if not found:
            raise ValueError(
                f"no reference condition {name!r}; conditions are: {listed(names)}"
                f"{nearest(name, names)}"
            )
        if len(found) > 1:
            raise ValueError(
                f"reference {name!r} matches {len(found)} conditions ({names[found[0]]}, "
                f"{names[found[1]]}, ...); write dataset:condition"
            )
        chosen.append(found[0])
    return sorted(set(chosen))


def _reference_scale(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation of the reference values; an error if they are undefined."""
    if len(values) < FEWEST_REFERENCE_VALUES:
        raise ValueError(
            f"the reference needs at least {FEWEST_REFERENCE_VALUES} values (one per condition and "
            f"human), got {len(values)}; name more reference conditions"
        )
    if np.isinf(values).any():
        raise ValueError(
            f"{int(np.isinf(values).sum())} reference values are infinite: a human is always or "
            "never correct; use correction=0.5, or alikely.fit_spectrum"
        )
    sd = float(values.std(ddof=1))
    if sd < NO_SPREAD:
        raise ValueError(
            f"all {len(values)} reference values are equal, so their standard deviation is 0; name "
            "more reference conditions"
        )
    return float(values.mean()), sd
