"""Tables of the Lecture paper."""

import numpy as np

from psvm import PSVMSelector
from psvm.selection import rankings
from report import markdown_table

from .protocol import FLOOR, INNER_FOLDS, N_FOLDS, chosen, honest, larger_class, read
from .runner import Section, table

LEFT = np.array([[-2, 3], [2, -3], [-2, 1], [2, -1]], dtype=float)
"""Table 6.1, left: f1 and f2; the target is their sum."""
RIGHT = np.array([[0, -1, 0], [1, 1, 0], [-1, 0, -1], [1, 0, 1]], dtype=float)
"""Table 6.1, right: f1, f2 and f3; the target is f2 + f3."""
CORRELATIONS = {"f1": 0.9, "others": 0.71}
"""The text on Table 6.1: correlations of the right-hand features with the target."""
KINDS = {
    "notes": "the notes' order: logarithm, quantiles, present call",
    "defaults": "our defaults, raw values",
}
SETS = {"leukaemia": "golub_leukemia", "brain tumour": "pomeroy_cns"}


@table("Lecture", "Table 6.1", "Features whose correlation with the target misleads")
def table_6_1(run):
    left = _trap(LEFT, LEFT.sum(axis=1), 2)
    right = _trap(RIGHT, RIGHT[:, 1] + RIGHT[:, 2], 2)
    first = _first(RIGHT, RIGHT[:, 1] + RIGHT[:, 2])
    c_left, c_right = left["correlation"], right["correlation"]
    claims = {
        "left: f1 and the target are uncorrelated (below 1e-12)": abs(c_left[0]) < 1e-12,
        "left: f2 alone leaves more than half of the target's variance, f1 and f2 nothing": (
            _left_over(LEFT[:, 1:], LEFT.sum(axis=1)) > 0.5
            and _left_over(LEFT[:, left["selected"]], LEFT.sum(axis=1)) < 1e-12
        ),
        f"right: f1 has the largest correlation, {CORRELATIONS['f1']} against "
        f"{CORRELATIONS['others']} (within 0.01)": (
            abs(c_right[0] - CORRELATIONS["f1"]) <= 0.01
            and np.abs(np.array(c_right[1:]) - CORRELATIONS["others"]).max() <= 0.01
        ),
        "right: two features of the P-SVM are f2 and f3, without f1": right["selected"] == [1, 2],
        "right: two features by correlation include f1": 0 in right["by correlation"],
    }
    why = (
        f"the P-SVM selects {_names(left['selected'])} on the left, where f1 has a correlation of "
        f"{c_left[0]:.2f} with the target, and {_names(right['selected'])} on the right, where f1 "
        f"has {c_right[0]:.2f}; the first feature to enter there is {_names([first])}."
    )
    rows = [
        [
            side,
            ", ".join(f"{value:.2f}" for value in found["correlation"]),
            _names(found["by correlation"]),
            _names(found["selected"]),
        ]
        for side, found in (("left", left), ("right", right))
    ]
    header = ["side", "correlations with the target", "best 2 by correlation", "P-SVM, 2 features"]
    text = (
        "`PSVMSelector(n_features=2)` on the printed values. It follows the exact path to the end "
        "where that is needed to select two features.\n\n"
    )
    return Section(claims, why, text + markdown_table(header, rows))


def _trap(X, t, n):
    """Correlations with the target, and n features by them and by the P-SVM."""
    correlation = [float(np.corrcoef(column, t)[0, 1]) for column in X.T]
    by_size = np.argsort(-np.abs(correlation), kind="stable")[:n]
    selector = PSVMSelector(n_features=n, task="regression").fit(X, t)
    return {
        "correlation": correlation,
        "by correlation": sorted(by_size.tolist()),
        "selected": selector.get_support(indices=True).tolist(),
    }


def _left_over(X, t):
    """The share of the target's variance that its least squares on X leave."""
    X, t = X - X.mean(axis=0), t - t.mean()
    return float(np.square(t - X @ np.linalg.lstsq(X, t)[0]).sum() / np.square(t).sum())


