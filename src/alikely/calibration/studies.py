"""Long studies in small cells: kept on disk as they finish, taken up again where they stopped."""

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
from alikely._base.steps import Bar, quietly

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
    """Run a function for every cell of a study, in parallel, and keep what is done.

    Work goes through joblib: two threads on two cores, unless ``joblib.parallel_config`` chooses
    otherwise, for instance ``backend="loky"`` for processes, or ``backend="dask"`` for a cluster
    of `dask.distributed`. Each cell has a random stream of its own, so that neither the workers nor
    an interruption change a result.

    Parameters
    ----------
    function : callable
        Takes the values of a cell by name, and ``seed``, a `numpy.random.SeedSequence`; returns a
        list of rows. It must be importable where it runs, or a `functools.partial` of such a one.
    cells : sequence of mapping
        What to run, one mapping of JSON values each.
    cache_dir : str or path, optional
        Where finished cells are kept, one JSON file each, known by the function's name, the values
        and the seed. A study that was stopped, by Ctrl-C or harder, goes on there when it is called
        again in the same way; its files that are damaged are made again, other files are left
        alone.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; with None a folder goes on with the seed that it keeps.

    Returns
    -------
    pandas.DataFrame
        The rows of all cells in their order, each with its cell's values.

    Raises
    ------
    ValueError
        If there are no cells, or the folder is a file or keeps a damaged seed.

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
                f"folder must be a folder, got the file {str(cache_dir)!r}; give another"
            )
        cache_dir.mkdir(parents=True, exist_ok=True)
        seed = seed if rng is not None else _kept_seed(cache_dir / SEED)
    seeds = seed.spawn(len(cells))
    paths: list[Path | None] = [None] * len(cells)
    if cache_dir is not None:
        paths = [cache_dir / _file_name(name, *cell) for cell in zip(cells, seeds, strict=True)]
    done = {i: rows for i, path in enumerate(paths) if path and (rows := _kept(path)) is not None}
    todo = [index for index in range(len(cells)) if index not in done]
    with Bar("cells", len(cells)) as bar:
        bar.update(len(done))
        work = joblib.Parallel(n_jobs=workers(), prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_run)(function, index, dict(cells[index]), seeds[index])
            for index in todo
        )
        for index, rows in work:
            if (path := paths[index]) is not None:
                text = json.dumps(rows, default=lambda value: value.tolist()).encode()
                write_file(path, _digest(text), b"\n", text)
            done[index] = rows
            bar.update()
    return pd.DataFrame([dict(cells[i]) | row for i in range(len(cells)) for row in done[i]])


def _run(
    function: Callable[..., Rows], index: int, cell: dict[str, Any], seed: np.random.SeedSequence
) -> tuple[int, Rows]:
    # One thread per product: the cells themselves fill the cores.
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
            f"{str(path)!r} is damaged: it must be the digits of a seed; give another folder, or "
            "delete it"
        ) from None


def _kept(path: Path) -> Rows | None:
    """Rows of a cell that is on disk and whole."""
    digest, _, text = path.read_bytes().partition(b"\n") if path.is_file() else (b"", b"", b"")
    return json.loads(text) if digest == _digest(text) else None
