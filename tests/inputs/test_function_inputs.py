"""Python functions with valid and invalid data, types and numbers."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import pandas as pd
import study_data as w
from cases import Case, check_each, table

import alikely as al

P, K, t, nan = w.table(), w.FEW, w.trials, float("nan")
A, C, TB = al.Trials.from_arrays, al.Trials.from_correct, al.Trials.from_table
R, TR = [["x", "y", "x"], ["x", "x", "y"]], ["x", "y", "x"]
# Error messages for arguments of another type.
TYPE = "expected |must be |is needed|is missing"


def ec(**how: Any) -> pd.DataFrame:
    return al.error_consistency(t(), "human-model", **(K | how)).summary()


CASES = table(
    r"""
WORKS => A([['x', nan, 'x'], ['x', 'x', 'y']], TR)
WORKS => A([['x', pd.NA, 'x'], ['x', 'x', 'y']], TR)
'nan' \(observer 0, trial => A(np.array([['x', nan, 'x'], ['x', 'x', 'y']]), TR)
WORKS => A([[1, nan, 1], [1, 2, 1]], [1, 2, 1])
WORKS => A(np.ma.masked_equal([[1, 2, 1], [1, 2, 0]], 0), [1, 2, 1])
rows of response have => A([['x'], ['x', 'y']], ['x', 'y'])
response must have shape \(observer => A(R, ['x'])
truth has no value on trial 1 => A(R, ['x', None, 'x'])
no trials: got 2 observers and 0 trials => A([[], []], [])
'\{\}' \(observer 0, trial 0\) is not => A([[{}, 'y', 'x'], ['x', 'x', 'y']], TR)
"b.x." \(observer 0, trial 0\) => A([[b'x', b'y', b'x'], [b'x', b'x', b'y']], TR)
WORKS => A(np.array([['2020-01-01'] * 3] * 2, 'datetime64[D]'), ['2020-01-01'] * 3)
WORKS => A([[True, False, True]] * 2, ['True', 'True', 'False'])
WORKS => A([[1.0, 2.0, 1.5], [1, 2, 1]], [1, 2, 1.5])
observers must be a list, such as => A(R, TR, observers='ab')
labels must map names to one => A(R, TR, labels=['a', 'b'])
a label of observers => A(R, TR, labels={'class': ['a', 'b']})
must not have the name 'observer' => TB(P, labels=['observer'])
WORKS => A(R, TR, labels={'trial_group': ['a', 'b']})
labels of observers must => A(R, TR, labels={3: ['a', 'b']})
observers has no value at => A(R, TR, observers=['a', nan])
a label must be text or a => A(R, TR, observers=['', 'b'])
classes has 'y' twice; list => A(R, TR, classes=['x', 'y', 'y'])
classes must be a list, such as \['cat' => A(R, TR, classes=2)
classes has '1' twice => A([[1, 2, 1], [1, 2, 1]], [1, 2, 1], classes=[1, '1', 2])
WORKS => A(R, TR, classes=['x', 'y', '(no response)'])
'\(no response\)' is a class, but also the name of missing responses; =>
    al.misclassification_agreement(TB(w.renamed('response', dog='(no
    response)').assign(truth=P.truth.replace('dog', '(no response)'), response=lambda f:
    f.response.where(f.index % 7 > 0))), **K).summary()
repeat must be 3 whole => A(R, TR, repeat=[0.0, 1.0, 2.0])
WORKS => A(R, TR, item=['a'] * 3, repeat=[2 ** 60, 2 ** 60 + 1, 2 ** 61])
trial 1 repeats item 'a' in its => A(R, TR, item=['a', 'a', 'b'])
WORKS => C([[1, pd.NA, 0], [1, 1, 0]])
correct must be 0, 1 or NaN, got => C([[1 + 0j, 0], [1, 1]])
WORKS => C([['1', '0'], ['1', '1']])
correct must have shape \(observer, trial\), got => C([1, 0])
rows of correct have different lengths => C([[1, 0], [1]])
WORKS => C(pd.DataFrame({'a': [1, 0], 'b': [pd.NA, 1]}, dtype='Int64').T)
WORKS => C(xr.DataArray([[1, 0], [0, 1]]))
expected a pandas, polars or => TB({'observer': ['a']})
no table was given => TB()
no column 'observer'; the columns are kind => TB(P.set_index(['observer', 'item']))
column 'item' mixes text and numbers; make it one type, for instance => TB(P.assign(item=[1 if i
    % 2 else 'a' for i in range(len(P))]))
no column 0; the columns are 0 => TB(P.rename(columns={'observer': 0}), observer=0)
the table is empty: it has no rows; expected => TB(P.iloc[:0])
observer 'anna' has two rows for => TB(P.assign(item=np.inf))
WORKS => TB(P.assign(item=P.index % 48 + 0.5))
WORKS => TB(P.assign(condition=pd.Timestamp('2020-01-01'), item=P.item + P.condition))
column 'item' has type list<item: int64> => TB(P.assign(item=[[1]] * len(P)))
WORKS => TB(P.assign(observer=P.observer.str.encode('utf8')))
no column 'species'; the => TB(P, kind='species')
labels must be a list, such as \['a', 'b'\] => TB(P.assign(lab='x'), labels='lab')
WORKS => al.error_consistency(TB(P.assign(pair='x', observer_a='y', cells='z'), labels=['pair',
    'observer_a', 'cells']), **K).summary()
column 'kind' is in table 0 but not in table 1 => TB(P.iloc[:100],
    P.iloc[100:].drop(columns='kind'))
WORKS => TB(pd.DataFrame({'observer': ['a', 'b'], 'item': [1, 1], 'correct': ['1.00', '0']}))
path must be a path, a pandas, polars or => al.Trials.read(3)
no file was given => al.Trials.read([])
path is empty; give the name of a file => al.Trials.read('')
no file 'https://example\.org/t\.csv' => al.Trials.read('https://example.org/t.csv')
no file 't\.csv' => al.Trials.read('t.csv', observr='x')
no condition 'none'; choose from => t().select(condition='none')
nothing is left: no selected => t().select(condition=[])
n_options must be whole numbers, one for => t().with_options(None)
WORKS => t().with_probabilities(np.full((5, 48, 3), nan))
probabilities must be => t().with_probabilities(np.full((5, 48, 3), None, object))
n_resamples must be a whole number, 0 for none => ec(n_resamples=50.0)
by must be one of 'condition', 'dataset', None; got 'block' => ec(by='block')
no_response must be one of 'error' => ec(no_response='ignore')
rng must not be negative, got -1 => ec(rng=-1)
cluster must name a trial coordinate \(item => ec(cluster=3)
prior must be four positive numbers \(n11, n10, n01 => ec(prior='flat')
prior of u must be two positive Beta => ec(prior={'u': (1,)})
each pair must be two => al.error_consistency(t(), [('anna', 'ben', 'carl')], **K)
model must be 'copying', or a => ec(model='copy', sampler='nuts')
no comparison has observer_b 'net_z'; expected one of => al.difference(w.result(),
    {'observer_b': 'net_z'}, {'observer_b': 'net_a'})
WORKS => al.error_consistency(TB(w.renamed('observer', anna='$a_1$ & 50% #x',
    net_a='\\net{}~^')), **K).to_latex()
WORKS => al.test_copy_model(al.misclassification_agreement(t(), **K))
results must be at => al.metric_correlations([w.result()])
no model with a score is named 'nobody' => w.scores().sentence(difference=('net_a', 'nobody'))
level must be one of => w.scores().summary(level='nowhere')
have no posterior draws => al.benchmark_scores(t(), **K | {'n_draws': 0}).draws('posterior')
no system is named 'net_q'; .*did you mean 'net_ => al.mean(w.scores(), 'net_q')
must name systems, each once; got => al.mean(w.scores(), ['net_a'] * 2)
a label of the observers \(none\), got => al.benchmark.differences(w.scores(), groups='colour')
at least two, got a => al.benchmark.differences(w.scores(), groups={'net_a': 'a'})
only 2 humans: .* pass generalize_to='images' => al.benchmark.differences(w.two_humans())
WORKS => w.two_humans().sentence('images', difference=('net_a', 'net_b'))
at least two observers of kind => al.benchmark_scores(t().select(observer=['anna', 'net_a']), **K)
of data set 'all' is named 'fog' => al.exclude_conditions(t(), {'all': ['fog']})
no data set may be|no level may be => al.benchmark_scores(
    t().with_levels({'all:clean': 'overall', 'all:noisy': 'overall'}), **K)
at least two metrics, each once => al.benchmark.rank_by_metric(t(), ['error_consistency'])
between must be a label of the observers => al.benchmark.group_scores(t(), 'familyy', **K)
at least two groups, one with at least => al.benchmark.group_scores(t().select(kind='human'), **K)
'ben' has no family => al.benchmark.agreement_regression(w.matrix(), {'anna': 'a'})
n_draws must be at least 2 => al.benchmark.agreement_regression(w.matrix(), {}, n_draws=1)
TYPE => al.benchmark.agreement_regression(1, {})
copy_probability must lie in => al.simulate.cohort([1.5], [0.5], 0.5, 0.5)
order of a pair; use compare => al.pairwise_matrix(t(), 'copy_probability')
undefined in some condition: c x d => al.benchmark.agreement_regression(al.pairwise_matrix(
    C([[1, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 1]], observers=list('abcd'))), {})
must be finite numbers, got ben \(nan\) => al.benchmark.judge_agreement(w.matrix(),
    {'anna': {'ben': nan}})
scores must map judges to => al.benchmark.judge_agreement(w.matrix(), {'anna': [1]})
generalize_to must be one of => w.scores().summary('cats')
no observer is of kind 'robot' => al.benchmark_scores(t(), models='robot', **K)
no data set has a model to score => al.benchmark_scores(t(), models='human', **K)
human_ids must be one of => al.benchmark_scores(t(), human_ids='both', **K)
exclude must be one of => al.exclude_conditions(t(), 'imagenet')
'all:clean' has no level => t().with_levels({'clean': 'a'})
item_scope must be one of => al.benchmark_scores(t(), item_scope='image', **K)
ceiling_normalized must lie in => al.papers.reconstruct_score(nan, 0.4, [0.8, 0.8], 100)
ceiling must lie in => al.papers.reconstruct_score([0.5], [nan], [[0.8, 0.8]], 100)
n_trials must be whole => al.papers.reconstruct_score([0.5], [0.4], [[0.8, 0.8]], 0)
n_samples must lie in \(99, inf\), got 0 => al.papers.reconstruct_score([0.5], [0.4], [[0.8,
    0.8]], 100, n_samples=0)
WORKS => al.papers.reconstruct_score([0.5], [0.4], [[0.8]], 100, n_samples=100)
chance must lie strictly between => al.difficulty_spectrum(t(), 'clean', chance=2)
correction must be finite => al.difficulty_spectrum(t(), 'clean', correction=-1)
k must lie between 1 and => al.regimes(al.difficulty_spectrum(t(), 'clean'), k=0)
a fitted spectrum takes no other arguments, got k, n_starts, rng; omit them =>
    al.regimes(xr.DataTree(), 2, n_starts=10, rng=1)
column 'margin' must contain finite numbers, got inf for observer =>
    al.decision_margin_consistency(t(), w.margins().assign(margin=np.inf), **K)
WORKS => al.decision_margin_consistency(t(), w.margins().assign(margin=lambda f: f.margin *
    1e-200), **K).summary()
counts must be whole numbers from 0, got -1 => al.data.from_counts([-1, 2, 3, 4])
counts must have the four => al.data.from_counts([1, 2, 3])
WORKS => al.error_consistency(al.data.from_counts([0, 0, 0, 0]), **K).summary()
trials: .* of memory => al.data.from_counts([10 ** 15, 1, 1, 1])
'z' .truth of trial 1. is not among => A(R, ['x', 'z', 'x'], classes=['x', 'y'])
have no data set in common => al.error_consistency(C(np.ma.masked_array(np.eye(2),
    np.eye(2)), dataset=['p', 'q']), [('observer_0', 'observer_1')])
TYPE => al.difference(t(), {'observer_b': 'net_a'}, {'observer_b': 'net_b'})
TYPE => al.metric_correlations([t(), t()])
TYPE => al.planning.plan_reader_study(t(), [5], [100])
TYPE => al.benchmark.judge_agreement(t(), {})
TYPE => al.difficulty_spectrum(w.result(), 'clean')
TYPE => al.decision_margin_consistency(w.result())
column 'item' contains texts in one table and numbers in table 1 => TB(P, P.assign(item=P.index,
    observer='other'))
no value in row 2 of table 1 => TB(P, P.assign(truth=P.truth.where(P.index != 2),
    observer='other', kind='model'))
""",
    globals(),
)
# Functions of trials with another argument.
OF_TRIALS = (
    "error_consistency", "compare", "agreement", "pairwise_matrix", "benchmark_scores",
    "fit_cohort", "misclassification_agreement", "error_similarity", "condition_alignment",
    "fit_observers", "benchmark.group_scores", "benchmark.multiverse_analysis",
    "benchmark.rank_by_metric", "estimates.response_noise", "planning.variance_components",
)  # fmt: skip
CASES += [
    Case(f"{name} of {what}", TYPE, lambda f=attrgetter(name), x=given: f(al)(x))
    for name in OF_TRIALS
    for what, given in (("a frame", P), ("None", None), ("a result", w.result()))
]
OF_RESULTS = (
    "mean", "test_copy_model", "planning.plan_repeats", "planning.plan_from", "regimes",
    "fit_spectrum", "benchmark.families", "estimates.independent_observers",
    "benchmark.scores_from_result",
)  # fmt: skip
CASES += [Case(name, TYPE, lambda f=attrgetter(name): f(al)(t())) for name in OF_RESULTS]


test_inputs = check_each(CASES)
