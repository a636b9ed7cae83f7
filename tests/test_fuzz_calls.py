"""Malformed arguments to every public callable: a right answer, or an error that says why not.

Each callable that `__all__` of psvm and its public modules lists is called with valid arguments of
which one or two are replaced by something malformed. It may return a finite result, or raise a
ValueError or TypeError that names the argument or says what is wrong with it.
"""

import contextlib
import decimal
import fractions
import functools
import importlib
import inspect
import io
import pkgutil
import re
import signal
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from anndata import AnnData
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import psvm
from psvm.kernels import Kernel

resource = pytest.importorskip("resource")

N_SHORT = 1500
"""Calls of the short form."""
N_PAIRS = 8000
"""Calls of the long form with two malformed arguments, after all those with one."""
MEMORY = 3 * 2**30
"""What a call of a few rows may not allocate."""
SECONDS = 60
"""A call of a few rows that takes this long does not end: it takes milliseconds."""

OURS = (ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning)
"""Warnings that a malformed argument may cause; also those that FROM_OTHERS matches."""
FROM_OTHERS = re.compile(
    "|".join(
        [
            "The least populated class in y",
            "The number of unique classes is greater than 50%",
            "A single label was found",
            "y_pred contains classes not in y_true",
            "X does not have valid feature names",
            "X has feature names, but",
            "kneighbors",
            "Number of distinct clusters",
            "The groups parameter is ignored",
            "No features were selected",
            "The model has no support objects",
        ]
    )
)
EXPLAINED = re.compile(
    "|".join(
        [
            # What scikit-learn and NumPy say of arrays without their name.
            r"Expected 2D array, got",
            r"Found array with",
            r"inconsistent numbers of samples",
            r"could not convert (string|bytes) to float",
            r"Complex data not supported",
            r"Unknown label type",
            r"contains (NaN|infinity)",
            r"class(es)? (has|have) to be greater than one",
            r"Unsupported dtype",
            r"feature(s)? names",
            r"is expecting \d+ features",
            r"Sparse data was passed",
            r"Cannot (clone|center|use)",
            r"has not enough|requires y to be passed",
            r"not (fitted|comparable)|is not fitted yet",
            r"n_splits|number of folds|Number of folds|splits",
            r"scor(er|ing)",
            r"inhomogeneous shape",
            r"dtype='numeric' is not compatible",
            r"should be a 1d array",
            r"multioutput|multilabel",
            r"not a valid matrix",
            r"The kernel (returned|gives)",
            r"estimator",
            r"Gram matrix",
            r"labels? ",
            r"y_true|y_pred",
            r"Column \d+ of K",
            r"There is no column",
            r"Only a workbook has sheets",
            r"are not given away",
            r"is not a (model|FASTA) file|is not a file of SMILES|Stray quote",
        ]
    )
)
FILES = ("path", "source", "target_file", "results_file")
"""Arguments that name files, which may be missing: an OSError is right."""
COUNTS = ("n_permutations", "n_bootstrap")
"""Arguments that ask for work: large ones are legal and take long."""

