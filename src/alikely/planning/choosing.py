"""Choose images and conditions to show humans, based on the responses of models.

The size of an image is the root mean square change of the target that a response to it can cause.
The size of each image is computed from the responses of the models, before any human is tested.

References
----------
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [M49] Madow (1949). On the theory of systematic sampling, II. doi:10.1214/aoms/1177729988
.. [N34] Neyman (1934). On the two different aspects of the representative method.
   doi:10.2307/2342192
.. [NWF78] Nemhauser, Wolsey, Fisher (1978). An analysis of approximations for maximizing
   submodular set functions. doi:10.1007/BF01588971
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from alikely._base.arrays import Floats
from alikely._base.checks import (
    check_between,
    check_ranges,
    check_whole,
    entries,
    known_kind,
    of_type,
    one_of,
)
from alikely._base.files import write_file
from alikely._base.frames import html_of
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely._base.steps import tracked
from alikely.data.blocks import Block
from alikely.data.columns import NOT_SHOWN
from alikely.data.repeats import refuse_repeats
from alikely.data.tables import correctness
from alikely.data.trials import Trials
from alikely.inference.evaluation import evaluator
from alikely.inference.intervals import interval, mean_of_defined
from alikely.inference.process import cells_of_strata
from alikely.inference.weighting import (
    FEWEST_EFFECTIVE,
    Population,
    effective_images,
    freedom_of_sums,
    holding,
    student_deviate,
)
from alikely.metrics.consistency import ERROR_CONSISTENCY

WhatFor = str | Sequence[str] | Sequence[Sequence[str]]
ALL = ("all pairs", "ranking")
# Strata are cells of the responses of at most so many models.
MOST_OF_STRATA = 2


class Pool(NamedTuple):
    """Images of one condition, and the responses of models to them."""

    dataset: str
    condition: str
    models: list[str]
    correct: NDArray[np.bool_]
    items: NDArray[np.object_]
    truth: NDArray[np.object_]
    lost: int

    @property
    def n_images(self) -> int:
        """Number of images."""
        return len(self.items)

    @property
    def name(self) -> str:
        """Name of the condition in messages."""
        return f"{self.dataset} {self.condition}"

    @property
    def place(self) -> dict[str, str]:
        """Labels in tables."""
        return {"dataset": self.dataset, "condition": self.condition}


def pools_of(
    trials: Trials, models: str | Sequence[str], shown: Collection[str] = ()
) -> list[Pool]:
    """Collect the responses of models in each condition."""
    data, at = trials.data, _positions(trials, models)
    raw, frame = data["correct"].values[at], data["item"].values.astype(str)
    correctness(raw, "error")  # raises an error for responses without true classes
    names = [trials.observers[i] for i in at]
    # Attributes are read one by one, because a table of trials times models would be large.
    groups = pd.DataFrame({key: data[key].values for key in ("dataset", "condition")})
    pools = []
    for (dataset, condition), rows in groups.groupby(
        ["dataset", "condition"], sort=False
    ).indices.items():
        seen = raw[:, rows] != NOT_SHOWN
        own = rows[seen.all(axis=0) & ~np.isin(frame[rows], list(shown))]
        items = pd.Series(frame[own].astype(object))
        if (again := items.duplicated()).any():
            raise ValueError(
                f"items must be shown once, item {items[again].iloc[0]!r} of condition "
                f"{condition!r} is repeated; select one response per model with "
                f"trials.select(repeat={data['repeat'].values.min()})"
            )
        if not len(own) and seen.any():
            raise ValueError(
                f"no image of condition {condition!r} was shown to all {len(at)} models; name "
                "models that share images with models="
            )
        if len(own):
            truth = np.full(len(own), "", object)
            if trials.has_classes:
                truth = np.array(trials.classes, object)[data["truth"].values[own]]
            lost = int((seen.any(axis=0) & ~seen.all(axis=0)).sum())
            correct, images = raw[:, own] == 1, items.to_numpy()
            pools.append(Pool(str(dataset), str(condition), names, correct, images, truth, lost))
    if not pools:
        raise ValueError("trials has no image shown to these models; add their trials")
    return pools


def _positions(trials: Trials, models: str | Sequence[str]) -> NDArray[np.intp]:
    kinds = trials.data["kind"].values
    if isinstance(models, str):
        known_kind("models", models, kinds, ", or list names of models")
        return np.flatnonzero(kinds == models)
    models = entries("models", models)
    if twice := [name for at, name in enumerate(models) if name in models[:at]]:
        raise ValueError(f"models has {twice[0]!r} twice; name each once")
    return np.array(_numbers(models, trials.observers), dtype=np.intp)


class Target(NamedTuple):
    """Contrasts of models that a plan estimates; None for all pairs."""

    text: str
    contrasts: Floats | None

    def each(self, n_models: int) -> Floats:
        """All contrasts, one per row."""
        if self.contrasts is not None:
            return self.contrasts
        first, second = np.triu_indices(n_models, 1)
        eye = np.eye(n_models)
        return np.asarray(eye[first] - eye[second])

    def of_strata(self, n_models: int) -> NDArray[np.intp]:
        """Models whose responses define strata: those with a weight, if there are at most two."""
        used = np.flatnonzero(self.each(n_models).any(axis=0))
        return used if len(used) <= MOST_OF_STRATA else used[:0]


def target_of(target: WhatFor, models: Sequence[str]) -> Target:
    """Parse the target of a plan."""
    eye, number = np.eye(len(models)), len(models)
    if isinstance(target, str):
        if target in ALL and target not in models:
            if number < 2:
                raise ValueError(f"{target} needs at least two models, got {listed(models)}")
            return Target(f"the differences of all pairs of {number} models", None)
        return Target(target, eye[_numbers([target], models, ALL)])
    wanted: list[Any] = list(target) if isinstance(target, Iterable) else []
    if not wanted:
        raise ValueError(
            "target must name a pair of models, several pairs, one model, or be 'all pairs'; "
            f"got {target!r:.60}"
        )
    if all(isinstance(entry, str) for entry in wanted):
        wanted = [wanted]
    pairs = []
    for entry in wanted:
        names = [str(n) for n in entry] if isinstance(entry, list | tuple) else [str(entry)]
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"a contrast must name two models, got {listed(map(repr, names))}")
        pairs.append(names)
    at = np.array([_numbers(names, models, ALL) for names in pairs])
    text = "the difference of " if len(pairs) == 1 else "the differences of "
    text += ", of ".join(" and ".join(names) for names in pairs)
    return Target(text, eye[at[:, 0]] - eye[at[:, 1]])


def _numbers(names: Sequence[str], known: Sequence[str], more: Sequence[str] = ()) -> list[int]:
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"unknown model {unknown[0]!r}; the models are: {listed(known)}"
            f"{nearest(unknown[0], [*known, *more])}{'; or all pairs' if more else ''}"
        )
    return [list(known).index(name) for name in names]


# Assumed accuracies and consistencies of humans. A design for a single value can be worse than
# random sampling; a design for the mean over these is not.
ACCURACIES = (0.5, 0.65, 0.8, 0.92)
CONSISTENCIES = (0.1, 0.35)
# If all models are correct (or incorrect), the assumed probability differs from 1 (or 0) by this.
MARGIN = 0.05
# Number of images processed at a time: limits the memory for influences of many models.
CHUNK = 4_096
# Minimum number of images in a stratum that is split, and of images shown per stratum.
FEWEST_TO_SPLIT, FEWEST = 16, 4
# Default proportion of the sample that is spread evenly, independent of sizes.
EVEN = 0.15
HARD = (
    "{share:.0%} of the images shown are ones that at least half of the models got wrong (pool: "
    "{pool:.0%}): participants may become cautious or tired; uniform_fraction=0.3 adds "
    "images of ordinary difficulty"
)
CLASSES = "class frequencies differ from those of the pool; by_class=True balances them"
# Excess proportion of hard images above which a note is added.
MUCH = 0.1
# Overrepresentation of a class above which a note is added, and minimum number of its images.
SKEWED, SKEWED_IMAGES = 2.0, 20


def easiness(correct: NDArray[np.bool_]) -> Floats:
    """Easiness of an image: standardized logit of the accuracy of models."""
    share = correct.mean(axis=0)
    logit = np.log((share + MARGIN) / (1 + MARGIN - share))
    spread = logit.std()
    # Equal logits differ by rounding errors.
    return np.asarray((logit - logit.mean()) / spread if spread > 1e-9 else np.zeros_like(logit))


def effects(shares: Floats, accuracy: float, consistency: float) -> tuple[Floats, Floats]:
    """Compute influences of responses on models' EC with humans of assumed accuracy and EC."""
    right = np.array([[0.0], [1.0]])
    p, h = np.asarray(shares)[None, :], accuracy
    chance = p * h + (1 - p) * (1 - h)
    agreement = consistency * (1 - chance) + chance
    # A model that is always correct or incorrect has an expected agreement of 1 only with a human
    # who is, too.
    rest = 1 - consistency
    constant = (1 - right) - agreement - rest * ((2 * p - 1) * (right - h) - (2 * h - 1) * p)
    slope = (2 * right - 1) - rest * (2 * h - 1)
    return constant / (1 - chance), slope / (1 - chance)


