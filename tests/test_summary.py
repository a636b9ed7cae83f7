"""What a notebook shows of a fitted model."""

import re

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from psvm import (
    PSVC,
    PSVCCV,
    PSVR,
    KnockoffSelector,
    PSVMSelector,
    SpheredSVC,
    StabilitySelector,
)

IRIS = load_iris(return_X_y=True)


def rows(model):
    pages = model._repr_mimebundle_()["text/html"], model._repr_html_()
    first, second = (
        re.findall(r"<tr><th scope='row'>(.*?)</th><td>(.*?)</td></tr>", page) for page in pages
    )
    assert first == second
    return dict(first)


@pytest.mark.parametrize("model", [PSVC(), PSVR(), PSVCCV(), PSVMSelector(), SpheredSVC()])
def test_nothing_is_found_before_the_fit(model):
    assert rows(model) == {}


def test_a_classifier_shows_error_support_epsilon_and_certificate():
    model = PSVC().fit(*IRIS)
    shown = rows(model)
    assert shown["leave-one-out error"] == f"{100 * model.loo_error_:.1f} %"
    assert shown["support objects"] == f"{model.n_support_} of 150"
    assert shown["certificate"].startswith("optimal; duality gap")
    assert "epsilon" in shown


def test_a_regressor_shows_the_root_mean_squared_error():
    X, y = load_diabetes(return_X_y=True)
    model = PSVR().fit(X[:80], y[:80])
    assert rows(model)["leave-one-out RMSE"] == f"{np.sqrt(model.loo_error_):.4g}"


def test_searches_selectors_and_sphered_machines_have_their_own_figures():
    assert {"gamma", "epsilon", "C"} <= set(rows(PSVCCV(kernel="rbf").fit(*IRIS)))
    assert "gamma" not in rows(PSVCCV(kernel="linear").fit(*IRIS))
    assert rows(PSVMSelector(n_features=2).fit(*IRIS))["selected"] == "2 of 4"
    assert rows(SpheredSVC(0.5).fit(*IRIS))["lam"] == "0.5"


@pytest.mark.parametrize(
    "model",
    [PSVC(), PSVCCV(), PSVCCV(kernel="rbf", Cs=[1.0, np.inf], rule="sparse", cv=3), PSVR()],
    ids=["model", "search", "bounds", "regression"],
)
def test_candidates_are_listed_and_the_chosen_one_is_marked(model):
    X, y = IRIS
    page = model.fit(X, y)._repr_html_()
    lines = re.findall(r"<tr( class='psvm-chosen')?>((?:<td>.*?</td>)+)</tr>", page)
    head = re.findall(r"<th scope='col'>(.*?)</th>", page)
    cells = [re.findall(r"<td>(.*?)</td>", line) for _, line in lines]
    losses = [float(row[head.index("loss")]) for row in cells]
    assert losses == sorted(losses)
    if hasattr(model, "candidates_"):
        assert len(lines) == len(model.candidates_)
        expected = min(model.candidates_, key=lambda row: row["loss"])["loss"]
    else:
        expected = -model.best_score_
        assert len(lines) == min(len(model.cv_results_["params"]), 10)
        assert ("C" in head) == (model.Cs != (np.inf,))
    (chosen,) = [row for (mark, _), row in zip(lines, cells, strict=True) if mark]
    assert chosen[head.index("loss")] == f"{expected:.3g}"
    assert page.count("<table class='psvm-found'>") == 2


def test_text_and_pipelines_are_those_of_scikit_learn():
    model = PSVC(epsilon=0.5).fit(*IRIS)
    assert model._repr_mimebundle_()["text/plain"] == repr(model)
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
    pipeline = make_pipeline(StandardScaler(), PSVC(epsilon=0.5)).fit(*IRIS)
    assert "PSVC" in pipeline._repr_html_()


def test_selectors_with_a_bound_show_it():
    stable = StabilitySelector(q=2, threshold=0.8, n_subsamples=10, random_state=0)
    shown = rows(stable.fit(*IRIS))
    assert shown["selected"] == f"{stable.n_features_} of 4"
    assert shown["bound"] == str(stable.parameters_)
    X, y = load_diabetes(return_X_y=True)
    knockoffs = KnockoffSelector(0.25, random_state=0)
    assert rows(knockoffs) == {}
    shown = rows(knockoffs.fit(X, y))
    assert shown["selected"] == f"{knockoffs.n_features_} of 10"
    assert shown["false discovery rate"] == "at most 0.25"
