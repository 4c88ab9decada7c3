"""Priors that a front door passes on to its model, and remembers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import alikely as al
from alikely.benchmark import cohorts

OWN = {
    "fit_cohort": {"level_mean": pm.Normal.dist(1, 1)},
    "fit_spectrum": {"interaction_sd": 0.2},
    "fit_observers": {"ability_sd": (4, 16)},
    "misclassification_agreement": {"copy_probability": pm.Beta.dist(2, 2)},
    "error_similarity": {"spread": 1.0},
    "decision_margin_consistency": {"rho": pm.Uniform.dist(0, 1)},
}
TEXTS = {
    "fit_cohort": "Normal(1, 1)",
    "fit_spectrum": "HalfNormal(0.2)",
    "fit_observers": "Gamma(4, 16)",
    "misclassification_agreement": "Beta(2, 2)",
    "error_similarity": "HalfNormal(1)",
    "decision_margin_consistency": "Uniform(0, 1)",
}


def call(door: str, priors: Any, **options: Any) -> Any:
    noise = al.load_example().select(condition="noise")
    options = {"n_draws": 40, "rng": 1, "priors": priors} | options
    if door == "fit_spectrum":
        spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
        return al.fit_spectrum(spectrum, 2, **options)
    if door.startswith("fit"):
        return getattr(al, door)(noise, **options)
    if door == "decision_margin_consistency":
        margins = {"observer": ["net"] * 160, "dataset": noise.data["dataset"].values.tolist()}
        margins |= {"condition": ["noise"] * 160, "item": noise.data["item"].values.tolist()}
        margins |= {"margin": np.random.default_rng(1).normal(size=160).tolist()}
        humans = noise.select(kind="human")
        return al.decision_margin_consistency(
            humans, pd.DataFrame(margins), n_resamples=0, model="items", **options
        )
    sampled = {"sampler": "nuts"} | options
    if door == "error_similarity" and sampled["sampler"] == "nuts":
        sampled["model"] = "error_distributions"
    pair = [("human_1", "human_2")]
    return getattr(al, door)(noise, pair, n_resamples=0, **sampled)


def passing(door: str) -> Any:
    """Models of errors of 16 classes take seconds to make."""
    marks = dict.fromkeys(("misclassification_agreement", "error_similarity"), pytest.mark.slow)
    return pytest.param(door, marks=marks.get(door, ()))


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
@pytest.mark.parametrize("door", [passing(door) for door in OWN])
def test_doors_pass_priors_on_and_remember_all(
    door: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Chains of errors are their own; draws of the prior stand in for them here.
    monkeypatch.setattr("alikely.errors.chains.nuts", cohorts.nuts)  # type: ignore[attr-defined]
    given = OWN[door]
    (name,) = given
    found = call(door, given)
    tree = getattr(found, "data", found)
    texts = json.loads(tree.attrs["priors"])
    assert texts[name] == TEXTS[door]
    assert len(texts) > 1
    if tree is not found:
        found.save(tmp_path / "result.nc")
        assert json.loads(type(found).load(tmp_path / "result.nc").data.attrs["priors"]) == texts


@pytest.mark.parametrize("door", OWN)
def test_doors_refuse_unknown_names(door: str) -> None:
    (name,) = OWN[door]
    with pytest.raises(ValueError, match=re.escape(f"did you mean {name!r}?")):
        call(door, {f"{name}s": 1.0})
