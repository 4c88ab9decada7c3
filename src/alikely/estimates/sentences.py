"""Results in sentences, as papers report them: estimate, interval, its method, its population."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from alikely._base.frames import Sort, known_columns
from alikely._base.intervals import CiKind, Intervals, bound_names, chosen_methods, percent
from alikely._base.names import MISSING, counted, listed, nearest, number, p_words, span

if TYPE_CHECKING:
    from alikely.estimates.result import Result, School
    from alikely.metrics import Metric

__all__ = [
    "METHODS",
    "PLACES",
    "available_methods",
    "bounds_of",
    "capital",
    "cautions",
    "chosen_interval",
    "interval_words",
    "is_wide",
    "merged_remarks",
    "method_words",
    "pair_words",
    "place_words",
    "population_words",
    "posterior_words",
    "result_sentence",
    "result_table",
    "shown_methods",
    "trial_words",
]

PLACES = ("dataset", "condition")
# Methods that ``"all"`` stands for, in the order of columns and rows.
METHODS = ("analytic", "bootstrap", "posterior")
# A number of its own, not one in a name.
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w-]|[.,]\d)")
# So many remarks a sentence names; the table has all.
MOST_NOTES = 3
CHAINS = " by Markov chains"


def available_methods(result: Result, ci_kind: str = "eti") -> list[School]:
    """Methods by which a result has intervals."""
    there: list[School] = ["analytic"]
    if "bootstrap" in result.data.children:
        there += ["bootstrap", "bca"]
    # Limits without draws are equal-tailed.
    if "posterior" in result.data.children or (result.without_draws and ci_kind == "eti"):
        there.append("posterior")
    return there


def chosen_interval(
    result: Result, interval: str | None, ci_kind: Any = None
) -> School | Literal[""]:
    """Choose the method whose interval is reported."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    if interval is None:
        known = [name for name in metric.recommended if name not in metric.unreliable]
        if result.few_clusters():
            known.sort(key=lambda name: name != "analytic")
        elif result.cluster_note():
            known.sort(key=lambda name: name == "posterior")
        return next((own for name in known for own in there if own == name), "")
    for method in there:
        if method == interval:
            return method
    raise ValueError(
        f"interval must be one that this result has ({listed(there)}); got {interval!r}"
        f"{nearest(interval, there)}"
    )


