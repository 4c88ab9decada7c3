"""Options correspond to Python parameters, and messages name options."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import alikely as al
from alikely.cli import _output, main
from alikely.cli._app import READ, RUN, application
from alikely.cli._running import worded

READING = ("compare", "margins", "benchmark", "matrix", "spectrum", "plan", "choose", "report")


def options_of(subcommand: str) -> set[str]:
    """Names of parameters with an option."""
    arguments = application()[subcommand].assemble_argument_collection()
    return {one.name.removeprefix("--").replace("-", "_") for one in arguments}


@pytest.mark.parametrize("subcommand", READING)
def test_every_reading_subcommand_has_the_reading_options(subcommand: str) -> None:
    assert {*READ, *RUN} <= options_of(subcommand)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("list all with classes=[...], or classes='seen'", "--classes NAME,..., or --classes seen"),
        ("na_values must be a list; give ['a', 'b']", "--na-values must be a list; give"),
        ("the separator (sep=)", "the separator (--sep)"),
        ("or give truth=)", "or give --columns truth=NAME)"),
        ("n_resamples=0 in one of them", "--n-resamples 0 in one of them"),
        ("level must be one of all", "--level must be one of all"),
        ("'na_values' is empty, my_ci_prob.csv", "'na_values' is empty, my_ci_prob.csv"),
        ("see al.pairwise_matrix(trials, classes=[...]) for it", "see alikely matrix for it"),
        (
            "count with joint_correctness(..., classes=['a'])",
            "count with joint_correctness(..., classes=['a']) in Python",
        ),
        ("file trials.select.csv", "file trials.select.csv"),
        ("plan with wide=False", "plan with --no-wide"),
    ],
)
def test_messages_name_options(message: str, expected: str) -> None:
    names = ["--classes", "--na-values", "--wide", "--sep", "--columns", "--n-resamples", "--pairs",
             "--level", "--ci-prob"]  # fmt: skip
    assert expected in worded(message, names, ["truth", "condition"])


@pytest.fixture
def noise(tmp_path: Path) -> Path:
    trials = al.load_example().select(condition="noise", kind="human")
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    return tmp_path / "trials.csv"


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip plots, which take seconds and have separate tests."""
    monkeypatch.setattr(_output, "save_plot", lambda *_: None)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "few_sweeps")
def test_options_agree_with_python(noise: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = ["--n-resamples", "30", "--n-draws", "30", "--n-null", "19", "--seed", "2"]
    given = ["--mixture", "pooled", "--alpha", "0.3", "--base", "e", "--cluster", "item"]
    arguments = ["compare", str(noise), "--metric", "cles", *few, *given, "--jobs", "1"]
    assert main([*arguments, "--out", str(out)]) == 0
    found = al.Result.load(out / "error_similarity.nc").summary()
    metric = al.metrics.get_metric("CLES", mixture="pooled", alpha=0.3, base=np.e)
    expected = al.compare(
        al.Trials.read(noise), metric, cluster="item", n_resamples=30, n_draws=30, rng=2
    ).summary()
    for name in ("estimate", "posterior_eti95_lb", "posterior_eti95_ub"):
        np.testing.assert_allclose(found[name], expected[name])


def test_priors_are_beta_parameters(noise: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    few = ["--n-resamples", "0", "--n-draws", "50", "--n-null", "0", "--out", str(out)]
    prior = ["--prior", "u=2:1, v=1:3"]
    assert main(["compare", str(noise), *few, *prior]) == 0
    expected = al.error_consistency(
        al.Trials.read(noise), n_resamples=0, n_draws=50, rng=1,
        prior={"u": (2, 1), "v": (1, 3)},
    )  # fmt: skip
    found = al.Result.load(out / "error_consistency.nc")
    np.testing.assert_array_equal(found.draws("posterior"), expected.draws("posterior"))


@pytest.mark.slow
def test_columns_of_margins_have_separate_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trials, margins = al.simulate.detection_experiment(8, 60, 1, rho={"net": 0.5}, rng=1)
    trials.to_table().to_csv(tmp_path / "trials.csv", index=False)
    other = margins.rename(columns={"margin": "gap", "observer": "net"})
    other.to_csv(tmp_path / "margins.csv", index=False)
    files = [str(tmp_path / "trials.csv"), "--margins", str(tmp_path / "margins.csv")]
    few = ["--n-draws", "40", "--n-resamples", "20"]
    named = ["--margin-columns", "margin=gap,observer=net"]
    assert main(["margins", *files, *few, *named, "--ci-kind", "hdi"]) == 0
    assert "net" in capsys.readouterr().out
    assert main(["margins", *files[:1], *few, *named]) == 2
    assert "--margin-columns needs --margins" in capsys.readouterr().err
