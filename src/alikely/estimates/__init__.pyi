from .confusions import confusion_matrices as confusion_matrices
from .contrasts import contrast as contrast
from .contrasts import difference as difference
from .contrasts import mean as mean
from .contrasts import nearest_observers as nearest_observers
from .correlations import metric_correlations as metric_correlations
from .independence import independent_observers as independent_observers
from .independence import test_copy_model as test_copy_model
from .latex import latex_table as latex_table
from .margins import consistency_table as consistency_table
from .matrices import pairwise_matrix as pairwise_matrix
from .matrices import square_matrix as square_matrix
from .noise import response_noise as response_noise
from .pairs import agreement as agreement
from .pairs import compare as compare
from .pairs import decision_margin_consistency as decision_margin_consistency
from .pairs import error_consistency as error_consistency
from .pairs import error_similarity as error_similarity
from .pairs import misclassification_agreement as misclassification_agreement
from .result import Result as Result

__all__ = [
    "Result",
    "agreement",
    "compare",
    "confusion_matrices",
    "consistency_table",
    "contrast",
    "decision_margin_consistency",
    "difference",
    "error_consistency",
    "error_similarity",
    "independent_observers",
    "latex_table",
    "mean",
    "metric_correlations",
    "misclassification_agreement",
    "nearest_observers",
    "pairwise_matrix",
    "response_noise",
    "square_matrix",
    "test_copy_model",
]
