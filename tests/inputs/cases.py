"""What a case of an input is, and when it passes."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from alikely.cli import main

# Marks of what a user must never see.
CRASH = re.compile(r"Traceback|\.py\b.*line \d+|0x[0-9a-f]{8}|\bnan \[nan, nan\]|\[ *nan, +nan\]")


class Case(NamedTuple):
    """One input: what it is, what is done with it in an empty folder, and what is expected.

    `expect` is what the line of a refusal says, as a pattern; or, of what is to work, what holds of
    the outcome, as a function that returns False where it does not.
    """

    name: str
    kind: str
    do: Callable[[], Any]
    expect: str | Callable[[Any], Any]


class Ran(NamedTuple):
    """What a verb did."""

    code: int
    out: str
    err: str


def cli(
    words: str, files: Mapping[str, str | bytes] | None = None, *more: str
) -> Callable[[], Ran]:
    """A verb with its options, on files of these contents."""

    def run() -> Ran:
        for name, content in (files or {}).items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main([*shlex.split(words), *more])
            except SystemExit as done:
                code = int(done.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    return run


def outcome(case: Case) -> tuple[str, Any]:
    """Whether a case was refused or worked, or crashed, with the line or what came of it."""
    try:
        found = case.do()
    except (ValueError, TypeError, OSError, LookupError, MemoryError) as error:
        return ("refused" if "\n" not in str(error).strip() else "crashed"), str(error)
    except Exception:
        return "crashed", traceback.format_exc()
    if isinstance(found, Ran):
        if CRASH.search(found.err) or CRASH.search(found.out):
            return "crashed", found.out + found.err
        if found.code:
            lines = found.err.splitlines()
            fine = len(lines) == 1 and lines[0].startswith("alikely: ")
            return ("refused" if fine else "crashed"), found.err
    return "worked", found


def check(case: Case) -> None:
    """Fail unless a case comes out as expected."""
    how, found = outcome(case)
    if isinstance(case.expect, str):
        assert how == "refused", (how, found)
        assert re.search(case.expect, found), found
    else:
        assert how == "worked", found
        assert case.expect(found) is not False, found
