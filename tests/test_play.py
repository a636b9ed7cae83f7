"""The toy: what it draws is what `predict` says, and nobody else can talk to it."""

import base64
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from chromium import Page, find
from psvm import PSVC, PSVR
from psvm.cli import main

pytest.importorskip("click")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

SETTINGS = {"kernel": "rbf", "gamma": 3.0, "C": None, "epsilon": 0.05, "C_svm": 2.0}
PLAIN = {"threshold": "mean", "epsilon_unit": "max"}


class Server:
    """`psvm play` in a process of its own."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "psvm.cli", "play", "--no-open", *arguments]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.address = self.process.stdout.readline().strip()
        parts = urlsplit(self.address)
        self.port, self.token = parts.port, parse_qs(parts.query)["token"][0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def send(self, method="GET", path="/", body=None, *, token=True, **headers):
        """Status and text of an answer; `token` may be another one, or False."""
        query = f"?token={self.token if token is True else token}" if token else ""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path + query, body=body, headers=names)
        response = connection.getresponse()
        status, text = response.status, response.read().decode()
        connection.close()
        return status, text

    def solve(self, **question):
        return self.send("POST", "/solve", json.dumps(question))


@pytest.fixture(scope="module")
def server():
    with Server() as started:
        yield started


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(1)
    points = rng.uniform(-0.9, 0.9, size=(40, 2)).round(3)
    return points, (points[:, 0] * points[:, 1] > 0).astype(int)


def cells(n=60):
    """The centres of the cells, row by row from the top."""
    x = (np.arange(n) + 0.5) * 2 / n - 1
    return np.array([(a, -b) for b in x for a in x])


def decided(f):
    """Where rounding cannot change the class: almost everywhere."""
    top = np.sort(f, axis=1)[:, -2:] if f.ndim == 2 else np.column_stack([0 * f, f])
    sure = np.abs(np.diff(top, axis=1))[:, 0] > 1e-6
    assert sure.mean() > 0.99
    return sure


def codes(text, kind=np.uint8):
    return np.frombuffer(base64.b64decode(text), dtype=kind)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_regions_are_those_of_predict(server, points, n_classes):
    X, y = points
    y = np.where(X[:, 1] > 0.5, 2, y) if n_classes == 3 else y
    assert len(np.unique(y)) == n_classes
    status, text = server.solve(points=X.tolist(), labels=y.tolist(), **SETTINGS)
    found = json.loads(text)
    assert status == 200
    model = PSVC(gamma=3.0, epsilon=0.05, **PLAIN).fit(X, y)
    sure = decided(model.decision_function(cells()))
    classes = codes(found["psvm"]["classes"])
    np.testing.assert_array_equal(classes[sure], model.predict(cells()[sure]))
    assert found["psvm"]["support"] == model.support_.tolist()
    assert found["psvm"]["gap"] == pytest.approx(model.dual_gap_, abs=1e-9)
    svc = SVC(gamma=3.0, C=2.0).fit(X, y)
    same = codes(found["svm"]["classes"]) == svc.predict(cells())
    assert same.mean() > 0.995  # LIBSVM stops at 1e-3
    if n_classes == 2:
        values = codes(found["psvm"]["values"], "<f4")
        np.testing.assert_allclose(values, model.decision_function(cells()), atol=1e-5)
        objective = found["psvm"]["objective"]
        K = rbf_kernel(X, gamma=3.0)
        K -= K.mean(axis=0)
        K /= np.linalg.norm(K, axis=0)
        t, alpha = 2.0 * y - 1, model.alpha_
        expected = 0.5 * np.sum((K @ alpha) ** 2) - (K.T @ (t - t.mean())) @ alpha
        expected += found["psvm"]["epsilon"] * np.abs(alpha).sum()
        assert objective == pytest.approx(expected, rel=1e-6)


def test_curves_are_those_of_predict(server, points):
    X, _ = points
    asked = {**SETTINGS, "regression": True, "C": 5.0}
    status, text = server.solve(points=X.tolist(), labels=[0] * 40, **asked)
    assert status == 200
    model = PSVR(gamma=3.0, epsilon=0.05, C=5.0, **PLAIN).fit(X[:, :1], X[:, 1])
    expected = model.predict(np.linspace(-1, 1, 240)[:, None])
    np.testing.assert_allclose(json.loads(text)["psvm"]["curve"], expected, atol=1e-9)


def test_strangers_are_refused(server):
    here = f"127.0.0.1:{server.port}"
    assert server.send()[0] == 200
    assert server.send(Origin=f"http://{here}")[0] == 200
    refused = [
        server.send(token=False),
        server.send(token="x" * 32),
        server.send(token=f"{server.token}&a=1"),
        server.send(Origin="http://evil.example"),
        server.send(Origin="null"),
        server.send(Origin=f"https://{here}"),
        server.send(Host=f"evil.example:{server.port}"),  # a name server that lies
        server.send(Host=f"localhost:{server.port}"),
        server.send(Sec_Fetch_Site="cross-site"),
        server.send("POST", "/solve", "{}", Origin="http://evil.example"),
        server.send("POST", "/solve", "{}", token=False),
        server.send(path="/open", token=False),
    ]
    assert {status for status, _ in refused} == {403}
    assert all("psvm play" in text and server.token not in text for _, text in refused)
    with pytest.raises(OSError), socket.create_connection(("127.0.0.2", server.port), timeout=2):
        pass


def test_malformed_questions_get_a_clean_answer(server, points):
    X, y = points
    good = {"points": X.tolist(), "labels": y.tolist(), **SETTINGS}
    bodies = {
        400: ["", "{", "\x00", "[" * 50_000, '{"points": nope}'],
        413: ["1" * 200_000],
        422: [
            "[]", "1", "null", "{}",
            *(json.dumps({**good, name: value}) for name, value in [
                ("points", "x"), ("points", [[1]]), ("points", [[2, 0]] * 40), ("points", None),
                ("points", [[float("nan"), 0]] * 40), ("points", [[0, 0]] * 501), ("points", []),
                ("labels", [9] * 40), ("labels", [0.5] * 40), ("labels", [0]), ("labels", [1] * 40),
                ("kernel", "no"), ("kernel", None), ("kernel", ["rbf"]), ("gamma", -1),
                ("gamma", "1"), ("gamma", True), ("gamma", float("inf")), ("epsilon", 0),
                ("epsilon", None), ("C", 0), ("C_svm", None), ("regression", "yes"),
            ]),
        ],
    }  # fmt: skip
    for expected, texts in bodies.items():
        for text in texts:
            status, answer = server.send("POST", "/solve", text)
            assert status == expected, (text[:100], answer)
            assert "Traceback" not in answer and len(answer) < 200
    assert server.send("GET", "/solve")[0] == 405
    assert server.send("GET", "/../../etc/passwd")[0] == 404
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.sendall(b"\x16\x03\x01 this is not HTTP\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert server.solve(**good)[0] == 200


def test_a_shared_link_is_opened_and_ctrl_c_ends_it():
    with Server("http://127.0.0.1:1/#points=0.0.0,500.500.1&kernel=rbf") as server:
        assert server.address.endswith("#points=0.0.0,500.500.1&kernel=rbf")
        assert server.send()[0] == 200
        server.process.send_signal(signal.SIGINT)
        out, err = server.process.communicate(timeout=20)
        assert server.process.returncode == 0
        assert "Traceback" not in out + err
        with pytest.raises(OSError):
            socket.create_connection(("127.0.0.1", server.port), timeout=2)


def test_missing_packages_and_other_links_are_said(monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "psvm.cli._play", raising=False)
    monkeypatch.delitem(sys.modules, "psvm.cli._play._server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["play"]) == 1
    assert 'pip install "psvm[play]"' in capsys.readouterr().err
    for link in ("nothing", "http://127.0.0.1/#<script>", "http://127.0.0.1/#a b"):
        assert main(["play", link]) == 2
        assert "not a link of psvm play" in capsys.readouterr().err


@pytest.fixture
def browser(tmp_path):
    program = find()
    if program is None:
        pytest.skip("No Chromium here: apt-get install chromium")
    (tmp_path / "profile").mkdir()
    with Page(program, tmp_path / "profile") as opened:
        opened.emulate(1100, "light")
        yield opened


def settled(browser, patience=30.0):
    """Wait until no question is under way."""
    deadline, before = time.monotonic() + patience, None
    while time.monotonic() < deadline:
        now = browser.run("document.getElementById('psvm').toDataURL()")
        if now == before:
            return
        before = now
        time.sleep(0.3)
    raise AssertionError("The page does not come to rest.")


def shared(browser):
    """The link with the points, and what it holds."""
    browser.run("document.getElementById('share').click()")
    link = browser.run("document.getElementById('address').value")
    held = {name: value[0] for name, value in parse_qs(urlsplit(link).fragment).items()}
    points = [text.split(".") for text in held.get("points", "").split(",") if text]
    return link, held, np.array(points, dtype=float).reshape(-1, 3) / [1000, 1000, 1]


PAPER, INKS = np.array([255, 255, 255]), np.array([[0, 114, 178], [213, 94, 0]])


def test_points_by_clicks_and_regions_on_the_canvas(browser):
    with Server() as server:
        browser.open(server.address)
        browser.run("document.getElementById('clear').click()")
        places = [(0.2, 0.3), (0.3, 0.7), (0.7, 0.25), (0.8, 0.8), (0.6, 0.5)]
        for k, (x, y) in enumerate(places):
            browser.run(f"document.querySelectorAll('#brushes input')[{k % 2}].click()")
            browser.click("#psvm", x, y)
        settled(browser)
        link, held, points = shared(browser)
        assert server.token not in link
        expected = [(2 * x - 1, 1 - 2 * y, k % 2) for k, (x, y) in enumerate(places)]
        np.testing.assert_allclose(points, expected, atol=0.005)  # a pixel
        gamma, epsilon = (float(f"{10 ** float(held[n]):.6g}") for n in ("gamma", "epsilon"))
        model = PSVC(gamma=gamma, epsilon=epsilon, **PLAIN).fit(points[:, :2], points[:, 2])
        script = (
            "(() => { const c = document.getElementById('psvm'), s = c.width / 60, "
            "d = c.getContext('2d').getImageData(0, 0, c.width, c.width).data, out = [];"
            "for (let i = 0; i < 60; i++) for (let j = 0; j < 60; j++) {"
            "const p = 4 * (Math.floor((i + 0.5) * s) * c.width + Math.floor((j + 0.5) * s));"
            "out.push([d[p], d[p + 1], d[p + 2]]); } return out; })()"
        )
        pixels = np.array(browser.run(script))
        tints = np.rint(0.7 * PAPER + 0.3 * INKS)
        painted = (np.abs(pixels[:, None] - tints) <= 1).all(axis=2)
        sure = decided(model.decision_function(cells()))
        seen = sure & painted.any(axis=1)  # not below points, rings and lines
        assert seen.mean() > 0.8
        np.testing.assert_array_equal(painted[seen].argmax(axis=1), model.predict(cells()[seen]))
        # the link shows the same points elsewhere
        browser.open("about:blank")
        browser.open(f"{server.address}#{urlsplit(link).fragment}")
        settled(browser)
        np.testing.assert_array_equal(shared(browser)[2], points)
        assert browser.complaints == []


def test_sliders_examples_and_keys_leave_no_error_and_closing_ends_it(browser):
    with Server() as server:
        browser.open(server.address)
        browser.run("document.getElementById('epsilon').focus()")
        browser.press("ArrowLeft", 30)
        browser.run("document.getElementById('gamma').focus()")
        browser.press("ArrowRight", 30)
        settled(browser)
        assert browser.run("document.getElementById('said').textContent") == ""
        for name in ("circles", "xor", "imbalanced", "three", "curve", "moons"):
            browser.run(f"document.getElementById('example').value = '{name}'")
            browser.run("document.getElementById('example').dispatchEvent(new Event('change'))")
            settled(browser)
            figures = browser.run("document.getElementById('psvm-figures').textContent")
            assert re.search(r"support objects\d+ of \d+.*gap.*time", figures), (name, figures)
        n = len(shared(browser)[2])
        browser.run("document.getElementById('svm').focus()")
        browser.press("ArrowRight", 3)
        browser.press("Enter")
        settled(browser)
        points = shared(browser)[2]
        assert len(points) == n + 1
        np.testing.assert_allclose(points[-1], [0.06, 0, 0])
        for width in (360, 1600):
            browser.emulate(width, "dark")
            assert browser.run("document.documentElement.scrollWidth") <= width
        assert {urlsplit(url).netloc for url in browser.requests} <= {
            f"127.0.0.1:{server.port}",
            "",
        }
        assert browser.complaints == []
        browser.open("about:blank")
        assert server.process.wait(20) == 0
        assert "Traceback" not in server.process.stderr.read()
