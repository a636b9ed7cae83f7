"""`PSVCCV` and `PSVRCV`: the P-SVM with all parameters chosen by held-out rows."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._docstrings import document
from .._typing import (
    ArrayLike,
    ClassWeight,
    CVLike,
    DTypeLike,
    KernelLike,
    MatrixLike,
    RandomState,
    Scoring,
    StrPath,
    available_if,
)
from ..estimators import PSVC, PSVR, has_probability
from ..matrix import RowBlocks
from ._base import SHARED, BaseCV
from ._docstrings import PARAGRAPHS


@document(PARAGRAPHS, base="PSVC")
class PSVCCV(ClassifierMixin, BaseCV):
    """Potential Support Vector Machine for classification, its parameters by held-out rows.

    For each candidate (kernel, gamma, C) the exact path of solutions is followed along decreasing
    epsilon, and compared by the losses of leave-one-out values, which need no other fit. Paths and
    the values of gamma go on until the loss has turned.

    Parameters
    ----------
    {Cs, gammas, cv, scoring, rule}
    {n_jobs, results_file, verbose, kernel, threshold}
    multi_class : {"auto", "shared", "ovo", "ovr"}, default="auto"
        As for `PSVC`.
    class_weight, decision_function_shape, probability
        As for `PSVC`.

    Attributes
    ----------
    {epsilon_, C_, gamma_, best_params_, best_score_, best_index_, Cs_, gammas_}
    {cv_results_, walks_, n_splits_, best_estimator_}

    See Also
    --------
    PSVC : The same with given parameters.
    PSVRCV : The same for regression.
    cross_val_error : The error of one model on held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import PSVCCV
    >>> X, y = make_moons(150, noise=0.2, random_state=0)
    >>> model = PSVCCV().fit(X, y)
    >>> sorted(model.best_params_), len(model.cv_results_["params"]) > 2
    (['C', 'gamma', 'kernel', 'standardize'], True)
    >>> bool(model.score(X, y) > 0.9 and model.n_support_ < 75)
    True
    """

    best_estimator_: PSVC
    classes_: np.ndarray

    _model = PSVC
    _shared = (*SHARED, "class_weight", "multi_class", "decision_function_shape", "probability")

    def __init__(
        self,
        *,
        Cs: ArrayLike | None = (np.inf,),
        gammas: ArrayLike | Literal["scale", "auto"] | None = None,
        cv: CVLike = None,
        scoring: Scoring = None,
        rule: Literal["best", "sparse"] = "best",
        n_jobs: int | None = None,
        results_file: StrPath | None = None,
        verbose: bool = False,
        threshold: Literal["loo", "mean"] = "loo",
        kernel: KernelLike | list[KernelLike] = "auto",
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
        cache_size: float = 1000,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.results_file = results_file
        self.verbose = verbose
        self.threshold = threshold
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.decision_function_shape = decision_function_shape
        self.probability = probability
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.dtype = dtype

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters and fit the model to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` have y and the weights in them. For them, for dask collections and for more
            than 2,000 vectors candidates are compared with 2,000 rows, drawn by content.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Labels, as for `PSVC`.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in training and in the scores.

        Returns
        -------
        self : PSVCCV
        """
        return self._fit(X, y, sample_weight)

    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Decision values of the chosen model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects.

        Returns
        -------
        ndarray
            As from the decision_function of `best_estimator_`.
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(has_probability)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Probabilities of the classes, if `probability` is set.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)


@document(PARAGRAPHS, base="PSVR")
class PSVRCV(RegressorMixin, BaseCV):
    """Potential Support Vector Machine for regression, its parameters by held-out rows.

    For each candidate (kernel, gamma, C) the exact path of solutions is followed along decreasing
    epsilon, and compared by the losses of leave-one-out values, which need no other fit. Paths and
    the values of gamma go on until the loss has turned.

    Parameters
    ----------
    {Cs, gammas, cv, scoring, rule}
    {n_jobs, results_file, verbose, kernel, threshold}

    Attributes
    ----------
    {epsilon_, C_, gamma_, best_params_, best_score_, best_index_, Cs_, gammas_}
    {cv_results_, walks_, n_splits_, best_estimator_}

    See Also
    --------
    PSVR : The same with given parameters.
    PSVCCV : The same for classification.
    cross_val_error : The error of one model on held-out rows.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVRCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(150, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.normal(size=150)
    >>> model = PSVRCV().fit(X, y)
    >>> bool(model.score(X, y) > 0.95 and -model.best_score_ < 0.1)
    True
    """

    best_estimator_: PSVR

    _model = PSVR

    def __init__(
        self,
        *,
        Cs: ArrayLike | None = (np.inf,),
        gammas: ArrayLike | Literal["scale", "auto"] | None = None,
        cv: CVLike = None,
        scoring: Scoring = None,
        rule: Literal["best", "sparse"] = "best",
        n_jobs: int | None = None,
        results_file: StrPath | None = None,
        verbose: bool = False,
        threshold: Literal["loo", "mean"] = "loo",
        kernel: KernelLike | list[KernelLike] = "auto",
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
        cache_size: float = 1000,
        dtype: DTypeLike = np.float64,
    ) -> None:
        self.Cs = Cs
        self.gammas = gammas
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.n_jobs = n_jobs
        self.results_file = results_file
        self.verbose = verbose
        self.threshold = threshold
        self.kernel = kernel
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
        self.cache_size = cache_size
        self.dtype = dtype

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
        """Choose the parameters and fit the model to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
            `RowBlocks` have y and the weights in them. For them, for dask collections and for more
            than 2,000 vectors candidates are compared with 2,000 rows, drawn by content.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in training and in the scores.

        Returns
        -------
        self : PSVRCV
        """
        return self._fit(X, y, sample_weight)
