"""The `alikely` command: one file for each verb, with `add_parser` (its options) and `run`."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from alikely._base.names import nearest
from alikely._base.versions import versions
from alikely.cli._options import Parser

__all__ = ["main"]

# What `alikely --help` says of each verb. Its file is imported when it is asked for, as that takes
# seconds.
VERBS = {
    "demo": "analyse a simulated example: table, plot, files in a folder",
    "compare": "compare the errors of all pairs of a file",
    "matrix": "all pairs of many observers, and families of those that fail alike",
    "margins": "do two systems find the same items easy: decision margins against answers",
    "benchmark": "score machines against humans: ceilings, new images and humans, ranks",
    "spectrum": "how hard is each condition for people, and do machines err alike where it is",
    "report": "one page of HTML to keep and send: tables, figures, sentences, methods",
    "plan": "how many trials do I need",
    "choose": "which images to show people, by what machines answered",
    "completion": "print a script that completes verbs and options in a shell",
}


class _Version(argparse.Action):
    """Print the versions that matter, without importing what they are of."""

    def __init__(self, option_strings: Sequence[str], dest: str, **more: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **more)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        for name, said in versions().items():
            print(f"{name} is {said}" if said == "not installed" else f"{name} {said}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    try:
        return _main(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # before a verb has begun
        print("alikely: stopped by Ctrl-C; nothing was written", file=sys.stderr)
        return 130


def _main(given: list[str]) -> int:
    """Find the verb, read its options, run it."""
    parser, verbs = _parser()
    at = next((i for i, text in enumerate(given) if not text.startswith("-")), len(given))
    parser.check_names(given[:at])
    if (asked := given[at : at + 1]) and asked[0] not in VERBS:
        parser.error(
            f"there is no verb {asked[0]!r}{nearest(asked[0], VERBS)}; verbs are {', '.join(VERBS)}"
        )
    for name in asked:
        _add(verbs, name).check_names(given[at + 1 :])
    options = parser.parse_args(given)
    # What shows progress and words errors is not needed for --help.
    from alikely.cli._running import run

    return run(options, verbs.choices[given[at]])


def _parser() -> tuple[Parser, Any]:
    """The parser, and its verbs without their options."""
    parser = Parser(
        prog="alikely", description="How alike two systems' errors are, and how sure we can be."
    )
    parser.add_argument("--version", action=_Version, help="print the versions that matter")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    for name, text in VERBS.items():
        verbs.add_parser(name, help=text)
    return parser, verbs


def _add(verbs: Any, name: str) -> Parser:
    """Give a verb its options."""
    module = importlib.import_module(f"alikely.cli.{name}")
    parser: Parser = verbs.choices[name]
    parser.description = module.DESCRIPTION
    module.add_options(parser)
    parser.set_defaults(run=module.run)
    return parser


def full_parser() -> Parser:
    """The parser with all options of all verbs."""
    parser, verbs = _parser()
    for name in VERBS:
        _add(verbs, name)
    return parser
