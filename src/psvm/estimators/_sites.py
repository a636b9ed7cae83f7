"""Sites that share sums over their rows, and no rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .._progress import steps
from .._threads import threads
from .._validation import check_choice, check_integer, check_kind, is_iterable, shown
from ..kernels import Rescaled
from ..matrix import FoldMoments, RowBlocks, as_dense, check_block, row_hashes
from ._base import BasePSVM, check_psvm
from ._description import is_measured
from ._fit_moments import fit_moments
from ._moments_plan import MomentsPlan

LEAST = 20
"""Distinct rows that sums are taken over before they leave a site."""
KEPT = 10_000
"""Distinct rows of a fold and class whose weights are kept: shares below 1 / 10,000 of the weight
do not matter to numbers around 20."""
SLACK = 1e-6
"""Rounding of an effective number."""


@dataclass(frozen=True, eq=False, repr=False)
class SiteMoments:
    """The sums over the rows of one site: all that leaves it.

    A mean over few rows tells what is in them. So there must be at least 20 distinct rows at the
    site, and as many of each class that it has; with weights w, which copies add up, the number is
    ``(sum w)^2 / sum w^2``. If the folds of the cross-validation have fewer,
    the rows of the site are put into one fold. Make them by `SiteMoments.of`, and write them by
    `psvm.persistence.save_moments`.

    Parameters
    ----------
    plan : MomentsPlan
        What was summed, the same at all sites.
    sums : FoldMoments
    name : str, default="site"
        What errors call the site.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVC, MomentsPlan, RowSurvey, SiteMoments, fit_sites
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 2))
    >>> y = np.where(np.hypot(*X.T) < 1, "ill", "well")
    >>> public = RowSurvey.of(X[:100], y[:100], labels=True)
    >>> plan = MomentsPlan.make(PSVC(landmarks=20, random_state=0), public)
    >>> here = SiteMoments.of(plan, [(X[100:400], y[100:400])])
    >>> there = SiteMoments.of(plan, [(X[400:], y[400:])])
    >>> there
    SiteMoments(site, n_rows=500, n_folds=5)
    >>> model = fit_sites(PSVC(), [here, there])
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    plan: MomentsPlan
    sums: FoldMoments
    name: str = "site"

    @classmethod
    def of(
        cls, plan: MomentsPlan, blocks: Iterable[Any], *, least: int = LEAST, name: str = "site"
    ) -> SiteMoments:
        """The sums over the rows of a site, by one pass over them.

        Parameters
        ----------
        plan : MomentsPlan
        blocks : RowBlocks or iterable of (X, y) or (X, y, weights)
        least : int, default=20
            Effective number of distinct rows, also of each class, that sums are taken over at
            least.
        name : str, default="site"

        Returns
        -------
        SiteMoments
        """
        check_integer("least", least, least=1)
        if not isinstance(plan, MomentsPlan):
            raise TypeError(f"plan must be a MomentsPlan, got {shown(plan)}.")
        sums, counts = plan.start(), _Counts(plan, least)
        blocks = blocks if isinstance(blocks, RowBlocks) else RowBlocks(blocks)
        with threads():
            for block in steps(blocks, "block"):
                block = check_block(block, plan.n_features)
                plan.add(sums, block)
                counts.add(block)
        counts.check(name)
        return cls(plan, counts.protected(sums.moments(plan.key)), name)

    def __repr__(self) -> str:
        some = len(_used_folds(self.sums))
        return f"SiteMoments({self.name}, n_rows={self.sums.n_rows}, n_folds={some})"


class _Weights:
    """The weights of distinct rows, of which the largest are kept.

    What is dropped is bounded as in the summary of Misra and Gries: no row has more weight than it
    is known for plus `dropped`.
    """

    def __init__(self):
        self.hashes, self.weights = np.empty(0, dtype=np.uint64), np.empty(0)
        self.sum = self.dropped = 0.0

    def add(self, hashes, weights, dropped=0.0):
        """Add rows, copies of which are one row."""
        self.sum, self.dropped = self.sum + weights.sum(), self.dropped + dropped
        self.hashes, codes = np.unique(np.concatenate([self.hashes, hashes]), return_inverse=True)
        self.weights = np.bincount(codes, np.concatenate([self.weights, weights]))
        if len(self.weights) > KEPT:
            least = np.partition(self.weights, -KEPT - 1)[-KEPT - 1]
            kept = self.weights > least
            self.hashes, self.weights = self.hashes[kept], self.weights[kept] - least
            self.dropped += least

    @property
    def squares(self):
        """At least the sum of the squared weights."""
        rest = max(self.sum - self.weights.sum(), 0.0)
        return float(np.sum((self.weights + self.dropped) ** 2) + self.dropped * rest)


