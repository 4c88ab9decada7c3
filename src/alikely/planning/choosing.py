"""Which images and conditions to show people, chosen from what models answered.

The size of an image is how far an answer to it may move the target. It is known from the answers of
the models before anybody is tested.

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
from alikely._base.checks import entries, known_kind, of_type, one_of
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
from alikely.estimates.analysis import check_numbers
from alikely.inference.evaluation import evaluator
from alikely.inference.intervals import interval, mean_of_defined
from alikely.inference.strata import cells_of_strata
from alikely.inference.weighted import (
    FEWEST_EFFECTIVE,
    Population,
    effective_images,
    freedom_of_sums,
    holding,
    student_deviate,
)
from alikely.metrics.consistency import ERROR_CONSISTENCY
from alikely.planning.numbers import check_between, check_whole

__all__ = ["StimulusPlan", "choose_conditions", "choose_images"]

WhatFor = str | Sequence[str] | Sequence[Sequence[str]]
ALL = ("all pairs", "ranking")
# Models whose cells are strata.
MOST_OF_STRATA = 2
SEVERAL = "such a difference (root mean square)"


class Pool(NamedTuple):
    """Images of one condition, and what models made of them."""

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
        """What messages call it."""
        return f"{self.dataset} {self.condition}"


def pools_of(
    trials: Trials, models: str | Sequence[str], shown: Collection[str] = ()
) -> list[Pool]:
    """Gather what models answered, condition by condition."""
    data = trials.data
    at = _positions(trials, models)
    raw, frame = data["correct"].values[at], data["item"].values.astype(str)
    correctness(raw, "error")  # refuses responses without true classes
    # Attributes are read one by one: a table of trials times models would be large.
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
                f"item {items[again].iloc[0]!r} of condition {condition!r} recurs, and is one "
                "image: choose an answer of each model with "
                f"trials.select(repeat={data['repeat'].values.min()})"
            )
        if not len(own) and seen.any():
            raise ValueError(
                f"no image of condition {condition!r} was seen by all {len(at)} models; name "
                "those that were with models="
            )
        if len(own):
            truth = np.full(len(own), "", object)
            if trials.has_classes:
                truth = np.array(trials.classes, object)[data["truth"].values[own]]
            names = [trials.observers[i] for i in at]
            lost = int((seen.any(axis=0) & ~seen.all(axis=0)).sum())
            correct, images = raw[:, own] == 1, items.to_numpy()
            pools.append(Pool(str(dataset), str(condition), names, correct, images, truth, lost))
    if not pools:
        raise ValueError("no image was seen by these models; read their trials first")
    return pools


def _positions(trials: Trials, models: str | Sequence[str]) -> NDArray[np.intp]:
    names, kinds = trials.observers, trials.data["kind"].values
    if isinstance(models, str):
        known_kind("models", models, kinds, ", or list names of models")
        return np.flatnonzero(kinds == models)
    models = entries("models", models)
    if twice := [name for at, name in enumerate(models) if name in models[:at]]:
        raise ValueError(f"models has {twice[0]!r} twice; name each once")
    return np.array(_numbers(models, names), dtype=np.intp)


class Target(NamedTuple):
    """Contrasts of models that a plan is made for; None for all pairs."""

    text: str
    contrasts: Floats | None
    question: str
    error: str

    def each(self, n_models: int) -> Floats:
        """Contrasts one by one."""
        if self.contrasts is not None:
            return self.contrasts
        first, second = np.triu_indices(n_models, 1)
        eye = np.eye(n_models)
        return np.asarray(eye[first] - eye[second])

    def of_strata(self, n_models: int) -> NDArray[np.intp]:
        """Models whose answers make strata: one or two, otherwise none."""
        used = np.flatnonzero(self.each(n_models).any(axis=0))
        return used if len(used) <= MOST_OF_STRATA else used[:0]


def target_of(target: WhatFor, models: Sequence[str]) -> Target:
    """Read what a user wants to know."""
    eye, number = np.eye(len(models)), len(models)
    if isinstance(target, str):
        if target in ALL and target not in models:
            if number < 2:
                raise ValueError(f"{target} needs at least two models, got {listed(models)}")
            text = f"the differences of all pairs of {number} models"
            return Target(text, None, f"which of {number} models err more like a person", SEVERAL)
        (one,) = _numbers([target], models, ALL)
        return Target(target, eye[[one]], f"how much {target} errs like a person", "that value")
    wanted: list[Any] = list(target) if isinstance(target, Iterable) else []
    if not wanted:
        got = "nothing" if isinstance(target, Iterable) else type(target).__name__
        raise ValueError(
            "target must name a pair of models, several pairs, one model, or be 'all pairs'; "
            f"got {got}"
        )
    if all(isinstance(entry, str) for entry in wanted):
        wanted = [wanted]
    pairs = []
    for entry in wanted:
        names = [str(n) for n in entry] if isinstance(entry, list | tuple) else [str(entry)]
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"a contrast is of two models, got {listed(map(repr, names))}")
        pairs.append(names)
    at = np.array([_numbers(names, models, ALL) for names in pairs])
    single = len(pairs) == 1
    return Target(
        ("the difference of " if single else "the differences of ")
        + ", of ".join(" and ".join(names) for names in pairs),
        eye[at[:, 0]] - eye[at[:, 1]],
        f"whether {' and whether '.join(' or '.join(names) for names in pairs)} errs more like a "
        "person",
        "that difference" if single else SEVERAL,
    )


def _numbers(names: Sequence[str], known: Sequence[str], more: Sequence[str] = ()) -> list[int]:
    if unknown := [name for name in names if name not in known]:
        raise ValueError(
            f"no model {unknown[0]!r}; there are: {listed(known)}"
            f"{nearest(unknown[0], [*known, *more])}{'; or all pairs' if more else ''}"
        )
    return [list(known).index(name) for name in names]


def require_apart(pool: Pool, target: Target) -> None:
    """Refuse models that answered every image alike (`ValueError`): nothing tells them apart."""
    x = pool.correct
    for row in [] if target.contrasts is None else target.contrasts:
        own = np.flatnonzero(row)
        if len(own) == 2 and np.array_equal(x[own[0]], x[own[1]]):
            a, b = (pool.models[i] for i in own)
            raise ValueError(
                f"{a!r} and {b!r} are right and wrong on the same images in {pool.name}: no "
                "image tells them apart, and their difference is 0 with anybody"
            )
    if target.contrasts is None and (x == x[:1]).all():
        raise ValueError(
            f"all models are right and wrong on the same images in {pool.name}: no image tells "
            "them apart"
        )


# What people might be like. One guess can be worse than chance sampling; the mean over these is
# not.
ACCURACIES = (0.5, 0.65, 0.8, 0.92)
CONSISTENCIES = (0.1, 0.35)
# Models that are all right, or all wrong, leave an image this far from certain.
MARGIN = 0.05
# Images taken at a time: bounds the memory of the influences of many models.
CHUNK = 4_096
# Fewest images of a stratum that is split in two, and fewest of one that are shown.
FEWEST_TO_SPLIT, FEWEST = 16, 4
# Proportion of the trials that are spread evenly, whatever the sizes say.
EVEN = 0.15
HARD = (
    "people see {share:.0%} images that half of the models or more get wrong ({pool:.0%} of the "
    "pool): they may expect hard ones and grow careful or tired; uniform_fraction=0.3 mixes in "
    "ordinary ones"
)
CLASSES = "classes are not as frequent as in the pool; by_class=True balances them"
# From here on a share of hard images is worth a note.
MUCH = 0.1
# Likewise a class: by so many times what equal drawing gives, and so many images; in fewer nobody
# sees the difference from chance.
SKEWED, SKEWED_IMAGES = 2.0, 20


def easiness(correct: NDArray[np.bool_]) -> Floats:
    """How easy an image seems, from the models: standardized logit of their accuracy."""
    share = correct.mean(axis=0)
    logit = np.log((share + MARGIN) / (1 + MARGIN - share))
    spread = logit.std()
    # Equal logits differ by rounding.
    return np.asarray((logit - logit.mean()) / spread if spread > 1e-9 else np.zeros_like(logit))


def effects(shares: Floats, accuracy: float, consistency: float) -> tuple[Floats, Floats]:
    """Influence of an answer on each model's error consistency with a person, at a guess."""
    right = np.array([[0.0], [1.0]])
    p, h = np.asarray(shares)[None, :], accuracy
    chance = p * h + (1 - p) * (1 - h)
    agreement = consistency * (1 - chance) + chance
    # A model that is always right or always wrong has a chance of 1 only with a person who is.
    rest = 1 - consistency
    constant = (1 - right) - agreement - rest * ((2 * p - 1) * (right - h) - (2 * h - 1) * p)
    slope = (2 * right - 1) - rest * (2 * h - 1)
    return constant / (1 - chance), slope / (1 - chance)


