"""Claims of the notebook with this name, checked with its variables."""

assert share.median() > 0.2
assert (everybody["default, low"] <= everybody["default, mid"]).all()
if real:
    # If the interval includes equality, the p-value of the test of equality is larger.
    equal, unequal = (everybody.loc[of, "p_equal"].median() for of in (open_end, ~open_end))
    assert equal > unequal
    humans = ma.summary().set_index(names)
    assert (humans["posterior_eti95_lb"] > humans["expected"]).mean() > 0.5
    rho = correlations.query("domain == 'global' and metric == 'misclassification_agreement'")
    assert float(rho["correlation"].iloc[0]) > 0.85
    assert same["log_bayes_factor"].iloc[0] > 10 > -10 > same["log_bayes_factor"].iloc[-1]
