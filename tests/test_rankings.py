"""Rankings, preprocessing and AnnData, each against its definition or another library."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from anndata import AnnData
from scipy import stats
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectKBest, f_classif
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from psvm import GeneSelector, PSVMSelector
from psvm.selection import (
    NuSVCThroughOrigin,
    PresentCall,
    QuantileNormalizer,
    RangeClipper,
    select,
)
from psvm.selection import rankings as r

TWO_CLASS = [r.fisher, r.signal_to_noise, r.t_test, r.pearson, r.relief, r.rfe, r.r2w2]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(60, 30))
    y = np.where(X[:, 3] - X[:, 8] + 0.3 * rng.normal(size=60) > 0, "a", "b")
    return X, y


@pytest.mark.parametrize("score", TWO_CLASS)
def test_informative_features_come_first(score, data):
    X, y = data
    selector = SelectKBest(score, k=2).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(indices=True), [3, 8])
    X3, y3 = load_iris(return_X_y=True)
    assert score(X3, y3).shape == (4,)
    with pytest.raises(ValueError, match=r"two classes|class"):
        score(X, np.full(60, "a"))


@pytest.mark.parametrize("score", TWO_CLASS)
def test_labels_and_constant_features_do_not_matter(score, data):
    X, y = data
    X = np.hstack([X, np.ones((60, 1))])
    scores = score(X, y)
    assert np.isfinite(scores).all()
    assert scores[-1] <= scores[:-1].min() + 1e-12 or score is r.relief
    if score not in (r.rfe, r.r2w2):  # those are rounded by a solver
        np.testing.assert_allclose(score(X, y == "a"), scores, rtol=1e-9, atol=1e-12)


def test_formulas(data):
    X, y = data
    a, b = X[y == "a"], X[y == "b"]
    shift = a.mean(axis=0) - b.mean(axis=0)
    va, vb = a.var(axis=0, ddof=1), b.var(axis=0, ddof=1)
    np.testing.assert_allclose(r.fisher(X, y), shift**2 / (va + vb))
    np.testing.assert_allclose(r.signal_to_noise(X, y), np.abs(shift) / (np.sqrt(va) + np.sqrt(vb)))
    np.testing.assert_allclose(
        r.t_test(X, y), np.abs(stats.ttest_ind(a, b, equal_var=False).statistic)
    )
    t = np.where(y == "a", 1.0, -1.0)
    expected = [abs(stats.pearsonr(X[:, j], t).statistic) for j in range(30)]
    np.testing.assert_allclose(r.pearson(X, y), expected, rtol=1e-10)
    np.testing.assert_allclose(
        r.pearson(X, X[:, 0] + t), np.abs(np.corrcoef(X.T, X[:, 0] + t)[-1, :-1]), rtol=1e-10
    )
    # for two classes correlation and the F test give the same order
    np.testing.assert_array_equal(np.argsort(r.pearson(X, y)), np.argsort(f_classif(X, y)[0]))


def test_relief_by_its_definition(rng):
    X = rng.uniform(size=(30, 4))
    X = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    y = rng.integers(3, size=30)
    k, scores = 3, np.zeros(4)
    for i in range(30):
        for c in range(3):
            others = [j for j in range(30) if y[j] == c and j != i]
            others = sorted(others, key=lambda j: np.abs(X[i] - X[j]).sum())[:k]
            distance = np.mean([np.abs(X[i] - X[j]) for j in others], axis=0)
            weight = np.mean(y == c) / (1 - np.mean(y == y[i]))
            scores += -distance if c == y[i] else weight * distance
    np.testing.assert_allclose(r.relief(X, y, n_neighbors=k), scores / 30, atol=1e-12)


def test_rfe_is_that_of_scikit_learn_when_features_go_one_by_one(data):
    X, y = data
    theirs = RFE(SVC(kernel="linear"), n_features_to_select=1, step=1).fit(X, y).ranking_
    np.testing.assert_array_equal(np.argsort(-r.rfe(X, y, step=1e-9)), np.argsort(theirs))


def test_rfe_ends_where_the_classes_cannot_be_separated():
    """No feature says anything, and C makes every error cost 1e9: LIBSVM would go on and on."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    with pytest.warns(ConvergenceWarning, match=r"4 of 4 .* than 1000 steps, .* that of 4 feat"):
        scores = r.rfe(X, y, C=1e9, max_iter=1000)
    np.testing.assert_array_equal(np.sort(scores), np.arange(4))
    with pytest.warns(ConvergenceWarning, match="than 200000 steps"):
        r.rfe(X[:, :2], y, C=1e9)


