"""Decision margins of models from their class scores.

References
----------
.. [AK24] Alvarez, Konkle (2024). Decision-margin consistency.
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
.. [GS66] Green, Swets (1966). Signal detection theory and psychophysics. Wiley.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely._base.checks import of_type, one_of
from alikely._base.names import listed, nearest
from alikely.data.columns import DEFAULT_LABEL, two_truths
from alikely.data.files import read_file
from alikely.data.ingest import Column, Source, open_tables
from alikely.data.ingest import label as text_of
from alikely.data.probabilities import PROBABILITY
from alikely.data.repeats import refuse_repeats
from alikely.data.trials import Trials
from alikely.metrics.margins import (
    FEWEST_ITEMS,
    How,
    coarse_scores,
    model_margin,
    scores_of_probabilities,
)

Codes = NDArray[np.int64]
# Squares of larger numbers overflow.
LARGEST = 1e100
ROLES = (
    "observer", "item", "truth", "class", "logit", "probability", "margin", "condition", "dataset"
)  # fmt: skip
TRIAL = ["dataset", "condition", "item"]
ENTRY = ["observer", *TRIAL]


def decision_margins(
    *tables: Any,
    columns: Mapping[str, str] | None = None,
    trials: Trials | None = None,
    coarse: Mapping[str, str] | None = None,
    how: How = "mean",
    unmapped: Literal["error", "ignore"] = "error",
) -> pd.DataFrame:
    """Read decision margins, or compute them from logits or class probabilities.

    The margin of an item is the difference between the score of its true class and the highest
    other score, divided by the square root of 2. If scores have independent noise of unit variance,
    dividing by the square root of 2 expresses the margin in standard deviations of the noise in a
    score difference [GS66]_.

    Parameters
    ----------
    *tables : pandas, polars or pyarrow table, or path; or Trials
        Long-format tables, or paths to ``.csv``, ``.csv.gz`` or ``.parquet`` files. If you pass
        several tables, they are concatenated.

        - Margins: one row per observer and item.
        - Logits or probabilities: one row per observer, item and class.
        - You can pass one `Trials` object with option probabilities (`Trials.with_probabilities`)
          instead of tables.
    columns : mapping of str to str, optional
        Mapping from roles to column names, for columns whose names differ from their roles. The
        roles are ``observer``, ``item`` (or ``image``), ``truth``, ``class``, ``condition``,
        ``dataset``, and exactly one of ``logit``, ``probability`` and ``margin``. ``truth`` is
        optional with margins or with `trials`; ``condition`` and ``dataset`` are always optional.
        Example:
        ``{"logit": "score"}``.
    trials : Trials, optional
        Trials that provide the true classes for tables without them, matched by data set, condition
        and item.
    coarse : mapping of str to str, optional
        Coarse category of each fine class. With `coarse`, true classes can be coarse categories or
        fine classes; a name used for both denotes the coarse category. To map the 1,000 ImageNet
        classes to 16 categories, use `alikely.datasets.sixteen_categories`.
    how : {"mean", "mean_probability"}
        Score of a coarse category: the mean of its classes' logits [AK24]_, or the log of the mean
        of their probabilities [G21]_. Log probabilities and logits give the same margins.
    unmapped : {"error", "ignore"}
        Whether to raise an error for classes without a coarse category, or to exclude them and
        report their number in ``note``.

    Returns
    -------
    pandas.DataFrame
        One row per condition, observer and item, in order of first appearance:

        - ``observer, dataset, condition, item``: labels, as text
        - ``margin``: positive if the observer is correct
        - ``note``, if needed: excluded classes, and classes with equal scores for all items.
          `alikely.decision_margin_consistency` includes these notes.

    Raises
    ------
    TypeError
        If a table, `trials` or `coarse` has the wrong type.
    ValueError
        If a file cannot be read, or a column is missing, has mixed types or has missing values.
    ValueError
        If there is not exactly one column of margins, logits or probabilities, or if its values are
        invalid.
    ValueError
        If a row occurs twice, if a class is missing or has no coarse category, or if a true class
        is unknown, inconsistent or not among the classes.
    ValueError
        If `how` or `unmapped` is unknown.

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
    >>> some = {"cat": "animal", "car": "vehicle"}
    >>> decision_margins(table, coarse=some, unmapped="ignore")["note"][0]
    '1 of 3 classes without a category left out'
    """
    one_of("unmapped", unmapped, ("error", "ignore"))
    one_of("how", how, get_args(How))
    if any(isinstance(table, Trials) for table in tables):
        if len(tables) > 1 or coarse is not None:
            raise ValueError(
                "trials with probabilities of options must be given without other tables and "
                "without coarse categories"
            )
        return margins_of_options(tables[0])
    if trials is not None:
        of_type(trials, Trials, "make them with Trials.from_table")
    if not isinstance(coarse, Mapping | None):
        raise TypeError(f"coarse must be a dict of class: category, got {type(coarse).__name__}")
    names = {role: role for role in ROLES} | dict(columns or {})
    if unknown := [role for role in names if role not in ROLES]:
        raise ValueError(
            f"columns must be of the roles {listed(ROLES)}, got {unknown[0]!r}"
            f"{nearest(unknown[0], ROLES)}"
        )
    opened = (read_file(table) if isinstance(table, str | Path) else table for table in tables)
    source = open_tables(opened, "give a table, or the path of a .csv or .parquet file")
    layout = _layout(source, {role: names[role] for role in ("margin", "logit", "probability")})
    if names["item"] == "item" and not source.has("item") and source.has("image"):
        names["item"] = "image"
    everywhere = Column(np.zeros(source.n_rows, dtype=np.int64), [DEFAULT_LABEL])
    found = {
        role: everywhere
        if role in ("dataset", "condition") and names[role] == role and not source.has(role)
        else source.read(names[role])
        for role in (*ENTRY, *(["class"] if layout != "margin" else []))
    }
    rows = _Rows(source, found, *_number(found, ENTRY))
    values = _finite(rows, names[layout])
    if layout == "margin":
        if coarse is not None:
            raise ValueError(
                f"coarse needs logits or probabilities, got {names['margin']!r}; leave it out"
            )
        _refuse_duplicates(rows, rows.entry)
        notes = None
        if source.has("note"):
            codes, labels = source.read("note", complete=False)
            # One more element, for the code -1.
            notes = np.array([*labels, ""], dtype=object)[codes]
    else:
        scores = _align(rows, values)
        if layout == "probability":
            scores = _log_probabilities(rows, scores, coarse is not None and how != "mean")
        truth = names["truth"]
        known = None if truth != "truth" or source.has(truth) else trials
        true = _truths_of_rows(rows, truth) if known is None else _truths_of_trials(rows, known)
        classes = found["class"].labels
        group_of = {} if coarse is None else _groups(classes, coarse, unmapped)
        kept = [place for place, name in enumerate(classes) if coarse is None or name in group_of]
        notes = _notes_of_scores(rows, scores, kept)
        if coarse is not None:
            groups = [group_of[classes[place]] for place in kept]
            classes = list(dict.fromkeys(groups))
            scores = coarse_scores(scores[:, kept], groups, classes, how)
            if (none := np.isneginf(scores).any(axis=1)).any():
                raise ValueError(
                    f"all probabilities of a category of {rows.name_entry(int(np.argmax(none)))} "
                    "are 0, which makes its margin infinite; store more digits, or give logits"
                )
        values = model_margin(scores, _positions(rows, true, classes, group_of))
    table = pd.DataFrame({role: rows.texts(role) for role in ENTRY} | {"margin": values})
    return table if notes is None else table.assign(note=notes)


class _Rows(NamedTuple):
    """Rows of the tables, and their entries (items of an observer)."""

    source: Source
    columns: dict[str, Column]
    entry: Codes
    first: Codes  # first row of each entry

    def texts(self, role: str) -> NDArray[np.object_]:
        return self.columns[role].texts()[self.first]

    def name(self, row: int) -> str:
        """Describe a row of the table, for an error message."""
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
            "yours by columns={'logit': 'score'}"
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
    bad = ~(np.abs(values) <= LARGEST)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"column {name!r} must contain finite numbers, got {values[row]:g} for "
            f"{rows.name(row)} ({rows.source.where(row)}); leave out all rows of this item, or use "
            f"a unit in which all numbers are below {LARGEST:g}"
        )
    return values


def _refuse_duplicates(rows: _Rows, cell: Codes) -> None:
    again = pd.Index(cell).duplicated()
    if again.any():
        row = int(np.argmax(again))
        other = int(np.argmax(cell == cell[row]))
        raise ValueError(
            f"two rows for {rows.name(row)}: {rows.source.where(other)} and "
            f"{rows.source.where(row)}; keep one, or distinguish them by condition"
        )


def _align(rows: _Rows, values: Floats) -> Floats:
    """Scores (entry, class)."""
    codes, labels = rows.columns["class"]
    _refuse_duplicates(rows, rows.entry * len(labels) + codes)
    counts = np.bincount(rows.entry)
    short = int(np.argmin(counts))
    if counts[short] < len(labels):
        absent = int(np.setdiff1d(np.arange(len(labels)), codes[rows.entry == short])[0])
        raise ValueError(
            f"no row for {rows.name_entry(short)}, class {labels[absent]!r}: got {counts[short]} "
            f"of {len(labels)} classes; add what is missing, or leave the item out"
        )
    scores = np.empty((len(rows.first), len(labels)))
    scores[rows.entry, codes] = values
    return scores


def _log_probabilities(rows: _Rows, probabilities: Floats, zeros: bool) -> Floats:
    try:
        return scores_of_probabilities(probabilities, zeros)
    except ValueError as error:
        # The metric identifies items by position only.
        named = re.sub(r"\bitem (\d+)", lambda at: rows.name_entry(int(at[1])), str(error))
        raise ValueError(named) from None


def _notes_of_scores(
    rows: _Rows, scores: Floats, kept: Sequence[int]
) -> NDArray[np.object_] | None:
    """Notes on the scores of each entry's observer, or None."""
    labels = rows.columns["class"].labels
    codes, observers = rows.columns["observer"]
    owner = codes[rows.first]
    lost = len(labels) - len(kept)
    told = f"{lost} of {len(labels)} classes without a category left out" if lost else ""
    texts = []
    for number in range(len(observers)):
        own = scores[owner == number][:, kept]
        flat = np.flatnonzero((own == own[0]).all(axis=0))
        text = ""
        if len(own) >= FEWEST_ITEMS and len(flat):
            first = labels[kept[flat[0]]]
            text = f"same score for all items in {len(flat)} classes, the first is {first!r}"
        texts.append("; ".join(filter(None, (told, text))))
    return np.array(texts, dtype=object)[owner] if any(texts) else None


