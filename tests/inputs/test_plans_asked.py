"""Plans of numbers that cannot be, in Python and on the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import worlds as w
from cases import WORKS, Case, check, cli, marked

import alikely as al

P, nan = al.planning, float("nan")
Q = "--quiet"


def v(name: str, expect: Any, do: Callable[[], Any], kind: str = "unusual") -> Case:
    return Case(name, kind, expect, do)


CASES = [
    # plans
    *[
        v(f"trials_for_width {n}", e, (lambda a=a, k=k: al.trials_for_width(*a, **k)))
        for n, e, a, k in (
            (
                "fine",
                WORKS,
                (0.8, 0.8, 0.3, 0.2),
                {"n_coverage": 0, "rng": 1, "method": "simulation" if 0 else "auto"},
            ),
            (
                "accuracy 1.2",
                r"accuracy_a must lie strictly between 0 and 1, got 1\.2: without errors",
                (1.2, 0.8, 0.3, 0.2),
                {},
            ),
            (
                "accuracy nan",
                "accuracy_a must lie strictly between 0 and 1, got nan: without errors",
                (nan, 0.8, 0.3, 0.2),
                {},
            ),
            (
                "accuracy text",
                "could not convert string to float: 'high'",
                ("high", 0.8, 0.3, 0.2),
                {},
            ),
            (
                "accuracy percent",
                "accuracy_a must lie strictly between 0 and 1, got 80: without errors",
                (80, 80, 0.3, 0.2),
                {},
            ),
            (
                "ec 2",
                r"error_consistency must lie in \[-0\.2500, 1\.0000\] for accuracies 0\.8",
                (0.8, 0.8, 2, 0.2),
                {},
            ),
            (
                "ec impossible",
                r"error_consistency must lie in \[-0\.0200, 0\.0200\] for accuracies 0\.99",
                (0.99, 0.5, 0.9, 0.2),
                {},
            ),
            (
                "width 0",
                r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got 0",
                (0.8, 0.8, 0.3, 0),
                {},
            ),
            (
                "width -1",
                r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got -1",
                (0.8, 0.8, 0.3, -1),
                {},
            ),
            (
                "width nan",
                r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got",
                (0.8, 0.8, 0.3, nan),
                {},
            ),
            (
                "width tiny",
                r"this takes 2\.0e\+25 trials, and plans go up to 1e\+12; ask for a larger",
                (0.8, 0.8, 0.3, 1e-12),
                {},
            ),
            (
                "width 3",
                r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got 3",
                (0.8, 0.8, 0.3, 3),
                {},
            ),
            (
                "ci_prob 2",
                r"ci_prob must lie strictly between 0 and 1, got 2; try 0\.95",
                (0.8, 0.8, 0.3, 0.2),
                {"ci_prob": 2},
            ),
            (
                "assurance 2",
                r"assurance must lie strictly between 0 and 1, got 2; try 0\.8, or leave",
                (0.8, 0.8, 0.3, 0.2),
                {"assurance": 2},
            ),
            (
                "interval unknown",
                "interval must be 'posterior', 'bootstrap' or 'analytic', got 'magic'",
                (0.8, 0.8, 0.3, 0.2),
                {"interval": "magic"},
            ),
            (
                "method unknown",
                "method must be 'auto', 'analytic' or 'simulated', got 'magic'",
                (0.8, 0.8, 0.3, 0.2),
                {"method": "magic"},
            ),
            (
                "metric unknown",
                "metric must be one of 'error_consistency', 'copy_probability',",
                (0.8, 0.8, 0.3, 0.2),
                {"metric": "kapa"},
            ),
            (
                "shapes apart",
                r"shape mismatch: objects cannot be broadcast to a single shape\. ",
                ([0.8, 0.7], [0.8, 0.7, 0.6], 0.3, 0.2),
                {},
            ),
            ("empty", WORKS, ([], [], [], 0.2), {}),
            (
                "None",
                "accuracy_a must lie strictly between 0 and 1, got nan: without errors",
                (None, 0.8, 0.3, 0.2),
                {},
            ),
        )
    ],
    *[
        v(f"trials_for_power {n}", e, (lambda a=a, k=k: al.trials_for_power(*a, **k)))
        for n, e, a, k in (
            (
                "of nothing",
                "ec must differ from 0, the value tested against: a difference of zero",
                (0.8, 0.8, 0),
                {},
            ),
            (
                "power 1",
                r"power must lie strictly between 0 and 1, got 1; try 0\.8",
                (0.8, 0.8, 0.3),
                {"power": 1},
            ),
            (
                "power nan",
                r"power must lie strictly between 0 and 1, got nan; try 0\.8",
                (0.8, 0.8, 0.3),
                {"power": nan},
            ),
            (
                "alpha 0",
                r"alpha must lie strictly between 0 and 1, got 0; try 0\.05",
                (0.8, 0.8, 0.3),
                {"alpha": 0},
            ),
            (
                "alpha above power",
                r"power must be above alpha, which chance alone reaches; got 0\.8 at",
                (0.8, 0.8, 0.3),
                {"alpha": 0.9},
            ),
            (
                "against the same",
                r"ec must differ from 0\.3, the value tested against: a difference of",
                (0.8, 0.8, 0.3),
                {"against": 0.3},
            ),
            (
                "alternative unknown",
                "alternative must be 'two-sided', 'greater' or 'less', got 'both'",
                (0.8, 0.8, 0.3),
                {"alternative": "both"},
            ),
            (
                "wrong side",
                r"ec must be less than 0 for alternative='less', got 0\.3",
                (0.8, 0.8, 0.3),
                {"alternative": "less"},
            ),
            (
                "ec None",
                r"ec must be an error consistency in \[-1, 1\], got nan",
                (0.8, 0.8, None),
                {},
            ),
        )
    ],
    *[
        v(f"interval_width {n}", e, (lambda a=a, k=k: P.interval_width(*a, **k)))
        for n, e, a, k in (
            (
                "10.5 trials",
                r"n_trials must be whole numbers of at least 2, got 10\.5",
                (0.8, 0.8, 0.3, 10.5),
                {},
            ),
            (
                "0 trials",
                "n_trials must be whole numbers of at least 2, got 0",
                (0.8, 0.8, 0.3, 0),
                {},
            ),
            (
                "-5 trials",
                "n_trials must be whole numbers of at least 2, got -5",
                (0.8, 0.8, 0.3, -5),
                {},
            ),
            (
                "nan trials",
                "n_trials must be whole numbers of at least 2, got nan",
                (0.8, 0.8, 0.3, nan),
                {},
            ),
            (
                "text trials",
                "could not convert string to float: 'many'",
                (0.8, 0.8, 0.3, "many"),
                {},
            ),
            (
                "1 trial",
                "n_trials must be whole numbers of at least 2, got 1",
                (0.8, 0.8, 0.3, 1),
                {},
            ),
            ("1e12 trials", WORKS, (0.8, 0.8, 0.3, 10**12), {}),
            (
                "inf trials",
                "n_trials must be whole numbers of at least 2, got inf",
                (0.8, 0.8, 0.3, np.inf),
                {},
            ),
        )
    ],
    v(
        "trials_for_difference one human",
        "ec_a and ec_b must differ: a difference of zero is found by no number",
        lambda: P.trials_for_difference(0.8, 0.8, 0.8, 0.3, 0.3),
    ),
    v(
        "trials_for_difference 9 humans",
        "n_humans must be 1 to 4 whole people, got 9; plan more from",
        lambda: P.trials_for_difference(0.8, 0.8, 0.8, 0.4, 0.1, n_humans=9, ec_humans=0.3),
    ),
    v(
        "assurance width 0",
        r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got 0",
        lambda: P.assurance((80, 20), (80, 20), (3, 7), n_trials=100, width=0),
    ),
    v(
        "assurance belief text",
        "could not convert string to float: 'high'",
        lambda: P.assurance("high", (80, 20), (3, 7), n_trials=100, width=0.2),
    ),
    v(
        "plan_from nothing",
        "n_trials or width is needed: a number of trials, or what it should",
        lambda: P.plan_from(w.result()),
    ),
    v(
        "plan_from 10.5 trials",
        r"n_trials must be whole numbers of at least 2, got 10\.5",
        lambda: P.plan_from(w.result(), [10.5]),
    ),
    v(
        "plan_from width -1",
        r"width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got -1",
        lambda: P.plan_from(w.result(), width=-1),
    ),
    v(
        "expected_errors 0 observers",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.expected_errors(P.variance_components(w.trials()), 0, 100),
    ),
    v(
        "expected_errors 2.5 observers",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.expected_errors(P.variance_components(w.trials()), 2.5, 100),
    ),
    v(
        "expected_errors nan images",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.expected_errors(P.variance_components(w.trials()), 5, nan),
    ),
    v(
        "best_design budget 0",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.best_design(P.variance_components(w.trials()), 0, 1, 1),
    ),
    v(
        "best_design budget nan",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.best_design(P.variance_components(w.trials()), nan, 1, 1),
    ),
    v(
        "best_design cost 0",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.best_design(P.variance_components(w.trials()), 100, 0, 1),
    ),
    v(
        "best_design cost -1",
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.best_design(P.variance_components(w.trials()), 100, -1, 1),
    ),
    v(
        "sequential batch 0",
        "n_trials must be whole numbers of at least 2, got 0",
        lambda: P.sequential_design(0.8, 0.8, 0.3, 0.2, batch=0),
    ),
    v(
        "posterior_by_batch lengths",
        "correct_a and correct_b must be of the same trials, got 3 and 2",
        lambda: P.posterior_by_batch([1, 0, 1], [1, 0], 1, 0.2),
    ),
    v(
        "posterior_by_batch of 2",
        r"correct_a and correct_b must hold 0 \(wrong\) and 1 \(right\) only",
        lambda: P.posterior_by_batch([1, 2], [1, 0], 1, 0.2),
    ),
    v(
        "item_precision nan",
        "accuracy must lie strictly between 0 and 1, got nan; give it as a",
        lambda: P.item_precision(nan, 10),
    ),
    v(
        "item_precision 10.5",
        r"n_answers must be a whole number of at least 1, got 10\.5; leave out",
        lambda: P.item_precision(0.8, 10.5),
    ),
    v(
        "items_for_margins dmc 2",
        "dmc must lie strictly between -1 and 1, got 2; a perfect correlation",
        lambda: P.items_for_margins(2),
    ),
    v(
        "items_for_margins dmc 0",
        "a difference of zero cannot be found with any number of items: dmc",
        lambda: P.items_for_margins(0),
    ),
    v(
        "participants target 1",
        "target must lie strictly between 0 and 1, got 1; no finite number is",
        lambda: P.participants_for_reliability(0.7, 0.1, target=1),
    ),
    v(
        "participants sd 0",
        r"item_sd must be above 0 and below 0\.458 for accuracies of mean 0\.7,",
        lambda: P.participants_for_reliability(0.7, 0),
    ),
    v(
        "repeats kappa 2",
        "kappa must lie strictly between 0 and 1, got 2; at or below 0 no",
        lambda: P.repeats_for_self_consistency(2, 0.9),
    ),
    v(
        "further_repeats without repeats",
        "a pilot must be a result of a metric of correctness on trials with",
        lambda: P.further_repeats(w.result()),
    ),
    *[
        v(f"plan {n}", e, cli("plan " + o + " " + Q))
        for n, e, o in (
            ("nothing", r"--accuracy must be two accuracies, such as \.75 \.75; got nothing", ""),
            ("width", WORKS, ".8" and "--accuracy .8 .8 --ec .3 --width .3"),
            (
                "one accuracy",
                r"--accuracy must be two accuracies, such as \.75 \.75; got 1 numbers",
                "--accuracy .8 --ec .3 --width .3",
            ),
            (
                "three accuracies",
                r"--accuracy must be two accuracies, such as \.75 \.75; got 3 numbers",
                "--accuracy .8 .8 .8 --ec .3 --width .3",
            ),
            (
                "accuracy 80",
                "--accuracy must lie strictly between 0 and 1, got 80: without errors",
                "--accuracy 80 80 --ec .3 --width .3",
            ),
            (
                "accuracy nan",
                "--accuracy must lie strictly between 0 and 1, got nan: without errors",
                "--accuracy nan .8 --ec .3 --width .3",
            ),
            (
                "ec missing",
                r"--ec must be one error consistency, such as \.5; got nothing",
                "--accuracy .8 .8 --width .3",
            ),
            (
                "width 0",
                r"--width must lie in \(0, 2\], as error consistency lies in \[-1, 1\]; got",
                "--accuracy .8 .8 --ec .3 --width 0",
            ),
            (
                "trials 10.5",
                r"--n-trials: expected a whole number, got '10\.5'; see alikely plan --help",
                "--accuracy .8 .8 --ec .3 --n-trials 10.5",
            ),
            (
                "trials 0",
                "--n-trials must be whole numbers of at least 2, got 0",
                "--accuracy .8 .8 --ec .3 --n-trials 0",
            ),
            (
                "trials -3",
                "--n-trials must be whole numbers of at least 2, got -3",
                "--accuracy .8 .8 --ec .3 --n-trials -3",
            ),
            (
                "power 2",
                r"--power must lie strictly between 0 and 1, got 2; try 0\.8",
                "--accuracy .8 .8 --ec .3 --power 2",
            ),
            (
                "rope without pilot",
                "--rope goes with --pilot",
                "--accuracy .8 .8 --ec .3 --width .3 --rope -.1 .1",
            ),
            ("pilot missing", r"no file 'nowhere\.csv'", "--pilot nowhere.csv --width .3"),
            (
                "budget without pilot",
                "--budget needs --pilot FILE, to know how people and images differ",
                "--budget 100",
            ),
            (
                "metric unknown",
                "--metric must be one of 'error_consistency', 'copy_probability',",
                "--accuracy .8 .8 --ec .3 --width .3 --metric kapa",
            ),
            (
                "out a file",
                "--out must be a folder that can be written to; '/dev/null': Not a",
                "--accuracy .8 .8 --ec .3 --width .3 --out /dev/null",
            ),
            (
                "ec impossible",
                r"error_consistency must lie in \[-0\.0200, 0\.0200\] for accuracies 0\.99",
                "--accuracy .99 .5 --ec .9 --width .3",
            ),
            (
                "ci-prob 2",
                r"--ci-prob must lie strictly between 0 and 1, got 2\.0; try 0\.95",
                "--accuracy .8 .8 --ec .3 --width .3 --ci-prob 2",
            ),
            (
                "ec of nothing and power",
                "--ec must differ from 0, the value tested against: a difference of",
                "--accuracy .8 .8 --ec 0",
            ),
        )
    ],
    v(
        "plan pilot budget",
        "variance components need at least 4 humans in a data set, 'all' has",
        cli("plan --pilot t.csv --budget 5000 --quiet", {"t.csv": w.text()}),
    ),
    v(
        "plan pilot budget nan",
        "variance components need at least 4 humans in a data set, 'all' has",
        cli("plan --pilot t.csv --budget nan --quiet", {"t.csv": w.text()}),
    ),
    v(
        "plan pilot keep",
        WORKS,
        cli(
            "plan --pilot t.csv --width .5 --keep-pilot --pair anna net_a --quiet",
            {"t.csv": w.text()},
        ),
    ),
    v(
        "plan pilot header only",
        r"'t\.csv' is empty: it has no rows; expected one for each answer",
        cli("plan --pilot t.csv --width .5 --quiet", {"t.csv": "observer,item,correct\n"}),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
