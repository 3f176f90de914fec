"""The peak memory of a process."""

from __future__ import annotations

import resource
from pathlib import Path


def peak_kilobytes() -> int:
    """Return the peak memory of this process; `ru_maxrss` would include the memory of the parent."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
