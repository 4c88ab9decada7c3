"""Random small studies through every verb, with warnings as errors.

Ten of them in each check; ``ALIKELY_SOAK=200 pytest -m slow tests/inputs/test_soak.py`` for more.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import worlds as w
from cases import Case, cli, outcome

N_STUDIES = int(os.environ.get("ALIKELY_SOAK", "10"))
QUICK = "--n-resamples 30 --n-draws 30 --quiet"
VERBS = {
    "compare": f"{QUICK} --n-null 30",
    "matrix": "--n-resamples 10 --quiet",
    "margins": f"--margins m.csv {QUICK}",
    "benchmark": f"{QUICK} --human-ids per_dataset --missing available",
    "spectrum": "--reference c0 --quiet",
    "choose": "--n 6 --quiet",
    "report": f"{QUICK} --n-null 30",
}
# A page takes as long as all others together: of the studies for which it is drawn.
SELDOM = "report"


def study(rng: np.random.Generator) -> pd.DataFrame:
    """A study such as somebody may have: small, with gaps, near the floor or the ceiling."""
    n_humans, n_models = rng.integers(1, 5), rng.integers(1, 4)
    n_items, n_classes = rng.integers(2, 13), rng.integers(2, 5)
    n_conditions, n_sets = rng.integers(1, 4), rng.integers(1, 3)
    n_repeats = 1 + (rng.random() < 0.2)
    ease = rng.choice([0.02, 0.3, 0.6, 0.9, 1.0])
    gaps, silence = rng.choice([0, 0, 0.2], 2)
    people = [f"p{i}" for i in range(n_humans)]
    models = [rng.choice([f"net {i}", f"$m_{i}$", f"模型{i}"]) for i in range(n_models)]
    rows = []
    for dataset in range(n_sets):
        truth = rng.integers(n_classes, size=n_items)
        for condition in range(n_conditions):
            for observer in [*people, *models]:
                for repeat in range(n_repeats):
                    for item in range(n_items):
                        right = rng.random() < ease
                        answer = truth[item] if right else rng.integers(n_classes)
                        rows.append(
                            (
                                f"d{dataset}", f"c{condition}", observer,
                                "human" if observer in people else "model", f"i{item}", repeat,
                                f"k{truth[item]}",
                                None if rng.random() < silence else f"k{answer}",
                            )
                        )  # fmt: skip
    columns = ["dataset", "condition", "observer", "kind", "item", "repeat", "truth", "response"]
    frame = pd.DataFrame(rows, columns=columns)
    return frame[rng.random(len(frame)) >= gaps]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_STUDIES))
def test_random_studies(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(seed)
    frame = study(rng)
    models = frame[(frame["kind"] == "model") & (frame["repeat"] == 0)]
    margins = models[["observer", "dataset", "condition", "item", "truth"]].assign(
        margin=rng.normal(size=len(models)).round(rng.integers(0, 4))
    )
    files = {"t.csv": w.text(frame), "m.csv": w.text(margins)}
    drawn = rng.choice(list(VERBS))
    for verb, options in VERBS.items():
        if verb == SELDOM != drawn:
            continue
        out = " --out o/p.html" if verb == SELDOM else " --out o" if verb == drawn else ""
        how, found = outcome(Case(verb, "", cli(f"{verb} t.csv {options}{out}", files)))
        assert how != "crashed", (verb, found)
