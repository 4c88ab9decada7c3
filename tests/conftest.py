"""Fixtures shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import alikely as al
from alikely.metrics import metric as registry

# Tests of stored results and of the settings themselves have the default settings.
DEFAULTS = ("golden", "test_docs.py", "test_settings.py", "test_size.py")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real data alongside the checkout; without it, tests are skipped with a reason."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"real data not found at {folder}")
    return folder


@pytest.fixture(autouse=True)
def few_null_draws(request: pytest.FixtureRequest) -> Iterator[None]:
    """Simulate null distributions with few draws, unless a test sets their number."""
    if any(name in request.path.parts for name in DEFAULTS):
        yield
        return
    with al.options(n_null=400):
        yield


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["prior", "chains"])
def chains(request: pytest.FixtureRequest) -> bool:
    """Run a test with `prior_chains`, and (slow) with MCMC.

    Returns whether the draws are from MCMC, because only then can a test check estimates.
    """
    if not request.param:
        request.getfixturevalue("prior_chains")
    return bool(request.param)


@pytest.fixture
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use very short chains for paired errors in tests that do not check estimates."""
    monkeypatch.setattr("alikely.errors.draws.WARM_UP", 10)
    monkeypatch.setattr("alikely.errors.draws.SWEEPS", 50)


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove metrics that a test registers."""
    core = {k: m for k, m in registry.metrics().items() if m.module.startswith("alikely.")}
    monkeypatch.setattr(registry, "_METRICS", core)
