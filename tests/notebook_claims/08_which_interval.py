"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

assert (coverage.loc["posterior"] > 0.93).all()
assert coverage.loc["bootstrap", 0.99] < 0.5
assert coverage.loc["wald", 0.99] < 0.5
assert (coverage[0.75] > 0.92).all()
few = part[(part["n_joint_errors"] == 10) & (part["copy_probability"] == 0.8)].set_index("method")
assert few.loc["posterior", "coverage"] > few.loc["bootstrap", "coverage"] + 0.2
assert ranks.summary()["inside_all"].all()
assert not caught.summary().set_index("quantity").loc["u", "inside_all"]
assert (similar.loc["auto"] >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 50)).all()
assert similar.loc["bootstrap", ["nearly alike", "alike"]].max() < 0.5
