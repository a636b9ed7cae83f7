"""`PSVC` and `PSVR`: the scikit-learn face of the P-SVM."""

from ._base import (
    PER_COLUMN,
    BasePSVM,
    PerColumnMixin,
    check_psvm,
    linear_kernel,
    support_values,
)
from ._centres import cluster_centres
from ._description import describe, describe_for, digests_of, is_measured
from ._estimators import PSVC, PSVR, has_probability
from ._fit_any import blocks_of, fit_prepared
from ._fit_blocks import fit_survey, some_rows, streams
from ._fit_moments import fit_moments
from ._kernel import (
    AUTO,
    GAMMA,
    MEASURED,
    KernelChoice,
    KernelMixin,
    Scaling,
    choose_gamma,
    choose_kernel,
    gamma_for,
    kernel_name,
    validate,
)
from ._landmarks import LANDMARKS, by_rows, check_landmarks, landmarks_for
from ._moments_plan import MomentsPlan
from ._novelty import check_similar, largest_similarity
from ._passes import in_parts, rows_of, sum_rows, survey_rows
from ._row_survey import RowSample, RowSurvey
from ._sites import LEAST, SiteMoments, fit_sites, plan_difference
from ._target import (
    Labels,
    Numbers,
    OneVsOneMixin,
    class_scores,
    fit_pairs,
    prepare,
    target_of,
)
from ._trial import Trial
from ._unwrap import (
    described_matrix,
    numeric_target,
    solutions,
    square_matrix,
    support_names,
    unwrap,
    unwrap_psvm,
    weights,
)

__all__ = [
    "PSVC",
    "PSVR",
    "MomentsPlan",
    "RowSurvey",
    "SiteMoments",
    "cluster_centres",
    "fit_moments",
    "fit_sites",
]


def __dir__():
    return __all__
