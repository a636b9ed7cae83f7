"""Has a model learnt anything? Its score beside those with shuffled labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.utils import _safe_indexing, indexable

from .._folds import check_scoring, make_splits
from .._parallel import run
from .._progress import progress
from .._typing import ArrayLike, CVLike, Estimator, MatrixLike, RandomState, Scoring
from .._validation import (
    check_flag,
    check_has,
    check_jobs,
    check_members,
    check_positive_integer,
    check_rows,
    check_seed,
    random_numbers,
)

MOST = 10**6
"""Permutations beyond which a p-value means nothing more."""


@dataclass(frozen=True, eq=False)
class PermutationSignificance:
    """Result of a permutation test.

    Attributes
    ----------
    score : float
        Cross-validated score with the true targets.
    null_scores : ndarray of shape (n_permutations,)
        Cross-validated scores with shuffled targets.
    pvalue : float
        ``(1 + number of null scores >= score) / (1 + n_permutations)``, which is valid also for
        few permutations.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.evaluation import PermutationSignificance
    >>> print(PermutationSignificance(0.9, np.array([0.4, 0.6, 0.5, 0.5]), 0.2))
    score 0.9, with shuffled targets 0.5 +- 0.071, p = 0.2
    """

    score: float
    null_scores: np.ndarray
    pvalue: float

    def __str__(self):
        return (
            f"score {self.score:.4g}, with shuffled targets {self.null_scores.mean():.4g} "
            f"+- {self.null_scores.std():.2g}, p = {self.pvalue:.3g}"
        )


def permutation_test(
    estimator: Estimator,
    X: MatrixLike,
    y: ArrayLike,
    *,
    cv: CVLike = None,
    scoring: Scoring = None,
    groups: ArrayLike | None = None,
    n_permutations: int = 199,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    verbose: bool = False,
) -> PermutationSignificance:
    """Test a model: compare its cross-validated score with scores for shuffled targets.

    The whole estimator is fitted again for each permutation. Whatever looks at the targets, such
    as a feature selection or a search, must be a part of it, or the p-value is too small.

    Parameters
    ----------
    estimator : estimator
    X, y : data
    cv, scoring, groups, n_jobs
        As in `sklearn.model_selection.permutation_test_score`: targets are shuffled within groups.
    n_permutations : int, default=199
        The smallest possible p-value is ``1 / (1 + n_permutations)``.
    random_state : int, Generator, RandomState or None, default=None
        Random numbers for the permutations.
    verbose : bool, default=False
        Show progress with the time left on stderr, if it takes more than two seconds.

    Returns
    -------
    PermutationSignificance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from psvm import PSVC
    >>> from psvm.evaluation import permutation_test
    >>> X, y = load_iris(return_X_y=True)
    >>> X, y = X[50:], y[50:]
    >>> permutation_test(PSVC(epsilon=0.3), X, y, n_permutations=19, random_state=0).pvalue
    0.05
    """
    check_positive_integer("n_permutations", n_permutations, most=MOST)
    check_has("estimator", estimator, "fit")
    check_scoring(scoring)
    check_jobs(n_jobs)
    check_seed("random_state", random_state)
    check_flag("verbose", verbose)
    y = check_members("y", y)
    if groups is not None:
        groups = check_members("groups", groups)
    X, y, groups = indexable(check_rows(X, y), y, groups)
    splits = make_splits(cv, X, y, classifier=is_classifier(estimator), groups=groups)
    random = random_numbers(random_state)
    targets = chain([y], (_shuffled(y, groups, random) for _ in range(n_permutations)))
    tasks = ((estimator, X, target, splits, scoring) for target in targets)
    with progress("permutation_test", verbose):
        score, *null = run(_score, tasks, n_jobs, "permutations", 1 + n_permutations)
    null_scores = np.array(null)
    pvalue = (1 + int(np.count_nonzero(null_scores >= score))) / (1 + n_permutations)
    return PermutationSignificance(score, null_scores, pvalue)


def _shuffled(y, groups, random):
    """The targets in another order, within their groups if there are any."""
    if groups is None:
        return _safe_indexing(y, random.permutation(len(y)))
    order = np.arange(len(groups))
    for group in np.unique(groups):
        here = groups == group
        order[here] = random.permutation(order[here])
    return _safe_indexing(y, order)


def _score(estimator, X, y, splits, scoring):
    """The mean score of the folds."""
    scores = cross_val_score(estimator, X, y, cv=splits, scoring=scoring, error_score="raise")
    return float(scores.mean())
