"""Benchmarks: one score per machine, its ceiling, and what new images and new humans would do.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [CGM11] Cameron, Gelbach, Miller (2011). Robust inference with multiway clustering.
   doi:10.1198/jbes.2010.07136
.. [ES81] Efron, Stein (1981). The jackknife estimate of variance. doi:10.1214/aos/1176345462
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely import ranking
from alikely._files import read_tree, write_tree
from alikely._intervals import CiKind, check_interval, interval
from alikely._random import RandomState, seed_sequence
from alikely.ceilings import ceiled_scores
from alikely.conjugate import joint_draws
from alikely.datasets import normalise_condition
from alikely.metrics import ERROR_CONSISTENCY
from alikely.nesting import (
    CEILING,
    FEWEST_HUMANS,
    HUMANS,
    POPULATIONS,
    covariances,
    nested_scores,
    parts_of,
    require_balance,
    undefined_entries,
    with_overall,
)
from alikely.resampling import bootstrap
from alikely.tables import joint_correctness
from alikely.trials import Trials

__all__ = ["EXCLUSIONS", "Benchmark", "benchmark_scores", "exclude_conditions"]

Population = Literal["images", "humans", "crossed"]
Exclusions = Mapping[str, Sequence[str]]

OVERALL = "overall"
# Up to this many the spread over humans is a rough guess.
FEW_HUMANS = 6

# Conditions that the model-vs-human benchmark leaves out of its scores: undistorted ones, where
# humans make no errors to be consistent with, and those at chance [G21]_.
EXCLUSIONS: dict[str, Exclusions] = {
    "model-vs-human": {
        "colour": ["cr"],
        "contrast": ["c100", "c03", "c01"],
        "high-pass": ["inf", "0.55", "0.45", "0.4"],
        "low-pass": ["0", "15", "40"],
        "phase-scrambling": ["0", "150", "180"],
        "power-equalisation": ["0"],
        "false-colour": ["true"],
        "rotation": ["0"],
        "eidolonI": ["1-10-10", "64-10-10", "128-10-10"],
        "eidolonII": ["1-3-10", "32-3-10", "64-3-10", "128-3-10"],
        "eidolonIII": ["1-0-10", "16-0-10", "32-0-10", "64-0-10", "128-0-10"],
        "uniform-noise": ["0", "0.6", "0.9"],
    }
}


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Scores of machines against a group of humans.

    Attributes
    ----------
    data : xarray.DataTree
        ``estimates``: ``estimate`` (level, system), ``n_humans`` (level; humans of different
        data sets are taken for different persons), ``undefined_entries`` (level, system);
        ``covariance`` (population, level, system, system_other); ``bootstrap``: ``images, humans,
        crossed`` (resample, level, system); ``posterior``: ``score`` (chain, draw, level, system).
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
            speaks for new images and these humans, and is given with ``"images"`` only.
        level : str or None
            A data set, ``"all"``, or None for every level.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.DataFrame
            ``level, system, estimate, se``; bounds of the schools; for machines ``ceiled`` (score
            over ceiling, neither clipped nor made absolute), its standard error ``ceiled_se`` by
            the delta method and its Fieller interval; ``note``.

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
        schools: list[tuple[Literal["bootstrap", "posterior"], str]] = [("bootstrap", population)]
        if population == "images":
            schools.append(("posterior", "score"))
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
        frame["note"] = self._notes(frame, population, level, estimates)
        present = np.isfinite(value) | (estimates["undefined_entries"].values > 0)
        return frame[present]

    def _notes(
        self, frame: pd.DataFrame, population: Population, level: str, estimates: xr.Dataset
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
        notes = []
        for ceiled, undefined in zip(
            frame["ceiled"], estimates["undefined_entries"].values, strict=True
        ):
            own = list(shared)
            if undefined:
                own.append(f"{int(undefined)} undefined entries left out")
            if ceiled > 1:
                own.append("above the ceiling: closer to the humans than they are to each other")
            notes.append("; ".join(own))
        return notes

    def draws(
        self, school: Literal["bootstrap", "posterior"], variable: str, level: str = OVERALL
    ) -> NDArray[np.float64]:
        """Replicates or draws of all systems at one level.

        Parameters
        ----------
        school : {"bootstrap", "posterior"}
        variable : str
            ``images``, ``humans`` or ``crossed`` of the bootstrap; ``score`` of the posterior.
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
        matrix = self.covariance(population, level)
        estimates = self.estimates["estimate"].sel(level=level)
        known = [m for m in self.models if np.isfinite(matrix.sel(system=m, system_other=m))]
        if len(known) < 2:
            raise ValueError(
                f"differences need two machines with a score and its error, got {len(known)} at "
                f"level {level!r} for population {population!r}"
            )
        return ranking.pairwise_differences(
            known,
            estimates.sel(system=known).values,
            matrix.sel(system=known, system_other=known).values,
            ci_prob,
            rng,
        )

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


