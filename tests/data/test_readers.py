"""Logs of other tools, with the fields that the tools write, including unusual ones."""

from __future__ import annotations

import csv
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alikely.data.readers import readers
from alikely.data.trials import NO_RESPONSE, Trials


def refused(message: str, *given: Any, **options: Any) -> None:
    with pytest.raises(ValueError, match=message):
        Trials.read(*given, **options)


def right(trials: Trials) -> dict[tuple[str, ...], int]:
    """Correctness by observer, data set, condition, item."""
    data = trials.data
    keys = zip(data["dataset"].values, data["condition"].values, data["item"].values, strict=True)
    return {
        (observer, *map(str, key)): int(data["correct"].values[o, t])
        for t, key in enumerate(keys)
        for o, observer in enumerate(trials.observers)
    }


def lines(records: list[Any]) -> str:
    return "\n".join(map(json.dumps, records)) + "\n"


# lm-evaluation-harness ---------------------------------------------------------------------------

MODEL, TASK, DATE = "org__net-7b", "mmlu_anatomy", "2026-01-02T03-04-05.678901"


def choice_sample(doc_id: int, target: str, likelihood: list[float], **more: Any) -> dict[str, Any]:
    """A sample of a task with options, whose log likelihoods are text."""
    best = str(max(range(len(likelihood)), key=lambda k: likelihood[k]))
    options = [" a", " bbbbbbbb", " cc"][: len(likelihood)]
    return {
        "doc_id": doc_id,
        "doc": {"question": "?", "subject": "anatomy"},
        "target": target,
        "arguments": {
            f"gen_args_{k}": {"arg_0": "?", "arg_1": text} for k, text in enumerate(options)
        },
        "resps": [[[str(v), "False"]] for v in likelihood],
        "filtered_resps": [[str(v), "False"] for v in likelihood],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0" * 8,
        "acc": float(best == target),
        **more,
    }


SAMPLES = [
    choice_sample(0, "0", [-1.5, -2.25, -30.0]),
    choice_sample(1, "2", [-3.0, -10.5, -9.0]),  # option 0 is likeliest; option 1 by length
    choice_sample(2, "1", [-3.0, -2.0, -9.0]),
]


def harness(folder: Path, samples: list[Any], model: str = MODEL, date: str = DATE) -> Path:
    (folder / model).mkdir(parents=True, exist_ok=True)
    (folder / model / f"samples_{TASK}_{date}.jsonl").write_text(lines(samples))
    return folder


def test_lm_eval_options(tmp_path: Path) -> None:
    harness(tmp_path, SAMPLES)
    harness(tmp_path, SAMPLES[:2], "org__other")
    (tmp_path / MODEL / f"results_{DATE}.json").write_text('{"model_name": "org/net-7b"}')
    trials = Trials.read(tmp_path)
    assert trials.notes[0] == "read as samples of lm-evaluation-harness"
    assert trials.observers == ["org/net-7b", "org__other"]
    assert trials.classes == ["0", "1", "2"]
    assert trials.data["response"].values[0].tolist() == [0, 0, 1]
    assert set(trials.data["dataset"].values) == {TASK}
    assert set(trials.data["condition"].values) == {"anatomy"}
    assert trials.data["correct"].values.tolist() == [[1, 0, 1], [1, 0, -2]]
    alone = Trials.read(tmp_path / MODEL / f"samples_{TASK}_{DATE}.jsonl")
    assert alone.observers == ["org/net-7b"]


