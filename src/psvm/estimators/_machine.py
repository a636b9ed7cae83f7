"""One machine: from the solution of its problem to what it says of new objects."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ..solvers import Solution
from ._calibration import Curve, fit_steps
from ._epsilon import RELAXED
from ._judge import NumbersJudge
from ._kernel import kernel_name
from ._loo import LeaveOneOut
from ._sigmoid import Sigmoid, fit_sigmoid


class Machine(NamedTuple):
    """What one machine has learnt."""

    columns: np.ndarray
    """Places of its variables among all columns."""
    means: np.ndarray
    norms: np.ndarray
    intercept: float
    """The constant b, with what is added to it."""
    solution: Solution
    alpha: np.ndarray
    """Its variables, which may be relaxed."""
    curve: Curve | None = None
    """What turns its decision values into probabilities."""
    left_out: np.ndarray | None = None
    """Values of its rows without their own part; NaN where they mean nothing."""


def relaxation_of(model):
    """How far the variables of a model go to the least squares of their support."""
    if model.relaxation != "auto":
        return float(model.relaxation)
    chosen = isinstance(model.epsilon, str) and model.epsilon == "auto"
    describes = kernel_name(model.kernel) != "dyadic"
    return RELAXED if chosen and describes and np.isinf(model.C) else 0.0


def finish_machine(model, part, y, problem, solution):
    """The machine of a solution: relaxed, and with the constant that new objects need.

    Parameters
    ----------
    model : PSVC or PSVR
        Whose parameters hold.
    part : Description
        Of the rows of the machine, with their digests.
    y : ndarray
        The target.
    problem : Problem
    solution : Solution

    Returns
    -------
    Machine
    """
    K, alpha, shift, curve, values = problem.K, solution.alpha, 0.0, None, None
    share, asked = relaxation_of(model), model.threshold == "loo"
    asked = asked or bool(getattr(model, "probability", False))
    if share > 0 or asked:
        loo = LeaveOneOut(part, problem, y)
        (values,), (alpha,) = loo.decisions(alpha[None], part.formed_gram, share)
    if asked and is_classifier(model):
        shift, curve = _calibrate(model, values, y > 0, loo)
    elif asked:
        shift = float(NumbersJudge(part.weights, loo.group, y).known_shift(values))
    values = values + shift if asked else None
    intercept = problem.b + shift
    return Machine(part.columns, K.means, K.norms, intercept, solution, alpha, curve, values)


def _calibrate(model, f, positive, loo):
    """The shift of the values of one machine, and the curve for what they are then."""
    sigmoid = fit_sigmoid(f, positive, loo.weights, loo.unit)
    shift = -sigmoid.threshold if model.threshold == "loo" else 0.0
    if model.probability == "isotonic":
        return shift, fit_steps(f + shift, positive, loo.weights, loo.unit)
    # Both classes are equally probable at 0 exactly, if the threshold has been moved to there.
    return shift, Sigmoid(sigmoid.slope, 0.0 if shift else sigmoid.offset)
