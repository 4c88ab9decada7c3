"""Joint counts of many observers on very many trials, a slice at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.names import listed
from alikely._base.parallel import in_parallel
from alikely._base.steps import progress_bar
from alikely.data.tables import CELLS, whole_counts
from alikely.data.trials import Trials

# Responses that are counted together.
SLICE = 50_000_000


def joint_counts(correct: xr.DataArray) -> xr.Dataset:
    """Count the correctness cells of all pairs of observers without loading all trials.

    Use this function for data that do not fit in memory. `correct` may be backed by a chunked array
    (dask, zarr, netCDF), which is read and counted in slices.

    Parameters
    ----------
    correct : xarray.DataArray, dims (observer, trial)
        1 (correct), 0 (incorrect) or -1 (not shown or excluded), with any numeric type and backend.

    Returns
    -------
    xarray.Dataset
        ``cells`` (pair, cell) int64, with coords ``observer_a, observer_b`` and ``cell``. Pairs are
        in the order of the upper triangle of the matrix of observers. ``cells`` can be passed to
        functions of counts, for example `alikely.models.copying` and `alikely.data.from_counts`.

    Raises
    ------
    TypeError
        If `correct` is not a DataArray.
    ValueError
        If `correct` has other dims, fewer than two observers, no trials, or values other than 1, 0
        and -1.

    Examples
    --------
    >>> answers = xr.DataArray([[1, 1, 0, 0, 1], [1, 0, 0, 1, 1]], dims=("observer", "trial"))
    >>> joint_counts(answers)["cells"].values.tolist()
    [[2, 1, 1, 1]]
    """
    if not isinstance(correct, xr.DataArray):
        raise TypeError(
            f"correct must be an xarray.DataArray with dims (observer, trial), got "
            f"{type(correct).__name__}; wrap it: xr.DataArray(array, dims=('observer', 'trial'))"
        )
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"correct must have dims (observer, trial), got {correct.dims}")
    ordered = correct.transpose("observer", "trial")
    n_observers, n_trials = ordered.shape
    if n_observers < 2 or n_trials < 1:
        raise ValueError(
            f"correct must have at least 2 observers and 1 trial, got {n_observers} and {n_trials}"
        )
    i, j = np.triu_indices(n_observers, k=1)
    cells = np.zeros((len(i), len(CELLS)), dtype=np.int64)
    step = max(1, SLICE // n_observers)
    with progress_bar("counting trials", n_trials) as advance:
        for start in range(0, n_trials, step):
            part = ordered.isel(trial=slice(start, start + step)).values
            if (odd := ~np.isin(part, (1, 0, -1))).any():
                raise ValueError(
                    "correct must be 1 (correct), 0 (incorrect) or -1 (left out), got "
                    f"{part[odd][0]:g}"
                )
            cells += all_cells(pack(part))
            advance(part.shape[1])
    names = np.array([f"observer_{k}" for k in range(n_observers)], dtype=object)
    if "observer" in ordered.coords:
        names = ordered["observer"].values.astype(object)
    return xr.Dataset(
        {"cells": (("pair", "cell"), cells)},
        coords={
            "observer_a": ("pair", names[i]),
            "observer_b": ("pair", names[j]),
            "cell": list(CELLS),
        },
    )


# Bits of a word.
WORD = 64
# Rows of observers that one job counts: pieces small enough that all cores end together.
ROWS = 64


class Packed(NamedTuple):
    """Responses of observers, 64 trials per word."""

    right: NDArray[np.uint64]
    shown: NDArray[np.uint64] | None
    n_trials: int

    def n_shown(self) -> NDArray[np.int64]:
        """Number of trials used for each observer."""
        if self.shown is None:
            return np.full(len(self.right), self.n_trials)
        return _count(self.shown)

    def shown_bits(self) -> NDArray[np.uint64]:
        """Bits of the trials used for each observer."""
        if self.shown is not None:
            return self.shown
        return np.broadcast_to(_words(np.ones((1, self.n_trials), dtype=bool)), self.right.shape)

    def unpacked(self, observers: NDArray[np.intp]) -> NDArray[np.int8]:
        """Correctness of some observers, (observer, trial): 1, 0, or -1 left out."""
        right = _bits(self.right[observers], self.n_trials)
        if self.shown is None:
            return right
        return np.where(_bits(self.shown[observers], self.n_trials) == 1, right, np.int8(-1))


def pack(correct: NDArray[np.number]) -> Packed:
    """Pack responses into bits."""
    shown = correct >= 0
    return Packed(
        _words(correct == 1), None if shown.all() else _words(shown), int(correct.shape[1])
    )


def all_cells(packed: Packed) -> NDArray[np.int32]:
    """Count the four correctness cells of all pairs by common bits."""
    n = len(packed.right)
    out = np.empty((n * (n - 1) // 2, 4), dtype=np.int32)
    own = _count(packed.right)
    starts = range(0, n - 1, ROWS)
    jobs = [(packed, own, start, min(start + ROWS, n - 1)) for start in starts]
    at = 0
    # Few observers: threads would cost more than the counting.
    blocks = in_parallel(_count_rows, jobs) if len(jobs) > 1 else (_count_rows(*j) for j in jobs)
    for block in blocks:
        out[at : at + len(block)] = block
        at += len(block)
    return out


def _count_rows(packed: Packed, own: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int32]:
    """Count the pairs whose first observer is in rows `start` to `stop`."""
    right, shown, n_trials = packed
    both = _common(right, right, start, stop)
    first: NDArray[np.int64] = own[start:stop, None]
    second: NDArray[np.int64] = own[None]
    every: NDArray[np.int64] | int = n_trials
    if shown is not None:
        first, second = _common(right, shown, start, stop), _common(shown, right, start, stop)
        every = _common(shown, shown, start, stop)
    n10, n01 = first - both, second - both
    cells = np.stack([both, n10, n01, every - both - n10 - n01], axis=-1)
    later = np.arange(len(right)) > np.arange(start, stop)[:, None]
    return np.asarray(cells[later], dtype=np.int32)


def _common(
    left: NDArray[np.uint64], right: NDArray[np.uint64], start: int, stop: int
) -> NDArray[np.int64]:
    """Common bits of rows `start` to `stop` of one and later rows of the other."""
    out = np.zeros((stop - start, len(right)), dtype=np.int64)
    for row, i in enumerate(range(start, stop)):
        out[row, i + 1 :] = _count(left[i] & right[i + 1 :])
    return out


def _count(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    return np.bitwise_count(words).sum(axis=-1, dtype=np.int64)


def _words(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    packed = np.packbits(bits, axis=1, bitorder="little")
    missing = -packed.shape[1] % (WORD // 8)
    return np.ascontiguousarray(np.pad(packed, ((0, 0), (0, missing)))).view("<u8")


def _bits(words: NDArray[np.uint64], n_trials: int) -> NDArray[np.int8]:
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_trials, bitorder="little").astype(np.int8)


def confusion_trials(confusions: Mapping[str, ArrayLike | pd.DataFrame]) -> Trials:
    """Make trials with these confusion matrices, with separate items for each system."""
    if not isinstance(confusions, Mapping):
        raise TypeError(
            "confusions must map names of systems to their confusion matrices, such as "
            f"{{'a': [[8, 2], [1, 9]], 'b': ...}}; got {type(confusions).__name__}"
        )
    if len(confusions) < 2:
        raise ValueError(f"confusions must have at least two systems, got {len(confusions)}")
    read = {str(name): _read(str(name), matrix) for name, matrix in confusions.items()}
    if len(read) < len(confusions):
        systems = [*map(str, confusions)]
        repeated = next(name for n, name in enumerate(systems) if name in systems[:n])
        raise ValueError(f"two systems have the name {repeated!r} (names are text); rename one")
    (first, (_, known)), *others = read.items()
    for name, (_, labels) in others:
        if labels != known:
            raise ValueError(
                f"confusion matrices must have the same classes in the same order; {first!r} has "
                f"{len(known)} ({listed(known)}) and {name!r} {len(labels)} ({listed(labels)}); "
                "reindex them, with 0 for what did not occur"
            )
    true, answer, system = [], [], []
    for number, (counts, _) in enumerate(read.values()):
        told = np.where(np.eye(len(known), dtype=bool), np.minimum(counts, 1), counts)
        cells = np.repeat(np.arange(counts.size), told.ravel())
        true.append(cells // len(known))
        answer.append(cells % len(known))
        system.append(np.full(len(cells), number))
    of_item, names = np.concatenate(system), np.array(known, dtype=object)
    response = np.tile(names[np.concatenate(answer)], (len(read), 1))
    unseen = of_item != np.arange(len(read))[:, None]
    return Trials.from_arrays(
        np.ma.array(response, mask=unseen),
        names[np.concatenate(true)],
        observers=list(read),
        classes=known,
    )


def _read(name: str, matrix: ArrayLike | pd.DataFrame) -> tuple[NDArray[np.int64], list[str]]:
    """Counts of a system, and its classes: numbers, unless a table names them."""
    shape = np.shape(matrix)
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        raise ValueError(
            f"a confusion matrix must be square, true classes by responses; {name!r} has "
            f"shape {shape}"
        )
    table = pd.DataFrame(matrix)
    rows, columns = ([str(label) for label in labels] for labels in (table.index, table.columns))
    if rows != columns:
        raise ValueError(
            f"rows and columns of the table of {name!r} must name the same classes in the same "
            f"order, got {listed(rows)} and {listed(columns)}"
        )
    return whole_counts(table, f" of {name!r}"), rows
