"""Agreement of ratings of two or more readers.

References
----------
.. [B54] Bennett, Alpert, Goldstein (1954). Communications through limited-response questioning.
   doi:10.1086/266520
.. [BBC93] Byrt, Bishop, Carlin (1993). Bias, prevalence and kappa.
   doi:10.1016/0895-4356(93)90018-V
.. [BP81] Brennan, Prediger (1981). Coefficient kappa: some uses, misuses, and alternatives.
   doi:10.1177/001316448104100307
.. [C60] Cohen (1960). A coefficient of agreement for nominal scales.
   doi:10.1177/001316446002000104
.. [C80] Conger (1980). Integration and generalization of kappas for multiple raters.
   doi:10.1037/0033-2909.88.2.322
.. [F71] Fleiss (1971). Measuring nominal scale agreement among many raters. doi:10.1037/h0031619
.. [G08] Gwet (2008). Computing inter-rater reliability and its variance in the presence of high
   agreement. doi:10.1348/000711006X126600
.. [G14] Gwet (2014). Handbook of inter-rater reliability, 4th edition. Advanced Analytics.
.. [K70] Krippendorff (1970). Estimating the reliability, systematic error and random error of
   interval data. doi:10.1177/001316447003000105
.. [S55] Scott (1955). Reliability of content analysis: the case of nominal scale coding.
   doi:10.1086/266577
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from alikely._base.arrays import ROUNDING, Floats, within
from alikely._base.notes import note
from alikely.metrics.cells import divide, reason_of
from alikely.metrics.metric import Metric, Trust, items_without_spread, register


class Readings(NamedTuple):
    """Sums over items from which all coefficients of agreement are computed."""

    items: Floats
    agreement: Floats
    coincident: Floats
    shares: Floats
    paired: Floats
    given: Floats
    n_classes: NDArray[Any]


def _corrected(observed: Floats, expected: Floats) -> Floats:
    """Agreement beyond chance; NaN if no other agreement is possible."""
    # Rounding error if all ratings are of one class.
    rest = np.where(expected.real < 1 - 1e-12, 1 - expected, 0.0)
    beyond = observed - expected
    # If a reader always gives the same rating, the value is rounding error.
    beyond = np.where(np.abs(beyond.real) < 1e-15, beyond - beyond.real, beyond)
    return within(divide(beyond, rest), -1)


def _raw(counted: Readings) -> Floats:
    return within(divide(counted.agreement, counted.items))


def _square_of_shares(counted: Readings) -> Floats:
    """Sum of squared class proportions over all readers."""
    total = counted.shares.sum(axis=-1, keepdims=True)
    return np.asarray((divide(counted.shares, total) ** 2).sum(axis=-1))


def _cohen(counted: Readings) -> Floats:
    share = divide(counted.given, counted.given.sum(axis=-1, keepdims=True))
    n_readers = share.shape[-2]
    of_others = share.sum(axis=-2, keepdims=True) - share
    expected = (share * of_others).sum(axis=(-2, -1)) / (n_readers * (n_readers - 1))
    return _corrected(_raw(counted), expected)


def _fleiss(counted: Readings) -> Floats:
    return _corrected(_raw(counted), _square_of_shares(counted))


def _ac1(counted: Readings) -> Floats:
    expected = divide(1 - _square_of_shares(counted), counted.n_classes - 1.0)
    return _corrected(_raw(counted), expected)


def _brennan(counted: Readings) -> Floats:
    return _corrected(_raw(counted), 1 / np.asarray(counted.n_classes, np.float64))


def _alpha(counted: Readings) -> Floats:
    """1 minus the disagreement divided by the expected disagreement."""
    n = counted.paired.sum(axis=-1)
    different = within(n - counted.coincident, high=np.inf, slack=ROUNDING * n.real)
    pairs = n**2 - (counted.paired**2).sum(axis=-1)
    pairs = np.where(pairs.real > 1e-12 * n.real**2, pairs, 0.0)
    # The small-sample correction depends only on the number of ratings.
    less = divide(n.real - 1, n.real)
    return within(1 - less * divide(n * different, pairs), -1)


# Measured (`calibration.coverage_study`): with fewer, coverage is too low for coefficients whose
# chance agreement depends on class proportions.
RARE = Trust(
    lambda known: np.minimum(known["n_trials"] / 2, known.get("n_minority_ratings", np.inf)),
    10,
    note("few-rare-ratings", least=10),
    items_without_spread,
)


def _metric(name: str, short: str, label: str, value: Any, one_class: str, **more: Any) -> Metric:
    return register(
        Metric(
            name,
            value,
            "ratings",
            reason=reason_of(value, "no item with two ratings", one_class),
            label=label,
            short=short,
            # Measured (`calibration.coverage_study`): untransformed normal intervals have low
            # coverage if readers agree well.
            scale="logit",
            alongside=("n_readers", "n_missing", "n_minority_ratings", "error_consistency"),
            requested=("n_minority_ratings",),
            module=__name__,
            **more,
        )
    )


ONE_CLASS = "all ratings are of one class"
ONE_POSSIBLE = "there is only one class"
# For all readers it is Conger's kappa [C80]_.
COHEN_KAPPA = _metric(
    "cohen_kappa",
    # Not "kappa", because error consistency is also a kappa.
    "Cohen",
    "Cohen's kappa of ratings",
    _cohen,
    ONE_CLASS,
    trust=RARE,
    sources=("10.1177/001316446002000104", "10.1037/0033-2909.88.2.322"),
)
# For two readers it is Scott's pi [S55]_.
FLEISS_KAPPA = _metric(
    "fleiss_kappa",
    "Fleiss",
    "Fleiss' kappa of ratings",
    _fleiss,
    ONE_CLASS,
    trust=RARE,
    sources=("10.1037/h0031619",),
)
GWET_AC1 = _metric(
    "gwet_ac1",
    "AC1",
    "Gwet's AC1",
    _ac1,
    ONE_POSSIBLE,
    sources=("10.1348/000711006X126600",),
)
KRIPPENDORFF_ALPHA = _metric(
    "krippendorff_alpha",
    "alpha",
    "Krippendorff's alpha",
    _alpha,
    ONE_CLASS,
    trust=RARE,
    sources=("10.1177/001316447003000105",),
)
# For two classes it is the prevalence- and bias-adjusted kappa [BBC93]_.
BRENNAN_PREDIGER = _metric(
    "brennan_prediger",
    "PABAK",
    "PABAK of ratings",
    _brennan,
    ONE_POSSIBLE,
    sources=("10.1177/001316448104100307", "10.1016/0895-4356(93)90018-V"),
)
RAW_AGREEMENT = _metric(
    "raw_agreement", "equal", "proportion of equal ratings", _raw, "", bounds=(0.0, 1.0)
)
