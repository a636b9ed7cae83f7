"""Fits one problem with one solver, on request; run by `peers.py`, if need be by another Python.

A request is a line of JSON: the problem's file (`peers.Problem`), the solver, epsilon, C, tol. The
answer is a line of JSON with the seconds; alpha is saved beside the problem. Data is loaded and
brought into the form that the solver likes before the clock starts. A request without epsilon loads
the data and lets the solver compile itself on a small problem.
"""

import json
import os
import sys
import time
import warnings

import numpy as np
import scipy.sparse as sp

warnings.filterwarnings("ignore")
PROBLEMS = {}
clock = time.process_time if os.environ.get("OMP_NUM_THREADS") == "1" else time.perf_counter
"""With one thread the time of the processor: other programs that run meanwhile count for nobody."""


def load(path):
    """K as measured, the columns divided by their centred norms (``scaled``), and y."""
    if path not in PROBLEMS:
        PROBLEMS.clear()
        with np.load(path) as d:
            if "data" in d:
                kind = sp.csr_matrix if str(d["format"]) == "csr" else sp.csc_matrix
                K = kind((d["data"], d["indices"], d["indptr"]), shape=d["shape"])
                scaled = K @ sp.diags(1 / d["norms"])
                scaled = sp.csc_matrix(scaled)
            else:
                K = d["K"]
                scaled = None
            PROBLEMS[path] = {"K": K, "y": d["y"], "m": d["means"], "s": d["norms"], "X": scaled}
    return PROBLEMS[path]


def standardised(p):
    """The centred and scaled matrix in Fortran order, made once; sparse ones stay uncentred."""
    if p["X"] is None:
        X = np.array(p["K"], order="F")
        X -= X.mean(axis=0)
        X /= np.sqrt(np.square(X).sum(axis=0))
        p["X"] = X
    return p["X"]


def fit_psvm(p, epsilon, C, tol, smo=False):
    import psvm

    solver = psvm.SMO() if smo else "auto"
    began = clock()
    solution = psvm.solve(p["K"], p["y"], C, epsilon=epsilon, tol=tol, solver=solver)
    return clock() - began, solution.alpha


def fit_estimator(make):
    """A Lasso of the scikit-learn kind: alpha = epsilon / L, an intercept if K is sparse."""

    def fit(p, epsilon, C, tol):
        X, y = standardised(p), p["y"] - p["y"].mean()
        model = make(epsilon / len(y), sp.issparse(X), tol)
        began = clock()
        model.fit(X, y)
        return clock() - began, np.asarray(model.coef_).ravel()

    return fit


def fit_from_raw(make):
    """The same with the time for standardising K, which psvm has within its own."""

    def fit(p, epsilon, C, tol):
        began = clock()
        X = standardised(dict(p, X=None))
        prepared = clock() - began
        seconds, alpha = fit_estimator(make)(dict(p, X=X), epsilon, C, tol)
        return prepared + seconds, alpha

    return fit


def lasso(alpha, intercept, tol):
    from sklearn.linear_model import Lasso

    return Lasso(alpha=alpha, fit_intercept=intercept, tol=tol, max_iter=10**6)


def lasso_gram(alpha, intercept, tol):
    from sklearn.linear_model import Lasso

    return Lasso(alpha=alpha, fit_intercept=intercept, tol=tol, max_iter=10**6, precompute=True)


def celer(alpha, intercept, tol):
    from celer import Lasso

    return Lasso(alpha=alpha, fit_intercept=intercept, tol=tol, max_iter=1000, max_epochs=10**6)


def skglm(alpha, intercept, tol):
    from skglm import Lasso

    return Lasso(alpha=alpha, fit_intercept=intercept, tol=tol, max_iter=1000, max_epochs=10**6)


def fit_adelie(p, epsilon, C, tol):
    import adelie as ad

    X, y = standardised(p), p["y"] - p["y"].mean()
    sparse = sp.issparse(X)
    matrix = ad.matrix.sparse(X, method="naive") if sparse else ad.matrix.dense(X, method="naive")
    began = clock()
    state = ad.grpnet(
        X=matrix,
        glm=ad.glm.gaussian(y),
        lmda_path=np.array([epsilon / len(y)]),
        intercept=sparse,
        tol=tol,
        max_iters=10**7,
        early_exit=False,
        progress_bar=False,
        n_threads=int(os.environ["OMP_NUM_THREADS"]),
    )
    return clock() - began, state.betas.toarray()[-1]


SOLVERS = {
    "psvm": fit_psvm,
    "SMO": lambda *a: fit_psvm(*a, smo=True),
    "Lasso": fit_estimator(lasso),
    "Lasso(precompute)": fit_estimator(lasso_gram),
    "from raw K: Lasso(precompute)": fit_from_raw(lasso_gram),
    "celer": fit_estimator(celer),
    "skglm": fit_estimator(skglm),
    "adelie": fit_adelie,
}


def repeated(fit, *arguments):
    """Median seconds of up to five short fits in a row: the first one finds its memory cold."""
    times, alpha = [], None
    while not times or (len(times) < 5 and sum(times) < 0.5):
        seconds, alpha = fit(*arguments)
        times.append(seconds)
    return float(np.median(times)), alpha


def warm_up(fit, p):
    """Compile what the solver compiles, and standardise."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(20, 10))
    K = sp.csc_matrix(K) if sp.issparse(p["K"]) else K
    fit({"K": K, "y": rng.normal(size=20), "X": K if sp.issparse(K) else None}, 1.0, np.inf, 1e-3)
    standardised(p)


def main():
    answers, sys.stdout = sys.stdout, sys.stderr  # peers may print
    for line in sys.stdin:
        request = json.loads(line)
        try:
            p = load(request["problem"])
            if "epsilon" not in request:
                warm_up(SOLVERS[request["solver"]], p)
                print(json.dumps({}), file=answers, flush=True)
                continue
            C = np.inf if request["C"] is None else request["C"]
            fit = SOLVERS[request["solver"]]
            seconds, alpha = repeated(fit, p, request["epsilon"], C, request["tol"])
            np.save(request["alpha"], alpha)
            answer = {"seconds": seconds}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
