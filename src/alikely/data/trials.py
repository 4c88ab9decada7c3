"""Trials: what every observer answered on every trial, aligned, with all checks done here."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.names import listed, nearest
from alikely.data.columns import (
    ELSEWHERE,
    NO_RESPONSE,
    NOT_SHOWN,
    NOTES,
    arrays_aligned,
    correct_aligned,
)
from alikely.data.description import described
from alikely.data.files import Paths
from alikely.data.inclusion import with_inclusion
from alikely.data.ingest import label
from alikely.data.probabilities import with_options, with_probabilities
from alikely.data.reading import aligned, read_trials
from alikely.data.summaries import data_summary, html_summary, long_table_of, summary_table

__all__ = ["NOT_SHOWN", "NO_RESPONSE", "Trials"]


Labels = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class Trials:
    """Aligned responses of several observers.

    Make one with `read`, `from_table`, `from_wide`, `from_arrays` or `from_correct`.

    Attributes
    ----------
    data : xarray.Dataset
        ``correct`` (observer, trial) int8: 1 right, 0 wrong, -1 shown without a response, -2 not
        shown to this observer. ``response`` (observer, trial): class code, -1 and -2 likewise;
        absent when only correctness is known; ``correct`` is -3 where nobody knows the truth.
        Coordinates of ``trial``: ``dataset, condition,
        item, repeat``, with classes ``truth``, and columns of items; of ``observer``: ``kind`` and
        free labels.
        Trials of one condition stand together. The attribute ``true_elsewhere`` names classes that
        are true only in data sets that `select` has left out, ``notes`` what was guessed. After
        `with_options` a coordinate ``n_options`` of ``trial``; after `with_probabilities` also
        ``probability`` (observer, trial, class), NaN where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({
    ...     "observer": ["anna", "anna", "net", "net"],
    ...     "item": [1, 2, 1, 2],
    ...     "truth": ["cat", "dog", "cat", "dog"],
    ...     "response": ["cat", "cat", "cat", "dog"],
    ... })
    >>> Trials.from_table(table)
    <Trials: 2 observers, 2 trials, 2 classes>
    """

    data: xr.Dataset

    @classmethod
    def from_table(
        cls,
        *tables: Any,
        observer: str = "observer",
        item: str = "item",
        response: str = "response",
        truth: str = "truth",
        correct: str = "correct",
        condition: str = "condition",
        dataset: str = "dataset",
        repeat: str = "repeat",
        kind: str = "kind",
        labels: Sequence[str] = (),
        item_columns: Sequence[str] = (),
        classes: Sequence[Any] | str | None = None,
    ) -> Trials:
        """Align long tables: one row per observer and trial.

        Parameters
        ----------
        *tables : pandas, polars or pyarrow table
            One, or several that are read as one (humans here, models there).
        observer, item : str
            Column names. If there is no column ``item`` but one named ``image``, that is used.
        response, truth : str
            Column names; a null response means: shown, but no response given. An observer without
            a row for a trial was not shown it.
        correct : str
            Column of 0/1 (null: no response), read when ``response`` and ``truth`` are absent.
        condition, dataset, repeat, kind : str
            Column names; under their default names they may be absent. ``kind`` is what ``pairs``
            refers to, such as human and model.
        labels : sequence of str
            Further columns that describe observers, such as a model family.
        item_columns : sequence of str
            Further columns that describe items, such as a patient, a template or a video; any of
            them can be the cluster of an analysis, as in ``cluster="patient"``.
        classes : sequence or "seen", optional
            All admissible answers; ``"seen"`` admits those that occur. By default those that occur
            as truth, and others as long as they are at most 2 % of the answers, with a note.

        Returns
        -------
        Trials
            All labels as text.

        Raises
        ------
        TypeError
            If something is no table.
        ValueError
            If a column is missing, mixes types or lacks a value; for two rows of one observer and
            trial; for a truth that differs between rows of one trial; for a response outside the
            classes; for correctness other than 0 and 1; the message names the row. For a label
            whose name the trials use themselves.
        """
        columns = {
            "observer": observer, "item": item, "response": response, "truth": truth,
            "correct": correct, "condition": condition, "dataset": dataset, "repeat": repeat,
            "kind": kind, "labels": labels, "item_columns": item_columns, "classes": classes,
        }  # fmt: skip
        return cls(aligned(tables, columns))

    @classmethod
    def read(
        cls,
        path: Paths | Any,
        *,
        format: str = "auto",  # noqa: A002
        pattern: str | None = None,
        na_values: Collection[str] | None = None,
        sep: str | None = None,
        encoding: str | None = None,
        wide: bool | Sequence[str] = False,
        score: str | None = None,
        filter: str | None = None,  # noqa: A002
        runs: Literal["newest", "all"] = "newest",
        unmatched: Literal["error", "accept"] = "error",
        **columns: Any,
    ) -> Trials:
        """Read files: long or wide tables, or logs of other tools.

        Parameters
        ----------
        path : str, path or sequence of these
            A file, a glob, a folder, a zip archive or several: ``.csv, .tsv`` (parted by commas,
            semicolons, tabs or bars), ``.parquet, .feather, .json, .jsonl``, also ``.gz``. In text
            labels stay as printed (``0.10`` is not ``0.1``), except whole numbers printed as floats
            (``1.0``). Tables, one or several, are read as by `from_table`.
        format : str
            ``"auto"`` recognizes logs by their names and fields; ``"table"``; or
            ``"counts", "crowd-kit", "doccano", "evalplus", "every-eval-ever", "helm", "imrmc",
            "inspect", "jspsych", "label-studio", "leaderboard", "lighteval", "lm-eval",
            "model-vs-human", "opencompass", "psychopy", "qualtrics", "swe-bench"``.
        pattern : str, optional
            Columns that stand in the names of files, ``"{dataset}/{observer}_{session}.csv"``;
            ``{session:d}`` are digits, ``*`` is of no interest.
        na_values : collection of str, optional
            What means missing beside an empty field; by default NA, NaN, nan, null and NULL in
            tables, nothing in logs. A response that is missing was shown, not answered; elsewhere
            it is refused. What `classes` lists is a class.
        sep, encoding : str, optional
            Of text files; found out by default, which a note tells.
        wide : bool, "rows" or sequence of str
            One column of answers for each observer, as in `from_wide`, or for each of these.
            ``"rows"``: one row for each observer and one column for each item, as surveys have it.
        score, filter : str, optional
            Which one, where a log has several (of several kinds of logs: parted by commas).
        runs : {"newest", "all"}
            Of several runs of one task by one observer: the newest complete one, or all, each an
            observer of its own.
        unmatched : {"error", "accept"}
            Observers of which most items match no other's: refuse, or accept them.
        **columns
            As in `from_table`. ``truth`` may also be a table or file of true classes by item, and
            ``kind`` map some observers to kinds.

        Returns
        -------
        Trials
            With `notes` of all that was guessed.

        Raises
        ------
        ValueError
            If a file is missing, empty or of no known kind; for files of two layouts, with the same
            rows, or that the pattern does not fit; and as in `from_table`.
        """
        return cls(
            read_trials(
                path,
                format=format,
                pattern=pattern,
                na_values=na_values,
                sep=sep,
                encoding=encoding,
                wide=wide,
                score=score,
                filter=filter,
                runs=runs,
                unmatched=unmatched,
                columns=columns,
            )
        )

    @classmethod
    def from_wide(
        cls,
        *tables: Any,
        observers: Sequence[str] | None = None,
        truth: str = "truth",
        item: str = "item",
        kind: Mapping[str, str] | None = None,
        **columns: Any,
    ) -> Trials:
        """Align wide tables: one row per trial, one column of answers for each observer.

        Parameters
        ----------
        *tables : pandas, polars or pyarrow table
            One, or several that are read as one. A null means: shown, but no response given.
        observers : sequence of str, optional
            Columns of answers; by default all that have no other role.
        truth : str
            Column; without one of its default name the answers are correctness, 0 or 1.
        item : str
            Column; without one of its default name (or ``image``) items are the rows.
        kind : mapping of str to str, optional
            Kind of each observer.
        **columns
            ``condition, dataset, repeat, item_columns, classes`` as in `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If a column is missing, and as in `from_table`.

        Examples
        --------
        >>> table = {"truth": ["cat", "dog"], "anna": ["cat", "cat"], "net": ["cat", "dog"]}
        >>> Trials.from_wide(pd.DataFrame(table), observers=["anna", "net"])
        <Trials: 2 observers, 2 trials, 2 classes>
          note: there is no column 'item': items are the rows, counted from 0
        """
        columns |= {"truth": truth, "item": item, "kind": kind}
        return cls(aligned(tables, columns, True if observers is None else observers))

    @classmethod
    def from_arrays(
        cls,
        response: ArrayLike,
        truth: ArrayLike,
        *,
        observers: Sequence[str] | None = None,
        classes: Sequence[Any] | str | None = None,
        condition: Sequence[Any] | None = None,
        item: Sequence[Any] | None = None,
        dataset: Sequence[Any] | None = None,
        repeat: Sequence[int] | None = None,
        kind: Sequence[str] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
        item_columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> Trials:
        """Take responses that are aligned already.

        Parameters
        ----------
        response : array_like, shape (observer, trial)
            Class labels; None or NaN where no response was given; masked (`numpy.ma`) where the
            trial was not shown.
        truth : array_like, shape (trial,)
            True class labels.
        observers, kind : sequence of str, optional
            One per observer.
        classes : sequence or "seen", optional
            As in `from_table`.
        condition, item, dataset, repeat : sequence, optional
            One per trial.
        labels : mapping of str to sequence, optional
            Further descriptions of the observers.
        item_columns : mapping of str to sequence, optional
            Further descriptions of the items, one entry per trial, as in `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If shapes do not fit together, and as in `from_table`.

        Examples
        --------
        >>> Trials.from_arrays([["cat", "dog"], ["cat", None]], ["cat", "dog"])
        <Trials: 2 observers, 2 trials, 2 classes>
        """
        data = arrays_aligned(
            response,
            truth,
            classes,
            observers=observers,
            condition=condition,
            item=item,
            dataset=dataset,
            repeat=repeat,
            kind=kind,
            labels=labels,
            item_columns=item_columns,
        )
        return cls(data)

    @classmethod
    def from_correct(
        cls,
        correct: ArrayLike,
        *,
        observers: Sequence[str] | None = None,
        condition: Sequence[Any] | None = None,
        item: Sequence[Any] | None = None,
        dataset: Sequence[Any] | None = None,
        repeat: Sequence[int] | None = None,
        kind: Sequence[str] | None = None,
        labels: Mapping[str, Sequence[str]] | None = None,
        item_columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> Trials:
        """Take correctness alone; metrics that need class labels will say that they are missing.

        Parameters
        ----------
        correct : array_like, shape (observer, trial)
            1 right, 0 wrong, NaN no response; masked (`numpy.ma`) where not shown.
        observers, kind : sequence of str, optional
            One per observer.
        condition, item, dataset, repeat : sequence, optional
            One per trial.
        labels : mapping of str to sequence, optional
            Further descriptions of the observers.
        item_columns : mapping of str to sequence, optional
            Further descriptions of the items, one entry per trial, as in `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If shapes do not fit together, or a value is none of 0, 1 and NaN.

        Examples
        --------
        >>> Trials.from_correct([[1, 0, 1], [1, 1, float("nan")]])
        <Trials: 2 observers, 3 trials, correctness only>
        """
        data = correct_aligned(
            correct,
            observers=observers,
            condition=condition,
            item=item,
            dataset=dataset,
            repeat=repeat,
            kind=kind,
            labels=labels,
            item_columns=item_columns,
        )
        return cls(data)

    def with_options(self, n_options: ArrayLike) -> Trials:
        """Say how many options each question had, for metrics of answers among options.

        Parameters
        ----------
        n_options : int, array_like of int (trial,) or "classes"
            At least 2: the first so many classes, in the order of `classes`; or all classes.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If a question has fewer than two options, or an answer or truth that is none of them.

        Examples
        --------
        >>> trials = Trials.from_arrays([["A", "B"], ["B", "B"]], ["A", "B"], classes=list("ABCD"))
        >>> trials.with_options(4).data["n_options"].values.tolist()
        [4, 4]
        """
        return Trials(with_options(self.data, n_options))

    def with_probabilities(
        self,
        values: Any,
        *,
        n_options: ArrayLike | None = None,
        scale: Literal["probabilities", "logits"] = "probabilities",
    ) -> Trials:
        """Add how probable each option was to each observer.

        Parameters
        ----------
        values : array_like or table
            Of shape (observer, trial, class) in the order of `data` and `classes`, NaN throughout
            where there is none, 0 beyond the options of a question; memory-mapped arrays and those
            of dask stay where they are. Or a long table with the columns ``observer, item, option,
            probability`` (or ``logit``) and, where trials are not told apart without, ``dataset,
            condition, repeat``: options of a question are those that have rows.
        n_options : int or array_like of int (trial,), optional
            Of an array as in `with_options`; all classes if not given.
        scale : {"probabilities", "logits"}
            Logits or log likelihoods are made probabilities by softmax.

        Returns
        -------
        Trials
            With a note of answers that are not the likeliest.

        Raises
        ------
        ValueError
            If shapes or labels do not fit, an option is unknown, a question has one, or values are
            negative, NaN in part, or do not sum to 1 (within 1e-6; 1e-3 below double precision).

        Examples
        --------
        >>> trials = Trials.from_arrays([["A", "B"], ["B", "B"]], ["A", "B"])
        >>> p = [[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.3, 0.7]]]
        >>> trials.with_probabilities(p).data["probability"].dims
        ('observer', 'trial', 'class')
        """
        return Trials(with_probabilities(self.data, values, n_options, scale))

    def with_inclusion(
        self, plan: Any, *, generalize_to: Literal["pool", "images"], humans: str = "human"
    ) -> Trials:
        """Say by which plan the images were chosen: estimates then weigh them.

        Parameters
        ----------
        plan : StimulusPlan or table
            From `alikely.planning.choose_images`, or its table.
        generalize_to : {"pool", "images"}
            What estimates generalizes to: the images the plan chose from, or all they stand for.
        humans : str
            Kind of observers whom the plan was made for.

        Returns
        -------
        Trials
            Of the images of the plan alone, with notes of what was left out.

        Raises
        ------
        TypeError
            If `plan` is no table.
        ValueError
            If the plan and the trials, or humans, do not fit together.

        Examples
        --------
        >>> trials = Trials.from_correct(
        ...     [[1, 0, 1], [1, 1, 0]], item=["x", "y", "z"], kind=["human", "model"]
        ... )
        >>> plan = pd.DataFrame({"item": ["x", "y", "z"], "inclusion": [0.5, 1.0, 1.0]})
        >>> weighted = trials.with_inclusion(plan, generalize_to="pool")
        >>> weighted.data["inclusion"].values.tolist()
        [0.5, 1.0, 1.0]
        """
        return Trials(with_inclusion(self.data, plan, generalize_to, humans))

    @property
    def observers(self) -> list[str]:
        """Names of the observers."""
        return [str(name) for name in self.data["observer"].values]

    @property
    def n_trials(self) -> int:
        """Number of trials."""
        return int(self.data.sizes["trial"])

    @property
    def notes(self) -> list[str]:
        """What was guessed, counted or left out when these trials were read."""
        return [str(note) for note in self.data.attrs.get(NOTES, ())]

    @property
    def has_classes(self) -> bool:
        """Whether class labels are known, not correctness alone."""
        return "response" in self.data

    @property
    def classes(self) -> list[str]:
        """Class labels.

        Raises
        ------
        ValueError
            If only correctness is known.
        """
        if not self.has_classes:
            raise ValueError(
                "these trials hold correctness only; error consistency works, metrics of which "
                "errors were made need responses: use Trials.from_table or Trials.from_arrays"
            )
        return [str(name) for name in self.data["class"].values]

    def select(
        self,
        *,
        condition: Labels | None = None,
        dataset: Labels | None = None,
        kind: Labels | None = None,
        observer: Labels | None = None,
        repeat: int | Sequence[int] | None = None,
    ) -> Trials:
        """Keep some conditions, data sets, kinds, observers or repeats.

        Parameters
        ----------
        condition, dataset, kind, observer : label or sequence of labels, optional
            What to keep; all if not given. A condition is kept in every data set that has it.
        repeat : int or sequence of int, optional
            Likewise, of items that came back: numbers of the coordinate ``repeat``. One of them
            leaves one answer to each item.

        Returns
        -------
        Trials
            Without observers that took part in none of the trials kept, and without trials that
            none of the observers kept was shown.

        Raises
        ------
        ValueError
            If a label does not occur, or nothing is left.
        """
        data = self.data
        wanted: dict[str, Any] = {
            "condition": condition, "dataset": dataset, "kind": kind, "observer": observer,
            "repeat": repeat,
        }  # fmt: skip
        for name, value in wanted.items():
            if value is None:
                continue
            entries = [value] if np.isscalar(value) else list(value)
            keep = {label(entry) for entry in entries}
            # Numbers of repeats are texts here, as labels are.
            present = set(self.data[name].values.astype(str))
            if not keep <= present:
                lacking, known = min(keep - present), sorted(present)
                raise ValueError(
                    f"no {name} {lacking!r}; there are: {listed(known)}{nearest(lacking, known)}"
                )
            dim = "observer" if name in ("kind", "observer") else "trial"
            kept = np.isin(data[name].values.astype(str), list(keep))
            data = data.isel({dim: np.flatnonzero(kept)})
        shown = data["correct"].values != NOT_SHOWN
        data = data.isel(observer=shown.any(axis=1), trial=shown.any(axis=0))
        if not (data.sizes["observer"] and data.sizes["trial"]):
            raise ValueError("nothing is left: no selected observer was shown a selected trial")
        if "truth" in data and (gone := self._true_elsewhere(data["dataset"].values)):
            data = data.assign_attrs({ELSEWHERE: gone})
        return Trials(data)

    def _true_elsewhere(self, datasets: NDArray[Any]) -> list[str]:
        """Classes that are true in other data sets only: no answers of these."""
        truth, names = self.data["truth"].values, self.data["class"].values
        here = np.isin(self.data["dataset"].values, np.unique(datasets))
        gone = np.setdiff1d(truth[~here], truth[here])
        return sorted({*self.data.attrs.get(ELSEWHERE, ()), *map(str, names[gone])})

    def to_table(self) -> pd.DataFrame:
        """Long table, one row per observer and trial shown: what `from_table` reads.

        Returns
        -------
        pandas.DataFrame
            ``observer, kind`` and other labels of observers, ``dataset, condition, item, repeat``
            and columns of items, and ``truth, response`` or ``correct``.
        """
        return long_table_of(self.data)

    def summary(self) -> pd.DataFrame:
        """Table of observers: one row per data set and observer.

        Returns
        -------
        pandas.DataFrame
            ``dataset, observer, kind, n_trials`` (shown), ``accuracy`` (no response counts as an
            error), ``no_response`` and ``not_shown`` (trials of the data set), as counts.
        """
        return summary_table(data_summary(self.data))

    def describe(self) -> str:
        """Describe the trials: observers, items, missing responses, and what can be computed.

        Returns
        -------
        str
            Text of lines of at most 80 characters: how the data were read; observers with kind,
            number of trials, accuracy, missing responses and items that no other observer has;
            conditions; clusters with their design effect; and the command for each analysis.

        Examples
        --------
        >>> trials = Trials.from_correct([[1, 0, 1], [1, 1, 0]], observers=["anna", "net"])
        >>> print(trials.describe().splitlines()[0])
        Observers   2: anna (observer), net (observer)
        """
        return described(self.data)

    def _repr_html_(self) -> str:
        """What notebooks show: what was guessed, and the first rows of the summary."""
        return html_summary(self.data, repr(self).splitlines()[0][1:-1], self.notes)

    def __repr__(self) -> str:
        n_classes = f"{len(self.classes)} classes" if self.has_classes else "correctness only"
        n_classes += ", no truth" * (self.has_classes and "truth" not in self.data)
        head = f"<Trials: {len(self.observers)} observers, {self.n_trials} trials, {n_classes}>"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])
