"""Options for reading files, the same in every subcommand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import alikely as al
from alikely.cli import main

QUICK = ["--n-resamples", "20", "--n-draws", "20", "--pairs", "human-human"]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with other column names, semicolons and missing responses."""
    trials = al.load_example().select(condition="noise", kind="human")
    frame = trials.to_table().rename(columns={"observer": "subject", "truth": "category"})
    frame.loc[0, "response"] = "-"
    frame.to_csv(tmp_path / "trials.csv", sep=";", index=False)
    return tmp_path / "trials.csv"


def test_compare_reads_files_by_its_options(
    table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = "observer=subject, truth=category"
    options = ["--columns", names, "--na-values=-,none"]
    assert main(["compare", str(table), *options, *QUICK]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    lines = " ".join(printed.split())
    assert "are parted by semicolons" in lines
    assert "values of column 'response' are missing (1 -" in lines
    assert "human_1 human_2" in lines


def test_several_files_and_a_pattern(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = al.Trials.read(table, observer="subject", truth="category", na_values=["-"]).to_table()
    files = []
    for name, part in rows.groupby("observer"):
        files.append(table.with_name(f"sub-{name}.tsv"))
        part.drop(columns="observer").to_csv(files[-1], sep="\t", index=False)
    pattern = ["--pattern", "sub-{observer}.tsv"]
    assert main(["compare", *map(str, files), *pattern, *QUICK]) == 0
    assert "human_3" in capsys.readouterr().out


def test_wide_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trials = al.load_example().select(condition="noise", observer=["human_1", "human_2"])
    rows = trials.to_table().fillna({"response": "none"})
    wide = rows.pivot(index=["item", "truth"], columns="observer", values="response").reset_index()
    wide.assign(rater="me").to_csv(tmp_path / "wide.csv", index=False)
    known = ["--classes", ",".join([*trials.classes, "none"]), *QUICK[:4]]
    arguments = ["compare", str(tmp_path / "wide.csv"), "--wide", *known]
    assert main([*arguments, "--observers", "human_1,human_2"]) == 0
    assert "human_1 human_2" in " ".join(capsys.readouterr().out.split())
    kinds = ["--kind", "person=human_1", "--kind", "net=human_2", "--pairs", "person-net"]
    assert main([*arguments, "--observers", "human_1,human_2", *kinds]) == 0
    assert "\n1 pair; " in capsys.readouterr().out
    assert main(arguments) == 2
    assert "'me' (column 'response', row 0 of 'column rater of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--observers", "a,b"], "--observers needs --wide, because it names columns"),
        (["--wide", "--kind", "human"], "--kind expects KIND=NAME,..., such as human=anna,bert, g"),
    ],
)
def test_bad_options_of_reading(
    table: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(table), *arguments]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert re.search(message, error)
