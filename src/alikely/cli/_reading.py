"""How the verbs read trials: one set of options for all of them."""

from __future__ import annotations

import argparse
from typing import Any

import alikely as al
from alikely._base.steps import LOG, step
from alikely.cli._keywords import named_columns
from alikely.cli._options import Parser
from alikely.data.readers import readers
from alikely.data.reading import ROLES

FILES = ".csv, .tsv, .json, .jsonl, .parquet, .feather (also .gz, .zip), folders, logs of tools"


def add_file(parser: Parser, nargs: str = "+") -> None:
    """The argument FILE, of one or several."""
    parser.add_argument("file", metavar="FILE", nargs=nargs, help=FILES)


def add_reading_options(parser: Parser) -> None:
    """Options of the verbs that read trials."""
    group = parser.add_argument_group("reading FILE")
    group.add_argument(
        "--columns",
        metavar="ROLE=NAME,...",
        help=f"names of columns, such as observer=subject; roles: {', '.join(ROLES)}",
    )
    group.add_argument(
        "--classes",
        metavar="NAME,...",
        help="all admissible answers, or seen: whatever occurs (default: what occurs as truth)",
    )
    group.add_argument(
        "--na-values",
        metavar="TEXT,...",
        help="what means missing beside an empty field (default: NA, NaN, nan, null, NULL); "
        "--na-values=- for a dash",
    )
    group.add_argument(
        "--wide", action="store_true", help="one row per trial, one column for each observer"
    )
    group.add_argument(
        "--observers",
        metavar="NAME,...",
        help="with --wide: columns of observers (default: all that have no role)",
    )
    group.add_argument(
        "--kind",
        action="append",
        metavar="KIND=NAME,...",
        help="with --wide: kind of these observers, such as human=anna,bert (once for each kind)",
    )
    group.add_argument(
        "--format",
        default="auto",
        metavar="NAME",
        help="auto (default) recognises logs of tools; table; " + ", ".join(readers()),
    )
    group.add_argument(
        "--pattern",
        metavar="TEXT",
        help="columns in names of files, such as '{dataset}/{observer}_{session:d}.csv'",
    )
    group.add_argument("--sep", metavar="TEXT", help="separator of text files (default: found)")
    group.add_argument("--encoding", metavar="NAME", help="of text files (default: found)")
    group.add_argument(
        "--score", metavar="NAME", help="which score of a log that has several, such as acc"
    )
    group.add_argument("--filter", metavar="NAME", help="which filter of a log that has several")
    group.add_argument(
        "--n-options",
        metavar="N",
        help="options of each question, for agreement on options: a number, or classes (as many as "
        "there are)",
    )


def read_trials(options: argparse.Namespace, path: Any, **more: Any) -> al.Trials:
    """Read what the options say, and keep what was guessed."""
    columns: dict[str, Any] = (
        named_columns(options.columns, "--columns", ROLES) if options.columns else {}
    )
    if options.classes:
        columns["classes"] = "seen" if options.classes == "seen" else options.classes.split(",")
    wide = options.wide
    if options.observers:
        if not wide:
            raise ValueError("--observers names columns of a wide table; give --wide too")
        wide = options.observers.split(",")
    if options.kind:
        if not wide:
            raise ValueError(
                "--kind is of observers of a wide table; of others name a column, "
                "--columns kind=NAME"
            )
        columns["kind"] = _kinds(options.kind)
    with step(f"reading {_what(path)}"):
        trials = al.Trials.read(
            path,
            format=options.format,
            pattern=options.pattern,
            na_values=None if options.na_values is None else options.na_values.split(","),
            sep="\t" if options.sep in ("tab", "\\t") else options.sep,
            encoding=options.encoding,
            wide=wide,
            score=options.score,
            filter=options.filter,
            **columns,
            **more,
        )
    if (given := options.n_options) is not None:
        if given != "classes" and not (given.isascii() and given.isdecimal()):
            raise ValueError(f"--n-options must be a whole number or classes, got {given!r}")
        trials = trials.with_options(given if given == "classes" else int(given))
    LOG.info("%s", " ".join(str(trials).split()))
    options.notes = trials.notes  # printed below whatever the verb prints
    return trials


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


def _what(path: Any) -> str:
    files = [str(one) for one in path] if isinstance(path, list) else [str(path)]
    return files[0] if len(files) == 1 else f"{len(files)} files, {files[0]} to {files[-1]}"
