"""Machines of which only sums over the rows are known, and the K-values of some rows."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from ..solvers import certified_group, exact_path, products_solution, refine
from ._left_out import JudgedRows, Point
from ._loss import FoldLoss
from ._machine import Fitted, Machine, SharedMachines
from ._policy import POLICY
from ._walk import grid

USUAL = 8.0
"""Sums over rows usually change the gradient by at most so many rounding units of the variables."""
LOST = 0.1
"""A solution whose gradient may be off by more than this share of epsilon is noise."""


def judge_sample(K, moments, targets, weights, own, variances=0.0):
    """The judged rows of a part of the rows that is known by its sums.

    Parameters
    ----------
    K : ndarray of shape (G, P)
        Distinct rows. It is overwritten.
    moments : Moments
    targets : ndarray of shape (T, G)
    weights : ndarray of shape (G,)
        Each the weight of all rows that are equal.
    own : ndarray of shape (P,)
        The judged row that a column belongs to; -1 where it belongs to none of them.
    variances : ndarray of shape (G,), default=0
        Of the target within equal rows.
    """
    K -= moments.means
    K *= inverse(moments.norms)
    Z, middles = np.asfortranarray(K), moments.target_means
    return JudgedRows(Z, weights, targets, middles, own, moments.weight, variances)


class SumsMachine(Machine):
    """One machine, from sums.

    Parameters
    ----------
    moments : Moments
        Of its rows and columns, with its target alone.
    columns : ndarray of int
    C : float
    classifies : bool
    tol : float
    judged : JudgedRows or None
        None where no row may be read: held-out values come from the sums of folds.
    numbers : ndarray of int or None
        For each row of the sample with its classes the number among these, or -1.
    folds : list of (Moments, Moments)
        Of the training rows and of the held-out rows of each fold.
    n_rows, n_terms : int
        The number of rows with weight, for want of judged ones, and of terms that were added one
        after the other.
    """

    ends = None

    def __init__(
        self, moments, columns, C, classifies, tol, judged, numbers, folds, n_rows, n_terms
    ):
        self.moments, self.columns, self.C, self.classifies = moments, columns, C, classifies
        self.tol, self.judged, self.numbers = tol, judged, numbers
        self.parts, self.n_distinct = folds, n_rows if judged is None else len(judged.weights)
        self.means, self.norms = moments.means, moments.norms
        self.b = float(moments.target_means[0])
        self.products, self.l, self.n_terms = moments.Q, moments.correlations(), n_terms
        self.largest = float(np.abs(self.l).max(initial=0.0))
        self.total, self.yy = moments.weight, float(moments.target_squares[0])

    def rounding(self, alpha):
        """What rounding of the sums can have changed in the gradient."""
        return rounding(self.moments, self.n_terms, alpha[:, None])

    def path(self, epsilons):
        """Solutions of all rows, as long as their sums have the digits to certify them."""
        path = exact_path(self.products, self.l, self.C, epsilons)
        for epsilon, alpha in zip(epsilons, path, strict=True):
            if epsilon < epsilons[0] and self._is_lost(alpha, epsilon):
                return
            yield alpha

    def _is_lost(self, alpha, epsilon):
        """Whether a solution is noise, or so near to it that rows would not certify it."""
        usual = USUAL * np.finfo(float).eps * np.abs(alpha).sum()
        return usual > self.tol * epsilon or self.rounding(alpha) > LOST * epsilon

    def _down_to(self, epsilon):
        """Epsilons of a walk that ends with a given one: the exact method may stall far from 0."""
        larger = grid(self.largest)
        return np.append(larger[larger > epsilon], epsilon)

    def squares(self, alpha):
        """The sum of the squared residuals of a solution."""
        used = np.flatnonzero(alpha)
        F = alpha[used] @ self.products[used] - self.l
        return max(self.yy + float(alpha @ (F - self.l)), 0.0)

    def choose(self, source, rule, clock, rival=None):
        """As for every machine; without rows to be judged, from the folds."""
        if source == "loo" and self.judged is None:
            source = "cv"
        if source == "cv" and len(self.parts) < 2:
            return None
        return super().choose(source, rule, clock, rival)

    def folds(self):
        """The folds of the sums, and their loss."""
        source = SumFolds(self.parts, self.total, self.C, self.path)
        return source, FoldLoss(source.weights, POLICY.least * self.yy / self.total)

    def solve(self, epsilon, clock, start=None):
        """The solution with its certificate from the sums."""
        began = perf_counter()
        alpha = start
        if start is None:
            *_, alpha = exact_path(self.products, self.l, self.C, self._down_to(epsilon))
        used = np.flatnonzero(alpha)
        F = alpha[used] @ self.products[used] - self.l
        coef, intercept = self.moments.coef(alpha)
        problem = {"C": self.C, "epsilon": epsilon, "coef": coef, "intercept": intercept}
        rr, time = self.squares(alpha), perf_counter() - began
        solution = products_solution(
            alpha, F, self.l, rr, problem, self.tol, source="moments", time=time
        )
        return replace(solution, rounding=self.rounding(alpha))

    def refined(self, solution, K, Y):
        """The solution, solved once more with rows that have the factor of all rows."""
        alpha, F, r = refine(K, Y[:, 0], solution.alpha, self.C, solution.epsilon)
        coef, intercept = self.moments.coef(alpha)
        problem = {"C": self.C, "epsilon": solution.epsilon, "coef": coef, "intercept": intercept}
        l, rr, time = K.T @ Y[:, 0], float(r @ r), solution.time
        return products_solution(alpha, F, l, rr, problem, self.tol, source="factor", time=time)

    def certified(self, solution, F, squares):
        """The solution with a certificate from products with the rows."""
        problem = {name: getattr(solution, name) for name in ("C", "epsilon", "coef", "intercept")}
        return products_solution(
            solution.alpha,
            F[:, 0],
            self.l,
            float(squares[0, 0]),
            problem,
            self.tol,
            source="rows",
            time=solution.time,
        )

    def finish(self, solution, threshold, probability):
        """As for every machine; without rows to be judged, the shift comes from the folds."""
        if self.judged is not None:
            return super().finish(solution, threshold, probability)
        shift = 0.0
        if threshold == "loo" and len(self.parts) > 1:
            source, loss = self.folds()
            *_, point = source.points(self._down_to(solution.epsilon))
            shift = float(loss.shifts(point.values)[0])
        constants = self.means, self.norms, self.b + shift
        return Fitted(self.columns, *constants, solution, solution.alpha, None, None)


class SumFolds:
    """The source of held-out values where no row may be read again: folds of sums.

    The squared error of coefficients on a held-out fold follows from the sums of that fold.

    Parameters
    ----------
    folds : list of (Moments, Moments)
        Of the training rows and of the held-out rows of each fold.
    total : float
        The weight of all rows.
    C : float
    path : callable
        ``path(epsilons)`` yields solutions of all rows, as long as the sums have the digits.
    """

    def __init__(self, folds, total, C, path):
        self.folds, self.C, self.path = folds, C, path
        self.weights = np.array([held.weight for _, held in folds])
        self.scales = [np.sqrt(part.weight / total) for part, _ in folds]

    def points(self, epsilons):
        """The points of a walk: squared errors and mean residuals of the folds."""
        paths = [
            exact_path(part.Q, part.correlations(), scale * self.C, scale * epsilons)
            for (part, _), scale in zip(self.folds, self.scales, strict=True)
        ]
        for whole, *solutions in zip(self.path(epsilons), *paths, strict=False):
            values = np.empty((2, len(solutions)))
            for place, (alpha, (part, held)) in enumerate(zip(solutions, self.folds, strict=True)):
                coef, intercept = part.coef(alpha)
                values[0, place] = held.squared_error(coef, intercept) / held.weight
                values[1, place] = held.target_means[0] - held.means @ coef - intercept
            yield Point(values, max(map(np.count_nonzero, solutions)), whole)


def rounding(moments, n_terms, A):
    """The most by which rounding of the sums can have changed an entry of the gradient.

    A sum of n terms has an error of at most n times the rounding unit times the sum of their
    absolute values, and these are bounded by norms around the numbers that were subtracted.
    """
    squares = np.maximum(moments.cross.diagonal(), 0.0)
    around = np.sqrt(squares + moments.weight * np.square(moments.rest))
    sizes = np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    larger = around / sizes
    P = moments.n_columns
    used = moments.norms > 0
    terms = larger[:P][used] @ np.abs(A[used]) + around[P:]
    most = larger[:P][used].max(initial=0.0)
    return float(n_terms * np.finfo(float).eps * most * np.sqrt(np.square(terms).sum()))


def inverse(norms):
    """One over norms; 0 for columns without variance."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


