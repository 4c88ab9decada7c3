"""Options of a subcommand, from signatures and docstrings of the functions that it calls."""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import re
import sys
import typing
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import pandas as pd
from cyclopts import App, CycloptsError, Group, Parameter

import alikely as al
from alikely._base.files import write_file
from alikely._base.names import listed, nearest, visible
from alikely._base.settings import DEFAULTS
from alikely._base.steps import LOG, step
from alikely.cli import REFUSED, SUBCOMMANDS, _output
from alikely.cli._running import worded
from alikely.data.columns import ROLES
from alikely.metrics.metric import find_metric


@dataclass
class Reading:
    """How FILE is read.

    Parameters
    ----------
    columns : str
        Column names as ROLE=NAME,..., such as observer=subject. Roles are dataset, condition,
        observer, kind, item, truth, response, correct, ...
    classes : str
        All possible responses NAME,..., or seen for all that occur (default: the true classes).
    na_values : str
        Values TEXT,... that denote a missing response, in addition to an empty field (default: NA,
        NaN, nan, null, NULL), such as --na-values=- for a dash.
    truth : str
        Table of true classes with an item column, if FILE has no true classes.
    wide : bool
        FILE has one row per trial and one column per observer. With --wide rows, it has one row per
        observer and one column per item, as in surveys.
    wide_rows : bool
        Same as --wide rows.
    observers : str
        With --wide, the columns NAME,... of observers (default: all columns without a role).
    kind : list
        Kind of observers as KIND=NAME,..., such as human=anna,bert. Repeat this for each kind.
    format : str
        Format of FILE: table, or the name of an evaluation tool (default auto).
    pattern : str
        Pattern of file names that contain columns, such as
        '{dataset}/{observer}_{session:d}.csv'.
    sep : str
        Separator of text files (default: detected).
    encoding : str
        Encoding of text files (default: detected).
    score : str
        Score to read from a log that has several, such as acc.
    filter : str
        Filter to read from a log that has several.
    runs : str
        If a task has several runs, read the newest (default), or all as separate observers.
    unmatched : str
        What to do with observers whose items mostly match no other observer's items: raise an error
        (error, the default), or accept them (accept).
    n_options : str
        Number of options of each question, or classes to use the number of classes.
    """

    columns: str | None = None
    classes: str | None = None
    na_values: str | None = None
    truth: str | None = None
    wide: bool = False
    wide_rows: bool = False
    observers: str | None = None
    kind: list[str] = field(default_factory=list)
    format: str = "auto"
    pattern: str | None = None
    sep: str | None = None
    encoding: str | None = None
    score: str | None = None
    filter: str | None = None
    runs: Literal["newest", "all"] = "newest"
    unmatched: Literal["error", "accept"] = "error"
    n_options: str | None = None

    def read(self, path: Any, **more: Any) -> al.Trials:
        """Read the trials of one or several files."""
        named: dict[str, Any] = roles_of(self.columns, "--columns", ROLES)
        if self.classes:
            named["classes"] = "seen" if self.classes == "seen" else self.classes.split(",")
        if self.observers and not self.wide:
            raise ValueError("--observers needs --wide, because it names columns of a wide table")
        if self.kind and "kind" in named:
            raise ValueError("give --kind or --columns kind=NAME, not both")
        if self.kind:
            named["kind"] = _kinds(self.kind)
        if self.truth is not None and "truth" in named:
            raise ValueError("give --truth or --columns truth=NAME, not both")
        if self.truth is not None:
            named["truth"] = Path(self.truth)
        way: bool | Literal["rows"] = "rows" if self.wide_rows else self.wide
        files = [str(one) for one in path] if isinstance(path, list) else [str(path)]
        several = f"{len(files)} files, {files[0]} to {files[-1]}"
        with step(f"reading {files[0] if len(files) == 1 else several}"):
            trials = al.Trials.read(
                path,
                na_values=None if self.na_values is None else self.na_values.split(","),
                sep="\t" if self.sep in ("tab", "\\t") else self.sep,
                wide=self.observers.split(",") if self.observers else way,
                **{name: getattr(self, name) for name in SAME},
                **named,
                **more,
            )
        if (n := self.n_options) is not None:
            if n != "classes" and not (n.isascii() and n.isdecimal()):
                raise ValueError(f"--n-options must be a whole number or classes, got {n!r}")
            trials = trials.with_options(n if n == "classes" else int(n))
        LOG.info("%s", " ".join(str(trials).split()))
        return trials


