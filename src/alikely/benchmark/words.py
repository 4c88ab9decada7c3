"""Words for scores: sentences, verdicts, tables for LaTeX and notebooks, from templates."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from alikely._base.frames import ROWS, html_of
from alikely._base.intervals import CiKind, bound_names, percent
from alikely._base.names import MISSING, counted, listed, nearest, number, p_words, span
from alikely.benchmark.layout import CEILING, HUMAN, HUMANS, OVERALL, Population, in_kinds
from alikely.benchmark.tables import (
    drawn_methods,
    is_plug_in,
    levels_met,
    methods_shown,
    population_of,
    too_few_humans,
)
from alikely.estimates.latex import printed
from alikely.estimates.sentences import (
    bounds_of,
    capital,
    cautions,
    interval_words,
    is_wide,
    population_words,
    posterior_words,
)
from alikely.metrics import Metric

if TYPE_CHECKING:
    from alikely.benchmark.benchmark import Benchmark

__all__ = [
    "SPEAKS",
    "Verdict",
    "ceiling_sentence",
    "equality_sentence",
    "headings_of",
    "notebook_of",
    "rank_sentence",
    "score_sentence",
    "shown",
    "verdict_of",
]

# What intervals generalize to, and what stays as it is.
SPEAKS: dict[Population, str] = {
    "images": "new images and these humans (humans and machines fixed)",
    "humans": "new humans and these images (humans random; images and machines fixed)",
    "crossed": "new images and new humans (both random; machines fixed)",
}
TEMPLATES = {
    "none": "No score of {label} with {reference}{where} is defined, of {n}.",
    "one": "The {label} of {system} with {reference}{where} was {reached}.",
    "range": "{label} with {reference}{where} ranged over {over} from {least} to {most}.",
    "humans": "Among themselves the humans reached {reached}.",
    "intervals": "The intervals ({method}, {ground}) generalize to {population}; they are not "
    "adjusted for multiple comparisons.",
    "difference": "The difference between the machines {differs} significantly from 0 ({prob} "
    "interval).",
    "differences": "Of {of:,} differences between machines, {n} {differ} significantly from 0 "
    "(simultaneous {prob} intervals).",
    "equality": "A test of equal scores of all {n} machines gave {p}, based on the largest "
    "standardized difference ({system} minus {other}) and adjusted for all differences. It "
    "generalizes to {population}.",
    "ranks": "The highest score is that of {first}; {tied}. The sets contain the true ranks of "
    "all {n} machines simultaneously in {prob} of experiments; they generalize to {population}.",
    "ceiling": "The {humans}{every} reached {value} among themselves (standard error {se}){test}. "
    "This generalizes to {population}.",
    "consensus": " A system without response noise could reach between {low} and {high} "
    "(consensus bounds), which generalize to {population}.",
    "shares": " The ratio of the score to the ceiling{met} ranged over {n} from {least} to {most}; "
    "{whose} 1 ({prob}, not adjusted for multiple comparisons).",
    "identical": "{head}: both gave the same answers, there is no difference to judge.",
    "verdict": "{head}: {difference}. For {population}, it {tested}",
    "adjusted": "; after adjustment for all {n} differences, it {tested}",
    "above": ". Probability that it is above 0: {p}",
    "undecided": ", which depends mainly on the prior, because no difference is significant after "
    "adjustment",
}


def _speaks(scores: Benchmark, population: Population) -> str:
    """What intervals generalize to; new clusters replace new images where they are resampled."""
    cluster = scores.data.attrs.get("cluster", "")
    new = f"new clusters of images ({cluster})" if cluster else "new images"
    return SPEAKS[population].replace("new images", new)


def score_sentence(
    scores: Benchmark,
    population: Population | None,
    level: str,
    interval: str | None,
    ci_prob: float | None,
    ci_kind: CiKind | None,
    digits: int,
) -> str:
    """Say the scores of a benchmark."""
    asked, population = population, population_of(scores, population)
    methods = methods_shown(scores, population, None if interval is None else [interval])
    prob, kind = scores.interval_options(ci_prob, ci_kind)
    frame = scores.summary(
        asked, level, intervals=methods, columns="all", ci_prob=prob, ci_kind=kind
    )
    method = (*methods, "")[0]
    say = _Words(scores.metric, method, kind, prob, digits)
    machines = frame[frame["system"].isin(scores.models)]
    attrs = scores.data.attrs
    few = too_few_humans(scores, population, level) if scores.is_analytic else ""
    if scores.is_analytic:
        n_humans, fewest, n_images = _behind(scores, level)
        parts = [say.scores(machines, counted(n_humans, "human"), _where(scores, level))]
        known = frame[frame["estimate"].notna()].set_index("system")
        # Of the humans just named: those whom machines were met by, where there are any.
        for name in [name for name in (CEILING, HUMANS) if name in known.index][:1]:
            parts.append(TEMPLATES["humans"].format(reached=say.reached(known.loc[name])))
        ground = _images_words(scores, level, n_humans, fewest, n_images)
        target = _speaks(scores, population)
        judged = not is_plug_in(scores.metric) and not few
    else:
        parts = [say.scores(machines, str(attrs["reference"]), _where(scores, level))]
        entries = [int(machines["n_entries"].min()), int(machines["n_entries"].max())]
        fewest_entries = "" if entries[0] == entries[1] else f"{entries[0]} to "
        ground = f"from {fewest_entries}{counted(entries[1], 'entry', 'entries')} of the result"
        ground += " each" if len(machines) > 1 else ""
        target = population_words(scores.metric, "posterior", attrs)
        judged = bool(attrs["joint"])
    # Two humans tell nothing of new ones: there are no intervals to describe.
    if method and not few:
        how = _method(scores, method, population, kind)
        if method == "analytic" and not np.allclose(machines["centre"], machines["estimate"]):
            how += " about scores with pseudocounts in the cells of each pair"
        parts.append(TEMPLATES["intervals"].format(method=how, ground=ground, population=target))
    if judged and machines["estimate"].notna().sum() > 1:
        apart = scores.differences(asked, level, ci_prob=prob, ci_kind=kind)
        lower, upper = (apart[name] for name in bound_names("simultaneous", "ci", prob))
        parts.append(_told(int(((lower > 0) | (upper < 0)).sum()), lower.notna().sum(), prob))
    parts.append(cautions(machines["note"], "machines"))
    return " ".join(filter(None, parts))


def _images_words(scores: Benchmark, level: str, n_humans: int, fewest: int, n_images: int) -> str:
    """The images and humans that scores are based on."""
    ground = f"over {counted(n_images, 'image')}"
    if level == OVERALL and len(levels_met(scores)) > 1:
        # Of all levels the number is their sum.
        ground += " in all, in each data set those of a condition on average"
        ground += "," if fewest < n_humans else ""
    else:
        ground += " in a condition on average"
    if fewest < n_humans:
        ground += f" and at least {counted(fewest, 'human')} in each"
    return ground


def equality_sentence(scores: Benchmark, test: pd.Series, population: Population) -> str:
    """Say the test that all scores are equal, as returned by `Benchmark.equality`."""
    return TEMPLATES["equality"].format(
        n=test["n_systems"], p=p_words("p", test["p_value"]), system=test["system"],
        other=test["other"], population=_speaks(scores, population),
    )  # fmt: skip


def rank_sentence(
    scores: Benchmark, ranks: pd.DataFrame, population: Population, ci_prob: float
) -> str:
    """Say which machine leads a ranking, and which are tied with it."""
    n, first = len(ranks), ranks.iloc[0]
    names = ranks.loc[ranks["tied_with_top"], "system"].tolist()
    others = [str(name) for name in names if name != first["system"]]
    if not others:
        tied = "no other machine is tied with it"
    elif len(names) == n:
        tied = f"all {n} machines are tied with it"
    else:
        verb = "is" if len(others) == 1 else "are"
        tied = f"{len(others)} of the other {n - 1} {verb} tied with it ({listed(others)})"
    return TEMPLATES["ranks"].format(
        first=first["system"], tied=tied, n=n, prob=percent(ci_prob),
        population=_speaks(scores, population),
    )  # fmt: skip


def ceiling_sentence(
    scores: Benchmark, population: Population, level: str = OVERALL, digits: int = 2
) -> str:
    """Say the consistency of humans, and how near machines come to it."""
    prob, kind = scores.interval_options(None, None)
    zero = is_wide(scores.metric)
    row = scores.ceilings(population).set_index("level").loc[level]
    n_humans, n_met = int(row["n_humans"]), _behind(scores, level)[0]
    every = f" of all {len(scores.datasets)} data sets" if n_met < n_humans else ""
    test = ""
    if not np.isnan(row["p_human_human"]):
        test = f"; that this is above 0, {p_words('p', row['p_human_human'])} (one-sided)"
    text = TEMPLATES["ceiling"].format(
        humans=counted(n_humans, "human"), every=every, test=test,
        value=number(row["human_human"], digits, zero),
        se=number(row["human_human_se"], digits, zero), population=_speaks(scores, population),
    )  # fmt: skip
    low, high = (number(row[f"consensus_{end}"], digits, zero) for end in ("lower", "upper"))
    if MISSING not in (low, high):
        text += TEMPLATES["consensus"].format(
            low=low, high=high, population=_speaks(scores, "images")
        )
    frame = scores.summary(population, level, ci_prob=prob, ci_kind=kind)
    shares = frame[frame["ceiled"].notna()]
    ends = bounds_of("ceiled", "ci", prob)
    if not len(shares) or ends[0] not in shares:
        return text
    reached = int(((shares[ends[0]] <= 1) & (shares[ends[1]] >= 1)).sum())
    met = ""
    if every:
        ceiling = number(scores.values(level)[scores.systems.index(CEILING)], digits, zero)
        met = f" ({ceiling}, of the {counted(n_met, 'human')} of data sets with machines)"
    least, most = (
        number(x, digits, leading_zero=True)
        for x in (shares["ceiled"].min(), shares["ceiled"].max())
    )
    return text + TEMPLATES["shares"].format(
        met=met, n=counted(len(shares), "machine"), least=least, most=most, prob=percent(prob),
        whose=f"{reached or 'none'} of their intervals contain{'' if reached > 1 else 's'}",
    )  # fmt: skip


def headings_of(metric: Metric) -> dict[str, str]:
    """Headings of a summary where they are not its columns."""
    return {"ceiled": "share of ceiling", "n_entries": "entries", "estimate": metric.label}


def notebook_of(scores: Benchmark) -> str:
    """What notebooks show of scores: those of the humans, then the first machines."""
    prob, kind = scores.interval_options(None, None)
    methods = methods_shown(scores, population_of(scores, None), None)
    frame = scores.summary(intervals=methods)
    own = frame["system"].isin([HUMANS, CEILING])
    turned = pd.concat([frame[own], frame[~own]], ignore_index=True)
    cells, numbers, _ = printed(
        shown(turned.head(ROWS), (*methods, "")[0], kind, prob),
        headings=headings_of(scores.metric),
        leading_zero=is_wide(scores.metric) or None,
    )
    return html_of(
        repr(scores)[1:-1],
        cells,
        numbers=numbers,
        n_rows=len(frame),
        more="summary() has all, with every interval",
    )


def shown(frame: pd.DataFrame, school: str, kind: CiKind, prob: float) -> pd.DataFrame:
    """The columns of a summary that a page has room for."""
    several = ["level"] if frame["level"].nunique() > 1 else []
    median = ["posterior_median"] if school == "posterior" and "posterior_median" in frame else []
    ends = [*bounds_of(school, kind, prob), *bounds_of("ceiled", "ci", prob)]
    chosen = [*several, "system", "estimate", *median, *(end for end in ends[:2] if end in frame)]
    if "ceiled" in frame and frame["ceiled"].notna().any():
        chosen += ["ceiled", *(end for end in ends[2:] if end in frame)]
    chosen += [name for name in ("accuracy", "n_entries") if name in frame]
    return frame[[*chosen, *(["note"] if (frame["note"] != "").any() else [])]]


class _Words:
    """How scores and their intervals are said."""

    def __init__(self, metric: Metric, school: str, kind: CiKind, prob: float, digits: int) -> None:
        self.metric, self.school, self.kind, self.prob = metric, school, kind, prob
        self.digits, self.zero = digits, is_wide(metric)
        self.lower, self.upper = bounds_of(school, kind, prob)

    def value(self, value: float) -> str:
        return number(value, self.digits, self.zero)

    def interval(self, row: pd.Series) -> str:
        """The interval in words; nothing where no method is valid."""
        if not self.school:
            return ""
        name = interval_words(self.school, self.kind, self.prob)
        ends = span(row[self.lower], row[self.upper], self.digits, self.zero)
        text = f"without {name}" if ends == MISSING else f"{name} {ends}"
        if "posterior_median" not in row or np.isnan(row["posterior_median"]):
            return text
        return f"{posterior_words(self.metric, row['posterior_median'], self.digits)}, {text}"

    def reached(self, row: pd.Series) -> str:
        """A score with its interval."""
        return ", ".join(filter(None, [self.value(row["estimate"]), self.interval(row)]))

    def scores(self, machines: pd.DataFrame, reference: str, where: str) -> str:
        """The score of one machine, or the extremes of several."""
        defined = machines[machines["estimate"].notna()]
        n = counted(len(machines), "machine")
        known: dict[str, Any] = {
            "label": self.metric.label, "reference": reference, "where": where, "n": n,
        }  # fmt: skip
        if not len(defined):
            return TEMPLATES["none"].format(**known)
        if len(machines) == 1:
            row = defined.iloc[0]
            return TEMPLATES["one"].format(**known, system=row["system"], reached=self.reached(row))
        ends = [
            f"{self.value(row['estimate'])} "
            f"({'; '.join(filter(None, [row['system'], self.interval(row)]))})"
            for row in (
                defined.loc[defined["estimate"].idxmin()],
                defined.loc[defined["estimate"].idxmax()],
            )
        ]
        over = f"{n}, {len(defined)} with a score," if len(defined) < len(machines) else n
        return capital(TEMPLATES["range"].format(**known, over=over, least=ends[0], most=ends[1]))


def _method(scores: Benchmark, school: str, population: Population, kind: CiKind) -> str:
    """How the interval of a method came about."""
    if school == "analytic":
        return "analytic, by Student's t"
    own, variable = next(
        (own, variable) for own, variable in drawn_methods(scores, population).items()
        if own == school
    )  # fmt: skip
    n = len(scores.draws(own, variable))
    if school == "bootstrap":
        name = "bootstrap" if kind == "hdi" else "percentile bootstrap"
        return f"{name}, {counted(n, 'replicate')}"
    name = "posterior"
    if model := str(scores.data.attrs.get("model", "")).replace("_", " "):
        name += f" of the model '{model}'"
    return f"{name}, {'equal-tailed, ' if kind == 'eti' else ''}{counted(n, 'draw')}"


def _where(scores: Benchmark, level: str) -> str:
    """The data set of a level, or over how many it is a mean."""
    if level != OVERALL:
        return f" in {level}"
    n = len(scores.datasets)
    if n < 2:
        return ""
    met = levels_met(scores)
    if len(met) == n:
        return f" (means over {n} data sets)"
    if len(met) == 1:
        return f" (in {met[0]}, the one of {n} data sets that has machines)"
    return f" (means over those {len(met)} of {n} data sets that have machines)"


def _behind(scores: Benchmark, level: str) -> tuple[int, int, int]:
    """Humans behind the scores of machines, the fewest in any part, and images of a condition."""
    at = scores.estimates.sel(level=level)
    own = levels_met(scores) if level == OVERALL else []
    if not own or len(own) == len(scores.datasets):
        return int(at["n_humans"]), int(at["fewest_humans"]), int(at["n_images"])
    parts = scores.estimates.sel(level=own)
    images = int(parts["n_images"].sum())
    return int(at["n_humans_met"]), int(parts["fewest_humans"].min()), images


def _told(n: int, of: int, prob: float) -> str:
    """How many differences are significant after adjustment; nothing, if none could be."""
    if not of:
        return ""
    if of == 1:
        differs = "differs" if n else "does not differ"
        return TEMPLATES["difference"].format(differs=differs, prob=percent(prob))
    differ = "differ" if n > 1 else "differs"
    return TEMPLATES["differences"].format(of=of, n=n or "none", differ=differ, prob=percent(prob))


# One difference


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A difference of two scores with its tests; as a string, one statement.

    Attributes
    ----------
    first, second : str
        Machines, or groups of them.
    metric, level : str
        What was scored, and where.
    population : {"images", "humans", "crossed"}
        What the intervals generalize to.
    difference, se, df : float
        Score of the first minus that of the second, its standard error and degrees of freedom.
    interval, simultaneous : (float, float)
        Unadjusted interval, and interval adjusted for all differences.
    p_value, p_value_simultaneous : float
        Below ``1 - ci_prob`` if and only if the one and the other interval excludes 0.
    p_positive : float
        Probability that the true difference is above 0, from a normal prior about 0 whose
        standard deviation is learned from all differences.
    undecided : bool
        No two scores differ significantly after adjustment: `p_positive` depends on its prior.
    n_differences : int
        Number of differences that the adjustment is for.
    ci_prob : float
        Probability of the intervals.
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
        head = capital(f"{self.metric} with the humans{where}, {self.first} minus {self.second}")
        if np.isnan(self.se):
            return TEMPLATES["identical"].format(head=head)
        text = TEMPLATES["verdict"].format(
            head=head,
            difference=_plain(self.difference),
            population=SPEAKS[self.population].split(" (")[0],
            tested=self._tested(self.p_value, self.interval),
        )
        if self.n_differences > 1:
            text += TEMPLATES["adjusted"].format(
                n=self.n_differences,
                tested=self._tested(self.p_value_simultaneous, self.simultaneous),
            )
        text += TEMPLATES["above"].format(p=_probability(self.p_positive))
        return f"{text}{TEMPLATES['undecided'] if self.undecided else ''}."

    def _tested(self, p: float, ends: tuple[float, float]) -> str:
        differs = "differs" if p <= 1 - self.ci_prob else "does not differ"
        return (
            f"{differs} significantly from 0 ({percent(self.ci_prob)} interval {_plain(ends[0])} "
            f"to {_plain(ends[1])}, p {_probability(p, equals='= ')})"
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
    differences: pd.DataFrame, first: str, second: str, *, ci_prob: float, **known: Any
) -> Verdict:
    """Judge one of the differences of a table."""
    names = list(dict.fromkeys([*differences["system"], *differences["other"]]))
    for name in (first, second):
        if name not in names:
            raise ValueError(
                f"no machine with a score is named {name!r}; those are {listed(names)}"
                f"{nearest(name, names)}; of other rows, see Benchmark.contrast"
            )
    if first == second:
        raise ValueError(f"first and second are the same ({first!r}); their difference is 0")
    turned = names.index(first) > names.index(second)
    pair = (second, first) if turned else (first, second)
    at = (differences["system"] == pair[0]) & (differences["other"] == pair[1])
    row = differences[at].iloc[0]
    interval, simultaneous = (
        tuple(float(row[name]) for name in bound_names(method, "ci", ci_prob))
        for method in ("pointwise", "simultaneous")
    )
    difference, p_positive = float(row["difference"]), float(row["p_positive"])
    if turned:
        difference, p_positive = -difference, 1 - p_positive
        interval, simultaneous = ((-ends[1], -ends[0]) for ends in (interval, simultaneous))
    return Verdict(
        first=first,
        second=second,
        difference=difference,
        interval=(interval[0], interval[1]),
        simultaneous=(simultaneous[0], simultaneous[1]),
        p_positive=p_positive,
        se=float(row["se"]),
        df=float(row["df"]),
        p_value=float(row["p_value"]),
        p_value_simultaneous=float(row["p_value_simultaneous"]),
        undecided=bool((differences["p_value_simultaneous"].dropna() > 1 - ci_prob).all()),
        n_differences=len(differences),
        ci_prob=ci_prob,
        **known,
    )
