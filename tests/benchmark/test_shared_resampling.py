"""One human or one image in several data sets is resampled once: bootstrap and posterior."""

from __future__ import annotations

import numpy as np

import alikely as al
from alikely.benchmark.layout import image_numbers, laid_out
from alikely.inference.resampling import joint_draws
from alikely.metrics import ERROR_CONSISTENCY

N_HUMANS, N_MACHINES, N_IMAGES = 4, 2, 60


def copies(n: int, *, rows: list[str], seed: int = 1) -> al.Trials:
    """The same responses of the same humans to the same images, in several data sets."""
    rng = np.random.default_rng(seed)
    right = rng.standard_normal(N_IMAGES) + rng.standard_normal((6, N_IMAGES)) > -0.9
    return al.Trials.from_correct(
        np.tile(right, n),
        observers=rows,
        kind=["human"] * N_HUMANS + ["model"] * N_MACHINES,
        item=[f"i{i}" for i in range(N_IMAGES)] * n,
        dataset=np.repeat([f"d{i}" for i in range(n)], N_IMAGES).tolist(),
    )


ROWS = [*(f"h{i}" for i in range(N_HUMANS)), *(f"m{i}" for i in range(N_MACHINES))]


def test_copies_of_a_data_set_add_nothing() -> None:
    """Compare replicates and draws of one data set and of two copies of it."""
    kept = {}
    for n in (1, 2):
        kept[n] = al.benchmark_scores(
            copies(n, rows=ROWS), human_ids="shared", item_scope="label", n_resamples=300,
            n_draws=400, rng=1,
        )  # fmt: skip
    both = kept[2]
    first, second = (both.draws("bootstrap", d) for d in ("d0", "d1"))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(both.draws("bootstrap"), first)
    # Both have all but the prior in common, which is worth 2 of 62 trials.
    a, b = (both.draws("posterior", level=d)[:, 0] for d in ("d0", "d1"))
    assert np.corrcoef(a, b)[0, 1] > 0.9
    assert kept[2].estimates["n_humans"].values.tolist() == [4, 4, 4]


def test_different_humans_and_images_are_independent() -> None:
    apart = al.benchmark_scores(
        copies(2, rows=ROWS), human_ids="per_dataset", n_resamples=400, n_draws=400, rng=1
    )
    for method in ("bootstrap", "posterior"):
        a, b = (apart.draws(method, d)[:, 0] for d in ("d0", "d1"))  # type: ignore[arg-type]
        assert abs(np.corrcoef(a, b)[0, 1]) < 4 / np.sqrt(400)
    assert apart.estimates["n_humans"].values.tolist() == [4, 4, 8]


def test_shared_images_leave_the_posterior_of_each_pair() -> None:
    trials = copies(2, rows=ROWS)
    table, _ = laid_out(trials, models="model", humans="human")
    n = 6_000
    images = image_numbers(table, "label")
    shared = joint_draws(table, n, [ERROR_CONSISTENCY], 1, images)["error_consistency"]
    alone = joint_draws(table, n, [ERROR_CONSISTENCY], 2)["error_consistency"]
    error = np.sqrt(alone.var(axis=0) * 2 / n)
    # Five errors, because there are as many comparisons as pairs.
    assert (np.abs(shared.mean(axis=0) - alone.mean(axis=0)) < 5 * error).all()
    np.testing.assert_allclose(shared.std(axis=0) / alone.std(axis=0), 1, atol=5 / np.sqrt(n))
