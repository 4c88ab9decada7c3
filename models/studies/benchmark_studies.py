"""What simulated benchmarks say of the intervals of scores, in the page of benchmarks."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from alikely._base.files import write_file
from studies.coverage_benchmark import benchmark_coverage, benchmark_summary
from studies.coverage_rows import PROMISED

__all__ = ["benchmark_section", "update_page", "write_benchmarks"]

TABLE = "benchmarks.csv"
START, END = "<!-- coverage of benchmarks: made by code -->\n", "<!-- end of coverage -->\n"
STATEMENTS = ("score", "human-human", "share", "differences", "ranks")
THESE = ("score, these people", "difference, these people")
SIGNIFICANT, GREATEST, WIDEST = 0.05, 0.985, 1.5
N_SETS, N_SETS_OF_DRAWS, N_REPLICATES = 600, 100, 1_000
DIGITS = 4


def write_benchmarks(folder: Path, work: Path | None = None, seed: int = 1) -> None:
    """Run both studies, some two hours of one core, and write their table."""
    whole, drawn = (None if work is None else work / name for name in ("all", "draws"))
    most = benchmark_coverage(n_sets=N_SETS, folder=whole, rng=seed)
    rest = benchmark_coverage(
        n_sets=N_SETS_OF_DRAWS,
        n_replicates=N_REPLICATES,
        folder=drawn,
        rng=seed + 1,
    )
    write_file(folder / TABLE, benchmark_table(most, rest).round(DIGITS).to_csv(index=False))


def benchmark_table(most: pd.DataFrame, rest: pd.DataFrame) -> pd.DataFrame:
    """Summaries of both studies: of draws what only the second has."""
    drawn = benchmark_summary(rest)
    return pd.concat(
        [benchmark_summary(most), drawn[drawn["method"].isin(["bootstrap", "posterior"])]],
        ignore_index=True,
    )


def update_page(page: Path, folder: Path) -> None:
    """Put what the table says between the two marks of the page."""
    before, start, rest = page.read_text().partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise ValueError(f"{page} lacks the line {(END if start else START).strip()!r}")
    write_file(page, f"{before}{START}{benchmark_section(folder)}{END}{after}")


def benchmark_section(folder: Path) -> str:
    """What the table says."""
    table = pd.read_csv(folder / TABLE)
    wide, sets = (
        table.pivot_table(index="design", columns=["statement", "method"], values=name, sort=False)
        for name in ("coverage", "n_sets")
    )
    own, drawn = (table[table["method"] == name] for name in ("decomposition", "bootstrap"))
    lines = [_line(design, wide.loc[design]) for design in wide.index]
    return TEXT.format(
        n_sets=own["n_sets"].max(),
        n_drawn=drawn["n_sets"].max(),
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
    cells = [
        f"{_share(by[name, 'decomposition'])} ({_share(by[name, 'normal'])})" for name in STATEMENTS
    ]
    drawn = [_share(by[name, "bootstrap"]) for name in STATEMENTS[:2]]
    return f"| {design} | {' | '.join(cells)} | {' | '.join(drawn)} |"


def _these(design: str, by: pd.Series, n_sets: pd.Series) -> str:
    methods = ("decomposition", "normal", "bootstrap", "posterior")
    cells = [_share(by.get((THESE[0], method))) for method in methods]
    n, most = (n_sets.get((THESE[0], method), 0) for method in ("posterior", "bootstrap"))
    if 0 < n < most:
        cells[-1] += f" of {n:.0f}"
    cells += [_share(by.get((THESE[1], method))) for method in methods[:2]]
    return f"| {design} | {' | '.join(cells)} |"


def _share(value: float | None) -> str:
    if value is None or pd.isna(value):
        return "-"
    text = f"{value:.3f}"
    return "1" if text == "1.000" else text.removeprefix("0")


def _named(found: pd.DataFrame, nothing: str) -> str:
    named = [
        f"{statement} of " + ", ".join(f"{row.design} ({_share(row.coverage)})" for row in of)
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


TEXT = f"""Share of 95 % intervals that held the truth, and in brackets what they held before these
(normal quantiles, nothing added, every label another person and image), over {{n_sets}} simulated
benchmarks of four machines (`models/studies/coverage_benchmark.py`; Monte-Carlo error at most
{{error}}), and of the bootstrap, over {{n_drawn}} (at most {{error_drawn}}).

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

| population | score | before | bootstrap | posterior | difference | before |
|---|---|---|---|---|---|---|
{{these}}
"""
