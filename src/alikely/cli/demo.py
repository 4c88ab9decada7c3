"""`alikely demo`: a simulated example, start to finish."""

from __future__ import annotations

import argparse

import alikely as al
from alikely.cli._options import Parser, add_output_options
from alikely.cli._shared import report

DESCRIPTION = "Analyse a small simulated experiment of 4 humans and 6 models."


def add_options(parser: Parser) -> None:
    """Add the options of the verb."""
    add_output_options(parser, "alikely-demo")


def run(options: argparse.Namespace) -> None:
    """Analyse the bundled example and say how to go on."""
    trials = al.load_example()
    print("A simulated experiment: 4 humans and 6 models name 480 images in 3 conditions.\n")
    result = al.error_consistency(
        trials, pairs="human-model", ci_prob=options.ci_prob, rng=options.seed
    )
    report(result, options.out, options.ci_prob, trials)
    print("\nYour own data: alikely compare FILE --pairs human-model --out DIR")
