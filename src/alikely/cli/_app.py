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
from typing import Annotated, Any, Literal

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


def whole_numbers(type_: Any, tokens: Any) -> Any:
    """Convert texts to whole numbers, and reject 10.5, which cyclopts would round."""
    try:
        values = [int(token.value) for token in tokens]
    except ValueError:
        got = ", ".join(token.value for token in tokens)
        raise ValueError(f"expected a whole number, got {got!r}") from None
    return values if typing.get_origin(type_) is list else values[0]


@Parameter(group=Group("Reading FILE", sort_key=2), allow_repeating=True)
@dataclass
class Reading:
    """Options for reading FILE.

    Parameters
    ----------
    columns : str
        Names of columns as ROLE=NAME,..., such as observer=subject. Roles include dataset,
        condition, observer, kind, item, truth, response and correct.
    classes : str
        All possible responses as NAME,..., or seen for all labels that occur as a true class or a
        response (default: the true classes).
    na_values : str
        Values TEXT,... that denote a missing response, in addition to an empty field (default: NA,
        NaN, nan, null, NULL). For a dash, pass --na-values=-.
    truth : str
        Table with an item column and the true class of each item, if FILE has no true classes.
    wide : bool
        FILE has one row per trial and one column per observer.
    wide_rows : bool
        FILE has one row per observer and one column per item, as in surveys.
    observers : str
        With --wide, names of the observers' columns as NAME,... (default: all columns without a
        role).
    kind : list
        Kind of observers as KIND=NAME,..., such as human=anna,bert. Repeat this option for each
        kind.
    format : str
        Format of FILE: auto (detected), table, or the name of an evaluation tool.
    pattern : str
        Pattern for file names that contain values of columns, such as
        '{dataset}/{observer}_{session:d}.csv'.
    sep : str
        Separator of text files (default: detected).
    encoding : str
        Encoding of text files (default: detected).
    score : str
        Score to read from a log with several scores, such as acc.
    filter : str
        Filter whose results are read from a log with several filters.
    runs : str
        Which runs of a task to read: the newest complete run, or all runs as separate observers.
    unmatched : str
        Whether to raise an error (error) if most items of an observer occur for no other observer,
        or to accept such an observer (accept).
    n_options : str
        Number of response options of each question, or the word classes to use the number of
        classes.
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
        if self.observers and not self.wide:
            raise ValueError("--observers needs --wide, because it names columns of a wide table")
        more |= {name: getattr(self, name) for name in SAME}
        if self.classes:
            more["classes"] = "seen" if self.classes == "seen" else self.classes.split(",")
        if self.na_values is not None:
            more["na_values"] = self.na_values.split(",")
        own: dict[str, Any] = {"kind": _kinds(self.kind)} if self.kind else {}
        own |= {"truth": Path(self.truth)} if self.truth is not None else {}
        if both := own.keys() & named:
            raise ValueError(f"give --{min(both)} or --columns {min(both)}=NAME, not both")
        wide = self.observers.split(",") if self.observers else self.wide
        files = [str(one) for one in path] if isinstance(path, list) else [str(path)]
        several = f"{len(files)} files, {files[0]} to {files[-1]}"
        with step(f"reading {files[0] if len(files) == 1 else several}"):
            trials = al.Trials.read(
                path,
                sep="\t" if self.sep in ("tab", "\\t") else self.sep,
                wide="rows" if self.wide_rows else wide,
                **(named | own),
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
    """Parse names of columns by role, such as ``role=name,role=name``."""
    found: dict[str, str] = {}
    for entry in text.split(",") if text else ():
        role, _, name = (part.strip() for part in entry.partition("="))
        if not (role and name):
            raise ValueError(
                f"{option} expects ROLE=NAME,..., such as observer=subject, got {entry!r}"
            )
        if role not in roles:
            raise ValueError(
                f"{option} has no role {role!r}; roles are {listed(roles)}{nearest(role, roles)}"
            )
        _once(found, role, name, option)
    return found


def _once(found: dict[str, str], name: str, value: str, option: str) -> None:
    """Add a name, which may have one value."""
    if (first := found.setdefault(name, value)) != value:
        raise ValueError(f"{option} gives {name} twice, as {first!r} and {value!r}; give it once")


def _kinds(given: list[str]) -> dict[str, str]:
    """Parse the kind of each observer from texts such as ``kind=name,name``, one per kind."""
    found: dict[str, str] = {}
    for text in given:
        kind, _, names = text.partition("=")
        if not (kind and names):
            raise ValueError(f"--kind expects KIND=NAME,..., such as human=anna,bert, got {text!r}")
        for name in names.split(","):
            _once(found, name, kind, "--kind")
    return found


@Parameter(group=Group("Running", sort_key=3), allow_repeating=True)
@dataclass
class Running:
    """Options for running a subcommand.

    Parameters
    ----------
    seed : int
        Seed of the random number generator.
    jobs : int
        Number of cores (default: all). Results do not depend on the number of cores.
    quiet : bool
        Hide progress; warnings and errors are still shown.
    verbose : bool
        Print each step and its duration.
    debug : bool
        Show where an error occurred.
    """

    seed: Annotated[int, Parameter(converter=whole_numbers)] = 1
    jobs: Annotated[int | None, Parameter(converter=whole_numbers)] = None
    quiet: bool = False
    verbose: bool = False
    debug: bool = False


def prior_of(text: str) -> Any:
    """Parse Beta parameters by name, such as ``name=a:b,...``, or four numbers."""
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


METRIC = (
    "Name of a metric, such as ec (error consistency), ma (misclassification agreement), cles "
    "(class-level error similarity), copying or normalized; or module:ATTRIBUTE for a custom metric"
)
PRIOR = (
    "Prior for the four cells of the 2 x 2 table of a pair: Beta parameters NAME=A:B,..., such as "
    "p_a=1:1,u=0.5:0.5,v=0.5:0.5 (the default), or four Dirichlet parameters, such as 1,1,1,1"
)
# Types and help of options where these differ from those of Python; and how some are converted.
TEXTS: dict[str, tuple[Any, str]] = {
    "pairs": (str, "Pairs to compare: all, or two kinds of observers such as human-model"),
    "pair": (list[tuple[str, str]], "Names of two observers to compare; can be repeated"),
    "metric": (str, METRIC),
    "prior": (str, PRIOR),
    "cluster": (str, "Column of FILE that assigns items to clusters, such as template"),
    "paired": (bool, "Whether the systems in --confusions responded to the same items"),
    "n_null": (
        int,
        "Number of simulated or permuted data sets for the test of each pair; 0 disables the tests",
    ),
    "models": (str, "Kind of observer to score"),
    "humans": (str, "Kind of observer that models are compared with"),
    "max_observers": (int, "Maximum number of observers"),
    "max_repeats": (int, "Maximum number of times that an observer sees the same image"),
    "ci_prob": (float, "Probability level of the intervals, in (0, 1)"),
    "ci_kind": (Literal["eti", "hdi"], "Equal-tailed (eti) or highest-density (hdi) intervals"),
    "by": (
        Literal["condition", "dataset", "none"],
        "Groups of trials to analyze separately; none pools all trials",
    ),
}
CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "metric": find_metric,
    "prior": prior_of,
    "base": lambda text: math.e if text == "e" else float(text),
    "by": lambda text: None if text == "none" else text,
}
# Parameters that stay in Python: data, other results, objects, and what the program sets itself.
IN_PYTHON = {
    "self", "trials", "path", "rng", "tests", "n_starts", "n_datasets", "n_coverage", "spectrum",
    "alignment", "labels", "delta", "components", "matrix", "tables", "kind", "shown", "columns",
    "as_", "sort",
}  # fmt: skip
GROUPS = {"reading": Reading, "running": Running}
READ, RUN = ([one.name for one in fields(group)] for group in GROUPS.values())
OPTIONS = Group("Options", sort_key=1)
NEVER = inspect.Parameter.empty


class Options:
    """Options passed to a subcommand; other options have the defaults of Python."""

    def __init__(
        self, file: list[str], given: dict[str, Any], defaults: Mapping[str, Any], one_file: bool
    ) -> None:
        self.reading: Reading = given.pop("reading", None) or Reading()
        self.running: Running = given.pop("running", None) or Running()
        self.out: Path | None = given.pop("out", None)
        self.file, self.given, self.one_file = file, given, one_file
        self.notes: list[str] = []
        self.written: list[Path] = []
        self._defaults = defaults

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._defaults:
            raise AttributeError(name)
        return self.given.get(name, self._defaults[name])

    @property
    def seed(self) -> int:
        """Seed of the random number generator."""
        return self.running.seed

    def pick(self, *names: str) -> dict[str, Any]:
        """Return the Python arguments for the options that were passed."""
        found = {
            name: CONVERTERS[name](value) if name in CONVERTERS else value
            for name in names
            if (value := self.given.get(name)) is not None
        }
        if "pairs" in names and (pair := self.given.get("pair")):
            if "pairs" in found:
                raise ValueError("give --pairs or --pair, not both")
            found["pairs"] = pair
        return found

    def of(self, function: Callable[..., Any], **more: Any) -> dict[str, Any]:
        """Return the arguments of a function that were given as options, with the seed."""
        names = inspect.signature(function).parameters
        seed = {"rng": self.seed} if "rng" in names else {}
        return self.pick(*(name for name in names if name not in more)) | seed | more

    def trials(self, path: Any = None, **more: Any) -> Any:
        """Read the trials in FILE."""
        cluster = self.given.get("cluster")
        if cluster not in (None, "item", "trial"):
            more["item_columns"] = (cluster,)
        trials = self.reading.read(self.file if path is None else path, **more)
        self.notes = trials.notes  # printed below whatever the subcommand prints
        return trials

    def write(self, name: str, write: Callable[[Path], Any]) -> None:
        """Write a file into the folder of --out, if there is one, or next to the file of --out."""
        if self.out is not None:
            path = self.out.parent / name if self.one_file else self.out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with step(f"writing {path}"):
                write(path)
            self.written.append(path)

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
            print(f"\nWritten to {self.out}: {', '.join(path.name for path in self.written)}")


def documented(function: Callable[..., Any]) -> Iterator[tuple[str, str, str]]:
    """Name, type and first sentence of the parameters of a numpydoc docstring."""
    text = inspect.getdoc(function) or ""
    part = re.search(r"Parameters\n-+\n(.*?)(?=\n\n[A-Z][a-zA-Z ]+\n-+\n|\Z)", text, re.DOTALL)
    entry = r"^(\w[\w, ]*?)(?: : (.*(?:\n\w.*)?))?\n((?:    .*(?:\n|\Z)|\n)+)"
    for names, kind, body in re.findall(entry, part[1] + "\n" if part else "", re.MULTILINE):
        first = re.split(r"(?:\.|;|:)(?: |$)", " ".join(body.split()))[0]
        first = re.sub(r" \[\w+\]_| \(`alikely\.[\w.]*`\)|, (?:see|as in) `[^`]*`|``?", "", first)
        first = re.sub(r"\balikely\.(?:\w+\.)*(?=\w)", "", first)
        for name in names.split(", "):
            yield name, kind, first[:1].upper() + first[1:]


def _type(parameter: inspect.Parameter, kind: str) -> Any:
    """Determine the type of an option's argument."""
    annotation = str(parameter.annotation)
    for known in (bool, int, float):
        if re.match(rf"{known.__name__}\b", annotation):
            return known
    where = annotation if "Literal" in annotation else kind
    choices = re.findall(r"[\"']([\w-]+)[\"']", where)
    closed = re.search(r"Literal|\{", where) and "pymc.Model" not in kind
    return Literal[tuple(choices)] if closed and choices else str


