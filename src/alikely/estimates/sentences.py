"""Results in sentences, as papers report them: estimate, interval, its method, its population."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from alikely._base.intervals import CiKind, Intervals, bound_names, chosen_methods, percent
from alikely._base.names import MISSING, counted, listed, nearest, number, p_words, span
from alikely.estimates.remarks import cluster_note, counts_items, fewest_clusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from alikely.estimates.result import Result
    from alikely.metrics import Metric

Method = Literal["analytic", "bootstrap", "bca", "posterior"]
PLACES = ("dataset", "condition")
# Methods of ``"all"``, in the order of columns and rows.
METHODS = ("analytic", "bootstrap", "posterior")
# A number of its own, not one in a name.
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w-]|[.,]\d)")
# So many remarks a sentence names; the table has all.
MOST_NOTES = 3
CHAINS = " by MCMC"


def available_methods(result: Result, ci_kind: str = "eti") -> list[Method]:
    """Methods with intervals in a result."""
    there: list[Method] = ["analytic"]
    if "bootstrap" in result.data.children:
        there += ["bootstrap", "bca"]
    # Limits computed from counts are equal-tailed.
    if "posterior" in result.data.children or (result.without_draws and ci_kind == "eti"):
        there.append("posterior")
    return there


def chosen_interval(
    result: Result, interval: str | None = None, ci_kind: Any = None
) -> Method | Literal[""]:
    """Choose the method whose interval is reported."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    if interval is None:
        known = [name for name in metric.recommended if name not in metric.unreliable]
        if fewest_clusters(result):
            known.sort(key=lambda name: name != "analytic")
        elif cluster_note(result):
            known.sort(key=lambda name: name == "posterior")
        return next((own for name in known for own in there if own == name), "")
    for how in there:
        if how == interval:
            return how
    raise ValueError(
        f"interval must be one that this result has ({listed(there)}); got {interval!r}"
        f"{nearest(interval, there)}"
    )


def shown_methods(result: Result, intervals: Intervals, ci_kind: Any = None) -> tuple[Any, ...]:
    """Methods of a result whose intervals a table shows."""
    metric = result.metric
    there = available_methods(result, result.interval_options(None, ci_kind)[1])
    valid = [name for name in METHODS if name in there and name not in metric.unreliable]
    first = chosen_interval(result, None, ci_kind)
    shown = chosen_methods(intervals, (*METHODS, "bca"), valid, first)
    if intervals is None and "posterior" in there and metric.posterior_label != "posterior":
        # It describes another quantity, such as a noise-corrected correlation.
        shown = tuple(dict.fromkeys((*shown, "posterior")))
    # Limits computed from counts that are requested, but not equal-tailed, raise an error.
    return tuple(name for name in shown if name in available_methods(result))


def bounds_of(method: str, ci_kind: str, ci_prob: float) -> tuple[str, str]:
    """Columns of a summary with the interval of a method."""
    return bound_names(method, {"analytic": "ci", "bca": "ci"}.get(method, ci_kind), ci_prob)


def result_sentence(
    result: Result,
    interval: str | None = None,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
    digits: int = 2,
) -> str:
    """Describe a result in a few sentences."""
    prob, kind = result.interval_options(ci_prob, ci_kind)
    method = chosen_interval(result, interval, kind)
    shown = [method] if method else []
    more = [name for name in ("p_null_bh",) if "p_null" in result.estimates]
    frame = result.summary(ci_prob=prob, ci_kind=kind, intervals=shown, columns=more).reset_index(
        drop=True
    )
    if not method:
        frame[[*bounds_of("analytic", kind, prob)]] = np.nan
    say = Phrases(result.metric, method or "analytic", prob, kind, digits)
    how = method_words(result, say.method, kind)
    return (_one if len(frame) == 1 else _many)(say, result, frame, how)


def interval_words(method: str, ci_kind: str, ci_prob: float) -> str:
    """Name of an interval."""
    if ci_kind == "hdi" and method not in ("analytic", "bca"):
        return f"{percent(ci_prob)} highest-density interval"
    return f"{percent(ci_prob)} {'credible interval' if method == 'posterior' else 'CI'}"


def method_words(result: Result, method: str, ci_kind: str) -> str:
    """Words for the method of an interval."""
    attrs = result.data.attrs
    cluster = f", clustered by {attrs['cluster']}" if attrs.get("cluster") else ""
    if method == "analytic":
        return f"analytic{cluster}"
    if method == "posterior":
        model = str(attrs["model"]).replace("_", " ")
        if result.without_draws:
            return f"posterior of the generative model '{model}', equal-tailed, without draws"
        n_draws, way = len(result.draws("posterior")), attrs["sampler"]
        draws = counted(n_draws, "exact draw" if way == "exact" else "draw")
        ends = "equal-tailed, " if ci_kind == "eti" else ""
        draws += CHAINS if way == "nuts" else ""
        knows = "" if cluster_note(result) else cluster
        return f"posterior of the generative model '{model}', {ends}{draws}{knows}"
    n = counted(len(result.draws("bootstrap")), "replicate")
    name = {"bca": "BCa bootstrap", "bootstrap": "percentile bootstrap"}[method]
    return f"{'bootstrap' if method == 'bootstrap' and ci_kind == 'hdi' else name}, {n}{cluster}"


