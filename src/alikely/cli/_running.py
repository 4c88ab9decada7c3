"""Running of a subcommand: log, progress, warnings, errors and signals."""

from __future__ import annotations

import contextlib
import glob
import logging
import os
import re
import signal
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from alikely._base.files import keeping
from alikely._base.names import listed, visible
from alikely._base.parallel import at_most
from alikely._base.settings import options as session
from alikely._base.steps import LOG, bars_of_steps
from alikely.data.columns import ROLES
from alikely.data.files import KNOWN

if TYPE_CHECKING:
    from alikely.cli._app import Options

# Options that name files to read.
INPUTS = ("confusions", "margins", "pilot")
# What a shell expects of a program that a signal has stopped: 128 and its number.
OF_SIGNAL = 128
# Parameter -> option, where they are not spelt alike (`ci_prob`, `--ci-prob`).
OPTIONS = {
    "trials": "FILE", "path": "FILE", "tables": "--margins", "coefficient": "--metric",
    "rng": "--seed", **dict.fromkeys(("accuracy_a", "accuracy_b", "accuracy_human"), "--accuracy"),
    **dict.fromkeys(("ec_a", "ec_b", "ec_models"), "--ec"),
}  # fmt: skip
# Functions of Python that a subcommand calls.
COMMANDS = {
    "al.benchmark_scores": "alikely benchmark",
    "al.compare": "alikely compare",
    "al.decision_margin_consistency": "alikely margins",
    "al.error_consistency": "alikely compare",
    "al.pairwise_matrix": "alikely matrix",
}
# A choice of trials with the words before it, options of a question.
_SELECT = re.compile(r"(?:with |such as |: )?\btrials\.select\(([a-z]*)[^()]*\)")
_WITH_OPTIONS = re.compile(r"\b(?:trials\.)?with_options\('?(\w+)'?\)")
# Other Python; and a keyword, alone or with its value, such as classes=[...], wide=True or sep=.
_PYTHON = re.compile(
    r"(?P<call>(?<![-\w.'/])(?:(?:al|alikely)\.[a-z][\w.]*\w(?:\((?:[^()]|\([^()]*\))*\))?"
    r"|Trials\.(?:from|read|with)\w*|(?:trials|alignment|profiles)\.\w+\([^()]*\)"
    r"|\.?\w+\([^()]*=[^()]*\)))"
    r"|(?<![-\w.{/])(?P<name>[a-z]\w*)(?:=(?P<value>\[\.\.\.\]|\[\(a, b\), \.\.\.\]|\[[^][()]*\]"
    r"|'[^']*'|\"[^\"]*\"|True|False|None|\.\.\.|-?\d[\w.]*|(?=[\s);,.]|$))|(?![\w=('\"]))"
)
# What follows a keyword that a message begins with.
_SUBJECT = re.compile(" (?:must|is|needs|goes|has) ")


class Terminated(BaseException):
    """SIGTERM, which a scheduler or the system sends before it kills a process."""


def execute(body: Callable[[], None], options: Options, names: Sequence[str]) -> int:
    """Run a subcommand, and return 0 on success, 2 for bad input and 1 for other errors."""
    running = options.running

    def told(message: object) -> str:
        return worded(visible(" ".join(str(message).split())), names, ROLES)

    with (
        _with_current_folder(),
        contextlib.redirect_stdout(Printable(sys.stdout)),
        _terminable(),
        _logged(running.verbose, told),
    ):
        try:
            _run(body, options)
        except BrokenPipeError:
            raise
        except (Exception, KeyboardInterrupt, Terminated) as error:
            if running.debug:
                traceback.print_exc()
            message, code = _failure(error, options, told)
            print(f"alikely: {message}", file=sys.stderr)
            return code
        if options.notes:
            print("\nHow the data were read:")
        for note in options.notes:
            print(textwrap.fill(f"- {told(note)}", 80, subsequent_indent="  "))
        return 0


@contextlib.contextmanager
def _with_current_folder() -> Iterator[None]:
    """Import custom metrics from the current folder, after installed packages."""
    path = list(sys.path)
    sys.path.append(str(Path.cwd()))
    try:
        yield
    finally:
        sys.path[:] = path


def _run(body: Callable[[], None], options: Options) -> None:
    """Check the options of running, and run."""
    running = options.running
    if running.jobs is not None and running.jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {running.jobs}")
    if running.quiet and running.verbose:
        raise ValueError("give --quiet or --verbose, not both")
    keep = inputs_of(options)
    if options.out is not None:
        _check_out(options.out, options.one_file, keep)
    with (
        keeping(keep),
        session(progressbar=False if running.quiet else None),
        bars_of_steps(running.quiet),
        at_most(running.jobs),
    ):
        body()
        options.close()


