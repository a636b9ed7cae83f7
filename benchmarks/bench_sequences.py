"""Sequences: the speed of their kernels, and PSVC beside SVC on them.

Speed: seconds of one processor for the Gram matrix of all 3,190 splice sequences; for the spectrum
also those of a `CountVectorizer` of the same words and a sparse product, interleaved.

Error: cross-validation as in bench_dyadic.py, with the same folds for all methods and the
hyper-parameters of each chosen by three inner folds (epsilon, or epsilon and C, of PSVC; C of SVC).
The parameters of the kernels are fixed. PSVC takes every matrix as it is. "threshold" is its
default epsilon with the threshold of the decision values chosen by `TunedThresholdClassifierCV`.
The matrices of sequence kernels that are positive definite need no repair; that of Smith-Waterman
scores does.
"""

import argparse
import statistics
import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from threadpoolctl import threadpool_limits

from bench_dyadic import METHODS, tuned
from datasets import data_dir, load
from psvm import PSVC
from psvm.kernels import Mismatch, SmithWaterman, Spectrum, Subsequence, WeightedDegree
from report import environment, markdown_table, write_section

DNA = {"alphabet": "ACGT", "unknown": "skip"}
"""Words with one of the 60 ambiguous letters of splice count for nothing."""
N_SPLICE = 600
"""Of 3,005 distinct ones."""
N_SCOP = 200
"""Domains of each class."""
REPAIRS = ("SVC, clip", "SVC, flip", "SVC, shift")
TUNED = ("PSVC, as it is", "PSVC with C, as it is", *REPAIRS, "SVC, rows")


def median_seconds(functions, repeats=5):
    """Median processor time of each of some functions, interleaved."""
    times = [[] for _ in functions]
    for _ in range(repeats):
        for function, taken in zip(functions, times, strict=True):
            began = time.process_time()
            function()
            taken.append(time.process_time() - began)
    return [statistics.median(taken) for taken in times]


def count_vectorizer(sequences, k):
    words = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False)
    F = words.fit_transform(sequences)
    return (F @ F.T).toarray()


def speed():
    sequences = load("dyadic/splice")["seq"].tolist()
    rows = []
    for k in (3, 4, 5, 6, 8):
        ours = Spectrum(k, normalize=False)
        pair = [lambda ours=ours: ours(sequences), lambda k=k: count_vectorizer(sequences, k)]
        a, b = median_seconds(pair)
        rows.append([f"Spectrum({k})", f"{a:.3g}", f"{b:.3g} ({b / a:.1f}x)"])
        print(*rows[-1], sep="\t", flush=True)
    for name, kernel in {
        "Mismatch(4, 1)": Mismatch(4, 1, **DNA),
        "Mismatch(5, 1)": Mismatch(5, 1, **DNA),
        "Mismatch(6, 1)": Mismatch(6, 1, **DNA),
        "WeightedDegree(5)": WeightedDegree(5, **DNA),
    }.items():
        (a,) = median_seconds([lambda kernel=kernel: kernel(sequences)], 3)
        rows.append([name, f"{a:.3g}", ""])
        print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["kernel", "seconds", "CountVectorizer and product"], rows)


def unpacked(d):
    """Sequences of different lengths."""
    text = d["seq_bytes"].tobytes().decode()
    return [text[a:b] for a, b in zip(d["offsets"][:-1], d["offsets"][1:], strict=True)]


def splice():
    """Junctions of either kind against none: a part of the distinct sequences."""
    d = load("dyadic/splice")
    _, distinct = np.unique(d["seq"], return_index=True)
    chosen = np.random.default_rng(0).permutation(distinct)[:N_SPLICE]
    none = list(d["class_names"]).index("N")
    return d["seq"][chosen].tolist(), np.where(d["y"][chosen] == none, -1, 1)


