"""A small cluster on the loopback address, what to do to its workers, and whether anything is left of it."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager


@contextmanager
def two_workers(**settings):
    """Start two worker processes of one thread each, without a dashboard; yield a client.

    Dask starts its HTTP server even if there is no address for a dashboard, at a port that another cluster may have;
    ":0" is any free port (https://github.com/dask/distributed/issues/8136).
    """
    from distributed import Client, LocalCluster

    web = {"dashboard_address": "127.0.0.1:0", "scheduler_kwargs": {"dashboard": False}}
    processes = {"host": "127.0.0.1", "n_workers": 2, "threads_per_worker": 1}
    with LocalCluster(**processes, **web, **settings) as cluster, Client(cluster) as client:
        yield client


def worker_pids(client):
    """Return the process id of each worker, by its address."""
    return client.run(os.getpid, on_error="ignore")  # of a worker that has just died


def wait_until(condition, seconds=90.0):
    """Wait for a condition; return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
    return value


def wait_for_two_workers(client):
    """Wait for the successor of a worker that died.

    Dask starts none for a worker that died before its nanny knew that it had started. Then ask for one more.
    """
    try:
        wait_until(lambda: len(worker_pids(client)) >= 2, 30.0)
    except AssertionError:
        client.cluster.scale(len(client.cluster.worker_spec) + 1)
        wait_until(lambda: len(worker_pids(client)) >= 2)


def kill_a_busy_worker(client):
    """Kill a worker, by its process id, while it has work to do; return the id."""
    pids = worker_pids(client)
    busy = wait_until(lambda: [address for address, tasks in client.processing().items() if tasks and address in pids])
    os.kill(pids[busy[0]], signal.SIGKILL)
    return pids[busy[0]]


@contextmanager
def allowed_failures(client, count):
    """Let Dask give up on a task after it has killed `count` + 1 workers."""

    def exchange(dask_scheduler, count):
        before, dask_scheduler.allowed_failures = dask_scheduler.allowed_failures, count
        return before

    before = client.run_on_scheduler(exchange, count=count)
    try:
        yield
    finally:
        client.run_on_scheduler(exchange, count=before)
