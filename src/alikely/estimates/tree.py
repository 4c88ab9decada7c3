"""What results and benchmarks share: one DataTree, its defaults, its draws, and its file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.files import VERSION, check_tree, read_tree, write_tree
from alikely._base.intervals import CiKind, check_interval
from alikely.data.summaries import DATA_SUMMARY
from alikely.data.trials import Trials
from alikely.metrics import Metric, get_metric, metrics
from alikely.metrics.cell_priors import CellPrior, cell_prior

if TYPE_CHECKING:
    from alikely.report import Report

__all__ = ["Tree"]

# Layout of the files; a change that older versions cannot read counts it up.
FORMAT = 1
ATTRIBUTES = ("metric", "ci_prob", "ci_kind", "alikely_version")


@dataclasses.dataclass(frozen=True)
class Tree:
    """A DataTree with attributes of its making, as everything downstream reads it."""

    data: xr.DataTree

    # Groups, their variables, and the dims of these, without which a file is none of this kind.
    SCHEMA: ClassVar[Mapping[str, Mapping[str, tuple[str, ...] | None]]] = {}

    @classmethod
    def schema(cls, tree: xr.DataTree) -> Mapping[str, Mapping[str, tuple[str, ...] | None]]:
        """Groups and variables that a file must have."""
        return cls.SCHEMA

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
