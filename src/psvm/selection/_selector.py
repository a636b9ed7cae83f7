"""`PSVMSelector`: the features with non-zero alpha, as a scikit-learn selector."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from .._docstrings import document
from .._fitted import LEFT_OUT, ArrayOf, Count, Given, Instance, Maybe, Permutation
from .._parameters import Choice, Either, Flag, Later, Number, check_parameters
from .._progress import progress, steps
from .._threads import threads
from .._typing import ArrayLike, KernelLike, MatrixLike, RandomState, Stored, available_if
from .._validation import check_number, shown
from ..choice import POLICY, RowsMachine
from ..estimators import (
    LANDMARKS,
    PSVC,
    PSVR,
    KernelChoice,
    KernelMixin,
    MomentsPlan,
    check_landmarks,
    choose_kernel,
    describe,
    fit_moments,
    in_parts,
    landmarks_for,
    rows_of,
    sum_rows,
    survey_rows,
)
from ..kernels import check_kernel, check_vectors
from ..matrix import DaskRows, RowBlocks, as_dense, dask_columns, is_dask, row_digests
from ..solvers import (
    LARGEST_HOMOTOPY,
    Clock,
    Solution,
    check_weights,
    epsilon_path,
    make_solver,
    warn_if_not_optimal,
)
from ._checks import CheckedSelectorMixin, check_n_features, validate
from ._redundancy import StandInsMixin
from ._relations import Relations, name_objects
from ._targets import code_target, merge_orders, numeric_targets, ranking_of

REMEDY = (
    "Fill in the missing values inside a pipeline, such as "
    "make_pipeline(SimpleImputer(keep_empty_features=True), PSVMSelector())."
)
LOWEST = 1e-4
"""With `n_features` a path that is not exact ends at this share of epsilon_max."""
BEYOND = 10
"""With `n_features` a path ends when it has more than ``2 n_features + BEYOND`` features."""
LEVELS = np.geomspace(1.0, LOWEST, 401)[1:]
"""Shares of the largest correlation among which `n_features` chooses for several targets."""
ROUNDING = 1e-10
"""A variable below this share of the largest one is zero but for rounding."""


@document()
class PSVMSelector(KernelMixin, StandInsMixin, CheckedSelectorMixin, BaseEstimator):
    """Select the features to which the Potential Support Vector Machine gives a weight.

    The columns of X are standardised implicitly and the P-SVM problem is solved with X as the
    data matrix; the features with ``alpha_j != 0`` are selected. A feature is taken for what it
    adds to the others: two features that say the same are not both selected.

    With `landmarks` the features are the relations ``k(x, z_j)`` to these objects, and the
    selected ones among them are what `transform` returns.

    Parameters
    ----------
    epsilon : "auto", "cv", "aicc" or float, default="auto"
        Correlation threshold; the larger it is, the fewer features. "auto" takes the smallest
        squared error of leave-one-out values, "cv" that of five folds, as `PSVR` does. "aicc"
        minimises the corrected Akaike criterion.
    epsilon_unit : {"absolute", "max"}, default="absolute"
        A number `epsilon` is in the units of columns of norm one ("absolute"), or a share of the
        smallest value that selects nothing ("max").
    n_features : int, default=None
        Take the smallest epsilon with at most this many features, instead of `epsilon`. Since the
        number may fall again when epsilon is lowered, the path is followed until it has more
        than ``2 n_features + 10`` features, else to its end: epsilon = 0, or 1e-4 of the beginning
        if X has more than 500 rows and columns.
    C : float, default=inf
        Bound of the variables.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes strings, booleans and integers for classes and all other
        numbers for the target of a regression, as scikit-learn's `type_of_target` does.
    landmarks : array-like of shape (n_objects, n_features), int, {"all", "kmeans", "random", \
"pca"} or object with fit, default=None
        The objects z_j among which to select, as in `PSVC`. None means that the columns of X are
        the features, "all" that the objects are those of X.
    n_landmarks : int, default=100
        How many for "kmeans", "random" and "pca".
    kernel : str, Kernel or callable, default="rbf"
        How X is related to the `landmarks`: a kernel of vectors by name or an object, as in `PSVC`.
        A kernel of sequences takes strings as X.
    gamma, degree, coef0, theta, rho, zeta : default="scale", 3, 0.0, 1.0, 1.0, 1.0
        Parameters of a kernel that is given by its name, as in `PSVC`.
    random_state : int, Generator, RandomState or None, default=None
        Random numbers for the choice of the `landmarks`.
    tol : float, default=1e-4
        Largest KKT violation relative to epsilon.
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (n_features_in_,)
        Indices of the features, best first: the selected ones in the order in which they enter
        when epsilon is lowered, ties by ``|alpha|``; then those that entered and left again; then
        the rest by their correlation with what the selected ones do not explain.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for a selected feature, then 2, 3, ... in that order, as in scikit-learn's `RFE`.
    importance_ : ndarray of shape (n_features_in_,)
        ``|alpha|``.
    error_bound_ : ndarray of shape (n_features_in_,)
        A feature that is dropped without a new fit increases the mean of half the squared error
        on the training rows by at most this much,
        ``(epsilon |alpha_j| + alpha_j^2 / 2) / n_samples``.
    alpha_ : ndarray of shape (n_features_in_,) or (n_targets, n_features_in_)
        The dual variables.
    epsilon_ : float or ndarray of shape (n_targets,)
        The epsilon that was used.
    epsilon_max_ : float or ndarray of shape (n_targets,)
        The smallest epsilon that selects nothing.
    solution_ : Solution or list of Solution
        The solution with its certificate.
    n_features_ : int
        Number of selected features.
    classes_ : ndarray
        The class labels of a classification.
    landmarks_ : array or None
        The objects z_j, selected or not; None without `landmarks`. With landmarks the arrays
        above have one entry for each object.
    {n_features_in_, feature_names_in_}

    See Also
    --------
    GeneSelector : Selection, choice of the number of features and classifier in one protocol.
    PSVC : The classifier.

    Notes
    -----
    With more than two classes there is one target per class, that class against the rest, and
    with a y of several columns one per column. Each has a selection of its own; "auto", "aicc" and
    ``epsilon_unit="max"`` are relative to each. A feature is selected if it is in any of these
    selections, its importance and error bound are the largest ones, and its place in the order is
    the best one that it has for any target. With `n_features` all targets have the same correlation
    threshold ``epsilon / ||y||``, the smallest of 400 levels with at most so many features in
    total.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVMSelector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 500))
    >>> y = np.where(X[:, 7] - X[:, 42] > 0, "sick", "well")
    >>> selector = PSVMSelector(n_features=2).fit(X, y)
    >>> selector.get_support(indices=True)
    array([ 7, 42])
    >>> selector.transform(X).shape
    (60, 2)

    Which of 20 cluster centres decide:

    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(100, noise=0.1, random_state=0)
    >>> selector = PSVMSelector(n_features=3, landmarks=20, random_state=0).fit(X, y)
    >>> selector.landmarks_.shape, selector.landmarks_[selector.get_support()].shape
    ((20, 2), (3, 2))
    >>> selector.transform(X).shape
    (100, 3)
    """

    order_: np.ndarray
    ranking_: np.ndarray
    importance_: np.ndarray
    error_bound_: np.ndarray
    alpha_: np.ndarray
    epsilon_: float | np.ndarray
    epsilon_max_: float | np.ndarray
    solution_: Solution | list[Solution]
    n_features_: int
    classes_: np.ndarray
    landmarks_: Stored | None
    n_features_in_: int
    feature_names_in_: np.ndarray

    _constraints: ClassVar = {
        "epsilon": Either(Choice("auto", "cv", "aicc"), Number(above=0)),
        "epsilon_unit": Choice("absolute", "max"),
        "n_features": Later(),
        "C": Number(above=0, infinite=True),
        "task": Later(),
        **LANDMARKS,
        "kernel": KernelChoice(),
        "tol": Number(above=0),
        "verbose": Flag(),
    }

    _fitted: ClassVar = {
        "_relations": Maybe(Given()),
        "importance_": ArrayOf("columns", least=0),
        "order_": Permutation("columns"),
        "ranking_": ArrayOf("columns", kinds="i"),
        "n_features_": Count(),
        "alpha_": Maybe(Given()),
        "error_bound_": Maybe(Given()),
        "epsilon_": Maybe(Given()),
        "epsilon_max_": Maybe(Given()),
        "landmarks_": LEFT_OUT,
        "solution_": LEFT_OUT,
    }

    def __init__(
        self,
        epsilon: float | Literal["auto", "cv", "aicc"] = "auto",
        *,
        epsilon_unit: Literal["absolute", "max"] = "absolute",
        n_features: int | None = None,
        C: float = np.inf,
        task: Literal["auto", "classification", "regression"] = "auto",
        landmarks: Any = None,
        n_landmarks: int = 100,
        kernel: KernelLike = "rbf",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        theta: float = 1.0,
        rho: float = 1.0,
        zeta: float = 1.0,
        random_state: RandomState = None,
        tol: float = 1e-4,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.epsilon_unit = epsilon_unit
        self.n_features = n_features
        self.C = C
        self.task = task
        self.landmarks = landmarks
        self.n_landmarks = n_landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.theta = theta
        self.rho = rho
        self.zeta = zeta
        self.random_state = random_state
        self.tol = tol
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags

    @property
    def _takes_vectors(self):
        return self.landmarks is None or super()._takes_vectors

    def fit(
        self,
        X: MatrixLike | RowBlocks,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features), or \
                RowBlocks
            The data; or other objects, if the kernel takes them. `RowBlocks` have y and the
            weights in them. They and dask collections need not fit into memory, and go without
            `landmarks`.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels of classes, or numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared errors; a weight of 2 is the same as the row twice.

        Returns
        -------
        self : PSVMSelector
        """
        solver = self._check_parameters()
        if in_parts(X):
            return self._fit_rows(rows_of(X, y, sample_weight, "PSVMSelector"), solver)
        X, y = self._validate_both(X, y)
        weights = check_weights(sample_weight, X.shape[0])
        weights = np.ones(X.shape[0]) if weights is None else weights
        target = code_target(y, self.task)
        rows, related = numeric_targets(target), self.landmarks is not None
        with progress("PSVMSelector", self.verbose):
            description = self._describe(X, weights)
            if self.n_features is not None:
                n_columns = description.matrix.shape[1]
                check_n_features(self.n_features, n_columns, "landmarks" if related else "X")
            problems = [description.problem(y, self.C) for y in rows]
            epsilons = self._choose_epsilons(description, rows, problems, solver)
            solutions, orders = _select_all(rows, problems, epsilons, solver)
        self._keep(target, problems, solutions, orders, weights.sum())
        self.landmarks_ = description.objects if related else None
        self._relations = None
        if related:
            names = name_objects(self.landmarks, description.objects)
            self._relations = Relations(description.kernel, description.objects, names)
        return self

    def _fit_rows(self, rows, solver):
        """Select columns from the sums over rows that are read in blocks or chunks."""
        if self.landmarks is not None:
            raise ValueError(
                "Rows in blocks or chunks go without landmarks: the columns of X are the features."
            )
        with threads(), progress("PSVMSelector", self.verbose):
            survey, parts = survey_rows(rows, labels=partial(_are_labels, self.task))
            labels = survey.classes is not None
            kind = partial(PSVC, multi_class="ovr") if labels else PSVR
            numbers = {"epsilon_unit": self.epsilon_unit, "C": self.C, "tol": self.tol}
            model = kind(kernel="dyadic", epsilon=self.epsilon, threshold="mean", **numbers)
            plan = MomentsPlan.make(model, survey, feature_names=parts.feature_names)
            (sums,) = sum_rows([plan], parts)
            X, Y, weights = sums.total.equivalent_rows()
            if self.n_features is not None:
                check_n_features(self.n_features, plan.n_columns)
            description, rows = describe(X, weights, "dyadic"), Y.T
            problems = [description.problem(y, self.C) for y in rows]
            if self.n_features is not None:
                epsilons = _limit_features(rows, problems, self.n_features)
            else:
                epsilons = np.atleast_1d(fit_moments(model, plan, sums).epsilon_)
            solutions, orders = _select_all(rows, problems, epsilons, solver)
        solutions = [replace(solution, source="moments") for solution in solutions]
        vars(self).pop("feature_names_in_", None)
        self.n_features_in_ = plan.n_features
        if plan.feature_names is not None:
            self.feature_names_in_ = plan.feature_names
        self._keep(plan.target_for(model), problems, solutions, orders, sums.total.weight)
        self.landmarks_ = self._relations = None
        return self

    def _check_parameters(self):
        """Check all parameters and return the solver."""
        check_parameters(self)
        chosen = isinstance(self.epsilon, str) and self.epsilon == "auto"
        if self.n_features is not None and not chosen:
            raise ValueError(
                f"Give epsilon={shown(self.epsilon)} or n_features={shown(self.n_features)}, not "
                "both: either of them decides how many features are selected."
            )
        if self.epsilon_unit == "max" and not isinstance(self.epsilon, str):
            check_number("epsilon", self.epsilon, above=0, most=1)
        check_landmarks(self.landmarks, self.kernel)
        return make_solver("auto", tol=self.tol)

    def _validate_both(self, X, y):
        if self.landmarks is None:
            return validate(self, X, y, remedy=REMEDY, multi_output=True)
        return self._validate(X, y, multi_output=True, ensure_min_samples=2)

    def _describe(self, X, weights):
        """The columns of X, or its relations to the landmarks."""
        digests = row_digests(X) if isinstance(self.epsilon, str) else None
        if self.landmarks is None:
            return describe(X, weights, "dyadic", digests=digests)
        kernel = choose_kernel(self, X, weights)
        landmarks = landmarks_for(self, X, weights, kernel)
        return describe(X, weights, kernel, landmarks=landmarks, digests=digests)

    def _choose_epsilons(self, description, rows, problems, solver):
        """One epsilon per target."""
        if self.n_features is not None:
            return _limit_features(rows, problems, self.n_features)
        if isinstance(self.epsilon, str):
            return [
                self._chosen(RowsMachine(description, y, self.C, False, solver))
                for y in steps(iter(rows), "epsilon of target")
            ]
        if self.epsilon_unit == "max":
            return [self.epsilon * problem.epsilon_max for problem in problems]
        return [self.epsilon] * len(rows)

    def _chosen(self, machine):
        """The epsilon of one target."""
        source = "loo" if self.epsilon == "auto" else self.epsilon
        walk = machine.choose(source, "best", Clock())
        return POLICY.fallback * machine.largest if walk is None else walk.epsilon

    def _keep(self, target, problems, solutions, orders, total):
        """Set all fitted attributes at once."""
        alphas = np.array([solution.alpha for solution in solutions])
        bounds = [_error_bound(solution, total) for solution in solutions]
        importance = np.abs(alphas).max(axis=0)
        order = orders[0] if len(orders) == 1 else merge_orders(orders, importance)
        selected = importance > 0
        order = np.concatenate([order[selected[order]], order[~selected[order]]])
        single = len(solutions) == 1
        epsilon_max = np.array([problem.epsilon_max for problem in problems])
        self.alpha_ = alphas[0] if single else alphas
        self.importance_ = importance
        self.error_bound_ = np.max(bounds, axis=0)
        self.n_features_ = int(selected.sum())
        self.order_ = order
        self.ranking_ = ranking_of(order, self.n_features_)
        self.epsilon_ = solutions[0].epsilon if single else np.array([s.epsilon for s in solutions])
        self.epsilon_max_ = float(epsilon_max[0]) if single else epsilon_max
        self.solution_ = solutions[0] if single else solutions
        if target.classifies and target.scheme != "multilabel":
            self.classes_ = target.classes

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.importance_ > 0

    def transform(self, X: MatrixLike) -> Any:
        """Reduce X to the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix, dask collection} of shape (n_samples, n_features)
            The data; or other objects, if the kernel takes them.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features_)
            The selected columns of X; or the relations ``k(x, z_j)`` to the selected
            `landmarks`. The columns of a dask collection are one that is not computed yet.
        """
        check_is_fitted(self)
        if self._relations is None and is_dask(X):
            n_features = DaskRows(X).n_features
            if n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {n_features} features, but PSVMSelector is expecting "
                    f"{self.n_features_in_} features as input."
                )
            names = getattr(self, "feature_names_in_", None)
            return dask_columns(X, self.get_support(indices=True), names)
        if self._relations is None:
            return super().transform(X)
        X = self._validate(X, reset=False)
        return self._relations.values(X, self.get_support(indices=True))

    @available_if(lambda self: self.landmarks is None)
    def inverse_transform(self, X: MatrixLike) -> Any:
        """Put zeros in place of the features that were not selected.

        Not with `landmarks`: relations cannot be turned back into X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features_)

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features_in_)
        """
        return super().inverse_transform(X)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> np.ndarray:
        """Names of the selected features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, if they were not known in `fit`.

        Returns
        -------
        ndarray of str
            With `landmarks` the labels of their DataFrame or Series, or the names of sequences;
            else "object0", "object1" and so on.
        """
        check_is_fitted(self)
        if self._relations is None:
            return super().get_feature_names_out(input_features)
        if hasattr(self, "n_features_in_"):
            OneToOneFeatureMixin.get_feature_names_out(self, input_features)  # checks their number
        return self._relations.names[self.get_support()]

    def _candidates(self, X):
        if self._relations is None:
            return super()._candidates(X)
        X = self._validate(X, reset=False)
        return self._relations.values(X, np.arange(len(self.order_))), self._relations.names

    def _check_fitted(self, state):
        """A value for each feature or landmark."""
        relations, P = self._relations, len(self.importance_)
        if relations is None:
            state.require(state.features() == P, f"importance_ has shape {(P,)}")
        else:
            state.hold("_relations", relations, Instance(Relations))
            check_kernel(state, relations.kernel, self._takes_vectors)
            check_vectors(state, relations.kernel, relations.objects)
            state.require(relations.objects.shape[0] == P, f"importance_ has shape {(P,)}")
        n = np.count_nonzero(self.importance_)
        state.require(self.n_features_ == n, "n_features_ is wrong")

    def _unpack(self, state):
        """The landmarks are those of the relations, also where they were given."""
        vars(self).update(state)
        if "_relations" in state:
            self.landmarks_ = getattr(self._relations, "objects", None)
            if self.landmarks is None:
                self.landmarks = self.landmarks_


