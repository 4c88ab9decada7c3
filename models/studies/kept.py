"""Ranks of a calibration, kept small beside the card."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.files import write_file
from alikely._base.names import listed, nearest

__all__ = ["RANKS", "in_steps", "keep_ranks", "kept_branches", "kept_ranks"]

RANKS = "ranks.npz"
# Shares from 0 to 1 in as many steps as two bytes have; the last number is no rank.
STEPS, UNDEFINED = 65_534, 65_535
DIVERGENT = "divergent"


def in_steps(ranks: pd.DataFrame) -> pd.DataFrame:
    """Ranks as they will be kept: the verdict is of these, so that it can be worked out again."""
    return ranks.assign(rank=_shares(_steps(ranks["rank"].to_numpy())))


def keep_ranks(path: str | Path, branch: str, ranks: pd.DataFrame) -> None:
    """Put the ranks of a branch into the file of its model, in the place of earlier ones."""
    path = Path(path)
    arrays = _arrays(path) if path.is_file() else {}
    arrays = {name: values for name, values in arrays.items() if _branch_of(name) != branch}
    ordered = ranks.sort_values("simulation", kind="stable")
    divergent = ordered.groupby("simulation")[DIVERGENT].first()
    arrays[f"{branch}/{DIVERGENT}"] = np.minimum(divergent.to_numpy(), UNDEFINED).astype(np.uint16)
    for (school, quantity), part in ordered.groupby(["school", "quantity"], sort=False):
        arrays[f"{branch}/{school}/{quantity}"] = _steps(part["rank"].to_numpy())
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{k: arrays[k] for k in sorted(arrays)})
    write_file(path, buffer.getvalue())


def kept_branches(path: str | Path) -> list[str]:
    """Names of the branches whose ranks a file holds."""
    return sorted({_branch_of(name) for name in _arrays(Path(path))})


def kept_ranks(path: str | Path, branch: str = "default") -> pd.DataFrame:
    """Ranks of a branch from the file of its model."""
    arrays = _arrays(Path(path))
    if f"{branch}/{DIVERGENT}" not in arrays:
        known = sorted({_branch_of(name) for name in arrays})
        raise ValueError(
            f"{str(path)!r} has no ranks of {branch!r}{nearest(branch, known)}; it has those of "
            f"{listed(known)}"
        )
    divergent = arrays.pop(f"{branch}/{DIVERGENT}").astype(np.int64)
    parts = []
    for name, steps in arrays.items():
        if _branch_of(name) == branch:
            _, school, quantity = name.split("/")
            parts.append(
                pd.DataFrame(
                    {
                        "simulation": np.arange(len(steps)),
                        "school": school,
                        "quantity": quantity,
                        "rank": _shares(steps),
                        DIVERGENT: divergent,
                    }
                )
            )
    return pd.concat(parts, ignore_index=True)


def _steps(shares: NDArray[np.float64]) -> NDArray[np.uint16]:
    known = np.isfinite(shares)
    steps = np.round(np.where(known, shares, 0) * STEPS)
    return np.where(known, steps, UNDEFINED).astype(np.uint16)


def _shares(steps: NDArray[np.uint16]) -> NDArray[np.float64]:
    return np.where(steps == UNDEFINED, np.nan, steps / STEPS)


def _branch_of(name: str) -> str:
    return name.partition("/")[0]


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise ValueError(f"no file {str(path)!r}; python -m studies run NAME makes it")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (ValueError, OSError, KeyError, zipfile.BadZipFile):
        raise ValueError(f"{str(path)!r} is damaged; take a copy of it, or make it again") from None
