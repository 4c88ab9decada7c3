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
    """Folder of real data alongside the checkout; tests that need it skip, loudly, without it."""
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
    """Run a test with `prior_chains`, and (slow) with chains.

    Whether they are chains: what a fit finds can be asserted of those alone.
    """
    if not request.param:
        request.getfixturevalue("prior_chains")
    return bool(request.param)


@pytest.fixture
def few_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of paired errors as short as can be, where nothing is asserted of what they find."""
    monkeypatch.setattr("alikely.errors.draws.WARM_UP", 10)
    monkeypatch.setattr("alikely.errors.draws.SWEEPS", 50)


@pytest.fixture
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metrics that a test makes are forgotten after it."""
    house = {k: m for k, m in registry.metrics().items() if m.module.startswith("alikely.")}
    monkeypatch.setattr(registry, "_METRICS", house)