def exclude_conditions(trials: Trials, exclude: str | Exclusions) -> Trials:
    """Leave out conditions of data sets.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    exclude : str or mapping of str to sequence of str
        Name of a preset (``"model-vs-human"``), or conditions by data set. Labels are compared
        after `alikely.datasets.normalise_condition`, so that ``0.00`` is ``0``.

    Returns
    -------
    Trials

    Raises
    ------
    ValueError
        If the preset is unknown, a data set of the trials lacks a condition that a mapping names
        for it, or nothing is left.

    Examples
    --------
    >>> import alikely as al
    >>> trials = exclude_conditions(al.load_example(), {"all": ["clean"]})
    >>> sorted(set(trials.data["condition"].values))
    ['blur', 'noise']
    """
    if isinstance(exclude, str) and exclude not in EXCLUSIONS:
        raise ValueError(
            f"exclude must be one of {', '.join(EXCLUSIONS)} or a mapping, got {exclude!r}"
        )
    rules = EXCLUSIONS[exclude] if isinstance(exclude, str) else exclude
    datasets = trials.data["dataset"].values
    conditions = np.array([normalise_condition(c) for c in trials.data["condition"].values])
    drop = np.zeros(trials.n_trials, dtype=bool)
    for dataset, labels in rules.items():
        here = datasets == dataset
        wanted = {normalise_condition(label) for label in labels}
        missing = sorted(wanted - set(conditions[here])) if here.any() else []
        if missing and not isinstance(exclude, str):
            raise ValueError(f"data set {dataset!r} has no condition {missing[0]!r} to exclude")
        drop |= here & np.isin(conditions, list(wanted))
    if drop.all():
        raise ValueError("nothing is left: every condition is excluded")
    kept = Trials(trials.data.isel(trial=~drop))
    return kept.select()


