"""Details of the first Open LLM Leaderboard: parquet files of ``details_{org}__{model}``.

Those of the second are samples of lm-evaluation-harness, which `lm_eval` reads.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, among, field, has_columns, right

NAME = re.compile(r"details_(?:.*\|)?([^|]+)\|\d+_(\d{4}-\d\d-\d\dT[\d.\-:]+)\.parquet")
FOLDER = re.compile(r"details_(.+?)__(.+)")
MMLU = "hendrycksTest-"
SCORES = ("acc", "acc_norm", "em", "mc1")


def recognizes(files: Sequence[File]) -> bool:
    """By the columns of likelihoods, of the right option, and of hashes."""
    details = [file for file in files if file.suffix == ".parquet"]
    return bool(details) and has_columns(details, "predictions", "gold", "hashes")


def read(files: Sequence[File], log: Log) -> None:
    """Rows of the newest run of every task; subjects of MMLU are conditions."""
    named = [(file, match) for file in files if (match := NAME.fullmatch(file.base))]
    log.only(files, [file for file, _ in named])
    runs = [Run(_observer(file), m[1], {}, (m[2],), file.name, file) for file, m in named]
    for observer, task, file in log.runs(runs):
        _add(log, file, observer, task)


def _observer(file: File) -> str:
    """Organization and model, from the folder of the data set."""
    found = (FOLDER.fullmatch(part) for part in reversed(file.parts[:-1]))
    match = next((one for one in found if one), None)
    if match is None:
        raise ValueError(
            f"{file.name!r} must be in a folder such as details_org__model, which names the model; "
            "give it that name"
        )
    return f"{match[1]}/{match[2]}"


def _add(log: Log, file: File, observer: str, task: str) -> None:
    table = log.arrow(file)
    place = repr(file.name)
    there = [name for name in table.column_names if name in SCORES]
    score = log.choose("score", "score", there, place)
    dataset, condition = ("mmlu", task[len(MMLU) :]) if task.startswith(MMLU) else (task, "all")
    for where, sample in log.samples(file, table.to_pylist()):
        likelihood, gold = field(sample, "predictions", place=where), sample.get("gold")
        # Of acc_norm the lengths of options are not kept: no answer follows from likelihoods.
        options = score == "acc" and isinstance(gold, int) and len(likelihood) > 1
        log.add(
            observer,
            dataset,
            str(log.place[1]),
            condition=condition,
            mark=(sample.get("hashes") or {}).get("example"),
            correct=right(sample[score], f"{score} of {where}"),
            **(among(gold, likelihood) if options else {}),
        )


READER = Reader("leaderboard", "details of the Open LLM Leaderboard", recognizes, read)
