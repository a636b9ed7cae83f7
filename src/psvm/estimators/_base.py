"""From X to a solution and from new X to f(X): what classifier and regressor share."""

from __future__ import annotations

import warnings
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
from .._progress import progress
from .._threads import map_blocks, threads
from .._typing import DTypeLike, KernelLike, RandomState, Stored
from .._validation import check_decisions, kernel_values
from ..choice import RULES, Calibration
from ..kernels import Linear
from ..matrix import BLOCK_BYTES, FoldMoments, as_dense, block_slices, times
from ..solvers import Clock, Solution, Solver, Status, make_solver, warn_if_not_optimal
from ._candidates import best_trial, is_open
from ._description import digests_of, is_measured, rounded
from ._kernel import AUTO, MEASURED, KernelChoice, KernelMixin, Scaling
from ._landmarks import LANDMARKS, by_rows, check_landmarks
from ._target import Labels
from ._trial import Trial
from ._written import PER_COLUMN, WrittenMixin

if TYPE_CHECKING:
    from ._moments_plan import MomentsPlan

OPTIONAL = (
    *("solution_", "calibration_", "loo_decision_", "loo_error_", "plan_", "sums_", "_survey"),
)
"""Attributes that only some fits set."""


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
    if (kernel := linear_kernel(model)) is not None:
        centre, _ = _units(kernel)
        shift = shift + np.atleast_2d(_coef(model)) @ (centre + np.zeros(model.n_features_in_))
    return model.offset_ - (shift if np.ndim(model.offset_) else float(shift[0]))


def linear_kernel(model):
    """The kernel of a fitted model if it is linear, perhaps of standardised features; else None."""
    kernel = getattr(model, "_kernel", None)
    return kernel if isinstance(getattr(kernel, "kernel", kernel), Linear) else None


def _units(kernel):
    """What a linear kernel subtracts from the features and divides them by."""
    centre = getattr(kernel, "centre", None)
    return 0.0 if centre is None else np.asarray(centre), np.asarray(getattr(kernel, "scale", 1.0))


def _coef(model):
    """The weights of the features; None if f is not linear in them."""
    kernel, coef = model.kernel, dual_coef(model)
    if isinstance(kernel, str) and kernel == "dyadic":
        full = np.zeros((len(coef), model.n_features_in_))
        full[:, model.support_] = coef
    elif (inner := linear_kernel(model)) is not None:
        centre, scale = _units(inner)
        full = coef @ ((as_dense(model.support_objects_) - centre) / np.square(scale))
    else:
        return None
    return full if np.ndim(model.offset_) else full[0]


class PerColumnMixin:
    """Fitted attributes of a model and of a search; those of PER_COLUMN are descriptors."""

    epsilon_: float | np.ndarray
    candidates_: list[dict[str, Any]]
    landmarks_: np.ndarray | None
    support_: np.ndarray
    support_objects_: Stored
    n_support_: int
    offset_: float | np.ndarray
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


