"""PSVC() and PSVR() beside the defaults of SVC, NuSVC, SVR, NuSVR and relevance vector machines.

Classification: error in percent. Regression: 100 x MSE / variance. Features are standardised, the
target of a regression as well. Models take turns on each split; times are those of the processor.
The relevance vector machines are those of the package fastrvm, if it is installed.

    python benchmarks/bench_defaults.py [--only classes numbers frontier] [--splits 4]
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR, NuSVC, NuSVR
from threadpoolctl import threadpool_limits

from datasets import data_dir
from psvm import PSVC, PSVR
from report import environment, markdown_table, write_section
from tasks import (
    NEW_CLASSES,
    NEW_NUMBERS,
    SEVERAL_CLASSES,
    TUNED_CLASSES,
    TUNED_NUMBERS,
    task,
)

RVM_ITERATIONS, RVM_ROWS, RVM_SPLITS = 300, 1000, 2
"""Relevance vector machines go back and forth for minutes without a limit; the first splits of sets
that are not larger."""
try:
    from fastrvm import RVC, RVR

    RVMS = partial(RVC, max_iter=RVM_ITERATIONS), partial(RVR, max_iter=RVM_ITERATIONS)
except ImportError:
    RVMS = None, None

FRONTIER = ("banana", "waveform", "cpu_act > median", "digits odd and even")
SHARES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002)
"""epsilon / epsilon_max."""
CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
NUS = (0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02)


class Found:
    """Error, support objects and seconds of one model on the splits of a task."""

    def __init__(self):
        self.values, self.status = [], "too slow"

    def add(self, model, X, y, X_test, y_test):
        began = time.process_time()
        try:
            model.fit(X, y)
        except ValueError:  # nu is infeasible
            self.status = "infeasible"
            return
        took = time.process_time() - began
        self.values.append((100 * (1 - model.score(X_test, y_test)), support(model), took))

    @property
    def error(self):
        return np.mean([error for error, *_ in self.values]) if self.values else np.nan

    @property
    def support(self):
        return np.mean([count for _, count, _ in self.values]) if self.values else np.nan

    @property
    def seconds(self):
        return np.median([seconds for *_, seconds in self.values])

    @property
    def cell(self):
        return f"{self.error:.2f} ({self.support:.0f})" if self.values else self.status


def support(model):
    """The number of support objects; machines of several classes may share them."""
    if hasattr(model, "support_"):
        return len(model.support_)
    relevant = model.relevance_ if isinstance(model.relevance_, list) else [model.relevance_]
    return len(np.unique(np.concatenate([np.ravel(rows) for rows in relevant])))


def evaluate(name, models, n_splits):
    """What each model does on the splits of a task, interleaved."""
    found, split = {label: Found() for label in models}, task(name)
    for i in range(n_splits):
        data = split(i)
        for label, make in models.items():
            if make not in RVMS or (len(data[1]) <= RVM_ROWS and i < RVM_SPLITS):
                found[label].add(make(), *data)
    return found


def compare(groups, models, n_splits):
    """A table: the first model is ours, the second its peer."""
    ours, peer, *others = models
    rows, means, dense, gains = [], [], [], {}
    for group, names in groups.items():
        totals = []
        for name in names:
            found = evaluate(name, models, n_splits)
            a, b = found[ours], found[peer]
            share, ratio = a.support / b.support, a.seconds / b.seconds
            if share > 1:
                dense.append(f"{name} ({a.support:.0f}, {peer} {b.support:.0f})")
            gains[name] = a.error - b.error
            cells = [found[label].cell for label in models]
            rows.append([name, *cells, f"{share:.2f}", f"{ratio:.1f}"])
            totals.append([share, ratio, *(v.error for v in found.values())])
            totals[-1] += [v.support for v in found.values()]
            print(*rows[-1], sep="\t", flush=True)
        means.append(mean_row(f"**mean, {group}**", np.array(totals)))
        print(*means[-1], sep="\t", flush=True)
    header = ["set", ours, peer, *others, f"support / {peer}", f"time / {peer}"]
    worst, best = max(gains, key=gains.get), min(gains, key=gains.get)
    below = sum(gain < 0 for gain in gains.values())
    note = (
        f"{ours} has the smaller error on {below} of {len(gains)} sets; the difference to {peer} "
        f"has the median {np.median(list(gains.values())):+.2f} and goes from {gains[best]:+.2f} "
        f"({best}) to {gains[worst]:+.2f} ({worst}). More support objects than {peer}: "
        f"{', '.join(dense) or 'on no set'}."
    )
    return markdown_table(header, rows + means) + "\n\n" + note


def mean_row(label, totals):
    """Means over sets, of the feasible ones; of shares the mean, of time ratios the median."""
    share, ratio = totals[:, 0].mean(), np.median(totals[:, 1])
    errors, sizes = np.split(np.nanmean(totals[:, 2:], axis=0), 2)
    cells = [f"{e:.2f} ({s:.0f})" for e, s in zip(errors, sizes, strict=True)]
    return [label, *cells, f"{share:.2f}", f"{ratio:.1f} (median)"]


def with_peer(models, label, peer):
    return models if peer is None else {**models, label: peer}


def classes(n_splits):
    models = with_peer({"PSVC()": PSVC, "SVC()": SVC, "NuSVC()": NuSVC}, "RVC", RVMS[0])
    groups = {"chosen on": TUNED_CLASSES, "new": NEW_CLASSES, "several classes": SEVERAL_CLASSES}
    return compare(groups, models, n_splits)


def numbers(n_splits):
    models = with_peer({"PSVR()": PSVR, "SVR()": SVR, "NuSVR()": NuSVR}, "RVR", RVMS[1])
    return compare({"chosen on": TUNED_NUMBERS, "new": NEW_NUMBERS}, models, n_splits)


def frontier(n_splits):
    """Error and support objects along the parameter that sets the support."""
    lines = {
        "PSVC, epsilon": [partial(PSVC, epsilon=share, epsilon_unit="max") for share in SHARES],
        "SVC, C": [partial(SVC, C=C) for C in CS],
        "NuSVC, nu": [partial(NuSVC, nu=nu) for nu in NUS],
    }
    if RVMS[0] is not None:
        lines["RVC"] = [RVMS[0]]
    rows = []
    for name in FRONTIER:
        for label, makers in lines.items():
            found = evaluate(name, dict(enumerate(makers)), n_splits)
            points = [v for v in found.values() if not np.isnan(v.error)]
            points.sort(key=lambda v: v.support)
            cells = [v.cell for v in points]
            rows.append([name, label, *cells, *[""] * (len(SHARES) - len(cells))])
            print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["set", "model", "fewest", *[""] * (len(SHARES) - 2), "most"], rows)


SECTIONS = {"classes": classes, "numbers": numbers, "frontier": frontier}
SPLITS = {"classes": 4, "numbers": 4, "frontier": 2}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--splits", type=int, help="instead of 4, 4 and 2")
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    warnings.simplefilter("ignore", ConvergenceWarning)
    for section in options.only:
        with threadpool_limits(1):
            table = SECTIONS[section](options.splits or SPLITS[section])
        write_section(f"defaults-{section}", environment() + "\n\n" + table)
