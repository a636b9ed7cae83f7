"""False selections and power of selectors with an error bound, in simulations.

A target is a sum of some columns of X and noise; a selected feature is false if it is not in the
sum. Designs: independent columns, Toeplitz correlations 0.5^|i-j| and 0.9^|i-j|, blocks of ten
columns with the correlation 0.7, Student's t with 3 degrees of freedom, and random genes of
golub_leukemia with planted effects. Stability selection on the lasso of scikit-learn (`lars_path`)
has the same halves and the same bounds. Times are processor times, both measured in the same run.
"""

import argparse
import functools
import time
import warnings

import numpy as np
from scipy.linalg import toeplitz
from sklearn.feature_selection import SelectFdr, f_regression
from sklearn.linear_model import lars_path

from datasets import data_dir, load
from psvm import GeneSelector, KnockoffSelector, PSVMSelector, StabilitySelector
from psvm.selection import gaussian_knockoffs, stability_parameters
from report import environment, markdown_table, write_section

REPETITIONS, SOME, FEW = 200, 20, 2
"""Data sets of each design; some or few of them for what takes long."""
N, P, RELEVANT = 200, 100, 20
GENES, RELEVANT_GENES = 100, 10
EFFECT = 5.0
"""Size of a coefficient times the root of the number of rows; the noise has variance one."""
PFER, THRESHOLD, FDR, REPEATS = 1.0, 0.75, 0.2, 10
ASSUMPTIONS = ("none", "unimodal", "r-concave")
PAIRS, ROWS = 100, 60
"""The large example."""


def correlated(Sigma):
    root = np.linalg.cholesky(Sigma)
    return lambda rng: rng.normal(size=(N, P)) @ root.T


