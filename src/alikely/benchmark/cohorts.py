"""The cohort copy model for benchmarks: fit, scores, posterior predictive check, contrasts.

References
----------
.. [C50] Cochran (1950). The comparison of percentages in matched samples.
   doi:10.1093/biomet/37.3-4.256
.. [GMS96] Gelman, Meng, Stern (1996). Posterior predictive assessment of model fitness via realized
   discrepancies. Statistica Sinica 6, 733-760.
.. [P65] Plackett (1965). A class of bivariate distributions.
   doi:10.1080/01621459.1965.10480807
.. [R86] Robins (1986). A new approach to causal inference in mortality studies with a sustained
   exposure period. doi:10.1016/0270-0255(86)90088-6
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from alikely._base.arrays import Floats, within
from alikely._base.checks import of_type, one_of, require_names
from alikely._base.intervals import CiKind, bound_columns, check_interval
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely._base.steps import LOG
from alikely.benchmark.layout import HUMANS, OVERALL, refuse_own_names
from alikely.benchmark.scores import correctness_of_humans
from alikely.data.blocks import LEFT_OUT
from alikely.data.cohorts import cohort_counts
from alikely.data.covariates import covariate_tables, covariates_dataset
from alikely.data.ingest import label
from alikely.data.summaries import missing_note_of
from alikely.data.tables import MAKE
from alikely.data.trials import Trials
from alikely.inference.chains import nuts, with_constants
from alikely.inference.intervals import interval

if TYPE_CHECKING:
    from alikely.data.covariates import Covariates
    from alikely.models._arguments import AskedModel
    from alikely.models._priors import Priors

MANY_CONDITIONS = 10
# Significance level of the note that humans differ in accuracy. Four humans on 160 images reach it
# if the standard deviation of their accuracies is about 0.2 logits.
ALPHA = 0.01
# Equal proportions differ from their mean by rounding.
NO_SPREAD = 1e-12
# More counts (of models by the pattern of correct humans) give a warning: 600 take seconds, the
# 43,000 of the public benchmark take more than ten minutes.
MANY_ROWS = 10_000
# Thinning: in shorter chains, the r_hat of some of many variables exceeds its limit by chance.
THIN = 2
# Variables that scores, checks and comparisons need, and their dimensions.
QUANTITIES = {
    "human_error_consistency": ("condition",),
    "copy_probability": ("entry",),
    "error_consistency": ("entry",),
    "row_probability": ("row",),
}
# Suffix of variables for the observed humans, where they differ from those for new humans.
THESE = "_these"
# Humans that scores describe, by the form of the model.
WHO = {"drawn": "new", 0: "alike"}


def fit_cohort(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    no_response: Literal["error", "drop"] = "error",
    human_effects: Literal["drawn", False] = "drawn",
    covariates: Covariates | None = None,
    priors: Priors | None = None,
    model: AskedModel = "cohort",
    n_draws: int | None = None,
    rng: RandomState = None,
    include: Sequence[str] = (),
) -> xr.DataTree:
    """Fit the cohort copy model to benchmark data.

    The cohort copy model assumes that evaluated models copy random members of a human population.

    Parameters
    ----------
    trials : Trials
        Aligned responses. Exclude conditions with `alikely.exclude_conditions` first.
    models, humans : str
        Observer kinds to treat as models and as humans.
    no_response : {"error", "drop"}
        How to treat missing responses, as in `alikely.data.joint_correctness`.
    human_effects : {"drawn", False}, default "drawn"
        How humans differ from one another, as in `alikely.models.cohort`:

        - ``"drawn"``: a sample from a population whose members differ in accuracy and in the images
          that they find difficult. Each model is scored against new humans from the population and
          against the observed humans. Humans are treated as a sample by default, because real
          humans are heterogeneous. In simulated benchmarks with heterogeneous humans, coverage was
          0.93 to 0.97 (nominal 0.95). Covariates require ``human_effects=False``.
        - ``False``: exchangeable humans; the fastest option. `cohort_scores` adds a note if
          Cochran's Q test over all conditions rejects exchangeability (p < 0.01).
    covariates : mapping of str to table, optional
        Covariates of models (key ``"model"``), such as their family, or of conditions (key
        ``"condition"``). Tables of conditions have labels such as ``"cue | noise"`` (data set and
        condition). `alikely.models.cohort` describes these tables,
        and `alikely.benchmark.cohort_contrasts` estimates the effects of covariates.
    priors : mapping, optional
        Priors for the model's variables by name, as in `alikely.models.cohort`.
    model : "cohort" or pymc.Model
        A custom generative model of the counts that `alikely.data.cohort_counts` returns, such as
        an extended `alikely.models.cohort`. `QUANTITIES` lists the variables that the model must
        define, and their dimensions.
    n_draws : int
        Total number of draws from 4 chains.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    include : "all" or sequence of str
        ArviZ groups to add to the result, as in `alikely.inference.nuts`. The log likelihood
        ``model_right`` has one row per model, condition and pattern of human responses. With
        ``human_effects=False``, all patterns in which the same number of humans are correct form
        one row.

    Returns
    -------
    xarray.DataTree
        MCMC fit, as returned by `alikely.inference.nuts`. With covariates, the tree also has the
        group ``covariates``, with one variable per covariate, whose dimension is ``model`` or
        ``condition``. The attributes of the returned tree include ``human_effects`` (``"drawn"``,
        or 0 for ``False``) and ``note``.

    Raises
    ------
    ValueError
        If an argument is invalid for `alikely.data.cohort_counts` or `alikely.models.cohort`.
    ValueError
        If a custom model lacks a variable or has a variable of the wrong shape, or if options of
        the built-in model are also given.

    Warns
    -----
    SamplingWarning
        If the chains did not converge or had divergent transitions.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> tree = al.fit_cohort(trials, rng=1)
    >>> dict(tree["posterior"]["copy_probability"].sizes)
    {'chain': 4, 'draw': 1000, 'entry': 6}
    """
    # These modules import PyMC, so they are imported only when needed.
    n_draws = resolve("n_draws", n_draws)
    from alikely.models._arguments import asked_model, refuse_options
    from alikely.models._priors import check_priors
    from alikely.models.cohorts import PLACES, cohort, cohort_layout

    check_priors(priors)
    own = getattr(model, "named_vars", None)
    # The form of a custom model follows from its variables.
    if own is not None:
        refuse_options(model, {"human_effects": human_effects != "drawn"})
        human_effects = "drawn" if f"error_consistency{THESE}" in own else False
    drawn = human_effects == "drawn"
    refuse_options(model, {"priors": priors, "covariates": covariates is not None})
    counts = cohort_counts(
        trials, models=models, humans=humans, no_response=no_response, who_was_right=drawn
    )
    refuse_own_names("model", counts["model"].values.tolist(), (HUMANS,))
    refuse_own_names("data set", counts["dataset"].values.tolist(), (OVERALL,))
    layout = cohort_layout(counts)
    dims = {kind: (kind, counts[kind].values.tolist()) for kind in ("model", "condition")}
    n_rows = counts.sizes["stratum"] * counts.sizes["model"]
    if drawn and n_rows > MANY_ROWS:
        LOG.warning(
            "human_effects='drawn' of %s counts takes more than ten minutes; human_effects=False "
            "is faster",
            f"{n_rows:,}",
        )
    tables = covariate_tables(covariates, {kind: labels for kind, (_, labels) in dims.items()})
    built = asked_model(
        model,
        {
            "cohort": lambda: cohort(
                counts, human_effects=human_effects, covariates=tables, priors=priors
            )
        },
        QUANTITIES,
        {dim: layout["coords"][dim] for dim in ("condition", "entry", "row")},
        [layout["right"]],
    )
    # Few conditions determine spreads poorly: the posterior has narrow regions that need short
    # steps. With humans drawn it has none, and draws are less autocorrelated.
    few = counts.sizes["condition"] < MANY_CONDITIONS and not drawn
    target, thin = 0.99 if few else 0.9, 1 if drawn else THIN
    tree = nuts(built, n_draws, 1_000, rng, target, thin=thin, include=include)
    answers = {name: ("row", layout[name]) for name in ("shown", "right")}
    # A custom model need not store the labels of its entries.
    known = {name: (dim, layout[name]) for name, dim in PLACES.items()} | answers
    with_constants(tree, xr.Dataset(known, layout["coords"]))
    if tables:
        tree["covariates"] = covariates_dataset(tables, dims)
    notes = ["" if drawn else note_on_alike(trials, humans)]
    notes.append(missing_note_of(trials.data, no_response, models, humans))
    tree.attrs |= {"human_effects": "drawn" if drawn else 0, "note": "; ".join(filter(None, notes))}
    return tree


def cohort_draws(tree: xr.DataTree) -> xr.Dataset:
    """Compute draws of the scores of a cohort model: means over conditions, then data sets."""
    layout, posterior = layout_of(tree), tree["posterior"].to_dataset()
    of_condition = layout["dataset_of_condition"].values
    datasets = list(dict.fromkeys(of_condition.tolist()))
    models, weights = _nested_weights(layout, datasets)
    present = weights.any(axis=2)
    humans = _shares(of_condition == np.array(datasets, object)[:, None])
    met = present[:-1].any(axis=1)
    # Overall, the mean over all data sets, and over those with models.
    humans = np.concatenate([humans, [humans.mean(axis=0)]])
    ceiling = np.concatenate([humans[:-1], [humans[:-1][met].mean(axis=0)]])

    def with_humans(values: Floats, human: Floats | float) -> Floats:
        """Scores by level and system; the last system is for the humans."""
        means = np.einsum("cde,lme->cdlm", values, weights)
        last = np.broadcast_to(human, means.shape[:3])[..., None]
        return np.concatenate([np.where(present, means, np.nan), last], axis=-1)

    out = {"copy_probability": with_humans(posterior["copy_probability"].values, np.nan)}
    for end in ("", THESE) if f"error_consistency{THESE}" in posterior else ("",):
        values = posterior[f"error_consistency{end}"].values
        human = posterior[f"human_error_consistency{end}"].values
        score = out[f"error_consistency{end}"] = with_humans(values, human @ humans.T)
        share = out[f"ceiling_normalized{end}"] = score / (human @ ceiling.T)[..., None]
        share[..., -1] = np.nan
    return xr.Dataset(
        {name: (("chain", "draw", "level", "system"), values) for name, values in out.items()},
        coords={"level": [*datasets, OVERALL], "system": [*models, HUMANS]},
    )


def cohort_scores(
    tree: xr.DataTree,
    level: str | None = OVERALL,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tabulate the scores estimated by the generative model `alikely.models.cohort`.

    Parameters
    ----------
    tree : xarray.DataTree
        Result of `fit_cohort`.
    level : str or None
        A data set or ``"overall"``. If ``None``, the table contains all data sets and
        ``"overall"``.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Probability level and kind of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per level and system, with columns

        - ``copy_probability``, ``error_consistency``, ``ceiling_normalized``: posterior means and
          bounds; also for the observed humans if their results differ
        - ``humans``: ``"new"`` (scores for new humans from a heterogeneous population) or
          ``"alike"`` (scores for new humans, assuming that all humans are equally accurate)
        - ``note``: the number of missing responses, and whether Cochran's Q test rejects the model

    Raises
    ------
    ValueError
        If `level` or an option is unknown.
    ValueError
        If the tree was not returned by `fit_cohort`.

    Examples
    --------
    >>> cohort_scores(tree)["system"].tolist()[-1]  # tree = al.fit_cohort(trials)
    'human-human'
    """
    ci_prob = resolve("ci_prob", ci_prob)
    ci_kind = resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    draws = cohort_draws(tree)
    known = draws["level"].values.tolist()
    if level is not None:
        one_of("level", level, tuple(known))
        draws = draws.sel(level=[level])
    stacked = draws.stack(sample=("chain", "draw"), row=("level", "system"))
    frame = pd.DataFrame(stacked["row"].values.tolist(), columns=["level", "system"])
    for variable, values in stacked.data_vars.items():
        table = values.transpose("sample", "row").values
        bounds = interval(table, ci_prob, ci_kind)
        frame[variable] = table.mean(axis=0)
        frame = frame.assign(**bound_columns(str(variable), ci_kind, ci_prob, bounds))
    frame["humans"] = WHO.get(tree.attrs.get("human_effects", ""), "")
    frame["note"] = tree.attrs.get("note", "")
    return frame[frame["error_consistency"].notna()].reset_index(drop=True)


