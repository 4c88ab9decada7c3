"""Reader studies: by hand, invariances, coverage and promised power."""

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.benchmark import reader_study
from alikely.simulate import reader_study as readers


def test_means_and_differences_are_those_of_pairs() -> None:
    trials, _ = readers(4, 80, rng=1)
    study = reader_study(trials, "AI")
    result = al.error_consistency(trials, "human-model", n_resamples=0, n_draws=0, n_null=0)
    values = result.summary().groupby("condition")["estimate"].mean()
    np.testing.assert_allclose(study.modalities["estimate"], values[["A", "B"]])
    row = study.differences.iloc[0]
    assert row["estimate"] == pytest.approx(values["A"] - values["B"])
    # Readers who are fixed: the difference of means by covariances over the same cases.
    fixed = al.difference(result, {"condition": "A"}, {"condition": "B"})
    assert row["se_cases"] == pytest.approx(fixed.loc["analytic", "se"])
    assert row["se"] >= row["se_readers"]


def test_readers_alike_in_everything_bring_no_variance() -> None:
    """Copies of one reader: what is left is the error over cases."""
    right = np.random.default_rng(1).random((2, 90)) < 0.7
    copies = al.Trials.from_correct(
        np.concatenate([np.tile(right[0], (5, 1)), right[1:]]),
        observers=[*"abcde", "AI"],
        kind=["human"] * 5 + ["model"],
    )
    row = reader_study(copies, "AI").modalities.iloc[0]
    pair = al.error_consistency(al.Trials.from_correct(right), n_resamples=0, n_draws=0)
    assert row["se_readers"] == 0
    assert row["se_cases"] == pytest.approx(pair.estimates["se"].item())
    # Cases alone make the error: copies are no further evidence of them.
    assert row["se"] == pytest.approx(row["se_cases"])
    assert row["df"] == np.inf


def test_readers_among_themselves_are_pairs_by_jackknife() -> None:
    """Means of pairs; leaving out readers one by one; copies of a reader bring no variance."""
    trials, _ = readers(5, 60, rng=3)
    study = reader_study(trials)
    options = {"n_resamples": 0, "n_draws": 0, "n_null": 0}
    result = al.error_consistency(trials, "human-human", **options)
    pairs = result.summary()
    values = pairs.groupby("condition")["estimate"].mean()
    np.testing.assert_allclose(study.modalities["estimate"], values[["A", "B"]])
    row = study.differences.iloc[0]
    fixed = al.difference(result, {"condition": "A"}, {"condition": "B"})
    assert row["estimate"] == pytest.approx(values["A"] - values["B"])
    assert row["se_cases"] == pytest.approx(fixed.loc["analytic", "se"])
    names = [f"reader_{i}" for i in range(5)]
    without = []
    for name in names:
        kept = pairs[~(pairs[["observer_a", "observer_b"]] == name).any(axis=1)]
        means = kept.groupby("condition")["estimate"].mean()
        without.append(means["A"] - means["B"])
    jackknife = 4 / 5 * np.square(np.array(without) - np.mean(without)).sum()
    assert row["se_readers"] ** 2 == pytest.approx(jackknife)
    own = study.readers.set_index(["modality", "reader"])["estimate"]
    of_first = pairs[(pairs[["observer_a", "observer_b"]] == names[0]).any(axis=1)]
    assert own["A", names[0]] == pytest.approx(
        of_first.loc[of_first["condition"] == "A", "estimate"].mean()
    )


@pytest.mark.parametrize("ai", ["AI", None])
def test_one_by_one_the_order_of_readers_is_no_matter(ai: str | None) -> None:
    trials, _ = readers(5, 60, rng=3)
    turned = al.Trials(trials.data.isel(observer=[3, 1, 5, 0, 4, 2]))
    for one, other in zip(reader_study(trials, ai)[:2], reader_study(turned, ai)[:2], strict=True):
        pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("ai", ["AI", None])
def test_replicates_draw_readers_and_cases(ai: str | None) -> None:
    """Wider than the analytic interval by what single readings bring, and no more."""
    trials, _ = readers(12, 200, rng=5)
    study = reader_study(trials, ai, n_resamples=400, rng=1)
    again = reader_study(trials, ai, n_resamples=400, rng=1)
    pd.testing.assert_frame_equal(study.differences, again.differences)
    rows = pd.concat([study.modalities, study.differences])
    width = (rows["bootstrap_eti95_ub"] - rows["bootstrap_eti95_lb"]) / (2 * 1.96)
    # Readers' variance by (R - 1) / R at least, and 2.5 % quantiles of 400 replicates.
    room = 4 * np.sqrt(0.025 * 0.975 / 400) / 0.058 / 1.96
    assert (width >= rows["se"] * np.sqrt(11 / 12) * (1 - room)).all()
    both = np.sqrt(rows["se"] ** 2 + 2 * rows["of_both"] / (rows["n_readers"] * rows["n_cases"]))
    assert (width <= both * (1 + room)).all()
    assert (rows["undefined_share"] == 0).all()
    assert "bootstrap_eti95_lb" not in reader_study(trials, ai).modalities


def test_replicates_of_the_same_answers_in_both_modalities_do_not_differ() -> None:
    right = np.random.default_rng(1).random((5, 60)) < 0.7
    trials = al.Trials.from_correct(
        np.tile(right, 2),
        item=[*range(60)] * 2,
        condition=["A"] * 60 + ["B"] * 60,
        observers=[*"abcd", "AI"],
        kind=["human"] * 4 + ["model"],
    )
    for ai in ("AI", None):
        row = reader_study(trials, ai, n_resamples=50, rng=1).differences.iloc[0]
        np.testing.assert_allclose(row[["estimate", "se", "bootstrap_eti95_ub"]].astype(float), 0)
        assert row["n_cases"] == 60


