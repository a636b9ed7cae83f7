"""Independent tasks in several processes or threads, with progress."""

from sklearn.utils.parallel import Parallel, delayed

from ._progress import finished


def run(function, tasks, n_jobs, what="folds", total=None):
    """Results of ``function(*task)`` in the order of the tasks, which are counted as `what`.

    `total` is their number, if they are made one by one.
    """
    return list(results(function, tasks, n_jobs, what, total))


def results(function, tasks, n_jobs, what="folds", total=None, **backend):
    """The same one after the other, as they come; `backend` is for joblib."""
    total = len(tasks) if total is None else total
    calls = (delayed(function)(*task) for task in tasks)
    if total == 1:  # nothing to count, and a pool would take longer than small tasks
        return (function(*task) for task in tasks)
    found = Parallel(n_jobs=_at_most(n_jobs, total), return_as="generator", **backend)(calls)
    return finished(found, what, total)


def _at_most(n_jobs, n_tasks):
    """`n_jobs` without workers that have no task: they would be started all the same."""
    return n_jobs if n_jobs is None else min(n_jobs, max(n_tasks, 1))
