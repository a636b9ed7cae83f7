"""Grids of parameters: which values of epsilon, C and gamma are tried together, and how far."""

import numbers
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._progress import steps
from .._validation import check_number, check_positive_integer, check_vector
from ..estimators import choose_gamma, kernel_name
from ..kernels import WITH_GAMMA

FACTOR = 3.0
"""Between two neighbours of gamma."""
WIDTHS = FACTOR ** np.arange(-1, 1)
"""gamma in units of "scale": where a search starts,"""
SPAN = FACTOR ** np.arange(-3, 2)
"""and what a search from coarse to fine spans."""
FARTHEST = 4
"""Values of gamma that are added at each end, at most."""
NARROWER = 2.0
"""A narrower kernel should come near the best one so far with so many times its support objects,
a wider one with as many."""
HALF, MOST_CS, TURNED = 0.5, 12, 2
"""Between two neighbours of C, the number of values that are tried beside infinity, at most, and
how many in a row that are not better than the best one end the walk."""
WIDE, NOT_WORSE = FACTOR**2.5, 1.0
"""Kernels that are up to so many times wider than the widest at the start are also tried while they
are worse than the best by no more than so many standard errors of the difference."""
LEARNT = 0.95
"""While the squared error is larger than this share of that of a constant, nothing has been learnt,
and narrower kernels are tried whatever the scores of the others say."""
PER_DECADE = 5
"""Points of epsilon / epsilon_max in a factor of ten."""
MOST_EPSILONS = 10_000
"""Points of a path: many more than can be told apart."""
SPARSE, PATIENT, HASTY = 0.2, 6, 3
"""Up to this share of support objects points are cheap, and a path ends when the mean score has not
improved for so many of them; with more support objects it ends after fewer,"""
GAIN, WORSE = 0.01, 0.1
"""also when the squared error fell by no more than this share meanwhile, or exceeds the smallest by
more than this share."""
DENSE = 0.7
"""With more support objects a path goes on only while each point gains that much."""
NOTHING = 1e-12
"""A path also ends when no more than this share of its first squared error is left."""
LARGEST = 0.5
"""Shares of epsilon_max that are larger are as good as 1, the natural end of the grid."""
LEVEL = 0.01
"""Between neighbours a share of the score that makes no difference: it has levelled off."""
COARSE, FINE = 4, 7
"""Values of C and of the width in the two rounds of a search from coarse to fine (Hochreiter &
Obermayer 2004, section 3.2)."""


class Grid(NamedTuple):
    """The parameters of the paths that share a matrix."""

    epsilons: np.ndarray
    """Shares of epsilon_max, decreasing."""
    Cs: np.ndarray


def make_epsilons(epsilons, min_ratio):
    """The shares of epsilon_max that the parameters mean, decreasing."""
    if isinstance(epsilons, numbers.Integral):
        check_positive_integer("epsilons", epsilons, most=MOST_EPSILONS)
        if min_ratio is None:
            return 10.0 ** (-np.arange(1, epsilons + 1) / PER_DECADE)
        check_number("min_ratio", min_ratio, above=0, below=1)
        return np.geomspace(1.0, min_ratio, epsilons + 1)[1:]
    epsilons = np.unique(check_vector("epsilons", epsilons))[::-1]
    if epsilons[0] > 1 or epsilons[-1] < 0:
        raise ValueError(
            "epsilons must lie between 0 and 1: they are shares of the smallest epsilon at which "
            f"all variables are 0. Got values from {epsilons[-1]:.6g} to {epsilons[0]:.6g}."
        )
    return epsilons


def is_open(epsilons, min_ratio):
    """Whether a path goes on only until its score has turned."""
    return isinstance(epsilons, numbers.Integral) and min_ratio is None


