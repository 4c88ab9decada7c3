"""How a subcommand runs: its log, progress, warnings and errors, and what stops it."""

from __future__ import annotations

import contextlib
import glob
import logging
import secrets
import signal
import sys
import textwrap
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from alikely._base.files import PART, keeping, noting_writes
from alikely._base.names import listed, visible
from alikely._base.parallel import at_most
from alikely._base.steps import LOG, watched_by
from alikely.cli._progress import Progress
from alikely.cli._words import worded
from alikely.data.columns import ROLES
from alikely.data.files import KNOWN

if TYPE_CHECKING:
    from alikely.cli._app import Options

# Options that name files to read.
INPUTS = ("confusions", "margins", "coarse", "shown", "pilot")
# What a shell expects of a program that a signal has stopped: 128 and its number.
OF_SIGNAL = 128


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

    if running.jobs is not None and running.jobs < 1:
        return failed(f"--jobs must be at least 1, got {running.jobs}", 2)
    if running.quiet and running.verbose:
        return failed("give --quiet or --verbose, not both", 2)
    keep = inputs_of(options)
    with (
        _hushed() as stay,
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
        except BrokenPipeError:
            raise
        except KeyboardInterrupt:
            stay()
            return failed(stopped("Ctrl-C", written), OF_SIGNAL + signal.SIGINT)
        except Terminated:
            stay()
            return failed(stopped("SIGTERM", written), OF_SIGNAL + signal.SIGTERM)
        except MemoryError as error:
            less = "ask for fewer pairs, --n-resamples or --n-draws"
            return failed(told(error) if ";" in str(error) else f"out of memory; {less}", 1)
        except OSError as error:
            return failed(told(error) + _kept(written), 1)
        except (ValueError, TypeError) as error:
            return failed(told(error), 2)
        except Exception as error:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return failed(told(f"a mistake of alikely's own, {what}; --debug shows where"), 1)
    if options.notes:
        print("\nReading:")
    for note in options.notes:
        print(textwrap.fill(f"- {told(note)}", 80, subsequent_indent="  "))
    return 0


def stopped(by: str, written: Sequence[Path] = ()) -> str:
    """What is said of a run that was stopped."""
    kept = _kept(written) if written else "; nothing was written"
    return f"stopped by {by}{kept}"


def _kept(written: Sequence[Path]) -> str:
    """Files that are whole, where a run has ended before its time."""
    return f"; whole are {listed((visible(str(path)) for path in written), 5)}" if written else ""


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends what is done as Ctrl-C does."""

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
    """A user's metric may stand in the folder where they are, behind all that is installed."""
    here = str(Path.cwd())
    sys.path.append(here)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError):
            # The last one: it may have stood there before.
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(here)]


@contextlib.contextmanager
def _hushed() -> Iterator[Callable[[], None]]:
    """Hide what libraries leave half done when a signal comes; what is yielded keeps it so."""
    before = sys.unraisablehook
    kept: list[bool] = []
    sys.unraisablehook = lambda _: None
    try:
        yield lambda: kept.append(True)
    finally:
        # Its remains are cleared away later, when the process ends at the latest.
        if not kept:
            sys.unraisablehook = before


def inputs_of(options: Options) -> Callable[[Path], bool]:
    """Whether a file that is there is one that the options say to read."""
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
    """Refuse before any work what is no name of a file to write, or one that is read."""
    try:
        out.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass  # a folder that cannot be is told of where it is made
    except OSError as error:
        raise ValueError(
            f"--out must name a file that can be written; {_short(out)!r}: {error.strerror}; give "
            "another"
        ) from None
    if out.is_dir():
        raise ValueError(f"--out names a file, and {str(out)!r} is a folder")
    if out.exists() and not out.is_file():
        raise ValueError(f"--out names a file, and {str(out)!r} is none; give another")
    if out.exists() and keep(out.resolve()):
        raise ValueError(f"--out {str(out)!r} is one of the files that are read; give another")


@contextlib.contextmanager
def _folder(out: Path | None, one_file: bool) -> Iterator[None]:
    """The folder of results, made and tried before any work; taken away again if it stays empty."""
    if out is None:
        yield
        return
    out = Path(out).parent if one_file else Path(out)
    made: list[Path] = []
    try:
        for place in [*reversed(out.parents), out]:
            if not place.exists():
                place.mkdir()
                made.append(place)
        probe = out / f"{secrets.token_hex(4)}{PART}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        for place in reversed(made):
            place.rmdir()
        raise ValueError(
            f"--out must be {'in ' * one_file}a folder that can be written to; {_short(out)!r}: "
            f"{error.strerror}; give another"
        ) from None
    try:
        yield
    finally:
        for place in reversed(made):
            with contextlib.suppress(OSError):  # it holds something
                place.rmdir()


def _short(path: Path) -> str:
    return str(path) if len(str(path)) <= 80 else f"{str(path)[:80]}..."


class Printable:
    """A stream of text without what a terminal would obey: names come from users' files."""

    def __init__(self, stream: TextIO) -> None:
        self.beneath = stream

    def write(self, text: str) -> int:
        """Write it, control characters spelt out but for ends of lines and tabs."""
        self.beneath.write(text if text.isascii() and text.isprintable() else visible(text, "\n\t"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)


@contextlib.contextmanager
def _logged(verbose: bool, told: Callable[[object], str]) -> Iterator[None]:
    """Steps on standard error, if wanted; warnings there in one line, whoever sends them."""
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
