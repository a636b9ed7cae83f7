"""The same rows in different containers: which models differ.

Each training set is fitted from an array, a memory map, blocks of 7, 100 and 10,000 rows, the
blocks of 100 rows in another order, a Parquet file and a dask array. Models differ if an epsilon
differs by more than 1e-6 of it, or if one has another support object. The last column is the
largest difference of decision values (of numbers: as a share of the deviation of the target) from
those of the array.

    python benchmarks/bench_containers.py [--splits 8] [--sets NAME ...]
"""

import argparse
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets as sk
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from datasets import load
from psvm import PSVC, PSVR, RowBlocks
from psvm.io import open_blocks
from report import environment, markdown_table, write_section

SAME = 1e-6
"""Share of epsilon below which a difference is rounding: neighbours of a walk differ by a third."""


def tabular(name):
    """X and y of one of the sets with rows of all kinds."""
    d = load(f"tabular/{name}")
    return d["X"].astype(float), d["y"]


def three_classes(n=30_000):
    """Rings of unequal weight, more rows than a sample holds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    r = np.hypot(X[:, 0], X[:, 1]) + 0.2 * rng.normal(size=n)
    return X, np.array(["near", "middle", "far"])[np.digitize(r, [0.8, 1.9])]


def columns(n=6000, p=60):
    """A matrix of relations, of which three columns count."""
    rng = np.random.default_rng(1)
    K = rng.normal(size=(n, p)) * rng.uniform(0.5, 2.0, p) + rng.normal(size=p)
    return K, K[:, 3] - K[:, 7] + 0.5 * K[:, 11] + rng.normal(size=n) > 0


def weights_of(X):
    """Weights of rows by their content."""
    return 0.5 + (np.abs(X[:, 0]) % 1.0)


SETS = {
    "breast cancer": (PSVC(), lambda: sk.load_breast_cancer(return_X_y=True), False),
    "vowel, 11 classes": (PSVC(), lambda: tabular("class_vowel"), False),
    "diabetes, numbers, weights": (PSVR(), lambda: sk.load_diabetes(return_X_y=True), True),
    "penbased, 10 classes": (PSVC(), lambda: tabular("class_penbased"), False),
    "kin40k, numbers": (PSVR(), lambda: tabular("reg_kin40k"), False),
    "columns, dyadic, weights": (PSVC(kernel="dyadic"), columns, True),
    "rings, 3 classes, balanced": (PSVC(class_weight="balanced"), three_classes, True),
}


def cut(X, y, w, step):
    """Blocks of so many rows."""
    parts = (X, y) if w is None else (X, y, w)
    return [tuple(part[i : i + step] for part in parts) for i in range(0, len(y), step)]


def containers(X, y, w, folder):
    """The arguments of `fit` for each container by its name."""
    import dask.array as da
    import pyarrow as pa
    from pyarrow import parquet

    np.save(folder / "X.npy", X)
    table = {f"x{j}": column for j, column in enumerate(X.T)}
    table |= {"y": y} if w is None else {"y": y, "w": w}
    parquet.write_table(pa.table(table), folder / "rows.parquet", row_group_size=1000)
    shuffled = cut(X, y, w, 100)
    np.random.default_rng(0).shuffle(order := np.arange(len(shuffled)))
    kind = "number" if y.dtype.kind == "f" else "auto"
    weight = None if w is None else "w"
    chunked = [
        None if a is None else da.from_array(a, chunks=(1000, *a.shape[1:])) for a in (X, y, w)
    ]
    return {
        "array": (X, y, w),
        "memory map": (np.load(folder / "X.npy", mmap_mode="r"), y, w),
        "blocks of 7": (RowBlocks(cut(X, y, w, 7)),),
        "blocks of 100": (RowBlocks(cut(X, y, w, 100)),),
        "blocks of 10,000": (RowBlocks(cut(X, y, w, 10_000)),),
        "blocks in another order": (RowBlocks([shuffled[i] for i in order]),),
        "Parquet": (
            open_blocks(folder / "rows.parquet", target="y", weight=weight, target_type=kind),
        ),
        "dask": tuple(chunked),
    }


def fitted(model, given, X_test):
    """Epsilons, support objects of each machine, and decision values."""
    from sklearn.base import clone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = clone(model).fit(*given)
    vars(model).pop("feature_names_in_", None)
    values = model.decision_function(X_test) if is_classifier(model) else model.predict(X_test)
    objects = np.asarray(model.support_objects_)
    if model.kernel == "dyadic":
        objects = model.support_[:, None]
    used = np.atleast_2d(model.alpha_)[:, model.support_] != 0
    support = [sorted(map(tuple, objects[machine].tolist())) for machine in used]
    return np.atleast_1d(model.epsilon_), support, values, model


def differ(a, b):
    """Whether two models differ in an epsilon or in support objects."""
    return bool((np.abs(a[0] - b[0]) > SAME * a[0]).any()) or a[1] != b[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    args = parser.parse_args()
    import dask

    dask.config.set(scheduler="synchronous")
    rows = []
    for name in args.sets:
        model, make, weighted = SETS[name]
        X, y = make()
        counts, largest, began = {}, {}, time.perf_counter()
        for split in range(args.splits):
            X_train, X_test, y_train, _ = train_test_split(X, y, test_size=0.2, random_state=split)
            scaler = StandardScaler().fit(X_train)
            X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
            w = weights_of(X_train) if weighted else None
            size = 1.0 if is_classifier(model) else float(np.std(y_train))
            with tempfile.TemporaryDirectory() as folder:
                given = containers(X_train, y_train, w, Path(folder))
                expected = fitted(model, given.pop("array"), X_test)
                for container, arguments in given.items():
                    found = fitted(model, arguments, X_test)
                    if differ(expected, found):
                        counts[container] = counts.get(container, 0) + 1
                        print("differs:", name, split, container, expected[0][:3], found[0][:3])
                    off = np.abs(found[2] - expected[2]).max() / size
                    largest[container] = max(largest.get(container, 0.0), float(off))
        n, fitted_as = len(X_train), "sums" if hasattr(expected[3], "sums_") else "gathered"
        worst = max(largest.values())
        rows.append(
            [
                name,
                f"{n:,}",
                fitted_as,
                len(largest) * args.splits,
                sum(counts.values()),
                f"{worst:.0e}",
            ]
        )
        print(
            rows[-1],
            counts,
            {k: f"{v:.1e}" for k, v in largest.items()},
            f"{time.perf_counter() - began:.0f} s",
            flush=True,
        )
    header = [
        "set",
        "rows",
        "fit",
        "models beside the array's",
        "that differ",
        "decision values differ by",
    ]
    if args.sets == list(SETS):
        write_section("containers", f"{environment()}\n\n{markdown_table(header, rows)}")
    print(markdown_table(header, rows))


if __name__ == "__main__":
    main()
