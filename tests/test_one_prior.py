"""The prior of cells: its effects, storage, and unsupported uses."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import names_page
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import alikely as al
from alikely.data import from_counts
from alikely.inference.cell_limits import option_limits, posterior_limits
from alikely.inference.null import elpd, elpd_mid_p, log_bayes_factor
from alikely.inference.process import pairwise_draws
from alikely.inference.resampling import joint_draws
from alikely.metrics import consistency
from alikely.metrics.consistency import cell_prior

# Accuracy of two thirds, error consistency of 0.63, worth fifty trials.
STRONG = (30.0, 4.0, 4.0, 12.0)
CELLS = np.array([[60, 12, 14, 14], [30, 2, 1, 0]])
NOISE = al.load_example().select(condition="noise", kind="human")
OPTIONS = NOISE.with_options("classes")
FEW: dict[str, Any] = {"n_resamples": 0, "rng": 1}
ALL: dict[str, Any] = {"intervals": ["posterior"]}


def result(prior: Any, **options: Any) -> al.Result:
    return al.error_consistency(NOISE, prior=prior, **{**FEW, "n_draws": 400, **options})


def two(prior: Any) -> tuple[al.Result, list[str]]:
    found = result(prior)
    return found, found.table["pair"].values.tolist()[:2]


def posterior(table: Any) -> np.ndarray:
    return table[[name for name in table if "posterior" in str(name)]].to_numpy(np.float64)


ACCURACIES = 0.75, 0.75
SIMULATED: dict[str, Any] = {"n_datasets": 100, "rng": 1}
# Every public function with a posterior of the cells of a pair, and its posterior columns.
MOVED: dict[str, Callable[[Any], Any]] = {
    "error_consistency": lambda p: posterior(result(p).summary(**ALL)),
    "compare": lambda p: al.compare(NOISE, "copy_probability", prior=p, **FEW).draws("posterior"),
    "agreement": lambda p: al.agreement(
        NOISE, prior=p and (20, 1, 1, 20), n_resamples=0, rng=1
    ).draws("posterior"),
    "pairwise_matrix": lambda p: (
        al.pairwise_matrix(NOISE, prior=p).estimates["posterior_lower"].values
    ),
    "benchmark_scores": lambda p: al.benchmark_scores(
        al.load_example().select(condition="noise"), n_resamples=0, prior=p, rng=1
    ).draws("posterior"),
    "group_scores": lambda p: al.benchmark.group_scores(
        al.load_example().select(condition="noise"), prior=p, **FEW
    ).draws("posterior"),
    "difference": lambda p: al.difference(two(p)[0], *two(p)[1], **ALL)["se"].to_numpy(float),
    "mean": lambda p: al.mean(result(p), **ALL)["estimate"].to_numpy(float),
    "contrast": lambda p: al.contrast(result(p), np.full(6, 1 / 6), **ALL)["estimate"].to_numpy(
        float
    ),
    "test_copy_model": lambda p: al.test_copy_model(result(p))["elpd_copying"].to_numpy(),
    "plan_from": lambda p: al.planning.plan_from(result(p), [100], **SIMULATED)["expected_width"],
    "beliefs": lambda p: al.planning.plan_from(
        {"accuracy_a": ACCURACIES[0], "accuracy_b": ACCURACIES[1], "ec": 0.4},
        [100],
        prior=p,
        **SIMULATED,
    )["expected_width"],
    "trials_for_width": lambda p: al.trials_for_width(
        *ACCURACIES, 0.4, n_trials=100, n_coverage=100, prior=p, rng=1
    )["posterior_width"],
    "trials_for_power": lambda p: al.trials_for_power(
        *ACCURACIES, 0.4, n_coverage=100, prior=p, rng=1
    )["posterior_width"],
    "posterior": lambda p: (
        al.inference.posterior(from_counts(CELLS[0]), prior=p, rng=1)["posterior"][
            "error_consistency"
        ].values
    ),
    "pairwise_draws": lambda p: pairwise_draws(CELLS, p, rng=1)["error_consistency"],
    "joint_draws": lambda p: joint_draws(from_counts(CELLS[0]), prior=p, rng=1)[
        "error_consistency"
    ],
    "posterior_limits": lambda p: posterior_limits(CELLS, prior=p),
    "option_limits": lambda p: option_limits([60, 10, 12, 15, 9], 4, prior=p),
    "bayes_factor": lambda p: log_bayes_factor(CELLS, prior=p or 1.0),
    "elpd": lambda p: elpd(CELLS, p)[0],
    "elpd_mid_p": lambda p: elpd_mid_p([[60, 12, 14, 14]], p and (0.5, 9, 9, 0.5)),
}
# A strong prior narrows wide posteriors, and increases the center of others.
NARROWER = {
    "difference", "plan_from", "beliefs", "trials_for_width", "trials_for_power",
}  # fmt: skip
EITHER_WAY = {
    "benchmark_scores", "group_scores", "compare", "test_copy_model", "elpd",
    "elpd_mid_p", "bayes_factor", "option_limits",
}  # fmt: skip


# Take seconds each.
LONG = (
    "agreement", "benchmark_scores", "compare", "group_scores", "joint_draws", "plan_from",
    "posterior", "trials_for_power",
)  # fmt: skip


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in MOVED]
)
def test_a_prior_affects_every_posterior(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check a given prior, and the common default of all functions."""
    default, strong = (np.asarray(MOVED[name](prior), float) for prior in (None, STRONG))
    if name != "bayes_factor":
        monkeypatch.setattr(consistency, "DEFAULT_PRIOR", cell_prior(STRONG))
        moved = np.asarray(MOVED[name](None), float)
        assert not np.allclose(default, moved, equal_nan=True)
    if name in EITHER_WAY:
        assert not np.allclose(default, strong, equal_nan=True)
    elif name in NARROWER:
        assert np.nanmean(strong) < np.nanmean(default)
    else:
        assert np.nanmean(strong) > np.nanmean(default)


