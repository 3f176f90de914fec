"""Calls of one function in parallel, with joblib's backend of the moment: processes, threads or a Dask cluster."""

from __future__ import annotations

import pickle
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from uuid import uuid4

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend

from covmetric._utils.threads import one_thread

Result = TypeVar("Result")

#: Calls on a cluster at a time, per thread of its workers: one runs, and the others wait beside it or are being sent.
_CALLS_PER_THREAD = 4


@dataclass(frozen=True, eq=False)
class Shared:
    """An argument that several calls have in common, and that is sent to a cluster once.

    Attributes
    ----------
    value : object
        The argument.
    """

    value: Any


def run_calls(
    function: Callable[..., Result],
    calls: Iterable[tuple[Any, ...]],
    n_jobs: int | None = None,
    prefer: Literal["processes", "threads"] | None = None,
) -> Iterator[Result]:
    """Iterate over the results of calls, in the order of the calls.

    The calls run where joblib would run them: in processes or threads of this machine or, within
    ``joblib.parallel_config(backend="dask")``, on the workers of a Dask cluster.

    Parameters
    ----------
    function : callable
        A function that can be pickled.
    calls : iterable of tuples
        The arguments of each call; those in `Shared` are taken out of it. The calls are taken from the iterable as
        workers become free.
    n_jobs : int or None, default=None
        The number of jobs, as in joblib. A cluster uses all of its workers.
    prefer : {'processes', 'threads'} or None, default=None
        What to use on one machine, as in joblib.

    Returns
    -------
    iterator
        The results.

    Notes
    -----
    The calls are given to Dask without joblib. Joblib's Dask backend (1.6) waits for ever for a call that kills its
    workers, and scatters arrays, which are lost with the workers that hold them. Here

    - a shared argument is the result of a task, so that Dask can make it again if all workers that hold it die;
    - arguments and results travel as pickled bytes. Dask's own messages may put arrays at odd addresses, where NumPy
      sums in another order, and the last bits of results would change;
    - a call uses one thread of BLAS and OpenMP, and what it would run in parallel runs in sequence, as in the worker
      processes of joblib.

    Examples
    --------
    >>> ten = Shared(10)
    >>> list(run_calls(pow, [(2, ten), (3, ten)]))
    [1024, 59049]
    """
    backend = get_active_backend()[0]
    if not hasattr(backend, "client"):
        work = (delayed(function)(*map(_value, call)) for call in calls)
        results: Iterator[Result] = Parallel(n_jobs, prefer=prefer, return_as="generator")(work)
        return results
    if _on_worker():  # a call that waits for other calls would block its worker
        return (_call_alone(function, map(_value, call)) for call in calls)
    return _run_on_cluster(backend, function, calls)


def lost_worker_errors() -> tuple[type[BaseException], ...]:
    """Return the types of the errors that report that workers died during a call.

    Returns
    -------
    tuple of types
        The error of joblib's processes and, if Dask is in use, the error of its workers.
    """
    distributed = sys.modules.get("distributed")
    return (TerminatedWorkerError,) if distributed is None else (TerminatedWorkerError, distributed.KilledWorker)


def _on_worker() -> bool:
    """Return whether this thread runs a task of Dask."""
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


def _value(argument: Any) -> Any:
    return argument.value if isinstance(argument, Shared) else argument


def _run_on_cluster(
    backend: Any, function: Callable[..., Result], calls: Iterable[tuple[Any, ...]]
) -> Iterator[Result]:
    """Keep a few calls per worker on the cluster; the errors of Dask name the number of the call."""
    import dask

    client, run = backend.client, uuid4().hex
    placed: dict[Shared, Any] = {}
    waiting: deque[Any] = deque()

    def send(argument: Any) -> Any:
        """Return the pickled argument, or the future of it if it is shared."""
        if not isinstance(argument, Shared):
            return _dumps(argument)
        if argument not in placed:
            placed[argument] = client.submit(_unchanged, _dumps(argument.value), key=f"shared-{len(placed)}-{run}")
        return placed[argument]

    try:
        for number, call in enumerate(calls):
            # Dask warns about large tasks, but data that is in no file has to be sent.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
                key = f"{function.__name__}-{number}-{run}"
                waiting.append(
                    client.submit(_call_pickled, function, *map(send, call), key=key, **backend.submit_kwargs)
                )
            if len(waiting) > _CALLS_PER_THREAD * max(1, sum(client.ncores().values())):
                yield pickle.loads(waiting.popleft().result())
        while waiting:
            yield pickle.loads(waiting.popleft().result())
    finally:
        client.cancel(list(waiting))


def _dumps(value: Any) -> bytes:
    import cloudpickle  # part of Dask; pickles the functions of users, too

    return bytes(cloudpickle.dumps(value))


def _unchanged(value: Any) -> Any:
    return value


def _call_pickled(function: Callable[..., Any], *pickled: bytes) -> bytes:
    return _dumps(_call_alone(function, map(pickle.loads, pickled)))


def _call_alone(function: Callable[..., Result], arguments: Iterable[Any]) -> Result:
    """Call a function with one thread, and nothing in parallel."""
    with parallel_config(backend="sequential"), one_thread():
        return function(*arguments)
