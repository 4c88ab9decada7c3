"""Limits of a divergence that hold: what its plug-in estimate would be in populations near by.

The estimate of a divergence from counts is too large where systems are alike, by an amount that no
resampling of these counts shows. So data sets are simulated from populations of which the
divergence is known, between equal systems and such as are further apart than these; the limits are
the divergences at which an estimate as observed would be too small or too large.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely.errors.paired import PairedErrors, divergence, label_cells, plug_in
from alikely.errors.sweep import COPIED, Chain, Drawn, log_gamma_shares
from alikely.metrics.rows import Mixture

__all__ = [
    "UNBOUNDED",
    "Limits",
    "Simulated",
    "at",
    "frequent",
    "largest",
    "limits",
    "mixing",
    "observed",
    "powers",
    "simulate",
]

# Populations go from equal systems (0) to those drawn (1), and on to such as have less in common.
FURTHEST = 1.75
# Power of a system's part in a label that its share is taken to, one step beyond: at the far end
# rows have next to nothing in common, so that every estimate lies among those simulated.
APART = 4.0
# Fractions of these spread evenly over [0, 1), together, too.
GOLDEN, PLASTIC = 0.6180339887498949, 0.7548776662466927
# Of three populations, one differs in all labels, one in frequent labels, one in some true classes.
KINDS = 3
GRID = np.linspace(0, 1, 401)
# Probability in either tail from which on the wider answer stands alone: limits of 90 % and more.
TAIL = 0.05
TINY = 1e-300
# What to say of a limit beyond all populations.
UNBOUNDED = "errors do not bound it: a limit is that of rows without a common label"


class Simulated(NamedTuple):
    """Populations, and the estimate from a data set of each."""

    divergence: Floats
    estimate: Floats
    in_frequent: Floats
    in_few: Floats
    again: Floats | float = np.nan


class Limits(NamedTuple):
    """How sure each divergence is, for pairs: by what was simulated, and by the posterior."""

    confidence: Floats
    value: Floats
    posterior: Floats


def frequent(data: PairedErrors) -> NDArray[np.float64]:
    """Share of the errors of a row that fall on labels more frequent than each, (..., label)."""
    total = data.of_a + data.of_b
    order = np.argsort(-total, axis=-1, kind="stable")
    ordered = np.take_along_axis(total, order, -1)
    before = np.cumsum(ordered, axis=-1) - ordered
    share = np.empty(total.shape)
    np.put_along_axis(share, order, before / np.maximum(ordered.sum(axis=-1, keepdims=True), 1), -1)
    return share


def observed(
    data: PairedErrors, share: Floats, alpha: float, mixture: Mixture, base: float
) -> Simulated:
    """What is observed, in the terms of what is simulated."""
    labels = label_cells(data)
    pad = [(0, 0), (0, 0), (0, labels.shape[-1] - share.shape[-1])]
    of_a, of_b = (np.pad(part, pad) for part in (data.of_a, data.of_b))
    head = np.pad(share < 0.5, pad)
    return _described(
        np.nan, plug_in(of_a, of_b, labels, alpha=alpha, mixture=mixture, base=base), head
    )


def _described(
    truth: Floats | float,
    by_label: Floats,
    head: NDArray[np.bool_],
    again: Floats | float = np.nan,
) -> Simulated:
    by_class = by_label.sum(axis=-1)
    # Next to 0 rounding may leave it below.
    total = np.maximum(by_class.sum(axis=-1), 0)
    whole = np.maximum(total, TINY)
    return Simulated(
        truth * np.ones_like(total),
        total,
        (by_label * head).sum(axis=(-2, -1)) / whole,
        ((by_class / whole[..., None]) ** 2).sum(axis=-1),
        again * np.ones_like(total),
    )


def simulate(
    chain: Chain,
    drawn: Drawn,
    number: int,
    share: Floats,
    alpha: float,
    mixture: Mixture,
    base: float,
) -> Simulated:
    """Draw a population near the present draw of a chain, and a data set from it, or two."""
    rng, data = chain.rng, chain.data
    rows = _moved(chain, drawn, number, share)
    copied, own_a, own_b = rows
    row_a = drawn.part_a * copied + (1 - drawn.part_a) * own_a
    row_b = drawn.part_b * copied + (1 - drawn.part_b) * own_b
    totals = data.of_a.sum(axis=-1), data.of_b.sum(axis=-1)
    weight = (totals[0] + totals[1]).astype(np.float64)
    weight /= weight.sum(axis=-1, keepdims=True)
    truth = (weight * divergence(row_a, row_b, mixing(totals, mixture), base)).sum(axis=-1)

    def estimated() -> Floats:
        n_copies = rng.binomial(chain.both, chain.copying)
        copies = _multinomial(n_copies, copied, rng)
        errors_a, errors_b = (
            copies + _multinomial(total - n_copies, own, rng)
            for total, own in zip(totals, (own_a, own_b), strict=True)
        )
        return plug_in(errors_a, errors_b, drawn.labels, alpha=alpha, mixture=mixture, base=base)

    by_label = estimated()
    head = np.zeros(by_label.shape, dtype=bool)
    head[..., : share.shape[-1]] = share < 0.5
    # Every other one is enough to tell populations from data sets.
    again = estimated().sum(axis=(-2, -1)) if number % 2 else np.nan
    return _described(truth, by_label, head, again)


def mixing(totals: tuple[NDArray[Any], NDArray[Any]], mixture: Mixture) -> Floats | float:
    """Weight of the first row in the mixture of both, (pair, class, 1)."""
    if mixture == "mean":
        return 0.5
    return ((totals[0] + 0.5) / (totals[0] + totals[1] + 1))[..., None]


def largest(
    totals: tuple[NDArray[Any], NDArray[Any]], weight: Floats, mixture: Mixture, base: float
) -> Floats:
    """Divergence of rows without a common label, (pair,)."""
    part = np.asarray(mixing(totals, mixture))
    apart = -(np.log(part) + np.log1p(-part)) / 2 / np.log(base)
    return np.asarray((weight * np.broadcast_to(apart, (*weight.shape, 1))[..., 0]).sum(axis=-1))


def _moved(chain: Chain, drawn: Drawn, number: int, share: Floats) -> tuple[Floats, ...]:
    """Rows of a draw, moved towards what is common to both, or away from it."""
    rng = chain.rng
    n_pairs, n_classes, n_cells = drawn.labels.shape
    # Rows of their own, apart from one another as single draws of these counts are: rows that were
    # drawn together may all be near what is common.
    spread = np.minimum(chain.concentration, COPIED * chain.n_labels)[..., None] * drawn.common
    pad = [(0, 0), (0, 0), (0, n_cells - share.shape[-1])]
    own = (log_gamma_shares(spread + np.pad(counts[..., :-1], pad), rng) for counts in chain.own)
    how_far = FURTHEST * (number * GOLDEN % 1)
    moves = np.ones((n_pairs, n_classes, n_cells))
    part = number * PLASTIC % 1
    if number % KINDS == 1:
        moves[..., : share.shape[-1]] = share < part
        moves[..., share.shape[-1] :] = 0
    elif number % KINDS == 2:
        moves *= (rng.random((n_pairs, n_classes)) < part)[..., None]
    towards = np.minimum(how_far, 1) * moves
    # Of equal systems all three are the same, however much of their errors is copied.
    copied, own_a, own_b = (
        drawn.common + towards * (row - drawn.common) for row in (drawn.copied, *own)
    )
    beyond = APART * max(how_far - 1, 0) * moves
    # Away from each other, in the labels that both give.
    share_a = np.divide(
        own_a, own_a + own_b, out=np.full(own_a.shape, 0.5), where=own_a + own_b > 0
    )
    rows = copied, own_a * share_a**beyond, own_b * (1 - share_a) ** beyond
    return tuple(row / np.maximum(row.sum(axis=-1, keepdims=True), TINY) for row in rows)


def _multinomial(n: NDArray[np.int64], rows: Floats, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.multinomial(n, rows / np.maximum(rows.sum(axis=-1, keepdims=True), TINY))


def limits(
    seen: Simulated,
    made: Simulated,
    posterior: Floats,
    most: Floats,
    wider: Floats | float = 1.0,
) -> Limits:
    """From what was simulated, how sure each divergence is."""
    n_pairs = len(seen.estimate)
    wider = np.broadcast_to(wider, n_pairs)
    confidence, value = np.empty((2, n_pairs, len(GRID) + 1))
    for pair in range(n_pairs):
        one = Simulated(*(part[:, pair] for part in made[:4]))
        here = Simulated(*(part[pair] for part in seen[:4]))
        confidence[pair], value[pair] = _curve(here, one, most[pair], wider[pair])
    return Limits(confidence, value, np.sort(posterior, axis=0))


def _curve(seen: Simulated, made: Simulated, most: float, wider: float) -> tuple[Floats, Floats]:
    """Confidence in divergences up to each of a grid, of one pair."""
    root, top = np.sqrt(made.divergence), np.sqrt(made.divergence.max())
    u = root / top if top > 0 else root
    # Estimates of populations that are like the observed one beside their divergence, too: where
    # these are 0, however much they matter.
    one, other = made.in_frequent - seen.in_frequent, made.in_few - seen.in_few
    unlike = [one, other, one * u, other * u, one * u**2, other * u**2]
    unlike += [one**2, other**2, one * other]
    design = np.column_stack([powers(u), *unlike])
    target = np.sqrt(made.estimate)
    slopes = np.linalg.lstsq(design, target, rcond=None)[0]
    # Mean absolute deviations of a normal variable are that much smaller than standard ones.
    apart = np.abs(target - design @ slopes) * np.sqrt(np.pi / 2)
    wide = np.linalg.lstsq(np.column_stack([np.ones_like(u), u**2]), apart, rcond=None)[0]
    expected = np.maximum.accumulate(powers(GRID) @ slopes[:4])
    sd = wider * np.maximum(wide[0] + wide[1] * GRID**2, apart.mean() / 4)
    # An estimate below what equal systems would show is as one of equal systems.
    estimate = max(np.sqrt(seen.estimate), expected[0])
    sure = np.maximum.accumulate(special.ndtr(np.divide(
        expected - estimate, sd, out=np.zeros_like(sd), where=sd > 0
    )))  # fmt: skip
    return np.append(sure, 1), np.append((GRID * top) ** 2, most)


def powers(u: Floats) -> Floats:
    """Powers that the root of an expected estimate is made of, (..., 4)."""
    return np.stack([np.ones_like(u), u**2, u**3, u**4], axis=-1)


def at(found: Limits, probability: Floats) -> Floats:
    """Divergence quantiles at given probabilities: the wider of both answers in the tails."""
    out = np.empty(probability.shape)
    upper = np.clip((probability - TAIL) / (1 - 2 * TAIL), 0, 1)
    for pair, wanted in enumerate(probability):
        known, value = found.confidence[pair], found.value[pair]
        rising = np.flatnonzero(np.diff(known, prepend=-1) > 0)
        both = (
            np.interp(wanted, known[rising], value[rising]),
            np.quantile(found.posterior[:, pair], wanted),
        )
        out[pair] = (1 - upper[pair]) * np.minimum(*both) + upper[pair] * np.maximum(*both)
    return out
