"""Errors of pairs of systems that may share items: counts, and Gibbs sampling.

The generative model, for each true class t with K incorrect labels: systems a and b have separate
error rows around a common row m. On a joint error, both labels are the same with probability c
(copied, or caused by the item)::

    m[t] ~ Dirichlet(a0)                      log a0 ~ Normal(0, 1.5)
    own_a[t], own_b[t] ~ Dirichlet(k K m[t])  k = exp(l + v[t])**-2, exp(l) ~ HalfNormal(2),
                                              v[t] ~ Normal(0, 0.15)
    copied[t] ~ Dirichlet(0.5 K m[t])
    c[t] ~ Beta(s u, s (1 - u))               u ~ Uniform(0, 1), log s ~ Normal(log 8, 1.5)

An iteration of the Gibbs sampler draws, in this order:

- the spread of error rows around the common rows (l, v), with error rows integrated out
- numbers of tables of a Chinese restaurant process, which make the common rows conjugate [T06]_
- the common rows, then the rows around them
- copy probabilities, then which agreements are copies

References
----------
.. [T06] Teh, Jordan, Beal, Blei (2006). Hierarchical Dirichlet processes.
   doi:10.1198/016214506000000302
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit, gammaln, logit

from alikely._base.arrays import Floats, within
from alikely.data.blocks import Block
from alikely.metrics.errors import label_divergence

Counts = NDArray[np.int64]
# Most separate cells of labels that neither system gave; beyond, cells combine several labels.
UNSEEN = 32
# Proportions below do not contribute to a divergence, and their ratios are rounding error.
TINY = 1e-200
# Keeps parameters and divisors above 0.
LEAST = 1e-300


class PairedErrors(NamedTuple):
    """Errors of pairs by true class and label, separated by whether both systems erred."""

    agreed: Counts
    apart_a: Counts
    apart_b: Counts
    alone_a: Counts
    alone_b: Counts
    unseen: Counts
    classes: NDArray[np.intp]

    @property
    def of_a(self) -> Counts:
        """Return the counts of all errors of system `a`."""
        return self.agreed + self.apart_a + self.alone_a

    @property
    def of_b(self) -> Counts:
        """Return all errors of `b`."""
        return self.agreed + self.apart_b + self.alone_b

    @property
    def both(self) -> Counts:
        """Return numbers of joint errors, (pair, class)."""
        return (self.agreed + self.apart_a).sum(axis=-1)

    @property
    def alone(self) -> Counts:
        """Return errors on items that the other system answered correctly: (side, pair, class)."""
        return np.stack([self.alone_a.sum(axis=-1), self.alone_b.sum(axis=-1)])

    @property
    def totals(self) -> Counts:
        """Return all errors of both systems: (side, pair, class)."""
        return np.stack([self.of_a.sum(axis=-1), self.of_b.sum(axis=-1)])

    @property
    def weight(self) -> Floats:
        """Return the proportion of a class among the errors of both, (pair, class)."""
        of_both = self.totals.sum(axis=0).astype(np.float64)
        return np.asarray(of_both / of_both.sum(axis=-1, keepdims=True))

    def with_rest(self) -> tuple[Counts, Floats]:
        """Return errors of both systems and label counts by cell; the last is for unseen labels."""
        seen = self.of_a + self.of_b > 0
        labels = np.concatenate([seen, self.unseen[..., None]], axis=-1).astype(np.float64)
        rest = [(0, 0), (0, 0), (0, 1)]
        return np.stack([np.pad(of, rest) for of in (self.of_a, self.of_b)]), labels

    def take(self, pairs: NDArray[np.intp]) -> PairedErrors:
        """Select pairs, with repetition if requested."""
        return PairedErrors._make([*(part[pairs] for part in self[:-1]), self.classes])


def _codes(block: Block, a: NDArray[np.intp], b: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Number of pair, true class and label of each error, by kind as in `PairedErrors`."""
    wrong = block.wrong()
    both = wrong[a] & wrong[b]
    pair, trial = np.nonzero(both)
    labels = [block.response[side[pair], trial] for side in (a, b)]
    same = labels[0] == labels[1]
    found = [(pair[same], trial[same], labels[0][same])]
    found += [(pair[~same], trial[~same], label[~same]) for label in labels]
    for side in (a, b):
        pair, trial = np.nonzero(wrong[side] & ~both)
        found.append((pair, trial, block.response[side[pair], trial]))
    k = block.n_classes
    return [(pair * k + block.truth[trial]) * k + label for pair, trial, label in found]


