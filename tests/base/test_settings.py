"""Options of a session, names in messages, progress bars, independent jobs, compiled loops."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numba
import numpy as np
import pytest
from numpy.typing import NDArray

import alikely as al
from alikely._base.arrays import compiled
from alikely._base.names import listed, nearest, told_apart
from alikely._base.parallel import in_parallel
from alikely._base.random import seed_sequence
from alikely._base.settings import DEFAULTS, options
from alikely._base.steps import progress_bar, quietly, shows_progress


def test_functions_use_options_and_calls_override_them() -> None:
    trials = al.load_example()
    with al.options(ci_prob=0.8, ci_kind="hdi", n_draws=40, n_resamples=30, n_null=0, rng=3):
        found = al.error_consistency(trials, "human-human")
        own = al.error_consistency(trials, "human-human", ci_prob=0.9, n_draws=8, rng=4)
    attrs = found.data.attrs
    assert (attrs["ci_prob"], attrs["ci_kind"], attrs["seed"]) == (0.8, "hdi", "3")
    assert found.data["posterior"].sizes["draw"] == 10
    assert "p_null" not in found.estimates
    assert found.data["bootstrap"].sizes["resample"] == 30
    assert "posterior_hdi80_lb" in found.summary(intervals=["posterior"])
    assert (own.data.attrs["ci_prob"], own.data.attrs["seed"]) == (0.9, "4")
    assert own.data["posterior"].sizes["draw"] == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda: al.pairwise_matrix(al.load_example()).data.attrs,
        lambda: al.trials_for_width(0.8, 0.7, 0.4, n_trials=200, rng=1).to_string(),
        lambda: al.inference.null_percentiles(60, n_grid=12),
    ],
)
def test_other_functions_use_the_probability(call: Callable[[], Any]) -> None:
    def text() -> str:
        return re.sub(r"0x\w+", "", str(call()))

    before = text()
    with al.options(ci_prob=0.5):
        assert text() != before
    assert text() == before


def test_one_seed_for_all_calls() -> None:
    with al.options(rng=5):
        assert seed_sequence(None).entropy == 5
        assert seed_sequence(6).entropy == 6
    assert seed_sequence(None).entropy != 5


def test_assigned_options_persist_and_blocks_end() -> None:
    try:
        al.options.n_draws = 12
        with al.options(n_draws=13, progressbar=True):
            assert (al.options.n_draws, al.options.progressbar) == (13, True)
            assert shows_progress()
            with quietly():
                assert not shows_progress()
        assert repr(al.options).startswith("options(ci_prob=0.95, ci_kind='eti', n_draws=12, ")
        with pytest.raises(ValueError, match="ci_prob"), al.options(n_draws=14, ci_prob=2):
            pass  # pragma: no cover
        assert al.options.n_draws == 12
    finally:
        al.options.n_draws = 4_000
    assert {name: getattr(al.options, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("ci_prob", 1, r"ci_prob must lie strictly between 0 and 1, got 1; try 0.95"),
        ("ci_prob", "a", "ci_prob must be a number between 0 and 1"),
        ("ci_kind", "bca", "ci_kind must be 'eti' or 'hdi', got 'bca'"),
        ("n_draws", 1.5, "n_draws must be a whole number, got 1.5"),
        ("n_resamples", -1, "n_resamples must be at least 0, got -1"),
        ("progressbar", "yes", "progressbar must be one of None, True, False; got 'yes'"),
        ("rng", -2, "rng must not be negative, got -2"),
        ("rng", "seed", "rng must be None, a whole number, .* got str"),
        ("rng", True, "got bool"),
        ("n_draw", 1, "no option 'n_draw'; choose from ci_prob, .*; did you mean 'n_draws'"),
    ],
)
def test_bad_values_raise_an_error(name: str, value: object, message: str) -> None:
    with pytest.raises((AttributeError, TypeError, ValueError), match=message):
        setattr(al.options, name, value)
    assert {name: getattr(al.options, name) for name in DEFAULTS} == DEFAULTS


def test_long_lists_are_truncated_visibly() -> None:
    assert listed(range(20)).endswith("18, 19")
    assert listed(range(21)).endswith("18, 19, ... (21 in all)")
    assert listed({"a": 1}) == "a"
    assert listed([], most=3) == "none"


@pytest.mark.parametrize(
    ("given", "names", "meant"),
    [
        ("resnet-50", ["resnet50", "resnet101"], "; did you mean 'resnet50'?"),
        ("HUMAN", ["model", "human"], "; did you mean 'human'?"),
        (3, [30, "x"], "; did you mean '30'?"),
        ("alexnet", ["human_1"], ""),
        ("x", [], ""),
    ],
)
def test_near_misses(given: object, names: list[object], meant: str) -> None:
    assert nearest(given, names) == meant


def test_shortened_names_are_unique() -> None:
    names = [f"alexnet-w{w}-mlp-probe{k}" for w in (1, 3) for k in range(4)]
    short = told_apart([*names, "resnet50"], 12)
    assert short["alexnet-w3-mlp-probe2"] == "alexnet-w3~2"
    assert short["resnet50"] == "resnet50"
    assert len(set(short.values())) == 9
    # Names are unchanged if their beginnings differ; if no part differs, they are numbered.
    assert told_apart(["abcdefgh", "xyz"], 5) == {"abcdefgh": "abcd~", "xyz": "xyz"}
    assert list(told_apart(["aaaaXaaaa", "aaaaYaaaa"], 4).values()) == ["a~v1", "a~v2"]


def test_a_bar_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with options(progressbar=True), progress_bar("data.zip", 10) as advance:
        advance(4)
        advance(6)
    out, err = capsys.readouterr()
    assert out == ""
    assert "data.zip" in err
    assert "10/10" in err


def killing(numbers: NDArray[np.float64], at: int, folder: Path) -> float:
    """Kill the processes that run the first and the fourth job, once each."""
    flag = folder / str(at)
    if at in (0, 3) and not flag.exists():
        flag.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return float(numbers[at])


def test_results_come_in_order() -> None:
    numbers = np.arange(8.0)
    assert list(in_parallel(np.multiply, [(numbers[k], 2) for k in range(8)])) == [*(2 * numbers)]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore")
def test_killed_workers_lose_no_arguments(tmp_path: Path) -> None:
    """Kill both workers of a cluster in turn, while all jobs share a large array."""
    distributed = pytest.importorskip("distributed")
    numbers = np.random.default_rng(1).random(100_000)
    jobs = [(numbers, k, tmp_path) for k in range(8)]
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask", wait_for_workers_timeout=60),
    ):
        assert list(in_parallel(killing, jobs)) == numbers[:8].tolist()
    assert {path.name for path in tmp_path.iterdir()} == {"0", "3"}


def of_no_file() -> Callable[[int], int]:
    """A function without a source file, so that numba cannot store it."""
    names: dict[str, Any] = {}
    exec("def thrice(x):\n    return 3 * x", names)
    return names["thrice"]


def test_without_a_writable_folder_numba_compiles_again() -> None:
    with pytest.raises(RuntimeError, match="cannot cache function"):
        numba.njit(cache=True)(of_no_file())
    assert compiled(of_no_file())(2) == 6


@pytest.mark.slow
def test_a_process_without_numba_gives_equal_numbers() -> None:
    """Compare 30 tables: compiled, with ``NUMBA_DISABLE_JIT=1``, and without a writable folder."""
    code = (
        "import numpy as np\n"
        "from alikely.inference.cell_limits import posterior_limits\n"
        "from alikely.inference.independence import fisher_log10_p\n"
        "rng = np.random.default_rng(1)\n"
        "cells = rng.multinomial(300, rng.dirichlet(np.full(4, 3.0), 30))\n"
        "print(float(fisher_log10_p(cells).sum()), float(posterior_limits(cells).sum()))"
    )
    found = []
    for more in ({}, {"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CACHE_DIR": "/proc/none"}):
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **more},
        )
        found.append([float(value) for value in done.stdout.split()])
    # Sums of 30 numbers, each right to 1e-7.
    assert found[1] == pytest.approx(found[0], rel=1e-6)
    assert found[2] == found[0]
