"""A place to draw."""


def new_axes(what):
    """Axes of a new figure, or an ImportError that says what would help."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(f'{what} needs matplotlib: pip install "psvm[plot]"') from error
    return pyplot.figure(layout="constrained").add_subplot()
