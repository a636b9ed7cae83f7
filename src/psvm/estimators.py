"""`PSVC` and `PSVR`: the scikit-learn face of the P-SVM."""

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from ._docstrings import ATTRIBUTES, PARAMETERS
from ._estimator import BasePSVM
from ._solve import check_weights


def _document(cls):
    text = cls.__doc__.replace("{parameters}", PARAMETERS)
    cls.__doc__ = text.replace("{attributes}", ATTRIBUTES)
    return cls


@_document
class PSVC(ClassifierMixin, BasePSVM):
    """Potential Support Vector Machine for classification with two classes.

    The targets are coded as -1 and +1, and the class is the sign of
    ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b``.

    Parameters
    ----------
    {parameters}
    class_weight : dict or "balanced", default=None
        Weights of the classes, multiplied with the sample weights.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels.
    {attributes}

    See Also
    --------
    PSVR : The same for regression.
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
    """

    def __init__(
        self,
        *,
        C=np.inf,
        epsilon="auto",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        theta=1.0,
        rho=1.0,
        zeta=1.0,
        row_objects=None,
        n_row_objects=100,
        random_state=None,
        class_weight=None,
        tol=1e-4,
        max_iter=None,
        max_time=None,
        solver="auto",
        cache_size=1000,
        dtype=np.float64,
        warm_start=False,
        verbose=False,
    ):
        super().__init__(
            C=C,
            epsilon=epsilon,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            theta=theta,
            rho=rho,
            zeta=zeta,
            row_objects=row_objects,
            n_row_objects=n_row_objects,
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as the row twice.

        Returns
        -------
        self : PSVC
        """
        solver = self._check_parameters()
        X, y = self._validate(X, y, ensure_min_samples=2)
        check_classification_targets(y)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        classes, code = np.unique(y, return_inverse=True)
        if len(classes) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass. "
                "Wrap the estimator in sklearn.multiclass.OneVsOneClassifier or "
                "OneVsRestClassifier."
            )
        if len(np.unique(code[weights > 0])) < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got 1 class (among the rows "
                "with positive weight)."
            )
        weights = weights * compute_sample_weight(self.class_weight, y)
        self._fit(X, 2.0 * code - 1.0, weights, solver)
        self.classes_ = classes
        return self

    def decision_function(self, X):
        """Values ``f(x)``; positive for ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects. With ``kernel="precomputed"`` the
            columns are the training objects.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X)

    def predict(self, X):
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, as for `decision_function`.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]


@_document
class PSVR(RegressorMixin, BasePSVM):
    """Potential Support Vector Machine for regression.

    The prediction is ``f(x) = sum_j alpha_j (k(x, z_j) - m_j) / s_j + b``.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

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

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Vectors, or the matrix itself with ``kernel="precomputed"`` (square) or "dyadic".
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as the row twice.

        Returns
        -------
        self : PSVR
        """
        solver = self._check_parameters()
        X, y = self._validate(X, y, y_numeric=True, ensure_min_samples=2)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        return self._fit(X, y.astype(np.float64), weights, solver)

    def predict(self, X):
        """Predicted numbers.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            New objects, in the form of the training objects. With ``kernel="precomputed"`` the
            columns are the training objects.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decide(X)
