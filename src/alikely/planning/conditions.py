"""Which conditions tell machines apart: a greedy choice, judged on other people and images.

References
----------
.. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
   consistency: towards reliable behavioral comparison of classifiers.
   doi:10.48550/arXiv.2507.06645
.. [NWF78] Nemhauser, Wolsey, Fisher (1978). An analysis of approximations for maximizing
   submodular set functions. doi:10.1007/BF01588971
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import known_kind, of_type
from alikely._base.random import RandomState, seed_sequence
from alikely.data.repeats import refuse_repeats
from alikely.data.trials import NOT_SHOWN, Trials
from alikely.estimates.analysis import check_numbers
from alikely.inference.intervals import interval, mean_of_defined
from alikely.metrics.consistency import ERROR_CONSISTENCY

__all__ = ["choose_conditions"]

FEWEST_ITEMS = 8
# Sets of conditions drawn at random in each split.
N_RANDOM = 20
# Answers of people and machines in a condition; scores of machines, and the covariance of these.
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
    """Choose conditions in which error consistency with people separates machines [K25]_.

    One condition after the other is added, whichever raises the separation most [NWF78]_. Whatever
    is chosen on data looks better on them than on others: the choice is repeated on random halves
    of images and people, and judged on the other halves.

    Parameters
    ----------
    trials : Trials
        Machines that all took part in all conditions, and people, of whom each condition has at
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
        ``condition`` (as ``dataset:condition``), ``separation`` of the machines by the first n,
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
        If there are fewer than two machines or conditions, a condition has fewer than two people or
        8 images, a machine lacks one, a number is out of range, or images came back within a
        condition, which would be in both halves.

    Notes
    -----
    The separation of a set is the variance of the machines' means over the mean variance of their
    differences, halved, for new images: how far machines are apart in units of their errors,
    squared. 1 is what noise alone gives. It knows the errors of images, not those of new people. A
    machine that never errs in a condition has an error consistency of 0 with everybody there, and
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
    """Right answers of people and machines, condition by condition."""
    data = trials.data
    kinds = data["kind"].values.astype(str)
    known_kind("models", models, kinds)
    known_kind("humans", humans, kinds)
    machine = kinds == models
    if machine.sum() < 2:
        raise ValueError(
            f"there must be at least two observers of kind {models!r}, got {machine.sum()}"
        )
    pairs = zip(data["dataset"].values, data["condition"].values, strict=True)
    place = np.array([f"{d}:{c}" for d, c in pairs])
    found: dict[str, Place] = {}
    for name in dict.fromkeys(place.tolist()):
        own = data["correct"].values[:, place == name]
        there = (own != NOT_SHOWN).all(axis=1)
        people = there & (kinds == humans)
        if (lacking := machine & ~there).any():
            lacks = trials.observers[int(np.argmax(lacking))]
            raise ValueError(f"machine {lacks!r} lacks trials of {name}; leave out one")
        if people.sum() < 2 or own.shape[1] < FEWEST_ITEMS:
            raise ValueError(
                f"{name} must have at least 2 people who saw all and {FEWEST_ITEMS} images, got "
                f"{people.sum()} and {own.shape[1]}"
            )
        found[name] = own[people] == 1, own[machine] == 1
    if len(found) < 2:
        raise ValueError("there must be at least two conditions to choose from")
    return found


def _part(people: NDArray[np.bool_], machines: NDArray[np.bool_]) -> Part:
    """Mean error consistency of each machine with the people, and its covariance over images."""
    a, b = people[:, None], machines[None]
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
    """Spread of the machines over the errors of their differences."""
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
    people, machines = place
    h = generator.permutation(len(people))
    i = generator.permutation(machines.shape[1])
    cuts = [(h[: len(h) // 2], i[: len(i) // 2]), (h[len(h) // 2 :], i[len(i) // 2 :])]
    first, second = ((people[np.ix_(p, t)], machines[:, t]) for p, t in cuts)
    return first, second
