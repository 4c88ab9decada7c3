"""Pages for several tests."""

from __future__ import annotations

import numpy as np
import pytest

import alikely as al

FEW = {"n_resamples": 40, "n_draws": 40}
# Names with text that pages, figures, templates or scripts could interpret.
NAMES = (
    "<b>bold</b>", "$x_1^2$ & $", "\"quoted\" 'q'", "</script><script>alert(1)</script>",
    "two\nlines", "bell\x07", "{{7*7}}{% raw %}", "--><img src=x onerror=alert(2)>",
    "\U0001f600 名前", "javascript:alert(3)",
)  # fmt: skip


@pytest.fixture(scope="session")
def hostile() -> al.report.pages.Report:
    """A report on ten observers, conditions and a data set whose names are markup."""
    right = np.random.default_rng(1).integers(0, 2, (10, 80))
    trials = al.Trials.from_correct(
        right,
        observers=NAMES,
        kind=["human"] * 4 + ["model"] * 6,
        condition=["<i>c</i>"] * 40 + ["$c$"] * 40,
        dataset=["d&amp;<s>"] * 80,
    )
    result = al.error_consistency(trials, rng=1, **FEW)
    scores = al.benchmark_scores(trials, rng=1, **FEW)
    title = "</title><script>alert(0)</script>"
    return al.report.make_report(result, scores, title=title, notes=["<i>x</i>"])
