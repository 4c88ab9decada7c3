"""Metrics, limits, models and margins with invalid numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
import study_data as w
from cases import check_each, table

import alikely as al
from alikely.inference import independence, null, sampling
from alikely.margins import model_margins
from alikely.metrics import bounds, consistency, copying, errors, margins, metric, options
from generative.item_margins import item_margins

# Names used in rows, in addition to the functions below.
NAMED = {
    "EC": consistency, "bounds": bounds, "capa": options.capa_matrices,
    "cells": consistency.cell_prior, "copying": copying, "dm": model_margins.decision_margins,
    "errors": errors, "fisher": independence.fisher_log10_p, "find": metric.find_metric,
    "get": metric.get_metric, "independent": null.independent_posterior,
    "margins": margins, "metric": metric.Metric,
    "null": null, "posterior": sampling.posterior,
}  # fmt: skip
P, I2 = np.full((2, 3, 2), 0.5), np.eye(3)
COUNTS, R2, S2 = [100, 20, 20, 20], [[2, 1, 0, 2, 1, 0], [2, 0, 1, 2, 1, 1]], np.full((2, 6), 2)
EC3 = np.array([[12, 3, 4, 1], [5, 8, 3, 4], [19, 1, 0, 0]])
with pm.Model():
    ELSEWHERE, HELD = pm.Normal("elsewhere"), pm.Data("held", 1.0)
# Column of the error in a table of scores.
X = "observer 'net', dataset 'all', condition 'all', item 'x'"
Y = X.replace("'x'", "'y'")


def first(values: Any) -> Any:
    return np.asarray(values)[..., 0] * 1.0


def items(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "right": [9, 3, 7, 1, 6, 8], "shown": [10] * 6, "n_alternatives": 16,
        "margins": [1.2, -0.4, 0.9, -1.0, 0.1, 1.1], **changed,
    }  # fmt: skip
    return item_margins(**given)


def observers(right: Any = R2, shown: Any = S2) -> Any:
    return al.models.observer_margins(right, shown, n_alternatives=16)


def spectrum(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "right": [90, 80, 95, 40, 50, 30], "shown": [100] * 6, "condition": [0, 0, 0, 1, 1, 1],
        "person": [0, 1, 2, 0, 1, 2], "is_reference": [True, False], "k": 2, **changed,
    }  # fmt: skip
    return al.models.spectrum(**given)


def people(**how: Any) -> Any:
    counts = al.data.cohort_counts(w.trials(), who_was_right="who" not in how)
    return al.models.cohort(counts, **{"human_effects": "drawn"} | how.get("more", {}))


def prior(**priors: Any) -> Any:
    return al.models.copying(COUNTS, independent=True, priors=priors)


def scores(**changed: Any) -> pd.DataFrame:
    return pd.DataFrame(
        {"observer": "net", "item": [*"xxyy"], "truth": ["cat", "cat", "dog", "dog"],
         "class": ["cat", "dog"] * 2, "logit": [1.0, 0.0, 2.0, 3.0], **changed}
    )  # fmt: skip


def chances(*p: float) -> pd.DataFrame:
    return scores(probability=list(p)).drop(columns="logit")


test_inputs = check_each(
    table(
        r"""
n_options must be given for responses => capa([[0, 1, 0]], [0, 0, 1], None)
observer 0 chose option 3 of question 2, whose 3 options => capa([[0, 1, 3]], [0, 0, 1], 3)
truth must be 3 whole numbers => capa([[0, 1, 1]], [0, 1], 2)
got shape => capa([0, 1], [0, 1], 2)
include NaN; give all options => capa(np.where([True, False], P, nan), [0, 0, 1], None)
probabilities must be floats => capa(np.ones((2, 3, 2), int), [0, 0, 1], 2)
four positive numbers \(n11, n10, n01, n00\).*, got \(1, 1, 1\) => cells((1, 1, 1))
four positive numbers => cells((1, 0, 1, 1))
four positive numbers => cells(2)
prior of u must be two positive => cells({'u': (1, 1, 1)})
unknown name in prior: copy_probability; give Beta => cells({'copy_probability': (1, 1)})
joint draws needs a Dirichlet prior on the four cells, got p_a ~ Beta =>
    cells({'u': (1, 1)}).patterns('joint draws')
