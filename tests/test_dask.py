"""Fits to dask collections are those to the same rows in memory, whatever happens to workers."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from psvm import (
    PSVC,
    PSVCCV,
    PSVR,
    PSVRCV,
    Moments,
    MomentsPlan,
    PSVMSelector,
    RowBlocks,
    RowSurvey,
    WorkingSet,
    epsilon_path,
    solve,
)
from psvm.matrix import DaskMatrix, DaskRows

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array")

SAME = 1e-10
"""Rounding of sums in another order is about 1e-15 times the condition of Q; see `well_posed`."""


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    """Rows are summed, however few they are."""
    monkeypatch.setattr("psvm.estimators._fit_blocks.MOST", 0)


@pytest.fixture(autouse=True)
def scheduler(request):
    """Without a cluster the tasks run in this thread, unless the test says otherwise."""
    if "cluster" in request.fixturenames:
        yield
        return
    with dask.config.set(scheduler=getattr(request, "param", "synchronous")):
        yield


def ring(n=900, d=3, seed=0):
    """Vectors and their distance from 0."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return X, np.linalg.norm(X, axis=1)


def labels(r, n_classes=2):
    return np.array(["near", "middle", "far"])[:: 4 - n_classes][
        np.digitize(r, [1.5] if n_classes == 2 else [1.2, 2.0])
    ]


def in_chunks(X, *chunks):
    return da.from_array(X, chunks=chunks)


def sparse_in_chunks(K, rows=130):
    """A dask array with csr chunks."""
    index = da.from_array(np.arange(K.shape[0]), chunks=rows)
    return index.map_blocks(
        lambda index: K[index],
        new_axis=1,
        chunks=(index.chunks[0], (K.shape[1],)),
        dtype=K.dtype,
        meta=sp.csr_matrix((0, 0)),
    )


def well_posed(model):
    """The premise of equal models: rounding is not magnified by more than 1e5."""
    condition = np.linalg.cond(model.sums_.total.Q)
    return model.sums_.total.n_columns < 200 and condition < 1e5


def assert_same(model, other, X):
    assert well_posed(model)
    for name in ("decision_function", "predict_proba", "predict"):
        if hasattr(model, name) and (name != "predict" or isinstance(model, PSVR)):
            mine, its = getattr(model, name)(X), getattr(other, name)(X)
            assert_allclose(mine, its, rtol=0, atol=SAME * np.abs(its).max())
    assert_array_equal(model.support_, other.support_)


SETTINGS = {"kernel": "rbf", "landmarks": "random", "n_landmarks": 40, "gamma": 3.0}


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"], indirect=True)
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (PSVC(**SETTINGS, probability=True), labels),
        (PSVC(**SETTINGS, class_weight="balanced"), lambda r: labels(r, 3)),
        (PSVR(**SETTINGS), np.square),
        (PSVR(kernel="dyadic", epsilon=0.1), lambda r: np.column_stack([r, r**2])),
    ],
    ids=["two classes", "three classes", "regression", "dyadic, two outputs"],
)
def test_a_dask_array_gives_the_model_of_its_rows(model, target, scheduler):
    X, r = ring()
    y, weights = target(r), np.random.default_rng(1).uniform(0.5, 2, len(r))
    weights[::7] = 0
    model.fit(RowBlocks(X, y, weights))
    whole = {name: np.copy(getattr(model, name)) for name in ("alpha_", "intercept_", "epsilon_")}
    # Chunks of X are cut by columns as well, and those of y are others.
    chunked = in_chunks(X, 220, 2), in_chunks(y, 300, *y.shape[1:]), in_chunks(weights, 100)
    model.fit(*chunked)
    assert well_posed(model)
    for name, value in whole.items():
        size = np.abs(value).max()
        assert_allclose(getattr(model, name), value, rtol=0, atol=SAME * size)
    assert all(solution.source == "rows" for solution in model.solutions_)


def test_standardized_features():
    X, r = ring()
    X *= [1, 100, 0.01]
    model, other = (
        PSVC(kernel="rbf", standardize=True, landmarks="random", n_landmarks=40, gamma=1.0)
        for _ in range(2)
    )
    model.fit(RowBlocks(in_chunks(X, 200, 3), labels(r)))
    other.fit(RowBlocks(X, labels(r)))
    assert_same(model, other, X)


