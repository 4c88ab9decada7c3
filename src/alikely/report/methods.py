"""How the numbers came about: a paragraph for a methods section, versions and references."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import pandas as pd

from alikely._base.intervals import percent
from alikely._base.names import counted
from alikely._base.packages import versions
from alikely.benchmark.levels import dataset_names, is_analytic, model_names
from alikely.estimates.matrix_result import place_dim
from alikely.estimates.result import Result
from alikely.estimates.sentences import capital, interval_words, method_words
from alikely.report.blocks import Block, Code, Section, Text, table_of

__all__ = ["Reference", "cited", "methods_section", "references"]

ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^  (?P<name>\w+) = \{(?P<value>.*)\},?$", re.MULTILINE)
# Signs of TeX that names and titles here have.
ACCENTS = {r"{\"u}": "ü", r"{\"o}": "ö", r"\&": "&", "{": "", "}": ""}

# What is cited, by what an analysis has.
ANALYTIC = ("Hampel1974",)
BOOTSTRAP = ("Efron1979",)
COPY_MODEL = ("Klein2025",)
CHAINS = ("HoffmanGelman2014",)
TESTS = ("Fisher1922", "GunelDickey1974", "BenjaminiHochberg1995")
SCORES = ("Geirhos2021", "EfronStein1981", "Cameron2011", "Satterthwaite1946", "Howe1974")
DIFFERENCES = ("Tukey1949", "Morris1983", "BenjaminiHochberg1995")
RANKS = ("Mogstad2024",)
CEILINGS = ("Nili2014", "Fieller1954")


class Reference(NamedTuple):
    """An entry of the bibliography."""

    key: str
    text: str
    doi: str
    bibtex: str


@cache
def references() -> dict[str, Reference]:
    """The bibliography that comes with the package, by key and by DOI."""
    text = files("alikely.report").joinpath("page", "references.bib").read_text("utf-8")
    found: dict[str, Reference] = {}
    for entry in ENTRY.finditer(text):
        fields = {name: _plain(value) for name, value in FIELD.findall(entry["fields"])}
        authors = [name.split(",")[0] for name in fields["author"].split(" and ")]
        place = " ".join(
            filter(None, [fields.get("journal") or fields.get("booktitle"), fields.get("volume")])
        )
        said = f"{', '.join(authors)} ({fields['year']}). {fields['title']}."
        said += f" {place}." if place else ""
        doi = fields.get("doi", "")
        own = Reference(entry["key"], said, doi, entry[0])
        found |= {name: own for name in (entry["key"], doi) if name}
    return found


def _plain(text: str) -> str:
    for tex, letter in ACCENTS.items():
        text = text.replace(tex, letter)
    return text


def cited(results: list[Result]) -> list[Reference]:
    """Sources of the analyses, each once: the metric's sources first."""
    names: list[str] = []
    for result in results:
        names += result.metric.sources
    for result in results:
        groups = result.data.children
        names += ANALYTIC
        names += BOOTSTRAP if "bootstrap" in groups else ()
        if result.kind == "pair":
            names += COPY_MODEL if "copying" in str(result.data.attrs.get("model")) else ()
            names += CHAINS if result.data.attrs.get("sampler") == "nuts" else ()
            names += TESTS if "p_null" in result.estimates else ()
        elif result.kind == "matrix":
            names += TESTS[::2] if "p_adjusted" in result.estimates else ()
        elif result.kind == "model":
            names += SCORES + DIFFERENCES if is_analytic(result) else ()
            names += RANKS
            names += CEILINGS if is_analytic(result) else ()
    known = references()
    found = [known.get(name) or _unknown(name) for name in dict.fromkeys(names)]
    return list(dict.fromkeys(found))


def _unknown(doi: str) -> Reference:
    key = re.sub(r"\W", "", doi)
    return Reference(key, f"doi:{doi}.", doi, f"@misc{{{key},\n  doi = {{{doi}}}\n}}")


def software() -> Reference:
    """The package itself, to be cited."""
    version = versions()["alikely"]
    title = "alikely: similarity of errors between observers, with uncertainty"
    text = f"The alikely contributors. {title}. Version {version}."
    bibtex = (
        f"@software{{alikely,\n  author = {{{{The alikely contributors}}}},\n  title = {{{title}}},"
        f"\n  version = {{{version}}}\n}}"
    )
    return Reference("alikely", text, "", bibtex)


def methods_section(results: list[Result]) -> Section:
    """The paragraph with its numbers, versions, and references to copy."""
    blocks: list[Block] = [Text(_methods(result)) for result in results]
    blocks.append(Text(_seeds(results)))
    blocks.append(_versions(results))
    entries = [*cited(results), software()]
    blocks.append(References(entries))
    blocks.append(Code("\n\n".join(entry.bibtex for entry in entries) + "\n", "BibTeX"))
    return Section("Methods and references", blocks, open=False)


@dataclasses.dataclass(frozen=True)
class References(Block):
    """A list of references."""

    entries: list[Reference]


