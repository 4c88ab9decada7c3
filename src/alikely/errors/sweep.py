"""Gibbs sampling of paired error rows: no compilation, all pairs and classes at once.

The model, for each true class t of K wrong labels: systems a and b have error rows of their own
around a common row m, and on an item on which both err one label may stand for both, copied or
caused by the item, with probability c::

    m[t] ~ Dirichlet(a0)                      log a0 ~ Normal(0, 1.5)
    own_a[t], own_b[t] ~ Dirichlet(k K m[t])  k = exp(l + v[t])**-2, exp(l) ~ HalfNormal(2),
                                              v[t] ~ Normal(0, .15)
    copied[t] ~ Dirichlet(.5 K m[t])
    c[t] ~ Beta(s u, s (1 - u))               u ~ Uniform(0, 1), log s ~ Normal(log 8, 1.5)

What a sweep draws, in its order: how far rows are from what both have in common (l, v), with the
rows themselves integrated out; how many tables of a Chinese restaurant the errors would sit at,
which makes the common rows conjugate [T06]_; the common rows; the rows; copy probabilities; and
which agreements were copies.

References
----------
.. [T06] Teh, Jordan, Beal, Blei (2006). Hierarchical Dirichlet processes.
   doi:10.1198/016214506000000302
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, gammaln, logit

from alikely._base.arrays import Floats
from alikely.errors.paired import PairedErrors, unseen_cells

__all__ = ["COPIED", "Chain", "Drawn", "log_gamma_shares"]

SPREAD = 2.0
CLASS_SD = 0.15
# Mean Dirichlet parameter of the rows of what is copied.
COPIED = 0.5
BASE_SD = 1.5
SURE_OF = 8.0
SURENESS_SD = 1.5
# As in `alikely.models.errors`.
FLOOR = 1e-6
# Steps of the random walks: short and long ones, since posteriors are narrow and wide.
SPREAD_STEPS = (0.15, 0.5, 1.2, 0.5)
CLASS_STEP = 0.4
BASE_STEPS = (0.3, 0.8, 1.5)
COPYING_STEPS = (0.3, 1.0)


class Drawn(NamedTuple):
    """One draw: shares of labels, those that neither gave laid out in cells of their own."""

    labels: Floats
    common: Floats
    copied: Floats
    own_a: Floats
    own_b: Floats
    part_a: Floats
    part_b: Floats

    @property
    def rows(self) -> tuple[Floats, Floats]:
        """Rows of all errors of both systems."""
        return (
            self.part_a * self.copied + (1 - self.part_a) * self.own_a,
            self.part_b * self.copied + (1 - self.part_b) * self.own_b,
        )


type _Single = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]


class _Sparse(NamedTuple):
    """Counts that are above 0, and each single one of them."""

    cells: NDArray[np.intp]
    row: NDArray[np.intp]
    of: NDArray[np.intp]
    number: NDArray[np.intp]


class Chain:
    """The state of as many chains as there are pairs."""

    def __init__(self, data: PairedErrors, rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        n_pairs, n_classes, _ = data.agreed.shape
        self.both, self.of_a, self.of_b = data.both, _with_rest(data.of_a), _with_rest(data.of_b)
        self.agreed = _with_rest(data.agreed)
        self.alone = data.alone_a.sum(axis=-1), data.alone_b.sum(axis=-1)
        seen = data.of_a + data.of_b > 0
        self.labels = np.concatenate([seen, data.unseen[..., None]], axis=-1).astype(np.float64)
        self.n_labels = self.labels.sum(axis=-1)
        self.sparse = [_sparse(counts) for counts in (self.of_a, self.of_b, self.agreed)]
        self.log_spread = np.asarray(rng.normal(-0.5, 0.3, n_pairs))
        self.deviation = np.zeros((n_pairs, n_classes))
        self.log_base: Floats = np.zeros(n_pairs)
        total = self.of_a + self.of_b + self.labels
        self.common = total / total.sum(axis=-1, keepdims=True)
        self.mean_copying = np.asarray(rng.uniform(0.1, 0.6, n_pairs))
        self.log_sureness = np.full(n_pairs, np.log(SURE_OF))
        self.copies = rng.binomial(self.agreed, 0.4)

    @property
    def concentration(self) -> Floats:
        """Sum of the Dirichlet parameters of a row, (pair, class)."""
        return self._concentration(self.log_spread, self.deviation)

    def _concentration(self, log_spread: Floats, deviation: Floats) -> Floats:
        return self.n_labels / (np.exp(2 * (log_spread[:, None] + deviation)) + FLOOR)

    @property
    def own(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Errors of `a` and of `b` that are not copied."""
        return self.of_a - self.copies, self.of_b - self.copies

    def sweep(self) -> None:
        """Draw everything once, each given the rest."""
        singles = [
            _still_there(counts, where)
            for counts, where in zip((*self.own, self.copies), self.sparse, strict=True)
        ]
        self._draw_spread(singles[:2])
        own = self.concentration[..., None] * self.common
        copied = COPIED * self.n_labels[..., None] * self.common
        tables = np.zeros(self.common.shape)
        for single, parameters in zip(singles, (own, own, copied), strict=True):
            tables += self._tables(single, parameters)
        self._draw_common(tables)
        self._draw_rows()
        self._draw_copying()

    def _draw_spread(self, singles: list[_Single]) -> None:
        """Steps of random walks; rows are integrated out."""
        cells, row, number = (np.concatenate(part) for part in zip(*singles, strict=True))
        n_own = [counts.sum(axis=-1) for counts in self.own]

        def likelihood(log_spread: Floats, deviation: Floats) -> Floats:
            total = self._concentration(log_spread, deviation)
            parameters = (total[..., None] * self.common).ravel()
            # A gamma function over another, factor by factor: there are few.
            gained = np.log(parameters[cells] + number)
            out = np.bincount(row, gained, total.size).reshape(total.shape) + 2 * gammaln(total)
            return out - gammaln(total + n_own[0]) - gammaln(total + n_own[1])

        def prior(log_spread: Floats) -> Floats:
            # Of the logarithm of a half-normal number.
            return log_spread - np.exp(2 * log_spread) / (2 * SPREAD**2)

        now = likelihood(self.log_spread, self.deviation)
        for step in SPREAD_STEPS:
            new = self.rng.normal(self.log_spread, step)
            there = likelihood(new, self.deviation)
            gain = (there - now).sum(axis=1) + prior(new) - prior(self.log_spread)
            taken = self._taken(gain)
            self.log_spread = np.where(taken, new, self.log_spread)
            now = np.where(taken[:, None], there, now)
        new = self.rng.normal(self.deviation, CLASS_STEP)
        gain = likelihood(self.log_spread, new) - now
        gain -= (new**2 - self.deviation**2) / (2 * CLASS_SD**2)
        self.deviation = np.where(self._taken(gain), new, self.deviation)

    def _taken(self, gain: Floats) -> NDArray[np.bool_]:
        return -self.rng.standard_exponential(gain.shape) < gain

    def _tables(self, single: _Single, parameters: Floats) -> Floats:
        """Draw the number of tables of each cell."""
        cells, _, number = single
        parameter = parameters.ravel()[cells]
        opened = self.rng.random(len(cells)) * (parameter + number) < parameter
        number_of = np.bincount(cells, opened, parameters.size).reshape(parameters.shape)
        return np.asarray(number_of, dtype=np.float64)

    def _draw_common(self, tables: Floats) -> None:
        n_pairs = len(tables)
        in_row = tables.sum(axis=-1)
        # Cells of a pair with more than 0, 1, 2, ... tables: all have the same parameter.
        cells = np.flatnonzero(tables)
        n = tables.ravel()[cells].astype(np.intp)
        longest = int(n.max(initial=0)) + 1
        code = cells // (tables.size // n_pairs) * longest + n
        at_least = np.bincount(code, minlength=n_pairs * longest).reshape(n_pairs, longest)
        more = np.cumsum(at_least[:, ::-1], axis=1)[:, -2::-1]
        steps = np.arange(longest - 1)

        def density(log_base: Floats) -> Floats:
            one = np.exp(log_base)
            whole = self.n_labels * one[:, None]
            rows = (gammaln(whole) - gammaln(whole + in_row)).sum(axis=1)
            gained = (more * np.log(one[:, None] + steps)).sum(axis=1)
            return np.asarray(rows + gained - log_base**2 / (2 * BASE_SD**2))

        now = density(self.log_base)
        for step in BASE_STEPS:
            new = self.rng.normal(self.log_base, step)
            there = density(new)
            taken = self._taken(there - now)
            self.log_base = np.where(taken, new, self.log_base)
            now = np.where(taken, there, now)
        self.common = self._shares(np.exp(self.log_base)[:, None, None] * self.labels + tables)

    def _draw_rows(self) -> None:
        parameters = self.concentration[..., None] * self.common
        self.own_a, self.own_b = (self._shares(parameters + counts) for counts in self.own)
        self.copied = self._shares(COPIED * self.n_labels[..., None] * self.common + self.copies)

    def _shares(self, parameters: Floats) -> Floats:
        return log_gamma_shares(parameters, self.rng)

    def _draw_copying(self) -> None:
        """Copy probabilities, integrated out for their mean and sureness; and what was copied."""
        copied = self.copies.sum(axis=-1)

        def density(mean: Floats, log_sureness: Floats) -> Floats:
            yes = (np.exp(log_sureness) * mean)[:, None]
            no = (np.exp(log_sureness) * (1 - mean))[:, None]
            rows = betaln(yes + copied, no + self.both - copied) - betaln(yes, no)
            prior = (log_sureness - np.log(SURE_OF)) ** 2 / (2 * SURENESS_SD**2)
            # In log odds of the mean, which is uniform.
            return np.asarray(rows.sum(axis=1) - prior + np.log(mean) + np.log1p(-mean))

        now = density(self.mean_copying, self.log_sureness)
        for step in COPYING_STEPS:
            moved = self.rng.normal(logit(self.mean_copying), step)
            new = expit(np.clip(moved, -25, 25))
            sureness = self.rng.normal(self.log_sureness, step)
            there = density(new, sureness)
            taken = self._taken(there - now)
            self.mean_copying = np.where(taken, new, self.mean_copying)
            self.log_sureness = np.where(taken, sureness, self.log_sureness)
            now = np.where(taken, there, now)
        sureness = np.exp(self.log_sureness)
        yes = (sureness * self.mean_copying)[:, None] + copied
        no = (sureness * (1 - self.mean_copying))[:, None] + self.both - copied
        self.copying = self.rng.beta(np.maximum(yes, TINY), np.maximum(no, TINY))
        cells, row = self.sparse[2].cells, self.sparse[2].row
        c = self.copying.ravel()[row]
        by_copy = c * self.copied.ravel()[cells]
        by_chance = (1 - c) * self.own_a.ravel()[cells] * self.own_b.ravel()[cells]
        chance = by_copy / np.maximum(by_copy + by_chance, TINY)
        self.copies = np.zeros_like(self.agreed)
        self.copies.ravel()[cells] = self.rng.binomial(self.agreed.ravel()[cells], chance)

    def copied_share(self) -> Floats:
        """Share of copies among the items on which both erred, (pair,); NaN without any."""
        total = self.both.sum(axis=1)
        copies = (self.copying * self.both).sum(axis=1)
        return np.divide(copies, total, out=np.full(total.shape, np.nan), where=total > 0)

    def drawn(self) -> Drawn:
        """Rows of the present state; labels that neither system gave each take their share."""
        rest = unseen_cells(self.data.unseen)
        labels = np.concatenate([self.labels[..., :-1], rest], axis=-1)
        common = self._split(self.common, np.exp(self.log_base)[:, None, None] * rest)
        split = common[..., self.labels.shape[-1] - 1 :]
        own = self.concentration[..., None] * split
        part_a, part_b = self._parts()
        return Drawn(
            labels,
            common,
            self._split(self.copied, COPIED * self.n_labels[..., None] * split),
            self._split(self.own_a, own),
            self._split(self.own_b, own),
            part_a,
            part_b,
        )

    def _split(self, row: Floats, parameters: Floats) -> Floats:
        """A row with its last cell split."""
        inner = self._shares(parameters) if parameters.shape[-1] else parameters
        return np.concatenate([row[..., :-1], row[..., -1:] * inner], axis=-1)

    def _parts(self) -> tuple[Floats, Floats]:
        """Share of copies among a system's errors, when its items are drawn anew."""
        both = self.rng.standard_gamma(self.both)
        parts = []
        for alone in self.alone:
            whole = both + self.rng.standard_gamma(alone)
            part = np.divide(self.copying * both, whole, out=np.zeros_like(both), where=whole > 0)
            parts.append(part[..., None])
        return parts[0], parts[1]


