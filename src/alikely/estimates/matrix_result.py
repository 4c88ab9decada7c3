"""Estimates of all pairs of thousands of observers, and what to ask of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import of_type
from alikely._base.files import write_file
from alikely._base.frames import As, html_of
from alikely._base.intervals import Intervals, chosen_methods
from alikely._base.names import counted, listed, nearest
from alikely._base.notes import note
from alikely.data.columns import ITEM_COLUMNS
from alikely.data.counting import Packed
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.trials import Trials
from alikely.estimates.latex import printed
from alikely.estimates.matrix_answers import answers_of, responses_of
from alikely.estimates.remarks import few_clusters, joined
from alikely.estimates.result import LABELS, Result, Tree
from alikely.inference.cell_limits import WITHOUT_DRAWS
from alikely.metrics.pair_sums import combined_influence

__all__ = ["MatrixResult", "influences", "responses_by"]

# A data frame of more rows is more than anyone reads, and some gigabytes.
MOST_ROWS = 1_000_000
# Names of the dims of places, the first of which is there or not.
PLACES = ("condition", "dataset")
ORDERS = ("a, b", "b, a")
# Cells of a pair turned round.
TURNED = [0, 2, 1, 3]
# Variables that are no matrices to look at.
HIDDEN = ("cells", "own", "why")


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
        lowest: bool = False,
        intervals: Intervals = None,
        columns: Sequence[str] | Literal["all"] | None = None,
        as_: As = "pandas",
    ) -> pd.DataFrame | Any:
        """Table of pairs, the highest estimates first.

        Parameters
        ----------
        top : int, optional
            So many rows; all if not given.
        lowest : bool
            The lowest first.
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
        chosen_methods(intervals, ("analytic", "posterior"), (), "")
        value = self.estimates["estimate"].values.ravel()
        flat = np.arange(len(value))
        n_rows = len(flat) if top is None else min(top, len(flat))
        if top is not None and top < 1:
            raise ValueError(f"top must be at least 1, got {top}")
        if n_rows > MOST_ROWS:
            raise ValueError(
                f"a table of {n_rows:,} rows is more than {MOST_ROWS:,}; give top=, take "
                "matrices as result['estimate'], or write all to a file with to_parquet"
            )
        key = value if lowest else -value
        if n_rows < len(flat):
            # NaN sorts last also here.
            flat = np.sort(np.argpartition(key, n_rows - 1)[:n_rows])
            key = key[flat]
        rows = flat[np.argsort(key, kind="stable")]
        return self.entries(rows).summary(intervals=intervals, columns=columns, as_=as_)

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
            frame = self.entries(rows).summary(intervals="all")
            table = pa.Table.from_pandas(frame, preserve_index=False)
            writer = writer or pq.ParquetWriter(sink, table.schema)
            writer.write_table(table)
        if writer is not None:
            writer.close()
        write_file(path, sink.getvalue().to_pybytes())

    def labels(
        self, flat: NDArray[np.intp] | None = None
    ) -> dict[str, tuple[NDArray[np.intp], NDArray[np.object_]]]:
        """Labels of entries as numbers, with their names. Default: all, as the estimates stand."""
        estimates = self.estimates
        at = self._at(np.arange(estimates["estimate"].size) if flat is None else flat)
        ends = self.ends()[:, at["pair"]]
        if "order" in at:
            ends = np.where(at["order"] == 1, ends[::-1], ends)
        found = {}
        for name in LABELS[:2]:
            there = estimates.coords.get(f"of_{name}")
            known = np.full(len(self.places), "all", object) if there is None else there.values
            codes, unique = pd.factorize(known)
            found[name] = codes[at["place"]], unique
        names = np.array(self.observers, dtype=object)
        return found | {name: (own, names) for name, own in zip(LABELS[2:], ends, strict=True)}

    def _at(self, flat: NDArray[np.intp]) -> dict[str, NDArray[np.intp]]:
        """Place, pair and, if it matters, order of entries."""
        like = self.estimates["estimate"]
        at = dict(zip(map(str, like.dims), np.unravel_index(flat, like.shape), strict=True))
        return {"place": at.get(self.place, np.zeros(len(flat), dtype=np.intp)), **at}

    def entries(self, flat: NDArray[np.intp], *, answers: bool = False) -> Result:
        """Some entries as a result of pairs, if wanted with the answers that they are of."""
        estimates, at, labels = self.estimates, self._at(flat), self.labels(flat)
        dims, place = estimates["estimate"].dims, at["place"]
        cells = estimates["cells"].values
        counts = (cells[place, at["pair"]] if self.place else cells[at["pair"]]).astype(np.int64)
        if "order" in dims:
            back = at["order"] == 1
            counts[back] = counts[back][:, TURNED]
        used, ends = np.unique([labels[name][0] for name in LABELS[2:]], return_inverse=True)
        first, second = ends.reshape(2, -1)
        table = xr.Dataset(
            {
                "cells": (("pair", "cell"), counts),
                "first": ("pair", first),
                "second": ("pair", second),
                "pair_group": ("pair", place),
            },
            coords={name: ("pair", names[codes]) for name, (codes, names) in labels.items()}
            | {"pair": np.arange(len(flat))},
            attrs={ITEM_COLUMNS: self.cluster},
        )
        if answers:
            table = self._with_answers(table, used)
        found: dict[str, Any] = {}
        for name, values in estimates.data_vars.items():
            if "pair" in values.dims and name not in HIDDEN:
                # Tests of independence do not ask for the order of a pair.
                grid = np.broadcast_to(
                    values.values if values.dims == dims else np.expand_dims(values.values, -2),
                    estimates["estimate"].shape,
                )
                found[str(name)] = ("pair", grid.ravel()[flat])
        found["undefined"] = ("pair", self._reasons(counts, flat))
        found["remark"] = ("pair", np.array(self._remarks(found, counts), dtype=object))
        if self.cluster:
            found["centre"] = found["estimate"]
        groups = {"observed_data": table, "estimates": xr.Dataset(found, {"pair": table["pair"]})}
        if DATA_SUMMARY in self.data.children:
            groups[DATA_SUMMARY] = self.data[DATA_SUMMARY].to_dataset()
        tree = xr.DataTree.from_dict(groups)
        tree.attrs = {**self.data.attrs, "cluster": self.cluster, "sampler": "none"}
        if "posterior_lower" in found:
            tree.attrs["posterior_limits"] = WITHOUT_DRAWS
        return Result(tree)

    def _with_answers(self, table: xr.Dataset, used: NDArray[np.intp]) -> xr.Dataset:
        """A table of entries with what its observers answered."""
        packed, places = self.answers(), np.unique(table["pair_group"].values).tolist()
        correct = [packed[k].unpacked(used) for k in places]
        sizes = [part.shape[1] for part in correct]
        variables: dict[str, Any] = {
            "correct": (("observer", "trial"), np.concatenate(correct, axis=1)),
            "trial_group": ("trial", np.repeat(places, sizes)),
        }
        coords: dict[str, Any] = {"trial_dataset": ("trial", np.zeros(sum(sizes), dtype=np.intp))}
        if self.cluster:
            numbers = self.cluster_numbers()
            coords[self.cluster] = ("trial", np.concatenate([numbers[k] for k in places]))
        if self.metric.all_pairs is not None:
            said = responses_by(self)
            for name in ("response", "truth", "n_options", "probability"):
                if name in said[0]:
                    parts = [_of(said[k][name], used) for k in places]
                    variables[name] = xr.Variable.concat(parts, "trial")
            assert self.trials is not None
            coords["class"] = np.arange(self.trials.data.sizes.get("class", 0) + 1)
        return table.assign(variables).assign_coords(coords)

    def _reasons(self, counts: NDArray[np.int64], flat: NDArray[np.intp]) -> NDArray[np.object_]:
        """Why entries have no estimate; empty where they have."""
        metric, estimates = self.metric, self.estimates
        if metric.all_pairs is None:
            reasons = metric.reason(counts.astype(np.float64))
        else:
            texts = np.array(["", *metric.whys, "undefined"], dtype=object)
            why = estimates["why"].values.ravel()[flat] if "why" in estimates else -1
            reasons = np.where(counts.sum(axis=1) == 0, "no common trials", texts[why])
        defined = np.isfinite(estimates["estimate"].values.ravel()[flat])
        return np.where(defined, "", reasons).astype(object)

    def _remarks(self, found: Mapping[str, Any], counts: NDArray[np.int64]) -> list[str]:
        """Which entries rest on fewer trials than both answered, or on few clusters."""
        remarks = [np.full(len(counts), "", dtype=object)]
        if "n_used" in found:
            used, total = found["n_used"][1], counts.sum(axis=1)
            for row in np.flatnonzero(used < total):
                remarks[0][row] = note("trials-used", n=int(used[row]), total=int(total[row]))
        if "n_clusters" in found:
            remarks.append(few_clusters(self.cluster, found["n_clusters"][1]))
        return joined(remarks)

    def ends(self) -> NDArray[np.intp]:
        """Positions of both observers of every pair, (2, pair)."""
        return np.stack(np.triu_indices(len(self.observers), k=1))

    def _position(self, name: str) -> int:
        names = self.observers
        if name not in names:
            raise ValueError(f"no observer {name!r} in this matrix{nearest(name, names)}")
        return names.index(name)

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


