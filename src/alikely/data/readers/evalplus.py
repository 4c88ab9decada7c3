"""Results of EvalPlus: ``{model}_eval_results.json``, a status for each task and sample.

A response is correct if ``base_status`` or ``plus_status`` (selected by ``score=``) is ``pass``.
Several samples of a task are repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, field, has_columns

PASS, STATUS = "pass", ("base", "plus")


def recognizes(files: Sequence[File]) -> bool:
    """By the two fields of the first file."""
    return files[0].suffix == ".json" and has_columns(files, "eval", "hash")


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all tasks; several samples of a task are repeats."""
    log.notes.append("models are named by their files")
    for file in log.only(files, [file for file in files if file.suffix == ".json"]):
        place = repr(file.name)
        name = file.base.removesuffix(".json").removesuffix("_eval_results")
        tasks = field(log.records(file)[0], "eval", place=place)
        for _, (task, found) in log.samples(file, tasks.items()):
            samples = _samples(found)
            there = [one for one in STATUS if samples and samples[0].get(one) is not None]
            score = log.choose("score", "score", there, place)
            for repeat, sample in enumerate(samples):
                correct = int(sample[score] == PASS)
                log.add(name, task.partition("/")[0], task, repeat=repeat, correct=correct)


def _samples(found: Any) -> list[dict[str, Any]]:
    """Statuses of each sample, which older versions keep in two lists."""
    if isinstance(found, dict):
        lists = {name: [one[0] for one in found.get(name) or []] for name in STATUS}
        n = max(map(len, lists.values()))
        return [{k: v[i] if i < len(v) else None for k, v in lists.items()} for i in range(n)]
    return [{name: one.get(f"{name}_status") for name in STATUS} for one in found]


READER = Reader("evalplus", "results of EvalPlus", recognizes, read)
