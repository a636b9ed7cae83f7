"""Other methods to compare with, prepared like the P-SVM."""

from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from ..matrix import can_be_centred
from ._choices import first_steps


def make_peers(run, table, task):
    """Named estimators for the same data; a matrix of relations or sequences has the guess only."""
    classes = task == "classification"
    guess = DummyClassifier() if classes else DummyRegressor()
    kernel = run.chosen.get("kernel", run.params["kernel"])
    if kernel in ("precomputed", "spectrum"):
        return {"guess": guess}
    steps = [*first_steps(table), StandardScaler(with_mean=can_be_centred(table.X))]
    peers = {
        "SVM": SVC() if classes else SVR(),
        "linear": LogisticRegression(max_iter=1000) if classes else RidgeCV(),
        "forest": (RandomForestClassifier if classes else RandomForestRegressor)(
            random_state=run.seed
        ),
        "guess": guess,
    }
    return {name: make_pipeline(*steps, peer) for name, peer in peers.items()}