def test_a_triangular_factor_of_the_chunks():
    X, r = ring()
    model, other = (PSVR(**SETTINGS, tol=1e-8) for _ in range(2))
    model.fit(RowBlocks(in_chunks(X, 200, 3), r, qr=True))
    assert_same(model, other.fit(RowBlocks(X, r, qr=True)), X)
    with pytest.raises(ValueError, match="qr=True is for sums of at most"):
        PSVR(kernel="dyadic").fit(
            RowBlocks(in_chunks(np.ones((9, 3000)), 3, 3000), np.ones(9), qr=True)
        )


def test_what_chunks_have_in_common_is_made_once():
    X, r = ring()
    made = []

    def make(start):
        made.append(start)
        return X[start : start + 300], r[start : start + 300]

    pairs = [dask.delayed(make, nout=2)(start) for start in (0, 300, 600)]
    chunked = da.concatenate([da.from_delayed(a, (300, 3), dtype=float) for a, _ in pairs])
    PSVR(**SETTINGS).fit(
        chunked, da.concatenate([da.from_delayed(b, (300,), dtype=float) for _, b in pairs])
    )
    assert sorted(made) == sorted([0, 300, 600] * 3)  # survey, sums, certificate


def frames(r, X, npartitions=4):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(X, columns=["u", "v", "w"])
    table = table.assign(y=labels(r), weight=1.0 + (r > 2), row=np.arange(len(r)))
    return table, dd.from_pandas(table, npartitions=npartitions)


def test_a_dask_dataframe():
    X, r = ring()
    table, frame = frames(r, X)
    names = ["u", "v", "w"]
    whole = PSVC(**SETTINGS).fit(RowBlocks(table[names], table["y"], table["weight"]))
    model = PSVC(**SETTINGS).fit(frame[names], frame["y"], frame["weight"])
    assert_same(model, whole, table[names])
    assert_array_equal(model.feature_names_in_, names)
    found = model.predict(frame[names])
    assert isinstance(found, da.Array) and np.isnan(found.chunks[0]).all()
    assert_array_equal(found.compute(), model.predict(table[names]))
    # The numbers of rows are not known, and a partition has none.
    some = frame.clear_divisions()
    some = some[some["row"] > 300]
    model.fit(some[names], some["y"])
    assert min(some.map_partitions(len).compute()) == 0
    found = model.predict(some[names]).compute()
    assert_array_equal(found, model.fit(some[names].values, some["y"]).predict(X[301:]))


def test_series_with_other_partitions():
    X, r = ring()
    table, frame = frames(r, X)
    other = frames(r, X, npartitions=3)[1]
    names = ["u", "v", "w"]
    whole = PSVC(**SETTINGS).fit(RowBlocks(table[names], table["y"]))
    assert_same(PSVC(**SETTINGS).fit(frame[names], other["y"]), whole, table[names])
    with pytest.raises(ValueError, match="X has 4 chunks of rows and y has 3"):
        PSVC().fit(frame[names].clear_divisions(), other["y"].clear_divisions())


SEARCHES = {
    "classes": (
        PSVCCV(kernel="rbf", landmarks="random", n_landmarks=30, random_state=0, gammas=[1.0, 3.0]),
        labels,
    ),
    "numbers": (
        PSVRCV(kernel="rbf", landmarks="random", n_landmarks=30, random_state=0, gammas=[1.0, 3.0]),
        np.square,
    ),
}


