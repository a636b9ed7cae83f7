"""What the parameters of a model mean for rows of which only a survey is known."""

import numpy as np
from sklearn.base import is_classifier

from .._validation import as_array, check_choice, check_number, shown
from ..kernels import Kernel
from ..matrix import can_be_centred
from ._description import is_measured
from ._kernel import Scaling, scaled_kernel
from ._landmarks import drawn_rows, find_landmarks, n_drawn


def plan_parts(model, survey, feature_names):
    """Kernel, objects, coding of the target and names of a `MomentsPlan`, as its parameters."""
    _check_possible(model, survey)
    kernel = None if is_measured(model) else scaled_kernel(model, scaling_of(survey))
    classes, factors, n_outputs = _target_of(model, survey)
    names = _check_names(feature_names, len(survey.means))
    objects = codes = None
    if kernel is not None:
        codes = None if classes is None else np.searchsorted(classes, survey.sample.y)
        drawn = None
        if model.landmarks is None:
            n_classes = 1 if classes is None or len(classes) == 2 else len(classes)
            count = n_drawn(survey.n_distinct, n_classes)
            drawn = drawn_rows(survey.sample.hashes, codes, count)
        objects = _objects_for(model, survey, kernel, names, drawn)
        codes = None if codes is None or drawn is None else codes[drawn]
    return {
        "kernel": kernel,
        "objects": objects,
        "object_classes": codes,
        "classes": classes,
        "class_factors": factors,
        "n_outputs": n_outputs,
        "feature_names": names,
    }


def _check_names(names, n):
    """Names of features as an array of objects, or None."""
    if names is None:
        return None
    names = as_array("feature_names", names)
    if names.shape != (n,) or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"feature_names must be {n} strings, got {shown(names)}.")
    return names.astype(object)


def check_takes_vectors(kernel):
    """Refuse kernels of other objects: blocks of rows are vectors."""
    if isinstance(kernel, Kernel) and not kernel.takes_vectors:
        raise ValueError(f"Blocks of rows are vectors, which {kernel!r} does not take.")


def _check_possible(model, survey):
    """Refuse parameters with which nothing can be summed."""
    if model.kernel == "precomputed" and isinstance(model.kernel, str):
        raise ValueError(
            "kernel='precomputed' needs all rows at once. Use kernel='dyadic' for a matrix whose "
            "columns are other objects."
        )
    check_takes_vectors(model.kernel)
    if isinstance(model.landmarks, str) and model.landmarks == "all":
        raise ValueError(
            "landmarks='all' needs all rows at once. Give a number of landmarks, or leave it out."
        )
    if survey.weight == 0:
        raise ValueError("There are no rows with weight.")
    if (survey.classes is not None) != is_classifier(model):
        kind = "labels" if is_classifier(model) else "numbers"
        raise ValueError(f"{type(model).__name__} needs a survey of {kind}.")


def random_rows(sample, count):
    """Distinct rows of a sample: the order of hashes is as good as any draw."""
    first = np.unique(sample.hashes, return_index=True)[1]
    return sample.X[first[:count]]


def scaling_of(survey):
    """Statistics of the features of surveyed rows."""
    return Scaling(survey.means, survey.variances, can_be_centred(survey.sample.X))


def _target_of(model, survey):
    """Classes, their factors, and the number of outputs."""
    if survey.classes is None:
        y = survey.sample.y
        return None, None, None if y.ndim == 1 else y.shape[1]
    if len(survey.classes) < 2:
        raise ValueError("The number of classes has to be greater than one; got 1 class.")
    return survey.classes, _factors(model.class_weight, survey), None


def _factors(class_weight, survey):
    """The factor of the weights of each class that `class_weight` means."""
    if class_weight is None:
        return None
    if not isinstance(class_weight, dict):
        check_choice("class_weight", class_weight, ("balanced",))
        return survey.weight / (len(survey.classes) * survey.class_weights)
    for label, weight in class_weight.items():
        check_number(f"class_weight[{shown(label)}]", weight, least=0)
    return np.array([class_weight.get(label, 1.0) for label in survey.classes.tolist()])


def _objects_for(model, survey, kernel, names, drawn):
    """What describes: rows of the sample, centres of them, or what the user gives."""
    rule, sample = model.landmarks, survey.sample
    if rule is None:
        return sample.X[drawn]
    if isinstance(rule, str) and rule == "random":
        return random_rows(sample, model.n_landmarks)
    return find_landmarks(
        rule,
        sample.X,
        sample.weights,
        count=model.n_landmarks,
        kernel=kernel,
        names=names,
        random_state=model.random_state,
    )
