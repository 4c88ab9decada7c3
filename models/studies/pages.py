"""Pages that studies write: the card of error similarity, and the page of benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from alikely._base.files import write_file
from studies.benchmarks import BENCHMARKS
from studies.error_patterns import (
    DESIGNS,
    EQUAL_ROWS,
    SIMILARITY,
    STATEMENTS,
)
from studies.harness import PROMISED

__all__ = [
    "BENCHMARK_TABLE",
    "ERROR_TABLES",
    "benchmark_section",
    "error_section",
    "update_benchmarks",
    "update_errors",
    "write_benchmarks",
    "write_errors",
]

SIGNIFICANT, DIGITS = 0.05, 4
ERROR_TABLES = ("coverage.csv", "statements.csv", "tests.csv")
HEAD, BEFORE = "## Coverage\n", "## Calibration\n"
METHODS = ("auto", "model", "bootstrap", "bca", "analytic")
# Data sets of each design, and how many more where coverage is near what is promised.
N_DATASETS, MORE = 200, 400


def write_errors(
    folder: Path, work: Path | None = None, seed: int = 1, only: Sequence[str] = ERROR_TABLES
) -> None:
    """Run the studies, an hour or two of processors each, and write their tables."""
    for name in only:
        parts = None if work is None else work / name
        if name == "coverage.csv":
            found = SIMILARITY.summary(_similarity(parts, seed))
        elif name == "statements.csv":
            found = STATEMENTS.summary(STATEMENTS.run(folder=parts, rng=seed))
        else:
            found = EQUAL_ROWS.summary(EQUAL_ROWS.run(folder=parts, rng=seed))
        _write(folder / name, found)


def _write(path: Path, table: pd.DataFrame) -> None:
    write_file(path, table.round(DIGITS).to_csv(index=False))


def _similarity(parts: Path | None, seed: int) -> pd.DataFrame:
    """Data sets of each design, and more of those that are near what is promised."""
    first = SIMILARITY.run(N_DATASETS, folder=parts, rng=seed)
    found, near = [first], _near(SIMILARITY.summary(first))
    for number, name in enumerate(DESIGNS):
        if name in near:
            # Folder and seed of its own: whichever others are in doubt, its data sets are these.
            own = None if parts is None else parts.with_name(f"{parts.name}-{number}")
            rng = np.random.SeedSequence([seed, N_DATASETS + number])
            found.append(SIMILARITY.run(MORE, [name], folder=own, rng=rng))
    return pd.concat(found)


def _near(rows: pd.DataFrame) -> list[str]:
    """Designs in which coverage is less than a Monte Carlo error from nominal, or below it."""
    auto = rows[rows["method"] == "auto"]
    near = auto["coverage"] + auto["unbounded"] < _doubtful(auto["n_datasets"])
    return auto["scenario"][near].tolist()


def _doubtful(n: Any) -> Any:
    """What is promised and a Monte-Carlo error of `n` data sets."""
    return PROMISED + np.sqrt(PROMISED * (1 - PROMISED) / n)


def update_errors(folder: Path) -> None:
    """Put the section into the card, before that of its calibration."""
    path = folder / "README.md"
    before, _, rest = path.read_text().partition(BEFORE)
    before = before.partition(HEAD)[0].rstrip("\n")
    write_file(path, f"{before}\n\n{error_section(folder)}\n{BEFORE}{rest}")


def error_section(folder: Path) -> str:
    """What the tables say."""
    rows, joint, tests = (pd.read_csv(folder / name) for name in ERROR_TABLES)
    return ERROR_TEXT.format(
        n_datasets=N_DATASETS,
        doubt=_doubtful(N_DATASETS),
        more=MORE,
        short=_short(rows),
        rows="\n".join(_row_lines(rows)),
        statements="\n".join(_statement_lines(joint)),
        tests="\n".join(
            f"| {row.scenario} | {row.n_datasets} | {row.divergence:.3f} | {row.rejected:.3f} |"
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
        f"{row.scenario} ({row.coverage:.3f}, {row.unbounded:.0%} unbounded)"
        for row in fewer.itertuples()
    )
    return f"Significantly below {PROMISED:.2f} (Holm over designs) it is in: {named}."


def _row_lines(rows: pd.DataFrame) -> list[str]:
    lines = []
    for design, part in rows.groupby("scenario", sort=False):
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
        index=["scenario", "statement", "n_datasets"],
        columns="method",
        values="coverage",
        sort=False,
    )
    return [
        f"| {design} | {statement} | {n} | {row['posterior']:.3f} | {row['bootstrap']:.3f} | "
        f"{row['analytic']:.3f} |"
        for (design, statement, n), row in wide.iterrows()
    ]


ERROR_TEXT = """## Coverage
Data sets of known truth (`studies.error_patterns.SIMILARITY`), each of a population of its own, go
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
over five data sets as if they were conditions (`STATEMENTS`): coverage of
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


BENCHMARK_TABLE = "benchmarks.csv"
START, END = "<!-- coverage of benchmarks: made by code -->\n", "<!-- end of coverage -->\n"
SHOWN = ("score", "human-human", "share", "differences", "ranks")
THESE = ("score, these people", "difference, these people")
GREATEST, WIDEST = 0.985, 1.5
N_SETS, N_SETS_OF_DRAWS, N_REPLICATES = 600, 100, 1_000