def _option(name: str, type_: Any, default: Any, text: str | None = None) -> inspect.Parameter:
    """An option for cyclopts; without a text, the docstring has one."""
    union = typing.get_args(type_)
    plain = union[0] if type(None) in union else type_
    (inner,) = typing.get_args(plain) if typing.get_origin(plain) is list else (None,)
    pair = typing.get_origin(inner) is tuple
    told: dict[str, Any] = {} if text is None else {"help": text}
    own = Parameter(
        **told,
        group=OPTIONS,
        metavar="A B" if pair else None,
        negative=f"--no-{name.replace('_', '-')}" if plain is bool and default is not False else (),
        converter=whole_numbers if int in (plain, inner) else None,
        # One option takes several words, unless each of its values is of several.
        consume_multiple=True if inner and not pair else None,
        # The last one counts, as with other commands.
        allow_repeating=None if inner else True,
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[plain, own], default=default
    )


def _options(
    calls: tuple[Callable[..., Any], ...],
    left: set[str],
    defaults: Mapping[str, Any],
    session: tuple[str, ...],
) -> Iterator[inspect.Parameter]:
    """Options that are parameters of functions, and those of `alikely.options`."""
    texts: dict[str, tuple[str, str]] = {}
    # Other functions say "As in error_consistency" of the parameters that they share with it.
    for function in (*calls, al.error_consistency):
        for name, kind, text in documented(function):
            if not re.match(r"(?:As in|As from|See) ", text):
                texts.setdefault(name, (kind, text))
    known = [one for call in calls for one in inspect.signature(call).parameters.values()]
    known += [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in session]
    for one in known:
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or one.name in left:
            continue
        left.add(one.name)
        default = defaults.get(one.name, one.default)
        if default in (None, NEVER) and one.name in DEFAULTS and one.name != "n_resamples":
            default = DEFAULTS[one.name]
        kind, text = texts.get(one.name, ("", ""))
        type_, text = TEXTS.get(one.name) or (_type(one, kind), text)
        yield _option(one.name, type_, default, text)
        if one.name == "pairs":
            yield _option("pair", TEXTS["pair"][0], None, TEXTS["pair"][1])


