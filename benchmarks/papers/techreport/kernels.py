"""Tables of the technical report: kernels of vectors, classification (Table 1).

Every method gets the same folds and the same search over regularisation and kernel: a coarse grid,
then a fine one around the best point, as the report describes it for its regressions. Its own grids
for classification are not printed.
"""

from functools import lru_cache

import numpy as np
from scipy.stats import false_discovery_control, norm
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, NuSVC

from datasets import raetsch
from papers.runner import Section, mean_sd, table
from papers.techreport.search import SMALL, SmallEpsilon, coarse_to_fine
from psvm import PSVC, PSVCCV
from psvm.comparators import KernelFisherDiscriminant
from report import markdown_table

METHODS = ("C-SVM", "nu-SVM", "KFD", "P-SVM")
KERNELS = ("RBF", "POL", "PLU")
SETS = ("thyroid", "heart", "breast_cancer", "banana", "german")
PUBLISHED = {  # Table 1: errors in percent, by method and kernel
    "thyroid": ((5.11, 4.51, 4.96), (5.15, 4.04, 4.83), (4.96, 6.52, 5.00), (4.71, 9.44, 5.08)),
    "heart": (
        (16.67, 18.26, 16.33),
        (16.87, 17.44, 18.47),
        (17.82, 22.53, 17.80),
        (16.18, 16.67, 16.54),
    ),
    "breast_cancer": (
        (26.94, 26.87, 26.48),
        (27.69, 26.69, 30.16),
        (27.53, 31.30, 27.19),
        (26.78, 26.40, 26.66),
    ),
    "banana": (
        (11.88, 12.09, 11.81),
        (11.67, 12.72, 11.74),
        (12.32, 14.04, 12.14),
        (11.59, 14.93, 11.52),
    ),
    "german": (
        (26.51, 27.27, 26.88),
        (27.14, 27.13, 28.60),
        (26.58, 30.96, 26.90),
        (26.45, 25.87, 26.65),
    ),
}
REDUCED = {"banana": 200, "german": 200}
"""Training points where the report takes the first of a split only."""
FIRST = {  # coarse values of sigma, eta and rho
    "RBF": (0.5, 1.5, 4.5, 13.5),
    "POL": (0.1, 1.0, 10.0, 100.0),
    "PLU": (0.1, 1.0, 10.0, 100.0),
}
SECOND = {"RBF": (0,), "POL": (1, 2, 4), "PLU": (1, 2, 4)}
"""Values of delta and zeta."""
COARSE = {  # C of the SVM, regularisation of KFD, C of the P-SVM for columns of variance one
    "C-SVM": (0.1, 3.0, 100.0, 3000.0),
    "KFD": (1e-4, 1e-2, 1.0, 100.0),
    "P-SVM": (0.01, 0.1, 1.0, 10.0),
}
NUS = tuple(np.arange(1, 10) / 10)
ALPHA = 0.05
NEAR = 1.0
"""Points of error that a grid of one's own may add or take."""


def points(name, split):
    """Training and test points of a split, as the report takes them."""
    X, y, train, test = raetsch(name)
    a, b = train[split][: REDUCED.get(name)], test[split]
    return X[a], y[a], X[b], y[b]


def gram(kernel, first, second, X, Z):
    """The kernel between rows of X and Z."""
    if kernel == "POL":
        return (X @ Z.T + first) ** second
    distance = euclidean_distances(X, Z)
    if kernel == "RBF":
        return np.exp(-(distance**2) / (2 * first**2))
    return (distance + first) ** -float(second)


def machine(method, value):
    """A machine for a matrix between training points, whose diagonal has the mean one."""
    if method == "C-SVM":
        return SVC(C=value, kernel="precomputed", max_iter=100_000)
    if method == "nu-SVM":
        return NuSVC(nu=value, kernel="precomputed", max_iter=100_000)
    if method == "KFD":
        return KernelFisherDiscriminant(reg=value, covariance="separate", kernel="precomputed")
    return SmallEpsilon(value, "classification")


