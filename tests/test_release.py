"""Release files: versions agree, workflows and forms are valid and complete."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from names_page import ROOT

import alikely as al

GITHUB = ROOT / ".github"
FORMS = sorted(set(GITHUB.glob("ISSUE_TEMPLATE/*.yml")) - {GITHUB / "ISSUE_TEMPLATE/config.yml"})
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
VALID = [
    *((file, "github-workflows") for file in WORKFLOWS),
    *((file, "github-issue-forms") for file in FORMS),
    (GITHUB / "ISSUE_TEMPLATE" / "config.yml", "github-issue-config"),
    (ROOT / "CITATION.cff", "citation-file-format"),
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def workflow(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        (GITHUB / "workflows" / f"{name}.yml").read_text("utf-8")
    )
    return found["jobs"]


@pytest.mark.parametrize(("file", "schema"), VALID, ids=lambda entry: getattr(entry, "name", entry))
def test_files_follow_their_schemas(file: Path, schema: str) -> None:
    # Imported here, because every worker would spend three seconds on it.
    from check_jsonschema import main as check

    found = CliRunner().invoke(check, ["--builtin-schema", f"vendor.{schema}", str(file)])
    assert found.exit_code == 0, found.output


def test_each_python_is_tested_on_each_system() -> None:
    named = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if " :: 3." in c]
    matrix = workflow("tests")["quick"]["strategy"]["matrix"]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]
    assert workflow("wheels")["try"]["strategy"]["matrix"]["os"] == matrix["os"]


def test_workflows_run_existing_commands() -> None:
    lines = [
        step["run"]
        for file in WORKFLOWS
        for job in workflow(file.stem).values()
        for step in job["steps"]
        if "run" in step
    ]
    scripts = [path for line in lines for path in re.findall(r"^bash (\S+)", line)]
    assert sorted(scripts) == [".ci/run", "docs/build"]
    assert [path for path in scripts if not (ROOT / path).is_file()] == []


def test_the_version_is_the_same_everywhere() -> None:
    assert PROJECT["dynamic"] == ["version"]  # pyproject reads it from the package
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == al.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    latest = re.findall(r"^## \[(\d\S*)\] - (\S+)$", changes, re.MULTILINE)[0]
    assert latest == (al.__version__, str(cited["date-released"]))
    page = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    assert set(re.findall(r"[Vv]ersion\W+(\d+\.\d+\.\d+)", page)) == {al.__version__}
