"""`SpheredSVCCV`: lam chosen by cross-validation."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np

from .._docstrings import DEFINITE_KERNEL, document
from .._fitted import ArrayOf, Given, Maybe
from .._folds import make_splits
from .._parameters import Flag, Later
from .._progress import progress, steps
from .._typing import ArrayLike, ClassWeight, CVLike, KernelLike, MatrixLike
from .._validation import check_vector
from ..estimators import class_scores, fit_pairs
from ._base import BaseSphered
from ._docstrings import PARAGRAPHS


@document(PARAGRAPHS, DEFINITE_KERNEL)
class SpheredSVCCV(BaseSphered):
    """Sphered Support Vector Machine with lam chosen by cross-validation.

    In each fold one eigenvalue decomposition serves all values of lam, and each solution is the
    start of the next. The kernel matrix is evaluated once.

    Parameters
    ----------
    lams : array-like, default=None
        The values to choose from; None means 0.05, 0.1, ..., 0.95.
    cv : int, cross-validation generator or iterable, default=None
        The folds as in scikit-learn; None means five stratified folds.
    {C, kernel, gamma, degree, coef0, theta, rho, zeta}
    {center, solver, class_weight, decision_function_shape, tol, max_iter, max_time, cache_size}
    {verbose}

    Attributes
    ----------
    lams_ : ndarray of shape (n_lams,)
        The values, increasing.
    scores_ : ndarray of shape (n_lams, n_folds)
        Weighted accuracy on the held-out rows.
    best_score_ : float
        Mean accuracy of `lam_`, the best value (the largest one if several are equally good).
    {classes_, lam_, alpha_, support_, basis_, dual_coef_, intercept_}
    {capacity_, capacity_bound_, margin_, kkt_violation_, dual_gap_, solutions_, n_iter_}
    {n_features_in_, feature_names_in_}

    See Also
    --------
    SpheredSVC : The same for a given lam.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from psvm import SpheredSVCCV
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> model = SpheredSVCCV(lams=[0.1, 0.5, 0.9]).fit(X, y)
    >>> bool(model.lam_ in model.lams_ and model.best_score_ > 0.9)
    True
    """

    lams_: np.ndarray
    scores_: np.ndarray
    best_score_: float

    _constraints: ClassVar = {"lams": Later(), "cv": Later(), "verbose": Flag()}

    _fitted: ClassVar = {
        "lams_": Maybe(ArrayOf("lams")),
        "scores_": Maybe(ArrayOf("lams", None, nan=True)),
        "best_score_": Maybe(Given()),
    }

    def __init__(
        self,
        lams: ArrayLike | None = None,
        *,
        cv: CVLike = None,
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
        verbose: bool = False,
    ) -> None:
        super().__init__(
            C=C,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            theta=theta,
            rho=rho,
            zeta=zeta,
            center=center,
            solver=solver,
            class_weight=class_weight,
            decision_function_shape=decision_function_shape,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            cache_size=cache_size,
        )
        self.lams = lams
        self.cv = cv
        self.verbose = verbose

    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose lam and fit the model to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points, in the sphering, the centring and the slack: a weight of 2 is
            the same as repeating the row.

        Returns
        -------
        self : SpheredSVCCV
        """
        options = self._options()
        lams = self._check_lams()
        X, classes, code, weights = self._validate_classes(X, y, sample_weight)
        folds = make_splits(self.cv, X, code, classifier=True)
        with progress("SpheredSVCCV", self.verbose):
            training = self._make_training(X, weights, options)
            of_fold = partial(_fold_scores, training, code, len(classes), lams)
            scores = np.array([of_fold(*fold) for fold in steps(folds, "fold")]).T
            means = scores.mean(axis=1)
            # Sums of the same rates in another order differ by rounding.
            best = int(np.flatnonzero(means >= means.max() - 1e-12)[-1])
            self._fit(classes, code, training, float(lams[best]))
        self.lams_, self.scores_, self.best_score_ = lams, scores, float(means[best])
        return self

    def _check_lams(self):
        if self.lams is None:
            return np.arange(1, 20) / 20
        lams = np.unique(check_vector("lams", self.lams))
        for lam in lams:
            self._check_lam("lams", float(lam))
        return lams


def _fold_scores(training, code, n_classes, lams, train, test):
    """Weighted accuracy on the test rows for each lam."""
    weights = training.weights
    train, test = train[weights[train] > 0], test[weights[test] > 0]
    if len(np.unique(code[train])) < n_classes:
        raise ValueError(
            "A class has no training rows in one of the folds. Use fewer folds or stratified ones."
        )
    decisions = []

    def fit_binary(rows, y):
        rows = train[rows]
        objects = training.objects_of(rows)
        machines = training.path(rows, y, lams)
        solved = any(m.coef.any() for m in machines)
        K = training.rows[np.ix_(test, objects)] if solved else np.zeros((len(test), len(objects)))
        decisions.append([K[:, m.objects] @ m.coef + m.intercept for m in machines])

    fit_pairs(fit_binary, code[train], n_classes)
    by_lam = np.moveaxis(np.array(decisions), 0, -1)  # lam, test row, pair
    if n_classes == 2:
        found = (by_lam[:, :, 0] > 0).astype(np.intp)
    else:
        found = np.array([class_scores(f, n_classes).argmax(axis=1) for f in by_lam])
    return np.average(found == code[test], axis=1, weights=weights[test])
