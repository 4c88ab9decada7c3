"""Claims of the notebook with this name, checked with its variables."""

import arviz as az
import numpy as np

# All chains converged.
for fit in (tree, sceptic, families, extended):
    assert fit.attrs["n_divergences"] < 5
    r_hat = az.rhat(fit["posterior"].to_dataset()[["copy_probability"]])["copy_probability"]
    assert float(r_hat.max()) < 1.02
assert (copying["sceptic"] < copying["default"]).mean() > 0.5
# Coverage of 200 intervals: at most four standard errors below the nominal value.
assert held > 0.95 - 4 * np.sqrt(0.95 * 0.05 / 200)
np.testing.assert_allclose(
    extended["posterior"]["first_over_second"],
    extended["posterior"]["copy_probability"].values[..., first].mean(-1)
    - extended["posterior"]["copy_probability"].values[..., second].mean(-1),
)
