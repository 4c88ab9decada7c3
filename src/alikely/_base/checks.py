"""What every door asks of what it is given: its type, and that a list is one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from alikely._base.names import listed, nearest

__all__ = ["entries", "known_kind", "of_type", "one_of"]


def of_type[T](value: Any, kind: type[T], way_out: str) -> T:
    """The value, if it is of a type that a door can work with.

    Parameters
    ----------
    value : object
        As given.
    kind : type
        What is expected.
    way_out : str
        How one comes by such a thing, for the message.

    Raises
    ------
    TypeError
        If it is of another type.

    Examples
    --------
    >>> of_type("trials.csv", dict, "make one with dict(...)")
    Traceback (most recent call last):
    TypeError: expected dict, got str; make one with dict(...)
    """
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}; {way_out}")
    return value


def known_kind(option: str, kind: str, kinds: Iterable[str], rest: str = "") -> None:
    """Raise an error that names the option if no observer is of a kind.

    Parameters
    ----------
    option : str
        Name of the parameter that chooses the kind.
    kind : str
        As given.
    kinds : iterable of str
        Those of all observers.
    rest : str
        What else to do, as the end of the message.

    Raises
    ------
    ValueError
        If `kind` is not among them.

    Examples
    --------
    >>> known_kind("readers", "human", ["reader", "model"])
    Traceback (most recent call last):
    ValueError: no observer is of kind 'human'; kinds are model, reader; name the kind with readers=
    """
    known = sorted({str(entry) for entry in kinds})
    if kind not in known:
        raise ValueError(
            f"no observer is of kind {kind!r}; kinds are {listed(known)}{nearest(kind, known)}; "
            f"name the kind with {option}={rest}"
        )


def entries(name: str, values: Any, example: str = "['a', 'b']") -> list[Any]:
    """A list of what is given one by one: a text is no list of its letters.

    Parameters
    ----------
    name : str
        What it is, for the message.
    values : iterable
        As given.
    example : str
        How it is given, for the message.

    Raises
    ------
    TypeError
        If it is a text, or nothing that has entries.

    Examples
    --------
    >>> entries("observers", ("anna", "net"))
    ['anna', 'net']
    >>> entries("observers", "ab")
    Traceback (most recent call last):
    TypeError: observers must be a list, such as ['a', 'b'], got the text 'ab'
    """
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a list, such as {example}, got the text {values!r}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, such as {example}, got {type(values).__name__}")
    return list(values)


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Refuse a value that is none of those allowed (`ValueError`).

    Examples
    --------
    >>> one_of("by", "class", ("condition", "dataset"))
    Traceback (most recent call last):
    ValueError: by must be one of 'condition', 'dataset'; got 'class'
    """
    if value not in allowed:
        options = listed(map(repr, allowed))
        raise ValueError(f"{name} must be one of {options}; got {value!r}{nearest(value, allowed)}")
