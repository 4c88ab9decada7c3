"""`alikely completion`: a script that completes verbs and options in a shell."""

from __future__ import annotations

import argparse

from alikely.cli._options import Parser

DESCRIPTION = (
    "Print a script that completes verbs, options and their choices. Where it goes: bash "
    "~/.local/share/bash-completion/completions/alikely; zsh _alikely in a folder of $fpath; fish "
    "in ~/.config/fish/completions."
)
SHELLS = ("bash", "zsh", "fish")


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    parser.add_argument("shell", choices=SHELLS, help=", ".join(SHELLS))
    # It runs in no time and shows nothing else.
    parser.set_defaults(jobs=None, quiet=True, verbose=False)


def run(options: argparse.Namespace) -> None:
    """Print the script of a shell."""
    import shtab

    from alikely.cli import full_parser

    print(shtab.complete(full_parser(), options.shell))
