"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

reading = at[at["n_trials"] == 400].set_index("accuracy_a")["width"]
assert np.allclose(
    reading[[0.5, 0.6, 0.75, 0.85, 0.9]], [0.170, 0.173, 0.196, 0.238, 0.283], atol=6e-4
)
assert all(-0.20 < share < -0.12 for share in narrow.values())
assert (right, printed) == (117, 96)
assert ceiling["bootstrap_coverage"].iloc[-1] < 0.5 < 0.93 < ceiling["posterior_coverage"].min()
assert pairs["n_trials"].is_monotonic_decreasing
assert belief["expected_width"].is_monotonic_decreasing
assert abs(wanted["assured_width"][0] - 0.2) < 0.01
assert round(100 * precision.loc[10, "outside"], 1) == 46.8
assert need["n_observers"].is_monotonic_decreasing
assert budget["cost"].max() <= 2000
