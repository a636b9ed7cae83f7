"""Run the tables of the papers again and write docs/papers.md.

python benchmarks/run_papers.py             # a part of the splits
python benchmarks/run_papers.py --full      # all of them; continues where an earlier run stopped
python benchmarks/run_papers.py --only SMO  # print one paper, or one table: --only "SMO Table 1"
"""

import argparse
from pathlib import Path

from datasets import ROOT, data_dir
from papers import lecture, nips, smo, sphered, techreport  # noqa: F401 (they register tables)
from papers.runner import TABLES, CellError, Cells, Run, page
from psvm._atomic import check_writable
from psvm.io import atomic_write

PAPERS = ("SMO", "Report", "NIPS", "Sphered", "Lecture")
"""Their order on the page."""


def place(table):
    """Papers in their order; in each the tables before the figures, by their numbers."""
    kind, *number = table.title.split()
    number = int(number[0].rstrip(",")) if number and number[0].rstrip(",").isdigit() else 0
    return PAPERS.index(table.paper), {"Table": 0, "Figure": 1}.get(kind, 2), number


def at_least_one(text):
    """A number of processes."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


def parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all splits of the papers")
    parser.add_argument("--only", nargs="+", help="papers or tables; their page is printed")
    parser.add_argument("--output", type=Path, help="where the page goes (docs/papers.md)")
    parser.add_argument(
        "--journal",
        type=Path,
        default=ROOT / "build" / "papers.jsonl",
        help="the file of finished cells (build/papers.jsonl)",
    )
    parser.add_argument("--jobs", type=at_least_one, default=2, help="processes")
    options = parser.parse_args(arguments)
    if options.output is None and not options.only:
        options.output = ROOT / "docs" / "papers.md"
    return options


def chosen_tables(only):
    """All tables in their order, or those that ``--only`` names."""
    tables = sorted(TABLES, key=place)
    if not only:
        return tables
    unknown = set(only).difference(*({t.paper, f"{t.paper} {t.title}"} for t in tables))
    if unknown:
        names = ", ".join(f"{t.paper} {t.title}" for t in tables)
        raise SystemExit(f"--only {' '.join(sorted(unknown))}: no such table. There are: {names}")
    return [t for t in tables if {t.paper, f"{t.paper} {t.title}"} & set(only)]


def opened(journal):
    """The finished cells."""
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        return Cells(journal)
    except ValueError as error:  # it names the option
        raise SystemExit(str(error)) from None
    except OSError as error:
        raise SystemExit(f"--journal: {error}") from None


def main(arguments=None):
    options = parse(arguments)
    tables = chosen_tables(options.only)
    try:
        check_writable(options.output)
    except OSError as error:
        raise SystemExit(f"--output: {error}") from None
    if data_dir() is None:
        raise SystemExit("skipped: no benchmark data; set PSVM_DATA to its folder")
    try:
        with opened(options.journal) as journal:
            text = page(Run(options.full, journal, options.jobs), tables) + "\n"
    except CellError as error:
        raise SystemExit(f"{error}\nThe finished cells are in {options.journal}.") from None
    except KeyboardInterrupt:
        raise SystemExit(f"interrupted; the same command goes on with {options.journal}") from None
    if options.output is None:
        print(text)
    else:
        with atomic_write(options.output, "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
