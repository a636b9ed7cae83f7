"""Knebel, Hochreiter & Obermayer 2008: an SMO algorithm for the P-SVM.

Data and settings are those of `datasets.paper_settings`. The sets cluster2x and cluster2a of the
paper are not public.
"""

import itertools
import time

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from datasets import data_dir, paper_settings
from papers.runner import Section, table, within
from psvm import PSVC, PSVR, SMO
from psvm.kernels import make_kernel
from psvm.matrix import KernelMatrix, Standardized
from psvm.problem import Problem
from report import markdown_table

# Table 1: folds; support objects, training time in seconds and error of the P-SVM and of LIBSVM.
# The error of arcene is 100 minus the accuracy in percent.
PAPER_1 = {
    "heart": (50, (9, 0.031, 0.483), (131, 0.11, 0.495)),
    "arcene": (30, (83, 0.30, 14), (79, 0.59, 13)),
    "space_ga": (10, (86, 60, 0.011), (2786, 34, 0.010)),
    "abalone": (20, (71, 45, 4.417), (1126, 5.2, 4.419)),
}
LIBSVM = {  # Table 1
    "heart": {"gamma": 0.05, "C": 0.6, "epsilon": 0.41},
    "space_ga": {"gamma": 1.0, "C": 100.0, "epsilon": 0.01},
    "abalone": {"gamma": 1.0, "C": 110.0, "epsilon": 1.8},
    "arcene": {"kernel": "linear", "C": 100.0},
}
PAPER_2 = {  # Table 2: evaluated columns of Q, by (pair, block, anneal)
    "abalone": (255, 1147, 260, 982, 201, 329, 156, 182),
    "space_ga": (427, 1351, 373, 1282, 343, 580, 240, 300),
    "arcene200": (194, 195, 192, 194, 188, 191, 188, 187),
}
VARIANTS = tuple(itertools.product((True, False), repeat=3))
PAPER_3 = {  # Table 3: training rows of adult; seconds and columns of the P-SVM, seconds of C-SVC
    1000: (0.6, 76, 1),
    2000: (3.1, 142, 3),
    3000: (8.0, 166, 8),
    4000: (17, 202, 9),
    5000: (29, 226, 14),
    6000: (45, 243, 20),
    7000: (67, 270, 35),
    8000: (96, 292, 42),
    9000: (132, 329, 55),
    10000: (166, 330, 63),
}
PAPER_4 = {10000: (0.30, 3195), 20000: (0.58, 6780), 30000: (0.97, 9810), 40000: (1.48, 12660)}
"""Table 4: training rows of adult; seconds of the dyadic P-SVM and of C-SVC."""


def models(name):
    """Our default solver, the SMO with the paper's tolerance, and LIBSVM, with Table 1's values."""
    parameters = paper_settings(name)[2]
    parameters |= {"landmarks": "all", "threshold": "mean"}
    peer = SVC if name == "arcene" else SVR
    return {
        "default": PSVR(**parameters),
        "smo": PSVR(solver=SMO(tol=0.05), **parameters),
        "libsvm": peer(cache_size=40, **LIBSVM[name]),
    }


def timed(model, X, y):
    """Seconds of processor time of a fit."""
    began = time.process_time()
    model.fit(X, y)
    return time.process_time() - began


# ---------------------------------------------------------------- Table 1


def support_and_time(name, method):
    """Support objects and seconds of a fit to all rows."""
    X, y, _ = paper_settings(name)
    model = models(name)[method]
    seconds = timed(model, X, y)
    return [len(model.support_), seconds]


def fold_error(name, method, fold):
    """Sum of squared errors (arcene: number of wrong labels) of a test fold, and its rows."""
    X, y, _ = paper_settings(name)
    n_folds = PAPER_1[name][0]
    kind = StratifiedKFold if name == "arcene" else KFold
    splits = list(kind(n_folds, shuffle=True, random_state=0).split(X, y))
    train, test = splits[fold]
    values = models(name)[method].fit(X[train], y[train]).predict(X[test])
    if name == "arcene":
        return [int(np.sum(np.sign(values) != y[test])), len(test)]
    return [float(np.sum(np.square(values - y[test]))), len(test)]


def cross_validated(run, name, method):
    folds = range(PAPER_1[name][0])
    found = np.array(run.map(fold_error, [(name, method, fold) for fold in folds]))
    error = found[:, 0].sum() / found[:, 1].sum()
    return 100 * error if name == "arcene" else error


