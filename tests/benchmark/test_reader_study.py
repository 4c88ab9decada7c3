"""Reader studies: by hand, invariances, coverage and planned power."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import alikely as al
from alikely.benchmark import reader_study
from alikely.benchmark.readers import STRONG, _group_notes
from alikely.inference.influence import covariance_of
from alikely.simulate import reader_study as readers


def _error_over_cases(result: al.Result) -> float:
    """Standard error over shared cases of the difference of means of conditions A and B."""
    condition = result.pairs["condition"]
    weights = np.where(condition == "A", 1.0, -1.0) / (len(condition) / 2)
    cluster = result.data.attrs["cluster"] or None
    return float(np.sqrt(covariance_of(result.table, result.metric, cluster, weights[None])[0, 0]))


def test_means_and_differences_are_those_of_pairs() -> None:
    trials, _ = readers(4, 80, rng=1)
    study = reader_study(trials, "AI")
    result = al.error_consistency(trials, "human-model", n_resamples=0, n_draws=0)
    values = result.summary().groupby("condition")["estimate"].mean()
    np.testing.assert_allclose(study.summary()["estimate"], values[["A", "B"]])
    row = al.benchmark.differences(study).iloc[0]
    assert row["estimate"] == pytest.approx(values["A"] - values["B"])
    # For fixed readers, the error of the difference comes from covariances over shared cases.
    assert row["se_cases"] == pytest.approx(_error_over_cases(result))
    assert row["se"] >= row["se_readers"]


def test_identical_readers_add_no_variance() -> None:
    """With copies of one reader, only the error over cases remains."""
    right = np.random.default_rng(1).random((2, 90)) < 0.7
    copies = al.Trials.from_correct(
        np.concatenate([np.tile(right[0], (5, 1)), right[1:]]),
        observers=[*"abcde", "AI"],
        kind=["human"] * 5 + ["model"],
    )
    row = reader_study(copies, "AI").summary().iloc[0]
    pair = al.error_consistency(al.Trials.from_correct(right), n_resamples=0, n_draws=0)
    assert row["se_readers"] == 0
    assert row["se_cases"] == pytest.approx(pair.estimates["se"].item())
    # Only cases contribute to the error; copies add no information about them.
    assert row["se"] == pytest.approx(row["se_cases"])
    assert row["df"] == row["df_cases"]


@settings(max_examples=6)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_readers=st.integers(3, 8),
    n_cases=st.integers(15, 60),
    alike=st.booleans(),
    ai=st.sampled_from(["AI", None]),
)
def test_intervals_are_never_narrower_than_those_for_fixed_readers(
    seed: int, n_readers: int, n_cases: int, alike: bool, ai: str | None
) -> None:
    """Compare with Student's interval from the variance and degrees of freedom of cases."""
    spread = 0.0 if alike else 0.4
    trials, _ = readers(n_readers, n_cases, spread=spread, rng=seed)
    study = reader_study(trials, ai)
    rows = pd.concat([study.summary(), al.benchmark.differences(study)])
    half = (rows["analytic_ci95_ub"] - rows["analytic_ci95_lb"]) / 2
    fixed = stats.t.ppf(0.975, np.nan_to_num(rows["df_cases"], nan=np.inf)) * rows["se_cases"]
    assert (half >= fixed * (1 - 1e-12)).all()
    assert (rows["se"] >= rows[["se_readers", "se_cases"]].max(axis=1) * (1 - 1e-12)).all()


