"""Probabilities from decision values."""

from sklearn.calibration import CalibratedClassifierCV


def calibrate(model, X, y, sample_weight, method):
    """Fit what turns the decision values of a model into probabilities.

    The values are those of held-out rows in five folds; the model itself is fitted to all rows.

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
    calibrator = CalibratedClassifierCV(model, method=method, cv=5, ensemble=False)
    return calibrator.fit(X, y, sample_weight=sample_weight)
