"""Claims of the notebook with this name, checked with its variables."""

assert (found.groupby("family")["true"].nunique() == 1).mean() > 0.8
assert (by_gap["same"] > by_gap["other"]).all()
assert (blocks.loc[inside, "analytic_ci95_lb"] > blocks.loc[~inside, "estimate"].mean()).all()
lower, upper_bound = "analytic_ci95_lb", "analytic_ci95_ub"
assert table.loc["biased", lower].item() > 0
assert table.loc["fair", lower].item() < 0 < table.loc["fair", upper_bound].item()
