"""Tables for papers: intervals joined with estimates, rounded numbers, LaTeX."""

from __future__ import annotations

import itertools
import re
import string
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd

from alikely._base.intervals import percent
from alikely._base.names import MISSING, number, p_number, span

BOUND = re.compile(r"^(?:(?P<method>\w+)_)?(?P<kind>eti|hdi|ci)(?P<percent>[\d.]+)$")
# Columns that intervals without their own center are joined with.
VALUES = ("estimate", "difference", "correlation", "score")
HEADINGS = {
    "observer_a": "observer", "observer_b": "other observer", "n_trials": "trials",
    "p_value": "p", "p_null": "p (independence)", "p_null_bh": "p (independence, adjusted)",
    "p_fisher": "p (Fisher)", "prob_positive": "probability above 0",
    "log_bf10": "log Bayes factor",
    "p_value_simultaneous": "p (simultaneous)", "p_value_bh": "p (adjusted)",
}  # fmt: skip
# Row names of tables with one row per method.
METHODS = {"analytic", "bootstrap", "posterior", "cohort"}
LATEX = {
    "\\": r"\textbackslash{}", "_": r"\_", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "<": "$<$", ">": "$>$", "|": r"\textbar{}", '"': r"\symbol{34}",
}  # fmt: skip
# Two hyphens in a name are not a dash.
SPECIAL = re.compile("-(?=-)|[" + re.escape("".join(LATEX)) + "]")
SIGNED = {"-inf": r"$-\infty$", "inf": r"$\infty$", "-": "$-$", "<": "$<$"}
SIGNS = re.compile("|".join(SIGNED))


class Printed(NamedTuple):
    """A table as text."""

    cells: pd.DataFrame
    numbers: list[str]
    joined: list[str]


def latex_table(
    table: pd.DataFrame,
    *,
    digits: int = 3,
    caption: str | None = None,
    label: str | None = None,
    headings: Mapping[str, str] | None = None,
) -> str:
    r"""Format any table from this package as LaTeX.

    Parameters
    ----------
    table : pandas.DataFrame
        Table of results, such as a summary, or a table of differences, means or ranks.
    digits : int
        Number of decimals, from 0 to 10.
    caption, label : str, optional
        Caption and label, as LaTeX code. With a caption or a label, the table becomes a LaTeX
        float.
    headings : mapping of str to str, optional
        Column headings that replace column names.

    Returns
    -------
    str
        Table in booktabs style. An estimate and its bounds share a column, for example ``0.164
        [0.150, 0.181]``. Special characters are escaped, and missing numbers are shown as dashes.
        Notes are marked with letters and follow the table.

    Raises
    ------
    ValueError
        If an option is out of range.

    Examples
    --------
    >>> import alikely as al
    >>> frame = pd.DataFrame({"system": ["a_1"], "estimate": [0.1641]})
    >>> frame[["ci95_lb", "ci95_ub"]] = [[0.15, 0.1811]]
    >>> print(al.estimates.latex_table(frame))
    % needs \usepackage{booktabs}
    \begin{tabular}{ll}
    \toprule
    system & estimate [95\% CI] \\
    \midrule
    a\_1 & 0.164 [0.150, 0.181] \\
    \bottomrule
    \end{tabular}
    """
    cells, numbers, joined = printed(table, digits=digits, headings=headings)
    notes = cells.pop("note").tolist() if "note" in cells and cells.shape[1] > 1 else []
    for name in cells:
        cells[name] = cells[name].map(_signed if name in (*numbers, *joined) else _escaped)
    below = _mark(cells, [*joined, *cells][0], notes)
    cells.isetitem(0, [_opening(text) for text in cells.iloc[:, 0]])
    form = "".join("r" if name in numbers else "l" for name in cells)
    heads = [_escaped(str(name)) for name in cells]
    cells.columns = [_opening(heads[0]), *heads[1:]]
    float_ = caption is not None or label is not None
    # With more cells pandas would omit rows.
    with pd.option_context("styler.render.max_elements", cells.size + cells.shape[1] + 1):
        text = (
            cells.reset_index(drop=True)
            .style.hide(axis="index")
            .format(str, escape=None)
            .to_latex(
                column_format=form,
                hrules=True,
                environment="table" if float_ else None,
                caption=caption,
                label=label,
                position_float="centering" if float_ else None,
            )
        )
    if below:
        lines = "\n".join(rf"\par{{\footnotesize {line}\par}}" for line in below)
        end = r"\end{tabular}"
        text = text.replace(end, f"{end}\n{lines}", 1)
    return "% needs \\usepackage{booktabs}\n" + text.rstrip()


