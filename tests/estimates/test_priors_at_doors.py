"""Priors that a front door passes on to its model, and remembers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pymc as pm
import pytest

import alikely as al

OWN = {
    "fit_cohort": {"level_mean": pm.Normal.dist(1, 1)},
    "fit_spectrum": {"interaction_sd": 0.2},
    "fit_observers": {"ability_sd": (4, 16)},
}
TEXTS = {
    "fit_cohort": "Normal(1, 1)",
    "fit_spectrum": "HalfNormal(0.2)",
    "fit_observers": "Gamma(4, 16)",
}


def call(door: str, priors: Any, **options: Any) -> Any:
    noise = al.load_example().select(condition="noise")
    options = {"n_draws": 40, "rng": 1, "priors": priors} | options
    if door == "fit_spectrum":
        spectrum = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
        return al.fit_spectrum(spectrum, 2, **options)
    return getattr(al, door)(noise, **options)


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
@pytest.mark.parametrize("door", OWN)
def test_doors_pass_priors_on_and_remember_all(door: str, tmp_path: Path) -> None:
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
