"""``python -m studies``: the files of the catalogue that computation makes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import joblib

from alikely._base.files import write_figure
from alikely._base.names import nearest
from alikely.calibration.verdicts import verdict
from studies.benchmarks import BENCHMARKS, COHORTS, MARGIN_SCORES, ORDERS
from studies.cards import (
    MODEL_NAMES,
    RANKS,
    calibration,
    is_of,
    keep_ranks,
    kept_branches,
    kept_ranks,
    reference,
    update_card,
    write,
)
from studies.case import DEFAULT
from studies.cases import CASES
from studies.described import described, new_card, redescribe, unwritten
from studies.error_patterns import AGREEMENT, EQUAL_ROWS, SIMILARITY, STATEMENTS
from studies.families import BRANCHES, COPYING_FAMILIES, FAMILIES, JUDGES
from studies.index import SECONDS, STUDY, write_index
from studies.items import ITEMS
from studies.margins import MARGINS
from studies.pages import (
    BENCHMARK_TABLE,
    ERROR_TABLES,
    update_benchmarks,
    update_errors,
    write_benchmarks,
    write_errors,
)
from studies.seconds import seconds

STUDIES = {
    study.name: study
    for study in (
        AGREEMENT, BENCHMARKS, BRANCHES, COHORTS, COPYING_FAMILIES, EQUAL_ROWS, FAMILIES, ITEMS,
        JUDGES, MARGINS, MARGIN_SCORES, ORDERS, SIMILARITY, STATEMENTS,
    )
}  # fmt: skip
# Whose card has the studies of error similarity.
ROWS = "paired_errors"
# What joblib takes for the number of cores, if it is set.
CORES = "LOKY_MAX_CPU_COUNT"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a folder for a new model, put a model to the test, or write the index."""
    given = _parser().parse_args(arguments)
    try:
        if given.task == "new":
            return _new(given.catalogue, given.name)
        if given.task == "run":
            with _on_cores(given.jobs):
                return _run(given)
        if given.task == "verdict":
            return _verdict(given.catalogue, given.name)
        if given.task == "rows":
            return _rows(given)
        if given.task == "benchmarks":
            return _benchmarks(given.catalogue, given.page, given.text_only, given.work, given.seed)
        if given.task == "study":
            return _study(given)
        if given.task == "time":
            return _time(given.catalogue, given.name, given.repeats)
        return _index(given)
    except ValueError as error:
        print(f"alikely: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m studies",
        description="The files of the catalogue of models that computation makes.",
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    new = tasks.add_parser("new", help="folder, model.json and empty card of a new model")
    run = tasks.add_parser(
        "run",
        help="calibration.json, ranks.npz, reference.json and figures of a model; its card with "
        "them",
    )
    judge = tasks.add_parser("verdict", help="what the ranks that are kept say, worked out again")
    time = tasks.add_parser("time", help="seconds.json: seconds to the first draws")
    index = tasks.add_parser("index", help="README.md of the catalogue, with coverage of intervals")
    rows = tasks.add_parser("rows", help="coverage and tests of error similarity, in the card")
    benchmarks = tasks.add_parser(
        "benchmarks", help="coverage of scores of benchmarks, in their page"
    )
    study = tasks.add_parser("study", help="table of a study of intervals, on standard output")
    study.add_argument("name", choices=STUDIES)
    study.add_argument("--scenario", action="append", help="one to simulate; default: all")
    study.add_argument("--datasets", type=int, help="of each scenario; default: as in the pages")
    for task in (new, run, judge, time):
        task.add_argument("name", help="of the model, as in alikely.models")
    run.add_argument("--branch", default=DEFAULT, help="another form of the model, of its case")
    run.add_argument("--simulations", type=int, help="how many; that of its case if not given")
    run.add_argument(
        "--jobs", type=int, default=joblib.cpu_count(), help="processes; one a core if not given"
    )
    time.add_argument("--repeats", type=int, default=5, help="processes, cold and warm each (5)")
    for task in (index, rows, benchmarks):
        task.add_argument(
            "--text-only", action="store_true", help="without the long studies, as they stand"
        )
    for task in (run, index, rows, benchmarks, study):
        task.add_argument("--seed", type=int, default=1, help="of all simulations (1)")
        task.add_argument("--work", type=Path, help="where finished parts are kept, to go on later")
    for task in (new, run, judge, time, index, rows, benchmarks):
        task.add_argument(
            "--catalogue", type=Path, default=Path("models"), help="folder of all models (models)"
        )
    index.add_argument(
        "--only",
        metavar="NAME",
        help="write the lines of this model, and leave the others and the study as they stand",
    )
    rows.add_argument(
        "--only",
        choices=ERROR_TABLES,
        action="append",
        help="a study to run; default: all",
    )
    benchmarks.add_argument(
        "--page", type=Path, default=Path("docs/benchmarks.md"), help="(docs/benchmarks.md)"
    )
    return parser


@contextlib.contextmanager
def _on_cores(jobs: int) -> Iterator[None]:
    """So many processes: chains of interpreted models hold on to Python, threads would wait."""
    if jobs < 1:
        raise ValueError(f"--jobs must be at least 1, got {jobs}")
    before = os.environ.get(CORES)
    os.environ[CORES] = str(jobs)
    try:
        with joblib.parallel_config(backend="loky") if jobs > 1 else contextlib.nullcontext():
            yield
    finally:
        if before is None:
            del os.environ[CORES]
        else:
            os.environ[CORES] = before


def _new(catalogue: Path, name: str) -> int:
    _check_name(name)
    folder = _checked(catalogue) / name
    if there := [file for file in ("README.md", "model.json") if (folder / file).exists()]:
        raise ValueError(f"{folder} has a {there[0]}; what people wrote is not written over")
    model = CASES[name].example()
    content = described(name, model)
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(json.dumps(content, indent=2) + "\n")
    (folder / "README.md").write_text(new_card(name, model, content))
    print(f"{folder}: to be written by hand are {', '.join(unwritten(folder))}")
    return 0


def _run(given: argparse.Namespace) -> int:
    name, branch = given.name, given.branch
    folder = _folder(given.catalogue, name)
    if branch not in (known := CASES[name].all_branches):
        raise ValueError(
            f"{name} has no branch {branch!r}{nearest(branch, known)}; expected one of "
            f"{', '.join(known)}"
        )
    if given.simulations is not None and given.simulations < 2:
        raise ValueError(f"--simulations must be at least 2, got {given.simulations}")
    path = folder / "calibration.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    if branch != DEFAULT and not kept:
        raise ValueError(
            f"{folder} has no calibration.json; make it first, python -m studies run {name}"
        )
    # What the card draws needs matplotlib, the figures themselves do not.
    from alikely.plots.calibration import plot_calibration

    found, ranks = calibration(name, given.simulations, given.work, given.seed, branch)
    branches = kept.get("branches", {})
    if branch == DEFAULT:
        evidence = found | {"branches": branches}
        for kind in ("ranks", "recovery"):
            write_figure(plot_calibration(ranks, kind)[0].figure, folder / f"{kind}.png", dpi=110)
        _update_reference(folder / "reference.json", name)
        redescribe(folder, name, CASES[name].example())
    else:
        branches[branch] = found
        in_order = {k: branches[k] for k in CASES[name].branches if k in branches}
        evidence = kept | {"branches": in_order}
    keep_ranks(folder / RANKS, branch, ranks)
    write(path, evidence)
    update_card(folder / "README.md", evidence)
    outside = ", ".join(found["outside_alone"]) or "none"
    print(
        f"{name}{'' if branch == DEFAULT else f', {branch}'}: "
        f"{'passed' if found['passed'] else 'NOT passed'}; {found['n_simulations']} simulations, "
        f"with divergences {found['divergences']['simulations']}, outside their own band: {outside}"
    )
    return 0 if found["passed"] else 1


def _update_reference(path: Path, name: str) -> None:
    """Long chains, unless those that are there are of the model as it stands."""
    if not path.is_file() or not is_of(json.loads(path.read_text()), name):
        write(path, reference(name))


def _verdict(catalogue: Path, name: str) -> int:
    """The verdict of each branch whose ranks are kept, beside the one that the evidence states."""
    folder = _folder(catalogue, name)
    stated = json.loads((folder / "calibration.json").read_text())
    same = True
    for branch in kept_branches(folder / RANKS):
        found = verdict(kept_ranks(folder / RANKS, branch))
        of = stated if branch == DEFAULT else stated["branches"][branch]
        agrees = all(found[key] == of[key] for key in ("n_simulations", "passed", "outside_alone"))
        same &= agrees
        print(
            f"{name}, {branch}: {'passed' if found['passed'] else 'NOT passed'}; "
            f"{found['n_simulations']} simulations, with divergences "
            f"{found['divergences']['simulations']}; "
            f"calibration.json says {'the same' if agrees else 'OTHERWISE'}"
        )
    return 0 if same else 1


def _time(catalogue: Path, name: str, repeats: int) -> int:
    folder = _folder(catalogue, name)
    found = seconds(name, repeats)
    write(folder / SECONDS, found)
    print(f"{name}: {found['cold']:.1f} s cold, {found['warm']:.1f} s warm, of processors")
    return 0


def _rows(given: argparse.Namespace) -> int:
    folder = _folder(given.catalogue, ROWS)
    asked = () if given.text_only else given.only or ERROR_TABLES
    # Before hours of studies, of which the section could not be made.
    kept = [name for name in ERROR_TABLES if name not in asked]
    if lacking := [name for name in kept if not (folder / name).is_file()]:
        instead = "--text-only" if given.text_only else "--only"
        raise ValueError(f"{folder} has no {lacking[0]}; leave out {instead}, to run its studies")
    write_errors(folder, given.work, given.seed, asked)
    update_errors(folder)
    return 0


def _benchmarks(catalogue: Path, page: Path, text_only: bool, work: Path | None, seed: int) -> int:
    folder = _checked(catalogue)
    if not text_only:
        write_benchmarks(folder, work, seed)
    elif not (folder / BENCHMARK_TABLE).is_file():
        raise ValueError(
            f"{folder} has no {BENCHMARK_TABLE}; leave out --text-only, to run its studies"
        )
    update_benchmarks(page, folder)
    return 0


def _study(given: argparse.Namespace) -> int:
    study = STUDIES[given.name]
    rows = study.run(given.datasets, given.scenario, folder=given.work, rng=given.seed)
    print(study.summary(rows).to_csv(index=False), end="")
    return 0


def _folder(catalogue: Path, name: str) -> Path:
    """Folder of a model's card, which must be there."""
    _check_name(name)
    folder = _checked(catalogue) / name
    for file in ("README.md", "model.json"):
        if not (folder / file).is_file():
            raise ValueError(f"{folder} has no {file}; make it first, python -m studies new {name}")
    return folder


def _index(given: argparse.Namespace) -> int:
    catalogue, only = _checked(given.catalogue), given.only
    # Lines alone are text.
    text_only = given.text_only or only is not None
    if only is not None:
        _check_name(only)
    for file, task in (("model.json", "new"), ("calibration.json", "run")):
        if lacking := [name for name in CASES if not (catalogue / name / file).is_file()]:
            raise ValueError(
                f"{', '.join(lacking)} without {file}; make it first, python -m "
                f"studies {task} {lacking[0]}"
            )
    if text_only and not (catalogue / STUDY).is_file():
        raise ValueError(f"{catalogue} has no {STUDY}; leave out --text-only, to run its study")
    write_index(catalogue, given.work, given.seed, text_only, only)
    return 0


def _check_name(name: str) -> None:
    """A model of the catalogue has a line in the index of `alikely.models`, and a case."""
    if name not in MODEL_NAMES:
        near = difflib.get_close_matches(name, MODEL_NAMES, 1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise ValueError(
            f"alikely.models has no {name!r}{meant}; expected one of {', '.join(MODEL_NAMES)}, "
            "or a new one with its line in models/__init__.pyi"
        )
    if name not in CASES:
        raise ValueError(
            f"{name} has no case; write it in models/studies/cases/{name}.py, as CONTRIBUTING says"
        )


def _checked(catalogue: Path) -> Path:
    if not catalogue.is_dir():
        raise ValueError(
            f"{catalogue} is no folder; expected that of all models: call this where models/ is, "
            "or give --catalogue"
        )
    return catalogue


if __name__ == "__main__":
    sys.exit(main())