def test_readers_among_themselves_are_pairs_by_jackknife() -> None:
    """Compare with means of pairs and the jackknife over readers; copies add no variance."""
    trials, _ = readers(5, 60, rng=3)
    study = reader_study(trials)
    options = {"n_resamples": 0, "n_draws": 0}
    result = al.error_consistency(trials, "human-human", **options)
    pairs = result.summary()
    values = pairs.groupby("condition")["estimate"].mean()
    np.testing.assert_allclose(study.summary()["estimate"], values[["A", "B"]])
    row = al.benchmark.differences(study).iloc[0]
    assert row["estimate"] == pytest.approx(values["A"] - values["B"])
    assert row["se_cases"] == pytest.approx(_error_over_cases(result))
    names = [f"reader_{i}" for i in range(5)]
    without = []
    for name in names:
        kept = pairs[~(pairs[["observer_a", "observer_b"]] == name).any(axis=1)]
        means = kept.groupby("condition")["estimate"].mean()
        without.append(means["A"] - means["B"])
    jackknife = 4 / 5 * np.square(np.array(without) - np.mean(without)).sum()
    assert row["se_readers"] ** 2 == pytest.approx(jackknife)
    own = study.estimates["reader_mean"].to_series()
    of_first = pairs[(pairs[["observer_a", "observer_b"]] == names[0]).any(axis=1)]
    assert own["A", names[0]] == pytest.approx(
        of_first.loc[of_first["condition"] == "A", "estimate"].mean()
    )


@pytest.mark.parametrize("ai", ["AI", None])
def test_the_order_of_readers_does_not_matter(ai: str | None) -> None:
    trials, _ = readers(5, 60, rng=3)
    turned = al.Trials(trials.data.isel(observer=[3, 1, 5, 0, 4, 2]))
    one, other = reader_study(trials, ai), reader_study(turned, ai)
    pd.testing.assert_frame_equal(one.summary(), other.summary())
    pd.testing.assert_frame_equal(al.benchmark.differences(one), al.benchmark.differences(other))


def test_the_same_answers_in_both_modalities_do_not_differ() -> None:
    right = np.random.default_rng(1).random((5, 60)) < 0.7
    trials = al.Trials.from_correct(
        np.tile(right, 2),
        item=[*range(60)] * 2,
        condition=["A"] * 60 + ["B"] * 60,
        observers=[*"abcd", "AI"],
        kind=["human"] * 4 + ["model"],
    )
    for ai in ("AI", None):
        row = al.benchmark.differences(reader_study(trials, ai)).iloc[0]
        np.testing.assert_allclose(row[["estimate", "se", "analytic_ci95_ub"]].astype(float), 0)
        assert row["n_cases"] == 60


def test_readers_of_one_modality_each_are_independent() -> None:
    """In a split plot, the reader variance of the difference is the sum of both variances."""
    trials, _ = readers(8, 60, rng=2)
    table = trials.to_table()
    number = table["observer"].str.extract(r"_(\d)")[0].astype(float)
    of_a = table["condition"] == "A"
    kept = table[(number.isna()) | (of_a & (number < 4)) | (~of_a & (number >= 4))]
    study = reader_study(al.Trials.from_table(kept), "AI")
    variance = study.summary()["se_readers"] ** 2
    row = al.benchmark.differences(study).iloc[0]
    assert row["se_readers"] ** 2 == pytest.approx(variance.sum())
    assert row["n_readers"] == 4


class Studies(NamedTuple):
    """Differences of two modalities with an AI, and variances, of many studies: (study,)."""

    difference: np.ndarray
    by_readers: np.ndarray
    by_cases: np.ndarray
    by_both: np.ndarray
    df_cases: np.ndarray

    def interval(self, n_readers: int) -> tuple[np.ndarray, np.ndarray]:
        """Variance for new readers and cases, and half width of the interval."""
        beyond = np.maximum(self.by_cases - self.by_both, 0)
        variance = np.maximum(self.by_readers + beyond, self.by_cases)
        parts = self.by_readers**2 / (n_readers - 1) + beyond**2 / self.df_cases
        df = np.minimum(variance**2 / parts, self.df_cases)
        return variance, stats.t.ppf(0.975, df) * np.sqrt(variance)


