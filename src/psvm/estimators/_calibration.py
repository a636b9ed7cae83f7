"""Probabilities from decision values."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV

N_FOLDS = 5


def calibrate(model, X, y, sample_weight, method):
    """Fit what turns the decision values of a model into probabilities.

    The values are those of held-out rows in five folds, or as many as there are rows of the
    smallest class; the model itself is fitted to all rows.

    Parameters
    ----------
    model : classifier
        Unfitted.
    X, y, sample_weight
        As for its fit.
    method : {"sigmoid", "isotonic"}

    Returns
    -------
    CalibratedClassifierCV
    """
    smallest = np.unique(y, return_counts=True)[1].min()
    if smallest < 2:
        raise ValueError(
            "probability needs two rows of each class, to hold one of them out; a class has only "
            "one. Leave it out, or use probability=False."
        )
    folds = int(min(N_FOLDS, smallest))
    calibrator = CalibratedClassifierCV(model, method=method, cv=folds, ensemble=False)
    return calibrator.fit(X, y, sample_weight=sample_weight)
