"""Samples of EleutherAI's lm-evaluation-harness: ``samples_{task}_{date}.jsonl``.

Versions 0.4.0 to 0.4.2 write ``{model arguments}_{task}.jsonl``, a list of samples.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import LINES, File
from alikely.data.readers import Log, Reader, Run, among, having, option

NAME = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.\-:]+))?\.jsonl?", re.IGNORECASE)
# Of older versions: the model ends at the first underscore that is a single one.
OLD_NAME = re.compile(r"(?:pretrained(?:=|__))?(.+?[^_])_([^_].*)\.jsonl", re.IGNORECASE)
RESULTS = "results"
FIELDS = ("doc_id", "target", "resps", "filtered_resps")
# Of options: the log likelihoods themselves, or each divided by the length of its option.
PLAIN, BY_LENGTH = "acc", "acc_norm"
# What filters write where they find no answer.
INVALID = ("", "[invalid]")


def recognizes(files: Sequence[File]) -> bool:
    """Recognize files by their names, or by the fields of the first sample."""
    named = any(NAME.fullmatch(file.base) for file in files)
    return named or having(FIELDS)(_samples(files))


def _samples(files: Sequence[File]) -> list[File]:
    return [f for f in files if f.suffix in LINES and not f.base.startswith(RESULTS)]


def read(files: Sequence[File], log: Log) -> None:
    """Read the rows of the newest samples of every task and model."""
    named = [(file, match) for file in files if (match := NAME.fullmatch(file.base))]
    old = not named
    if old:
        named = [(file, m) for file in _samples(files) if (m := OLD_NAME.fullmatch(file.base))]
        log.notes.append(
            "models and tasks are named by their files, divided at the first single underscore"
        )
    results = [file for file in files if file.base.startswith(RESULTS)]
    log.only(files, [*results, *(file for file, _ in named)])
    runs = []
    for file, match in named:
        observer, task, date = match[1].replace("__", "/"), match[2] or "", ""
        way: dict[str, str] = {}
        if not old:
            task, date = match[1], match[2] or ""
            observer, way = _observer(file, files, task, date, log)
        runs.append(Run(observer, task, way, (date,), file.name, file))
    for observer, task, file in log.runs(runs):
        _add(log, file, observer, task)


def _observer(
    file: File, files: Sequence[File], task: str, date: str, log: Log
) -> tuple[str, dict[str, str]]:
    """Name of the model, from the results next to the samples or the folder, and its settings."""
    *folders, _ = file.parts
    if file.member:
        inside = (other for other in files if [*other.parts[:-1]] == folders)
        near = [other for other in inside if other.base.startswith(RESULTS)]
    else:
        near = [File(path.name, path) for path in file.path.parent.glob(f"{RESULTS}*.json")]
    # Those of the same date, else the last.
    for other in sorted(near, key=lambda one: (bool(date) and date in one.base, one.base))[::-1]:
        results = log.records(other)[0]
        if name := results.get("model_name"):
            return str(name), _way(results, task)
    return next(name for name in folders[::-1] if not name.endswith(".zip")), {}


def _way(results: dict[str, Any], task: str) -> dict[str, str]:
    """Arguments of the model and of generation, and the number of examples."""
    config = results.get("config") or {}
    way = {"shots=": str(shots)} if (shots := (results.get("n-shot") or {}).get(task)) else {}
    for name in ("model_args", "gen_kwargs"):
        given = config.get(name) or {}
        if isinstance(given, str):
            given = dict(part.partition("=")[::2] for part in given.split(","))
        way |= {f"{key}=": str(value) for key, value in given.items()}
    return way


def _add(log: Log, file: File, observer: str, task: str) -> None:
    samples = log.records(file)
    one = None
    if filters := [sample["filter"] for sample in samples if "filter" in sample]:
        one = log.choose("filter", "filter", filters)
    scores = next((_scores(sample) for sample in samples if sample.get("filter") == one), [])
    score = log.choose("score", "score", scores)
    most = 1
    for sample in log.samples(file, samples):
        if sample.get("filter") != one:
            continue
        most = max(most, _repeats(sample))
        doc = sample.get("doc") or {}
        doc = doc if isinstance(doc, dict) else {}
        given = sample.get("filtered_resps") or [None]
        log.add(
            observer,
            task,
            log.label(sample, "doc_id"),
            condition=str(doc.get("subject") or doc.get("category") or "all"),
            answered=not (isinstance(given[0], str) and given[0].strip() in INVALID),
            mark=sample.get("doc_hash"),
            correct=log.right(log.field(sample, score), score, scores),
            **_answer(sample, score),
        )
    if most > 1:
        log.notes.append(
            f"{log.where} has up to {most} answers to a question, of which the filter makes one: "
            "only that is scored"
        )


def _repeats(sample: dict[str, Any]) -> int:
    """Number of responses to a question; each option has a separate request."""
    found = sample.get("resps") or [[]]
    return len(found[0]) if isinstance(found[0], list) else 1


def _scores(sample: dict[str, Any]) -> list[str]:
    """Scores of a sample; older versions do not list them."""
    if "metrics" in sample:
        return list(sample["metrics"])
    usual = (PLAIN, BY_LENGTH, "exact_match", "em", "f1")
    return [name for name in usual if name in sample]


def _answer(sample: dict[str, Any], score: str) -> dict[str, Any]:
    """Position of the likeliest option, or its letter where that was generated, and the truth."""
    found = sample.get("filtered_resps") or []
    if len(found) == 1 and isinstance(found[0], str) and isinstance(sample.get("target"), str):
        truth = option(sample["target"])
        return {} if truth is None else {"truth": truth, "response": option(found[0])}
    if not (found and all(isinstance(entry, list) and len(entry) == 2 for entry in found)):
        return {}
    doubled = "acc_mutual_info" in sample.get("metrics", ()) and len(found) % 2 == 0
    k = len(found) // 2 if doubled else len(found)
    if k < 2:
        return {}
    try:
        likelihood = [float(entry[0]) for entry in found[:k]]
    except (TypeError, ValueError):
        return {}
    options = _options(sample)[:k]
    if score == BY_LENGTH:
        if len(options) < k or not all(options):
            return {}
        likelihood = [value / len(text) for value, text in zip(likelihood, options, strict=True)]
    truth = _truth(sample.get("target"), options, k)
    return {} if truth is None else among(truth, likelihood)


def _options(sample: dict[str, Any]) -> list[str]:
    """Texts of the options, the second argument of each request, as lengths are counted."""
    arguments = sample.get("arguments") or []
    if isinstance(arguments, dict):
        arguments = [list(entry.values()) for entry in arguments.values()]
    return [str(entry[1]).removeprefix(" ") for entry in arguments if len(entry) > 1]


def _truth(target: Any, options: Sequence[str], k: int) -> str | None:
    """Position of the right option; None where it is unknown or could be two."""
    text = str(target).strip()
    found = {i for i, option in enumerate(options) if option.strip() == text}
    if text.isdecimal() and int(text) < k:
        found.add(int(text))
    return str(found.pop()) if len(found) == 1 else None


READERS = [Reader("lm-eval", "samples of lm-evaluation-harness", recognizes, read)]
