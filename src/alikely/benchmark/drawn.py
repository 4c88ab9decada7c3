"""Scores of what was compared pair by pair: means, ranks and differences of joint posterior draws.

References
----------
.. [MRSW24] Mogstad, Romano, Shaikh, Wilhelm (2024). Inference for ranks with applications to
   mobility across neighbourhoods and academic achievement across countries.
   doi:10.1093/restud/rdad006
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.frames import As, Columns, Sort, given_as, ordered, with_columns
from alikely._base.intervals import CiKind, Intervals, bound_columns, chosen_methods
from alikely._base.names import counted
from alikely.benchmark import ranking
from alikely.benchmark.decomposition import pair_contrasts
from alikely.benchmark.layout import HUMANS, OVERALL
from alikely.benchmark.selection import differences_shown
from alikely.benchmark.tables import one_of
from alikely.benchmark.words import drawn_sentence, latex_of, notebook_of
from alikely.estimates.latex import Environment
from alikely.estimates.tree import Tree
from alikely.inference.intervals import describe_draws, interval

__all__ = ["BY_ENTRY", "DrawnScores"]

BY_ENTRY = ("level", "system")
POSTERIOR = ("posterior",)


@dataclasses.dataclass(frozen=True, repr=False)
class DrawnScores(Tree):
    """Scores of systems against a reference, as joint draws.

    Attributes
    ----------
    data : xarray.DataTree
        ``estimates``: ``estimate``, ``ceiling``, ``n_entries``, ``n_missing``, ``reason`` (level,
        system); ``posterior``: ``score`` (chain, draw, level, system). A level is a data set, or
        ``overall``, their unweighted mean. Systems are the machines and, where members of the
        reference are compared with one another, ``human-human``.
    """

    SCHEMA = MappingProxyType(
        {
            "estimates": dict.fromkeys(("estimate", "ceiling", "n_entries", "n_missing"), BY_ENTRY),
            "posterior": {"score": ("chain", "draw", *BY_ENTRY)},
        }
    )

    @property
    def models(self) -> list[str]:
        """Names of the machines."""
        return [name for name in self.estimates["system"].values.tolist() if name != HUMANS]

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets."""
        return [str(name) for name in self.estimates["level"].values if name != OVERALL]

    def draws(self, level: str = OVERALL) -> Floats:
        """Joint draws of all systems at one level.

        Parameters
        ----------
        level : str
            A data set, or ``"overall"``.

        Returns
        -------
        ndarray, shape (draw, system)

        Raises
        ------
        ValueError
            If the level is unknown.
        """
        one_of("level", level, [*self.datasets, OVERALL])
        values = self.data["posterior"].to_dataset()["score"].sel(level=level)
        return self._flat(values, "system").astype(np.float64)

    def summary(
        self,
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
        level : str or None
            A data set, ``"overall"``, or None for every level.
        intervals : None, "all" or sequence of {"posterior"}
            The posterior interval is the only one.
        columns : "all" or sequence of str, optional
            None shows all columns already.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.
        sort, as_
            Order of the rows and library of the table, as in `alikely.Result.summary`.

        Returns
        -------
        pandas.DataFrame
            ``level, system``; ``estimate``, the mean of the entries' estimates; ``ceiling``, of
            margins the mean of theirs: what the estimate would be without other differences than
            the noise of answers (root of the reliability); of the draws ``posterior_median``,
            ``se``, bounds and ``p_positive``; ``n_entries``; ``note``.

        Raises
        ------
        ValueError
            If an option is unknown or out of range.
        """
        shown = bool(chosen_methods(intervals, POSTERIOR, POSTERIOR, "posterior"))
        prob, kind = self.interval_options(ci_prob, ci_kind)
        levels = [*self.datasets, OVERALL] if level is None else [level]
        frames = []
        for name in levels:
            draws = self.draws(name)
            known = self.estimates.sel(level=name)
            bounds = np.full((draws.shape[1], 2), np.nan)
            defined = ~np.isnan(draws).all(axis=0)
            bounds[defined] = interval(draws[:, defined], prob, kind)
            found: dict[str, Any] = {
                "level": name,
                "system": known["system"].values,
                "estimate": known["estimate"].values,
                "ceiling": known["ceiling"].values,
                "posterior_median": np.median(draws, axis=0),
                "se": draws.std(axis=0, ddof=1),
                **(bound_columns("posterior", kind, prob, bounds) if shown else {}),
                "p_positive": np.where(defined, (draws > 0).mean(axis=0), np.nan),
                "n_entries": known["n_entries"].values,
                "note": [reason or self.missing_note for reason in known["reason"].values],
            }
            frame = pd.DataFrame(found)
            frames.append(frame[(frame["n_entries"] > 0) | (frame["note"] != "")])
        table = ordered(pd.concat(frames, ignore_index=True), sort)
        return given_as(with_columns(table, [*table], columns), as_)

    def sentence(
        self,
        level: str = OVERALL,
        *,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        digits: int = 2,
    ) -> str:
        """Say the scores as papers report them, numbers as APA has them.

        Parameters
        ----------
        level : str
            A data set, or ``"overall"``.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.
        digits : int
            Decimals.

        Returns
        -------
        str
            The lowest and the highest score with their intervals, for whom these speak, and how
            many machines are told apart when all are judged at once.

        Raises
        ------
        ValueError
            If an option is unknown or out of range.
        """
        return drawn_sentence(self, level, ci_prob, ci_kind, digits)

    def to_latex(
        self,
        level: str | None = OVERALL,
        *,
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
        level, ci_prob, ci_kind, sort
            As in `summary`.
        columns : sequence of str, optional
            Of the summary; by default levels where there are several, system, estimate, the
            posterior with its interval, and notes, which follow the table.
        digits, caption, label, environment
            As in `alikely.estimates.latex_table`.

        Returns
        -------
        str
            As from `alikely.estimates.latex_table`.

        Raises
        ------
        ValueError
            If an option or a column is unknown, or out of range.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        frame = self.summary(level, ci_prob=prob, ci_kind=kind, sort=sort)
        return latex_of(
            self.metric, frame, "posterior", kind, prob, columns,
            digits=digits, caption=caption, label=label, environment=environment,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        """What notebooks show: the first scores, with intervals and notes."""
        prob, kind = self.interval_options(None, None)
        return notebook_of(self, self.summary(), "posterior", kind, prob)

    def __repr__(self) -> str:
        parts = [
            counted(len(self.models), "machine"),
            counted(len(self.datasets), "data set"),
            counted(self.draws().shape[0], "posterior draw"),
        ]
        return f"<DrawnScores {self.metric.name}: {', '.join(parts)}>"

    def contrast(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str] | None = None,
        *,
        level: str = OVERALL,
        rope: tuple[float, float] | None = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
    ) -> pd.DataFrame:
        """Difference of two scores, or of the mean scores of two sets of systems.

        Parameters
        ----------
        first, second : str or sequence of str
            Names of systems. Without `second` the mean of the first.
        level : str
            A data set, or ``"overall"``.
        rope : (float, float), optional
            Region of practical equivalence.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.DataFrame
            The row ``posterior`` of `alikely.contrast`.

        Raises
        ------
        ValueError
            If a name is unknown, both sides are the same, an option is out of range, or the
            draws do not belong together.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        weights = self._mean_of(first)
        if second is not None:
            weights = weights - self._mean_of(second)
            if not weights.any():
                raise ValueError(f"first and second are the same systems ({first!r})")
        if (weights != 0).sum() > 1:
            self._require_joint()
        used = weights != 0
        row = describe_draws(self.draws(level)[:, used] @ weights[used], prob, kind, rope)
        return pd.DataFrame.from_dict({"posterior": row}, orient="index")

    def differences(
        self,
        level: str = OVERALL,
        *,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
    ) -> pd.DataFrame:
        """Compare all pairs of machines.

        Parameters
        ----------
        level : str
            A data set, or ``"overall"``.
        intervals : None, "all" or sequence of {"pointwise", "simultaneous"}
            None shows simultaneous intervals, which are adjusted for all differences.
        columns : "all" or sequence of str, optional
            None shows all columns already.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given; `ci_kind` of the pointwise interval.

        Returns
        -------
        pandas.DataFrame
            One row per pair: ``system, other, difference`` (the median of its draws), ``se``;
            ``pointwise`` interval of this difference alone; ``simultaneous`` interval, which holds
            for all pairs at once: that of the largest standardised difference over draws;
            ``p_positive``; ``note``.

        Raises
        ------
        ValueError
            If the level is unknown, fewer than two machines have a score, or draws do not belong
            together.
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        names, draws = self._machines(level)
        apart = draws @ pair_contrasts(len(names)).T
        centre, sd = np.median(apart, axis=0), apart.std(axis=0, ddof=1)
        told = sd > 0
        wide = np.full(len(sd), np.nan)
        if told.any():
            largest = np.abs((apart[:, told] - centre[told]) / sd[told]).max(axis=1)
            wide[told] = np.quantile(largest, prob) * sd[told]
        alone = interval(apart, prob, kind)
        alone[~told] = np.nan
        least, most = self.metric.bounds
        together = np.stack([centre - wide, centre + wide], axis=-1)
        together = np.clip(together, least - most, most - least)
        j, k = np.triu_indices(len(names), 1)
        single, joint = (np.prod(np.sign(b), axis=1) > 0 for b in (alone, together))
        few = f"told apart alone, not among all {len(j)} differences"
        flat = "the same draws: the difference has no variance"
        table = pd.DataFrame(
            {
                "system": np.array(names, dtype=object)[j],
                "other": np.array(names, dtype=object)[k],
                "difference": centre,
                "se": np.where(told, sd, np.nan),
                **bound_columns("pointwise", kind, prob, alone),
                **bound_columns("simultaneous", "ci", prob, together),
                "p_positive": (apart > 0).mean(axis=0),
                "note": np.where(~told, flat, np.where(single & ~joint, few, "")),
            }
        )
        return differences_shown(table, intervals, columns)

    def ranks(self, level: str = OVERALL, *, ci_prob: float | None = None) -> pd.DataFrame:
        """Ranking of the machines with confidence sets that admit ties [MRSW24]_.

        Parameters
        ----------
        level : str
            A data set, or ``"overall"``.
        ci_prob : float, optional
            Probability of the sets; as in the analysis if not given.

        Returns
        -------
        pandas.DataFrame
            As from `alikely.benchmark.ranking.rank_sets`, of medians of the draws, by whose largest
            standardised difference claims are made.

        Raises
        ------
        ValueError
            As in `differences` and `alikely.benchmark.ranking.rank_sets`.
        """
        prob, _ = self.interval_options(ci_prob, None)
        names, draws = self._machines(level)
        centre = np.median(draws, axis=0)
        return ranking.rank_sets(
            centre, np.cov(draws.T), names, ci_prob=prob, deviations=draws - centre
        )

    def _machines(self, level: str) -> tuple[list[str], Floats]:
        """Machines that have a score, and their draws."""
        self._require_joint()
        draws = self.draws(level)
        systems = self.estimates["system"].values.tolist()
        there = [
            i for i, s in enumerate(systems) if s != HUMANS and not np.isnan(draws[:, i]).any()
        ]
        if len(there) < 2:
            raise ValueError(
                f"differences need two machines with a score, got {len(there)} at level {level!r}"
            )
        return [systems[i] for i in there], draws[:, there]

    def _mean_of(self, names: str | Sequence[str]) -> Floats:
        systems = self.estimates["system"].values.tolist()
        chosen = [names] if isinstance(names, str) else list(names)
        weights = np.zeros(len(systems))
        for name in chosen:
            one_of("a system", name, systems)
            weights[systems.index(name)] += 1 / len(chosen)
        return weights

    def _require_joint(self) -> None:
        if not int(self.data.attrs["joint"]):
            raise ValueError(
                "posterior drawn pair by pair, so that differences and ranks have no joint draws; "
                "of margins use model='moments' or 'strengths', else sampler='exact'"
            )