def _truths_of_rows(rows: _Rows, truth: str) -> tuple[Codes, list[str]]:
    """Codes and labels of true classes, from the tables."""
    if truth == "truth" and not rows.source.has(truth):
        raise ValueError(
            "true classes are missing: give a column 'truth', name yours by columns={'truth': "
            "'label'}, or give trials="
        )
    codes, labels = rows.source.read(truth)
    trial, first = _number(rows.columns, TRIAL)
    differs = codes != codes[first][trial]
    if differs.any():
        row = int(np.argmax(differs))
        observers = rows.columns["observer"].texts()
        said = ((k, (observers[k], labels[codes[k]])) for k in (int(first[trial[row]]), row))
        raise two_truths(rows.source, rows.columns["item"].texts()[row], *said)
    return codes[rows.first], labels


def _truths_of_trials(rows: _Rows, trials: Trials) -> tuple[Codes, list[str]]:
    """Codes and labels of true classes, from trials."""
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
            f"instance {example}; use the same names, leave the item out or add a column 'truth'"
        )
    return found.astype(np.int64), labels


def _groups(classes: Sequence[str], coarse: Mapping[str, str], unmapped: str) -> dict[str, str]:
    """Coarse category of each fine class that has one."""
    given = {text_of(fine): text_of(group) for fine, group in coarse.items() if not pd.isna(group)}
    missing = [name for name in classes if name not in given]
    if len(missing) == len(classes):
        raise ValueError(
            f"none of the {len(classes)} classes has a coarse category: the classes are "
            f"{listed(classes)}, but those of coarse are {listed(list(given)) or 'none'}; use the "
            "same names"
        )
    if missing and unmapped == "error":
        raise ValueError(
            f"classes without a coarse category: {len(missing)} of {len(classes)}, the first is "
            f"{missing[0]!r}; add them to coarse, or leave them out with unmapped='ignore'"
        )
    return given


