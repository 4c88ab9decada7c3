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


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


CASES = [
    # plans
    *[
        v(f"trials_for_width {n}", e, lambda a=a, k=k: al.trials_for_width(*a, **k))
        for n, e, a, k in (
            (
                "fine",
                WORKS,
                (0.8, 0.8, 0.3, 0.2),
                {"n_coverage": 0, "rng": 1},
            ),
            ("accuracy 1.2", "accuracy_a must lie strictly between 0", (1.2, 0.8, 0.3, 0.2), {}),
            ("accuracy nan", "accuracy_a must lie strictly between 0", (nan, 0.8, 0.3, 0.2), {}),
            (
                "accuracy text",
                "accuracy_a must be one number or several, got .high",
                ("high", 0.8, 0.3, 0.2),
                {},
            ),
            ("accuracy percent", "accuracy_a must lie strictly between 0", (80, 80, 0.3, 0.2), {}),
            ("ec 2", r"error_consistency must lie in \[-0\.2500", (0.8, 0.8, 2, 0.2), {}),
            ("ec impossible", "error_consistency must lie in", (0.99, 0.5, 0.9, 0.2), {}),
            ("width 0", r"width must lie in \(0", (0.8, 0.8, 0.3, 0), {}),
            ("width -1", r"width must lie in \(0", (0.8, 0.8, 0.3, -1), {}),
            ("width nan", r"width must lie in \(0", (0.8, 0.8, 0.3, nan), {}),
            ("width tiny", r"this takes 2\.0e\+25 trials, and plans", (0.8, 0.8, 0.3, 1e-12), {}),
            ("width 3", r"width must lie in \(0", (0.8, 0.8, 0.3, 3), {}),
            ("ci_prob 2", "ci_prob must lie strictly", (0.8, 0.8, 0.3, 0.2), {"ci_prob": 2}),
            ("assurance 2", "assurance must lie strictly", (0.8, 0.8, 0.3, 0.2), {"assurance": 2}),
            (
                "interval unknown",
                "interval must be 'posterior', 'bootstrap' or 'analytic', got 'magic'",
                (0.8, 0.8, 0.3, 0.2),
                {"interval": "magic"},
            ),
            ("metric unknown", "metric must be one of", (0.8, 0.8, 0.3, 0.2), {"metric": "kapa"}),
            (
                "shapes apart",
                r"inputs must broadcast, got shapes accuracy_a \(2,\), accuracy_b \(3,\)",
                ([0.8, 0.7], [0.8, 0.7, 0.6], 0.3, 0.2),
                {},
            ),
            ("empty", WORKS, ([], [], [], 0.2), {}),
            ("None", "accuracy_a must lie strictly between 0 and 1", (None, 0.8, 0.3, 0.2), {}),
        )
    ],
    *[
        v(f"trials_for_power {n}", e, lambda a=a, k=k: al.trials_for_power(*a, **k))
        for n, e, a, k in (
            ("of nothing", "ec must differ from 0, the value tested against: a", (0.8, 0.8, 0), {}),
            ("power 1", "power must lie strictly between 0 and 1", (0.8, 0.8, 0.3), {"power": 1}),
            ("power nan", "power must lie strictly between 0 and", (0.8, 0.8, 0.3), {"power": nan}),
            ("alpha 0", "alpha must lie strictly between 0 and 1", (0.8, 0.8, 0.3), {"alpha": 0}),
            ("alpha above power", "power must be above alpha", (0.8, 0.8, 0.3), {"alpha": 0.9}),
            ("against the same", r"ec must differ from 0\.3", (0.8, 0.8, 0.3), {"against": 0.3}),
            (
                "alternative unknown",
                "alternative must be 'two-sided', 'greater' or 'less', got 'both'",
                (0.8, 0.8, 0.3),
                {"alternative": "both"},
            ),
            ("wrong side", "ec must be less than 0 for", (0.8, 0.8, 0.3), {"alternative": "less"}),
            ("ec None", r"ec must be an error consistency in \[-1, 1\], got", (0.8, 0.8, None), {}),
        )
    ],
    *[
        v(f"interval_width {n}", e, lambda a=a, k=k: P.interval_width(*a, **k))
        for n, e, a, k in (
            ("10.5 trials", "n_trials must be whole numbers of at", (0.8, 0.8, 0.3, 10.5), {}),
            ("0 trials", "n_trials must be whole numbers of at least 2", (0.8, 0.8, 0.3, 0), {}),
            ("-5 trials", "n_trials must be whole numbers of at least 2", (0.8, 0.8, 0.3, -5), {}),
            ("nan trials", "n_trials must be whole numbers of at least", (0.8, 0.8, 0.3, nan), {}),
            ("text trials", "n_trials must be one number or several", (0.8, 0.8, 0.3, "many"), {}),
            ("1 trial", "n_trials must be whole numbers of at least 2", (0.8, 0.8, 0.3, 1), {}),
            ("1e12 trials", WORKS, (0.8, 0.8, 0.3, 10**12), {}),
            ("inf trials", "n_trials must be whole numbers of at", (0.8, 0.8, 0.3, np.inf), {}),
        )
    ],
    no("ec_a and ec_b must differ: a", lambda: P.trials_for_difference(0.8, 0.8, 0.8, 0.3, 0.3)),
    no(
        "n_humans must be 1 to 4 whole people, got 9; plan more from",
        lambda: P.trials_for_difference(0.8, 0.8, 0.8, 0.4, 0.1, n_humans=9, ec_humans=0.3),
    ),
    no("width must lie in", lambda: P.assurance((80, 20), (80, 20), (3, 7), n_trials=100, width=0)),
    no("could not convert", lambda: P.assurance("high", (80, 20), (3, 7), n_trials=100, width=0.2)),
    no("n_trials or width is needed: a", lambda: P.plan_from(w.result())),
    no("n_trials must be whole", lambda: P.plan_from(w.result(), [10.5])),
    no(r"width must lie in \(0", lambda: P.plan_from(w.result(), width=-1)),
    no("variance components", lambda: P.expected_errors(P.variance_components(w.trials()), 0, 100)),
    no(
        "variance components need at least 4 humans in a data set, 'all' has",
        lambda: P.expected_errors(P.variance_components(w.trials()), 2.5, 100),
    ),
    no("variance components", lambda: P.expected_errors(P.variance_components(w.trials()), 5, nan)),
    no("variance components", lambda: P.best_design(P.variance_components(w.trials()), 0, 1, 1)),
    no("variance components", lambda: P.best_design(P.variance_components(w.trials()), nan, 1, 1)),
    no("variance components", lambda: P.best_design(P.variance_components(w.trials()), 100, 0, 1)),
    no("variance components", lambda: P.best_design(P.variance_components(w.trials()), 100, -1, 1)),
    no("batch must be whole numbers", lambda: P.sequential_design(0.8, 0.8, 0.3, 0.2, batch=0)),
    no("accuracy must lie strictly", lambda: P.item_precision(nan, 10)),
    no("n_answers must be whole", lambda: P.item_precision(0.8, 10.5)),
    no("dmc must lie strictly between", lambda: P.items_for_margins(2)),
    no("a difference of zero cannot be", lambda: P.items_for_margins(0)),
    no("target must lie strictly", lambda: P.item_reliability(0.7, 0.1, target=1)),
    no("item_sd must be above", lambda: P.item_reliability(0.7, 0)),
    no("a pilot must be a result of a metric of", lambda: P.further_repeats(w.result())),
    *[
        v(f"plan {n}", e, cli("plan " + o + " " + Q))
        for n, e, o in (
            ("nothing", r"--accuracy must be two accuracies, such as \.75 \.75; got nothing", ""),
            ("width", WORKS, ".8" and "--accuracy .8 .8 --ec .3 --width .3"),
            ("one accuracy", "--accuracy must be two", "--accuracy .8 --ec .3 --width .3"),
            ("three accuracies", "--accuracy must be", "--accuracy .8 .8 .8 --ec .3 --width .3"),
            ("accuracy 80", "--accuracy must lie strictly", "--accuracy 80 80 --ec .3 --width .3"),
            ("accuracy nan", "--accuracy must lie", "--accuracy nan .8 --ec .3 --width .3"),
            ("ec missing", "--ec must be one error consistency", "--accuracy .8 .8 --width .3"),
            ("width 0", r"--width must lie in \(0", "--accuracy .8 .8 --ec .3 --width 0"),
            ("trials 10.5", "--n-trials: expected a", "--accuracy .8 .8 --ec .3 --n-trials 10.5"),
            ("trials 0", "--n-trials must be whole", "--accuracy .8 .8 --ec .3 --n-trials 0"),
            ("trials -3", "--n-trials must be whole", "--accuracy .8 .8 --ec .3 --n-trials -3"),
            ("power 2", "--power must lie strictly between", "--accuracy .8 .8 --ec .3 --power 2"),
            (
                "rope without pilot",
                "--rope goes with --pilot",
                "--accuracy .8 .8 --ec .3 --width .3 --rope -.1 .1",
            ),
            ("pilot missing", r"no file 'nowhere\.csv'", "--pilot nowhere.csv --width .3"),
            ("budget without pilot", "--budget needs --pilot FILE, to know how", "--budget 100"),
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
            ("ec impossible", "error_consistency must lie", "--accuracy .99 .5 --ec .9 --width .3"),
            ("ci-prob 2", "--ci-prob must lie", "--accuracy .8 .8 --ec .3 --width .3 --ci-prob 2"),
            ("ec of nothing and power", "--ec must differ from 0, the", "--accuracy .8 .8 --ec 0"),
        )
    ],
    no("variance components", cli("plan --pilot t.csv --budget 5000 --quiet", {"t.csv": w.text()})),
    no("variance components", cli("plan --pilot t.csv --budget nan --quiet", {"t.csv": w.text()})),
    v(
        "plan pilot keep",
        WORKS,
        cli(
            "plan --pilot t.csv --width .5 --keep-pilot --pair anna net_a --quiet",
            {"t.csv": w.text()},
        ),
    ),
    no(
        r"'t\.csv' is empty: it has no rows; expected one for each answer",
        cli("plan --pilot t.csv --width .5 --quiet", {"t.csv": "observer,item,correct\n"}),
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
