"""Every tuned number of the choice, with what it is worth."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Policy:
    """The numbers of the choice of epsilon and of candidates.

    `benchmarks/bench_policy.py` halves and doubles each of them and prints the errors and times of
    the defaults with it: the table is in `docs/benchmarks/prediction.md`.

    Attributes
    ----------
    per_decade : int
        Points of a walk in a factor of ten of epsilon.
    decades : int
        Factors of ten from the largest epsilon to the end of a walk.
    patience : int
        A walk ends when its loss has not improved for so many points.
    turned : float
        It ends as well when the loss exceeds the smallest one by so many standard errors of the
        paired difference, at two points in a row.
    behind : float
        The walk of a further candidate ends as well when it has so many times the support objects
        of the best one so far, and exceeds its loss by `turned` standard errors.
    reach : float
        Values of held-out rows count as if they were at most so many ranges of the target beyond
        that range: close to interpolation they may be of any size.
    doubt : float
        The shift of the constant of numbers counts as if its variance were so many times as large:
        where residuals have heavy tails, their mean is less certain than they say.
    least : float
        A walk ends when its loss is at most this share of that of a constant.
    judged : int
        Of more distinct rows, so many are held out.
    shared_relaxation : float
        How far machines with a common support go from the solution to its least squares.
    race, race_from : int
        With more than `race_from` distinct rows, candidates are compared with `race` landmarks.
    race_machines : int
        Of more pairs of classes, so many compare candidates.
    simpler : float
        The linear kernel is taken if its loss exceeds the smallest by so many standard errors of
        the paired difference.
    fallback : float
        epsilon / epsilon_max where there are too few distinct rows to choose it.
    """

    per_decade: int = 6
    decades: int = 8
    patience: int = 8
    turned: float = 2.0
    behind: float = 2.0
    reach: float = 1.0
    doubt: float = 2.0
    least: float = 1e-10
    judged: int = 2000
    shared_relaxation: float = 0.75
    race: int = 300
    race_from: int = 600
    race_machines: int = 45
    simpler: float = 0.5
    fallback: float = 0.1


POLICY = Policy()
"""The policy of all estimators."""
