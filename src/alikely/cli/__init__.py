"""The `alikely` command: one file for each verb, with `add_parser` (its options) and `run`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import alikely
from alikely.cli import benchmark, compare, demo, margins, plan, spectrum
from alikely.cli._reading import print_notes
from alikely.cli._shared import Parser

__all__ = ["main"]

VERBS = (demo, compare, margins, benchmark, spectrum, plan)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Arguments after the program's name; those of the process if not given.

    Returns
    -------
    int
        0 if all went well, 2 on bad input (with one line on standard error).
    """
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        print_notes(getattr(options, "notes", ()))
    except (ValueError, TypeError, OSError) as error:
        print(f"alikely: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    return 0


def _parser() -> Parser:
    parser = Parser(
        prog="alikely", description="How alike two systems' errors are, and how sure we can be."
    )
    parser.add_argument("--version", action="version", version=f"alikely {alikely.__version__}")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for verb in VERBS:
        verb.add_parser(verbs).set_defaults(run=verb.run)
    return parser
