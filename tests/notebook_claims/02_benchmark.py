"""Claims of the notebook with this name, checked with its variables."""

assert (side_by_side["both"] >= side_by_side[["images", "observers"]].max(axis=1) - 1e-12).all()
humans_share = (side_by_side["observers"] / side_by_side["images"]).to_numpy()
assert humans_share[-1] > 1 > humans_share[:10].mean()
assert holds_step_down.all()
assert holds_naive.sum() < holds_step_down.sum()
assert {f"model_{i}" for i in range(1, 6)} <= set(ranks.loc[ranks["tied_with_top"], "system"])
equals = (differences["system"].str[6:].astype(int) > 5) == (
    differences["other"].str[6:].astype(int) > 5
)
assert (differences.loc[equals, "simultaneous_ci95_lb"] < 0).all()
assert (differences.loc[equals, "simultaneous_ci95_ub"] > 0).all()
