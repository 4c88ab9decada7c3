"""Reports: a single self-contained HTML page."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

import jinja2
from markupsafe import Markup

from alikely._base.checks import entries
from alikely._base.files import write_file
from alikely._base.names import counted
from alikely._base.steps import step
from alikely.benchmark.groups import of_pairs
from alikely.estimates.result import Result
from alikely.report.blocks import Block, Failure, Items, Lead, Section, Text, numbered_notes
from alikely.report.data import data_section, kinds_of
from alikely.report.methods import methods_section, references_section
from alikely.report.results import parts_of

# Titles by kind of result, in the order of the page.
TITLES = {
    "reader": "Reader study: {label}",
    "model": "Models compared with humans: {label}",
    "group": "Groups of observers: {label}",
    "pair": "Pairs of observers: {label}",
    "matrix": "All pairs of observers: {label}",
    "tree": "Families of similar observers: {label}",
    "regression": "Agreement within families: {label}",
}
FIRST = list(TITLES)
# What notebooks give the page, in pixels.
HEIGHT = 640


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """Self-contained HTML page, which is displayed in notebooks.

    Attributes
    ----------
    html : str
        The page.
    title : str
    failures : tuple of str
        Figures and tables that could not be created, with the reason.

    Examples
    --------
    >>> import alikely as al
    >>> trials = al.load_example().select(condition="noise")
    >>> result = al.error_consistency(trials, "human-human", n_resamples=200, n_draws=200, rng=1)
    >>> page = result.report(title="Four humans")
    >>> page  # doctest: +ELLIPSIS
    <Report 'Four humans': ... figures, 0.1 MB>
    """

    html: str
    title: str
    failures: tuple[str, ...] = ()

    def save(self, path: str | Path) -> None:
        """Write the page to a file.

        Parameters
        ----------
        path : str or path
            Path of the file to write. An existing file is replaced only when the new file is
            complete.

        Raises
        ------
        ValueError
            If the path exists but is not a file.
        OSError
            If the file cannot be written.
        """
        write_file(path, self.html.encode("utf-8", "replace"))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that its looks are not those of the notebook."""
        return (
            f'<iframe sandbox="allow-scripts" style="width: 100%; height: {HEIGHT}px; border: 1px '
            f'solid #ccc" title="{html.escape(self.title)}" srcdoc="{html.escape(self.html)}">'
            "</iframe>"
        )

    def __repr__(self) -> str:
        n = self.html.count("<figure")
        size = len(self.html.encode("utf-8", "replace")) / 1e6
        lost = f", {len(self.failures)} missing" if self.failures else ""
        return f"<Report {self.title!r}: {counted(n, 'figure')}, {size:.1f} MB{lost}>"


def make_report(*results: Result, title: str | None = None, notes: Sequence[str] = ()) -> Report:
    """Create an HTML report of results.

    Parameters
    ----------
    *results : Result
        Results of one analysis, such as error consistency and benchmark scores computed from the
        same trials. If a report contains scores, differences between pairs are omitted.
    title : str, optional
    notes : sequence of str
        Paragraphs below the title.

    Returns
    -------
    Report
        Report with the findings, the main figure, notes, methods, a summary of the data,
        estimates, tests, ranks, differences, ceilings and references.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If no result is given.

    Examples
    --------
    >>> import alikely as al
    >>> scores = al.benchmark_scores(al.load_example(), n_resamples=0, n_draws=0, rng=1)
    >>> page = al.report.make_report(scores)
    >>> "<h2>Ranks</h2>" in page.html, page.failures
    (True, ())
    """
    for result in results:
        if not isinstance(result, Result):
            raise TypeError(
                f"expected results, got {type(result).__name__}; of trials, make one: "
                "al.error_consistency(trials)"
            )
    if title is not None and not isinstance(title, str):
        raise TypeError(f"title must be a text, got {type(title).__name__}")
    notes = [str(text) for text in entries("notes", notes)]
    if not results:
        raise ValueError("a report needs at least one result, such as al.error_consistency(trials)")
    shown = [of_pairs(result) if result.kind == "group" else result for result in results]
    with step("laying out the report"):
        leads: list[Block] = []
        sections: list[Section] = []
        scored = any(result.kind == "model" for result in results)
        order = sorted(results, key=lambda one: FIRST.index(one.kind))
        for result in order:
            lead, parts = parts_of(result, kinds_of(result), scored)
            leads.append(lead)
            sections += parts
        read = data_section(shown)
        labels = {result.metric.label for result in results}
        sections, found = numbered_notes(_named_apart([read, *sections], labels))
        noted = Items(found, numbered=True) if found else Text("There are no notes.")
        sections = [
            Section("Findings", leads),
            Section("What to keep in mind", [noted]),
            methods_section(shown),
            *sections,
            references_section(shown),
        ]
        heading = title or TITLES[order[0].kind].format(label=order[0].metric.label)
        blocks = [block for section in sections for block in section.blocks]
        blocks += [block.figure for block in leads if isinstance(block, Lead) and block.figure]
        failures = [f"{block.what} {block.why}" for block in blocks if isinstance(block, Failure)]
        return Report(_page(heading, notes, sections), heading, tuple(failures))


def _named_apart(sections: list[Section], labels: set[str]) -> list[Section]:
    """Give sections different titles, for links within the page; a single metric is not named."""
    seen: dict[str, int] = {}
    named = []
    for section in sections:
        title = section.title.removesuffix(f": {min(labels)}" * (len(labels) == 1))
        n = seen[title] = seen.get(title, 0) + 1
        title = title if n == 1 else f"{title} ({n})"
        named.append(Section(title, section.blocks, section.open))
    return named


def _page(title: str, notes: Sequence[str], sections: list[Section]) -> str:
    """The page; whatever it is given is escaped but for drawings and scripts of its own."""
    folder = files("alikely.report").joinpath("page")
    style, script, template = (
        folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js", "page.html")
    )
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.from_string(template).render(
        title=title, notes=notes, sections=sections, style=Markup(style),
        script=Markup(script), script_hash=f"sha256-{digest}",
    )  # fmt: skip
