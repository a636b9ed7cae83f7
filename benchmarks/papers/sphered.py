"""Tables of the Sphered paper: Hochreiter, Mohr & Obermayer 2004."""

import numpy as np
from sklearn import config_context
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC, NuSVC

from datasets import data_dir, raetsch
from papers.runner import Section, mean_sd, table, within
from psvm import SpheredSVC, SpheredSVCCV
from psvm.evaluation import decision_range, range_bound
from report import markdown_table

GRID = np.arange(1, 20) / 20  # lambda and nu
# Section 5: training points and range of sigma; Table 1: error and deviation of nu-SVM and S-SVM
SETS = {
    "heart": (50, (50, 150), (21.50, 7.63), (18.79, 4.07)),
    "flare_solar": (100, (20, 40), (38.54, 8.21), (37.95, 5.57)),
    "german": (100, (20, 40), (29.01, 3.85), (29.14, 3.37)),
    "image": (100, (20, 40), (16.13, 4.55), (14.79, 2.98)),
    "diabetis": (100, (10, 30), (28.39, 6.98), (26.03, 2.92)),
    "splice": (100, (60, 100), (23.91, 1.99), (25.03, 2.14)),
    "thyroid": (100, (0.3, 3.1), (6.29, 2.33), (6.99, 3.78)),
    "breast_cancer": (100, (40, 60), (31.27, 7.42), (28.36, 4.82)),
}
SPLITS = {"splice": 20, "image": 20}  # all others have 100
NEAR = 0.15  # errors are near if they differ by at most this share
BOUNDS = (2.5, 5.0, 10.0, 100.0, 1000.0)  # of C in section 5: 100, "larger than 2"
EXACT = 1e-6  # tolerance of the solver where answers are compared


def available():
    """The sets that are in the data folder."""
    return [name for name in SETS if (data_dir() / "uci" / f"raetsch_{name}.npz").exists()]


def splits_of(name, run, quick):
    return range(SPLITS.get(name, 100) if run.full else quick)


def training_part(name, split):
    """The first training points of a split, as many as in the paper, and its test points."""
    X, y, train, test = raetsch(name)
    train = train[split][: SETS[name][0]]
    return X[train], y[train], X[test[split]], y[test[split]]


def middle_gamma(name):
    """Gamma of the kernel with the middle width of the paper's range."""
    return float(1 / (2 * np.mean(SETS[name][1]) ** 2))


# ---------------------------------------------------------------- Table 1


def folds(y):
    return StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)


