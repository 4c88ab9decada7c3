"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

if real:
    assert spectrum.attrs["n_reference"] == 28
    assert (round(mean, 4), round(sd, 4)) == (2.1305, 0.2866)
    assert matched.sum() >= 59
    assert at_chance == found_at_chance
    assert found["size"].values.tolist() == [11, 28, 23, 10]
    np.testing.assert_allclose(found["position"], [-15.90, -4.20, -0.92], atol=0.05)
    assert set(found["condition"].values[found["label"] == "extreme"]) == at_chance
    assert {2, 4} <= set(found.attrs["ties"])
    assert agreement > 0.99
    taus = ranks.corr("kendall")
    assert taus.loc["reference", "near"] > 0.4
    assert taus.loc["near", "far"] < -0.3
    signs = contrasts[pair & (contrasts["metric"] == "error_consistency")].set_index("regime")
    assert signs.loc["near", bounds[0]] > 0
    assert signs.loc["far", bounds[1]] < 0
    assert (tests.loc[:2, "p_value"] < 0.01).all()
assert np.isfinite(posterior["delta"]).all()
# A few divergences among thousands of draws are due to chance, and differ between processors.
assert float(tree["sample_stats"]["diverging"].mean()) < 0.001
