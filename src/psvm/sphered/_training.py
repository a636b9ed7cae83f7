"""The training points as the solvers need them: features, a Gram matrix, or a lazy one."""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from ..matrix import KernelMatrix, as_matrix
from ._direct import Spectrum, center_gram, solve_gram
from ._dual import Limits
from ._incremental import solve_incremental

CROSSOVER = 1500
"""From this number of points on the incremental solver is tried first."""
GIVE_UP = 0.15
"""With more basis points than this share of the points the direct solver takes over."""
INDEFINITE = 1e-7
"""An eigenvalue below minus this share of the trace is negative: single precision is allowed."""
ASYMMETRIC = 1e-8
"""Difference of two entries, relative to the largest, that is not rounding."""


@dataclass(frozen=True)
class Options:
    """The parameters of the problem and of its solvers."""

    C: float
    center: bool
    solver: str
    limits: Limits
    cache_size: float


class Features:
    """Points with a linear kernel and fewer features than points: no Gram matrix is formed.

    Parameters
    ----------
    X : {array, sparse matrix} of shape (L, N)
    options : Options
    """

    def __init__(self, X, options):
        X = X.toarray() if sp.issparse(X) else X
        self.options = options
        self.origin = X.mean(axis=0) if options.center else np.zeros(X.shape[1])
        self.rows = X - self.origin

    def row_objects(self, rows):
        """What the coefficients of a machine of these rows belong to."""
        return np.arange(self.rows.shape[1])

    def path(self, rows, y, lams):
        """Machines of some points for several lam from one decomposition."""
        X = self.rows[rows]
        mean = X.mean(axis=0) if self.options.center else np.zeros(X.shape[1])
        X = X - mean
        spectra = {pure: Spectrum.of_features(X, scale=pure) for pure in {lam == 0 for lam in lams}}
        start, machines = None, []
        for lam in lams:
            machine = spectra[lam == 0].solve(
                y, lam=lam, C=self.options.C, limits=self.options.limits, start=start
            )
            start = machine.solution.v
            intercept = machine.intercept - mean @ machine.coef
            machines.append(replace(machine, intercept=float(intercept)))
        return machines

    def solve(self, rows, y, lam):
        """The machine of some points."""
        return self.path(rows, y, [lam])[0]


class Gram:
    """Points with any positive semidefinite kernel.

    Parameters
    ----------
    X : objects or {array, sparse matrix}
        What the kernel takes, or the matrix itself if `kernel` is None.
    kernel : Kernel or None
        If it is not known to be positive semidefinite, its matrix is checked.
    options : Options

    Attributes
    ----------
    X : prepared objects
    """

    def __init__(self, X, kernel, options):
        self.kernel, self.options = kernel, options
        self.X = None if kernel is None else kernel.prepare(X)
        self.K = _symmetric(X) if kernel is None else None
        if kernel is None or not kernel.positive_definite:
            centred = options.center and options.solver != "incremental"
            _check_definite(self.matrix().copy(), centred)

    def matrix(self):
        """The Gram matrix of all points, evaluated once."""
        if self.K is None:
            lazy = KernelMatrix(self.kernel.evaluate, self.X, self.X, cache_size=0)
            self.K = _symmetric(lazy.columns(slice(None)))
        return self.K

    @property
    def rows(self):
        """Kernel values of all points with all points."""
        return self.matrix()

    def row_objects(self, rows):
        """What the coefficients of a machine of these rows belong to."""
        return rows

    def path(self, rows, y, lams):
        """Machines of some points for several lam from one decomposition."""
        K = self.matrix()[np.ix_(rows, rows)]
        means = center_gram(K) if self.options.center else np.zeros(len(K))
        spectrum = Spectrum.of_gram(K)
        start, machines = None, []
        for lam in lams:
            machine = spectrum.solve(
                y, lam=lam, C=self.options.C, limits=self.options.limits, means=means, start=start
            )
            start = machine.solution.v
            machines.append(machine)
        return machines

    def solve(self, rows, y, lam):
        """The machine of some points, by the solver of the options."""
        o = self.options
        problem = {"lam": lam, "C": o.C, "center": o.center, "limits": o.limits}
        choice = o.solver
        if choice == "auto":
            choice = "incremental" if len(rows) > CROSSOVER and 0 < lam < 1 else "direct"
        machine = None
        if choice == "incremental":
            most = GIVE_UP * len(rows) if o.solver == "auto" else None
            machine = solve_incremental(*self._lazy(rows), y, **problem, most=most)
        if machine is None:
            machine = solve_gram(self.matrix()[np.ix_(rows, rows)], y, **problem)
        return machine

    def _lazy(self, rows):
        """The matrix of some points, evaluated where it is needed, and its diagonal."""
        if self.K is not None:
            K = self.K if len(rows) == len(self.K) else self.K[np.ix_(rows, rows)]
            return as_matrix(K), np.diagonal(K).copy()
        X = self.X[rows]
        K = KernelMatrix(self.kernel.evaluate, X, X, self.options.cache_size)
        return K, np.array(self.kernel.diagonal(X), dtype=np.float64)


def _symmetric(K):
    """K as a symmetric array."""
    K = np.asarray(K.toarray() if sp.issparse(K) else K, dtype=np.float64)
    difference = np.abs(K - K.T).max()
    if difference > ASYMMETRIC * np.abs(K).max():
        raise ValueError(
            f"The Gram matrix is not symmetric (entries differ by up to {difference:.3g}), and the "
            "Sphered SVM needs a positive semidefinite one. PSVC accepts any matrix."
        )
    return 0.5 * (K + K.T)


def _check_definite(K, center):
    """Refuse an indefinite matrix; K is overwritten."""
    if center:
        center_gram(K)
    slack = INDEFINITE * max(np.trace(K), np.abs(K).max())
    try:
        shifted = K.copy()
        shifted.flat[:: len(K) + 1] += slack
        sl.cholesky(shifted, overwrite_a=True, check_finite=False)
    except sl.LinAlgError:
        smallest = sl.eigh(K, eigvals_only=True, subset_by_index=[0, 0])[0]
        if smallest < -slack:
            raise ValueError(
                f"The Gram matrix is indefinite: its smallest eigenvalue is {smallest:.6g}. The "
                "Sphered SVM needs a positive semidefinite kernel; PSVC accepts any matrix."
            ) from None
