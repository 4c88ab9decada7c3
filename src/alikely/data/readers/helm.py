"""Run folders of HELM: ``run_spec.json``, ``instances.json``, ``per_instance_stats.json``, ..."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from alikely.data.files import File
from alikely.data.readers import Log, Reader, Run, letter_logits, option

SPEC, STATS, SHOWN = "run_spec.json", "per_instance_stats.json", "display_predictions.json"
INSTANCES, STATE = "instances.json", "scenario_state.json"
# Adapters of options: each asked for apart, with its question or without as well; or by its letter.
METHODS = (
    "multiple_choice_separate_original", "multiple_choice_separate_calibrated",
    "multiple_choice_joint",
)  # fmt: skip
ORIGINAL, ALONE = "original", "calibration"
# Stats of the answer's position and of its probability.
INDEX, TOP = "predicted_index", "max_prob"
# Of options asked for apart HELM writes the largest probability; ours is of the same numbers, but
# for rounding. Of letters it writes that of the answer among all texts, which is another number.
SAME = 1e-6
# Stats of right and wrong answers.
SCORES = (
    "exact_match", "quasi_exact_match", "prefix_exact_match", "quasi_prefix_exact_match",
    "exact_match_indicator", "final_number_exact_match",
)  # fmt: skip


def recognizes(files: Sequence[File]) -> bool:
    """Recognize HELM logs by the names of their files."""
    return {SPEC, STATS} <= {file.base for file in files}


def read(files: Sequence[File], log: Log) -> None:
    """Read the rows of every run folder; perturbations and subjects are conditions."""
    runs: dict[tuple[str, ...], dict[str, File]] = {}
    for file in files:
        runs.setdefault(file.parts[:-1], {})[file.base] = file
    found = []
    for run in runs.values():
        if SPEC in run:
            spec = _content(log, run, SPEC)[0]
            observer, name = log.label(spec, "adapter_spec", "model"), log.label(spec, "name")
            for part in (observer, observer.replace("/", "_")):
                name = name.replace(f"model={part}", "")
            way = {
                f"{key}=": str(value)
                for key, value in spec["adapter_spec"].items()
                if isinstance(value, str | int | float) and key != "model"
            }
            found.append(Run(observer, name, way, (run[SPEC].name,), run[SPEC].name, (run, spec)))
    for observer, _, (run, spec) in log.runs(found):
        _add(log, run, spec, observer)


def _content(log: Log, run: dict[str, File], name: str) -> list[dict[str, Any]]:
    return log.records(run[name]) if name in run else []


def _add(log: Log, run: dict[str, File], spec: dict[str, Any], observer: str) -> None:
    place = repr(run[SPEC].name)
    if STATS not in run:
        raise ValueError(f"next to {place} there is no {STATS} with the scores; add it")
    scenario, _, arguments = str(spec["name"]).partition(":")
    subject = dict(p.partition("=")[::2] for p in arguments.split(",")).get("subject", "all")
    predicted = {_key(entry): entry for entry in _content(log, run, SHOWN)}
    references = {
        _key(entry, "id"): entry.get("references") or [] for entry in _content(log, run, INSTANCES)
    }
    asked = _requests(log, run, str(spec["adapter_spec"].get("method")))
    tied, known = 0, False
    # Each metric has written an entry of its own for the same answer.
    whole: dict[tuple[Any, ...], tuple[int, dict[str, Any], dict[str, Any]]] = {}
    for entry in log.samples(run[STATS]):
        values = _own_stats(log, log.field(entry, "stats"), _key(entry)[1])
        whole.setdefault(_key(entry), (log.number, entry, {}))[-1].update(values)
    there = [name for name in SCORES if any(name in values for *_, values in whole.values())]
    for (_, kind, _), (log.number, entry, values) in whole.items():
        if not values:
            continue  # the worst or the unperturbed case of another entry
        score = log.choose("stat", "score", there, place)
        if score not in values:
            raise ValueError(
                f"{log.where} has no stat {score!r}, but other entries do; leave out this entry"
            )
        shown = predicted.get(_key(entry), {})
        answer = _answer(references.get(_key(entry)[:2], []), shown, values.get(INDEX))
        value = values[score]
        if answer and INDEX in values and 0 < value < 1:
            # Of options that tie HELM counts a share; its answer is the first of them.
            tied, value = tied + 1, int(answer["response"] == answer["truth"])
        answer |= _logits(asked.get(_key(entry), []), answer.get("response"), values.get(TOP))
        known |= "logits" in answer
        log.add(
            observer,
            scenario,
            log.label(entry, "instance_id"),
            condition=f"{subject}, {kind}" if kind else subject,
            answered=str(shown.get("predicted_text", " ") or "") != "",
            repeat=int(entry.get("train_trial_index", 0)),
            correct=log.right(value, score, there),
            **answer,
        )
    log.number = -1
    if asked and not known:
        log.notes.append(f"{place}: no probabilities, since not all options have log likelihoods")
    if tied:
        log.notes.append(f"{tied} answers of {place} tie with others: the first of them is taken")


def _own_stats(log: Log, stats: Sequence[Any], kind: str | None) -> dict[str, Any]:
    """Means by name: those of the entry itself, without worst cases over perturbations."""
    own = {}
    for stat in stats:
        name = log.field(stat, "name")
        perturbed = name.get("perturbation") or {}
        if not perturbed or (
            perturbed.get("name") == kind and perturbed.get("computed_on") == "perturbed"
        ):
            own[log.field(name, "name")] = log.field(stat, "mean")
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


def _requests(
    log: Log, run: dict[str, File], method: str
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Requests of each entry, where their tokens may say how probable options were."""
    if STATE not in run or method not in METHODS:
        return {}
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for request in _content(log, run, STATE)[0].get("request_states") or []:
        instance = request.get("instance") or {}
        entry = {"instance_id": instance.get("id"), "perturbation": instance.get("perturbation")}
        entry["train_trial_index"] = request.get("train_trial_index", 0)
        found.setdefault(_key(entry), []).append(request)
    return found


