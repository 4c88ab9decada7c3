"""Run folders of HELM: ``run_spec.json``, ``instances.json``, ``per_instance_stats.json``, ..."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers._reader import (
    Choice,
    Log,
    Reader,
    chosen,
    field,
    label,
    log_of_rows,
    option,
    right,
)

__all__ = ["READER"]

SPEC, STATS, SHOWN = "run_spec.json", "per_instance_stats.json", "display_predictions.json"
INSTANCES = "instances.json"
# Stats of right and wrong answers.
SCORES = (
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match",
    "exact_match_indicator", "final_number_exact_match",
)  # fmt: skip


def recognises(files: Sequence[File]) -> bool:
    """By the names of the files."""
    return {SPEC, STATS} <= {file.base for file in files}


def read(files: Sequence[File], choice: Choice) -> Log:
    """Rows of every run folder; perturbations are conditions, as are subjects."""
    notes: list[str] = []
    runs: dict[str, dict[str, File]] = {}
    for file in files:
        place = str(file.path.parent) + "/" + file.member.rpartition("/")[0]
        runs.setdefault(place, {})[file.base] = file
    rows: list[dict[str, Any]] = []
    for run in runs.values():
        if SPEC in run:
            rows += _rows(run, choice)
    return log_of_rows(rows, f"{sum(SPEC in run for run in runs.values())} runs", notes)


def _rows(run: dict[str, File], choice: Choice) -> list[dict[str, Any]]:
    place = repr(run[SPEC].name)
    if STATS not in run:
        raise ValueError(f"beside {place} there is no {STATS}, which holds the scores")
    spec, stats = json.loads(run[SPEC].read()), json.loads(run[STATS].read())
    shown = json.loads(run[SHOWN].read()) if SHOWN in run else []
    instances = json.loads(run[INSTANCES].read()) if INSTANCES in run else []
    observer = label(spec, "adapter_spec", "model", place=place)
    name = label(spec, "name", place=place)
    scenario, _, arguments = name.partition(":")
    subject = dict(p.partition("=")[::2] for p in arguments.split(",")).get("subject", "all")
    predicted = {_key(entry): entry for entry in shown}
    references = {_key(entry, "id"): entry.get("references") or [] for entry in instances}
    rows = []
    for entry in stats:
        where = f"{run[STATS].name!r}, instance {entry.get('instance_id')!r}"
        kind = (entry.get("perturbation") or {}).get("name")
        values = _own_stats(field(entry, "stats", place=where), kind, where)
        if not values:
            continue  # the worst or the unperturbed case of another entry
        there = [score for score in SCORES if score in values]
        score = chosen("stat", "score", choice.score, there, place)
        rows.append(
            {
                "observer": observer,
                "kind": "model",
                "dataset": scenario,
                "condition": f"{subject}, {kind}" if kind else subject,
                "item": label(entry, "instance_id", place=where),
                "repeat": int(entry.get("train_trial_index", 0)),
                "correct": right(values[score], f"{score} of {where}"),
                **_answer(
                    references.get(_key(entry)[:2], []),
                    predicted.get(_key(entry), {}),
                    values.get("predicted_index"),
                ),
            }
        )
    return rows


def _own_stats(stats: Sequence[Any], kind: str | None, where: str) -> dict[str, Any]:
    """Means by name: those of the entry itself, without worst cases over perturbations."""
    own = {}
    for stat in stats:
        name = field(stat, "name", place=where)
        perturbed = name.get("perturbation") or {}
        if not perturbed or (
            perturbed.get("name") == kind and perturbed.get("computed_on") == "perturbed"
        ):
            own[field(name, "name", place=where)] = field(stat, "mean", place=where)
    return own


def _key(entry: dict[str, Any], id_: str = "instance_id") -> tuple[Any, ...]:
    """Instance, perturbation and, of answers, repeat."""
    kind = (entry.get("perturbation") or {}).get("name")
    return (entry.get(id_), kind) + ((entry.get("train_trial_index", 0),) if id_ != "id" else ())


def _answer(
    references: Sequence[dict[str, Any]], shown: dict[str, Any], index: float | None
) -> dict[str, Any]:
    """Positions of the right option and of the answer; nothing where there are no options."""
    true = [i for i, one in enumerate(references) if "correct" in one.get("tags", ())]
    if len(references) < 2 or len(true) != 1:
        return {}
    texts = [(one.get("output") or {}).get("text") for one in references]
    mapped, letter = shown.get("mapped_output"), option(shown.get("predicted_text", ""))
    given: int | None = None
    if index is not None:
        given = int(index)
    elif texts.count(mapped) == 1:
        given = texts.index(mapped)
    elif letter is not None and ord(letter) - ord("A") < len(texts):
        given = ord(letter) - ord("A")
    return {"truth": str(true[0]), "response": None if given is None else str(given)}


READER = Reader("helm", "runs of HELM", recognises, read)
