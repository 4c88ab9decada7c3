"""Fixtures and settings shared by tests and docstring examples."""

from __future__ import annotations

import functools
import gc
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from filelock import FileLock

import alikely as al
from alikely.inference.chains import data_groups

# Without stored bytecode, each of hundreds of processes that tests start would spend seconds on
# compiling the package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# PyTensor graphs are many small objects that persist. Repeated garbage collection would take a
# fifth of the time of building and rewriting them.
gc.set_threshold(10_000, 50, 1_000)

# One example may take long on a busy machine, which is not a failure.
hypothesis.settings.register_profile("alikely", deadline=None, max_examples=20)
hypothesis.settings.load_profile("alikely")
# More examples before a change lands (.ci/run).
hypothesis.settings.register_profile("landing", deadline=None, max_examples=30)

# Docstring examples that fit or simulate a model, which takes seconds each.
SLOW_EXAMPLES = {
    "alikely.benchmark.cohorts.cohort_check",
    "alikely.benchmark.cohorts.cohort_contrasts",
    "alikely.benchmark.cohorts.cohort_scores",
    "alikely.benchmark.cohorts.fit_cohort",
    "alikely.benchmark.groups.group_scores",
    "alikely.calibration.ranks.sbc",
    "alikely.estimates.correlations.metric_correlations",
    "alikely.estimates.pairs.error_similarity",
    "alikely.inference.chains.extended",
    "alikely.inference.chains.nuts",
    "alikely.margins.reliability.fit_observers",
    "alikely.models.cohorts.cohort",
    "alikely.papers.families.family_scores",
    "alikely.planning.trials.plan_from",
    "alikely.planning.trials.trials_for_width",
    "alikely.plots.benchmark.plot_cohort",
    "alikely.plots.planning.plot_plan",
    "alikely.report.pages.Report",
    "alikely.report.pages.make_report",
    "alikely.spectrum.regime_mixtures.fit_spectrum",
}

# Fixtures that take seconds to compile: tests that use them are slow.
SLOW_FITS = {"cohort_fit", "cohort_tree", "family_tree"}

# Fixtures of examples, by the comment that shows readers how to create the object.
EXAMPLES = {
    "tree = al.fit_cohort(trials)": "cohort_tree",
    "tree = al.fit_cohort(trials, cov": "family_tree",
    "ranks = al.calibration.sbc": "few_ranks",
}

# Tables that must not change, whatever the processor.
GOLDEN = Path(__file__).parent / "tests" / "golden"

# Functions that fit models with long compile times.
FITTED = (
    "alikely.benchmark.cohorts.nuts",
    "alikely.margins.reliability.nuts",
    "alikely.spectrum.regime_mixtures.nuts",
)
# Number of prior draws, which are repeated.
DRAWN = 400


# Without --studies=full, one in so many data sets of a study is simulated.
SHARE = 4


# PyTensor flags: do not compile functions that run a few times, and store no stack traces.
QUICKER = "mode=FAST_COMPILE,cxx=,traceback__limit=0"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option to simulate a fraction of each study (default), or all before a release."""
    parser.addoption(
        "--studies",
        choices=["share", "full"],
        default=os.environ.get("ALIKELY_STUDIES", "share"),
        help="data sets of simulation studies: a quarter (share), or all (full)",
    )


@pytest.fixture(scope="session")
def sets(pytestconfig: pytest.Config) -> Callable[..., int]:
    """Number of data sets that a study simulates, given the full number.

    A quarter of them, but at least the number that the study needs. Tolerances depend on this
    number, so the test has the same level either way, and more power in full.
    """
    full = pytestconfig.getoption("studies") == "full"

    def number(in_full: int, least: int = 1) -> int:
        return in_full if full else max(-(-in_full // SHARE), least)

    return number


def pytest_configure(config: pytest.Config) -> None:
    """Interpret functions that run a few times, such as densities at a point and prior draws.

    MCMC is unaffected (nutpie sets its own mode). The flags are environment variables, which worker
    processes inherit; explicit flags come last and take precedence.
    """
    given = os.environ.get("PYTENSOR_FLAGS")
    os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [QUICKER, given]))
    if config.getoption("numprocesses", default=None):
        # Workers already use all cores, so threads and processes within them would only wait.
        for name in ("OMP_NUM_THREADS", "LOKY_MAX_CPU_COUNT"):
            os.environ.setdefault(name, "1")


def once(factory: pytest.TempPathFactory, name: str, fit: Callable[[], Any]) -> Any:
    """Return the result of ``fit``, computed by one worker and read by the others."""
    folder = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        # Each worker has a separate folder inside that of the run.
        folder = folder.parent
    path = folder / f"{name}.pickle"
    with FileLock(f"{path}.lock"):
        if not path.exists():
            path.write_bytes(pickle.dumps(fit()))
        return pickle.loads(path.read_bytes())


@pytest.fixture(scope="session")
def cohort_fit(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """One fit of the cohort model, because compiling takes longer than using the fit."""
    return once(tmp_path_factory, "cohort", lambda: _fit_cohort(2_000))


@pytest.fixture(scope="session")
def cohort_tree(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same as `cohort_fit`, with prior draws."""

    def fit() -> Any:
        with pytest.MonkeyPatch.context() as monkeypatch:
            use_prior(monkeypatch)
            return _fit_cohort(4_000)

    return once(tmp_path_factory, "cohort_prior", fit)


