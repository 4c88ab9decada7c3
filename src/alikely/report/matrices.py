"""What all pairs of many observers show."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from alikely._base.names import listed
from alikely.benchmark.trees import Families, families
from alikely.estimates.matrix_result import MatrixResult
from alikely.estimates.sentences import capital, matrix_sentence
from alikely.plots.families import MOST_GROUPS, plot_families
from alikely.report.blocks import (
    Block,
    Section,
    Text,
    attempted,
    figure_of,
    table_of,
)

__all__ = ["matrix_findings", "matrix_sections"]

# Trees of more observers take minutes.
MOST_IN_TREE = 2_000
# Bootstrap replicates of the tree, and their seed: a page is to be the same again.
REPLICATES, SEED = 20, 1
# Rows that are looked at: a table of all pairs of thousands has millions.
MOST_ROWS = 20_000
TREE = "Observers are joined by average linkage of the estimates."
HEADINGS = {
    "dataset": "data set",
    "accuracy_a": "accuracy",
    "accuracy_b": "other's accuracy",
    "log10_p": "log10 p (Fisher)",
    "p_adjusted": "p (Fisher, adjusted)",
}


def matrix_findings(matrix: MatrixResult) -> list[str]:
    """Sentences of what the matrix shows."""
    return [matrix_sentence(matrix)]


def matrix_sections(matrix: MatrixResult, kinds: Mapping[str, str] | None) -> list[Section]:
    """The pairs most and least alike, and families of those that fail alike."""
    label = matrix.metric.label
    n_entries = matrix.estimates["estimate"].size
    heads = HEADINGS | {"estimate": label}
    top = matrix.to_frame(top=MOST_ROWS)
    low = matrix.to_frame(top=20, lowest=True)
    apart = [name for name in ("dataset", "condition") if top[name].nunique() == 1]
    blocks: list[Block] = [
        Text(_schools(matrix)),
        table_of(
            top.drop(columns=apart),
            "Most alike first."
            + (
                f" Of {n_entries:,} entries the {MOST_ROWS:,} highest."
                if n_entries > MOST_ROWS
                else ""
            ),
            headings=heads,
        ),
    ]
    if n_entries > 20:
        blocks.append(table_of(low.drop(columns=apart), "Least alike first.", headings=heads))
    sections = [Section(f"Estimates: {label}", blocks)]
    if matrix.metric.symmetric and len(matrix.observers) > 2:
        sections.append(
            Section("Families", attempted("Families.", lambda: _families(matrix, kinds)))
        )
    return sections


def _schools(matrix: MatrixResult) -> str:
    """Which intervals there are, and where the others would be."""
    if "posterior_lower" in matrix.estimates:
        return "Analytic and posterior intervals side by side; a matrix has no bootstrap of pairs."
    return "Analytic intervals; the posterior and the bootstrap of single pairs are al.compare's."


def _families(matrix: MatrixResult, kinds: Mapping[str, str] | None) -> list[Block]:
    """The advised groups of observers, and the tree that they are cut from."""
    if (n := len(matrix.observers)) > MOST_IN_TREE:
        raise ValueError(f"{n:,} observers take minutes; call al.benchmark.families(matrix)")
    tree = _tree(matrix)
    found = tree.members()
    blocks: list[Block] = [Text(f"{TREE} {capital(tree.note)}.", finding=True)]
    by = kinds
    if tree.advised > 1:
        shown = found.assign(members=[listed(names, most=6) for names in found["members"]])
        blocks.append(table_of(shown, "Families of at least two observers, largest first."))
        by = by or _strip(tree, found)
    color = "kind" if kinds else "family"
    strip = f" The strip between them shows the {color} of each observer." if by else ""
    blocks.append(
        figure_of(
            lambda: plot_families(tree, matrix, by=by)[0],
            f"Tree of observers above the matrix of all pairs.{strip}",
        )
    )
    return blocks


def _tree(matrix: MatrixResult) -> Families:
    try:
        return families(matrix, n_resamples=REPLICATES, rng=SEED)
    except ValueError:
        # A saved matrix of labels holds no responses, and some trials leave pairs undefined.
        return families(matrix, n_resamples=0)


def _strip(tree: Families, found: pd.DataFrame) -> dict[str, str]:
    """Names of the largest families, for as many as there are colors."""
    named = dict.fromkeys(tree.observers, "others")
    for _, row in found.head(MOST_GROUPS - 1).iterrows():
        named |= dict.fromkeys(row["members"], f"family {row['family']:02d}")
    return named
