"""Files of trials: formats, guesses, notes and errors."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import alikely as al
from alikely.data.trials import NO_RESPONSE, Trials

ROWS = [
    ("anna", "x", "cat", "cat"),
    ("anna", "y", "dog", "cat"),
    ("net", "x", "cat", "cat"),
    ("net", "y", "dog", "dog"),
]
TABLE = pd.DataFrame(ROWS, columns=["observer", "item", "truth", "response"])


def text(sep: str = ",", table: pd.DataFrame = TABLE) -> str:
    return table.to_csv(sep=sep, index=False)


def refused(message: str, *given: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        Trials.read(*given, **options)


def write(folder: Path, **files: str | bytes) -> Path:
    """Write files by name, where `_` means a dot and `__` a folder."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def same(trials: Trials, table: pd.DataFrame = TABLE, **options: Any) -> bool:
    expected = Trials.from_table(table, **options).data
    return bool(trials.data.drop_attrs().identical(expected.drop_attrs()))


@pytest.mark.parametrize(
    ("name", "content", "notes"),
    [
        ("t.csv", text(), []),
        ("t.CSV", text(), []),
        ("t.tsv", text("\t"), []),
        ("t.csv", text(";"), ["are parted by semicolons"]),
        ("t.csv", text("\t"), ["are parted by tabs"]),
        ("t.tsv", text(","), ["are parted by commas"]),
        # The time in a compressed file would be part of the test's name, which workers need equal.
        ("t.csv.gz", gzip.compress(text().encode(), mtime=0), []),
        ("t.csv", b"\xef\xbb\xbf" + text().encode(), []),
        ("t.csv", text().encode("utf-16"), []),
        ("t.csv", text().replace("\n", "\r\n"), []),
        ("t.csv", text().replace("\n", ",\n"), []),  # PsychoPy ends every line with a separator
        ("t.jsonl", TABLE.to_json(orient="records", lines=True), []),
        ("t.ndjson", TABLE.to_json(orient="records", lines=True), []),
        ("t.json", TABLE.to_json(orient="records"), []),
    ],
)
def test_kinds_of_files(tmp_path: Path, name: str, content: str | bytes, notes: list[str]) -> None:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    trials = Trials.read(tmp_path / name)
    assert same(trials)
    assert len(trials.notes) == len(notes)
    assert all(part in note for part, note in zip(notes, trials.notes, strict=True))


def test_columns_of_arrow(tmp_path: Path) -> None:
    TABLE.to_feather(tmp_path / "t.feather")
    TABLE.to_parquet(tmp_path / "t.parquet")
    assert same(Trials.read(tmp_path / "t.feather"))
    assert same(Trials.read(tmp_path / "t.parquet"))


def test_latin_1_is_noted(tmp_path: Path) -> None:
    table = TABLE.replace({"anna": "zoë"})
    (tmp_path / "t.csv").write_bytes(text(table=table).encode("latin-1"))
    trials = Trials.read(tmp_path / "t.csv")
    assert same(trials, table)
    assert "t.csv' is not UTF-8; read as Latin-1" in trials.notes[0]
    assert "\n  note: " in repr(trials)
    assert Trials.read(tmp_path / "t.csv", encoding="latin-1").notes == []
    refused(
        r"t.csv' cannot be read as a csv file: byte 31 is not valid utf-8",
        tmp_path / "t.csv",
        encoding="utf-8",
    )
    refused("encoding 'latin-one' is unknown", tmp_path / "t.csv", encoding="latin-one")


def test_several_files_form_one_table(tmp_path: Path) -> None:
    write(tmp_path, a_csv=text(table=TABLE[:2]), b_csv=text(";", table=TABLE[2:]), README_md="x")
    with zipfile.ZipFile(tmp_path / "z.zip", "w") as archive:
        archive.write(tmp_path / "a.csv", "inside/a.csv")
        archive.write(tmp_path / "b.csv", "inside/b.csv")
        archive.writestr("__MACOSX/inside/._a.csv", "rubbish")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for path in (files, str(tmp_path / "?.csv"), tmp_path / "z.zip"):
        trials = Trials.read(path)
        assert same(trials)
        assert len(trials.notes) == 1  # semicolons
    (tmp_path / "z.zip").unlink()
    trials = Trials.read(tmp_path)
    assert same(trials)
    assert "1 files of other kinds were not read: README.md" in trials.notes[0]


