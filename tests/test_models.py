"""Model files: every estimator comes back bit for bit, and nothing else comes in."""

import hashlib
import io
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_moons
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC

import psvm
from psvm import (
    PSVC,
    PSVR,
    GeneSelector,
    KnockoffSelector,
    PSVMSelector,
    SpheredSVC,
    SpheredSVCCV,
    StabilitySelector,
)
from psvm._fitted import table_of
from psvm.comparators import KernelFisherDiscriminant, LeastSquaresSVC, LeastSquaresSVR
from psvm.evaluation import RejectOption
from psvm.kernels import (
    RBF,
    Constant,
    Kernel,
    Laplacian,
    Linear,
    LocalAlignment,
    Mismatch,
    Motif,
    NeedlemanWunsch,
    Plummer,
    Polynomial,
    Sequence,
    Sine,
    SmithWaterman,
    Spectrum,
    Subsequence,
    WeightedDegree,
    normalized,
)
from psvm.persistence import (
    ModelFileError,
    export_numpy,
    export_text,
    model_info,
    register,
    trusted_types,
)
from psvm.persistence._container import DIGEST, read_container, write_container
from psvm.selection import PresentCall, QuantileNormalizer, log_transformer
from test_fuzz_models import make_models

X, CODE = make_moons(60, noise=0.2, random_state=0)
NEW = make_moons(50, noise=0.3, random_state=1)[0]
Y = np.where(CODE, "yes", "no")
GRAM = X @ X.T
RNG = np.random.default_rng(0)
GENES = RNG.normal(size=(40, 30))
STATE = np.where(GENES[:, 3] - GENES[:, 7] > 0, "sick", "well")
WORDS = ["".join(RNG.choice(list("ACGT"), size=12)) for _ in range(40)]
HALF = np.arange(40) % 2


def again(model, folder):
    path = folder / "model.psvm"
    psvm.save(model, path)
    return psvm.load(path)


def outputs(model, data):
    names = ("decision_function", "predict", "transform")
    for name in names:
        if hasattr(model, name):
            value = getattr(model, name)(data)
            yield name, value.toarray() if sp.issparse(value) else value


def check(model, data, folder):
    """The same outputs, bit for bit, and the same bytes when it is saved again."""
    loaded = again(model, folder)
    assert type(loaded) is type(model)
    for (name, expected), (_, found) in zip(
        outputs(model, data), outputs(loaded, data), strict=True
    ):
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)
    first = (folder / "model.psvm").read_bytes()
    psvm.save(loaded, folder / "again.psvm")
    info = model_info(folder / "model.psvm")
    if not info["not_kept"] and not holds_skops(folder / "model.psvm"):  # which writes the time
        assert (folder / "again.psvm").read_bytes() == first
    return loaded


def holds_skops(path):
    """Whether skops has written a part of a model."""
    return '"type": "skops"' in json.dumps(read_container(path)[0]["model"])


KERNELS = [
    "rbf",
    "linear",
    "poly",
    "laplacian",
    "plummer",
    "sine",
    RBF(2.0) + Linear(),
    0.5 * Laplacian() * Polynomial(degree=2, coef0=1.0) + Constant(0.1),
    normalized(Polynomial(degree=2, coef0=1.0)),
    Plummer(rho=0.5) + Sine(2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("cls", [PSVC, PSVR])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_kernels_of_vectors(tmp_path, kernel, cls, store):
    y = Y if cls is PSVC else X[:, 0] * X[:, 1]
    model = cls(kernel=kernel, epsilon=0.3).fit(store(X), y)
    assert 0 < model.n_support_ < 60
    loaded = check(model, NEW, tmp_path)
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    np.testing.assert_array_equal(loaded.support_, model.support_)
    assert not hasattr(loaded, "solution_")


@pytest.mark.parametrize(
    "kernel",
    [
        Spectrum(2),
        Mismatch(3, 1),
        Subsequence(2),
        WeightedDegree(2, shift=1),
        Motif(["A.C", "GG"]),
        LocalAlignment(matrix=(1, -1)),
        LocalAlignment(log=True),
        SmithWaterman(matrix=(2, -1)),
        NeedlemanWunsch(),
        Spectrum(2) + 0.5 * Spectrum(3),
        normalized(Spectrum(2, normalize=False)),
    ],
    ids=str,
)
def test_kernels_of_sequences(tmp_path, kernel):
    named = [Sequence(word, f"s{i}") for i, word in enumerate(WORDS)]
    model = PSVC(kernel=kernel, epsilon=0.1).fit(named, HALF)
    loaded = check(model, WORDS[::-1], tmp_path)
    assert [s.name for s in loaded.support_objects_] == [s.name for s in model.support_objects_]


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, np.float32])
def test_measured_matrices(tmp_path, store):
    check(PSVC(kernel="precomputed", epsilon=1.0).fit(store(GRAM), Y), GRAM[::2], tmp_path)
    loaded = check(PSVC(kernel="dyadic", epsilon=2.0).fit(store(GENES), STATE), GENES, tmp_path)
    assert len(loaded.alpha_) == GENES.shape[1]


def test_names_of_features(tmp_path):
    frame = pd.DataFrame(GENES, columns=[f"gene {j}" for j in range(30)])
    loaded = check(PSVC(kernel="dyadic", epsilon=2.0).fit(frame, STATE), frame, tmp_path)
    assert loaded.support_objects_[0].startswith("gene ")
    with pytest.raises(ValueError, match="feature names should match"):
        loaded.predict(frame.rename(columns={"gene 0": "other"}))


@pytest.mark.parametrize(
    "options",
    [
        {"landmarks": 10, "random_state": 0},
        {"landmarks": X[:9] + 0.1},
        {"landmarks": KMeans(7, n_init=1, random_state=0)},
        {"landmarks": "random", "random_state": np.random.RandomState(0)},
        {"solver": psvm.SMO(pair=False)},
        {"solver": psvm.WorkingSet()},
        {"class_weight": {"no": 2.0, "yes": 1.0}},
        {"class_weight": "balanced", "dtype": np.float32},
        {"C": 0.5, "epsilon": 0.0, "dtype": "float32"},
        {"epsilon": "aicc", "gamma": np.float64(0.7), "max_iter": np.int64(1000)},
    ],
    ids=lambda options: "-".join(options),
)
def test_parameters(tmp_path, options):
    model = PSVC(**options).fit(X, Y)
    loaded = check(model, NEW, tmp_path)
    for name, value in model.get_params(deep=False).items():
        if name in model_info(tmp_path / "model.psvm")["not_kept"]:
            assert name in ("landmarks", "random_state")
        else:
            assert getattr(loaded, name) == value, name


@pytest.mark.parametrize("labels", [CODE, CODE.astype(bool), CODE + 0.5, Y, Y.astype(object)])
def test_labels(tmp_path, labels):
    if labels.dtype == float:
        labels = np.where(CODE, 2.0, 1.0)
    loaded = check(PSVC(epsilon=0.5).fit(X, labels), NEW, tmp_path)
    assert loaded.score(X, labels) > 0.8


