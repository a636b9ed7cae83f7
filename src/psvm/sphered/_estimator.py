"""`SpheredSVC` and `SpheredSVCCV`: the scikit-learn face of the Sphered SVM."""

import warnings
from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._estimator import VECTORIAL
from .._multiclass import OneVsOneMixin, class_scores, fit_pairs
from .._validation import check_choice, check_number, check_positive_integer, check_vector
from ..kernels import make_kernel
from ..matrix import BLOCK_BYTES, block_slices
from ..solvers import Status
from ._docstrings import document
from ._dual import Limits
from ._training import Features, Gram, Options


class BaseSphered(OneVsOneMixin, ClassifierMixin, BaseEstimator):
    """Everything but the choice of lam."""

    def __init__(
        self,
        *,
        C=100.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        center=True,
        solver="auto",
        decision_function_shape="ovr",
        tol=1e-4,
        max_iter=None,
        max_time=None,
        cache_size=1000,
    ):
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
        self.decision_function_shape = decision_function_shape
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.cache_size = cache_size

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._precomputed
        return tags

    @property
    def _precomputed(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _check_parameters(self):
        """Check all parameters and return those of the problem and its solvers."""
        check_number("C", self.C, above=0, infinite=True)
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, (*VECTORIAL, "precomputed"))
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
        else:
            check_number("gamma", self.gamma, above=0)
        for name in ("coef0", "theta"):
            check_number(name, getattr(self, name))
        for name in ("degree", "cache_size"):
            check_number(name, getattr(self, name), least=0)
        for name in ("rho", "zeta", "tol"):
            check_number(name, getattr(self, name), above=0)
        check_choice("solver", self.solver, ("auto", "direct", "incremental"))
        check_choice("decision_function_shape", self.decision_function_shape, ("ovr", "ovo"))
        if not isinstance(self.center, (bool, np.bool_)):
            raise ValueError(f"center must be True or False, got {self.center!r}.")
        if self.max_iter is not None:
            check_positive_integer("max_iter", self.max_iter)
        if self.max_time is not None:
            check_number("max_time", self.max_time, above=0)
        limits = Limits(self.tol, self.max_iter, self.max_time)
        return Options(self.C, bool(self.center), self.solver, limits, self.cache_size)

    def _check_lam(self, name, lam):
        check_number(name, lam, least=0)
        if lam > 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {lam!r}.")
        if lam == 0 and self.solver == "incremental":
            raise ValueError(
                f"{name} = 0 needs a pseudo-inverse, which the incremental solver cannot grow. Use "
                f"solver='direct' or {name} > 0."
            )

    def _validate(self, X, y):
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2
        )
        check_classification_targets(y)
        classes, code = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError("The number of classes has to be greater than one; got 1 class.")
        if self._precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed Gram matrix must be a square matrix, got {X.shape[0]} x "
                f"{X.shape[1]}."
            )
        return X, classes, code

    def _make_training(self, X, options):
        """The training points in the form that suits the kernel."""
        if self._precomputed:
            return Gram(X, None, False, options)
        if self.kernel == "linear" and X.shape[1] < X.shape[0] and self.solver != "incremental":
            return Features(X, options)
        kernel = self._make_kernel(X)
        return Gram(X, kernel, bool(getattr(kernel, "positive_definite", False)), options)

    def _make_kernel(self, X):
        if callable(self.kernel):
            return self.kernel
        gamma = self.gamma
        if gamma == "auto":
            gamma = 1.0 / X.shape[1]
        elif gamma == "scale":
            variance = X.multiply(X).mean() - X.mean() ** 2 if hasattr(X, "multiply") else X.var()
            gamma = 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
        return make_kernel(
            self.kernel,
            gamma=gamma,
            degree=self.degree,
            coef0=self.coef0,
            theta=self.theta,
            rho=self.rho,
            zeta=self.zeta,
        )

    def _fit(self, X, classes, code, training, lam):
        """Fit all pairs of classes with one lam."""
        pairs = []

        def fit_binary(rows, y):
            machine = training.solve(rows, y, lam)
            pairs.append((rows, y))
            return machine

        machines = fit_pairs(fit_binary, code, len(classes))
        self._keep(X, classes, training, lam, pairs, machines)
        _warn_if_not_optimal(self.solutions_)
        return self

    def _keep(self, X, classes, training, lam, pairs, machines):
        """Set all fitted attributes at once: a fit that fails or is stopped changes no model."""
        owners = [
            training.row_objects(rows)[m.objects]
            for (rows, _), m in zip(pairs, machines, strict=True)
        ]
        objects = np.unique(np.concatenate(owners))
        dual_coef = np.zeros((len(machines), len(objects)))
        alpha = np.zeros((len(machines), len(X) if isinstance(X, np.ndarray) else X.shape[0]))
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
        self._rows = _row_maker(X, training, objects)

    def _pair_decisions(self, X):
        """``f(x)`` of all pairs, positive for the second class."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        decisions = np.empty((X.shape[0], len(self.intercept_)))
        for rows in block_slices(len(decisions), 8 * len(self.basis_), size=BLOCK_BYTES // 16):
            decisions[rows] = self._rows(X[rows]) @ self.dual_coef_.T + self.intercept_
        return decisions


def _row_maker(X, training, objects):
    """What turns new objects into the rows that a machine multiplies with its coefficients."""
    if isinstance(training, Features):
        return partial(_shift, origin=training.origin)
    if training.kernel is None:
        return partial(_take, objects=objects)
    return partial(_evaluate, kernel=training.kernel, Z=X[objects])


def _shift(X, origin):
    return (X.toarray() if hasattr(X, "toarray") else X) - origin


def _take(X, objects):
    rows = X[:, objects]
    return rows.toarray() if hasattr(rows, "toarray") else rows


def _evaluate(X, kernel, Z):
    return kernel(X, Z)


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


@document
class SpheredSVC(BaseSphered):
    """Sphered Support Vector Machine: its answer does not depend on how the inputs are scaled.

    It minimises ``(1 - lam)/2 ||X'w||^2 + lam/2 ||w||^2 + C sum_i xi_i`` subject to
    ``y_i (<w, x_i> + b) >= 1 - xi_i``. With ``lam = 1`` that is the standard C-SVM. With ``lam=0``
    it is the pure Sphered SVM, which does not change when the inputs are rescaled, mixed linearly
    or shifted. In between, directions of small variance are sphered less.

    Parameters
    ----------
    lam : float, default=0.5
        From 0 (pure sphering, pseudo-inverse) to 1 (standard SVM).
    {parameters}

    Attributes
    ----------
    {attributes}

    See Also
    --------
    SpheredSVCCV : lam chosen by cross-validation.
    PSVC : For matrices that are not positive semidefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import SpheredSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = np.where(X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=100) > 0, "up", "down")
    >>> A = [[1000.0, 2.0, 0.0], [0.0, 0.01, 3.0], [1.0, 0.0, 1.0]]
    >>> f = SpheredSVC(lam=0, kernel="linear").fit(X, y).decision_function(X)
    >>> g = SpheredSVC(lam=0, kernel="linear").fit(X @ A + 7, y).decision_function(X @ A + 7)
    >>> bool(np.allclose(f, g, rtol=1e-3, atol=1e-3))
    True
    """

    def __init__(
        self,
        lam=0.5,
        *,
        C=100.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        center=True,
        solver="auto",
        decision_function_shape="ovr",
        tol=1e-4,
        max_iter=None,
        max_time=None,
        cache_size=1000,
    ):
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
            decision_function_shape=decision_function_shape,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            cache_size=cache_size,
        )
        self.lam = lam

    def fit(self, X, y):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.

        Returns
        -------
        self : SpheredSVC
        """
        options = self._check_parameters()
        self._check_lam("lam", self.lam)
        X, classes, code = self._validate(X, y)
        return self._fit(X, classes, code, self._make_training(X, options), self.lam)


