"""From X to a solution and from new X to f(X): what classifier and regressor share."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .._threads import map_blocks, threads
from .._validation import (
    check_choice,
    check_decisions,
    check_flag,
    check_number,
    check_seed,
    check_storage,
    kernel_values,
)
from ..kernels import Kernel
from ..matrix import (
    BLOCK_BYTES,
    DataMatrix,
    KernelMatrix,
    as_matrix,
    block_slices,
    row_digests,
    times,
)
from ..problem import Problem
from ..solvers import Clock, Status, make_solver, warn_if_not_optimal
from ._description import Machine, Training
from ._epsilon import choose_epsilon
from ._kernel import MEASURED, VECTORIAL, KernelMixin
from ._landmarks import check_landmarks, find_landmarks

SEARCHES = 6
"""With more machines that are alike, epsilon is chosen for so many of them."""


class Description(NamedTuple):
    """How the objects are described."""

    matrix: DataMatrix
    """K."""
    objects: Any = None
    """The descriptive objects; None if only their places are known."""
    kernel: Any = None
    """The kernel, if K is not measured."""


PER_COLUMN = ("alpha_", "column_means_", "column_norms_")
"""Fitted attributes with an entry for each column of K."""


class PerColumn:
    """One of PER_COLUMN in a loaded model, which holds only the entries of its support.

    So its memory is that of its file, however many columns there were. The other entries are
    filled in when somebody asks for them; a search asks its chosen model. After `fit` the attribute
    itself is there, and this is not used.
    """

    def __init__(self, rest):
        self.rest = rest

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, model, owner=None):
        attributes = {} if model is None else vars(model)
        if "best_estimator_" in attributes:
            return getattr(attributes["best_estimator_"], self.name)
        if "_at_support" not in attributes:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        values = attributes["_at_support"][self.name]
        full = np.full((*values.shape[:-1], model._n_columns), self.rest)
        full[..., model.support_] = values
        attributes[self.name] = full
        return full


class PerColumnMixin:
    """The three attributes."""

    alpha_ = PerColumn(0.0)
    column_means_, column_norms_ = PerColumn(np.nan), PerColumn(np.nan)


class BasePSVM(PerColumnMixin, KernelMixin, BaseEstimator):
    """Parameters, fit and decision values of both estimators."""

    def __init__(
        self,
        *,
        C=np.inf,
        epsilon="auto",
        epsilon_unit="absolute",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        landmarks=None,
        n_landmarks=100,
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
        self.epsilon_unit = epsilon_unit
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
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
        return self._kernel_name != "dyadic" and self.landmarks is None

    def _check_parameters(self):
        """Check all parameters and return the solver with its limits."""
        check_number("C", self.C, above=0, infinite=True)
        if isinstance(self.epsilon, str):
            check_choice("epsilon", self.epsilon, ("auto", "aicc"))
        else:
            check_number("epsilon", self.epsilon, least=0)
        check_choice("epsilon_unit", self.epsilon_unit, ("absolute", "max"))
        self._check_kernel()
        check_number("cache_size", self.cache_size, least=0)
        check_storage("dtype", self.dtype)
        check_seed("random_state", self.random_state)
        check_flag("warm_start", self.warm_start)
        check_flag("verbose", self.verbose)
        if self.landmarks is not None and self._kernel_name in MEASURED:
            raise ValueError(
                f"landmarks must be None with kernel={self.kernel!r}: the columns of X are the "
                "descriptive objects already."
            )
        check_landmarks(self.landmarks, self.n_landmarks, self.kernel)
        return make_solver(
            self.solver, tol=self.tol, max_iter=self.max_iter, max_time=self.max_time
        )

    @threads()
    def _fit(self, X, target, weights, solver):
        """Fit the machines of a target (`Labels` or `Numbers`) to validated data."""
        clock = Clock(solver.max_time)
        digests = None
        if isinstance(self.epsilon, str) or self._describes_itself:
            digests = self._digests(X)
        description = self._describe(X, weights)
        training = self._make_training(description, weights, digests)
        tasks = target.tasks()
        starts = self._make_starts(len(tasks), training.matrix.shape[1])
        share = None
        if isinstance(self.epsilon, str) and target.alike and len(tasks) > SEARCHES:
            share = self._common_share(training, tasks, digests, clock, solver)
        machines = []
        for task, start in zip(tasks, starts, strict=True):
            part = training.part(task.rows)
            start = None if start is None else start[part.columns]
            epsilon = self._choose(part, task, digests, clock.limit(solver), share)
            machines.append(self._train(part, task, epsilon, clock.limit(solver), start))
        self._keep(machines, description, target.single)
        if self.verbose:
            for machine in machines:
                solution = machine.solution
                print(f"[{type(self).__name__}] epsilon={solution.epsilon:.6g} {solution}")
        warn_if_not_optimal(max((m.solution for m in machines), key=_badness))
        return self

    def _digests(self, X):
        return row_digests(X, unordered=self._kernel_name == "precomputed")

    def _make_training(self, description, weights, digests):
        identity = None
        if self._describes_itself:
            identity = np.unique(digests, return_inverse=True)[1]
        elif self._own_columns:
            identity = np.arange(len(weights))
        columns = np.arange(description.matrix.shape[1])
        return Training(description.matrix, weights, identity, columns)

    def _common_share(self, training, tasks, digests, clock, solver):
        """A share of epsilon_max for machines that are alike, from some of them.

        Each of these has its own best share, and the geometric mean serves all.
        """
        some = np.linspace(0, len(tasks) - 1, SEARCHES).round().astype(np.intp)
        shares = []
        for task in (tasks[i] for i in some):
            part = training.part(task.rows)
            largest = self._problem(part, task).epsilon_max
            if largest > 0:
                chosen = self._choose(part, task, digests, clock.limit(solver))
                shares.append(chosen / largest)
        return float(np.exp(np.mean(np.log(shares)))) if shares else None

    def _choose(self, training, task, digests, solver, share=None):
        """The epsilon of one machine."""
        if not isinstance(self.epsilon, str):
            if self.epsilon_unit == "absolute":
                return self.epsilon
            share = self.epsilon
        if share is not None:
            return share * self._problem(training, task).epsilon_max
        return choose_epsilon(
            self.epsilon,
            training.matrix,
            task.target,
            weights=training.weights,
            usable=training.usable,
            digests=[digests[i] for i in task.rows],
            own_columns=self._own_columns,
            C=self.C,
            solver=solver,
        )

    def _problem(self, training, task):
        y = task.target
        return Problem.create(training.standardized(y), y, self.C, 0.0)

    def _train(self, training, task, epsilon, solver, start):
        """Fit one machine."""
        problem = self._problem(training, task).with_parameters(epsilon=epsilon)
        solution = solver.minimise(problem, start=start)
        return Machine(training.columns, problem.K.means, problem.K.norms, problem.b, solution)

    @property
    def _describes_itself(self):
        """Whether the distinct training objects are the descriptive ones."""
        return self._kernel_name not in MEASURED and self.landmarks is None

    def _describe(self, X, weights):
        """The data matrix and what its columns stand for."""
        name = self._kernel_name
        if name == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed matrix must be a square matrix, got {X.shape[0]} x "
                f"{X.shape[1]}. Use kernel='dyadic' if columns and rows are different objects."
            )
        if name in MEASURED:
            return Description(as_matrix(X))
        kernel = self._make_kernel(X, weights)
        prepared = kernel.prepare(self._rounded(X))
        if self._describes_itself:
            return self._kernel_description(kernel, prepared, prepared, X)
        Z = find_landmarks(
            self.landmarks,
            X,
            weights,
            count=self.n_landmarks,
            kernel=kernel,
            names=getattr(self, "feature_names_in_", None),
            random_state=self.random_state,
        )
        described = kernel.prepare(self._rounded(Z))
        return self._kernel_description(kernel, prepared, described, Z)

    def _kernel_description(self, kernel, X, Z, objects):
        matrix = KernelMatrix(kernel.evaluate, X, Z, self.cache_size, self.dtype)
        return Description(matrix, objects, kernel)

    def _rounded(self, X):
        """Vectors in the precision of the kernel values; as they are for a user's function."""
        ours = self._kernel_name in VECTORIAL or isinstance(self.kernel, Kernel)
        return X.astype(self.dtype, copy=False) if ours and self._takes_vectors else X

    def _make_starts(self, n_machines, P):
        if not (self.warm_start and hasattr(self, "alpha_")):
            return [None] * n_machines
        alphas = np.atleast_2d(self.alpha_)
        if alphas.shape != (n_machines, P):
            raise ValueError(
                f"warm_start=True continues from {alphas.shape[0]} machines with "
                f"{alphas.shape[1]} descriptive objects, but there are {n_machines} with {P} now. "
                "Use warm_start=False or a clone of the estimator."
            )
        return alphas

    def _keep(self, machines, description, single):
        """Set all fitted attributes at once: a fit that fails or is stopped changes no model.

        Of the descriptive objects only the support is kept.
        """
        solutions = tuple(machine.solution for machine in machines)
        alpha, means, norms = np.zeros((3, len(machines), description.matrix.shape[1]))
        for number, machine in enumerate(machines):
            alpha[number, machine.columns] = machine.solution.alpha
            means[number, machine.columns] = machine.means
            norms[number, machine.columns] = machine.norms
        support = np.flatnonzero(alpha.any(axis=0))
        intercepts = np.array([machine.intercept for machine in machines])
        epsilons = np.array([solution.epsilon for solution in solutions])
        self.epsilon_ = float(epsilons[0]) if single else epsilons
        self.alpha_ = alpha[0] if single else alpha
        self.support_ = support
        self.n_support_ = len(support)
        self.intercept_ = float(intercepts[0]) if single else intercepts
        self.column_means_ = means[0] if single else means
        self.column_norms_ = norms[0] if single else norms
        self.dual_gap_ = max(solution.gap for solution in solutions)
        self.kkt_violation_ = max(solution.kkt_violation for solution in solutions)
        self.n_iter_ = sum(solution.n_iter for solution in solutions)
        self.solutions_ = solutions
        if single:
            self.solution_ = solutions[0]
        else:
            vars(self).pop("solution_", None)
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
        """Values of all machines, one per column.

        ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b`` over the support objects.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        alpha, means, norms = (np.atleast_2d(self._support_values(name)) for name in PER_COLUMN)
        # Columns without part in a machine have alpha = 0 and norm 0.
        coef = np.divide(alpha, norms, out=np.zeros_like(alpha), where=alpha != 0)
        # Values are centred before they are summed: a large mean costs no digits.
        centre = means[0]
        shift = self.intercept_ - ((means - centre) * coef).sum(axis=1)

        def values(rows):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                K_b = self._support_columns(X[rows])
                if K_b.dtype == np.float32:
                    K_b = np.ascontiguousarray(K_b)
                    single = len(coef) == 1
                    f = times(K_b, coef[0])[:, None] if single else times(K_b, coef.T)
                    return f - coef @ centre + shift
                return (K_b - centre) @ coef.T + shift

        # Blocks of rows whose kernel values stay in the cache.
        blocks = block_slices(X.shape[0], 8 * max(len(self.support_), 1), size=BLOCK_BYTES // 4)
        with threads():
            decisions = np.concatenate(map_blocks(values, blocks))
        return check_decisions(decisions, self.kernel)

    def _support_values(self, name):
        """The entries of the support in one of PER_COLUMN."""
        full = vars(self).get(name)
        return self._at_support[name] if full is None else full[..., self.support_]

    def _support_columns(self, X):
        """The columns of the support objects."""
        if len(self.support_) == 0:
            return np.empty((X.shape[0], 0))
        if self._kernel_name in MEASURED:
            K = X[:, self.support_]
            return K.toarray() if sp.issparse(K) else K
        prepared = self._kernel.prepare(self._rounded(X))
        return kernel_values(self._kernel.evaluate, prepared, self._prepared_support)


def _badness(solution):
    """The KKT violation as a share of epsilon, of those that did not get to their tolerance."""
    optimal = solution.status is Status.OPTIMAL
    return 0.0 if optimal else solution.kkt_violation / max(solution.epsilon, 1e-300)
