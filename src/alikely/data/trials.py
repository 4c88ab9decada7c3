"""Trials: responses of all observers to all trials, aligned and checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from alikely._base.frames import Groups, groups_of
from alikely._base.names import listed, nearest
from alikely.data.columns import (
    ELSEWHERE,
    LEVELS,
    NO_RESPONSE,
    NOT_SHOWN,
    NOTES,
    arrays_aligned,
    correct_aligned,
)
from alikely.data.files import Paths
from alikely.data.inclusion import with_inclusion
from alikely.data.ingest import label
from alikely.data.probabilities import with_options, with_probabilities
from alikely.data.reading import of_tables, read_trials
from alikely.data.summaries import (
    data_summary,
    described,
    html_summary,
    long_table_of,
    summary_table,
)

__all__ = ["NOT_SHOWN", "NO_RESPONSE", "Trials"]


Labels = str | Sequence[str]


@dataclasses.dataclass(frozen=True)
class Trials:
    """Aligned responses of several observers.

    Create trials with `read`, `from_table`, `from_wide`, `from_arrays` or `from_correct`.

    Attributes
    ----------
    data : xarray.Dataset
        Trials of the same condition are contiguous. Variables and coordinates:

        - ``correct`` (observer, trial), int8: 1 correct, 0 incorrect, -1 shown without a
          response, -2 not shown to this observer, -3 truth unknown
        - ``response`` (observer, trial): class code, or -1 or -2 with the same meaning as in
          ``correct``; absent if only correctness is known
        - coordinates of ``trial``: ``dataset``, ``condition``, ``item``, ``repeat``, item columns,
          and ``truth`` if there are classes
        - coordinates of ``observer``: ``kind`` and further labels
        - ``n_options`` (trial): number of options, after `with_options`
        - ``probability`` (observer, trial, class): probability of each option, after
          `with_probabilities`; NaN where missing
        - attribute ``notes``: what was guessed, counted or excluded when the trials were read
        - attribute ``levels``: level of each condition, after `with_levels`
        - attribute ``true_elsewhere``: classes that are true classes only in data sets that
          `select` has removed

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

    @staticmethod
    def from_table(
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
        """Create trials from long tables with one row per observer and trial.

        Parameters
        ----------
        *tables : pandas, polars or pyarrow table
            One table, or several tables to concatenate (for example humans and models).
        observer, item : str
            Column names. If there is no column ``item``, the column ``image`` is used.
        response, truth : str
            Column names. A null response means that the trial was shown but not answered. Trials
            without a row for an observer count as not shown to that observer.
        correct : str
            Column with values of 0 and 1 (null: no response). The column ``correct`` is read only
            if ``response`` and ``truth`` are absent.
        condition, dataset, repeat, kind : str
            Names of optional columns, which must exist only if you pass a name other than the
            default. ``kind`` contains the kind of each observer, such as human or model. Analyses
            use the kind of observer to select pairs.
        labels : sequence of str
            Names of columns that describe observers, such as ``family``.
        item_columns : sequence of str
            Additional columns that describe items, such as the patient, template or video from
            which an item comes. Any item column can define the clusters of an analysis, for example
            ``cluster="patient"``.
        classes : sequence or "seen", optional
            All admissible responses; ``"seen"`` admits every response that occurs. Default: the
            classes that occur as true classes. Responses that never occur as true classes become
            additional classes, with a note, if they make up at most 2% of all responses.

        Returns
        -------
        Trials
            All labels are read as text.

        Raises
        ------
        TypeError
            If an argument is not a table.
        ValueError
            If a column is missing, mixes types or has missing values, or if a label is a reserved
            name.
        ValueError
            If an observer has two rows for the same trial, or rows for the same trial have
            different true classes.
        ValueError
            If a response is not one of the classes, or if correctness is not 0 or 1. The error
            message names the invalid row.
        """
        columns = {
            "observer": observer, "item": item, "response": response, "truth": truth,
            "correct": correct, "condition": condition, "dataset": dataset, "repeat": repeat,
            "kind": kind, "labels": labels, "item_columns": item_columns, "classes": classes,
        }  # fmt: skip
        return Trials(of_tables(tables, columns))

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
        """Read long or wide tables, or logs from other tools, from files.

        Parameters
        ----------
        path : str, path or sequence of these
            One or more files, globs, folders or zip archives. File types: ``.csv, .tsv`` (fields
            separated by commas, semicolons, tabs or pipes), ``.parquet, .feather, .json, .jsonl``,
            also compressed (``.gz``). In text files, labels are kept as written (``0.10`` is not
            ``0.1``), but ``1.0`` becomes ``1`` in columns of whole numbers. Tables in memory are
            read as in `from_table`.
        format : str
            ``"auto"`` (which recognizes logs by their names and fields), ``"table"``, or one of
            ``"counts", "crowd-kit", "doccano", "evalplus", "every-eval-ever", "helm", "imrmc",
            "inspect", "jspsych", "label-studio", "leaderboard", "lighteval", "lm-eval",
            "model-vs-human", "opencompass", "psychopy", "qualtrics", "swe-bench"``.
        pattern : str, optional
            Pattern for file names that contain values of columns, such as
            ``"{dataset}/{observer}_{session}.csv"``.
            ``{session:d}`` matches digits; ``*`` matches anything and is ignored.
        na_values : collection of str, optional
            Strings that denote missing values, in addition to empty fields. Default: NA, NaN, nan,
            null and NULL in tables, but none in logs. A missing response means that the trial was
            shown but not answered; a missing value in another column raises an error. Values listed
            in `classes` are never read as missing.
        sep, encoding : str, optional
            Separator and encoding of text files. By default, the separator and the encoding are
            detected and reported in a note.
        wide : bool, "rows" or sequence of str
            True: one row for each trial; each column without another role contains the responses of
            one observer. A sequence of names: only these columns contain responses. Without a
            column of true classes, responses of 0 and 1 are read as correctness. ``"rows"``: one
            row for each observer and one column for each item, as in surveys.
        score, filter : str, optional
            Name of the score to read, and name of the filter (for lm-eval, the method that extracts
            the answer). Required if logs contain several scores or filters. If logs come from
            several tools that name their scores differently, give all names, separated by commas.
        runs : {"newest", "all"}
            What to do if an observer has several runs of the same task: use the newest complete
            run, or use all runs as separate observers.
        unmatched : {"error", "accept"}
            What to do if most items of two or more observers do not occur for any other observer:
            raise an error, or accept these observers.
        **columns
            Column names, such as ``observer="subject"``, and the options ``labels``,
            ``item_columns`` and ``classes``, as in `from_table`.
            ``truth`` may also be a table or file of true classes
            by item. ``kind`` may also be a mapping from observers (all or some) to kinds.

        Returns
        -------
        Trials
            The property `notes` lists everything that was guessed about the file.

        Raises
        ------
        ValueError
            If a file is missing or empty, or has an unknown format.
        ValueError
            If files have different layouts or contain the same rows.
        ValueError
            If the path of a file does not match `pattern`. See also `from_table`.

        Examples
        --------
        >>> table = {"truth": ["cat", "dog"], "anna": ["cat", "cat"], "net": ["cat", "dog"]}
        >>> Trials.read(pd.DataFrame(table), wide=["anna", "net"])
        <Trials: 2 observers, 2 trials, 2 classes>
          note: there is no column 'item': items are the rows, counted from 0
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

    @staticmethod
    def from_wide(
        *tables: Any,
        observers: Sequence[str] | None = None,
        item: str = "item",
        truth: str = "truth",
        condition: str = "condition",
        dataset: str = "dataset",
        repeat: str = "repeat",
        kind: Mapping[str, str] | None = None,
        item_columns: Sequence[str] = (),
        classes: Sequence[Any] | str | None = None,
    ) -> Trials:
        """Create trials from wide tables with one row per trial and one column per observer.

        Parameters
        ----------
        *tables : pandas, polars or pyarrow table
            One table, or several tables to concatenate. A null value means that the trial was shown
            but not answered.
        observers : sequence of str, optional
            Columns that contain responses. Default: all columns that have no other role.
        item : str
            Column of items. Default: ``item`` or ``image``; without these columns, each row is a
            separate item.
        truth : str
            Column of true classes. If the default column ``truth`` is absent, responses are read as
            correctness (0 or 1).
        condition, dataset, repeat : str
            Names of optional columns, which must exist only if you pass a name other than the
            default.
        kind : mapping of str to str, optional
            Kind of each observer.
        item_columns, classes
            As in `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If a required column is missing.
        ValueError
            If a column contains values that `from_table` rejects.

        Examples
        --------
        >>> table = {"truth": ["cat", "dog"], "anna": ["cat", "cat"], "net": ["cat", "dog"]}
        >>> Trials.from_wide(pd.DataFrame(table), observers=["anna", "net"])
        <Trials: 2 observers, 2 trials, 2 classes>
          note: there is no column 'item': items are the rows, counted from 0
        """
        columns: dict[str, Any] = {
            "item": item, "truth": truth, "condition": condition, "dataset": dataset,
            "repeat": repeat, "item_columns": item_columns, "classes": classes,
        }  # fmt: skip
        columns |= {} if kind is None else {"kind": kind}
        return Trials(of_tables(tables, columns, True if observers is None else observers))

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
        """Create trials from arrays of aligned responses.

        Parameters
        ----------
        response : array_like, shape (observer, trial)
            Class labels: None or NaN where no response was given, and masked (`numpy.ma`) where the
            trial was not shown.
        truth : array_like, shape (trial,)
            True class labels.
        observers, kind : sequence of str, optional
            Name and kind of each observer.
        classes : sequence or "seen", optional
            Admissible responses, as in `from_table`.
        condition, item, dataset, repeat : sequence, optional
            One value per trial.
        labels : mapping of str to sequence, optional
            Additional labels for observers, such as their families.
        item_columns : mapping of str to sequence, optional
            Attributes of the items, such as the patient, with one value per trial, as in
            `from_table`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If the shapes of the arrays do not match. See also `from_table`.

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
        """Create trials from an array of correct (1) and incorrect (0) responses.

        Metrics that need class labels raise an error if trials contain only correctness.

        Parameters
        ----------
        correct : array_like, shape (observer, trial)
            1 if correct, 0 if incorrect, NaN if no response was given, and masked (`numpy.ma`)
            where the trial was not shown.
        observers, condition, item, dataset, repeat, kind, labels, item_columns : optional
            Names and descriptions of observers and trials, as in `from_arrays`.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If shapes do not match, or a value is not 0, 1 or NaN.

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
        """Set the number of options of each question, for multiple-choice metrics.

        Parameters
        ----------
        n_options : int, array_like of int (trial,) or "classes"
            Number of options, at least 2: the options are the first `n_options` of `classes`.
            ``"classes"``: all classes are options.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If a question has fewer than two options, or a response or true answer is not an option.

        Examples
        --------
        >>> trials = Trials.from_arrays([["A", "B"], ["B", "B"]], ["A", "B"], classes=list("ABCD"))
        >>> trials.with_options(4).data["n_options"].values.tolist()
        [4, 4]
        """
        return Trials(with_options(self.data, n_options))

    def with_levels(self, levels: Groups) -> Trials:
        """Group conditions to compute benchmark scores for each group.

        Parameters
        ----------
        levels : mapping, pandas.Series or xarray.DataArray
            Group of each condition, such as its regime (``alikely.regimes(spectrum)["label"]``).
            Conditions are named ``dataset:condition``.

        Returns
        -------
        Trials

        Raises
        ------
        ValueError
            If a condition is missing from `levels`.

        Examples
        --------
        >>> import alikely as al
        >>> regime = {"all:clean": "easy", "all:blur": "difficult", "all:noise": "difficult"}
        >>> scores = al.benchmark_scores(al.load_example().with_levels(regime), n_draws=0)
        >>> scores.summary(level="difficult")["estimate"].head(3).round(2).tolist()
        [0.16, 0.17, 0.16]
        """
        places = zip(self.data["dataset"].values, self.data["condition"].values, strict=True)
        names = [f"{dataset}:{condition}" for dataset, condition in dict.fromkeys(places)]
        own = dict(zip(names, groups_of(names, levels, "level"), strict=True))
        return Trials(self.data.assign_attrs({LEVELS: own}))

    def with_probabilities(
        self,
        values: Any,
        *,
        scale: Literal["probabilities", "logits"] = "probabilities",
    ) -> Trials:
        """Return a copy of the trials with each observer's probability of each option.

        Parameters
        ----------
        values : array_like or table
            An array of shape (observer, trial, class), in the order of `data` and `classes`. Values
            are NaN for trials without probabilities, and 0 for classes not among a trial's options.
            The number of options is the number set by `with_options`, or by default the number of
            classes. Memory-mapped and dask arrays are not loaded into memory. Alternatively, a long
            table with the columns ``observer, item, option, probability`` (or ``logit``) and, if
            needed to identify a trial, ``dataset, condition, repeat``. In a long table, the options
            of a question are the classes in the rows of that question.
        scale : {"probabilities", "logits"}
            Scale of `values`. Logits or log likelihoods are converted to probabilities with the
            softmax function.

        Returns
        -------
        Trials
            A note states how many responses are not the most probable option.

        Raises
        ------
        ValueError
            If shapes or labels do not match, if an option of a question is not a class, or if a
            question has only one option.
        ValueError
            If a probability is negative, or if only some probabilities of a response are NaN.
        ValueError
            If probabilities do not sum to 1 (tolerance 1e-6; 1e-3 for single or half precision).

        Examples
        --------
        >>> trials = Trials.from_arrays([["A", "B"], ["B", "B"]], ["A", "B"])
        >>> p = [[[0.9, 0.1], [0.2, 0.8]], [[0.4, 0.6], [0.3, 0.7]]]
        >>> trials.with_probabilities(p).data["probability"].dims
        ('observer', 'trial', 'class')
        """
        return Trials(with_probabilities(self.data, values, scale))

    def with_inclusion(
        self, plan: Any, *, generalize_to: Literal["pool", "images"], humans: str = "human"
    ) -> Trials:
        """Set the plan that was used to choose the images, so that estimates are weighted.

        Parameters
        ----------
        plan : StimulusPlan or table
            Plan, as returned by `alikely.planning.choose_images`, or the table of a plan.
        generalize_to : {"pool", "images"}
            Target population of the estimates: the pool of images, or the population of images from
            which the pool was sampled.
        humans : str
            Kind of observer that the plan was made for.

        Returns
        -------
        Trials
            Trials with only the images in the plan. Notes list what was excluded.

        Raises
        ------
        TypeError
            If `plan` is not a table.
        ValueError
            If the plan does not match the trials or the humans.

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
        """Notes on how these trials were read, such as guessed columns and excluded samples."""
        return [str(note) for note in self.data.attrs.get(NOTES, ())]

    @property
    def has_classes(self) -> bool:
        """Whether class labels are known, not only correctness."""
        return "response" in self.data

    @property
    def classes(self) -> list[str]:
        """Class labels.

        Raises
        ------
        ValueError
            If the trials contain correctness but no class labels.
        """
        if not self.has_classes:
            raise ValueError(
                "these trials contain correctness only, enough for error consistency; metrics of "
                "labels need responses: use Trials.from_table or Trials.from_arrays"
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
        """Keep only the given conditions, data sets, kinds, observers or repeats.

        Parameters
        ----------
        condition, dataset, kind, observer : label or sequence of labels, optional
            Labels to keep. Default: all. The label of a condition selects that condition in all
            data sets.
        repeat : int or sequence of int, optional
            Repeats to keep, as numbered by the coordinate ``repeat``. Default: all. If you keep
            only one repeat, each observer has at most one response to each item in a condition.

        Returns
        -------
        Trials
            Observers who were shown none of the selected trials are removed, as are trials that no
            remaining observer was shown.

        Raises
        ------
        ValueError
            If a label does not occur in the data, or if no trials are selected.
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
                    f"no {name} {lacking!r}; choose from {listed(known)}{nearest(lacking, known)}"
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
        """Classes that are the truth in other data sets only."""
        truth, names = self.data["truth"].values, self.data["class"].values
        here = np.isin(self.data["dataset"].values, np.unique(datasets))
        gone = np.setdiff1d(truth[~here], truth[here])
        return sorted({*self.data.attrs.get(ELSEWHERE, ()), *map(str, names[gone])})

    def to_table(self) -> pd.DataFrame:
        """Return a long table that `from_table` can read.

        Returns
        -------
        pandas.DataFrame
            One row per observer and trial shown, with columns

            - ``observer``, ``kind`` and further labels of observers
            - ``dataset``, ``condition``, ``item``, ``repeat`` and item columns
            - ``truth`` and ``response``, or ``correct``
        """
        return long_table_of(self.data)

    def summary(self) -> pd.DataFrame:
        """Summarize the observers in each data set.

        Returns
        -------
        pandas.DataFrame
            One row per data set and observer, with columns

            - ``dataset``, ``observer``, ``kind``
            - ``n_trials``: number of trials shown
            - ``accuracy``: proportion correct; a missing response counts as an error
            - ``no_response``, ``not_shown``: numbers of trials without a response and of trials not
              shown
        """
        return summary_table(data_summary(self.data))

    def describe(self) -> str:
        """Describe the trials: observers, items, missing responses and possible analyses.

        Returns
        -------
        str
            Text with lines of at most 80 characters:

            - how the data were read
            - observers, with their kind, number of trials, accuracy, missing responses, and items
              that were not shown to any other observer
            - conditions
            - clusters and their design effects
            - the command for each analysis

        Examples
        --------
        >>> trials = Trials.from_correct([[1, 0, 1], [1, 1, 0]], observers=["anna", "net"])
        >>> print(trials.describe().splitlines()[0])
        Observers   2: anna (observer), net (observer)
        """
        return described(self.data)

    def _repr_html_(self) -> str:
        """Notes and the first rows of the summary, for notebooks."""
        return html_summary(self.data, repr(self).splitlines()[0][1:-1], self.notes)

    def __repr__(self) -> str:
        n_classes = f"{len(self.classes)} classes" if self.has_classes else "correctness only"
        n_classes += ", no truth" * (self.has_classes and "truth" not in self.data)
        head = f"<Trials: {len(self.observers)} observers, {self.n_trials} trials, {n_classes}>"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])
