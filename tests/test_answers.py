"""What commands answer: how good a model is, in one unit and one name for each figure."""

import csv
import re

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    matthews_corrcoef,
    r2_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
from command import as_json, run, write
from psvm import PSVC, PSVR, PSVRCV

CONSTANT = 5


@pytest.fixture
def data(tmp_path, monkeypatch, rng):
    """Classes and numbers that a and b say something about, and classes that nothing says."""
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(60, 3)).round(4)
    y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=60) > 0, "healthy", "sick")
    t = (2 * X[:, 0] + 0.3 * rng.normal(size=60)).round(4)
    write("classes.csv", list("abcy"), [[*x, v] for x, v in zip(X.tolist(), y, strict=True)])
    write("numbers.csv", list("abcy"), [[*x, v] for x, v in zip(X.tolist(), t, strict=True)])
    noise = np.array(["p", "q"])[np.arange(60) % 2]
    write("noise.csv", list("abcy"), [[*x, v] for x, v in zip(X.tolist(), noise, strict=True)])
    return X, y, t


FIT = ("--target", "y", "--model", "m.psvm")


def test_fit_says_how_good_the_model_of_classes_is(data, capsys):
    X, y, _ = data
    code, result = as_json(capsys, "fit", "classes.csv", *FIT, "--epsilon", "0.5")
    model = make_pipeline(StandardScaler(), PSVC(epsilon=0.5, random_state=0))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, X, y, cv=folds)
    assert code == 0 and result["measure"] == "accuracy" and result["unit"] == "%"
    assert result["accuracy"] == pytest.approx(100 * accuracy_score(y, predicted))
    low, high = result["accuracy_interval"]
    assert low < result["accuracy"] < high <= 100 and len(result["accuracy_folds"]) == 5
    assert result["accuracy_baseline"] == pytest.approx(100 * max(np.mean(y == c) for c in y))
    assert np.mean(y == "healthy") < 0.5 and result["positive_class"] == "healthy"
    for name, label in (("sensitivity", "healthy"), ("specificity", "sick")):
        assert result[name] == pytest.approx(100 * recall_score(y, predicted, pos_label=label))
    counts = confusion_matrix(y, predicted).tolist()
    assert result["confusion"] == {"classes": ["healthy", "sick"], "true_by_predicted": counts}
    assert result["n_support"] == len(result["support"]) and result["seconds"] > 0


@pytest.mark.parametrize("weight", [None, "balanced"])
def test_the_rarer_class_is_the_one_that_is_looked_for(tmp_path, monkeypatch, capsys, weight):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    y = np.where(np.arange(510) % 51 == 0, "case", "well")
    X = (rng.normal(size=(510, 2)) + 2.2 * (y == "case")[:, None]).round(3)
    write("rare.csv", list("aby"), [[*x, v] for x, v in zip(X.tolist(), y, strict=True)])
    given = () if weight is None else ("--class-weight", weight)
    fit = ("fit", "rare.csv", *FIT, "--epsilon", "1", *given)
    code, result = as_json(capsys, *fit)
    assert code == 0 and result["positive_class"] == "case"
    steps = StandardScaler(), PSVC(epsilon=1.0, random_state=0, class_weight=weight)
    model, folds = make_pipeline(*steps), StratifiedKFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, X, y, cv=folds)
    scores = -cross_val_predict(model, X, y, cv=folds, method="decision_function")
    assert result["sensitivity"] == pytest.approx(
        100 * recall_score(y, predicted, pos_label="case")
    )
    assert result["specificity"] == pytest.approx(
        100 * recall_score(y, predicted, pos_label="well")
    )
    found = 100 * balanced_accuracy_score(y, predicted)
    assert result["balanced_accuracy"] == pytest.approx(found)
    assert result["MCC"] == pytest.approx(matthews_corrcoef(y, predicted))
    assert result["AUC"] == pytest.approx(roc_auc_score(y == "case", scores))
    assert result["average_precision"] == pytest.approx(
        average_precision_score(y == "case", scores)
    )
    assert (found > 80) == (weight == "balanced")
    assert run(*fit) == 0
    text = capsys.readouterr().out
    assert re.search(r"^sensitivity .* of case found$", text, re.M)
    assert (
        f"balanced accuracy {found:.1f} %, MCC {result['MCC']:.3f}, AUC {result['AUC']:.3f}" in text
    )
    _, other = as_json(capsys, *fit, "--positive", "well")
    assert other["sensitivity"] == pytest.approx(result["specificity"])
    assert other["AUC"] == pytest.approx(result["AUC"])  # both turned round
    assert other["average_precision"] > 0.9  # nearly all rows are of this class
    assert run(*fit, "--positive", "ill") == 0  # the model is there; its error cannot be said
    assert "positive must be one of two classes, got 'ill'" in capsys.readouterr().err
    cv = ("cv", "rare.csv", "--target", "y", "--epsilon", "1", "--positive", "well", *given)
    _, again = as_json(capsys, *cv)
    assert again["sensitivity"] == other["sensitivity"]


