"""Data of the golden tables, from NumPy streams that never change (NEP 19)."""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd

import alikely as al

CLASSES = ("bear", "bird", "boat", "bottle", "car")


def stream(seed: int) -> np.random.RandomState:
    """Legacy generator, the only one whose streams NumPy guarantees."""
    return np.random.RandomState(seed)


@functools.cache
def example() -> al.Trials:
    """4 humans and 6 models, 160 items in 3 conditions; one condition is near the ceiling."""
    return al.load_example()


@functools.cache
def noise() -> al.Trials:
    """The condition of the example in which observers err."""
    return example().select(condition="noise")


@functools.cache
def study() -> al.Trials:
    """Three data sets of two conditions: 3 humans, 4 models, 5% missing, one model near 1."""
    rng = stream(11)
    observers = ["h1", "h2", "h3", "m1", "m2", "m3", "m4"]
    skill = [1.0, 0.6, 1.3, 0.4, 4.5, 0.9, 1.6]
    rows = []
    for dataset in ("photos", "sketches", "sounds"):
        for condition, hard in (("easy", 0.0), ("hard", 1.2)):
            ease = rng.normal(size=40) * 1.5
            truth = np.arange(40) % len(CLASSES)
            lure = (truth + 1 + rng.randint(len(CLASSES) - 1, size=40)) % len(CLASSES)
            for observer, s in zip(observers, skill, strict=True):
                correct = rng.uniform(size=40) < 1 / (1 + np.exp(-(s + ease - hard)))
                other = (truth + 1 + rng.randint(len(CLASSES) - 1, size=40)) % len(CLASSES)
                wrong = np.where(rng.uniform(size=40) < 0.5, lure, other)
                answer = np.array(CLASSES, dtype=object)[np.where(correct, truth, wrong)]
                answer[rng.uniform(size=40) < 0.05] = None
                rows += [
                    (dataset, condition, observer, f"{dataset}-{i}", CLASSES[t], a)
                    for i, (t, a) in enumerate(zip(truth, answer, strict=True))
                ]
    table = pd.DataFrame(
        rows, columns=["dataset", "condition", "observer", "item", "truth", "response"]
    )
    table["kind"] = np.where(table["observer"].str.startswith("h"), "human", "model")
    table["item"] = table["condition"] + "-" + table["item"]
    return al.Trials.from_table(table, classes=list(CLASSES))


@functools.cache
def repeated() -> al.Trials:
    """60 items, shown twice to two humans and once to a model."""
    rng = stream(12)
    ease = rng.normal(size=60) * 1.5 + 0.5
    rows = []
    for observer, kind, n in (("h1", "human", 2), ("h2", "human", 2), ("m1", "model", 1)):
        stable = rng.normal(size=60)
        for repeat in range(n):
            correct = rng.uniform(size=60) < 1 / (1 + np.exp(-(ease + stable)))
            rows += [(observer, kind, f"i{i}", repeat, bool(correct[i])) for i in range(60)]
    table = pd.DataFrame(rows, columns=["observer", "kind", "item", "repeat", "correct"])
    return al.Trials.from_table(table)


@functools.cache
def board() -> al.Trials:
    """24 models in 4 families, 200 questions with 4 options."""
    rng = stream(13)
    ease = rng.normal(size=200)
    family = np.arange(24) // 6
    shared = rng.normal(size=(4, 200)) * 1.2
    logits = 0.4 + rng.normal(size=24)[:, None] * 0.4 + ease + shared[family]
    correct = rng.uniform(size=(24, 200)) < 1 / (1 + np.exp(-logits))
    truth = rng.randint(4, size=200)
    lure = (truth + 1 + (np.arange(200) % 3)) % 4
    other = (truth + 1 + rng.randint(3, size=(24, 200))) % 4
    wrong = np.where(rng.uniform(size=(24, 200)) < 0.6, lure, other)
    letters = np.array(list("ABCD"))
    return al.Trials.from_arrays(
        letters[np.where(correct, truth, wrong)],
        letters[truth],
        observers=[f"model-{k:02d}" for k in range(24)],
        kind=["model"] * 24,
        classes=list("ABCD"),
    )


@functools.cache
def families_of_board() -> dict[str, str]:
    """True family of each model of `board`."""
    return {f"model-{k:02d}": f"family-{k // 6}" for k in range(24)}


