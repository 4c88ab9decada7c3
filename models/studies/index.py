"""The catalogue's index: models, their evidence, and bootstrap beside posterior."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from alikely._base.files import write_figure, write_file
from alikely.calibration.coverage import coverage_study, coverage_summary
from studies.cards import is_of
from studies.case import DEFAULT
from studies.cases import CASES

__all__ = ["SECONDS", "STUDY", "index_text", "write_index"]

STUDY = "coverage.csv"
FIGURE = "coverage.png"
SECONDS, TIMES = "seconds.json", ("cold", "warm")
# Of the table of branches.
HEAD = (
    "model",
    "branch",
    "ranks",
    "simulations",
    "warm-up, acceptance",
    "with divergences",
    "ranks without these",
    "cold, s",
    "warm, s",
)
KEPT = ["coverage", "coverage_mcse", "width", "no_interval", "bias", "undefined_share"]


def write_index(
    folder: Path,
    work: Path | None = None,
    seed: int = 1,
    text_only: bool = False,
    only: str | None = None,
) -> None:
    """Run the study of 88 settings, and write its table, its figure and the index."""
    if not text_only:
        from alikely.plots.calibration import plot_calibration

        study = coverage_study(folder=work, rng=seed)
        write_file(folder / STUDY, study.round(dict.fromkeys(KEPT, 5)).to_csv(index=False))
        write_figure(plot_calibration(study, "coverage").figure, folder / FIGURE, dpi=110)
    write_file(folder / "README.md", index_text(folder, only))


def index_text(folder: Path, only: str | None = None) -> str:
    """Text of the index, from the files of the catalogue."""
    stands = _standing(folder, only)
    rows, branches = [], []
    for name in sorted(CASES):
        if name in stands:
            rows += stands[name][:1]
            branches += stands[name][1:]
            continue
        card = json.loads((folder / name / "model.json").read_text())
        evidence = json.loads((folder / name / "calibration.json").read_text())
        current = is_of(evidence, name)
        status = "calibrated" if evidence["passed"] else "**not calibrated**, see the card"
        rows.append(
            f"| [{name}]({name}/README.md) | {card['question']} | {card['when']} | "
            f"{status if current else 'recalibrate'}, {evidence['n_simulations']:,} simulations |"
        )
        branches += _branches(folder / name, name)
    study = pd.read_csv(folder / STUDY)
    summary = coverage_summary(study)
    methods = [
        f"| {row.method} | {row.mean_abs_error:.4f} | {row.least_coverage:.3f} | "
        f"{row.n_close} of {row.n_settings} | {row.mean_width:.3f} |"
        for row in summary.itertuples()
    ]
    return TEXT.format(
        models="\n".join(rows),
        head=f"| {' | '.join(HEAD)} |\n{'|---' * len(HEAD)}|",
        branches="\n".join(branches),
        methods="\n".join(methods),
        corners="\n".join(_corners(study)),
    )


def _standing(folder: Path, only: str | None) -> dict[str, list[str]]:
    """Of models that are not asked for, their lines in the index: what it is of, then its forms."""
    if only is None:
        return {}
    found: dict[str, list[str]] = {}
    for line in (folder / "README.md").read_text().splitlines():
        name = line[2:].partition("](" if line.startswith("| [") else " |")[0].lstrip("[")
        if line.startswith("| ") and name in CASES and name != only:
            found.setdefault(name, []).append(line)
    return found


def _branches(folder: Path, name: str) -> list[str]:
    """Line by line the forms of a model, and what their calibration says."""
    evidence = json.loads((folder / "calibration.json").read_text())
    path = folder / SECONDS
    timed = json.loads(path.read_text()) if path.is_file() else None
    rows = []
    for branch in CASES[name].all_branches:
        found = evidence if branch == DEFAULT else evidence.get("branches", {}).get(branch)
        cells = _verdict(found, name, branch)
        cells += ["not timed"] * 2 if timed is None else [f"{timed[k]:.1f}" for k in TIMES]
        if branch != DEFAULT:
            cells[-2:] = ["", ""]
        rows.append(f"| {name} | {branch} | {' | '.join(cells)} |")
    return rows


def _verdict(found: dict[str, Any] | None, name: str, branch: str) -> list[str]:
    """Ranks, simulations, settings, share with divergences, ranks of those without."""
    if found is None:
        return ["not run", "", "", "", ""]
    divergences, settings = found["divergences"], found["settings"]
    without = divergences["without"]
    ranks = _inside(found["passed"]) if is_of(found, name, branch) else "recalibrate"
    case = CASES[name].of(branch)
    if (settings["tune"], settings["target_accept"]) != (case.tune, case.target_accept):
        ranks += ", other settings"
    return [
        ranks,
        f"{found['n_simulations']:,}",
        f"{settings['tune']:,}, {settings['target_accept']:g}",
        f"{divergences['share']:.1%}",
        "not judged" if without is None else _inside(without["passed"]),
    ]


def _inside(passed: bool) -> str:
    return "inside" if passed else "**outside**"


def _corners(study: pd.DataFrame) -> list[str]:
    """Coverage with the accuracy, where intervals of different schools part."""
    part = study[
        (study["ci_prob"] == 0.95)
        & (study["accuracy_a"] == study["accuracy_b"])
        & (study["ec"] == 0.2)
        & study["n_trials"].isin([40, 160, 640])
    ]
    wide = part.pivot_table(
        index=["accuracy_a", "n_trials"], columns="method", values="coverage", sort=True
    )
    return [
        f"| {accuracy:g} | {n} | {row['posterior']:.3f} | {row['bootstrap']:.3f} | "
        f"{row['bca']:.3f} | {row['wald']:.3f} |"
        for (accuracy, n), row in wide.iterrows()
    ]


TEXT = """# The catalogue of models
Each folder holds a model's card (`README.md`: question, story, priors and why, when not to use
it), `model.json` (dims, data, parameters, and priors with numbers in PyMC's order: a gamma by
shape and rate, a normal by mean and standard deviation), and its evidence: `calibration.json`
(simulation-based calibration and coverage, with `ranks.npz`, `ranks.png` and `recovery.png`),
`reference.json` (posterior figures of fixed data) and `seconds.json` (time to the first draws). The
code is in `src/alikely/models`, the test that each is put to in `models/studies/cases`.