def test_responses_that_look_missing_are_noted() -> None:
    table = pd.DataFrame({"observer": "a", "item": range(100), "truth": "cat", "response": "cat"})
    table.loc[0, "truth"] = "dog"
    table.loc[1, "response"] = "na"
    note = Trials.from_table(table).notes[-1]
    assert note.endswith("as wrong; if no answer is meant, read it as missing, na_values=['na']")
    table.loc[1, "response"] = "cow"
    assert Trials.from_table(table).notes[-1].endswith("count as classes and as wrong")


def test_names_of_files_carry_fields(tmp_path: Path) -> None:
    part = TABLE[:2].drop(columns="observer")
    other = TABLE[2:].drop(columns="observer")
    write(tmp_path, edge__anna_csv=text(table=part), edge__net_csv=text(table=other))
    trials = Trials.read(tmp_path, pattern="{dataset}/{observer}.csv")
    assert same(trials, TABLE.assign(dataset="edge"))
    (tmp_path / "edge" / "anna.csv").rename(tmp_path / "edge" / "sub_anna_1.csv")
    (tmp_path / "edge" / "net.csv").rename(tmp_path / "edge" / "sub_net_2.csv")
    trials = Trials.read(tmp_path, pattern="sub_{observer}_{repeat:d}.csv")
    assert same(trials, TABLE.assign(repeat=[1, 1, 2, 2]))
    trials = Trials.read(tmp_path, pattern="sub_{observer}_*.csv")
    assert same(trials)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("{observer}.tsv", r"matches none of 2 files; they are: anna_1.csv, net_2_2.csv"),
        (
            "{observer}_{session}.csv",
            r"matches 'net_2_2.csv' in two ways, observer 'net' or 'net_2'",
        ),
        ("{observer_1.csv", "has no field"),
        ("{item}.csv", "'item' is a field of the pattern and a column of 'anna_1.csv'"),
    ],
)
def test_patterns_that_do_not_fit(tmp_path: Path, pattern: str, message: str) -> None:
    part = TABLE.drop(columns="observer")
    (tmp_path / "anna_1.csv").write_text(text(table=part[:2]))
    (tmp_path / "net_2_2.csv").write_text(text(table=part[2:]))
    refused(message, tmp_path, pattern=pattern)


def test_values_that_mean_missing(tmp_path: Path) -> None:
    table = TABLE.assign(response=["cat", "NA", "", "nan"])
    (tmp_path / "t.csv").write_text(text(table=table))
    trials = Trials.read(tmp_path / "t.csv")
    assert (trials.data["correct"].values == NO_RESPONSE).sum() == 3
    assert trials.notes == [
        "3 of 4 values of column 'response' are missing (1 NA, 1 nan, 1 empty): shown, not answered"
    ]
    kept = Trials.read(tmp_path / "t.csv", classes=["cat", "dog", "NA"])
    assert (kept.data["correct"].values == NO_RESPONSE).sum() == 2
    (tmp_path / "t.csv").write_text(text(table=TABLE.assign(response=["cat", "-", "cat", "dog"])))
    other = Trials.read(tmp_path / "t.csv", na_values=["-"])
    assert (other.data["correct"].values == NO_RESPONSE).sum() == 1
    refused(r"na_values must be a list of texts, got '-'; give", tmp_path / "t.csv", na_values="-")
    refused(r"'-' \(column 'response', row 1 of .*\).*list it in na_values", tmp_path / "t.csv")


def test_missing_values_elsewhere_raise_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text(table=TABLE.assign(item=["NA", "y", "NA", "y"])))
    refused(
        r"column 'item' has 'NA' in row 0 of .*, which means missing; .* or give na_values=\[\]",
        tmp_path / "t.csv",
    )
    assert set(Trials.read(tmp_path / "t.csv", na_values=[]).data["item"].values) == {"NA", "y"}
    (tmp_path / "t.csv").write_text(text(table=TABLE.replace({"dog": "NA"})))
    refused("column 'truth' has 'NA' in row 1 of .*, which means missing", tmp_path / "t.csv")
    assert same(
        Trials.read(tmp_path / "t.csv", classes=["NA", "cat"]),
        TABLE.replace({"dog": "NA"}),
        classes=["NA", "cat"],
    )


