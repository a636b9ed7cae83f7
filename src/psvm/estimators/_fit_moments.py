"""Models from sums over rows: no row is needed any more."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from .._progress import progress, steps
from .._threads import threads
from .._validation import check_kind, shown
from ..matrix import DaskRows, FoldMoments, RowBlocks, RowFactor, block_slices
from ..solvers import (
    Clock,
    Status,
    certified_group,
    exact_path,
    group_path,
    products_solution,
    refine,
)
from ._base import BasePSVM, check_psvm
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
from ._moments_plan import MomentsPlan
from ._row_survey import RowSurvey
from ._shared import DECADES, LOOSE, PER_DECADE
from ._sigmoid import Sigmoid, fit_sigmoid, weight_of_one

WORTH = 0.005
"""A share of the loss that is not worth more support objects, however sure it is."""
LOST = 0.1
"""A solution whose gradient may be off by more than this share of epsilon is noise."""


class Fit(NamedTuple):
    """Machines as functions of the columns of K."""

    coef: np.ndarray
    """Of shape (P, T)."""
    intercept: np.ndarray
    """Of shape (T,)."""


def fit_moments(
    model: Any,
    plan: MomentsPlan,
    sums: FoldMoments,
    *,
    survey: RowSurvey | None = None,
    blocks: RowBlocks | None = None,
    factor: RowFactor | None = None,
) -> Any:
    """Fit a model to sums over rows.

    With ``epsilon="auto"`` or "cv" the exact paths of all folds' training parts are followed, and
    the largest epsilon is chosen whose squared error of held-out rows is near the smallest one.
    Both follow from the sums.

    Parameters
    ----------
    model : PSVC or PSVR
        Its parameters about C, epsilon, relaxation, threshold, tolerance and probabilities are
        used; what concerns the kernel is in the plan.
    plan : MomentsPlan
        What was summed.
    sums : FoldMoments
        Sums over all rows, from `MomentsPlan.moments`.
    survey : RowSurvey, default=None
        Its sample of the rows has held-out values, which the threshold of two classes and
        probabilities come from. Without it the threshold has held-out residuals of mean 0, and
        there are no probabilities.
    blocks : RowBlocks, default=None
        The same rows once more, from which the certificate in `solution_` is recomputed. Without
        them it is recomputed from the sums, with a bound of their rounding.
    factor : RowFactor, default=None
        From `MomentsPlan.factor`: the solution is refined by it where sums have lost digits.

    Returns
    -------
    PSVC or PSVR
        The model, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey, fit_moments
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(500, 20))
    >>> y = 2 * K[:, 3] - K[:, 8] + 0.1 * rng.normal(size=500)
    >>> model = PSVR(kernel="dyadic")
    >>> plan = MomentsPlan.make(model, RowSurvey.of(K, y, labels=False))
    >>> fit_moments(model, plan, plan.moments(K, y)).support_
    array([3, 8])
    """
    check_kind("model", model, BasePSVM)
    check_kind("plan", plan, MomentsPlan)
    check_kind("sums", sums, FoldMoments)
    check_kind("survey", survey, RowSurvey, none=True)
    if blocks is not None and (not isinstance(blocks, Iterable) or hasattr(blocks, "ndim")):
        raise TypeError(f"blocks must be RowBlocks or None, got {shown(blocks)}.")
    check_kind("factor", factor, RowFactor, none=True)
    solver = check_psvm(model)
    _check_fits(model, plan, sums, survey, factor)
    with threads(), progress(type(model).__name__, model.verbose):
        clock = Clock(solver.max_time)
        groups = [
            _Machines(model, plan, sums, targets, solver.tol, clock)
            for targets in _targets_together(model, plan)
        ]
        for group in steps(groups, "machine"):
            group.fit()
            if factor is not None:
                group.refine(factor)
        if blocks is not None:
            _certify(groups, plan, blocks)
        for group in groups:
            group.warn()
        held_out = None if survey is None else _HeldOut(plan, survey.sample)
        machines = [machine for group in groups for machine in group.machines(held_out)]
    _keep(model, plan, sums, survey, machines, _errors(groups))
    return model


def _check_fits(model, plan, sums, survey, factor):
    """Refuse parts that do not go together."""
    if sums.plan != plan.key or (factor is not None and factor.plan != plan.key):
        raise ValueError("The sums were made by another plan.")
    if is_classifier(model) != (plan.classes is not None):
        kind = "labels" if plan.classes is not None else "numbers"
        raise ValueError(f"{type(model).__name__} cannot be fitted to sums over rows with {kind}.")
    if getattr(model, "probability", False) and survey is None:
        raise ValueError(
            "probability needs a sample of the rows with their held-out values; give fit_moments "
            "the survey."
        )
    if plan.classes is not None:
        for place in range(plan.n_targets):
            if sums.total.target_squares[place] == 0:
                raise ValueError("One of the classes has no rows with weight.")


def _targets_together(model, plan):
    """Targets whose machines are solved together."""
    every = list(range(plan.n_targets))
    several = plan.classes is not None and len(plan.classes) > 2
    if several and model.multi_class in ("auto", "shared") and np.isinf(model.C):
        return [every]
    return [[target] for target in every]


class _Machines:
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
        return _rounding(self.total, self.sums, A, self.targets)

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
        P, inverse = moments.n_columns, _inverse(moments.norms)
        K, Y = rows[:, :P] * inverse, rows[:, P:][:, self.targets]
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
            _warn_of_rounding(max(rounding, self.solution.kkt_violation), epsilon)

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


class _HeldOut:
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


def _rounding(moments, sums, A, targets):
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
    terms = larger[:P][used] @ np.abs(A[used]) + around[P:][targets]
    most = larger[:P][used].max(initial=0.0)
    n_terms = sums.n_terms + len(sums.folds) + 1
    return float(n_terms * np.finfo(float).eps * most * np.sqrt(np.square(terms).sum()))


def _warn_of_rounding(rounding, epsilon):
    warnings.warn(
        "Sums over the rows have lost the digits that the solution needs: its gradient may be off "
        f"by {rounding:.2g}, and epsilon is {epsilon:.2g}. Columns are almost "
        "combinations of others, or their means are far larger than their deviations. Use fewer "
        "landmarks, a narrower kernel or a larger epsilon, or refine the solution by a triangular "
        "factor of the rows: fit(blocks, qr=True).",
        ConvergenceWarning,
        stacklevel=4,
    )


def _inverse(norms):
    """One over norms; 0 for columns without variance."""
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _certify(groups, plan, blocks):
    """Recompute the certificates of all solutions from the rows."""
    total, T = groups[0].total, plan.n_targets
    coef, intercept = np.zeros((plan.n_columns, T)), np.zeros(T)
    for group in groups:
        fit = group.all.fit(group.A)
        coef[:, group.targets], intercept[group.targets] = fit
    gradient, l, squares = _row_products(plan, blocks, total, Fit(coef, intercept))
    for group in groups:
        group.certify(gradient[:, group.targets], l[:, group.targets], squares[:, group.targets])


def _row_products(plan, blocks, total, fit):
    """``-K̃'r`` and ``K̃'y`` of shape (P, T), and the squares of r and y, by one pass."""
    P, T = fit.coef.shape
    middle = (total.origin + total.rest)[P:]
    if isinstance(blocks, DaskRows):
        found = blocks.total(products_of_blocks, plan, fit, middle)
    else:
        found = products_of_blocks(steps(blocks, "block"), plan, fit, middle)
    products, sums, squares = found[:P], found[P], found[P + 1]
    shift = (total.origin - plan.origin + total.rest)[:P]
    products -= np.multiply.outer(shift, sums)
    products *= _inverse(total.norms)[:, None]
    squares -= np.square(sums) / total.weight
    return -products[:, :T], products[:, T:], np.maximum(squares, 0.0).reshape(2, T)


def products_of_blocks(blocks, plan, fit, middle):
    """``K'V``, ``1'V`` and the squares of ``V = [r, y]``, one below the other, around `origin`."""
    P, T = fit.coef.shape
    found = np.zeros((P + 2, 2 * T))
    for K, Y, weights in plan.centred_tiles(blocks):
        Y = Y + plan.origin[P:]
        R = Y - K @ fit.coef - (fit.intercept + plan.origin[:P] @ fit.coef)
        V = np.hstack([R, Y - middle])
        W = weights[:, None] * V
        found[:P] += K.T @ W
        found[P] += W.sum(axis=0)
        found[P + 1] += np.einsum("ij,ij->j", W, V)
    return found


def _keep(model, plan, sums, survey, machines, errors):
    """Set the fitted attributes."""
    vars(model).pop("feature_names_in_", None)
    model.n_features_in_ = plan.n_features
    if plan.feature_names is not None:
        model.feature_names_in_ = plan.feature_names
    model._keep(machines, plan, plan.target)
    model.plan_, model.sums_, model._survey = plan, sums, survey
    if errors is not None:
        model.fold_errors_ = errors
        weights = [fold.weight for fold in sums.folds if fold is not None]
        model.held_out_error_ = float(np.average(errors, weights=weights))
    if plan.classes is not None:
        model._labels, model.classes_ = plan.target, plan.classes
    model._tell(model.solutions_)


def _errors(groups):
    """Squared errors of held-out rows in each fold, the mean of all machines."""
    if not all(group.parts and group.all.largest > 0 for group in groups):
        return None
    counts = [len(group.targets) for group in groups]
    return np.average([group.losses for group in groups], axis=0, weights=counts)