RESULTS = {
    "psvm.EpsilonPath",
    "psvm.Exploration",
    "psvm.FoldMoments",
    "psvm.SiteMoments",
    "psvm.io.ColumnDescription",
    "psvm.io.FileDescription",
    "psvm.HeldOut",
    "psvm.MatrixSpectrum",
    "psvm.Moments",
    "psvm.MomentsPlan",
    "psvm.RowSurvey",
    "psvm.Solution",
    "psvm.evaluation.AreaEstimate",
    "psvm.evaluation.Comparison",
    "psvm.evaluation.ErrorRejectCurve",
    "psvm.evaluation.PermutationSignificance",
    "psvm.evaluation.RocBand",
    "psvm.evaluation.Significance",
    "psvm.evaluation.SplitSignificance",
    "psvm.io.Column",
    "psvm.io.Finding",
    "psvm.io.Schema",
    "psvm.io.Table",
    "psvm.matrix.RowBlock",
    "psvm.matrix.RowFactor",
    "psvm.evaluation.CrossValidation",
    "psvm.evaluation.DecisionRange",
    "psvm.selection.FeatureGroup",
    "psvm.selection.FeatureRanking",
    "psvm.selection.SelectionEvaluation",
    "psvm.selection.SelectionSignificance",
    "psvm.selection.SelectionStability",
    "psvm.selection.StabilityParameters",
    "psvm.selection.StandIns",
}
"""Records that functions return; nobody else makes them."""
EXEMPT = RESULTS | {
    "psvm.Status",  # enumerations
    "psvm.io.Kind",
    "psvm.io.Severity",
    "psvm.io.DataError",  # errors
    "psvm.persistence.ModelFileError",
    "psvm.kernels.Kernel",  # abstract classes
    "psvm.kernels.MorganFingerprints",  # needs RDKit
    "psvm.matrix.DataMatrix",
    "psvm.solvers.Solver",
    "psvm.cli.main",  # its errors are exit codes
    # What the solvers are made of: their callers have checked.
    "psvm.choice.Policy",
    "psvm.choice.Walk",
    "psvm.matrix.DaskMatrix",
    "psvm.matrix.DenseMatrix",
    "psvm.matrix.SparseMatrix",
    "psvm.matrix.Standardized",
    "psvm.matrix.KernelMatrix",
    "psvm.problem.Problem",
    "psvm.problem.duality_gap",
    "psvm.problem.kkt_violation",
    "psvm.problem.objective",
}

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 3))
Y = X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=24)
LABELS = np.where(Y > 0, "b", "a")
CODES = (Y > 0).astype(int)
SEQUENCES = ["ACGTAC", "CCGTAA", "ACCTTG", "TTGACA"]
WRONG = CODES.astype(bool)
GRAPH = SimpleNamespace(nodes={0: {"label": "C"}, 1: {}}, adj={0: {1: {}}, 1: {0: {}}})


class Call(NamedTuple):
    """A public callable with valid arguments."""

    name: str
    function: object
    arguments: dict


def public():
    """Every public callable, by name."""
    modules = [m.name for m in pkgutil.walk_packages(psvm.__path__, "psvm.") if "._" not in m.name]
    found = {}
    for module in map(importlib.import_module, ["psvm", *modules]):
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if callable(thing):
                found.setdefault(thing, f"{module.__name__}.{name}")
    return {name: thing for thing, name in found.items()}


SETTINGS = {
    "psvm.PSVC": {"epsilon": 0.5, "n_landmarks": 5},
    "psvm.PSVR": {"epsilon": 0.5, "n_landmarks": 5},
    "psvm.PSVCCV": {"gammas": [0.5]},
    "psvm.PSVRCV": {"gammas": [0.5]},
    "psvm.SpheredSVCCV": {"lams": [0.3, 0.6], "cv": 2},
    "psvm.GeneSelector": {"n_features": [1, 2], "smoothing": 0, "cv": 2, "n_epsilons": 4},
    "psvm.PSVMSelector": {"epsilon": 0.5, "n_landmarks": 5},
    "psvm.StabilitySelector": {"q": 1, "n_subsamples": 4},
    "psvm.KnockoffSelector": {"fdr": 0.9, "random_state": 0},
    "psvm.evaluation.RejectOption": {
        "estimator": psvm.PSVC(epsilon=0.5),
        "rule": "threshold",
        "threshold": 0.6,
    },
    "psvm.kernels.FeatureMap": {"kernel": psvm.kernels.Spectrum(2), "X": SEQUENCES},
    **{
        f"psvm.preprocessing.{name}": {"X": X @ X.T + np.eye(24)}
        for name in psvm.preprocessing.__all__
    },
    "psvm.kernels.FisherScores": {"X": SEQUENCES},
    "psvm.kernels.PositionLogOdds": {"X": SEQUENCES},
    "psvm.kernels.WeisfeilerLehman": {"X": [GRAPH] * 4},
    "psvm.kernels.ProfileWords": {"X": [np.full((4, 20), 0.05)] * 4, "threshold": 7.0, "k": 2},
    "psvm.kernels.Motif": {"patterns": ["AC.", "TT"]},
    "psvm.kernels.Mismatch": {"k": 2},
    "psvm.kernels.Normalized": {"kernel": psvm.kernels.RBF()},
    "psvm.kernels.Rescaled": {"kernel": psvm.kernels.RBF(), "scale": [1.0, 2.0, 3.0]},
    "psvm.kernels.Sum": {"k1": psvm.kernels.RBF(), "k2": psvm.kernels.Linear()},
    "psvm.kernels.Product": {"k1": psvm.kernels.RBF(), "k2": psvm.kernels.Linear()},
}
"""Parameters of constructors other than the defaults, for small fits."""
NUMBERS = {"psvm.PSVR", "psvm.PSVRCV", "psvm.comparators.LeastSquaresSVR"}
METHODS = {
    "predict": {},
    "decision_function": {},
    "predict_proba": {},
    "predict_log_proba": {},
    "transform": {},
    "inverse_transform": {},
    "rejects": {},
    "score": {},
    "stand_ins": {"n": 1},
    "evaluate": {"cv": 2},
    "significance": {"n_permutations": 2},
    "stability": {"q": 1},
    "report": {"path": "page.html"},
    "plot_path": {},
}
"""Methods of fitted estimators that take arguments, and other arguments than the defaults."""


