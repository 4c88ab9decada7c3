"""A model interpreted against the same model compiled: from the model to its draws."""

from __future__ import annotations

from typing import Any

import pytest

import alikely as al
from alikely.inference import ready


@pytest.mark.benchmark(group="1,000 draws of the cohort model of the example, from the model on")
@pytest.mark.parametrize("how", ["interpreted", "compiled"])
def test_first_draws(benchmark: Any, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With whatever PyTensor has on disk: compiling anew takes four times as long."""
    model = al.models.cohort(al.data.cohort_counts(al.load_example()))
    if how == "compiled":
        monkeypatch.setattr(ready, "BREAK_EVEN", 0)
    ready.cache_clear()
    benchmark.pedantic(al.inference.nuts, (model, 1_000), {"rng": 1}, rounds=1)
