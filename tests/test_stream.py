"""Fits to rows that are read block by block."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap
import time
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
import reference
from psvm import PSVC, PSVR, FoldMoments, MomentsPlan, RowBlocks, RowSurvey, fit_moments
from psvm.estimators import check_psvm
from psvm.estimators._moments_groups import groups_of
from psvm.kernels import RBF, Rescaled
from psvm.matrix import row_hashes

CLOSE = {"rtol": 0, "atol": 1e-10}
"""Sums in another order differ by rounding. With a given epsilon that is not too small, the
solution differs by that times the condition of the products, which is moderate here."""
FIXED = {"epsilon": 0.02, "epsilon_unit": "max"}


@pytest.fixture(autouse=True)
def sums(monkeypatch):
    """Rows are summed, however few they are."""
    monkeypatch.setattr("psvm.estimators._fit_blocks.MOST", 0)


def moons(n=600, seed=0):
    X, y = make_moons(n, noise=0.25, random_state=seed)
    return X, np.array(["low", "high"])[y]


def cut(X, y, weights=None, step=70):
    parts = (X, y) if weights is None else (X, y, weights)
    return [tuple(part[i : i + step] for part in parts) for i in range(0, X.shape[0], step)]


def plan_and_sums(model, X, y, weights=None, **options):
    labels = isinstance(model, PSVC)
    plan = MomentsPlan.make(model, RowSurvey.of(X, y, weights, labels=labels), **options)
    return plan, plan.moments(X, y, weights)


def naive_K(plan, X):
    """Kernel values as the plan means them, one by one."""
    if plan.kernel is None:
        return np.asarray(X, dtype=float)
    squares = np.square(X[:, None] - plan.objects[None]).sum(axis=2)
    return np.exp(-plan.kernel.gamma * squares)


# Rows in blocks


def test_sources_give_the_same_rows(tmp_path):
    X, y = moons(100)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    sources = [
        RowBlocks(X, y, memory=1e-3),
        RowBlocks(mapped, y, memory=1e-3),
        RowBlocks(X.tolist(), y.tolist()),
        RowBlocks(np.asfortranarray(X), y),
        RowBlocks(cut(X, y)),
        RowBlocks(lambda: iter(cut(X, y))),
        RowBlocks(iter(cut(X, y))),
    ]
    for source in sources:
        blocks = list(source)
        assert_array_equal(np.concatenate([block.X for block in blocks]), X)
        assert_array_equal(np.concatenate([block.y for block in blocks]), y)
    assert [source.rereadable for source in sources] == [True] * 6 + [False]
    assert len(list(sources[0])) > 1
    with pytest.raises(ValueError, match="read already"):
        list(sources[-1])


def test_sparse_blocks_are_the_dense_ones(rng):
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.3)
    y = X[:, 0] - 2 * X[:, 3] + 0.1 * rng.normal(size=300)
    assert_array_equal(row_hashes(sp.csr_array(X)), row_hashes(X))
    for model in (
        PSVR(kernel="dyadic", **FIXED),
        PSVR(kernel="rbf", landmarks="random", n_landmarks=40, **FIXED),
    ):
        dense = clone(model).fit(RowBlocks(X, y))
        sparse = clone(model).fit(RowBlocks(sp.csr_array(X), y, memory=1e-3))
        assert_allclose(sparse.predict(X), dense.predict(X), **CLOSE)


def test_data_frames_name_the_features():
    pandas = pytest.importorskip("pandas")
    X, y = moons(80)
    frame = pandas.DataFrame(X, columns=["left", "right"])
    model = PSVC(kernel="dyadic").fit(RowBlocks(frame, pandas.Series(y), memory=1e-3))
    assert model.feature_names_in_.tolist() == ["left", "right"]
    assert list(model.support_objects_) == ["left", "right"]
    assert_array_equal(
        model.predict(frame), PSVC(kernel="dyadic").fit(RowBlocks(frame, y)).predict(frame)
    )


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(np.ones((3, 2)), [0, 1, 0]), (np.array([[1, 2], [np.nan, 1]]), [0, 1])],
         r"block 2 \(rows 4 to 5\): there is NaN or infinity in row 2 of the block, column 1"),
        ([(np.ones((3, 2)), [0, 1, 0]), (np.ones((2, 3)), [0, 1])], r"block 2 .*3 columns, but 2"),
        ([(np.ones((3, 2)), [0, 1])], r"block 1 .*y has the shape"),
        ([(np.ones((3, 2)), [0, 1, 1], [1, -1, 1])], r"block 1 .*sample_weight"),
        ([np.ones((3, 2))], "blocks must be tuples"),
        ([], "no rows"),
        ([(np.ones((3, 2)), [0, 0, 0])], "greater than one"),
    ],
)  # fmt: skip
def test_errors_name_the_block(blocks, message):
    with pytest.raises((ValueError, TypeError), match=message):
        PSVC().fit(RowBlocks(blocks))


def test_bad_sparse_entries_are_named():
    X = sp.csr_array(np.array([[0.0, 1.0], [0.0, np.inf]]))
    with pytest.raises(ValueError, match=r"rows 1 to 2: .* row 2 of the block, column 2"):
        list(RowBlocks(X, [0, 1]))


def test_what_row_blocks_refuse():
    X, y = moons(20)
    for arguments, message in (
        ((X,), "needs a matrix X with y"),
        ((cut(X, y), None, np.ones(20)), "belong in the blocks"),
        ((X, y[:3]), "y has the shape"),
    ):
        with pytest.raises(ValueError, match=message):
            RowBlocks(*arguments)
    with pytest.raises(TypeError, match="RowBlocks takes"):
        RowBlocks(3)
    with pytest.raises(ValueError, match="use fit\\(blocks\\)"):
        PSVC().fit(RowBlocks(X, y), y)
    for model, message in (
        (PSVC(kernel="precomputed"), "precomputed"),
        (PSVC(kernel="rbf", landmarks="all"), "landmarks='all'"),
        (PSVC(kernel=psvm.kernels.Spectrum(3)), "does not take"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(RowBlocks(X, y))


# Sums


def test_sums_are_the_moments_of_the_folds():
    X, y = moons()
    weights = np.random.default_rng(2).integers(0, 3, len(X)).astype(float)
    plan, sums = plan_and_sums(PSVC(kernel="rbf", landmarks=10, random_state=0), X, y, weights)
    K, folds = naive_K(plan, X), plan.folds_of(X)
    target = np.where(y == plan.classes[1], 1.0, -1.0)
    assert sums.n_rows == np.count_nonzero(weights)
    assert len(set(folds)) == 5
    for fold, part in enumerate(sums.folds):
        rows = (folds == fold) & (weights > 0)
        w = weights[rows]
        mean = w @ K[rows] / w.sum()
        assert_allclose(part.means, mean, rtol=1e-12)
        products = (K[rows] - mean).T @ (w[:, None] * (K[rows] - mean))
        assert_allclose(part.products, products, rtol=0, atol=1e-11 * np.abs(products).max())
        assert part.target_means[0] == pytest.approx(w @ target[rows] / w.sum(), abs=1e-12)
    assert sums.total.weight == pytest.approx(weights.sum())


def test_equal_rows_share_a_fold_and_landmarks_have_none():
    X, y = moons(200)
    plan, sums = plan_and_sums(
        PSVC(kernel="rbf", landmarks="random", n_landmarks=20), np.vstack([X, X]), np.hstack([y, y])
    )
    folds = plan.folds_of(np.vstack([X, X]))
    assert_array_equal(folds[:200], folds[200:])
    landmarks = {tuple(z) for z in plan.objects}
    assert_array_equal(folds[:200] == 5, [tuple(x) in landmarks for x in X])
    assert [part.weight for part in sums.rest] == [40]


def test_the_survey_does_not_depend_on_blocks(rng):
    X, y = moons(500)
    X = np.vstack([X, X[:50]])  # equal rows
    y = np.hstack([y, y[:50]])
    whole, order = RowSurvey.of(X, y, labels=True), rng.permutation(len(X))
    parts = sum(RowSurvey.of(*part, labels=True) for part in cut(X[order], y[order]))
    assert_array_equal(parts.sample.hashes, whole.sample.hashes)
    assert_array_equal(parts.sample.X, whole.sample.X)
    assert_allclose(parts.sample.weights, whole.sample.weights)
    assert_allclose(parts.means, X.mean(axis=0), rtol=1e-12)
    assert_allclose(parts.variances, X.var(axis=0), rtol=1e-12)
    assert_array_equal(parts.classes, ["high", "low"])


def test_samples_are_cut_alike_in_any_order(rng, monkeypatch):
    monkeypatch.setattr("psvm.estimators._row_survey.SAMPLE", 40)
    X, y = rng.integers(0, 30, size=(300, 1)).astype(float), rng.integers(0, 4, 300).astype(float)
    whole = RowSurvey.of(X, y, labels=False)
    assert whole.bound is not None
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(300)
        parts = sum(RowSurvey.of(*part, labels=False) for part in cut(X[order], y[order], step=17))
        assert parts.bound == whole.bound
        assert_array_equal(parts.sample.X, whole.sample.X)
        assert_allclose(parts.sample.weights, whole.sample.weights)


def test_plans_are_pickled_and_have_keys():
    X, y = moons()
    plan, sums = plan_and_sums(PSVC(kernel="rbf", landmarks="random"), X, y)
    copy = pickle.loads(pickle.dumps(plan))
    assert copy.key == plan.key
    assert (copy.moments(X, y) + sums).n_rows == 2 * len(X)
    other, _ = plan_and_sums(PSVC(kernel="rbf", landmarks="random", gamma=0.3), X, y)
    assert other.key != plan.key
    with pytest.raises(ValueError, match="different plans"):
        other.moments(X, y) + sums
    with pytest.raises(ValueError, match="another plan"):
        fit_moments(PSVC(), other, sums)
    with pytest.raises(ValueError, match="none of the 2 classes"):
        plan.moments(X[:2], ["low", "middle"])


# Models


@pytest.mark.parametrize(
    "model",
    [
        PSVC(kernel="rbf", landmarks="random", n_landmarks=30, **FIXED),
        PSVC(kernel="rbf", landmarks="random", n_landmarks=30, C=3.0, **FIXED),
        PSVC(kernel="dyadic", **FIXED),
        PSVC(
            landmarks="random", n_landmarks=30, class_weight="balanced", threshold="mean", **FIXED
        ),
    ],
)
def test_any_blocks_in_any_order_give_the_same_model(model, rng):
    X, y = moons()
    rows, weights = rng.permutation(len(X)), rng.random(len(X)) + 0.5
    whole = clone(model).fit(RowBlocks(X, y, weights))
    parts = clone(model).fit(RowBlocks(cut(X[rows], y[rows], weights[rows])))
    once = clone(model).fit(RowBlocks(iter(cut(X[rows], y[rows], weights[rows]))))
    assert_allclose(parts.decision_function(X), whole.decision_function(X), **CLOSE)
    assert_allclose(once.decision_function(X), whole.decision_function(X), **CLOSE)
    assert whole.solution_.source == parts.solution_.source == "rows"
    assert once.solution_.source == "moments"
    assert 0 < once.solution_.rounding < 1e-6


def test_weight_two_is_the_row_twice(rng):
    X, y = moons(300)
    times = rng.integers(0, 3, len(X))
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=30, probability=True, **FIXED)
    weighted = clone(model).fit(RowBlocks(X, y, times.astype(float)))
    repeated = clone(model).fit(RowBlocks(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert_allclose(weighted.decision_function(X), repeated.decision_function(X), **CLOSE)
    assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=0, atol=1e-8)


@pytest.mark.parametrize("C", [np.inf, 2.0])
def test_the_solution_is_that_of_an_independent_solver(C, rng):
    X, y = moons(200)
    weights = rng.random(len(X)) + 0.5
    model = PSVC(
        kernel="rbf", landmarks=25, random_state=0, epsilon=0.05, epsilon_unit="max", C=C, tol=1e-6
    )
    model.fit(RowBlocks(X, y, weights))
    K = naive_K(model.plan_, X)
    target = np.where(y == "low", 1.0, -1.0)
    K_s, y_c, *_ = reference.standardise(K, target, weights)
    epsilon = model.epsilon_
    alpha = reference.cvxpy_solve(K_s, y_c, C, epsilon)
    least = reference.objective(K_s, y_c, alpha, epsilon)
    mine = reference.objective(K_s, y_c, model.solution_.alpha, epsilon)
    assert mine <= least + 1e-6 * abs(least)
    F = reference.gradient(K_s, y_c, model.solution_.alpha)
    assert reference.violation(model.solution_.alpha, F, C, epsilon).max() <= 2e-6 * epsilon
    assert_allclose(model.solution_.F, F, rtol=0, atol=1e-9 * np.abs(y_c).sum())
    gap = reference.duality_gap(K_s, y_c, model.solution_.alpha, C, epsilon)
    assert model.dual_gap_ == pytest.approx(gap, rel=1e-3, abs=1e-8)
    assert model.epsilon_ == pytest.approx(0.05 * np.abs(K_s.T @ y_c).max())


def test_both_certificates_agree():
    X, y = moons()
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=30, **FIXED)
    plan, sums = plan_and_sums(model, X, y)
    of_sums = fit_moments(clone(model), plan, sums).solution_
    of_rows = fit_moments(clone(model), plan, sums, blocks=RowBlocks(X, y)).solution_
    assert (of_sums.source, of_rows.source) == ("moments", "rows")
    assert np.abs(of_sums.F - of_rows.F).max() <= of_sums.rounding
    assert of_sums.objective == pytest.approx(of_rows.objective, rel=1e-10)


@pytest.mark.parametrize("C", [np.inf, 6.0])
def test_losses_of_folds_are_those_of_models_without_the_folds(C):
    """Each fold's model is fitted by the low-level solver to the rows of the others."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    y = X[:, 0] - X[:, 1] + rng.normal(size=400)
    model = PSVR(kernel="dyadic", C=C, epsilon=3.0)
    plan, sums = plan_and_sums(model, X, y)
    folds, errors = plan.folds_of(X), np.empty(400)
    for fold in range(5):
        out = folds == fold
        scale = np.sqrt(np.mean(~out))
        part = psvm.solve(X[~out], y[~out], scale * C, epsilon=3.0 * scale, tol=1e-10)
        errors[out] = y[out] - X[out] @ part.coef - part.intercept
        assert np.isinf(C) or np.abs(part.alpha).max() == scale * C
    (group,) = groups_of(model, plan, sums, None, check_psvm(model))
    source, loss = group.machine.folds()
    (point,) = source.points(np.array([3.0]))
    share = np.bincount(folds) / 400
    means = np.bincount(folds, errors) / np.bincount(folds)
    assert_allclose(point.values[0], np.bincount(folds, errors**2) / np.bincount(folds), rtol=1e-6)
    assert_allclose(point.values[1], means, rtol=0, atol=1e-6)
    # Without rows to judge, the constant is moved by the part of the mean residual that is certain.
    shift = errors.mean()
    shift *= max(1 - share**2 @ (means - shift) ** 2 / shift**2, 0.0)
    assert fit_moments(model, plan, sums).offset_ == pytest.approx(y.mean() + shift, abs=1e-6)
    assert loss.mean(loss(point.values)[0]) == pytest.approx(
        np.mean((errors - shift) ** 2), rel=1e-6
    )


