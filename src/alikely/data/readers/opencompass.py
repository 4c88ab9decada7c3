"""Output of OpenCompass: ``{date}/results/{model}/{data set}.json`` with details.

Items are the keys of ``details``. The truth is in ``answer``, ``references`` or ``gold``, the
response in ``pred``, ``predictions`` or ``prediction`` (empty if missing), and the score in
``correct``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, field, option, right

DATE = re.compile(r"\d{8}_\d{6}")
RESULTS, PREDICTIONS = "results", "predictions"


def recognizes(files: Sequence[File]) -> bool:
    """By a folder of results or predictions in one with a date."""
    return any(_run(file) is not None for file in files)


def _run(file: File) -> tuple[str, str, str, str] | None:
    """Date, folder, model and data set, from the path."""
    parts = file.parts
    for i, part in enumerate(parts[:-3]):
        known = DATE.fullmatch(part) and parts[i + 1] in (RESULTS, PREDICTIONS)
        if known and file.suffix == ".json":
            return part, parts[i + 1], "/".join(parts[i + 2 : -1]), file.base[: -len(".json")]
    return None


def read(files: Sequence[File], log: Log) -> None:
    """Rows of the newest run of every model and data set."""
    named = [(file, run) for file in files if (run := _run(file)) is not None]
    one = RESULTS if any(run[1] == RESULTS for _, run in named) else PREDICTIONS
    named = [(file, run) for file, run in named if run[1] == one]
    log.only(files, [file for file, _ in named])
    runs = [Run(run[2], run[3], {}, (run[0],), file.name, file) for file, run in named]
    for model, task, file in log.runs(runs):
        place = repr(file.name)
        whole = log.records(file)[0] if one == RESULTS else {"details": log.records(file)[0]}
        details = whole.get("details")
        if not details:
            raise ValueError(
                f"{place} has no details, which say what was correct; run OpenCompass with "
                "--dump-eval-details"
            )
        entries = details.items() if isinstance(details, dict) else enumerate(details)
        for where, (key, sample) in log.samples(file, entries):
            if isinstance(sample, dict):
                _add(log, model, task, str(key), sample, where)


def _add(log: Log, model: str, task: str, key: str, sample: dict[str, Any], where: str) -> None:
    names = ("prediction", "predictions", "pred"), ("gold", "references", "answer")
    given, true = (next((sample[n] for n in few if n in sample), None) for few in names)
    given, true = (one[0] if isinstance(one, list) and one else one for one in (given, true))
    if "correct" in sample:
        value = sample["correct"]
        correct = right(value[0] if isinstance(value, list) else value, f"'correct' of {where}")
    elif option(true) is not None and option(given) is not None:
        correct = int(option(true) == option(given))
    else:
        field(sample, "correct", place=where)
    log.add(
        model,
        task,
        key,
        answered=str(given if given is not None else "").strip() != "",
        correct=correct,
        truth=option(true),
        response=option(given),
    )


READER = Reader("opencompass", "output of OpenCompass", recognizes, read)
