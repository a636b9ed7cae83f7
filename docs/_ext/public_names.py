"""Writes the pages of the reference: a table of every public name of each room, with its page."""

import importlib
import inspect
from pathlib import Path

ROOMS = {
    "psvm": "The names that most people need",
    "psvm.estimators": "PSVC and PSVR, and fits from sums of rows",
    "psvm.choice": "How kernels and epsilon are chosen",
    "psvm.model_selection": "Search parameters, leave rows out",
    "psvm.selection": "Select features and genes",
    "psvm.selection.rankings": "Rankings to compare with",
    "psvm.kernels": "Kernels of vectors and of sequences",
    "psvm.preprocessing": "Distances and similarities of relation matrices",
    "psvm.sphered": "The Sphered SVM",
    "psvm.comparators": "Kernel Fisher discriminant and least-squares SVM",
    "psvm.evaluation": "Cross-validation, tests, ROC bands, abstention",
    "psvm.report": "Displays and the HTML report",
    "psvm.io": "Read, check and write data files",
    "psvm.persistence": "Model files and exports",
    "psvm.solvers": "Solve one problem, follow a path",
    "psvm.problem": "Objective, gradient, KKT violation, duality gap",
    "psvm.matrix": "The data matrix as a protocol, moments of rows",
}


def names(room):
    """The public functions and classes of a room, and those of them that `psvm` has too."""
    module, top = importlib.import_module(room), importlib.import_module("psvm")
    public = sorted(module.__all__, key=str.lower)
    public = [name for name in public if not inspect.ismodule(getattr(module, name))]
    also = [] if module is top else [name for name in public if name in top.__all__]
    return [name for name in public if name not in also], also


def page(room, title):
    """One page: what the room says of itself and the table of its names."""
    module = importlib.import_module(room)
    heading = f"{room}: {title}"
    lines = [heading, "=" * len(heading), "", f".. currentmodule:: {room}", ""]
    lines += [inspect.cleandoc(module.__doc__ or ""), ""]
    here, also = names(room)
    if here:
        lines += [".. autosummary::", "   :toctree: generated/", "   :nosignatures:", ""]
        lines += [f"   {name}" for name in here] + [""]
    if also:
        links = ", ".join(f":py:obj:`psvm.{name}`" for name in also)
        lines += [f"The same objects as in :doc:`psvm <psvm>`: {links}.", ""]
    return "\n".join(lines)


def write_pages(folder):
    """Write a page for each room into a folder; pages that are as they should be stay untouched."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for room, title in ROOMS.items():
        place, text = folder / f"{room}.rst", page(room, title)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)
