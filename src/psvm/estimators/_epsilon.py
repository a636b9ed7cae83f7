"""The choice of epsilon along a path of solutions."""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._folds import assign_folds
from .._progress import say
from ..solvers import Clock, WorkingSet, exact_path, follow
from ._fold_moments import fold_values
from ._judge import NumbersJudge, PairJudge
from ._loo import LeaveOneOut
from ._target import LARGEST_GRAM

GRIDS = {"loo": (6, 8), "cv": (6, 5), "aicc": (10, 5)}
"""Points of epsilon / epsilon_max in a factor of ten, and how many such factors: exact paths go on
until the loss has turned, the others get slow."""
PATIENCE, LONGEST, GAIN = 5, 18, 1e-3
"""The path ends when the criterion has not improved by that share while the support had so many
sizes (columns of wide kernels are alike, and it grows slowly), or for the longest while,"""
FEW, LONGER = 50, 7
"""(so few support objects take no time and may say little: they may have so many sizes,)"""
GROWTH, TURNED = 1.5, 2
"""or, with more of them, since they were fewer by that factor, or when so many points at the end
(one, where points are dear) are worse than the best one by more than chance,"""
DENSEST = 0.5
"""or when there are more support objects than this share of the distinct rows,"""
ALMOST_ALL = 0.9
"""or of the columns, if solutions are relaxed,"""
LEAP = 1.25
"""(and if the last point has that many times more, it is not chosen),"""
NOTHING = 1e-12
"""or when no more than this share of the variance of the target is left."""
FURTHER, LITTLE = 6, 4e6
"""At most so many points of the path are judged at once, until they take so many products."""
DEAR, MORE = 200, 1.2
"""Beyond so many support objects a point with fewer than that many times those of the point before
is passed over, but not two in a row."""
PATH_TOL = 0.01
"""Tolerance on paths that are not exact: errors of prediction need no more."""
STANDARD_ERRORS, LOSS = 2.0, 0.2
"""The largest epsilon wins whose loss exceeds the smallest by at most so many standard errors of
the difference, and at most by that share."""
RELAXED = 0.75
"""How far the solutions of the path go to the least squares of their support."""
MANY, TALL = 1024, 16
"""Up to so many columns of so many times more rows, paths keep products of all columns instead of
copies of those in use."""
JUDGED = 2000
"""Leave-one-out values of so many rows, of which the equal ones count as one, say enough."""
FALLBACK = 0.1
"""epsilon / epsilon_max where there are too few distinct rows to choose it."""


class PathPoint(NamedTuple):
    """A point of a path."""

    decisions: np.ndarray
    """Values of the rows without their own part."""
    n_support: int
    alpha: np.ndarray | None = None
    """The solution for all rows, if that is what the path has."""
    steps: int = 1
    """Steps of the grid from the point before."""


class Chosen(NamedTuple):
    """The chosen epsilon, and the solution there if the path has it."""

    epsilon: float
    alpha: np.ndarray | None = None


def choose_epsilon(rule, description, y, C, solver, *, classifies=False, relaxation=0.0):
    """Choose epsilon for the P-SVM of a target.

    Parameters
    ----------
    rule : {"auto", "cv", "aicc"}
        Loss of leave-one-out values where the columns are few enough to form their products, and
        of five folds where they are not ("auto"); always of five folds ("cv"); the corrected
        Akaike criterion.
    description : Description
        With its digests: equal rows leave together.
    y : ndarray of shape (L,)
    C : float
    solver : Solver
        The solver of the final fit, whose limits hold for the paths as well.
    classifies : bool
        Whether y is -1 and +1 for two classes: the loss is the log loss of a sigmoid, otherwise
        the squared error, both with the best constant.
    relaxation : float
        How far leave-one-out values are those of least squares on the support, from 0 to 1.

    Returns
    -------
    Chosen
    """
    problem = description.problem(y, C)
    largest = problem.epsilon_max
    n_distinct = count_distinct(description)
    if n_distinct < 3 or largest == 0:
        return Chosen(FALLBACK * largest)
    if rule == "auto":
        rule = "loo" if problem.K.shape[1] <= LARGEST_GRAM else "cv"
    clock = Clock(solver.max_time).half()
    per_decade, decades = GRIDS[rule]
    steps = range(per_decade * decades + 1)
    epsilons = [largest * 10 ** (-step / per_decade) for step in steps]
    if rule == "aicc":
        return _most_informed(problem, epsilons, n_distinct, solver, clock)
    kind = PairJudge if classifies else NumbersJudge
    judged = judged_rows(description) if rule == "loo" else np.full(len(y), True)
    judge = kind(np.where(judged, description.weights, 0.0), description.groups, y)
    if not classifies:
        judge.least = NOTHING * (problem.y @ problem.y) / description.weights.sum()
    most = largest_support(description, DENSEST * n_distinct, relaxation)
    if rule == "loo":
        rows = np.flatnonzero(judged)
        blocks = left_out_points(description, problem, y, epsilons, relaxation, rows, most, MORE)
    else:
        blocks = _held_out(description, problem, y, epsilons, solver)
    # Standard errors are those of all rows.
    errors = STANDARD_ERRORS * np.sqrt(judged.mean())
    return best_of_path(blocks, judge, epsilons, most, clock, errors)