def answers(
    rng: np.random.Generator, n_sets: int, n_readers: int, n_cases: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """Responses as in `simulate.reader_study`, (modality, study, reader, case), and the AI."""
    middle = stats.norm.ppf(0.75)
    common, limit = rng.standard_normal((2, n_sets, n_readers, 1))
    both, own = (
        np.sqrt(0.7) * once + np.sqrt(0.3) * rng.standard_normal((2, *once.shape[1:]))
        for once in (
            rng.standard_normal((1, n_sets, n, n_cases), np.float32) for n in (1, n_readers)
        )
    )
    z = (common + rng.standard_normal((2, n_sets, n_readers, 1))) / np.sqrt(2)
    r = np.tanh(np.arctanh(np.reshape([0.6, 0.4], (2, 1, 1, 1))) + spread * z)
    evidence = r * both + np.sqrt(1 - r**2) * own
    return evidence < middle + spread * limit, both < middle


def differences_of(right: np.ndarray, of_ai: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Differences of error consistency (study, reader), and influences of cases, by hand."""
    a, b = right.astype(float), of_ai.astype(float)
    p, q = a.mean(axis=-1, keepdims=True), b.mean(axis=-1, keepdims=True)
    same = right == of_ai
    observed, chance = same.mean(axis=-1, keepdims=True), p * q + (1 - p) * (1 - q)
    kappa = (observed - chance) / (1 - chance)
    slope = (2 * q - 1) * (a - p) + (2 * p - 1) * (b - q)
    influence = (same - observed - (1 - kappa) * slope) / (1 - chance) / a.shape[-1]
    value, moved = (x[0] - x[1] for x in (kappa[..., 0], influence))
    return value, moved


def jackknife(x: np.ndarray) -> np.ndarray:
    """Change of a mean over readers (second axis) without each reader."""
    n = x.shape[1]
    return np.asarray((x - x.mean(axis=1, keepdims=True)) / np.sqrt(n * (n - 1)))


def studied(right: np.ndarray, of_ai: np.ndarray) -> Studies:
    """Variances by the formulas of the page."""
    value, moved = differences_of(right, of_ai)
    of_case = moved.mean(axis=1)
    by_cases, fourth = (of_case**2).sum(axis=1), (of_case**4).sum(axis=1)
    return Studies(
        value.mean(axis=1),
        (jackknife(value) ** 2).sum(axis=1),
        by_cases,
        (jackknife(moved) ** 2).sum(axis=(1, 2)),
        2 * by_cases**2 / (fourth - by_cases**2 / of_case.shape[-1]),
    )


def test_many_studies_by_hand_agree_with_the_public_function() -> None:
    right, of_ai = answers(np.random.default_rng(1), 1, 4, 60, 0.3)
    by_hand = studied(right, of_ai)
    (found,) = zip(*by_hand, strict=True)
    row = al.benchmark.differences(reader_study(trials_of(right[:, 0], of_ai[:, 0]), "AI")).iloc[0]
    known = row["estimate"], row["se_readers"] ** 2, row["se_cases"] ** 2, row["var_residual"] / 240
    np.testing.assert_allclose(found, [*known, row["df_cases"]])
    variance, half = by_hand.interval(4)
    np.testing.assert_allclose(variance, row["se"] ** 2)
    np.testing.assert_allclose(half, row["analytic_ci95_ub"] - row["estimate"])


@pytest.mark.slow
def test_power_is_as_planned(
    figure: Callable[[str], None], sets: Callable[..., int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare planned power and width of six designs with simulations.

    Components come from 40 large pilots, with an error of 2% (0.005 of power). The simulated power
    has an error of 0.004 with 16,000 studies, and 0.008 with a quarter of them.
    """
    n_studies, spread = sets(16_000), 0.3
    # Widths: four errors of a mean with a standard deviation of at most 0.8 times it, and 0.02.
    near = 4 * 0.8 / np.sqrt(n_studies) + 0.02
    # Four times both errors, and 0.004 for the formula: 0.03 with all studies.
    room = 4 * np.hypot(0.005, 0.5 / np.sqrt(n_studies)) + 0.004
    rng = np.random.default_rng(1)
    n, n_cases = 150, 1_500
    pilots = [studied(*answers(rng, 1, n, n_cases, spread)) for _ in range(40)]
    by_readers, by_cases, by_both, df_cases = np.mean(pilots, axis=0)[1:, 0]
    row = {
        "modality": "A", "modality_b": "B", "n_readers": n, "n_cases": n_cases,
        "se_readers": np.sqrt(by_readers), "var_reader": n * (by_readers - by_both),
        "var_case": n_cases * (by_cases - by_both), "var_residual": n * n_cases * by_both,
        "df_cases": df_cases,
    }  # fmt: skip
    # Known components instead of those of a small pilot.
    pilot, known = reader_study(readers(3, 40, rng=1)[0], "AI"), pd.DataFrame([row])
    monkeypatch.setattr("alikely.planning.components.differences", lambda *_, **__: known)
    truth = readers(2, 2, spread=spread, rng=1)[1]
    designs = [4, 6, 10], [100, 150, 200]
    plan = al.planning.plan_reader_study(pilot, *designs, difference=truth[0] - truth[1])
    promises = plan[["power", "width"]].itertuples(index=False)
    for design, (promised, width) in zip(zip(*designs, strict=True), promises, strict=True):
        step = 1_600_000 // (design[0] * design[1])
        many = [studied(*answers(rng, step, *design, spread)) for _ in range(n_studies // step)]
        together = Studies(*np.concatenate(many, axis=1))
        half = together.interval(design[0])[1]
        found = (np.abs(together.difference) > half).mean()
        figure(f"{design} with a spread of {spread}: promised {promised:.3f}, found {found:.3f}")
        figure(f"its width: promised {width:.3f}, found {2 * half.mean():.3f}")
        assert found == pytest.approx(promised, abs=room)
        assert 2 * half.mean() == pytest.approx(width, rel=near)


def aided(
    rng: np.random.Generator, n_sets: int, n_readers: int, n_cases: int, minority: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Readers without and with an AI, whose response they copy with a probability from Beta(1, 2).
    With a minority, the probability is 0.9 for it and 0.1 for the others."""
    hard = rng.standard_normal((n_sets, 1, n_cases))
    of_ai = rng.random(hard.shape) < special.ndtr(0.9 + 0.8 * hard)
    skill = 0.7 + 0.3 * rng.standard_normal((n_sets, n_readers, 1)) + 0.8 * hard
    trust = rng.beta(1, 2, (n_sets, n_readers, 1))
    if minority:
        trust = np.where(rng.random(trust.shape) < minority, 0.9, 0.1)
    common, *own = rng.standard_normal((3, n_sets, n_readers, n_cases))
    alone, again = (np.sqrt(0.7) * common + np.sqrt(0.3) * one < skill for one in own)
    taken = rng.random(alone.shape) < trust
    return np.stack([alone, np.where(taken, of_ai, again)]), np.stack([of_ai, of_ai])


def truth_of_aided() -> float:
    """Mean over readers of the difference of error consistency with the AI, by quadrature."""
    (hard, cases), (talent, people) = (np.polynomial.hermite_e.hermegauss(n) for n in (80, 24))
    cases, people = cases / cases.sum(), people / people.sum()
    trust = stats.beta.ppf((np.arange(400) + 0.5) / 400, 1, 2)
    of_ai = special.ndtr(0.9 + 0.8 * hard)
    alone = special.ndtr(0.7 + 0.3 * talent[:, None] + 0.8 * hard)
    q, p, both = cases @ of_ai, alone @ cases, alone @ (cases * of_ai)

    def kappa(p: np.ndarray, both: np.ndarray) -> np.ndarray:
        cells = np.stack([both, p - both, q - both, 1 - p - q + both], axis=-1)
        return al.metrics.ERROR_CONSISTENCY.value(cells)

    mixed = (trust * x + (1 - trust) * y[:, None] for x, y in ((q, p), (q, both)))
    return float(people @ (kappa(p, both) - kappa(*mixed).mean(axis=1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "spread", "least"),
    [
        ((5, 100), 0.0, 0.95),
        ((10, 300), 0.3, 0.95),
        ((4, 100), None, 0.92),
        ((12, 100), None, 0.92),
    ],
)
def test_coverage_of_the_difference(
    design: tuple[int, int], spread: float | None, least: float, figure: Callable[[str], None],
    sets: Callable[..., int],
) -> None:  # fmt: skip
    """Readers with a common spread, or (None) with different trust in an AI."""
    n_sets, rng, held = sets(2_000), np.random.default_rng(1), []
    truth = truth_of_aided() if spread is None else -np.diff(readers(2, 2, spread=spread, rng=1)[1])
    for _ in range(n_sets // 100):
        drawn = (rng, 100, *design)
        many = studied(*(aided(*drawn) if spread is None else answers(*drawn, spread)))
        held.append(np.abs(many.difference - truth) <= many.interval(design[0])[1])
    figure(f"{design} readers and cases, spread {spread}: coverage {np.mean(held):.3f}")
    assert np.mean(held) >= least - 4 * np.sqrt(least * (1 - least) / n_sets)


@pytest.mark.slow
def test_coverage_of_readers_among_themselves(
    figure: Callable[[str], None], sets: Callable[..., int]
) -> None:
    """Coverage for a difference and a mean; true values from many readers and cases."""
    n_sets, hits = sets(200), []

    def rows(n_readers: int, n_cases: int, seed: int) -> pd.DataFrame:
        study = reader_study(readers(n_readers, n_cases, spread=0.3, rng=seed)[0])
        return pd.concat([al.benchmark.differences(study), study.summary().head(1)])

    truth = rows(60, 2_000, 10_000)["estimate"].to_numpy()
    for seed in range(n_sets):
        ends = rows(6, 100, seed)[["analytic_ci95_lb", "analytic_ci95_ub"]].to_numpy()
        hits.append((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    figure(f"6 readers among themselves: coverage {np.mean(hits, axis=0)}")
    # The true value has a standard error of about a tenth of that of the studies.
    least = 0.95 - 4 * np.sqrt(0.95 * 0.05 / n_sets) - 0.01
    assert np.mean(hits, axis=0).min() >= least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "low", "high"),
    [(partial(answers, spread=0.3), 0.0, 0.05), (partial(aided, minority=0.25), 0.6, 1.0)],
    ids=["unlike", "minority"],
)
def test_rates_of_notes_on_groups_of_readers(draw: Any, low: float, high: float) -> None:
    """Ten readers without groups, or with one in four copying the AI.

    In 2,000 studies, 66% with a minority had the note (SE 0.01); in 400 studies without, at most
    4%.
    """
    n_sets = 100
    right, of_ai = draw(np.random.default_rng(1), n_sets, 10, 100)
    known, of_reader = studied(right, of_ai), jackknife(differences_of(right, of_ai)[0])
    strong = STRONG * known.by_both <= known.by_readers
    pairs = zip(strong, of_reader, strict=True)
    noted = np.mean([bool(large and _group_notes(own)) for large, own in pairs])
    errors = 4 * np.sqrt(np.array([low * (1 - low), high * (1 - high)]) / n_sets)
    assert low - errors[0] <= noted <= high + errors[1]


def trials_of(right: np.ndarray, of_ai: np.ndarray) -> al.Trials:
    """One study, (modality, reader, case), and the AI."""
    n_readers, n_cases = right.shape[1:]
    return al.Trials.from_correct(
        np.concatenate(list(np.concatenate([right, of_ai], axis=1)), axis=1),
        item=[*range(n_cases)] * 2,
        condition=["A"] * n_cases + ["B"] * n_cases,
        observers=[*(f"reader_{k}" for k in range(n_readers)), "AI"],
        kind=["human"] * n_readers + ["model"],
    )


def test_notes_give_sizes_of_two_groups_of_readers() -> None:
    """Seven readers are independent and three copy the AI; 16 readers suffice for intervals."""
    rng = np.random.default_rng(5)
    for n_copying, n_readers, expected in ((3, 10, "(7 and 3 readers)"), (4, 16, "")):
        right = rng.random((2, n_readers, 200)) < 0.7
        of_ai = rng.random((2, 1, 200)) < 0.7
        right[1, :n_copying] = of_ai[1]
        row = al.benchmark.differences(reader_study(trials_of(right, of_ai), "AI")).iloc[0]
        assert expected in row["note"]
        assert bool(row["note"]) == bool(expected)
