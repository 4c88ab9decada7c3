"""What is done at the moment: told to the log, and to whoever watches."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Iterable, Iterator
from typing import Protocol

__all__ = ["LOG", "Watcher", "is_silent", "own_bar", "step", "tracked", "watched_by"]

LOG = logging.getLogger("alikely")


class Watcher(Protocol):
    """Whoever shows progress, such as the command line."""

    silent: bool

    def begin(self, what: str) -> None:
        """A step begins."""

    def advance(self, done: int, total: int) -> None:
        """So many pieces of work of the step are done."""

    def end(self) -> None:
        """The step is over."""

    def pause(self) -> contextlib.AbstractContextManager[None]:
        """Leave the terminal to another bar."""


# One for the process: work may be done by other threads, which have contexts of their own.
_watchers: list[Watcher] = []


@contextlib.contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell `watcher` of all steps within."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)


def is_silent() -> bool:
    """Whether bars of any kind are unwanted."""
    return any(watcher.silent for watcher in _watchers)


@contextlib.contextmanager
def own_bar(shown: bool) -> Iterator[None]:
    """Leave the terminal to a bar of somebody else, if one is shown."""
    with contextlib.ExitStack() as stack:
        for watcher in _watchers if shown else ():
            stack.enter_context(watcher.pause())
        yield


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """A step: its name and its seconds go to the log.

    Examples
    --------
    >>> with step("add"):
    ...     print(1 + 1)
    2
    """
    LOG.info("%s ...", what)
    began = time.perf_counter()
    told = list(_watchers)
    for watcher in told:
        watcher.begin(what)
    try:
        yield
    finally:
        for watcher in told:
            watcher.end()
    LOG.info("%s: %.1f s", what, time.perf_counter() - began)


def tracked[T](pieces: Iterable[T], total: int) -> Iterator[T]:
    """The same pieces; whoever watches is told how many there have been.

    Examples
    --------
    >>> list(tracked("ab", 2))
    ['a', 'b']
    """
    for done, piece in enumerate(pieces, start=1):
        for watcher in _watchers:
            watcher.advance(done, total)
        yield piece
