"""Interrupted, damaged and parallel studies give the same numbers."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from alikely._base.parallel import at_most
from alikely.calibration.studies import run_study

CELLS = [{"n": n, "times": 20} for n in range(10, 34)]


def mean_of(n: int, times: int, seed: np.random.SeedSequence) -> list[dict[str, Any]]:
    """Two rows per cell; slow enough to be killed halfway."""
    time.sleep(0.02)
    values = np.random.default_rng(seed).random((times, n))
    return [{"what": name, "value": float(getattr(values, name)())} for name in ("mean", "std")]


@pytest.fixture(scope="module")
def whole() -> pd.DataFrame:
    with at_most(1):
        return run_study(mean_of, CELLS, rng=5)


@pytest.mark.slow
def test_workers_do_not_change_the_numbers(whole: pd.DataFrame) -> None:
    """Compare parallel processes with one cell after the other."""
    seeds = np.random.SeedSequence(5).spawn(len(CELLS))
    rows = [
        cell | row for cell, s in zip(CELLS, seeds, strict=True) for row in mean_of(**cell, seed=s)
    ]
    pd.testing.assert_frame_equal(whole, pd.DataFrame(rows), check_exact=True)
    with joblib.parallel_config(backend="loky"), at_most(2):
        assert run_study(mean_of, CELLS, rng=5).equals(whole)


def run(cache_dir: Path) -> pd.DataFrame:
    with at_most(2):
        return run_study(mean_of, CELLS, cache_dir, rng=5)


@pytest.mark.slow
def test_a_killed_study_resumes(whole: pd.DataFrame, tmp_path: Path) -> None:
    """Kill the study at three random moments, then let it finish."""
    # Processes that start quickly, because their parent has imported everything.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, "alikely.calibration.studies"])
    cache_dir, rng, kept = tmp_path / "study", np.random.default_rng(6), 0
    for _ in range(3):
        process = context.Process(target=run, args=(cache_dir,))
        process.start()
        # Wait for the next finished cell, so that each attempt dies during work.
        while len(list(cache_dir.glob("*.json"))) <= kept and process.is_alive():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.03))
        process.kill()
        process.join()
        now = len(list(cache_dir.glob("*.json")))
        assert now >= kept
        kept = now
    assert 3 <= kept <= len(CELLS)
    pd.testing.assert_frame_equal(run(cache_dir), whole, check_exact=True)


@pytest.mark.slow
def test_damaged_files_are_regenerated(whole: pd.DataFrame, tmp_path: Path) -> None:
    cache_dir = tmp_path / "study"
    with at_most(2):
        run_study(mean_of, CELLS, cache_dir, rng=5)
        files = sorted(cache_dir.glob("*.json"))
        content = bytearray(files[3].read_bytes())
        content[len(content) // 2] ^= 1
        files[3].write_bytes(content)
        files[7].write_bytes(files[7].read_bytes()[:50])
        files[9].unlink()
        (cache_dir / "0123.json.123.part").write_bytes(b"half a file")
        assert run_study(mean_of, CELLS, cache_dir, rng=5).equals(whole)
    assert len(list(cache_dir.glob("*.json"))) == len(CELLS)


def test_a_folder_continues_with_its_seed(tmp_path: Path) -> None:
    cells = CELLS[:3]
    with at_most(2):
        first = run_study(mean_of, cells, tmp_path)
        next(tmp_path.glob("*.json")).unlink()
        assert run_study(mean_of, cells, tmp_path).equals(first)
        (tmp_path / "seed.txt").write_text("none")
        with pytest.raises(ValueError, match=r"seed.txt' must contain the digits of a seed"):
            run_study(mean_of, cells, tmp_path)
        (tmp_path / "file").write_bytes(b"years of work")
        with pytest.raises(ValueError, match="cache_dir must be a folder, got the file"):
            run_study(mean_of, cells, tmp_path / "file")
        with pytest.raises(ValueError, match="cells is empty"):
            run_study(mean_of, [], tmp_path)


@pytest.mark.slow
def test_studies_in_one_folder_are_separate(whole: pd.DataFrame, tmp_path: Path) -> None:
    """Other seeds and values have separate files, and user files are unchanged."""
    user = tmp_path / "trials.json"
    user.write_bytes(b"years of work")
    with at_most(2):
        other = run_study(mean_of, CELLS[:3], tmp_path, rng=1)
        twice = [cell | {"times": 40} for cell in CELLS[:3]]
        run_study(mean_of, twice, tmp_path, rng=5)
        assert run(tmp_path).equals(whole)
        assert run_study(mean_of, CELLS[:3], tmp_path, rng=1).equals(other)
    assert user.read_bytes() == b"years of work"
