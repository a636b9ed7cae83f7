"""Machines from sums over rows: the choice of epsilon by folds, the solution, the constants."""

from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy.linalg import cho_solve

from ..matrix import block_slices
from ..solvers import (
    Status,
    certified_group,
    exact_path,
    group_path,
    products_solution,
    refine,
)
from ._calibration import fit_steps
from ._epsilon import (
    DENSEST,
    FALLBACK,
    GRIDS,
    NOTHING,
    STANDARD_ERRORS,
    PathPoint,
    best_of_path,
    largest_share,
)
from ._judge import Judge
from ._loo import independent
from ._machine import Machine, relaxation_of
from ._moments_certificate import Fit, inverse, rounding, warn_of_rounding
from ._shared import DECADES, LOOSE, PER_DECADE
from ._sigmoid import Sigmoid, fit_sigmoid, weight_of_one

WORTH = 0.005
"""A share of the loss that is not worth more support objects, however sure it is."""
LOST = 0.1
"""A solution whose gradient may be off by more than this share of epsilon is noise."""


class Machines:
    """One machine, or several that share their support."""

    def __init__(self, model, plan, sums, targets, tol, clock):
        self.model, self.plan, self.sums, self.targets = model, plan, sums, targets
        self.tol, self.clock, self.C = tol, clock, model.C
        self.shared = len(targets) > 1
        self.relaxation = relaxation_of(model)
        self.total = sums.total
        self.all = _Part(self.total, self)
        self.parts = [
            _Part(sums.without(fold), self, held)
            for fold, held in enumerate(sums.folds)
            if held is not None and held.weight < self.total.weight
        ]
        self.parts = self.parts if len(self.parts) > 1 else []
        self.shifts = np.zeros(len(targets))

    def fit(self):
        """Choose epsilon and solve."""
        began = perf_counter()
        epsilons = self._epsilons()
        *_, alphas = self.all.path(epsilons)
        self.solution, self.A = self.all.certified(alphas, epsilons[-1], perf_counter() - began)

    def _epsilons(self):
        """Decreasing numbers, the last one of which is the chosen one; sets the fits of folds."""
        largest, model = self.all.largest, self.model
        if not isinstance(model.epsilon, str):
            epsilon = model.epsilon * (largest if model.epsilon_unit == "max" else 1.0)
            if self.parts:
                self._take(next(self._points(np.array([epsilon]))))
            return np.array([epsilon])
        if not self.parts or largest == 0:
            return np.array([FALLBACK * largest])
        per_decade, decades = (PER_DECADE, DECADES) if self.shared else GRIDS["loo"]
        epsilons = largest * 10.0 ** (-np.arange(per_decade * decades + 1) / per_decade)
        judge = _FoldsJudge(np.array([part.held.weight for part in self.parts]))
        judge.least = NOTHING * self.all.squares / self.total.weight
        most = DENSEST * self.sums.n_rows
        most = largest_share(most, self.total.n_columns, self.relaxation)
        k = len(self.parts)
        errors = STANDARD_ERRORS * np.sqrt(k / (k - 1))
        points = ([point] for point in self._points(epsilons))
        chosen = best_of_path(points, judge, epsilons, most, self.clock.half(), errors, WORTH)
        self._take(chosen)
        return epsilons[epsilons >= chosen.epsilon]

    def rounding(self, A):
        """The most by which rounding of the sums can have changed an entry of the gradient."""
        return rounding(self.total, self.sums, A, self.targets)

    def _take(self, chosen):
        self.fits, self.shifts, self.losses = chosen.alpha

    def _points(self, epsilons):
        """Losses of all folds along the paths of the others."""
        weights = np.array([part.held.weight for part in self.parts])
        share = weights / weights.sum()
        paths = [part.path(part.scale * epsilons) for part in self.parts]
        for epsilon, *solutions in zip(epsilons, *paths, strict=True):
            if len(epsilons) > 1 and self.rounding(solutions[0]) > LOST * epsilon:
                return
            fits = [
                part.fit(part.relaxed(A)) for part, A in zip(self.parts, solutions, strict=True)
            ]
            errors, residuals = zip(
                *(part.judged(fit) for part, fit in zip(self.parts, fits, strict=True)),
                strict=True,
            )
            errors, residuals = np.array(errors), np.array(residuals)  # (folds, T)
            shifts = (
                share @ residuals if self.model.threshold == "loo" else np.zeros(len(self.targets))
            )
            losses = (errors - 2 * shifts * residuals + np.square(shifts)).mean(axis=1)
            count = max(np.count_nonzero(A.any(axis=1)) for A in solutions)
            yield PathPoint(losses, count, (fits, shifts, losses))

    def refine(self, factor):
        """Solve once more with a few rows that have the triangular factor of all rows."""
        rows, moments, epsilon = factor.centred_rows(), self.total, self.solution.epsilon
        P, scale = moments.n_columns, inverse(moments.norms)
        K, Y = rows[:, :P] * scale, rows[:, P:][:, self.targets]
        if self.shared:
            F, B = -(K.T @ (Y - K @ self.A)), K.T @ Y
            yy = float(np.square(Y).sum())
            self.solution = certified_group(self.solution, F, B, yy, self.tol, source="factor")
            return
        alpha, F, r = refine(K, Y[:, 0], self.solution.alpha, self.C, epsilon)
        coef, intercept = moments.coef(alpha, self.targets[0])
        problem = {"C": self.C, "epsilon": epsilon, "coef": coef, "intercept": intercept}
        l, rr, time = K.T @ Y[:, 0], float(r @ r), self.solution.time
        self.solution = products_solution(
            alpha, F, l, rr, problem, self.tol, source="factor", time=time
        )
        self.A = alpha[:, None]

    def certify(self, F, B, squares):
        """Replace the certificate by one from products with the rows."""
        if self.shared:
            yy = float(squares[1].sum())
            self.solution = certified_group(self.solution, F, B, yy, self.tol)
            return
        old = self.solution
        problem = {name: getattr(old, name) for name in ("C", "epsilon", "coef", "intercept")}
        self.solution = products_solution(
            old.alpha,
            F[:, 0],
            B[:, 0],
            float(squares[0, 0]),
            problem,
            self.tol,
            source="rows",
            time=old.time,
        )

    def warn(self):
        """Warn if the sums do not have the digits that the solution needs."""
        rounding, epsilon = self.solution.rounding, self.solution.epsilon
        stalled = self.solution.status is Status.STALLED and self.solution.source != "factor"
        if stalled or rounding > max(LOST, self.tol) * epsilon:
            warn_of_rounding(max(rounding, self.solution.kkt_violation), epsilon)

    def machines(self, held_out):
        """The machines with their constants."""
        relaxed = self.all.relaxed(self.A)
        for place, target in enumerate(self.targets):
            shift, curve = self._constant(place, held_out)
            yield Machine(
                np.arange(self.total.n_columns),
                self.total.means,
                self.total.norms,
                float(self.total.target_means[target] + shift),
                self.solution,
                relaxed[:, place],
                curve,
            )

    def _constant(self, place, held_out):
        """What is added to the mean of the target, and the curve of probabilities."""
        shift = self.shifts[place]
        if held_out is None or self.plan.classes is None or not self.parts:
            return shift, None
        f = held_out.values(self.fits, place)
        positive, weights = held_out.Y[:, self.targets[place]] > 0, held_out.weights
        unit = weight_of_one(weights)
        sigmoid = fit_sigmoid(f, positive, weights, unit)
        if len(self.plan.classes) == 2:
            shift = -sigmoid.threshold if self.model.threshold == "loo" else 0.0
        if not self.model.probability:
            return shift, None
        fit = fit_steps if self.model.probability == "isotonic" else fit_sigmoid
        if self.model.probability != "isotonic" and len(self.plan.classes) == 2 and shift:
            # Both classes are equally probable at 0 exactly.
            return shift, Sigmoid(sigmoid.slope, 0.0)
        return shift, fit(f + shift, positive, weights, unit)


