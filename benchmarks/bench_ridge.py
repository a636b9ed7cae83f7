"""What a ridge would bring: sparse and full kernel ridge beside GridSearchCV(SVC).

    python benchmarks/bench_ridge.py --splits 16

An experiment outside the package. The ridge of all objects is
``min ||y - b - K a||^2 + ridge a'K a``; gamma and ridge have its smallest leave-one-out loss, which
is exact. The sparse machine takes its support from the path of the P-SVM with that gamma, and
minimises the same over the support. Of the points of the path whose fit differs from that of all
objects by at most `NEAR` of its variance, it is the one with the smallest leave-one-out loss.
"""

import argparse
import warnings

import numpy as np
from scipy.linalg import eigh, inv
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from bench_search import FIRST, GRID, SETS, WIDTHS, fitted, prepared
from datasets import data_dir
from psvm import PSVC
from psvm.estimators._judge import ClassesJudge, PairJudge
from psvm.solvers import exact_path
from report import environment, markdown_table, write_section

GAMMAS = 3.0 ** np.arange(-4, 3)
"""In units of "scale"."""
RIDGES = 10.0 ** np.arange(-4, 2.1, 0.5)
NEAR = 0.03
EPSILONS = 10.0 ** (-np.arange(1, 31) / 5)
EPSILONS_SHARED = 10.0 ** (-np.arange(2, 13) / 4)
"""Shares of epsilon_max."""
DENSEST, ROUNDING = 0.9, 1e-12


