"""What results show: findings in sentences, sections of tables and figures."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from alikely._base.intervals import bound_names
from alikely._base.names import MISSING, listed, p_words
from alikely.benchmark.benchmark import (
    ceilings,
    differences,
    ranks,
    test_difference,
    test_equality,
)
from alikely.benchmark.layout import OVERALL, Population
from alikely.benchmark.levels import dataset_names, is_analytic, model_names
from alikely.benchmark.readers import POPULATION, reader_means
from alikely.benchmark.tables import NO_METHOD, is_plug_in, not_valid
from alikely.benchmark.trees import families
from alikely.benchmark.words import (
    SPEAKS,
    ceiling_sentence,
    equality_sentence,
    rank_sentence,
)
from alikely.estimates.contrasts import (
    contrast_sentence,
    model_means,
    observer_differences,
)
from alikely.estimates.result import Result
from alikely.estimates.sentences import (
    METHODS,
    PLACES,
    capital,
    population_words,
)
from alikely.plots.agreement import plot_agreement
from alikely.plots.benchmark import plot_benchmark
from alikely.plots.families import MOST_GROUPS, plot_families
from alikely.plots.intervals import plot_intervals
from alikely.plots.pairs import plot_matrix, undefined_pairs
from alikely.report.blocks import (
    ROWS,
    Block,
    Section,
    Text,
    attempted,
    figure_of,
    table_of,
)

__all__ = ["pair_sections", "parts_of", "score_findings", "score_sections"]

# Images and people are both resampled: the widest of the three populations, and first.
BOTH: Population = "both"
# Random numbers decide sets of ranks in the last place only; a page is to be the same again.
SEED = 1
# Trees of more observers take minutes.
MOST_IN_TREE = 2_000
# Bootstrap replicates of the tree.
REPLICATES = 20
# Rows that are looked at: a table of all pairs of thousands has millions.
MOST_ROWS = 20_000
TREE = "Observers are joined by average linkage of the estimates."
MODALITIES = {"modality": "condition", "other": "other condition", "p_value": "p"}
# A map of more observers has no room for their names.
MOST_IN_MAP = 120
TESTED = (
    "Against observers that err independently: p (simulated) by {n} tables simulated with the same "
    "accuracies, adjusted over all rows by Benjamini and Hochberg; Fisher's exact test; and the "
    "logarithm (in nats) of the Bayes factor of association against independence, above 0 for "
    "association. The tests generalizes to {whom}."
)
ONE_INTERVAL = (
    "Each estimate has the interval that we recommend for it. The summary of the result shows "
    "the other methods with intervals='all'."
)


def parts_of(
    result: Result, kinds: Mapping[str, str] | None, scored: bool
) -> tuple[list[str], list[Section]]:
    """Findings and sections of one result; differences of pairs where there are no scores."""
    if result.kind == "reader":
        return [result.sentence()], _study(result)
    if result.kind == "group":
        return [result.sentence()], _groups(result)
    if result.kind == "model":
        return score_findings(result), score_sections(result)
    if result.kind == "matrix":
        return [result.sentence()], _matrix(result, kinds)
    apart = None if scored else _differences(result)
    findings = [result.sentence()]
    if apart is not None and len(apart):
        findings.append(_largest(result, apart))
    return findings, pair_sections(result, kinds, apart)


def _differences(result: Result) -> pd.DataFrame | None:
    """Differences of means of observers, where there are any."""
    try:
        return observer_differences(result)
    except ValueError:
        return None  # what leaves none, the notes of the estimates say


def pair_sections(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Section]:
    """Estimates, tests against independence and differences."""
    label, frame = result.metric.label, result.summary(columns="all")
    alone = [name for name in PLACES if frame[name].nunique() < 2]
    sections = [Section(f"Estimates: {label}", _estimates(result, kinds, alone))]
    there = [name for name in ("p_null", "p_null_bh", "p_fisher", "log_bf10") if name in frame]
    if there:
        n = int(result.data.attrs.get("n_null", 0))
        names = [*PLACES, "observer_a", "observer_b", "n_trials", "estimate", *there]
        # Many p values are the smallest that so many simulations can give.
        order = [there[0], "-log_bf10" if "log_bf10" in there else "-estimate"]
        tests: list[Block] = [
            Text(TESTED.format(n=f"{n:,}" if n else "many", whom=_whom(result))),
            table_of(frame[names].drop(columns=alone), "Smallest p values first.", sort=order,
                     headings={"estimate": label}),
        ]  # fmt: skip
        sections.append(Section(f"Tests of independence: {label}", tests, open=False))
    if blocks := _means(result, kinds, apart):
        sections.append(Section(f"Means and differences: {label}", blocks))
    return sections


def _estimates(result: Result, kinds: Mapping[str, str] | None, alone: list[str]) -> list[Block]:
    metric, frame = result.metric, result.summary()
    lost = int(frame["estimate"].isna().sum())
    undefined = f" {lost:,} of {len(frame):,} estimates are undefined ({MISSING}); notes say why."
    table = table_of(
        frame.drop(columns=[*alone, *(n for n in ("se", "p_null") if n in frame)]),
        "Highest estimates first." if len(frame) > 1 else "The estimate.",
        sort="-estimate",
        headings={"estimate": metric.label, "posterior_median": f"{metric.posterior_label} median"},
    )
    return [Text(ONE_INTERVAL + undefined * (lost > 0)), table, *_figures(result, kinds)]


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


def _means(
    result: Result, kinds: Mapping[str, str] | None, apart: pd.DataFrame | None
) -> list[Block]:
    """Means of observers over their pairs; their differences, where no benchmark has them."""
    blocks: list[Block] = []
    means = model_means(result, kinds or {})
    if means is not None:
        blocks.append(
            Text(
                "Mean of each model over its pairs with observers of other kinds, for "
                f"{_whom(result)}; scores that generalizes to new people have a section of their "
                f"own, "
                "where the data allow it."
            )
        )
        level = f"{100 * float(result.data.attrs['ci_prob']):g}"
        names = {end: f"ci{level}_{end}" for end in ("lb", "ub")}
        heads = {"n_pairs": "entries", "estimate": result.metric.label}
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
        f"they share. They generalizes to {_whom(result)}; p values are "
        f"adjusted over {_defined(table)} (Benjamini and Hochberg), intervals "
        "hold one by one."
    )
    heads = {"other": "other observer"}
    return [Text(text), table_of(table, "Smallest p values first.", sort="p_value", headings=heads)]


def _largest(result: Result, table: pd.DataFrame) -> str:
    """The difference that stands out most, that it was chosen, and what another method says."""
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


def score_findings(scores: Result) -> list[str]:
    """Sentences of what scores show: each says its population and what it allows for."""
    if not is_analytic(scores):
        return [scores.sentence()]
    found = [scores.sentence(BOTH)]
    if is_plug_in(scores.metric):
        return found
    for say in (
        _equality,
        _verdicts,
        _ranking,
        lambda b: [ceiling_sentence(b, ceilings(b, BOTH), BOTH)],
    ):
        try:
            found += say(scores)
        except ValueError:
            continue  # its section says why there is none
    return found


def _equality(scores: Result) -> list[str]:
    return [equality_sentence(scores, test_equality(scores, BOTH), BOTH)]


def _verdicts(scores: Result) -> list[str]:
    """The highest score against the second, and against the lowest."""
    frame = scores.summary(BOTH, sort="-estimate")
    frame = frame[frame["system"].isin(model_names(scores)) & frame["estimate"].notna()]
    names = frame["system"].tolist()
    pairs = [(names[0], names[1])] if len(names) > 1 else []
    pairs += [(names[0], names[-1])] if len(names) > 2 else []
    return [str(test_difference(scores, one, other, BOTH)["sentence"]) for one, other in pairs]


def _ranking(scores: Result) -> list[str]:
    prob, _ = scores.interval_options(None, None)
    return [rank_sentence(scores, ranks(scores, BOTH, rng=SEED), BOTH, prob)]


def score_sections(scores: Result) -> list[Section]:
    """Scores, ranks, differences and ceilings; of joint draws without populations and ceilings."""
    analytic = is_analytic(scores)
    against = " against humans" if analytic else ""
    sections = [Section(f"Scores{against}: {scores.metric.label}", _scores(scores))]
    # Of one model there is neither.
    if len(model_names(scores)) > 1:
        ranks = attempted("Ranks.", lambda: _ranks(scores))
        apart = attempted("Differences.", lambda: _apart(scores))
        sections += [Section("Ranks", ranks), Section("Differences between models", apart)]
    if analytic:
        ceilings = attempted("Ceilings.", lambda: _ceilings(scores))
        sections.append(Section("Ceilings", ceilings))
    return sections


def _for(scores: Result, generalize_to: Population = BOTH) -> str:
    """Whom numbers generalizes to."""
    return f", for {SPEAKS[generalize_to]}" if is_analytic(scores) else ""


def _scores(scores: Result) -> list[Block]:
    heads = {"estimate": scores.metric.label, "level": "data set"}

    def table(generalize_to: Population | None, what: str, level: str | None = OVERALL) -> Block:
        frame = scores.summary(generalize_to, level)
        own = ["level"] if level is not None else []
        sort = "-estimate" if level is not None else ["level", "-estimate"]
        return table_of(frame.drop(columns=[*own, "se"]), what, sort=sort, headings=heads,
                        rows=60 if level is not None else 20)  # fmt: skip

    if not is_analytic(scores):
        figure = figure_of(lambda: plot_benchmark(scores), "Scores with their intervals.")
        return [table(None, "Scores, highest first."), figure]
    populations: tuple[Population, ...] = (BOTH, "images")
    blocks = [table(p, f"Scores (means over data sets){_for(scores, p)}.") for p in populations]
    what = f"Scores with the humans' ceiling{_for(scores)}."
    blocks.append(figure_of(lambda: plot_benchmark(scores, generalize_to=BOTH), what))
    if len(dataset_names(scores)) > 1:
        blocks.append(table(BOTH, f"Scores in each data set{_for(scores)}.", None))
    return blocks


def _ranks(scores: Result) -> list[Block]:
    if reason := not_valid(scores.metric):
        return [Text(f"No ranks: {reason}.")]
    analytic = is_analytic(scores)
    found = ranks(scores, BOTH, rng=SEED) if analytic else ranks(scores)
    names = {
        "rank_lb": "rank_set_lb", "rank_ub": "rank_set_ub",
        "marginal_lb": "rank_set_alone_lb", "marginal_ub": "rank_set_alone_ub",
        "system": "model", "se": "standard error", "tied_with_top": "tied with the top",
        "estimate": scores.metric.label,
    }  # fmt: skip
    heads = {"rank_set": "ranks (all at once)", "rank_set_alone": "ranks (each alone)"}
    prob, _ = scores.interval_options(None, None)
    said = [Text(rank_sentence(scores, found, BOTH, prob))] if analytic else []
    return [
        *said,
        table_of(found.rename(columns=names), "Ranks, with ties.", headings=heads, rows=60),
        figure_of(
            lambda: plot_benchmark(scores, "ranks", generalize_to=BOTH if analytic else None,
                                   rng=SEED),
            f"Sets of ranks that hold all true ranks at once{_for(scores)}.",
        ),
    ]  # fmt: skip


def _apart(scores: Result) -> list[Block]:
    analytic = is_analytic(scores)
    table = (differences(scores, BOTH) if analytic else differences(scores)).drop(columns="se")
    blocks: list[Block] = [
        Text(
            f"First less other{_for(scores)}. Intervals and p (among all) are simultaneous: "
            f"adjusted for {len(table):,} comparisons."
        )
    ]
    if is_plug_in(scores.metric):
        return [table_of(table, NO_METHOD, sort="-difference")]
    if analytic:
        blocks += attempted("Test of equal scores.", lambda: [Text(_equality(scores)[0])])
        blocks.append(table_of(table, "Smallest p values first.", sort="p_value_simultaneous"))
    else:
        blocks.append(table_of(table, "Differences.", sort="-difference"))
    if "posterior" in scores.data.children:
        what = "Posterior probability that the model of the row is above that of the column"
        what += _for(scores, "images")
        blocks.append(figure_of(lambda: plot_benchmark(scores, "prob_greater"), f"{what}."))
    return blocks


def _ceilings(scores: Result) -> list[Block]:
    names = {
        "level": "data set", "n_humans": "humans", "human_human": "humans among themselves",
        "human_human_se": "its standard error", "p_human_human": "p (one-sided)",
        "noise_ceiling_lower": "noise ceiling, lower",
        "noise_ceiling_lower_se": "standard error (lower)",
        "noise_ceiling_upper": "noise ceiling, upper",
        "noise_ceiling_upper_se": "standard error (upper)",
    }  # fmt: skip
    what = (
        f"What humans reach among themselves{_for(scores)}; noise ceiling of what a system "
        f"without noise of its own could reach{_for(scores, 'images')}."
    )
    heads = {"prob_above_0": "p (above 0, one-sided)"}
    table = ceilings(scores, BOTH).rename(columns=names)
    said = Text(ceiling_sentence(scores, ceilings(scores, BOTH), BOTH))
    return [said, table_of(table, what, headings=heads, rows=60)]


def _matrix(matrix: Result, kinds: Mapping[str, str] | None) -> list[Section]:
    """The pairs most and least alike, and families of those that fail alike."""
    heads = {"estimate": matrix.metric.label}
    n_entries = matrix.estimates["estimate"].size
    top = matrix.summary(top=MOST_ROWS)
    alone = [name for name in ("dataset", "condition") if top[name].nunique() == 1]
    more = f" Of {n_entries:,} entries the {MOST_ROWS:,} highest." if n_entries > MOST_ROWS else ""
    blocks: list[Block] = [
        Text(
            "Analytic and posterior intervals side by side; a matrix has no bootstrap of pairs."
            if "posterior_lower" in matrix.estimates
            else "Analytic intervals; the posterior and the bootstrap of single pairs are "
            "al.compare's."
        ),
        table_of(top.drop(columns=alone), f"Most alike first.{more}", headings=heads),
    ]
    if n_entries > 20:
        low = matrix.summary(top=20, lowest=True).drop(columns=alone)
        blocks.append(table_of(low, "Least alike first.", headings=heads))
    sections = [Section(f"Estimates: {matrix.metric.label}", blocks)]
    if matrix.metric.symmetric and len(matrix.observers) > 2:
        found = attempted("Families.", lambda: _families(matrix, kinds))
        sections.append(Section("Families", found))
    return sections


def _families(matrix: Result, kinds: Mapping[str, str] | None) -> list[Block]:
    """The advised groups of observers, and the tree that they are cut from."""
    if (n := len(matrix.observers)) > MOST_IN_TREE:
        raise ValueError(f"{n:,} observers take minutes; call al.benchmark.families(matrix)")
    try:
        tree = families(matrix, n_resamples=REPLICATES, rng=SEED)
    except ValueError:
        # A saved matrix of labels holds no responses, and some trials leave pairs undefined.
        tree = families(matrix, n_resamples=0)
    found = tree.members()
    blocks: list[Block] = [Text(f"{TREE} {capital(tree.note)}.", finding=True)]
    by = kinds
    if tree.advised > 1:
        shown = found.assign(members=[listed(names, most=6) for names in found["members"]])
        blocks.append(table_of(shown, "Families of at least two observers, largest first."))
        # Names of the largest, for as many as there are colors.
        first = found.head(MOST_GROUPS - 1)
        named = {name: f"family {family:02d}"
                 for names, family in zip(first["members"], first["family"], strict=True)
                 for name in names}  # fmt: skip
        by = by or dict.fromkeys(tree.observers, "others") | named
    color = "kind" if kinds else "family"
    strip = f" The strip between them shows the {color} of each observer." if by else ""
    blocks.append(
        figure_of(
            lambda: plot_families(tree, matrix, by=by)[0],
            f"Tree of observers above the matrix of all pairs.{strip}",
        )
    )
    return blocks


def _groups(result: Result) -> list[Section]:
    """Means within and between groups, and observers by their mean with all others."""
    heads = {"estimate": result.metric.label}
    blocks: list[Block] = [
        table_of(result.summary(), "Within and between groups.", headings=heads),
        table_of(
            ranks(result, rng=SEED), "Observers by their mean with all others.", headings=heads
        ),
    ]
    return [Section(f"Groups of observers: {result.metric.label}", blocks)]


def _study(study: Result) -> list[Section]:
    """Estimates of modalities and readers, and differences between modalities."""
    modalities, apart = study.summary(), differences(study)
    prob, _ = study.interval_options(None, None)
    names = ["estimate", *bound_names("analytic", "ci", prob), "se", "n_readers", "n_cases"]
    blocks: list[Block] = [Text(f"Means over readers in each condition (modality). {POPULATION}")]
    blocks.append(
        table_of(modalities[["modality", *names, "note"]], "Conditions.", headings=MODALITIES)
    )
    if len(apart):
        own = apart[["modality", "other", *names, "p_value", "note"]]
        blocks.append(
            table_of(own, "Differences, smallest p values first.", sort="p_value",
                     headings=MODALITIES)
        )  # fmt: skip
    blocks.append(table_of(reader_means(study), "Readers.", headings=MODALITIES, folded=True))
    return [Section("Differences between conditions (reader study)", blocks)]
