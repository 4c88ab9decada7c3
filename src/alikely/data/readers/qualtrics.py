"""Surveys of Qualtrics: a row for each respondent below three lines of names.

Items are the columns whose ImportId contains ``QID``. Empty cells are missing responses.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from alikely._base.names import listed
from alikely.data.files import TEXT, File
from alikely.data.readers import Log, Reader, has_columns

RATER, STATUS = "ResponseId", "Status"
# What the third line names a column of an answer, and a response of nobody.
QUESTION, PREVIEW = "QID", ("Survey Preview", "Survey Test", "1", "Spam", "8")


def recognizes(files: Sequence[File]) -> bool:
    """By the column of responses and the third line of names."""
    return files[0].suffix in TEXT and has_columns(files, RATER.lower()) and bool(_ids(files[0]))


def _ids(file: File) -> dict[str, str]:
    """What the third line calls each column."""
    rows = list(csv.reader(io.StringIO(file.head(3))))[:3]
    found = dict(zip(rows[0], rows[2], strict=False)) if len(rows) == 3 else {}
    return found if any("ImportId" in text for text in found.values()) else {}


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all answers: respondents are observers, and questions are items."""
    for file in files:
        ids, frame = _ids(file), log.table(file)
        asked = [name for name in frame if QUESTION in ids.get(name, "") and name in frame]
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


READER = Reader("qualtrics", "survey of Qualtrics", recognizes, read)
