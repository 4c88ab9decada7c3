"""The catalogue's index: models, their evidence, and bootstrap beside posterior."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

from alikely._base.files import write_figure, write_file
from alikely.calibration.cards import is_of
from alikely.calibration.cases import CASES
from alikely.calibration.coverage import coverage_study, coverage_summary

__all__ = ["index_text", "write_index"]

STUDY = "coverage.csv"
FIGURE = "coverage.png"
KEPT = ["coverage", "coverage_mcse", "width", "no_interval", "bias", "undefined_share"]


def write_index(
    folder: Path, work: Path | None = None, seed: int = 1, text_only: bool = False
) -> None:
    """Run the study of 88 settings, and write its table, its figure and the index.

    Parameters
    ----------
    folder : path
        The catalogue's, ``models``.
    work : path, optional
        Where finished settings are kept.
    seed : int
        Of the study.
    text_only : bool
        Leave study, table and figure as they stand.
    """
    if not text_only:
        from alikely.plots.calibration import plot_coverage

        study = coverage_study(folder=work, rng=seed, progressbar=True)
        write_file(folder / STUDY, study.round(dict.fromkeys(KEPT, 5)).to_csv(index=False))
        write_figure(plot_coverage(study).figure, folder / FIGURE, dpi=110)
    write_file(folder / "README.md", index_text(folder))


def index_text(folder: Path) -> str:
    """Text of the index, from the files of the catalogue.

    Parameters
    ----------
    folder : path
        The catalogue's, ``models``, with its table of coverage.

    Returns
    -------
    str
        Markdown.
    """
    rows = []
    for name in sorted(CASES):
        card = json.loads((folder / name / "model.json").read_text())
        evidence = json.loads((folder / name / "calibration.json").read_text())
        current = is_of(evidence, name)
        status = "calibrated" if evidence["passed"] else "**not calibrated**, see the card"
        rows.append(
            f"| [{name}]({name}/README.md) | {card['question']} | {card['when']} | "
            f"{status if current else 'recalibrate'}, {evidence['n_simulations']:,} simulations |"
        )
    study = pd.read_csv(folder / STUDY)
    summary = coverage_summary(study)
    methods = [
        f"| {row.method} | {row.mean_abs_error:.4f} | {row.least_coverage:.3f} | "
        f"{row.n_close} of {row.n_settings} | {row.mean_width:.3f} |"
        for row in summary.itertuples()
    ]
    return TEXT.format(
        models="\n".join(rows), methods="\n".join(methods), corners="\n".join(_corners(study))
    )


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
(simulation-based calibration and coverage, with `ranks.png` and `recovery.png`) and
`reference.json` (posterior figures of fixed data). The code is in `src/alikely/models`, the test
that each is put to in `src/alikely/calibration/cases`.

| model | question | when to use | evidence |
|---|---|---|---|
{models}

"Calibrated": parameters are drawn from the prior, data by a simulator that is written from the
card and not from the model, and the truth's rank among posterior draws is uniform, for every
parameter, the derived metric and the log likelihood, within bands that hold for all ranks and all
quantities of the model at once in 95 of 100 such studies.

Made by `python -m alikely.calibration run <name>`; `--simulations`, `--seed` and `--work` say how
many, which, and where finished parts are kept. This page, and what follows, by
`python -m alikely.calibration index`; with `--text-only` the study that follows stays as it is.

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