@functools.cache
def options() -> al.Trials:
    """4 models with probabilities of 4 options, 120 questions."""
    rng = stream(14)
    liked = rng.normal(size=(4, 120, 4)) + rng.normal(size=(120, 4))
    truth = (liked.mean(axis=0) + rng.normal(size=(120, 4))).argmax(axis=1)
    p = np.exp(liked) / np.exp(liked).sum(axis=2, keepdims=True)
    letters = np.array(list("ABCD"))
    trials = al.Trials.from_arrays(letters[p.argmax(axis=2)], letters[truth], classes=list("ABCD"))
    return trials.with_probabilities(p)


@functools.cache
def reading() -> al.Trials:
    """5 readers and an AI, 60 cases in two modalities, 4% of ratings missing."""
    rng = stream(15)
    ease = rng.normal(size=60)
    truth = np.array(["benign", "malignant"])[np.arange(60) % 2]
    rows = []
    for modality, gain in (("ct", 0.8), ("mri", 1.4)):
        for observer in ("r1", "r2", "r3", "r4", "r5", "AI"):
            correct = rng.uniform(size=60) < 1 / (1 + np.exp(-(gain + ease + rng.normal() * 0.4)))
            said = np.where(correct, truth, np.where(truth == "benign", "malignant", "benign"))
            said = said.astype(object)
            if observer != "AI":
                said[rng.uniform(size=60) < 0.04] = None
            rows += [
                (modality, observer, "model" if observer == "AI" else "human", f"case{i}",
                 truth[i], said[i])
                for i in range(60)
            ]  # fmt: skip
    table = pd.DataFrame(
        rows, columns=["condition", "observer", "kind", "item", "truth", "response"]
    )
    return al.Trials.from_table(table, classes=["benign", "malignant"])


@functools.cache
def margins() -> tuple[al.Trials, pd.DataFrame]:
    """8 humans, 50 items of 5 classes, and margins of a similar and a dissimilar model."""
    rng = stream(16)
    strength = rng.normal(size=50)
    rows = []
    for k in range(8):
        signal = 0.8 + 0.9 * strength + 0.3 * rng.normal(size=50)
        correct = rng.uniform(size=50) < 1 / (1 + np.exp(-1.7 * signal))
        other = (np.arange(50) + 1 + rng.randint(4, size=50)) % 5
        said = np.where(correct, np.arange(50) % 5, other)
        rows += [(f"h{k}", "human", f"i{i}", CLASSES[i % 5], CLASSES[said[i]]) for i in range(50)]
    table = pd.DataFrame(rows, columns=["observer", "kind", "item", "truth", "response"])
    parts = []
    for name, rho in (("near", 0.8), ("far", 0.2)):
        margin = rho * strength + np.sqrt(1 - rho**2) * rng.normal(size=50)
        parts.append(
            pd.DataFrame({"observer": name, "item": [f"i{i}" for i in range(50)], "margin": margin})
        )
    return al.Trials.from_table(table, classes=list(CLASSES)), pd.concat(parts, ignore_index=True)


@functools.cache
def cues() -> al.Trials:
    """Two humans that follow shape and two models that follow texture, 80 conflicting items."""
    rng = stream(17)
    shape = rng.randint(4, size=80)
    texture = (shape + 1 + rng.randint(3, size=80)) % 4
    rate = np.array([0.1, 0.2, 0.7, 0.9])[:, None]
    said = np.where(rng.uniform(size=(4, 80)) < rate, texture, shape)
    said = np.where(rng.uniform(size=(4, 80)) < 0.2, rng.randint(4, size=(4, 80)), said)
    names = np.array(CLASSES[:4], dtype=object)
    pairs = list(zip(shape, texture, strict=True))
    return al.Trials.from_arrays(
        names[said],
        names[shape],
        classes=list(names),
        item=[f"{names[s]}{i}-{names[t]}{i}" for i, (s, t) in enumerate(pairs)],
        observers=["h1", "h2", "m1", "m2"],
        kind=["human", "human", "model", "model"],
    )


@functools.cache
def profiles() -> pd.DataFrame:
    """Twelve entries of 8 systems in 4 families of 2 super-families."""
    rng = stream(18)
    values = rng.normal(size=(8, 12))
    values += np.repeat(rng.normal(size=(4, 12)), 2, axis=0) + np.repeat(
        rng.normal(size=(2, 12)), 4, axis=0
    )
    return pd.DataFrame(values, index=list("abcdefgh"))
