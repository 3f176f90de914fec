"""The only argument of the larger benchmarks: --smoke, which takes the smallest sizes."""

from __future__ import annotations

import sys


def asked_for(arguments: list[str] | None) -> bool:
    """Whether the arguments (None: those of the command) ask for a smoke run."""
    given = sys.argv[1:] if arguments is None else arguments
    unknown = [one for one in given if one != "--smoke"]
    if unknown:
        raise SystemExit(f"unknown argument {unknown[0]!r}; the only one is --smoke")
    return bool(given)
