"""Relate the agreement of pairs to shared families and accuracies, and to the scores of judges.

References
----------
.. [BFB01] Browne, Goldstein, Rasbash (2001). Multiple membership multiple classification (MMMC)
   models. Statistical Modelling 1, 103-124. doi:10.1177/1471082X0100100202
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [V24] Vehtari, Simpson, Gelman, Yao, Gabry (2024). Pareto smoothed importance sampling. JMLR
   25(72), 1-58.
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
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import require_names
from alikely._base.frames import Columns, groups_of, with_columns
from alikely._base.intervals import Intervals, bound_columns, chosen_methods
from alikely._base.names import counted, listed
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely._base.steps import step
from alikely.benchmark.trees import complete_estimates, of_matrix
from alikely.estimates.matrices import (
    cluster_column,
    cluster_numbers,
    influences,
    packed_answers,
    place_names,
)
from alikely.estimates.result import Result, of_kind
from alikely.inference.influence import indicator
from alikely.inference.intervals import interval
from alikely.inference.regression import PairRegression

# Predictors from the accuracies of both observers.
ACCURACIES = ("accuracy", "accuracy_squared", "accuracy_gap")
# Standard deviations in the summary, and their names in the posterior.
SPREADS = {"tau": "tau", "sigma": "sigma", "omega_family": "omega"}
# Worst k-hat and fewest effective draws without a note.
WORST_K, FEWEST_POINTS = 0.7, 100
# With fewer groups that have pairs, the prior determines the spread between groups.
FEWEST_GROUPS = 5
# With fewer candidates, too few degrees of freedom are left.
FEWEST = 6
# Above this fraction of noise in the variance of agreements, the result has a note.
MOST_NOISE = 0.5


def agreement_regression(
    matrix: Result,
    labels: Mapping[str, Any],
    *,
    n_draws: int | None = None,
    rng: RandomState = None,
) -> Result:
    """Test whether members of a family agree in their errors more than their accuracies predict.

    The agreement of a pair is modeled as ``y = b x + u_i + u_j + v + e``, with coefficients for the
    predictors, an effect for each observer [BFB01]_, and an effect for a shared family. The
    distributions are ``u ~ N(0, tau)`` for observers, ``v ~ N(0, omega)`` for families, and ``e ~
    N(0, sqrt(se^2 + sigma^2))`` for the residual. Families are treated as a random sample, so the
    coefficient ``same_family`` generalizes to other families from the same population.

    Parameters
    ----------
    matrix : Result
        As returned by `alikely.pairwise_matrix`.
    labels : mapping of str to str
        Family of each observer.
    n_draws : int
        Number of posterior draws.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    Result
        ``summary()`` has one row per parameter, named in the column ``parameter``: the
        coefficients and the standard deviations ``tau`` (observers), ``sigma`` (residual) and
        ``omega_family`` (families). Columns:

        - ``estimate``, ``sd``: posterior mean and standard deviation
        - limits of the equal-tailed interval
        - ``prob_positive``: posterior probability that the parameter is above 0
        - ``note``

        ``draws("posterior")`` contains draws of the parameters in ``summary()``. ``estimates`` has
        the following variables for each pair:

        - ``observer_a``, ``observer_b``, ``estimate``
        - ``se``: standard error for a typical pair with the same number of trials (see Notes)
        - ``accuracy``: mean logit of the two accuracies, centered over pairs
        - ``accuracy_squared``: the square of ``accuracy``
        - ``accuracy_gap``: absolute difference between the two logits

        ``posterior`` contains the draws in ArviZ format: coefficients of predictors (``b``),
        effects of observers (``u``) and of families (``v``), and the standard deviations of effects
        and residuals.

    Raises
    ------
    TypeError
        If `matrix` or `labels` has the wrong type.
    ValueError
        If the metric is directed.
    ValueError
        If an observer has no family.
    ValueError
        If some pairs are undefined, or all estimates are equal.
    ValueError
        If all pairs or no pairs are within a family, or all accuracies are equal.

    Notes
    -----
    Priors are scaled by the standard deviation s of the estimates: ``b ~ N(0, 2.5 s / sd(x))``, and
    ``tau`` and ``sigma`` are half-normal with scale s. The prior scale of ``omega`` is the standard
    deviation of all estimates or of the estimates for pairs within families, whichever is larger.

    Before logits are computed, 0.5 is added to the numbers of correct and incorrect responses. If
    two accuracies differ greatly, error consistency is close to 0, and so is its standard error. If
    precise estimates had larger weights, pairs of models with different accuracies would dominate
    the regression. Therefore, all pairs with the same number of trials are given the same standard
    error.

    Error consistency depends on the two accuracies, especially on their difference. We simulated
    families that differ in accuracy but have no excess agreement (`docs/validation`). A regression
    without accuracies as predictors overestimated the family effect by 0.03 to 0.05. The bias of
    the family effect was 0.007 to 0.02 with the mean accuracy and its square as predictors, and
    below 0.0005 when the difference in accuracy was added.

    All estimates in a matrix are based on the same questions, so their sampling errors are
    correlated. The variance of the coefficients that is due to the questions is estimated from the
    influence of each question [H74]_ and added to the variance of the draws.

    The standard deviations ``tau``, ``sigma`` and ``omega`` are estimated by importance sampling.
    If the importance weights are too uneven [V24]_, the result has a note.

    Examples
    --------
    >>> import alikely as al
    >>> board = al.simulate.leaderboard(30, 6, 1_000, shared=0.6, rng=1)
    >>> family = dict(zip(board.observers, board.data["family"].values.tolist()))
    >>> found = al.benchmark.agreement_regression(al.pairwise_matrix(board), labels=family, rng=1)
    >>> found
    <Result error_consistency: regression of 435 pairs of 30 observers, 6 families, 4000 draws>
    """
    n_draws = resolve("n_draws", n_draws)
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}")
    table, names = _pairs(matrix), matrix.observers
    labels = dict(zip(names, groups_of(names, labels, "family"), strict=True))
    regression, coords = _regression(table, labels, ACCURACIES)
    generator = np.random.default_rng(seed_sequence(rng))
    with step(f"regression of {len(table):,} pairs"):
        posterior = regression.draws(n_draws, generator)
    with step("covariance of pairs due to shared questions"):
        extra = _shared_errors(matrix, regression, posterior)
    posterior["b"] += generator.standard_normal(posterior["b"].shape) @ extra.T
    posterior = posterior.assign_coords(coords | {"draw": np.arange(n_draws)})
    parts = {
        "estimates": table.rename_axis("pair").to_xarray().drop_vars("pair"),
        "posterior": posterior.drop_attrs().expand_dims(chain=[0]),
    }
    return of_matrix(matrix, "regression", parts, **posterior.attrs)


# Functions that every kind of result has


def schema(_: xr.DataTree) -> Any:
    """Return the groups and variables that a file must have."""
    own: dict[str, tuple[str, ...]] = dict.fromkeys(SPREADS.values(), ("chain", "draw"))
    own["b"] = ("chain", "draw", "predictor")
    return {"estimates": {"estimate": ("pair",), "se": ("pair",)}, "posterior": own}


def observers(result: Result) -> list[str]:
    """Names of the observers."""
    return [str(name) for name in result.data["posterior"].to_dataset()["observer"].values]


def draws(result: Result, *, method: str) -> Floats:
    """Return draws of the parameters, in the order of the summary."""
    if method != "posterior":
        raise ValueError(f"method must be 'posterior' for a regression, got {method!r}")
    posterior = result.data["posterior"].to_dataset().isel(chain=0)
    return np.column_stack([posterior[name].values for name in ("b", *SPREADS.values())])


def summary(
    result: Result, *, ci_prob: float, intervals: Intervals, columns: Columns
) -> pd.DataFrame:
    """Tabulate coefficients and standard deviations."""
    chosen_methods(intervals, ("posterior",), ("posterior",), "posterior")
    posterior, table = result.data["posterior"].to_dataset(), draws(result, method="posterior")
    names = np.array([*posterior["predictor"].values, *SPREADS], dtype=object)
    n_effective, pareto_k = (result.data.attrs[name] for name in ("n_effective", "pareto_k"))
    poor = bool(pareto_k > WORST_K or n_effective < FEWEST_POINTS)
    rest = f"only {n_effective:.0f} effective draws (k-hat {pareto_k:.2f}): increase n_draws"
    n = posterior.sizes["group"]
    few = f"only {counted(n, 'group')} with pairs: the family effect depends on its prior"
    of_families = np.isin(names, ["same_family", "omega_family"]) & (n < FEWEST_GROUPS)
    frame = pd.DataFrame(
        {
            "parameter": names,
            "estimate": table.mean(axis=0),
            "sd": table.std(axis=0, ddof=1),
            **bound_columns("", "eti", ci_prob, interval(table, ci_prob, "eti")),
            "prob_positive": (table > 0).mean(axis=0),
            "note": [
                "; ".join(filter(None, [few * own, rest * poor])) for own in of_families.tolist()
            ],
        }
    )
    return with_columns(frame, list(frame), columns)


def method(_: Result, interval: str | None = None) -> str:
    """Choose the method whose interval a page shows."""
    return interval or "posterior"


def page_columns(result: Result, frame: pd.DataFrame, _: Sequence[str]) -> list[str]:
    """Choose the columns of a summary that a report shows."""
    return [name for name in frame if name != "note"]


def describe(result: Result) -> str:
    """Describe the size of the result in one line."""
    sizes = result.data["posterior"].sizes
    families = counted(sizes["group"], "family", "families")
    return (
        f"regression of {result.estimates.sizes['pair']} pairs of {sizes['observer']} observers, "
        f"{families}, {sizes['draw']} draws"
    )


def _pairs(matrix: Result) -> pd.DataFrame:
    """Pairs of a matrix, with predictors computed from their accuracies."""
    value = complete_estimates(matrix, "a regression")
    names, estimates = np.array(matrix.observers, dtype=object), matrix.estimates
    se = estimates["se"].values.reshape(value.shape)
    n_trials = estimates["cells"].values.reshape(*value.shape, 4).sum(axis=(0, 2))
    i, j = np.triu_indices(len(names), k=1)
    packed = packed_answers(matrix)
    right = np.stack([np.bitwise_count(part.right).sum(axis=1) for part in packed])
    shown = np.stack([part.n_shown() for part in packed])
    logit = special.logit((right + 0.5) / (shown + 1)).mean(axis=0)
    mean = (logit[i] + logit[j]) / 2
    variance = (se**2).sum(axis=0) / len(se) ** 2
    return pd.DataFrame(
        {
            "observer_a": names[i],
            "observer_b": names[j],
            "estimate": value.mean(axis=0),
            "se": np.sqrt((variance * n_trials).mean() / n_trials),
            "accuracy": mean - mean.mean(),
            "accuracy_squared": (mean - mean.mean()) ** 2,
            "accuracy_gap": np.abs(logit[i] - logit[j]),
        }
    )


def _regression(
    table: pd.DataFrame, family: Mapping[str, str], predictors: Sequence[str]
) -> tuple[PairRegression, dict[str, Any]]:
    """Regression of the pairs, and coordinates of predictors, observers and families."""
    if len(table) < 3 or table["estimate"].std() == 0:
        raise ValueError("a regression needs at least 3 pairs with different estimates")
    first, second = (pd.Index(family).get_indexer(table[f"observer_{side}"]) for side in "ab")
    code = np.array([*family.values()], dtype=object)
    equal = code[first] == code[second]
    # Families with one observer have no pairs and no effect.
    groups, number_of = np.unique(code[first][equal].astype(str), return_inverse=True)
    of_pair = np.full(len(table), -1)
    of_pair[equal] = number_of
    given = table[list(predictors)].to_numpy(dtype=np.float64)
    x = np.column_stack([np.ones(len(table)), equal, given - given.mean(axis=0)])
    titles = ["intercept", "same_family", *predictors]
    for title, column in zip(titles[1:], x.T[1:], strict=True):
        if column.std() == 0:
            raise ValueError(f"{title} is the same for all pairs; leave it out")
    if np.linalg.matrix_rank(x / np.linalg.norm(x, axis=0)) < len(titles):
        raise ValueError(f"predictors are collinear: {listed(titles[1:])}; leave one of them out")
    coords = {"predictor": titles, "observer": [*family], "group": groups.astype(object)}
    value, se = (table[name].to_numpy(np.float64) for name in ("estimate", "se"))
    return PairRegression(value, se, x, first, second, of_pair), coords


def _shared_errors(matrix: Result, regression: PairRegression, posterior: xr.Dataset) -> Floats:
    """Square root of the covariance of coefficients that shared questions add."""
    scales = np.exp([np.log(posterior[name].values).mean() for name in SPREADS.values()])
    weights = regression.weights(scales)
    n_places = len(place_names(matrix))
    total = np.zeros((len(weights),) * 2)
    for influence in influences(matrix, [weights / n_places] * n_places):
        total += influence @ influence.T
    extra = total - (weights * regression.se**2) @ weights.T
    unit = np.sqrt(np.diag(total)) + 1e-300
    values, vectors = np.linalg.eigh(extra / np.outer(unit, unit))
    # Negative additions, where errors cancel, are set to 0: intervals are never narrowed.
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0)))


def judge_agreement(
    matrix: Result,
    scores: Mapping[str, Mapping[str, float]],
    *,
    ci_prob: float | None = None,
) -> pd.DataFrame:
    """Correlate each judge's scores for candidates with judge-candidate agreement in errors [G25]_.

    More accurate candidates receive higher scores from judges, and also agree more with accurate
    judges. The quantity of interest is therefore the partial correlation of scores and agreement
    given accuracy [F24]_. Because agreements and accuracies are estimated from a finite number of
    questions, the variances and the covariance of their sampling errors are subtracted before
    correlations are computed [S04]_.

    Parameters
    ----------
    matrix : Result
        Agreement between all pairs of observers (judges and candidates), as returned by
        `alikely.pairwise_matrix`.
    scores : mapping of str to (mapping of str to float)
        Each judge's scores for the candidates, on any scale. The questions on which candidates are
        scored must differ from the questions from which agreement is computed. Scores and
        agreements computed from the same questions would share noise, which would bias the noise
        correction. Scores that judges give themselves are excluded, and a note is added.
    ci_prob : float, optional
        Probability level of the intervals, in (0, 1). Default: the probability level of the
        intervals in `matrix`.

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
        If a judge or candidate is not in the matrix, or the metric is directed.
    ValueError
        If scores are not finite numbers, or a judge has scored fewer than 6 candidates.

    Notes
    -----
    The interval is computed on Fisher's z scale, with a jackknife over candidates and Student's t
    quantiles (``n_candidates - 4`` degrees of freedom). If accuracies differ, the maximum possible
    error consistency is below 1. The partial correlation removes only the linear part of the
    dependence on accuracy.

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
    prob = float(of_kind(matrix, "matrix").data.attrs["ci_prob"]) if ci_prob is None else ci_prob
    if not isinstance(scores, Mapping) or not all(isinstance(s, Mapping) for s in scores.values()):
        raise TypeError(
            "scores must map judges to scores of candidates, such as {'judge': {'model': 0.5}}"
        )
    if not scores:
        raise ValueError("scores must have at least one judge, got none")
    rows = [_of_judge(matrix, judge, given, prob) for judge, given in scores.items()]
    return pd.DataFrame(rows, index=pd.Index(list(scores), name="judge"))


def _of_judge(
    matrix: Result, judge: str, scores: Mapping[str, float], prob: float
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