@pytest.mark.parametrize(
    "model",
    [
        PSVC(epsilon=0.5),
        psvm.PSVCCV(gammas=[1.0], cv=3),
        SpheredSVC(),
        SpheredSVCCV(lams=[0.1, 0.9], cv=3),
        KernelFisherDiscriminant(),
        LeastSquaresSVC(),
        RejectOption(PSVC(epsilon=0.5), rule="threshold", threshold=0.3, reject_label="?"),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_of_other_types(tmp_path, model, n_classes):
    """Strings of NumPy in an array of objects, and times."""
    code = np.digitize(X[:, 0], [0.3, 1.2][: n_classes - 1])
    strings = np.array([np.str_(v) for v in np.array(["a", "b", "c"])[code]], dtype=object)
    times = np.array(["2020-02-03", "2021-02-03", "2022-02-03T04"], dtype="datetime64[s]")[code]
    check(clone(model).fit(X, strings), NEW, tmp_path)
    if not isinstance(model, RejectOption):  # its label "?" is no time
        check(clone(model).fit(X, times), NEW, tmp_path)


def test_model_without_support(tmp_path):
    check(PSVR(epsilon=1e6).fit(X, X[:, 0]), NEW, tmp_path)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed", RBF(2.0)], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sphered(tmp_path, kernel, n_classes):
    y = CODE if n_classes == 2 else np.digitize(X[:, 0], [-0.2, 1.0])
    measured = isinstance(kernel, str) and kernel == "precomputed"
    data, new = (GRAM, GRAM[::3]) if measured else (X, NEW)
    check(SpheredSVC(kernel=kernel).fit(data, y), new, tmp_path)


def test_sphered_cv(tmp_path):
    loaded = check(SpheredSVCCV(lams=[0.1, 0.9], cv=KFold(3)).fit(X, Y), NEW, tmp_path)
    assert loaded.scores_.shape == (2, 3)
    assert model_info(tmp_path / "model.psvm")["not_kept"] == ["cv"]


def test_selectors(tmp_path):
    loaded = check(PSVMSelector(n_features=4).fit(GENES, STATE), GENES, tmp_path)
    assert loaded.get_support().sum() == 4
    three = np.digitize(GENES[:, 0], [-0.5, 0.5])
    check(PSVMSelector(0.5, epsilon_unit="max").fit(sp.csr_array(GENES), three), GENES, tmp_path)


@pytest.mark.parametrize(
    "landmarks, kernel, data, target",
    [
        (20, "rbf", X, CODE),
        (X[::4], Polynomial(degree=2, coef0=1.0), X, CODE),
        (12, "rbf", sp.csr_array(X), CODE),
        (WORDS[::2], Spectrum(2), WORDS, HALF),
    ],
    ids=["number", "given", "sparse", "words"],
)
def test_selectors_of_landmarks(tmp_path, landmarks, kernel, data, target):
    selector = PSVMSelector(n_features=3, landmarks=landmarks, kernel=kernel, random_state=0)
    loaded = check(selector.fit(data, target), data, tmp_path)
    assert list(loaded.get_feature_names_out()) == list(selector.get_feature_names_out())
    assert loaded.landmarks_.shape == selector.landmarks_.shape
    assert not hasattr(loaded, "inverse_transform")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"preprocessing": make_pipeline(log_transformer(2.0), QuantileNormalizer())},
        {"preprocessing": PresentCall(lambda Z: np.where(Z > 0.5, 0.0, 1.0), q2=1)},
        {"preprocessing": SimpleImputer()},
        {"classifier": LogisticRegression()},
        {"fit_intercept": False, "clip": "above"},
        {"classifier": SVC(), "param_grid": {"C": [1.0, 10.0]}},
    ],
    ids=lambda options: "-".join(options) or "default",
)
@pytest.mark.parametrize("several", [False, True])
def test_gene_selector(tmp_path, options, several):
    y = np.digitize(GENES[:, 3], [-0.5, 0.5]) if several else STATE
    data = np.exp(GENES)
    model = GeneSelector(n_features=[2, 4], smoothing=0, cv=3, **options).fit(data, y)
    loaded = check(model, data[::-1], tmp_path)
    np.testing.assert_array_equal(loaded.get_support(), model.get_support())


def test_pipelines(tmp_path):
    model = make_pipeline(SimpleImputer(), StandardScaler(), PSVC(epsilon=0.5))
    check(model.fit(X, Y), NEW, tmp_path)


CELLS = np.column_stack([X, np.arange(60) % 3, np.arange(60) % 7 // 6])
ENCODERS = [
    OneHotEncoder(),
    OneHotEncoder(drop="if_binary"),
    OneHotEncoder(drop="first", sparse_output=False),
    OneHotEncoder(handle_unknown="ignore"),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.3),
    OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=1),
    OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2),
    OneHotEncoder(categories=[[0, 1, 2, 3], [0, 1]]),
]


def in_columns(encoder, names=None, before=None, **options):
    """A pipeline that encodes the last two columns."""
    keys = [0, 1, 2, 3] if names is None else names
    before = StandardScaler() if before is None else before
    parts = [("numbers", before, keys[:2]), ("categories", encoder, keys[2:])]
    return make_pipeline(ColumnTransformer(parts, **options), PSVC(epsilon=0.5))


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.parametrize("options", [{}, {"sparse_threshold": 1.0}], ids=str)
def test_encoded_columns(tmp_path, encoder, options):
    """scikit-learn's encoder needs no skops, whatever its parameters are."""
    model = in_columns(clone(encoder), **options).fit(CELLS, Y)
    check(model, CELLS[::-1], tmp_path)
    assert not holds_skops(tmp_path / "model.psvm")
    new = CELLS.copy()
    new[:, 2] = 9.0  # a level that was not there
    if encoder.handle_unknown == "error":
        with pytest.raises(ValueError, match="unknown categories"):
            psvm.load(tmp_path / "model.psvm").predict(new)
    else:
        check(model, new, tmp_path)


def test_encoded_tables(tmp_path):
    """Columns by name: words, missing cells, numbers, and what is left over."""
    frame = pd.DataFrame(CELLS.copy(), columns=["a", "b", "c", "d"])
    frame["c"] = np.array(["x", "yy", "zzz"], dtype=object)[frame["c"].astype(int)]
    frame["d"] = np.where(frame["d"] > 0, "rare", "often")
    frame.loc[::5, "a"] = np.nan
    frame["e"] = np.arange(60.0)
    encoder = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.2),
    )
    for remainder in ("drop", "passthrough"):
        model = in_columns(encoder, ["a", "b", "c", "d"], SimpleImputer(), remainder=remainder).fit(
            frame, Y
        )
        loaded = check(model, frame.iloc[::-1], tmp_path)
        assert not holds_skops(tmp_path / "model.psvm")
        shuffled = frame[["e", "d", "b", "a", "c"]]
        np.testing.assert_array_equal(loaded.predict(shuffled), model.predict(frame))


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(strategy="median", keep_empty_features=True),
        SimpleImputer(strategy="mean"),
        SimpleImputer(strategy="most_frequent"),
        SimpleImputer(strategy="constant", fill_value=7.0),
        SimpleImputer(missing_values=-1),
        SimpleImputer(add_indicator=True),
    ],
    ids=str,
)
def test_imputed_columns(tmp_path, imputer):
    holes = X.copy()
    holes[::7, 0] = imputer.missing_values
    check(make_pipeline(imputer, PSVC(epsilon=0.5)).fit(holes, Y), holes[::-1], tmp_path)
    assert holds_skops(tmp_path / "model.psvm") == imputer.add_indicator


def test_output_of_transformers(tmp_path):
    """What `set_output` asks for, which decides whether names reach the next step."""
    frame = pd.DataFrame(X, columns=["a", "b"])
    scaler = StandardScaler().set_output(transform="pandas")
    loaded = check(make_pipeline(scaler, PSVC(epsilon=0.5)).fit(frame, Y), frame, tmp_path)
    assert list(loaded[-1].feature_names_in_) == ["a", "b"]
    assert list(loaded[0].transform(frame).columns) == ["a", "b"]


