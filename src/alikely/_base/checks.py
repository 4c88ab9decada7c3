"""What every door asks of what it is given: its type, and that a list is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from alikely._base.names import listed, nearest

__all__ = ["entries", "known_kind", "of_type", "one_of"]


def of_type[T](value: Any, kind: type[T], way_out: str) -> T:
    """The value, if it has a type that a function accepts."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}; {way_out}")
    return value


def known_kind(option: str, kind: str, kinds: Iterable[str], rest: str = "") -> None:
    """Raise an error that names the option if no observer is of a kind."""
    known = sorted({str(entry) for entry in kinds})
    if kind not in known:
        raise ValueError(
            f"no observer is of kind {kind!r}; kinds are {listed(known)}{nearest(kind, known)}; "
            f"name the kind with {option}={rest}"
        )


def entries(name: str, values: Any, example: str = "['a', 'b']") -> list[Any]:
    """A list of what is given one by one: a text is no list of its letters."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a list, such as {example}, got the text {values!r}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, such as {example}, got {type(values).__name__}")
    return list(values)


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value that is none of those allowed (`ValueError`)."""
    if value not in allowed:
        options = listed(map(repr, allowed))
        raise ValueError(f"{name} must be one of {options}; got {value!r}{nearest(value, allowed)}")