def _failure(
    error: BaseException, options: Options, told: Callable[[object], str]
) -> tuple[str, int]:
    """Message for an error, and the exit status."""
    files = [visible(str(path)) for path in options.written]
    kept = f"; complete files: {listed(files, 5)}" if files else ""
    if isinstance(error, KeyboardInterrupt | Terminated):
        # Libraries complain about files that a signal has left half open.
        sys.unraisablehook = lambda _: None
        ctrl_c = isinstance(error, KeyboardInterrupt)
        by, number = ("Ctrl-C", signal.SIGINT) if ctrl_c else ("SIGTERM", signal.SIGTERM)
        return f"stopped by {by}{kept or '; nothing was written'}", OF_SIGNAL + number
    if isinstance(error, MemoryError):
        less = "out of memory; reduce the number of pairs, --n-resamples or --n-draws"
        return told(error) if ";" in str(error) else less, 1
    if isinstance(error, OSError):
        return told(error) + kept, 1
    if isinstance(error, ValueError | TypeError):
        # What was guessed in reading may be the reason.
        guessed = sorted(options.notes, key=lambda note: "give " not in note)[:3]
        read = f". How the data were read: {told('; '.join(guessed))}" if guessed else ""
        return told(error) + read, 2
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return told(f"internal error, {what}; run with --debug to see where the error occurred"), 1


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM end a run as Ctrl-C does."""

    def end(*_: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def inputs_of(options: Options) -> Callable[[Path], bool]:
    """Make a function that tests whether a file is an input."""
    given: list[Any] = [*options.file]
    for name in INPUTS:
        value = options.given.get(name) or []
        given += value if isinstance(value, list) else [value]

    def read(path: Path) -> bool:
        inside = path.suffix.lower() in (*KNOWN, ".gz")
        # Quotes keep patterns from the shell.
        named = (glob.glob(str(one), recursive=True) or [one] for one in given)
        places = [Path(one).resolve() for several in named for one in several]
        return path in places or (inside and any(place in path.parents for place in places))

    return read


def _check_out(out: Path, one_file: bool, keep: Callable[[Path], bool]) -> None:
    """Check before any work that --out can be written, and is not an input."""
    folder = out.parent if one_file else out
    try:
        out.exists()  # or its name is too long
        there = next(one for one in (folder, *folder.parents) if one.exists())
        writable = there.is_dir() and os.access(there, os.W_OK)
        reason = "" if writable else "no permission to write, or a file has the name of the folder"
    except OSError as error:
        reason = str(error.strerror)
    if reason:
        short = str(out) if len(str(out)) <= 80 else f"{str(out)[:80]}..."
        raise ValueError(
            f"--out must be {'in ' * one_file}a folder that can be written to, got {short!r}: "
            f"{reason}; give another path"
        )
    faults = (
        (out.is_dir(), "be a file, not a folder"),
        (out.exists() and not out.is_file(), "be a regular file"),
        (out.exists() and keep(out.resolve()), "not be an input file"),
    )
    if one_file and (fault := next((what for wrong, what in faults if wrong), "")):
        raise ValueError(f"--out must {fault}, got {str(out)!r}; give another path")


class Printable:
    """A stream of text without control characters, since names come from users' files."""

    def __init__(self, stream: TextIO) -> None:
        self.beneath = stream

    def write(self, text: str) -> int:
        """Write text with control characters spelled out, except line ends and tabs."""
        self.beneath.write(text if text.isascii() and text.isprintable() else visible(text, "\n\t"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextlib.contextmanager
def _logged(verbose: bool, told: Callable[[object], str]) -> Iterator[None]:
    """Log steps, if requested, and warnings on standard error, one line each."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("alikely: %(message)s"))
    before = LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO if verbose else logging.WARNING)
    shown = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: object, **_: object) -> None:
        LOG.warning("%s: %s", category.__name__, told(message))

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown
        LOG.removeHandler(handler)
        LOG.setLevel(before)


def worded(message: str, options: Collection[str], roles: Collection[str] = ()) -> str:
    """Replace keywords and calls in a message by options and subcommands."""

    def rows(found: re.Match[str]) -> str:
        column = f" by column {found[1]}" if found[1] else ""
        return f"{': ' * found[0].startswith(':')}by choosing rows of FILE{column}"

    def python(found: re.Match[str]) -> str:
        if call := found["call"]:
            name = call.partition("(")[0].replace("alikely.", "al.")
            return COMMANDS.get(name, call if "in Python" in message else f"{call} in Python")
        name, given = found["name"], found["value"]
        option = OPTIONS.get(name, f"--{name.replace('_', '-')}")
        if given is None:
            # Only a keyword has an underscore; others begin the message.
            alone = "_" in name or (not found.start() and _SUBJECT.match(message, found.end()))
            return option if alone and option in options else found[0]
        value = _value(given)
        # A role with a value may also be one of the data, unless it is an example.
        example = not value or message[: found.start()].endswith("such as ")
        if name in roles and "--columns" in options and example:
            return f"--columns {name}={value or 'NAME'}"
        if name == "pairs" and given.startswith("["):
            option, value = "--pair", "A B"
        if option not in options:
            return found[0]
        if given == "[]":
            return f"{option}="
        if value == "False":
            return f"--no-{option[2:]}"
        if (option, value) == ("--wide", "rows"):
            return "--wide-rows"
        return option if value in ("", "True") else f"{option} {value.replace('None', 'none')}"

    message = _SELECT.sub(rows, message)
    if "--n-options" in options:
        message = _WITH_OPTIONS.sub(r"--n-options \1", message)
    return _PYTHON.sub(python, message).replace(" by keyword,", ",")


def _value(text: str) -> str:
    """``['a', 'b']`` as ``a,b``."""
    if text in ("...", "[...]"):
        return "VALUE" if text == "..." else "NAME,..."
    return ",".join(name.strip().strip("'\"") for name in text.strip("[]").split(","))