def blocks():
    same = np.kron(np.eye(P // 10), np.ones((10, 10)))
    return correlated(0.7 * same + 0.3 * np.eye(P))


def genes():
    """Random columns of the gene expression data, on the log scale."""
    X = np.log2(np.maximum(load("dyadic/golub_leukemia")["X"], 20.0))
    X = X[:, X.std(axis=0) > 0.5]
    return lambda rng: X[:, rng.choice(X.shape[1], GENES, replace=False)]


def designs():
    found = {
        "independent": correlated(np.eye(P)),
        "Toeplitz 0.5": correlated(toeplitz(0.5 ** np.arange(P))),
        "Toeplitz 0.9": correlated(toeplitz(0.9 ** np.arange(P))),
        "blocks of 10, 0.7": blocks(),
        "Student's t, 3": lambda rng: rng.standard_t(3, size=(N, P)),
    }
    if data_dir() is not None:
        found["genes"] = genes()
    return found


def planted(X, rng):
    """Standardised columns, a target, and which columns it is made of."""
    n, p = X.shape
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    k = RELEVANT if p == P and n == N else RELEVANT_GENES
    relevant = np.zeros(p, dtype=bool)
    relevant[rng.choice(p, k, replace=False)] = True
    size = EFFECT / np.sqrt(n) if n == N else 1.0
    y = X[:, relevant] @ (size * rng.choice([-1.0, 1.0], k)) + rng.normal(size=n)
    return X, y, relevant


def by_frequency(entries, p, assumption):
    """Selection from the features that halves select, for the q of an assumption."""
    found = parameters(p, entries.shape[0], assumption)
    first = entries[:, : found.q]
    return np.bincount(first[first >= 0], minlength=p) >= found.n_needed


@functools.cache
def parameters(p, n_subsamples, assumption):
    options = {"n_subsamples": n_subsamples, "assumption": assumption}
    return stability_parameters(p, pfer=PFER, threshold=THRESHOLD, **options)


def stability(X, y, seed):
    """What halves select, and the seconds."""
    began = time.process_time()
    q = parameters(X.shape[1], 100, ASSUMPTIONS[-1]).q
    model = StabilitySelector(q, threshold=THRESHOLD, assumption=ASSUMPTIONS[-1], random_state=seed)
    entries = model.fit(X, y).entries_
    return entries, time.process_time() - began


def lasso_stability(X, y, seed):
    """The same with scikit-learn's path."""
    began = time.process_time()
    q = parameters(X.shape[1], 100, ASSUMPTIONS[-1]).q
    random = np.random.RandomState(seed)
    entries = np.full((100, q), -1)
    for pair in range(50):
        mixed, half = random.permutation(len(y)), len(y) // 2
        for side in (0, 1):
            rows = mixed[side * half : (side + 1) * half]
            entries[2 * pair + side] = lasso_order(X[rows], y[rows], q)
    return entries, time.process_time() - began


def lasso_order(X, y, q):
    """The first q features of a lasso path, in the order of entry."""
    X = X - X.mean(axis=0)
    X = X / np.maximum(np.linalg.norm(X, axis=0), 1e-9)  # halves of genes may be constant
    _, _, coefs = lars_path(X, y - y.mean(), method="lasso", max_iter=2 * q)
    first = np.argmax(coefs != 0, axis=1)
    entered = np.flatnonzero((coefs != 0).any(axis=1))
    order = entered[np.argsort(first[entered], kind="stable")][:q]
    return np.pad(order, (0, q - len(order)), constant_values=-1)


def lasso_knockoffs(X, y, seed):
    """Seconds of the path of columns and knockoffs in scikit-learn."""
    began = time.process_time()
    both = np.hstack([X, gaussian_knockoffs(X, random_state=seed)])
    both = both - both.mean(axis=0)
    lars_path(both / np.linalg.norm(both, axis=0), y - y.mean(), method="lasso")
    return time.process_time() - began


def knockoffs(X, y, seed, **options):
    began = time.process_time()
    model = KnockoffSelector(FDR, random_state=seed, **options).fit(X, y)
    return model.get_support(), time.process_time() - began


def boruta(X, y, seed):
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestRegressor

    forest = RandomForestRegressor(50, max_depth=5, max_features="sqrt", random_state=seed)
    model = BorutaPy(forest, n_estimators=50, max_iter=50, random_state=seed)
    return model.fit(X, y).support_


def one_data_set(draw, seed, few):
    """Selections by method, and processor times."""
    rng = np.random.default_rng(seed)
    X, y, relevant = planted(draw(rng), rng)
    found, times = {}, {}
    entries, times["stability"] = stability(X, y, seed)
    for assumption in ASSUMPTIONS:
        found[f"StabilitySelector, {assumption}"] = by_frequency(entries, X.shape[1], assumption)
    if few:
        other, times["lasso stability"] = lasso_stability(X, y, seed)
        found["lasso, unimodal"] = by_frequency(other, X.shape[1], "unimodal")
        found["same halves"] = np.mean(np.sort(other, axis=1) == np.sort(entries, axis=1))
        times["lasso knockoffs"] = lasso_knockoffs(X, y, seed)
    found["KnockoffSelector, entry"], times["knockoffs"] = knockoffs(X, y, seed)
    found["KnockoffSelector, difference"], _ = knockoffs(X, y, seed, statistic="difference")
    if seed < SOME:
        found["KnockoffSelector, sdp"], _ = knockoffs(X, y, seed, method="sdp")
        found[f"KnockoffSelector, {REPEATS} repeats"], _ = knockoffs(X, y, seed, n_repeats=REPEATS)
    if few:
        found["Boruta"] = boruta(X, y, seed)
    found["SelectFdr"] = SelectFdr(f_regression, alpha=FDR).fit(X, y).get_support()
    found["PSVMSelector"] = PSVMSelector().fit(X, y).get_support()
    return found, times, relevant


def nominal(name):
    if name.startswith(("StabilitySelector", "lasso")):
        return f"{PFER:g} false"
    return f"FDR {FDR:g}" if name.startswith(("KnockoffSelector", "SelectFdr")) else "none"


def summary(supports, which):
    """Mean number and share of false selections, power, and their standard errors."""
    false = np.array([(s & ~r).sum() for s, r in zip(supports, which, strict=True)])
    true = np.array([(s & r).sum() for s, r in zip(supports, which, strict=True)])
    shares = false / np.maximum(false + true, 1)
    power = true / np.array([r.sum() for r in which])
    return [(v.mean(), v.std(ddof=1) / np.sqrt(len(v))) for v in (false, shares, power)]


def kept(name, figures):
    """Whether the nominal level is kept, up to two standard errors."""
    level = nominal(name)
    if level == "none":
        return "-"
    (mean, error), most = (figures[0], PFER) if "false" in level else (figures[1], FDR)
    return "yes" if mean <= most else "within 2 s.e." if mean <= most + 2 * error else "no"


def simulate(repetitions, few, names):
    rows, ratios, same = [], {"stability": [], "knockoffs": []}, []
    chosen = {name: draw for name, draw in designs().items() if not names or name in names}
    for design, draw in chosen.items():
        results = [one_data_set(draw, seed, seed < few) for seed in range(repetitions)]
        for name in results[0][0]:
            if name == "same halves":
                same += [found[name] for found, *_ in results if name in found]
                continue
            pairs = [(found[name], r) for found, _, r in results if name in found]
            figures = summary(*zip(*pairs, strict=True))
            cells = [f"{mean:.2f} ± {error:.2f}" for mean, error in figures]
            rows.append([design, name, len(pairs), nominal(name), *cells, kept(name, figures)])
            print(*rows[-1], sep=" | ", flush=True)
        for name, found in ratios.items():
            both = [t for _, t, _ in results if f"lasso {name}" in t]
            found += [t[f"lasso {name}"] / t[name] for t in both]
    header = ["design", "selector", "data sets", "nominal", "false selections", "their share"]
    table = markdown_table([*header, "power", "kept"], rows)
    middle = {name: np.median(values) for name, values in ratios.items()}
    return table, middle, float(np.mean(same))


def large_example():
    """Seconds of 100 complementary pairs, and of a nested cross-validation."""
    d = load("dyadic/golub_leukemia")
    X, y = d["X"][:ROWS], d["y"][:ROWS]
    began = time.process_time()
    model = StabilitySelector(pfer=PFER, n_subsamples=2 * PAIRS, random_state=0).fit(X, y)
    pairs = time.process_time() - began
    began = time.process_time()
    X_s = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    sign, random = np.where(y == y[0], 1.0, -1.0), np.random.RandomState(0)
    some = [random.permutation(ROWS)[: ROWS // 2] for _ in range(20)]
    for rows in some:
        lasso_order(X_s[rows], sign[rows], model.parameters_.q)
    lasso = (time.process_time() - began) * 2 * PAIRS / len(some)
    began = time.process_time()
    GeneSelector(cv=10).evaluate(X, y, cv=10)
    nested = time.process_time() - began
    return (
        f"{PAIRS} complementary pairs of golub_leukemia, {X.shape[0]} x {X.shape[1]}: "
        f"{pairs:.1f} s; the same number of halves by `lars_path` {lasso / pairs:.1f} times as "
        f"long; one nested cross-validation of `GeneSelector` (ten folds in ten folds) "
        f"{nested / pairs:.0f} times as long. {model.n_features_} genes are selected: "
        f"{model.parameters_}."
    )


def run(repetitions, few, names):
    table, ratios, same = simulate(repetitions, few, names)
    text = (
        f"{N} rows, {P} columns, {RELEVANT} of them in the target (genes: 72 rows, {GENES} "
        f"columns, {RELEVANT_GENES}). Mean and standard error. Stability selection with 50 pairs, "
        f"threshold {THRESHOLD} and at most {PFER:g} false selections; knockoffs and "
        f"SelectFdr with a false discovery rate of {FDR}.\n\n{table}\n\nProcessor time of "
        f"scikit-learn's `lars_path` over ours, median: {ratios['stability']:.1f} for 100 halves, "
        f"{ratios['knockoffs']:.1f} for columns and knockoffs (with the time to make these). "
        f"{100 * same:.1f} % of what halves select is the same."
    )
    return text if data_dir() is None or names else f"{text}\n\n{large_example()}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--few", type=int, default=FEW)
    parser.add_argument("--designs", nargs="*", help="only these; nothing is written")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    text = run(options.repetitions, options.few, options.designs)
    print(text)
    if not options.designs:
        write_section("selection-error", environment() + "\n\n" + text)
