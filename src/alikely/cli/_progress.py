"""Progress on standard error, of whatever takes more than seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Generator, Iterator

from alikely._base.steps import duration

# Steps that are over by then show nothing; where nobody looks on, a line now and then.
PATIENCE, PAUSE, TICK = 5.0, 30.0, 0.2  # seconds
# Of fewer pieces of work than this nothing is foretold.
ENOUGH = 2


class Progress:
    """Of the step at work: what it is, how much is done, and how long the rest may take."""

    def __init__(self, silent: bool = False) -> None:
        self.silent = silent
        self._steps: list[Pieces] = []
        self._paused = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None
        self._view: View | None = None
        # The view is a generator: one at a time.
        self._lock = threading.Lock()

    def begin(self, what: str) -> None:
        """A step begins."""
        if self.silent:
            return
        self._steps.append(Pieces(what))
        if self._thread is None:
            self._over.clear()
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()

    def advance(self, done: int, total: int) -> None:
        """So many pieces of work of the step are done."""
        if self._steps:
            self._steps[-1].advance(done, total)

    def end(self) -> None:
        """The step is over."""
        if self._steps:
            self._steps.pop()
        if not self._steps and self._thread is not None:
            self._over.set()
            self._thread.join()
            self._thread = None

    @contextlib.contextmanager
    def pause(self) -> Iterator[None]:
        """Leave the terminal to another bar."""
        with self._lock:
            self._paused += 1
            if self._view is not None:
                self._view.send(None)
        try:
            yield
        finally:
            with self._lock:
                self._paused -= 1

    def _show(self) -> None:
        with self._lock:
            self._view = _on_terminal() if sys.stderr.isatty() else _in_lines()
            next(self._view)
        while not self._over.wait(TICK):
            with self._lock:
                steps = self._steps[-1:]
                shown = steps and not self._paused and steps[0].is_long()
                self._view.send(steps[0] if shown else None)
        with self._lock:
            self._view.close()
            self._view = None


class Pieces:
    """A step, and what is done of it."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.began = self.lot_began = self.latest = time.monotonic()
        self.done = self.total = 0

    def advance(self, done: int, total: int) -> None:
        """A piece is done; a first one begins another lot of them."""
        if done == 1:
            self.lot_began = self.latest
        self.done, self.total, self.latest = done, total, time.monotonic()

    def left(self) -> float | None:
        """Seconds to come, if there is something to tell by."""
        if self.done < min(ENOUGH, self.total) or self.total < ENOUGH:
            return None
        # The pieces that are done took so long together; the next has been at work since.
        foretold = (self.latest - self.lot_began) / self.done * (self.total - self.done)
        return max(foretold - (time.monotonic() - self.latest), 0.0)

    def is_long(self) -> bool:
        """Whether it takes more than `PATIENCE`, as far as one knows."""
        spent = time.monotonic() - self.began
        return spent + (self.left() or 0.0) > PATIENCE

    def state(self) -> str:
        """How much is done and to come."""
        left = self.left()
        if left is None or self.done == self.total:
            return f"{duration(time.monotonic() - self.began)} so far"
        return f"{self.done:,} of {self.total:,}, about {duration(left)} left"


# Is sent the step to show, or None for nothing.
type View = Generator[None, Pieces | None, None]


def _in_lines() -> View:
    latest = -PAUSE
    step: Pieces | None = None
    while True:
        if step is not None and time.monotonic() - latest >= PAUSE:
            latest = time.monotonic()
            print(f"alikely: {step.what}: {step.state()}", file=sys.stderr, flush=True)
        step = yield


def _on_terminal() -> View:
    from rich.console import Console
    from rich.live import Live
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    live: Live | None = None
    step: Pieces | None = None
    try:
        while True:
            if step is None and live is not None:
                live.stop()
                live = None
            if step is not None:
                row = Table.grid(padding=(0, 1))
                row.add_column(width=12)
                # What has no room is cut at its end.
                row.add_column(no_wrap=True, overflow="ellipsis")
                total = step.total or None
                bar = ProgressBar(total, step.done, width=12, pulse=total is None)
                row.add_row(bar, f"{step.state()}; {step.what}")
                if live is None:
                    live = Live(console=console, auto_refresh=False, transient=True)
                    live.start()
                live.update(row, refresh=True)
            step = yield
    finally:
        if live is not None:
            live.stop()
