"""Candidates: kernels that are compared by the losses of held-out rows."""

from copy import copy

import numpy as np

from .._progress import steps
from ..choice import POLICY, standard_error
from ._description import describe
from ._kernel import kernel_name, kernel_with
from ._landmarks import drawn_rows
from ._trial import Trial

CANDIDATES = (
    ("rbf", 1.0),
    ("rbf", 0.25),
    ("laplacian", 0.5),
    ("laplacian", 0.125),
    ("linear", 1.0),
)
"""What ``kernel="auto"`` compares: kernels, and gamma in units of "scale". `bench_policy.py` leaves
each of them out."""


def is_open(model):
    """Whether there are several candidates: the kernel and epsilon are to be chosen."""
    return kernel_name(model.kernel) == "auto" and isinstance(model.epsilon, str)


def candidates_of(model, scaling):
    """Parameters and kernel of each candidate, in the order in which ties are broken."""
    return [
        ({"kernel": name, "gamma": factor}, scaled_kernel(model, name, factor, scaling))
        for name, factor in CANDIDATES
    ]


def scaled_kernel(model, name, factor, scaling):
    """A kernel by name of standardised features; gamma is a factor of "scale"."""
    named = with_kernel(model, name)
    if model.standardize is False:
        return kernel_with(named, lambda: factor * scaling.gamma("scale"))
    scaled = scaling.standardized
    return scaling.rescaled(kernel_with(named, lambda: factor * scaled.gamma("scale")))


def best_trial(model, X, target, weights, solver, clock, scaling, digests):
    """The trial of the candidate with the smallest loss, and the table of all candidates.

    With many rows they are compared with few landmarks.
    """
    trials, names = [], candidates_of(model, scaling)
    options = {"cache_size": model.cache_size, "dtype": model.dtype, "digests": digests}
    few = _race_rows(model, digests, weights, target)
    for _, kernel in steps(names, "candidate"):
        description = None if few is None else describe(X, weights, kernel, rows=few, **options)
        shared = X, target, weights, solver, clock, description
        rival = min(trials, key=lambda trial: trial.loss, default=None)
        trials.append(Trial(with_kernel(model, kernel), *shared, digests=digests, rival=rival))
    losses = np.array([trial.loss for trial in trials])
    best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    table = [
        {
            **params,
            "loss": trial.loss,
            "error": standard_error(trial.losses[0] - trials[best].losses[0], trial.losses[1]),
            "n_support": trial.n_support,
            "time": trial.time,
        }
        for (params, _), trial in zip(names, trials, strict=True)
    ]
    return trials[best], table, few is not None


def _race_rows(model, digests, weights, target):
    """The rows that describe while candidates are compared; None if all of them do.

    A pair of classes has its share of the rows and of the landmarks.
    """
    counted = np.flatnonzero(weights > 0)
    numbers = np.unique(np.asarray(digests)[counted], return_inverse=True)[1]
    codes = None if target.paired is None else target.paired[counted]
    n_pairs = 1.0 if codes is None else max(len(np.unique(codes)) / 2, 1.0)
    if model.landmarks is not None or numbers.max(initial=0) < n_pairs * POLICY.race_from:
        return None
    return counted[drawn_rows(numbers, codes, int(n_pairs * POLICY.race))]


def with_kernel(model, kernel):
    """The model with another kernel, which standardises features itself if they are to be."""
    other = copy(model)
    other.kernel, other.standardize = kernel, False
    return other