class _Counts:
    """Effective numbers of distinct rows of each fold and class: ``(sum w)^2 / sum w^2``.

    Without weights and copies it is the number of rows; a row with nearly all the weight counts as
    little more than one.
    """

    def __init__(self, plan, least):
        self.plan, self.least = plan, least
        n_classes = 1 if plan.classes is None else len(plan.classes)
        self.parts = np.empty((plan.n_folds + 1, n_classes), dtype=object)
        for place in np.ndindex(self.parts.shape):
            self.parts[place] = _Weights()

    @property
    def sums(self):
        """Sums of weights and of their squares, of shape (2, n_folds + 1, n_classes)."""
        return np.array([
            np.vectorize(lambda part: part.sum, otypes=[float])(self.parts),
            np.vectorize(lambda part: part.squares, otypes=[float])(self.parts),
        ])  # fmt: skip

    def add(self, block):
        """Count the rows of a block that have weight."""
        X, y, weights, where = block
        weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        rows = np.flatnonzero(weights > 0)
        hashes, folds, weights = row_hashes(X)[rows], self.plan.folds_of(X)[rows], weights[rows]
        codes = np.zeros(len(rows), dtype=int)
        if self.plan.classes is not None:
            codes = self.plan.class_codes(y, where)[rows]
        for fold, code in np.unique(np.column_stack([folds, codes]), axis=0):
            some = (folds == fold) & (codes == code)
            self.parts[fold, code].add(hashes[some], weights[some])

    def check(self, name):
        """Refuse a site, or a class of it, with too few rows."""
        every = _Weights()
        for part in self.parts.ravel():
            every.add(part.hashes, part.weights, part.dropped)
        every.sum = self.sums[0].sum()
        total = _effective(every.sum, every.squares)
        if total < self.least - SLACK:
            raise ValueError(
                f"{name}: there are {total:.4g} distinct rows with weight (a row with much of the "
                "weight counts for others), but sums over fewer than "
                f"{self.least} rows are not given away. They would tell what is in the rows."
            )
        # A row is in one fold only, so that the sums of the folds add up.
        by_class = _effective(*self.sums.sum(axis=1))
        few = np.flatnonzero((by_class > 0) & (by_class < self.least - SLACK))
        if len(few):
            label = shown(self.plan.classes.tolist()[few[0]])
            raise ValueError(
                f"{name}: there are {by_class[few[0]]:.4g} distinct rows of the class {label}, "
                f"whose mean follows from the sums; at least {self.least} rows are required. Leave "
                "out the class at this site, or lower the minimum if the rows may be known."
            )

    def protected(self, moments):
        """Sums whose parts all have enough rows: folds are added up where they have too few."""
        sums = self.sums
        if not self._few(sums):
            return moments
        # Rows that describe are in no fold, and often few.
        most = int(np.argmax(sums[0, :-1].sum(axis=1)))
        moved = sums[:, :-1].copy()
        moved[:, most] += sums[:, -1]
        n_folds = moments.n_folds
        together = [most, n_folds] if not self._few(moved) else range(n_folds + 1)
        return _in_fold(moments, most, together)

    def _few(self, sums):
        numbers = _effective(*sums)
        return ((numbers > 0) & (numbers < self.least - SLACK)).any()


def _effective(sums, squares):
    """Effective numbers of rows of sums of weights and of squared weights."""
    sums, squares = np.asarray(sums), np.asarray(squares)
    return np.divide(sums**2, squares, out=np.zeros(sums.shape), where=squares > 0)


def _in_fold(sums, fold, together):
    """Sums with the rows of some folds in one of them, and no rows outside of folds."""
    n_classes = len(sums.rest)
    parts = [*sums.folds, *sums.rest]
    for c in range(n_classes):
        places = [other * n_classes + c for other in together]
        some = [parts[place] for place in places if parts[place] is not None]
        for place in places:
            parts[place] = None
        parts[fold * n_classes + c] = sum(some[1:], some[0]) if some else None
    folds, rest = tuple(parts[:-n_classes]), tuple(parts[-n_classes:])
    return replace(sums, folds=folds, rest=rest, n_terms=sums.n_terms + len(folds))