def assert_same_search(search, X, y, parts):
    whole = clone(search).fit(RowBlocks(X, y))
    search = clone(search).fit(*parts)
    assert well_posed(search)
    assert len(search.cv_results_["params"]) == len(whole.cv_results_["params"]) > 1
    for name in ("mean_test_score", "param_gamma"):
        mine, its = (np.asarray(found.cv_results_[name], float) for found in (search, whole))
        assert_allclose(mine, its, rtol=1e-8)  # each follows from sums that agree to 1e-10
    scores = np.sort(whole.cv_results_["mean_test_score"])
    assert scores[-1] - scores[-2] > 1e-6 * abs(scores[-1])  # there is one best
    assert search.gamma_ == whole.gamma_ and search.C_ == whole.C_
    predicted = search.predict(parts[0])
    assert isinstance(predicted, da.Array)
    assert_array_equal(search.support_, whole.support_)
    f = whole.best_estimator_.decision_function(X) if hasattr(whole, "classes_") else 0.0
    decided = np.broadcast_to(np.abs(f) > 1e-6, len(X)) | np.isscalar(f)
    mine, its = predicted.compute()[decided], whole.predict(X)[decided]
    if hasattr(whole, "classes_"):
        assert decided.mean() > 0.99
        assert_array_equal(mine, its)
    else:
        assert_allclose(mine, its, rtol=0, atol=SAME * np.abs(its).max())


@pytest.mark.parametrize("kind", SEARCHES)
def test_searches_take_dask_arrays(kind):
    search, target = SEARCHES[kind]
    X, r = ring(600)
    y = target(r)
    assert_same_search(search, X, y, (in_chunks(X, 170, 2), in_chunks(y, 200)))


def test_a_search_takes_dask_dataframes():
    X, r = ring(600)
    table, frame = frames(r, X)
    names = ["u", "v", "w"]
    search = PSVCCV(
        kernel="rbf", landmarks="random", n_landmarks=30, random_state=0, gammas=[1.0, 3.0]
    )
    search.fit(frame[names], frame["y"], frame["weight"])
    whole = clone(search).fit(RowBlocks(table[names], table["y"], table["weight"]))
    assert_array_equal(search.feature_names_in_, names)
    assert search.best_params_["gamma"] == whole.best_params_["gamma"]
    assert_allclose(search.best_score_, whole.best_score_, rtol=1e-8)


def columns_for_selection(n=500, n_columns=40):
    rng = np.random.default_rng(5)
    K = rng.normal(size=(n, n_columns)) * rng.uniform(0.5, 2, n_columns) + rng.normal()
    return K, K[:, 3] - 2 * K[:, 7] + K[:, 11] + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize("options", [{}, {"n_features": 4}, {"epsilon": 5.0}])
@pytest.mark.parametrize("classes", [False, True])
def test_the_selector_takes_dask_arrays(options, classes):
    K, y = columns_for_selection()
    y = np.where(y > 0, "high", "low") if classes else y
    whole = PSVMSelector(**options).fit(RowBlocks(K, y))
    selector = PSVMSelector(**options).fit(in_chunks(K, 130, 20), in_chunks(y, 150))
    assert {3, 7} <= set(np.flatnonzero(selector.get_support()))
    assert_array_equal(selector.get_support(), whole.get_support())
    assert_allclose(selector.alpha_, whole.alpha_, rtol=0, atol=SAME * np.abs(whole.alpha_).max())
    found = selector.transform(in_chunks(K, 130, 20))
    assert isinstance(found, da.Array)
    assert_array_equal(found.compute(), K[:, selector.get_support()])
    with pytest.raises(ValueError, match="X has 39 features, but PSVMSelector is expecting 40"):
        selector.transform(in_chunks(K[:, 1:], 130, 20))


def test_the_selector_takes_dask_dataframes():
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    K, y = columns_for_selection()
    names = [f"gene{j}" for j in range(K.shape[1])]
    frame = dd.from_pandas(pd.DataFrame(K, columns=names).assign(y=y), npartitions=3)
    selector = PSVMSelector(n_features=3).fit(frame[names], frame["y"])
    assert_array_equal(selector.get_feature_names_out(), ["gene3", "gene7", "gene11"])
    found = selector.transform(frame[names[::-1]])
    assert_array_equal(found.compute(), K[:, [3, 7, 11]])
    with pytest.raises(ValueError, match="X has no column 'gene3'"):
        selector.transform(frame[names].rename(columns={"gene3": "other"}))


