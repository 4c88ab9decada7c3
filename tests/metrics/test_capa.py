"""kappa_p: compared with another package, brute force, numerical derivatives, closed forms."""

from __future__ import annotations

import warnings
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import alikely as al
from alikely.metrics.options import capa_matrices


def leaderboard(
    seed: int, n: int, n_questions: int, k: int, vary: bool, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, responses, truth and numbers of options of models with similar errors."""
    rng = np.random.default_rng(seed)
    n_options = rng.integers(2, k + 1, n_questions) if vary else np.full(n_questions, k)
    logits = rng.normal(size=(n, n_questions, k)) + rng.normal(size=(1, n_questions, k))
    logits *= rng.uniform(0.5, 3, size=(n, 1, 1))
    logits[:, np.arange(k) >= n_options[:, None]] = -np.inf
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    answers = p.argmax(axis=-1)
    gone = rng.random((n, n_questions)) < missing
    p[gone], answers[gone] = np.nan, -1
    truth = np.array([rng.integers(own) for own in n_options])
    return p, answers, truth, n_options


def by_hand(p: Any, q: Any, truth: Any, n_options: Any) -> tuple[list[float], list[float]]:
    """One pair in a loop over questions; standard errors by numerical derivatives of weights."""
    keep = [i for i in range(len(truth)) if not np.isnan([*p[i], *q[i]]).any()]
    each = np.array(
        [
            (
                sum(p[i, m] * q[i, m] for m in range(n_options[i])), p[i, truth[i]],
                q[i, truth[i]], 1 / (n_options[i] - 1), p[i] @ p[i], q[i] @ q[i],
            )
            for i in keep
        ]
    )  # fmt: skip

    def values(w: np.ndarray) -> np.ndarray:
        o, a, b, f, u, v = (w @ each) / w.sum()
        expected = a * b + (1 - a) * (1 - b) * f
        own = (u - a * a - (1 - a) ** 2 * f) * (v - b * b - (1 - b) ** 2 * f)
        wrong = (w * (1 - each[:, 1]) * (1 - each[:, 2])).sum()
        same = (w * (each[:, 0] - each[:, 1] * each[:, 2])).sum()
        chance = (w * each[:, 3] * (1 - each[:, 1]) * (1 - each[:, 2])).sum()
        return np.array(
            [(o - expected) / (1 - expected), (o - expected) / np.sqrt(own), same / wrong,
             chance / wrong]
        )  # fmt: skip

    n, h = len(each), 1e-4
    psi = [
        (
            values(np.ones(n) + h * (np.arange(n) == i))
            - values(np.ones(n) - h * (np.arange(n) == i))
        )
        / (2 * h)
        for i in range(n)
    ]
    return values(np.ones(n)).tolist(), np.sqrt((np.array(psi)[:, :3] ** 2).sum(axis=0)).tolist()


def package() -> Any:
    """kappa_p by its authors' package, in loops over pairs and questions."""
    with warnings.catch_warnings():
        # Its docstrings contain invalid escapes.
        warnings.simplefilter("ignore")
        from lmsim.metrics import CAPA
    return CAPA


@pytest.mark.parametrize("vary", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("soft", [False, True])
def test_matrices_agree_with_loops(soft: bool, missing: float, vary: bool) -> None:
    p, answers, truth, n_options = leaderboard(3, 4, 40, 4, vary, missing)
    hot = np.where((answers < 0)[..., None], np.nan, np.eye(4)[answers])
    found = capa_matrices(p if soft else answers, truth, n_options)
    array = p if soft else hot
    for a in range(4):
        for b in range(4):
            values, se = by_hand(array[a], array[b], truth, n_options)
            got = (found.estimate, found.r_p, found.same_wrong, found.same_wrong_chance)
            assert [m[a, b] for m in got] == pytest.approx(values, abs=1e-12)
            # Central differences of step 1e-4: an error of 1e-8 times a third derivative below 10.
            got = (found.se, found.r_p_se, found.same_wrong_se)
            assert [m[a, b] for m in got] == pytest.approx(se, abs=1e-7)
            assert found.n_questions[a, b] == (~np.isnan(array[[a, b]]).any(axis=(0, 2))).sum()


def test_matrices_agree_with_the_authors_package() -> None:
    """Compare 1,035 pairs, with probabilities and responses, and two to five options."""
    capa_of = package()
    p, answers, truth, n_options = leaderboard(1, 46, 20, 5, True)
    soft, hard = (capa_matrices(values, truth, n_options) for values in (p, answers))
    of_soft = [[row[:k] for row, k in zip(each, n_options, strict=True)] for each in p]
    of_hard = [[np.eye(k)[c] for c, k in zip(each, n_options, strict=True)] for each in answers]
    theirs = np.zeros((2, 46, 46))
    for a in range(46):
        for b in range(a):
            theirs[0, a, b] = capa_of().compute_k(of_soft[a], of_soft[b], truth)
            theirs[1, a, b] = capa_of(prob=False).compute_k(of_hard[a], of_hard[b], truth)
    lower = np.tril_indices(46, -1)
    for own, other in zip((soft.estimate, hard.estimate), theirs, strict=True):
        np.testing.assert_allclose(own[lower], other[lower], rtol=0, atol=1e-6)


def test_two_options_give_error_consistency() -> None:
    """With one incorrect option, joint errors are equal responses."""
    from alikely.metrics import error_consistency

    _, answers, truth, _ = leaderboard(4, 2, 80, 2, False)
    right = answers == truth
    pattern = [(right[0] == x) & (right[1] == y) for x in (True, False) for y in (True, False)]
    cells = np.array([each.sum() for each in pattern])
    found = capa_matrices(answers, truth, 2)
    assert found.estimate[0, 1] == pytest.approx(float(error_consistency(cells)), abs=1e-13)
    assert found.same_wrong[0, 1] == 1


def test_chunked_probabilities_stay_chunked() -> None:
    p, answers, truth, _ = leaderboard(2, 4, 60, 3, False, 0.1)
    answers = np.where(answers < 0, 0, answers)
    chunked = da.from_array(p, chunks=(2, 25, 3))
    letters = np.array(list("ABC"))
    bare = al.Trials.from_arrays(letters[answers], letters[truth], classes=list("ABC"))
    trials = bare.with_probabilities(xr.DataArray(chunked))
    assert isinstance(trials.data["probability"].data, da.Array)
    found = al.pairwise_matrix(trials, "kappa_p")
    whole = al.pairwise_matrix(bare.with_probabilities(p), "kappa_p")
    square = al.estimates.square_matrix
    xr.testing.assert_allclose(square(found, "estimate"), square(whole, "estimate"))
    pd.testing.assert_frame_equal(
        al.margins.decision_margins(trials),
        al.margins.decision_margins(bare.with_probabilities(p)),
    )
    with pytest.raises(ValueError, match="logits of a chunked array"):
        bare.with_probabilities(chunked, scale="logits")


def test_undefined_values() -> None:
    """No common question; always correct; always incorrect with two options."""
    answers = np.array([[0, -1, 0, -1], [-1, 0, -1, 0]])
    found = capa_matrices(answers, [0, 0, 0, 0], 2)
    assert found.n_questions[0, 1] == 0
    assert np.isnan(found.estimate).all()
    assert np.isnan(found.se).all()
    assert np.isnan(capa_matrices([[1, 1], [1, 1]], [0, 0], 2).estimate).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_half_precision_is_accepted(dtype: Any) -> None:
    p, _, truth, n_options = leaderboard(9, 3, 200, 5, False)
    exact = capa_matrices(p, truth, n_options)
    coarse = capa_matrices(p.astype(np.float16).astype(dtype), truth, n_options)
    # Probabilities have relative errors of up to 2**-11, and agreement of twice that.
    assert np.abs(coarse.observed - exact.observed).max() < 2 * 2**-11
