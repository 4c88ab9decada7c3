"""Messages of the library in words of the command line."""

from __future__ import annotations

import re
from collections.abc import Collection

# Parameter -> option, where they are not spelt alike (`ci_prob`, `--ci-prob`).
OPTIONS = {
    "trials": "FILE",
    "path": "FILE",
    "tables": "--margins",
    "coefficient": "--metric",
    "accuracy_a": "--accuracy",
    "accuracy_b": "--accuracy",
    "accuracy_human": "--accuracy",
    "ec_a": "--ec",
    "ec_b": "--ec",
    "ec_models": "--ec",
    "rng": "--seed",
    "n_workers": "--jobs",
}
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
    """Options in place of keywords, and no calls but those that name a subcommand."""

    def bare(found: re.Match[str]) -> str:
        option = OPTIONS.get(found[1], "--" + found[1].replace("_", "-"))
        return option if option in options else found[0]

    def given(found: re.Match[str]) -> str:
        keyword, value = found[1], _value(found[2])
        # A role with a value may also be one of the data, unless it is an example.
        example = not value or found.string[: found.start()].endswith("such as ")
        if keyword in roles and "--columns" in options and example:
            return f"--columns {keyword}={value or 'NAME'}"
        if keyword == "pairs" and found[2].startswith("["):
            return "--pair A B" if "--pair" in options else found[0]
        option = bare(found)
        if option == found[0]:
            return option
        if found[2] == "[]":
            return f"{option}="
        if value == "False":
            return f"--no-{option[2:]}"
        return option if value in ("", "True") else f"{option} {value.replace('None', 'none')}"

    def rows(found: re.Match[str]) -> str:
        column = f" by column {found[1]}" if found[1] else ""
        return f"{': ' * found[0].startswith(':')}by choosing rows of FILE{column}"

    def python(text: str) -> str:
        name = text.partition("(")[0].replace("alikely.", "al.")
        return COMMANDS.get(name, text if "in Python" in message else f"{text} in Python")

    if "--no-bayes-factor" in options or "--bayes-factor" in options:
        message = message.replace("bayes_factor=False", "--no-bayes-factor")
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
    if text in ("...", "[...]"):
        return "VALUE" if text == "..." else "NAME,..."
    return ",".join(name.strip().strip("'\"") for name in text.strip("[]").split(","))
