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
from alikely.data.readers import Log, Reader, field, label, option

__all__ = ["READER"]

VERSIONS = (1, 2)
ZSTD = 93
ENCRYPTED = 1  # the first of the flags of a member
# Summaries cut long questions short: letters by which two are told apart.
SAME_TEXT = 200
LOCAL_HEADER = 30  # bytes, before the name and the extra field
# Of texts; numbers and truth values are taken as they are. No answer is a missing one.
VALUES = {"C": 1, "I": 0, "N": None, "yes": 1, "true": 1, "no": 0, "false": 0}


def recognises(files: Sequence[File]) -> bool:
    """By the suffix, or the fields of a JSON file."""
    first = files[0]
    return first.suffix == ".eval" or (
        first.suffix == ".json" and {"eval", "samples"} <= set(first.columns())
    )


def read(files: Sequence[File], log: Log) -> None:
    """Rows of all logs, a task and model each."""
    logs = [file for file in files if file.suffix in (".eval", ".json")]
    log.note_unread(files, logs)
    parts = []
    for file in logs:
        header, samples = _opened(file)
        start = len(log.rows)
        _add(log, file, header, samples)
        if part := log.rows[start:]:
            parts.append((part[0]["observer"], part[0]["dataset"], _way(header["eval"]), part))
    # One model that was run in several ways at one task is several observers.
    of_task: dict[tuple[str, str], list[dict[str, str]]] = {}
    for observer, task, way, _ in parts:
        of_task.setdefault((observer, task), []).append(way)
    for observer, _, way, part in parts:
        # What tells this way of running a model from others at a task of its; mostly nothing.
        differ = {
            key
            for (name, _), ways in of_task.items()
            if name == observer
            for key in set().union(*ways)
            if len({other.get(key) for other in ways}) > 1
        }
        if told := ", ".join(key + way[key] for key in way if key in differ):
            for row in part:
                row["observer"] += f" ({told})"
    log.finish(f"{len(logs)} logs")


def _way(evaluation: dict[str, Any]) -> dict[str, str]:
    """How a model was run: its solver, and arguments of its own."""
    solver, given = evaluation.get("solver"), evaluation.get("model_args")
    way = {"": str(solver)} if solver else {}
    known = given.items() if isinstance(given, dict) else ()
    return way | {f"{name}=": str(value) for name, value in sorted(known)}


def _question(sample: dict[str, Any], data: str) -> str:
    """The beginning of what was asked, or the name of the data set where there is no text."""
    asked = sample.get("input")
    if isinstance(asked, list):
        contents = [one.get("content") for one in asked if isinstance(one, dict)]
        asked = " ".join(text for text in contents if isinstance(text, str))
    return str(asked or data)[:SAME_TEXT].strip()


def _add(log: Log, file: File, header: dict[str, Any], samples: list[dict[str, Any]]) -> None:
    place = repr(file.name)
    version = header.get("version", VERSIONS[-1])
    if version not in VERSIONS:
        raise ValueError(
            f"{place} is an Inspect log of version {version!r}; known are versions 1 and 2: write "
            "it anew with 'inspect log convert', or read a table of it"
        )
    model = label(header, "eval", "model", place=place)
    task = label(header, "eval", "task", place=place)
    of = header["eval"].get("dataset")
    data = str(of.get("name") or "") if isinstance(of, dict) else ""
    complete = [sample for sample in samples if not sample.get("error")]
    if len(complete) < len(samples):
        n = len(samples) - len(complete)
        log.notes.append(f"{n} samples of {place} ended in an error: left out")
    names = [name for sample in complete for name in sample.get("scores") or {}]
    scorer = log.choose("scorer", "score", names, place)
    unscored = 0
    for sample in complete:
        where = f"{place}, sample {sample.get('id')!r}"
        score = (sample.get("scores") or {}).get(scorer) or {}
        value = score.get("value")
        if value is None or (isinstance(value, float) and math.isnan(value)):
            unscored += 1
            continue
        answer = option(score.get("answer"))
        logits = _logits(sample, answer)
        target = sample.get("target")
        target = target[0] if isinstance(target, list) and len(target) == 1 else target
        log.add(
            model,
            task,
            label(sample, "id", place=where),
            condition=str((sample.get("metadata") or {}).get("subject") or "all"),
            place=place,
            mark=_question(sample, data),
            repeat=_epoch(sample.get("epoch", 1), where),
            correct=_right(value, where),
            truth=option(target),
            response=answer,
            **({} if logits is None else {"logits": logits}),
        )
    if unscored:
        log.notes.append(f"{unscored} samples of {place} have no score: left out")