@pytest.mark.parametrize("kind", [PSVC, PSVR])
def test_epsilon_is_chosen_by_rows_that_are_left_out(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, 30))
    y = X[:, :3].sum(axis=1) + rng.normal(size=2500)
    y = y > 0 if kind is PSVC else y
    model = kind(kernel="dyadic").fit(RowBlocks(X, y))
    assert {0, 1, 2} <= set(model.support_)
    best = min(
        kind(kernel="dyadic", epsilon=e, epsilon_unit="max").fit(RowBlocks(X, y)).loo_error_
        for e in 10.0 ** -np.arange(0, 4, 0.25)
    )
    assert model.loo_error_ <= 1.05 * best


def test_the_leave_one_out_error_is_that_of_fits_without_each_row(rng):
    """Rows that describe take their column with them; 40 distinct rows, some of them twice."""
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=40)
    weights = np.where(np.arange(40) < 6, 2.0, 1.0)
    model = PSVR(gamma=0.5, epsilon=0.3).fit(RowBlocks(X, y, weights))
    objects = model.plan_.objects
    assert len(objects) == 40 and model.n_support_ > 5
    support = set(map(tuple, model.support_objects_))
    errors = np.zeros(40)
    for i in range(40):
        rows = np.arange(40) != i
        kept = np.array([z for z in objects if tuple(z) in support and tuple(z) != tuple(X[i])])
        K, k = (model._kernel(Z, kept) for Z in (X[rows], X[i : i + 1]))
        # With the support and its signs as they are the solution is linear: the same epsilon.
        alpha = {
            tuple(z): a for z, a in zip(objects, model.alpha_ / model.column_norms_, strict=True)
        }
        norms = {tuple(z): s for z, s in zip(objects, model.column_norms_, strict=True)}
        signs = np.array(
            [model.epsilon_ * np.sign(alpha[tuple(z)]) * norms[tuple(z)] for z in kept]
        )
        w = weights[rows]
        D = np.column_stack([np.ones(39), K])
        right = D.T @ (w * y[rows]) - np.append(0.0, signs)
        theta = np.linalg.solve(D.T @ (w[:, None] * D), right)
        errors[i] = y[i] - np.append(1.0, k[0]) @ theta
    shift = model.offset_ - np.average(y, weights=weights)
    expected = np.average((errors - shift) ** 2, weights=weights)
    assert model.loo_error_ == pytest.approx(expected, rel=1e-6)


