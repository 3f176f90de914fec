"""Linear algebra that compiled code can call: routines of BLAS and LAPACK, and a dot product.

The routines of SciPy are called by address: ``add_symbol`` gives the linker a name for each routine, so that Numba can
cache the compiled code (a pointer in a global variable would prevent that).
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
from numba import types
from numba.extending import get_cython_function_address

from covmetric._utils.compiling import jit as _jit

# The characters that BLAS accepts as options, and their positions in the array that holds them.
OPTIONS = np.frombuffer(b"LRNTU", dtype=np.uint8)
LOWER, RIGHT, NORMAL, TRANSPOSED, UPPER = range(5)

_I, _D, _C = (types.CPointer(t) for t in (types.int32, types.float64, types.uint8))


def _external(module: str, name: str, *arguments: Any) -> Any:
    """Return a BLAS or LAPACK routine of SciPy as a symbol that compiled code can call."""
    symbol = f"covmetric_{name}"
    llvmlite.binding.add_symbol(symbol, get_cython_function_address(f"scipy.linalg.{module}", name))
    return types.ExternalFunction(symbol, types.void(*arguments))


dsymm = _external("cython_blas", "dsymm", _C, _C, _I, _I, _D, _D, _I, _D, _I, _D, _D, _I)
dgemm = _external("cython_blas", "dgemm", _C, _C, _I, _I, _I, _D, _D, _I, _D, _I, _D, _D, _I)
dtrsm = _external("cython_blas", "dtrsm", _C, _C, _C, _C, _I, _I, _D, _D, _I, _D, _I)
dsyrk = _external("cython_blas", "dsyrk", _C, _C, _I, _I, _D, _D, _I, _D, _D, _I)
dsytrd = _external("cython_lapack", "dsytrd", _C, _I, _D, _I, _D, _D, _D, _D, _I, _I)
dpotrf = _external("cython_lapack", "dpotrf", _C, _I, _D, _I, _I)
dpotrs = _external("cython_lapack", "dpotrs", _C, _I, _I, _D, _I, _D, _I, _I)
dgelqf = _external("cython_lapack", "dgelqf", _I, _I, _D, _I, _D, _D, _I, _I)


@_jit
def dot(x, y, size):
    """Return <x, y> over the first entries, as four sums, because a single sum would wait for each addition.

    Parameters
    ----------
    x, y : arrays of shape (size,) or longer
        The vectors.
    size : int
        The number of entries.

    Returns
    -------
    float
    """
    s0 = s1 = s2 = s3 = 0.0
    for block in range(size // 4):
        i = 4 * block
        s0 += x[i] * y[i]
        s1 += x[i + 1] * y[i + 1]
        s2 += x[i + 2] * y[i + 2]
        s3 += x[i + 3] * y[i + 3]
    for i in range(size & ~3, size):
        s0 += x[i] * y[i]
    return (s0 + s1) + (s2 + s3)
