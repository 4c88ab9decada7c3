"""Forms of a model, their ranks that are kept, and the verdict that is worked out again."""

from __future__ import annotations

import functools
import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import nutpie
import pandas as pd
import pytest

import alikely as al
from alikely.calibration.ranks import sbc_summary
from alikely.calibration.verdicts import verdict
from studies import __main__ as command
from studies import cards
from studies.cards import RANKS, in_steps, keep_ranks, kept_branches, kept_ranks
from studies.case import DEFAULT
from studies.cases import CASES
from studies.cases._pairs import two_pairs

CARDS = Path(__file__).parents[2] / "models"
KEPT = [
    # The bands of thousands of ranks take half a minute.
    pytest.param(
        path.parent.name, branch, marks=[pytest.mark.slow] * (path.parent.name == "copying")
    )
    for path in sorted(CARDS.glob(f"*/{RANKS}"))
    for branch in kept_branches(path)
]


def made(n: int, divergent: Callable[[int], int] = lambda _: 0, seed: int = 1) -> pd.DataFrame:
    """Ranks of two quantities; those of simulations with divergences are all near 0."""
    rng = np.random.default_rng(seed)
    rows = []
    for simulation in range(n):
        bad = divergent(simulation)
        for school, quantity in (("posterior", "x"), ("posterior", "y"), ("bootstrap", "x")):
            rank = rng.random() * (0.01 if bad else 1)
            row = {"simulation": simulation, "school": school, "quantity": quantity}
            rows.append(row | {"rank": rank, "divergent": bad})
    return pd.DataFrame(rows)


def test_simulations_with_divergences_are_counted_and_judged_apart() -> None:
    found = verdict(made(120, lambda i: 3 * (i % 4 == 0)))
    assert found["n_simulations"] == 120
    assert not found["passed"]
    assert found["outside_alone"] == ["x", "y"]
    divergences = found["divergences"]
    assert (divergences["simulations"], divergences["share"]) == (30, 0.25)
    assert divergences["without"] == {"n_simulations": 90, "passed": True, "outside_alone": []}
    # Nineteen without a divergence are too few to be judged.
    assert verdict(made(40, lambda i: i > 18))["divergences"]["without"] is None
    assert verdict(made(40))["divergences"] == {
        "simulations": 0,
        "share": 0.0,
        "without": {"n_simulations": 40, "passed": True, "outside_alone": []},
    }


def test_ranks_that_are_kept_say_what_ranks_said(tmp_path: Path) -> None:
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
        key = ["simulation", "school", "quantity"]
        together = ranks.merge(again, on=key, suffixes=("", "_kept"))
        assert len(together) == len(ranks) == len(again)
        # Half a step.
        np.testing.assert_allclose(
            together["rank_kept"], together["rank"], rtol=0, atol=0.5 / 65534
        )
        assert (together["divergent_kept"] == together["divergent"]).all()
        assert verdict(again) == verdict(in_steps(ranks))
        left, right = (
            sbc_summary(table).sort_values(["school", "quantity"], ignore_index=True)
            for table in (again, in_steps(ranks))
        )
        pd.testing.assert_frame_equal(left, right)
        assert left["data_averaged_p"].isna().all()
    # Two bytes a rank, and the names.
    assert path.stat().st_size < 2 * (3 + 1) * 250 + 8 * 400


@pytest.mark.parametrize(("name", "branch"), KEPT)
def test_the_verdict_of_the_catalogue_follows_from_its_ranks(name: str, branch: str) -> None:
    stated = json.loads((CARDS / name / "calibration.json").read_text())
    evidence = stated if branch == DEFAULT else stated["branches"][branch]
    ranks = kept_ranks(CARDS / name / RANKS, branch)
    found = verdict(ranks)
    share = found["divergences"].pop("share")
    assert evidence["divergences"]["share"] == pytest.approx(share, rel=1e-3)
    known = {k: v for k, v in evidence["divergences"].items() if k != "share"}
    assert found == {k: evidence[k] for k in found} | {"divergences": known}
    again = sbc_summary(ranks).set_index(["school", "quantity"])
    for row in evidence["quantities"]:
        of = again.loc[(row["school"], row["quantity"])]
        for column in ("p_value", "coverage_50", "coverage_80", "coverage_95"):
            assert of[column] == pytest.approx(row[column], rel=1e-3, nan_ok=True)
    case = CASES[name].of(branch)
    posterior = {row["quantity"] for row in evidence["quantities"] if row["school"] == "posterior"}
    assert posterior == {*case.quantities, *case.derived, "log_likelihood"}
    assert evidence["settings"] == {k: getattr(case, k) for k in ("tune", "target_accept", "thin")}
    assert evidence["design"] == case.words
    assert evidence["n_simulations"] >= 100


