"""How much more columns would predict better."""

import numpy as np

from ..solvers import exact_path
from ._epsilon import count_distinct

JUDGED = 6
"""Of more machines than that, so many are judged."""
PER_DECADE, DECADES = 5, 6
"""Points of the paths."""
PATIENCE = 4
"""A path ends when the error has not improved for so many points."""


def gain_of_more(description, half, tasks):
    """The share by which the squared error of all columns is below that of `half` of them.

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
    float
    """
    some = np.unique(np.linspace(0, len(tasks) - 1, JUDGED).round().astype(np.intp))
    before = after = 0.0
    for rows, y in (tasks[i] for i in some):
        part = description.part(rows)
        problem = part.problem(y, np.inf)
        variance = problem.y @ problem.y
        if variance > 0:
            few, n_rows = np.flatnonzero(half[part.columns]), count_distinct(part)
            Q, l = part.gram(), problem.l
            before += _least_error(Q[np.ix_(few, few)], l[few], variance, n_rows) / variance
            after += _least_error(Q, l, variance, n_rows) / variance
    return 1 - after / before if before > 0 else 0.0


def _least_error(Q, l, variance, n_rows):
    """The smallest estimate of the squared error along the path of ``Q = K̃'K̃`` and ``l = K̃'y``."""
    shares = 10.0 ** (-np.arange(1, PER_DECADE * DECADES + 1) / PER_DECADE)
    errors = [variance]
    for alpha in exact_path(Q, l, np.inf, shares * np.abs(l).max(initial=0.0)):
        left = 1 - (1 + np.count_nonzero(alpha)) / n_rows
        rss = variance - alpha @ (2 * l - Q @ alpha)
        errors.append(max(rss, 0.0) / left**2 if left > 0 else np.inf)
        if len(errors) - 1 - np.argmin(errors) >= PATIENCE:
            break
    return min(errors)
