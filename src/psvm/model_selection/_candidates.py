"""Which combinations of kernel, gamma and C a search compares, one after the other."""

from itertools import product

import numpy as np

from ..estimators import AUTO, Scaling, kernel_name
from ..kernels import WITH_GAMMA, Kernel

FACTOR = 3.0
"""Between two neighbours of gamma."""
START = 1.0, 1.0 / FACTOR
"""gamma in units of "scale" where a search starts."""
EVERY = ("rbf", "laplacian", "linear")
"""The kernels of ``kernel="auto"``."""
FARTHEST = 4
"""Values of gamma that are added at each end, at most."""
LEARNT = 0.9
"""A candidate has learnt something if its loss is less than that share of that of a constant."""
HALF, MOST_CS, TURNED = 0.5, 12, 2
"""Between two neighbours of C, the number of values that are tried beside infinity, at most, and
how many in a row that are not better than the best one end the walk."""


def as_list(value):
    """A parameter of one value or several as a list."""
    several = isinstance(value, list | tuple | np.ndarray) and not isinstance(value, str)
    return list(value) if several else [value]


def kernels_of(options):
    """The kernels of a search."""
    kernels = as_list(options.kernel)
    return list(EVERY) if kernels == [AUTO] else kernels


def has_gamma(kernel):
    """Whether the parameter gamma means something to a kernel."""
    return not isinstance(kernel, Kernel) and kernel_name(kernel) in WITH_GAMMA


def first_candidates(options, X, weights):
    """The combinations that a search begins with, as parameters of the model."""
    found, Cs = [], [np.inf] if options.Cs is None else [float(C) for C in options.Cs]
    kernels = kernels_of(options)
    if any(map(has_gamma, kernels)):
        scaling = Scaling.of(X, weights)
        scaling = scaling.standardized if kernels == list(EVERY) else scaling
        asked = START if options.gammas is None else options.gammas
        unit = scaling.gamma("scale") if options.gammas is None else 1.0
        widths = [unit * float(scaling.gamma(gamma)) for gamma in asked]
    more = {"standardize": True} if as_list(options.kernel) == [AUTO] else {}
    for kernel in kernels:
        gammas = widths if has_gamma(kernel) else ["scale"]
        pairs = product(Cs, gammas)
        found += [{"C": C, "gamma": gamma, "kernel": kernel, **more} for C, gamma in pairs]
    return found


def next_gammas(options, results):
    """Further combinations: beyond the end of the widths that has the best one.

    While nothing is learnt, narrower kernels are tried: wide ones do not see what changes fast.
    """
    if options.gammas is not None:
        return []
    found = []
    for place, kernel in enumerate(kernels_of(options)):
        mine = [r for r in results if r.kernel == place]
        if not has_gamma(kernel):
            continue
        gammas = np.unique([r.params["gamma"] for r in mine])
        best = max(mine, key=lambda r: r.score).params
        scale = mine[0].params["gamma"] / START[0]
        for end, factor in ((gammas[-1], FACTOR), (gammas[0], 1.0 / FACTOR)):
            steps = abs(np.log(end * factor / scale) / np.log(FACTOR))
            blind = factor > 1 and not any(map(_has_learnt, mine))
            if (blind or best["gamma"] == end) and steps < FARTHEST + 1.5:
                found.append({**best, "gamma": float(end * factor)})
    return found


def _has_learnt(result):
    """Whether held-out rows are predicted better than by a constant; unknown with folds."""
    losses = result.judged.losses
    return not len(losses) or losses.min() < LEARNT * losses[0]


def smaller_Cs(largest):
    """Bounds below the largest variable of a solution without a bound."""
    return (largest * HALF ** np.arange(1, MOST_CS + 1)).tolist() if largest > 0 else []
