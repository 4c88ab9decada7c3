"""Claims of the notebook with this name, checked with its variables."""

assert summary.loc["80 chosen", "error"] < summary.loc["80 random", "error"] / 1.4
assert (summary["coverage"] > 0.8).all()
assert rest.summary()["note"].str.contains("mages were selected").all()
if real:
    assert summary.loc["80 chosen", "error"] < 1.15 * summary.loc["400 random", "error"]
    assert summary.loc["80 chosen", "finds it"] > 2 * summary.loc["80 random", "finds it"]
