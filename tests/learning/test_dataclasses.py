"""The data classes of this package are frozen."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest

from covmetric import learning

DATACLASSES = {
    value
    for info in pkgutil.iter_modules(learning.__path__)
    for value in vars(importlib.import_module(f"{learning.__name__}.{info.name}")).values()
    if isinstance(value, type) and dataclasses.is_dataclass(value) and value.__module__.startswith(learning.__name__)
}


@pytest.mark.parametrize("cls", sorted(DATACLASSES, key=lambda cls: cls.__name__))
def test_dataclasses_are_frozen(cls):
    assert cls.__dataclass_params__.frozen