def test_codes_agree_between_csv_and_memory(tmp_path: Path) -> None:
    """If responses are missing, pandas stores and writes codes as floats."""
    table = TABLE.assign(truth=[1, 2, 1, 2], response=[1, None, 1.0, 2], condition=["0.10"] * 4)
    (tmp_path / "t.csv").write_text(text(table=table))
    assert "2,2.0,0.10" in text(table=table)
    trials = Trials.read(tmp_path / "t.csv")
    assert same(trials, table)
    assert "codes of column 'response' such as 1.0 were read as 1" in trials.notes
    # Not if one of them is no integer, or was not written by a table of floats.
    (tmp_path / "t.csv").write_text(text(table=TABLE.assign(condition=["1.0", "0.5"] * 2)))
    assert set(Trials.read(tmp_path / "t.csv").data["condition"].values) == {"1.0", "0.5"}
    (tmp_path / "t.csv").write_text(text(table=TABLE.assign(condition=["1.0", "01"] * 2)))
    assert set(Trials.read(tmp_path / "t.csv").data["condition"].values) == {"1.0", "01"}


def test_classes_that_are_never_true() -> None:
    """At most 2% of responses: one of these 50, then two."""
    table = pd.DataFrame({"observer": "a", "item": range(50), "truth": ["cat", "dog"] * 25})
    table["response"] = table["truth"]
    table.loc[0, "response"] = "bird"
    trials = Trials.from_table(table)
    assert trials.classes == ["bird", "cat", "dog"]
    assert len(trials.notes) == 1
    assert "1 of 50 answers are of classes that are never true (bird); they" in trials.notes[0]
    assert trials.select(observer="a").notes == trials.notes
    table.loc[1, "response"] = "bird"
    with pytest.raises(ValueError, match=r"'bird' .* classes cat, dog; .* classes='seen'"):
        Trials.from_table(table)
    assert Trials.from_table(table, classes="seen").classes == ["bird", "cat", "dog"]
    with pytest.raises(ValueError, match="classes must be a list of labels or 'seen', got 'all'"):
        Trials.from_table(table, classes="all")
    seen = Trials.from_arrays([["cat", "bird"]], ["cat", "dog"], classes="seen")
    assert seen.classes == ["bird", "cat", "dog"]
    assert len(seen.notes) == 1


@pytest.mark.parametrize("labels", [{"response": ["Cat", "cat", "cat", "dog"]}, {}])
def test_classes_that_differ_in_case(labels: dict[str, Any]) -> None:
    table = TABLE.assign(**labels) if labels else TABLE.replace({"dog": "CAT"})
    with pytest.raises(ValueError, match=r"differ only in case; .* classes=\[...\]"):
        Trials.from_table(table)
    known = ["cat", "Cat", "dog", "CAT"]
    assert Trials.from_table(table, classes=known).classes == known


@pytest.mark.parametrize(
    ("files", "options", "message"),
    [
        (
            {"a_csv": text(), "b_csv": text(table=TABLE.rename(columns={"truth": "label"}))},
            {},
            r"'truth' is in 'a.csv' but not in 'b.csv', whose columns are .*, response; read",
        ),
        ({"a_csv": text(), "b_csv": text(table=TABLE[:1])}, {}, "two rows for item 'x' .*: row 0"),
        ({"a_csv": text()}, {"format": "lm-evl"}, "format must be .*; did you mean 'lm-eval'?"),
        ({"a_csv": text()}, {"format": "table", "score": "acc"}, "a table has none"),
        ({"a_csv": text()}, {"truth": "response"}, "column 'response' is given twice, as response"),
    ],
)
def test_bad_folders(
    tmp_path: Path, files: dict[str, str | bytes], options: dict[str, Any], message: str
) -> None:
    refused(message, write(tmp_path, **files), **options)


WIDE = pd.DataFrame({"image": ["x", "y"], "truth": ["cat", "dog"], "anna": ["cat", "cat"]})
WIDE["net"] = ["cat", "dog"]


