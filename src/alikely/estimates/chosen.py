"""What estimates of chosen images say of themselves, and their posterior."""

from __future__ import annotations

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely.data.blocks import blocks
from alikely.data.inclusion import SPEAKS
from alikely.estimates.doors import Ask, Drawn
from alikely.inference.strata import strata_draws
from alikely.inference.weighted import FEWEST_EFFECTIVE
from alikely.metrics import Metric

__all__ = ["STARVED", "design_draws", "design_remarks", "joined_notes", "several_people", "starved"]

STARVED = "the design starves this: its error rests on {} images, and intervals may be too narrow"
# Measured (`docs/choosing.md`): of means over four people, for similar machines.
SEVERAL = "of several people this posterior covers 89 % where it says 95 %: trust the analytic row"
CHAINS = 4
STRATA = "posterior over strata"


def design_remarks(table: xr.Dataset, estimates: xr.Dataset) -> NDArray[np.object_]:
    """Note of each entry: how its images were weighed, for whom it speaks, whether it is starved.

    Parameters
    ----------
    table : xarray.Dataset
        Count table with ``inclusion``.
    estimates : xarray.Dataset
        With ``effective_images`` (pair).

    Returns
    -------
    ndarray of str, shape (pair,)
    """
    how = f"chosen images, weighted, {SPEAKS[table.attrs['population']]}"
    effective = estimates["effective_images"].values
    return np.array([joined_notes(how, starved(value)) for value in effective], dtype=object)


def starved(effective: float) -> str:
    """What to say of an estimate whose variance rests on few images; empty if on enough."""
    # Without any variance nothing is open: machines alone, or images that were all shown.
    if not effective < FEWEST_EFFECTIVE:
        return ""
    return STARVED.format(f"{effective:.1f}")


def several_people(part: xr.Dataset) -> str:
    """What to say of a posterior over strata of more than one person; empty of one."""
    if "inclusion" not in part:
        return ""
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
    if ask.sampler == "nuts" or ask.prior or ask.log_likelihood or asked:
        raise ValueError(
            "images chosen by a plan have the posterior over strata, or none: leave out sampler, "
            "prior, model, include and log_likelihood"
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
