"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])
# Those that call us on the user's behalf, as a Pipeline does.
_BETWEEN = ("sklearn", "joblib", "contextlib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` as if the line had been called that called this package, however deep the warning arose."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_between(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_between(filename: str, module: str) -> bool:
    return filename.startswith(_PACKAGE) or module.split(".")[0] in _BETWEEN