@pytest.mark.parametrize("installed", [True, False])
def test_other_estimators_are_written_by_skops(tmp_path, monkeypatch, installed):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    path = tmp_path / "m.psvm"
    psvm.save(model, path)
    if installed:
        np.testing.assert_array_equal(psvm.load(path).predict(NEW), model.predict(NEW))
        return
    monkeypatch.setitem(sys.modules, "skops", None)
    with pytest.raises(TypeError, match=r"LogisticRegression .* pip install 'psvm\[skops\]'"):
        psvm.save(model, tmp_path / "other.psvm")
    with pytest.raises(ImportError, match=r"pip install 'psvm\[skops\]'"):
        psvm.load(path)
    assert list(tmp_path.iterdir()) == [path]


def test_types_that_skops_does_not_trust_are_refused(tmp_path):
    model = make_pipeline(StandardScaler(), RandomForestClassifier(3)).fit(X, Y)
    with pytest.raises(TypeError, match=r"RandomForestClassifier contains sklearn\.tree"):
        psvm.save(model, tmp_path / "m.psvm")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("ensemble", [True, False])
def test_calibrated(tmp_path, method, ensemble):
    model = CalibratedClassifierCV(PSVC(epsilon=1.0), method=method, ensemble=ensemble, cv=3)
    loaded = check(model.fit(X, Y), NEW, tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(NEW), model.predict_proba(NEW))


def test_every_estimator_is_known():
    """Whoever adds an estimator to psvm adds it here."""
    from sklearn.base import BaseEstimator

    known = psvm.persistence._known.registry().classes
    modules = (
        psvm,
        psvm.comparators,
        psvm.evaluation,
        psvm.model_selection,
        psvm.preprocessing,
        psvm.selection,
    )
    estimators = [getattr(module, name) for module in modules for name in module.__all__]
    estimators = [c for c in estimators if isinstance(c, type) and issubclass(c, BaseEstimator)]
    assert len(estimators) >= 12
    assert [c.__name__ for c in estimators if c not in known] == []


# --- what is in the file


def test_files_are_small(tmp_path):
    rng = np.random.default_rng(0)
    K = rng.normal(size=(50, 20_000))
    model = PSVC(kernel="dyadic", epsilon=4.0).fit(K, np.where(K[:, 5] > 0, "a", "b"))
    assert model.n_support_ < 40
    psvm.save(model, tmp_path / "small.psvm")
    assert os.path.getsize(tmp_path / "small.psvm") < 8_000
    assert os.path.getsize(tmp_path / "small.psvm") < len(pickle.dumps(model)) / 50


def test_any_zip_program_can_look_into_it(tmp_path):
    model = PSVC(epsilon=0.5).fit(X, Y)
    psvm.save(model, tmp_path / "m.psvm", extra={"command": "psvm fit", "names": ["a", "ü"]})
    with zipfile.ZipFile(tmp_path / "m.psvm") as archive:
        assert archive.testzip() is None
        metadata = json.loads(archive.read("model.json"))
    assert metadata["format"] == "psvm-model"
    assert metadata["version"] == 1
    with np.load(tmp_path / "m.psvm", allow_pickle=False) as arrays:
        assert any(
            np.array_equal(arrays[n], model.support_) for n in arrays.files if "npy" not in n
        )
    info = model_info(tmp_path / "m.psvm")
    assert info["class"] == "psvm.estimators.PSVC"
    assert info["summary"]["n_support"] == model.n_support_
    assert info["summary"]["classes"] == ["no", "yes"]
    assert info["extra"] == {"command": "psvm fit", "names": ["a", "ü"]}
    assert info["size"] == os.path.getsize(tmp_path / "m.psvm")
    json.dumps(info)


class Unknown(StandardScaler):
    """A class that is neither psvm's nor scikit-learn's."""


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (PSVC(kernel=lambda A, B: A @ B.T, epsilon=0.5), "is Python code"),
        (make_pipeline(Unknown(), PSVC(epsilon=0.5)), r"Unknown are not allowed"),
    ],
)
def test_what_cannot_be_saved(tmp_path, model, message):
    with pytest.raises(TypeError, match=message):
        psvm.save(model.fit(X, Y), tmp_path / "m.psvm")
    assert list(tmp_path.iterdir()) == []


def test_only_fitted_models_can_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        psvm.save(PSVC(), tmp_path / "m.psvm")
    with pytest.raises(TypeError, match="must be a fitted estimator"):
        psvm.save({"a": 1}, tmp_path / "m.psvm")
    with pytest.raises(TypeError, match="Only kernel classes"):
        register(PSVC)


class Overlap(Kernel):
    """A kernel of one's own."""

    def __init__(self, power=1.0):
        self.power = power

    def evaluate(self, A, B):
        return np.minimum(A[:, None], B[None]).sum(axis=2) ** self.power


def test_kernels_of_ones_own(tmp_path, monkeypatch):
    model = PSVC(kernel=Overlap(), epsilon=0.5).fit(np.abs(X), Y)
    with pytest.raises(TypeError, match=r"psvm\.persistence\.register"):
        psvm.save(model, tmp_path / "m.psvm")
    known = psvm.persistence._known.registry()
    monkeypatch.setattr(known, "_by_name", dict(known._by_name))
    monkeypatch.setattr(known, "_by_class", dict(known._by_class))
    register(Overlap)
    check(model, np.abs(NEW), tmp_path)
    known._by_name.pop(f"{Overlap.__module__}.Overlap")
    with pytest.raises(ModelFileError, match=r"Overlap' is not known.*register"):
        psvm.load(tmp_path / "model.psvm")


