"""The gene selection protocol on measured genes: what the report and the lecture notes share."""

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from datasets import load
from psvm import GeneSelector
from psvm.selection import PresentCall, QuantileNormalizer, RangeClipper, log_transformer

N_FOLDS = 10
INNER_FOLDS = 10
NU = {"nu": [0.2, 0.3, 0.4, 0.5]}
"""The values of the technical report, section 3.3.3."""
FLOOR = 16.0
"""Raw values below are not told apart by the logarithm."""


def read(name):
    """Genes as a DataFrame with names of the samples, and labels of 0 and 1."""
    d = load(f"dyadic/{name}")
    X = pd.DataFrame(d["X"].astype(float)).add_prefix("g")
    X.index = [f"s{i}" for i in range(len(X))]
    return X, np.unique(d["y"], return_inverse=True)[1]


def noise_p_values(X):
    """Probabilities that raw values are noise around zero.

    Differences of probes are negative by noise alone, so that the negative values of a sample give
    its standard deviation. A sample without negative values has no such noise.
    """
    below = np.where(X < 0, X, np.nan)
    deviation = np.sqrt(np.nanmean(below**2, axis=1, keepdims=True))
    return pd.DataFrame(norm.sf(X / deviation), index=X.index, columns=X.columns)


def protocol(kind, X, cv=None):
    """The selector of the lecture notes, of the report, or ours with its defaults."""
    if kind == "defaults":
        filled = SimpleImputer(keep_empty_features=True) if X.isna().any(axis=None) else None
        return GeneSelector(preprocessing=filled, cv=cv)
    if kind == "report":
        filled = SimpleImputer(keep_empty_features=True) if X.isna().any(axis=None) else None
        return GeneSelector(preprocessing=filled, param_grid=NU, fit_intercept=False, cv=cv)
    steps = make_pipeline(
        log_transformer(FLOOR), QuantileNormalizer(), PresentCall(noise_p_values(X), q1=0.05, q2=3)
    )
    return GeneSelector(
        preprocessing=steps, param_grid=NU, fit_intercept=False, clip="above", cv=cv
    )


def labels(y, shuffle):
    """The labels, or balanced ones without meaning for a positive seed."""
    return np.random.default_rng(shuffle).permutation(np.arange(len(y)) % 2) if shuffle else y


def honest_fold(name, kind, repetition, fold, shuffle=0):
    """Labels and decision values of the samples of an outer fold, which nothing has seen."""
    X, y = read(name)
    y = labels(y, shuffle)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=repetition)
    train, test = list(folds.split(X, y))[fold]
    selector = protocol(kind, X, cv=INNER_FOLDS).fit(X.iloc[train], y[train])
    return np.column_stack([y[test], selector.decision_function(X.iloc[test])]).tolist()


def chosen(name, kind, shuffle=0):
    """The protocol on all samples: number of genes, inner error; then the error, area and
    best-threshold error of its classifier, cross-validated with the genes of all samples."""
    X, y = read(name)
    y = labels(y, shuffle)
    selector = protocol(kind, X, cv=INNER_FOLDS if shuffle else None).fit(X, y)
    Z = X if selector.preprocessing_ is None else selector.preprocessing_.transform(X)
    columns = np.asarray(Z)[:, selector._scaled.index]
    model = make_pipeline(RangeClipper(), StandardScaler(), selector.classifier_)
    values = cross_val_predict(model, columns, y, cv=LeaveOneOut(), method="decision_function")
    return [selector.n_features_, 100 * selector.inner_error_, *scores(y, values)]


def scores(y, values):
    """Error in percent, area under the curve, and the error of the best threshold in percent."""
    thresholds = [-np.inf, *values]
    best = min(np.mean((values > threshold) != (y == 1)) for threshold in thresholds)
    return [
        100 * float(np.mean((values > 0) != (y == 1))),
        float(roc_auc_score(y, values)),
        100 * float(best),
    ]


def honest(run, name, kind, repetitions=1, shuffle=0):
    """Scores of the honest predictions, one row per repetition of the outer folds."""
    found = []
    for repetition in range(repetitions):
        tasks = [(name, kind, repetition, fold, shuffle) for fold in range(N_FOLDS)]
        pairs = np.vstack(run.map(honest_fold, tasks))
        found.append(scores(pairs[:, 0], pairs[:, 1]))
    return np.array(found)


def larger_class(name):
    """Error in percent of always predicting the larger class."""
    y = read(name)[1]
    return 100 * (1 - np.bincount(y).max() / len(y))
