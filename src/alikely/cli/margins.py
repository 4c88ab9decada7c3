"""`alikely margins`: decision margins of models against responses of groups."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

import alikely as al
from alikely._base.intervals import percent
from alikely.cli._app import Options, subcommand
from alikely.cli._reading import roles_of
from alikely.cli._results import show_result
from alikely.cli._tables import (
    ROWS_SHOWN,
    Cell,
    Folder,
    between,
    ends,
    num,
    rank_cell,
    say,
    show,
    show_cut,
    show_notes,
    span,
    spread,
    whole,
)

if TYPE_CHECKING:
    from alikely.estimates.result import Result

ROLES = (
    "observer", "item", "truth", "class", "logit", "probability", "margin", "condition", "dataset",
)  # fmt: skip
# What a noise-corrected correlation is of.
SCALES = {
    "share": "of proportions correct of infinitely many people like these (scale share)",
    "strength": "of strengths of items (scale strength)",
    "margin": "of margins, between two models (scale margin)",
}


@subcommand(al.decision_margin_consistency, al.margins.decision_margins, al.Result.summary,
            omit=("label", *ROLES))  # fmt: skip
def margins(
    o: Options,
    *,
    margins: list[Path] | None = None,
    coarse: Path | None = None,
    margin_columns: str | None = None,
    link: Literal["m_afc", "probit"] = "m_afc",
    method: Literal["pearson", "spearman"] = "pearson",
    scores: bool = False,
    intervals: Literal["all"] | None = None,
) -> None:
    """Correlate decision margins of models with the proportion correct of groups, over items.

    The correlation is also corrected for the noise of single responses. FILE is as for alikely
    compare. A table of margins has one row per model and item with a column margin, or per model,
    item and class with columns class and logit (or probability).

    Parameters
    ----------
    margins : list
        Tables of margins (.csv, .csv.gz or .parquet); not needed to compare groups of observers.
    coarse : path
        Table with columns class and category, or a .txt file of ImageNet's 16 categories with lines
        such as knife = [n03041632].
    margin_columns : str
        Names of columns of the margins, ROLE=NAME,... with the roles of FILE and class, logit,
        probability, margin.
    link : str
        Relation of item strength and proportion correct: best of m alternatives (m_afc, the
        default), or probit.
    method : str
        Correlation of the estimate, its standard error and the bootstrap (default pearson).
    scores : bool
        Also show the noise-corrected mean of each model over conditions and data sets, with ranks.
    intervals : str
        Show the intervals of every valid method, and every column of the table.
    """
    known = () if o.group in ("kind", "observer") else (o.group,)
    trials = o.trials(labels=known)
    table = None
    if margins:
        named = roles_of(margin_columns, "--margin-columns", ROLES)
        # In Python `class` is a word of the language.
        named = {"label" if role == "class" else role: name for role, name in named.items()}
        mapping: dict[str, Any] = {} if coarse is None else {"coarse": _categories(coarse)}
        table = al.margins.decision_margins(
            *margins, trials=trials, **o.pick("how", "unmapped"), **mapping | named
        )
    elif margin_columns:
        raise ValueError("--margin-columns names columns of MARGINS; give --margins too")
    asked = o.of(al.decision_margin_consistency, margins=table)
    name = "decision_margin_consistency"
    result = al.compare(trials, name, link=link, method=method, **asked)
    show_result(result, o.out, trials, intervals)
    _show_matched(result)
    _show_scales(result)
    _show_ceilings(result.data["ceilings"].to_dataset().to_dataframe(), o.ci_prob)
    files = Folder(o.out, "tables and plots")
    if scores:
        means = al.benchmark.scores_of(result)
        _show_scores(means, o.ci_prob)
        files.table("scores", means.summary(None))
        files.plot("scores", al.plot_benchmark, means)
    if files:
        both = al.estimates.consistency_table(trials, result)
        files.table("consistency", both)
        files.plot("consistency", al.plot_margins, both, "consistency")
        files.close()


def _show_matched(result: Result) -> None:
    """How many items of each model were found among the responses; lacking ones first."""
    counts = ["n_matched", "n_alone", "n_missing"]
    found = {name: result.table[name].values.tolist() for name in ("observer", *counts)}
    frame = pd.DataFrame(found)
    frame = frame[frame["n_matched"] > 0]
    if frame.empty:
        return
    first = frame["n_matched"].iloc[0]
    if not (frame[counts] != [first, 0, 0]).any(axis=None):
        print(f"\nItems: all {first} of each model are matched with responses.")
        return
    lacking = (frame["n_matched"] - frame["n_alone"] - frame["n_missing"]).sort_values()
    columns: dict[str, Cell] = {
        "items of": "observer", "matched": whole("n_matched"), "unmatched": whole("n_alone"),
        "missing": whole("n_missing"),
    }  # fmt: skip
    show(frame.loc[lacking.index[:ROWS_SHOWN]], columns, [""])
    show_cut(len(frame), "numbers of lacking items", "the table of a result has them")
    say("(unmatched: without response; missing: with response, without margin)")


def _categories(path: Path) -> dict[str, str]:
    """Coarse category of each class, from a table with these columns or a list of identifiers."""
    if path.suffix == ".txt":
        return al.datasets.sixteen_categories(path)
    from alikely.data.files import read_file
    from alikely.data.ingest import open_tables

    source = open_tables([read_file(path)])
    classes, categories = source.read("class"), source.read("category")
    return {
        classes.labels[one]: categories.labels[other]
        for one, other in zip(classes.codes, categories.codes, strict=True)
    }


def _show_scales(result: Result) -> None:
    """What the noise-corrected column is of."""
    estimates = result.estimates
    if "scale" not in estimates:
        return
    found = set(estimates["scale"].values.tolist())
    texts = [text for scale, text in SCALES.items() if scale in found]
    told = f"Noise-free: correlation {'; '.join(texts)}."
    if "share_within" in estimates and estimates["share_within"].notnull().any():
        told += " Within and between classes: share_within, share_between in the table of --out."
    say("", told)


def _show_scores(scores: al.benchmark.DrawnScores, ci_prob: float) -> None:
    """Means of models, best first, with ranks where there are two and more."""
    frame = scores.summary().sort_values("posterior_median", ascending=False)
    columns: dict[str, Cell] = {
        "system": "system",
        "entries": num("n_entries", 0),
        "DMC": num("estimate"),
        "ceiling": num("ceiling"),
        "corrected": num("posterior_median"),
        percent(ci_prob): between(ends(frame, "posterior_")[:2], 3),
    }
    if len(scores.models) > 1 and frame["posterior_median"].notna().all():
        columns["rank"] = rank_cell(scores.ranks())
    show(frame, columns, ["", "Means over conditions and data sets, corrected for noise:"])
    show_notes(frame["note"])


def _show_ceilings(ceilings: pd.DataFrame, ci_prob: float) -> None:
    """Consistency of each group with another one like it."""
    columns: dict[str, Cell] = {
        "condition": "condition",
        "group": "system",
        "observers": num("n_observers", 0),
        "items": num("n_items", 0),
        "DMC": num("reliability"),
        percent(ci_prob): lambda row: row["undefined"] or span(row["lower"], row["upper"]),
    }
    above = (
        "Reliability: consistency of a group with another one like it (split halves, interval over "
        "observers and items); the ceiling of a model is its root:"
    )
    show(ceilings.iloc[spread(ceilings["reliability"])], columns, ["", above])
    show_cut(len(ceilings), "reliability", "the group 'ceilings' of --out DIR has all of them")
