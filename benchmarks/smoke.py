"""The option --smoke of the larger benchmarks, which selects the smallest sizes."""

from __future__ import annotations

import sys


def asked_for(arguments: list[str] | None) -> bool:
    """Return whether the arguments request a smoke run. None means the arguments of the process."""
    given = sys.argv[1:] if arguments is None else arguments
    unknown = [one for one in given if one != "--smoke"]
    if unknown:
        raise SystemExit(f"unknown argument {unknown[0]!r}; the only argument is --smoke")
    return bool(given)
