"""The interactive page: what it shows is what the solver gives, in a browser and by hand."""

import base64
import csv
import io
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import psvm
import reference
from chromium import Page, find
from psvm import PSVC, PSVR
from psvm.kernels import Spectrum

KINDS = {"f8": "<f8", "f4": "<f4", "u4": "<u4", "u2": "<u2"}
EVIL = "</script><img src=x onerror=alert(1)>"


def embedded(page):
    """What the page holds, decoded as any reader of it would."""
    text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    return decoded(json.loads(text.group(1)))


def decoded(value):
    if isinstance(value, dict) and set(value) == {"kind", "data"}:
        return np.frombuffer(base64.b64decode(value["data"]), dtype=KINDS[value["kind"]])
    if isinstance(value, dict) and set(value) == {"low", "high", "levels"}:
        low, high, levels = (np.asarray(decoded(value[n])) for n in ("low", "high", "levels"))
        levels = levels.reshape(len(low), len(levels) // max(len(low), 1))
        return low[:, None] + (high - low)[:, None] * levels / 65535
    if isinstance(value, dict):
        return {name: decoded(item) for name, item in value.items()}
    return [decoded(item) for item in value] if isinstance(value, list) else value


def alphas(data, machine):
    """Alphas at the knots, of shape (knots, names)."""
    starts, n = machine["starts"], len(data["names"])
    shape = (len(starts) - 1, n)
    return sp.csr_array((machine["alpha"], machine["index"], starts), shape=shape).toarray()


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(3)
    K = rng.normal(size=(60, 150))
    K[:, 7] = K[:, 3] + 0.4 * rng.normal(size=60)
    y = 2 * K[:, 3] - K[:, 20] + 0.5 * K[:, 31] + rng.normal(size=60)
    names = [f"gene {j}" for j in range(150)]
    names[3], names[20] = EVIL, 'a "quoted", name'
    return K, y, names


@pytest.fixture(scope="module")
def two_classes(wide):
    K, y, names = wide
    labels = np.where(y > 0, "sick", f"well {EVIL}")
    rows = [f"patient {i} {EVIL}" for i in range(60)]
    page = psvm.explore(
        K, labels, feature_names=names, row_names=rows, target_name="diagnosis", max_features=30
    )
    return page, K, np.where(labels == "sick", -1.0, 1.0), names


def test_the_page_holds_the_path(wide):
    K, y, names = wide
    data = embedded(psvm.explore(K, y, feature_names=names, max_features=20))
    machine = data["machines"][0]
    case = reference.Case(K, y, np.inf, 0.0)
    assert machine["knots"][0] == pytest.approx(case.epsilon_max, rel=1e-12)
    place = [names.index(name) for name in data["names"]]
    at_knots = np.zeros((len(machine["knots"]), 150))
    at_knots[:, place] = alphas(data, machine)
    for epsilon, alpha in zip(machine["knots"], at_knots, strict=True):
        assert case.with_(epsilon=epsilon).worst(alpha) <= 1e-9 * case.epsilon_max
    assert (at_knots != 0).sum(axis=1).max() <= 20
    expected = reference.standardise(K, y)[0][:, place]
    np.testing.assert_allclose(data["K"].reshape(len(place), 60).T, expected, atol=1e-11)
    assert set(data["others"]) | set(data["names"]) == set(names)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_errors_are_those_of_models_that_have_not_seen_the_rows(wide, kind):
    K, y, _ = wide
    labels = y if kind == "numbers" else y > 0
    folds = [(np.arange(60) % 4 != k, np.arange(60) % 4 == k) for k in range(4)]
    data = embedded(psvm.explore(K, labels, cv=folds, max_features=20))
    machine = data["machines"][0]
    target = y if kind == "numbers" else np.where(y > 0, 1.0, -1.0)
    for point in (8, 30):
        epsilon, held_out = machine["epsilons"][point], np.empty(60)
        for train, test in folds:
            scaled = epsilon * np.sqrt(train.sum() / 60)
            solution = psvm.solve(K[train], target[train], epsilon=scaled, tol=1e-10)
            held_out[test] = K[test] @ solution.coef + solution.intercept
        step = np.ptp(held_out) / 65535  # 16 bits are kept
        np.testing.assert_allclose(machine["held_out"][point], held_out, atol=step)
        wrong = (held_out > 0) != (target > 0)
        error = np.sqrt(np.mean((held_out - y) ** 2)) if kind == "numbers" else wrong.mean()
        assert machine["errors"][point] == pytest.approx(error, rel=1e-6)
    errors, best = machine["errors"], machine["errors"].argmin()
    near = errors <= errors[best] + machine["standard_errors"][best]
    assert machine["chosen"] == machine["epsilons"][near].max()


def test_columns_leave_with_the_rows_that_describe(rng):
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0])
    folds = [(np.arange(40) % 2 == k, np.arange(40) % 2 != k) for k in range(2)]
    model = PSVR(kernel="rbf", gamma=1.0)
    machine = embedded(psvm.explore(X, y, model=model, cv=folds))["machines"][0]
    K, held_out = rbf_kernel(X, gamma=1.0), np.empty(40)
    for train, test in folds:
        scaled = machine["epsilons"][30] * np.sqrt(0.5)
        solution = psvm.solve(K[np.ix_(train, train)], y[train], epsilon=scaled, tol=1e-10)
        held_out[test] = K[np.ix_(test, train)] @ solution.coef + solution.intercept
    np.testing.assert_allclose(machine["held_out"][30], held_out, atol=np.ptp(held_out) / 65535)


