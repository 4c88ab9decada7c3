"""Files of the catalog are correct and describe the current models."""

from __future__ import annotations

import functools
import inspect
import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import pymc as pm
import pytest

import alikely as al
from alikely.calibration.coverage import Coverage
from alikely.calibration.ranks import Ranks
from alikely.inference.chains import SamplingWarning, nuts
from alikely.metrics.consistency import check_prior
from studies import cards, pages
from studies.__main__ import main
from studies.cards import RANKS, in_steps, keep_ranks, kept_branches, kept_ranks, verdict
from studies.case import DEFAULT
from studies.cases import CASES
from studies.cases.copying import two_pairs

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "models"
NAMES = sorted(cards.MODEL_NAMES)
HEADINGS = [
    "Question", "Data-generating process", "Formulas", "Priors", "When not to use it", "Limits",
    "Calibration", "Graph",
]  # fmt: skip
LONG = ("cohort", "copying")
KEPT = [
    # Bands of thousands of ranks take half a minute.
    pytest.param(name, branch, marks=[pytest.mark.slow] * (name in LONG))
    for name in NAMES
    for branch in kept_branches(CARDS / name / RANKS)
]


def evidence(name: str, branch: str = DEFAULT) -> dict[str, Any]:
    found = json.loads((CARDS / name / "calibration.json").read_text())
    return found if branch == DEFAULT else found["branches"][branch]


def test_every_model_has_a_page_and_a_case() -> None:
    assert {path.parent.name for path in CARDS.glob("*/README.md")} == set(NAMES) == set(CASES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_describes_the_current_model(name: str, tmp_path: Path) -> None:
    """Graph, parameters, priors and data are documented and current."""
    model = CASES[name].example()
    text = (CARDS / name / "README.md").read_text()
    sections = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    assert [heading for heading in sections[1::2] if heading in HEADINGS] == HEADINGS
    assert all(body.strip() for body in sections[2::2])
    # The order of nodes in a plate varies from process to process.
    drawn = text.partition("```mermaid\n")[2].partition("\n```")[0]
    assert sorted(drawn.splitlines()) == sorted(pm.model_to_mermaid(model).strip().splitlines())
    card = json.loads((CARDS / name / "model.json").read_text())
    assert card["name"] == name
    assert set(card["parameters"]) == {variable.name for variable in model.free_RVs}
    assert card["deterministics"] == [variable.name for variable in model.deterministics]
    assert card["dims"] == list(model.coords)
    assert list(card["data"]) == [variable.name for variable in model.data_vars]
    assert all(field["meaning"] for field in card["data"].values())
    assert all(re.match(r"10\.\d{4,}/\S+$", doi) for doi in card["references"])
    shutil.copytree(CARDS / name, tmp_path / name)
    cards.redescribe(tmp_path / name, name, model)
    for file in ("README.md", "model.json"):
        assert (tmp_path / name / file).read_text() == (CARDS / name / file).read_text()


def test_page_of_the_copy_model_has_the_prior_of_exact_draws() -> None:
    card = json.loads((CARDS / "copying" / "model.json").read_text())
    assert card["priors"] == {k: f"Beta({a:g}, {b:g})" for k, (a, b) in check_prior(None).items()}


@pytest.mark.parametrize("name", ["README.md", *(f"{name}/README.md" for name in NAMES)])
def test_names_and_files_on_a_page_exist(name: str) -> None:
    text = (CARDS / name).read_text()
    for dotted in set(re.findall(r"\b(?:alikely|al)((?:\.[A-Za-z_]\w*)+)", text)):
        spoken: Any = al
        for part in dotted[1:].split("."):
            # The result must not depend on private modules that other tests import.
            assert part in dir(spoken), dotted
            spoken = getattr(spoken, part)
    for file in set(re.findall(r"\bsrc/[\w/.]*\w", text)):
        assert (ROOT / file).exists(), file


@pytest.mark.slow
@pytest.mark.parametrize(("name", "branch"), KEPT)
def test_evidence_follows_from_the_ranks_and_the_case(name: str, branch: str) -> None:
    stated, ranks, case = (
        evidence(name, branch), kept_ranks(CARDS / name / RANKS, branch), CASES[name].of(branch),
    )  # fmt: skip
    found = verdict(ranks)
    share = found["divergences"].pop("share")
    assert stated["divergences"].pop("share") == pytest.approx(share, rel=1e-3)
    assert found == {k: stated[k] for k in found}
    again = Ranks(ranks).summary().set_index(["method", "quantity"])
    for row in stated["quantities"]:
        of = again.loc[(row["method"], row["quantity"])]
        for column in ("p_value", "coverage_50", "coverage_80", "coverage_95"):
            assert of[column] == pytest.approx(row[column], rel=1e-3, nan_ok=True)
            if row["method"] == "posterior" and column != "p_value":
                # Calibrated ranks are also calibrated intervals.
                away = abs(row[column] - float(column[-2:]) / 100)
                assert away <= 4 * row[f"{column}_mcse"] or branch != DEFAULT
    posterior = {row["quantity"] for row in stated["quantities"] if row["method"] == "posterior"}
    assert posterior == {*case.quantities, "log_likelihood"}
    assert stated["settings"] == {k: getattr(case, k) for k in ("tune", "target_accept", "thin")}
    assert stated["design"] == case.words
    assert stated["n_simulations"] >= (max(case.n, 200) if branch == DEFAULT else 100)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "branch"), KEPT)
