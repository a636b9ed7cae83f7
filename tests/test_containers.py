"""The same rows give the same model, whatever holds them: memory, a file, blocks or dask."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris

from psvm import PSVC, PSVR, MomentsPlan, RowBlocks, RowSurvey, fit_moments
from psvm.choice import POLICY
from psvm.kernels import Spectrum
from psvm.matrix import drawn_hashes, row_hashes
from psvm.solvers import WorkingSet

ROWS = {"gathered": 240, "sums": 2600}
"""So many are taken into memory together, or summed block by block."""


def cut(X, y, w, step):
    parts = (X, y) if w is None else (X, y, w)
    return [tuple(part[i : i + step] for part in parts) for i in range(0, X.shape[0], step)]


def containers(X, y, w, folder, rng):
    """Arguments of `fit` that hold the same rows."""
    np.save(folder / "X.npy", X)
    order = rng.permutation(len(y))
    shuffled = X[order], y[order], None if w is None else w[order]
    yield "memory map", (np.load(folder / "X.npy", mmap_mode="r"), y, w)
    yield "blocks of 7", (RowBlocks(cut(X, y, w, 7)),)
    yield "blocks of 1000", (RowBlocks(lambda: iter(cut(X, y, w, 1000))),)
    yield "cut", (RowBlocks(X, y, w, memory=1e-3),)
    yield "in another order", (RowBlocks(cut(*shuffled, 100)),)
    try:
        import dask.array as da
    except ImportError:
        return
    chunks = [None if a is None else da.from_array(a, chunks=(90, *a.shape[1:])) for a in (X, y, w)]
    yield "dask", tuple(chunks)


def rows_of(kind, n, rng):
    """Vectors or columns, their targets and weights."""
    X = rng.normal(size=(n, 3))
    r = np.hypot(X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=n)
    w = rng.integers(1, 4, n).astype(float)
    if kind == "two classes":
        return PSVC(probability=True), X, np.where(r > 1, "far", "near"), None
    if kind == "three classes":
        return PSVC(class_weight="balanced"), X, np.digitize(r, [0.8, 1.8]), w
    if kind == "shared":
        return PSVC(multi_class="shared"), X, np.digitize(r, [0.8, 1.8]), None
    if kind == "numbers":
        return PSVR(), X, r, w
    if kind == "two outputs":
        return PSVR(landmarks=30, random_state=0), X, np.column_stack([r, X[:, 2]]), None
    K = rng.normal(size=(n, 12)) @ np.diag(rng.uniform(0.5, 2, 12)) + 1
    return PSVC(kernel="dyadic"), K, K[:, 1] - K[:, 5] + rng.normal(size=n) > 0, w


KINDS = ["two classes", "three classes", "shared", "numbers", "two outputs", "dyadic"]


def fitted(model, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return clone(model).fit(*arguments)


def values_of(model, X):
    return model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)


def names(model):
    return {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}


@pytest.mark.parametrize("regime", ROWS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_give_the_same_model(kind, regime, rng, tmp_path, decides):
    model, X, y, w = rows_of(kind, ROWS[regime], rng)
    if kind == "two outputs" and regime == "gathered":
        model.set_params(landmarks=None)  # k-means depends on the order of the rows in memory
    assert decides(lambda: fitted(model, (X, y, w)))
    whole = fitted(model, (X, y, w))
    assert hasattr(whole, "sums_") == (regime == "sums") != hasattr(whole, "loo_decision_")
    f = values_of(whole, X[:200])
    for name, arguments in containers(X, y, w, tmp_path, rng):
        other = fitted(model, arguments)
        assert names(other) == names(whole), name
        # Neighbours of a walk differ by a third.
        assert_allclose(other.epsilon_, whole.epsilon_, rtol=1e-6, err_msg=name)
        # the last digits of centres of clusters depend on the order of the rows
        objects = [np.atleast_2d(m.support_objects_).round(9) for m in (other, whole)]
        same = [set(map(tuple, some.tolist())) for some in objects]
        assert same[0] == same[1], name
        # Rounding of sums, times the condition of their products.
        assert_allclose(values_of(other, X[:200]), f, rtol=0, atol=1e-5 * np.abs(f).max())
        assert other.loo_error_ == pytest.approx(whole.loo_error_, rel=1e-5, abs=1 / 2600)


def test_sums_have_the_model_of_rows_in_memory(rng):
    """The same landmarks, in a solver that takes the rows: other code from end to end."""
    X = rng.normal(size=(3000, 3))
    y = np.where(np.hypot(X[:, 0], X[:, 1]) + 0.3 * rng.normal(size=3000) > 1, 1, 0)
    summed = PSVC(kernel="rbf", gamma=0.3, tol=1e-8).fit(X, y)
    K = summed.plan_.columns(X)
    kept = PSVC(kernel="dyadic", tol=1e-8, solver=WorkingSet()).fit(K, y)
    assert hasattr(summed, "sums_") and not hasattr(kept, "sums_")
    # In memory no column belongs to a row: the epsilon may be another one, the solution not.
    at = clone(kept).set_params(epsilon=summed.epsilon_, threshold="mean").fit(K, y)
    same = clone(summed).set_params(epsilon=summed.epsilon_, threshold="mean").fit(X, y)
    assert_array_equal(at.support_, same.support_)
    assert_allclose(at.decision_function(K[:99]), same.decision_function(X[:99]), atol=1e-6)


@pytest.mark.parametrize("kind", ["numbers", "two classes"])
def test_both_regimes_choose_alike(kind, rng, monkeypatch):
    """So few rows that all describe, gathered and from sums: leave-one-out values are the same."""
    model, X, y, _ = rows_of(kind, 300, rng)
    X, y = np.vstack([X, X[:40]]), np.concatenate([y, y[:40]])  # equal rows
    model.set_params(gamma=0.4)
    gathered = fitted(model, (RowBlocks(X, y),))
    monkeypatch.setattr("psvm.estimators._fit_blocks.MOST", 0)
    summed = fitted(model, (RowBlocks(X, y),))
    assert hasattr(summed, "sums_") and not hasattr(gathered, "sums_")
    assert summed.epsilon_ == pytest.approx(gathered.epsilon_, rel=1e-6)
    assert summed.n_support_ == gathered.n_support_ > 5
    assert_allclose(values_of(summed, X), values_of(gathered, X), rtol=0, atol=1e-6)
    assert summed.loo_error_ == pytest.approx(gathered.loo_error_, rel=1e-6)


def test_the_leave_one_out_error_of_pairs_is_that_of_other_rows(rng):
    """Of 9,000 rows some are judged; 20,000 others have the same share of wrong labels."""
    X = rng.normal(size=(29_000, 2))
    r = np.hypot(*X.T) + 0.3 * rng.normal(size=len(X))
    y = np.digitize(r, [0.6, 1.1, 1.8])
    model = PSVC().fit(X[:9000], y[:9000])
    assert hasattr(model, "sums_")
    error = np.mean(model.predict(X[9000:]) != y[9000:])
    # About 4,000 rows are known: three standard errors.
    assert model.loo_error_ == pytest.approx(error, abs=3 * np.sqrt(error * (1 - error) / 2000))


def test_a_draw_of_rows_takes_the_same_of_fewer(rng):
    """So that a row that one pair of classes judges is judged by others as well."""
    hashes = np.unique(row_hashes(rng.normal(size=(9000, 2))))
    drawn = hashes[drawn_hashes(hashes, 2000)]
    assert len(drawn) == 2000 and (np.diff(drawn.astype(float)) > 0).all()
    some = hashes[rng.random(9000) < 0.5]
    of_some = some[drawn_hashes(some, 2000)]
    assert set(drawn) & set(some) <= set(of_some)
    assert len(of_some) == POLICY.judged
    # As many of the smallest, which describe, as of the others.
    share = np.mean(drawn < np.sort(hashes)[3000])
    assert share == pytest.approx(1 / 3, abs=4 * np.sqrt(2 / 9 / 2000))


def test_few_wide_rows_are_in_memory_together(rng):
    """A sample of wide rows may have fewer of them, but no fewer than describe."""
    X = rng.normal(size=(900, 12_000))
    y = X[:, 0] + X[:, 1] > 0
    survey = RowSurvey.of(X, y, labels=True)
    assert survey.bound is None and survey.n_distinct == 900


def test_many_equal_rows_are_one_with_their_weight(rng):
    """More rows than a sample has, few of them distinct."""
    X = rng.integers(0, 12, size=(30_000, 2)).astype(float)
    y = X[:, 0] - X[:, 1] + 4 * rng.normal(size=30_000) > 0
    distinct, place = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    weights = np.bincount(place.ravel()).astype(float)
    model = PSVC().fit(X, y)
    other = PSVC().fit(distinct[:, :2], distinct[:, 2] > 0, weights)
    blocks = PSVC().fit(RowBlocks(cut(X, y, None, 777)))
    for one in (other, blocks):
        assert_allclose(one.epsilon_, model.epsilon_, rtol=1e-6)
        assert_allclose(one.decision_function(X[:99]), model.decision_function(X[:99]), atol=1e-6)
        assert one.loo_error_ == pytest.approx(model.loo_error_, rel=1e-9)
    # The rows of the sample are not the user's: nothing speaks of their places.
    for one in (model, blocks):
        assert one.landmarks_ is None and not hasattr(one, "loo_decision_")
    assert names(model) == names(blocks)


def test_single_precision_is_widened_in_every_container(rng):
    X = (100 + rng.normal(size=(300, 2))).astype(np.float32)
    y = np.hypot(*(X - 100).T) > 1
    whole, blocks = PSVC().fit(X, y), PSVC().fit(RowBlocks(cut(X, y, None, 50)))
    assert blocks.epsilon_ == pytest.approx(whole.epsilon_, rel=1e-9)
    assert_allclose(blocks.decision_function(X), whole.decision_function(X), atol=1e-9)


def test_a_fit_leaves_nothing_of_the_last_one(rng):
    _, X, y, _ = rows_of("two classes", 2600, rng)
    model = PSVC(probability=True).fit(X, y)
    few = clone(model).fit(X[:200], y[:200])
    assert names(few) - names(model) == {"loo_decision_"}
    assert names(model.set_params(probability=False).fit(X[:200], y[:200])) == names(few) - {
        "calibration_"
    }
    X, y = load_iris(return_X_y=True)
    assert "solution_" not in names(model.fit(X, y))


def test_sparse_rows_are_summed_as_dense_ones(rng):
    X = rng.normal(size=(2600, 8)) * (rng.random((2600, 8)) < 0.4)
    y = X[:, 0] - X[:, 3] + 0.2 * rng.normal(size=2600) > 0
    model = PSVC(kernel="rbf", standardize=True)
    dense, sparse = clone(model).fit(X, y), clone(model).fit(sp.csr_array(X), y)
    assert hasattr(sparse, "sums_")
    assert sparse.epsilon_ == pytest.approx(dense.epsilon_, rel=1e-6)
    assert_allclose(sparse.decision_function(X), dense.decision_function(X), atol=1e-5)


def test_what_needs_all_rows_has_them(rng):
    """A solver, a start and several labels of a row are for rows in memory."""
    _, X, y, _ = rows_of("two classes", 2100, rng)
    given = {"epsilon": 0.3, "epsilon_unit": "max"}
    for model in (
        PSVC(solver=WorkingSet(), **given),
        PSVC(warm_start=True, **given),
        PSVC(landmarks="all", **given),
    ):
        assert not hasattr(model.fit(X, y), "sums_")
    labels = np.column_stack([y == "far", X[:, 0] > 0]).astype(int)
    assert not hasattr(PSVC(landmarks=9, random_state=0, **given).fit(X, labels), "sums_")
    assert hasattr(PSVC(**given).fit(X, y), "sums_")


def test_kernels_of_other_objects_are_refused_before_a_row_is_read():
    def unread():
        raise AssertionError("a row was asked for")

    with pytest.raises(ValueError, match="vectors, which Spectrum"):
        PSVC(kernel=Spectrum(3)).fit(RowBlocks(unread))


@pytest.mark.parametrize("epsilon", ["cv", "aicc", 1e-4])
def test_small_epsilons_have_a_certificate(epsilon, rng):
    """The exact method may stall on its way from 0 to a small epsilon; a walk goes step by step."""
    X = rng.normal(size=(2600, 3))
    options = {"epsilon": epsilon, "epsilon_unit": "max"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PSVC(**options).fit(X, np.digitize(X[:, 0], [-1, 0, 1]))
        model = PSVR(**options).fit(X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2)
    K = model.plan_.columns(X)
    K = (K - K.mean(axis=0)) / model.column_norms_
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    F = K.T @ (K @ model.alpha_ - (y - y.mean()))
    used = model.alpha_ != 0
    epsilon = model.epsilon_
    # Its tolerance, and what a residual of 2,600 rows has of rounding.
    allowed = 1e-3 * epsilon + 1e-12 * np.abs(K.T @ (y - y.mean())).max()
    assert np.abs(F).max() <= epsilon + allowed
    assert np.abs(F + epsilon * np.sign(model.alpha_))[used].max() <= allowed


def test_features_keep_their_names(rng):
    pandas = pytest.importorskip("pandas")
    _, X, y, _ = rows_of("two classes", 2100, rng)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = PSVC(epsilon=0.3, epsilon_unit="max").fit(frame, y)
    assert hasattr(model, "sums_") and model.feature_names_in_.tolist() == ["a", "b", "c"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame)


def test_sums_without_a_sample_have_no_leave_one_out_error(rng):
    X = rng.normal(size=(200, 3))
    plan = MomentsPlan.make(PSVR(kernel="dyadic"), RowSurvey.of(X, X[:, 0], labels=False))
    model = fit_moments(PSVR(kernel="dyadic"), plan, plan.moments(X, X[:, 0]))
    assert not hasattr(model, "loo_error_")
