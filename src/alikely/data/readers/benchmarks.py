"""Results of benchmarks: EvalPlus, Every Eval Ever, OpenCompass, SWE-bench.

- EvalPlus: a response is correct if ``base_status`` or ``plus_status`` (``score=``) is ``pass``.
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
from alikely.data.readers import Log, Reader, Run, has_columns, option

# Of EvalPlus: what passed, and the tests that it may pass.
PASS, STATUS = "pass", ("base", "plus")
# Of Every Eval Ever: fields of a sample that tell it from others, but for its score.
SAMPLE = ("model_id", "evaluation_name", "sample_id")
# Of OpenCompass: folders of a run.
DATE = re.compile(r"\d{8}_\d{6}")
RESULTS, PREDICTIONS = "results", "predictions"
# Of SWE-bench: what was resolved, and instances whose patch nobody could test.
RESOLVED = ("resolved_ids", "resolved")
SILENT = ("error_ids", "empty_patch_ids", "incomplete_ids", "no_generation")


def of_evalplus(files: Sequence[File]) -> bool:
    """By the two fields of the first file."""
    return files[0].suffix == ".json" and has_columns(files, "eval", "hash")


def evalplus(files: Sequence[File], log: Log) -> None:
    """Rows of all tasks of ``{model}_eval_results.json``; several samples of a task are repeats."""
    log.notes.append("models are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        name = file.base.removesuffix(".json").removesuffix("_eval_results")
        tasks = log.field(log.records(file)[0], "eval")
        for task, found in log.samples(file, tasks.items()):
            samples = _statuses(found)
            there = [one for one in STATUS if samples and samples[0].get(one) is not None]
            score = log.choose("score", "score", there, repr(file.name))
            for repeat, sample in enumerate(samples):
                correct = int(sample[score] == PASS)
                log.add(name, task.partition("/")[0], task, repeat=repeat, correct=correct)


def _statuses(found: Any) -> list[dict[str, Any]]:
    """Statuses of each sample, which older versions keep in two lists."""
    if isinstance(found, dict):
        lists = {name: [one[0] for one in found.get(name) or []] for name in STATUS}
        n = max(map(len, lists.values()))
        return [{k: v[i] if i < len(v) else None for k, v in lists.items()} for i in range(n)]
    return [{name: one.get(f"{name}_status") for name in STATUS} for one in found]


def of_every_eval_ever(files: Sequence[File]) -> bool:
    """By the fields of the first sample."""
    return files[0].suffix in (".jsonl", ".json") and has_columns(files, *SAMPLE, "evaluation")


def every_eval_ever(files: Sequence[File], log: Log) -> None:
    """Rows of one evaluation of every sample of ``{uuid}_samples.jsonl``, of whichever tool."""
    logs = log.only(files, [f for f in files if f.suffix == ".jsonl" or of_every_eval_ever([f])])
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
    """By a folder of results or predictions in one with a date."""
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


def of_swe_bench(files: Sequence[File]) -> bool:
    """By the list of resolved instances."""
    return files[0].suffix == ".json" and (
        has_columns(files, RESOLVED[0]) or has_columns(files, RESOLVED[1], "no_generation")
    )


def swe_bench(files: Sequence[File], log: Log) -> None:
    """Rows of all instances of every report, each of one system."""
    log.notes.append("systems are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        lists = {
            name: list(map(str, ids))
            for name, ids in log.records(file)[0].items()
            if isinstance(ids, list) and (name.endswith("_ids") or name in (*RESOLVED, *SILENT))
        }
        resolved = next((set(lists[name]) for name in RESOLVED if name in lists), None)
        if resolved is None:
            raise ValueError(f"{file.name!r} has no list 'resolved_ids'; it is no such report")
        silent = {id_ for name in SILENT for id_ in lists.get(name, ())} - resolved
        name = file.base.removesuffix(".json").removesuffix(".report")
        every = dict.fromkeys(id_ for ids in lists.values() for id_ in ids)
        for id_ in log.samples(file, every):
            answered, correct = id_ not in silent, int(id_ in resolved)
            log.add(name, "swe-bench", id_, answered=answered, correct=correct)


READERS = [
    Reader("evalplus", "results of EvalPlus", of_evalplus, evalplus),
    Reader("every-eval-ever", "samples of Every Eval Ever", of_every_eval_ever, every_eval_ever),
    Reader("opencompass", "output of OpenCompass", of_opencompass, opencompass),
    Reader("swe-bench", "reports of SWE-bench", of_swe_bench, swe_bench),
]
