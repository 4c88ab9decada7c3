"""Every reader reads its format; damaged files are read whole or raise a one-line error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written import FORMATS, RIGHT, WITHOUT_TRUTH, N

import alikely as al
from alikely.data.readers import readers
from alikely.data.trials import Trials

# Words of libraries that messages of this package do not use.
FOREIGN = re.compile(
    r"Traceback|Error:|pyarrow|narwhals|codec can't|Expecting|Unterminated|CSV parse|KeyError"
    r"|NoneType|<class|object has no|reindex|0x[0-9a-f]{4}|np\.str_|not subscriptable|char \d+"
)


def test_every_format_is_written() -> None:
    assert set(readers()) <= set(FORMATS)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_number(tmp_path: Path, name: str) -> None:
    """Compare Cohen's kappa of correctness (cells 4, 1, 1, 2), and of responses (3, 0, 2, 3)."""
    write, options = FORMATS[name]
    trials = Trials.read(write(tmp_path), **options)
    assert (trials.data["correct"].values >= -3).all()
    assert trials.data["correct"].shape == (2, N)
    if name in WITHOUT_TRUTH:
        with pytest.raises(ValueError, match="no true classes"):
            al.error_consistency(trials)
        result = al.agreement(trials, "cohen_kappa", n_resamples=0, n_draws=0)
        assert result.summary()["accuracy_a"].isna().all()
        assert result.summary()["error_consistency"].isna().all()
    else:
        result = al.error_consistency(trials, n_resamples=0, n_draws=0)
    expected = 18 / 34 if name in WITHOUT_TRUTH else 14 / 30
    assert result.summary()["estimate"].tolist() == pytest.approx([expected], abs=1e-12)


Damage = Callable[[bytes], bytes]


def _text(change: Callable[[str], str]) -> Damage:
    return lambda raw: change(raw.decode()).encode()


def _cut_line(text: str) -> str:
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text[: len(text) // 2]
    return "".join([*lines[:-2], lines[-2].rsplit(",", 1)[0] + "\n", lines[-1]])


def _doubled_rows(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines, *lines[-2:]])


def _fields(change: Callable[[str, Any], Any]) -> Callable[[str], str]:
    """Replace every value of JSON, or of the second line of a csv."""

    def changed(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: changed(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [changed(v, key) for v in value]
        return change(key, value)

    def apply(text: str) -> str:
        try:
            return json.dumps(changed(json.loads(text)))
        except json.JSONDecodeError:
            lines = text.splitlines()
        if lines[0].startswith("{"):
            return "\n".join(json.dumps(changed(json.loads(line))) for line in lines)
        odd = [str(change("", v)) for v in lines[1].split(",")]
        return "\n".join([lines[0], ",".join(odd), *lines[2:]])

    return apply


DAMAGES: dict[str, Damage] = {
    "empty": lambda _: b"",
    "only the first line": lambda raw: raw.split(b"\n")[0] + b"\n",
    "cut in the middle": lambda raw: raw[: len(raw) // 2],
    "cut at the end": lambda raw: raw[:-7],
    "a cut line": _text(_cut_line),
    "further fields": _text(lambda t: re.sub(r"\n(.*)\n", r"\n\1,more,fields\n", t, count=1)),
    "latin-1": _text(lambda t: t.replace("a", "ä")),
    "bytes of latin-1": lambda raw: raw.replace(b"n", b"\xe4"),
    "a mark of UTF-8": lambda raw: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw: raw.decode("latin-1").encode("utf-16"),
    "zero bytes": lambda raw: raw[:40] + b"\0\0" + raw[40:],
    "semicolons": lambda raw: raw.replace(b",", b";"),
    "tabs": lambda raw: raw.replace(b",", b"\t"),
    "a line that names the separator": lambda raw: b"sep=;\n" + raw.replace(b",", b";"),
    "decimal commas": lambda raw: re.sub(rb"(\d)\.(\d)", rb"\1,\2", raw),
    "lines of Windows": lambda raw: raw.replace(b"\n", b"\r\n"),
    "mixed ends of lines": lambda raw: raw.replace(b"\n", b"\r\n", 3),
    "doubled rows": _text(_doubled_rows),
    "another first column": lambda raw: raw.replace(raw[:3], b"zz" + raw[:1], 1),
    "fields of another name": lambda raw: raw.replace(b"re", b"xy"),
    "nulls": _text(_fields(lambda _, __: None)),
    "NaN": _text(_fields(lambda _, v: float("nan") if isinstance(v, int | float) else v)),
    "numbers for texts": _text(_fields(lambda _, v: 7 if isinstance(v, str) else v)),
    "texts for numbers": _text(_fields(lambda _, v: "x" if isinstance(v, int | float) else v)),
    "lists for values": _text(_fields(lambda _, v: [v])),
    "objects for lists": _text(lambda t: t.replace("[", "{").replace("]", "}")),
    "a web page": lambda _: b"<!DOCTYPE html><html><body>404</body></html>\n",
}


def _refused_well(message: str) -> bool:
    """Whether a message is one line of sufficient length, without words of libraries."""
    return "\n" not in message and len(message) > 20 and not FOREIGN.search(message)


# Quick tests cover each damage and each format at least three times, slow ones twice that.
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        pytest.param(name, damage, marks=[pytest.mark.slow] * ((i + j) % 7 > 0))
        for i, name in enumerate(FORMATS)
        for j, damage in enumerate(DAMAGES)
        if (i + j) % 7 in (0, 3)
    ],
)
def test_damaged_files_are_read_whole_or_rejected(tmp_path: Path, name: str, damage: str) -> None:
    """The number of rows is unchanged, unless a note reports the loss."""
    write, options = FORMATS[name]
    write(tmp_path)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    file = next((path for path in files if "stats" in path.name), files[0])
    try:
        damaged = DAMAGES[damage](file.read_bytes())
    except UnicodeDecodeError:
        damaged = DAMAGES["cut in the middle"](file.read_bytes())[: -len(damage)]
    whole = file.read_bytes()
    file.write_bytes(damaged)
    refused: list[str] = []
    ways: list[dict[str, Any]] = [{}, {"format": name if name in readers() else "table"}]
    for way in ways:
        try:
            trials = Trials.read(tmp_path, **options, **way)
        except (ValueError, TypeError) as error:
            odd = "" if _refused_well(str(error)) else str(error)
            refused.append(odd)
            continue
        n = int((trials.data["correct"].values != al.data.trials.NOT_SHOWN).sum())
        told = re.search("left out|not read|read once|no other observer", str(trials.notes))
        # If a file was cut between two lines, only the rest can be read.
        shorter = "cut" in damage or "only" in damage
        lost = max(0, whole.count(b"\n") - damaged.count(b"\n")) if shorter else 0
        assert n == len(RIGHT) * N - lost or told, (n, trials.notes)
        break
    assert not any(refused), refused