def test_partial_fit_takes_chunks():
    X, r = ring()
    y = labels(r)
    model = PSVC(**SETTINGS).partial_fit(in_chunks(X[:500], 200, 3), y[:500])
    model.partial_fit(in_chunks(X[500:], 200, 3), y[500:])
    other = PSVC(**SETTINGS).partial_fit(X[:500], y[:500]).partial_fit(X[500:], y[500:])
    assert model.sums_.n_rows == 900
    assert_same(model, other, X)


def test_sparse_chunks():
    K = sp.random_array((500, 60), density=0.1, format="csr", random_state=0)
    y = K[:, [0]].toarray()[:, 0] - K[:, [1]].toarray()[:, 0]
    y += 0.1 * np.random.default_rng(0).normal(size=500)
    model = PSVR(kernel="dyadic").fit(sparse_in_chunks(K), y)
    assert_same(model, PSVR(kernel="dyadic").fit(RowBlocks(K, y)), K)
    assert_allclose(model.predict(sparse_in_chunks(K)).compute(), model.predict(K), rtol=SAME)


@pytest.mark.parametrize("copies", [1, 6])
def test_chunks_send_few_rows_and_the_sample_is_that_of_all(copies):
    """Equal rows count once, so the chunks are asked again for more."""
    from psvm.estimators import _passes

    X = np.repeat(np.random.default_rng(0).normal(size=(120_000 // copies, 2)), copies, axis=0)
    y = X[:, 0]
    sent = []

    def count(blocks, labels, bound):
        survey = survey_of_chunk(blocks, labels, bound)
        sent.append(len(survey.sample.hashes))
        return survey

    survey_of_chunk = _passes.survey_of_chunk
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_passes, "survey_of_chunk", count)
        found = _passes.survey_chunks(DaskRows(in_chunks(X, 10_000, 2), y), labels=False)
    whole = RowSurvey.of(X, y, labels=False)
    for mine, its in zip(found.sample, whole.sample, strict=True):
        assert_array_equal(mine, its)
    assert found.bound == whole.bound
    assert len(sent) == 12 * (1 if copies == 1 else 2)
    if copies == 1:
        assert sum(sent) < 2.5 * 20_000


def test_dask_knows_how_large_sums_and_surveys_are():
    """It moves what is small, and keeps as much in memory as it thinks there is room for."""
    from dask.sizeof import sizeof

    X, r = ring(300)
    for rows in (X, sp.csr_array(X)):
        survey = RowSurvey.of(rows, r, labels=False)
        plan = MomentsPlan.make(PSVR(**SETTINGS), survey)
        for value in (survey, plan.moments(rows, r), plan.factor([(rows, r)])):
            pickled = len(pickle.dumps(value, protocol=5))
            assert 0.8 * pickled < sizeof([value]) < 1.5 * pickled


def test_predictions_are_lazy():
    X, r = ring()
    model = PSVC(**SETTINGS, probability=True).fit(RowBlocks(X, labels(r)))

    def explode(X):
        raise AssertionError("computed")

    shape = {"dtype": float, "meta": np.empty((0, 0))}
    never = in_chunks(X, (200, 700), 2).map_blocks(explode, **shape)
    chunked = in_chunks(X, (200, 700), 2)
    for method in ("predict", "decision_function", "predict_proba"):
        expected = getattr(model, method)(X)
        found = getattr(model, method)(never)
        assert isinstance(found, da.Array) and found.chunks[0] == (200, 700)
        assert found.shape == expected.shape and found.dtype == expected.dtype
        assert_array_equal(getattr(model, method)(chunked).compute(), expected)
    outputs = PSVR(**SETTINGS).fit(RowBlocks(X, np.column_stack([r, -r])))
    assert outputs.predict(chunked).chunks == ((200, 700), (2,))
    assert_array_equal(outputs.predict(chunked).compute(), outputs.predict(X))
    assert model.score(chunked, in_chunks(labels(r), 450)) == model.score(X, labels(r))


def test_a_model_that_predicts_elsewhere_is_small():
    """What is needed for more rows or a report does not travel."""
    X, r = ring(3000)
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=100).fit(
        in_chunks(X, 1000, 3), labels(r)
    )
    graph = dict(model.predict(in_chunks(X, 1000, 3)).__dask_graph__())
    (light,) = {id(m): m for m in _models(graph.values())}.values()
    assert not hasattr(light, "sums_") and hasattr(model, "sums_")


def _models(tasks):
    for task in tasks:
        value = getattr(task, "value", task)
        if isinstance(value, PSVC):
            yield value


def wide(n=400, p=2500, seed=0):
    """A sparse matrix with more columns than products are formed of, and a target."""
    rng = np.random.default_rng(seed)
    K = sp.random_array((n, p), density=0.02, format="csr", random_state=seed)
    coef = np.zeros(p)
    coef[:8] = rng.choice([-1.0, 1.0], 8) * rng.uniform(0.5, 2, 8)
    return K, K @ coef + 0.02 * rng.normal(size=n)


def test_a_wide_matrix_stays_where_it_is():
    K, y = wide()
    options = {"kernel": "dyadic", "epsilon": 0.05, "tol": 1e-10}
    weights = np.random.default_rng(1).uniform(0.5, 2, len(y))
    whole = PSVR(**options).fit(K, y, weights)
    model = PSVR(**options).fit(sparse_in_chunks(K), in_chunks(y, 90), weights)
    assert 3 < model.n_support_ < 100
    # Both are optimal up to 1e-10 times epsilon; their columns are hardly correlated.
    assert_allclose(model.alpha_, whole.alpha_, rtol=0, atol=1e-9)
    assert_allclose(model.predict(K), whole.predict(K), rtol=0, atol=1e-9)
    classes = np.where(y > 0, "up", "down")
    whole = PSVC(**options).fit(K, classes)
    model = PSVC(**options).fit(sparse_in_chunks(K), classes)
    assert_allclose(model.decision_function(K), whole.decision_function(K), rtol=0, atol=1e-9)
    assert_array_equal(model.predict(sparse_in_chunks(K)).compute(), model.predict(K))


def test_the_choice_of_epsilon_for_a_wide_matrix():
    K, y = wide(200, 2100)
    model, whole = (PSVR(kernel="dyadic").fit(X, y) for X in (sparse_in_chunks(K, 70), K))
    assert model.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-10)
    assert_allclose(model.predict(K), whole.predict(K), rtol=0, atol=1e-6 * np.ptp(y))