# Subcommands that share a file with another.
MODULES = {
    "demo": "compare", "matrix": "compare", "spectrum": "benchmark", "describe": "report",
    "choose": "plan",
}  # fmt: skip
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
    """Make a subcommand from a function; `session` lists settings of `alikely.options`."""

    def made(body: Callable[..., None]) -> Callable[..., int]:
        hints = typing.get_type_hints(body)
        _, *signature = inspect.signature(body).parameters.values()
        own = [_option(one.name, hints[one.name], one.default) for one in signature]
        left = {*IN_PYTHON, *omit, *(one.name for one in own)}
        options = [*own, *_options(calls, left, defaults, session)]
        usual = {one.name: one.default for one in options}
        names = [f"--{name.replace('_', '-')}" for name in (*usual, *READ, *RUN, "out")]

        def entry(*files: list[str], **given: Any) -> int:
            from alikely.cli._running import execute

            if where is not None:
                given.setdefault("out", Path(where))
            given = {**defaults, **given}
            asked = Options(files[0] if files else [], given, usual, one_file)
            mine = {one.name: given[one.name] for one in own if given.get(one.name) is not None}

            def run() -> None:
                with al.options(**asked.pick(*session)):
                    body(asked, **mine)

            return execute(run, asked, ["FILE", *names])

        make, files = inspect.Parameter, []
        if file:
            what = Parameter(
                help="Tables of trials, folders, or logs of evaluation tools", name="FILE"
            )
            files = [make("file", make.POSITIONAL_ONLY, annotation=Annotated[list[str], what],
                          default=NEVER if file == "some" else [])]  # fmt: skip
        if out:
            options.append(_option("out", Path, None, out))
        for name, kind in GROUPS.items():
            if name == "running" or file or "pilot" in usual:
                flat = Annotated[kind, Parameter(name="*")]  # type: ignore[valid-type]
                options.append(make(name, make.KEYWORD_ONLY, annotation=flat, default=None))
        entry.__name__, entry.__doc__ = body.__name__, body.__doc__
        entry.__signature__ = inspect.Signature([*files, *options])  # type: ignore[attr-defined]
        return entry

    return made


def _shown(default: Any) -> str | None:
    """A default in the help; flags and lists have none."""
    return None if default in (None, False, []) else str(default)


def application() -> App:
    """Make the application; subcommands are imported when they are called."""
    app = App(
        name="alikely", help_format="markdown", version_flags=(), result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=Parameter(negative=(), show_default=_shown),
    )  # fmt: skip
    for name in SUBCOMMANDS:
        if name != "completion":
            app.command(f"alikely.cli.{MODULES.get(name, name)}:{name}", name=name)

    @app.command
    def completion(shell: Literal["bash", "zsh", "fish"], /) -> None:
        """Print a script that completes subcommands and options in a shell.

        Write the script to ~/.local/share/bash-completion/completions/alikely (bash), to a file
        _alikely in a folder of $fpath (zsh), or to a file in ~/.config/fish/completions (fish).
        """
        print(app.generate_completion(prog_name="alikely", shell=shell))

    return app


def run(arguments: list[str]) -> int:
    """Parse and run a command; print one line on standard error if parsing fails."""
    with contextlib.suppress(AttributeError):  # only a file has a way with what it cannot encode
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
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
