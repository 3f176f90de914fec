"""The number of threads that BLAS and OpenMP use."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from covmetric._utils.tuning import ONE_THREAD_BELOW


@functools.cache
def _libraries(api: str | None) -> list[Any]:
    """Return the loaded libraries of an API. The result is cached, because finding them takes milliseconds."""
    return [library for library in ThreadpoolController().lib_controllers if api in (None, library.user_api)]


class _Limits:
    """The libraries that are limited to one thread now, by how many blocks, and their numbers of threads before.

    The number of threads belongs to the process. It is restored at the end of the last of the blocks that limit it,
    which may run in several threads at a time.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders: dict[int, int] = {}
        self._before: dict[int, int] = {}

    def enter(self, libraries: list[Any]) -> None:
        with self._lock:
            for library in libraries:
                key = id(library)
                holders = self._holders.get(key, 0)
                if holders == 0:
                    self._before[key] = threads = library.get_num_threads()
                    if threads != 1:
                        library.set_num_threads(1)
                self._holders[key] = holders + 1

    def leave(self, libraries: list[Any]) -> None:
        with self._lock:
            for library in libraries:
                key = id(library)
                self._holders[key] -= 1
                if self._holders[key] == 0 and self._before[key] != 1:
                    library.set_num_threads(self._before[key])


_limits = _Limits()


@contextmanager
def limited_threads(count: int | None, api: str | None = None) -> Iterator[None]:
    """Limit the number of threads of the numerical libraries inside a `with` block.

    This is threadpoolctl's `limit` without its overhead: a library that already uses `count` threads is not touched,
    which saves a tenth of a millisecond. Blocks with one thread may run in several threads at a time.

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
    if count is None:
        yield
        return
    libraries = _libraries(api)
    if count == 1:
        _limits.enter(libraries)
        try:
            yield
        finally:
            _limits.leave(libraries)
        return
    before = [(library, library.get_num_threads()) for library in libraries]
    to_restore = [(library, threads) for library, threads in before if threads != count]
    for library, _ in to_restore:
        library.set_num_threads(count)
    try:
        yield
    finally:
        for library, threads in to_restore:
            library.set_num_threads(threads)


def one_thread() -> AbstractContextManager[None]:
    """Limit the numerical libraries to one thread inside `with` blocks, which may run in several threads at a time.

    Returns
    -------
    context manager
    """
    return limited_threads(1)


def threads_for(X: npt.NDArray[np.generic]) -> int | None:
    """Return the number of BLAS threads for many solves on these examples.

    Small operations are slower with several threads, because the threads wait for each other.

    Parameters
    ----------
    X : array of shape (l, n, ...)
        The examples.

    Returns
    -------
    int or None
        The number of threads, or None for no limit.
    """
    return 1 if X.shape[1] < ONE_THREAD_BELOW else None