# Options that `alikely.Trials.read` has under the same names.
SAME = ("format", "pattern", "encoding", "score", "filter", "runs", "unmatched")


def roles_of(text: str | None, option: str, roles: Collection[str]) -> dict[str, str]:
    """Names of columns by role, of ``role=name,role=name``."""
    found: dict[str, str] = {}
    for entry in text.split(",") if text else ():
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


def _kinds(given: list[str]) -> dict[str, str]:
    """Kind of each observer, of ``kind=name,name`` for each kind."""
    found: dict[str, str] = {}
    for text in given:
        kind, equal, names = text.partition("=")
        if not (kind and equal and names):
            raise ValueError(f"--kind expects KIND=NAME,..., such as human=anna,bert, got {text!r}")
        for name in names.split(","):
            if name in found:
                raise ValueError(f"--kind gives {name!r} twice, as {found[name]} and {kind}")
            found[name] = kind
    return found


@dataclass
class Running:
    """How a subcommand runs.

    Parameters
    ----------
    seed : int
        Seed of the random number generator (default 1).
    jobs : int
        Number of cores (default: all). Results do not depend on it.
    quiet : bool
        Hide progress; warnings and errors are still shown.
    verbose : bool
        Print each step and its duration.
    debug : bool
        Show where an error occurred.
    """

    seed: int = 1
    jobs: int | None = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False


def prior_of(text: str) -> Any:
    """Beta parameters by name, of ``name=a:b,...``; or four numbers."""
    found: dict[str, tuple[float, ...]] = {}
    for entry in text.split(","):
        name, equal, numbers = entry.rpartition("=")
        try:
            values = tuple(map(float, numbers.split(":")))
        except ValueError:
            values = ()
        if len(values) != 1 + len(equal):
            raise ValueError(
                f"--prior expects NAME=A:B,..., such as u=0.5:0.5,v=0.5:0.5, got {entry!r}"
            )
        found[name.strip() or str(len(found))] = values
    alone = [value for (value, *rest) in found.values() if not rest]
    return alone if len(alone) == len(found) else found


class Text(NamedTuple):
    """An option that needs conversion: its type, help and converter."""

    type: Any
    help: str
    read: Callable[[Any], Any] = lambda value: value


TEXTS = {
    "pairs": Text(str, "All, or two kinds such as human-model (default all)"),
    "pair": Text(list[tuple[str, str]], "Names of two observers; can be repeated"),
    "metric": Text(
        str,
        "Name of a metric (default ec, error consistency): ma (misclassification agreement), "
        "cles (class-level error similarity), copying, normalized, ...; a custom metric as "
        "module:ATTRIBUTE",
        find_metric,
    ),
    "prior": Text(
        str,
        "Prior on the four cells of a pair: Beta parameters NAME=A:B,... such as "
        "p_a=1:1,u=0.5:0.5,v=0.5:0.5 (the default), or four Dirichlet parameters such as 1,1,1,1",
        prior_of,
    ),
    "cluster": Text(str, "Column of FILE that assigns items to clusters of dependent responses, "
                    "such as template"),
    "paired": Text(bool, "Whether the systems in --confusions responded to the same items"),
    "base": Text(Literal["2", "e", "10"], "Base of the logarithm (default 2)",
                 lambda text: math.e if text == "e" else float(text)),
    "intervals": Text(Literal["all"], "Show the intervals of every method and all columns "
                      "(default: the recommended interval)"),
    "n_null": Text(int, "Data sets, simulated or permuted, for tests of pairs; 0 for none"),
    "models": Text(str, "Kind of the observers to score"),
    "humans": Text(str, "Kind of the observers that models are compared with"),
    "level": Text(str, "Data set to show, or overall for the mean over data sets"),
    "max_observers": Text(int, "Maximum number of observers"),
    "max_repeats": Text(int, "Maximum number of presentations of an image to an observer"),
    "ci_prob": Text(float, "Probability of the intervals"),
    "ci_kind": Text(Literal["eti", "hdi"], "Equal-tailed or highest-density intervals"),
    "by": Text(Literal["condition", "dataset", "none"], "Groups of trials to analyze separately "
               "(default condition)", lambda text: None if text == "none" else text),
}  # fmt: skip
SEVERAL = ("target",)
# Parameters that stay in Python: data, other results, objects, and what the program sets itself.
IN_PYTHON = {
    "self", "trials", "path", "rng", "tests", "n_starts", "n_datasets", "n_coverage", "spectrum",
    "alignment", "labels", "delta", "components", "matrix", "tables", "kind", "shown", "columns",
    "as_", "sort",
}  # fmt: skip
READ, RUN = ([one.name for one in fields(group)] for group in (Reading, Running))
OPTIONS = Group("Options", sort_key=1)
GROUPS = {Reading: Group("Reading FILE", sort_key=2), Running: Group("Running", sort_key=3)}
NEVER = inspect.Parameter.empty


