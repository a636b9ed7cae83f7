"""Descriptive vectors that are not the training vectors, and kernels of other objects."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import Birch, KMeans
from sklearn.datasets import load_breast_cancer, make_moons
from sklearn.decomposition import NMF, PCA, FastICA
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import PSVC, PSVCCV, PSVR, WorkingSet, cross_val_error
from psvm.choice import Description
from psvm.estimators._landmarks import LARGE, MOST, find_landmarks, n_drawn
from psvm.kernels import RBF, Kernel, Linear, Spectrum, normalized
from psvm.matrix import as_matrix
from reference import AGAIN, assert_same_solution, decided

TIGHT = {"tol": 1e-9}


@parametrize_with_checks(
    [
        PSVC(landmarks="kmeans", random_state=0),
        PSVR(landmarks="random", n_landmarks=20, random_state=0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def moons(n=200, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def found(rule, X, weights=None, count=10, kernel=None):
    weights = np.ones(X.shape[0]) if weights is None else weights
    return find_landmarks(
        rule, X, weights, count=count, kernel=kernel or RBF(), names=None, random_state=0
    )


# ---------------------------------------------------------------- what the rules mean


@pytest.mark.parametrize("rule", ["kmeans", "random"])
def test_the_model_is_that_of_its_descriptive_vectors(rule):
    """K is L x P: the solution is that of the dyadic matrix of the same vectors."""
    X, y = moons()
    model = PSVC(landmarks=rule, n_landmarks=20, gamma=1.0, epsilon=0.3, random_state=3, **TIGHT)
    model.fit(X, y)
    Z = find_landmarks(rule, X, np.ones(len(y)), count=20, kernel=RBF(), names=None, random_state=3)
    dyadic = PSVC(kernel="dyadic", epsilon=0.3, **TIGHT).fit(rbf_kernel(X, Z, gamma=1.0), y)
    assert model.alpha_.shape == (20,) and 0 < model.n_support_ < 20
    # both solve to a violation of 1e-9 epsilon
    assert_allclose(model.alpha_, dyadic.alpha_, atol=1e-6)
    assert_allclose(model.support_objects_, Z[model.support_])
    assert decided(model.decision_function(X))
    assert_array_equal(model.predict(X), dyadic.predict(rbf_kernel(X, Z, gamma=1.0)))
    assert model.score(*moons(500, seed=1)) > 0.88


def test_a_number_is_short_for_centres():
    X, y = moons()
    short = PSVC(landmarks=15, random_state=0, epsilon=0.3).fit(X, y)
    long = PSVC(landmarks="kmeans", n_landmarks=15, random_state=0, epsilon=0.3).fit(X, y)
    assert_same_solution(short, long, X)
    assert PSVC(landmarks=np.int64(7), random_state=0).fit(X, y).alpha_.shape == (7,)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_centres_are_means_of_clusters(make, rng):
    centres = 10.0 * np.arange(6)[:, None] + np.zeros(3)
    X = (centres[:, None] + 0.01 * rng.normal(size=(6, 30, 3))).reshape(-1, 3)
    Z = found("kmeans", make(X), count=6)
    order = np.argsort(Z[:, 0])
    # sums of 30 of 180 rows of up to 50
    assert_allclose(Z[order], X.reshape(6, 30, 3).mean(axis=1), atol=180 * 50 * 2.3e-16)


def test_centres_of_many_rows(rng):
    X = rng.normal(size=(LARGE + 10, 2)) + 20.0 * rng.integers(0, 3, size=(LARGE + 10, 1))
    Z = found("kmeans", X, count=3)
    # batches approximate: the standard error of a centre is below 0.02, the spread is 1
    assert_allclose(np.sort(Z[:, 0]), [0.0, 20.0, 40.0], atol=0.5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_random_objects_are_distinct_training_objects(make, rng):
    X = np.repeat(rng.normal(size=(12, 2)), 3, axis=0)
    Z = found("random", make(X), count=5)
    Z = Z.toarray() if sp.issparse(Z) else Z
    assert Z.shape == (5, 2) and len(np.unique(Z, axis=0)) == 5
    assert all((X == z).all(axis=1).any() for z in Z)
    everything = found("random", X, count=100)
    assert_array_equal(np.unique(everything, axis=0), np.unique(X, axis=0))
    assert len(everything) == 12
    # as many centres as distinct rows are the rows themselves
    assert_array_equal(np.unique(found("kmeans", X, count=12), axis=0), np.unique(X, axis=0))


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_principal_directions(make, count, rng):
    X = rng.normal(size=(50, 4)) * [4.0, 3.0, 2.0, 1.0] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    X += 5.0
    Z = found("pca", make(X), count=count, kernel=Linear())
    expected = PCA(count).fit(X).components_
    # directions are right up to their sign, and that is fixed
    assert_allclose(np.abs(np.sum(Z * expected, axis=1)), 1.0, rtol=1e-9)
    assert (Z[np.arange(count), np.abs(Z).argmax(axis=1)] > 0).all()


def test_principal_directions_with_a_linear_kernel_are_principal_components():
    data = load_breast_cancer()
    X, y = StandardScaler().fit_transform(data.data), data.target
    model = PSVC(kernel="linear", landmarks="pca", n_landmarks=5, epsilon=1.0, **TIGHT)
    model.fit(X, y)
    scores = PCA(5).fit_transform(X)
    dyadic = PSVC(kernel="dyadic", epsilon=1.0, **TIGHT).fit(scores, y)
    assert_allclose(np.abs(model.alpha_), np.abs(dyadic.alpha_), atol=1e-6)
    assert model.score(X, y) > 0.9
    assert PSVC(kernel=Linear(), landmarks="pca", n_landmarks=3).fit(X, y).alpha_.shape == (3,)


@pytest.mark.parametrize(
    ("model", "attribute"),
    [
        (KMeans(8, n_init=1, random_state=0), "cluster_centers_"),
        (GaussianMixture(8, random_state=0), "means_"),
        (PCA(2), "components_"),
        (FastICA(2, random_state=0), "components_"),
        (NMF(2, random_state=0, max_iter=1000), "components_"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseEstimator) else "",
)
def test_objects_that_can_be_fitted(model, attribute):
    X, y = moons()
    X = X - X.min()
    kernel = "linear" if attribute == "components_" else "rbf"
    fitted = PSVC(landmarks=model, kernel=kernel, epsilon=0.2).fit(X, y)
    Z = getattr(clone(model).fit(X), attribute)
    assert_allclose(fitted.support_objects_, Z[fitted.support_])
    assert not hasattr(model, attribute)  # the parameter is not touched
    clone(fitted).fit(X, y)


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize("rule", ["kmeans", "random", "pca"])
def test_rows_without_weight_do_not_describe(rule):
    X, y = moons()
    weights = (np.arange(len(y)) % 3 > 0).astype(float)
    far = np.where(weights[:, None] > 0, X, X + 1000.0)
    kernel = Linear() if rule == "pca" else RBF()
    assert_allclose(
        found(rule, far, weights, kernel=kernel),
        found(rule, X[weights > 0], weights[weights > 0], kernel=kernel),
        **AGAIN,
    )


def test_weighted_directions_are_those_of_repeated_rows(rng):
    X, times = rng.normal(size=(40, 5)) * [5, 4, 3, 2, 1], rng.integers(1, 5, size=40)
    once = found("pca", X, times.astype(float), count=3, kernel=Linear())
    assert_allclose(once, found("pca", np.repeat(X, times, axis=0), count=3, kernel=Linear()))


def test_heavy_rows_are_drawn_first(rng):
    X = rng.normal(size=(100, 2))
    weights = np.where(np.arange(100) < 10, 1e9, 1.0)
    drawn = found("random", X, weights, count=10)
    assert_array_equal(np.sort(drawn, axis=0), np.sort(X[:10], axis=0))


@pytest.mark.parametrize("count", [10, 100])
def test_random_objects_do_not_depend_on_the_order_of_rows(count, rng):
    X, times = rng.normal(size=(40, 2)), rng.integers(1, 4, size=40)
    weighted = found("random", X, times.astype(float), count=count)
    order = rng.permutation(times.sum())
    assert_array_equal(found("random", np.repeat(X, times, axis=0)[order], count=count), weighted)


def test_weights_reach_an_object_or_are_an_error():
    X, y = moons()
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    clusters = KMeans(8, n_init=1, random_state=0)
    model = PSVC(landmarks=clusters, epsilon=0.1).fit(X, y, weights)
    Z = clone(clusters).fit(X, sample_weight=weights).cluster_centers_
    assert_allclose(model.support_objects_, Z[model.support_])
    with pytest.raises(ValueError, match="cannot be fitted with sample weights"):
        PSVC(landmarks=GaussianMixture(3)).fit(X, y, weights)


# ---------------------------------------------------------------- life with scikit-learn


def test_reproducible_by_random_state():
    X, y = moons()
    for rule in ("kmeans", "random"):
        model = PSVC(landmarks=rule, n_landmarks=12, random_state=5)
        assert_same_solution(clone(model).fit(X, y), model.fit(X, y), X)
        other = clone(model).set_params(random_state=6).fit(X, y)
        assert not np.allclose(other.column_means_, model.column_means_)


def test_clone_pickle_grid_search_and_frames():
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :6], data.target
    search = GridSearchCV(
        make_pipeline(
            StandardScaler().set_output(transform="pandas"),
            PSVC(random_state=0, epsilon="aicc", landmarks="kmeans"),
        ),
        {"psvc__landmarks": ["kmeans", "random", 10], "psvc__n_landmarks": [5, 20]},
        cv=3,
    ).fit(X, y)
    assert search.best_score_ > 0.9
    copy = pickle.loads(pickle.dumps(search))
    assert_array_equal(copy.best_estimator_[-1].alpha_, search.best_estimator_[-1].alpha_)
    assert list(search.best_estimator_[-1].feature_names_in_) == list(X.columns)
    options = {"gamma": 1e-5, "epsilon": 0.5, **TIGHT}
    given = PSVC(landmarks=X.iloc[:30], **options).fit(X, y)
    values = PSVC(landmarks=X.to_numpy()[:30], **options).fit(X.to_numpy(), y)
    assert_allclose(values.decision_function(X.to_numpy()), given.decision_function(X), atol=1e-6)
    again = pickle.loads(pickle.dumps(clone(given))).fit(X, y)
    assert_same_solution(again, given, X)
    with pytest.raises(ValueError, match="different names or orders"):
        PSVC(landmarks=X.iloc[:30, ::-1]).fit(X, y)


def test_sparse_rows():
    X, y = moons()
    X[np.abs(X) < 0.3] = 0.0
    for rule in ("kmeans", "random"):
        parameters = {"landmarks": rule, "n_landmarks": 15, "random_state": 0, "epsilon": 0.3}
        dense = PSVC(**parameters).fit(X, y)
        sparse = PSVC(**parameters).fit(sp.csr_array(X), y)
        assert sparse.alpha_.shape == dense.alpha_.shape == (15,)
        assert sparse.score(sp.csr_array(X), y) > 0.85
    given = PSVC(landmarks=sp.csr_array(X[:9]), epsilon=0.3, **TIGHT).fit(X, y)
    dense = PSVC(landmarks=X[:9], epsilon=0.3, **TIGHT).fit(X, y)
    assert_allclose(given.decision_function(X), dense.decision_function(X), atol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"landmarks": "centres"}, "landmarks must be one of 'all', 'kmeans', 'random', 'pca'"),
        ({"landmarks": 0}, "landmarks must be an integer >= 1"),
        ({"landmarks": 2.5}, "landmarks must be an integer >= 1"),
        ({"landmarks": True}, "landmarks must be an integer >= 1"),
        ({"n_landmarks": 0}, "n_landmarks must be an integer >= 1"),
        ({"landmarks": "pca"}, "need kernel='linear'"),
        ({"landmarks": "pca", "kernel": RBF()}, "need kernel='linear'"),
        ({"landmarks": "kmeans", "kernel": "dyadic"}, "landmarks must be None"),
        ({"landmarks": np.empty((0, 2))}, "landmarks is empty"),
        ({"landmarks": Birch()}, "after it was fitted"),
        ({"landmarks": [["a", "b"]]}, "could not convert"),
        ({"landmarks": "random", "random_state": "x"}, "random_state must be None, an integer"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = moons(30)
    with pytest.raises(ValueError, match=message):
        PSVC(**parameters).fit(X, y)


# ---------------------------------------------------------------- kernel objects in an estimator


def test_kernel_objects_equal_their_names():
    X, y = moons()
    named = PSVC(kernel="rbf", gamma=0.7, epsilon=0.3).fit(X, y)
    model = PSVC(kernel=RBF(gamma=0.7), epsilon=0.3).fit(X, y)
    assert_same_solution(model, named, X)


def grid_points(search):
    return search.cv_results_["params"]


def test_parameters_of_kernel_objects_can_be_searched():
    X, y = moons()
    grid = {"kernel__k1__gamma": [0.1, 1.0], "kernel__k2": [Linear(), RBF(5.0)]}
    search = GridSearchCV(
        PSVC(kernel=RBF() + Linear(), epsilon=0.1, epsilon_unit="max"), grid, cv=3
    ).fit(X, y)
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    scores = search.cv_results_["mean_test_score"]
    gammas = {p["kernel__k1__gamma"]: v for p, v in zip(grid_points(search), scores, strict=True)}
    assert gammas[0.1] != gammas[1.0]


def test_a_fitted_model_keeps_its_kernel():
    X, y = moons()
    model = PSVC(kernel=RBF(gamma=1.0), epsilon=0.3).fit(X, y)
    before = model.decision_function(X)
    model.set_params(kernel__gamma=50.0)
    assert_allclose(model.decision_function(X), before, **AGAIN)


def test_bad_kernel_parameters_come_first():
    X, y = moons(30)
    with pytest.raises(ValueError, match="gamma must be a finite number > 0"):
        PSVC(kernel=normalized(RBF(gamma=-1.0))).fit(X, y)


class CommonLetters(Kernel):
    """Number of common letters of two strings, a kernel that takes no vectors."""

    takes_vectors = False
    positive_definite = True

    def __init__(self, alphabet="abcd"):
        self.alphabet = alphabet

    def check_objects(self, X, name="X"):
        for x in X:
            if not isinstance(x, str):
                raise ValueError(f"{name} must contain strings, got {x!r}.")
        return np.array(list(X), dtype=object)

    def prepare(self, X):
        return np.array([[float(c in x) for c in self.alphabet] for x in X])

    def evaluate(self, X, Z):
        return X @ Z.T


def strings(n=60, seed=0):
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcd"), size=rng.integers(1, 5))) for _ in range(n)]
    return words, np.array([1 if "a" in word else 0 for word in words])


def common(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


@pytest.mark.parametrize("form", [list, tuple, np.array, pd.Series])
def test_kernels_of_strings(form):
    words, y = strings()
    model = PSVC(kernel=CommonLetters(), **TIGHT).fit(form(words), y)
    assert model.score(form(words), y) == 1.0
    assert set(model.support_objects_) <= set(words)
    assert not hasattr(model, "n_features_in_")
    first = [words.index(word) for word in words]
    assert all(first[j] == j for j in model.support_)  # equal strings describe once
    K = common(words, model.support_objects_)
    K = (K - model.column_means_[model.support_]) / model.column_norms_[model.support_]
    assert_allclose(model.decision_function(words), K @ model.alpha_[model.support_]
                    + model.offset_, atol=1e-12)  # fmt: skip


def test_strings_through_scikit_learn():
    words, y = strings()
    kernel = normalized(CommonLetters()) + 0.1 * CommonLetters()
    assert cross_val_score(PSVC(kernel=kernel), words, y, cv=3).mean() > 0.9
    search = GridSearchCV(
        PSVC(kernel=CommonLetters()), {"kernel__alphabet": ["bcd", "abcd"]}, cv=3
    ).fit(words, y)
    assert search.best_params_ == {"kernel__alphabet": "abcd"}
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(copy.predict(words), search.predict(words))
    regression = PSVR(kernel=CommonLetters()).fit(words, [len(set(w)) for w in words])
    assert regression.score(words, [len(set(w)) for w in words]) > 0.99


def test_strings_described_by_other_strings():
    words, y = strings()
    model = PSVC(kernel=CommonLetters(), landmarks=["a", "bcd", "ab"], epsilon=0.1, **TIGHT)
    dyadic = PSVC(kernel="dyadic", epsilon=0.1, **TIGHT)
    dyadic.fit(common(words, ["a", "bcd", "ab"]), y)
    assert_allclose(model.fit(words, y).alpha_, dyadic.alpha_, atol=1e-9)
    some = PSVC(kernel=CommonLetters(), landmarks="random", n_landmarks=5).fit(words, y)
    assert some.alpha_.shape == (5,)


def test_errors_of_strings():
    words, y = strings()
    model = PSVC(kernel=CommonLetters())
    with pytest.raises(ValueError, match="X must contain strings, got 3"):
        model.fit([*words[:-1], 3], y)
    with pytest.raises(ValueError, match="landmarks must contain strings"):
        clone(model).set_params(landmarks=[1.0]).fit(words, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(words, y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        PSVR(kernel=CommonLetters()).fit(words, np.where(y == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="requires y"):
        model.fit(words, None)
    with pytest.raises(ValueError, match="only one of them takes vectors"):
        PSVC(kernel=CommonLetters() + RBF()).fit(words, y)
    with pytest.raises(ValueError, match="Use 'random'"):
        PSVC(kernel=CommonLetters(), landmarks="kmeans").fit(words, y)


def test_plain_callables_still_are_kernels():
    X, y = moons()
    model = PSVC(kernel=lambda A, B: -pairwise_distances(A, B), landmarks=20, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.9


# ---------------------------------------------------------------- some of many training objects


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def described_by(model):
    """The training objects that describe, in an order that their content decides."""
    return dense(model.plan_.objects)


def many_moons(n=2300, seed=0):
    return make_moons(n, noise=0.25, random_state=seed)


def test_up_to_two_thousand_training_objects_describe():
    X, y = moons(MOST, seed=1)
    model = PSVC(epsilon=0.3, epsilon_unit="max").fit(X, y)
    assert_array_equal(model.landmarks_, np.arange(MOST))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_some_of_many_training_objects_describe(make, capsys):
    """The model is that of the dyadic matrix of these, from a solver that takes the rows."""
    X, y = many_moons()
    parameters = {"epsilon": 0.1, "epsilon_unit": "max", **TIGHT}
    model = PSVC(gamma=1.0, verbose=True, **parameters).fit(make(X), y)
    chosen = described_by(model)
    assert 700 <= len(chosen) < 800
    assert {tuple(z) for z in chosen} <= {tuple(x) for x in X}
    assert len(np.unique(chosen, axis=0)) == len(chosen)
    assert f"described by {len(chosen)} of 2,300 training objects" in capsys.readouterr().out
    dyadic = PSVC(kernel="dyadic", solver=WorkingSet(), **parameters)
    dyadic.fit(rbf_kernel(X, chosen, gamma=1.0), y)
    assert model.alpha_.shape == (len(chosen),) and model.landmarks_ is None
    # both solve to a violation of 1e-9 epsilon
    assert_allclose(model.alpha_, dyadic.alpha_, atol=1e-6)
    assert_array_equal(dense(model.support_objects_), chosen[model.support_])


def test_all_training_objects_describe_on_demand():
    X, y = many_moons()
    model = PSVC(landmarks="all", epsilon=0.3, epsilon_unit="max").fit(X, y)
    assert_array_equal(model.landmarks_, np.arange(2300))
    K = rbf_kernel(X, gamma=1.0)
    for landmarks in (None, "all"):
        given = PSVC(kernel="precomputed", landmarks=landmarks, epsilon=5.0).fit(K, y)
        assert_array_equal(given.landmarks_, np.arange(2300))
    assert PSVC(landmarks=9, random_state=0, epsilon=1.0).fit(X, y).landmarks_ is None


def test_the_content_decides_which_describe(rng):
    X, y = many_moons()
    order = rng.permutation(len(y))
    plain, shuffled = PSVC().fit(X, y), PSVC().fit(X[order], y[order])
    assert_array_equal(described_by(shuffled), described_by(plain))
    assert shuffled.epsilon_ == pytest.approx(plain.epsilon_, rel=1e-9)
    # Rows twice, and rows without weight.
    twice = rng.integers(0, len(y), size=300)
    repeated = PSVC().fit(
        np.vstack([X, X[twice], X + 9]),
        np.concatenate([y, y[twice], y]),
        sample_weight=np.repeat([1.0, 0.0], [len(y) + 300, len(y)]),
    )
    weighted = PSVC().fit(X, y, sample_weight=1.0 + np.bincount(twice, minlength=len(y)))
    assert_array_equal(described_by(repeated), described_by(weighted))
    assert_array_equal(described_by(weighted), described_by(plain))
    assert repeated.epsilon_ == pytest.approx(weighted.epsilon_, rel=1e-6)
    # The last digits, in which processors differ, decide hardly ever: once in 4,096 entries.
    moved = {tuple(x): tuple(z) for x, z in zip(np.nextafter(X, 9), X, strict=True)}
    other = {moved[tuple(z)] for z in described_by(PSVC().fit(np.nextafter(X, 9), y))}
    both = other & {tuple(z) for z in described_by(plain)}
    assert len(both) >= 0.99 * len(described_by(plain))


def test_every_pair_of_classes_has_objects(rng):
    """Rare classes have a fifth of the landmarks, or all their objects."""
    X = rng.normal(size=(2500, 2))
    y = np.repeat([0, 1, 2], [2300, 150, 50])
    X[:, 0] += 3 * y
    model = PSVC(epsilon=0.2, epsilon_unit="max").fit(X, y)
    label = {tuple(x): code for x, code in zip(X, y, strict=True)}
    counts = np.bincount([label[tuple(z)] for z in described_by(model)])
    assert counts[1] >= 100 and counts[2] == 50 and counts[0] > 400


def test_the_number_of_landmarks_grows_slowly_as_far_as_their_products_allow():
    counts = [n_drawn(n) for n in (1, MOST, MOST + 1, 20_000, 60_000, 10**6, 10**9)]
    assert counts[:2] == [1, MOST] and 700 <= counts[2] <= counts[3]
    assert counts[-2:] == [500, 500]


def test_sequences_are_drawn_as_well(rng):
    X = np.array(["".join(rng.choice(list("ab"), size=14)) for _ in range(2400)], dtype=object)
    y = np.array(["aab" in x for x in X])
    model = PSVC(kernel=Spectrum(3), epsilon=0.1, epsilon_unit="max").fit(X, y)
    # rare classes have some more
    assert len(model.landmarks_) < 1.25 * n_drawn(2400) and model.score(X, y) > 0.9


def test_searches_describe_by_some_as_well():
    X, y = many_moons()
    search = PSVCCV(kernel="rbf", Cs=[np.inf], gammas=[1.0], cv=2).fit(X, y)
    direct = PSVC(gamma=1.0).fit(X, y)
    assert_array_equal(search.best_estimator_.landmarks_, direct.landmarks_)


def test_a_row_takes_its_column_with_it(rng):
    """Columns describe by some rows; equal rows are one object, whichever of them is drawn."""
    K = rng.normal(size=(7, 3))
    identity, own = np.array([0, 1, 2, 0, 3, 4, 1]), np.array([1, 3, 5])
    whole = Description(as_matrix(K), np.ones(7), None, identity, own, np.arange(3))
    assert whole.usable.all()
    assert_array_equal(whole.present, [1, 0, 5])
    without = whole.counting(np.array([1, 1, 1, 1, 1, 0, 1]))
    assert_array_equal(without.usable, [True, True, False])
    # Row 1 leaves, but row 6 is the same object.
    assert_array_equal(whole.counting(np.arange(7) != 1).usable, [True, True, True])
    assert_array_equal(whole.counting(np.arange(7) != 1).present, [6, 0, 5])
    part = whole.part(np.array([0, 1, 2, 5]))
    assert_array_equal(part.columns, [0, 2])
    assert_array_equal(part.own, [1, 3])
    assert_array_equal(part.matrix.columns(slice(None)), K[np.ix_([0, 1, 2, 5], [0, 2])])


def test_errors_of_held_out_rows_are_those_of_fits_without_them(monkeypatch):
    """With every column that is left: the rows that are held out do not describe."""
    for module in ("_description", "_landmarks"):
        monkeypatch.setattr(f"psvm.estimators.{module}.MOST", 40)
    monkeypatch.setattr("psvm.estimators._landmarks.FEW", 20)
    X, y = moons(60)
    model = PSVC(epsilon=0.3, gamma=1.0, threshold="mean", tol=1e-10)
    chosen = clone(model).fit(X, y).landmarks_
    assert 20 <= len(chosen) < 60
    held_out = cross_val_error(model, X, y)
    K = rbf_kernel(X, X[chosen], gamma=1.0)
    for i in (*chosen[:3], *np.setdiff1d(np.arange(60), chosen)[:3]):
        rest, columns = np.arange(60) != i, chosen != i
        dyadic = PSVC(kernel="dyadic", epsilon=0.3, threshold="mean", tol=1e-10)
        dyadic.fit(K[np.ix_(rest, columns)], y[rest])
        expected = dyadic.decision_function(K[np.ix_([i], columns)])
        # both solve to a violation of 1e-10 epsilon
        assert_allclose(held_out.decisions[i], expected, atol=1e-6)
