"""Paragraphs about parameters and attributes that the searches share, each written once."""

from .._docstrings import paragraphs

PARAGRAPHS = paragraphs("""
Cs : array-like or None, default=(inf,)
    Bounds of the variables. None searches one: the other parameters are found without a bound,
    then a half, a quarter, ... of the largest variable is tried with these, until two bounds in a
    row are no better, at most twelve. Larger bounds would change nothing.
gammas : array-like of float, "scale" or "auto", default=None
    Coefficients of kernels that have one, see `PSVC`. None starts with 1 and 1/3 times "scale"
    and adds one that is 3 times smaller or larger while the best one is at that end, or larger
    while nothing is learnt, at most four there. Other kernels have none.
cv : int, cross-validation generator or iterable, default=None
    None: leave-one-out values of each row, as for ``epsilon="auto"`` of `{base}`, which need no
    other fit. Anything else means folds as in scikit-learn: in each a model is fitted that chooses
    its own epsilon. Folds need all rows at once, so not for rows in blocks or in dask.
scoring : str or callable, default=None
    A scorer of scikit-learn that needs decision values or predictions. None is the negative of the
    loss that chooses epsilon: for classes the log loss, for numbers the squared error (as a share
    of that of a constant with ``cv=None``).
rule : {"best", "sparse"}, default="best"
    "best": the best mean score. "sparse": each candidate has the largest epsilon whose loss is
    within one standard error of its smallest one, as for `{base}`, and among the candidates whose
    score is within one standard error of the difference to the best, the one with the fewest
    support objects is chosen.
n_jobs : int, default=None
    Candidates that are worked on at the same time, in threads.
results_file : path-like, default=None
    A file that keeps the results of each candidate as soon as they are there. A search that was
    interrupted goes on from it; one with other data or parameters refuses it.
kernel : str, Kernel, callable or list of these, default="auto"
    As for `{base}`; all kernels of a list are candidates. "auto" is the Gaussian, the Laplacian and
    the linear kernel of standardised features.
threshold, degree, coef0, theta, rho, zeta, landmarks, n_landmarks, random_state, \
tol, max_iter, cache_size, dtype
    As for `{base}`. Landmarks other than the training vectors are found once, from all
    rows.
epsilon_, C_, gamma_ : float
    The chosen values; epsilon in absolute units, one per machine if there are several.
best_params_ : dict
    The chosen parameters: ``{base}(**best_params_)`` is the same model, if it has the other
    parameters of the search.
best_score_, best_index_ : float, int
    Mean score of the chosen values and their place in the table.
Cs_, gammas_ : ndarray
    The values that were tried; no gammas, if no kernel has one.
cv_results_ : dict
    The table of all candidates as in GridSearchCV, a row for each, with `mean_n_support`, and as
    `std_test_score` the standard error of the mean score.
walks_ : list of (ndarray, ndarray)
    For each candidate shares of the largest epsilon and mean losses there, over all machines as far
    as all of their walks go; empty with `cv`.
n_splits_ : int
    Number of folds; 0 with leave-one-out values.
best_estimator_ : {base}
    The model with the chosen values, fitted to all rows. Its fitted attributes (`alpha_`,
    `support_`, ...) are here as well.
""")
