"""Do observers of one family fail alike beyond their accuracies? A regression over pairs.

References
----------
.. [BFB01] Browne, Goldstein, Rasbash (2001). Multiple membership multiple classification (MMMC)
   models. Statistical Modelling 1, 103-124. doi:10.1177/1471082X0100100202
.. [H74] Hampel (1974). The influence curve and its role in robust estimation. doi:10.2307/2285666
.. [V24] Vehtari, Simpson, Gelman, Yao, Gabry (2024). Pareto smoothed importance sampling. Journal
   of Machine Learning Research 25(72), 1-58.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.intervals import bound_columns, check_interval, percent
from alikely._base.names import counted, listed, nearest, number, span
from alikely._base.random import RandomState, seed_sequence
from alikely._base.settings import resolve
from alikely._base.steps import step
from alikely.benchmark.trees import complete_estimates
from alikely.estimates import MatrixResult
from alikely.estimates.matrix_result import influences
from alikely.inference.intervals import interval
from alikely.inference.regression import PairRegression

__all__ = ["AgreementRegression", "agreement_regression", "agreement_table"]

type Labels = Mapping[str, Any] | pd.DataFrame
COLUMNS = ("observer_a", "observer_b", "estimate", "se")
# Of a matrix: what the accuracies of both let expect.
ACCURACIES = ("accuracy", "accuracy_squared", "accuracy_gap")
# Weights whose tail is heavier, or fewer effective points, are not to be trusted.
WORST_K, FEWEST_POINTS = 0.7, 100
# Of fewer groups with pairs the spread between groups is what its prior says.
FEWEST_GROUPS = 5


@dataclasses.dataclass(frozen=True, repr=False)
class AgreementRegression:
    """Posterior of a regression of agreement over pairs of observers.

    Attributes
    ----------
    data : xarray.DataTree
        Group ``posterior``, as ArviZ reads it: coefficients ``b`` (chain, draw, predictor), effects
        of observers ``u`` (.., observer) and of groups ``v`` (.., group), and spreads ``tau``,
        ``sigma`` and ``omega`` (.., label). Group ``constant_data``: the predictors ``x`` (pair,
        predictor), ``se``, and both observers of a pair; group ``observed_data``: ``estimate``.
    """

    data: xr.DataTree

    def __repr__(self) -> str:
        posterior, attrs = self.data["posterior"].to_dataset(), self.data.attrs
        n_pairs = self.data["observed_data"].sizes["pair"]
        return (
            f"<AgreementRegression of {attrs['metric_label']}: {posterior.sizes['observer']:,} "
            f"observers, {n_pairs:,} pairs, {listed(posterior['predictor'].values.tolist())}>"
        )

    def summary(self, *, ci_prob: float | None = None) -> pd.DataFrame:
        """Table of coefficients and spreads.

        Parameters
        ----------
        ci_prob : float
            Probability of the equal-tailed intervals, in (0, 1).

        Returns
        -------
        pandas.DataFrame
            Indexed by ``name``: coefficients, ``tau`` (spread of observers), ``sigma`` (what is
            left) and ``omega_<label>`` (spread of the groups of a label); ``estimate`` (posterior
            mean), ``sd``, limits, ``p_positive``, ``note``.

        Raises
        ------
        ValueError
            If `ci_prob` is out of range.
        """
        ci_prob = resolve("ci_prob", ci_prob)
        check_interval(ci_prob, "eti")
        posterior = self.data["posterior"].to_dataset()
        draws = {name: posterior["b"].sel(predictor=name) for name in posterior["predictor"].values}
        draws |= {name: posterior[name] for name in ("tau", "sigma")}
        draws |= {f"omega_{x}": posterior["omega"].sel(label=x) for x in posterior["label"].values}
        table = np.stack([values.values.ravel() for values in draws.values()], axis=1)
        names, notes = pd.Index(list(draws), name="name"), self._notes()
        return pd.DataFrame(
            {
                "estimate": table.mean(axis=0),
                "sd": table.std(axis=0, ddof=1),
                **bound_columns("", "eti", ci_prob, interval(table, ci_prob, "eti")),
                "p_positive": (table > 0).mean(axis=0),
                "note": [notes.get(name, notes[""]) for name in names],
            },
            index=names,
        )

    def sentence(
        self, label: str | None = None, *, ci_prob: float | None = None, digits: int = 2
    ) -> str:
        """Say how much more alike pairs of one group are.

        Parameters
        ----------
        label : str, optional
            Which; the first if not given.
        ci_prob : float
            Probability of the interval, in (0, 1).
        digits : int
            Decimals.

        Returns
        -------
        str
            The effect with its interval, and for whom it speaks.

        Raises
        ------
        ValueError
            If there is no such label, or `ci_prob` is out of range.
        """
        ci_prob = resolve("ci_prob", ci_prob)
        attrs = self.data.attrs
        posterior = self.data["posterior"].to_dataset()
        labels = [str(name) for name in posterior["label"].values]
        if label is None and labels:
            label = labels[0]
        if label not in labels:
            raise ValueError(f"no label {label!r} in this regression{nearest(label, labels)}")
        row = self.summary(ci_prob=ci_prob).loc[f"same_{label}"]
        lower, upper = (
            row[name] for name in bound_columns("", "eti", ci_prob, np.zeros(2))
        )  # fmt: skip
        others = [
            str(name) for name in posterior["predictor"].values[1:]
            if name != f"same_{label}"
        ]  # fmt: skip
        beyond = f", other things equal ({listed(others)})" if others else ""
        caution = f" Caution: {row['note']}." if row["note"] else ""
        return (
            f"Pairs of one {label} are {number(row['estimate'], digits)} "
            f"{span(lower, upper, digits)} more alike ({attrs['metric_label']}; posterior mean and "
            f"{percent(ci_prob)} interval) than both observers' agreement with those of other "
            f"groups lets expect{beyond}; this speaks of groups like these.{caution}"
        )

    def _notes(self) -> dict[str, str]:
        """What cannot be trusted, by name; of all others, by an empty one."""
        n_effective, pareto_k = (self.data.attrs[name] for name in ("n_effective", "pareto_k"))
        poor = pareto_k > WORST_K or n_effective < FEWEST_POINTS
        rest = f"draws rest on {n_effective:.0f} effective points (k-hat {pareto_k:.2f})"
        posterior = self.data["posterior"].to_dataset()
        found = {"": rest if poor else ""}
        of = posterior["label_of"].values.tolist()
        for label in map(str, posterior["label"].values):
            if (n := of.count(label)) < FEWEST_GROUPS:
                few = f"only {counted(n, 'group')} with pairs: their spread is hardly known"
                found |= {
                    f"{name}_{label}": "; ".join(filter(None, [few, found[""]]))
                    for name in ("same", "omega")
                }
        return found


def agreement_table(matrix: MatrixResult) -> pd.DataFrame:
    """Lay a matrix out as pairs, with what their accuracies say.

    Parameters
    ----------
    matrix : MatrixResult
        As from `alikely.matrix`, of a symmetric metric; of several conditions the mean is taken.

    Returns
    -------
    pandas.DataFrame
        ``observer_a, observer_b, estimate``; ``se``, that of a typical pair with as many trials
        (see notes); ``accuracy`` (mean of both logits of accuracy, less the mean over pairs), its
        square ``accuracy_squared`` and ``accuracy_gap`` (the difference of both logits, without
        sign). Half an answer is added to right and to wrong ones.

    Raises
    ------
    ValueError
        If the metric is directed, or some pairs are undefined.

    Notes
    -----
    Where both accuracies differ much, error consistency lies near 0, and so does its standard
    error. Weights by each pair's own standard error would make means over pairs those of such
    pairs; pairs with as many trials have the same here.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.benchmark.agreement_table(al.matrix(al.load_example(), by=None))
    >>> table[["observer_a", "observer_b", "estimate"]].round(3).head(1).values.tolist()
    [['human_1', 'human_2', 0.442]]
    """
    value = complete_estimates(matrix, "a regression")
    names, estimates = np.array(matrix.observers, dtype=object), matrix.estimates
    se = estimates["se"].values.reshape(value.shape)
    n_trials = estimates["cells"].values.reshape(*value.shape, 4).sum(axis=(0, 2))
    i, j = np.triu_indices(len(names), k=1)
    packed = matrix.answers()
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


def agreement_regression(
    pairs: MatrixResult | pd.DataFrame,
    same: Sequence[str] = ("family",),
    *,
    labels: Labels | None = None,
    predictors: Sequence[str] | None = None,
    n_draws: int | None = None,
    rng: RandomState = None,
) -> AgreementRegression:
    """Test whether observers of one family fail alike beyond their accuracies.

    The agreement of a pair is the sum of a mean, coefficients of its predictors, an effect of
    either observer [BFB01]_, and an effect of the group that both are of:
    ``y = b x + u_i + u_j + v + e``, ``u ~ N(0, tau)``, ``v ~ N(0, omega)``,
    ``e ~ N(0, sqrt(se^2 + sigma^2))``. As groups differ by chance, the coefficient of
    ``same_family`` speaks of families like these.

    Parameters
    ----------
    pairs : MatrixResult or pandas.DataFrame
        From `alikely.matrix`; or a table with one row per pair and the columns ``observer_a,
        observer_b, estimate, se``, and predictors (`agreement_table` makes one to add to).
    same : sequence of str
        Labels: ``same_<label>`` is 1 for pairs of one group, 0 for others.
    labels : mapping or pandas.DataFrame
        Group of every observer: a mapping of observers to groups (of one label), or a table with a
        row per observer (the index, or a column ``observer``) and a column per label.
    predictors : sequence of str, optional
        Other columns of the table, centred here unless they are 0 or 1. By default of a matrix
        ``accuracy, accuracy_squared, accuracy_gap``, of a table none.
    n_draws : int
        Draws of the posterior.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness.

    Returns
    -------
    AgreementRegression

    Raises
    ------
    TypeError
        If `pairs` or `labels` is of another kind.
    ValueError
        If columns, labels or numbers are missing, a pair comes twice, a predictor is the same for
        all pairs, or predictors say the same.

    Notes
    -----
    Priors are relative to the spread s of the estimates: ``b ~ N(0, 2.5 s / sd(x))``, half-normal
    ``tau`` and ``sigma`` of scale s, ``omega`` of the spread of the pairs of one group, if that is
    more.

    Error consistency depends on accuracies, most of all on their difference. Where families differ
    in accuracy, but fail alike no more than others, a regression without accuracies finds .03 to
    .05 too much, with mean and square .007 to .02, and with the gap less than .0005 (simulated,
    `docs/leaderboards.md`).

    All pairs of a matrix answered the same questions: the errors of their estimates hang together.
    What that adds to the variance of coefficients, by influence of questions [H74]_, is added to
    their draws. Of a table errors are taken to be independent.

    Spreads are drawn by importance: the result notes where weights are uneven [V24]_.

    Examples
    --------
    >>> import alikely as al
    >>> board = al.simulate.leaderboard(30, 6, 1_000, shared=0.6, rng=1)
    >>> family = dict(zip(board.observers, board.data["family"].values.tolist()))
    >>> found = al.benchmark.agreement_regression(al.matrix(board), labels=family, rng=1)
    >>> found
    <AgreementRegression of error consistency: 30 observers, 435 pairs, intercept, same_family, ...>
    """
    n_draws = resolve("n_draws", n_draws)
    if n_draws < 2:
        raise ValueError(f"n_draws must be at least 2, got {n_draws}")
    if isinstance(pairs, MatrixResult):
        table = agreement_table(pairs)
        wanted = ACCURACIES if predictors is None else tuple(predictors)
    elif isinstance(pairs, pd.DataFrame):
        table, wanted = pairs, tuple(predictors or ())
    else:
        raise TypeError(f"expected a MatrixResult or a DataFrame, got {type(pairs).__name__}")
    if isinstance(same, str):
        raise TypeError(f"same must be a sequence of labels, got {same!r}; write ({same!r},)")
    _check_table(table, wanted)
    names = sorted({*table["observer_a"], *table["observer_b"]})
    if isinstance(pairs, MatrixResult):
        names = pairs.observers
    groups = _groups(labels, tuple(same), names)
    regression, coords = _regression(table, names, groups, wanted)
    generator = np.random.default_rng(seed_sequence(rng))
    with step(f"regression of {len(table):,} pairs"):
        posterior = regression.draws(n_draws, generator)
    label = "estimate"
    if isinstance(pairs, MatrixResult):
        label = pairs.metric.label
        with step("errors that pairs share"):
            extra = _shared_errors(pairs, regression, posterior)
        posterior["b"] += generator.standard_normal(posterior["b"].shape) @ extra.T
    posterior = posterior.assign_coords(coords | {"draw": np.arange(n_draws)})
    constant = {"se": regression.se, "first": regression.first, "second": regression.second}
    observed = xr.Dataset({"estimate": ("pair", regression.value)})
    tree = xr.DataTree.from_dict(
        {
            "posterior": posterior.drop_attrs().expand_dims(chain=[0]),
            "constant_data": xr.Dataset(
                {"x": (("pair", "predictor"), regression.columns)}
                | {name: ("pair", values) for name, values in constant.items()},
                coords={"predictor": coords["predictor"]},
            ),
            "observed_data": observed,
        }
    )
    tree.attrs = {"metric_label": label, **posterior.attrs}
    return AgreementRegression(tree)


def _check_table(table: pd.DataFrame, predictors: Sequence[str]) -> None:
    """Refuse what is no table of pairs."""
    for name in (*COLUMNS, *predictors):
        if name not in table.columns:
            raise ValueError(
                f"no column {name!r} in the pairs{nearest(name, map(str, table.columns))}"
            )
    for name in ("estimate", "se", *predictors):
        values = table[name].to_numpy(dtype=np.float64)
        if not np.isfinite(values).all():
            raise ValueError(
                f"{name} of {int((~np.isfinite(values)).sum())} pairs is missing or infinite; "
                "leave out these pairs, or what they are undefined for"
            )
    if (table["se"] < 0).any():
        raise ValueError(f"se must be 0 or more, got {table['se'].min():g}")
    if len(table) < 3 or table["estimate"].std() == 0:
        raise ValueError("a regression needs at least 3 pairs with different estimates")
    alone = table["observer_a"] == table["observer_b"]
    if alone.any():
        raise ValueError(
            f"a pair is of two observers, got {table['observer_a'][alone].iloc[0]!r} twice"
        )
    ends = np.sort(table[["observer_a", "observer_b"]].to_numpy().astype(str), axis=1)
    again = pd.DataFrame(ends).duplicated().to_numpy()
    if again.any():
        raise ValueError(
            f"the pair {' x '.join(ends[again][0])} stands in the table twice; take one condition, "
            "or means over conditions"
        )


def _groups(
    labels: Labels | None, same: tuple[str, ...], names: Sequence[str]
) -> dict[str, list[str]]:
    """Group of every observer, label by label."""
    if not same:
        return {}
    if isinstance(labels, pd.DataFrame):
        frame = labels.set_index("observer") if "observer" in labels.columns else labels
        for name in same:
            if name not in frame.columns:
                raise ValueError(
                    f"no label {name!r} in labels{nearest(name, map(str, frame.columns))}"
                )
        known: dict[str, Mapping[Any, Any]] = {name: frame[name].to_dict() for name in same}
    elif isinstance(labels, Mapping):
        if len(same) > 1:
            raise ValueError(
                f"a mapping holds one label, and same names {len(same)}; give labels as a table "
                "with a column for each"
            )
        known = {same[0]: labels}
    else:
        raise TypeError(
            "labels must be a mapping of observers to groups or a table of observers, got "
            f"{type(labels).__name__}"
        )
    for label, of in known.items():
        if missing := [x for x in names if x not in of or pd.isna(of[x])]:
            raise ValueError(f"labels have no {label} of {listed(missing)}; name every observer")
    return {label: [str(of[x]) for x in names] for label, of in known.items()}


def _regression(
    table: pd.DataFrame,
    names: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    predictors: Sequence[str],
) -> tuple[PairRegression, dict[str, Any]]:
    """Pairs as numbers, and coordinates of predictors, observers, groups and labels."""
    position = {name: k for k, name in enumerate(names)}
    first, second = (
        table[name].map(position).to_numpy(np.intp) for name in ("observer_a", "observer_b")
    )
    columns, titles = [np.ones(len(table))], ["intercept"]
    of_pair: list[NDArray[np.intp]] = []
    group_names: list[str] = []
    label_of: list[int] = []
    for k, (label, group) in enumerate(groups.items()):
        code = np.array(group, dtype=object)
        equal = code[first] == code[second]
        # Groups of one observer have no pairs, and no effect.
        found, number_of = np.unique(code[first][equal].astype(str), return_inverse=True)
        numbers = np.full(len(table), -1)
        numbers[equal] = len(group_names) + number_of
        of_pair.append(numbers)
        several = len(groups) > 1
        group_names += [f"{label}: {name}" if several else name for name in found.tolist()]
        label_of += [k] * len(found)
        columns.append(equal.astype(np.float64))
        titles.append(f"same_{label}")
    for name in predictors:
        values = table[name].to_numpy(dtype=np.float64)
        binary = np.isin(values, (0.0, 1.0)).all()
        columns.append(values if binary else values - values.mean())
        titles.append(name)
    x = np.stack(columns, axis=1)
    for title, column in zip(titles[1:], x.T[1:], strict=True):
        if column.std() == 0:
            raise ValueError(f"{title} is the same for all pairs; leave it out")
    scaled = x / np.linalg.norm(x, axis=0)
    if len(set(titles)) < len(titles) or np.linalg.matrix_rank(scaled) < len(titles):
        raise ValueError(f"predictors say the same: {listed(titles[1:])}; leave one of them out")
    labels = np.array(list(groups), dtype=object)
    coords = {
        "predictor": titles,
        "observer": list(names),
        "group": np.array(group_names, dtype=object),
        "label": labels,
        "label_of": ("group", labels[label_of]),
    }
    regression = PairRegression(
        table["estimate"].to_numpy(np.float64), table["se"].to_numpy(np.float64), x, first, second,
        np.array(of_pair, dtype=np.intp).reshape(-1, len(table)), np.array(label_of, dtype=np.intp),
    )  # fmt: skip
    return regression, coords


def _shared_errors(
    matrix: MatrixResult, regression: PairRegression, posterior: xr.Dataset
) -> Floats:
    """Root of what the dependence of errors adds to the covariance of coefficients."""
    spreads = np.column_stack([posterior[name].values for name in ("tau", "sigma", "omega")])
    scales = np.exp(np.log(spreads).mean(axis=0))
    weights = regression.weights(scales)
    n_places = len(matrix.places)
    total = np.zeros((len(weights),) * 2)
    for influence in influences(matrix, [weights / n_places] * n_places):
        total += influence @ influence.T
    extra = total - (weights * regression.se**2) @ weights.T
    unit = np.sqrt(np.diag(total)) + 1e-300
    values, vectors = np.linalg.eigh(extra / np.outer(unit, unit))
    # Where errors cancel, the intervals stay as they are.
    return np.asarray(unit[:, None] * vectors * np.sqrt(np.maximum(values, 0)))
