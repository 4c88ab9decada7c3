"""Scores of a benchmark: tables, differences, groups, ranks and ceilings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.frames import As, Columns, Sort, given_as, ordered, with_columns, with_notes
from alikely._base.intervals import CiKind, Intervals
from alikely._base.names import counted, listed
from alikely._base.random import RandomState
from alikely.benchmark import contrasts, ranking
from alikely.benchmark.decomposition import Decomposition, joint_covariance, normal_deviates, only
from alikely.benchmark.latent import latent_columns
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL
from alikely.benchmark.nesting import POPULATIONS
from alikely.benchmark.selection import (
    SCORE_COLUMNS,
    SOURCES,
    absent_posterior,
    differences_shown,
    methods_shown,
    not_valid,
)
from alikely.benchmark.spoken import HUMAN, in_kinds
from alikely.benchmark.tables import SCHEMA, Population, School, ceiling_table, level_table, one_of
from alikely.benchmark.verdicts import EqualityTest, Verdict, equality_of, verdict_of
from alikely.benchmark.words import benchmark_sentence, latex_of, notebook_of
from alikely.estimates.latex import Environment
from alikely.estimates.tree import Tree

__all__ = ["Benchmark"]


@dataclasses.dataclass(frozen=True, repr=False)
class Benchmark(Tree):
    """Scores of machines against a group of humans.

    In all methods `population` is what is thought of as drawn anew: ``"images"``, ``"humans"`` or
    both, ``"crossed"``; `level` a data set, or ``"overall"``; `ci_prob`, `ci_kind` as in the
    analysis if not given; `rng` None, int, numpy Generator or SeedSequence.

    Attributes
    ----------
    data : xarray.DataTree
        ``estimates``: ``estimate`` (level, system); ``n_humans, n_humans_met, fewest_humans, crowd,
        n_images`` (level; all humans, those of data sets or conditions with machines, the fewest in
        any data set or condition, the fewest that the bootstrap draws together; images of a
        condition, on average);
        ``undefined_entries, accuracy, accuracy_humans, accuracy_gap`` and what the metric has
        beside it, such as ``kappa_max`` (level, system: means over the entries of a score);
        consensus ceilings ``lower, lower_se, upper, upper_se`` (level); labels of the machines
        (system). ``covariance`` (population, level, system, system_other); ``decomposition``:
        what intervals are made of, see `alikely.benchmark.decomposition.Decomposition`;
        ``bootstrap``: ``images, humans, crossed`` (resample, level, system); ``posterior`` and, if
        asked for, ``cohort``: ``score`` (chain, draw, level, system). A level is a data set, or
        ``overall``, their unweighted mean. Systems are the machines, ``human-human``, and
        ``ceiling``: that where machines took part.
    """

    SCHEMA = SCHEMA

    @property
    def models(self) -> list[str]:
        """Names of the machines."""
        return [s for s in self.estimates["system"].values.tolist() if s not in (HUMANS, CEILING)]

    @property
    def humans(self) -> str:
        """Kind of those whom machines are scored against."""
        return str(self.data.attrs.get("humans", HUMAN))

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets."""
        return [str(name) for name in self.estimates["level"].values if name != OVERALL]

    def decomposition(self, level: str = OVERALL) -> Decomposition:
        """What the analytic intervals of one level are made of.

        Returns
        -------
        alikely.benchmark.decomposition.Decomposition
            Systems in the order of the estimates.

        Raises
        ------
        ValueError
            If the level is unknown.
        """
        one_of("level", level, [*self.datasets, OVERALL])
        group = self.data["decomposition"].to_dataset()
        here = group["image_level"].values == group["level"].values.tolist().index(level)
        of_level = group.sel(level=level)
        return Decomposition(
            of_level["centre"].values,
            of_level["influence"].values[:, here],
            of_level["invented"].values,
            of_level["people"].values,
            of_level["shared"].values,
            of_level["df_people"].values,
            float(of_level["most_df"]) if "most_df" in of_level else np.inf,
        )

    def summary(
        self,
        population: Population = "crossed",
        level: str | None = OVERALL,
        *,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        sort: Sort = None,
        as_: As = "pandas",
    ) -> pd.DataFrame | Any:
        """Tidy table of scores, one row per level and system.

        Parameters
        ----------
        population : {"images", "humans", "crossed"}
            What intervals generalize to. The posterior generalizes to new images with these humans
            (``"images"``), the posterior of the cohort model to new images and new humans
            (``"crossed"``).
        level : str or None
            A data set, ``"overall"``, or None for every level.
        intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior", "cohort"}
            None shows the recommended interval, the analytic one; ``"all"`` every valid interval
            and every column; names those of these methods. The bootstrap must be named: its
            intervals are too narrow near the ceiling, as ``note`` explains.
        columns : "all" or sequence of str, optional
            Further columns to show: ``centre`` of the analytic interval (the score with a
            pseudocount in the cells of each pair) and its degrees of freedom ``df``;
            ``ceiled_se``; ``accuracy_humans``, ``accuracy_gap`` (humans minus machine) and what
            the metric derives from the accuracies, as means over the entries of the score (of
            error consistency ``kappa_min, kappa_max, less_biased``).
        sort, as_
            Order of the rows and library of the table, as in `alikely.Result.summary`.

        Returns
        -------
        pandas.DataFrame
            ``level, system, estimate, se``; bounds of the methods, within the range of the metric;
            with the bootstrap ``bootstrap_se`` (with ``"crossed"`` by the two-factor correction of
            `two_factor_variance`); of machines ``ceiled`` (score over ceiling,
            neither clipped nor made absolute) with its Fieller interval; ``accuracy``; ``note``.

        Raises
        ------
        ValueError
            If an option is unknown or out of range, or a named method has no draws.
        """
        methods = methods_shown(self, population, intervals)
        named = intervals not in (None, "all")
        prob, kind = self.interval_options(ci_prob, ci_kind)
        levels = [*self.datasets, OVERALL] if level is None else [level]
        frames = [
            level_table(self, population, name, prob, kind, methods, named=named) for name in levels
        ]
        table = pd.concat(frames, ignore_index=True)
        absent = "" if named else absent_posterior(self, population)
        table["note"] = [
            in_kinds("; ".join(filter(None, [note, absent])), self.humans) for note in table["note"]
        ]
        shown = "all" if intervals == "all" else columns
        return given_as(with_columns(ordered(table, sort), SCORE_COLUMNS, shown), as_)

    def sentence(
        self,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        interval: str | None = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        digits: int = 2,
    ) -> str:
        """Say the scores as papers report them, numbers as APA has them.

        Parameters
        ----------
        interval : {"analytic", "bootstrap", "posterior", "cohort"}, optional
            Whose interval, of those that `summary` has for the population; by default the analytic
            one.
        digits : int
            Decimals.

        Returns
        -------
        str
            The lowest and the highest score and that of the humans among themselves, with
            intervals, for whom these speak, and how many machines are told apart when all are
            judged at once. `verdict` says one difference.

        Raises
        ------
        ValueError
            If an option is unknown or out of range, or there is no such interval.

        Examples
        --------
        >>> import alikely as al
        >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0)
        >>> print(scores.sentence("images"))  # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
        Error consistency with 4 humans ranged over 6 machines from .06 (model_6; 95 % CI ...
        """
        said = benchmark_sentence(self, population, level, interval, ci_prob, ci_kind, digits)
        return in_kinds(said, self.humans)

    def to_latex(
        self,
        population: Population = "crossed",
        level: str | None = OVERALL,
        *,
        interval: str | None = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        columns: Sequence[str] | None = None,
        sort: Sort = None,
        digits: int = 3,
        caption: str | None = None,
        label: str | None = None,
        environment: Environment | None = None,
    ) -> str:
        """Lay the summary out as a table for LaTeX, with booktabs.

        Parameters
        ----------
        interval
            As in `sentence`.
        columns : sequence of str, optional
            Of the summary; by default levels where there are several, system, score and share of
            the ceiling with their intervals, accuracy, and notes, which follow the table.
        sort
            As in `summary`.
        digits, caption, label, environment
            As in `alikely.estimates.latex_table`.

        Returns
        -------
        str
            As from `alikely.estimates.latex_table`.

        Raises
        ------
        ValueError
            As in `sentence`, and if a column is unknown.
        """
        methods = methods_shown(self, population, None if interval is None else [interval])
        prob, kind = self.interval_options(ci_prob, ci_kind)
        frame = self.summary(
            population, level, intervals=methods, columns="all", ci_prob=prob, ci_kind=kind,
            sort=sort,
        )  # fmt: skip
        school = methods[0] if methods else ""
        return latex_of(
            self.metric, frame, school, kind, prob, columns,
            digits=digits, caption=caption, label=label, environment=environment,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        """What notebooks show: the humans' score and the first machines', with intervals."""
        prob, kind = self.interval_options(None, None)
        methods = methods_shown(self, "crossed", None)
        return notebook_of(self, self.summary(intervals=methods), (*methods, "")[0], kind, prob)

    def __repr__(self) -> str:
        n_humans = int(self.estimates["n_humans"].sel(level=OVERALL))
        parts = [counted(len(self.models), "machine"), counted(n_humans, "human")]
        parts.append(counted(len(self.datasets), "data set"))
        return in_kinds(f"<Benchmark {self.metric.name}: {', '.join(parts)}>", self.humans)

    def draws(self, school: School, variable: str, level: str = OVERALL) -> NDArray[np.float64]:
        """Replicates or draws of all systems at one level.

        Parameters
        ----------
        school : {"bootstrap", "posterior", "cohort"}
        variable : str
            ``images``, ``humans`` or ``crossed`` of the bootstrap; ``score`` of the others.

        Returns
        -------
        ndarray, shape (draw, system)

        Raises
        ------
        ValueError
            If the benchmark has no such draws or level.
        """
        if school not in self.data.children or variable not in self.data[school]:
            raise ValueError(
                f"this benchmark has no {school} draws of {variable!r}; "
                f"{SOURCES.get(school, 'draws are of bootstrap, posterior or cohort')}"
            )
        one_of("level", level, [*self.datasets, OVERALL])
        values = self.data[school].to_dataset()[variable].sel(level=level)
        return self._flat(values, "system").astype(np.float64)

    def contrast(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str] | None = None,
        *,
        population: Population = "crossed",
        level: str = OVERALL,
        rope: tuple[float, float] | None = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        intervals: Intervals = None,
    ) -> pd.DataFrame:
        """Difference of two scores, or of the mean scores of two sets of systems.

        Parameters
        ----------
        first, second : str or sequence of str
            Names of systems. Without `second` the mean of the first.
        rope : (float, float), optional
            Region of practical equivalence.
        intervals
            As in `summary`.

        Returns
        -------
        pandas.DataFrame
            As returned by `alikely.contrast`, one row per method.

        Raises
        ------
        ValueError
            If a name is unknown, both sides are the same, or an option is out of range.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        weights = contrasts.contrast_weights(self, first, second)
        return contrasts.score_contrast(
            self, weights, population, level, rope, prob, kind, intervals
        )

    def differences(
        self,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
    ) -> pd.DataFrame:
        """Compare all pairs of machines against the same humans.

        Parameters
        ----------
        intervals : None, "all" or sequence of {"pointwise", "simultaneous"}
            None shows simultaneous intervals, which are adjusted for all differences, and their
            p-values; ``"all"`` shows both kinds and every column.
        columns : "all" or sequence of str, optional
            Further columns to show: ``centre, df, p_value_bh``.

        Returns
        -------
        pandas.DataFrame
            As returned by `alikely.benchmark.contrasts.difference_table`.

        Raises
        ------
        ValueError
            If an option is unknown or out of range, or fewer than two machines have a score.
        """
        table, _ = self._compared(None, population, level, ci_prob)
        return differences_shown(table, intervals, columns, valid=not not_valid(self.metric))

    def group_differences(
        self,
        groups: str | Mapping[str, str],
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
    ) -> pd.DataFrame:
        """Compare mean scores of groups of machines, such as families.

        Parameters
        ----------
        groups : str or mapping of str to str
            A label of the observers (such as ``"family"``), or the group of each machine.
        intervals, columns
            As in `differences`.

        Returns
        -------
        pandas.DataFrame
            As returned by `differences`, with groups for systems.

        Raises
        ------
        ValueError
            If a label or machine is unknown, there are fewer than two groups, or as `differences`.
        """
        table, _ = self._compared(groups, population, level, ci_prob)
        return differences_shown(table, intervals, columns, valid=not not_valid(self.metric))

    def equality(
        self,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
    ) -> EqualityTest:
        """Test whether all machines (or groups of them) have the same score.

        Parameters
        ----------
        groups : str or mapping of str to str, optional
            As in `group_differences`; without them all machines.

        Returns
        -------
        alikely.benchmark.EqualityTest
            By the largest difference: it says no more than `differences`, and no less.

        Raises
        ------
        ValueError
            As in `differences` and `group_differences`, or if all answers are identical.
        """
        table, _ = self._compared(groups, population, level, None)
        return equality_of(table, not_valid(self.metric))

    def verdict(
        self,
        first: str,
        second: str,
        population: Population = "crossed",
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
        ci_prob: float | None = None,
    ) -> Verdict:
        """Judge one difference of machines: ``print`` it for a statement.

        Parameters
        ----------
        first, second : str
            Machines; groups of them, if `groups` are given.
        groups : str or mapping of str to str, optional
            As in `group_differences`.

        Returns
        -------
        alikely.benchmark.Verdict
            Alone and among all differences of the table, each with its interval and its p.

        Raises
        ------
        ValueError
            If a name is none of a machine with a score, or an option is unknown or out of range.

        Examples
        --------
        >>> import alikely as al
        >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0)
        >>> print(scores.verdict("model_1", "model_2", "images"))  # doctest: +ELLIPSIS
        Error consistency with the humans, model_1 less model_2: ...
        """
        table, prob = self._compared(groups, population, level, ci_prob)
        return verdict_of(
            table, first, second,
            metric=self.metric.label, level=level, population=population, ci_prob=prob,
            humans=self.humans, note=not_valid(self.metric),
        )  # fmt: skip

    def _compared(
        self,
        groups: str | Mapping[str, str] | None,
        population: Population,
        level: str,
        ci_prob: float | None,
    ) -> tuple[pd.DataFrame, float]:
        """All differences of machines or groups, and the probability of their intervals."""
        prob, _ = self.interval_options(ci_prob, None)
        scores = contrasts.machine_scores(self, population, level, groups)
        expected, (low, high) = self.metric.differences, self.metric.bounds
        table = contrasts.difference_table(*scores, population, expected, prob, high - low)
        return with_notes(table, self.missing_note), prob

    def correlations(self, *, ci_prob: float | None = None) -> pd.DataFrame:
        """Do data sets order the machines alike? Correlations of all pairs of data sets.

        Returns
        -------
        pandas.DataFrame
            As from `rank_correlations`, over new images; beside them ``pearson``
            of the scores that intervals lie about, ``reliability`` and ``reliability_other``
            (share of their variance over machines that is not the noise of images and people),
            ``latent``, the correlation with attenuation removed, neither clipped nor, without
            reliable variance, given; its interval over machines; and ``note``. See
            `alikely.benchmark.latent.latent_correlation`.

        Raises
        ------
        ValueError
            If the benchmark has no bootstrap, or as in `rank_correlations`.
        """
        names, (prob, _) = self.datasets, self.interval_options(ci_prob, None)
        estimates = self.estimates["estimate"].sel(level=names, system=self.models).values
        draws = np.stack([contrasts.machine_draws(self, "images", x) for x in names], axis=1)
        table = ranking.rank_correlations(names, estimates, draws, prob)
        return table.join(latent_columns(self, table, prob))

    def stability(self, population: Population = "images") -> NDArray[np.float64]:
        """Kendall's tau between the ranking and that of each bootstrap replicate.

        Returns
        -------
        ndarray, shape (replicate,)
            In [-1, 1].

        Raises
        ------
        ValueError
            If the benchmark has no bootstrap, or as in `alikely.benchmark.kendall_tau`.
        """
        estimates = self.estimates["estimate"].sel(level=OVERALL, system=self.models).values
        return ranking.kendall_tau(estimates, contrasts.machine_draws(self, population))

    def ceilings(
        self, population: Population = "crossed", *, columns: Columns = None
    ) -> pd.DataFrame:
        """Human-human scores and consensus bounds of every level, tested against 0.

        Parameters
        ----------
        columns : "all" or sequence of str, optional
            Further columns to show: the degrees of freedom ``df``.

        Returns
        -------
        pandas.DataFrame
            As from `alikely.benchmark.tables.ceiling_table`.

        Raises
        ------
        ValueError
            If the population or a column is unknown.
        """
        table = ceiling_table(self, population)
        return with_columns(table, [name for name in table if name != "df"], columns)

    def ranks(
        self, population: Population = "crossed", *, ci_prob: float | None = None,
        rng: RandomState = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Ranking of the machines with confidence sets that admit ties.

        Returns
        -------
        pandas.DataFrame
            As returned by `alikely.benchmark.ranking.rank_sets`; ``note`` if no set is valid.

        Raises
        ------
        ValueError
            As in `alikely.benchmark.ranking.rank_sets`, and if there are fewer than two machines.
        """
        one_of("population", population, POPULATIONS)
        prob, _ = self.interval_options(ci_prob, None)
        models, parts = self.models, self.decomposition()
        if len(models) < 2:
            raise ValueError(f"ranks need two machines, got {listed(models) or 'none'}")
        contrasts.machine_scores(self, population, OVERALL)  # or the reason why there are none
        machines = only(parts, range(len(models)))
        estimates = self.estimates["estimate"].sel(level=OVERALL, system=models).values
        contrasts.require_differences(models, machines, population)
        ranks = ranking.rank_sets(
            estimates, joint_covariance(machines, population), models, ci_prob=prob, rng=rng,
            deviates=normal_deviates(machines, population),
        )  # fmt: skip
        return ranks.assign(note=reason) if (reason := not_valid(self.metric)) else ranks
