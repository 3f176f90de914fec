"""The executor of a solve in blocks: threads, or the workers of a cluster."""

from __future__ import annotations

from typing import Any

from joblib import effective_n_jobs

from covmetric.problem.blocks import Executor, Threads
from covmetric.solvers.interrupt import check_interrupt


def resolve_executor(executor: Any, n_jobs: int | None) -> Executor:
    """Return the executor for the arguments of `solve`.

    Parameters
    ----------
    executor : dask.distributed.Client, Executor or None
        The executor, or the client of a cluster. None means threads.
    n_jobs : int or None
        The number of threads, as in joblib.

    Returns
    -------
    Executor

    Raises
    ------
    ValueError
        If the executor is neither.
    """
    if executor is None:
        return Threads(effective_n_jobs(n_jobs), check_interrupt)
    if isinstance(executor, Executor):
        return executor
    if type(executor).__module__.partition(".")[0] == "distributed" and hasattr(executor, "submit"):
        from covmetric.problem.blocks.dask import DaskExecutor

        return DaskExecutor(executor, check_interrupt)
    raise ValueError(
        f"executor must be None, the Client of a Dask cluster, or an Executor; got {type(executor).__name__}"
    )
