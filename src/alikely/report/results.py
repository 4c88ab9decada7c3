"""Present results: findings in sentences, and sections of tables and figures."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from alikely._base.intervals import bound_names, percent
from alikely._base.names import MISSING, counted, listed, number
from alikely.benchmark.benchmark import (
    NO_METHOD,
    ceilings,
    dataset_names,
    differences,
    human_kind,
    is_analytic,
    is_plug_in,
    model_names,
    not_valid,
    ranks,
)
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population, in_kinds
from alikely.benchmark.trees import families, members
from alikely.estimates.contrasts import model_means, observer_differences
from alikely.estimates.pair_result import PLACES, bounds_of, chosen_interval
from alikely.estimates.result import Result
from alikely.plots._style import COLORS, name_rows, new_axes, rows_with_intervals, styled
from alikely.plots.benchmark import plot_benchmark
from alikely.plots.pairs import (
    MOST_GROUPS,
    plot_agreement,
    plot_families,
    plot_matrix,
    undefined_pairs,
)
from alikely.report.blocks import ROWS, Block, Lead, Section, Text, attempted, figure_of, table_of
from alikely.report.sentences import (
    POPULATIONS,
    READERS_AND_CASES,
    null_words,
    population_words,
    said,
)

# Images and humans are both resampled: the widest of the three populations, and first.
BOTH: Population = "both"
# Random numbers decide sets of ranks in the last place only; a page is to be the same again.
SEED = 1
# Trees of more observers take minutes.
MOST_IN_TREE = 2_000
# Bootstrap replicates of the tree.
REPLICATES = 20
# Rows that are sorted: a table of all pairs of thousands has millions.
MOST_ROWS = 20_000
# A map of more observers has no room for their names.
MOST_IN_MAP = 120
# Rows of the main figure.
MOST_IN_LEAD = 15
TREE = "Observers are joined by average linkage of the estimates."
MODALITIES = {
    "modality": "condition", "modality_b": "second condition", "p_value": "p", "observer": "reader",
}  # fmt: skip
NULL = "The null hypothesis is that the errors of the two observers are independent."
# What the columns of tests contain.
TESTED = {
    "p_null": "The column p (simulated) is based on {null}.",
    "p_null_bh": "The column p (simulated, adjusted) is adjusted for all rows (Benjamini and "
    "Hochberg).",
    "p_fisher": "The column p (Fisher) gives the p-value of Fisher's exact test.",
    "log_bf10": "A log Bayes factor (in nats) above 0 favors association.",
}
SCALE = ", where 0 is expected from independent observers and 1 is perfect agreement"


def parts_of(
    result: Result, kinds: Mapping[str, str] | None, scored: bool
) -> tuple[Lead, list[Section]]:
    """The lead and the sections of one result, with differences of pairs if there are no scores."""
    if result.kind == "reader":
        return _study(result)
    if result.kind == "group":
        return _groups(result)
    if result.kind == "tree":
        title, question = "Families", "Which observers make similar errors?"
        return Lead(question, [result.sentence()], None), [Section(title, _tree(result))]
    if result.kind == "regression":
        return _regression(result)
    if result.kind == "model":
        caption = "Dots show scores with their intervals. Green shows human-human consistency."
        if is_analytic(result):
            caption += " The hatched area is the noise ceiling."
        figure = figure_of(lambda: _ranking(result), caption)
        return Lead(*score_findings(result), figure), score_sections(result)
    if result.kind == "matrix":
        return _matrix(result, kinds)
    apart = None
    with contextlib.suppress(ValueError):  # the notes of the estimates give the reason
        apart = None if scored else observer_differences(result)
    return _pair_lead(result), pair_sections(result, kinds, apart)


def _said(result: Result, what: str = "measure is") -> list[str]:
    """What is measured, and the sentence of a result without its notes, which the page lists."""
    metric = result.metric
    scale = SCALE if metric.independent == 0 and metric.bounds[1] == 1 else ""
    return [f"The {what} {metric.label}{scale}.", result.sentence().partition(" Caution: ")[0]]


def _pair_lead(result: Result, figure: Block | None = None, more: Sequence[str] = ()) -> Lead:
    """Sentences on pairs, and the highest estimates with their intervals."""
    metric, at, names = result.metric, result.estimates, result.observers
    prob, kind = result.interval_options(None, None)
    if result.kind == "matrix":
        chosen = "posterior" if "posterior_lower" in at else "analytic"
        top = result.summary(top=MOST_IN_LEAD, intervals=[chosen])
        n = len(names) * (len(names) - 1) // 2
    else:
        chosen = chosen_interval(result, None)
        top = result.summary(intervals=[chosen] if chosen else [], sort="-estimate")
        n = len(top[["observer_a", "observer_b"]].drop_duplicates())
    question = f"How similar are the responses of {counted(n, 'pair')} of observers?"
    places = [name for name in PLACES if top[name].nunique() > 1]
    top = top[top["estimate"].notna()].head(MOST_IN_LEAD)
    if figure is None and len(top) > 1:
        n, shown = at["estimate"].size, _ends(top, chosen, bounds_of(chosen, kind, prob))
        which = f"The {len(top)} highest of {n:,} estimates" * (len(top) < n)
        columns = ["observer_a", "observer_b", *places]
        rows = top.set_axis(top[columns].astype(str).agg(", ".join, axis=1))
        figure = figure_of(
            lambda: _forest({metric.label: rows[shown]}),
            f"{which or 'Estimates'}{f', with {chosen} intervals' * bool(chosen)}.",
            narrow=False,
        )
    return Lead(question, [*_said(result), *more], figure)


def _ends(rows: pd.DataFrame, method: str, bounds: Sequence[str]) -> list[str]:
    """Columns of the center and the bounds of an interval; without a method, the estimate."""
    center = "posterior_median" if method == "posterior" else "estimate"
    center = center if center in rows else "estimate"
    return [center, *(bounds if bounds[0] in rows else ("estimate", "estimate"))]


def pair_sections(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Section]:
    """Estimates, tests against independence and differences."""
    label, frame = result.metric.label, result.summary(columns="all")
    alone = [name for name in PLACES if frame[name].nunique() < 2]
    sections = [Section(f"Pairs: {label}", _estimates(result, kinds, alone))]
    there = [name for name in ("p_null", "p_null_bh", "p_fisher", "log_bf10") if name in frame]
    if there:
        said = [TESTED[name].format(null=null_words(result)) for name in there]
        names = [*PLACES, "observer_a", "observer_b", "n_trials", "estimate", *there]
        # Many p values are the smallest that so many simulations can give.
        order = [there[0], "-log_bf10" if "log_bf10" in there else "-estimate"]
        tests: list[Block] = [
            Text(" ".join([NULL, *said, f"The tests generalize to {_whom(result)}."])),
            table_of(frame[names].drop(columns=alone), "Smallest p-values first.", sort=order,
                     headings={"estimate": label}),
        ]  # fmt: skip
        sections.append(Section(f"Tests of independence: {label}", tests, open=False))
    if blocks := _means(result, kinds, apart):
        sections.append(Section(f"Means and differences: {label}", blocks))
    return sections


def _estimates(result: Result, kinds: Mapping[str, str] | None, alone: list[str]) -> list[Block]:
    metric, frame = result.metric, result.summary()
    lost = int(frame["estimate"].isna().sum())
    undefined = f" {lost:,} of {len(frame):,} estimates are undefined ({MISSING})." * (lost > 0)
    table = table_of(
        frame.drop(columns=[*alone, *(n for n in ("se", "p_null") if n in frame)]),
        ("Highest estimates first." if len(frame) > 1 else "The estimate.") + undefined,
        sort="-estimate",
        headings={"estimate": metric.label, "posterior_median": f"{metric.posterior_label} median"},
    )
    return [table, *_figures(result, kinds)]


def _figures(result: Result, kinds: Mapping[str, str] | None) -> list[Block]:
    """All pairs as a map, and where they lie among what is possible."""
    metric, blocks = result.metric, []
    pairs = result.pairs[["observer_a", "observer_b"]]
    if "readers" not in result.table and 2 < pairs.stack().nunique() <= MOST_IN_MAP:
        mean = " (means over data sets and conditions)" * bool(pairs.duplicated().any())
        hatched = " Hatched cells are undefined." * bool(undefined_pairs(result))
        what = f"{metric.label} of all pairs{mean}.{hatched}"
        blocks.append(figure_of(lambda: plot_matrix(result, observer_kinds=kinds), what))
    if "kappa_max" in metric.derived and metric.independent == 0:
        what = "Observed agreement and error consistency against the agreement expected by chance."
        blocks.append(figure_of(lambda: plot_agreement(result, observer_kinds=kinds), what))
        what = (
            f"{metric.label} against the accuracy of the second observer. Dashes show the highest "
            "value possible given the two accuracies of a pair."
        )
        blocks.append(
            figure_of(lambda: plot_agreement(result, "accuracy", observer_kinds=kinds), what)
        )
    return blocks


def _means(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Block]:
    """Means of observers over their pairs; their differences, where no benchmark has them."""
    blocks: list[Block] = []
    means = model_means(result, kinds or {})
    if means is not None:
        level = f"{100 * float(result.data.attrs['ci_prob']):g}"
        names = {end: f"ci{level}_{end}" for end in ("lb", "ub")}
        text = "Mean of each model over its pairs with observers of other kinds. Intervals "
        text += "generalize to "
        heads = {"n_pairs": "comparisons", "estimate": result.metric.label}
        blocks.append(
            table_of(means.rename(columns=names), f"{text}{_whom(result)}.", headings=heads)
        )
    if apart is not None and len(apart):
        n = int(apart["p_value"].notna().sum())
        text = (
            "Differences between the mean estimates of two observers over their pairs, on the "
            "trials that both observers share. Intervals generalize to "
            f"{_whom(result)}. The column p (adjusted) is adjusted for "
            f"{counted(n, 'difference')} (Benjamini and Hochberg); intervals are not."
        )
        text += f" {len(apart) - n:,} other differences are undefined." * (n < len(apart))
        heads = {"other": "other observer"}
        blocks.append(table_of(apart, text, sort="p_value", headings=heads))
    return blocks


def _whom(result: Result) -> str:
    """What analytic intervals and tests of pairs generalize to."""
    return population_words(result.metric, "analytic", result.data.attrs)


def _ranking(scores: Result) -> Any:
    """Scores of the best models with intervals, humans with each other, and the noise ceiling."""
    target = BOTH if is_analytic(scores) else None
    top = min(MOST_IN_LEAD, len(model_names(scores))) or None
    ax = plot_benchmark(scores, generalize_to=target, top=top)
    if target:
        bounds = ceilings(scores, BOTH).set_index("level").loc[OVERALL]
        ends = [bounds[f"noise_ceiling_{end}"] for end in ("lower", "upper")]
        ax.axvspan(*ends, facecolor="none", edgecolor="0.6", hatch="////", linewidth=0, zorder=0)
    return ax


def score_findings(scores: Result) -> tuple[str, list[str]]:
    """Return the question that scores answer, and the sentences that answer the question."""
    models, reference = model_names(scores), str(scores.data.attrs.get("reference", ""))
    if analytic := is_analytic(scores):
        reference = counted(int(scores.estimates["n_humans_paired"].sel(level=OVERALL)), "human")
    n_models = counted(len(models), "model")
    question = f"How similar are the responses of {n_models} to those of {reference}?"
    whom = "the humans" if analytic else reference
    measure, *found = _said(scores, f"score of a model with {whom} is its mean")
    if analytic:
        bounds = ceilings(scores, BOTH).set_index("level").loc[OVERALL]
        ends = [number(bounds[f"noise_ceiling_{end}"], 2) for end in ("lower", "upper")]
        if MISSING not in ends:
            found.append(
                "The noise ceiling, the highest score that a model could reach given the "
                f"variability between humans, lies between {' and '.join(ends)}."
            )
    humans = human_kind(scores)
    return in_kinds(question, humans), [in_kinds(text, humans) for text in [measure, *found]]


def score_sections(scores: Result) -> list[Section]:
    """Make sections on scores, ranks and differences, and on ceilings if scores are from trials."""
    label = scores.metric.label
    sections = [Section(f"Scores: {label}", _scores(scores))]
    # Of one model there is neither.
    if len(model_names(scores)) > 1:
        sections += [
            Section("Ranks", attempted("Ranks.", lambda: _ranks(scores))),
            Section(
                "Differences between models", attempted("Differences.", lambda: _apart(scores))
            ),
        ]
    if is_analytic(scores):
        ceilings = attempted("Ceilings.", lambda: _ceilings(scores))
        sections.append(Section("Human-human consistency and noise ceiling", ceilings))
    return sections


def _for(scores: Result, generalize_to: Population = BOTH) -> str:
    """What numbers generalize to."""
    return f", for {POPULATIONS[generalize_to]}" if is_analytic(scores) else ""


def _scores(scores: Result) -> list[Block]:
    heads = {"estimate": scores.metric.label, "level": "data set"}

    def table(generalize_to: Population | None, what: str, level: str | None = OVERALL) -> Block:
        frame = scores.summary(generalize_to, level)
        humans = frame.set_index("system")["estimate"]
        if level and humans.get(CEILING) == humans.get(HUMANS):
            frame = frame[frame["system"] != CEILING]
        own = ["level"] if level is not None else []
        sort = "-estimate" if level is not None else ["level", "-estimate"]
        if frame.filter(regex="_lb$").notna().any(axis=None) and generalize_to:
            what += f" Intervals generalize to {POPULATIONS[generalize_to]}."
        else:
            what = what.removesuffix(".") + f"{_for(scores, generalize_to or BOTH)}."
        return table_of(frame.drop(columns=[*own, "se"]), what, sort=sort, headings=heads,
                        rows=60 if level is not None else 20)  # fmt: skip

    if not is_analytic(scores):
        return [table(None, "Scores, highest first.")]
    mean = " (means over data sets)" if len(dataset_names(scores)) > 1 else ""
    populations: tuple[Population, ...] = (BOTH, "images")
    blocks = [table(p, f"Scores{mean}.") for p in populations]
    if mean:
        blocks.append(table(BOTH, "Scores in each data set.", None))
    return blocks


def _ranks(scores: Result) -> list[Block]:
    if reason := not_valid(scores.metric):
        return [Text(f"No ranks: {reason}.")]
    analytic = is_analytic(scores)
    found = ranks(scores, BOTH, rng=SEED) if analytic else ranks(scores)
    names = {
        "rank_lb": "rank_set_lb", "rank_ub": "rank_set_ub",
        "marginal_lb": "rank_set_alone_lb", "marginal_ub": "rank_set_alone_ub",
        "system": "model", "se": "standard error", "tied_with_top": "tied with the highest",
        "estimate": scores.metric.label,
    }  # fmt: skip
    heads = {"rank_set": "ranks (simultaneous)", "rank_set_alone": "ranks (unadjusted)"}
    prob, _ = scores.interval_options(None, None)
    what = (
        "Ranks with ties. The simultaneous confidence sets contain the true ranks of all models "
        f"in {percent(prob)} of experiments{_for(scores)}."
    )
    return [
        table_of(found.rename(columns=names), what, headings=heads, rows=60),
        figure_of(
            lambda: plot_benchmark(scores, "ranks", generalize_to=BOTH if analytic else None,
                                   rng=SEED),
            "Ranks with simultaneous confidence sets.",
        ),
    ]  # fmt: skip


def _apart(scores: Result) -> list[Block]:
    analytic = is_analytic(scores)
    table = (differences(scores, BOTH) if analytic else differences(scores)).drop(columns="se")
    if is_plug_in(scores.metric):
        return [table_of(table, NO_METHOD, sort="-difference")]
    what = f"Differences between models (model minus other){_for(scores)}."
    if len(table) > 1:
        adjusted = "Intervals and p (simultaneous)" if analytic else "Intervals"
        what += f" {adjusted} are adjusted for all {len(table):,} differences."
    order = "p_value_simultaneous" if analytic else "-difference"
    blocks: list[Block] = [table_of(table, what, sort=order)]
    if "posterior" in scores.data.children:
        what = "Posterior probability that the model in a row scores higher than the model in a "
        what += "column" + _for(scores, "images")
        blocks.append(figure_of(lambda: plot_benchmark(scores, "prob_greater"), f"{what}."))
    return blocks


def _ceilings(scores: Result) -> list[Block]:
    names = {
        "level": "data set", "n_humans": "humans", "human_human": "human-human consistency",
        "human_human_se": "standard error", "p_human_human": "p (one-sided)",
        "noise_ceiling_lower_se": "standard error (lower)",
        "noise_ceiling_upper_se": "standard error (upper)",
    }  # fmt: skip
    what = (
        f"Standard errors of the human-human consistency generalize to {POPULATIONS[BOTH]}. "
        f"Standard errors of the noise ceiling generalize to {POPULATIONS['images']}."
    )
    table = ceilings(scores, BOTH).rename(columns=names)
    if len(dataset_names(scores)) < 2:
        table = table[table["data set"] == OVERALL].drop(columns="data set")
    return [table_of(table, what, rows=60)]


def _matrix(matrix: Result, kinds: Mapping[str, str] | None) -> tuple[Lead, list[Section]]:
    """The pairs with the highest and lowest estimates, and families of observers."""
    label, n = matrix.metric.label, len(matrix.observers)
    heads, n_entries = {"estimate": label}, matrix.estimates["estimate"].size
    top = matrix.summary(top=MOST_ROWS)
    alone = [name for name in ("dataset", "condition") if top[name].nunique() == 1]
    more = f" The table lists the {MOST_ROWS:,} highest of {n_entries:,} estimates."
    more = more if n_entries > MOST_ROWS else ""
    blocks: list[Block] = [
        table_of(top.drop(columns=alone), f"Highest estimates first.{more}", headings=heads)
    ]
    if n_entries > 2 * ROWS:
        low = matrix.summary(top=ROWS, lowest=True).drop(columns=alone)
        blocks.append(table_of(low, "Lowest estimates first.", headings=heads))
    sections = [Section(f"Pairs: {label}", blocks)]
    said: list[str] = []
    figure: Block | None = None
    if n > 2:
        found = attempted("Families.", lambda: _families(matrix, kinds))
        # The sentence and the figure lead the page, unless the tree failed.
        if isinstance(found[0], Text):
            said, figure = [found[0].text], found[-1]
            found = found[1:-1]
        if found:
            sections.append(Section("Families", found))
    return _pair_lead(matrix, figure, said), sections


def _families(matrix: Result, kinds: Mapping[str, str] | None) -> list[Block]:
    """How far families replicate, their members, and the tree that they are cut from."""
    if (n := len(matrix.observers)) > MOST_IN_TREE:
        raise ValueError(
            f"a tree of {n:,} observers takes minutes; call al.benchmark.families(matrix)"
        )
    try:
        tree = families(matrix, n_resamples=REPLICATES, rng=SEED)
    except ValueError:
        # A saved matrix of labels holds no responses, and some trials leave pairs undefined.
        tree = families(matrix, n_resamples=0)
    blocks: list[Block] = [Text(tree.sentence()), *_tree(tree)]
    by = kinds
    if tree.data.attrs["n_groups"] > 1:
        # Names of the largest, for as many as there are colors.
        first = members(tree).head(MOST_GROUPS - 1)
        named = {name: f"family {family:02d}"
                 for names, family in zip(first["members"], first["family"], strict=True)
                 for name in names}  # fmt: skip
        by = by or dict.fromkeys(tree.observers, "others") | named
    color = "kind" if kinds else "family"
    strip = f" The strip between the tree and the matrix shows the {color} of each observer."
    strip = strip if by else ""
    what = f"Tree of observers above the matrix of all pairs.{strip}"
    return [*blocks, figure_of(lambda: plot_families(tree, matrix, by=by)[0], what)]


def _tree(tree: Result) -> list[Block]:
    """Families of at least two observers, if there are several groups."""
    if tree.data.attrs["n_groups"] < 2:
        return []
    found = members(tree)
    shown = found.assign(members=[listed(names, most=6) for names in found["members"]])
    return [table_of(shown, f"Families of at least two observers. {TREE}")]


def _regression(result: Result) -> tuple[Lead, list[Section]]:
    """The coefficients of a regression of agreement, with their intervals."""
    table, label = result.summary(), result.metric.label
    ends = bound_names("", "eti", result.interval_options(None, None)[0])
    rows = table.set_index("parameter")[["estimate", *ends]]
    what = "Coefficients and standard deviations, with intervals."
    figure = figure_of(lambda: _forest({label: rows}), what)
    question = "Do members of a family agree more than expected from their accuracies?"
    sections = [Section(f"Regression of agreement: {label}", [table_of(table, "Parameters.")])]
    return Lead(question, [result.sentence()], figure), sections


def _groups(result: Result) -> tuple[Lead, list[Section]]:
    """Means within and between groups, and observers by their mean with all others."""
    label, heads = result.metric.label, {"estimate": result.metric.label}
    table = result.summary()
    prob, kind = result.interval_options(None, None)
    blocks: list[Block] = [
        table_of(table, "Means within and between groups.", headings=heads),
        table_of(
            ranks(result, rng=SEED),
            "Mean of each observer over pairs with all other observers.",
            headings=heads,
        ),
    ]
    ends = bound_names("", kind, prob)
    names = table["group"].str.cat(table["contrast"], sep=": ")
    figure = figure_of(
        lambda: _forest({label: table[["estimate", *ends]].set_axis(names)}),
        f"Means within and between groups, with {percent(prob)} intervals.",
        narrow=False,
    )
    question = (
        "Are observers of a group more similar to each other than to observers of other groups?"
    )
    return Lead(question, _said(result), figure), [Section(f"Groups of observers: {label}", blocks)]


def _study(study: Result) -> tuple[Lead, list[Section]]:
    """Estimates of modalities and readers, and differences between modalities."""
    modalities, apart, label = study.summary(), differences(study), study.metric.label
    prob, _ = study.interval_options(None, None)
    ends = bound_names("analytic", "ci", prob)
    names = ["estimate", *ends, "se", "n_readers", "n_cases"]
    several = "several" if len(apart) else "single"
    what = f"Means over readers. {said(several, how='', whom=READERS_AND_CASES)}"
    blocks: list[Block] = [
        table_of(modalities[["modality", *names, "note"]], what, headings=MODALITIES)
    ]
    panels = {label: modalities.set_index("modality")[["estimate", *ends]]}
    if len(apart):
        own = apart[["modality", "modality_b", *names, "p_value", "note"]]
        blocks.append(
            table_of(own, "Differences, smallest p-values first.", sort="p_value",
                     headings=MODALITIES)
        )  # fmt: skip
        between = apart["modality"] + " minus " + apart["modality_b"]
        panels["difference"] = apart[["estimate", *ends]].set_axis(between).head(MOST_IN_LEAD)
    own = study.estimates[["reader_mean", "reader_cases"]].to_dataframe().dropna().reset_index()
    heads = {**MODALITIES, "reader_mean": "estimate", "reader_cases": "n_cases"}
    blocks.append(table_of(own, "Estimates of each reader.", headings=heads, folded=True))
    figure = figure_of(
        lambda: _forest(panels),
        f"Conditions and their differences, with {percent(prob)} intervals.",
        narrow=False,
    )
    readers = counted(int(modalities["n_readers"].max()), "reader")
    differ = ", and does this similarity differ between conditions" * bool(len(apart))
    question = f"How similar are the responses of {readers}{differ}?"
    title = "Differences between conditions (reader study)"
    return Lead(question, _said(study), figure), [Section(title, blocks)]


@styled
def _forest(panels: Mapping[str, pd.DataFrame]) -> Any:
    """Estimates with their intervals, a panel for each quantity."""
    n = [len(table) for table in panels.values()]
    axes = new_axes(
        (4.4, 0.7 * len(n) + 0.22 * sum(n)), rows=len(n),
        gridspec_kw={"height_ratios": [0.5 + rows for rows in n]},
    )  # fmt: skip
    for ax, (label, table) in zip(axes, panels.items(), strict=True):
        position = range(len(table))[::-1]
        estimate, lower, upper = (table.iloc[:, k] for k in range(3))
        rows_with_intervals(ax, position, estimate, lower, upper, COLORS[0])
        ax.axvline(0, color="0.6", linewidth=0.8, zorder=0)
        name_rows(ax, [str(name) for name in table.index[::-1]])
        ax.set_xlabel(label)
    return axes[0]
