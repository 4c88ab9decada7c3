"""`alikely demo`: a simulated example, start to finish."""

from __future__ import annotations

import alikely as al
from alikely.cli._app import Options, subcommand
from alikely.cli._results import show_result


@subcommand(
    file="", out="Folder for tables, draws and plots (default alikely-demo)", where="alikely-demo"
)
def demo(o: Options, *, ci_prob: float = 0.95) -> None:
    """Analyze a simulated experiment of 4 humans and 6 models.

    Parameters
    ----------
    ci_prob : float
        Probability of the intervals.
    """
    trials = al.load_example()
    print("A simulated experiment: 4 humans and 6 models name 480 images in 3 conditions.\n")
    result = al.error_consistency(trials, "human-model", ci_prob=ci_prob, rng=o.seed)
    show_result(result, o.out, trials)
    print("\nYour own data: alikely compare FILE --pairs human-model --out DIR")
