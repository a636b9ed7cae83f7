"""From X to a solution and from new X to f(X): what classifier and regressor share."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from .._parameters import (
    LIMITS,
    Choice,
    Either,
    Flag,
    Later,
    Number,
    Storage,
    check_parameters,
)
from .._progress import progress, steps
from .._threads import map_blocks, threads
from .._typing import DTypeLike, KernelLike, RandomState, Stored
from .._validation import check_decisions, kernel_values
from ..kernels import Linear
from ..matrix import BLOCK_BYTES, FoldMoments, as_dense, block_slices, times
from ..solvers import Clock, Solution, Solver, Status, make_solver, warn_if_not_optimal
from ._calibration import Calibration, fit_steps
from ._description import describe_for, is_measured, rounded
from ._epsilon import choose_epsilon
from ._kernel import KernelMixin
from ._landmarks import LANDMARKS, by_rows, check_landmarks
from ._machine import Machine, finish_machine, relaxation_of
from ._shared import fit_shared, is_crowded
from ._sigmoid import fit_sigmoid
from ._target import Labels

if TYPE_CHECKING:
    from ._moments_plan import MomentsPlan

SEARCHES = 6
"""With more machines that are alike, epsilon is chosen for so many of them."""
PER_COLUMN = ("alpha_", "column_means_", "column_norms_")
"""Fitted attributes with an entry for each column of K."""
OF_BLOCKS = ("plan_", "sums_", "_survey", "held_out_error_", "fold_errors_")
"""Attributes that only a fit to blocks of rows sets."""


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

    def __get__(self, model: Any, owner: Any = None) -> np.ndarray:
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


class InOriginalUnits:
    """``f(x) = sum_j dual_coef_j k(x, z_j) + intercept_``, or ``x'coef_ + intercept_``.

    `offset_` is the constant where columns are centred. With a linear or dyadic kernel f is linear
    in x. A class has neither attribute, so that a file may have their names.
    """

    def __init__(self, function):
        self.function = function

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, model: Any, owner: Any = None) -> float | np.ndarray:
        model = None if model is None else getattr(model, "best_estimator_", model)
        found = None if "offset_" not in vars(model or self) else self.function(model)
        if found is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        return found


def dual_coef(model):
    """``alpha_j / s_j`` of the support objects; a row for each machine.

    Columns without part in a machine have alpha = 0 and norm 0.
    """
    alpha, _, norms = (np.atleast_2d(support_values(model, name)) for name in PER_COLUMN)
    return np.divide(alpha, norms, out=np.zeros_like(alpha), where=alpha != 0)


def _intercept(model):
    means = np.atleast_2d(support_values(model, "column_means_"))
    shift = (np.where(dual_coef(model) != 0, means, 0.0) * dual_coef(model)).sum(axis=1)
    return model.offset_ - (shift if np.ndim(model.offset_) else float(shift[0]))


def _coef(model):
    """The weights of the features; None if f is not linear in them."""
    kernel, coef = model.kernel, dual_coef(model)
    if isinstance(kernel, str) and kernel == "dyadic":
        full = np.zeros((len(coef), model.n_features_in_))
        full[:, model.support_] = coef
    elif isinstance(kernel, Linear) or (isinstance(kernel, str) and kernel == "linear"):
        full = coef @ as_dense(model.support_objects_)
    else:
        return None
    return full if np.ndim(model.offset_) else full[0]


class PerColumnMixin:
    """Fitted attributes of a model and of a search; those of PER_COLUMN are descriptors."""

    epsilon_: float | np.ndarray
    landmarks_: np.ndarray | None
    support_: np.ndarray
    support_objects_: Stored
    n_support_: int
    offset_: float | np.ndarray
    held_out_error_: float
    fold_errors_: np.ndarray
    plan_: MomentsPlan
    sums_: FoldMoments
    loo_decision_: np.ndarray
    loo_error_: float
    dual_gap_: float
    kkt_violation_: float
    n_iter_: int
    solution_: Solution
    solutions_: tuple[Solution, ...]
    n_features_in_: int
    feature_names_in_: np.ndarray

    alpha_ = PerColumn(0.0)
    column_means_, column_norms_ = PerColumn(np.nan), PerColumn(np.nan)
    coef_, intercept_ = InOriginalUnits(_coef), InOriginalUnits(_intercept)


class BasePSVM(PerColumnMixin, KernelMixin, BaseEstimator):
    """Parameters, fit and decision values of both estimators."""

    _constraints: ClassVar = {
        "C": Number(above=0, infinite=True),
        "epsilon": Either(Choice("auto", "cv", "aicc"), Number(least=0)),
        "epsilon_unit": Choice("absolute", "max"),
        "relaxation": Either(Choice("auto"), Number(least=0, most=1)),
        "threshold": Choice("loo", "mean"),
        **LANDMARKS,
        **LIMITS,
        "solver": Later(),
        "cache_size": Number(least=0),
        "dtype": Storage(),
        "warm_start": Flag(),
        "verbose": Flag(),
    }

    def __init__(
        self,
        *,
        C: float = np.inf,
        epsilon: float | Literal["auto", "cv", "aicc"] = "auto",
        epsilon_unit: Literal["absolute", "max"] = "absolute",
        relaxation: float | Literal["auto"] = "auto",
        threshold: Literal["loo", "mean"] = "loo",
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
        landmarks: Any = None,
        n_landmarks: int = 100,
        random_state: RandomState = None,
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_time: float | None = None,
        solver: Literal["auto"] | Solver = "auto",
        cache_size: float = 1000,
        dtype: DTypeLike = np.float64,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        self.C = C
        self.epsilon = epsilon
        self.epsilon_unit = epsilon_unit
        self.relaxation = relaxation
        self.threshold = threshold
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

    def _fit(self, X, target, weights, solver, description=None, starts=None):
        """Fit the machines of a target (`Labels` or `Numbers`) to validated data.

        Who knows the description, and solutions to start from in its columns, may give them.
        """
        with threads(), progress(type(self).__name__, self.verbose):
            clock, machines, tasks = Clock(solver.max_time), [], target.tasks()
            epsilon, unit = self.epsilon, self.epsilon_unit
            some = target.shares and isinstance(epsilon, str)
            describe = partial(describe_for, self, X, weights, target)
            if description is None:
                description = describe(some=some)
            self._tell_landmarks(description)
            starts = self._make_starts(len(tasks), description) if starts is None else starts
            if target.shares:
                machines = self._fit_shared(description, tasks, solver, clock)
                if some and is_crowded(description, machines[0].solution):
                    description = describe()
                    self._tell_landmarks(description)
                    machines = self._fit_shared(description, tasks, solver, clock)
                tasks, starts = [], []
            elif isinstance(epsilon, str) and target.alike and len(tasks) > SEARCHES:
                epsilon, unit = self._common_share(description, tasks, target, clock, solver)
            for task, start in zip(steps(tasks, "machine"), starts, strict=True):
                part = description.part(task.rows)
                problem = part.problem(task.target, self.C)
                start = None if start is None else start[part.columns]
                if isinstance(epsilon, str):
                    limited = clock.limit(solver)
                    chosen, near = self._choose(part, task.target, target, limited)
                    start = near if start is None else start
                else:
                    chosen = epsilon * (problem.epsilon_max if unit == "max" else 1.0)
                problem = problem.with_parameters(epsilon=chosen)
                solution = clock.limit(solver).minimise(problem, start=start)
                machine = finish_machine(self, part, task.target, problem, solution)
                machines.append(machine)
            self._keep(machines, description, target)
        if target.classifies:
            self._labels = Labels(target.classes, None, target.scheme)
            self.classes_ = target.classes
        self._tell(self.solutions_)
        return self

    def _fit_shared(self, description, tasks, solver, clock):
        """Machines that share their support."""
        Y = np.array([task.target for task in tasks])
        found = fit_shared(
            description, Y, self.epsilon, self.epsilon_unit, relaxation_of(self), solver, clock
        )
        K, machines = description.problem(Y[0], np.inf).K, []
        shifts = found.shifts if self.threshold == "loo" else np.zeros(len(Y))
        asked = self.threshold == "loo" or self.probability
        for y, alpha, shift, values in zip(Y, found.alphas, shifts, found.left_out, strict=True):
            values, curve = values + shift, None
            if self.probability:
                fit = fit_steps if self.probability == "isotonic" else fit_sigmoid
                curve = fit(values, y > 0, description.weights, found.unit)
            values, b = values if asked else None, K.mean(y) + shift
            machine = description.columns, K.means, K.norms, b, found.solution, alpha, curve, values
            machines.append(Machine(*machine))
        return machines

    def _choose(self, part, y, target, solver):
        """The choice of epsilon for one machine."""
        return choose_epsilon(
            self.epsilon,
            part,
            y,
            self.C,
            solver,
            classifies=target.classifies,
            relaxation=relaxation_of(self),
        )

    def _common_share(self, description, tasks, target, clock, solver):
        """A share of epsilon_max for machines that are alike, from some of them.

        Each of these has its own best share, and the geometric mean serves all.

        Returns
        -------
        epsilon, unit
            As the parameters `epsilon` and `epsilon_unit`.
        """
        some = np.linspace(0, len(tasks) - 1, SEARCHES).round().astype(np.intp)
        shares = []
        for rows, y in steps((tasks[i] for i in some), "epsilon of machine"):
            part = description.part(rows)
            largest = part.problem(y, self.C).epsilon_max
            if largest > 0:
                chosen = self._choose(part, y, target, clock.limit(solver))
                shares.append(chosen.epsilon / largest)
        if not shares:
            return self.epsilon, self.epsilon_unit
        return float(np.exp(np.mean(np.log(shares)))), "max"

    def _tell_landmarks(self, description):
        """Print how many training objects describe, if not all do and `verbose` is set."""
        L, P = description.matrix.shape
        if self.verbose and description.own is not None and P < L:
            print(f"[{type(self).__name__}] described by {P:,} of {L:,} training objects")

    def _tell(self, solutions):
        """Print the solutions, if `verbose` is set, and warn of the worst one."""
        if self.verbose:
            for solution in solutions:
                print(f"[{type(self).__name__}] epsilon={solution.epsilon:.6g} {solution}")
        warn_if_not_optimal(max(solutions, key=_badness), stacklevel=5)

    def _make_starts(self, n_machines, description):
        if not (self.warm_start and hasattr(self, "alpha_")):
            return [None] * n_machines
        alphas, (places, P) = np.atleast_2d(self.alpha_), description.places
        if alphas.shape != (n_machines, P):
            raise ValueError(
                f"warm_start=True continues from {alphas.shape[0]} machines with "
                f"{alphas.shape[1]} descriptive objects, but there are {n_machines} with {P} now. "
                "Use warm_start=False or a clone of the estimator."
            )
        return alphas[:, places]

    def _keep(self, machines, description, target):
        """Set all fitted attributes at once: a fit that fails or is stopped changes no model.

        Of the descriptive objects only the support is kept.
        """
        single = target.single
        # machines that share have one solution
        solutions = tuple(dict.fromkeys(machine.solution for machine in machines))
        places, P = description.places
        alpha, means, norms = np.zeros((3, len(machines), P))
        for number, machine in enumerate(machines):
            here = places[machine.columns]
            alpha[number, here] = machine.alpha
            means[number, here] = machine.means
            norms[number, here] = machine.norms
        support = np.flatnonzero(alpha.any(axis=0))
        intercepts = np.array([machine.intercept for machine in machines])
        epsilons = np.array([machine.solution.epsilon for machine in machines])
        self.epsilon_ = float(epsilons[0]) if single else epsilons
        self.alpha_ = alpha[0] if single else alpha
        self.landmarks_ = description.own
        self.support_ = support
        self.n_support_ = len(support)
        self.offset_ = float(intercepts[0]) if single else intercepts
        self.column_means_ = means[0] if single else means
        self.column_norms_ = norms[0] if single else norms
        self.dual_gap_ = max(solution.gap for solution in solutions)
        self.kkt_violation_ = max(solution.kkt_violation for solution in solutions)
        # A solve that starts from the solution of a path has no rounds; the path counts as one.
        rounds = sum(solution.n_iter for solution in solutions)
        self.n_iter_ = max(rounds, int(isinstance(self.epsilon, str)))
        self.solutions_ = solutions
        if single:
            self.solution_ = solutions[0]
        else:
            vars(self).pop("solution_", None)
        self._keep_left_out(machines, description, target)
        for name in OF_BLOCKS:
            vars(self).pop(name, None)
        vars(self).pop("calibration_", None)
        if getattr(self, "probability", False):
            curves = tuple(machine.curve for machine in machines)
            self.calibration_ = Calibration(target.scheme, len(target.classes), curves)
        if description.kernel is not None:
            self._kernel = description.kernel
            self.support_objects_ = description.objects[support]
            self._prepare_support()
        elif hasattr(self, "feature_names_in_"):
            self.support_objects_ = self.feature_names_in_[support]
        else:
            self.support_objects_ = support

    def _keep_left_out(self, machines, description, target):
        """Leave-one-out values of all rows and their error.

        Rows that a machine was not fitted to have its value as it is: they are new to it.
        """
        for name in ("loo_decision_", "loo_error_"):
            vars(self).pop(name, None)
        if machines[0].left_out is None:
            return
        weights, tasks = description.weights, target.tasks()
        new = (weights == 0).any() or any(len(task.rows) < len(weights) for task in tasks)
        values = self._training_values(description) if new else np.empty((len(weights), len(tasks)))
        for column, machine, task in zip(values.T, machines, tasks, strict=True):
            counts = weights[task.rows] > 0
            column[task.rows[counts]] = machine.left_out[counts]
        known = np.isfinite(values).all(axis=1) & (weights > 0)
        self.loo_error_ = target.error(values[known], known, weights[known])
        self.loo_decision_ = target.shown(values, self)

    def _training_values(self, description):
        """Values of all machines for the training objects."""
        alpha, means, norms = (np.atleast_2d(getattr(self, name)) for name in PER_COLUMN)
        coef = np.divide(alpha, norms, out=np.zeros_like(alpha), where=alpha != 0)
        columns = coef[:, description.places[0]]
        return description.matrix.matvec(columns.T) - (means * coef).sum(axis=1) + self.offset_

    def _prepare_support(self):
        """Translate the support objects for the kernel: nothing of the other objects is kept."""
        objects = self.support_objects_
        # A user's kernel need not know what to do with no objects.
        some = objects.shape[0] > 0
        self._prepared_support = self._prepare(objects) if some else None

    def _decide(self, X):
        """Values of all machines, one per column.

        ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b`` over the support objects.
        """
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        means, coef = np.atleast_2d(support_values(self, "column_means_")), dual_coef(self)
        # Values are centred before they are summed: a large mean costs no digits.
        centre = means[0]
        shift = self.offset_ - ((means - centre) * coef).sum(axis=1)

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

    def _support_columns(self, X):
        """The columns of the support objects."""
        if len(self.support_) == 0:
            return np.empty((X.shape[0], 0))
        if is_measured(self):
            return as_dense(X[:, self.support_])
        return kernel_values(self._kernel.evaluate, self._prepare(X), self._prepared_support)

    def _prepare(self, X):
        """Objects as the kernel takes them."""
        return self._kernel.prepare(rounded(X, self._kernel, self.dtype))


def fit_prepared(model, X, target, weights, description=None, starts=None):
    """Fit a `PSVC` or `PSVR` to what `prepare` returns.

    Parameters
    ----------
    model : PSVC or PSVR
    X : validated objects
    target : Labels or Numbers
    weights : ndarray of shape (L,)
    description : Description, default=None
        The objects as the parameters of the model describe them, if they have been described.
    starts : list of ndarray of shape (P,), default=None
        Where the solver starts, for each machine.

    Returns
    -------
    PSVC or PSVR
    """
    model._fit(X, target, weights, check_psvm(model), description, starts)
    if starts is not None:
        model.n_iter_ = max(model.n_iter_, 1)  # what has found them counts
    return model


def support_values(model, name):
    """The entries of the support in one of PER_COLUMN, also of a model from a file."""
    full = vars(model).get(name)
    return model._at_support[name] if full is None else full[..., model.support_]


def check_psvm(model):
    """Check the parameters of a `PSVC` or `PSVR` and return the solver with its limits."""
    check_parameters(model)
    if not by_rows(model.landmarks) and is_measured(model):
        raise ValueError(
            f"landmarks must be None with kernel={model.kernel!r}: the columns of X are the "
            "descriptive objects already."
        )
    check_landmarks(model.landmarks, model.kernel)
    if is_classifier(model):
        _check_schemes(model.multi_class, model.decision_function_shape)
        _check_shared(model)
    return make_solver(
        model.solver, tol=model.tol, max_iter=model.max_iter, max_time=model.max_time
    )


def _check_schemes(multi_class, shape):
    if multi_class in ("ovr", "shared") and shape == "ovo":
        raise ValueError(
            "decision_function_shape='ovo' needs multi_class='ovo': machines of one class "
            "against the rest have no values of pairs."
        )


def _check_shared(model):
    """What machines that share their support cannot have."""
    if model.multi_class != "shared":
        return
    if np.isfinite(model.C):
        raise ValueError(
            f"multi_class='shared' needs C=inf, got {model.C!r}: there is no bound on what a "
            "support object has in all machines. Use multi_class='ovo'."
        )
    if isinstance(model.epsilon, str) and model.epsilon != "auto":
        raise ValueError(
            f"multi_class='shared' needs a number or epsilon='auto', got {model.epsilon!r}."
        )


def _badness(solution):
    """The KKT violation as a share of epsilon, of those that did not get to their tolerance."""
    optimal = solution.status is Status.OPTIMAL
    return 0.0 if optimal else solution.kkt_violation / max(solution.epsilon, 1e-300)
