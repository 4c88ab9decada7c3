"""Files of all sorts through `alikely compare`: broken, odd, and only written otherwise."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import worlds as w
from cases import SAME, WORKS, Case, check, cli, marked

Q = "--n-resamples 50 --n-draws 50 --n-null 50 --quiet"
T, P = w.text(), w.table()
csv, ren, sub, lines, one = w.csv, w.ren, w.sub, w.lines, w.ONE
zipped, parquet = w.zipped, w.parquet


def comp(
    name: str,
    expect: Any,
    text: str | bytes,
    more: str = "",
    fname: str = "t.csv",
) -> Case:
    return Case(name, expect, cli(f"compare {fname} {Q} {more}", {fname: text}))


def no_file(expect: str, *given: Any, **more: str) -> Case:
    return comp(expect, expect, *given, **more)


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


CASES = [
    comp("all is well", WORKS, T),
    no_file(r"'t\.csv' is an empty file", ""),
    no_file(r"'t\.csv' is empty: it has no rows; expected", T.splitlines()[0] + "\n"),
    no_file(r"'t\.csv' holds empty lines alone; expected a line of names first", "\n"),
    no_file(r"'t\.csv' has column 'car' twice \(columns 5", lines(*T.splitlines()[1:])),
    no_file(r"'t\.csv' holds zero bytes, which are no text", bytes(range(256)) * 20),
    no_file(r"'t\.csv' holds zero bytes, which are no text; if", b"a,b\0\0,c\n1,2,3\n"),
    no_file(r"'t\.csv' is empty: it", "<!DOCTYPE html><html><body>404, not found</body></html>\n"),
    no_file(r"'t\.csv' has one column, 'observer', if", lines("observer", "a", "b")),
    no_file(r"'t\.csv' cannot be read as a csv file: CSV", T + "anna,human\n"),
    no_file(r"'t\.csv' cannot be read as a", T.replace("\n", ",x\n", 2).replace(",x\n", "\n", 1)),
    no_file(r"'t\.csv' cannot be read as a csv file: CSV", sub("anna", '"anna', 1)),
    no_file(r"'t\.csv' has column", lines("observer,observer,item,correct", "a,a,1,1", "b,b,1,0")),
    no_file("no column 'observer'; the columns", lines("subject,item,correct", "a,1,1", "b,1,0")),
    no_file("no column 'item'; the columns are", lines("observer,thing,correct", "a,1,1", "b,1,0")),
    no_file("no column 'response'; the", lines("observer,item", "a,1", "b,1")),
    no_file("no column 'response'; the columns", lines("observer,item,truth", "a,1,x", "b,1,x")),
    no_file("no column 'truth'; the columns", lines("observer,item,response", "a,1,x", "b,1,x")),
    no_file("column 'observer' has no value in row 0; fill it", sub("anna", "", 1)),
    no_file("column 'observer' has 'NA' in row 0, which means", sub("anna", "NA")),
    no_file("column 'item' has no value in row 0; fill it in or", sub("img00", "", 1)),
    no_file("column 'truth' has no", lines("observer,item,truth,response", "a,1,,x", "b,1,x,x")),
    no_file("column 'correct' must hold 0, 1 or", one.replace("a,2,0", "a,2,2")),
    no_file("column 'correct' must hold 0, 1 or", one.replace("a,2,0", "a,2,yes")),
    no_file("column 'correct' must hold 0, 1 or", one.replace("a,2,0", "a,2,-1")),
    no_file("column 'correct' must hold 0, 1 or", one.replace("a,2,0", "a,2,0.5")),
    comp("correct spelled two ways", WORKS, one.replace("a,1,1", "a,1,True")),
    comp("correct all", WORKS, lines("observer,item,correct", "a,1,", "a,2,", "b,1,", "b,2,")),
    comp("correct TRUE and", WORKS, one.replace(",1\n", ",TRUE\n").replace(",0\n", ",FALSE\n")),
    no_file("observer 'anna' has two rows for item", T + T.splitlines()[1] + "\n"),
    no_file("observer 'anna' has two rows for item", T + lines(*T.splitlines()[1:])),
    no_file(
        r"item '1' has truth 'x' for observer 'a' \(row 0\) but 'y' for observer",
        lines("observer,item,truth,response", "a,1,x,x", "b,1,y,x", "a,2,y,y", "b,2,x,y"),
    ),
    no_file("observer 'anna' has kind", sub("anna,human", "anna,model", 1)),
    no_file(r"'wolf' \(column 'response', row", ren("response", dog="wolf")),
    no_file("classes 'Dog' and 'dog' differ in case", sub("dog", "Dog", 1)),
    no_file("a comparison needs at least two", lines("observer,item,correct", "a,1,1", "a,2,0")),
    comp("one trial", WORKS, lines("observer,item,correct", "a,1,1", "b,1,0")),
    no_file(
        "observers 'a' and 'b' both took part in data set 'all' but have no",
        lines("observer,item,correct", "a,1,1", "b,2,0", "a,3,1", "b,4,1"),
    ),
    comp("everybody right", WORKS, csv(response=P.truth)),
    comp(
        "everybody wrong",
        WORKS,
        csv(response=P.truth.map({"bear": "car", "car": "dog", "dog": "bear"})),
    ),
    comp("nobody answers", WORKS, csv(response=None)),
    comp(
        "one class",
        WORKS,
        lines("observer,item,truth,response", "a,1,x,x", "b,1,x,x", "a,2,x,x", "b,2,x,x"),
    ),
    comp("semicolons", SAME, T.replace(",", ";")),
    comp("tabs in csv", SAME, T.replace(",", "\t")),
    comp("windows line ends", SAME, T.replace("\n", "\r\n")),
    comp("old mac line ends", SAME, T.replace("\n", "\r")),
    comp("a byte order mark", SAME, "\ufeff" + T),
    comp("utf-16", SAME, T.encode("utf-16")),
    no_file(r"'t\.csv' holds zero bytes", T.encode("utf-16-le")),
    comp("latin-1", WORKS, ren("observer", anna="Zoë").encode("latin-1")),
    comp("blank lines", SAME, T.replace("\n", "\n\n")),
    no_file("no column 'item'; the columns", T.replace(",", ", ")),
    no_file(r"'t\.csv' has one column, '# my data', if", "# my data\n" + T),
    comp("quoted everything", SAME, w.text(quoting=1)),
    comp("an index column", SAME, T and w.table().to_csv()),
    comp("a long name", WORKS, ren("observer", anna="a" * 5000)),
    comp("newline in name", WORKS, ren("observer", anna="an\nna")),
    comp("terminal escape in name", WORKS, ren("observer", anna="\x1b[31manna\x1b[0m")),
    comp("bell in name", WORKS, ren("observer", anna="an\x07na")),
    comp("right to left", WORKS, ren("observer", anna="\u202eanna")),
    comp("dollars", WORKS, ren("observer", anna="$a_{1}$", net_a="$100")),
    comp("backslash", WORKS, ren("observer", anna="a\\b")),
    comp("percent and braces", WORKS, ren("observer", anna="{a}%s")),
    comp("emoji", WORKS, ren("observer", anna="🐻")),
    comp("observer with x", SAME, ren("observer", anna="a x b")),
    comp("pipe in name", WORKS, ren("observer", anna="a|b")),
    comp("spaces around a name", WORKS, sub("anna,human", " anna ,human", 1)),
    comp("names differ in case", WORKS, sub("anna,human", "Anna,human", 1)),
    comp("observer called ceiling", WORKS, ren("observer", anna="ceiling")),
    comp("observer called human-human", WORKS, ren("observer", anna="human-human")),
    no_file("column 'observer' has", ren("observer", anna="nan")),
    comp("observer called all", WORKS, ren("observer", anna="all")),
    comp("observer called observer", WORKS, ren("observer", anna="observer")),
    comp("observer called class", WORKS, ren("observer", anna="class")),
    comp("condition called all", SAME, ren("condition", clean="all")),
    comp("class called (no response)", WORKS, sub("dog", "(no response)")),
    no_file("column 'truth' has 'nan' in row 2", sub("dog", "nan")),
    comp("class called None", WORKS, sub("dog", "None")),
    comp("kind with hyphens", WORKS, ren("kind", human="non-expert"), "--pairs non-expert-model"),
    no_file(
        "--pairs a-b-c may mean 'a' with 'b-c' or 'a-b' with 'c': kinds have",
        w.text(
            w.table(
                kind=lambda f: f.observer.map(
                    {"anna": "a", "ben": "a-b", "carl": "c", "net_a": "b-c", "net_b": "b-c"}
                )
            )
        ),
        "--pairs a-b-c",
    ),
    comp("dataset called overall", WORKS, csv(dataset="overall")),
    comp("repeats near 2^60", SAME, csv(repeat=2**60 - 1 + np.zeros(len(P), int))),
    no_file("column 'repeat' must hold", csv(repeat=str(2**64))),
    comp("two huge repeats", WORKS, csv(repeat=np.where(P.item == "img00", 2**62, 0))),
    no_file("column 'repeat' must hold whole numbers from 0 on, below", csv(repeat=-1)),
    no_file("column 'repeat' must hold whole numbers from 0 on, below", csv(repeat=0.5)),
    no_file("column 'repeat' must hold whole numbers from 0", csv(repeat="first")),
    comp("repeat in other digits", WORKS, csv(repeat="٣")),
    comp("items are numbers", SAME, csv(item=P.item.str[3:].astype(int))),
    comp("items are floats", SAME, csv(item=P.item.str[3:].astype(float))),
    comp("items with leading zeros", SAME, csv(item="00" + P.item.str[3:])),
    comp("items 1 and 1.0", WORKS, one.replace("b,1,", "b,1.0,")),
    comp("items in", WORKS, lines("observer,item,correct", "a,1e3,1", "a,2,0", "b,1e3,1", "b,2,1")),
    comp("a json list", SAME, json.dumps(P.to_dict("records")), fname="t.json"),
    comp("json lines", SAME, P.to_json(orient="records", lines=True), fname="t.jsonl"),
    no_file(r"'t\.json' holds one object of", P.to_json(), fname="t.json"),
    no_file(r"'t\.json' cannot be read as a json", '[{"observer": 1,', fname="t.json"),
    no_file(r"'t\.json' cannot be read as a table", "[1,2,3]", fname="t.json"),
    no_file(r"'t\.json' cannot be read as a json file: it", "[" * 100000, fname="t.json"),
    comp(
        "json with NaN",
        WORKS,
        '[{"observer":"a","item":1,"correct":NaN},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    no_file(
        "column 'observer' mixes text and numbers; make it one type, for",
        '[{"observer":{"a":1},"item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    no_file(
        "column 'observer' mixes text and numbers; make it one type, for",
        '[{"observer":1,"item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    no_file(
        r"observer 'b' has two rows for item '1' \(dataset 'all', condition",
        '[{"observer":"a","observer":"b","item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    no_file(
        r"'t\.json' cannot be read as a json file: Exceeds the limit \(4300",
        '[{"observer":"a","item":1'
        + "0" * 5000
        + ',"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    comp("parquet", SAME, parquet(P), fname="t.parquet"),
    no_file(r"'t\.parquet' cannot be read as a parquet", T, fname="t.parquet"),
    no_file(r"'t\.csv' holds zero bytes, which are no text; if it", parquet(P)),
    no_file(r"'t\.parquet' cannot be read", parquet(P)[:-40], fname="t.parquet"),
    no_file(
        r"'t\.parquet' cannot be read as a parquet file: (Invalid|Couldn't des)",
        parquet(P)[:300] + b"\xff" * 200 + parquet(P)[500:],
        fname="t.parquet",
    ),
    no_file(r"'t\.feather' cannot", b"ARROW1" + b"\0" * 50, fname="t.feather"),
    comp("gz", SAME, gzip.compress(T.encode()), fname="t.csv.gz"),
    no_file(r"'t\.csv\.gz' cannot", gzip.compress(T.encode())[:-20], fname="t.csv.gz"),
    no_file(r"'t\.csv\.gz' cannot be read as a csv file: Not", T, fname="t.csv.gz"),
    no_file(r"'t\.csv\.gz' is an empty file", gzip.compress(b""), fname="t.csv.gz"),
    comp("zip", SAME, zipped(a__csv=T), fname="t.zip"),
    no_file(r"'t\.zip' holds no file of a known kind", zipped(), fname="t.zip"),
    no_file(r"'t\.zip' cannot be read as a zip file: File is", T, fname="t.zip"),
    comp(
        "zip with mac files",
        SAME,
        zipped(a__csv=T, **{"__MACOSX/.___a.csv".replace("__MACOSX", "_MACOSX"): b"\0\5\x16\7"}),
        fname="t.zip",
    ),
    no_file(r"'t\.zip' holds no file of a known", zipped(**{"../../evil__csv": T}), fname="t.zip"),
    no_file(
        r"'t\.zip/a\.csv' cannot be read as a csv file: Bad CRC-32 for file",
        (lambda z: z[:60] + b"\xff" * 20 + z[80:])(zipped(a__csv=T)),
        fname="t.zip",
    ),
    no_file(r"'t\.pkl' is neither a", b"\x80\x04\x95\x10\0\0\0\0\0\0\0", fname="t.pkl"),
    no_file(r"'t\.xlsx' is neither a \.csv nor a \.parquet file", b"PK\3\4", fname="t.xlsx"),
    no_file(r"'t\.npy' is neither a \.csv nor a \.parquet file", b"\x93NUMPY", fname="t.npy"),
    no_file(r"'data' is neither a \.csv nor a \.parquet file, nor", T, fname="data"),
    no(r"no file 'nowhere\.csv'", cli("compare nowhere.csv")),
    no(r"'d' holds no file of a known kind \(\.csv, \.tsv", cli("compare d", {"d/readme.md": "x"})),
    no(r"no file fits '\*\.csv'", cli("compare '*.csv'")),
    no(r"file 't\.csv' is given twice; give each once", cli("compare t.csv t.csv", {"t.csv": T})),
    no(r"column 'response' is in 'a\.csv'", cli("compare a.csv b.csv", {"a.csv": T, "b.csv": one})),
    no(
        r"column 'item' holds texts in one table and numbers in 'b\.parquet';",
        cli(
            "compare a.csv b.parquet",
            {
                "a.csv": one,
                "b.parquet": parquet(
                    pd.read_csv(io.StringIO(one)).replace({"observer": {"a": "c", "b": "d"}})
                ),
            },
        ),
    ),
    v("hidden files of a", SAME, cli(f"compare d {Q}", {"d/t.csv": T, "d/._t.csv": b"\0\5\x16\7"})),
    no(
        r"'\._t\.csv' is what a Mac keeps beside a file, no data; give 't\.csv'",
        cli(f"compare ._t.csv {Q}", {"._t.csv": b"\0\5\x16\7\0\2\0\0Mac OS X"}),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
