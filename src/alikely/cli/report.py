"""`alikely report` and `describe`: one page of results, and contents of a file."""

from __future__ import annotations

import shlex
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import alikely as al
from alikely._base.steps import step
from alikely.cli._app import Options, Reading, subcommand
from alikely.cli._running import worded
from alikely.data.columns import ROLES
from alikely.data.files import find_files
from alikely.data.summaries import described
from alikely.metrics.metric import find_metric

if TYPE_CHECKING:
    from alikely.data import Trials

SAVED = ".nc"
# With more conditions, such as levels of a distortion, differences are not shown.
MOST_CONDITIONS = 6


@subcommand(
    al.compare, al.benchmark_scores, omit=("sampler", "prior"),
    defaults={"n_resamples": 2_000, "n_null": 2_000}, session=("ci_kind", "n_null"),
    out="The HTML file (default: report.html)", where="report.html", one_file=True,
)  # fmt: skip
def report(
    o: Options, *, metric: str = "ec", title: str | None = None, exclude: str | None = None
) -> None:
    """Write one self-contained HTML page of results.

    The page contains a summary of the data, findings, estimates with intervals, tests, differences,
    ranks, noise ceilings, methods and references. FILE has the same format as for alikely compare,
    or contains results saved as netCDF (.nc). If FILE has humans and models, the page includes the
    scores of alikely benchmark.

    Parameters
    ----------
    metric : str
        Name of a metric, or module:ATTRIBUTE for a custom metric.
    title : str
        Title of the page.
    exclude : str
        Name of a published benchmark (model-vs-human). The conditions that this benchmark excludes
        are excluded.
    """
    saved = [path.lower().endswith(SAVED) for path in o.file]
    if any(saved) and not all(saved):
        raise ValueError("FILE must be trials or saved results (.nc), not both")
    notes: list[str] = []
    if all(saved):
        results: list[Any] = [al.Result.load(path) for path in o.file]
    else:
        trials = o.trials()
        if exclude:
            every, trials = trials, al.exclude_conditions(trials, exclude)
            notes.append(_left_out(every, trials, exclude))
        results = _analyzed(o, trials, find_metric(metric), notes)
    import matplotlib as mpl

    mpl.use("Agg")  # there may be no screen
    page = al.report.make_report(*results, title=title, notes=notes)
    assert o.out is not None
    o.write(o.out.name, page.save)
    print(f"Written to {o.out}: {page.title!r}, {o.out.stat().st_size / 1e6:.1f} MB")
    for failure in page.failures:
        print(f"! not shown: {failure}")
    for text in notes:
        print(f"! {text}")


def _left_out(every: Trials, kept: Trials, why: str) -> str:
    """Note on conditions that were excluded."""
    before, after = (
        len({*zip(t.data["dataset"].values, t.data["condition"].values, strict=True)})
        for t in (every, kept)
    )
    return (
        f"Excluded before the analysis, as in {why}: {before - after} of {before} conditions, "
        f"{every.n_trials - kept.n_trials:,} of {every.n_trials:,} trials."
    )


def _analyzed(o: Options, trials: Trials, metric: Any, notes: list[str]) -> list[Any]:
    """All pairs, scores where there are humans and models, and reader studies."""
    both = {o.models, o.humans} <= set(map(str, trials.data["kind"].values))
    asked = o.pick("pairs", "by", "no_response", "n_draws", "cluster", "ci_prob")
    asked.setdefault("pairs", f"{o.humans}-{o.models}" if both else "all")
    if "bootstrap" not in metric.unreliable:
        asked["n_resamples"] = o.n_resamples
    results: list[Any] = [al.compare(trials, metric, rng=o.seed, **asked)]
    if both:
        try:
            with step("scores of models against humans"):
                scores = o.of(al.benchmark_scores, metric=metric)
                results.append(al.benchmark_scores(trials, **scores))
        except ValueError as error:
            notes.append(f"No scores, ranks or noise ceilings: {error}")
    return _study(o, trials, metric, notes) + results


def _study(o: Options, trials: Trials, metric: Any, notes: list[str]) -> list[Any]:
    """Differences between conditions, of readers with one other observer or among themselves."""
    data = trials.data
    n_conditions = len(set(map(str, data["condition"].values)))
    kinds = [str(kind) for kind in data["kind"].values]
    readers = o.humans if o.humans in kinds else kinds[0]
    others = [n for n, kind in zip(trials.observers, kinds, strict=True) if kind != readers]
    several = len(set(map(str, data["dataset"].values))) > 1
    if several or len(others) > 1 or not 2 <= n_conditions <= MOST_CONDITIONS:
        return []
    try:
        with step("differences between conditions"):
            other = others[0] if others else None
            asked = {"no_response": "error"} | o.pick("no_response", "ci_prob")
            return [al.benchmark.reader_study(trials, other, metric, readers=readers, **asked)]
    except ValueError as error:
        notes.append(f"No differences between conditions: {error}")
        return []


# With more rows or columns, searching for groups of items takes too long.
MOST_RESPONSES, MOST_COLUMNS = 200_000, 12


@subcommand(file="some", out="", one_file=True)
def describe(o: Options) -> None:
    """Describe FILE: observers, items, missing responses, and what can be computed.

    The subcommand prints how FILE is read, observers with kinds and accuracies, items, conditions,
    missing responses, items without a match, clusters, and the command for each possible analysis.
    """
    o.reading.unmatched = "accept"
    trials = o.trials()
    o.notes = []  # part of the description
    names = [f"--{one.name.replace('_', '-')}" for one in fields(Reading)]

    def say(note: str) -> str:
        return worded(note, names, ROLES)

    print(described(trials.data, _arguments(o), _grouping(o, trials), say))


def _arguments(o: Options) -> str:
    """FILE and the options of reading, as they were given."""
    said = [shlex.quote(name) for name in o.file]
    for one in fields(Reading):
        value = getattr(o.reading, one.name)
        if one.name == "unmatched" or value in (None, False, [], "auto", "newest"):
            continue
        name = f"--{one.name.replace('_', '-')}"
        for entry in value if isinstance(value, list) else [value]:
            said.append(name if entry is True else f"{name} {shlex.quote(str(entry))}")
    return " ".join(said)


def _grouping(o: Options, trials: al.Trials) -> dict[str, Any]:
    """Columns of a table that are the same for all rows of an item, and group items."""
    data, reading = trials.data, o.reading
    if any(note.startswith("read as ") for note in trials.notes) or reading.wide:
        return {}
    if data["correct"].size > MOST_RESPONSES:
        return {}
    used = {part.partition("=")[2].strip() for part in (reading.columns or "").split(",")}
    path: Any = o.file if len(o.file) > 1 else o.file[0]
    columns = find_files(path)[0][0].columns()
    n_items = data["item"].to_series().nunique()
    found: dict[str, Any] = {}
    for name in [c for c in columns if c and c not in {*ROLES, *used, "image"}][:MOST_COLUMNS]:
        try:
            again = reading.read(o.file, item_columns=(name,)).data
        except (ValueError, KeyError):
            continue
        if 1 < again[name].to_series().nunique() < n_items:
            found[name] = again[name].values
    return found
