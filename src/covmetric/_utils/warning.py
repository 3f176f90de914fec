"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])
# Packages that call covmetric on the user's behalf, for example in a Pipeline.
_INTERMEDIARIES = ("sklearn", "joblib", "contextlib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that points at the user's line that called this package, at any depth.

    Parameters
    ----------
    message : str
        The text of the warning.
    category : type, default=UserWarning
        The class of the warning.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(filename: str, module: str) -> bool:
    """Return whether a frame belongs to this package or to an intermediary."""
    return filename.startswith(_PACKAGE) or module.split(".")[0] in _INTERMEDIARIES