def _are_labels(task, y):
    """Whether a block of y holds labels, if `task` is "auto"."""
    return code_target(y, task).classifies if task == "auto" else task == "classification"


def _select_all(rows, problems, epsilons, solver):
    """The solutions of all targets, and all features in the order of each."""
    solutions, orders = [], []
    for y, problem, epsilon in zip(steps(rows, "target"), problems, epsilons, strict=True):
        solution, order = _select(y, problem, epsilon, solver)
        solutions.append(solution)
        orders.append(order)
    return solutions, orders


def _select(target, problem, epsilon, solver):
    """The solution at epsilon, and all features in their order."""
    K, P = problem.K, problem.K.shape[1]
    start, entered = None, np.empty(0, dtype=np.intp)
    if epsilon < problem.epsilon_max:
        path = epsilon_path(
            K.matrix,
            target,
            problem.C,
            min_ratio=epsilon / problem.epsilon_max,
            sample_weight=K.weights,
        )
        start, entered = as_dense(_without_rounding(path.alphas)[[-1]])[0], path.order
    solution = solver.minimise(problem.with_parameters(epsilon=epsilon), start=start)
    warn_if_not_optimal(solution)
    rest = np.setdiff1d(np.arange(P), entered)
    rest = rest[np.argsort(-np.abs(solution.F[rest]), kind="stable")]
    order = np.concatenate([entered, rest])
    selected = solution.alpha[order] != 0
    return solution, np.concatenate([order[selected], order[~selected]])


