"""Long studies in cells: finished cells are saved, and interrupted studies can resume."""

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

__all__ = ["run_study"]

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
    """Run a function for every cell of a study, in parallel, and save finished cells.

    Jobs run through joblib, by default with one thread per core. Use ``joblib.parallel_config`` for
    other backends, for example ``backend="loky"`` for processes or ``backend="dask"`` for a cluster
    of `dask.distributed`. Each cell has its own random stream, so results do not depend on the
    number of workers or on interruptions.

    Parameters
    ----------
    function : callable
        Function that is called with the values of a cell as keyword arguments, and with ``seed``, a
        `numpy.random.SeedSequence`. The function returns a list of rows. Workers must be able to
        import it (or the function in a `functools.partial`).
    cells : sequence of mapping
        Cells to run, each a mapping from names to JSON values.
    cache_dir : str or path, optional
        Folder for finished cells, with one JSON file per cell. Files are identified by the name of
        the function, the values and the seed. The same call resumes a study that was interrupted.
        Cells whose files are damaged are computed again; other files are not changed.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. If this is None, the seed saved in the folder is reused.

    Returns
    -------
    pandas.DataFrame
        The rows of all cells in order. Each row includes the values of its cell.

    Raises
    ------
    ValueError
        If there are no cells. If the folder is a file, or the saved seed is damaged.

    Examples
    --------
    >>> def mean_of(n, seed):
    ...     return [{"mean": float(np.random.default_rng(seed).random(n).mean())}]
    >>> run_study(mean_of, [{"n": 10}, {"n": 1000}], rng=1).round(2)["n"].tolist()
    [10, 1000]
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
        paths = [cache_dir / _file_name(name, *cell) for cell in zip(cells, seeds, strict=True)]
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


def _file_name(name: str, cell: Cell, seed: np.random.SeedSequence) -> str:
    known_by = name, json.dumps(dict(cell), sort_keys=True), str(seed.entropy), seed.spawn_key
    return f"{_digest(repr(known_by).encode())[:24].decode()}.json"


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
