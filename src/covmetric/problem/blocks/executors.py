"""What runs a pass over the blocks: one thread, or several. Values are always added up in the same binary tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from covmetric._utils.allocation import keep_freed_memory
from covmetric._utils.threads import one_thread
from covmetric._utils.tuning import LIGHT_PASS_PAIRS
from covmetric.problem.blocks.passes import PairPass
from covmetric.problem.blocks.sources import PairSource
from covmetric.problem.blocks.tree import folded


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
    """Return the value of a pass over consecutive blocks, which are added up in a binary tree.

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
            return folded(task.combine, _values(source, task, first, last, pause), last - first)
    except (ValueError, PairBlockError):  # about the input, or about one of the blocks
        raise
    except Exception as error:
        raise PairBlockError(f"adding up blocks {first} to {last - 1} failed: {_text(error)}") from error


def _values(
    source: PairSource, task: PairPass, first: int, last: int, pause: Callable[[], None] | None
) -> Iterator[Any]:
    for index in range(first, last):
        if pause is not None:
            pause()
        try:
            value = task.of_block(source.block(index))
        except ValueError:
            raise
        except Exception as error:
            raise PairBlockError(f"block {index} failed: {_text(error)}") from error
        yield value


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


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


class Threads(Executor):
    """Runs blocks in threads of this process. A block uses one BLAS thread, however many threads there are.

    The thread that asks for a pass is one of them. Each thread takes the next range of blocks when it is done with one.
    With several threads, the process keeps freed memory, because giving it back to the system interrupts all of them.

    Parameters
    ----------
    n_jobs : int, default=1
        The number of threads.
    pause : callable or None, default=None
        Called by the thread that asks for a pass, before each of its blocks; it may raise an exception to end the pass.
    """

    def __init__(self, n_jobs: int = 1, pause: Callable[[], None] | None = None) -> None:
        self._n_jobs, self._pause = n_jobs, pause
        if n_jobs > 1:
            keep_freed_memory()
        self._pool = ThreadPoolExecutor(n_jobs - 1, thread_name_prefix="covmetric") if n_jobs > 1 else None

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def run(self, source: PairSource, task: PairPass) -> Any:
        return folded(task.combine, self.values(source, task), len(source.ranges()))

    def values(self, source: PairSource, task: PairPass) -> Iterator[Any]:
        """Yield the values of a pass on the ranges of blocks, in their order.

        Parameters
        ----------
        source : PairSource
            The pairs.
        task : PairPass
            The pass.

        Yields
        ------
        Any
            A value, of a type that the pass defines.
        """
        work = _SharedPass(source, task)
        alone = self._pool is None or (task.is_light and source.n_pairs < LIGHT_PASS_PAIRS)
        with one_thread():
            helpers: list[Future[None]] = []
            try:
                if not alone:
                    self._start_helpers(work, helpers)
                while work.run_next(self._pause):
                    yield from work.ready()
            finally:
                work.stop()
                helpers = [helper for helper in helpers if not helper.cancel()]
                wait(helpers)
            for helper in helpers:
                helper.result()  # re-raises other errors than those of blocks, such as SystemExit
            yield from work.ready()

    def _start_helpers(self, work: _SharedPass, helpers: list[Future[None]]) -> None:
        """Let other threads take part in a pass, and append them to the list."""
        assert self._pool is not None
        for _ in range(min(self._n_jobs, work.n_ranges) - 1):
            helpers.append(self._pool.submit(work.run))


class _SharedPass:
    """A pass whose ranges of blocks are taken by several threads, one after the other, in their order."""

    def __init__(self, source: PairSource, task: PairPass) -> None:
        self._source, self._task, self._ranges = source, task, source.ranges()
        self.n_ranges = len(self._ranges)
        self._waiting = deque(range(self.n_ranges))  # whose methods are atomic
        self._done: dict[int, Any] = {}
        self._failed: dict[int, Exception] = {}
        self._n_returned = 0

    def run(self) -> None:
        """Compute ranges until none is left."""
        while self.run_next():
            pass

    def run_next(self, pause: Callable[[], None] | None = None) -> bool:
        """Compute the next range; return whether there was one."""
        if pause is not None:
            pause()
        try:
            k = self._waiting.popleft()
        except IndexError:
            return False
        try:
            self._done[k] = sum_of_range(self._source, self._task, *self._ranges[k], pause)
        except Exception as error:
            self._failed[k] = error
            self.stop()
        return True

    def stop(self) -> None:
        """Drop the ranges that no thread has taken."""
        self._waiting.clear()

    def ready(self) -> Iterator[Any]:
        """Yield the values that are due, in the order of the ranges; raise the error of the first range that failed.

        Ranges are taken in their order, so that which of several errors is raised does not depend on the threads.
        """
        while self._n_returned in self._done:
            self._n_returned += 1
            yield self._done.pop(self._n_returned - 1)  # a value is no longer needed once it has been added
        if self._n_returned in self._failed:
            raise self._failed[self._n_returned]
