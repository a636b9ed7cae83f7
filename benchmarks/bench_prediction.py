"""PSVC(), PSVR() and their searches beside SVMs, forests and boosted trees, on public tables.

python benchmarks/bench_prediction.py [--splits 2] [--rows 600] [--only PSVM Search SVM]
"""

import argparse
import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from psvm import PSVC, PSVCCV, PSVR, PSVRCV
from report import environment, markdown_table, write_section
from tables import KINDS, judged, mean_of, names, split

try:
    from lightgbm import LGBMClassifier, LGBMRegressor
except ImportError:
    LGBMClassifier = None

RESULTS = Path(__file__).resolve().parent.parent / "build" / "prediction.jsonl"
"""Finished sets: an interrupted run goes on from there."""


def grid(model, p):
    """A grid of 25 points and five folds, as SVMs are usually tuned."""
    gammas = np.array([0.01, 0.1, 1, 10, 100]) ** 0.75 / p
    return GridSearchCV(model, {"C": np.logspace(-1, 3, 5), "gamma": gammas}, cv=5)


def models(kind, p):
    """Fresh models by name."""
    numbers = kind == "numbers"
    found = {
        "PSVM": PSVR() if numbers else PSVC(),
        "PSVM sparse": (PSVR if numbers else PSVC)(rule="sparse"),
        "Search": PSVRCV() if numbers else PSVCCV(),
        "SVM": SVR() if numbers else SVC(),
        "SVM tuned": grid(SVR() if numbers else SVC(), p),
        "Forest": (RandomForestRegressor if numbers else RandomForestClassifier)(
            300, random_state=0
        ),
        "Linear": RidgeCV() if numbers else LogisticRegression(max_iter=2000),
    }
    if LGBMClassifier is not None:
        boosted = LGBMRegressor if numbers else LGBMClassifier
        found["LightGBM"] = boosted(n_jobs=1, verbose=-1)
    return found


def table(records, columns):
    """Means over the sets of each kind."""
    rows = []
    for name in columns:
        cells, ratios = [], []
        for kind in KINDS:
            sets = {}
            for record in records:
                if record["kind"] == kind and name in record["found"]:
                    sets.setdefault(record["set"], []).append(record["found"])
            errors, units, supports, times = ([] for _ in range(4))
            for found in sets.values():
                errors.append(np.mean([one[name][0] for one in found]))
                units.append(np.mean([one["SVM"][0] for one in found]))
                supports.append(np.mean([one[name][1] for one in found]))
                times.append(np.median([one[name][2] / one["SVM"][2] for one in found]))
            if not errors:
                cells.append("")
                continue
            support = supports[0] if np.isnan(supports).all() else np.nanmean(supports)
            digits = 3 if kind == "numbers" else 1
            objects = "" if np.isnan(support) else f" ({support:.0f})"
            cells.append(f"{mean_of(kind, errors, units):.{digits}f}{objects}")
            ratios.append(np.median(times))
        rows.append([name, *cells, "–".join(f"{r:.1f}" for r in (min(ratios), max(ratios)))])
    return markdown_table(["", *KINDS.values(), "time / SVM"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    RESULTS.parent.mkdir(exist_ok=True)
    done = {}
    if RESULTS.exists():
        for line in RESULTS.read_text().splitlines():
            record = json.loads(line)
            done[record["set"], record["split"], record["rows"]] = record
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(options.splits):
            for name in names():
                key = name, number, options.rows
                parts = partial(split, name, number, options.rows)()
                record = done.setdefault(
                    key, {"set": name, "split": number, "rows": options.rows, "found": {}}
                )
                record["kind"] = parts[0]
                new = models(parts[0], parts[1].shape[1])
                for model in new if options.only is None else ["SVM", *options.only]:
                    if model not in record["found"]:
                        record["found"][model] = judged(new[model], *parts)
                RESULTS.write_text("".join(json.dumps(r) + "\n" for r in done.values()))
    records = [r for r in done.values() if r["rows"] == options.rows]
    columns = list(dict.fromkeys(name for r in records for name in r["found"]))
    text = table(records, columns)
    print(text)
    write_section(f"prediction-{options.rows}", f"{text}\n\n{environment()}")


if __name__ == "__main__":
    main()
