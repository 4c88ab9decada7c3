"""Study of chosen images, on simulated answers: real ones are in its page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from studies.coverage_chosen import Pool, chosen_images_study, chosen_summary


@pytest.mark.slow
def test_chosen_images_save_trials_and_keep_their_promise(
    sets: Callable[..., int], figure: Callable[[str], None]
) -> None:
    rng = np.random.default_rng(1)
    ease = rng.normal(size=500)
    # Five machines of unlike accuracies, and one that differs from each on a tenth of the images.
    machines = ease + rng.normal(0, 0.7, (5, 500)) > np.linspace(-0.8, 0.6, 5)[:, None]
    twins = machines ^ (rng.random((5, 500)) < 0.1)
    people = ease + rng.normal(0, 0.7, (4, 500)) > -0.4
    n = sets(400, 100)
    study = chosen_images_study(
        {"one": Pool(np.concatenate([machines, twins]), people)},
        [80], n_pairs=2, n_designs=n, n_pools=n, rng=2,
    )  # fmt: skip
    table = chosen_summary(study)
    for _, row in table.iterrows():
        figure(
            f"chosen images, {row['kind']}, {row['design']}: {row['saved']:.2f} times the trials, "
            f"coverage {row['coverage_pool']:.3f} and {row['coverage_images']:.3f}"
        )
    chosen = table[table["design"] != "random"]
    assert set(chosen["kind"]) == {"similar", "unlike"}
    similar = chosen["kind"] == "similar"
    assert (chosen.loc[similar, "saved"] > 3.5).all()
    # A ratio of variances of n designs has a relative error of 2/sqrt(n), of three ratios together.
    assert np.exp(np.log(chosen.loc[~similar, "saved"]).mean()) > 1
    # Designs of one pair hang together by its person: as if of one pair.
    error = np.sqrt(0.93 * 0.07 / n)
    for name in ("coverage_pool", "coverage_images"):
        assert (chosen[name] > 0.93 - 4 * error).all()
