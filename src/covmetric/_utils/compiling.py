"""How kernels are compiled by Numba: cached on disk, and without Python's global lock."""

from __future__ import annotations

import functools
from typing import Any

import numba


def jit(function: Any, **options: Any) -> Any:
    """Compile at the first call, and cache on disk if a folder is writable.

    Parameters
    ----------
    function : callable
        The kernel.
    **options
        Further options of `numba.njit`.

    Returns
    -------
    callable

    Examples
    --------
    >>> jit(lambda x: x + 1)(1)
    2
    """
    try:
        return numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    except RuntimeError:  # "cannot cache function: no locator available"
        return numba.njit(nogil=True, error_model="numpy", **options)(function)


# Plain sums may be reassociated and use fused operations, which changes their last digits only. No other assumption of
# `fastmath` is allowed: NaN and infinity keep their meaning. `python -m benchmarks.sums` prints the speed-up.
jit_sums = functools.partial(jit, fastmath={"reassoc", "contract"})
