"""Plans, and sums of sites."""

import numpy as np

from .._fitted import Classes, Count, is_number
from ..kernels import Kernel
from ..matrix import stored_values

MOST_FOLDS = 10_000
ROUNDING = 1e-6
"""Share by which sums may miss what holds of all rows; a sum of billions of terms has less."""


def check_plan(state):
    """Landmarks, classes and numbers that fit each other."""
    plan = state.model
    n = _count(state, "n_features")
    state.require(_count(state, "n_folds", least=0) <= MOST_FOLDS, "it has too many folds")
    ok = plan.dtype in (np.dtype(np.float64), np.dtype(np.float32))
    state.require(ok, f"its precision is {plan.dtype!r}")
    _check_target(state)
    origin = state.array("origin", None, kinds="f")
    state.require(origin.dtype == np.float64, "origin is not in double precision")
    names = plan.feature_names
    if names is not None:
        ok = isinstance(names, np.ndarray) and names.shape == (n,)
        ok = ok and all(isinstance(name, str) for name in names.tolist())
        state.require(ok, "the names of its features are wrong")
    state.require((plan.kernel is None) == (plan.objects is None), "it has a kernel or landmarks")
    columns = n if plan.kernel is None else _check_landmarks(state, n)
    state.require(len(origin) == columns + plan.n_targets, "the length of origin is wrong")


def _count(state, name, least=1):
    """An integer."""
    value = state.get(name)
    state.hold(name, value, Count(least=least))
    return value


def _check_target(state):
    """Classes with their weights, or a number of outputs."""
    plan = state.model
    if plan.classes is None:
        state.require(plan.class_factors is None, "it has weights of classes, but no classes")
        if plan.n_outputs is not None:
            _count(state, "n_outputs")
        return
    classes = state.get("classes")
    state.hold("classes", classes, Classes())
    state.require(plan.n_outputs is None, "it has classes and outputs")
    if plan.class_factors is not None:
        factors = state.array("class_factors", len(classes))
        state.require((factors >= 0).all(), "weights of classes are negative")


def _check_landmarks(state, n):
    """The number of landmarks that the kernel takes."""
    plan = state.model
    kernel, objects = plan.kernel, plan.objects
    state.require(isinstance(kernel, Kernel) and kernel.takes_vectors, "its kernel is wrong")
    kernel.check_parameters()
    shape = getattr(objects, "shape", ())
    state.require(len(shape) == 2 and shape[0] >= 1 and shape[1] == n, "its landmarks are wrong")
    values = stored_values(objects)
    ok = values.dtype in (np.float64, np.float32) and np.isfinite(values).all()
    state.require(ok, "its landmarks are not numbers")
    _check_object_classes(state, shape[0])
    checked = kernel.check_objects(objects)
    state.require(checked.shape == shape, "its landmarks are of a wrong kind")
    plan.columns(objects[:1])  # kernel values exist
    return shape[0]


def _check_object_classes(state, n_objects):
    """The class of each landmark, or None."""
    plan = state.model
    if plan.object_classes is not None:
        state.require(plan.classes is not None, "its landmarks have classes, but it has none")
        codes = state.array("object_classes", n_objects, kinds="iu")
        ok = ((codes >= 0) & (codes < len(plan.classes))).all()
        state.require(ok, "the classes of its landmarks are wrong")


def check_sums(state, plan):
    """Sums that rows can have, of each class of each fold."""
    sums = state.model
    _count(state, "n_rows")
    _count(state, "n_terms")
    n_classes = plan.n_classes
    state.require(len(sums.folds) == plan.n_folds * n_classes, "the number of folds is wrong")
    state.require(len(sums.rest) == n_classes, "the number of classes is wrong")
    parts = [(i % n_classes, part) for i, part in enumerate((*sums.folds, *sums.rest))]
    parts = [(code, part) for code, part in parts if part is not None]
    state.require(len(parts) > 0, "there are no rows")
    for code, part in parts:
        _check_moments(type(state)(part), plan)
        own = np.where(np.arange(plan.n_targets) == code, 1.0, -1.0)
        ok = n_classes == 1 or (np.abs(part.target_means - own) <= ROUNDING).all()
        state.require(ok, "sums of a class have rows of another one")


def _check_moments(state, plan):
    """Means and cross products of as many columns as the plan has."""
    n, weight = len(plan.origin), state.get("weight")
    ok = is_number(weight) and 0 < weight < np.inf
    state.require(ok, f"weight is {weight!r}")
    for name, shape in (("origin", (n,)), ("rest", (n,)), ("cross", (n, n))):
        array = state.array(name, *shape, kinds="f")
        state.require(array.dtype == np.float64, f"{name} is not in double precision")
    S = state.get("cross")
    squares = S.diagonal()
    # Columns whose values are all alike have a sum of squares that is rounding.
    size = squares + weight * np.square(state.get("rest"))
    state.require((squares >= -ROUNDING * size).all(), "sums of squares are negative")
    norms = np.sqrt(np.maximum(squares, 0.0))
    room = ROUNDING * np.sqrt(np.outer(size, size))
    state.require((np.abs(S - S.T) <= room).all(), "cross products are not symmetric")
    state.require(
        (np.abs(S) <= np.outer(norms, norms) + room).all(), "cross products are too large"
    )
    _check_definite(state, S, size)
    if plan.classes is not None:
        _check_labels(state, plan)


def _check_definite(state, S, size):
    """Cross products are positive semidefinite, but for the rounding of sums of this size.

    Beside a row of much weight the others may be less than its rounding.
    """
    used = np.flatnonzero(size > 0)
    if len(used):
        root = np.sqrt(size[used])
        least = np.linalg.eigvalsh(S[np.ix_(used, used)] / root / root[:, None])[0]
        state.require(least >= -ROUNDING * len(used), "cross products are not those of rows")


def _check_labels(state, plan):
    """Targets are -1 and +1: their mean m and weight W say that their squares are W (1 - m^2)."""
    P, moments = plan.n_columns, state.model
    means = moments.target_means
    state.require((np.abs(means) <= 1 + ROUNDING).all(), "means of the targets are wrong")
    expected = moments.weight * (1 - np.square(means))
    off = np.abs(moments.cross.diagonal()[P:] - expected)
    ok = (off <= ROUNDING * moments.weight).all()
    state.require(ok, "the squares of the targets are not those of labels")