def test_lm_eval_likelihoods(tmp_path: Path) -> None:
    """Responses and probabilities; for acc_norm, log likelihoods are divided by option length."""
    likelihood = np.array([[float(e[0]) for e in s["filtered_resps"]] for s in SAMPLES])
    scores = {"acc": ([1, 1, 1], [1.0, 0.0, 1.0], [0, 0, 1]),
              "acc_norm": ([1, 8, 2], [0.0, 0.0, 1.0], [1, 1, 1])}  # fmt: skip
    both = [sample | {"metrics": [*scores]} for sample in SAMPLES]
    for name, (lengths, values, answers) in scores.items():
        for sample, value in zip(both, values, strict=True):
            sample[name] = value
        trials = Trials.read(harness(tmp_path, both), score=f"{name},exact_match")
        assert trials.data["response"].values.tolist() == [answers]
        odds = np.exp(likelihood / lengths)
        p = trials.data["probability"].values[0]
        np.testing.assert_allclose(p, odds / odds.sum(axis=1, keepdims=True), atol=1e-15)
        assert trials.data["n_options"].values.tolist() == [3, 3, 3]
    # If the score contradicts a response, only correctness is read.
    both[0]["acc_norm"] = 1.0
    trials = Trials.read(harness(tmp_path, both), score="acc_norm")
    assert not trials.has_classes
    assert any("1 of 3 samples have an answer that contradicts" in note for note in trials.notes)


def test_lm_eval_options_that_differ(tmp_path: Path) -> None:
    """Two models with different numbers of options for one question have responses only."""
    harness(tmp_path, SAMPLES)
    short = choice_sample(0, "0", [-1.5, -2.25]) | {"filtered_resps": [["-1.5", "x"], ["-2", "x"]]}
    trials = Trials.read(harness(tmp_path, [short], "org__other"))
    assert "probability" not in trials.data
    assert trials.has_classes
    assert any("probabilities of options were left out: item '0'" in n for n in trials.notes)


def test_lm_eval_targets_as_text_and_older_versions(tmp_path: Path) -> None:
    old = [dict(sample) for sample in SAMPLES]
    for sample in old:
        del sample["filter"], sample["metrics"]
        sample["arguments"] = [list(entry.values()) for entry in sample["arguments"].values()]
        sample["target"] = ["a", "bbbbbbbb", "cc"][int(sample["target"])]
    trials = Trials.read(harness(tmp_path, old))
    assert trials.data["response"].values.tolist() == [[0, 0, 1]]
    assert trials.data["truth"].values.tolist() == [0, 2, 1]


# Inspect -----------------------------------------------------------------------------------------


def header(**more: Any) -> dict[str, Any]:
    evaluation = {"model": "openai/net", "task": "arc", "dataset": {"name": "arc"}}
    return {"version": 2, "status": "success", "eval": evaluation, **more}


def scored(id_: int, epoch: int, value: Any, answer: str = "A", **more: Any) -> dict[str, Any]:
    scores = {"choice": {"value": value, "answer": answer}}
    return {"id": id_, "epoch": epoch, "target": "B", "scores": scores, **more}


SCORED = [scored(1, 1, "C", "B"), scored(1, 2, "I"), scored(2, 1, "N", ""), scored(2, 2, "I", "C")]


def archive(path: Path, members: dict[str, Any], zstd: bool = False) -> Path:
    """An archive; with `zstd`, its members have a compression that Python 3.13 cannot write."""
    raw = {name: json.dumps(content).encode() for name, content in members.items()}
    if zstd:
        # Two frames, as written with a flush in between.
        packed = {
            name: pa.compress(text[:5], "zstd", asbytes=True)
            + pa.compress(text[5:], "zstd", asbytes=True)
            for name, text in raw.items()
        }
        raw = packed
    with zipfile.ZipFile(path, "w") as file:
        for name, content in raw.items():
            file.writestr(name, content)
    if zstd:
        content = bytearray(path.read_bytes())
        for signature, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = content.find(signature)
            while at >= 0:
                content[at + offset : at + offset + 2] = struct.pack("<H", 93)
                at = content.find(signature, at + 4)
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("zstd", [False, True])
@pytest.mark.parametrize("summaries", [False, True])
def test_inspect_archives(tmp_path: Path, zstd: bool, summaries: bool) -> None:
    members = {"header.json": header()}
    if summaries:
        members["summaries.json"] = SCORED  # type: ignore[assignment]
    else:
        members |= {f"samples/{s['id']}_epoch_{s['epoch']}.json": s for s in SCORED}
    trials = Trials.read(archive(tmp_path / "log.eval", members, zstd))
    assert trials.notes[0] == "read as Inspect logs"
    assert trials.classes == ["A", "B", "C"]
    assert trials.observers == ["openai/net"]
    assert trials.data["repeat"].values.tolist() == [1, 2, 1, 2]
    assert trials.data["correct"].values.tolist() == [[1, 0, NO_RESPONSE, 0]]
    assert set(trials.data["dataset"].values) == {"arc"}


