"""The training points as the solvers need them: features, a Gram matrix, or a lazy one."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from ..matrix import KernelMatrix, as_dense, as_matrix, block_slices, dense_copy
from ..solvers import BinaryTarget, Clock, Limits, OutOfTime, start_solution
from ._direct import Decomposition, center_gram, solve_gram
from ._incremental import solve_incremental
from ._machine import SpheredMachine

CROSSOVER = 1500
"""From this number of points on the incremental solver is tried first."""
GIVE_UP = 0.1
"""With more basis points than this share of the points the direct solver takes over."""
INDEFINITE = 1e-7
"""An eigenvalue below minus this share of the trace is negative: single precision is allowed."""
ASYMMETRIC = 1e-8
"""Difference of two entries, relative to the largest, that is not rounding."""


@dataclass(frozen=True)
class SpheredOptions:
    """The parameters of the problem and of its solvers."""

    C: float
    center: bool
    solver: str
    tol: float
    max_iter: int | None
    max_time: float | None
    cache_size: float


class TrainingPoints:
    """The training points and how long a pair of classes may take."""

    def __init__(self, weights, options):
        self.weights, self.options = weights, options
        self._clock = Clock(options.max_time)

    def _begin(self):
        """Limits with a running clock; what serves all pairs counts for the first one."""
        options = self.options
        clock, self._clock = self._clock or Clock(options.max_time), None
        return Limits(options.tol, options.max_iter, clock)

    def _target(self, rows, y):
        return BinaryTarget(y, self.weights[rows], self.options.C)

    def _give_up(self, rows, y):
        """The machine of a pair whose time was over before it had a matrix."""
        target = self._target(rows, y)
        n_objects = len(self.objects_of(rows))
        return SpheredMachine.without_solution(start_solution(target), n_objects, target.weights)


class TrainingFeatures(TrainingPoints):
    """Points with a linear kernel and fewer features than points: no Gram matrix is formed.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (L, N)
    weights : ndarray of shape (L,)
    options : SpheredOptions
    """

    def __init__(self, X, weights, options):
        super().__init__(weights, options)
        X = as_dense(X)
        self.origin = X.mean(axis=0) if options.center else np.zeros(X.shape[1])
        self.rows = X - self.origin

    def objects_of(self, rows):
        """What the coefficients of a machine of these rows belong to."""
        return np.arange(self.rows.shape[1])

    def path(self, rows, y, lams):
        """Machines of some points for several lam from one decomposition."""
        limits, target = self._begin(), self._target(rows, y)
        X = self.rows[rows]
        mean = target.share @ X if self.options.center else np.zeros(X.shape[1])
        X = X - mean
        decompositions = {}
        for pure in {lam == 0 for lam in lams}:
            if limits.clock.over:
                return [self._give_up(rows, y)] * len(lams)
            decompositions[pure] = Decomposition.of_features(X, target.weights, scale=pure)
        start, machines = None, []
        for lam in lams:
            machine = decompositions[lam == 0].solve(target, lam=lam, limits=limits, start=start)
            start = machine.solution.v
            intercept = machine.intercept - mean @ machine.coef
            machines.append(replace(machine, intercept=float(intercept)))
        return machines

    def solve(self, rows, y, lam):
        """The machine of some points."""
        return self.path(rows, y, [lam])[0]


class TrainingGram(TrainingPoints):
    """Points with any positive semidefinite kernel.

    Parameters
    ----------
    X : objects or {array, sparse matrix}
        What the kernel takes, or the matrix itself if `kernel` is None.
    kernel : Kernel or None
        If it is not known to be positive semidefinite, its matrix is checked.
    weights : ndarray of shape (L,)
    options : SpheredOptions

    Attributes
    ----------
    X : prepared objects
    """

    def __init__(self, X, kernel, weights, options):
        super().__init__(weights, options)
        self.kernel = kernel
        self.X = None if kernel is None else kernel.prepare(X)
        self.K = dense_copy(X) if kernel is None else None
        if kernel is None:
            _symmetrise(self.K)
        self._definite = kernel is not None and kernel.positive_definite

    def matrix(self, limits=None):
        """The Gram matrix of all points, evaluated once."""
        if self.K is None:
            lazy = KernelMatrix(self.kernel.evaluate, self.X, self.X, cache_size=0)
            K = np.empty(lazy.shape)
            for block in block_slices(len(K), 8 * len(K)):
                if limits is not None:
                    limits.check_time()
                K[block] = lazy.columns(block).T
            _symmetrise(K)
            self.K = K
        return self.K

    def _check(self, limits):
        """Refuse an indefinite matrix, once."""
        if not self._definite:
            K = self.matrix(limits)
            limits.check_time()
            _check_definite(K, self.options.center and self.options.solver != "incremental")
            self._definite = True

    @property
    def rows(self):
        """Kernel values of all points with all points."""
        return self.matrix()

    def objects_of(self, rows):
        """What the coefficients of a machine of these rows belong to."""
        return rows

    def path(self, rows, y, lams):
        """Machines of some points for several lam from one decomposition."""
        limits, target = self._begin(), self._target(rows, y)
        try:
            self._check(limits)
            K = self.matrix(limits)[np.ix_(rows, rows)]
            means = center_gram(K, target.share) if self.options.center else np.zeros(len(K))
            limits.check_time()
        except OutOfTime:
            return [self._give_up(rows, y)] * len(lams)
        decomposition = Decomposition.of_gram(K, target.weights)
        start, machines = None, []
        for lam in lams:
            machine = decomposition.solve(target, lam=lam, limits=limits, means=means, start=start)
            start = machine.solution.v
            machines.append(machine)
        return machines

    def solve(self, rows, y, lam):
        """The machine of some points, by the solver of the options; all points can have but one."""
        o, target, limits = self.options, self._target(rows, y), self._begin()
        problem = {"lam": lam, "center": o.center, "limits": limits}
        choice = o.solver
        if choice == "auto":
            choice = "incremental" if len(rows) > CROSSOVER and 0 < lam < 1 else "direct"
        machine = None
        try:
            self._check(limits)
            if choice == "incremental":
                most = GIVE_UP * len(rows) if o.solver == "auto" else None
                machine = solve_incremental(*self._lazy(rows), target, **problem, most=most)
            if machine is None:
                machine = solve_gram(self._take(rows, limits), target, **problem)
        except OutOfTime:
            return self._give_up(rows, y)
        return machine

    def _take(self, rows, limits):
        """The matrix of some points, to be overwritten: of all points the only one there is."""
        K = self.matrix(limits)
        if len(rows) < len(K):
            return K[np.ix_(rows, rows)]
        self.K = None
        return K

    def _lazy(self, rows):
        """The matrix of some points, evaluated where it is needed, and its diagonal."""
        if self.K is not None:
            K = self.K if len(rows) == len(self.K) else self.K[np.ix_(rows, rows)]
            return as_matrix(K), np.diagonal(K).copy()
        X = self.X[rows]
        K = KernelMatrix(self.kernel.evaluate, X, X, self.options.cache_size)
        return K, np.array(self.kernel.diagonal(X), dtype=np.float64)


def _symmetrise(K):
    """Replace K by ``(K + K') / 2``, which must not differ from it by more than rounding."""
    difference = largest = 0.0
    for rows in block_slices(len(K), 8 * len(K)):
        upper, lower = K[rows, rows.start :], K[rows.start :, rows].T
        difference = max(difference, np.abs(upper - lower).max())
        largest = max(largest, np.abs(upper).max())
        lower[:] = upper[:] = 0.5 * (upper + lower)
    if difference > ASYMMETRIC * largest:
        raise ValueError(
            f"The Gram matrix is not symmetric (entries differ by up to {difference:.3g}), and the "
            "Sphered SVM needs a positive semidefinite one. PSVC accepts any matrix."
        )


def _check_definite(K, center):
    """Refuse an indefinite matrix."""
    copy = _checked_part(K, center)
    slack = INDEFINITE * max(np.trace(copy), copy.max(), -copy.min())
    copy.flat[:: len(K) + 1] += slack
    _, failed = sl.lapack.dpotrf(copy.T, lower=True, clean=False, overwrite_a=True)
    if failed:
        smallest = sl.eigh(_checked_part(K, center), eigvals_only=True, subset_by_index=[0, 0])[0]
        if smallest < -slack:
            raise ValueError(
                f"The Gram matrix is indefinite: its smallest eigenvalue is {smallest:.6g}. The "
                "Sphered SVM needs a positive semidefinite kernel; PSVC accepts any matrix."
            )


def _checked_part(K, center):
    """A copy of what must be positive semidefinite."""
    copy = K.copy()
    if center:
        center_gram(copy, np.full(len(K), 1.0 / len(K)))
    return copy
