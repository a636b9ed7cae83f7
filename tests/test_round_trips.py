"""Every estimator x labels x way x container: the same predictions, or a refusal when it is saved.

A cell of the matrix is an estimator fitted to labels of one type and rows in one container, which
goes one way: into a model file and back, through pickle, into NumPy code, or into text.
"""

import pickle
import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

import psvm
from psvm import (
    PSVC,
    PSVCCV,
    PSVR,
    PSVRCV,
    GeneSelector,
    KnockoffSelector,
    PSVMSelector,
    SpheredSVC,
    SpheredSVCCV,
    StabilitySelector,
)
from psvm.comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
from psvm.evaluation import RejectOption
from psvm.persistence import export_numpy, export_text
from psvm.preprocessing import Symmetrize
from psvm.selection import LinearNuSVC, NuSVCThroughOrigin, QuantileNormalizer, RangeClipper

RNG = np.random.default_rng(0)
ROWS = np.round(np.exp(RNG.normal(size=(48, 5))), 2)
ROWS[RNG.random(ROWS.shape) < 0.2] = 0.0
CODE = (ROWS[:, 0] + 0.5 * RNG.normal(size=48) > 1.0).astype(int)
THREE = np.digitize(ROWS[:, 0] + 0.2 * RNG.normal(size=48), [0.7, 1.5])
NAMES = np.array(["high", "low", "mid"])
DATES = np.array(["2020-01-31", "2021-02-28", "2024-02-29"], dtype="datetime64[D]")

LABELS = {
    "str": lambda code: NAMES[code].tolist(),
    "array of str": lambda code: NAMES[code],
    "np.str_": lambda code: np.array([np.str_(v) for v in NAMES[code]], dtype=object),
    "object": lambda code: NAMES[code].astype(object),
    "int": lambda code: code * 10 - 5,
    "int8": lambda code: code.astype(np.int8),
    "bool": lambda code: code > 0,
    "float": lambda code: code * 2.0,
    "datetime": lambda code: DATES[code],
    "datetime in ns": lambda code: pd.Series(DATES[code].astype("datetime64[ns]")),
    "timedelta": lambda code: DATES[code] - DATES[0],
    "category": lambda code: pd.Series(NAMES[code], dtype="category"),
    "category of int": lambda code: pd.Series(code, dtype="category"),
    "string": lambda code: pd.Series(NAMES[code], dtype="string"),
    "Int64": lambda code: pd.Series(code, dtype="Int64"),
    "boolean": lambda code: pd.Series(code > 0, dtype="boolean"),
}
NUMBERS = ("int", "int8", "bool", "float", "Int64", "boolean")
"""Targets of a regression."""
TWO = ("bool", "boolean")
"""Labels of no more than two classes."""
CONTAINERS = {
    "array": np.asarray,
    "DataFrame": lambda X: pd.DataFrame(X, columns=[f"gene {j}" for j in range(X.shape[1])]),
    "sparse": sp.csr_array,
}

ESTIMATORS = [
    PSVC(epsilon=0.5),
    PSVC(kernel="dyadic", epsilon=0.5),
    PSVC(epsilon=0.5, probability=True),
    PSVC(epsilon=0.5, multi_class="ovr", landmarks=15, random_state=0),
    PSVCCV(gammas=[0.1], cv=3),
    SpheredSVC(lam=0.5),
    SpheredSVCCV(lams=[0.1, 0.9], cv=3),
    KernelFisherDiscriminant(),
    LeastSquaresSVC(),
    RejectOption(PSVC(epsilon=0.5), rule="threshold", threshold=0.1),
    NuSVCThroughOrigin(0.9),
    LinearNuSVC(0.4),
    GeneSelector(n_features=[2], smoothing=0, cv=3, param_grid={"nu": [0.4]}),
    make_pipeline(MinMaxScaler(), PSVC(epsilon=0.5)),
    make_pipeline(OneHotEncoder(handle_unknown="ignore"), PSVC(epsilon=0.5, kernel="linear")),
    PSVR(epsilon=0.5),
    PSVRCV(gammas=[0.1], cv=3),
    LeastSquaresSVR(),
    PSVMSelector(n_features=2),
    PSVMSelector(n_features=2, landmarks=10, random_state=0),
    StabilitySelector(q=2, n_subsamples=4, random_state=0),
    KnockoffSelector(0.9, random_state=0),
]
BLIND = [QuantileNormalizer(), RangeClipper(), Symmetrize()]
"""Transformers that do not look at a target."""
EXPORTED = (PSVC, PSVCCV, PSVR, PSVRCV)
"""What NumPy code can be: these, and pipelines of these."""


