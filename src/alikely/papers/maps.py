"""Map of conditions: near where they bring about the same errors.

References
----------
.. [MH08] van der Maaten, Hinton (2008). Visualizing data using t-SNE.
   Journal of Machine Learning Research 9, 2579-2605.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from alikely._base.frames import Groups
from alikely._base.random import RandomState, seed_sequence, spawn_integer
from alikely.papers.groupings import Distances, labelled_matrix
from alikely.plots._regimes import (
    AROUND,
    are_regimes,
    group_styles,
    groups_of,
    key,
    place_labels,
    regime_colors,
    regime_order,
)
from alikely.plots._style import MARKERS, axes_or_new, legend_right, styled

__all__ = ["condition_map", "plot_condition_map"]


def condition_map(
    divergences: Distances | xr.Dataset, *, perplexity: float = 15, rng: RandomState = None
) -> pd.DataFrame:
    """Conditions and their coordinates on a plane, by t-SNE."""
    if isinstance(divergences, xr.Dataset):
        divergences = divergences["divergence"]
    names, values = labelled_matrix(divergences)
    if (values < 0).any():
        one, other = np.argwhere(values < 0)[0]
        raise ValueError(
            f"a map needs distances of at least 0, but that of {names[one]!r} and {names[other]!r} "
            f"is {values[one, other]:g}; map the divergence, not its excess"
        )
    if not 0 < perplexity < len(names):
        raise ValueError(
            f"perplexity must be above 0 and below the number of conditions, {len(names)}, got "
            f"{perplexity:g}"
        )
    try:
        from sklearn.manifold import TSNE
    except ImportError as error:
        raise ImportError(
            f"a map needs scikit-learn, and it is not there ({error}); pip install scikit-learn"
        ) from None

    model = TSNE(
        perplexity=perplexity,
        metric="precomputed",
        init="random",
        method="exact",
        random_state=spawn_integer(seed_sequence(rng)),
    )
    # It squares the matrix where it stands.
    place = model.fit_transform(values.copy())
    return pd.DataFrame({"condition": names, "x": place[:, 0], "y": place[:, 1]})


@styled
def plot_condition_map(
    divergences: Distances | xr.Dataset,
    groups: Groups,
    *,
    perplexity: float = 15,
    rng: RandomState = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw conditions near others with the same errors, colored by group (t-SNE [MH08]_).

    Parameters
    ----------
    divergences : xarray.Dataset, xarray.DataArray or pandas.DataFrame
        Divergences as returned by `alikely.errors.condition_divergences`, or a matrix of distances
        with names along both sides.
    groups : mapping, pandas.Series or xarray.DataArray
        Regime, or distortion, of each condition; such as ``found["label"]`` of `alikely.regimes`.
        Further conditions are left aside.
    perplexity : float
        Number of neighbors that count, above 0 and below the number of conditions.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness. Another seed gives another map.
    ax : matplotlib.axes.Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    matplotlib.axes.Axes
        One point per condition, named where there is room: by its level alone where the group is
        its data set.

    Raises
    ------
    TypeError
        If groups or distances have no names.
    ValueError
        If a distance is undefined or negative, the matrix is not symmetric, the perplexity does
        not fit, or a condition has no group.

    Notes
    -----
    Units and distances between clusters have no meaning. scikit-learn squares the distances, as
    t-SNE requires, so that near conditions are drawn nearer.

    Examples
    --------
    >>> import alikely as al
    >>> found = al.errors.condition_divergences(al.load_example())
    >>> groups = {"all:clean": "easy", "all:blur": "x", "all:noise": "x"}
    >>> ax = plot_condition_map(found, groups, perplexity=2, rng=1)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['easy', 'x']
    """
    coordinates = condition_map(divergences, perplexity=perplexity, rng=rng)
    names = [str(name) for name in coordinates["condition"]]
    group = groups_of(names, groups, "group")
    labels = list(dict.fromkeys(group))
    ordered = regime_order(labels)
    ranked = bool(ordered) and set(ordered) == set(labels) and are_regimes(labels)
    labels = ordered[::-1] if ranked else labels
    styles = group_styles(labels)
    if ranked:
        colors = regime_colors(ordered)
        styles = {name: (colors[name], MARKERS[k]) for k, name in enumerate(labels)}
    ax = axes_or_new(ax, (7.0, 5.2))
    points = coordinates[["x", "y"]].to_numpy(np.float64)
    handles = []
    for name in labels:
        color, marker = styles[name]
        here = np.array([own == name for own in group])
        look: dict[str, Any] = {"linestyle": "", "marker": marker, "color": color, "markersize": 5}
        ax.plot(*points[here].T, **look)
        handles.append(key(name, **look))
    ax.set(xticks=[], yticks=[])
    ax.margins(0.06)
    ax.set_xlabel(
        "near: the same errors (t-SNE; units and long distances mean nothing)", fontsize=8
    )
    legend_right(ax, handles)
    short = []
    for name, own in zip(names, group, strict=True):
        dataset, _, level = name.partition(":")
        short.append(level if dataset in (own, "all") and level else name)
    place_labels(ax, points, short, AROUND, points)
    return ax
