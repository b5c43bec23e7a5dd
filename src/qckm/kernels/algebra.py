"""Linear algebra whose numbers do not depend on the machine: what a decoder needs of BLAS, LAPACK and libm.

Those round differently from one CPU, version and number of threads to the next, and a decoder is a search: the last
digit of a product may decide between two minima. These functions have one order of sums (core/algebra_inc.h,
core/solving_inc.h): the same bits with every instruction set, compiler and CPU. Where the C core was not built NumPy
does it, and the last digits are its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from qckm.common.arrays import Floats
from qckm.kernels import library
from qckm.kernels.library import Struct, call, fields, floats
from qckm.kernels.threads import Tasks, count_threads, share

_EXP, _LOG, _SINE, _COSINE = range(4)
# Multiplications of a product below which another thread takes longer to wake than it saves: a millisecond or so.
_WORTH_THREADS = 1 << 23


class _Matrices(Struct):
    _fields_ = fields(integers="rows inner columns", arrays="left right out")


class _Mapping(Struct):
    _fields_ = fields(integers="count function", arrays="numbers out")


class _System(Struct):
    _fields_ = fields(integers="size count", arrays="matrix factor vectors")


def product(left: npt.NDArray[np.floating], right: npt.NDArray[np.floating]) -> Floats:
    """Multiply vectors and matrices, as `@` does of one and two dimensions.

    Examples
    --------
    >>> product(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    if library.load() is None or not left.size or not right.size:
        return np.asarray(left @ right, np.float64)
    a, b = floats(np.atleast_2d(left)), floats(right if right.ndim == 2 else right[:, np.newaxis])
    if a.shape[1] != len(b):
        raise ValueError(f"expected a second factor of {a.shape[1]} rows, got {len(b)}")
    out = np.empty((len(a), b.shape[1]))
    n_threads = count_threads(None) if a.size * b.shape[1] >= _WORTH_THREADS and len(a) > 1 else 1
    height = -(-len(a) // n_threads)

    def work(tasks: Tasks) -> None:
        for task in tasks:
            at = slice(task * height, (task + 1) * height)
            call("qckm_multiply", _Matrices(len(a[at]), *b.shape, a[at], b, out[at]))

    share(work, -(-len(a) // height), n_threads)
    return out.reshape(left.shape[:-1] + right.shape[1:])


def dot(left: Floats, right: Floats) -> float:
    """Return Σ a·b of two vectors."""
    return float(product(left, right))


def exp(numbers: npt.ArrayLike) -> Floats:
    """Return the exponentials of numbers."""
    return _map(_EXP, numbers)


def log(numbers: npt.ArrayLike) -> Floats:
    """Return the natural logarithms of numbers; −inf of 0, NaN of what is below, without a warning."""
    return _map(_LOG, numbers)


def sine(angles: npt.ArrayLike) -> Floats:
    """Return sines, of angles up to 1e15, to 2e-13."""
    return _map(_SINE, angles)


def cosine(angles: npt.ArrayLike) -> Floats:
    """Return cosines, of angles up to 1e15, to 2e-13."""
    return _map(_COSINE, angles)


def softmax(logarithms: Floats) -> tuple[Floats, float]:
    """Return weights of sum 1 in proportion to the exponentials of these, and the logarithm of their sum.

    Examples
    --------
    >>> softmax(np.array([0.0, 0.0, -np.inf]))
    (array([0.5, 0.5, 0. ]), 0.6931471805599453)
    """
    greatest = logarithms.max()
    weights = exp(logarithms - greatest)
    total = dot(weights, np.ones(weights.size))
    return weights / total, float(greatest + log(total))


def cholesky(matrix: Floats) -> Floats:
    """Return the lower factor L of a symmetric matrix L·Lᵀ, of which the lower half is looked at.

    A matrix that is not positive definite raises numpy.linalg.LinAlgError.
    """
    return _solve(matrix, np.empty((0, len(matrix))))[0]


def solve_positive(matrix: Floats, right: Floats) -> Floats:
    """Solve A·x = b of a symmetric, positive definite matrix, for b (n,) or each column of b (n, k).

    Any other matrix raises numpy.linalg.LinAlgError.
    """
    vectors = np.array(right.T, np.float64, order="C").reshape(-1, len(matrix))
    return np.ascontiguousarray(_solve(matrix, vectors)[1].reshape(right.T.shape).T)


def _map(function: int, numbers: npt.ArrayLike) -> Floats:
    given = np.array(numbers, np.float64, order="C")
    if library.load() is None:
        with np.errstate(all="ignore"):
            return np.asarray((np.exp, np.log, np.sin, np.cos)[function](given))
    out = np.empty(given.shape)
    if given.size:
        call("qckm_map", _Mapping(given.size, function, given, out))
    return out


def _solve(matrix: Floats, vectors: Floats) -> tuple[Floats, Floats]:
    """Return the factor of a matrix, and the solutions (k, n) in place of vectors."""
    n = len(matrix)
    if library.load() is None or not n:
        lower: Floats = np.linalg.cholesky(floats(matrix)).astype(np.float64)
        return lower, np.linalg.solve(lower.T, np.linalg.solve(lower, vectors.T)).T
    factor = np.empty((n, n))
    if call("qckm_solve", _System(n, len(vectors), floats(matrix), factor, vectors)):
        raise np.linalg.LinAlgError("matrix is not positive definite")
    return factor, vectors
