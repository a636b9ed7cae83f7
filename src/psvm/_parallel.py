"""Independent tasks in several processes or threads, with progress."""

from sklearn.utils.parallel import Parallel, delayed


def run(function, tasks, options, **backend):
    """Results of ``function(*task)`` in the order of the tasks.

    `options` has `n_jobs` and `verbose`.
    """
    return list(results(function, tasks, options, **backend))


def results(function, tasks, options, **backend):
    """The same one after the other, as they come; `backend` is for joblib."""
    calls = (delayed(function)(*task) for task in tasks)
    found = Parallel(n_jobs=at_most(options.n_jobs, len(tasks)), return_as="generator", **backend)(
        calls
    )
    return _progress(found, len(tasks), type(options).__name__) if options.verbose else found


def at_most(n_jobs, n_tasks):
    """`n_jobs` without workers that have no task: they would be started all the same."""
    return n_jobs if n_jobs is None else min(n_jobs, max(n_tasks, 1))


def _progress(results, total, name):
    """Show progress by tqdm if it is installed, else by a line for each tenth."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _lines(results, total, name)
    return tqdm(results, total=total, desc=name)


def _lines(results, total, name):
    shown = 0
    for done, result in enumerate(results, start=1):
        if 10 * done // total > shown:
            shown = 10 * done // total
            print(f"[{name}] {done} of {total}")
        yield result
