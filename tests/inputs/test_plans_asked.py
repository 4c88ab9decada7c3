"""Plans of numbers that cannot be, in Python and on the command line."""

from __future__ import annotations

from cases import Ran, check_each, cli, table

import alikely as al

P, nan = al.planning, float("nan")


def run(words: str) -> Ran:
    """A plan of the command line."""
    return cli(f"{words} --quiet")()


CASES = table(
    r"""
WORKS => al.trials_for_width(0.8, 0.8, 0.3, 0.2, n_coverage=0, rng=1)
accuracy_a must lie strictly between 0 => al.trials_for_width(1.2, 0.8, 0.3, 0.2)
accuracy_a must lie strictly between 0 => al.trials_for_width(nan, 0.8, 0.3, 0.2)
accuracy_a must be one number or several, got .high => al.trials_for_width('high', 0.8, 0.3, 0.2)
error_consistency must lie in \[-0\.2500 => al.trials_for_width(0.8, 0.8, 2, 0.2)
error_consistency must lie in => al.trials_for_width(0.99, 0.5, 0.9, 0.2)
width must lie in \(0 => al.trials_for_width(0.8, 0.8, 0.3, 0)
width must lie in \(0 => al.trials_for_width(0.8, 0.8, 0.3, -1)
width is too small: it needs 2\.0e\+25 trials => al.trials_for_width(0.8, 0.8, 0.3, 1e-12)
ci_prob must lie strictly => al.trials_for_width(0.8, 0.8, 0.3, 0.2, ci_prob=2)
assurance must lie strictly => al.trials_for_width(0.8, 0.8, 0.3, 0.2, assurance=2)
interval must be one of 'analytic', 'bootstrap', 'posterior'; got 'magic' =>
    al.trials_for_width(0.8, 0.8, 0.3, 0.2, interval='magic')
metric must be one of => al.trials_for_width(0.8, 0.8, 0.3, 0.2, metric='kapa')
inputs must broadcast, got shapes accuracy_a \(2,\), accuracy_b \(3,\) =>
    al.trials_for_width([0.8, 0.7], [0.8, 0.7, 0.6], 0.3, 0.2)
WORKS => al.trials_for_width([], [], [], 0.2)
ec must differ from 0, the value tested against: no => al.trials_for_power(0.8, 0.8, 0)
power must lie strictly between 0 and 1 => al.trials_for_power(0.8, 0.8, 0.3, power=1)
power must lie strictly between 0 and => al.trials_for_power(0.8, 0.8, 0.3, power=nan)
alpha must lie strictly between 0 and 1 => al.trials_for_power(0.8, 0.8, 0.3, alpha=0)
power must be above alpha => al.trials_for_power(0.8, 0.8, 0.3, alpha=0.9)
ec must differ from 0\.3 => al.trials_for_power(0.8, 0.8, 0.3, against=0.3)
alternative must be one of 'two-sided', 'greater', 'less'; got 'both' =>
    al.trials_for_power(0.8, 0.8, 0.3, alternative='both')
ec must be less than 0 for => al.trials_for_power(0.8, 0.8, 0.3, alternative='less')
ec must be an error consistency in \[-1, 1\], got => al.trials_for_power(0.8, 0.8, None)
n_trials must be whole numbers of at => P.interval_width(0.8, 0.8, 0.3, 10.5)
n_trials must be whole numbers of at least 2 => P.interval_width(0.8, 0.8, 0.3, 0)
n_trials must be one number or several => P.interval_width(0.8, 0.8, 0.3, 'many')
WORKS => P.interval_width(0.8, 0.8, 0.3, 10 ** 12)
ec_a and ec_b must differ: no => P.trials_for_difference(0.8, 0.8, 0.8, 0.3, 0.3)
width must lie in => P.assurance((80, 20), (80, 20), (3, 7), n_trials=100, width=0)
could not convert => P.assurance('high', (80, 20), (3, 7), n_trials=100, width=0.2)
either n_trials or width is needed, got => P.plan_from(w.result())
n_trials must be whole => P.plan_from(w.result(), [10.5])
width must lie in \(0 => P.plan_from(w.result(), width=-1)
variance components => P.expected_errors(P.variance_components(w.trials()), 0, 100)
variance components need at least 4 humans in a data set, 'all' has =>
    P.expected_errors(P.variance_components(w.trials()), 2.5, 100)
variance components => P.expected_errors(P.variance_components(w.trials()), 5, nan)
variance components => P.best_design(P.variance_components(w.trials()), 0, 1, 1)
variance components => P.best_design(P.variance_components(w.trials()), nan, 1, 1)
accuracy must lie strictly => P.item_precision(nan, 10)
n_answers must be whole => P.item_precision(0.8, 10.5)
dmc must lie strictly between => P.items_for_margins(2)
dmc and against must differ => P.items_for_margins(0)
target must lie strictly => P.item_reliability(0.7, 0.1, target=1)
item_sd must be above => P.item_reliability(0.7, 0)
result must be of a metric of correctness => P.plan_repeats(w.result())
--accuracy must be two accuracies, such as 0\.75 0\.75; got nothing => run('plan ')
WORKS => run('plan --accuracy .8 .8 --ec .3 --width .3')
--accuracy must be two => run('plan --accuracy .8 --ec .3 --width .3')
--accuracy must be => run('plan --accuracy .8 .8 .8 --ec .3 --width .3')
--accuracy must lie strictly => run('plan --accuracy 80 80 --ec .3 --width .3')
--accuracy must lie => run('plan --accuracy nan .8 --ec .3 --width .3')
--ec must be one error consistency => run('plan --accuracy .8 .8 --width .3')
--width must lie in \(0 => run('plan --accuracy .8 .8 --ec .3 --width 0')
--n-trials: expected a => run('plan --accuracy .8 .8 --ec .3 --n-trials 10.5')
--n-trials must be whole => run('plan --accuracy .8 .8 --ec .3 --n-trials 0')
--n-trials must be whole => run('plan --accuracy .8 .8 --ec .3 --n-trials -3')
--power must lie strictly between => run('plan --accuracy .8 .8 --ec .3 --power 2')
--rope needs --pilot => run('plan --accuracy .8 .8 --ec .3 --width .3 --rope -.1 .1')
no file 'nowhere\.csv' => run('plan --pilot nowhere.csv --width .3')
--budget needs --pilot FILE, to => run('plan --budget 100')
--metric must be one of 'error_consistency', => run('plan --accuracy .8 .8 --ec .3 --width .3
    --metric kapa')
--out must be a folder that can be written to; '/dev/null': => run('plan --accuracy .8 .8
    --ec .3 --width .3 --out /dev/null')
error_consistency must lie => run('plan --accuracy .99 .5 --ec .9 --width .3')
--ci-prob must lie => run('plan --accuracy .8 .8 --ec .3 --width .3 --ci-prob 2')
--ec must differ from 0, the => run('plan --accuracy .8 .8 --ec 0')
variance components => cli('plan --pilot t.csv --budget 5000 --quiet', {'t.csv': w.text()})()
variance components => cli('plan --pilot t.csv --budget nan --quiet', {'t.csv': w.text()})()
WORKS => cli('plan --pilot t.csv --width .5 --keep-pilot --pair anna net_a --quiet', {'t.csv':
    w.text()})()
't\.csv' is empty: it has no rows; expected one for each response => cli('plan --pilot t.csv
    --width .5 --quiet', {'t.csv': 'observer,item,correct\n'})()
""",
    globals(),
)


test_inputs = check_each(CASES)