def test_wide_tables(tmp_path: Path) -> None:
    trials = Trials.from_wide(WIDE, kind={"anna": "human", "net": "model"})
    kinds = TABLE["observer"].map({"anna": "human", "net": "model"})
    assert same(trials, TABLE.assign(kind=kinds))
    assert trials.notes == ["2 columns are observers: anna, net"]
    assert Trials.from_wide(WIDE, observers=["anna"]).notes == []
    (tmp_path / "wide.csv").write_text(text(";", WIDE.rename(columns={"image": "picture"})))
    assert same(Trials.read(tmp_path / "wide.csv", wide=True, item="picture"))
    (tmp_path / "rows.csv").write_text(text(table=WIDE.drop(columns="image")))
    trials = Trials.read(tmp_path / "rows.csv", wide=True)
    assert trials.data["item"].values.tolist() == ["0", "1"]
    assert trials.notes[0] == "there is no column 'item': items are the rows, counted from 0"
    parts = {"u": WIDE, "v": WIDE}
    write(tmp_path / "parts", **{f"{name}_csv": text(table=part) for name, part in parts.items()})
    for name, part in parts.items():
        part.to_parquet(tmp_path / f"{name}.parquet")
    for place in (tmp_path / "parts", [tmp_path / "u.parquet", tmp_path / "v.parquet"]):
        trials = Trials.read(place, wide=True, pattern="{condition}.*")
        assert same(trials, pd.concat([TABLE.assign(condition=name) for name in parts]))
    kinds_of = {"anna": "human", "net": "model"}
    (tmp_path / "w.csv").write_text(text(table=WIDE))
    trials = Trials.read(tmp_path / "w.csv", wide=["anna", "net"], kind=kinds_of)
    assert same(trials, TABLE.assign(kind=kinds))
    right = WIDE.drop(columns="truth").assign(anna=[1, 0], net=[1.0, None])
    trials = Trials.read(right, wide=True)
    assert not trials.has_classes
    assert trials.data["correct"].values.tolist() == [[1, 0], [1, NO_RESPONSE]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": "class"}, r"no column 'class' \(truth\); the columns are image, truth, anna"),
        ({"kind": {"ana": "human"}}, "kind names the unknown observer 'ana'.* did you mean 'anna'"),
        ({"kind": "human"}, "a wide table has no column 'kind'"),
        ({"response": "anna"}, "a wide table has no column 'response'"),
    ],
)
def test_bad_wide_tables(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Trials.read(WIDE, wide=True, **options)
    with pytest.raises(ValueError, match="no column is left for an observer"):
        Trials.read(WIDE[["image", "truth"]], wide=True)


def test_wide_tables_without_truth_have_ratings_or_correctness() -> None:
    trials = Trials.read(WIDE.rename(columns={"truth": "label"}), wide=True)
    assert trials.observers == ["label", "anna", "net"]
    assert "3 columns are observers: label, anna, net" in trials.notes
    with pytest.raises(ValueError, match=r"no true classes.* by truth=, or compare the responses"):
        al.error_consistency(trials)


@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame, pa.Table.from_pandas])
@pytest.mark.parametrize("several", [False, True])
def test_tables_are_read_as_by_their_own_functions(
    made: Callable[[pd.DataFrame], Any], several: bool
) -> None:
    table = al.load_example().to_table()
    expected = Trials.from_table(table).data
    parts = [made(table[:100]), made(table[100:].reset_index(drop=True))]
    read = Trials.read(parts if several else made(table))
    xr.testing.assert_identical(read.data, expected)


@pytest.mark.parametrize("opened", [Trials.read, Trials.from_table, Trials.from_wide])
def test_duplicate_columns_raise_an_error(opened: Callable[[Any], Trials]) -> None:
    """Also for unused columns, because a wide table would use them as observers."""
    table = pd.DataFrame([["x", "x", "y"], ["y", "x", "y"]], columns=["truth", "a", "a"])
    arrow = pa.table([["x", "y"], ["x", "x"], ["y", "y"]], names=["truth", "a", "a"])
    for twice in (table, arrow, table.set_axis(["truth", "1", 1], axis=1)):
        with pytest.raises(ValueError, match=r"column '(a|1)' occurs twice in the table"):
            opened(twice)
