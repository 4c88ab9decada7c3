"""All plots with few and many rows and long names: separate texts and large enough axes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import gallery
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

import alikely as al

# Drawn in the quick suite, too: fast, or with an earlier defect.
QUICK = ("plot_intervals", "plot_alignment distortions")
ROWS = (
    "plot_benchmark scores", "plot_benchmark ranks", "plot_intervals", "plot_alignment levels",
)  # fmt: skip
# Scores of 300 models take minutes to make.
FEWER = {name for name in gallery.DRAWINGS if name.startswith("plot_benchmark")}
PAGE = 10.5  # inches
# Names of 50 characters that differ only at their ends.
LONG = tuple(f"organization/vision-model-large-patch16-in21k-{k:04d}" for k in range(9))


@pytest.fixture(scope="module", autouse=True)
def long_names() -> Iterator[None]:
    """Use names as long as on model hubs, because shorter ones need less space."""
    made = [found for found in vars(gallery).values() if hasattr(found, "cache_clear")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gallery, "NAMES", LONG)
        for each in made:
            each.cache_clear()
        yield
    for each in made:
        each.cache_clear()


def drawn(name: str, n: int, column: bool) -> Figure:
    """A plot of n rows, or fewer if the plot has a limit."""
    with al.plots.column() if column else contextlib.nullcontext():
        if name == "plot_intervals":
            most = 20 if column else 60
            return gallery.figure_of(gallery.DRAWINGS[name](n, sort="estimate", top=min(n, most)))
        return gallery.figure_of(gallery.DRAWINGS[name](n))


@pytest.mark.parametrize(
    ("name", "n", "column"),
    [
        pytest.param(name, n, column, marks=() if name in QUICK and n < 30 else pytest.mark.slow)
        for name in gallery.DRAWINGS
        for n, column in ((2, False), (30, True), (300, False), (300, True))
        if n < 300 or name not in FEWER
    ],
)
def test_texts_do_not_overlap_and_axes_are_large_enough(name: str, n: int, column: bool) -> None:
    figure = drawn(name, n, column)
    assert gallery.faults(figure) == []
    # Red next to green, as in matplotlib's default.
    assert not gallery.colors_of(figure) & {"#2ca02c", "#d62728", "#98df8a", "#ff9896"}
    width, height = figure.get_size_inches()
    panels = [ax.get_window_extent() for ax in figure.axes if ax.get_label() != "<colorbar>"]
    maps = [ax for ax in figure.axes if ax.images and ax.get_label() != "<colorbar>"]
    # Cells of a map with names are large enough.
    for ax in maps:
        _, columns = ax.images[0].get_array().shape[:2]
        assert columns > 60 or ax.get_window_extent().width / columns >= 4
    widest = max(box.width for box in panels) / figure.bbox.width
    # Panels next to each other share the width.
    across = max(round(figure.bbox.width / (box.width + 1)) for box in panels)
    # Names use at most 0.4 of a figure, and a legend may be at the side.
    assert maps or widest >= (0.45 if name in ROWS else 0.4) / min(across, len(panels))
    if not column:
        return
    assert width == pytest.approx(3.3)
    assert height <= PAGE
    # Axis labels, titles and legends have 8 pt; labels of points have at least 5 pt.
    for ax in figure.axes:
        assert {text.get_size() for text in (ax.title, ax.xaxis.label, ax.yaxis.label)} == {8}
        assert ax.get_legend() is None
    for legend in figure.legends:
        assert {text.get_size() for text in legend.get_texts()} == {8}
    assert min(t.get_size() for t in figure.findobj(Text) if t.get_text().strip()) >= 5
