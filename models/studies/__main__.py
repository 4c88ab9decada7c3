"""``python -m studies``: run the studies, and write the files of models that they produce."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import joblib
from cyclopts import App, CycloptsError

from alikely._base.files import write_figure
from alikely._base.parallel import at_most
from studies import pages
from studies.benchmarks import BENCHMARKS, COHORTS, ORDERS
from studies.cards import (
    RANKS,
    calibration,
    case_of,
    is_of,
    keep_ranks,
    redescribe,
    reference,
    write,
)
from studies.case import DEFAULT
from studies.clusters import CLUSTER_NOTES, CLUSTERS, INDEPENDENCE
from studies.error_patterns import AGREEMENT, EQUAL_ROWS, SIMILARITY, STATEMENTS
from studies.families import BRANCHES, FAMILIES, JUDGES
from studies.items import ITEMS
from studies.margins import MARGINS

STUDIES = {
    study.name: study
    for study in (
        AGREEMENT, BENCHMARKS, BRANCHES, CLUSTER_NOTES, CLUSTERS, COHORTS, EQUAL_ROWS, FAMILIES,
        INDEPENDENCE, ITEMS, JUDGES, MARGINS, ORDERS, SIMILARITY, STATEMENTS,
    )
}  # fmt: skip
CATALOG, DOCS = Path("models"), Path("docs")
app = App(name="python -m studies", help=__doc__, result_action="return_value")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command: 0 on success, 1 if a calibration fails, 2 for bad input."""
    try:
        done = app(arguments, exit_on_error=False, print_error=False)
    except (ValueError, CycloptsError) as error:
        print(f"alikely: {error}", file=sys.stderr)
        return 2
    return int(done or 0)


@app.command
def run(
    name: str, *, branch: str = DEFAULT, simulations: int | None = None,
    jobs: int = joblib.cpu_count(), seed: int = 1, work: Path | None = None,
    catalog: Path = CATALOG,
) -> int:  # fmt: skip
    """Calibrate a generative model, and write its evidence, figures, graph and page.

    Parameters
    ----------
    name
        Name of the model, as in alikely.models.
    branch
        Another form of the model, listed in its case.
    simulations
        Number of simulations. Default: as in its case.
    jobs
        Number of processes.
    seed
        Random seed of all simulations.
    work
        Folder for finished parts, from which an interrupted run resumes.
    catalog
        Folder of all generative models.
    """
    case, cache_dir = case_of(name, branch), _folder(catalog, name)
    if simulations is not None and simulations < 2:
        raise ValueError(f"--simulations must be at least 2, got {simulations}")
    path = cache_dir / "calibration.json"
    kept = json.loads(path.read_text()) if path.is_file() else {}
    if branch != DEFAULT and not kept:
        raise ValueError(f"{cache_dir} has no {path.name}; first run python -m studies run {name}")
    # The figures on the page need matplotlib; the results do not.
    from alikely.plots.calibration import plot_calibration

    # Processes, because interpreted models hold the interpreter lock.
    backend = joblib.parallel_config(backend="loky") if jobs > 1 else contextlib.nullcontext()
    with at_most(jobs), backend:
        found, ranks = calibration(name, simulations, work, seed, branch)
    branches = kept.get("branches", {})
    if branch == DEFAULT:
        evidence = found | {"branches": branches}
        for kind in ("ranks", "recovery"):
            write_figure(
                plot_calibration(ranks, kind)[0].figure, cache_dir / f"{kind}.png", dpi=110
            )
        long = cache_dir / "reference.json"
        if not long.is_file() or not is_of(json.loads(long.read_text()), name):
            write(long, reference(name))
        redescribe(cache_dir, name, case.example())
    else:
        branches[branch] = found
        order = [b for b in case_of(name).branches if b in branches]
        evidence = kept | {"branches": {b: branches[b] for b in order}}
    keep_ranks(cache_dir / RANKS, branch, ranks)
    write(path, evidence)
    pages.update(cache_dir / "README.md", catalog)
    outside = ", ".join(found["outside_alone"]) or "none"
    print(
        f"{name}, {branch}: {'passed' if found['passed'] else 'NOT passed'}; "
        f"{found['n_simulations']} simulations, with divergences "
        f"{found['divergences']['simulations']}, outside the band for one quantity: {outside}"
    )
    return 0 if found["passed"] else 1


@app.command
def study(
    name: str, *, scenario: list[str] | None = None, datasets: int | None = None, seed: int = 1,
    work: Path | None = None,
) -> None:  # fmt: skip
    """Print the table of a study of intervals, for some scenarios or all."""
    of = STUDIES[_one_of(name, STUDIES)]
    rows = of.run(datasets, scenario, cache_dir=work, rng=seed)
    print(of.summary(rows).to_csv(index=False), end="")


@app.command
def table(name: str, *, seed: int = 1, work: Path | None = None, catalog: Path = CATALOG) -> None:
    """Run the studies of a stored table, which takes hours."""
    pages.store(_one_of(name, pages.TABLES), _checked(catalog), work, seed)


@app.command(name="pages")
def update_pages(*, catalog: Path = CATALOG, docs: Path = DOCS) -> None:
    """Write the generated parts of pages from stored results."""
    catalog = _checked(catalog)
    for page in [*sorted(catalog.rglob("README.md")), *sorted(docs.rglob("*.md"))]:
        pages.update(page, catalog)


def _one_of(name: str, known: Iterable[str]) -> str:
    if name not in known:
        raise ValueError(f"name must be one of {', '.join(known)}; got {name!r}")
    return name


def _folder(catalog: Path, name: str) -> Path:
    """Folder of a model's page, which must exist."""
    case_of(name)
    cache_dir = _checked(catalog) / name
    for file in ("README.md", "model.json"):
        if not (cache_dir / file).is_file():
            raise ValueError(
                f"{cache_dir} has no {file}; write it first, like those of other models"
            )
    return cache_dir


def _checked(catalog: Path) -> Path:
    if not catalog.is_dir():
        raise ValueError(
            f"{catalog} is not a folder; expected the folder of all models: call this from the "
            "folder that contains models/, or use --catalog"
        )
    return catalog


if __name__ == "__main__":
    sys.exit(main())
