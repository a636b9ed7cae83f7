"""matplotlib, which is an extra: imported when something is drawn."""

from ._validation import shown


def check_matplotlib(caller):
    """Import matplotlib or say how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(f'{caller} needs matplotlib: pip install "psvm[plot]".') from error
    return matplotlib


def new_axes(ax, caller):
    """The given axes, or those of a new figure."""
    check_matplotlib(caller)
    if ax is not None:
        from matplotlib.axes import Axes

        if not isinstance(ax, Axes):
            raise TypeError(f"ax must be matplotlib Axes, got {shown(ax)}.")
        return ax
    from matplotlib import pyplot

    return pyplot.figure(layout="constrained").add_subplot()
