"""Right and wrong answers of thousands of observers as bits, and the counts of all their pairs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.compiled import can_compile
from alikely._base.parallel import in_parallel

__all__ = ["Packed", "all_cells", "pack"]

# Bits of a word.
WORD = 64
# Rows of observers that one job counts: pieces small enough that all cores end together.
ROWS = 64
# Words that a job compares from which on compiled loops are worth their loading.
MANY = 1_000_000


class Packed(NamedTuple):
    """Answers of observers, 64 trials to a word."""

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
    """Put answers into bits."""
    shown = correct >= 0
    return Packed(
        _words(correct == 1), None if shown.all() else _words(shown), int(correct.shape[1])
    )


def all_cells(packed: Packed) -> NDArray[np.int32]:
    """Count the four correctness cells of all pairs, by the bits that both have."""
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
    both = _common(right, right, start, stop)
    if shown is not None:
        first, second = _common(right, shown, start, stop), _common(shown, right, start, stop)
        every = _common(shown, shown, start, stop)
    out = np.empty((sum(len(right) - 1 - i for i in range(start, stop)), 4), dtype=np.int32)
    at = 0
    for row, i in enumerate(range(start, stop)):
        others = slice(i + 1, None)
        n11 = both[row, others]
        rows = out[at : at + len(n11)]
        at += len(n11)
        if shown is None:
            n10, n01 = own[i] - n11, own[others] - n11
            total: NDArray[np.int64] | int = n_trials
        else:
            n10, n01 = first[row, others] - n11, second[row, others] - n11
            total = every[row, others]
        for cell, number in enumerate((n11, n10, n01, total - n11 - n10 - n01)):
            rows[:, cell] = number
    return out


def _common(
    left: NDArray[np.uint64], right: NDArray[np.uint64], start: int, stop: int
) -> NDArray[np.int64]:
    """Bits that rows from `start` to `stop` of one have in common with later rows of the other."""
    out = np.zeros((stop - start, len(right)), dtype=np.int64)
    if out.size * right.shape[1] >= MANY and can_compile():
        from alikely.data.packed_loops import add_common

        add_common(left, right, start, stop, out)
        return out
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
