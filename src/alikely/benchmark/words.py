"""Scores as papers and notebooks show them: sentences, tables for LaTeX, first rows as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alikely._base.frames import ROWS, html_of, known_columns
from alikely._base.intervals import CiKind, percent
from alikely._base.names import MISSING, counted, listed, number, p_words, span
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL
from alikely.benchmark.selection import is_plug_in, methods_shown
from alikely.benchmark.tables import Population, levels_met, schools_of, too_few_humans
from alikely.benchmark.verdicts import EqualityTest
from alikely.estimates.latex import Environment, latex_table, printed
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
    from alikely.benchmark.drawn import DrawnScores

__all__ = [
    "SPEAKS",
    "benchmark_sentence",
    "ceiling_sentence",
    "drawn_sentence",
    "equality_sentence",
    "latex_of",
    "notebook_of",
    "rank_sentence",
]

# For whom intervals speak, and what stays as it is.
SPEAKS: dict[Population, str] = {
    "images": "new images and these humans (humans and machines fixed)",
    "humans": "new humans and these images (humans random; images and machines fixed)",
    "crossed": "new images and new humans (both random; machines fixed)",
}
HEADINGS = {"ceiled": "share of ceiling", "n_entries": "entries"}


def _speaks(cluster: str, population: Population) -> str:
    """For whom intervals speak; new clusters stand for new images where they are drawn."""
    new = f"new clusters of images ({cluster})" if cluster else "new images"
    return SPEAKS[population].replace("new images", new)


def benchmark_sentence(
    scores: Benchmark,
    population: Population,
    level: str,
    interval: str | None,
    ci_prob: float | None,
    ci_kind: CiKind | None,
    digits: int,
) -> str:
    """Say the scores of a benchmark."""
    methods = methods_shown(scores, population, None if interval is None else [interval])
    school = methods[0] if methods else ""
    prob, kind = scores.interval_options(ci_prob, ci_kind)
    frame = scores.summary(
        population, level, intervals=methods, columns=["centre"], ci_prob=prob, ci_kind=kind
    )
    say = _Words(scores.metric, school, kind, prob, digits)
    n_humans, fewest, n_images = _behind(scores, level)
    machines = frame[frame["system"].isin(scores.models)]
    parts = [say.scores(machines, counted(n_humans, "human"), _where(scores, level))]
    known = frame[frame["estimate"].notna()].set_index("system")
    # Of the humans just named: those whom machines were met by, where there are any.
    for name in [name for name in (CEILING, HUMANS) if name in known.index][:1]:
        row = known.loc[name]
        reached = ", ".join(filter(None, [say.value(row["estimate"]), say.interval(row)]))
        parts.append(f"Among themselves the humans reached {reached}.")
    ground = f"over {counted(n_images, 'image')}"
    if level == OVERALL and len(levels_met(scores)) > 1:
        # Of all levels the number is their sum.
        ground += " in all, in each data set those of a condition on average"
        ground += "," if fewest < n_humans else ""
    else:
        ground += " in a condition on average"
    if fewest < n_humans:
        ground += f" and at least {counted(fewest, 'human')} in each"
    # Of new humans two of them tell nothing: there are no intervals to speak of.
    few = too_few_humans(scores, population, level)
    if school and not few:
        method = _method(scores, school, population, kind)
        if school == "analytic" and not np.allclose(machines["centre"], machines["estimate"]):
            method += " about scores with a little added to the counts of each pair"
        parts.append(
            say.speaks(method, ground, _speaks(scores.data.attrs.get("cluster", ""), population))
        )
    if not is_plug_in(scores.metric) and machines["estimate"].notna().sum() > 1 and not few:
        p = scores.differences(population, level, ci_prob=prob)["p_value_simultaneous"].dropna()
        parts.append(_told(int((p < 1 - prob).sum()), len(p), prob))
    parts.append(cautions(machines["note"], "machines"))
    return " ".join(filter(None, parts))


def drawn_sentence(
    scores: DrawnScores,
    level: str,
    ci_prob: float | None,
    ci_kind: CiKind | None,
    digits: int,
) -> str:
    """Say scores that are joint draws."""
    prob, kind = scores.interval_options(ci_prob, ci_kind)
    frame = scores.summary(level, ci_prob=prob, ci_kind=kind)
    say = _Words(scores.metric, "posterior", kind, prob, digits)
    attrs = scores.data.attrs
    machines = frame[frame["system"].isin(scores.models)]
    parts = [say.scores(machines, str(attrs["reference"]), _where(scores, level))]
    model = str(attrs.get("model", "")).replace("_", " ")
    name = f"posterior of the model '{model}'" if model else "posterior"
    name += ", equal-tailed" if kind == "eti" else ""
    entries = machines["n_entries"]
    ground = f"from {int(entries.min())} to {counted(int(entries.max()), 'entry', 'entries')}"
    if entries.nunique() == 1:
        ground = f"from {counted(int(entries.iloc[0]), 'entry', 'entries')}"
    ground += " of the result each" if len(machines) > 1 else " of the result"
    population = population_words(scores.metric, "posterior", attrs)
    draws = counted(len(scores.draws(level)), "draw")
    parts.append(say.speaks(f"{name}, {draws}", ground, population))
    if int(attrs["joint"]) and machines["posterior_median"].notna().sum() > 1:
        apart = scores.differences(level, ci_prob=prob, ci_kind=kind)
        lower, upper = (apart[name] for name in apart if name.startswith("simultaneous"))
        told = (lower > 0) | (upper < 0)
        parts.append(_told(int(told.sum()), int(lower.notna().sum()), prob))
    parts.append(cautions(machines["note"], "machines"))
    return " ".join(filter(None, parts))


def equality_sentence(test: EqualityTest, population: Population, cluster: str = "") -> str:
    """Say the test that all scores are equal."""
    return (
        f"That all {test.n_systems} machines have the same score: {p_words('p', test.p_value)}, by "
        "the difference that is largest beside its standard error "
        f"({test.system} less {test.other}), which is judged among all of them. It speaks for "
        f"{_speaks(cluster, population)}."
    )


def rank_sentence(
    ranks: pd.DataFrame, population: Population, ci_prob: float, cluster: str = ""
) -> str:
    """Say who leads a ranking, and who is tied with the top."""
    n, first = len(ranks), ranks.iloc[0]
    tied = ranks.loc[ranks["tied_with_top"], "system"].tolist()
    others = [str(name) for name in tied if name != first["system"]]
    if not others:
        told = "no other machine is tied with it"
    elif len(tied) == n:
        told = f"all {n} machines are tied with it"
    else:
        verb = "is" if len(others) == 1 else "are"
        told = f"{len(others)} of the other {n - 1} {verb} tied with it ({listed(others)})"
    return (
        f"The highest score is that of {first['system']}; {told}. The sets hold the true ranks of "
        f"all {n} machines at once in {percent(ci_prob)} of experiments; they speak for "
        f"{_speaks(cluster, population)}."
    )


def ceiling_sentence(
    scores: Benchmark, population: Population, level: str = OVERALL, digits: int = 2
) -> str:
    """Say what humans reach among themselves, and how near machines come to it."""
    prob, kind = scores.interval_options(None, None)
    zero = is_wide(scores.metric)
    row = scores.ceilings(population).set_index("level").loc[level]
    said = [number(row[name], digits, zero) for name in ("human_human", "human_human_se")]
    n_humans = int(row["n_humans"])
    n_met = _behind(scores, level)[0]
    every = f" of all {len(scores.datasets)} data sets" if n_met < n_humans else ""
    text = (
        f"The {counted(n_humans, 'human')}{every} reached {said[0]} among themselves "
        f"(standard error {said[1]})"
    )
    if not np.isnan(row["p_human_human"]):
        text += f"; that this is above 0, {p_words('p', row['p_human_human'])} (one-sided)"
    text += f". It speaks for {_speaks(scores.data.attrs.get('cluster', ''), population)}."
    low, high = (number(row[f"consensus_{end}"], digits, zero) for end in ("lower", "upper"))
    if MISSING not in (low, high):
        text += (
            f" A system without noise of its own could reach between {low} and {high} (consensus "
            f"bounds); these speak for {_speaks(scores.data.attrs.get('cluster', ''), 'images')}."
        )
    frame = scores.summary(population, level, ci_prob=prob, ci_kind=kind)
    shares = frame[frame["ceiled"].notna()]
    ends = bounds_of("ceiled", "ci", prob)
    if len(shares) and ends[0] in shares:
        lower, upper = (shares[name] for name in ends)
        reached = int(((lower <= 1) & (upper >= 1)).sum())
        least, most = (
            number(value, digits, leading_zero=True)
            for value in (shares["ceiled"].min(), shares["ceiled"].max())
        )
        whose = f"{reached or 'none'} of their intervals hold{'' if reached > 1 else 's'}"
        met = ""
        if every:
            ceiling = float(scores.estimates["estimate"].sel(level=level, system=CEILING))
            met = (
                f" ({number(ceiling, digits, zero)}, of the {counted(n_met, 'human')} of data sets "
                "with machines)"
            )
        text += (
            f" Shares of the ceiling{met} ranged over {counted(len(shares), 'machine')} from "
            f"{least} to {most}; {whose} 1 ({percent(prob)}, each alone, unadjusted for their "
            "number)."
        )
    return text


def latex_of(
    metric: Metric,
    frame: pd.DataFrame,
    school: str,
    kind: CiKind,
    prob: float,
    columns: Sequence[str] | None,
    *,
    digits: int,
    caption: str | None,
    label: str | None,
    environment: Environment | None,
) -> str:
    """Lay scores out as a table for LaTeX."""
    if columns is not None:
        known_columns(frame, columns, "columns")
    return latex_table(
        _shown(frame, school, kind, prob) if columns is None else frame[list(columns)],
        digits=digits,
        caption=caption,
        label=label,
        environment=environment,
        headings={**HEADINGS, "estimate": metric.label},
        leading_zero=is_wide(metric) or None,
    )


def notebook_of(
    scores: Benchmark | DrawnScores, frame: pd.DataFrame, school: str, kind: CiKind, prob: float
) -> str:
    """What notebooks show of scores: those of the humans, then the first machines."""
    own = frame["system"].isin([HUMANS, CEILING])
    turned = pd.concat([frame[own], frame[~own]], ignore_index=True)
    cells, numbers, _ = printed(
        _shown(turned.head(ROWS), school, kind, prob),
        headings={**HEADINGS, "estimate": scores.metric.label},
        leading_zero=is_wide(scores.metric) or None,
    )
    return html_of(
        repr(scores)[1:-1],
        cells,
        numbers=numbers,
        n_rows=len(frame),
        more="summary() has all, with every interval",
    )


def _shown(frame: pd.DataFrame, school: str, kind: CiKind, prob: float) -> pd.DataFrame:
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
        said = f"without {name}" if ends == MISSING else f"{name} {ends}"
        if "posterior_median" not in row or np.isnan(row["posterior_median"]):
            return said
        return f"{posterior_words(self.metric, row['posterior_median'], self.digits)}, {said}"

    def scores(self, machines: pd.DataFrame, reference: str, where: str) -> str:
        """The score of one machine, or the extremes of several."""
        label, defined = self.metric.label, machines[machines["estimate"].notna()]
        n = counted(len(machines), "machine")
        if not len(defined):
            return f"No score of {label} with {reference}{where} is defined, of {n}."
        if len(machines) == 1:
            row = defined.iloc[0]
            reached = ", ".join(filter(None, [self.value(row["estimate"]), self.interval(row)]))
            return f"The {label} of {row['system']} with {reference}{where} was {reached}."
        least, most = (
            defined.loc[at] for at in (defined["estimate"].idxmin(), defined["estimate"].idxmax())
        )
        ends = [
            f"{self.value(row['estimate'])} "
            f"({'; '.join(filter(None, [row['system'], self.interval(row)]))})"
            for row in (least, most)
        ]
        over = f"{n}, {len(defined)} with a score," if len(defined) < len(machines) else n
        return capital(
            f"{label} with {reference}{where} ranged over {over} from {' to '.join(ends)}."
        )

    def speaks(self, method: str, ground: str, population: str) -> str:
        return (
            f"The intervals ({method}, {ground}) speak for {population}; each holds alone, "
            "unadjusted for their number."
        )


def _method(scores: Benchmark, school: str, population: Population, kind: CiKind) -> str:
    """How the interval of a school came about."""
    if school == "analytic":
        return "analytic, by Student's t"
    own, variable = next(
        (own, variable) for own, variable in schools_of(scores, population).items() if own == school
    )
    n = len(scores.draws(own, variable))
    if school == "bootstrap":
        name = "bootstrap" if kind == "hdi" else "percentile bootstrap"
        return f"{name}, {counted(n, 'replicate')}"
    name = "posterior" if school == "posterior" else "posterior of the cohort model"
    return f"{name}, {'equal-tailed, ' if kind == 'eti' else ''}{counted(n, 'draw')}"


def _where(scores: Benchmark | DrawnScores, level: str) -> str:
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
    """How many machines are told apart when all are judged at once; nothing, if none could be."""
    if not of:
        return ""
    told = f"{n or 'none'} {'are' if n > 1 else 'is'} told from 0"
    if of == 1:
        told = f"is {'' if n else 'not '}told from 0 ({percent(prob)} interval)"
        return f"The difference between the machines {told}."
    return (
        f"Of {of:,} differences between machines, {told} when all are judged at once "
        f"(simultaneous {percent(prob)} intervals)."
    )
