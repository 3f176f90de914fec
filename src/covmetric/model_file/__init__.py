"""Model files: their container, the conversion of objects, and the register of the classes that a file may hold."""

from __future__ import annotations

from covmetric.model_file import other_libraries, pipelines  # noqa: F401  (they register what they hold)
from covmetric.model_file.files import InvalidModel, read_model, write_model
from covmetric.model_file.kinds import (
    build_record,
    constructor_defaults,
    for_any_machine,
    register_components,
    register_enum,
    register_record,
    register_stateful,
)
from covmetric.model_file.savable import Savable

__all__ = [
    "InvalidModel",
    "Savable",
    "build_record",
    "constructor_defaults",
    "for_any_machine",
    "read_model",
    "register_components",
    "register_enum",
    "register_record",
    "register_stateful",
    "write_model",
]