| model | question | when to use | evidence |
|---|---|---|---|
{models}

{head}
{branches}

A branch is a form that a model takes by its options or by the size of the data: deviates in units
of a spread, for instance, where few data are behind an effect, effects themselves where many are.
Each is sampled with the warm-up and mean acceptance that the front door which fits it asks for;
"other settings": it was not when these simulations were made.
Simulations with a divergent transition are counted, and the others judged apart; where that says
"not judged", the others are too few, or the ranks were not kept. The ranks are in `ranks.npz` of
each model; `python -m studies verdict <name>` works the verdict out again from them.
Seconds are those of all threads on a processor, of a whole new process from its start to 1,000
draws of the model on its card's data: cold with empty caches of compiled code, warm with full ones,
medians of five (`python -m studies time <name>`).

"Calibrated": parameters are drawn from the prior, data by a simulator that is written from the
card and not from the model, and the truth's rank among posterior draws is uniform, for every
parameter, the derived metric and the log likelihood, within bands that hold for all ranks and all
quantities of the model at once in 95 of 100 such studies.

Made by `python -m studies run <name>`; `--branch`, `--simulations`, `--seed`, `--jobs`
and `--work` say which form, how many, which, on how many cores, and where finished parts are kept.
This page, and what follows, by `python -m studies index`; with `--text-only` the study
that follows stays as it is.

## Which interval of error consistency?
How often 95 % intervals hold the true error consistency, over 88 settings (accuracies .5 to .99,
error consistency 0 to .8, 40 to 2,560 trials), 2,000 simulated data sets each. `coverage.csv` has
all figures, also for 50 and 80 %, with widths, bias and Monte-Carlo errors.

![The posterior stays near .95 at all numbers of trials, bootstrap and Wald do not](coverage.png)

| method | mean absolute error | least coverage | settings with .93 or more | mean width |
|---|---|---|---|---|
{methods}

At an error consistency of .2, both observers equally accurate:

| accuracy | trials | posterior | bootstrap | bca | wald |
|---|---|---|---|---|---|
{corners}

"posterior" is the default: the central interval under a Dirichlet(1/2) prior on the four cells. A
data set for which a method gives no interval counts as missed.
"""
