"""Claims of the notebook with this name, checked with its variables."""

if shared.is_dir():
    # Printed in Figure 2: mean and limits of the t interval.
    interval = pairs.mean(), pairs.mean() - half, pairs.mean() + half
    assert tuple(round(limit, 2) for limit in interval) == (0.32, 0.28, 0.36)