def test_the_line_of_python_makes_the_model(wide):
    K, y, _ = wide
    data = embedded(psvm.explore(K, y, max_features=20))
    machine = data["machines"][0]
    middle = len(machine["knots"]) // 2
    line = machine["python"].replace("{epsilon}", repr(float(machine["knots"][middle])))
    model = eval(line, {"PSVR": PSVR, "X": K, "y": y})
    place = [int(name.split()[1]) - 1 for name in data["names"]]
    # A KKT violation of 1e-8 epsilon moves the values of f by no more than this.
    np.testing.assert_allclose(model.alpha_[place], alphas(data, machine)[middle], atol=1e-6)


def test_stand_ins_are_the_most_correlated(wide):
    K, y, names = wide
    data = embedded(psvm.explore(K, y, feature_names=names))
    r = np.corrcoef(K.T)[3]
    expected = np.argsort(-np.abs(r))[1:6]
    found = data["stand_ins"][data["names"].index(EVIL)]
    assert [name for name, _ in found] == [names[j] for j in expected]
    np.testing.assert_allclose([c for _, c in found], r[expected], atol=1e-4)


def test_large_data_keep_what_entered_and_some_rows(rng):
    K = sp.random_array((3000, 6000), density=0.01, format="csr", random_state=rng)
    y = K[:, :20].sum(axis=1) + 0.01 * rng.normal(size=3000)
    page = psvm.explore(K, y, cv=2, max_features=10, min_ratio=0.3)
    data = embedded(page)
    assert len(page.html) < 2e6
    assert len(data["rows"]) == 2000 and data["n_rows"] == 3000
    assert len(data["names"]) < 60 and data["others"] is None
    assert len(data["machines"][0]["y"]) == 2000


