"""Verbs in processes of its own that are killed, stopped, or short of disk or memory.

``python tests/inputs/children.py [MOMENTS]`` prints what came of it as JSON. Each verb is forked
from one process that has imported and compiled all: a child costs what its work does.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import worlds

from alikely.cli import main

QUICK = ["--n-resamples", "50", "--n-draws", "50"]
VERBS: dict[str, list[str]] = {
    "compare": ["t.csv", *QUICK, "--n-null", "50"],
    "margins": ["t.csv", "--margins", "m.csv", *QUICK],
    "benchmark": ["t.csv", *QUICK],
    "plan": ["--accuracy", ".8", ".8", "--ec", ".3", "--n-trials", "40"],
    "report": ["r.nc"],
}
# Killed, stopped and short of disk: each way of writing.
RUN = ("compare", "margins", "plan", "report")
# Of verbs that write one file.
ONE_FILE = {"report": "r.html"}
DISK = 150_000
EXTRA = 200_000_000


def asked(verb: str, out: Path, seed: int = 1, *more: str) -> list[str]:
    """Arguments of a verb, on one core."""
    place = str(out / ONE_FILE.get(verb, ""))
    return [
        verb, *VERBS[verb], "--out", place, "--seed", str(seed), "--quiet", "--jobs", "1", *more,
    ]  # fmt: skip


def forked(
    arguments: list[str],
    *,
    limits: dict[int, int] | None = None,
    stop: tuple[float, int] | None = None,
) -> dict[str, Any]:
    """Run in a child under limits of its own, and send it a signal after so many seconds."""
    # Where files are limited in size, what is printed must not be one.
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


def digests(folder: Path) -> dict[str, str]:
    """What is in the files of a folder; parts of a process that was killed are none of them."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("*"))
        if path.suffix != ".part"
    }


def short_of_disk(verb: str) -> dict[str, Any]:
    """A verb on a disk of 150 kB, or where none may be mounted with files of 20 kB at most."""
    place = Path("disk")
    place.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(place)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    # Something is there already, or the files of some verbs would find room.
    try:
        out = place / "o"
        out.mkdir(exist_ok=True)
        if mounted:
            (place / "other").write_bytes(b"\0" * (DISK - 8_000))
        limits = {} if mounted else {resource.RLIMIT_FSIZE: 4_000}
        found = forked(asked(verb, out), limits=limits)
        found |= {"mounted": mounted, "left": [p.name for p in out.glob("*.part")]}
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
        shutil.rmtree(place, ignore_errors=True)
    return found


def killed(
    verb: str, old: Path, new: Path, seconds: float, moments: int, rng: random.Random
) -> list[dict[str, Any]]:
    """A second run over a first one, killed at random: files must be of either.

    ``old`` and ``new`` are of runs that came to their end, the second in so many seconds.
    """
    first, second = digests(old), digests(new)
    found = []
    for _ in range(moments):
        out = Path("over")
        shutil.copytree(old, out)
        wait = rng.uniform(0, seconds)
        forked(asked(verb, out, 2), stop=(wait, signal.SIGKILL))
        now = digests(out)
        odd = [n for n, d in now.items() if d not in (first.get(n), second.get(n))]
        found.append({"after": wait, "odd": odd, "lost": sorted(set(first) - set(now))})
        shutil.rmtree(out)
    return found


def stopped(verb: str, number: int, seconds: float) -> dict[str, Any]:
    """A verb that is sent a signal half way; earlier, where it was done before."""
    for part in (2, 4, 8, 16):
        found = forked(asked(verb, Path("s")), stop=(seconds / part, number))
        shutil.rmtree("s", ignore_errors=True)
        if found["code"]:
            break
    return found


def all_of(moments: int) -> dict[str, Any]:
    """Everything, of every verb."""
    Path("t.csv").write_text(worlds.text())
    Path("m.csv").write_text(worlds.text(worlds.margins()))
    worlds.result().save("r.nc")
    report: dict[str, Any] = {"disk": {}, "killed": {}, "SIGINT": {}, "SIGTERM": {}}
    rng = random.Random(1)
    for verb in RUN:
        print(verb, file=sys.stderr)
        old, new = Path("old"), Path("new")
        # Imports and compiles, and leaves the files of a first run.
        main(asked(verb, old))
        seconds = forked(asked(verb, new, 2))["seconds"]
        report["killed"][verb] = killed(verb, old, new, seconds, moments, rng)
        shutil.rmtree(old)
        shutil.rmtree(new)
        report["disk"][verb] = short_of_disk(verb)
        for name in ("SIGINT", "SIGTERM"):
            report[name][verb] = stopped(verb, getattr(signal, name), seconds)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    many = ["--n-resamples", "10000000"]
    report["memory"] = {
        verb: forked(asked(verb, Path("o"), 1, *many), limits={resource.RLIMIT_AS: used + EXTRA})
        for verb in ("compare", "benchmark", "margins")
    }
    return report


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        stream = sys.stdout
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        found = all_of(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
        print(json.dumps(found), file=stream)
        os.chdir("/")
