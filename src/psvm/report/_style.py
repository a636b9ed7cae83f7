"""How plots look: in colours that all can tell apart, and with the same bytes every time."""

import io

from .._plotting import check_matplotlib

BLUE, ORANGE, GREEN, VERMILLION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, BLACK = "#CC79A7", "#56B4E9", "#000000"
PALETTE = (BLUE, ORANGE, GREEN, VERMILLION, PURPLE, SKY, BLACK)
"""The colours of Okabe and Ito, without yellow, which is too pale for lines."""
DASHES = ("-", "--", "-.", ":")
"""Lines differ by more than their colour."""
GREY = "#767676"
SEQUENTIAL = "cividis"
"""A colour map whose lightness says the same to everybody."""

RC = {
    "axes.edgecolor": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "psvm",
}


def draw(paint, size=(7.0, 3.6), format="svg"):
    """The bytes of a picture that ``paint(ax)`` makes, without touching pyplot's figures."""
    matplotlib = check_matplotlib("The report")
    from cycler import cycler
    from matplotlib.figure import Figure

    buffer = io.BytesIO()
    with matplotlib.rc_context({**RC, "axes.prop_cycle": cycler(color=PALETTE)}):
        figure = Figure(figsize=size, layout="constrained")
        paint(figure.add_subplot())
        dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format)
        figure.savefig(buffer, format=format, metadata=dates, dpi=150)
    return buffer.getvalue()


def shorten(text, most=28):
    """A text that is not too long."""
    text = " ".join(str(text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def label(text, most=28):
    """A name for a plot, in which a dollar sign is a dollar sign."""
    return shorten(text, most).replace("$", r"\$")
