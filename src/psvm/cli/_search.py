"""The search of good parameters."""

import numpy as np
from sklearn.model_selection import GridSearchCV

from ._choices import make_model


def make_search(run, table, task, **options):
    """A search over epsilon."""
    model = make_model(run, table, task)
    prefix = "" if not hasattr(model, "steps") else model.steps[-1][0] + "__"
    grid = {prefix + "epsilon": [0.1, 0.3, 1.0, 3.0]}
    return GridSearchCV(model, grid, cv=5)


def describe_search(run, search):
    """Record what was found."""
    run.results |= {"best_params": search.best_params_, "best_score": search.best_score_}