def test_dense_wide_chunks_have_a_certificate_from_outside():
    K = np.random.default_rng(0).normal(size=(90, 2300))
    y = K[:, 0] - K[:, 1]
    model = PSVR(kernel="dyadic", epsilon=2.0, threshold="mean")
    model.fit(in_chunks(K, 25, 1000), y)
    Z = (K - K.mean(axis=0)) / np.linalg.norm(K - K.mean(axis=0), axis=0)
    F = Z.T @ (Z @ model.alpha_ - (y - y.mean()))
    assert 0 < model.n_support_ < 50
    assert np.abs(F).max() <= 2.0 * (1 + 1e-4) + 1e-12
    used = model.alpha_ != 0
    assert_allclose(F[used], -2.0 * np.sign(model.alpha_[used]), rtol=1e-4)


def test_solvers_take_dask_arrays():
    K, y = wide(600, 300)
    chunked = sparse_in_chunks(K, 250)
    mine, its = (solve(X, y, epsilon=0.1, tol=1e-10) for X in (chunked, K))
    assert_allclose(mine.alpha, its.alpha, rtol=0, atol=1e-9)
    paths = [epsilon_path(X, y, n_epsilons=5) for X in (chunked, K)]
    assert_allclose(paths[0].epsilons, paths[1].epsilons, rtol=1e-10)
    sums = [Moments.of(X, y) for X in (chunked, K)]
    assert_allclose(sums[0].cross, sums[1].cross, rtol=0, atol=1e-12 * np.abs(sums[1].cross).max())
    solution = solve(DaskMatrix(chunked), y, epsilon=0.1, solver=WorkingSet(batch=3, tol=1e-10))
    assert_allclose(solution.alpha, its.alpha, rtol=0, atol=1e-9)


