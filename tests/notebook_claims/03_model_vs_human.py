"""Claims of the notebook with this name, checked with its variables."""

import arviz_stats as azs
import numpy as np

import alikely as al

# For parameters, the fitting function would have warned.
assert float(azs.rhat(tree["posterior"]["error_consistency"]).max()) < 1.01
assert float(tree["sample_stats"]["diverging"].mean()) < 0.001
assert r > 0.9
assert (se["both"] >= se[["images", "observers"]].max(axis=1) - 1e-12).all()
assert (band["most_influential_choice"] == "grouping").mean() > 0.8
if real:
    human_rows = scores.estimates["estimate"].sel(system="human-human")
    assert abs(float(human_rows.sel(level="overall")) - 0.4312) < 5e-5
    assert abs(float(human_rows.sel(level="edge")) - 0.3184) < 5e-5
    assert most["p_value_simultaneous"] < 0.001
    assert len(tied) > 1
    assert (al.benchmark.ceilings(scores, "both")["p_human_human"] < 0.01).all()
    assert 0.7 < np.median(tau) < 0.95
    assert abs((pairs["kappa_max"] < 0.5).mean() - 0.436) < 5e-4
    assert (rho < -0.25).all()
    ranks_of_clip = by_metric[by_metric["system"] == "clip_v"].set_index("metric")["rank"]
    assert ranks_of_clip.tolist() == [22, 22, 1]
    # The example of CLIP.
    normalized = al.benchmark_scores(
        scored,
        metric="normalized_error_consistency",
        human_ids="per_dataset",
        n_resamples=0,
        n_draws=0,
    )
    row = normalized.summary("both").set_index("system").loc["clip_v"]
    limits = row[["estimate", "analytic_ci95_lb", "analytic_ci95_ub"]]
    np.testing.assert_allclose(limits.astype(float), [0.50, 0.41, 0.55], atol=0.005)
    pairwise = al.benchmark.differences(normalized).query("p_value_simultaneous < 0.05")
    other = pairwise.query("system == 'clip_v' or other == 'clip_v'")
    assert set(other[["system", "other"]].to_numpy().ravel()) == {"clip_v", "vgg13", "vgg19"}
