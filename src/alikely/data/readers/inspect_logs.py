"""Logs of Inspect: ``.eval``, a zip archive of JSON, or one ``.json``."""

from __future__ import annotations

import json
import math
import struct
import zipfile
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from alikely._base.size import memory_limit
from alikely.data.files import TABLE_COPIES, UNPACKING, File, unreadable
from alikely.data.readers import Log, Reader, Run, letter_logits, option

VERSIONS = (1, 2)
ZSTD = 93
ENCRYPTED = 1  # the first of the flags of a member
# Summaries cut long questions short: letters by which two are told apart.
SAME_TEXT = 200
LOCAL_HEADER = 30  # bytes, before the name and the extra field
# Settings that do not change answers.
TECHNICAL = ("max_connections", "max_retries", "timeout", "attempt_timeout", "logprobs",
             "top_logprobs", "adaptive_connections", "batch", "cache")  # fmt: skip
# Of texts; numbers and truth values are taken as they are. No answer is a missing one.
VALUES = {"C": 1, "I": 0, "N": None, "yes": 1, "true": 1, "no": 0, "false": 0}


def recognizes(files: Sequence[File]) -> bool:
    """Recognize files by their suffix, or by the fields of a JSON file."""
    first = files[0]
    return first.suffix == ".eval" or (
        first.suffix == ".json" and {"eval", "samples"} <= set(first.columns())
    )


def read(files: Sequence[File], log: Log) -> None:
    """Read the rows of all logs, each of which has one task and one model."""
    runs = []
    for file in log.only(files, [file for file in files if file.suffix in (".eval", ".json")]):
        log.current = file.name
        header, samples = _opened(file, log)
        model, task = log.label(header, "eval", "model"), log.label(header, "eval", "task")
        keys = frozenset((str(one.get("id")), one.get("epoch", 1)) for one in samples)
        status = str(header.get("status") or "success")
        created = str(header["eval"].get("created") or "")
        started = str((header.get("stats") or {}).get("started_at") or "")
        rank = (status == "success", created, started, file.base)
        way, content = _way(header["eval"]), (file, header, samples)
        runs.append(Run(model, task, way, rank, file.name, content, keys))
    for observer, task, (file, header, samples) in log.runs(runs):
        _add(log, file, header, samples, observer, task)


def _way(evaluation: dict[str, Any]) -> dict[str, str]:
    """How a model was run: its solver, arguments and settings."""
    way = {"": str(solver)} if (solver := evaluation.get("solver")) else {}
    for name in ("model_args", "model_generate_config", "task_args"):
        given = evaluation.get(name)
        known = given.items() if isinstance(given, dict) else ()
        way |= {f"{name}=": str(value) for name, value in sorted(known) if name not in TECHNICAL}
    return way


def _question(sample: dict[str, Any], data: str) -> str:
    """The beginning of what was asked, or the name of the data set where there is no text."""
    asked = sample.get("input")
    if isinstance(asked, list):
        contents = [one.get("content") for one in asked if isinstance(one, dict)]
        asked = " ".join(text for text in contents if isinstance(text, str))
    return str(asked or data)[:SAME_TEXT].strip()


