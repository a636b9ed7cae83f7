"""What every solver of the Sphered SVM returns."""

from dataclasses import dataclass

import numpy as np

from ..solvers import DualSolution


@dataclass(frozen=True, eq=False)
class SpheredMachine:
    """A classifier of two classes: ``f(row) = row @ coef + intercept``.

    Attributes
    ----------
    solution : DualSolution
        Variables and certificate.
    objects : ndarray of int
        The columns of a row: training points whose kernel values are needed, or features.
    coef : ndarray of shape (len(objects),)
    intercept : float
    norm : float
        ``||w||``, the inverse of the margin gamma.
    weights : ndarray
        How often each training point counts.
    """

    solution: DualSolution
    objects: np.ndarray
    coef: np.ndarray
    intercept: float
    norm: float
    weights: np.ndarray

    @classmethod
    def without_solution(cls, solution, n_objects, weights):
        """The machine of ``w = 0``, which is feasible whatever the matrix."""
        return cls(
            solution=solution,
            objects=np.arange(n_objects),
            coef=np.zeros(n_objects),
            intercept=solution.b,
            norm=0.0,
            weights=weights,
        )

    @property
    def capacity(self):
        """``m(f, X) / gamma = max_i |<w, x_i>|`` (Hochreiter, Mohr & Obermayer 2004, eq. 71)."""
        return float(np.abs(self.solution.values).max())

    @property
    def capacity_bound(self):
        """``||X'w||`` of all points, each as often as it counts: bounds `capacity` (eq. 71)."""
        return float(np.sqrt(self.weights @ self.solution.values**2))