def _positions(
    rows: _Rows, true: tuple[Codes, list[str]], classes: list[str], group_of: Mapping[str, str]
) -> Codes:
    """Positions of the true classes among those that have scores."""
    codes, labels = true
    number = {name: place for place, name in enumerate(classes)}
    # A name of a category takes precedence over a fine class of the same name.
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


def margins_of_options(trials: Trials) -> pd.DataFrame:
    """Compute margins from the probabilities of options of trials."""
    data = trials.data
    if PROBABILITY not in data:
        raise ValueError(
            "these trials have no probabilities of options, from which margins are computed; add "
            "them with trials.with_probabilities(...), or give a table of margins or logits"
        )
    refuse_repeats(data, "a margin")
    p, truth = data[PROBABILITY].data, data["truth"].values
    margin = np.empty(p.shape[:2])
    for own, given in zip(margin, p, strict=True):
        others = np.array(given, dtype=np.float64)
        right = np.take_along_axis(others, truth[:, None], axis=1)[:, 0]
        np.put_along_axis(others, truth[:, None], -1.0, axis=1)
        with np.errstate(divide="ignore"):
            own[:] = (np.log(right) - np.log(others.max(axis=1))) / np.sqrt(2)
    if np.isinf(margin).any():
        observer, trial = np.argwhere(np.isinf(margin))[0]
        raise ValueError(
            f"the correct option of item {data['item'].values[trial]!r}, or every other option, "
            f"has probability 0 for {trials.observers[observer]!r}, which makes its margin "
            "infinite; store more digits, or give logits"
        )
    who, what = np.nonzero(~np.isnan(margin))
    found = {"observer": np.array(trials.observers, dtype=object)[who]}
    found |= {name: data[name].values[what].astype(object) for name in TRIAL}
    return pd.DataFrame(found | {"margin": margin[who, what]})
