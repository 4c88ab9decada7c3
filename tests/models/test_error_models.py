"""Models of errors: against conjugate rows and quadrature, recovery, real data, bad input."""

from __future__ import annotations

from typing import Any

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytest
import xarray as xr
from scipy import integrate, special

import alikely as al
from alikely.metrics.errors import misclassification_agreement
from alikely.metrics.rows import ROW_DIMS, drop_true, insert_true

ROWS = np.array(
    [
        [[0, 7, 1, 0], [2, 0, 2, 0], [0, 3, 0, 9], [0, 0, 0, 0]],
        [[4, 3, 3, 3], [9, 0, 0, 0], [1, 0, 7, 1], [0, 20, 0, 0]],
    ]
)
TABLES = np.zeros((1, 3, 3, 3), dtype=int)
TABLES[0, 0] = [[0, 0, 0], [0, 5, 1], [0, 2, 3]]


def test_layout_without_the_true_class_and_back() -> None:
    rows = ROWS * ~np.eye(4, dtype=bool)
    assert drop_true(rows)[0].tolist() == [[7, 1, 0], [2, 2, 0], [0, 3, 9], [0, 0, 0]]
    np.testing.assert_array_equal(insert_true(drop_true(rows), 4), rows)


@pytest.mark.slow
def test_learned_concentration_equals_quadrature() -> None:
    """Of rows around a uniform base, all classes alike."""
    even = {"base_deviate": np.zeros((4, 3)), "class_deviate": np.zeros(4)}
    tree = al.inference.nuts(pm.do(al.models.error_distributions(ROWS), even), 4_000, rng=1)
    counts = drop_true(ROWS)
    n = counts.sum(axis=-1)

    def density(spread: float) -> float:
        a = 1 / (spread**2 + 1e-6)
        cells = (special.gammaln(counts + a) - special.gammaln(a)).sum()
        rows = (special.gammaln(3 * a) - special.gammaln(n + 3 * a)).sum()
        return float(np.exp(cells + rows + 60 - spread**2 / 8))

    moments = [
        integrate.quad(lambda s, k=k: s**k * density(s), 0, 15, limit=200)[0] for k in range(3)
    ]
    mean = moments[1] / moments[0]
    sd = np.sqrt(moments[2] / moments[0] - mean**2)
    draws = tree["posterior"]["spread"]
    ess = float(azs.ess(draws.to_dataset(name="x"))["x"])
    assert float(draws.mean()) == pytest.approx(mean, abs=4 * sd / np.sqrt(ess))
    assert float(draws.std()) == pytest.approx(sd, rel=4 * np.sqrt(1.5 / ess))


def copied_labels(
    copying: np.ndarray, n: int, n_classes: int, rng: np.random.Generator
) -> np.ndarray:
    """Joint errors (pair, true_class, label_a, label_b) of the model."""
    base = rng.dirichlet(np.full(n_classes - 1, 0.5), n_classes)
    out = []
    for c in copying:
        r, q = (
            insert_true(np.array([rng.dirichlet(20 * row + 0.01) for row in base]), n_classes)
            for _ in range(2)
        )
        joint = c * np.eye(n_classes) * r[:, :, None] + (1 - c) * r[:, :, None] * q[:, None, :]
        out.append(rng.multinomial(n, joint.ravel() / n_classes).reshape(3 * (n_classes,)))
    return np.array(out)


@pytest.fixture(scope="module")
def copied() -> tuple[np.ndarray, np.ndarray, xr.DataTree]:
    truth = np.array([0.05, 0.3, 0.7])
    tables = copied_labels(truth, 400, 5, np.random.default_rng(3))
    return truth, tables, al.inference.nuts(al.models.class_copying(tables), n_draws=4000, rng=1)


@pytest.mark.slow
def test_copying_of_labels_is_recovered(copied: Any) -> None:
    truth, _, tree = copied
    draws = tree["posterior"]["copy_probability"]
    mean, sd = draws.mean(("chain", "draw")).values, draws.std(("chain", "draw")).values
    assert (np.abs(mean - truth) < 4 * sd).all()
    assert (sd < 0.1).all()


@pytest.mark.slow
def test_agreement_of_labels_is_that_of_the_implied_table(copied: Any) -> None:
    draws = copied[2]["posterior"].isel(chain=0, draw=[0, 50, 99])
    c, r, q, w = (
        draws[name].values
        for name in ("copy_probability", "errors_a", "own_errors_b", "class_share")
    )
    c, w, n_classes = c[..., None, None, None], w[..., None, None], r.shape[-1]
    joint = w * r[..., None] * (c * np.eye(n_classes) + (1 - c) * q[..., None, :])
    np.testing.assert_allclose(
        draws["misclassification_agreement"], misclassification_agreement(joint.sum(axis=-3))
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: al.models.error_distributions(np.ones((2, 4, 3))), "square in at least 3 classes"),
        (lambda: al.models.error_distributions(-ROWS), "whole numbers of at least 0, got -"),
        (lambda: al.models.error_distributions(np.tile(np.eye(4), (2, 1, 1))), "at least one"),
        (
            lambda: al.models.error_distributions(
                xr.DataArray(
                    ROWS, dims=ROW_DIMS,
                    coords={"true_class": list("abcd"), "response_class": list("abdc")},
                )
            ),
            "same classes in the same order; reindex",
        ),
        (lambda: al.models.class_copying(0 * TABLES), "at least one error"),
    ],
)  # fmt: skip
def test_bad_counts(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