def test_inspect_json(tmp_path: Path) -> None:
    nan = float("nan")
    unscored = scored(4, 1, "C", error={"message": "x"}) | {"scores": None}
    samples = [*SCORED, scored(3, 1, nan), unscored]
    (tmp_path / "log.json").write_text(json.dumps(header(samples=samples)))
    trials = Trials.read(tmp_path / "log.json")
    assert trials.n_trials == 4
    assert trials.classes == ["A", "B", "C"]
    assert any("1 samples of" in note and "ended in an error" in note for note in trials.notes)
    assert any("1 samples of" in note and "have no score" in note for note in trials.notes)


def test_inspect_reads_probabilities(tmp_path: Path) -> None:
    """Probabilities of response letters are read from samples, because summaries have none."""

    def answered(id_: int, value: str, answer: str, top: dict[str, float]) -> dict[str, Any]:
        likely = [{"token": name, "logprob": p} for name, p in top.items()]
        tokens = [
            {"token": "A", "logprob": -0.1, "top_logprobs": []},
            {"token": "nswer: ", "logprob": -0.1, "top_logprobs": []},
            {"token": f" {answer}", "logprob": top[f" {answer}"], "top_logprobs": likely},
        ]
        output = {"choices": [{"logprobs": {"content": tokens}}]}
        return scored(id_, 1, value, answer, choices=["x", "y", "z"], output=output)

    samples = [
        answered(1, "C", "B", {" B": -0.2, " A": -2.0, "A": -2.5, " C": -4.0, "The": -5.0}),
        answered(2, "I", "A", {" A": -0.5, " B": -1.5, " C": -3.0}),
    ]
    config = {"plan": {"config": {"logprobs": True}}}
    members: dict[str, Any] = {f"samples/{s['id']}_epoch_1.json": s for s in samples}
    members |= {"header.json": header(**config), "summaries.json": SCORED}
    trials = Trials.read(archive(tmp_path / "a.eval", members))
    assert trials.classes == ["A", "B", "C"]
    odds = np.exp([[-2.0, -0.2, -4.0], [-0.5, -1.5, -3.0]])
    p = trials.data["probability"].values[0]
    np.testing.assert_allclose(p, odds / odds.sum(axis=1, keepdims=True), atol=1e-15)
    # A letter that is not among the likeliest has no probability, nor has the rest of its sample.
    samples[1] = answered(2, "I", "A", {" A": -0.5, " B": -1.5})
    (tmp_path / "b.json").write_text(json.dumps(header(samples=samples)))
    trials = Trials.read(tmp_path / "b.json")
    assert np.isfinite(trials.data["probability"].values[0]).all(axis=-1).tolist() == [True, False]
    assert "1 of 2 trials shown have no probabilities" in trials.notes


def test_inspect_logs_of_other_questions_or_solvers(tmp_path: Path) -> None:
    one = [scored(1, 1, "C", "B", input="Which?"), scored(2, 1, "I", "A", input="Who?")]
    other = [scored(1, 1, "I", "A", input="Which?"), scored(2, 1, "C", "B", input="Where?")]

    def written(name: str, samples: list[Any], **evaluation: Any) -> None:
        log = header(samples=samples)
        log["eval"] = log["eval"] | evaluation
        (tmp_path / name).write_text(json.dumps(log))

    written("a.json", one)
    written("b.json", other, model="openai/other")
    refused(r"item '2' of 'arc' is one question in 'a.json' and anot", tmp_path)
    written("b.json", [*other[:1], one[1]], solver="chain_of_thought")
    written("a.json", one, solver="generate")
    assert Trials.read(tmp_path).observers == [
        "openai/net (generate)", "openai/net (chain_of_thought)",
    ]  # fmt: skip
    # Names include only settings that differ between runs of one task.
    written("a.json", one, model_args={"quant": 4, "device": "cuda"})
    written("b.json", one, model_args={"quant": 8, "device": "cuda"})
    written("c.json", one, model_args={"quant": 8}, task="gpqa")
    trials = Trials.read(tmp_path)
    assert trials.observers == ["openai/net (quant=4)", "openai/net (quant=8)"]
    (tmp_path / "b.json").unlink()
    assert Trials.read(tmp_path).observers == ["openai/net"]


