"""Landmarks by k-means of a sample drawn by content beside mini-batch k-means of all rows.

Fits to blocks find centres from the sample of 20,000 rows. The other way is MiniBatchKMeans, which
sees each row of the stream once, in blocks of 10,000 rows. Test errors of `PSVC` with these
landmarks and a chosen epsilon, seeds 0 to 2, and the same with random rows of the sample.

    python benchmarks/bench_centres.py [--rows 200000] [--print]
"""

import argparse
import time

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans

from bench_scale import covtype
from datasets import data_dir
from psvm import PSVC, RowBlocks
from report import environment, markdown_table, write_section

CENTRES, STEP, TEST = 100, 10_000, 20_000
SAMPLE = 20_000
"""Rows of the sample of a survey, here the first ones: the rows are in random order."""


def rings(n, d=10):
    """Two classes by the distance from 0, and noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    return X, np.square(X[:, :4]).sum(axis=1) + rng.standard_normal(n) > 4


def clusters(n, d=10, n_clusters=300):
    """Clusters of very different sizes, each with a class."""
    rng = np.random.default_rng(2)
    share = 1 / np.arange(1, n_clusters + 1)
    kind = rng.choice(n_clusters, n, p=share / share.sum())
    X = 3 * rng.standard_normal((n_clusters, d))[kind] + rng.standard_normal((n, d))
    return X, rng.random(n_clusters)[kind] < 0.5


def by_sample(X, seed):
    return KMeans(CENTRES, n_init=1, random_state=seed).fit(X[:SAMPLE]).cluster_centers_


def by_stream(X, seed):
    found = MiniBatchKMeans(CENTRES, n_init=1, random_state=seed)
    for start in range(0, len(X), STEP):
        found.partial_fit(X[start : start + STEP])
    return found.cluster_centers_


def random_rows(X, seed):
    return X[np.random.default_rng(seed).choice(SAMPLE, CENTRES, replace=False)]


WAYS = {
    "k-means of 20,000 rows": by_sample,
    "mini-batch k-means of all": by_stream,
    "random rows": random_rows,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--print", action="store_true", help="do not write the page")
    options = parser.parse_args()
    data = {"rings": rings(options.rows + TEST), "clusters": clusters(options.rows + TEST)}
    if data_dir() is None:
        print("covtype was skipped: there is no data, see PSVM_DATA")
    else:
        X, y, X_test, y_test = covtype(options.rows)
        X = np.concatenate([X, X_test[:TEST]])
        scale = X.std(axis=0)
        data["covtype"] = (
            (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1),
            np.r_[y, y_test][: len(X)],
        )
    rows = []
    for name, (X, y) in data.items():
        for way, find in WAYS.items():
            errors, began = [], time.process_time()
            for seed in range(3):
                Z = find(X[: options.rows], seed)
                model = PSVC(landmarks=Z).fit(RowBlocks(X[: options.rows], y[: options.rows]))
                wrong = model.predict(X[options.rows :]) != y[options.rows :]
                errors.append(100 * wrong.mean())
            took = (time.process_time() - began) / 3
            spread = f"{min(errors):.2f} to {max(errors):.2f}"
            rows.append([name, way, f"{np.mean(errors):.2f}", spread, f"{took:.1f}"])
            print(rows[-1], flush=True)
    header = ["data", "landmarks", "error, %", "three seeds", "seconds"]
    text = environment() + "\n\n" + markdown_table(header, rows)
    print(text) if options.print else write_section("centres", text)


if __name__ == "__main__":
    main()