@document
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
    {parameters}

    Attributes
    ----------
    lams_ : ndarray of shape (n_lams,)
        The values, increasing.
    scores_ : ndarray of shape (n_lams, n_folds)
        Accuracy on the held-out rows.
    best_score_ : float
        Mean accuracy of `lam_`, the best value, and the largest among equals.
    {attributes}

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

    def __init__(
        self,
        lams=None,
        *,
        cv=None,
        C=100.0,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        center=True,
        solver="auto",
        decision_function_shape="ovr",
        tol=1e-4,
        max_iter=None,
        max_time=None,
        cache_size=1000,
    ):
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
            decision_function_shape=decision_function_shape,
            tol=tol,
            max_iter=max_iter,
            max_time=max_time,
            cache_size=cache_size,
        )
        self.lams = lams
        self.cv = cv

    def fit(self, X, y):
        """Choose lam and fit the model to all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the Gram matrix with ``kernel="precomputed"``.
        y : array-like of shape (n_samples,)
            Labels of two or more classes.

        Returns
        -------
        self : SpheredSVCCV
        """
        options = self._check_parameters()
        lams = self._check_lams()
        X, classes, code = self._validate(X, y)
        training = self._make_training(X, options)
        folds = check_cv(self.cv, code, classifier=True).split(X, code)
        scores = np.array([_fold_scores(training, code, len(classes), lams, *f) for f in folds]).T
        means = scores.mean(axis=1)
        # Sums of the same rates in another order differ by rounding.
        best = int(np.flatnonzero(means >= means.max() - 1e-12)[-1])
        self._fit(X, classes, code, training, float(lams[best]))
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
    """Accuracy on the test rows for each lam."""
    if len(np.unique(code[train])) < n_classes:
        raise ValueError(
            "A class has no training rows in one of the folds. Use fewer folds or stratified ones."
        )
    decisions = []

    def fit_binary(rows, y):
        rows = train[rows]
        objects = training.row_objects(rows)
        machines = training.path(rows, y, lams)
        K = training.rows[np.ix_(test, objects)]
        decisions.append([K[:, m.objects] @ m.coef + m.intercept for m in machines])

    fit_pairs(fit_binary, code[train], n_classes)
    by_lam = np.moveaxis(np.array(decisions), 0, -1)  # lam, test row, pair
    if n_classes == 2:
        found = (by_lam[:, :, 0] > 0).astype(np.intp)
    else:
        found = np.array([class_scores(f, n_classes).argmax(axis=1) for f in by_lam])
    return (found == code[test]).mean(axis=1)
