"""`PSVC` and `PSVR`: the scikit-learn face of the P-SVM."""

from ._base import (
    PER_COLUMN,
    BasePSVM,
    PerColumnMixin,
    check_psvm,
    fit_prepared,
    support_values,
)
from ._calibration import LEAST as LEAST_PROBABILITY
from ._calibration import Calibration, Steps
from ._centres import cluster_centres
from ._description import Description, describe, describe_for, digests_of, is_measured
from ._epsilon import LARGEST_GRAM, LEAP, choose_epsilon, path_is_over
from ._estimators import PSVC, PSVR, has_probability
from ._fit_moments import fit_moments
from ._judged_path import JudgedPath, LeftOutConstant, SharedPath
from ._kernel import (
    GAMMA,
    MEASURED,
    KernelChoice,
    KernelMixin,
    choose_gamma,
    choose_kernel,
    gamma_for,
    kernel_name,
    validate,
)
from ._landmarks import LANDMARKS, by_rows, check_landmarks, landmarks_for
from ._loo import LeaveOneOut
from ._machine import finish_machine, relaxation_of
from ._moments_plan import MomentsPlan
from ._novelty import check_similar, largest_similarity
from ._passes import in_parts, rows_of, sum_rows, survey_rows
from ._row_survey import RowSample, RowSurvey
from ._sigmoid import Sigmoid
from ._sites import LEAST, SiteMoments, fit_sites, plan_difference
from ._target import Labels, Numbers, OneVsOneMixin, Task, class_scores, fit_pairs, prepare
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
