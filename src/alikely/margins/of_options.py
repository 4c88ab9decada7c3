"""Decision margins of systems whose trials carry how probable each option was to them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from alikely.data.probabilities import PROBABILITY
from alikely.data.trials import Trials

__all__ = ["margins_of_options"]

# Probabilities that are looked at together.
CHUNK = 4_000_000


def margins_of_options(trials: Trials) -> pd.DataFrame:
    """Margins from the probabilities of options that trials carry."""
    data = trials.data
    if PROBABILITY not in data:
        raise ValueError(
            "these trials have no probabilities of options, which margins could come from; add "
            "them with trials.with_probabilities(...), or give a table of margins or logits"
        )
    names = ("dataset", "condition", "item")
    places = pd.DataFrame({name: data[name].values for name in names})
    again = places.duplicated().to_numpy()
    if again.any():
        raise ValueError(
            f"item {places['item'][int(np.argmax(again))]!r} came back, and has several margins; "
            "choose one repeat: trials.select(repeat=0)"
        )
    p, truth = data[PROBABILITY].data, data["truth"].values
    n, n_trials, k = p.shape
    margin = np.empty((n, n_trials))
    step = max(1, CHUNK // (n * k))
    for start in range(0, n_trials, step):
        part = slice(start, start + step)
        others = np.array(p[:, part], dtype=np.float64)
        right = truth[part][None, :, None]
        own = np.take_along_axis(others, right, axis=2)[..., 0]
        np.put_along_axis(others, right, -1.0, axis=2)
        with np.errstate(divide="ignore"):
            margin[:, part] = (np.log(own) - np.log(others.max(axis=2))) / np.sqrt(2)
    if np.isinf(margin).any():
        observer, trial = np.argwhere(np.isinf(margin))[0]
        raise ValueError(
            f"the right option of item {places['item'][trial]!r}, or each other one, has "
            f"probability 0 for {trials.observers[observer]!r}, which makes its margin infinite; "
            "store more digits, or give logits"
        )
    who, what = np.nonzero(~np.isnan(margin))
    found = {"observer": np.array(trials.observers, dtype=object)[who]}
    found |= {name: places[name].to_numpy()[what] for name in names}
    return pd.DataFrame(found | {"margin": margin[who, what]})
