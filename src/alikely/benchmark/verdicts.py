"""One difference of a benchmark, judged once: intervals, tests and probability that agree.

References
----------
.. [T49] Tukey (1949). Comparing individual means in the analysis of variance. doi:10.2307/3001913
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pandas as pd

from alikely._base.intervals import bound_names, percent
from alikely._base.names import listed, nearest
from alikely.benchmark.decomposition import Population
from alikely.benchmark.layout import OVERALL
from alikely.benchmark.spoken import HUMAN, in_kinds

__all__ = ["EqualityTest", "Verdict", "equality_of", "verdict_of"]

DRAWN: dict[Population, str] = {
    "images": "for new images and these humans",
    "humans": "for new humans and these images",
    "crossed": "for new images and new humans",
}


class EqualityTest(NamedTuple):
    """Test that all scores are equal, by the largest of their differences [T49]_.

    Attributes
    ----------
    p_value : float
        In [0, 1]: below .05 if and only if a simultaneous 95 % interval is without 0.
    system, other : str
        The two that are furthest apart, measured in standard errors.
    difference : float
        Of their scores.
    n_systems : int
        How many are compared.
    note : str
        Why the test is not valid for the metric; else empty.
    """

    p_value: float
    system: str
    other: str
    difference: float
    n_systems: int
    note: str = ""


def equality_of(differences: pd.DataFrame, note: str = "") -> EqualityTest:
    """Are all equal? By all differences at once [T49]_."""
    p = differences["p_value_simultaneous"]
    if p.isna().all():
        raise ValueError("no difference between the scores has variance: identical answers")
    row = differences.loc[p.idxmin()]
    n = len(set(differences["system"]) | set(differences["other"]))
    return EqualityTest(
        float(row["p_value_simultaneous"]),
        str(row["system"]),
        str(row["other"]),
        float(row["difference"]),
        n,
        note,
    )


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A difference of two scores with all that is said of it; as a string, one statement.

    Attributes
    ----------
    first, second : str
        Machines, or groups of them.
    metric, level : str
        What was scored, and where.
    population : {"images", "humans", "crossed"}
        What is thought of as drawn anew.
    difference : float
        Score of the first less that of the second.
    se, df : float
        Standard error and degrees of freedom of Student's intervals about the centre, the
        difference with something added to the cells.
    interval, simultaneous : (float, float)
        For this difference had it alone been asked for, and for all differences at once.
    p_value, p_value_simultaneous : float
        Below ``1 - ci_prob`` if and only if the one and the other interval is without 0.
    p_positive : float
        Probability that the true difference is above 0, from a normal prior about 0 whose
        standard deviation is learned from all differences.
    undecided : bool
        No two scores are told apart among all: `p_positive` leans on its prior.
    n_differences : int
        How many hold at once.
    ci_prob : float
    humans : str
        Kind of those whom machines were scored against.
    note : str
        Why the interval and the tests are not valid for the metric; else empty.
    """

    first: str
    second: str
    metric: str
    level: str
    population: Population
    difference: float
    se: float
    df: float
    interval: tuple[float, float]
    simultaneous: tuple[float, float]
    p_value: float
    p_value_simultaneous: float
    p_positive: float
    undecided: bool
    n_differences: int
    ci_prob: float
    humans: str = HUMAN
    note: str = ""

    def __str__(self) -> str:
        text = in_kinds(self._said(), self.humans)
        return f"{text} Caution: {self.note}." if self.note else text

    def _said(self) -> str:
        where = "" if self.level == OVERALL else f" in {self.level}"
        head = f"{self.metric} with the humans{where}, {self.first} less {self.second}"
        head = head[:1].upper() + head[1:]
        if np.isnan(self.se):
            return f"{head}: both gave the same answers, there is no difference to judge."
        alone = self._judged("alone", self.p_value, self.interval)
        text = f"{head}: {_plain(self.difference)}. {DRAWN[self.population].capitalize()}, {alone}"
        if self.n_differences > 1:
            together = self._judged(
                f"among all {self.n_differences} differences",
                self.p_value_simultaneous,
                self.simultaneous,
            )
            text += f"; {together}"
        lean = ", which leans on its prior: no two scores are told apart among all"
        return (
            f"{text}. Probability that it is above 0: {_probability(self.p_positive)}"
            f"{lean if self.undecided else ''}."
        )

    def _judged(self, how: str, p: float, ends: tuple[float, float]) -> str:
        told = "told" if p <= 1 - self.ci_prob else "not told"
        return (
            f"{how} {told} from 0 ({percent(self.ci_prob)} interval {_plain(ends[0])} to "
            f"{_plain(ends[1])}, p {_probability(p, equals='= ')})"
        )


def _plain(value: float) -> str:
    """Three decimals, or as many as show that it is not 0."""
    digits = 3 if abs(value) >= 0.0005 or value == 0 else 6
    return f"{value:+.{digits}f}"


def _probability(p: float, *, equals: str = "") -> str:
    if p < 0.001:
        return "< .001"
    if p > 0.999:
        return "> .999"
    return equals + f"{p:.3f}".lstrip("0")


def verdict_of(
    differences: pd.DataFrame,
    first: str,
    second: str,
    *,
    metric: str,
    level: str,
    population: Population,
    ci_prob: float,
    humans: str = HUMAN,
    note: str = "",
) -> Verdict:
    """Judge one of the differences of a table."""
    known = list(dict.fromkeys([*differences["system"], *differences["other"]]))
    for name in (first, second):
        if name not in known:
            raise ValueError(
                f"no machine with a score is named {name!r}; those are {listed(known)}"
                f"{nearest(name, known)}; of other rows, see Benchmark.contrast"
            )
    if first == second:
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    turned = known.index(first) > known.index(second)
    pair = (second, first) if turned else (first, second)
    at = (differences["system"] == pair[0]) & (differences["other"] == pair[1])
    row = differences[at].iloc[0]
    ends = {
        school: tuple(float(row[name]) for name in bound_names(school, "ci", ci_prob))
        for school in ("pointwise", "simultaneous")
    }
    difference, p_positive = float(row["difference"]), float(row["p_positive"])
    if turned:
        difference, p_positive = -difference, 1 - p_positive
        ends = {school: (-upper, -lower) for school, (lower, upper) in ends.items()}
    return Verdict(
        first=first,
        second=second,
        metric=metric,
        level=level,
        population=population,
        difference=difference,
        se=float(row["se"]),
        df=float(row["df"]),
        interval=(ends["pointwise"][0], ends["pointwise"][1]),
        simultaneous=(ends["simultaneous"][0], ends["simultaneous"][1]),
        p_value=float(row["p_value"]),
        p_value_simultaneous=float(row["p_value_simultaneous"]),
        p_positive=p_positive,
        undecided=bool((differences["p_value_simultaneous"].dropna() > 1 - ci_prob).all()),
        n_differences=len(differences),
        ci_prob=ci_prob,
        humans=humans,
        note=note,
    )
