"""Error rows of a group around one base, put to the test on four systems and on two."""

from __future__ import annotations

import functools

import numpy as np
import pymc as pm
from numpy.typing import NDArray

from alikely import models
from alikely._base.arrays import Floats
from alikely.calibration.case import Case
from alikely.calibration.ranks import Values
from alikely.metrics.dense_rows import drop_true

N_CLASSES = 3
NUMBER = (24, 12, 6)
TRUTH = np.repeat(np.arange(N_CLASSES), NUMBER)


def _wrong(n_systems: int) -> NDArray[np.bool_]:
    """Who errs where, (system, item): two of three items each, other ones, every seventh all."""
    place = np.arange(len(TRUTH))
    return np.array([(place + system) % 3 > 0 for system in range(n_systems)]) | (place % 7 == 0)


def _design(n_systems: int = 4) -> pm.Model:
    labels = np.where(_wrong(n_systems), (TRUTH + 1) % N_CLASSES, TRUTH)
    return models.shared_errors(labels, TRUTH, classes=range(N_CLASSES))


def _data(truth: Values, rng: np.random.Generator, n_systems: int = 4) -> Values:
    """Item by item: what it suggests, and who follows."""
    wrong = _wrong(n_systems)
    some = np.flatnonzero(wrong.any(axis=0))
    labels = np.full((len(some), n_systems), -1)
    for row, item in enumerate(some):
        true = TRUTH[item]
        suggested = rng.choice(N_CLASSES, p=_whole(truth["suggested_rows"][true]))
        for system in np.flatnonzero(wrong[:, item]):
            own = rng.choice(N_CLASSES, p=_whole(truth["own_rows"][system, true]))
            follows = rng.random() < truth["follow_probability"][system]
            label = suggested if follows else own
            labels[row, system] = label - (label > true)
    return {"wrong_labels": labels, "truth": TRUTH[some]}


def _likelihood(draws: Values, data: Values) -> Floats:
    """Of labels, from rows: coordinates have a meaning by the labels."""
    own, suggested = drop_true(draws["own_rows"]), drop_true(draws["suggested_rows"])
    follow = draws["follow_probability"]
    total = np.zeros(len(follow))
    for labels, true in zip(data["wrong_labels"], data["truth"], strict=True):
        of_item = suggested[:, true].copy()
        for system in np.flatnonzero(labels >= 0):
            label = labels[system]
            mine = (1 - follow[:, system]) * own[:, system, true, label]
            followed = np.arange(N_CLASSES - 1) == label
            of_item *= mine[:, None] + follow[:, system, None] * followed
        total += np.log(of_item.sum(axis=-1))
    return total


def _whole(p: Floats) -> Floats:
    return p / p.sum()


def _example() -> pm.Model:
    # Enough of both wrong labels of a class that no share is 1 but for its last digits.
    truth = np.repeat(np.arange(3), 8)
    off = np.array(["12121210", "21201012", "11221201"])
    wrong = np.array([[int(letter) for letter in row] for row in off])
    return models.shared_errors((truth + np.tile(wrong, 3)) % 3, truth)


MAIN = Case(
    example=_example,
    design=_design,
    simulate=_data,
    quantities=(
        "spread",
        "log_base_parameter",
        "follow_mean",
        "log_sureness",
        "base",
        "concentration",
        "follow_probability",
        "suggested_rows",
        "own_rows",
        "error_rows",
        "error_divergence",
    ),
    likelihood=_likelihood,
    words="4 systems, 3 classes, 6 to 24 items of a class, two of three wrong",
)
CASE = MAIN._replace(
    branches={
        "two_systems": MAIN.branch(
            "2 systems, 3 classes, 6 to 24 items of a class, two of three wrong",
            functools.partial(_design, 2),
            simulate=functools.partial(_data, n_systems=2),
        ),
    }
)
