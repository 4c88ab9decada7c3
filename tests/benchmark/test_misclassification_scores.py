"""Scores of misclassification agreement: bias, coverage, and notes on few errors."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from scipy import special

import alikely as al
from alikely.benchmark.decomposition import pair_contrasts
from alikely.metrics.errors import misclassification_agreement

Figure = Callable[[str], None]
K, HARD = 16, 0.8
AGREEMENT = "misclassification_agreement"
# Ability minus the mean of humans, and proportion of errors that follow the image's lure.
MODELS = ((0.0, 0.5), (0.2, 0.35), (-0.2, 0.2), (0.2, 0.35))


class Study:
    """Images with one lure each; humans follow it or confuse classes, each in a different way."""

    def __init__(self, accuracy: float) -> None:
        rng = np.random.default_rng(0)
        confused = rng.dirichlet(np.full(K, 0.5), K) * (1 - np.eye(K))
        self.confused = confused / confused.sum(axis=1, keepdims=True)
        self.level = special.ndtri(accuracy)

    def images(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        truth = rng.integers(0, K, n)
        lure = (self.confused[truth].cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
        return truth, rng.standard_normal(n), lure

    def person(self, rng: np.random.Generator) -> tuple[float, float, np.ndarray]:
        ability, follows = rng.standard_normal(2)
        return 0.3 * ability, np.clip(0.5 + 0.15 * follows, 0, 1), rng.dirichlet(np.full(K, 0.5))

    def models(self) -> list[tuple[float, float, np.ndarray]]:
        return [(ability, follows, np.full(K, 1 / K)) for ability, follows in MODELS]

    def errors(self, who: tuple, images: tuple[np.ndarray, ...]) -> np.ndarray:
        """Probability of each incorrect label, (image, class)."""
        (ability, follows, bias), (truth, hard, lure) = who, images
        rows = np.arange(len(truth))
        wrong = special.ndtr((HARD * hard - self.level - ability) / np.sqrt(1 - HARD**2))
        own = 0.8 * self.confused[truth] + 0.2 * bias
        own[rows, truth] = 0
        label = (1 - follows) * own / own.sum(axis=1, keepdims=True)
        label[rows, lure] += follows
        return wrong[:, None] * label

    def scores(self, n: int = 4_000, n_humans: int = 150) -> np.ndarray:
        """Agreement of expected joint errors of each model with humans, then human-human."""
        rng = np.random.default_rng(1)
        images = self.images(n, rng)
        people = [self.errors(self.person(rng), images) for _ in range(n_humans)]
        models = [self.errors(who, images) for who in self.models()]
        pairs = [[(p, m) for p in people] for m in models]
        pairs.append(list(itertools.combinations(people[:40], 2)))
        return np.array(
            [np.mean([misclassification_agreement(p.T @ q) for p, q in own]) for own in pairs]
        )

    def benchmark(self, n_humans: int, n: int, rng: np.random.Generator) -> al.Trials:
        images = self.images(n, rng)
        everyone = [self.person(rng) for _ in range(n_humans)] + self.models()
        frames = []
        for number, who in enumerate(everyone):
            p = self.errors(who, images)
            p[np.arange(n), images[0]] = 1 - p.sum(axis=1)
            said = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
            kind = "human" if number < n_humans else "model"
            frame = {"item": np.arange(n).astype(str), "truth": images[0].astype(str)}
            frame |= {"response": said.astype(str), "observer": f"o{number}", "kind": kind}
            frames.append(pd.DataFrame(frame))
        return al.Trials.from_table(pd.concat(frames), classes=[str(k) for k in range(K)])


def scored(trials: al.Trials, metric: str = AGREEMENT) -> pd.DataFrame:
    scores = al.benchmark_scores(trials, metric=metric, n_resamples=2, n_draws=0, rng=1)
    return scores.summary("both", level="overall").set_index("system")


def test_few_joint_errors_and_biased_rows_are_noted() -> None:
    few, many = (Study(p).benchmark(4, 160, np.random.default_rng(4)) for p in (0.9, 0.6))
    told = "a pair has fewer than 20 joint errors: intervals may be too narrow"
    assert scored(few)["note"].str.contains(told).all()
    assert not scored(many)["note"].str.contains("joint errors").any()
    rows = scored(many, "error_similarity")["note"]
    assert rows.str.contains("the bias exceeds the interval").all()
    assert not scored(many, "error_consistency")["note"].str.contains("few").any()


@pytest.mark.slow
@pytest.mark.parametrize(("accuracy", "n_humans"), [(0.7, 4), (0.9, 10)])
def test_intervals_cover_with_enough_joint_errors(
    accuracy: float, n_humans: int, figure: Figure
) -> None:
    """With few joint errors, the center is nearer to the true value than the estimate."""
    study, rng = Study(accuracy), np.random.default_rng(5)
    truth, n_sets = study.scores(), 60
    m = len(MODELS)
    pairs = pair_contrasts(m)
    held, off, raw = np.empty((3, n_sets, m + 1))
    apart = np.empty(n_sets)
    for s in range(n_sets):
        scores = al.benchmark_scores(
            study.benchmark(n_humans, 160, rng), metric=AGREEMENT, n_draws=0
        )
        found = scores.summary("both", level="overall", columns="all").iloc[: m + 1]
        off[s], raw[s] = found["interval_center"] - truth, found["estimate"] - truth
        lower, upper = found["analytic_ci95_lb"], found["analytic_ci95_ub"]
        held[s] = (lower <= truth) & (truth <= upper)
        table = al.benchmark.differences(scores)
        bounds = table[["simultaneous_ci95_lb", "simultaneous_ci95_ub"]].to_numpy()
        apart[s] = ((bounds[:, 0] <= pairs @ truth[:m]) & (pairs @ truth[:m] <= bounds[:, 1])).all()
    error = held[:, :m].mean(axis=1).std(ddof=1) / np.sqrt(n_sets)
    one = np.sqrt(0.95 * 0.05 / n_sets)
    figure(
        f"agreement of labels, accuracy {accuracy}: held {held[:, :m].mean():.3f} (+- "
        f"{error:.3f}), human-human {held[:, m].mean():.3f}, differences {apart.mean():.3f} (+- "
        f"{one:.3f}); bias of centers {off.mean():+.3f}, of estimates {raw.mean():+.3f}"
    )
    if accuracy > 0.8:
        assert np.abs(off.mean(axis=1)).mean() < np.abs(raw.mean(axis=1)).mean()
        assert abs(off.mean()) < abs(raw.mean()) / 2
        return
    assert held[:, :m].mean() > 0.95 - 4 * error
    assert min(held[:, m].mean(), apart.mean()) > 0.95 - 4 * one
