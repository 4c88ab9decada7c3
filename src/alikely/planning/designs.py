"""Which images are drawn, with which probability: strata for few machines, sizes for many.

The size of an image is how far an answer to it may move the target. It is known from the answers of
the machines before anybody is tested.

References
----------
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [N34] Neyman (1934). On the two different aspects of the representative method.
   doi:10.2307/2342192
.. [M49] Madow (1949). On the theory of systematic sampling, II. doi:10.1214/aoms/1177729988
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely.data.inclusion import BETWEEN
from alikely.planning.pools import Pool, Target

__all__ = [
    "NO_STRATA",
    "Drawing",
    "Strata",
    "allocation",
    "drawing_of",
    "easiness",
    "effects",
    "expected_of",
    "fewest_images",
    "lacks_room",
    "notes_of",
    "probabilities",
    "rows_of",
    "sizes",
    "strata_of",
    "systematic",
]

# What people might be like. One guess can be worse than chance sampling; the mean over these is
# not.
ACCURACIES = (0.5, 0.65, 0.8, 0.92)
CONSISTENCIES = (0.1, 0.35)
# Machines that are all right, or all wrong, leave an image this far from certain.
MARGIN = 0.05
# Images taken at a time: bounds the memory of the influences of many machines.
CHUNK = 4_096
# Fewest images of a stratum that is split in two, and fewest of one that are shown.
FEWEST_TO_SPLIT, FEWEST = 16, 4
# Proportion of the trials that are spread evenly, whatever the sizes say.
EVEN = 0.15
NO_STRATA = np.empty(0, dtype=np.intp)
HARD = (
    "people see {share:.0%} images that half of the machines or more get wrong ({pool:.0%} of the "
    "pool): they may expect hard ones and grow careful or tired; even=0.3 mixes in ordinary ones"
)
CLASSES = "classes are not as frequent as in the pool; by_class=True balances them"
# From here on a share of hard images is worth a note.
MUCH = 0.1
# Likewise a class: by so many times what equal drawing gives, and so many images; in fewer nobody
# sees the difference from chance.
SKEWED, SKEWED_IMAGES = 2.0, 20


def easiness(correct: NDArray[np.bool_]) -> Floats:
    """How easy an image seems, from the machines: standardized logit of their accuracy."""
    share = correct.mean(axis=0)
    logit = np.log((share + MARGIN) / (1 + MARGIN - share))
    spread = logit.std()
    # Equal logits differ by rounding.
    return np.asarray((logit - logit.mean()) / spread if spread > 1e-9 else np.zeros_like(logit))


def effects(shares: Floats, accuracy: float, consistency: float) -> tuple[Floats, Floats]:
    """Influence of an answer on each machine's error consistency with a person, at a guess."""
    right = np.array([[0.0], [1.0]])
    p, h = np.asarray(shares)[None, :], accuracy
    chance = p * h + (1 - p) * (1 - h)
    agreement = consistency * (1 - chance) + chance
    # A machine that is always right or always wrong has a chance of 1 only with a person who is.
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


class Strata(NamedTuple):
    """Groups of images that some machines answered alike."""

    number: NDArray[np.intp]
    machines: tuple[int, ...]
    right: NDArray[np.bool_]
    hard: NDArray[np.intp]