def _limit_features(rows, problems, n_features):
    """The smallest epsilons with at most so many features."""
    K, C = problems[0].K, problems[0].C
    options = {"max_features": 2 * n_features + BEYOND, "sample_weight": K.weights}
    if len(rows) == 1:
        lowest = 0.0 if min(K.shape) <= LARGEST_HOMOTOPY else LOWEST
        path = epsilon_path(K.matrix, rows[0], C, min_ratio=lowest, **options)
        numbers = np.diff(_without_rounding(path.alphas).indptr)
        few = np.flatnonzero(numbers <= n_features)
        return [path.epsilons[few[-1]] if len(few) else problems[0].epsilon_max]
    sizes = np.array([np.linalg.norm(problem.y) for problem in problems])
    varying = [(t, size) for t, size in enumerate(sizes) if problems[t].epsilon_max > 0]
    largest = max((problems[t].epsilon_max / size for t, size in varying), default=1.0)
    used = np.zeros((len(LEVELS), K.shape[1]), dtype=bool)
    reached = len(LEVELS)
    for t, size in varying:
        path = epsilon_path(K.matrix, rows[t], C, epsilons=LEVELS * largest * size, **options)
        reached = min(reached, len(path.epsilons))
        used[: len(path.epsilons)] |= as_dense(path.alphas) != 0
    few = np.flatnonzero(used[:reached].sum(axis=1) <= n_features)
    return list((LEVELS[few[-1]] if len(few) else 1.0) * largest * sizes)


def _without_rounding(alphas):
    """Solutions of a path without variables that are zero but for rounding."""
    alphas = alphas.copy()
    largest = as_dense(np.abs(alphas).max(axis=1)).ravel()
    row = np.repeat(np.arange(alphas.shape[0]), np.diff(alphas.indptr))
    alphas.data[np.abs(alphas.data) <= ROUNDING * largest[row]] = 0.0
    alphas.eliminate_zeros()
    return alphas


def _error_bound(solution, total):
    """Increase of the mean of half the squared error when a feature is dropped.

    ``(|alpha_j k̃_j'r| + alpha_j^2 / 2) / L`` (Hochreiter & Obermayer 2004, eq. 43), where
    ``|k̃_j'r| <= epsilon`` unless the variable is at its bound C.
    """
    size = np.abs(solution.alpha)
    slope = np.maximum(np.abs(solution.F), solution.epsilon)
    return (slope * size + 0.5 * size**2) / total
