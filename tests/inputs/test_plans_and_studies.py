"""Plans, simulators, families of models and studies with invalid input."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pandas as pd
import study_data as w
from cases import check_each, table

import alikely as al
from alikely.papers import families
from alikely.simulate import simulators

ranked, permuted, profiled = (
    families.family_ranks, families.permutation_test, families.profile_tests
)  # fmt: skip
copies = simulators.copy_cell_probabilities
nan, POINT = float("nan"), {"n_resamples": 0, "n_draws": 0}
t, result, observers = w.trials, w.result, al.simulate.observers
plans, width, power = al.planning, al.trials_for_width, al.trials_for_power
difference, margins, items = (
    plans.trials_for_difference, plans.items_for_margins, plans.items_for_agreement
)  # fmt: skip
pair, believed = (0.75, 0.75, 0.5), {"accuracy_a": 0.75, "accuracy_b": 0.75, "ec": 0.5}
similarity, study, sbc = (
    al.papers.representation_similarity, al.calibration.coverage_study, al.calibration.sbc
)  # fmt: skip
AGREEMENT = {"metric": "misclassification_agreement"}
eye, names = np.eye(4), list("abcdef")
far = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
distances, groups = pd.DataFrame(far, names, names), dict(zip(names, "xxxyyz", strict=True))
uneven = distances + np.eye(6)[[1, 0, 2, 3, 4, 5]] * [1, 0, 0, 0, 0, 0]
four = pd.DataFrame(np.arange(8.0).reshape(4, 2), list("abcd"))
two = dict(zip("abcd", "xxyy", strict=True))


def spectrum() -> Any:
    return al.difficulty_spectrum(al.load_example(), "clean", correction=0.5)


def about(kind: str, **columns: Any) -> Any:
    """A fit with a covariate of humans."""
    people = [f"all:human_{i}" for i in range(1, 5)]
    table = pd.DataFrame(columns, people)
    return al.fit_spectrum(spectrum(), 2, covariates={kind: table})


@functools.cache
def components() -> pd.DataFrame:
    return plans.variance_components(al.load_example().select(condition="noise")).tail(1)


@functools.cache
def again() -> al.Result:
    """A result with two responses to each item."""
    return al.error_consistency(al.simulate.repeated_answers(30, (2, 2), rng=1)[0], **POINT)


def errors(*setting: Any) -> pd.DataFrame:
    columns = ["copy_probability", "n_classes", "n_joint_errors", "peakedness"]
    return pd.DataFrame([setting], columns=columns)


def uneven_repeats() -> al.Trials:
    return al.Trials.from_correct(
        np.random.default_rng(1).integers(0, 2, (4, 5)), kind=["human"] * 4,
        item=[0, 0, 1, 1, 2], repeat=[0, 1, 0, 1, 0],
    )  # fmt: skip


CASES = table(
    r"""
in \[-0.2000, 0.2000\] for acc => width(0.9, 0.5, 0.5, 0.2)
accuracy_b must lie strictly .* got nan => width(0.75, nan, 0.5, 0.2)
not both or neither => width(*pair, 0.2, n_trials=100)
width must lie in \(0, 2\], .* got 2.1 => width(*pair, [0.2, 2.1])
assurance must lie .* got 1; try 0.8, or leave it => width(*pair, 0.2, assurance=1)
against must be an error consistency .* got nan => power(*pair, against=nan)
must be greater than 0 for => power(0.75, 0.75, -0.2, alternative='greater')
the two models must => difference(0.75, 0.75, 0.75, 0.8, 0.1, 0.8)
accuracy_human must lie strictly .* got 1 => difference(1, 0.75, 0.75, 0.5, 0.3)
rope must be => plans.plan_from(believed, [100], rope=(0.1, -0.1))
ec must be a number, a frozen => plans.plan_from(believed | {'ec': [nan]}, [100])
must have the keys accuracy_a, accuracy_b, ec => plans.plan_from({'ec': 0.5}, [100])
against \(2,\), .*; to => margins([0.5] * 3, against=[0.1, 0.2])
power must .* got 1; it cannot => margins(0.3, power=1)
and below 0.5 => margins(0.3, 5, 0.5, 0.6)
and below 1; got 1 => items(1.0, 0.2)
not both or neither => items(0.5, 0.2, n_items=50)
the sum 1, got \(0.5, 0.6\) => items(0.5, 0.2, class_frequencies=(0.5, 0.6))
trials_for_width => items(0.5, 0.2, coefficient='error_consistency')
budget must be at least 36, the cost of 2 humans => plans.best_design(components(), 10, 0.8, 10)
max_images must be at least 10 => plans.best_design(components(), 100, 0.8, 10, max_images=3)
n_repeats must be 1: the pilot has no repeats => plans.expected_errors(components(), 4, 100, 2)
components lacks the column 'images' => plans.expected_errors(components().drop(columns='images'),
    4, 10)
