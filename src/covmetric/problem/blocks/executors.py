"""What runs a pass over the blocks: one thread, or several. Values are always added up in the same order."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from covmetric._utils.threads import one_thread
from covmetric.problem.blocks.passes import PairPass
from covmetric.problem.blocks.sources import PairSource


class PairBlockError(RuntimeError):
    """Error for a block that could not be computed.

    Examples
    --------
    >>> from covmetric.problem.blocks import PairBlockError
    >>> issubclass(PairBlockError, RuntimeError)
    True
    """


class ExecutorLost(RuntimeError):
    """Error for a cluster that is gone. A solve then ends with the best metric so far.

    Examples
    --------
    >>> from covmetric.problem.blocks import ExecutorLost
    >>> issubclass(ExecutorLost, RuntimeError)
    True
    """


def sum_of_range(
    source: PairSource, task: PairPass, first: int, last: int, pause: Callable[[], None] | None = None
) -> Any:
    """Return the value of a pass over consecutive blocks.

    Parameters
    ----------
    source : PairSource
        The pairs.
    task : PairPass
        The pass.
    first, last : int
        The first block, and the first block after the range.
    pause : callable or None, default=None
        Called before each block; it may raise an exception to end the pass.

    Returns
    -------
    Any
        The value, of a type that the pass defines.

    Raises
    ------
    PairBlockError
        If a block fails, unless its input is invalid.
    """
    try:
        with np.errstate(all="ignore"):
            return functools.reduce(task.combine, _values(source, task, first, last, pause))
    except ValueError:  # about the input
        raise
    except Exception as error:
        raise PairBlockError(f"blocks {first} to {last - 1} failed: {type(error).__name__}: {error}") from error


def _values(
    source: PairSource, task: PairPass, first: int, last: int, pause: Callable[[], None] | None
) -> Iterator[Any]:
    for index in range(first, last):
        if pause is not None:
            pause()
        yield task.of_block(source.block(index))


class Executor(ABC):
    """Runs passes. An executor may be used as a context manager, which releases its threads or its data on workers.

    Examples
    --------
    >>> from covmetric.problem.blocks import Executor, Threads
    >>> issubclass(Threads, Executor)
    True
    """

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Release threads and data."""

    @abstractmethod
    def values(self, source: PairSource, task: PairPass) -> Iterable[Any]:
        """Return the values of a pass on the ranges of blocks, in their order.

        Parameters
        ----------
        source : PairSource
            The pairs.
        task : PairPass
            The pass.

        Returns
        -------
        iterable
        """

    def run(self, source: PairSource, task: PairPass) -> Any:
        """Return the value of a pass over all blocks.

        Parameters
        ----------
        source : PairSource
            The pairs.
        task : PairPass
            The pass.

        Returns
        -------
        Any
            The value, of a type that the pass defines.
        """
        return functools.reduce(task.combine, self.values(source, task))


class Threads(Executor):
    """Runs blocks in threads of this process. A block uses one BLAS thread, however many threads there are.

    Parameters
    ----------
    n_jobs : int, default=1
        The number of threads.
    pause : callable or None, default=None
        Called before each block if there is one thread, otherwise before each range of blocks; it may raise an
        exception to end the pass.
    """

    def __init__(self, n_jobs: int = 1, pause: Callable[[], None] | None = None) -> None:
        self._n_jobs, self._pause = n_jobs, pause
        self._pool = ThreadPoolExecutor(n_jobs, thread_name_prefix="covmetric") if n_jobs > 1 else None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def values(self, source: PairSource, task: PairPass) -> Iterator[Any]:
        ranges = source.ranges()
        with one_thread():
            if self._pool is None or len(ranges) == 1:
                for first, last in ranges:
                    yield sum_of_range(source, task, first, last, self._pause)
                return
            futures = [self._pool.submit(sum_of_range, source, task, first, last) for first, last in ranges]
            try:
                yield from self._results(futures)
            finally:
                for future in futures:
                    future.cancel()
                wait([future for future in futures if future.running()])

    def _results(self, futures: list[Future[Any]]) -> Iterator[Any]:
        for k, future in enumerate(futures):
            if self._pause is not None:
                self._pause()
            yield future.result()
            futures[k] = Future()  # a value is no longer needed once it has been added
