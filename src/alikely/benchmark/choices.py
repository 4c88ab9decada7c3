"""What silent choices do to a benchmark: the same data, scored in every way that papers do.

References
----------
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
"""

from __future__ import annotations

import itertools
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from alikely.benchmark.layout import CEILING, HUMANS, laid_out, refuse_own_names, require_balance
from alikely.benchmark.nesting import nested_scores, with_overall
from alikely.data.trials import Trials
from alikely.datasets.exclusions import Exclusions, exclude_conditions
from alikely.metrics import ERROR_CONSISTENCY

__all__ = ["sensitivity", "sensitivity_band"]

CHOICES = ["no_response", "conditions", "grouping", "both_perfect"]


def sensitivity(
    trials: Trials,
    *,
    models: str = "model",
    humans: str = "human",
    exclude: str | Exclusions | None = None,
    missing: Literal["error", "available"] = "error",
) -> pd.DataFrame:
    """Score a benchmark under all choices that papers make without saying so.

    A missing response is an error, or dropped; conditions are excluded, or all kept; error
    consistency is taken per condition and averaged, as [G21]_ does, or conditions are pooled; two
    observers without any error have error consistency 1, or none.

    Parameters
    ----------
    trials : Trials
        Aligned responses.
    models, humans : str
        Kinds of the observers.
    exclude : str or mapping, optional
        Conditions to leave out, see `alikely.exclude_conditions`; without it that choice falls
        away.
    missing : {"error", "available"}
        As in `alikely.benchmark_scores`.

    Returns
    -------
    pandas.DataFrame
        One row per combination of choices and system: ``no_response, conditions, grouping,
        both_perfect, system, score, ceiled`` (score over ceiling) and ``rank`` (of machines; 1
        for the highest score). The combination that `alikely.benchmark_scores` uses comes first.

    Raises
    ------
    ValueError
        As in `alikely.benchmark_scores`.

    Examples
    --------
    >>> import alikely as al
    >>> table = al.benchmark.sensitivity(al.load_example())
    >>> len(table[["no_response", "grouping", "both_perfect"]].drop_duplicates())
    8
    """
    variants = {"all": trials}
    if exclude is not None:
        variants = {"excluded": exclude_conditions(trials, exclude), **variants}
    groupings: tuple[Literal["condition", "dataset"], ...] = ("condition", "dataset")
    responses: tuple[Literal["error", "drop"], ...] = ("error", "drop")
    frames = []
    for no_response, (conditions, part), grouping in itertools.product(
        responses, variants.items(), groupings
    ):
        table, layout = laid_out(
            part, models=models, humans=humans, grouping=grouping, no_response=no_response
        )
        refuse_own_names("machine", layout.machines, (HUMANS, CEILING))
        require_balance(layout, missing)
        cells = table["cells"].values
        value = ERROR_CONSISTENCY.value(cells)
        perfect = (cells.sum(axis=1) > 0) & (cells[:, 0] == cells.sum(axis=1))
        for both_perfect, values in (("undefined", value), ("one", np.where(perfect, 1.0, value))):
            scores = with_overall(nested_scores(layout, values[None]))[0, -1]
            ceiling = scores[-1]
            frames.append(
                pd.DataFrame(
                    {
                        "no_response": no_response,
                        "conditions": conditions,
                        "grouping": f"per {grouping}",
                        "both_perfect": both_perfect,
                        "system": layout.systems,
                        "score": scores,
                        "ceiled": scores / ceiling if ceiling else np.full(len(scores), np.nan),
                        "rank": _ranks(scores, len(layout.machines)),
                    }
                )
            )
    return pd.concat(frames, ignore_index=True)


def _ranks(scores: NDArray[np.float64], n_models: int) -> NDArray[np.float64]:
    ranks = np.full(len(scores), np.nan)
    ranks[:n_models] = pd.Series(scores[:n_models]).rank(ascending=False, method="min")
    return ranks


def sensitivity_band(table: pd.DataFrame) -> pd.DataFrame:
    """Range of scores and ranks over all choices.

    Parameters
    ----------
    table : pandas.DataFrame
        As from `sensitivity`.

    Returns
    -------
    pandas.DataFrame
        One row per system: ``score`` of the first combination, ``lowest, highest``, ``rank,
        best_rank, worst_rank``, and ``decides``: the choice whose change moves the score most, the
        others held, with that ``largest_change``.

    Examples
    --------
    >>> import alikely as al
    >>> band = sensitivity_band(al.benchmark.sensitivity(al.load_example()))
    >>> bool((band["lowest"] <= band["score"]).all())
    True
    """
    rows = []
    for system, part in table.groupby("system", sort=False):
        moves = {}
        for choice in CHOICES:
            others = [name for name in CHOICES if name != choice]
            spans = part.groupby(others)["score"].agg(lambda x: x.max() - x.min())
            moves[choice] = float(spans.max())
        decides = max(moves, key=lambda name: moves[name])
        first = part.iloc[0]
        rows.append(
            {
                "system": system,
                "score": first["score"],
                "lowest": part["score"].min(),
                "highest": part["score"].max(),
                "rank": first["rank"],
                "best_rank": part["rank"].min(),
                "worst_rank": part["rank"].max(),
                "decides": decides,
                "largest_change": moves[decides],
            }
        )
    return pd.DataFrame(rows)
