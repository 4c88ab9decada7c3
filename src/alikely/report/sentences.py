"""Results in sentences, as papers report them: estimate, interval, its method, its population."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.arrays import Floats
from alikely._base.intervals import CiKind, bound_names, percent
from alikely._base.names import MISSING, counted, listed, number, p_number, p_words, span
from alikely.benchmark import benchmark, readers
from alikely.benchmark.benchmark import (
    Level,
    dataset_names,
    human_kind,
    levels_met,
    require_analytic,
)
from alikely.benchmark.groups import ALL, BETWEEN, EXCESS, WITHIN
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population, in_kinds
from alikely.estimates import contrasts
from alikely.estimates.contrasts import Which
from alikely.estimates.matrices import place_dim, place_names
from alikely.estimates.notes import cluster_note, counts_items
from alikely.estimates.pair_result import PLACES, bounds_of, chosen_interval
from alikely.estimates.result import Result
from alikely.metrics import Metric

TEMPLATES = {
    # Intervals.
    "interval": "The interval generalizes to {whom}.",
    "single": "The interval generalizes to {whom}; it is not adjusted for multiple comparisons.",
    "several": "The intervals{how} generalize to {whom}. The intervals are not adjusted for "
    "multiple comparisons.",
    "side": "The interval {side} {value}{about}.",
    "cautions": "Caution: {notes}.",
    # Pairs.
    "pair": "{what} was {value}, {interval} ({how}).",
    "undefined": "{what} is undefined ({reason}; {ground}).{posterior}",
    "test": "The test of the independence of errors gave {p}.",
    "all undefined": "The {label} of all {over} is undefined ({reasons}). The comparisons are "
    "based on {ground}.",
    "range": "Over {over}, {label} {spread}.",
    "some undefined": "{label} is undefined for {n}.",
    "no interval": "No {interval} is valid for these estimates.",
    "tests": "{n:,} of {of:,} tests of the independence of errors{by} {are} significant at a "
    "false discovery rate of {rate:.3g} (Benjamini-Hochberg).",
    "agreement": "Agreement also counts correct responses that two readers share. Error "
    "consistency (EC) measures whether two readers err on the same items more often than "
    "expected from how often each reader errs.",
    # Means and differences of pairs.
    "without": "{what} was {value}, with no {interval}{reason}.",
    # Groups, families and readers.
    "groups": "Mean {label} within groups was {within}, and between groups {between}. The "
    "difference, within minus between groups, was {excess}.",
    "families": "{n_families} of {n_advised} groups of observers have at least two members "
    "(families of similar observers). The adjusted Rand index between bootstrap replicates is "
    "{rand}; 1 means identical groups, and 0 means agreement by chance.",
    "no families": "{note}.",
    "same family": "For pairs within a family, the {label} minus the value expected from the "
    "accuracies of the pair was {value}, {interval} (posterior; {n:,} observers). The interval "
    "generalizes to new families.",
    "readers": "Mean {label} over readers {where} was {value}, {interval}{p} (analytic; "
    "{n_readers} readers, {n_cases} cases).",
    "more": "The table lists all {n} differences.",
    # Scores.
    "no scores": "{label} with {reference}{where} is undefined for all {n}.",
    "score": "The {label} of {system} with {reference}{where} was {reached}.",
    "scores": "{label} of {over} with {reference}{where} ranged from {least} to {most}.",
    "humans": "The human-human consistency (mean over pairs of humans) was {reached}.",
    "one differs": "The difference between the models {differs} significantly from 0 ({prob} "
    "interval).",
    "some differ": "{n} of the {of:,} differences between models {differ} significantly from 0 "
    "(simultaneous {prob} intervals).",
    "identical": "{head} was not tested, because the responses of both models are identical.",
    "difference": "{head} was {difference}, {tested} (analytic). The interval generalizes to "
    "{whom}. Without adjustment for multiple comparisons, the difference {differs} significantly "
    "from 0.",
    "adjusted": "After adjustment for all {n} differences, the difference {differs} significantly "
    "from 0 ({tested}).",
    "positive": "The posterior probability that the difference is positive is {p}{depends}.",
    "depends": "; this probability depends mainly on the prior, because no difference is "
    "significant after adjustment",
}
# Populations that intervals of scores generalize to, and what is fixed.
POPULATIONS: dict[Population, str] = {
    "images": "new images with these humans (humans and models fixed)",
    "observers": "new humans with these images (humans random; images and models fixed)",
    "both": "new images and new humans (both random; models fixed)",
}
READERS_AND_CASES = "new readers and new cases"
SELECTED_BY = {
    "dataset": "data set",
    "condition": "condition",
    "observer": "observer",
    "observer_a": "first observer",
    "observer_b": "second observer",
}
# Most notes, labels of entries, and differences between modalities that a text names.
MOST_NOTES, MOST_LABELS, MOST_SENTENCES = 3, 3, 3
# A number of its own, not one in a name.
NUMBER = re.compile(r"(?<![\w.,-])\d+(?:\.\d+)?(?![\w-]|[.,]\d)")


def said(*codes: str, **values: Any) -> str:
    """Fill templates, and capitalize the first letter of each."""
    return " ".join(capital(TEMPLATES[code].format(**values)) for code in codes)


def capital(text: str) -> str:
    """Capitalize the first letter."""
    return text[:1].upper() + text[1:]


def joined(*sentences: str) -> str:
    """Join sentences, and skip empty ones."""
    return " ".join(filter(None, sentences))


# Words


def interval_words(method: str, ci_kind: str, ci_prob: float) -> str:
    """Name of an interval."""
    if ci_kind == "hdi" and method not in ("analytic", "bca"):
        return f"{percent(ci_prob)} highest-density interval"
    return f"{percent(ci_prob)} {'credible interval' if method == 'posterior' else 'CI'}"


def null_words(result: Result) -> str:
    """Name what p-values of independence are computed from."""
    n = int(result.data.attrs.get("n_null", 0))
    return (
        f"{f'{n:,} ' * (n > 0)}data sets simulated from independent observers with the same "
        "accuracies (for repeated items, permutations; for clusters, sign flips or a t test)"
    )


def method_words(result: Result, method: str, ci_kind: str) -> str:
    """Name the method of an interval for pairs of observers."""
    attrs = result.data.attrs
    cluster = f", clustered by {attrs['cluster']}" if attrs.get("cluster") else ""
    if method == "analytic":
        return f"analytic{cluster}"
    if method == "posterior":
        model = f"posterior of the generative model '{str(attrs['model']).replace('_', ' ')}'"
        if result.without_draws:
            return f"{model}, equal-tailed, computed without draws"
        n_draws, way = len(result.draws("posterior")), attrs["sampler"]
        draws = counted(n_draws, "exact draw" if way == "exact" else "draw")
        draws += " by MCMC" if way == "nuts" else ""
        ends = "equal-tailed, " if ci_kind == "eti" else ""
        return f"{model}, {ends}{draws}{'' if cluster_note(result) else cluster}"
    n = counted(len(result.draws("bootstrap")), "replicate")
    name = {"bca": "BCa bootstrap", "bootstrap": "percentile bootstrap"}[method]
    return f"{'bootstrap' if method == 'bootstrap' and ci_kind == 'hdi' else name}, {n}{cluster}"


def population_words(metric: Metric, method: str, attrs: Mapping[Any, Any]) -> str:
    """Name the population that an interval for pairs generalizes to."""
    if metric.counts != "margins":
        new = "items" if attrs.get("cluster") == "item" else "trials"
        return f"new {new} with these observers (observers fixed)"
    if method == "posterior" and attrs.get("sampler") == "moments":
        return "new items and new humans"
    if method == "posterior":
        return "new items with observers like these"
    return "new items with these observers (observers fixed)"


def cautions(notes: pd.Series, what: str = "") -> str:
    """Join the notes of a table into one sentence, which is empty if there are no notes."""
    single = notes.str.split("; ").explode()
    counts = merged_notes(single[single != ""].value_counts(sort=False).to_dict())
    counts = dict(sorted(counts.items(), key=lambda pair: -pair[1]))
    if not counts:
        return ""
    named = [
        f'"{note}"' + (f" ({n:,} of {len(notes):,} {what})" if len(notes) > 1 else "")
        for note, n in list(counts.items())[:MOST_NOTES]
    ]
    left = len(counts) - len(named)
    more = f"; and {counted(left, 'more note')} in the table" if left else ""
    return said("cautions", notes=", ".join(named) + more)


def merged_notes(counts: Mapping[str, int]) -> dict[str, int]:
    """Combine notes that differ only in numbers, with the range of numbers."""
    alike: dict[str, list[str]] = {}
    for note in counts:
        alike.setdefault(NUMBER.sub("#", note), []).append(note)
    found = {}
    for notes in alike.values():
        ends = []
        for values in zip(*map(NUMBER.findall, notes), strict=True):
            least, most = min(values, key=float), max(values, key=float)
            ends.append(least if float(least) == float(most) else f"{least} to {most}")
        parts = NUMBER.split(notes[0])
        text = "".join(part + end for part, end in zip(parts, [*ends, ""], strict=True))
        found[text] = sum(counts[note] for note in notes)
    return found


@dataclasses.dataclass(frozen=True)
class Phrases:
    """Phrases about rows of a table with intervals of one method."""

    metric: Metric
    method: str
    prob: float
    kind: CiKind
    digits: int

    @property
    def bounds(self) -> tuple[str, str]:
        """Names of the columns with the bounds of the interval."""
        return bounds_of(self.method, self.kind, self.prob)

    @property
    def name(self) -> str:
        """Name of the interval."""
        return interval_words(self.method, self.kind, self.prob)

    def value(self, value: float) -> str:
        """Format a number for a sentence."""
        return number(value, self.digits)

    def limits(self, row: pd.Series, bounds: tuple[str, str] | None = None) -> str:
        """Write the interval in a row as text."""
        lower, upper = bounds or self.bounds
        return span(row[lower], row[upper], self.digits)

    def interval(self, row: pd.Series, bounds: tuple[str, str] | None = None) -> str:
        """Describe the interval of a row with its name and, for a posterior, with its median."""
        if not self.method:
            return ""
        ends = self.limits(row, bounds)
        if ends == MISSING:
            return f"with no {self.name}"
        median = row.get("posterior_median", np.nan)
        if self.method != "posterior" or np.isnan(median):
            return f"{self.name} {ends}"
        label = self.metric.posterior_label
        of = "posterior" if label == "posterior" else f"{label} posterior"
        return f"{of} median {self.value(median)}, {self.name} {ends}"

    def pair(self, row: pd.Series) -> str:
        """Name the observers in a row."""
        first, second = row["observer_a"], row["observer_b"]
        if first == second:
            # An entry of all readers.
            return str(first)
        if self.metric.symmetric:
            return f"{first} and {second}"
        return f"{second} with {first} as the reference"

    def range(self, over: str, table: pd.DataFrame, median: float, places: Sequence[str]) -> str:
        """Describe the smallest and largest estimates of many rows, and their median."""
        value = table["estimate"].reset_index(drop=True)
        if value.min() == value.max():
            spread = f"was {self.value(median)} throughout"
        else:
            low, high = (
                f"{self.value(row['estimate'])} ({self.pair(row)}{place_words(row, places)}; "
                f"{self.interval(row)})"
                for row in (table.iloc[value.idxmin()], table.iloc[value.idxmax()])
            )
            spread = f"ranged from {low} to {high}. The median estimate was {self.value(median)}"
        return said("range", over=over, label=self.metric.label, spread=spread)

    def several(self, how: str, attrs: Mapping[Any, Any]) -> str:
        """Method, population and adjustment of the intervals."""
        whom = population_words(self.metric, self.method, attrs)
        return said("several", how=f" ({how})", whom=whom)

    def tests(self, p: Floats, by: str = "") -> str:
        """Describe how many tests of independent errors are significant after adjustment."""
        n, rate = int((p < 1 - self.prob).sum()), 1 - self.prob
        return said("tests", n=n, of=int(np.isfinite(p).sum()), by=by, rate=rate,
                    are="is" if n == 1 else "are")  # fmt: skip


def place_words(row: pd.Series, places: Sequence[str] = PLACES) -> str:
    """Data set and condition of a row of a summary, if named."""
    names = [str(row[name]) for name in places if str(row[name]) not in ("", "all")]
    return f" in {', '.join(names)}" if names else ""


def side_words(bounds: Sequence[float], value: float, about: str = "") -> str:
    """Describe where an interval lies relative to a value."""
    lower, upper = bounds
    side = "lies above" if lower > value else "lies below" if upper < value else "contains"
    return said("side", side=side, value=number(value, 0), about=about)


def ground_words(frame: pd.DataFrame, result: Result) -> str:
    """The trials or items, and other counts, that rows of a summary are based on."""
    variable, heading = result.metric.rests_on
    unit = heading.removesuffix("s") if variable == "n_trials" else "trial"
    if unit == "trial" and counts_items(result):
        unit = "item"
    counts = {"n_trials": unit}
    if variable in frame and variable != "n_trials":
        counts[variable] = variable.removeprefix("n_").replace("_", " ").removesuffix("s")
    parts = []
    for name, what in counts.items():
        least, most = int(frame[name].min()), int(frame[name].max())
        parts.append(f"{least:,} to " * (least < most) + counted(most, what))
    return f"{' and '.join(parts)}{' each' if len(frame) > 1 else ''}"


# Results of pairs, their means and differences


def pairs(
    result: Result,
    *,
    interval: str | None,
    ci_prob: float,
    ci_kind: CiKind,
    digits: int,
    mean: Which | None = None,
    difference: tuple[Which, Which] | None = None,
) -> str:
    """Describe pairs, or a mean or difference of pairs."""
    if mean is not None and difference is not None:
        raise ValueError("mean= and difference= exclude each other; leave one of them out")
    if mean is not None or difference is not None:
        sides = difference or (mean or {},)
        return _contrast(result, sides, interval, ci_prob, ci_kind, digits)
    method = chosen_interval(result, interval, ci_kind)
    frame = result.summary(
        ci_prob=ci_prob, ci_kind=ci_kind, intervals=[method] if method else [],
        columns=["p_null_bh"] if "p_null" in result.estimates else [],
    ).reset_index(drop=True)  # fmt: skip
    say = Phrases(result.metric, method or "analytic", ci_prob, ci_kind, digits)
    if not method:
        frame[[*say.bounds]] = np.nan
    how = method_words(result, say.method, ci_kind)
    return (_one_pair if len(frame) == 1 else _several_pairs)(say, result, frame, how)


def _one_pair(say: Phrases, result: Result, frame: pd.DataFrame, how: str) -> str:
    metric, row = result.metric, frame.iloc[0]
    ground, known = ground_words(frame, result), not np.isnan(row[say.bounds[0]])
    what, note = f"the {metric.label} of {say.pair(row)}{place_words(row)}", str(row["note"])
    if np.isnan(row["estimate"]):
        reason = result.undefined.iloc[0]
        note = note.removeprefix(reason).removeprefix("; ")
        # A posterior needs no estimate.
        posterior = f" The posterior is defined: {say.interval(row)} ({how})." if known else ""
        parts = [said("undefined", what=what, reason=reason, ground=ground, posterior=posterior)]
    else:
        how = f"{how}; {ground}" if known else ground
        value, limits = say.value(row["estimate"]), say.interval(row)
        parts = [said("pair", what=what, value=value, interval=limits, how=how)]
    if known:
        whom = population_words(metric, say.method, result.data.attrs)
        parts.append(said("interval", whom=whom))
        if metric.independent is not None:
            about = ", the value expected for independent errors"
            parts.append(side_words(row[[*say.bounds]], metric.independent, about))
    if not np.isnan(p := row.get("p_null", np.nan)):
        parts.append(said("test", p=p_words("p", p)))
    return joined(*parts, cautions(pd.Series([note])))


def _several_pairs(say: Phrases, result: Result, frame: pd.DataFrame, how: str) -> str:
    label, (what, where) = result.metric.label, _counted_pairs(say, frame)
    defined = frame[frame["estimate"].notna()]
    ground = ground_words(defined if len(defined) else frame, result)
    counts = result.undefined.value_counts(sort=False)
    reasons = "; ".join(f"{reason}: {n:,}" for reason, n in counts.items())
    reasons = str(counts.index[0]) if len(counts) == 1 else reasons
    over = f"{what}{where}"
    if not len(defined):
        return said("all undefined", label=label, over=over, reasons=reasons, ground=ground)
    places = [name for name in PLACES if frame[name].nunique() > 1]
    parts = [say.range(over, defined, defined["estimate"].median(), places)]
    if lost := len(frame) - len(defined):
        of = f"{lost:,} of {len(frame):,} {what.split()[-1]}"
        parts.append(said("some undefined", label=label, n=f"{of} ({reasons})"))
    if frame[say.bounds[0]].isna().all():
        parts.append(said("no interval", interval=say.name))
    else:
        parts.append(say.several(f"{how}; {ground}", result.data.attrs))
    if "p_null_bh" in frame:
        parts.append(say.tests(frame["p_null_bh"].to_numpy()))
    notes = frame["note"].where(frame["estimate"].notna(), "")
    return joined(*parts, cautions(notes, what.split()[-1]))


def _counted_pairs(say: Phrases, frame: pd.DataFrame) -> tuple[str, str]:
    """Count and kind of the pairs or comparisons, and where they are from."""
    ends = frame[["observer_a", "observer_b"]].drop_duplicates()
    n_pairs, first = len(ends), ends.iloc[0]
    counts = frame["dataset"].nunique(), len(frame[list(PLACES)].drop_duplicates())
    inner = [
        counted(n, word)
        for n, word, name in zip(counts, ("data set", "condition"), PLACES, strict=True)
        if frame[name].nunique() > 1
    ]
    if n_pairs == len(frame):
        return f"{n_pairs:,} pairs", f" ({', '.join(inner)})" if inner else ""
    readers_alone = n_pairs == 1 and first["observer_a"] == first["observer_b"]
    whom = say.pair(first) if readers_alone else f"{counted(n_pairs, 'pair')} of observers"
    return f"{len(frame):,} comparisons", f" ({', '.join([whom, *inner])})"


def _contrast(
    result: Result,
    sides: Sequence[Which],
    interval: str | None,
    ci_prob: float,
    ci_kind: CiKind,
    digits: int,
) -> str:
    """Describe a mean of pairs, or a difference between two means."""
    if interval is not None and chosen_interval(result, interval) == "bca":
        raise ValueError(
            "interval of a mean must be 'analytic', 'bootstrap' or 'posterior', got 'bca'"
        )
    options: dict[str, Any] = {
        "ci_prob": ci_prob,
        "intervals": None if interval is None else [interval],
    }  # fmt: skip
    first, *others = sides
    what, of = _selection(result, first)
    head, weights = f"the {what} of {of}", contrasts.mean_weights(result, first)[0]
    used = weights != 0
    if not others:
        table = contrasts.mean(result, first, **options)
    for second in others:
        table = contrasts.difference(result, first, second, **options)
        minus = contrasts.mean_weights(result, second)[0]
        weights, used = weights - minus, used | (minus != 0)
        other, of = _selection(result, second)
        head += f" minus {'that' if other == what else f'the {other}'} of {of}"
    if table.empty:
        raise ValueError(
            f"this result has no {interval or 'valid'} interval of a mean or difference; recompute "
            "it with n_draws=4000"
        )
    method, row = str(table.index[0]), table.iloc[0]
    say = Phrases(result.metric, method, ci_prob, ci_kind, digits)
    bounds = bound_names("", ci_kind, ci_prob)
    value = say.value(float(weights[used] @ result.estimates["estimate"].values[used]))
    if say.limits(row, bounds) == MISSING:
        reason = f" ({row['note']})" if row["note"] else ""
        return said("without", what=head, value=value, interval=say.name, reason=reason)
    limits = say.interval(row, bounds)
    if method == "posterior":
        limits = f"posterior median {say.value(row['estimate'])}, {limits}"
    shared = ", accounting for shared trials" if used.sum() > 1 else ""
    ground = ground_words(result.summary(intervals=[])[used], result)
    how = f"{method_words(result, method, ci_kind)}{shared}; {ground}"
    whom = population_words(result.metric, method, result.data.attrs)
    parts = [said("pair", "single", what=head, value=value, interval=limits, how=how, whom=whom)]
    # Differences are tested against 0; means against independent errors, if that is one value.
    if (chance := result.metric.independent if not others else 0.0) is not None:
        parts.append(side_words(row[[*bounds]], chance, _odds(row, method) if chance == 0 else ""))
    return joined(*parts, cautions(pd.Series([row["note"]])))


def _selection(result: Result, which: Which) -> tuple[str, str]:
    """Words for a selection of entries: the metric or its mean, and the pairs."""
    metric, chosen = result.metric, contrasts.entries_of(result, which)
    if len(chosen) == 1:
        row = result.pairs.iloc[chosen[0]]
        say = Phrases(metric, "", 0.95, "eti", 2)
        return metric.label, f"{say.pair(row)}{place_words(row)}"
    head, n = f"mean {metric.label}", f"{len(chosen):,} comparisons"
    if not isinstance(which, Mapping):
        names = [which] if isinstance(which, str) else list(which)
        if len(names) > MOST_LABELS:
            return head, f"{len(chosen):,} selected comparisons"
        return head, f"{n} ({listed(names)})"
    parts = [
        f"{SELECTED_BY[name]} {' or '.join([labels] if isinstance(labels, str) else labels)}"
        for name, labels in which.items()
    ]
    return head, f"the {n} with {' and '.join(parts)}" if parts else f"all {n}"


def _odds(row: pd.Series, method: str) -> str:
    """Words for the p-value or probability of the sign."""
    if method == "analytic":
        p = float(row["p_value"])
        return "" if np.isnan(p) else f" ({p_words('p', p)}, two-sided)"
    what = {
        "posterior": "posterior probability of a positive value",
        "bootstrap": "proportion of positive replicates",
    }[method]
    return f" ({p_words(what, float(row['prob_positive']))})"


# Matrices, groups and reader studies


def matrix(result: Result, *, ci_prob: float, ci_kind: CiKind, digits: int) -> str:
    """Describe the extremes of a matrix, what intervals generalize to, and the tests."""
    place, values, n = place_dim(result), result.estimates["estimate"].values, len(result.observers)
    where = f", {len(place_names(result)):,} {place}s" if place else ""
    n_pairs, label = counted(n * (n - 1) // 2, "pair"), result.metric.label
    over, defined = f"({n_pairs} of {n:,} observers{where})", np.isfinite(values)
    over = f"{values.size:,} comparisons {over}"
    if not defined.any():
        return said("some undefined", label=label, n=f"all {over}")
    method = "posterior" if "posterior_lower" in result.estimates else "analytic"
    say = Phrases(result.metric, method, ci_prob, ci_kind, digits)
    shown: dict[str, Any] = {"intervals": [method], "ci_prob": ci_prob, "ci_kind": ci_kind}
    ends = [result.summary(top=1, lowest=low, **shown) for low in (True, False)]
    parts = [say.range(over, pd.concat(ends), float(np.median(values[defined])), PLACES)]
    if lost := int((~defined).sum()):
        of = f"{lost:,} of {values.size:,} comparisons"
        parts.append(said("some undefined", label=label, n=of))
    how = "posterior, computed from counts" if method == "posterior" else "analytic"
    parts.append(say.several(how, result.data.attrs))
    if "p_adjusted" in result.estimates:
        parts.append(say.tests(result.estimates["p_adjusted"].values, " by Fisher's exact test"))
    return joined(*parts)


def groups(
    result: Result, *, interval: str | None, ci_prob: float, ci_kind: CiKind, digits: int
) -> str:
    """Describe the means within and between all groups, and their difference."""
    method = str(result._functions.method(result, interval))
    table = result.summary(intervals=[method], ci_prob=ci_prob, ci_kind=ci_kind)
    table = table[table["group"] == ALL].set_index("contrast")
    say = Phrases(result.metric, method, ci_prob, ci_kind, digits)
    bounds = bound_names("", ci_kind, ci_prob)
    means = {
        name: f"{say.value(row['estimate']).replace(MISSING, 'undefined')}, {say.name} "
        f"{say.limits(row, bounds)}"
        for name, row in table.iterrows()
    }
    values = {"within": means[WITHIN], "between": means[BETWEEN], "excess": means[EXCESS]}
    return joined(
        said("groups", label=result.metric.label, **values),
        say.several(method, result.data.attrs),
        cautions(table["note"], "means"),
    )


def reader_study(result: Result, *, ci_prob: float, digits: int) -> str:
    """Describe the differences between modalities, or the mean of a single modality."""
    table = result.summary(ci_prob=ci_prob)
    if len(table) > 1:
        table = readers.differences(result, ci_prob=ci_prob, intervals=None, columns=None)
        table = table.sort_values("p_value", kind="stable")
    say, parts = Phrases(result.metric, "analytic", ci_prob, "eti", digits), []
    for _, row in table.head(MOST_SENTENCES).iterrows():
        where, p = f"in {row['modality']}", ""
        if "modality_b" in row:
            where += f" minus that in {row['modality_b']}"
            p = f", {p_words('p', row['p_value'])}"
        limits = f"{say.name} {say.limits(row)}"
        parts.append(
            said(
                "readers", label=result.metric.label, where=where, p=p, interval=limits,
                value=say.value(row["estimate"]), n_readers=row["n_readers"],
                n_cases=row["n_cases"],
            )
        )  # fmt: skip
    if len(table) > MOST_SENTENCES:
        parts.append(said("more", n=len(table)))
    return joined(*parts, said("single" if len(table) == 1 else "several", how="",
                               whom=READERS_AND_CASES))  # fmt: skip


def tree(result: Result, *, digits: int) -> str:
    """Describe how well the recommended groups replicate, or why there are none."""
    if note := result.summary()["note"].iloc[0]:
        return said("no families", note=note)
    rand, n, n_advised = (
        result.data.attrs[name] for name in ("reproducibility", "n_families", "n_advised")
    )
    return said("families", n_families=n, n_advised=n_advised, rand=number(rand, digits))


def regression(result: Result, *, ci_prob: float, digits: int) -> str:
    """Describe the effect of a common family on the agreement of pairs."""
    row = result.summary(ci_prob=ci_prob).set_index("parameter").loc["same_family"]
    say = Phrases(result.metric, "posterior", ci_prob, "eti", digits)
    limits = f"{say.name} {say.limits(row, bound_names('', 'eti', ci_prob))}"
    return said(
        "same family", label=result.metric.label, value=say.value(row["estimate"]),
        interval=limits, n=len(result.observers),
    )  # fmt: skip


# Scores


def scores(
    result: Result,
    *,
    generalize_to: Population | None,
    level: str,
    interval: str | None,
    ci_prob: float,
    ci_kind: CiKind,
    digits: int,
    difference: tuple[str, str] | None = None,
) -> str:
    """Describe scores and the number of significant differences, or describe one difference."""
    at = Level(result, generalize_to, level)
    if difference is not None:
        if interval not in (None, "analytic"):
            raise ValueError(
                f"differences between models have analytic intervals, got interval={interval!r}; "
                "leave it out"
            )
        text = _one_difference(at, *difference, ci_prob, digits + 1)
    else:
        method = str(result._functions.method(result, interval, generalize_to))
        frame = result.summary(
            generalize_to, level, intervals=[method] if method else [], columns="all",
            ci_prob=ci_prob, ci_kind=ci_kind,
        )  # fmt: skip
        text = _several_scores(at, frame, Phrases(result.metric, method, ci_prob, ci_kind, digits))
    return in_kinds(text, human_kind(result))


def _several_scores(at: Level, frame: pd.DataFrame, say: Phrases) -> str:
    attrs, models = at.scores.data.attrs, frame[frame["system"].isin(at.models)]
    where, valid = _where(at), True
    if at.analytic:
        n_humans, ground = _ground(at)
        parts = [_scores(say, models, counted(n_humans, "human"), where)]
        known = frame[frame["estimate"].notna()].set_index("system")
        # The reference: humans paired with models, if there are any.
        for name in [name for name in (CEILING, HUMANS) if name in known.index][:1]:
            parts.append(said("humans", reached=_reached(say, known.loc[name])))
        valid = not benchmark.is_plug_in(say.metric) and not at.too_few_humans()
    else:
        parts = [_scores(say, models, str(attrs["reference"]), where)]
        least, most = int(models["n_entries"].min()), int(models["n_entries"].max())
        ground = f"{least} to " * (least < most) + counted(most, "comparison")
        ground += " each" * (len(models) > 1)
    # Two humans do not generalize to others, so there are no intervals to describe.
    if say.method and not at.too_few_humans():
        how = _method(at, say)
        if say.method == "analytic" and not np.allclose(
            models["interval_center"], models["estimate"]
        ):
            how += ", with pseudocounts added to the counts of each pair"
        parts.append(said("several", how=f" ({how}; {ground})", whom=_population(at)))
    if valid and models["estimate"].notna().sum() > 1:
        differences = benchmark.all_differences(at, None, say.prob, say.kind)
        lower, upper = (differences[x] for x in bound_names("simultaneous", "ci", say.prob))
        n, of = int(((lower > 0) | (upper < 0)).sum()), int(lower.notna().sum())
        if of == 1:
            differs = "differs" if n else "does not differ"
            parts.append(said("one differs", differs=differs, prob=percent(say.prob)))
        elif of:
            differ = "differ" if n > 1 else "differs"
            known_n = {"n": n or "None", "of": of, "differ": differ, "prob": percent(say.prob)}
            parts.append(said("some differ", **known_n))
    return joined(*parts, cautions(models["note"], "models"))


def _population(at: Level) -> str:
    """Population that intervals generalize to, with new clusters where these are resampled."""
    attrs = at.scores.data.attrs
    if not at.analytic:
        return population_words(at.scores.metric, "posterior", attrs)
    cluster = attrs.get("cluster", "")
    new = f"new clusters of images ({cluster})" if cluster else "new images"
    return POPULATIONS[at.population].replace("new images", new)


def _reached(say: Phrases, row: pd.Series) -> str:
    return ", ".join(filter(None, [say.value(row["estimate"]), say.interval(row)]))


def _scores(say: Phrases, models: pd.DataFrame, reference: str, where: str) -> str:
    """Write the score of one model, or the extremes of several."""
    defined = models[models["estimate"].notna()]
    n = counted(len(models), "model")
    known = {"label": say.metric.label, "reference": reference, "where": where}
    if not len(defined):
        return said("no scores", **known, n=n)
    if len(models) == 1:
        row = defined.iloc[0]
        return said("score", **known, system=row["system"], reached=_reached(say, row))
    ends = [
        f"{say.value(row['estimate'])} "
        f"({'; '.join(filter(None, [row['system'], say.interval(row)]))})"
        for row in (
            defined.loc[defined["estimate"].idxmin()],
            defined.loc[defined["estimate"].idxmax()],
        )
    ]
    over = f"{n} ({len(defined)} with a score)" if len(defined) < len(models) else n
    return said("scores", **known, over=over, least=ends[0], most=ends[1])


def _ground(at: Level) -> tuple[int, str]:
    """Humans paired with models; and in words the images and humans that scores are based on."""
    met = levels_met(at.scores) if at.level == OVERALL else []
    n_humans, fewest, n_images = (
        int(at.at[name]) for name in ("n_humans", "fewest_humans", "n_images")
    )
    if met and len(met) < len(dataset_names(at.scores)):
        parts = at.scores.estimates.sel(level=met)
        n_humans, fewest = int(at.at["n_humans_paired"]), int(parts["fewest_humans"].min())
        n_images = int(parts["n_images"].sum())
    ground = counted(n_images, "image")
    if len(met) > 1:
        # Over all levels, the number is their sum.
        ground += ", the sum over data sets of the mean number of images per condition"
        ground += "," * (fewest < n_humans)
    else:
        ground += " per condition on average"
    if fewest < n_humans:
        ground += f" and at least {counted(fewest, 'human')} in each data set"
    return n_humans, ground


def _method(at: Level, say: Phrases) -> str:
    """Write how the interval of a method was computed."""
    if say.method == "analytic":
        return "analytic, Student's t"
    name = "posterior"
    if model := str(at.scores.data.attrs.get("model", "")).replace("_", " "):
        name += f" of the generative model '{model}'"
    n = counted(len(at.scores.draws("posterior")), "draw")
    return f"{name}, {'equal-tailed, ' * (say.kind == 'eti')}{n}"


def _where(at: Level) -> str:
    """Write the data set of a level, or the number of data sets averaged."""
    n, met = len(dataset_names(at.scores)), levels_met(at.scores)
    if at.level != OVERALL:
        return f" in {at.level}"
    if n < 2:
        return ""
    if len(met) == n:
        return f" (means over {n} data sets)"
    if len(met) == 1:
        return f" (in {met[0]}, the only one of {n} data sets with models)"
    return f" (means over the {len(met)} of {n} data sets with models)"


def _one_difference(at: Level, first: str, second: str, prob: float, digits: int) -> str:
    """Describe the difference between two models with its unadjusted and adjusted tests."""
    require_analytic(at.scores, "tests")
    table = benchmark.all_differences(at, None, prob, "eti", first)
    row, metric = benchmark.one_difference(table, first, second), at.scores.metric
    where = "" if at.level == OVERALL else f" in {at.level}"
    head = f"the {metric.label} of {row['system']} with the humans{where} minus "
    head += f"that of {row['other']}"

    def plain(value: float) -> str:
        # As many decimals as show that a value is not 0.
        rounded = value != 0 and abs(value) < 0.5 / 10**digits
        return number(value, digits + 3 if rounded else digits)

    def tested(p_value: str, stem: str) -> dict[str, str]:
        low, high = (plain(row[name]) for name in bound_names(stem, "ci", prob))
        return {
            "differs": "differs" if row[p_value] <= 1 - prob else "does not differ",
            "tested": f"{percent(prob)} CI [{low}, {high}], {p_words('p', row[p_value])}",
        }

    if np.isnan(row["se"]):
        parts = [said("identical", head=head)]
    else:
        known = tested("p_value", "pointwise")
        value = plain(row["difference"])
        parts = [said("difference", head=head, difference=value, whom=_population(at), **known)]
        simultaneous = "p_value_simultaneous"
        if len(table) > 1:
            parts.append(said("adjusted", n=len(table), **tested(simultaneous, "simultaneous")))
        undecided = (table[simultaneous].dropna() > 1 - prob).all()
        p = row["prob_positive"]
        p = "> 0.999" if p > 0.999 else p_number(p)
        parts.append(said("positive", p=p, depends=TEMPLATES["depends"] if undecided else ""))
    reason = benchmark.not_valid(metric)
    return joined(*parts, said("cautions", notes=reason) if reason else "")


SENTENCES = {
    "pair": pairs, "matrix": matrix, "group": groups, "reader": reader_study, "model": scores,
    "tree": tree, "regression": regression,
}  # fmt: skip
