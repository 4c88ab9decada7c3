"""Missing responses: defaults for responses and for ratings, and a note with the number."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import alikely as al

FEW: dict[str, Any] = {"n_resamples": 0, "n_draws": 0}
# Missing ratings are no errors, so only these functions exclude them by default.
READINGS = {"agreement", "reader_study"}
QUICK = {"misclassification_agreement", "benchmark_scores", "agreement"}


CALLS: dict[str, Callable[..., Any]] = {
    "error_consistency": lambda t, **o: al.error_consistency(t, **FEW, **o),
    "misclassification_agreement": lambda t, **o: al.misclassification_agreement(t, **FEW, **o),
    "error_similarity": lambda t, **o: al.error_similarity(t, **FEW, **o),
    "matrix": lambda t, **o: al.pairwise_matrix(t, **o),
    "benchmark_scores": lambda t, **o: al.benchmark_scores(t, **FEW, **o),
    "group_scores": lambda t, **o: al.benchmark.group_scores(t, "kind", **FEW, **o),
    "agreement": lambda t, **o: al.agreement(t, **FEW, **o),
    "reader_study": lambda t, **o: al.benchmark.differences(al.benchmark.reader_study(t, **o)),
    "variance_components": lambda t, **o: al.planning.variance_components(t, **o),
    "difficulty_spectrum": lambda t, **o: al.difficulty_spectrum(t, "clean", **o),
    "condition_alignment": lambda t, **o: al.spectrum.alignment_table(
        al.condition_alignment(t, n_resamples=9, **o)
    ),
    "condition_divergences": lambda t, **o: al.errors.condition_divergences(t, kind="human", **o),
}


def _notes(found: Any) -> list[str]:
    """Return the notes of all rows of a table or result, or its single note."""
    found = found.summary() if isinstance(found, al.Result) else found
    return list(found["note"]) if "note" in found else [found.attrs["missing_note"]]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    """Six observers of the example; each human answered all but 30 trials."""
    names = [f"human_{k}" for k in range(1, 5)] + ["model_1", "model_2"]
    table = al.load_example().select(condition=["clean", "noise"], observer=names).to_table()
    table["response"] = table["response"].fillna("class_00")
    for name in table.loc[table["kind"] == "human", "observer"].unique():
        rows = table.index[table["observer"] == name]
        table.loc[np.random.default_rng(1).choice(rows, 30, replace=False), "response"] = None
    return table


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CALLS],
)
def test_a_note_reports_the_number_and_its_treatment(name: str, table: pd.DataFrame) -> None:
    trials = al.Trials.from_table(table)
    alone = {"reader_study", "difficulty_spectrum", "condition_divergences"}
    n_shown = int((table["kind"] == "human").sum()) if name in alone else len(table)
    said = f"120 of {n_shown:,} responses are missing and "
    counted = "count as a class" if name.startswith("agreement") else "count as errors"
    options = {"error": f'{counted}. Pass no_response="drop" to exclude them', "drop": "are exclu"}
    if name == "variance_components":
        del options["drop"]  # all observers must have answered the same trials
    for option, treated in options.items():
        notes = _notes(CALLS[name](trials, no_response=option))
        assert any(said + treated in note for note in notes), notes
    whole = al.Trials.from_table(table.assign(response=table["response"].fillna("class_00")))
    assert not any("missing" in note for note in _notes(CALLS[name](whole)))


def test_the_default_differs_for_ratings_only() -> None:
    found = {}
    for subject in (al, al.benchmark, al.data, al.errors, al.estimates, al.margins, al.planning,
                    al.spectrum):  # fmt: skip
        for name in subject.__all__:
            one = getattr(subject, name)
            if inspect.isfunction(one) and "no_response" in inspect.signature(one).parameters:
                found[name] = inspect.signature(one).parameters["no_response"].default
                assert "no_response" in (one.__doc__ or ""), name
    assert len(found) > 15
    assert {name for name, default in found.items() if default == "drop"} == READINGS
    assert set(found.values()) == {"error", "drop"}
