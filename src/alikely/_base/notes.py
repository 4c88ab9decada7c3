"""Notes on numbers: a stable code for each, with its condition, consequence and action.

Results store the code and its numbers; `told` renders them, so that all wording is in one table.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import numpy as np

__all__ = ["NOTES", "Note", "codes", "note", "told"]


class Note(NamedTuple):
    """Wording of a note, and what the page of notes says of it."""

    sentence: str
    when: str
    action: str


NOTES: dict[str, Note] = {
    "few-errors": Note(
        "Fewer than {least} errors or correct responses: analytic and bootstrap intervals are too "
        "narrow. Report the posterior interval",
        "an observer of the pair has fewer than 10 errors, or fewer than 10 correct responses",
        "Report the posterior interval, or collect more trials.",
    ),
    "few-errors-biased": Note(
        "Fewer than {least} errors: the estimate depends mostly on its smoothing. Compare it with "
        "expected_divergence",
        "an observer has fewer than 10 errors, for error similarity",
        "Compare `divergence` with `expected_divergence`.",
    ),
    "few-joint-errors": Note(
        "Fewer than {least} joint errors: analytic and bootstrap intervals are too narrow. Report "
        "the posterior interval",
        "a pair has fewer than 40 joint errors, for metrics of labels",
        "Report the posterior interval.",
    ),
    "few-joint-errors-exact": Note(
        "Fewer than {least} joint errors: the exact posterior is too narrow. Use sampler='auto'",
        "a pair has fewer than 20 joint errors, with sampler='exact'",
        "Use `sampler='auto'`.",
    ),
    "too-few-joint-errors": Note(
        "Fewer than {least} joint errors: no interval is reliable",
        "a pair has fewer than 3 joint errors",
        "Report no interval, or collect more trials.",
    ),
    "all-joint-errors": Note(
        "Fewer than {least} trials, all joint errors: 95% intervals may cover 0.87",
        "all trials of a pair are joint errors, and there are fewer than 40",
        "Report the interval as approximate.",
    ),
    "joint-errors-of-means": Note(
        "A pair has fewer than {least} joint errors: intervals may be too narrow",
        "a mean over pairs with fewer than 10 joint errors, or a difference with fewer than 40",
        "Leave out such pairs, or report the interval as approximate.",
    ),
    "few-items": Note(
        "Fewer than {least} items: analytic and bootstrap intervals are too narrow. Report the "
        "posterior interval",
        "a coefficient of agreement rests on fewer than 20 items",
        "Report the posterior interval.",
    ),
    "few-rare-ratings": Note(
        "Fewer than {least} ratings outside the most frequent class, or fewer than 20 items: "
        "intervals may be too narrow",
        "chance agreement depends on fewer than 10 ratings outside the most frequent class",
        "Also report `gwet_ac1` or `brennan_prediger`, or collect more items of rare classes.",
    ),
    "few-items-margins": Note(
        "Fewer than {least} items: the interval is approximate",
        "decision-margin consistency rests on fewer than 20 items",
        "Collect more items.",
    ),
    "few-questions": Note(
        "Fewer than {least} questions: intervals may be too narrow",
        "a metric of option probabilities rests on fewer than 40 questions",
        "Collect more questions.",
    ),
    "few-trials": Note(
        "Fewer than {least} trials: intervals may be too narrow",
        "a metric with features of its own rests on fewer than 20 trials",
        "Collect more trials.",
    ),
    "no-variation": Note(
        "{why}: the standard error is 0. Report the posterior interval",
        "the standard error is 0, because responses do not vary",
        "Report the posterior interval.",
    ),
    "wide": Note(
        "The posterior interval is wider than {width}: these data say little about this pair. "
        "Collect more trials or harder items",
        "the posterior interval is wider than 0.5",
        "Collect more trials, or items that both observers get wrong at times.",
    ),
    "few-draws": Note(
        "Only {n} posterior draws: fewer than one lies beyond each limit. Increase n_draws",
        "fewer than one posterior draw lies beyond a limit",
        "Increase `n_draws`.",
    ),
    "few-limit-draws": Note(
        "Too few posterior draws beyond each limit: the interval is too narrow. Increase n_draws",
        "fewer than 2.5 draws lie beyond a limit, for error similarity",
        "Increase `n_draws`.",
    ),
    "chains-apart": Note(
        "Chains differ (R-hat {r_hat}): the posterior is not reliable. Increase n_draws",
        "R-hat of a pair is above 1.2, for error similarity",
        "Increase `n_draws`.",
    ),
    "independent-rows": Note(
        "Independent rows make the similarity too low. Use sampler='auto'",
        "the posterior of independent rows lies below the estimate",
        "Use `sampler='auto'`.",
    ),
    "clusters": Note(
        "Responses within {column} are correlated (design effect {effect}). Pass cluster={column}",
        "a column of items has a design effect above 1 with p < 0.01, by permutation",
        "Pass the column as `cluster=`.",
    ),
    "few-clusters": Note(
        "Only {n} clusters of {column}: the interval is approximate. Collect more clusters",
        "fewer than 5 clusters",
        "Collect more clusters, or report the interval as approximate.",
    ),
    "few-clusters-posterior": Note(
        "{n} effective clusters: the posterior may be too narrow. Report the analytic interval",
        "fewer than 50 effective clusters",
        "Report the analytic interval.",
    ),
    "clusters-ignored": Note(
        "The posterior takes items of a cluster for independent. Report the analytic interval",
        "the posterior of this model has no clusters",
        "Report the analytic interval.",
    ),
    "clusters-pairs": Note(
        "Clusters connect the posteriors of pairs, but do not widen them. Report the analytic "
        "interval",
        "posterior of error similarity with items that recur",
        "Report the analytic interval.",
    ),
    "repeats-as-trials": Note(
        "Responses to one item count as independent trials",
        "items recur, and cluster='trial' was passed",
        "Leave out `cluster='trial'` to treat items as the sampling unit.",
    ),
    "repeats-no-tests": Note(
        "Several responses to an item: p_fisher and log_bf10 are not available. Use p_null",
        "items recur, so that the tests that assume independent trials do not hold",
        "Use `p_null`, which permutes items.",
    ),
    "item-labels": Note(
        "Item labels have several true classes: they are other items in each condition",
        "an item label has several true classes",
        "Give items of different conditions different labels.",
    ),
    "prior-alone": Note(
        "No trial distinguishes the entries: the interval is that of the prior",
        "the standard error of a sum is 0",
        "Report the entries, not their difference.",
    ),
    "prior-copying": Note(
        "A prior on the copy probability biases sums by an unknown amount. Report the analytic "
        "interval, or state the prior on p_a, u and v",
        "a sum of entries with a prior on the copy probability",
        "Report the analytic interval.",
    ),
    "prior-biases": Note(
        "About {n} chance disagreements in each of {entries} entries: the prior biases this "
        "interval. Report the analytic interval",
        "a sum of entries that have few errors each",
        "Report the analytic interval.",
    ),
    "bootstrap-sums": Note(
        "About {n} chance disagreements in each of {entries} entries: the bootstrap interval is "
        "too narrow. Report the analytic interval",
        "fewer than 17 chance disagreements in each entry of a sum",
        "Report the analytic interval.",
    ),
    "pair-by-pair": Note(
        "Posterior drawn pair by pair: entries that share trials have no joint draws. Use "
        "sampler='exact' with a prior that treats both observers alike, such as the default",
        "a sum of entries whose posteriors were drawn separately",
        "Use `sampler='exact'`, or report the analytic interval.",
    ),
    "undefined-entry": Note(
        "An entry is undefined: {why}",
        "a sum includes an entry without an estimate",
        "Leave out the entry.",
    ),
    "scales": Note(
        "Entries are on different scales: {scales}. Compare entries of one scale",
        "noise-corrected margins of different scales in one sum",
        "Compare entries of one scale.",
    ),
    "missing-ratings": Note(
        "{n} of {total} ratings are missing",
        "some raters did not rate some items",
        "See `no_response=`.",
    ),
    "missing-items": Note(
        "{n} items that one of the two did not rate are excluded",
        "a pair of raters did not rate the same items",
        "See `no_response=`.",
    ),
    "no-ratings": Note(
        "Without a rating: {who}",
        "a rater has no rating in a condition",
        "Leave out the rater.",
    ),
    "one-class": Note(
        "{who}: one class only",
        "a rater names the same class for all items that count",
        "Report the raw agreement.",
    ),
    "ec-undefined": Note(
        "EC: {why}",
        "error consistency is undefined in a table of coefficients of agreement",
        "None.",
    ),
    "no-probabilities": Note(
        "{n} questions without option probabilities are excluded",
        "questions have no probabilities of options",
        "See `Trials.with_probabilities`.",
    ),
    "trials-used": Note(
        "Based on {n} of {total} trials",
        "an entry of a matrix uses fewer trials than both observers answered",
        "None.",
    ),
    "kink": Note(
        "{kink} within 2 standard errors: the analytic interval is not valid there. Report the "
        "posterior interval",
        "a scaled metric is near a value where it has a kink",
        "Report the posterior interval.",
    ),
    "unreliable": Note(
        "{why}",
        "an interval was requested by name that simulations show to be wrong",
        "Report the recommended interval.",
    ),
}

MARKED = re.compile(r"\[\[([a-z-]+) (\{.*?\})\]\]")


def note(code: str, **numbers: object) -> str:
    """Encode a note for storage: its code and what its sentence needs."""
    assert code in NOTES, code
    plain = {name: _plain(value) for name, value in numbers.items()}
    return f"[[{code} {json.dumps(plain)}]]"


def _plain(value: object) -> str:
    """Numbers as tables print them; names in quotes that a reader can copy."""
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int | np.integer):
        return f"{value:,}"
    return f"{value:.3g}"


def told(text: str) -> str:
    """Render the notes in a text; what has no code stays as it is."""
    return MARKED.sub(lambda found: _sentence(*found.groups()), str(text))


def _sentence(code: str, numbers: str) -> str:
    if code not in NOTES:
        # A file of a later version.
        return f"{code}: {numbers}"
    text = NOTES[code].sentence.format(**json.loads(numbers))
    # Notes stand behind one another, as parts of a list.
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def codes(text: str) -> list[str]:
    """Codes of the notes in a stored text."""
    return [code for code, _ in MARKED.findall(str(text))]