def _moved(
    correct: NDArray[np.bool_], contrasts: Floats | None, part: slice = slice(None)
) -> Iterator[tuple[Floats, Floats, Floats]]:
    """At each guess: chance of a right answer, and what a wrong and a right one move targets by."""
    ease = easiness(correct)[part]
    if contrasts is not None:
        # The others only say how easy an image is.
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
    """Root mean square of what an image's answer may move the contrasts by; None for all pairs."""
    square = np.zeros(correct.shape[1])
    for start in range(0, len(square), CHUNK):
        part = slice(start, start + CHUNK)
        for likely, wrong, right in _moved(correct, contrasts, part):
            square[part] += (1 - likely) * np.einsum("ci,ci->i", wrong, wrong)
            square[part] += likely * np.einsum("ci,ci->i", right, right)
    return np.sqrt(square / (len(ACCURACIES) * len(CONSISTENCIES)))


def _variances(
    correct: NDArray[np.bool_], contrasts: Floats, number: NDArray[np.intp]
) -> tuple[Floats, float]:
    """Variance of an image's influence within strata and overall, averaged over contrasts."""
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
    """Stratum of each image: a cell of models' answers, in an easier and a harder half."""
    ease, right = easiness(correct), correct[np.asarray(models)].astype(np.intp)
    cell = (1 << np.arange(len(right))[::-1]) @ right
    half = np.zeros(len(cell), dtype=np.intp)
    for number in np.unique(cell):
        own = np.flatnonzero(cell == number)
        if len(own) >= FEWEST_TO_SPLIT:
            # By rank, so that halves are equal however many images tie.
            order = np.argsort(-ease[own], kind="stable")
            half[own[order[(len(own) + 1) // 2 :]]] = 1
    return np.unique(2 * cell + half, return_inverse=True)[1]


def _multiple(wanted: Floats, low: Floats, high: Floats, total: float) -> Floats:
    """A multiple of what is wanted, each within its bounds, that sums to a total; by bisection."""
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
    """Images to show of each stratum: Neyman's, at least four where there are so many [N34]_."""
    held = np.bincount(number)
    least = np.minimum(FEWEST, held)
    if n < least.sum():
        raise ValueError(
            f"n must be at least {least.sum()}, up to {FEWEST} images for each of {len(held)} "
            f"strata of answers that these models give; got {n}"
        )
    wanted = held * np.sqrt(np.bincount(number, size**2) / held)
    share = _multiple(np.maximum(wanted, 1e-12), least.astype(float), held.astype(float), n)
    whole = np.floor(share + 1e-9).astype(np.intp)
    # The largest remainders, where there is room.
    order = np.argsort(-np.where(whole < held, share - whole, -1.0), kind="stable")
    whole[order[: n - int(whole.sum())]] += 1
    return whole


def fewest_images(number: NDArray[np.intp]) -> int:
    """Images that strata need at least: four of each that has so many."""
    return int(np.minimum(FEWEST, np.bincount(number)).sum())


def probabilities(size: Floats, n: int, uniform_fraction: float = EVEN) -> Floats:
    """Inclusion probabilities in proportion to size, with a share spread evenly."""
    count, telling = len(size), int((size > 0).sum())
    if not telling:
        return np.full(count, n / count)
    base = uniform_fraction * n / count
    if telling + base * (count - telling) < n:
        # All that tell are certain to be shown, and leave room for others.
        return np.where(size > 0, 1.0, (n - telling) / max(count - telling, 1))
    more = _multiple(
        size / size.sum() * n, np.zeros(count), np.full(count, 1 - base), n - uniform_fraction * n
    )
    return np.asarray(base + more)


class Drawing(NamedTuple):
    """How images of a pool are drawn: strata of known sizes, or systematically in random order."""

    inclusion: Floats
    stratum: NDArray[np.intp] | None = None
    classes: NDArray[np.intp] | None = None
    uniform_fraction: float | None = None

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw positions of images, ascending [M49]_."""
        pi, stratum, classes = self.inclusion, self.stratum, self.classes
        # Neighbors are seldom drawn together: those of a class, if classes are to be balanced.
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


def drawing_of(
    pool: Pool, size: Floats, target: Target, n: int, uniform_fraction: float | None, by_class: bool
) -> Drawing:
    """Design of one pool: strata where one or two models make them, else by sizes."""
    classes = np.unique(pool.truth.astype(str), return_inverse=True)[1] if by_class else None
    models = target.of_strata(len(pool.models))
    if not len(models):
        if uniform_fraction == 0 and not size.all():
            raise ValueError(
                f"uniform_fraction must be above 0: {int((size == 0).sum())} images of "
                f"{pool.name} tell "
                "nothing of the target and would never be shown, whatever else is asked later"
            )
        return Drawing(
            probabilities(size, n, EVEN if uniform_fraction is None else uniform_fraction),
            None,
            classes,
            uniform_fraction,
        )
    stratum = strata_of(pool.correct, models)
    # Spread evenly over the pool: as if each image had at least that size.
    mixed = (
        size
        if not uniform_fraction
        else np.sqrt((1 - uniform_fraction) * size**2 + uniform_fraction * np.mean(size**2))
    )
    inclusion = allocation(stratum, mixed, n) / np.bincount(stratum)
    return Drawing(inclusion[stratum], stratum, classes, uniform_fraction)


def expected_of(
    pools: Sequence[Pool],
    drawings: Sequence[Drawing],
    target: Target,
    numbers: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Expected standard errors of a plan, or of plans like it with other numbers of images."""
    tables = []
    for pool, drawing in zip(pools, drawings, strict=True):
        size = sizes(pool.correct, target.contrasts)
        if numbers is None:
            tables.append(_expected(pool, size, target, drawing))
            continue
        least = 2 if drawing.stratum is None else fewest_images(drawing.stratum)
        for n in numbers:
            if least <= n <= pool.n_images:
                by_class = drawing.classes is not None
                other = drawing_of(pool, size, target, n, drawing.uniform_fraction, by_class)
                tables.append(_expected(pool, size, target, other))
    if not tables:
        raise ValueError(
            f"none of these numbers of images is one that a pool and its strata allow: {numbers}"
        )
    return pd.concat(tables, ignore_index=True)


def _expected(pool: Pool, size: Floats, target: Target, drawing: Drawing) -> pd.DataFrame:
    """Standard errors of random sampling, the design and all images, from the models alone."""
    count, models, pi = pool.n_images, len(pool.models), drawing.inclusion
    n = round(float(pi.sum()))
    # Of all pairs sizes sum over models, each against their mean.
    many = 2 / (models - 1) if target.contrasts is None else 1 / len(target.contrasts)
    square = size**2 * many
    per_image = float(square.mean())
    ours = float((square * (1 - pi) / pi).sum()) / count**2
    if drawing.stratum is not None:
        held = np.bincount(drawing.stratum)
        within, per_image = _variances(pool.correct, target.each(models), drawing.stratum)
        shown = np.round(np.bincount(drawing.stratum, pi))
        ours = float((held**2 * (1 / shown - 1 / held) * within).sum()) / count**2
    variance = np.array([per_image * (1 / n - 1 / count), ours, 0.0])
    # Of an image beyond the pool all that the pool leaves open is added.
    beyond = per_image / count
    needed = per_image / (ours + beyond) if ours + beyond > 0 else np.nan
    return pd.DataFrame(
        {
            "dataset": pool.dataset,
            "condition": pool.condition,
            "design": ["random", "chosen", "all"],
            "n_images": [n, n, count],
            "se_pool": np.sqrt(variance),
            "se_images": np.sqrt(variance + beyond),
            "trials_saved": [1.0, needed / n, np.nan],
        }
    )


def rows_of(pool: Pool, drawing: Drawing, target: Target, at: NDArray[np.intp]) -> pd.DataFrame:
    """Rows of the table of a plan for some images."""
    frame = pd.DataFrame(
        {"dataset": pool.dataset, "condition": pool.condition, "item": pool.items[at]}
    )
    if pool.truth.any():
        frame["truth"] = pool.truth[at]
    frame["inclusion"] = drawing.inclusion[at]
    frame["pool_images"] = pool.n_images
    if drawing.stratum is None:
        share = pool.correct[:, at].mean(axis=0)
        certain = drawing.inclusion[at] > 1 - 1e-9
        frame["reason"] = [
            f"{right:.0%} of models are right" + ("; tells most, always shown" if sure else "")
            for right, sure in zip(share, certain, strict=True)
        ]
        return frame
    models = target.of_strata(len(pool.models))
    right, names = pool.correct[models], [pool.models[i] for i in models]
    frame["stratum"] = _strata_names(right, names, drawing.stratum)[drawing.stratum[at]]
    frame["stratum_images"] = np.bincount(drawing.stratum)[drawing.stratum[at]]
    for column, name in zip(("model_a", "model_b"), names, strict=False):
        frame[column] = name
    if len(names) == 1:
        frame["reason"] = np.where(right[0, at], "the model is right", "the model is wrong")
    else:
        differ = right[0, at] != right[1, at]
        frame["reason"] = np.where(
            differ, "tells the two apart", "how people fare where both agree"
        )
    return frame


def _strata_names(
    right: NDArray[np.bool_], models: Sequence[str], stratum: NDArray[np.intp]
) -> NDArray[np.object_]:
    """Name of each stratum; a whole cell has no halves to name."""
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


def notes_of(pool: Pool, drawing: Drawing, several: bool) -> list[str]:
    """What people may make of the images, and what was left out."""
    notes, pi = [], drawing.inclusion
    where = f"{pool.name}: " if several else ""
    if pool.lost:
        notes.append(
            f"{pool.name}: {pool.lost} images that not every model saw are left out of the pool"
        )
    hard = pool.correct.mean(axis=0) <= 0.5
    share, usual = float(pi[hard].sum() / pi.sum()), float(hard.mean())
    if share - usual > MUCH:
        notes.append(where + HARD.format(share=share, pool=usual))
    if pool.truth.any() and drawing.classes is None:
        _, number = np.unique(pool.truth.astype(str), return_inverse=True)
        shown, equal = np.bincount(number, pi), np.bincount(number) * pi.mean()
        if ((shown > SKEWED * equal) & (shown >= SKEWED_IMAGES)).any():
            notes.append(where + CLASSES)
    return notes


N_DRAWS = 1_000
FEWEST_DESIGNS = 20
# Limits that are the truth but for rounding.
EQUAL = 1e-9


def true_contrasts(
    correct: NDArray[np.bool_], people: NDArray[np.bool_], contrasts: Floats
) -> Floats:
    """Contrasts of error consistency with the mean person, from all images."""
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
    """Each person with each model of the contrasts, and the weights of these pairs in them."""
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
    """Estimate contrasts from chosen images by weighted influence.

    Values, limits and effective numbers of images: (4, contrast).
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
    # Where all images are certain to be shown nothing is left open.
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
    """Estimate contrasts of the models that make the strata by their posterior, as `by_weights`.

    ``number`` is the stratum of each image shown, and ``held`` how many images each has.
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
    """People who find images as easy as models do, more or less."""
    own = rng.normal(size=len(ease))
    logit = 1.5 * (difficulty_correlation * ease + np.sqrt(1 - difficulty_correlation**2) * own)
    level = optimize.brentq(lambda x: special.expit(logit + x).mean() - accuracy, -30.0, 30.0)
    return np.asarray(rng.random((n_humans, len(ease))) < special.expit(logit + level))


def _tried(
    correct: NDArray[np.bool_],
    people: NDArray[np.bool_],
    contrasts: Floats,
    drawing: Drawing,
    n_designs: int,
    rng: np.random.Generator,
) -> Iterator[dict[str, Any]]:
    """Rows of known people: random sampling and the plan, by each of its estimators."""
    truth, n = true_contrasts(correct, people, contrasts), correct.shape[1]
    shown = round(float(drawing.inclusion.sum()))
    found: dict[str, list[Floats]] = {"random": [], "chosen": [], "strata": []}
    for _ in range(n_designs):
        for name, way in {"random": Drawing(np.full(n, shown / n)), "chosen": drawing}.items():
            at = way.draw(rng)
            own = correct[:, at], people[:, at]
            stratum = None if way.stratum is None else way.stratum[at]
            pi = way.inclusion[at]
            found[name].append(by_weights(*own, pi, contrasts, "pool", stratum=stratum))
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
        # Where all that matters was shown, limits are the truth but for rounding.
        inside = (lower <= truth[defined] + EQUAL) & (truth[defined] - EQUAL <= upper)
        covered = inside.mean(axis=0)
        per_image = chance / (1 / shown - 1 / n) if shown < n else np.nan
        if name == "random":
            chance, saved = square, 1.0
        else:
            saved = 1 / (square / per_image + 1 / n) / shown
        yield {
            "design": name,
            "n_images": shown,
            "effect": float(np.sqrt(np.nanmean(truth**2))),
            "rmse": float(np.sqrt(square)),
            "trials_saved": saved,
            "coverage": float(covered.mean()),
            "worst_coverage": float(covered.min()),
            "power": float(((lower > 0) | (upper < 0)).mean()),
            "starved": float((effective < FEWEST_EFFECTIVE).mean()),
        }


# Of a row of the table, as it is put together: its texts are shared, its columns are not.
TABLE_BYTES = 300
Layout = Literal["plan", "psychopy", "jspsych"]
FOR_PEOPLE = ("list", "dataset", "condition", "item", "truth")
# Other names of columns.
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
    """Choose the images that tell most about models and people, by the models' answers.

    Images on which models agree tell little of which is closer to people, and models answer
    every image for nothing. A design is made within each condition, whose difficulty would
    otherwise pass for consistency.

    Parameters
    ----------
    trials : Trials
        Answers of the models to all images that could be shown; people take no part.
    n : int
        Images to show in each condition, at least 2.
    target : str, (str, str) or sequence of (str, str)
        What is wanted of the models' consistency with people: the difference of two
        (``("A", "B")``), several differences, ``"all pairs"`` (or ``"ranking"``), or that of one
        model (``"A"``). For one or two models images are drawn by strata of their answers
        [N34]_, and have a posterior; for more by size, and are weighted [SSW92]_.
    models : str or sequence of str
        Kind of the models, or their names. All of them say how hard an image is.
    n_humans : int, optional
        Draw a separate list for each of so many people, which tells more of the mean over people
        and nothing of people among themselves. Default: one list for all.
    by_class : bool
        Draw as many of each true class as a stratum or the sizes allow.
    uniform_fraction : float, optional
        Share of the images in [0, 1] that does not hang on what they tell: ordinary ones in
        between. Default: 0.15 if images are drawn by size, otherwise 0.
    shown : collection of str
        Items that people have seen already: left out of the pool.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same plan.

    Returns
    -------
    StimulusPlan
        Join its table to the answers, `alikely.Trials.with_inclusion`; every estimate heeds it.

    Raises
    ------
    TypeError
        If `trials` is no `Trials`.
    ValueError
        If a model or an option is unknown, `n` is larger than a pool or less than its strata
        need, models answer alike, or classes are wanted and not known.

    Notes
    -----
    A design for differences makes the consistencies themselves less precise, and one for two models
    may leave too few for others; every result marks estimates from few images.

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
        raise ValueError(f"uniform_fraction must be a share in [0, 1], got {uniform_fraction!r}")
    seen = [str(item) for item in entries("shown", shown)]
    pools = pools_of(trials, models, seen)
    if by_class and not trials.has_classes:
        raise ValueError("by_class needs true classes; these trials hold correctness only")
    wanted = target_of(target, pools[0].models)
    seeds = seed_sequence(rng).spawn(len(pools))
    rows, drawings, notes, lists = [], [], _unknown(trials, seen), n_humans or 1
    if np.ndim(n) or isinstance(n, Mapping):
        raise ValueError(f"n must be one whole number of at least 2, got {n!r:.60}")
    check_whole(n, "n")
    for pool in pools:
        if n > pool.n_images:
            raise ValueError(
                f"n must be at most {pool.n_images}, the images of {pool.name} that people can "
                f"still see; got {n}"
            )
        require_apart(pool, wanted)
    check_memory(
        TABLE_BYTES * lists * n * len(pools),
        f"{lists:,} lists of {n:,} images in {len(pools):,} conditions",
        "fewer n_humans",
    )
    for pool, seed in zip(pools, seeds, strict=True):
        drawing = drawing_of(
            pool, sizes(pool.correct, wanted.contrasts), wanted, n, uniform_fraction, by_class
        )
        generator = np.random.default_rng(seed)
        for number in tracked(range(1, lists + 1), lists):
            at = generator.permutation(drawing.draw(generator))
            rows.append(rows_of(pool, drawing, wanted, at).assign(list=number))
        drawings.append(drawing)
        notes += notes_of(pool, drawing, len(pools) > 1)
    table = pd.concat(rows, ignore_index=True).sort_values("list", kind="stable", ignore_index=True)
    return StimulusPlan(
        table[["list", *table.columns.drop("list")]],
        expected_of(pools, drawings, wanted),
        wanted.text,
        tuple(dict.fromkeys(notes)),
        tuple(pools),
        tuple(drawings),
        wanted,
    )


def _unknown(trials: Trials, shown: Sequence[str]) -> list[str]:
    """A note of items that people saw and that models did not: a name may be misspelt."""
    lost = sorted(set(shown).difference(trials.data["item"].values.astype(str).tolist()))
    if not lost:
        return []
    return [f"{len(lost)} items of shown are none of these trials: {listed(lost, most=3)}"]


@dataclasses.dataclass(frozen=True)
class StimulusPlan:
    """Which images to show, with which probability each was chosen.

    Made by `alikely.planning.choose_images`.

    Attributes
    ----------
    table : pandas.DataFrame
        Images to show, in random order within a list and condition: ``list`` (who sees it, from 1),
        ``dataset, condition, item, truth`` (where known), ``inclusion``, ``pool_images``,
        ``reason``, and of plans for one or two models ``stratum, stratum_images, model_a`` and
        ``model_b``. `alikely.Trials.with_inclusion` needs nothing else, also if it is
        read from a file.
    expected : pandas.DataFrame
        For each condition and ``design`` (``random``, ``chosen``, ``all``): ``n_images``,
        ``se_pool, se_images`` (expected standard error for one person, of several contrasts their
        root mean square), ``trials_saved``. By the models alone: `simulate` knows better.
    target : str
        What it is for, in words.
    notes : tuple of str
        What was left out, and what to mind.
    """

    table: pd.DataFrame
    expected: pd.DataFrame
    target: str
    notes: tuple[str, ...]
    _pools: tuple[Pool, ...] = dataclasses.field(repr=False)
    _drawings: tuple[Drawing, ...] = dataclasses.field(repr=False)
    _target: Target = dataclasses.field(repr=False)

    @property
    def n_images(self) -> int:
        """Images that each person sees."""
        return int((self.table["list"] == 1).sum())

    def to_csv(self, path: str | Path, layout: Layout = "plan") -> Path:
        """Write the images for an experiment.

        Parameters
        ----------
        path : str or path
            File; one that stands there is replaced.
        layout : {"plan", "psychopy", "jspsych"}
            The whole `table`; a conditions file with ``item, condition, corrAns``; or
            ``stimulus, condition, correct_response``, as JSON where the name ends in ``.json``
            (``timeline_variables``). Both carry ``list``, and ``inclusion`` stays in the plan: keep
            that file, too.

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
        """Say what the plan does, as a colleague would.

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
        apart = ", drawn apart for each person" if self.table["list"].nunique() > 1 else ""
        person = "one person in one condition" if several else "one person"
        these, beyond = (_range(chosen[f"se_{name}"]) for name in ("pool", "images"))
        return (
            f"Show {self.n_images} of the {pool} images{where}{apart}. They should tell as much "
            f"about {self._target.question} (error consistency) as {round(needed)} images drawn at "
            f"random ({saved:.1f} times as many). Expected standard error of {self._target.error}, "
            f"{person}: {these} if you ask about these {pool} images only, {beyond} if about all "
            "images like them."
        )

    def precision(self, numbers: Sequence[int]) -> pd.DataFrame:
        """Compute expected standard errors of plans like this with other numbers of images.

        Parameters
        ----------
        numbers : sequence of int
            Images in each condition; those that a pool or its strata do not allow are left out.

        Returns
        -------
        pandas.DataFrame
            As `expected`.

        Raises
        ------
        ValueError
            If none is allowed.
        """
        return expected_of(self._pools, self._drawings, self._target, list(numbers))

    def sizes(self) -> pd.DataFrame:
        """Tabulate how much each image of the pool may tell.

        Returns
        -------
        pandas.DataFrame
            ``dataset, condition, item, size`` (root mean square of what an answer moves the target
            by, over people of several accuracies), ``inclusion``, ``shown`` (whether it is in the
            plan), ``right`` (share of models that are right), and of plans by strata
            ``stratum``, a number.
        """
        parts = []
        for pool, drawing in zip(self._pools, self._drawings, strict=True):
            here = (self.table["dataset"] == pool.dataset) & (
                self.table["condition"] == pool.condition
            )
            frame = pd.DataFrame(
                {
                    "dataset": pool.dataset,
                    "condition": pool.condition,
                    "item": pool.items,
                    "size": sizes(pool.correct, self._target.contrasts),
                    "inclusion": drawing.inclusion,
                    "shown": np.isin(pool.items, self.table.loc[here, "item"]),
                    "right": pool.correct.mean(axis=0),
                }
            )
            if drawing.stratum is not None:
                frame["stratum"] = drawing.stratum
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
        """Try the plan on simulated people, before money is spent.

        People find images as hard as models do to the degree `difficulty_correlation`. Intervals
        are those for the pool.

        Parameters
        ----------
        accuracy, difficulty_correlation : sequence of float
            Values of simulated people, in (0, 1) and [0, 1].
        n_humans : int
            Number of simulated people, who see the same images; the mean over them is estimated.
        n_designs : int
            Draws of the images for each, at least 20.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness.

        Returns
        -------
        pandas.DataFrame
            A row for each condition, person and ``design`` (``random``; ``chosen``, weighted;
            ``strata``, their posterior): ``accuracy, difficulty_correlation``, ``effect`` (root
            mean square of the true contrasts), ``rmse``, ``trials_saved`` against random sampling,
            ``coverage`` of 95 % intervals over all contrasts, ``worst_coverage``, ``power`` (share
            of intervals that do not hold 0), ``starved`` (share of estimates that would be
            flagged).

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        check_whole(n_designs, "n_designs", FEWEST_DESIGNS)
        check_whole(n_humans, "n_humans", 1)
        check_between(accuracy, "accuracy", "try 0.75")
        if not all(0 <= value <= 1 for value in difficulty_correlation):
            raise ValueError(
                f"difficulty_correlation must lie in [0, 1], got {list(difficulty_correlation)}"
            )
        generator, rows = np.random.default_rng(seed_sequence(rng)), []
        for pool, drawing in zip(self._pools, self._drawings, strict=True):
            place = {"dataset": pool.dataset, "condition": pool.condition}
            each, ease = self._target.each(len(pool.models)), easiness(pool.correct)
            for share, degree in itertools.product(accuracy, difficulty_correlation):
                people = simulated_people(ease, share, degree, n_humans, generator)
                known = {**place, "accuracy": share, "difficulty_correlation": degree}
                tried = _tried(pool.correct, people, each, drawing, n_designs, generator)
                rows += [{**known, **row} for row in tried]
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        lists = self.table["list"].nunique()
        head = f"<StimulusPlan: {self.n_images} images for {self.target}"
        head += f", {lists} lists>" if lists > 1 else ">"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """What notebooks show: what is expected, and notes."""
        shown = self.expected.round(4).astype(str)
        return html_of(
            repr(self).splitlines()[0][1:-1],
            shown,
            numbers=["n_images", "se_pool", "se_images", "trials_saved"],
            n_rows=len(shown),
            notes=list(self.notes),
            more="table has the images",
        )


def _range(errors: pd.Series) -> str:
    """Smallest to largest of the conditions' standard errors; one number where they print alike."""
    low, high = f"{errors.min():.3f}", f"{errors.max():.3f}"
    return low if low == high else f"{low} to {high}"


FEWEST_ITEMS = 8
# Sets of conditions drawn at random in each split.
N_RANDOM = 20
# Answers of people and models in a condition; scores of models, and the covariance of these.
type Place = tuple[NDArray[np.bool_], NDArray[np.bool_]]
type Part = tuple[Floats, Floats]


def choose_conditions(
    trials: Trials,
    n_conditions: int | None = None,
    *,
    models: str = "model",
    humans: str = "human",
    n_splits: int = 20,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Choose conditions in which error consistency with people separates models [K25]_.

    One condition after the other is added, whichever raises the separation most [NWF78]_. Whatever
    is chosen on data looks better on them than on others: the choice is repeated on random halves
    of images and people, and judged on the other halves.

    Parameters
    ----------
    trials : Trials
        Models that all took part in all conditions, and people, of whom each condition has at
        least two.
    n_conditions : int, optional
        How many to choose. Default: all, in order.
    models, humans : str
        Kinds of the observers.
    n_splits : int
        Random halves, at least 2.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        A row per condition in the order of choice: ``n`` (how many are chosen by then),
        ``condition`` (as ``dataset:condition``), ``separation`` of the models by the first n,
        ``as_early``: share of the splits in which it is among the first n, too. Of as many
        conditions: ``own``, the separation on that half of images and people that chose them;
        ``held_out``, on the other half, with ``held_out_lb, held_out_ub``, its central 95 % over
        splits; ``random``, that of as many conditions at random, there; ``gain``, held out minus
        random, with ``gain_lb, gain_ub``.

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If there are fewer than two models or conditions, a condition has fewer than two people or
        8 images, a model lacks one, a number is out of range, or images came back within a
        condition, which would be in both halves.

    Notes
    -----
    The separation of a set is the variance of the models' means over the mean variance of their
    differences, halved, for new images: how far models are apart in units of their errors,
    squared. 1 is what noise alone gives. It knows the errors of images, not those of new people. A
    model that never errs in a condition has an error consistency of 0 with everybody there, and
    no error of it: near the ceiling conditions seem to tell more than they do.

    Examples
    --------
    >>> import alikely as al
    >>> chosen = choose_conditions(al.load_example(), n_splits=4, rng=1)
    >>> chosen["condition"].tolist()
    ['all:blur', 'all:clean', 'all:noise']
    """
    of_type(trials, Trials, "make them with Trials.from_table")
    check_numbers(n_splits=n_splits)
    if n_splits < 2:
        raise ValueError(f"n_splits must be at least 2, got {n_splits}")
    refuse_repeats(trials.data, "the choice of conditions")
    places = _places(trials, models, humans)
    names = list(places)
    most = len(names) if n_conditions is None else n_conditions
    check_numbers(n_conditions=most)
    if not 1 <= most <= len(names):
        raise ValueError(f"n_conditions must be 1 to {len(names)}, got {n_conditions}")
    order, values = _greedy([_part(*place) for place in places.values()], most)
    generator = np.random.default_rng(seed_sequence(rng))
    early = np.zeros(most)
    own, held, chance = (np.full((n_splits, most), np.nan) for _ in range(3))
    for split in range(n_splits):
        halves = [_halves(place, generator) for place in places.values()]
        first, second = ([_part(*half[k]) for half in halves] for k in (0, 1))
        chosen, own[split] = _greedy(first, most)
        early += [c in chosen[: n + 1] for n, c in enumerate(order)]
        held[split] = _separations(second, chosen)
        shuffled = [generator.permutation(len(names))[:most].tolist() for _ in range(N_RANDOM)]
        chance[split] = mean_of_defined(np.array([_separations(second, s) for s in shuffled]))
    found = {"own": own, "held_out": held, "random": chance, "gain": held - chance}
    table = pd.DataFrame(
        {
            "n": np.arange(1, most + 1),
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
    """Right answers of people and models, condition by condition."""
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
            raise ValueError(f"model {lacks!r} lacks trials of {name}; leave out one")
        if people.sum() < 2 or own.shape[1] < FEWEST_ITEMS:
            raise ValueError(
                f"{name} must have at least 2 people who saw all and {FEWEST_ITEMS} images, got "
                f"{people.sum()} and {own.shape[1]}"
            )
        found[name] = own[people] == 1, own[model] == 1
    if len(found) < 2:
        raise ValueError("there must be at least two conditions to choose from")
    return found


def _part(people: NDArray[np.bool_], models: NDArray[np.bool_]) -> Part:
    """Mean error consistency of each model with the people, and its covariance over images."""
    a, b = people[:, None], models[None]
    table = np.stack([a & b, a & ~b, ~a & b, ~a & ~b], axis=-1)
    cells = table.sum(axis=2)
    score = mean_of_defined(ERROR_CONSISTENCY.value(cells))
    psi = ERROR_CONSISTENCY.influence(cells)
    each = np.einsum("hmic,hmc->hmi", table, np.nan_to_num(psi))
    # Over the people with whom it is defined.
    defined = np.maximum(np.isfinite(psi).all(axis=-1).sum(axis=0), 1)
    mean = each.sum(axis=0) / defined[:, None]
    return score, mean @ mean.T / mean.shape[1] ** 2


def _separation(parts: Sequence[Part]) -> float:
    """Spread of the models over the errors of their differences."""
    score = np.mean([part[0] for part in parts], axis=0)
    covariance = np.sum([part[1] for part in parts], axis=0) / len(parts) ** 2
    m = len(score)
    # The mean variance of a difference, halved.
    noise = np.trace(covariance) / m - (covariance.sum() - np.trace(covariance)) / (m * (m - 1))
    return float(score.var(ddof=1) / noise) if noise > 0 else np.nan


def _separations(parts: Sequence[Part], order: Sequence[int]) -> list[float]:
    """Separation by the first, the first two, ... of conditions in order."""
    return [_separation([parts[c] for c in order[: n + 1]]) for n in range(len(order))]


def _greedy(parts: Sequence[Part], most: int) -> tuple[list[int], list[float]]:
    """Conditions in order, and the separation by the first so many of them."""
    chosen: list[int] = []
    for _ in range(most):
        left = [c for c in range(len(parts)) if c not in chosen]
        gains = [_separation([parts[k] for k in (*chosen, c)]) for c in left]
        chosen.append(left[int(np.argmax(np.nan_to_num(gains, nan=-1.0)))])
    return chosen, _separations(parts, chosen)


def _halves(place: Place, generator: np.random.Generator) -> tuple[Place, Place]:
    """Two halves without a common person or image."""
    people, models = place
    h = generator.permutation(len(people))
    i = generator.permutation(models.shape[1])
    cuts = [(h[: len(h) // 2], i[: len(i) // 2]), (h[len(h) // 2 :], i[len(i) // 2 :])]
    first, second = ((people[np.ix_(p, t)], models[:, t]) for p, t in cuts)
    return first, second
