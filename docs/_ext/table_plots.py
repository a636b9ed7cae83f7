"""The directive ``table-plot``: a bar chart of columns of a table that stands on the same page.

    :::{table-plot} speed
    :label: models and data
    :values: ratio
    :axis: time / time of the SVM
    :log:
    :::

takes the first table between the marks ``<!-- begin speed -->`` and ``<!-- end speed -->``, so
that a picture always shows the numbers of the table. Cells that hold no number are left out. A
section without a table, which its command has not written yet, has no picture.
"""

import re
from pathlib import Path
from typing import ClassVar

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from docutils import nodes
from docutils.parsers.rst import Directive, directives

# Okabe and Ito's colours, which colour-blind people can tell apart, and hatches for print.
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#999999"]
HATCHES = ["", "//", "..", "xx", "\\\\", "oo", "--"]


def tables(text, section):
    """Header and rows of the tables between the marks of a section."""
    found = re.search(rf"<!-- begin {section} -->(.*?)<!-- end {section} -->", text, re.S)
    if not found:
        raise ValueError(f"there is no section {section!r} on this page")
    for lines in re.findall(r"(?:^\|.*\n?)+", found[1], re.M):
        cells = [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in lines.strip().splitlines()
        ]
        yield cells[0], cells[2:]


def number(cell):
    """The first number of a cell, or None; "> 5 s" is no number."""
    found = re.match(r"[*\s]*([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)", cell)
    return float(found[1].replace(",", "")) if found else None


def draw(rows, labels, axis, log, path):
    """Horizontal bars: one group a row, one colour a column."""
    names, values = zip(*rows, strict=True)
    height = 0.8 / len(labels)
    figure, axes = plt.subplots(
        figsize=(7.2, max(1.6, (0.15 + 0.17 * len(labels)) * len(rows) + 0.9)), layout="constrained"
    )
    for j, label in enumerate(labels):
        places = [i + j * height for i in range(len(rows))]
        widths = [row[j] if row[j] is not None else 0.0 for row in values]
        axes.barh(
            places,
            widths,
            height,
            label=label,
            color=COLOURS[j % 7],
            hatch=HATCHES[j % 7],
            edgecolor="white",
            linewidth=0.4,
        )
    axes.set_yticks([i + 0.4 - height / 2 for i in range(len(rows))], names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel(axis)
    axes.margins(y=0.01)
    if "1: equal" in axis:
        axes.axvline(1.0, color="black", lw=1)
    if log:
        axes.set_xscale("log")
    if len(labels) > 1:
        axes.legend(fontsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", alpha=0.3)
    figure.savefig(path)
    plt.close(figure)


class TablePlot(Directive):
    """See the docstring of the module."""

    required_arguments = 1
    option_spec: ClassVar = {
        "label": directives.unchanged_required,
        "values": directives.unchanged_required,
        "axis": directives.unchanged,
        "log": directives.flag,
        "table": directives.nonnegative_int,
        "only": directives.unchanged,
    }

    def run(self):
        """The picture as an image node."""
        env = self.state.document.settings.env
        section = self.arguments[0]
        source = Path(env.doc2path(env.docname))
        found = list(tables(source.read_text(), section))
        if not found:
            return []
        header, lines = found[self.options.get("table", 0)]
        labels = [name.strip() for name in self.options["values"].split(";")]
        columns = [header.index(name) for name in labels]
        keys = [header.index(name.strip()) for name in self.options["label"].split(";")]
        rows = []
        for line in lines:
            name = ", ".join(line[k].strip("*") for k in keys if line[k])
            values = [number(line[c]) for c in columns]
            if any(v is not None for v in values) and re.search(self.options.get("only", ""), name):
                rows.append((name, values))
        folder = Path(env.app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"table-{section}-{'-'.join(map(str, columns))}.svg"
        axis = self.options.get("axis", labels[0])
        draw(rows, labels, axis, "log" in self.options, path)
        depth = env.docname.count("/")
        up = "../" * depth
        picture = nodes.raw(
            "",
            f'<img class="table-plot" loading="lazy" src="{up}_images/{path.name}" '
            f'alt="Bar chart of {axis}: the numbers stand in the table.">',
            format="html",
        )
        env.note_dependency(str(source))
        return [picture]


def setup(app):
    """Add the directive."""
    app.add_directive("table-plot", TablePlot)
    return {"parallel_read_safe": False}
