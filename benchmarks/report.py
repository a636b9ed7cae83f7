"""Tables, the description of the machine, and the place of the results in docs/benchmarks/."""

import datetime
import os
import platform
import re
from pathlib import Path

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_info

import psvm

PAGES = Path(__file__).resolve().parent.parent / "docs" / "benchmarks"


def environment():
    """One paragraph: date, processor, threads and versions."""
    processor = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as lines:
            names = re.findall(r"model name\s*:\s*(.*)", lines.read())
            processor = names[0] if names else processor
    threads = max((pool["num_threads"] for pool in threadpool_info()), default=1)
    return (
        f"{datetime.date.today().isoformat()}; {processor}, {os.cpu_count()} cores, BLAS threads "
        f"{threads}; Python {platform.python_version()}, psvm {psvm.__version__}, NumPy "
        f"{numpy.__version__}, SciPy {scipy.__version__}, scikit-learn {sklearn.__version__}."
    )


def markdown_table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def write_section(name, text):
    """Replace the section of this name, on the page of docs/benchmarks/ that has it."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    (page,) = (page for page in PAGES.glob("*.md") if begin in page.read_text())
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")