def test_several_classes_share_their_support():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    options = {"kernel": "rbf", "n_landmarks": 40, "landmarks": "random", "multi_class": "shared"}
    model = PSVC(**options, probability=True).fit(RowBlocks(X, names))
    assert model.score(X, names) > 0.94
    assert model.alpha_.shape == (3, 40)
    assert model.solutions_[0].source == "rows"
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    K = naive_K(model.plan_, X)
    columns = [reference.standardise(K, np.where(names == c, 1.0, -1.0)) for c in model.classes_]
    K_s, Y = columns[0][0], np.column_stack([column[1] for column in columns])
    A, epsilon = model.solutions_[0].A, model.solutions_[0].epsilon
    F = K_s.T @ (K_s @ A - Y)
    assert_allclose(model.solutions_[0].F, F, rtol=0, atol=1e-9)
    outside = np.linalg.norm(F[~A.any(axis=1)], axis=1)
    assert outside.max(initial=0.0) <= (1 + 1e-4) * epsilon
    single = PSVC(kernel="rbf", n_landmarks=40, landmarks="random", multi_class="ovr").fit(
        RowBlocks(X, names)
    )
    assert single.score(X, names) > 0.94 and len(single.solutions_) == 3


def test_pairs_of_classes_have_the_solutions_of_their_rows(rng):
    """Landmarks of both classes only, and rows of both classes only."""
    X, y = load_iris(return_X_y=True)
    weights = rng.random(len(X)) + 0.5
    options = {"epsilon": 0.05, "epsilon_unit": "max", "gamma": 0.1, "threshold": "mean"}
    model = PSVC(**options).fit(RowBlocks(cut(X, y, weights)))
    K, objects = naive_K(model.plan_, X), model.plan_.object_classes
    assert len(objects) == len(np.unique(X, axis=0)) and model.alpha_.shape == (3, len(objects))
    for place, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows, columns = np.isin(y, [i, j]), np.isin(objects, [i, j])
        assert not model.alpha_[place][~columns].any()
        target = np.where(y[rows] == j, 1.0, -1.0)
        K_s, y_c, *_ = reference.standardise(K[np.ix_(rows, columns)], target, weights[rows])
        epsilon = model.epsilon_[place]
        assert epsilon == pytest.approx(0.05 * np.abs(K_s.T @ y_c).max())
        alpha = model.alpha_[place][columns]
        assert 0 < np.count_nonzero(alpha) < columns.sum()
        gap = reference.duality_gap(K_s, y_c, alpha, np.inf, epsilon)
        assert gap <= 1e-6 * (y_c @ y_c)
        assert model.offset_[place] == pytest.approx(np.average(target, weights=weights[rows]))