def test_readers_of_one_modality_each_are_apart() -> None:
    """Split plot: the variance over readers of the difference is the sum of both."""
    trials, _ = readers(8, 60, rng=2)
    table = trials.to_table()
    number = table["observer"].str.extract(r"_(\d)")[0].astype(float)
    of_a = table["condition"] == "A"
    kept = table[(number.isna()) | (of_a & (number < 4)) | (~of_a & (number >= 4))]
    study = reader_study(al.Trials.from_table(kept), "AI", n_resamples=50, rng=1)
    assert (study.differences["undefined_share"] == 0).all()
    variance = study.modalities["se_readers"] ** 2
    row = study.differences.iloc[0]
    assert row["se_readers"] ** 2 == pytest.approx(variance.sum())
    assert row["n_readers"] == 4


@pytest.mark.slow
@pytest.mark.parametrize(("n_readers", "n_cases", "spread"), [(6, 100, 0.3), (10, 150, 0.0)])
def test_coverage_of_readers_among_themselves(
    n_readers: int, n_cases: int, spread: float, figure: Callable[[str], None]
) -> None:
    """Of the difference and of one mean; the truth is that of many readers and cases."""
    n_sets = 200
    many = reader_study(readers(60, 2_000, spread=spread, rng=10_000)[0])
    truth = many.differences.iloc[0], many.modalities.iloc[0]
    hits = []
    for seed in range(n_sets):
        study = reader_study(readers(n_readers, n_cases, spread=spread, rng=seed)[0])
        rows = study.differences.iloc[0], study.modalities.iloc[0]
        hits.append(
            [
                row["analytic_ci95_lb"] <= known["estimate"] <= row["analytic_ci95_ub"]
                for row, known in zip(rows, truth, strict=True)
            ]
        )
    difference, mean = np.mean(hits, axis=0)
    name = f"{n_readers} readers among themselves, {n_cases} cases, spread {spread}"
    figure(f"{name}: coverage of the difference {difference:.3f}, of a mean {mean:.3f}")
    # The truth itself is known within its standard error, about a tenth of the studies'.
    least = 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets) - 0.01
    assert min(difference, mean) >= least


@pytest.mark.slow
@pytest.mark.parametrize(("n_readers", "n_cases", "spread"), [(5, 100, 0.3), (10, 100, 0.0)])
def test_coverage_and_promised_power(
    n_readers: int, n_cases: int, spread: float, figure: Callable[[str], None]
) -> None:
    n_sets, hits, found = 150, [], []
    pilot, truth = readers(60, 1_000, spread=spread, rng=10_000)
    difference = truth[0] - truth[1]
    promised = al.planning.readers(
        reader_study(pilot, "AI"), n_readers, n_cases, difference=difference
    )["power"].item()
    for seed in range(n_sets):
        trials, _ = readers(n_readers, n_cases, spread=spread, rng=seed)
        row = reader_study(trials, "AI").differences.iloc[0]
        hits.append(row["analytic_ci95_lb"] <= difference <= row["analytic_ci95_ub"])
        found.append(row["p_value"] < 0.05)
    name = f"{n_readers} readers, {n_cases} cases, spread {spread}"
    figure(f"{name}: coverage {np.mean(hits):.3f}")
    figure(f"{name}: power promised {promised:.3f}, found {np.mean(found):.3f}")
    assert np.mean(hits) >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets)
    # Components of a pilot of 60 readers are within a tenth or so.
    room = 4 * np.sqrt(promised * (1 - promised) / n_sets) + 0.03
    assert np.mean(found) == pytest.approx(promised, abs=room)


def test_more_readers_and_cases_narrow() -> None:
    trials, _ = readers(6, 100, rng=1)
    study = reader_study(trials, "AI")
    table = al.planning.readers(study, [4, 8, 16], [100, 200, 400], difference=0.1)
    assert (table["width"].diff().dropna() < 0).all()
    assert (table["power"].diff().dropna() > 0).all()
    # The design of the pilot itself has its standard error, but for a variance below 0.
    same = al.planning.readers(study, 6, 100).iloc[0]
    assert same["se"] == pytest.approx(study.differences["se"].item(), rel=0.05)


def test_bad_input() -> None:
    trials, _ = readers(3, 30, rng=1)
    with pytest.raises(ValueError, match=r"ai must be an observer .*got 'ai'; did you mean 'AI'"):
        reader_study(trials, "ai")
    with pytest.raises(ValueError, match="at least 2 readers of kind 'robot'"):
        reader_study(trials, "AI", readers="robot")
    with pytest.raises(ValueError, match="at least 3 readers of kind 'human', got 2"):
        reader_study(trials.select(observer=["reader_0", "reader_1", "AI"]))
    with pytest.raises(ValueError, match="depends on the order of a pair"):
        reader_study(trials, metric="copy_probability")
    with pytest.raises(TypeError, match="expected Trials"):
        reader_study("x", "AI")  # type: ignore[arg-type]
    both = [trials.to_table().assign(dataset=name) for name in "xy"]
    two = al.Trials.from_table(pd.concat(both))
    with pytest.raises(ValueError, match="a reader study has one data set, got x, y"):
        reader_study(two, "AI")
    assert reader_study(trials, "AI").modalities["note"].str.contains("fewer than 4").all()
    with pytest.raises(TypeError, match="expected a ReaderStudy"):
        al.planning.readers(trials, 5, 100)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="whole numbers of at least 2"):
        al.planning.readers(reader_study(trials, "AI"), 1, 100)