def largest_support(description, most, relaxation):
    """The number of support objects that ends a path.

    Relaxed solutions of almost all columns are all alike; otherwise epsilon still shrinks them.
    """
    return largest_share(most, description.usable.sum(), relaxation)


def largest_share(most, n_columns, relaxation):
    """The same for so many columns that can be used."""
    return min(most, ALMOST_ALL * n_columns) if relaxation > 0 else most


def best_of_path(
    blocks, judge, epsilons, most, clock, errors=STANDARD_ERRORS, worth=0.0, least_gain=None
):
    """The largest epsilon that is good enough, along blocks of points of a path.

    The path ends at more than `most` support objects, or when the last points have not gained
    `least_gain` standard errors, if that is given. The loss may exceed the smallest by some
    standard `errors`, or by a share that is not `worth` more support objects.
    """
    found, losses, values, last = [], [], [], -1
    for block in blocks:
        verdicts = judge(np.array([point.decisions for point in block]))
        found += block
        last += sum(point.steps for point in block)
        _say_where(epsilons[last] / epsilons[0], block[-1].n_support)
        losses.append(verdicts.losses)
        values = np.append(values, judge.mean(verdicts.losses))
        sizes = [point.n_support for point in found]
        if path_is_over(values, sizes, most, judge.least, max(GAIN, worth)):
            break
        points = 1 if sizes[-1] > DEAR and least_gain is None else TURNED
        so_far = np.concatenate(losses)
        if sizes[-1] > FEW and _has_turned(judge, so_far, errors, points, least_gain):
            break
        if clock.over:
            _warn_of_time(epsilons[last] / epsilons[0])
            break
    else:
        if _since_best(values, max(GAIN, worth)) <= PATIENCE:
            _warn_of_end(epsilons[last] / epsilons[0])
    # The last point may have leapt to a support that is too large to be a choice.
    sizes = np.array([point.n_support for point in found])
    values[1:][sizes[1:] > LEAP * most] = np.inf
    best = int(np.argmin(values))
    beyond, error = judge.differences(np.concatenate(losses), best)
    allowed = np.maximum(_good_enough(values[best], errors * error), worth * values[best])
    chosen = int(np.argmax(beyond <= allowed))
    place = sum(point.steps for point in found[: chosen + 1]) - 1
    return Chosen(epsilons[place], found[chosen].alpha)


def path_is_over(values, sizes, most, least, gain=GAIN):
    """Whether a path need not go on.

    The criterion, its `values`, has clearly turned (less than the share `gain` is no gain) or is
    down to the `least` that means anything, or there are more than `most` support objects; `sizes`
    are their numbers.
    """
    since = _since_best(values, gain)
    turned = since > LONGEST or _has_grown(sizes[-since:])
    return turned or sizes[-1] > most or min(values) <= least


def _since_best(values, gain):
    """Number of points from the last that improved the criterion by a share, with it."""
    best = 0
    for place, value in enumerate(values):
        if value < (1 - gain) * values[best]:
            best = place
    return len(values) - best


def _has_grown(sizes):
    """Whether the support has grown enough since the best point, the first of these."""
    if sizes[-1] <= FEW:
        return len(set(sizes)) > LONGER
    return len(set(sizes)) > PATIENCE or (len(sizes) > TURNED and sizes[-1] > GROWTH * sizes[0])


def _has_turned(judge, losses, errors, points, least_gain):
    """Whether so many last points are worse than the best one, or hardly better than it was before.

    Both are told in standard errors of the difference.
    """
    means = judge.mean(losses)
    best = int(np.argmin(means))
    if len(losses) - best > points:
        beyond, error = judge.differences(losses[[best, *range(-points, 0)]], 0)
        if (np.isfinite(beyond) & (beyond > errors * error))[1:].all():
            return True
    if least_gain is None or len(losses) <= TURNED + 1:  # the first point has no support
        return False
    before = int(np.argmin(means[:-TURNED]))
    beyond, error = judge.differences(losses[[before, -1]], 0)
    return bool(-beyond[1] < least_gain * error[1])


def _good_enough(loss, errors):
    """How much the smallest loss may be exceeded, given standard errors of the difference."""
    return np.minimum(errors, LOSS * loss)


def count_distinct(description):
    """The number of distinct rows with weight."""
    return np.count_nonzero(np.bincount(description.groups[description.weights > 0]))


