"""One candidate: a description of the objects, its machines, and their walks."""

import time
from functools import cached_property

import numpy as np

from .._progress import steps
from ..choice import POLICY, RowsMachine, SharedMachines
from ._description import describe_for


class Trial:
    """What is tried: machines of one description, with the losses of held-out rows.

    Parameters
    ----------
    model : PSVC or PSVR
        With the parameters of the candidate.
    X : validated objects
    target : Labels or Numbers
    weights : ndarray of shape (L,)
    solver : Solver
    clock : Clock
    description : Description, default=None
        The objects, if they have been described.
    digests : array-like of shape (L,), default=None
        The content of the rows, if it is known.
    rival : Trial, default=None
        The best trial so far of the same rows, which ends walks that stay behind.
    some : ndarray of int, default=None
        Which of the machines are tried; None means all.

    Attributes
    ----------
    loss : float
        The mean loss of the chosen points of all walks; NaN where epsilon is given.
    time : float
        Seconds.
    values : ndarray of shape (L, n_machines) or None
        Leave-one-out values of all machines, once a model has taken what they have learnt.
    """

    values = None

    def __init__(
        self,
        model,
        X,
        target,
        weights,
        solver,
        clock,
        description=None,
        *,
        digests=None,
        rival=None,
        some=None,
    ):
        began = time.perf_counter()
        self.model, self.target, self.solver, self.clock = model, target, solver, clock
        if description is None:
            description = describe_for(model, X, weights, target, digests)
        self.description = description
        self.machines = list(self._make_machines(some))
        rivals = [None] * len(self.machines) if rival is None else rival.walks
        pairs = zip(steps(self.machines, "machine"), rivals, strict=True)
        self.walks = [self._walk(*pair) for pair in pairs]
        self.time = time.perf_counter() - began

    def _make_machines(self, some):
        """Machines before they are solved."""
        tasks, model = self.target.tasks(), self.model
        tasks = tasks if some is None else [tasks[place] for place in some]
        if self.target.shares:
            Y = np.array([task.target for task in tasks])
            yield SharedMachines.of_rows(self.description, Y, self.solver)
            return
        for task in tasks:
            part = self.description.part(task.rows)
            classifies = self.target.classifies
            yield RowsMachine(part, task.target, model.C, classifies, self.solver)

    def _walk(self, machine, rival):
        epsilon, rule = self.model.epsilon, self.model.rule
        if not isinstance(epsilon, str):
            return None
        source = "loo" if epsilon == "auto" else epsilon
        return machine.choose(source, rule, self.clock, rival)

    @cached_property
    def losses(self):
        """Losses of the held-out groups of all machines, and their shares of the weight.

        Those of numbers are shares of the loss of a constant, so that the units of several outputs
        make no difference; a criterion has no units.
        """
        losses, weights = [], []
        shares = not self.target.classifies and self.model.epsilon != "aicc"
        for walk in self.walks:
            if walk is None:
                continue
            scale = max(walk.means[0], np.finfo(float).tiny) if shares else 1.0
            losses.append(walk.losses[walk.best] / scale)
            weights.append(walk.weights)
        if not losses:
            return np.full(1, np.nan), np.ones(1)
        weights = np.concatenate(weights)
        return np.concatenate(losses), weights / weights.sum()

    @property
    def loss(self):
        losses, shares = self.losses
        return float(shares @ losses)

    @property
    def curve(self):
        """Shares of the largest epsilon and mean losses there, as far as all walks go."""
        walks = [walk for walk in self.walks if walk is not None]
        if not walks:
            return np.zeros(0), np.zeros(0)
        count = min(len(walk.means) for walk in walks)
        losses = np.mean([walk.means[:count] for walk in walks], axis=0)
        epsilons = walks[0].epsilons[:count]
        return epsilons / (epsilons[0] or 1.0), losses

    @property
    def n_support(self):
        """Objects that support a machine, about: those of the points of the walks."""
        used = np.zeros(self.description.matrix.shape[1], dtype=bool)
        for machine, walk in zip(self.machines, self.walks, strict=True):
            if walk is not None and walk.solution is not None:
                alpha = getattr(walk.solution, "A", walk.solution)
                used[machine.columns] |= (alpha != 0).reshape(len(alpha), -1).any(axis=1)
        return int(used.sum())

    def solve(self, starts=None):
        """What all machines have learnt.

        `starts` has solutions to start from, one for each machine.
        """
        model, found = self.model, []
        probability = getattr(model, "probability", False)
        for place, (machine, walk) in enumerate(zip(self.machines, self.walks, strict=True)):
            epsilon, start = chosen(model, machine, walk)
            if starts is not None:
                start = starts[place][machine.columns]
            solution = machine.solve(epsilon, self.clock, start)
            fitted = machine.finish(solution, model.threshold, probability)
            found += list(fitted) if self.target.shares else [fitted]
        return found


def chosen(model, machine, walk):
    """Epsilon of a machine and a start of its solution, from its walk or the parameters."""
    if walk is not None:
        return walk.epsilon, walk.solution
    if isinstance(model.epsilon, str):
        return POLICY.fallback * machine.largest, None
    return model.epsilon * (machine.largest if model.epsilon_unit == "max" else 1.0), None
