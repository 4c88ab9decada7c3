"""What all pairs of many observers show."""

from __future__ import annotations

from alikely.benchmark.trees import families
from alikely.data import Trials
from alikely.estimates.matrix_result import MatrixResult
from alikely.estimates.matrix_words import matrix_sentence
from alikely.plots.families import plot_families
from alikely.report.blocks import (
    Block,
    Section,
    Text,
    attempted,
    figure_of,
    table_of,
)
from alikely.report.data import kinds_of

__all__ = ["matrix_findings", "matrix_sections"]

# A map of more observers has no room for their names.
MOST_IN_MAP = 200
# Rows that are looked at: a table of all pairs of thousands has millions.
MOST_ROWS = 20_000
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


def matrix_sections(matrix: MatrixResult, trials: Trials | None) -> list[Section]:
    """The pairs most and least alike, and families of those that fail alike.

    Parameters
    ----------
    matrix : MatrixResult
    trials : Trials or None
        Their observers' kinds colour the figure.

    Returns
    -------
    list of Section
    """
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
    if matrix.metric.symmetric and 2 < len(matrix.observers) <= MOST_IN_MAP:
        sections.append(
            Section("Families", attempted("Families.", lambda: _families(matrix, trials)))
        )
    return sections


def _schools(matrix: MatrixResult) -> str:
    """Which intervals there are, and where the others would be."""
    if "posterior_lower" in matrix.estimates:
        return "Analytic and posterior intervals side by side; a matrix has no bootstrap of pairs."
    return "Analytic intervals; the posterior and the bootstrap of single pairs are al.compare's."


def _families(matrix: MatrixResult, trials: Trials | None) -> list[Block]:
    tree = families(matrix, n_resamples=0)
    return [
        Text(
            "Observers that fail alike stand together (average linkage of the estimates). How sure "
            "branches are is not in this figure: al.benchmark.families gives their support."
        ),
        figure_of(
            lambda: plot_families(tree, matrix, by=kinds_of(trials))[0],
            "Tree of observers above the matrix of all pairs.",
        ),
    ]