def _logits(
    requests: Sequence[dict[str, Any]], response: str | None, top: float | None
) -> dict[str, Any]:
    """Log likelihoods of options as HELM compares them; nothing where they are not all there."""
    if not requests:
        return {}
    apart = requests[0].get("reference_index") is not None
    found = _of_options(requests) if apart else _of_letters(requests[0], response)
    # Models that give no likelihoods have 0 for all of them.
    if len(found) < 2 or not all(map(math.isfinite, found)) or not any(found):
        return {}
    own = 1 / sum(math.exp(value - max(found)) for value in found)
    # Else an option was taken to have other tokens than it had there.
    if apart and top is not None and abs(own - top) > SAME:
        return {}
    return {"logits": found}


def _of_options(requests: Sequence[dict[str, Any]]) -> list[float]:
    """Log likelihood of an option: mean over its tokens, or minus that without the question."""
    references = (requests[0].get("instance") or {}).get("references") or []
    ends: dict[tuple[int, str], list[float]] = {}
    for request in requests:
        number = int(request["reference_index"])
        text = str(references[number]["output"]["text"]).strip()
        written, own = "", []
        # The prompt is echoed, and ends in the option.
        for token in reversed(_tokens(request)):
            written = token["text"] + written
            own.append(float(token["logprob"]))
            if written.strip() == text:
                ends[number, request.get("request_mode") or ORIGINAL] = own
                break
    modes = {request.get("request_mode") or ORIGINAL for request in requests}
    if len(ends) < len(references) * len(modes):
        return []
    if modes == {ORIGINAL}:
        return [sum(own) / len(own) for own in (ends[i, ORIGINAL] for i in range(len(references)))]
    return [sum(ends[i, ORIGINAL]) - sum(ends[i, ALONE]) for i in range(len(references))]


def _of_letters(request: dict[str, Any], response: str | None) -> list[float]:
    """Log likelihoods of the letters of all options at the letter of the response."""
    letters = sorted(request.get("output_mapping") or {})
    answer = None if response is None else chr(ord("A") + int(response))
    tokens = ((t["text"], (t.get("top_logprobs") or {}).items()) for t in _tokens(request))
    return letter_logits(tokens, answer, letters)


def _tokens(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Tokens of the first completion."""
    completions = (request.get("result") or {}).get("completions") or [{}]
    return completions[0].get("tokens") or []


READERS = [Reader("helm", "runs of HELM", recognizes, read)]
