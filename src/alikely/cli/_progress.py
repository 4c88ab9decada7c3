"""Progress on standard error of what takes more than seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator

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

from alikely._base.steps import duration

# Steps that are over by then show nothing; where nobody looks on, a line now and then.
PATIENCE, PAUSE = 5.0, 30.0  # seconds


class Progress:
    """Of the step at work: bars on a terminal, else a line now and then."""

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self._steps: list[tuple[str, float, TaskID | None]] = []
        self._told = 0.0
        self._bars: Bars | None = None

    def begin(self, what: str) -> None:
        """A step begins."""
        task = None
        if not self.silent and sys.stderr.isatty():
            if self._bars is None:
                self._bars = Bars(
                    BarColumn(12), MofNCompleteColumn(), TimeElapsedColumn(),
                    TimeRemainingColumn(), TextColumn("{task.description}"),
                    console=Console(stderr=True, highlight=False), transient=True,
                )  # fmt: skip
                self._bars.start()
            task = self._bars.add_task(what.replace("[", r"\["), total=None, visible=False)
            timer = threading.Timer(PATIENCE, self._show, [task])
            timer.daemon = True
            timer.start()
        self._steps.append((what, time.monotonic(), task))
        self._told = time.monotonic()

    def advance(self, done: int, total: int) -> None:
        """So many pieces of work of the step are done."""
        if self.silent or not self._steps:
            return
        what, began, task = self._steps[-1]
        now = time.monotonic()
        if task is not None and self._bars is not None:
            self._bars.update(task, completed=done, total=total)
        elif now - self._told >= PAUSE:
            self._told = now
            left = duration((now - began) / done * (total - done))
            said = f"alikely: {what}: {done:,} of {total:,}, about {left} left"
            print(said, file=sys.stderr, flush=True)

    def end(self) -> None:
        """The step is over."""
        *_, task = self._steps.pop()
        if self._bars is None or task is None:
            return
        self._bars.remove_task(task)
        if not self._steps:
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

    def _show(self, task: TaskID) -> None:
        if (bars := self._bars) is not None and task in bars.task_ids:
            bars.update(task, visible=True)
