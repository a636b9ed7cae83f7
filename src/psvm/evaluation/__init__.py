"""Comparing models honestly: tests, ROC bands, abstention."""

from ._compare import Comparison, compare
from ._cross_validate import CrossValidation, cross_validate, percent
from ._permutation import PermutationSignificance, permutation_test
from ._range import DecisionRange, covering_bound, decision_range, outlier_bound, range_bound
from ._reject import (
    REJECT_RULES,
    RESPONSE_METHODS,
    RejectOption,
    check_columns,
    confidence,
    has_information,
    reject_scores,
    similarity_threshold,
    support_similarity,
)
from ._reject_curve import ErrorRejectCurve, ErrorRejectDisplay, error_reject_curve
from ._roc import AreaEstimate, RocBand, delong_test, roc_area, roc_band, roc_band_of_folds
from ._significance import (
    Significance,
    SplitSignificance,
    corrected_t_test,
    five_by_two_f_test,
    five_by_two_t_test,
    mcnemar_test,
    paired_t_test,
    proportion_test,
    split_proportion_test,
    wilcoxon_test,
)

__all__ = [
    "AreaEstimate",
    "Comparison",
    "CrossValidation",
    "DecisionRange",
    "ErrorRejectCurve",
    "ErrorRejectDisplay",
    "PermutationSignificance",
    "RejectOption",
    "RocBand",
    "Significance",
    "SplitSignificance",
    "compare",
    "confidence",
    "corrected_t_test",
    "covering_bound",
    "cross_validate",
    "decision_range",
    "delong_test",
    "error_reject_curve",
    "five_by_two_f_test",
    "five_by_two_t_test",
    "has_information",
    "mcnemar_test",
    "outlier_bound",
    "paired_t_test",
    "permutation_test",
    "proportion_test",
    "range_bound",
    "reject_scores",
    "roc_area",
    "roc_band",
    "roc_band_of_folds",
    "split_proportion_test",
    "support_similarity",
    "wilcoxon_test",
]


def __dir__():
    return __all__
