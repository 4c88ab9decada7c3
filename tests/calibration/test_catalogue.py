"""The catalogue's files: what they say is so, and of the models as they stand."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import alikely as al
from alikely.inference.chains import SamplingWarning, nuts
from alikely.metrics.cell_priors import check_prior
from studies import cards, index
from studies.cases import CASES
from studies.described import HEADINGS, described, redescribe, unwritten

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "models"
NAMES = sorted(cards.MODEL_NAMES)


def evidence(name: str, kind: str = "calibration") -> dict[str, Any]:
    return json.loads((CARDS / name / f"{kind}.json").read_text())


def test_every_model_has_a_card_and_a_case_and_no_others_have() -> None:
    assert {path.parent.name for path in CARDS.glob("*/README.md")} == set(NAMES) == set(CASES)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_tells_the_truth(name: str, tmp_path: Path) -> None:
    """The card's graph, parameters and priors are those of the model that is built."""
    model = CASES[name].example()
    text = (CARDS / name / "README.md").read_text()
    # The order of nodes in a plate varies from process to process.
    drawn = text.partition("```mermaid\n")[2].partition("\n```")[0]
    assert sorted(drawn.splitlines()) == sorted(pm.model_to_mermaid(model).strip().splitlines())
    card = json.loads((CARDS / name / "model.json").read_text())
    assert described(name, model, card) == card, f"python -m studies run {name}"
    assert set(card["parameters"]) == {variable.name for variable in model.free_RVs}
    assert card["deterministics"] == [variable.name for variable in model.deterministics]
    assert card["dims"] == list(model.coords)
    assert list(card["data"]) == [variable.name for variable in model.data_vars]
    # Nothing is left to bring up to date.
    shutil.copytree(CARDS / name, tmp_path / name)
    redescribe(tmp_path / name, name, model)
    for file in ("README.md", "model.json"):
        assert (tmp_path / name / file).read_text() == (CARDS / name / file).read_text()


def test_the_card_of_the_copy_model_has_the_priors_of_the_exact_draws() -> None:
    card = json.loads((CARDS / "copying" / "model.json").read_text())
    assert card["priors"] == {k: f"Beta({a:g}, {b:g})" for k, (a, b) in check_prior(None).items()}


@pytest.mark.parametrize("name", NAMES)
def test_all_of_the_card_is_written(name: str) -> None:
    assert unwritten(CARDS / name) == []
    found = re.findall(r"^## (.+)$", (CARDS / name / "README.md").read_text(), re.MULTILINE)
    assert [heading for heading in found if heading in HEADINGS] == list(HEADINGS)
    card = json.loads((CARDS / name / "model.json").read_text())
    assert card["name"] == name
    assert all(field["meaning"] for field in card["data"].values())
    assert all(re.match(r"10\.\d{4,}/\S+$", doi) for doi in card["references"])


@pytest.mark.parametrize("name", ["README.md", *(f"{name}/README.md" for name in NAMES)])
def test_names_and_files_that_a_card_speaks_of_exist(name: str) -> None:
    text = (CARDS / name).read_text()
    for dotted in set(re.findall(r"\b(?:alikely|al)((?:\.[A-Za-z_]\w*)+)", text)):
        spoken: Any = al
        for part in dotted[1:].split("."):
            # Whether another test has imported a private module makes no difference.
            assert part in dir(spoken), dotted
            spoken = getattr(spoken, part)
    for file in set(re.findall(r"\bsrc/[\w/.]*\w", text)):
        assert (ROOT / file).exists(), file