def test_several_outputs_have_a_machine_each(rng):
    X = rng.normal(size=(300, 5))
    Y = np.column_stack([X[:, 0], 2 * X[:, 3] - X[:, 1]]) + 0.1 * rng.normal(size=(300, 2))
    model = PSVR(kernel="dyadic", **FIXED).fit(RowBlocks(X, Y, memory=1e-3))
    for i in range(2):
        single = PSVR(kernel="dyadic", **FIXED).fit(RowBlocks(X, Y[:, i]))
        assert_allclose(model.predict(X)[:, i], single.predict(X), **CLOSE)


def test_standardised_features_are_those_of_a_scaler(rng):
    X, y = moons(400)
    X = X * [1.0, 1000.0] + [0.0, 5.0]
    model = PSVC(kernel="rbf", landmarks=X[:30], gamma=0.7, standardize=True, **FIXED)
    model.fit(RowBlocks(cut(X, y)))
    scaler = StandardScaler().fit(X)
    scaled = PSVC(kernel="rbf", landmarks=scaler.transform(X[:30]), gamma=0.7, **FIXED)
    scaled.fit(RowBlocks(scaler.transform(X), y))
    # Folds depend on the rows, which are scaled: the thresholds differ.
    assert_allclose(model.solution_.alpha, scaled.solution_.alpha, rtol=0, atol=1e-7)
    assert model.plan_.kernel == Rescaled(RBF(0.7), scaler.scale_, scaler.mean_) or np.allclose(
        model.plan_.kernel.scale, scaler.scale_, rtol=1e-12
    )
    both = make_pipeline(scaler, scaled)
    difference = model.decision_function(X) - both.decision_function(X)
    assert np.ptp(difference) < 1e-7
    auto = PSVC(kernel="rbf", standardize=True, landmarks="random").fit(RowBlocks(X, y))
    assert auto._kernel.kernel.gamma == pytest.approx(1 / 2)