def test_errors_name_what_is_wrong():
    X, r = ring()
    y, chunked = labels(r), in_chunks(X, 300, 3)
    with pytest.raises(ValueError, match="y has 899 rows, but X has 900"):
        PSVC().fit(chunked, in_chunks(y[1:], 300))
    with pytest.raises(ValueError, match="sample_weight has 899 rows, but X has 900"):
        PSVC().fit(chunked, y, np.ones(899))
    with pytest.raises(ValueError, match="requires y"):
        PSVC().fit(chunked)
    with pytest.raises(ValueError, match="checkpoint is for blocks that are read one by one"):
        RowBlocks(chunked, y, checkpoint="sums")
    with pytest.raises(ValueError, match="RowBlocks of a dask collection need y"):
        RowBlocks(chunked)
    with pytest.raises(ValueError, match="X has 1 dimensions"):
        PSVC().fit(chunked[:, 0], y)
    with pytest.raises(ValueError, match="landmarks='all' needs all rows at once"):
        PSVC(kernel="rbf", landmarks="all").fit(chunked, y)
    with pytest.raises(ValueError, match="kernel='precomputed' needs all rows"):
        PSVC(kernel="precomputed").fit(chunked, y)
    with pytest.raises(ValueError, match="PSVCCV requires y to be passed"):
        PSVCCV().fit(chunked)
    with pytest.raises(ValueError, match="cv needs all rows at once"):
        PSVCCV(cv=3).fit(chunked, y)
    with pytest.raises(ValueError, match="go without landmarks"):
        PSVMSelector(landmarks=X[:5]).fit(chunked, y)
    with pytest.raises(TypeError, match="X must be a dask array or a dask DataFrame"):
        PSVC().fit(dask.delayed(X), y)
    unknown = chunked[da.from_array(X[:, 0] > 0, chunks=300)]
    with pytest.raises(ValueError, match="y must be a dask collection"):
        PSVC().fit(unknown, y[X[:, 0] > 0])
    with pytest.raises(ValueError, match="X has 3 chunks of rows and y has 9"):
        PSVC().fit(unknown, in_chunks(y, 100))
    model = PSVC(**SETTINGS).fit(chunked, y)
    with pytest.raises(ValueError, match="X has 2 features, but PSVC is expecting 3"):
        model.predict(chunked[:, :2])
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        PSVC().predict(chunked)


@pytest.mark.parametrize("columns", [3, 2500])
def test_an_error_names_the_chunk(columns):
    X = np.random.default_rng(0).normal(size=(60, columns))
    y = X[:, 0].copy()
    X[41, 1] = np.nan
    where = r"chunk 3 \(rows 41 to 60\): there is NaN or infinity in row 2 of the block, column 2"
    with pytest.raises(ValueError, match=where):
        PSVR(kernel="dyadic", epsilon=1.0).fit(in_chunks(X, 20, columns), y)


