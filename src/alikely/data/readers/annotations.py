"""Annotations: counts of two raters, crowd-kit, doccano, iMRMC, Label Studio, Qualtrics.

- counts: a count of n becomes n items; classes are responses.
- crowd-kit: items are tasks; the truth is the label in the other file.
- doccano: items are ids; the response is in ``label`` or in ``label`` of ``annotations``.
- iMRMC: the truth is the score of reader -1; ratings of at least ``score=`` are positive.
- Label Studio (JSON): items are the ids of tasks; the response is in ``choices``, ``rating``,
  ``number`` or ``text`` of one ``from_name`` (``filter=``).
- Qualtrics: items are the columns whose ImportId contains ``QID``.

Empty labels and tasks without a result are missing responses.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from alikely._base.names import listed
from alikely.data.files import LINES, TEXT, File
from alikely.data.readers import Log, Reader, having

# More classes than these have no table of counts that is written by hand.
MOST = 50
# Of crowd-kit and Toloka: columns of labels, and of true ones.
CROWD = {"observer": "worker", "item": "task", "response": "label"}
TRUE = ("true_label", "label", "golden")
# Of doccano: the field of the label of a text.
LABELS = ("label", "labels")
TEXTS = [("id", "text", name) for name in (*LABELS, "annotations")]
# Of iMRMC: the line before the data, the reader of what is true, and the columns.
BEGIN, TRUTH = "BEGIN DATA", "-1"
IMRMC = ["observer", "item", "condition", "response"]
# Of Label Studio: fields of a task, and kinds of answers.
TASK = ("annotations", "data", "id")
KINDS = ("choices", "rating", "number", "taxonomy", "labels", "text")
# Of Qualtrics: columns, what the third line names a column of an answer, and a status of nobody.
RATER, STATUS = "ResponseId", "Status"
QUESTION, PREVIEW = "QID", ("Survey Preview", "Survey Test", "1", "Spam", "8")


def of_counts(files: Sequence[File]) -> bool:
    """Recognize tables of counts, whose first column and first line name the same classes."""
    if files[0].suffix not in TEXT:
        return False
    header = files[0].columns()
    lines = [line for line in files[0].head(MOST + 2).splitlines()[1:] if line]
    if not 2 < len(header) <= MOST or len(lines) != len(header) - 1:
        return False
    sep = next((sep for sep in ",;\t|" if sep in lines[0]), ",")
    return sorted(line.split(sep)[0].strip('"') for line in lines) == sorted(header[1:])


def counts(files: Sequence[File], log: Log) -> None:
    """Expand a table of counts to one row per rater and item."""
    for file in files:
        table = log.table(file)
        classes = [sorted(table.iloc[:, 0].astype(str)), sorted(map(str, table.columns[1:]))]
        if classes[0] != classes[1]:
            raise ValueError(
                f"{file.name!r} must have the same classes in its first column and its first line, "
                f"got {', '.join(classes[0])} and {', '.join(classes[1])}"
            )
        long = table.set_index(table.columns[0]).stack(future_stack=True).astype(str).str.strip()
        if (odd := next((text for text in long if not text.isdecimal()), None)) is not None:
            row, name = divmod(long.tolist().index(odd), len(classes[1]))
            raise ValueError(
                f"{file.name!r}, row {row}, column {table.columns[1 + name]!r} is {odd!r}; "
                "expected a count, a whole number"
            )
        cells = long.index.repeat(long.astype(int))
        pairs = pd.DataFrame([*cells], columns=["rater_1", "rater_2"]).astype(str)
        start = f"{file.name!r}: " if len(files) > 1 else ""
        pairs["item"] = [f"{start}{i}" for i in range(len(pairs))]
        log.tables.append(pairs.melt("item", var_name="observer", value_name="response"))
    log.notes.append("a table of counts: rows are rater_1, columns rater_2, items the counts")


def of_crowd_kit(files: Sequence[File]) -> bool:
    """Recognize crowd-kit by the columns of one of the files."""
    return any(having([*CROWD.values()])([file]) for file in files)


def crowd_kit(files: Sequence[File], log: Log) -> None:
    """Read tables of labels, and true labels if another file contains them."""
    log.names, true = [], []
    for file in files:
        table = log.table(file)
        if CROWD["observer"] in table:
            log.tables.append(table)
            log.names.append(file.name)
            continue
        one = next((name for name in TRUE if name in table), None)
        if one is None or CROWD["item"] not in table:
            raise ValueError(f"{file.name!r} has neither workers nor tasks with true labels")
        true.append(table[[CROWD["item"], one]].rename(columns={one: "truth"}))
        log.truths = pd.concat(true), repr(file.name)
    log.by_file = len(log.tables) == len(files)
    log.columns = dict(CROWD)


def doccano(files: Sequence[File], log: Log) -> None:
    """Read the rows of all texts: annotators are files, or the users in a text's annotations."""
    for file in files:
        rows: list[tuple[str, str, str | None]] = []
        for text in log.samples(file):
            item = str(text.get("id", log.number))
            if (many := text.get("annotations")) is not None:
                rows += [(str(one["user"]), item, _label([one["label"]], log)) for one in many]
            else:
                found: Any = next((text[name] for name in LABELS if name in text), [])
                rows.append((Path(file.base).stem, item, _label(found, log)))
        log.tables.append(pd.DataFrame(rows, columns=["observer", "item", "response"]))
    log.notes.append("annotators are named by their files, where texts do not name them")


