"""What the catalogue asks of a model beside its code: an example, and how it is put to the test."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from alikely.calibration.ranks import Derive, Replicate, Simulate

if TYPE_CHECKING:
    import pymc as pm

__all__ = ["N_REPLICATES", "Case"]

# Of the bootstrap, in each simulation.
N_REPLICATES = 500


class Case(NamedTuple):
    """How a model is put to the test.

    Attributes
    ----------
    example : callable
        Builds the model on the small fixed data of its card.
    design : callable
        Builds the model in the size in which it is simulated.
    simulate, quantities, derive, replicate
        As in `alikely.calibration.sbc`.
    words : str
        The design, for the card.
    n, thin
        Number of simulations, and how many draws of the chains lie between two that are ranked.
    derived : tuple of str
        Names of what `derive` adds to the quantities.
    """

    example: Callable[[], pm.Model]
    design: Callable[[], pm.Model]
    simulate: Simulate
    quantities: tuple[str, ...]
    words: str
    n: int = 200
    thin: int = 20
    derive: Derive | None = None
    derived: tuple[str, ...] = ()
    replicate: Replicate | None = None