def wrong(model, K, y, new, fit):
    """Errors among the new rows; all of them if the parameters are infeasible (nu-SVM)."""
    try:
        model.fit(K[np.ix_(fit, fit)], y[fit])
    except ValueError:
        return len(new)
    return int(np.sum(model.predict(K[np.ix_(new, fit)]) != y[new]))


def searched(method, kernel, X, y):
    """The best value of the method's parameter, and of the kernel's two."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))

    @lru_cache(maxsize=1)
    def matrix(first, second):
        K = gram(kernel, first, second, X, X)
        return K / (np.trace(K) / len(K))

    def losses(value, first, second):
        K = matrix(first, second)
        return (wrong(machine(method, value), K, y, new, fit) for fit, new in folds)

    coarse = NUS if method == "nu-SVM" else COARSE[method]
    fixed = method == "nu-SVM"
    return coarse_to_fine(losses, coarse, FIRST[kernel], SECOND[kernel], fixed=fixed)


def split_error(name, split, kernel, method):
    """Percentage of errors on the test points, and support objects."""
    X, y, X_test, y_test = points(name, split)
    if method == "ours":
        model = our_choice(kernel, X, y)
        return [100 * float(np.mean(model.predict(X_test) != y_test)), int(model.n_support_)]
    value, first, second = searched(method, kernel, X, y)
    K = gram(kernel, first, second, X, X)
    scale = np.trace(K) / len(K)
    model = machine(method, value).fit(K / scale, y)
    answers = model.predict(gram(kernel, first, second, X_test, X) / scale)
    support = len(getattr(model, "support_", y))
    return [100 * float(np.mean(answers != y_test)), support]


def our_choice(kernel, X, y):
    """Our scheme: epsilon at C = inf, and the kernel, by leave-one-out values."""
    if kernel == "RBF":
        return PSVCCV().fit(X, y).best_estimator_
    named = {"POL": ("poly", "coef0", "degree"), "PLU": ("plummer", "rho", "zeta")}[kernel]
    models = [
        PSVC(kernel=named[0], **{named[1]: first, named[2]: second}, gamma=1.0).fit(X, y)
        for first in FIRST[kernel]
        for second in SECOND[kernel]
    ]
    return min(models, key=lambda model: model.loo_error_)


def significant(ours, theirs, n_test):
    """Splits on which one model errs significantly less: test of two proportions, then BH."""
    a, b = ours / 100, theirs / 100
    both = (a + b) / 2
    deviation = np.sqrt(np.maximum(2 * both * (1 - both) / n_test, 1e-12))
    p = norm.sf(np.abs(a - b) / deviation) * 2
    found = false_discovery_control(p) <= ALPHA
    return int(np.sum(found & (a < b))), int(np.sum(found & (a > b)))


def significant_counts(errors, rival):
    """For each set and kernel: splits on which the P-SVM is better and worse than a rival."""
    psvm = METHODS.index("P-SVM")
    sizes = [len(points(name, 0)[3]) for name in SETS]
    return np.array(
        [
            [significant(task[psvm], task[rival], size) for task in tasks]
            for tasks, size in zip(errors, sizes, strict=True)
        ]
    )


@table("Report", "Table 1", "Errors of four machines with three kernels on five sets")
def table_1(run):
    splits = range(100 if run.full else 4)
    methods = (*METHODS, "ours")
    cells = [(n, i, k, m) for n in SETS for k in KERNELS for m in methods for i in splits]
    shape = (len(SETS), len(KERNELS), len(methods), len(splits), 2)
    errors, support = np.moveaxis(np.reshape(run.map(split_error, cells), shape), -1, 0)
    paper = np.array([PUBLISHED[name] for name in SETS]).swapaxes(1, 2)  # set, kernel, method
    mean, counts = errors.mean(axis=-1), support.mean(axis=-1)
    noise = 2 * errors.std(axis=-1, ddof=1) / np.sqrt(len(splits))

    psvm, svm, ours = (methods.index(m) for m in ("P-SVM", "C-SVM", "ours"))
    gaps = mean[..., psvm] - paper[..., psvm]
    near = np.abs(gaps) <= NEAR + noise[..., psvm]
    better, worse = np.moveaxis([significant_counts(errors, m) for m in range(psvm)], -1, 0)
    lost = worse > max(1, 0.05 * len(splits))
    banana = better[:, SETS.index("banana"), KERNELS.index("RBF")]
    fewer, ours_fewer = ((counts[..., m] < counts[..., svm]).sum() for m in (psvm, ours))
    claims = {
        f"each error of the P-SVM is the table's, within {NEAR:g} point and two standard errors": (
            near.all()
        ),
        "the P-SVM is never significantly worse on more than 5 % of the splits (and one)": (
            not lost.any()
        ),
        "the P-SVM has fewer support objects than the C-SVM on more than half of the tasks": (
            fewer > near.size / 2
        ),
    }
    if run.full:  # a few splits would say nothing
        claims[
            "banana, RBF: the P-SVM is significantly better than each other method in some splits"
        ] = banana.min() > 0
    why = (
        f"{near.sum()} of {near.size} errors of the P-SVM are the table's, the mean difference is "
        f"{gaps.mean():+.2f} points; it is significantly worse on more than one split (and 5 % "
        f"of them) in {lost.sum()} of {lost.size} comparisons; it has fewer support objects than "
        f"the C-SVM on {fewer} of {near.size} tasks with the report's small epsilon, and on "
        f"{ours_fewer} with our choice of epsilon."
    )

    def shown(i, k, m):
        then = f" [{paper[i, k, m]:.2f}]" if m < len(METHODS) else ""
        return f"{mean_sd(errors[i, k, m])}{then}, {counts[i, k, m]:.0f}"

    names = (*METHODS, "P-SVM, our scheme")
    rows = [
        [name, method, *(shown(i, k, m) for k in range(len(KERNELS)))]
        for i, name in enumerate(SETS)
        for m, method in enumerate(names)
    ]
    compared = [
        [name, kernel, *(f"{better[m, i, k]} / {worse[m, i, k]}" for m in range(psvm))]
        for i, name in enumerate(SETS)
        for k, kernel in enumerate(KERNELS)
    ]
    text = f"""Mean error in percent and its standard deviation over {len(splits)} of the 100
