"""Paired errors: calibration with pairs on shared and on different items."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm
from numpy.typing import NDArray
from scipy.special import xlogy

from alikely._base.arrays import Floats
from alikely.calibration.ranks import Values
from alikely.metrics.errors import drop_true
from generative.paired_errors import paired_errors
from studies.case import Case, named

N_CLASSES = 3
# By true class: numbers of items with errors of both, of a only, of b only.
SHARED = np.array([[30, 10, 5], [8, 12, 12], [3, 0, 6]])
SEPARATE = np.array([[0, 30, 20], [0, 8, 12], [0, 3, 0]])
KINDS = ("agreed", "apart_a", "apart_b", "alone_a", "alone_b")


def _numbers(n_pairs: int, shared: bool) -> NDArray[np.int64]:
    """Numbers of items (pair, true_class, kind); the most frequent class differs between pairs."""
    numbers = SHARED if shared else SEPARATE
    return np.array([np.roll(numbers, pair, axis=0) for pair in range(n_pairs)])


def _design(n_pairs: int = 1, shared: bool = True) -> pm.Model:
    counts = np.zeros((5, n_pairs, N_CLASSES, N_CLASSES), dtype=int)
    here = np.arange(N_CLASSES)
    numbers = np.moveaxis(_numbers(n_pairs, shared), -1, 0)
    counts[[0, 3, 4], ..., here[:, None], ((here + 1) % N_CLASSES)[:, None]] = np.moveaxis(
        numbers, -1, 0
    )
    return paired_errors(*counts)


def _data(truth: Values, rng: np.random.Generator, n_pairs: int = 1, shared: bool = True) -> Values:
    """Simulate each item: copied or not, and the labels of both observers."""
    numbers = _numbers(n_pairs, shared)
    counts = np.zeros((5, n_pairs, N_CLASSES, N_CLASSES), dtype=int)
    for pair, true in np.ndindex(n_pairs, N_CLASSES):
        own = [_whole(truth["own_rows"][pair, side, true]) for side in range(2)]
        copied = _whole(truth["copied_rows"][pair, true])
        c = truth["copy_probability"][pair, true]
        both, *alone = numbers[pair, true]
        agreed, apart_a, apart_b, alone_a, alone_b = counts[:, pair, true]
        for _ in range(both):
            a, b = (rng.choice(N_CLASSES, p=row) for row in own)
            if rng.random() < c:
                a = b = rng.choice(N_CLASSES, p=copied)
            if a == b:
                agreed[a] += 1
            else:
                apart_a[a] += 1
                apart_b[b] += 1
        alone_a += rng.multinomial(alone[0], own[0])
        alone_b += rng.multinomial(alone[1], own[1])
    return {kind: drop_true(values) for kind, values in zip(KINDS, counts, strict=True)}


def _likelihood(draws: Values, data: Values) -> Floats:
    """Likelihood of labels from rows and copy probabilities; coordinates refer to counts."""
    own, copied = drop_true(draws["own_rows"]), drop_true(draws["copied_rows"])
    c = draws["copy_probability"][..., None]
    of_a, of_b = own[:, :, 0], own[:, :, 1]
    parts = (
        (data["agreed"], c * copied + (1 - c) * of_a * of_b),
        (data["apart_a"], (1 - c) * of_a),
        (data["apart_b"] + data["alone_b"], of_b),
        (data["alone_a"], of_a),
    )
    return np.asarray(sum(xlogy(n, p).sum(axis=(-3, -2, -1)) for n, p in parts))


def _whole(p: Floats) -> Floats:
    return p / p.sum()


def _example() -> pm.Model:
    agreed = [[0, 5, 1], [2, 0, 2], [0, 3, 0]]
    apart = [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    alone = [[0, 4, 2], [2, 0, 1], [1, 3, 0]]
    return paired_errors(agreed, apart, apart, alone, alone)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=named(
        "spread log_base_parameter copying_mean log_sureness base concentration "
        "copy_probability copied_rows own_rows error_rows error_divergence"
    ),
    likelihood=_likelihood,
    words="1 pair, 3 classes, 3 to 30 items on which both err, 0 to 12 on which one does",
)
CASE = MAIN._replace(
    branches={
        "many_pairs": MAIN.branch(
            "3 pairs, 3 classes, 3 to 30 items on which both err, 0 to 12 on which one does",
            functools.partial(_design, 3),
            simulate=functools.partial(_data, n_pairs=3),
        ),
        "separate": MAIN.branch(
            "1 pair of different items, 3 classes, 0 to 30 errors",
            functools.partial(_design, shared=False),
            simulate=functools.partial(_data, shared=False),
        ),
    }
)