@table("SMO", "Table 1", "Support objects, times and errors beside LIBSVM")
def table_1(run):
    rows, near, sparse, errors, beside, smo_ratios = [], [], [], [], [], []
    for name, (n_folds, paper, paper_svm) in PAPER_1.items():
        default, smo, svm = run.map(
            support_and_time, [(name, method) for method in ("default", "smo", "libsvm")]
        )
        error = cross_validated(run, name, "default")
        error_svm = cross_validated(run, name, "libsvm")
        near.append(within(smo[0], paper[0], 0.15))
        sparse.append((smo[0] < svm[0]) == (paper[0] < paper_svm[0]))
        errors.append(name == "arcene" or within(error, paper[2], 0.05))
        times = default[1] / svm[1], smo[1] / svm[1], paper[1] / paper_svm[1]
        smo_ratios.append(times[1])
        if name == "arcene":
            arcene = error
        else:
            beside.append((error / error_svm, paper[2] / paper_svm[2]))
        rows.append(
            [
                name,
                n_folds,
                f"{default[0]:.0f} / {smo[0]:.0f} / {paper[0]}",
                f"{svm[0]:.0f} / {paper_svm[0]}",
                f"{error:.4g} / {paper[2]}",
                f"{error_svm:.4g} / {paper_svm[2]}",
                " / ".join(f"{ratio:.2g}" for ratio in times),
            ]
        )
    ratio, paper_ratio = np.mean(beside, axis=0)
    header = ["set", "folds", "support objects: default / SMO / paper", "LIBSVM / paper"]
    header += [
        "error / paper",
        "LIBSVM / paper",
        "training time beside LIBSVM: default / SMO / paper",
    ]
    claims = {
        "support objects of the SMO within 15 % of the paper's on every set": all(near),
        "fewer support objects than LIBSVM where the paper has fewer, not on arcene": all(sparse),
        "cross-validated mean squared error within 5 % of the paper's": all(errors),
        "error of arcene not above the paper's 14 % by more than 4 of 100 rows": arcene <= 18,
    }
    faster = [name for name, ratio in zip(PAPER_1, smo_ratios, strict=True) if ratio < 1]
    claims["the SMO trains faster than LIBSVM on heart and arcene, slower on the others"] = (
        faster == ["heart", "arcene"]
    )
    return Section(
        claims,
        f"{sum(near)} of {len(near)} support counts and {sum(errors[:1] + errors[2:])} of 3 "
        f"squared errors are the paper's; arcene has {arcene:.0f} % errors beside 14; the SMO "
        f"trains faster than today's LIBSVM on {len(faster)} sets, in the paper on 2 of these 4.",
        "Values of C, epsilon and gamma as printed; heart and space_ga are scaled to [-1, 1]; "
        "folds are shuffled, and the training points of a fold describe. SMO stops at a tolerance "
        "of 0.05 epsilon (the paper prints 0.05; its counts fit a share of epsilon), the default "
        "solver at 1e-4. Errors are those of the default solver: mean squared, for arcene "
        "(stratified folds) in "
        f"percent. On the three public regressions the squared error is on average {ratio:.3f} "
        f"times LIBSVM's (printed: {paper_ratio:.3f}). The remark that it is lower on average "
        "holds for the sum of the printed errors, not for their ratios; cluster2x and "
        "cluster2a are not public.\n\n" + markdown_table(header, rows),
    )


# ---------------------------------------------------------------- Table 2


def problem_of(name):
    X, y, p = paper_settings(name)
    unused = dict.fromkeys(("degree", "coef0", "theta", "rho", "zeta"))
    kernel = make_kernel(p["kernel"], gamma=p.get("gamma"), **unused)
    return Problem.create(Standardized(KernelMatrix(kernel, X, X)), y, p["C"], p["epsilon"])


def variant(name, pair, block, anneal):
    """Seconds, steps, evaluated columns and support objects of a variant of the SMO."""
    smo = SMO(pair=pair, block=block, anneal=anneal, tol=0.05)
    s = smo.minimise(problem_of(name))
    return [s.time, s.n_iter, s.n_q_columns, len(s.support)]


def tried(name, block, full):
    """Without blocks the two large sets take minutes and are left to the full run."""
    return full or block or name == "arcene200"


