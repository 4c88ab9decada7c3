"""Every public plot with a given number of rows of artificial data, and layout checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import xarray as xr

import alikely as al
from alikely.benchmark.ranking import rank_correlations
from alikely.plots._style import in_column
from alikely.plots.margins import CONSISTENCY

# Names as long as those of models.
NAMES = ("alexnet", "resnet101", "simclr_resnet50x4", "ResNeXt101_32x16d_swsl", "vit_large_patch16",
         "resnet50_l2_eps3_0", "BiTM_resnetv2_152x4", "densenet201", "clip")  # fmt: skip
REGIMES = ("reference", "near", "far", "extreme")
BARE: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
# Numbers of humans and models for about this number of pairs.
SIZES = {2: (1, 2), 30: (5, 6), 300: (10, 30)}


def names(n: int) -> list[str]:
    return [NAMES[k] if k < len(NAMES) else f"{NAMES[k % len(NAMES)]}-{k}" for k in range(n)]


@functools.cache
def trials(n_humans: int, n_models: int) -> al.Trials:
    """Responses of 6 classes to 120 images; the first human and model make no errors."""
    rng = np.random.default_rng(1)
    truth = np.arange(120) % 6
    ease = rng.normal(1.5, 1.5, 120)
    n = n_humans + n_models
    skill = np.linspace(1.5, -1.5, n)
    right = rng.random((n, 120)) < 1 / (1 + np.exp(-ease - skill[:, None]))
    # Not with a single pair, which would be undefined.
    right[[0, n_humans]] |= n > 3
    wrong = (truth + rng.integers(1, 6, (n, 120))) % 6
    classes = ["airplane", "bear", "bicycle", "bird", "boat", "bottle"]
    return al.Trials.from_arrays(
        np.array(classes)[np.where(right, truth, wrong)], np.array(classes)[truth],
        observers=[f"subject-{k + 1:02d}" for k in range(n_humans)] + names(n_models),
        kind=["human"] * n_humans + ["model"] * n_models, classes=classes,
    )  # fmt: skip


@functools.cache
def consistency(n: int) -> al.Result:
    """About n pairs of a human and a model."""
    return al.error_consistency(trials(*SIZES[n]), "human-model", n_resamples=100, rng=1)


@functools.cache
def agreement(n: int) -> al.Result:
    return al.misclassification_agreement(trials(*SIZES[n]), "human-model", **BARE)


@functools.cache
def similarity(n: int) -> al.Result:
    return al.error_similarity(trials(*SIZES[n]), "human-model", **BARE)


@functools.cache
def pairwise_matrix(n: int) -> al.Result:
    """All pairs of 3, 9 or 25 observers."""
    size = {2: (1, 2), 30: (3, 6), 300: (4, 21)}[n]
    return al.error_consistency(trials(*size), **BARE)


@functools.cache
def scores(n: int) -> al.Result:
    return al.benchmark_scores(trials(4, n), n_resamples=1_000, rng=1)


@functools.cache
def spectrum(n: int) -> xr.Dataset:
    """Difficulty spectrum of 4, 32 or 300 conditions."""
    found, _ = al.simulate.difficulty(*{2: (2, 2), 30: (4, 8), 300: (15, 14)}[n], rng=1)
    datasets = dict.fromkeys(found.data["dataset"].values.tolist())
    return al.difficulty_spectrum(found, [f"{name}:reference" for name in datasets], chance=1 / 16)


def alignment(n: int, n_levels: int = 8, n_datasets: int = 1) -> pd.DataFrame:
    """A table as returned by `alikely.spectrum.alignment_table`."""
    rng = np.random.default_rng(2)
    rows = []
    for d in range(n_datasets):
        for k in range(n_levels):
            regime = REGIMES[min(4 * k // n_levels, 3)]
            for system in ["human-human", *names(n)]:
                value = 0.5 - 0.05 * k + rng.normal(0, 0.05)
                level = "reference" if k == 0 else f"{k / n_levels:.2f}"
                rows.append(
                    {"metric": "error_consistency", "dataset": f"phase-scrambling-{d}",
                     "condition_name": level, "condition": f"phase-scrambling-{d}:{level}",
                     "regime": regime, "system": system, "estimate": value,
                     "bootstrap_eti95_lb": value - 0.1, "bootstrap_eti95_ub": value + 0.1}
                )  # fmt: skip
    return pd.DataFrame(rows)


def ranks(n: int) -> pd.DataFrame:
    """Ranks as returned by `alikely.spectrum.regime_alignment`."""
    rng = np.random.default_rng(3)
    parts = []
    for regime in REGIMES:
        rank = rng.permutation(n) + 1.0
        part = pd.DataFrame({"system": names(n), "rank": rank})
        part["rank_lb"] = np.maximum(rank - n // 5, 1)
        part["rank_ub"] = np.minimum(rank + n // 5, n)
        parts.append(part.assign(metric="error_consistency", regime=regime))
    return pd.concat(parts)


def rank_table(n: int) -> pd.DataFrame:
    """A table as returned by `alikely.benchmark.rank_by_metric`."""
    rng = np.random.default_rng(4)
    metrics = ["error_consistency", "misclassification_agreement", "copy_probability"]
    rows = [
        {"metric": metric, "system": name, "rank": r + 1, "rank_lb": max(r - n // 8, 1),
         "rank_ub": min(r + 2 + n // 8, n), "accuracy": rng.uniform(0.4, 0.9),
         "note": "hangs on the metric" if k % 7 == 0 else ""}
        for metric in metrics
        for k, (name, r) in enumerate(zip(names(n), rng.permutation(n), strict=True))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def choices(n: int) -> pd.DataFrame:
    """A table as returned by `alikely.benchmark.multiverse_analysis`."""
    rng = np.random.default_rng(5)
    rows = [
        {"metric": "error_consistency", "system": name, "score": rng.uniform(0.1, 0.5),
         "rank": 1, "conditions": conditions, "grouping": grouping}
        for name in names(n)
        for conditions in ("all", "above chance", "without reference")
        for grouping in ("by condition", "pooled")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def simulated_ranks(n: int) -> pd.DataFrame:
    """Ranks as returned by `alikely.calibration.sbc`."""
    rng = np.random.default_rng(6)
    quantities = ["log_likelihood", *(f"copy_probability[{k}]" for k in range(min(n, 8) - 1))]
    parts = []
    for quantity in quantities:
        truth = rng.normal(size=100)
        columns = {"rank": rng.random(100), "truth": truth, "draw": rng.normal(size=100),
                   "mean": truth + rng.normal(0, 0.3, 100), "sd": 0.3}  # fmt: skip
        parts.append(pd.DataFrame(columns).assign(quantity=quantity, method="posterior"))
    return pd.concat(parts)


def coverages(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    sizes = [20, 40, 80, 160, 320, 640, 1280]
    rows = [
        {"n_trials": sizes[k % 7], "method": method, "ci_prob": 0.95,
         "coverage": rng.uniform(0.85, 0.99)}
        for k in range(n) for method in ("posterior", "bootstrap", "wald")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def margins_table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    row = dict.fromkeys(CONSISTENCY, np.nan)
    table = pd.DataFrame([row] * n).assign(
        dataset="edge", condition="all", n_models=1, group="human", model=names(n),
        observer_b=names(n), accuracy_model=rng.uniform(0.2, 0.95, n),
    )  # fmt: skip
    for name in ("error", "margin"):
        value = rng.uniform(0.1, 0.5, n)
        column = f"{name}_consistency"
        for stem, center in ((column, value), (f"group_{column}", 0.5), (f"mean_{column}", 0.3)):
            table[stem], table[f"{stem}_lb"], table[f"{stem}_ub"] = (
                center, center - 0.05, center + 0.05
            )  # fmt: skip
    return table


@functools.cache
def classified(n: int) -> al.Result:
    """Margins of a model, and humans, with items of several classes."""
    rng = np.random.default_rng(5)
    n_items, n_classes = max(48, n), min(max(n, 2), 16)
    z = rng.normal(size=n_items)
    labels = np.array([f"c{i % n_classes}" for i in range(n_items)])
    right = rng.random((6, n_items)) < 1 / (1 + np.exp(-z))
    answers = pd.DataFrame(
        [
            {"observer": f"p{o}", "kind": "human", "item": f"i{i}", "truth": labels[i],
             "response": labels[i] if right[o, i] else labels[(i + 1) % n_items]}
            for o in range(6) for i in range(n_items)
        ]
    )  # fmt: skip
    seen = pd.DataFrame({"item": [f"i{i}" for i in range(n_items)], "margin": z, "observer": "net"})
    return al.decision_margin_consistency(al.Trials.from_table(answers), seen, n_resamples=0, rng=1)


def correlations(n: int) -> pd.DataFrame:
    """Rank correlations of 3, 8 or 25 data sets."""

    n_sets = {2: 3, 30: 8, 300: 25}[n]
    x = np.random.default_rng(1).random((n_sets, 6))
    noise = np.random.default_rng(2).normal(0, 0.1, (50, n_sets, 6))
    return rank_correlations([f"phase-scrambling-{k}" for k in range(n_sets)], x, x + noise)


def widths(n: int) -> pd.DataFrame:
    lines = {2: 1, 30: 5, 300: 20}[n]
    x = np.geomspace(20, 5000, max(n // lines, 2)).astype(int)
    rows = [
        {"n_trials": k, "accuracy_a": 0.5 + 0.02 * j, "ec": 0.02 * j,
         "width": 4 / k**0.5 + 0.01 * j, "power": 1 - np.exp(-k * (j + 1) / 3000),
         "method": "analytic" if j % 2 else "simulated"}
        for j in range(lines) for k in x
    ]  # fmt: skip
    return pd.DataFrame(rows)


def designs(n: int) -> Any:
    side = {2: 2, 30: 5, 300: 17}[n]
    pilot = al.planning.variance_components(al.load_example()).tail(1)
    observers = np.unique(np.geomspace(2, 200, side).astype(int))[:, None]
    images = np.unique(np.geomspace(20, 2000, side).astype(int))
    grid = al.planning.expected_errors(pilot, observers, images)
    return al.plot_plan(grid, "design", designs=al.planning.best_design(pilot, 3000, 0.1, 10))


@functools.cache
def image_choice(n: int) -> al.planning.StimulusPlan:
    """A fifth of a pool of 200, 300 or 1,500 images."""
    pool = {2: 200, 30: 300, 300: 1500}[n]
    copying, own = np.linspace(0.75, 0.3, 8)[:, None], np.full((8, 1), 0.65)
    models = al.simulate.cohort(copying, own, [0.75], 0.43, n_trials=pool, rng=1).select(
        kind="model"
    )
    return al.planning.choose_images(
        models, pool // 5, (models.observers[0], models.observers[7]), rng=1
    )


def conditions(n: int) -> Any:
    at = np.random.default_rng(1).normal(size=(n, 2))
    group = {f"distortion-{k % 7}:{k / 10:.1f}": f"distortion-{k % 7}" for k in range(n)}
    distances = np.linalg.norm(at[:, None] - at, axis=-1)
    table = pd.DataFrame(distances, list(group), list(group))
    return al.papers.plot_condition_map(table, group, perplexity=min(15, n / 2), rng=1)


def confusions(n: int) -> xr.DataArray:
    observed = trials(*SIZES[n])
    groups = {name: f"group {k % {2: 1, 30: 2, 300: 6}[n]}" for k, name in
              enumerate(observed.observers)}  # fmt: skip
    return al.estimates.confusion_matrices(observed, groups)


def family(n: int) -> dict[str, str]:
    return {name: ("CNN", "transformer", "self-supervised")[k % 3] for k, name in
            enumerate(names(n))}  # fmt: skip


@functools.cache
def tree(n: int) -> tuple[al.Result, al.Result]:
    """A tree of n observers, and its matrix."""
    board = al.simulate.leaderboard(n, {2: 1, 30: 4, 300: 12}[n], 300, shared=0.6, rng=1)
    found = al.pairwise_matrix(board)
    return al.benchmark.families(found, n_resamples=20 if n < 300 else 2, rng=1), found


def of_family(n: int) -> dict[str, str]:
    return {name: name.split("-")[0] for name in tree(n)[1].observers}


def levels_of(table: pd.DataFrame) -> str:
    return str(table["dataset"].iloc[0])


def pair(result: al.Result) -> str:
    return str(result.table["pair"].values[-1])


Drawing = Callable[..., Any]
# Functions that draw a plot with n rows, by name and variant.
DRAWINGS: dict[str, Drawing] = {
    "plot_agreement accuracy": lambda n: al.plot_agreement(
        consistency(n), "accuracy", observer_kinds=trials(*SIZES[n])
    ),
    "plot_agreement agreement": lambda n: al.plot_agreement(pairwise_matrix(n)),
    "plot_benchmark scores": lambda n: al.plot_benchmark(scores(n)),
    "plot_agreement bounds": lambda n: al.plot_agreement(consistency(n), "bounds"),
    "plot_errors classes": lambda n: al.plot_errors(
        similarity(n), "classes", pair=pair(similarity(n))
    ),
    "plot_condition_map": conditions,
    "plot_errors confusions": lambda n: al.plot_errors(
        confusions(n).isel(group=slice(3 if in_column() else 6)), "confusions"
    ),
    "plot_margins consistency": lambda n: al.plot_margins(margins_table(n), "consistency"),
    "plot_robustness correlations": lambda n: al.plot_robustness(correlations(n), "correlations"),
    "plot_calibration coverage": lambda n: al.plot_calibration(coverages(n), "coverage"),
    "plot_plan design": designs,
    "plot_alignment distortions": lambda n: al.plot_alignment(
        alignment(0, {2: 2, 30: 6, 300: 10}[n], {2: 1, 30: 5, 300: 30}[n]), "distortions"
    ),
    "plot_families": lambda n: al.plot_families(*tree(n), by=of_family(n)),
    "plot_plan images": lambda n: al.plot_plan(image_choice(n), "images"),
    "plot_intervals": lambda n, **rows: al.plot_intervals(consistency(n), **rows),
    "plot_alignment levels": lambda n: al.plot_alignment(
        alignment(n), "levels", dataset="phase-scrambling-0"
    ),
    "plot_alignment levels families": lambda n: al.plot_alignment(
        alignment(n, 16), "levels", dataset="phase-scrambling-0", families=family(n)
    ),
    "plot_margins checks": lambda n: al.plot_margins(classified(n), "checks"),
    "plot_matrix": lambda n: al.plot_matrix(
        pairwise_matrix(n),
        observer_kinds=trials(1, 2) if n == 2 else trials(*{30: (3, 6), 300: (4, 21)}[n]),
    ),
    "plot_metrics": lambda n: al.plot_metrics(
        [consistency(n), agreement(n)],
        "error_consistency",
        "misclassification_agreement",
        observer_kinds=trials(*SIZES[n]),
    ),
    "plot_plan power": lambda n: al.plot_plan(widths(n), "power"),
    "plot_benchmark prob_greater": lambda n: al.plot_benchmark(scores(n), "prob_greater"),
    "plot_radar": lambda n: al.papers.plot_radar(alignment(n, 2, 12), family(n)),
    "plot_robustness rank_by_metric": lambda n: al.plot_robustness(rank_table(n), "rank_by_metric"),
    "plot_calibration ranks": lambda n: al.plot_calibration(simulated_ranks(n), "ranks"),
    "plot_benchmark ranks": lambda n: al.plot_benchmark(
        scores(n), "ranks", generalize_to="images", rng=1
    ),
    "plot_calibration recovery": lambda n: al.plot_calibration(simulated_ranks(n), "recovery"),
    "plot_regimes": lambda n: al.plot_regimes(ranks(n)),
    "plot_robustness sensitivity": lambda n: al.plot_robustness(choices(n), "sensitivity"),
    "plot_spectrum": lambda n: al.plot_spectrum(
        spectrum(n), al.regimes(spectrum(n), 2, n_resamples=0, rng=1)
    ),
    "plot_plan width": lambda n: al.plot_plan(
        widths(n), "width", references={"one condition": 160}
    ),
}


def figure_of(drawn: Any) -> Any:
    """The figure of the object that a plot returns."""
    first = drawn[0] if isinstance(drawn, tuple | list | np.ndarray) else drawn
    return first.get_figure(root=True) if hasattr(first, "get_figure") else first


def colors_of(figure: Any) -> set[str]:
    """Colors of lines, areas and legends."""
    found = set()
    for artist in figure.findobj():
        for name in ("get_color", "get_facecolor", "get_edgecolor"):
            if hasattr(artist, name):
                given = mpl.colors.to_rgba_array(getattr(artist, name)())
                found |= {mpl.colors.to_hex(color) for color in np.unique(given, axis=0)}
    return found


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """Every visible text, with its (possibly rotated) box in pixels."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    found = []
    for text in _seen(figure):
        if isinstance(text, Text) and text.get_text().strip() and text.get_alpha() != 0:
            box = Text.get_window_extent(text, renderer)
            if box.width and box.height:
                found.append((text.get_text(), box))
    return found


def _seen(artist: Any) -> Any:
    """Visible artists; of an axis only those within its view."""
    from matplotlib.axis import Axis

    if not artist.get_visible():
        return
    yield artist
    if isinstance(artist, Axis):
        ticks = artist._update_ticks()
        for tick in ticks:
            yield from (t for t in (tick.label1, tick.label2) if t.get_visible())
        yield from (t for t in (artist.label, artist.offsetText) if t.get_visible())
        return
    for child in artist.get_children():
        yield from _seen(child)


def faults(figure: Any) -> list[str]:
    """Texts outside the figure, overlapping texts, and legends over titles."""
    texts = texts_of(figure)
    width, height = figure.bbox.width, figure.bbox.height
    found = []
    for text, box in texts:
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1:
            found.append(f"outside the figure: {text!r}")
    # Sorted from left to right, so that few are compared.
    texts.sort(key=lambda entry: entry[1].x0)
    for i, (text, box) in enumerate(texts):
        for other, alongside in texts[i + 1 :]:
            if alongside.x0 >= box.x1 - 1:
                break
            # One pixel of each box is empty.
            if min(box.y1, alongside.y1) - max(box.y0, alongside.y0) > 1:
                found.append(f"over each other: {text!r}, {other!r}")
    return found
