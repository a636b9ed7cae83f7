# cython: language_level=3, boundscheck=False, wraparound=False
# cython: cdivision=True, initializedcheck=False
"""What the rows of a problem mean to its solutions: residuals and leverages.

At a solution with the free variables A let Z be the columns of A of the standardised matrix and
``M = (Z'Z)^-1``. The leverage of row i is ``z_i'M z_i``; where column a of A belongs to row a,
``M_aa`` and ``(M z_a)_a`` say what it means that the column leaves with its row. And the sigmoids
that turn values of rows into the probabilities of two classes.

Contract: arrays of doubles with the shapes and orders that are named; nothing is checked.
"""

from libc.math cimport exp, fabs, log1p, sqrt, INFINITY
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, dtrmm
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

import numpy as np


def influences(
    const double[::1, :] K, const Py_ssize_t[::1] place, const double[:, :] Q,
    const Py_ssize_t[::1] used, const double[::1] y, const double[::1] alpha, double C,
    const Py_ssize_t[::1] own,
):
    """Influences of the rows on a solution.

    Parameters
    ----------
    K : of shape (L, at least P)
        Rows of the standardised matrix, by columns.
    place : of shape (P,)
        The columns of K that the variables belong to.
    Q : of shape (at least P, at least P)
        ``K'K`` of all rows, symmetric.
    used : of shape (P,)
        The rows and columns of Q that the variables belong to.
    y : of shape (L,)
        The centred target of the rows.
    alpha : of shape (P,)
        The variables, none of them 0.
    C : double
        Variables at +-C are not free.
    own : of shape (P,)
        The row that each column belongs to; -1 if it is not among these.

    Returns
    -------
    residuals, leverages : ndarrays of shape (L,)
        ``y - K alpha`` and ``z'M z``, infinity if the free columns depend on each other.
    diagonals, crossings : ndarrays of shape (P,)
        ``M_aa`` and ``(M z_a)_a`` of the free variables whose rows are there; else 0.
    """
    cdef Py_ssize_t L = K.shape[0], P = alpha.shape[0], j, n = 0
    for j in range(P):
        n += fabs(alpha[j]) < C
    residuals, leverages = np.array(y), np.zeros(L)
    diagonals, crossings = np.zeros(P), np.zeros(P)
    cdef double[::1] residuals_ = residuals, leverages_ = leverages
    cdef double[::1] diagonals_ = diagonals, crossings_ = crossings
    cdef double[::1] X = np.empty(max(L * n, 1)), A = np.empty(max(n * n, 1))
    cdef Py_ssize_t[::1] free = np.empty(max(n, 1), dtype=np.intp)
    cdef double a
    cdef int rows = <int> L, one = 1
    with nogil:
        n = 0
        for j in range(P):
            a = -alpha[j]
            daxpy(&rows, &a, <double*> &K[0, place[j]], &one, &residuals_[0], &one)
            if fabs(alpha[j]) < C:
                free[n] = j
                n += 1
        if not _factorise(Q, used, &free[0], n, &A[0]):
            for j in range(L):
                leverages_[j] = INFINITY
        elif n:
            _at_one(
                K, place, &free[0], n, &X[0], &A[0], &leverages_[0], &diagonals_[0],
                &crossings_[0], own,
            )
    return residuals, leverages, diagonals, crossings


cdef bint _factorise(
    const double[:, :] Q, const Py_ssize_t[::1] used, const Py_ssize_t* free, Py_ssize_t n,
    double* A,
) noexcept nogil:
    # A = Cholesky factor of Q of the free ones, the lower triangle; whether there is one
    cdef Py_ssize_t k, p
    cdef int size = <int> n, info = 0
    for k in range(n):
        for p in range(k, n):
            A[p + k * n] = Q[used[free[k]], used[free[p]]]
    if n:
        dpotrf("L", &size, A, &size, &info)
    for k in range(n):
        if info == 0 and A[k + k * n] * A[k + k * n] <= DEPENDENT:
            info = 1
    return info == 0


cdef double DEPENDENT = 1e-12  # squared distance of a column of norm one from the others


cdef void _at_one(
    const double[::1, :] K, const Py_ssize_t[::1] place, const Py_ssize_t* free, Py_ssize_t n,
    double* X, double* A, double* leverages, double* diagonals, double* crossings,
    const Py_ssize_t[::1] own,
) noexcept nogil:
    cdef Py_ssize_t i, k, p, L = K.shape[0]
    cdef int rows = <int> L, size = <int> n, info
    cdef double unit = 1, x, total, crossing
    for k in range(n):
        memcpy(X + k * L, &K[0, place[free[k]]], L * sizeof(double))
    # X = K[:, free] @ inv(A).T: products take less time than solves, and the inverse is needed
    dtrtri("L", "N", &size, A, &size, &info)
    dtrmm("R", "L", "T", "N", &rows, &size, &unit, A, &size, X, &rows)
    for k in range(n):
        for i in range(L):
            x = X[i + k * L]
            leverages[i] += x * x
    for p in range(n):
        if own[free[p]] < 0:
            continue
        total = crossing = 0
        for k in range(p, n):
            x = A[k + p * n]
            total += x * x
            crossing += x * X[own[free[p]] + k * L]
        diagonals[free[p]] = total
        crossings[free[p]] = crossing


