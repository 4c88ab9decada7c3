"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

assert h["eti95_lb"] > m["eti95_ub"]
assert d["eti95_lb"] < 0 < d["eti95_ub"]
in_noise = summary["condition"] == "noise"
for side in ("lb", "ub"):
    gap = (summary[f"bootstrap_eti95_{side}"] - summary[f"posterior_eti95_{side}"])[in_noise].abs()
    assert gap.median() < 0.02
never = summary["note"].str.startswith("an observer is always correct or")
assert (summary.loc[never, "bootstrap_eti95_ub"] == summary.loc[never, "bootstrap_eti95_lb"]).all()
assert (
    summary.loc[never, "posterior_eti95_ub"] - summary.loc[never, "posterior_eti95_lb"] > 0.2
).all()
# The lowest coverage of posterior intervals in 88 settings was 0.9315 (2,000 data sets each).
assert min(coverage["posterior"]) >= 0.9315 - 3 * np.sqrt(0.9315 * 0.0685 / N_SETS)
assert coverage["bootstrap"][4] < 0.6
# Means of 4,000 draws, with a standard deviation below 0.1 and at least 1,000 effective draws.
assert abs(exact.mean() - nuts.mean()) < 4 * np.sqrt(2) * 0.1 / np.sqrt(1000)
assert row["p_null"] < 0.05
assert row["log_bf10"] > 0
# Two methods of simulation: means and p-values differ by at most five Monte Carlo standard errors.
spread = by_way["exact"]["null_sd"] * np.sqrt(2 / 4000)
defined = by_way["exact"]["n_undefined"] == 0
gaps = (by_way["exact"]["null_mean"] - by_way["nuts"]["null_mean"]).abs()
assert defined.sum() >= 48
assert (gaps < 5 * spread)[defined].all()
gaps = (by_way["exact"]["p_value"] - by_way["nuts"]["p_value"]).abs()
assert gaps[defined].max() < 5 * np.sqrt(0.25 * 2 / 4000)
assert float(chain_null["sample_stats"]["diverging"].mean()) < 0.001
assert nulls["n_undefined"].sum() > 0
