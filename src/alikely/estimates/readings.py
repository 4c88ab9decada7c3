"""Agreement of the readings themselves: pairs of readers, or all of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.names import listed, nearest
from alikely._base.notes import note
from alikely._base.random import RandomState
from alikely._base.settings import resolve
from alikely.data.blocks import LEFT_OUT, Block, blocks
from alikely.data.columns import SILENT
from alikely.data.pairs import Pairs
from alikely.data.tables import By, pair_labels
from alikely.data.trials import Trials
from alikely.estimates.consistency import AS_TRIALS, counted, sampling_unit
from alikely.estimates.doors import Ask, Found, Kind, analyse
from alikely.estimates.own_features import draw_process
from alikely.estimates.result import Result
from alikely.metrics import Metric, consistency, get_metric
from alikely.metrics.cell_priors import Prior

__all__ = ["READINGS", "agreement", "agreement_table"]

# Coefficients by the names of people and books: of two readers and of many they go by others.
COEFFICIENTS = MappingProxyType(
    {
        "cohen_kappa": "cohen_kappa",
        "conger_kappa": "cohen_kappa",
        "fleiss_kappa": "fleiss_kappa",
        "scott_pi": "fleiss_kappa",
        "gwet_ac1": "gwet_ac1",
        "krippendorff_alpha": "krippendorff_alpha",
        "brennan_prediger": "brennan_prediger",
        "pabak": "brennan_prediger",
        "raw_agreement": "raw_agreement",
    }
)
SENTENCE = (
    "agreement counts right answers too; error consistency (EC) asks whether errors fall on the "
    "same items, given how often each reader errs"
)
# Label of an entry of all readers: they are compared with one another.
ALL = "all readers"


def agreement(
    trials: Trials | xr.Dataset,
    coefficient: str = "cohen_kappa",
    pairs: Pairs = "all",
    by: By = "condition",
    *,
    readers: Literal["pairs", "all"] = "pairs",
    no_response: Literal["error", "drop"] = "drop",
    n_resamples: int | None = None,
    n_draws: int | None = None,
    prior: Prior | None = None,
    cluster: str | None = None,
    ci_prob: float | None = None,
    rng: RandomState = None,
) -> Result:
    """Agreement of the readings themselves, right or wrong, of two readers or of many.

    Agreement counts right answers too, and is high wherever readers are accurate. Error consistency
    (EC), which stands beside it, asks whether errors fall on the same items, given how often each
    reader errs.

    Parameters
    ----------
    trials : Trials
        Aligned readings with their classes. The truth has no part in agreement; EC and accuracies
        beside it are of the truth.
    coefficient : str
        ``"cohen_kappa"`` [C60]_ (of many readers that of Conger [C80]_, ``"conger_kappa"``),
        ``"fleiss_kappa"`` [F71]_ (of two readers Scott's pi, ``"scott_pi"``), ``"gwet_ac1"``
        [G08]_, ``"krippendorff_alpha"`` [K70]_, ``"brennan_prediger"`` [BP81]_ (of two classes the
        prevalence- and bias-adjusted kappa, ``"pabak"`` [BBC93]_), or ``"raw_agreement"``.
    pairs, by, n_resamples, ci_prob, rng
        As in `error_consistency`.
    readers : {"pairs", "all"}
        An entry for each pair, from the items that both read; or for all readers of these pairs at
        once, from all their readings [G14]_.
    no_response : {"drop", "error"}
        Exclude missing readings, or count them as a class, ``(no response)``. Default ``"drop"``:
        an item that was not read says nothing about the reader.
    n_draws : int
        Draws of the posterior: a Dirichlet process of what all readers say of an item, with a prior
        of the weight of two items on which two readers agree two times in three; 0 for none.
    prior : mapping or sequence of four numbers, optional
        Dirichlet prior of the table of two readers by two classes, with ``n11 = n00`` above
        ``n10 = n01``; of more classes ``n11 + n00`` is the weight of equal readings. Default:
        ``(2/3, 1/3, 1/3, 2/3)``.
    cluster : str, optional
        As in `error_consistency`.

    Returns
    -------
    Result
        One entry per pair and group of trials, or per group of trials. Beside the estimate stand
        ``error_consistency`` (of all readers: the mean over the pairs for which it is defined);
        ``n_missing``, readings that are missing of items that another of these readers read (such
        items a pair leaves out; of many readers all readings count); and ``n_rare``, items times
        the share of readings outside the most frequent class. Of all readers ``n_trials`` are items
        with two readings or more, and both accuracies are the mean over readers.
        ``result.data.attrs["sentence"]`` says how agreement differs from EC.

    Raises
    ------
    TypeError
        If `trials` is something else.
    ValueError
        If the coefficient or an option is unknown, there are fewer than two readers, no common
        items or no classes, or two readers write their readings in other codes.

    Notes
    -----
    The number of classes, by which AC1 and Brennan-Prediger share chance, is that of the classes a
    reading could be (``classes=`` of `alikely.Trials.from_table`), also where nobody gave one.

    References
    ----------
    .. [BBC93] Byrt, Bishop, Carlin (1993). Bias, prevalence and kappa.
       doi:10.1016/0895-4356(93)90018-V
    .. [BP81] Brennan, Prediger (1981). Coefficient kappa: some uses, misuses, and alternatives.
       doi:10.1177/001316448104100307
    .. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
       doi:10.1177/001316446002000104
    .. [C80] Conger (1980). Integration and generalization of kappas for multiple raters.
       doi:10.1037/0033-2909.88.2.322
    .. [F71] Fleiss (1971). Measuring nominal scale agreement among many raters.
       doi:10.1037/h0031619
    .. [G08] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
       agreement. doi:10.1348/000711006X126600
    .. [G14] Gwet (2014). Handbook of inter-rater reliability, 4th edition. Advanced Analytics.
    .. [K70] Krippendorff (1970). Estimating the reliability, systematic error and random error of
       interval data. doi:10.1177/001316447003000105

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(kind="human")
    >>> result = al.agreement(trials, "gwet_ac1", readers="all", n_resamples=0, n_draws=0)
    >>> result.summary()[["condition", "n_trials", "estimate", "error_consistency"]].shape
    (3, 4)
    """
    ci_prob = resolve("ci_prob", ci_prob)
    n_draws = resolve("n_draws", n_draws)
    n_resamples = resolve("n_resamples", n_resamples)
    if coefficient not in COEFFICIENTS:
        raise ValueError(
            f"coefficient must be one of {listed(map(repr, COEFFICIENTS))}; got {coefficient!r}"
            f"{nearest(coefficient, COEFFICIENTS)}"
        )
    if readers not in ("pairs", "all"):
        raise ValueError(f"readers must be 'pairs' or 'all', got {readers!r}")
    ask = Ask(
        pairs=pairs,
        by=by,
        no_response=no_response,
        n_resamples=n_resamples,
        n_draws=n_draws,
        prior=prior,
        cluster=cluster,
        ci_prob=ci_prob,
        rng=rng,
        options={"readers": readers},
    )
    result = analyse(trials, get_metric(COEFFICIENTS[coefficient]), READINGS, ask)
    result.data.attrs["sentence"] = SENTENCE
    return result


def agreement_table(
    trials: Trials,
    coefficients: Sequence[str] = (
        "cohen_kappa",
        "fleiss_kappa",
        "gwet_ac1",
        "krippendorff_alpha",
        "brennan_prediger",
        "raw_agreement",
    ),
    *,
    rng: RandomState = None,
    **options: Any,
) -> pd.DataFrame:
    """Several coefficients of agreement, one below the other.

    Parameters
    ----------
    trials : Trials
        As in `alikely.agreement`.
    coefficients : sequence of str
        As there.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.
    **options
        As there, such as ``readers="all"``.

    Returns
    -------
    pandas.DataFrame
        ``coefficient`` and the columns of `alikely.Result.summary`.

    Raises
    ------
    TypeError, ValueError
        As from `alikely.agreement`.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(kind="human", condition="noise")
    >>> table = al.estimates.agreement_table(trials, readers="all", n_resamples=0, rng=1)
    >>> table["coefficient"].tolist()[:2]
    ['cohen_kappa', 'fleiss_kappa']
    """
    if not coefficients:
        raise ValueError("coefficients must name at least one, got none; leave it out for all")
    frames = [
        agreement(trials, coefficient, rng=rng, **options).summary().assign(coefficient=coefficient)
        for coefficient in coefficients
    ]
    table = pd.concat(frames, ignore_index=True)
    return table[["coefficient", *table.columns.drop("coefficient")]]


def _counted(trials: Any, metric: Metric, ask: Ask) -> xr.Dataset:
    """Table of readings, of pairs or of all readers of these pairs."""
    if ask.sampler == "nuts":
        raise ValueError("agreement of readings has exact draws only; use sampler='auto'")
    table = counted(trials, metric, ask, labels=True, repeats="paired")
    if table.attrs.get("repeats") == "paired" and ask.cluster != AS_TRIALS:
        raise ValueError(
            "items came back, and agreement of readings takes one reading of an item by a reader: "
            "choose one with trials.select(repeat=...), or give cluster='trial' to take all for "
            "independent"
        )
    if "response" not in table:
        raise ValueError(
            "this table holds correctness only, and readings are compared by their class; count it "
            "with joint_correctness(..., labels=True), or use error_consistency"
        )
    _require_common_codes(table)
    return _of_all(table) if ask.options.get("readers") == "all" else table


def _require_common_codes(table: xr.Dataset) -> None:
    """Refuse readers who write the same readings differently, such as ``yes`` and ``1``."""
    names, response = table["class"].values, table["response"].values
    true = np.zeros(len(names), dtype=bool)
    true[table["truth"].values] = True
    said = np.zeros((len(response), len(names)), dtype=bool)
    reader, trial = np.nonzero(response != LEFT_OUT)
    said[reader, response[reader, trial]] = True
    said &= names != SILENT
    a, b = table["first"].values, table["second"].values
    foreign = said.any(axis=1) & ~(said & true).any(axis=1)
    apart = ~(said[a] & said[b]).any(axis=1) & (foreign[a] | foreign[b])
    if apart.any():
        pair = int(np.flatnonzero(apart)[0])
        one, other = (
            f"{table['observer'].values[i]!r} ({listed(names[said[i]])})"
            for i in (a[pair], b[pair])
        )
        raise ValueError(
            f"readers {one} and {other} have no code in common; write the same reading alike, "
            "such as table['response'].replace({'1': 'yes', '0': 'no'})"
        )


def _of_all(table: xr.Dataset) -> xr.Dataset:
    """One entry for each group of trials: all readers that are in a pair and read there."""
    group, names = table["pair_group"].values, table["observer"].values
    every, starts = np.unique(group, return_index=True)
    response, correct = table["response"].values, table["correct"].values
    readers = np.zeros((len(every), len(names)), dtype=bool)
    n_trials = np.zeros(len(every), dtype=np.int64)
    accuracy, mean = np.full((2, len(every)), np.nan)
    absent, unlike = np.full((2, len(every)), "", dtype=object)
    of_pair = consistency.error_consistency(table["cells"].values)
    for entry, number in enumerate(every):
        pairs, trials = group == number, table["trial_group"].values == number
        own = np.zeros(len(names), dtype=bool)
        own[table["first"].values[pairs]] = own[table["second"].values[pairs]] = True
        read = response[:, trials] != LEFT_OUT
        reading = own & read.any(axis=1)
        if reading.sum() > 1 and (own & ~reading).any():
            absent[entry] = listed(names[own & ~reading])
        # A reader without a reading is nobody, unless there would be no two.
        own = reading if reading.sum() > 1 else own
        readers[entry], n_trials[entry] = own, (read[own].sum(axis=0) > 1).sum()
        right, answered = (correct[:, trials] == 1).sum(axis=1), read.sum(axis=1)
        if reading.any():
            accuracy[entry] = (right[reading] / answered[reading]).mean()
        defined = np.isfinite(of_pair[pairs])
        if defined.any():
            mean[entry] = np.nanmean(of_pair[pairs])
        if not defined.all():
            unlike[entry] = f"defined for {defined.sum():,} of {len(defined):,} pairs"
    ends = np.stack([np.flatnonzero(own)[:2] for own in readers])
    label = np.full(len(every), ALL, dtype=object)
    groups = pd.DataFrame({name: table[name].values[starts] for name in ("dataset", "condition")})
    here = table.drop_dims("pair").assign(
        {
            "first": ("pair", ends[:, 0]),
            "second": ("pair", ends[:, 1]),
            "pair_group": ("pair", every),
            "n_classes": ("pair", np.maximum.reduceat(table["n_classes"].values, starts)),
            "readers": (("pair", "observer"), readers),
            "absent": ("pair", absent),
            "n_trials": ("pair", n_trials),
            "accuracy_a": ("pair", accuracy),
            "accuracy_b": ("pair", accuracy),
            "error_consistency": ("pair", mean),
            "ec_undefined": ("pair", unlike),
        }
    )
    return here.assign_coords(
        pair=pair_labels(label, label, groups, np.arange(len(every))),
        observer_a=("pair", label),
        observer_b=("pair", label),
        dataset=("pair", groups["dataset"].to_numpy(object)),
        condition=("pair", groups["condition"].to_numpy(object)),
    )


def _beside(
    table: xr.Dataset,
    metric: Metric,
    estimates: xr.Dataset,
    ask: Ask,
    seed: np.random.SeedSequence,
) -> Found:
    """Error consistency of the same readers, how many readings are missing, and what to know."""
    together = "readers" in table
    if together:
        of_errors, unlike = table["error_consistency"].values, table["ec_undefined"].values
    else:
        of_errors = consistency.error_consistency(table["cells"].values)
        unlike = consistency.undefined_reason(table["cells"].values)
    missing = np.zeros(table.sizes["pair"], dtype=np.int64)
    rare = np.zeros(table.sizes["pair"])
    remarks = np.full(table.sizes["pair"], "", dtype=object)
    for block in blocks(table):
        for entry, rows, own in zip(
            range(block.rows.start, block.rows.stop), _members(block), _names(table, block),
            strict=True,
        ):  # fmt: skip
            response = block.response[rows]
            number = (response != LEFT_OUT).sum(axis=0)
            possible = len(rows) * int((number > 0).sum())
            missing[entry] = possible - number.sum()
            many = response[:, number > 1]
            times = np.unique(many[many != LEFT_OUT], return_counts=True)[1]
            rare[entry] = many.shape[1] * (1 - times.max() / times.sum()) if len(times) else 0
            parts = [_missing_remark(int(missing[entry]), possible, together)]
            if together and (absent := str(table["absent"].values[entry])):
                parts.append(note("no-ratings", who=absent))
            parts += _one_class(response, own, together)
            if unlike[entry] and number.max(initial=0) > 1:
                parts.append(note("ec-undefined", why=str(unlike[entry])))
            remarks[entry] = "; ".join(filter(None, parts))
    known = {"error_consistency": of_errors, "n_missing": missing, "n_rare": rare}
    if together:
        known["n_readers"] = table["readers"].values.sum(axis=1)
    return Found({name: ("pair", values) for name, values in (known | {"remark": remarks}).items()})


def _members(block: Block) -> list[NDArray[np.intp]]:
    """Rows of the readers of each entry."""
    if block.readers.size:
        return [np.flatnonzero(row) for row in block.readers]
    return list(np.stack([block.a, block.b], axis=1))


def _names(table: xr.Dataset, block: Block) -> list[list[str]]:
    """Who is in each entry."""
    names = table["observer"].values
    if block.readers.size:
        own = table["readers"].values[block.rows]
        return [names[row].tolist() for row in own]
    ends = (table[side].values[block.rows] for side in ("first", "second"))
    return [[str(names[i]), str(names[j])] for i, j in zip(*ends, strict=True)]


def _missing_remark(absent: int, possible: int, together: bool) -> str:
    if not absent:
        return ""
    if together:
        return note("missing-ratings", n=absent, total=possible)
    return note("missing-items", n=absent)


def _one_class(response: NDArray[np.int32], own: list[str], together: bool) -> list[str]:
    """Readers who say the same of all items that count."""
    if not together:
        response = response[:, (response != LEFT_OUT).all(axis=0)]
    alone = [
        name
        for name, said in zip(own, response, strict=True)
        if len(np.unique(said[said != LEFT_OUT])) == 1
    ]
    return [note("one-class", who=listed(alone))] if alone else []


READINGS = Kind(
    _counted, _beside, draw_process, lambda metric, ask: "readings", ("readers",), sampling_unit
)
