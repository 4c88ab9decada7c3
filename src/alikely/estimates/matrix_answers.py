"""What observers answered, as matrices of all pairs read it: bits, and answers or probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from alikely._base.arrays import Floats
from alikely.data.counting import Packed, pack
from alikely.data.inclusion import refuse_inclusion
from alikely.data.repeats import nested_labels, presented, recurring
from alikely.data.tables import By, answers, correctness, groups_of_trials, option_variables
from alikely.data.trials import Trials
from alikely.metrics import Metric
from alikely.metrics.pair_sums import combined_influence

if TYPE_CHECKING:
    from alikely.estimates.matrix_result import MatrixResult

__all__ = ["answers_of", "influences", "said_by", "said_of"]

# Numbers of a slice of a chunked array that is read at a time.
SLICE = 50_000_000
WORD = 64


def answers_of(
    trials: Any, by: By, no_response: Literal["error", "drop"], cluster: str | None
) -> tuple[list[str], list[Packed], xr.DataArray | None]:
    """Names of observers, their answers in bits place by place, and the places' labels."""
    if isinstance(trials, xr.DataArray):
        named = "observer" in trials.coords
        n = trials.sizes.get("observer", 0)
        labels = (
            trials["observer"].values.tolist() if named else [f"observer_{k}" for k in range(n)]
        )
        return [str(name) for name in labels], [_packed_in_slices(trials)], None
    if not isinstance(trials, Trials):
        raise TypeError(
            f"expected Trials or a DataArray, got {type(trials).__name__}; make trials with "
            "Trials.read or Trials.from_table"
        )
    data = trials.data
    refuse_inclusion(data, "matrix")
    correct = correctness(data["correct"].values, no_response)
    if cluster is None:
        again = presented(data) is not None or (by != "condition" and recurring(data).shared)
        if again:
            raise ValueError(
                "items came back, and their answers are not independent: al.compare treats items "
                "as units; cluster='trial' treats every answer as a trial"
            )
    group, labels = groups_of_trials(data, by)
    parts = [pack(correct[:, group == g]) for g in range(len(labels))]
    names = [str(name) for name in data["observer"].values.tolist()]
    if by is None or len(labels) == 1:
        return names, parts, None
    of_dataset, of_condition = (labels[name].to_numpy(object) for name in ("dataset", "condition"))
    if by == "dataset":
        shown = of_dataset.tolist()
    elif len(set(of_dataset.tolist())) > 1:
        shown = nested_labels(of_dataset, of_condition)
    else:
        shown = of_condition.tolist()
    places = xr.DataArray(
        shown,
        dims=by,
        name=by,
        coords={by: shown, "of_dataset": (by, of_dataset), "of_condition": (by, of_condition)},
    )
    return names, parts, places


def said_of(
    trials: Any, metric: Metric, by: By, no_response: Literal["error", "drop"]
) -> list[dict[str, xr.Variable]]:
    """What observers answered, place by place, for metrics that are not of correctness."""
    if not isinstance(trials, Trials):
        raise TypeError(
            "an array of right and wrong answers serves metrics of correctness; give Trials for "
            f"{metric.name}"
        )
    data = trials.data
    correct = correctness(data["correct"].values, no_response)
    own = metric.counts == "trials"
    said = {} if own and "response" not in data else answers(data, correct)
    classes = said.pop("class", None)
    variables = {name: xr.Variable(*given) for name, given in said.items()}
    if own:
        variables["correct"] = xr.Variable(("observer", "trial"), correct)
    if metric.labels == "options":
        variables |= option_variables(data, classes)
    group, labels = groups_of_trials(data, by)
    if len(labels) == 1:
        # As they are: what is on disk stays there.
        return [variables]
    return [
        {name: v.isel(trial=np.flatnonzero(group == g)) for name, v in variables.items()}
        for g in range(len(labels))
    ]