class Options:
    """Options given to a subcommand, with the defaults of Python for others."""

    def __init__(
        self, file: list[str], given: Mapping[str, Any], defaults: Mapping[str, Any]
    ) -> None:
        self.reading = Reading(**{n: v for n, v in given.items() if n in READ})
        self.running = Running(**{n: v for n, v in given.items() if n in RUN})
        self.file = file
        self.out: Path | None = given.get("out")
        self.one_file = False
        own = {*READ, *RUN, "out"}
        self.given = {n: v for n, v in given.items() if n not in own}
        self.notes: list[str] = []
        self._written: list[str] = []
        self._defaults = defaults

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._defaults:
            raise AttributeError(name)
        return self.given.get(name, self._defaults[name])

    @property
    def seed(self) -> int:
        """Seed of the random numbers."""
        return self.running.seed

    def pick(self, *names: str) -> dict[str, Any]:
        """Convert options that were given to Python arguments."""
        found = {
            name: TEXTS[name].read(value) if name in TEXTS else value
            for name in names
            if (value := self.given.get(name)) is not None
        }
        if "pairs" in names and (pair := self.given.get("pair")):
            if "pairs" in found:
                raise ValueError("give --pairs or --pair, not both")
            found["pairs"] = pair
        return found

    def of(self, function: Callable[..., Any], **more: Any) -> dict[str, Any]:
        """Arguments of a function from options that were given, with the seed."""
        names = inspect.signature(function).parameters
        seed = {"rng": self.seed} if "rng" in names else {}
        return self.pick(*(name for name in names if name not in more)) | seed | more

    def trials(self, path: Any = None, **more: Any) -> Any:
        """The trials of FILE."""
        cluster = self.given.get("cluster")
        if cluster not in (None, "item", "trial"):
            more["item_columns"] = (cluster,)
        trials = self.reading.read(self.file if path is None else path, **more)
        self.notes = trials.notes  # printed below whatever the subcommand prints
        return trials

    def write(self, name: str, write: Callable[[Path], Any]) -> None:
        """Write a file into the folder of --out, if there is one."""
        if self.out is not None:
            with step(f"writing {self.out / name}"):
                write(self.out / name)
            self._written.append(name)

    def table(self, name: str, frame: pd.DataFrame, index: bool = False) -> None:
        """Write a table."""
        self.write(f"{name}.csv", lambda path: write_file(path, frame.to_csv(index=index)))

    def plot(self, name: str, draw: Callable[[], Any]) -> None:
        """Write a plot."""
        self.write(f"{name}.png", lambda path: _output.save_plot(draw, path))

    def close(self) -> None:
        """Print which files were written."""
        if self.one_file:
            return
        if self.out is None:
            print("\nNothing was written. Use --out DIR to write tables, draws and plots.")
        else:
            print(f"\nWritten to {self.out}: {', '.join(self._written)}")


def documented(function: Callable[..., Any], whole: bool = False) -> Iterator[tuple[str, str, str]]:
    """Parse name, type and text of the parameters of a numpydoc docstring."""
    text = inspect.getdoc(function) or ""
    part = re.search(r"Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-zA-Z ]+\n-+\n|\Z)", text, re.DOTALL)
    entry = r"^(\w[\w, ]*?)(?: : (.*(?:\n\w.*)?))?\n((?:    .*(?:\n|\Z)|\n)+)"
    for names, kind, body in re.findall(entry, part[1] + "\n" if part else "", re.MULTILINE):
        first = " ".join(body.split())
        if not whole:
            first = re.split(r"(?:\.|;|:)(?: |$)", first)[0]
        first = re.sub(r"(?<!\.)\.$", "", first)
        first = re.sub(r" \[\w+\]_| \(`alikely\.[\w.]*`\)|, (?:see|as in) `[^`]*`|``?", "", first)
        first = re.sub(r"\balikely\.(?:\w+\.)*(?=\w)", "", first)
        for name in names.split(", "):
            yield name, kind, first[:1].upper() + first[1:]