class _FoldsJudge(Judge):
    """Judges losses of folds as they are."""

    least = 0.0

    def __init__(self, weights):
        super().__init__(weights, np.arange(len(weights)))

    def _judge(self, losses):
        return losses, np.zeros(len(losses))


class _Part:
    """Moments of training rows, as a problem of some targets."""

    def __init__(self, moments, machines, held=None):
        self.moments, self.held, self.machines = moments, held, machines
        self.targets = machines.targets
        self.scale = np.sqrt(moments.weight / machines.total.weight)
        self.Q = moments.Q
        self.B = np.column_stack([moments.correlations(t) for t in self.targets])
        self.squares = float(moments.target_squares[self.targets].sum())
        self.largest = float(np.sqrt(np.square(self.B).sum(axis=1)).max(initial=0.0))
        self.C = self.scale * machines.C

    def path(self, epsilons):
        """Variables of shape (P, T) along decreasing epsilons."""
        if self.machines.shared:
            products = self.Q, self.B, epsilons, self.machines.tol, self.squares
            loose = 0.0 if self.held is None else LOOSE
            for solution in group_path(*products, loose=loose, clock=self.machines.clock):
                self.solution = solution
                yield solution.A
        else:
            for alpha in exact_path(self.Q, self.B[:, 0], self.C, epsilons):
                yield alpha[:, None]

    def certified(self, A, epsilon, time):
        """The solution with its certificate from the moments, and the variables."""
        moments, tol = self.moments, self.machines.tol
        rounding = self.machines.rounding(A)
        if self.machines.shared:
            solution = replace(self.solution, rounding=rounding)
        else:
            alpha, l = A[:, 0], self.B[:, 0]
            used = np.flatnonzero(alpha)
            F = alpha[used] @ self.Q[used] - l
            rr = max(self.squares + float(alpha @ (F - l)), 0.0)
            coef, intercept = moments.coef(alpha, self.targets[0])
            problem = {"C": self.C, "epsilon": epsilon, "coef": coef, "intercept": intercept}
            solution = products_solution(alpha, F, l, rr, problem, tol, source="moments", time=time)
            solution = replace(solution, rounding=rounding)
        return solution, A

    def relaxed(self, A):
        """The variables, gone some way to the least squares of those that are free."""
        share = self.machines.relaxation
        used = np.flatnonzero(A.any(axis=1))
        if share == 0 or not len(used):
            return A
        bound = used[(np.abs(A[used]) >= self.C).all(axis=1)]
        free = np.setdiff1d(used, bound)
        B = self.B - self.Q[:, bound] @ A[bound]
        factor, kept, moved = independent(self.Q, free, A)
        squares = cho_solve((factor, True), B[kept])
        relaxed = moved.copy()
        relaxed[kept] += share * (squares - moved[kept])
        return relaxed

    def fit(self, A):
        """Coefficients and constants."""
        pairs = [self.moments.coef(A[:, i], t) for i, t in enumerate(self.targets)]
        coefs, intercepts = zip(*pairs, strict=True)
        return Fit(np.column_stack(coefs), np.array(intercepts))

    def judged(self, fit):
        """Mean squared errors and mean residuals of the held-out rows."""
        errors = [
            self.held.squared_error(fit.coef[:, i], fit.intercept[i], t) / self.held.weight
            for i, t in enumerate(self.targets)
        ]
        predicted = self.held.means @ fit.coef + fit.intercept
        return errors, self.held.target_means[self.targets] - predicted


class HeldOutSample:
    """Rows of a sample and their values without their folds."""

    def __init__(self, plan, sample):
        folds = plan.folds_of(sample.X)
        rows = np.flatnonzero(folds < plan.n_folds)
        self.folds, self.Y = folds[rows], plan.coded(sample.y[rows])
        self.weights = sample.weights[rows]
        if plan.class_factors is not None:
            self.weights = self.weights * plan.class_factors[plan.class_codes(sample.y[rows])]
        self.plan, self.X, self.code = plan, sample.X[rows], None
        if plan.classes is not None:
            self.code = plan.class_codes(sample.y[rows])

    def values(self, fits, place):
        """Values of one machine from the fits without the fold of each row."""
        coef = np.column_stack([fit.coef[:, place] for fit in fits])
        intercept = np.array([fit.intercept[place] for fit in fits])
        f = np.empty((len(self.folds), len(fits)))
        for rows in block_slices(len(f), 8 * len(coef)):
            f[rows] = self.plan.columns(self.X[rows]) @ coef + intercept
        return f[np.arange(len(f)), self.folds]
