"""Studies of error similarity: populations, what is counted, and what the card says of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies import coverage_joint, coverage_rows
from studies.__main__ import main
from studies.coverage_joint import joint_coverage, joint_coverage_summary
from studies.coverage_rows import (
    DESIGNS,
    RowDesign,
    answers,
    data_sets,
    population,
    row_coverage_summary,
)
from studies.equal_row_tests import row_tests_summary
from studies.error_studies import TABLES, section

CATALOGUE = Path(__file__).parents[2] / "models"


@pytest.mark.parametrize("name", DESIGNS)
def test_populations_are_what_their_names_say(name: str) -> None:
    design, rng = DESIGNS[name], np.random.default_rng(1)
    of = population(design, rng)
    labels, truth = answers(design, of, rng)
    k = design.n_classes
    assert of.rows.sum(axis=-1) == pytest.approx(1)
    assert not of.rows.diagonal(0, 1, 2).any()
    expected = k * max(1, round(2 * design.n_errors)) / 2
    for system, share in enumerate((1, design.fewer)):
        n = np.ma.filled(labels[system] != truth, fill_value=False).sum()
        assert abs(n - share * expected) < 5 * np.sqrt(share * expected) + 1
    value = coverage_rows.true_similarity(of, labels, truth)[0, 1]
    assert (value == pytest.approx(1)) == name.startswith("equal")
    both = (~np.ma.getmaskarray(labels)).all(axis=0)
    assert both.all() if design.shared else not both.any()


def test_copying_is_that_of_the_design() -> None:
    """Where both err, both give what the item suggests that often, and agree by chance else."""
    design, rng = RowDesign(4, 20_000, 0.6), np.random.default_rng(2)
    of = population(design, rng)
    (a, b), truth = answers(design, of, rng)
    s, (p, q) = of.suggested[0], of.own[:, 0]
    u = np.sqrt(0.6)
    chance = u * (1 - u) * (s * (p + q)).sum(-1) + (1 - u) ** 2 * (p * q).sum(-1)
    joint = (a != truth) & (b != truth)
    for true in range(4):
        here, wanted = joint & (truth == true), 0.6 + chance[true]
        room = 4 * np.sqrt(wanted * (1 - wanted) / here.sum())
        assert (a == b)[here].mean() == pytest.approx(wanted, abs=room)


def kept(**columns: object) -> pd.DataFrame:
    defaults = {
        "design": "one", "method": "auto", "truth": 0.9, "estimate": 0.85, "lower": 0.8,
        "upper": 0.95, "p_equal": 0.5, "noted": False, "unbounded": False,
    }  # fmt: skip
    return pd.DataFrame(defaults | columns)


@pytest.mark.slow
def test_summary_counts_what_it_says() -> None:
    inside = {"truth": [0.9, 0.7, 0.9, 0.9], "unbounded": [False, False, True, False]}
    auto = kept(**inside, p_equal=[0.01, 0.2, 0.3, 0.04], upper=[0.95, 0.95, 0.95, 0.9995])
    model = kept(**inside | {"unbounded": [False] * 4}, method="model", lower=0.85)
    model["upper"] = 0.95
    table = row_coverage_summary(pd.concat([auto, model])).set_index("method")
    assert table.loc["auto", "coverage"] == 0.5
    assert table.loc["model", "coverage"] == 0.75
    assert table.loc["auto", "unbounded"] == 0.25
    assert table.loc["auto", "at_end"] == 0.25
    assert table.loc["auto", "rejected"] == 0.5
    assert table.loc["auto", "relative_width"] == pytest.approx(1.5)


def test_short_coverage_is_judged_over_designs() -> None:
    """Holm: the least p-value times the number of designs, the next times one less."""
    n = 200
    study = pd.concat(
        kept(design=name, truth=np.where(np.arange(n) < covered, 0.9, 0.5))
        for name, covered in (("a", 170), ("b", 176), ("c", 190))
    )
    study = pd.concat([study, study.assign(method="model")])
    table = row_coverage_summary(study)
    auto = table[table["method"] == "auto"].set_index("design")
    alone = stats.binom.cdf([170, 176, 190], n, 0.93)
    steps = np.maximum.accumulate(alone * [3, 2, 1])
    np.testing.assert_allclose(auto["p_short"], np.minimum(steps, 1))


@pytest.mark.slow
@pytest.mark.usefixtures("few_sweeps")
def test_statements_are_judged_by_their_own_truth() -> None:
    few = {"few": RowDesign(4, 10, 0.5)}
    study = joint_coverage(few, n_datasets=50, n_draws=100, rng=1)
    truth = study[study["method"] == "posterior"].pivot(
        index="dataset", columns="statement", values="truth"
    )
    seed = np.random.SeedSequence(1).spawn(1)[0].spawn(2)[0]
    _, values = data_sets(few["few"], np.random.default_rng(seed), 6, coverage_joint.FOLLOWS)
    np.testing.assert_allclose(truth["difference of two pairs"], values[:, 0, 2] - values[:, 1, 2])
    np.testing.assert_allclose(truth["mean over humans"], values[:, 0, 2:].mean(axis=1))
    pairs = values[:, 2:, 2:][:, *np.triu_indices(4, 1)]
    np.testing.assert_allclose(truth["mean of human pairs"], pairs.mean(axis=1))
    found = joint_coverage_summary(study)
    assert found["method"].nunique() == 3
    # Statements over conditions take five data sets each.
    over = found["statement"].isin(coverage_joint.OVER_CONDITIONS)
    assert (found["n_datasets"] == np.where(over, 10, 50)).all()
    assert over.any()


def test_tests_of_equal_rows_are_counted() -> None:
    study = pd.DataFrame({"design": ["x"] * 4, "truth": 1.0, "p_equal": [0.01, 0.2, np.nan, 0.6]})
    found = row_tests_summary(study).iloc[0]
    assert (found["n_datasets"], found["rejected"]) == (3, pytest.approx(1 / 3))
    assert found["divergence"] == 0


def test_the_card_says_what_its_tables_say(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = CATALOGUE / "paired_errors"
    text = (folder / "README.md").read_text()
    assert section(folder) in text
    shutil.copytree(folder, tmp_path / "paired_errors")
    copied = tmp_path / "paired_errors" / "README.md"
    copied.write_text(text.replace(section(folder), ""))
    assert main(["rows", "--text-only", "--catalogue", str(tmp_path)]) == 0
    assert copied.read_text() == text
    (tmp_path / "paired_errors" / TABLES[1]).unlink()
    assert main(["rows", "--only", TABLES[0], "--catalogue", str(tmp_path)]) == 2
    assert f"has no {TABLES[1]}; leave out --only" in capsys.readouterr().err
    assert main(["rows", "--text-only", "--catalogue", str(tmp_path)]) == 2
    assert f"has no {TABLES[1]}; leave out --text-only" in capsys.readouterr().err
