"""The phi coefficient of two observers' correctness, as an example of a new metric.

References
----------
.. [Y12] Yule (1912). On the methods of measuring association between two attributes.
   doi:10.2307/2340126
"""

from __future__ import annotations

from typing import Any

import numpy as np

from alikely.metrics import Metric, register
from alikely.metrics.answers import Answers


def phi(cells: Any) -> Any:
    n11, n10, n01, n00 = np.moveaxis(cells, -1, 0)
    apart = (n11 + n10) * (n01 + n00) * (n11 + n01) * (n10 + n00)
    return (n11 * n00 - n10 * n01) / np.sqrt(apart)


PHI = register(Metric("phi", phi, label="phi coefficient", independent=0.0))


def responses(answers: Answers) -> Any:
    both_wrong = ~answers.correct_a & ~answers.correct_b
    assert answers.response_a is not None
    same = both_wrong & (answers.response_a == answers.response_b)
    return np.stack([both_wrong, same], axis=-1)


def share_of_same(sums: Any) -> Any:
    return sums[..., 1] / sums[..., 0]


SAME_ERROR = register(Metric("same_error", share_of_same, responses, bounds=(0, 1)))