cdef enum:
    STEPS = 60    # of Newton's method
    HALVINGS = 40

# For each unit of weight
cdef double SETTLED = 1e-20   # loss that the last step of Newton's method gains
cdef double ROUNDING = 1e-15  # loss that is rounding error

cdef double FLAT = 1e-13      # spread of decisions, beside their size, that is rounding error


def sigmoids(
    const double[:, ::1] decisions, const double[::1] targets, const double[::1] weights,
    double limit,
):
    """Fit a sigmoid to each of several rows of decision values.

    The probability of the second class is ``1 / (1 + exp(-slope (f - threshold)))``, of largest
    likelihood for weighted targets between 0 and 1.

    Parameters
    ----------
    decisions : of shape (m, L)
    targets, weights : of shape (L,)
        Entries without weight take no part, whatever their decision.
    limit : double
        Decisions count as if they were between -limit and +limit.

    Returns
    -------
    slopes, thresholds : ndarrays of shape (m,)
        The slope is 0 where the decisions do not grow with the targets.
    """
    cdef Py_ssize_t m = decisions.shape[0], s
    slopes, thresholds = np.zeros(m), np.zeros(m)
    cdef double[::1] slopes_ = slopes, thresholds_ = thresholds, z = np.empty(decisions.shape[1])
    cdef double a = 1, b = 0
    with nogil:
        for s in range(m):
            if not _fit_sigmoid(
                &decisions[s, 0], targets, weights, limit, &z[0], &a, &b,
                &slopes_[s], &thresholds_[s],
            ):
                a, b = 1, 0
    return slopes, thresholds


cdef bint _fit_sigmoid(
    const double* f, const double[::1] t, const double[::1] w, double limit, double* z,
    double* a, double* b, double* slope, double* threshold,
) noexcept nogil:
    # From the start a, b, in the units of decisions with mean 0 and variance 1
    cdef Py_ssize_t i, L = t.shape[0], _step, _half
    cdef double total = 0, mean = 0, square = 0, loss, new, ga, gb, haa, hab, hbb, det
    cdef double da, db, share, ridge
    cdef bint settled
    for i in range(L):
        if w[i] > 0:
            z[i] = min(max(f[i], -limit), limit)
            total += w[i]
            mean += w[i] * z[i]
    mean /= total
    for i in range(L):
        if w[i] > 0:
            z[i] -= mean
            square += w[i] * z[i] * z[i]
    square = sqrt(square / total)
    if not square > FLAT * (fabs(mean) + square):  # constant, or some that mean nothing
        return False
    for i in range(L):
        if w[i] > 0:
            z[i] /= square
    loss = _likelihood(z, t, w, a[0], b[0], &ga, &gb, &haa, &hab, &hbb)
    for _step in range(STEPS):
        ridge = 1e-12 * (haa + hbb) + 1e-300
        haa += ridge
        hbb += ridge
        det = haa * hbb - hab * hab
        da, db = (hbb * ga - hab * gb) / det, (haa * gb - hab * ga) / det
        settled = da * ga + db * gb <= SETTLED * total
        share = 1
        for _half in range(HALVINGS):
            new = _likelihood(
                z, t, w, a[0] - share * da, b[0] - share * db, &ga, &gb, &haa, &hab, &hbb
            )
            if new <= loss + ROUNDING * total:
                break
            share /= 2
        if not new <= loss + ROUNDING * total:
            break
        a[0] -= share * da
        b[0] -= share * db
        loss = new
        if settled:
            break
    if not a[0] > 0:
        return False
    slope[0] = a[0] / square
    threshold[0] = mean - square * b[0] / a[0]
    return True


cdef double _likelihood(
    const double* z, const double[::1] t, const double[::1] w, double a, double b,
    double* ga, double* gb, double* haa, double* hab, double* hbb,
) noexcept nogil:
    # The negative logarithm of the likelihood, its gradient and its second derivatives
    cdef Py_ssize_t i
    cdef double loss = 0, u, e, p, g, h
    ga[0] = gb[0] = haa[0] = hab[0] = hbb[0] = 0
    for i in range(t.shape[0]):
        if w[i] > 0:
            u = a * z[i] + b
            e = exp(-fabs(u))
            p = 1 / (1 + e) if u >= 0 else e / (1 + e)
            loss += w[i] * (log1p(e) + max(u, 0) - t[i] * u)
            g = w[i] * (p - t[i])
            h = w[i] * e / ((1 + e) * (1 + e))
            ga[0] += g * z[i]
            gb[0] += g
            haa[0] += h * z[i] * z[i]
            hab[0] += h * z[i]
            hbb[0] += h
    return loss
