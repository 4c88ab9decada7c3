"""Count tables: pairs, groups, missing trials, bitwise counts, and published values."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.tables import all_cells, from_counts, joint_correctness, pack
from alikely.data.trials import Trials
from alikely.metrics import consistency


def random_trials(seed: int, n_observers: int = 5, n_trials: int = 60) -> Trials:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (n_observers, n_trials)).astype(float)
    values[rng.random(values.shape) < 0.1] = np.nan
    masked = np.ma.masked_array(values, mask=rng.random(values.shape) < 0.1)
    return Trials.from_correct(
        masked,
        dataset=rng.choice(["one", "two"], n_trials).tolist(),
        condition=rng.choice(["0", "1", "2"], n_trials).tolist(),
        kind=["human", "human", "model", "model", "model"][:n_observers],
    )


@pytest.mark.slow
@given(st.integers(0, 10_000), st.sampled_from(["error", "drop"]))
@settings(max_examples=30, deadline=None)
def test_counts_equal_a_plain_loop(seed: int, no_response: Any) -> None:
    trials = random_trials(seed)
    frame = trials.to_table()
    frame["right"] = frame["correct"].fillna(0) if no_response == "error" else frame["correct"]
    frame = frame.dropna(subset="right")
    table = joint_correctness(trials, "all", no_response=no_response)
    places = dict(list(frame.groupby(["dataset", "condition"])))
    wide = {
        place: part.pivot(index="item", columns="observer", values="right")
        for place, part in places.items()
    }
    names = ("dataset", "condition", "observer_a", "observer_b")
    seen = 0
    for dataset, condition, a, b, cells in zip(
        *(table[name].values.tolist() for name in (*names, "cells")), strict=True
    ):
        here = wide.get((dataset, condition), pd.DataFrame())
        both = here.reindex(columns=[a, b]).dropna().to_numpy()
        expected = [
            int(((both == pattern).all(axis=1)).sum())
            for pattern in itertools.product((1, 0), repeat=2)
        ]
        assert cells == expected
        seen += sum(expected)
    assert seen == table["cells"].values.sum()


def test_equal_condition_labels_of_two_datasets_are_separate() -> None:
    trials = Trials.from_correct(
        [[1, 0, 1, 1], [1, 0, 0, 1]], dataset=["p", "p", "q", "q"], condition=["0"] * 4
    )
    by_condition = joint_correctness(trials)
    assert by_condition["cells"].values.tolist() == [[1, 0, 0, 1], [1, 1, 0, 0]]
    assert by_condition["pair"].values.tolist() == [
        "observer_0 x observer_1 [p]",
        "observer_0 x observer_1 [q]",
    ]
    assert joint_correctness(trials, by="dataset")["condition"].values.tolist() == ["all", "all"]
    assert joint_correctness(trials, by=None)["cells"].values.tolist() == [[2, 1, 0, 1]]


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ("human-human", [("h", "k")]),
        ("human-model", [("h", "m"), ("h", "n"), ("k", "m"), ("k", "n")]),
        ("model-human", [("m", "h"), ("m", "k"), ("n", "h"), ("n", "k")]),
        ("model-model", [("m", "n")]),
        (["model-model", "human-human"], [("m", "n"), ("h", "k")]),
        ([("n", "h")], [("n", "h")]),
        # Humans come first, so that they are the reference of mixed pairs.
        ("all", [("h", "k"), ("h", "m"), ("h", "n"), ("k", "m"), ("k", "n"), ("m", "n")]),
    ],
)
def test_chosen_pairs(pairs: Any, expected: list[tuple[str, str]]) -> None:
    trials = Trials.from_correct(
        np.eye(4, 6), observers=["m", "h", "n", "k"], kind=["model", "human", "model", "human"]
    )
    table = joint_correctness(trials, pairs)
    found = list(zip(table["observer_a"].values, table["observer_b"].values, strict=True))
    assert found == expected


def test_kinds_may_contain_hyphens() -> None:
    trials = Trials.from_correct(np.eye(3, 4), kind=["vision-human", "vision-human", "net"])
    assert joint_correctness(trials, "vision-human-net").sizes["pair"] == 2
    assert joint_correctness(trials, "vision-human-vision-human").sizes["pair"] == 1
    several = Trials.from_correct(np.eye(4, 4), kind=["a", "a-b", "c", "b-c"])
    with pytest.raises(
        ValueError, match="may mean 'a' with 'b-c' or 'a-b' with 'c', because kinds have"
    ):
        joint_correctness(several, "a-b-c")


def test_a_pair_without_common_trials_in_one_condition_stays_visible() -> None:
    masked = np.ma.masked_array([[1, 0, 1, 1], [1, 0, 0, 1]], mask=[[0, 0, 0, 1], [0, 0, 1, 0]])
    table = joint_correctness(Trials.from_correct(masked, condition=["u", "u", "v", "v"]))
    assert table["cells"].values.tolist() == [[1, 0, 0, 1], [0, 0, 0, 0]]
    assert consistency.undefined_reason(table["cells"].values).tolist() == ["", "no common trials"]


def test_tables_from_counts_have_trials_with_those_counts() -> None:
    counts = [[3, 2, 1, 4], [0, 0, 0, 0], [5, 0, 0, 1]]
    table = from_counts(counts)
    for block, row in zip(blocks(table), counts, strict=True):
        assert [int((block.codes() == code).sum()) for code in range(4)] == row


def test_clusters_are_labels_within_a_dataset() -> None:
    trials = Trials.from_correct(
        np.eye(2, 4), item=list("xyxy"), dataset=list("ppqq"), condition=list("uvuv")
    )
    assert cluster_numbers(joint_correctness(trials), "item").tolist() == [0, 1, 2, 3]
    repeated = Trials.from_correct(np.eye(2, 4), item=list("xyxy"), repeat=[0, 0, 1, 1])
    assert cluster_numbers(joint_correctness(repeated), "item").tolist() == [0, 1, 0, 1]
    with pytest.raises(
        ValueError,
        match=r"cluster must name a trial coordinate \(item, trial_dataset, trial_condition\)",
    ):
        cluster_numbers(joint_correctness(repeated), "image")


# Methods of Geirhos et al. (2021): conditions that their benchmark excludes.
EXCLUDED = {
    "colour": {"cr"},
    "contrast": {"c100", "c03", "c01"},
    "high-pass": {"inf", "0.55", "0.45", "0.4"},
    "low-pass": {"0", "15", "40"},
    "phase-scrambling": {"0", "150", "180"},
    "power-equalisation": {"0"},
    "false-colour": {"true"},
    "rotation": {"0"},
    "eidolonI": {"1-10-10", "64-10-10", "128-10-10"},
    "eidolonII": {"1-3-10", "32-3-10", "64-3-10", "128-3-10"},
    "eidolonIII": {"1-0-10", "16-0-10", "32-0-10", "64-0-10", "128-0-10"},
    "uniform-noise": {"0.00", "0.60", "0.90"},
}
# Human-human error consistency; missing responses count as errors.
GOLDEN = {
    "colour": 0.4154,
    "contrast": 0.4370,
    "cue-conflict": 0.3311,
    "edge": 0.3184,
    "eidolonI": 0.3863,
    "eidolonII": 0.4540,
    "eidolonIII": 0.4595,
    "false-colour": 0.4440,
    "high-pass": 0.4401,
    "low-pass": 0.4689,
    "phase-scrambling": 0.4467,
    "power-equalisation": 0.5106,
    "rotation": 0.4385,
    "silhouette": 0.4757,
    "sketch": 0.3696,
    "stylized": 0.5006,
    "uniform-noise": 0.4341,
}


def human_means(trials: Trials, no_response: Any) -> pd.Series:
    table = joint_correctness(trials, "human-human", no_response=no_response)
    names = ("dataset", "condition", "observer_a", "observer_b")
    frame = pd.DataFrame({name: table[name].values for name in names})
    frame["ec"] = consistency.error_consistency(table["cells"].values)
    kept = [
        c not in EXCLUDED.get(d, ())
        for d, c in zip(frame["dataset"], frame["condition"], strict=True)
    ]
    frame = frame[kept]
    assert len(frame[["dataset", "condition"]].drop_duplicates()) == 46
    per_pair = frame.groupby(["dataset", "observer_a", "observer_b"])["ec"].mean()
    return per_pair.groupby("dataset").mean()


def test_human_figures_of_the_benchmark(shared_data: Path) -> None:
    trials = Trials.read(shared_data / "model_vs_human" / "trials.parquet")
    means = human_means(trials, "error")
    assert means.round(4).to_dict() == GOLDEN
    assert round(means.mean(), 4) == 0.4312
    assert round(human_means(trials, "drop").mean(), 4) == 0.4370


def test_published_error_consistency(shared_data: Path) -> None:
    folder = shared_data / "model_vs_human"
    trials = pd.read_parquet(folder / "trials.parquet").astype(object)
    imputed = pd.read_parquet(folder / "imputed_no_response.parquet").astype(object)
    keys = ["dataset", "image", "observer"]
    trials = trials.merge(imputed[[*keys, "imputed"]], on=keys, how="left")
    trials["response"] = trials["response"].fillna(trials["imputed"])
    published = pd.read_parquet(folder / "published_metrics.parquet").astype({"dataset": str})
    table = joint_correctness(Trials.from_table(trials), "all", by="dataset")
    ours = pd.DataFrame(
        {name: table[name].values for name in ("dataset", "observer_a", "observer_b")}
    )
    ours["ours"] = consistency.error_consistency(table["cells"].values)
    swapped = ours.rename(columns={"observer_a": "observer_b", "observer_b": "observer_a"})
    both = published.merge(pd.concat([ours, swapped]), on=["dataset", "observer_a", "observer_b"])
    assert len(both) == len(published) == 4657
    np.testing.assert_allclose(both["ours"], both["ec"], rtol=0, atol=1e-12)


def _plain(correct: NDArray[np.int8]) -> list[list[int]]:
    return [
        [int(((a == u) & (b == v)).sum()) for u, v in ((1, 1), (1, 0), (0, 1), (0, 0))]
        for a, b in itertools.combinations(correct, 2)
    ]


@settings(deadline=None, max_examples=60)
@given(
    hnp.arrays(
        np.int8, st.tuples(st.integers(2, 6), st.integers(1, 200)), elements=st.integers(-1, 1)
    )
)
def test_counts_and_responses_round_trip(correct: NDArray[np.int8]) -> None:
    packed = pack(correct)
    assert all_cells(packed).tolist() == _plain(correct)
    assert (packed.unpacked(np.arange(len(correct))) == correct).all()
    assert packed.n_shown().tolist() == (correct >= 0).sum(axis=1).tolist()
    words = packed.right.shape[1]
    assert words == -(-correct.shape[1] // 64)


@pytest.mark.parametrize("n_observers", [64, 65, 130])
def test_jobs_cover_all_trials(n_observers: int) -> None:
    correct = np.random.default_rng(3).integers(-1, 2, (n_observers, 70)).astype(np.int8)
    assert all_cells(pack(correct)).tolist() == _plain(correct)