def test_inspect_questions_without_text(tmp_path: Path) -> None:
    """Compare message contents, because ids change in each run, and data set names for images."""

    def written(name: str, content: Any, data: str = "arc") -> None:
        message = {"id": name, "role": "user", "content": content}
        log = header(samples=[scored(1, 1, "C", "B", input=[message])])
        log["eval"] = log["eval"] | {"model": name, "dataset": {"name": data}}
        (tmp_path / name).write_text(json.dumps(log))

    written("a.json", "Which?")
    written("b.json", "Which?", "arc-copy")
    assert Trials.read(tmp_path).observers == ["a.json", "b.json"]
    written("b.json", "Who?")
    refused(r"one question in 'a\.json' and another in 'b\.json'", tmp_path)
    for name, data in (("a.json", "arc"), ("b.json", "arc-hard")):
        written(name, [{"type": "image", "image": "data:"}], data)
    refused(r"one question in 'a\.json' and another in 'b\.json'", tmp_path)


# HELM --------------------------------------------------------------------------------------------


def stat(name: str, mean: float, /, **perturbation: Any) -> dict[str, Any]:
    named = {"name": name, "split": "test"}
    return {"name": named | ({"perturbation": perturbation} if perturbation else {}), "mean": mean}


REFERENCES = [
    {"output": {"text": "Rome"}, "tags": []},
    {"output": {"text": "Paris"}, "tags": ["correct"]},
]


def helm(
    folder: Path, stats: list[Any], shown: list[Any] | None = None, method: str = "", **more: Any
) -> Path:
    folder.mkdir(exist_ok=True)
    contents = {
        "run_spec": {
            "name": "mmlu:subject=anatomy,method=joint,model=org_net",
            "adapter_spec": {"model": "org/net", "method": method},
        },
        "instances": [{"id": name, "references": REFERENCES} for name in ("id1", "id2")],
        "per_instance_stats": stats,
        "display_predictions": shown or [],
        **more,
    }
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def of_instance(name: str, *stats: Any, **more: Any) -> dict[str, Any]:
    return {"instance_id": name, "train_trial_index": 0, "stats": list(stats), **more}


def test_helm(tmp_path: Path) -> None:
    """Worst cases over perturbations are repeats; a perturbed instance is a condition."""
    typos = {"name": "typos"}
    stats = [
        of_instance(
            "id1", stat("exact_match", 1.0), stat("exact_match", 0.0, name="x", computed_on="worst")
        ),
        of_instance("id2", stat("exact_match", 0.0)),
        of_instance(
            "id2", stat("exact_match", 1.0, computed_on="perturbed", **typos), perturbation=typos
        ),
        of_instance("id2", stat("exact_match", 1.0, name="typos", computed_on="identity")),
    ]
    shown = [
        {"instance_id": "id1", "predicted_text": " B", "mapped_output": "Paris"},
        {"instance_id": "id2", "predicted_text": "A"},
        {"instance_id": "id2", "predicted_text": "B", "perturbation": typos},
    ]
    trials = Trials.read(helm(tmp_path / "run", stats[:2], shown))
    assert trials.notes[0] == "read as runs of HELM"
    assert trials.classes == ["0", "1"]
    assert trials.data["response"].values.tolist() == [[1, 0]]
    trials = Trials.read(helm(tmp_path / "run", stats, shown))
    assert right(trials) == {
        ("org/net", "mmlu", "anatomy", "id1"): 1,
        ("org/net", "mmlu", "anatomy", "id2"): 0,
        ("org/net", "mmlu", "anatomy, typos", "id2"): 1,
    }


