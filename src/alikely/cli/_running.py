"""How a subcommand runs: log, progress, warnings, errors and signals."""

from __future__ import annotations

import contextlib
import glob
import logging
import re
import signal
import sys
import tempfile
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from alikely._base.files import keeping, noting_writes
from alikely._base.names import listed, visible
from alikely._base.parallel import at_most
from alikely._base.steps import LOG, watched_by
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
    "trials": "FILE",
    "path": "FILE",
    "tables": "--margins",
    "coefficient": "--metric",
    "accuracy_a": "--accuracy",
    "accuracy_b": "--accuracy",
    "accuracy_human": "--accuracy",
    "ec_a": "--ec",
    "ec_b": "--ec",
    "ec_models": "--ec",
    "rng": "--seed",
}
# Functions of Python that a subcommand calls.
COMMANDS = {
    "al.benchmark_scores": "alikely benchmark",
    "al.compare": "alikely compare",
    "al.decision_margin_consistency": "alikely margins",
    "al.error_consistency": "alikely compare",
    "al.pairwise_matrix": "alikely matrix",
}
# A choice of trials with the words before it, options of a question, and other Python.
_SELECT = re.compile(r"(?:with |such as |: )?\btrials\.select\(([a-z]*)[^()]*\)")
_WITH_OPTIONS = re.compile(r"\b(?:trials\.)?with_options\('?(\w+)'?\)")
_PYTHON = re.compile(
    r"((?<![-\w.'/])(?:(?:al|alikely)\.[a-z][\w.]*\w(?:\((?:[^()]|\([^()]*\))*\))?"
    r"|Trials\.(?:from|read|with)\w*|(?:trials|alignment|profiles)\.\w+\([^()]*\)"
    r"|\.?\w+\([^()]*=[^()]*\)))"
)
# A keyword with its value, such as classes=[...], human_ids='shared', wide=True, sep= or n_draws=0.
_GIVEN = re.compile(
    r"(?<![-\w.{])([a-z]\w*)=(\[\.\.\.\]|\[\(a, b\), \.\.\.\]|\[[^][()]*\]|'[^']*'|\"[^\"]*\""
    r"|True|False|None|\.\.\.|-?\d[\w.]*|(?=[\s);,.]|$))"
)
# A name that can only be a keyword, and one that a message begins with.
_BARE = re.compile(r"(?<![-\w./'\"])([a-z]+(?:_[a-z]+)+)(?![\w=('\"])")
_FIRST = re.compile(r"^([a-z]\w*)(?= (?:must|is|needs|goes|has) )")


class Terminated(BaseException):
    """SIGTERM, as a scheduler or the system sends it before it kills."""


def execute(body: Callable[[], None], options: Options, names: Sequence[str]) -> int:
    """Run a subcommand; 0 if all went well, 2 on bad input, else 1."""
    with contextlib.redirect_stdout(Printable(sys.stdout)), _terminable(), _importable():
        return _execute(body, options, names)


def _execute(body: Callable[[], None], options: Options, names: Sequence[str]) -> int:  # noqa: C901
    running = options.running

    def told(message: object) -> str:
        return worded(visible(" ".join(str(message).split())), names, ROLES)

    def failed(message: object, code: int) -> int:
        if running.debug:
            traceback.print_exc()
        print(f"alikely: {message}", file=sys.stderr)
        return code

    def interrupted(by: str, number: int) -> int:
        # Libraries complain about files that a signal has left half open.
        sys.unraisablehook = lambda _: None
        return failed(stopped(by, written), OF_SIGNAL + number)

    if running.jobs is not None and running.jobs < 1:
        return failed(f"--jobs must be at least 1, got {running.jobs}", 2)
    if running.quiet and running.verbose:
        return failed("give --quiet or --verbose, not both", 2)
    keep = inputs_of(options)
    with (
        _logged(running.verbose, told),
        noting_writes() as written,
        keeping(keep),
        watched_by(Progress(silent=running.quiet)),
        at_most(running.jobs),
    ):
        try:
            if options.one_file and options.out is not None:
                _check_file(options.out, keep)
            with _folder(options.out, options.one_file):
                body()
                options.close()
        except BrokenPipeError:
            raise
        except KeyboardInterrupt:
            return interrupted("Ctrl-C", signal.SIGINT)
        except Terminated:
            return interrupted("SIGTERM", signal.SIGTERM)
        except MemoryError as error:
            less = "reduce the number of pairs, --n-resamples or --n-draws"
            return failed(told(error) if ";" in str(error) else f"out of memory; {less}", 1)
        except OSError as error:
            return failed(told(error) + _kept(written), 1)
        except (ValueError, TypeError) as error:
            # What was guessed in reading may be the reason.
            guessed = sorted(options.notes, key=lambda note: "give " not in note)[:3]
            reading = f". In reading: {told('; '.join(guessed))}" if guessed else ""
            return failed(told(error) + reading, 2)
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return failed(told(f"internal error, {what}; run with --debug to see where"), 1)
    if options.notes:
        print("\nReading:")
    for note in options.notes:
        print(textwrap.fill(f"- {told(note)}", 80, subsequent_indent="  "))
    return 0


def stopped(by: str, written: Sequence[Path] = ()) -> str:
    """Message of a run that was stopped."""
    kept = _kept(written) if written else "; nothing was written"
    return f"stopped by {by}{kept}"


def _kept(written: Sequence[Path]) -> str:
    """Files that are complete if a run ends early."""
    return (
        f"; complete files: {listed((visible(str(path)) for path in written), 5)}"
        if written
        else ""
    )


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


