"""Files of users: each case of a public report, rebuilt with separate inputs.

Eight items and two observers with cells 4, 1, 1, 2 (`written`): error consistency is 14/30, or
18/34 for responses; other numbers are derived at their case.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import written as w
from written import RIGHT, TRUE, N, given, lines

import alikely as al
from alikely.cli import main
from alikely.data.trials import Trials

EC, KAPPA = 14 / 30, 18 / 34
# Without item 4, an error of both, the cells are 4, 1, 1, 1.
SEVEN = (5 / 7 - 29 / 49) / (1 - 29 / 49)
CASES: list[Any] = []


def case(number: str, expected: Any, **options: Any) -> Callable[[Callable[[Path], Any]], Any]:
    """A case: its writer, its options, and a value of a metric or an error message."""

    def add(write: Callable[[Path], Any]) -> Any:
        CASES.append(pytest.param(write, expected, options, id=f"{number} {write.__name__}"))
        return write

    return add


@pytest.mark.parametrize(("write", "expected", "options"), CASES)
def test_public_case(
    tmp_path: Path, write: Callable[[Path], Any], expected: Any, options: dict[str, Any]
) -> None:
    path = write(tmp_path) or tmp_path
    how = {name: options.pop(name) for name in METRIC if name in options}
    noted = options.pop("noted", "")
    options = {k: v(tmp_path) if callable(v) else v for k, v in options.items()}
    few = {"n_resamples": 0, "n_draws": 0}
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected) as told:
            al.compare(Trials.read(path, **options), **few, **how)
        assert "\n" not in str(told.value)
        return
    trials = Trials.read(path, **options)
    if "readers" in how:
        result = al.agreement(trials, how.pop("metric"), **{"no_response": "error"} | few | how)
    else:
        result = al.compare(trials, **few, **how)
    pairs = result.summary()["estimate"].tolist()
    assert pairs == pytest.approx(np.atleast_1d(expected), abs=1e-6, nan_ok=True)
    assert noted in str(trials.notes)


METRIC = ("metric", "readers", "no_response", "cluster", "pairs", "coefficient")
ALPHA = {"metric": "krippendorff_alpha", "readers": "all"}


def _table(path: Path, entries: list[dict[str, Any]], **how: Any) -> Path:
    pd.DataFrame(entries).to_csv(path, index=False, **how)
    return path


def _generated(folder: Path, target: str, extract: Callable[[str, int], str], **more: Any) -> None:
    """Samples of generated responses, by two filters."""
    for name in RIGHT:
        samples = [
            {
                "doc_id": k, "doc": {"question": f"q{k}"}, "doc_hash": str(k), "filter": kept,
                "target": TRUE[k] if target == "letter" else f"text {k}", "resps": [[r]],
                "filtered_resps": [extract(r, k)], "metrics": ["exact_match"],
                "exact_match": float(RIGHT[name][k] and kept == "strict"), **more,
            }
            for k, r in enumerate(given(name))
            for kept in (("strict", "flexible") if target == "text" else ("strict",))
        ]  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "samples_quiz_2026-01-02T03-04-05.678901.jsonl").write_text(lines(samples))


@case("01", "has 2 filters, strict, flexible; choose one")
def lm_eval_without_a_filter(folder: Path) -> None:
    _generated(folder, "text", lambda r, _: r)


@case("01", EC, filter="strict", noted="up to 2 answers to a question, of which the filter makes")
def lm_eval_of_a_filter(folder: Path) -> None:
    _generated(folder, "text", lambda r, _: r, resps=[["it is 7", "8"]])


@case("01", EC, filter="strict", noted="answers are free text: correctness only")
def lm_eval_of_free_text(folder: Path) -> None:
    _generated(folder, "text", lambda r, _: r)


@case("03", EC, noted="are missing")
def lm_eval_letters(folder: Path) -> None:
    """A letter that was not found counts as an error, and can be excluded."""
    _generated(folder, "letter", lambda r, k: "[invalid]" if k in (4, 5) else f"({r})")


@case("03", KAPPA, metric="cohen_kappa")
def lm_eval_letters_are_classes(folder: Path) -> None:
    _generated(folder, "letter", lambda r, k: r)


@case("04", "mc2 of .* is 0.13.*neither 0 nor 1.*the log has no other")
def lm_eval_mc2(folder: Path) -> None:
    _generated(folder, "letter", lambda r, _: r, metrics=["mc2"], mc2=0.134)


@case("06", EC, noted="divided at the first single underscore")
def lm_eval_old_names(folder: Path) -> None:
    w.lm_eval(folder)
    for name in RIGHT:
        (old,) = (folder / name).iterdir()
        samples = [json.loads(line) for line in old.read_text().splitlines()]
        new = folder / f"pretrained=org__{name}_arc_easy.jsonl"
        new.write_text(json.dumps(samples, indent=1))
        old.unlink()


def _logs(folder: Path, change: Callable[[str, dict[str, Any]], None], **more: Any) -> None:
    for name in RIGHT:
        log = w.inspect_log(name) | more
        change(name, log)
        (folder / f"{name}.json").write_text(json.dumps(log))


@case("08", EC, noted="ended in an error and were scored")
def inspect_scored_errors(folder: Path) -> None:
    def change(_: str, log: dict[str, Any]) -> None:
        log["samples"][4]["error"] = {"message": "too long"}

    _logs(folder, change)


@case("08", SEVEN, no_response="drop", noted="1 of 16 values of column 'response' are missing")
def inspect_scored_errors_are_told(folder: Path) -> None:
    def change(name: str, log: dict[str, Any]) -> None:
        if name == "anna":
            log["samples"][4]["error"] = {"message": "too long"}

    _logs(folder, change)


@case("11", "has no scorer: correctness is unknown")
def inspect_unscored(folder: Path) -> None:
    def change(_: str, log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            sample["scores"] = None

    _logs(folder, change)


@case("12", KAPPA, metric="cohen_kappa")
def inspect_options_beyond_z(folder: Path) -> None:
    """Letters A to Z, then numbers; A and B became Z and 1."""

    def change(_: str, log: dict[str, Any]) -> None:
        beyond = {"A": "Z", "B": "1"}
        for sample in log["samples"]:
            sample["choices"] = [f"option {i}" for i in range(36)]
            sample["target"] = beyond[sample["target"]]
            score = sample["scores"]["choice"]
            score["answer"] = beyond[score["answer"]]

    _logs(folder, change)


@case("12", EC, noted="no answers were written, only whether they are right")
def inspect_without_answers(folder: Path) -> None:
    def change(_: str, log: dict[str, Any]) -> None:
        for sample in log["samples"]:
            del sample["scores"]["choice"]["answer"]

    _logs(folder, change)


@case("68", "has 2 scores, base, plus; choose one with score='base'")
def evalplus_of_two(folder: Path) -> None:
    w.evalplus(folder)


def _two_scores(folder: Path) -> None:
    w.every_eval_ever(folder)
    path = folder / "u_samples.jsonl"
    text = path.read_text()
    other = text.replace('"acc"', '"f1"').replace('"is_correct": true', '"is_correct": false')
    path.write_text(text.replace('"is_correct": true', '"is_correct": null') + other)


@case("ever", "has 2 evaluation_result_ids, acc, f1; choose one with")
def every_eval_ever_of_two(folder: Path) -> None:
    _two_scores(folder)


@case("ever", EC, score="acc")
def every_eval_ever_of_one(folder: Path) -> None:
    _two_scores(folder)


@case("21", EC, item="Bild", noted="parted by semicolons")
def psychopy_german(folder: Path) -> None:
    for name in RIGHT:
        text = w.psychopy_text(name, ";").replace("image", "Bild").replace("0.4", "0,4")
        (folder / f"{name}.csv").write_bytes(text.replace("cats", "Größe").encode("cp1252"))


def _keys(folder: Path) -> None:
    for name in RIGHT:
        text = w.psychopy_text(name)
        for k, r in enumerate(given(name)):
            text = text.replace(f",{k},{r},", f",{k},\"['{r}', 'A']\",")
        (folder / f"{name}.csv").write_text(text)


@case("22", "contains lists of all keys of a trial; choose score='first' or", item="image")
def psychopy_lists_of_keys(folder: Path) -> None:
    _keys(folder)


@case("22", EC, item="image", score="first")
def psychopy_first_keys(folder: Path) -> None:
    _keys(folder)


@case("23", EC, item="image", noted="occur twice with the same values")
def psychopy_twice(folder: Path) -> None:
    for name in RIGHT:
        text = w.psychopy_text(name).splitlines()
        (folder / f"{name}.csv").write_text("".join(f"{row},{row}\n" for row in text))


@case("24", r"bert.csv', line 3 has 9 fields, but the line of names has 8", item="image")
def psychopy_commas(folder: Path) -> None:
    w.psychopy(folder)
    path = folder / "bert.csv"
    path.write_text(path.read_text().replace("i1.png", "i1.png, maybe"))


@case("25", EC, filter="single-stim", response="key_press", na_values=["-1"])
def jspsych_v6(folder: Path) -> None:
    """Key codes; -1 means no response."""
    w.jspsych(folder)
    rows = json.loads((folder / "all.json").read_text())
    (folder / "all.json").unlink()
    for name in RIGHT:
        own = [row | {"trial_type": "single-stim"} for row in rows if row["subject_id"] == name]
        for k, row in enumerate(own):
            key = {"A": 37, "B": 39}[row.pop("response")]
            row |= {"correct_response": {"A": 37, "B": 39}[row["correct_response"]]}
            row |= {"key_press": -1 if k == 4 else key}
            del row["subject_id"]
        _table(folder / f"{name}.csv", [*own, own[0] | {"trial_type": "text"}])


@case("26", r"'all' has two rows for item .*\(or give observer=\)")
def jspsych_unknown_people(folder: Path) -> None:
    """The error message reports the guess."""
    w.jspsych(folder)
    path = folder / "all.json"
    path.write_text(path.read_text().replace("subject_id", "who"))


@case("28", 0.5, metric="fleiss_kappa", readers="all", wide="rows", noted="each row is a rater")
def raters_as_rows(folder: Path) -> Path:
    raters = [{"rater": n} | {f"img{k}": r for k, r in enumerate(given(n))} for n in RIGHT]
    return _table(folder / "s.csv", raters)


@case("29", EC, kind={"anna": "human"}, pairs="human-model")
def own_people(folder: Path) -> None:
    w.model_vs_human(folder)


def _renamed(folder: Path) -> Path:
    rows = w.rows()
    for row in rows:
        k = int(row["item"][1:])
        row["item"] = f"stimuli/Drop_{k}.png"
        if row["observer"] == "bert" and k > 1:
            row["item"] = f"/data/stim/drop_{k}.mp4"
    return _table(folder / "t.csv", rows)


@case("31", r"6 of 8 of 'anna'.*'stimuli/Drop_2.png' and '/data/stim/drop_2.mp4' may mean one item")
def item_names_differ(folder: Path) -> Path:
    return _renamed(folder)


@case("31", np.nan, unmatched="accept", noted="may mean one item: make them equal")
def item_names_differ_accepted(folder: Path) -> Path:
    return _renamed(folder)


@case("40", 1.0, no_response="drop", **ALPHA)
def no_truth(folder: Path) -> Path:
    readings = {"r1": "122", "r2": "12-", "r3": "-22"}
    rows = [
        {"observer": name, "item": k, "response": None if r == "-" else r}
        for name, text in readings.items()
        for k, r in enumerate(text)
    ]
    return _table(folder / "t.csv", rows)


def _coders(folder: Path, *readings: str) -> Path:
    rows = [
        {"observer": f"c{i}", "item": k, "truth": "1", "response": None if r == "-" else r}
        for i, text in enumerate(readings)
        for k, r in enumerate(text)
        if r != "."
    ]
    return _table(folder / "t.csv", rows)


@case("42", -0.5, classes=list("12"), **ALPHA)
def crossed_units(folder: Path) -> Path:
    return _coders(folder, "12", "21")


@case("44", np.nan, no_response="drop", classes=list("12"), **ALPHA)
def one_shared_unit(folder: Path) -> Path:
    return _coders(folder, "1-", "12")


# Units 112, 22, 11: agreeing pairs (1/3 x 3 + 2 + 2) / 7, and 4 ratings of 7 are 1.
@case("45", 1 - (7 - 1) * (2 / 7) / ((49 - 16 - 9) / 7), classes=list("12"), **ALPHA)
def unequal_raters(folder: Path) -> Path:
    return _coders(folder, "121", "121", "2..")


@case("49", KAPPA, metric="cohen_kappa", wide=True)
def order_of_labels(folder: Path) -> Path:
    """Labels that are not in alphabetical order."""
    other = {"A": "BB", "B": "Aa"}
    columns = {name: [other[r] for r in given(name)] for name in RIGHT}
    pd.DataFrame({"item": range(N), **columns}).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


@case("50", 0.0, metric="cohen_kappa", classes="seen")
def uncovered_truth(folder: Path) -> Path:
    """One reader uses a single class, so agreement is at chance."""
    return _coders(folder, "11221", "11111")


@case("51", [-1.0, np.nan])
def negative_and_undefined(folder: Path) -> Path:
    right = {"x": {"a": "1100", "b": "0011"}, "y": {"a": "1111", "b": "1111"}}
    rows = [
        {"observer": name, "item": k, "condition": where, "correct": r}
        for where, people in right.items()
        for name, text in people.items()
        for k, r in enumerate(text)
    ]
    return _table(folder / "t.csv", rows)


@case("53", EC, item_columns=["patient"], cluster="patient", observer="reader", item="lesion")
def lesions_within_patients(folder: Path) -> Path:
    rows = [
        {"reader": r["observer"], "lesion": r["item"], "patient": int(r["item"][1:]) // 2,
         "truth": r["truth"], "response": r["response"]}
        for r in w.rows()
    ]  # fmt: skip
    return _table(folder / "t.csv", rows)


@case("54", r"t.xlsx' is a workbook; .*al.Trials.read\(pandas.read_excel\('t.xlsx'\)\)")
def excel(folder: Path) -> Path:
    (folder / "t.xlsx").write_bytes(b"PK\x03\x04")
    return folder / "t.xlsx"


@case("55", EC, truth=lambda folder: folder / "true.csv",
      observer="worker", item="task", response="label")  # fmt: skip
def truth_in_a_file(folder: Path) -> Path:
    w.crowd_kit(folder)
    return folder / "labels.csv"


@case("55", "1 of 8 items have no truth in the table of truths, such as 'i7'",
      truth=lambda _: pd.DataFrame({"item": [f"i{k}" for k in range(7)], "truth": TRUE[:7]}),
      unmatched="accept", format="table")  # fmt: skip
def truth_that_lacks_an_item(folder: Path) -> Path:
    frame = pd.DataFrame(w.rows()).drop(columns="truth")
    frame.to_csv(folder / "t.csv", index=False)
    return folder / "t.csv"


@case("56", KAPPA, metric="cohen_kappa", observer="annotator", item="id", response="mood")
def label_studio_rows(folder: Path) -> Path:
    rows = [
        {"text": f"t{r['item']}", "id": r["item"], "mood": r["response"],
         "annotator": r["observer"], "annotation_id": k, "lead_time": 3.2}
        for k, r in enumerate(w.rows())
    ]  # fmt: skip
    return _table(folder / "export.csv", rows)


def _retried(folder: Path) -> None:
    w.inspect(folder)
    failed = w.inspect_log("anna", status="error")
    failed["samples"] = failed["samples"][:3]
    failed["samples"][2] |= {"scores": {}, "error": {"message": "reset"}}
    (folder / "2026_failed.json").write_text(json.dumps(failed))


@case("64", EC, noted="the newest complete one was read; left out: 2026_failed.json")
def inspect_retry(folder: Path) -> None:
    _retried(folder)


def test_all_runs_can_be_read(tmp_path: Path) -> None:
    _retried(tmp_path)
    names = ["anna", "anna (2026_failed.json)", "bert"]
    assert sorted(Trials.read(tmp_path, runs="all").observers) == names


@case("66", EC, noted="parted by semicolons")
def line_of_the_separator(folder: Path) -> Path:
    text = pd.DataFrame(w.rows()).to_csv(index=False, sep=";")
    (folder / "t.csv").write_text("sep=;\n" + text)
    return folder / "t.csv"


@case("72", SEVEN, no_response="drop", noted="are missing")
def jspsych_timeouts(folder: Path) -> None:
    """One observer has no response to item 4, which is scored as incorrect."""
    w.jspsych(folder)
    rows = json.loads((folder / "all.json").read_text())
    for row in rows:
        del row["correct_response"]
    rows[4] |= {"response": None, "rt": None}
    (folder / "all.json").write_text(json.dumps(rows))


@case("77", EC)
def helm_trials(folder: Path) -> None:
    """Three equal training trials are crossed, and each item counts once."""
    w.helm(folder)
    for path in folder.rglob("per_instance_stats.json"):
        stats = json.loads(path.read_text())
        more = [entry | {"train_trial_index": t} for t in range(3) for entry in stats]
        path.write_text(json.dumps(more))


@case("78", EC)
def inspect_epochs(folder: Path) -> None:
    def change(_: str, log: dict[str, Any]) -> None:
        log["samples"] = [one | {"epoch": e} for e in (1, 2) for one in log["samples"]]

    _logs(folder, change)


@case("94", EC)
def inspect_efforts(folder: Path) -> None:
    """One model with two settings is two observers."""

    def change(name: str, log: dict[str, Any]) -> None:
        effort = {"anna": "low", "bert": "high"}[name]
        log["eval"] |= {"model": "o", "model_generate_config": {"reasoning_effort": effort}}

    _logs(folder, change)


def test_scores_above_the_ceiling_are_not_clipped(tmp_path: Path) -> None:
    """Case 93: humans hardly agree, and a model agrees with each of them."""
    x, y = (np.tile(np.array(list(text)) == "1", 5) for text in ("110110010", "110001011"))
    right = {"h1": x, "h2": y, "m": np.where(np.arange(45) % 2, x, y)}
    rows = [
        {"observer": n, "kind": "model" if n == "m" else "human", "item": k, "correct": int(v)}
        for n, values in right.items()
        for k, v in enumerate(values)
    ]
    trials = Trials.read(_table(tmp_path / "t.csv", rows))
    table = al.error_consistency(trials, n_resamples=0, n_draws=0).summary()
    pair = table.set_index(["observer_a", "observer_b"])["estimate"]
    ratio = (pair["h1", "m"] + pair["h2", "m"]) / 2 / pair["h1", "h2"]
    assert ratio == pytest.approx(5.5)
    scores = al.benchmark_scores(trials, n_resamples=0, n_draws=0, rng=1).summary()
    assert scores["ceiling_normalized"].iloc[0] == pytest.approx(ratio)


def test_truth_and_kinds_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    w.crowd_kit(tmp_path)
    roles = "observer=worker,item=task,response=label"
    options = ["--columns", roles, "--truth", str(tmp_path / "true.csv"), "--kind", "human=anna"]
    quick = ["--n-resamples", "0", "--n-draws", "0", "--quiet", "--jobs", "1"]
    assert main(["compare", str(tmp_path / "labels.csv"), *options, *quick]) == 0
    assert "0.47" in capsys.readouterr().out
    assert main(["describe", str(tmp_path / "labels.csv"), *options]) == 0
    said = capsys.readouterr().out
    assert "anna (human), bert (observer)" in said
    assert "8 trials were shown to both observers" in said
    assert "--kind human=anna" in said
    assert all(len(line) <= 80 for line in said.splitlines() if "  alikely " not in line)


def test_clusters_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two items per patient, both correct or both incorrect, have a design effect of 2."""
    rows = [
        {"observer": n, "item": k, "patient": k // 2, "correct": int(k // 2 in own)}
        for n, own in (("a", (0, 1)), ("b", (1, 2)))
        for k in range(8)
    ]
    path = _table(tmp_path / "t.csv", rows)
    assert main(["describe", str(path)]) == 0
    assert "patient (4 clusters, design effect 2.00)" in capsys.readouterr().out


def test_responses_without_a_truth_are_never_errors() -> None:
    """All functions that need errors raise the same error."""
    rows = [
        {"observer": o, "kind": "human" if o < "c" else "model", "item": k, "response": "AB"[k % 2]}
        for o in "abcd"
        for k in range(12)
    ]
    trials = Trials.from_table(pd.DataFrame(rows))
    models = trials.select(kind="model")
    for analysis in (
        lambda: al.error_consistency(trials),
        lambda: al.error_similarity(trials),
        lambda: al.pairwise_matrix(trials),
        lambda: al.benchmark_scores(trials),
        lambda: al.planning.choose_images(models, n=4, target=("c", "d")),
    ):
        with pytest.raises(ValueError, match="no true classes, so no response is correct"):
            analysis()
    assert trials.summary()["accuracy"].isna().all()
    assert "truth" not in trials.to_table()
