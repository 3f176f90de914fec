"""Leave out members that other libraries define: their docstrings refer to pages of their own documentation."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def is_foreign(obj: Any) -> bool:
    """Return whether a method was defined outside covmetric."""
    obj = inspect.unwrap(obj.fget if isinstance(obj, property) and obj.fget else obj)
    return not (getattr(obj, "__module__", None) or "covmetric").startswith("covmetric")


def skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip foreign members of classes."""
    return True if what == "class" and is_foreign(obj) else None


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to autodoc."""
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
