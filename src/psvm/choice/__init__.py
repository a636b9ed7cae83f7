"""The choice: walks along epsilon, the losses of held-out rows, and one rule."""

from ._calibration import LEAST as LEAST_PROBABILITY
from ._calibration import Calibration, Steps
from ._description import Description
from ._folds import Folds
from ._left_out import LARGEST_GRAM, JudgedRows, LeaveOneOut, SharedLeaveOneOut
from ._loss import ClassesLoss, LogLoss, SquaredLoss, standard_error
from ._machine import Fitted, Machine, RowsMachine, SharedMachines, folds_by_content
from ._policy import POLICY, Policy
from ._sigmoid import Sigmoid
from ._sums_machine import SharedSums, SumsMachine, inverse, judge_sample
from ._walk import RULES, Walk, choose, grid, walk

__all__ = ["POLICY", "Policy", "Walk"]


def __dir__():
    return __all__
