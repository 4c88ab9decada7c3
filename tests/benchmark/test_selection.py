"""Tables of benchmarks: the recommended interval, valid intervals, and requested ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import alikely as al
from alikely.benchmark.benchmark import is_plug_in
from alikely.report.results import score_findings


@pytest.fixture(scope="module")
def scores() -> al.Result:
    return al.benchmark_scores(al.load_example(), n_resamples=200, n_draws=200, rng=1)


def methods(table: object) -> list[str]:
    names = [str(name).split("_")[0] for name in table if str(name).endswith("_lb")]  # type: ignore[attr-defined]
    return [name for name in dict.fromkeys(names) if name != "ceiling"]


def test_one_interval_and_one_test_unless_all_are_shown(scores: al.Result) -> None:
    more = {"interval_center", "df", "kappa_max", "kappa_min", "bias_corrected"}
    table, images = scores.summary(), scores.summary("images", intervals="all")
    assert methods(table) == methods(scores.summary("both", intervals="all")) == ["analytic"]
    assert methods(images) == ["analytic", "posterior"]
    assert not more & set(table)
    assert more <= set(images)
    apart, every = (al.benchmark.differences(scores, intervals=i) for i in (None, "all"))
    assert methods(apart) == ["simultaneous"]
    assert methods(every) == ["pointwise", "simultaneous"]
    assert [name for name in apart if name.startswith("p_value")] == ["p_value_simultaneous"]
    assert al.difference(scores, "model_1", "model_2").index.tolist() == ["analytic"]


def test_there_is_no_bootstrap_interval(scores: al.Result) -> None:
    with pytest.raises(ValueError, match="intervals must be among analytic, posterior"):
        scores.summary(intervals=["bootstrap"])
    plain = al.benchmark_scores(al.load_example(), n_draws=0)
    assert "bootstrap" not in plain.data.children
    with pytest.raises(ValueError, match="no bootstrap draws; pass n_resamples"):
        plain.draws("bootstrap")


@pytest.mark.slow
def test_class_level_error_similarity_has_no_default_interval() -> None:
    trials = al.load_example().select(condition=["blur", "noise"])
    scores = al.benchmark_scores(trials, metric="error_similarity", n_draws=0)
    assert is_plug_in(scores.metric)
    assert methods(scores.summary()) == methods(scores.summary("images", intervals="all")) == []
    apart = al.benchmark.differences(scores)
    assert methods(apart) == []
    assert not [name for name in apart if name.startswith("p_")]
    assert apart["note"].str.startswith("classes with few errors bias the estimate").all()
    assert np.isnan(al.difference(scores, "model_1", "model_2")["eti95_lb"].iloc[0])
    assert " CI " not in scores.sentence()
    # Ranks and tests are available on request, with the reason.
    reason = "classes with few errors bias the estimate, so no interval is valid"
    assert al.benchmark.ranks(scores, rng=1)["note"].str.contains(reason).all()
    both = ["error_similarity", "error_consistency"]
    ranked = al.benchmark.rank_by_metric(trials, metrics=both, rng=1).set_index("metric")["note"]
    assert ranked["error_similarity"].str.contains(reason).all()
    assert not ranked["error_consistency"].str.contains(reason).any()
    assert " CI " not in " ".join(score_findings(scores)[1])
    named = scores.summary(intervals=["analytic"])
    assert methods(named) == ["analytic"]
    assert named["note"].str.contains("if classes have few errors").all()
    # With three degrees of freedom, intervals near 100% are the whole range.
    wide = scores.summary("observers", intervals=["analytic"], ci_prob=1 - 1e-9)
    ends = wide.filter(regex="^analytic_").to_numpy()
    assert (ends.min(), ends.max()) == (0, 1)


@pytest.mark.slow
@settings(deadline=None, max_examples=6)
@example(seed=2178, accuracy=0.78125, same=0.75, metric="copy_probability")
@given(
    seed=st.integers(0, 10_000),
    accuracy=st.floats(0.5, 0.99),
    same=st.floats(0, 1),
    metric=st.sampled_from(["error_consistency", "copy_probability"]),
)
def test_bounds_stay_within_the_range_of_the_metric(
    seed: int, accuracy: float, same: float, metric: str
) -> None:
    """Few images, and observers with any fraction of common responses."""
    rng = np.random.default_rng(seed)
    alone, shared = rng.random((5, 12)) < accuracy, rng.random(12) < accuracy
    right = np.where(rng.random((5, 12)) < same, shared, alone)
    trials = al.Trials.from_correct(right, kind=["human"] * 3 + ["model"] * 2)
    scores = al.benchmark_scores(trials, metric=metric, n_draws=0)
    low, high = scores.metric.bounds
    for population in ("images", "observers", "both"):
        table = scores.summary(population, intervals=["analytic"], ci_prob=0.999)  # type: ignore[arg-type]
        ends = table.filter(regex="^analytic_").to_numpy()
        assert not ((ends < low) | (ends > high)).any()
        row = al.difference(scores, *scores.observers, generalize_to=population, ci_prob=0.999)  # type: ignore[arg-type]
        assert not (row.filter(regex="_[lu]b$").abs() > high - low).any(axis=None)


def test_a_difference_that_is_equal_for_all_humans_has_no_interval_over_humans() -> None:
    """All humans have a score of model b that is 1/2 below that of model a; images differ."""
    # Humans agree with each other; models err on other images.
    right = np.ones((5, 12), dtype=bool)
    right[:3, :4] = False
    right[3, 1:5], right[4, 2:6] = False, False
    trials = al.Trials.from_correct(right, kind=["human"] * 3 + ["model"] * 2)
    scores = al.benchmark_scores(trials, n_draws=0)
    row = al.difference(scores, *scores.observers, generalize_to="observers").loc["analytic"]
    # Kappa of 12 images with 4 errors each, 3 or 2 of them shared: 5/8 and 1/4.
    assert row["estimate"] == pytest.approx(5 / 8 - 1 / 4)
    assert np.isnan(row["se"])
    assert "the same for all humans" in row["note"]


def test_texts_name_the_kind_of_the_reference() -> None:
    """With models as reference, notes, sentences and verdicts name that kind."""
    right = np.random.default_rng(1).random((6, 60)) < 0.7
    trials = al.Trials.from_correct(right, kind=["gpt"] * 3 + ["llama"] * 3)
    scores = al.benchmark_scores(trials, humans="gpt", models="llama", n_resamples=0, n_draws=0)
    assert scores.summary()["note"].str.contains("only 3 observers of kind gpt: the interval").all()
    said = [
        scores.sentence(),
        repr(scores),
        scores.sentence(difference=("observer_3", "observer_4")),
    ]
    for text in said:
        assert "human" not in text
        assert "observers of kind gpt" in text
    with pytest.raises(ValueError, match=r"kinds are gpt, llama.*al\.benchmark\.group_scores"):
        al.benchmark_scores(trials)