@functools.cache
def fitted(name):
    """A fitted estimator of a class."""
    cls = public()[name]
    settings = dict(SETTINGS.get(name, {}))
    objects = settings.pop("X", X)
    model = cls(**settings)
    return model.fit(objects, Y if name in NUMBERS else LABELS[: len(objects)])


def _defaults(function):
    """The defaults of a signature."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


def _estimator_calls(name, cls):
    """Fits with malformed parameters and data, and the methods of a fitted model."""
    settings = _defaults(cls) | SETTINGS.get(name, {})
    data = {"X": settings.pop("X", X)}
    if "y" in inspect.signature(cls.fit).parameters:
        data["y"] = Y if name in NUMBERS else LABELS[: len(data["X"])]
    if "sample_weight" in inspect.signature(cls.fit).parameters:
        data["sample_weight"] = None

    def fit(**arguments):
        given = {name: arguments.pop(name) for name in data}
        model = cls(**arguments).fit(**given)
        act = next(f for f in ("predict", "transform") if hasattr(model, f))
        return getattr(model, act)(data["X"])

    yield Call(f"{name}.fit", fit, settings | data)
    for method, others in METHODS.items():
        if hasattr(fitted(name), method):
            function = getattr(fitted(name), method)
            known = inspect.signature(function).parameters
            arguments = {k: v for k, v in data.items() if k in known and k != "sample_weight"}
            if method == "inverse_transform":
                arguments["X"] = fitted(name).transform(data["X"])
            yield Call(f"{name}.{method}", function, _defaults(function) | arguments | others)


def _kernel_call(name, cls):
    sequences = not cls(**SETTINGS.get(name, {})).takes_vectors
    vectors = np.abs(X)  # kernels of counts and histograms take nothing else
    objects = SEQUENCES if sequences and name != "psvm.kernels.Constant" else vectors

    def evaluate(X, Z, **parameters):
        return cls(**parameters)(X, Z)

    settings = _defaults(cls) | SETTINGS.get(name, {})
    yield Call(name, evaluate, settings | {"X": objects, "Z": objects[:2]})


def _function_arguments():
    """Valid arguments of functions, those that have no default or a slow one."""
    model, number = fitted("psvm.PSVC"), fitted("psvm.PSVR")
    dyadic = psvm.PSVC(kernel="dyadic", epsilon=0.5).fit(X, CODES)
    search = GridSearchCV(psvm.PSVC(epsilon=0.5), {"gamma": [0.1, 1.0]}, cv=2).fit(X, CODES)
    obs = pd.DataFrame({"group": LABELS}, index=[str(i) for i in range(24)])
    folds = {"y_true": [CODES, CODES], "y_score": [Y, -Y]}
    splits = {"a": Y[:10], "b": Y[10:20]}
    path = psvm.epsilon_path(X, Y)
    band = psvm.evaluation.roc_band(CODES, Y, n_bootstrap=10, random_state=0)
    data = {"X": X, "y": CODES}
    survey = psvm.RowSurvey.of(X, CODES, labels=True)
    plan = psvm.MomentsPlan.make(psvm.PSVC(landmarks="random", n_landmarks=5), survey)
    sums = plan.moments(X, CODES)
    site = psvm.SiteMoments.of(plan, [(X, CODES)], least=1)
    return {
        "psvm.solve": {"K": X, "y": Y, "epsilon": 0.5},
        "psvm.epsilon_path": {"K": X, "y": Y, "n_epsilons": 5},
        "psvm.epsilon_paths": {"K": X, "y": Y, "n_epsilons": 5},
        "psvm.matrix_spectrum": {"K": X @ X.T},
        "psvm.cross_val_error": {"model": psvm.PSVC(epsilon=0.5), **data, "cv": 3},
        "psvm.SMO": {},
        "psvm.WorkingSet": {},
        "psvm.save": {"model": number, "path": "model.psvm"},
        "psvm.load": {"path": "saved.psvm"},
        "psvm.persistence.model_info": {"path": "saved.psvm"},
        "psvm.io.atomic_write": {"path": "new.txt"},
        "psvm.io.check_file": {"path": "table.csv"},
        "psvm.io.describe_file": {"path": "table.csv"},
        "psvm.io.read_table": {"path": "table.csv"},
        "psvm.io.write_table": {"data": X, "path": "new.csv"},
        "psvm.persistence.export_numpy": {"model": number},
        "psvm.persistence.export_text": {"model": number},
        "psvm.persistence.register": {"cls": Registered},
        "psvm.persistence.trusted_types": {},
        "psvm.evaluation.compare": {
            "models": {"a": psvm.PSVC(epsilon=0.5), "b": psvm.PSVC(epsilon=1.0)},
            **data,
            "cv": 2,
        },
        "psvm.evaluation.confidence": {"estimator": model, "X": X},
        "psvm.evaluation.support_similarity": {"estimator": model, "X": X},
        "psvm.evaluation.covering_bound": {"capacity": 2.0, "n_rows": 24, "log2_covering": 3.0},
        "psvm.evaluation.decision_range": {"estimator": model, "X": X, "y": LABELS},
        "psvm.evaluation.outlier_bound": {"n_rows": 24},
        "psvm.evaluation.range_bound": {"capacity": 2.0, "n_rows": 24, "log2_covering": 3.0},
        "psvm.problem.C_for_noise": {"noise": 0.1, "n_rows": 24},
        "psvm.problem.epsilon_for_noise": {"noise": 0.1, "n_columns": 5},
        "psvm.problem.from_variance_units": {"epsilon": 0.1, "C": 1.0, "n_rows": 24},
        "psvm.evaluation.has_information": {"estimator": dyadic, "X": X},
        "psvm.evaluation.reject_scores": {"estimator": model, "X": X, "y": LABELS},
        "psvm.evaluation.corrected_t_test": {**splits, "n_train": 10, "n_test": 10},
        "psvm.evaluation.paired_t_test": splits,
        "psvm.evaluation.wilcoxon_test": splits,
        "psvm.evaluation.five_by_two_t_test": splits,
        "psvm.evaluation.five_by_two_f_test": splits,
        "psvm.evaluation.delong_test": {"y_true": CODES, "score_a": Y, "score_b": X[:, 0]},
        "psvm.evaluation.error_reject_curve": {
            "y_true": CODES,
            "y_pred": CODES[::-1],
            "confidence": np.abs(Y),
        },
        "psvm.evaluation.mcnemar_test": {"wrong_a": WRONG, "wrong_b": WRONG[::-1]},
        "psvm.evaluation.permutation_test": {
            "estimator": psvm.PSVC(epsilon=0.5),
            **data,
            "cv": 2,
            "n_permutations": 2,
        },
        "psvm.evaluation.proportion_test": {"wrong_a": 3, "wrong_b": 5, "n_a": 20},
        "psvm.evaluation.split_proportion_test": {
            "wrong_a": [1, 2, 3],
            "wrong_b": [2, 2, 0],
            "n_test": 10,
        },
        "psvm.evaluation.roc_area": {"y_true": CODES, "y_score": Y},
        "psvm.evaluation.roc_band": {"y_true": CODES, "y_score": Y, "n_bootstrap": 10},
        "psvm.evaluation.roc_band_of_folds": folds,
        "psvm.evaluation.ErrorRejectDisplay.from_estimator": {
            "estimator": model,
            "X": X,
            "y": LABELS,
        },
        "psvm.evaluation.ErrorRejectDisplay.from_predictions": {
            "y_true": CODES,
            "y_pred": CODES[::-1],
            "confidence": np.abs(Y),
        },
        "psvm.kernels.from_prosite": {"pattern": "A-x(2)-[ST]."},
        "psvm.kernels.make_kernel": {
            "name": "rbf",
            "gamma": 1.0,
            "degree": 3,
            "coef0": 0.0,
            "theta": 1.0,
            "rho": 1.0,
            "zeta": 1.0,
        },
        "psvm.kernels.normalized": {"kernel": psvm.kernels.RBF()},
        "psvm.kernels.read_fasta": {"path": "some.fa"},
        "psvm.kernels.read_smiles": {"path": "some.smi"},
        "psvm.kernels.Sequence": {"letters": "ACGT"},
        "psvm.matrix.as_matrix": {"K": X},
        "psvm.evaluation.cross_validate": {"model": psvm.PSVC(epsilon=0.5), **data, "cv": 2},
        "psvm.selection.rank_features": {**data, "n_features": 1},
        "psvm.explore": {**data, "cv": 2, "max_features": 5},
        "psvm.report.write_report": {
            "model": dyadic,
            **data,
            "path": "page.html",
            "cv": 2,
            "n_features": 1,
        },
        "psvm.report.EpsilonPathDisplay.from_path": {"path": path},
        "psvm.report.EpsilonPathDisplay.from_estimator": {
            "estimator": model,
            "X": X,
            "y": LABELS,
        },
        "psvm.report.SearchDisplay": {"results": search.cv_results_},
        "psvm.report.SearchDisplay.from_estimator": {"search": search},
        "psvm.report.SpectrumDisplay.from_matrix": {"K": X @ X.T},
        "psvm.report.SpectrumDisplay.from_estimator": {"estimator": model, "X": X},
        "psvm.report.SupportDisplay.from_estimator": {"estimator": model},
        "psvm.report.SupportDisplay": {"alpha": X[:, 0], "names": list("abcdefghijklmnopqrstuvwx")},
        "psvm.selection.log_transformer": {},
        "psvm.selection.select": {
            "adata": AnnData(X.copy(), obs=obs),
            "groupby": "group",
            "copy": True,
        },
        "psvm.selection.gaussian_knockoffs": {"X": X},
        "psvm.selection.stability_parameters": {"n_features": 20, "q": 2},
        "psvm.report.StabilityDisplay": {"selector": fitted("psvm.StabilitySelector")},
        "psvm.report.StabilityDisplay.from_estimator": {
            "selector": fitted("psvm.StabilitySelector")
        },
        "psvm.selection.stand_ins": {"X": X, "selected": [0], "n": 1},
        "psvm.EpsilonPath.alpha_at": {"epsilon": 1.0},
        "psvm.evaluation.RocBand.plot": {},
        "psvm.MatrixSpectrum.plot": {},
        "psvm.RowBlocks": {"source": X, "y": Y},
        "psvm.RowSurvey.of": {"X": X, "y": Y, "labels": False},
        "psvm.MomentsPlan.make": {"model": psvm.PSVC(n_landmarks=5), "survey": survey},
        "psvm.MomentsPlan.moments": data,
        "psvm.SiteMoments.of": {"plan": plan, "blocks": psvm.RowBlocks(X, CODES), "least": 1},
        "psvm.fit_sites": {"model": psvm.PSVC(epsilon=0.5), "sites": [site]},
        "psvm.estimators.cluster_centres": {"X": X, "n_clusters": 2, "least": 2},
        "psvm.io.open_blocks": {"source": "table.csv", "target": "b"},
        "psvm.persistence.save_moments": {"site": site, "path": "new.moments"},
        "psvm.persistence.load_moments": {"path": "saved.moments"},
        "psvm.persistence.save_plan": {"plan": plan, "path": "new.plan"},
        "psvm.persistence.load_plan": {"path": "saved.plan"},
        "psvm.fit_moments": {"model": psvm.PSVC(epsilon=0.5), "plan": plan, "sums": sums},
        "psvm.Moments.of": {"K": X, "y": X[:, 0]},
        "psvm.Moments.coef": {"alpha": X[0]},
        "psvm.Moments.correlations": {"target": 0},
        "psvm.Moments.keep": {"columns": [0]},
        "psvm.Moments.squared_error": {"coef": X[0], "intercept": 1.0},
        **{
            f"psvm.selection.rankings.{name}": data
            for name in psvm.selection.rankings.__all__
            if name not in ("r2w2", "rfe")
        },
        "psvm.selection.rankings.r2w2": {**data, "max_iter": 2},
        "psvm.selection.rankings.rfe": data,
    }, {
        "psvm.EpsilonPath.alpha_at": path.alpha_at,
        "psvm.evaluation.RocBand.plot": band.plot,
        "psvm.MatrixSpectrum.plot": psvm.matrix_spectrum(X @ X.T).plot,
        "psvm.MomentsPlan.moments": plan.moments,
        **{
            f"psvm.Moments.{name}": getattr(psvm.Moments.of(X, X[:, 0]), name)
            for name in ("coef", "correlations", "keep", "squared_error")
        },
    }


class Registered(Kernel):
    """A class that a user registers."""

    def evaluate(self, X, Z):
        return X @ Z.T


DISPLAYS = {"ErrorRejectDisplay", "EpsilonPathDisplay", "SpectrumDisplay"}
"""Their constructors only keep a result; the methods that compute are called."""


@functools.cache
def calls():
    """All public callables with valid arguments, by name."""
    found, (arguments, methods) = [], _function_arguments()
    for name, thing in public().items():
        if name in EXEMPT or name.rsplit(".")[-1] in DISPLAYS:
            continue
        if isinstance(thing, type) and issubclass(thing, Kernel):
            found += _kernel_call(name, thing)
        elif hasattr(thing, "fit"):
            found += _estimator_calls(name, thing)
        else:
            found.append(Call(name, thing, _defaults(thing) | arguments[name]))
    for name in arguments.keys() - public().keys():
        function = methods.get(name) or _method(name)
        found.append(Call(name, function, _defaults(function) | arguments[name]))
    return tuple(sorted(found))


def _method(name):
    owner, _, method = name.rpartition(".")
    return getattr(public()[owner], method)


def _broken_csr(part, value):
    K = sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0))
    getattr(K, part)[2] = value
    return K


def _broken_coo():
    K = sp.coo_array(X)
    K.coords[1][3] = 10**6
    return K


def _masked():
    return np.ma.masked_array(X, np.abs(X) > 1.5)


def _object(*entries):
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


POOL = {
    "None": lambda: None,
    "True": lambda: True,
    "a word": lambda: "no such thing",
    "an empty string": lambda: "",
    "auto": lambda: "auto",
    "precomputed": lambda: "precomputed",
    "bytes": lambda: b"\xff\x00",
    "NaN": lambda: np.nan,
    "inf": lambda: np.inf,
    "-inf": lambda: -np.inf,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1": lambda: 1,
    "1.5": lambda: 1.5,
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "10**9": lambda: 10**9,
    "10**20": lambda: 10**20,
    "10**400": lambda: 10**400,
    "-10**400": lambda: -(10**400),
    "10**5000": lambda: 10**5000,
    "a complex number": lambda: 1j,
    "a fraction": lambda: fractions.Fraction(1, 3),
    "a decimal": lambda: decimal.Decimal("0.5"),
    "a float32 NaN": lambda: np.float32("nan"),
    "a scalar array": lambda: np.array(3.0),
    "NaT": lambda: np.datetime64("NaT"),
    "an empty list": lambda: [],
    "an empty matrix": lambda: np.empty((0, 3)),
    "no columns": lambda: np.empty((24, 0)),
    "three dimensions": lambda: np.zeros((24, 3, 2)),
    "seven ones": lambda: np.ones(7),
    "as many ones": lambda: np.ones(24),
    "another width": lambda: np.ones((24, 5)),
    "one row": lambda: X[:1],
    "a ragged list": lambda: [[1.0, 2.0], [3.0]],
    "a list of None": lambda: [None] * 24,
    "a list of strings": lambda: ["1", "x"] * 12,
    "a list of ints and strings": lambda: [1, "x"] * 12,
    "an object array": lambda: _object(*([{}] * 24)),
    "an object matrix": lambda: X.astype(object),
    "complex": lambda: X + 1j,
    "masked": _masked,
    "a masked vector": lambda: np.ma.masked_array(np.ones(24), np.arange(24) == 3),
    "with NaN": lambda: np.where(X > 1, np.nan, X),
    "with inf": lambda: np.where(X > 1, np.inf, X),
    "near the largest": lambda: 1e308 * np.sign(X),
    "tiny": lambda: 1e-310 * X,
    "strings": lambda: X.astype(str),
    "dates": lambda: np.full((24, 3), np.datetime64("2020-01-01")),
    "a record array": lambda: np.zeros(24, dtype=[("a", float), ("b", int)]),
    "truth values": lambda: X > 0,
    "constant": lambda: np.zeros((24, 3)),
    "sparse": lambda: sp.csr_array(X),
    "bad indices": lambda: _broken_csr("indices", 10**6),
    "negative indices": lambda: _broken_csr("indices", -(10**6)),
    "bad pointers": lambda: _broken_csr("indptr", 10**6),
    "bad coordinates": _broken_coo,
    "sparse NaN": lambda: sp.csc_array(np.where(X > 1, np.nan, X)),
    "sparse complex": lambda: sp.csr_array(X + 1j),
    "a data frame": lambda: pd.DataFrame(X, columns=list("abc")),
    "a frame of strings": lambda: pd.DataFrame({"a": ["x"] * 24, "b": [1] * 24}),
    "a frame with NA": lambda: pd.DataFrame({"a": pd.array([1, None] * 12, dtype="Int64")}),
    "an empty dict": dict,
    "a dict": lambda: {"a": 1, 2: None},
    "a set": lambda: {1.0, "x"},
    "a tuple": lambda: (1, "x"),
    "three numbers": lambda: (1.0, 2.0, 3.0),
    "a function": lambda: len,
    "a failing function": lambda: _raise_value_error,
    "a NaN function": lambda: lambda *arguments, **options: np.nan,
    "an object": object,
    "a class": lambda: dict,
    "a module": lambda: np,
    "an estimator": LogisticRegression,
    "an unfitted PSVC": psvm.PSVC,
    "a fitted PSVR": lambda: fitted("psvm.PSVR"),
    "a kernel": psvm.kernels.Spectrum,
    "a generator": lambda: iter([1.0, 2.0]),
    "a range": lambda: range(24),
    "a slice": lambda: slice(None),
    "a random generator": lambda: np.random.default_rng(0),
    "an array of epsilon": lambda: np.array([0.5, 0.1]),
    "sequences": lambda: list(SEQUENCES),
    "an empty sequence": lambda: ["ACG", ""],
    "unequal sequences": lambda: ["ACGT", "AC"],
}
"""Values that are malformed for most arguments, each made anew."""


CALLABLE = {"a function", "a failing function", "a NaN function", "a class", "a kernel"}


def _raise_value_error(*arguments, **options):
    raise ValueError("The kernel gives up: a message of the user's own.")


class Endless(Exception):
    """A call did not end."""


def _alarm(*_):
    raise Endless(f"no answer within {SECONDS} seconds")


@pytest.fixture
def guarded(tmp_path, monkeypatch):
    """A directory of its own, a limit of memory, an alarm, and no figure left open."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(tmp_path)
    with open("table.csv", "w") as table:
        table.write("a,b\n1,2\n3,4\n")
    Path("some.smi").write_text("CCO ethanol\n")
    with open("some.fa", "w") as fasta:
        fasta.write(">a\nACGT\n")
    psvm.save(fitted("psvm.PSVR"), "saved.psvm")
    site = _function_arguments()[0]["psvm.persistence.save_moments"]["site"]
    psvm.persistence.save_moments(site, "saved.moments")
    psvm.persistence.save_plan(site.plan, "saved.plan")
    calls()
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, hard))
    previous = signal.signal(signal.SIGALRM, _alarm)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, previous)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    pyplot.close("all")