def test_a_loaded_model_predicts_the_same(tmp_path):
    X, y = moons(300)
    model = PSVC(kernel="rbf", standardize=True, landmarks=30, random_state=0, probability=True)
    model.fit(RowBlocks(X, y))
    psvm.save(model, tmp_path / "m.psvm")
    loaded = psvm.load(tmp_path / "m.psvm")
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert not hasattr(loaded, "sums_")
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_lost_digits_are_told():
    rng = np.random.default_rng(0)
    x = rng.normal(size=500)
    K = np.column_stack([x, x + 1e-9 * rng.normal(size=500), rng.normal(size=500)])
    y = (K[:, 1] - K[:, 0]) * 1e9
    model = PSVR(kernel="dyadic", epsilon=1e-12)
    plan, sums = plan_and_sums(model, K, y)
    with pytest.warns(ConvergenceWarning) as warned:
        fit_moments(model, plan, sums)
    assert any("lost the digits" in str(warning.message) for warning in warned)


def test_a_triangular_factor_keeps_the_digits():
    """Columns that differ by 1e-7 have products that differ by 1e-14: sums cannot tell them."""
    rng = np.random.default_rng(0)
    x, d = rng.normal(size=(2, 2000))
    K = np.column_stack([x, x + 1e-7 * d, rng.normal(size=2000)])
    y = d + 0.5 * K[:, 2] + 0.1 * rng.normal(size=2000)
    options = {"kernel": "dyadic", "epsilon": 1e-8, "threshold": "mean"}
    K_s, y_c, *_ = reference.standardise(K, y)

    def objective(alpha):
        return reference.objective(K_s, y_c, alpha, 1e-8)

    blocks = RowBlocks(cut(K, y, step=300))
    with pytest.warns(ConvergenceWarning) as warned:
        plain = PSVR(**options).fit(blocks)
    assert any("qr=True" in str(warning.message) for warning in warned)
    plan = plain.plan_
    with warnings.catch_warnings():  # the residual itself has no more digits
        warnings.simplefilter("ignore", ConvergenceWarning)
        refined = PSVR(**options).fit(RowBlocks(cut(K, y, step=300), qr=True))
        model = fit_moments(PSVR(**options), plan, plain.sums_, factor=plan.factor(blocks))
    # Least squares minimise all but the penalty, which is a share of 1e-2 here.
    bound = objective(np.linalg.lstsq(K_s, y_c, rcond=None)[0])
    assert objective(plain.solution_.alpha) > 0.5 * bound
    assert objective(refined.solution_.alpha) <= bound + 1e-6 * abs(bound)
    assert objective(model.solution_.alpha) <= bound + 1e-6 * abs(bound)
    assert (model.solution_.source, refined.solution_.source) == ("factor", "rows")
    with pytest.raises(ValueError, match="iterator does not allow"):
        PSVR(**options).fit(RowBlocks(iter(cut(K, y)), qr=True))