def _type(parameter: inspect.Parameter, kind: str) -> Any:
    """What the argument of an option is."""
    annotation = str(parameter.annotation)
    for known in (bool, int, float):
        if re.match(rf"{known.__name__}\b", annotation):
            return known
    where = annotation if "Literal" in annotation else kind
    choices = re.findall(r"[\"']([\w-]+)[\"']", where)
    closed = re.search(r"Literal|\{", where) and "pymc.Model" not in kind
    return Literal[tuple(choices)] if closed and choices else str


def _options(
    body: Callable[..., None],
    calls: tuple[Callable[..., Any], ...],
    omit: tuple[str, ...],
    defaults: Mapping[str, Any],
    session: tuple[str, ...],
) -> dict[str, tuple[Any, str, Any]]:
    """Type, help and default of each option of a subcommand and of its functions."""
    hints = typing.get_type_hints(body)
    found: dict[str, tuple[Any, str, Any]] = {}
    texts: dict[str, tuple[str, str]] = {}
    # Other functions say "As in error_consistency" of the parameters that they share with it.
    functions: tuple[Callable[..., Any], ...] = (body, *calls, al.error_consistency)
    for function in functions:
        for name, kind, text in documented(function, function is body):
            if not re.match(r"(?:As in|As from|See) ", text):
                texts.setdefault(name, (kind, text))
    for function in (body, *calls):
        for name, one in inspect.signature(function).parameters.items():
            variable = one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
            left = () if function is body else (*IN_PYTHON, *omit)
            if variable or name == "o" or name in found or name in left:
                continue
            default = defaults.get(name, one.default)
            if default is None and name in DEFAULTS and name != "n_resamples":
                default = DEFAULTS[name]
            kind, text = texts.get(name, ("", ""))
            if function is body:
                type_ = hints[name]
                if type(None) in typing.get_args(type_):
                    type_ = typing.get_args(type_)[0]
            elif name in TEXTS:
                type_, text = TEXTS[name][:2]
            else:
                type_ = _type(one, kind)
            shown = default not in (None, False, NEVER, ()) and "(default" not in text
            text += f" (default {default})" if shown and type_ is not bool else ""
            found[name] = (type_, text, default)
            if name == "pairs":
                found["pair"] = (*TEXTS["pair"][:2], None)
    for name in session:
        default = defaults.get(name, DEFAULTS[name])
        found[name] = (TEXTS[name].type, f"{TEXTS[name].help} (default {default})", default)
    return found


def _signature(
    options: Mapping[str, tuple[Any, str, Any]], file: Literal["", "some", "any"], out: str
) -> inspect.Signature:
    """Signature for cyclopts: FILE, options, and those of reading and running."""
    make = inspect.Parameter
    found = []
    if file:
        what = Parameter(help="Tables, folders or logs of evaluation tools", name="FILE")
        files = make("file", make.POSITIONAL_ONLY, annotation=Annotated[list[str], what])
        found.append(files.replace(default=[]) if file == "any" else files)
    every = [(name, *one, OPTIONS) for name, one in options.items()]
    if out:
        every.append(("out", Path, out, None, OPTIONS))
    for kind in (Reading, Running) if file or "pilot" in options else (Running,):
        texts = {name: text for name, _, text in documented(kind, True)}
        hints = typing.get_type_hints(kind)
        every += [(n, hints[n], text, False, GROUPS[kind]) for n, text in texts.items()]
    for name, type_, text, default, group in every:
        dashed = name.replace("_", "-")
        negative = f"--no-{dashed}" if type_ is bool and default is not False else ()
        inner = typing.get_args(type_)[0] if typing.get_origin(type_) is list else None
        own = Parameter(
            help=text,
            metavar="A B" if inner and typing.get_origin(inner) else None,
            negative=negative,
            converter=_integers if int in (type_, inner) or type_ == int | None else None,
            # One option takes several words, unless each of its values is of several.
            consume_multiple=True if (inner and inner is not str and not typing.get_origin(inner))
            or name in SEVERAL else None,
            group=group,
            # The last one counts, as with other commands.
            allow_repeating=None if inner else True,
        )  # fmt: skip
        one = make(name, make.KEYWORD_ONLY, annotation=Annotated[type_, own])
        found.append(one if default is NEVER else one.replace(default=None))
    return inspect.Signature(found)


