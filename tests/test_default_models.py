"""Default models, whose kernel is chosen and sees standardised features, in files and as code."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_moons

import psvm
from psvm import PSVC, PSVCCV, PSVR, PSVRCV
from psvm.persistence import export_numpy, export_text

IRIS = load_iris(return_X_y=True)
DIABETES = tuple(part[:150] for part in load_diabetes(return_X_y=True))
MOONS = make_moons(80, noise=0.2, random_state=0)


def answers(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("model", [PSVC(), PSVR(), PSVCCV(), PSVRCV(cv=3)], ids=repr)
@pytest.mark.parametrize("data", [IRIS, DIABETES, MOONS], ids=["iris", "diabetes", "moons"])
def test_loaded_models_are_the_same_to_the_bit_without_their_tables(model, data, tmp_path):
    X, y = data
    if hasattr(model, "predict_proba") or isinstance(model, PSVC | PSVCCV):
        y = y if len(np.unique(y)) < 4 else (y > np.median(y)).astype(int)
    model = clone(model).fit(X, y)
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    np.testing.assert_array_equal(answers(loaded, X[::3]), answers(model, X[::3]))
    for name in ("candidates_", "cv_results_", "walks_"):
        assert not hasattr(loaded, name)
    assert "candidates by" not in loaded._repr_html_()
    again = loaded.fit(X, y)  # with all that was chosen, and its tables
    np.testing.assert_array_equal(answers(again, X[::3]), answers(model, X[::3]))
    assert hasattr(again, "candidates_") or hasattr(again, "cv_results_")


@pytest.mark.parametrize("kernel", ["auto", "rbf", "laplacian", "linear"])
@pytest.mark.parametrize("data", [IRIS, DIABETES], ids=["iris", "diabetes"])
def test_code_predicts_the_same(kernel, data):
    X, y = data
    X = X * np.geomspace(1e-2, 1e3, X.shape[1]) + 7.0
    machine = PSVC if y.dtype.kind == "i" else PSVR
    model = machine(kernel=kernel, standardize=True).fit(X, y)
    scope = {}
    exec(export_numpy(model), scope)
    values = scope.get("decision_function", scope["predict"])(X)
    # sums of other orders: 1e-12 of the size of the terms covers a few roundings
    coef = np.divide(model.alpha_, model.column_norms_, where=model.column_norms_ > 0,
                     out=np.zeros_like(model.alpha_))  # fmt: skip
    size = np.abs(coef).sum(axis=-1).max() * max(1.0, np.abs(model.column_means_).max())
    np.testing.assert_allclose(values, answers(model, X), rtol=0, atol=1e-12 * (1 + size) * 100)
    if np.ndim(model.offset_) == 0:
        assert repr(model._kernel) in export_text(model)