class BasePSVM(PerColumnMixin, WrittenMixin, KernelMixin, BaseEstimator):
    """Parameters, fit and decision values of both estimators."""

    _constraints: ClassVar = {
        "C": Number(above=0, infinite=True),
        "epsilon": Either(Choice("auto", "cv", "aicc"), Number(least=0)),
        "epsilon_unit": Choice("absolute", "max"),
        "rule": Choice(*RULES),
        "threshold": Choice("loo", "mean"),
        **LANDMARKS,
        **LIMITS,
        "solver": Later(),
        "cache_size": Number(least=0),
        "dtype": Storage(),
        "warm_start": Flag(),
        "verbose": Flag(),
        "kernel": KernelChoice(AUTO, *MEASURED),
        "standardize": Either(Choice("auto"), Flag()),
    }

    def __init__(
        self,
        *,
        C: float = np.inf,
        epsilon: float | Literal["auto", "cv", "aicc"] = "auto",
        epsilon_unit: Literal["absolute", "max"] = "absolute",
        rule: Literal["best", "sparse"] = "best",
        threshold: Literal["loo", "mean"] = "loo",
        kernel: KernelLike = "auto",
        gamma: float | Literal["scale", "auto"] = "scale",
        standardize: bool | Literal["auto"] = "auto",
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
        self.rule = rule
        self.threshold = threshold
        self.kernel = kernel
        self.gamma = gamma
        self.standardize = standardize
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

    def _fit(self, X, target, weights, solver, description=None):
        """Fit the machines of a target (`Labels` or `Numbers`) to validated data.

        Who knows the description may give it.
        """
        with threads(), progress(type(self).__name__, self.verbose):
            clock = Clock(solver.max_time)
            vars(self).pop("candidates_", None)
            parts = X, target, weights, solver, clock
            if description is None and is_open(self):
                scaling, digests = Scaling.of(X, weights), digests_of(X, "rbf")
                model, trial, self.candidates_ = best_trial(self, *parts, scaling, digests)
                if trial is None:
                    trial = Trial(model, *parts, digests=digests)
            else:
                trial = Trial(self, *parts, description)
            return self._take(trial)

    def _take(self, trial):
        """Take what the machines of a trial have learnt."""
        target, description = trial.target, trial.description
        if description.own is not None:
            self._tell_landmarks(*description.matrix.shape)
        starts = self._make_starts(len(target.tasks()), description)
        machines = trial.solve(starts)
        self._keep(machines, description, target)

        def values():
            return self._training_values(description)

        trial.values = self._keep_left_out(machines, target, description.weights, values)
        if trial.values is not None:
            self.loo_decision_ = target.shown(trial.values, self)
        if target.classifies:
            self._labels = Labels(target.classes, None, target.scheme)
            self.classes_ = target.classes
        self._tell(self.solutions_, [walk for walk in trial.walks if walk is not None])
        return self

    def _tell_landmarks(self, L, P):
        """Print how many training objects describe, if not all do and `verbose` is set."""
        if self.verbose and P < L:
            print(f"[{type(self).__name__}] described by {P:,} of {L:,} training objects")

    def _tell(self, solutions, walks):
        """Print the solutions, if `verbose` is set; warn of the worst one and of an empty model."""
        if self.verbose:
            for solution in solutions:
                print(f"[{type(self).__name__}] epsilon={solution.epsilon:.6g} {solution}")
        warn_if_not_optimal(max(solutions, key=_badness), stacklevel=5)
        if isinstance(self.epsilon, str) and self.n_support_ == 0:
            _warn_of_emptiness(self, walks)

    def _make_starts(self, n_machines, description):
        if not (self.warm_start and hasattr(self, "alpha_")):
            return None
        alphas, (places, P) = np.atleast_2d(self.alpha_), description.places
        if alphas.shape != (n_machines, P):
            raise ValueError(
                f"warm_start=True continues from {alphas.shape[0]} machines with "
                f"{alphas.shape[1]} descriptive objects, but there are {n_machines} with {P} now. "
                "Use warm_start=False or a clone of the estimator."
            )
        full = np.zeros((n_machines, description.matrix.shape[1]))
        full[:] = alphas[:, places]
        return full

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
        for name in OPTIONAL:
            vars(self).pop(name, None)
        if single:
            self.solution_ = solutions[0]
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

    def _keep_left_out(self, machines, target, weights, fitted):
        """Keep the leave-one-out error of some rows, and return their values without themselves.

        Rows that a machine was not fitted to have its value as it is, from ``fitted()``: they are
        new to it.
        """
        if machines[0].left_out is None:
            return None
        tasks = target.tasks()
        new = (weights == 0).any() or any(len(task.rows) < len(weights) for task in tasks)
        values = fitted() if new else np.empty((len(weights), len(tasks)))
        for column, machine, task in zip(values.T, machines, tasks, strict=True):
            counts = weights[task.rows] > 0
            column[task.rows[counts]] = machine.left_out[counts]
        known = np.isfinite(values).all(axis=1) & (weights > 0)
        self.loo_error_ = target.error(values[known], known, weights[known])
        return values

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
        return self._values(self._validate(X, reset=False))

    def _values(self, X):
        """The same of objects that have been checked."""
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

    def _check_fitted(self, state):
        check_psvm(self)
        super()._check_fitted(state)


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


def _warn_of_emptiness(model, walks):
    """Say that a model predicts a constant, and what losses made it so."""
    reason = "no column of the matrix is correlated with y."
    if walks:
        if not any(walk.n_support.any() for walk in walks):
            return  # the time was over, which has been said
        constant = np.mean([walk.means[0] for walk in walks])
        best = np.mean([walk.means[walk.n_support > 0].min(initial=np.inf) for walk in walks])
        reason = (
            f"its loss of held-out rows is {constant:.6g}, and the smallest one with support "
            f"objects is {best:.6g}. Other features, another kernel or another gamma may say more "
            "about y; epsilon may be a number, too."
        )
    elif not is_classifier(model):
        return  # numbers may be constant
    message = f"The model has no support objects, so that it predicts a constant: {reason}"
    warnings.warn(message, UserWarning, stacklevel=5)


def _badness(solution):
    """The KKT violation as a share of epsilon, of those that did not get to their tolerance."""
    optimal = solution.status is Status.OPTIMAL
    return 0.0 if optimal else solution.kkt_violation / max(solution.epsilon, 1e-300)
