"""kappa_p of all pairs of systems by matrix products, with standard errors.

Sums over questions of products of what two systems gave are products of matrices. Those that the
variance of an influence function needs are the second moments of six quantities of a question
(`alikely.metrics.options`): agreement, both probabilities of the right option, both agreements of a
system with itself, and one over the number of wrong options.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import ROUNDING, Floats, on_disk_or_chunked, within
from alikely._base.checks import check_answers, check_options, check_probabilities
from alikely.metrics.cells import divide
from alikely.metrics.option_sums import (
    NOTHING_LEFT,
    OptionSums,
    chance_agreement,
    correlation_of_options,
    correlation_slopes,
    kappa_p,
    kappa_p_slopes,
    same_wrong,
)

__all__ = ["CapaMatrices", "capa_matrices", "influences_of_sums", "same_wrong_answers"]

# Numbers held at a time, of a block of questions.
CHUNK = 4_000_000
# Fields of `OptionSums` by the names that second moments have here.
QUANTITIES = {
    "o": "same", "a": "right_a", "b": "right_b", "u": "self_a", "v": "self_b", "f": "chance",
}  # fmt: skip
# What a quantity of one system is called of the other.
OTHER = {"o": "o", "a": "b", "b": "a", "u": "v", "v": "u", "f": "f"}


class CapaMatrices(NamedTuple):
    """Agreement on options of all pairs; shape (observer, observer) each, NaN where undefined."""

    estimate: Floats
    se: Floats
    observed: Floats
    expected: Floats
    r_p: Floats
    r_p_se: Floats
    same_wrong: Floats
    same_wrong_se: Floats
    same_wrong_chance: Floats
    n_questions: NDArray[np.int64]
    right: Floats
    both_right: Floats
    chance: Floats

    def cells(self) -> Floats:
        """Questions by what both chose, as `alikely.inference.option_limits` takes them."""
        n = len(self.estimate)
        return self.cells_of(*np.indices((n, n)).reshape(2, -1)).reshape(n, n, 5)

    def cells_of(self, i: NDArray[np.intp], j: NDArray[np.intp]) -> Floats:
        """The same of some pairs, by the positions of their observers."""
        a, b, both = self.right[i, j], self.right[j, i], self.both_right[i, j]
        same = self.observed[i, j] - both
        shares = [both, a - both, b - both, same, 1 - a - b + both - same]
        counts = self.n_questions[i, j, None] * np.stack(shares, axis=-1)
        # What rounding leaves of 0 is not negative.
        return np.where(np.abs(counts - np.rint(counts)) < 1e-6, np.rint(counts), counts)


def capa_matrices(
    values: ArrayLike, truth: ArrayLike, n_options: ArrayLike | None = None
) -> CapaMatrices:
    """Chance-adjusted agreement of all pairs of systems [G25]_, from matrix products.

    Parameters
    ----------
    values : array_like, shape (observer, question, option) or (observer, question)
        Probabilities of the options (soft), NaN throughout where a system did not answer a
        question, 0 beyond its options; or numbers of the options chosen, from 0 (discrete), -1
        where it did not answer. Memory-mapped arrays, and those of dask, are read block by block.
    truth : array_like of int, shape (question,)
        Number of the right option.
    n_options : int or array_like of int, shape (question,), optional
        Options of each question, at least 2; of probabilities their last axis if not given. Of
        answers it must be given: they do not say what else could have been chosen.

    Returns
    -------
    CapaMatrices

    Raises
    ------
    TypeError
        If answers are no whole numbers.
    ValueError
        If shapes do not fit together, `n_options` is missing, a question has one option, an answer
        or a truth lies outside its options, or probabilities are negative, NaN in part, or do not
        sum to 1 (within 1e-6; 1e-3 of half and single precision).

    References
    ----------
    .. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025).
       Great models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313

    Examples
    --------
    >>> answers = [[0, 1, 2, 3, 0, 1], [0, 1, 2, 0, 1, 1], [1, 1, 2, 3, 1, 0]]
    >>> found = capa_matrices(answers, truth=[0, 1, 2, 3, 2, 3], n_options=4)
    >>> found.estimate.round(2).tolist()
    [[1.0, 0.45, 0.18], [0.45, 1.0, 0.25], [0.18, 0.25, 1.0]]
    """
    array, right, options = _checked(values, truth, n_options)
    sums = _Sums(len(array))
    for block in _blocks(array, right, options):
        _add_moments(sums, block)
    firsts = _first_sums(sums)
    both_wrong, by_chance = _joint_errors(sums)
    mean = {name: divide(getattr(firsts, long), firsts.number) for name, long in QUANTITIES.items()}
    return CapaMatrices(
        estimate := kappa_p(firsts),
        _se(sums, firsts, mean, kappa_p_slopes(firsts), estimate),
        mean["o"],
        chance_agreement(mean["a"], mean["b"], mean["f"]),
        r := correlation_of_options(firsts),
        _se(sums, firsts, mean, correlation_slopes(firsts), r),
        share := same_wrong(firsts),
        _same_wrong_se(sums, both_wrong, share),
        divide(by_chance, np.where(both_wrong > 0, both_wrong, 0.0)),
        firsts.number.round().astype(np.int64),
        mean["a"],
        divide(firsts.both_right, firsts.number),
        mean["f"],
    )


def same_wrong_answers(
    values: ArrayLike, truth: ArrayLike, n_options: ArrayLike | None = None
) -> dict[int, tuple[Floats, Floats, float]]:
    """Joint errors by number of options: how many, how often they agree, and how often by chance.

    Parameters
    ----------
    values, truth, n_options : array_like
        As in `capa_matrices`.

    Returns
    -------
    dict of int to (ndarray, ndarray, float)
        By number of options: expected number of questions on which both are wrong (observer,
        observer), share of the same wrong answer in them, NaN where there is none, and that share
        by chance, ``1 / (options - 1)``.

    Raises
    ------
    TypeError, ValueError
        As from `capa_matrices`.

    Examples
    --------
    >>> answers = [[0, 1, 2, 1], [0, 0, 2, 2]]
    >>> found = same_wrong_answers(answers, [1, 1, 3, 0], n_options=[2, 2, 4, 4])
    >>> {k: (n[0, 1].item(), share[0, 1].item()) for k, (n, share, _) in found.items()}
    {2: (1.0, 1.0), 4: (2.0, 0.5)}
    """
    array, right, options = _checked(values, truth, n_options)
    found = {}
    for k in np.unique(options).tolist():
        at = np.flatnonzero(options == k)
        sums = _Sums(len(array))
        for block in _blocks(array, right, options, at):
            _add_first(sums, block)
        both_wrong, _ = _joint_errors(sums)
        share = divide(sums["o"] - sums["ab"], np.where(both_wrong > 1e-9, both_wrong, 0.0))
        # Differences of numbers of questions.
        slack = ROUNDING * sums["n"] / np.where(both_wrong > 0, both_wrong, np.nan)
        found[int(k)] = both_wrong, within(share, slack=slack), 1 / (k - 1)
    return found


def influences_of_sums(
    values: ArrayLike,
    truth: ArrayLike,
    n_options: ArrayLike | None,
    slopes: Callable[[OptionSums], OptionSums],
    weights: Floats,
) -> Floats:
    """Influence of every question on weighted sums of entries."""
    array, right, options = _checked(values, truth, n_options)
    sums = _Sums(len(array))
    for block in _blocks(array, right, options):
        _add_first(sums, block)
    slope = slopes(_first_sums(sums))
    by = [
        OptionSums(*(np.where(square != 0, square * part, 0.0) for part in slope))
        for square in weights
    ]
    parts = [
        np.stack([_influences(block, of_sum) for of_sum in by])
        for block in _blocks(array, right, options)
    ]
    return np.concatenate(parts, axis=1)


def _influences(block: _Block, by: OptionSums) -> Floats:
    """Weighted sum over pairs of the influence of each question of a block."""
    n, right, own = len(block.p), block.right, block.own
    shown = np.ones(right.shape) if block.shown is None else block.shown
    p = block.p.reshape(n, -1).astype(np.float64, copy=False)
    of_options = _form(p, by.same, p).reshape(-1, block.p.shape[2]).sum(axis=1)
    return np.asarray(
        of_options
        + _form(shown, by.number, shown)
        + _form(right, by.right_a, shown)
        + _form(shown, by.right_b, right)
        + _form(own, by.self_a, shown)
        + _form(shown, by.self_b, own)
        + _form(shown, by.chance, shown) * block.f
        + _form(right, by.both_right, right)
    )


def _form(one: Floats, weights: Floats, other: Floats) -> Floats:
    """Sum over pairs of products of what both gave, weighted, for each question."""
    if not weights.any():
        return np.zeros(one.shape[1])
    return np.asarray(np.einsum("nq,nq->q", one, weights @ other))


class _Block(NamedTuple):
    """Some questions, with zeros where a system did not answer."""

    p: NDArray[Any]  # (observer, question, option) float
    right: Floats  # (observer, question)
    own: Floats  # (observer, question)
    f: Floats  # (question,)
    shown: Floats | None  # (observer, question); None where all answered all
    discrete: bool


class _Sums(dict[str, Any]):
    """Matrices (observer, observer) by name, and whether one over wrong options is one number."""

    def __init__(self, n_observers: int) -> None:
        self.n_observers = n_observers

    def add(self, name: str, value: Any) -> None:
        # In place: these are large.
        if name in self:
            self[name] += value
        else:
            self[name] = np.array(np.broadcast_to(value, (self.n_observers,) * 2), np.float64)


def _checked(
    values: ArrayLike, truth: ArrayLike, n_options: ArrayLike | None
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    array = on_disk_or_chunked(values)
    if array.ndim not in (2, 3) or not array.size:
        raise ValueError(
            "values must be probabilities (observer, question, option) or answers (observer, "
            f"question), got shape {array.shape}"
        )
    if n_options is None and array.ndim == 2:
        raise ValueError(
            "answers do not say how many options there were: give n_options=, one number or one "
            "for each question"
        )
    n_options = array.shape[2] if n_options is None else n_options
    right, options = check_options(truth, n_options, array.shape[1])
    if array.ndim == 2:
        check_answers(array, options)
    return array, right, options


def _blocks(
    array: NDArray[Any],
    truth: NDArray[np.int64],
    n_options: NDArray[np.int64],
    at: NDArray[np.intp] | None = None,
) -> Iterator[_Block]:
    """Walk through the questions, some at a time."""
    n, n_questions = array.shape[:2]
    k = int(n_options.max()) if array.ndim == 2 else array.shape[2]
    step = max(1, CHUNK // (n * k * (k + 1) // 2))
    if at is None:
        parts: list[Any] = [slice(s, s + step) for s in range(0, n_questions, step)]
    else:
        parts = [at[s : s + step] for s in range(0, len(at), step)]
    for part in parts:
        right, options = truth[part], n_options[part]
        f = 1 / (options - 1.0)
        if array.ndim == 2:
            codes = np.asarray(array[:, part])
            shown = codes >= 0
            correct = codes == right
            one_hot = codes[..., None] == np.arange(k)
            # Counts of a block are whole numbers, which single precision holds.
            p, own = one_hot.astype(np.float32), shown.astype(np.float64)
            correct = correct.astype(np.float64)
        else:
            given = np.asarray(array[:, part])
            shown, p = check_probabilities(given, options, part), given.astype(np.float64)
            # They sum to 1 but for rounding: agreement is then at most 1.
            p = np.where(shown[..., None], p / p.sum(axis=2, keepdims=True), 0.0)
            correct = np.take_along_axis(p, right[None, :, None], axis=2)[..., 0]
            own = np.einsum("nqk,nqk->nq", p, p)
        mask = None if shown.all() else shown.astype(np.float64)
        yield _Block(p, correct, own, f, mask, array.ndim == 2)


def _over(block: _Block, x: Floats) -> Floats:
    """Sums of what one system gave, over the questions that the other answered too."""
    if block.shown is None:
        return np.asarray(x.sum(axis=1, keepdims=True))
    return np.asarray(x @ block.shown.T)


def _products(block: _Block, weights: Floats | None = None, others: Floats | None = None) -> Floats:
    """Agreement of all pairs, questions weighted by what either system gave, if anything."""
    n = len(block.p)
    flat = block.p.reshape(n, -1)
    if weights is None:
        return np.asarray(flat @ flat.T)
    # Weights are no whole numbers: double precision.
    weighted = (block.p * weights[..., None]).reshape(n, -1)
    if others is not None:
        flat = (block.p * others[..., None]).reshape(n, -1)
    return np.asarray(weighted @ flat.T.astype(np.float64, copy=False))


def _squares(block: _Block) -> Floats:
    """Squares of the agreement on each question, summed: products of pairs of options."""
    n = len(block.p)
    rows, cols = np.triu_indices(block.p.shape[2])
    # A pair of different options comes twice in the square.
    times = np.where(rows == cols, 1.0, np.sqrt(2.0))
    pairs = (block.p[..., rows] * block.p[..., cols] * times).reshape(n, -1)
    return np.asarray(pairs @ pairs.T)


def _add_first(sums: _Sums, block: _Block) -> None:
    """Sums that agreement itself is made of."""
    shown = np.ones((len(block.p), len(block.f))) if block.shown is None else block.shown
    sums.add("n", _over(block, shown))
    sums.add("o", _products(block))
    sums.add("a", _over(block, block.right))
    sums.add("u", _over(block, block.own))
    sums.add("ab", block.right @ block.right.T)
    # Of a constant number of options these are multiples, but of each block it is seen alone.
    sums.add("f", _over(block, shown * block.f))
    sums.add("af", _over(block, block.right * block.f))
    sums.add("abf", (block.right * block.f) @ block.right.T)


def _add_moments(sums: _Sums, block: _Block) -> None:
    """All sums of products of two quantities, over the questions of a block."""
    _add_first(sums, block)
    right, own, f = block.right, block.own, block.f
    shown = np.ones(right.shape) if block.shown is None else block.shown
    sums.add("ff", _over(block, shown * f**2))
    sums.add("uf", _over(block, own * f))
    sums.add("aa", _over(block, right**2))
    sums.add("au", _over(block, right * own))
    sums.add("uu", _over(block, own**2))
    if block.discrete:
        # Answers agree or not, and with a right one if both are right.
        same = _products(block)
        sums.add("oo", same)
        sums.add("ou", same)
        sums.add("oa", right @ right.T)
        sums.add("av", _over(block, right))
        sums.add("uv", _over(block, shown))
        joint = (shown - right) @ (shown - right).T
        # Of answers `x`, the same and wrong, and `w`, both wrong, are 0 or 1, and `x` within `w`.
        sums.add("ww", joint)
        sums.add("xx", same - right @ right.T)
        sums.add("xw", same - right @ right.T)
    else:
        sums.add("oo", squares := _squares(block))
        sums.add("oa", _products(block, right))
        sums.add("ou", _products(block, own))
        sums.add("av", right @ own.T)
        sums.add("uv", own @ own.T)
        wrong = shown - right
        square = right**2
        sums.add("ww", wrong**2 @ (wrong**2).T)
        sums.add("xx", squares - 2 * _products(block, right, right) + square @ square.T)
        sums.add("xw", _products(block, wrong, wrong) - (right * wrong) @ (right * wrong).T)
    if np.ptp(f):
        sums.add("of", _products(block, np.broadcast_to(f, right.shape)))
    else:
        sums.add("of", f[0] * _products(block))


def _first_sums(sums: _Sums) -> OptionSums:
    a, u = sums["a"], sums["u"]
    return OptionSums(sums["n"], sums["o"], a, a.T, u, u.T, sums["f"], sums["ab"])


def _joint_errors(sums: _Sums) -> tuple[Floats, Floats]:
    """Expected number of joint errors, and how many of them agree by chance."""
    both_wrong = sums["n"] - sums["a"] - sums["a"].T + sums["ab"]
    by_chance = sums["f"] - sums["af"] - sums["af"].T + sums["abf"]
    return both_wrong, by_chance


def _same_wrong_se(sums: _Sums, both_wrong: Floats, share: Floats) -> Floats:
    """Root of the summed squares of ``x - share w``, over the number of joint errors."""
    total = sums["xx"] - 2 * share * sums["xw"] + share**2 * sums["ww"]
    size = np.abs(sums["xx"]) + share**2 * sums["ww"]
    total = np.where(total < NOTHING_LEFT * size, 0.0, total)
    return np.where(np.isfinite(share), np.sqrt(total) / both_wrong, np.nan)


def _second(sums: Mapping[str, Floats]) -> Callable[[str, str], Floats]:
    """Sums of products of two quantities by their names, in either order."""

    def of(one: str, other: str) -> Floats:
        for names in (one + other, other + one):
            if names in sums:
                return sums[names]
        turned = OTHER[one], OTHER[other]
        name = next(n for n in ("".join(turned), "".join(turned[::-1])) if n in sums)
        return sums[name].T

    return of


def _se(
    sums: _Sums,
    firsts: OptionSums,
    mean: Mapping[str, Floats],
    slopes: OptionSums,
    value: Floats,
) -> Floats:
    """Root of the sum of squared influences, by the covariances of the quantities of a question."""
    second = _second(sums)
    moved = [name for name, long in QUANTITIES.items() if np.any(getattr(slopes, long))]
    total, size = np.zeros((2, *firsts.number.shape))
    for one, other in itertools.combinations_with_replacement(moved, 2):
        covariance = second(one, other) - firsts.number * mean[one] * mean[other]
        by = getattr(slopes, QUANTITIES[one]) * getattr(slopes, QUANTITIES[other])
        part = (1 if one == other else 2) * by * covariance
        total += part
        size += np.abs(by * second(one, other))
    # Differences of large sums: below this they are rounding.
    total[total < NOTHING_LEFT * size] = 0.0
    return np.where(np.isfinite(value), np.sqrt(total), np.nan)
