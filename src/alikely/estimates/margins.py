"""Front door for decision margins: from trials and margins to a `Result`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.blocks import cluster_numbers
from alikely.data.pairs import Pairs
from alikely.data.tables import By
from alikely.data.trials import Trials
from alikely.errors.draws import chained
from alikely.estimates.doors import Ask, Drawn, Found, Kind, analyse, model_name
from alikely.estimates.result import Result
from alikely.inference.influence import of_items
from alikely.margins.checks import entry_remarks, model_checks
from alikely.margins.entries import entry_draws
from alikely.margins.machines import decision_margins
from alikely.margins.moments import FEWEST_CLASSES
from alikely.margins.posterior import MarginModel, margin_draws
from alikely.margins.reliability import split_half_reliability
from alikely.margins.tables import answers_of_group, class_answers, margin_table
from alikely.metrics import Metric
from alikely.metrics.alternatives import check_task
from alikely.metrics.margins import FEWEST_ITEMS, margin_metric

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from alikely.models._asked import AskedModel
    from alikely.models._given_priors import Priors

Direct = Literal["moments", "strengths"]
Model = Direct | MarginModel
# Without chains: what is of chains is refused.
DIRECT = get_args(Direct)

__all__ = ["MARGINS", "decision_margin_consistency"]


def decision_margin_consistency(  # noqa: PLR0913
    trials: Trials,
    margins: Any = None,
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    group: str = "kind",
    m: int | None = None,
    model: Model | AskedModel = "moments",
    priors: Priors | None = None,
    include: Sequence[str] = (),
    unmatched: Literal["error", "accept"] = "error",
    no_response: Literal["error", "drop"] = "error",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Decision-margin consistency of pairs of systems, with intervals of every school.

    Do two systems find the same items easy? A machine's margin of an item is its score for the true
    class above that for the best other one; a group of observers shows how easy an item is by its
    share of right answers. The estimate is their correlation over items [AK24]_, which the noise of
    single answers attenuates; beside it stands the correlation freed of that noise.

    Parameters
    ----------
    trials : Trials
        Answers of humans, and perhaps of the machines.
    margins : table, path or sequence of these, or Trials, optional
        Long tables of margins, logits or probabilities, or trials with probabilities of options, as
        for `alikely.margins.decision_margins` (call it yourself for coarse categories). Not needed
        to compare groups of observers.
    pairs : str, sequence of str, or sequence of (str, str)
        As in `error_consistency`, of systems: every observer with margins is one; the others are
        pooled by their label `group`, which is then the name of the system.
    by : {"condition", "dataset"} or None
        Groups of trials to keep apart. Pooled conditions of unequal difficulty correlate more.
    group : str
        Label of observers that pools those without margins: ``"kind"``, one given as a label to
        `alikely.Trials`, or ``"observer"`` for each on its own.
    m : int, optional
        Number of alternatives of the task; the number of classes if not given.
    model : {"moments", "strengths", "items", "observers", "criteria"}
        What frees the correlation of noise. ``"moments"``, milliseconds a pair: on the scale of
        shares, the correlation of normal scores of margins with the shares of right answers that
        endlessly many people like these would give; no law of strengths is assumed. The others are
        of the scale of strengths. ``"strengths"``, a tenth of a second a pair: the correlation of
        normal scores of margins with those of strengths of any skewness and tail, of a model and a
        group, with room for what that distribution leaves out. By chains:
        ``"items"``: `alikely.models.item_margins`, seconds a pair. ``"observers"``: for machine and
        group `alikely.models.observer_margins`, up to a minute a pair, where few observers answered
        each item often. ``"criteria"``: for a model and a group, a criterion for each class, which
        removes the response bias of the group from the strengths (`margin_draws`).
        It needs responses and at least 3 classes, takes minutes per pair, and attributes all
        incorrect responses to bias, none to similar classes. A custom model describes one entry,
        with ``rho`` and, for a model, ``strength`` (item). The two scales differ: on the scale of
        proportion correct even a perfect model scores below 1 if proportions are a nonlinear
        function of the normal scores of its margins.
    priors : mapping, optional
        Other priors of that model's variables by name.
    include : "all" or sequence of str
        Groups to add to ``result.chains``, as in `alikely.inference.extended`.
    unmatched : {"error", "accept"}
        As in `alikely.margins.tables.margin_table`.
    no_response : {"error", "drop"}
        Count a missing response as an error, or as no answer.
    n_resamples : int
        Bootstrap replicates of items; 0 for none.
    n_draws : int
        Draws of what is freed of noise; 0 for none.
    cluster : str, optional
        Column of the items, kept by ``item_columns=`` when data are read, such as ``"template"``:
        items that share its value are dependent, and clusters are the sampling unit of standard
        errors, bootstrap, reliability and ``"moments"``. Or ``"item"``, for items that are in
        several conditions of a group. Default: classes, where these are known and at least 5 in
        each group of trials.
    ci_prob : float, optional
        As in `error_consistency`.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same result.

    Returns
    -------
    Result
        One entry per pair of systems and group of trials; ``n_trials`` counts items common to
        both. Beside the estimate ``reliability`` (that of the groups' shares, by split halves),
        its root ``ceiling``, which is what the estimate would be without other differences, and
        ``corrected``, the estimate over it. ``result.data["ceilings"]`` has the reliability of each
        group with its interval: the consistency of the group with another one like it. ``scale``
        says what is freed of noise: ``"share"``, ``"strength"``, or ``"margin"`` of two
        machines. With ``"moments"`` and classes also ``share_within`` with its interval, of
        deviations from the means of classes, and ``share_between``, of these means (of two machines
        both are of normal scores of margins); and in
        ``result.estimates`` ``share_consistency`` (not held within [-1, 1]) and p-values of
        checks. The column ``note`` speaks of those that matter to what stands in the row: with
        ``"moments"`` below .04 of ``p_bend`` (strengths are no line in raw margins), if their raw
        correlation, freed of noise, lies outside the interval, and of ``p_within`` (the correlation
        within classes is another one than in all), and not of ``p_skew`` (strengths are skewed),
        ``p_repeats`` (people have something of their own on items) and ``p_classes`` (classes
        differ beyond what margins tell). With ``"strengths"`` these are below .02 ``p_line``
        (margins are a line in skewed strengths), ``p_law`` (strengths have two modes), ``p_within``
        (of shares) and ``p_skew``, and without a note ``p_repeats``;
        ``inflation`` is the variance that items show over that by the model. With models by chains,
        of machine and group, below .027 ``p_bend``, ``p_skew`` and, but for ``"observers"``,
        ``p_repeats``.
        ``result.chains`` has the fit of each entry that has one, for ArviZ;
        ``result.data["strengths"]`` has posterior mean and standard deviation of the item
        strengths behind each machine's entry, ``result.data["criteria"]`` those of the criterion of
        each class by the model of that name: above 0 where it is answered too often.

    Raises
    ------
    TypeError
        If `trials` is not of that class.
    ValueError
        If an option is invalid, or trials and margins do not allow the comparison; the message
        says why.

    Warns
    -----
    SamplingWarning
        If chains did not do what they should.

    Notes
    -----
    `compare` has two more options for this metric: ``link`` of `alikely.models.item_margins`, and
    ``method="spearman"`` for the estimate, its standard error and the bootstrap.

    Analytic intervals (Fisher's z) and the bootstrap are of the attenuated estimate over items, or
    classes of items, with the same observers. The interval of ``"moments"`` is over new items and
    new people like these; items of a class err together, where classes are known and at least 5.
    Its draws have its limits as quantiles, and belong together over pairs, as influences of items
    on both do; so do those of ``"strengths"``. Its bounds are held within [-1, 1]; they are -1 and
    1 where a reliability may be 0. The others' posterior takes answers of an item as those of any
    like observers.

    References
    ----------
    .. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> items = trials.data["item"].values
    >>> rng = np.random.default_rng(1)
    >>> margins = pd.DataFrame({"observer": "net", "condition": "noise", "item": items})
    >>> margins["dataset"] = trials.data["dataset"].values
    >>> margins["margin"] = rng.normal(size=len(items))
    >>> result = al.decision_margin_consistency(
    ...     trials.select(kind="human"), margins, n_draws=0, rng=1
    ... )
    >>> result.summary()[["observer_a", "observer_b", "n_trials"]].values.tolist()
    [['human', 'net', 160]]
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
        cluster=cluster,
        ci_prob=ci_prob,
        rng=rng,
        options={
            "margins": margins,
            "group": group,
            "m": m,
            "model": model,
            "priors": priors,
            "include": include,
            "unmatched": unmatched,
        },
    )
    return analyse(trials, margin_metric(), MARGINS, ask)


def _count(trials: Any, metric: Metric, ask: Ask) -> xr.Dataset:
    if not isinstance(trials, Trials):
        raise TypeError(
            f"expected Trials, got {type(trials).__name__}; make them with Trials.from_table"
        )
    if ask.sampler != "auto":
        raise ValueError(
            f"sampler={ask.sampler!r} is of other metrics: of decision margins model= says how the "
            "posterior is drawn ('moments' without chains); leave sampler out"
        )
    options = DEFAULTS | ask.options
    check_task(2 if options["m"] is None else options["m"], options["link"])
    margins = _margins(options["margins"], trials)
    table = margin_table(
        trials, margins, ask.pairs, ask.by, ask.no_response,
        **{name: options[name] for name in ("group", "unmatched")}, cluster=ask.cluster,
    )  # fmt: skip
    if ask.n_draws:
        if of_items(table, ask.cluster) and _direct(options) != "moments":
            raise ValueError(
                f"model={model_name(options['model'])!r} has no posterior for clusters of items, "
                f"got cluster={ask.cluster!r}; use model='moments', or n_draws=0 for the analytic "
                "interval"
            )
        if _direct(options) != "moments" or options["m"] is not None or trials.has_classes:
            table.attrs["n_alternatives"] = _alternatives(trials, options["m"])
        if isinstance(options["model"], str) and options["model"] == "criteria":
            attrs = table.attrs
            table = class_answers(trials, table).assign_attrs(attrs)
    return table


def _direct(options: dict[str, Any]) -> Direct | None:
    """Which estimator without chains, if any; refuses what only models take."""
    model = options["model"]
    if isinstance(model, str) and model in DIRECT:
        given = [name for name in ("priors", "include") if options[name]]
        if given:
            raise ValueError(
                f"{given[0]} is of a model that chains sample, and model is {model!r}: use "
                "model='items', 'observers' or 'criteria'"
            )
        if model == "moments" and options["link"] != DEFAULTS["link"]:
            raise ValueError(
                f"link is of models of strengths, and model is {model!r}, which has none: use "
                "model='strengths' or 'items'"
            )
        return cast(Direct, model)
    if not (isinstance(model, str) and model in get_args(MarginModel)):
        # The models' room imports PyMC: only when needed.
        from alikely.models._asked import is_named

        is_named(model, (*DIRECT, *get_args(MarginModel)))
    return None


def _beside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    """Reliability of the groups, and the estimate freed of what they lack."""
    ceilings = _ceilings(table, ask, seed)
    model = (DEFAULTS | ask.options)["model"]
    variables: dict[str, Any] = {
        "remark": ("pair", entry_remarks(table, model if ask.n_draws else None))
    }
    if "corrected" in metric.beside:
        variables |= _corrected(table, ceilings, estimates["estimate"].values)
    return Found(variables, {"ceilings": ceilings})


def _draw(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Drawn:
    options = DEFAULTS | ask.options
    if direct := _direct(options):
        return _draw_directly(table, metric, ask, direct, seed)
    drawn = margin_draws(
        table,
        ask.n_draws,
        m=table.attrs["n_alternatives"],
        link=options["link"],
        model=options["model"],
        priors=options["priors"],
        include=options["include"],
        rng=seed,
    )
    groups = {
        "posterior": chained(drawn.values, table, metric, "nuts", joint=False),
        "strengths": _strengths(table, drawn.strength, drawn.spread),
    }
    if "answers" in table:
        groups["criteria"] = _criteria(table, drawn.fits)
    variables: dict[str, Any] = {"scale": _scale(table, "strength")}
    remarks = drawn.reasons
    if isinstance(options["model"], str):
        fitted = remarks == ""
        m = table.attrs["n_alternatives"]
        p_values, told = model_checks(table, options["model"], m, options["link"], fitted)
        variables |= {name: ("pair", p) for name, p in p_values.items()}
        remarks = np.where(fitted, told, remarks)
    return Drawn(groups, remarks, drawn.fits, variables)


def _criteria(table: xr.Dataset, fits: Mapping[str, xr.DataTree]) -> xr.Dataset:
    """How much more often than by the strengths each class is the answer, in units of the noise."""
    of_fit = {name: fit["posterior"]["criterion"] for name, fit in fits.items()}
    empty = np.full(table.sizes["class"], np.nan)
    labels = table["pair"].values
    moments = {
        name: np.array(
            [
                getattr(of_fit[label], name)(("chain", "draw")).values if label in of_fit else empty
                for label in labels
            ]
        )
        for name in ("mean", "std")
    }
    return xr.Dataset(
        {
            "mean": (("pair", "class"), moments["mean"]),
            "sd": (("pair", "class"), moments["std"]),
        },
        coords={"pair": labels, "class": table["class"].values},
    )


def _scale(table: xr.Dataset, of_people: str) -> tuple[str, NDArray[np.object_]]:
    """Scale of what is freed of noise; two machines have none."""
    systems = np.stack([table["first"].values, table["second"].values])
    machines = table["is_machine"].values[systems].all(axis=0)
    return "pair", np.where(machines, "margin", of_people).astype(object)


def _draw_directly(
    table: xr.Dataset, metric: Metric, ask: Ask, model: Direct, seed: np.random.SeedSequence
) -> Drawn:
    drawn = entry_draws(
        table,
        # Four chains of equal length, as all results have.
        4 * -(-ask.n_draws // 4),
        model=model,
        m=table.attrs.get("n_alternatives"),
        link=(DEFAULTS | ask.options)["link"],
        ci_prob=ask.ci_prob,
        cluster=ask.cluster,
        rng=seed,
    )
    variables: dict[str, Any] = {name: ("pair", value) for name, value in drawn.checks.items()}
    variables["scale"] = _scale(table, "share" if model == "moments" else "strength")
    groups = {"posterior": chained(drawn.values, table, metric, model)}
    if model == "strengths":
        groups["strengths"] = _strengths(table, drawn.strength, drawn.spread)
    return Drawn(groups, drawn.reasons, variables=variables)


def _strengths(table: xr.Dataset, mean: NDArray[np.float64], sd: NDArray[np.float64]) -> xr.Dataset:
    """Posterior of the item strengths behind each machine's entry."""
    return xr.Dataset(
        {"mean": (("pair", "trial"), mean), "sd": (("pair", "trial"), sd)},
        coords={"pair": table["pair"].values},
    )


