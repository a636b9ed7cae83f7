"""The method `report` of the estimators."""


class ReportMixin:
    """A report about the fitted model."""

    def report(self, X, y, path, **options):
        """Write a report about the fitted model as one HTML page that needs no network.

        Needs matplotlib: ``pip install "psvm[plot]"``.

        Parameters
        ----------
        X, y : array-like
            The data of the fit.
        path : str or path-like
            Where the page goes.
        **options
            As for `psvm.report.write_report`.

        Returns
        -------
        pathlib.Path
            Where the page is.
        """
        from .report import write_report

        return write_report(self, X, y, path, **options)
