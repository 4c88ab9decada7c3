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
    "one-cluster": Note(
        "All items are of one cluster of {column}: no interval. Collect more clusters",
        "one cluster",
        "Collect more clusters, or report the estimate without an interval.",
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
    "few-humans": Note(
        "Only {n} humans: the interval is approximate",
        "intervals for new humans are based on 4 to 6 humans",
        "Report the interval as approximate, or treat these humans as fixed.",
    ),
    "few-humans-bootstrap": Note(
        "Only {n} humans: the analytic interval is approximate, and no bootstrap interval is "
        "available",
        "intervals for new humans are based on 3 humans",
        "Report the interval as approximate, or use `generalize_to='images'`.",
    ),
    "too-few-humans": Note(
        "Only {n} humans: too few to generalize to others. Use generalize_to='images'",
        "intervals for new humans need at least 3 humans",
        "Use `generalize_to='images'`, or collect data from more humans.",
    ),
    "ceiling-zero": Note(
        "The ceiling is not above 0: no ratio to it",
        "humans do not agree more than expected by chance",
        "Report scores, not ratios.",
    ),
    "ceiling-unclear": Note(
        "The ceiling does not differ significantly from 0: ratios to it are approximate",
        "the Fieller interval of a ratio to the ceiling has no bounds",
        "Report scores, not ratios.",
    ),
    "above-ceiling": Note(
        "Above the ceiling: closer to the humans than they are to each other",
        "the ratio of a score to the ceiling is above 1",
        "None.",
    ),
    "estimate-outside": Note(
        "The estimate lies outside its interval, because pseudocounts shift the interval where "
        "errors are few. Report the interval with its center",
        "pseudocounts move the center of the analytic interval away from the estimate",
        "Report `interval_center` with the interval.",
    ),
    "accuracies-bound": Note(
        "Given the accuracies, error consistency cannot exceed {most}. Compare ranks across "
        "metrics with al.benchmark.rank_by_metric",
        "the maximum possible mean error consistency is below 0.5, given the accuracies",
        "Compare metrics by `al.benchmark.rank_by_metric`.",
    ),
    "entries-excluded": Note(
        "{n} undefined entries are excluded from the estimate",
        "some pairs and conditions of a score have no estimate",
        "None.",
    ),
    "bootstrap-off": Note(
        "The bootstrap center is {away} standard errors from the analytic center: its interval is "
        "too narrow. Report the "
        "analytic interval",
        "pseudocounts move the analytic center by more than 0.5 standard errors",
        "Report the analytic interval.",
    ),
    "bootstrap-scores": Note(
        "Bootstrap coverage is 0.64 to 0.98 in simulations. Report the analytic interval",
        "the bootstrap interval of a benchmark score was requested",
        "Report the analytic interval.",
    ),
    "posterior-biased": Note(
        "The priors of single pairs shift the posterior mean by {by} posterior SDs. "
        "Report the analytic interval",
        "the posterior mean is more than 0.5 posterior SDs from the analytic center",
        "Report the analytic interval.",
    ),
    "posterior-not-reported": Note(
        "Posterior not reported: the priors of single pairs shift its mean by {by} posterior SDs",
        "the posterior mean is more than 0.5 posterior SDs from the analytic center",
        "Report the analytic interval.",
    ),
    "posterior-images": Note(
        "The posterior treats an image of several conditions as several images",
        "images recur, and the posterior of this metric is drawn for each condition",
        "Report the analytic interval.",
    ),
    "no-posterior": Note(
        "No posterior: {why}",
        "a table of scores has no posterior for the population",
        "See the reason.",
    ),
    "chosen-images": Note(
        "Images were selected with unequal probabilities: no posterior for {generalize_to}",
        "images have unequal probabilities of selection",
        "Report the analytic interval.",
    ),
    "no-valid-interval": Note(
        "No valid interval: few errors of a class bias the estimate, report it without one",
        "a benchmark of error similarity",
        "Report the estimate without an interval, or use another metric.",
    ),
    "identical-responses": Note(
        "Identical answers: the difference has no variance",
        "two systems gave the same responses",
        "Exclude one of them.",
    ),
    "equal-differences": Note(
        "The difference is equal for all humans: it has no variance",
        "a difference has no variance over humans",
        "Use `generalize_to='images'`.",
    ),
    "same-draws": Note(
        "The same draws: the difference has no variance",
        "two systems have the same posterior draws",
        "Exclude one of them.",
    ),
    "no-score": Note(
        "{system} has no score here",
        "a system of a contrast has no score in this data set",
        "Choose another data set.",
    ),
    "significant-alone": Note(
        "Significant alone, not after adjustment for all {n} differences",
        "the pointwise interval of a difference excludes 0, and the simultaneous one does not",
        "Report the simultaneous interval, unless the comparison was planned.",
    ),
    "prior-dominated": Note(
        "No difference is significant after adjustment, so prob_positive depends mainly on the "
        "prior",
        "`prob_positive` is above 0.8 or below 0.2, and no difference is significant after "
        "adjustment",
        "Report the simultaneous interval.",
    ),
    "entries-without-posterior": Note(
        "{n} entries without a posterior, such as {example}",
        "entries of a score have no posterior",
        "Leave out these entries.",
    ),
    "rank-depends": Note(
        "The rank depends on the metric: {ranks}",
        "two metrics give a model rank sets that do not overlap",
        "Report both ranks.",
    ),
    "only-noise": Note(
        "Noise accounts for all variance of the scores: no latent correlation",
        "the variance of scores over models is not above that of their noise",
        "Report the raw correlation, or collect more trials.",
    ),
    "noise-unknown": Note(
        "Too few humans to estimate the noise: no latent correlation",
        "a data set has fewer than 3 humans",
        "Collect data from more humans.",
    ),
    "reliability-unclear": Note(
        "A reliability does not differ significantly from 0: no bounds",
        "the interval of a latent correlation has no bounds",
        "Report the raw correlation, or collect more trials.",
    ),
    "correlation-beyond-one": Note(
        "The noise-corrected correlation is outside [-1, 1] and not clipped",
        "a latent correlation is above 1 or below -1",
        "Report it unclipped, with its interval.",
    ),
    "mostly-noise": Note(
        "Scores are mostly noise",
        "the reliability of scores is below 0.5",
        "Collect more trials.",
    ),
    "correlation-near-one": Note(
        "Near 1 or -1 between reliable data sets: the interval may be too narrow",
        "a latent correlation is beyond 0.9, with reliabilities above 0.8",
        "Report the interval as approximate.",
    ),
    "shared-noise": Note(
        "The same {what} in several data sets: their noise counts as agreement",
        "data sets share images or people",
        "Report the raw correlation.",
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
