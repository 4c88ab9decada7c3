"""Long studies, split into cells: finished cells are saved, and interrupted studies can resume."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from alikely._base.files import write_file
from alikely._base.parallel import products, workers
from alikely._base.random import RandomState, seed_sequence
from alikely._base.steps import progress_bar, quietly

Cell = Mapping[str, Any]
Rows = list[dict[str, Any]]
SEED = "seed.txt"


def run_study(
    function: Callable[..., Rows],
    cells: Sequence[Cell],
    cache_dir: str | Path | None = None,
    *,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Run a function for every cell of a study in parallel, with the cell's values and a `seed`.

    Each cell has its own random stream, so results do not depend on the number of workers or on
    interruptions. Files in the folder are identified by function, values and seed.
    """
    if not cells:
        raise ValueError("cells is empty: a study needs at least one cell")
    named = getattr(function, "func", function)
    name = f"{named.__module__}.{named.__qualname__}"
    seed = seed_sequence(rng)
    if cache_dir is not None:
        cache_dir = Path(cache_dir)
        if cache_dir.exists() and not cache_dir.is_dir():
            raise ValueError(
                f"cache_dir must be a folder, got the file {str(cache_dir)!r}; use another"
            )
        cache_dir.mkdir(parents=True, exist_ok=True)
        seed = seed if rng is not None else _kept_seed(cache_dir / SEED)
    seeds = seed.spawn(len(cells))
    paths: list[Path | None] = [None] * len(cells)
    if cache_dir is not None:
        known_by = [
            (name, json.dumps(dict(cell), sort_keys=True), str(own.entropy), own.spawn_key)
            for cell, own in zip(cells, seeds, strict=True)
        ]
        paths = [cache_dir / f"{_digest(repr(k).encode())[:24].decode()}.json" for k in known_by]
    done = {i: rows for i, path in enumerate(paths) if path and (rows := _kept(path)) is not None}
    todo = [index for index in range(len(cells)) if index not in done]
    with progress_bar("cells", len(cells)) as advance:
        advance(len(done))
        work = joblib.Parallel(n_jobs=workers(), prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_run)(function, index, dict(cells[index]), seeds[index])
            for index in todo
        )
        for index, rows in work:
            if (path := paths[index]) is not None:
                text = json.dumps(rows, default=lambda value: value.tolist()).encode()
                write_file(path, _digest(text), b"\n", text)
            done[index] = rows
            advance(1)
    return pd.DataFrame([dict(cells[i]) | row for i in range(len(cells)) for row in done[i]])


def _run(
    function: Callable[..., Rows], index: int, cell: dict[str, Any], seed: np.random.SeedSequence
) -> tuple[int, Rows]:
    # One thread per process: the cells use all cores.
    with quietly(), products().limit(limits=1, user_api="blas"):
        return index, function(**cell, seed=seed)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _kept_seed(path: Path) -> np.random.SeedSequence:
    if not path.exists():
        write_file(path, str(np.random.SeedSequence().entropy))
    try:
        return np.random.SeedSequence(int(path.read_text()))
    except ValueError:
        raise ValueError(
            f"{str(path)!r} must contain the digits of a seed, but is damaged; delete it, or use "
            "another folder"
        ) from None


def _kept(path: Path) -> Rows | None:
    """Rows of a saved cell; None if its file is missing or damaged."""
    digest, _, text = path.read_bytes().partition(b"\n") if path.is_file() else (b"", b"", b"")
    return json.loads(text) if digest == _digest(text) else None