def _margins(margins: Any, trials: Trials) -> pd.DataFrame | None:
    if margins is None:
        return None
    several = isinstance(margins, (list, tuple))
    return decision_margins(*(margins if several else [margins]), trials=trials)


def _alternatives(trials: Trials, m: int | None) -> int:
    if m is None and not trials.has_classes:
        raise ValueError(
            "these trials hold correctness only: give the number of alternatives of the task, m=..."
        )
    return len(trials.classes) if m is None else m


def _ceilings(table: xr.Dataset, ask: Ask, seed: np.random.SeedSequence) -> xr.Dataset:
    """Reliability of every group of two and more in every group of trials of an entry."""
    groups = np.unique(table["member_group"].values)
    trial_group = table["trial_group"].values
    clusters = cluster_numbers(table, str(ask.cluster)) if of_items(table, ask.cluster) else None
    places = [
        (int(system), int(g)) for g in np.unique(table["pair_group"].values) for system in groups
    ]
    rows = []
    for (system, g), own in zip(places, seed.spawn(len(places)), strict=True):
        items = np.flatnonzero((trial_group == g) & (table["shown"].values[system] > 0))
        right, shown = answers_of_group(table, system, items)
        if len(right) < 2:
            rows.append((np.nan,) * 4 + (len(right), len(items), "a single observer"))
        elif reason := _no_reliability(right, shown):
            rows.append((np.nan,) * 4 + (len(right), len(items), reason))
        else:
            share = np.divide(right, shown, out=np.zeros(right.shape), where=shown > 0)
            try:
                r = split_half_reliability(
                    share, shown, clusters=None if clusters is None else clusters[items],
                    ci_prob=ask.ci_prob, rng=own,
                )  # fmt: skip
            except ValueError as error:
                # The other entries have a reliability all the same.
                rows.append((np.nan,) * 4 + (len(right), len(items), str(error)))
                continue
            rows.append((r.split_half, r.reliability, r.lower, r.upper, len(right), len(items), ""))
    names = ["split_half", "reliability", "lower", "upper", "n_observers", "n_items", "undefined"]
    frame = pd.DataFrame(rows, columns=names)
    first_trial = np.array([np.argmax(trial_group == g) for _, g in places], dtype=np.intp)
    label = {
        key: table[f"trial_{key}"].values[first_trial] if key in _kept(table) else "all"
        for key in ("dataset", "condition")
    }
    frame = frame.assign(
        system=table["observer"].values[[system for system, _ in places]],
        trial_group=[g for _, g in places],
        **label,
    )
    texts = ["dataset", "condition", "undefined"]
    frame[texts] = frame[texts].astype(object)
    return xr.Dataset.from_dataframe(frame.rename_axis("ceiling"))


