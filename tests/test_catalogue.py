"""The catalogue's files: what they say is so, and of the models as they stand."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import pytest

import alikely as al
from alikely.calibration import cards, index
from alikely.calibration.cases import CASES
from alikely.sampling import SamplingWarning, nuts

CARDS = Path(__file__).parents[1] / "models"
NAMES = sorted(al.models.__all__)


def evidence(name: str, kind: str = "calibration") -> dict[str, Any]:
    return json.loads((CARDS / name / f"{kind}.json").read_text())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["calibration", "reference"])
def test_evidence_is_of_the_model_as_it_stands(name: str, kind: str) -> None:
    assert evidence(name, kind)["text"] == cards.model_digest(name), (
        f"the text of {name} has changed: recalibrate, python -m alikely.calibration models/{name}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_is_whole_and_says_what_the_card_says(name: str) -> None:
    found = evidence(name)
    least = 1_000 if name in ("copying", "independence") else 200
    assert found["n_simulations"] >= least
    rows = pd.DataFrame(found["quantities"])
    posterior = rows[rows["school"] == "posterior"]
    derived = {"error_divergence"} if name == "error_distributions" else set()
    assert set(posterior["quantity"]) == {*CASES[name].quantities, "log_likelihood", *derived}
    assert found["passed"] == bool(posterior["inside_all"].all())
    # Calibrated ranks are also calibrated intervals.
    for level in (50, 80, 95):
        away = (posterior[f"coverage_{level}"] - level / 100).abs()
        assert (away <= 4 * posterior[f"coverage_{level}_mcse"]).all()
    assert cards.card_section(found) in (CARDS / name / "README.md").read_text()
    assert CASES[name].words == found["design"]


@pytest.mark.parametrize("name", NAMES)
def test_a_short_fit_reproduces_the_reference(name: str) -> None:
    """Quantiles, within 4 Monte-Carlo errors of both."""
    case, stated = CASES[name], evidence(name, "reference")
    model = case.example()
    for variable in model.data_vars:
        np.testing.assert_allclose(variable.get_value(), stated["data"][variable.name])
    with warnings.catch_warnings():
        # Short chains may be told to go on; their errors know of it.
        warnings.simplefilter("ignore", SamplingWarning)
        posterior = nuts(model, 4_000, rng=2)["posterior"].to_dataset()
    assert set(stated["figures"]) == set(case.quantities)
    for quantity, figures in stated["figures"].items():
        draws = cards.one_element(posterior[quantity])
        for p in cards.QUANTILES:
            # By the share of draws below: its error is better known than that of a quantile.
            below = (draws <= figures[f"q{100 * p:g}"]).astype(float)
            ess = float(azs.ess(below.to_dataset(name="x"))["x"])
            error = np.sqrt(p * (1 - p) / ess)
            # The reference's own error, in draws of the same quality.
            error *= np.sqrt(1 + 4_000 / stated["n_draws"])
            assert float(below.mean()) == pytest.approx(p, abs=4 * error), (quantity, p)


def test_the_index_is_made_by_the_code() -> None:
    assert (CARDS / "README.md").read_text() == index.index_text(CARDS)
    assert (CARDS / index.FIGURE).stat().st_size > 10_000


def test_the_default_interval_keeps_its_promise() -> None:
    study = pd.read_csv(CARDS / index.STUDY)
    assert len(study) == 88 * 10 * 3
    summary = al.coverage_summary(study).set_index("method")
    assert summary.loc["posterior", "least_coverage"] >= 0.93
    assert summary.loc["posterior", "mean_abs_error"] <= 0.012
    assert summary.index[0] == "posterior"


def test_a_changed_model_has_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers and helpers count; comments, docstrings and other models do not."""
    folder = tmp_path / "models"
    shutil.copytree(Path(str(al.models.__file__)).parent, folder)
    monkeypatch.setattr(cards.models, "__file__", str(folder / "__init__.py"))

    def changed(file: str, old: str, new: str) -> set[str]:
        path = folder / file
        text = path.read_text()
        assert old in text
        before = {name: cards.model_digest(name) for name in NAMES}
        path.write_text(text.replace(old, new, 1))
        after = {name for name in NAMES if cards.model_digest(name) != before[name]}
        path.write_text(text)
        return after

    assert changed("margins.py", '"strength_mean", 1, 2', '"strength_mean", 1, 3') == {
        "item_margins"
    }
    assert changed("_strengths.py", "FLOOR = 1e-6", "FLOOR = 1e-5") == {
        "item_margins", "observer_margins", "class_criteria",
    }  # fmt: skip
    assert changed("copying.py", "# EC = c f", "# Another comment") == set()
    assert (
        changed("copying.py", "Signed copy model of pairs", "Another docstring of pairs") == set()
    )