joint draws needs a Dirichlet prior with n10 = n01 => cells((1, 2, 1, 1)).patterns('joint draws')
n11 n00 >= n10 n01, got .*; give such parameters, as prior= => cells((1, 2, 2, 1)).patterns('x')
four cells n11, n10, n01, n00 on the last axis, got shape \(3,\) =>
    EC.error_consistency([1, 2, 3])
got shape \(\) => EC.error_consistency(5)
must not be negative, got -1 => EC.error_consistency([1, 2, -1, 4])
strictly between 0 and 1, got 0 or 1 => bounds.accuracy_bounds(1.0, 0.5)
accuracy_a must lie in \[0, 1\] => EC.expected_agreement(1.2, 0.5)
exchange the observers => copying.copy_parameters(1.0, 0.5, 0.0)
a square table of classes => errors.misclassification_agreement([1, 2])
base must be 2, e or 10 => errors.error_divergence(I2, I2, base=3)
alpha must be above 0 => errors.error_divergence(I2, I2, alpha=0)
mixture must be 'mean' or 'pooled', got 'max' => errors.error_divergence(I2, I2, mixture='max')
factor must be above 0, got 0 => margins.spearman_brown(0.5, 0)
a probability of item 0 is 0 => margins.scores_of_probabilities([[1.0, 0.0]])
5 common items, got 0 => margins.margin_moments(np.full(5, nan), np.ones(5))
did you mean 'error_consistency'\? => get('error_consistancy')
no option 'alpha'; its options are: none => get('EC', alpha=1)
its options are: alpha, mixture, base => get('CLES', beta=1)
no metric at 'nowhere:X' => find('nowhere:X')
must be a Metric, got type => find('alikely.metrics:Metric')
features of a metric must be one of 'correctness', 'labels', 'rows', 'margins',  =>
    metric('x', first, 'pairs')