@pytest.mark.parametrize("kind", ["iris", "pipeline", "search", "precomputed", "words", "sparse"])
def test_any_model_and_data(kind, rng):
    X, y = load_iris(return_X_y=True)
    model, n = PSVC(), 3
    if kind == "pipeline":
        X, y, n = X[50:], y[50:], 1
        model = make_pipeline(StandardScaler(), PSVC(epsilon=2.0))
    elif kind == "search":
        X, y, n = X[50:], y[50:], 1
        model = GridSearchCV(PSVC(epsilon=2.0), {"gamma": [0.1, 1.0]}, cv=2).fit(X, y)
    elif kind == "precomputed":
        X, y, n = rbf_kernel(X[:40]), X[:40, 1], 1
        model = PSVR(kernel="precomputed")
    elif kind == "words":
        letters = rng.choice(list("ACGT"), size=(24, 12))
        X, y, n = ["".join(word) for word in letters], letters[:, 0] == "A", 1
        model = PSVC(kernel=Spectrum(k=2))
    elif kind == "sparse":
        X, model = sp.csr_array(X), None
    data = embedded(psvm.explore(X, y, model=model, cv=2))
    assert len(data["machines"]) == n
    assert data["what"] == ("feature" if kind == "sparse" else "object")
    assert (data["epsilon"] is None) == (kind not in ("pipeline", "search"))
    assert len(data["extra"]) == (4 if kind in ("iris", "pipeline", "search") else 0)
    assert all(len(m["knots"]) > 1 for m in data["machines"])


