"""Wide text files of PsychoPy: a row for each trial, a few columns for each component."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from alikely._base.names import listed
from alikely.data.files import File
from alikely.data.readers import Log, Reader

KEYS, RIGHT, TRUTH, PERSON = ".keys", ".corr", "corrAns", "participant"


def recognizes(files: Sequence[File]) -> bool:
    """By the columns of its loops and of the experiment itself."""
    columns = files[0].columns()
    return any(name.endswith(".thisN") for name in columns) and (
        "expName" in columns or "psychopyVersion" in columns
    )


def read(files: Sequence[File], log: Log) -> None:
    """Tables of the trials at which one component collected a response."""
    frames = [log.table(file, odd_quotes=True) for file in files]
    there = [n.removesuffix(KEYS) for frame in frames for n in frame if n.endswith(KEYS)]
    part = log.choose("key component", "filter", there, "the experiment")
    answer, right = part + KEYS, part + RIGHT
    lacks = [f.name for f, frame in zip(files, frames, strict=True) if answer not in frame]
    if lacks:
        raise ValueError(f"{lacks[0]!r} has no column {answer!r}, which other files have")
    if "item" not in log.renamed:
        raise ValueError(
            "PsychoPy does not say which column holds the items; name it by item=, one of "
            f"{listed(name for name in frames[0] if '.' not in name)}"
        )
    # Where nothing was asked both entries are empty; without an answer the first is None.
    asked = [
        frame[answer].notna() | (frame[right].notna() if right in frame else False)
        for frame in frames
    ]
    kept = [_one_key(frame[own], answer, log) for frame, own in zip(frames, asked, strict=True)]
    left = sum(map(len, frames)) - sum(map(len, kept))
    if left:
        log.notes.append(f"{left} rows without an entry of {answer!r} or {right!r} were left out")
    columns = {"item": log.renamed["item"], "response": answer}
    if "observer" not in log.renamed:
        columns["observer"] = PERSON
        if any(PERSON not in frame or frame[PERSON].isna().any() for frame in kept):
            log.notes.append(f"{PERSON!r} is not always given: observers are named by their files")
            kept = [
                f.assign(**{PERSON: Path(g.base).stem}) for f, g in zip(kept, files, strict=True)
            ]
    if "truth" not in log.renamed:
        if all(TRUTH in frame for frame in kept):
            columns["truth"] = TRUTH
        elif all(right in frame for frame in kept):
            columns |= {"correct": right, "response": "response"}
            # Scored as wrong, but not answered.
            given = [f[answer].notna() & (f[answer] != "None") for f in kept]
            kept = [
                f.assign(**{right: f[right].where(own | (f[right] == "1"), None)})
                for f, own in zip(kept, given, strict=True)
            ]
            log.notes.append(f"there is no column {TRUTH!r}: correctness only (or give truth=)")
    log.tables, log.columns, log.missing = kept, columns, ("None",)


def _one_key(frame: pd.DataFrame, answer: str, log: Log) -> pd.DataFrame:
    """Answers of one key, where all keys of a trial were kept in a list."""
    lists = frame[answer].astype(str).str.fullmatch(r"\[.*\]")
    if not lists.any():
        return frame
    which = log.asked["score"]
    if which not in ("first", "last"):
        raise ValueError(
            f"column {answer!r} of {log.current!r} holds lists of all keys of a trial; choose "
            "score='first' or score='last'"
        )
    keys = frame[answer].str.strip("[]").str.split(",").str[0 if which == "first" else -1]
    keys = keys.str.strip(" '\"").replace("", None)
    log.notes.append(f"of several keys of a trial the {which} is the response")
    return frame.assign(**{answer: keys.where(lists, frame[answer])})


READER = Reader("psychopy", "data of PsychoPy", recognizes, read)
