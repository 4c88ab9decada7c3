"""What studies say of the intervals and the test of error similarity, in its model's card."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.files import write_file
from studies.coverage_joint import joint_coverage, joint_coverage_summary
from studies.coverage_rows import (
    DESIGNS,
    PROMISED,
    row_coverage,
    row_coverage_summary,
)
from studies.equal_row_tests import row_tests, row_tests_summary

__all__ = ["section", "update_section", "write_studies"]

TABLES = ("coverage.csv", "statements.csv", "tests.csv")
HEAD, BEFORE = "## Coverage\n", "## Calibration\n"
METHODS = ("auto", "model", "bootstrap", "bca", "analytic")
SIGNIFICANT = 0.05
DIGITS = 4
# Data sets of each design, and how many more where coverage is near what is promised.
N_DATASETS, MORE = 200, 400


def write_studies(
    folder: Path, work: Path | None = None, seed: int = 1, only: Sequence[str] = TABLES
) -> None:
    """Run the studies, an hour or two of processors each, and write their tables."""
    for name in only:
        parts = None if work is None else work / name
        if name == "coverage.csv":
            found = row_coverage_summary(_rows(parts, seed))
        elif name == "statements.csv":
            found = joint_coverage_summary(joint_coverage(folder=parts, rng=seed))
        else:
            found = row_tests_summary(row_tests(folder=parts, rng=seed))
        write_file(folder / name, found.round(DIGITS).to_csv(index=False))


def _rows(parts: Path | None, seed: int) -> pd.DataFrame:
    """Data sets of each design, and more of those that are near what is promised."""
    first = row_coverage(n_datasets=N_DATASETS, folder=parts, rng=seed)
    found, near = [first], _near(row_coverage_summary(first))
    for number, (name, design) in enumerate(DESIGNS.items()):
        if name not in near:
            continue
        more = row_coverage(
            {name: design},
            n_datasets=MORE,
            # Of its own, as is the seed: whichever others are in doubt, its data sets are these.
            folder=None if parts is None else parts.with_name(f"{parts.name}-{number}"),
            rng=np.random.SeedSequence([seed, N_DATASETS + number]),
        )
        found.append(more.assign(dataset=more["dataset"] + N_DATASETS))
    return pd.concat(found)


def _near(rows: pd.DataFrame) -> list[str]:
    """Designs in which coverage is less than a Monte Carlo error from nominal, or below it."""
    auto = rows[rows["method"] == "auto"]
    near = auto["coverage"] + auto["unbounded"] < _doubtful(auto["n_datasets"])
    return auto["design"][near].tolist()


def _doubtful(n: Any) -> Any:
    """What is promised and a Monte-Carlo error of `n` data sets."""
    return PROMISED + np.sqrt(PROMISED * (1 - PROMISED) / n)


def update_section(folder: Path) -> None:
    """Put the section into the card, before that of its calibration."""
    path = folder / "README.md"
    before, _, rest = path.read_text().partition(BEFORE)
    before = before.partition(HEAD)[0].rstrip("\n")
    write_file(path, f"{before}\n\n{section(folder)}\n{BEFORE}{rest}")


def section(folder: Path) -> str:
    """What the tables say."""
    rows, joint, tests = (pd.read_csv(folder / name) for name in TABLES)
    return TEXT.format(
        n_datasets=N_DATASETS,
        doubt=_doubtful(N_DATASETS),
        more=MORE,
        short=_short(rows),
        rows="\n".join(_row_lines(rows)),
        statements="\n".join(_statement_lines(joint)),
        tests="\n".join(
            f"| {row.design} | {row.n_datasets} | {row.divergence:.3f} | {row.rejected:.3f} |"
            for row in tests.itertuples()
        ),
    )


def _short(rows: pd.DataFrame) -> str:
    """Designs in which intervals of the door fall short of what is promised."""
    auto = rows[rows["method"] == "auto"]
    fewer = auto[auto["p_short"] < SIGNIFICANT]
    if fewer.empty:
        return f"In no design is it significantly below {PROMISED:.2f} (Holm over designs)."
    named = ", ".join(
        f"{row.design} ({row.coverage:.3f}, {row.unbounded:.0%} unbounded)"
        for row in fewer.itertuples()
    )
    return f"Significantly below {PROMISED:.2f} (Holm over designs) it is in: {named}."


def _row_lines(rows: pd.DataFrame) -> list[str]:
    lines = []
    for design, part in rows.groupby("design", sort=False):
        by = part.set_index("method")
        auto = by.loc["auto"]
        covered = " | ".join(f"{by.loc[name, 'coverage']:.3f}" for name in METHODS)
        lines.append(
            f"| {design} | {auto['n_datasets']:.0f} | {covered} | {auto['width']:.3f} | "
            f"{auto['relative_width']:.2f} | {auto['unbounded']:.2f} | {auto['noted']:.2f} | "
            f"{auto['at_end']:.2f} |"
        )
    return lines


def _statement_lines(joint: pd.DataFrame) -> list[str]:
    wide = joint.pivot_table(
        index=["design", "statement", "n_datasets"], columns="method", values="coverage", sort=False
    )
    return [
        f"| {design} | {statement} | {n} | {row['posterior']:.3f} | {row['bootstrap']:.3f} | "
        f"{row['analytic']:.3f} |"
        for (design, statement, n), row in wide.iterrows()
    ]


TEXT = """## Coverage
Data sets of known truth (`studies.coverage_rows`), each of a population of its own, go
through `alikely.error_similarity`: share of 95 % intervals that hold the similarity. `auto` is the
door's interval, `model` the posterior of this model alone. An interval that ends where no label is
common is unbounded: it does not count as covering, and its row has a note, as have pairs whose
chains have not met (`noted`: either). Where the first {n_datasets} data sets leave coverage in
doubt, below {doubt:.3f} but for unbounded intervals, there are {more} more. {short}

| design | data sets | auto | model | bootstrap | BCa | analytic | median width | of model \
| unbounded | noted | holds 1 |
|---|---|---|---|---|---|---|---|---|---|---|---|
{rows}

Differences and means over pairs that share systems and items, two machines and four humans, and
over five data sets as if they were conditions (`studies.coverage_joint`): coverage of
95 % intervals; unbounded ones do not count as covering. Limits of means are those of
`alikely.mean`.

| design | statement | data sets | posterior | bootstrap | analytic |
|---|---|---|---|---|---|
{statements}

The test of equal rows (`p_equal`): how often it rejects at .05, equal systems first, with the
median divergence of populations.

| design | data sets | divergence | rejected |
|---|---|---|---|
{tests}
"""
