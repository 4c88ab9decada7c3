"""The result of an analysis: one DataTree, read by everything downstream."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely import null
from alikely._files import read_tree, write_tree
from alikely._intervals import CiKind, check_interval, interval
from alikely.metrics import (
    COPY_PROBABILITY,
    DECISION_MARGIN_CONSISTENCY,
    ERROR_CONSISTENCY,
    ERROR_SIMILARITY,
    MISCLASSIFICATION_AGREEMENT,
    Metric,
    consistency,
    error_similarity_metric,
    margin_metric,
)
from alikely.resampling import bca_of_table

__all__ = ["Result"]

METRICS = {
    metric.name: metric
    for metric in (
        ERROR_CONSISTENCY,
        COPY_PROBABILITY,
        MISCLASSIFICATION_AGREEMENT,
        ERROR_SIMILARITY,
        DECISION_MARGIN_CONSISTENCY,
    )
}
# Beside the estimate, as far as the analysis has them.
BESIDE = (
    "n_joint_errors",
    "n_errors_a",
    "n_errors_b",
    "expected",
    "divergence",
    "expected_divergence",
    "excess_divergence",
    "log_bayes_factor",
    "reliability",
    "corrected",
)
LABELS = ["dataset", "condition", "observer_a", "observer_b"]
School = Literal["analytic", "bootstrap", "bca", "posterior"]
SCHOOLS: tuple[School, ...] = ("analytic", "bootstrap", "posterior")

# With fewer errors (or fewer right answers) of either observer the percentile bootstrap and the
# analytic interval fall clearly short of their promise.
FEW_ERRORS = 10
# With fewer items Fisher's z is no longer normal.
FEW_ITEMS = 20
# A posterior interval that spans this much says next to nothing.
WIDE = 0.5


@dataclasses.dataclass(frozen=True)
class Result:
    """Estimates, replicates and draws of one metric for many pairs.

    Attributes
    ----------
    data : xarray.DataTree
        Groups ``observed_data`` (the correctness table), ``estimates`` (``estimate, se`` and the
        tests of independence), ``bootstrap`` (resample, pair), ``posterior`` (chain, draw, pair),
        and from NUTS ``sample_stats``; on request ``log_likelihood``. ArviZ functions take it as
        it is, with ``group="bootstrap", sample_dims="resample"`` for the bootstrap.

    Examples
    --------
    >>> import alikely as al
    >>> result = al.error_consistency(al.load_example(), pairs="human-model", rng=1)
    >>> result
    <Result error_consistency: 72 pairs, 10000 bootstrap replicates, 4000 posterior draws (exact)>
    """

    data: xr.DataTree

    @property
    def metric(self) -> Metric:
        """The estimand."""
        attrs = self.data.attrs
        if "mixture" in attrs:
            return error_similarity_metric(
                float(attrs["alpha"]), attrs["mixture"], float(attrs["base"])
            )
        if "method" in attrs:
            return margin_metric(attrs["method"])
        return METRICS[str(attrs["metric"])]

    @property
    def table(self) -> xr.Dataset:
        """The correctness table that was analysed."""
        return self.data["observed_data"].to_dataset()

    @property
    def estimates(self) -> xr.Dataset:
        """Point estimates, standard errors and tests of independence, by pair."""
        return self.data["estimates"].to_dataset()

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
        values = self.data[school][self.metric.name]
        return np.asarray(values.values).reshape(-1, values.sizes["pair"])

    def summary(
        self,
        ci_prob: float | None = None,
        ci_kind: CiKind | None = None,
        intervals: Sequence[School] = SCHOOLS,
    ) -> pd.DataFrame:
        """Tidy table, one row per pair and group.

        Parameters
        ----------
        ci_prob : float, optional
            Probability of the intervals, in (0, 1); as in the analysis if not given.
        ci_kind : {"eti", "hdi"}, optional
            Equal-tailed or highest-density, for the bootstrap and the posterior alike.
        intervals : sequence of {"analytic", "bootstrap", "bca", "posterior"}
            Schools of inference to show, where the result has them.

        Returns
        -------
        pandas.DataFrame
            ``dataset, condition, observer_a, observer_b, n_trials, accuracy_a, accuracy_b,
            estimate, se``; bounds of each school, with kind and probability in the column names;
            ``posterior_median``; ``undefined_share`` of the bootstrap replicates; ``p_null`` (the
            test against independent observers; ``p_null_bh`` adjusted over all rows by Benjamini
            and Hochberg), ``p_fisher``, ``bf10``; ``note``: why something
            is undefined or not to be trusted.

        Raises
        ------
        ValueError
            If the probability, the kind or a school is not valid.
        """
        ci_prob = float(self.data.attrs["ci_prob"]) if ci_prob is None else ci_prob
        ci_kind = self.data.attrs["ci_kind"] if ci_kind is None else ci_kind
        check_interval(ci_prob, ci_kind)
        unknown = set(intervals) - {*SCHOOLS, "bca"}
        if unknown:
            raise ValueError(
                f"intervals must be among 'analytic', 'bootstrap', 'bca', 'posterior'; got "
                f"{', '.join(map(repr, sorted(unknown)))}"
            )
        n_trials, accuracy_a, accuracy_b = self._trials()
        estimates = self.estimates
        frame = self.pairs.assign(
            n_trials=n_trials,
            accuracy_a=accuracy_a,
            accuracy_b=accuracy_b,
            estimate=estimates["estimate"].values,
            se=estimates["se"].values,
        )
        for name in BESIDE:
            if name in estimates:
                frame[name] = estimates[name].values
        percent = f"{100 * ci_prob:g}"
        width: NDArray[np.float64] | None = None
        for school in intervals:
            if school != "analytic" and self._group(school) not in self.data.children:
                continue
            kind = {"analytic": "ci", "bca": "ci"}.get(school, ci_kind)
            if school == "posterior":
                frame["posterior_median"] = np.median(self.draws("posterior"), axis=0)
            bounds = self._bounds(school, ci_prob, ci_kind)
            if school == "posterior":
                width = bounds[:, 1] - bounds[:, 0]
            frame[f"{school}_{kind}{percent}_lb"] = bounds[:, 0]
            frame[f"{school}_{kind}{percent}_ub"] = bounds[:, 1]
        if "bootstrap" in self.data.children:
            frame["undefined_share"] = np.isnan(self.draws("bootstrap")).mean(axis=0)
        for name in ("p_null", "p_fisher", "bf10"):
            if name in estimates:
                frame[name] = estimates[name].values
        if "p_null" in frame:
            after = list(frame).index("p_null") + 1
            frame.insert(after, "p_null_bh", null.adjusted_p_values(frame["p_null"]))
        frame["note"] = self._notes(frame, width)
        return frame

    def _trials(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Number of trials and both accuracies of each entry."""
        table = self.table
        if "cells" not in table:
            n_trials, a, b = (table[k].values for k in ("n_trials", "accuracy_a", "accuracy_b"))
            return n_trials, a, b
        cells = table["cells"].values
        return cells.sum(axis=1), *consistency.accuracies(cells)

    @staticmethod
    def _group(school: str) -> str:
        return "bootstrap" if school == "bca" else school

    def _bounds(self, school: School, ci_prob: float, ci_kind: CiKind) -> NDArray[np.float64]:
        if school == "analytic":
            estimates = self.estimates
            half = special.ndtri((1 + ci_prob) / 2) * estimates["se"].values
            value = estimates["estimate"].values
            if self.metric.counts == "margins":
                # Fisher's z: a correlation is skewed near its bounds.
                with np.errstate(divide="ignore", invalid="ignore"):
                    half = half / (1 - value**2)
                    z = np.arctanh(value)
                return np.tanh(np.stack([z - half, z + half], axis=1))
            return np.stack([value - half, value + half], axis=1)
        if school == "bca":
            return bca_of_table(self.table, self.draws("bootstrap"), self.metric, ci_prob)
        return interval(self.draws(school), ci_prob, ci_kind)

    def _notes(self, frame: pd.DataFrame, width: NDArray[np.float64] | None) -> list[str]:
        remarks = [self.estimates["undefined"].values.astype(object)]
        remarks.append(self._scarcity(frame, remarks[0] == ""))
        if "remark" in self.estimates:
            remarks.append(self.estimates["remark"].values)
        if self.data.attrs["model"] == "independent_rows" and width is not None:
            draws = self.draws("posterior")
            held = np.quantile(draws, 0.975, axis=0) < frame["estimate"].to_numpy()
            remarks.append(
                np.where(held, "independent rows hold similarity down: use sampler='nuts'", "")
            )
        if width is not None:
            remarks.append(np.where(width > WIDE, "these data cannot tell", ""))
        if self.data.attrs["cluster"] and width is not None:
            remarks.append(np.full(len(frame), "the posterior ignores the clusters", dtype=object))
        return ["; ".join(filter(None, parts)) for parts in zip(*remarks, strict=True)]

    def _scarcity(self, frame: pd.DataFrame, defined: NDArray[np.bool_]) -> NDArray[Any]:
        """Which entries rest on too little for the analytic interval and the bootstrap."""
        if self.metric.counts == "margins":
            return np.where(frame["n_trials"] < FEW_ITEMS, "few items", "")
        cells = self.table["cells"].values
        if self.metric.counts == "correctness":
            right = np.stack([cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]])
            rarest = np.minimum(right, cells.sum(axis=1) - right).min(axis=0)
            alone = "an observer never errs (or always): only the posterior has a spread"
        elif self.metric.counts == "labels":
            rarest = cells[:, 3]
            alone = "fewer than 2 joint errors, or all alike: only the posterior has a spread"
        else:
            rarest = np.minimum(frame["n_errors_a"], frame["n_errors_b"]).to_numpy()
            alone = "fewer than 2 errors: only the posterior has a spread"
        few = defined & (rarest < FEW_ERRORS)
        seldom = "few errors: trust the posterior only"
        if self.metric.counts == "rows":
            seldom = "few errors: mostly smoothing; see expected_divergence"
        return np.where(few & (frame["se"].to_numpy() == 0), alone, np.where(few, seldom, ""))

    def save(self, path: str | Path) -> None:
        """Write the result to a netCDF file.

        Parameters
        ----------
        path : str or path
            File to write; one that exists is replaced.
        """
        write_tree(self.data, path)

    @classmethod
    def load(cls, path: str | Path) -> Result:
        """Read a result that `save` wrote.

        Parameters
        ----------
        path : str or path
            netCDF file.

        Returns
        -------
        Result

        Raises
        ------
        ValueError
            If the file is missing or holds no result of this package.
        """
        tree = read_tree(path)
        if tree.attrs.get("metric") not in METRICS or "observed_data" not in tree.children:
            raise ValueError(f"{str(path)!r} holds no alikely result; write one with Result.save")
        return cls(tree)

    def __repr__(self) -> str:
        parts = [f"{self.table.sizes['pair']} pairs"]
        if "bootstrap" in self.data.children:
            parts.append(f"{len(self.draws('bootstrap'))} bootstrap replicates")
        if "posterior" in self.data.children:
            sampler = self.data["posterior"].attrs["sampler"]
            parts.append(f"{len(self.draws('posterior'))} posterior draws ({sampler})")
        return f"<Result {self.metric.name}: {', '.join(parts)}>"
