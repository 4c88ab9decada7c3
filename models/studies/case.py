"""Case of a generative model: an example, and the design of its calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from alikely.calibration.ranks import Likelihood, Simulate

if TYPE_CHECKING:
    import pymc as pm


# Name of the main form.
DEFAULT = "default"
# Number of simulations of another branch.
N_BRANCH = 100


def named(text: str) -> tuple[str, ...]:
    """Names separated by spaces."""
    return tuple(text.split())


class Case(NamedTuple):
    """Calibration design of a generative model."""

    example: Callable[[], pm.Model]
    design: Callable[[], pm.Model]
    simulate: Simulate
    quantities: tuple[str, ...]
    words: str
    n: int = 200
    thin: int = 20
    tune: int = 1_000
    target_accept: float = 0.95
    likelihood: Likelihood | None = None
    branches: Mapping[str, Case] = MappingProxyType({})

    def branch(self, words: str, design: Callable[[], pm.Model], **other: Any) -> Case:
        """Another form of the model; omitted fields are as in this one."""
        return self._replace(words=words, design=design, **{"n": N_BRANCH, **other})

    def of(self, branch: str) -> Case:
        """Branch with this name."""
        return self if branch == DEFAULT else self.branches[branch]

    @property
    def all_branches(self) -> tuple[str, ...]:
        """Names of all forms, this one first."""
        return (DEFAULT, *self.branches)
