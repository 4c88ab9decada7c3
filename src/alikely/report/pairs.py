"""What pairs of observers show: estimates by every school, tests, differences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from alikely._base.names import MISSING, p_words
from alikely.estimates.contrasts import (
    contrast_sentence,
    machine_means,
    observer_differences,
)
from alikely.estimates.result import Result
from alikely.estimates.sentences import (
    METHODS,
    PLACES,
    bounds_of,
    is_wide,
    population_words,
    shown_methods,
)
from alikely.plots.agreement import plot_agreement
from alikely.plots.intervals import plot_intervals
from alikely.plots.pairs import plot_matrix, undefined_pairs
from alikely.report.blocks import (
    ROWS,
    Block,
    Section,
    Text,
    figure_of,
    table_of,
)

__all__ = ["differences_of", "pair_findings", "pair_sections"]

# A map of more observers has no room for their names.
MOST_IN_MAP = 120
HEADINGS = {
    "dataset": "data set",
    "accuracy_a": "accuracy",
    "accuracy_b": "other's accuracy",
    "p_null": "p (simulated)",
    "p_null_bh": "p (simulated, adjusted)",
}
TESTS = ("p_null", "p_null_bh", "p_fisher", "log_bf10")
TESTED = (
    "Against observers that err independently: p (simulated) by {n} tables simulated with the same "
    "accuracies, adjusted over all rows by Benjamini and Hochberg; Fisher's exact test; and the "
    "logarithm (in nats) of the Bayes factor of association against independence, above 0 for "
    "association. The tests speak for {whom}."
)
ONE_INTERVAL = (
    "Each estimate has the interval that we recommend for it. The summary of the result shows "
    "the other methods with intervals='all'."
)


def differences_of(result: Result) -> pd.DataFrame | None:
    """Differences of means of observers, where there are any."""
    try:
        return observer_differences(result)
    except ValueError:
        return None  # what leaves none, the notes of the estimates say


def pair_findings(result: Result, apart: pd.DataFrame | None) -> list[str]:
    """Sentences of what pairs show."""
    found = [result.sentence()]
    if apart is not None and len(apart):
        found.append(_largest(result, apart))
    return found


def pair_sections(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Section]:
    """Estimates, tests against independence and differences."""
    label, frame = result.metric.label, result.summary(columns="all")
    sections = [Section(f"Estimates: {label}", _estimates(result, frame, kinds))]
    if tests := _tests(result, frame):
        sections.append(Section(f"Tests of independence: {label}", tests, open=False))
    if blocks := _means(result, kinds, apart):
        sections.append(Section(f"Means and differences: {label}", blocks))
    return sections


def _places(frame: pd.DataFrame) -> list[str]:
    return [name for name in PLACES if frame[name].nunique() > 1]


def _estimates(result: Result, frame: pd.DataFrame, kinds: Mapping[str, str] | None) -> list[Block]:
    metric = result.metric
    prob, kind = result.interval_options(None, None)
    names = [*_places(frame), "observer_a", "observer_b", "n_trials"]
    rests = metric.rests_on[0]
    names += [rests] if rests in frame and rests not in names else []
    names += ["accuracy_a", "accuracy_b", "estimate"]
    for method in shown_methods(result, None):
        ends = bounds_of(method, kind, prob)
        names += [*(["posterior_median"] if method == "posterior" else []), *ends]
    names += [name for name in metric.beside if name in frame and name not in names]
    label = metric.posterior_label
    heads = HEADINGS | {"estimate": metric.label, "posterior_median": f"{label} median"}
    text = ONE_INTERVAL
    if (lost := int(frame["estimate"].isna().sum())) > 0:
        text += f" {lost:,} of {len(frame):,} estimates are undefined ({MISSING}); notes say why."
    caption = "Highest estimates first." if len(frame) > 1 else "The estimate."
    table = table_of(
        frame[[*names, "note"]],
        caption,
        sort="-estimate",
        headings=heads,
        leading_zero=is_wide(metric) or None,
    )
    return [Text(text), table, *_figures(result, kinds)]


def _figures(result: Result, kinds: Mapping[str, str] | None) -> list[Block]:
    """Intervals of the highest, all pairs as a map, and where they lie among what is possible."""
    metric, n = result.metric, result.table.sizes["pair"]
    top = f"the {ROWS} highest of {n:,}" if n > ROWS else "all"
    blocks = [
        figure_of(
            lambda: plot_intervals(result, intervals=METHODS, sort="estimate", top=ROWS),
            f"{metric.label} with its interval by each valid method: {top}.",
        )
    ]
    taking_part = pd.unique(result.pairs[["observer_a", "observer_b"]].to_numpy().ravel())
    if "readers" not in result.table and 2 < len(taking_part) <= MOST_IN_MAP:
        several = result.table.sizes["pair"] > len(
            result.pairs.drop_duplicates(["observer_a", "observer_b"])
        )
        mean = " (means over data sets and conditions)" if several else ""
        hatched = " Hatched: undefined." if undefined_pairs(result) else ""
        blocks.append(
            figure_of(
                lambda: plot_matrix(result, observer_kinds=kinds),
                f"{metric.label} of all pairs{mean}.{hatched}",
            )
        )
    if "kappa_max" in metric.derived and metric.independent == 0:
        blocks.append(
            figure_of(
                lambda: plot_agreement(result, observer_kinds=kinds),
                "Agreement and error consistency against what independent observers would reach.",
            )
        )
        blocks.append(
            figure_of(
                lambda: plot_agreement(result, "accuracy", observer_kinds=kinds),
                f"{metric.label} against accuracy, with the limit of each pair's accuracies.",
            )
        )
    return blocks


def _tests(result: Result, frame: pd.DataFrame) -> list[Block]:
    """The tests that the analysis has."""
    there = [name for name in TESTS if name in frame]
    if not there:
        return []
    n = int(result.data.attrs.get("n_null", 0))
    names = [*_places(frame), "observer_a", "observer_b", "n_trials", "estimate", *there]
    blocks: list[Block] = [Text(TESTED.format(n=f"{n:,}" if n else "many", whom=_whom(result)))]
    order = [str(name) for name in ("p_null", "p_fisher") if name in there][:1]
    # Many p values are the smallest that so many simulations can give.
    order += ["-log_bf10"] if "log_bf10" in there else ["-estimate"]
    blocks.append(
        table_of(
            frame[names],
            "Smallest p values first.",
            sort=order,
            headings=HEADINGS | {"estimate": result.metric.label},
        )
    )
    value = frame["estimate"].to_numpy()
    if result.metric.counts == "correctness" and np.isfinite(value).any():
        pair = str(result.table["pair"].values[int(np.nanargmax(value))])
        blocks.append(
            figure_of(
                lambda: plot_agreement(result, "null", pair=pair, rng=1),
                f"The highest estimate, {pair}, among those of independent observers.",
            )
        )
    return blocks


def _means(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Block]:
    """Means of observers over their pairs; their differences, where no benchmark has them."""
    blocks: list[Block] = []
    means = machine_means(result, kinds or {})
    if means is not None:
        blocks.append(
            Text(
                "Mean of each machine over its pairs with observers of other kinds, for "
                f"{_whom(result)}; scores that speak for new people have a section of their own, "
                "where the data allow it."
            )
        )
        level = f"{100 * float(result.data.attrs['ci_prob']):g}"
        names = {end: f"ci{level}_{end}" for end in ("lb", "ub")}
        heads = {"n_pairs": "entries", "estimate": result.metric.label, "se": "standard error"}
        blocks.append(
            table_of(means.rename(columns=names), "Means, highest first.", headings=heads)
        )
    if apart is not None and len(apart):
        blocks += _compared(result, apart)
    return blocks


def _whom(result: Result) -> str:
    """For whom analytic intervals and tests of pairs speak."""
    return population_words(result.metric, "analytic", result.data.attrs)


def _compared(result: Result, table: pd.DataFrame) -> list[Block]:
    text = (
        "Differences between the mean estimates of observers over their pairs, on the trials that "
        f"they share. They speak for {_whom(result)}; p values are "
        f"adjusted over {_defined(table)} (Benjamini and Hochberg), intervals "
        "hold one by one."
    )
    heads = {"se": "standard error", "other": "other observer"}
    return [
        Text(text),
        table_of(table, "Smallest p values first.", sort="p_value", headings=heads),
    ]


def _largest(result: Result, table: pd.DataFrame) -> str:
    """The difference that stands out most, that it was chosen, and what another school says."""
    p = table["p_value"]
    if p.isna().all():
        return (
            f"Of {len(table):,} differences between observers, none is defined and has a variance: "
            "these data cannot tell them apart, nor say that they are alike."
        )
    row = table.loc[p.idxmin()]
    one, other = {"observer": str(row["observer"])}, {"observer": str(row["other"])}
    said = contrast_sentence(result, one, other)
    if len(table) > 1:
        said += (
            f" It was chosen as the clearest of {_defined(table)} between observers; "
            f"adjusted for these (Benjamini and Hochberg), {p_words('p', row['p_value_bh'])}."
        )
    return said


def _defined(table: pd.DataFrame) -> str:
    """How many differences are judged: an undefined entry leaves its observers without any."""
    n = int(table["p_value"].notna().sum())
    of = f" that are defined, of {len(table):,}," if n < len(table) else ""
    return f"{n:,} differences{of}"
