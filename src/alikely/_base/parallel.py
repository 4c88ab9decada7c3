"""Independent jobs on all cores or on a cluster."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import joblib
from threadpoolctl import ThreadpoolController, threadpool_limits

from alikely._base.steps import tracked

# Number of simultaneous jobs of the process; -1: number of cores.
_workers = -1


def workers() -> int:
    """Number of workers, -1 for one on each core."""
    return _workers


@contextlib.contextmanager
def at_most(n_workers: int | None) -> Iterator[None]:
    """Set the number of workers. Default: all cores."""
    global _workers
    if n_workers is None:
        yield
        return
    if n_workers < 1:
        raise ValueError(f"n_workers must be at least 1, got {n_workers}")
    # More than there are cores only wait for one another.
    before, _workers = _workers, min(n_workers, os.cpu_count() or 1)
    try:
        with threadpool_limits(limits=_workers):
            yield
    finally:
        _workers = before


@functools.cache
def products() -> ThreadpoolController:
    """Return the controller of the threads that compute matrix products."""
    # Its libraries are its own, and are there once it is.
    import scipy.linalg  # noqa: F401

    return ThreadpoolController()


def in_parallel(function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
    """Call ``function(*job)`` for each job and yield the results in order."""
    # One thread per product: the jobs themselves fill the cores.
    with products().limit(limits=1, user_api="blas"):
        done = joblib.Parallel(n_jobs=_workers, prefer="threads", return_as="generator")(
            joblib.delayed(_called)(function, job) for job in jobs
        )
        yield from tracked(done, len(jobs))


def _called(function: Callable[..., Any], job: tuple[Any, ...]) -> Any:
    # Arguments as one tuple: joblib scatters large ones over a dask cluster, where they live on one
    # worker alone, and with it all jobs that need them are lost; what is within a tuple stays with
    # its job, which can be sent again.
    return function(*job)
