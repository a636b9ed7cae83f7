"""The plots and the page about a model: true to what they show, whole, and safe."""

import html
import re

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_moons
from sklearn.dummy import DummyClassifier
from sklearn.metrics import confusion_matrix
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
import reference
from chromium import Page, find
from psvm import PSVC, PSVCCV, PSVR
from psvm.evaluation import cross_validate
from psvm.kernels import Sine, Spectrum
from psvm.report import (
    EpsilonPathDisplay,
    SearchDisplay,
    SpectrumDisplay,
    SupportDisplay,
    write_report,
)
from psvm.selection import rank_features

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def no_window():
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def cancer():
    data = load_breast_cancer(as_frame=True)
    return data.data, data.target_names[data.target]


@pytest.fixture(scope="module")
def page(cancer, tmp_path_factory):
    """A report with everything, and names that try to break out."""
    X, y = cancer
    X = X.rename(columns={"worst radius": "<script>alert(1)</script> & \"$x$'"})
    search = make_pipeline(StandardScaler(), PSVCCV(gammas=[0.03, 0.1]))
    path = tmp_path_factory.mktemp("report") / "r.html"
    write_report(
        search.fit(X, y),
        X,
        y,
        path,
        title="<b>bold</b>",
        command="psvm report 'a <b>.csv'",
        notes=["</script><script>alert(2)</script>"],
        cv=3,
    )
    return path


def test_path_display_draws_the_path(rng):
    K = rng.normal(size=(40, 6))
    y = 3 * K[:, 3] - 2 * K[:, 1]
    path = psvm.epsilon_path(K, y)
    display = EpsilonPathDisplay.from_path(path, names=list("abcdef"), epsilon=1.0)
    for place, line in enumerate(display.lines_):
        x, drawn = line.get_data()
        np.testing.assert_array_equal(x, path.knots)
        expected = [path.alpha_at(e)[path.order[place]] for e in path.knots]
        np.testing.assert_allclose(drawn, expected, atol=1e-12)
    assert display.lines_[0].get_label() == "d"
    assert display.ax_.xaxis_inverted()


def test_path_display_from_estimator_is_that_of_its_problem(cancer):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    display = EpsilonPathDisplay.from_estimator(model, X, y)
    np.testing.assert_allclose(display.path.alpha_at(3.0), model.alpha_, atol=1e-3)
    assert display.names[model.support_[0]] == model.support_objects_[0]


def test_path_display_of_a_kernel_in_a_pipeline():
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:60], y[:60]
    model = make_pipeline(StandardScaler(), PSVR(epsilon=50.0)).fit(X, y)
    display = EpsilonPathDisplay.from_estimator(model, X, y)
    # PSVR stops at a KKT violation of 1e-4 epsilon, which moves alpha by no more than this.
    np.testing.assert_allclose(display.path.alpha_at(50.0), model[-1].alpha_, atol=0.5)


def test_support_display_has_the_largest_weights_first(cancer):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=1.0).fit(X, y)
    display = SupportDisplay.from_estimator(model, most=5)
    widths = [bar.get_width() for bar in display.bars_]
    expected = sorted(model.alpha_, key=abs, reverse=True)[:5]
    np.testing.assert_array_equal(widths, expected)


@pytest.mark.parametrize("n_params", [1, 2, 3])
def test_search_display_shows_the_best_of_the_other_parameters(n_params, rng):
    X = rng.normal(size=(40, 3))
    y = X[:, 0] + rng.normal(size=40) > 0
    grid = {"gamma": [0.01, 0.1, 1.0], "epsilon": [0.5, 2.0], "C": [1.0, 10.0]}
    grid = {name: grid[name] for name in list(grid)[:n_params]}
    search = GridSearchCV(PSVC(epsilon=1.0), grid, cv=3).fit(X, y)
    display = SearchDisplay.from_estimator(search)
    results = search.cv_results_
    assert display.scores_.max() == pytest.approx(results["mean_test_score"].max())
    for cell, score in np.ndenumerate(display.scores_):
        fits = np.ones(len(results["params"]), dtype=bool)
        for name, place in zip(display.params, cell, strict=True):
            fits &= results[f"param_{name}"] == sorted(grid[name])[place]
        assert score == results["mean_test_score"][fits].max()