def request(number: int | None, tokens: list[Any], **more: Any) -> dict[str, Any]:
    """A request for one instance, as in `scenario_state.json`."""
    named = [{"text": text, "logprob": value, **top} for text, value, *top_ in tokens
             for top in (top_ or [{}])]  # fmt: skip
    state = {"instance": {"id": "id1", "references": REFERENCES}, "train_trial_index": 0,
             "result": {"success": True, "completions": [{"tokens": named}]}, **more}  # fmt: skip
    return state if number is None else state | {"reference_index": number}


# The prompt is echoed; an option may have several tokens.
APART = [
    request(0, [("Q", -9.0), (" Ro", -1.0), ("me", -2.0)], request_mode="original"),
    request(1, [("Q", -9.0), (" Paris", -0.5)], request_mode="original"),
]
ALONE = [
    request(0, [("Answer:", -9.0), (" Ro", -2.0), ("me", -2.5)], request_mode="calibration"),
    request(1, [("Answer:", -9.0), (" Paris", -0.25)], request_mode="calibration"),
]
TOP = {"top_logprobs": {" B": -0.25, "B": -4.0, " A": -1.5, "\n": -3.0}}


@pytest.mark.parametrize(
    ("method", "requests", "expected"),
    [
        ("multiple_choice_separate_original", APART, [-1.5, -0.5]),
        ("multiple_choice_separate_calibrated", APART + ALONE, [1.5, -0.25]),
        (
            "multiple_choice_joint",
            [request(None, [(" B", -0.25, TOP)], output_mapping={"A": "Rome", "B": "Paris"})],
            [-1.5, -0.25],
        ),
    ],
)
def test_helm_reads_probabilities(
    tmp_path: Path, method: str, requests: list[Any], expected: list[float]
) -> None:
    """Options are compared as by HELM, with its stored number as a check."""
    odds = np.exp(expected)
    best = int(odds.argmax())
    stats = [stat("exact_match", float(best)), stat("predicted_index", float(best))]
    apart = "separate" in method
    stats.append(stat("max_prob", odds.max() / odds.sum() if apart else odds.max()))
    entry, state = of_instance("id1", *stats), {"scenario_state": {"request_states": requests}}
    trials = Trials.read(helm(tmp_path / "run", [entry], method=method, **state))
    p = trials.data["probability"].values[0, 0]
    np.testing.assert_allclose(p, odds / odds.sum(), atol=1e-15)
    # None if HELM's number differs, an option is missing, or the model gives no likelihoods.
    few = {"scenario_state": {"request_states": requests[1:]}}
    without = [Trials.read(helm(tmp_path / "part", [entry], method=method, **few))]
    if apart:
        entry["stats"].append(stat("max_prob", 0.9))
        without.append(Trials.read(helm(tmp_path / "other", [entry], method=method, **state)))
        entry["stats"].append(stat("max_prob", 0.5))
        none = json.loads(json.dumps(state).replace('"logprob": -', '"logprob": 0, "was": -'))
        without.append(Trials.read(helm(tmp_path / "none", [entry], method=method, **none)))
        assert any("no probabilities, since not all options" in n for n in without[1].notes)
    for trials in without:
        assert "probability" not in trials.data
        assert trials.data["correct"].values.tolist() == [[best]]


def test_helm_takes_the_first_of_options_that_tie(tmp_path: Path) -> None:
    tie = [of_instance(name, stat("exact_match", 0.5), stat("predicted_index", index))
           for name, index in (("id1", 0.0), ("id2", 1.0))]  # fmt: skip
    trials = Trials.read(helm(tmp_path, tie))
    assert trials.data["correct"].values.tolist() == [[0, 1]]
    assert any("2 answers of" in note and "tie with others" in note for note in trials.notes)


