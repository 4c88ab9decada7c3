"""Estimates of all pairs of thousands of observers, and what to ask of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.files import write_file
from alikely._base.frames import As, given_as, html_of
from alikely._base.intervals import Intervals, bound_names
from alikely._base.names import counted, listed, nearest
from alikely.data.counting import Packed
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.trials import Trials
from alikely.estimates.latex import printed
from alikely.estimates.matrix_answers import answers_of
from alikely.estimates.matrix_rows import combined, rows_of
from alikely.estimates.tree import Tree
from alikely.inference.intervals import analytic_interval
from alikely.inference.weighted import student_deviate

__all__ = ["MatrixResult"]

# A data frame of more rows is more than anyone reads, and some gigabytes.
MOST_ROWS = 1_000_000
# Names of the dims of places, the first of which is there or not.
PLACES = ("condition", "dataset")
ORDERS = ("a, b", "b, a")
# Variables that are no matrices to look at.
HIDDEN = ("cells", "own", "why")
PAIRS = ("pair",)


@dataclasses.dataclass(frozen=True, repr=False)
class MatrixResult(Tree):
    """Estimates of one metric for all pairs of many observers.

    Attributes
    ----------
    data : xarray.DataTree
        Group ``estimates``: variables with the dim ``pair``, which runs through the upper triangle
        of the matrix row by row, and no labels of its own; before it ``condition`` or ``dataset``
        where trials are kept apart by these, and ``order`` ("a, b" and "b, a") of metrics to
        which the order matters. Group ``answers``: the answers as bits, for standard errors of
        differences and means.
    trials : Trials or None
        What it is of, as `alikely.matrix` was given it; no file holds it (`with_trials`).

    Examples
    --------
    >>> import alikely as al
    >>> result = al.matrix(al.load_example(), by=None)
    >>> result
    <MatrixResult error_consistency: 10 observers, 45 pairs, 480 trials>
    >>> result["estimate"].sel(observer="model_1", observer_other="model_2").round(3).item()
    0.58
    """

    trials: Trials | None = dataclasses.field(default=None, compare=False)

    SCHEMA = MappingProxyType(
        {
            "estimates": {"estimate": None, "se": None, "cells": None},
            "answers": {"right": ("observer", "word"), "n_trials": None},
        }
    )

    @property
    def observers(self) -> list[str]:
        """Names in the order of rows and columns."""
        return [str(name) for name in self.data["answers"].to_dataset()["observer"].values.tolist()]

    @property
    def place(self) -> str:
        """What trials are kept apart by, ``"condition"`` or ``"dataset"``; empty where pooled."""
        return next((name for name in PLACES if name in self.estimates.dims), "")

    @property
    def places(self) -> list[str]:
        """Names of the conditions or data sets; one empty name where trials are pooled."""
        place = self.place
        return [str(name) for name in self.estimates[place].values.tolist()] if place else [""]

    @property
    def cluster(self) -> str:
        """Column of items whose answers are dependent; empty where items are independent."""
        return str(self.data.attrs.get("cluster", ""))

    def cluster_numbers(self) -> list[NDArray[np.intp]]:
        """Which cluster each trial of each place is of."""
        answers = self.data["answers"].to_dataset()
        ends = np.cumsum(np.atleast_1d(answers["n_trials"].values))
        return np.split(answers["cluster"].values, ends[:-1])

    def with_trials(self, trials: Trials) -> MatrixResult:
        """The same matrix, as from a file, with the trials that it is of.

        Differences, means, families and the like need them of metrics that are not of correctness.

        Parameters
        ----------
        trials : Trials
            Those that `alikely.matrix` was given; further observers are left alone.

        Returns
        -------
        MatrixResult

        Raises
        ------
        ValueError
            If these are other trials: observers are missing, or right and wrong answers differ.
        """
        of_type(trials, Trials, "read them with Trials.read or Trials.from_table")
        if missing := [name for name in self.observers if name not in trials.observers]:
            raise ValueError(f"these trials have no observers {listed(missing)} of the matrix")
        by: Any = self.place or None
        _, parts, places = answers_of(trials, by, self.data.attrs["no_response"], "trial")
        known = [""] if places is None else places.values.tolist()
        at = [trials.observers.index(name) for name in self.observers]
        for name, own in zip(self.places, self.answers(), strict=True):
            other = parts[known.index(name)] if name in known else None
            if other is None or not np.array_equal(other.right[at], own.right):
                where = f" in {name}" if name else ""
                raise ValueError(
                    f"right and wrong answers of these trials{where} are not those of the matrix; "
                    "give the trials that it was made of"
                )
        return MatrixResult(self.data, trials)

    def __repr__(self) -> str:
        n, n_pairs = len(self.observers), self.estimates.sizes["pair"]
        trials = int(self.data["answers"]["n_trials"].sum())
        where = f", {len(self.places)} {self.place}s" if self.place else ""
        n_undefined = int(np.isnan(self.estimates["estimate"].values).sum())
        undefined = f", {counted(n_undefined, 'entry', 'entries')} undefined" if n_undefined else ""
        return (
            f"<MatrixResult {self.metric.name}: {n:,} observers, {n_pairs:,} pairs, "
            f"{trials:,} trials{where}{undefined}>"
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the pairs that are most alike."""
        frame = self.to_frame(top=10)
        keep = [n for n in ("dataset", "condition") if frame[n].nunique() > 1]
        cells, numbers, _ = printed(
            frame[[*keep, "observer_a", "observer_b", "n_trials", "estimate", "se", "note"]],
            headings={"estimate": self.metric.label},
        )
        more = "the highest first; to_frame, nearest and result['estimate'] have the others"
        return html_of(repr(self)[1:-1], cells, numbers=numbers, more=more)

    def __getitem__(self, name: str) -> xr.DataArray:
        """One variable as a labelled square matrix."""
        estimates = self.estimates
        known = [str(v) for v in estimates.data_vars if v not in HIDDEN] + ["n_trials"]
        if name not in known:
            raise KeyError(
                f"no {name!r} in this matrix; it has {', '.join(known)}{nearest(name, known)}"
            )
        names, n = self.observers, len(self.observers)
        if name == "n_trials":
            values = estimates["cells"].sum("cell").values
            # Trials that an observer was shown.
            diagonal: Any = np.stack([packed.n_shown() for packed in self.answers()])
            diagonal = diagonal if self.place else diagonal[0]
        else:
            values = estimates[name].values
            diagonal = estimates["own"].values if name == "estimate" else np.nan
        order = "order" in estimates[name].dims if name in estimates else False
        upper, lower = (values[..., 0, :], values[..., 1, :]) if order else (values, values)
        square = np.empty((*upper.shape[:-1], n, n), dtype=values.dtype)
        i, j = np.triu_indices(n, k=1)
        square[..., i, j], square[..., j, i] = upper, lower
        square[..., np.arange(n), np.arange(n)] = diagonal
        place = self.place
        return xr.DataArray(
            square,
            dims=(*([place] if place else []), "observer", "observer_other"),
            coords={
                **({place: self.places} if place else {}),
                "observer": names,
                "observer_other": names,
            },
            name=name,
        )

    def to_frame(
        self,
        top: int | None = None,
        *,
        min_estimate: float | None = None,
        lowest: bool = False,
        observer: str | None = None,
        intervals: Intervals = None,
        columns: Sequence[str] | Literal["all"] | None = None,
        as_: As = "pandas",
    ) -> pd.DataFrame | Any:
        """Table of pairs, the highest estimates first.

        Parameters
        ----------
        top : int, optional
            So many rows; all if not given.
        min_estimate : float, optional
            Only pairs with at least this estimate.
        lowest : bool
            The lowest first.
        observer : str, optional
            Only pairs of this observer.
        intervals : None, "all" or sequence of {"analytic", "posterior"}
            The recommended interval, every valid one with all columns, or those of these methods.
        columns : "all" or sequence of str, optional
            Further columns to show.
        as_ : {"pandas", "polars", "pyarrow"}
            Whose table is wanted.

        Returns
        -------
        pandas.DataFrame
            Or a table of the library asked for: ``dataset, condition, observer_a, observer_b,
            n_trials, accuracy_a, accuracy_b, estimate, se``, limits of the schools, ``log10_p``
            (Fisher's exact test) and ``p_adjusted`` (over all entries), ``note``. What is undefined
            stands last.

        Raises
        ------
        ValueError
            If that were more than a million rows, or an option is invalid.
        """
        estimates = self.estimates
        value = estimates["estimate"].values
        chosen = np.ones(value.shape, dtype=bool)
        if observer is not None:
            chosen &= (self.ends() == self._position(observer)).any(axis=0)
        if min_estimate is not None:
            chosen &= value >= min_estimate
        flat = np.flatnonzero(chosen)
        n_rows = len(flat) if top is None else min(top, len(flat))
        if top is not None and top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        if n_rows > MOST_ROWS:
            raise ValueError(
                f"a table of {n_rows:,} rows is more than {MOST_ROWS:,}; give top= or "
                "min_estimate=, take matrices as result['estimate'], or write all to a file with "
                "to_parquet"
            )
        key = value.ravel()[flat] if lowest else -value.ravel()[flat]
        if n_rows < len(flat):
            # NaN sorts last also here.
            flat = flat[np.sort(np.argpartition(key, n_rows - 1)[:n_rows])]
            key = value.ravel()[flat] if lowest else -value.ravel()[flat]
        rows = flat[np.argsort(key, kind="stable")]
        return given_as(rows_of(self, rows, intervals, columns), as_)

    def nearest(self, observer: str, k: int = 10) -> pd.DataFrame:
        """Observers that fail most like one.

        Parameters
        ----------
        observer : str
        k : int
            How many.

        Returns
        -------
        pandas.DataFrame
            Indexed by the other observer, the nearest first; of several conditions the mean of
            those in which the pair is defined, and their number. ``estimate``, ``se``, and the
            limits of the analytic interval. Of metrics to which the order matters `observer` is
            the reference.

        Raises
        ------
        ValueError
            If there is no such observer.
        """
        at = self._position(observer)
        n = len(self.observers)
        row, error = (self[name].values.reshape(-1, n, n)[:, at] for name in ("estimate", "se"))
        row = np.where(np.arange(n) == at, np.nan, row)
        n_places = np.isfinite(row).sum(axis=0)
        mean = np.where(n_places, np.nansum(row, axis=0), np.nan) / np.maximum(n_places, 1)
        order = np.argsort(-mean, kind="stable")[: min(k, (n_places > 0).sum())]
        prob = float(self.data.attrs["ci_prob"])
        lower, upper = bound_names("analytic", "ci", prob)
        if self.metric.all_pairs is None:
            parts = [
                combined(self, {self._pair((observer, self.observers[j])): 1.0}) for j in order
            ]
            names = ("estimate", "se", lower, upper)
            columns: dict[str, Any] = {name: [part[name] for part in parts] for name in names}
        else:
            # Conditions have trials of their own.
            square = np.where(np.isfinite(row), error**2, 0.0).sum(axis=0)
            value, se = mean[order], np.sqrt(square[order]) / n_places[order]
            bounds = analytic_interval(self.metric, value, se, self._deviate(at, order, prob))
            columns = {"estimate": value, "se": se, lower: bounds[:, 0], upper: bounds[:, 1]}
        return pd.DataFrame(
            columns | {"n_places": n_places[order]},
            index=pd.Index(np.array(self.observers)[order], name="other"),
        )

    def select(
        self, observers: Sequence[str] | None = None, places: Sequence[str] | str | None = None
    ) -> MatrixResult:
        """A part of the matrix.

        Parameters
        ----------
        observers : sequence of str, optional
            Whom to keep, in this order.
        places : str or sequence of str, optional
            Conditions, or data sets, to keep.

        Returns
        -------
        MatrixResult
            Adjusted p-values stay those of all pairs that were analysed.

        Raises
        ------
        ValueError
            If one is unknown or named twice, or fewer than two observers are left.
        """
        estimates, answers = self.estimates, self.data["answers"].to_dataset()
        if places is not None:
            wanted = [places] if isinstance(places, str) else list(places)
            for name in wanted:
                if not self.place or name not in self.places:
                    raise ValueError(f"no condition {name!r} here{nearest(name, self.places)}")
            at = [self.places.index(name) for name in wanted]
            starts = np.append(0, np.cumsum(answers["n_words"].values))
            words = np.concatenate([np.arange(starts[k], starts[k + 1]) for k in at])
            estimates = estimates.isel({self.place: at})
            if self.cluster:
                kept = np.concatenate([self.cluster_numbers()[k] for k in at])
                answers = answers.drop_vars("cluster").assign(cluster=("trial", kept))
            answers = answers.isel({self.place: at, "word": words})
        if observers is not None:
            at = [self._position(name) for name in observers]
            if len(set(at)) < max(2, len(at)):
                raise ValueError("observers must be at least two different ones")
            i, j = (np.array(at)[k] for k in np.triu_indices(len(at), k=1))
            estimates = _reordered(estimates, i, j, len(self.observers))
            if "own" in estimates:
                estimates = estimates.isel(observer=at)
            answers = answers.isel(observer=at)
        groups = {"estimates": estimates, "answers": answers}
        if DATA_SUMMARY in self.data.children:
            groups[DATA_SUMMARY] = self.data[DATA_SUMMARY].to_dataset()
        tree = xr.DataTree.from_dict(groups)
        tree.attrs = dict(self.data.attrs)
        return MatrixResult(tree, self.trials)

    def difference(
        self, first: tuple[str, str], second: tuple[str, str], *, ci_prob: float | None = None
    ) -> pd.Series:
        """Difference of two entries, with the dependence between them.

        Parameters
        ----------
        first, second : (str, str)
            Two pairs of observers; they may share one.
        ci_prob : float, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.Series
            ``estimate, se``, limits of the analytic interval, ``p`` (two-sided) and ``n_places``,
            over which it is a mean.

        Raises
        ------
        ValueError
            If an observer is unknown, a pair is one observer twice, or both are the same pair.
        """
        weights: dict[tuple[int, int], float] = {}
        for pair, sign in ((first, 1.0), (second, -1.0)):
            at = self._pair(pair)
            weights[at] = weights.get(at, 0.0) + sign
        if not any(weights.values()):
            raise ValueError(f"first and second are the same pair, {' x '.join(first)}")
        return combined(self, weights, ci_prob, against=0.0).drop("n_pairs")

    def mean(
        self,
        rows: Sequence[str],
        columns: Sequence[str] | None = None,
        *,
        ci_prob: float | None = None,
    ) -> pd.Series:
        """Mean of a block of the matrix, with the dependence between its entries.

        Parameters
        ----------
        rows, columns : sequence of str
            Mean over all pairs of one of `rows` and one of `columns`; without `columns`, over the
            pairs among `rows`.
        ci_prob : float, optional
            As in the analysis if not given.

        Returns
        -------
        pandas.Series
            ``estimate, se``, limits of the analytic interval, ``p`` (two-sided, against
            independent observers, where the metric has one value for them),
            ``n_pairs`` (the least of all places: a mean is over pairs that are defined) and
            ``n_places``. Trials are drawn anew, observers are these.

        Raises
        ------
        ValueError
            If an observer is unknown, or there is no pair.
        """
        return combined(self, self._block(rows, columns), ci_prob)

    def to_parquet(self, path: str | Path) -> None:
        """Write all pairs as a table, without ever holding it.

        Parameters
        ----------
        path : str or path
            File to write, with the columns of `to_frame`; one that exists is replaced when the new
            one is complete.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        n_rows = self.estimates["estimate"].size
        sink = pa.BufferOutputStream()
        writer = None
        for start in range(0, n_rows, MOST_ROWS):
            rows = np.arange(start, min(start + MOST_ROWS, n_rows))
            table = pa.Table.from_pandas(rows_of(self, rows), preserve_index=False)
            writer = writer or pq.ParquetWriter(sink, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        write_file(path, sink.getvalue().to_pybytes())

    def _deviate(self, at: int, others: NDArray[np.intp], prob: float) -> Floats:
        """Deviate for means of a row over places: Student's of the fewest clusters."""
        if "df" not in self.estimates:
            return np.asarray(special.ndtri((1 + prob) / 2))
        n = len(self.observers)
        df = self["df"].values.reshape(-1, n, n)[:, at, others]
        return student_deviate(np.nanmin(df, axis=0), prob)

    def ends(self) -> NDArray[np.intp]:
        """Positions of both observers of every pair, (2, pair)."""
        return np.stack(np.triu_indices(len(self.observers), k=1))

    def _position(self, name: str) -> int:
        names = self.observers
        if name not in names:
            raise ValueError(f"no observer {name!r} in this matrix{nearest(name, names)}")
        return names.index(name)

    def _pair(self, pair: tuple[str, str]) -> tuple[int, int]:
        a, b = (self._position(name) for name in pair)
        if a == b:
            raise ValueError(f"a pair is of two observers, got {pair[0]!r} twice")
        return (min(a, b), max(a, b)) if self.metric.symmetric else (a, b)

    def _block(
        self, rows: Sequence[str], columns: Sequence[str] | None
    ) -> dict[tuple[int, int], float]:
        own = [self._position(name) for name in rows]
        other = own if columns is None else [self._position(name) for name in columns]
        pairs = {(i, j) for i in own for j in other if i != j}
        if self.metric.symmetric:
            pairs = {(min(pair), max(pair)) for pair in pairs}
        if not pairs:
            raise ValueError("no pair of different observers in this block; name more of them")
        return dict.fromkeys(sorted(pairs), 1 / len(pairs))

    def answers(self) -> list[Packed]:
        """The answers of each place, as bits."""
        answers = self.data["answers"].to_dataset()
        ends = np.cumsum(np.atleast_1d(answers["n_words"].values))
        out = []
        for start, end, n in zip(
            np.append(0, ends[:-1]), ends, np.atleast_1d(answers["n_trials"].values), strict=True
        ):
            shown = answers["shown"].values[:, start:end] if "shown" in answers else None
            out.append(Packed(answers["right"].values[:, start:end], shown, int(n)))
        return out


def _reordered(
    estimates: xr.Dataset, i: NDArray[np.intp], j: NDArray[np.intp], n: int
) -> xr.Dataset:
    """The pairs of these observers, with each pair's first as it stands now."""
    low, high = np.minimum(i, j), np.maximum(i, j)
    out = estimates.isel(pair=low * n - low * (low + 1) // 2 + high - low - 1)
    turned = xr.DataArray(i > j, dims="pair")
    out["cells"] = out["cells"].where(~turned, out["cells"].isel(cell=[0, 2, 1, 3]).values)
    for name in [v for v in out.data_vars if "order" in out[v].dims]:
        out[name] = out[name].where(~turned, out[name].isel(order=[1, 0]).values)
    return out
