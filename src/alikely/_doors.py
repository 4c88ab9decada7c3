"""What the front doors share: checks of numbers, and what a result remembers of its making."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

import alikely

__all__ = ["attributes", "check_numbers"]


def check_numbers(**numbers: int) -> None:
    """Refuse negative numbers of draws (`ValueError`)."""
    for name, number in numbers.items():
        if number < 0:
            raise ValueError(f"{name} must be at least 1, or 0 for none; got {number}")


def attributes(
    tree: xr.DataTree,
    metric: str,
    model: str,
    ci_prob: float,
    ci_kind: str,
    cluster: str | None,
    seed: np.random.SeedSequence,
) -> dict[str, Any]:
    """Attributes of the tree of a result."""
    drawn = "posterior" in tree.children
    return {
        "metric": metric,
        "model": model,
        "sampler": tree["posterior"].attrs["sampler"] if drawn else "none",
        "ci_prob": ci_prob,
        "ci_kind": ci_kind,
        "cluster": cluster or "",
        "seed": str(seed.entropy),
        "alikely_version": alikely.__version__,
    }