# --- damage


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The bytes of a small model, its decision values, and a path for its mutants."""
    model = PSVC(epsilon=3.0).fit(X, Y)
    path = tmp_path_factory.mktemp("small") / "m.psvm"
    psvm.save(model, path)
    return path.read_bytes(), model.decision_function(NEW), path


def accept_or_refuse(small, data):
    """Either the identical model or a ModelFileError."""
    _, expected, path = small
    path.write_bytes(data)
    try:
        model = psvm.load(path)
    except ModelFileError as error:
        assert str(path) in str(error)
        return False
    np.testing.assert_array_equal(model.decision_function(NEW), expected)
    return True


def refused(path):
    try:
        psvm.load(path)
    except ModelFileError:
        return True
    return False


def test_every_byte_matters(small):
    whole, _, path = small
    assert accept_or_refuse(small, whole)
    with open(path, "r+b", buffering=0) as file:
        for i, byte in enumerate(whole):
            for mask in (1 << i % 8, 0xFF):
                file.seek(i)
                file.write(bytes([byte ^ mask]))
                assert refused(path), i
            file.seek(i)
            file.write(bytes([byte]))
    assert accept_or_refuse(small, path.read_bytes())


def test_every_truncation_is_refused(small):
    whole, _, path = small
    assert not accept_or_refuse(small, whole + b"\0")
    assert not accept_or_refuse(small, b"\0" + whole)
    path.write_bytes(whole)
    with open(path, "r+b", buffering=0) as file:
        for n in reversed(range(len(whole))):
            file.truncate(n)
            assert refused(path), n


@given(st.binary(max_size=300), st.integers(0, 5000))
@settings(max_examples=200, deadline=None)
def test_garbage_is_refused(small, garbage, place):
    whole = small[0]
    assert not accept_or_refuse(small, garbage)
    changed = whole[:place] + garbage + whole[place + len(garbage) :]
    assert accept_or_refuse(small, changed) == (changed == whole)


def signed(data):
    """The bytes with a checksum that is right."""
    body = data[:-DIGEST]
    return body + hashlib.sha256(body).hexdigest().encode()


def survives(path, data):
    """Loading and predicting end in an answer or an ordinary error, whatever is in the file."""
    path.write_bytes(data)
    try:
        model = psvm.load(path)
    except ModelFileError:
        return
    try:
        model.predict(NEW)
    except Exception as error:
        assert not isinstance(error, SystemError)


def mutants(whole, step):
    mask = random.Random(0)
    for i in range(0, len(whole) - DIGEST, step):
        yield signed(whole[:i] + bytes([whole[i] ^ mask.randrange(1, 256)]) + whole[i + 1 :])


@pytest.mark.filterwarnings("ignore::Warning")  # of NumPy about odd numbers
@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.slow)])
def test_wrong_content_with_a_right_checksum(small, step):
    """Behind the checksum all that is read is still checked."""
    for data in mutants(small[0], step):
        survives(small[2], data)


@pytest.mark.filterwarnings("ignore::Warning")
@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_wrong_content_for_compiled_code(tmp_path, step):
    """The SVM of scikit-learn trusts its arrays; we do not."""
    path = tmp_path / "m.psvm"
    psvm.save(GeneSelector(n_features=[2], smoothing=0, cv=3).fit(GENES, STATE), path)
    for data in mutants(path.read_bytes(), step):
        path.write_bytes(data)
        try:
            model = psvm.load(path)
        except ModelFileError:
            continue
        try:
            model.predict(GENES)
        except Exception as error:
            assert not isinstance(error, SystemError)


def rebuilt(whole, change, *, compression=zipfile.ZIP_STORED, more=()):
    """The file with changed metadata and a right checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(buffer, "w") as new:
        new.comment = b"0" * DIGEST
        for name in old.namelist():
            data = old.read(name)
            if name == "model.json":
                metadata = json.loads(data)
                change(metadata)
                data = json.dumps(metadata).encode()
            new.writestr(name, data, compression)
        for name, data in more:
            new.writestr(name, data, compression)
    return signed(buffer.getvalue())


def setter(*keys):
    *path, last, value = keys

    def change(metadata):
        for key in path:
            metadata = metadata[key]
        metadata[last] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (setter("version", 2), r"version 2 of the format, written by psvm .* Upgrade psvm"),
        (setter("version", "1"), "version '1' makes no sense"),
        (setter("format", "other"), "does not hold a model"),
        (setter("arrays", None), "list of arrays is missing"),
        (setter("arrays", 0, "dtype", "<f4"), "has the dtype"),
        (setter("arrays", 0, "shape", [10**9]), "has the shape"),
        (setter("arrays", []), "does not agree with the archive"),
        (setter("model", "class", "os.system"), "class 'os.system' is not known"),
        (setter("model", "class", "psvm.PSVM"), "is not known"),
        (setter("model", {"type": "function", "name": "os.system"}), "function 'os.system'"),
        (setter("model", [1, 2]), "it holds no model"),
        (setter("model", "state", "__class__", 1), "is not an attribute"),
        (setter("model", "state", "predict", 1), "is not an attribute"),
        (setter("model", "state", "support_", {"type": "array", "index": 99}), "no array 99"),
        (setter("model", "state", "support_", {"type": "array", "index": True}), "not an integer"),
        (setter("model", "state", "_n_columns", 1), "places of its support"),
        (setter("model", "state", "_n_columns", 2**60), "columns"),
        (setter("model", "state", "n_features_in_", 7), "vectors have a wrong length"),
        (setter("model", "params", "kernel", "dyadic"), "kernel is missing"),
        (setter("model", "params", "nonsense", 1), "nonsense"),
        (setter("model", "state", "_kernel", "params", "gamma", -1.0), "gamma must be"),
        (setter("model", "state", "_kernel", None), "kernel is not a Kernel"),
    ],
)
def test_wrong_metadata(small, change, message):
    path = small[2]
    path.write_bytes(rebuilt(small[0], change))
    with pytest.raises(ModelFileError, match=message):
        psvm.load(path)


def test_rebuilding_changes_nothing(small):
    """The premise of the tests around this one."""
    assert accept_or_refuse(small, rebuilt(small[0], lambda metadata: None))


# --- parts that do not fit each other


def state_of(metadata, arrays, *path):
    """The state of an object within a model; numbers are steps of a pipeline or parts."""
    value = metadata["model"]
    for name in path:
        value = value["state"][name]
    return value["state"]


def array_of(metadata, arrays, *path):
    """The number of an array in the state of an object."""
    *path, name = path
    return state_of(metadata, arrays, *path)[name]["index"]


def resize(change, *path):
    """Give an array another size, or other values."""

    def craft(metadata, arrays):
        i = array_of(metadata, arrays, *path)
        arrays[i] = change(arrays[i])

    return craft


def put(value, *path):
    """Replace a part of the state."""

    def craft(metadata, arrays):
        *path_, name = path
        state_of(metadata, arrays, *path_)[name] = value

    return craft


def at_support(change, name):
    """Change the entries of the support in an attribute of all columns."""

    def craft(metadata, arrays):
        i = dict(state_of(metadata, arrays)["_at_support"]["items"])[name]["index"]
        arrays[i] = change(arrays[i])

    return craft


def landmarks(change):
    """Change the objects that a selector selects from."""

    def craft(metadata, arrays):
        i = metadata["model"]["state"]["_relations"]["params"]["objects"]["index"]
        arrays[i] = change(arrays[i])

    return craft


def curves_of(metadata, arrays):
    """The curves that turn decision values into probabilities."""
    return state_of(metadata, arrays)["calibration_"]["params"]["curves"]["items"]


def no_curve(metadata, arrays):
    """One pair of classes less than there are."""
    curves_of(metadata, arrays).pop()


def falling(metadata, arrays):
    """A sigmoid that falls."""
    curves_of(metadata, arrays)[0]["params"]["slope"] = -1.0


def knots_out_of_order(metadata, arrays):
    """Interpolation needs them in order."""
    i = curves_of(metadata, arrays)[0]["params"]["knots"]["index"]
    arrays[i] = arrays[i][::-1]


def longer(a):
    return np.concatenate([a, a[-1:]])


def more_names(a):
    return np.append(a, [f"~{i:05d}" for i in range(10_000)])


SEVERAL = np.digitize(X[:, 0], [-0.2, 1.0])


