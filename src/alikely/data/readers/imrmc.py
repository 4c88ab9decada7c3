"""Data of iMRMC: lines ``reader, case, modality, score``, and reader -1 for what is true.

The truth is the score of reader -1. The response is the score if it is 0 or 1, and otherwise
whether the rating is at least ``score=``.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from alikely.data.files import TEXT, File
from alikely.data.readers import Log, Reader

BEGIN, TRUTH = "BEGIN DATA", "-1"
NAMES = ["observer", "item", "condition", "response"]


def recognizes(files: Sequence[File]) -> bool:
    """By the line before the data."""
    return files[0].suffix in (*TEXT, ".imrmc") and BEGIN in files[0].head(200).upper()


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all readers; modalities are conditions; ratings from a limit on are positive."""
    for file in files:
        log.current = file.name
        lines = file.text(log.notes).splitlines()
        start = next((i for i, line in enumerate(lines) if BEGIN in line.upper()), len(lines))
        rows = []
        for number, line in enumerate(lines[start + 1 :], start=start + 2):
            if line.strip(" ,\t"):
                row = [part.strip() for part in line.split(",")]
                if len(row) != len(NAMES):
                    raise ValueError(
                        f"{file.name!r}, line {number} has {len(row)} fields; expected reader, "
                        "case, modality, score; complete the row"
                    )
                rows.append(row)
        frame = pd.DataFrame(rows, columns=NAMES)
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
            f"{log.current!r} holds ratings, such as {ratings.iloc[0]!r}, and no decisions; give "
            "the least rating that is positive, such as score='3'"
        ) from None
    log.notes.append(f"ratings from {limit} on are decisions for 1")
    return (values >= least).astype(int).astype(str)


READER = Reader("imrmc", "data of iMRMC", recognizes, read)
