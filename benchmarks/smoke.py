"""The option --smoke of the larger benchmarks, which selects the smallest sizes."""

from __future__ import annotations

import sys


def asked_for(arguments: list[str] | None) -> bool:
    """Return whether the arguments, or those of the process for None, ask for a smoke run."""
    given = sys.argv[1:] if arguments is None else arguments
    unknown = [one for one in given if one != "--smoke"]
    if unknown:
        raise SystemExit(f"unknown argument {unknown[0]!r}; the only argument is --smoke")
    return bool(given)