def test_evidence_is_of_the_current_form(name: str, branch: str) -> None:
    found = evidence(name, branch)
    assert cards.is_of(found, name, branch), f"python -m studies run {name} --branch {branch}"
    if branch == DEFAULT:
        reference = json.loads((CARDS / name / "reference.json").read_text())
        assert reference["density"] == found["density"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_short_fit_reproduces_the_reference(name: str) -> None:
    """Compare quantiles within 4 Monte Carlo errors of both."""
    case, n_draws = CASES[name], 1_000
    stated = json.loads((CARDS / name / "reference.json").read_text())
    model = case.example()
    for variable in model.data_vars:
        np.testing.assert_allclose(variable.get_value(), stated["data"][variable.name])
    with warnings.catch_warnings():
        # Short chains may be extended, which their errors take into account.
        warnings.simplefilter("ignore", SamplingWarning)
        posterior = nuts(model, n_draws, rng=2)["posterior"].to_dataset()
    assert set(stated["figures"]) == set(case.quantities)
    for quantity, figures in stated["figures"].items():
        draws = cards.one_element(posterior[quantity])
        for p in cards.QUANTILES:
            # The proportion of draws below has a better known error than a quantile.
            below = (draws <= figures[f"q{100 * p:g}"]).astype(float)
            ess = float(azs.ess(below.to_dataset(name="x"))["x"])
            error = np.sqrt(p * (1 - p) / ess)
            # The error of the reference, in draws of the same quality.
            error *= np.sqrt(1 + n_draws / stated["n_draws"])
            assert float(below.mean()) == pytest.approx(p, abs=4 * error), (quantity, p)


def test_pages_agree_with_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Regenerate all marked parts of all pages; a changed table changes its page."""
    # Another test checks that evidence belongs to the current models.
    monkeypatch.setattr(pages, "is_of", lambda *_: True)
    models = shutil.copytree(CARDS, tmp_path / "models", ignore=shutil.ignore_patterns("studies"))
    docs = tmp_path / "docs"
    docs.mkdir()
    shutil.copy(ROOT / "docs" / "validation" / "benchmarks.md", docs)
    written = [*models.rglob("README.md"), *docs.glob("*.md")]
    before = {page: page.read_text() for page in written}
    marked = {found[2] for text in before.values() for found in pages.MARKED.finditer(text)}
    assert marked == set(pages.PARTS)
    words = ["pages", "--catalog", str(models), "--docs", str(docs)]
    assert main(words) == 0
    for page, text in before.items():
        assert page.read_text() == text, page
    for name in pages.TABLES:
        assert (models / name).is_file()
    path = models / pages.ERRORS[2]
    path.write_text(path.read_text().replace("equal, no copying", "none"))
    assert main(words) == 0
    changed = [page.parent.name for page, text in before.items() if page.read_text() != text]
    assert changed == ["paired_errors"]
    written[0].write_text("<!-- made by code: another -->\n<!-- end -->\n")
    with pytest.raises(ValueError, match="has an unknown part 'another'; use models, branches"):
        pages.update(written[0], models)


def test_the_default_interval_has_nominal_coverage() -> None:
    study = pd.read_csv(CARDS / pages.SETTINGS)
    assert len(study) == 88 * 10 * 3
    summary = Coverage(study).summary().set_index("method")
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
    """The prior, data and parameters matter, but not the code."""
    found, case = evidence("copying"), CASES["copying"]

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


def made(n: int, divergent: Callable[[int], int] = lambda _: 0, seed: int = 1) -> pd.DataFrame:
    """Ranks of two quantities, near 0 for simulations with divergences."""
    rng = np.random.default_rng(seed)
    keys = [("posterior", "x"), ("posterior", "y"), ("bootstrap", "x")]
    return pd.DataFrame(
        [
            {"simulation": i, "method": method, "quantity": quantity, "divergent": divergent(i)}
            | {"rank": rng.random() * (0.01 if divergent(i) else 1)}
            for i in range(n)
            for method, quantity in keys
        ]
    )


def test_simulations_with_divergences_are_tested_separately() -> None:
    found = verdict(made(120, lambda i: 3 * (i % 4 == 0)))
    assert found["n_simulations"] == 120
    assert not found["passed"]
    assert found["outside_alone"] == ["x", "y"]
    divergences = found["divergences"]
    assert (divergences["simulations"], divergences["share"]) == (30, 0.25)
    assert divergences["without"] == {"n_simulations": 90, "passed": True, "outside_alone": []}
    # Nineteen simulations without divergences are too few for a test.
    assert verdict(made(40, lambda i: i > 18))["divergences"]["without"] is None
    whole = {"n_simulations": 40, "passed": True, "outside_alone": []}
    none = {"simulations": 0, "share": 0.0, "without": whole}
    assert verdict(made(40))["divergences"] == none


def test_stored_ranks_give_equal_results(tmp_path: Path) -> None:
    path = tmp_path / RANKS
    first = made(200, lambda i: i == 7)
    first.loc[first["simulation"] == 3, "rank"] = np.nan
    second = made(50, seed=2)
    keep_ranks(path, "other", made(30, seed=3))
    keep_ranks(path, DEFAULT, first)
    keep_ranks(path, "other", second)
    assert kept_branches(path) == [DEFAULT, "other"]
    for branch, ranks in ((DEFAULT, first), ("other", second)):
        again = kept_ranks(path, branch)
        key = ["simulation", "method", "quantity"]
        both = ranks.merge(again, on=key, suffixes=("", "_kept"))
        assert len(both) == len(ranks) == len(again)
        # Up to half a step.
        np.testing.assert_allclose(both["rank_kept"], both["rank"], rtol=0, atol=0.5 / 65534)
        assert (both["divergent_kept"] == both["divergent"]).all()
        assert verdict(again) == verdict(in_steps(ranks))
        assert Ranks(again).summary()["data_averaged_p"].isna().all()
    # Two bytes per rank, and the names.
    assert path.stat().st_size < 2 * (3 + 1) * 250 + 8 * 400


@pytest.mark.slow
def test_a_branch_is_calibrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A catalog of one model, whose case has a branch, with short chains."""
    case = CASES["copying"]._replace(thin=1, tune=20)
    prior = functools.partial(al.models.copying, priors={"p_a": (2, 2)})
    few = case.branch("2 pairs, another prior", functools.partial(two_pairs, prior))
    monkeypatch.setitem(CASES, "copying", case._replace(branches={"prior": few}))
    cache_dir = shutil.copytree(CARDS / "copying", tmp_path / "copying")
    (cache_dir / RANKS).unlink()
    before = json.loads((cache_dir / "calibration.json").read_text())
    own = ["--catalog", str(tmp_path)]
    words = ["run", "copying", "--branch", "prior", "--simulations", "4", "--jobs", "1"]
    assert main([*words, *own]) in (0, 1)
    assert "copying, prior: " in capsys.readouterr().out
    stored = json.loads((cache_dir / "calibration.json").read_text())
    found = stored["branches"]["prior"]
    assert before | {"branches": stored["branches"]} == stored
    assert found["n_simulations"] == 4
    assert found["settings"] == {"tune": 20, "target_accept": 0.95, "thin": 1}
    assert found["design"] == "2 pairs, another prior"
    assert cards.is_of(found, "copying", "prior")
    assert not cards.is_of(found, "copying")
    assert "| prior | 2 pairs, another prior | " in (cache_dir / "README.md").read_text()
    assert kept_branches(cache_dir / RANKS) == ["prior"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "copyinx"], "name must be one of cohort, .*did you mean 'copying'"),
        (["run", "copying", "--simulations", "1"], "--simulations must be at least 2, got 1"),
        (["run", "copying", "--catalog", "none"], "none is not a folder"),
        (["run", "copying", "--catalog", "docs"], "copying has no README.md; write it first"),
        (["study", "equal_rows", "--datasets", "7"], "n_datasets must be a multiple of 50, got 7"),
    ],
)
def test_bad_arguments_of_the_command(
    words: list[str], message: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(ROOT)
    assert main(words) == 2
    assert re.search(message, capsys.readouterr().err)


class Sampled(Exception):  # noqa: N818
    """Options that a public function passed to the sampler."""


def benchmark(n_conditions: int) -> al.Trials:
    return al.simulate.cohort([0.5, 0.2], [0.7, 0.8], [0.7] * n_conditions, 0.4, n_trials=30, rng=1)


def labeled() -> al.Trials:
    return al.load_example().select(condition="noise")


def of_spectrum() -> Any:
    found = al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)
    return al.fit_spectrum(found, k=2)


