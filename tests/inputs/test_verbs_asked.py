"""Every verb of the command line with options and data that it may or may not take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import worlds as w
from cases import WORKS, Case, check, cli, marked

Q = "--n-resamples 50 --n-draws 50 --quiet"
T, P, M = w.text(), w.table(), w.text(w.margins())
F = {"t.csv": T}
FM = F | {"m.csv": M}
csv, ren, one = w.csv, w.ren, w.ONE
conf = "true,a,b\na,5,1\nb,2,4\n"


def v(
    name: str, expect: Any, words: str, files: Mapping[str, str | bytes] = F, kind: str = "unusual"
) -> Case:
    return Case(name, kind, expect, cli(words, files))


CASES = [
    v("no schools at all", WORKS, "compare t.csv --n-resamples 0 --n-draws 0 --n-null 0 --quiet"),
    v(
        "no schools at all, written",
        WORKS,
        "compare t.csv --n-resamples 0 --n-draws 0 --n-null 0 --quiet --out o",
    ),
    v(
        "no schools, all metrics",
        WORKS,
        "compare t.csv --metric all --n-resamples 0 --n-draws 0 --quiet --out o",
    ),
    v(
        "all metrics",
        WORKS,
        "compare t.csv --metric all --n-null 50 --n-permutations 20 " + Q + " --out o",
    ),
    v(
        "negative resamples",
        "--n-resamples must be at least 1, or 0 for none; got -1",
        "compare t.csv --n-resamples -1",
    ),
    v("resamples 1", WORKS, "compare t.csv --n-resamples 1 --n-draws 1 --n-null 1 --quiet"),
    v(
        "resamples text",
        "--n-resamples: expected a whole number, got 'many'; see alikely compare",
        "compare t.csv --n-resamples many",
    ),
    v(
        "resamples huge",
        "--n-resamples must be at most 100,000,000, got 1,000,000,000,000",
        "compare t.csv --n-resamples 1000000000000 --quiet",
    ),
    v(
        "draws huge",
        "--n-draws must be at most 100,000,000, got 1,000,000,000,000",
        "compare t.csv --n-resamples 0 --n-draws 1000000000000 --quiet",
    ),
    v(
        "null draws huge",
        "--n-null must be at most 100,000,000, got 1,000,000,000,000",
        "compare t.csv --n-resamples 0 --n-draws 0 --n-null 1000000000000 --quiet",
    ),
    v(
        "resamples beyond int64",
        "--n-resamples must be at most 100,000,000, got",
        "compare t.csv --n-resamples 99999999999999999999999 --quiet",
    ),
    v(
        "ci-prob 1",
        r"--ci-prob must lie strictly between 0 and 1, got 1\.0; try 0\.95",
        "compare t.csv --ci-prob 1",
    ),
    v(
        "ci-prob 0",
        r"--ci-prob must lie strictly between 0 and 1, got 0\.0; try 0\.95",
        "compare t.csv --ci-prob 0",
    ),
    v(
        "ci-prob 95",
        r"--ci-prob must lie strictly between 0 and 1, got 95\.0; try 0\.95",
        "compare t.csv --ci-prob 95",
    ),
    v(
        "ci-prob nan",
        r"--ci-prob must lie strictly between 0 and 1, got nan; try 0\.95",
        "compare t.csv --ci-prob nan",
    ),
    v(
        "ci-prob .95 with comma",
        "--ci-prob: unable to convert .0,95. into float; see alikely compare",
        "compare t.csv --ci-prob 0,95",
    ),
    v("ci-prob 1e-9", WORKS, "compare t.csv --ci-prob 1e-9 --n-null 50 " + Q),
    v("seed -1", "--seed must not be negative, got -1", "compare t.csv --seed -1 " + Q),
    v(
        "seed huge",
        WORKS,
        "compare t.csv --n-null 50 --seed 123456789012345678901234567890 " + Q,
    ),
    v(
        "seed text",
        "--seed: expected a whole number, got 'abc'; see alikely compare --help",
        "compare t.csv --seed abc",
    ),
    v("jobs 0", "--jobs must be at least 1, got 0", "compare t.csv --jobs 0"),
    v("jobs -1", "--jobs must be at least 1, got -1", "compare t.csv --jobs -1"),
    v(
        "unknown verb",
        r"there is no subcommand 'comparee'; did you mean 'compare'\?; subcommands are demo,",
        "comparee t.csv",
    ),
    v(
        "unknown option",
        r"unknown option: --metrik. Did you mean --metric\?; see alikely",
        "compare t.csv --metrik ec",
    ),
    v(
        "unknown metric",
        "--metric must be one of 'error_consistency', 'copy_probability',",
        "compare t.csv --metric kapa",
    ),
    v("no arguments", "expected a subcommand: demo, .*; see alikely --help", ""),
    v(
        "a module that is none",
        "no metric at 'nowhere:METRIC': No module named 'nowhere'",
        "compare t.csv --metric nowhere:METRIC",
    ),
    v(
        "an attribute that is none",
        "'math:pi' is no Metric, but of type float",
        "compare t.csv --metric math:pi",
    ),
    v(
        "an attribute that is missing",
        "no metric at 'math:tau2': module 'math' has no attribute 'tau2'",
        "compare t.csv --metric math:tau2",
    ),
    v("a file with nul in its name", r"no file 'a\\x00b\.csv'", "compare 'a\0b.csv'"),
    v(
        "an empty file name",
        r"FILE is empty; give the name of a file, or '\.' for this folder",
        "compare ''",
    ),
    v(
        "a file of 5000 letters",
        r"\[Errno 36\] File name too long: '",
        "compare " + "a" * 5000 + ".csv",
    ),
    v(
        "pairs of unknown kinds",
        "--pairs must be 'all', two kinds joined by a hyphen, or a list of",
        "compare t.csv --pairs human-robot",
    ),
    v(
        "pairs empty",
        "--pairs must be 'all', two kinds joined by a hyphen, or a list of",
        "compare t.csv --pairs ''",
    ),
    v(
        "pair of one",
        r"each pair must be two different observers, got \('anna', 'anna'\)",
        "compare t.csv --pair anna anna",
    ),
    v(
        "pair unknown",
        "unknown observer 'net_c' in pairs; the observers are anna, ben, carl,",
        "compare t.csv --pair anna net_c",
    ),
    v(
        "pair twice",
        "pairs names the same pair twice; name each once",
        "compare t.csv --pair anna ben --pair anna ben",
    ),
    v(
        "pair both ways",
        WORKS,
        "compare t.csv --pair anna ben --pair ben anna --n-null 50 " + Q,
    ),
    v(
        "cluster unknown",
        r"--cluster must name a trial coordinate \(item, trial_dataset,",
        "compare t.csv --cluster subject",
    ),
    v("cluster item", WORKS, "compare t.csv --n-null 50 --cluster item " + Q),
    v(
        "cluster observer",
        r"--cluster must name a trial coordinate \(item, trial_dataset,",
        "compare t.csv --cluster observer",
    ),
    v(
        "columns of no role",
        "--columns has no role 'subject'; roles are observer, item, response,",
        "compare t.csv --columns subject=observer",
    ),
    v(
        "columns twice",
        "--columns gives observer twice, as 'a' and 'b'; give it once",
        "compare t.csv --columns observer=a,observer=b",
    ),
    v("columns empty", WORKS, "compare t.csv --columns ''"),
    v(
        "columns to missing",
        "no column 'subject'; the columns are observer, kind, condition, item,",
        "compare t.csv --columns observer=subject",
    ),
    v(
        "a column in two roles",
        "column 'observer' is given twice, as observer and as item",
        "compare t.csv --columns item=observer",
    ),
    v(
        "classes too few",
        r"'dog' \(column 'truth', row 2\) is not among the 2 classes bear, car;",
        "compare t.csv --classes bear,car",
    ),
    v(
        "classes with an empty one",
        r"a label must be text or a number, got '' \(classes\); name it or leave",
        "compare t.csv --classes bear,car,dog, --n-null 50 " + Q,
    ),
    v(
        "classes twice",
        "--classes has 'dog' twice; list each class once",
        "compare t.csv --classes bear,car,dog,dog --metric ma " + Q,
    ),
    v(
        "classes spaced",
        r"'car' \(column 'truth', row 0\) is not among the 3 classes bear, car,",
        "compare t.csv --classes 'bear, car, dog'",
    ),
    v(
        "format unknown",
        "--format must be auto, table, every-eval-ever, helm, inspect,",
        "compare t.csv --format excel",
    ),
    v(
        "format of another tool",
        r"no sample was found in 0 logs; are the files of another format\?",
        "compare t.csv --format inspect",
    ),
    v(
        "pattern that does not fit",
        r"--pattern \{observer\}_\{session:d\}\.csv fits none of 1 files; they are:",
        "compare t.csv --pattern '{observer}_{session:d}.csv'",
    ),
    v(
        "pattern broken",
        r"pattern '\{observer' has no field; expected some, such as \{observer\}",
        "compare t.csv --pattern '{observer'",
    ),
    v("sep of two", "--sep must be one character, such as ';', got ',,'", "compare t.csv --sep ,,"),
    v(
        "sep that does not part",
        r"'t\.csv' has one column, 'observer,kind,condition,item,truth,respo',",
        "compare t.csv --sep ';'",
    ),
    v(
        "encoding unknown",
        r"encoding 'klingon' is unknown; utf-8 or latin-1\?",
        "compare t.csv --encoding klingon",
    ),
    v("encoding wrong", r"'t\.csv' has one column,", "compare t.csv --encoding utf-16"),
    v(
        "encoding that is no text",
        r"encoding 'base64' is unknown; utf-8 or latin-1\?",
        "compare t.csv --encoding base64",
    ),
    v(
        "encoding ascii",
        r"'t\.csv' cannot be read as a csv file: 'ascii' codec can't decode byte ",
        ren and "compare t.csv --encoding ascii",
        {"t.csv": ren("observer", anna="Zoë")},
    ),
    v(
        "na-values of an observer",
        "column 'observer' has 'anna' in row 0, which means missing; fill it",
        "compare t.csv --na-values anna",
    ),
    v(
        "na-values of a class",
        "column 'truth' has 'dog' in row 2, which means missing; fill it in or",
        "compare t.csv --n-null 50 --na-values dog " + Q,
    ),
    v(
        "wide that is long",
        r"observer 'observer' has two rows for item 'img00' \(dataset 'all',",
        "compare t.csv --wide",
    ),
    v(
        "observers without wide",
        "--observers names columns of a wide table; give --wide too",
        "compare t.csv --observers a,b",
    ),
    v(
        "wide",
        WORKS,
        f"compare t.csv --wide --n-null 50 {Q}",
        {"t.csv": "truth,a,b\nx,x,y\ny,y,y\n"},
    ),
    v(
        "wide with observers missing",
        r"no column 'c' \(an observer\); the columns are row, truth, a, b",
        "compare t.csv --wide --observers a,c",
        {"t.csv": "truth,a,b\nx,x,y\ny,y,y\n"},
    ),
    v(
        "n-options 1",
        "question 0 has one option, and agreement needs two or more to choose",
        "compare t.csv --n-options 1 --metric kappa_p",
    ),
    v(
        "n-options 0",
        "question 0 has 0 options, and agreement needs two or more to choose",
        "compare t.csv --n-options 0 --metric kappa_p",
    ),
    v(
        "n-options 3.5",
        r"--n-options must be a whole number or classes, got '3\.5'",
        "compare t.csv --n-options 3.5",
    ),
    v(
        "n-options huge",
        r"question 0 has 99999999999 options, and there are 3 classes \(bear,",
        "compare t.csv --n-options 99999999999 --metric kappa_p",
    ),
    v("n-options fits", WORKS, f"compare t.csv --n-options 3 --metric kappa_p_discrete {Q}"),
    v(
        "kappa_p without probabilities",
        "these trials have no probabilities of options; add them with",
        f"compare t.csv --n-options 3 --metric kappa_p {Q}",
    ),
    v(
        "n-options in other digits",
        "--n-options must be a whole number or classes, got '\u00b2'",
        f"compare t.csv --n-options ² --metric kappa_p_discrete {Q}",
    ),
    v(
        "prior broken",
        r"--prior expects NAME=A:B,\.\.\., such as u=\.5:\.5,v=\.5:\.5, got 'u=1'",
        "compare t.csv --prior u=1",
    ),
    v(
        "prior negative",
        r"prior of u must be two positive Beta parameters, got \(-1\.0, 1\.0\)",
        "compare t.csv --prior u=-1:1 " + Q,
    ),
    v(
        "prior unknown",
        "unknown name in prior: w; give Beta parameters for p_a, u and v, or",
        "compare t.csv --prior w=1:1 " + Q,
    ),
    v(
        "prior nan",
        r"prior of u must be two positive Beta parameters, got \(nan, 1\.0\)",
        "compare t.csv --prior u=nan:1 " + Q,
    ),
    v(
        "prior inf",
        r"prior of u must be two positive Beta parameters, got \(inf, 1\.0\)",
        "compare t.csv --prior u=inf:1 " + Q,
    ),
    v(
        "prior of another metric",
        "--prior is of the four cells of a pair, and the posterior of misclassification_agree",
        "compare t.csv --metric ma --prior u=1:1",
    ),
    v(
        "alpha negative",
        r"--alpha must be above 0 and finite, got -1\.0; 0\.5 is Jeffreys' choice",
        "compare t.csv --metric cles --alpha -1",
    ),
    v(
        "alpha nan",
        r"--alpha must be above 0 and finite, got nan; 0\.5 is Jeffreys' choice",
        "compare t.csv --metric cles --alpha nan",
    ),
    v(
        "alpha 0",
        r"--alpha must be above 0 and finite, got 0\.0; 0\.5 is Jeffreys' choice",
        f"compare t.csv --metric cles --alpha 0 --n-permutations 20 {Q}",
    ),
    v("permutations 0", WORKS, f"compare t.csv --metric cles --n-permutations 0 {Q}"),
    v(
        "permutations huge",
        "--n-permutations must be at most 100,000,000, got 1,000,000,000,000",
        f"compare t.csv --metric cles --n-permutations 1000000000000 {Q}",
    ),
    v(
        "null without draws",
        "--null needs at least one draw, got --n-draws 0",
        "compare t.csv --null --n-draws 0",
    ),
    v("null of ma", WORKS, f"compare t.csv --metric ma --null {Q}"),
    v("null", WORKS, f"compare t.csv --null --n-null 50 {Q} --out o"),
    v(
        "model unknown",
        "--model must be 'copying', or a pymc.Model; got 'nothing'",
        "compare t.csv --model nothing --sampler nuts --n-resamples 0 --quiet",
    ),
    v(
        "include unknown",
        "--include must be 'all' or among prior, prior_predictive,",
        "compare t.csv --include everything --sampler nuts",
    ),
    v(
        "readers all of ec",
        "--readers is of metrics of readings, and not of EC; leave it out",
        "compare t.csv --readers all",
    ),
    v("alpha for all readers", WORKS, f"compare t.csv --metric alpha --readers all {Q}"),
    v(
        "verbose and quiet",
        "give --quiet or --verbose, not both",
        "compare t.csv --verbose --quiet",
    ),
    v(
        "out is a file",
        r"--out must be a folder that can be written to; 't\.csv': Not a",
        f"compare t.csv --n-null 50 {Q} --out t.csv",
    ),
    v(
        "out in a file",
        r"--out must be a folder that can be written to; 't\.csv/x': Not a",
        f"compare t.csv --n-null 50 {Q} --out t.csv/x",
    ),
    v("out deep", WORKS, f"compare t.csv --n-null 50 {Q} --out a/b/c"),
    v(
        "out in nowhere allowed",
        "--out must be a folder that can be written to; '/proc/x': No such",
        f"compare t.csv --n-null 50 {Q} --out /proc/x",
    ),
    v(
        "out with a name too long",
        "--out must be a folder that can be written to; 'x",
        f"compare t.csv --n-null 50 {Q} --out " + "x" * 300,
    ),
    v(
        "dollars drawn",
        WORKS,
        f"compare t.csv --n-null 50 {Q} --out o",
        {"t.csv": ren("observer", anna="$a_{1}$", net_a="$100", ben="$x$ & $y", carl="\\frac$$")},
    ),
    v(
        "newline drawn",
        WORKS,
        f"compare t.csv --n-null 50 {Q} --out o",
        {"t.csv": ren("observer", anna="a\nb", net_a="\x1b[31mnet")},
    ),
    v(
        "other scripts drawn",
        WORKS,
        f"compare t.csv --n-null 50 {Q} --out o",
        {"t.csv": ren("observer", anna="安娜", net_a="🐻")},
    ),
    v(
        "a slash in a name",
        WORKS,
        f"compare t.csv --n-null 50 {Q} --out o",
        {"t.csv": ren("observer", anna="../../a", net_a="/b")},
    ),
    v(
        "confusions",
        "with 2 classes a wrong answer can only be the other one: there is",
        f"compare --confusions a.csv b.csv --no-paired --n-permutations 20 {Q}",
        {"a.csv": conf, "b.csv": conf},
    ),
    v(
        "confusions without paired",
        "confusion matrices do not tell whether systems answered the same",
        "compare --confusions a.csv b.csv",
        {"a.csv": conf, "b.csv": conf},
    ),
    v(
        "one confusion",
        "--confusions must be of at least two systems, got 1",
        "compare --confusions a.csv --no-paired",
        {"a.csv": conf},
    ),
    v(
        "confusions negative",
        "a confusion matrix has counts, and that of 'a' has -5; rates do not",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", "-5"), "b.csv": conf},
    ),
    v(
        "confusions of shares",
        r"a confusion matrix has counts, and that of 'a' has 0\.5; rates do not",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", ".5"), "b.csv": conf},
    ),
    v(
        "confusions with gaps",
        "the confusion matrix of 'a' has entries that are no counts; write",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", ""), "b.csv": conf},
    ),
    v(
        "confusions of other classes",
        "confusion matrices must be of the same classes in the same order; 'a'",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("b", "c"), "b.csv": conf},
    ),
    v(
        "confusions not square",
        "a confusion matrix must be square, true classes by answers; that of",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": "t,a,b\na,1,2\n", "b.csv": conf},
    ),
    v(
        "confusions empty",
        r"'a\.csv' cannot be read as a matrix of counts: No columns to parse",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": "", "b.csv": conf},
    ),
    v(
        "confusions missing",
        r"no file 'a\.csv'; give a \.csv of counts for each system",
        "compare --confusions a.csv b.csv --no-paired",
        {"b.csv": conf},
    ),
    v(
        "confusions damaged",
        r"'a\.csv' cannot be read as a matrix of counts: 'utf-8' codec can't",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": b"\xff\xfe\0", "b.csv": conf},
    ),
    v(
        "confusions ragged",
        r"'a\.csv' cannot be read as a matrix of counts: Error tokenizing data\.",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf + "c,1,2,3,4,5\n", "b.csv": conf},
    ),
    v(
        "confusions class twice",
        "a confusion matrix must be square, true classes by answers; that of",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf + "a,1,1\n", "b.csv": conf},
    ),
    v(
        "file and confusions",
        "give FILE, with trials, or --confusions: one of them",
        "compare t.csv --confusions t.csv",
    ),
    v(
        "neither file nor confusions",
        "give FILE, with trials, or --confusions: one of them",
        "compare",
    ),
    v(
        "confusions huge counts",
        "the confusion matrix of 'a' has entries that are no counts; write",
        f"compare --confusions a.csv b.csv --no-paired --n-permutations 20 {Q}",
        {"a.csv": conf.replace("5", "9" * 25), "b.csv": conf},
    ),
    # matrix
    v("matrix", WORKS, "matrix t.csv --n-resamples 20 --quiet --out o"),
    v("matrix of two", WORKS, "matrix t.csv --quiet", {"t.csv": one}),
    v(
        "matrix of one",
        "a matrix needs at least 2 observers, got 1",
        "matrix t.csv --quiet",
        {"t.csv": "observer,item,correct\na,1,1\n"},
    ),
    v(
        "matrix top 0",
        "--top must be at least 1, got 0",
        "matrix t.csv --quiet --n-resamples 20 --top 0",
    ),
    v("matrix top -5", "--top must be at least 1, got -5", "matrix t.csv --quiet --top -5"),
    v(
        "matrix by missing family",
        "no column 'vendor'; the columns are observer, kind, condition, item,",
        "matrix t.csv --by-family vendor --quiet",
    ),
    v("matrix by kind", WORKS, "matrix t.csv --by-family kind --quiet --n-resamples 20"),
    v("matrix of labels", WORKS, "matrix t.csv --metric ma"),
    v("matrix resamples huge", WORKS, "matrix t.csv --quiet --n-resamples 1000000000000"),
    v(
        "matrix resamples negative",
        "--n-resamples must be 0 or more, got -1",
        "matrix t.csv --quiet --n-resamples -1",
    ),
    v(
        "matrix all right",
        WORKS,
        "matrix t.csv --quiet --n-resamples 20 --out o",
        {"t.csv": csv(response=P.truth)},
    ),
    v(
        "matrix with repeats",
        "items came back, and their answers are not independent:",
        "matrix t.csv --quiet",
        {"t.csv": w.text(pd.concat([P.assign(repeat=0), P.assign(repeat=1)]))},
    ),
    # benchmark
    v("benchmark", WORKS, "benchmark t.csv " + Q + " --out o"),
    v(
        "benchmark of one machine",
        WORKS,
        f"benchmark t.csv {Q} --out o",
        {"t.csv": w.text(P[P.observer != "net_b"])},
    ),
    v(
        "benchmark without machines",
        "no observer is of kind 'model'; kinds are human; .*name the kind with",
        "benchmark t.csv " + Q,
        {"t.csv": w.text(P[P.kind != "model"])},
    ),
    v(
        "benchmark without people",
        "no observer is of kind 'human'; kinds are model; .*name the kind with",
        "benchmark t.csv " + Q,
        {"t.csv": w.text(P[P.kind == "model"])},
    ),
    v(
        "benchmark with one person",
        "pairs='human-human' needs at least two observers of kind 'human', got",
        "benchmark t.csv " + Q + " --out o",
        {"t.csv": w.text(P[~P.observer.isin(["ben", "carl"])])},
    ),
    v(
        "benchmark with two people",
        WORKS,
        "benchmark t.csv " + Q + " --out o",
        {"t.csv": w.text(P[~P.observer.isin(["ben"])])},
    ),
    v(
        "benchmark without kinds",
        "no observer is of kind 'human'; kinds are observer; .*name the kind with",
        "benchmark t.csv " + Q,
        {"t.csv": w.text(P.drop(columns="kind"))},
    ),
    v(
        "benchmark of unknown kind",
        "no observer is of kind 'network'; kinds are human, model; .*name the kind with",
        "benchmark t.csv --models network",
    ),
    v("benchmark no schools", WORKS, "benchmark t.csv --n-resamples 0 --n-draws 0 --quiet --out o"),
    v("benchmark one replicate", WORKS, "benchmark t.csv --n-resamples 1 --n-draws 1 --quiet"),
    v(
        "benchmark level unknown",
        "--level must be one of all, overall; got 'nowhere'",
        f"benchmark t.csv {Q} --level nowhere",
    ),
    v(
        "benchmark resamples huge",
        "--n-resamples must be at most 100,000,000, got 1,000,000,000,000",
        "benchmark t.csv --n-resamples 1000000000000 --quiet",
    ),
    v(
        "benchmark draws huge",
        "--n-draws must be at most 100,000,000, got 1,000,000,000,000",
        "benchmark t.csv --n-draws 1000000000000 --quiet --n-resamples 50",
    ),
    v(
        "benchmark ceiling",
        "no machine may be called 'ceiling', a row that tables of scores add",
        f"benchmark t.csv {Q} --out o",
        {"t.csv": ren("observer", net_a="ceiling", anna="human-human")},
    ),
    v(
        "benchmark overall data set",
        "no data set may be called 'overall', a row that tables of scores add",
        f"benchmark t.csv {Q} --out o",
        {"t.csv": csv(dataset="overall")},
    ),
    v(
        "benchmark overall of two",
        "no data set may be called 'overall', a row that tables of scores add",
        f"benchmark t.csv {Q} --people label --out o",
        {"t.csv": w.text(pd.concat([P.assign(dataset="overall"), P.assign(dataset="other")]))},
    ),
    v(
        "benchmark people not said",
        r"label 'anna' answers in 2 data sets, one person or as many\? Say",
        f"benchmark t.csv {Q}",
        {"t.csv": w.text(pd.concat([P.assign(dataset="x"), P.assign(dataset="y")]))},
    ),
    v(
        "benchmark everybody right",
        WORKS,
        f"benchmark t.csv {Q} --out o",
        {"t.csv": csv(response=P.truth)},
    ),
    v("benchmark verdict", WORKS, f"benchmark t.csv {Q} --verdict net_a net_b"),
    v(
        "benchmark verdict unknown",
        "no machine with a score is named 'net_c'; those are net_a, net_b; did",
        f"benchmark t.csv {Q} --verdict net_a net_c",
    ),
    v(
        "benchmark verdict same",
        r"first and second are the same \('net_a'\); their difference is 0",
        f"benchmark t.csv {Q} --verdict net_a net_a",
    ),
    v("benchmark sensitivity", WORKS, f"benchmark t.csv {Q} --sensitivity"),
    v("benchmark of cles", WORKS, f"benchmark t.csv {Q} --metric cles"),
    v(
        "benchmark names with dollars",
        WORKS,
        f"benchmark t.csv {Q} --out o",
        {"t.csv": ren("observer", net_a="$a_1", net_b="b$")},
    ),
    v("benchmark exclude", WORKS, f"benchmark t.csv {Q} --exclude model-vs-human"),
    v(
        "benchmark repeats",
        WORKS,
        f"benchmark t.csv {Q}",
        {"t.csv": w.text(pd.concat([P.assign(repeat=0), P.assign(repeat=1)]))},
    ),
    v(
        "benchmark machine with one trial",
        WORKS,
        f"benchmark t.csv {Q}",
        {"t.csv": w.text(P[(P.observer != "net_b") | (P.item == "img00")])},
    ),
    # margins
    v("margins", WORKS, f"margins t.csv --margins m.csv {Q} --out o", FM),
    v("margins without margins", WORKS, f"margins t.csv {Q}", F),
    v(
        "margins, items renamed",
        "systems 'human' and 'net_a' have no item in common, though both have",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("img", "pic")},
    ),
    v(
        "margins, 32 of 48 unmatched",
        WORKS,
        f"margins t.csv --margins m.csv {Q}",
        {
            "t.csv": T,
            "m.csv": M.replace("img0", "pic0").replace("img10", "x").replace("img11", "y"),
        },
    ),
    v(
        "margins, a few unmatched",
        WORKS,
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("img00", "pic0")},
    ),
    v(
        "margins in other conditions",
        WORKS,
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("clean", "sauber")},
    ),
    v(
        "margins of constants",
        WORKS,
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=1.0))},
    ),
    v(
        "margins nan",
        "column 'margin' must hold finite numbers, got nan for observer",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=np.nan))},
    ),
    v(
        "margins inf",
        "column 'margin' must hold finite numbers, got inf for observer",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=np.inf))},
    ),
    v(
        "margins 1e300",
        r"column 'margin' must hold numbers up to 1e\+100, got 3\.323e\+300 for",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=lambda f: f.margin * 1e300))},
    ),
    v(
        "margins text",
        "column 'margin' must hold numbers, got 'high' in row 0; write numbers",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin="high"))},
    ),
    v(
        "margins with decimal commas",
        "column 'margin' must hold numbers, got '0,5' in row 0; write numbers",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin="0,5"))},
    ),
    v(
        "margins alternatives -4",
        "--m must be a whole number of at least 2 alternatives, got",
        "margins t.csv --margins m.csv --m -4",
        FM,
    ),
    v(
        "margins alternatives 1",
        "--m must be a whole number of at least 2 alternatives, got",
        "margins t.csv --margins m.csv --m 1",
        FM,
    ),
    v(
        "margins alternatives huge",
        WORKS,
        f"margins t.csv --margins m.csv --m 1000000000 {Q}",
        FM,
    ),
    v(
        "margins missing column",
        "expected exactly one of the columns 'margin', 'logit', 'probability',",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": M.replace("margin", "gap")},
    ),
    v(
        "margins columns",
        WORKS,
        f"margins t.csv --margins m.csv --margin-columns margin=gap {Q}",
        {"t.csv": T, "m.csv": M.replace("margin", "gap")},
    ),
    v(
        "margins columns without margins",
        "--margin-columns names columns of MARGINS; give --margins too",
        "margins t.csv --margin-columns margin=gap",
    ),
    v("margins file missing", r"no file 'nowhere\.csv'", "margins t.csv --margins nowhere.csv"),
    v(
        "margins empty file",
        r"'m\.csv' is an empty file",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": ""},
    ),
    v(
        "margins header only",
        r"'m\.csv' is empty: it has no rows",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": M.split("\n")[0] + "\n"},
    ),
    v(
        "margins of a person",
        "observer 'anna' has margins but 'ben', also of kind 'human', has",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("net_a", "anna")},
    ),
    v(
        "margins of strangers",
        "observer 'net_b' has margins but 'net_a', also of kind 'model', has",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("net_a", "net_z")},
    ),
    v(
        "margins no schools",
        WORKS,
        "margins t.csv --margins m.csv --n-resamples 0 --n-draws 0 --quiet --out o",
        FM,
    ),
    v(
        "margins resamples huge",
        "--n-resamples must be at most 100,000,000, got 1,000,000,000,000",
        "margins t.csv --margins m.csv --n-resamples 1000000000000 --quiet",
        FM,
    ),
    v(
        "margins group unknown",
        "no column 'vendor'; the columns are observer, kind, condition, item,",
        "margins t.csv --group vendor",
    ),
    v("margins group observer", WORKS, f"margins t.csv --margins m.csv --group observer {Q}", FM),
    v(
        "margins coarse missing",
        r"no file 'c\.csv'",
        "margins t.csv --margins m.csv --coarse c.csv",
        FM,
    ),
    v(
        "margins scores of none",
        "no entry compares a system with the reference human, model",
        f"margins t.csv --scores {Q}",
    ),
    v("margins scores", WORKS, f"margins t.csv --margins m.csv --scores {Q} --out o", FM),
    v(
        "margins twice",
        "two rows for observer 'net_a', dataset 'all', condition 'clean', item",
        f"margins t.csv --margins m.csv m.csv {Q}",
        FM,
    ),
    v("margins spearman", WORKS, f"margins t.csv --margins m.csv --method spearman {Q}", FM),
    v(
        "margins of correct only",
        WORKS,
        f"margins t.csv --margins m.csv {Q}",
        {
            "t.csv": w.text(
                P.assign(correct=(P.truth == P.response).astype(int)).drop(
                    columns=["truth", "response"]
                )
            ),
            "m.csv": M,
        },
    ),
    # spectrum, demo, completion
    v(
        "spectrum without reference",
        "parameter --reference requires an argument; see alikely",
        "spectrum t.csv " + "--quiet",
    ),
    v("spectrum", WORKS, "spectrum t.csv --reference clean --quiet"),
    v(
        "spectrum unknown reference",
        "no condition 'none' to refer to; there are: all:clean, all:noisy",
        "spectrum t.csv --reference none --quiet",
    ),
    v(
        "spectrum of one condition",
        "regimes group conditions: give a spectrum of at least 2, got 1",
        "spectrum t.csv --reference clean --quiet",
        {"t.csv": w.text(P[P.condition == "clean"])},
    ),
    v(
        "demo to a file",
        "--out must be a folder that can be written to; 'f/x': Not a",
        "demo --out f/x",
        {"f": "x"},
    ),
    v(
        "completion of no shell",
        'invalid value "tcsh" for SHELL. Choose from: "bash", "zsh",',
        "completion tcsh",
    ),
    v("version", WORKS, "--version"),
    v(
        "demo of 0",
        r"--ci-prob must lie strictly between 0 and 1, got 0\.0; try 0\.95",
        "demo --ci-prob 0",
    ),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
