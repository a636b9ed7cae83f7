"""Options that several commands share."""

import functools

import click

from . import _settings

FILE = click.Path(exists=True, dir_okay=False)
OUTPUT = click.Path(dir_okay=False)
KERNELS = ("auto", "rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "matern",
           "rational_quadratic", "plummer", "sine", "tanimoto", "jaccard", "histogram_intersection",
           "chi2", "additive_chi2", "wasserstein", "dtw", "global_alignment", "precomputed",
           "dyadic", "spectrum")  # fmt: skip
data = click.argument("data", type=FILE)


def _all(*options):
    """Several options as one decorator, shown in this order."""

    def decorate(function):
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def examples(*lines):
    """The epilog of a command: lines as they are typed."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


class Epsilon(click.ParamType):
    """A number of at least 0, "auto", "cv" or "aicc"."""

    name = "NUMBER|auto|cv|aicc"

    def convert(self, value, param, ctx):
        """The value as a number or a rule."""
        if value in ("auto", "cv", "aicc") or isinstance(value, float):
            return value
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number < float("inf"):
            self.fail(
                f"{value!r} is not a number of at least 0, 'auto', 'cv' or 'aicc'.", param, ctx
            )
        return number


class Gamma(click.ParamType):
    """A positive number, "scale" or "auto"."""

    name = "NUMBER|scale|auto"

    def convert(self, value, param, ctx):
        """The value as a number or a rule."""
        if value in ("scale", "auto") or isinstance(value, float):
            return value
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            self.fail(f"{value!r} is not a number above 0, 'scale' or 'auto'.", param, ctx)
        return number


def _types(ctx, param, pairs):
    """Check pairs such as "visit=date"."""
    kinds = ("number", "category", "date", "identifier", "text", "ignored")
    for pair in pairs:
        name, sign, kind = pair.rpartition("=")
        if not sign or not name or kind not in kinds:
            raise click.BadParameter(f"{pair!r} is not a column and one of {', '.join(kinds)}.")
    return pairs


reading = _all(
    click.option("--target-file", type=FILE, help="A file that holds the target."),
    click.option("--transpose", is_flag=True, help="The samples are columns (genes x samples)."),
    click.option("--header/--no-header", default=None, help="Is there a header? [detected]"),
    click.option("--row-names/--no-row-names", default=None,
                 help="Does the first column name the rows? [detected]"),
    click.option("--delimiter", default="auto", help="The delimiter of the cells. [detected]"),
    click.option("--decimal", default="auto", help="The decimal sign. [detected]"),
    click.option("--encoding", default="auto", help="The encoding of the text. [detected]"),
    click.option("--format", "format", default="auto",
                 help="csv, xlsx, svmlight, npy, npz, mtx, parquet, feather, fasta or h5ad. "
                 "[detected]"),
    click.option("--sheet", metavar="NAME|NUMBER",
                 help="The sheet of an Excel file, numbered from 1. [the first non-empty one]"),
    click.option("--skip-lines", type=click.IntRange(0), metavar="LINES",
                 help="Lines above the header, such as a title. [detected]"),
    click.option("--missing", type=click.Choice(["error", "drop", "impute"]), default="error",
                 show_default=True, help="Missing cells are an error, their rows are left out, or "
                 "they are filled with the median or the most frequent level of the column."),
    click.option("--na-values", multiple=True, metavar="MARKER",
                 help="Another marker of missing values, in addition to those of pandas "
                 "(NA, NaN, null, ...); repeatable."),
    click.option("--default-na/--no-default-na", "keep_default_na", default=True,
                 show_default=True, help="Use pandas' markers of missing values?"),
    click.option("--categorical", type=click.Choice(["auto", "error", "onehot", "drop"]),
                 default="auto", show_default=True, help="Columns of words are one-hot encoded if "
                 "they have few levels, are an error, are always encoded, or are left out."),
    click.option("--type", "types", multiple=True, metavar="COLUMN=TYPE", callback=_types,
                 help="The type of a column: number, category, date, identifier, text or ignored; "
                 "repeatable. [detected]"),
    click.option("--ignore", multiple=True, metavar="COLUMN",
                 help="Leave out a column; repeatable."),
)  # fmt: skip

target = click.option("--target", help="Name or number of the column to be predicted.")

modelling = _all(
    click.option("--task", type=click.Choice(["auto", "classification", "regression"]),
                 default="auto", show_default=True, help="The kind of target."),
    click.option("--kernel", type=click.Choice(KERNELS), default="auto", show_default=True,
                 help="How rows are described. dyadic: by the columns as they are; precomputed: "
                 "the matrix holds relations among the rows; spectrum: sequences by their words."),
    click.option("--distances", is_flag=True,
                 help="A square matrix holds distances: similarities are made of them."),
    click.option("--epsilon", type=Epsilon(), default="auto", show_default=True,
                 help="Correlation threshold; a larger one gives fewer support objects."),
    click.option("-C", "--bound", "C", type=click.FloatRange(0, min_open=True),
                 default=float("inf"), show_default=True, help="Bound of the variables."),
    click.option("--gamma", type=Gamma(), default="scale", show_default=True,
                 help="Width parameter of rbf, laplacian, poly and other kernels that have one."),
    click.option("--class-weight", type=click.Choice(["balanced"]),
                 help="balanced: each class has the same weight, however few rows it has. [none]"),
    click.option("--scale/--no-scale", default=None,
                 help="Standardise the columns? [for kernels of vectors]"),
)  # fmt: skip

probability = click.option("--probability", is_flag=True,
                           help="Calibrate class probabilities for psvm predict.")  # fmt: skip

folds = click.option("--folds", type=click.IntRange(2), default=5, show_default=True,
                     help="Number of folds of the cross-validation.")  # fmt: skip

positive = click.option("--positive", metavar="CLASS",
                        help="The class that sensitivity, AUC and average precision are about. "
                        "[the rarer one of two]")  # fmt: skip

memory = click.option("--memory", type=click.FloatRange(0, min_open=True), metavar="MB",
                      help="Read the rows in blocks of this size.")  # fmt: skip

min_rows = click.option("--min-rows", type=click.IntRange(1), default=20, show_default=True,
                        help="Do not share means and sums over fewer rows.")  # fmt: skip

general = _all(
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
                 help="Seed of all random choices."),
    click.option("--jobs", type=int, default=1, show_default=True,
                 help="Number of processes; -1: all processors."),
)  # fmt: skip

talking = _all(
    click.option("--json", is_flag=True, help="Print the result as JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but errors (and --json)."),
    click.option("-v", "--verbose", is_flag=True,
                 help="Print choices and progress even if the output is piped."),
    click.option("--config", type=FILE, is_eager=True, expose_value=True, callback=_settings.load,
                 help="Read the settings from a TOML file that an earlier run has written."),
)  # fmt: skip


def runs(function):
    """Give the command a `Run` in place of its parameters and return the exit code."""

    @click.pass_context
    @functools.wraps(function)
    def wrapped(ctx, **_):
        from ._run import Run

        run = Run(ctx)
        function(run)
        return run.finish()

    return wrapped