# Subcommands that share a file with another.
MODULES = {"demo": "compare", "choose": "plan"}
FOLDER = "Folder for tables (csv), draws (netCDF) and plots (PNG); default: write nothing"


def subcommand(
    *calls: Callable[..., Any],
    omit: tuple[str, ...] = (),
    defaults: Mapping[str, Any] = {},
    session: tuple[str, ...] = (),
    file: Literal["", "some", "any"] = "some",
    out: str = FOLDER,
    where: str | None = None,
    one_file: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., int]]:
    """Make a subcommand from a function of `Options` and keywords; `session`: `alikely.options`."""

    def made(body: Callable[..., None]) -> Callable[..., int]:
        options = _options(body, calls, omit, defaults, session)
        usual = {name: default for name, (_, _, default) in options.items()}
        own = [name for name in inspect.signature(body).parameters if name != "o"]

        def entry(*files: list[str], **given: Any) -> int:
            from alikely.cli._running import execute

            for name, value in defaults.items():
                given.setdefault(name, value)
            asked = Options(files[0] if files else [], given, usual)
            asked.one_file = one_file
            if asked.out is None and where is not None:
                asked.out = Path(where)
            names = [f"--{name.replace('_', '-')}" for name in (*options, *READ, *RUN, "out")]
            mine = {name: given[name] for name in own if given.get(name) is not None}

            def run() -> None:
                with al.options(**asked.pick("ci_kind", *session)):
                    body(asked, **mine)

            return execute(run, asked, ["FILE", *names])

        entry.__name__, entry.__doc__ = body.__name__, _summary(body)
        entry.__signature__ = _signature(options, file, out)  # type: ignore[attr-defined]
        return entry

    return made


def _integers(type_: Any, tokens: Any) -> Any:
    """Convert to whole numbers; cyclopts rounds 10.5."""
    try:
        values = [int(token.value) for token in tokens]
    except ValueError:
        got = ", ".join(token.value for token in tokens)
        raise ValueError(f"expected a whole number, got {got!r}") from None
    return values if typing.get_origin(type_) is list else values[0]


def _summary(body: Callable[..., None]) -> str:
    """Paragraphs of a docstring before its sections, each on one line."""
    text = re.split(r"\n\nParameters\n", inspect.getdoc(body) or "")[0]
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def application() -> App:
    """Make the application; subcommands are imported when they are called."""
    app = App(name="alikely", help_format="plaintext", version_flags=(),
              result_action="return_value", suppress_keyboard_interrupt=False,
              default_parameter=Parameter(show_default=False, negative_iterable=()))  # fmt: skip
    for name in SUBCOMMANDS:
        if name != "completion":
            app.command(f"alikely.cli.{MODULES.get(name, name)}:{name}", name=name)

    @app.command
    def completion(shell: Literal["bash", "zsh", "fish"]) -> None:
        """Print a script that completes subcommands and options in a shell.

        Write it to ~/.local/share/bash-completion/completions/alikely (bash), _alikely in $fpath
        (zsh), or a file in ~/.config/fish/completions (fish).
        """
        print(app.generate_completion(prog_name="alikely", shell=shell))

    return app


def _wide_rows(arguments: list[str]) -> list[str]:
    """``--wide rows`` as one word: a flag takes no value in cyclopts."""
    found: list[str] = []
    for one in arguments:
        if one == "rows" and found[-1:] == ["--wide"]:
            found[-1] = "--wide-rows"
        else:
            found.append("--wide-rows" if one == "--wide=rows" else one)
    return found


def run(arguments: list[str]) -> int:
    """Parse and run; print one line on standard error if parsing fails."""
    with contextlib.suppress(AttributeError):  # only a file has a way with what it cannot encode
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    arguments = _wide_rows(arguments)
    try:
        code = application()(arguments, exit_on_error=False, print_error=False) or 0
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # nobody reads on, as with ``| head``
        # Or Python would complain once more when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except CycloptsError as error:
        error.verbose = False
        said = visible(" ".join(str(error).split())).rstrip(".")
        see = f"see alikely {arguments[0]} --help"
        print(f"alikely: {worded(said[:1].lower() + said[1:], ())}; {see}", file=sys.stderr)
        return REFUSED
