"""Draws the gallery, page and pictures: ``uv run python docs/draw_gallery.py [plot_name ...]``.

Each recipe is run as it is shown, after `BEGINNING`; the names that one makes serve those below it.
It takes some minutes, so that pictures are kept in the repository.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import alikely as al

HERE = Path(__file__).parent
PICTURES = HERE / "gallery"
PAGE = HERE / "gallery.md"
WIDTH, WIDE = 640, 960  # pixels, of one panel or two and of more alongside each other
COLORS = 128
HEAD = """# Gallery of plots

Each plot is shown with its code. Data come from the example of the package or from a simulator, and plots under one heading
share variables. Plot functions accept a result or a table and return Matplotlib axes, or an array of axes for several panels.
The word after the name of a function is the `kind`. `with al.plots.column():` draws figures for one column of a paper.

(`docs/draw_gallery.py` writes this page and its pictures; a test checks that no plot is missing.)
"""
BEGINNING = """
import numpy as np
import pandas as pd

import alikely as al

trials = al.load_example()
"""

# Heading: lines that its recipes share, and the recipes.
RECIPES: dict[str, tuple[str, dict[str, str]]] = {
    "Pairs": (
        (
            'result = al.error_consistency(trials, "human-model", rng=1)\n'
            'noise = al.error_consistency(trials.select(condition="noise"), rng=1)'
        ),
        {
            "plot_intervals": 'al.plot_intervals(result, sort="estimate", top=12)',
            "plot_matrix": "al.plot_matrix(noise, observer_kinds=trials)",
            "plot_agreement agreement": "al.plot_agreement(noise, observer_kinds=trials)",
            "plot_agreement accuracy": 'al.plot_agreement(result, "accuracy", observer_kinds=trials)',
            "plot_agreement bounds": 'al.plot_agreement(noise, "bounds")',
            "plot_metrics": (
                'labels = al.misclassification_agreement(trials.select(condition="noise"), rng=1)\n'
                'al.plot_metrics(\n    [noise, labels], "error_consistency", "misclassification_agreement", observer_kinds=trials\n)'
            ),
        },
    ),
    "Models against humans": (
        "scores = al.benchmark_scores(trials, n_resamples=10_000, rng=1)",
        {
            "plot_benchmark scores": "al.plot_benchmark(scores)",
            "plot_benchmark ranks": 'al.plot_benchmark(scores, "ranks", rng=1)',
            "plot_benchmark prob_greater": 'al.plot_benchmark(scores, "prob_greater")',
            "plot_robustness sensitivity": 'al.plot_robustness(al.benchmark.multiverse_analysis(trials), "sensitivity")',
            "plot_robustness rank_by_metric": 'al.plot_robustness(al.benchmark.rank_by_metric(trials, rng=1), "rank_by_metric")',
            "plot_robustness correlations": (
                "# each condition as a data set of its own\n"
                'apart = al.Trials.from_table(trials.to_table().assign(dataset=lambda t: t["condition"]))\n'
                'by_set = al.benchmark_scores(apart, human_ids="shared", n_resamples=10_000, rng=1)\n'
                'al.plot_robustness(al.benchmark.score_correlations(by_set), "correlations")'
            ),
        },
    ),
    "Cohort model of models and humans": (
        (
            'hard = trials.select(condition=["blur", "noise"])\n'
            "families = pd.DataFrame(\n"
            '    {"family": ["CNN", "ViT", "CNN", "ViT", "MLP", "MLP"]},\n'
            '    index=[f"model_{i}" for i in range(1, 7)],\n'
            ")\n"
            'tree = al.fit_cohort(hard, human_effects=False, covariates={"model": families}, rng=1)'
        ),
        {
            "plot_cohort fit": "al.plot_cohort(tree, rng=1)",
            "plot_cohort groups": 'al.plot_cohort(tree, "groups", covariate="family")',
        },
    ),
    "Families of a leaderboard": (
        (
            "board = al.simulate.leaderboard(30, 4, 600, shared=0.6, rng=1)\n"
            "matrix = al.pairwise_matrix(board)"
        ),
        {
            "plot_families": "al.plot_families(al.benchmark.families(matrix, n_resamples=200, rng=1), matrix)",
        },
    ),
    "Patterns of errors": (
        ('similar = al.error_similarity(trials, by="dataset", n_resamples=0, n_draws=0)'),
        {
            "plot_errors classes": 'al.plot_errors(similar, "classes", pair="human_1 x model_1")',
            "plot_errors confusions": 'al.plot_errors(al.estimates.confusion_matrices(trials, "kind"), "confusions")',
        },
    ),
    "Decision margins": (
        (
            'people, margins = al.simulate.detection_experiment(8, 60, rho={"net": 0.7, "other": 0.3}, rng=1)\n'
            "dmc = al.decision_margin_consistency(people, margins, rng=1)"
        ),
        {
            "plot_margins checks": 'al.plot_margins(dmc, "checks")',
            "plot_margins consistency": 'al.plot_margins(al.estimates.consistency_table(people, dmc), "consistency")',
        },
    ),
    "Difficulty of conditions": (
        (
            "shown, _ = al.simulate.difficulty(4, 8, rng=1)\n"
            'names = dict.fromkeys(shown.data["dataset"].values.tolist())\n'
            'spectrum = al.difficulty_spectrum(shown, [f"{n}:reference" for n in names], chance=1 / 16)\n'
            "regimes = al.regimes(spectrum, k=3, n_resamples=200, rng=1)\n"
            "alignment = al.condition_alignment(trials, n_resamples=500, rng=1)\n"
            'regime = {"all:clean": "easy", "all:blur": "hard", "all:noise": "hard"}\n'
            "table = al.spectrum.alignment_table(alignment, regime)\n"
            'family = trials.data["family"].dropna("observer")'
        ),
        {
            "plot_spectrum": "al.plot_spectrum(spectrum, regimes)",
            "plot_regimes": "al.plot_regimes(al.spectrum.regime_alignment(alignment, regime, rng=1))",
            "plot_alignment distortions": (
                "# three distortions of eight levels, each harder than the one before\n"
                "harder = np.tile(np.linspace(0, 1, 8), 3)\n"
                "rows = al.simulate.cohort([0.5], [0.6], 0.9 - 0.4 * harder, 0.5 - 0.3 * harder, rng=1).to_table()\n"
                'number = rows["condition"].str.removeprefix("condition_").astype(int) - 1\n'
                'rows["dataset"] = np.array(["blur", "contrast", "noise"])[number // 8]\n'
                "answered = al.Trials.from_table(rows)\n"
                'by_level = al.condition_alignment(answered, metrics=["error_consistency"], n_resamples=200, rng=1)\n'
                'grade = np.where(harder > 0.5, "far", "near")\n'
                'labels = dict(zip(by_level["condition"].values, grade, strict=True))\n'
                'al.plot_alignment(al.spectrum.alignment_table(by_level, labels), "distortions")'
            ),
            "plot_alignment levels": 'al.plot_alignment(table, "levels", dataset="all")',
        },
    ),
    "Planning": (
        "accuracy = [[0.75], [0.9]]",
        {
            "plot_plan width": (
                "n_trials = [50, 100, 200, 400, 800, 1600]\n"
                "widths = al.trials_for_width(accuracy, accuracy, 0.5, n_trials=n_trials, rng=1)\n"
                'al.plot_plan(widths, "width", references={"one condition": 160})'
            ),
            "plot_plan power": (
                "wanted = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]\n"
                "power = al.trials_for_power(0.75, 0.75, [[0.2], [0.4]], power=wanted, n_coverage=0)\n"
                'al.plot_plan(power, "power")'
            ),
            "plot_plan design": (
                "pilot = al.planning.variance_components(trials).tail(1)\n"
                "grid = al.planning.expected_errors(\n    pilot, [[2], [4], [8], [16], [32], [64], [128]], [50, 100, 200, 400, 800]\n)\n"
                'al.plot_plan(grid, "design", designs=al.planning.best_design(pilot, 3000, 0.1, 10))'
            ),
            "plot_plan images": (
                'models = trials.select(kind="model", condition="noise")\n'
                'al.plot_plan(al.planning.choose_images(models, 40, ("model_1", "model_4"), rng=1), "images")'
            ),
        },
    ),
    "Coverage and calibration": (
        (
            "numbers = [40, 160, 640, 2_560]\n"
            'grid = pd.DataFrame({"accuracy_a": 0.95, "accuracy_b": 0.95, "ec": 0.2, "n_trials": numbers})\n'
            "model = al.models.copying([30, 10, 10, 10], independent=True)\n"
            "ranks = al.calibration.sbc(model, n=100, rng=1)"
        ),
        {
            "plot_calibration coverage": 'al.plot_calibration(al.calibration.coverage_study(grid, n_datasets=1_000, rng=1), "coverage")',
            "plot_calibration ranks": 'al.plot_calibration(ranks, "ranks")',
            "plot_calibration recovery": 'al.plot_calibration(ranks, "recovery")',
        },
    ),
}


def picture(name: str) -> str:
    """Name of the file of a picture."""
    return name.replace(" ", "-")


def what(name: str) -> str:
    """What a plot draws: its line in the list of kinds, or the first line of its docstring."""
    function, _, kind = name.partition(" ")
    text = inspect.getdoc(getattr(al, function)) or ""
    if kind:
        (text,) = re.findall(rf'^- ``"{kind}"``: (.+?)(?=\n- |\n\n|\Z)', text, re.M | re.S)
        text = re.split(r"[;.,] | \(`", " ".join(text.split()))[0]
    text = (
        re.split(r" \[|, (?:after|as in) ", text.splitlines()[0])[0]
        .rstrip(".,")
        .removeprefix("Plot ")
    )
    return text[0].upper() + text[1:]


def page() -> str:
    """Text of the page: for each plot what it shows, its picture and its lines."""
    parts = [HEAD]
    for heading, (shared, recipes) in RECIPES.items():
        parts.append(
            f"## {heading}\n\n```py\n{(BEGINNING.strip() + chr(10)) if len(parts) == 1 else ''}{shared}\n```\n"
        )
        for name, lines in recipes.items():
            said = what(name)
            parts.append(
                f"### {name}\n\n{said}.\n\n"
                f"![{said}](gallery/{picture(name)}.png)\n\n```py\n{lines}\n```\n"
            )
    return "\n".join(parts)


def run(lines: str, names: dict[str, Any]) -> Any:
    """Run lines of which the last statement may be an expression; its value."""
    tree = ast.parse(lines)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, "recipe", "exec"), names)
        return None
    exec(compile(ast.Module(tree.body[:-1], []), "recipe", "exec"), names)
    return eval(compile(ast.Expression(last.value), "recipe", "eval"), names)


def save(drawn: Any, name: str) -> None:
    """Small picture of what a plot returned."""
    from PIL import Image

    first = np.ravel(np.asarray(drawn, dtype=object))[0]
    figure = first.get_figure(root=True) if hasattr(first, "get_figure") else first
    file = PICTURES / f"{picture(name)}.png"
    width = WIDE if figure.get_figwidth() > 2.5 * figure.get_figheight() else WIDTH
    figure.savefig(file, dpi=width / max(figure.get_figwidth(), 4), facecolor="white")
    Image.open(file).convert("RGB").quantize(COLORS).save(file, optimize=True)
    mpl.pyplot.close("all")


def main(only: list[str]) -> None:
    """Write the page, and the pictures asked for (all if none is named)."""
    mpl.use("agg")
    PICTURES.mkdir(exist_ok=True)
    names: dict[str, Any] = {}
    run(BEGINNING, names)
    for heading, (shared, recipes) in RECIPES.items():
        if only and not set(only) & set(recipes):
            continue
        print(heading, flush=True)
        run(shared, names)
        for name, lines in recipes.items():
            if not only or name in only:
                save(run(lines, names), name)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    warnings.simplefilter("ignore", al.inference.SamplingWarning)
    main(sys.argv[1:])
