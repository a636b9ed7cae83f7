"""From X to a solution and from new X to f(X): what classifier and regressor share."""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ._epsilon import choose_epsilon, row_digests
from ._kernel_choice import MEASURED, VECTORIAL, KernelMixin
from ._row_objects import check_row_objects, find_row_objects
from ._solve import make_solver, warn_if_not_optimal
from ._threads import map_blocks, threads
from ._validation import check_choice, check_number, check_storage
from .kernels import Kernel
from .matrix import (
    BLOCK_BYTES,
    DataMatrix,
    KernelMatrix,
    Standardized,
    as_matrix,
    block_slices,
    times,
)
from .problem import Problem


class Description(NamedTuple):
    """How the objects are described."""

    matrix: DataMatrix
    """K."""
    usable: np.ndarray
    """Which of its columns take part."""
    objects: Any = None
    """The descriptive objects; None if only their places are known."""
    kernel: Any = None
    """The kernel, if K is not measured."""


class BasePSVM(KernelMixin, BaseEstimator):
    """Parameters, fit and decision values of both estimators."""

    def __init__(
        self,
        *,
        C=np.inf,
        epsilon="auto",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        row_objects=None,
        n_row_objects=100,
        random_state=None,
        tol=1e-4,
        max_iter=None,
        max_time=None,
        solver="auto",
        cache_size=1000,
        dtype=np.float64,
        warm_start=False,
        verbose=False,
    ):
        self.C = C
        self.epsilon = epsilon
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta
        self.row_objects = row_objects
        self.n_row_objects = n_row_objects
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.solver = solver
        self.cache_size = cache_size
        self.dtype = dtype
        self.warm_start = warm_start
        self.verbose = verbose

    @property
    def _own_columns(self):
        """Whether column j of K belongs to row j."""
        return self._kernel_name != "dyadic" and self.row_objects is None

    def _check_parameters(self):
        """Check all parameters and return the solver with its limits."""
        check_number("C", self.C, above=0, infinite=True)
        if isinstance(self.epsilon, str):
            check_choice("epsilon", self.epsilon, ("auto", "aicc"))
        else:
            check_number("epsilon", self.epsilon, least=0)
        self._check_kernel()
        check_number("cache_size", self.cache_size, least=0)
        check_storage("dtype", self.dtype)
        if self.row_objects is not None and self._kernel_name in MEASURED:
            raise ValueError(
                f"row_objects must be None with kernel={self.kernel!r}: the columns of X are the "
                "descriptive objects already."
            )
        check_row_objects(self.row_objects, self.n_row_objects, self.kernel)
        return make_solver(
            self.solver, tol=self.tol, max_iter=self.max_iter, max_time=self.max_time
        )

    @threads()
    def _fit(self, X, y, weights, solver):
        """Fit to validated data with a numeric target and an array of weights."""
        began = time.perf_counter()
        digests = None
        if isinstance(self.epsilon, str) or self._describes_itself:
            digests = row_digests(X, unordered=self._kernel_name == "precomputed")
        description = self._describe(X, weights, digests)
        matrix, usable = description.matrix, description.usable
        start = self._make_start(matrix.shape[1])
        epsilon = self.epsilon
        if isinstance(self.epsilon, str):
            epsilon = choose_epsilon(
                self.epsilon,
                matrix,
                y,
                weights=weights,
                usable=usable,
                digests=digests,
                own_columns=self._own_columns,
                C=self.C,
                solver=solver,
            )
        if solver.max_time is not None:
            left = solver.max_time - (time.perf_counter() - began)
            solver = replace(solver, max_time=max(left, 1e-9))
        K = Standardized(matrix, weights, usable, y)
        problem = Problem.create(K, y, self.C, epsilon)
        solution = solver.minimise(problem, start=start)
        self._keep(problem, solution, description)
        if self.verbose:
            print(f"[{type(self).__name__}] epsilon={self.epsilon_:.6g} {solution}")
        warn_if_not_optimal(solution)
        return self

    @property
    def _describes_itself(self):
        """Whether the distinct training objects are the descriptive ones."""
        return self._kernel_name not in MEASURED and self.row_objects is None

    def _describe(self, X, weights, digests):
        """The data matrix, which of its columns take part, and what they stand for.

        Where the training objects are the descriptive ones, an object without weight does not
        describe, and equal ones describe once: weight 2 must equal the row twice, also when C
        is finite.
        """
        name = self._kernel_name
        if name == "dyadic":
            return Description(as_matrix(X), np.ones(X.shape[1], dtype=bool))
        if name == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"A precomputed matrix must be a square matrix, got {X.shape[0]} x "
                    f"{X.shape[1]}. Use kernel='dyadic' if columns and rows are different objects."
                )
            return Description(as_matrix(X), weights > 0)
        kernel = self._make_kernel(X, weights)
        prepared = kernel.prepare(self._rounded(X))
        if self._describes_itself:
            first = {d: j for j, d in reversed(list(enumerate(digests))) if weights[j] > 0}
            usable = np.zeros(X.shape[0], dtype=bool)
            usable[list(first.values())] = True
            return self._kernel_description(kernel, prepared, prepared, usable, X)
        Z = find_row_objects(
            self.row_objects,
            X,
            weights,
            count=self.n_row_objects,
            kernel=kernel,
            names=getattr(self, "feature_names_in_", None),
            random_state=self.random_state,
        )
        usable = np.ones(Z.shape[0], dtype=bool)
        described = kernel.prepare(self._rounded(Z))
        return self._kernel_description(kernel, prepared, described, usable, Z)

    def _kernel_description(self, kernel, X, Z, usable, objects):
        matrix = KernelMatrix(kernel.evaluate, X, Z, self.cache_size, self.dtype)
        return Description(matrix, usable, objects, kernel)

    def _rounded(self, X):
        """Vectors in the precision of the kernel values; as they are for a user's function."""
        ours = self._kernel_name in VECTORIAL or isinstance(self.kernel, Kernel)
        return X.astype(self.dtype, copy=False) if ours and self._takes_vectors else X

    def _make_start(self, P):
        if not (self.warm_start and hasattr(self, "alpha_")):
            return None
        if len(self.alpha_) != P:
            raise ValueError(
                f"warm_start=True continues from {len(self.alpha_)} descriptive objects, but there "
                f"are {P} now. Use warm_start=False or a clone of the estimator."
            )
        return self.alpha_

    def _keep(self, problem, solution, description):
        """Set all fitted attributes at once: a fit that fails or is stopped changes no model.

        Of the descriptive objects only the support is kept.
        """
        support = solution.support
        self.epsilon_ = problem.epsilon
        self.alpha_ = solution.alpha
        self.support_ = support
        self.n_support_ = len(support)
        self.intercept_ = problem.b
        self.column_means_ = problem.K.means
        self.column_norms_ = problem.K.norms
        self.dual_gap_ = solution.gap
        self.kkt_violation_ = solution.kkt_violation
        self.n_iter_ = solution.n_iter
        self.solution_ = solution
        if self._kernel_name not in MEASURED:
            self._kernel = description.kernel
            self.support_objects_ = description.objects[support]
            self._prepare_support()
        elif self._kernel_name == "dyadic" and hasattr(self, "feature_names_in_"):
            self.support_objects_ = self.feature_names_in_[support]
        else:
            self.support_objects_ = support

    def _prepare_support(self):
        """Translate the support objects for the kernel: nothing of the other objects is kept."""
        objects = self.support_objects_
        # A user's kernel need not know what to do with no objects.
        some = objects.shape[0] > 0
        self._prepared_support = self._kernel.prepare(self._rounded(objects)) if some else None

    def _decide(self, X):
        """``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b`` over the support objects."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        support = self.support_
        means, coef = (
            self.column_means_[support],
            self.alpha_[support] / self.column_norms_[support],
        )

        def values(rows):
            K_b = self._support_columns(X[rows])
            if K_b.dtype == np.float32:
                return times(np.ascontiguousarray(K_b), coef) - means @ coef + self.intercept_
            return (K_b - means) @ coef + self.intercept_

        # Blocks of rows whose kernel values stay in the cache.
        blocks = block_slices(X.shape[0], 8 * max(len(support), 1), size=BLOCK_BYTES // 4)
        with threads():
            return np.concatenate(map_blocks(values, blocks))

    def _support_columns(self, X):
        """The columns of the support objects."""
        if len(self.support_) == 0:
            return np.empty((X.shape[0], 0))
        if self._kernel_name in MEASURED:
            K = X[:, self.support_]
            return K.toarray() if sp.issparse(K) else K
        return self._kernel.evaluate(self._kernel.prepare(self._rounded(X)), self._prepared_support)
