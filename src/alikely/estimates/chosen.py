"""What estimates of chosen images say of themselves, and their posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.blocks import blocks
from alikely.data.inclusion import SPEAKS
from alikely.estimates.doors import Ask, Drawn
from alikely.inference.influence import freedom_of
from alikely.inference.strata import strata_draws
from alikely.inference.weighted import FEWEST_EFFECTIVE
from alikely.metrics import Metric

__all__ = ["OfDesign", "design_draws", "design_remarks", "joined_notes", "of_design", "starved"]

# Of what the plan was made for, of what it was not, and where the plan does not say.
ROUGH = "its error rests on {} images: rough"
STARVED = (
    "the plan was not made for this; its error rests on {} images, and intervals may be too narrow"
)
FEW = "its error rests on {} images, and intervals may be too narrow"
# Measured (`docs/choosing.md`): of means over four people, for similar machines.
SEVERAL = (
    "of several people this posterior may be too narrow (89 % for similar machines near the "
    "ceiling): trust the analytic row"
)
CENTRE = "its interval lies about {:.3f}, the weighted value with its bias"
# A centre further away than this prints as another number.
APART = 5e-4
CHAINS = 4
STRATA = "posterior over strata"


class OfDesign(NamedTuple):
    """A weighted sum of estimates of chosen images."""

    centre: float
    df: float
    notes: dict[str, str]


def of_design(part: xr.Dataset, estimates: xr.Dataset, metric: Metric, weights: Floats) -> OfDesign:
    """Centre, freedom and notes of a weighted sum, where a plan chose the images."""
    value = float(weights @ estimates["estimate"].values)
    if "inclusion" not in part:
        return OfDesign(value, np.inf, dict.fromkeys(("analytic", "bootstrap", "posterior"), ""))
    centre = float(weights @ estimates["centre"].values)
    df, effective = (float(found[0]) for found in freedom_of(part, metric, weights[None]))
    speaks = SPEAKS[part.attrs["population"]]
    each = _made_for(part)
    few = starved(effective, None if None in each else all(each))
    weighted = f"chosen images, weighted, {speaks}"
    about = CENTRE.format(centre) if abs(centre - value) > APART else ""
    notes = {
        "analytic": joined_notes(weighted, few, about),
        "bootstrap": joined_notes(weighted, few),
        "posterior": joined_notes(f"chosen images, by strata, {speaks}", several_people(part)),
    }
    return OfDesign(centre, df, notes)


def design_remarks(table: xr.Dataset, estimates: xr.Dataset) -> NDArray[np.object_]:
    """Note of each comparison: weighting of items, target population, effective sample size."""
    how = f"chosen images, weighted, {SPEAKS[table.attrs['population']]}"
    remarks = [
        joined_notes(how, starved(value, made_for))
        for value, made_for in zip(
            estimates["effective_images"].values, _made_for(table), strict=True
        )
    ]
    return np.array(remarks, dtype=object)


def _made_for(table: xr.Dataset) -> list[bool | None]:
    """Whether the plan was made for the machines of each pair; None where it does not say."""
    settled = list(table.attrs["settled"])
    if not settled:
        return [None] * table.sizes["pair"]
    ends = np.stack([table["first"].values, table["second"].values])
    asked, known = table["asked"].values, np.isin(table["observer"].values.astype(str), settled)
    # Of two people the machines say nothing.
    made_for = (known | asked)[ends].all(axis=0) & ~asked[ends].all(axis=0)
    return [bool(own) for own in made_for]


def starved(effective: float, made_for: bool | None) -> str:
    """What to say of an estimate whose variance rests on few images; empty if on enough."""
    # Without any variance nothing is open: machines alone, or images that were all shown.
    if not effective < FEWEST_EFFECTIVE:
        return ""
    told = FEW if made_for is None else (ROUGH if made_for else STARVED)
    return told.format(f"{effective:.1f}")


def several_people(part: xr.Dataset) -> str:
    """What to say of a posterior over strata of more than one person; empty of one."""
    ends = np.concatenate([part["first"].values, part["second"].values])
    return SEVERAL if part["asked"].values[np.unique(ends)].sum() > 1 else ""


def joined_notes(*notes: str) -> str:
    """Notes that are not empty, parted by semicolons."""
    return "; ".join(filter(None, notes))


def by_strata(table: xr.Dataset) -> bool:
    """Whether every image of a stratum was as likely as any other, so that it has a posterior."""
    if "stratum" not in table:
        return False
    for block in blocks(table):
        names = table["stratum"].values[block.trials]
        for name in set(names.tolist()):
            if np.ptp(block.inclusion[names == name]) > 1e-9:
                return False
    return True


def design_draws(
    table: xr.Dataset, metric: Metric, ask: Ask, seed: np.random.SeedSequence
) -> Drawn:
    """Posterior over strata, where the plan has some; none where it weighs by size."""
    asked = ask.options.get("model") not in (None, "copying") or ask.options.get("include")
    if ask.sampler == "nuts" or ask.prior is not None or asked:
        raise ValueError(
            "images chosen by a plan have the posterior over strata, or none: leave out sampler, "
            "prior, model and include"
        )
    if not by_strata(table) or metric.counts != "correctness":
        return Drawn({})
    per_chain = -(-ask.n_draws // CHAINS)
    drawn = strata_draws(table, per_chain * CHAINS, [metric], seed)
    shape = (CHAINS, per_chain, table.sizes["pair"])
    group = xr.Dataset(
        {
            name: (("chain", "draw", "pair"), values.reshape(shape))
            for name, values in drawn.items()
        },
        coords={
            "chain": np.arange(CHAINS),
            "draw": np.arange(per_chain),
            "pair": table["pair"].values,
        },
        attrs={"sampler": "exact", "joint": int(_alike(table)), "clustered": 1},
    )
    return Drawn({"posterior": group}, model=STRATA)


def _alike(table: xr.Dataset) -> bool:
    """Whether all pairs of each group rest on the same images, or on lists drawn apart."""
    if table.attrs["lists"] > 1:
        return True
    return all(len(np.unique(block.shown(), axis=0)) == 1 for block in blocks(table))
