"""What tests and docstring examples of fitted models share."""

from __future__ import annotations

from typing import Any

import pytest

import alikely as al


@pytest.fixture(scope="session")
def cohort_tree() -> Any:
    """One fit of the cohort model: compiling takes longer than all that is done with it."""
    return al.fit_cohort(al.load_example().select(condition=["blur", "noise"]), rng=1)


@pytest.fixture(autouse=True)
def fitted_example(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Give examples that speak of a fitted tree one to work on."""
    example = getattr(request.node, "dtest", None)
    if example is not None and any(
        "tree = al.fit_cohort" in part.source for part in example.examples
    ):
        doctest_namespace["tree"] = request.getfixturevalue("cohort_tree")