@pytest.mark.parametrize(
    ("model", "craft", "message"),
    [
        ("words", resize(more_names, "_prepared", "names"), "one name for each column"),
        ("words", resize(lambda a: a[:-1], "_prepared", "names"), "one name for each column"),
        ("words", resize(lambda a: a[::-1], "_prepared", "names"), "not sorted"),
        ("words", put([10**6, 16], "_prepared", "shape"), "another shape"),
        ("words", resize(lambda a: a[:, :-1], "dual_coef_"), "n_support_ is wrong"),
        ("words", resize(longer, "intercept_"), "intercept_ has shape"),
        ("words", put(None, "_prepared"), "support objects"),
        ("psvc", at_support(lambda a: a[:-1], "alpha_"), "alpha_ has shape"),
        ("psvc", at_support(longer, "column_norms_"), "column_norms_ has shape"),
        ("psvc", at_support(np.zeros_like, "column_norms_"), "has no norm"),
        ("psvc", resize(lambda a: a[:-1], "offset_"), "offset_ has shape"),
        ("psvc", resize(lambda a: a[::-1], "classes_"), "distinct labels in order"),
        ("psvc", put(7, "n_support_"), "n_support_ is wrong"),
        ("sigmoid", no_curve, "its curves are wrong"),
        ("sigmoid", falling, "slope must be"),
        ("sigmoid", put(None, "calibration_"), "calibration_ is missing"),
        ("steps", knots_out_of_order, "knots are not in order"),
        ("fisher", resize(lambda a: a[:, :1], "covariances_"), "covariances_ has shape"),
        ("fisher", resize(lambda a: -a, "covariances_"), "ositive definite"),
        ("genes", resize(lambda a: a + 1000, "_scaled", "index"), "columns are wrong"),
        ("genes", put(None, "classifier_"), "classifier_ is NoneType"),
        ("sphered", resize(lambda a: a[:, 1:], "dual_coef_"), "basis_ has shape"),
        ("reject", resize(lambda a: np.array(["a", "b"]), "classes_"), "are different"),
        ("selector", resize(lambda a: a[1:], "importance_"), "order_ has shape"),
        ("relations", resize(lambda a: a[1:], "importance_"), "order_ has shape"),
        ("relations", put(None, "_relations", "kernel"), "its kernel is not a Kernel"),
        ("relations", put(3, "_relations"), "_relations is not Relations"),
        ("relations", landmarks(lambda a: a[:, :1]), "a wrong length"),
        ("relations", landmarks(lambda a: a[1:]), "names of its landmarks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parts_that_do_not_fit(tmp_path, fitted, model, craft, message):
    psvm.save(fitted[model], tmp_path / "m.psvm")
    psvm.load(tmp_path / "m.psvm")
    metadata, arrays = read_container(tmp_path / "m.psvm")
    craft(metadata, arrays)
    write_container(tmp_path / "m.psvm", metadata, arrays)
    with pytest.raises(ModelFileError, match=message):
        psvm.load(tmp_path / "m.psvm")


@pytest.fixture(scope="module")
def fitted():
    return {
        "words": LeastSquaresSVC(kernel=Spectrum(2)).fit(WORDS, HALF),
        "psvc": PSVC(epsilon=0.5).fit(X, SEVERAL),
        "sigmoid": PSVC(epsilon=0.5, probability=True).fit(X, SEVERAL),
        "steps": PSVC(epsilon=0.5, probability="isotonic").fit(X, Y),
        "fisher": KernelFisherDiscriminant().fit(X, SEVERAL),
        "genes": GeneSelector(n_features=[2], smoothing=0, cv=3).fit(GENES, STATE),
        "sphered": SpheredSVC().fit(X, Y),
        "reject": RejectOption(LogisticRegression()).fit(X, Y),
        "selector": PSVMSelector(n_features=3).fit(GENES, STATE),
        "stability": StabilitySelector(q=3, n_subsamples=4).fit(GENES, STATE),
        "knockoffs": KnockoffSelector(0.5).fit(GENES, STATE),
        "relations": PSVMSelector(n_features=3, landmarks=20).fit(X, CODE),
    }


def test_every_attribute_of_a_fitted_model_is_declared(fitted):
    """Written, or left out on purpose: an attribute that is only forgotten would be lost."""
    others = [
        PSVC(kernel="dyadic", epsilon=2.0).fit(GENES, STATE),
        PSVR(landmarks=10, random_state=0).fit(X, X[:, 0]),
        psvm.PSVCCV(gammas=[1.0], cv=3).fit(X, Y),
        PSVC(landmarks=10).fit(psvm.RowBlocks([(X, Y)])),
        PSVC(landmarks=10, random_state=0).partial_fit(X, Y),
        SpheredSVCCV(lams=[0.1, 0.9], cv=3).fit(X, Y),
        RejectOption(PSVC(epsilon=0.5), rule="range").fit(X, Y),
        QuantileNormalizer().fit(GENES),
        Spectrum(2).feature_map().fit(WORDS),
    ]
    for model in [*fitted.values(), *others]:
        known = {*table_of(type(model)), *model.get_params(deep=False)}
        if hasattr(model, "best_estimator_"):
            known |= {*table_of(type(model.best_estimator_))}
        assert vars(model).keys() <= known, type(model).__name__


# --- memory

WITHIN = """
import json, resource, sys
import psvm, psvm.io
psvm.PSVC(kernel="linear", epsilon=0.1).fit([[0.0], [1.0]], [0, 1]).predict([[1.0]])
psvm.persistence._known.registry()
for path, size, n_features in json.loads(sys.argv[1]):
    with open("/proc/self/statm") as statm:
        size += int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size, -1))
    try:
        outcome = str(psvm.load(path).predict([[0.1] * n_features])[0])
    except psvm.persistence.ModelFileError as error:
        outcome = "out of memory" if "MemoryError" in str(error) else str(error)
    print(json.dumps(outcome))
"""
MANY = 2**20 - 100
UNFOLDING = {
    "a scalar": ('{"type": "scalar", "dtype": "<U100000000", "value": "a"}', "is not allowed"),
    "another": ('{"type": "scalar", "dtype": "<U1000000", "value": "a"}', "has the dtype"),
    "a dtype": ('{"type": "dtype", "value": "<U100000000", "class": false}', "is not allowed"),
    "24 MB of lists": ("[" + "[]," * 2**23 + "[]]", "lists and objects"),
}
LARGE = {
    "lists": "[" + "[]," * MANY + "[]]",
    "lists of strings": "[" + '["ab"],' * (MANY // 2) + "[]]",
    "strings": "[" + '"ab",' * MANY + "1]",
    "numbers": "[" + "1.5," * MANY + "1]",
}


def description(metadata, arrays, text):
    """A file with a parameter that is written in any way, not only as we write it."""
    metadata["model"]["params"]["class_weight"] = "HERE"
    metadata["arrays"] = [{"dtype": a.dtype.str, "shape": a.shape} for a in arrays]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * DIGEST
        archive.writestr("model.json", json.dumps(metadata).replace('"HERE"', text))
        for i, array in enumerate(arrays):
            file = io.BytesIO()
            np.save(file, array)
            archive.writestr(f"arrays/{i}.npy", file.getvalue())
    return signed(buffer.getvalue())


def many_columns(path):
    """A model that says it has a hundred million columns."""
    metadata, arrays = read_container(path)
    metadata["model"]["state"]["_n_columns"] = 10**8
    write_container(path, metadata, arrays)
    assert path.stat().st_size < 5_000


@pytest.fixture(scope="module")
def within(tmp_path_factory):
    """What models predict in a process that gets a few bytes more than psvm itself."""
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("the limit is relative to a size that Linux tells")
    folder, cases = tmp_path_factory.mktemp("within"), {}
    small = folder / "small.psvm"
    psvm.save(PSVC(epsilon=3.0).fit(X, Y), small)
    for name, text in {**{k: v[0] for k, v in UNFOLDING.items()}, **LARGE}.items():
        path = folder / f"{name}.psvm"
        path.write_bytes(description(*read_container(small), text))
        cases[name] = path, 2**28 if name in UNFOLDING else 64 * path.stat().st_size, 2
    many_columns(small)
    cases["many columns"] = small, 2**26, 2
    Z = np.random.default_rng(0).normal(size=(600, 2000))
    path = folder / "arrays.psvm"
    psvm.save(LeastSquaresSVC(kernel="linear").fit(Z, Z[:, 0] > 0), path)
    cases["arrays"] = path, 5 * path.stat().st_size, 2000
    command = [(str(path), *numbers) for path, *numbers in cases.values()]
    command = [sys.executable, "-c", WITHIN, json.dumps(command)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(cases, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("name", UNFOLDING)
def test_small_files_do_not_unfold(within, name):
    assert UNFOLDING[name][1] in within[name]


@pytest.mark.parametrize("name", LARGE)
def test_memory_is_proportional_to_the_file(within, name):
    """At most 64 times the size of the file, the worst being empty lists (models.md)."""
    assert within[name] in ("no", "yes")


def test_arrays_are_held_a_few_times(within):
    """Bytes, array, and what checking and preparing takes: five times in all."""
    assert within["arrays"] in ("True", "False")


def test_many_columns_take_no_memory(tmp_path, within):
    """The columns that are not in the support are not in the file, and not in memory either."""
    model = PSVC(epsilon=3.0).fit(X, Y)
    assert within["many columns"] == model.predict([[0.1, 0.1]])[0]
    path = tmp_path / "m.psvm"
    psvm.save(model, path)
    many_columns(path)
    loaded = psvm.load(path)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert export_text(loaded).split("support objects (")[1]
    assert export_numpy(loaded)
    psvm.save(loaded, tmp_path / "again.psvm")
    assert (tmp_path / "again.psvm").read_bytes() == path.read_bytes()
    assert not {"alpha_", "column_means_", "column_norms_"} & set(vars(loaded))


def test_other_arrays_cannot_be_saved(tmp_path):
    matrices = pytest.importorskip("Bio.Align.substitution_matrices")
    kernel = SmithWaterman(matrix=matrices.load("BLOSUM62"))
    with pytest.raises(TypeError, match="it is a Array"):
        psvm.save(PSVC(kernel=kernel, epsilon=0.5).fit(WORDS, HALF), tmp_path / "m.psvm")


def test_kernels_that_would_take_all_memory():
    """A parameter of a few digits in a file, and numbers by the million."""
    with pytest.raises(ValueError, match="within m mismatches of each word"):
        Mismatch(k=12, m=11)(["ACGTACGTACGT"])
    far = WeightedDegree(degree=10**12, normalize=False)(["ACGT"], ["ACGA"])
    # All weights are 2 / degree to twelve digits: one, two and three words end at the matches.
    np.testing.assert_allclose(far, (1 + 2 + 3) * 2 / 10**12, rtol=1e-11)


def test_names_of_matrices_are_no_paths(tmp_path):
    pytest.importorskip("Bio")
    path = tmp_path / "scores"
    path.write_text("   A  C\nA  1 -1\nC -1  1\n")
    with pytest.raises(ValueError, match=r"matrix must be one of"):
        SmithWaterman(matrix=str(path))(["AC"])


def test_loaded_search_shows_all_columns(tmp_path):
    model = psvm.PSVCCV(gammas=[1.0], cv=3).fit(X, Y)
    loaded = again(model, tmp_path)
    np.testing.assert_array_equal(loaded.alpha_, model.alpha_)
    assert loaded.alpha_ is loaded.best_estimator_.alpha_
    assert np.isnan(loaded.column_means_).sum() == len(X) - model.n_support_
    with pytest.raises(AttributeError, match="alpha_"):
        clone(loaded).alpha_  # noqa: B018
    refitted = loaded.best_estimator_.set_params(warm_start=True).fit(X, Y)
    assert not np.isnan(refitted.column_means_).any()


def test_deep_nesting(small):
    deep = None
    for _ in range(500):
        deep = [deep]
    small[2].write_bytes(rebuilt(small[0], setter("model", "state", "alpha_", deep)))
    with pytest.raises(ModelFileError, match="nested too deeply"):
        psvm.load(small[2])
    text = b'{"format":"psvm-model","version":1,"model":' + b"[" * 10**5 + b"]" * 10**5 + b"}"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * DIGEST
        archive.writestr("model.json", text)
    small[2].write_bytes(signed(buffer.getvalue()))
    with pytest.raises(ModelFileError):
        psvm.load(small[2])


def test_zip_bombs(small):
    bomb = ("arrays/999.npy", bytes(2**24))
    path = small[2]
    path.write_bytes(
        rebuilt(small[0], lambda m: None, compression=zipfile.ZIP_DEFLATED, more=[bomb])
    )
    assert path.stat().st_size < 2**16
    with pytest.raises(ModelFileError, match="compressed or encrypted"):
        psvm.load(path)
    # Sizes that the directory only claims.
    whole = bytearray(small[0])
    start = whole.find(b"PK\x01\x02")
    whole[start + 24 : start + 28] = (2**31).to_bytes(4, "little")
    whole[start + 20 : start + 24] = (2**31).to_bytes(4, "little")
    path.write_bytes(signed(bytes(whole)))
    with pytest.raises(ModelFileError):
        psvm.load(path)
    # Many members.
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = b"0" * DIGEST
        for i in range(2000):
            archive.writestr(f"arrays/{i}.npy", b"")
    path.write_bytes(signed(buffer.getvalue()))
    with pytest.raises(ModelFileError, match="2000 members"):
        psvm.load(path)


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "executed"),)

    model = PSVC(epsilon=0.5).fit(X, Y)
    psvm.save(model, tmp_path / "m.psvm")
    array = io.BytesIO()
    np.save(array, np.array([Trap()], dtype=object), allow_pickle=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(tmp_path / "m.psvm") as old, zipfile.ZipFile(buffer, "w") as new:
        new.comment = b"0" * DIGEST
        for name in old.namelist():
            new.writestr(name, array.getvalue() if name.startswith("arrays") else old.read(name))
    (tmp_path / "trap.psvm").write_bytes(signed(buffer.getvalue()))
    (tmp_path / "pickle.psvm").write_bytes(pickle.dumps(Trap()))
    for name in ("trap.psvm", "pickle.psvm"):
        with pytest.raises(ModelFileError):
            psvm.load(tmp_path / name)
    assert not (tmp_path / "executed").exists()


def test_other_files_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ModelFileError, match="not a model file"):
        psvm.load(tmp_path / "a.csv")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(ModelFileError, match="not a model file"):
        psvm.load(tmp_path / "empty")
    with pytest.raises(FileNotFoundError):
        psvm.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        psvm.load(tmp_path)


def test_parts_of_another_scikit_learn(tmp_path, monkeypatch):
    """skops keeps private attributes; all that we write of scikit-learn is public."""
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    psvm.save(model, tmp_path / "m.psvm")
    model = make_pipeline(SimpleImputer(), StandardScaler(), PSVC(epsilon=0.5)).fit(X, Y)
    psvm.save(model, tmp_path / "own.psvm")
    monkeypatch.setattr("sklearn.__version__", "99.0")
    psvm.load(tmp_path / "own.psvm")
    with pytest.warns(UserWarning, match="parts of scikit-learn"):
        psvm.load(tmp_path / "m.psvm")


# --- writing


def test_a_model_is_written_as_a_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m.psvm"
    psvm.save(PSVC(epsilon=3.0).fit(X, Y), path)
    before = path.read_bytes()
    model = PSVC(epsilon=0.1).fit(X, Y)

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    for place in ("numpy.lib.format.write_array", "os.fsync", "os.replace"):
        with monkeypatch.context() as patch:
            patch.setattr(place, stop)
            with pytest.raises(KeyboardInterrupt):
                psvm.save(model, path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_loaded_is_not_saved(tmp_path, monkeypatch):
    """The file is read back before it takes the place of the old one."""
    path = tmp_path / "m.psvm"
    psvm.save(PSVC(epsilon=3.0).fit(X, Y), path)
    before = path.read_bytes()
    model = PSVC(epsilon=0.1).fit(X, Y)
    model.n_support_ += 1  # stands for any defect in what is written
    with pytest.raises(ModelFileError, match=r"m\.psvm was not written.*n_support_ is wrong"):
        psvm.save(model, path)
    model.n_support_ -= 1
    write = np.lib.format.write_array

    def damaged(file, array, **options):
        write(file, array[..., :-1] if array.ndim else array, **options)

    monkeypatch.setattr("numpy.lib.format.write_array", damaged)
    with pytest.raises(ModelFileError, match=r"was not written, since .* has the shape"):
        psvm.save(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


WRITER = """
import sys, time
from psvm._atomic import atomic_write
with atomic_write(sys.argv[1], "wb") as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(os.name != "posix", reason="other systems do not remove open files")
def test_drafts_of_killed_writers_are_removed(tmp_path):
    """The next writer of the file removes them, but not the draft of one that is at work."""
    path = tmp_path / "m.psvm"
    model = PSVC(epsilon=3.0).fit(X, Y)
    (tmp_path / ".other.psvm.0123456789ab.part").write_bytes(b"of another file")
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE) as writer:
        assert writer.stdout.readline() == b"writing\n"
        psvm.save(model, path)
        drafts = [p for p in tmp_path.iterdir() if p.name.startswith(".m.psvm")]
        assert [p.read_bytes() for p in drafts] == [b"half"]
        writer.kill()
    assert drafts[0].exists()
    psvm.save(model, path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".other.psvm.0123456789ab.part",
        "m.psvm",
    ]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder that takes no files")
def test_folder_that_takes_no_files():
    with pytest.raises(OSError, match="/proc/"):
        psvm.save(PSVC(epsilon=3.0).fit(X, Y), "/proc/self/m.psvm")


# --- searches, several machines, comparators, abstention


@pytest.mark.parametrize(
    "model",
    [
        psvm.PSVCCV(gammas=[0.3, 1.0], cv=3),
        psvm.PSVRCV(gammas=[1.0], cv=3),
        PSVC(epsilon=0.5, probability=True),
        PSVC(epsilon=0.5, probability="isotonic", multi_class="ovr"),
        PSVC(epsilon=0.5, dtype=np.float32),
        KernelFisherDiscriminant(),
        LeastSquaresSVC(),
        LeastSquaresSVR(),
        RejectOption(PSVC(epsilon=0.5), rule="threshold", threshold=0.3),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_other_model_is_the_same_to_the_bit(model, n_classes, tmp_path):
    model = clone(model).fit(X, np.digitize(X[:, 0], [0.5, 1.2][: n_classes - 1]))
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            before, after = (getattr(m, method)(NEW) for m in (model, loaded))
            np.testing.assert_array_equal(before, after)


# --- text and code


def test_text_names_everything():
    model = PSVC(epsilon=1.0, C=5.0).fit(X, Y)
    text = export_text(model)
    for value in (*model.alpha_[model.support_], *model.support_objects_.ravel()):
        assert repr(float(value)) in text
    for part in ("C = 5.0", "classes = ['no', 'yes']", repr(model._kernel), "dual_gap"):
        assert part in text
    words = export_text(PSVC(kernel=Spectrum(2), epsilon=0.5).fit(WORDS, HALF))
    assert any(word in words for word in WORDS)
    assert "StandardScaler" in export_text(make_pipeline(StandardScaler(), PSVC()).fit(X, Y))
    assert "SpheredSVC" in export_text(SpheredSVC().fit(X, Y))


def alone(source, data):
    """Decision values and predictions of exported code in a process that cannot import psvm."""
    code = (
        "import sys, json\n"
        "for name in ('psvm', 'sklearn', 'scipy', 'pandas'): sys.modules[name] = None\n"
        f"{source}\n"
        "X = json.load(sys.stdin)\n"
        "print(json.dumps([decision_function(X).tolist(), predict(X).tolist()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        input=json.dumps(data.tolist()),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def in_scope(source, data):
    scope = {}
    exec(source, scope)
    return scope.get("decision_function", scope["predict"])(data), scope["predict"](data)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("cls", [PSVC, PSVR])
def test_numpy_code(kernel, cls):
    y = Y if cls is PSVC else X[:, 0] * X[:, 1]
    model = cls(kernel=kernel, epsilon=0.3).fit(X, y)
    values, predicted = in_scope(export_numpy(model), NEW)
    expected = model.decision_function(NEW) if cls is PSVC else model.predict(NEW)
    # Distances are summed in another order; 1e-12 of the size of the terms covers a few roundings.
    size = np.abs(model.alpha_ / np.where(model.column_norms_ > 0, model.column_norms_, 1)).sum()
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12 * (1 + size))
    if cls is PSVC:
        np.testing.assert_array_equal(predicted, model.predict(NEW))


def test_numpy_code_needs_nothing_else():
    model = PSVC(epsilon=0.3).fit(X, Y)
    values, predicted = alone(export_numpy(model), NEW)
    np.testing.assert_allclose(values, model.decision_function(NEW), rtol=0, atol=1e-12)
    assert predicted == model.predict(NEW).tolist()


@pytest.mark.parametrize(
    "options", [{}, {"multi_class": "ovr"}, {"decision_function_shape": "ovo"}], ids=str
)
def test_numpy_code_of_several_classes(options):
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = PSVC(epsilon=0.3, **options).fit(X, np.array(["a", "b", "c"])[y])
    values, predicted = in_scope(export_numpy(model), NEW)
    np.testing.assert_allclose(values, model.decision_function(NEW), rtol=0, atol=1e-11)
    np.testing.assert_array_equal(predicted, model.predict(NEW))


def test_numpy_code_of_labels_and_outputs():
    Y2 = np.column_stack([X[:, 0] > 0, X[:, 1] > 0]).astype(int)
    model = PSVC(epsilon=0.3).fit(X, Y2)
    np.testing.assert_array_equal(in_scope(export_numpy(model), NEW)[1], model.predict(NEW))
    model = PSVR(epsilon=0.3).fit(X, X @ X.T[:, :2])
    values, _ = in_scope(export_numpy(model), NEW)
    np.testing.assert_allclose(values, model.predict(NEW), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["dyadic", "precomputed"])
def test_numpy_code_of_measured_matrices(name):
    model = PSVC(kernel=name, epsilon=0.5).fit(GRAM, CODE)
    values, predicted = in_scope(export_numpy(model), GRAM[::2])
    np.testing.assert_array_equal(values, model.decision_function(GRAM[::2]))  # the same sums
    assert predicted.tolist() == model.predict(GRAM[::2]).tolist()


@pytest.mark.parametrize(
    "steps",
    [
        (StandardScaler(),),
        (StandardScaler(with_mean=False), MinMaxScaler()),
        (SimpleImputer(), StandardScaler(with_std=False)),
        (PSVMSelector(n_features=2),),
    ],
)
def test_numpy_code_of_pipelines(steps):
    model = make_pipeline(*steps, PSVC(epsilon=0.5)).fit(GENES, STATE)
    values, predicted = in_scope(export_numpy(model), GENES)
    np.testing.assert_allclose(values, model.decision_function(GENES), rtol=0, atol=1e-11)
    assert predicted.tolist() == model.predict(GENES).tolist()


@pytest.mark.parametrize("encoder", ENCODERS, ids=str)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_numpy_code_of_encoded_columns(encoder, kernel):
    model = in_columns(clone(encoder), remainder="passthrough").set_params(psvc__kernel=kernel)
    model.fit(CELLS, Y)
    source = export_numpy(model)
    new = CELLS.copy()
    new[::4, 2] = 9.0  # a level that was not there
    if encoder.handle_unknown == "error":
        with pytest.raises(ValueError, match=r"unknown level 9\.0"):
            in_scope(source, new)
    cells = [CELLS] if encoder.handle_unknown == "error" else [CELLS, new]
    for data in cells:
        values, predicted = in_scope(source, data)
        np.testing.assert_allclose(values, model.decision_function(data), rtol=0, atol=1e-11)
        assert predicted.tolist() == model.predict(data).tolist()


def test_numpy_code_of_tables():
    """Words, missing cells and columns by name, in a process that knows only NumPy."""
    frame = pd.DataFrame(CELLS.copy(), columns=["a", "b", "c", "d"])
    frame["c"] = np.array(["x", "yy", "zzz"], dtype=object)[frame["c"].astype(int)]
    frame["d"] = np.where(frame["d"] > 0, "rare", "often")
    frame.loc[::5, "a"] = np.nan
    encoder = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.2),
    )
    model = in_columns(
        encoder, ["a", "b", "c", "d"], make_pipeline(SimpleImputer(), RobustScaler())
    )
    model.set_params(psvc__probability=True).fit(frame, Y)
    new = frame.copy()
    new.loc[::3, "c"] = "unknown"
    new.loc[::7, "d"] = None
    source = export_numpy(model)
    values, predicted = in_scope(source, new[["d", "c", "b", "a"]])
    np.testing.assert_allclose(values, model.decision_function(new), rtol=0, atol=1e-11)
    assert predicted.tolist() == model.predict(new).tolist()
    values, predicted = alone(source, new.to_numpy())
    np.testing.assert_allclose(values, model.decision_function(new), rtol=0, atol=1e-11)
    assert predicted == model.predict(new).tolist()


@pytest.mark.filterwarnings("ignore:Skipping features")
@pytest.mark.parametrize(
    "steps",
    [
        (RobustScaler(with_centering=False), Normalizer("l1")),
        (MinMaxScaler(clip=True), VarianceThreshold()),
        (log_transformer(0.5), StandardScaler(with_std=False)),
        (FunctionTransformer(np.log1p), Normalizer("max"), "passthrough"),
        (StabilitySelector(q=3, n_subsamples=4, random_state=0),),
        (SimpleImputer(missing_values=0.0, strategy="median"),),
        (SimpleImputer(strategy="constant", fill_value=3.0), Normalizer()),
    ],
    ids=lambda steps: "-".join(str(step).partition("(")[0] for step in steps),
)
def test_numpy_code_of_steps(steps):
    data = np.abs(np.round(GENES, 1))
    data[:, 4] = 0.0
    if isinstance(steps[0], SimpleImputer) and steps[0].missing_values != 0:
        data[::3, 5] = np.nan
    model = make_pipeline(*steps, PSVC(epsilon=0.5)).fit(data, STATE)
    values, predicted = in_scope(export_numpy(model), 1.5 * data)
    np.testing.assert_allclose(values, model.decision_function(1.5 * data), rtol=0, atol=1e-11)
    assert predicted.tolist() == model.predict(1.5 * data).tolist()


@pytest.mark.parametrize("probability", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_numpy_code_of_probabilities(probability, n_classes, scheme):
    y = np.digitize(X[:, 0] + X[:, 1], [0.3, 1.2][: n_classes - 1])
    model = PSVC(epsilon=0.3, multi_class=scheme, probability=probability).fit(X, y)
    scope = {}
    exec(export_numpy(model), scope)
    found = scope["predict_proba"](NEW)
    np.testing.assert_allclose(found, model.predict_proba(NEW), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(scope["predict"](NEW), model.predict(NEW))


def test_numpy_code_of_sparse_and_empty_models():
    model = PSVC(epsilon=0.5).fit(sp.csr_array(X), CODE)
    np.testing.assert_allclose(
        in_scope(export_numpy(model), NEW)[0], model.decision_function(NEW), rtol=0, atol=1e-12
    )
    model = PSVR(epsilon=1e6).fit(X, X[:, 0])
    np.testing.assert_array_equal(in_scope(export_numpy(model), NEW)[0], model.predict(NEW))
    with pytest.raises(ValueError, match="X must have 2 columns"):
        in_scope(export_numpy(model), GENES)


def test_numpy_code_of_a_search_is_that_of_the_chosen_model():
    search = GridSearchCV(PSVC(), {"epsilon": [0.5, 1.0]}, cv=3)
    model = make_pipeline(StandardScaler(), make_pipeline(MinMaxScaler(), search)).fit(X, Y)
    values, predicted = in_scope(export_numpy(model), NEW)
    np.testing.assert_allclose(values, model.decision_function(NEW), rtol=0, atol=1e-11)
    assert predicted.tolist() == model.predict(NEW).tolist()


@pytest.mark.parametrize(
    "model",
    [
        PSVC(kernel=Spectrum(2), epsilon=0.5).fit(WORDS, HALF),
        SpheredSVC().fit(X, Y),
        make_pipeline(QuantileNormalizer(), PSVC(epsilon=1.0)).fit(X, Y),
        make_pipeline(SimpleImputer(add_indicator=True), PSVC(epsilon=1.0)).fit(X, Y),
        make_pipeline(PSVMSelector(landmarks=10, random_state=0), PSVC(epsilon=1.0)).fit(X, CODE),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_cannot_be_numpy_code(model):
    with pytest.raises(TypeError, match="cannot be written as NumPy code"):
        export_numpy(model)


# --- skops


def by_skops(model):
    """The model that skops makes again, with the types that we publish and no others."""
    skops = pytest.importorskip("skops.io")
    file = skops.dumps(model)
    assert set(skops.get_untrusted_types(data=file)) <= set(trusted_types())
    return skops.loads(file, trusted=trusted_types())


@pytest.mark.filterwarnings("ignore:No features were selected")
def test_skops_trusts_what_models_consist_of():
    """Every kind of model that the fuzz damages, but for one with a function of the test's."""
    for name, (model, data) in make_models().items():
        if name == "genes called":
            continue
        pairs = zip(outputs(model, data), outputs(by_skops(model), data), strict=True)
        for (_, expected), (_, found) in pairs:
            np.testing.assert_array_equal(found, expected, err_msg=name)


@pytest.mark.parametrize(
    "model",
    [
        PSVC(landmarks=10).fit(psvm.RowBlocks([(X, Y)])),
        PSVC(landmarks=10, random_state=0).partial_fit(X, Y),
        PSVC(epsilon=0.5, solver=psvm.SMO()).fit(X, np.digitize(X[:, 0], [-0.2, 1.0])),
        PSVC(multi_class="shared").fit(X, np.digitize(X[:, 0], [-0.2, 1.0])),
        PSVR(landmarks="random", random_state=np.random.default_rng(0)).fit(X, X[:, 0]),
        make_pipeline(SimpleImputer(), psvm.PSVCCV(gammas=[1.0], cv=3)).fit(X, Y),
        in_columns(OneHotEncoder()).fit(CELLS, Y),
    ],
    ids=lambda model: type(model).__name__,
)
def test_skops_of_other_fits(model):
    data = CELLS if model.n_features_in_ == 4 else NEW
    np.testing.assert_array_equal(by_skops(model).predict(data), model.predict(data))


def test_registered_kernels_are_trusted(monkeypatch):
    known = psvm.persistence._known.registry()
    monkeypatch.setattr(known, "_by_name", dict(known._by_name))
    monkeypatch.setattr(known, "_by_class", dict(known._by_class))
    name = f"{Overlap.__module__}.Overlap"
    assert name not in trusted_types()
    register(Overlap)
    assert name in trusted_types()
