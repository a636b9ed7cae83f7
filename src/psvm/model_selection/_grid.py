"""Grids of parameters: which values of epsilon, C and gamma are tried together."""

import numbers
from dataclasses import dataclass
from itertools import product

import numpy as np

from .._validation import check_number, check_positive_integer, check_vector
from ..estimators import choose_gamma, kernel_name

WIDTHS = 3.0 ** np.arange(-3, 2)
"""gamma in units of "scale"."""
MOST_EPSILONS = 10_000
"""Points of a path: many more than can be told apart."""
WITH_GAMMA = ("rbf", "laplacian", "poly")
COARSE, FINE = 4, 7
"""Values of C and of the width in the two rounds of a search from coarse to fine (Hochreiter &
Obermayer 2004, section 3.2)."""


def make_epsilons(epsilons, min_ratio):
    """The shares of epsilon_max that the parameters mean, decreasing."""
    if isinstance(epsilons, numbers.Integral):
        check_positive_integer("epsilons", epsilons, most=MOST_EPSILONS)
        check_number("min_ratio", min_ratio, above=0, below=1)
        return np.geomspace(1.0, min_ratio, epsilons + 1)[1:]
    epsilons = np.unique(check_vector("epsilons", epsilons))[::-1]
    if epsilons[0] > 1 or epsilons[-1] < 0:
        raise ValueError(
            "epsilons must lie between 0 and 1: they are shares of the epsilon from which on "
            f"all variables are 0. Got values from {epsilons[-1]:.6g} to {epsilons[0]:.6g}."
        )
    return epsilons


def make_gammas(gammas, kernel, X, weights):
    """The values of gamma as numbers."""
    if kernel_name(kernel) not in WITH_GAMMA:
        if gammas is not None:
            raise ValueError(f"gammas must be None: kernel={kernel!r} has no gamma.")
        return ["scale"]
    if gammas is None:
        return (WIDTHS * choose_gamma("scale", X, weights)).tolist()
    return [float(choose_gamma(gamma, X, weights)) for gamma in gammas]


@dataclass(frozen=True, eq=False)
class Candidates:
    """All combinations of some values, with what was found.

    The last three arrays have the shape (n_Cs, n_epsilons, n_gammas, n_folds).
    """

    Cs: np.ndarray
    epsilons: np.ndarray
    gammas: list
    scores: np.ndarray
    n_support: np.ndarray
    fit_time: np.ndarray

    @property
    def params(self):
        """The combinations in the order of scikit-learn's ParameterGrid."""
        combinations = product(self.Cs, self.epsilons, self.gammas)
        return [{"C": float(C), "epsilon": float(e), "gamma": g} for C, e, g in combinations]

    def rows(self, name):
        """One of the arrays as (n_candidates, n_folds)."""
        values = getattr(self, name)
        return values.reshape(-1, values.shape[-1])


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
