"""Correlation of judges' scores with the agreement between judges and candidates.

References
----------
.. [G25] Goel, Strüber, Auzina, Chandra, Kumaraguru, Kiela, Prabhu, Bethge, Geiping (2025). Great
   models think alike and this undermines AI oversight. doi:10.48550/arXiv.2502.04313
.. [F24] Fisher (1924). The distribution of the partial correlation coefficient. Metron 3, 329-332.
.. [S04] Spearman (1904). The proof and measurement of association between two things.
   doi:10.2307/1412159
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import require_names
from alikely._base.intervals import bound_columns
from alikely._base.names import listed
from alikely.benchmark.trees import require_symmetric
from alikely.estimates.matrix_result import (
    cluster_column,
    cluster_numbers,
    influences,
    packed_answers,
    place_names,
)
from alikely.estimates.result import Result
from alikely.inference.influence import indicator

# With fewer candidates, too few degrees of freedom are left.
FEWEST = 6
# Above this fraction of noise in the variance of agreements, the result has a note.
MOST_NOISE = 0.5


def judge_agreement(
    matrix: Result,
    scores: Mapping[str, Mapping[str, float]] | pd.DataFrame,
    *,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Correlate each judge's scores for candidates with judge-candidate agreement in errors [G25]_.

    More accurate candidates are scored higher and also agree more with good judges. The quantity of
    interest is therefore the partial correlation given accuracy [F24]_. Because agreements and
    accuracies are estimated from a finite number of questions, the variances and the covariance of
    their sampling errors are subtracted before correlations are computed [S04]_.

    Parameters
    ----------
    matrix : Result
        Matrix of judges and candidates, as returned by `alikely.pairwise_matrix` for a symmetric
        metric.
    scores : mapping of str to (mapping of str to float), or pandas.DataFrame
        Each judge's scores for the candidates, on any scale: a mapping by judge, or a table with
        one column per judge and one row per candidate. Scores must come from questions other than
        those in the matrix. Scores for the same responses would share noise with the agreements and
        bias the correction. Scores that judges give themselves are excluded, and a note is added.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: as in the analysis.

    Returns
    -------
    pandas.DataFrame
        One row per judge, with columns

        - ``n_candidates``
        - ``correlation``: correlation between agreement and score
        - ``partial``: noise-corrected partial correlation given accuracy, with its p-value ``p``
          and an interval that generalizes to new candidates
        - ``partial_raw``: partial correlation without noise correction
        - ``noise``: fraction of the variance of agreements that is due to the sampling of questions
        - ``note``

    Raises
    ------
    TypeError
        If `scores` has the wrong type.
    ValueError
        If a judge or candidate is not in the matrix, or occurs twice. If scores are not finite
        numbers, or a judge has scored fewer than 6 candidates. If the metric is directed.

    Notes
    -----
    The interval is computed with a jackknife over candidates on Fisher's z scale and Student's t
    quantiles (``n_candidates - 4`` degrees of freedom). Error consistency is limited if accuracies
    differ. The partial correlation removes only the linear part of the dependence on accuracy.

    Examples
    --------
    >>> import alikely as al
    >>> board = al.simulate.leaderboard(20, 4, 500, rng=1)
    >>> judge, *candidates = board.observers
    >>> answers = board.data["correct"].reset_coords(drop=True)
    >>> other_work = answers[:, 250:].mean("trial").to_series()
    >>> table = al.benchmark.judge_agreement(
    ...     al.pairwise_matrix(answers[:, :250]), {judge: other_work[candidates].to_dict()}
    ... )
    >>> table.loc[judge, "n_candidates"].item()
    19
    """
    require_symmetric(matrix, "a comparison of judges")
    prob = float(matrix.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
    of_judges = _by_judge(scores)
    rows = [_of_judge(matrix, judge, given, prob) for judge, given in of_judges.items()]
    if not rows:
        raise ValueError("scores must have at least one judge, got none")
    return pd.DataFrame(rows, index=pd.Index(list(of_judges), name="judge"))


def _by_judge(scores: Any) -> dict[str, dict[str, float]]:
    """Scores of the candidates by judge, from a mapping or a table with a column per judge."""
    found = {}
    entries = scores.items() if isinstance(scores, Mapping | pd.DataFrame) else [("", None)]
    for judge, given in entries:
        if not isinstance(given, Mapping | pd.Series):
            raise TypeError(
                "scores must map judges to scores of candidates, such as {'judge': {'model': "
                "0.5}}, or be a pandas table with a column for each judge and a row for each "
                f"candidate; got {type(scores if given is None else given).__name__}"
            )
        names = [str(name) for name in given.keys()]  # noqa: SIM118
        twice = [name for name in names if names.count(name) > 1]
        if twice or judge in found:
            raise ValueError(f"scores have {(twice or [judge])[0]!r} twice; give each name once")
        found[str(judge)] = dict(zip(names, (value for _, value in given.items()), strict=True))
    return found


def _of_judge(
    matrix: Result, judge: str, scores: dict[str, float], prob: float
) -> dict[str, object]:
    require_names("observer of this matrix", (judge, *scores), matrix.observers)
    candidates = [name for name in scores if name != judge]
    score = pd.to_numeric(pd.Series([scores[n] for n in candidates]), errors="coerce").to_numpy()
    if not np.isfinite(score).all():
        bad = [f"{n} ({scores[n]!r})" for n in np.array(candidates)[~np.isfinite(score)]]
        raise ValueError(
            f"scores by {judge!r} must be finite numbers, got {listed(bad)}; leave these "
            "candidates out"
        )
    if len(candidates) < FEWEST:
        raise ValueError(
            f"a partial correlation needs at least {FEWEST} candidates, and {judge!r} scored "
            f"{len(candidates)}"
        )
    agreement, accuracy, influence = _known(matrix, judge, candidates)
    defined = np.isfinite(agreement)
    notes = ["its score of itself is excluded"] if judge in scores else []
    if not defined.all():
        notes.append(f"{(~defined).sum()} candidates without a defined agreement excluded")
    if defined.sum() < FEWEST:
        raise ValueError(f"fewer than {FEWEST} candidates of {judge!r} have a defined agreement")
    agreement, accuracy, score = agreement[defined], accuracy[defined], score[defined]
    influence = influence[:, defined]
    found, noise = partial_correlation(agreement, score, accuracy, influence)
    raw, _ = partial_correlation(agreement, score, accuracy)
    bounds, p = _interval(agreement, score, accuracy, influence, found, prob)
    if noise > MOST_NOISE:
        notes.append("agreements are mostly sampling noise: add questions, not candidates")
    if not np.isfinite(found):
        notes.append("noise correction leaves too little variance: report partial_raw")
    return {
        "n_candidates": len(score),
        "correlation": float(np.corrcoef(agreement, score)[0, 1]),
        "partial": found,
        **bound_columns("analytic", "ci", prob, bounds),
        "p": p,
        "partial_raw": raw,
        "noise": noise,
        "note": "; ".join(notes),
    }


def partial_correlation(
    agreement: Floats, score: Floats, accuracy: Floats, influence: Floats | None = None
) -> tuple[float, float]:
    """Noise-corrected partial correlation of agreement and score given accuracy."""
    covariance = np.cov(np.stack([agreement, accuracy, score]))
    observed = covariance[0, 0]
    if influence is not None:
        # Components of a question's influence that all candidates share do not change covariances.
        own = influence - influence.mean(axis=1, keepdims=True)
        covariance[:2, :2] -= np.einsum("acq,bcq->ab", own, own) / (len(score) - 1)
    noise = float(1 - covariance[0, 0] / observed) if observed > 0 else np.nan
    (xx, xz, xy), (_, zz, zy), (_, _, yy) = covariance
    left_x, left_y = xx - xz**2 / zz, yy - zy**2 / zz
    if zz <= 0 or left_x <= 1e-12 * observed or left_y <= 1e-12 * yy:
        return float("nan"), noise
    # Residual variances are at least 1e-12 of the total, so their ratio has a larger error.
    partial = float(within((xy - xz * zy / zz) / np.sqrt(left_x * left_y), -1, 1, 1e-9))
    return partial if abs(partial) <= 1 else float("nan"), noise


def _known(matrix: Result, judge: str, candidates: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """Agreement with the judge and accuracy, means over conditions, and question influences."""
    everyone = [judge, *candidates]
    part = matrix.sel(observer=everyone)
    n_places = len(place_names(part))
    # Pairs with the first observer come first.
    n = len(candidates)
    value = part.estimates["estimate"].values.reshape(n_places, -1)[:, :n]
    each = np.eye(n, part.estimates.sizes["pair"])
    of_agreement = influences(part, [each * np.isfinite(row)[:, None] for row in value])
    accuracy, both = [], []
    for agreement, packed in zip(of_agreement, packed_answers(part), strict=True):
        answers = packed.unpacked(np.arange(1, n + 1))
        right, shown = answers == 1, answers >= 0
        n_shown = np.maximum(shown.sum(axis=1, keepdims=True), 1)
        mean = right.sum(axis=1, keepdims=True) / n_shown
        accuracy.append(mean[:, 0])
        both.append(np.stack([agreement, np.where(shown, right - mean, 0.0) / n_shown]))
    influence = np.concatenate(both, axis=2) / n_places
    if cluster_column(matrix):
        # The questions of a cluster are one sampling unit.
        summed = indicator(np.concatenate(cluster_numbers(part)))[0]
        number = summed.shape[1]
        flat = influence.reshape(-1, influence.shape[-1]) @ summed
        influence = np.sqrt(number / (number - 1)) * flat.reshape(2, -1, number)
    return value.mean(axis=0), np.mean(accuracy, axis=0), influence


def _interval(
    agreement: Floats, score: Floats, accuracy: Floats, influence: Floats, found: float, prob: float
) -> tuple[NDArray[np.float64], float]:
    """Jackknife interval over candidates on Fisher's z scale, with Student's t, and p-value."""
    n = len(score)
    nothing = np.array([np.nan, np.nan]), float("nan")
    if not abs(found) < 1:
        return nothing
    kept = ~np.eye(n, dtype=bool)
    without = np.array(
        [partial_correlation(agreement[k], score[k], accuracy[k], influence[:, k])[0] for k in kept]
    )
    if not (np.abs(without) < 1).all():
        return nothing
    z = np.arctanh(without)
    se = float(np.sqrt((n - 1) / n * ((z - z.mean()) ** 2).sum()))
    t = stats.t(n - 4)
    middle = np.arctanh(found)
    bounds = np.tanh(middle + np.array([-1, 1]) * t.ppf((1 + prob) / 2) * se)
    return bounds, float(2 * t.sf(abs(middle) / se)) if se > 0 else float("nan")
