"""Small studies for the cases of inputs."""

from __future__ import annotations

import functools
import io
import zipfile
from typing import Any

import numpy as np
import pandas as pd

import alikely as al

# Options of every call: sufficient for intervals, in milliseconds.
FEW: dict[str, Any] = {"n_resamples": 50, "n_draws": 50, "rng": 1}


@functools.cache
def _drawn() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    classes = np.array(["bear", "car", "dog"])
    rows, items = [], [f"img{i:02d}" for i in range(24)]
    truth = rng.integers(3, size=24)
    hard = rng.normal(0, 0.15, 24)
    for condition, easy in (("clean", 0.85), ("noisy", 0.6)):
        for name in ("anna", "ben", "carl", "net_a", "net_b"):
            right = rng.random(24) < np.clip(easy + hard, 0.1, 0.95)
            wrong = (truth + rng.integers(1, 3, 24)) % 3
            kind = "model" if name.startswith("net") else "human"
            frame = pd.DataFrame(
                {"observer": name, "kind": kind, "condition": condition}, range(24)
            )
            response = classes[np.where(right, truth, wrong)]
            rows.append(frame.assign(item=items, truth=classes[truth], response=response))
    return pd.concat(rows, ignore_index=True)


def table(**columns: Any) -> pd.DataFrame:
    """Three humans and two models, 24 images in two conditions; columns are added or replaced."""
    return _drawn().assign(**columns)


def text(frame: pd.DataFrame | None = None, **how: Any) -> str:
    """The table as csv."""
    stream = io.StringIO()
    (table() if frame is None else frame).to_csv(stream, index=False, **how)
    return stream.getvalue()


def renamed(column: str, **names: str) -> pd.DataFrame:
    """The table with other labels in a column."""
    return table().replace({column: names})


@functools.cache
def trials() -> al.Trials:
    """The table as trials."""
    return al.Trials.from_table(table())


@functools.cache
def correct() -> al.Trials:
    """Only correctness: four observers, 30 trials."""
    right = np.random.default_rng(2).random((4, 30)) < 0.7
    return al.Trials.from_correct(right.astype(int), observers=["a", "b", "c", "d"])


@functools.cache
def result() -> al.Result:
    """Error consistency of humans and models."""
    return al.error_consistency(trials(), "human-model", **FEW)


@functools.cache
def scores() -> al.Result:
    """Scores of the models."""
    return al.benchmark_scores(trials(), **FEW)


@functools.cache
def two_humans() -> al.Result:
    """Scores of the models against two humans."""
    return al.benchmark_scores(trials().select(observer=["anna", "ben", "net_a", "net_b"]), **FEW)


@functools.cache
def matrix() -> al.Result:
    """Error consistency of all pairs, by condition."""
    return al.pairwise_matrix(trials())


@functools.cache
def margins() -> pd.DataFrame:
    """Margins of the models."""
    rng = np.random.default_rng(3)
    of_models = table().query("kind == 'model'")
    found = of_models[["observer", "condition", "item"]].reset_index(drop=True)
    return found.assign(margin=rng.normal(size=len(found)))


def csv(**columns: Any) -> str:
    """The table as csv, with columns added or replaced."""
    return text(table(**columns))


def ren(column: str, **names: str) -> str:
    """The table as csv, with other labels in a column."""
    return text(renamed(column, **names))


def sub(old: str, new: str, count: int = -1) -> str:
    """The table as csv, with one text replaced."""
    return text().replace(old, new, count)


def lines(*rows: str) -> str:
    """Concatenate the rows of a file."""
    return "\n".join(rows) + "\n"


# A file of two observers and two items.
ONE = lines("observer,item,correct", "a,1,1", "a,2,0", "b,1,1", "b,2,1")


def zipped(**members: str | bytes) -> bytes:
    """An archive; two underscores in member names mean a dot."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return stream.getvalue()


def parquet(frame: pd.DataFrame) -> bytes:
    """A table as parquet."""
    stream = io.BytesIO()
    frame.to_parquet(stream)
    return stream.getvalue()


def odd(**names: str) -> al.Result:
    """A result of observers with other names."""
    renamed_trials = al.Trials.from_table(renamed("observer", **names))
    return al.error_consistency(renamed_trials, "human-model", **FEW)
