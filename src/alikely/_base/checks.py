"""Checks of arguments: types, lists, numbers, options, probabilities of options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest

# Double precision rounds a sum by less than 1e-15; numbers printed with seven digits, of a few
# options, by less than this.
TOLERANCE = 1e-6
# Half precision rounds each by up to 2**-11 of itself, so their sum by up to 4.9e-4; single
# precision often holds numbers that were half before.
COARSE = 1e-3


def of_type[T](value: Any, kind: type[T], way_out: str) -> T:
    """Return the value if it has an accepted type."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}; {way_out}")
    return value


def known_kind(option: str, kind: str, kinds: Iterable[str], rest: str = "") -> None:
    """Raise an error that names the option if no observer is of kind `kind`."""
    known = sorted({str(entry) for entry in kinds})
    if kind not in known:
        raise ValueError(
            f"no observer is of kind {kind!r}; kinds are {listed(known)}{nearest(kind, known)}; "
            f"name the kind with {option}={rest}"
        )


def entries(name: str, values: Any, example: str = "['a', 'b']") -> list[Any]:
    """Check that a value is a list and not a text."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} must be a list, such as {example}, got the text {values!r}")
    if not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, such as {example}, got {type(values).__name__}")
    return list(values)


def one_of(name: str, value: object, allowed: tuple[object, ...]) -> None:
    """Raise `ValueError` for a value that is not allowed."""
    if value not in allowed:
        options = listed(map(repr, allowed))
        raise ValueError(f"{name} must be one of {options}; got {value!r}{nearest(value, allowed)}")


def require_names(what: str, names: Iterable[object], known: Iterable[object]) -> None:
    """Raise an error for the first name that is unknown."""
    there = list(known)
    for name in names:
        if name not in there:
            raise ValueError(
                f"no {what} is named {name!r}; choose from {listed(there)}{nearest(name, there)}"
            )


def as_numbers(values: ArrayLike | None, name: str) -> Floats:
    """Numbers as an array of floats, if they are."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be one number or several, got {values!r:.60}") from None


def check_between(
    values: ArrayLike, name: str, fix: str, low: float = 0.0, high: float = 1.0
) -> None:
    """Raise `ValueError` unless all numbers lie strictly between two others."""
    numbers = as_numbers(values, name)
    bad = ~((numbers > low) & (numbers < high))
    if bad.any():
        raise ValueError(
            f"{name} must lie strictly between {low:g} and {high:g}, got {numbers[bad].flat[0]:g}; "
            f"{fix}"
        )


def check_whole(values: ArrayLike, name: str, fewest: int = 2) -> None:
    """Raise `ValueError` unless all numbers are integers of at least the minimum."""
    numbers = as_numbers(values, name)
    bad = ~((numbers >= fewest) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"{name} must be whole numbers of at least {fewest}, got {numbers[bad].flat[0]:g}"
        )


def check_ranges(*given: tuple[str, ArrayLike, float, float], strict: bool = False) -> None:
    """Raise `ValueError` for values out of range; with `strict`, ranges exclude their ends."""
    for name, values, low, high in given:
        array = np.atleast_1d(np.asarray(values, dtype=np.float64))
        inside = (array > low) & (array < high) if strict else (array >= low) & (array <= high)
        if not inside.all():
            ends = f"({low:g}, {high:g})" if strict else f"[{low:g}, {high:g}]"
            raise ValueError(f"{name} must lie in {ends}, got {array[~inside].flat[0]:g}")


def _tolerance(dtype: np.dtype[Any]) -> float:
    """Tolerance of the sum of probabilities of this precision."""
    return COARSE if dtype.kind == "f" and dtype.itemsize < 8 else TOLERANCE


def check_options(
    truth: ArrayLike, n_options: ArrayLike, n_questions: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Check correct options and numbers of options, one for each question."""
    options, right = np.asarray(n_options), np.asarray(truth)
    if options.ndim == 0:
        options = np.full(n_questions, options)
    for name, array in (("n_options", options), ("truth", right)):
        if array.dtype.kind not in "iu":
            raise ValueError(
                f"{name} must be whole numbers, one for each question, got {array.dtype}"
            )
        if array.shape != (n_questions,):
            raise ValueError(
                f"{name} must be {n_questions} whole numbers, one for each question, got shape "
                f"{array.shape}"
            )
    if (options < 2).any():
        bad = int(np.argmax(options < 2))
        number = "one option" if options[bad] == 1 else f"{options[bad]} options"
        raise ValueError(
            f"question {bad} has {number}, but agreement needs at least two options; leave this "
            "question out"
        )
    outside = (right < 0) | (right >= options)
    if outside.any():
        bad = int(np.argmax(outside))
        raise ValueError(
            f"the correct option of question {bad} is {right[bad]}, but its {options[bad]} options "
            f"are numbered 0 to {options[bad] - 1}"
        )
    return right.astype(np.int64), options.astype(np.int64)


def check_answers(answers: NDArray[Any], n_options: NDArray[np.int64]) -> None:
    """Raise an error for responses that are not among the options; -1 is a missing response."""
    if answers.dtype.kind not in "iu":
        raise TypeError(
            "responses must be option numbers, integers from 0 (-1 if missing), got "
            f"{answers.dtype}; probabilities must have the shape (observer, question, option)"
        )
    outside = (answers < -1) | (answers >= n_options)
    if outside.any():
        observer, question = np.argwhere(outside)[0]
        raise ValueError(
            f"observer {observer} chose option {answers[observer, question]} of question "
            f"{question}, whose {n_options[question]} options are numbered 0 to "
            f"{n_options[question] - 1}; -1 means no response"
        )


def check_probabilities(
    values: NDArray[Any], n_options: NDArray[np.int64], at: Any = slice(None)
) -> NDArray[np.bool_]:
    """Return which questions each observer answered; raise an error for invalid probabilities."""
    if values.dtype.kind != "f":
        raise ValueError(
            f"probabilities must be floats, got {values.dtype}; responses must have the shape "
            "(observer, question)"
        )
    if values.shape[2] < n_options.max(initial=0):
        raise ValueError(
            f"a question has {n_options.max()} options, but there are probabilities of only "
            f"{values.shape[2]}"
        )
    gone = np.isnan(values)
    shown = ~gone.all(axis=2)
    total = values.sum(axis=2, dtype=np.float64)
    near = _tolerance(values.dtype)
    beyond = (np.arange(values.shape[2]) >= n_options[:, None]) & (values != 0) & shown[..., None]
    faults = (
        (gone.any(axis=2) & shown, "include NaN; give all options, or NaN for all of them"),
        (
            (values < 0).any(axis=2),
            "include a negative value; apply a softmax to logits or log likelihoods",
        ),
        (beyond.any(axis=2), "include one beyond its {k} options; give n_options"),
        (shown & ~(np.abs(total - 1) <= near), "sum to {total:.6g}, not to 1 (within {near:g})"),
    )
    for wrong, what in faults:
        if wrong.any():
            observer, question = np.argwhere(wrong)[0]
            told = what.format(k=n_options[question], total=total[observer, question], near=near)
            number = (at.start or 0) + question if isinstance(at, slice) else at[question]
            raise ValueError(f"probabilities of observer {observer} for question {number} {told}")
    return np.asarray(shown)