def strata_of(correct: NDArray[np.bool_], machines: Sequence[int]) -> Strata:
    """Cells of machines' correctness; of one or two machines in an easier and a harder half."""
    ease = easiness(correct)
    used = tuple(machines)
    place = 1 << np.arange(len(used))[::-1]
    cell = place @ correct[list(used)].astype(np.intp)
    half = np.zeros(len(cell), dtype=np.intp)
    for number in np.unique(cell):
        own = np.flatnonzero(cell == number)
        if len(own) >= FEWEST_TO_SPLIT and len(used) <= 2:
            # By rank, so that halves are equal however many images tie.
            order = np.argsort(-ease[own], kind="stable")
            half[own[order[(len(own) + 1) // 2 :]]] = 1
    kinds, number_of = np.unique(2 * cell + half, return_inverse=True)
    return Strata(number_of, used, (kinds // 2 & place[:, None]) > 0, kinds % 2)


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
            f"strata of answers that these machines give; got {n}"
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


def probabilities(size: Floats, n: int, even: float = EVEN) -> Floats:
    """Inclusion probabilities in proportion to size, with a share spread evenly."""
    count, telling = len(size), int((size > 0).sum())
    if not telling:
        return np.full(count, n / count)
    base = even * n / count
    if telling + base * (count - telling) < n:
        # All that tell are certain to be shown, and leave room for others.
        return np.where(size > 0, 1.0, (n - telling) / max(count - telling, 1))
    more = _multiple(size / size.sum() * n, np.zeros(count), np.full(count, 1 - base), n - even * n)
    return np.asarray(base + more)


def systematic(
    probability: Floats, rng: np.random.Generator, classes: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """Draw images systematically, in random order [M49]_; class by class if these are given."""
    if classes is None:
        order = rng.permutation(len(probability))
    else:
        # Neighbors are seldom drawn.
        place = rng.permutation(int(classes.max(initial=0)) + 1)
        order = np.lexsort((rng.random(len(classes)), place[classes]))
    edges = np.cumsum(probability[order])
    n = round(float(edges[-1]))
    # Rounding must not lose the last image.
    edges *= n / edges[-1]
    at = np.searchsorted(edges, np.arange(n) + rng.random(), side="right")
    return np.sort(order[np.minimum(at, len(order) - 1)])


class Drawing(NamedTuple):
    """How images of a pool are drawn."""

    inclusion: Floats
    strata: Strata | None = None
    shown: NDArray[np.intp] = NO_STRATA
    classes: NDArray[np.intp] | None = None
    even: float | None = None

    def draw(self, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw positions of images, ascending."""
        if self.strata is None:
            return systematic(self.inclusion, rng, self.classes)
        number = self.strata.number
        if self.classes is None:
            order = np.lexsort((rng.random(len(number)), number))
            starts = np.concatenate([[0], np.cumsum(np.bincount(number))[:-1]])
            rank = np.arange(len(number)) - starts[number[order]]
            return np.sort(order[rank < self.shown[number[order]]])
        parts = []
        for g in np.flatnonzero(self.shown):
            own = np.flatnonzero(number == g)
            parts.append(own[systematic(self.inclusion[own], rng, self.classes[own])])
        return np.sort(np.concatenate(parts))


def lacks_room(pool: Pool, target: Target, n: int) -> bool:
    """Whether the strata of a target need more images than are shown."""
    if not target.settled:
        return False
    return fewest_images(strata_of(pool.correct, target.settled).number) > n


def drawing_of(
    pool: Pool, size: Floats, target: Target, n: int, even: float | None, by_class: bool
) -> Drawing:
    """Design of one pool: strata where few machines make them, else by sizes."""
    classes = np.unique(pool.truth.astype(str), return_inverse=True)[1] if by_class else None
    if not target.settled:
        if even == 0 and not size.all():
            raise ValueError(
                f"even must be above 0: {int((size == 0).sum())} images of {pool.name} tell "
                "nothing of the target and would never be shown, whatever else is asked later"
            )
        inclusion = probabilities(size, n, EVEN if even is None else even)
        return Drawing(inclusion, classes=classes, even=even)
    strata = strata_of(pool.correct, target.settled)
    # Spread evenly over the pool: as if each image had at least that size.
    mixed = size if not even else np.sqrt((1 - even) * size**2 + even * np.mean(size**2))
    shown = allocation(strata.number, mixed, n)
    inclusion = (shown / np.bincount(strata.number))[strata.number]
    return Drawing(inclusion, strata, shown, classes, even)


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
        least = 2 if drawing.strata is None else fewest_images(drawing.strata.number)
        for n in numbers:
            if least <= n <= pool.n_images:
                by_class = drawing.classes is not None
                other = drawing_of(pool, size, target, n, drawing.even, by_class)
                tables.append(_expected(pool, size, target, other))
    if not tables:
        raise ValueError(
            f"none of these numbers of images is one that a pool and its strata allow: {numbers}"
        )
    return pd.concat(tables, ignore_index=True)


def _expected(pool: Pool, size: Floats, target: Target, drawing: Drawing) -> pd.DataFrame:
    """Standard errors of random sampling, the design and all images, from the machines alone."""
    count, machines, pi = pool.n_images, len(pool.machines), drawing.inclusion
    n = round(float(pi.sum()))
    # Of all pairs sizes sum over machines, each against their mean.
    many = 2 / (machines - 1) if target.contrasts is None else 1 / len(target.contrasts)
    square = size**2 * many
    per_image = float(square.mean())
    ours = float((square * (1 - pi) / pi).sum()) / count**2
    if drawing.strata is not None:
        number = drawing.strata.number
        held = np.bincount(number)
        within, per_image = _variances(pool.correct, target.each(machines), number)
        ours = float((held**2 * (1 / drawing.shown - 1 / held) * within).sum()) / count**2
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


def rows_of(pool: Pool, drawing: Drawing, at: NDArray[np.intp]) -> pd.DataFrame:
    """Rows of the table of a plan for some images."""
    frame = pd.DataFrame(
        {"dataset": pool.dataset, "condition": pool.condition, "item": pool.items[at]}
    )
    if pool.truth.any():
        frame["truth"] = pool.truth[at]
    frame["inclusion"] = drawing.inclusion[at]
    frame["pool_images"] = pool.n_images
    strata = drawing.strata
    if strata is None:
        share = pool.correct[:, at].mean(axis=0)
        certain = drawing.inclusion[at] > 1 - 1e-9
        frame["reason"] = [
            f"{right:.0%} of machines are right" + ("; tells most, always shown" if sure else "")
            for right, sure in zip(share, certain, strict=True)
        ]
        return frame
    machines = [pool.machines[i] for i in strata.machines]
    # A whole cell has no halves to name.
    split = (strata.right[:, :, None] == strata.right[:, None, strata.hard == 1]).all(axis=0)
    half = np.array(["", ", easier half", ", harder half"])[split.any(axis=1) * (1 + strata.hard)]
    names = [
        ", ".join(f"{m} {'right' if r else 'wrong'}" for m, r in zip(machines, row, strict=True))
        + h
        for row, h in zip(strata.right.T, half, strict=True)
    ]
    own = strata.number[at]
    frame["stratum"] = [names[g] for g in own]
    frame["stratum_images"] = np.bincount(strata.number)[own]
    for column, name in zip(BETWEEN, machines, strict=False):
        frame[column] = name
    if len(machines) == 1:
        what = ("the machine is right", "the machine is wrong")
        frame["reason"] = np.where(strata.right[0, own], *what)
        return frame
    some, all_ = ("the two apart", "both") if len(machines) == 2 else ("some of them apart", "all")
    differ = (strata.right != strata.right[:1]).any(axis=0)[own]
    frame["reason"] = np.where(differ, f"tells {some}", f"how people fare where {all_} agree")
    return frame


def notes_of(pool: Pool, drawing: Drawing, several: bool) -> list[str]:
    """What people may make of the images, and what was left out."""
    notes, pi = [], drawing.inclusion
    where = f"{pool.name}: " if several else ""
    if pool.lost:
        notes.append(
            f"{pool.name}: {pool.lost} images that not every machine saw are left out of the pool"
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
