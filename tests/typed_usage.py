"""What a type checker sees of the public API; `mypy` reads this file, nothing runs it."""

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import scipy.sparse as sp
from matplotlib.axes import Axes

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
from psvm.evaluation import (
    AreaEstimate,
    Comparison,
    CrossValidation,
    DecisionRange,
    ErrorRejectDisplay,
    RejectOption,
    RocBand,
    Significance,
    compare,
    corrected_t_test,
    covering_bound,
    cross_validate,
    decision_range,
    has_information,
    reject_scores,
    roc_area,
    roc_band,
)
from psvm.io import Finding, Table, atomic_write, check_file, read_table, write_table
from psvm.kernels import RBF, Constant, FeatureMap, Kernel, Linear, Product, Spectrum, Sum
from psvm.matrix import DataMatrix, Standardized, as_matrix
from psvm.persistence import export_numpy, model_info, register
from psvm.problem import Problem, duality_gap, from_variance_units
from psvm.report import SupportDisplay, write_report
from psvm.selection import (
    FeatureRanking,
    QuantileNormalizer,
    SelectionEvaluation,
    StandIns,
    rank_features,
    rankings,
    stand_ins,
)

X = np.zeros((20, 3))
y = np.arange(20) % 2


def classify() -> None:
    model = PSVC(C=10, kernel="linear", epsilon=0.5, class_weight={0: 1.0}, random_state=0)
    assert_type(PSVC().fit(X, y), PSVC)
    assert_type(PSVC().fit(X.tolist(), ["a", "b"] * 10, sample_weight=[1.0] * 20), PSVC)
    assert_type(PSVC(kernel=RBF(0.5), landmarks="kmeans").fit(sp.csr_array(X), y), PSVC)
    assert_type(model.fit(X, y).predict(X), np.ndarray)
    assert_type(model.decision_function(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(model.C, float)
    assert_type(model.alpha_, np.ndarray)
    assert_type(model.column_norms_, np.ndarray)
    assert_type(model.classes_, np.ndarray)
    assert_type(model.support_, np.ndarray)
    assert_type(model.n_support_, int)
    assert_type(model.epsilon_, float | np.ndarray)
    assert_type(model.intercept_, float | np.ndarray)
    assert_type(model.solution_, psvm.Solution)
    assert_type(model.solutions_, tuple[psvm.Solution, ...])
    assert_type(model.dual_gap_, float)


def regress() -> None:
    model = PSVR(epsilon="aicc", solver=psvm.SMO(tol=1e-3), max_time=1.0, dtype=np.float32)
    assert_type(model.fit(X, y), PSVR)
    assert_type(model.predict(X), np.ndarray)
    assert_type(LeastSquaresSVR().fit(X, y).predict(X), np.ndarray)


def other_classifiers() -> None:
    assert_type(SpheredSVC(0.3).fit(X, y).predict(X), np.ndarray)
    assert_type(SpheredSVCCV([0.1, 0.5]).fit(X, y).best_score_, float)
    assert_type(LeastSquaresSVC(loss="squared_hinge").fit(X, y), LeastSquaresSVC)
    assert_type(KernelFisherDiscriminant().fit(X, y).predict_proba(X), np.ndarray)


def search() -> None:
    model = PSVCCV(Cs=[1, np.inf], gammas="scale", cv=5, scoring="roc_auc")
    assert_type(model.fit(X, y), PSVCCV)
    assert_type(model.best_estimator_, PSVC)
    assert_type(model.best_params_, dict[str, Any])
    assert_type(model.alpha_, np.ndarray)
    assert_type(model.predict(X), np.ndarray)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(model.plot_path(), Axes)
    folds = [(np.arange(10), np.arange(10, 20))]
    assert_type(PSVRCV(cv=folds).fit(X, y).best_estimator_, PSVR)
    held_out = psvm.cross_val_error(PSVC(), X, y, cv="loo")
    assert_type(held_out, psvm.HeldOut)
    assert_type(held_out.error, float)


def solve() -> None:
    solution = psvm.solve(X, y, epsilon=1.0)
    assert_type(solution, psvm.Solution)
    assert_type(solution.alpha, np.ndarray)
    assert_type(solution.gap, float)
    assert_type(solution.support, np.ndarray)
    assert_type(solution.status, psvm.Status)
    assert_type(psvm.solve(sp.csc_array(X), y, 2.0, epsilon=1, warm_start=solution), psvm.Solution)
    path = psvm.epsilon_path(as_matrix(X), y, max_features=3, method="homotopy")
    assert_type(path, psvm.EpsilonPath)
    assert_type(path.order, np.ndarray)
    assert_type(path.alpha_at(0.5), np.ndarray)
    assert_type(path.plot(), Axes)
    assert_type(psvm.epsilon_paths(X, np.eye(20)), list[psvm.EpsilonPath])
    assert_type(as_matrix(X), DataMatrix)
    assert_type(from_variance_units(1.0, 2.0, 10), tuple[float, float])
    assert_type(from_variance_units(1.0, 2.0, 2.5), tuple[float, float])
    problem = Problem.create(Standardized(as_matrix(X)), y, np.inf, 1.0)
    assert_type(problem, Problem)
    r, F = problem.evaluate(solution.alpha)
    assert_type(duality_gap(solution.alpha, F, r, problem.y, np.inf, 1.0), float)
    assert_type(psvm.matrix_spectrum(np.eye(3)).negative_share, float)
    assert_type(psvm.matrix_spectrum(np.eye(3)), psvm.MatrixSpectrum)
    moments = psvm.Moments.of(as_matrix(X), y, np.ones(20))
    assert_type(moments + moments, psvm.Moments)
    assert_type(moments - moments.keep([0]), psvm.Moments)
    assert_type(moments.Q, np.ndarray)
    assert_type(moments.squared_error(*moments.coef(solution.alpha)), float)


@register
class Overlap(Kernel):
    positive_definite = True

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return np.asarray(np.minimum(X[:, None], Z[None]).sum(axis=2))


def kernels() -> None:
    assert_type(Overlap()(X), np.ndarray)
    assert_type(RBF(0.5) + Linear(), Sum)
    assert_type(Linear() * 2, Product)
    assert_type(Constant(2.0).positive_definite, bool)
    features = Spectrum(k=2).feature_map()
    assert_type(features, FeatureMap)
    assert_type(features.fit(["ACGT", "AC"]).get_feature_names_out(), np.ndarray)
    assert_type(psvm.kernels.normalized(Linear())(X, X), np.ndarray)


def select() -> None:
    selector = PSVMSelector(n_features=2, task="classification")
    assert_type(selector.fit(X, y), PSVMSelector)
    assert_type(selector.importance_, np.ndarray)
    assert_type(selector.stand_ins(X), list[StandIns])
    assert_type(stand_ins(X, [0, 1]), list[StandIns])
    stable = StabilitySelector(pfer=1, threshold=0.8, assumption="r-concave")
    assert_type(stable.fit(X, y), StabilitySelector)
    assert_type(stable.frequencies_, np.ndarray)
    assert_type(KnockoffSelector(fdr=0.2, method="sdp").fit(X, y), KnockoffSelector)
    genes = GeneSelector(preprocessing=QuantileNormalizer(), n_features=[5, 10])
    assert_type(genes.fit(X, y), GeneSelector)
    assert_type(genes.evaluate(X, y), SelectionEvaluation)
    assert_type(genes.evaluate(X, y).confidence_interval(), tuple[float, float])
    assert_type(genes.decision_function(X), np.ndarray)
    assert_type(rank_features(X, y), FeatureRanking)
    assert_type(rankings.relief(X, y), np.ndarray)
    assert_type(QuantileNormalizer().fit(X).transform(X), np.ndarray)


def evaluate() -> None:
    comparison = compare({"P-SVM": PSVC(), "sphered": SpheredSVC()}, X, y, tests=["mcnemar"])
    assert_type(comparison, Comparison)
    assert_type(comparison.pvalues("mcnemar"), np.ndarray)
    assert_type(cross_validate(PSVC(), X, y), CrossValidation)
    assert_type(cross_validate(PSVC(), X, y).error, float)
    model = RejectOption(PSVC(kernel="dyadic"), rule="threshold", threshold=0.5).fit(X, y)
    assert_type(model, RejectOption)
    assert_type(model.predict_proba(X), np.ndarray)
    assert_type(reject_scores(model, X, y), dict[str, float])
    assert_type(has_information(model.estimator_, X), np.ndarray)
    found = decision_range(model.estimator_, X, y, sample_weight=np.ones(20))
    assert_type(found, DecisionRange)
    assert_type(found.margin, float)
    assert_type(covering_bound(found.capacity, 20, 1.0), float)
    assert_type(ErrorRejectDisplay.from_estimator(model, X, y), ErrorRejectDisplay)
    assert_type(corrected_t_test([0.1, 0.2], [0.2, 0.2], n_train=9, n_test=1), Significance)
    assert_type(corrected_t_test([0.1, 0.2], [0.2, 0.2], n_train=9, n_test=1).pvalue, float)
    assert_type(roc_area(y, X[:, 0]), AreaEstimate)
    assert_type(roc_band(y, X[:, 0], method="ks"), RocBand)
    assert_type(roc_band(y, X[:, 0]).plot(), Axes)


def files() -> None:
    table = read_table("data.csv", target="kind", missing="drop")
    assert_type(table, Table)
    assert_type(table.feature_names, list[str] | None)
    assert_type(check_file(Path("data.csv"), target="kind"), list[Finding])
    assert_type(write_table(table, "data.parquet"), list[str])
    with atomic_write("a.txt", "w") as file:
        file.write("all of it")
    model = PSVC().fit(table.X, table.y)
    psvm.save(model, "model.psvm", extra={"source": table.source})
    psvm.load("model.psvm").predict(table.X)
    assert_type(model_info("model.psvm"), dict[str, Any])
    assert_type(export_numpy(model), str)
    assert_type(write_report(model, table.X, table.y, "report.html"), Path)
    assert_type(psvm.explore(table.X, table.y, model=model), psvm.Exploration)
    assert_type(psvm.explore(table.X, table.y).save("page.html"), Path)
    assert_type(SupportDisplay.from_estimator(model).plot(most=5), SupportDisplay)
    assert_type(SupportDisplay.from_estimator(model).ax_, Axes)
