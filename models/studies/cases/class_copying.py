"""Class copying: calibration with two pairs of observers."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from alikely import models
from alikely._base.arrays import Floats
from alikely.calibration.ranks import Values
from alikely.metrics.rows import drop_true
from studies.case import Case, named

JOINT_ERRORS = np.array([60, 200])


def _errors(n_pairs: int) -> NDArray[np.int64]:
    return np.resize(JOINT_ERRORS, n_pairs)


def _design(n_pairs: int = 2) -> pm.Model:
    counts = np.zeros((n_pairs, 3, 3, 3), dtype=int)
    counts[:, 0, 1, 1] = _errors(n_pairs)
    return models.class_copying(counts)


def _data(truth: Values, rng: np.random.Generator, n_pairs: int = 2) -> Values:
    """Simulate each error: its class, the label of a, and the label of b, copied or not."""
    n_classes = 3
    tables = np.zeros((n_pairs, n_classes, n_classes, n_classes), dtype=int)
    for pair, n in enumerate(_errors(n_pairs)):
        for _ in range(n):
            t = rng.choice(n_classes, p=truth["class_share"][pair])
            a = rng.choice(n_classes, p=_whole(truth["errors_a"][pair, t]))
            own = rng.choice(n_classes, p=_whole(truth["own_errors_b"][pair, t]))
            b = a if rng.random() < truth["copy_probability"][pair] else own
            tables[pair, t, a, b] += 1
    same = np.diagonal(tables, axis1=-2, axis2=-1)
    return {
        "errors_of_a": drop_true(tables.sum(axis=-1)),
        "agreed": drop_true(same),
        "differed": drop_true(tables.sum(axis=-2) - same),
    }


def _whole(p: Floats) -> Floats:
    return p / p.sum()


def _example() -> pm.Model:
    tables = np.zeros((1, 3, 3, 3), dtype=int)
    tables[0, 0] = [[0, 0, 0], [0, 5, 1], [0, 2, 3]]
    return models.class_copying(tables)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=named(
        "copy_probability class_share errors_a own_errors_b base_sd row_sd "
        "misclassification_agreement"
    ),
    words="2 pairs, 3 classes, 60 and 200 joint errors",
    target_accept=0.9,
)
CASE = MAIN._replace(
    branches={
        "many_pairs": MAIN.branch(
            "5 pairs, 3 classes, 60 or 200 joint errors",
            functools.partial(_design, 5),
            simulate=functools.partial(_data, n_pairs=5),
        )
    }
)