def cohort_check(
    tree: xr.DataTree,
    by: Literal["all", "model", "condition"] = "all",
    *,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> pd.DataFrame:
    """Compare predicted with observed accuracy, by the number of humans who are correct.

    The two-sided posterior predictive p-value is that of [GMS96]_.
    """
    ci_prob = resolve("ci_prob", ci_prob)
    check_interval(ci_prob, "eti")
    one_of("by", by, ("all", "model", "condition"))
    layout = layout_of(tree)
    draws = tree["posterior"]["row_probability"]
    chosen = draws.stack(sample=("chain", "draw")).transpose("sample", "row")
    probability = chosen.values[:: max(1, len(chosen) // 1_000)]
    generator = np.random.default_rng(seed_sequence(rng))
    shown = layout["shown"].values
    replicated = generator.binomial(shown, probability)
    frame = layout[["n_humans", "n_right", "shown", "right"]].to_dataframe()
    frame["group"] = "all" if by == "all" else layout[by].values[layout["entry_of_row"].values]
    groups = frame[shown > 0].groupby(["group", "n_humans", "n_right"])
    table = groups[["shown", "right"]].sum().reset_index()
    member = np.eye(len(table))[groups.ngroup()]
    n, observed = table["shown"].to_numpy(), table["right"].to_numpy()
    right = replicated[:, shown > 0] @ member
    bounds = interval(right / n, ci_prob, "eti")
    tails = [(right >= observed).mean(axis=0), (right <= observed).mean(axis=0)]
    return table.drop(columns=["shown", "right"]).assign(
        n_answers=n,
        observed=observed / n,
        predicted=(right / n).mean(axis=0),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
        p_value=np.minimum(2 * np.min(tails, axis=0), 1.0),
    )


def layout_of(tree: xr.DataTree) -> xr.Dataset:
    """Read the labels of the entries of a cohort fit, and the responses in each row."""
    if "constant_data" not in tree.children or "model_of_entry" not in tree["constant_data"]:
        raise ValueError("this tree is not a cohort fit; make one with alikely.fit_cohort")
    data = tree["constant_data"].to_dataset()
    labels = {**tree["posterior"].to_dataset().coords, **data.coords}
    model, condition, dataset = (
        np.asarray(labels[dim].values) for dim in ("model", "condition", "dataset")
    )
    at = data["condition_of_entry"].values
    of_condition = dataset[data["dataset_of_condition"].values]
    return xr.Dataset(
        {
            "model": ("entry", model[data["model_of_entry"].values]),
            "condition": ("entry", condition[at].astype(object)),
            "dataset": ("entry", of_condition[at]),
            "condition_of_entry": ("entry", at),
            "dataset_of_condition": ("human_condition", of_condition),
            **{
                name: ("row", data[name].values)
                for name in ("entry_of_row", "n_humans", "n_right", "shown", "right")
            },
        }
    )


def _shares(member: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Weights of a mean over the last axis; all 0 if there are no members."""
    count = member.sum(axis=-1, keepdims=True)
    return np.asarray(member / np.maximum(count, 1), dtype=np.float64)


def cohort_effects(
    tree: xr.DataTree, covariate: str, values: Sequence[Any] | None = None
) -> xr.Dataset:
    """Draw the means that a cohort would have if all its models had the same covariate value."""
    column, posterior = covariate_values(tree, covariate), tree["posterior"].to_dataset()
    chosen = chosen_values(posterior[f"log_odds_ratio_{covariate}"], column, values)
    layout, kind = layout_of(tree), column.dims[0]
    _, weights = _nested_weights(layout, np.unique(layout["dataset"].values).tolist())
    own = column.sel({kind: layout[kind].values}).values
    at = {covariate: xr.DataArray(chosen, dims=covariate)}
    here = {covariate: xr.DataArray(own, dims="entry")}

    def change(name: str) -> xr.DataArray:
        effect = posterior[f"{name}_{covariate}"]
        if covariate in effect.dims:
            return effect.sel(at) - effect.sel(here).drop_vars(covariate)
        return effect * (at[covariate] - here[covariate])

    odds = posterior["log_odds_ratio"] + change("log_odds_ratio")
    accuracy, mu = posterior["accuracy"], posterior["human_accuracy"].drop_vars("condition")
    mu = mu.isel(condition=xr.DataArray(layout["condition_of_entry"].values, dims="entry"))
    copying = xr.apply_ufunc(_copy_probability, mu, accuracy, odds)
    # At given accuracies, error consistency is proportional to the copy probability.
    per_copy = posterior["error_consistency"] / posterior["copy_probability"]
    found = {
        "log_odds_ratio": odds,
        "copy_probability": copying,
        "error_consistency": copying * per_copy,
        "accuracy": special.expit(special.logit(accuracy) + change("level")),
    }
    weight = xr.DataArray(weights[-1].mean(axis=0), dims="entry")
    means = xr.Dataset({name: each.dot(weight, dim="entry") for name, each in found.items()})
    return means.transpose("chain", "draw", covariate).assign_coords({covariate: chosen})


def cohort_contrasts(
    tree: xr.DataTree,
    covariate: str,
    values: Sequence[Any] | None = None,
    *,
    ci_prob: float | None = None,
    ci_kind: CiKind | None = None,
) -> pd.DataFrame:
    """Tabulate the effects of a covariate, such as the difference between transformers and CNNs.

    Parameters
    ----------
    tree : xarray.DataTree
        Result of `fit_cohort` with covariates.
    covariate : str
        Name of the covariate.
    values : sequence, optional
        Values to compare. Default: all groups or, for numeric covariates, the largest and the
        smallest value.
    ci_prob, ci_kind : float and {"eti", "hdi"}
        Probability level and kind of the intervals.

    Returns
    -------
    pandas.DataFrame
        One row per quantity and pair of values, with columns

        - ``quantity``, ``value``, ``other``
        - ``difference``: posterior mean for ``value`` minus that for ``other``, with bounds
        - ``prob_positive``: posterior probability that the difference is above 0

        Differences in copy probability and error consistency are computed with all accuracies held
        constant.

    Raises
    ------
    ValueError
        If the covariate or one of the named values does not exist, or if `ci_kind` is invalid.

    Examples
    --------
    >>> table = cohort_contrasts(tree, "family")  # tree = al.fit_cohort(trials, covariates=...)
    >>> table["quantity"].unique().tolist()
    ['log_odds_ratio', 'copy_probability', 'error_consistency', 'accuracy']
    """
    ci_prob, ci_kind = resolve("ci_prob", ci_prob), resolve("ci_kind", ci_kind)
    check_interval(ci_prob, ci_kind)
    draws = cohort_effects(tree, covariate, values)
    chosen = draws[covariate].values.tolist()
    if len(chosen) < 2:
        raise ValueError(f"a contrast needs at least 2 values of {covariate!r}, got {chosen}")
    one, other = np.triu_indices(len(chosen), 1)
    frames = []
    for name, quantity in draws.data_vars.items():
        flat = quantity.values.reshape(-1, len(chosen))
        difference = flat[:, one] - flat[:, other]
        columns = {
            "quantity": name,
            "value": [chosen[i] for i in one],
            "other": [chosen[j] for j in other],
            "difference": difference.mean(axis=0),
            **bound_columns("", ci_kind, ci_prob, interval(difference, ci_prob, ci_kind)),
            "prob_positive": (difference > 0).mean(axis=0),
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def covariate_values(tree: xr.DataTree, covariate: str) -> xr.DataArray:
    """Read the values of a covariate from a fit."""
    group = tree["covariates"].to_dataset() if "covariates" in tree.children else xr.Dataset()
    known = [str(name) for name in group.data_vars]
    if covariate not in known:
        given = f"it has {listed(known)}" if known else "fit it with covariates="
        raise ValueError(
            f"this fit has no covariate {covariate!r}; {given}{nearest(covariate, known)}"
        )
    return group[covariate]


def chosen_values(
    effect: xr.DataArray, column: xr.DataArray, values: Sequence[Any] | None
) -> list[Any]:
    """Choose covariate values to compare; default: all groups, or the range of numeric values."""
    name = str(column.name)
    if name in effect.dims:
        known = effect[name].values.tolist()
        chosen = known if values is None else [label(value) for value in values]
        require_names(f"group of {name!r}", chosen, known)
        return chosen
    if values is None:
        return [float(column.max()), float(column.min())]
    numbers = pd.to_numeric(pd.Series(list(values), dtype=object), errors="coerce")
    if not np.isfinite(numbers.to_numpy(dtype=np.float64)).all():
        raise ValueError(f"{name!r} is numeric; values must be finite numbers, got {list(values)}")
    return [float(number) for number in numbers]


def _copy_probability(mu: Floats, accuracy: Floats, log_odds_ratio: Floats) -> Floats:
    """Probability of copying a human, from both accuracies and the log odds ratio [P65]_."""
    followed = within(_joint_probability(mu, accuracy, log_odds_ratio) / mu)
    alone = within(_joint_probability(1 - mu, accuracy, -log_odds_ratio) / (1 - mu))
    return np.asarray(followed - alone)


def _joint_probability(p: Floats, q: Floats, log_odds_ratio: Floats) -> Floats:
    """As `alikely.models.cohorts._joint_probability`, in NumPy."""
    excess = np.expm1(log_odds_ratio)
    total, ways = 1 + (p + q) * excess, (excess + 1) * p * q
    # The discriminant as a sum of nonnegative terms on both sides of independence.
    below = total**2 - 4 * excess * ways
    above = 1 + 2 * excess * (p + q - 2 * p * q) + (excess * (p - q)) ** 2
    root = np.sqrt(np.where(excess < 0, below, above))
    # Two forms of the root of the quadratic; each is exact where the other loses digits.
    positive = total > 0
    return np.where(
        positive,
        2 * ways / (np.where(positive, total, 1.0) + root),
        (total - root) / (2 * np.where(positive, -1.0, excess)),
    )


def _nested_weights(layout: xr.Dataset, datasets: Sequence[str]) -> tuple[list[str], Floats]:
    """Models, and weights of entries: (data set or all, model, entry), equal for conditions."""
    models = list(dict.fromkeys(layout["model"].values.tolist()))
    member = layout["model"].values == np.array(models, object)[:, None]
    here = layout["dataset"].values == np.array(datasets, object)[:, None]
    weights = _shares(here[:, None, :] & member)
    n_datasets = weights.any(axis=2).sum(axis=0)[:, None]
    return models, np.concatenate([weights, [weights.sum(axis=0) / n_datasets]])


def test_equal_accuracy(trials: Trials, *, humans: str = "human") -> pd.DataFrame:
    """Test whether the humans in each condition have the same accuracy (Cochran's Q [C50]_).

    Only trials that all humans of a condition were shown are used.
    """
    right, labels = correctness_of_humans(trials, humans, "error")
    rows = []
    for key, where in labels.groupby(["dataset", "condition"], sort=False).indices.items():
        x = right[:, where]
        x = x[(x != LEFT_OUT).any(axis=1)]
        if (k := len(x)) < 2:
            continue
        x = x[:, (x != LEFT_OUT).all(axis=0)]
        total = x.sum(axis=1)
        # Variation of the responses to a trial: for 0 and 1, correct times incorrect over k.
        divided = ((x - x.mean(axis=0)) ** 2).sum()
        between = ((total - total.mean()) ** 2).sum()
        q = (k - 1) * between / divided if divided > NO_SPREAD else np.nan
        rows.append((*key, k, x.shape[1], q, stats.chi2.sf(q, k - 1)))
    if not rows:
        raise ValueError(
            f"no condition has two observers of kind {humans!r}; name another kind with humans="
        )
    columns = ["dataset", "condition", "n_humans", "n_trials", "q", "p_value"]
    return pd.DataFrame(rows, columns=columns)


def note_on_alike(trials: Trials, humans: str) -> str:
    """Return a note if Cochran's Q of all conditions contradicts exchangeable humans."""
    try:
        table = test_equal_accuracy(of_type(trials, Trials, MAKE), humans=humans)
    except ValueError:
        # A single human cannot differ from others.
        return ""
    table = table[table["q"].notna()]
    p = float(stats.chi2.sf(table["q"].sum(), (table["n_humans"] - 1).sum()))
    if p >= ALPHA or table.empty:
        return ""
    number = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    return (
        f"Humans differ in accuracy (Cochran's Q, {number}): intervals for new humans are too "
        "narrow. Use human_effects='drawn'."
    )
