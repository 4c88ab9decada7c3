"""Results of analyses: one DataTree, its defaults, draws, tables and file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.files import VERSION, check_tree, read_tree, write_tree
from alikely._base.frames import ROWS, As, Sort, given_as, html_of, known_columns, ordered
from alikely._base.intervals import CiKind, Intervals, bound_names, check_interval
from alikely._base.notes import codes, note, told
from alikely.data.repeats import ONE_ANSWER, unequal_answers
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.tables import SEPARATOR
from alikely.data.trials import Trials
from alikely.estimates.latex import Environment, latex_table, printed
from alikely.estimates.remarks import cautions, joined, scarcity, wide
from alikely.estimates.sentences import (
    PLACES,
    chosen_interval,
    is_wide,
    result_sentence,
    result_table,
    shown_methods,
)
from alikely.inference.cell_limits import WITHOUT_DRAWS, quantiles_of
from alikely.inference.intervals import adjusted_p_values, analytic_interval, interval
from alikely.inference.resampling import bca_of_table
from alikely.inference.weighted import holding, student_deviate
from alikely.metrics import Metric, consistency, get_metric, metrics
from alikely.metrics.cell_priors import CellPrior, cell_prior

if TYPE_CHECKING:
    from alikely.report import Report

__all__ = ["CHAINS", "LABELS", "Result", "Tree"]

LABELS = ["dataset", "condition", "observer_a", "observer_b"]

CHAINS = "chains"

# What the tables of labels and of rows count, for every metric of theirs.
COUNTED = ("n_joint_errors", "n_errors_a", "n_errors_b")
# Tests against independent observers: tables show the first that there is, others on request.
TESTS = ("p_null", "p_null_bh", "p_fisher", "log_bf10", "p_adjusted", "log10_p")
School = Literal["analytic", "bootstrap", "bca", "posterior"]

# What posteriors know of clusters, by sampler: all, how pairs hang together alone, or nothing.
CLUSTERS = {
    "moments": "",
    "strengths": "",
    "gibbs": note("clusters-pairs"),
}
IGNORED = note("clusters-ignored")
# With fewer effective ones, draws of clusters make intervals that are too narrow.
FEW_CLUSTERS = 50
# What a table does with items that come back, within a condition and in others.
AS_TRIALS = note("repeats-as-trials")
NUMBERED = note("item-labels")
# Of entries that pool data sets.
ALL_DATA = "all"
FIRST = {"estimate": ("pair",), "se": ("pair",), "undefined": ("pair",)}
# Layout of the files; a change that older versions cannot read counts it up.
FORMAT = 1
ATTRIBUTES = ("metric", "ci_prob", "ci_kind", "alikely_version")


@dataclasses.dataclass(frozen=True)
class Tree:
    """A DataTree with attributes of its making, as everything downstream reads it."""

    data: xr.DataTree

    # Groups, their variables, and the dims of these, without which a file is none of this kind.
    SCHEMA: ClassVar[Mapping[str, Mapping[str, tuple[str, ...] | None]]] = {}

    @property
    def metric(self) -> Metric:
        """The estimand."""
        attrs = self.data.attrs
        metric = get_metric(str(attrs["metric"]))
        kept = {name: np.asarray(attrs[name]).item() for name in metric.options if name in attrs}
        return get_metric(metric, **kept)

    @property
    def prior(self) -> CellPrior:
        """The prior on the cells of a pair: the default if the analysis had none of its own."""
        text = self.data.attrs.get("prior", "")
        return cell_prior(json.loads(text) if text else None)

    @property
    def estimates(self) -> xr.Dataset:
        """Point estimates and what stands beside them."""
        return self.data["estimates"].to_dataset()

    @property
    def missing_note(self) -> str:
        """How many responses are missing and how they are treated; empty if none is."""
        return str(self.data.attrs.get("missing_note", ""))

    def missing_notes(self, pairs: pd.DataFrame) -> NDArray[np.object_]:
        """That note for the pairs (columns dataset, observer_a, observer_b) that it is about."""
        if not self.missing_note or DATA_SUMMARY not in self.data.children:
            return np.full(len(pairs), self.missing_note, dtype=object)
        missing = self.data[DATA_SUMMARY]["n_missing"].to_pandas() > 0
        # The last row and column are of all data sets, and of all observers.
        there = np.pad(missing.to_numpy(), ((0, 1), (0, 1)))
        there[-1], there[:, -1] = there.any(axis=0), there.any(axis=1)
        there[-1, -1] = True
        of = missing.index.get_indexer(pairs["dataset"])
        who = [missing.columns.get_indexer(pairs[f"observer_{side}"]) for side in "ab"]
        return np.where(there[of, who].any(axis=0), self.missing_note, "").astype(object)

    def interval_options(
        self, ci_prob: float | None, ci_kind: CiKind | None
    ) -> tuple[float, CiKind]:
        """Probability and kind of the intervals; as in the analysis where not given."""
        prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        kind = self.data.attrs["ci_kind"] if ci_kind is None else ci_kind
        check_interval(prob, kind)
        return prob, kind

    def _flat(self, values: xr.DataArray, last: str) -> Floats:
        """Draws as a matrix, (draw, entry): chains one after the other."""
        return np.asarray(values.values).reshape(-1, values.sizes[last])

    def report(
        self,
        path: str | Path | None = None,
        *,
        trials: Trials | None = None,
        title: str | None = None,
    ) -> Report:
        """Lay everything out on one page of HTML: tables, figures, sentences, methods."""
        # The only import of a higher layer: users look for this method at the result.
        from alikely.report import make_report

        page = make_report(self, trials=trials, title=title)
        if path is not None:
            page.save(path)
        return page

    def save(self, path: str | Path) -> None:
        """Write everything to one netCDF file."""
        tree = self.data.copy()
        tree.attrs = {**tree.attrs, VERSION: FORMAT}
        write_tree(tree, path)

    @classmethod
    def schema(cls, tree: xr.DataTree) -> Mapping[str, Mapping[str, tuple[str, ...] | None]]:
        """Groups and variables that a file must have."""
        return cls.SCHEMA

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what `save` wrote."""
        tree = read_tree(path)
        check_tree(
            tree,
            cls.schema(tree),
            attributes=ATTRIBUTES,
            version=FORMAT,
            where=repr(str(path)),
            expected=f"a {cls.__name__} of alikely",
            remedy=f"write one with {cls.__name__}.save",
        )
        # The layout is the file's, not the analysis's.
        attrs = {name: value for name, value in tree.attrs.items() if name != VERSION}
        if str(attrs["metric"]) not in metrics():
            module = attrs.get("metric_module", "")
            raise ValueError(
                f"{str(path)!r} is of the metric {attrs['metric']!r}, which is not registered; "
                f"import {module or 'the module that registers it'} before loading"
            )
        try:
            check_interval(attrs["ci_prob"], str(attrs["ci_kind"]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(path)!r} is damaged: {error}; make it again") from None
        tree.attrs = attrs
        return cls(tree)


@dataclasses.dataclass(frozen=True, repr=False)
class Result(Tree):
    """Estimates, replicates and draws of one metric for many pairs.

    Attributes
    ----------
    data : xarray.DataTree
        Groups ``observed_data`` (the correctness table), ``estimates`` (``estimate, se`` and the
        tests of independence), ``bootstrap`` (resample, pair), ``posterior`` (chain, draw, pair),
        ``data_summary`` (how many trials were shown to each observer and have a response), on
        request ``log_likelihood``, and from NUTS ``chains``, see `chains`. ArviZ functions take it
        as it is, with ``group="bootstrap", sample_dims="resample"`` for the bootstrap.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-model", rng=1)
    >>> result
    <Result error_consistency: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """

    SCHEMA = MappingProxyType(
        {"observed_data": {"first": ("pair",), "second": ("pair",)}, "estimates": FIRST}
    )

    @property
    def table(self) -> xr.Dataset:
        """The correctness table that was analysed."""
        return self.data["observed_data"].to_dataset()

    @property
    def pairs(self) -> pd.DataFrame:
        """Labels of the entries: dataset, condition, observer_a, observer_b."""
        table = self.table
        return pd.DataFrame({name: table[name].values for name in LABELS})

    @property
    def undefined(self) -> pd.Series:
        """Why an estimate is undefined, for the entries where it is; by label of the entry."""
        estimates = self.estimates
        reasons = pd.Series(
            estimates["undefined"].values, index=estimates["pair"].values, dtype=object
        )
        return reasons[reasons != ""]

    @property
    def chains(self) -> dict[str, xr.DataTree]:
        """The fits by Markov chains behind the posterior, each as from `alikely.inference.nuts`.

        By what each is of: all pairs, a group of trials, or one entry. ArviZ functions take them as
        they are. Empty where nothing was sampled by chains.
        """
        if CHAINS not in self.data.children:
            return {}
        return {node.attrs["label"]: node for node in self.data[CHAINS].children.values()}

    @property
    def without_draws(self) -> bool:
        """Whether posterior limits come from the counts alone: equal-tailed, pair by pair."""
        return self.data.attrs.get("posterior_limits") == WITHOUT_DRAWS

    def draws(self, school: Literal["bootstrap", "posterior"]) -> NDArray[np.floating]:
        """Bootstrap replicates or posterior draws of the metric.

        Parameters
        ----------
        school : {"bootstrap", "posterior"}

        Returns
        -------
        ndarray, shape (draw, pair)
            Chains one after the other.

        Raises
        ------
        ValueError
            If the result has no such draws.
        """
        if school not in self.data.children:
            raise ValueError(
                f"this result has no {school} draws; ask for them when calling {self.metric.name}()"
            )
        return self._flat(self.data[school].to_dataset()[self.metric.name], "pair")

    def summary(
        self,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        intervals: Intervals = None,
        *,
        columns: Sequence[str] | Literal["all"] | None = None,
        sort: Sort = None,
        as_: As = "pandas",
    ) -> pd.DataFrame | Any:
        """List the estimates with their intervals, one row per pair and group.

        Each row has the one interval that is recommended for the metric, if the result has it. This
        is the posterior interval if the posterior describes the same quantity and accounts for
        clusters. It has one test against independent observers, ``p_null``, whose level is closer
        to the nominal one than that of Fisher's exact test.

        Parameters
        ----------
        ci_prob : float, optional
            Probability of the intervals, in (0, 1). Default: as in the analysis.
        ci_kind : {"eti", "hdi"}, optional
            Equal-tailed or highest-density, for the bootstrap and the posterior alike.
        intervals : None, "all" or sequence of {"analytic", "bootstrap", "bca", "posterior"}
            - None: the recommended interval, and that of a posterior of another quantity
            - ``"all"``: every method that is valid for the metric (without BCa), and every column
            - methods: those that the result has, even if they are known to be wrong; the note then
              gives the reason
        columns : "all" or sequence of str, optional
            Further columns, or all. Columns that are known to be wrong have to be named.
        sort : str or sequence of str, optional
            Columns to order the rows by, the most important first; ``"-estimate"`` puts the
            largest first. Missing values come last.
        as_ : {"pandas", "polars", "pyarrow"}
            Library of the table; ``"polars"`` requires that polars is installed.

        Returns
        -------
        pandas.DataFrame
            Or a table of the library asked for, with columns

            - ``dataset, condition, observer_a, observer_b``
            - ``n_trials, accuracy_a, accuracy_b, estimate, se``
            - what the metric has in addition; on request, for error consistency, ``accuracy_gap``
              (first minus second), ``kappa_min, kappa_max`` (given the accuracies), ``less_biased``
            - bounds, with method, kind and probability in their names; ``posterior_median``;
              ``undefined_share`` of the bootstrap replicates
            - ``p_null``, for observers whose errors are independent; on request ``p_null_bh``
              (adjusted over all rows by Benjamini and Hochberg), ``p_fisher``, ``log_bf10`` (nats)
            - ``note``: why a value is undefined or an interval is not reliable; on request
              ``note_codes``, the codes of these notes

        Raises
        ------
        ValueError
            If the probability, the kind, a method, a column or the library is not valid.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> import alikely as al
        >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
        >>> [name for name in result.summary() if name.endswith("_lb")]
        ['posterior_eti95_lb']
        >>> [name for name in result.summary(intervals="all") if name.endswith("_lb")]
        ['analytic_ci95_lb', 'bootstrap_eti95_lb', 'posterior_eti95_lb']
        """
        ci_prob, ci_kind = self.interval_options(ci_prob, ci_kind)
        methods = shown_methods(self, intervals, ci_kind)
        n_trials, accuracy_a, accuracy_b = self._trials()
        estimates = self.estimates
        frame = self.pairs.assign(
            n_trials=n_trials,
            accuracy_a=accuracy_a,
            accuracy_b=accuracy_b,
            estimate=estimates["estimate"].values,
            se=estimates["se"].values,
        )
        for name in dict.fromkeys((*COUNTED, *self.metric.beside, *self.metric.derived)):
            if name in estimates:
                frame[name] = estimates[name].values
        width: Floats | None = None
        few = ""
        for school in methods:
            kind = {"analytic": "ci", "bca": "ci"}.get(school, ci_kind)
            if school == "posterior" and self.without_draws:
                limits = self._quantiles(ci_prob, ci_kind)
                bounds, width = limits[:, [0, -1]], limits[:, -1] - limits[:, 0]
                if limits.shape[1] == 3:
                    frame["posterior_median"] = limits[:, 1]
            else:
                bounds = self._bounds(school, ci_prob, ci_kind)
                if school == "posterior":
                    draws = self.draws("posterior")
                    frame["posterior_median"] = np.median(draws, axis=0)
                    width = bounds[:, 1] - bounds[:, 0]
                    if len(draws) * (1 - ci_prob) / 2 < 1:
                        few = note("few-draws", n=len(draws))
            for name, bound in zip(bound_names(school, kind, ci_prob), bounds.T, strict=True):
                frame[name] = bound
        every = intervals == "all" or columns == "all"
        if "bootstrap" in self.data.children and (every or {"bootstrap", "bca"} & {*methods}):
            frame["undefined_share"] = np.isnan(self.draws("bootstrap")).mean(axis=0)
        tests = {name: estimates[name].values for name in TESTS if name in estimates}
        if "p_null" in tests:
            tests["p_null_bh"] = adjusted_p_values(tests["p_null"])
        for name in TESTS:
            if name in tests:
                frame[name] = tests[name]
        frame["note_codes"] = ""
        named = [] if columns is None or columns == "all" else list(columns)
        known_columns(frame, named, "columns")
        hidden = {name for name in self.metric.unreliable if name not in named}
        if not every:
            hidden |= {
                "note_codes",
                *self.metric.requested,
                *[name for name in TESTS if name in tests][1:],
            }
        stored = self._notes(frame, width, few, methods, named)
        said = {text: (" ".join(codes(text)), told(text)) for text in set(stored)}
        frame["note_codes"], frame["note"] = ([said[text][k] for text in stored] for k in (0, 1))
        frame = frame.drop(columns=[name for name in hidden - {*named} if name in frame])
        return given_as(ordered(frame, sort), as_)

    def sentence(
        self,
        interval: str | None = None,
        *,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        digits: int = 2,
    ) -> str:
        """Say the result as papers report it, numbers as APA has them.

        Parameters
        ----------
        interval : {"analytic", "bootstrap", "bca", "posterior"}, optional
            Whose interval; by default the posterior's, where there is one of the same quantity
            that knows of the clusters, else the bootstrap's, else the analytic one.
        ci_prob, ci_kind : float and {"eti", "hdi"}, optional
            As in the analysis if not given.
        digits : int
            Decimals.

        Returns
        -------
        str
            Of one pair its estimate and interval, how that came about and from how many trials,
            for whom it speaks, and the test against independent observers; of several pairs the
            extremes, and how many differ from independent observers, adjusted for their number.
            What is undefined or not to be trusted is said.

        Raises
        ------
        ValueError
            If the result has no such interval, or an option is out of range.

        Examples
        --------
        >>> import alikely as al
        >>> trials = al.load_example().select(condition="noise")
        >>> result = al.error_consistency(trials, [("human_1", "model_4")], n_draws=0, rng=1)
        >>> print(result.sentence("analytic"))  # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
        The error consistency of human_1 and model_4 in noise was .23, 95 % CI [.07, .39] (analytic,
        over 160 trials). The interval speaks for new trials and these very observers (taken as
        fixed); it lies above 0, which independent errors would give. Against independent observers,
        p = ...
        """
        return result_sentence(self, interval, ci_prob, ci_kind, digits)

    def to_latex(
        self,
        interval: str | None = None,
        *,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        columns: Sequence[str] | None = None,
        sort: Sort = None,
        digits: int = 3,
        caption: str | None = None,
        label: str | None = None,
        environment: Environment | None = None,
    ) -> str:
        """Lay the summary out as a table for LaTeX, with booktabs.

        Parameters
        ----------
        interval, ci_prob, ci_kind
            As in `sentence`.
        columns : sequence of str, optional
            Of the summary; by default the places that differ, the observers, what the estimate
            rests on, the estimate with its interval, and notes, which follow the table.
        sort
            As in `summary`.
        digits, caption, label, environment
            As in `alikely.estimates.latex_table`.

        Returns
        -------
        str
            As from `alikely.estimates.latex_table`.

        Raises
        ------
        ValueError
            As in `sentence`, and if a column is unknown.
        """
        school = chosen_interval(self, interval)
        return latex_table(
            result_table(self, school, ci_prob, ci_kind, columns=columns, sort=sort),
            digits=digits,
            caption=caption,
            label=label,
            environment=environment,
            headings={"estimate": self.metric.label},
            leading_zero=is_wide(self.metric) or None,
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the first rows, with one interval and the notes."""
        first = Result(_first(self.data, ROWS))
        school = chosen_interval(self, None)
        places = [name for name in PLACES if len(set(self.table[name].values.tolist())) > 1]
        cells, numbers, _ = printed(
            result_table(first, school, places=places),
            headings={"estimate": self.metric.label},
            leading_zero=is_wide(self.metric) or None,
        )
        return html_of(
            repr(self)[1:-1],
            cells,
            numbers=numbers,
            n_rows=self.table.sizes["pair"],
            more="summary() has all, with every interval and the tests",
        )

    def _trials(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Number of trials and both accuracies of each entry."""
        table = self.table
        if "cells" not in table:
            n_trials, a, b = (table[k].values for k in ("n_trials", "accuracy_a", "accuracy_b"))
            return n_trials, a, b
        cells = table["cells"].values
        # Shares of items that came back sum to whole items, but for rounding.
        n_trials = np.rint(cells.sum(axis=1)).astype(np.int64)
        if table.attrs.get("without_truth"):
            return n_trials, *np.full((2, len(cells)), np.nan)
        return n_trials, *consistency.accuracies(cells)

    def _bounds(self, school: School, ci_prob: float, ci_kind: CiKind) -> Floats:
        if school == "analytic":
            value, se = (self.estimates[name].values for name in ("estimate", "se"))
            if "centre" not in self.estimates:
                deviate = special.ndtri((1 + ci_prob) / 2)
                return analytic_interval(self.metric, value, se, deviate)
            # Of chosen images.
            centre, df = (self.estimates[name].values for name in ("centre", "df"))
            deviate = student_deviate(df, ci_prob)
            lower, upper = analytic_interval(self.metric, centre, se, deviate).T
            return np.stack(holding(lower, upper, value), axis=1)
        if school == "bca":
            return bca_of_table(self.table, self.draws("bootstrap"), self.metric, ci_prob)
        return interval(self.draws(school), ci_prob, ci_kind)

    def _quantiles(self, ci_prob: float, ci_kind: CiKind) -> Floats:
        """Of the posterior without draws: (pair, 3), the median between the limits if known."""
        if ci_kind != "eti":
            raise ValueError(
                f"posterior limits without draws are equal-tailed, got ci_kind={ci_kind!r}; take "
                "n_draws=4000, or leave 'posterior' out of intervals"
            )
        if "posterior_lower" in self.estimates:
            known = (self.estimates[f"posterior_{end}"].values for end in ("lower", "upper"))
            return np.stack(list(known), axis=1)
        levels = [(1 - ci_prob) / 2, 0.5, (1 + ci_prob) / 2]
        return quantiles_of(self.metric.limits)(
            self.table["cells"].values, levels, prior=self.prior
        )

    def _notes(
        self,
        frame: pd.DataFrame,
        width: Floats | None,
        few: str,
        methods: Sequence[str],
        columns: Sequence[str],
    ) -> list[str]:
        estimates = self.estimates
        undefined = estimates["undefined"].values.astype(object)
        defined = undefined == ""
        remarks = [undefined, self._scarcity(frame, defined, methods)]
        if "cells" in self.table:
            remarks.append(cautions(self.metric, self.table["cells"].values, defined, methods))
        if "remark" in estimates:
            remarks.append(estimates["remark"].values)
        if width is not None:
            if "posterior_remark" in estimates:
                remarks.append(estimates["posterior_remark"].values)
            remarks.append(wide(width))
            remarks.append(np.full(len(frame), few, dtype=object))
            remarks.append(np.where(self._recurring(), self.cluster_note(), "").astype(object))
        remarks.append(np.full(len(frame), self.repeats_note(), dtype=object))
        remarks.append(unequal_answers(self.table))
        remarks.append(self.missing_notes(frame))
        if numbered := self.table.attrs.get("numbered", ""):
            there = frame["dataset"].isin([*numbered.split(SEPARATOR), ALL_DATA])
            remarks.append(np.where(there, NUMBERED, "").astype(object))
        for name, reason in self.metric.unreliable.items():
            if name in (*methods, *columns):
                remarks.append(np.full(len(frame), note("unreliable", why=reason), dtype=object))
        # What leaves no estimate often leaves no posterior either: once is enough.
        return joined(remarks)

    def apart(self) -> NDArray[np.bool_]:
        """Which entries are undefined because their observers have no trial in common."""
        undefined = np.isnan(self.estimates["estimate"].values)
        if "cells" not in self.table:
            return np.zeros(len(undefined), dtype=bool)
        return np.asarray(undefined & ~self.table["cells"].values.any(axis=1))

    def _recurring(self) -> NDArray[np.bool_]:
        """Entries in whose group of trials a cluster has several."""
        table, cluster = self.table, self.data.attrs["cluster"]
        if not cluster or "trial_group" not in table or cluster not in table.coords:
            return np.ones(table.sizes["pair"], dtype=bool)
        keys = {name: table[name].values for name in ("trial_dataset", "trial_group", cluster)}
        frame = pd.DataFrame(keys)
        again = frame.loc[frame.duplicated(), "trial_group"].unique()
        return np.asarray(np.isin(table["pair_group"].values, again))

    def _recurs(self) -> bool:
        """Whether a cluster has several trials at all, within groups of trials or over them."""
        cluster = self.data.attrs["cluster"]
        if cluster not in self.table.coords or "trial_dataset" not in self.table.coords:
            return True
        keys = {name: self.table[name].values for name in ("trial_dataset", cluster)}
        return bool(pd.DataFrame(keys).duplicated().any())

    def counts_items(self) -> bool:
        """Whether trials of entries are items, each there once: what ``n_trials`` counts."""
        return self.data.attrs["cluster"] == "item" and not self._recurring().any()

    def few_clusters(self) -> int:
        """Effective number of clusters of items, if some entry has too few for draws; else 0."""
        if "n_clusters" not in self.estimates:
            return 0
        one = self.estimates["n_clusters"].values == 1
        df = np.where(one, 0.0, self.estimates["df"].values)
        fewest = 1 + round(float(np.nanmin(df, initial=FEW_CLUSTERS)))
        return fewest if fewest < FEW_CLUSTERS else 0

    def cluster_note(self) -> str:
        """What the posterior does not know of trials that err together; empty if nothing."""
        if "posterior" not in self.data.children or not self.data.attrs["cluster"]:
            return ""
        # Limits by moments have degrees of freedom of their own.
        if (n := self.few_clusters()) and self.data.attrs["sampler"] != "moments":
            return note("few-clusters-posterior", n=n)
        if self.data["posterior"].attrs.get("clustered") or not self._recurs():
            return ""
        return CLUSTERS.get(self.data.attrs["sampler"], IGNORED)

    def repeats_note(self) -> str:
        """How answers to items that came back were taken, where that must be known; else empty."""
        repeats = self.table.attrs.get("repeats", "")
        if repeats == "paired" and not self.data.attrs["cluster"]:
            return AS_TRIALS
        return ONE_ANSWER if repeats == "crossed" and self.metric.draws == "rows" else ""

    def _scarcity(
        self, frame: pd.DataFrame, defined: NDArray[np.bool_], methods: Sequence[str]
    ) -> NDArray[Any]:
        """Which entries rest on too little for the analytic interval and the bootstrap."""
        known = {str(name): frame[name].to_numpy() for name in frame}
        if "cells" in self.table:
            known["cells"] = self.table["cells"].values
        return scarcity(self.metric, known, frame["se"].to_numpy(), defined, methods)

    def __repr__(self) -> str:
        n_pairs = self.table.sizes["pair"]
        kind = "entry of all readers" if "readers" in self.table else "pair"
        many = kind.replace("entry", "entries") if "readers" in self.table else "pairs"
        parts = [f"{n_pairs} {kind if n_pairs == 1 else many}"]
        if lost := int(self.apart().sum()):
            parts.append(f"{lost} of them without a common trial")
        if "bootstrap" in self.data.children:
            parts.append(f"{len(self.draws('bootstrap'))} bootstrap replicates")
        if "posterior" in self.data.children:
            sampler = self.data["posterior"].attrs["sampler"]
            parts.append(f"{len(self.draws('posterior'))} posterior draws ({sampler})")
        if self.without_draws:
            parts.append(f"posterior limits {WITHOUT_DRAWS}")
        told = self.data.attrs.get("sentence", "")
        return f"<Result {self.metric.name}: {', '.join(parts)}>" + (f"\n  {told}" if told else "")


def _first(data: xr.DataTree, n: int) -> xr.DataTree:
    """The first entries of a result, with what its summary reads: many take seconds."""
    groups = {}
    for name in ("observed_data", "estimates", "bootstrap", "posterior"):
        if name in data.children:
            group = data[name].to_dataset()
            groups[name] = group.isel(pair=slice(n))
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = data.attrs
    return tree
