"""Error consistency, and every other metric of correctness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import stats

from alikely._base.notes import note
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.blocks import blocks, cluster_numbers
from alikely.data.pairs import Pairs
from alikely.data.repeats import recurring
from alikely.data.tables import By, joint_correctness
from alikely.data.trials import Trials
from alikely.estimates.chosen import design_draws, design_remarks
from alikely.estimates.doors import Ask, Drawn, Found, Kind, analyse, model_name
from alikely.estimates.result import Result
from alikely.inference import null
from alikely.inference.influence import equal_clusters, of_items
from alikely.inference.permutation import permutation_p
from alikely.inference.sampling import Sampler, posterior
from alikely.metrics import ERROR_CONSISTENCY, Metric
from alikely.metrics.cell_priors import CellPrior, Prior, check_prior
from alikely.metrics.cells import divide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from alikely.models._asked import AskedModel


__all__ = ["AS_TRIALS", "CORRECTNESS", "counted", "error_consistency", "sampling_unit"]

# As a cluster: every answer is a trial of its own, also to an item that came back.
AS_TRIALS = "trial"
# Where other entries have tests that take answers for independent.
NOT_ONCE = note("repeats-no-tests")


def error_consistency(  # noqa: PLR0913
    trials: Trials | xr.Dataset,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    n_null: int = 10_000,
    bayes_factor: bool = True,
    sampler: Sampler = "auto",
    prior: Prior | None = None,
    model: AskedModel = "copying",
    include: Sequence[str] = (),
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Error consistency of pairs of observers, with intervals of every school.

    Error consistency (EC) is Cohen's kappa of two observers' correctness: do they err on the same
    trials more often than their accuracies alone would have it [G20]_ [K25]_?

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        Aligned responses; or a table from `alikely.data.from_counts`, when all you have are the
        four cells of each pair (then ``pairs``, ``by`` and ``no_response`` have nothing to do).
    pairs : str or sequence of (str, str)
        ``"all"``, two kinds such as ``"human-model"`` (the first is the reference), or a list.
    by : {"condition", "dataset"} or None
        Groups to keep apart. Pooling conditions of unequal difficulty inflates EC.
    no_response : {"error", "drop"}
        Count a missing response as an error, or leave the trial out of that observer's pairs.
    n_resamples : int
        Bootstrap replicates; 0 for none.
    n_draws : int
        Posterior draws; 0 for none: equal-tailed posterior limits then come from the counts alone
        (`posterior_limits`), under a Dirichlet prior and where no item comes
        back. What needs draws, such as means and differences, has no posterior then.
    n_null : int
        Draws of the test against independent observers; 0 for none.
    bayes_factor : bool
        Whether to compute the Bayes factor of association.
    sampler : {"auto", "exact", "nuts"}
        How to draw from the posterior, see `alikely.inference.posterior`.
    prior : mapping or sequence of four numbers, optional
        Prior on the cells of a pair: Dirichlet parameters of ``n11, n10, n01, n00`` (both correct,
        only `a`, only `b`, neither), or Beta parameters by name, see `alikely.models.copying`.
        Default: 1/2 for each cell. Differences and means need a Dirichlet with ``n10 = n01`` and
        ``n11 n00 >= n10 n01``. The Bayes factor uses it too; its default is 1 for each cell.
    model : "copying" or pymc.Model
        `alikely.models.copying`; for MCMC also a custom model of these pairs, with
        ``error_consistency`` (pair). It must contain the data, in any layout: the cells of each
        pair, or the correctness of its observers over the trials.
    include : "all" or sequence of str
        Groups to add to the result. ``["log_likelihood"]``: the log likelihood of every trial, for
        `arviz.loo`. Others are for MCMC and added to ``result.chains``, as in
        `alikely.inference.extended`.
    cluster : str, optional
        Trial coordinate whose trials err together, such as ``"item"``: they are one unit in
        estimates of error, bootstrap, posterior and null test. By default items, where any comes
        back: for repeats every answer of one observer then meets every answer of the other, and in
        other conditions of a data set a label is the same item. ``"trial"`` takes all answers for
        independent, a first answer with a first one; every row says so.
    ci_prob : float
        Probability of the intervals that `Result.summary` shows by default, in (0, 1).
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.

    Returns
    -------
    Result
        One entry per pair and group. With ``sampler="nuts"`` ``result.chains["all pairs"]`` is the
        whole fit, for ArviZ.

    Raises
    ------
    TypeError
        If `trials` is neither.
    ValueError
        If an option is invalid, a custom model does not contain these data, or the trials do not
        allow the comparison; the message gives the reason.

    References
    ----------
    .. [G20] Geirhos, Meding, Wichmann (2020). Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency. doi:10.48550/arXiv.2006.16736
    .. [K25] Klein, Meyen, Brendel, Wichmann, Meding (2025). Quantifying uncertainty in error
       consistency: towards reliable behavioral comparison of classifiers.
       doi:10.48550/arXiv.2507.06645

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
    >>> result.summary()[["condition", "observer_a", "observer_b", "estimate"]].shape
    (18, 4)
    """
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    n_resamples = resolve("n_resamples", n_resamples)
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=n_resamples,
        n_draws=n_draws,
        n_null=n_null,
        bayes_factor=bayes_factor,
        sampler=sampler,
        prior=prior,
        cluster=cluster,
        ci_prob=ci_prob,
        rng=rng,
        options={"model": model, "include": include},
    )
    return analyse(trials, ERROR_CONSISTENCY, CORRECTNESS, ask)


