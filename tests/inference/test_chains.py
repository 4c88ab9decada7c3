"""One cache of compiled models: which models share compiled code, and which do not."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from numpy.typing import NDArray

import alikely as al
from alikely.data.cohorts import cohort_counts
from alikely.inference import cache, chains
from alikely.inference.interpreter.models import Graphs
from alikely.models.observers import FEW_ANSWERS
from alikely.simulate import cohort as simulated_cohort
from generative.item_margins import item_margins
from generative.paired_errors import paired_errors
from studies.cases import CASES

ITEMS = 12
SOURCE = Path(al.__file__).parent


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    """A separate cache, so that other tests do not lose compiled models."""
    for name in ("graphs_of", "_code"):
        plain = getattr(cache, name).__wrapped__
        monkeypatch.setattr(cache, name, functools.lru_cache(maxsize=cache.KEPT)(plain))


def toy(y: Any, shift: float = 0.0, labels: str = "abc") -> pm.Model:
    """A mean, with a design constant that is no data."""
    with pm.Model(coords={"trial": list(labels)}) as model:
        data = pm.Data("y", np.asarray(y, dtype=float), dims="trial")
        mean = pm.Normal("mean", shift, 2.0)
        pm.Normal("observed", mean, 1, observed=data, dims="trial")
        pm.Deterministic("residual", data - mean, dims="trial")
    return model


def cells(seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).multinomial(100, [0.6, 0.15, 0.1, 0.15], 3)


def counts(seed: int, *shape: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).poisson(4, shape) + 1


def items(seed: int) -> pm.Model:
    rng = np.random.default_rng(seed)
    right = rng.binomial(10, rng.uniform(0.2, 0.9, ITEMS))
    return item_margins(right, np.full(ITEMS, 10), rng.normal(size=ITEMS), n_alternatives=4)


def observers(seed: int, shown: int = 3) -> pm.Model:
    rng = np.random.default_rng(seed)
    right = rng.binomial(shown, rng.uniform(0.2, 0.9, ITEMS), (4, ITEMS))
    return al.models.observer_margins(
        right, np.full((4, ITEMS), shown), rng.normal(size=ITEMS), n_alternatives=4
    )


def experiment(seed: int) -> al.Trials:
    return simulated_cohort(
        [0.2, 0.5, 0.8], [0.7] * 3, [0.6, 0.8, 0.9], 0.4, n_humans=3, n_trials=60, rng=seed
    )


def cohort(seed: int) -> pm.Model:
    return al.models.cohort(cohort_counts(experiment(seed)))


def people(seed: int) -> pm.Model:
    counts = cohort_counts(experiment(seed), who_was_right=True)
    return al.models.cohort(counts, human_effects="drawn")


def spectrum(seed: int) -> pm.Model:
    at, person = np.divmod(np.arange(18), 3)
    ease = np.repeat([0.95, 0.9, 0.85, 0.5, 0.45, 0.4], 3)
    right = np.random.default_rng(seed).binomial(60, ease)
    return al.models.spectrum(right, [60] * 18, at, person, [True, True] + [False] * 4, 2)


# Models with all data in pymc.Data have one compiled model for all data of a shape.
def paired(seed: int) -> pm.Model:
    agreed, apart, alone_a, alone_b = counts(seed, 4, 4, 4)
    return paired_errors(agreed, apart, apart, alone_a, alone_b)


ONE_FOR_ALL: dict[str, Callable[[int], pm.Model]] = {
    "copying": lambda seed: al.models.copying(cells(seed)),
    "copying, independent": lambda seed: al.models.copying(cells(seed), independent=True),
    "item_margins": items,
    "observer_margins": observers,
    "paired_errors": paired,
    "cohort": cohort,
    "cohort, people": people,
}
# Models that precompute from their data need another compiled model for other data.
ONE_FOR_EACH: dict[str, Callable[[int], pm.Model]] = {
    "spectrum": spectrum,
}


def evaluated(model: pm.Model, data: pm.Model, point: dict[str, Any]) -> list[NDArray[Any]]:
    """Log density terms and saved quantities, with the data of another model."""
    from pytensor.compile.mode import Mode
    from pytensor.link.vm import VMLinker

    before = {v.name: v.get_value() for v in model.data_vars}
    function = model.compile_fn(
        [*model.logp(sum=False), *model.unobserved_value_vars],
        inputs=model.value_vars,
        point_fn=False,
        on_unused_input="ignore",
        mode=Mode(linker=VMLinker(use_cloop=False, c_thunks=False), optimizer=None),
    )
    try:
        for name in before:
            model[name].set_value(data[name].get_value())
        return list(function(*(point[v.name] for v in model.value_vars)))
    finally:
        for name, values in before.items():
            model[name].set_value(values)


def somewhere(model: pm.Model) -> dict[str, NDArray[Any]]:
    """A point of the sampled space, away from the start of chains."""
    rng = np.random.default_rng(5)
    start = model.initial_point()
    return {name: values + rng.normal(0, 0.3, np.shape(values)) for name, values in start.items()}


def test_every_model_of_the_catalog_is_tested() -> None:
    known = {name.split(",")[0] for name in (*ONE_FOR_ALL, *ONE_FOR_EACH)}
    assert known == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_FOR_ALL)
def test_models_with_common_code_give_equal_results(name: str) -> None:
    """Compare a model with the data of another model to the other model."""
    one, other = (ONE_FOR_ALL[name](seed) for seed in (1, 2))
    assert any(
        (one[v.name].get_value() != v.get_value()).any() for v in other.data_vars
    )  # otherwise nothing is tested
    assert cache.Computation(one) == cache.Computation(other)
    point = somewhere(other)
    for found, wanted in zip(
        evaluated(one, other, point), evaluated(other, other, point), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ONE_FOR_EACH)
def test_models_that_precompute_from_data_share_no_code(name: str) -> None:
    one, again, other = (ONE_FOR_EACH[name](seed) for seed in (1, 1, 2))
    written = cache.Computation(one)
    assert written == cache.Computation(again)
    assert written != cache.Computation(other)
    # Shared code would have given wrong results.
    point = somewhere(other)
    terms = zip(evaluated(one, other, point), evaluated(other, other, point), strict=True)
    assert any(np.abs(found - wanted).max() > 1e-6 for found, wanted in terms)


@pytest.mark.slow
def test_options_that_change_the_graph_share_no_code() -> None:
    few, many = observers(1, FEW_ANSWERS), observers(1, FEW_ANSWERS + 1)  # other nodes of the graph
    assert cache.Computation(few) != cache.Computation(many)
    plain = cache.Computation(toy([1, 2, 3]))
    assert cache.Computation(toy([4, 5, 6])) == plain
    assert cache.Computation(toy([1, 2, 3], shift=0.5)) != plain
    assert cache.Computation(toy([1, 2, 3, 4], labels="abcd")) != plain
    assert cache.Computation(toy([1, 2, 3], labels="abx")) != plain


def sizes_of(model: pm.Model) -> list[int]:
    """Numbers of elements of each sampled variable, in their order."""
    start = model.initial_point()
    return [np.size(start[model.rvs_to_values[variable].name]) for variable in model.free_RVs]


def saved_at(made: Graphs, data: dict[str, Any], point: NDArray[Any]) -> dict[str, Any]:
    """Saved quantities of a draw, by name."""
    draw = made.sampled(made.tapes(data), lambda seed: point)._make_expand_func(1, 2, 0)
    return {name: values.copy() for name, values in draw(point).items()}


@pytest.mark.slow
def test_chains_with_other_data_have_the_start_of_those_data() -> None:
    """Coordinates of strengths and their start depend on the counts."""
    one, other = items(1), items(2)
    own = {v.name: v.get_value() for v in one.data_vars}
    data = {v.name: v.get_value() for v in other.data_vars}
    found = cache._starting_point(one)(data, 7)
    np.testing.assert_array_equal(found, cache._starting_point(other)({}, 7))
    made = Graphs(one)
    here, there = (saved_at(made, values, found)["strength"] for values in (own, data))
    assert np.abs(here - there).max() > 0.5
    ours = {
        variable.name
        for variable, transform in one.rvs_to_transforms.items()
        if type(transform).__module__.startswith(cache.MODELS)
    }
    sure = found[np.repeat([v.name in ours for v in one.free_RVs], sizes_of(one))]
    assert np.abs(sure).max() <= 1
    for variable in one.data_vars:  # used only temporarily
        np.testing.assert_array_equal(variable.get_value(), own[variable.name])


def drawn(tree: xr.DataTree) -> NDArray[Any]:
    return np.asarray(tree["posterior"]["mean"].values)


@pytest.mark.slow
@pytest.mark.usefixtures("empty")
def test_other_data_give_another_posterior_with_the_same_graphs() -> None:
    trees = [
        al.inference.nuts(toy(y), 200, 300, rng=1)
        for y in ([0.5, 1.0, 1.5], [-3.0, 0.0, 3.0], [0.5, 1.0, 1.5])
    ]
    info = cache.graphs_of.cache_info()
    assert (info.misses, info.hits) == (1, 2)
    np.testing.assert_array_equal(drawn(trees[2]), drawn(trees[0]))
    assert (drawn(trees[1]) != drawn(trees[0])).any()
    # Also with the data set in one model, as in simulation-based calibration.
    fill = cache.compiled(toy([0.5, 1.0, 1.5]))
    tree = chains.sample(fill({"y": [-3.0, 0.0, 3.0]}).sampled, 50, 300, 1, ["mean"])
    residual = tree["posterior"]["residual"][..., 0] + tree["posterior"]["mean"]
    np.testing.assert_allclose(residual, -3, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.usefixtures("empty")
def test_compiled_code_gives_the_conjugate_posterior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare with the conjugate posterior: mean 12/13, variance 4/13, 4 Monte Carlo errors."""
    data = [0.5, 1.0, 1.5]
    interpreted = al.inference.nuts(toy(data), 2_000, 500, rng=1)
    monkeypatch.setenv(cache.SWITCH, "pytensor")
    compiled = al.inference.nuts(toy(data), 2_000, 500, rng=1)
    for tree in (interpreted, compiled):
        ess = float(azs.ess(tree["posterior"].to_dataset()[["mean"]])["mean"])
        assert drawn(tree).mean() == pytest.approx(12 / 13, abs=4 * (4 / 13) ** 0.5 / ess**0.5)
        residual = tree["posterior"]["residual"]
        assert residual.dims == ("chain", "draw", "trial")
        assert residual["trial"].values.tolist() == ["a", "b", "c"]
    assert cache._code.cache_info().currsize == 1