@pytest.fixture(scope="session")
def family_table() -> pd.DataFrame:
    """Covariates of the six models of the example."""
    return pd.DataFrame(
        {
            "family": ["cnn", "vit", "cnn", "vit", "mlp", "mlp"],
            "year": [2012, 2014, 2015, 2018, 2020, 2021],
            "large": [True, False, True, False, True, True],
        },
        index=[f"model_{i}" for i in range(1, 7)],
    )


@pytest.fixture(scope="session")
def family_tree(tmp_path_factory: pytest.TempPathFactory, family_table: pd.DataFrame) -> Any:
    """The same as `cohort_tree`, with covariates of the models."""
    trials = al.load_example().select(condition=["blur", "noise"])

    def fit() -> Any:
        with pytest.MonkeyPatch.context() as monkeypatch:
            use_prior(monkeypatch)
            return al.fit_cohort(
                trials,
                human_effects=False,
                covariates={"model": family_table},
                n_draws=400,
            )

    return once(tmp_path_factory, "family_prior", fit)


def _fit_cohort(n_draws: int) -> Any:
    trials = al.load_example().select(condition=["blur", "noise"])
    return al.fit_cohort(trials, human_effects=False, n_draws=n_draws, rng=1)


@pytest.fixture
def prior_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use prior draws instead of MCMC.

    They take a second, and have the same names, shapes, tables and files.
    """
    use_prior(monkeypatch)


def use_prior(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace MCMC with prior draws."""
    for place in FITTED:
        monkeypatch.setattr(place, _prior)


def _prior(model: Any, n_draws: int = 4_000, *_: Any, **__: Any) -> xr.DataTree:
    """Prior draws in the format returned by `alikely.inference.nuts`."""
    import pymc as pm

    from alikely.models._priors import prior_texts

    names = [variable.name for variable in [*model.free_RVs, *model.deterministics]]
    with model:
        drawn = pm.sample_prior_predictive(DRAWN, var_names=names, random_seed=1)
    each = drawn["prior"].to_dataset().isel(chain=0, drop=True)
    # All chains repeat the same draws, each from a different start.
    place = [(np.arange(n_draws // 4) + c * DRAWN // 4) % DRAWN for c in range(4)]
    posterior = each.isel(draw=xr.DataArray(place, dims=("chain", "draw"))).assign_coords(
        chain=np.arange(4), draw=np.arange(n_draws // 4)
    )
    diverging = xr.DataArray(np.zeros((4, n_draws // 4), bool), dims=("chain", "draw"))
    groups = {"posterior": posterior, "sample_stats": diverging.to_dataset(name="diverging")}
    tree = xr.DataTree.from_dict(groups | data_groups(model))
    tree.attrs = {"priors": json.dumps(prior_texts(model)), "thin": 1, "n_divergences": 0}
    return tree


@pytest.fixture(scope="session")
def few_ranks(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Ranks of four simulations of a small model."""

    def study() -> Any:
        model = al.models.copying([30, 10, 10, 10], independent=True)
        return al.calibration.sbc(model, n=4, thin=1, rng=1)

    return once(tmp_path_factory, "ranks", study)


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Record a result of a study, which is shown after all tests."""
    return functools.partial(record_property, "figure")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark docstring examples, which cannot have marks, and run the longest tests first.

    Property tests and golden tables are marked `kernels`, to run under other kernels alone. Idle
    workers take over tests that have not begun, which should be short at the end.
    """
    for item in items:
        if item.name in SLOW_EXAMPLES or SLOW_FITS & {*getattr(item, "fixturenames", ())}:
            item.add_marker(pytest.mark.slow)
        own = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if own or GOLDEN in item.path.parents:
            item.add_marker(pytest.mark.kernels)
    items.sort(key=lambda item: not any(m.kwargs.get("first") for m in item.iter_markers("slow")))


def pytest_collection_finish() -> None:
    """Exclude what imports created from garbage collection: it stays until the end."""
    gc.freeze()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the recorded results of all studies, from all workers."""
    reports = [
        report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)
    ]
    figures = [
        str(text)
        for report in reports
        if report.when == "call"
        for name, text in report.user_properties
        if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
        for text in sorted(figures):
            terminalreporter.write_line(text)


@pytest.fixture(autouse=True)
def fitted_example(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Provide objects that docstring examples mention in a comment, such as a fit."""
    example = getattr(request.node, "dtest", None)
    if example is None:
        return
    sources = "".join(part.source for part in example.examples)
    for said, fixture in EXAMPLES.items():
        if f"# {said}" in sources:
            doctest_namespace[said.split()[0]] = request.getfixturevalue(fixture)


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    """Close all figures after each test, because matplotlib warns about many open figures."""
    yield
    # Most tests draw nothing and do not load matplotlib.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
