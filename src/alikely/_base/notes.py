"""Notes on numbers: a stable code for each, with its condition, consequence and action.

Results store the code of a note and its numbers; `told` renders them as sentences, so that all
wording is in one table.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

import numpy as np


class Note(NamedTuple):
    """Wording of a note, and its entry on the page of notes."""

    sentence: str
    when: str = ""
    action: str = ""

    @property
    def condition(self) -> str:
        """Condition under which the note is given; by default, the beginning of its sentence."""
        return self.when or self.sentence.split(". ")[0].partition(":")[0]

    @property
    def advice(self) -> str:
        """Recommended action; by default, the last sentence of a note with several sentences."""
        *others, last = self.sentence.split(". ")
        return self.action or (last if others else "No action is needed")


NOTES = {
    "few-errors": Note(
        "Fewer than {least} errors or correct responses: analytic and bootstrap intervals "
        "are too narrow. Report the posterior interval",
        "one of the two observers makes fewer than 10 errors, or gives fewer than 10 correct "
        "responses",
        "Report the posterior interval, or collect more trials",
    ),
    "few-errors-biased": Note(
        "Fewer than {least} errors: the pseudocount dominates the estimate. Compare "
        "the divergence with its expected value (expected_divergence)",
        "error similarity is computed for an observer with fewer than 10 errors",
    ),
    "few-joint-errors": Note(
        "Fewer than {least} joint errors: analytic and bootstrap intervals are too narrow. "
        "Report the posterior interval",
        "a metric that compares labels is based on fewer than 40 joint errors",
    ),
    "too-few-joint-errors": Note(
        "Fewer than {least} joint errors: no interval is reliable. Collect more trials",
        "a pair has fewer than 3 joint errors",
        "Report no interval, or collect more trials",
    ),
    "all-joint-errors": Note(
        "Fewer than {least} trials, and both observers err on every trial: the coverage of 95% "
        "intervals may be only 0.87. Collect more trials",
        "both observers in a pair err on every trial, and there are fewer than 40 trials",
        "Report the interval as approximate, or collect more trials",
    ),
    "joint-errors-of-means": Note(
        "A pair has fewer than {least} joint errors: intervals may be too narrow. Exclude "
        "such pairs",
        "a mean includes pairs with fewer than 10 joint errors, or a difference includes "
        "pairs with fewer than 40",
        "Exclude pairs with few joint errors, or report the interval as approximate",
    ),
    "few-items": Note(
        "Fewer than {least} items: analytic and bootstrap intervals are too narrow. Report "
        "the posterior interval",
        "an agreement coefficient is based on fewer than 20 items",
    ),
    "few-rare-ratings": Note(
        "Fewer than 20 items, or fewer than {least} ratings outside the most frequent "
        "class: intervals may be too narrow",
        "chance agreement depends on fewer than 10 ratings outside the most frequent class",
        "Also report `gwet_ac1` or `brennan_prediger`, or collect more items of rare classes",
    ),
    "few-items-margins": Note(
        "Fewer than {least} items: the interval is approximate. Collect more items",
        "decision-margin consistency is based on fewer than 20 items",
    ),
    "few-questions": Note(
        "Fewer than {least} questions: intervals may be too narrow. Collect more questions",
        "a metric for option probabilities is based on fewer than 40 questions",
    ),
    "few-trials": Note(
        "Fewer than {least} trials: intervals may be too narrow. Collect more trials",
        "a custom metric whose `features` is a function is computed from fewer than 20 trials",
    ),
    "no-variation": Note(
        "{why}: the standard error is 0. Report the posterior interval",
        "the standard error is 0 because responses do not vary",
    ),
    "wide": Note(
        "The posterior interval is wider than {width}: these data say little about this "
        "pair. Collect more trials or harder items",
        "the posterior interval is wider than 0.5",
    ),
    "few-draws": Note(
        "Only {n} posterior draws: too few to estimate the limits of the interval. Increase "
        "n_draws",
        "fewer than one posterior draw is expected beyond each limit of the interval",
    ),
    "few-limit-draws": Note(
        "Too few posterior draws to estimate the interval limits: the interval is too narrow. "
        "Increase n_draws",
        "fewer than 2.5 posterior draws of error similarity are expected beyond each limit of the "
        "interval",
    ),
    "chains-apart": Note(
        "MCMC chains have not converged (R-hat {r_hat}): the posterior is not reliable. "
        "Increase n_draws",
        "an R-hat in the posterior of error similarity is above 1.2 for a pair",
    ),
    "clusters": Note(
        "Responses within {column} are correlated (design effect {effects}). Pass cluster={column}",
        "responses within groups defined by an item column are correlated (permutation "
        "test, p < 0.01)",
    ),
    "few-clusters": Note(
        "{column} defines only {n} clusters: the interval is approximate. Collect more clusters",
        "there are fewer than 5 clusters",
        "Collect more clusters, or report the interval as approximate",
    ),
    "one-cluster": Note(
        "All items belong to the same cluster in {column}: no interval is available. Collect "
        "more clusters",
        "all items belong to the same cluster",
        "Collect more clusters, or report the estimate without an interval",
    ),
    "few-clusters-posterior": Note(
        "The effective number of clusters is only {n}: the posterior may be too narrow. "
        "Report the analytic interval",
        "the effective number of clusters is below 50",
    ),
    "clusters-ignored": Note(
        "The posterior treats items in the same cluster as independent. Report the analytic "
        "interval",
        "clusters are defined, but the generative model treats items as independent",
    ),
    "clusters-pairs": Note(
        "The posterior of each pair ignores clusters and may be too narrow. Report the "
        "analytic interval",
        "the posterior of error similarity is computed from clustered or repeated items; clusters "
        "affect only the posterior correlations between pairs",
    ),
    "repeats-as-trials": Note(
        "Repeated responses to an item are treated as independent trials. Omit "
        "cluster='trial' to resample items",
        "`cluster='trial'` was passed even though items are repeated",
    ),
    "repeats-no-tests": Note(
        "Items are repeated: Fisher's test and the Bayes factor are not available. Use p_null",
        "items are repeated; `p_fisher` and `log_bf10` assume that trials are independent",
    ),
    "item-labels": Note(
        "The true class of an item label varies between conditions: labels denote different "
        "items in each condition. Use unique labels",
        "the same item label is used for items with different true classes",
    ),
    "prior-alone": Note(
        "The data alone give a standard error of 0: the interval reflects only the prior. "
        "Report each comparison separately",
        "the standard error of a mean or difference is 0",
    ),
    "prior-biases": Note(
        "Few expected disagreements (about {n} in each of {entries} comparisons): the prior "
        "biases the posterior. Report the analytic interval",
        "few disagreements are expected by chance for some of the pairs that enter a mean or "
        "difference",
    ),
    "bootstrap-sums": Note(
        "Few expected disagreements (about {n} in each of {entries} comparisons): the "
        "bootstrap interval is too narrow. Report the analytic interval",
        "the pairs that enter a mean or difference have, on average, fewer than about 17 "
        "disagreements expected by chance",
    ),
    "pair-by-pair": Note(
        "Posteriors of comparisons that share trials were sampled separately. Use "
        "sampler='exact' with the same prior for both observers",
        "a mean or difference includes comparisons whose posteriors were sampled separately",
        "Use `sampler='exact'` with a prior that is the same for both observers, such as "
        "the default, or report the analytic interval",
    ),
    "undefined-entry": Note(
        "The estimate for a comparison is undefined ({why}). Exclude this comparison",
        "one of the comparisons in a mean or difference has no estimate",
    ),
    "scales": Note(
        "Comparisons are on different scales ({scales}). Combine only comparisons on the same "
        "scale",
        "a mean or difference includes noise-corrected correlations on different scales",
    ),
    "missing-ratings": Note(
        "{n} of {total} ratings are missing",
        "some raters did not rate all items",
        "Use `no_response=` to choose how missing ratings are treated",
    ),
    "missing-items": Note(
        "{n} items that were not rated by both raters are excluded",
        "some items were rated by only one of two raters",
        "Use `no_response=` to choose how missing ratings are treated",
    ),
    "unmatched": Note(
        "{n} of {total} trials have a response from only one observer of the pair and are excluded",
        "some trials have a response from only one observer of a pair",
        "Check that both observers have the same item labels",
    ),
    "no-ratings": Note(
        "No ratings by {who}",
        "a rater has no ratings in a condition",
        "Exclude the rater",
    ),
    "one-class": Note(
        "Only one class is used by {who}",
        "a rater assigns the same class to all items",
        "Report the raw agreement",
    ),
    "ec-undefined": Note(
        "Error consistency is undefined ({why})",
        "error consistency is undefined in a table of agreement coefficients",
    ),
    "no-probabilities": Note(
        "{n} questions without option probabilities are excluded",
        "some questions have no option probabilities",
        "Add probabilities with `Trials.with_probabilities`",
    ),
    "trials-used": Note(
        "The estimate is based on {n} of {total} trials",
        "a comparison in a matrix uses only some of the trials to which both observers responded",
    ),
    "kink": Note(
        "The estimate is within 2 standard errors of the metric's kink at {kink}: the analytic "
        "interval is not valid. Report the posterior interval",
        "the estimate of a normalized metric is close to a kink, where the metric is not "
        "differentiable",
    ),
    "unreliable": Note(
        "{why}",
        "you requested an interval that did not have nominal coverage in simulations",
        "Report the interval that the table shows by default",
    ),
    "few-humans": Note(
        "Only {n} humans: the interval is approximate",
        "an interval that generalizes to new humans is based on 3 to 6 humans",
        "Report the interval as approximate, or use `generalize_to='images'`",
    ),
    "too-few-humans": Note(
        "Only {n} humans: too few to generalize to new humans. Use generalize_to='images'",
        "an interval that generalizes to new humans is based on fewer than 3 humans",
        "Use `generalize_to='images'`, or collect data from more humans",
    ),
    "ceiling-zero": Note(
        "Human-human consistency is not above 0: ceiling-normalized scores are undefined. "
        "Report scores without normalization",
    ),
    "ceiling-unclear": Note(
        "Human-human consistency does not differ significantly from 0: ceiling-normalized "
        "scores are unstable. Report scores without normalization",
        "no finite Fieller interval for a ceiling-normalized score exists",
    ),
    "above-ceiling": Note(
        "The ceiling-normalized score exceeds 1: the model agrees more with humans than "
        "humans agree with each other",
    ),
    "estimate-outside": Note(
        "The estimate lies outside its interval, because pseudocounts shift the interval if "
        "there are few errors. Report interval_center",
        "pseudocounts move the center of the analytic interval away from the estimate",
    ),
    "accuracies-bound": Note(
        "Given the accuracies, error consistency cannot exceed {most}. Compare ranks across "
        "metrics with al.benchmark.rank_by_metric",
        "the maximum possible mean error consistency given the accuracies is below 0.5",
    ),
    "entries-excluded": Note(
        "{n} undefined comparisons are excluded from the estimate",
        "some of the pairs or conditions over which a score is averaged have no estimate",
    ),
    "posterior-biased": Note(
        "The priors on individual pairs shift the posterior mean by {by} posterior SDs. "
        "Report the analytic interval",
        "the posterior mean is more than 0.5 posterior SDs from the center of the analytic "
        "interval",
    ),
    "posterior-not-reported": Note(
        "The posterior of a mean over pairs is not reported: the priors on individual pairs shift "
        "the posterior mean by {by} posterior SDs",
        "the posterior mean is more than 0.5 posterior SDs from the center of the analytic "
        "interval",
        "Report the analytic interval",
    ),
    "posterior-images": Note(
        "The posterior treats an image shown in several conditions as different images. "
        "Report the analytic interval",
        "images are shown in several conditions, each with a separate posterior",
    ),
    "no-posterior": Note(
        "No posterior: {why}",
        "no posterior distribution of scores is available for the requested population",
        "Follow the recommendation in the note, or report the analytic interval",
    ),
    "chosen-images": Note(
        "Images were selected with unequal probabilities: no posterior interval for "
        "{generalize_to} is available. Report the analytic interval",
    ),
    "no-valid-interval": Note(
        "Classes with few errors bias the estimate, so no interval is valid. "
        "Report the estimate without an interval",
        "error similarity is used as a benchmark metric",
        "Report the estimate without an interval, or use a different metric",
    ),
    "identical-responses": Note(
        "The two systems respond identically: the difference between them has no variance. "
        "Exclude one of the two systems",
    ),
    "equal-differences": Note(
        "The difference between systems is the same for all humans: its variance between "
        "humans is 0. Use generalize_to='images'",
        "a difference between systems is the same for all humans",
    ),
    "same-draws": Note(
        "The two systems have identical posterior draws: their difference has no variance. "
        "Exclude one of the two systems",
    ),
    "no-score": Note(
        "The data set has no score for {system}. Choose a data set with scores for all systems",
        "a system in a comparison has no score in the selected data set",
    ),
    "significant-alone": Note(
        "The difference is significant without adjustment, but not after adjustment for all "
        "{n} differences",
        "the pointwise interval for a difference excludes 0, but the simultaneous interval "
        "does not",
        "Report the simultaneous interval, unless the comparison was planned in advance",
    ),
    "prior-dominated": Note(
        "No difference is significant after adjustment, so the probability of a positive "
        "difference depends mainly on the prior",
        "`prob_positive` is above 0.8 or below 0.2, but no difference is significant after "
        "adjustment",
        "Report the simultaneous interval",
    ),
    "entries-without-posterior": Note(
        "{n} comparisons, such as {example}, have no posterior. Exclude these comparisons",
        "some of the comparisons over which a score is averaged have no posterior",
    ),
    "rank-depends": Note(
        "The rank of the model depends on the metric ({ranks}). Report both ranks",
        "the confidence sets of a model's rank under two metrics do not overlap",
    ),
    "only-noise": Note(
        "Noise explains all of the variance in the scores: no latent correlation is "
        "available. Report the raw correlation",
        "the variance of scores across models does not exceed the variance due to noise",
        "Report the raw correlation, or collect more trials",
    ),
    "noise-unknown": Note(
        "Too few humans to estimate the noise in scores: no latent correlation is "
        "available. Collect data from more humans",
        "a data set has fewer than 3 humans",
    ),
    "reliability-unclear": Note(
        "The reliability of scores does not differ significantly from 0: no interval is "
        "available. Report the raw correlation",
        "a latent correlation has no finite Fieller interval",
        "Report the raw correlation, or collect more trials",
    ),
    "correlation-beyond-one": Note(
        "The noise-corrected correlation is outside [-1, 1] and is not clipped. Report the "
        "correlation with its interval",
        "a latent correlation is above 1 or below -1",
    ),
    "mostly-noise": Note(
        "The reliability of scores is below 0.5: scores are mostly noise. Collect more trials",
    ),
    "correlation-near-one": Note(
        "The latent correlation is above 0.9 in absolute value and reliabilities are above "
        "0.8: the interval may be too narrow",
        action="Report the interval as approximate",
    ),
    "shared-noise": Note(
        "Data sets share {what}: their noise is correlated, and the latent correlation may be "
        "overestimated. Report the raw correlation",
        "data sets share images or humans",
    ),
    "weighted-images": Note(
        "Images were selected with unequal probabilities and weighted: estimates generalize "
        "to {generalize_to}",
    ),
    "strata-images": Note(
        "Because images were selected from strata, the posterior generalizes to {generalize_to}",
        "a posterior interval of a mean or difference is shown for a stratified sample of images",
    ),
    "few-effective-images": Note(
        "The effective number of images is only {n}: the interval may be too narrow",
        "the standard error of a weighted estimate is based on few images, for example because "
        "images were selected for other comparisons",
        "Report the interval as approximate, or collect responses to images selected for this "
        "comparison",
    ),
    "strata-several-humans": Note(
        "For means over several humans, the posterior interval may be too narrow (coverage 0.89 "
        "for two similar models). Report the analytic interval",
        "a posterior is requested for a mean or difference that involves several humans and a "
        "stratified sample of images",
    ),
    "weighted-center": Note(
        "The interval is centered on {center}, the bias-corrected weighted estimate",
        "the interval corrects for the bias of the weighted estimate",
        "Report the center of the interval together with the interval",
    ),
    "few-readers": Note(
        "Only {n} readers: the interval is approximate, and too narrow if a few readers "
        "differ strongly from the others",
        "there are fewer than 6 readers",
        "Report the interval as approximate, or add readers",
    ),
    "reader-groups": Note(
        "Readers form two groups ({most} and {least} readers) whose results differ: the "
        "mean over readers depends on the group sizes. Report the results for each reader",
        "two groups of readers have clearly different results",
        "Report `reader_mean` from the result's `estimates`",
    ),
    "one-observer": Note(
        "The group has only one observer: agreement within the group is undefined",
        action="Merge groups, or report agreement between groups",
    ),
    "no-common-trials": Note(
        "No common trials",
        "the observers in a pair have no trials in common",
        action="Exclude pairs without common trials, or show the same trials to both observers",
    ),
    "undefined-pair": Note(
        "At least one pair has no estimate, so the mean is undefined",
        "at least one of the pairs to be averaged has no estimate",
        "Exclude the observer or the condition that has no estimate",
    ),
    "few-means": Note(
        "Fewer than two observers have a defined mean over pairs: no ranks are available",
        action="Collect more trials",
    ),
    "one-cluster-mean": Note(
        "An observer's mean over pairs is based on items of only one cluster: standard errors and "
        "ranks are not available",
        action="Collect more clusters",
    ),
}

MARKED = re.compile(r"\[\[([a-z-]+) (\{.*?\})\]\]")


def note(code: str, **numbers: object) -> str:
    """Encode a note for storage: its code and the values that its sentence contains."""
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
    """Render the notes in a text as sentences; text without a code is unchanged."""
    return MARKED.sub(lambda found: _sentence(*found.groups()), str(text))


def _sentence(code: str, numbers: str) -> str:
    if code not in NOTES:
        # A file of a later version.
        return f"{code}: {numbers}"
    text = NOTES[code].sentence.format(**json.loads(numbers))
    # Notes stand behind one another, as parts of a list.
    return text[0].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def codes(text: str) -> list[str]:
    """Return the codes of the notes in a stored text."""
    return [code for code, _ in MARKED.findall(str(text))]
