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
    kind: str = "malformed",
    more: str = "",
    fname: str = "t.csv",
) -> Case:
    return Case(name, kind, expect, cli(f"compare {fname} {Q} {more}", {fname: text}))


def known(name: str, expect: Any, kind: str, do: Callable[[], Any]) -> Case:
    return Case(name, kind, expect, do)


CASES = [
    comp("all is well", WORKS, T, "sane"),
    comp("empty file", r"'t\.csv' is an empty file", ""),
    comp(
        "header only",
        r"'t\.csv' is empty: it has no rows; expected one for each answer",
        T.splitlines()[0] + "\n",
    ),
    comp("one newline", r"'t\.csv' holds empty lines alone; expected a line of names first", "\n"),
    comp(
        "no header",
        r"'t\.csv' has column 'car' twice \(columns 5 and 6\); give each another",
        lines(*T.splitlines()[1:]),
    ),
    comp(
        "binary noise",
        r"'t\.csv' holds zero bytes, which are no text; if it is UTF-16, say so:",
        bytes(range(256)) * 20,
    ),
    comp(
        "null bytes",
        r"'t\.csv' holds zero bytes, which are no text; if it is UTF-16, say so:",
        b"a,b\0\0,c\n1,2,3\n",
    ),
    comp(
        "html instead of csv",
        r"'t\.csv' is empty: it has no rows; expected one for each answer",
        "<!DOCTYPE html><html><body>404, not found</body></html>\n",
    ),
    comp(
        "one column",
        r"'t\.csv' has one column, 'observer', if parted by ','; expected",
        lines("observer", "a", "b"),
    ),
    comp(
        "a row too short",
        r"'t\.csv' cannot be read as a csv file: CSV parse error: Expected 6",
        T + "anna,human\n",
    ),
    comp(
        "a row too long",
        r"'t\.csv' cannot be read as a csv file: CSV parse error: Expected 6",
        T.replace("\n", ",x\n", 2).replace(",x\n", "\n", 1),
    ),
    comp(
        "open quote",
        r"'t\.csv' cannot be read as a csv file: CSV parse error: Expected 6",
        sub("anna", '"anna', 1),
    ),
    comp(
        "duplicated column",
        r"'t\.csv' has column 'observer' twice \(columns 1 and 2\); give each",
        lines("observer,observer,item,correct", "a,a,1,1", "b,b,1,0"),
    ),
    comp(
        "missing observer",
        "no column 'observer'; the columns are subject, item, correct; name",
        lines("subject,item,correct", "a,1,1", "b,1,0"),
    ),
    comp(
        "missing item",
        "no column 'item'; the columns are observer, thing, correct; name",
        lines("observer,thing,correct", "a,1,1", "b,1,0"),
    ),
    comp(
        "missing all answers",
        "no column 'response'; the columns are observer, item; name yours, such as --columns "
        "response=answer",
        lines("observer,item", "a,1", "b,1"),
    ),
    comp(
        "truth but no response",
        "no column 'response'; the columns are observer, item, truth; name",
        lines("observer,item,truth", "a,1,x", "b,1,x"),
    ),
    comp(
        "response but no truth",
        "no column 'truth'; the columns are observer, item, response; name",
        lines("observer,item,response", "a,1,x", "b,1,x"),
    ),
    comp(
        "empty observer",
        "column 'observer' has no value in row 0; fill it in or drop the row",
        sub("anna", "", 1),
    ),
    comp(
        "NA observer",
        "column 'observer' has 'NA' in row 0, which means missing; fill it in",
        sub("anna", "NA"),
    ),
    comp(
        "empty item",
        "column 'item' has no value in row 0; fill it in or drop the row",
        sub("img00", "", 1),
    ),
    comp(
        "empty truth",
        "column 'truth' has no value in row 0; fill it in or drop the row",
        lines("observer,item,truth,response", "a,1,,x", "b,1,x,x"),
    ),
    comp(
        "correct is 2",
        "column 'correct' must hold 0, 1 or nothing, got '2' in row 1",
        one.replace("a,2,0", "a,2,2"),
    ),
    comp(
        "correct is yes",
        "column 'correct' must hold 0, 1 or nothing, got 'yes' in row 1",
        one.replace("a,2,0", "a,2,yes"),
    ),
    comp(
        "correct is -1",
        "column 'correct' must hold 0, 1 or nothing, got '-1' in row 1",
        one.replace("a,2,0", "a,2,-1"),
    ),
    comp(
        "correct is 0.5",
        r"column 'correct' must hold 0, 1 or nothing, got '0\.5' in row 1",
        one.replace("a,2,0", "a,2,0.5"),
    ),
    comp("correct spelled two ways", WORKS, one.replace("a,1,1", "a,1,True"), "unusual"),
    comp(
        "correct all empty",
        WORKS,
        lines("observer,item,correct", "a,1,", "a,2,", "b,1,", "b,2,"),
        "degenerate",
    ),
    comp(
        "correct TRUE and FALSE",
        WORKS,
        one.replace(",1\n", ",TRUE\n").replace(",0\n", ",FALSE\n"),
        "unusual",
    ),
    comp(
        "a row twice",
        r"observer 'anna' has two rows for item 'img00' \(dataset 'all',",
        T + T.splitlines()[1] + "\n",
    ),
    comp(
        "all rows twice",
        r"observer 'anna' has two rows for item 'img00' \(dataset 'all',",
        T + lines(*T.splitlines()[1:]),
    ),
    comp(
        "two truths",
        r"item '1' has truth 'x' for observer 'a' \(row 0\) but 'y' for observer",
        lines("observer,item,truth,response", "a,1,x,x", "b,1,y,x", "a,2,y,y", "b,2,x,y"),
    ),
    comp(
        "a person of two kinds",
        r"observer 'anna' has kind 'model' and 'human' \(row 1\); it must be the",
        sub("anna,human", "anna,model", 1),
    ),
    comp(
        "many unknown answers",
        r"'wolf' \(column 'response', row 2\) is not among the 3 classes bear,",
        ren("response", dog="wolf"),
    ),
    comp(
        "classes differ in case",
        "classes 'Dog' and 'dog' differ in case alone; write both alike or, if",
        sub("dog", "Dog", 1),
    ),
    comp(
        "one observer",
        r"a comparison needs at least two observers, got 1 \(a\)",
        lines("observer,item,correct", "a,1,1", "a,2,0"),
        "degenerate",
    ),
    comp("one trial", WORKS, lines("observer,item,correct", "a,1,1", "b,1,0"), "degenerate"),
    comp(
        "no common item",
        "observers 'a' and 'b' both took part in data set 'all' but have no",
        lines("observer,item,correct", "a,1,1", "b,2,0", "a,3,1", "b,4,1"),
        "degenerate",
    ),
    comp("everybody right", WORKS, csv(response=P.truth), "degenerate"),
    comp(
        "everybody wrong",
        WORKS,
        csv(response=P.truth.map({"bear": "car", "car": "dog", "dog": "bear"})),
        "degenerate",
    ),
    comp("nobody answers", WORKS, csv(response=None), "degenerate"),
    comp(
        "one class",
        WORKS,
        lines("observer,item,truth,response", "a,1,x,x", "b,1,x,x", "a,2,x,x", "b,2,x,x"),
        "degenerate",
    ),
    comp("semicolons", SAME, T.replace(",", ";"), "unusual"),
    comp("tabs in csv", SAME, T.replace(",", "\t"), "unusual"),
    comp("windows line ends", SAME, T.replace("\n", "\r\n"), "unusual"),
    comp("old mac line ends", SAME, T.replace("\n", "\r"), "unusual"),
    comp("a byte order mark", SAME, "\ufeff" + T, "unusual"),
    comp("utf-16", SAME, T.encode("utf-16"), "unusual"),
    comp(
        "utf-16 without mark",
        r"'t\.csv' holds zero bytes, which are no text; if it is UTF-16, say so:",
        T.encode("utf-16-le"),
        "unusual",
    ),
    comp("latin-1", WORKS, ren("observer", anna="Zoë").encode("latin-1"), "unusual"),
    comp("blank lines", SAME, T.replace("\n", "\n\n"), "unusual"),
    comp(
        "spaces behind commas",
        "no column 'item'; the columns are observer, kind, condition, item,",
        T.replace(",", ", "),
        "unusual",
    ),
    comp(
        "comment before header",
        r"'t\.csv' has one column, '# my data', if parted by ','; expected",
        "# my data\n" + T,
    ),
    comp("quoted everything", SAME, w.text(quoting=1), "unusual"),
    comp("an index column", SAME, T and w.table().to_csv(), "unusual"),
    comp("a long name", WORKS, ren("observer", anna="a" * 5000), "names"),
    comp("newline in name", WORKS, ren("observer", anna="an\nna"), "names"),
    comp("terminal escape in name", WORKS, ren("observer", anna="\x1b[31manna\x1b[0m"), "names"),
    comp("bell in name", WORKS, ren("observer", anna="an\x07na"), "names"),
    comp("right to left", WORKS, ren("observer", anna="\u202eanna"), "names"),
    comp("dollars", WORKS, ren("observer", anna="$a_{1}$", net_a="$100"), "names"),
    comp("backslash", WORKS, ren("observer", anna="a\\b"), "names"),
    comp("percent and braces", WORKS, ren("observer", anna="{a}%s"), "names"),
    comp("emoji", WORKS, ren("observer", anna="🐻"), "names"),
    comp("observer with x", SAME, ren("observer", anna="a x b"), "names"),
    comp("pipe in name", WORKS, ren("observer", anna="a|b"), "names"),
    comp("spaces around a name", WORKS, sub("anna,human", " anna ,human", 1)),
    comp("names differ in case", WORKS, sub("anna,human", "Anna,human", 1)),
    comp("observer called ceiling", WORKS, ren("observer", anna="ceiling"), "names"),
    comp("observer called human-human", WORKS, ren("observer", anna="human-human"), "names"),
    comp(
        "observer called nan",
        "column 'observer' has 'nan' in row 0, which means missing; fill it in",
        ren("observer", anna="nan"),
        "names",
    ),
    comp("observer called all", WORKS, ren("observer", anna="all"), "names"),
    comp("observer called observer", WORKS, ren("observer", anna="observer"), "names"),
    comp("observer called class", WORKS, ren("observer", anna="class"), "names"),
    comp("condition called all", SAME, ren("condition", clean="all"), "names"),
    comp("class called (no response)", WORKS, sub("dog", "(no response)"), "names"),
    comp(
        "class called nan",
        "column 'truth' has 'nan' in row 2, which means missing; fill it in or",
        sub("dog", "nan"),
        "names",
    ),
    comp("class called None", WORKS, sub("dog", "None"), "names"),
    comp(
        "kind with hyphens",
        WORKS,
        ren("kind", human="non-expert"),
        "names",
        "--pairs non-expert-model",
    ),
    comp(
        "ambiguous kinds",
        "--pairs a-b-c may mean 'a' with 'b-c' or 'a-b' with 'c': kinds have",
        w.text(
            w.table(
                kind=lambda f: f.observer.map(
                    {"anna": "a", "ben": "a-b", "carl": "c", "net_a": "b-c", "net_b": "b-c"}
                )
            )
        ),
        "names",
        "--pairs a-b-c",
    ),
    comp("dataset called overall", WORKS, csv(dataset="overall"), "names"),
    comp("repeats near 2^60", SAME, csv(repeat=2**60 - 1 + np.zeros(len(P), int)), "unusual"),
    comp(
        "repeats beyond 2^63",
        r"column 'repeat' must hold whole numbers from 0 on, below 2\^63, got",
        csv(repeat=str(2**64)),
        "unusual",
    ),
    comp("two huge repeats", WORKS, csv(repeat=np.where(P.item == "img00", 2**62, 0)), "unusual"),
    comp(
        "repeat -1",
        r"column 'repeat' must hold whole numbers from 0 on, below 2\^63, got",
        csv(repeat=-1),
    ),
    comp(
        "repeat 0.5",
        r"column 'repeat' must hold whole numbers from 0 on, below 2\^63, got",
        csv(repeat=0.5),
    ),
    comp(
        "repeat is text",
        r"column 'repeat' must hold whole numbers from 0 on, below 2\^63, got",
        csv(repeat="first"),
    ),
    comp("repeat in other digits", WORKS, csv(repeat="٣"), "unusual"),
    comp("items are numbers", SAME, csv(item=P.item.str[3:].astype(int)), "unusual"),
    comp("items are floats", SAME, csv(item=P.item.str[3:].astype(float)), "unusual"),
    comp("items with leading zeros", SAME, csv(item="00" + P.item.str[3:]), "unusual"),
    comp("items 1 and 1.0", WORKS, one.replace("b,1,", "b,1.0,"), "unusual"),
    comp(
        "items in exponents",
        WORKS,
        lines("observer,item,correct", "a,1e3,1", "a,2,0", "b,1e3,1", "b,2,1"),
        "unusual",
    ),
    comp("a json list", SAME, json.dumps(P.to_dict("records")), "unusual", fname="t.json"),
    comp("json lines", SAME, P.to_json(orient="records", lines=True), "unusual", fname="t.jsonl"),
    comp(
        "json object of columns",
        r"'t\.json' holds one object of columns; expected a list of rows, such",
        P.to_json(),
        fname="t.json",
    ),
    comp(
        "broken json",
        r"'t\.json' cannot be read as a json file: line 1: Expecting property",
        '[{"observer": 1,',
        fname="t.json",
    ),
    comp(
        "json of numbers",
        r"'t\.json' cannot be read as a table: entry 0 is int; expected one",
        "[1,2,3]",
        fname="t.json",
    ),
    comp(
        "deep json",
        r"'t\.json' cannot be read as a json file: it is nested too deeply for a",
        "[" * 100000,
        fname="t.json",
    ),
    comp(
        "json with NaN",
        WORKS,
        '[{"observer":"a","item":1,"correct":NaN},{"observer":"b","item":1,"correct":1}]',
        "unusual",
        fname="t.json",
    ),
    comp(
        "json nested values",
        "column 'observer' mixes text and numbers; make it one type, for",
        '[{"observer":{"a":1},"item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    comp(
        "json mixed types",
        "column 'observer' mixes text and numbers; make it one type, for",
        '[{"observer":1,"item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    comp(
        "json duplicate keys",
        r"observer 'b' has two rows for item '1' \(dataset 'all', condition",
        '[{"observer":"a","observer":"b","item":1,"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    comp(
        "json huge number",
        r"'t\.json' cannot be read as a json file: Exceeds the limit \(4300",
        '[{"observer":"a","item":1'
        + "0" * 5000
        + ',"correct":1},{"observer":"b","item":1,"correct":1}]',
        fname="t.json",
    ),
    comp("parquet", SAME, parquet(P), "unusual", fname="t.parquet"),
    comp(
        "csv called parquet",
        r"'t\.parquet' cannot be read as a parquet file: Could not open Parquet",
        T,
        fname="t.parquet",
    ),
    comp(
        "parquet called csv",
        r"'t\.csv' holds zero bytes, which are no text; if it is UTF-16, say so:",
        parquet(P),
    ),
    comp(
        "parquet cut short",
        r"'t\.parquet' cannot be read as a parquet file: Could not open Parquet",
        parquet(P)[:-40],
        fname="t.parquet",
    ),
    comp(
        "parquet with damage",
        r"'t\.parquet' cannot be read as a parquet file: (Invalid|Couldn't des)",
        parquet(P)[:300] + b"\xff" * 200 + parquet(P)[500:],
        fname="t.parquet",
    ),
    comp(
        "feather that is none",
        r"'t\.feather' cannot be read as a feather file: Not an Arrow file; mend",
        b"ARROW1" + b"\0" * 50,
        fname="t.feather",
    ),
    comp("gz", SAME, gzip.compress(T.encode()), "unusual", fname="t.csv.gz"),
    comp(
        "gz cut short",
        r"'t\.csv\.gz' cannot be read as a csv file: Compressed file ended before",
        gzip.compress(T.encode())[:-20],
        fname="t.csv.gz",
    ),
    comp(
        "gz that is none",
        r"'t\.csv\.gz' cannot be read as a csv file: Not a gzipped file \(b'ob'\);",
        T,
        fname="t.csv.gz",
    ),
    comp("empty gz", r"'t\.csv\.gz' is an empty file", gzip.compress(b""), fname="t.csv.gz"),
    comp("zip", SAME, zipped(a__csv=T), "unusual", fname="t.zip"),
    comp(
        "zip of nothing",
        r"'t\.zip' holds no file of a known kind \(\.csv, \.tsv, \.jsonl, \.ndjson,",
        zipped(),
        fname="t.zip",
    ),
    comp(
        "zip that is none",
        r"'t\.zip' cannot be read as a zip file: File is not a zip file",
        T,
        fname="t.zip",
    ),
    comp(
        "zip with mac files",
        SAME,
        zipped(a__csv=T, **{"__MACOSX/.___a.csv".replace("__MACOSX", "_MACOSX"): b"\0\5\x16\7"}),
        "unusual",
        fname="t.zip",
    ),
    comp(
        "zip with a path up",
        r"'t\.zip' holds no file of a known kind \(\.csv, \.tsv, \.jsonl, \.ndjson,",
        zipped(**{"../../evil__csv": T}),
        "unusual",
        fname="t.zip",
    ),
    comp(
        "zip member damaged",
        r"'t\.zip/a\.csv' cannot be read as a csv file: Bad CRC-32 for file",
        (lambda z: z[:60] + b"\xff" * 20 + z[80:])(zipped(a__csv=T)),
        fname="t.zip",
    ),
    comp(
        "pickle",
        r"'t\.pkl' is neither a \.csv nor a \.parquet file, nor \.tsv, \.jsonl,",
        b"\x80\x04\x95\x10\0\0\0\0\0\0\0",
        fname="t.pkl",
    ),
    comp(
        "xlsx",
        r"'t\.xlsx' is neither a \.csv nor a \.parquet file, nor \.tsv, \.jsonl,",
        b"PK\3\4",
        fname="t.xlsx",
    ),
    comp(
        "npy",
        r"'t\.npy' is neither a \.csv nor a \.parquet file, nor \.tsv, \.jsonl,",
        b"\x93NUMPY",
        fname="t.npy",
    ),
    comp(
        "no suffix",
        r"'data' is neither a \.csv nor a \.parquet file, nor \.tsv, \.jsonl,",
        T,
        fname="data",
    ),
    known("no such file", r"no file 'nowhere\.csv'", "malformed", cli("compare nowhere.csv")),
    known(
        "a folder without files",
        r"'d' holds no file of a known kind \(\.csv, \.tsv, \.jsonl, \.ndjson,",
        "malformed",
        cli("compare d", {"d/readme.md": "x"}),
    ),
    known("a glob without files", r"no file fits '\*\.csv'", "malformed", cli("compare '*.csv'")),
    known(
        "the same file twice",
        r"file 't\.csv' is given twice; give each once",
        "malformed",
        cli("compare t.csv t.csv", {"t.csv": T}),
    ),
    known(
        "two layouts",
        r"column 'response' is in 'a\.csv' but not in 'b\.csv', whose columns are",
        "malformed",
        cli("compare a.csv b.csv", {"a.csv": T, "b.csv": one}),
    ),
    known(
        "two files of different types",
        r"column 'item' holds texts in one table and numbers in 'b\.parquet';",
        "malformed",
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
    known(
        "hidden files of a Mac",
        SAME,
        "unusual",
        cli(f"compare d {Q}", {"d/t.csv": T, "d/._t.csv": b"\0\5\x16\7"}),
    ),
    known(
        "hidden file of a Mac, named",
        r"'\._t\.csv' is what a Mac keeps beside a file, no data; give 't\.csv'",
        "malformed",
        cli(f"compare ._t.csv {Q}", {"._t.csv": b"\0\5\x16\7\0\2\0\0Mac OS X"}),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
