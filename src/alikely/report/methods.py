"""Document how numbers were computed: a paragraph on methods, versions and references."""

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
from alikely.benchmark.benchmark import dataset_names, is_analytic, model_names
from alikely.estimates.matrices import place_dim
from alikely.estimates.result import Result
from alikely.report.blocks import Block, Code, Section, Text, table_of
from alikely.report.sentences import capital, interval_words, method_words, null_words

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
    """References of the analyses without duplicates, starting with those of the metrics."""
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
        elif result.kind == "reader":
            names += SCORES[1:4]
    known = references()
    found = [known.get(name) or _unknown(name) for name in dict.fromkeys(names)]
    return list(dict.fromkeys(found))


def _unknown(doi: str) -> Reference:
    key = re.sub(r"\W", "", doi)
    return Reference(key, f"doi:{doi}.", doi, f"@misc{{{key},\n  doi = {{{doi}}}\n}}")


def software() -> Reference:
    """Reference of the package itself."""
    version = versions()["alikely"]
    title = "alikely: similarity of errors between observers, with uncertainty"
    text = f"The alikely contributors. {title}. Version {version}."
    bibtex = (
        f"@software{{alikely,\n  author = {{{{The alikely contributors}}}},\n  title = {{{title}}},"
        f"\n  version = {{{version}}}\n}}"
    )
    return Reference("alikely", text, "", bibtex)


def methods_section(results: list[Result]) -> Section:
    """Describe how the numbers in the report were computed."""
    blocks: list[Block] = [Text(_methods(result)) for result in results]
    seeds = dict.fromkeys(str(r.data.attrs["seed"]) for r in results if "seed" in r.data.attrs)
    said = "The analysis uses no random numbers."
    if seeds:
        said = f"Random seed{'s' * (len(seeds) > 1)}: {', '.join(seeds)}. The same seed gives the "
        said += "same numbers with any number of parallel workers."
    blocks.append(Text(said))
    return Section("How the numbers were computed", blocks)


def references_section(results: list[Result]) -> Section:
    """Versions, and references to copy."""
    entries = [*cited(results), software()]
    bibtex = Code("\n\n".join(entry.bibtex for entry in entries) + "\n", "BibTeX")
    return Section("References", [_versions(results), References(entries), bibtex], open=False)


@dataclasses.dataclass(frozen=True)
class References(Block):
    """A list of references."""

    entries: list[Reference]


def _methods(result: Result) -> str:
    of_kind = {
        "reader": _of_readers, "pair": _of_pairs, "matrix": _of_matrix, "model": _of_scores,
        "tree": _of_tree, "regression": _of_regression,
    }  # fmt: skip
    if result.kind != "model" or is_analytic(result):
        return of_kind[result.kind](result)
    n = len(result.draws("posterior"))
    return (
        f"Scores are mean {result.metric.label} over the pairs and conditions of one analysis, "
        f"computed for each of {counted(n, 'joint posterior draw')}."
    )


def _missing(attrs: Mapping[Any, Any]) -> str:
    taken = {"error": "were counted as errors", "drop": "were excluded"}
    found = taken.get(str(attrs.get("no_response")), "")
    return f" Missing responses {found}." if found else ""


def _of_readers(study: Result) -> str:
    """Reader studies: what is averaged, and both components of the variance."""
    attrs = study.data.attrs
    unit = f"clusters of cases ({attrs['cluster']})" if attrs.get("cluster") else "cases"
    return (
        f"Means of {study.metric.label} over readers were computed in each condition."
        f"{_missing(attrs)} Analytic {percent(study.interval_options(None, None)[0])} intervals "
        f"treat readers and {unit} as random. The variance over readers is estimated by the "
        "jackknife, and the variance over cases from influence functions. Quantiles are those of "
        "Student's t distribution with Satterthwaite's degrees of freedom."
    )


def _of_pairs(result: Result) -> str:
    """Pairs: what was counted, and the methods of intervals and tests."""
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
    text += f" Intervals: {'; '.join(said)}. Analytic intervals are based on influence functions."
    simulated = "p_null" in result.estimates
    if simulated:
        text += (
            f" The independence of errors was tested with {null_words(result)}. "
            "The p-values of this test were adjusted for all estimates (Benjamini and Hochberg)."
        )
    if "p_fisher" in result.estimates:
        text += f" Independence was {'also ' * simulated}tested with Fisher's exact test."
    if "log_bf10" in result.estimates:
        text += (
            " Bayes factors compare the hypotheses of associated errors and of independent errors."
        )
    return text


def _of_scores(scores: Result) -> str:
    """Scores: what is averaged, what is resampled, and how."""
    attrs = scores.data.attrs
    prob, _ = scores.interval_options(None, None)
    text = (
        f"The score of a model is its mean {scores.metric.label} with the humans, averaged over "
        "conditions, then humans, then data sets that have models "
        f"({counted(len(model_names(scores)), 'model')}, "
        f"{counted(len(dataset_names(scores)), 'data set')}).{_missing(attrs)}"
    )
    if attrs.get("exclude"):
        text += f" Conditions were excluded: {attrs['exclude']}."
    text += (
        f" Analytic {percent(prob)} intervals for new images and new humans use two variance "
        "components: images (influence functions) and humans (jackknife). Analytic intervals are "
        "Student's t intervals with the smaller of Satterthwaite's and Howe's degrees of freedom."
    )
    if "posterior" in scores.data.children:
        n = len(scores.draws("posterior"))
        text += f" The posterior ({counted(n, 'draw')}) generalizes only to new images."
    return (
        f"{text} Differences between models are tested individually, and with adjustment for all "
        "differences (studentized range). Confidence sets of ranks are simultaneous. A "
        "ceiling-normalized score is the score divided by the human-human consistency; intervals "
        "for ceiling-normalized scores are based on Fieller's theorem."
    )


def _of_matrix(matrix: Result) -> str:
    n = len(matrix.observers)
    where = f" within each {place_dim(matrix)}" if place_dim(matrix) else ""
    posterior = "posterior_lower" in matrix.estimates
    limits = "; posterior intervals are computed from counts, without draws" if posterior else ""
    return (
        f"{capital(matrix.metric.label)} of all {counted(n * (n - 1) // 2, 'pair')} of {n:,} "
        f"observers was computed{where}.{_missing(matrix.data.attrs)} Standard errors are "
        f"based on influence functions{limits}."
    )


def _of_tree(tree: Result) -> str:
    return (
        f"{len(tree.observers):,} observers were clustered by average linkage of "
        f"{tree.metric.label}. The support of a branch is the proportion of "
        f"{counted(int(tree.data.attrs['n_resamples']), 'bootstrap replicate')} in which the same "
        "observers form a branch."
    )


def _of_regression(result: Result) -> str:
    n_pairs, n_draws = result.estimates.sizes["pair"], result.data["posterior"].sizes["draw"]
    return (
        f"The {result.metric.label} of {counted(n_pairs, 'pair')} was regressed on "
        "membership in the same family and on the accuracies of both observers, with random "
        "effects of observers and families "
        f"({counted(n_draws, 'posterior draw')} by importance sampling)."
    )


def _versions(results: list[Result]) -> Block:
    made = {str(r.data.attrs["alikely_version"]) for r in results}
    here = versions()
    table = pd.DataFrame({"software": list(here), "version": list(here.values())})
    other = made - {here["alikely"]}
    text = "Versions of the software that made this page."
    if other:
        text += f" The analysis was performed with alikely {', '.join(sorted(other))}."
    return table_of(table, text, folded=True)