def responses_by(result: MatrixResult) -> list[dict[str, xr.Variable]]:
    """The same of the observers and places that a matrix has."""
    metric, trials = result.metric, result.trials
    if trials is None:
        raise ValueError(
            f"a saved matrix holds no answers but right and wrong ones, and this asks for those "
            f"that {metric.name} is made of: result.with_trials(trials) adds them"
        )
    by: Any = result.place or None
    everywhere = responses_of(trials, metric, by, result.data.attrs["no_response"])
    if by is not None:
        _, _, places = answers_of(trials, by, "error", "trial")
        known = [] if places is None else places.values.tolist()
        everywhere = [everywhere[known.index(name)] for name in result.places]
    at = [trials.observers.index(name) for name in result.observers]
    if at == list(range(len(trials.observers))):
        return everywhere
    return [{name: _of(variable, at) for name, variable in said.items()} for said in everywhere]


def _of(variable: xr.Variable, observers: Sequence[int] | NDArray[np.intp]) -> xr.Variable:
    return variable.isel(observer=observers) if "observer" in variable.dims else variable


def _data(said: Mapping[str, xr.Variable], observers: NDArray[np.intp]) -> dict[str, Any]:
    """Arrays of some observers; of all as they are, also where they lie on disk."""
    everyone = len(observers) == next(iter(said.values())).sizes["observer"]
    return {name: (v if everyone else _of(v, observers)).data for name, v in said.items()}


