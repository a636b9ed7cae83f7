"""Pairwise data: PSVC on the matrix as it was measured, SVC on what it has to be made into.

Cross-validation of binary tasks (one class against the rest) with ten stratified folds (five for
newsgroups), the same for all. The hyper-parameters of every method are chosen by the same three
inner folds: C of SVC among eight values, epsilon of PSVC among eight values with C = inf, or
epsilon and C together. A training fold is a submatrix: neither rows nor columns of test objects
are used.

PSVC takes similarities and dissimilarities as they are; or, "centred", dissimilarities after
`psvm.preprocessing.DoubleCentering`, which are indefinite unless Euclidean. SVC needs a positive
semidefinite kernel: the same matrix after `psvm.preprocessing.SpectrumCorrection`. Transformers are
fitted to the training matrix and applied to the rows of test objects. "rows" is a linear SVC whose
features are the standardised rows of the matrix.
"""

import argparse
import time
import warnings
from functools import partial
from itertools import product

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from datasets import data_dir, load
from psvm import PSVC
from psvm.preprocessing import DoubleCentering, SpectrumCorrection, Symmetrize
from report import environment, markdown_table, write_section

SETS = {
    "cat_cortex_65": "K",
    "protein_213": "D",
    "aural_sonar": "K",
    "balls3d": "D",
    "newsgroups": "D",
}
EPSILONS = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
"""In units of ``sqrt(L)``, the largest value that K̃'y can have."""
BOUNDS = [np.inf, 0.1, 0.03]
"""C of PSVC in the same units."""
CS = [1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1e3, 1e4]
"""C of SVC for similarities with a root mean square of 1."""


def tasks(only):
    """Name, matrix, whether it holds dissimilarities, and -1/+1 labels."""
    for name in only:
        key = SETS[name]
        d = load(f"dyadic/{name}")
        M, classes = d[key].astype(float), np.unique(d["y"])
        for c in classes[: 1 if len(classes) == 2 else None]:
            label = f"{name}: {d['class_names'][c]}" if len(classes) > 2 else name
            yield label, M, key == "D", np.where(d["y"] == c, 1, -1)


def as_it_is(dissimilar):
    return FunctionTransformer()


def rows_as_features(dissimilar):
    return StandardScaler()


def similarities(dissimilar):
    """Distances are centred; all are symmetrised, which a P-SVM would not need."""
    return make_pipeline(DoubleCentering() if dissimilar else FunctionTransformer(), Symmetrize())


def corrected(method, dissimilar):
    return make_pipeline(similarities(dissimilar), SpectrumCorrection(method))


def psvm_grid(bounds, A):
    t = np.sqrt(len(A))
    pairs = product(EPSILONS, bounds)
    return [PSVC(kernel="precomputed", epsilon=e * t, C=C * t) for e, C in pairs]


def svm_grid(kernel, A):
    # C for similarities, or inner products of rows, with a root mean square of about 1
    scale = np.sqrt(np.mean(A**2)) if kernel == "precomputed" else len(A)
    return [SVC(kernel=kernel, C=C / scale, max_iter=100_000) for C in CS]


METHODS = {
    "PSVC, as it is": (as_it_is, partial(psvm_grid, BOUNDS[:1])),
    "PSVC with C, as it is": (as_it_is, partial(psvm_grid, BOUNDS)),
    "PSVC, centred": (similarities, partial(psvm_grid, BOUNDS[:1])),
    "PSVC with C, centred": (similarities, partial(psvm_grid, BOUNDS)),
    **{
        f"SVC, {how}": (partial(corrected, how), partial(svm_grid, "precomputed"))
        for how in ("clip", "flip", "shift")
    },
    "SVC, rows": (rows_as_features, partial(svm_grid, "linear")),
}


CENTRED = {"PSVC, centred": "PSVC, as it is", "PSVC with C, centred": "PSVC with C, as it is"}
"""Methods that differ for dissimilarities only."""


def transformed(prepare, M, dissimilar, fit, new):
    """The training matrix and the rows of new objects after a transformer."""
    step = prepare(dissimilar)
    return step.fit_transform(M[np.ix_(fit, fit)]), step.transform(M[np.ix_(new, fit)])


def grid_errors(method, M, dissimilar, y, fit, new):
    prepare, grid = method
    A, B = transformed(prepare, M, dissimilar, fit, new)
    return [np.mean(m.fit(A, y[fit]).predict(B) != y[new]) for m in grid(A)]


def tuned(method, M, dissimilar, y, fit, new):
    """Wrong predictions of new objects and support objects of the model chosen on the others."""
    inner = StratifiedKFold(3, shuffle=True, random_state=1).split(fit, y[fit])
    errors = [grid_errors(method, M, dissimilar, y, fit[a], fit[b]) for a, b in inner]
    prepare, grid = method
    A, B = transformed(prepare, M, dissimilar, fit, new)
    model = grid(A)[int(np.argmin(np.mean(errors, axis=0)))].fit(A, y[fit])
    return np.sum(model.predict(B) != y[new]), len(model.support_)


def run(only):
    rows, sums = [], {name: [] for name in METHODS}
    for label, M, dissimilar, y in tasks(only):
        n_folds = 10 if len(y) <= 250 else 5
        folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(M, y))
        row = [label]
        for name, method in METHODS.items():
            if name in CENTRED and not dissimilar:  # similarities are centred anyway
                sums[name].append(sums[CENTRED[name]][-1])
                row.append("same")
                continue
            wrong, support = zip(
                *(tuned(method, M, dissimilar, y, a, b) for a, b in folds), strict=True
            )
            sums[name].append((100 * sum(wrong) / len(y), np.mean(support)))
            row.append("{:.1f} ({:.0f})".format(*sums[name][-1]))
        rows.append(row)
        print(*row, sep="\t", flush=True)
    rows.append(["mean", *("{:.1f} ({:.0f})".format(*np.mean(s, axis=0)) for s in sums.values())])
    print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["task", *METHODS], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SETS, help="print these sets, write nothing")
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.filterwarnings("ignore", "The precomputed matrix looks like distances")
    began = time.process_time()
    with threadpool_limits(1):
        table = run(options.only or SETS)
    took = f"The command took {time.process_time() - began:.0f} s of processor time."
    if not options.only:
        write_section("dyadic", f"{environment()} {took}\n\n{table}")
