"""How many threads the numerical libraries run."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


@functools.cache
def _libraries(api: str | None) -> list[Any]:
    """The libraries with threads in this process, once they are all imported; looking for them takes milliseconds."""
    return [library for library in ThreadpoolController().lib_controllers if api in (None, library.user_api)]


@contextmanager
def limited_threads(count: int | None, api: str | None = None) -> Iterator[None]:
    """Within, the libraries of an API ("blas", "openmp"; None: all) run `count` threads; None: as many as before.

    As threadpoolctl's own `limit`, but that libraries which already do so are left alone: a tenth of a millisecond.
    """
    before = [(library, library.get_num_threads()) for library in _libraries(api) if count is not None]
    changed = [(library, threads) for library, threads in before if threads != count]
    for library, _ in changed:
        library.set_num_threads(count)
    try:
        yield
    finally:
        for library, threads in changed:
            library.set_num_threads(threads)