def scop():
    """The largest superfamily against as many other domains; groups are families."""
    d = load("dyadic/scop40")
    superfamily = np.array([code.rsplit(".", 1)[0] for code in d["scop"]])
    names, sizes = np.unique(superfamily, return_counts=True)
    largest = names[np.argmax(sizes)]
    rng = np.random.default_rng(0)
    members, others = (
        np.flatnonzero(part) for part in (superfamily == largest, superfamily != largest)
    )
    chosen = np.concatenate([rng.permutation(part)[:N_SCOP] for part in (members, others)])
    sequences = unpacked(d)
    y = np.where(superfamily[chosen] == largest, 1, -1)
    return [sequences[i] for i in chosen], y, d["scop"][chosen], largest


def folds(y, n, groups=None):
    make = StratifiedKFold if groups is None else StratifiedGroupKFold
    return list(make(n, shuffle=True, random_state=0).split(y, y, groups))


def tasks():
    """Name of the set, name of the kernel, kernel, sequences, labels and folds."""
    d = load("dyadic/promoters")
    sequences, y = d["seq"].tolist(), 2 * d["y"].astype(int) - 1
    for name, kernel in {
        "weighted degree 5": WeightedDegree(5),
        "weighted degree 5, shift 2": WeightedDegree(5, shift=2),
        "spectrum 3": Spectrum(3),
        "mismatch 5, 1": Mismatch(5, 1),
        "subsequence 3, 0.5": Subsequence(3, 0.5),
    }.items():
        yield f"promoters ({len(y)})", name, kernel, sequences, y, folds(y, 10)
    sequences, y = splice()
    for name, kernel in {
        "weighted degree 5": WeightedDegree(5, **DNA),
        "spectrum 3": Spectrum(3, **DNA),
        "mismatch 5, 1": Mismatch(5, 1, **DNA),
    }.items():
        yield f"splice ({len(y)})", name, kernel, sequences, y, folds(y, 5)
    d = load("dyadic/enhancer_tfbs")
    y = np.where(d["y"] == d["y"].max(), 1, -1)
    for k in (3, 6):
        yield f"enhancer_tfbs ({len(y)})", f"spectrum {k}", Spectrum(k), unpacked(d), y, folds(y, 5)
    sequences, y, families, superfamily = scop()
    label = f"scop40 {superfamily} ({len(y)})"
    for name, kernel in {
        "Smith-Waterman, normalised": SmithWaterman(),
        "Smith-Waterman, raw": SmithWaterman(normalize=False),
    }.items():
        yield label, name, kernel, sequences, y, folds(y, 5, families)


def thresholded(K, y, fit, new):
    """Wrong predictions and support objects of the default PSVC with a chosen threshold."""

    def kernel(A, B):
        return K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]

    model = TunedThresholdClassifierCV(PSVC(kernel=kernel), scoring="accuracy")
    model.fit(fit[:, None], y[fit])
    return np.sum(model.predict(new[:, None]) != y[new]), model.estimator_.n_support_


def percent(results, n):
    wrong, support = zip(*results, strict=True)
    return f"{100 * sum(wrong) / n:.1f} ({np.mean(support):.0f})"


def errors():
    rows = []
    for label, kernel_name, kernel, sequences, y, splits in tasks():
        K = kernel(sequences)
        values = np.linalg.eigvalsh(K)
        row = [
            label,
            kernel_name,
            f"{np.mean(values < -1e-10 * values[-1]):.0%}",
            f"{100 * min(np.mean(y > 0), np.mean(y < 0)):.0f}",
        ]
        for name in TUNED:
            if kernel.positive_definite and name in REPAIRS[1:]:
                row.append("same")
                continue
            results = [tuned(METHODS[name], K, False, y, a, b) for a, b in splits]
            row.append(percent(results, len(y)))
        row.append(percent([thresholded(K, y, a, b) for a, b in splits], len(y)))
        rows.append(row)
        print(*row, sep="\t", flush=True)
    header = ["set", "kernel", "negative eigenvalues", "smaller class %", *TUNED, "PSVC, threshold"]
    return markdown_table(header, rows)


SECTIONS = {"speed": speed, "errors": errors}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for section in options.only:
        began = time.process_time()
        with threadpool_limits(1):
            table = SECTIONS[section]()
        took = f"It took {time.process_time() - began:.0f} s of processor time."
        write_section(f"sequences-{section}", f"{environment()} {took}\n\n{table}")
