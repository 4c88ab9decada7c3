"""``python -m alikely.calibration``: the files of the catalogue that computation makes."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from alikely._base.files import write_figure
from alikely.calibration.cards import MODEL_NAMES, calibration, reference, update_card, write
from alikely.calibration.cases import CASES
from alikely.calibration.described import described, new_card, redescribe, unwritten
from alikely.calibration.index import STUDY, write_index


def main(arguments: Sequence[str] | None = None) -> int:
    """Make a folder for a new model, put a model to the test, or write the index."""
    parser = argparse.ArgumentParser(
        prog="python -m alikely.calibration",
        description="The files of the catalogue of models that computation makes.",
    )
    tasks = parser.add_subparsers(dest="task", required=True)
    new = tasks.add_parser("new", help="folder, model.json and empty card of a new model")
    run = tasks.add_parser(
        "run", help="calibration.json, reference.json and figures of a model; its card with them"
    )
    index = tasks.add_parser("index", help="README.md of the catalogue, with coverage of intervals")
    for task in (new, run):
        task.add_argument("name", help="of the model, as in alikely.models")
    run.add_argument("--simulations", type=int, help="how many; that of its case if not given")
    index.add_argument(
        "--text-only", action="store_true", help="without the long study of coverage, as it stands"
    )
    for task in (run, index):
        task.add_argument("--seed", type=int, default=1, help="of all simulations (1)")
        task.add_argument("--work", type=Path, help="where finished parts are kept, to go on later")
    for task in (new, run, index):
        task.add_argument(
            "--catalogue", type=Path, default=Path("models"), help="folder of all models (models)"
        )
    given = parser.parse_args(arguments)
    try:
        if given.task == "new":
            return _new(given.catalogue, given.name)
        if given.task == "run":
            return _run(given.catalogue, given.name, given.simulations, given.work, given.seed)
        return _index(given.catalogue, given.text_only, given.work, given.seed)
    except ValueError as error:
        print(f"alikely: {error}", file=sys.stderr)
        return 2


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


def _run(catalogue: Path, name: str, n: int | None, work: Path | None, seed: int) -> int:
    _check_name(name)
    folder = _checked(catalogue) / name
    for file in ("README.md", "model.json"):
        if not (folder / file).is_file():
            raise ValueError(
                f"{folder} has no {file}; make it first, python -m alikely.calibration new {name}"
            )
    # What the card draws needs matplotlib, the figures themselves do not.
    from alikely.plots.calibration import plot_rank_ecdf, plot_recovery

    redescribe(folder, name, CASES[name].example())
    evidence, ranks = calibration(name, n, work, seed, True)
    write(folder / "calibration.json", evidence)
    write_figure(plot_rank_ecdf(ranks), folder / "ranks.png", dpi=110)
    write_figure(plot_recovery(ranks), folder / "recovery.png", dpi=110)
    write(folder / "reference.json", reference(name))
    update_card(folder / "README.md", evidence)
    outside = ", ".join(evidence["outside_alone"]) or "none"
    print(
        f"{name}: {'passed' if evidence['passed'] else 'NOT passed'}; "
        f"{evidence['n_simulations']} simulations, outside their own band: {outside}"
    )
    return 0 if evidence["passed"] else 1


def _index(catalogue: Path, text_only: bool, work: Path | None, seed: int) -> int:
    _checked(catalogue)
    for file, task in (("model.json", "new"), ("calibration.json", "run")):
        if lacking := [name for name in CASES if not (catalogue / name / file).is_file()]:
            raise ValueError(
                f"{', '.join(lacking)} without {file}; make it first, python -m "
                f"alikely.calibration {task} {lacking[0]}"
            )
    if text_only and not (catalogue / STUDY).is_file():
        raise ValueError(f"{catalogue} has no {STUDY}; leave out --text-only, to run its study")
    write_index(catalogue, work, seed, text_only)
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
            f"{name} has no case; write it in calibration/cases/{name}.py, as CONTRIBUTING says"
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
