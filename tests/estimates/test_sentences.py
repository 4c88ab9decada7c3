"""Sentences about results, means and differences: numbers are the tables', words are true."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from markup import page

import alikely as al
from alikely.estimates import contrast_sentence

QUIET: dict[str, Any] = {"n_resamples": 0, "n_draws": 0, "n_null": 0, "rng": 1}
NASTY = r'<script>alert("x")</script> _&%$#{}~^\ <b>'


def apa(value: float) -> str:
    """Two decimals, no zero before the point."""
    return f"{value:.2f}".replace("0.", ".").replace("-.00", ".00")


@pytest.fixture(scope="module")
def pair() -> al.Result:
    """One pair of kappa .6 over 100 trials, in a named condition."""
    right = np.repeat([[1, 1], [1, 0], [0, 1], [0, 0]], [40, 10, 10, 40], axis=0).T
    trials = al.Trials.from_correct(right, observers=["anna", "net"], condition=["fog"] * 100)
    return al.error_consistency(trials, n_resamples=300, n_draws=300, n_null=200, rng=1)


@pytest.fixture(scope="module")
def many() -> al.Result:
    return al.error_consistency(
        al.load_example(), "human-model", n_resamples=200, n_draws=200, n_null=200, rng=1
    )


@pytest.mark.parametrize(
    ("school", "kind", "how", "name"),
    [
        ("analytic", "eti", "(analytic, over 100 trials)", "95 % CI"),
        ("bootstrap", "eti", "(percentile bootstrap, 300 replicates, ", "95 % CI"),
        ("bootstrap", "hdi", "(bootstrap, 300 replicates, ", "95 % highest-density interval"),
        ("bca", "eti", "(BCa bootstrap, 300 replicates, over 100 trials)", "95 % CI"),
        (
            "posterior",
            "eti",
            "(posterior of the model 'copying', equal-tailed, 300 exact draws, ",
            "95 % credible interval",
        ),
    ],
)
def test_a_pair_is_said_with_its_interval(
    pair: al.Result, school: Any, kind: Any, how: str, name: str
) -> None:
    text = pair.sentence(school, ci_kind=kind)
    row = pair.summary(ci_kind=kind, intervals=[school]).iloc[0]
    lower, upper = (
        row[column] for end in ("_lb", "_ub") for column in row.index
        if column.startswith(f"{school}_") and column.endswith(end)
    )  # fmt: skip
    assert text.startswith("The error consistency of anna and net in fog was .60, ")
    assert f"{name} [{apa(lower)}, {apa(upper)}] {how}" in text
    assert "speaks for new trials and these very observers (taken as fixed)" in text
    assert "it lies above 0, which independent errors would give" in text
    assert f"Against independent observers, p {'<' if row['p_null'] < 0.001 else '='} " in text


def test_level_and_digits_are_as_asked(pair: al.Result) -> None:
    text = pair.sentence("analytic", ci_prob=0.999, digits=4)
    row = pair.summary(0.999, intervals=["analytic"]).iloc[0]
    lower = f"{row['analytic_ci99.9_lb']:.4f}".replace("0.", ".")
    assert f"was .6000, 99.9 % CI [{lower}, " in text


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([10, 40, 40, 10], "lies below 0"),
        ([25, 25, 25, 25], "holds 0"),
        ([40, 10, 10, 40], "lies above 0"),
    ],
)
def test_where_the_interval_lies_beside_chance(cells: list[int], said: str) -> None:
    result = al.error_consistency(al.data.from_counts(cells), **QUIET)
    assert f"it {said}, which independent errors would give" in result.sentence()


def test_by_default_it_is_the_school_that_holds_what_it_says(pair: al.Result) -> None:
    """The posterior; not where it ignores clusters; what there is, where nothing was drawn."""
    assert "credible interval" in pair.sentence()
    trials = al.load_example().select(condition="noise", observer=["human_1", "model_1"])
    options: dict[str, Any] = {"n_resamples": 100, "n_draws": 100, "n_null": 0, "rng": 1}
    clustered = al.error_consistency(trials, cluster="item", **options)
    assert clustered.cluster_note() == ""
    text = clustered.sentence()
    assert "equal-tailed, 100 exact draws, clustered by item, over 160 items" in text
    assert "speaks for new items and" in text
    # A posterior that was drawn as if there were no clusters.
    tree = pair.data.copy()
    tree.attrs = {**pair.data.attrs, "cluster": "trial_dataset"}
    tree["posterior"].attrs = {**pair.data["posterior"].attrs, "clustered": 0}
    unaware = al.Result(tree)
    assert unaware.cluster_note() != ""
    assert "percentile bootstrap, 300 replicates, clustered by trial_dataset" in unaware.sentence()
    # Of a pair there are limits of the posterior without draws.
    assert "equal-tailed, without draws, over" in al.error_consistency(trials, **QUIET).sentence()
    assert "(analytic, over" in al.error_consistency(trials, **QUIET, ci_kind="hdi").sentence()
    with pytest.raises(ValueError, match=r"this result has .*; got 'bayes'"):
        pair.sentence("bayes")


def test_many_pairs_are_said_by_their_extremes(many: al.Result) -> None:
    text, frame = many.sentence("analytic"), many.summary(intervals=["analytic"], columns="all")
    assert text.startswith("Over 72 comparisons (24 pairs of observers, 3 conditions), ")
    for at in (frame["estimate"].idxmin(), frame["estimate"].idxmax()):
        row = frame.loc[at]
        who = f"{row['observer_a']} and {row['observer_b']} in {row['condition']}"
        ends = f"[{apa(row['analytic_ci95_lb'])}, {apa(row['analytic_ci95_ub'])}]"
        assert f"{apa(row['estimate'])} ({who}; 95 % CI {ends})" in text
    assert f"the median was {apa(frame['estimate'].median())}." in text
    told = int((frame["p_null_bh"] < 0.05).sum())
    assert f"{told} of 72 differ from independent observers at the level .05" in text
    assert "each holds alone, unadjusted for their number" in text
    assert ", (" not in text


def test_notes_are_counted_one_by_one(many: al.Result) -> None:
    frame = many.summary(intervals=["analytic"])
    n = int(frame["note"].str.contains("few errors: trust the posterior only").sum())
    assert n
    assert f'"few errors: trust the posterior only" ({n} of 72 comparisons)' in many.sentence(
        "analytic"
    )


def test_what_is_undefined_is_said() -> None:
    right = [[1] * 6, [1] * 6, [1, 0, 1, 1, 0, 1]]
    two = al.error_consistency(al.Trials.from_correct(right[:2]), **QUIET)
    assert two.sentence("analytic") == (
        "The error consistency of observer_0 and observer_1 is undefined: both observers always "
        "right (6 trials)."
    )
    assert "posterior median .33, 95 % credible interval [-.11, .97]" in two.sentence()
    drawn = al.error_consistency(
        al.Trials.from_correct(right[:2]), n_resamples=0, n_draws=100, n_null=0, rng=1
    )
    assert "is undefined: both observers always right (6 trials); posterior" in drawn.sentence()
    three = al.error_consistency(al.Trials.from_correct(right), **QUIET)
    assert "Undefined: 1 (both observers always right)." in three.sentence()
    all_right = al.error_consistency(al.Trials.from_correct([[1] * 6] * 3), **QUIET)
    assert all_right.sentence().startswith("The error consistency of all 3 pairs is undefined: ")
    for result in (two, drawn, three, all_right):
        assert "nan" not in result.sentence()
        assert "nan" not in result._repr_html_()


def test_a_directed_metric_says_which_is_the_reference() -> None:
    trials = al.load_example().select(condition="noise", observer=["human_1", "model_1"])
    result = al.compare(trials, "copy_probability", **QUIET)
    assert "of model_1 with human_1 as the reference in noise was" in result.sentence()


def test_margins_speak_for_items_and_people() -> None:
    trials, margins = al.simulate.detection_experiment(8, 60, rho={"a": 0.9, "b": 0.1}, rng=1)
    result = al.decision_margin_consistency(
        trials, margins, [("human", "a")], n_resamples=100, n_draws=100, rng=1
    )
    assert "new items and new people like these" in result.sentence("posterior")
    assert "new items and these very observers (taken as fixed)" in result.sentence("bootstrap")
    # What the noise of answers takes is not in the posterior: it is of another quantity.
    assert "percentile bootstrap" in result.sentence()
    assert "noise-free posterior median" in result.sentence("posterior")


def test_a_mean_is_said_as_its_table_has_it(many: al.Result) -> None:
    which = {"condition": "noise", "observer_b": ["model_1", "model_2"]}
    row = al.mean(many, which).loc["analytic"]
    text = contrast_sentence(many, which, interval="analytic")
    assert text.startswith(
        "The mean error consistency of the 8 comparisons with condition noise and second observer "
        f"model_1 or model_2 was {apa(row['estimate'])}, 95 % CI [{apa(row['eti95_lb'])}, "
        f"{apa(row['eti95_ub'])}] (analytic, over 160 trials each)."
    )
    assert "allows for trials that the comparisons share" in text
    assert "of this mean alone, unadjusted for others" in text
    assert contrast_sentence(many, {}, interval="analytic").startswith(
        "The mean error consistency of all 72 comparisons was "
    )


@pytest.mark.parametrize("school", ["analytic", "bootstrap", "posterior"])
def test_a_difference_is_said_as_its_table_has_it(many: al.Result, school: str) -> None:
    labels = many.table["pair"].values[[40, 41]].tolist()
    row = al.difference(many, *labels, intervals=[school]).loc[school]
    text = contrast_sentence(many, *labels, interval=school)
    assert " less that of " in text
    assert f"[{apa(row['eti95_lb'])}, {apa(row['eti95_ub'])}]" in text
    assert ("It holds 0" in text) == (row["eti95_lb"] <= 0 <= row["eti95_ub"])
    words = {"analytic": "two-sided", "bootstrap": "share of replicates", "posterior": "probab"}
    assert words[school] in text
    value = many.estimates["estimate"].values[40] - many.estimates["estimate"].values[41]
    assert f" was {apa(value)}, " in text
    assert f" was {apa(-value)}, " in contrast_sentence(many, *labels[::-1], interval=school)


def test_many_names_are_not_listed(many: al.Result) -> None:
    labels = many.table["pair"].values.tolist()
    assert "of 2 comparisons (" + ", ".join(labels[:2]) in contrast_sentence(many, labels[:2])
    assert "of 9 chosen comparisons was" in contrast_sentence(many, labels[:9])


def test_what_has_no_sentence_is_refused(many: al.Result) -> None:
    with pytest.raises(TypeError, match="expected a Result, got DataFrame; of a Benchmark, print"):
        contrast_sentence(pd.DataFrame(), "a")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="got 'bca'"):
        contrast_sentence(many, {}, interval="bca")


def test_one_pair_is_one_pair(pair: al.Result) -> None:
    assert repr(pair).startswith("<Result error_consistency: 1 pair, 300 bootstrap")
    around, rows = page(pair._repr_html_())
    assert repr(pair)[1:-1] in around
    assert "more row" not in around
    assert rows[1][:4] == ["anna", "net", "100", ".600"]


def test_hundreds_of_pairs_are_a_short_page() -> None:
    """Ten rows; where the rows differ is a column even if the first ten do not."""
    rng = np.random.default_rng(1)
    trials = al.Trials.from_correct(
        rng.integers(0, 2, (16, 40)), condition=np.repeat(["one", "two"], 20).tolist()
    )
    result = al.error_consistency(trials, **QUIET)
    assert result.table.sizes["pair"] == 240
    html = result._repr_html_()
    around, rows = page(html)
    assert len(rows) == 11
    assert rows[0][0] == "condition"
    assert "... and 230 more rows: summary() has all" in around
    assert len(html) < 12_000
    shown = [row[rows[0].index("error consistency")] for row in rows[1:]]
    assert [cell.split(" ")[0] for cell in shown] == [
        f"{value:.3f}".replace("0.", ".").replace("-.000", ".000")
        for value in result.summary()["estimate"].head(10)
    ]


def test_names_are_no_markup() -> None:
    right = [[1, 0] * 10, [1, 1, 0, 0] * 5]
    result = al.error_consistency(al.Trials.from_correct(right, observers=[NASTY, "b"]), **QUIET)
    html = result._repr_html_()
    assert "<script" not in html
    assert page(html)[1][1][:2] == [NASTY, "b"]


def test_summaries_are_ordered_and_go_to_polars(many: al.Result) -> None:
    frame = many.summary(sort=["observer_b", "-estimate"])
    assert frame["observer_b"].is_monotonic_increasing
    within = frame.groupby("observer_b")["estimate"]
    assert within.apply(lambda values: values.dropna().is_monotonic_decreasing).all()
    polars = many.summary(sort="-estimate", as_="polars")
    assert polars.columns == list(frame)
    assert polars["estimate"][0] == frame["estimate"].max()
    with pytest.raises(ValueError, match="sort must name columns"):
        many.summary(sort="kappa")