# Posteriors of other models or quantities, for which `prior=` has no meaning.
OTHER_POSTERIORS = {
    "misclassification_agreement": "labels of joint errors, not correctness",
    "error_similarity": "error distributions by class",
    "decision_margin_consistency": "margins, not correctness",
    "scores_from_result": "scores of decision margins, not of correctness",
    "fit_spectrum": "difficulty of conditions, not pairs: priors of that model",
    "nuts": "samples any generative model, whose priors it has",
    "cue_bias": "shares of the decisions of one observer, not of a pair",
    "coverage_study": "a study whose methods have priors of their own, or the default priors",
    "trials_for_difference": "plans the analytic interval; its study has the default prior",
}
# Another call of the same table, whose posterior is from another function.
WITHOUT_POSTERIOR = {"choose_images", "decision_margins"}


def functions_with_posteriors(golden: Path) -> set[str]:
    """Public functions with a golden table that has posterior columns or rows."""
    calls = importlib.import_module("golden_calls")
    found = set()
    for call in [*calls.CALLS, *calls.SLOW]:
        table = pd.read_csv(golden / "tables" / f"{call.name}.csv", dtype=str)
        if any(str(name).startswith("posterior") for name in table) or (
            table.isin(["posterior"]).any(axis=None)
        ):
            found |= {name.split(".")[-1] for name in call.covers if not name.startswith("alikely")}
    return found