def test_search_display_refuses_unknown_parameters(rng):
    results = {"param_gamma": [1.0, 2.0], "mean_test_score": [0.5, 0.6]}
    with pytest.raises(ValueError, match=r"one or two of \['gamma'\]"):
        SearchDisplay(results, params=["C"])


def test_spectrum_display_of_matrix_and_estimator(rng):
    X = rng.normal(size=(30, 2))
    model = PSVR(kernel=Sine(), epsilon=1.0).fit(X, X[:, 0])
    display = SpectrumDisplay.from_estimator(model, X)
    expected = np.linalg.eigvalsh(Sine()(X))[::-1]
    np.testing.assert_allclose(display.spectrum.eigenvalues, expected, atol=1e-10)


def test_displays_of_many_rows_have_what_describes(tmp_path):
    X, y = make_moons(2100, noise=0.3, random_state=0)
    model = PSVC(epsilon=20.0, gamma=1.0).fit(X, y)
    objects = model.plan_.objects
    own = np.array([np.flatnonzero((X == z).all(axis=1))[0] for z in objects])
    assert 100 < len(own) < 2000
    display = EpsilonPathDisplay.from_estimator(model, X, y)
    case = reference.Case(rbf_kernel(X, X[own], gamma=1.0), 2.0 * y - 1.0, np.inf, 20.0)
    assert display.path.epsilon_max == pytest.approx(case.epsilon_max, rel=1e-9)
    assert display.names == [f"row {j + 1}" for j in own]
    eigenvalues = SpectrumDisplay.from_estimator(model, X).spectrum.eigenvalues
    expected = np.linalg.eigvalsh(rbf_kernel(X[own], gamma=1.0))[::-1]
    np.testing.assert_allclose(eigenvalues, expected, atol=1e-10 * len(own))
    psvm.persistence.save(model, tmp_path / "model.psvm")
    with pytest.raises(ValueError, match="from a file does not know"):
        EpsilonPathDisplay.from_estimator(psvm.persistence.load(tmp_path / "model.psvm"), X, y)


def test_report_of_machines_that_share(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = PSVC(multi_class="shared").fit(X, y)
    text = text_of(write_report(model, X, y, tmp_path / "r.html", cv=2))
    assert "all 3 optimal" in " ".join(text.split())
    assert f"{model.n_support_} of 150 descriptive objects" in text
    assert "epsilon, as used" in text


def test_displays_refuse_other_estimators(rng):
    model = DummyClassifier().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="PSVC or PSVR, a pipeline"):
        SupportDisplay.from_estimator(model)


def test_cross_validation_is_that_of_scikit_learn(cancer):
    X, y = cancer
    model = make_pipeline(StandardScaler(), PSVC(epsilon=1.0))
    result = cross_validate(model, X, y, cv=4, random_state=3)
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    np.testing.assert_array_equal(result.predictions, cross_val_predict(model, X, y, cv=folds))
    wrong = np.mean(result.predictions != y)
    assert result.error == pytest.approx(wrong)
    assert result.baseline == pytest.approx(np.mean(y == "malignant"))
    for fold, (_, test) in enumerate(folds.split(X, y)):
        assert result.fold_errors[fold] == pytest.approx(
            np.mean(result.predictions[test] != y[test])
        )
    # Wilson's interval solves |p - error| = z sqrt(p (1 - p) / n) for p.
    for p in result.interval:
        assert abs(p - wrong) == pytest.approx(1.959964 * np.sqrt(p * (1 - p) / len(y)), rel=1e-5)


