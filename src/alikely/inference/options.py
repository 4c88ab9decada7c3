"""Agreement on options, as sums over weighted questions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.blocks import Block
from alikely.metrics.option_sums import OptionSums

__all__ = ["Chosen", "chosen"]


class Chosen(NamedTuple):
    """What each question adds to the sums of each pair, ready to be weighted."""

    each: Floats
    sharpness: Floats

    def sums(self, weights: NDArray[np.floating]) -> OptionSums:
        """Sums over weighted questions."""
        turned = weights.astype(np.float64).T
        return OptionSums(*((part @ turned).T for part in self.each))

    def slopes(self, derivatives: OptionSums) -> Floats:
        """Change of each pair with the weight of each question."""
        return np.asarray(np.einsum("sp,spt->pt", np.stack(derivatives), self.each))


def chosen(block: Block, soft: bool) -> Chosen:
    """Prepare the answers of a block, or the probabilities of its options."""
    if soft and not block.probability.size:
        raise ValueError(
            "these trials have no probabilities of options; add them with "
            "trials.with_probabilities(...), or compare answers by 'kappa_p_discrete'"
        )
    if not block.n_options.size:
        raise ValueError(
            "these trials do not say how many options each question had, nor is it guessed: say "
            "trials.with_options(4), or with_options('classes') for all classes"
        )
    a, b = block.a, block.b
    f = 1 / (block.n_options - 1.0)
    if soft:
        p = block.probability.astype(np.float64)
        shown = ~np.isnan(p).all(axis=2)
        p = np.where(shown[..., None], p / p.sum(axis=2, keepdims=True), 0.0)
        right = np.take_along_axis(p, block.truth[None, :, None], axis=2)[..., 0]
        own = np.einsum("nqk,nqk->nq", p, p)
        same = np.stack([(p[i] * p[j]).sum(axis=1) for i, j in zip(a, b, strict=True)])
    else:
        shown = block.response >= 0
        right = (shown & (block.response == block.truth)).astype(np.float64)
        own = shown.astype(np.float64)
        same = block.response[a] == block.response[b]
    both = (shown[a] & shown[b]).astype(np.float64)
    parts = (1.0, same, right[a], right[b], own[a], own[b], f, right[a] * right[b])
    return Chosen(np.stack([both * part for part in parts]), _sharpness(own, shown, block))


def _sharpness(own: Floats, shown: NDArray[np.bool_], block: Block) -> Floats:
    number = np.maximum(shown.sum(axis=1), 1)
    equal = (shown / block.n_options).sum(axis=1) / number
    beyond = np.where(shown, own, 0.0).sum(axis=1) / number - equal
    return np.sqrt(np.clip(beyond / np.where(equal > 0, 1 - equal, 1.0), 0.0, 1.0))
