"""Logs of Inspect and archives of model-vs-human, whole and otherwise."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import worlds as w
from cases import WORKS, Case, check_each

import alikely as al
from alikely.datasets import loaders

ODD = "$x_1$\n<b>"
SAMPLE = "samples/0_epoch_1.json"
HEAD = {"version": 2, "eval": {"model": "m", "task": "t"}}
ONE: dict[str, Any] = {
    "id": 0, "epoch": 1, "target": "A", "choices": ["x", "y"],
    "scores": {"s": {"value": "C", "answer": "A"}},
}  # fmt: skip
WHOLE: dict[str, Any] = {
    "header.json": HEAD,
    **{f"samples/{i}_epoch_1.json": ONE | {"id": i} for i in range(4)},
}
ROW = (
    "subj,session,trial,rt,object_response,category,condition,imagename\n"
    "subject-01,1,1,0,bear,bear,0,0001_x_00_bear_00_n.png\n"
    "subject-02,1,1,0,bear,bear,0,0001_x_00_bear_00_n.png\n"
)
# Offsets of flags and of the way of packing, in the headers of a zip archive.
PLACES = {b"PK\x03\x04": (6, 8), b"PK\x01\x02": (8, 10)}
MAC = b"\x00\x05\x16\x07"


def packed(members: Mapping[str, Any]) -> bytes:
    """An archive; what is no text is written as JSON."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            archive.writestr(name, text)
    return stream.getvalue()


def marked_as(archive: bytes, *, encrypted: bool = False, method: int | None = None) -> bytes:
    """The archive as if its members had a password, or were packed in this way."""
    raw = bytearray(archive)
    for head, (flags, way) in PLACES.items():
        at = -1
        while (at := raw.find(head, at + 1)) >= 0:
            raw[at + flags] |= encrypted
            raw[at + way] = raw[at + way] if method is None else method
    return bytes(raw)


def zstd_bomb() -> bytes:
    """A log with a sample that unpacks to more than its archive says."""
    content = pa.Codec("zstd").compress(b" " * 1_000_000, asbytes=True)
    raw = bytearray(packed(WHOLE | {SAMPLE: content}))
    for head, (_, way) in PLACES.items():
        # The header that comes last before the name.
        name = raw.find(SAMPLE.encode()) if head == b"PK\x03\x04" else raw.rfind(SAMPLE.encode())
        raw[raw.rfind(head, 0, name) + way] = 93
    return bytes(raw)


def toolbox(**files: str) -> bytes:
    """The archive of model-vs-human with these files of one data set."""
    return packed({f"x/raw-data/sketch/{name}.csv": text for name, text in files.items()})


def log(name: str, expect: Any, content: bytes | str, file: str = "a.eval", **how: Any) -> Case:
    def read() -> al.Trials:
        Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
        return al.Trials.read(file, **how)

    return Case(f"inspect {name}", expect, read)


def sample(name: str, expect: Any, value: Any) -> Case:
    return log(name, expect, packed(WHOLE | {SAMPLE: value}))


def header(name: str, expect: Any, value: Any) -> Case:
    return log(name, expect, packed(WHOLE | {"header.json": value}))


def folder(name: str, expect: Any, files: Mapping[str, str | bytes], **how: Any) -> Case:
    def load() -> al.Trials:
        place = Path("raw-data/sketch")
        place.mkdir(parents=True)
        for file, content in files.items():
            (place / file).write_bytes(content if isinstance(content, bytes) else content.encode())
        return al.datasets.model_vs_human(".", **how)

    return Case(f"model-vs-human {name}", expect, load)


def tidy(name: str, expect: Any, content: bytes) -> Case:
    def load() -> al.Trials:
        Path("trials.parquet").write_bytes(content)
        return al.datasets.model_vs_human(".")

    return Case(f"model-vs-human tidy {name}", expect, load)


def archive(name: str, expect: Any, content: bytes) -> Case:
    def load() -> Any:
        Path("mvh.zip").write_bytes(content)
        return loaders._from_archive(Path("mvh.zip"), None)

    return Case(f"model-vs-human archive {name}", expect, load)


def limited(do: Callable[[], Any], size: str) -> Callable[[], Any]:
    def run() -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("ALIKELY_MEMORY", size)
            return do()

    return run


