"""Results of all kinds: a labeled tree, with the methods for each kind of result."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.files import VERSION, check_tree, read_tree, write_tree
from alikely._base.frames import ROWS, As, Columns, Sort, given_as, html_of, known_columns, ordered
from alikely._base.intervals import CiKind, Intervals, check_interval
from alikely._base.names import listed
from alikely.data.trials import Trials
from alikely.estimates.latex import latex_table, printed
from alikely.estimates.pair_result import LABELS, bounds_of
from alikely.inference.cell_limits import WITHOUT_DRAWS
from alikely.metrics import Metric, get_metric
from alikely.metrics.consistency import CellPrior, cell_prior
from alikely.metrics.metric import metrics

if TYPE_CHECKING:
    from alikely.report.pages import Report

CHAINS = "chains"
Population = Literal["images", "observers", "both"]
# Headings of tables for papers where they are not the columns.
HEADINGS = {"ceiling_normalized": "ceiling-normalized", "n_entries": "entries"}
# Version of the file layout.
FORMAT = 3
ATTRIBUTES = ("kind", "metric", "ci_prob", "ci_kind", "alikely_version")


class Kind(NamedTuple):
    """Label of a kind of result, the function that returns it, and the module that handles it."""

    what: str
    maker: str
    module: str


KINDS = {
    "pair": Kind("pairs", "alikely.compare", "alikely.estimates.pair_result"),
    "matrix": Kind("a matrix", "alikely.pairwise_matrix", "alikely.estimates.matrices"),
    "group": Kind("groups", "alikely.benchmark.group_scores", "alikely.benchmark.groups"),
    "reader": Kind("a reader study", "alikely.benchmark.reader_study", "alikely.benchmark.readers"),
    "model": Kind("scores", "alikely.benchmark_scores", "alikely.benchmark.benchmark"),
    "tree": Kind("a tree", "alikely.benchmark.families", "alikely.benchmark.trees"),
    "regression": Kind(
        "a regression", "alikely.benchmark.agreement_regression", "alikely.benchmark.agreement"
    ),
}


def of_kind(result: object, *kinds: str) -> Result:
    """Return the result if it has one of the given kinds; raise `TypeError` otherwise."""
    if isinstance(result, Result) and result.kind in kinds:
        return result
    wanted = " or ".join(f"{KINDS[name].what} (from {KINDS[name].maker})" for name in kinds)
    got = f"one of {KINDS[result.kind].what}" if isinstance(result, Result) else ""
    raise TypeError(f"expected a Result of {wanted}, got {got or type(result).__name__}")


@dataclasses.dataclass(frozen=True, repr=False)
class Result:
    """Estimates with their standard errors, bootstrap replicates and posterior draws.

    The attribute ``kind`` of the tree is ``"pair"`` (pairs of observers,
    `alikely.compare`), ``"matrix"`` (`alikely.pairwise_matrix`), ``"model"`` (scores of models,
    `alikely.benchmark_scores`), ``"group"`` (`alikely.benchmark.group_scores`), ``"reader"``
    (`alikely.benchmark.reader_study`), ``"tree"`` (`alikely.benchmark.families`) or
    ``"regression"`` (`alikely.benchmark.agreement_regression`). All results have the methods below.
    Functions that analyze results, such as `alikely.difference` or
    `alikely.benchmark.ranks`, take the result as their first argument.

    Attributes
    ----------
    data : xarray.DataTree
        A data tree that ArviZ functions accept. For the bootstrap, pass
        ``group="bootstrap"`` and ``sample_dims="resample"`` to ArviZ functions. All results contain
        ``estimates`` and ``data_summary`` (numbers of trials and responses of each observer).

        - In results for pairs, ``estimates`` contains ``estimate``, ``se`` and, for correctness
          metrics, tests of independence. Results for pairs also contain ``observed_data`` (the
          correctness table), and may contain ``bootstrap`` (dimensions ``resample`` and ``pair``),
          ``posterior`` (``chain``, ``draw`` and ``pair``) and ``chains`` (MCMC fits, see
          `Result.chains`).
        - For a pairwise matrix, the dimension ``pair`` of ``estimates`` lists the upper triangle by
          row. If trials are grouped, ``condition`` or ``dataset`` is the first dimension. The group
          ``answers`` contains the correctness of all responses as packed bits (1: correct).
        - For benchmark scores, estimates and draws (variable ``score``) have the dimensions
          ``level`` (data sets and ``overall``) and ``system`` (models, ``human-human`` and
          ``ceiling``). ``ceiling`` is the human-human score in data sets that include models. The
          group ``decomposition`` contains the variance components of analytic intervals.
    trials : Trials, optional
        The analyzed trials, if later analyses need them. `Result.save` does not save the trials.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-model", rng=1)
    >>> result
    <Result error_consistency: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """

    data: xr.DataTree
    trials: Trials | None = dataclasses.field(default=None, compare=False)

    @property
    def kind(self) -> str:
        """Kind of result, such as ``"pair"`` or ``"matrix"``."""
        return str(self.data.attrs["kind"])

    @property
    def metric(self) -> Metric:
        """The estimated metric, including its options."""
        attrs = self.data.attrs
        metric = get_metric(str(attrs["metric"]))
        kept = {name: np.asarray(attrs[name]).item() for name in metric.options if name in attrs}
        return get_metric(metric, **kept)

    @property
    def prior(self) -> CellPrior:
        """The prior on the four correctness cells of a pair of observers."""
        text = self.data.attrs.get("prior", "")
        return cell_prior(json.loads(text) if text else None)

    @property
    def estimates(self) -> xr.Dataset:
        """Point estimates and other variables, such as standard errors."""
        return self.data["estimates"].to_dataset()

    @property
    def observers(self) -> list[str]:
        """Names of the observers; for scores, names of the models."""
        return list(self._functions.observers(self))

    @property
    def missing_note(self) -> str:
        """Number of missing responses and their treatment; empty if no response is missing."""
        return str(self.data.attrs.get("missing_note", ""))

    @property
    def table(self) -> xr.Dataset:
        """Table of counts from which the estimates for pairs were computed."""
        return of_kind(self, "pair", "group").data["observed_data"].to_dataset()

    @property
    def pairs(self) -> pd.DataFrame:
        """Labels of all comparisons: dataset, condition, observer_a, observer_b."""
        table = self.table
        return pd.DataFrame({name: table[name].values for name in LABELS})

    @property
    def undefined(self) -> pd.Series:
        """Reasons for undefined estimates, indexed by the labels of the comparisons."""
        estimates = of_kind(self, "pair", "group").estimates
        reasons = pd.Series(
            estimates["undefined"].values, index=estimates["pair"].values, dtype=object
        )
        return reasons[reasons != ""]

    @property
    def chains(self) -> dict[str, xr.DataTree]:
        """The MCMC fits of the posterior, each as returned by `alikely.inference.nuts`.

        Without MCMC, the mapping is empty. With MCMC, the mapping's only key is ``"all pairs"``,
        whose value you can pass to ArviZ functions.
        """
        if CHAINS not in self.data.children:
            return {}
        return {node.attrs["label"]: node for node in self.data[CHAINS].children.values()}

    @property
    def without_draws(self) -> bool:
        """Whether equal-tailed posterior limits were computed exactly, without draws."""
        return self.data.attrs.get("posterior_limits") == WITHOUT_DRAWS

    def interval_options(
        self, ci_prob: float | None, ci_kind: CiKind | None
    ) -> tuple[float, CiKind]:
        """Return the given probability level and kind of intervals, or else those of the result."""
        prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        kind = self.data.attrs["ci_kind"] if ci_kind is None else ci_kind
        check_interval(prob, kind)
        return prob, kind

    @property
    def _functions(self) -> ModuleType:
        """The functions of this kind of result."""
        return importlib.import_module(KINDS[self.kind].module)

    def _call(self, name: str, function: Any = None, **options: Any) -> Any:
        """Call a function of this kind with the options it takes; other options must be unset."""
        what = KINDS[self.kind].what
        function = function or getattr(self._functions, name, None)
        if function is None:
            raise ValueError(f"a Result of {what} has no {name}")
        known = inspect.signature(function).parameters
        unset = {"level": "overall", "lowest": False}
        # Intervals have a probability and a kind whether or not a function uses both.
        options = {
            k: v for k, v in options.items() if k in known or k not in ("ci_prob", "ci_kind")
        }
        for option in [option for option in options if option not in known]:
            if options.pop(option) != unset.get(option):
                raise ValueError(f"a Result of {what} has no option {option}=; leave it out")
        return function(self, **options)

    def summary(
        self,
        generalize_to: Population | None = None,
        level: str | None = "overall",
        *,
        intervals: Intervals = None,
        columns: Columns = None,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        top: int | None = None,
        lowest: bool = False,
        sort: Sort = None,
        as_: As = "pandas",
    ) -> pd.DataFrame | Any:
        """List the estimates with their intervals: one row per pair, or per data set and system.

        By default, each row has one interval, computed by the method recommended for the metric.
        For pairs, the posterior interval is recommended if the posterior describes the same
        quantity as the estimate and accounts for clusters. For benchmark scores, the analytic
        interval is recommended. For pairs, ``p_null`` is the p-value of a test of the null
        hypothesis that the two observers err independently, given their accuracies. The
        false-positive rate of ``p_null`` is closer to the nominal rate than that of Fisher's exact
        test.

        Parameters
        ----------
        generalize_to : {"images", "observers", "both"}, optional
            For scores: population to which intervals generalize (new images, new humans, or both).
            Default: both. The posterior generalizes to new images with the same humans
            (``"images"``).
        level : str or None
            For scores: a data set, ``"overall"`` (the unweighted mean of all data sets), or None
            for all data sets and ``"overall"``.
        intervals : None, "all" or sequence of {"analytic", "bootstrap", "bca", "posterior"}
            - None: the recommended interval, and the posterior interval if the posterior describes
              another quantity
            - ``"all"``: every method that is valid for the metric (except BCa), and every column
            - a sequence of methods: intervals from these methods only. For methods that are invalid
              for the metric, the note gives the reason. Benchmark scores have no bootstrap
              intervals, because these would be too narrow.
        columns : "all" or sequence of str, optional
            Additional columns, or ``"all"``. Columns that are invalid for the metric are shown only
            if you list their names.
        ci_prob : float, optional
            Probability level of the intervals, in (0, 1). Default: the `ci_prob` of the
            result.
        ci_kind : {"eti", "hdi"}, optional
            Kind of bootstrap and posterior interval: equal-tailed or highest-density. Default: the
            `ci_kind` of the result.
        top, lowest : int, optional, and bool
            For a matrix: number of rows to show, and whether to show the rows with the lowest
            estimates instead of the highest. Default: all rows, up to a million.
        sort : str or sequence of str, optional
            Columns by which to sort the rows, starting with the most important; ``"-estimate"``
            sorts in descending order. Rows with missing values come last.
        as_ : {"pandas", "polars", "pyarrow"}
            Data frame library for the returned table. To use ``"polars"`` or ``"pyarrow"``, install
            that library.

        Returns
        -------
        pandas.DataFrame
            A data frame (see `as_`). Columns for pairs:

            - ``dataset, condition, observer_a, observer_b``
            - ``n_trials, accuracy_a, accuracy_b, estimate, se``
            - further columns of the metric; for error consistency, on request, ``accuracy_gap``
              (first minus second), ``kappa_min, kappa_max`` (bounds given the accuracies) and
              ``bias_corrected``
            - bounds, whose names state the method, the kind and the probability level;
              ``posterior_median``; ``frac_undefined``, the fraction of undefined bootstrap
              replicates
            - ``p_null``, the p-value of the test of independence; on request ``p_null_bh``
              (Benjamini-Hochberg adjusted over all rows), ``p_fisher``, ``log_bf10`` (nats)
            - ``note``: the reason if a value is undefined or an interval is not reliable; on
              request ``note_codes``, the codes of these notes

            In the summary of a matrix, the columns for tests of independence are ``p_adjusted``
            (Fisher's exact test, adjusted for all pairs) and, on request, ``log10_p`` (unadjusted).
            Rows are sorted by descending estimate. Columns for scores:

            - ``level, system, estimate, se`` and bounds within the range of the metric
            - for models, ``ceiling_normalized`` (score divided by ceiling) with its Fieller
              interval; ``accuracy``
            - on request, the ``interval_center`` of the analytic interval (the score with a
              pseudocount in the cells of each pair) and its degrees of freedom ``df``;
              ``ceiling_normalized_se``
            - on request, ``accuracy_humans``, ``accuracy_gap`` (humans minus model) and columns
              derived from accuracies, as means over the entries of the score
            - for results of `alikely.benchmark.scores_from_result`: ``ceiling, posterior_median,
              prob_positive, n_entries``
            - ``note``; on request ``note_codes``

        Raises
        ------
        ValueError
            If an argument is invalid, or does not apply to this result.
        ImportError
            If the library requested with `as_` is not installed.

        Examples
        --------
        >>> import alikely as al
        >>> result = al.error_consistency(al.load_example(), pairs="human-human", rng=1)
        >>> [name for name in result.summary() if name.endswith("_lb")]
        ['posterior_eti95_lb']
        >>> [name for name in result.summary(intervals="all") if name.endswith("_lb")]
        ['analytic_ci95_lb', 'bootstrap_eti95_lb', 'posterior_eti95_lb']
        """
        prob, kind = self.interval_options(ci_prob, ci_kind)
        table = self._call(
            "summary", generalize_to=generalize_to, level=level, intervals=intervals,
            columns=columns, ci_prob=prob, ci_kind=kind, top=top, lowest=lowest,
        )  # fmt: skip
        return given_as(ordered(table, sort), as_)

    def sentence(
        self,
        generalize_to: Population | None = None,
        level: str = "overall",
        *,
        interval: str | None = None,
        ci_prob: float | None = None,
        digits: int = 2,
        mean: Any = None,
        difference: tuple[Any, Any] | None = None,
    ) -> str:
        """Describe the result in sentences suitable for a paper.

        Parameters
        ----------
        generalize_to, level
            As in `summary`.
        interval : {"analytic", "bootstrap", "bca", "posterior"}, optional
            Method used to compute the interval. Default: the method recommended for the metric.
        ci_prob : float, optional
            Default: the `ci_prob` of the result.
        digits : int
            Number of decimals.
        mean : str, sequence of str, or mapping, optional
            Pairs whose mean estimate is reported in the sentence, selected as in `alikely.mean`.
        difference : tuple, optional
            Describe one difference: between two models, named by a tuple (for benchmark scores), or
            between two selections of pairs, as in `alikely.difference` (for results of pairs).

        Returns
        -------
        str
            - For one pair: the estimate, its interval, the method, the number of trials, the
              population to which the interval generalizes, and the p-value of the test of
              independence.
            - For several pairs: the lowest and the highest estimate, and the number of pairs for
              which the test of independence is significant after adjustment for multiple
              comparisons.
            - For scores: the lowest and the highest score, the human-human consistency, and the
              number of differences that are significant after adjustment.
            - For a mean or a difference: the estimate, its interval, and whether the interval
              excludes 0.

            Notes on the result, if any, are added at the end of the text.

        Raises
        ------
        ValueError
            If the interval is not available, an option is out of range, or a selection matches
            nothing.

        Examples
        --------
        >>> import alikely as al
        >>> trials = al.load_example().select(condition="noise")
        >>> result = al.error_consistency(trials, [("human_1", "model_4")], n_draws=0, rng=1)
        >>> print(result.sentence(interval="analytic"))
        ... # doctest: +NORMALIZE_WHITESPACE, +ELLIPSIS
        The error consistency of human_1 and model_4 in noise was 0.23, 95% CI [0.07, 0.39]
        (analytic; 160 trials). The interval generalizes to new trials with these observers
        (observers fixed). The interval lies above 0, the value expected for independent errors.
        The test of the independence of errors gave p = ...
        """
        # The report is a higher layer, but users expect this method on the result.
        function = importlib.import_module("alikely.report.sentences").SENTENCES[self.kind]
        prob, kind = self.interval_options(ci_prob, None)
        text: str = self._call(
            "sentence", function, generalize_to=generalize_to, level=level, interval=interval,
            ci_prob=prob, ci_kind=kind, digits=digits, mean=mean, difference=difference,
        )  # fmt: skip
        return text

    def to_latex(
        self,
        generalize_to: Population | None = None,
        level: str | None = "overall",
        *,
        interval: str | None = None,
        ci_prob: float | None = None,
        columns: Sequence[str] | None = None,
        top: int | None = None,
        sort: Sort = None,
        digits: int = 3,
        caption: str | None = None,
        label: str | None = None,
    ) -> str:
        """Format the summary as a LaTeX table in booktabs style.

        Parameters
        ----------
        generalize_to, level, interval, ci_prob
            As in `sentence`.
        columns : sequence of str, optional
            Columns of the summary. Default: the estimate, its interval, the number of trials or
            errors, and columns with names or conditions if their values vary across rows. Notes
            appear below the table.
        top, sort
            As in `summary`.
        digits, caption, label
            As in `alikely.estimates.latex_table`.

        Returns
        -------
        str
            LaTeX code for the table, as returned by `alikely.estimates.latex_table`.

        Raises
        ------
        ValueError
            If a column is unknown. See also `sentence`.
        """
        prob, kind = self.interval_options(ci_prob, None)
        method = self._call("method", generalize_to=generalize_to, interval=interval)
        frame = self.summary(
            generalize_to, level, intervals=[method] if method else [], columns="all", ci_prob=prob,
            ci_kind=kind, top=top, sort=sort,
        )  # fmt: skip
        known_columns(frame, columns or (), "columns")
        return latex_table(
            self._page(frame, method, prob, kind) if columns is None else frame[list(columns)],
            digits=digits,
            caption=caption,
            label=label,
            headings={**HEADINGS, "estimate": self.metric.label},
        )

    def _page(self, frame: pd.DataFrame, method: str, prob: float, kind: CiKind) -> pd.DataFrame:
        """Select the columns of a summary that fit on a page."""
        bounds = bounds_of(method, kind, prob) if method else ()
        names = self._functions.page_columns(self, frame, bounds)
        return frame[[*names, *(["note"] if (frame["note"] != "").any() else [])]]

    def _repr_html_(self) -> str:
        """Show the first rows in notebooks, with one interval and the notes."""
        prob, kind = self.interval_options(None, None)
        method = self._functions.method(self)
        matrix = self.kind == "matrix"
        frame = self.summary(intervals=[method] if method else [], top=ROWS if matrix else None)
        cells, numbers, _ = printed(
            self._page(frame, method, prob, kind).head(ROWS),
            headings={**HEADINGS, "estimate": self.metric.label},
        )
        return html_of(
            repr(self)[1:-1],
            cells,
            numbers=numbers,
            n_rows=self.estimates["estimate"].size if matrix else len(frame),
            more="summary() has all, with every interval and the tests",
        )

    def __repr__(self) -> str:
        return f"<Result {self.metric.name}: {self._functions.describe(self)}>"

    def draws(
        self,
        method: Literal["bootstrap", "posterior"],
        level: str = "overall",
    ) -> NDArray[np.floating]:
        """Return the bootstrap replicates or posterior draws.

        Parameters
        ----------
        method : {"bootstrap", "posterior"}
            Method of inference.
        level
            For scores: a data set or ``"overall"``, as in `summary`. Intervals computed from draws
            of scores generalize to new images.

        Returns
        -------
        ndarray, shape (draw, pair) or (draw, system)
            Draws from all chains, concatenated.

        Raises
        ------
        ValueError
            If the draws are not available.
        """
        found: NDArray[np.floating] = self._call("draws", method=method, level=level)
        return found

    def sel(self, **labels: str | Sequence[str]) -> Result:
        """Select comparisons, observers or systems of a result by their labels.

        Parameters
        ----------
        **labels : str or sequence of str
            Labels to select by: ``dataset, condition, observer_a, observer_b`` for pairs, or
            ``observer``, ``condition`` or ``dataset`` for a matrix. The selected observers of a
            matrix are returned in the order in which you name them. For benchmark scores,
            ``system`` selects models; the rows ``human-human`` and ``ceiling`` are always kept.

        Returns
        -------
        Result
            The selected part of the result. If part of a matrix is selected, ``p_adjusted`` remains
            adjusted for all pairs.

        Raises
        ------
        ValueError
            If a label does not occur in the result, or if no comparison matches all labels that you
            pass.
        """
        return Result(self._call("select", labels=labels), self.trials)

    def report(self, path: str | Path | None = None, *, title: str | None = None) -> Report:
        """Write an HTML report with findings, figures, tables and a description of the methods."""
        # The only import of a higher layer: users expect this method on the result.
        from alikely.report import make_report

        page = make_report(self, title=title)
        if path is not None:
            page.save(path)
        return page

    def save(self, path: str | Path) -> None:
        """Save the result to a netCDF file."""
        tree = self.data.copy()
        tree.attrs = {**tree.attrs, VERSION: FORMAT}
        write_tree(tree, path)

    @classmethod
    def load(cls, path: str | Path, trials: Trials | None = None) -> Result:
        """Load a result from a file written by `save`.

        To compute means, differences or block means from a matrix, or to find families, also pass
        its `trials`, unless the metric is a correctness metric.
        """
        tree = read_tree(path)
        kind = str(tree.attrs.get("kind", ""))
        schema: Mapping[str, Any] = {}
        if kind in KINDS:
            schema = importlib.import_module(KINDS[kind].module).schema(tree)
        check_tree(tree, schema, ATTRIBUTES, FORMAT, path)
        # The layout is the file's, not the analysis's.
        attrs = {name: value for name, value in tree.attrs.items() if name != VERSION}
        if kind not in KINDS:
            raise ValueError(
                f"{str(path)!r} is a Result of kind {kind!r}, expected {listed(KINDS)}; make it "
                "again"
            )
        if str(attrs["metric"]) not in metrics():
            module = attrs.get("metric_module", "")
            raise ValueError(
                f"{str(path)!r} has the metric {attrs['metric']!r}, which is not registered; "
                f"import {module or 'the module that registers it'} before loading"
            )
        try:
            check_interval(attrs["ci_prob"], str(attrs["ci_kind"]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{str(path)!r} is damaged: {error}; make it again") from None
        tree.attrs = attrs
        return cls(tree) if trials is None else cls(tree)._call("with_trials", trials=trials)