class Rows:
    """Training rows, whose equal ones leave together, and what leave-one-out values are worth."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.classes = np.unique(y)
        ones = self.classes[1:] if len(self.classes) == 2 else self.classes
        self.Y = np.where(y == ones[:, None], 1.0, -1.0)
        self.mean = self.Y.mean(axis=1, keepdims=True)
        _, self.first, group = np.unique(X, axis=0, return_index=True, return_inverse=True)
        self.group = group.ravel()
        self.counts = np.bincount(self.group)
        self.pair = len(self.Y) == 1
        kind, target = (PairJudge, self.Y[0]) if self.pair else (ClassesJudge, self.Y)
        self.judge = kind(np.ones(len(y)), self.group, target)

    def verdict(self, fit, leverage):
        """The loss of the values without each row, and what they add to the constant."""
        residual = self.Y - fit
        mean = np.array([np.bincount(self.group, r) for r in residual]) / self.counts
        mean = mean[:, self.group]
        left = np.maximum(1.0 - self.counts[self.group] * leverage, 1e-10)
        values = self.Y - (residual - mean) - mean / left
        losses, shifts = self.judge(values if self.pair else values[None])
        return float(self.judge.mean(losses)[0]), np.ravel(shifts)

    def error(self, f, shifts, y):
        """Percent of wrong answers for decision values of new rows."""
        f = f + shifts[:, None]
        place = (f[0] > 0).astype(int) if self.pair else f.argmax(axis=0)
        return 100 * np.mean(self.classes[place] != y)


def ridge_of_all(rows, unit):
    """gamma, the ridge and the fit with the smallest leave-one-out loss."""
    n, best = len(rows.y), (np.inf,)
    for gamma in unit * GAMMAS:
        K = rbf_kernel(rows.X, gamma=gamma)
        means = K.mean(axis=0)
        values, V = eigh(K - means - means[:, None] + K.mean())
        values = np.maximum(values, 0.0)
        scores = V.T @ (rows.Y - rows.mean).T
        for ridge in RIDGES:
            share = values / (values + ridge)
            fit = ((V * share) @ scores).T + rows.mean
            loss, _ = rows.verdict(fit, 1 / n + np.square(V) @ share)
            if loss < best[0]:
                best = loss, gamma, ridge, fit
    return best[1:]


class Refit:
    """The ridge of some columns: for a support, its fit, loss and values of new rows."""

    def __init__(self, rows, gamma, ridge):
        self.rows, self.gamma, self.ridge = rows, gamma, ridge
        self.centres = rows.X[rows.first]
        K = rbf_kernel(rows.X, self.centres, gamma=gamma)
        self.means = K.mean(axis=0)
        self.norms = np.sqrt(np.square(K - self.means).sum(axis=0))
        self.Z = (K - self.means) / self.norms
        self.Q, self.l = self.Z.T @ self.Z, self.Z.T @ (rows.Y - rows.mean).T
        self.penalty = ridge * K[rows.first] / np.outer(self.norms, self.norms)

    def __call__(self, support):
        """The fit, its leave-one-out loss, and a function that has the error of new rows."""
        both, Z = np.ix_(support, support), self.Z[:, support]
        M = inv(self.Q[both] + self.penalty[both] + ROUNDING * np.eye(len(support)))
        alpha, rows = M @ self.l[support], self.rows
        fit = (Z @ alpha).T + rows.mean
        leverage = 1 / len(rows.y) + ((Z @ M) * Z).sum(axis=1)
        loss, shifts = rows.verdict(fit, leverage)

        def error(X, y):
            K = rbf_kernel(X, self.centres[support], gamma=self.gamma)
            f = ((K - self.means[support]) / self.norms[support] @ alpha).T + rows.mean
            return rows.error(f, shifts, y)

        return fit, loss, error

    def supports(self):
        """Larger and larger supports along the path of the P-SVM."""
        if self.rows.pair:
            l = self.l[:, 0]
            path = exact_path(self.Q, l, np.inf, np.abs(l).max() * EPSILONS, len(self.rows.y))
            yield from (np.flatnonzero(alpha) for alpha in path)
            return
        for epsilon in EPSILONS_SHARED:
            model = PSVC(gamma=self.gamma, epsilon=epsilon, epsilon_unit="max", landmarks="all")
            model.set_params(multi_class="shared", threshold="mean")
            yield np.flatnonzero(
                model.fit(self.centres, self.rows.y[self.rows.first]).alpha_.any(0)
            )


def sparse_ridge(refit, whole):
    """The support and the error function of the chosen point of the path."""
    best, spread = (np.inf,), np.square(whole - refit.rows.mean).mean()
    for support in refit.supports():
        if not len(support):
            continue
        fit, loss, error = refit(support)
        distance = np.square(fit - whole).mean() / spread
        if distance <= NEAR and loss < best[0]:
            best = loss, support, error
        if distance < NEAR / 30 or len(support) > DENSEST * len(refit.centres):
            break
    return best[1:] if len(best) > 1 else (support, error)


def one_split(split):
    """Errors of SVC, the ridge of all and the sparse one; support objects of the last and SVC."""
    X, y, X_test, y_test = prepared(split, False)
    unit = 1 / (X.shape[1] * X.var())
    theirs, _, _ = fitted(GridSearchCV(SVC(), GRID | {"gamma": unit * WIDTHS}, cv=5), X, y)
    errors = [100 * (1 - theirs.score(X_test, y_test))]
    rows = Rows(X, y)
    gamma, ridge, whole = ridge_of_all(rows, unit)
    refit = Refit(rows, gamma, ridge)
    errors.append(refit(np.arange(len(refit.centres)))[2](X_test, y_test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        support, error = sparse_ridge(refit, whole)
    errors.append(error(X_test, y_test))
    return *errors, len(support), len(theirs.best_estimator_.support_)


def run(names, first, n_splits):
    rows = []
    for name in names:
        found = np.array([one_split(SETS[name](i)) for i in range(first, first + n_splits)])
        cells = [name, f"{found[:, 0].mean():.2f}"]
        for errors in found[:, 1:3].T:
            beyond = errors - found[:, 0]
            cells.append(f"{beyond.mean():+.2f} ({beyond.std(ddof=1) / np.sqrt(n_splits):.2f})")
        rows.append([*cells, " / ".join(f"{size:.0f}" for size in found[:, 3:].mean(axis=0))])
        print(*rows[-1], sep="\t", flush=True)
    header = ["set", "SVC", "ridge of all - SVC", "sparse ridge - SVC"]
    return markdown_table([*header, "support objects of sparse ridge / SVC"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--first", type=int, default=FIRST)
    parser.add_argument("--only", nargs="+", choices=list(SETS))
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    with threadpool_limits(1):
        table = run(options.only or SETS, options.first, options.splits)
    if not options.only and options.first == FIRST:
        write_section("ridge", environment() + "\n\n" + table)
