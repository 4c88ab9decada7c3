"""What to mind of a plan of images: hard ones, classes, and what was left out."""

from __future__ import annotations

import numpy as np

from alikely.planning.pools import Pool
from alikely.planning.rehearsal import Drawing
from alikely.planning.sizes import AIMS
from alikely.planning.targets import Target

__all__ = ["notes_of"]

HARD = (
    "people see {share:.0%} images that half of the machines or more get wrong ({pool:.0%} of the "
    "pool): they may expect hard ones and grow careful or tired; even=0.3 mixes in ordinary ones"
)
CLASSES = "classes are not as frequent as in the pool; by_class=True balances them"
# From here on a share of hard images is worth a word.
MUCH = 0.1
# Likewise a class: by so many times what equal drawing gives, and so many images; in fewer nobody
# sees the difference from chance.
SKEWED, SKEWED_IMAGES = 2.0, 20
# Joint errors that agreement of wrong answers should be based on.
FLOOR = 20


def notes_of(pool: Pool, drawing: Drawing, target: Target, metric: str, several: bool) -> list[str]:
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
    if pool.truth.any():
        _, number = np.unique(pool.truth.astype(str), return_inverse=True)
        shown = np.bincount(number, pi)
        equal = np.bincount(number) * pi.mean()
        many = (shown > SKEWED * equal) & (shown >= SKEWED_IMAGES)
        if many.any() and drawing.classes is None:
            notes.append(where + CLASSES)
    if AIMS[metric] is None:
        errors = ~pool.correct[np.flatnonzero(target.each(len(pool.machines)).any(axis=0))]
        # People who err as often as the machines do on average.
        joint = ((pi * (1 - pool.correct.mean(axis=0))) * errors).sum(axis=1)
        if joint.min() < FLOOR:
            notes.append(
                f"{pool.name}: about {joint.min():.0f} images that both get wrong, and agreement "
                f"of wrong answers should rest on {FLOOR}; show more"
            )
    return notes
