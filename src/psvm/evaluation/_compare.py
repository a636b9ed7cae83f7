"""Several models on the same splits, in one table with tests."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import check_scoring as make_scorer
from sklearn.metrics import mean_squared_error
from sklearn.utils import indexable
from sklearn.utils.metaestimators import _safe_split

from .._folds import check_scoring, make_splits
from .._parallel import run
from .._progress import progress
from .._typing import ArrayLike, CVLike, DataFrame, Estimator, MatrixLike, Scoring
from .._validation import (
    as_array,
    check_choice,
    check_flag,
    check_has,
    check_jobs,
    check_list,
    check_members,
    check_rows,
    shown,
)
from ..estimators import unwrap
from ._significance import (
    Significance,
    SplitSignificance,
    corrected_t_test,
    five_by_two_f_test,
    five_by_two_t_test,
    mcnemar_test,
    paired_t_test,
    split_proportion_test,
    wilcoxon_test,
)

TESTS = ("proportions", "t", "corrected_t", "5x2cv_t", "5x2cv_f", "wilcoxon", "mcnemar")
OF_CLASSIFIERS = ("proportions", "mcnemar")


class SplitResult(NamedTuple):
    """One model on one split."""

    value: float
    """Error, or score."""
    fit_time: float
    score_time: float
    n_support: float
    """Number of support objects; NaN if the model has none."""
    wrong: np.ndarray | None
    """Which test objects a classifier gets wrong."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Models on the same splits, with tests against one of them.

    ``print`` shows the table. All arrays have one row for each model, in the order of `names`.

    Attributes
    ----------
    names : tuple of str
        The models.
    reference : str
        The model that the others are tested against.
    measure : str
        "error" (misclassification rate, or mean squared error of regressors), or "score".
    values : ndarray of shape (n_models, n_splits)
        Error (or score) of each model on each split.
    n_support : ndarray of shape (n_models, n_splits)
        Numbers of support objects; NaN for models without support objects.
    fit_time, score_time : ndarray of shape (n_models, n_splits)
        Seconds.
    n_train, n_test : ndarray of shape (n_splits,)
        Sizes of the splits.
    tests : dict
        ``tests[test][model]`` is the result of the test of a model against the reference;
        differences are model minus reference.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.svm import SVC
    >>> from psvm.evaluation import compare
    >>> report = compare([SVC(), DummyClassifier()], *load_iris(return_X_y=True), tests="mcnemar")
    >>> report.pvalues("mcnemar") < 0.001
    array([False,  True])
    """

    names: tuple[str, ...]
    reference: str
    measure: str
    values: np.ndarray
    n_support: np.ndarray
    fit_time: np.ndarray
    score_time: np.ndarray
    n_train: np.ndarray
    n_test: np.ndarray
    tests: dict[str, dict[str, Significance | SplitSignificance]]

    @property
    def frame(self) -> DataFrame:
        """Tidy pandas DataFrame with one row for each model and split."""
        n_models, n_splits = self.values.shape
        return _pandas().DataFrame(
            {
                "model": np.repeat(np.array(self.names, dtype=object), n_splits),
                "split": np.tile(np.arange(n_splits), n_models),
                self.measure: self.values.ravel(),
                "n_support": self.n_support.ravel(),
                "fit_time": self.fit_time.ravel(),
                "score_time": self.score_time.ravel(),
                "n_train": np.tile(self.n_train, n_models),
                "n_test": np.tile(self.n_test, n_models),
            }
        )

    @property
    def table(self) -> DataFrame:
        """Pandas DataFrame with one row for each model: means, deviations and p-values."""
        columns = {
            f"{self.measure}_mean": self.values.mean(axis=1),
            f"{self.measure}_std": _deviation(self.values),
            "n_support": self.n_support.mean(axis=1),
            "fit_time": self.fit_time.mean(axis=1),
        }
        columns |= {f"p_{test}": self.pvalues(test) for test in self.tests}
        return _pandas().DataFrame(columns, index=_pandas().Index(self.names, name="model"))

    def pvalues(self, test: str) -> np.ndarray:
        """p-values of a test, one for each model; NaN for the reference itself.

        Parameters
        ----------
        test : str
            One of the tests of this comparison. "proportions" gives the smallest p-value of the
            splits, adjusted for their number.

        Returns
        -------
        ndarray of shape (n_models,)
        """
        check_choice("test", test, tuple(self.tests))
        results = self.tests[test]
        return np.array([_pvalue(results[n]) if n in results else np.nan for n in self.names])

    def __str__(self):
        header = ["model", self.measure, "+-", "support", "fit [s]"]
        header += [f"p {test}" for test in self.tests]
        pvalues = [self.pvalues(test) for test in self.tests]
        columns = [self.values.mean(axis=1), _deviation(self.values)]
        columns += [self.n_support.mean(axis=1), self.fit_time.mean(axis=1), *pvalues]
        formats = ["{:.4g}", "{:.2g}", "{:.1f}", "{:.3g}"] + ["{:.3g}"] * len(pvalues)
        rows = [header]
        for k, name in enumerate(self.names):
            cells = (_cell(f, c[k]) for f, c in zip(formats, columns, strict=True))
            rows.append([name + " (reference)" * (name == self.reference), *cells])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])
            for row in rows
        )


def compare(
    models: Mapping[str, Estimator] | Sequence[Estimator],
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: CVLike = None,
    tests: str | Sequence[str] = ("corrected_t",),
    reference: str | None = None,
    scoring: Scoring = None,
    groups: ArrayLike | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Comparison:
    """Fit models on the same splits, and test whether they differ from one of them.

    Parameters
    ----------
    models : dict of str to estimator, or list of estimators
        All classifiers or all regressors; also pipelines and searches. They are cloned.
    X, y : data
        The data for the estimators; a square matrix for those with ``kernel="precomputed"``.
    cv : int, splitter or iterable, default=None
        As in `sklearn.model_selection.cross_validate`; the splits are made once. The 5x2cv tests
        need ``RepeatedKFold(n_splits=2, n_repeats=5)`` or its stratified form.
    tests : str or sequence of str, default=("corrected_t",)
        Among "proportions" (per split, with Benjamini-Hochberg), "t" (plain paired t-test, which is
        too optimistic), "corrected_t" (Nadeau and Bengio), "5x2cv_t", "5x2cv_f", "wilcoxon" and
        "mcnemar" (over all objects, each of which must be tested only once). The p-values are not
        adjusted for the number of models.
    reference : str, default=None
        Name of the model that the others are tested against; None means the first.
    scoring : str or callable, default=None
        A scorer of scikit-learn; its "score" replaces the "error".
    groups : array-like, default=None
        For the splitter.
    n_jobs : int, default=None
        Number of processes. Times are more reliable with one.
    verbose : bool, default=False
        Show progress with the time left on stderr, if it takes more than two seconds.

    Returns
    -------
    Comparison
        ``print`` shows a table; `frame` is a tidy DataFrame of all values, and `table` is a
        DataFrame of the summary (both need pandas).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.svm import SVC
    >>> from psvm import PSVC
    >>> from psvm.evaluation import compare
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {
    ...     "P-SVM": make_pipeline(StandardScaler(), PSVC(epsilon=0.5)),
    ...     "SVM": make_pipeline(StandardScaler(), SVC()),
    ... }
    >>> report = compare(models, X, y, cv=5, tests=["corrected_t", "mcnemar"])
    >>> report.values.shape
    (2, 5)
    >>> report.table.columns.tolist()
    ['error_mean', 'error_std', 'n_support', 'fit_time', 'p_corrected_t', 'p_mcnemar']
    """
    models = _named(models)
    check_scoring(scoring)
    check_jobs(n_jobs)
    check_flag("verbose", verbose)
    reference = next(iter(models)) if reference is None else reference
    check_choice("reference", reference, tuple(models))
    tests = [tests] if isinstance(tests, str) else check_list("tests", tests)
    for test in tests:
        check_choice("tests", test, TESTS)
    tests = list(dict.fromkeys(tests))
    classifiers = _all_classifiers(models)
    _check_tests(tests, classifiers, scoring)
    y = check_members("y", y) if classifiers else as_array("y", y)
    groups = None if groups is None else check_members("groups", groups)
    X, y, groups = indexable(check_rows(X, y), y, groups)
    splits = make_splits(cv, X, y, classifier=classifiers, groups=groups)
    _check_splits(tests, splits, len(y))
    tasks = [(model, X, y, *split, scoring) for model in models.values() for split in splits]
    with progress("compare", verbose):
        results = run(_fit_and_test, tasks, n_jobs, "fits")
    results = [results[k : k + len(splits)] for k in range(0, len(results), len(splits))]
    return _report(tuple(models), reference, tests, splits, results, scoring)


def _named(models):
    """The models with their names."""
    if not isinstance(models, dict):
        counts, named = {}, {}
        for model in check_list("models", models):
            name = type(model).__name__
            counts[name] = counts.get(name, 0) + 1
            named[name if counts[name] == 1 else f"{name}-{counts[name]}"] = model
        models = named
    if not models:
        raise ValueError("models is empty: there is nothing to compare.")
    for name, model in models.items():
        if not isinstance(name, str):
            raise TypeError(f"models must have strings as names, got {shown(name)}.")
        check_has(f"models[{name!r}]", model, "fit", "predict")
    return models


def _all_classifiers(models):
    """Whether all models are classifiers; they must be if any is."""
    kinds = {is_classifier(m): name for name, m in models.items() if _known(m)}
    if len(kinds) == 2:
        raise ValueError(
            f"{kinds[True]!r} is a classifier and {kinds[False]!r} a regressor; they cannot be "
            "compared."
        )
    return kinds.popitem()[0] if kinds else False


def _known(model):
    return is_classifier(model) or is_regressor(model)


def _check_tests(tests, classifiers, scoring):
    for test in tests:
        if test in OF_CLASSIFIERS and not (classifiers and scoring is None):
            raise ValueError(
                f"The test {test!r} counts errors: it needs classifiers and scoring=None."
            )


def _check_splits(tests, splits, n_objects):
    """Refuse tests that do not suit the splits, before anything is fitted."""
    if len(splits) < 2:
        raise ValueError(f"At least two splits are needed, cv has {len(splits)}.")
    tested = np.bincount(np.concatenate([test for _, test in splits]), minlength=n_objects)
    if "mcnemar" in tests and tested.max() > 1:
        raise ValueError(
            "The test 'mcnemar' needs splits that test each object at most once, such as KFold."
        )
    if {"5x2cv_t", "5x2cv_f"} & set(tests) and not _five_by_two(splits):
        raise ValueError(
            "5x2cv tests need five repetitions of two folds: "
            "cv=RepeatedKFold(n_splits=2, n_repeats=5) or RepeatedStratifiedKFold."
        )


def _five_by_two(splits):
    """Whether each pair of splits exchanges training and test objects, and there are five."""
    pairs = zip(splits[::2], splits[1::2], strict=False)
    return len(splits) == 10 and all(
        set(train) == set(other_test) and set(test) == set(other_train)
        for (train, test), (other_train, other_test) in pairs
    )


def _fit_and_test(model, X, y, train, test, scoring):
    """One model on one split."""
    model = clone(model)
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    began = time.perf_counter()
    model.fit(X_train, y_train)
    fitted = time.perf_counter()
    wrong = None
    if scoring is not None:
        value = make_scorer(model, scoring)(model, X_test, y_test)
    else:
        prediction = np.asarray(model.predict(X_test))
        if is_classifier(model):
            wrong = prediction != y_test
            value = wrong.mean()
        else:
            value = mean_squared_error(y_test, prediction)
    done = time.perf_counter()
    return SplitResult(float(value), fitted - began, done - fitted, _n_support(model), wrong)


def _n_support(model):
    """Number of support objects of a fitted model, also inside of a pipeline or a search."""
    model = unwrap(model).machine
    if hasattr(model, "estimator_"):
        return _n_support(model.estimator_)
    return float(np.sum(getattr(model, "n_support_", np.nan)))


def _report(names, reference, tests, splits, results, scoring):
    """Everything in arrays, and the tests of all models against the reference."""
    arrays = {
        field: np.array([[getattr(r, field) for r in row] for row in results])
        for field in ("value", "fit_time", "score_time", "n_support")
    }
    n_train, n_test = (np.array([len(s[side]) for s in splits]) for side in (0, 1))
    base = names.index(reference)

    def tested(test, k):
        if test == "proportions":
            wrong = [[r.wrong.sum() for r in results[i]] for i in (k, base)]
            return split_proportion_test(*wrong, n_test)
        if test == "mcnemar":
            return mcnemar_test(*(np.concatenate([r.wrong for r in results[i]]) for i in (k, base)))
        a, b = arrays["value"][k], arrays["value"][base]
        if test == "corrected_t":
            return corrected_t_test(a, b, n_train=n_train.mean(), n_test=n_test.mean())
        return {
            "t": paired_t_test,
            "5x2cv_t": five_by_two_t_test,
            "5x2cv_f": five_by_two_f_test,
            "wilcoxon": wilcoxon_test,
        }[test](a, b)

    return Comparison(
        names=names,
        reference=reference,
        measure="error" if scoring is None else "score",
        values=arrays["value"],
        n_support=arrays["n_support"],
        fit_time=arrays["fit_time"],
        score_time=arrays["score_time"],
        n_train=n_train,
        n_test=n_test,
        tests={t: {n: tested(t, k) for k, n in enumerate(names) if k != base} for t in tests},
    )


def _pvalue(result):
    return result.pvalue if isinstance(result, Significance) else result.global_pvalue


def _deviation(values):
    return values.std(axis=1, ddof=1)


def _cell(form, value):
    return "-" if np.isnan(value) else form.format(value)


def _pandas():
    try:
        import pandas
    except ImportError as error:
        raise ImportError('A DataFrame needs pandas: pip install "psvm[io]"') from error
    return pandas
