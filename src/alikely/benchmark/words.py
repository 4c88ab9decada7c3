"""Sentences on scores, their differences, ranks and ceilings, from templates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alikely._base.intervals import CiKind, bound_names, percent
from alikely._base.names import counted, number, p_number, p_words
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population
from alikely.benchmark.levels import (
    dataset_names,
    is_analytic,
    level_draws,
    model_names,
)
from alikely.benchmark.tables import (
    drawn_methods,
    is_plug_in,
    levels_met,
    not_valid,
    too_few_humans,
)
from alikely.estimates.result import Result
from alikely.estimates.sentences import (
    Phrases,
    capital,
    cautions,
    population_words,
)

__all__ = [
    "SPEAKS",
    "Phrases",
    "difference_sentence",
    "judged",
    "score_sentence",
]

# Populations that intervals generalize to, and what is fixed.
SPEAKS: dict[Population, str] = {
    "images": "new images and these humans (humans and models fixed)",
    "observers": "new humans and these images (humans random; images and models fixed)",
    "both": "new images and new humans (both random; models fixed)",
}
TEMPLATES = {
    "none": "{label} with {reference}{where} is undefined for all {n}.",
    "one": "The {label} of {system} with {reference}{where} was {reached}.",
    "range": "{label} of {over} with {reference}{where} ranged from {least} to {most}.",
    "humans": "The human-human mean was {reached}.",
    "intervals": "The intervals ({method}; {ground}) generalize to {generalize_to}; they are not "
    "adjusted for multiple comparisons.",
    "difference": "The difference between the models {differs} significantly from 0 ({prob} "
    "interval).",
    "differences": "{n} of {of:,} differences between models {differ} significantly from 0 "
    "(simultaneous {prob} intervals).",
    "identical": "{head}: the responses are identical, so there is no difference to test.",
    "verdict": "{head}: {difference}, {tested}. The interval generalizes to {generalize_to}; "
    "without adjustment, the difference {differs} significantly from 0.",
    "adjusted": " After adjustment for all {n} differences, it {differs} significantly from 0 "
    "({tested}).",
    "above": " The posterior probability that it is positive is {p}",
    "undecided": "; this depends mainly on the prior, because no difference is significant after "
    "adjustment",
}


def _speaks(scores: Result, generalize_to: Population) -> str:
    """Population that intervals generalize to, with new clusters where these are resampled."""
    cluster = scores.data.attrs.get("cluster", "")
    new = f"new clusters of images ({cluster})" if cluster else "new images"
    return SPEAKS[generalize_to].replace("new images", new)


def judged(scores: Result, frame: pd.DataFrame, generalize_to: Population, level: str) -> bool:
    """Whether a sentence reports the number of significant differences."""
    if is_analytic(scores):
        few = too_few_humans(scores, generalize_to, level)
        valid = not is_plug_in(scores.metric) and not few
    else:
        valid = bool(scores.data.attrs["joint"])
    models = frame["system"].isin(model_names(scores))
    return valid and int(frame.loc[models, "estimate"].notna().sum()) > 1


def score_sentence(
    scores: Result,
    frame: pd.DataFrame,
    say: Phrases,
    generalize_to: Population,
    level: str,
    differences: pd.DataFrame | None,
) -> str:
    """Write the scores of a benchmark as a sentence."""
    method, prob = say.method, say.prob
    models = frame[frame["system"].isin(model_names(scores))]
    attrs = scores.data.attrs
    few = too_few_humans(scores, generalize_to, level) if is_analytic(scores) else ""
    if is_analytic(scores):
        n_humans, fewest, n_images = _behind(scores, level)
        parts = [_scores(say, models, counted(n_humans, "human"), _where(scores, level))]
        known = frame[frame["estimate"].notna()].set_index("system")
        # The reference: humans paired with models, if there are any.
        for name in [name for name in (CEILING, HUMANS) if name in known.index][:1]:
            parts.append(TEMPLATES["humans"].format(reached=_reached(say, known.loc[name])))
        ground = _images_words(scores, level, n_humans, fewest, n_images)
        target = _speaks(scores, generalize_to)
    else:
        parts = [_scores(say, models, str(attrs["reference"]), _where(scores, level))]
        entries = [int(models["n_entries"].min()), int(models["n_entries"].max())]
        fewest_entries = "" if entries[0] == entries[1] else f"{entries[0]} to "
        ground = f"{fewest_entries}{counted(entries[1], 'comparison')} of the result"
        ground += " each" if len(models) > 1 else ""
        target = population_words(scores.metric, "posterior", attrs)
    # Two humans do not generalize to others, so there are no intervals to describe.
    if method and not few:
        how = _method(scores, method, generalize_to, say.kind)
        if method == "analytic" and not np.allclose(models["interval_center"], models["estimate"]):
            how += ", with pseudocounts in the cells of each pair"
        parts.append(TEMPLATES["intervals"].format(method=how, ground=ground, generalize_to=target))
    if differences is not None:
        lower, upper = (differences[name] for name in bound_names("simultaneous", "ci", prob))
        parts.append(_told(int(((lower > 0) | (upper < 0)).sum()), lower.notna().sum(), prob))
    parts.append(cautions(models["note"], "models"))
    return " ".join(filter(None, parts))


def _reached(say: Phrases, row: pd.Series) -> str:
    """Write a score with its interval."""
    return ", ".join(filter(None, [say.value(row["estimate"]), say.interval(row)]))


def _scores(say: Phrases, models: pd.DataFrame, reference: str, where: str) -> str:
    """Write the score of one model, or the extremes of several."""
    defined = models[models["estimate"].notna()]
    n = counted(len(models), "model")
    known: dict[str, Any] = {
        "label": say.metric.label, "reference": reference, "where": where, "n": n,
    }  # fmt: skip
    if not len(defined):
        return capital(TEMPLATES["none"].format(**known))
    if len(models) == 1:
        row = defined.iloc[0]
        return TEMPLATES["one"].format(**known, system=row["system"], reached=_reached(say, row))
    ends = [
        f"{say.value(row['estimate'])} "
        f"({'; '.join(filter(None, [row['system'], say.interval(row)]))})"
        for row in (
            defined.loc[defined["estimate"].idxmin()],
            defined.loc[defined["estimate"].idxmax()],
        )
    ]
    over = f"{n} ({len(defined)} with a score)" if len(defined) < len(models) else n
    return capital(TEMPLATES["range"].format(**known, over=over, least=ends[0], most=ends[1]))


def _images_words(scores: Result, level: str, n_humans: int, fewest: int, n_images: int) -> str:
    """Write the images and humans that scores are based on."""
    ground = counted(n_images, "image")
    if level == OVERALL and len(levels_met(scores)) > 1:
        # Over all levels, the number is their sum.
        ground += ", the sum over data sets of the mean number in a condition"
        ground += "," if fewest < n_humans else ""
    else:
        ground += " per condition on average"
    if fewest < n_humans:
        ground += f" and at least {counted(fewest, 'human')} in each"
    return ground


def _method(scores: Result, method: str, generalize_to: Population, kind: CiKind) -> str:
    """Write how the interval of a method was computed."""
    if method == "analytic":
        return "analytic, Student's t"
    own, variable = next(
        (own, variable) for own, variable in drawn_methods(scores, generalize_to).items()
        if own == method
    )  # fmt: skip
    n = len(level_draws(scores, own, variable))
    if method == "bootstrap":
        name = "bootstrap" if kind == "hdi" else "percentile bootstrap"
        return f"{name}, {counted(n, 'replicate')}"
    name = "posterior"
    if model := str(scores.data.attrs.get("model", "")).replace("_", " "):
        name += f" of the generative model '{model}'"
    return f"{name}, {'equal-tailed, ' if kind == 'eti' else ''}{counted(n, 'draw')}"


def _where(scores: Result, level: str) -> str:
    """Write the data set of a level, or the number of data sets averaged."""
    if level != OVERALL:
        return f" in {level}"
    n = len(dataset_names(scores))
    if n < 2:
        return ""
    met = levels_met(scores)
    if len(met) == n:
        return f" (means over {n} data sets)"
    if len(met) == 1:
        return f" (in {met[0]}, the only one of {n} data sets with models)"
    return f" (means over the {len(met)} of {n} data sets with models)"


def _behind(scores: Result, level: str) -> tuple[int, int, int]:
    """Humans paired with models, the fewest in any part, and images per condition."""
    at = scores.estimates.sel(level=level)
    own = levels_met(scores) if level == OVERALL else []
    if not own or len(own) == len(dataset_names(scores)):
        return int(at["n_humans"]), int(at["fewest_humans"]), int(at["n_images"])
    parts = scores.estimates.sel(level=own)
    images = int(parts["n_images"].sum())
    return int(at["n_humans_paired"]), int(parts["fewest_humans"].min()), images


def _told(n: int, of: int, prob: float) -> str:
    """Write the number of significant differences after adjustment; empty if none is possible."""
    if not of:
        return ""
    if of == 1:
        differs = "differs" if n else "does not differ"
        return TEMPLATES["difference"].format(differs=differs, prob=percent(prob))
    differ = "differ" if n > 1 else "differs"
    return TEMPLATES["differences"].format(of=of, n=n or "None", differ=differ, prob=percent(prob))


# One difference


def difference_sentence(
    scores: Result,
    row: pd.Series,
    table: pd.DataFrame,
    generalize_to: Population,
    level: str,
    prob: float,
) -> str:
    """Write one of the differences of a table with its unadjusted and adjusted tests."""
    where = "" if level == OVERALL else f" in {level}"
    head = f"{scores.metric.label} with the humans{where}, {row['system']} minus {row['other']}"
    if np.isnan(row["se"]):
        text = TEMPLATES["identical"].format(head=capital(head))
    else:
        text = TEMPLATES["verdict"].format(
            head=capital(head),
            difference=_plain(row["difference"]),
            generalize_to=_speaks(scores, generalize_to),
            **_tested(row, "p_value", "pointwise", prob),
        )
        if len(table) > 1:
            tested = _tested(row, "p_value_simultaneous", "simultaneous", prob)
            text += TEMPLATES["adjusted"].format(n=len(table), **tested)
        undecided = (table["p_value_simultaneous"].dropna() > 1 - prob).all()
        text += TEMPLATES["above"].format(p=_probability(row["prob_positive"]))
        text += f"{TEMPLATES['undecided'] if undecided else ''}."
    reason = not_valid(scores.metric)
    return f"{text} Caution: {reason}." if reason else text


def _tested(row: pd.Series, p_value: str, stem: str, prob: float) -> dict[str, str]:
    low, high = (_plain(row[name]) for name in bound_names(stem, "ci", prob))
    return {
        "differs": "differs" if row[p_value] <= 1 - prob else "does not differ",
        "tested": f"{percent(prob)} CI [{low}, {high}], {p_words('p', row[p_value])}",
    }


def _plain(value: float) -> str:
    """Write three decimals, or as many as show that a value is not 0."""
    digits = 3 if abs(value) >= 0.0005 or value == 0 else 6
    return number(value, digits)


def _probability(p: float) -> str:
    return "> 0.999" if p > 0.999 else p_number(p)
