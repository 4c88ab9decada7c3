"""Details of lighteval and of the first Open LLM Leaderboard: parquet files, a row for each sample.

Those of the second leaderboard are samples of lm-evaluation-harness, which `lm_eval` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, among, has_columns

NAME = re.compile(r"details_(.+?)_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
COLUMNS = ("doc", "model_response", "metric")
# Of the leaderboard: names of files and folders, of the tasks of MMLU, and scores.
BOARD = re.compile(r"details_(?:.*\|)?([^|]+)\|\d+_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
FOLDER = re.compile(r"details_(.+?)__(.+)")
MMLU = "hendrycksTest-"
SCORES = ("acc", "acc_norm", "em", "mc1")


def of_lighteval(files: Sequence[File]) -> bool:
    """By the three columns, with or without underscores."""
    details = [file for file in files if file.suffix == ".parquet"]
    ways = (COLUMNS, [f"__{name}__" for name in COLUMNS])
    return bool(details) and any(has_columns(details, *names) for names in ways)


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


def of_leaderboard(files: Sequence[File]) -> bool:
    """By the columns of likelihoods, of the right option, and of hashes."""
    details = [file for file in files if file.suffix == ".parquet"]
    return bool(details) and has_columns(details, "predictions", "gold", "hashes")


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
    Reader("leaderboard", "details of the Open LLM Leaderboard", of_leaderboard, leaderboard),
    Reader("lighteval", "details of lighteval", of_lighteval, lighteval),
]