def complaint(call, names, kinds):
    """What is wrong with the answer of a callable to malformed arguments; None if nothing is."""
    arguments = call.arguments | {n: POOL[k]() for n, k in zip(names, kinds, strict=True)}
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("always")
        signal.alarm(SECONDS)
        try:
            result = call.function(**arguments)
        except (ValueError, TypeError) as error:
            return _silent(call, names, kinds, error)
        except OSError as error:
            return None if set(names) & set(FILES) else repr(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
            _close_figures()
    if not _finite(result):
        return f"a result that is not finite: {result!r}"
    return next((f"a warning: {w.message!r}" for w in caught if not _expected(w)), None)


def _close_figures():
    from matplotlib import pyplot

    pyplot.close("all")


def _silent(call, names, kinds, error):
    """The complaint about an error that neither names an argument nor explains itself."""
    text = str(error)
    theirs = getattr(call.function, "__module__", "").startswith("sklearn.")
    if theirs or set(kinds) & CALLABLE:  # the message is for others to write
        return None
    # What does not go together is blamed on either.
    if any(re.search(rf"\b{name}\b", text) for name in call.arguments) or EXPLAINED.search(text):
        return None
    return f"{type(error).__name__} that names nothing: {text}"


def _expected(warning):
    return issubclass(warning.category, OURS) or FROM_OTHERS.search(str(warning.message))


def _finite(result):
    """Whether the numbers of an array or of a solution are finite."""
    if isinstance(result, psvm.Solution):
        return _finite(result.alpha) and _finite(result.intercept)
    if isinstance(result, psvm.EpsilonPath):
        return _finite(result.alphas)
    if sp.issparse(result):
        return _finite(result.data)
    if isinstance(result, np.ndarray | np.floating | float):
        return np.asarray(result).dtype.kind != "f" or bool(np.isfinite(result).all())
    return True


def _legal(name, kind):
    """Whether a value is worth a try: not what is legal but takes long, or starts processes."""
    if name == "n_jobs":
        return kind not in ("-1", "10**9", "10**20", "as many ones")
    return not (name in COUNTS and kind in ("10**9", "10**20"))


def singles():
    """All calls with one malformed argument."""
    return [
        (call, (name,), (kind,))
        for call in calls()
        for name in call.arguments
        for kind in POOL
        if _legal(name, kind)
    ]


def pairs(seed, count):
    """Calls with two malformed arguments."""
    random = np.random.default_rng(seed)
    several = [call for call in calls() if len(call.arguments) > 1]
    chosen = []
    for _ in range(count):
        call = several[random.integers(len(several))]
        names = random.choice(list(call.arguments), size=2, replace=False)
        kinds = random.choice(list(POOL), size=2)
        if all(map(_legal, names, kinds)):
            chosen.append((call, tuple(map(str, names)), tuple(map(str, kinds))))
    return chosen


def tried(cases):
    """The complaints about some calls, in words."""
    found = []
    for call, names, kinds in cases:
        problem = complaint(call, names, kinds)
        if problem is not None:
            given = ", ".join(f"{n}={k}" for n, k in zip(names, kinds, strict=True))
            found.append(f"{call.name}({given}): {problem[:300]}")
    return found


def test_every_public_callable_is_tried():
    listed = {call.name for call in calls()}
    for name in public():
        known = name in EXEMPT or any(n == name or n.startswith(name + ".") for n in listed)
        assert known, f"{name} is public; tell the fuzz its valid arguments"
    assert len(EXEMPT - public().keys()) == 0


def test_valid_arguments_are_valid(guarded):
    for call in calls():
        assert _finite(call.function(**call.arguments)), call.name


def test_some_malformed_arguments(guarded):
    random = np.random.default_rng(0)
    every = [case for case in singles() if not case[0].name.endswith("report")]  # they take long
    some = [every[i] for i in random.choice(len(every), size=N_SHORT, replace=False)]
    problems = tried(some)
    assert not problems, "\n".join(problems)


@pytest.mark.slow
def test_all_malformed_arguments(guarded):
    problems = tried(singles())
    assert not problems, "\n".join(problems)


@pytest.mark.slow
def test_pairs_of_malformed_arguments(guarded):
    problems = tried(pairs(0, N_PAIRS))
    assert not problems, "\n".join(problems)