def population_words(metric: Metric, method: str, attrs: Mapping[Any, Any]) -> str:
    """What an interval generalizes to."""
    if metric.counts != "margins":
        new = "items" if attrs.get("cluster") == "item" else "trials"
        return f"new {new} with these observers (observers fixed)"
    if method == "posterior":
        if attrs.get("sampler") == "moments":
            return "new items and new humans"
        return "new items with observers like these"
    return "new items with these observers (observers fixed)"


def pair_words(row: pd.Series, metric: Metric) -> str:
    """The observers of a row of a summary."""
    first, second = row["observer_a"], row["observer_b"]
    if first == second:
        # An entry of all readers.
        return str(first)
    return (
        f"{first} and {second}" if metric.symmetric else f"{second} with {first} as the reference"
    )


def place_words(row: pd.Series, places: Sequence[str]) -> str:
    """Data set and condition of a row of a summary, if named."""
    names = [str(row[name]) for name in places if str(row[name]) not in ("", "all")]
    return f" in {', '.join(names)}" if names else ""


def trial_words(frame: pd.DataFrame, result: Result) -> str:
    """The trials or items, and other counts, that rows of a summary are based on."""
    variable, heading = result.metric.rests_on
    unit = heading.removesuffix("s") if variable == "n_trials" else "trial"
    if unit == "trial" and counts_items(result):
        unit = "item"
    parts = [_range(frame["n_trials"], unit)]
    if variable in frame and variable != "n_trials":
        words = variable.removeprefix("n_").replace("_", " ").removesuffix("s")
        parts.append(_range(frame[variable], words))
    return f"{' and '.join(parts)}{' each' if len(frame) > 1 else ''}"


def cautions(notes: pd.Series, what: str) -> str:
    """The notes of a table in one sentence; empty without notes."""
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
    more = f"; and {counted(left, 'more note')} in the table" if left else ""
    return f"Caution: {', '.join(said)}{more}."


def merged_remarks(counts: Mapping[str, int]) -> dict[str, int]:
    """Combine notes that differ only in numbers, with the range of numbers."""
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
    """Capitalize the first letter."""
    return text[:1].upper() + text[1:]


class Phrases:
    """Phrases about the rows of one table."""

    def __init__(self, metric: Metric, method: str, prob: float, kind: CiKind, digits: int) -> None:
        self.metric, self.method, self.digits = metric, method, digits
        self.prob, self.kind = prob, kind
        self.lower, self.upper = bounds_of(method, kind, prob)

    def value(self, value: float) -> str:
        """A number as it is printed."""
        return number(value, self.digits)

    def interval(self, row: pd.Series) -> str:
        """The interval of a row, and what it is called; of a posterior its median too."""
        if not self.method:
            return ""
        name = interval_words(self.method, self.kind, self.prob)
        ends = span(row[self.lower], row[self.upper], self.digits)
        if ends == MISSING:
            return f"without {name}"
        median = row.get("posterior_median", np.nan)
        if self.method != "posterior" or np.isnan(median):
            return f"{name} {ends}"
        label = self.metric.posterior_label
        of = "posterior" if label == "posterior" else f"{label} posterior"
        return f"{of} median {self.value(median)}, {name} {ends}"

    def ranged(
        self, over: str, least: pd.Series, most: pd.Series, median: float, places: Sequence[str]
    ) -> str:
        """The extremes of many rows, and their median."""
        if least["estimate"] == most["estimate"]:
            spread = f"was {self.value(median)} throughout"
        else:
            low, high = (
                f"{self.value(row['estimate'])} ({pair_words(row, self.metric)}"
                f"{place_words(row, places)}; {self.interval(row)})"
                for row in (least, most)
            )
            spread = f"ranged from {low} to {high}; the median was {self.value(median)}"
        return f"Over {over}, {self.metric.label} {spread}."

    def speak(self, how: str, attrs: Mapping[Any, Any]) -> str:
        """Method, population and adjustment of the intervals."""
        whom = population_words(self.metric, self.method, attrs)
        return (
            f"The intervals ({how}) generalize to {whom}; they are not adjusted for multiple "
            "comparisons."
        )

    def tests(self, p: NDArray[np.float64], of: str = "") -> str:
        """How many tests of independent errors are significant after adjustment."""
        n, n_tested = int((p < 1 - self.prob).sum()), int(np.isfinite(p).sum())
        return (
            f"{n:,} of {n_tested:,} tests of independent errors{of} {'is' if n == 1 else 'are'} "
            f"significant at a false discovery rate of {1 - self.prob:.3g} (Benjamini-Hochberg)."
        )

    def against(self, row: pd.Series) -> str:
        """Where the interval lies relative to the value of independent errors."""
        chance = self.metric.independent
        if chance is None:
            return ""
        side = side_words(row[self.lower], row[self.upper], chance)
        given = number(chance, 0)
        return f" It {side} {given}, the value expected for independent errors."


