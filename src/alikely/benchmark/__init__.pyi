from .agreement import agreement_regression as agreement_regression
from .benchmark import ceilings as ceilings
from .benchmark import differences as differences
from .benchmark import ranks as ranks
from .benchmark import score_correlations as score_correlations
from .benchmark import stability as stability
from .benchmark import test_difference as test_difference
from .benchmark import test_equality as test_equality
from .choices import multiverse_analysis as multiverse_analysis
from .choices import multiverse_band as multiverse_band
from .choices import rank_by_metric as rank_by_metric
from .cohorts import cohort_check as cohort_check
from .cohorts import cohort_contrasts as cohort_contrasts
from .cohorts import cohort_scores as cohort_scores
from .cohorts import fit_cohort as fit_cohort
from .entries import scores_from_result as scores_from_result
from .groups import group_scores as group_scores
from .humans import noise_ceilings as noise_ceilings
from .humans import test_equal_accuracy as test_equal_accuracy
from .judges import judge_agreement as judge_agreement
from .layout import exclude_conditions as exclude_conditions
from .ranking import kendall_tau as kendall_tau
from .ranking import percentile_ranks as percentile_ranks
from .readers import reader_study as reader_study
from .scores import benchmark_scores as benchmark_scores
from .trees import block_means as block_means
from .trees import families as families

__all__ = [
    "agreement_regression",
    "benchmark_scores",
    "block_means",
    "ceilings",
    "cohort_check",
    "cohort_contrasts",
    "cohort_scores",
    "differences",
    "exclude_conditions",
    "families",
    "fit_cohort",
    "group_scores",
    "judge_agreement",
    "kendall_tau",
    "multiverse_analysis",
    "multiverse_band",
    "noise_ceilings",
    "percentile_ranks",
    "rank_by_metric",
    "ranks",
    "reader_study",
    "score_correlations",
    "scores_from_result",
    "stability",
    "test_difference",
    "test_equal_accuracy",
    "test_equality",
]
