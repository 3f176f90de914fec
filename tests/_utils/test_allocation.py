"""A process in which the allocator gives memory back at once, as Dask's workers are started."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from covmetric._utils import allocation

CODE = """
import resource
import numpy as np
from covmetric._utils.allocation import keep_freed_memory

changed = {call}
for _ in range(3):  # the first arrays are new memory in any case
    np.ones(2**18)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    np.ones(2**18)
print(int(changed), resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(call):
    """Return what the call returns, and how many pages 20 arrays of 2 MB take from the system after it."""
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(call=call)], env=environment, capture_output=True, text=True, check=True
    )
    return tuple(map(int, done.stdout.split()))


@pytest.mark.skipif(sys.platform != "linux", reason="the settings are those of glibc")
def test_freed_memory_is_used_again():
    changed, kept = page_faults("keep_freed_memory()")
    if not changed:
        pytest.skip("the C library is not glibc")
    _, given_back = page_faults("False")
    # With pages of 2 MB the system may hand out an array in one fault, so compare the two rather than count pages.
    assert kept < 10 < given_back


@pytest.mark.parametrize("error", [AttributeError, OSError, TypeError])
def test_other_c_libraries_keep_their_settings(error, monkeypatch):
    """There is no such function in them, or they cannot be opened without a name."""

    def load(name):
        if error is AttributeError:
            return object()
        raise error

    monkeypatch.setattr(allocation.ctypes, "CDLL", load)
    assert allocation.keep_freed_memory.__wrapped__() is False
