"""`alikely demo`: a simulated example, start to finish."""

from __future__ import annotations

import argparse

import alikely as al
from alikely.cli._shared import Parser, Verbs, add_output_options, report


def add_parser(verbs: Verbs) -> Parser:
    """Add the verb and its options."""
    parser = verbs.add_parser(
        "demo",
        help="analyse a simulated example: table, plot, files in a folder",
        description="Analyse a small simulated experiment of 4 humans and 6 models.",
    )
    add_output_options(parser, "alikely-demo")
    return parser


def run(options: argparse.Namespace) -> None:
    """Analyse the bundled example and say how to go on."""
    trials = al.load_example()
    print("A simulated experiment: 4 humans and 6 models name 480 images in 3 conditions.\n")
    result = al.error_consistency(
        trials, pairs="human-model", ci_prob=options.ci_prob, rng=options.seed
    )
    report(result, options.out, options.ci_prob)
    print("\nYour own data: alikely compare FILE --pairs human-model --out DIR")
