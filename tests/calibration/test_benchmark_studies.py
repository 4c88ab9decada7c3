"""What the page of benchmarks says of coverage is what its table says."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from studies.__main__ import main
from studies.benchmark_studies import START, TABLE, benchmark_section, update_page
from studies.coverage_benchmark import BENCHMARK_DESIGNS, benchmark_summary

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_the_table_says() -> None:
    table = pd.read_csv(ROOT / "models" / TABLE)
    assert table["design"].unique().tolist() == list(BENCHMARK_DESIGNS)
    assert (table.loc[table["method"] == "decomposition", "n_sets"] <= 600).all()
    assert benchmark_section(ROOT / "models") in (ROOT / "docs" / "benchmarks.md").read_text()


def test_the_page_is_written_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    page.write_text(text.replace("| probit, 3 humans |", "| another |"))
    told = ["benchmarks", "--text-only", "--catalogue", str(tmp_path), "--page", str(page)]
    assert main(told) == 2
    assert "has no benchmarks.csv; leave out --text-only" in capsys.readouterr().err
    shutil.copy(ROOT / "models" / TABLE, tmp_path)
    assert main(told) == 0
    assert page.read_text() == text
    page.write_text("no marks")
    with pytest.raises(ValueError, match=f"lacks the line '{START.strip()}'"):
        update_page(page, tmp_path)


def test_short_coverage_is_told_from_chance() -> None:
    """Of 600 sets .90 is short of .93, of 20 it is not; adjusted for all cells of a method."""
    rng = np.random.default_rng(1)
    named = {"method": "decomposition", "width": 1.0, "squared_error": 1.0}
    covered = {
        "short": np.repeat([1.0, 0.0], [540, 60]),
        "few": np.repeat([1.0, 0.0], [18, 2]),
        "all": np.ones(600),
        "means of four": rng.binomial(4, 0.9, 600) / 4,
    }
    study = pd.concat(
        pd.DataFrame({"design": name, "statement": "score", "covered": values, **named})
        for name, values in covered.items()
    )
    found = benchmark_summary(study).set_index("design")
    p = {
        name: 1.0 if name == "all" else stats.ttest_1samp(values, 0.93, alternative="less").pvalue
        for name, values in covered.items()
    }
    assert found.loc["means of four", "p_short"] == pytest.approx(4 * p["means of four"])
    assert found.loc["short", "p_short"] == pytest.approx(3 * p["short"])
    assert found.loc["few", "p_short"] == pytest.approx(2 * p["few"])
    assert found.loc["all", "p_short"] == 1
