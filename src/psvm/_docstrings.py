"""Paragraphs about parameters and attributes that several classes share, each written once.

A class docstring has a line such as ``{gamma, degree}`` in their place, and `document` fills it in.
"""

import inspect
import re
from collections import ChainMap

PLACEHOLDER = re.compile(r"^( *)\{(\w+(?:, \w+)*)\}$", re.MULTILINE)
"""Names in braces that have a line to themselves."""


def paragraphs(text):
    """The paragraphs of a numpydoc section as a dictionary.

    The keys are the names at the beginning of a paragraph, such as ``rho`` and ``zeta`` of
    ``rho, zeta : float``.
    """
    found = {}
    for paragraph in re.split(r"\n(?=\S)", inspect.cleandoc(text)):
        names = re.match(r"\w+(, \w+)*", paragraph)[0]
        found |= dict.fromkeys(names.split(", "), paragraph)
    return found


def document(*texts, **words):
    """Fill shared paragraphs into the docstring of a class.

    Parameters
    ----------
    *texts : dict of str to str
        Paragraphs by name, from `paragraphs`; the first text that has a name counts, and the last
        one is `SHARED`.
    **words : str
        What ``{word}`` means within the docstring and its paragraphs.

    Returns
    -------
    callable
        The decorator.
    """
    known = ChainMap(*texts, SHARED)

    def fill(match):
        indent, names = match[1], match[2].split(", ")
        chosen = dict.fromkeys(known[name] for name in names)  # those of two names only once
        lines = "\n".join(chosen).splitlines()
        return "\n".join(indent + line if line else "" for line in lines)

    def decorate(cls):
        if cls.__doc__ is not None:  # as with python -OO
            text = PLACEHOLDER.sub(fill, cls.__doc__)
            for word, meaning in words.items():
                text = text.replace("{" + word + "}", meaning)
            cls.__doc__ = text
        return cls

    return decorate


SHARED = paragraphs("""
gamma : {"scale", "auto"} or float, default="scale"
    Coefficient of "rbf", "poly", "sigmoid", "laplacian", "matern", "rational_quadratic", "chi2",
    "wasserstein", "dtw" and "global_alignment". "scale" is ``1 / (n_features * X.var())``, "auto"
    is ``1 / n_features``.
degree : float, default=3
    Degree of "poly".
coef0 : float, default=0.0
    Constant of "poly" and "sigmoid".
theta : float, default=1.0
    Frequency of "sine", ``sin(theta ||x - z||)``.
rho, zeta : float, default=1.0
    Offset and exponent of "plummer", ``(||x - z|| + rho)^(-zeta)``.
decision_function_shape : {"ovr", "ovo"}, default="ovr"
    Form of the decision values of more than two classes.
verbose : bool, default=False
    Show progress with the time left on stderr, if it takes more than two seconds.
classes_ : ndarray of shape (n_classes,)
    The class labels.
n_features_in_ : int
    Number of columns of X.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the columns of X, if it has only string names.
""")

DEFINITE_KERNEL = paragraphs("""
kernel : {"rbf", "linear", "poly", "sigmoid", "cosine", "laplacian", "matern", \
"rational_quadratic", "plummer", "sine", "tanimoto", "jaccard", "histogram_intersection", \
"chi2", "additive_chi2", "wasserstein", "dtw", "global_alignment", "precomputed"}, Kernel or \
callable, default="rbf"
    The kernel of vectors, an object of `psvm.kernels`, a callable ``kernel(X, Z)`` that returns
    the matrix of all values, or "precomputed". Its matrix must be positive semidefinite.
""")
"""The kernel of machines that need a Gram matrix."""
