"""Results from files, of whichever kind they are."""

from __future__ import annotations

from pathlib import Path

from alikely._base.files import read_tree
from alikely.benchmark.benchmark import Benchmark
from alikely.estimates.matrix_result import MatrixResult
from alikely.estimates.result import Result
from alikely.estimates.tree import Tree

__all__ = ["load_saved"]

# Groups that tell them apart, in this order.
KINDS: dict[str, type[Tree]] = {
    "observed_data": Result,
    "decomposition": Benchmark,
    "answers": MatrixResult,
    "posterior": Benchmark,
}


def load_saved(path: str | Path) -> Tree:
    """Read a result of any kind, as `alikely.Result.save` and its like write it.

    Parameters
    ----------
    path : str or path
        netCDF file.

    Returns
    -------
    Result, Benchmark or MatrixResult

    Raises
    ------
    ValueError
        If the file is missing, damaged or of something else, or its metric is not registered.

    Examples
    --------
    >>> import tempfile
    >>> import alikely as al
    >>> matrix = al.matrix(al.load_example(), by=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     matrix.save(f"{folder}/all.nc")
    ...     load_saved(f"{folder}/all.nc")
    <MatrixResult error_consistency: 10 observers, 45 pairs, 480 trials>
    """
    groups = read_tree(path).children
    for group, kind in KINDS.items():
        if group in groups:
            return kind.load(path)
    raise ValueError(
        f"{str(path)!r} is no result of alikely; expected a file that Result.save, Benchmark.save "
        f"or those of other results wrote, got groups {', '.join(groups) or 'none'}"
    )