def _moved(
    correct: NDArray[np.bool_], contrasts: Floats | None, part: slice = slice(None)
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Probability of a correct response, and changes of targets by either response."""
    ease = easiness(correct)[part]
    if contrasts is not None:
        # The other models only indicate how easy an image is.
        used = contrasts.any(axis=0)
        correct, contrasts = correct[used], contrasts[:, used]
    shares, x = correct.mean(axis=1), correct[:, part].astype(np.float64)
    for accuracy, consistency in itertools.product(ACCURACIES, CONSISTENCIES):
        wrong, right = (
            each - each.mean(axis=0) if contrasts is None else contrasts @ each
            for each in (
                c[:, None] + s[:, None] * x
                for c, s in zip(*effects(shares, accuracy, consistency), strict=True)
            )
        )
        yield special.expit(special.logit(accuracy) + ease), wrong, right


def sizes(correct: NDArray[np.bool_], contrasts: Floats | None) -> Floats:
    """Compute the RMS change of contrasts (None: of all pairs) by the response to each image."""
    square = np.zeros(correct.shape[1])
    for start in range(0, len(square), CHUNK):
        part = slice(start, start + CHUNK)
        for likely, wrong, right in _moved(correct, contrasts, part):
            square[part] += ((1 - likely) * wrong**2 + likely * right**2).sum(axis=0)
    return np.sqrt(square / (len(ACCURACIES) * len(CONSISTENCIES)))


def _variances(
    correct: NDArray[np.bool_], contrasts: Floats, number: NDArray[np.intp]
) -> tuple[Floats, float]:
    """Variance of the images' influence within strata and overall, averaged over contrasts."""
    member = np.eye(int(number.max()) + 1)[number]
    member /= member.sum(axis=0)
    found = []
    for likely, wrong, right in _moved(correct, contrasts):
        mean = (1 - likely) * wrong + likely * right
        square = (1 - likely) * wrong**2 + likely * right**2
        within = (square @ member - (mean @ member) ** 2).mean(axis=0)
        overall = (square.mean(axis=1) - mean.mean(axis=1) ** 2).mean()
        found.append([*within, overall])
    total = np.mean(found, axis=0)
    return np.maximum(total[:-1], 0), float(total[-1])


def strata_of(correct: NDArray[np.bool_], models: ArrayLike) -> NDArray[np.intp]:
    """Stratum of each image: the models' response pattern, split into easier and harder halves."""
    ease, right = easiness(correct), correct[np.asarray(models)].astype(np.intp)
    cell = (1 << np.arange(len(right))[::-1]) @ right
    half = np.zeros(len(cell), dtype=np.intp)
    for number in np.unique(cell):
        own = np.flatnonzero(cell == number)
        if len(own) >= FEWEST_TO_SPLIT:
            # By rank, so that halves are equal in size even with ties.
            order = np.argsort(-ease[own], kind="stable")
            half[own[order[(len(own) + 1) // 2 :]]] = 1
    return np.unique(2 * cell + half, return_inverse=True)[1]


def _multiple(wanted: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """Multiple of the wanted values, clipped to bounds, with a given sum; by bisection."""
    some = wanted > 0
    lower, upper = 0.0, float((high[some] / wanted[some]).max())
    for _ in range(200):
        middle = (lower + upper) / 2
        if np.clip(middle * wanted, low, high).sum() < total:
            lower = middle
        else:
            upper = middle
    return np.asarray(np.clip(upper * wanted, low, high))


def allocation(number: NDArray[np.intp], size: Floats, n: int) -> NDArray[np.intp]:
    """Number of images to show per stratum: Neyman allocation with a minimum of four [N34]_."""
    held, least = np.bincount(number), fewest_images(number)
    if n < least.sum():
        raise ValueError(
            f"n must be at least {least.sum()}, because each of {len(held)} strata of model "
            f"responses needs up to {FEWEST} images; got {n}"
        )
    wanted = held * np.sqrt(np.bincount(number, size**2) / held)
    share = _multiple(np.maximum(wanted, 1e-12), least.astype(float), held.astype(float), n)
    whole = np.floor(share + 1e-9).astype(np.intp)
    # Largest remainders, within the sizes of the strata.
    order = np.argsort(-np.where(whole < held, share - whole, -1.0), kind="stable")
    whole[order[: n - int(whole.sum())]] += 1
    return whole


def fewest_images(number: NDArray[np.intp]) -> NDArray[np.intp]:
    """Minimum number of images per stratum: four, or all images of a smaller stratum."""
    return np.minimum(FEWEST, np.bincount(number))


def probabilities(size: Floats, n: int, uniform_fraction: float = EVEN) -> Floats:
    """Inclusion probabilities proportional to size, with a proportion spread evenly."""
    count, telling = len(size), int((size > 0).sum())
    if not telling:
        return np.full(count, n / count)
    base = uniform_fraction * n / count
    if telling + base * (count - telling) < n:
        # All informative images are certain to be shown; the rest is left for the others.
        return np.where(size > 0, 1.0, (n - telling) / max(count - telling, 1))
    more = _multiple(
        size / size.sum() * n, np.zeros(count), np.full(count, 1 - base), n - uniform_fraction * n
    )
    return np.asarray(base + more)


class Design(NamedTuple):
    """Sampling design of a pool: stratified, or systematic in random order."""

    pool: Pool
    target: Target
    size: Floats
    inclusion: Floats
    stratum: NDArray[np.intp] | None = None
    classes: NDArray[np.intp] | None = None
    uniform_fraction: float | None = None

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw a sample of images [M49]_, and return their positions in ascending order."""
        pi, stratum, classes = self.inclusion, self.stratum, self.classes
        # Systematic sampling seldom draws neighbors together: images are sorted by class to balance
        # it.
        keys = () if stratum is None else (stratum,)
        if classes is not None:
            keys = (rng.permutation(int(classes.max(initial=0)) + 1)[classes], *keys)
        order = np.lexsort((rng.random(len(pi)), *keys))
        if stratum is not None and classes is None:
            starts = np.concatenate([[0], np.cumsum(np.bincount(stratum))[:-1]])
            rank = np.arange(len(pi)) - starts[stratum[order]]
            shown = np.round(np.bincount(stratum, pi)).astype(np.intp)
            return np.sort(order[rank < shown[stratum[order]]])
        edges = np.cumsum(pi[order])
        n = round(float(edges[-1]))
        # Rounding must not lose the last image.
        edges *= n / edges[-1]
        at = np.searchsorted(edges, np.arange(n) + rng.random(), side="right")
        return np.sort(order[np.minimum(at, len(order) - 1)])


def design_of(
    pool: Pool, target: Target, size: Floats, n: int, uniform_fraction: float | None, by_class: bool
) -> Design:
    """Make a pool's sampling design: by strata for one or two models, otherwise by image size."""
    classes = np.unique(pool.truth.astype(str), return_inverse=True)[1] if by_class else None
    models, uniform = target.of_strata(len(pool.models)), uniform_fraction
    if not len(models):
        if uniform == 0 and not size.all():
            raise ValueError(
                f"uniform_fraction must be above 0: {int((size == 0).sum())} images of {pool.name} "
                "carry no information on the target and would never be shown"
            )
        inclusion = probabilities(size, n, EVEN if uniform is None else uniform)
        return Design(pool, target, size, inclusion, None, classes, uniform)
    stratum, share = strata_of(pool.correct, models), uniform or 0.0
    # Equivalent to a minimum size for all images of the pool.
    mixed = np.sqrt((1 - share) * size**2 + share * np.mean(size**2))
    inclusion = allocation(stratum, mixed, n) / np.bincount(stratum)
    return Design(pool, target, size, inclusion[stratum], stratum, classes, uniform)


def expected_of(part: Design) -> pd.DataFrame:
    """Compute standard errors of random, chosen and all images from the responses of models."""
    pool, target, pi = part.pool, part.target, part.inclusion
    count, models = pool.n_images, len(pool.models)
    n = round(float(pi.sum()))
    # For all pairs, sizes sum over models, each minus their mean.
    many = 2 / (models - 1) if target.contrasts is None else 1 / len(target.contrasts)
    square = part.size**2 * many
    per_image = float(square.mean())
    ours = float((square * (1 - pi) / pi).sum()) / count**2
    if part.stratum is not None:
        held = np.bincount(part.stratum)
        within, per_image = _variances(pool.correct, target.each(models), part.stratum)
        shown = np.round(np.bincount(part.stratum, pi))
        ours = float((held**2 * (1 / shown - 1 / held) * within).sum()) / count**2
    variance = np.array([per_image * (1 / n - 1 / count), ours, 0.0])
    # For images beyond the pool, the sampling variance of the pool is added.
    beyond = per_image / count
    needed = per_image / (ours + beyond) if ours + beyond > 0 else np.nan
    return pd.DataFrame(
        {
            **pool.place,
            "design": ["random", "chosen", "all"],
            "n_images": [n, n, count],
            "se_pool": np.sqrt(variance),
            "se_images": np.sqrt(variance + beyond),
            "trials_saved": [1.0, needed / n, np.nan],
        }
    )


def rows_of(part: Design, at: NDArray[np.intp]) -> pd.DataFrame:
    """Return the rows of a plan's table for the given images."""
    pool = part.pool
    frame = pd.DataFrame({**pool.place, "item": pool.items[at]})
    if pool.truth.any():
        frame["truth"] = pool.truth[at]
    frame["inclusion"] = part.inclusion[at]
    frame["pool_images"] = pool.n_images
    if part.stratum is None:
        certain = np.where(frame["inclusion"] > 1 - 1e-9, "; most informative, always shown", "")
        share = pool.correct[:, at].mean(axis=0)
        return frame.assign(
            reason=[f"{right:.0%} of models are right" for right in share] + certain
        )
    models, stratum = part.target.of_strata(len(pool.models)), part.stratum[at]
    right, names = pool.correct[models], [pool.models[i] for i in models]
    frame["stratum"] = _strata_names(right, names, part.stratum)[stratum]
    frame["stratum_images"] = np.bincount(part.stratum)[stratum]
    for column, name in zip(("model_a", "model_b"), names, strict=False):
        frame[column] = name
    differ = (right[0] != right[-1])[at]
    words = np.where(differ, "the models differ", "the models agree")
    if len(names) == 1:
        words = np.where(right[0, at], "the model is right", "the model is wrong")
    return frame.assign(reason=words)


def _strata_names(
    right: NDArray[np.bool_], models: Sequence[str], stratum: NDArray[np.intp]
) -> NDArray[np.object_]:
    """Name of each stratum; a cell that is not split has no halves to name."""
    first = np.unique(stratum, return_index=True)[1]
    cells = [
        ", ".join(f"{m} {'right' if r else 'wrong'}" for m, r in zip(models, row, strict=True))
        for row in right[:, first].T
    ]
    halves = [
        "" if cells.count(cell) == 1 else ", harder half" if cell in cells[:g] else ", easier half"
        for g, cell in enumerate(cells)
    ]
    return np.array([cell + half for cell, half in zip(cells, halves, strict=True)], dtype=object)


def notes_of(part: Design, several: bool) -> list[str]:
    """Notes on how the selection may affect participants, and on excluded images."""
    pool, pi, notes = part.pool, part.inclusion, []
    if pool.lost:
        notes.append(f"{pool.lost} images not shown to every model are excluded from the pool")
    hard = pool.correct.mean(axis=0) <= 0.5
    share, usual = float(pi[hard].sum() / pi.sum()), float(hard.mean())
    if share - usual > MUCH:
        notes.append(HARD.format(share=share, pool=usual))
    if pool.truth.any() and part.classes is None:
        _, number = np.unique(pool.truth.astype(str), return_inverse=True)
        shown, equal = np.bincount(number, pi), np.bincount(number) * pi.mean()
        if ((shown > SKEWED * equal) & (shown >= SKEWED_IMAGES)).any():
            notes.append(CLASSES)
    return [f"{pool.name}: {note}" if several else note for note in notes]


N_DRAWS = 1_000
FEWEST_DESIGNS = 20
# Intervals that equal the truth up to rounding.
EQUAL = 1e-9


def true_contrasts(
    correct: NDArray[np.bool_], people: NDArray[np.bool_], contrasts: Floats
) -> Floats:
    """Contrasts of error consistency with the mean human, from all images."""
    block, weights = _pairs(correct, people, np.ones(correct.shape[1]), contrasts, "pool")
    return np.asarray(weights @ ERROR_CONSISTENCY.value(block.shares().sum(axis=2)))


def _pairs(
    correct: NDArray[np.bool_],
    people: NDArray[np.bool_],
    inclusion: Floats,
    contrasts: Floats,
    generalize_to: Population,
    stratum: NDArray[np.intp] | None = None,
) -> tuple[Block, Floats]:
    """Each human with each model of the contrasts, and the weights of these pairs in them."""
    used = contrasts.any(axis=0)
    n, m = len(people), int(used.sum())
    first, second = np.repeat(np.arange(n), m), n + np.tile(np.arange(m), n)
    answers = np.concatenate([people, correct[used]]).astype(np.int8)
    number = np.empty(0, dtype=np.intp) if stratum is None else stratum
    block = Block(
        slice(0, n * m), first, second, answers, np.arange(len(inclusion)), inclusion=inclusion,
        stratum=number, asked=np.arange(n + m) < n, generalize_to=generalize_to,
    )  # fmt: skip
    return block, np.tile(contrasts[:, used], n) / n


def by_weights(
    correct: NDArray[np.bool_],
    people: NDArray[np.bool_],
    inclusion: Floats,
    contrasts: Floats,
    generalize_to: Population,
    ci_prob: float = 0.95,
    stratum: NDArray[np.intp] | None = None,
) -> Floats:
    """Estimate contrasts from chosen images with inclusion weights.

    The four rows of the array (4, contrast) are values, two limits and effective numbers of images.
    """
    block, weights = _pairs(correct, people, inclusion, contrasts, generalize_to, stratum)
    ready, n = evaluator(block, ERROR_CONSISTENCY), len(inclusion)
    moved = weights @ ready.slopes()
    sampled = (moved**2).sum(axis=1)
    tossed = [((weights[:, rows] @ part) ** 2).sum(axis=1) for rows, part in ready.tossed()]
    total = sampled + np.sum(tossed, axis=0)
    df = freedom_of_sums(total, sampled, (moved**4).sum(axis=1), n)
    half = student_deviate(df, ci_prob) * np.sqrt(total)
    middle = weights @ ready.values(np.ones((1, n)))[0]
    without = middle - weights @ ready.bias()
    # If all images are certain to be shown, there is no sampling variance.
    settled = generalize_to == "pool" and bool((inclusion == 1).all())
    effective = np.where(settled, np.inf, effective_images(moved))
    return np.stack([without, *holding(middle - half, middle + half, without), effective])


def by_strata(
    correct: NDArray[np.bool_],
    people: NDArray[np.bool_],
    number: NDArray[np.intp],
    held: NDArray[np.intp],
    contrasts: Floats,
    n_draws: int,
    generalize_to: Population,
    rng: np.random.Generator,
    ci_prob: float = 0.95,
) -> Floats:
    """Estimate contrasts of the models that define the strata from posterior draws.

    ``number`` is the stratum of each image shown, ``held`` the number of images in each stratum.
    """
    block, weights = _pairs(correct, people, np.ones(len(number)), contrasts, generalize_to)
    cells = cells_of_strata(block, number, held, ~block.asked, n_draws, rng)
    draws = weights @ ERROR_CONSISTENCY.value(cells).T
    tail = (1 - ci_prob) / 2
    limits = np.quantile(draws, [tail, 1 - tail], axis=1)
    return np.stack([draws.mean(axis=1), *limits, np.full(len(draws), np.inf)])


def simulated_people(
    ease: Floats,
    accuracy: float,
    difficulty_correlation: float,
    n_humans: int,
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Simulated humans, for whom images are about as difficult as for the models."""
    own = rng.normal(size=len(ease))
    logit = 1.5 * (difficulty_correlation * ease + np.sqrt(1 - difficulty_correlation**2) * own)
    level = optimize.brentq(lambda x: special.expit(logit + x).mean() - accuracy, -30.0, 30.0)
    return np.asarray(rng.random((n_humans, len(ease))) < special.expit(logit + level))


def _tried(
    part: Design, people: NDArray[np.bool_], n_designs: int, rng: np.random.Generator
) -> Iterator[dict[str, Any]]:
    """Results for known humans: random sampling, and the plan with each of its estimators."""
    correct, n = part.pool.correct, part.pool.n_images
    contrasts = part.target.each(len(part.pool.models))
    truth = true_contrasts(correct, people, contrasts)
    shown = round(float(part.inclusion.sum()))
    simple = part._replace(inclusion=np.full(n, shown / n), stratum=None, classes=None)
    found: dict[str, list[Floats]] = {"random": [], "chosen": [], "strata": []}
    for _ in range(n_designs):
        for name, way in {"random": simple, "chosen": part}.items():
            at = way.draw(rng)
            own = correct[:, at], people[:, at]
            stratum = None if way.stratum is None else way.stratum[at]
            estimated = by_weights(*own, way.inclusion[at], contrasts, "pool", stratum=stratum)
            found[name].append(estimated)
            if way.stratum is not None and stratum is not None:
                held = np.bincount(way.stratum)
                found["strata"].append(
                    by_strata(*own, stratum, held, contrasts, N_DRAWS, "pool", rng)
                )
    chance, defined = np.nan, np.isfinite(truth)
    for name, estimates in found.items():
        if not estimates:
            continue
        value, lower, upper, effective = np.array(estimates).transpose(1, 0, 2)[:, :, defined]
        square = float(np.nanmean((value - truth[defined]) ** 2))
        if name == "random":
            chance = square
        # If all informative images were shown, limits equal the truth up to rounding.
        inside = (lower <= truth[defined] + EQUAL) & (truth[defined] - EQUAL <= upper)
        per_image = chance / (1 / shown - 1 / n) if shown < n else np.nan
        saved = 1 / (square / per_image + 1 / n) / shown
        yield {
            "design": name,
            "n_images": shown,
            "effect": float(np.sqrt(np.nanmean(truth**2))),
            "rmse": float(np.sqrt(square)),
            "trials_saved": 1.0 if name == "random" else saved,
            "coverage": float(inside.mean()),
            "worst_coverage": float(inside.mean(axis=0).min()),
            "power": float(((lower > 0) | (upper < 0)).mean()),
            "frac_low_effective_n": float((effective < FEWEST_EFFECTIVE).mean()),
        }


# Bytes per row while a table is built: strings are shared, columns are not.
TABLE_BYTES = 300
Layout = Literal["plan", "psychopy", "jspsych"]
FOR_PEOPLE = ("list", "dataset", "condition", "item", "truth")
# Column names in other programs.
LAYOUTS: dict[str, dict[str, str]] = {
    "plan": {},
    "psychopy": {"truth": "corrAns"},
    "jspsych": {"item": "stimulus", "truth": "correct_response"},
}


def choose_images(
    trials: Trials,
    n: int,
    target: WhatFor = "all pairs",
    *,
    models: str | Sequence[str] = "model",
    n_humans: int | None = None,
    by_class: bool = False,
    uniform_fraction: float | None = None,
    shown: Collection[str] = (),
    rng: RandomState = None,
) -> StimulusPlan:
    """Choose the images that are most informative about the consistency between models and humans.

    The choice of images is based on the models' responses, because it costs little to show every
    image to the models. Images on which models agree carry little information about which model is
    closer to humans. Images are chosen separately for each condition, because differences in
    difficulty between conditions inflate consistency.

    Parameters
    ----------
    trials : Trials
        Responses of the models to all images that could be shown. Humans are ignored.
    n : int
        Number of images to show in each condition, at least 2.
    target : str, (str, str) or sequence of (str, str)
        Estimand, in terms of error consistency with humans:

        - ``("A", "B")``: difference between two models; a sequence of such pairs gives several
          differences
        - ``"all pairs"`` or ``"ranking"``: differences between all pairs of models
        - ``"A"``: error consistency of one model

        With one or two models, images are sampled from strata defined by the models' responses
        [N34]_, and a posterior is available for the estimates. With three or more models, images
        are sampled with probability proportional to the size of their influence on the estimand,
        and estimates are weighted accordingly [SSW92]_.
    models : str or sequence of str
        Models to use, by observer kind or name. The difficulty of images is estimated from all
        models that you pass.
    n_humans : int, optional
        Number of participants. For each participant, a different list of images is chosen. If each
        participant sees a different list of images, the mean over participants is more precise, but
        participants have few images in common. Default: one list for all participants.
    by_class : bool
        Whether to balance the true classes of the chosen images, as far as strata or inclusion
        probabilities allow.
    uniform_fraction : float, optional
        Proportion of the chosen images that are sampled at random, regardless of how informative
        they are, in [0, 1]. On average, images sampled at random are as difficult as the pool.
        Default: 0.15 if the target involves three or more models, otherwise 0.
    shown : collection of str
        Items to exclude because participants have already seen them.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same plan.

    Returns
    -------
    StimulusPlan
        Plan with the attributes ``table`` (images to show), ``expected`` (standard errors for
        random images, chosen images and all images), ``target`` and ``notes``. Pass the plan to
        `alikely.Trials.with_inclusion` after the experiment, so that estimates account for the
        sampling design. The plan has these methods:

        - ``simulate()``: precision, coverage and power with artificial humans
        - ``precision(numbers)``: expected standard errors with other numbers of images
        - ``sizes()``: how informative each image in the pool is
        - ``sentence()``: summary of the plan
        - ``to_csv(path, layout)``: file for the experiment

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If a model or an option is unknown.
    ValueError
        If `n` is larger than the pool of a condition, or too small for its strata.
    ValueError
        If the models in `target` are correct on the same images in a condition.
    ValueError
        If `by_class` is set, but there are no true classes.

    Notes
    -----
    A design optimized for differences between models yields less precise estimates of a model's
    consistency than a design optimized for that model. A design for two models may contain too few
    informative images for other models. A note flags estimates that are based on few images.

    Examples
    --------
    >>> import alikely as al
    >>> models = al.load_example().select(kind="model", condition="noise")
    >>> plan = al.planning.choose_images(models, 40, ("model_1", "model_2"), rng=1)
    >>> plan
    <StimulusPlan: 40 images for the difference of model_1 and model_2>
    >>> bool(plan.expected.set_index("design").loc["chosen", "trials_saved"] > 1)
    True
    """
    of_type(trials, Trials, "make them with Trials.read, of the models")
    if n_humans is not None:
        check_whole(n_humans, "n_humans", 1)
    if uniform_fraction is not None and not (
        isinstance(uniform_fraction, numbers.Real) and 0 <= uniform_fraction <= 1
    ):
        raise ValueError(
            f"uniform_fraction must be a proportion in [0, 1], got {uniform_fraction!r}"
        )
    seen = [str(item) for item in entries("shown", shown)]
    pools = pools_of(trials, models, seen)
    if by_class and not trials.has_classes:
        raise ValueError("by_class needs true classes; these trials contain correctness only")
    wanted = target_of(target, pools[0].models)
    if np.ndim(n) or isinstance(n, Mapping):
        raise ValueError(f"n must be one whole number of at least 2, got {n!r:.60}")
    check_whole(n, "n")
    for pool in pools:
        if n > pool.n_images:
            raise ValueError(
                f"n must be at most {pool.n_images}, the images of {pool.name} that participants "
                f"have not seen; got {n}"
            )
    lists = n_humans or 1
    check_memory(
        TABLE_BYTES * lists * n * len(pools),
        f"{lists:,} lists of {n:,} images in {len(pools):,} conditions",
        "fewer n_humans",
    )
    unknown = sorted(set(seen).difference(trials.data["item"].values.astype(str).tolist()))
    rows, parts, notes = [], [], []
    if unknown:
        known = listed(unknown, most=3)
        notes.append(f"{len(unknown)} items of shown are not in these trials: {known}")
    for pool, seed in zip(pools, seed_sequence(rng).spawn(len(pools)), strict=True):
        size = sizes(pool.correct, wanted.contrasts)
        if size.max() < 1e-9:
            raise ValueError(
                f"the models of {wanted.text} are correct on the same images in {pool.name}: their "
                "differences are 0 for every observer, whatever the images"
            )
        parts.append(design_of(pool, wanted, size, n, uniform_fraction, by_class))
        generator = np.random.default_rng(seed)
        for number in tracked(range(1, lists + 1), lists):
            at = generator.permutation(parts[-1].draw(generator))
            rows.append(rows_of(parts[-1], at).assign(list=number))
        notes += notes_of(parts[-1], len(pools) > 1)
    table = pd.concat(rows, ignore_index=True).sort_values("list", kind="stable", ignore_index=True)
    table.insert(0, "list", table.pop("list"))
    expected = pd.concat(map(expected_of, parts), ignore_index=True)
    return StimulusPlan(table, expected, wanted.text, tuple(dict.fromkeys(notes)), tuple(parts))


@dataclasses.dataclass(frozen=True)
class StimulusPlan:
    """Images to show, with their inclusion probabilities.

    Plans are returned by `alikely.planning.choose_images`.

    Attributes
    ----------
    table : pandas.DataFrame
        Images to show, in random order within a list and condition, with columns

        - ``list``: number of the participant who sees the list, from 1
        - ``dataset``, ``condition``, ``item``, ``truth`` (if known): the image
        - ``inclusion``: inclusion probability
        - ``pool_images``: number of images in the pool
        - ``reason``: why the image is informative
        - ``stratum``, ``stratum_images``, ``model_a``, ``model_b``: only in plans for one or two
          models

        `alikely.Trials.with_inclusion` requires only the table of a plan, which can be saved to a
        file and read again.
    expected : pandas.DataFrame
        One row per condition and ``design`` (``random``, ``chosen``, ``all``), with columns

        - ``n_images``: number of images
        - ``se_pool``, ``se_images``: expected standard errors for one human that generalize to the
          images in the pool or to new images (root mean square over contrasts)
        - ``trials_saved``: number of random images that give the same precision as one chosen image

        The table is computed only from model responses; `simulate` is more accurate.
    target : str
        Estimand of the plan.
    notes : tuple of str
        Notes on excluded images and possible effects on participants.
    """

    table: pd.DataFrame
    expected: pd.DataFrame
    target: str
    notes: tuple[str, ...]
    _parts: tuple[Design, ...] = dataclasses.field(repr=False)

    @property
    def n_images(self) -> int:
        """Number of images that each participant sees."""
        return int((self.table["list"] == 1).sum())

    def to_csv(self, path: str | Path, layout: Layout = "plan") -> Path:
        """Write the images to show in an experiment to a file.

        Parameters
        ----------
        path : str or path
            Path of the file to write. An existing file is overwritten.
        layout : {"plan", "psychopy", "jspsych"}
            Format of the file:

            - ``"plan"``: all columns of `table`
            - ``"psychopy"``: a conditions file with the columns ``item, condition, corrAns``
            - ``"jspsych"``: a file with the columns ``stimulus, condition, correct_response``, or
              JSON (``timeline_variables``) if the file name ends in ``.json``

            The formats for PsychoPy and jsPsych include ``list`` but not ``inclusion``, so keep the
            plan as well.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        ValueError
            If the layout is unknown.
        """
        one_of("layout", layout, tuple(LAYOUTS))
        frame = self.table
        if layout != "plan":
            own = [name for name in FOR_PEOPLE if name in frame]
            frame = frame[own].rename(columns=LAYOUTS[layout])
        target = Path(path)
        if layout == "jspsych" and target.suffix == ".json":
            text = json.dumps(frame.to_dict(orient="records"), indent=1)
        else:
            text = frame.to_csv(index=False)
        write_file(target, text)
        return target

    def sentence(self) -> str:
        """Summarize the plan in sentences.

        Returns
        -------
        str
        """
        chosen = self.expected[self.expected["design"] == "chosen"]
        pool = int(self.expected.loc[self.expected["design"] == "all", "n_images"].sum())
        # As many in each condition as random sampling needs there: never more than there are.
        needed = float((chosen["n_images"] * chosen["trials_saved"].fillna(1)).sum())
        saved, several = needed / chosen["n_images"].sum(), len(chosen) > 1
        where = f" in {len(chosen)} conditions" if several else ""
        apart = ", separate ones for each participant" if self.table["list"].nunique() > 1 else ""
        ends = [
            (chosen[f"se_{name}"].min(), chosen[f"se_{name}"].max()) for name in ("pool", "images")
        ]
        # One number if all conditions are displayed alike.
        these, beyond = (" to ".join(dict.fromkeys(f"{se:.3f}" for se in pair)) for pair in ends)
        return (
            f"Show {self.n_images} of the {pool} images{where}{apart}. For {self.target} (error "
            f"consistency) they should be as informative as {round(needed)} images drawn at random "
            f"({saved:.1f} times as many). Expected standard error for one human"
            f"{' in one condition' * several}: {these} for these {pool} images, {beyond} for new "
            "images of the same kind."
        )

    def precision(self, numbers: Sequence[int]) -> pd.DataFrame:
        """Compute the expected standard errors of this plan with other numbers of images.

        Parameters
        ----------
        numbers : sequence of int
            Numbers of images in each condition. Numbers that are too large for a pool, or too small
            for its strata, are skipped.

        Returns
        -------
        pandas.DataFrame
            Table with the same columns as `expected`.

        Raises
        ------
        ValueError
            If the plan allows none of the numbers of images.
        """
        tables = []
        for part in self._parts:
            by_class, uniform = part.classes is not None, part.uniform_fraction
            least = 2 if part.stratum is None else fewest_images(part.stratum).sum()
            tables += [
                expected_of(design_of(*part[:3], n, uniform, by_class))
                for n in numbers
                if least <= n <= part.pool.n_images
            ]
        if not tables:
            raise ValueError(
                f"numbers must include a number of images that a pool and its strata allow; got "
                f"{numbers}"
            )
        return pd.concat(tables, ignore_index=True)

    def sizes(self) -> pd.DataFrame:
        """Tabulate how informative each image in the pool is.

        Returns
        -------
        pandas.DataFrame
            One row per image, with columns

            - ``dataset``, ``condition``, ``item``: the image
            - ``size``: change in the target due to one response (root mean square over humans with
              several accuracies)
            - ``inclusion``: inclusion probability
            - ``shown``: whether the plan includes the image
            - ``right``: proportion of models that respond correctly to the image
            - ``stratum``: number of the image's stratum, in plans that use strata
        """
        parts, keys = [], ["dataset", "condition", "item"]
        chosen = pd.MultiIndex.from_frame(self.table[keys])
        for part in self._parts:
            frame = pd.DataFrame({**part.pool.place, "item": part.pool.items})
            shown = pd.MultiIndex.from_frame(frame).isin(chosen)
            frame = frame.assign(
                size=part.size, inclusion=part.inclusion, shown=shown,
                right=part.pool.correct.mean(axis=0),
            )  # fmt: skip
            if part.stratum is not None:
                frame["stratum"] = part.stratum
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def simulate(
        self,
        *,
        accuracy: Sequence[float] = (0.5, 0.65, 0.8, 0.92),
        difficulty_correlation: Sequence[float] = (0.0, 0.5, 0.9),
        n_humans: int = 1,
        n_designs: int = 200,
        rng: RandomState = None,
    ) -> pd.DataFrame:
        """Simulate the plan with artificial humans.

        `difficulty_correlation` is the correlation between the difficulty of images for humans and
        for models. Intervals generalize to the images in the pool.

        Parameters
        ----------
        accuracy, difficulty_correlation : sequence of float
            Accuracies, in (0, 1), and difficulty correlations, in [0, 1], of the simulated humans.
        n_humans : int
            Number of simulated humans. All humans see the same images, and the mean over humans is
            estimated.
        n_designs : int
            Number of samples of images for each setting, at least 20.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness.

        Returns
        -------
        pandas.DataFrame
            One row per condition, human and ``design`` (``random``, ``chosen`` with weights,
            ``strata`` with a posterior), with columns

            - ``accuracy``, ``difficulty_correlation``: values assumed in the simulation
            - ``effect``: root mean square of the true contrasts
            - ``rmse``: root mean square error
            - ``trials_saved``: number of random images that give the same precision as one chosen
              image
            - ``coverage``, ``worst_coverage``: coverage of 95% intervals, over all contrasts and
              for the contrast with the lowest coverage
            - ``power``: proportion of intervals that exclude 0
            - ``frac_low_effective_n``: proportion of estimates that are based on few images

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        check_whole(n_designs, "n_designs", FEWEST_DESIGNS)
        check_whole(n_humans, "n_humans", 1)
        check_between(accuracy, "accuracy", "try 0.75")
        check_ranges(("difficulty_correlation", difficulty_correlation, 0, 1))
        generator, rows = np.random.default_rng(seed_sequence(rng)), []
        for part in self._parts:
            ease = easiness(part.pool.correct)
            for share, degree in itertools.product(accuracy, difficulty_correlation):
                people = simulated_people(ease, share, degree, n_humans, generator)
                known = {**part.pool.place, "accuracy": share, "difficulty_correlation": degree}
                rows += [{**known, **row} for row in _tried(part, people, n_designs, generator)]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        lists = self.table["list"].nunique()
        head = f"<StimulusPlan: {self.n_images} images for {self.target}"
        head += f", {lists} lists>" if lists > 1 else ">"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """HTML for notebooks: expected precision, and notes."""
        shown = self.expected.round(4).astype(str)
        return html_of(
            repr(self).splitlines()[0][1:-1],
            shown,
            numbers=["n_images", "se_pool", "se_images", "trials_saved"],
            n_rows=len(shown),
            notes=list(self.notes),
            more="table has the images",
        )


FEWEST_ITEMS = 8
# Number of random sets of conditions in each split.
N_RANDOM = 20
# Responses of humans and models in a condition; scores of models, and their covariance.
type Place = tuple[NDArray[np.bool_], NDArray[np.bool_]]
type Part = tuple[Floats, Floats]


def choose_conditions(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    n_splits: int = 20,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Choose the conditions in which error consistency with humans separates models best [K25]_.

    Conditions are added one at a time; each step adds the condition that increases the separation
    of models most [NWF78]_. Chosen conditions separate models better in the data that were used to
    choose them than in new data. The choice of conditions is therefore repeated on random halves of
    images and humans, and evaluated on the other halves.

    Parameters
    ----------
    trials : Trials
        Responses of models in all conditions, and of at least two humans in each condition.
    models, humans : str
        Observer kinds to treat as models and as humans.
    n_splits : int
        Number of random splits, at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        One row per condition in the order of choice, with columns

        - ``n``: number of conditions chosen up to this row
        - ``condition``: name of the condition, as ``dataset:condition``
        - ``separation``: separation of the models in the first n conditions
        - ``as_early``: proportion of splits in which the condition is among the first ``n``
          conditions
        - ``in_sample``: separation in the n chosen conditions, computed on the half used for the
          choice
        - ``held_out``, ``held_out_lb``, ``held_out_ub``: separation computed on the other half:
          mean and central 95% range over splits
        - ``random``: separation in n random conditions, computed on the half that was not used for
          the choice
        - ``gain``, ``gain_lb``, ``gain_ub``: ``held_out`` minus ``random``, with the range over
          splits

    Raises
    ------
    TypeError
        If `trials` is not a `Trials` object.
    ValueError
        If there are fewer than two models or conditions.
    ValueError
        If a condition has fewer than two humans or fewer than 8 images, or a model lacks a
        condition.
    ValueError
        If a number is out of range.
    ValueError
        If a condition has repeated images, because an image could then be in both halves.

    Notes
    -----
    The separation of models is the variance of their mean scores, divided by the variance expected
    from sampling images alone. The variance expected from sampling images is half the sampling
    variance of a difference between two models, averaged over all pairs of models. If models do not
    differ, the expected value of the separation is 1. The estimated noise includes variance due to
    sampling images, but not variance due to sampling humans. A model without errors in a condition
    has an error consistency of 0 with all humans who make errors, and this value has no sampling
    variance. Conditions with accuracies near 1 therefore appear more informative than they are.

    Examples
    --------
    >>> import alikely as al
    >>> chosen = choose_conditions(al.load_example(), n_splits=4, rng=1)
    >>> chosen["condition"].tolist()
    ['all:blur', 'all:clean', 'all:noise']
    """
    of_type(trials, Trials, "make them with Trials.from_table")
    check_whole(n_splits, "n_splits")
    refuse_repeats(trials.data, "the choice of conditions")
    places = _places(trials, models, humans)
    names, n = list(places), len(places)
    order, values = _greedy([_part(*place) for place in places.values()])
    generator = np.random.default_rng(seed_sequence(rng))
    early, (own, held, chance) = np.zeros(n), np.full((3, n_splits, n), np.nan)
    for split in range(n_splits):
        halves = [_halves(place, generator) for place in places.values()]
        first, second = ([_part(*half[k]) for half in halves] for k in (0, 1))
        chosen, own[split] = _greedy(first)
        early += [c in chosen[: k + 1] for k, c in enumerate(order)]
        held[split] = _separations(second, chosen)
        shuffled = [generator.permutation(n).tolist() for _ in range(N_RANDOM)]
        chance[split] = mean_of_defined(np.array([_separations(second, s) for s in shuffled]))
    found = {"in_sample": own, "held_out": held, "random": chance, "gain": held - chance}
    table = pd.DataFrame(
        {
            "n": np.arange(1, n + 1),
            "condition": [names[c] for c in order],
            "separation": values,
            "as_early": early / n_splits,
            **{name: mean_of_defined(each) for name, each in found.items()},
        }
    )
    for name in ("held_out", "gain"):
        table[f"{name}_lb"], table[f"{name}_ub"] = interval(found[name], 0.95, "eti").T
    return table


def _places(trials: Trials, models: str, humans: str) -> dict[str, Place]:
    """Correctness of humans and models in each condition."""
    data = trials.data
    kinds = data["kind"].values.astype(str)
    known_kind("models", models, kinds)
    known_kind("humans", humans, kinds)
    model = kinds == models
    if model.sum() < 2:
        raise ValueError(
            f"there must be at least two observers of kind {models!r}, got {model.sum()}"
        )
    pairs = zip(data["dataset"].values, data["condition"].values, strict=True)
    place = np.array([f"{d}:{c}" for d, c in pairs])
    found: dict[str, Place] = {}
    for name in dict.fromkeys(place.tolist()):
        own = data["correct"].values[:, place == name]
        there = (own != NOT_SHOWN).all(axis=1)
        people = there & (kinds == humans)
        if (lacking := model & ~there).any():
            lacks = trials.observers[int(np.argmax(lacking))]
            raise ValueError(
                f"model {lacks!r} must see all trials, but lacks some of {name}; exclude the model "
                "or the condition"
            )
        if people.sum() < 2 or own.shape[1] < FEWEST_ITEMS:
            raise ValueError(
                f"{name} must have at least 2 humans who saw all images, and {FEWEST_ITEMS} "
                f"images; got {people.sum()} and {own.shape[1]}"
            )
        found[name] = own[people] == 1, own[model] == 1
    if len(found) < 2:
        raise ValueError(f"trials must have at least two conditions, got {len(found)}")
    return found


def _part(people: NDArray[np.bool_], models: NDArray[np.bool_]) -> Part:
    """Mean error consistency of each model with the humans, and its covariance over images."""
    a, b = people[:, None], models[None]
    table = np.stack([a & b, a & ~b, ~a & b, ~a & ~b], axis=-1)
    cells = table.sum(axis=2)
    score = mean_of_defined(ERROR_CONSISTENCY.value(cells))
    psi = ERROR_CONSISTENCY.influence(cells)
    each = np.einsum("hmic,hmc->hmi", table, np.nan_to_num(psi))
    # Over the humans with whom it is defined.
    defined = np.maximum(np.isfinite(psi).all(axis=-1).sum(axis=0), 1)
    mean = each.sum(axis=0) / defined[:, None]
    return score, mean @ mean.T / mean.shape[1] ** 2


def _separation(parts: Sequence[Part]) -> float:
    """Variance of the models' scores over the error variance of their differences."""
    score = np.mean([part[0] for part in parts], axis=0)
    covariance = np.sum([part[1] for part in parts], axis=0) / len(parts) ** 2
    m = len(score)
    # Half the mean variance of a difference.
    noise = np.trace(covariance) / m - (covariance.sum() - np.trace(covariance)) / (m * (m - 1))
    return float(score.var(ddof=1) / noise) if noise > 0 else np.nan


def _separations(parts: Sequence[Part], order: Sequence[int]) -> list[float]:
    """Separation by the first, the first two, ... conditions of an order."""
    return [_separation([parts[c] for c in order[: n + 1]]) for n in range(len(order))]


def _greedy(parts: Sequence[Part]) -> tuple[list[int], list[float]]:
    """Conditions in the order of choice, and the separation by the first n of them."""
    chosen: list[int] = []
    for _ in parts:
        left = [c for c in range(len(parts)) if c not in chosen]
        gains = [_separation([parts[k] for k in (*chosen, c)]) for c in left]
        chosen.append(left[int(np.argmax(np.nan_to_num(gains, nan=-1.0)))])
    return chosen, _separations(parts, chosen)


def _halves(place: Place, generator: np.random.Generator) -> tuple[Place, Place]:
    """Two halves without common humans or images."""
    people, models = place
    h = generator.permutation(len(people))
    i = generator.permutation(models.shape[1])
    cuts = [(h[: len(h) // 2], i[: len(i) // 2]), (h[len(h) // 2 :], i[len(i) // 2 :])]
    first, second = ((people[np.ix_(p, t)], models[:, t]) for p, t in cuts)
    return first, second