original splits (of banana and german with the first 200 training points, as in the report), in
square brackets the table's mean, then the mean number of support objects. All
methods choose their parameter (C, nu, the regularisation of KFD) and the kernel by the same five
folds of the training points, on a coarse grid and then on a finer one of 7 x 7 around its best
point (nu: 0.1, 0.2, ..., 0.9 on both). Kernel matrices are divided by their mean diagonal. KFD has
a Gaussian for each class. P-SVM is the report's scheme: C is searched, with columns of variance
one, and epsilon is small ({SMALL["classification"]} in these units). "Our scheme" has C = inf and
chooses epsilon, threshold and kernel by leave-one-out values: `PSVCCV()` for the RBF kernel,
`PSVC()` with the coarse kernel of the least `loo_error_` for the others.

{markdown_table(["set", "method", *KERNELS], rows)}

Splits on which the P-SVM of the report's scheme is significantly better / worse (test of two
proportions on the test points, false discovery rate {ALPHA:.0%} over the splits):

{markdown_table(["set", "kernel", *METHODS[:psvm]], compared)}

The remark that the P-SVM is never significantly worse does not fit the table's own means: with the
polynomial kernel and 4,900 test points of banana 14.93 % and 12.09 % are 4.1 standard errors apart,
and on thyroid it has twice the errors of the C-SVM."""
    return Section(claims, why, text)
