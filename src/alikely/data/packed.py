"""Right and wrong answers of thousands of observers as bits, and the counts of all their pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.parallel import in_parallel

__all__ = ["Packed", "all_cells", "pack"]

# Bits of a word.
WORD = 64
# Rows of observers that one job counts: pieces small enough that all cores end together.
ROWS = 64


class Packed(NamedTuple):
    """Answers of observers, 64 trials to a word.

    Attributes
    ----------
    right : ndarray of uint64, shape (observer, word)
        Bits of the trials that each got right.
    shown : ndarray of uint64, shape (observer, word), or None
        Bits of the trials that count for each; None where all do for everyone.
    n_trials : int
        Trials; the bits after them are 0.
    """

    right: NDArray[np.uint64]
    shown: NDArray[np.uint64] | None
    n_trials: int

    def n_shown(self) -> NDArray[np.int64]:
        """How many trials count for each observer."""
        if self.shown is None:
            return np.full(len(self.right), self.n_trials)
        return _count(self.shown)

    def shown_bits(self) -> NDArray[np.uint64]:
        """Bits of the trials that count for each observer, also where all do."""
        if self.shown is not None:
            return self.shown
        return np.broadcast_to(_words(np.ones((1, self.n_trials), dtype=bool)), self.right.shape)

    def unpacked(self, observers: NDArray[np.intp]) -> NDArray[np.int8]:
        """Answers of some observers, (observer, trial): 1 right, 0 wrong, -1 left out."""
        right = _bits(self.right[observers], self.n_trials)
        if self.shown is None:
            return right
        return np.where(_bits(self.shown[observers], self.n_trials) == 1, right, np.int8(-1))


def pack(correct: NDArray[np.int8]) -> Packed:
    """Put answers into bits.

    Parameters
    ----------
    correct : ndarray, shape (observer, trial)
        1 right, 0 wrong, -1 left out.

    Returns
    -------
    Packed

    Examples
    --------
    >>> packed = pack(np.array([[1, 0, 1], [1, 1, -1]], dtype=np.int8))
    >>> packed.right.tolist(), packed.shown.tolist()
    ([[5], [3]], [[7], [3]])
    """
    shown = correct >= 0
    return Packed(
        _words(correct == 1), None if shown.all() else _words(shown), int(correct.shape[1])
    )


def all_cells(packed: Packed) -> NDArray[np.int32]:
    """Count the four correctness cells of all pairs, by the bits that both have.

    Parameters
    ----------
    packed : Packed
        Answers of at least two observers.

    Returns
    -------
    ndarray of int32, shape (pair, 4)
        ``n11, n10, n01, n00`` of trials that both were shown; pairs in the order of
        the upper triangle, row by row.

    Examples
    --------
    >>> all_cells(pack(np.array([[1, 1, 0, 0, 1], [1, 0, 0, 1, 1]], dtype=np.int8))).tolist()
    [[2, 1, 1, 1]]
    """
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
    """Count the pairs whose first observer stands from `start` to `stop`."""
    right, shown, n_trials = packed
    n = len(right)
    out = np.empty((sum(n - 1 - i for i in range(start, stop)), 4), dtype=np.int32)
    at = 0
    for i in range(start, stop):
        rows = out[at : at + n - 1 - i]
        at += len(rows)
        both = _count(right[i] & right[i + 1 :])
        if shown is None:
            n10, n01 = own[i] - both, own[i + 1 :] - both
            total: NDArray[np.int64] | int = n_trials
        else:
            n10 = _count(right[i] & shown[i + 1 :]) - both
            n01 = _count(shown[i] & right[i + 1 :]) - both
            total = _count(shown[i] & shown[i + 1 :])
        for cell, number in enumerate((both, n10, n01, total - both - n10 - n01)):
            rows[:, cell] = number
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