@pytest.mark.parametrize("C", [np.inf, 10.0])
def test_a_refined_solution_is_the_solution(C, rng):
    """From a support that is not quite right."""
    K = rng.normal(size=(60, 8))
    y = K[:, 0] - 2 * K[:, 3] + rng.normal(size=60)
    K_s, y_c, *_ = reference.standardise(K, y)
    expected = psvm.solve(K, y, C, epsilon=1.0, tol=1e-12).alpha
    assert 0 < np.count_nonzero(expected) < 8
    start = expected.copy()
    start[np.argmin(np.where(start == 0, np.inf, np.abs(start)))] = 0.0
    alpha, F, r = psvm.solvers.refine(K_s, y_c, start, C, 1.0)
    assert_allclose(alpha, expected, rtol=0, atol=1e-8)
    assert_allclose(F, reference.gradient(K_s, y_c, alpha), rtol=0, atol=1e-10)
    assert_allclose(r, y_c - K_s @ alpha, rtol=0, atol=1e-10)


def test_factors_of_blocks_add_up(rng):
    X, y = moons(300)
    weights = rng.random(300)
    plan, sums = plan_and_sums(
        PSVC(kernel="rbf", landmarks="random", n_landmarks=10), X, y, weights
    )
    whole = plan.factor(cut(X, y, weights, step=300))
    parts = sum(plan.factor([part]) for part in cut(X, y, weights))
    products = whole.R.T @ whole.R
    assert_allclose(parts.R.T @ parts.R, products, rtol=0, atol=1e-11 * products.max())
    again = psvm.Moments.of(*whole.equivalent_rows())
    assert_allclose(again.cross, sums.total.cross, rtol=0, atol=1e-11 * products.max())


# Adding and taking away


def test_partial_fit_is_fit_to_all():
    X, y = moons(900)
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=30, **FIXED)
    for part in cut(X, y, step=300):
        model.partial_fit(*part)
    plan = model.plan_
    whole = fit_moments(
        clone(model), plan, plan.moments(X, y), survey=RowSurvey.of(X, y, labels=True)
    )
    assert_allclose(model.decision_function(X), whole.decision_function(X), **CLOSE)
    assert model.sums_.n_rows == 900


def test_forgotten_rows_leave_no_trace(rng):
    X, y = moons(900)
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=30, probability=True, **FIXED)
    model.partial_fit(X[:600], y[:600])
    before = model.decision_function(X), model.predict_proba(X)
    model.partial_fit(X[600:], y[600:])
    assert np.abs(model.decision_function(X) - before[0]).max() > 1e-3
    model.forget(X[600:], y[600:])
    assert_allclose(model.decision_function(X), before[0], rtol=0, atol=1e-8)
    assert_allclose(model.predict_proba(X), before[1], rtol=0, atol=1e-6)
    with pytest.raises(ValueError, match="can forget"):
        PSVC(kernel="rbf", landmarks="all").fit(X, y).forget(X, y)


def test_classes_that_come_later():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(np.flatnonzero(y < 2))
    model = PSVC(kernel="rbf", landmarks="random", multi_class="ovr", **FIXED)
    with pytest.raises(ValueError, match="no rows with weight"):
        model.partial_fit(X[order], y[order], classes=[0, 1, 2])
    model = PSVC(kernel="rbf", landmarks="random", **FIXED)
    with pytest.raises(ValueError, match="none of the 2 classes"):
        model.partial_fit(X[order], y[order]).partial_fit(X[y == 2], y[y == 2])


def test_groups_of_rows_are_folds():
    X, y = moons(600)
    plan, _ = plan_and_sums(PSVC(kernel="rbf", landmarks="random", n_landmarks=20), X, y)
    sites = [plan.moments(*part) for part in cut(X, y, step=200)]
    by_site = FoldMoments.by_group(sites)
    assert [part.weight for part in by_site.folds] == [200.0] * 3
    assert_allclose(by_site.total.cross, sum(sites).total.cross, rtol=0, atol=1e-10)
    fitted = fit_moments(PSVC(**FIXED), plan, by_site)
    pooled = fit_moments(PSVC(**FIXED), plan, plan.moments(X, y))
    assert_allclose(fitted.alpha_, pooled.alpha_, **CLOSE)
    with pytest.raises(ValueError, match="two or more"):
        FoldMoments.by_group(sites[:1])