@contextlib.contextmanager
def _importable() -> Iterator[None]:
    """Let custom metrics be imported from the current folder, after installed packages."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            # The last one: it may have stood there before.
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(here)]


def inputs_of(options: Options) -> Callable[[Path], bool]:
    """Make a test of whether a file is an input."""
    given: list[Any] = [*options.file]
    for name in INPUTS:
        value = options.given.get(name)
        given += value if isinstance(value, list) else [value]
    # Quotes keep patterns from the shell.
    named = {str(one) for one in given if isinstance(one, str | Path)}
    paths = [Path(path) for one in named for path in (glob.glob(one, recursive=True) or [one])]

    def read(path: Path) -> bool:
        inside = path.suffix.lower() in (*KNOWN, ".gz")
        return any(
            (inside and place.resolve() in path.parents) if place.is_dir() else path.samefile(place)
            for place in paths
            if place.exists()
        )

    return read


def _check_file(out: Path, keep: Callable[[Path], bool]) -> None:
    """Check before any work that a file can be written and is not an input."""
    try:
        out.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # `_folder` reports folders that cannot be made
    except OSError as error:
        raise ValueError(
            f"--out must name a file that can be written; {_short(out)!r}: {error.strerror}; give "
            "another"
        ) from None
    faults = (
        (out.is_dir(), "be a file, and not a folder"),
        (out.exists() and not out.is_file(), "be a regular file"),
        (out.exists() and keep(out.resolve()), "not be an input file"),
    )
    if fault := next((what for wrong, what in faults if wrong), ""):
        raise ValueError(f"--out must {fault}, got {str(out)!r}; give another")


@contextlib.contextmanager
def _folder(out: Path | None, one_file: bool) -> Iterator[None]:
    """Make the output folder before any work; remove it if it stays empty."""
    if out is None:
        yield
        return
    place, made = out.parent if one_file else out, list[Path]()
    try:
        made = [one for one in (place, *place.parents) if not one.exists()]
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
        failed = None
    except OSError as error:
        failed = error.strerror
    try:
        if failed:
            raise ValueError(
                f"--out must be {'in ' * one_file}a folder that can be written to; "
                f"{_short(place)!r}: {failed}; give another"
            )
        yield
    finally:
        for one in made:
            with contextlib.suppress(OSError):  # it holds something
                one.rmdir()


def _short(path: Path) -> str:
    return str(path) if len(str(path)) <= 80 else f"{str(path)[:80]}..."


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


class Progress:
    """Progress bars of running steps, on a terminal."""

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self._tasks: list[TaskID] = []
        self._bars: Bars | None = None

    def begin(self, what: str) -> None:
        """A step begins."""
        if self.silent or not sys.stderr.isatty():
            return
        if self._bars is None:
            self._bars = Bars(
                BarColumn(12), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True, highlight=False), transient=True,
            )  # fmt: skip
            self._bars.start()
        self._tasks.append(self._bars.add_task(what.replace("[", r"\["), total=None))

    def advance(self, done: int, total: int) -> None:
        """Advance the step."""
        if self._bars is not None:
            self._bars.update(self._tasks[-1], completed=done, total=total)

    def end(self) -> None:
        """The step is over."""
        if self._bars is None:
            return
        self._bars.remove_task(self._tasks.pop())
        if not self._tasks:
            self._bars.stop()
            self._bars = None

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Leave the terminal to another bar."""
        bars = self._bars
        if bars is not None:
            bars.stop()
        try:
            yield
        finally:
            if bars is not None and bars is self._bars:
                bars.start()


def worded(message: str, options: Collection[str], roles: Collection[str] = ()) -> str:
    """Replace keywords and calls in a message by options and subcommands."""

    def bare(found: re.Match[str]) -> str:
        option = OPTIONS.get(found[1], "--" + found[1].replace("_", "-"))
        return option if option in options else found[0]

    def given(found: re.Match[str]) -> str:
        keyword, value = found[1], _value(found[2])
        # A role with a value may also be one of the data, unless it is an example.
        example = not value or found.string[: found.start()].endswith("such as ")
        if keyword in roles and "--columns" in options and example:
            return f"--columns {keyword}={value or 'NAME'}"
        if keyword == "pairs" and found[2].startswith("["):
            return "--pair A B" if "--pair" in options else found[0]
        option = bare(found)
        if option == found[0]:
            return option
        if found[2] == "[]":
            return f"{option}="
        if value == "False":
            return f"--no-{option[2:]}"
        return option if value in ("", "True") else f"{option} {value.replace('None', 'none')}"

    def rows(found: re.Match[str]) -> str:
        column = f" by column {found[1]}" if found[1] else ""
        return f"{': ' * found[0].startswith(':')}by choosing rows of FILE{column}"

    def python(text: str) -> str:
        name = text.partition("(")[0].replace("alikely.", "al.")
        return COMMANDS.get(name, text if "in Python" in message else f"{text} in Python")

    message = _SELECT.sub(rows, message)
    if "--n-options" in options:
        message = _WITH_OPTIONS.sub(r"--n-options \1", message)
    # What is in a call is no option.
    parts = _PYTHON.split(message)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = python(part)
            continue
        part = _BARE.sub(bare, _GIVEN.sub(given, part))
        parts[i] = part if i else _FIRST.sub(bare, part)
    return "".join(parts).replace(" by keyword,", ",")


def _value(text: str) -> str:
    """``['a', 'b']`` as ``a,b``."""
    if text in ("...", "[...]"):
        return "VALUE" if text == "..." else "NAME,..."
    return ",".join(name.strip().strip("'\"") for name in text.strip("[]").split(","))