@pytest.mark.slow
@pytest.mark.parametrize(("name", "branch"), KEPT)
def test_ranks_are_of_the_form_as_it_stands(name: str, branch: str) -> None:
    stated = json.loads((CARDS / name / "calibration.json").read_text())
    evidence = stated if branch == DEFAULT else stated["branches"][branch]
    assert cards.is_of(evidence, name, branch), (
        f"it says something else: python -m studies run {name} --branch {branch}"
    )


def test_samples_all_but_the_same_are_judged_without_a_warning() -> None:
    n = 500
    values = np.arange(n, dtype=float)
    ranks = pd.DataFrame(
        {"simulation": range(n), "school": "posterior", "quantity": "x", "rank": values / n}
    ).assign(truth=values, draw=values + 1.5, divergent=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sbc_summary(ranks).loc[0, "data_averaged_p"] == pytest.approx(1, abs=1e-6)


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalogue of one model, whose case has another branch; short chains."""
    case = CASES["copying"]._replace(thin=1, tune=20)
    prior = functools.partial(al.models.copying, priors={"p_a": (2, 2)})
    few = case.branch("2 pairs, another prior", functools.partial(two_pairs, prior))
    monkeypatch.setitem(CASES, "copying", case._replace(branches={"prior": few}))
    shutil.copytree(CARDS / "copying", tmp_path / "copying")
    (tmp_path / "copying" / RANKS).unlink(missing_ok=True)
    return tmp_path


def run(catalogue: Path, *words: str) -> int:
    return command.main([*words, "--catalogue", str(catalogue)])


@pytest.mark.slow
def test_a_branch_is_put_to_the_test(toy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = toy / "copying"
    before = json.loads((folder / "calibration.json").read_text())
    words = ["--branch", "prior", "--simulations", "4", "--jobs", "1"]
    assert run(toy, "run", "copying", *words) in (0, 1)
    assert "copying, prior: " in capsys.readouterr().out
    evidence = json.loads((folder / "calibration.json").read_text())
    assert {k: v for k, v in evidence.items() if k != "branches"} == {
        k: v for k, v in before.items() if k != "branches"
    }
    found = evidence["branches"]["prior"]
    assert found["n_simulations"] == 4
    assert found["settings"] == {"tune": 20, "target_accept": 0.95, "thin": 1}
    assert found["design"] == "2 pairs, another prior"
    assert cards.is_of(found, "copying", "prior")
    assert not cards.is_of(found, "copying")
    assert cards.card_section(evidence) in (folder / "README.md").read_text()
    assert "`prior` (2 pairs, another prior)" in (folder / "README.md").read_text()
    # Anyone works the verdict out again.
    assert kept_branches(folder / RANKS) == ["prior"]
    assert run(toy, "verdict", "copying") == 0
    assert "copying, prior: " in (said := capsys.readouterr().out)
    assert "calibration.json says the same" in said
    found["n_simulations"] = 5
    (folder / "calibration.json").write_text(json.dumps(evidence))
    assert run(toy, "verdict", "copying") == 1
    assert "calibration.json says OTHERWISE" in capsys.readouterr().out


class Sampled(Exception):  # noqa: N818
    """What a door asked of the sampler."""


def benchmark(n_conditions: int) -> al.Trials:
    return al.simulate.cohort([0.5, 0.2], [0.7, 0.8], [0.7] * n_conditions, 0.4, n_trials=30, rng=1)


def labelled() -> al.Trials:
    return al.load_example().select(condition="noise")


DOORS: dict[str, tuple[str, str, Callable[[], Any]]] = {
    "copying": ("copying", DEFAULT, lambda: al.error_consistency(labelled(), sampler="nuts")),
    "cohort of few conditions": (
        "cohort",
        DEFAULT,
        lambda: al.fit_cohort(benchmark(2), human_effects=False),
    ),
    "cohort of people": ("cohort", "people", lambda: al.fit_cohort(benchmark(2))),
    "cohort of many": (
        "cohort",
        "many_conditions",
        lambda: al.fit_cohort(benchmark(10), human_effects=False),
    ),
    "spectrum": (
        "spectrum",
        DEFAULT,
        lambda: al.fit_spectrum(
            al.difficulty_spectrum(al.load_example(), "clean", correction=0.5), k=2
        ),
    ),
    "observers": (
        "observer_margins",
        "one_answer_no_margins",
        lambda: al.fit_observers(labelled()),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "branch", "call"), list(DOORS.values()), ids=list(DOORS))
def test_branches_are_sampled_as_their_door_samples(
    name: str, branch: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def sample(*_: Any, tune: int, target_accept: float, **__: Any) -> None:
        raise Sampled(tune, target_accept)

    monkeypatch.setattr(nutpie, "sample", sample)
    with pytest.raises(Sampled) as asked:
        call()
    case = CASES[name].of(branch)
    assert asked.value.args == (case.tune, case.target_accept)
