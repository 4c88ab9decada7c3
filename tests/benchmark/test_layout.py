"""The layout of parts: row names, any labels, both orders of a pair, any level."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scored import covariance

import alikely as al
from alikely.benchmark.decomposition import added_count, decompositions, joint_covariance
from alikely.benchmark.layout import laid_out, nested_scores
from alikely.data.tables import joint_correctness
from alikely.data.trials import Trials
from alikely.metrics import ERROR_CONSISTENCY, copying
from alikely.metrics.copying import COPY_PROBABILITY

EC, CP = "error_consistency", "copy_probability"


def renamed(**names: str) -> Trials:
    """The example with other names of observers."""
    table = al.load_example().select(condition=["blur", "noise"]).to_table()
    return Trials.from_table(table.replace({"observer": names}), labels=["family"])


def benchmark(trials: Trials) -> Any:
    return al.benchmark_scores(trials, n_resamples=0, n_draws=0)


def alignment(trials: Trials) -> xr.Dataset:
    return al.condition_alignment(trials, metrics=EC, n_resamples=0)


def test_models_cannot_have_the_name_of_a_row() -> None:
    both = [benchmark, al.benchmark.multiverse_analysis]
    more = [alignment, al.planning.variance_components, al.fit_cohort]
    for name, calls in (("human-human", both + more), ("ceiling", both)):
        for call in calls:
            with pytest.raises(ValueError, match=f"no model may be called '{name}', because"):
                call(renamed(model_2=name))


def test_data_sets_cannot_be_named_overall() -> None:
    table = al.load_example().select(condition=["blur", "noise"]).to_table()
    trials = Trials.from_table(table.assign(dataset="overall"))
    for call in (benchmark, al.fit_cohort):
        with pytest.raises(ValueError, match="no data set may be called 'overall', because ta"):
            call(trials)
    # The name is allowed if no row has it.
    assert alignment(trials)["condition"].values.tolist() == ["overall:blur", "overall:noise"]


def by_pair(trials: Trials) -> pd.Series:
    """Copy probability of every ordered pair and condition, from plain counts."""
    correct = trials.data["correct"].values == 1
    condition = trials.data["condition"].values
    rows = {}
    for place in dict.fromkeys(condition.tolist()):
        here = correct[:, condition == place]
        for i, j in itertools.permutations(range(len(here)), 2):
            a, b = here[i], here[j]
            cells = [(a & b).sum(), (a & ~b).sum(), (~a & b).sum(), (~a & ~b).sum()]
            rows[place, trials.observers[i], trials.observers[j]] = float(
                copying.copy_probability(cells)
            )
    return pd.Series(rows).rename_axis(["condition", "a", "b"])


def names_of(trials: Trials) -> tuple[list[str], list[str]]:
    humans = [name for name in trials.observers if name.startswith("human")]
    return humans, [name for name in trials.observers if name not in humans]


@pytest.fixture(scope="module")
def trials() -> Trials:
    return al.load_example().select(condition=["blur", "noise"])


def test_directed_metrics_take_pairs_of_humans_in_both_orders(trials: Trials) -> None:
    humans, models = names_of(trials)
    value = by_pair(trials).groupby(["a", "b"]).mean()
    both = [value[a, b] for a, b in itertools.permutations(humans, 2)]
    once = [value[a, b] for a, b in itertools.combinations(humans, 2)]
    assert not np.isclose(np.mean(both), np.mean(once))
    scores = al.benchmark_scores(trials, metric=CP, n_resamples=0, n_draws=0)
    found = scores.estimates["estimate"].sel(level="overall")
    assert float(found.sel(system="human-human")) == pytest.approx(np.mean(both), rel=1e-12)
    for model in models:
        # The human is the reference, which the model copies.
        expected = np.mean([value[human, model] for human in humans])
        assert float(found.sel(system=model)) == pytest.approx(expected, rel=1e-12)


def test_errors_of_directed_metrics(trials: Trials) -> None:
    """Compare errors over images with the bootstrap, and over humans with the jackknife."""
    humans, models = names_of(trials)
    scores = al.benchmark_scores(trials, metric=CP, n_resamples=4000, n_draws=400, rng=1)
    se = np.sqrt(np.diag(covariance(scores, "images")))
    spread = scores.draws("bootstrap").std(axis=0)
    # Monte Carlo error of a standard deviation, and error of the delta method at 160 trials.
    np.testing.assert_allclose(spread, se, rtol=4 / np.sqrt(8000) + 2 / 160)
    assert scores.draws("posterior").shape == (400, len(models) + 2)

    table = joint_correctness(trials, list(itertools.permutations(humans, 2)))
    frame = pd.DataFrame({name: table[f"observer_{name}"].values for name in ("a", "b")})
    cells = table["cells"].values + added_count(2, 4)
    value = frame.assign(value=COPY_PROBABILITY.value(cells)).groupby(["a", "b"])["value"].mean()

    def mean_without(left_out: str | None) -> float:
        kept = [name for name in humans if name != left_out]
        return float(np.mean([value[a, b] for a, b in itertools.permutations(kept, 2)]))

    shifts = np.array([mean_without(name) for name in humans]) - mean_without(None)
    expected = (len(humans) - 1) / len(humans) * (shifts**2).sum()
    own = {"system": "human-human", "system_other": "human-human"}
    assert float(covariance(scores, "observers").sel(own)) == pytest.approx(expected, rel=1e-9)


def test_parts_of_any_level(trials: Trials) -> None:
    """A condition has the same scores and covariances as a part or alone."""
    table, layout = laid_out(trials, models="model", humans="human", level="condition")
    assert [part.name for part in layout.parts] == ["all:blur", "all:noise"]
    found = decompositions(
        table, layout, ERROR_CONSISTENCY, human_ids="shared", item_scope="dataset"
    )
    value = ERROR_CONSISTENCY.value(table["cells"].values)
    scores = nested_scores(layout, value[None])[0]
    for d, place in enumerate(("blur", "noise")):
        alone = benchmark(trials.select(condition=place))
        np.testing.assert_allclose(scores[d], alone.estimates["estimate"].sel(level="all"))
        for population in ("images", "observers", "both"):
            expected = covariance(alone, population).values
            own = joint_covariance(found[d], population)  # type: ignore[arg-type]
            np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-15)