def test_rfe_checks_its_parameters(data):
    for parameter, bad in (("C", 0), ("C", np.inf), ("step", -1), ("max_iter", 0)):
        with pytest.raises(ValueError, match=parameter):
            r.rfe(*data, **{parameter: bad})


def test_r2w2_ends_without_a_ridge():
    """Squared slack is what makes a hard margin possible; without it there may be none."""
    rng = np.random.default_rng(0)
    factors = r.r2w2(rng.normal(size=(30, 2)), np.arange(30) % 2, ridge=0.0, max_iter=2)
    assert factors.shape == (2,) and np.isfinite(factors).all()


def test_r2w2_pieces_against_other_solvers(rng):
    X = rng.normal(size=(20, 3))
    K = X @ X.T + 0.1 * np.eye(20)
    beta, radius = r._ball(K, tol=1e-8, max_iter=10**5)
    assert beta.min() >= 0 and beta.sum() == pytest.approx(1)

    def dual(b):
        return b @ K @ b - b @ K.diagonal()

    peer = minimize(
        dual,
        np.full(20, 0.05),
        bounds=[(0, 1)] * 20,
        constraints={"type": "eq", "fun": lambda b: b.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert radius == pytest.approx(-peer.fun, rel=1e-6)


def test_r2w2_follows_its_gradient(rng, monkeypatch):
    X, signs = rng.normal(size=(25, 4)), np.where(rng.random(25) > 0.5, 1.0, -1.0)
    caught = {}

    def spy(fun, start, **options):
        caught["fun"] = fun
        return minimize(fun, start, **options)

    monkeypatch.setattr(r, "minimize", spy)
    exact = r._ball
    monkeypatch.setattr(r, "SVC", lambda **options: SVC(**options | {"tol": 1e-10}))
    monkeypatch.setattr(r, "_ball", lambda K: exact(K, tol=1e-10, max_iter=10**6))
    r._scaling_factors(X, signs, ridge=0.5, max_iter=2)
    fun = caught["fun"]
    at = rng.uniform(0.5, 1.5, size=4)
    for step, slope in zip(1e-3 * np.eye(4), fun(at)[1], strict=True):
        quotient = (fun(at + step)[0] - fun(at - step)[0]) / 2e-3
        # LIBSVM's answer has about six digits, of which the quotient loses three
        assert quotient == pytest.approx(slope, abs=2e-3)


# ---------------------------------------------------------------- preprocessing


@parametrize_with_checks(
    [
        QuantileNormalizer(),
        RangeClipper(),
        PresentCall(),
        # The checks use random labels, for which smaller nu have no margin.
        NuSVCThroughOrigin(nu=0.98),
        NuSVCThroughOrigin(nu=1.0),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_quantile_normalisation_of_bolstad(rng):
    X = rng.lognormal(size=(6, 50)) * np.arange(1, 7)[:, None]
    Z = QuantileNormalizer().fit_transform(X)
    reference = np.sort(X, axis=1).mean(axis=0)
    for before, after in zip(X, Z, strict=True):
        np.testing.assert_allclose(np.sort(after), reference)
        np.testing.assert_array_equal(np.argsort(before), np.argsort(after))
    np.testing.assert_allclose(QuantileNormalizer().fit_transform(Z), Z)
    tied = QuantileNormalizer().fit([[0.0, 2.0, 4.0, 8.0]])
    np.testing.assert_allclose(tied.transform([[1.0, 1.0, 5.0, 9.0]]), [[1.0, 1.0, 4.0, 8.0]])


def test_present_call():
    X = pd.DataFrame(np.arange(12.0).reshape(4, 3), index=list("abcd"), columns=["f", "g", "h"])
    p = pd.DataFrame(
        [[0.01, 0.5, 0.01], [0.01, 0.01, 0.9], [0.9, 0.01, 0.9], [0.01, 0.01, 0.9]],
        index=list("dcba"),  # another order
        columns=X.columns,
    )
    call = PresentCall(p, q1=0.05, q2=2)
    np.testing.assert_array_equal(call.fit(X).n_reliable_, [3, 3, 1])
    assert list(call.get_feature_names_out()) == ["f", "g"]
    np.testing.assert_array_equal(clone(call).fit(X.iloc[:2]).n_reliable_, [1, 2, 0])
    mask = PresentCall(mask=[True, False, True]).fit(X)
    np.testing.assert_array_equal(mask.transform(X), X.to_numpy()[:, [0, 2]])
    for wrong, message in [
        (PresentCall(p, mask=[True] * 3), "not both"),
        (PresentCall(mask=[1, 0, 1]), "mask"),
        (PresentCall(p, q2=5), "q2=5"),
        (PresentCall(p, q1=0.0), "q1"),
        (PresentCall(p.iloc[:2]), "no row for the samples"),
        (PresentCall(p.iloc[:, :2]), r"no column for 1 of the genes of X: \['h'\]"),
        (PresentCall(p.rename(columns={"f": "F", "g": "G"})), "no column for 2 of the genes"),
        (PresentCall(p.iloc[:, :2].set_axis(["x", "y"], axis=1)), "shape"),
        (PresentCall(p.iloc[[0, 1, 2, 3, 3]]), r"several rows of the same name: \['a'\]"),
        (PresentCall(p.iloc[:, [0, 1, 2, 1]]), r"several columns of the same name: \['g'\]"),
        (PresentCall(p.mask(p == 0.5)), "p_values is NaN in 1 entries"),
        (PresentCall(lambda X: np.full(X.shape, np.nan)), "p_values is NaN in 12 entries"),
        (PresentCall(p.astype(str).replace("0.5", "high")), "p_values must hold numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            wrong.fit(X)
    with pytest.raises(TypeError, match="follow the folds"):
        PresentCall(p.to_numpy()).fit(X)
    with pytest.raises(TypeError, match=r"DataFrame whose index.*got Series"):
        PresentCall(p["f"]).fit(X)
    for plain in (X.to_numpy(), X.to_numpy().tolist()):
        with pytest.raises(ValueError, match=r"must be a DataFrame as well, got (ndarray|list)"):
            PresentCall(p).fit(plain)


def test_columns_of_p_values_by_name_or_by_order():
    X = pd.DataFrame(np.arange(6.0).reshape(2, 3), columns=["f", "g", "h"])
    p = pd.DataFrame([[0.01, 0.5, 0.01]] * 2, columns=X.columns)
    shuffled = p[["h", "g", "f"]].assign(more=0.5)
    np.testing.assert_array_equal(PresentCall(shuffled, q2=1).fit(X).n_reliable_, [2, 0, 2])
    other = p.set_axis(["x", "y", "z"], axis=1)
    np.testing.assert_array_equal(PresentCall(other, q2=1).fit(X).n_reliable_, [2, 0, 2])
    again = X.iloc[[0, 0, 1]]  # a bootstrap sample
    np.testing.assert_array_equal(PresentCall(p, q2=1).fit(again).n_reliable_, [3, 0, 3])


# ---------------------------------------------------------------- AnnData


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_matrix])
def test_results_are_written_into_anndata(data, storage):
    X, y = data
    names = [f"cell{i}" for i in range(60)]
    adata = AnnData(storage(np.zeros_like(X)), obs=pd.DataFrame({"state": y}, index=names))
    adata.var_names = [f"g{j}" for j in range(30)]
    adata.layers["raw"] = storage(X)
    copied = select(adata, "state", layer="raw", n_features=2, copy=True)
    assert "psvm" not in adata.uns
    assert select(adata, "state", layer="raw", n_features=2, key_added="p") is None
    assert set(adata.var_names[adata.var["p_selected"]]) == {"g3", "g8"}
    direct = PSVMSelector(n_features=2).fit(X, y)
    np.testing.assert_array_equal(adata.var["p_ranking"], direct.ranking_)
    np.testing.assert_allclose(copied.var["psvm_importance"], direct.importance_, rtol=1e-6)
    assert set(adata.uns["p"]["selected"]) == {"g3", "g8"}
    genes = GeneSelector(cv=3, n_features=[2], smoothing=0)
    select(adata, "state", layer="raw", selector=genes)
    assert adata.var["psvm_frequency"].max() == 1
    assert not hasattr(genes, "order_")


def test_anndata_can_be_saved(data, tmp_path):
    X, y = data
    adata = AnnData(X, obs=pd.DataFrame({"state": y}, index=[f"c{i}" for i in range(60)]))
    select(adata, "state", n_features=3)
    adata.write_h5ad(tmp_path / "a.h5ad")


def test_anndata_errors(data):
    X, y = data
    adata = AnnData(X, obs=pd.DataFrame({"state": y}, index=[f"c{i}" for i in range(60)]))
    with pytest.raises(TypeError, match="AnnData"):
        select(X, "state")
    with pytest.raises(ValueError, match="'group' is not a column"):
        select(adata, "group")
    with pytest.raises(ValueError, match="layer"):
        select(adata, "state", layer="raw")
    adata.obs.loc["c7", "state"] = None
    with pytest.raises(ValueError, match="no value for 1 observations, the first is 'c7'"):
        select(adata, "state")