def test_dask_is_imported_when_it_is_used(monkeypatch):
    code = "import psvm, psvm.estimators, sys; psvm.PSVC; print('dask' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "False\n"

    class Collection:
        def __dask_graph__(self):
            return {}

    for name in ("dask", "dask.array"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'pip install "psvm\[dask\]"'):
        PSVC().fit(Collection(), [0, 1])


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes on this machine."""
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    where = {"host": "127.0.0.1", "scheduler_port": 0, "dashboard_address": "127.0.0.1:0"}
    where["scheduler_kwargs"] = {"dashboard": False}
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        distributed.LocalCluster(**options, **where, silence_logs=logging.CRITICAL) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


def deadly(X, folder, doomed):
    """The rows as they are; the worker that is the first to be asked so often ends itself."""
    number = len(os.listdir(folder))
    with open(os.path.join(folder, f"{time.time_ns()}-{os.getpid()}"), "w"):
        pass
    if number == doomed:
        os.kill(os.getpid(), signal.SIGKILL)
    return X


def chunks_that_kill(X, folder, doomed, rows):
    """A dask array whose chunks are made anew in each pass."""
    task = dask.delayed(deadly, pure=False)
    parts = [X[start : start + rows] for start in range(0, X.shape[0], rows)]
    return da.concatenate(
        [
            da.from_delayed(task(part, str(folder), doomed), part.shape, dtype=float)
            for part in parts
        ]
    )


needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")


@needs_kill
def test_a_killed_worker_costs_its_chunks_not_the_fit(cluster, tmp_path):
    """In the pass that sums; a fit without a kill makes each of nine chunks three times."""
    X, r = ring()
    whole = PSVC(**SETTINGS).fit(RowBlocks(X, labels(r)))
    for name, doomed in (("quiet", -1), ("killed", 12)):
        folder = tmp_path / name
        folder.mkdir()
        model = PSVC(**SETTINGS).fit(chunks_that_kill(X, folder, doomed, 100), labels(r))
        assert_same(model, whole, X)
        made = os.listdir(folder)
        assert len(made) == 27 if name == "quiet" else len(made) > 27
    found = model.predict(in_chunks(X, 300, 3))
    assert_array_equal(found.compute(), model.predict(X))


@needs_kill
def test_searches_and_selectors_on_two_workers(cluster):
    X, r = ring(600)
    search, target = SEARCHES["numbers"]
    y = target(r)
    assert_same_search(search, X, y, (in_chunks(X, 200, 3), in_chunks(y, 200)))
    K, y = columns_for_selection()
    selector = PSVMSelector(n_features=4).fit(in_chunks(K, 200, 40), in_chunks(y, 200))
    assert_array_equal(selector.get_support(), PSVMSelector(n_features=4).fit(K, y).get_support())


@pytest.mark.slow
def test_a_wide_matrix_outlives_a_worker(cluster, tmp_path):
    """The chunks of a killed worker are made again when a product needs them."""
    K, y = wide()
    K = K.toarray()
    matrix = DaskMatrix(chunks_that_kill(K, tmp_path, -1, 100))
    a, v = np.ones(K.shape[1]), np.ones(K.shape[0])
    assert_allclose(matrix.matvec(a), K @ a, rtol=1e-12)
    before = cluster.run(os.getpid)
    kept = {address for held in cluster.who_has().values() for address in held}
    os.kill(before[min(kept)], signal.SIGKILL)
    assert_allclose(matrix.rmatvec(v), K.T @ v, rtol=0, atol=1e-12 * np.abs(K).sum(axis=0).max())
    solution = solve(matrix, y, epsilon=0.05, tol=1e-10)
    assert_allclose(solution.alpha, solve(K, y, epsilon=0.05, tol=1e-10).alpha, atol=1e-9, rtol=0)
    assert len(os.listdir(tmp_path)) > 4


@pytest.mark.slow
def test_two_hundred_thousand_rows_of_twenty_thousand_columns():
    """The KKT conditions of the solution are recomputed from the rows."""
    n, p, step, stored = 200_000, 20_000, 10_000, 20

    def chunk(number):
        rng = np.random.default_rng(int(number[0]))
        ends = np.arange(0, stored * step + 1, stored)
        places = rng.integers(0, p, stored * step)
        return sp.csr_array((rng.random(len(places)), places, ends), shape=(step, p))

    chunks = ((step,) * (n // step), (p,))
    numbers = da.from_array(np.arange(n // step), chunks=1)
    K = numbers.map_blocks(chunk, new_axis=1, chunks=chunks, meta=sp.csr_matrix((0, 0)))
    whole = sp.vstack([chunk([seed]) for seed in range(n // step)], format="csr")
    rng = np.random.default_rng(0)
    y = whole[:, :20] @ rng.normal(size=20) + 0.1 * rng.normal(size=n)
    epsilon = 3.0
    model = PSVR(kernel="dyadic", epsilon=epsilon, threshold="mean").fit(K, y)
    means = np.asarray(whole.mean(axis=0)).ravel()
    squares = np.asarray(whole.multiply(whole).sum(axis=0)).ravel()
    norms = np.sqrt(squares - n * means**2)
    coef = model.alpha_ / norms
    residual = y - y.mean() - (whole @ coef - means @ coef)
    F = -(whole.T @ residual - means * residual.sum()) / norms
    assert 5 < model.n_support_ < 1000
    assert np.abs(F).max() <= epsilon * (1 + 2e-4)
    used = model.alpha_ != 0
    assert_allclose(F[used], -epsilon * np.sign(model.alpha_[used]), rtol=2e-4)