@table("SMO", "Table 2", "The eight variants of the SMO")
def table_2(run):
    rows, with_blocks, without, faster, best = [], [], [], [], []
    for name, paper in PAPER_2.items():
        flags = [v for v in VARIANTS if tried(name, v[1], run.full)]
        found = dict(zip(flags, run.map(variant, [(name, *v) for v in flags]), strict=True))
        best.append(min(found, key=lambda v: found[v][0]) == (True, True, True))
        for key, published in zip(VARIANTS, paper, strict=True):
            signs = " ".join("+" if flag else "-" for flag in key)
            if key not in found:
                rows.append([name, signs, "not run", "", "", published, ""])
                continue
            seconds, steps, columns, _ = found[key]
            (with_blocks if key[1] else without).append(within(columns, published, 0.15))
            ratio = f"{columns / published:.2f}"
            counts = f"{steps:.0f}", f"{columns:.0f}"
            rows.append([name, signs, f"{seconds:.2f}", *counts, published, ratio])
            if key[1] and (key[0], False, key[2]) in found:
                faster.append(seconds < found[key[0], False, key[2]][0])
    header = ["set", "pair block anneal", "seconds", "steps", "columns of Q", "paper", "ratio"]
    claims = {
        "evaluated columns within 15 % of the paper's, variants with blocks": all(with_blocks),
        "evaluated columns within 15 % of the paper's, variants without blocks": all(without),
        "a variant with blocks is faster than the same without": all(faster),
        "pairs with blocks and annealing take the least time on every set": all(best),
    }
    return Section(
        claims,
        f"{sum(with_blocks)} of {len(with_blocks)} counts with blocks and {sum(without)} of "
        f"{len(without)} without are within 15 %; blocks are faster in {sum(faster)} of "
        f"{len(faster)} pairs; pairs with blocks and annealing take the least time on "
        f"{sum(best)} of {len(best)} sets (in the paper's table on abalone only).",
        "Tolerance 0.05 epsilon. arcene has the rows of training and validation. "
        + ("" if run.full else "Variants without blocks run on the large sets in the full run. ")
        + "cluster2x is not public.\n\n"
        + markdown_table(header, rows),
    )


# ---------------------------------------------------------------- Tables 3 and 4


def adult(one_hot):
    """Adult's training rows, words as numbers of their category or as columns of zeros and ones."""
    rows = pd.read_csv(data_dir() / "uci" / "adult_train.csv.gz", keep_default_na=False)
    y = np.where(rows.pop("income") == ">50K", 1.0, -1.0)
    if one_hot:
        return pd.get_dummies(rows, dtype=float).to_numpy(), y
    numbers = [
        c if c.dtype.kind == "i" else c.astype("category").cat.codes for _, c in rows.items()
    ]
    return np.column_stack(numbers).astype(float), y


def growth(n):
    """Seconds and columns of Q of the SMO, seconds of the default solver and of C-SVC."""
    X, y = adult(one_hot=False)
    parameters = {"gamma": 1e-8, "C": 1.0, "epsilon": 0.4, "landmarks": "all", "threshold": "mean"}
    smo, default = PSVR(solver=SMO(tol=0.05), **parameters), PSVR(**parameters)
    svc = SVC(gamma=1e-8, C=10.0, cache_size=40)
    seconds = [timed(model, X[:n], y[:n]) for model in (smo, default, svc)]
    accuracy = [float(np.mean(np.sign(m.predict(X[n:])) == y[n:])) for m in (default, svc)]
    return [seconds[0], smo.solution_.n_q_columns, *seconds[1:], *accuracy]


