"""A cluster leaves nothing behind, even if one of its workers was killed."""

from __future__ import annotations

import os
import signal

import pytest

from tests.distributed.clusters import two_workers, wait_until, worker_pids

psutil = pytest.importorskip("psutil", reason='Dask is not installed: pip install "dask[array]" distributed')
pytest.importorskip("distributed")


def test_everything_that_was_started_is_gone_at_the_end():
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    with two_workers() as client:
        first = set(worker_pids(client).values())
        os.kill(min(first), signal.SIGKILL)
        second = wait_until(lambda: len(pids := set(worker_pids(client).values()) - {min(first)}) == 2 and pids)
        assert client.submit(sum, [1, 2]).result() == 3
    assert not any(map(psutil.pid_exists, first | second))
    left = [process for process in psutil.Process().children(recursive=True) if process.pid not in before]
    # Python itself keeps one process for as long as it runs, which looks after semaphores.
    assert [process for process in left if "resource_tracker" not in " ".join(process.cmdline())] == []
