"""What is wrong with a model file, or cannot be in one."""


class ModelFileError(ValueError):
    """A file that is not a model file, is damaged, or comes from a newer version.

    Examples
    --------
    >>> import psvm
    >>> from psvm.persistence import ModelFileError
    >>> try:
    ...     psvm.load(__file__ if "__file__" in globals() else psvm.__file__)
    ... except ModelFileError as error:
    ...     print("refused")
    refused
    """


class CannotSave(TypeError):
    """A value that a model file cannot hold."""


class CannotMakeAgain(CannotSave):
    """An estimator of scikit-learn with more than its public attributes tell."""
