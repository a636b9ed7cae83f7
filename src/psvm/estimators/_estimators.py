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
    StrPath,
    available_if,
)
from ..matrix import RowBlocks, is_dask
from ..solvers import Solver
from ._base import BasePSVM, check_psvm
from ._calibration import Calibration
from ._docstrings import PARAGRAPHS
from ._fit_blocks import BlockOptions, fit_blocks
from ._fit_dask import answered, fit_dask
from ._incremental import add_rows, take_rows
from ._kernel import kernel_name
from ._passes import in_parts, rows_of
from ._target import Labels, prepare


def has_probability(model):
    """Whether `predict_proba` is there; else an AttributeError says why not."""
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
    ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b``. More than two classes are told apart by
    one such machine for each pair of classes, or each class and the rest. The columns of a y of 0
    and 1 are labels that may occur together, with one machine each. All machines share one
    matrix.

    Parameters
    ----------
    {C, epsilon, epsilon_unit, relaxation, threshold}
    {kernel, gamma, degree, coef0, theta, rho, zeta}
    {landmarks, n_landmarks, random_state}
    {tol, max_iter, max_time, solver, cache_size, dtype, warm_start, verbose}
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights. Not for multi-label targets.
    multi_class : {"auto", "shared", "ovo", "ovr"}, default="auto"
        Machines for more than two classes: one for each pair of classes, which vote (the sums of
        their values decide among equals, "ovo"), or one for each class against the rest, each
        with support objects of its own ("ovr") or from a common set ("shared"), which is usually
        smaller. "shared" needs ``C=inf`` and products of all columns. "auto" is "shared"
        with ``epsilon="auto"``, ``C=inf`` and at most 2048 columns, and "ovo" otherwise.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        With ``multi_class="ovo"`` and more than two classes: one decision value per class, or
        those of all pairs.
    probability : bool, "sigmoid" or "isotonic", default=False
        Whether and how decision values become probabilities: by a sigmoid for each machine (True or
        "sigmoid") or isotonic regression, fitted to its leave-one-out values. Those of pairs of
        classes are coupled (Wu, Lin and Weng 2004); those of classes against the rest are
        normalised. `predict` then returns the most probable class. Not for multi-label targets.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels; of a multi-label y, the numbers of its columns.
    calibration_ : Calibration
        What turns decision values into probabilities, if `probability` is set.
    {alpha_, landmarks_, support_, support_objects_, n_support_, coef_, intercept_, offset_}
    {column_means_, column_norms_, epsilon_, loo_decision_, loo_error_}
    {held_out_error_, fold_errors_, plan_, sums_}
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

    Three classes have three machines, which share their support objects:

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = PSVC().fit(X, y)
    >>> model.alpha_.shape, bool(model.score(X, y) > 0.95 and model.n_support_ < 20)
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
            relaxation=relaxation,
            threshold=threshold,
            kernel=kernel,
            gamma=gamma,
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
        *,
        standardize: bool = False,
        checkpoint: StrPath | None = None,
        qr: bool = False,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` have y and the weights in them, and need not fit into memory. A dask array
            or DataFrame is summed chunk by chunk where the chunks are.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels of two or more classes; or 0 and 1 for labels that may occur together.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as the row twice.
        standardize : bool, default=False
            Of `RowBlocks` and dask collections: whether the kernel sees features of mean 0 and
            variance 1, as after `sklearn.preprocessing.StandardScaler`. New objects are scaled
            likewise.
        checkpoint : str or path-like, default=None
            Of `RowBlocks`: a file that keeps the sums so far. A fit that was interrupted goes on
            from there; the file is removed at the end.
        qr : bool, default=False
            Of `RowBlocks`: whether the solution is refined by a triangular factor of the rows, for
            columns that are almost combinations of each other. It takes one more pass.

        Returns
        -------
        self : PSVC
        """
        options = BlockOptions(standardize, checkpoint, qr)
        if in_parts(X):
            rows = rows_of(X, y, sample_weight, type(self).__name__)
            fit = fit_dask if is_dask(X) else fit_blocks
            return fit(self, rows, options)
        options.refuse()
        solver = check_psvm(self)
        X, labels, weights = prepare(self, X, y, sample_weight)
        self._fit(X, labels, weights, solver)
        self._labels = Labels(labels.classes, None, labels.scheme)
        self.classes_ = labels.classes
        return self

    @available_if(_reads_blocks)
    def partial_fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
        standardize: bool = False,
    ) -> Self:
        """Fit the model to more rows, and to those that it has seen.

        The first call fixes the kernel with its gamma and the landmarks, from its rows. The model
        keeps sums over the rows, and a sample of them, but not the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or RowBlocks
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        classes : array-like, default=None
            All labels, if those of the first call are not all.
        standardize : bool, default=False
            In the first call: as for `fit`, by the scale of its rows.

        Returns
        -------
        self : PSVC
        """
        return add_rows(self, X, y, sample_weight, classes=classes, standardize=standardize)

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
            pairs, with the sums of their values to break ties, or the values of all pairs, positive
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
            The class with the largest decision value, or if `probability` is set the most
            probable one. Decision values decide as well where leave-one-out values say nothing
            about the classes, so that all rows have the same probabilities.
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
    {C, epsilon, epsilon_unit, relaxation, threshold}
    {kernel, gamma, degree, coef0, theta, rho, zeta}
    {landmarks, n_landmarks, random_state}
    {tol, max_iter, max_time, solver, cache_size, dtype, warm_start, verbose}

    Attributes
    ----------
    {alpha_, landmarks_, support_, support_objects_, n_support_, coef_, intercept_, offset_}
    {column_means_, column_norms_, epsilon_, loo_decision_, loo_error_}
    {held_out_error_, fold_errors_, plan_, sums_}
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
        *,
        standardize: bool = False,
        checkpoint: StrPath | None = None,
        qr: bool = False,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` have y and the weights in them, and need not fit into memory. A dask array
            or DataFrame is summed chunk by chunk where the chunks are.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as the row twice.
        standardize : bool, default=False
            Of `RowBlocks` and dask collections: whether the kernel sees features of mean 0 and
            variance 1, as after `sklearn.preprocessing.StandardScaler`. New objects are scaled
            likewise.
        checkpoint : str or path-like, default=None
            Of `RowBlocks`: a file that keeps the sums so far. A fit that was interrupted goes on
            from there; the file is removed at the end.
        qr : bool, default=False
            Of `RowBlocks`: whether the solution is refined by a triangular factor of the rows, for
            columns that are almost combinations of each other. It takes one more pass.

        Returns
        -------
        self : PSVR
        """
        options = BlockOptions(standardize, checkpoint, qr)
        if in_parts(X):
            rows = rows_of(X, y, sample_weight, type(self).__name__)
            fit = fit_dask if is_dask(X) else fit_blocks
            return fit(self, rows, options)
        options.refuse()
        solver = check_psvm(self)
        X, numbers, weights = prepare(self, X, y, sample_weight)
        return self._fit(X, numbers, weights, solver)

    @available_if(_reads_blocks)
    def partial_fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        standardize: bool = False,
    ) -> Self:
        """Fit the model to more rows, and to those that it has seen.

        The first call fixes the kernel with its gamma and the landmarks, from its rows. The model
        keeps sums over the rows, and a sample of them, but not the rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or RowBlocks
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
        standardize : bool, default=False
            In the first call: as for `fit`, by the scale of its rows.

        Returns
        -------
        self : PSVR
        """
        return add_rows(self, X, y, sample_weight, standardize=standardize)

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
        """Predicted numbers.

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