def _methods(result: Result) -> str:
    if result.kind == "pair":
        return _of_pairs(result)
    if result.kind == "matrix":
        return _of_matrix(result)
    if result.kind == "model" and is_analytic(result):
        return _of_scores(result)
    draws = result.data["posterior"].to_dataset()["score"]
    n = draws.sizes["chain"] * draws.sizes["draw"]
    return (
        f"Scores of {result.metric.label} are means of entries of one analysis, by "
        f"{counted(n, 'joint posterior draw')}."
    )


def _missing(attrs: Mapping[Any, Any]) -> str:
    taken = {"error": "counted as an error", "drop": "was left out of the pair"}
    found = taken.get(str(attrs.get("no_response")), "")
    return f" A missing response {found}." if found else ""


def _of_pairs(result: Result) -> str:
    """Pairs: what was counted, and how each interval and test came about."""
    attrs = dict(result.data.attrs) | result.table.attrs
    prob, kind = result.interval_options(None, None)
    pairs = result.pairs
    n_pairs = len(pairs.drop_duplicates(["observer_a", "observer_b"]))
    within = {
        "condition": " within each condition of each data set",
        "dataset": " within each data set",
    }
    text = (
        f"{capital(result.metric.label)} of {counted(n_pairs, 'pair')} of observers was computed"
        f"{within.get(str(attrs.get('by')), '')} ({counted(len(pairs), 'estimate')})."
        f"{_missing(attrs)}"
    )
    methods = ["analytic", *(name for name in ("bootstrap", "posterior")
                             if name in result.data.children or
                             (name == "posterior" and result.without_draws))]  # fmt: skip
    said = [
        f"{method_words(result, method, kind)} ({interval_words(method, kind, prob)})"
        for method in methods
    ]
    text += f" Intervals: {'; '.join(said)}. Analytic intervals are of influence functions."
    if "p_null" in result.estimates:
        n = int(attrs.get("n_null", 0))
        of = f"{n:,} simulated tables" if n else "simulated tables"
        text += (
            f" Independence was tested by {of} of independent observers of the same accuracies, "
            "adjusted over all estimates by Benjamini and Hochberg, and by Fisher's exact test; "
            "Bayes factors are of association against independence."
        )
    return text


def _of_scores(scores: Result) -> str:
    """Scores: what is averaged, what is resampled, and how."""
    attrs = scores.data.attrs
    prob, _ = scores.interval_options(None, None)
    text = (
        f"Scores are means of {scores.metric.label} of a model with each human, over conditions, "
        f"then humans, then those data sets that have models "
        f"({counted(len(model_names(scores)), 'model')}; "
        f"{counted(len(dataset_names(scores)), 'data set')} in all).{_missing(attrs)}"
    )
    if attrs.get("exclude"):
        text += f" Conditions of {attrs['exclude']!r} were left out."
    text += (
        f" Analytic {percent(prob)} intervals of new images and new humans decompose the variance "
        "into both (jackknife over humans, influence functions of images), with Student's "
        "quantiles and the fewer degrees of freedom of Satterthwaite's and Howe's"
    )
    if "bootstrap" in scores.data.children:
        n = scores.data["bootstrap"].to_dataset().sizes["resample"]
        text += f"; the bootstrap has {counted(n, 'replicate')}"
    if "posterior" in scores.data.children:
        n = len(scores.draws("posterior"))
        text += f", the posterior (new images, these humans) {counted(n, 'draw')}"
    return (
        f"{text}. Differences are judged one by one and, by the studentised range, all at once; "
        "sets of ranks hold all true ranks at once; shares of the ceiling have Fieller's intervals."
    )


def _of_matrix(matrix: Result) -> str:
    n = len(matrix.observers)
    where = f" within each {place_dim(matrix)}" if place_dim(matrix) else ""
    posterior = "posterior_lower" in matrix.estimates
    limits = "; posterior limits come from the counts alone, without draws" if posterior else ""
    return (
        f"{capital(matrix.metric.label)} of all {counted(n * (n - 1) // 2, 'pair')} of {n:,} "
        f"observers was computed{where}.{_missing(matrix.data.attrs)} Standard errors are "
        f"of influence functions{limits}."
    )


def _seeds(results: list[Result]) -> str:
    seeds = dict.fromkeys(str(r.data.attrs["seed"]) for r in results if "seed" in r.data.attrs)
    if not seeds:
        return "No random numbers were needed."
    many = "s" if len(seeds) > 1 else ""
    return (
        f"Seed{many} {', '.join(seeds)}: the same gives the same numbers, on any number of cores."
    )


def _versions(results: list[Result]) -> Block:
    made = {str(r.data.attrs["alikely_version"]) for r in results}
    here = versions()
    table = pd.DataFrame({"software": list(here), "version": list(here.values())})
    other = made - {here["alikely"]}
    text = "Versions with which this page was made."
    if other:
        text += f" The analysis itself is of alikely {', '.join(sorted(other))}."
    return table_of(table, text, folded=True)
