"""Results of benchmarks: EvalPlus, lighteval, Open LLM Leaderboard, SWE-bench and others.

- EvalPlus: a response is correct if ``base_status`` or ``plus_status`` (``score=``) is ``pass``.
- lighteval, and the first Open LLM Leaderboard: parquet files with a row for each sample. Those of
  the second leaderboard are samples of lm-evaluation-harness, which `lm_eval` reads.
- OpenCompass: items are the keys of ``details``; the truth is in ``answer``, ``references`` or
  ``gold``, the response in ``pred``, ``predictions`` or ``prediction`` (missing if empty).
- SWE-bench: instances in ``error_ids``, ``empty_patch_ids`` and ``incomplete_ids`` are missing
  responses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, among, having, option

# Of EvalPlus: what passed, and the tests that it may pass.
PASS, STATUS = "pass", ("base", "plus")
# Of Every Eval Ever: fields of a sample that tell it from others, but for its score.
SAMPLE = ("model_id", "evaluation_name", "sample_id")
of_samples = having([*SAMPLE, "evaluation"], suffix=[".jsonl", ".json"])
# Of OpenCompass: folders of a run.
DATE = re.compile(r"\d{8}_\d{6}")
RESULTS, PREDICTIONS = "results", "predictions"
# Of SWE-bench: what was resolved, and instances whose patch nobody could test.
RESOLVED = ("resolved_ids", "resolved")
SILENT = ("error_ids", "empty_patch_ids", "incomplete_ids", "no_generation")


def evalplus(files: Sequence[File], log: Log) -> None:
    """Rows of all tasks of ``{model}_eval_results.json``; several samples of a task are repeats."""
    log.notes.append("models are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        name = file.base.removesuffix(".json").removesuffix("_eval_results")
        tasks = log.field(log.records(file)[0], "eval")
        for task, found in log.samples(file, tasks.items()):
            samples = [{name: one.get(f"{name}_status") for name in STATUS} for one in found]
            there = [one for one in STATUS if samples and samples[0][one] is not None]
            score = log.choose("score", "score", there, repr(file.name))
            for repeat, sample in enumerate(samples):
                correct = int(sample[score] == PASS)
                log.add(name, task.partition("/")[0], task, repeat=repeat, correct=correct)


def every_eval_ever(files: Sequence[File], log: Log) -> None:
    """Read one evaluation of every sample in ``{uuid}_samples.jsonl`` files, from any tool."""
    logs = log.only(files, [f for f in files if f.suffix == ".jsonl" or of_samples([f])])
    samples = {file: [*log.samples(file)] for file in logs}
    every = [sample for own in samples.values() for sample in own]
    # Samples are repeated, one for each score.
    keys = {tuple(sample.get(name) for name in SAMPLE) for sample in every}
    one = None
    if len(keys) < len(every) or log.asked["score"] is not None:
        names = [str(sample.get("evaluation_result_id")) for sample in every]
        one = log.choose("evaluation_result_id", "score", names, "the log")
    for file, own in samples.items():
        for sample in log.samples(file, own):
            if one is not None and str(sample.get("evaluation_result_id")) != one:
                continue
            evaluation = log.field(sample, "evaluation")
            value = evaluation.get("is_correct")
            if value is None:
                value = log.field(evaluation, "score")
            references = (sample.get("input") or {}).get("reference") or []
            extracted = sample.get("answer_attribution") or []
            given = extracted[-1].get("extracted_value") if extracted else None
            log.add(
                *(str(log.field(sample, name)) for name in SAMPLE),
                answered=not extracted or str(given or "").strip() != "",
                mark=sample.get("sample_hash"),
                correct=log.right(value, "the score"),
                truth=option(references[0]) if len(references) == 1 else None,
                response=option(given),
            )


def of_opencompass(files: Sequence[File]) -> bool:
    """Recognize OpenCompass by a folder of results or predictions in a dated folder."""
    return any(_run(file) is not None for file in files)


def _run(file: File) -> tuple[str, str, str, str] | None:
    """Date, folder, model and data set, from ``{date}/results/{model}/{data set}.json``."""
    parts = file.parts
    for i, part in enumerate(parts[:-3]):
        known = DATE.fullmatch(part) and parts[i + 1] in (RESULTS, PREDICTIONS)
        if known and file.suffix == ".json":
            return part, parts[i + 1], "/".join(parts[i + 2 : -1]), file.base[: -len(".json")]
    return None


def opencompass(files: Sequence[File], log: Log) -> None:
    """Rows of the newest run of every model and data set."""
    named = [(file, run) for file in files if (run := _run(file)) is not None]
    folder = RESULTS if any(run[1] == RESULTS for _, run in named) else PREDICTIONS
    named = [(file, run) for file, run in named if run[1] == folder]
    log.only(files, [file for file, _ in named])
    runs = [Run(run[2], run[3], {}, (run[0],), file.name, file) for file, run in named]
    for model, task, file in log.runs(runs):
        whole = log.records(file)[0]
        details = whole.get("details") if folder == RESULTS else whole
        if not details:
            raise ValueError(
                f"{log.where} has no details, which say what was correct; run OpenCompass with "
                "--dump-eval-details"
            )
        entries = details.items() if isinstance(details, dict) else enumerate(details)
        for key, sample in log.samples(file, entries):
            if isinstance(sample, dict):
                _add(log, model, task, str(key), sample)


def _add(log: Log, model: str, task: str, key: str, sample: dict[str, Any]) -> None:
    names = ("prediction", "predictions", "pred"), ("gold", "references", "answer")
    given, true = (next((sample[n] for n in few if n in sample), None) for few in names)
    given, true = (one[0] if isinstance(one, list) and one else one for one in (given, true))
    if "correct" not in sample and option(true) is not None and option(given) is not None:
        correct = int(option(true) == option(given))
    else:
        value = log.field(sample, "correct")
        correct = log.right(value[0] if isinstance(value, list) else value, "'correct'")
    log.add(
        model,
        task,
        key,
        answered=str(given if given is not None else "").strip() != "",
        correct=correct,
        truth=option(true),
        response=option(given),
    )


def swe_bench(files: Sequence[File], log: Log) -> None:
    """Rows of all instances in all reports; each report describes one system."""
    log.notes.append("systems are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        lists = {
            name: list(map(str, ids))
            for name, ids in log.records(file)[0].items()
            if isinstance(ids, list) and (name.endswith("_ids") or name in (*RESOLVED, *SILENT))
        }
        resolved = next((set(lists[name]) for name in RESOLVED if name in lists), None)
        if resolved is None:
            raise ValueError(
                f"{file.name!r} has no list 'resolved_ids'; expected a SWE-bench report"
            )
        silent = {id_ for name in SILENT for id_ in lists.get(name, ())} - resolved
        name = file.base.removesuffix(".json").removesuffix(".report")
        every = dict.fromkeys(id_ for ids in lists.values() for id_ in ids)
        for id_ in log.samples(file, every):
            answered, correct = id_ not in silent, int(id_ in resolved)
            log.add(name, "swe-bench", id_, answered=answered, correct=correct)


NAME = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
COLUMNS = ("doc", "model_response", "metric")
# Of the leaderboard: names of files and folders, of the tasks of MMLU, and scores.
BOARD = re.compile(r"details_(?:.*\|)?([^|]+)\|\d+_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
FOLDER = re.compile(r"details_(.+?)__(.+)")
MMLU = "hendrycksTest-"
SCORES = ("acc", "acc_norm", "em", "mc1")


def lighteval(files: Sequence[File], log: Log) -> None:
    """Rows of all files; nested fields differ between tasks and are read file by file."""
    details = [file for file in files if file.suffix == ".parquet"]
    log.only(files, [f for f in files if f in details or f.base.startswith("results_")])
    runs = []
    for file in details:
        match = NAME.fullmatch(file.base)
        task, date = match.groups() if match else (file.base, "")
        # {out}/details/{model_name}/{date}/file: the name of a model may be several folders.
        parts = file.parts[:-1]
        above = parts[parts.index("details") + 1 :] if "details" in parts else parts[-2:]
        observer = "/".join(above[:-1]) or above[-1]
        runs.append(Run(observer, task, {}, (date,), file.name, (file, match and match[1])))
    for observer, _, (file, task) in log.runs(runs):
        most = 1
        for raw in log.samples(file, log.arrow(file).to_pylist()):
            sample = {name.strip("_"): value for name, value in raw.items()}
            doc, response, scores = (log.field(sample, name) for name in COLUMNS)
            # Fields of other tasks are there, but null.
            scores = {name: value for name, value in scores.items() if value is not None}
            score = log.choose("metric", "score", scores, repr(file.name))
            answer = _answer(doc, response)
            texts = [] if answer else (response or {}).get("text") or []
            named = {"doc.task_name": doc.get("task_name") or task}
            log.add(
                observer,
                log.label(named, "doc.task_name"),
                str(log.number),
                answered=not texts or any(str(text or "").strip() for text in texts),
                mark=doc.get("query"),
                correct=log.right(scores[score], score),
                **answer,
            )
            # Of options each has a text of its own.
            most = max(most, len(texts))
        if most > 1:
            log.notes.append(
                f"{log.where} has up to {most} answers to a question: one score is of all of them"
            )


def _answer(doc: dict[str, Any], response: dict[str, Any]) -> dict[str, Any]:
    """Position of the likeliest option and of the right one; nothing for generated text."""
    gold = doc.get("gold_index")
    gold = gold[0] if isinstance(gold, list) and len(gold) == 1 else gold
    likelihood = response.get("logprobs") or []
    if not isinstance(gold, int) or len(likelihood) < 2 or len(likelihood) != len(doc["choices"]):
        return {}
    return among(gold, likelihood)


def leaderboard(files: Sequence[File], log: Log) -> None:
    """Rows of the newest run of every task; subjects of MMLU are conditions."""
    named = [(file, match) for file in files if (match := BOARD.fullmatch(file.base))]
    log.only(files, [file for file, _ in named])
    runs = [Run(_model(file), m[1], {}, (m[2],), file.name, file) for file, m in named]
    for observer, task, file in log.runs(runs):
        table = log.arrow(file)
        there = [name for name in table.column_names if name in SCORES]
        score = log.choose("score", "score", there)
        of_mmlu = task.startswith(MMLU)
        dataset, condition = ("mmlu", task[len(MMLU) :]) if of_mmlu else (task, "all")
        for sample in log.samples(file, table.to_pylist()):
            likelihood, gold = log.field(sample, "predictions"), sample.get("gold")
            # Of acc_norm the lengths of options are not kept: no answer follows from likelihoods.
            options = score == "acc" and isinstance(gold, int) and len(likelihood) > 1
            log.add(
                observer,
                dataset,
                str(log.number),
                condition=condition,
                mark=(sample.get("hashes") or {}).get("example"),
                correct=log.right(sample[score], score),
                **(among(gold, likelihood) if options else {}),
            )


def _model(file: File) -> str:
    """Organization and model, from the folder of the data set."""
    match = next((m for part in file.parts[-2::-1] if (m := FOLDER.fullmatch(part))), None)
    if match is None:
        raise ValueError(
            f"{file.name!r} must be in a folder such as details_org__model, which names the model; "
            "give it that name"
        )
    return f"{match[1]}/{match[2]}"


READERS = [
    Reader("evalplus", "results of EvalPlus", having(["eval", "hash"], suffix=[".json"]), evalplus),
    Reader("every-eval-ever", "samples of Every Eval Ever", of_samples, every_eval_ever),
    Reader("leaderboard", "details of the Open LLM Leaderboard",
           having(["predictions", "gold", "hashes"], suffix=[".parquet"]), leaderboard),
    Reader("lighteval", "details of lighteval",
           having(COLUMNS, [f"__{name}__" for name in COLUMNS], suffix=[".parquet"]), lighteval),
    Reader("opencompass", "output of OpenCompass", of_opencompass, opencompass),
    Reader("swe-bench", "reports of SWE-bench",
           having(RESOLVED[:1], [RESOLVED[1], "no_generation"], suffix=[".json"]), swe_bench),
]  # fmt: skip