@pytest.mark.slow
@pytest.mark.usefixtures("empty")
def test_threads_compile_once_and_use_their_data() -> None:
    def fit(y: list[float]) -> xr.DataTree:
        return al.inference.nuts(toy(y), 200, 300, rng=1)

    data = [[0.5, 1.0, 1.5], [-3.0, 0.0, 3.0], [9.0, 9.5, 9.0]]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(fit, data))
    assert cache.graphs_of.cache_info().misses == 1
    for y, tree in zip(data, together, strict=True):
        np.testing.assert_array_equal(drawn(tree), drawn(fit(y)))


@pytest.mark.slow
@pytest.mark.usefixtures("empty")
def test_models_use_their_values_of_shared_variables() -> None:
    """Models with equal graphs share code, but not later values of shared variables."""

    def scaled(held: Any) -> pm.Model:
        with pm.Model() as model:
            x = pm.Normal("x", 0, 1)
            pm.Deterministic("y", x * held)
        return model

    held = pytensor.shared(2.0, name="held")
    cache.compiled(scaled(held))({})
    held.set_value(5.0)
    tree = al.inference.nuts(scaled(pytensor.shared(2.0, name="held")), 40, 50, rng=1)["posterior"]
    np.testing.assert_allclose(tree["y"], 2 * tree["x"])
    assert cache.graphs_of.cache_info().misses == 1