def _no_reliability(right: NDArray[np.int64], shown: NDArray[np.int64]) -> str:
    """Why items' shares have no reliability, empty where they have."""
    if shown.shape[1] < FEWEST_ITEMS:
        return "items do not differ"
    if ((shown > 0).sum(axis=0) > 1).sum() < FEWEST_ITEMS:
        return f"fewer than {FEWEST_ITEMS} items that two observers answered"
    share = np.divide(right, shown, out=np.full(right.shape, np.nan), where=shown > 0)
    if np.nanmax(share) == np.nanmin(share):
        return "items do not differ"
    spread = np.nanmax(share, axis=1) > np.nanmin(share, axis=1)
    if shown.min() == shown.max() and np.ptp(right.sum(axis=0)) == 0:
        return "items do not differ"
    # Whoever else is in it, one half of every split is always or never right.
    return "items do not differ for all but one observer" if spread.sum() < 2 else ""


def _kept(table: xr.Dataset) -> tuple[str, ...]:
    """Labels that the groups of trials keep apart."""
    kept = {"condition": ("dataset", "condition"), "dataset": ("dataset",)}
    return kept.get(str(table.attrs["by"]), ())


def _corrected(
    table: xr.Dataset, ceilings: xr.Dataset, estimates: NDArray[np.float64]
) -> dict[str, Any]:
    """Reliability of both indices together, and the estimate over its root."""
    of = {
        (system, g): value
        for system, g, value in zip(
            ceilings["system"].values,
            ceilings["trial_group"].values,
            ceilings["reliability"].values,
            strict=True,
        )
    }
    names = table["observer"].values
    both = zip(
        table["first"].values, table["second"].values, table["pair_group"].values, strict=True
    )
    # A machine answers the same every time.
    reliability = np.array(
        [of.get((names[a], g), 1.0) * of.get((names[b], g), 1.0) for a, b, g in both]
    )
    root = np.sqrt(np.where(reliability > 0, reliability, np.nan))
    return {
        "reliability": ("pair", reliability),
        "ceiling": ("pair", root),
        "corrected": ("pair", estimates / root),
    }


def _cluster(table: xr.Dataset, ask: Ask) -> str | None:
    """Classes err together, where all groups of trials have enough of them."""
    if ask.cluster is not None:
        return ask.cluster
    classes = pd.Series(table["true_class"].values)
    if (classes < 0).any():
        return None
    enough = classes.groupby(table["trial_group"].values).nunique() >= FEWEST_CLASSES
    return "true_class" if enough.all() else None


# Options that only this kind of door has.
DEFAULTS: dict[str, Any] = {
    "margins": None,
    "group": "kind",
    "m": None,
    "link": "m_afc",
    "model": "moments",
    "priors": None,
    "include": (),
    "unmatched": "error",
}
MARGINS = Kind(
    _count,
    _beside,
    _draw,
    lambda metric, ask: model_name((DEFAULTS | ask.options)["model"]),
    tuple(DEFAULTS),
    _cluster,
)
