"""Small files of every format, each with two observers, eight items and known responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

# Correctness of two observers on eight items: error consistency 1/2.
RIGHT = {"anna": (1, 1, 1, 1, 0, 0, 0, 1), "bert": (1, 1, 1, 0, 0, 0, 1, 1)}
N = 8
TRUE = tuple("ABABABAB")


def given(name: str) -> list[str]:
    """Response letters."""
    other = {"A": "B", "B": "A"}
    return [t if ok else other[t] for t, ok in zip(TRUE, RIGHT[name], strict=True)]


def rows(*names: str) -> list[dict[str, Any]]:
    """Rows of a long table."""
    return [
        {"observer": name, "item": f"i{k}", "truth": TRUE[k], "response": given(name)[k]}
        for name in names or RIGHT
        for k in range(N)
    ]


def lines(entries: list[Any]) -> str:
    """Objects of JSON, one on each line."""
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def table(folder: Path) -> Path:
    """A csv table."""
    pd.DataFrame(rows()).to_csv(folder / "t.csv", index=False)
    return folder


def table_json(folder: Path) -> Path:
    """A table of objects."""
    (folder / "t.json").write_text(json.dumps(rows()))
    return folder


def table_parquet(folder: Path) -> Path:
    """A table of columns."""
    pd.DataFrame(rows()).to_parquet(folder / "t.parquet")
    return folder


def lm_eval(folder: Path) -> Path:
    """Samples of options, in a folder for each model."""
    for name in RIGHT:
        likelihood = {"A": [[-0.2, True], [-2.0, False]], "B": [[-2.0, False], [-0.2, True]]}
        samples = [
            {
                "doc_id": k, "doc": {"question": f"q{k}"}, "target": "AB".index(TRUE[k]),
                "arguments": [["q", " x"], ["q", " y"]], "resps": [[one] for one in likelihood[r]],
                "filtered_resps": likelihood[r], "doc_hash": str(k), "acc": float(RIGHT[name][k]),
                "metrics": ["acc"],
            }
            for k, r in enumerate(given(name))
        ]  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "samples_quiz_2026-01-02T03-04-05.678901.jsonl").write_text(lines(samples))
    return folder


def inspect_log(name: str, **more: Any) -> dict[str, Any]:
    """A log of Inspect."""
    samples = [
        {
            "id": k, "epoch": 1, "input": f"q{k}", "target": TRUE[k], "choices": ["x", "y"],
            "scores": {"choice": {"value": "CI"[1 - RIGHT[name][k]], "answer": r}},
        }
        for k, r in enumerate(given(name))
    ]  # fmt: skip
    evaluation = {"model": name, "task": "quiz", "dataset": {"name": "quiz"}}
    return {"version": 2, "status": "success", "eval": evaluation, "samples": samples} | more


def inspect(folder: Path) -> Path:
    """Two logs."""
    for name in RIGHT:
        (folder / f"{name}.json").write_text(json.dumps(inspect_log(name)))
    return folder


def helm(folder: Path) -> Path:
    """Two run folders, in which each metric wrote an entry."""
    for name in RIGHT:
        run = folder / f"quiz:model={name}"
        run.mkdir()
        spec = {"name": f"quiz:model={name}", "adapter_spec": {"model": name, "method": "joint"}}
        (run / "run_spec.json").write_text(json.dumps(spec))
        stats = []
        for k, right in enumerate(RIGHT[name]):
            for what, mean in (("exact_match", right), ("num_tokens", 7)):
                one = {
                    "name": {"name": what, "split": "test"},
                    "count": 1,
                    "sum": mean,
                    "mean": mean,
                }
                stats.append({"instance_id": f"id{k}", "train_trial_index": 0, "stats": [one]})
        (run / "per_instance_stats.json").write_text(json.dumps(stats))
    return folder


def lighteval(folder: Path) -> Path:
    """Details of two models."""
    for name in RIGHT:
        entries = [
            {
                "doc": {"query": f"q{k}", "choices": ["A", "B"], "task_name": "quiz",
                        "gold_index": ["AB".index(TRUE[k])]},
                "model_response": {"logprobs": [-0.2, -2.0] if r == "A" else [-2.0, -0.2]},
                "metric": {"acc": RIGHT[name][k]},
            }
            for k, r in enumerate(given(name))
        ]  # fmt: skip
        place = folder / "details" / name / "2026-01-02"
        place.mkdir(parents=True)
        path = place / "details_quiz_2026-01-02T03-04-05.678901.parquet"
        pd.DataFrame(entries).to_parquet(path)
    return folder


def leaderboard(folder: Path) -> Path:
    """Details of two models."""
    for name in RIGHT:
        entries = [
            {
                "predictions": [-0.2, -2.0] if r == "A" else [-2.0, -0.2],
                "gold": "AB".index(TRUE[k]), "acc": float(RIGHT[name][k]),
                "hashes": {"example": f"h{k}"},
            }
            for k, r in enumerate(given(name))
        ]  # fmt: skip
        place = folder / f"details_org__{name}"
        place.mkdir()
        path = place / "details_harness|quiz|5_2023-08-01T00:00:00.0.parquet"
        pd.DataFrame(entries).to_parquet(path)
    return folder


def every_eval_ever(folder: Path) -> Path:
    """Samples of two models in one file."""
    samples = [
        {
            "model_id": name, "evaluation_name": "quiz", "sample_id": str(k), "sample_hash": str(k),
            "input": {"raw": f"q{k}", "reference": [TRUE[k]]}, "evaluation_result_id": "acc",
            "answer_attribution": [{"extracted_value": r}],
            "evaluation": {"score": RIGHT[name][k], "is_correct": bool(RIGHT[name][k])},
        }
        for name in RIGHT
        for k, r in enumerate(given(name))
    ]  # fmt: skip
    (folder / "u_samples.jsonl").write_text(lines(samples))
    return folder


def jspsych(folder: Path) -> Path:
    """Two humans in one file."""
    entries = [
        {
            "trial_type": "image-keyboard-response", "trial_index": k, "time_elapsed": 9 * k,
            "stimulus": f"i{k}.png", "response": r, "correct_response": TRUE[k], "rt": 300 + k,
            "correct": bool(RIGHT[name][k]), "subject_id": name,
        }
        for name in RIGHT
        for k, r in enumerate(given(name))
    ]  # fmt: skip
    (folder / "all.json").write_text(json.dumps(entries))
    return folder


def psychopy_text(name: str, sep: str = ",") -> str:
    """A wide file of one human."""
    head = ["image", "corrAns", "trials.thisN", "key.keys", "key.corr", "key.rt", "participant",
            "expName"]  # fmt: skip
    body = [
        [f"i{k}.png", TRUE[k], str(k), r, str(RIGHT[name][k]), "0.4", name, "cats"]
        for k, r in enumerate(given(name))
    ]
    return "".join(sep.join(row) + "\n" for row in [head, *body])


def psychopy(folder: Path) -> Path:
    """Two humans."""
    for name in RIGHT:
        (folder / f"{name}.csv").write_text(psychopy_text(name))
    return folder


def model_vs_human(folder: Path) -> Path:
    """Two humans who are not named subjects."""
    for name in RIGHT:
        frame = pd.DataFrame(
            {
                "subj": name, "session": 1, "trial": range(1, N + 1), "rt": 0.4,
                "object_response": given(name), "category": TRUE, "condition": "c05",
                "imagename": [f"000{k}_con_s01_c05_cat_10_n0_{k}.png" for k in range(N)],
            }
        )  # fmt: skip
        frame.to_csv(folder / f"contrast_{name}_session_1.csv", index=False)
    return folder


def swe_bench(folder: Path) -> Path:
    """Reports of two agents."""
    for name, right in RIGHT.items():
        lists = {"resolved_ids": 1, "unresolved_ids": 0}
        report = {key: [f"p-{k}" for k in range(N) if right[k] == v] for key, v in lists.items()}
        (folder / f"{name}.report.json").write_text(json.dumps({"total_instances": N, **report}))
    return folder


def evalplus(folder: Path) -> Path:
    """Results of two models."""
    for name, right in RIGHT.items():
        tasks = {
            f"HumanEval/{k}": [
                {"base_status": "pass" if right[k] else "fail", "plus_status": "fail"}
            ]
            for k in range(N)
        }
        whole = {"date": "2026", "hash": "x", "eval": tasks}
        (folder / f"{name}_eval_results.json").write_text(json.dumps(whole))
    return folder


def opencompass(folder: Path) -> Path:
    """Results of two models with details."""
    for name, right in RIGHT.items():
        details = {
            str(k): {"pred": r, "answer": TRUE[k], "correct": bool(right[k])}
            for k, r in enumerate(given(name))
        }
        place = folder / "20260102_030405" / "results" / name
        place.mkdir(parents=True)
        (place / "quiz.json").write_text(json.dumps({"accuracy": 50.0, "details": details}))
    return folder


def label_studio(folder: Path) -> Path:
    """Tasks with two annotations each."""
    tasks = [
        {
            "id": k, "data": {"text": f"t{k}"},
            "annotations": [
                {
                    "id": 10 * k + i, "completed_by": {"id": i, "email": name},
                    "result": [{"from_name": "sentiment", "to_name": "text", "type": "choices",
                                "value": {"choices": [given(name)[k]]}}],
                }
                for i, name in enumerate(RIGHT)
            ],
        }
        for k in range(N)
    ]  # fmt: skip
    (folder / "export.json").write_text(json.dumps(tasks))
    return folder


def doccano(folder: Path) -> Path:
    """A file for each annotator."""
    for name in RIGHT:
        texts = [{"id": k, "text": f"t{k}", "label": [r]} for k, r in enumerate(given(name))]
        (folder / f"{name}.jsonl").write_text(lines(texts))
    return folder


def qualtrics(folder: Path) -> Path:
    """A survey of two respondents."""
    frame = pd.DataFrame(
        [["Response ID", *["Is it A?"] * N],
         ['{"ImportId":"_recordId"}', *[f'{{"ImportId":"QID{k}"}}' for k in range(N)]],
         *[[name, *given(name)] for name in RIGHT]],
        columns=["ResponseId", *[f"Q{k}" for k in range(N)]],
    )  # fmt: skip
    frame.to_csv(folder / "survey.csv", index=False)
    return folder


def crowd_kit(folder: Path) -> Path:
    """Labels, and a separate file of true labels."""
    frame = pd.DataFrame(rows()).rename(
        columns={"observer": "worker", "item": "task", "response": "label"}
    )
    frame[["task", "worker", "label"]].to_csv(folder / "labels.csv", index=False)
    true = pd.DataFrame({"task": [f"i{k}" for k in range(N)], "label": TRUE})
    true.to_csv(folder / "true.csv", index=False)
    return folder


def counts(folder: Path) -> Path:
    """A table of counts of the same responses."""
    frame = pd.crosstab(pd.Series(given("anna"), name="x"), pd.Series(given("bert")))
    frame.to_csv(folder / "counts.csv")
    return folder


def imrmc(folder: Path) -> Path:
    """Decisions of two readers, and truths."""
    text = "N0: 4\nN1: 4\nNR: 2\nNM: 1\n\nBEGIN DATA:\n"
    text += "".join(f"-1,i{k},0,{int(t == 'B')}\n" for k, t in enumerate(TRUE))
    for name in RIGHT:
        text += "".join(f"{name},i{k},ct,{int(r == 'B')}\n" for k, r in enumerate(given(name)))
    (folder / "study.imrmc").write_text(text)
    return folder


# Options for reading each format; without a truth, only agreement is known.
FORMATS: dict[str, tuple[Callable[[Path], Path], dict[str, Any]]] = {
    "table": (table, {}),
    "table-json": (table_json, {}),
    "table-parquet": (table_parquet, {}),
    "lm-eval": (lm_eval, {}),
    "inspect": (inspect, {}),
    "helm": (helm, {}),
    "lighteval": (lighteval, {}),
    "leaderboard": (leaderboard, {}),
    "every-eval-ever": (every_eval_ever, {}),
    "jspsych": (jspsych, {}),
    "psychopy": (psychopy, {"item": "image"}),
    "model-vs-human": (model_vs_human, {}),
    "swe-bench": (swe_bench, {}),
    "evalplus": (evalplus, {"score": "base"}),
    "opencompass": (opencompass, {}),
    "label-studio": (label_studio, {}),
    "doccano": (doccano, {}),
    "qualtrics": (qualtrics, {}),
    "crowd-kit": (crowd_kit, {}),
    "counts": (counts, {}),
    "imrmc": (imrmc, {}),
}
WITHOUT_TRUTH = {"label-studio", "doccano", "qualtrics", "counts"}
