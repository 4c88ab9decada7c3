"""Reports, image selection, matrices, plans of agreement, and further measures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import study_data as w
from cases import Ran, check_each, cli, table

import alikely as al

P, t, nan = w.table(), w.trials, float("nan")
ODD = "$x_1$\n<b>"
FEW = "--n-resamples 20 --n-draws 20 --n-null 20 --quiet"
T = {"t.csv": w.text()}
ONE_MACHINE = {"t.csv": w.text(P[P["observer"] != "net_b"])}
odd = P.replace({"observer": {"net_a": ODD}})
items, images = al.planning.items_for_agreement, al.planning.choose_images
trials_of = al.Trials.from_table
report, inputs_of = al.report.make_report, al.papers.representation_similarity
x = np.random.default_rng(1).normal(size=(12, 3))
split, own = al.margins.split_half_reliability, al.margins.self_consistency
aligned, ONE = al.condition_alignment, {"all:clean": "r", "all:noisy": "r"}


def run(words: str, files: dict[str, Any] = T, *more: str) -> Ran:
    return cli(words, files, *more)()


def alike() -> pd.DataFrame:
    alignment = al.condition_alignment(t(), n_resamples=20, rng=1)
    return al.spectrum.alignment_table(alignment, {"all:clean": "easy", "all:noisy": "hard"})


def board(change: Callable[[pd.DataFrame], pd.DataFrame], **how: Any) -> pd.DataFrame:
    """Reconstruct a printed leaderboard of two models after a change."""
    printed = pd.DataFrame({"system": ["a", "b"], "dataset": "all", "score": [0.2, 0.3]})
    whole = printed.assign(condition="clean")
    return al.papers.reconstruct_leaderboard(change(whole), t(), rng=1, **how)


def part(**chosen: Any) -> Any:
    return aligned(t(), n_resamples=9, rng=1).isel(**chosen)


def drawn(change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    """Draw a plot; names must not be parsed as formulas."""
    al.plot_alignment(change(alike()), "distortions").figure.canvas.draw()


def page(words: str, files: dict[str, Any] = T, *more: str) -> str:
    """The page that a subcommand writes."""
    ran = run(words, files, *more)
    assert not ran.code, ran.err
    (path,) = Path().glob("*.html")
    return path.read_text()


def safe(html: str) -> bool:
    """Whether user text appears as text on the page."""
    return "<b>" not in html and "&lt;b&gt;" in html


CASES = table(
    r"""
metric must be one of 'error_consistency', .*got 'no such' => aligned(t(), metrics='no such')
metrics must name at least one metric => aligned(t(), metrics=[])
got 1; add humans, or name => aligned(t().select(observer=['anna', 'net_a']))
'all:noisy' has no label => al.spectrum.alignment_table(part(), {'all:clean': 'near'})
alignment needs 'human-human' => al.spectrum.alignment_table(part(system=slice(2)))
need replicates of the => al.spectrum.regime_alignment(part(resample=slice(0)), ONE)
at least two metrics, each once => al.spectrum.regime_alignment(part(), ONE,
    metrics=['error_consistency'])
no reference condition 'sharp'; cond => al.difficulty_spectrum(t(), 'sharp')
contain correctness only: give the accuracy => al.difficulty_spectrum(w.correct(), 'clean')
k must be a whole number or 'auto', got True => al.regimes(al.difficulty_spectrum(t(), 'clean'),
    k=True)
at least 2 observers => split(np.ones((1, 9)))
equally hard => split(np.ones((4, 9)))
at least 2 repeats => own(np.ones((2, 9, 1)))
value must be one number or several, got => items('x', 0.2)
cohen_kappa must be at least 0, .*; got nan => items(nan, 0.2)
class_frequencies must be two or more => items(0.6, 0.2, class_frequencies='ab')
against must lie in => items(0.6, 0.2, against='x')
rating patterns, more than the limit => items(0.6, 0.2, n_readers=10 ** 9)
expected Trials, got DataFrame => images(P, 16)
n must be one whole number of at least 2, got \[16, 16\] => images(t(), [16, 16])
target must name a pair .*; got => images(t(), 16, None)
a contrast must name two models => images(t(), 16, [1, 2])
shown must be a list, .* => images(t(), 16, shown='img01')
No such file or directory => images(t(), 16, rng=1).to_csv('a/b.csv')
expected results, got NoneType => report(None)
scores must map judges to => al.benchmark.judge_agreement(al.pairwise_matrix(t()), 'x')
ax must be matplotlib axes => al.plot_alignment(alike(), 'distortions', ax='x')
column 'estimate' must => drawn(lambda f: f.assign(estimate='x'))
is undefined in all 2 => drawn(lambda f: f.assign(estimate=nan))
WORKS => drawn(lambda f: f.assign(regime=nan))
counts must be a DataArray, got NoneType => al.plot_errors(None, 'confusions')
'a' must contain real => inputs_of({'a': x + 1j, 'b': x})
must have different => inputs_of({1: x, '1': x})
expected Result, got => al.planning.plan_from(None, width=0.1)
model 'a' has no score in all \| => board(lambda f: f.assign(score=nan))
n_samples must be at most => board(lambda f: f, n_samples=10 ** 12)
parameter --n requires an argument => run('choose t.csv')
n must be a whole number of at least 2, got -4|--n => run('choose t.csv --n -4')
--out must be a regular file => run('choose t.csv --n 16 --out /dev/null')
10,000,000,000 lists => run('choose t.csv --n 16 --n-humans 10000000000')
WORKS => run('choose t.csv --n 16 --seed 1 --out p.csv', {'t.csv': w.text(odd)})
t.csv => run('report t.csv', {'t.csv': ''})
--out must not be an input file, got 'a.nc' => run('report a.nc --out a.nc', {'a.nc': 'x'})
--out must be in a folder .*: File name too long => run(f'report t.csv --out {'x' * 300}.html')
'a.nc' is not a netCDF file => run('report a.nc', {'a.nc': 'x'})
--ci-prob => run('report t.csv --ci-prob nan')
'o/blocks.csv' is an input file; write => run('matrix o/blocks.csv --by-family kind
    --n-resamples 0 --quiet --out o', {'o/blocks.csv': w.text()})
HOLDS => items([0.6, 0.6], 0.2)['n_items'].nunique() == 1
HOLDS => '1 items of shown are not in these trials: zzz' in images(t(), 16, shown=['zzz', 'img01'],
    rng=1).notes
HOLDS => ODD in images(trials_of(odd), 16, (ODD, 'net_b'), rng=1).sentence()
HOLDS => safe(report(w.odd(net_a=ODD), title=ODD, notes=[ODD]).html)
HOLDS => ODD in al.pairwise_matrix(trials_of(odd)).observers
HOLDS => inputs_of({'a': x * 0, 'b': x}, n_resamples=10, rng=1)['note'].all()
HOLDS => len(board(lambda f: f[:1], n_samples=100)) == 3
HOLDS => '<h2>' in page(f'report t.csv {FEW} --out {"x" * 250}.html')
HOLDS => page(f'report t.csv {FEW} --out o.html', ONE_MACHINE).count('Ranks') == 0
HOLDS => safe(page(f'report t.csv {FEW} --out o.html --title', {'t.csv': w.text(odd)}, ODD))
""",
    globals(),
)


test_inputs = check_each(CASES)