def test_every_function_with_a_posterior_takes_the_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions without `prior=` have golden tables with posteriors of other models."""
    golden = Path(__file__).parent / "golden"
    monkeypatch.syspath_prepend(golden)
    found = functions_with_posteriors(golden)
    assert {"error_consistency", "pairwise_matrix", "benchmark_scores", "trials_for_width"} <= found
    assert found - set(MOVED) - WITHOUT_POSTERIOR - set(OTHER_POSTERIORS) == set()
    assert set(OTHER_POSTERIORS) | WITHOUT_POSTERIOR <= found


def test_every_public_function_with_a_prior_is_covered() -> None:
    """All functions with a prior on cells are listed here."""
    rooms = [al, *(importlib.import_module(f"alikely.{name}") for name in names_page.subjects())]
    every = {name: getattr(room, name) for room in rooms for name in room.__all__}
    taking = {
        name
        for name, found in every.items()
        if inspect.isfunction(found) and "prior" in inspect.signature(found).parameters
    }
    assert taking <= set(MOVED)
    for name, found in every.items():
        if inspect.isfunction(found):
            assert not {"prior", "priors"} <= set(inspect.signature(found).parameters), name


@pytest.mark.parametrize("prior", [(0.5, 0.5, 0.5, 0.5), (2.5, 0.5, 1.5, 0.7)])
def test_limits_are_those_of_a_table_with_pseudocounts(prior: tuple[float, ...]) -> None:
    rng, shift = np.random.default_rng(1), np.array([3, 1, 1, 2])
    tables = np.concatenate([rng.multinomial(n, [0.7, 0.1, 0.1, 0.1], 300) for n in (30, 400)])
    for some in (tables, tables[:9]):
        moved = posterior_limits(some, prior=np.array(prior) + shift)
        more = posterior_limits(some + shift, prior=prior)
        np.testing.assert_allclose(moved, more, atol=1e-9)


@pytest.mark.slow
def test_joint_draws_have_the_limits_of_their_pairs() -> None:
    table = al.data.joint_correctness(NOISE)
    n = 8_000
    drawn = joint_draws(table, n, prior=STRONG, rng=1)["error_consistency"]
    limits = posterior_limits(table["cells"].values, prior=STRONG)
    below = (drawn < limits[:, 0]).mean(axis=0)
    above = (drawn > limits[:, 1]).mean(axis=0)
    # Six errors of a proportion of 0.025, and the precision of the limits.
    assert np.abs(np.stack([below, above]) - 0.025).max() < 6 * np.sqrt(0.025 / n) + 0.002


def test_ratings_of_two_classes_are_beta() -> None:
    codes = np.random.default_rng(2).integers(0, 2, (2, 60)).astype(str)
    trials = al.Trials.from_arrays(codes.tolist(), codes[0].tolist())
    drawn = al.agreement(trials, "raw_agreement", prior=(9, 3, 3, 9), n_resamples=0, rng=1)
    equal = int((codes[0] == codes[1]).sum())
    found = stats.kstest(drawn.draws("posterior")[:, 0], stats.beta(equal + 18, 66 - equal).cdf)
    assert found.pvalue > 1e-4


@pytest.mark.slow
def test_files_store_the_prior(tmp_path: Path) -> None:
    found, pair = two(STRONG)
    found.save(tmp_path / "r.nc")
    loaded = al.Result.load(tmp_path / "r.nc")
    assert loaded.prior == cell_prior(STRONG)
    for ask in (al.test_copy_model, lambda r: al.difference(r, *pair, **ALL)):
        assert ask(loaded).equals(ask(found))
    bare = result(STRONG, n_draws=0)
    limits = posterior_limits(bare.table["cells"].values, prior=STRONG)
    table = posterior(bare.summary(**ALL))
    assert np.abs(table[:, 1:] - limits).max() < 1e-9


@pytest.mark.slow
def test_the_prior_of_the_result_decides_whether_it_biases_a_mean() -> None:
    """Thirty conditions with few errors, for which the default prior is too large."""
    p = al.simulate.cell_probabilities(0.9, 0.9, 0.6)
    cells = np.random.default_rng(1).multinomial(30, p, 30)
    quiet = {"n_resamples": 0, "rng": 1}
    for prior, biased in (((0.01,) * 4, False), (None, True), ((2,) * 4, True)):
        found = al.error_consistency(from_counts(cells), prior=prior, n_draws=200, **quiet)
        assert ("posterior" not in al.mean(found, intervals="all").index) == biased
        note = al.mean(found, intervals=["posterior"]).loc["posterior", "note"]
        assert ("the prior biases the posterior" in note) == biased
    # With 900 trials per condition, only a prior worth many trials is too large.
    many = np.random.default_rng(2).multinomial(900, p, 30)
    for prior, biased in ((None, False), ((60,) * 4, True)):
        found = al.error_consistency(from_counts(many), prior=prior, n_draws=200, **quiet)
        note = al.mean(found, intervals=["posterior"]).loc["posterior", "note"]
        assert ("the prior biases the posterior" in note) == biased


BETAS = {"u": (1, 1), "v": (1, 1)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: result(BETAS, n_draws=0), "no effect with n_draws=0"),
        (
            lambda: al.pairwise_matrix(NOISE, intervals=[], prior=STRONG),
            "this matrix of .* has none",
        ),
        (
            lambda: al.compare(NOISE, "MA", prior=STRONG),
            "misclassification_agreement has no such cells",
        ),
        (
            lambda: al.trials_for_width(*ACCURACIES, 0.4, 0.3, prior=STRONG, n_coverage=0),
            "must be None without posterior intervals",
        ),
        (lambda: result((1, 1, 1)), "prior must be four positive numbers"),
    ],
)
def test_unsupported_priors_raise_an_error(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
