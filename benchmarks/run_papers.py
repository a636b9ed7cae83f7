"""Run the tables of the papers again and write docs/papers.md.

python benchmarks/run_papers.py             # a part of the splits
python benchmarks/run_papers.py --full      # all of them; continues where an earlier run stopped
python benchmarks/run_papers.py --only SMO  # print one paper, or one table: --only "SMO Table 1"
"""

import argparse
from pathlib import Path

from datasets import ROOT, data_dir
from papers import lecture, nips, smo, sphered, techreport  # noqa: F401 (they register tables)
from papers.runner import TABLES, Run, page
from psvm.io import atomic_write

PAPERS = ("SMO", "Report", "NIPS", "Sphered", "Lecture")
"""Their order on the page."""


def place(table):
    """Papers in their order; in each the tables before the figures, by their numbers."""
    kind, *number = table.title.split()
    number = int(number[0].rstrip(",")) if number and number[0].rstrip(",").isdigit() else 0
    return PAPERS.index(table.paper), {"Table": 0, "Figure": 1}.get(kind, 2), number


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all splits of the papers")
    parser.add_argument("--only", nargs="+", help="papers or tables; their page is printed")
    parser.add_argument("--output", type=Path, help="where the page goes (docs/papers.md)")
    parser.add_argument("--journal", type=Path, default=ROOT / "build" / "papers.jsonl")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    wanted = options.only
    tables = sorted(TABLES, key=place)
    if wanted:
        tables = [t for t in tables if {t.paper, f"{t.paper} {t.title}"} & set(wanted)]
    if not tables:
        names = ", ".join(f"{t.paper} {t.title}" for t in TABLES)
        raise SystemExit(f"--only {' '.join(wanted)}: no such table. There are: {names}")
    options.journal.parent.mkdir(parents=True, exist_ok=True)
    try:
        text = page(Run(options.full, options.journal, options.jobs), tables) + "\n"
    except KeyboardInterrupt:
        raise SystemExit(f"interrupted; the same command goes on with {options.journal}") from None
    output = options.output or (None if wanted else ROOT / "docs" / "papers.md")
    if output is None:
        print(text)
    else:
        with atomic_write(output, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
