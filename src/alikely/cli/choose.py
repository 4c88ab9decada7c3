"""`alikely choose`: which images to show to humans, from the responses of models."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import narwhals as nw

import alikely as al
from alikely._base.steps import step
from alikely.cli._app import Options, subcommand
from alikely.cli._tables import Cell, num, save_plot, say, show, whole
from alikely.cli._words import worded
from alikely.data.files import read_file

OUT = "The csv file of the plan; a plot is written next to it"


@subcommand(al.planning.choose_images, out=OUT, one_file=True)
def choose(
    o: Options,
    *,
    n: int,
    target: list[str] | None = None,
    machines: str = "model",
    shown: str | None = None,
    layout: Literal["plan", "psychopy", "jspsych"] = "plan",
) -> None:
    """Choose the images that are most informative about models and humans.

    FILE has the responses of models to all images, as for alikely compare. Give the plan to
    Trials.with_inclusion when humans have responded.

    Parameters
    ----------
    n : int
        Images to show in each condition.
    target : list
        Two models A B whose difference is of interest, or one (default: all pairs).
    machines : str
        Kind of the models (default model), or their names separated by commas.
    shown : str
        A csv file with a column item: images that humans have seen already.
    layout : str
        Also write a file with the columns of an experiment.
    """
    if o.out is not None and o.out.suffix.lower() == ".png":
        raise ValueError(
            f"--out names the csv file of the plan, got {str(o.out)!r}; the plot goes beside it"
        )
    trials = o.trials()
    kinds = trials.data["kind"].values.tolist()
    names = machines in kinds or "," not in machines
    plan = al.planning.choose_images(
        trials,
        n,
        _target(target),
        machines=machines if names else machines.split(","),
        shown=[] if shown is None else _items(shown),
        rng=o.seed,
        **o.pick("n_people", "by_class", "even"),
    )
    say(plan.sentence(), "")
    columns: dict[str, Cell] = {
        "condition": "condition",
        "images": whole("n_images"),
        "design": "design",
        "se, these": num("se_pool", 3),
        "se, others": num("se_images", 3),
    }
    show(plan.expected, columns)
    for note in plan.notes:
        say(f"note: {worded(note, ('--by-class', '--even'))}", hanging="      ")
    if o.out is None:
        print("\nNothing was written; --out FILE keeps the plan.")
        return
    with step(f"writing to {o.out}"):
        o.out.parent.mkdir(parents=True, exist_ok=True)
        plan.to_csv(o.out)
        picture = o.out.with_suffix(".png")
        save_plot(al.plot_plan, picture, plan, "images")
        written = f"{o.out} (the plan), {picture.name}"
        if layout != "plan":
            own = o.out.with_name(f"{o.out.stem}_{layout}.csv")
            plan.to_csv(own, layout)
            written += f", {own.name}"
    print(f"\nWritten: {written}")
    print("With responses: trials.with_inclusion(pandas.read_csv(FILE), population='pool')")


def _target(names: list[str] | None) -> str | tuple[str, str]:
    if not names:
        return "all pairs"
    if len(names) > 2:
        raise ValueError(f"--target takes one model or two, got {len(names)}")
    return names[0] if len(names) == 1 else (names[0], names[1])


def _items(path: str) -> list[str]:
    table = nw.from_native(read_file(Path(path)), eager_only=True)
    if "item" not in table.columns:
        raise ValueError(f"{path} needs a column item, of images that humans have seen already")
    return [str(item) for item in table["item"].drop_nulls().to_list()]
