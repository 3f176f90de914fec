"""The memory that the C library keeps for the next allocation, instead of giving it back to the system."""

from __future__ import annotations

import ctypes
import functools

from covmetric._utils.tuning import FREED_BYTES_KEPT

# The parameters of mallopt, from malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


@functools.cache
def keep_freed_memory() -> bool:
    """Let the allocator of this process keep freed memory, up to `tuning.FREED_BYTES_KEPT` bytes.

    Dask starts its workers with ``MALLOC_TRIM_THRESHOLD_=65536``. Every array of more than 128 kB is then mapped by the
    system when it is created, which takes longer than to compute it: a solve needed 4.5 times as much time. Threads
    gain, too: memory that one of them gives back has to be unmapped on the cores of all others. Only glibc has these
    settings, and only the first call in a process does anything.

    Returns
    -------
    bool
        Whether the settings were changed.

    Examples
    --------
    >>> keep_freed_memory() in (True, False)
    True
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library
        return False
    # An array of more bytes than the second threshold is mapped by the system; glibc allows at most 32 MB.
    changed = mallopt(_M_TRIM_THRESHOLD, FREED_BYTES_KEPT), mallopt(_M_MMAP_THRESHOLD, FREED_BYTES_KEPT // 2)
    return all(changed)