def test_helm_scores(tmp_path: Path) -> None:
    separate = [of_instance("id1", stat("exact_match", 0.0), stat("predicted_index", 0.0))]
    assert Trials.read(helm(tmp_path, separate)).data["response"].values.tolist() == [[0]]
    (tmp_path / "per_instance_stats.json").unlink()
    refused(r"there is no per_instance_stats.json with the scores", tmp_path, format="helm")


# lighteval and the Open LLM Leaderboard ----------------------------------------------------------


def details(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


def light(gold: Any, logprobs: list[float], correct: float, **more: Any) -> dict[str, Any]:
    return {
        "doc": {"id": "", "query": "?", "choices": ["a", "b"], "gold_index": gold, **more},
        "model_response": {"logprobs": logprobs, "text": ["b"]},
        "metric": {"acc": correct},
    }


@pytest.mark.parametrize("underscores", [False, True])
def test_lighteval(tmp_path: Path, underscores: bool) -> None:
    """File names with bars and colons, and fields that differ between tasks."""
    rows = [light([1], [-2.0, -1.0], 1.0), light([0], [-2.0, -1.0], 0.0)]
    other = [light(1, [-2.0, -1.0], 1.0, subject="x")]
    if underscores:
        rows, other = ([{f"__{k}__": v for k, v in r.items()} for r in t] for t in (rows, other))
    folder = tmp_path / "details" / "org" / "net" / "2026-01-02T03-04-05.6"
    details(folder / "details_leaderboard|arc:challenge|25_2026-01-02T03-04-05.6.parquet", rows)
    details(folder / "details_lighteval|piqa|0_2026-01-02T03-04-05.6.parquet", other)
    trials = Trials.read(tmp_path / "details")
    assert trials.notes[0] == "read as details of lighteval"
    assert right(trials) == {
        ("org/net", "leaderboard|arc:challenge|25", "all", "0"): 1,
        ("org/net", "leaderboard|arc:challenge|25", "all", "1"): 0,
        ("org/net", "lighteval|piqa|0", "all", "0"): 1,
    }
    assert trials.classes == ["0", "1"]
    p = np.exp([-2.0, -1.0]) / np.exp([-2.0, -1.0]).sum()
    np.testing.assert_allclose(trials.data["probability"].values, np.tile(p, (1, 3, 1)))


def test_lighteval_of_generated_text(tmp_path: Path) -> None:
    row = light([0], [], 1.0)
    row["model_response"]["logprobs"] = None
    row["metric"]["extractive_match"] = 0.0
    row["model_response"]["text"] = ["7", "8", "7"]
    details(tmp_path / "net" / "d" / "details_gsm8k_2026-01-02T03-04-05.6.parquet", [row])
    trials = Trials.read(tmp_path, score="extractive_match")
    assert not trials.has_classes
    assert right(trials) == {("net", "gsm8k", "all", "0"): 0}
    assert "up to 3 answers to a question: one score is of all of them" in str(trials.notes)


def test_leaderboard(tmp_path: Path) -> None:
    rows = [
        {"predictions": [-1.0, -2.0], "gold": 0, "acc": 1.0, "hashes": {"example": "x"}},
        {"predictions": [-1.0, -2.0], "gold": 1, "acc": 0.0, "hashes": {"example": "y"}},
    ]
    name = "details_harness|hendrycksTest-anatomy|5_{}.parquet"
    folder = tmp_path / "details_org__net"
    details(folder / "2023" / name.format("2023-08-01T00:00:00.0"), rows[:1])
    details(folder / "2024" / name.format("2024-08-01T00:00:00.0"), rows)
    trials = Trials.read(tmp_path)
    start = "of several runs of a task the newest complete one was read; left out: "
    old = "details_org__net/2023/" + name.format("2023-08-01T00:00:00.0")
    assert trials.notes[:2] == [
        "read as details of the Open LLM Leaderboard",
        f"{start}{old} (or give runs='all')",
    ]
    assert right(trials) == {
        ("org/net", "mmlu", "anatomy", "0"): 1,
        ("org/net", "mmlu", "anatomy", "1"): 0,
    }
    assert trials.data["response"].values.tolist() == [[0, 0]]
    p = np.exp([-1.0, -2.0]) / np.exp([-1.0, -2.0]).sum()
    np.testing.assert_allclose(trials.data["probability"].values, np.tile(p, (1, 2, 1)))
    normed = [row | {"acc_norm": 1.0} for row in rows]
    details(folder / "2024" / name.format("2024-08-01T00:00:00.0"), normed)
    assert not Trials.read(tmp_path, score="acc_norm").has_classes
    refused(
        "must be in a folder such as details_org__model",
        details(tmp_path / name.format("2024-08-01T00:00:00.0"), rows),
    )


# Experiments -------------------------------------------------------------------------------------


JS = [
    {"trial_type": "html-keyboard-response", "response": " ", "stimulus": "<p>Hi,\n you</p>"},
    {"trial_type": "categorize", "response": "f", "stimulus": "a.png", "correct": True},
    {"trial_type": "categorize", "response": None, "stimulus": "b.png", "correct": False},
]


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_jspsych(tmp_path: Path, suffix: str) -> None:
    more = {"correct_response": "f"}
    rows = [row | more | {"trial_index": i, "time_elapsed": i} for i, row in enumerate(JS)]
    # All values are quoted, also null.
    text = pd.DataFrame(rows).to_csv(index=False, quoting=csv.QUOTE_ALL, na_rep="null")
    (tmp_path / f"anna.{suffix}").write_text(text if suffix == "csv" else json.dumps(rows))
    refused(r"has 2 trial_types, html-keyboard-response, categorize", tmp_path)
    trials = Trials.read(tmp_path, filter="categorize")
    assert right(trials) == {
        ("anna", "all", "all", "a.png"): 1,
        ("anna", "all", "all", "b.png"): NO_RESPONSE,
    }
    assert trials.notes[:3] == [
        "read as data of jsPsych",
        "1 rows whose trial_type is not 'categorize' were left out",
        "observers are named by their files (or give observer=)",
    ]


PSYCHO = "image,corrAns,trials.thisN,key_resp.keys,key_resp.corr,key_resp.rt,participant,expName,\n"


def test_psychopy(tmp_path: Path) -> None:
    """A byte order mark, trailing separators, instructions, and literal quotes."""
    rows = [
        ",,,,,,p1,e,",
        "a.png,left,0,left,1,0.4,p1,e,",
        'b "x".png,left,1,None,0,,p1,e,',
        "c.png,right,2,left,0,0.7,p1,e,",
    ]
    path = tmp_path / "p1_exp.csv"
    path.write_bytes(b"\xef\xbb\xbf" + (PSYCHO + "\n".join(rows) + "\n").encode())
    refused(r"name it by item=, one of image, corrAns, participant", path)
    trials = Trials.read(path, item="image")
    assert right(trials) == {
        ("p1", "all", "all", "a.png"): 1,
        ("p1", "all", "all", 'b "x".png'): NO_RESPONSE,
        ("p1", "all", "all", "c.png"): 0,
    }
    assert (
        "1 rows without an entry of 'key_resp.keys' or 'key_resp.corr' were left out"
        in trials.notes
    )
    judged = path.read_text(encoding="utf-8-sig").replace("corrAns", "side")
    path.write_text(judged)
    trials = Trials.read(path, item="image")
    assert not trials.has_classes
    assert trials.data["correct"].values.tolist() == [[1, NO_RESPONSE, 0]]
    both = judged.replace("image,", "image,other.keys,").replace(".png,", ".png,,")
    path.write_text(both.replace("\n,", "\n,,"))
    refused("has 2 key components, other, key_resp; choose one", path, item="image")


def test_the_docstring_names_every_reader() -> None:
    assert [name for name in readers() if f'"{name}"' not in str(Trials.read.__doc__)] == []


@pytest.mark.parametrize("name", readers())
def test_a_folder_without_logs(tmp_path: Path, name: str) -> None:
    """A reader requested by name raises a one-line error for files of other formats."""
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    refused(r"'a.csv'|no .* was found|no file|has no", tmp_path, format=name)