def best_nu(K, y):
    """Cross-validated accuracy and value of the best nu; an infeasible nu counts as no answer."""
    scores = np.zeros(len(GRID))
    for train, test in folds(y):
        for k, nu in enumerate(GRID):
            try:
                model = NuSVC(nu=nu, kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
            except ValueError:
                continue
            scores[k] += (model.predict(K[np.ix_(test, train)]) == y[test]).mean() / 5
    return scores.max(), GRID[scores.argmax()]


def best_machine(X, y, sigmas, kind):
    """The fitted machine with the best width and the best nu or lambda."""
    found = []
    for sigma in sigmas:
        gamma = 1 / (2 * sigma**2)
        if kind == "nu":
            score, nu = best_nu(rbf_kernel(X, gamma=gamma), y)
            found.append((score, NuSVC(nu=nu, gamma=gamma)))
        else:
            cv = list(folds(y))
            model = SpheredSVCCV(GRID, cv=cv, gamma=gamma, center=False, C=100.0, tol=1e-3)
            model.fit(X, y)
            found.append((model.best_score_, model))
    _, model = max(found, key=lambda pair: pair[0])
    return model.fit(X, y) if kind == "nu" else model


def split_errors(name, split):
    """Test errors of nu-SVM and S-SVM in percent, each with its own choice of parameters."""
    X, y, X_test, y_test = training_part(name, split)
    sigmas = np.linspace(*SETS[name][1], 5)
    # most of the time of 500 small fits would be the checks of their input
    with config_context(assume_finite=True, skip_parameter_validation=True):
        models = [best_machine(X, y, sigmas, kind) for kind in ("nu", "sphered")]
        return [100 * (1 - model.score(X_test, y_test)) for model in models]


@table("Sphered", "Table 1", "Test errors of the nu-SVM and of the S-SVM")
def table_1(run):
    sets = available()
    errors = {
        name: np.array(run.map(split_errors, [(name, i) for i in splits_of(name, run, 20)]))
        for name in sets
    }
    means = np.array([errors[name].mean(axis=0) for name in sets])
    spreads = np.array([errors[name].std(axis=0, ddof=1) for name in sets])
    paper = np.array([[SETS[name][2][0], SETS[name][3][0]] for name in sets])
    near = sum(within(o, p, NEAR) for o, p in zip(means.ravel(), paper.ravel(), strict=True))
    better, steadier = (int((m[:, 1] < m[:, 0]).sum()) for m in (means, spreads))
    least = means.size - 2
    claims = {
        f"at least {least} of the {means.size} errors are within {NEAR:.0%} of the paper's": near
        >= least,
        "the S-SVM has the lower error in more than half of the sets": better > len(sets) / 2,
        "the deviation of the S-SVM's error is lower on average": spreads[:, 1].mean()
        < spreads[:, 0].mean(),
    }
    why = (
        f"{near} of {means.size} errors are within {NEAR:.0%} of the paper's; the S-SVM has the "
        f"lower error in {better} of {len(sets)} sets and the lower deviation in {steadier}, on "
        f"average {spreads[:, 1].mean():.1f} against {spreads[:, 0].mean():.1f}."
    )
    lacking = " and ".join(name for name in SETS if name not in sets)
    missing = f"The data folder does not have the original splits of {lacking}. " * bool(lacking)
    header = ["set", "splits", "nu-SVM", "paper", "S-SVM", "paper"]
    rows = []
    for name, values in errors.items():
        theirs = [f"{e:.2f} ({s:.2f})" for e, s in SETS[name][2:]]
        ours = [mean_sd(values[:, k]) for k in (0, 1)]
        rows.append([name, len(values), ours[0], theirs[0], ours[1], theirs[1]])
    text = (
        "Test error in percent and its standard deviation over the original splits. The paper "
        "restricts the training set to 100 points (heart: 50); we take the first of each split. nu "
        "or lambda from 0.05, 0.1, "
        "..., 0.95 and one of five widths from the paper's range are chosen by five-fold "
        "cross-validation on these points; the kernel is exp(-d^2 / (2 sigma^2)), not centred, and "
        f"C = 100. {missing}In the public repository some splits are copies of others (heart "
        "and german have 80 distinct ones); the paper does not mention copies.\n\n"
        + markdown_table(header, rows)
    )
    return Section(claims, why, text)


# ---------------------------------------------------------------- Section 5: the value of C


def errors_of_bounds(name, split):
    """Test errors in percent, and shares of predictions other than with C = 100, for each C."""
    X, y, X_test, y_test = training_part(name, split)
    predictions = {
        C: SpheredSVC(0.5, C=C, gamma=middle_gamma(name), center=False, tol=EXACT)
        .fit(X, y)
        .predict(X_test)
        for C in BOUNDS
    }
    errors = [100 * np.mean(p != y_test) for p in predictions.values()]
    other = [100 * np.mean(p != predictions[100.0]) for p in predictions.values()]
    return [errors, other]


@table(
    "Sphered",
    "Section 5 C",
    "Values of C above 2 that are said not to change the results",
    cheap=True,
)
def bounds_of_section_5(run):
    sets = available()
    rows, other = [], []
    for name in sets:
        tasks = [(name, i) for i in splits_of(name, run, 2)]
        found = np.array(run.map(errors_of_bounds, tasks)).mean(axis=0)
        rows.append([name, *(f"{e:.1f} ({o:.1f})" for e, o in found.T)])
        other.append(found[1])
    other = np.array(other)
    changed = int((other.max(axis=1) > 1).sum())
    claims = {
        "C from 2.5 to 1000 changes at most 1 % of the predictions of each set": changed == 0,
        "C from 100 to 1000 changes at most 1 % of the predictions of each set": bool(
            other[:, -1].max() <= 1
        ),
    }
    worst = list(sets)[int(other.max(axis=1).argmax())]
    why = (
        f"Values from 2.5 to 1000 change more than 1 % of the predictions in {changed} of "
        f"{len(sets)} sets, up to {other.max():.0f} % ({worst}), compared with C = 100; 1000 alone "
        f"changes up to {other[:, -1].max():.1f} %."
    )
    header = ["set", *(f"C = {C:g}" for C in BOUNDS)]
    text = (
        "Test error in percent and, in brackets, the percentage of test points with another "
        "prediction than C = 100 gives. The paper's remark is about results with lambda and sigma "
        "chosen by cross-validation; here lambda = 0.5, and sigma is the middle of the paper's "
        "range.\n\n"
    )
    return Section(claims, why, text + markdown_table(header, rows))


# ---------------------------------------------------------------- Figures 1 and 2


def two_clouds(seed):
    """Two separable classes in the plane."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], 25)
    X = rng.normal(size=(50, 2))
    X[:, 1] = (X[:, 1].clip(-2, 2) + 2.2 * y) / 2
    return 3 * X, y


def squeeze(seed, scale):
    """Radius, range and margin of the hard-margin SVM after scaling along its hyperplane."""
    X, y = two_clouds(seed)
    X = X - X.mean(axis=0)
    w = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y).coef_[0]
    normal = w / np.linalg.norm(w)
    along = np.outer(normal, normal)
    X = X @ (along + scale * (np.eye(2) - along))
    again = SVC(kernel="linear", C=1e6, tol=1e-8).fit(X, y).coef_[0]
    size = np.linalg.norm(again)
    return [np.linalg.norm(X, axis=1).max(), np.abs(X @ again).max() / size, 1 / size]


@table(
    "Sphered",
    "Figure 1",
    "Scaling along the hyperplane changes the radius, not m or the margin",
    cheap=True,
)
def figure_1(run):
    scales, seeds = (1.0, 0.3, 0.1, 0.01), range(50 if run.full else 5)
    found = np.array([run.map(squeeze, [(seed, s) for s in scales]) for seed in seeds])
    shares = found / found[:, :1]
    radius = float(shares[:, -1, 0].max())
    moved = float(np.abs(shares[:, :, 1:] - 1).max())
    claims = {
        "the margin and the range m change by less than 0.1 %": moved < 1e-3,
        "the radius R of the data falls below 95 % of its value in every set": radius < 0.95,
    }
    why = (
        f"With the scale 0.01 the radius falls to {shares[:, -1, 0].mean():.0%} on average, while "
        f"range and margin change by at most {moved:.1e} of their values."
    )
    header = ["scale", "radius R", "range m", "margin"]
    rows = [
        [s, *(f"{v:.4f}" for v in row)] for s, row in zip(scales, shares.mean(axis=0), strict=True)
    ]
    text = (
        f"Two separable clouds of 25 points in the plane, {len(seeds)} random ones, and the linear "
        "SVM with a hard margin (C = 1e6). The direction of its hyperplane is scaled; means "
        "relative to the data as they are. R is that of the sphere around the mean.\n\n"
    )
    return Section(claims, why, text + markdown_table(header, rows))


def mapped_data(name, seed):
    """A set before and after a random linear map of its inputs, with its classes."""
    rng = np.random.default_rng(seed)
    if name == "two clouds":
        X, y = two_clouds(seed)
    else:
        X, y, train, _ = raetsch(name)
        X, y = X[train[seed]], y[train[seed]]
    scales = np.diag(10 ** rng.uniform(-1, 1, X.shape[1]))
    rotation = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    return X, X @ scales @ rotation, y


def map_changes(name, seed):
    """Largest change of a decision value, as a share of the largest one, and changed classes."""
    X, mapped, y = mapped_data(name, seed)
    changes = []
    for lam in (0.0, 1.0):
        model = SpheredSVC(lam, kernel="linear", C=10.0, tol=1e-8)
        f, g = (model.fit(Z, y).decision_function(Z) for Z in (X, mapped))
        changes += [np.abs(f - g).max() / np.abs(f).max(), 100 * np.mean(f * g < 0)]
    return changes


@table(
    "Sphered",
    "Figure 2",
    "The S-SVM does not change under linear maps, the standard SVM does",
    cheap=True,
)
def figure_2(run):
    names, seeds = ("two clouds", "heart", "thyroid", "breast_cancer"), range(20 if run.full else 3)
    found = {n: np.array(run.map(map_changes, [(n, s) for s in seeds])) for n in names}
    every = np.concatenate(list(found.values()))
    ours, theirs = float(every[:, 0].max()), float(every[:, 2].min())
    typical = float(np.median(every[:, 2]))
    claims = {
        "the values of the S-SVM change by less than 0.1 % of the largest one": ours < 1e-3,
        "the values of the standard SVM change by more than 1 %, in the median": typical > 0.01,
    }
    why = (
        f"The values of the S-SVM change by at most {ours:.0e} of the largest one, those of the "
        f"standard SVM by {typical:.0%} in the median (at least {theirs:.0e})."
    )
    header = ["set", "maps", "S-SVM", "classes", "SVM", "classes"]
    rows = []
    for name, v in found.items():
        ours, theirs = f"{v[:, 0].max():.0e}", f"{np.median(v[:, 2]):.2f}"
        changed = [f"{v[:, k].mean():.1f} %" for k in (1, 3)]
        rows.append([name, len(v), ours, changed[0], theirs, changed[1]])
    text = (
        "Linear kernel, C = 10; the S-SVM with lambda = 0, the standard SVM is lambda = 1. Inputs "
        "are scaled by random factors from 0.1 to 10 and rotated. The largest change of a decision "
        "value of the training points as a share of the largest value (S-SVM: the maximum, SVM: "
        "the median over the maps), and how many points change their class. Where classes overlap, "
        "slack outweighs the norm of w, and the standard SVM changes little as well.\n\n"
    )
    return Section(claims, why, text + markdown_table(header, rows))


# ---------------------------------------------------------------- Theorem 1


def range_of_split(name, split):
    """Radius and norm, percentages outside the range, wrong in training and test, and capacity."""
    X, y, X_test, y_test = training_part(name, split)
    model = SpheredSVC(0.5, C=100.0, gamma=middle_gamma(name), tol=EXACT).fit(X, y)
    f, f_test = model.decision_function(X), model.decision_function(X_test)
    away, away_test = np.abs(f - f.mean()), np.abs(f_test - f.mean())
    return [
        float(model.capacity_[0]),
        float(model.capacity_bound_[0]),
        100 * np.mean(away_test > away.max()),
        100 * np.mean(f * y < 0),
        100 * np.mean(f_test * y_test < 0),
        decision_range(model, X, y).capacity,
    ]


def rows_needed(capacity):
    """The smallest number of training rows with which the bound can be below one half."""
    low, high = 0, 1  # the bound falls with the number of rows
    while range_bound(capacity, high, 0.0) >= 0.5:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if range_bound(capacity, middle, 0.0) < 0.5:
            high = middle
        else:
            low = middle
    return high


def bounds_without_errors(name, found):
    """The bounds with a covering number of one, of the splits without training errors."""
    return [range_bound(c, SETS[name][0], 0.0) for c in found[np.isfinite(found[:, 5]), 5]]


def bounds_in_words(found):
    """What the least bound is, and how many points it needs."""
    bounds = [b for name, v in found.items() for b in bounds_without_errors(name, v)]
    if not bounds:
        return "No classifier here is without training errors, for which the bound is stated."
    every = np.concatenate([v[:, 5] for v in found.values()])
    capacity = float(np.median(every[np.isfinite(every)]))
    return (
        f"For the {len(bounds)} of {len(every)} classifiers without training errors the bound of "
        f"the error is at least {min(bounds):.2f}, even with a covering number of one; at their "
        f"median capacity of {capacity:.1f} it needs {rows_needed(capacity)} points to be below "
        "0.5."
    )


@table(
    "Sphered", "Theorem 1", "The range of values, its bound, and the bound of the error", cheap=True
)
def theorem_1(run):
    found = {
        name: np.array(run.map(range_of_split, [(name, i) for i in splits_of(name, run, 3)]))
        for name in available()
    }
    every = np.concatenate(list(found.values()))
    ratio = float((every[:, 0] / every[:, 1]).max())
    outside = np.array([v[:, 2].mean() for v in found.values()])
    claims = {
        "the radius of the values is at most the norm of X'w (to 1e-6)": ratio <= 1 + 1e-6,
        "fewer than 5 % of the test points are outside the range, in each set": outside.max() < 5,
    }
    why = (
        f"The radius is at most {ratio:.2f} of the norm of X'w, and {outside.min():.1f} to "
        f"{outside.max():.1f} % of the test points are outside the range. "
        f"{bounds_in_words(found)}"
    )
    header = ["set", "splits", "radius", "norm of X'w", "test outside (%)"]
    header += ["training error (%)", "test error (%)", "without training errors"]
    header += ["m / gamma", "bound without covering number"]
    rows = []
    for name, v in found.items():
        bounds, capacities = bounds_without_errors(name, v), v[np.isfinite(v[:, 5]), 5]
        row = [name, len(v), *(f"{x:.2f}" for x in v.mean(axis=0)[:5]), len(bounds)]
        rows.append(
            [*row, *(f"{np.median(x):.2f}" if bounds else "" for x in (capacities, bounds))]
        )
    text = (
        "lambda = 0.5, C = 100, the middle of the paper's widths, points centred. Radius, the "
        "largest size of `<w, x>`, and norm are of the machine as solved: `capacity_` and "
        "`capacity_bound_`. m / gamma is the radius over the smallest y f(x) of the training "
        "points, which is 1 without slack; it exists without training errors only. The bound is "
        "that of equation 62 with a covering number of one (the least that is possible) and delta "
        "= 0.05, for classifiers without training errors; its proof takes two events to be "
        "independent which are not. m / gamma and the bound are medians.\n\n"
    )
    return Section(claims, why, text + markdown_table(header, rows))