def _first(X, t):
    """The feature that enters the path first: the one most correlated with the target."""
    return int(np.argmax(rankings.pearson(X, np.where(t > 0, "up", "down"))))


def _names(features):
    return " and ".join(f"f{j + 1}" for j in features) or "nothing"


@table("Lecture", "Section 6.3", "The gene selection protocol, and an error that is not honest")
def section_6_3(run):
    repetitions = 3 if run.full else 1
    seeds = range(1, 4 if run.full else 2)
    tasks = [(name, "notes") for name in SETS.values()]
    outside = dict(zip(SETS, run.map(chosen, tasks), strict=True))
    errors = {
        what: {kind: honest(run, name, kind, repetitions)[:, 0].mean() for kind in KINDS}
        for what, name in SETS.items()
    }
    brain = SETS["brain tumour"]
    random_outside = np.mean(
        [row[2] for row in run.map(chosen, [(brain, "defaults", seed) for seed in seeds])]
    )
    random_honest = np.mean([honest(run, brain, "defaults", 1, seed)[0, 0] for seed in seeds])
    larger = {what: larger_class(name) for what, name in SETS.items()}
    n = len(read(brain)[1]) * len(seeds)
    margin = 200 * np.sqrt(0.25 / n)
    claims = {
        "with the selection outside of the folds the error is smaller than the honest one, on both "
        "sets": all(outside[what][2] < errors[what]["notes"] for what in SETS),
        "labels without meaning: the selection outside gives less than 50 % by more than two "
        f"standard errors ({margin:.0f} points)": random_outside < 50 - margin,
        f"labels without meaning: the honest error is 50 %, within {margin:.0f} points": (
            abs(random_honest - 50) <= margin
        ),
        "leukaemia: the protocol's honest error is at most half of the larger class's": (
            errors["leukaemia"]["notes"] <= larger["leukaemia"] / 2
        ),
    }
    why = (
        f"the notes' protocol has an honest error of {errors['leukaemia']['notes']:.0f} % for "
        f"leukaemia and {errors['brain tumour']['notes']:.0f} % for brain tumours (our defaults: "
        f"{errors['leukaemia']['defaults']:.0f} and {errors['brain tumour']['defaults']:.0f} %); "
        f"with labels that mean nothing, selecting outside of the folds gives {random_outside:.0f} "
        f"% and the honest estimate {random_honest:.0f} %."
    )
    rows = []
    for what in SETS:
        genes, inner, wrong, *_ = outside[what]
        rows += [
            *([what, f"honest: {KINDS[kind]}", f"{errors[what][kind]:.0f} %"] for kind in KINDS),
            [what, f"by which F = {genes:.0f} and nu were chosen (notes)", f"{inner:.0f} %"],
            [what, "genes selected outside of the folds (notes)", f"{wrong:.0f} %"],
            [what, "always the larger class", f"{larger[what]:.0f} %"],
        ]
    rows += [
        ["labels without meaning", "honest (defaults)", f"{random_honest:.0f} %"],
        ["labels without meaning", "selected outside (defaults)", f"{random_outside:.0f} %"],
    ]
    text = (
        "The steps in their printed order, all inside the folds: binary logarithm (values below "
        f"{FLOOR:.0f} are raised to it), quantile normalisation, present call (p below "
        "0.05 in at least 3 samples), standardisation, ranking, a linear nu-SVM without intercept, "
        "clipping at the largest training value. The sets have no p-values; ours are those of "
        f"noise whose standard deviation is that of a sample's negative values. Honest: "
        f"{N_FOLDS} outer folds, {repetitions} times, with "
        f"{INNER_FOLDS} inner folds instead of leave-one-out. That the nu-SVM is linear and has no "
        "intercept, and the values of nu, are those of the technical report. The notes give no "
        "errors.\n\n"
    )
    return Section(claims, why, text + markdown_table(["data", "error", "value"], rows))
