"""How alike data sets order machines once the noise of their scores is taken off.

References
----------
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
.. [F54] Fieller (1954). Some problems in interval estimation.
   doi:10.1111/j.2517-6161.1954.tb00159.x
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from alikely._base.arrays import Floats, within
from alikely._base.intervals import bound_names
from alikely.benchmark.decomposition import Decomposition, only
from alikely.benchmark.degrees import crossed_degrees, degrees_of_images
from alikely.benchmark.layout import OVERALL

if TYPE_CHECKING:
    from alikely.benchmark.benchmark import Benchmark

__all__ = ["Latent", "latent_columns", "latent_correlation", "score_noise"]

# Below, noise is most of what machines differ by.
RELIABLE = 0.5
# Where both are exceeded: with reliabilities of .87 and a true correlation of 1 intervals held .83.
SURE, NEARLY_ONE = 0.8, 0.9


class Latent(NamedTuple):
    """A correlation freed of noise."""

    pearson: float
    reliability: float
    reliability_other: float
    correlation: float
    lower: float
    upper: float
    note: str


def score_noise(parts: Decomposition) -> tuple[float, float]:
    """Noise of scores that tells machines apart, for new images and new people."""
    n, n_images = parts.images.shape
    centre = np.eye(n) - 1 / n
    square = ((centre @ parts.images) ** 2).sum(axis=0)
    people, both = (float(np.trace(centre @ part)) for part in (parts.people, parts.shared))
    # Trials that are added to the cells do not make scores vary.
    images = n_images / max(n_images - 1, 1) * float(square.sum())
    if np.isnan(people):
        return np.nan, np.nan
    known = degrees_of_images(np.sqrt(square)), parts.df_people.min()
    df = crossed_degrees(*(np.array(part) for part in (images, people, both, *known)))
    return (images + max(people - both, 0.0)) / (n - 1), float(df)


def latent_correlation(
    x: Floats,
    y: Floats,
    noise: tuple[float, float],
    noise_other: tuple[float, float],
    ci_prob: float = 0.95,
) -> Latent:
    """Correlation of two sets of scores with attenuation removed [S04]_."""
    n = len(x)
    x, y = x - x.mean(), y - y.mean()
    raw = np.array([x @ x, y @ y, x @ y]) / (n - 1)
    (v, df), (w, df_other) = noise, noise_other
    with np.errstate(divide="ignore", invalid="ignore"):
        pearson = within(raw[2] / np.sqrt(raw[0] * raw[1]), -1)
        shares = 1 - v / raw[0], 1 - w / raw[1]
    known = float(pearson), float(shares[0]), float(shares[1])
    reliable = raw[:2] - (v, w)
    if not (reliable > 0).all():
        why = (
            "noise is all that machines differ by"
            if np.isfinite(reliable).all()
            else ("too few humans to know the noise")
        )
        return Latent(*known, np.nan, np.nan, np.nan, why)
    scale = float(np.sqrt(reliable.prod()))
    estimate = float(raw[2] / scale)
    product = x * y - x @ y / n
    ratio = np.sqrt(reliable[1] / reliable[0])
    square = ((x**2 - x @ x / n) * ratio + (y**2 - y @ y / n) / ratio) / 2
    t2 = stats.t.ppf((1 + ci_prob) / 2, n - 2) ** 2
    each = t2 * n / (n - 1) ** 3
    # Twice the squared noise over its degrees of freedom is the variance of a variance.
    unsure = (v / reliable[0]) ** 2 / df + (w / reliable[1]) ** 2 / df_other
    a = scale**2 * (1 - t2 * unsure / 2) - each * square @ square
    b = raw[2] * scale - each * product @ square
    c = raw[2] ** 2 - each * product @ product
    notes = []
    if a > 0:
        root = np.sqrt(max(b**2 - a * c, 0.0))
        lower, upper = (b - root) / a, (b + root) / a
    else:
        lower, upper = -np.inf, np.inf
        notes.append("a reliability can hardly be told from 0: no bounds")
    if abs(estimate) > 1:
        notes.append("beyond 1: noise taken off by its mean, not clipped")
    if min(shares) < RELIABLE:
        notes.append("scores are mostly noise")
    if min(shares) > SURE and abs(estimate) > NEARLY_ONE:
        notes.append("near 1 or -1 between reliable data sets: the interval may be too narrow")
    return Latent(*known, estimate, float(lower), float(upper), "; ".join(notes))


def latent_columns(scores: Benchmark, pairs: pd.DataFrame, ci_prob: float) -> pd.DataFrame:
    """Latent correlations of pairs of data sets, for a table of them."""
    machines = [scores.estimates["system"].values.tolist().index(name) for name in scores.models]
    parts = {name: only(scores.decomposition(name), machines) for name in scores.datasets}
    shared = _shared(scores)
    bounds = bound_names("latent", "ci", ci_prob)
    names = ["pearson", "reliability", "reliability_other", "latent", *bounds, "note"]
    rows = []
    for level, other in zip(pairs["level"], pairs["other"], strict=True):
        known = np.isfinite(parts[level].score) & np.isfinite(parts[other].score)
        sides = [only(parts[name], np.flatnonzero(known).tolist()) for name in (level, other)]
        noise = [score_noise(side) for side in sides]
        found = latent_correlation(sides[0].score, sides[1].score, noise[0], noise[1], ci_prob)
        note = "; ".join(filter(None, (found.note, shared)))
        rows.append((*found[:-1], note))
    return pd.DataFrame(rows, columns=names, index=pairs.index)


def _shared(scores: Benchmark) -> str:
    """What data sets have in common whose noise then goes together."""
    attrs = scores.data.attrs
    found = ["images"] if attrs.get("items") == "label" else []
    df = scores.data["decomposition"].to_dataset()["df_people"].sel(system=scores.models)
    each = df.sel(level=scores.datasets).sum("level", skipna=False)
    # The same people have the degrees of freedom of one crowd.
    if bool((df.sel(level=OVERALL) < each - 0.5).any()):
        found.insert(0, "people")
    if not found:
        return ""
    return f"{' and '.join(found)} of several data sets: their noise counts as agreement"
