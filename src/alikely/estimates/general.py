"""The general front door: any metric, by name or as an object."""

from __future__ import annotations

from typing import Any, Literal

from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.pairs import Pairs
from alikely.data.tables import By
from alikely.estimates.consistency import CORRECTNESS
from alikely.estimates.doors import Ask, Kind, analyse, replicates_of
from alikely.estimates.error_kinds import LABELS, ROWS
from alikely.estimates.errors import compare_rows
from alikely.estimates.margins import MARGINS
from alikely.estimates.options import OPTIONS
from alikely.estimates.own_features import TRIALS
from alikely.estimates.readings import READINGS
from alikely.estimates.result import Result
from alikely.inference.sampling import Sampler
from alikely.metrics import Metric, get_metric
from alikely.metrics.cell_priors import Prior

__all__ = ["compare"]

KINDS: dict[str, Kind] = {
    "correctness": CORRECTNESS,
    "labels": LABELS,
    "readings": READINGS,
    "rows": ROWS,
    "margins": MARGINS,
    "options": OPTIONS,
    "probabilities": OPTIONS,
    "trials": TRIALS,
}


def compare(  # noqa: PLR0913
    trials: Any,
    metric: str | Metric = "error_consistency",
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
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
    **options: Any,
) -> Result:
    """Compare pairs of observers by any metric, with intervals of every school that it has.

    `error_consistency`, `misclassification_agreement`, `error_similarity` and
    `decision_margin_consistency` are this for one metric each.

    Parameters
    ----------
    trials : Trials or xarray.Dataset
        As in `error_consistency`.
    metric : str or Metric
        Name or short name of a registered metric (`alikely.metrics.metrics`), or one of your own.
    n_resamples : int, optional
        Number of bootstrap replicates; 0 disables them. Default: 10,000, and none for metrics whose
        bootstrap is known to be wrong (error similarity).
    pairs, by, no_response, n_draws, cluster, ci_prob, rng
        As in `error_consistency`. For metrics that are not symmetric, such as
        ``"copy_probability"``, the first of a pair is the reference; pairs of one kind stand in
        both orders.
    n_null, bayes_factor
        As in `error_consistency`, for metrics of correctness.
    prior : mapping or sequence of four numbers, optional
        As in `error_consistency` for metrics of correctness and of options; as in `agreement` for
        metrics of readings.
    sampler : {"auto", "exact", "nuts"}
        As in the front door of that kind of metric; of margins ``"auto"`` alone, where ``model``
        decides.
    **options
        Options of the metric (such as ``mixture`` of ``"error_similarity"``) and of its kind of
        table (``margins, group, m, link, model`` of `decision_margin_consistency`; ``priors`` of
        that door and those of wrong labels).

    Returns
    -------
    Result
        One entry per pair and group.

    Raises
    ------
    TypeError
        If `trials` or `metric` is of another type.
    ValueError
        If the metric is unknown, an option is invalid, or the trials do not allow the comparison;
        the message says why.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.compare(al.load_example(), "copy_probability", "human-model", rng=1)
    >>> result
    <Result copy_probability: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    found = get_metric(metric)
    kind = KINDS[found.counts]
    of_kind = {name: value for name, value in options.items() if name in kind.options}
    of_metric = {name: value for name, value in options.items() if name not in kind.options}
    made = get_metric(found, **of_metric)
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=replicates_of(made, n_resamples),
        n_draws=n_draws,
        n_null=n_null,
        bayes_factor=bayes_factor,
        sampler=sampler,
        prior=prior,
        cluster=cluster,
        ci_prob=ci_prob,
        rng=rng,
        options=of_kind,
    )
    return compare_rows(trials, made, ask) if kind is ROWS else analyse(trials, made, kind, ask)
