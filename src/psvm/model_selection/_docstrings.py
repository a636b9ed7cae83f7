"""Paragraphs about parameters and attributes that the searches share, each written once."""

from .._docstrings import paragraphs

PARAGRAPHS = paragraphs("""
epsilons : int or array-like, default=50
    Shares of ``||K̃'y||_inf``, the smallest epsilon at which all variables are 0. A number: at most
    so many, each ``10 ** -0.2`` times the one before; a path ends earlier when its score has
    clearly turned. An array of numbers from 0 to 1: these. Each training set has its own
    maximum, so that the shares mean the same in a fold and in all data.
min_ratio : float, default=None
    The end of the grid if `epsilons` is a number: so many values evenly on a logarithmic scale
    from 1 down to this one, all of which are tried.
Cs : array-like or None, default=(inf,)
    Bounds of the variables. None searches one: gamma and epsilon are found without a bound, then a
    half, a quarter, ... of the largest variable is tried with that gamma and all epsilons, until
    two bounds in a row are no better, at most twelve. Larger bounds would change nothing.
gammas : array-like of float, "scale" or "auto", default=None
    Coefficients of kernels that have one, see `PSVC`. None starts with 1 and 1/3 times "scale"
    and adds one that is 3 times smaller or larger while the best one is at that end, at most
    four there; for classes, two smaller ones also while they are hardly worse. A path that stays
    behind the best one so far is given up. Many rows (200 for each class, 2000 with numbers) are
    not all needed for that: gamma is found with a part of them, a half to an eighth, drawn by
    content. Other kernels have none.
cv : int, cross-validation generator or iterable, default=None
    None: leave-one-out values of each row, approximate as for ``epsilon="auto"`` of `{base}`.
    Rows are grouped into five folds, whose scores are the columns of the table. With more than
    2048 columns, or fewer than ten distinct rows, it means real folds. These depend on the
    content of the rows only: they are stratified, equal rows share a fold, and the order of the
    rows plays no part. Anything else means folds as in scikit-learn.
scoring : str or callable, default=None
    A scorer of scikit-learn that needs decision values or predictions. None is the negative of
    what decides for ``epsilon="auto"``: for classes the log loss of leave-one-out values, for
    numbers their mean squared error, both with the best constant. In real folds it is the
    negative mean squared error of the decision values.
rule : {"auto", "best", "one_standard_error"}, default="auto"
    "best": the best mean score, as in GridSearchCV. "one_standard_error": the fewest support
    objects among all whose mean score is within one standard error of the best. "auto" is
    "best" if `scoring` is given, else the fewest support objects among all with the chosen gamma
    whose mean score is within half a standard error of the difference to its best. For classes
    that is the smallest gamma whose best score is within half a standard error (and 5 %) of the
    best of all. For numbers a gamma below 1/3 of "scale" must be better than the next larger one
    by more than a standard error.
strategy : {"grid", "coarse_to_fine"}, default="grid"
    "coarse_to_fine": four values each of C and gamma that span those given, then seven each
    around the best, as in the papers; all epsilons with each pair.
path_tol : float, default=0.01
    Tolerance of the solutions in real folds, relative to epsilon.
n_jobs : int, default=None
    Gammas, or real folds, that are worked on at the same time, in threads.
results_file : path-like, default=None
    A file that keeps the results of each gamma or real fold as soon as they are there. A search
    that was interrupted goes on from it; one with other data or parameters refuses it.
relaxation : "auto" or float, default="auto"
    As for `{base}`. "auto" is 3/4 if machines share their support and 0 otherwise: where gamma is
    chosen as well, relaxed solutions are sparser, but not better.
threshold, kernel, degree, coef0, theta, rho, zeta, landmarks, n_landmarks, random_state, \
tol, max_iter, cache_size, dtype
    As for `{base}`. Landmarks other than the training vectors are found once, from all
    rows.
epsilon_, C_, gamma_ : float
    The chosen values; epsilon in absolute units, one per machine if there are several.
best_params_ : dict
    The chosen values as they stand in the table; epsilon is a share of its maximum.
best_score_, best_index_ : float, int
    Mean score of the chosen values and their place in the table.
epsilons_, Cs_, gammas_ : ndarray
    The values that were tried.
cv_results_ : dict
    The table of all candidates as in GridSearchCV, with `mean_n_support` and the time of a
    path divided by its length. As in HalvingGridSearchCV, `iter` is the round of a candidate and
    `n_resources` the number of its rows; the choice is among those with all rows.
n_splits_ : int
    Number of folds, which are columns of the table.
best_estimator_ : {base}
    The model with the chosen values, fitted to all rows. Its fitted attributes (`alpha_`,
    `support_`, ...) are here as well.
""")
