"""`PSVC` and `PSVR`: the scikit-learn face of the P-SVM."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from .._docstrings import document
from .._parameters import Choice, Either, Flag, Later
from .._typing import (
    ArrayLike,
    ClassWeight,
    DTypeLike,
    KernelLike,
    MatrixLike,
    RandomState,
    available_if,
)
from ..choice import Calibration
from ..matrix import RowBlocks
from ..solvers import Solver
from ._base import BasePSVM
from ._docstrings import PARAGRAPHS
from ._fit_any import fit_any
from ._fit_dask import answered
from ._incremental import add_rows, take_rows
from ._kernel import kernel_name


def has_probability(model):
    """Whether `predict_proba` is available; if not, an AttributeError says why."""
    if not model.probability:
        raise AttributeError("predict_proba needs probability=True or 'isotonic'.")
    return True


def _reads_blocks(model):
    """Whether rows may come one after the other; else an AttributeError says why not."""
    if kernel_name(model.kernel) == "precomputed":
        raise AttributeError("kernel='precomputed' needs all rows at once.")
    return True


@document(PARAGRAPHS)
class PSVC(ClassifierMixin, BasePSVM):
    """Potential Support Vector Machine for classification.

    The targets are coded as -1 and +1, and the class is the sign of
    ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b``. More than two classes need one such
    machine for each pair of classes, or for each class against the rest. If y is a matrix of 0
    and 1, its columns are labels that may occur together, with one machine each. All machines
    share one matrix.

    Parameters
    ----------
    {C, epsilon, epsilon_unit, rule, threshold}
    {kernel, gamma, standardize, degree, coef0, theta, rho, zeta}
    {landmarks, n_landmarks, random_state}
    {tol, max_iter, max_time, solver, cache_size, dtype, warm_start, verbose}
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied by the sample weights. Not for multi-label targets.
    multi_class : {"auto", "shared", "ovo", "ovr"}, default="auto"
        Machines for more than two classes. "auto" and "ovo": one for each pair of classes, which
        vote; the sums of their values break ties. "ovr": one for each class against the rest, each
        with its own support objects. "shared": like "ovr", with one common set of support objects,
        which is usually smaller; it needs ``C=inf`` and products of all columns.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        With ``multi_class="ovo"`` and more than two classes: one decision value per class ("ovr")
        or per pair of classes ("ovo").
    probability : bool, "sigmoid" or "isotonic", default=False
        Whether and how decision values become probabilities: by a sigmoid for each machine (True or
        "sigmoid") or isotonic regression, fitted to its leave-one-out values. Probabilities of
        pairs of classes are coupled (Wu, Lin and Weng 2004); those of classes against the rest are
        normalised. `predict` then returns the most probable class. Not for multi-label targets.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels; of a multi-label y, the numbers of its columns.
    calibration_ : Calibration
        Turns decision values into probabilities, if `probability` is set.
    {alpha_, landmarks_, support_, support_objects_, n_support_, coef_, intercept_, offset_}
    {column_means_, column_norms_, epsilon_, candidates_, loo_decision_, loo_error_}
    {plan_, sums_}
    {dual_gap_, kkt_violation_, solution_, solutions_, n_iter_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    PSVR : The same for regression.
    PSVCCV : The same with all parameters chosen by cross-validation.
    solve : The low-level function for a matrix.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVC
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = PSVC().fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and model.n_support_ < 40)
    True

    A matrix of relations is used as it is:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(60, 500))
    >>> y = np.where(K[:, 7] - K[:, 42] > 0, "sick", "well")
    >>> PSVC(kernel="dyadic", epsilon=3.5).fit(K, y).support_
    array([ 7, 42])

    Three classes have three machines, one for each pair:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PSVC().fit(X, y)
    >>> model.alpha_.shape, bool(model.score(X, y) > 0.95 and model.n_support_ < 50)
    ((3, 150), True)
    """

    classes_: np.ndarray
    calibration_: Calibration

    _constraints: ClassVar = {
        "class_weight": Later(),
        "multi_class": Choice("auto", "shared", "ovo", "ovr"),
        "decision_function_shape": Choice("ovr", "ovo"),
        "probability": Either(Choice("sigmoid", "isotonic"), Flag()),
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
        class_weight: ClassWeight = None,
        multi_class: Literal["auto", "shared", "ovo", "ovr"] = "auto",
        decision_function_shape: Literal["ovr", "ovo"] = "ovr",
        probability: bool | Literal["sigmoid", "isotonic"] = False,
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_time: float | None = None,
        solver: Literal["auto"] | Solver = "auto",
        cache_size: float = 1000,
        dtype: DTypeLike = np.float64,
        warm_start: bool = False,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            C=C,
            epsilon=epsilon,
            epsilon_unit=epsilon_unit,
            rule=rule,
            threshold=threshold,
            kernel=kernel,
            gamma=gamma,
            standardize=standardize,
            degree=degree,
            coef0=coef0,
            theta=theta,
            rho=rho,
            zeta=zeta,
            landmarks=landmarks,
            n_landmarks=n_landmarks,
            random_state=random_state,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            solver=solver,
            cache_size=cache_size,
            dtype=dtype,
            warm_start=warm_start,
            verbose=verbose,
        )
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.probability = probability

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = not self.probability
        return tags

    def fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` contain y and the weights, and need not fit into memory. A dask array
            or DataFrame is summed chunk by chunk on the workers that hold the chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels of two or more classes; or a matrix of 0 and 1 if labels may occur together.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as repeating the row.

        Returns
        -------
        self : PSVC
        """
        return fit_any(self, X, y, sample_weight)

    @available_if(_reads_blocks)
    def partial_fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to more rows, in addition to those that it has seen.

        The first call fixes the kernel with its gamma and scales and the landmarks, from its rows.
        The model keeps sums over the rows, and a sample of them, but not the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or RowBlocks
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        classes : array-like, default=None
            All class labels; needed if the first call does not contain all of them.

        Returns
        -------
        self : PSVC
        """
        return add_rows(self, X, y, sample_weight, classes=classes)

    @available_if(_reads_blocks)
    def forget(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model without some rows that it has seen.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that the rows had.

        Returns
        -------
        self : PSVC
        """
        return take_rows(self, X, y, sample_weight)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Decision values.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features)
            New objects, in the form of the training objects. With ``kernel="precomputed"`` the
            columns are the training objects.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_classes) or (n_samples, n_pairs)
            Two classes: ``f(x)``, positive for ``classes_[1]``. More classes: the votes of the
            pairs, where the sums of their values break ties, or the values of all pairs, positive
            for the first class of the pair as in scikit-learn's SVC
            (``decision_function_shape="ovo"``), or the values of each class against the rest
            (``multi_class="ovr"``). Multi-label: the value of each label.
        """
        return answered(self, X, "decision_function", self._shown)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_labels)
            The class with the largest decision value, or the most probable class if `probability`
            is set. If all rows have the same probabilities, because the leave-one-out values say
            nothing about the classes, the decision values decide.
        """
        return answered(self, X, "predict", self._predicted)

    @available_if(has_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes, if `probability` is set.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return answered(self, X, "predict_proba", self._probable)

    def _shown(self, values):
        return self._labels.decisions(values, self.decision_function_shape)

    def _predicted(self, values):
        if self.probability and self.calibration_.rises:
            return self.classes_[self._probable(values).argmax(axis=1)]
        return self._labels.predict(values)

    def _probable(self, values):
        return self.calibration_.probabilities(values)


@document(PARAGRAPHS)
class PSVR(RegressorMixin, BasePSVM):
    """Potential Support Vector Machine for regression.

    The prediction is ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b``. A y with several columns
    has one machine for each, which share one matrix.

    Parameters
    ----------
    {C, epsilon, epsilon_unit, rule, threshold}
    {kernel, gamma, standardize, degree, coef0, theta, rho, zeta}
    {landmarks, n_landmarks, random_state}
    {tol, max_iter, max_time, solver, cache_size, dtype, warm_start, verbose}

    Attributes
    ----------
    {alpha_, landmarks_, support_, support_objects_, n_support_, coef_, intercept_, offset_}
    {column_means_, column_norms_, epsilon_, candidates_, loo_decision_, loo_error_}
    {plan_, sums_}
    {dual_gap_, kkt_violation_, solution_, solutions_, n_iter_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    PSVC : The same for classification.
    solve : The low-level function for a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.normal(size=200)
    >>> model = PSVR().fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and model.n_support_ < 30)
    True
    """

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` contain y and the weights, and need not fit into memory. A dask array
            or DataFrame is summed chunk by chunk on the workers that hold the chunks.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Regression targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as repeating the row.

        Returns
        -------
        self : PSVR
        """
        return fit_any(self, X, y, sample_weight)

    @available_if(_reads_blocks)
    def partial_fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the model to more rows, in addition to those that it has seen.

        The first call fixes the kernel with its gamma and scales and the landmarks, from its rows.
        The model keeps sums over the rows, and a sample of them, but not the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or RowBlocks
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self : PSVR
        """
        return add_rows(self, X, y, sample_weight)

    @available_if(_reads_blocks)
    def forget(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model without some rows that it has seen.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            The weights that the rows had.

        Returns
        -------
        self : PSVR
        """
        return take_rows(self, X, y, sample_weight)

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predicted values.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features)
            New objects, in the form of the training objects. With ``kernel="precomputed"`` the
            columns are the training objects.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return answered(self, X, "predict", self._predicted)

    def _predicted(self, values):
        return values[:, 0] if np.ndim(self.offset_) == 0 else values