at least 4 humans in a data set, 'all' has 3 => plans.variance_components(observers(3, 1, 50))
shown equally often, got 1 to 2 times => plans.variance_components(uneven_repeats())
the effect of repeats is unknown => plans.plan_repeats(result())
whole numbers of at least 1 => plans.plan_repeats(again(), [0])
got 1.5 => plans.plan_repeats(again(), [1.5])
n_items must be whole numbers of at least 2 => plans.plan_repeats(again(), n_items=1)
keep_pilot=False => plans.plan_from(again(), n_trials=[100], keep_pilot=True)
n must be at most 24, the images of => plans.choose_images(t(), 300)
unknown model 'm9'; the models are: net_a, net_b => plans.choose_images(t(), 16,
    ('net_a', 'm9'))
are correct on the same images in all all: their diff => plans.choose_images(al.Trials.from_correct(
    eye[[0, 0]], kind=['model'] * 2), 2)
accuracy_a must lie in \[0, 1\], got 1.2 => copies(1.2, 0, 0.5)
correlation must lie in \[-1, 1\], got 2 => observers(correlation=2)
families must have 4 entries, got 1 => observers(2, 2, families=['x'])
got 6 groups of 6 => permuted(distances, dict(zip(names, names)))
'b' has no group; add the group => permuted(distances, groups | {'b': None})
'b' has no stratum \(names without: 5 of 6 => permuted(distances, groups, within={'a': 'x'})
must be at least 2, got 1 => permuted(distances, groups, n_permutations=1)
symmetric, but 'a' to 'b' is => permuted(uneven, groups)
same names in the same => permuted(distances[names[::-1]], groups)
at least one grouping, got none => al.papers.compare_groupings(distances, {})
family 'x' is in two => profiled(four, two, {'a': 'p', 'b': 'q', 'c': 'q', 'd': 'q'})
unknown 'anna'; known => profiled(four, two | {'anna': 'x'}, two)
'b' has no group \(names without: 3 of 4\) => profiled(four, {'a': 'x'}, two)
scores have 'a' twice => ranked(pd.Series([1.0, 2.0], ['a', 'a']), {'a': 'x'})
at least 4 items, got .* shape \(3, 2\) => similarity({'a': np.ones((3, 2)), 'b': eye}, 'cka')
of item 1 is not finite => similarity({'a': [[1.0], [nan], [1], [1]], 'b': eye}, 'cka')
the same shape, got => similarity({'a': eye, 'b': np.full((4, 3), 1 / 3)}, 'soc')
those of item 0 do not: take the softmax => similarity({'a': eye, 'b': 2 * eye}, 'soc')
class number, 0 to 3, for each of 4 items => similarity({'a': eye, 'b': eye}, 'soce',
    truth=[0, 4, 1, 1])
must describe condition, human, got 'model' => about('model', a=[1, 2, 3, 4])
'sd' of human would be named 'ability_sd' => about('human', sd=[1, 2, 3, 4])
'gap' of human would be named 'gap' => about('human', gap=[1, 2, 3, 4])
methods must be among 'posterior', .*got => study(methods=['magic'])
n_datasets must be at least 100 and n_draws at least 100 => study(n_datasets=5)
metric must be one of 'error_consistency', .*got 'kappa' => study(metric='kappa')
methods must be among 'analytic', .*got => study(methods=['wald'], **AGREEMENT)
ci_prob must lie strictly between 0 and 1, got 1 => study(ci_probs=[1.0], **AGREEMENT)
n_draws at least 100, got 200 and 50 => study(n_draws=50, **AGREEMENT)
copy_probability .* from 0 to 1 => study(errors(1.5, 4, 20, 0), **AGREEMENT)
peakedness .* got 'x' => study(errors(0.5, 4, 20, 'x'), **AGREEMENT)
_consistency, a metric of margins => study(metric='decision_margin_consistency')
for error_consistency, the columns accuracy_a => study(errors(0.5, 4, 20, 0))
n must be at least 2, thin and tune at least 1; got 1, 20 and 500 => sbc(None, 1)
thin and tune at least 1 => sbc(None, 2, thin=0)
quantities must be among p_a, u, v, .*; got 'rho' => sbc(al.models.copying([60, 0, 0, 0]), 2,
    quantities=['rho'])
""",
    globals(),
)


test_inputs = check_each(CASES)
