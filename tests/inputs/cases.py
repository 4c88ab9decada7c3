"""Cases of inputs, and the conditions for passing."""

from __future__ import annotations

import contextlib
import functools
import gzip
import io
import json
import os
import re
import shlex
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import study_data
import xarray as xr

import alikely as al
from alikely.cli import main

# Patterns that users must never see.
CRASH = re.compile(r"Traceback|internal error, |\bnan \[nan|\[ *nan, +nan\]")
# Control characters that file names must not send to terminals.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]")
# Calls whose errors come late, after long computations.
LATE = re.compile(r"^(load |(al\.)?fit_)")


class Case(NamedTuple):
    """One input: a name, the expected outcome, and a call in an empty folder.

    `expect` is a pattern for the line of an error, or a function that checks the outcome of valid
    input and returns False on failure.
    """

    name: str
    expect: str | Callable[[Any], Any]
    do: Callable[[], Any]


class Ran(NamedTuple):
    """Outcome of a subcommand."""

    code: int
    out: str
    err: str


def _rows(text: str) -> list[list[str]]:
    """Parts of the rows of a table; lines that begin with spaces continue the previous one."""
    return [row.split(" => ") for row in re.sub(r"\n +", " ", text.strip("\n")).split("\n")]


def table(text: str, names: dict[str, Any]) -> list[Case]:
    """Cases written as ``expected => expression``, with names of the module and `NAMES`.

    The expected outcome may be a name in capitals.
    """
    return [_case(expect, code, code, names) for expect, code in _rows(text)]


def _case(expect: str, name: str, code: str, names: dict[str, Any]) -> Case:
    known = {**NAMES, **names}.get(expect)

    def do() -> Any:
        return eval(code, {**NAMES, **names})

    return Case(expect if known is None else name, expect if known is None else known, do)


def verbs(text: str, names: dict[str, Any]) -> list[Case]:
    """Cases written as ``expected => words [=> files]``, with the files ``F`` by default."""
    cases = []
    for expect, words, *files in _rows(text):
        code = f"cli({words.replace('$Q', names['Q'])!r}, {files[0] if files else 'F'})()"
        cases.append(_case(expect, words, code, names))
    return cases


def marked(cases: Iterable[Case], slow: bool) -> list[Any]:
    """Cases as test parameters."""
    every = list(cases)
    # Errors are quick; valid input takes long in total.
    late = [slow or not isinstance(case.expect, str) or LATE.match(case.name) for case in every]
    return [
        pytest.param(case, id=case.name, marks=[pytest.mark.slow] if is_late else [])
        for case, is_late in zip(every, late, strict=True)
    ]


def cli(
    words: str, files: Mapping[str, str | bytes] | None = None, *more: str
) -> Callable[[], Ran]:
    """A subcommand with its options, and files with these contents."""

    def run() -> Ran:
        for name, content in (files or {}).items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            warnings.catch_warnings(),
        ):
            # Only names that a font cannot draw may cause a warning.
            warnings.filterwarnings("default", message=".*the font lacks letters")
            try:
                code = main([*shlex.split(words), *more])
            except SystemExit as done:
                code = int(done.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    return run


def check_each(cases: Iterable[Case], slow: bool = False) -> Callable[..., None]:
    """Define a test of each case, in an empty folder."""

    @pytest.mark.parametrize("case", marked(cases, slow))
    def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        check(case, tmp_path)

    return test_inputs


def outcome(case: Case) -> tuple[str, Any]:
    """Whether a case was refused, worked or crashed, and the message or result."""
    try:
        found = case.do()
    except (ValueError, TypeError, OSError, MemoryError) as error:
        return ("refused" if "\n" not in str(error).strip() else "crashed"), str(error)
    except Exception:
        return "crashed", traceback.format_exc()
    if isinstance(found, Ran):
        text = found.out + found.err
        if CRASH.search(text) or CONTROL.search(text):
            return "crashed", text
        if found.code:
            rows = found.err.splitlines()
            fine = len(rows) == 1 and rows[0].startswith("alikely: ")
            return ("refused" if fine else "crashed"), found.err
    return "worked", found


def check(case: Case, folder: Path) -> None:
    """Fail unless a case has the expected outcome and leaves no partial file."""
    how, found = outcome(case)
    if isinstance(case.expect, str):
        assert how == "refused", (how, found)
        assert re.search(case.expect, found), found
    else:
        assert how == "worked", found
        assert case.expect(found) is not False, found
    assert not list(folder.rglob("*.part"))
    if how == "refused" and isinstance(case.expect, str) and "--out" in found:
        assert not list(folder.rglob("o/*"))


def WORKS(_: Any) -> bool:  # noqa: N802
    """The call works; other tests check its output."""
    return True


def HOLDS(found: Any) -> bool:  # noqa: N802
    """Whether the expression is true."""
    return bool(found)


@functools.cache
def _plain() -> str:
    """Scores of models of the table as it is."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            quick = "--n-resamples 50 --n-draws 50 --n-null 50 --quiet"
            ran = cli(f"compare t.csv {quick}", {"t.csv": study_data.text()})()
        finally:
            os.chdir(here)
    return _means(ran.out)


def _means(out: str) -> str:
    return "\n".join(line for line in out.splitlines() if line.startswith("net_"))


def SAME(ran: Ran) -> bool:  # noqa: N802
    """The numbers equal those of the plain file in another format."""
    assert _means(ran.out) == _plain()
    return True


# Names available to the expressions of all tables.
NAMES = {
    "HOLDS": HOLDS, "Path": Path, "SAME": SAME, "WORKS": WORKS, "al": al, "cli": cli, "gzip": gzip,
    "io": io, "json": json, "nan": float("nan"), "np": np, "pa": pa, "pd": pd, "pl": pl,
    "w": study_data, "xr": xr,
}  # fmt: skip
