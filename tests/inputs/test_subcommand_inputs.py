"""Every subcommand with valid and invalid options and data."""

from __future__ import annotations

import study_data as w
from cases import Case, check_each, cli, verbs

Q = "--n-resamples 50 --n-draws 50 --quiet"
T, P, M = w.text(), w.table(), w.text(w.margins())
F = {"t.csv": T}
FM = F | {"m.csv": M}
csv, ren, one = w.csv, w.ren, w.ONE
conf = "true,a,b\na,5,1\nb,2,4\n"


CASES = verbs(
    r"""
WORKS => compare t.csv --n-resamples 0 --n-draws 0 --n-null 0 --quiet
--n-resamples must be at least 1 => compare t.csv --n-resamples -1
WORKS => compare t.csv --n-resamples 1 --n-draws 1 --n-null 1 --quiet
--n-resamples: expected a whole => compare t.csv --n-resamples many
--n-resamples must => compare t.csv --n-resamples 1000000000000 --quiet
--ci-prob must lie strictly between 0 and 1, got => compare t.csv --ci-prob 1
--ci-prob: unable to convert => compare t.csv --ci-prob 0,95
WORKS => compare t.csv --ci-prob 1e-9 --n-null 50 $Q
--seed must not be negative, got -1 => compare t.csv --seed -1 $Q
WORKS => compare t.csv --n-null 50 --seed 123456789012345678901234567890 $Q
--seed: expected a whole number, got 'abc'; see => compare t.csv --seed abc
--jobs must be at least 1, got 0 => compare t.csv --jobs 0
there is no subcommand 'comparee'; did you mean => comparee t.csv
unknown option: --metrik. Did you mean => compare t.csv --metrik ec
--metric must be one of => compare t.csv --metric kapa
no metric at 'nowhere:METRIC': No module named => compare t.csv --metric nowhere:METRIC
no metric at 'math:tau2': module 'math' has no => compare t.csv --metric math:tau2
FILE is empty; give the name of a file, or '\.' for => compare ''
--pairs must be 'all', two => compare t.csv --pairs human-robot
each pair must be two different observers => compare t.csv --pair anna anna
unknown observer 'net_c' in pairs; the => compare t.csv --pair anna net_c
must not have the name 'observer' => compare t.csv --cluster observer
--columns has no role => compare t.csv --columns subject=observer
column 'observer' is => compare t.csv --columns item=observer
'dog' \(column 'truth', row 2 of 't.csv'\) is => compare t.csv --classes bear,car
--classes has 'dog' twice => compare t.csv --classes bear,car,dog,dog --metric ma $Q
--format must be auto, table => compare t.csv --format excel
no sample was found => compare t.csv --format inspect
pattern '\{observer' has no => compare t.csv --pattern '{observer'
--sep must be one character, such as ';', got ',,' => compare t.csv --sep ,,
encoding 'klingon' is unknown => compare t.csv --encoding klingon
't\.csv' cannot be read as a csv file: byte 46 is not valid ascii => compare t.csv
    --encoding ascii => {'t.csv': ren('observer', anna='Zoë')}
column 'observer' has 'anna' => compare t.csv --na-values anna
'anna' \(column 'response', row 0 of 'column observer => compare t.csv --wide
no column 'c' \(an observer\); the columns are row, truth, a, b => compare t.csv --wide
    --observers a,c => {'t.csv': 'truth,a,b\nx,x,y\ny,y,y\n'}
question 0 has one option => compare t.csv --n-options 1 --metric kappa_p
these trials have no probabilities => compare t.csv --n-options 3 --metric kappa_p $Q
--prior expects NAME=A:B,\.\.\., such as => compare t.csv --prior u=1
unknown name in prior: w; give Beta => compare t.csv --prior w=1:1 $Q
--prior is for the four cells of a pair, but => compare t.csv --metric ma --prior u=1:1
--alpha must be above 0 and => compare t.csv --metric cles --alpha -1
--null needs at least one draw => compare t.csv --null --n-draws 0
--readers applies to metrics of ratings => compare t.csv --readers all
give --quiet or --verbose, not => compare t.csv --verbose --quiet
--out must be a folder that => compare t.csv --n-null 50 $Q --out t.csv
WORKS => compare t.csv --n-null 50 $Q --out o => {'t.csv': ren('observer', anna='$a_{1}$',
    net_a='$100', ben='$x$ & $y', carl='\\frac$$')}
WORKS => compare t.csv --n-null 50 $Q --out o => {'t.csv': ren('observer', anna='../../a',
    net_a='/b')}
confusion matrices do => compare --confusions a.csv b.csv => {'a.csv': conf, 'b.csv': conf}
--confusions must have at => compare --confusions a.csv --no-paired => {'a.csv': conf}
give either FILE with trials, or => compare t.csv --confusions t.csv
WORKS => matrix t.csv --n-resamples 20 --quiet --out o
WORKS => matrix t.csv --quiet => {'t.csv': one}
a matrix needs at => matrix t.csv --quiet => {'t.csv': 'observer,item,correct\na,1,1\n'}
--top must be at least 1 => matrix t.csv --quiet --n-resamples 20 --top 0
WORKS => matrix t.csv --quiet --n-resamples 20 --out o => {'t.csv': csv(response=P.truth)}
items are repeated, and responses to them are not independent => matrix t.csv --quiet => {'t.csv':
    w.text(pd.concat([P.assign(repeat=0), P.assign(repeat=1)]))}
WORKS => benchmark t.csv $Q --out o
WORKS => benchmark t.csv $Q --out o => {'t.csv': w.text(P[P.observer != 'net_b'])}
pairs='human-human' needs at least two observers of kind 'human', got => benchmark t.csv $Q --out
    o => {'t.csv': w.text(P[~P.observer.isin(['ben', 'carl'])])}
WORKS => benchmark t.csv --n-resamples 1 --n-draws 1 --quiet
WORKS => benchmark t.csv $Q --out o => {'t.csv': csv(response=P.truth)}
first and second are the same \('net_a'\) => benchmark t.csv $Q --test-difference net_a net_a
WORKS => benchmark t.csv $Q => {'t.csv': w.text(pd.concat([P.assign(repeat=0),
    P.assign(repeat=1)]))}
WORKS => benchmark t.csv $Q => {'t.csv': w.text(P[(P.observer != 'net_b') | (P.item == 'img00')])}
WORKS => margins t.csv $Q => F
WORKS => margins t.csv --margins m.csv $Q => {'t.csv': T, 'm.csv': M.replace('img0',
    'pic0').replace('img10', 'x').replace('img11', 'y')}
WORKS => margins t.csv --margins m.csv $Q => {'t.csv': T, 'm.csv':
    w.text(w.margins().assign(margin=1.0))}
'm\.csv' is an empty file => margins t.csv --margins m.csv => {'t.csv': T, 'm.csv': ''}
observer 'anna' has margins but 'ben', also of kind 'human', has => margins t.csv --margins m.csv
    $Q => {'t.csv': T, 'm.csv': M.replace('net_a', 'anna')}
scores need pairs of a model with margins and a group of observers => margins t.csv --scores $Q
two rows for observer => margins t.csv --margins m.csv m.csv $Q => FM
WORKS => margins t.csv --margins m.csv $Q => {'t.csv': w.text(P.assign(correct=(P.truth ==
    P.response).astype(int)).drop(columns=['truth', 'response'])), 'm.csv': M}
no reference condition 'none'; conditions are => spectrum t.csv --reference none --quiet
regimes need a spectrum of at least 2 conditions, got 1 => spectrum t.csv --reference
    clean --quiet => {'t.csv': w.text(P[P.condition == 'clean'])}
invalid value "tcsh" for SHELL. Choose from => completion tcsh
WORKS => --version
needs at least two systems, got human => margins t.csv => {'t.csv': w.text(P[P.kind == 'human'])}
--k must lie between 1 and the number of => spectrum t.csv --reference clean --k 25
--mixture applies to cles, not to EC => compare t.csv --mixture pooled
parameter --reference => spectrum t.csv --quiet
""",
    globals(),
)
CASES += [
    Case(expect, expect, cli(words, F))
    for expect, words in (
        ("expected a subcommand: demo, .*; see alikely --help", ""),
        (r"no file 'a\\x00b\.csv'", "compare 'a\0b.csv'"),
        (r"\[Errno 36\] File name too", "compare " + "a" * 5000 + ".csv"),
        ("--out must be a folder that can be", f"compare t.csv --n-null 50 {Q} --out " + "x" * 300),
    )
]


test_inputs = check_each(CASES)
