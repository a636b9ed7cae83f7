"""Paragraphs about parameters and attributes that `PSVC` and `PSVR` share, each written once."""

from .._docstrings import paragraphs

PARAGRAPHS = paragraphs("""
C : float, default=inf
    Bound of the variables, ``-C <= alpha_j <= C``, in the units of columns of norm one.
epsilon : "auto", "cv", "aicc" or float, default="auto"
    Correlation threshold in the units of columns of norm one: the larger it is, the fewer
    support objects. "auto" follows the exact path of solutions and judges its leave-one-out
    values, which come from the factor of each solution without another fit: by the log loss of
    a sigmoid for classes, by the squared error for regression. It takes the largest epsilon whose
    loss is within two standard errors, and a fifth, of the smallest loss. With more than 2048
    columns it is "cv": the same with five folds, each with its own path. Folds depend only on
    the content of the rows; equal rows share a fold. "aicc" minimises the corrected Akaike
    criterion along one path. With more than six machines for classes, six of them choose, and
    all use the geometric mean of their shares of ``||K̃'y||_inf``.
epsilon_unit : {"absolute", "max"}, default="absolute"
    "max": a number `epsilon` is a share of ``||K̃'y||_inf``, the smallest epsilon for which all
    variables are 0. Shares from 0 to 1 suit a grid: they do not depend on the units and
    the size of the data, and each of several machines has its own maximum.
relaxation : "auto" or float, default="auto"
    How far the variables go from the solution, which is shrunken towards 0, to the least
    squares of its support: 0 is the P-SVM itself, 1 least squares. The support and its
    certificate are those of the solution. "auto" is 0.75 with ``epsilon="auto"``, which
    allows a larger epsilon, and 0 with any other epsilon, with a finite C, and with
    ``kernel="dyadic"``, which is meant for selecting columns.
threshold : {"loo", "mean"}, default="loo"
    The constant of f. "mean": the mean of the target, which is right for the training objects.
    New objects are not their own neighbours: where the diagonal of K is strong, their values
    are shifted. "loo": the shift is taken from the leave-one-out values, as the mean of their
    residuals for numbers, and for classes as the middle of a sigmoid that is fitted to them.
kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "matern", \
"rational_quadratic", "plummer", "sine", "tanimoto", "jaccard", "histogram_intersection", \
"chi2", "additive_chi2", "wasserstein", "dtw", "global_alignment", "precomputed", "dyadic"}, \
Kernel or callable, default="rbf"
    The kernel of vectors by name, an object of `psvm.kernels` with parameters of its own (also a
    kernel of sequences), or a callable ``kernel(X, Z)`` that returns the matrix of all
    values. "precomputed": X is a square matrix of relations among the training objects,
    symmetric or not, definite or not; `predict` takes test x training objects. "dyadic": X
    is any matrix, its columns are fixed descriptive objects.
landmarks : array-like of shape (P, n_features), int, {"all", "kmeans", "random", "pca"} or \
object with fit, default=None
    The descriptive vectors z_j. None means the (distinct) training vectors, or some of them if
    there are more than 2,000: 700 of just over 2,000, 1,245 of 20,000, 1,861 of 100,000, and at
    least a fifth of that number of each class if pairs of classes have machines. If half of them
    would have a clearly larger squared error (11 %, or 3 % for two classes), more are landmarks:
    up to 2,000, and 1,732 of 20,000. The choice depends on the content of the rows, not on their
    order, `epsilon` or `C`, and a weight of 2 is the same as repeating the row. Of 1,000 to 2,000
    training vectors of several classes 462 to 550 are landmarks if machines share their support
    and epsilon is chosen, unless the support needs more than 60 % of them; then all are.
    "all": all training vectors. "kmeans": centres
    of clusters of the training vectors; a number is short for that many centres. "random":
    some of the training vectors, drawn in proportion to their weight. "pca": the leading
    principal directions, for the linear kernel. An object with ``fit(X)`` is cloned and
    fitted, and its `cluster_centers_`, `means_` or `components_` are the landmarks.
n_landmarks : int, default=100
    Number of landmarks for "kmeans", "random" and "pca"; fewer if there are fewer distinct
    training vectors (for "pca", features).
random_state : int, RandomState instance or None, default=None
    Random numbers for the choice of descriptive vectors.
tol : float, default=1e-4
    Largest KKT violation relative to epsilon (to the largest ``|K̃'y|`` if epsilon is 0).
max_iter : int, default=None
    Largest number of iterations of one solve.
max_time : float, default=None
    Largest time of the fit in seconds.
solver : "auto", SMO or WorkingSet, default="auto"
    The solver. Limits set in a solver object take precedence over those of the estimator.
cache_size : float, default=1000
    Memory for kernel values in MB; values that do not fit are evaluated again in each pass.
dtype : {float64, float32}, default=float64
    Precision of kernel values. With float32 vectors are rounded, kernels are evaluated in
    single precision, twice as many values fit into the cache, and training and prediction
    take about half of the time. Sums over kernel values are still in double precision,
    and the certificate is that of the rounded matrix. Scale the features first: rounding
    matters where their mean is much larger than their spread.
warm_start : bool, default=False
    Start from the previous solution, which must have the same number of variables.
verbose : bool, default=False
    Print a line about each solution, and show progress and the time left on stderr if the fit
    takes more than two seconds.
alpha_ : ndarray of shape (P,) or (n_machines, P)
    The dual variables, relaxed if `relaxation` says so (those of the solution itself are in
    `solution_`); one per training object, landmark or column. A repeated training vector
    has its variable at its first row. With several machines
    (pairs of classes in the order of scikit-learn's SVC, classes, labels, outputs), this and
    other arrays have a row for each.
landmarks_ : ndarray of shape (n_landmarks,) or None
    Indices of the training objects that are landmarks; None if the landmarks are other objects.
    Not saved in model files.
support_ : ndarray of shape (n_support_,)
    Indices of the support objects, those with ``alpha_ != 0`` in some machine.
support_objects_ : ndarray
    The support objects: vectors; or names (of a DataFrame) or else indices of columns with
    ``kernel="dyadic"`` and ``kernel="precomputed"``.
n_support_ : int
    Number of support objects.
coef_ : ndarray of shape (n_features,) or (n_machines, n_features)
    Weights of the features in the units of X, with ``kernel="linear"`` or "dyadic":
    ``f(x) = x'coef_ + intercept_``.
intercept_ : float or ndarray of shape (n_machines,)
    The constant of f in the units of X: f is the sum of ``alpha_ / column_norms_`` times
    ``k(x, z)`` over the support objects, plus this.
offset_ : float or ndarray of shape (n_machines,)
    The constant for centred columns: the (weighted) mean of the target, and with
    ``threshold="loo"`` the shift from the leave-one-out values.
column_means_, column_norms_ : ndarray of shape (P,) or (n_machines, P)
    Means m_j and centred norms s_j of the columns. A column that took no part has norm 0.
epsilon_ : float or ndarray of shape (n_machines,)
    The value of epsilon that was used.
loo_decision_ : ndarray
    Leave-one-out values of the training objects, in the form of `decision_function` (of
    `predict` for regression); NaN where a row is interpolated, so that its value means nothing.
    They are exact if the support stays the same without the row. Not available with
    ``threshold="mean"``, unless `probability` is set.
loo_error_ : float
    Leave-one-out error: the share of wrong labels, or the mean squared error.
held_out_error_ : float
    After a fit to `RowBlocks`: the mean squared error on held-out rows, with targets -1 and +1
    for classes.
fold_errors_ : ndarray of shape (n_folds,)
    Held-out error of each fold.
plan_, sums_ : MomentsPlan and FoldMoments
    After a fit to `RowBlocks`: what was summed, and the sums. Not saved in model files.
dual_gap_ : float
    Duality gap: the objective is at most this far above its minimum. With several machines,
    the largest gap.
kkt_violation_ : float
    Largest violation of the KKT conditions.
solution_ : Solution
    The complete result of the solver, if there is one machine.
solutions_ : tuple of Solution
    The results of all machines. The variables of a pair of classes are those of its own rows.
    Machines that share their support have one `GroupSolution` for all.
n_iter_ : int
    Iterations of the final solves.
""")