@table("SMO", "Table 3", "Growth with the rows of adult, RBF kernel")
def table_3(run):
    sizes = [n for n in PAPER_3 if run.full or n <= 5000]
    found = run.map(growth, [(n,) for n in sizes])
    rows, near, slower = [], [], []
    for n, (smo, columns, default, svc, ours, theirs) in zip(sizes, found, strict=True):
        seconds, published, seconds_svc = PAPER_3[n]
        near.append(within(columns, published, 0.3))
        slower.append(smo / svc)
        ratios = f"{default / svc:.2g} / {smo / svc:.2g} / {seconds / seconds_svc:.2g}"
        accuracy = f"{100 * ours:.1f} / {100 * theirs:.1f}"
        rows.append([n, f"{columns:.0f}", published, ratios, accuracy])
    last = rows[-1][-1]
    ours, theirs = found[-1][-2:]
    header = ["rows", "columns of Q", "paper", "time beside C-SVC: default / SMO / paper"]
    claims = {
        "evaluated columns within 30 % of the paper's": all(near),
        "training time of the same order as C-SVC: less than ten times": max(slower) < 10,
        "the same accuracy as C-SVC within one point": abs(ours - theirs) < 0.01,
    }
    return Section(
        claims,
        f"{sum(near)} of {len(near)} counts are within 30 %; the SMO takes at most "
        f"{max(slower):.1f} times as long as C-SVC; accuracy of both with the most rows: {last}.",
        "gamma 1e-8, epsilon 0.4, C 1 (C-SVC: 10); the 14 columns as they are, words as numbers of "
        "their category. Accuracy in percent on the remaining rows (paper: 79, by five folds).\n\n"
        + markdown_table([*header, "accuracy, P-SVM / C-SVC"], rows),
    )


def dyadic(n):
    """Median seconds of three dyadic fits, and the accuracy on the other rows."""
    X, y = adult(one_hot=True)
    model = PSVC(kernel="dyadic", C=1000.0, epsilon=1.0, threshold="mean")
    n = min(n, len(y))
    seconds = [timed(model, X[:n], y[:n]) for _ in range(3)]
    rest = slice(n, None) if n < 30000 else slice(30000, None)
    return [float(np.median(seconds)), model.score(X[rest], y[rest]), model.n_support_]


def linear_svc(n, scaled):
    """Seconds of C-SVC with a linear kernel, whether it was cut off, and its accuracy."""
    X, y = adult(one_hot=True)
    X = StandardScaler().fit_transform(X) if scaled else X
    svc = SVC(kernel="linear", C=1.0, cache_size=40, max_iter=10_000_000)
    seconds = timed(svc, X[:n], y[:n])
    return [seconds, int(svc.fit_status_), svc.score(X[30000:], y[30000:])]


@table("SMO", "Table 4", "Dyadic adult beside C-SVC with a linear kernel")
def table_4(run):
    sizes = (10000, 20000, 30000)
    found = run.map(dyadic, [(n,) for n in (1000, *sizes)])
    raw, scaled = run.map(linear_svc, [(1000, False), (1000, True)])
    svc_seconds, cut, svc_accuracy = raw
    small, found = found[0], found[1:]
    rows = [
        [n, f"{seconds:.3f}", PAPER_4[n][0], f"{100 * accuracy:.1f}", f"{support:.0f}"]
        for n, (seconds, accuracy, support) in zip(sizes, found, strict=True)
    ]
    ratio, accuracy = svc_seconds / small[0], 100 * found[-1][1]
    paper_ratio = PAPER_4[10000][1] / PAPER_4[10000][0]
    growth_ours = found[-1][0] / found[0][0]
    more = "more than " if cut else ""
    claims = {
        "accuracy within one point of the paper's 84 %": abs(accuracy - 84) <= 1,
        "time grows at most half as fast again as the rows": growth_ours <= 4.5,
        "C-SVC takes more than a hundred times as long": ratio > 100,
    }
    return Section(
        claims,
        f"accuracy {accuracy:.1f} %; 30,000 rows take {found[-1][0]:.3f} s; with 1,000 rows C-SVC "
        f"takes {more}{ratio:.0f} times as long (paper, 10,000 rows: {paper_ratio:.0f}).",
        "epsilon 1, C 1000; numbers as they are and words as columns of zeros and ones. Accuracy "
        "on the rows that did not train (paper: five folds; 79 % for C-SVC). C-SVC with "
        "C = 1 on the same columns, which have very different scales, may take ten million steps: "
        f"with 1,000 rows it {'needs more' if cut else 'ends'}, after {svc_seconds:.1f} s, with an "
        f"accuracy of {100 * svc_accuracy:.1f} %. With standardised columns it ends after "
        f"{scaled[0]:.2f} s, {scaled[0] / small[0]:.0f} times the time of the P-SVM, with "
        f"{100 * scaled[2]:.1f} %: most of the factor is that of columns that nobody scaled, which "
        "the P-SVM does by itself. The public training set has 32,561 rows, so that the paper's "
        "row of 40,000 cannot be tried.\n\n"
        + markdown_table(["rows", "seconds", "paper", "accuracy, %", "support columns"], rows),
    )