def said_by(result: MatrixResult) -> list[dict[str, xr.Variable]]:
    """The same of the observers and places that a matrix has."""
    metric, trials = result.metric, result.trials
    if trials is None:
        raise ValueError(
            f"a saved matrix holds no answers but right and wrong ones, and this asks for those "
            f"that {metric.name} is made of: result.with_trials(trials) adds them"
        )
    by: Any = result.place or None
    everywhere = said_of(trials, metric, by, result.data.attrs["no_response"])
    if by is not None:
        _, _, places = answers_of(trials, by, "error", "trial")
        known = [] if places is None else places.values.tolist()
        everywhere = [everywhere[known.index(name)] for name in result.places]
    at = [trials.observers.index(name) for name in result.observers]
    if at == list(range(len(trials.observers))):
        return everywhere
    return [{name: _of(variable, at) for name, variable in said.items()} for said in everywhere]


def _of(variable: xr.Variable, observers: Sequence[int] | NDArray[np.intp]) -> xr.Variable:
    return variable.isel(observer=observers) if "observer" in variable.dims else variable


def _data(said: Mapping[str, xr.Variable], observers: NDArray[np.intp]) -> dict[str, Any]:
    """Arrays of some observers; of all as they are, also where they lie on disk."""
    everyone = len(observers) == next(iter(said.values())).sizes["observer"]
    return {name: (v if everyone else _of(v, observers)).data for name, v in said.items()}


def influences(result: MatrixResult, weights: Sequence[Floats]) -> list[Floats]:
    """Influence of every trial on weighted sums of entries of each place."""
    metric, (first, second) = result.metric, result.ends()
    n, packed = len(result.observers), result.answers()
    said = [None] * len(packed) if metric.all_influences is None else said_by(result)
    cells = result.estimates["cells"].values.reshape(len(packed), -1, 4).astype(np.float64)
    out = []
    for part, counts, own, given in zip(packed, cells, said, weights, strict=True):
        psi = np.zeros((len(given), part.n_trials))
        for rows, used in _by_observers(given, first, second, n):
            pair = np.flatnonzero((given[rows] != 0).any(axis=0))
            i, j = (np.searchsorted(used, ends[pair]) for ends in (first, second))
            if own is not None and metric.all_influences is not None:
                square = np.zeros((len(rows), len(used), len(used)))
                square[:, i, j] = given[rows][:, pair]
                psi[rows] = metric.all_influences(_data(own, used), square)
                continue
            correct, of_pair = part.unpacked(used), counts[pair]
            slopes = np.where(of_pair > 0, metric.influence(of_pair), 0.0)
            slopes /= np.maximum(of_pair.sum(axis=1), 1)[:, None]
            for row in rows:
                psi[row] = combined_influence(correct, i, j, slopes * given[row, pair, None])
        out.append(psi)
    return out


def _by_observers(
    weights: Floats, first: NDArray[np.intp], second: NDArray[np.intp], n: int
) -> list[tuple[list[int], NDArray[np.intp]]]:
    """Sums over pairs of the same observers, with these: sums of few are done with few."""
    found: dict[bytes, list[int]] = {}
    for row, given in enumerate(weights):
        used = np.zeros(n, dtype=bool)
        used[first[given != 0]] = used[second[given != 0]] = True
        if used.any():
            found.setdefault(used.tobytes(), []).append(row)
    return [(rows, np.flatnonzero(np.frombuffer(key, bool))) for key, rows in found.items()]


def _packed_in_slices(correct: xr.DataArray) -> Packed:
    """Bits of an array that need not fit into memory."""
    if set(correct.dims) != {"observer", "trial"}:
        raise ValueError(f"answers must have dims (observer, trial), got {correct.dims}")
    ordered = correct.transpose("observer", "trial")
    n_observers, n_trials = ordered.shape
    step = max(WORD, SLICE // max(n_observers, 1) // WORD * WORD)
    parts = []
    for start in range(0, max(n_trials, 1), step):
        part = np.asarray(ordered.isel(trial=slice(start, start + step)).values)
        with np.errstate(invalid="ignore"):
            whole = part.astype(np.int8, copy=False)
        other = whole is not part and (whole != part).any()
        if other or (whole.size and (whole.min() < -1 or whole.max() > 1)):
            known = (part == 1) | (part == 0) | (part == -1)
            raise ValueError(
                f"answers must be 1 (right), 0 (wrong) or -1 (left out), got {part[~known][0]:g}"
            )
        parts.append(pack(whole))
    right = np.concatenate([part.right for part in parts], axis=1)
    if all(part.shown is None for part in parts):
        return Packed(right, None, n_trials)
    return Packed(right, np.concatenate([part.shown_bits() for part in parts], axis=1), n_trials)
