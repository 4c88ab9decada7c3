"""Fields that stand in the names of files, such as the observer and the session."""

from __future__ import annotations

import re
from collections.abc import Sequence

from alikely._base.names import listed
from alikely.data.files import File

__all__ = ["fields_of_names"]

PIECE = re.compile(r"\{(\w+)(:d)?\}|(\*)|([^{}*]+)|(.)")


def fields_of_names(pattern: str, files: Sequence[File]) -> list[dict[str, str]]:
    """Read fields off the names of files."""
    names = [match[1] for match in PIECE.finditer(pattern) if match[1]]
    if not names:
        raise ValueError(f"pattern {pattern!r} has no field; expected some, such as {{observer}}")
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ValueError(f"pattern {pattern!r} has field {twice[0]!r} twice; name it once")
    short, long = (_expression(pattern, more) for more in ("+?", "+"))
    depth = pattern.count("/") + 1
    tails = ["/".join(_path(file).split("/")[-depth:]) for file in files]
    found = [short.fullmatch(tail) for tail in tails]
    if not any(found):
        raise ValueError(
            f"pattern={pattern!r} fits none of {len(files)} files; they are: "
            f"{listed(tails, most=5)}"
        )
    fields = []
    for match, tail in zip(found, tails, strict=True):
        if match is None:
            raise ValueError(
                f"pattern {pattern!r} does not fit {tail!r} (but {sum(map(bool, found))} other "
                "files); read the files apart, or leave it out"
            )
        one, other = match.groupdict(), long.fullmatch(tail).groupdict()  # type: ignore[union-attr]
        if one != other:
            name = next(name for name in one if one[name] != other[name])
            raise ValueError(
                f"pattern {pattern!r} fits {tail!r} in two ways, {name} {one[name]!r} or "
                f"{other[name]!r}; write out what parts the fields, or {{{names[-1]}:d}} for digits"
            )
        fields.append(one)
    return fields


def _path(file: File) -> str:
    path = file.path.absolute().as_posix()
    return f"{path}/{file.member}" if file.member else path


def _expression(pattern: str, more: str) -> re.Pattern[str]:
    text = ""
    for name, digits, star, literal, other in PIECE.findall(pattern):
        if other:
            raise ValueError(f"pattern {pattern!r} has a brace without its fellow; write {{field}}")
        if name:
            text += rf"(?P<{name}>\d{more})" if digits else f"(?P<{name}>[^/]{more})"
        else:
            text += f"[^/]*{more[1:]}" if star else re.escape(literal)
    return re.compile(text)
