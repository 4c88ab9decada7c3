"""Size checks before computation: errors, their numbers, and how to change the limit."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import study_data as w

import alikely as al
from alikely._base import size
from alikely.data.tables import n_entries


def test_comparisons_are_counted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    for pairs in ("all", "human-model", [("anna", "ben")]):
        for by in ("condition", "dataset", None):
            table = al.data.joint_correctness(w.trials(), pairs, by)
            assert n_entries(w.trials(), pairs, by) == table.sizes["pair"]
    monkeypatch.setenv("ALIKELY_MEMORY", "10kB")
    said = r"^12 pairs x 200 replicates and draws: 17 kB of memory"
    with pytest.raises(MemoryError, match=said), al.options(n_null=0):
        al.error_consistency(w.trials(), "human-model", n_resamples=100, n_draws=50)


def test_three_thousand_observers_raise_an_error_early(monkeypatch: pytest.MonkeyPatch) -> None:
    # 4,498,500 pairs: 312 GB with defaults.
    correct = np.random.default_rng(1).random((3_000, 2)) < 0.7
    trials = al.Trials.from_correct(correct)
    monkeypatch.setenv("ALIKELY_MEMORY", "100GB")
    with pytest.raises(
        MemoryError, match=r"4,498,500 pairs x 20,000 .*: 363 GB .* or use al\.pairwise_matrix"
    ):
        al.error_consistency(trials)


def test_the_limit_is_a_fraction_of_free_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALIKELY_MEMORY", raising=False)
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < size.memory_limit() <= size.SHARE * whole
    # Other systems have no /proc.
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(size, "Path", lambda _: Path("/nowhere"))
        assert size._of_model() == whole
    assert 0 < size._of_model() <= whole
    monkeypatch.setattr(size, "_of_group", lambda: 4_000)
    assert size.memory_limit() == 3_000


@pytest.mark.parametrize(
    ("said", "n_bytes"), [("40GB", 40e9), ("1.5 tb", 1.5e12), ("200", 200), ("7MiB", 7e6)]
)
def test_sizes_are_parsed(said: str, n_bytes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIKELY_MEMORY", said)
    assert size.memory_limit() == n_bytes


@pytest.mark.parametrize("said", ["much", "-1GB", "1e9"])
def test_invalid_sizes_raise_an_error(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALIKELY_MEMORY", said)
    with pytest.raises(ValueError, match="ALIKELY_MEMORY must be a size such as 40GB, got"):
        size.memory_limit()


def test_packed_files_are_unpacked_up_to_the_limit(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip
    from pathlib import Path

    path = Path(str(tmp_path)) / "t.csv.gz"
    path.write_bytes(gzip.compress(b"observer,item,correct\n" + b"a,1,1\n" * 500_000))
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("ALIKELY_MEMORY", "1MB")
    with pytest.raises(MemoryError, match=r"t\.csv\.gz' as a table: .* split the file"):
        al.Trials.read(path)
