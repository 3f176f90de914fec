"""The number of threads that BLAS and OpenMP use."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _libraries(api: str | None) -> list[Any]:
    """Return the loaded libraries of an API. The result is cached, because finding them takes milliseconds."""
    return [library for library in ThreadpoolController().lib_controllers if api in (None, library.user_api)]


@contextmanager
def limited_threads(count: int | None, api: str | None = None) -> Iterator[None]:
    """Limit the number of threads of the numerical libraries inside a `with` block.

    This is threadpoolctl's `limit` without its overhead: a library that already uses `count` threads is not touched,
    which saves a tenth of a millisecond.

    Parameters
    ----------
    count : int or None
        The number of threads. None leaves the libraries alone.
    api : {'blas', 'openmp'} or None, default=None
        Which libraries to limit. None limits all of them.

    Yields
    ------
    None
        Control returns to the `with` block; the previous numbers of threads are restored afterwards.
    """
    before = [(library, library.get_num_threads()) for library in _libraries(api) if count is not None]
    to_restore = [(library, threads) for library, threads in before if threads != count]
    for library, _ in to_restore:
        library.set_num_threads(count)
    try:
        yield
    finally:
        for library, threads in to_restore:
            library.set_num_threads(threads)


_lock, _inside, _limit = Lock(), 0, ExitStack()


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit the numerical libraries to one thread inside `with` blocks that run in several threads at a time.

    The number of threads belongs to the process. `limited_threads` would restore it at the end of the first of the
    blocks, while the others still run; here it is restored at the end of the last one.

    Yields
    ------
    None
        Control returns to the `with` block.
    """
    global _inside
    with _lock:
        if _inside == 0:
            _limit.enter_context(limited_threads(1))
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.close()