def _label(found: Any, log: Log) -> str | None:
    labels = found if isinstance(found, list) else [found]
    if any(isinstance(one, list | dict) for one in labels) or len(labels) > 1:
        raise ValueError(
            f"{log.where} has several labels, or labels of parts of the text; export a project of "
            "one label for each text"
        )
    return str(labels[0]) if labels else None


def of_imrmc(files: Sequence[File]) -> bool:
    """Recognize iMRMC files by the line before the data."""
    return files[0].suffix in (*TEXT, ".imrmc") and BEGIN in files[0].head(200).upper()


def imrmc(files: Sequence[File], log: Log) -> None:
    """Read all readers; modalities are conditions; ratings of at least a threshold are positive."""
    for file in files:
        log.current = file.name
        lines = file.text(log.notes).splitlines()
        start = next((i for i, line in enumerate(lines) if BEGIN in line.upper()), len(lines))
        rows = []
        for number, line in enumerate(lines[start + 1 :], start=start + 2):
            if line.strip(" ,\t"):
                row = [part.strip() for part in line.split(",")]
                if len(row) != len(IMRMC):
                    raise ValueError(
                        f"{file.name!r}, line {number} has {len(row)} fields; expected reader, "
                        "case, modality, score; complete the row"
                    )
                rows.append(row)
        frame = pd.DataFrame(rows, columns=IMRMC)
        true = frame[frame["observer"] == TRUTH].set_index("item")["response"].to_dict()
        own = frame[frame["observer"] != TRUTH]
        if lacks := sorted(set(own["item"]) - set(true)):
            raise ValueError(
                f"{file.name!r} has no true class of case {lacks[0]!r} (reader -1); add it"
            )
        own = own.assign(truth=own["item"].map(true), response=_decided(log, own["response"]))
        log.tables.append(own)


def _decided(log: Log, ratings: pd.Series) -> pd.Series:
    """Decisions 0 and 1, of ratings by a limit."""
    if ratings.isin(("0", "1", "")).all():
        return ratings.replace("", None)
    limit = log.asked["score"]
    try:
        values, least = pd.to_numeric(ratings), float(limit or "")
    except ValueError:
        raise ValueError(
            f"{log.where} contains ratings, such as {ratings.iloc[0]!r}, but no decisions; give "
            "the lowest rating that counts as positive, such as score='3'"
        ) from None
    log.notes.append(f"ratings from {limit} on are decisions for 1")
    return (values >= least).astype(int).astype(str)


def label_studio(files: Sequence[File], log: Log) -> None:
    """Read the rows of all annotations: annotators are observers, and true classes are unknown."""
    for file in files:
        found: list[tuple[str, str, str | None, str]] = []
        for task in log.records(file):
            for annotation in task.get("annotations") or []:
                who = annotation.get("completed_by")
                who = (who.get("email") or who.get("id")) if isinstance(who, dict) else who
                results = [one for one in annotation.get("result") or [] if "from_name" in one]
                for one in results:
                    value = one.get("value") or {}
                    answer = next((value[kind] for kind in KINDS if kind in value), None)
                    answer = answer if isinstance(answer, list) else [answer]
                    text = ", ".join(sorted(map(str, answer)))
                    found.append((str(who), str(task["id"]), text, str(one["from_name"])))
                if not results:
                    found.append((str(who), str(task["id"]), None, ""))
        one = log.choose("label", "filter", [name for *_, name in found if name])
        rows = [entry[:3] for entry in found if entry[3] in (one, "")]
        log.tables.append(pd.DataFrame(rows, columns=["observer", "item", "response"]))


def of_qualtrics(files: Sequence[File]) -> bool:
    """Recognize Qualtrics files by the column of response identifiers and by the third line."""
    return files[0].suffix in TEXT and having([RATER.lower()])(files) and bool(_ids(files[0]))


def _ids(file: File) -> dict[str, str]:
    """What the third line calls each column."""
    rows = list(csv.reader(io.StringIO(file.head(3))))[:3]
    found = dict(zip(rows[0], rows[2], strict=False)) if len(rows) == 3 else {}
    return found if any("ImportId" in text for text in found.values()) else {}


def qualtrics(files: Sequence[File], log: Log) -> None:
    """Rows of all answers: respondents are observers, and questions are items."""
    for file in files:
        ids, frame = _ids(file), log.table(file)
        asked = [name for name in frame if QUESTION in ids.get(name, "")]
        if not asked:
            raise ValueError(
                f"{file.name!r} has no column of a question (an ImportId with QID in the third "
                f"line); its columns are {listed(frame)}"
            )
        frame = frame.iloc[2:]
        if STATUS in frame and (odd := frame[STATUS].isin(PREVIEW)).any():
            log.notes.append(f"{odd.sum()} previews of the survey were left out")
            frame = frame[~odd]
        long = frame.melt(RATER, asked, "item", "response")
        log.tables.append(long.rename(columns={RATER: "observer"}))
        log.notes.append(f"each row is a rater, and {len(asked)} questions are items")


READERS = [
    Reader("counts", "counts of two raters", of_counts, counts),
    Reader("crowd-kit", "labels of crowd-kit", of_crowd_kit, crowd_kit),
    Reader("doccano", "export of doccano", having(*TEXTS, suffix=LINES), doccano),
    Reader("imrmc", "data of iMRMC", of_imrmc, imrmc),
    Reader("label-studio", "export of Label Studio", having(TASK), label_studio),
    Reader("qualtrics", "survey of Qualtrics", of_qualtrics, qualtrics),
]
