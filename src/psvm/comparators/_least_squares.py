"""Least-squares support vector machines (Hochreiter, lecture notes, section 3.11)."""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal, Self

import numpy as np
import scipy.linalg as sl
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from .._docstrings import document
from .._parameters import Choice, Later, Number, check_parameters
from .._typing import ArrayLike, ClassWeight, KernelLike, MatrixLike
from .._validation import check_labels, class_factors
from ..estimators import OneVsOneMixin, fit_pairs
from ..solvers import BinaryTarget, DenseGram, Limits, Status, minimise
from ._kernel_model import PARAGRAPHS, KernelModel, indefinite

TOLERANCE = 1e-8
"""Largest KKT violation of the squared hinge loss, in the units of the margin."""


def _ridge(C, weights):
    with np.errstate(over="ignore", divide="ignore"):
        ridge = 1 / (2 * C * weights)
    if not np.isfinite(ridge).all():
        raise ValueError(f"C={C!r} is too small: one over it exceeds double precision.")
    return ridge


def _squared(K, y, ridge, model):
    """Minimise ``1/2 ||w||^2 + sum_i (y_i - f(x_i))^2 / (2 ridge_i)``: beta and b.

    The system ``[[K + diag(ridge), 1], [1', 0]] [beta; b] = [y; 0]`` by one Cholesky factor.
    """
    system = K.copy()
    system.flat[:: len(K) + 1] += ridge
    try:
        factor = sl.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except sl.LinAlgError:
        raise indefinite(model) from None
    ones, targets = sl.cho_solve(factor, np.column_stack([np.ones(len(y)), y])).T
    b = targets.sum() / ones.sum()
    return targets - b * ones, b


def _squared_hinge(K, y, ridge, model):
    """Minimise ``1/2 ||w||^2 + sum_i max(0, 1 - y_i f(x_i))^2 / (2 ridge_i)`` (eqs. 3.128, 3.131).

    Its dual is that of a hard margin on ``K + diag(ridge)``.
    """
    system = K.copy()
    system.flat[:: len(K) + 1] += ridge
    try:
        sl.cholesky(system, check_finite=False)
    except sl.LinAlgError:
        raise indefinite(model) from None
    target = BinaryTarget(y, np.ones(len(y)), np.inf)
    solution = minimise(DenseGram(system), target, Limits(TOLERANCE))
    if solution.status is not Status.OPTIMAL:
        warnings.warn(
            f"The solver stopped ({solution.status.value}) with a KKT violation of "
            f"{solution.kkt_violation:.3g}. Scale the features or decrease C.",
            ConvergenceWarning,
            stacklevel=5,
        )
    return solution.v, solution.b


@document(PARAGRAPHS)
class LeastSquaresSVC(OneVsOneMixin, ClassifierMixin, KernelModel):
    """Least-squares support vector machine for classification.

    It minimises ``1/2 ||w||^2 + C sum_i xi_i^2`` with ``xi_i = 1 - y_i (<w, x_i> + b)``: errors
    are squared on both sides of the margin, so that a linear system gives the answer and every
    training object is a support object. With ``loss="squared_hinge"`` only objects inside the
    margin count, ``y_i (<w, x_i> + b) >= 1 - xi_i``, and the solution is sparse. More than two
    classes: one against one.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors.
    loss : {"squared", "squared_hinge"}, default="squared"
        Whether objects beyond the margin count.
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied by the sample weights.
    {decision_function_shape}
    {kernel, gamma, degree, coef0, theta, rho, zeta}

    Attributes
    ----------
    {classes_}
    {dual_coef_, intercept_, support_, n_support_, n_features_in_, feature_names_in_}

    References
    ----------
    J. A. K. Suykens, J. Vandewalle: Least squares support vector machine classifiers. Neural
    Processing Letters 9 (1999).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm.comparators import LeastSquaresSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = LeastSquaresSVC(C=10).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.n_support_
    (True, 200)
    >>> LeastSquaresSVC(C=10, loss="squared_hinge").fit(X, y).n_support_ < 100
    True
    """

    classes_: np.ndarray

    _constraints: ClassVar = {
        "C": Number(above=0),
        "loss": Choice("squared", "squared_hinge"),
        "class_weight": Later(),
        "decision_function_shape": Choice("ovr", "ovo"),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        loss: Literal["squared", "squared_hinge"] = "squared",
        class_weight: ClassWeight = None,
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
    ) -> None:
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.decision_function_shape = decision_function_shape
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as repeating the row.

        Returns
        -------
        self : LeastSquaresSVC
        """
        check_parameters(self)
        X, y = self._validate(X, y, ensure_min_samples=2)
        classes, code = check_labels("y", y)
        kernel, K, weights = self._fit_gram(X, sample_weight)
        weights = weights * class_factors(self.class_weight, y)
        if len(np.unique(code[weights > 0])) < max(len(classes), 2):
            raise ValueError(
                "The number of classes has to be greater than one, and each must have a row with "
                f"positive weight; got {len(np.unique(code[weights > 0]))} class(es) of "
                f"{len(classes)}."
            )
        solve = _squared if self.loss == "squared" else _squared_hinge

        def fit_pair(rows, target):
            used = weights[rows] > 0
            rows, target = rows[used], target[used]
            ridge = _ridge(self.C, weights[rows])
            coef = np.zeros(len(weights))
            coef[rows], b = solve(K[np.ix_(rows, rows)], target, ridge, self)
            return coef, b

        coef, intercept = zip(*fit_pairs(fit_pair, code, len(classes)), strict=True)
        self._keep_functions(X, kernel, np.array(coef), np.array(intercept))
        self.classes_ = classes
        return self

    def _pair_decisions(self, X):
        return self._values(X)

    def _n_functions(self, state):
        return state.size("pairs")


@document(PARAGRAPHS)
class LeastSquaresSVR(RegressorMixin, KernelModel):
    """Least-squares support vector machine for regression.

    It minimises ``1/2 ||w||^2 + C sum_i xi_i^2`` with ``xi_i = y_i - <w, x_i> - b``, which is
    kernel ridge regression with a constant that is not penalised.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the squared errors.
    {kernel, gamma, degree, coef0, theta, rho, zeta}

    Attributes
    ----------
    {dual_coef_, intercept_, support_, n_support_, n_features_in_, feature_names_in_}

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.comparators import LeastSquaresSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = 5 + np.sinc(X[:, 0]) + 0.05 * rng.normal(size=200)
    >>> bool(LeastSquaresSVR(C=10).fit(X, y).score(X, y) > 0.95)
    True
    """

    _constraints: ClassVar = {"C": Number(above=0)}

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Regression targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as repeating the row.

        Returns
        -------
        self : LeastSquaresSVR
        """
        check_parameters(self)
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        if not np.isfinite(np.square(y.astype(np.float64)).sum()):
            raise ValueError("y has entries too large to be squared in double precision; scale it.")
        kernel, K, weights = self._fit_gram(X, sample_weight)
        rows = np.flatnonzero(weights > 0)
        coef = np.zeros((1, len(weights)))
        ridge = _ridge(self.C, weights[rows])
        coef[0, rows], b = _squared(K[np.ix_(rows, rows)], y[rows].astype(np.float64), ridge, self)
        self._keep_functions(X, kernel, coef, np.array([b]))
        return self

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predicted values.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._values(X)[:, 0]
