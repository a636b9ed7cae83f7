"""The interactive page: how large it is, what it costs, and how fast it answers.

Moves of the slider are timed in headless Chromium: from the event to the end of the layout, which
the page is asked for. Painting is not in it.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification, make_regression

import psvm
from report import environment, markdown_table, write_section

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from chromium import Page, find

MOVES = """(() => {
  const slider = document.getElementById("slider"), times = [];
  for (let k = 0; k < 200; k++) {
    slider.value = (k * 389) % 1001;
    const start = performance.now();
    slider.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
})()"""


def cases():
    """Names, data and models."""
    X, y = make_classification(500, 2000, n_informative=30, random_state=0)
    yield "500 x 2,000, classes", X, y, None
    X, y = make_regression(500, 2000, n_informative=30, noise=50.0, random_state=0)
    yield "500 x 2,000, numbers", X, y, None
    X, y = make_classification(500, 2000, n_informative=30, n_classes=5, random_state=0)
    yield "500 x 2,000, five classes", X, y, None
    X, y = make_classification(2000, 20, n_informative=8, random_state=0)
    yield "2,000 x 20, RBF kernel", X, y, psvm.PSVC(kernel="rbf")
    X, y = make_regression(5000, 5000, n_informative=30, noise=50.0, random_state=0)
    yield "5,000 x 5,000, numbers", X, y, None


def moves(path):
    """Milliseconds of 200 moves of the slider."""
    with tempfile.TemporaryDirectory() as profile, Page(find(), profile) as page:
        page.emulate(1400, "light")
        page.open(path.as_uri())
        assert page.complaints == []
        return np.array(page.run(MOVES))


def run():
    if find() is None:
        raise SystemExit("No Chromium here: apt-get install chromium")
    rows = []
    for name, X, y, model in cases():
        start = time.process_time()
        page = psvm.explore(X, y, model=model)
        spent = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            path = page.save(Path(folder, "page.html"))
            size, times = path.stat().st_size, moves(path)
        median, most = np.median(times), np.quantile(times, 0.95)
        rows.append([name, f"{spent:.2f}", f"{size / 1e6:.2f}", f"{median:.1f}", f"{most:.1f}",
                     f"{times.max():.1f}"])  # fmt: skip
        print(*rows[-1], flush=True)
    header = ["data", "psvm.explore, s", "page, MB", "ms per move", "95 %", "slowest"]
    table = markdown_table(header, rows)
    print(table)
    load = f"Load of the machine: {os.getloadavg()[1]:.1f}."
    write_section("explore", f"{environment()} {load}\n\n{table}")


if __name__ == "__main__":
    run()