def test_models_without_a_gradient_raise_an_error() -> None:
    with pm.Model() as model:
        pm.Poisson("k", 3)
    with pytest.raises(ValueError, match="continuous variables, got discrete k; sum them out"):
        al.inference.nuts(model)
    with pm.Model() as empty, pytest.raises(ValueError, match="no free variable to sample"):
        al.inference.nuts(empty)


def minibatch() -> pm.Model:
    with pm.Model() as model:
        batch = pm.Minibatch(np.arange(20.0), batch_size=5)
        pm.Normal("y", pm.Normal("mean"), 1, observed=batch, total_size=20)
    return model


def test_a_random_density_raises_a_one_line_error() -> None:
    with pytest.raises(
        ValueError, match=r"random numbers at each .*in place of pm\.Minibatch"
    ) as e:
        al.inference.nuts(minibatch())
    assert "\n" not in str(e.value)


def unsupported() -> pm.Model:
    """A model with an operation unknown to the interpreter; conjugate like `toy`."""
    model = toy([0.5, 1.0, 1.5])
    with model:
        pair = pytensor.tensor.sort(pytensor.tensor.stack([model["mean"], 1.0]))
        pm.Potential("nothing", pair[0] + pair[1] - model["mean"] - 1.0)
    return model


class Compiled:
    """Mock of the compiled code, which takes half a minute to compile."""

    initial_point_func = None

    def with_data(self, **_: Any) -> Compiled:
        return self


