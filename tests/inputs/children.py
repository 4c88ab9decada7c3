"""Run subcommands in processes that are stopped or have little disk space.

``python tests/inputs/children.py`` prints the results as JSON. Each subcommand is forked from one
process that has imported and compiled everything, so a child takes no longer than its work.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import study_data

from alikely.cli import main

QUICK = ["--n-resamples", "50", "--n-draws", "50"]
VERBS: dict[str, list[str]] = {
    "compare": ["t.csv", *QUICK, "--n-null", "50"],
    "report": ["r.nc"],
}
# File names of subcommands that write a single file.
ONE_FILE = {"report": "r.html"}


def asked(verb: str, out: Path, seed: int = 1) -> list[str]:
    """Arguments of a subcommand, on one core."""
    place = str(out / ONE_FILE.get(verb, ""))
    return [
        verb, *VERBS[verb], "--out", place, "--seed", str(seed), "--quiet", "--jobs", "1",
    ]  # fmt: skip


def forked(
    arguments: list[str],
    *,
    limits: dict[int, int] | None = None,
    stop: tuple[float, int] | None = None,
) -> dict[str, Any]:
    """Run in a child process with limits, and send it a signal after some seconds."""
    # If file sizes are limited, the output must not go to a file.
    out = Path(os.devnull if resource.RLIMIT_FSIZE in (limits or {}) else "out.txt")
    err = Path("err.txt")
    began = time.monotonic()
    with warnings.catch_warnings():  # threads of libraries are idle
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        code = 99
        try:
            for number, path in ((1, out), (2, err)):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = open(1, "w"), open(2, "w")  # noqa: SIM115
            for what, most in (limits or {}).items():
                resource.setrlimit(what, (most, most))
            code = main(arguments)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    if stop is not None:
        time.sleep(stop[0])
        os.kill(child, stop[1])
    status = os.waitpid(child, 0)[1]
    return {
        "code": os.waitstatus_to_exitcode(status),
        "err": err.read_text(),
        "seconds": time.monotonic() - began,
    }


def short_of_disk(verb: str) -> dict[str, Any]:
    """Run a subcommand that can write files of at most 4 kB."""
    out = Path("disk")
    found = forked(asked(verb, out), limits={resource.RLIMIT_FSIZE: 4_000})
    found |= {"left": [path.name for path in out.glob("*.part")]}
    shutil.rmtree(out, ignore_errors=True)
    return found


def stopped(verb: str, number: int, seconds: float) -> dict[str, Any]:
    """Send a signal halfway through a subcommand, or earlier if it had finished."""
    for part in (2, 4, 8, 16):
        found = forked(asked(verb, Path("s")), stop=(seconds / part, number))
        shutil.rmtree("s", ignore_errors=True)
        if found["code"]:
            break
    return found


def all_of() -> dict[str, Any]:
    """Run all checks for every subcommand."""
    Path("t.csv").write_text(study_data.text())
    study_data.result().save("r.nc")
    report: dict[str, Any] = {"disk": {}, "SIGINT": {}, "SIGTERM": {}}
    for verb in VERBS:
        print(verb, file=sys.stderr)
        main(asked(verb, Path("s")))  # imports and compiles
        seconds = forked(asked(verb, Path("s"), 2))["seconds"]
        shutil.rmtree("s")
        report["disk"][verb] = short_of_disk(verb)
        for name in ("SIGINT", "SIGTERM"):
            report[name][verb] = stopped(verb, getattr(signal, name), seconds)
    return report


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        stream = sys.stdout
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        found = all_of()
        print(json.dumps(found), file=stream)
        os.chdir("/")
