"""Candidates: kernels that are compared by the losses of held-out rows."""

from copy import copy
from typing import NamedTuple

import numpy as np

from .._progress import steps
from ..choice import POLICY, standard_error
from ._description import describe
from ._kernel import kernel_name, kernel_with
from ._landmarks import drawn_rows
from ._trial import Trial

CANDIDATES = (
    ("linear", 1.0),
    ("rbf", 1.0),
    ("rbf", 0.25),
    ("laplacian", 0.5),
    ("laplacian", 0.125),
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


class Verdict(NamedTuple):
    """What remains of a trial when another candidate is tried."""

    loss: float
    losses: np.ndarray
    shares: np.ndarray
    n_support: int
    time: float


def best_trial(model, X, target, weights, solver, clock, scaling, digests):
    """The trial of the best candidate, the table of all, and whether this was only a race.

    With many rows candidates are compared with few landmarks, and with many pairs of classes in
    some of these.
    """
    names, best, verdicts = candidates_of(model, scaling), None, []
    options = {"cache_size": model.cache_size, "dtype": model.dtype, "digests": digests}
    few = _race_rows(model, digests, weights, target)
    some = _race_machines(target, digests)
    for _, kernel in steps(names, "candidate"):
        description = None if few is None else describe(X, weights, kernel, rows=few, **options)
        trial = Trial(
            with_kernel(model, kernel),
            *(X, target, weights, solver, clock),
            description,
            digests=digests,
            rival=best,
            some=some,
        )
        verdicts.append(Verdict(trial.loss, *trial.losses, trial.n_support, trial.time))
        if best is None or trial.loss < best.loss:
            best = trial
    chosen = _best_of(verdicts)
    table = [
        {
            **params,
            "loss": one.loss,
            "error": float(standard_error(one.losses - verdicts[chosen].losses, one.shares)),
            "n_support": one.n_support,
            "time": one.time,
        }
        for (params, _), one in zip(names, verdicts, strict=True)
    ]
    raced = few is not None or some is not None
    if best.loss != verdicts[chosen].loss:
        best, raced = None, True
    return with_kernel(model, names[chosen][1]), None if raced else best, table


def _best_of(verdicts):
    """The place of the smallest loss; the first, simplest candidate unless it is clearly larger."""
    losses = np.array([one.loss for one in verdicts])
    best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    difference = verdicts[0].losses - verdicts[best].losses
    allowed = POLICY.simpler * standard_error(difference, verdicts[best].shares)
    return 0 if losses[0] - losses[best] <= allowed else best


def _race_machines(target, digests):
    """Some of the machines of many pairs of classes, whatever the classes are called."""
    tasks = target.tasks()
    if target.paired is None or len(tasks) <= POLICY.race_machines:
        return None
    digests = np.asarray(digests)
    order = sorted(range(len(tasks)), key=lambda place: digests[tasks[place].rows].min())
    step = -(-len(order) // POLICY.race_machines)
    return np.sort(order[::step])


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
