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


def v(name: str, expect: Any, words: str, files: Mapping[str, str | bytes] = F) -> Case:
    return Case(name, expect, cli(words, files))


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


CASES = [
    v("no schools at all", WORKS, "compare t.csv --n-resamples 0 --n-draws 0 --n-null 0 --quiet"),
    v("no schools", WORKS, "compare t.csv --n-resamples 0 --n-draws 0 --n-null 0 --quiet --out o"),
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
    no("--n-resamples must be at least 1", "compare t.csv --n-resamples -1"),
    v("resamples 1", WORKS, "compare t.csv --n-resamples 1 --n-draws 1 --n-null 1 --quiet"),
    no("--n-resamples: expected a whole", "compare t.csv --n-resamples many"),
    no("--n-resamples must", "compare t.csv --n-resamples 1000000000000 --quiet"),
    no("--n-draws must be at", "compare t.csv --n-resamples 0 --n-draws 1000000000000 --quiet"),
    no(
        "--n-null must be at most 100,000,000, got 1,000,000,000,000",
        "compare t.csv --n-resamples 0 --n-draws 0 --n-null 1000000000000 --quiet",
    ),
    no("--n-resamples must be at", "compare t.csv --n-resamples 99999999999999999999999 --quiet"),
    no("--ci-prob must lie strictly between 0 and 1, got", "compare t.csv --ci-prob 1"),
    no("--ci-prob must lie strictly between 0 and 1, got", "compare t.csv --ci-prob 0"),
    no("--ci-prob must lie strictly between 0 and 1", "compare t.csv --ci-prob 95"),
    no("--ci-prob must lie strictly between 0 and 1", "compare t.csv --ci-prob nan"),
    no("--ci-prob: unable to convert", "compare t.csv --ci-prob 0,95"),
    v("ci-prob 1e-9", WORKS, "compare t.csv --ci-prob 1e-9 --n-null 50 " + Q),
    no("--seed must not be negative, got -1", "compare t.csv --seed -1 " + Q),
    v("seed huge", WORKS, "compare t.csv --n-null 50 --seed 123456789012345678901234567890 " + Q),
    no("--seed: expected a whole number, got 'abc'; see", "compare t.csv --seed abc"),
    no("--jobs must be at least 1, got 0", "compare t.csv --jobs 0"),
    no("--jobs must be at least 1, got -1", "compare t.csv --jobs -1"),
    no("there is no subcommand 'comparee'; did you mean", "comparee t.csv"),
    no("unknown option: --metrik. Did you mean", "compare t.csv --metrik ec"),
    no("--metric must be one of", "compare t.csv --metric kapa"),
    no("expected a subcommand: demo, .*; see alikely --help", ""),
    no("no metric at 'nowhere:METRIC': No module named", "compare t.csv --metric nowhere:METRIC"),
    no("'math:pi' is no Metric, but", "compare t.csv --metric math:pi"),
    no("no metric at 'math:tau2': module 'math' has no", "compare t.csv --metric math:tau2"),
    no(r"no file 'a\\x00b\.csv'", "compare 'a\0b.csv'"),
    no(r"FILE is empty; give the name of a file, or '\.' for", "compare ''"),
    no(r"\[Errno 36\] File name too", "compare " + "a" * 5000 + ".csv"),
    no("--pairs must be 'all', two", "compare t.csv --pairs human-robot"),
    no("--pairs must be 'all', two kinds joined by a", "compare t.csv --pairs ''"),
    no("each pair must be two different observers", "compare t.csv --pair anna anna"),
    no("unknown observer 'net_c' in pairs; the", "compare t.csv --pair anna net_c"),
    no("pairs names the same pair", "compare t.csv --pair anna ben --pair anna ben"),
    v("pair both ways", WORKS, "compare t.csv --pair anna ben --pair ben anna --n-null 50 " + Q),
    no("no column 'subject'", "compare t.csv --cluster subject"),
    v("cluster item", WORKS, "compare t.csv --n-null 50 --cluster item " + Q),
    no("must not be called 'observer'", "compare t.csv --cluster observer"),
    no("--columns has no role", "compare t.csv --columns subject=observer"),
    no("--columns gives observer", "compare t.csv --columns observer=a,observer=b"),
    v("columns empty", WORKS, "compare t.csv --columns ''"),
    no("no column 'subject'; the", "compare t.csv --columns observer=subject"),
    no("column 'observer' is", "compare t.csv --columns item=observer"),
    no(r"'dog' \(column 'truth', row 2\) is", "compare t.csv --classes bear,car"),
    no("a label must be text or a", "compare t.csv --classes bear,car,dog, --n-null 50 " + Q),
    no("--classes has 'dog' twice", "compare t.csv --classes bear,car,dog,dog --metric ma " + Q),
    no(r"'car' \(column 'truth', row", "compare t.csv --classes 'bear, car, dog'"),
    no("--format must be auto, table", "compare t.csv --format excel"),
    no("no sample was found in 0 logs", "compare t.csv --format inspect"),
    no(
        r"--pattern \{observer\}_\{session:d\}\.csv fits none of 1 files; they are:",
        "compare t.csv --pattern '{observer}_{session:d}.csv'",
    ),
    no(r"pattern '\{observer' has no", "compare t.csv --pattern '{observer'"),
    no("--sep must be one character, such as ';', got ',,'", "compare t.csv --sep ,,"),
    no(r"'t\.csv' has one column", "compare t.csv --sep ';'"),
    no("encoding 'klingon' is unknown", "compare t.csv --encoding klingon"),
    no(r"'t\.csv' has one column,", "compare t.csv --encoding utf-16"),
    no("encoding 'base64' is", "compare t.csv --encoding base64"),
    no(
        r"'t\.csv' cannot be read as a csv file: 'ascii' codec can't decode byte ",
        "compare t.csv --encoding ascii",
        {"t.csv": ren("observer", anna="Zoë")},
    ),
    no("column 'observer' has 'anna'", "compare t.csv --na-values anna"),
    no("column 'truth' has 'dog' in row 2", "compare t.csv --n-null 50 --na-values dog " + Q),
    no("observer 'observer' has two rows for item", "compare t.csv --wide"),
    no("--observers names columns of a", "compare t.csv --observers a,b"),
    v(
        "wide",
        WORKS,
        f"compare t.csv --wide --n-null 50 {Q}",
        {"t.csv": "truth,a,b\nx,x,y\ny,y,y\n"},
    ),
    no(
        r"no column 'c' \(an observer\); the columns are row, truth, a, b",
        "compare t.csv --wide --observers a,c",
        {"t.csv": "truth,a,b\nx,x,y\ny,y,y\n"},
    ),
    no("question 0 has one option", "compare t.csv --n-options 1 --metric kappa_p"),
    no("question 0 has 0 options", "compare t.csv --n-options 0 --metric kappa_p"),
    no("--n-options must be a whole number or", "compare t.csv --n-options 3.5"),
    no("question 0 has 99999999999", "compare t.csv --n-options 99999999999 --metric kappa_p"),
    v("n-options fits", WORKS, f"compare t.csv --n-options 3 --metric kappa_p_discrete {Q}"),
    no("these trials have no probabilities", f"compare t.csv --n-options 3 --metric kappa_p {Q}"),
    no("--n-options must be a whole", f"compare t.csv --n-options ² --metric kappa_p_discrete {Q}"),
    no(r"--prior expects NAME=A:B,\.\.\., such as", "compare t.csv --prior u=1"),
    no("prior of u must be two positive", "compare t.csv --prior u=-1:1 " + Q),
    no("unknown name in prior: w; give Beta", "compare t.csv --prior w=1:1 " + Q),
    no("prior of u must be two positive Beta", "compare t.csv --prior u=nan:1 " + Q),
    no("prior of u must be two positive Beta", "compare t.csv --prior u=inf:1 " + Q),
    no("--prior is of the four cells of a pair, and", "compare t.csv --metric ma --prior u=1:1"),
    no("--alpha must be above 0 and", "compare t.csv --metric cles --alpha -1"),
    no("--alpha must be above 0 and finite", "compare t.csv --metric cles --alpha nan"),
    no("--alpha must be above 0", f"compare t.csv --metric cles --alpha 0 --n-permutations 20 {Q}"),
    v("permutations 0", WORKS, f"compare t.csv --metric cles --n-permutations 0 {Q}"),
    no("--n-permutations must", f"compare t.csv --metric cles --n-permutations 1000000000000 {Q}"),
    no("--null needs at least one draw", "compare t.csv --null --n-draws 0"),
    v("null of ma", WORKS, f"compare t.csv --metric ma --null {Q}"),
    v("null", WORKS, f"compare t.csv --null --n-null 50 {Q} --out o"),
    no(
        "--model must be 'copying', or a pymc.Model; got 'nothing'",
        "compare t.csv --model nothing --sampler nuts --n-resamples 0 --quiet",
    ),
    no("--include must be 'all' or among", "compare t.csv --include everything --sampler nuts"),
    no("--readers is of metrics of readings", "compare t.csv --readers all"),
    v("alpha for all readers", WORKS, f"compare t.csv --metric alpha --readers all {Q}"),
    no("give --quiet or --verbose, not", "compare t.csv --verbose --quiet"),
    no("--out must be a folder that", f"compare t.csv --n-null 50 {Q} --out t.csv"),
    no("--out must be a folder", f"compare t.csv --n-null 50 {Q} --out t.csv/x"),
    v("out deep", WORKS, f"compare t.csv --n-null 50 {Q} --out a/b/c"),
    no("--out must be a folder that can be", f"compare t.csv --n-null 50 {Q} --out /proc/x"),
    no("--out must be a folder that can be", f"compare t.csv --n-null 50 {Q} --out " + "x" * 300),
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
    no(
        "with 2 classes a wrong answer can only be the other one: there is",
        f"compare --confusions a.csv b.csv --no-paired --n-permutations 20 {Q}",
        {"a.csv": conf, "b.csv": conf},
    ),
    no("confusion matrices do", "compare --confusions a.csv b.csv", {"a.csv": conf, "b.csv": conf}),
    no("--confusions must be of at", "compare --confusions a.csv --no-paired", {"a.csv": conf}),
    no(
        "a confusion matrix has counts, and that of 'a' has -5; rates do not",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", "-5"), "b.csv": conf},
    ),
    no(
        r"a confusion matrix has counts, and that of 'a' has 0\.5; rates do not",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", ".5"), "b.csv": conf},
    ),
    no(
        "the confusion matrix of 'a' has entries that are no counts; write",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("5", ""), "b.csv": conf},
    ),
    no(
        "confusion matrices must be of the same classes in the same order; 'a'",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf.replace("b", "c"), "b.csv": conf},
    ),
    no(
        "a confusion matrix must be square, true classes by answers; that of",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": "t,a,b\na,1,2\n", "b.csv": conf},
    ),
    no(
        r"'a\.csv' cannot be read as a matrix of counts: No columns to parse",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": "", "b.csv": conf},
    ),
    no(r"no file 'a\.csv'; give", "compare --confusions a.csv b.csv --no-paired", {"b.csv": conf}),
    no(
        r"'a\.csv' cannot be read as a matrix of counts: 'utf-8' codec can't",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": b"\xff\xfe\0", "b.csv": conf},
    ),
    no(
        r"'a\.csv' cannot be read as a matrix of counts: Error tokenizing data\.",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf + "c,1,2,3,4,5\n", "b.csv": conf},
    ),
    no(
        "a confusion matrix must be square, true classes by answers; that of",
        "compare --confusions a.csv b.csv --no-paired",
        {"a.csv": conf + "a,1,1\n", "b.csv": conf},
    ),
    no("give FILE, with trials, or", "compare t.csv --confusions t.csv"),
    no("give FILE, with trials, or --confusions: one of", "compare"),
    no(
        "the confusion matrix of 'a' has entries that are no counts; write",
        f"compare --confusions a.csv b.csv --no-paired --n-permutations 20 {Q}",
        {"a.csv": conf.replace("5", "9" * 25), "b.csv": conf},
    ),
    # matrix
    v("matrix", WORKS, "matrix t.csv --n-resamples 20 --quiet --out o"),
    v("matrix of two", WORKS, "matrix t.csv --quiet", {"t.csv": one}),
    no("a matrix needs at", "matrix t.csv --quiet", {"t.csv": "observer,item,correct\na,1,1\n"}),
    no("--top must be at least 1", "matrix t.csv --quiet --n-resamples 20 --top 0"),
    no("--top must be at least 1, got -5", "matrix t.csv --quiet --top -5"),
    no("no column 'vendor'", "matrix t.csv --by-family vendor --quiet"),
    v("matrix by kind", WORKS, "matrix t.csv --by-family kind --quiet --n-resamples 20"),
    v("matrix of labels", WORKS, "matrix t.csv --metric ma"),
    v("matrix resamples huge", WORKS, "matrix t.csv --quiet --n-resamples 1000000000000"),
    no("--n-resamples must", "matrix t.csv --quiet --n-resamples -1"),
    v(
        "matrix all right",
        WORKS,
        "matrix t.csv --quiet --n-resamples 20 --out o",
        {"t.csv": csv(response=P.truth)},
    ),
    no(
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
    no("no observer is of kind", "benchmark t.csv " + Q, {"t.csv": w.text(P[P.kind != "model"])}),
    no("no observer is of kind", "benchmark t.csv " + Q, {"t.csv": w.text(P[P.kind == "model"])}),
    no(
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
    no("no observer is of kind", "benchmark t.csv " + Q, {"t.csv": w.text(P.drop(columns="kind"))}),
    no("no observer is of kind", "benchmark t.csv --models network"),
    v("benchmark no schools", WORKS, "benchmark t.csv --n-resamples 0 --n-draws 0 --quiet --out o"),
    v("benchmark one replicate", WORKS, "benchmark t.csv --n-resamples 1 --n-draws 1 --quiet"),
    no("--level must be one of", f"benchmark t.csv {Q} --level nowhere"),
    no("--n-resamples must be at most", "benchmark t.csv --n-resamples 1000000000000 --quiet"),
    no("--n-draws must be at", "benchmark t.csv --n-draws 1000000000000 --quiet --n-resamples 50"),
    no(
        "no machine may be called 'ceiling', a row that tables of scores add",
        f"benchmark t.csv {Q} --out o",
        {"t.csv": ren("observer", net_a="ceiling", anna="human-human")},
    ),
    no("no data set may be", f"benchmark t.csv {Q} --out o", {"t.csv": csv(dataset="overall")}),
    no(
        "no data set may be called 'overall', a row that tables of scores add",
        f"benchmark t.csv {Q} --people label --out o",
        {"t.csv": w.text(pd.concat([P.assign(dataset="overall"), P.assign(dataset="other")]))},
    ),
    no(
        r"label 'anna' answers in 2 data sets, one person or as many\? Say",
        f"benchmark t.csv {Q}",
        {"t.csv": w.text(pd.concat([P.assign(dataset="x"), P.assign(dataset="y")]))},
    ),
    v("benchmark", WORKS, f"benchmark t.csv {Q} --out o", {"t.csv": csv(response=P.truth)}),
    v("benchmark verdict", WORKS, f"benchmark t.csv {Q} --verdict net_a net_b"),
    no("no machine with a score is named 'net_c'", f"benchmark t.csv {Q} --verdict net_a net_c"),
    no(r"first and second are the same \('net_a'\)", f"benchmark t.csv {Q} --verdict net_a net_a"),
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
    no(
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
    no(
        "column 'margin' must hold finite numbers, got nan for observer",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=np.nan))},
    ),
    no(
        "column 'margin' must hold finite numbers, got inf for observer",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=np.inf))},
    ),
    no(
        r"column 'margin' must hold numbers up to 1e\+100, got 3\.323e\+300 for",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin=lambda f: f.margin * 1e300))},
    ),
    no(
        "column 'margin' must hold numbers, got 'high' in row 0; write numbers",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin="high"))},
    ),
    no(
        "column 'margin' must hold numbers, got '0,5' in row 0; write numbers",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": w.text(w.margins().assign(margin="0,5"))},
    ),
    no("--m must be a whole", "margins t.csv --margins m.csv --m -4", FM),
    no("--m must be a whole", "margins t.csv --margins m.csv --m 1", FM),
    v("margins alternatives huge", WORKS, f"margins t.csv --margins m.csv --m 1000000000 {Q}", FM),
    no(
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
    no("--margin-columns names columns of MARGINS", "margins t.csv --margin-columns margin=gap"),
    no(r"no file 'nowhere\.csv'", "margins t.csv --margins nowhere.csv"),
    no(r"'m\.csv' is an empty file", "margins t.csv --margins m.csv", {"t.csv": T, "m.csv": ""}),
    no(
        r"'m\.csv' is empty: it has no rows",
        "margins t.csv --margins m.csv",
        {"t.csv": T, "m.csv": M.split("\n")[0] + "\n"},
    ),
    no(
        "observer 'anna' has margins but 'ben', also of kind 'human', has",
        f"margins t.csv --margins m.csv {Q}",
        {"t.csv": T, "m.csv": M.replace("net_a", "anna")},
    ),
    no(
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
    no(
        "--n-resamples must be at most 100,000,000, got 1,000,000,000,000",
        "margins t.csv --margins m.csv --n-resamples 1000000000000 --quiet",
        FM,
    ),
    no("no column 'vendor'; the columns", "margins t.csv --group vendor"),
    v("margins group observer", WORKS, f"margins t.csv --margins m.csv --group observer {Q}", FM),
    no(r"no file 'c\.csv'", "margins t.csv --margins m.csv --coarse c.csv", FM),
    no("no entry compares a system with", f"margins t.csv --scores {Q}"),
    v("margins scores", WORKS, f"margins t.csv --margins m.csv --scores {Q} --out o", FM),
    no("two rows for observer", f"margins t.csv --margins m.csv m.csv {Q}", FM),
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
    no("parameter --reference", "spectrum t.csv " + "--quiet"),
    v("spectrum", WORKS, "spectrum t.csv --reference clean --quiet"),
    no("no condition 'none' to refer to; there are", "spectrum t.csv --reference none --quiet"),
    no(
        "regimes group conditions: give a spectrum of at least 2, got 1",
        "spectrum t.csv --reference clean --quiet",
        {"t.csv": w.text(P[P.condition == "clean"])},
    ),
    no("--out must be a folder that can be written", "demo --out f/x", {"f": "x"}),
    no('invalid value "tcsh" for SHELL. Choose from', "completion tcsh"),
    v("version", WORKS, "--version"),
    no(r"--ci-prob must lie strictly between 0 and 1, got 0\.0", "demo --ci-prob 0"),
    no("there is no option --hlep; did you mean '--help'", "--hlep"),
    no("metrics of correctness", "matrix t.csv --metric cles --quiet"),
    no(
        "needs at least two systems, got human",
        "margins t.csv",
        {"t.csv": w.text(P[P.kind == "human"])},
    ),
    no("--k must be a whole number or auto", "spectrum t.csv --reference clean --k some"),
    no("--k must lie between 1 and the number of", "spectrum t.csv --reference clean --k 25"),
    no("--exclude must list dataset:condition", "spectrum t.csv --reference clean --exclude x"),
    no("--mixture is of metrics of rows, and not of EC", "compare t.csv --mixture pooled"),
    no("--n-null is of metrics of correctness", "compare t.csv --metric ma --n-null 9"),
    no("prior must be four positive numbers", "compare t.csv --prior 1,1,1"),
    no("the Bayes factor .* needs a Dirichlet", "compare t.csv --prior u=2:1"),
]


@pytest.mark.parametrize("case", marked(CASES))
def test_inputs(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check(case, tmp_path)