must be 'identity', 'fisher' or 'logit', got 'log' => metric('x', first, 'labels', scale='log')
n00 on the last axis, got shape \(3,\) => fisher([1, 2, 3])
must not be negative, got -4 => fisher([1, 2, 3, -4])
sampler must be 'auto', 'exact' => independent(EC3, sampler='gibbs')
pairs must name all 3 tables, got 1 names => independent(EC3, ['x'])
counts must be whole numbers from 0, got -3 => null.null_draws([1, 2, -3, 4])
needs prior margins above 1 => null.log_bayes_factor([1, 2, 3, 4], prior=0.5)
between 0 and shown, got 11 of 10 => items(right=[11, 3, 7, 1, 6, 8])
right must be whole numbers, got 0.5 => items(right=[0.5, 3, 7, 1, 6, 8])
all margins are 1, and a constant has no correlation => items(margins=[1.0] * 6)
one value for each of 6 items, got shape \(5,\) => items(margins=[1.2, -0.4, 0.9, -1.0, 0.1])
whole number of at least 2, got 2.5 => items(n_alternatives=2.5)
shape \(2, item\), of two groups; got \(6,\) and \(6,\) => items(margins=None)
all responses of a group to an item are the same => items(right=[0, 10, 0, 10, 0, 0])
sampler must be 'auto' => posterior(al.data.from_counts([1, 1, 1, 1]), 'gibbs')
counts must be whole numbers from 0, got 0.5 => al.models.copying([1, 1, 1, 0.5])
at least 2 observers, got 1 => observers(R2[:1], S2[:1])
must have shape \(observer, item\); got \(6,\) => observers(R2[0], S2[0])
one entry per .* got shapes \(6,\), \(5,\) => spectrum(shown=[100] * 5)
0 <= right <= shown => spectrum(right=[-1, 80, 95, 40, 50, 30])
condition must be numbered from 0 without gaps => spectrum(condition=[0, 0, 0, 2, 2, 2])
at least 3 entries .* got 0; name more => spectrum(is_reference=[False, False])
k must lie between 1 and the number of conditions, 2; got 3 => spectrum(k=3)
human_effects='drawn' has no covariates => people(more={'covariates': {'model': {}}})
human_effects must be one of False, 'drawn'; got 'fixed' => people(more={'human_effects': 'fixed'})
needs counts by who was correct => people(who=False)
alpha > 0 => prior(p_a=(0, 1))
no prior of 'p_aa'; priors= takes p_a, p_b; did you mean 'p_a'\? => prior(p_aa=(1, 1))
support of its default, Beta\(1, 1\); Normal\(0, 1\) also => prior(p_a=pm.Normal.dist(0, 1))
support of its default, Beta\(1, 1\); Exponential\(9 => prior(p_a=pm.Exponential.dist(900))
Beta\(alpha, beta\), takes 2 finite parameters, got 3 => prior(p_a=3)
Beta\(alpha, beta\), takes 2 finite parameters, got \('a', 2\) => prior(p_a=('a', 2))
'p_a' must be a distribution without a name, such as pm.Normal => prior(p_a=pm.Beta.dist)
must be continuous, as its default is, got Poisson\(3\) => prior(p_a=pm.Poisson.dist(3))
depends on held, which has no fixed value; give => prior(p_a=pm.Normal.dist(HELD, 1))
depends on elsewhere, which has no fixed value => prior(p_a=pm.Normal.dist(ELSEWHERE, 1))
must be a distribution, such as pm.Normal => prior(p_a=pm.math.exp(pm.Normal.dist()))
a single number or of shape \(1,\) \(pair\), got shape \(2,\) => prior(p_a=([1, 2], 1))
must be of shape \(2,\) \(regime\), got shape \(3 => spectrum(priors={'regime_weight': [4, 4, 2]})
expected exactly one of the columns 'margin', => dm(scores().drop(columns='logit'))
no column 'subject'; the columns are obs => dm(scores(), columns={'observer': 'subject'})
got 'logits'; did you mean 'logit' => dm(scores(), columns={'logits': 'x'})
'truth' has no value in row 2 => dm(scores(truth=['cat', 'cat', None, 'dog']))
classes without a coarse => dm(scores(), coarse={'cat': 'animal', 'dog': nan})
how must be one of 'mean', 'mean_probability'; got 'median' =>
    dm(scores(), coarse={'cat': 'feline', 'dog': 'canine'}, how='median')
column 'logit' must contain numbers, got '1,5' => dm(scores(logit=['1', '2', '1,5', 'much']))
UNKNOWN => dm(scores(truth=['cat', 'cat', 'bird', 'bird']))
TWICE => dm(scores(**{'class': ['cat', 'cat', 'cat', 'dog']}))
LACKING => dm(scores().iloc[:3])
SUM => dm(chances(0.5, 0.5, 0.2, 0.6))
NOTHING => dm(chances(0.5, 0.5, nan, 1.0))
""",
        globals()
        | NAMED
        | {
            "UNKNOWN": f"truth 'bird' of {Y} is none of the 2 classes cat, dog; add its scores, or",
            "TWICE": f"two rows for {X}, class 'cat': row 0 and row 1; keep one, or disting",
            "LACKING": f"no row for {Y}, class 'dog': got 1 of 2 classes; add what is missing, or",
            "SUM": f"must not be negative and sum to 1, those of {Y} sum to 0.8; give logits as",
            "NOTHING": f"'probability' must .* got nan for {Y}",
        },
    )
)
