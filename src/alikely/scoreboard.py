"""Scores of a benchmark: tables, differences, groups, ranks and ceilings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely import contrasts, ranking
from alikely._files import read_tree, write_tree
from alikely._intervals import CiKind, check_interval, interval
from alikely._random import RandomState
from alikely.ceilings import ceiled_scores
from alikely.nesting import CEILING, FEWEST_HUMANS, HUMANS, POPULATIONS
from alikely.resampling import two_factor_variance

__all__ = ["CONSENSUS", "OVERALL", "Benchmark", "Population"]

Population = Literal["images", "humans", "crossed"]
School = Literal["bootstrap", "posterior", "cohort"]

OVERALL = "overall"
CONSENSUS = ("lower", "lower_se", "upper", "upper_se")
# Up to this many the spread over humans is a rough guess.
FEW_HUMANS = 6


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Scores of machines against a group of humans.

    Attributes
    ----------
    data : xarray.DataTree
        ``estimates``: ``estimate`` (level, system), ``n_humans, n_images`` (level; humans of
        different data sets are taken for different persons; images are those of a condition, on
        average), ``undefined_entries`` (level, system), the consensus ceilings ``lower, lower_se,
        upper, upper_se`` (level), and labels of the machines (system);
        ``covariance`` (population, level, system, system_other); ``bootstrap``: ``images, humans,
        crossed`` (resample, level, system); ``posterior`` and, if asked for, ``cohort``: ``score``
        (chain, draw, level, system).
        A level is a data set, or ``overall``, the unweighted mean over data sets. Systems are the
        machines, ``human-human`` (over all data sets) and ``ceiling`` (human-human over the data
        sets that machines took part in).
    """

    data: xr.DataTree

    @property
    def estimates(self) -> xr.Dataset:
        """Point estimates by level and system."""
        return self.data["estimates"].to_dataset()

    @property
    def models(self) -> list[str]:
        """Names of the machines."""
        return [s for s in self.estimates["system"].values.tolist() if s not in (HUMANS, CEILING)]

    def covariance(self, population: Population = "crossed", level: str = OVERALL) -> xr.DataArray:
        """Analytic covariance of the scores of all systems.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What is thought of as drawn anew.
        level : str
            A data set, or ``"overall"``.

        Returns
        -------
        xarray.DataArray, dims (system, system_other)

        Raises
        ------
        ValueError
            If the population or the level is unknown.
        """
        matrix = self.data["covariance"].to_dataset()["covariance"]
        for name, value in (("population", population), ("level", level)):
            known = matrix[name].values.tolist()
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}; got {value!r}")
        return matrix.sel(population=population, level=level, drop=True)

    def summary(
        self,
        population: Population = "crossed",
        level: str | None = OVERALL,
        *,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
    ) -> pd.DataFrame:
        """Tidy table of scores, one row per level and system.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            Which population the analytic and the bootstrap interval speak for. The posterior
            speaks for new images and these humans, and is given with ``"images"`` only; that of
            the cohort model speaks for new images and a new human, and is given with
            ``"crossed"``.
        level : str or None
            A data set, ``"all"``, or None for every level.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.DataFrame
            ``level, system, estimate, se``; ``bootstrap_se`` (with ``"crossed"`` by the two-factor
            correction of `alikely.resampling.two_factor_variance`); bounds of the schools;
            for machines ``ceiled`` (score over ceiling, neither clipped nor made absolute), its
            standard error ``ceiled_se`` by the delta method and its Fieller interval; ``note``.

        Raises
        ------
        ValueError
            If an option is unknown or out of range.
        """
        ci_prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        ci_kind = self.data.attrs["ci_kind"] if ci_kind is None else ci_kind
        check_interval(ci_prob, ci_kind)
        levels = self.estimates["level"].values.tolist() if level is None else [level]
        frames = [self._level_summary(population, name, ci_prob, ci_kind) for name in levels]
        return pd.concat(frames, ignore_index=True)

    def _level_summary(
        self, population: Population, level: str, ci_prob: float, ci_kind: CiKind
    ) -> pd.DataFrame:
        matrix = self.covariance(population, level).values
        estimates = self.estimates.sel(level=level)
        value = estimates["estimate"].values
        se = np.sqrt(np.diag(matrix))
        half = special.ndtri((1 + ci_prob) / 2) * se
        percent = f"{100 * ci_prob:g}"
        frame = pd.DataFrame(
            {
                "level": level,
                "system": estimates["system"].values,
                "estimate": value,
                "se": se,
                f"analytic_ci{percent}_lb": value - half,
                f"analytic_ci{percent}_ub": value + half,
            }
        )
        schools: list[tuple[School, str]] = [("bootstrap", population)]
        if population == "images":
            schools.append(("posterior", "score"))
        if population == "crossed":
            schools.append(("cohort", "score"))
        if "bootstrap" in self.data.children:
            frame["bootstrap_se"] = self._bootstrap_se(population, level)
        for school, variable in schools:
            if school in self.data.children:
                draws = self.draws(school, variable, level)
                bounds = interval(draws, ci_prob, ci_kind)
                frame[f"{school}_{ci_kind}{percent}_lb"] = bounds[:, 0]
                frame[f"{school}_{ci_kind}{percent}_ub"] = bounds[:, 1]
        ceiling = estimates["system"].values.tolist().index(CEILING)
        ceiled = ceiled_scores(value, matrix, ceiling, ci_prob)
        machines = ~np.isin(frame["system"], [HUMANS, CEILING])
        for name, column in zip(
            ("ceiled", "ceiled_se", f"ceiled_ci{percent}_lb", f"ceiled_ci{percent}_ub"),
            ceiled.T,
            strict=True,
        ):
            frame[name] = np.where(machines, column, np.nan)
        frame["note"] = self._notes(frame, population, level, estimates, ceiled[:, 2:])
        present = np.isfinite(value) | (estimates["undefined_entries"].values > 0)
        return frame[present]

    def _bootstrap_se(self, population: Population, level: str) -> NDArray[np.float64]:
        """Standard errors from the replicates, corrected for the smallness of the samples."""
        if level == OVERALL:
            names = self.estimates["level"].values.tolist()[:-1]
            square = np.stack([self._bootstrap_se(population, name) ** 2 for name in names])
            present = np.isfinite(self.estimates["estimate"].sel(level=names).values)
            total = np.where(present, square, 0.0).sum(axis=0)
            return np.asarray(np.sqrt(total) / np.maximum(present.sum(axis=0), 1))
        estimates = self.estimates.sel(level=level)
        n_humans, n_images = int(estimates["n_humans"]), max(int(estimates["n_images"]), 2)
        v = {name: _variance(self.draws("bootstrap", name, level)) for name in POPULATIONS}
        if population != "images" and n_humans < FEWEST_HUMANS:
            return np.full(len(v["images"]), np.nan)
        if population == "crossed":
            crossed = two_factor_variance(
                v["crossed"], v["humans"], v["images"], n_humans, n_images
            )
            return np.sqrt(crossed)
        n = n_images if population == "images" else n_humans
        return np.asarray(np.sqrt(v[population] * n / (n - 1)))

    def _notes(
        self,
        frame: pd.DataFrame,
        population: Population,
        level: str,
        estimates: xr.Dataset,
        bounds: NDArray[np.float64],
    ) -> list[str]:
        n_humans = int(estimates["n_humans"])
        # The mean over data sets has the humans of all of them, but each must have enough.
        fewest = int(self.estimates["n_humans"].min()) if level == OVERALL else n_humans
        shared: list[str] = []
        if population != "images":
            if fewest < FEWEST_HUMANS:
                shared.append(f"only {fewest} humans: no statement about new ones")
            elif n_humans <= FEW_HUMANS:
                shared.append(f"only {n_humans} humans: rough")
        ceiling = float(estimates["estimate"].sel(system=CEILING))
        if ceiling <= 0:
            shared.append("the ceiling is not above 0: no share of it")
        open_ended = ceiling > 0 and bool(np.isinf(bounds).any())
        if open_ended:
            shared.append("the ceiling cannot be told from 0: a share of it may be anything")
        notes = []
        for ceiled, undefined in zip(
            frame["ceiled"], estimates["undefined_entries"].values, strict=True
        ):
            own = list(shared)
            if undefined:
                own.append(f"{int(undefined)} undefined entries left out")
            if ceiled > 1 and not open_ended:
                own.append("above the ceiling: closer to the humans than they are to each other")
            notes.append("; ".join(own))
        return notes

    def draws(self, school: School, variable: str, level: str = OVERALL) -> NDArray[np.float64]:
        """Replicates or draws of all systems at one level.

        Parameters
        ----------
        school : {"bootstrap", "posterior", "cohort"}
        variable : str
            ``images``, ``humans`` or ``crossed`` of the bootstrap; ``score`` of the others.
        level : str
            A data set, or ``"overall"``.

        Returns
        -------
        ndarray, shape (draw, system)

        Raises
        ------
        ValueError
            If the benchmark has no such draws.
        """
        if school not in self.data.children or variable not in self.data[school]:
            raise ValueError(f"this benchmark has no {school} draws of {variable!r}")
        values = self.data[school][variable].sel(level=level)
        return np.asarray(values.values, dtype=np.float64).reshape(-1, values.sizes["system"])

    def differences(
        self,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        ci_prob: float | None = None,
        rng: RandomState = None,
    ) -> pd.DataFrame:
        """Differences of all pairs of machines against the same humans.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What is thought of as drawn anew.
        level : str
            A data set, or ``"overall"``.
        ci_prob : float, optional
            As in the analysis if not given.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness of the simultaneous quantile.

        Returns
        -------
        pandas.DataFrame
            One row per pair: ``system, other, difference, se``; an interval that holds for all
            pairs at once (the quantile of the largest standardised difference under the same
            covariance); ``p_value`` of equality and ``p_value_bh``, adjusted over all pairs by
            Benjamini and Hochberg; ``note``.

        Raises
        ------
        ValueError
            If an option is unknown or out of range, or fewer than two machines have a score.
        """
        ci_prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        check_interval(ci_prob, "eti")
        return contrasts.pairwise_differences(*self._scores(population, level), ci_prob, rng)

    def group_differences(
        self,
        groups: str | Mapping[str, str],
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        ci_prob: float | None = None,
        rng: RandomState = None,
    ) -> pd.DataFrame:
        """Differences between mean scores of groups of machines, such as families.

        Parameters
        ----------
        groups : str or mapping of str to str
            A label of the observers (such as ``"family"``), or the group of each machine.
        population, level, ci_prob, rng
            As in `differences`.

        Returns
        -------
        pandas.DataFrame
            As from `differences`, with groups for systems.

        Raises
        ------
        ValueError
            If the label or a machine is unknown, there are fewer than two groups, or as in
            `differences`.
        """
        ci_prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        check_interval(ci_prob, "eti")
        names, values, matrix = self._scores(population, level)
        means = contrasts.group_means(names, values, matrix, self._groups(groups, names))
        return contrasts.pairwise_differences(*means, ci_prob, rng)

    def equality(
        self,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
        small_sample: bool = False,
    ) -> contrasts.EqualityTest:
        """Test whether all machines (or groups of them) have the same score.

        Parameters
        ----------
        population, level
            As in `differences`.
        groups : str or mapping of str to str, optional
            As in `group_differences`.
        small_sample : bool
            Hotelling's test, with the number of humans (for new images alone: of images of a
            condition) for that of independent units; else the chi-square test.

        Returns
        -------
        alikely.contrasts.EqualityTest

        Raises
        ------
        ValueError
            As in `alikely.contrasts.equality_test` and `group_differences`.
        """
        names, values, matrix = self._scores(population, level)
        if groups is not None:
            _, values, matrix = contrasts.group_means(
                names, values, matrix, self._groups(groups, names)
            )
        unit = "n_images" if population == "images" else "n_humans"
        n_units = int(self.estimates[unit].sel(level=level)) if small_sample else None
        return contrasts.equality_test(values, matrix, n_units)

    def correlations(self, *, ci_prob: float | None = None) -> pd.DataFrame:
        """Do data sets rank the machines alike? Spearman correlations of all pairs of data sets.

        Parameters
        ----------
        ci_prob : float, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.DataFrame
            As from `alikely.ranking.rank_correlations`, over new images.

        Raises
        ------
        ValueError
            If the benchmark has no bootstrap, or as in `alikely.ranking.rank_correlations`.
        """
        levels = self.estimates["level"].values.tolist()[:-1]
        systems = self.estimates["system"].values.tolist()
        chosen = [systems.index(name) for name in self.models]
        replicates = [self.draws("bootstrap", "images", name)[:, chosen] for name in levels]
        return ranking.rank_correlations(
            levels,
            self.estimates["estimate"].sel(level=levels, system=self.models).values,
            np.stack(replicates, axis=1),
            float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob,
        )

    def stability(self, population: Population = "images") -> NDArray[np.float64]:
        """Kendall's tau between the ranking and that of each bootstrap replicate.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What was resampled.

        Returns
        -------
        ndarray, shape (replicate,)
            In [-1, 1].

        Raises
        ------
        ValueError
            If the benchmark has no bootstrap, or as in `alikely.ranking.kendall_tau`.
        """
        systems = self.estimates["system"].values.tolist()
        chosen = [systems.index(name) for name in self.models]
        estimates = self.estimates["estimate"].sel(level=OVERALL, system=self.models).values
        return ranking.kendall_tau(estimates, self.draws("bootstrap", population)[:, chosen])

    def ceilings(self, population: Population = "crossed") -> pd.DataFrame:
        """Human-human scores and consensus bounds of every level, tested against 0.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What is thought of as drawn anew in ``se`` and ``p_value``; errors of the consensus
            ceilings speak for new images and these humans.

        Returns
        -------
        pandas.DataFrame
            One row per level: ``level, n_humans, estimate, se, p_value`` (one-sided, of a ceiling
            of 0), ``lower, lower_se, upper, upper_se`` as from
            `alikely.ceilings.consensus_ceilings` (NaN with fewer than 3 humans).

        Raises
        ------
        ValueError
            If the population is unknown.
        """
        estimates = self.estimates
        levels = estimates["level"].values.tolist()
        own = {"system": HUMANS, "system_other": HUMANS}
        se = [np.sqrt(float(self.covariance(population, name).sel(own))) for name in levels]
        value = estimates["estimate"].sel(system=HUMANS).values
        frame = pd.DataFrame(
            {
                "level": levels,
                "n_humans": estimates["n_humans"].values,
                "estimate": value,
                "se": se,
                "p_value": special.ndtr(-value / np.asarray(se)),
            }
        )
        for name in CONSENSUS:
            frame[name] = estimates[name].values
        return frame

    def _scores(
        self, population: Population, level: str
    ) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
        """Machines with a score and an error, their scores and covariance."""
        matrix = self.covariance(population, level)
        known = [m for m in self.models if np.isfinite(matrix.sel(system=m, system_other=m))]
        if len(known) < 2:
            raise ValueError(
                f"differences need two machines with a score and its error, got {len(known)} at "
                f"level {level!r} for population {population!r}"
            )
        values = self.estimates["estimate"].sel(level=level, system=known).values
        return known, values, matrix.sel(system=known, system_other=known).values

    def _groups(self, groups: str | Mapping[str, str], names: list[str]) -> Mapping[str, str]:
        if not isinstance(groups, str):
            return groups
        labels = self.estimates.coords
        known = [str(c) for c in labels if labels[c].dims == ("system",) and c != "system"]
        if groups not in known:
            raise ValueError(
                f"groups must be a mapping or a label of the observers "
                f"({', '.join(known) or 'they have none'}), got {groups!r}"
            )
        return dict(zip(names, labels[groups].sel(system=names).values.tolist(), strict=True))

    def save(self, path: str | Path) -> None:
        """Write the benchmark to a netCDF file.

        Parameters
        ----------
        path : str or path
            File to write; one that exists is replaced.
        """
        write_tree(self.data, path)

    @classmethod
    def load(cls, path: str | Path) -> Benchmark:
        """Read a benchmark that `save` wrote.

        Parameters
        ----------
        path : str or path
            netCDF file.

        Returns
        -------
        Benchmark

        Raises
        ------
        ValueError
            If the file is missing or holds no benchmark of this package.
        """
        tree = read_tree(path)
        if "covariance" not in tree.children:
            raise ValueError(f"{str(path)!r} holds no benchmark; write one with Benchmark.save")
        return cls(tree)

    def ranks(
        self, population: Population = "crossed", *, ci_prob: float | None = None,
        rng: RandomState = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Ranking of the machines with confidence sets that admit ties.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What is thought of as drawn anew.
        ci_prob : float, optional
            As in the analysis if not given.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness.

        Returns
        -------
        pandas.DataFrame
            As from `alikely.ranking.rank_sets`.

        Raises
        ------
        ValueError
            As in `alikely.ranking.rank_sets`.
        """
        models = self.models
        matrix = self.covariance(population).sel(system=models, system_other=models)
        estimates = self.estimates["estimate"].sel(level=OVERALL, system=models)
        return ranking.rank_sets(
            estimates.values,
            matrix.values,
            models,
            ci_prob=float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob,
            rng=rng,
        )


def _variance(draws: NDArray[np.float64]) -> NDArray[np.float64]:
    """Variance of the defined replicates of each system; NaN for a system without any."""
    defined = np.isfinite(draws)
    n = np.maximum(defined.sum(axis=0), 1)
    centred = np.where(defined, draws - np.where(defined, draws, 0).sum(axis=0) / n, 0)
    return np.where(defined.any(axis=0), (centred**2).sum(axis=0) / n, np.nan)