def _epoch(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"the epoch of {where} is {value!r}; expected a whole number")
    return value


def _right(value: Any, where: str) -> int | None:
    if isinstance(value, str) and value in VALUES:
        return VALUES[value]
    if isinstance(value, bool | int | float) and value in (0, 1):
        return int(value)
    what = "partly right" if value == "P" else "neither right nor wrong"
    raise ValueError(f"the score of {where} is {value!r}, {what}; choose another by score=")


def _logits(sample: dict[str, Any], answer: str | None) -> list[float] | None:
    """Log probabilities of the letters of all options, where the answer's letter was written."""
    letters = [chr(ord("A") + i) for i in range(len(sample.get("choices") or ()))]
    written = ((sample.get("output") or {}).get("choices") or [{}])[0].get("logprobs") or {}
    for token in reversed(written.get("content") or []):
        if answer is None or option(token.get("token")) != answer:
            continue
        # The likeliest of several ways to write a letter stands first.
        top = {option(t["token"]): t["logprob"] for t in reversed(token.get("top_logprobs") or [])}
        found = [top[letter] for letter in letters if letter in top]
        whole = len(found) == len(letters) > 1 and all(map(math.isfinite, found))
        return [float(value) for value in found] if whole else None
    return None


def _asked_for_logprobs(header: dict[str, Any]) -> bool:
    """Whether samples hold log probabilities, which summaries do not."""
    plan, evaluation = header.get("plan") or {}, header.get("eval") or {}
    configs = (plan.get("config"), evaluation.get("model_generate_config"))
    return any((config or {}).get("logprobs") for config in configs)


def _opened(file: File) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The log without samples, and its samples."""
    if file.suffix == ".json":
        whole = json.loads(file.read())
        samples = field(whole, "samples", place=repr(file.name)) or []
        return whole, _samples(file, samples)
    if file.member:
        raise ValueError(f"{file.name!r} stands in another archive; unpack that first")
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = {entry.filename: entry for entry in archive.infolist()}
            if "header.json" not in members:
                raise ValueError(
                    f"{file.name!r} has no header.json: a log that was not finished, or none of "
                    "Inspect"
                )
            header = json.loads(_member(file, archive, members["header.json"]))
            field(header, "eval", "model", place=repr(file.name))
            if "summaries.json" in members and not _asked_for_logprobs(header):
                found = json.loads(_member(file, archive, members["summaries.json"]))
                return header, _samples(file, found)
            names = sorted(name for name in members if name.startswith("samples/"))
            # All are held at once: by what they are said to be, and by what they are.
            file.check_size(sum(members[name].file_size for name in names))
            read, n_bytes = [], 0
            for name in names:
                content = _member(file, archive, members[name])
                n_bytes += len(content)
                file.check_size(n_bytes)
                read.append(json.loads(content))
            return header, _samples(file, read)
    except (*UNPACKING, pa.ArrowInvalid, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(unreadable(file, error)) from None


def _samples(file: File, found: Any) -> list[dict[str, Any]]:
    """Samples, if each has fields."""
    if not isinstance(found, list) or not all(isinstance(sample, dict) for sample in found):
        raise ValueError(
            f"the samples of {file.name!r} are no list of objects with fields: a version of this "
            "log that is not known; make a table of it and read that (format='table')"
        )
    return found


def _member(file: File, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """A member, also one packed by Zstandard, which zipfile knows from Python 3.14 on only."""
    file.check_size(entry.file_size)
    if entry.compress_type != ZSTD:
        return archive.read(entry)
    if entry.flag_bits & ENCRYPTED:
        raise ValueError(f"{file.name!r} is encrypted; unpack it with its password first")
    if not pa.Codec.is_available("zstd"):
        raise ValueError(f"{file.name!r} is packed by Zstandard: install a pyarrow that has zstd")
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


READER = Reader("inspect", "Inspect logs", recognises, read)
