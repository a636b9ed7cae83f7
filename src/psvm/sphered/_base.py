"""Parameters, fit and decision values of `SpheredSVC` and `SpheredSVCCV`."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._fitted import LEFT_OUT, ArrayOf, Count, Given, Instance, Maybe, Places, is_number
from .._parameters import LIMITS, Choice, Flag, Later, Number, check_parameters
from .._typing import ClassWeight, KernelLike
from .._validation import check_decisions, check_labels, class_factors, kernel_values
from ..estimators import KernelChoice, KernelMixin, OneVsOneMixin, choose_kernel, fit_pairs
from ..kernels import Kernel, check_kernel, check_prepared
from ..matrix import BLOCK_BYTES, as_dense, block_slices
from ..solvers import DualSolution, Status, check_weights
from ._training import SpheredOptions, TrainingFeatures, TrainingGram

LAM = Number(least=0, most=1)
"""What lam may be."""


class BaseSphered(KernelMixin, OneVsOneMixin, ClassifierMixin, BaseEstimator):
    """Everything but the choice of lam."""

    classes_: np.ndarray
    lam_: float
    alpha_: np.ndarray
    support_: np.ndarray
    basis_: np.ndarray
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    capacity_: np.ndarray
    capacity_bound_: np.ndarray
    margin_: np.ndarray
    kkt_violation_: float
    dual_gap_: float
    solutions_: tuple[DualSolution, ...]
    n_iter_: int
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {
        "C": Number(above=0, infinite=True),
        "kernel": KernelChoice("precomputed"),
        "center": Flag(),
        "solver": Choice("auto", "direct", "incremental"),
        "class_weight": Later(),
        "decision_function_shape": Choice("ovr", "ovo"),
        **LIMITS,
        "cache_size": Number(least=0),
    }

    _fitted: ClassVar = {
        "dual_coef_": ArrayOf("pairs", "basis"),
        "intercept_": ArrayOf("pairs"),
        "basis_": ArrayOf("basis", kinds="i"),
        "_rows": Given(),
        "lam_": Number(least=0, most=1),
        "support_": Maybe(Places()),
        "capacity_": Maybe(Given()),
        "capacity_bound_": Maybe(Given()),
        "margin_": Maybe(Given()),
        "kkt_violation_": Maybe(Given()),
        "dual_gap_": Maybe(Given()),
        "n_iter_": Maybe(Count()),
        "alpha_": LEFT_OUT,
        "solutions_": LEFT_OUT,
    }

    def __init__(
        self,
        *,
        C: float = 100.0,
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
        center: bool = True,
        solver: Literal["auto", "direct", "incremental"] = "auto",
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_time: float | None = None,
        cache_size: float = 1000,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta
        self.center = center
        self.solver = solver
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size

    def _options(self):
        """The parameters of the problem and of its solvers, checked."""
        check_parameters(self)
        return SpheredOptions(
            C=float(self.C),
            center=bool(self.center),
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            max_time=self.max_time,
            cache_size=self.cache_size,
        )

    def _check_lam(self, name, lam):
        LAM(name, lam)
        if lam == 0 and self.solver == "incremental":
            raise ValueError(
                f"{name} = 0 needs a pseudo-inverse, which the incremental solver cannot compute. "
                f"Use solver='direct' or {name} > 0."
            )

    def _validate_classes(self, X, y, sample_weight):
        """X, the classes, the class of each row as a number, and the weight of each row."""
        X, y = self._validate(X, y, ensure_min_samples=2)
        classes, code = check_labels("y", y)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        weights = self._weigh_classes(weights, y, code)
        counted = np.unique(code[weights > 0])
        if len(counted) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class (among the rows "
                "with positive weight)."
            )
        if len(counted) < len(classes):
            none = classes[np.setdiff1d(code, counted)[0]]
            raise ValueError(f"No row of class {none!r} has a positive weight.")
        return X, classes, code, weights

    def _weigh_classes(self, weights, y, code):
        """Weights times those of the classes; balanced are the sums of weights of the classes."""
        factors = class_factors(self.class_weight, y)
        if isinstance(self.class_weight, str):
            sums = np.bincount(code, weights)
            mean = weights.sum() / np.count_nonzero(sums)
            factors = np.divide(mean, sums, out=np.zeros_like(sums), where=sums > 0)[code]
        return weights * factors

    def _make_training(self, X, weights, options):
        """The training points in the form that suits the kernel."""
        name = self._kernel_name
        if name == "precomputed":
            if X.shape[0] != X.shape[1]:
                raise ValueError(
                    f"A precomputed Gram matrix must be a square matrix, got {X.shape[0]} x "
                    f"{X.shape[1]}."
                )
            return TrainingGram(X, None, weights, options)
        if name == "linear" and X.shape[1] < X.shape[0] and self.solver != "incremental":
            return TrainingFeatures(X, weights, options)
        return TrainingGram(X, choose_kernel(self, X, weights), weights, options)

    def _fit(self, classes, code, training, lam):
        """Fit all pairs of classes with one lam."""
        pairs, counted = [], np.flatnonzero(training.weights)

        def fit_binary(rows, y):
            pairs.append((counted[rows], y))
            return training.solve(*pairs[-1], lam)

        machines = fit_pairs(fit_binary, code[counted], len(classes))
        self._keep(classes, training, lam, pairs, machines)
        _warn_if_not_optimal(self.solutions_)
        return self

    def _keep(self, classes, training, lam, pairs, machines):
        """Set all fitted attributes at once: a fit that fails or is stopped changes no model."""
        owners = [
            training.objects_of(rows)[m.objects]
            for (rows, _), m in zip(pairs, machines, strict=True)
        ]
        objects = np.unique(np.concatenate(owners))
        dual_coef = np.zeros((len(machines), len(objects)))
        alpha = np.zeros((len(machines), len(training.weights)))
        for k, (machine, owner, (rows, y)) in enumerate(zip(machines, owners, pairs, strict=True)):
            dual_coef[k, np.searchsorted(objects, owner)] = machine.coef
            alpha[k, rows] = y * machine.solution.v
        self.lam_ = lam
        self.classes_ = classes
        self.solutions_ = tuple(machine.solution for machine in machines)
        self.intercept_ = np.array([machine.intercept for machine in machines])
        self.alpha_ = alpha
        self.support_ = np.flatnonzero(alpha.any(axis=0))
        self.capacity_ = np.array([machine.capacity for machine in machines])
        self.capacity_bound_ = np.array([machine.capacity_bound for machine in machines])
        self.margin_ = np.array([1.0 / m.norm if m.norm > 0 else np.inf for m in machines])
        self.kkt_violation_ = max(s.kkt_violation for s in self.solutions_)
        self.dual_gap_ = max(s.gap for s in self.solutions_)
        self.n_iter_ = sum(s.n_iter for s in self.solutions_)
        self.dual_coef_ = dual_coef
        self.basis_ = objects
        self._rows = _row_maker(training, objects)

    def _pair_decisions(self, X):
        """``f(x)`` of all pairs, positive for the second class."""
        check_is_fitted(self)
        X = self._validate(X, reset=False)
        decisions = np.empty((X.shape[0], len(self.intercept_)))
        for rows in block_slices(len(decisions), 8 * len(self.basis_), size=BLOCK_BYTES // 16):
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                decisions[rows] = self._rows(X[rows]) @ self.dual_coef_.T + self.intercept_
        return check_decisions(decisions, self.kernel)

    def _check_fitted(self, state):
        """The rows of new objects fit the coefficients."""
        check_parameters(self)
        rows = self._rows
        state.hold("_rows", rows, Instance(ShiftedRows, TakenColumns, KernelRows))
        measured = self._kernel_name == "precomputed"
        state.require(measured == isinstance(rows, TakenColumns), "its rows differ")
        rows.check(state, len(self.basis_))


def _row_maker(training, objects):
    """What turns new objects into the rows that a machine multiplies with its coefficients."""
    if isinstance(training, TrainingFeatures):
        return ShiftedRows(training.origin)
    if training.kernel is None:
        return TakenColumns(objects)
    return KernelRows(training.kernel, training.X[objects])


@dataclass(frozen=True, eq=False)
class ShiftedRows:
    """Vectors relative to an origin."""

    _fitted: ClassVar[dict] = {}
    origin: float | np.ndarray

    def __call__(self, X):
        return as_dense(X) - self.origin

    def check(self, state, n):
        """As many columns as a model has coefficients."""
        state.require(state.model._takes_vectors, "its rows differ")
        state.require(n == state.features(), "its coefficients are wrong")
        if not is_number(self.origin):
            state.checked(self.origin, "its origin", n)


@dataclass(frozen=True, eq=False)
class TakenColumns:
    """Relations to some training objects."""

    _fitted: ClassVar[dict] = {}
    objects: np.ndarray

    def __call__(self, X):
        return as_dense(X[:, self.objects])

    def check(self, state, n):
        """As many columns as a model has coefficients."""
        state.hold("its objects", self.objects, Places(n, below="p"))


@dataclass(frozen=True, eq=False)
class KernelRows:
    """Values of a kernel with prepared objects."""

    _fitted: ClassVar[dict] = {}
    kernel: Kernel
    Z: Any

    def __call__(self, X):
        return kernel_values(self.kernel.evaluate, self.kernel.prepare(X), self.Z)

    def check(self, state, n):
        """As many columns as a model has coefficients."""
        check_kernel(state, self.kernel, state.model._takes_vectors)
        check_prepared(state, self.kernel, self.Z, n)


def _warn_if_not_optimal(solutions):
    for s in solutions:
        if s.status is not Status.OPTIMAL:
            warnings.warn(
                f"The solver stopped ({s.status.value}) after {s.n_iter} steps with a KKT "
                f"violation of {s.kkt_violation:.3g} and a duality gap of {s.gap:.3g} at an "
                f"objective of {s.objective:.6g}. Increase max_iter, max_time or tol; with C=inf "
                "the classes may not be separable: use a finite C.",
                ConvergenceWarning,
                stacklevel=4,
            )
            return