def test_classes_have_weights_and_numbers_have_none(data, capsys):
    fit = ("fit", "numbers.csv", *FIT, "--class-weight", "balanced")
    assert run(*fit) == 3
    assert "--class-weight is for classification" in capsys.readouterr().err


def test_fit_says_how_good_the_model_of_numbers_is(data, capsys):
    X, _, t = data
    code, result = as_json(capsys, "fit", "numbers.csv", *FIT, "--epsilon", "0.5")
    model = make_pipeline(StandardScaler(), PSVR(epsilon=0.5, random_state=0))
    predicted = cross_val_predict(model, X, t, cv=KFold(5, shuffle=True, random_state=0))
    assert code == 0 and result["measure"] == "RMSE"
    assert result["RMSE"] == pytest.approx(np.sqrt(np.mean((predicted - t) ** 2)))
    assert result["RMSE_baseline"] == pytest.approx(t.std())
    assert result["R2"] == pytest.approx(r2_score(t, predicted))
    assert "accuracy" not in result and "sensitivity" not in result


def test_text_and_json_have_the_same_figures(data, capsys):
    fit = ("fit", "classes.csv", *FIT, "--epsilon", "0.5")
    _, result = as_json(capsys, *fit)
    assert run(*fit) == 0
    text = capsys.readouterr().out
    for name in ("accuracy", "sensitivity", "specificity"):
        assert re.search(rf"^{name} +{result[name]:.1f} %", text, re.M)
    assert re.search(rf"^baseline +{result['accuracy_baseline']:.1f} %", text, re.M)
    support = re.search(r"^support objects +(\d+) of 60: rows (.*)$", text, re.M)
    assert int(support[1]) == result["n_support"]
    assert set(re.findall(r"\d+", support[2].split(" and ")[0])) <= set(result["support"])
    assert re.search(r"^time +\d", text, re.M)
    _, cv = as_json(capsys, "cv", "classes.csv", "--target", "y", "--epsilon", "0.5")
    assert cv["accuracy_interval"] == result["accuracy_interval"]
    assert cv["confusion"] == result["confusion"]


def test_without_cross_validation(data, capsys):
    code, result = as_json(capsys, "fit", "classes.csv", *FIT, "--epsilon", "0.5", "--no-cv")
    assert code == 0 and "accuracy" not in result and result["n_support"] > 0


def test_a_class_of_one_row_is_fitted_without_folds(data, capsys):
    with open("classes.csv", "a", newline="") as file:
        csv.writer(file).writerow([0.1, 0.2, 0.3, "odd"])
    code, result = as_json(capsys, "fit", "classes.csv", *FIT, "--epsilon", "0.5")
    assert code == 0 and "accuracy" not in result
    assert any("could not be cross-validated" in note for note in result["notes"])


@pytest.mark.parametrize(
    ("file", "options", "why"),
    [
        ("classes.csv", ["--epsilon", "100"], "epsilon 100 is so large"),
        ("numbers.csv", ["--epsilon", "100"], "epsilon 100 is so large"),
    ],
)
def test_a_constant_model_is_said_to_be_one(data, capsys, file, options, why):
    code, result = as_json(capsys, "fit", file, *FIT, *options)
    assert code == CONSTANT and result["constant"] is True and result["n_support"] == 0
    assert any("constant" in note and why in note for note in result["notes"])
    answers = set(psvm.load("m.psvm").predict(data[0]).tolist())
    assert len(answers) == 1  # the model is written, and constant it is
    code, result = as_json(capsys, "cv", file, "--target", "y", *options)
    assert code == CONSTANT and result["constant"] is True


def test_a_model_of_noise_has_a_reason_or_a_warning(data, capsys):
    code, result = as_json(capsys, "fit", "noise.csv", *FIT)
    notes = " ".join(result["notes"])
    if result["n_support"] == 0:
        assert code == CONSTANT and "for no epsilon do the columns predict" in notes
    else:
        assert code == 0
        low, _ = result["accuracy_interval"]
        assert low > result["accuracy_baseline"] or "not clearly better" in notes


def test_probabilities_of_classes(data, capsys):
    X = data[0]
    assert run("fit", "classes.csv", *FIT, "--epsilon", "0.5", "--probability") == 0
    capsys.readouterr()
    code, result = as_json(capsys, "predict", "m.psvm", "classes.csv")
    expected = psvm.load("m.psvm").predict_proba(X)
    assert code == 0 and list(result["probabilities"]) == ["healthy", "sick"]
    np.testing.assert_array_equal(np.transpose(list(result["probabilities"].values())), expected)
    assert run("predict", "m.psvm", "classes.csv", "--scores", "--output", "p.csv") == 0
    with open("p.csv") as file:
        header, first, *_ = csv.reader(file)
    assert header[2:] == ["score of sick", "probability of healthy", "probability of sick"]
    assert float(first[3]) + float(first[4]) == pytest.approx(1)
    capsys.readouterr()
    assert run("fit", "numbers.csv", *FIT, "--probability") == 3
    assert "--probability is for classification" in capsys.readouterr().err


