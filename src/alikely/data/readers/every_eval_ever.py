"""Samples in the format of Every Eval Ever: ``{uuid}_samples.jsonl``, of whichever tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers._reader import (
    Choice,
    Log,
    Questions,
    Reader,
    chosen,
    field,
    has_columns,
    log_of_rows,
    note_unread,
    objects,
    option,
    right,
)

__all__ = ["READER"]

FIELDS = ("model_id", "evaluation_name", "sample_id", "evaluation")


def recognises(files: Sequence[File]) -> bool:
    """By the fields of the first sample."""
    return files[0].suffix in (".jsonl", ".json") and has_columns(files, *FIELDS)


def read(files: Sequence[File], choice: Choice) -> Log:
    """Rows of one evaluation of every sample."""
    notes: list[str] = []
    logs = [file for file in files if file.suffix == ".jsonl" or recognises([file])]
    note_unread(files, logs, notes)
    samples = [(file, i, s) for file in logs for i, s in enumerate(objects(file, notes))]
    samples = _of_one_score(samples, choice)
    asked = Questions()
    rows: list[dict[str, Any]] = []
    for file, number, sample in samples:
        where = f"{file.name!r}, sample {number}"
        evaluation = field(sample, "evaluation", place=where)
        value = evaluation.get("is_correct")
        if value is None:
            value = field(evaluation, "score", place=where)
        references = (sample.get("input") or {}).get("reference") or []
        extracted = sample.get("answer_attribution") or []
        rows.append(
            {
                "observer": str(field(sample, "model_id", place=where)),
                "kind": "model",
                "dataset": str(field(sample, "evaluation_name", place=where)),
                "item": str(field(sample, "sample_id", place=where)),
                "correct": right(value, f"the score of {where}"),
                "truth": option(references[0]) if len(references) == 1 else None,
                "response": option(extracted[-1].get("extracted_value")) if extracted else None,
            }
        )
        key = (rows[-1]["dataset"], rows[-1]["item"])
        asked.check(key, sample.get("sample_hash"), repr(file.name))
    return log_of_rows(rows, f"{len(logs)} files of samples", notes)


def _of_one_score(
    samples: list[tuple[File, int, dict[str, Any]]], choice: Choice
) -> list[tuple[File, int, dict[str, Any]]]:
    """Those of the score asked for, where samples are repeated, one for each score."""
    keys = [(s.get("model_id"), s.get("evaluation_name"), s.get("sample_id")) for *_, s in samples]
    if len(set(keys)) == len(keys) and choice.score is None:
        return samples
    names = [str(s.get("evaluation_result_id")) for *_, s in samples]
    one = chosen("evaluation_result_id", "score", choice.score, names, "the log")
    return [sample for sample, name in zip(samples, names, strict=True) if name == one]


READER = Reader("every-eval-ever", "samples of Every Eval Ever", recognises, read)
