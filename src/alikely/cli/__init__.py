"""The `alikely` command: subcommands are imported when they are called."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from alikely._base.names import nearest
from alikely._base.packages import versions

__all__ = ["main"]

# What `alikely --help` says; a subcommand's own help comes from the functions that it calls.
SUBCOMMANDS = {
    "demo": "Analyze a simulated experiment.",
    "describe": "Describe a file of trials and what can be computed from it.",
    "compare": "Compare error patterns of pairs of observers.",
    "matrix": "Compare all pairs of many observers and find families.",
    "margins": "Compare decision margins of models with responses of humans.",
    "benchmark": "Score models against humans, with ranks and noise ceilings.",
    "spectrum": "Measure the difficulty of conditions and alignment within them.",
    "report": "Write one self-contained HTML page of results.",
    "plan": "Plan the number of trials, observers or images.",
    "choose": "Choose images for humans, based on the responses of models.",
    "completion": "Print a script that completes subcommands and options in a shell.",
}
REFUSED, STOPPED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    first = given[0] if given else ""
    # What these print needs no import that takes time.
    if first in ("--help", "-h"):
        print(_overview())
        return 0
    if first == "--version":
        for name, version in versions().items():
            print(f"{name} {'is ' * (version == 'not installed')}{version}")
        return 0
    if first not in SUBCOMMANDS:
        print(f"alikely: {_unknown(first)}; see alikely --help", file=sys.stderr)
        return REFUSED
    try:
        from alikely.cli._app import run

        return run(given)
    except KeyboardInterrupt:  # before a subcommand has begun
        print("alikely: stopped by Ctrl-C; nothing was written", file=sys.stderr)
        return STOPPED


def _overview() -> str:
    lines = [f"  {name:<12}{text}" for name, text in SUBCOMMANDS.items()]
    return "\n".join(
        [
            "Usage: alikely SUBCOMMAND ...",
            "",
            "Compare errors of human and model observers, with intervals.",
            "",
            *lines,
            "",
            "alikely SUBCOMMAND --help lists options; alikely --version lists versions.",
        ]
    )


def _unknown(first: str) -> str:
    if not first:
        return f"expected a subcommand: {', '.join(SUBCOMMANDS)}"
    if first.startswith("-"):
        return f"there is no option {first}{nearest(first, ('--help', '--version'))}"
    close = nearest(first, SUBCOMMANDS)
    return f"there is no subcommand {first!r}{close}; subcommands are {', '.join(SUBCOMMANDS)}"