# Interrupted fits

CHILD = """
    import sys, time
    import numpy as np
    from psvm import PSVC, RowBlocks
    import psvm.estimators._checkpoint as checkpoint
    checkpoint.SECONDS = 0.0

    def blocks():
        for seed in range(8):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(8192, 2))
            if sys.argv[2] == "slow" and blocks.passes and seed > 3:
                time.sleep(0.5)
            yield X, (X[:, 0] * X[:, 1] > 0).astype(int)
        blocks.passes += 1

    blocks.passes = 0
    model = PSVC(landmarks=8, epsilon=1.0).fit(RowBlocks(blocks, checkpoint=sys.argv[1]))
    np.savez(sys.argv[3], alpha=model.alpha_, b=model.intercept_)
"""


def run_child(path, speed, out):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(CHILD), str(path), speed, str(out)]
    return subprocess.Popen(command, env=environment)


def test_a_killed_fit_goes_on(tmp_path):
    """The centres of the clusters are random, and still those of the fit that was killed."""
    path = tmp_path / "fit.checkpoint"
    child = run_child(path, "slow", tmp_path / "never.npz")
    began = time.monotonic()
    while not path.exists():
        assert child.poll() is None and time.monotonic() - began < 120
        time.sleep(0.02)
    saved = path.read_bytes()
    while path.read_bytes() == saved:  # the next one
        assert child.poll() is None and time.monotonic() - began < 120
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    assert child.wait() != 0 and not (tmp_path / "never.npz").exists()
    stopped = path.read_bytes()
    results = []
    # The second one goes on where the killed fit was at first, and has to sum as much as it did.
    for content in (stopped, saved):
        path.write_bytes(content)
        assert run_child(path, "fast", tmp_path / "out.npz").wait() == 0
        results.append(dict(np.load(tmp_path / "out.npz")))
        assert not path.exists()
    assert_array_equal(results[0]["alpha"], results[1]["alpha"])
    assert_array_equal(results[0]["b"], results[1]["b"])


def test_a_checkpoint_that_cannot_be_written_is_told_before_any_row_is_read(tmp_path):
    def unread():
        raise AssertionError("a row was asked for")

    with pytest.raises(FileNotFoundError, match="no such directory"):
        PSVC().fit(RowBlocks(unread, checkpoint=tmp_path / "none" / "a.checkpoint"))
    with pytest.raises(TypeError, match="checkpoint must be"):
        PSVC().fit(RowBlocks(unread, checkpoint=3))


def test_checkpoints_are_checked(tmp_path, monkeypatch):
    monkeypatch.setattr("psvm.estimators._checkpoint.SECONDS", 0.0)
    monkeypatch.setattr("psvm.matrix._row_blocks.GATHERED", 1)
    X, y = moons(300)
    path = tmp_path / "a.checkpoint"
    model = PSVC(kernel="rbf", landmarks="random", n_landmarks=20, gamma=1.0, **FIXED)

    def broken():
        yield from cut(X, y)[:3]
        raise OSError("the disk is gone")

    passes = [broken(), cut(X, y)]  # the last one first
    with pytest.raises(OSError, match="disk is gone"):
        clone(model).fit(RowBlocks(lambda: iter(passes.pop()), checkpoint=path))
    good = path.read_bytes()
    resumed = clone(model).fit(RowBlocks(cut(X, y), checkpoint=path))
    assert not path.exists()
    assert_array_equal(resumed.alpha_, clone(model).fit(RowBlocks(cut(X, y))).alpha_)
    path.write_bytes(good[:-5])
    with pytest.raises(ValueError, match="damaged"):
        clone(model).fit(RowBlocks(cut(X, y), checkpoint=path))
    path.write_bytes(good)
    with pytest.raises(ValueError, match="other data or with other parameters"):
        clone(model).set_params(gamma=3.0).fit(RowBlocks(cut(X, y), checkpoint=path))
    with pytest.raises(ValueError, match="not those that"):
        clone(model).fit(RowBlocks(cut(X, y)[::-1], checkpoint=path))
    assert path.read_bytes() == good


def test_a_default_fit_warns_of_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=3000) > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PSVC().fit(RowBlocks(X, y, memory=0.02))
    assert model.score(X, y) > 0.8


# Other functions of blocks


def test_a_few_rows_have_the_moments_of_all(rng):
    K, y = rng.normal(size=(300, 5)) + 100.0, rng.normal(size=300)
    K[:, 3] = 7.0  # no variance
    K[:, 4] = K[:, 0] - K[:, 1]  # less rank
    moments = psvm.Moments.of(K, y, rng.random(300))
    K_e, Y_e, w_e = moments.equivalent_rows()
    assert len(K_e) <= 2 * 6
    again = psvm.Moments.of(K_e, Y_e, w_e)
    assert again.weight == pytest.approx(moments.weight)
    assert_allclose(again.means, moments.means, rtol=0, atol=1e-13)
    assert_allclose(again.cross, moments.cross, rtol=0, atol=1e-11 * np.abs(moments.cross).max())


