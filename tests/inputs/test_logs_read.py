"""Logs of Inspect and archives of model-vs-human, intact and damaged."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import study_data as w
from cases import check_each, table

import alikely as al

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
# Offsets of flags and compression method in the headers of a zip archive.
PLACES = {b"PK\x03\x04": (6, 8), b"PK\x01\x02": (8, 10)}
MAC = b"\x00\x05\x16\x07"


def packed(members: Mapping[str, Any]) -> bytes:
    """An archive; contents other than text are written as JSON."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            text = content if isinstance(content, str | bytes) else json.dumps(content)
            archive.writestr(name, text)
    return stream.getvalue()


def marked_as(archive: bytes, *, encrypted: bool = False, method: int | None = None) -> bytes:
    """The archive with headers that state a password or this compression method."""
    raw = bytearray(archive)
    for head, (flags, way) in PLACES.items():
        at = -1
        while (at := raw.find(head, at + 1)) >= 0:
            raw[at + flags] |= encrypted
            raw[at + way] = raw[at + way] if method is None else method
    return bytes(raw)


def zstd_bomb() -> bytes:
    """A log with a sample that is larger than its archive states."""
    content = pa.Codec("zstd").compress(b" " * 1_000_000, asbytes=True)
    raw = bytearray(packed(WHOLE | {SAMPLE: content}))
    for head, (_, way) in PLACES.items():
        # The last header before the name.
        name = raw.find(SAMPLE.encode()) if head == b"PK\x03\x04" else raw.rfind(SAMPLE.encode())
        raw[raw.rfind(head, 0, name) + way] = 93
    return bytes(raw)


def toolbox(**files: str) -> bytes:
    """The archive of model-vs-human with these files of one data set."""
    return packed({f"x/raw-data/sketch/{name}.csv": text for name, text in files.items()})


def log(content: bytes | str, file: str = "a.eval", **how: Any) -> al.Trials:
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return al.Trials.read(file, **how)


def sample(value: Any) -> al.Trials:
    return log(packed(WHOLE | {SAMPLE: value}))


def header(value: Any) -> al.Trials:
    return log(packed(WHOLE | {"header.json": value}))


def folder(files: Mapping[str, str | bytes], **how: Any) -> al.Trials:
    place = Path("raw-data/sketch")
    place.mkdir(parents=True)
    for file, content in files.items():
        (place / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return al.datasets.model_vs_human(".", **how)


def tidy(content: bytes) -> al.Trials:
    Path("trials.parquet").write_bytes(content)
    return al.datasets.model_vs_human(".")


def archive(content: bytes) -> Any:
    Path("cache").mkdir(exist_ok=True)
    Path("cache/model-vs-human.zip").write_bytes(content)
    return al.datasets.model_vs_human(cache="cache")


def limited(do: Callable[..., Any], *given: Any) -> Any:
    """Archives larger than memory raise an error by their stated size, before unpacking."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALIKELY_MEMORY", "1MB")
        return do(*given)


FIELDS = "'a.eval' cannot be read as Inspect logs: a field is missing or has another type"
MODEL = "'a.eval' has no field 'eval.model'"
whole = packed(WHOLE)
TIDY = w.table(dataset="sketch").rename(columns={"item": "image"})
PARQUET = w.parquet(TIDY)
BLANK = " " * 1_000_000

CASES = table(
    r"""
MODEL => header([])
as an Inspect log: line 1, column 2 => header('{')
MODEL => header({'version': 2, 'eval': None})
'a.eval' has an empty field => header({'eval': {'model': None, 'task': 't'}})
is an Inspect log of version 9 => header(HEAD | {'version': 9})
FIELDS => sample([])
sample 0 has no field 'id' => sample({'scores': ONE['scores']})
FIELDS => sample(ONE | {'scores': {'s': 'C'}})
is \[1\], neither 0 nor 1 => sample(ONE | {'scores': {'s': {'value': [1]}}})
column 'repeat' mixes text and numbers => sample(ONE | {'epoch': 'x'})
FIELDS => sample(ONE | {'output': 'x'})
FIELDS => sample(ONE | {'output': {'choices': [{'logprobs': {'content': [{'token': 'A',
    'top_logprobs': [{'token': k, 'logprob': None} for k in 'AB']}]}}]}})
observer 'm' has two => log(packed(WHOLE | {'samples/9_epoch_1.json': ONE}))
FIELDS => log(packed({'header.json': HEAD, 'summaries.json': [1]}))
'a.eval' is encrypted => log(marked_as(whole, encrypted=True, method=93))
score must be a name, got int => log(whole, score=3)
'a.eval' has no header.json: the log is not finished => log(packed({'_journal/start': {}}))
'a.eval' cannot be read as an Inspect log: it is truncated => log('no zip')
has no scorer .*; there is only 's' => log(whole, score='zzz')
has no field 'samples' => log('[]', 'a.json', format='inspect')
'a.json' cannot be read as Inspect logs => log(json.dumps(HEAD | {'samples': {'a': 1}}), 'a.json')
a.csv' is empty: it has no rows => folder({'a.csv': ROW.split('\n')[0] + '\n'})
a.csv' has no column => folder({'a.csv': ROW.replace('category', 'kind')})
datasets is empty; choose from sketch => folder({'a.csv': ROW}, datasets=[])
no data set 3 in => folder({'a.csv': ROW}, datasets=[3, 'x'])
has rows without a data set => tidy(w.parquet(TIDY.assign(dataset=None)))
model-vs-human.zip' .* is encrypted => archive(marked_as(toolbox(a=ROW),
    encrypted=True))
'a.eval' as a table: 1 MB of memory needed, but => limited(log, zstd_bomb())
HOLDS => log(whole).n_trials == 4
HOLDS => header({'eval': {'model': ODD, 'task': ODD}}).observers == [ODD]
HOLDS => len(folder({'a.csv': ROW}).observers) == 2
HOLDS => folder({'a.csv': ROW, '._a.csv': MAC}).n_trials == 1
HOLDS => tidy(PARQUET).n_trials == 48
HOLDS => len(archive(packed({'x/raw-data/sketch/a.csv': ROW,
    '__MACOSX/x/raw-data/sketch/._a.csv': MAC})).observers) == 2
a.csv' as a table: 4 MB of memory needed, but => limited(archive, toolbox(a=ROW + BLANK))
""",
    globals(),
)
test_inputs = check_each(CASES)
