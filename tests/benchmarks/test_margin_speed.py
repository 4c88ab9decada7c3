"""Speed of decision margins freed of noise, as ratios within one run."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import alikely as al


def made(n_machines: int, n_items: int) -> tuple[al.Trials, pd.DataFrame]:
    rho = {f"m{i}": 0.2 + 0.7 * i / n_machines for i in range(n_machines)}
    return al.simulate.detection_experiment(10, n_items, rho=rho, rng=1)


@pytest.fixture(scope="module")
def few() -> tuple[al.Trials, pd.DataFrame]:
    """15 machines, 10 people, 160 items."""
    return made(15, 160)


@pytest.fixture(scope="module")
def many() -> tuple[al.Trials, pd.DataFrame]:
    """100 machines, 10 people, 1,280 items."""
    return made(100, 1_280)


@pytest.mark.benchmark(group="15 machines x 160 items x 10 people, all pairs")
@pytest.mark.parametrize("model", ["moments", "strengths"])
def test_few_machines(benchmark: Any, few: tuple[al.Trials, pd.DataFrame], model: str) -> None:
    options = {"model": model, "n_resamples": 0, "rng": 1}
    benchmark.pedantic(al.decision_margin_consistency, few, options, rounds=2)


@pytest.mark.benchmark(group="100 machines x 1,280 items x 10 people, machines and people")
@pytest.mark.parametrize("model", ["moments", "strengths"])
def test_many_machines(benchmark: Any, many: tuple[al.Trials, pd.DataFrame], model: str) -> None:
    pairs = [("human", f"m{i}") for i in range(100)]
    options = {"model": model, "n_resamples": 0, "rng": 1}
    benchmark.pedantic(al.decision_margin_consistency, (*many, pairs), options, rounds=1)