def test_a_changed_model_changes_its_card_but_not_what_people_wrote(tmp_path: Path) -> None:
    folder = shutil.copytree(CARDS / "copying", tmp_path / "copying")
    before = {file: (folder / file).read_text() for file in ("README.md", "model.json")}
    model = al.models.copying([100, 20, 20, 20], priors={"p_a": (2, 3)})
    with model:
        pm.Normal("shift", 0, 1)
    redescribe(folder, "copying", model)
    card, content = (folder / "README.md").read_text(), (folder / "model.json").read_text()
    assert "shift([shift ~ Normal])" in card
    assert card.partition("```mermaid")[0] == before["README.md"].partition("```mermaid")[0]
    old, new = json.loads(before["model.json"]), json.loads(content)
    assert new["priors"] == {
        "p_a": "Beta(2, 3)", "u": "Beta(0.5, 0.5)", "v": "Beta(0.5, 0.5)", "shift": "Normal(0, 1)",
    }  # fmt: skip
    assert new["parameters"] == old["parameters"] | {"shift": {"dims": []}}
    assert {k: new[k] for k in ("question", "when", "data", "references")} == {
        k: old[k] for k in ("question", "when", "data", "references")
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_evidence_is_of_the_model_as_it_stands(name: str) -> None:
    kinds = [evidence(name, kind) for kind in ("calibration", "reference")]
    assert kinds[0]["density"] == kinds[1]["density"]
    assert cards.is_of(kinds[0], name), (
        f"{name} says something else: recalibrate, python -m studies run {name}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_is_whole_and_says_what_the_card_says(name: str) -> None:
    found = evidence(name)
    assert found["n_simulations"] >= max(CASES[name].n, 200)
    rows = pd.DataFrame(found["quantities"])
    posterior = rows[rows["school"] == "posterior"]
    case = CASES[name]
    assert set(posterior["quantity"]) == {*case.quantities, *case.derived, "log_likelihood"}
    assert found["passed"] == bool(posterior["inside_all"].all())
    # Calibrated ranks are also calibrated intervals.
    for level in (50, 80, 95):
        away = (posterior[f"coverage_{level}"] - level / 100).abs()
        assert (away <= 4 * posterior[f"coverage_{level}_mcse"]).all()
    assert cards.card_section(found) in (CARDS / name / "README.md").read_text()
    assert CASES[name].words == found["design"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_short_fit_reproduces_the_reference(name: str) -> None:
    """Quantiles, within 4 Monte-Carlo errors of both."""
    case, stated, n_draws = CASES[name], evidence(name, "reference"), 2_000
    model = case.example()
    for variable in model.data_vars:
        np.testing.assert_allclose(variable.get_value(), stated["data"][variable.name])
    with warnings.catch_warnings():
        # Short chains may be told to go on; their errors know of it.
        warnings.simplefilter("ignore", SamplingWarning)
        posterior = nuts(model, n_draws, rng=2)["posterior"].to_dataset()
    assert set(stated["figures"]) == set(case.quantities)
    for quantity, figures in stated["figures"].items():
        draws = cards.one_element(posterior[quantity])
        for p in cards.QUANTILES:
            # By the share of draws below: its error is better known than that of a quantile.
            below = (draws <= figures[f"q{100 * p:g}"]).astype(float)
            ess = float(azs.ess(below.to_dataset(name="x"))["x"])
            error = np.sqrt(p * (1 - p) / ess)
            # The reference's own error, in draws of the same quality.
            error *= np.sqrt(1 + n_draws / stated["n_draws"])
            assert float(below.mean()) == pytest.approx(p, abs=4 * error), (quantity, p)


def test_the_index_is_made_by_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    # That evidence is of the models as they stand is asked for each, above and of its branches.
    monkeypatch.setattr(index, "is_of", lambda *_: True)
    assert (CARDS / "README.md").read_text() == index.index_text(CARDS)
    assert (CARDS / index.FIGURE).stat().st_size > 10_000


def test_the_default_interval_keeps_its_promise() -> None:
    study = pd.read_csv(CARDS / index.STUDY)
    assert len(study) == 88 * 10 * 3
    summary = al.calibration.coverage_summary(study).set_index("method")
    assert summary.loc["posterior", "least_coverage"] >= 0.93
    assert summary.loc["posterior", "mean_abs_error"] <= 0.012
    assert summary.index[0] == "posterior"


@pytest.mark.parametrize(
    "changed",
    [
        lambda: al.models.copying([100, 20, 20, 20], priors={"p_a": (1, 1.001)}),
        lambda: al.models.copying([100, 20, 20, 21]),
        lambda: al.models.copying([100, 20, 20, 20], independent=True),
    ],
)
def test_a_changed_model_has_another_density(changed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A prior, data and parameters count; how it is written does not."""
    found = evidence("copying")
    case = CASES["copying"]

    def written_otherwise() -> pm.Model:
        with pm.Model() as model:
            cells = np.array([[100, 20, 20, 20]])
            p = pm.Beta("p", 1, 1, shape=1)
            u, v = (pm.Beta(name, 0.5, 0.5, shape=1) for name in "uv")
            both = [p * u, p * (1 - u), (1 - p) * v, (1 - p) * (1 - v)]
            pm.Multinomial("x", n=cells.sum(axis=1), p=pm.math.stack(both, axis=-1), observed=cells)
        return model

    monkeypatch.setitem(CASES, "copying", case._replace(example=written_otherwise))
    assert cards.is_of(found, "copying")
    monkeypatch.setitem(CASES, "copying", case._replace(example=changed))
    assert not cards.is_of(found, "copying")