def name_of(model):
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    return "-".join(str(step).partition("(")[0] for step in steps) + str(len(repr(model)))


def fit(model, container, labels):
    """A fitted copy and its rows; None if this estimator does not take them, which it says."""
    X = CONTAINERS[container](ROWS)
    code = CODE if labels in TWO else THREE
    model = clone(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return model.fit(X, LABELS[labels](code)), X
        except (ValueError, TypeError) as error:
            assert container == "sparse" and "sparse" in str(error).lower()
    return None, X


def answers(model, X):
    """What a model says of rows, by method."""
    methods = ("predict", "decision_function", "predict_proba", "transform")
    methods = [name for name in methods if hasattr(model, name)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing may be selected
        values = {name: getattr(model, name)(X) for name in methods}
    return {name: v.toarray() if sp.issparse(v) else np.asarray(v) for name, v in values.items()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name].dtype == value.dtype, name
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def saved(model, X, expected, folder):
    psvm.save(model, folder / "m.psvm")
    loaded = psvm.load(folder / "m.psvm")
    assert_same(answers(loaded, X), expected)
    if hasattr(model, "classes_"):
        assert loaded.classes_.dtype == model.classes_.dtype
        assert [type(c) for c in loaded.classes_] == [type(c) for c in model.classes_]
    return "same"


def pickled(model, X, expected, folder):
    assert_same(answers(pickle.loads(pickle.dumps(model)), X), expected)
    return "same"


def exported(model, X, expected, folder):
    subject = model.steps[-1][1] if hasattr(model, "steps") else model
    if not isinstance(subject, EXPORTED):
        with pytest.raises(TypeError, match="cannot be written as NumPy code"):
            export_numpy(model)
        return "refused"
    scope = {}
    exec(export_numpy(model), scope)
    rows = X.toarray() if sp.issparse(X) else X
    for name, value in expected.items():
        found = scope[name](rows)
        if name == "predict" and is_classifier(model):
            # the labels themselves, of the same type; no decision is within rounding of a tie
            assert found.dtype.kind == value.dtype.kind
            np.testing.assert_array_equal(found, value)
        else:  # sums in another order: 1e-9 is a million roundings of values about one
            np.testing.assert_allclose(found, value, rtol=1e-9, atol=1e-9, err_msg=name)
    return "same"


def as_text(model, X, expected, folder):
    text = export_text(model)
    subject = model.steps[-1][1] if hasattr(model, "steps") else model
    assert type(subject).__name__ in text
    if hasattr(subject, "classes_"):
        assert all(c in text for c in np.asarray(subject.classes_).astype(str).tolist())
    return "same"


WAYS = {"save": saved, "pickle": pickled, "export": exported, "text": as_text}


def cells():
    """The labels that each estimator takes."""
    for model in ESTIMATORS:
        for labels in LABELS:
            if not is_regressor(model) or labels in NUMBERS:
                yield pytest.param(model, labels, id=f"{name_of(model)}-{labels}")


@pytest.mark.parametrize(("model", "labels"), list(cells()))
def test_round_trip(tmp_path, model, labels):
    outcomes = Counter()
    for container in CONTAINERS:
        fitted, X = fit(model, container, labels)
        if fitted is None:
            continue
        expected = answers(fitted, X)
        for way, go in WAYS.items():
            outcomes[way, go(fitted, X, expected, tmp_path)] += 1
    assert all(outcomes[way, "same"] >= 2 for way in ("save", "pickle", "text"))


@pytest.mark.parametrize("model", BLIND, ids=name_of)
@pytest.mark.parametrize("container", ["array", "DataFrame"])
def test_round_trip_of_transformers(tmp_path, model, container):
    X = CONTAINERS[container](ROWS @ ROWS.T)
    fitted = clone(model).fit(X)
    expected = answers(fitted, X)
    for way in (saved, pickled, exported, as_text):
        way(fitted, X, expected, tmp_path)


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("model", [m for m in ESTIMATORS if is_classifier(m)], ids=name_of)
def test_classes_have_the_type_of_the_labels(model, labels):
    """Nullable columns do not become floats."""
    code = CODE if labels in TWO else THREE
    given = LABELS[labels](code)
    fitted = clone(model).fit(ROWS, given)
    kinds = {"Int64": "i", "boolean": "b", "category of int": "i", "str": "U", "bool": "b"}
    kind = kinds.get(labels, np.asarray(given).dtype.kind)
    assert fitted.classes_.dtype.kind == kind
    assert set(fitted.predict(ROWS)) <= set(np.asarray(given).tolist()) | set(fitted.classes_) | (
        {fitted.reject_label_} if hasattr(fitted, "reject_label_") else set()
    )