FIELDS = "'a.eval' cannot be read as Inspect logs: its fields are not as they should be"
LIST = "the samples of 'a.eval' are no list of objects with fields"
UNREADABLE = "'a.eval' cannot be read as an Inspect log: "
MODEL = "'a.eval' has no field 'eval.model'"
whole = packed(WHOLE)
TIDY = w.table(dataset="sketch").rename(columns={"item": "image"})
PARQUET = w.parquet(TIDY)
NO_PARQUET = "'trials.parquet' cannot be read as a parquet file of model-vs-human: "

CASES = [
    log("whole", lambda trials: trials.n_trials == 4, whole),
    log("no header", "has no header.json: a log that was not finished", packed({SAMPLE: ONE})),
    log("no samples", "has no scorer: nothing says whether", packed({"header.json": HEAD})),
    header("header a list", MODEL, []),
    header("header a number", MODEL, 3),
    header("header null", MODEL, None),
    header("header cut", UNREADABLE + "Expecting property name", "{"),
    header("eval null", MODEL, {"version": 2, "eval": None}),
    header("model null", "'a.eval' has nothing in its", {"eval": {"model": None, "task": "t"}}),
    header("model empty", "'a.eval' has nothing in its", {"eval": {"model": "", "task": "t"}}),
    header("task null", "'a.eval' has nothing in its", {"eval": {"model": "m", "task": None}}),
    header("names odd", lambda t: t.observers == [ODD], {"eval": {"model": ODD, "task": ODD}}),
    header("version unknown", "is an Inspect log of version 9", HEAD | {"version": 9}),
    sample("sample a list", LIST, []),
    sample("sample null", LIST, None),
    sample("sample cut", UNREADABLE + "Expecting property name", "{"),
    sample("sample of other letters", UNREADABLE + "'utf-16-le' codec", b"\xff\xfe\x00"),
    sample("sample nested deeply", UNREADABLE + "maximum recursion depth", "[" * 100_000),
    sample("no id", "sample None has no field 'id'", {"scores": ONE["scores"]}),
    sample("id null", "has nothing in its field 'id'", ONE | {"id": None}),
    sample("scores a list", FIELDS, ONE | {"scores": ["s"]}),
    sample("score a text", FIELDS, ONE | {"scores": {"s": "C"}}),
    sample("value a list", r"is \[1\], neither right nor", ONE | {"scores": {"s": {"value": [1]}}}),
    sample("epoch a text", "the epoch of 'a.eval', sample 0 is 'x'", ONE | {"epoch": "x"}),
    sample("epoch null", "the epoch of 'a.eval', sample 0 is None", ONE | {"epoch": None}),
    sample("metadata a list", FIELDS, ONE | {"metadata": [1]}),
    sample("output a text", FIELDS, ONE | {"output": "x"}),
    sample("choices a number", FIELDS, ONE | {"choices": 3}),
    sample(
        "log probability null",
        FIELDS,
        ONE
        | {
            "output": {
                "choices": [
                    {
                        "logprobs": {
                            "content": [
                                {
                                    "token": "A",
                                    "top_logprobs": [{"token": k, "logprob": None} for k in "AB"],
                                }
                            ]
                        }
                    }
                ]
            }
        },
    ),
    log("sample twice", "observer 'm' has two", packed(WHOLE | {"samples/9_epoch_1.json": ONE})),
    log("summaries an object", LIST, packed({"header.json": HEAD, "summaries.json": {}})),
    log("summaries of numbers", LIST, packed({"header.json": HEAD, "summaries.json": [1]})),
    log("no archive", UNREADABLE + "File is not a zip file", "hello"),
    log("empty", UNREADABLE + "File is not a zip file", ""),
    log("cut", UNREADABLE + "File is not a zip file", whole[:-40]),
    log("damaged", UNREADABLE + "Bad CRC-32", whole.replace(b'"version": 2', b'"version": 3')),
    log("password", UNREADABLE + "File .* is encrypted", marked_as(whole, encrypted=True)),
    log("password, zstd", "'a.eval' is encrypted", marked_as(whole, encrypted=True, method=93)),
    log("zstd that is none", UNREADABLE + "ZSTD decompress failed", marked_as(whole, method=93)),
    log("deflated that is none", UNREADABLE + "Error -3", marked_as(whole, method=8)),
    log("packed in an unknown way", UNREADABLE + "That compression", marked_as(whole, method=77)),
    log("score a number", "score must be the name of one, got int", whole, score=3),
    log("score unknown", "has no scorer .*; there is only 's'", whole, score="zzz"),
    log("json a list", "has no field 'samples'", "[]", "a.json", format="inspect"),
    log("json cut", "'a.json' cannot be read as Inspect logs", "{", "a.json", format="inspect"),
    log(
        "json of other samples",
        "the samples of 'a.json' are no list",
        json.dumps(HEAD | {"samples": {"a": 1}}),
        "a.json",
    ),
    folder("whole", lambda trials: len(trials.observers) == 2, {"a.csv": ROW}),
    folder("of a Mac", lambda trials: trials.n_trials == 1, {"a.csv": ROW, "._a.csv": MAC}),
    folder("header only", "a.csv' has names of columns and", {"a.csv": ROW.split("\n")[0] + "\n"}),
    folder("empty", "a.csv' is an empty file", {"a.csv": ""}),
    folder("column missing", "a.csv' has no column", {"a.csv": ROW.replace("category", "kind")}),
    folder("no text", "a.csv' cannot be read as a csv file", {"a.csv": b"\x00\xff\x00"}),
    folder("line short", "a.csv' cannot be read as a csv file", {"a.csv": ROW + "a,b\n"}),
    folder("data sets none", "datasets names none; there are: sketch", {"a.csv": ROW}, datasets=[]),
    folder("data sets a number", "datasets must be a list", {"a.csv": ROW}, datasets=3),
    folder("data sets of numbers", "no data set 3 in", {"a.csv": ROW}, datasets=[3, "x"]),
    tidy("whole", lambda trials: trials.n_trials == 48, PARQUET),
    tidy("empty", NO_PARQUET + "Parquet file size is 0 bytes", b""),
    tidy("cut", NO_PARQUET + "Parquet magic bytes not found", PARQUET[:-30]),
    tidy(
        "damaged",
        NO_PARQUET + "Corrupt snappy",
        PARQUET[:200] + bytes([PARQUET[200] ^ 255]) + PARQUET[201:],
    ),
    tidy(
        "of lists",
        NO_PARQUET + "Unsupported cast from list",
        w.parquet(TIDY.assign(response=[["a"]] * len(TIDY))),
    ),
    tidy("data set null", "has rows without a data set", w.parquet(TIDY.assign(dataset=None))),
    archive("whole", WORKS, toolbox(a=ROW)),
    archive(
        "of a Mac",
        lambda table: len(table) == 2,
        packed({"x/raw-data/sketch/a.csv": ROW, "__MACOSX/x/raw-data/sketch/._a.csv": MAC}),
    ),
    archive(
        "password",
        "mvh.zip/x/raw-data/sketch/a.csv' .* is encrypted",
        marked_as(toolbox(a=ROW), encrypted=True),
    ),
    archive(
        "packed in an unknown way",
        "a.csv' .*That compression method",
        marked_as(toolbox(a=ROW), method=77),
    ),
    archive("damaged", "is no zip archive and", toolbox(a=ROW).replace(b"bear,bear", b"bear,bees")),
    archive("deflated that is none", "is no zip archive and", marked_as(toolbox(a=ROW), method=8)),
    archive("cut", "is no zip archive and was removed", toolbox(a=ROW)[:-30]),
    archive("column missing", "a.csv' has no column", toolbox(a=ROW.replace("category", "kind"))),
    archive("header only", "a.csv' has names of columns and", toolbox(a=ROW.split("\n")[0] + "\n")),
    archive("of something else", "no model-vs-human data in", packed({"a": "b"})),
]
# What would fill the memory is refused by the size that archives tell, before it is unpacked.
BLANK = " " * 1_000_000
CASES += [
    case._replace(do=limited(case.do, "1MB"))
    for case in (
        log("zstd of more than it says", "'a.eval', a table of: 1 MB of memory, and", zstd_bomb()),
        sample("sample of a megabyte", "'a.eval', a table of: 4 MB of memory, and 1 MB", BLANK),
        log(
            "samples of a megabyte together",
            "'a.eval', a table of: 4 MB of memory, and 1 MB",
            packed(WHOLE | {f"samples/{i}.json": BLANK[:200_000] for i in range(5)}),
        ),
        archive("of a megabyte", "a.csv', a table of: 4 MB of memory, and", toolbox(a=ROW + BLANK)),
        folder("of a megabyte", "a.csv', a table of: 4 MB of memory, and", {"a.csv": ROW + BLANK}),
    )
]


test_inputs = check_each(CASES)
