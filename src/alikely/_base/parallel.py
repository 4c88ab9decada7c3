"""One way to run independent pieces of work on all cores, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import joblib
from threadpoolctl import threadpool_limits

__all__ = ["in_parallel"]


def in_parallel(function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
    """Call ``function(*job)`` for each job and yield the results in order.

    NumPy releases the interpreter's lock in what this package runs here (random numbers, matrix
    products), so threads serve; `joblib.parallel_config` chooses another backend.
    """
    # One thread per product: the jobs themselves fill the cores.
    with threadpool_limits(limits=1, user_api="blas"):
        yield from joblib.Parallel(n_jobs=-1, prefer="threads", return_as="generator")(
            joblib.delayed(function)(*job) for job in jobs
        )