def printed(
    table: pd.DataFrame,
    *,
    digits: int = 3,
    headings: Mapping[str, str] | None = None,
) -> Printed:
    """Convert a table to text, with joined bounds and rounded numbers."""
    if not (isinstance(digits, int | np.integer) and 0 <= digits <= 10):
        raise ValueError(f"digits must be a whole number from 0 to 10, got {digits!r}")
    names = HEADINGS | dict(headings or {})
    table = _with_index(table)
    stems = [stem for name in map(str, table) if name != (stem := name.removesuffix("_lb"))]
    stems = [stem for stem in stems if f"{stem}_ub" in table]
    centers = _centers(table, stems)
    hidden = {f"{stem}{end}" for stem in stems for end in ("_lb", "_ub")}
    # Where each interval is shown: with its center, or in place of its lower bound.
    place = {centers.get(stem, f"{stem}_lb"): stem for stem in reversed(stems)}
    columns: dict[str, list[str]] = {}
    numbers: list[str] = []
    joined: list[str] = []
    for name in map(str, table.columns):
        kind = numbers if pd.api.types.is_numeric_dtype(table[name]) else []
        if name in place:
            stem, kind = place[name], joined
            heading, texts = _joined(table, stem, centers.get(stem), names, digits)
        elif name in hidden:
            continue
        else:
            heading = names.get(name, name.replace("_", " "))
            texts = _texts(table[name], digits)
        kind.append(_free(heading, columns))
        columns[kind[-1]] = texts
    return Printed(pd.DataFrame(columns, dtype=object), numbers, joined)


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    """Move an index of names to the first column."""
    index = table.index
    if index.nlevels > 1:
        return table.reset_index()
    if index.name is None and pd.api.types.is_integer_dtype(index):
        return table
    name = index.name or ("method" if len(index) and set(index) <= METHODS else "name")
    table = table.reset_index(drop=True)
    table.insert(0, _free(str(name), table), index.to_numpy())
    return table


def _centers(table: pd.DataFrame, stems: list[str]) -> dict[str, str]:
    """Column that each interval is joined with, if any."""
    found: dict[str, str] = {}
    free = [name for name in VALUES if name in table]
    for stem in stems:
        method = _method(stem)
        own = next((name for name in (f"{method}_median", method, stem) if name in table), None)
        if own is None and free and BOUND.match(stem):
            own = free.pop(0)
        found |= {stem: own} if own else {}
    return found


def _method(stem: str) -> str:
    match = BOUND.match(stem)
    return (match["method"] or "") if match else stem


def _joined(
    table: pd.DataFrame,
    stem: str,
    center: str | None,
    names: Mapping[str, str],
    digits: int,
) -> tuple[str, list[str]]:
    """Heading and cells of an interval, after its estimate."""
    used = [f"{stem}_lb", f"{stem}_ub", *([center] if center else [])]
    whole = all(pd.api.types.is_integer_dtype(table[name]) for name in used)
    digits = 0 if whole else digits
    match, method = BOUND.match(stem), _method(stem)
    level = stem.replace("_", " ")
    if match:
        kind = "HDI" if match["kind"] == "hdi" else "CI"
        of_centre = center is not None and center.startswith(method)
        said = "" if of_centre else method.replace("_", " ")
        level = " ".join(filter(None, [percent(float(match["percent"]) / 100), said, kind]))
    spans = [
        span(low, high, digits)
        for low, high in table[[f"{stem}_lb", f"{stem}_ub"]].astype(float).to_numpy().tolist()
    ]
    if center is None:
        return names.get(stem, level), spans
    heading = f"{names.get(center, center.replace('_', ' '))} [{level if match else 'range'}]"
    values = [number(value, digits) for value in table[center].astype(float)]
    return heading, [
        value if ends == MISSING else f"{value} {ends}"
        for value, ends in zip(values, spans, strict=True)
    ]


def _texts(column: pd.Series, digits: int) -> list[str]:
    if pd.api.types.is_bool_dtype(column):
        return ["yes" if value else "no" for value in column]
    if not pd.api.types.is_numeric_dtype(column):
        return [MISSING if value is None or value != value else str(value) for value in column]
    if pd.api.types.is_integer_dtype(column):
        return [str(value) for value in column]
    if str(column.name).startswith("p_"):
        return [p_number(value) for value in column]
    return [number(value, digits) for value in column]


def _free(heading: str, taken: Collection[str]) -> str:
    """A unique heading on one line."""
    heading = " ".join(heading.split())
    place, found = 1, heading
    while found in taken:
        place += 1
        found = f"{heading} ({place})"
    return found


def _escaped(text: str) -> str:
    """Text escaped for LaTeX, on one line."""
    return SPECIAL.sub(lambda found: LATEX.get(found[0], "-{}"), " ".join(text.split()))


def _opening(text: str) -> str:
    """Text protected at the start of a line, where a bracket or star would be an option."""
    return "{}" + text if text[:1] in ("[", "*") else text


def _signed(text: str) -> str:
    """Numbers for LaTeX, with minus signs, and dashes for missing values."""

    def sign(found: re.Match[str]) -> str:
        missing = found[0] == "-" and not re.match(r"[.\d]", text[found.end() :])
        return "--" if missing else SIGNED[found[0]]

    return SIGNS.sub(sign, text)


def _mark(cells: pd.DataFrame, host: str, notes: list[str]) -> list[str]:
    """Mark the cells of one column that have notes, and return lines that explain the marks."""
    said = [note for note in dict.fromkeys(notes) if note.strip() and note != MISSING]
    marks = {
        note: rf"\textsuperscript{{{mark}}}" for note, mark in zip(said, _letters(), strict=False)
    }
    if said:
        own = zip(cells[host], notes, strict=True)
        cells[host] = [text + marks.get(note, "") for text, note in own]
    return [f"{mark} {_escaped(note)}" for note, mark in marks.items()]


def _letters() -> Iterator[str]:
    """Marks of notes: a to z, then aa, ab and so on."""
    for n in itertools.count(1):
        yield from map("".join, itertools.product(string.ascii_lowercase, repeat=n))