def influences(result: MatrixResult, weights: Sequence[Floats]) -> list[Floats]:
    """Influence of every trial on weighted sums of entries of each place."""
    metric, (first, second) = result.metric, result.ends()
    n, packed = len(result.observers), result.answers()
    said = [None] * len(packed) if metric.all_influences is None else responses_by(result)
    cells = result.estimates["cells"].values.reshape(len(packed), -1, 4).astype(np.float64)
    out = []
    for part, counts, own, given in zip(packed, cells, said, weights, strict=True):
        psi = np.zeros((len(given), part.n_trials))
        for rows, used in _by_observers(given, first, second, n):
            pair = np.flatnonzero((given[rows] != 0).any(axis=0))
            i, j = (np.searchsorted(used, ends[pair]) for ends in (first, second))
            if own is not None and metric.all_influences is not None:
                square = np.zeros((len(rows), len(used), len(used)))
                square[:, i, j] = given[rows][:, pair]
                psi[rows] = metric.all_influences(_data(own, used), square)
                continue
            correct, of_pair = part.unpacked(used), counts[pair]
            slopes = np.where(of_pair > 0, metric.influence(of_pair), 0.0)
            slopes /= np.maximum(of_pair.sum(axis=1), 1)[:, None]
            for row in rows:
                psi[row] = combined_influence(correct, i, j, slopes * given[row, pair, None])
        out.append(psi)
    return out


def _by_observers(
    weights: Floats, first: NDArray[np.intp], second: NDArray[np.intp], n: int
) -> list[tuple[list[int], NDArray[np.intp]]]:
    """Sums over pairs of the same observers, with these: sums of few are done with few."""
    found: dict[bytes, list[int]] = {}
    for row, given in enumerate(weights):
        used = np.zeros(n, dtype=bool)
        used[first[given != 0]] = used[second[given != 0]] = True
        if used.any():
            found.setdefault(used.tobytes(), []).append(row)
    return [(rows, np.flatnonzero(np.frombuffer(key, bool))) for key, rows in found.items()]
