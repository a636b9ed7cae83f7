"""Tables of the technical report: regression (Table 6)."""

from functools import lru_cache

import numpy as np
from scipy.stats import skew, wilcoxon
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from datasets import regression
from papers.runner import Section, mean_sd, table
from papers.techreport.search import SMALL, SmallEpsilon, coarse_to_fine
from psvm import PSVRCV
from report import markdown_table

SETS = {  # file, training and test rows, splits in all and in the quick run, folds of the search
    "robot arm": ("robot_arm_mackay", 200, 200, 1, 1, 50),
    "boston housing": ("boston_housing", 481, 25, 100, 1, 20),
    "computer activity": ("cpu_act", 1000, 6192, 10, 1, 4),
    "abalone": ("abalone", 3000, 1177, 10, 0, 4),
}
PUBLISHED = {  # Table 6: SVR, BSVR and P-SVM
    "robot arm": ("5.84", "5.89", "5.88"),
    "boston housing": ("10.27 (7.21)", "12.34 (9.20)", "9.42 (4.96)"),
    "computer activity": ("13.80 (0.93)", "17.59 (0.98)", "10.28 (0.47)"),
    "abalone": ("0.441 (0.021)", "0.438 (0.023)", "0.424 (0.017)"),
}
INPUTS = {
    **{name: (name, "plain") for name in SETS},
    "computer activity, logarithms": ("computer activity", "log"),
}
SIGNIFICANT = ("computer activity", "abalone")
"""Where the report finds the P-SVM significantly better than SVR."""
METHODS = {"SVR": "SVR", "P-SVM": "P-SVM, the report's scheme", "ours": "P-SVM, our scheme"}
SIGMAS = (0.5, 1.5, 4.5, 13.5)
COARSE = (0.1, 1.0, 10.0, 100.0)
"""C of the SVR, and of the P-SVM for columns of variance one."""
TUBES = {"robot arm": 0.01}
"""Tube of the SVR in standard deviations of the target, where it is not 0.1."""


def parts(name, split):
    """Training and test rows of a split; the target is standardised, `sd` its unit."""
    file, n_train, n_test, *_ = SETS[name]
    X, y = regression(file)
    y = y.reshape(len(y), -1)
    order = np.arange(len(y))
    if name != "robot arm":
        order = np.random.default_rng(split).permutation(len(y))
    a, b = order[:n_train], order[n_train : n_train + n_test]
    mean, sd = y[a].mean(axis=0), y[a].std(axis=0)
    return X[a], (y[a] - mean) / sd, X[b], (y[b] - mean) / sd, sd


def scaled(X, X_test, inputs):
    """Columns standardised; inputs "log": first the logarithm of skewed columns without signs."""
    if inputs == "log":
        skewed = (X.min(axis=0) >= 0) & (skew(X, axis=0) > 1)
        X, X_test = (np.where(skewed, np.log1p(np.maximum(Z, 0)), Z) for Z in (X, X_test))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test)


def gram(X, Z, sigma):
    return np.exp(-euclidean_distances(X, Z, squared=True) / (2 * sigma**2))


def machine(name, method, C):
    if method == "SVR":
        tube = TUBES.get(name, 0.1)
        return SVR(C=C, epsilon=tube, kernel="precomputed", cache_size=500)
    return SmallEpsilon(C, "regression")


def searched(name, method, X, y):
    """C and sigma by the report's folds."""
    folds = list(KFold(SETS[name][-1], shuffle=True, random_state=0).split(X))
    matrix = lru_cache(maxsize=1)(lambda sigma: gram(X, X, sigma))

    def losses(C, sigma, _):
        K = matrix(sigma)
        for fit, new in folds:
            model = machine(name, method, C).fit(K[np.ix_(fit, fit)], y[fit])
            yield np.sum((model.predict(K[np.ix_(new, fit)]) - y[new]) ** 2)

    C, sigma, _ = coarse_to_fine(losses, COARSE, SIGMAS)
    return C, sigma


def one_output(name, method, X, y, X_test):
    """Predictions of the test rows, and support objects."""
    if method == "ours":
        model = PSVRCV().fit(X, y)
        return model.predict(X_test), model.n_support_
    C, sigma = searched(name, method, X, y)
    model = machine(name, method, C).fit(gram(X, X, sigma), y)
    return model.predict(gram(X_test, X, sigma)), len(model.support_)


def regression_error(name, split, method, inputs):
    """Mean squared error of the test rows in the units of the table, and support objects."""
    X, y, X_test, y_test, sd = parts(name, split)
    X, X_test = scaled(X, X_test, inputs)
    found = [one_output(name, method, X, target, X_test) for target in y.T]
    values, support = zip(*found, strict=True)
    unit = {"abalone": 1.0, "robot arm": np.sqrt(1e3) * sd}.get(name, sd)
    squares = ((np.column_stack(values) - y_test) * unit) ** 2
    return [float(squares.mean(axis=0).sum()), float(np.mean(support))]


