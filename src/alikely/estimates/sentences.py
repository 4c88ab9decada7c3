"""Results in sentences, as papers report them: estimate, interval, its method, for whom it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alikely._base.frames import Sort, known_columns
from alikely._base.names import listed, nearest
from alikely.estimates.latex import number, span
from alikely.stats.intervals import CiKind, bound_names, percent

if TYPE_CHECKING:
    from alikely.estimates.result import Result, School
    from alikely.metrics import Metric

__all__ = [
    "capital",
    "cautions",
    "chosen_interval",
    "interval_words",
    "is_wide",
    "result_sentence",
    "result_table",
    "where_of",
]

# Which interval stands for a result, if none is asked for.
PREFERRED: tuple[School, ...] = ("bootstrap", "posterior", "analytic")
PLACES = ("dataset", "condition")
# So many remarks a sentence names; the table has all.
MOST_NOTES = 3
# For whom the posterior of margins speaks, where that is known.
OF_MARGINS = {"moments": "for new items and new people like these"}


def chosen_interval(result: Result, interval: str | None) -> School:
    """The school whose interval is reported, once it is known to be there.

    Raises
    ------
    ValueError
        If there is no such school, or the result has no draws of it.
    """
    there: list[School] = ["analytic"]
    if "bootstrap" in result.data.children:
        there += ["bootstrap", "bca"]
    if "posterior" in result.data.children:
        there.append("posterior")
    if interval is None:
        return next(school for school in PREFERRED if school in there)
    for school in there:
        if school == interval:
            return school
    raise ValueError(
        f"interval must be one that this result has ({listed(there)}); got {interval!r}"
        f"{nearest(interval, there)}"
    )


def result_table(
    result: Result,
    school: School,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    columns: list[str] | None = None,
    sort: Sort = None,
) -> pd.DataFrame:
    """The columns of a summary that a page has room for.

    Parameters
    ----------
    result : Result
    school : {"analytic", "bootstrap", "bca", "posterior"}
    ci_prob, ci_kind, sort
        As in `alikely.Result.summary`.
    columns : list of str, optional
        Of the summary; by default the places that differ, observers, what the estimate rests on,
        the estimate, its interval and the note.

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    ValueError
        If a column is unknown.
    """
    prob, kind = result.interval_options(ci_prob, ci_kind)
    frame = result.summary(prob, kind, [school], sort=sort)
    if columns is not None:
        known_columns(frame, columns, "columns")
        return frame[columns]
    places = [name for name in PLACES if frame[name].nunique() > 1]
    rests = result.metric.rests_on[0]
    if rests == "n_errors" and "n_errors_a" in frame:
        frame[rests] = frame["n_errors_a"] + frame["n_errors_b"]
    chosen = [*places, "observer_a", "observer_b", "n_trials"]
    chosen += [name for name in (rests,) if name in frame and name not in chosen]
    chosen += ["estimate", *(["posterior_median"] if school == "posterior" else [])]
    chosen += _bounds(school, kind, prob)
    return frame[[*chosen, *(["note"] if (frame["note"] != "").any() else [])]]


def result_sentence(
    result: Result,
    interval: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    digits: int = 2,
) -> str:
    """Say a result in a few sentences.

    Parameters
    ----------
    result : Result
    interval, ci_prob, ci_kind, digits
        As in `alikely.Result.sentence`.

    Returns
    -------
    str
    """
    school = chosen_interval(result, interval)
    prob, kind = result.interval_options(ci_prob, ci_kind)
    frame = result.summary(prob, kind, [school]).reset_index(drop=True)
    say = _Words(result, frame, school, prob, kind, digits)
    return say.one() if len(frame) == 1 else say.many()


def interval_words(school: str, ci_kind: str, ci_prob: float) -> str:
    """What an interval is called.

    Examples
    --------
    >>> interval_words("posterior", "hdi", 0.9), interval_words("bootstrap", "eti", 0.95)
    ('90 % highest-density interval', '95 % CI')
    """
    if ci_kind == "hdi" and school not in ("analytic", "bca"):
        return f"{percent(ci_prob)} highest-density interval"
    return f"{percent(ci_prob)} {'credible interval' if school == 'posterior' else 'CI'}"


def cautions(notes: pd.Series, what: str) -> str:
    """What the notes of a table warn of: nothing, or one sentence.

    Parameters
    ----------
    notes : pandas.Series of str
    what : str
        What a row is, in the plural.

    Returns
    -------
    str
        Of many notes the most frequent ones.

    Examples
    --------
    >>> cautions(pd.Series(["", "few errors", "few errors"]), "pairs")
    'Caution: few errors (2 of 3 pairs).'
    """
    counts = notes[notes != ""].value_counts(sort=False).sort_values(ascending=False, kind="stable")
    if not len(counts):
        return ""
    if len(notes) == 1:
        return f"Caution: {counts.index[0]}."
    said = [f"{note} ({n} of {len(notes)} {what})" for note, n in counts.head(MOST_NOTES).items()]
    left = len(counts) - len(said)
    more = f"; and {left} more {'remark' if left == 1 else 'remarks'} in the table" if left else ""
    return f"Caution: {'; '.join(said)}{more}."


def capital(text: str) -> str:
    """A sentence begins with a capital letter; the rest stays."""
    return text[:1].upper() + text[1:]


def is_wide(metric: Metric) -> bool:
    """Whether an estimand can be beyond 1: then numbers keep the 0 before their point."""
    return not all(-1 <= bound <= 1 for bound in metric.bounds)


def where_of(frame: pd.DataFrame) -> str:
    """How many data sets and conditions a table is of, where they are several."""
    counts = {"data sets": frame["dataset"].nunique(), "conditions": _n_conditions(frame)}
    said = [f"{n} {what}" for what, n in counts.items() if n > 1]
    return ", ".join(said)


class _Words:
    """What the sentences about one pair and about many share."""

    def __init__(
        self,
        result: Result,
        frame: pd.DataFrame,
        school: School,
        prob: float,
        kind: CiKind,
        digits: int,
    ) -> None:
        self.result, self.frame, self.school = result, frame, school
        self.prob, self.kind, self.digits = prob, kind, digits
        self.metric = result.metric
        self.zero = is_wide(self.metric)
        self.lower, self.upper = _bounds(school, kind, prob)

    def one(self) -> str:
        """About the only pair."""
        row = self.frame.iloc[0]
        head = f"the {self.metric.label} of {self.who(row)}{self.place(row)}"
        ground = self.ground()
        note = str(row["note"])
        if np.isnan(row["estimate"]):
            reason, _, note = note.partition("; ")
            text = f"{head} is undefined: {reason} ({ground})"
            if self.school == "posterior" and not np.isnan(row[self.lower]):
                text += f"; {self.interval(row)} ({self.method()}, {self.population()})"
        else:
            told = "; ".join(filter(None, [f"{self.method()} over {ground}", self.population()]))
            text = f"{head} was {self.value(row['estimate'])}, {self.interval(row)} ({told})"
            text += self.against(row)
        return " ".join(filter(None, [f"{capital(text)}.", cautions(pd.Series([note]), "")]))

    def many(self) -> str:
        """About the extremes of many pairs, and how many there are."""
        frame, label = self.frame, self.metric.label
        n_pairs = len(frame[["observer_a", "observer_b"]].drop_duplicates())
        where = where_of(frame)
        what = f"{len(frame)} pairs" if n_pairs == len(frame) else f"{len(frame)} comparisons"
        inner = [f"{n_pairs} pairs of observers"] if n_pairs < len(frame) else []
        what += f" ({', '.join([*inner, *([where] if where else [])])})" if inner or where else ""
        value = frame["estimate"]
        defined = frame[value.notna()]
        if not len(defined):
            text = f"The {label} of all {what} is undefined: {self.reasons()}."
            return " ".join(filter(None, [text, f"It was asked of {self.ground()}."]))
        least, most = (
            defined.loc[at] for at in (defined["estimate"].idxmin(), defined["estimate"].idxmax())
        )
        if least["estimate"] == most["estimate"]:
            spread = f"was {self.value(value.min())} throughout"
        else:
            spread = (
                f"ranged from {self.value(least['estimate'])}, {self.interval(least)}, "
                f"{self.of(least)} to {self.value(most['estimate'])}, {self.interval(most)}, "
                f"{self.of(most)}; median {self.value(value.median())}"
            )
        parts = [f"Over {what}, {label} {spread}."]
        if len(defined) < len(frame):
            parts.append(f"Undefined: {len(frame) - len(defined)} ({self.reasons()}).")
        speaks = "; ".join(filter(None, [self.population(), "each for its own pair alone"]))
        parts.append(f"Intervals: {self.method()} over {self.ground()}; {speaks}.")
        notes = frame["note"].where(value.notna(), "")
        parts += [self.tests(), cautions(notes, "rows")]
        return " ".join(filter(None, parts))

    def who(self, row: pd.Series) -> str:
        first, second = row["observer_a"], row["observer_b"]
        if self.metric.symmetric:
            return f"{first} and {second}"
        return f"{second} with {first} as the reference"

    def place(self, row: pd.Series) -> str:
        """Data set and condition, where they tell rows apart or are named at all."""
        table = self.frame
        several = [name for name in PLACES if table[name].nunique() > 1 or len(table) == 1]
        names = [str(row[name]) for name in several if str(row[name]) not in ("", "all")]
        return f" in {', '.join(names)}" if names else ""

    def of(self, row: pd.Series) -> str:
        return f"({self.who(row)}{self.place(row)})"

    def value(self, value: float) -> str:
        return number(value, self.digits, self.zero)

    def interval(self, row: pd.Series) -> str:
        """The interval of a row, and what it is called; of a posterior its median too."""
        name = interval_words(self.school, self.kind, self.prob)
        ends = span(row[self.lower], row[self.upper], self.digits, self.zero)
        if ends == "–":
            return f"without {name}"
        if self.school != "posterior":
            return f"{name} {ends}"
        of = self.metric.posterior_label
        of = "posterior" if of == "posterior" else f"{of} posterior"
        return f"{of} median {self.value(row['posterior_median'])}, {name} {ends}"

    def ground(self) -> str:
        """The trials, or items, and what the estimate rests on besides."""
        variable, heading = self.metric.rests_on
        unit = heading if variable == "n_trials" else "trials"
        parts = [_counted(self.frame["n_trials"], unit)]
        if variable in self.frame and variable != "n_trials":
            words = variable.removeprefix("n_").replace("_", " ")
            parts.append(_counted(self.frame[variable], words))
        each = " each" if len(self.frame) > 1 else ""
        return f"{', '.join(parts)}{each}"

    def method(self) -> str:
        """How the interval came about."""
        attrs = self.result.data.attrs
        cluster = f", clustered by {attrs['cluster']}" if attrs.get("cluster") else ""
        if self.school == "analytic":
            return f"analytic interval{cluster}"
        if self.school == "posterior":
            n, sampler = len(self.result.draws("posterior")), attrs["sampler"]
            how = {"nuts": "by Markov chains", "exact": "exact"}.get(sampler, f"by {sampler}")
            return f"posterior of the model {attrs['model']}, {n:,} draws, {how}"
        n = len(self.result.draws("bootstrap"))
        name = {"bca": "BCa bootstrap", "bootstrap": "percentile bootstrap"}[self.school]
        name = "bootstrap" if self.school == "bootstrap" and self.kind == "hdi" else name
        return f"{name}, {n:,} replicates{cluster},"

    def population(self) -> str:
        """For whom the interval speaks, as far as that is known."""
        if self.metric.counts != "margins":
            return "for new trials and these observers (fixed)"
        if self.school != "posterior":
            return "for new items and these observers (fixed)"
        return OF_MARGINS.get(str(self.result.data.attrs["sampler"]), "")

    def against(self, row: pd.Series) -> str:
        """Where the interval lies beside what independent errors would give."""
        chance = self.metric.independent
        if chance is None or np.isnan(row[self.lower]):
            return ""
        given = f"what independent errors would give ({number(chance, 0, leading_zero=True)})"
        if row[self.lower] > chance:
            return f"; all of the interval is above {given}"
        if row[self.upper] < chance:
            return f"; all of the interval is below {given}"
        return f"; the interval holds {given}"

    def tests(self) -> str:
        """How many differ from independent observers when all are asked at once."""
        if "p_null_bh" not in self.frame:
            return ""
        p = self.frame["p_null_bh"]
        told, level = int((p < 1 - self.prob).sum()), number(1 - self.prob, 2)
        return (
            f"Adjusted for their number (Benjamini and Hochberg), {told} of {int(p.notna().sum())} "
            f"differ from independent observers at the level {level}."
        )

    def reasons(self) -> str:
        undefined = self.result.undefined
        counts = undefined.value_counts(sort=False)
        if len(counts) == 1:
            return str(counts.index[0])
        return "; ".join(f"{reason}, {n}" for reason, n in counts.items())


def _bounds(school: School, kind: CiKind, prob: float) -> tuple[str, str]:
    return bound_names(school, {"analytic": "ci", "bca": "ci"}.get(school, kind), prob)


def _n_conditions(frame: pd.DataFrame) -> int:
    return len(frame[list(PLACES)].drop_duplicates()) if frame["condition"].nunique() > 1 else 1


def _counted(numbers: pd.Series, what: str) -> str:
    """Least and greatest of numbers, and of what."""
    least, most = int(numbers.min()), int(numbers.max())
    return f"{least:,} {what}" if least == most else f"{least:,} to {most:,} {what}"
