"""From a machine's scores of classes to its decision margins: one number per observer and item.

References
----------
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest
from alikely.data.aligned import DEFAULT_LABEL
from alikely.data.columns import refuse_two_truths
from alikely.data.ingest import Column, Source, open_tables, read_file
from alikely.data.ingest import label as text_of
from alikely.data.trials import Trials
from alikely.metrics.margins import coarse_scores, machine_margin, scores_of_probabilities

__all__ = ["decision_margins"]

Codes = NDArray[np.int64]
TRIAL = ["dataset", "condition", "item"]
ENTRY = ["observer", *TRIAL]


def decision_margins(
    *tables: Any,
    observer: str = "observer",
    item: str = "item",
    truth: str = "truth",
    label: str = "class",
    logit: str = "logit",
    probability: str = "probability",
    margin: str = "margin",
    condition: str = "condition",
    dataset: str = "dataset",
    trials: Trials | None = None,
    coarse: Mapping[str, str] | None = None,
    how: Literal["mean", "max", "logsumexp"] = "mean",
) -> pd.DataFrame:
    """Decision margins of observers, from margins, logits or class probabilities.

    The margin of an item is the score of its true class minus that of the best other class, over
    sqrt 2: in units of the noise of a difference, if each score has unit noise [GS66]_.

    Parameters
    ----------
    *tables : pandas, polars or pyarrow table, or path
        Long tables, read as one; paths are of ``.csv``, ``.csv.gz`` or ``.parquet`` files. They
        hold margins, one row per observer and item; or logits or probabilities, one row per
        observer, item and class.
    observer, item, label : str
        Column names; `label` is that of classes. If there is no column ``item`` but one named
        ``image``, that is used.
    truth : str
        Column of true classes, not read with margins; under its default name it may be absent if
        `trials` are given.
    logit, probability, margin : str
        Column names; exactly one of the three columns tells what the tables hold.
    condition, dataset : str
        Column names; under their default names they may be absent.
    trials : Trials, optional
        Where true classes are looked up, by data set, condition and item, if the tables have none.
    coarse : mapping of str to str, optional
        Coarse category of each fine class. True classes are then coarse categories, or fine
        classes that stand for theirs; a name that is both is a coarse category.
    how : {"mean", "max", "logsumexp"}
        Score of a coarse category: mean or largest of its logits, or log of summed probability.

    Returns
    -------
    pandas.DataFrame
        ``observer, dataset, condition, item`` as text and ``margin``, positive where the observer
        is right: one row per observer and item of a condition, in order of first appearance.

    Raises
    ------
    TypeError
        If something is no table, `trials` are none or `coarse` is no mapping.
    ValueError
        If a file cannot be read; a column is missing, mixes types or lacks a value; not exactly one
        holds margins, logits or probabilities; these are NaN, infinite, or no probabilities above
        0 that sum to 1; a row occurs twice; a class is missing or has no coarse category; a truth
        is unknown, differs between rows or is none of the classes; `how` is unknown.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "observer": "net", "item": list("aaabbb"), "truth": ["cat"] * 3 + ["car"] * 3,
    ...     "class": ["cat", "dog", "car"] * 2, "logit": [3.0, 1.0, 0.0, 2.0, 0.0, 1.0],
    ... })
    >>> decision_margins(table)["margin"].round(3).tolist()
    [1.414, -0.707]
    >>> groups = {"cat": "animal", "dog": "animal", "car": "vehicle"}
    >>> decision_margins(table, coarse=groups)["margin"].round(3).tolist()
    [1.414, 0.0]
    """
    if not isinstance(trials, Trials | None):
        raise TypeError(
            f"trials must be Trials, got {type(trials).__name__}; make them with Trials.from_table"
        )
    if not isinstance(coarse, Mapping | None):
        raise TypeError(f"coarse must be a dict of class: category, got {type(coarse).__name__}")
    opened = (read_file(table) if isinstance(table, str | Path) else table for table in tables)
    source = open_tables(opened, "give a table, or the path of a .csv or .parquet file")
    names = {"margin": margin, "logit": logit, "probability": probability}
    layout = _layout(source, names)
    if item == "item" and not source.has("item") and source.has("image"):
        item = "image"
    columns = {"observer": source.read(observer)}
    everywhere = Column(np.zeros(source.n_rows, dtype=np.int64), [DEFAULT_LABEL], "text")
    for role, name in (("dataset", dataset), ("condition", condition)):
        columns[role] = source.read(name) if name != role or source.has(name) else everywhere
    columns["item"] = source.read(item)
    if layout != "margin":
        columns["class"] = source.read(label)
    rows = _Rows(source, columns, *_number(columns, ENTRY))

    values = _finite(rows, names[layout])
    if layout == "margin":
        if coarse is not None:
            raise ValueError(f"coarse needs logits or probabilities, got {margin!r}; leave it out")
        _refuse_duplicates(rows, rows.entry)
    else:
        scores = _align(rows, values)
        if layout == "probability":
            scores = _log_probabilities(rows, scores)
        known = None if truth != "truth" or source.has(truth) else trials
        true = _truths_of_rows(rows, truth) if known is None else _truths_of_trials(rows, known)
        classes = columns["class"].labels
        group_of: dict[str, str] = {}
        if coarse is not None:
            group_of = _groups(classes, coarse)
            groups = [group_of[name] for name in classes]
            classes = list(dict.fromkeys(groups))
            scores = coarse_scores(scores, groups, classes, how)
        values = machine_margin(scores, _positions(rows, true, classes, group_of))
    return pd.DataFrame({role: rows.texts(role) for role in ENTRY} | {"margin": values})


class _Rows(NamedTuple):
    """Rows of the tables, and the entries (items of an observer) they belong to."""

    source: Source
    columns: dict[str, Column]
    entry: Codes
    first: Codes  # first row of each entry

    def texts(self, role: str) -> NDArray[np.object_]:
        column = self.columns[role]
        return np.array(column.labels, dtype=object)[column.codes[self.first]]

    def name(self, row: int) -> str:
        """What a row is about, for a message."""
        return ", ".join(f"{role} {c.labels[c.codes[row]]!r}" for role, c in self.columns.items())

    def name_entry(self, entry: int, roles: Sequence[str] = ENTRY) -> str:
        kept = {role: self.columns[role] for role in roles}
        return self._replace(columns=kept).name(int(self.first[entry]))


def _layout(source: Source, names: Mapping[str, str]) -> str:
    present = [role for role, name in names.items() if source.has(name)]
    if len(present) != 1:
        wanted = ", ".join(repr(name) for name in names.values())
        got = " and ".join(repr(names[role]) for role in present) or listed(source.columns)
        raise ValueError(
            f"expected exactly one of the columns {wanted}, got {got}; drop the others, or name "
            "yours by keyword, such as logit='score'"
        )
    return present[0]


def _number(columns: Mapping[str, Column], roles: Sequence[str]) -> tuple[Codes, Codes]:
    """Number the combinations of labels as they appear; also the first row of each."""
    combined = np.zeros(1, dtype=np.int64)
    for role in roles:
        combined = combined * len(columns[role].labels) + columns[role].codes
    numbers, _ = pd.factorize(combined)
    first = np.flatnonzero(~pd.Index(combined).duplicated())
    return numbers.astype(np.int64, copy=False), first


def _finite(rows: _Rows, name: str) -> Floats:
    values = rows.source.numbers(name)
    bad = ~np.isfinite(values)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"column {name!r} must hold finite numbers, got {values[row]:g} for {rows.name(row)} "
            f"({rows.source.where(row)}); leave out all rows of such an item"
        )
    return values


def _refuse_duplicates(rows: _Rows, cell: Codes) -> None:
    again = pd.Index(cell).duplicated()
    if again.any():
        row = int(np.argmax(again))
        other = int(np.argmax(cell == cell[row]))
        raise ValueError(
            f"two rows for {rows.name(row)}: {rows.source.where(other)} and "
            f"{rows.source.where(row)}; keep one, or tell them apart by condition"
        )


def _align(rows: _Rows, values: Floats) -> Floats:
    """Scores as (entry, class)."""
    codes, labels, _ = rows.columns["class"]
    _refuse_duplicates(rows, rows.entry * len(labels) + codes)
    counts = np.bincount(rows.entry)
    if (counts < len(labels)).any():
        short = int(np.argmax(counts < len(labels)))
        absent = int(np.setdiff1d(np.arange(len(labels)), codes[rows.entry == short])[0])
        raise ValueError(
            f"no row for {rows.name_entry(short)}, class {labels[absent]!r}: got {counts[short]} "
            f"of {len(labels)} classes; add what is missing, or leave the item out"
        )
    scores = np.empty((len(rows.first), len(labels)))
    scores[rows.entry, codes] = values
    return scores


def _log_probabilities(rows: _Rows, probabilities: Floats) -> Floats:
    try:
        return scores_of_probabilities(probabilities)
    except ValueError as error:
        # The metric knows items by position only.
        named = re.sub(r"\bitem (\d+)", lambda at: rows.name_entry(int(at[1])), str(error))
        raise ValueError(named) from None


def _truths_of_rows(rows: _Rows, truth: str) -> tuple[Codes, list[str]]:
    """True class of each entry as code and labels, from the tables."""
    if truth == "truth" and not rows.source.has(truth):
        raise ValueError(
            "true classes are missing: give a column 'truth', name yours by truth=, or give trials="
        )
    codes, labels, _ = rows.source.read(truth)
    refuse_two_truths(rows.source, rows.columns, codes, *_number(rows.columns, TRIAL), labels)
    return codes[rows.first], labels


def _truths_of_trials(rows: _Rows, trials: Trials) -> tuple[Codes, list[str]]:
    """True class of each entry as code and labels, looked up."""
    labels = trials.classes
    known = pd.DataFrame({role: trials.data[role].values for role in [*TRIAL, "truth"]})
    known = known.drop_duplicates()
    again = known.duplicated(TRIAL)
    if again.any():
        item = known["item"][again].iloc[0]
        raise ValueError(f"item {item!r} has two truths in trials; add a column 'truth' instead")
    wanted = pd.DataFrame({role: rows.texts(role) for role in TRIAL})
    found = wanted.merge(known, how="left", on=TRIAL)["truth"].to_numpy(dtype=np.float64)
    if np.isnan(found).any():
        example = ", ".join(f"{role} {known[role].iloc[0]!r}" for role in TRIAL)
        raise ValueError(
            f"trials have no {rows.name_entry(int(np.argmax(np.isnan(found))), TRIAL)}, but for "
            f"instance {example}; name them alike, leave the item out or add a column 'truth'"
        )
    return found.astype(np.int64), labels


def _groups(classes: Sequence[str], coarse: Mapping[str, str]) -> dict[str, str]:
    """Coarse category of each fine class, with or without scores."""
    given = {text_of(fine): text_of(group) for fine, group in coarse.items() if not pd.isna(group)}
    missing = [name for name in classes if name not in given]
    if missing:
        raise ValueError(
            f"classes without a coarse category: {len(missing)} of {len(classes)}, the first is "
            f"{missing[0]!r}; add them to coarse, or, with logits, leave their rows out"
        )
    return given


def _positions(
    rows: _Rows, true: tuple[Codes, list[str]], classes: list[str], group_of: Mapping[str, str]
) -> Codes:
    """Positions of the true classes among those that have scores."""
    codes, labels = true
    number = {name: place for place, name in enumerate(classes)}
    # A category's own name comes before what a fine class of that name stands for.
    places = [number.get(name, number.get(group_of.get(name, name), -1)) for name in labels]
    found = np.array(places, dtype=np.int64)[codes]
    if (found < 0).any():
        bad = int(np.argmax(found < 0))
        raise ValueError(
            f"truth {labels[codes[bad]]!r} of {rows.name_entry(bad)} is none of the {len(classes)} "
            f"classes {listed(classes)}; add its scores, or map classes by coarse="
            f"{nearest(labels[codes[bad]], classes)}"
        )
    return found
