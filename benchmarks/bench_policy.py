"""What every tuned number of the choice is worth: each halved and doubled, candidates left out.

The errors are those of PSVC() and PSVR() on every second table of `data/tabular` (half 1) and on
the others (half 2): where both do not agree, a difference is chance.

    python benchmarks/bench_policy.py [--only patience turned]
"""

import argparse
import warnings
from dataclasses import fields

import numpy as np
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from psvm import PSVC, PSVR
from psvm.choice import POLICY
from psvm.estimators import _candidates
from report import environment, markdown_table, write_section
from tables import KINDS, judged, mean_of, names, split


def changes():
    """Names of changes, and functions that make and undo them."""
    yield "as it is", lambda: None, lambda: None
    for field in fields(POLICY):
        value = getattr(POLICY, field.name)
        for factor in (0.5, 2.0):
            new = type(value)(value * factor)

            def set_to(number, name=field.name):
                object.__setattr__(POLICY, name, number)

            yield (
                f"{field.name} = {new:g}",
                lambda new=new, set_to=set_to: set_to(new),
                lambda value=value, set_to=set_to: set_to(value),
            )
    every = _candidates.CANDIDATES
    for left_out in every:
        fewer = tuple(candidate for candidate in every if candidate != left_out)

        def use(candidates):
            _candidates.CANDIDATES = candidates

        yield (
            f"without {left_out[0]} {left_out[1]:g}",
            lambda fewer=fewer: use(fewer),
            lambda: use(every),
        )


def errors_of(sets, units):
    """Mean errors of both halves for each kind, and the processor time."""
    found, took = {}, 0.0
    for place, name in enumerate(sets):
        kind, *parts = split(name, 0)
        model = PSVR() if kind == "numbers" else PSVC()
        error, _, seconds = judged(model, kind, *parts)
        found.setdefault((kind, place % 2), []).append((error, units[name]))
        took += seconds
    return {key: mean_of(key[0], *zip(*pairs, strict=True)) for key, pairs in found.items()}, took


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    rows, sets = [], names()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        units = {}
        for name in sets:
            kind, *parts = split(name, 0)
            units[name] = judged(SVR() if kind == "numbers" else SVC(), kind, *parts)[0]
        for what, make, undo in changes():
            word = what.split()[0]
            if options.only is not None and word not in ("as", *options.only):
                continue
            make()
            try:
                means, took = errors_of(sets, units)
            finally:
                undo()
            cells = [
                f"{means.get((kind, half), np.nan):.{3 if kind == 'numbers' else 1}f}"
                for half in (0, 1)
                for kind in KINDS
            ]
            rows.append([what, *cells, f"{took:.1f}"])
            print(*rows[-1], sep="  ", flush=True)
    header = ["", *(f"{kind} ({half})" for half in ("half 1", "half 2") for kind in KINDS)]
    text = markdown_table([*header, "seconds"], rows)
    write_section("policy", f"{text}\n\n{environment()}")


if __name__ == "__main__":
    main()
