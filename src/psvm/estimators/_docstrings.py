"""Paragraphs about parameters and attributes that `PSVC` and `PSVR` share, each written once."""

from .._docstrings import paragraphs

PARAGRAPHS = paragraphs("""
C : float, default=inf
    Bound of the variables, ``-C <= alpha_j <= C``, in the units of columns of norm one.
epsilon : "auto", "cv", "aicc" or float, default="auto"
    Correlation threshold in the units of columns of norm one: the larger it is, the fewer
    support objects. "auto" follows the exact path of solutions and compares the losses of
    leave-one-out values, which come from the factor of each solution without another fit: the log
    loss of a sigmoid for classes, the squared error for regression. "cv": the same with the losses
    of five folds, each with its own path. Folds depend only on the content of the rows; equal
    rows share a fold. "aicc" minimises the corrected Akaike criterion along one path. Each machine
    has its own epsilon.
epsilon_unit : {"absolute", "max"}, default="absolute"
    "max": a number `epsilon` is a share of ``||K̃'y||_inf``, the smallest epsilon for which all
    variables are 0. Shares from 0 to 1 suit a grid: they do not depend on the units and
    the size of the data, and each of several machines has its own maximum.
rule : {"best", "sparse"}, default="best"
    How epsilon is chosen from the losses. "best": the smallest loss. "sparse": the largest epsilon
    whose loss exceeds the smallest by at most one standard error of the difference: fewer support
    objects at an error that is hardly larger.
threshold : {"loo", "mean"}, default="loo"
    The constant of f. "mean": the mean of the target, which is right for the training objects.
    New objects are not their own neighbours: where the diagonal of K is strong, their values
    are shifted. "loo": the shift is taken from the leave-one-out values, as the mean of their
    residuals for numbers, and for classes as the middle of a sigmoid that is fitted to them. It
    counts as far as it is larger than its standard error.
kernel : {"auto", "rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "matern", \
"rational_quadratic", "plummer", "sine", "tanimoto", "jaccard", "histogram_intersection", \
"chi2", "additive_chi2", "wasserstein", "dtw", "global_alignment", "precomputed", "dyadic"}, \
Kernel or callable, default="auto"
    "auto" compares the linear kernel, the Gaussian with gamma = 1 and 1/4 and the Laplacian with
    1/2 and 1/8 (in units of "scale"), all of standardised features. It takes the one with the
    smallest loss, and the linear kernel if its loss is within half a standard error of that. With
    a number as `epsilon` it is "rbf". Otherwise:
    The kernel of vectors by name, an object of `psvm.kernels` with parameters of its own (also a
    kernel of sequences), or a callable ``kernel(X, Z)`` that returns the matrix of all
    values. "precomputed": X is a square matrix of relations among the training objects,
    symmetric or not, definite or not; `predict` takes test x training objects. "dyadic": X
    is any matrix, its columns are fixed descriptive objects.
standardize : bool or "auto", default="auto"
    Whether the kernel sees features of mean 0 and variance 1 (sparse features are not centred);
    "auto" standardises for ``kernel="auto"`` with an epsilon that is chosen. The columns of
    ``kernel="dyadic"`` are always standardised.
landmarks : array-like of shape (P, n_features), int, {"all", "kmeans", "random", "pca"} or \
object with fit, default=None
    The descriptive vectors z_j. None means the distinct training vectors, or some of them if
    there are more than 2,000: 700 of just over 2,000, 1,224 of 20,000, 547 of 100,000, 500 of more.
    Small classes have more than their share. The choice depends on the content of the rows, not
    on their order, and a weight of 2 is the same as repeating the row.
    "all": all training vectors. "kmeans": centres
    of clusters of the training vectors; a number is short for that many centres. "random":
    some of the training vectors, drawn in proportion to their weight. "pca": the leading
    principal directions, for the linear kernel. An object with ``fit(X)`` is cloned and
    fitted, and its `cluster_centers_`, `means_` or `components_` are the landmarks.
n_landmarks : int, default=100
    Number of landmarks for "kmeans", "random" and "pca"; fewer if there are fewer distinct
    training vectors (for "pca", features).
random_state : int, Generator, RandomState or None, default=None
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
    The dual variables; one per training object, landmark or column. A repeated training vector
    has its variable at its first row. After a fit to sums (see `plan_`) there is one per landmark
    or column. With several machines (pairs of classes in the order of scikit-learn's SVC, classes,
    labels, outputs), this and other arrays have a row for each.
landmarks_ : ndarray of shape (n_landmarks,) or None
    Indices of the training objects that are landmarks; None if the landmarks are other objects, or
    after a fit to sums: then they are ``plan_.objects``. Not saved in model files.
support_ : ndarray of shape (n_support_,)
    Indices of the support objects in `alpha_`, those with ``alpha_ != 0`` in some machine. After a
    fit to sums they are not rows of X: `support_objects_` has the vectors.
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
candidates_ : list of dict
    What ``kernel="auto"`` has compared: kernel, gamma in units of "scale", loss of held-out rows,
    standard error of its difference to the smallest one, support objects and seconds.
loo_decision_ : ndarray
    Leave-one-out values of the training objects, in the form of `decision_function` (of
    `predict` for regression); NaN where a row is interpolated, so that its value means nothing.
    They are exact if the support stays the same without the row. Not available with
    ``threshold="mean"``, unless `probability` is set, nor after a fit to sums.
loo_error_ : float
    Leave-one-out error: the share of wrong labels, or the mean squared error. Of more than 2,000
    distinct rows, that of some of them, which are drawn by their content. Not available with
    ``threshold="mean"``, unless `probability` is set.
plan_, sums_ : MomentsPlan and FoldMoments
    Of more than 2,000 distinct rows, however they are stored, sums are made: what was summed, and
    the sums. Not there if all rows were in memory together; not saved in model files.
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