def write_benchmarks(folder: Path, work: Path | None = None, seed: int = 1) -> None:
    """Run both studies, some two hours of one core, and write their table."""
    whole, drawn = (None if work is None else work / name for name in ("all", "draws"))
    most = BENCHMARKS.run(N_SETS, folder=whole, rng=seed)
    rest = BENCHMARKS.run(N_SETS_OF_DRAWS, folder=drawn, rng=seed + 1, n_replicates=N_REPLICATES)
    # Of draws what only the second has.
    found = BENCHMARKS.summary(rest)
    found = found[found["method"] != "analytic"]
    table = pd.concat([BENCHMARKS.summary(most), found], ignore_index=True)
    _write(folder / BENCHMARK_TABLE, table)


def update_benchmarks(page: Path, folder: Path) -> None:
    """Put what the table says between the two marks of the page."""
    before, start, rest = page.read_text().partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{page} lacks the line {(END if start else START).strip()!r}")
    write_file(page, f"{before}{START}{benchmark_section(folder)}{END}{after}")


def benchmark_section(folder: Path) -> str:
    """What the table says."""
    table = pd.read_csv(folder / BENCHMARK_TABLE)
    wide, sets = (
        table.pivot_table(
            index="scenario", columns=["statement", "method"], values=name, sort=False
        )
        for name in ("coverage", "n_datasets")
    )
    own, drawn = (table[table["method"] == name] for name in ("analytic", "bootstrap"))
    lines = [_line(design, wide.loc[design]) for design in wide.index]
    return BENCHMARK_TEXT.format(
        n_sets=own["n_datasets"].max(),
        n_drawn=drawn["n_datasets"].max(),
        short=_named(own[own["p_short"] < SIGNIFICANT], "none"),
        n_cells=len(own),
        much=_named(own[(own["coverage"] > GREATEST) & (own["statement"] != "ranks")], "none"),
        error=_share(own["coverage_mcse"].max()),
        error_drawn=_share(drawn["coverage_mcse"].max()),
        wide=_widths(own),
        rows="\n".join(lines),
        these="\n".join(
            _these(design, wide.loc[design], sets.loc[design]) for design in wide.index
        ),
    )


def _line(design: str, by: pd.Series) -> str:
    cells = [_share(by[name, "analytic"]) for name in SHOWN]
    cells += [_share(by[name, "bootstrap"]) for name in SHOWN[:2]]
    return f"| {design} | {' | '.join(cells)} |"


def _these(design: str, by: pd.Series, n_sets: pd.Series) -> str:
    methods = ("analytic", "bootstrap", "posterior")
    cells = [_share(by.get((THESE[0], method))) for method in methods]
    n, most = (n_sets.get((THESE[0], method), 0) for method in ("posterior", "bootstrap"))
    if 0 < n < most:
        cells[-1] += f" of {n:.0f}"
    cells.append(_share(by.get((THESE[1], "analytic"))))
    return f"| {design} | {' | '.join(cells)} |"


def _share(value: float | None) -> str:
    if value is None or pd.isna(value):
        return "-"
    text = f"{value:.3f}"
    return "1" if text == "1.000" else text.removeprefix("0")


def _named(found: pd.DataFrame, nothing: str) -> str:
    named = [
        f"{statement} of " + ", ".join(f"{row.scenario} ({_share(row.coverage)})" for row in of)
        for statement, part in found.groupby("statement", sort=False)
        for of in [list(part.itertuples())]
    ]
    return "; ".join(named) or nothing


def _widths(own: pd.DataFrame) -> str:
    """Where intervals are much wider than those from the true error."""
    much = own[own["relative_width"] > WIDEST]
    parts = []
    for statement, part in much.groupby("statement", sort=False):
        least, most = part["relative_width"].min(), part["relative_width"].max()
        range_ = f"{most:.2f}" if len(part) == 1 else f"{least:.2f} to {most:.2f}"
        parts.append(f"{statement} in {len(part)} ({range_})")
    return ", ".join(parts) or "none"


BENCHMARK_TEXT = f"""Share of 95 % intervals that held the truth, over {{n_sets}} simulated
benchmarks of four machines (`studies.benchmarks.BENCHMARKS`; Monte-Carlo error at most {{error}}),
and of the bootstrap, over {{n_drawn}} (at most {{error_drawn}}).

- Significantly below {_share(PROMISED)} (Holm over {{n_cells}} cells, those of the second table
  too): {{short}}.
- Above {_share(GREATEST)}, ranks aside, which have to hold all at once: {{much}}.
- Median width more than {WIDEST} times that of an interval from the true standard error: {{wide}}.
  Two or three degrees of freedom leave no narrow interval.

| population | score | human-human | share | differences | ranks | bootstrap: score | human-human |
|---|---|---|---|---|---|---|---|
{{rows}}

For new images and these people, intervals one by one; of the posterior, benchmarks in which it is
not withheld:

| population | score | bootstrap | posterior | difference |
|---|---|---|---|---|
{{these}}
"""
