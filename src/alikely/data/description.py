"""Description of trials and of possible analyses, as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import xarray as xr

from alikely._base.names import counted, listed, shorten, visible
from alikely.data.columns import ITEM_COLUMNS, NO_RESPONSE, NOT_SHOWN, NOTES
from alikely.data.matching import items_alone
from alikely.data.probabilities import PROBABILITY

WIDTH, LABEL = 80, 12
MOST_OBSERVERS, MOST_CONDITIONS, NAME = 20, 8, 24
# A matrix of fewer observers has little structure.
FEWEST_OF_MATRIX = 8


def described(
    data: xr.Dataset,
    file: str = "FILE",
    more: Mapping[str, np.ndarray] | None = None,
    say: Callable[[str], str] = str,
) -> str:
    """Text of `Trials.describe`, for commands on `file` and with further clusters `more`."""
    correct = data["correct"].values
    shown = correct != NOT_SHOWN
    missing = int((correct == NO_RESPONSE).sum())
    lines = _entry("Observers", _observers(data))
    items = data["item"].to_series().nunique()
    lines += _entry("Items", f"{items:,}; {counted(correct.shape[1], 'trial')} in all")
    names = [f"{d}: {c}" if d != "all" else c for d, c in _conditions(data)]
    lines += _entry("Conditions", f"{len(names)}: {listed(names, most=MOST_CONDITIONS)}")
    if "class" in data:
        classes = data["class"].values.tolist()
        no = "" if "truth" in data else "; true classes are unknown"
        lines += _entry("Classes", f"{len(classes)}: {listed(classes, most=MOST_CONDITIONS)}{no}")
    else:
        lines += _entry("Classes", "unknown; responses are only correct or wrong")
    treated = " (count as errors; --no-response drop excludes them)" if missing else ""
    lines += _entry("Missing", f"{missing:,} of {int(shown.sum()):,} responses{treated}")
    lines += _entry("Matched", _matched(data, shown))
    lines += _entry("Clusters", _clusters(data, more or {}))
    lines += ["", *_table(data)]
    if notes := data.attrs.get(NOTES, ()):
        lines += ["", "Reading:"]
        for note in notes:
            text = visible(say(str(note)))
            lines += textwrap.wrap(f"- {text}", WIDTH, subsequent_indent="  ")
    lines += ["", "What can be computed:", *_commands(data, file)]
    return "\n".join(lines)


def _entry(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        f"{label:<{LABEL}}{visible(text)}",
        WIDTH,
        subsequent_indent=" " * LABEL,
        break_on_hyphens=False,
    )


def _observers(data: xr.Dataset) -> str:
    names, kinds = data["observer"].values.astype(str), data["kind"].values.astype(str)
    if len(names) <= MOST_CONDITIONS:
        return f"{len(names)}: {listed(f'{n} ({k})' for n, k in zip(names, kinds, strict=True))}"
    return f"{len(names)}: {listed(f'{n} {k}' for k, n in pd.Series(kinds).value_counts().items())}"


def _conditions(data: xr.Dataset) -> list[tuple[str, str]]:
    frame = pd.DataFrame({k: data[k].values.astype(str) for k in ("dataset", "condition")})
    return list(frame.drop_duplicates().itertuples(index=False, name=None))


def _matched(data: xr.Dataset, shown: np.ndarray) -> str:
    if len(shown) < 2:
        return "one observer only"
    n_observers = shown.sum(axis=0)
    if len(shown) == 2:
        return f"{int(shown.all(axis=0).sum()):,} trials were shown to both observers"
    every = int((n_observers == len(shown)).sum())
    two = int((n_observers > 1).sum())
    return f"{every:,} trials were shown to all observers, {two:,} to at least two"


def design_effect(data: xr.Dataset, cluster: np.ndarray) -> float:
    """Mean over observers of the ratio of the variance of accuracy by clusters and by trials."""
    effects = []
    codes = pd.factorize(cluster)[0]
    for row in data["correct"].values:
        own = row > NO_RESPONSE
        x, of = row[own].astype(float), codes[own]
        residual = x - x.mean() if len(x) else x
        if (total := float((residual**2).sum())) > 0:
            effects.append(float((np.bincount(of, residual) ** 2).sum()) / total)
    return float(np.mean(effects)) if effects else np.nan


def _clusters(data: xr.Dataset, more: Mapping[str, np.ndarray]) -> str:
    found = []
    items = data["item"].values.astype(str)
    if len(np.unique(items)) < len(items) and "truth" not in data.dims:
        found.append(("item", items))
    for name in data.attrs.get(ITEM_COLUMNS, ()):
        found.append((str(name), data[name].values.astype(str)))
    found += [(name, values.astype(str)) for name, values in more.items()]
    said = []
    for name, values in found:
        n, effect = len(np.unique(values)), design_effect(data, values)
        known = "" if np.isnan(effect) else f", design effect {effect:.2f}"
        said.append(f"{name} ({n:,} clusters{known})")
    if more:
        said.append("use one with --cluster NAME")
    return "; ".join(said) or "none found (--cluster NAME for a column that groups items)"


def _table(data: xr.Dataset) -> list[str]:
    correct = data["correct"].values
    alone = items_alone(data)["n_alone"].tolist()
    known = "response" not in data or "truth" in data
    rows = []
    for i, name in enumerate(data["observer"].values.astype(str)[:MOST_OBSERVERS]):
        own = correct[i]
        n = int((own != NOT_SHOWN).sum())
        accuracy = f"{(own == 1).sum() / n:.3f}" if known and n else "-"
        kind = shorten(str(data["kind"].values[i]), LABEL)
        lost = int((own == NO_RESPONSE).sum())
        rows.append(
            [shorten(visible(name), NAME), kind, f"{n:,}", accuracy, str(lost), str(alone[i])]
        )
    head = ["observer", "kind", "trials", "accuracy", "missing", "unmatched"]
    width = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]
    lines = [
        "  ".join(text.ljust(w) if k < 2 else text.rjust(w) for k, (text, w) in enumerate(cells))
        for cells in (list(zip(row, width, strict=True)) for row in [head, *rows])
    ]
    lines = [line.rstrip() for line in lines]
    if (n := len(correct)) > MOST_OBSERVERS:
        lines.append(f"... ({n} in all)")
    return lines


def _commands(data: xr.Dataset, file: str) -> list[str]:
    kinds = set(data["kind"].values.astype(str))
    n, judged = data.sizes["observer"], "response" not in data or "truth" in data
    both = {"human", "model"} <= kinds
    pairs = " --pairs human-model" if both else ""
    found = []
    if n < 2:
        return ["  nothing yet: a comparison needs at least two observers"]
    if judged:
        found.append(("error consistency of pairs", f"compare {file}{pairs}"))
    if "response" in data:
        if judged and data.sizes["class"] > 2:
            found.append(("agreement of wrong responses", f"compare {file} --metric ma{pairs}"))
        found.append(("agreement of two", f"compare {file} --metric cohen"))
    if "response" in data and n > 2:
        found.append(("agreement of all", f"compare {file} --metric alpha --readers all"))
    if PROBABILITY in data and judged:
        found.append(("agreement of probabilities", f"compare {file} --metric kappa_p"))
    if judged and both:
        found.append(("scores of models, ceilings", f"benchmark {file}"))
    if judged and n >= FEWEST_OF_MATRIX:
        found.append(("all pairs and families", f"matrix {file}"))
    if judged and both and len(_conditions(data)) > 1:
        found.append(("difficulty of conditions", f"spectrum {file}"))
    if judged:
        found.append(("one page of everything", f"report {file}"))
    wide = max(len(what) for what, _ in found) + 2
    lines = [f"  {what:<{wide}}alikely {command}" for what, command in found]
    if max(map(len, lines)) <= WIDTH:
        return lines
    # A command stays on one line for copying.
    return [line for what, command in found for line in (f"  {what}:", f"    alikely {command}")]
