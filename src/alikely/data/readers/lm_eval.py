"""Samples of EleutherAI's lm-evaluation-harness: ``samples_{task}_{date}.jsonl``."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, among, field, label, objects, right

__all__ = ["READER"]

NAME = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.\-:]+))?\.jsonl?", re.IGNORECASE)
RESULTS = "results_"
# Of options: the log likelihoods themselves, or each divided by the length of its option.
PLAIN, BY_LENGTH = "acc", "acc_norm"


def recognises(files: Sequence[File]) -> bool:
    """By the names of the files."""
    return any(NAME.fullmatch(file.base) for file in files)


def read(files: Sequence[File], log: Log) -> None:
    """Rows of the newest samples of every task and model."""
    named = [(file, match) for file in files if (match := NAME.fullmatch(file.base))]
    results = [file for file in files if file.base.startswith(RESULTS)]
    log.note_unread(files, [*results, *(file for file, _ in named)])
    dated = [(_observer(file, files), m[1], m[2] or "", file) for file, m in named]
    newest = log.newest(dated, "dates")
    for observer, task, file in newest:
        _add(log, file, observer, task)
    log.finish(f"{len(newest)} files of samples")


def _observer(file: File, files: Sequence[File]) -> str:
    """Name of the model in the results beside the samples, else of their folder."""
    folder = file.path.parent
    own = file.member.rpartition("/")[0]
    for other in files:
        beside = other.path.parent == folder and other.member.rpartition("/")[0] == own
        if beside and other.base.startswith(RESULTS) and other.suffix == ".json":
            name = json.loads(other.read()).get("model_name")
            if name:
                return str(name)
    if not file.member:
        alone = sorted(folder.glob("results_*.json"))
        name = (
            json.loads(alone[-1].read_text(encoding="utf-8")).get("model_name") if alone else None
        )
        if name:
            return str(name)
    return own.rpartition("/")[2] or folder.absolute().name


def _add(log: Log, file: File, observer: str, task: str) -> None:
    samples, place = objects(file, log.notes), repr(file.name)
    if filters := [sample["filter"] for sample in samples if "filter" in sample]:
        one = log.choose("filter", "filter", filters, place)
        samples = [sample for sample in samples if sample["filter"] == one]
    score = log.choose("score", "score", _scores(samples[0]) if samples else [], place)
    for number, sample in enumerate(samples):
        where = f"{place}, sample {number}"
        value = field(sample, score, place=where)
        doc = sample.get("doc") or {}
        doc = doc if isinstance(doc, dict) else {}
        log.add(
            observer,
            task,
            label(sample, "doc_id", place=where),
            condition=str(doc.get("subject") or doc.get("category") or "all"),
            place=place,
            mark=sample.get("doc_hash"),
            correct=right(value, f"{score} of {where}"),
            **_answer(sample, score),
        )
    if (most := max(map(_repeats, samples), default=1)) > 1:
        log.notes.append(
            f"{place} has up to {most} answers to a question, of which the filter makes one: only "
            "that is scored"
        )


def _repeats(sample: dict[str, Any]) -> int:
    """How often a question was answered; of options each has a request of its own."""
    found = sample.get("resps") or [[]]
    return len(found[0]) if isinstance(found[0], list) else 1


def _scores(sample: dict[str, Any]) -> list[str]:
    """Scores of a sample; older versions do not list them."""
    if "metrics" in sample:
        return list(sample["metrics"])
    usual = (PLAIN, BY_LENGTH, "exact_match", "em", "f1")
    return [name for name in usual if name in sample]


def _answer(sample: dict[str, Any], score: str) -> dict[str, Any]:
    """Position of the likeliest option and of the right one; nothing for generated text."""
    found = sample.get("filtered_resps") or []
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


READER = Reader("lm-eval", "samples of lm-evaluation-harness", recognises, read)