def make_gammas(gammas, kernel, X, weights, widths=WIDTHS):
    """The values of gamma as numbers; `widths` times "scale" if none are given."""
    if kernel_name(kernel) not in WITH_GAMMA:
        if gammas is not None:
            raise ValueError(f"gammas must be None: kernel={kernel!r} has no gamma.")
        return ["scale"]
    if gammas is None:
        return (widths * choose_gamma("scale", X, weights)).tolist()
    return [float(choose_gamma(gamma, X, weights)) for gamma in gammas]


def walk_C(largest, unbounded, judge):
    """Try smaller and smaller C until the score has turned.

    Parameters
    ----------
    largest : float
        The largest variable of the best solution without a bound: a larger C changes nothing.
    unbounded : float
        The score of that solution.
    judge : callable
        ``judge(C)`` is the score of a C.
    """
    best, behind = unbounded, 0
    for C in steps(largest * HALF ** np.arange(1, MOST_CS + 1) if largest > 0 else [], "C"):
        score = judge(float(C))
        best, behind = max(best, score), 0 if score > best else behind + 1
        if behind == TURNED:
            return


def never(scores, share):
    """Paths of a fixed length never end early."""
    return False


def has_turned(scores, share):
    """Whether the mean score has clearly turned, or means nothing any more.

    Parameters
    ----------
    scores : ndarray of shape (m, k)
        Of the points so far in k folds.
    share : float
        Share of the rows that are support objects at the last point.
    """
    mean = _means(scores)
    behind = len(mean) - 1 - np.argmax(mean)
    return behind >= (PATIENT if share <= SPARSE else HASTY) or mean[-1] == -np.inf


def error_has_turned(scores, share):
    """The same of negative squared errors, whose size tells more."""
    mean = _means(scores)
    best, last = mean.max(), mean[-1]
    if has_turned(scores, share) or best >= NOTHING * mean[0]:
        return True
    if share <= SPARSE:
        return False
    before = mean[: -1 if share > DENSE else -HASTY].max(initial=-np.inf)
    return best < (1 - GAIN) * before or last < (1 + WORSE) * best


def _means(scores):
    mean = scores.mean(axis=1)
    return np.where(np.isnan(mean), -np.inf, mean)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Combinations of parameters in the order of scikit-learn's ParameterGrid, with what was found.

    The last three arrays have the shape (n_candidates, n_folds).
    """

    params: list
    scores: np.ndarray
    n_support: np.ndarray
    fit_time: np.ndarray


def candidates(found, epsilons):
    """All points of some paths, each of which has a length of its own.

    Parameters
    ----------
    found : dict
        ``Judged`` for each ``(C, gamma)``.
    epsilons : ndarray
        The shares of epsilon_max of all paths.
    """
    places = [
        (C, step, gamma)
        for (C, gamma), judged in found.items()
        for step in range(len(judged.scores))
    ]
    # stable: within one C and one epsilon the gammas stay in their order
    order = {C: number for number, (C, _) in reversed(list(enumerate(found)))}
    places.sort(key=lambda place: (order[place[0]], place[1]))
    rows = [(found[C, gamma], step) for C, step, gamma in places]
    n_folds = rows[0][0].scores.shape[1]
    return Candidates(
        [{"C": C, "epsilon": float(epsilons[step]), "gamma": gamma} for C, step, gamma in places],
        np.array([judged.scores[step] for judged, step in rows]),
        np.array([judged.n_support[step] for judged, step in rows], dtype=float),
        np.array([np.full(n_folds, judged.fit_time[step]) for judged, step in rows]),
    )


def coarse(values):
    """A few values that span the same range evenly on a logarithmic scale."""
    values = list(values)
    if len(values) < 2:
        return values
    return np.geomspace(min(values), max(values), COARSE).tolist()


def fine(best, values):
    """Values around the best one of a coarse grid, up to its neighbours."""
    if len(values) < 2:
        return list(values)
    step = (max(values) / min(values)) ** (1 / (len(values) - 1))
    return np.geomspace(best / step, best * step, FINE).tolist()
