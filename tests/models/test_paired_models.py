"""The model of paired error rows: brute force, conjugate rows, and Gibbs sampling."""

from __future__ import annotations

import itertools
from typing import Any

import arviz_stats as azs
import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy import special, stats
from scipy.spatial.distance import jensenshannon

import alikely as al
from alikely.errors.pairs import Chain, PairedErrors, divergence
from generative import paired_errors as pairs
from generative.paired_errors import insert_true, paired_errors

# Do not rewrite graphs that run only a few times.
PLAIN = Mode("py", None)
# (kind, true_class, wrong_class)
COUNTS = np.array(
    [
        [[3, 1], [0, 2], [0, 0]],
        [[1, 1], [1, 0], [0, 2]],
        [[1, 1], [0, 1], [2, 0]],
        [[4, 0], [0, 3], [1, 1]],
        [[2, 2], [1, 0], [0, 0]],
    ]
)


def square(counts: np.ndarray) -> list[np.ndarray]:
    """Arguments of the model, with the true class."""
    return [np.asarray(insert_true(part, counts.shape[-2])) for part in counts]


def built(counts: np.ndarray = COUNTS) -> pm.Model:
    return paired_errors(*square(counts))


def rows(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.dirichlet(np.ones(shape[-1]), shape[:-1])


def density(z: Any, parameters: Any, seen: Any) -> Any:
    """Log density of coordinates of a row."""
    return pairs._coordinate_density(*map(pt.as_tensor, (z, parameters, seen))).eval(mode=PLAIN)


def by_brute_force(c: float, s: Any, p: Any, q: Any, counts: Any) -> float:
    """Sum over all numbers of copies in each cell, whether copies are ordered or not."""
    agreed, apart_a, apart_b, *_ = counts
    total = 0.0
    for copies in itertools.product(*(range(n + 1) for n in agreed)):
        k = np.array(copies)
        ways = special.comb(agreed, k).prod()
        own = agreed - k
        total += ways * np.prod((c * s) ** k) * np.prod(((1 - c) * p * q) ** own)
    apart = apart_a.sum()
    return float(np.log(total * (1 - c) ** apart * np.prod(p**apart_a) * np.prod(q**apart_b)))


def test_likelihood_sums_over_copies() -> None:
    rng = np.random.default_rng(1)
    c, s, (p, q) = rng.random(3), rows(rng, 3, 2), rows(rng, 2, 3, 2)
    value = np.concatenate(COUNTS[:3], axis=-1)
    logs = (np.log(np.stack([c, 1 - c], axis=-1)), np.log(s), np.log(p), np.log(q))
    found = pairs._log_both(*map(pt.as_tensor, (value, *logs, value)))
    wanted = [by_brute_force(c[t], s[t], p[t], q[t], COUNTS[:, t]) for t in range(3)]
    np.testing.assert_allclose(found.eval(mode=PLAIN), wanted, rtol=1e-12)


def test_draws_of_labels_have_the_probabilities_of_the_model() -> None:
    rng = np.random.default_rng(2)
    c, s, p, q = 0.4, *rows(rng, 3, 3)
    n, size = 50, 4000
    logs = np.log([c, 1 - c]), np.log(s), np.log(p), np.log(q)
    like = np.array([n, *np.zeros(8, dtype=int)])
    drawn = pairs.drawn_both(*logs, like, rng, (size,)) / n
    same = c * s + (1 - c) * p * q
    of_a, of_b = ((1 - c) * x * (1 - y) for x, y in ((p, q), (q, p)))
    wanted = np.concatenate([same, of_a, of_b])
    error = np.sqrt(wanted * (1 - wanted) / (n * size))
    # The largest of 9 normal deviates exceeds 4 once in 1,700 runs.
    assert (np.abs(drawn.mean(axis=0) - wanted) < 4 * error).all()
    assert (pairs.drawn_alone(np.log(p), np.array(7), rng, (5,)).sum(axis=-1) == 7).all()


def test_coordinates_are_those_of_the_conjugate_posterior() -> None:
    # Without joint errors, compare with gamma variables of parameter and counts.
    counts = COUNTS.copy()
    counts[:3] = 0
    rng = np.random.default_rng(3)
    parameters, own = rng.gamma(1, 1, (3, 2)) + 0.05, counts[3]
    z = rng.normal(size=(20, 3, 2))
    shape = parameters + own
    place = pairs._place(z, shape, np)
    prior = density(z, parameters, own)
    logs = place - special.logsumexp(place, axis=-1, keepdims=True)
    slope = 1 / np.sqrt(shape + pairs.WIDTH) + special.expit(-z) / shape
    exact = (stats.loggamma(shape).logpdf(place) + np.log(slope)).sum(axis=-1)
    difference = prior + (own * logs).sum(axis=-1) - exact
    np.testing.assert_allclose(difference, np.broadcast_to(difference[0], difference.shape))


def test_rows_of_drawn_coordinates_are_dirichlet() -> None:
    rng = np.random.default_rng(5)
    parameters, seen, n = np.array([0.05, 0.5, 3.0]), np.array([0.0, 4.0, 1.0]), 20_000
    z = pairs._random_coordinates(np.tile(parameters, (n, 1)), seen, rng)
    place = pairs._place(z, parameters + seen, np)
    drawn = special.softmax(place, axis=-1)
    mean = parameters / parameters.sum()
    variance = mean * (1 - mean) / (parameters.sum() + 1)
    assert (np.abs(drawn.mean(axis=0) - mean) < 4 * np.sqrt(variance / n)).all()
    # Draws of a normalized density have a mean slope of 0.
    step = 1e-5
    for label in range(3):
        moves = step * np.eye(3)[label] * np.array([[1], [-1]])
        ends = [density(z[:4000] + move, parameters, seen) for move in moves]
        slope = (ends[0] - ends[1]) / (2 * step)
        assert abs(slope.mean()) < 4 * slope.std() / np.sqrt(len(slope))


def test_reported_quantities_follow_from_rows() -> None:
    model = built()
    names = ["own_rows", "copied_rows", "copy_probability", "error_rows", "error_divergence",
             "base", "concentration", "spread", "class_deviate"]  # fmt: skip
    found = dict(
        zip(names, pm.draw([model[n] for n in names], random_seed=1, mode=PLAIN), strict=True)
    )
    agreed, apart, _, *alone = COUNTS.sum(axis=-1)
    both = agreed + apart
    mixed, total = [], 0.0
    for side in range(2):
        part = found["copy_probability"][0] * both / (both + alone[side])
        part = part[:, None]
        mixed.append(part * found["copied_rows"][0] + (1 - part) * found["own_rows"][0, side])
    np.testing.assert_allclose(found["error_rows"][0], mixed, rtol=1e-9, atol=1e-15)
    weight = 2 * both + alone[0] + alone[1]
    for t in range(3):
        total += weight[t] * jensenshannon(mixed[0][t], mixed[1][t], base=2) ** 2
    np.testing.assert_allclose(found["error_divergence"], total / weight.sum(), atol=1e-12)
    np.testing.assert_allclose(found["base"].sum(axis=-1), 1)
    apart = found["spread"][:, None] * np.exp(found["class_deviate"])
    np.testing.assert_allclose(found["concentration"], 1 / (apart**2 + 1e-6))


def labeled(table: np.ndarray, responses: str) -> xr.DataArray:
    coords = {"true_class": list("abc"), "response_class": list(responses)}
    return xr.DataArray(table, coords, tuple(coords))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: [c[0][:2], *c[1:]], "must have the same shape; agreed has"),
        (lambda c: [0 * x for x in c], "at least one error off the diagonal, got none"),
        (lambda c: [x[:2, :2] for x in c], "square in at least 3 classes"),
        (lambda c: [-x for x in c], "whole numbers of at least 0, got -"),
        (lambda c: [labeled(x, "acb") for x in c], "in the same order.* reindex"),
    ],
)
def test_bad_counts_raise_an_error(change: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_errors(*change(square(COUNTS)))


def simulated(copying: float, both: int, alone: int, seed: int, apart: float = 0.5) -> Any:
    """Counts (kind, true_class, wrong_class) of 4 classes, and error rows of both systems."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((5, 4, 3), dtype=int)
    every = np.zeros((2, 4, 3))
    for t in range(4):
        m = rng.dirichlet(np.ones(3))
        p, q = (rng.dirichlet(3 * m / apart**2) for _ in range(2))
        s = rng.dirichlet(1.5 * m)
        copies = rng.binomial(both, copying)
        table = rng.multinomial(both - copies, np.outer(p, q).ravel()).reshape(3, 3)
        counts[0, t] = rng.multinomial(copies, s) + table.diagonal()
        counts[1, t], counts[2, t] = (table.sum(axis=i) - table.diagonal() for i in (1, 0))
        counts[3, t], counts[4, t] = (rng.multinomial(alone, row) for row in (p, q))
        part = copying * both / (both + alone)
        every[:, t] = part * s + (1 - part) * p, part * s + (1 - part) * q
    return counts, every


TABLES = {"half copied": (0.5, 20, 10), "few": (0.8, 3, 2)}


def swept(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Draws (chain, draw) by Gibbs sampling, with the observed proportion of common items."""
    dense = [part[None] for part in counts]
    seen = sum(dense) > 0
    data = PairedErrors(*dense, (~seen).sum(axis=-1), np.arange(counts.shape[1]))
    chain = Chain(data.take(np.zeros(8, dtype=int)), np.random.default_rng(1))
    for _ in range(500):
        chain.sweep()
    weight = (data.of_a + data.of_b).sum(axis=-1)
    draws: dict[str, list[np.ndarray]] = {"divergence": [], "spread": [], "copying": []}
    for _ in range(1_500):
        chain.sweep()
        drawn = chain.drawn()
        number = data.both + data.alone
        part = (chain.copying * data.both / np.maximum(number, 1))[..., None]
        mixed = part * drawn.copied + (1 - part) * drawn.own
        draws["divergence"].append((weight * divergence(*mixed, 0.5)).sum(axis=-1) / weight.sum())
        draws["spread"].append(chain.log_spread)
        draws["copying"].append(chain.copying[:, 0])
    return {name: np.array(values).T for name, values in draws.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_nuts_agrees_with_gibbs_sampling(name: str) -> None:
    counts, _ = simulated(*TABLES[name], seed=3)
    tree = al.inference.nuts(built(counts), 4_000, rng=1)
    assert not tree["sample_stats"]["diverging"].any()
    posterior = tree["posterior"]
    found = {
        "divergence": posterior["error_divergence"].values[..., 0],
        "spread": np.log(posterior["spread"].values[..., 0]),
        "copying": posterior["copy_probability"].values[..., 0, 0],
    }
    for quantity, other in swept(counts).items():
        one = found[quantity]
        both = np.concatenate([one.ravel(), other.ravel()])
        marks = [one, *(one < np.quantile(both, level) for level in (0.025, 0.975))]
        others = [other, *(other < np.quantile(both, level) for level in (0.025, 0.975))]
        for x, y in zip(marks, others, strict=True):
            sides = [np.asarray(side, dtype=float) for side in (x, y)]
            error = np.hypot(*(side.std() / np.sqrt(azs.ess(side)) for side in sides))
            # 18 comparisons: the largest normal deviate exceeds 4 once in 900 runs.
            assert abs(sides[0].mean() - sides[1].mean()) < 4 * error, quantity
