"""Chains of error patterns: what is fitted together, and where the draws of each fit go."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import alikely as al
from alikely.data.blocks import blocks
from alikely.data.tables import joint_correctness
from alikely.errors import chains
from alikely.errors.chains import class_copying_draws, paired_chain_draws
from alikely.errors.paired import dense_paired_errors


@pytest.fixture
def trials() -> al.Trials:
    """Three conditions of three observers; in the last the third is always right."""
    rng = np.random.default_rng(1)
    truth, condition = np.tile(np.arange(4), 45), np.repeat(["low", "high", "none"], 60)
    wrong = (truth + rng.integers(1, 4, (3, 180))) % 4
    response = np.where(rng.random((3, 180)) < 0.4, truth, wrong)
    response[2, condition == "none"] = truth[condition == "none"]
    return al.Trials.from_arrays(response, truth, condition=condition.tolist())


def recorded(monkeypatch: pytest.MonkeyPatch, made: Any) -> list[tuple[tuple[int, ...], int]]:
    """Put fixed draws in the place of chains; keep the shape of the data and how many share it."""
    seen = []

    def fake(model: Any, n_draws: int, *args: Any, n_models: int, **options: Any) -> xr.DataTree:
        seen.append((model.data_vars[0].get_value().shape, n_models))
        found = made(model)
        wide = {name: np.broadcast_to(v, (4, n_draws // 4, *v.shape)) for name, v in found.items()}
        dims = {name: ("chain", "draw", *model.named_vars_to_dims[name]) for name in found}
        data = {name: (dims[name], values) for name, values in wide.items()}
        return xr.DataTree.from_dict({"posterior": xr.Dataset(data)})

    monkeypatch.setattr(chains, "nuts", fake)
    return seen


@pytest.mark.slow
def test_groups_of_one_shape_share_a_compiled_model(
    trials: al.Trials, monkeypatch: pytest.MonkeyPatch
) -> None:
    def share(model: Any) -> dict[str, Any]:
        agreed, of_a = (model[name].get_value() for name in ("agreed", "errors_of_a"))
        return {"misclassification_agreement": agreed.sum(axis=(1, 2)) / of_a.sum(axis=(1, 2))}

    seen = recorded(monkeypatch, share)
    table = joint_correctness(trials, labels=True)
    draws = class_copying_draws(table, 8, rng=1).values
    assert seen == [((3, 4, 3), 2), ((3, 4, 3), 2), ((1, 4, 3), 1)]
    # Each entry has the draws of its own joint errors.
    response, truth = (trials.data[name].values for name in ("response", "truth"))
    for row in range(9):
        here = trials.data["condition"].values == table["condition"].values[row]
        given = response[[int(table["first"][row]), int(table["second"][row])]][:, here]
        same = given[:, (given != truth[here]).all(axis=0)]
        wanted = (same[0] == same[1]).mean() if same.size else np.nan
        np.testing.assert_allclose(draws[:, row], np.full(8, wanted), rtol=1e-6)  # float32


@pytest.mark.slow
@pytest.mark.parametrize(("copied", "similarity"), [(0.5, 1.0), (0.0, 0.5)])
def test_pairs_are_fitted_group_by_group(
    trials: al.Trials, monkeypatch: pytest.MonkeyPatch, copied: float, similarity: float
) -> None:
    """Rows that are all the same; and without copies, such as have no label in common (1 bit)."""

    def rows(model: Any) -> dict[str, Any]:
        n = model["agreed"].get_value().shape[0]
        even = np.where(np.eye(4) > 0, 0, 1 / 3)
        own = np.stack([even, even])
        if not copied:
            # The first wrong label of each class, and the last.
            own[:] = 0
            for true in range(4):
                wrong = [label for label in range(4) if label != true]
                own[0, true, wrong[0]] = own[1, true, wrong[-1]] = 1
        return {
            "own_rows": np.tile(own, (n, 1, 1, 1)),
            "copied_rows": np.tile(even, (n, 1, 1)),
            "copy_probability": np.full((n, 4), copied),
        }

    seen = recorded(monkeypatch, rows)
    found = paired_chain_draws(joint_correctness(trials, labels=True), 8, rng=1)
    assert seen == [((3, 4, 3), 3)] * 3
    assert list(found.fits) == ["all | low", "all | high", "all | none"]
    np.testing.assert_allclose(found.values[:, :6], np.full((8, 6), similarity))


def test_dense_paired_errors_equal_a_plain_loop(trials: al.Trials) -> None:
    (block, *_) = blocks(joint_correctness(trials, labels=True))
    found = dense_paired_errors(block)
    wanted = np.zeros_like(found)
    for pair, (a, b) in enumerate(zip(block.a, block.b, strict=True)):
        for trial, true in enumerate(block.truth):
            x, y = block.response[a, trial], block.response[b, trial]
            if x != true and y != true and x == y:
                wanted[0, pair, true, x] += 1
            elif x != true and y != true:
                wanted[1, pair, true, x] += 1
                wanted[2, pair, true, y] += 1
            elif x != true:
                wanted[3, pair, true, x] += 1
            elif y != true:
                wanted[4, pair, true, y] += 1
    np.testing.assert_array_equal(found, wanted)
