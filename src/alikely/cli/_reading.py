"""How the subcommands read trials: one set of options for all of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import alikely as al
from alikely._base.names import listed, nearest
from alikely._base.steps import LOG, step
from alikely.data.columns import ROLES


@dataclass
class Reading:
    """How FILE is read.

    Parameters
    ----------
    columns : str
        Names of columns ROLE=NAME,... such as observer=subject; the roles are dataset, condition,
        observer, kind, item, truth, response, correct, ...
    classes : str
        All admissible responses NAME,..., or seen for those that occur (default: the true classes).
    na_values : str
        What means a missing response besides an empty field, TEXT,... (default: NA, NaN, nan,
        null, NULL), such as --na-values=- for a dash.
    wide : bool
        One row per trial and one column per observer.
    observers : str
        With --wide: columns of the observers NAME,... (default: all without a role).
    kind : list
        With --wide: kind of these observers KIND=NAME,... such as human=anna,bert; once per kind.
    format : str
        Table, or the name of an evaluation tool (default auto).
    pattern : str
        Columns in the names of files, such as '{dataset}/{observer}_{session:d}.csv'.
    sep : str
        Separator of text files (default: detected).
    encoding : str
        Encoding of text files (default: detected).
    score : str
        Score to read from a log that has several, such as acc.
    filter : str
        Filter to read from a log that has several.
    n_options : str
        Number of options of each question, or classes for the number of classes.
    """

    columns: str | None = None
    classes: str | None = None
    na_values: str | None = None
    wide: bool = False
    observers: str | None = None
    kind: list[str] = field(default_factory=list)
    format: str = "auto"
    pattern: str | None = None
    sep: str | None = None
    encoding: str | None = None
    score: str | None = None
    filter: str | None = None
    n_options: str | None = None

    def read(self, path: Any, **more: Any) -> al.Trials:
        """The trials of one or several files."""
        named: dict[str, Any] = roles_of(self.columns, "--columns", ROLES)
        if self.classes:
            named["classes"] = "seen" if self.classes == "seen" else self.classes.split(",")
        if self.observers and not self.wide:
            raise ValueError("--observers names columns of a wide table; give --wide too")
        if self.kind and not self.wide:
            raise ValueError(
                "--kind is of observers of a wide table; of others name a column, "
                "--columns kind=NAME"
            )
        if self.kind:
            named["kind"] = _kinds(self.kind)
        files = [str(one) for one in path] if isinstance(path, list) else [str(path)]
        several = f"{len(files)} files, {files[0]} to {files[-1]}"
        with step(f"reading {files[0] if len(files) == 1 else several}"):
            trials = al.Trials.read(
                path,
                format=self.format,
                pattern=self.pattern,
                na_values=None if self.na_values is None else self.na_values.split(","),
                sep="\t" if self.sep in ("tab", "\\t") else self.sep,
                encoding=self.encoding,
                wide=self.observers.split(",") if self.observers else self.wide,
                score=self.score,
                filter=self.filter,
                **named,
                **more,
            )
        if (n := self.n_options) is not None:
            if n != "classes" and not (n.isascii() and n.isdecimal()):
                raise ValueError(f"--n-options must be a whole number or classes, got {n!r}")
            trials = trials.with_options(n if n == "classes" else int(n))
        LOG.info("%s", " ".join(str(trials).split()))
        return trials


def roles_of(text: str | None, option: str, roles: Collection[str]) -> dict[str, str]:
    """Names of columns by role, of ``role=name,role=name``."""
    found: dict[str, str] = {}
    for entry in text.split(",") if text else ():
        role, equal, name = (part.strip() for part in entry.partition("="))
        if not (role and equal and name):
            raise ValueError(
                f"{option} expects ROLE=NAME,..., such as observer=subject, got {entry!r}"
            )
        if role not in roles:
            raise ValueError(
                f"{option} has no role {role!r}; roles are {listed(roles)}{nearest(role, roles)}"
            )
        if role in found:
            raise ValueError(
                f"{option} gives {role} twice, as {found[role]!r} and {name!r}; give it once"
            )
        found[role] = name
    return found


def _kinds(given: list[str]) -> dict[str, str]:
    """Kind of each observer, of ``kind=name,name`` for each kind."""
    found: dict[str, str] = {}
    for text in given:
        kind, equal, names = text.partition("=")
        if not (kind and equal and names):
            raise ValueError(f"--kind expects KIND=NAME,..., such as human=anna,bert, got {text!r}")
        for name in names.split(","):
            if name in found:
                raise ValueError(f"--kind gives {name!r} twice, as {found[name]} and {kind}")
            found[name] = kind
    return found
