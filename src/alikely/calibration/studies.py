"""Long studies in small cells: kept on disk as they finish, taken up again where they stopped."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from alikely._base.files import PART, write_file
from alikely._base.parallel import products, workers
from alikely._base.random import RandomState, seed_sequence
from alikely._base.steps import Bar, quietly

__all__ = ["run_study"]

Cell = Mapping[str, Any]
Rows = list[dict[str, Any]]
DESCRIPTION = "study.json"
# Files of finished cells: number and digest. No others in the folder are read or removed.
CELL = re.compile(r"(\d{6,})-([0-9a-f]{16})\.parquet")


def run_study(
    function: Callable[..., Rows],
    cells: Sequence[Cell],
    folder: str | Path | None = None,
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
    folder : str or path, optional
        Where finished cells are kept, one parquet file each: new, empty or of this study. A study
        that was stopped, by Ctrl-C or harder, goes on there when it is called again in the same
        way; its files that are damaged are made again, files of others are left alone.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; with None a folder goes on with its own.

    Returns
    -------
    pandas.DataFrame
        The rows of all cells in their order, each with its cell's values.

    Raises
    ------
    ValueError
        If there are no cells; the folder holds another study, files but no study, or a damaged
        description of its study.

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
    done: dict[int, Rows] = {}
    if folder is not None:
        folder = Path(folder)
        seed = _open(folder, name, cells, seed, chosen=rng is not None)
        done = _kept(folder, len(cells))
    seeds = seed.spawn(len(cells))
    todo = [index for index in range(len(cells)) if index not in done]
    with Bar("cells", len(cells)) as bar:
        bar.update(len(done))
        work = joblib.Parallel(n_jobs=workers(), prefer="threads", return_as="generator_unordered")(
            joblib.delayed(_run)(function, index, dict(cells[index]), seeds[index])
            for index in todo
        )
        for index, rows in work:
            if folder is not None:
                _keep(folder, index, rows)
            done[index] = rows
            bar.update()
    return pd.DataFrame([dict(cells[i]) | row for i in range(len(cells)) for row in done[i]])


def _run(
    function: Callable[..., Rows], index: int, cell: dict[str, Any], seed: np.random.SeedSequence
) -> tuple[int, Rows]:
    # One thread per product: the cells themselves fill the cores.
    with quietly(), products().limit(limits=1, user_api="blas"):
        return index, function(**cell, seed=seed)


def _open(
    folder: Path, name: str, cells: Sequence[Cell], seed: np.random.SeedSequence, chosen: bool
) -> np.random.SeedSequence:
    """Describe the study in its folder, or check that it is the one described there."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"folder must be a folder, got the file {str(folder)!r}; give another")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / DESCRIPTION
    listed = json.dumps([dict(cell) for cell in cells], sort_keys=True)
    entropy = [int(word) for word in np.ravel(np.array(seed.entropy, dtype=object))]
    stated: dict[str, Any] = {
        "function": name,
        "cells": hashlib.sha256(listed.encode()).hexdigest(),
        "entropy": entropy,
        "spawn_key": list(seed.spawn_key),
    }
    if path.is_file():
        known = _described(path)
        if not chosen:
            stated |= {key: known[key] for key in ("entropy", "spawn_key")}
        differs = [key for key, value in stated.items() if known.get(key) != value]
        if differs:
            raise ValueError(
                f"{str(folder)!r} holds another study (it differs in {', '.join(differs)}); give "
                "another folder, or delete it"
            )
    else:
        # A process that is killed leaves a part of its description at most.
        held = [entry.name for entry in folder.iterdir() if not entry.name.endswith(PART)]
        if held:
            raise ValueError(
                f"folder must be new, empty or of this study; {str(folder)!r} has no {DESCRIPTION} "
                f"but {min(held)!r}; give another folder"
            )
        write_file(path, json.dumps(stated, indent=1))
    words = stated["entropy"]
    return np.random.SeedSequence(
        words if len(words) > 1 else words[0], spawn_key=tuple(stated["spawn_key"])
    )


def _described(path: Path) -> dict[str, Any]:
    """What the folder says of its study."""
    try:
        known = json.loads(path.read_text())
        if not isinstance(known["entropy"], list):
            raise TypeError
        np.random.SeedSequence(known["entropy"], spawn_key=known["spawn_key"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f"{str(path)!r} is damaged: it does not describe a study; give another folder, or put "
            "a copy of it back"
        ) from None
    return dict(known)


def _kept(folder: Path, n_cells: int) -> dict[int, Rows]:
    """Cells that are on disk and whole; damaged files of cells are removed."""
    done = {}
    for path in folder.iterdir():
        match = CELL.fullmatch(path.name)
        if match is None or int(match[1]) >= n_cells:
            continue
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest()[:16] != match[2]:
            path.unlink()
            continue
        done[int(match[1])] = pq.read_table(io.BytesIO(content)).to_pylist()
    return done


def _keep(folder: Path, index: int, rows: Rows) -> None:
    """Write a cell under the digest of its content: what is damaged later is noticed."""
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    content = buffer.getvalue()
    digest = hashlib.sha256(content).hexdigest()[:16]
    write_file(folder / f"{index:06d}-{digest}.parquet", content)
