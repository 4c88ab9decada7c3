"""Sentences on scores, their differences, ranks and ceilings, from templates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from alikely._base.intervals import CiKind, bound_names, percent
from alikely._base.names import counted, number, p_number, p_words
from alikely.benchmark.layout import CEILING, HUMANS, OVERALL, Population
from alikely.benchmark.levels import Level, dataset_names, level_draws, levels_met
from alikely.benchmark.tables import is_plug_in, not_valid
from alikely.estimates.sentences import (
    Phrases,
    capital,
    cautions,
    population_words,
)

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


def _speaks(at: Level) -> str:
    """Population that intervals generalize to, with new clusters where these are resampled."""
    cluster = at.scores.data.attrs.get("cluster", "")
    new = f"new clusters of images ({cluster})" if cluster else "new images"
    return SPEAKS[at.population].replace("new images", new)


def judged(at: Level, frame: pd.DataFrame) -> bool:
    """Whether a sentence reports the number of significant differences."""
    if at.analytic:
        valid = not is_plug_in(at.scores.metric) and not at.too_few_humans()
    else:
        valid = bool(at.scores.data.attrs["joint"])
    models = frame["system"].isin(at.models)
    return valid and int(frame.loc[models, "estimate"].notna().sum()) > 1


def score_sentence(
    at: Level, frame: pd.DataFrame, say: Phrases, differences: pd.DataFrame | None
) -> str:
    """Write the scores of a benchmark as a sentence."""
    method, prob, attrs = say.method, say.prob, at.scores.data.attrs
    models = frame[frame["system"].isin(at.models)]
    if at.analytic:
        n_humans, ground = _ground(at)
        parts = [_scores(say, models, counted(n_humans, "human"), _where(at))]
        known = frame[frame["estimate"].notna()].set_index("system")
        # The reference: humans paired with models, if there are any.
        for name in [name for name in (CEILING, HUMANS) if name in known.index][:1]:
            parts.append(TEMPLATES["humans"].format(reached=_reached(say, known.loc[name])))
        target = _speaks(at)
    else:
        parts = [_scores(say, models, str(attrs["reference"]), _where(at))]
        least, most = int(models["n_entries"].min()), int(models["n_entries"].max())
        ground = f"{least} to " * (least < most) + counted(most, "comparison") + " of the result"
        ground += " each" * (len(models) > 1)
        target = population_words(at.scores.metric, "posterior", attrs)
    # Two humans do not generalize to others, so there are no intervals to describe.
    if method and not at.too_few_humans():
        how = _method(at, method, say.kind)
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


def _ground(at: Level) -> tuple[int, str]:
    """Humans paired with models; and in words the images and humans that scores are based on."""
    met = levels_met(at.scores) if at.level == OVERALL else []
    n_humans, fewest, n_images = (
        int(at.at[name]) for name in ("n_humans", "fewest_humans", "n_images")
    )
    if met and len(met) < len(dataset_names(at.scores)):
        parts = at.scores.estimates.sel(level=met)
        n_humans, fewest = int(at.at["n_humans_paired"]), int(parts["fewest_humans"].min())
        n_images = int(parts["n_images"].sum())
    ground = counted(n_images, "image")
    if len(met) > 1:
        # Over all levels, the number is their sum.
        ground += ", the sum over data sets of the mean number in a condition"
        ground += "," * (fewest < n_humans)
    else:
        ground += " per condition on average"
    if fewest < n_humans:
        ground += f" and at least {counted(fewest, 'human')} in each"
    return n_humans, ground


def _method(at: Level, method: str, kind: CiKind) -> str:
    """Write how the interval of a method was computed."""
    if method == "analytic":
        return "analytic, Student's t"
    n = len(level_draws(at.scores, "posterior"))
    name = "posterior"
    if model := str(at.scores.data.attrs.get("model", "")).replace("_", " "):
        name += f" of the generative model '{model}'"
    return f"{name}, {'equal-tailed, ' * (kind == 'eti')}{counted(n, 'draw')}"


def _where(at: Level) -> str:
    """Write the data set of a level, or the number of data sets averaged."""
    n, met = len(dataset_names(at.scores)), levels_met(at.scores)
    if at.level != OVERALL:
        return f" in {at.level}"
    if n < 2:
        return ""
    if len(met) == n:
        return f" (means over {n} data sets)"
    if len(met) == 1:
        return f" (in {met[0]}, the only one of {n} data sets with models)"
    return f" (means over the {len(met)} of {n} data sets with models)"


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


def difference_sentence(at: Level, row: pd.Series, table: pd.DataFrame, prob: float) -> str:
    """Write one of the differences of a table with its unadjusted and adjusted tests."""
    where, metric = "" if at.level == OVERALL else f" in {at.level}", at.scores.metric
    head = f"{metric.label} with the humans{where}, {row['system']} minus {row['other']}"
    if np.isnan(row["se"]):
        text = TEMPLATES["identical"].format(head=capital(head))
    else:
        text = TEMPLATES["verdict"].format(
            head=capital(head),
            difference=_plain(row["difference"]),
            generalize_to=_speaks(at),
            **_tested(row, "p_value", "pointwise", prob),
        )
        if len(table) > 1:
            tested = _tested(row, "p_value_simultaneous", "simultaneous", prob)
            text += TEMPLATES["adjusted"].format(n=len(table), **tested)
        undecided = (table["p_value_simultaneous"].dropna() > 1 - prob).all()
        text += TEMPLATES["above"].format(p=_probability(row["prob_positive"]))
        text += f"{TEMPLATES['undecided'] if undecided else ''}."
    reason = not_valid(metric)
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
