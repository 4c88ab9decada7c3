"""Keywords of Python and options of the command line: one table, for reach and for wording."""

from __future__ import annotations

import re
from collections.abc import Collection

from alikely._base.names import listed, nearest

# Keyword of a front door -> option, where they are not spelt alike (`ci_prob`, `--ci-prob`).
OPTIONS = {
    "trials": "FILE",
    "path": "FILE",
    "tables": "--margins",
    "matrix": "FILE",
    "n_resamples": "--resamples",
    "n_draws": "--draws",
    "n_null": "--null-draws",
    "coefficient": "--metric",
    "n_permutations": "--permutations",
    "bayes_factor": "--no-bayes-factor",
    "folder": "--keep-sweeps",
    "m": "--alternatives",
    "k": "--regimes",
    "metrics": "--metric",
    "accuracy_a": "--accuracy",
    "accuracy_b": "--accuracy",
    "accuracy_human": "--accuracy",
    "ec_a": "--ec",
    "ec_b": "--ec",
    "ec_models": "--ec",
    "n_trials": "--trials",
    "cost_per_trial": "--cost-trial",
    "cost_per_observer": "--cost-observer",
    "n": "--images",
    "target": "--between",
    "n_people": "--lists",
    "rng": "--seed",
    "progressbar": "--quiet",
    "n_workers": "--jobs",
}
# Keywords that are left to Python, and why.
IN_PYTHON = {
    "priors": "distributions of PyMC",
    "levels": "a group of each condition, by data set",
    "log_likelihood": "an array by trial, for functions of ArviZ",
    "intervals": "limits of a matrix, all of which take seconds",
    "tests": "p-values of a matrix, likewise",
    "n_starts": "starting points of a mixture, of which twenty agree",
    "covariates": "tables of their own, of conditions and of people",
    "n_datasets": "data sets that a plan is simulated with",
    "n_coverage": "those that its intervals are judged with",
}


def option_of(keyword: str) -> str:
    """The option that stands for a keyword."""
    return OPTIONS.get(keyword, "--" + keyword.replace("_", "-"))


def named_columns(text: str, option: str, roles: Collection[str]) -> dict[str, str]:
    """Names of columns by role, of ``role=name,role=name``."""
    found: dict[str, str] = {}
    for entry in text.split(","):
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


def groups_of(text: str | None) -> tuple[str, ...] | str:
    """Groups that a fit keeps, of ``--include``."""
    groups = tuple(text.split(",")) if text else ()
    return "all" if groups == ("all",) else groups


# Functions of Python that a subcommand calls.
COMMANDS = {
    "al.benchmark_scores": "alikely benchmark",
    "al.compare": "alikely compare",
    "al.decision_margin_consistency": "alikely margins",
    "al.error_consistency": "alikely compare",
    "al.matrix": "alikely matrix",
}
# A choice of trials with the words before it, options of a question, and other Python.
_SELECT = re.compile(r"(?:with |such as |: )?\btrials\.select\(([a-z]*)[^()]*\)")
_WITH_OPTIONS = re.compile(r"\b(?:trials\.)?with_options\('?(\w+)'?\)")
_PYTHON = re.compile(
    r"((?<![-\w.'/])(?:(?:al|alikely)\.[a-z][\w.]*\w(?:\((?:[^()]|\([^()]*\))*\))?"
    r"|Trials\.(?:from|read|with)\w*|(?:trials|alignment|profiles)\.\w+\([^()]*\)"
    r"|\.?\w+\([^()]*=[^()]*\)))"
)
# A keyword with its value, such as classes=[...], people='label', wide=True, sep= or n_draws=0.
_GIVEN = re.compile(
    r"(?<![-\w.{])([a-z]\w*)=(\[\.\.\.\]|\[\(a, b\), \.\.\.\]|\[[^][()]*\]|'[^']*'|\"[^\"]*\""
    r"|True|False|None|\.\.\.|-?\d[\w.]*|(?=[\s);,.]|$))"
)
# A name that can only be a keyword, and one that a message begins with.
_BARE = re.compile(r"(?<![-\w./'\"])([a-z]+(?:_[a-z]+)+)(?![\w=('\"])")
_FIRST = re.compile(r"^([a-z]\w*)(?= (?:must|is|needs|goes|has) )")


def worded(message: str, options: Collection[str], roles: Collection[str] = ()) -> str:
    """A message of the library in words of the command line."""

    def given(found: re.Match[str]) -> str:
        keyword, value = found[1], _value(found[2])
        # A role with a value may also be one of the data, unless it is an example.
        example = not value or found.string[: found.start()].endswith("such as ")
        if keyword in roles and "--columns" in options and example:
            return f"--columns {keyword}={value or 'NAME'}"
        option = option_of(keyword)
        if keyword == "pairs" and found[2].startswith("["):
            return "--pair A B" if "--pair" in options else found[0]
        if option not in options:
            return found[0]
        if found[2] == "[]":
            return f"{option}="
        if value == "False":
            return f"no {option}"
        return option if value in ("", "True") else f"{option} {value.replace('None', 'none')}"

    def bare(found: re.Match[str]) -> str:
        option = option_of(found[1])
        return option if option in options else found[0]

    def rows(found: re.Match[str]) -> str:
        column = f" by column {found[1]}" if found[1] else ""
        return f"{': ' * found[0].startswith(':')}by choosing rows of FILE{column}"

    def python(text: str) -> str:
        name = text.partition("(")[0].replace("alikely.", "al.")
        return COMMANDS.get(name, text if "in Python" in message else f"{text} in Python")

    if (without := OPTIONS["bayes_factor"]) in options:
        message = message.replace("bayes_factor=False", without)
    message = _SELECT.sub(rows, message)
    if "--n-options" in options:
        message = _WITH_OPTIONS.sub(r"--n-options \1", message)
    # What is in a call is no option.
    parts = _PYTHON.split(message)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = python(part)
            continue
        part = _BARE.sub(bare, _GIVEN.sub(given, part))
        parts[i] = part if i else _FIRST.sub(bare, part)
    return "".join(parts).replace(" by keyword,", ",")


def _value(text: str) -> str:
    """``['a', 'b']`` as ``a,b``."""
    if text == "...":
        return "VALUE"
    if text == "[...]":
        return "NAME,..."
    names = [name.strip().strip("'\"") for name in text.strip("[]").split(",")]
    return ",".join(names)