def test_paths_and_solutions_of_blocks_are_those_of_the_rows(rng):
    K = rng.normal(size=(400, 12))
    y, weights = K[:, 2] - K[:, 7] + rng.normal(size=400), rng.random(400)
    blocks = RowBlocks(cut(K, y, weights))
    epsilons = [3.0, 1.0, 0.1]
    of_rows = psvm.epsilon_path(K, y, epsilons=epsilons, sample_weight=weights)
    of_blocks = psvm.epsilon_path(blocks, epsilons=epsilons)
    assert_allclose(of_blocks.alphas.toarray(), of_rows.alphas.toarray(), rtol=0, atol=1e-8)
    solution = psvm.solve(blocks, epsilon=1.0, tol=1e-10)
    expected = psvm.solve(K, y, epsilon=1.0, tol=1e-10, sample_weight=weights)
    assert_allclose(solution.coef, expected.coef, rtol=0, atol=1e-8)
    assert solution.intercept == pytest.approx(expected.intercept, abs=1e-8)
    with pytest.raises(ValueError, match="leave y out"):
        psvm.solve(blocks, y, epsilon=1.0)


@pytest.mark.parametrize("options", [{"epsilon": 5.0}, {"n_features": 4}])
@pytest.mark.parametrize("kind", ["numbers", "two classes", "three classes"])
def test_a_selector_of_blocks_selects_the_same(options, kind, rng):
    X = rng.normal(size=(500, 20))
    f = 3 * X[:, 4] - 2 * X[:, 9] + X[:, 15]
    cuts = {"numbers": f, "two classes": f > 0, "three classes": np.digitize(f, [-2, 2])}
    y = cuts[kind]
    whole = psvm.PSVMSelector(**options).fit(X, y)
    parts = psvm.PSVMSelector(**options).fit(RowBlocks(cut(X, y)))
    assert_array_equal(parts.get_support(), whole.get_support())
    assert_allclose(parts.alpha_, whole.alpha_, rtol=0, atol=1e-3)
    selected = whole.n_features_
    assert_array_equal(parts.order_[:selected], whole.order_[:selected])
    assert parts.transform(X).shape == (500, selected)


def test_a_selector_of_blocks_chooses_epsilon(rng):
    X = rng.normal(size=(1500, 20))
    y = 3 * X[:, 4] - 2 * X[:, 9] + rng.normal(size=1500)
    selector = psvm.PSVMSelector().fit(RowBlocks(X, y, memory=0.05))
    assert {4, 9} <= set(selector.get_support(indices=True))
    with pytest.raises(ValueError, match="without landmarks"):
        psvm.PSVMSelector(landmarks=5).fit(RowBlocks(X, y))


# Searches


@pytest.mark.parametrize("kind", [psvm.PSVCCV, psvm.PSVRCV])
def test_a_search_chooses_the_gamma_of_the_least_error(kind, rng):
    X = rng.uniform(-3, 3, size=(1500, 2))
    f = np.sin(2 * X[:, 0]) + np.cos(2 * X[:, 1])
    y = f + 0.3 * rng.normal(size=1500)
    y = np.where(y > 0, "up", "down") if kind is psvm.PSVCCV else y
    search = kind(kernel="rbf", landmarks="random", gammas=[0.001, 0.5, 50.0])
    search.fit(RowBlocks(X, y, memory=0.01))
    assert search.gamma_ == 0.5 == search.best_estimator_.gamma
    single = PSVC if kind is psvm.PSVCCV else PSVR
    alone = single(kernel="rbf", landmarks="random", gamma=0.5).fit(RowBlocks(X, y))
    assert_allclose(search.epsilon_, alone.epsilon_, rtol=1e-9)
    assert_array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.n_splits_ == 0


def test_a_search_goes_on_beyond_its_gammas(rng):
    X = rng.uniform(-3, 3, size=(2000, 1))
    y = np.sin(12 * X[:, 0]) + 0.1 * rng.normal(size=2000)
    search = psvm.PSVRCV(kernel="rbf", landmarks="random").fit(RowBlocks(X, y))
    assert len(search.gammas_) > 3 and search.gammas_[0] < search.gamma_
    assert search.score(X, y) > 0.9


def test_what_a_search_of_blocks_refuses():
    X, y = moons(100)
    for options, message in (
        ({"cv": [([0], [1])]}, "cv needs all rows"),
        ({"kernel": "dyadic", "gammas": [1.0]}, "has no gamma"),
    ):
        with pytest.raises(ValueError, match=message):
            psvm.PSVCCV(**options).fit(RowBlocks(X, y))
