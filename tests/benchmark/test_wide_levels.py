"""Levels of many images: sums by image need no table of images by images."""

import tracemalloc

import numpy as np

from alikely.benchmark.decomposition import _summed


def test_sums_of_columns_by_number() -> None:
    rng = np.random.default_rng(1)
    columns, number = rng.random((3, 40)), rng.integers(0, 7, 40)
    wanted = np.stack([columns[:, number == n].sum(axis=1) for n in range(7)], axis=1)
    np.testing.assert_allclose(_summed(columns, number), wanted)


def test_memory_grows_with_images_not_with_their_square() -> None:
    n = 20_000
    columns, number = np.ones((4, n)), np.arange(n)[::-1]
    tracemalloc.start()
    try:
        assert _summed(columns, number).shape == (4, n)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # A few numbers for each image and pair; a square would hold 3.2 GB.
    assert peak < 200 * 8 * n
