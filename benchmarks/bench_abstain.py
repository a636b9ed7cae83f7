"""Abstention on web pages: who is a student, judged by the pages that link to somebody's page.

Hochreiter & Obermayer 2004, Table 8: P-SVM on the matrix of ingoing links, students against the
rest, ten-fold cross-validation. A page without a link from any support page is not classified. As
in the paper only pages of the first six classes with more than one link are objects; the crawl that
is public has fewer of them (for Cornell 222 instead of 350). They are described by links from the
same pages, or from all pages of the university. C is infinite.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from datasets import data_dir, load
from psvm import PSVC
from psvm.evaluation import RejectOption
from report import environment, markdown_table, write_section

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")
PAPER = {
    0.1: "84, 14 (135)",
    0.3: "79, 9.7 (99)",
    0.5: "73, 5.5 (58)",
    1.0: "61, 1.4 (27)",
    1.4: "56, 1.0 (12)",
    2.0: "51, 0.6 (8)",
}
"""Of Cornell: % classified, % wrong among them, support pages."""


def pages(university):
    """Ingoing links (row: page, column: page that links to it), labels, and which are chosen."""
    d = load(f"dyadic/webkb_{university}")
    names, K = list(d["class_names"]), d["K"].astype(float)
    chosen = (d["y"] != names.index("other")) & (K.sum(axis=0) + K.sum(axis=1) > 1)
    return K.T[chosen], np.where(d["y"][chosen] == names.index("student"), 1, 0), chosen


def cell(K, y, epsilon):
    """Percentages of classified pages, errors among them and errors of all; support pages."""
    classified, wrong, wrong_of_all, support = 0, 0, 0, []
    for fit, new in StratifiedKFold(10, shuffle=True, random_state=0).split(K, y):
        model = RejectOption(PSVC(kernel="dyadic", epsilon=epsilon)).fit(K[fit], y[fit])
        prediction = model.predict(K[new])
        known = prediction != model.reject_label_
        classified += known.sum()
        wrong += np.sum(known & (prediction != y[new]))
        wrong_of_all += np.sum(model.estimator_.predict(K[new]) != y[new])
        support.append(model.estimator_.n_support_)
    shares = (
        100 * classified / len(y),
        100 * wrong / max(classified, 1),
        100 * wrong_of_all / len(y),
    )
    return "{:.0f}, {:.1f} ({:.0f}); {:.1f}".format(*shares[:2], np.mean(support), shares[2])


def run():
    epsilons = list(PAPER)
    rows = [["Cornell in the paper (350 pages)", *PAPER.values()]]
    for name in UNIVERSITIES:
        K, y, chosen = pages(name)
        for who, columns in (("these", chosen), ("all", np.ones_like(chosen))):
            label = f"{name.capitalize()}, {len(y)} pages, {y.sum()} students; links from {who}"
            rows.append([label, *(cell(K[:, columns], y, epsilon) for epsilon in epsilons)])
            print(*rows[-1], sep="\t", flush=True)
    return markdown_table(["epsilon", *map(str, epsilons)], rows)


if __name__ == "__main__":
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    write_section("abstain", f"{environment()}\n\n{run()}")
