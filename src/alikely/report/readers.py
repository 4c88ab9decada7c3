"""Reader studies: modalities and the differences between them."""

from __future__ import annotations

import pandas as pd

from alikely._base.intervals import bound_names
from alikely._base.names import number
from alikely.benchmark.readers import ReaderStudy
from alikely.report.blocks import Block, Section, Text, table_of

__all__ = ["study_findings", "study_sections"]

MOST_SENTENCES = 3
POPULATION = (
    "Intervals generalize to new readers and new cases; they are not adjusted for multiple "
    "comparisons."
)
HEADINGS = {"se": "standard error", "modality": "condition", "other": "other condition",
            "n_readers": "readers", "n_cases": "cases", "p_value": "p"}  # fmt: skip


def study_findings(study: ReaderStudy) -> list[str]:
    """Sentences on the differences between modalities, the smallest p values first."""
    found = study.differences
    if not len(found):
        return []
    found = found.sort_values("p_value", kind="stable")
    said = [_difference(row) for _, row in found.head(MOST_SENTENCES).iterrows()]
    if len(found) > MOST_SENTENCES:
        said[-1] += f" The table has all {len(found)} differences."
    said[-1] += f" {POPULATION}"
    return said


def _difference(row: pd.Series) -> str:
    lower, upper, percent = _bounds(row)
    value, low, high = (number(row[n], 2, leading_zero=True) for n in ("estimate", lower, upper))
    p = "p < 0.001" if row["p_value"] < 0.001 else f"p = {row['p_value']:.3f}"
    return (
        f"Difference between {row['modality']} and {row['other']} (means over readers): {value}, "
        f"{percent}% CI [{low}, {high}], {p} ({row['n_readers']} readers, {row['n_cases']} cases)."
    )


def _bounds(row: pd.Series) -> tuple[str, str, str]:
    lower = next(str(n) for n in row.index if str(n).startswith("analytic_ci"))
    percent = lower.removeprefix("analytic_ci").removesuffix("_lb")
    return (*bound_names("analytic", "ci", float(percent) / 100), percent)


def study_sections(study: ReaderStudy) -> list[Section]:
    """Estimates of modalities and readers, and differences between modalities."""
    lower, upper, _ = _bounds(study.modalities.iloc[0])
    names = ["estimate", lower, upper, "se", "n_readers", "n_cases"]
    differences = study.differences
    blocks: list[Block] = [Text(f"Means over readers in each condition (modality). {POPULATION}")]
    blocks.append(
        table_of(study.modalities[["modality", *names, "note"]], "Conditions.", headings=HEADINGS)
    )
    if len(differences):
        own = differences[["modality", "other", *names, "p_value", "note"]]
        blocks.append(
            table_of(own, "Differences, smallest p values first.", sort="p_value",
                     headings=HEADINGS)
        )  # fmt: skip
    blocks.append(table_of(study.readers, "Readers.", headings=HEADINGS, folded=True))
    return [Section("Differences between conditions (reader study)", blocks)]