def paired_errors(block: Block, pairs: NDArray[np.intp] | None = None) -> PairedErrors:
    """Count the errors of pairs of a block by true class and by label."""
    pairs = np.arange(len(block.a)) if pairs is None else pairs
    codes = _codes(block, block.a[pairs], block.b[pairs])
    k = block.n_classes
    cells, place = np.unique(np.concatenate(codes), return_inverse=True)
    of_pair, of_class = np.divmod(cells // k, k)
    classes, column = np.unique(of_class, return_inverse=True)
    row = of_pair * len(classes) + column
    first = np.flatnonzero(np.diff(row, prepend=-1))
    inside = np.arange(len(cells)) - np.repeat(first, np.diff([*first, len(cells)]))
    shape = (len(pairs), len(classes), int(inside.max(initial=-1)) + 1)
    places = np.split((row * shape[-1] + inside)[place], np.cumsum([len(c) for c in codes])[:-1])
    parts = [np.bincount(at, minlength=int(np.prod(shape))).reshape(shape) for at in places]
    seen = np.bincount(row, minlength=shape[0] * shape[1]).reshape(shape[:2])
    return PairedErrors._make([*parts, block.n_possible[pairs, None] - 1 - seen, classes])


def stacked(parts: Sequence[PairedErrors]) -> PairedErrors:
    """Concatenate pairs of different blocks."""
    if len(parts) == 1:
        return parts[0]
    n_classes, width = (max(part.agreed.shape[axis] for part in parts) for axis in (1, 2))
    counts = [
        np.concatenate([
            np.pad(part[number], [
                (0, 0), (0, n_classes - part[number].shape[1]), (0, width - part[number].shape[2])
            ])
            for part in parts
        ])
        for number in range(5)
    ]  # fmt: skip
    # A class without errors has any number of labels.
    unseen = [
        np.pad(part.unseen, [(0, 0), (0, n_classes - part.unseen.shape[1])], constant_values=1)
        for part in parts
    ]
    return PairedErrors._make([*counts, np.concatenate(unseen), np.arange(n_classes)])


def unseen_cells(unseen: Counts) -> Floats:
    """Distribute the labels that neither system used over at most 32 cells."""
    n = min(int(unseen.max(initial=0)), UNSEEN)
    one_by_one = np.arange(n) < unseen[..., None]
    return np.where(unseen[..., None] > n, unseen[..., None] / max(n, 1), one_by_one)


def label_cells(data: PairedErrors) -> Floats:
    """Count the labels of each cell: 1 for each label given, then numbers of labels never given."""
    seen = (data.of_a + data.of_b > 0).astype(np.float64)
    return np.concatenate([seen, unseen_cells(data.unseen)], axis=-1)


def divergence(p: Floats, q: Floats, part: Floats | float, base: float = 2) -> Floats:
    """Compute the Jensen-Shannon divergence of rows."""
    middle = part * p + (1 - part) * q
    with np.errstate(all="ignore"):
        parts = np.where(p > TINY, p * np.log(p / middle), 0)
        parts += np.where(q > TINY, q * np.log(q / middle), 0)
    # Both halves have equal weight even if the mixture is weighted, as in `alikely.metrics.errors`.
    nats = parts.sum(axis=-1) / 2
    return within(nats / np.log(base), high=largest_divergence(part, base))


def largest_divergence(part: Floats | float, base: float) -> Floats:
    """Compute the divergence of rows without a common label."""
    with np.errstate(divide="ignore"):
        most = np.asarray(-(np.log(part) + np.log1p(-np.asarray(part))) / 2 / np.log(base))
    return most[..., 0] if most.ndim else most


def plug_in(
    errors_a: NDArray[np.integer], errors_b: NDArray[np.integer], labels: Floats, **options: Any
) -> Floats:
    """Compute the divergence of smoothed rows by label (sum: `metrics.errors.row_divergence`)."""
    a, b = np.asarray(errors_a, np.float64), np.asarray(errors_b, np.float64)
    given = [part.sum(axis=-1, keepdims=True) for part in (a, b, labels)]
    per_label = label_divergence(a, b, *given, **options) * (labels > 0)
    per_label += label_divergence(0, 0, *given, **options) * np.maximum(labels - 1, 0)
    weight = given[0] + given[1]
    total = weight.sum(axis=-2, keepdims=True)
    return np.divide(weight, total, out=np.zeros_like(weight), where=total > 0) * per_label


def share_of_copies(
    copying: Floats, both: Counts, alone: Counts, rng: np.random.Generator
) -> Floats:
    """Compute the fraction of copies among errors if items are resampled, (side, ..., 1)."""
    shared = rng.standard_gamma(np.broadcast_to(both, copying.shape))
    parts = []
    for number in alone:
        whole = shared + rng.standard_gamma(np.broadcast_to(number, copying.shape))
        some = np.zeros_like(whole)
        parts.append(np.divide(copying * shared, whole, out=some, where=whole > 0))
    return np.stack(parts)[..., None]


SPREAD = 2.0
CLASS_SD = 0.15
# Mean Dirichlet parameter of the rows of copied labels.
COPIED = 0.5
BASE_SD = 1.5
SURE_OF = 8.0
SURENESS_SD = 1.5
# Concentrations end at a million: beyond, differences of log gamma functions are not resolved.
FLOOR = 1e-6
# Steps of the random walks: short and long ones, since posteriors are narrow and wide.
SPREAD_STEPS = (0.15, 0.5, 1.2, 0.5)
CLASS_STEP = 0.4
BASE_STEPS = (0.3, 0.8, 1.5)
COPYING_STEPS = (0.3, 1.0)


class Drawn(NamedTuple):
    """One draw of label proportions, with separate cells for labels that neither system gave."""

    labels: Floats
    common: Floats
    copied: Floats
    own: Floats  # (side, pair, class, cell)
    part: Floats  # of copies among errors, (side, pair, class, 1)

    @property
    def rows(self) -> Floats:
        """Return the rows (distributions of labels) of all errors of both systems."""
        return self.part * self.copied + (1 - self.part) * self.own


class Chain:
    """States of the MCMC chains of all pairs."""

    def __init__(self, data: PairedErrors, rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        n_pairs, n_classes, _ = data.agreed.shape
        self.errors, self.labels = data.with_rest()
        self.agreed = np.pad(data.agreed, [(0, 0), (0, 0), (0, 1)])
        self.both, self.alone = data.both, data.alone
        self.n_labels = self.labels.sum(axis=-1)
        self.log_spread = np.asarray(rng.normal(-0.5, 0.3, n_pairs))
        self.deviation = np.zeros((n_pairs, n_classes))
        self.log_base: Floats = np.zeros(n_pairs)
        total = self.errors.sum(axis=0) + self.labels
        self.common = total / total.sum(axis=-1, keepdims=True)
        self.mean_copying = np.asarray(rng.uniform(0.1, 0.6, n_pairs))
        self.log_sureness = np.full(n_pairs, np.log(SURE_OF))
        self.copies = rng.binomial(self.agreed, 0.4)

    @property
    def concentration(self) -> Floats:
        """Return the sum of the Dirichlet parameters of a row, (pair, class)."""
        return self._concentration(self.log_spread, self.deviation)

    def _concentration(self, log_spread: Floats, deviation: Floats) -> Floats:
        return self.n_labels / (np.exp(2 * (log_spread[:, None] + deviation)) + FLOOR)

    @property
    def own(self) -> Counts:
        """Return errors that are not copied: (side, pair, class, cell)."""
        return self.errors - self.copies

    def sweep(self) -> None:
        """Run one iteration of the Gibbs sampler."""
        singles = [_singles(counts) for counts in (*self.own, self.copies)]
        self._draw_spread(singles[:2])
        own = self.concentration[..., None] * self.common
        copied = COPIED * self.n_labels[..., None] * self.common
        tables = np.zeros(self.common.shape)
        for (cells, number), parameters in zip(singles, (own, own, copied), strict=True):
            # The number of tables of each cell.
            parameter = parameters.ravel()[cells]
            opened = self.rng.random(len(cells)) * (parameter + number) < parameter
            tables += np.bincount(cells, opened, tables.size).reshape(tables.shape)
        self._draw_common(tables)
        parameters = self.concentration[..., None] * self.common
        self.own_rows = np.stack([self._shares(parameters + counts) for counts in self.own])
        self.copied = self._shares(COPIED * self.n_labels[..., None] * self.common + self.copies)
        self._draw_copying()

    def _draw_spread(self, singles: list[tuple[NDArray[np.intp], NDArray[np.intp]]]) -> None:
        """Steps of random walks; rows are integrated out."""
        cells, number = (np.concatenate(part) for part in zip(*singles, strict=True))
        row = cells // self.common.shape[-1]
        n_own = self.own.sum(axis=-1)

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
        self.copying = self.rng.beta(np.maximum(yes, LEAST), np.maximum(no, LEAST))
        cells = np.flatnonzero(self.agreed)
        c = self.copying.ravel()[cells // self.agreed.shape[-1]]
        by_copy = c * self.copied.ravel()[cells]
        by_chance = (1 - c) * np.prod([rows.ravel()[cells] for rows in self.own_rows], axis=0)
        chance = by_copy / np.maximum(by_copy + by_chance, LEAST)
        self.copies = np.zeros_like(self.agreed)
        self.copies.ravel()[cells] = self.rng.binomial(self.agreed.ravel()[cells], chance)

    def copied_share(self) -> Floats:
        """Return the fraction of copies among joint errors, (pair,); NaN without joint errors."""
        total = self.both.sum(axis=1)
        copies = (self.copying * self.both).sum(axis=1)
        return np.divide(copies, total, out=np.full(total.shape, np.nan), where=total > 0)

    def drawn(self) -> Drawn:
        """Return error rows of the current state, with separate cells for labels never given."""
        rest = unseen_cells(self.data.unseen)
        labels = np.concatenate([self.labels[..., :-1], rest], axis=-1)
        common = self._split(self.common, np.exp(self.log_base)[:, None, None] * rest)
        split = common[..., self.labels.shape[-1] - 1 :]
        own = self.concentration[..., None] * split
        part = share_of_copies(self.copying, self.both, self.alone, self.rng)
        return Drawn(
            labels,
            common,
            self._split(self.copied, COPIED * self.n_labels[..., None] * split),
            np.stack([self._split(row, own) for row in self.own_rows]),
            part,
        )

    def _split(self, row: Floats, parameters: Floats) -> Floats:
        """A row with its last cell split."""
        inner = self._shares(parameters) if parameters.shape[-1] else parameters
        return np.concatenate([row[..., :-1], row[..., -1:] * inner], axis=-1)


def log_gamma_shares(parameters: Floats, rng: np.random.Generator) -> Floats:
    """Draw Dirichlet rows on the log scale, so that small parameters do not underflow."""
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


def _singles(counts: Counts) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Cell of each single one that was counted, and its number within the cell."""
    cells = np.flatnonzero(counts)
    n = counts.ravel()[cells]
    return np.repeat(cells, n), np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
