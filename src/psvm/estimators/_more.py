"""Whether more columns would predict better."""

import numpy as np

from ..matrix import Standardized
from ..problem import Problem
from ..solvers import exact_path

WORTH = 0.15
"""More columns pay if the last doubling has lowered the squared error by more than this share."""
JUDGED = 6
"""Of more machines than that, so many are judged."""
PER_DECADE, DECADES = 5, 6
"""Points of the paths."""
PATIENCE = 4
"""A path ends when the error has not improved for so many points."""


def more_would_pay(description, half, tasks):
    """Whether all columns predict so much better than `half` of them that more would pay.

    The squared error of new objects is estimated by generalised cross-validation (Golub, Heath &
    Wahba 1979) along the exact path, which needs no pass over the rows:
    ``RSS / (1 - (1 + n_support) / L)^2``.

    Parameters
    ----------
    description : Description
        With its digests.
    half : boolean ndarray of shape (P,)
    tasks : list of Task

    Returns
    -------
    bool
    """
    some = np.unique(np.linspace(0, len(tasks) - 1, JUDGED).round().astype(np.intp))
    before = after = 0.0
    for rows, y in (tasks[i] for i in some):
        part = description.part(rows)
        problem = part.problem(y, np.inf)
        Q, variance = problem.K.gram(), problem.y @ problem.y
        if variance == 0:
            continue
        fewer = part.usable & half[part.columns]
        K = Standardized(part.matrix, part.weights, fewer)
        halved = Problem.create(K, y, np.inf, 0.0)
        before += _least_error(halved, Q * np.multiply.outer(fewer, fewer), part) / variance
        after += _least_error(problem, Q, part) / variance
    return bool(after < (1 - WORTH) * before)


def _least_error(problem, Q, description):
    """The smallest estimate of the squared error along the path."""
    L = len({d for d, w in zip(description.digests, description.weights, strict=True) if w > 0})
    shares = 10.0 ** (-np.arange(1, PER_DECADE * DECADES + 1) / PER_DECADE)
    errors = [problem.y @ problem.y]
    rank = len(problem.y)
    for alpha in exact_path(Q, problem.l, np.inf, shares * problem.epsilon_max, rank):
        left = 1 - (1 + np.count_nonzero(alpha)) / L
        rss = problem.y @ problem.y - alpha @ (2 * problem.l - Q @ alpha)
        errors.append(max(rss, 0.0) / left**2 if left > 0 else np.inf)
        if len(errors) - 1 - np.argmin(errors) >= PATIENCE:
            break
    return min(errors)
