"""Kernels as NumPy expressions of X and Z, with the functions that these call."""

from .. import kernels as k

_SQUARES = '''

def squares(X, Z):
    """Squared distances of all rows of X from all rows of Z."""
    return np.stack([((X - z) ** 2).sum(axis=1) for z in Z], axis=1)
'''
_SUMS = '''

def sums(X, Z):
    """Sums of absolute differences of all rows of X and all rows of Z."""
    return np.stack([np.abs(X - z).sum(axis=1) for z in Z], axis=1)
'''
_NORMALIZED = '''

def normalized(kernel, X, Z):
    """kernel(X, Z) divided by the roots of kernel(x, x) and kernel(z, z)."""
    x = np.array([kernel(x[None], x[None])[0, 0] for x in X])
    z = np.array([kernel(z[None], z[None])[0, 0] for z in Z])
    roots = np.sqrt(np.multiply.outer(x, z))
    return np.divide(kernel(X, Z), roots, out=np.zeros_like(roots), where=roots > 0)
'''


_TOTALS = '''

def totals(X, Z):
    """Sums of all entries of a row of X and of one of Z."""
    return X.sum(axis=1)[:, None] + Z.sum(axis=1)
'''
_SHARES = '''

def shares(part, whole):
    """part / whole, 1 where the whole is 0."""
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)
'''
_TANIMOTO = '''

def tanimoto(X, Z):
    """Products over squares of all rows of X and all rows of Z."""
    K = X @ Z.T
    return shares(K, (X**2).sum(axis=1)[:, None] + (Z**2).sum(axis=1) - K)
'''
_CHI2 = '''

def chi2(X, Z):
    """Sums of (x - z)^2 / (x + z) of all rows of X and all rows of Z, without terms 0 / 0."""
    def sums_with(z):
        return np.divide((X - z) ** 2, X + z, out=np.zeros(X.shape), where=X + z > 0).sum(axis=1)

    return np.stack([sums_with(z) for z in Z], axis=1)
'''
_CUMULATED = '''

def cumulated(X):
    """Cumulative sums of rows that are divided by their sum."""
    return np.cumsum(X / X.sum(axis=1, keepdims=True), axis=1)
'''


def kernel_functions(body):
    """The functions that an expression calls."""
    found = {
        "squares(": _SQUARES,
        "sums(": _SUMS,
        "normalized(": _NORMALIZED,
        "totals(": _TOTALS,
        "shares(": _SHARES,
        "tanimoto(": _SHARES + _TANIMOTO,
        "chi2(": _CHI2,
        "cumulated(": _CUMULATED,
    }
    return "".join(text for call, text in found.items() if call in body)


def expression(kernel):
    """A kernel as a NumPy expression of X and Z."""
    kind = type(kernel)
    if kind is k.Sum:
        return f"({expression(kernel.k1)} + {expression(kernel.k2)})"
    if kind is k.Product:
        return f"({expression(kernel.k1)} * {expression(kernel.k2)})"
    if kind is k.Normalized:
        return f"normalized(lambda X, Z: {expression(kernel.kernel)}, X, Z)"
    if kind is k.Matern:
        return _matern(kernel)
    expressions = {
        k.Linear: "(X @ Z.T)",
        k.Polynomial: "({gamma} * (X @ Z.T) + {coef0}) ** {degree}",
        k.RBF: "np.exp(-{gamma} * squares(X, Z))",
        k.Laplacian: "np.exp(-{gamma} * sums(X, Z))",
        k.Plummer: "(np.sqrt(squares(X, Z)) + {rho}) ** -{zeta}",
        k.Sine: "np.sin({theta} * np.sqrt(squares(X, Z)))",
        k.Constant: "np.full((len(X), len(Z)), {value})",
        k.Tanh: "np.tanh({gamma} * (X @ Z.T) + {coef0})",
        k.Cosine: "normalized(lambda X, Z: X @ Z.T, X, Z)",
        k.RationalQuadratic: "(1.0 + {gamma} / {exponent} * squares(X, Z)) ** -{exponent}",
        k.Tanimoto: "tanimoto(X, Z)",
        k.Jaccard: "shares(totals(X, Z) - sums(X, Z), totals(X, Z) + sums(X, Z))",
        k.HistogramIntersection: "(0.5 * (totals(X, Z) - sums(X, Z)))",
        k.AdditiveChi2: "(-chi2(X, Z))",
        k.Chi2: "np.exp(-{gamma} * chi2(X, Z))",
        k.Wasserstein: "np.exp(-{gamma} * sums(cumulated(X), cumulated(Z)))",
    }
    if kind not in expressions:
        raise TypeError(f"The kernel {kernel!r} cannot be written as NumPy code.")
    p = {name: repr(float(v)) for name, v in kernel.get_params(deep=False).items()}
    return expressions[kind].format(**p)


def _matern(kernel):
    """The expression of a Matérn kernel without Bessel functions."""
    polynomials = {0.5: "1.0", 1.5: "(1.0 + {t})", 2.5: "(1.0 + {t} + {t} ** 2 / 3.0)"}
    if kernel.nu not in polynomials:
        raise TypeError(
            f"The kernel {kernel!r} cannot be written as NumPy code; nu = 0.5, 1.5 or 2.5 can."
        )
    t = f"np.sqrt({4.0 * kernel.nu * kernel.gamma!r} * squares(X, Z))"
    return f"({polynomials[kernel.nu].format(t=t)} * np.exp(-{t}))"