def _used_folds(sums):
    """The folds that have rows."""
    n_classes = len(sums.rest)
    places = [i for i, part in enumerate(sums.folds) if part is not None]
    return sorted({place // n_classes for place in places})


def fit_sites(
    model: Any,
    sites: Sequence[SiteMoments],
    *,
    held_out: Literal["fold", "site"] = "fold",
) -> Any:
    """Fit a model to the sums of several sites: the model of all their rows together.

    Parameters
    ----------
    model : PSVC or PSVR
        As for `fit_moments`.
    sites : sequence of SiteMoments
        All of one plan.
    held_out : {"fold", "site"}, default="fold"
        What is held out to choose epsilon: a fold of the rows of all sites, or all rows of a site,
        which judges the model at sites that it has not seen.

    Returns
    -------
    PSVC or PSVR
        The model, fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm import PSVR, MomentsPlan, RowSurvey, SiteMoments, fit_sites
    >>> rng = np.random.default_rng(0)
    >>> K = rng.normal(size=(600, 5))
    >>> y = K[:, 2] + 0.1 * rng.normal(size=600)
    >>> plan = MomentsPlan.make(PSVR(kernel="dyadic"), RowSurvey.of(K[:9], y[:9], labels=False))
    >>> sites = [SiteMoments.of(plan, [(K[i::3], y[i::3])]) for i in range(3)]
    >>> model = fit_sites(PSVR(kernel="dyadic"), sites, held_out="site")
    >>> int(np.abs(model.alpha_).argmax())
    2
    """
    check_kind("model", model, BasePSVM)
    check_psvm(model)
    check_choice("held_out", held_out, ("fold", "site"))
    every = list(sites) if is_iterable(sites) else []
    if not every or not all(isinstance(site, SiteMoments) for site in every):
        raise TypeError(f"sites must be a list of SiteMoments, got {shown(sites)}.")
    sites = every
    if is_measured(model) != (sites[0].plan.kernel is None):
        raise ValueError(
            f"{sites[0].name}: the sums are those of {_kernel(sites[0].plan)}, which "
            f"kernel={shown(model.kernel)} of the model is not."
        )
    for i, site in enumerate(sites):
        _check_pair(sites[0], site)
        for other in sites[:i]:
            _refuse_copy(other, site)
    if held_out == "site":
        sums = FoldMoments.by_group([site.sums for site in sites])
    else:
        sums = sum((site.sums for site in sites[1:]), sites[0].sums)
        if isinstance(model.epsilon, str) and len(_used_folds(sums)) < 2:
            raise ValueError(
                "All rows are in one fold, because the sites have few rows: nothing can be held "
                "out to choose epsilon. Use held_out='site', or give epsilon."
            )
    return fit_moments(model, sites[0].plan, sums)


def _check_pair(a, b):
    why = plan_difference(a.plan, b.plan)
    if why is not None:
        raise ValueError(
            f"{a.name} and {b.name} were summed by different plans: {why}. Use one plan at all "
            "sites."
        )


def _refuse_copy(a, b):
    """Refuse the same rows twice: no two sites have the same sums to the last bit."""
    one, other = a.sums.total, b.sums.total
    if one.weight == other.weight and np.array_equal(one.cross, other.cross):
        raise ValueError(f"{a.name} and {b.name} hold the same sums: give each site once.")


def plan_difference(a: MomentsPlan, b: MomentsPlan) -> str | None:
    """How two plans differ, in words; None if sums of both add up."""
    for what, same in (
        (f"{a.n_features} and {b.n_features} features", a.n_features == b.n_features),
        (_different_names(a, b), _same(a.feature_names, b.feature_names)),
        (f"the kernels are {_kernel(a)} and {_kernel(b)}", _kernel(a) == _kernel(b)),
        (f"{_count(a.objects)} and {_count(b.objects)} landmarks", _alike(a.objects, b.objects)),
        ("the landmarks differ", _same(a.objects, b.objects)),
        (f"the classes are {_listed(a)} and {_listed(b)}", _same(a.classes, b.classes)),
        ("the weights of the classes differ", _same(a.class_factors, b.class_factors)),
        (f"{a.n_outputs or 1} and {b.n_outputs or 1} targets", a.n_outputs == b.n_outputs),
        (f"{a.n_folds} and {b.n_folds} folds", a.n_folds == b.n_folds),
        (f"the precisions are {a.dtype} and {b.dtype}", np.dtype(a.dtype) == np.dtype(b.dtype)),
    ):
        if not same:
            return what
    return None if a.key == b.key else "their numbers, such as the scale of the features, differ"


def _different_names(a, b):
    """Which names of features differ."""
    if a.feature_names is None or b.feature_names is None:
        return "only one has names of the features"
    pairs = zip(a.feature_names, b.feature_names, strict=True)
    for place, (one, other) in enumerate(pairs):
        if one != other:
            return f"feature {place} is {one!r} and {other!r}"
    return ""


def _same(a, b):
    """Whether two arrays are equal, or both are None."""
    if a is None or b is None:
        return a is b
    return np.array_equal(as_dense(a), as_dense(b))


def _kernel(plan):
    """The kernel in words, without the numbers of the features."""
    if isinstance(plan.kernel, Rescaled):
        return f"{plan.kernel.kernel!r} of scaled features"
    return "none (dyadic)" if plan.kernel is None else repr(plan.kernel)


def _alike(a, b):
    return _count(a) == _count(b)


def _count(objects):
    return "no" if objects is None else objects.shape[0]


def _listed(plan):
    if plan.classes is None:
        return "none (numbers)"
    return ", ".join(map(repr, plan.classes.tolist()[:5]))
