"""The executor of a solve in blocks: threads, or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from joblib import effective_n_jobs

from covmetric.problem.blocks import Executor, Threads
from covmetric.solvers.interrupt import check_interrupt

# The `n_jobs` and the `executor` of solves that are given neither.
_defaults: ContextVar[tuple[int | None, Any]] = ContextVar("covmetric_solves", default=(None, None))


@contextmanager
def solving_with(n_jobs: int | None = None, executor: Any = None) -> Iterator[None]:
    """Set `n_jobs` and `executor` of the solves within a ``with`` block, unless they are given to `solve`.

    Other threads and processes are not affected, so that solves that already run in parallel do not start threads.

    Parameters
    ----------
    n_jobs : int or None, default=None
        The number of threads of problems with many pairs, as in `solve`.
    executor : dask.distributed.Client, 'dask', Executor or None, default=None
        What runs the blocks of such problems, as in `solve`.

    Yields
    ------
    None
    """
    token = _defaults.set((n_jobs, executor))
    try:
        yield
    finally:
        _defaults.reset(token)


def chosen_executor(n_jobs: int | None, executor: Any) -> tuple[int | None, Any]:
    """Return the arguments of a solve, or those of the surrounding `solving_with` if there are none.

    Parameters
    ----------
    n_jobs : int or None
        The number of threads.
    executor : object or None
        The executor.

    Returns
    -------
    n_jobs : int or None
        The number of threads.
    executor : object or None
        The executor.
    """
    return _defaults.get() if n_jobs is None and executor is None else (n_jobs, executor)


def resolve_executor(executor: Any, n_jobs: int | None) -> Executor:
    """Return the executor for the arguments of `solve`.

    Parameters
    ----------
    executor : dask.distributed.Client, 'dask', Executor or None
        The executor, or the client of a cluster; 'dask' is the current client. None means threads.
    n_jobs : int or None
        The number of threads; None means 1, and -1 all cores.

    Returns
    -------
    Executor

    Raises
    ------
    ValueError
        If the executor is none of these, or if there is no client.
    """
    if executor is None:
        return Threads(1 if n_jobs is None else effective_n_jobs(n_jobs), check_interrupt)
    if isinstance(executor, Executor):
        return executor
    if isinstance(executor, str) and executor == "dask":
        executor = _current_client()
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(executor).__mro__}
    if ("distributed", "Client") in kinds and not executor.asynchronous:
        from covmetric.problem.blocks.dask import DaskExecutor

        return DaskExecutor(executor, check_interrupt)
    raise ValueError(f"executor must be None, 'dask', the Client of a Dask cluster, or an Executor; got {executor!r}")


def _current_client() -> Any:
    """Return the current client of Dask."""
    try:
        from distributed import get_client
    except ImportError:
        raise ValueError(
            "executor is 'dask', but Dask is not installed: pip install \"dask[array]\" distributed"
        ) from None
    try:
        return get_client()
    except ValueError:
        raise ValueError("executor is 'dask', but there is no client: create a dask.distributed.Client first") from None
