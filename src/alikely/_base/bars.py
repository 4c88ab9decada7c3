"""A progress bar on standard error, for loops and downloads."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Self

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress

from alikely._base.steps import shows_progress

__all__ = ["Bar"]


class Bar:
    """Pieces of work done and to come; the total may be set later."""

    def __init__(self, what: str, total: float = 0) -> None:
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        console = Console(stderr=True)
        # Without ipywidgets rich warns in notebooks, and shows nothing.
        shown = shows_progress() and not (console.is_jupyter and find_spec("ipywidgets") is None)
        self._bars = Progress(*columns, console=console, disable=not shown)
        self._task = self._bars.add_task(what, total=total)

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    @property
    def total(self) -> float:
        """Pieces of work in all."""
        return self._bars.tasks[self._task].total or 0

    @total.setter
    def total(self, number: float) -> None:
        self._bars.update(self._task, total=number)
        self._bars.start()

    def update(self, number: float = 1) -> None:
        """So many more pieces are done."""
        self._bars.update(self._task, advance=number)

    def reset(self) -> None:
        """Begin again."""
        self._bars.reset(self._task)

    def close(self) -> None:
        """Take the bar away."""
        self._bars.stop()