class SharedSums(SharedMachines):
    """Machines of one class against the rest with a common support, from sums.

    Parameters
    ----------
    moments : Moments
        Of all rows, with all targets.
    judged, numbers, n_terms
        As for `SumsMachine`.
    solver : Solver
    """

    def __init__(self, moments, judged, numbers, n_terms, solver):
        self.moments, self.n_terms = moments, n_terms
        B = np.column_stack([moments.correlations(t) for t in range(moments.n_targets)])
        products = moments.Q, np.ascontiguousarray(B), float(moments.target_squares.sum())
        statistics = np.arange(moments.n_columns), moments.means, moments.norms, products
        b, n_distinct = moments.target_means, len(judged.weights)
        super().__init__(*statistics, b, judged, numbers, n_distinct, solver)

    def solve(self, epsilon, clock, start=None):
        """The solution with its certificate from the sums."""
        solution = super().solve(epsilon, clock, start)
        bound = rounding(self.moments, self.n_terms, solution.A)
        return replace(solution, rounding=bound, source="moments")

    def refined(self, solution, K, Y):
        """The solution with a certificate from rows that have the factor of all rows."""
        F, B, yy = -(K.T @ (Y - K @ solution.A)), K.T @ Y, float(np.square(Y).sum())
        return certified_group(solution, F, B, yy, self.solver.tol, source="factor")

    def certified(self, solution, F, squares):
        """The solution with a certificate from products with the rows."""
        return certified_group(
            solution, F, self.products[1], float(squares[1].sum()), self.solver.tol
        )