@pytest.mark.usefixtures("empty")
@pytest.mark.parametrize("trouble", ["operation", "import"])
def test_one_fallback_compiles_unsupported_models(
    trouble: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    asked = []
    monkeypatch.setattr("nutpie.compile_pymc_model", lambda m: asked.append(m) or Compiled())
    monkeypatch.setattr(cache.dataclasses, "replace", lambda code, **_: code)
    model, reason = unsupported(), "UnsupportedError: no tape knows ArgSort"
    if trouble == "import":
        model, reason = toy([0.5, 1.0, 1.5]), "ImportError: .*BatchedDot"
        monkeypatch.delattr("pytensor.tensor.blas.BatchedDot")
        for name in ("tape", "models"):
            module = f"alikely.inference.interpreter.{name}"
            monkeypatch.delitem(sys.modules, module, raising=False)
    fill = cache.compiled(model)
    with caplog.at_level("INFO", logger="alikely"):
        found = [fill({}) for _ in range(2)]
    assert asked == [model]
    assert [(type(one.sampled), one.evaluator) for one in found] == [(Compiled, "numba")] * 2
    assert re.search(f"^the interpreter failed with {reason}", found[0].reason)
    # One line for any number of data sets.
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().endswith(found[0].reason)
    assert "\n" not in record.getMessage()


@pytest.mark.usefixtures("empty")
def test_the_interpreter_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nutpie.compile_pymc_model", lambda model: Compiled())
    monkeypatch.setattr(cache.dataclasses, "replace", lambda code, **_: code)
    monkeypatch.setenv("ALIKELY_EVALUATOR", "pytensor")
    found = cache.compiled(toy([0.5, 1.0, 1.5]))({})
    assert found[1:] == ("numba", "ALIKELY_EVALUATOR is 'pytensor'")
    monkeypatch.setenv("ALIKELY_EVALUATOR", "jax")
    with pytest.raises(ValueError, match="must be 'interpreter' or 'pytensor', got 'jax'"):
        cache.compiled(toy([0.5, 1.0, 1.5]))


@pytest.mark.slow
def test_chains_run_without_a_writable_cache(tmp_path: Path) -> None:
    """Use a copy of the package in which no cache folder can be created."""
    copy = tmp_path / "alikely"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    nowhere = str(copy / "__pycache__" / "cache")
    code = (
        "import alikely as al; print(al.__file__); "
        "r = al.error_consistency(al.data.from_counts([[90, 20, 20, 30]] * 40), sampler='nuts', "
        "n_draws=40, n_resamples=0, rng=1); "
        "print(r.chains['all pairs'].attrs['evaluator'])"
    )
    told = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env=os.environ
        | {"PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": nowhere, "XDG_CACHE_HOME": nowhere},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert told.stdout.split() == [str(copy / "__init__.py"), "interpreter"]


def test_a_model_without_dims_can_be_fitted_again() -> None:
    """Dims that nutpie adds during one fit are removed before the next."""
    for seed in (1, 2):
        with pm.Model() as model:
            pm.Normal("x", shape=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", al.inference.SamplingWarning)
            tree = al.inference.nuts(model, 40, 40, rng=seed)
        assert tree["posterior"].sizes["x_dim_0"] == 2