def splits_of(name, method, run):
    """All splits for our scheme, which takes a moment; the others search for minutes."""
    *_, all_splits, quick, _ = SETS[name]
    return range(all_splits if run.full or method == "ours" else quick)


def significant(ours, theirs):
    """Whether the errors of the splits are smaller: Wilcoxon's signed rank test, one-sided, 5 %."""
    return wilcoxon(ours, theirs, alternative="less").pvalue < 0.05


def shown(errors, support, name):
    if not len(errors):
        return "not run"
    digits = 3 if name == "abalone" else 2
    return f"{mean_sd(errors, digits)}, {support:.0f}, {len(errors)}"


def all_cells(run):
    """Errors of the splits and mean number of support objects, by row of the table and method."""
    tasks = {
        (what, method): [(name, i, method, inputs) for i in splits_of(name, method, run)]
        for what, (name, inputs) in INPUTS.items()
        for method in METHODS
    }
    cells = [cell for group in tasks.values() for cell in group]
    slow_first = cells[::-1]  # abalone
    found = dict(zip(slow_first, run.map(regression_error, slow_first), strict=True))
    values = {
        key: np.reshape([found[cell] for cell in group], (-1, 2)).T for key, group in tasks.items()
    }
    support = {key: v[1].mean() for key, v in values.items() if v.size}
    return {key: v[0] for key, v in values.items()}, support


@table("Report", "Table 6", "Squared errors of three regressions on four sets")
def table_6(run):
    errors, support = all_cells(run)
    mean = {key: values.mean() for key, values in errors.items() if len(values)}
    paper = {name: float(values[2].split()[0]) for name, values in PUBLISHED.items()}
    least = {
        name: min(mean[what, "ours"] for what in INPUTS if INPUTS[what][0] == name) for name in SETS
    }
    reached = [name for name in SETS if least[name] <= 1.1 * paper[name]]
    plain, log = (mean[what, "ours"] for what in INPUTS if INPUTS[what][0] == "computer activity")
    pairs = {what: (errors[what, "P-SVM"], errors[what, "SVR"]) for what in SIGNIFICANT}
    pairs = {what: pair for what, pair in pairs.items() if len(pair[0])}
    claims = {
        "each error of the P-SVM (our scheme, any inputs) is at most 10 % above the table's": (
            len(reached) == len(SETS)
        ),
        "computer activity with plain inputs is at most 10 % above the table's": (
            plain <= 1.1 * paper["computer activity"]
        ),
        f"the report's P-SVM errs less than SVR on {' and '.join(pairs)} (means)": all(
            ours.mean() < theirs.mean() for ours, theirs in pairs.values()
        ),
    }
    if run.full:
        claims["and significantly so (Wilcoxon, 5 %)"] = all(
            significant(*pair) for pair in pairs.values()
        )
    why = (
        f"the P-SVM reaches the table on {len(reached)} of {len(SETS)} sets; computer activity has "
        f"{plain:.1f} with plain inputs and {log:.1f} with logarithms of skewed ones (table: "
        f"{paper['computer activity']}), abalone {mean['abalone', 'ours']:.3f} (table: "
        f"{paper['abalone']}); on the same splits the report's scheme and SVR have "
        + " and ".join(
            f"{what} {ours.mean():.3g} and {theirs.mean():.3g}"
            for what, (ours, theirs) in pairs.items()
        )
        + "."
    )
    rows = [
        [
            what,
            *(shown(errors[what, m], support.get((what, m)), name) for m in METHODS),
            *PUBLISHED[name],
        ]
        for what, (name, _) in INPUTS.items()
    ]
    header = ["set", *METHODS.values(), "paper: SVR", "BSVR", "P-SVM"]
    text = f"""Mean squared error and its standard deviation over the splits, then support objects
and the number of splits. The splits of the report are not public: rows are drawn at random in its
sizes, except for the robot arm (rows 0 to 199 for training, the next 200 for test, the sum of both
outputs in units of 0.001). Features and target are standardised, and abalone is measured in its
standard deviations; it has 8 features here (sex is 1, 2 or 3), and 10 in the report. In the
report's scheme C and sigma are chosen by its numbers of folds on a grid
of 4 x 4 and then of 7 x 7, for the SVR as well, whose tube is 0.1 standard deviations (robot arm:
0.01); epsilon of the P-SVM is {SMALL["regression"]} for columns of variance one. Our scheme is
`PSVRCV()`: C = inf, and epsilon and gamma by leave-one-out values. The report's scheme takes
minutes for a split of abalone and is left to the full run.

Computer activity depends on what is done with its features, which the report leaves to another
paper (Chu et al. 2004). Counts with a long tail (skewness above 1) as logarithms, log(1 + x), more
than explain the difference between our error with plain inputs and the published one, for the SVR
as well as for the P-SVM.

{markdown_table(header, rows)}"""
    return Section(claims, why, text)
