"""Correctness of many observers as bits: 64 trials per word."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.parallel import in_parallel

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