def counted(trials: Any, metric: Metric, ask: Ask, **how: Any) -> xr.Dataset:
    """Table of counts, made of trials or given as it is."""
    if isinstance(trials, Trials):
        if ask.cluster is None and (odd := recurring(trials.data).odd):
            raise ValueError(
                f"{odd} has several truths, and hardly any other label does: give it one truth, "
                "or cluster='trial' if labels are of other items in each condition"
            )
        repeats = "paired" if ask.cluster == AS_TRIALS else "crossed"
        return joint_correctness(
            trials,
            ask.pairs,
            ask.by,
            ask.no_response,
            directed=not metric.symmetric,
            **{"repeats": repeats, **how},
        )
    if not (isinstance(trials, xr.Dataset) and "cells" in trials):
        raise TypeError(
            f"expected Trials or a count table, got {type(trials).__name__}; make one with "
            "Trials.from_table, Trials.read or data.from_counts"
        )
    return trials


def sampling_unit(table: xr.Dataset, ask: Ask) -> str | None:
    """Trial coordinate whose trials err together: that asked for, or items that come back."""
    if ask.cluster is not None:
        return None if ask.cluster == AS_TRIALS else ask.cluster
    if "inclusion" in table:
        # A plan draws the images of each condition apart.
        return None
    attrs = table.attrs
    again = attrs.get("recurring") == "one item" or attrs.get("repeats") == "crossed"
    return "item" if again else None


def _recurs(table: xr.Dataset, unit: str | None) -> NDArray[np.bool_]:
    """Whether an item came back to either observer of each entry, within its group of trials."""
    out = np.zeros(table.sizes["pair"], dtype=bool)
    if unit is None:
        return out
    numbers = cluster_numbers(table, unit)
    again = table["answers"].values > 1 if "answers" in table else None
    for block in blocks(table):
        if len(np.unique(numbers[block.trials])) < len(block.trials):
            out[block.rows] = True
        elif again is not None:
            of_observer = again[:, block.trials].any(axis=1)
            first, second = (table[name].values[block.rows] for name in ("first", "second"))
            out[block.rows] = of_observer[first] | of_observer[second]
    return out


def _beside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    """Tests of independence of every pair, and what the metric has beside it."""
    cells, value = table["cells"].values, estimates["estimate"].values
    if "inclusion" in table:
        # Weighted counts are no counts: the tests of independence have none.
        told: dict[str, NDArray[Any]] = {"remark": design_remarks(table, estimates)}
        told |= {name: function(cells) for name, function in metric.derived.items()}
        return Found({name: ("pair", values) for name, values in told.items()})
    unit = sampling_unit(table, ask)
    # Two-sided, about the value of independent observers: only where that is one number.
    middle = metric.independent if ask.n_null else None
    found: dict[str, NDArray[Any]] = {}
    recurs = _recurs(table, unit)
    if not recurs.all():
        # Answers to one item are not independent: neither Fisher's test nor the Bayes factor holds.
        once = np.rint(cells[~recurs]).astype(np.int64)
        tests = {"p_fisher": null.fisher_exact(once)}
        if ask.bayes_factor:
            own = null.bayes_factor_prior(ask.prior)
            tests["log_bf10"] = null.log_bayes_factor(once, prior=own)
        for name, values in tests.items():
            found[name] = np.full(len(cells), np.nan)
            found[name][~recurs] = values
    if middle is not None and recurs.any():
        found["p_null"] = permutation_p(table, metric, ask.n_null, unit, seed)
        if unit is not None and of_items(table, unit):
            # Clusters of different sizes cannot be exchanged.
            away = np.abs(divide(value - middle, estimates["se"].values))
            by_student = 2 * stats.t.sf(away, estimates["df"].values)
            alike = equal_clusters(table, unit)
            found["p_null"] = np.where(alike, found["p_null"], by_student)
    elif middle is not None:
        draws = null.null_draws(cells, ask.n_null, metric, seed)
        found["p_null"] = null.p_value(value - middle, draws - middle)
    if recurs.any() and not recurs.all():
        found["remark"] = np.where(recurs, NOT_ONCE, "").astype(object)
    found |= {name: function(cells) for name, function in metric.derived.items()}
    return Found({name: ("pair", values) for name, values in found.items()})


def _closed(table: xr.Dataset, metric: Metric, ask: Ask) -> bool:
    """Whether the posterior of every pair has limits without draws."""
    if "inclusion" in table:
        return False
    exact = ask.sampler != "nuts" and ask.ci_kind == "eti"
    beta = check_prior(ask.prior)
    closed = "copy_probability" not in beta and CellPrior(**beta).is_dirichlet
    plain = ask.options.get("model", "copying") == "copying" and not ask.options.get("include")
    once = not np.any(_recurs(table, sampling_unit(table, ask)))
    return bool(metric.limits and exact and closed and plain and once)


def _draw(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    if "inclusion" in table:
        return design_draws(table, metric, ask, seed)
    tree = posterior(
        table,
        ask.sampler,
        ask.prior,
        ask.n_draws,
        seed,
        metric=metric,
        cluster=sampling_unit(table, ask),
        **ask.options,
    )
    draws = tree["posterior"].to_dataset()
    if draws.attrs["sampler"] == "exact":
        return Drawn({name: tree[name].to_dataset() for name in tree.children})
    estimands = [name for name in {**dict.fromkeys(SHOWN), metric.name: None} if name in draws]
    groups = {"posterior": draws[estimands].reset_coords(drop=True)}
    if "log_likelihood" in tree.children:
        groups["log_likelihood"] = tree["log_likelihood"].to_dataset()
    return Drawn(groups, fits={"all pairs": tree})


# What a result shows of chains; the rest is in their trees.
SHOWN = ("error_consistency", "copy_probability")
CORRECTNESS = Kind(
    counted,
    _beside,
    _draw,
    lambda metric, ask: model_name(ask.options.get("model", "copying")),
    ("model", "include"),
    sampling_unit,
    _closed,
)
