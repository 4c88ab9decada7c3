from .agreement import AgreementRegression as AgreementRegression
from .agreement import agreement_regression as agreement_regression
from .agreement import agreement_table as agreement_table
from .alike import exchangeability as exchangeability
from .benchmark import Benchmark as Benchmark
from .by_metric import rank_by_metric as rank_by_metric
from .ceilings import consensus_ceilings as consensus_ceilings
from .ceilings import fieller_interval as fieller_interval
from .choices import sensitivity as sensitivity
from .choices import sensitivity_band as sensitivity_band
from .cohorts import cohort_check as cohort_check
from .cohorts import cohort_draws as cohort_draws
from .cohorts import cohort_scores as cohort_scores
from .cohorts import compare_cohorts as compare_cohorts
from .cohorts import fit_cohort as fit_cohort
from .contrasts import group_means as group_means
from .contrasts import pairwise_differences as pairwise_differences
from .covariates import cohort_contrasts as cohort_contrasts
from .covariates import cohort_effects as cohort_effects
from .drawn import DrawnScores as DrawnScores
from .entries import scores_of as scores_of
from .exclusions import EXCLUSIONS as EXCLUSIONS
from .exclusions import exclude_conditions as exclude_conditions
from .groups import GroupScores as GroupScores
from .groups import group_scores as group_scores
from .judges import judge_agreement as judge_agreement
from .ranking import kendall_tau as kendall_tau
from .ranking import percentile_ranks as percentile_ranks
from .ranking import posterior_ranks as posterior_ranks
from .ranking import probability_greater as probability_greater
from .ranking import rank_correlations as rank_correlations
from .ranking import rank_sets as rank_sets
from .ranking import significantly_greater as significantly_greater
from .ranking import tau_best as tau_best
from .readers import ReaderStudy as ReaderStudy
from .readers import reader_study as reader_study
from .scores import benchmark_scores as benchmark_scores
from .trees import Families as Families
from .trees import block_means as block_means
from .trees import families as families
from .verdicts import EqualityTest as EqualityTest
from .verdicts import Verdict as Verdict

__all__ = [
    "EXCLUSIONS",
    "AgreementRegression",
    "Benchmark",
    "DrawnScores",
    "EqualityTest",
    "Families",
    "GroupScores",
    "ReaderStudy",
    "Verdict",
    "agreement_regression",
    "agreement_table",
    "benchmark_scores",
    "block_means",
    "cohort_check",
    "cohort_contrasts",
    "cohort_draws",
    "cohort_effects",
    "cohort_scores",
    "compare_cohorts",
    "consensus_ceilings",
    "exchangeability",
    "exclude_conditions",
    "families",
    "fieller_interval",
    "fit_cohort",
    "group_means",
    "group_scores",
    "judge_agreement",
    "kendall_tau",
    "pairwise_differences",
    "percentile_ranks",
    "posterior_ranks",
    "probability_greater",
    "rank_by_metric",
    "rank_correlations",
    "rank_sets",
    "reader_study",
    "scores_of",
    "sensitivity",
    "sensitivity_band",
    "significantly_greater",
    "tau_best",
]
