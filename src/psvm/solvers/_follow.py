"""The one follower of paths: solutions along decreasing epsilon, each from the one before."""

from dataclasses import replace


def follow(problem, epsilons, solver, *, workspace=None, of_largest=False):
    """Solutions of a problem for one epsilon after the other, as they are asked for.

    Parameters
    ----------
    problem : Problem
    epsilons : iterable of float
        Decreasing.
    solver : Solver
    workspace : object, default=None
        From ``solver.workspace(problem.K)``, if it is shared with other paths.
    of_largest : bool, default=False
        Whether the tolerance of the solver is a share of epsilon_max rather than of epsilon.

    Yields
    ------
    Solution
    """
    workspace = solver.workspace(problem.K) if workspace is None else workspace
    alpha, largest = None, problem.epsilon_max
    for epsilon in epsilons:
        exact = solver
        if of_largest and 0 < epsilon < largest:
            exact = replace(solver, tol=solver.tol * (largest / epsilon))
        stated = problem.with_parameters(epsilon=epsilon)
        solution = exact.minimise(stated, start=alpha, workspace=workspace)
        yield solution
        alpha = solution.alpha
