"""Paragraphs about parameters and attributes that both estimators share, each written once."""

from .._docstrings import paragraphs

PARAGRAPHS = paragraphs("""
C : float, default=100.0
    Bound of the variables alpha, the penalty of the slack (M in the paper). ``inf`` is the
    hard margin, for separable classes.
center : bool, default=True
    Centre the points in feature space, which makes the answer invariant under shifts.
solver : {"auto", "direct", "incremental"}, default="auto"
    "direct" forms the sphered matrix of all points; "incremental" grows the space point by
    point and needs ``lam > 0``; "auto" uses "incremental" for many points and falls
    back to "direct" if the space becomes too large.
class_weight : dict or "balanced", default=None
    Weights of the classes, multiplied by the sample weights; "balanced" gives all classes
    the same sum of weights.
tol : float, default=1e-4
    Largest KKT violation, in the units of the margin, which is one.
max_iter : int, default=None
    Largest number of steps for one pair of classes; None means a million, or a thousand for
    each point if that is more.
max_time : float, default=None
    Largest time for one pair of classes in seconds: kernel matrix, factorisation and dual.
    Shared computations count for the first pair. If the time ends before the dual begins,
    the machine of the pair is a constant, with the duality gap of ``w = 0``.
cache_size : float, default=1000
    Memory for kernel values of the incremental solver in MB.
lam_ : float
    The value of lam that was used.
alpha_ : ndarray of shape (n_pairs, n_samples)
    The dual variables, ``0 <= alpha <= C s`` with the weights s; two classes are one pair.
support_ : ndarray
    Indices of the training points with ``alpha > 0`` in any pair.
basis_ : ndarray
    Training points (or features, of a linear kernel with fewer features than points) that
    are needed for a prediction.
dual_coef_ : ndarray of shape (n_pairs, len(basis_))
    Coefficients of `basis_`.
intercept_ : ndarray of shape (n_pairs,)
    The constants.
capacity_ : ndarray of shape (n_pairs,)
    ``m(f, X) / gamma = max_i |<w, x_i>|`` of the machine as solved. Without slack it is the
    scale-invariant capacity of the paper's bound. With slack the smallest ``y_i f(x_i)`` is
    below one and the capacity larger: `capacity` of `psvm.evaluation.decision_range`.
capacity_bound_ : ndarray of shape (n_pairs,)
    ``||X'w||``, which the machine minimises, with weighted points; at least
    `capacity_` if all weights are at least one.
margin_ : ndarray of shape (n_pairs,)
    ``gamma = 1 / ||w||``.
kkt_violation_ : float
    Largest violation of the KKT conditions.
dual_gap_ : float
    Largest duality gap of the pairs.
solutions_ : tuple
    Variables and certificate of each pair.
n_iter_ : int
    Steps of all pairs together.
""")