def shown_methods(result: Result, intervals: Intervals, ci_kind: Any = None) -> tuple[Any, ...]:
    """Methods whose intervals a table shows, of those that a result has."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    valid = [name for name in METHODS if name in there and name not in metric.unreliable]
    first = chosen_interval(result, None, ci_kind)
    shown = chosen_methods(intervals, (*METHODS, "bca"), valid, first)
    if intervals is None and "posterior" in there and metric.posterior_label != "posterior":
        # Of another quantity, such as a correlation corrected for noise.
        shown = tuple(dict.fromkeys((*shown, "posterior")))
    # Limits without draws that are named, but not equal-tailed, end in an error.
    return tuple(name for name in shown if name in available_methods(result))


def result_table(
    result: Result,
    school: School | Literal[""],
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    *,
    columns: Sequence[str] | None = None,
    sort: Sort = None,
    places: Sequence[str] | None = None,
) -> pd.DataFrame:
    """The columns of a summary that a page has room for."""
    prob, kind = result.interval_options(ci_prob, ci_kind)
    shown = [school] if school else []
    if columns is not None:
        every = result.summary(prob, kind, shown, columns="all", sort=sort)
        known_columns(every, columns, "columns")
        return every[list(columns)]
    frame = result.summary(prob, kind, shown, sort=sort)
    if places is None:
        places = [name for name in PLACES if frame[name].nunique() > 1]
    rests = result.metric.rests_on[0]
    if rests == "n_errors" and "n_errors_a" in frame:
        frame[rests] = frame["n_errors_a"] + frame["n_errors_b"]
    chosen = [*places, "observer_a", "observer_b", "n_trials"]
    chosen += [name for name in (rests,) if name in frame and name not in chosen]
    chosen += ["estimate", *(["posterior_median"] if school == "posterior" else [])]
    chosen += bounds_of(school, kind, prob) if school else ()
    return frame[[*chosen, *(["note"] if (frame["note"] != "").any() else [])]]


def bounds_of(school: str, ci_kind: str, ci_prob: float) -> tuple[str, str]:
    """Columns of a summary that hold the interval of a school."""
    return bound_names(school, {"analytic": "ci", "bca": "ci"}.get(school, ci_kind), ci_prob)


def result_sentence(
    result: Result,
    interval: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    digits: int = 2,
) -> str:
    """Say a result in a few sentences."""
    prob, kind = result.interval_options(ci_prob, ci_kind)
    school = chosen_interval(result, interval, kind)
    shown = [school] if school else []
    more = [name for name in ("p_null_bh",) if "p_null" in result.estimates]
    frame = result.summary(prob, kind, shown, columns=more).reset_index(drop=True)
    if not school:
        frame[[*bounds_of("analytic", kind, prob)]] = np.nan
    say = _Words(result, frame, school or "analytic", prob, kind, digits)
    return say.one() if len(frame) == 1 else say.many()


def interval_words(school: str, ci_kind: str, ci_prob: float) -> str:
    """What an interval is called."""
    if ci_kind == "hdi" and school not in ("analytic", "bca"):
        return f"{percent(ci_prob)} highest-density interval"
    return f"{percent(ci_prob)} {'credible interval' if school == 'posterior' else 'CI'}"


def method_words(result: Result, school: str, ci_kind: str) -> str:
    """How the interval of a school came about."""
    attrs = result.data.attrs
    cluster = f", clustered by {attrs['cluster']}" if attrs.get("cluster") else ""
    if school == "analytic":
        return f"analytic{cluster}"
    if school == "posterior":
        model = str(attrs["model"]).replace("_", " ")
        if result.without_draws:
            return f"posterior of the model '{model}', equal-tailed, without draws"
        n_draws, way = len(result.draws("posterior")), attrs["sampler"]
        draws = counted(n_draws, "exact draw" if way == "exact" else "draw")
        ends = "equal-tailed, " if ci_kind == "eti" else ""
        draws += CHAINS if way == "nuts" else ""
        knows = "" if result.cluster_note() else cluster
        return f"posterior of the model '{model}', {ends}{draws}{knows}"
    n = counted(len(result.draws("bootstrap")), "replicate")
    name = {"bca": "BCa bootstrap", "bootstrap": "percentile bootstrap"}[school]
    return f"{'bootstrap' if school == 'bootstrap' and ci_kind == 'hdi' else name}, {n}{cluster}"


def population_words(metric: Metric, school: str, attrs: Mapping[Any, Any]) -> str:
    """For whom an interval of an analysis with these attributes speaks."""
    if metric.counts != "margins":
        new = "items" if attrs.get("cluster") == "item" else "trials"
        return f"new {new} and these very observers (taken as fixed)"
    if school == "posterior":
        if attrs.get("sampler") == "moments":
            return "new items and new people like these"
        return "new items, answered by observers like these"
    return "new items and these very observers (taken as fixed)"


def pair_words(row: pd.Series, metric: Metric) -> str:
    """The observers of a row of a summary."""
    first, second = row["observer_a"], row["observer_b"]
    if first == second:
        # All readers of an entry, which are compared with one another.
        return str(first)
    return (
        f"{first} and {second}" if metric.symmetric else f"{second} with {first} as the reference"
    )


def place_words(row: pd.Series, places: Sequence[str]) -> str:
    """Data set and condition of a row of a summary, as far as they have names."""
    names = [str(row[name]) for name in places if str(row[name]) not in ("", "all")]
    return f" in {', '.join(names)}" if names else ""


def trial_words(frame: pd.DataFrame, result: Result) -> str:
    """The trials, or items, that rows of a summary rest on, and what else they do."""
    variable, heading = result.metric.rests_on
    unit = heading.removesuffix("s") if variable == "n_trials" else "trial"
    if unit == "trial" and result.counts_items():
        unit = "item"
    parts = [_range(frame["n_trials"], unit)]
    if variable in frame and variable != "n_trials":
        words = variable.removeprefix("n_").replace("_", " ").removesuffix("s")
        parts.append(_range(frame[variable], words))
    return f"{' and '.join(parts)}{' each' if len(frame) > 1 else ''}"


def posterior_words(metric: Metric, median: float, digits: int) -> str:
    """The median of a posterior, and of what it is if not of the estimand."""
    of = metric.posterior_label
    of = "posterior" if of == "posterior" else f"{of} posterior"
    return f"{of} median {number(median, digits, is_wide(metric))}"


def cautions(notes: pd.Series, what: str) -> str:
    """What the notes of a table warn of: nothing, or one sentence."""
    remarks = notes.str.split("; ").explode()
    counts = merged_remarks(remarks[remarks != ""].value_counts(sort=False).to_dict())
    counts = dict(sorted(counts.items(), key=lambda pair: -pair[1]))
    if not counts:
        return ""
    share = "" if len(notes) == 1 else f" of {len(notes):,} {what}"
    said = [
        f'"{remark}"' + (f" ({n:,}{share})" if share else "")
        for remark, n in list(counts.items())[:MOST_NOTES]
    ]
    left = len(counts) - len(said)
    more = f"; and {counted(left, 'more remark')} in the table" if left else ""
    return f"Caution: {', '.join(said)}{more}."


def merged_remarks(counts: Mapping[str, int]) -> dict[str, int]:
    """Remarks that differ in numbers alone made one, from the least number to the greatest."""
    alike: dict[str, list[str]] = {}
    for remark in counts:
        alike.setdefault(NUMBER.sub("#", remark), []).append(remark)
    found = {}
    for remarks in alike.values():
        ends = []
        for values in zip(*map(NUMBER.findall, remarks), strict=True):
            least, most = min(values, key=float), max(values, key=float)
            ends.append(least if float(least) == float(most) else f"{least} to {most}")
        parts = NUMBER.split(remarks[0])
        text = "".join(part + end for part, end in zip(parts, [*ends, ""], strict=True))
        found[text] = sum(counts[remark] for remark in remarks)
    return found


def capital(text: str) -> str:
    """A sentence begins with a capital letter; the rest stays."""
    return text[:1].upper() + text[1:]


def is_wide(metric: Metric) -> bool:
    """Whether an estimand can be beyond 1: then numbers keep the 0 before their point."""
    return not all(-1 <= bound <= 1 for bound in metric.bounds)


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
        self.lower, self.upper = bounds_of(school, kind, prob)

    def one(self) -> str:
        """About the only pair."""
        row = self.frame.iloc[0]
        text = f"the {self.metric.label} of {self.who(row)}{self.place(row)}"
        note = str(row["note"])
        known = not np.isnan(row[self.lower])
        if np.isnan(row["estimate"]):
            reason = self.result.undefined.iloc[0]
            note = note.removeprefix(reason).removeprefix("; ")
            text += f" is undefined: {reason} ({self.ground()})"
            # A posterior needs no estimate.
            text += f"; {self.interval(row)} ({self.method()})" if known else ""
        else:
            how = f"{self.method()}, over {self.ground()}" if known else f"over {self.ground()}"
            text += f" was {self.value(row['estimate'])}, {self.interval(row)} ({how})"
        parts = [f"{capital(text)}."]
        if known:
            parts.append(f"The interval speaks for {self.population()}{self.against(row)}.")
        p = row.get("p_null", np.nan)
        if not np.isnan(p):
            parts.append(f"Against independent observers, {p_words('p', p)}.")
        return " ".join(filter(None, [*parts, cautions(pd.Series([note]), "")]))

    def many(self) -> str:
        """About the extremes of many pairs, and how many there are."""
        frame, label = self.frame, self.metric.label
        what, where = self.what()
        value = frame["estimate"]
        defined = frame[value.notna()]
        if not len(defined):
            text = f"The {label} of all {what}{where} is undefined: {self.reasons()}."
            return f"{text} They have {self.ground()}."
        least, most = (
            defined.loc[at] for at in (defined["estimate"].idxmin(), defined["estimate"].idxmax())
        )
        if least["estimate"] == most["estimate"]:
            spread = f"was {self.value(value.min())} throughout"
        else:
            spread = (
                f"ranged from {self.extreme(least)} to {self.extreme(most)}; the median was "
                f"{self.value(value.median())}"
            )
        parts = [f"Over {what}{where}, {label} {spread}."]
        if len(defined) < len(frame):
            parts.append(f"Undefined: {len(frame) - len(defined)} ({self.reasons()}).")
        if frame[self.lower].isna().all():
            parts.append(f"No {interval_words(self.school, self.kind, self.prob)} is valid here.")
        else:
            parts.append(
                f"The intervals ({self.method()}, over {self.ground()}) speak for "
                f"{self.population()}; each holds alone, unadjusted for their number."
            )
        notes = frame["note"].where(value.notna(), "")
        parts += [self.tests(), cautions(notes, what.split()[-1])]
        return " ".join(filter(None, parts))

    def what(self) -> tuple[str, str]:
        """Count and kind of the pairs or comparisons."""
        frame = self.frame
        pairs = frame[["observer_a", "observer_b"]].drop_duplicates()
        n_pairs = len(pairs)
        places = [counted(frame["dataset"].nunique(), "data set")]
        places.append(counted(len(frame[list(PLACES)].drop_duplicates()), "condition"))
        several = [frame[name].nunique() > 1 for name in PLACES]
        inner = [place for place, more in zip(places, several, strict=True) if more]
        if n_pairs == len(frame):
            return f"{n_pairs:,} pairs", f" ({', '.join(inner)})" if inner else ""
        everybody = n_pairs == 1 and pairs["observer_a"].item() == pairs["observer_b"].item()
        whom = pair_words(pairs.iloc[0], self.metric) if everybody else counted(n_pairs, "pair")
        inner = [whom if everybody else f"{whom} of observers", *inner]
        return f"{len(frame):,} comparisons", f" ({', '.join(inner)})"

    def who(self, row: pd.Series) -> str:
        return pair_words(row, self.metric)

    def place(self, row: pd.Series) -> str:
        """Data set and condition, where they tell rows apart or are named at all."""
        table = self.frame
        several = [name for name in PLACES if table[name].nunique() > 1 or len(table) == 1]
        return place_words(row, several)

    def extreme(self, row: pd.Series) -> str:
        who = f"{self.who(row)}{self.place(row)}"
        return f"{self.value(row['estimate'])} ({who}; {self.interval(row)})"

    def value(self, value: float) -> str:
        return number(value, self.digits, self.zero)

    def interval(self, row: pd.Series) -> str:
        """The interval of a row, and what it is called; of a posterior its median too."""
        name = interval_words(self.school, self.kind, self.prob)
        ends = span(row[self.lower], row[self.upper], self.digits, self.zero)
        if ends == MISSING:
            return f"without {name}"
        if self.school != "posterior":
            return f"{name} {ends}"
        median = posterior_words(self.metric, row["posterior_median"], self.digits)
        return f"{median}, {name} {ends}"

    def ground(self) -> str:
        defined = self.frame[self.frame["estimate"].notna()]
        return trial_words(defined if len(defined) else self.frame, self.result)

    def method(self) -> str:
        return method_words(self.result, self.school, self.kind)

    def population(self) -> str:
        return population_words(self.metric, self.school, self.result.data.attrs)

    def against(self, row: pd.Series) -> str:
        """Where the interval lies beside what independent errors would give."""
        chance = self.metric.independent
        if chance is None:
            return ""
        given = f"{number(chance, 0, leading_zero=True)}, which independent errors would give"
        if row[self.lower] > chance:
            return f"; it lies above {given}"
        if row[self.upper] < chance:
            return f"; it lies below {given}"
        return f"; it holds {given}"

    def tests(self) -> str:
        """How many differ from independent observers when all are asked at once."""
        if "p_null_bh" not in self.frame:
            return ""
        p, level = self.frame["p_null_bh"], f"{1 - self.prob:.3g}".lstrip("0")
        told = int((p < 1 - self.prob).sum())
        verb = "differs" if told == 1 else "differ"
        return (
            f"With p values adjusted for their number (Benjamini and Hochberg), {told:,} of "
            f"{int(p.notna().sum()):,} {verb} from independent observers at the level {level}."
        )

    def reasons(self) -> str:
        counts = self.result.undefined.value_counts(sort=False)
        if len(counts) == 1:
            return str(counts.index[0])
        return "; ".join(f"{reason}, {n}" for reason, n in counts.items())


def _range(numbers: pd.Series, what: str) -> str:
    """Least and greatest of numbers, and of what."""
    least, most = int(numbers.min()), int(numbers.max())
    return counted(most, what) if least == most else f"{least:,} to {counted(most, what)}"