def judged_rows(description, all_of=JUDGED):
    """The rows whose leave-one-out values decide: of many, some that are drawn by their content.

    Of more than `all_of` it is every second one or fewer.
    """
    groups = description.groups
    counts = np.bincount(groups, description.weights) > 0
    step = max(-(-counts.sum() // JUDGED), 1 + (counts.sum() > all_of))
    return ((np.cumsum(counts) - 1) % step == 0)[groups]


def left_out_points(description, problem, y, epsilons, relaxation, rows, most, more=0.0):
    """Leave-one-out values of `rows` along the exact path of all, some points at a time.

    Large supports that are not so much `more` than the one before are passed over; none are if that
    is 0, as supports may shrink.
    """
    loo, Q = LeaveOneOut(description, problem, y, rows), description.gram()
    path = exact_path(Q, problem.l, problem.C, np.array(epsilons[1:]), len(y))
    ahead = [(1, np.zeros(problem.K.shape[1]))]
    while ahead:
        steps, alphas = zip(*ahead, strict=True)
        decisions, _ = loo.decisions(np.array(alphas), Q, relaxation)
        yield [
            PathPoint(f, np.count_nonzero(alpha), alpha, step)
            for f, alpha, step in zip(decisions, alphas, steps, strict=True)
        ]
        ahead = _ahead(path, len(rows), most, more, np.count_nonzero(alphas[-1]))


def _ahead(path, n_rows, most, more, last):
    """The next solutions of a path that are judged, and how many steps each is from the one before.

    The `last` one has so many support objects. The path ends at more than `most` of them.
    """
    ahead, work, steps = [], 0, 0
    for alpha in path:
        steps, count = steps + 1, np.count_nonzero(alpha)
        if steps == 1 and DEAR < count < more * last and count <= most:
            continue
        ahead.append((steps, alpha))
        work += n_rows * count**2
        steps, last = 0, count
        if len(ahead) == FURTHER or count > most or work > LITTLE:
            break
    return ahead


def _held_out(description, problem, y, epsilons, solver):
    """The values of the rows of each fold along the path of the others."""
    folds = assign_folds(description.digests, y, description.weights)
    if problem.K.shape[1] <= LARGEST_GRAM:
        for values in fold_values(description, y, problem.C, epsilons, folds):
            yield [PathPoint(f, count) for f, count in zip(*values, strict=True)]
        return
    solver = _exact(solver)
    total, paths, outs = description.weights.sum(), [], []
    for fold in range(folds.max() + 1):
        part = description.counting(folds != fold)
        # K̃'y and alpha grow like the root of the sample size, and epsilon and C with them.
        scale = np.sqrt(part.weights.sum() / total)
        stated = part.problem(y, scale * problem.C)
        paths.append(_path(stated, [scale * epsilon for epsilon in epsilons], solver))
        outs.append(folds == fold)
    for solutions in zip(*paths, strict=True):
        decisions = np.full(len(y), np.nan)
        for out, solution in zip(outs, solutions, strict=True):
            decisions[out] = _values(description.matrix, solution)[out]
        yield [PathPoint(decisions, max(len(solution.support) for solution in solutions))]


def _values(matrix, solution):
    support = solution.support
    return matrix.columns_matvec(support, solution.coef[support]) + solution.intercept


def _most_informed(problem, epsilons, n_distinct, solver, clock):
    """The smallest value of the corrected Akaike criterion along the path of all rows."""
    criterion, values = _aicc(problem), []
    for solution in _path(problem, epsilons, _exact(solver)):
        values.append(criterion(solution))
        _say_where(epsilons[len(values) - 1] / epsilons[0], len(solution.support))
        dense = len(solution.support) > DENSEST * n_distinct
        if len(values) - 1 - np.argmin(values) >= PATIENCE or dense:
            break
        if clock.over:
            _warn_of_time(epsilons[len(values) - 1] / epsilons[0])
            break
    return Chosen(epsilons[int(np.argmin(values))])


def _exact(solver):
    """Paths need exact small solves, whichever solver is to have the last word."""
    return WorkingSet(
        tol=max(solver.tol, PATH_TOL), max_iter=solver.max_iter, max_time=solver.max_time
    )


def _path(problem, epsilons, solver):
    """Solutions along a path."""
    workspace = solver.workspace(problem.K)
    # Copies of the columns of a tall matrix, one for each path, would be several times K.
    workspace.whole |= _is_tall(*problem.K.shape)
    return follow(problem, epsilons, solver, workspace=workspace)


def _is_tall(L, P):
    return P <= MANY and L >= TALL * P


def _aicc(problem):
    """``L log(RSS / L) + 2 df + 2 df (df + 1) / (L - df - 1)``, df the number of non-zeros."""
    L = problem.K.weights.sum()

    def criterion(solution):
        df = len(solution.support)
        if L - df - 1 <= 0:
            return np.inf
        residual = problem.residual(solution.alpha)
        rss = max(residual @ residual, np.finfo(float).tiny)
        return L * np.log(rss / L) + 2 * df + 2 * df * (df + 1) / (L - df - 1)

    return criterion


def _say_where(share, n_support):
    say(f"epsilon {share:.2g} of the largest, {n_support} support objects")


def _warn_of_time(share):
    warnings.warn(
        f"max_time ended the search for epsilon at {share:.2g} of epsilon_max. Increase max_time, "
        "or give epsilon a number.",
        ConvergenceWarning,
        stacklevel=4,
    )


def _warn_of_end(share):
    warnings.warn(
        f"The smallest loss is near the end of the path, {share:.2g} of epsilon_max: the data have "
        "almost no noise, or features that should be scaled. Give epsilon a smaller number to go "
        "on.",
        ConvergenceWarning,
        stacklevel=4,
    )
