"""What scores of machines against people show: scores, ranks, differences, ceilings."""

from __future__ import annotations

from alikely.benchmark.benchmark import Benchmark
from alikely.benchmark.layout import OVERALL, Population
from alikely.benchmark.tables import NO_METHOD, is_plug_in, methods_shown, not_valid
from alikely.benchmark.words import (
    SPEAKS,
    ceiling_sentence,
    equality_sentence,
    rank_sentence,
)
from alikely.estimates.sentences import bounds_of, is_wide
from alikely.plots.benchmark import plot_benchmark
from alikely.report.blocks import (
    Block,
    Section,
    Text,
    attempted,
    figure_of,
    table_of,
)

__all__ = ["score_findings", "score_sections"]

# Images and people are both drawn anew: the widest of the three populations, and first.
BOTH: Population = "crossed"
# Random numbers decide sets of ranks in the last place only; a page is to be the same again.
SEED = 1
HEADINGS = {"ceiled": "share of ceiling", "system": "machine"}
MACHINES = "{what}, for {whom}."


def score_findings(scores: Benchmark) -> list[str]:
    """Sentences of what scores show: each says its population and what it allows for."""
    if not scores.is_analytic:
        return [scores.sentence()]
    found = [scores.sentence(BOTH)]
    if is_plug_in(scores.metric):
        return found
    for say in (_equality, _verdicts, _ranking, lambda b: [ceiling_sentence(b, BOTH)]):
        try:
            found += say(scores)
        except ValueError:
            continue  # its section says why there is none
    return found


def _equality(scores: Benchmark) -> list[str]:
    return [equality_sentence(scores, scores.equality(BOTH), BOTH)]


def _verdicts(scores: Benchmark) -> list[str]:
    """The highest score against the second, and against the lowest."""
    frame = scores.summary(BOTH, sort="-estimate")
    frame = frame[frame["system"].isin(scores.models) & frame["estimate"].notna()]
    names = frame["system"].tolist()
    pairs = [(names[0], names[1])] if len(names) > 1 else []
    pairs += [(names[0], names[-1])] if len(names) > 2 else []
    return [str(scores.verdict(one, other, BOTH)) for one, other in pairs]


def _ranking(scores: Benchmark) -> list[str]:
    prob, _ = scores.interval_options(None, None)
    return [rank_sentence(scores, scores.ranks(BOTH, rng=SEED), BOTH, prob)]


def score_sections(scores: Benchmark) -> list[Section]:
    """Scores, ranks, differences and ceilings."""
    if not scores.is_analytic:
        return _drawn_sections(scores)
    label = scores.metric.label
    sections = [Section(f"Scores against humans: {label}", _scores(scores))]
    # Of one machine there is neither.
    if len(scores.models) > 1:
        sections += [
            Section("Ranks", attempted("Ranks.", lambda: _ranks(scores))),
            Section(
                "Differences between machines", attempted("Differences.", lambda: _apart(scores))
            ),
        ]
    return [*sections, Section("Ceilings", attempted("Ceilings.", lambda: _ceilings(scores)))]


def _scores(scores: Benchmark) -> list[Block]:
    blocks: list[Block] = []
    for population in (BOTH, "images"):
        what = f"Scores (means over data sets), for {SPEAKS[population]}."
        blocks.append(_score_table(scores, population, what))
    blocks.append(
        figure_of(
            lambda: plot_benchmark(scores, population=BOTH),
            f"Scores with the humans' ceiling, for {SPEAKS[BOTH]}.",
        )
    )
    if len(scores.datasets) > 1:
        what = f"Scores in each data set, for {SPEAKS[BOTH]}."
        blocks.append(_score_table(scores, BOTH, what, level=None))
    return blocks


def _score_table(
    scores: Benchmark, population: Population, what: str, level: str | None = OVERALL
) -> Block:
    prob, kind = scores.interval_options(None, None)
    methods = methods_shown(scores, population, None)
    frame = scores.summary(population, level, intervals=methods, columns="all")
    names = ["level"] if level is None else []
    names += ["system", "estimate"]
    for school in methods:
        names += bounds_of(school, kind, prob)
    if frame["ceiled"].notna().any():
        names += ["ceiled"]
        names += [end for end in bounds_of("ceiled", "ci", prob) if end in frame]
    names += ["accuracy", "kappa_max"] if "kappa_max" in frame else ["accuracy"]
    heads = HEADINGS | {
        "estimate": scores.metric.label,
        "kappa_max": "highest that accuracies allow",
        "level": "data set",
    }
    return table_of(
        frame[[*names, "note"]],
        what,
        sort="-estimate" if level is not None else ["level", "-estimate"],
        headings=heads,
        leading_zero=is_wide(scores.metric) or None,
        rows=60 if level is not None else 20,
    )