def test_cross_validation_of_relations_and_numbers(rng):
    X = rng.normal(size=(50, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=50)
    K = Sine()(X)
    direct = cross_validate(PSVR(kernel=Sine(), epsilon=0.1), X, y)
    by_matrix = cross_validate(PSVR(kernel="precomputed", epsilon=0.1), K, y)
    np.testing.assert_allclose(direct.predictions, by_matrix.predictions, atol=1e-6)
    assert direct.error == pytest.approx(np.sqrt(np.mean((direct.predictions - y) ** 2)))
    assert direct.interval[0] < direct.error < direct.interval[1]
    assert direct.baseline == pytest.approx(y.std())


def test_cross_validation_refuses_a_class_of_one(rng):
    with pytest.raises(ValueError, match="one member only"):
        cross_validate(PSVC(), rng.normal(size=(10, 2)), ["a"] * 9 + ["b"])


def test_stability_is_the_share_of_halves(rng):
    X = rng.normal(size=(80, 30))
    y = 3 * X[:, 4] + X[:, 9] + rng.normal(size=80)
    found = rank_features(X, y, n_features=4)
    assert found.indices[0] == 4 and found.stability[0] == 1.0
    assert set(np.round(20 * found.stability, 9)) <= set(range(21))
    noise = rank_features(X, rng.normal(size=80), n_features=4)
    assert noise.stability.mean() < 0.7 < found.stability[:2].mean()


def test_stand_ins_are_the_most_correlated(rng):
    X = rng.normal(size=(80, 30))
    X[:, 7] = -X[:, 4] + 0.1 * rng.normal(size=80)
    found = rank_features(X, X[:, 4] > 0, n_features=1)
    correlations = np.corrcoef(X.T)[found.indices[0]]
    order = np.argsort(-np.abs(correlations))[1:4]
    np.testing.assert_array_equal(found.stand_ins[0].indices, order)


def text_of(path):
    return html.unescape(re.sub(r"<[^>]+>", " ", path.read_text()))


SECTIONS = (
    "Data", "Cross-validated error", "Hyper-parameters", "Matrix of relations",
    "Path along epsilon", "Support objects", "Top features", "Certificate", "To repeat this",
)  # fmt: skip


def test_page_has_all_sections_and_no_foreign_code(page):
    text = page.read_text()
    assert re.findall(r'<h2 id="s\d+">(.*?)</h2>', text) == list(SECTIONS)
    assert text.count("<script>") == 1 and "alert(1)" in text
    assert "<b>" not in text
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", text)
    assert "http" not in re.sub(r"base64,[^\"]+", "", text).replace("http-equiv", "")
    assert all(re.findall(r'<img [^>]*alt="([^"]+)"', text))
    assert "psvm report 'a <b>.csv'" in html.unescape(text)


def test_page_says_what_cross_validation_says(cancer, tmp_path):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    text = text_of(write_report(model, X, y, tmp_path / "r.html"))
    result = cross_validate(model, X, y)
    assert f"{100 * (1 - result.error):.1f} %" in text
    right = np.trace(confusion_matrix(y, result.predictions))
    assert f"{right} of {len(y)} rows on the diagonal" in (tmp_path / "r.html").read_text()
    for name in model.support_objects_:
        assert name in text
    assert f"{model.n_support_} of 30" in text
    assert psvm.__version__ in text


def test_page_is_the_same_every_time(cancer, tmp_path):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    first = write_report(model, X, y, tmp_path / "a.html").read_bytes()
    assert write_report(model, X, y, tmp_path / "b.html").read_bytes() == first


def test_page_of_relations_sequences_sparse_and_three_classes(tmp_path, rng):
    X, y = load_iris(return_X_y=True)
    K = Sine()(X)
    words = np.array(["".join(w) for w in rng.choice(list("ACGT"), size=(40, 12))], dtype=object)
    has = np.array(["yes" if "A" in w[:3] else "no" for w in words])
    cases = {
        "three": (PSVC(epsilon=1.0), X, y),
        "relations": (PSVC(kernel="precomputed", epsilon=1.0), K, y > 0),
        "words": (PSVC(kernel=Spectrum(k=2), epsilon=1.0), words, has),
        "sparse": (PSVR(kernel="dyadic", epsilon=1.0), sp.csr_array(X[:, :3]), X[:, 3]),
    }
    for name, (model, data, target) in cases.items():
        path = write_report(model.fit(data, target), data, target, tmp_path / f"{name}.html", cv=3)
        text = text_of(path)
        assert "Certificate" in text
        assert ("Matrix of relations" in text) == (name != "sparse")
        assert ("Top features" in text) == (name in ("three", "sparse"))


def test_page_warns_of_suspicious_data(tmp_path, rng):
    X = rng.normal(size=(24, 4)) * [1, 1, 1, 1e5]
    y = np.where(np.arange(24) < 4, "few", "many")
    X[:, 0] = 7.0
    X[:, 1] = y == "few"
    X[5] = X[6]
    text = text_of(write_report(PSVC(epsilon=1.0).fit(X, y), X, y, tmp_path / "r.html", cv=2))
    for words in (
        "only 24 rows", "The class 'few' has only 4 of 24 rows", "Column 1 is constant (7)",
        "1 of 24 rows repeat", "Column 2 is almost the target itself", "ranges of columns differ",
    ):  # fmt: skip
        assert words in text


def test_nothing_is_left_of_a_report_that_fails(cancer, tmp_path):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    with pytest.raises(FileNotFoundError, match="no directory"):
        write_report(model, X, y, tmp_path / "none" / "r.html")
    with pytest.raises(ValueError):
        write_report(model, X.iloc[:5], y, tmp_path / "r.html")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def browser(tmp_path):
    program = find()
    if program is None:
        pytest.skip("No Chromium here: apt-get install chromium")
    profile = tmp_path / "profile"
    profile.mkdir()
    with Page(program, profile) as opened:
        yield opened


def test_browser_shows_the_page_without_network_or_complaint(browser, page, tmp_path):
    browser.open(page.as_uri())
    images = "[...document.images].every(i => i.complete && i.naturalWidth > 100)"
    assert browser.run(images) and browser.run("document.images.length") >= 6
    assert browser.run("document.querySelectorAll('[lang]').length") == 1
    assert browser.run("document.title") == "<b>bold</b>"
    wide = "document.documentElement.scrollWidth <= window.innerWidth"
    assert browser.run(wide)
    browser.screenshot(tmp_path / "page.png")
    browser.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.png").stat().st_size > 50_000
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    assert [url for url in browser.requests if not url.startswith("data:")] == [page.as_uri()]
    assert browser.complaints == []


def test_browser_sorts_tables_on_click(browser, page):
    browser.open(page.as_uri())
    table = "[...document.querySelectorAll('table')].find(t => t.caption.textContent == '{}')"
    column = "[...{}.tBodies[0].rows].map(r => r.cells[{}].textContent)"
    press = "{}.tHead.rows[0].cells[{}].querySelector('button').click()"
    sort = "{}.tHead.rows[0].cells[{}].getAttribute('aria-sort')"

    def look(caption, j):
        return browser.run(column.format(table.format(caption), j))

    importance = [float(v) for v in look("Selected features", 2)]
    browser.run(press.format(table.format("Selected features"), 2))
    assert [float(v) for v in look("Selected features", 2)] == sorted(importance)
    assert browser.run(sort.format(table.format("Selected features"), 2)) == "ascending"
    browser.run(press.format(table.format("Selected features"), 2))
    assert [float(v) for v in look("Selected features", 2)] == sorted(importance, reverse=True)
    names = look("Selected features", 1)
    browser.run(press.format(table.format("Selected features"), 1))
    assert sorted(look("Selected features", 1)) == sorted(names)
    assert browser.complaints == []


@pytest.mark.parametrize("width", [360, 400, 1100, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_browser_cuts_nothing_off_in_light_and_dark(browser, page, width, scheme):
    browser.emulate(width, scheme)
    browser.open(page.as_uri())
    assert browser.run("document.documentElement.scrollWidth") <= width
    # nothing inside has to be scrolled sideways either
    hidden = (
        "[...document.querySelectorAll('body *')].filter(e => e.scrollWidth > e.clientWidth + 1"
    )
    hidden += " && e.clientWidth > 0).map(e => e.tagName + ' ' + e.className)"
    assert browser.run(hidden) == []
    colour = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(colour) == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    assert browser.complaints == []


def test_figures_are_linked_with_the_interactive_page(browser, cancer, tmp_path):
    X, y = cancer
    model = PSVC(kernel="dyadic", epsilon=3.0).fit(X, y)
    path, page = tmp_path / "r.html", tmp_path / "a & b.html"
    write_report(model, X, y, path, cv=3, interactive=page)
    browser.open(path.as_uri())
    links = browser.run("[...document.querySelectorAll('a.link')].map(a => a.href)")
    assert [link.rpartition("=")[2] for link in links] == ["error", "path", "selected", "stand-ins"]
    for link in links:
        assert link.startswith(page.as_uri())
        browser.open("about:blank")  # the links differ by their fragments only
        browser.open(link)
        assert browser.run("document.getElementById('epsilon').dataset.value") == "3"
        place = f"document.getElementById('{link.rpartition('=')[2]}').getBoundingClientRect()"
        assert browser.run(f"{place}.top < innerHeight && {place}.bottom > 0")
    assert browser.complaints == []
    with pytest.raises(ValueError, match="another file in the directory of the report"):
        write_report(model, X, y, path, interactive=path)


def test_arrows_stand_only_where_sorting_helps(page):
    text = page.read_text()
    tables = re.findall(r"<table.*?</table>", text, re.S)
    for table in tables:
        rows = table.count("<tr>") - 1
        numbers = re.search(r'<th scope="col" class="number"', table) is not None
        assert ("<button" in table) == (rows >= 5 and numbers)
    assert any("<button" in table for table in tables)
    assert not all("<button" in table for table in tables)


@pytest.mark.parametrize(
    "model",
    [
        PSVC(),
        PSVCCV(kernel=["rbf", "linear"]),
        PSVCCV(cv=3, kernel="rbf", gammas=[0.01, 0.1]),
        PSVCCV(kernel="rbf", gammas=[0.01, 0.03, 0.1], rule="sparse"),
    ],
    ids=["model", "search", "folds", "sparse"],
)
def test_page_says_what_was_compared_chosen_and_why(model, cancer, tmp_path):
    X, y = cancer
    X = (X - X.mean()) / X.std()
    model.fit(X, y)
    page = html.unescape(write_report(model, X, y, tmp_path / "r.html", cv=3).read_text())
    plain = isinstance(model, PSVC)
    if plain:
        losses = np.array([row["loss"] for row in model.candidates_])
        chosen = int(np.argmin(losses))
    else:
        losses, chosen = -model.cv_results_["mean_test_score"], model.best_index_
    how = "3 folds" if getattr(model, "cv", None) else "leave-one-out values"
    assert f"{len(losses)} candidates were compared by the log loss of {how}. Chosen: " in page
    assert f"loss {losses[chosen]:.3g}" in page
    assert ("within one standard error of the best" in page) == (losses[chosen] > losses.min())
    assert f"The best {len(losses)} candidates" in page
    assert ("a line for each candidate" in page) == (not plain and model.cv is None)
    assert "epsilon grid" not in page and "safer width" not in page


def test_page_folds_the_settings(cancer, tmp_path):
    X, y = cancer
    model = PSVCCV(kernel="dyadic").fit(X, y)
    path = write_report(model, X, y, tmp_path / "r.html", cv=3)
    page = html.unescape(path.read_text())
    assert "1 candidate was compared" in page
    folded = re.findall(r"<details><summary>(.*?)</summary>", page)
    assert {"All parameters", "The estimator", "Versions"} < set(folded)
    result = cross_validate(model, X, y, cv=3)
    assert f"{100 * result.sensitivity:.1f} %" in page and "specificity: " in page
