"""Check the docstrings of the public objects of the library against numpydoc; a part of `make lint`.

An object is public if its path has no leading underscore. These are the objects that a public module defines or
exports, and all methods and properties of such a class, including methods that it inherits from a private base class.
`checks` under `[tool.numpydoc_validation]` in pyproject.toml lists the checks.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.hooks.validate_docstrings import parse_config
from numpydoc.validate import Validator, validate

PACKAGE = "covmetric"
ROOT = Path(__file__).resolve().parents[1]
DOCUMENTED = (type, property, functools.cached_property)


class PublicValidator(Validator):
    """numpydoc's validator, extended to class methods."""

    def __init__(self, obj_name: str) -> None:
        super().__init__(get_doc_object(self._load_obj(obj_name)))

    @property
    def is_function_or_method(self) -> bool:
        """Whether the object may need a section on what it returns."""
        return inspect.isroutine(self.obj)

    @property
    def source_file_def_line(self) -> int | None:
        """The line of the definition, or None for a property that a function has created."""
        try:
            return super().source_file_def_line  # type: ignore[no-any-return]
        except StopIteration:
            return None


def modules() -> Iterator[ModuleType]:
    """Yield the public modules of the library."""
    yield importlib.import_module(PACKAGE)
    for found in pkgutil.walk_packages([str(ROOT / "src" / PACKAGE)], f"{PACKAGE}."):
        if "._" not in found.name:
            yield importlib.import_module(found.name)


def ours(thing: Any) -> bool:
    """Return whether a class, function or property is defined in the library."""
    inner = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    return str(getattr(inner, "__module__", "")).partition(".")[0] == PACKAGE


def exported(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public classes and functions that a module defines or lists in `__all__`."""
    listed = getattr(module, "__all__", vars(module) if hasattr(module, "__path__") else ())
    for name in sorted({*vars(module), *listed}):
        thing = getattr(module, name)
        if name.startswith("_") or not ours(thing) or not (inspect.isclass(thing) or inspect.isroutine(thing)):
            continue
        if name in listed or thing.__module__ == module.__name__:
            yield f"{module.__name__}.{name}", thing


def members(name: str, owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, except those that inherit their docstring."""
    for attribute in dir(owner):
        thing = inspect.getattr_static(owner, attribute)
        if attribute.startswith("_") or not (isinstance(thing, DOCUMENTED) or inspect.isroutine(thing)):
            continue
        inherits = thing.__doc__ is None and inspect.getdoc(getattr(owner, attribute))
        if ours(thing) and not inherits:
            yield f"{name}.{attribute}", thing


def findings(name: str, thing: Any, checks: set[str]) -> Iterator[str]:
    """Yield one line per finding about an object."""
    report = validate(name, PublicValidator)
    for code, message in report["errors"]:
        if code in checks and not (code == "PR01" and _documents_attributes(thing)):
            yield f"{report['file']}:{report['file_line']}: {code} {name}: {message}"


def _documents_attributes(thing: Any) -> bool:
    """Return whether a class documents attributes instead of parameters: data classes, enumerations, protocols."""
    return inspect.isclass(thing) and (
        dataclasses.is_dataclass(thing) or issubclass(thing, enum.Enum) or getattr(thing, "_is_protocol", False)
    )


def main() -> int:
    """Print all findings; return the exit code, which is 1 if there are any."""
    public: dict[Any, str] = {}
    for module in modules():
        for name, thing in exported(module):
            public.setdefault(thing, name)
    for thing, name in list(public.items()):
        if inspect.isclass(thing):
            for path, member in members(name, thing):
                public.setdefault(member, path)
    checks = parse_config(ROOT)["checks"]
    found = sorted(line for thing, name in public.items() for line in findings(name, thing, checks))
    print(*found, f"{len(public)} public objects, {len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
