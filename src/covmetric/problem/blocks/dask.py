"""Passes over the blocks on the workers of a Dask cluster."""

from __future__ import annotations

import asyncio
import functools
import pickle
import time
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

import numpy as np

from covmetric._utils.allocation import keep_freed_memory
from covmetric._utils.threads import one_thread
from covmetric._utils.tuning import TASKS_PER_THREAD
from covmetric.problem.blocks.executors import Executor, ExecutorLost, PairBlockError, sum_of_range
from covmetric.problem.blocks.passes import PairPass
from covmetric.problem.blocks.sources import PairSource
from covmetric.problem.blocks.tree import folded, tree_depth
from covmetric.problem.examples import Examples

# Passes with more bytes than this are sent to the workers once instead of with every task.
_LARGE_PASS = 2**16
# How often a pass is repeated after its data were lost with a worker, and how often a failing task is retried.
_MAX_REPEATS, _RETRIES = 5, 2
# Seconds after which sending data is tried again, in addition to those of a network with so many bytes per second.
_SEND_SECONDS, _SLOWEST_NETWORK = 60.0, 1e6
# Seconds between looks for Ctrl-C, and between looks at a cluster that does not answer.
_PATIENCE = 0.2


class DaskExecutor(Executor):
    """Runs passes on the workers of a cluster. Data of lost workers is sent again, and their blocks are computed again.

    A pass is split into tasks, each of which sums up a range of blocks. The number of tasks depends on the threads of
    the workers, not on the number of pairs. So does what a pass moves: a few matrices to each task, its sum to one of
    the workers, and the sum of all to the client. The examples are sent to every worker once, and the pairs of each
    task, if they are arrays, to one of the workers. Arrays are sent again if the cluster has grown.

    Parameters
    ----------
    client : dask.distributed.Client
        The client of the cluster.
    pause : callable or None, default=None
        Called several times a second while a pass runs; it may raise an exception to end the pass.
    """

    def __init__(self, client: Any, pause: Callable[[], None] | None = None) -> None:
        self._client, self._pause = client, pause
        self._source: PairSource | None = None
        self._examples: Any = None
        self._ranges: list[tuple[int, int]] = []
        self._parts: list[Any] = []
        self._holders: list[Any] = []

    def close(self) -> None:
        self._source, self._examples, self._ranges, self._parts, self._holders = None, None, [], [], []

    @property
    def n_tasks(self) -> int:
        """The number of tasks of the last pass, without the one that adds up their sums."""
        return len(self._ranges)

    @staticmethod
    def tasks_for(n_threads: int) -> int:
        """Return the number of tasks of a pass over many blocks.

        Parameters
        ----------
        n_threads : int
            The number of threads of all workers.

        Returns
        -------
        int
            A power of two, because a pass is a binary tree of sums.

        Examples
        --------
        >>> DaskExecutor.tasks_for(2), DaskExecutor.tasks_for(3)
        (16, 32)
        """
        return int(2 ** tree_depth(TASKS_PER_THREAD * max(n_threads, 1)))

    def run(self, source: PairSource, task: PairPass) -> Any:
        repeats = 0
        while True:
            try:
                return self._value(source, task)
            except CancelledError as error:  # data was lost with a worker
                self._check_alive()
                repeats += 1
                if repeats == _MAX_REPEATS:
                    raise ExecutorLost("the workers of the cluster were lost again and again") from error
                self.close()
            except Exception as error:  # a client that is closed raises errors of many types
                self._check_alive(error)
                if isinstance(error, OSError | TimeoutError):
                    raise ExecutorLost(f"the workers of the cluster were lost ({error})") from error
                raise

    def _place(self, source: PairSource) -> None:
        """Send the examples and the pairs to the workers, unless they are there, in parts for enough tasks."""
        if self._source is not source:
            self.close()
            self._examples = self._sent(source.examples, broadcast=True)
            self._source = source
        threads = self._client.nthreads(callback_timeout=_SEND_SECONDS)  # of each worker
        self._place_pairs(source, source.ranges(self.tasks_for(sum(threads.values()))))
        self._hold_copies(len(threads))

    def _place_pairs(self, source: PairSource, ranges: list[tuple[int, int]]) -> None:
        """Send the pairs of each range to a worker, or the recipe to all, unless there are as many parts already."""
        if len(ranges) <= len(self._ranges):
            return
        self._ranges, sent, self._parts = [], self._parts, []
        if source.part(*ranges[0]) is source:  # a recipe
            self._parts = (sent[:1] or [self._sent(source, broadcast=True)]) * len(ranges)
        else:
            del sent  # the workers need not hold the pairs twice
            self._parts = self._sent([source.part(first, last) for first, last in ranges])
        self._ranges = ranges

    def _hold_copies(self, n_workers: int) -> None:
        """Keep a copy of the examples, and of the recipe if there is one, on each worker.

        Every two seconds, Dask drops copies of data for which fewer tasks are waiting than there are copies (its policy
        ReduceReplicas). Most long passes would then have to send them again. So as many tasks wait for them, and for
        another task that no worker can run.
        """
        if n_workers <= len(self._holders):
            return
        recipe = self._parts[:1] if self._parts[0] is self._parts[-1] else []
        never = self._client.submit(_never, resources={"covmetric-never": 1}, pure=False)
        self._holders = [
            self._client.submit(_never, never, self._examples, *recipe, pure=False) for _ in range(n_workers)
        ]

    def _sent(self, data: Any, broadcast: bool = False) -> Any:
        """Send data to the workers, again if a worker dies in the meantime, for which Dask may wait forever."""
        from dask.sizeof import sizeof

        call = functools.partial(self._client.scatter, data, broadcast=broadcast, hash=False, asynchronous=True)
        limit, started = _SEND_SECONDS + sizeof(data) / _SLOWEST_NETWORK, time.perf_counter()
        try:
            return self._client.sync(call, callback_timeout=limit)
        except TimeoutError:
            if time.perf_counter() - started < limit:  # there are no workers
                raise
            self._check_alive()
            raise CancelledError from None

    def _value(self, source: PairSource, task: PairPass) -> Any:
        """Return the sum over all blocks."""
        from distributed import KilledWorker

        self._place(source)
        # Arrays in the messages of Dask need not be aligned, which changes the order of sums; those in bytes are.
        sent: Any = pickle.dumps(task)
        if len(sent) > _LARGE_PASS:
            sent = self._sent(sent, broadcast=True)
        futures = [self._submitted(part, bounds, sent) for part, bounds in zip(self._parts, self._ranges, strict=True)]
        total = self._client.submit(_combined, sent, futures, pure=False, retries=_RETRIES)
        try:
            return pickle.loads(self._result(total, futures))
        except KilledWorker as error:
            # Dask also blames tasks that were waiting on a worker when another one ended it.
            suspects = [self._ranges[k] for k in _suspects(futures)]
            self._client.cancel([total, *futures])
            raise self._error_of_deadly_blocks(source, task, suspects, error) from error

    def _submitted(self, part: Any, bounds: tuple[int, int], sent: Any) -> Any:
        """Let a worker sum up a range of blocks. Its name is in Dask's messages about workers that died."""
        first, last = bounds
        return self._client.submit(
            _run_range,
            *(self._examples, part, sent, first, last),
            key=f"blocks-{first}-{last - 1}-{uuid.uuid4().hex}",
            retries=_RETRIES,
        )

    def _result(self, future: Any, parts: list[Any]) -> Any:
        """Wait for a future, and look for Ctrl-C and for the end of the cluster in the meantime."""
        from distributed import KilledWorker

        fetching: asyncio.Future[Any] | None = None

        async def fetched() -> Any:
            # A timeout must not end the fetching: Dask may then never fetch anything again for this client.
            nonlocal fetching
            if fetching is None:
                fetching = asyncio.ensure_future(self._client.gather(future, asynchronous=True))
            return await asyncio.shield(fetching)

        while True:
            if self._pause is not None:
                self._pause()
            try:
                return self._client.sync(fetched, callback_timeout=_PATIENCE)
            except CancelledError:
                # The sum may be given up before the error of its part is told.
                for part in parts:
                    error = part.exception() if part.status == "error" else None
                    if isinstance(error, KilledWorker):
                        raise error from None
                raise
            except (TimeoutError, UnboundLocalError):
                # Dask raises UnboundLocalError instead of a timeout now and then (dask/distributed issue 8514). Either
                # may also be the error of the task itself.
                if future.status == "error":
                    raise future.exception() from None
                self._check_alive()

    def _error_of_deadly_blocks(
        self, source: PairSource, task: PairPass, ranges: list[tuple[int, int]], error: BaseException
    ) -> PairBlockError:
        """Return the error for the blocks that end their workers. To find them, small parts of the ranges run alone."""
        from distributed import KilledWorker

        advice = "give the workers more memory, or use more of them"
        if not ranges:
            return PairBlockError(f"workers died several times while adding up the blocks ({error}); {advice}")
        small = source.ranges()
        suspects = [one for first, last in ranges for one in small if first <= one[0] < last]
        for bounds in suspects if len(small) > 1 else []:
            try:
                self._run_alone(source, task, bounds)
            except KilledWorker as proof:
                error, suspects = proof, [bounds]
                break
            except PairBlockError:  # it fails, but its worker survives
                continue
        names = ", ".join(f"{first} to {last - 1}" for first, last in suspects)
        if len(suspects) == 1:
            return PairBlockError(f"blocks {names} ended their worker several times ({error}); {advice}")
        return PairBlockError(
            f"workers died several times while running one of these blocks: {names}. Run alone, none of them was seen "
            f"to end its worker ({error}); {advice}"
        )

    def _run_alone(self, source: PairSource, task: PairPass, bounds: tuple[int, int]) -> None:
        """Compute one range while nothing else runs; data that were lost with workers are sent again."""
        for _ in range(_MAX_REPEATS):
            try:
                self._place(source)
                held = zip(self._parts, self._ranges, strict=True)
                part = next(part for part, (first, last) in held if first <= bounds[0] < last)
                self._result(self._submitted(part, bounds, pickle.dumps(task)), [])
                return
            except CancelledError:
                self._check_alive()
                self.close()

    def _check_alive(self, cause: BaseException | None = None) -> None:
        """Raise ExecutorLost if the scheduler of the cluster is gone."""
        if self._client.status in ("running", "connecting") and cause is None:
            return
        time.sleep(_PATIENCE)  # the status changes shortly after a connection is lost
        if self._client.status != "running":
            raise ExecutorLost("the connection to the scheduler of the cluster was lost") from cause


def _never(*data: Any) -> None:
    """Stand for a task that waits, so that Dask keeps its data. It never runs."""
    raise AssertionError("no worker has the resource that this task asks for")


def _suspects(futures: list[Any]) -> list[int]:
    """Return the tasks that may have ended their workers: those that Dask blames, then others that are not done."""
    blamed = [k for k, future in enumerate(futures) if future.status == "error"]
    return blamed + [k for k, future in enumerate(futures) if future.status not in ("error", "finished")]


def _run_range(examples: Examples, source: PairSource, task: bytes, first: int, last: int) -> bytes:
    """Return the sum over a range of blocks, on a worker."""
    keep_freed_memory()
    with one_thread():
        return pickle.dumps(sum_of_range(source.with_examples(examples), pickle.loads(task), first, last))


def _combined(task: bytes, values: list[bytes]) -> bytes:
    """Return the sum over all ranges, on a worker."""
    with one_thread(), np.errstate(all="ignore"):
        return pickle.dumps(folded(pickle.loads(task).combine, map(pickle.loads, values), len(values)))
