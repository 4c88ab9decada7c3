"""A model of one's own, by the recipe of CONTRIBUTING: what is touched by hand, what is made."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from studies import __main__ as command
from studies.described import HEADINGS, TO_WRITE, unwritten

ROOT = Path(__file__).parents[2]
CARDS = ROOT / "models"
MOST_FILES = 5

# What somebody writes who follows the recipe; not part of the package.
MODEL = '''"""Accuracies of conditions that differ by more than chance."""

from __future__ import annotations

import numpy as np
import pymc as pm
from numpy.typing import ArrayLike

__all__ = ["accuracies"]


def accuracies(right: ArrayLike, shown: ArrayLike) -> pm.Model:
    """Right answers of one observer in several conditions, as beta-binomial counts."""
    with pm.Model(coords={"condition": range(len(np.asarray(right)))}) as model:
        right = pm.Data("right", right, dims="condition")
        shown = pm.Data("shown", shown, dims="condition")
        mean = pm.Beta("accuracy_mean", 1, 1)
        correlation = pm.Beta("correlation", 2, 5)
        pm.Deterministic("accuracy_sd", pm.math.sqrt(mean * (1 - mean) * correlation))
        size = 1 / correlation - 1
        pm.BetaBinomial(
            "observed_right",
            n=shown, alpha=mean * size, beta=(1 - mean) * size, observed=right, dims="condition",
        )
    return model
'''
CASE = '''"""Accuracies of conditions, put to the test on twelve of them."""

from __future__ import annotations

import numpy as np

from alikely import models
from studies.case import Case
from alikely.calibration.ranks import Values

SHOWN = np.full(12, 40)


def _data(truth: Values, rng: np.random.Generator) -> Values:
    size = 1 / truth["correlation"] - 1
    own = rng.beta(truth["accuracy_mean"] * size, (1 - truth["accuracy_mean"]) * size, len(SHOWN))
    return {"right": rng.binomial(SHOWN, own)}


CASE = Case(
    example=lambda: models.accuracies([30, 35, 20, 38], [40] * 4),
    design=lambda: models.accuracies(SHOWN // 2, SHOWN),
    simulate=_data,
    quantities=("accuracy_mean", "correlation", "accuracy_sd"),
    words="12 conditions of 40 trials",
    thin=5,
)
'''
STORY = {
    "Question": "How accurate is an observer, and how far do conditions differ?",
    "Story": "Each condition has an accuracy of its own; answers are right with that probability.",
    "Formulas": "`k_i ~ BetaBinomial(n_i, mu (1/r - 1), (1 - mu) (1/r - 1))`",
    "Priors, and why": "`accuracy_mean` Beta(1, 1), `correlation` Beta(2, 5): neither 0 nor 1.",
    "When not to use it": "- For conditions in an order, whose accuracy falls along it.",
    "Limits": "With one condition the prior decides on the spread.",
}
FIELDS = {
    "question": "How far do accuracies of conditions differ?",
    "when": "one observer answered several conditions",
    "references": ["10.1111/j.2517-6161.1948.tb00014.x"],
}
MEANINGS = {"right": "right answers in a condition", "shown": "answers in a condition"}


class House:
    """A copy of the repository, and which of its files were touched by hand."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.by_hand: set[str] = set()
        for folder in ("src", "models"):
            leave = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / folder, root / folder, ignore=leave)
        (root / "tests/calibration").mkdir(parents=True)
        for file in ("conftest.py", "pyproject.toml", "tests/calibration/test_catalogue.py"):
            shutil.copy(ROOT / file, root / file)
        self.before = self.files()

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file() and "__pycache__" not in path.parts
        }

    def write(self, file: str, change: Callable[[str], str]) -> None:
        path = self.root / file
        path.write_text(change(path.read_text() if path.exists() else ""))
        self.by_hand.add(file)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """The house's own Python on the copy, from its folder."""
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.root,
            env=os.environ | {"PYTHONPATH": f"{self.root / 'src'}:{self.root / 'models'}"},
            capture_output=True,
            text=True,
            check=False,
        )

    def calibration(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("-m", "studies", *words)


def story_told(card: str) -> str:
    for heading, text in STORY.items():
        card = re.sub(rf"(## {heading}\n).*?\n\n##", rf"\1{text}\n\n##", card, flags=re.DOTALL)
    return card


def fields_written(content: str) -> str:
    written = json.loads(content) | FIELDS
    for name, meaning in MEANINGS.items():
        written["data"][name]["meaning"] = meaning
    return json.dumps(written, indent=2) + "\n"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """The steps of the recipe up to the calibration."""
    house = House(tmp_path_factory.mktemp("house"))
    house.write("src/alikely/models/shares.py", lambda _: MODEL)
    house.write(
        "src/alikely/models/__init__.pyi",
        lambda text: text.replace(
            "from .cohorts", "from .shares import accuracies as accuracies\nfrom .cohorts"
        ).replace("__all__ = [\n", '__all__ = [\n    "accuracies",\n'),
    )
    house.write("models/studies/cases/accuracies.py", lambda _: CASE)
    made = house.calibration("new", "accuracies")
    assert made.returncode == 0, made.stderr
    # It says itself what is left to do.
    for part in (*(f"README.md: {heading}" for heading in STORY), "model.json: question"):
        assert part in made.stdout
    house.write("models/accuracies/README.md", story_told)
    house.write("models/accuracies/model.json", fields_written)
    return house


@pytest.mark.slow
def test_five_files_by_hand_and_contributing_names_them(house: House) -> None:
    assert len(house.by_hand) <= MOST_FILES
    recipe = (ROOT / "CONTRIBUTING.md").read_text().partition("## A new generative model")[2]
    recipe = recipe.partition("\n## ")[0]
    for file in house.by_hand:
        generic = file.replace("accuracies", "<name>").replace("shares", "<file>")
        assert f"`{generic}`" in recipe, file
    changed = {file for file, content in house.files().items() if house.before.get(file) != content}
    assert {file for file in changed if not file.startswith("models/")} <= house.by_hand
    assert house.before.keys() <= house.files().keys()


@pytest.mark.slow
def test_only_the_evidence_is_left_to_make(house: House) -> None:
    """The new card is refused for its calibration alone."""
    assert unwritten(house.root / "models/accuracies") == ["README.md: Calibration"]
    content = json.loads((house.root / "models/accuracies/model.json").read_text())
    assert content["dims"] == ["condition"]
    assert content["deterministics"] == ["accuracy_sd"]
    assert content["priors"] == {
        "accuracy_mean": "Beta(1, 1)",
        "correlation": "Beta(2, 5)",
    }
    assert content["data"]["shown"] == {"dims": ["condition"], "meaning": MEANINGS["shown"]}


@pytest.mark.slow
def test_the_recipe_to_its_end(house: House, figure: Callable[[str], None]) -> None:
    """Calibration, index and the catalogue's own tests, on the model that was added."""
    refused = house.calibration("index", "--only", "accuracies")
    assert refused.returncode == 2
    assert refused.stderr == (
        "alikely: accuracies without calibration.json; make it first, python -m "
        "studies run accuracies\n"
    )
    others = house.before["models/README.md"].decode().splitlines()
    # One process: the tests themselves fill the cores.
    made = house.calibration("run", "accuracies", "--jobs", "1")
    # Two hundred simulations pass or not; either way all is written.
    assert made.returncode in (0, 1), made.stderr
    made = house.calibration("index", "--only", "accuracies")
    assert made.returncode == 0, made.stderr
    now = (house.root / "models/README.md").read_text().splitlines()
    assert [
        line for line in now if not line.startswith(("| [accuracies]", "| accuracies "))
    ] == others
    assert sum("| accuracies | default |" in line for line in now) == 1
    line = r"\| \[accuracies\]\(accuracies/README.md\) \| How far .* 200 simulations \|"
    assert re.search(line, "\n".join(now))
    of_it = ["-k", "accuracies or every_model or changed_model", "-m", ""]
    done = house.run("-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "tests", *of_it)
    assert done.returncode == 0, done.stdout
    changed = {file for file, content in house.files().items() if house.before.get(file) != content}
    made_by_command = {
        f"models/accuracies/{file}"
        for file in (
            "calibration.json",
            "reference.json",
            "ranks.npz",
            "ranks.png",
            "recovery.png",
        )
    }
    assert changed == house.by_hand | made_by_command | {"models/README.md"}
    figure(f"a new model: {len(house.by_hand)} files by hand, {len(made_by_command) + 1} made")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["new", "copyng"], r"has no 'copyng'; did you mean copying\?; expected one of class_"),
        (
            ["run", "nothing"],
            "alikely.models has no 'nothing'; expected one of class_copying, ",
        ),
        (["new", "copying", "--catalogue", "nowhere"], "nowhere is no folder; expected that of"),
        (["new", "copying", "--catalogue", str(CARDS)], "copying has a README.md; what people"),
        (["run", "copying"], "no README.md; make it first, python -m studies new copy"),
        (["index"], "without model.json; make it first, python -m studies new class_"),
    ],
)
def test_bad_input_gets_one_line(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = [] if "--catalogue" in words else ["--catalogue", str(tmp_path)]
    assert command.main([*words, *where]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(message, line)
    assert list(tmp_path.iterdir()) == []


def test_a_model_without_a_case_is_told_where_it_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(command.CASES, "copying")
    assert command.main(["new", "copying", "--catalogue", str(tmp_path)]) == 2
    assert (
        "copying has no case; write it in models/studies/cases/copying" in capsys.readouterr().err
    )


@pytest.mark.slow
def test_the_text_of_the_index_needs_its_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue = shutil.copytree(CARDS, tmp_path / "models")
    words = ["index", "--text-only", "--catalogue", str(catalogue)]
    (catalogue / "README.md").unlink()
    assert command.main(words) == 0
    assert (catalogue / "README.md").read_text() == (CARDS / "README.md").read_text()
    (catalogue / "coverage.csv").unlink()
    assert command.main(words) == 2
    assert "has no coverage.csv; leave out --text-only, to run" in capsys.readouterr().err


def test_a_card_that_is_not_written_is_refused(tmp_path: Path) -> None:
    assert command.main(["new", "copying", "--catalogue", str(tmp_path)]) == 0
    folder = tmp_path / "copying"
    missing = unwritten(folder)
    # The graph alone is made.
    assert missing[:7] == [f"README.md: {heading}" for heading in HEADINGS[:-1]]
    assert missing[7:] == [f"model.json: {k}" for k in ("question", "when", "data", "references")]
    card = (folder / "README.md").read_text()
    assert f"| `p_a` | Beta(1, 1) | {TO_WRITE} |" in card
    (folder / "README.md").write_text(card.replace("## Limits\n", ""))
    assert "README.md: Limits" in unwritten(folder)