def side_words(lower: float, upper: float, value: float) -> str:
    """Where an interval lies relative to a value."""
    return "lies above" if lower > value else "lies below" if upper < value else "contains"


def _one(say: Phrases, result: Result, frame: pd.DataFrame, how: str) -> str:
    """Describe one pair."""
    metric, row, note = result.metric, frame.iloc[0], str(frame["note"].iloc[0])
    ground, known = trial_words(frame, result), not np.isnan(row[say.lower])
    text = f"the {metric.label} of {pair_words(row, metric)}{place_words(row, PLACES)}"
    if np.isnan(row["estimate"]):
        reason = result.undefined.iloc[0]
        note = note.removeprefix(reason).removeprefix("; ")
        text += f" is undefined: {reason} ({ground})"
        # A posterior needs no estimate.
        text += f"; {say.interval(row)} ({how})" if known else ""
    else:
        how = f"{how}; {ground}" if known else ground
        text += f" was {say.value(row['estimate'])}, {say.interval(row)} ({how})"
    parts = [f"{capital(text)}."]
    if known:
        whom = population_words(metric, say.method, result.data.attrs)
        parts.append(f"The interval generalizes to {whom}.{say.against(row)}")
    if not np.isnan(p := row.get("p_null", np.nan)):
        parts.append(f"The test against independent observers gave {p_words('p', p)}.")
    return " ".join(filter(None, [*parts, cautions(pd.Series([note]), "")]))


def _many(say: Phrases, result: Result, frame: pd.DataFrame, how: str) -> str:
    """Describe the extremes of several pairs, and their number."""
    label, (what, where) = result.metric.label, _what(result, frame)
    defined = frame[frame["estimate"].notna()]
    ground = trial_words(defined if len(defined) else frame, result)
    counts = result.undefined.value_counts(sort=False)
    reasons = "; ".join(f"{reason}, {n}" for reason, n in counts.items())
    reasons = str(counts.index[0]) if len(counts) == 1 else reasons
    if not len(defined):
        text = f"The {label} of all {what}{where} is undefined: {reasons}."
        return f"{text} They are based on {ground}."
    value = defined["estimate"]
    places = [name for name in PLACES if frame[name].nunique() > 1]
    least, most = (defined.loc[at] for at in (value.idxmin(), value.idxmax()))
    parts = [say.ranged(f"{what}{where}", least, most, value.median(), places)]
    if len(defined) < len(frame):
        parts.append(f"{capital(label)} is undefined for {len(frame) - len(defined)} ({reasons}).")
    if frame[say.lower].isna().all():
        parts.append(f"No {interval_words(say.method, say.kind, say.prob)} is valid here.")
    else:
        parts.append(say.speak(f"{how}; {ground}", result.data.attrs))
    if "p_null_bh" in frame:
        parts.append(say.tests(frame["p_null_bh"].to_numpy()))
    notes = frame["note"].where(frame["estimate"].notna(), "")
    return " ".join(filter(None, [*parts, cautions(notes, what.split()[-1])]))


def _what(result: Result, frame: pd.DataFrame) -> tuple[str, str]:
    """Count and kind of the pairs or comparisons."""
    pairs = frame[["observer_a", "observer_b"]].drop_duplicates()
    n_pairs = len(pairs)
    counts = frame["dataset"].nunique(), len(frame[list(PLACES)].drop_duplicates())
    inner = [
        counted(n, word)
        for n, word, name in zip(counts, ("data set", "condition"), PLACES, strict=True)
        if frame[name].nunique() > 1
    ]
    if n_pairs == len(frame):
        return f"{n_pairs:,} pairs", f" ({', '.join(inner)})" if inner else ""
    same = n_pairs == 1 and pairs["observer_a"].item() == pairs["observer_b"].item()
    whom = f"{counted(n_pairs, 'pair')} of observers"
    whom = pair_words(pairs.iloc[0], result.metric) if same else whom
    return f"{len(frame):,} comparisons", f" ({', '.join([whom, *inner])})"


def _range(numbers: pd.Series, what: str) -> str:
    """Smallest and largest number, with their labels."""
    least, most = int(numbers.min()), int(numbers.max())
    return counted(most, what) if least == most else f"{least:,} to {counted(most, what)}"