def _add(
    log: Log,
    file: File,
    header: dict[str, Any],
    samples: list[dict[str, Any]],
    observer: str,
    task: str,
) -> None:
    log.current = file.name
    place = log.where
    version = header.get("version", VERSIONS[-1])
    if version not in VERSIONS:
        raise ValueError(
            f"{place} is an Inspect log of version {version!r}; expected version 1 or 2; convert "
            "it with 'inspect log convert', or read it as a table"
        )
    if (status := header.get("status") or "success") != "success":
        log.notes.append(f"{place} is of a run that did not end well (status {status!r})")
    of = header["eval"].get("dataset")
    data = str(of.get("name") or "") if isinstance(of, dict) else ""
    # A sample with an error counts where the run has scored it.
    scored = [bool(one.get("scores")) for one in samples if one.get("error")]
    if n := scored.count(False):
        log.notes.append(f"{n} samples of {place} ended in an error without a score: left out")
    if n := scored.count(True):
        log.notes.append(f"{n} samples of {place} ended in an error and were scored: they count")
    names = [name for sample in samples for name in sample.get("scores") or {}]
    scorer = log.choose("scorer", "score", names)
    unscored = 0
    for sample in log.samples(file, samples):
        if sample.get("error") and not sample.get("scores"):
            continue
        score = (sample.get("scores") or {}).get(scorer) or {}
        value = score.get("value")
        if value is None or (isinstance(value, float) and math.isnan(value)):
            unscored += 1
            continue
        n_options = len(sample.get("choices") or ())
        written = score.get("answer")
        answer = option(written, n_options)
        value = VALUES.get(value, value) if isinstance(value, str) else value
        logits = _logits(sample, answer)
        target = sample.get("target")
        target = target[0] if isinstance(target, list) and len(target) == 1 else target
        log.add(
            observer,
            task,
            log.label(sample, "id"),
            condition=str((sample.get("metadata") or {}).get("subject") or "all"),
            answered=not sample.get("error") and (written is None or str(written).strip() != ""),
            mark=_question(sample, data),
            repeat=sample.get("epoch", 1),
            correct=None if value is None else log.right(value, "the score"),
            truth=option(target, n_options),
            response=answer,
            **({"logits": logits} if logits else {}),
        )
    if unscored:
        log.notes.append(f"{unscored} samples of {place} have no score: left out")


def _logits(sample: dict[str, Any], answer: str | None) -> list[float]:
    """Log probabilities of the letters of all options, where the answer's letter was written."""
    n = len(sample.get("choices") or ())
    letters = [chr(ord("A") + i) for i in range(min(n, 26))] + [str(i + 1) for i in range(n - 26)]
    written = ((sample.get("output") or {}).get("choices") or [{}])[0].get("logprobs") or {}
    tokens = (
        (t.get("token"), [(o["token"], o["logprob"]) for o in t.get("top_logprobs") or []])
        for t in reversed(written.get("content") or [])
    )
    return letter_logits(tokens, answer, letters)


def _asked_for_logprobs(header: dict[str, Any]) -> bool:
    """Whether samples hold log probabilities, which summaries do not."""
    plan, evaluation = header.get("plan") or {}, header.get("eval") or {}
    configs = (plan.get("config"), evaluation.get("model_generate_config"))
    return any((config or {}).get("logprobs") for config in configs)


def _opened(file: File, log: Log) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The log without samples, and its samples."""
    if file.suffix == ".json":
        whole = (file.records([]) or [{}])[0]
        return whole, log.field(whole, "samples") or []
    if file.member:
        raise ValueError(f"{file.name!r} is inside another archive; unpack that first")
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in members:
                raise ValueError(
                    f"{file.name!r} has no header.json: the log is not finished, or it is not an "
                    "Inspect log"
                )
            header = json.loads(_member(file, archive, members["header.json"]))
            log.field(header, "eval", "model")
            if "summaries.json" in members and not _asked_for_logprobs(header):
                return header, json.loads(_member(file, archive, members["summaries.json"]))
            names = sorted(name for name in members if name.startswith("samples/"))
            # All are held at once: by what they are said to be, and by what they are.
            file.check_size(sum(members[name].file_size for name in names))
            read, n_bytes = [], 0
            for name in names:
                content = _member(file, archive, members[name])
                n_bytes += len(content)
                file.check_size(n_bytes)
                read.append(json.loads(content))
            return header, read
    except (*UNPACKING, pa.ArrowInvalid, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(unreadable(file, error)) from None


def _member(file: File, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """A member, also one packed by Zstandard, which zipfile knows from Python 3.14 on only."""
    file.check_size(entry.file_size)
    if entry.compress_type != ZSTD:
        return archive.read(entry)
    if entry.flag_bits & ENCRYPTED:
        raise ValueError(f"{file.name!r} is encrypted; unpack it with its password first")
    with file.path.open("rb") as stream:
        stream.seek(entry.header_offset + LOCAL_HEADER - 4)
        name, extra = struct.unpack("<HH", stream.read(4))
        stream.seek(name + extra, 1)
        packed = stream.read(entry.compress_size)
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as unpacked:
        # Few bytes may unpack to many: read until it is too much.
        content = bytes(unpacked.read(memory_limit() // TABLE_COPIES + 1))
    file.check_size(len(content))
    return content


READERS = [Reader("inspect", "Inspect logs", recognizes, read)]
