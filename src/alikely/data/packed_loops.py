"""Compiled loops that count common bits of rows.

Imported only by `alikely.data.counting`, if there are many pairs.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.extending import intrinsic

from alikely._base.compiled import compiled

# Words of a row that stay in the nearest cache while a block of rows meets them.
WORDS = 256


@intrinsic  # type: ignore[untyped-decorator]
def ones(typing: Any, word: Any) -> Any:
    """Number of bits of a word that are 1: one instruction."""

    def generated(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    # Signed, since a sum of both kinds would be no whole number.
    return types.int64(types.uint64), generated


@compiled
def add_common(left, right, start, stop, out):  # type: ignore[no-untyped-def]
    """Add to ``out[i - start, j]`` the common bits of row i of one and row j > i of the other."""
    n, n_words = right.shape
    for first in range(0, n_words, WORDS):
        last = min(first + WORDS, n_words)
        for j in range(start + 1, n):
            for i in range(start, min(stop, j)):
                one, other = left[i, first:last], right[j, first:last]
                total = 0
                for word in range(len(one)):
                    total += ones(one[word] & other[word])
                out[i - start, j] += total
