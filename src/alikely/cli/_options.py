"""The parser, and options that several verbs share: nothing here takes long to import."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from alikely._base.names import nearest


class Parser(argparse.ArgumentParser):
    """Bad options end in one line, as bad data do."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"alikely: {message}; see {self.prog} --help\n")

    def names(self) -> list[str]:
        """All options, as ``--seed``."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def verb(self, name: str) -> Parser:
        """The parser of a verb."""
        return next(
            action.choices[name]
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
        )

    def check_names(self, arguments: Sequence[str]) -> None:
        """Refuse an option that there is not, before what is missing beside it."""
        for argument in arguments:
            if argument == "--":
                return
            name = argument.partition("=")[0]
            if name.startswith("--") and not any(one.startswith(name) for one in self.names()):
                self.error(f"there is no option {name}{nearest(name, self.names())}")


type Verbs = argparse._SubParsersAction[Parser]


def add_inference_options(
    parser: Parser, resamples: int | None = 10_000, ci_kind: bool = True
) -> None:
    """Options of the verbs that read trials and infer from them."""
    add_no_response(parser)
    parser.add_argument(
        "--resamples",
        type=int,
        default=resamples,
        metavar="N",
        help=f"bootstrap replicates (default {resamples or '10000; none for cles'})",
    )
    parser.add_argument(
        "--draws",
        type=int,
        default=4_000,
        metavar="N",
        help="posterior draws (default 4000)",
    )
    if ci_kind:
        parser.add_argument(
            "--ci-kind",
            default="eti",
            choices=["eti", "hdi"],
            help="equal-tailed intervals (default), or of highest density",
        )


def add_intervals(parser: Parser) -> None:
    """Whether tables show one interval or all."""
    parser.add_argument(
        "--intervals",
        choices=["all"],
        help="all: the intervals of every valid method, and every column of the table "
        "(default: the recommended interval)",
    )


def add_no_response(parser: Parser) -> None:
    """What becomes of a trial without an answer."""
    parser.add_argument(
        "--no-response",
        default="error",
        choices=["error", "drop"],
        help="count a missing response as an error (default), or drop the trial from the pair",
    )


def add_kinds(parser: Parser) -> None:
    """Kinds of observers on both sides of a comparison."""
    parser.add_argument(
        "--models", default="model", metavar="KIND", help="kind of what is scored (default model)"
    )
    parser.add_argument(
        "--humans",
        default="human",
        metavar="KIND",
        help="kind of what it is scored against (default human)",
    )


def add_prior(parser: Parser) -> None:
    """Prior on the cells of a pair."""
    parser.add_argument(
        "--prior",
        metavar="NAME=A:B,...",
        help="prior on the cells of a pair: Beta parameters, such as p_a=1:1,u=.5:.5,v=.5:.5 (the "
        "default), or four Dirichlet parameters of n11,n10,n01,n00, such as 1,1,1,1",
    )


def prior_of(text: str | None) -> Any:
    """Beta parameters by name, of ``name=a:b,...``; or four numbers."""
    if text is None:
        return None
    found: dict[str, tuple[float, ...]] = {}
    for entry in text.split(","):
        name, equal, numbers = entry.rpartition("=")
        try:
            values = tuple(map(float, numbers.split(":")))
        except ValueError:
            values = ()
        if len(values) != 1 + len(equal):
            raise ValueError(
                f"--prior expects NAME=A:B,..., such as u=.5:.5,v=.5:.5, got {entry!r}"
            )
        found[name.strip() or str(len(found))] = values
    alone = [value for (value, *rest) in found.values() if not rest]
    return alone if len(alone) == len(found) else found


def add_pairs(parser: Parser, text: str, default: str = "all") -> None:
    """Who is compared: kinds, or observers by name."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--pairs", default=default, metavar="KIND-KIND", help=text)
    group.add_argument(
        "--pair",
        nargs=2,
        action="append",
        metavar=("A", "B"),
        help="these two observers (as often as you like)",
    )


def pairs_of(options: argparse.Namespace) -> str | list[tuple[str, str]]:
    """Kinds, or observers by name, as doors take them."""
    return options.pairs if options.pair is None else [(a, b) for a, b in options.pair]


def add_recurring(parser: Parser, of: str = "") -> None:
    """Who and what is the same in several data sets; `of` says what for."""
    parser.add_argument(
        "--people",
        choices=["label", "dataset"],
        help=f"{of}a label of a human in several data sets is the same person (label), or another "
        "in each (dataset); to be said where labels recur",
    )
    parser.add_argument(
        "--items",
        default="dataset",
        choices=["dataset", "label", "condition"],
        help=f"{of}a label of an item is one image within a data set (default), everywhere "
        "(label), or within a condition only",
    )


def add_cluster(parser: Parser) -> None:
    """Trials that err together."""
    parser.add_argument(
        "--cluster",
        metavar="NAME",
        help="trials that share it err together and are one unit; item by default, where items "
        "come back; trial takes all answers for independent",
    )


def add_output_options(parser: Parser, folder: str | None = None) -> None:
    """Options of every verb; `folder` is where files go without ``--out``."""
    parser.add_argument(
        "--out",
        type=Path,
        default=folder,
        metavar="DIR",
        help="folder for the table (csv), all draws (netCDF) and the plot (PNG)"
        + (f" (default {folder})" if folder else "; nothing is written without it"),
    )
    add_while_running(parser)


def add_while_running(parser: Parser) -> None:
    """Probability of intervals, seed, cores and what is told."""
    parser.add_argument(
        "--ci-prob",
        type=float,
        default=0.95,
        metavar="P",
        help="interval probability (default 0.95)",
    )
    add_running_options(parser)


def add_running_options(parser: Parser) -> None:
    """Options of every verb, whatever it writes."""
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="N",
        help="seed; the same gives the same result (default 1)",
    )
    group = parser.add_argument_group("while it runs")
    group.add_argument(
        "--debug", action="store_true", help="show where an error came from, for a report of it"
    )
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="cores to work on (default: all); results are the same on any number",
    )
    loud = group.add_mutually_exclusive_group()
    loud.add_argument(
        "--quiet", action="store_true", help="no progress; warnings and errors are still told"
    )
    loud.add_argument(
        "--verbose", action="store_true", help="tell what is read and done, and how long it takes"
    )