def test_prediction_has_the_figures_of_the_fit(data, capsys):
    X, y, t = data
    assert run("fit", "classes.csv", *FIT, "--epsilon", "0.5", "--no-cv") == 0
    capsys.readouterr()
    predict = ("predict", "m.psvm", "classes.csv", "--target", "y", "--output", "p.csv")
    assert run(*predict) == 0
    right = 100 * np.mean(psvm.load("m.psvm").predict(X) == y)
    assert f"accuracy         {right:.1f} % on 60 rows" in capsys.readouterr().out
    assert run("fit", "numbers.csv", *FIT, "--epsilon", "0.5", "--no-cv") == 0
    capsys.readouterr()
    _, result = as_json(capsys, "predict", "m.psvm", "numbers.csv", "--target", "y")
    error = psvm.load("m.psvm").predict(X) - t
    assert result["RMSE"] == pytest.approx(np.sqrt(np.mean(error**2)))


def test_fit_and_tune_say_what_was_compared(data, capsys):
    X, y, _ = data
    for command in ("fit", "tune"):
        code, result = as_json(capsys, command, "classes.csv", *FIT)
        losses = [row["loss"] for row in result["candidates"]]
        assert code == 0 and result["measure"] == "log loss of leave-one-out values"
        assert result["chosen"] == result["best"] and result["best"]["loss"] == min(losses)
        assert {row["kernel"] for row in result["candidates"]} == {"rbf", "laplacian", "linear"}
        assert run(command, "classes.csv", *FIT) == 0
        said = capsys.readouterr().out
        assert f"tried            {len(losses)} candidates, by the log loss of leave" in said
        assert f"Chosen: kernel {result['chosen']['kernel']}, " in said
        assert f"loss {min(losses):.3g}" in said and "the best." in said
        table = [line.split("\t") for line in said.splitlines() if "\t" in line]
        start = next(i for i, row in enumerate(table) if row[0] == "kernel")
        shown = [float(row[table[start].index("loss")]) for row in table[start + 1 :]]
        assert shown == sorted(shown) and len(shown) == len(losses)
    # the model is that of the estimator
    model = PSVC(random_state=0).fit(X, y)
    assert run("fit", "classes.csv", *FIT, "--no-cv") == 0
    np.testing.assert_allclose(
        psvm.load("m.psvm").decision_function(X), model.decision_function(X), atol=1e-12
    )


def test_tune_names_the_loss_that_decides(data, capsys):
    """That of leave-one-out values, or of folds in the units of the target."""
    _, result = as_json(capsys, "tune", "numbers.csv", *FIT)
    assert result["measure"] == "squared error (that of a constant is 1) of leave-one-out values"
    assert 0 < result["best"]["loss"] < 1
    _, result = as_json(capsys, "tune", "numbers.csv", *FIT, "--folds", "3")
    assert result["measure"] == "squared error of 3 folds"


def test_an_optimum_at_the_end_of_a_list_is_said(data):
    X, _, t = data
    with pytest.warns(match="The chosen gamma is the smallest that was tried"):
        PSVRCV(kernel="rbf", gammas=[3.0, 10.0, 30.0]).fit(X, t)


def test_path_has_one_unit_in_output_and_picture(data, capsys):
    pytest.importorskip("matplotlib")
    from psvm.report import EpsilonPathDisplay

    X, _, t = data
    assert run("path", "numbers.csv", "--target", "y", "--output", "p.csv") == 0
    with open("p.csv") as file:
        header, *rows = csv.reader(file)
    rows = np.array(rows, dtype=float)
    path = psvm.epsilon_path(X, t, max_features=20)
    lines = EpsilonPathDisplay.from_path(path, names=list("abc")).lines_
    for line in lines:
        own = rows[:, header.index(line.get_label())]
        epsilon, drawn = line.get_xdata(), line.get_ydata()
        # between its knots the path is linear
        between = np.interp(rows[:, 0], epsilon[::-1], np.asarray(drawn)[::-1])
        np.testing.assert_allclose(own, between, atol=1e-8 * np.abs(own).max())


def test_compare_has_the_measures_of_the_others(data, capsys):
    compare = ("compare", "numbers.csv", "--target", "y", "--epsilon", "0.5", "--folds", "3")
    code, result = as_json(capsys, *compare)
    assert code == 0 and result["measure"] == "RMSE"
    guess = next(m for m in result["methods"] if m["method"] == "guess")
    folds = KFold(3, shuffle=True, random_state=0).split(data[0])
    t = data[2]
    expected = [np.sqrt(np.mean((t[test] - t[train].mean()) ** 2)) for train, test in folds]
    assert guess["RMSE"] == pytest.approx(np.mean(expected))