def benchmark_scores(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    exclude: str | Exclusions | None = None,
    missing: Literal["error", "available"] = "error",
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int = 10_000,
    n_draws: int = 4_000,
    ci_prob: float = 0.95,
    ci_kind: CiKind = "eti",
    rng: RandomState = None,
) -> Benchmark:
    """Score machines by their error consistency with humans, as benchmarks do [G21]_.

    Error consistency per human, machine and condition; unweighted means over conditions, then
    humans, then data sets. The human row takes pairs of humans in place of human and machine.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Kinds of the observers to score, and to score them against.
    exclude : str or mapping, optional
        Conditions to leave out, see `exclude_conditions`.
    missing : {"error", "available"}
        Refuse machines that lack some data sets with machines, or average over what they have.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Intervals that `Benchmark.summary` shows by default.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Benchmark

    Raises
    ------
    ValueError
        If there are fewer than two humans in a data set, a machine is missing somewhere, or as in
        `alikely.tables.joint_correctness`.

    Notes
    -----
    Analytic variances, all from one set of influences ``u`` of trials on entries: images,
    ``sum_t (sum_e w_e u_et)**2``; humans, the jackknife [ES81]_ over humans, which is exact for
    means and serves the human row, a U-statistic; both together, images plus humans minus the
    jackknife variance of the influences of each trial, which is counted in either [CGM11]_, and
    at least the larger of the two.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.benchmark_scores(al.load_example(), exclude={"all": ["clean"]}, rng=1)
    >>> table = result.summary("images")
    >>> table["system"].tolist()[-2:]
    ['human-human', 'ceiling']
    """
    check_interval(ci_prob, ci_kind)
    if missing not in ("error", "available"):
        raise ValueError(f"missing must be 'error' or 'available', got {missing!r}")
    if exclude is not None:
        trials = exclude_conditions(trials, exclude)
    metric = ERROR_CONSISTENCY
    kinds = [f"{humans}-{humans}", f"{humans}-{models}"]
    table = joint_correctness(trials, kinds, "condition", no_response)
    kind = dict(zip(trials.observers, trials.data["kind"].values.tolist(), strict=True))
    parts = parts_of(table, kind, humans)
    systems = [*dict.fromkeys(name for part in parts for name in part.models), HUMANS, CEILING]
    require_balance(parts, systems, missing)
    levels = [part.name for part in parts] + [OVERALL]
    seed = seed_sequence(rng)
    bootstrap_seed, human_seed, posterior_seed = seed.spawn(3)

    value = metric.value(table["cells"].values)
    by_dataset = nested_scores(parts, systems, value[None])
    estimates = xr.Dataset(
        {
            "estimate": (("level", "system"), with_overall(by_dataset)[0]),
            "n_humans": ("level", [p.n_humans for p in parts] + [sum(p.n_humans for p in parts)]),
            "undefined_entries": (("level", "system"), undefined_entries(parts, systems, value)),
        },
        coords={"level": levels, "system": systems},
    )
    covariance = xr.DataArray(
        covariances(table, parts, systems, metric),
        dims=("population", "level", "system", "system_other"),
        coords={
            "population": list(POPULATIONS),
            "level": levels,
            "system": systems,
            "system_other": systems,
        },
    )
    groups = {"estimates": estimates, "covariance": covariance.to_dataset(name="covariance")}
    if n_resamples:
        replicates = bootstrap(table, metric, n_resamples, rng=bootstrap_seed).values
        generator = np.random.default_rng(human_seed)
        drawn = [
            generator.multinomial(
                p.n_humans, np.full(p.n_humans, 1 / p.n_humans), n_resamples
            ).astype(np.float64)
            for p in parts
        ]
        samples = {
            "images": nested_scores(parts, systems, replicates),
            "humans": nested_scores(parts, systems, value[None], drawn),
            "crossed": nested_scores(parts, systems, replicates, drawn),
        }
        groups["bootstrap"] = xr.Dataset(
            {
                name: (("resample", "level", "system"), with_overall(scores).astype(np.float32))
                for name, scores in samples.items()
            },
            coords={"level": levels, "system": systems},
        )
    if n_draws:
        per_chain = -(-n_draws // 4)
        drawn_values = joint_draws(table, 4 * per_chain, [metric], posterior_seed)[metric.name]
        scores = with_overall(nested_scores(parts, systems, drawn_values)).astype(np.float32)
        groups["posterior"] = xr.Dataset(
            {
                "score": (
                    ("chain", "draw", "level", "system"),
                    scores.reshape(4, per_chain, len(levels), len(systems)),
                )
            },
            coords={"level": levels, "system": systems},
        )
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {
        "metric": metric.name,
        "ci_prob": ci_prob,
        "ci_kind": ci_kind,
        "exclude": str(exclude or ""),
        "no_response": no_response,
        "seed": str(seed.entropy),
    }
    return Benchmark(tree)
