"""How a verb is run: its log, its progress, its warnings and errors."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence

from alikely._base.parallel import at_most
from alikely._base.steps import LOG, watched_by
from alikely.cli._keywords import worded
from alikely.cli._options import Parser
from alikely.cli._progress import Progress
from alikely.data.reading import ROLES


def run(options: argparse.Namespace, verb: Parser) -> int:
    """Run a verb; 0 if all went well, 2 on bad input, 1 if nobody reads on, as ``| head``."""
    try:
        code = _run(options, verb)
        sys.stdout.flush()
    except BrokenPipeError:
        # Or Python would complain once more when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _run(options: argparse.Namespace, verb: Parser) -> int:
    names = verb.names()

    def told(message: object) -> str:
        return worded(" ".join(str(message).split()), names, ROLES)

    if options.jobs is not None and options.jobs < 1:
        print(f"alikely: --jobs must be at least 1, got {options.jobs}", file=sys.stderr)
        return 2
    with (
        _logged(options.verbose, told),
        watched_by(Progress(silent=options.quiet)),
        at_most(options.jobs),
    ):
        try:
            options.run(options)
        except BrokenPipeError:
            raise
        except (ValueError, TypeError, OSError) as error:
            print(f"alikely: {told(error)}", file=sys.stderr)
            return 2
    print_notes([told(note) for note in getattr(options, "notes", ())])
    return 0


def print_notes(notes: Sequence[str]) -> None:
    """What was guessed, counted or left out when the trials were read, in 80 columns."""
    if notes:
        print("\nReading:")
    for note in notes:
        print(textwrap.fill(f"- {note}", 80, subsequent_indent="  "))


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
