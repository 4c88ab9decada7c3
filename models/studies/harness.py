"""Common harness of the studies of this repository.

A scenario simulates data with known true values, a public function is called, and the coverage of
its intervals is checked [MWC19]_, with tests adjusted for the number of scenarios [H79]_.

References
----------
.. [H79] Holm (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal
   of Statistics 6, 65-70.
.. [MWC19] Morris, White, Crowther (2019). Using simulation studies to evaluate statistical methods.
   doi:10.1002/sim.8086
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from alikely._base.random import RandomState
from alikely.calibration.studies import run_study

# Nominal coverage that is tested.
PROMISED = 0.93
Rows = list[dict[str, Any]]


class Study(NamedTuple):
    """Scenarios, and a function that simulates and checks their data sets.

    ``block`` takes a scenario, the numbers of its data sets, ``seed`` and the options, and returns
    rows. ``size`` is the number of data sets in one call, 0 for all. Rows are summarized by
    scenario and ``keys`` (coverage, median width and ``means``), or by ``table``.
    """

    name: str
    block: Callable[..., Rows]
    scenarios: Mapping[str, Any]
    keys: tuple[str, ...] = ()
    size: int = 1
    n_datasets: int = 200
    options: Mapping[str, Any] = MappingProxyType({})
    means: tuple[str, ...] = ()
    table: Callable[[pd.DataFrame], pd.DataFrame] | None = None

    def run(
        self,
        n_datasets: int | None = None,
        scenarios: Mapping[str, Any] | Sequence[str] | None = None,
        *,
        cache_dir: str | Path | None = None,
        rng: RandomState = None,
        **options: Any,
    ) -> pd.DataFrame:
        """Simulate data sets of all scenarios, of named ones, or of others of the same kind."""
        n = self.n_datasets if n_datasets is None else n_datasets
        size = self.size or n
        if n < 1 or n % size:
            raise ValueError(f"n_datasets must be a multiple of {size}, got {n}")
        if unknown := sorted(set(options) - set(self.options)):
            known = ", ".join(self.options) or "none"
            raise ValueError(f"options of {self.name} are {known}; got {unknown[0]!r}")
        chosen = self.scenarios if scenarios is None else scenarios
        if not isinstance(chosen, Mapping):
            if odd := [name for name in chosen if name not in self.scenarios]:
                raise ValueError(
                    f"scenarios of {self.name} are {', '.join(self.scenarios)}; got {odd[0]!r}"
                )
            chosen = {name: self.scenarios[name] for name in chosen}
        # The setting identifies a folder of finished cells.
        cells = [
            {"study": self.name, "scenario": name, "setting": repr(setting), "start": start,
             "number": size, "options": {**self.options, **options}}
            for name, setting in chosen.items()
            for start in range(0, n, size)
        ]  # fmt: skip
        cell = functools.partial(_cell, self.block, dict(chosen))
        table = run_study(cell, cells, cache_dir, rng=rng)
        return table.drop(columns=["study", "setting", "start", "number", "options"])

    def summary(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Summarize rows of `run`."""
        if self.table is not None:
            return self.table(rows)
        return summarized(rows, ("scenario", *self.keys), self.means)


def _cell(
    block: Callable[..., Rows],
    scenarios: Mapping[str, Any],
    scenario: str,
    start: int,
    number: int,
    options: Mapping[str, Any],
    seed: np.random.SeedSequence,
    **_known_by: str,
) -> Rows:
    return block(scenarios[scenario], range(start, start + number), seed=seed, **options)


def checked(
    truth: Any,
    lower: Any,
    upper: Any,
    estimate: Any = np.nan,
    *,
    together: bool = False,
    rounding: float = 0.0,
) -> dict[str, float]:
    """Coverage of intervals (of all together, or as a proportion), mean width and error."""
    truth, lower, upper, estimate = (np.asarray(x, float) for x in (truth, lower, upper, estimate))
    inside = (lower - rounding <= truth) & (truth <= upper + rounding)
    return {
        "covered": float(inside.all() if together else inside.mean()),
        "width": float((upper - lower).mean()),
        "squared_error": float(((estimate - truth) ** 2).mean()),
        "bias": float((estimate - truth).mean()),
    }


def summarized(
    rows: pd.DataFrame,
    keys: Sequence[str],
    means: Sequence[str] = (),
    p_short: Callable[[pd.Series], float] | None = None,
) -> pd.DataFrame:
    """Summarize rows by keys: coverage with its Monte Carlo error, median width, and means."""
    by = rows.groupby(list(keys), sort=False)
    n, covered = by.size(), by["covered"]
    table = pd.DataFrame({"n_datasets": n, "coverage": covered.mean()})
    table["coverage_mcse"] = np.sqrt(covered.var(ddof=0) / n)
    if p_short is not None:
        table["p_short"] = covered.agg(p_short).groupby("method").transform(adjusted)
    table["width"] = by["width"].median()
    return table.assign(**{name: by[name].mean() for name in means}).reset_index()


def of_claims(rows: pd.DataFrame, edges: Sequence[float]) -> pd.DataFrame:
    """Summarize the proportion of correct claims by their probability; errors over data sets."""
    names = [f"{a:g} to {min(b, 1):g}".replace("0.", ".") for a, b in itertools.pairwise(edges)]
    found = rows.assign(bin=pd.cut(rows["claimed"], list(edges), labels=names, right=False))
    found = found.dropna(subset="bin").assign(excess=found["right"] - found["claimed"])
    keys = [key for key in ("scenario", "population", "bin") if key in found]
    by = found.groupby(keys, sort=False, observed=True)
    sums = found.groupby([*keys, "set"], sort=False, observed=True)["excess"].sum()
    # Ratio of sums over data sets.
    spread = np.sqrt((sums**2).groupby(keys, sort=False, observed=True).sum())
    table = pd.DataFrame({"n": by.size()} | {k: by[k].mean() for k in ("claimed", "right")})
    return table.assign(right_mcse=spread / by.size()).reset_index()


def adjusted(p: pd.Series) -> pd.Series:
    """Adjust p-values for multiple testing [H79]_."""
    # Imported here, because only this function uses it.
    from statsmodels.stats.multitest import multipletests

    return pd.Series(multipletests(p, method="holm")[1], p.index)


def short_counts(covered: pd.Series) -> float:
    """Compute the p-value of a number of covering intervals at nominal coverage."""
    return float(stats.binom.cdf(covered.sum(), len(covered), PROMISED))


def short_shares(covered: pd.Series) -> float:
    """Compute the p-value of proportions of covering intervals, for several in each data set."""
    if covered.nunique() == 1:
        return float(covered.iloc[0] >= PROMISED)
    return float(stats.ttest_1samp(covered, PROMISED, alternative="less").pvalue)
