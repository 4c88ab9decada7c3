"""Counts of two raters: classes of one in the rows, of the other in the columns.

Each count gives as many items as it counts. Classes are the responses.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from alikely.data.files import TEXT, File
from alikely.data.readers import Log, Reader

# More classes than these have no table that is written by hand.
MOST = 50


def recognizes(files: Sequence[File]) -> bool:
    """By classes in the first column that are also those of the first line."""
    if files[0].suffix not in TEXT:
        return False
    header = files[0].columns()
    lines = files[0].head(MOST + 2).splitlines()[1:]
    if not 2 < len(header) <= MOST or len([line for line in lines if line]) != len(header) - 1:
        return False
    sep = next((sep for sep in ",;\t|" if sep in lines[0]), ",")
    first = [line.split(sep)[0].strip('"') for line in lines if line]
    return sorted(first) == sorted(header[1:])


def read(files: Sequence[File], log: Log) -> None:
    """A row for each rater and item, of which a table has as many as it counts."""
    for file in files:
        table = log.table(file)
        classes = [sorted(table.iloc[:, 0].astype(str)), sorted(map(str, table.columns[1:]))]
        if classes[0] != classes[1]:
            raise ValueError(
                f"{file.name!r} must have the same classes in its first column and its first line, "
                f"got {', '.join(classes[0])} and {', '.join(classes[1])}"
            )
        start = f"{file.name!r}: " if len(files) > 1 else ""
        rows = []
        for number, (_, row) in enumerate(table.iterrows()):
            for name in table.columns[1:]:
                text = str(row[name]).strip()
                if not text.isdecimal():
                    raise ValueError(
                        f"{file.name!r}, row {number}, column {name!r} is {text!r}; expected a "
                        "count, a whole number"
                    )
                rows += [(str(row.iloc[0]), str(name))] * int(text)
        pairs = pd.DataFrame(rows, columns=["rater_1", "rater_2"])
        pairs["item"] = [f"{start}{i}" for i in range(len(pairs))]
        log.tables.append(pairs.melt("item", var_name="observer", value_name="response"))
    log.notes.append("a table of counts: rows are rater_1, columns rater_2, items the counts")


READER = Reader("counts", "counts of two raters", recognizes, read)