FUNCTIONS: dict[str, tuple[str, str, str, Callable[[], Any]]] = {
    "copying": (
        "copying", DEFAULT, "inference.sampling",
        lambda: al.error_consistency(labeled(), sampler="nuts"),
    ),
    "cohort of few conditions": (
        "cohort", DEFAULT, "benchmark.cohorts",
        lambda: al.fit_cohort(benchmark(2), human_effects=False),
    ),
    "cohort of people": (
        "cohort", "people", "benchmark.cohorts", lambda: al.fit_cohort(benchmark(2))
    ),
    "cohort of many": (
        "cohort", "many_conditions", "benchmark.cohorts",
        lambda: al.fit_cohort(benchmark(10), human_effects=False),
    ),
    "spectrum": ("spectrum", DEFAULT, "spectrum.regime_mixtures", of_spectrum),
    "observers": (
        "observer_margins", "one_answer_no_margins", "margins.reliability",
        lambda: al.fit_observers(labeled()),
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "branch", "module", "call"), list(FUNCTIONS.values()), ids=list(FUNCTIONS)
)
def test_branches_are_sampled_as_in_their_function(
    name: str, branch: str, module: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sample(*given: Any, **named: Any) -> None:
        bound = inspect.signature(nuts).bind(*given, **named)
        bound.apply_defaults()
        raise Sampled(bound.arguments["tune"], bound.arguments["target_accept"])

    monkeypatch.setattr(f"alikely.{module}.nuts", sample)
    with pytest.raises(Sampled) as asked:
        call()
    case = CASES[name].of(branch)
    assert asked.value.args == (case.tune, case.target_accept)
