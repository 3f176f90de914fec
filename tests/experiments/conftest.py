from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets import make_spd_classes
from covmetric.experiments import compare, fold_runs
from covmetric.experiments.methods import available_methods


@pytest.fixture(scope="package")
def data():
    """36 matrices of size 4 in three classes and six groups."""
    made = make_spd_classes(n_classes=3, n_per_class=12, n=4)
    made.groups = np.arange(36) % 6
    made.names = np.array(["a", "long name", "b"])[made.y]  # pyRiemann's neighbours would truncate them
    return made


@pytest.fixture
def add_methods(monkeypatch):
    """A function that adds methods to `compare`."""

    def add(**methods):
        for module in (compare, fold_runs):
            monkeypatch.setattr(module, "available_methods", lambda: {**available_methods(), **methods})

    return add
