"""Samples in the format of Every Eval Ever: ``{uuid}_samples.jsonl``, of whichever tool."""

from __future__ import annotations

from collections.abc import Sequence

from alikely.data.files import File
from alikely.data.readers import Log, Reader, field, has_columns, option, right

# Fields of a sample that tell it from others, but for its score.
SAMPLE = ("model_id", "evaluation_name", "sample_id")


def recognizes(files: Sequence[File]) -> bool:
    """By the fields of the first sample."""
    return files[0].suffix in (".jsonl", ".json") and has_columns(files, *SAMPLE, "evaluation")


def read(files: Sequence[File], log: Log) -> None:
    """Rows of one evaluation of every sample."""
    logs = log.only(files, [f for f in files if f.suffix == ".jsonl" or recognizes([f])])
    samples = [(log.place, *entry) for file in logs for entry in log.samples(file)]
    # Samples are repeated, one for each score.
    keys = {tuple(sample.get(name) for name in SAMPLE) for *_, sample in samples}
    if len(keys) < len(samples) or log.asked["score"] is not None:
        names = [str(sample.get("evaluation_result_id")) for *_, sample in samples]
        one = log.choose("evaluation_result_id", "score", names, "the log")
        samples = [entry for entry, name in zip(samples, names, strict=True) if name == one]
    for log.place, where, sample in samples:
        evaluation = field(sample, "evaluation", place=where)
        value = evaluation.get("is_correct")
        if value is None:
            value = field(evaluation, "score", place=where)
        references = (sample.get("input") or {}).get("reference") or []
        extracted = sample.get("answer_attribution") or []
        given = extracted[-1].get("extracted_value") if extracted else None
        observer, dataset, item = (str(field(sample, name, place=where)) for name in SAMPLE)
        log.add(
            observer,
            dataset,
            item,
            answered=not extracted or str(given or "").strip() != "",
            mark=sample.get("sample_hash"),
            correct=right(value, f"the score of {where}"),
            truth=option(references[0]) if len(references) == 1 else None,
            response=option(given),
        )


READER = Reader("every-eval-ever", "samples of Every Eval Ever", recognizes, read)
