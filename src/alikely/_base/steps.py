"""Steps of work: the log and progress bars."""

from __future__ import annotations

import contextlib
import functools
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING

from alikely._base.settings import options

if TYPE_CHECKING:
    from rich.progress import Progress

LOG = logging.getLogger("alikely")
# One for the process: work may be done by other threads, which have contexts of their own.
_bars: list[Progress] = []
# Pieces of work under way that show no bars of their own.
_quiet: list[None] = []


@contextlib.contextmanager
def bars_of_steps(silent: bool) -> Iterator[None]:
    """Show a progress bar for each step in the context, on a terminal and unless `silent`."""
    from rich import progress
    from rich.console import Console

    bars = progress.Progress(
        progress.BarColumn(12), progress.MofNCompleteColumn(), progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(), progress.TextColumn("{task.description}", markup=False),
        console=Console(stderr=True, highlight=False), transient=True,
        disable=silent or not sys.stderr.isatty(),
    )  # fmt: skip
    _bars.append(bars)
    try:
        yield
    finally:
        bars.stop()
        _bars.remove(bars)


def shows_progress() -> bool:
    """Whether to show progress bars; by default, only in a terminal or a notebook."""
    if _quiet:
        return False
    if options.progressbar is not None:
        return options.progressbar
    # Nothing of notebooks is imported where there is none.
    shell = sys.modules.get("IPython")
    here = shell.get_ipython() if shell else None
    return sys.stderr.isatty() or "IPKernelApp" in getattr(here, "config", {})


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Show no progress bars in this context, because the work as a whole has one."""
    _quiet.append(None)
    try:
        yield
    finally:
        _quiet.pop()


@contextlib.contextmanager
def own_bar(shown: bool) -> Iterator[None]:
    """Hide the package's progress bars while another library shows its own."""
    bars = _bars if shown else []
    for each in bars:
        each.stop()
    yield
    for each in bars:
        if each.tasks:
            each.start()


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Log a step with its name and its duration in seconds."""
    LOG.info("%s ...", what)
    began = time.perf_counter()
    tasks = [(bars, bars.add_task(what, total=None)) for bars in _bars]
    for bars, _ in tasks:
        bars.start()
    try:
        yield
    finally:
        for bars, task in tasks:
            bars.remove_task(task)
            if not bars.tasks:
                bars.stop()
    LOG.info("%s: %.1f s", what, time.perf_counter() - began)


def tracked[T](pieces: Iterable[T], total: int) -> Iterator[T]:
    """Yield the chunks unchanged, and report how many are done."""
    for done, piece in enumerate(pieces, start=1):
        for bars in _bars:
            if bars.tasks:
                bars.update(bars.task_ids[-1], completed=done, total=total)
        yield piece


@contextlib.contextmanager
def progress_bar(what: str, total: float) -> Iterator[Callable[[float], None]]:
    """Progress bar for chunks of work; yields a function that advances the bar."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    console = Console(stderr=True)
    # Without ipywidgets rich warns in notebooks, and shows nothing.
    shown = shows_progress() and not (console.is_jupyter and find_spec("ipywidgets") is None)
    with Progress(*columns, console=console, disable=not shown) as bars:
        yield functools.partial(bars.advance, bars.add_task(what, total=total))
