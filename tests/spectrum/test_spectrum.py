"""The difficulty scale: closed forms, comparison with scipy, published values, bad input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from scipy import stats
from statsmodels.stats.diagnostic import lilliefors
from statsmodels.stats.multitest import multipletests

import alikely as al
from alikely.spectrum.difficulty import normality_checks, reference_values

SHOWN = 20
# Correct responses of 20 by human; the last saw only data set a, the one before only b.
RIGHT: dict[str, list[int | None]] = {
    "a:clean": [19, 18, None, 17],
    "b:clean": [18, 16, 15, None],
    "a:noise": [12, 10, None, 11],
    "b:noise": [3, 2, 1, None],
    "b:blur": [17, 18, 12, None],
}
REFERENCE = ["a:clean", "b:clean"]


def crowd(
    right: Mapping[str, Sequence[int | None]],
    *,
    shown: int = SHOWN,
    observers: Sequence[int] | None = None,
    rng: np.random.Generator | None = None,
    kind: Sequence[str] | None = None,
) -> al.Trials:
    """Trials with numbers correct by condition and human; None: no trials."""
    blocks, names = [], []
    for name, counts in right.items():
        block = np.ma.masked_all((len(counts), shown))
        for human, count in enumerate(counts):
            if count is not None:
                block[human] = np.arange(shown) < count
        blocks.append(block)
        names += [name] * shown
    correct = np.ma.concatenate(blocks, axis=1)
    people = np.array([f"human {i}" for i in range(len(correct))])
    kinds = np.array(kind or ["human"] * len(correct))
    order = np.arange(len(people)) if observers is None else np.asarray(observers)
    trial = np.arange(len(names)) if rng is None else rng.permutation(len(names))
    place = [names[t].split(":", 1) for t in trial]
    return al.Trials.from_correct(
        correct[order][:, trial],
        observers=people[order].tolist(),
        kind=kinds[order].tolist(),
        dataset=[first for first, _ in place],
        condition=[second for _, second in place],
        item=[f"item {t}" for t in trial],
    )


def spectrum_of(
    right: Mapping[str, Sequence[int | None]] = RIGHT,
    reference: str | Sequence[str] = REFERENCE,
    **options: Any,
) -> xr.Dataset:
    return al.difficulty_spectrum(crowd(right), reference, **{"chance": 1 / 16, **options})


def logits(name: str, correction: float = 0.0) -> np.ndarray:
    right = np.array([count for count in RIGHT[name] if count is not None])
    return np.log((right + correction) / (SHOWN - right + correction))


@pytest.mark.parametrize("correction", [0.0, 0.5])
def test_delta_by_its_formula(correction: float) -> None:
    spectrum = spectrum_of(correction=correction)
    assert spectrum["condition"].values.tolist() == list(RIGHT)
    sample = np.concatenate([logits(name, correction) for name in REFERENCE])
    assert spectrum.attrs["n_reference"] == 6
    assert spectrum.attrs["reference_mean"] == pytest.approx(sample.mean(), abs=1e-12)
    assert spectrum.attrs["reference_sd"] == pytest.approx(np.std(sample, ddof=1), abs=1e-12)
    np.testing.assert_allclose(np.sort(reference_values(spectrum)), np.sort(sample), atol=1e-12)
    for name in RIGHT:
        here = spectrum.sel(condition=name)
        own = logits(name, correction)
        assert here["logit_mean"].item() == pytest.approx(own.mean(), abs=1e-12)
        delta = (own.mean() - sample.mean()) / np.std(sample, ddof=1)
        assert here["delta"].item() == pytest.approx(delta, abs=1e-12)
        known = [count / SHOWN for count in RIGHT[name] if count is not None]
        assert here["accuracy"].item() == pytest.approx(np.mean(known))
        assert here["n_humans"].item() == 3
        assert f"{here['dataset'].item()}:{here['condition_name'].item()}" == name
    # Humans without trials have counts of 0 and no logit.
    assert spectrum["shown"].values.tolist()[0] == [SHOWN, SHOWN, 0, SHOWN]
    assert np.isnan(spectrum["logit_accuracy"].values[0, 2])


def test_p_values_against_scipy_and_closed_forms() -> None:
    spectrum = spectrum_of()
    sample = np.concatenate([logits(name) for name in REFERENCE])
    tested = ["a:noise", "b:noise", "b:blur"]
    mann_whitney, binomial = [], []
    for name in tested:
        both = stats.mannwhitneyu(logits(name), sample, use_continuity=True, method="asymptotic")
        mann_whitney.append(both.pvalue)
        right = sum(count for count in RIGHT[name] if count is not None)
        binomial.append(stats.binom.sf(right - 1, 3 * SHOWN, 1 / 16))
    here = spectrum.sel(condition=tested)
    np.testing.assert_allclose(here["mann_whitney_p"], mann_whitney, rtol=1e-12)
    np.testing.assert_allclose(here["binomial_p"], binomial, rtol=1e-9)
    # Only the three conditions outside the reference are tested.
    for name, p in (("mann_whitney_p", mann_whitney), ("binomial_p", binomial)):
        adjusted = multipletests(p, method="fdr_bh")[1]
        np.testing.assert_allclose(here[f"{name}_bh"], adjusted, rtol=1e-9)
        assert spectrum[name].isnull().values.tolist() == spectrum["is_reference"].values.tolist()
    assert here["above_chance"].values.tolist() == [True, False, True]
    assert spectrum.sel(condition=REFERENCE)["above_chance"].all()


def test_missing_responses_are_errors_or_excluded() -> None:
    truth = ["cat", "dog"] * 5 + ["cat", "dog"] * 5
    answers = np.array([truth] * 3, dtype=object)
    answers[:, [0, 10]] = "dog"
    answers[1, 3] = answers[2, 4] = answers[2, 13] = None
    answers[2, 1] = "cat"
    trials = al.Trials.from_arrays(
        answers, truth, kind=["human"] * 3, condition=["clean"] * 10 + ["noise"] * 10
    )
    as_error = al.difficulty_spectrum(trials, "clean")
    assert as_error.attrs["chance"] == 0.5
    assert as_error["right"].values.tolist() == [[9, 8, 7], [9, 9, 8]]
    assert as_error["shown"].values.tolist() == [[10, 10, 10], [10, 10, 10]]
    dropped = al.difficulty_spectrum(trials, "clean", no_response="drop")
    assert dropped["right"].values.tolist() == [[9, 8, 7], [9, 9, 8]]
    assert dropped["shown"].values.tolist() == [[10, 9, 9], [10, 10, 9]]


@pytest.mark.parametrize("reference", ["sharp", "c"])
def test_names_of_a_reference(reference: str) -> None:
    right = {**RIGHT, "c:sharp": [19, 18, 17, None]}
    spectrum = spectrum_of(right, reference)
    assert spectrum["condition"].values[spectrum["is_reference"].values].tolist() == ["c:sharp"]
    twice = spectrum_of(right, [reference, "c:sharp"])
    assert twice.attrs["n_reference"] == 3


def test_infinite_logits() -> None:
    """Delta is undefined with a reason, but ranks are defined."""
    right = {**RIGHT, "a:easy": [20, 20, None, 20], "a:hard": [0, 3, None, 4]}
    spectrum = spectrum_of(right)
    plain = spectrum_of()
    for name in ("a:easy", "a:hard"):
        here = spectrum.sel(condition=name)
        assert here[["delta", "logit_mean"]].isnull().to_array().all()
        assert here["reason"].item() == "a human is always or never correct: infinite logit"
    sample = reference_values(spectrum)
    p = stats.mannwhitneyu([1e3] * 3, sample, method="asymptotic").pvalue
    assert spectrum.sel(condition="a:easy")["mann_whitney_p"].item() == pytest.approx(p)
    np.testing.assert_array_equal(spectrum["delta"].values[: len(RIGHT)], plain["delta"].values)
    assert (plain["reason"] == "").all()
    corrected = spectrum_of(right, correction=0.5)
    assert np.isfinite(corrected["delta"]).all()
    assert corrected.sel(condition="a:easy")["logit_mean"].item() == pytest.approx(
        np.log(20.5 / 0.5)
    )


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 19), min_size=4, max_size=4), min_size=3, max_size=5),
    st.permutations(range(4)),
    st.integers(0, 2**32 - 1),
)
def test_invariant_to_the_order_of_observers_and_trials(
    counts: list[list[int]], order: list[int], seed: int
) -> None:
    counts[0] = [16, 19, 18, 17]
    right = {f"a:{i}": row for i, row in enumerate(counts)}
    first = al.difficulty_spectrum(crowd(right), "0", chance=0.1)
    trials = crowd(right, observers=order, rng=np.random.default_rng(seed))
    other = al.difficulty_spectrum(trials, "0", chance=0.1)
    other = other.sel(condition=first["condition"], observer=first["observer"])
    for name in first.data_vars:
        if first[name].dtype.kind == "f":
            np.testing.assert_allclose(other[name], first[name], rtol=1e-9, atol=1e-12)
        else:
            assert (other[name] == first[name]).all()


def test_normality_checks_against_their_sources() -> None:
    rng = np.random.default_rng(1)
    right = {f"a:{i}": rng.integers(8, 20, 4).tolist() for i in range(3)}
    table = normality_checks(spectrum_of(right, list(right))).set_index(["scale", "test"])
    accuracy = np.concatenate([right[name] for name in right]) / SHOWN
    for scale, values in (("accuracy", accuracy), ("logit", np.log(accuracy / (1 - accuracy)))):
        for name, test in (
            ("Shapiro-Wilk", stats.shapiro),
            ("D'Agostino-Pearson", stats.normaltest),
        ):
            row = table.loc[(scale, name)]
            assert (row["statistic"], row["p_value"]) == pytest.approx(tuple(test(values)))
        row = table.loc[(scale, "Lilliefors")]
        # statsmodels interpolates p in a table, with an error of up to 0.02.
        assert row["statistic"] == pytest.approx(lilliefors(values)[0])
        assert row["p_value"] == pytest.approx(lilliefors(values)[1], abs=0.02)
    assert (table["n"] == 12).all()
    assert (table["note"] == "").all()


def test_normality_checks_of_too_few_or_equal_values() -> None:
    table = normality_checks(spectrum_of({"a:clean": [19, 18, 17], "a:noise": [9] * 3}, "clean"))
    assert table["note"].tolist() == ["", "needs at least 8 values", "needs at least 4 values"] * 2
    assert table["p_value"].isna().tolist() == [False, True, True] * 2
    # 9 of 10 and 18 of 20 are one accuracy with two corrected logits.
    correct = np.ma.masked_all((3, 20))
    correct[0], correct[1], correct[2, :10] = [1] * 18 + [0] * 2, [0] * 2 + [1] * 18, [1] * 9 + [0]
    trials = al.Trials.from_correct(correct, kind=["human"] * 3, condition=["clean"] * 20)
    spectrum = al.difficulty_spectrum(trials, "clean", chance=0.1, correction=0.5)
    notes = normality_checks(spectrum).groupby("scale")["note"].first()
    assert notes.to_dict() == {"accuracy": "all values are equal", "logit": ""}


REAL_REFERENCE = [
    "contrast:c100",
    "high-pass:inf",
    "rotation:0",
    "low-pass:0",
    "phase-scrambling:0",
    "power-equalisation:0",
    "colour:bw",
]


def real_spectrum(shared_data: Path) -> xr.Dataset:
    trials = al.Trials.read(shared_data / "model_vs_human" / "trials.parquet")
    left_out = {
        "colour": ["cr"],
        "false-colour": ["true", "false"],
        "edge": ["0"],
        "silhouette": ["0"],
        "cue-conflict": ["0"],
    }
    return al.difficulty_spectrum(al.exclude_conditions(trials, left_out), REAL_REFERENCE)


def test_printed_tables(shared_data: Path) -> None:
    """Compare 72 conditions of 13 data sets, with missing responses as errors."""
    spectrum = real_spectrum(shared_data)
    assert spectrum.sizes["condition"] == 72
    assert spectrum.attrs["n_reference"] == 28
    assert spectrum.attrs["reference_mean"] == pytest.approx(2.1305, abs=5e-5)
    assert spectrum.attrs["reference_sd"] == pytest.approx(0.2866, abs=5e-5)
    assert spectrum["delta"].notnull().all()
    delta = spectrum["delta"].to_series().round(2)
    assert delta["contrast:c05"] == -9.61
    assert delta["low-pass:5"] == -5.58
    assert delta["sketch:0"] == 1.23
    assert delta["eidolonIII:128-0-10"] == -17.34

    printed = pd.read_csv(shared_data / "published" / "ood_spectrum_tables.csv")
    printed = printed.set_index("condition").rename(
        {"sketch": "sketch_0", "stylized": "stylized_0"}
    )
    names = [name.replace(":", "_") for name in spectrum["condition"].values]
    assert sorted(names) == sorted(printed.index)
    printed = printed.loc[names]
    assert (printed["is_reference"].values == spectrum["is_reference"].values).all()
    tested = ~spectrum["is_reference"].values
    assert tested.sum() == 65
    n_equal = {}
    for column, name in (
        ("mann_whitney_p_raw", "mann_whitney_p"),
        ("mann_whitney_p_adjusted", "mann_whitney_p_bh"),
    ):
        # As printed, to 5 decimals: half a unit of the last one, and its rounding.
        gap = np.abs(spectrum[name].values - printed[column].values)[tested]
        n_equal[name] = int((gap <= 5e-6 + 1e-12).sum())
    assert n_equal == {"mann_whitney_p": 59, "mann_whitney_p_bh": 58}
    at_chance = ~spectrum["above_chance"].values
    assert at_chance.sum() == 11
    assert (at_chance[tested] == ~printed["above_chance"].values[tested].astype(bool)).all()