def _ranks(scores: Benchmark) -> list[Block]:
    prob, _ = scores.interval_options(None, None)
    if reason := not_valid(scores.metric):
        return [Text(f"No ranks: {reason}.")]
    ranks = scores.ranks(BOTH, rng=SEED)
    names = {
        "rank_lb": "rank_set_lb", "rank_ub": "rank_set_ub",
        "marginal_lb": "rank_set_alone_lb", "marginal_ub": "rank_set_alone_ub",
        "system": "machine", "se": "standard error", "tied_with_top": "tied with the top",
        "estimate": scores.metric.label,
    }  # fmt: skip
    heads = {"rank_set": "ranks (all at once)", "rank_set_alone": "ranks (each alone)"}
    return [
        Text(rank_sentence(scores, ranks, BOTH, prob)),
        table_of(ranks.rename(columns=names), "Ranks, with ties.", headings=heads, rows=60),
        figure_of(
            lambda: plot_benchmark(scores, "ranks", population=BOTH, rng=SEED),
            f"Sets of ranks that hold all true ranks at once, for {SPEAKS[BOTH]}.",
        ),
    ]


def _apart(scores: Benchmark) -> list[Block]:
    table = scores.differences(BOTH).drop(columns="se")
    heads = {
        "system": "machine",
        "p_value_simultaneous": "p (among all)",
        "p_positive": "probability above 0",
    }
    blocks: list[Block] = [
        Text(
            f"First less other, for {SPEAKS[BOTH]}. Intervals and p (among all) are simultaneous: "
            f"adjusted for {len(table):,} comparisons."
        )
    ]
    if is_plug_in(scores.metric):
        return [table_of(table, NO_METHOD, sort="-difference", headings=heads)]
    blocks += attempted(
        "Test of equal scores.",
        lambda: [Text(equality_sentence(scores, scores.equality(BOTH), BOTH))],
    )
    blocks.append(
        table_of(table, "Smallest p values first.", sort="p_value_simultaneous", headings=heads)
    )
    if "posterior" in scores.data.children:
        blocks.append(
            figure_of(
                lambda: plot_benchmark(scores, "prob_greater"),
                "Posterior probability that the machine of the row is above that of the column, "
                f"for {SPEAKS['images']}.",
            )
        )
    return blocks


def _ceilings(scores: Benchmark) -> list[Block]:
    names = {
        "level": "data set", "n_humans": "humans", "human_human": "humans among themselves",
        "human_human_se": "its standard error", "p_human_human": "p_above_0",
        "consensus_lower": "consensus, lower", "consensus_lower_se": "lower, standard error",
        "consensus_upper": "consensus, upper", "consensus_upper_se": "upper, standard error",
    }  # fmt: skip
    table = scores.ceilings(BOTH).rename(columns=names)
    return [
        Text(ceiling_sentence(scores, BOTH)),
        table_of(
            table,
            f"What humans reach among themselves, for {SPEAKS[BOTH]}; consensus bounds of what a "
            f"system without noise of its own could reach, for {SPEAKS['images']}.",
            headings={"p_above_0": "p (above 0, one-sided)"},
            rows=60,
        ),
    ]


def _drawn_sections(scores: Benchmark) -> list[Section]:
    """Scores, ranks and differences of joint draws."""
    heads = {"estimate": scores.metric.label, "system": "machine", "n_entries": "entries"}

    def ranks() -> list[Block]:
        return [
            table_of(scores.ranks(), "Ranks, with ties.", headings=heads),
            figure_of(lambda: plot_benchmark(scores, "ranks"), "Ranks with their joint sets."),
        ]

    def apart() -> list[Block]:
        table = scores.differences()
        text = (
            "The pointwise interval is of one difference, the simultaneous one of all "
            f"{len(table):,} at once."
        )
        figure = figure_of(
            lambda: plot_benchmark(scores, "prob_greater"), "Probability that one is above another."
        )
        return [Text(text), table_of(table, "Differences.", sort="-difference"), figure]

    return [
        Section(
            f"Scores: {scores.metric.label}",
            [
                table_of(
                    scores.summary(), "Scores, highest first.", sort="-estimate", headings=heads
                ),
                figure_of(lambda: plot_benchmark(scores), "Scores with their intervals."),
            ],
        ),
        Section("Ranks", attempted("Ranks.", ranks)),
        Section("Differences between machines", attempted("Differences.", apart)),
    ]
