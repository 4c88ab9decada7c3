from .agreement import agreement_regression as agreement_regression
from .agreement import judge_agreement as judge_agreement
from .benchmark import ceilings as ceilings
from .benchmark import differences as differences
from .benchmark import ranks as ranks
from .benchmark import score_correlations as score_correlations
from .choices import multiverse_analysis as multiverse_analysis
from .choices import rank_by_metric as rank_by_metric
from .cohorts import cohort_contrasts as cohort_contrasts
from .cohorts import cohort_scores as cohort_scores
from .groups import group_scores as group_scores
from .readers import reader_study as reader_study
from .scores import scores_from_result as scores_from_result
from .trees import families as families

__all__ = [
    "agreement_regression",
    "ceilings",
    "cohort_contrasts",
    "cohort_scores",
    "differences",
    "families",
    "group_scores",
    "judge_agreement",
    "multiverse_analysis",
    "rank_by_metric",
    "ranks",
    "reader_study",
    "score_correlations",
    "scores_from_result",
]
