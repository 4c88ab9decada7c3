"""Every function and subcommand returns its stored table."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import golden_calls
import golden_tables as tables
import pandas as pd
import pytest
from golden_tables import MC, TABLES, Call

import alikely as al
from alikely.cli import SUBCOMMANDS

ROOT = Path(__file__).parents[2]
# Loaders that download have separate tests with a local server. Options compute nothing.
ELSEWHERE = {
    "datasets.model_vs_human", "datasets.sixteen_categories", "options",
}  # fmt: skip
# Calls of half a second or more are compared with the slow tests, and under other kernels.
SECONDS = (
    "agreement_table", "cli_benchmark", "cli_completion", "cli_plan", "condition_alignment",
    "counts", "error_similarity", "estimate_coverage", "families", "group_scores",
    "model_copying", "plan_from", "plots_of_pairs", "rank_by_metric", "report", "sensitivity",
    "sentences", "trials_for_power",
)  # fmt: skip
USED = re.compile(r"\bal\.([A-Za-z][\w.]*)\(")


@pytest.fixture(autouse=True)
def without_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw plots without showing them."""
    monkeypatch.setenv("MPLBACKEND", "agg")


def unique(calls: list[Call]) -> list[Any]:
    assert len({call.name for call in calls}) == len(calls)
    long = [pytest.mark.slow, pytest.mark.seconds]
    return [pytest.param(call, id=call.name, marks=long * (call.name in SECONDS)) for call in calls]


def compared(call: Call) -> None:
    if not call.path.exists():
        pytest.fail(f"tests/golden/tables/{call.path.name} is missing; restore it from its commit")
    old = tables.renamed(call, tables.stored(call), tables.names())
    found = tables.differences(call, tables.run(call, 1), old, tables.changes())
    assert not found, "\n".join([*found[:20], f"({len(found)} differences)"])


@pytest.mark.parametrize("call", unique(golden_calls.CALLS))
def test_table(call: Call) -> None:
    compared(call)


@pytest.mark.slow
@pytest.mark.parametrize("call", unique(golden_calls.SLOW))
def test_table_of_seconds(call: Call) -> None:
    compared(call)


def covered() -> set[str]:
    calls = [*golden_calls.CALLS, *golden_calls.SLOW]
    return {name for call in calls for name in call.covers}


def functions_of(*pages: Path) -> set[str]:
    """Public functions that pages call."""
    found = set().union(*(USED.findall(page.read_text()) for page in pages))
    return {name for name in found if callable(_public(name))}


def _public(name: str) -> object:
    found: object = al
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def test_every_function_of_the_readme_and_the_guides_has_a_table() -> None:
    # Pages that are generated from public names are no guides.
    generated = {"gallery.md", "names.md"}
    guides = [page for page in (ROOT / "docs").glob("*.md") if page.name not in generated]
    pages = [ROOT / "README.md", *guides]
    wanted = functions_of(*pages) - ELSEWHERE
    assert sorted(wanted - covered()) == []


def test_every_subcommand_has_a_table() -> None:
    assert {f"alikely {name}" for name in SUBCOMMANDS} <= covered()


def test_stored_values_are_those_of_the_commit_that_added_them() -> None:
    first = tables.first_versions()
    if not first:
        pytest.skip("the commits of the tables are not here; get them by git fetch --unshallow")
    changed = [
        name
        for name, content in first.items()
        if not (TABLES / name).is_file() or (TABLES / name).read_bytes() != content
    ]
    assert changed == [], "stored values never change: a changed result goes into changes.csv"


def test_tables_are_small_and_each_belongs_to_a_call() -> None:
    files = sorted(TABLES.glob("*.csv"))
    assert sum(path.stat().st_size for path in files) < 2_000_000
    calls = [*golden_calls.CALLS, *golden_calls.SLOW]
    assert [path.stem for path in files] == sorted(call.name for call in calls)


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[pd.DataFrame], Call]:
    """A call with a given table, stored in a separate folder."""
    monkeypatch.setattr(tables, "TABLES", tmp_path)

    def make(table: pd.DataFrame) -> Call:
        made = Call("made", ("made",), lambda _: table)
        tables.make(made).to_csv(made.path, index=False)
        return made

    return make


NO_CHANGES = pd.DataFrame(columns=["call", "row", "column", "before", "after", "reason"])
MADE = pd.DataFrame({"pair": ["a x b", "a x c"], "estimate": [0.25, -1e-4], "note": ["few", ""]})


def test_differences_name_function_row_and_column(call: Callable[[pd.DataFrame], Call]) -> None:
    made = call(MADE)
    old = tables.stored(made)
    assert tables.differences(made, tables.run(made, 1), old, NO_CHANGES) == []
    moved = tables.prepared(MADE.assign(estimate=[0.25, -1e-4 * (1 + 1e-6)]))
    (found,) = tables.differences(made, moved, old, NO_CHANGES)
    assert found.startswith("made, row 1 (a x c), estimate: ")
    silent = tables.prepared(MADE.assign(note=""))
    (found,) = tables.differences(made, silent, old, NO_CHANGES)
    assert found.startswith("made, row 0 (a x b), note: ")
    gone = tables.prepared(MADE.drop(columns="estimate"))
    assert tables.differences(made, gone, old, NO_CHANGES) == ["made: column estimate is missing"]
    undefined = tables.prepared(MADE.assign(estimate=[0.25, float("nan")]))
    assert len(tables.differences(made, undefined, old, NO_CHANGES)) == 1
    assert tables.differences(made, moved.head(1), old, NO_CHANGES) == [
        "made: 1 rows, stored are 2"
    ]


def test_drawn_values_may_differ_by_six_errors() -> None:
    # Seeds 1 to 16 give their own number: mean 8.5, standard deviation 4.761.
    made = Call("made", (), lambda seed: pd.DataFrame({"x": [float(seed)], "n": [3]}))
    stored = tables.make(made)
    assert stored["x"].item() == 8.5
    assert stored["x" + MC].item() == pytest.approx((16 * 17 / 12) ** 0.5)
    assert "n" + MC not in stored
    limit = 6 * stored["x" + MC].item() * (17 / 16) ** 0.5
    for x, n_found in ((8.5 + limit - 1e-6, 0), (8.5 + limit + 1e-6, 1), (8.5 - limit - 1e-6, 1)):
        new = pd.DataFrame({"x": [x], "n": [3.0]})
        assert len(tables.differences(made, new, stored, NO_CHANGES)) == n_found


def test_renames_and_intended_changes(call: Callable[[pd.DataFrame], Call]) -> None:
    made = call(MADE)
    names = pd.DataFrame(
        [("made", "column", "estimate", "value"), ("*", "value", "a x b", "a and b"),
         ("other", "column", "note", "remark")],
        columns=["call", "what", "old", "new"],
    )  # fmt: skip
    old = tables.renamed(made, tables.stored(made), names)
    new = tables.prepared(MADE.rename(columns={"estimate": "value"}).replace("a x b", "a and b"))
    assert tables.differences(made, new, old, NO_CHANGES) == []
    new["value"] = [0.5, -1e-4]
    change = pd.DataFrame([("made", 0, "value", "0.25", "0.5", "why")], columns=NO_CHANGES.columns)
    assert len(tables.differences(made, new, old, NO_CHANGES)) == 1
    assert tables.differences(made, new, old, change) == []
    # A change must give the stored value and the new value.
    wrong = change.assign(before="0.3")
    assert "changes.csv says before = 0.3" in tables.differences(made, new, old, wrong)[0]
    assert len(tables.differences(made, new, old, change.assign(after="0.6"))) == 1
