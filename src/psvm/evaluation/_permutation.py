"""Has a model learnt anything? Its score beside those with shuffled labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import permutation_test_score
from sklearn.utils import indexable

from .._folds import check_scoring, make_splits
from .._typing import ArrayLike, CVLike, Estimator, MatrixLike, RandomState, Scoring
from .._validation import (
    check_has,
    check_integer,
    check_jobs,
    check_members,
    check_positive_integer,
    check_rows,
    check_seed,
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
        The same with shuffled targets.
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
    verbose: int = 0,
) -> PermutationSignificance:
    """Significance of a model: its cross-validated score beside those with shuffled targets.

    The whole estimator is fitted again for each permutation. Whatever looks at the targets, such
    as a feature selection or a search, must be a part of it, or the p-value is too small.

    Parameters
    ----------
    estimator : estimator
    X, y : data
    cv, scoring, groups, n_jobs, verbose
        As in `sklearn.model_selection.permutation_test_score`, which does the work.
    n_permutations : int, default=199
        The smallest possible p-value is ``1 / (1 + n_permutations)``.
    random_state : int, RandomState instance or None, default=None
        Random numbers for the permutations.

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
    if not isinstance(verbose, bool):
        check_integer("verbose", verbose)
    y = check_members("y", y)
    if groups is not None:
        groups = check_members("groups", groups)
    X, y, groups = indexable(check_rows(X, y), y, groups)
    splits = make_splits(cv, X, y, classifier=is_classifier(estimator), groups=groups)
    score, null_scores, pvalue = permutation_test_score(
        estimator,
        X,
        y,
        cv=splits,
        scoring=scoring,
        groups=groups,
        n_permutations=n_permutations,
        n_jobs=n_jobs,
        random_state=random_state,
        verbose=verbose,
    )
    return PermutationSignificance(float(score), null_scores, float(pvalue))
