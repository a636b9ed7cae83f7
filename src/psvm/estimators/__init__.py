"""`PSVC` and `PSVR`: the scikit-learn face of the P-SVM."""

from ._base import PER_COLUMN, BasePSVM, PerColumnMixin
from ._description import Training
from ._epsilon import choose_epsilon
from ._estimators import PSVC, PSVR, has_probability
from ._kernel import MEASURED, KernelMixin, choose_gamma
from ._landmarks import check_landmarks, find_landmarks
from ._target import Labels, OneVsOneMixin, class_scores, fit_pairs
from ._unwrap import (
    described_matrix,
    is_measured,
    numeric_target,
    solutions,
    support_names,
    unwrap,
    weights,
)

__all__ = ["PSVC", "PSVR"]


def __dir__():
    return __all__
