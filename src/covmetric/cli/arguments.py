"""Checks of arguments that several commands share, before any work is done."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path


def number_from(least: int) -> Callable[[str], int]:
    """A type for argparse: an integer that is not smaller."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer >= {least}")
        return value

    return number


def check_picture(option: str, path: Path) -> None:
    """Raise ValueError where a picture cannot be written to this path."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    if not path.parent.is_dir():
        raise ValueError(f"{option}: there is no folder {path.parent}")
    known = FigureCanvasAgg.get_supported_filetypes()
    if path.is_dir() or path.suffix.lstrip(".").lower() not in known:
        endings = ", ".join(f".{name}" for name in known)
        raise ValueError(f"{option}: {path} must be a file that ends in one of {endings}")
