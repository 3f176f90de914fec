"""Data sets and simulators."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmetric.datasets.emg import load_emg
    from covmetric.datasets.paper import make_paper_problem
    from covmetric.datasets.simulated import make_spd_classes, make_textures

_HOMES = {
    "load_emg": "emg",
    "make_paper_problem": "paper",
    "make_spd_classes": "simulated",
    "make_textures": "simulated",
}

__all__ = ["load_emg", "make_paper_problem", "make_spd_classes", "make_textures"]


def __getattr__(name: str) -> Any:
    # Lazily: a simulated problem needs neither scikit-learn nor Pillow.
    if name not in _HOMES:
        raise AttributeError(f"module 'covmetric.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"covmetric.datasets.{_HOMES[name]}"), name)
