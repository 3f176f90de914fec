"""Loaders of data sets, and simulated data. All of them return a scikit-learn Bunch."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covmetric.datasets.brodatz import load_brodatz
    from covmetric.datasets.emg import load_emg
    from covmetric.datasets.eth80 import load_eth80, load_eth80_sets
    from covmetric.datasets.image_folder import load_image_folder
    from covmetric.datasets.series import load_series, load_ssvep
    from covmetric.datasets.simulated import make_spd_classes, make_textures

_MODULES = {
    "load_brodatz": "brodatz",
    "load_emg": "emg",
    "load_eth80": "eth80",
    "load_eth80_sets": "eth80",
    "load_image_folder": "image_folder",
    "load_series": "series",
    "load_ssvep": "series",
    "make_spd_classes": "simulated",
    "make_textures": "simulated",
}

__all__ = [
    "load_brodatz",
    "load_emg",
    "load_eth80",
    "load_eth80_sets",
    "load_image_folder",
    "load_series",
    "load_ssvep",
    "make_spd_classes",
    "make_textures",
]


def __getattr__(name: str) -> Any:
    # Modules are imported on first use, because simulated data needs neither Pillow nor pyRiemann.
    if name not in _MODULES:
        raise AttributeError(f"module 'covmetric.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"covmetric.datasets.{_MODULES[name]}"), name)
