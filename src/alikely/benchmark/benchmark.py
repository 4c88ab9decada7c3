"""Scores of systems against a reference: tables, differences, ranks, ceilings, sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import one_of
from alikely._base.frames import (
    As,
    Columns,
    Sort,
    given_as,
    known_columns,
    ordered,
    with_columns,
)
from alikely._base.intervals import CiKind, Intervals
from alikely._base.names import counted
from alikely._base.random import RandomState
from alikely.benchmark import ranking, tables, words
from alikely.benchmark.layout import CEILING, HUMAN, HUMANS, OVERALL, Population, in_kinds
from alikely.estimates.latex import Environment, latex_table
from alikely.estimates.result import Tree
from alikely.estimates.sentences import is_wide

__all__ = ["Benchmark"]

BY = ("level", "system")
BOTH = (*BY, "system_other")
# Groups of scores of trials, and of scores of the entries of a result.
type Schema = Mapping[str, Mapping[str, tuple[str, ...] | None]]

OF_TRIALS: Schema = {
    "estimates": {
        **dict.fromkeys(("estimate", "undefined_entries", *tables.ACCURACIES), BY),
        **dict.fromkeys(
            ("n_humans", "n_humans_met", "crowd", "fewest_humans", "n_images", *tables.CONSENSUS),
            ("level",),
        ),
    },
    "covariance": {"covariance": ("population", *BOTH)},
    "decomposition": {
        **dict.fromkeys(("centre", "df_people"), BY),
        **dict.fromkeys(("invented", "people", "shared"), BOTH),
        "influence": ("system", "image"),
        "image_level": ("image",),
    },
}
OF_RESULT: Schema = {
    "estimates": dict.fromkeys(("estimate", "ceiling", "n_entries", "n_missing"), BY),
    "posterior": {"score": ("chain", "draw", *BY)},
}


@dataclasses.dataclass(frozen=True, repr=False)
class Benchmark(Tree):
    """Scores of systems against a group of humans, or another reference.

    Its groups say which methods there are: ``decomposition`` (analytic intervals), ``bootstrap``,
    and ``posterior``. Scores of `alikely.benchmark.scores_of` have a posterior alone.

    In all methods `population` is what intervals generalize to: new ``"images"``, new ``"humans"``
    or both, ``"crossed"`` (the default); scores of a result take none. `level` is a data set, or
    ``"overall"``, the unweighted mean of all. `ci_prob` and `ci_kind` default to those of the
    analysis. `groups` is a label of the observers, such as ``"family"``, or a mapping from names of
    models to groups: means of groups then take the place of models.

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
        (system). Of a result: ``ceiling, n_entries, n_missing, reason`` (level, system).
        ``covariance`` (population, level, system, system_other); ``decomposition``: what analytic
        intervals are made of; ``bootstrap``: ``images, humans, crossed`` (resample, level, system);
        ``posterior``: ``score`` (chain, draw, level, system). Systems are the machines,
        ``human-human``, and ``ceiling``: that where machines took part.
    """

    @classmethod
    def schema(cls, tree: xr.DataTree) -> Schema:
        """Groups and variables that a file must have."""
        alone = "posterior" in tree.children and "decomposition" not in tree.children
        return OF_RESULT if alone else OF_TRIALS

    @property
    def is_analytic(self) -> bool:
        """Whether there are analytic intervals: scores of trials have them."""
        return "decomposition" in self.data.children

    @property
    def systems(self) -> list[str]:
        """Names of all rows of scores."""
        return [str(name) for name in self.estimates["system"].values]

    @property
    def models(self) -> list[str]:
        """Names of the machines."""
        return [name for name in self.systems if name not in (HUMANS, CEILING)]

    @property
    def humans(self) -> str:
        """Kind of those whom machines are scored against."""
        return str(self.data.attrs.get("humans", HUMAN))

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets."""
        return [str(name) for name in self.estimates["level"].values if name != OVERALL]

    def values(self, level: str = OVERALL) -> Floats:
        """Scores of all systems at one level, shape (system,)."""
        one_of("level", level, (*self.datasets, OVERALL))
        return np.asarray(self.estimates["estimate"].sel(level=level).values, dtype=np.float64)

    def decomposition(self, level: str = OVERALL) -> xr.Dataset:
        """What the analytic intervals of one level are made of.

        Parameters
        ----------
        level : str
            A data set, or ``"overall"``.

        Returns
        -------
        xarray.Dataset
            ``centre, df_people`` (system), ``influence`` (system, image), ``invented, people,
            shared`` (system, system_other), and ``most_df``.

        Raises
        ------
        ValueError
            If the level is unknown, or the scores have no analytic intervals.
        """
        one_of("level", level, (*self.datasets, OVERALL))
        tables.require_analytic(self, "analytic intervals")
        group = self.data["decomposition"].to_dataset()
        here = group["image_level"].values == group["level"].values.tolist().index(level)
        group = group if "most_df" in group else group.assign(most_df=np.inf)
        return group.sel(level=level).isel(image=here)

    def summary(
        self,
        population: Population | None = None,
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
        population : {"images", "humans", "crossed"}, optional
            What intervals generalize to. The posterior generalizes to new images with these humans
            (``"images"``).
        level : str or None
            A data set, ``"overall"``, or None for every level.
        intervals : None, "all" or sequence of {"analytic", "bootstrap", "posterior"}
            None shows the recommended interval, the analytic one if there is one; ``"all"`` every
            valid interval and every column; names those of these methods. The bootstrap must be
            named: its intervals are too narrow near the ceiling, as ``note`` explains.
        columns : "all" or sequence of str, optional
            Further columns to show: ``centre`` of the analytic interval (the score with a
            pseudocount in the cells of each pair) and its degrees of freedom ``df``;
            ``ceiled_se``; ``accuracy_humans``, ``accuracy_gap`` (humans minus machine) and what
            the metric derives from the accuracies, as means over the entries of the score (of
            error consistency ``kappa_min, kappa_max, less_biased``); ``note_codes``.
        sort, as_
            Order of the rows and library of the table, as in `alikely.Result.summary`.

        Returns
        -------
        pandas.DataFrame
            ``level, system, estimate, se``; bounds of the methods, within the range of the metric;
            with the bootstrap ``bootstrap_se`` (with ``"crossed"`` by the two-factor correction of
            `two_factor_variance`); of machines ``ceiled`` (score over ceiling,
            neither clipped nor made absolute) with its Fieller interval; ``accuracy``; ``note``.
            Scores of a result have ``ceiling`` (of margins the mean of those of the entries),
            ``posterior_median``, ``p_positive`` and ``n_entries``.

        Raises
        ------
        ValueError
            If an option is unknown or out of range, or a named method has no draws.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        table = tables.score_table(self, population, level, prob, kind, intervals, columns)
        return given_as(ordered(table, sort), as_)

    def sentence(
        self,
        population: Population | None = None,
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
        interval : {"analytic", "bootstrap", "posterior"}, optional
            Method of the interval, one that `summary` has for the population. Default: the
            recommended one.
        digits : int
            Decimals.

        Returns
        -------
        str
            The lowest and the highest score and that of the humans among themselves, with
            intervals, what these generalize to, and how many differences of machines are
            significant after adjustment for all. `verdict` says one difference.

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
        text = words.score_sentence(self, population, level, interval, ci_prob, ci_kind, digits)
        return in_kinds(text, self.humans)

    def to_latex(
        self,
        population: Population | None = None,
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
            the ceiling with their intervals, accuracy or number of entries, and notes, which
            follow the table.
        sort
            As in `summary`.
        digits, caption, label, environment
            As in `alikely.estimates.latex_table`.

        Returns
        -------
        str
            As returned by `alikely.estimates.latex_table`.

        Raises
        ------
        ValueError
            As in `sentence`, and if a column is unknown.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        chosen = None if interval is None else [interval]
        methods = tables.methods_shown(self, tables.population_of(self, population), chosen)
        frame = self.summary(
            population, level, intervals=methods, columns="all", ci_prob=prob, ci_kind=kind,
            sort=sort,
        )  # fmt: skip
        known_columns(frame, columns or (), "columns")
        shown = words.shown(frame, (*methods, "")[0], kind, prob)
        return latex_table(
            shown if columns is None else frame[list(columns)],
            digits=digits,
            caption=caption,
            label=label,
            environment=environment,
            headings=words.headings_of(self.metric),
            leading_zero=is_wide(self.metric) or None,
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the humans' score and the first machines', with intervals."""
        return words.notebook_of(self)

    def __repr__(self) -> str:
        parts = [counted(len(self.models), "machine"), counted(len(self.datasets), "data set")]
        if self.is_analytic:
            n_humans = int(self.estimates["n_humans"].sel(level=OVERALL))
            parts.insert(1, counted(n_humans, "human"))
        else:
            parts.append(counted(len(self.draws("posterior")), "posterior draw"))
        return in_kinds(f"<Benchmark {self.metric.name}: {', '.join(parts)}>", self.humans)

    def draws(
        self, school: tables.School, variable: str = "score", level: str = OVERALL
    ) -> NDArray[np.float64]:
        """Replicates or draws of all systems at one level.

        Parameters
        ----------
        school : {"bootstrap", "posterior"}
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
            If the benchmark has no such draws or level.
        """
        if school not in self.data.children or variable not in self.data[school]:
            reason = tables.SOURCES.get(school, "draws are of bootstrap or posterior")
            raise ValueError(f"this benchmark has no {school} draws of {variable!r}; {reason}")
        one_of("level", level, (*self.datasets, OVERALL))
        values = self.data[school].to_dataset()[variable].sel(level=level)
        return self._flat(values, "system").astype(np.float64)

    def contrast(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str] | None = None,
        *,
        population: Population | None = None,
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
            If a name is unknown, both sides are the same, an option is out of range, or posterior
            draws are not joint.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        weights = tables.contrast_weights(self, first, second)
        return tables.contrast_table(self, weights, population, level, rope, prob, kind, intervals)

    def differences(
        self,
        population: Population | None = None,
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
    ) -> pd.DataFrame:
        """Compare all pairs of machines, or of groups of machines, against the same humans.

        Parameters
        ----------
        groups : str or mapping of str to str, optional
            Compare mean scores of groups.
        intervals : None, "all" or sequence of {"pointwise", "simultaneous"}
            None shows simultaneous intervals, which are adjusted for all differences, and their
            p-values; ``"all"`` shows both kinds and every column.
        columns : "all" or sequence of str, optional
            Further columns to show: ``centre, df, p_value_bh``.
        ci_kind : {"eti", "hdi"}, optional
            Of the pointwise interval of posterior draws.

        Returns
        -------
        pandas.DataFrame
            One row per pair: ``system, other, difference`` and ``se``; ``centre`` of the interval
            and degrees of freedom ``df``; ``pointwise`` interval and ``p_value``; ``simultaneous``
            interval and ``p_value_simultaneous`` (studentized range; of scores of a result the
            largest standardized difference over draws, without p-values); ``p_value_bh`` after
            Benjamini and Hochberg; ``p_positive``, the probability that the difference is above 0;
            ``note``.

        Raises
        ------
        ValueError
            If an option, a label or a machine is unknown or out of range, fewer than two machines
            or groups have a score, or posterior draws are not joint.
        """
        table, _ = self._compared(groups, population, level, ci_prob, ci_kind)
        valid = not (self.is_analytic and tables.not_valid(self.metric))
        return tables.differences_shown(table, intervals, columns, valid=valid)

    def equality(
        self,
        population: Population | None = None,
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
    ) -> pd.Series:
        """Test whether all machines (or groups of them) have the same score.

        Returns
        -------
        pandas.Series
            ``p_value`` of the largest difference (Tukey 1949), adjusted for all; ``system, other``,
            the two that differ most in standard errors; their ``difference``; ``n_systems``; and
            ``note``: why the test is not valid for the metric.

        Raises
        ------
        ValueError
            As in `differences`, or if all answers are identical.
        """
        tables.require_analytic(self, "tests")
        table, _ = self._compared(groups, population, level, None)
        return tables.equality_test(table, tables.not_valid(self.metric))

    def verdict(
        self,
        first: str,
        second: str,
        population: Population | None = None,
        level: str = OVERALL,
        *,
        groups: str | Mapping[str, str] | None = None,
        ci_prob: float | None = None,
    ) -> words.Verdict:
        """Judge one difference of machines: ``print`` it for a statement.

        Parameters
        ----------
        first, second : str
            Machines; groups of them, if `groups` are given.

        Returns
        -------
        alikely.benchmark.Verdict
            The difference, unadjusted and adjusted for all differences of the table.

        Raises
        ------
        ValueError
            If a name is none of a machine with a score, or an option is unknown or out of range.

        Examples
        --------
        >>> import alikely as al
        >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0)
        >>> print(scores.verdict("model_1", "model_2", "images"))  # doctest: +ELLIPSIS
        Error consistency with the humans, model_1 minus model_2: ...
        """
        tables.require_analytic(self, "verdicts")
        table, prob = self._compared(groups, population, level, ci_prob)
        return words.verdict_of(
            table, first, second,
            metric=self.metric.label, level=level,
            population=tables.population_of(self, population), ci_prob=prob,
            humans=self.humans, note=tables.not_valid(self.metric),
        )  # fmt: skip

    def _compared(
        self,
        groups: str | Mapping[str, str] | None,
        population: Population | None,
        level: str,
        ci_prob: float | None,
        ci_kind: CiKind | None = None,
    ) -> tuple[pd.DataFrame, float]:
        """All differences of machines or groups, and the probability of their intervals."""
        prob, kind = self.interval_options(ci_prob, ci_kind)
        return tables.all_differences(self, groups, population, level, prob, kind), prob

    def correlations(self, *, ci_prob: float | None = None) -> pd.DataFrame:
        """Correlate scores between all pairs of data sets.

        Returns
        -------
        pandas.DataFrame
            As from `rank_correlations`, over new images; beside them ``pearson``
            of the scores that intervals lie about, ``reliability`` and ``reliability_other``
            (share of their variance over machines that is not the noise of images and people),
            ``latent``, the correlation with attenuation removed, neither clipped nor, without
            reliable variance, given; its interval over machines; and ``note``. See
            `alikely.benchmark.ranking.latent_correlation`.

        Raises
        ------
        ValueError
            If the benchmark has no bootstrap, or as in `rank_correlations`.
        """
        names, (prob, _) = self.datasets, self.interval_options(ci_prob, None)
        estimates = self.estimates["estimate"].sel(level=names, system=self.models).values
        draws = np.stack([tables.machine_draws(self, "images", x) for x in names], axis=1)
        table = ranking.rank_correlations(names, estimates, draws, prob)
        return table.join(ranking.latent_columns(self, table, prob))

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
        return ranking.kendall_tau(estimates, tables.machine_draws(self, population))

    def ceilings(
        self, population: Population | None = None, *, columns: Columns = None
    ) -> pd.DataFrame:
        """Human-human scores and consensus bounds of every level, tested against 0.

        Parameters
        ----------
        columns : "all" or sequence of str, optional
            Further columns to show: the degrees of freedom ``df``.

        Returns
        -------
        pandas.DataFrame
            ``level, n_humans``; ``human_human`` with its standard error and one-sided p-value;
            ``consensus_lower, consensus_upper`` with standard errors.

        Raises
        ------
        ValueError
            If the population or a column is unknown.
        """
        table = tables.ceiling_table(self, population)
        return with_columns(table, [name for name in table if name != "df"], columns)

    def ranks(
        self, population: Population | None = None, level: str = OVERALL, *,
        ci_prob: float | None = None, rng: RandomState = None,
    ) -> pd.DataFrame:  # fmt: skip
        """Rank the machines, with confidence sets that admit ties.

        Returns
        -------
        pandas.DataFrame
            As returned by `alikely.benchmark.ranking.rank_sets`; ``note`` if no set is valid. Of
            scores of a result, ranks of the medians of the draws.

        Raises
        ------
        ValueError
            As in `alikely.benchmark.ranking.rank_sets`, or if there are fewer than two machines.
        """
        prob, _ = self.interval_options(ci_prob, None)
        ranks = tables.rank_table(self, population, level, prob, rng)
        reason = tables.not_valid(self.metric) if self.is_analytic else ""
        return ranks.assign(note=reason) if reason else ranks
