"""What tests and docstring examples of fitted models share."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import alikely as al


@pytest.fixture(scope="session")
def cohort_tree() -> Any:
    """One fit of the cohort model: compiling takes longer than all that is done with it."""
    return al.fit_cohort(al.load_example().select(condition=["blur", "noise"]), rng=1)


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Keep a figure that a study found, to be shown when all tests have run."""
    return functools.partial(record_property, "figure")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show the figures of all studies, from whichever worker they come."""
    reports = [
        report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)
    ]
    figures = [
        str(text)
        for report in reports
        if report.when == "call"
        for name, text in report.user_properties
        if name == "figure"
    ]
    if figures:
        terminalreporter.section("figures")
        for text in sorted(figures):
            terminalreporter.write_line(text)


@pytest.fixture(autouse=True)
def fitted_example(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    """Give examples that speak of a fitted tree one to work on."""
    example = getattr(request.node, "dtest", None)
    if example is not None and any(
        "tree = al.fit_cohort" in part.source for part in example.examples
    ):
        doctest_namespace["tree"] = request.getfixturevalue("cohort_tree")


@pytest.fixture(autouse=True)
def figures_closed() -> Iterator[None]:
    """Close what a test or an example has drawn: matplotlib warns of many open figures."""
    yield
    # Most draw nothing, and need not load it.
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