TINY = 1e-300


def log_gamma_shares(parameters: Floats, rng: np.random.Generator) -> Floats:
    """Draw Dirichlet rows, also of small parameters: gamma variates of these underflow."""
    there = parameters > 0
    some = parameters[there]
    with np.errstate(over="ignore"):
        drawn = np.log(rng.standard_gamma(some + 1)) - rng.standard_exponential(some.shape) / some
    logs = np.full(parameters.shape, -np.inf)
    logs[there] = drawn
    # A row without parameters has no largest one.
    most = np.maximum(logs.max(axis=-1, keepdims=True, initial=-np.inf), np.finfo(np.float64).min)
    shares = np.exp(logs - most)
    total = shares.sum(axis=-1, keepdims=True)
    return np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)


def _with_rest(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts with a last cell for all labels that neither system gave."""
    return np.pad(counts, [(0, 0)] * (counts.ndim - 1) + [(0, 1)])


def _still_there(counts: NDArray[np.int64], where: _Sparse) -> _Single:
    """Single ones of counts that are as large as those listed, or smaller: cell, row, number."""
    here = where.number < counts.ravel()[where.cells][where.of]
    of = where.of[here]
    return where.cells[of], where.row[of], where.number[here]


def _sparse(counts: NDArray[np.int64]) -> _Sparse:
    cells = np.flatnonzero(counts)
    n = counts.ravel()[cells]
    of = np.repeat(np.arange(len(cells)), n)
    return _Sparse(
        cells, cells // counts.shape[-1], of, np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    )