def test_what_cannot_be_explored_is_said(wide, rng):
    K, y, _ = wide
    with pytest.raises(ValueError, match="explore shows at most 10"):
        psvm.explore(K, np.arange(60) // 4, model=PSVC(kernel="dyadic"))
    with pytest.raises(ValueError, match="Set it to None"):
        psvm.explore(K, y > 0, model=PSVC(kernel="dyadic", class_weight="balanced"))
    with pytest.raises(ValueError, match="feature_names must hold one name for each of the 150"):
        psvm.explore(K, y, feature_names=["a"])
    with pytest.raises(ValueError, match="No column of X says anything"):
        psvm.explore(np.ones((20, 2)), rng.normal(size=20))
    with pytest.raises(FileNotFoundError):
        psvm.explore(K, y, max_features=5).save("no such folder/page.html")


def test_a_notebook_shows_it_in_a_frame_of_its_own(two_classes):
    page = two_classes[0]
    frame = page._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    assert frame.count("<iframe") == 1 and "<script" not in frame
    assert "MB of HTML" in repr(page)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    program = find()
    if program is None:
        pytest.skip("No Chromium here: apt-get install chromium")
    with Page(program, tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def shown(browser, two_classes, tmp_path_factory):
    """The page of two classes, open in the browser, with its data."""
    page, K, y, names = two_classes
    folder = tmp_path_factory.mktemp("explore")
    path = page.save(folder / "page.html")
    browser.emulate(1100, "light")
    browser.open(path.as_uri())
    browser.run("document.getElementById('all').click()")
    return browser, K, y, names, path


def epsilon_shown(browser):
    return float(browser.run("document.getElementById('epsilon').dataset.value"))


def table(browser, name, part="tBodies[0]"):
    cells = "[r.cells[0].textContent, Number(r.cells[1].dataset.value)]"
    rows = f"[...document.getElementById('{name}').{part}.rows]"
    return dict(browser.run(f"{rows}.map(r => {cells})"))


def assert_solution_shown(browser, K, y, names):
    """Exactly the features and coefficients of the solver at the epsilon that is shown."""
    epsilon = epsilon_shown(browser)
    solution = psvm.solve(K, y, epsilon=epsilon, tol=1e-11)
    expected = {names[j]: solution.alpha[j] for j in np.flatnonzero(np.abs(solution.alpha) > 1e-8)}
    found = table(browser, "bars")
    assert len(expected) > 1 and set(found) == set(expected)
    for name, alpha in expected.items():
        assert found[name] == pytest.approx(alpha, abs=1e-8)
    return solution


def test_the_slider_shows_solutions_by_keyboard(shown):
    browser, K, y, names, _ = shown
    browser.run("document.getElementById('slider').focus()")
    browser.press("Home")
    assert table(browser, "bars") == {}
    browser.press("End")
    browser.press("ArrowLeft", 60)
    before = epsilon_shown(browser)
    assert_solution_shown(browser, K, y, names)
    browser.press("PageUp")  # the next knot, where a variable enters or leaves
    knots = psvm.epsilon_path(K, y, method="homotopy", max_features=30).knots
    assert epsilon_shown(browser) == pytest.approx(knots[knots < before].max(), rel=1e-9)
    browser.press("ArrowRight", 9)
    solution = assert_solution_shown(browser, K, y, names)
    line = browser.run("document.getElementById('python').textContent")
    assert f"epsilon={epsilon_shown(browser)!r}" in line
    text = browser.run("document.getElementById('slider').getAttribute('aria-valuetext')")
    assert text.endswith(f", {len(solution.support)} features")


def test_the_slider_shows_solutions_by_mouse(shown):
    browser, K, y, names, _ = shown
    for across in (0.35, 0.8):
        browser.click("#slider", across)
        assert_solution_shown(browser, K, y, names)
    browser.click("#path-figure svg", 0.5)
    assert_solution_shown(browser, K, y, names)


def test_contributions_add_up(shown):
    browser, K, y, names, _ = shown
    browser.click("#slider", 0.9)
    alpha = psvm.solve(K, y, epsilon=epsilon_shown(browser), tol=1e-11).alpha
    K_s, _ = reference.standardise(K, y)
    browser.run("document.getElementById('row-name').value = 'patient 17 '")
    browser.run("document.getElementById('row-name').dispatchEvent(new Event('input'))")
    parts, total = (table(browser, "contributions", p) for p in ("tBodies[0]", "tFoot"))
    assert len(parts) > 10
    assert sum(parts.values()) == pytest.approx(total["decision value"], abs=1e-12)
    assert total["decision value"] == pytest.approx(K_s[17] @ alpha + y.mean(), abs=1e-8)
    for name, value in parts.items():
        if name in names:
            j = names.index(name)
            assert value == pytest.approx(K_s[17, j] * alpha[j], abs=1e-8)


def test_predictions_of_the_training_rows(shown):
    browser, K, y, _, _ = shown
    browser.click("input[value=own]")
    browser.click("#slider", 0.4)
    f = K @ (s := psvm.solve(K, y, epsilon=epsilon_shown(browser), tol=1e-11)).coef + s.intercept
    counts = "[...document.querySelectorAll('#confusion tbody td')].map(c => Number(c.textContent))"
    expected = [((y > 0) == a) & ((f > 0) == b) for a in (False, True) for b in (False, True)]
    assert browser.run(counts) == [int(both.sum()) for both in expected]
    area = float(browser.run("document.getElementById('prediction-note').dataset.area"))
    assert area == pytest.approx(roc_auc_score(y > 0, f), abs=1e-12)


def test_downloads(shown, tmp_path):
    browser, K, y, names, _ = shown
    browser.saving(tmp_path)
    browser.click("#slider", 0.6)
    solution = psvm.solve(K, y, epsilon=epsilon_shown(browser), tol=1e-11)
    texts = {}
    for button, name in (("csv", "selection.csv"), ("svg", "view.svg")):
        browser.click(f"#{button}")
        texts[name] = browser.downloaded(tmp_path / name)
    header, *rows, last = csv.reader(io.StringIO(texts["selection.csv"], newline=""))
    assert header == ["feature", "alpha", "coefficient"]
    assert {row[0] for row in rows} == {names[j] for j in solution.support}
    for name, alpha, coefficient in rows:
        j = names.index(name)
        assert float(alpha) == pytest.approx(solution.alpha[j], abs=1e-8)
        assert float(coefficient) == pytest.approx(solution.coef[j], abs=1e-8)
    assert last[0] == "(constant)"
    assert float(last[2]) == pytest.approx(solution.intercept, abs=1e-8)
    picture = ET.fromstring(texts["view.svg"])
    words = [node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert any(word and word.startswith("</script><img") for word in words)
    assert "var(" not in texts["view.svg"]


def test_stand_ins_search_and_names_that_try_to_break_out(shown):
    browser, _, _, _, path = shown
    browser.click("#slider", 0.5)
    browser.run(
        "[...document.querySelectorAll('#bars button')]"
        f".find(b => b.textContent == {EVIL!r}).click()"
    )
    listed = "[...document.querySelectorAll('#stand-in-list button')]"
    assert browser.run(f"{listed}.map(b => b.textContent)")[0].startswith("gene 7 (+0.9")
    browser.run(f"{listed}[0].click()")
    label = "document.querySelector('#pair-figure svg').getAttribute('aria-label')"
    assert browser.run(label) == f"{EVIL} against gene 7"
    browser.run("document.getElementById('find').value = 'QUOTED'")
    browser.run("document.getElementById('find').dispatchEvent(new Event('input'))")
    assert list(table(browser, "bars")) == ['a "quoted", name']
    assert browser.run("document.querySelectorAll('img').length") == 0
    wanted = "file://", "data:", "blob:"
    assert [url for url in browser.requests if not url.startswith(wanted)] == []
    assert [url for url in browser.requests if url.startswith("file:")] == [path.as_uri()]
    assert browser.complaints == []


@pytest.mark.parametrize("kind", ["numbers", "several", "kernel"])
def test_other_pages_work(browser, kind, tmp_path):
    X, y = load_iris(return_X_y=True) if kind != "numbers" else load_diabetes(return_X_y=True)
    model = PSVC() if kind == "kernel" else None
    page = psvm.explore(X, y, model=model, cv=3)
    path, epsilon = page.save(tmp_path / "page.html"), embedded(page)["machines"][0]["knots"].mean()
    before = len(browser.complaints)
    browser.emulate(900, "dark")
    browser.open(f"{path.as_uri()}#epsilon={epsilon}&at=row")
    assert epsilon_shown(browser) == epsilon
    browser.run("document.getElementById('slider').focus()")
    browser.press("ArrowRight", 3)
    if kind != "numbers":
        browser.run("document.getElementById('machine').value = 1")
        browser.run("document.getElementById('machine').dispatchEvent(new Event('change'))")
        assert browser.run("document.getElementById('python').textContent").endswith("y == 1)")
    parts, total = (table(browser, "contributions", p) for p in ("tBodies[0]", "tFoot"))
    assert sum(parts.values()) == pytest.approx(next(iter(total.values())), rel=1e-9, abs=1e-9)
    browser.click("#row-after")
    browser.click("#more")
    assert browser.complaints[before:] == []


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_off(browser, two_classes, width, scheme, tmp_path):
    path = two_classes[0].save(tmp_path / "page.html")
    browser.emulate(width, scheme)
    browser.open(path.as_uri())
    assert browser.run("document.documentElement.scrollWidth") <= width
    light = browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert light == (scheme == "light")
    unnamed = (
        "[...document.querySelectorAll('input, select, button')].filter(e => !(e.labels?.length"
    )
    unnamed += " || e.textContent.trim() || e.ariaLabel)).map(e => e.id)"
    assert browser.run(unnamed) == []


def test_the_line_of_python_of_a_long_pipeline_can_be_run(wide):
    K, y, _ = wide
    columns = ColumnTransformer([("keep", "passthrough", list(range(100)))])
    model = make_pipeline(columns, StandardScaler(), PSVR(kernel="dyadic"))
    page = psvm.explore(K, y, model=model, max_features=5)
    line = embedded(page)["machines"][0]["python"].replace("{epsilon}", "2.5")
    fitted = eval(line, {"clone": clone, "model": model, "X": K, "y": y})
    expected = psvm.solve(K[:, :100], y, epsilon=2.5, tol=1e-10).alpha
    np.testing.assert_allclose(fitted[-1].alpha_, expected, atol=1e-6)


@pytest.mark.parametrize("dtype", [str, object])
def test_too_many_classes_are_named(dtype, rng):
    y = np.array([f"s{i:02d}" for i in range(30)], dtype=dtype)
    with pytest.raises(ValueError, match=r"y has 30 classes; .* Give one of them: y == 's00'\."):
        psvm.explore(rng.normal(size=(30, 3)), y)
