"""What every kernel is: a small object with parameters that can be called and combined."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from .._fitted import Given
from .._parameters import Number, check_parameters
from .._validation import as_stored, check_array, kernel_values, shown

DIAGONAL_BLOCK = 64
"""Objects whose kernel values are computed together for the sake of their diagonal."""


class Kernel(BaseEstimator, ABC):
    """Base of all kernels: ``kernel(X, Z)`` is the matrix of all values ``k(x_i, z_j)``.

    A kernel states what it takes (`check_objects`), may translate objects once into the form in
    which it works (`prepare`), and gives the values of translated objects (`evaluate`). Only the
    last one must be written. Parameters are those of the constructor, as in every scikit-learn
    estimator, so that `clone` and ``GridSearchCV(PSVC(kernel=...), {"kernel__gamma": ...})`` work.

    Kernels combine: ``k1 + k2``, ``k1 * k2``, ``0.5 * k``, ``normalized(k)``.

    Examples
    --------
    >>> import numpy as np
    >>> from psvm.kernels import Kernel
    >>> class Overlap(Kernel):
    ...     '''Sum of the smaller one of each pair of entries.'''
    ...     def evaluate(self, X, Z):
    ...         return np.minimum(X[:, None], Z[None]).sum(axis=2)
    >>> Overlap()([[1, 2], [3, 0]], [[2, 2]])
    array([[3.],
           [2.]])
    >>> 0.5 * Overlap() + Overlap()
    Sum(k1=Product(k1=Constant(value=0.5), k2=Overlap()), k2=Overlap())
    """

    _fitted: ClassVar[dict] = {}
    takes_vectors: bool | None = True
    """Whether objects are rows of a matrix; else they are entries of a one-dimensional array."""
    positive_definite: bool = False
    """Whether every matrix ``kernel(X, X)`` is known to be positive semidefinite."""

    @abstractmethod
    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        """Values of all prepared objects X with all prepared objects Z, as a new array."""

    def evaluate_into(self, X: Any, Z: Any, out: np.ndarray) -> None:
        """Write the values into an array of doubles; a kernel may do so without a copy."""
        out[...] = kernel_values(self.evaluate, X, Z)

    def prepare(self, X: Any) -> Any:
        """Checked objects in the form that `evaluate` reads.

        The result has a shape with the number of objects in front and can be indexed with slices
        and with arrays of integers.
        """
        return X

    def diagonal(self, X: Any) -> np.ndarray:
        """``k(x, x)`` of prepared objects."""
        starts = range(0, X.shape[0], DIAGONAL_BLOCK)
        blocks = (X[start : start + DIAGONAL_BLOCK] for start in starts)
        values = [np.diagonal(self.evaluate(X_b, X_b)) for X_b in blocks]
        return np.concatenate(values) if values else np.empty(0)

    def check_parameters(self) -> None:
        """Raise a ValueError that names a parameter which makes no sense."""
        check_parameters(self)

    def check_objects(self, X: Any, name: str = "X") -> Any:
        """Objects as an array, or a ValueError that says what is wrong with `name`."""
        return check_array(
            name, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_min_samples=0
        )

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """Kernel values of all objects X with all objects Z.

        Parameters
        ----------
        X : objects
            Rows of an array or sparse matrix; or what else the kernel takes.
        Z : objects, default=None
            The descriptive objects; None means X.

        Returns
        -------
        ndarray of shape (number of X, number of Z)
        """
        self.check_parameters()
        X = self.check_objects(X)
        if Z is None:
            prepared = self.prepare(X)
            return kernel_values(self.evaluate, prepared, prepared, finite=True)
        Z = self.check_objects(Z, "Z")
        if self.takes_vectors and X.shape[1] != Z.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but Z has {Z.shape[1]}; they must agree."
            )
        return kernel_values(self.evaluate, self.prepare(X), self.prepare(Z), finite=True)

    def __eq__(self, other):
        same = type(other) is type(self)
        return same and self.get_params(deep=False) == other.get_params(deep=False)

    def __add__(self, other: Kernel | float) -> Sum:
        return Sum(self, _as_kernel(other)) if isinstance(other, Kernel | Real) else NotImplemented

    def __radd__(self, other: float) -> Sum:
        return Sum(_as_kernel(other), self) if isinstance(other, Real) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Product:
        if not isinstance(other, Kernel | Real):
            return NotImplemented
        return Product(self, _as_kernel(other))

    def __rmul__(self, other: float) -> Product:
        return Product(_as_kernel(other), self) if isinstance(other, Real) else NotImplemented

    def _check_fitted(self, state):
        self.check_parameters()


def _as_kernel(value):
    return value if isinstance(value, Kernel) else Constant(float(value))


class Constant(Kernel):
    """``k(x, z) = value``, for objects of any kind.

    Parameters
    ----------
    value : float, default=1.0

    Examples
    --------
    >>> from psvm.kernels import RBF
    >>> 2.0 * RBF()
    Product(k1=Constant(value=2.0), k2=RBF())
    """

    takes_vectors = None  # whatever its partner takes

    _constraints: ClassVar = {"value": Number()}

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    @property
    def positive_definite(self) -> bool:
        return self.value >= 0

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = as_stored(name, X)
        if X.ndim == 0:
            raise ValueError(f"{name} must hold several objects, got one: {shown(X)}.")
        return X

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        single = getattr(X, "dtype", None) == getattr(Z, "dtype", None) == np.float32
        dtype = np.float32 if single else np.float64
        return np.full((X.shape[0], Z.shape[0]), self.value, dtype=dtype)


class PreparedParts:
    """Several translations of the same objects, indexed together."""

    _fitted: ClassVar = {"parts": Given(), "shape": Given()}

    def __init__(self, *parts):
        self.parts = parts
        self.shape = (parts[0].shape[0],)

    def __getitem__(self, index):
        return PreparedParts(*(part[index] for part in self.parts))

    def _check_fitted(self, state):
        """Translations of equally many objects."""
        ok = isinstance(self.parts, tuple) and self.parts
        state.require(ok, "its parts are missing")
        lengths = {getattr(part, "shape", (None,))[:1] for part in self.parts}
        state.require(lengths == {self.shape}, "its parts have different lengths")


class _Pair(Kernel):
    """Two kernels of the same objects, whose values a subclass joins in place by `_join`."""

    def __init__(self, k1: Kernel, k2: Kernel) -> None:
        self.k1 = k1
        self.k2 = k2

    @property
    def takes_vectors(self) -> bool | None:
        return self._leading.takes_vectors

    @property
    def positive_definite(self) -> bool:
        return self.k1.positive_definite and self.k2.positive_definite

    @property
    def _leading(self):
        """The kernel that says what the objects are."""
        return self.k2 if self.k1.takes_vectors is None else self.k1

    def check_parameters(self) -> None:
        for kernel in (self.k1, self.k2):
            if not isinstance(kernel, Kernel):
                raise ValueError(f"k1 and k2 must be kernel objects, got {shown(kernel)}.")
            kernel.check_parameters()
        kinds = {self.k1.takes_vectors, self.k2.takes_vectors} - {None}
        if len(kinds) == 2:
            raise ValueError(
                f"k1={self.k1!r} and k2={self.k2!r} cannot be combined: only one of them takes "
                "vectors."
            )

    def check_objects(self, X: Any, name: str = "X") -> Any:
        X = self._leading.check_objects(X, name)
        if not self.takes_vectors:
            # Such kernels may ask for more than an array, for instance for an alphabet.
            for kernel in (self.k1, self.k2):
                X = kernel.check_objects(X, name)
        return X

    def prepare(self, X: Any) -> Any:
        return PreparedParts(self.k1.prepare(X), self.k2.prepare(X))

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        return self._join(
            self.k1.evaluate(X.parts[0], Z.parts[0]), self.k2.evaluate(X.parts[1], Z.parts[1])
        )

    def diagonal(self, X: Any) -> np.ndarray:
        return self._join(self.k1.diagonal(X.parts[0]), self.k2.diagonal(X.parts[1]))


class Sum(_Pair):
    """``k1(x, z) + k2(x, z)``, written ``k1 + k2``.

    Parameters
    ----------
    k1, k2 : Kernel

    Examples
    --------
    >>> from psvm.kernels import RBF, Linear
    >>> kernel = RBF(gamma=0.5) + Linear()
    >>> kernel
    Sum(k1=RBF(gamma=0.5), k2=Linear())
    >>> kernel([[1.0]], [[1.0]])
    array([[2.]])
    """

    _join = staticmethod(operator.iadd)


class Product(_Pair):
    """``k1(x, z) k2(x, z)``, written ``k1 * k2``.

    Parameters
    ----------
    k1, k2 : Kernel

    Examples
    --------
    >>> from psvm.kernels import RBF, Linear
    >>> (RBF() * Linear())([[2.0]], [[2.0]])
    array([[4.]])
    """

    _join = staticmethod(operator.imul)


class Normalized(Kernel):
    """``k(x, z) / sqrt(k(x, x) k(z, z))``: every object has similarity one with itself.

    An object with ``k(x, x) = 0`` has similarity zero with all if the kernel is positive
    definite; for other kernels it is an error, as is a negative ``k(x, x)``.

    Parameters
    ----------
    kernel : Kernel

    Examples
    --------
    >>> from psvm.kernels import Linear, normalized
    >>> normalized(Linear())([[3.0, 0.0]], [[5.0, 5.0]]).round(3)
    array([[0.707]])
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    @property
    def takes_vectors(self) -> bool | None:
        return self.kernel.takes_vectors

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    def check_parameters(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise ValueError(f"kernel must be a kernel object, got {shown(self.kernel)}.")
        self.kernel.check_parameters()

    def check_objects(self, X: Any, name: str = "X") -> Any:
        return self.kernel.check_objects(X, name)

    def prepare(self, X: Any) -> Any:
        prepared = self.kernel.prepare(X)
        squares = self.kernel.diagonal(prepared)
        wrong = squares < 0 if self.positive_definite else squares <= 0
        if wrong.any():
            i = int(np.argmax(wrong))
            raise ValueError(
                f"{self.kernel!r} cannot be normalised: k(x, x) is {squares[i]:.3g} for object "
                f"{i}. Use it as it is."
            )
        roots = np.sqrt(squares)
        inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
        return PreparedParts(prepared, inverse)

    def evaluate(self, X: Any, Z: Any) -> np.ndarray:
        K = self.kernel.evaluate(X.parts[0], Z.parts[0])
        K *= X.parts[1][:, None]
        K *= Z.parts[1]
        return K

    def diagonal(self, X: Any) -> np.ndarray:
        return (X.parts[1] > 0).astype(X.parts[1].dtype)


def normalized(kernel: Kernel) -> Normalized:
    """The kernel scaled to ``k(x, x) = 1``, see `Normalized`.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    Normalized

    Examples
    --------
    >>> from psvm.kernels import Polynomial, normalized
    >>> normalized(Polynomial(degree=2))
    Normalized(kernel=Polynomial(degree=2))
    """
    return Normalized(kernel)
